//! The visitors of a value's fields: gather, scatter, settle, describe, and the watch on rounding.

use crate::core::list::List;
use crate::schema::fields::{Fields, Networked, Relation};
use crate::schema::hint::Hint;
use crate::schema::kinds::Kind;
#[cfg(debug_assertions)]
use crate::schema::record::Layout;
use crate::schema::record::{Precision, ROW_WORDS, Row};
use crate::schema::word::{Meaning, Word};

/// In debug builds, compares a field with its place in the layout: its name always, its range now and then. To describe
/// a range costs more than the walk, and took half of the time of every simulation.
#[cfg(debug_assertions)]
fn expect<K: Kind>(layout: &Layout, index: usize, name: &'static str, kind: &K) {
    thread_local! {
        static FIELDS_MET: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }
    let met = FIELDS_MET.with(|fields| {
        fields.set(fields.get().wrapping_add(1));
        fields.get()
    });
    // Odd, so that it does not always meet the same fields of a walk.
    const NOW_AND_THEN: u32 = 127;
    if met < 1 << 14 || met.is_multiple_of(NOW_AND_THEN) {
        layout.expect(index, name, &kind.describe());
    } else {
        layout.expect(index, name, &[]);
    }
}

/// Fills a row with the value's words; never writes to the value.
pub(crate) struct Gather<'a, const SHOWN: bool> {
    pub(crate) row: &'a mut Row,
    pub(crate) length: usize,
    /// Top bit set once a number was not finite.
    pub(crate) faults: u32,
    #[cfg(debug_assertions)]
    pub(crate) layout: &'a Layout,
}

impl<const SHOWN: bool> Fields for Gather<'_, SHOWN> {
    const WRITES: bool = false;

    #[inline(always)]
    fn meet<K: Kind>(&mut self, _name: &'static str, value: &mut K::Value, kind: &K) {
        #[cfg(debug_assertions)]
        if !SHOWN {
            expect(self.layout, self.length, _name, kind);
        }
        kind.gather(value, &mut self.row[self.length..self.length + K::WORDS]);
        self.faults |= kind.fault(value);
        self.length += K::WORDS;
    }

    #[inline(always)]
    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, value: &mut K::Value, kind: &S) {
        if SHOWN {
            let words = &mut self.row[self.length - K::WORDS..self.length];
            kind.gather(value, &mut words[..S::WORDS]);
            words[S::WORDS..].fill(0);
        }
    }

    #[inline(always)]
    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        name: &'static str,
        list: &mut List<T, N>,
        mut item: impl FnMut(&mut Self, &mut T),
    ) {
        #[cfg(debug_assertions)]
        self.layout.expect(self.length, name, &[]);
        let _ = name;
        self.row[self.length] = list.len() as u32;
        self.length += 1;
        for value in list.iter_mut() {
            item(self, value);
        }
        for _ in list.len()..N {
            let start = self.length;
            item(self, &mut T::default());
            self.row[start..self.length].fill(0);
        }
    }

    #[inline(always)]
    fn group(&mut self, _name: &'static str, walk: impl FnOnce(&mut Self)) {
        walk(self);
    }
}

/// Fills the value from a row's words; cannot fail.
pub(crate) struct Scatter<'a, const SHOWN: bool> {
    pub(crate) row: &'a Row,
    pub(crate) length: usize,
    #[cfg(debug_assertions)]
    pub(crate) layout: &'a Layout,
}

impl<const SHOWN: bool> Fields for Scatter<'_, SHOWN> {
    const WRITES: bool = true;

    #[inline(always)]
    fn meet<K: Kind>(&mut self, _name: &'static str, value: &mut K::Value, kind: &K) {
        #[cfg(debug_assertions)]
        if !SHOWN {
            expect(self.layout, self.length, _name, kind);
        }
        *value = kind.scatter(&self.row[self.length..self.length + K::WORDS]);
        self.length += K::WORDS;
    }

    #[inline(always)]
    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, value: &mut K::Value, kind: &S) {
        if SHOWN {
            let start = self.length - K::WORDS;
            *value = kind.scatter(&self.row[start..start + S::WORDS]);
        }
    }

    #[inline(always)]
    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        name: &'static str,
        list: &mut List<T, N>,
        mut item: impl FnMut(&mut Self, &mut T),
    ) {
        #[cfg(debug_assertions)]
        self.layout.expect(self.length, name, &[]);
        let _ = name;
        list.resize(self.row[self.length] as usize);
        self.length += 1;
        for value in list.iter_mut() {
            item(self, value);
        }
        for _ in list.len()..N {
            item(self, &mut T::default());
        }
    }

    #[inline(always)]
    fn group(&mut self, _name: &'static str, walk: impl FnOnce(&mut Self)) {
        walk(self);
    }
}

/// Rounds the value to its state precision and remembers where the first number stood that was not
/// finite.
#[derive(Default)]
pub(crate) struct Settle {
    fields_met: usize,
    pub(crate) not_finite: Option<usize>,
}

impl Fields for Settle {
    const WRITES: bool = true;

    #[inline(always)]
    fn meet<K: Kind>(&mut self, _name: &'static str, value: &mut K::Value, kind: &K) {
        if kind.fault(value) >> 31 != 0 {
            self.not_finite.get_or_insert(self.fields_met);
        }
        self.fields_met += 1;
        // Nearly all kinds are this small; the row of a long text need not be cleared for them.
        *value = if K::WORDS <= 4 {
            settled(kind, value, &mut [0; 4][..K::WORDS])
        } else {
            settled(kind, value, &mut [0; ROW_WORDS][..K::WORDS])
        };
    }

    #[inline(always)]
    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, _value: &mut K::Value, _kind: &S) {}

    #[inline(always)]
    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        _name: &'static str,
        list: &mut List<T, N>,
        mut item: impl FnMut(&mut Self, &mut T),
    ) {
        for value in list.iter_mut() {
            item(self, value);
        }
    }

    #[inline(always)]
    fn group(&mut self, _name: &'static str, walk: impl FnOnce(&mut Self)) {
        walk(self);
    }
}

#[inline(always)]
fn settled<K: Kind>(kind: &K, value: &K::Value, words: &mut [u32]) -> K::Value {
    kind.gather(value, words);
    kind.scatter(words)
}

/// Names the field that another walk met as the so many-th.
pub(crate) struct Locate {
    fields_left: usize,
    path: Vec<String>,
    pub(crate) name: Option<String>,
}

impl Locate {
    pub(crate) fn new(fields_before: usize) -> Self {
        Self { fields_left: fields_before, path: Vec::new(), name: None }
    }
}

impl Fields for Locate {
    const WRITES: bool = false;

    fn meet<K: Kind>(&mut self, name: &'static str, _value: &mut K::Value, _kind: &K) {
        if self.fields_left == 0 {
            self.name.get_or_insert_with(|| joined(&self.path, name));
        }
        self.fields_left = self.fields_left.wrapping_sub(1);
    }

    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, _value: &mut K::Value, _kind: &S) {}

    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        name: &'static str,
        list: &mut List<T, N>,
        mut item: impl FnMut(&mut Self, &mut T),
    ) {
        for (index, value) in list.iter_mut().enumerate() {
            self.path.push(format!("{name}.{index}"));
            item(self, value);
            self.path.pop();
        }
    }

    fn group(&mut self, name: &'static str, walk: impl FnOnce(&mut Self)) {
        self.path.push(name.to_string());
        walk(self);
        self.path.pop();
    }
}

fn joined(path: &[String], name: &str) -> String {
    path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".")
}

/// Lists the words that a value's fields become.
pub(crate) struct Describe {
    pub(crate) precision: Precision,
    pub(crate) words: Vec<Word>,
    /// For each word the bare name its field was met with.
    pub(crate) fields: Vec<&'static str>,
    path: Vec<String>,
    pub(crate) hints: Vec<Hint>,
}

impl Describe {
    pub(crate) fn new(precision: Precision) -> Self {
        let (words, fields, path, hints) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { precision, words, fields, path, hints }
    }

    fn push(&mut self, field: &'static str, mut word: Word) {
        let parts = self.path.iter().map(String::as_str).chain([field, word.name.as_str()]);
        word.name = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        self.words.push(word);
        self.fields.push(field);
    }

    /// The words of a field of the value that is walked: where they start, and how many there are.
    fn find(&self, field: &str) -> (usize, usize) {
        let parts = self.path.iter().map(String::as_str).chain([field]);
        let name = parts.collect::<Vec<_>>().join(".");
        let belongs = |word: &Word| match word.name.strip_prefix(&name) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        };
        let Some(start) = self.words.iter().position(belongs) else {
            panic!("a hint names the field {name}, which was not met before it");
        };
        (start, self.words[start..].iter().take_while(|word| belongs(word)).count())
    }
}

impl Fields for Describe {
    const WRITES: bool = false;

    fn meet<K: Kind>(&mut self, name: &'static str, _value: &mut K::Value, kind: &K) {
        for word in kind.describe() {
            self.push(name, word);
        }
    }

    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, _value: &mut K::Value, kind: &S) {
        if self.precision == Precision::State {
            return;
        }
        let start = self.words.len() - K::WORDS;
        let field = self.fields[start];
        self.words.truncate(start);
        self.fields.truncate(start);
        let unused = (S::WORDS..K::WORDS).map(|_| Word::unused());
        for word in kind.describe().into_iter().chain(unused) {
            self.push(field, word);
        }
    }

    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        name: &'static str,
        _list: &mut List<T, N>,
        mut item: impl FnMut(&mut Self, &mut T),
    ) {
        let at = self.words.len();
        self.push(name, Word::list_length(N));
        self.path.push(name.to_string());
        for index in 0..N {
            self.path.push(index.to_string());
            item(self, &mut T::default());
            self.path.pop();
        }
        self.path.pop();
        let words = self.words.len() - at - 1;
        self.words[at].set_list_words(words.checked_div(N).unwrap_or(0));
    }

    fn group(&mut self, name: &'static str, walk: impl FnOnce(&mut Self)) {
        self.path.push(name.to_string());
        walk(self);
        self.path.pop();
    }

    fn relate(&mut self, relation: Relation) {
        match relation {
            Relation::RateOf { rate, of } => {
                let ((rate, count), (of, others)) = (self.find(rate), self.find(of));
                let pairs = (0..count.min(others)).map(|word| (rate + word, of + word));
                self.hints.extend(pairs.map(|(rate, of)| Hint::RateOf { rate, of }));
            }
            Relation::Near { place, steps } => {
                let (first, count) = self.find(place);
                assert!(count == 3, "the field {place} is no place: it has {count} words");
                self.hints.push(Hint::Near { first, radius: steps });
            }
            Relation::AttachedTo { anchor } => {
                let (word, count) = self.find(anchor);
                let is_name = count == 1 && self.words[word].meaning == Meaning::Reference;
                assert!(is_name, "the field {anchor} names no entity");
                self.hints.push(Hint::AttachedTo { word });
            }
            Relation::Leads => self.hints.push(Hint::Leads),
            Relation::Tag { name } => self.hints.push(Hint::Tag { word: self.find(name).0 }),
        }
    }
}

/// How many ticks running a field's change may be rounded away before it is reported.
pub const SWALLOWED_TICKS_MAX: u8 = 8;

/// Finds fields too coarse for the rules: each tick they move a little, and settling rounds it away.
///
/// For tests: show it one entity's value each tick, after the rules and before settling. A field that
/// the rules do not add to, but set to the same unrounded number each tick, looks the same; name those
/// with [`ignore`](SwallowWatch::ignore). What is held at the end of its range is not reported.
///
/// ```
/// use sametick::{Fields, Networked, SwallowWatch};
///
/// #[derive(Clone, Default)]
/// struct Walker { x: f32 }
///
/// impl Networked for Walker {
///     fn fields<F: Fields>(&mut self, f: &mut F) {
///         f.ranged("x", &mut self.x, -50.0..=50.0, 0.01);
///     }
/// }
///
/// let (mut walker, mut watch) = (Walker::default(), SwallowWatch::default());
/// let mut swallowed = None;
/// for _ in 0..10 {
///     walker.x += 1.5 / 400.0; // 1.5 m/s at 400 Hz: less than half of a centimetre a tick.
///     swallowed = swallowed.or(watch.observe(&walker));
///     sametick::settle(&mut walker).unwrap();
/// }
/// assert_eq!(swallowed.as_deref(), Some("x"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SwallowWatch {
    words: Vec<u32>,
    ticks_swallowed: Vec<u8>,
    index: usize,
    fields_met: usize,
    swallowed: Option<usize>,
    ignored: &'static [&'static str],
}

impl SwallowWatch {
    /// Says nothing of fields that are met with these names.
    pub fn ignore(mut self, names: &'static [&'static str]) -> Self {
        self.ignored = names;
        self
    }

    /// The first field whose change has been swallowed for [`SWALLOWED_TICKS_MAX`] ticks running.
    pub fn observe<T: Networked>(&mut self, value: &T) -> Option<String> {
        (self.index, self.fields_met, self.swallowed) = (0, 0, None);
        let mut copy = value.clone();
        copy.fields(self);
        let mut locate = Locate::new(self.swallowed?);
        copy.fields(&mut locate);
        locate.name
    }
}

impl Fields for SwallowWatch {
    const WRITES: bool = false;

    fn meet<K: Kind>(&mut self, name: &'static str, value: &mut K::Value, kind: &K) {
        let mut words = [0; ROW_WORDS];
        let words = &mut words[..K::WORDS];
        kind.gather(value, words);
        let watched = !kind.is_beyond(value) && !self.ignored.contains(&name);
        let rounded = watched && *value != kind.scatter(words);
        let field = self.fields_met;
        self.fields_met += 1;
        let start = self.index;
        self.index += K::WORDS;
        if self.words.len() < self.index {
            self.words.extend_from_slice(words);
            self.ticks_swallowed.resize(self.index, 0);
            return;
        }
        let before = &mut self.words[start..self.index];
        let ticks = &mut self.ticks_swallowed[start];
        *ticks = if rounded && before == words { ticks.saturating_add(1) } else { 0 };
        before.copy_from_slice(words);
        if *ticks >= SWALLOWED_TICKS_MAX {
            self.swallowed.get_or_insert(field);
        }
    }

    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, _value: &mut K::Value, _kind: &S) {}

    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        _name: &'static str,
        list: &mut List<T, N>,
        mut item: impl FnMut(&mut Self, &mut T),
    ) {
        for index in 0..N {
            // Unused items take their places, but only used ones can be told of.
            let met = self.fields_met;
            item(self, &mut list.get(index).copied().unwrap_or_default());
            self.fields_met = if index < list.len() { self.fields_met } else { met };
        }
    }

    fn group(&mut self, _name: &'static str, walk: impl FnOnce(&mut Self)) {
        walk(self);
    }
}
