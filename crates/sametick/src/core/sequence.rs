//! Sequence numbers from their low bits. Knows nothing of packets.

/// The same for so many low bits.
pub(crate) fn nearest_of(around: u64, low: u32, bits: u32) -> u64 {
    let unused = u32::BITS - bits;
    let ahead = (low.wrapping_sub(around as u32) << unused).cast_signed() >> unused;
    around.checked_add_signed(i64::from(ahead)).unwrap_or(0)
}

/// The number nearest to `around` with these low bits; before the first there is none.
pub(crate) fn nearest(around: u64, low: u16) -> u64 {
    let ahead = low.wrapping_sub(around as u16).cast_signed();
    around.checked_add_signed(i64::from(ahead)).unwrap_or(0)
}
