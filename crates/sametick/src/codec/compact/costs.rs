//! Where the bits go: prices every decision of a snapshot instead of coding it, by kind and field.

use super::tree::{Decide, Features, FlagModel, NumberModel, Price};
use super::walk::{Part, Port, Subject};
use crate::schema::record::Layout;
use std::collections::BTreeMap;

/// What each kind's each field has cost so far.
#[derive(Debug, Default)]
pub struct Costs {
    by_subject: BTreeMap<Subject, (f64, u64)>,
}

/// What one thing cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The kind and the field, such as `Player: position.x`, or what else it was.
    pub name: String,
    /// In all.
    pub bits: f64,
    /// How often it was coded.
    pub count: u64,
}

impl Costs {
    fn add(&mut self, about: Subject, bits: f64) {
        let cost = self.by_subject.entry(about).or_default();
        cost.0 += bits;
        cost.1 += 1;
    }

    /// What everything cost, in no order. A kind that has no name goes by its number.
    pub fn rows(&self, layouts: &[Layout], kinds: &[String]) -> Vec<Cost> {
        let row = |(subject, (bits, count)): (&Subject, &(f64, u64))| Cost {
            name: name(*subject, layouts, kinds),
            bits: *bits,
            count: *count,
        };
        self.by_subject.iter().map(row).collect()
    }
}

fn name(subject: Subject, layouts: &[Layout], kinds: &[String]) -> String {
    let kind = subject.kind.map(usize::from);
    let word = |word: u8| {
        let layout = kind.and_then(|kind| layouts.get(kind));
        layout.map_or(String::new(), |layout| layout.words()[usize::from(word)].name.clone())
    };
    let part = match subject.part {
        Part::MoreChunks | Part::SameSight => "who is in sight, by chunk".into(),
        Part::InSight => "who is in sight".into(),
        Part::Strangers | Part::Stranger => "who is new".into(),
        Part::Generation => "which generation".into(),
        Part::Kind => "which kind".into(),
        Part::Held => "whether it is held back".into(),
        Part::Foreseen => "whether it is as foreseen".into(),
        Part::Changed => "whether it changed".into(),
        Part::Rare => "whether a rare field changed".into(),
        Part::Word(index) => word(index),
        Part::OnGrid(index) => word(index) + ", whether on its grid",
        Part::OffGrid(index) => word(index) + ", low bits",
        Part::Turn(_) => "turn".into(),
    };
    let Some(kind) = kind else { return part };
    kinds.get(kind).map_or(format!("kind {kind}: {part}"), |kind| format!("{kind}: {part}"))
}

impl Port for Costs {
    fn flag(&mut self, about: Subject, model: &FlagModel, known: &Features, value: bool) -> bool {
        let mut price = Price::default();
        price.decide(model.chance(known), value);
        self.add(about, price.bits);
        value
    }
    fn number(&mut self, about: Subject, model: &NumberModel, known: &Features, value: i32) -> i32 {
        let mut price = Price::default();
        model.code(&mut price, known, value);
        self.add(about, price.bits);
        value
    }
    fn raw(&mut self, about: Subject, bits: u32, value: u32) -> u32 {
        self.add(about, f64::from(bits));
        value
    }
}
