//! The body of a packet: what it acknowledges, what it carries, and how it says goodbye.
//!
//! The table in PROTOCOL.md lists every bit. Whatever is read is checked here; what a body says of
//! numbers is made whole again from their low 16 bits.

use super::acknowledge::Acknowledgement;
use crate::core::bits::{BitReader, BitWriter};
use crate::core::time::Span;
use std::fmt;

/// The longest datagram, everything included: what crosses any path, and any browser, whole.
pub const DATAGRAM_BYTES_MAX: usize = 1200;

/// What sealing adds at most: flags, connection, number, tag.
pub(crate) const SEAL_BYTES_MAX: usize = 1 + 4 + 2 + 16;

/// The longest body of a packet.
pub const BODY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - SEAL_BYTES_MAX;

/// The longest head of a body, the padding before a payload included.
pub(super) const HEAD_BYTES_MAX: usize = 15;
const _: () = assert!(HEAD_BITS_MAX + 7 <= 8 * HEAD_BYTES_MAX as u32);
const HEAD_BITS_MAX: u32 = 1
    + NUMBER_BITS
    + DELAY_BITS
    + 1
    + 32
    + 1
    + PAYLOAD_BITS
    + NUMBER_BITS
    + 8
    + 1
    + NUMBER_BITS
    + 1
    + COUNT_BITS
    + 1;

pub(super) const NUMBER_BITS: u32 = 16;
const DELAY_BITS: u32 = 10;
const DELAY_UNIT_MICROS: u64 = 256;
const PAYLOAD_BITS: u32 = 2;
const REASON_BITS: u32 = 4;
pub(super) const COUNT_BITS: u32 = 6;

/// How many pieces an unreliable message can come in.
pub(super) const PIECES_MAX: usize = 16;

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The other end left of its own will.
    Left,
    /// The server is shutting down.
    ServerStopped,
    /// The server no longer wants this player.
    Kicked,
    /// The same player has connected again.
    Replaced,
    /// Reliable messages were not taken fast enough.
    Backlogged,
    /// The other end sent what nobody who follows the protocol sends.
    ProtocolViolation,
    /// Nothing was heard for too long.
    TimedOut,
    /// The other end has forgotten this connection, as after a restart. Never on the wire.
    Reset,
}

const REASONS: [CloseReason; 7] = [
    CloseReason::Left,
    CloseReason::ServerStopped,
    CloseReason::Kicked,
    CloseReason::Replaced,
    CloseReason::Backlogged,
    CloseReason::ProtocolViolation,
    CloseReason::TimedOut,
];

/// What stands in front of a packet's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) acknowledged: Option<Acknowledgement>,
    pub(super) goodbye: Option<CloseReason>,
    pub(super) payload: Payload,
    /// How many reliable fragments follow.
    pub(super) reliables: usize,
}

/// What a packet carries besides reliable fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// Nothing, and it needs no acknowledgement.
    None,
    /// Nothing, but it is to be acknowledged.
    Ping,
    /// A whole unreliable message.
    Whole(DependsOn),
    /// One of the pieces of an unreliable message, and the packet that carries the first of them, by
    /// its low bits.
    Piece { first: u16, index: usize, count: usize, depends_on: DependsOn },
}

/// The last reliable fragment, by its low bits, without which an unreliable message is not handed
/// out; none if the packet itself carries all that were missing.
pub(super) type DependsOn = Option<u16>;

impl Body {
    pub(super) fn new(acknowledged: Option<Acknowledgement>) -> Self {
        Self { acknowledged, goodbye: None, payload: Payload::None, reliables: 0 }
    }

    #[inline]
    pub(super) fn write(&self, bits: &mut BitWriter) {
        bits.write_bool(self.acknowledged.is_some());
        if let Some(acknowledged) = self.acknowledged {
            write_acknowledgement(acknowledged, bits);
        }
        bits.write_bool(self.goodbye.is_some());
        if let Some(goodbye) = self.goodbye {
            let code = REASONS.iter().position(|reason| *reason == goodbye).unwrap_or(0);
            bits.write(code as u64, REASON_BITS);
            return;
        }
        match self.payload {
            Payload::None => bits.write(0, PAYLOAD_BITS),
            Payload::Ping => bits.write(1, PAYLOAD_BITS),
            Payload::Whole(depends_on) => {
                bits.write(2, PAYLOAD_BITS);
                write_depends_on(depends_on, bits);
            }
            Payload::Piece { first, index, count, depends_on } => {
                bits.write(3, PAYLOAD_BITS);
                bits.write(u64::from(first), NUMBER_BITS);
                bits.write(index as u64, 4);
                bits.write(count as u64 - 1, 4);
                write_depends_on(depends_on, bits);
            }
        }
        bits.write_bool(self.reliables > 0);
        if self.reliables > 0 {
            bits.write(self.reliables as u64 - 1, COUNT_BITS);
        }
    }

    /// Reads a head; `next_number` is the first packet number that we have not sent yet.
    #[inline]
    pub(super) fn read(bits: &mut BitReader<'_>, next_number: u64) -> Option<Self> {
        let acknowledged =
            if bits.read_bool() { Some(read_acknowledgement(bits, next_number)) } else { None };
        if bits.read_bool() {
            let reason = REASONS.get(bits.read(REASON_BITS) as usize).copied()?;
            let body = Self { goodbye: Some(reason), ..Self::new(acknowledged) };
            return bits.clone().finish().is_ok().then_some(body);
        }
        let payload = match bits.read(PAYLOAD_BITS) {
            0 => Payload::None,
            1 => Payload::Ping,
            2 => Payload::Whole(read_depends_on(bits)),
            _ => {
                let first = bits.read(NUMBER_BITS) as u16;
                let (index, count) = (bits.read(4) as usize, bits.read(4) as usize + 1);
                if index >= count || count == 1 {
                    return None;
                }
                Payload::Piece { first, index, count, depends_on: read_depends_on(bits) }
            }
        };
        let reliables = if bits.read_bool() { bits.read(COUNT_BITS) as usize + 1 } else { 0 };
        (!bits.failed()).then_some(Self { acknowledged, goodbye: None, payload, reliables })
    }

    /// Whether the other end wants to know that this packet arrived.
    pub(super) fn asks_acknowledgement(&self) -> bool {
        self.reliables > 0 || self.payload != Payload::None
    }
}

#[inline]
fn write_acknowledgement(acknowledged: Acknowledgement, bits: &mut BitWriter) {
    let Acknowledgement { newest, before, delay } = acknowledged;
    bits.write(newest & 0xffff, NUMBER_BITS);
    let units = delay.as_micros() / DELAY_UNIT_MICROS;
    bits.write(units.min((1 << DELAY_BITS) - 1), DELAY_BITS);
    bits.write_bool(before != u32::MAX);
    if before != u32::MAX {
        bits.write(u64::from(before), 32);
    }
}

#[inline]
fn read_acknowledgement(bits: &mut BitReader<'_>, next_number: u64) -> Acknowledgement {
    let word = bits.read(NUMBER_BITS + DELAY_BITS + 1);
    let newest = below(next_number, word as u16);
    let delay = word >> NUMBER_BITS & ((1 << DELAY_BITS) - 1);
    let delay = Span::micros(delay * DELAY_UNIT_MICROS);
    let has_gaps = word >> (NUMBER_BITS + DELAY_BITS) != 0;
    let before = if has_gaps { bits.read(32) as u32 } else { u32::MAX };
    Acknowledgement { newest, before, delay }
}

fn write_depends_on(depends_on: DependsOn, bits: &mut BitWriter) {
    bits.write_bool(depends_on.is_some());
    if let Some(sequence) = depends_on {
        bits.write(u64::from(sequence), NUMBER_BITS);
    }
}

fn read_depends_on(bits: &mut BitReader<'_>) -> DependsOn {
    if bits.read_bool() { Some(bits.read(NUMBER_BITS) as u16) } else { None }
}

/// The largest number below `end` with these low bits; past zero it wraps to what nobody ever sent.
fn below(end: u64, low: u16) -> u64 {
    let last = end.wrapping_sub(1);
    last.wrapping_sub(u64::from((last as u16).wrapping_sub(low)))
}

/// The number nearest to `around` with these low bits.
pub(super) fn near(around: u64, low: u16) -> u64 {
    let ahead = low.wrapping_sub(around as u16).cast_signed();
    around.wrapping_add_signed(i64::from(ahead))
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "the other end left",
            Self::ServerStopped => "the server is shutting down",
            Self::Kicked => "removed by the server",
            Self::Replaced => "the same player connected again",
            Self::Backlogged => "messages were not taken fast enough",
            Self::ProtocolViolation => "the other end broke the protocol",
            Self::TimedOut => "nothing was heard for too long",
            Self::Reset => "the other end has forgotten this connection",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body() -> impl Strategy<Value = Body> {
        let acknowledged = prop::option::of((0u64..60_000, any::<u32>(), 0u64..1 << DELAY_BITS));
        let depends_on = prop::option::of(any::<u16>());
        let payload = (0usize..4, 0usize..16, 2usize..=16, depends_on).prop_map(
            |(kind, index, count, depends_on)| match kind {
                0 => Payload::None,
                1 => Payload::Ping,
                2 => Payload::Whole(depends_on),
                _ => Payload::Piece { first: 7, index: index % count, count, depends_on },
            },
        );
        (acknowledged, prop::option::of(0usize..REASONS.len()), payload, 0usize..=64).prop_map(
            |(acknowledged, goodbye, payload, reliables)| {
                let acknowledged = acknowledged.map(|(back, before, delay)| Acknowledgement {
                    newest: 99_999 - back,
                    before,
                    delay: Span::micros(delay * DELAY_UNIT_MICROS),
                });
                match goodbye {
                    Some(reason) => {
                        Body { goodbye: Some(REASONS[reason]), ..Body::new(acknowledged) }
                    }
                    None => Body { acknowledged, goodbye: None, payload, reliables },
                }
            },
        )
    }

    proptest! {
        #[test]
        fn a_head_comes_back_and_is_never_longer_than_stated(body in body()) {
            let mut bits = BitWriter::fixed(BODY_BYTES_MAX);
            body.write(&mut bits);
            prop_assert!(bits.bits_written() as u32 <= HEAD_BITS_MAX);
            let message = bits.finish().unwrap();
            prop_assert_eq!(Body::read(&mut BitReader::new(message), 100_000), Some(body));
        }

        #[test]
        fn any_bytes_are_a_head_or_none(bytes: Vec<u8>, next_number: u64) {
            let _ = Body::read(&mut BitReader::new(&bytes), next_number);
        }

        #[test]
        fn low_bits_are_made_whole(number: u64, off in -32_768i64..=32_767) {
            prop_assert_eq!(near(number.wrapping_add_signed(-off), number as u16), number);
            prop_assert_eq!(below(number.wrapping_add(off as u64 & 0xffff).wrapping_add(1), number as u16), number);
        }
    }
}
