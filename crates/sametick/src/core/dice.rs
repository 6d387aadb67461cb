//! Chance from a seed, the same bits on every machine. Knows nothing of what is decided by it.

/// A stream of random numbers that its seed and purpose determine; not for secrets.
///
/// Each purpose has dice of its own, so that asking more of one never changes what another gives.
/// Numbers come from xoshiro256**, which splitmix64 seeds.
///
/// ```
/// use sametick::Dice;
/// let mut dice = Dice::new(7, 1);
/// let rolls: Vec<u64> = (0..3).map(|_| dice.below(6) + 1).collect();
/// let mut again = Dice::new(7, 1);
/// assert_eq!(rolls, (0..3).map(|_| again.below(6) + 1).collect::<Vec<_>>());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dice {
    state: [u64; 4],
}

/// How many different values [`Dice::unit`] can give: all that a fraction of an `f64` can tell.
const UNIT_STEPS: u64 = 1 << 53;

impl Dice {
    /// The dice for one purpose under a seed.
    pub fn new(seed: u64, purpose: u64) -> Self {
        // The purpose is mixed before it meets the seed: neighbours then share nothing.
        let (mut seed, mut purpose) = (seed, purpose);
        let mut mixed = splitmix(&mut seed) ^ splitmix(&mut purpose).rotate_left(32);
        Self { state: std::array::from_fn(|_| splitmix(&mut mixed)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn roll_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let rolled = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        rolled
    }

    /// A number from 0 up to, but never, 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.roll_u64() >> 11) as f64 / UNIT_STEPS as f64
    }

    /// A whole number below `count`, each as likely as the others.
    ///
    /// # Panics
    /// If `count` is zero: there is no such number.
    pub fn below(&mut self, count: u64) -> u64 {
        assert!(count > 0, "no number is below zero");
        // Lemire's method: of the 2^64 rolls, those left over by the division are rolled again.
        let leftover = count.wrapping_neg() % count;
        loop {
            let product = u128::from(self.roll_u64()) * u128::from(count);
            if product as u64 >= leftover {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with a probability: never at 0, always at 1.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number of the normal distribution: mean 0, deviation 1. Takes two rolls.
    pub fn normal(&mut self) -> f64 {
        // Box and Muller; the first number is above 0, because 0 has no logarithm.
        let distance = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        distance * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Fills a buffer with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.roll_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_are_the_published_ones() {
        let mut state = 1_234_567;
        let mixed: [u64; 3] = std::array::from_fn(|_| splitmix(&mut state));
        assert_eq!(mixed, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        let mut dice = Dice { state: [1, 2, 3, 4] };
        let rolled: [u64; 4] = std::array::from_fn(|_| dice.roll_u64());
        assert_eq!(rolled, [11520, 0, 1509978240, 1215971899390074240]);
    }

    #[test]
    fn purposes_and_seeds_differ() {
        let first = |seed, purpose| Dice::new(seed, purpose).roll_u64();
        let mut rolls: Vec<u64> =
            (0..64).flat_map(|seed| (0..64).map(move |purpose| first(seed, purpose))).collect();
        rolls.sort_unstable();
        rolls.dedup();
        assert_eq!(rolls.len(), 64 * 64);
    }

    #[test]
    fn every_face_comes_as_often() {
        let mut dice = Dice::new(1, 1);
        let mut faces = [0u32; 7];
        (0..70_000).for_each(|_| faces[dice.below(7) as usize] += 1);
        // 10 000 each; four deviations are 370.
        assert!(faces.iter().all(|count| count.abs_diff(10_000) < 370), "{faces:?}");
    }

    #[test]
    fn the_normal_distribution_has_mean_0_and_deviation_1() {
        let mut dice = Dice::new(2, 2);
        let samples: Vec<f64> = (0..100_000).map(|_| dice.normal()).collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        let beyond_two = samples.iter().filter(|x| x.abs() > 2.0).count();
        assert!(mean.abs() < 0.013 && (variance - 1.0).abs() < 0.018, "{mean} {variance}");
        assert!(beyond_two.abs_diff(4_550) < 264, "{beyond_two}");
    }

    #[test]
    fn chance_holds_at_its_ends() {
        let mut dice = Dice::new(3, 3);
        assert!((0..1000).all(|_| !dice.chance(0.0) && dice.chance(1.0)));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&dice.unit())));
    }

    #[test]
    fn bytes_are_filled_to_the_last() {
        let mut bytes = [0; 13];
        Dice::new(4, 4).fill(&mut bytes);
        assert_eq!(bytes[..8], Dice::new(4, 4).roll_u64().to_le_bytes());
        assert!(bytes[8..].iter().any(|byte| *byte != 0));
    }
}
