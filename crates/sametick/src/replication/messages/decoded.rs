//! What a client says of the parts of snapshots that it has.

use crate::core::bits::{BitReader, BitWriter};

/// Which parts a client has decoded: the newest and, a bit each, which of the 64 before it. A snapshot of a thousand
/// entities has so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) newest: u64,
    pub(crate) before: u64,
}

impl Decoded {
    /// Whether a part is among them.
    #[inline]
    pub(crate) fn covers(self, number: u64) -> bool {
        match self.newest.checked_sub(number) {
            Some(0) => true,
            Some(back @ 1..=64) => self.before & 1 << (back - 1) != 0,
            _ => false,
        }
    }

    /// Most often the lower half is all there is to say.
    pub(crate) fn write(self, bits: &mut BitWriter) {
        bits.write(self.newest & 0xffff_ffff, 32);
        bits.write(self.before & 0xffff_ffff, 32);
        bits.write_bool(self.before >> 32 != 0);
        if self.before >> 32 != 0 {
            bits.write(self.before >> 32, 32);
        }
    }

    pub(crate) fn read(bits: &mut BitReader<'_>) -> Self {
        let newest = bits.read(32);
        let mut before = bits.read(32);
        if bits.read_bool() {
            let earlier = bits.read(32);
            if earlier == 0 {
                bits.fail();
            }
            before |= earlier << 32;
        }
        Self { newest, before }
    }
}
