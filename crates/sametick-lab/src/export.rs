//! Tables of the log as files for other programs: CSV, or Parquet.

use crate::log::{Log, LogError};
use crate::schema::{TABLES, Table};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use rusqlite::Rows;
use rusqlite::types::Value as Cell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many rows of a Parquet file are in memory at a time.
const GROUP_ROWS_MAX: usize = 100_000;

/// What tables are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, a line for each row; a cell that would be taken for a formula is defused.
    Csv,
    /// Columns with their types, as data frames read them.
    Parquet,
}

impl Log {
    /// Writes every table to a file of its own in a folder, NAME.csv or NAME.parquet.
    pub fn export(&self, folder: &Path, format: Format) -> Result<Vec<PathBuf>, LogError> {
        let odd = |path: &Path, error: &dyn std::fmt::Display| {
            LogError(format!("{} cannot be written: {error}", path.display()))
        };
        // Rules of exclusion are applied anew; a log that only can be read keeps what it has.
        let _ = self.keep_exclusions();
        std::fs::create_dir_all(folder).map_err(|error| odd(folder, &error))?;
        let mut written = Vec::new();
        for table in TABLES {
            let ending = if format == Format::Csv { "csv" } else { "parquet" };
            let path = folder.join(format!("{}.{ending}", table.name));
            let file = File::create(&path).map_err(|error| odd(&path, &error))?;
            let sql = format!("SELECT * FROM {} ORDER BY {}", table.name, table.key);
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query([])?;
            let done = match format {
                Format::Csv => write_csv(table, rows, file),
                Format::Parquet => write_parquet(table, rows, file),
            };
            done.map_err(|error| odd(&path, &error))?;
            written.push(path);
        }
        Ok(written)
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn write_csv(table: &Table, mut rows: Rows<'_>, file: File) -> Done {
    let mut file = BufWriter::new(file);
    let names: Vec<&str> = table.columns.iter().map(|(name, _, _)| *name).collect();
    writeln!(file, "{}", names.join(","))?;
    while let Some(row) = rows.next()? {
        let cells: rusqlite::Result<Vec<String>> =
            (0..names.len()).map(|at| Ok(csv_cell(&row.get::<_, Cell>(at)?))).collect();
        writeln!(file, "{}", cells?.join(","))?;
    }
    Ok(file.flush()?)
}

/// A cell of a table for spreadsheets; one that would be taken for a formula is defused.
fn csv_cell(cell: &Cell) -> String {
    match cell {
        Cell::Null | Cell::Blob(_) => String::new(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => {
            let is_formula = text.starts_with(['=', '+', '-', '@']);
            let guard = if is_formula { "'" } else { "" };
            format!("\"{guard}{}\"", text.replace('"', "\"\""))
        }
    }
}

fn write_parquet(table: &Table, mut rows: Rows<'_>, file: File) -> Done {
    let mut columns: Vec<Column> =
        table.columns.iter().map(|(_, kind, _)| Column::new(kind)).collect();
    let fields = table.columns.iter().zip(&columns).map(|((name, _, _), column)| {
        let (kind, meaning) = column.kind();
        format!("OPTIONAL {kind} {name}{meaning};")
    });
    let fields: String = fields.collect();
    let schema = Arc::new(parse_message_type(&format!("message {} {{ {fields} }}", table.name))?);
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let mut writer = SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties))?;
    let mut waiting = 0;
    while let Some(row) = rows.next()? {
        for (at, column) in columns.iter_mut().enumerate() {
            column.push(row.get::<_, Cell>(at)?);
        }
        waiting += 1;
        if waiting == GROUP_ROWS_MAX {
            write_group(writer.next_row_group()?, &mut columns)?;
            waiting = 0;
        }
    }
    if waiting > 0 {
        write_group(writer.next_row_group()?, &mut columns)?;
    }
    writer.finish()?;
    Ok(writer.inner_mut().flush()?)
}

fn write_group<W: Write + Send>(
    mut group: SerializedRowGroupWriter<'_, W>,
    columns: &mut [Column],
) -> Result<(), ParquetError> {
    for column in columns {
        let Some(mut writer) = group.next_column()? else { break };
        let levels = std::mem::take(&mut column.levels);
        match &mut column.values {
            Values::Integers(values) => {
                let values = std::mem::take(values);
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Reals(values) => {
                let values = std::mem::take(values);
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Texts(values) => {
                let values = std::mem::take(values);
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    group.close().map(|_| ())
}

/// A column's cells that wait to be written: those that there are, and for each row whether there is one.
struct Column {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
}

impl Column {
    fn new(kind: &str) -> Self {
        let values = match kind.trim_end_matches('!') {
            "INTEGER" => Values::Integers(Vec::new()),
            "REAL" => Values::Reals(Vec::new()),
            _ => Values::Texts(Vec::new()),
        };
        Self { values, levels: Vec::new() }
    }

    /// As Parquet calls it, and what it means.
    fn kind(&self) -> (&'static str, &'static str) {
        match self.values {
            Values::Integers(_) => ("INT64", ""),
            Values::Reals(_) => ("DOUBLE", ""),
            Values::Texts(_) => ("BYTE_ARRAY", " (UTF8)"),
        }
    }

    fn push(&mut self, cell: Cell) {
        let is_there = match (&mut self.values, cell) {
            (Values::Integers(values), Cell::Integer(number)) => {
                values.push(number);
                true
            }
            (Values::Reals(values), Cell::Real(number)) => {
                values.push(number);
                true
            }
            (Values::Texts(values), Cell::Text(text)) => {
                values.push(ByteArray::from(text.as_str()));
                true
            }
            _ => false,
        };
        self.levels.push(i16::from(is_there));
    }
}
