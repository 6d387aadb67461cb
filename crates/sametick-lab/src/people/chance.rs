//! Every chance of a study: codes from bytes that nobody foresees, the rest from the experiment's seed.

use super::study::Study;
use sametick::Dice;
use sametick::record::mix;
use sametick::secure::Random;
use std::collections::BTreeSet;

/// Letters and digits that nobody takes for one another.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 50 bits: too many to guess at a few a second.
const CODE_CHARACTERS: usize = 10;

/// What chances are drawn for.
pub(crate) const FOREPERIOD: u64 = 0x0f0e;
pub(crate) const OPTIONS: u64 = 0x0975;
pub(crate) const LETTERS: u64 = 0x1e77;
pub(crate) const INTERVALS: u64 = 0x2afc;

impl Study {
    /// Codes to join with, one for each seat: ten letters and digits without I, L, O and U, no two the same.
    pub fn draw_codes(seats: usize, random: &mut dyn Random) -> Vec<String> {
        let mut codes = BTreeSet::new();
        let mut drawn = Vec::with_capacity(seats);
        while drawn.len() < seats {
            let mut bytes = [0; CODE_CHARACTERS];
            random.fill(&mut bytes);
            let letters = bytes.map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
            let code: String = letters.iter().collect();
            if codes.insert(code.clone()) {
                drawn.push(code);
            }
        }
        drawn
    }
}

/// A code as it is kept: people write small letters, and take some letters for digits.
pub(crate) fn plain_code(code: &str) -> String {
    let plain = |letter: char| match letter.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        'U' => 'V',
        other => other,
    };
    code.chars().filter(char::is_ascii_alphanumeric).take(2 * CODE_CHARACTERS).map(plain).collect()
}

/// A seed of its own for some purpose.
pub(crate) fn dice(seed: u64, parts: &[u32], purpose: u64) -> Dice {
    let seed = parts.iter().fold(seed, |seed, part| mix(seed, *part));
    Dice::new(seed, purpose)
}

/// How long a round waits: drawn from a truncated exponential distribution, so that having waited long tells little of
/// when it ends.
pub(crate) fn foreperiod_ms((least, most): (f64, f64), dice: &mut Dice) -> u64 {
    let range = most - least;
    if range <= 0.0 {
        return least.round() as u64;
    }
    let mean = range / 2.0;
    let share = 1.0 - (-range / mean).exp();
    let wait = -mean * (1.0 - dice.unit() * share).ln();
    (least + wait.clamp(0.0, range)).round() as u64
}

/// Any order is as likely as any other.
pub(crate) fn shuffle<T>(items: &mut [T], dice: &mut Dice) {
    for place in (1..items.len()).rev() {
        items.swap(place, dice.below(place as u64 + 1) as usize);
    }
}
