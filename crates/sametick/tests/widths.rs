//! Every kind at every width it can have: words come back as words, and values as the kind promises.

use proptest::prelude::*;
use sametick::bits::{BitReader, BitWriter};
use sametick::kinds::*;
use sametick::word::Blend::{self, Arc, Slide, Snap};
use sametick::word::Word;
use sametick::{ENTITY_SLOTS_MAX, EntityId, GENERATIONS_MAX, Layout, Precision, delta};
use std::f32::consts::PI;

fn gather<K: Kind>(kind: &K, value: K::Value) -> Vec<u32> {
    let mut words = vec![0; K::WORDS];
    kind.gather(&value, &mut words);
    words
}

fn again<K: Kind>(kind: &K, words: &[u32]) -> Vec<u32> {
    gather(kind, kind.scatter(words))
}

/// Every list of `count` words, each at most `max`.
fn all_words<const N: usize>(max: u32) -> impl Iterator<Item = [u32; N]> {
    let base = u64::from(max) + 1;
    (0..base.pow(N as u32)).map(move |number| {
        std::array::from_fn(|place| (number / base.pow(place as u32) % base) as u32)
    })
}

/// Whether the reader takes these words, written whole against a base that differs in all of them.
fn is_read(words: Vec<Word>, record: &[u32]) -> bool {
    let mut writer = BitWriter::growing(256);
    writer.write((1 << record.len()) - 1, record.len() as u32);
    for (word, description) in record.iter().zip(&words) {
        writer.write(u64::from(*word), description.bits);
    }
    let other: Vec<u32> = record.iter().map(|word| word ^ 1).collect();
    let layout = Layout::new(Precision::State, words.clone(), vec![0; words.len()]);
    let mut read = vec![0; record.len()];
    let mut reader = BitReader::new(writer.finish().expect("it fits"));
    delta::read(&mut reader, &layout, &other, &mut read);
    reader.finish().is_ok()
}

macro_rules! every_integer {
    ($($name:ident: $integer:ty, $bounds:ident;)*) => {
        $(proptest! {
            #[test]
            fn $name(value: $integer, edge in 0usize..6, low: $integer, span: u32) {
                type I = $integer;
                let value = [I::MIN, I::MAX, 0, 1, value, value][edge];
                for bits in 1..=I::BITS.min(32) {
                    let kind = Bits::<I>::new(bits);
                    let mask = u32::MAX >> (32 - bits);
                    let words = gather(&kind, value);
                    prop_assert_eq!(words[0], value as u32 & mask, "the low {} bits", bits);
                    prop_assert_eq!(kind.scatter(&words), (value as u32 & mask) as I);
                    prop_assert_eq!(again(&kind, &words), words);
                    prop_assert_eq!(kind.describe()[0].bits, bits);
                }
                // What no `i64` holds cannot be the end of a range.
                let low = low.min(i64::MAX.try_into().unwrap_or(I::MAX));
                let room = i128::from(i64::MAX).min(I::MAX as i128) - low as i128;
                let high = (low as i128 + room.min(i128::from(span))) as I;
                let kind = Int::<I>::new(low..=high);
                for value in [value, low, high, I::MIN, I::MAX] {
                    let words = gather(&kind, value);
                    prop_assert_eq!(kind.scatter(&words), value.clamp(low, high));
                    prop_assert_eq!(again(&kind, &words), words);
                }
                prop_assert_eq!(kind.scatter(&[u32::MAX]).max(high), high, "any word is a value");
            }
        })*

        $(#[test]
        #[should_panic(expected = "a bits field is")]
        fn $bounds() {
            Bits::<$integer>::new(<$integer>::BITS.min(32) + 1);
        })*
    };
}

every_integer! {
    eight_bits_come_back: u8, eight_bits_are_no_nine;
    sixteen_bits_come_back: u16, sixteen_bits_are_no_seventeen;
    thirty_two_bits_come_back: u32, thirty_two_bits_are_the_most;
    sixty_four_bits_come_back: u64, of_sixty_four_bits_thirty_two_are_the_most;
    a_machines_bits_come_back: usize, of_a_machines_bits_thirty_two_are_the_most;
    eight_signed_bits_come_back: i8, eight_signed_bits_are_no_nine;
    sixteen_signed_bits_come_back: i16, sixteen_signed_bits_are_no_seventeen;
    thirty_two_signed_bits_come_back: i32, thirty_two_signed_bits_are_the_most;
    sixty_four_signed_bits_come_back: i64, of_sixty_four_signed_bits_thirty_two_are_the_most;
    a_machines_signed_bits_come_back: isize, of_a_machines_signed_bits_thirty_two_are_the_most;
}

#[test]
#[should_panic(expected = "a bits field is wider than its integer")]
fn bits_wider_than_their_integer_are_an_assertion() {
    Bits::<u8>::new(9);
}

#[test]
#[should_panic(expected = "an integer field's range is too wide")]
fn a_range_wider_than_a_word_is_an_assertion() {
    Int::<i64>::new(0..=1 << 32);
}

#[test]
#[should_panic(expected = "an integer field's range is too wide")]
fn the_widest_range_is_an_assertion_too() {
    Int::<i64>::new(i64::MIN..=i64::MAX);
}

#[test]
#[should_panic(expected = "an integer field's range ends beyond an i64")]
fn a_range_that_ends_beyond_what_is_computed_with_is_an_assertion() {
    Int::<u64>::new(u64::MAX - 5..=u64::MAX);
}

#[test]
fn every_direction_of_up_to_five_bits_an_axis_comes_back() {
    for bits in 2..=5 {
        let kind = Direction::new(bits);
        for words in all_words::<3>(kind.describe()[0].max) {
            assert_eq!(again(&kind, &words), words, "{bits} bits");
        }
    }
}

#[test]
fn every_octahedral_direction_of_up_to_eight_bits_comes_back() {
    for bits in 2..=8 {
        let kind = Octahedral::new(bits);
        for words in all_words::<2>(kind.describe()[0].max) {
            assert_eq!(again(&kind, &words), words, "{bits} bits");
        }
    }
}

/// As the protocol says it: the fourth component, which is not sent, is plainly the largest.
fn is_plainly_largest(bits: u32, words: &[u32]) -> bool {
    let limit = (1i64 << (bits - 1)) - 1;
    let squares = words[1..].iter().map(|word| (i64::from(*word) - limit).pow(2));
    let whole = 2 * limit * limit;
    let rest = whole - squares.clone().sum::<i64>();
    rest - squares.max().unwrap_or(0) > 2 + whole / 100_000
}

#[test]
fn of_small_rotations_those_are_read_that_come_back() {
    for bits in 3..=5 {
        let kind = Quaternion::new(bits);
        let mut share = [0, 0];
        for largest in 0..4 {
            for [a, b, c] in all_words(kind.describe()[1].max) {
                let words = [largest, a, b, c];
                let comes_back = again(&kind, &words) == words;
                assert_eq!(is_plainly_largest(bits, &words), comes_back, "{words:?}");
                assert_eq!(is_read(kind.describe(), &words), comes_back, "{words:?}");
                share[usize::from(comes_back)] += 1;
            }
        }
        assert!(share.iter().all(|count| *count > 400), "{bits} bits: {share:?}");
    }
}

#[test]
fn ranged_floats_reach_to_the_limit_of_a_float() {
    let limit = (1 << 23) as f32;
    // Where the end itself is rounded, one step less.
    let near = limit - 1.0;
    let steps = [(1.0, limit), (0.125, limit), (0.01, near), (0.3, near), (3.0, near)];
    for (step, steps_max) in steps.into_iter().chain([(1.9999, near), (1e-30, near), (1e30, near)])
    {
        let kind = Ranged::new(-steps_max * step..=steps_max * step, step);
        let max = kind.describe()[0].max;
        assert!(max >= 2 * (1 << 23) - 4, "{max} in steps of {step}");
        for word in (0..1000).flat_map(|i| [i, max - i, max / 2 - i, max / 2 + i]) {
            assert_eq!(again(&kind, &[word]), [word], "{word} in steps of {step}");
        }
    }
    let exact = Ranged::new(-limit..=limit, 1.0);
    assert_eq!((exact.scatter(&[0]), exact.scatter(&[1 << 24])), (-limit, limit));
    assert_eq!(exact.describe()[0].bits, 25);
}

#[test]
#[should_panic(expected = "a ranged field's step is too fine")]
fn a_step_that_a_float_cannot_hold_is_an_assertion() {
    Ranged::new(0.0..=((1 << 23) + 2) as f32, 1.0);
}

proptest! {
    #[test]
    fn exact_floats_of_any_bits_come_back(bits: u32) {
        let word = &Exact.describe()[0];
        let is_finite = f32::from_bits(bits).is_finite();
        prop_assert_eq!(word.admits(bits), is_finite);
        prop_assert_eq!(Exact.fault(&f32::from_bits(bits)) >> 31 == 0, is_finite);
        prop_assert!(!is_finite || again(&Exact, &[bits]) == [bits]);
        let three = [bits, !bits, bits.rotate_left(9)];
        let all_finite = three.iter().all(|bits| f32::from_bits(*bits).is_finite());
        prop_assert!(!all_finite || again(&Exacts::<3>, &three) == three);
    }

    #[test]
    fn ranged_floats_come_back_at_any_step(step in 1e-3f32..1e3, word: u32, half in 1u32..1 << 23) {
        let half = half as f32 * step * 0.999_999;
        let (one, three) = (Ranged::new(-half..=half, step), Rangeds::<3>::new(-half..=half, step));
        let max = one.describe()[0].max;
        let word = ((u64::from(word) * (u64::from(max) + 1)) >> 32) as u32;
        prop_assert_eq!(again(&one, &[word]), [word]);
        prop_assert_eq!(again(&three, &[word, 0, max]), [word, 0, max]);
    }

    #[test]
    fn angles_of_any_width_come_back(bits in 2u32..=20, word: u32) {
        let kind = Angle::new(bits);
        let word = word >> (32 - bits);
        prop_assert_eq!(again(&kind, &[word]), [word]);
        prop_assert!((-PI..PI).contains(&kind.scatter(&[word])));
    }

    #[test]
    fn directions_of_any_width_come_back(bits in 2u32..=16, words: [u32; 3]) {
        let (axes, folded) = (Direction::new(bits), Octahedral::new(bits));
        let max = axes.describe()[0].max;
        let words = words.map(|word| word % (max + 1));
        prop_assert_eq!(again(&axes, &words), words);
        prop_assert_eq!(again(&folded, &words[..2]), &words[..2]);
    }

    #[test]
    fn the_rim_of_the_octahedron_comes_back(bits in 2u32..=16, word: u32, signs: [bool; 2]) {
        let kind = Octahedral::new(bits);
        let limit = (1 << (bits - 1)) - 1;
        let place = word % (limit + 1);
        // The two add up to one: there the upper half ends and the lower begins.
        let words = [(signs[0], place), (signs[1], limit - place)]
            .map(|(minus, step)| if minus { limit - step } else { limit + step });
        prop_assert_eq!(again(&kind, &words), words);
    }

    #[test]
    fn of_all_rotations_those_are_read_that_come_back(bits in 3u32..=15, words: [u32; 4]) {
        let kind = Quaternion::new(bits);
        let max = kind.describe()[1].max;
        let [largest, a, b, c] = words;
        let words = [largest % 4, a % (max + 1), b % (max + 1), c % (max + 1)];
        let comes_back = again(&kind, &words) == words;
        prop_assert_eq!(is_plainly_largest(bits, &words), comes_back);
        prop_assert_eq!(is_read(kind.describe(), &words), comes_back);
    }

    #[test]
    fn rotations_on_the_verge_come_back(bits in 3u32..=15, signs: [bool; 3], near in -3i32..4) {
        // Two or four components of nearly the same size: rounding must not change their order.
        let kind = Quaternion::new(bits);
        let limit = (1 << (bits - 1)) - 1;
        for size in [f64::from(limit), f64::from(limit) / std::f64::consts::SQRT_2] {
            let step = (size as i32 + near).clamp(0, limit);
            let words = signs.map(|minus| (limit + if minus { -step } else { step }) as u32);
            for words in [[0, words[0], limit as u32, limit as u32], [3, words[0], words[1], words[2]]] {
                let settled = again(&kind, &words);
                prop_assert_eq!(again(&kind, &settled), settled);
            }
        }
    }

    #[test]
    fn references_to_every_slot_and_generation_come_back(
        slot in 0..ENTITY_SLOTS_MAX,
        generation in 1..=GENERATIONS_MAX,
        word: u32,
    ) {
        let id = EntityId::new(slot, generation);
        let words = gather(&Reference, id);
        prop_assert_eq!(words[0], generation << 12 | slot as u32);
        prop_assert_eq!(Reference.scatter(&words), id);
        let lawful = word == 0 || word >> 12 != 0;
        prop_assert_eq!(Reference.describe()[0].admits(word), lawful);
        prop_assert_eq!(again(&Reference, &[word]) == [word], lawful);
    }
}

#[test]
fn every_slot_can_be_referred_to() {
    for slot in 0..ENTITY_SLOTS_MAX {
        for generation in [1, 2, GENERATIONS_MAX] {
            let id = EntityId::new(slot, generation);
            assert!(id.is_some());
            assert_eq!(Reference.scatter(&gather(&Reference, id)), id);
        }
    }
}

#[test]
fn numbers_slide_turns_take_the_short_way_and_all_else_snaps() {
    fn check(expected: Blend, words: Vec<Word>) {
        assert!(words.iter().all(|word| word.blend == expected), "{words:?}");
    }
    check(Snap, Bits::<u8>::new(3).describe());
    check(Snap, Int::<i32>::new(-5..=5).describe());
    check(Snap, Flag.describe());
    check(Snap, Choice::new(&[1, 2, 3]).describe());
    check(Snap, Reference.describe());
    check(Snap, Characters::<6>.describe());
    check(Slide, Exact.describe());
    check(Slide, Exacts::<4>.describe());
    check(Slide, SmallFloat::new(5, 10).describe());
    check(Slide, Ranged::new(0.0..=1.0, 0.1).describe());
    check(Slide, Rangeds::<3>::new(0.0..=1.0, 0.1).describe());
    check(Slide, Direction::new(5).describe());
    check(Arc, Angle::new(9).describe());
    check(Arc, Octahedral::new(9).describe());
    check(Arc, Quaternion::new(9).describe());
}
