//! Bytes that must not be printed, compared in varying time or left in memory. Knows no cipher.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::random::{Random, draw};

/// How long a secret is.
pub const SECRET_BYTES: usize = 32;

/// 32 bytes that are wiped when dropped and never shown.
///
/// ```
/// use sametick::secure::{Secret, SystemRandom};
/// let secret = Secret::generate(&mut SystemRandom::new());
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// ```
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// A secret that came from elsewhere.
    pub const fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// A new one.
    pub fn generate(random: &mut dyn Random) -> Self {
        Self(draw(random))
    }

    /// The bytes, to be stored where only their owner reads.
    pub fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// A secret for another purpose, from which this one cannot be found. `purpose` is a constant
    /// of the program that no other use shares.
    pub(super) fn derive(&self, purpose: &str) -> Self {
        Self(blake3::derive_key(purpose, &self.0))
    }

    /// One of many secrets for the same purpose.
    pub(super) fn child(&self, index: u32) -> Self {
        Self(*blake3::keyed_hash(&self.0, &index.to_le_bytes()).as_bytes())
    }

    /// The first 16 bytes of a keyed hash.
    pub(super) fn tag(&self, content: &[u8]) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&blake3::keyed_hash(&self.0, content).as_bytes()[..TAG_BYTES]);
        tag
    }
}

/// How long a keyed hash is on the wire.
pub(super) const TAG_BYTES: usize = 16;

/// Compares in a time that tells nothing of where two tags differ.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}
