//! Every kind of field: its words stay in range, come back as they were, and mean what they say.

use proptest::prelude::*;
use sametick::kinds::*;
use sametick::{EntityId, Text};
use std::f32::consts::{FRAC_1_SQRT_2, PI, TAU};

fn gather<K: Kind>(kind: &K, value: K::Value) -> Vec<u32> {
    let mut words = vec![0; K::WORDS];
    kind.gather(&value, &mut words);
    for (word, description) in words.iter().zip(kind.describe()) {
        assert!(description.admits(*word), "{word} does not fit {description:?}");
    }
    words
}

/// The value as it is after crossing the network; crossing again must not change it.
fn settle<K: Kind>(kind: &K, value: K::Value) -> K::Value {
    let words = gather(kind, value);
    let settled = kind.scatter(&words);
    assert_eq!(gather(kind, kind.scatter(&words)), words, "settling twice moves the value");
    settled
}

/// Every word that may stand in a field of one word comes back as itself.
fn check_all_words<K: Kind>(kind: &K) {
    let description = &kind.describe()[0];
    for word in (0..=description.max).filter(|word| description.admits(*word)) {
        assert_eq!(gather(kind, kind.scatter(&[word])), [word]);
    }
}

#[test]
fn integers_of_every_width_come_back() {
    for bits in 1..=16 {
        check_all_words(&Bits::<u32>::new(bits));
        check_all_words(&Int::<i32>::new(-7..=(1 << bits) - 8));
    }
    check_all_words(&Int::<u8>::new(3..=3));
    check_all_words(&Int::<i8>::new(i8::MIN..=i8::MAX));
    check_all_words(&Int::<u16>::new(0..=u16::MAX));
    check_all_words(&Flag);
}

#[test]
fn integers_beyond_their_range_become_its_nearest_end() {
    let health = Int::<i32>::new(0..=100);
    assert_eq!(settle(&health, -20), 0);
    assert_eq!(settle(&health, 120), 100);
    assert_eq!(settle(&health, i32::MIN), 0);
    let whole = Int::<i32>::new(i32::MIN..=i32::MAX);
    for value in [i32::MIN, -1, 0, 1, i32::MAX] {
        assert_eq!(settle(&whole, value), value);
    }
    assert_eq!(settle(&Bits::<u8>::new(4), 0xab), 0x0b);
    assert_eq!(settle(&Bits::<i32>::new(32), -1), -1);
}

#[test]
fn a_choice_is_one_of_its_set() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Door {
        Closed,
        Opening,
        Open,
        Broken,
    }
    const DOORS: &[Door] = &[Door::Closed, Door::Opening, Door::Open];
    let kind = Choice::new(DOORS);
    for door in DOORS {
        assert_eq!(settle(&kind, *door), *door);
    }
    assert_eq!(settle(&kind, Door::Broken), Door::Closed);
    assert_eq!(kind.scatter(&[99]), Door::Closed);
    assert_eq!(kind.describe()[0].bits, 2);
    assert_eq!(kind.describe()[0].show(2), "Open");
    check_all_words(&kind);
}

#[test]
fn exact_floats_keep_every_bit() {
    for value in [0.0, -0.0, 1.0, -1.5, f32::MIN_POSITIVE, f32::MAX, f32::MIN, f32::from_bits(1)] {
        assert_eq!(settle(&Exact, value).to_bits(), value.to_bits());
    }
    let word = &Exact.describe()[0];
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(!word.admits(value.to_bits()));
        assert_eq!(Exact.fault(&value) >> 31, 1);
    }
    assert_eq!(Exact.fault(&f32::MAX) >> 31, 0);
}

#[test]
fn small_floats_of_every_shape_come_back() {
    for exponent_bits in 2..=8 {
        for mantissa_bits in 1..=15 - exponent_bits {
            check_all_words(&SmallFloat::new(exponent_bits, mantissa_bits));
        }
    }
    check_all_words(&SmallFloat::new(5, 10));
}

#[test]
fn small_floats_round_saturate_and_know_zero() {
    let half = SmallFloat::new(5, 10);
    assert_eq!(settle(&half, 0.0).to_bits(), 0);
    assert_eq!(settle(&half, -0.0).to_bits(), 0, "minus zero is zero");
    assert_eq!(gather(&half, 0.0), [0]);
    assert_eq!(settle(&half, 1.0 + 1.0 / 4096.0), 1.0, "below half a step: down");
    assert_eq!(settle(&half, 1.0 + 3.0 / 2048.0), 1.0 + 2.0 / 1024.0, "a tie: to even");
    assert_eq!(settle(&half, 2049.0), 2048.0, "a tie: to even");
    assert_eq!(settle(&half, 1e30), 131_008.0, "too large: the largest");
    assert_eq!(settle(&half, f32::NEG_INFINITY), -131_008.0);
    assert_eq!(settle(&half, f32::NAN), 0.0);
    assert_eq!(settle(&half, 2f32.powi(-24)), 2f32.powi(-24), "the smallest step");
    assert_eq!(settle(&half, 2f32.powi(-26)), 0.0, "less than half of it");
    assert_eq!(settle(&SmallFloat::new(8, 23), f32::MAX), f32::MAX);
    assert_eq!(settle(&SmallFloat::new(8, 23), 1e-45), 1e-45);
    let minus_zero = 1 << 15;
    assert!(!half.describe()[0].admits(minus_zero), "minus zero is never written");
}

#[test]
fn ranged_floats_of_every_width_come_back() {
    for bits in 1..=16 {
        check_all_words(&Ranged::new(0.0..=(1 << bits) as f32 - 1.0, 1.0));
        check_all_words(&Ranged::new(-50.0..=50.0, 100.0 / (1 << bits) as f32));
    }
    check_all_words(&Ranged::new(-100.0..=100.0, 0.01));
    check_all_words(&Ranged::new(0.1..=0.7, 0.03));
}

#[test]
fn ranged_floats_keep_zero_and_their_ends() {
    let metres = Ranged::new(-50.0..=50.0, 0.01);
    for value in [0.0, 50.0, -50.0, 12.34, -0.01] {
        assert_eq!(settle(&metres, value), value);
    }
    assert_eq!(settle(&metres, 1e9), 50.0);
    assert_eq!(settle(&metres, f32::NEG_INFINITY), -50.0);
    assert_eq!(metres.describe()[0].bits, 14);
    assert_eq!(settle(&Ranged::new(0.0..=10.0, 2.5), 3.7), 2.5);
}

#[test]
fn a_whole_turn_is_no_turn() {
    for bits in 2..=16 {
        let kind = Angle::new(bits);
        check_all_words(&kind);
        for turns in [-3.0, -1.0, 0.0, 1.0, 2.0] {
            assert_eq!(gather(&kind, TAU * turns), [0], "{turns} turns of {bits} bits");
        }
        assert_eq!(settle(&kind, PI), -PI, "half a turn either way");
        // A hair below the turn rounds up to it, and that is zero again.
        assert_eq!(gather(&kind, TAU - 1e-6), [0]);
        assert_eq!(settle(&kind, -1e-9), 0.0);
        assert_eq!(settle(&kind, f32::NAN), 0.0);
        assert_eq!(settle(&kind, f32::MAX), 0.0);
    }
    assert_eq!(settle(&Angle::new(16), PI / 2.0), PI / 2.0);
    assert_eq!(settle(&Angle::new(16), 1.5 * PI), -PI / 2.0);
}

#[test]
fn directions_come_back_near_and_octahedral_ones_nearer() {
    let (plain, octahedral) = (Direction::new(6), Octahedral::new(9));
    let (mut plain_worst, mut octahedral_worst) = (1f64, 1f64);
    for direction in sphere(2000) {
        let [x, y, z] = settle(&plain, direction);
        let length = (x * x + y * y + z * z).sqrt();
        plain_worst = plain_worst.min(cosine(direction, [x / length, y / length, z / length]));
        octahedral_worst = octahedral_worst.min(cosine(direction, settle(&octahedral, direction)));
    }
    let degrees = |cosine: f64| cosine.min(1.0).acos().to_degrees();
    assert!(degrees(octahedral_worst) < 0.5, "18 bits: {}", degrees(octahedral_worst));
    assert!(degrees(octahedral_worst) * 2.0 < degrees(plain_worst), "in the same 18 bits");
    for axis in 0..3 {
        let mut direction = [0.0; 3];
        direction[axis] = -1.0;
        assert_eq!(settle(&plain, direction), direction);
        assert_eq!(settle(&octahedral, direction), direction);
    }
    assert_eq!(settle(&octahedral, [0.0; 3]), [0.0, 0.0, 1.0]);
    assert_eq!(settle(&octahedral, [f32::NAN; 3]), [0.0, 0.0, 1.0]);
}

#[test]
fn every_small_rotation_settles() {
    for bits in 3..=5 {
        let kind = Quaternion::new(bits);
        let count = kind.describe()[1].max + 1;
        for largest in 0..4 {
            for word in 0..count.pow(3) {
                let words = [largest, word / count / count, word / count % count, word % count];
                settle(&kind, kind.scatter(&words));
            }
        }
    }
}

#[test]
fn rotations_keep_the_identity_and_survive_nonsense() {
    let kind = Quaternion::new(10);
    let identity = [0.0, 0.0, 0.0, 1.0];
    assert_eq!(settle(&kind, identity), identity);
    assert_eq!(settle(&kind, [0.0, 0.0, 0.0, -1.0]), identity, "the same rotation");
    assert_eq!(settle(&kind, [0.0; 4]), identity);
    assert_eq!(settle(&kind, [f32::NAN; 4]), identity);
    for tie in [[0.5; 4], [0.5, -0.5, 0.5, -0.5], [FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0, 0.0]] {
        let settled = settle(&kind, tie);
        let cosine: f32 = tie.iter().zip(settled).map(|(a, b)| a * b).sum();
        assert!(cosine.abs() > 0.9999, "{tie:?} became {settled:?}");
    }
}

#[test]
fn references_carry_the_generation() {
    let (first, second) = (EntityId::new(7, 1), EntityId::new(7, 2));
    assert_ne!(gather(&Reference, first), gather(&Reference, second));
    assert_eq!(settle(&Reference, first), first);
    assert_eq!(settle(&Reference, None), None);
    let word = &Reference.describe()[0];
    assert!(!word.admits(7), "a slot without a generation is nobody's name");
    assert_eq!(word.show(gather(&Reference, second)[0]), "#7.2");
}

#[test]
fn texts_occupy_their_maximum_and_leave_the_rest_zero() {
    let kind = Characters::<6>;
    assert_eq!(gather(&kind, Text::cut("abcde")), [5, u32::from_le_bytes(*b"abcd"), b'e'.into()]);
    assert_eq!(&*settle(&kind, Text::cut("año")), "año");
    assert_eq!(&*kind.scatter(&[u32::MAX, u32::MAX, 0]), "", "nonsense is cut");
}

proptest! {
    #[test]
    fn wide_integers_come_back(value: i32, ends: (i32, i32)) {
        let (low, high) = (ends.0.min(ends.1), ends.0.max(ends.1));
        prop_assert_eq!(settle(&Int::new(low..=high), value), value.clamp(low, high));
        prop_assert_eq!(settle(&Bits::<u32>::new(17), value as u32), value as u32 & 0x1_ffff);
    }

    #[test]
    fn small_floats_round_to_the_nearest(bits: u32, exponent_bits in 2u32..=8, mantissa_bits in 1u32..=23) {
        let value = f32::from_bits(bits);
        let kind = SmallFloat::new(exponent_bits, mantissa_bits);
        let settled = settle(&kind, value);
        prop_assert!(settled.is_finite());
        let word = gather(&kind, value)[0];
        let sign = 1 << (exponent_bits + mantissa_bits);
        for neighbour in [word.wrapping_sub(1), word + 1] {
            let lawful = neighbour & sign == word & sign && kind.describe()[0].admits(neighbour);
            if lawful && value.is_finite() {
                let other = f64::from(kind.scatter(&[neighbour]));
                let (value, settled) = (f64::from(value), f64::from(settled));
                prop_assert!((value - settled).abs() <= (value - other).abs());
            }
        }
    }

    #[test]
    fn ranged_floats_are_off_by_half_a_step_at_most(value in -60f32..60.0, step in 0.0001f32..5.0) {
        let settled = settle(&Ranged::new(-50.0..=50.0, step), value);
        let inner = value.clamp(-50.0 + step, 50.0 - step);
        if value == inner {
            prop_assert!((settled - value).abs() <= step * 0.5001 + 4e-6);
        }
        prop_assert!((-50.001..=50.001).contains(&settled));
    }

    #[test]
    fn angles_are_off_by_half_a_step_at_most(value in -100f32..100.0, bits in 2u32..=20) {
        let settled = settle(&Angle::new(bits), value);
        prop_assert!((-PI..PI).contains(&settled));
        let turns = f64::from(value - settled) / std::f64::consts::TAU;
        let off = (turns - turns.round()).abs() * std::f64::consts::TAU;
        prop_assert!(off <= std::f64::consts::PI / f64::from(1 << bits) + 2e-5);
    }

    #[test]
    fn directions_settle(direction: [f32; 3], bits in 2u32..=16) {
        settle(&Direction::new(bits), direction);
        let [x, y, z] = settle(&Octahedral::new(bits), direction).map(f64::from);
        prop_assert!((x * x + y * y + z * z - 1.0).abs() < 1e-6);
    }

    #[test]
    fn rotations_settle_near(parts in prop::array::uniform4(-1f32..1.0), bits in 3u32..=15) {
        let length = parts.iter().map(|part| part * part).sum::<f32>().sqrt();
        prop_assume!(length > 0.01);
        let settled = settle(&Quaternion::new(bits), parts);
        let norm: f32 = settled.iter().map(|part| part * part).sum();
        prop_assert!((norm - 1.0).abs() < 1e-5);
        let cosine: f32 = parts.iter().zip(settled).map(|(a, b)| a / length * b).sum();
        let step = 1.0 / ((1 << (bits - 1)) - 1) as f32;
        prop_assert!(1.0 - cosine.abs() < 4.0 * step * step + 1e-5, "{cosine} at {bits} bits");
    }

    #[test]
    fn rotations_of_any_numbers_settle(parts: [f32; 4], bits in 3u32..=15) {
        settle(&Quaternion::new(bits), parts);
    }

    #[test]
    fn texts_come_back(text: String) {
        let cut = Text::<21>::cut(&text);
        prop_assert!(text.starts_with(&*cut));
        prop_assert_eq!(settle(&Characters::<21>, cut), cut);
    }

    #[test]
    fn any_words_give_a_value(words: [u32; 8]) {
        let _ = Quaternion::new(9).scatter(&words[..4]);
        let _ = Octahedral::new(9).scatter(&words[..2]);
        let _ = Direction::new(9).scatter(&words[..3]);
        let _ = Characters::<21>.scatter(&words[..7]);
        prop_assert!(Exact.scatter(&words[..1]).is_finite());
        prop_assert!(SmallFloat::new(8, 23).scatter(&words[..1]).is_finite());
        let _ = Ranged::new(-1.0..=1.0, 0.1).scatter(&words[..1]);
        prop_assert!(Int::<i32>::new(-5..=5).scatter(&words[..1]) <= 5);
    }
}

/// Directions spread evenly.
fn sphere(count: usize) -> impl Iterator<Item = [f32; 3]> {
    (0..count).map(move |i| {
        let z = 1.0 - 2.0 * (i as f32 + 0.5) / count as f32;
        let (sine, cosine) = libm::sincosf(i as f32 * 2.399_963);
        let radius = (1.0 - z * z).sqrt();
        [radius * cosine, radius * sine, z]
    })
}

fn cosine(a: [f32; 3], b: [f32; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(b)).sum()
}
