//! Tables of the log as files for other programs: a CSV file each.

use crate::log::{Log, LogError};
use crate::schema::TABLES;
use rusqlite::types::Value as Cell;
use std::path::{Path, PathBuf};

impl Log {
    /// Writes every table to a file of its own, NAME.csv.
    pub fn export(&self, folder: &Path) -> Result<Vec<PathBuf>, LogError> {
        let odd = |path: &Path, error: std::io::Error| {
            LogError(format!("{} cannot be written: {error}", path.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| odd(folder, error))?;
        let mut written = Vec::new();
        for table in TABLES {
            let path = folder.join(format!("{}.csv", table.name));
            let mut text = String::new();
            let names: Vec<&str> = table.columns.iter().map(|(name, _, _)| *name).collect();
            text.push_str(&names.join(","));
            text.push('\n');
            let sql = format!("SELECT * FROM {} ORDER BY {}", table.name, table.key);
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let cells: rusqlite::Result<Vec<String>> =
                    (0..names.len()).map(|at| Ok(csv_cell(&row.get::<_, Cell>(at)?))).collect();
                text.push_str(&cells?.join(","));
                text.push('\n');
            }
            std::fs::write(&path, text).map_err(|error| odd(&path, error))?;
            written.push(path);
        }
        Ok(written)
    }
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
