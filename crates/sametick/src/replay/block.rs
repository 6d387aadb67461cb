//! A recording's blocks: each has its kind, its length and its sum, so that what a killed server left behind is
//! good up to its last whole block. Knows nothing of what is in them.

use super::{FORMAT_VERSION, ReplayError};
use std::ops::Range;

/// How long a block can be, its head not counted.
pub const BLOCK_BYTES_MAX: usize = 16 << 20;

const MAGIC: [u8; 8] = *b"sametick";

/// Kind, length and sum.
const HEAD_BYTES: usize = 1 + 4 + 4;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the recording is of; the first block.
    Header = 0,
    /// A world; the second block, and one now and then.
    Checkpoint = 1,
    /// What steps were given.
    Ticks = 2,
    /// What players were sent.
    Sent = 3,
    /// The recording was ended on purpose.
    End = 4,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Header, Self::Checkpoint, Self::Ticks, Self::Sent, Self::End];
        all.get(usize::from(byte)).copied()
    }
}

/// A whole block, and where in the recording it stands.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    pub(crate) payload: Range<usize>,
}

/// Adds what comes before all blocks.
pub(crate) fn write_start(out: &mut Vec<u8>) {
    out.extend(MAGIC);
    out.extend(FORMAT_VERSION.to_le_bytes());
}

/// Adds a block; its parts stand behind each other in it.
pub(crate) fn write(out: &mut Vec<u8>, kind: Kind, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    assert!(length <= BLOCK_BYTES_MAX, "a block is longer than a reader takes");
    let head = [&[kind as u8][..], &(length as u32).to_le_bytes()].concat();
    let sum = parts.iter().fold(sum(SUM_START, &head), |so_far, part| sum(so_far, part));
    out.extend(head);
    out.extend((!sum).to_le_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// Where the first block begins.
pub(crate) fn read_start(bytes: &[u8]) -> Result<usize, ReplayError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(ReplayError::NotARecording)?;
    let version = rest.first_chunk().ok_or(ReplayError::NotARecording)?;
    let version = u16::from_le_bytes(*version);
    let is_known = version == FORMAT_VERSION;
    is_known.then_some(MAGIC.len() + 2).ok_or(ReplayError::Version(version))
}

/// The block that begins at a place, and where the next one does; none if it is not whole, or damaged.
pub(crate) fn read(bytes: &[u8], at: usize) -> Option<(Block, usize)> {
    let head = bytes.get(at..at.checked_add(HEAD_BYTES)?)?;
    let kind = Kind::of(head[0])?;
    let length = u32::from_le_bytes(*head[1..].first_chunk()?) as usize;
    let told = u32::from_le_bytes(*head[5..].first_chunk()?);
    let payload = at + HEAD_BYTES..at + HEAD_BYTES + length;
    let content = bytes.get(payload.clone()).filter(|_| length <= BLOCK_BYTES_MAX)?;
    let counted = !sum(sum(SUM_START, &head[..5]), content);
    (counted == told).then(|| (Block { kind, payload: payload.clone() }, payload.end))
}

const SUM_START: u32 = !0;

/// CRC-32 as zip and Ethernet have it, so that other tools can check a file; inverted at both ends.
fn sum(before: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(before, |sum, byte| SUMS[usize::from(sum as u8 ^ *byte)] ^ sum >> 8)
}

const SUMS: [u32; 256] = {
    let mut sums = [0; 256];
    let mut index = 0;
    while index < sums.len() {
        let (mut sum, mut bit) = (index as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
            bit += 1;
        }
        sums[index] = sum;
        index += 1;
    }
    sums
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_one_that_others_know() {
        assert_eq!(!sum(SUM_START, b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_block_that_is_cut_or_damaged_is_none() {
        let mut bytes = Vec::new();
        write(&mut bytes, Kind::Sent, &[b"one", b"two"]);
        let (block, end) = read(&bytes, 0).unwrap();
        assert_eq!((block.kind, &bytes[block.payload], end), (Kind::Sent, &b"onetwo"[..], 15));
        assert!((0..bytes.len()).all(|length| read(&bytes[..length], 0).is_none()));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged, 0).is_none(), "bit {bit}");
        }
        assert!(read(&bytes, usize::MAX).is_none());
    }
}
