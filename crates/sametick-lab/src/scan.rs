//! Reads tables of a file key by key; what nobody asked for is an error with its place.

use crate::settings::{self, Assignment, Change, SETTINGS, Scope};
use crate::value::{Kind, Value, number};
use crate::wrong::{Found, Wrong, meant};
use sametick::network::Trace;
use sametick_arena::{Map, map::MAPS};
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text of a file and the folder that its paths begin in.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) folder: &'a Path,
    /// Whether maps and traces must be there; a log is read where they may not be.
    pub(crate) looks_at_files: bool,
    /// What is wrong so far: reading goes on.
    pub(crate) found: &'a RefCell<Found>,
}

impl Source<'_> {
    pub(crate) fn wrong(&self, at: &Range<usize>, what: impl Into<String>) -> Wrong {
        Wrong::at(self.text, at, what)
    }

    /// Takes down what is wrong.
    pub(crate) fn note(&self, at: &Range<usize>, what: impl Into<String>) {
        self.found.borrow_mut().note(self.wrong(at, what));
    }

    /// What was read; or nothing, and what is wrong is taken down.
    pub(crate) fn heed<T: Default>(&self, read: Result<T, Wrong>) -> T {
        read.unwrap_or_else(|wrong| {
            self.found.borrow_mut().note(wrong);
            T::default()
        })
    }

    /// How much is wrong so far.
    pub(crate) fn count(&self) -> usize {
        self.found.borrow().all.len()
    }
}

/// A table of the file, of which each key must be asked for.
pub(crate) struct Scan<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) table: &'a DeTable<'a>,
    pub(crate) at: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(source: Source<'a>, table: &'a DeTable<'a>, at: Range<usize>) -> Self {
        Self { source, table, at, asked: RefCell::default() }
    }

    pub(crate) fn get(&self, name: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.borrow_mut().push(name);
        self.table.get(name)
    }

    /// A value of a kind, if the key is there.
    pub(crate) fn value(
        &self,
        name: &'static str,
        kind: Kind,
    ) -> Result<Option<(Value, Range<usize>)>, Wrong> {
        let Some(found) = self.get(name) else { return Ok(None) };
        let value = kind.read(name, found.get_ref());
        let value = value.map_err(|what| self.source.wrong(&found.span(), what))?;
        Ok(Some((value, found.span())))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, Wrong> {
        Ok(self.value(name, Kind::Text)?.map(|(value, _)| value.to_string()))
    }

    pub(crate) fn count(
        &self,
        name: &'static str,
        at_least: u32,
        at_most: u32,
    ) -> Result<Option<u32>, Wrong> {
        let value = self.value(name, Kind::Count { at_least, at_most })?;
        Ok(value.and_then(|(value, _)| value.number()).map(|number| number as u32))
    }

    /// A table below this one, if the key is there.
    pub(crate) fn table(&self, name: &'static str) -> Result<Option<Scan<'a>>, Wrong> {
        let Some(found) = self.get(name) else { return Ok(None) };
        match found.get_ref() {
            DeValue::Table(table) => Ok(Some(Scan::new(self.source, table, found.span()))),
            _ => Err(self.source.wrong(&found.span(), format!("`{name}` is a table: [{name}]"))),
        }
    }

    /// The tables of a list, if the key is there.
    pub(crate) fn tables(&self, name: &'static str) -> Result<Vec<Scan<'a>>, Wrong> {
        let Some(found) = self.get(name) else { return Ok(Vec::new()) };
        let odd =
            |at: &Range<usize>| self.source.wrong(at, format!("`{name}` is tables: [[{name}]]"));
        let DeValue::Array(list) = found.get_ref() else { return Err(odd(&found.span())) };
        let scan = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::Table(table) => Ok(Some(Scan::new(self.source, table, item.span()))),
            _ => Err(odd(&item.span())),
        };
        Ok(list.iter().filter_map(|item| self.source.heed(scan(item))).collect())
    }

    /// Takes down every key that nobody asked for.
    pub(crate) fn finish(&self) {
        let asked = self.asked.borrow();
        for key in self.table.keys().filter(|key| !asked.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref();
            let hint = match settings::find(name) {
                Some(_) => "it is a setting: put it under [settings]".to_owned(),
                None => meant(name, asked.iter().copied()),
            };
            self.source.note(&key.span(), format!("`{name}` means nothing here; {hint}"));
        }
    }

    /// All keys as settings: `ping`, and below `player.2` those of one player. Keys of `besides` are left alone.
    pub(crate) fn assignments(
        &self,
        besides: &[&'static str],
        scope: Option<Scope>,
    ) -> Vec<Assignment> {
        let mut found = Vec::new();
        self.each_setting(besides, scope, &mut |row, player, value| {
            let read = row.kind.read(row.name, value.get_ref());
            let read = read.map_err(|what| self.source.wrong(&value.span(), what))?;
            check_file(self.source, row.name, &read, &value.span())?;
            found.push(Assignment { row, player, value: read, at: value.span() });
            Ok(())
        });
        found.sort_by_key(|assignment| assignment.at.start);
        found
    }

    /// All keys as factors: each is a list of the levels of one setting.
    pub(crate) fn factors(&self) -> Vec<Vec<Assignment>> {
        let mut factors: Vec<Vec<Assignment>> = Vec::new();
        self.each_setting(&[], None, &mut |row, player, list| {
            let odd = || {
                let what = format!("`{}` is a list of its levels: [...]", row.name);
                self.source.wrong(&list.span(), what)
            };
            let DeValue::Array(items) = list.get_ref() else { return Err(odd()) };
            if items.is_empty() {
                return Err(odd());
            }
            let mut levels: Vec<Assignment> = Vec::new();
            for item in items {
                let wrong = |what: String| self.source.wrong(&item.span(), what);
                let level = || {
                    let value = row.kind.read(row.name, item.get_ref()).map_err(wrong)?;
                    check_file(self.source, row.name, &value, &item.span())?;
                    if levels.iter().any(|level| level.value == value) {
                        return Err(wrong(format!("`{}` has this level twice", row.name)));
                    }
                    Ok(Some(Assignment { row, player, value, at: item.span() }))
                };
                let level = level().inspect_err(|_| self.spoil(row));
                levels.extend(self.source.heed(level));
            }
            if !levels.is_empty() {
                factors.push(levels);
            }
            Ok(())
        });
        factors.sort_by_key(|levels| levels.first().map_or(0, |level| level.at.start));
        factors
    }

    /// What does not fit together is not to be told where this is not known.
    fn spoil(&self, row: &settings::Row) {
        self.source.found.borrow_mut().is_spoiled |= row.scope == Scope::Trial;
    }

    fn each_setting(
        &self,
        besides: &[&'static str],
        scope: Option<Scope>,
        each: &mut dyn FnMut(
            &'static settings::Row,
            Option<u32>,
            &'a Spanned<DeValue<'a>>,
        ) -> Result<(), Wrong>,
    ) {
        let mut one =
            |key: &Spanned<_>, name: &str, player: Option<u32>, value: &'a Spanned<DeValue<'a>>| {
                let row = self.row(key.span(), name, scope)?;
                if player.is_some() && row.scope == Scope::Trial {
                    let what = format!("`{}` is the same for all players", row.name);
                    return Err(self.source.wrong(&key.span(), what));
                }
                each(row, player, value).inspect_err(|_| self.spoil(row))
            };
        for (key, value) in self.table {
            let name: &str = key.get_ref();
            if besides.contains(&name) {
                continue;
            }
            if name != "player" {
                self.source.heed(one(key, name, None, value));
                continue;
            }
            let odd = |at: Range<usize>| {
                let what = "one player's settings stand under its number: [settings.player.1]";
                self.source.note(&at, what);
            };
            let DeValue::Table(players) = value.get_ref() else {
                odd(value.span());
                continue;
            };
            for (number, table) in players {
                let player = number.get_ref().parse::<u32>().ok();
                let player = player.filter(|n| (1..=settings::PLAYERS_MAX).contains(n));
                let (Some(player), DeValue::Table(table)) = (player, table.get_ref()) else {
                    odd(number.span());
                    continue;
                };
                for (key, value) in table {
                    self.source.heed(one(key, key.get_ref(), Some(player), value));
                }
            }
        }
    }

    fn row(
        &self,
        at: Range<usize>,
        name: &str,
        scope: Option<Scope>,
    ) -> Result<&'static settings::Row, Wrong> {
        let fits = |row: &settings::Row| scope.is_none_or(|scope| row.scope == scope);
        match settings::find(name) {
            Some(row) if fits(row) => Ok(row),
            Some(_) => {
                Err(self.source.wrong(&at, format!("`{name}` cannot change during a trial")))
            }
            None => {
                let meant = meant(name, SETTINGS.iter().map(|row| row.name));
                Err(self.source.wrong(&at, format!("there is no setting `{name}`; {meant}")))
            }
        }
    }

    /// The changes of lines that settings tell of.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for scan in self.source.heed(self.tables("change")) {
            let time = Kind::Time { at_most: 86_400_000.0 };
            let before = self.source.count();
            let at = self.source.heed(scan.value("at", time));
            let over = self.source.heed(scan.value("over", time));
            let assignments = scan.assignments(&["at", "over"], Some(Scope::Line));
            let Some((when, at)) = at else {
                if self.source.count() == before {
                    self.source.note(&scan.at, "a change says when: at = \"10 s\"");
                }
                continue;
            };
            let ms = |value: Value| value.number().unwrap_or(0.0);
            let (at_ms, over_ms) = (ms(when), over.map_or(0.0, |(over, _)| ms(over)));
            changes.push(Change { at_ms, over_ms, assignments, at });
        }
        changes.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
        changes
    }
}

/// A list of numbers, row by row.
pub(crate) fn rows_of_numbers(
    source: Source<'_>,
    list: &Spanned<DeValue<'_>>,
) -> Result<Vec<Vec<f64>>, Wrong> {
    let odd = |at: Range<usize>| source.wrong(&at, "a table of numbers is rows: [[1, 2], [3, 4]]");
    let DeValue::Array(rows) = list.get_ref() else { return Err(odd(list.span())) };
    let mut found = Vec::new();
    for row in rows {
        let DeValue::Array(cells) = row.get_ref() else { return Err(odd(row.span())) };
        let cells: Option<Vec<f64>> = cells.iter().map(|cell| number(cell.get_ref())).collect();
        found.push(cells.ok_or_else(|| odd(row.span()))?);
    }
    Ok(found)
}

/// Maps and traces are looked at before anything runs.
fn check_file(
    source: Source<'_>,
    name: &str,
    value: &Value,
    at: &Range<usize>,
) -> Result<(), Wrong> {
    let Value::Text(path) = value else { return Ok(()) };
    if !source.looks_at_files {
        return Ok(());
    }
    let outcome = match name {
        "map" => map_text(source.folder, path).and_then(|text| {
            let read = Map::read(&text).map(|_| ());
            read.map_err(|error| format!("the map {path:?} is damaged: {error}"))
        }),
        "trace" => trace_of(source.folder, path).map(|_| ()),
        _ => Ok(()),
    };
    outcome.map_err(|what| source.wrong(at, what))
}

/// The text of a map by name, or in a file.
pub(crate) fn map_text(folder: &Path, map: &str) -> Result<String, String> {
    if let Some((_, text)) = MAPS.iter().find(|(name, _)| *name == map) {
        return Ok((*text).to_owned());
    }
    let names = MAPS.map(|(name, _)| name).join(", ");
    let path = folder.join(map);
    std::fs::read_to_string(&path).map_err(|error| {
        format!("there is no map {map:?} ({error}): choose {names}, or the path of a .map file")
    })
}

/// The delays in a file.
pub(crate) fn trace_of(folder: &Path, name: &str) -> Result<Trace, String> {
    let path: PathBuf = folder.join(name);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("the trace {name:?} cannot be read: {error}"))?;
    Trace::parse(&text).map_err(|error| format!("the trace {name:?} is damaged: {error}"))
}
