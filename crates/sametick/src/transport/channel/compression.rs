//! The stage between a message and its packet: where a way to make messages shorter is plugged in.
//!
//! One bit in front of a payload says whether it was made shorter; a stage that does not help with a
//! message leaves it as it is.

use crate::codec::zero_runs;
use crate::core::bits::{BitReader, BitWriter, Malformed};

/// How the payloads of a connection are made shorter on their way out. Either end reads both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// They are not: what is packed well already has few zeros.
    #[default]
    None,
    /// By the paper's runs of zeros, where that helps.
    ZeroRuns,
}

impl Compression {
    /// Writes a payload and the bit that says what was done to it; `scratch` may hold what is tried.
    pub(super) fn write(
        self,
        bits: &mut BitWriter,
        payload: &[u8],
        scratch: &mut Option<BitWriter>,
        bytes_max: usize,
    ) {
        let scratch = match self {
            Self::None => None,
            Self::ZeroRuns => Some(scratch.get_or_insert_with(|| BitWriter::growing(bytes_max))),
        };
        zero_runs::write_message(bits, payload, scratch);
    }

    /// The payload behind `bits` if nothing was done to it.
    #[inline]
    pub(super) fn untouched<'b>(bits: &BitReader<'b>) -> Option<&'b [u8]> {
        let mut bits = bits.clone();
        let is_shortened = bits.read_bool();
        bits.align();
        let payload = bits.rest();
        (!is_shortened && !bits.failed()).then_some(payload)
    }

    /// Reads a payload whatever was done to it.
    pub(super) fn read<'a, 'b: 'a>(
        bits: &mut BitReader<'b>,
        scratch: &'a mut BitWriter,
    ) -> Result<&'a [u8], Malformed> {
        zero_runs::read_message(bits, scratch)
    }
}
