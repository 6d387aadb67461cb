//! Where unpredictable bytes come from. Draws none by itself: every caller hands its source in.

use super::secret::{SECRET_BYTES, Secret};
#[cfg(not(target_arch = "wasm32"))]
use ring::rand::{SecureRandom, SystemRandom as RingRandom};

/// A source of bytes that nobody can foresee.
///
/// The library brings one implementation, `SystemRandom`, and none in wasm, where the page hands in
/// its own. A simulation passes a seeded one of its
/// own; none is built into the library, so that no release can pick a predictable one by mistake.
pub trait Random {
    /// Fills all of `bytes`.
    fn fill(&mut self, bytes: &mut [u8]);
}

/// The operating system's source, the one to use outside of tests.
///
/// ```
/// use sametick::secure::{Random, SystemRandom};
/// let mut bytes = [0; 32];
/// SystemRandom::new().fill(&mut bytes);
/// assert_ne!(bytes, [0; 32]);
/// ```
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Debug)]
pub struct SystemRandom(RingRandom);

#[cfg(not(target_arch = "wasm32"))]
impl SystemRandom {
    /// A handle; the source itself belongs to the system.
    pub fn new() -> Self {
        Self(RingRandom::new())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for SystemRandom {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Random for SystemRandom {
    /// Panics if the system refuses: a key of zeros would be worse than none.
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes).expect("the system gives random bytes");
    }
}

/// A source that was sown from another, for moments at which none is handed in.
pub(crate) struct Seedling {
    secret: Secret,
    drawn: u32,
}

impl Seedling {
    pub(crate) fn new(random: &mut dyn Random) -> Self {
        Self { secret: Secret::generate(random), drawn: 0 }
    }
}

impl Random for Seedling {
    fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(SECRET_BYTES) {
            let drawn = self.secret.child(self.drawn);
            part.copy_from_slice(&drawn.as_bytes()[..part.len()]);
            // The last child of all is the parent of the next.
            match self.drawn.checked_add(1) {
                Some(next) => self.drawn = next,
                None => (self.secret, self.drawn) = (drawn.derive("sametick 2026 seedling"), 0),
            }
        }
    }
}

/// An array of random bytes.
pub(super) fn draw<const N: usize>(random: &mut dyn Random) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    bytes
}
