//! Ways to point and turn: directions by axis and folded onto an octahedron, rotations.

use super::Kind;
use super::floats::{fault, round, round_to_bits};
use crate::schema::word::{Blend, Meaning, Word};

/// A direction, each axis of 2 to 16 bits on its own (the paper's way). What comes back is only
/// nearly of length one.
#[derive(Clone, Copy, Debug)]
pub struct Direction {
    steps: u32,
}

impl Direction {
    /// Three axes of `bits` each.
    #[inline]
    pub fn new(bits: u32) -> Self {
        Self { steps: steps_to_one(bits) }
    }
}

impl Kind for Direction {
    type Value = [f32; 3];
    const WORDS: usize = 3;
    #[inline]
    fn gather(&self, value: &[f32; 3], words: &mut [u32]) {
        for (word, axis) in words.iter_mut().zip(value) {
            *word = unit_to_word(*axis, self.steps);
        }
    }
    #[inline]
    fn scatter(&self, words: &[u32]) -> [f32; 3] {
        [0, 1, 2].map(|axis| word_to_unit(words[axis], self.steps))
    }
    fn describe(&self) -> Vec<Word> {
        ["x", "y", "z"].map(|name| unit_word(name, self.steps, 1.0, Blend::Slide)).to_vec()
    }
    #[inline]
    fn fault(&self, value: &[f32; 3]) -> u32 {
        value.iter().fold(0, |faults, axis| faults | fault(*axis))
    }
}

/// A unit direction folded onto an octahedron: two coordinates of 2 to 16 bits, far finer for the
/// same bits than an axis each. What comes back has length one; no direction counts as up (z).
#[derive(Clone, Copy, Debug)]
pub struct Octahedral {
    steps: u32,
}

impl Octahedral {
    /// Two coordinates of `bits` each.
    #[inline]
    pub fn new(bits: u32) -> Self {
        Self { steps: steps_to_one(bits) }
    }

    /// The kind whose words go up to `max`.
    pub(crate) fn of_max(max: u32) -> Self {
        Self { steps: (max / 2).max(1) }
    }
}

impl Kind for Octahedral {
    type Value = [f32; 3];
    const WORDS: usize = 2;
    fn gather(&self, value: &[f32; 3], words: &mut [u32]) {
        let [x, y, z] = value.map(f64::from);
        let size = x.abs() + y.abs() + z.abs();
        let lawful = size > 0.0 && size.is_finite();
        let [x, y, z] = if lawful { [x / size, y / size, z / size] } else { [0.0, 0.0, 1.0] };
        let (u, v) = if z < 0.0 { fold(x, y) } else { (x, y) };
        words[0] = unit_to_word(u as f32, self.steps);
        words[1] = unit_to_word(v as f32, self.steps);
    }
    fn scatter(&self, words: &[u32]) -> [f32; 3] {
        let [u, v] = [0, 1].map(|i| f64::from(word_to_unit(words[i], self.steps)));
        let z = 1.0 - u.abs() - v.abs();
        let (x, y) = if z < 0.0 { fold(u, v) } else { (u, v) };
        let length = (x * x + y * y + z * z).sqrt();
        [x, y, z].map(|axis| (axis / length) as f32)
    }
    fn describe(&self) -> Vec<Word> {
        ["u", "v"].map(|name| unit_word(name, self.steps, 1.0, Blend::Arc)).to_vec()
    }
    #[inline]
    fn fault(&self, value: &[f32; 3]) -> u32 {
        value.iter().fold(0, |faults, axis| faults | fault(*axis))
    }
}

/// Turns the octahedron's lower half outwards, and back: its own inverse. A zero keeps its sign,
/// so that the rim, where both signs mean the same direction, comes back as it was.
fn fold(u: f64, v: f64) -> (f64, f64) {
    ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v))
}

/// A rotation as a unit quaternion (x, y, z, w): which component is largest, and the other three
/// of 3 to 15 bits each. A quaternion and its negative are the same rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quaternion {
    steps: u32,
}

impl Quaternion {
    /// Three components of `bits` each.
    #[inline]
    pub fn new(bits: u32) -> Self {
        assert!((3..=15).contains(&bits), "a quaternion has 3 to 15 bits a component");
        Self { steps: steps_to_one(bits) }
    }

    /// Whether gathering could have given these words: the fourth component is plainly the largest.
    pub(crate) fn is_written(self, words: &[u32]) -> bool {
        let mut back = [0; Self::WORDS];
        self.gather(&self.scatter(words), &mut back);
        back == words
    }

    /// Twice the square of a component's largest step count: what all four squares sum up to.
    fn whole(self) -> i64 {
        2 * i64::from(self.steps).pow(2)
    }

    /// Moves the three towards zero until the fourth is plainly the largest, so that rounding can
    /// never change which one that is.
    fn keep_largest(self, three: &mut [i64; 3]) {
        let margin = 2 + self.whole() / 100_000;
        loop {
            let rest = self.whole() - three.iter().map(|step| step * step).sum::<i64>();
            let Some(rival) = three.iter_mut().max_by_key(|step| step.abs()) else { return };
            if rest - *rival * *rival > margin {
                return;
            }
            *rival -= rival.signum();
        }
    }
}

impl Kind for Quaternion {
    type Value = [f32; 4];
    const WORDS: usize = 4;
    fn gather(&self, value: &[f32; 4], words: &mut [u32]) {
        let value = value.map(f64::from);
        let length = value.iter().map(|part| part * part).sum::<f64>().sqrt();
        let lawful = length > 0.0 && length.is_finite();
        let value = if lawful { value.map(|part| part / length) } else { [0.0, 0.0, 0.0, 1.0] };
        let mut largest = 0;
        for part in 1..4 {
            if value[part].abs() > value[largest].abs() {
                largest = part;
            }
        }
        let sign = 1f64.copysign(value[largest]) * std::f64::consts::SQRT_2 * f64::from(self.steps);
        let limit = i64::from(self.steps);
        let mut three = others(largest).map(|part| round(value[part] * sign) as i64);
        for step in &mut three {
            *step = (*step).clamp(-limit, limit);
        }
        self.keep_largest(&mut three);
        words[0] = largest as u32;
        for (word, step) in words[1..].iter_mut().zip(three) {
            *word = (step + limit) as u32;
        }
    }
    fn scatter(&self, words: &[u32]) -> [f32; 4] {
        let largest = words[0] as usize % 4;
        let limit = i64::from(self.steps);
        let scale = f64::from(self.steps) * std::f64::consts::SQRT_2;
        let mut value = [0.0; 4];
        let mut rest = self.whole();
        for (part, word) in others(largest).into_iter().zip(&words[1..]) {
            let step = i64::from(*word).min(2 * limit) - limit;
            rest -= step * step;
            value[part] = (step as f64 / scale) as f32;
        }
        value[largest] = ((rest.max(0) as f64).sqrt() / scale) as f32;
        value
    }
    fn describe(&self) -> Vec<Word> {
        let largest = Word::new("largest", 3, Meaning::Rotation(*self), Blend::Arc);
        let part = |name| unit_word(name, self.steps, std::f64::consts::SQRT_2, Blend::Arc);
        vec![largest, part("a"), part("b"), part("c")]
    }
    #[inline]
    fn fault(&self, value: &[f32; 4]) -> u32 {
        value.iter().fold(0, |faults, part| faults | fault(*part))
    }
}

fn others(largest: usize) -> [usize; 3] {
    [0, 1, 2].map(|i| if i < largest { i } else { i + 1 })
}

/// How many steps lead from zero to one with `bits`: an odd count of values, so zero is exact.
#[inline]
fn steps_to_one(bits: u32) -> u32 {
    assert!((2..=16).contains(&bits), "a direction has 2 to 16 bits an axis");
    (1 << (bits - 1)) - 1
}

#[inline]
fn unit_to_word(value: f32, steps: u32) -> u32 {
    let limit = f64::from(steps);
    let step = f64::from(value) * limit;
    let step = if step > -limit { step } else { -limit };
    let step = if step < limit { step } else { limit };
    round_to_bits(step).wrapping_add(steps)
}

#[inline]
fn word_to_unit(word: u32, steps: u32) -> f32 {
    let step = i64::from(word.min(2 * steps)) - i64::from(steps);
    (step as f64 / f64::from(steps)) as f32
}

fn unit_word(name: &str, steps: u32, scale: f64, blend: Blend) -> Word {
    let meaning = Meaning::Ranged { low: -(steps as i32), per_unit: f64::from(steps) * scale };
    Word::new(name, 2 * steps, meaning, blend)
}
