//! Values as records: gathered, scattered, settled, described, compared.

use super::common::{Item, Zoo, zoo};
use proptest::prelude::*;
use sametick::record::{self, NotFinite, ROW_WORDS};
use sametick::word::{Blend, Meaning};
use sametick::{Fields, Layout, List, Networked, Precision, SwallowWatch, settle};

const PRECISIONS: [Precision; 2] = [Precision::State, Precision::Shown];

fn gathered<T: Networked>(layout: &Layout, value: &mut T) -> Vec<u32> {
    let mut row = [0xdead_beef; ROW_WORDS];
    layout.gather(value, &mut row);
    row[..layout.len()].to_vec()
}

proptest! {
    #[test]
    fn a_settled_value_is_its_record(mut zoo in zoo()) {
        let layout = Layout::of::<Zoo>(Precision::State);
        let raw = gathered(&layout, &mut zoo);
        settle(&mut zoo).unwrap();
        prop_assert_eq!(&gathered(&layout, &mut zoo), &raw, "settling changes no word");
        prop_assert_eq!(layout.value::<Zoo>(&raw), zoo.clone(), "the record gives the value back");
        let before = zoo.clone();
        settle(&mut zoo).unwrap();
        prop_assert_eq!(zoo, before, "settling twice changes nothing");
    }

    #[test]
    fn gathering_leaves_the_value_alone(mut zoo in zoo()) {
        for precision in PRECISIONS {
            let before = zoo.clone();
            gathered(&Layout::of::<Zoo>(precision), &mut zoo);
            prop_assert_eq!(&zoo, &before);
        }
    }

    #[test]
    fn what_is_shown_shows_the_same_again(mut zoo in zoo()) {
        let layout = Layout::of::<Zoo>(Precision::Shown);
        settle(&mut zoo).unwrap();
        let words = gathered(&layout, &mut zoo);
        for (word, description) in words.iter().zip(layout.words()) {
            prop_assert!(description.admits(*word), "{} is {}", description.name, word);
        }
        let mut copy = layout.value::<Zoo>(&words);
        prop_assert_eq!(gathered(&layout, &mut copy), words);
    }

    #[test]
    fn a_difference_is_named(mut left in zoo(), mut right in zoo()) {
        let layout = Layout::of::<Zoo>(Precision::State);
        let (left, right) = (gathered(&layout, &mut left), gathered(&layout, &mut right));
        let differing = left.iter().zip(&right).filter(|(left, right)| left != right).count();
        prop_assert_eq!(layout.differences(&left, &right).is_empty(), differing == 0);
        prop_assert!(layout.differences(&left, &right).len() <= differing);
        prop_assert_eq!(record::hash(&left) == record::hash(&right), differing == 0);
    }
}

#[test]
fn the_layout_knows_names_widths_defaults_and_blending() {
    let layout = Layout::of::<Zoo>(Precision::State);
    let find = |name: &str| layout.words().iter().position(|word| word.name == name).unwrap();
    assert_eq!(layout.words()[find("flags")].bits, 19);
    assert_eq!(layout.words()[find("position.y")].bits, 32);
    assert_eq!(layout.words()[find("yaw")].blend, Blend::Slide);
    assert_eq!(layout.words()[find("items.2.kind")].bits, 4);
    assert_eq!(layout.words()[find("joints.1.marks.1.mark")].bits, 3);
    assert_eq!(layout.words()[find("edition")].bits, 0, "of one value nothing need be said");
    assert_eq!(layout.initial()[find("health")], 10, "zero, counted from -10");
    assert_eq!(layout.initial()[find("rotation.largest")], 3, "no rotation");
    let shown = Layout::of::<Zoo>(Precision::Shown);
    assert_eq!(shown.len(), layout.len(), "both precisions have the same words");
    assert_eq!(shown.words()[find("position.y")].bits, 15);
    assert_eq!(shown.words()[find("yaw")].blend, Blend::Arc);
    assert_eq!(shown.words()[find("view.x") + 2].meaning, Meaning::Unused);
    assert_ne!(shown.fingerprint(), layout.fingerprint());
    assert_eq!(shown.fingerprint(), Layout::of::<Zoo>(Precision::Shown).fingerprint());
}

#[test]
fn a_desync_report_names_the_field_and_both_values() {
    let layout = Layout::of::<Zoo>(Precision::State);
    let mut left = Zoo { health: 80, yaw: 0.0, ..Zoo::default() };
    let mut right = Zoo { health: 79, yaw: -0.0, ..Zoo::default() };
    right.items.push(Item { kind: 2, charge: 0.5 });
    let (left, right) = (gathered(&layout, &mut left), gathered(&layout, &mut right));
    let report: Vec<String> =
        layout.differences(&left, &right).iter().map(ToString::to_string).collect();
    assert_eq!(
        report,
        [
            "health: 80 on the left, 79 on the right",
            "yaw: 0.0 on the left, -0.0 on the right",
            "items.length: 0 on the left, 1 on the right",
            "items.0.kind: 0 on the left, 2 on the right",
            "items.0.charge: 0.0 on the left, 0.5 on the right",
        ]
    );
}

#[test]
fn a_number_that_is_not_finite_is_an_error_with_its_name() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut zoo = Zoo { speed: bad, yaw: bad, ..Zoo::default() };
        assert_eq!(settle(&mut zoo), Err(NotFinite { field: "speed".into() }));
        assert!(zoo.speed.is_finite() && zoo.yaw == 0.0, "a finite one stands in its place");
        assert_eq!(settle(&mut zoo), Ok(()));
    }
}

#[test]
#[should_panic(expected = "the field yaw holds a number that is not finite")]
fn what_is_not_finite_is_never_gathered() {
    let layout = Layout::of::<Zoo>(Precision::State);
    gathered(&layout, &mut Zoo { yaw: f32::NAN, ..Zoo::default() });
}

/// Walks another field once it is angry.
#[derive(Clone, Default)]
struct Fickle {
    angry: bool,
    speed: f32,
}

impl Networked for Fickle {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bool("angry", &mut self.angry);
        if !self.angry {
            f.exact("speed", &mut self.speed);
        }
    }
}

#[test]
#[should_panic(expected = "a value's walk met nothing more where its layout has speed")]
fn a_walk_of_another_shape_is_an_assertion_with_the_fields_name() {
    let layout = Layout::of::<Fickle>(Precision::State);
    gathered(&layout, &mut Fickle { angry: true, speed: 0.0 });
}

/// Its range follows its value, which no layout can.
#[derive(Clone, Default)]
struct Elastic {
    rounds: u8,
    rounds_max: u8,
}

impl Networked for Elastic {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("rounds", &mut self.rounds, 0..=10 + self.rounds_max);
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "the field rounds has another range than in its layout")]
fn a_range_that_depends_on_the_value_is_an_assertion_when_gathered() {
    let layout = Layout::of::<Elastic>(Precision::State);
    gathered(&layout, &mut Elastic { rounds: 1, rounds_max: 1 });
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "the field rounds has another range than in its layout")]
fn a_range_that_depends_on_the_value_is_an_assertion_when_scattered() {
    let layout = Layout::of::<Elastic>(Precision::State);
    layout.scatter(&[1; ROW_WORDS], &mut Elastic { rounds: 1, rounds_max: 1 });
}

#[test]
#[should_panic(expected = "a value's walk met flags where its layout has angry")]
fn a_value_of_another_type_is_an_assertion_with_the_fields_name() {
    gathered(&Layout::of::<Fickle>(Precision::State), &mut Zoo::default());
}

#[derive(Clone, Default)]
struct Endless {
    items: List<u8, 300>,
}

impl Networked for Endless {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.list("items", &mut self.items, |f, item| {
            f.int("item", item, 0..=9);
        });
    }
}

#[test]
#[should_panic(
    expected = "a value has 301 words, but a record at most 256; the first too many is items.255.item"
)]
fn a_value_with_too_many_words_is_an_assertion_with_the_fields_name() {
    Layout::of::<Endless>(Precision::State);
}

/// Keeps a heading as a direction and sends it as an angle.
#[derive(Clone, Debug, Default, PartialEq)]
struct Turret {
    east: f32,
    north: f32,
}

impl Networked for Turret {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        let mut heading = libm::atan2f(self.north, self.east);
        f.angle("heading", &mut heading, 12);
        if F::WRITES {
            (self.north, self.east) = libm::sincosf(heading);
        }
    }
}

#[test]
fn a_value_may_convert_before_the_walk_and_rebuild_after_it() {
    let layout = Layout::of::<Turret>(Precision::State);
    let mut turret = Turret { east: -3.0, north: 3.0 };
    let words = gathered(&layout, &mut turret);
    assert_eq!(turret, Turret { east: -3.0, north: 3.0 }, "gathering rebuilds nothing");
    assert_eq!(words, [4096 * 3 / 8]);
    settle(&mut turret).unwrap();
    assert!((turret.east + 0.5f32.sqrt()).abs() < 1e-6);
    assert_eq!(gathered(&layout, &mut turret), words);
    assert_eq!(layout.value::<Turret>(&words), turret);
}

#[test]
fn a_change_that_rounding_swallows_is_reported_and_one_that_moves_is_not() {
    let (mut zoo, mut watch) = (Zoo::default(), SwallowWatch::default());
    for tick in 0..20 {
        zoo.charge += 0.07; // More than half a step of 0.125: it gets on.
        zoo.position[0] += 1e-4; // Exact: nothing is ever swallowed.
        assert_eq!(watch.observe(&zoo), None, "tick {tick}");
        settle(&mut zoo).unwrap();
        zoo.charge = if zoo.charge >= 1.0 { 0.0 } else { zoo.charge };
    }
    let mut found = None;
    for _ in 0..9 {
        zoo.charge += 0.03;
        found = found.or(watch.observe(&zoo));
        settle(&mut zoo).unwrap();
    }
    assert_eq!(found.as_deref(), Some("charge"));
}

#[test]
fn the_watch_leaves_alone_what_is_held_at_its_end_or_named() {
    let mut watch = SwallowWatch::default().ignore(&["yaw"]);
    let mut turning = Turn::default();
    for _ in 0..20 {
        turning.health += 3;
        turning.charge += 0.2;
        turning.yaw = 0.7;
        assert_eq!(watch.observe(&turning), None);
        settle(&mut turning).unwrap();
    }
    assert_eq!((turning.health, turning.charge), (10, 1.0));
}

#[derive(Clone, Debug, Default)]
struct Turn {
    health: u8,
    charge: f32,
    yaw: f32,
}

impl Networked for Turn {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("health", &mut self.health, 0..=10);
        f.ranged("charge", &mut self.charge, 0.0..=1.0, 0.125);
        f.angle("yaw", &mut self.yaw, 8);
    }
}

#[test]
fn faults_and_differences_are_named_by_their_path() {
    let mut zoo = Zoo::default();
    zoo.items.push(Item { kind: 1, charge: 0.5 });
    zoo.items.push(Item { kind: 1, charge: f32::NAN });
    assert_eq!(settle(&mut zoo), Err(NotFinite { field: "items.1.charge".into() }));
    zoo.position[2] = f32::INFINITY;
    assert_eq!(settle(&mut zoo), Err(NotFinite { field: "position.z".into() }));
    let layout = Layout::of::<Zoo>(Precision::State);
    let [ada, bob] =
        ["Ünïcø", "Bob"].map(|name| Zoo { name: sametick::Text::cut(name), ..Zoo::default() });
    let report = layout.differences(&layout.record(&ada), &layout.record(&bob));
    assert_eq!(report.len(), 1);
    assert_eq!(report[0].to_string(), "name: \"Ünïcø\" on the left, \"Bob\" on the right");
}

#[derive(Clone, Default)]
struct Twins([f32; 2]);

impl Networked for Twins {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        let [first, second] = &mut self.0;
        f.exact("x", first);
        f.exact("x", second);
    }
}

#[test]
#[should_panic(expected = "a value has two fields with the name x")]
fn two_fields_with_one_name_are_an_assertion() {
    Layout::of::<Twins>(Precision::State);
}
