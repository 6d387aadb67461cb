//! Packet bodies built by hand, as only somebody with a key and bad intentions sends them.

use sametick::bits::BitWriter;
use sametick::channel::BODY_BYTES_MAX;

/// What acknowledges a packet and the 32 before it, by the low bits of its number.
pub(crate) fn acknowledgement(newest: u64, before: u32) -> Vec<u8> {
    build(|bits| {
        bits.write_bool(true);
        bits.write(newest & 0xffff, 16);
        bits.write(0, 10);
        bits.write_bool(before != u32::MAX);
        if before != u32::MAX {
            bits.write(before.into(), 32);
        }
        write_rest(bits, 1, None);
    })
}

/// Reliable fragments: their numbers, whether they end a message, their lengths.
pub(crate) fn fragments(fragments: &[(u64, bool, usize)]) -> Vec<u8> {
    build(|bits| {
        bits.write_bool(false);
        write_rest(bits, 0, Some(fragments.len() as u64));
        for (sequence, ends_message, length) in fragments {
            bits.write_bool(false);
            bits.write(sequence & 0xffff, 16);
            bits.write_bool(*ends_message);
            bits.write(*length as u64, 11);
            bits.write_bytes(&[7; 1024][..*length]);
        }
    })
}

/// One full piece of an unreliable message in sixteen.
pub(crate) fn piece(first: u64, index: u64) -> Vec<u8> {
    build(|bits| {
        bits.write_bool(false);
        bits.write_bool(false);
        bits.write(3, 2);
        bits.write(first & 0xffff, 16);
        bits.write(index, 4);
        bits.write(15, 4);
        bits.write_bool(false);
        bits.write_bool(false);
        sametick::codec::zero_runs::write_message(bits, &[9; 1162], None);
    })
}

/// An unreliable message that depends on a reliable fragment.
pub(crate) fn dependent(fragment: u64, length: usize) -> Vec<u8> {
    build(|bits| {
        bits.write_bool(false);
        bits.write_bool(false);
        bits.write(2, 2);
        bits.write_bool(true);
        bits.write(fragment & 0xffff, 16);
        bits.write_bool(false);
        sametick::codec::zero_runs::write_message(bits, &[9; 1162][..length], None);
    })
}

fn build(write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
    let mut bits = BitWriter::fixed(BODY_BYTES_MAX);
    write(&mut bits);
    bits.finish().expect("it fits").to_vec()
}

fn write_rest(bits: &mut BitWriter, payload: u64, fragments: Option<u64>) {
    bits.write_bool(false);
    bits.write(payload, 2);
    bits.write_bool(fragments.is_some());
    if let Some(fragments) = fragments {
        bits.write(fragments - 1, 6);
    }
}
