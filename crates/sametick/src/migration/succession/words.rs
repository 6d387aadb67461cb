//! What a host, its successors and its players say to each other about succession, as bytes. Decides
//! nothing.

use super::electorate::Electorate;
use super::{
    ELECTORATES_MAX, STATE_PIECE_BYTES_MAX, STATE_PIECES_MAX, SUCCESSORS_MAX, TICKETS_EACH,
};
use crate::core::bits::{BitReader, BitWriter};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::transport::secure::client_token::CLIENT_TOKEN_BYTES_MAX;
use crate::transport::secure::{ClientToken, SECRET_BYTES, TokenKey};

/// What precedes each message to a client, after those of [`crate::replication::server::serve`].
pub(crate) const REIGN: u8 = 3;
pub(crate) const ORDER: u8 = 4;
pub(crate) const CHARGE: u8 = 5;
pub(crate) const STATE: u8 = 6;

/// What precedes each reliable message from a client.
const VOLUNTEER: u8 = 0;
const KNOWS: u8 = 1;
const HOLDS: u8 = 2;

/// Where to go, in which order, when the host is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) epoch: u32,
    pub(crate) number: u32,
    /// What to come back with to the host itself.
    pub(crate) spares: Vec<ClientToken>,
    pub(crate) heirs: Vec<Heir>,
}

/// One successor as a player is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heir {
    pub(crate) peer: Peer,
    /// Whether it is the one who is told.
    pub(crate) is_you: bool,
    /// What to knock with, once each.
    pub(crate) tickets: Vec<ClientToken>,
}

/// What a successor alone is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) epoch: u32,
    pub(crate) number: u32,
    /// How many successors come before it.
    pub(crate) rank: u32,
    pub(crate) you: u64,
    pub(crate) host: u64,
    /// Opens the tickets of its order.
    pub(crate) key: TokenKey,
    /// By the host's clock, when this was sent.
    pub(crate) unix_seconds: u64,
    /// All that must agree, the newest first.
    pub(crate) electorates: Vec<Electorate>,
}

/// A part of the host's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) epoch: u32,
    pub(crate) tick: Tick,
    pub(crate) index: usize,
    pub(crate) count: usize,
    /// Whether the host has stopped and steps no more.
    pub(crate) is_last_word: bool,
    pub(crate) bytes: &'a [u8],
}

/// What a client says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It can be the server: where it is reached, or where the host sees it.
    Volunteer(Option<Peer>),
    /// The newest epoch and, of that, the newest order it knows.
    Knows { epoch: u32, number: u32 },
    /// It has the whole state of this tick.
    Holds(Tick),
}

/// A server's epoch and the number of its newest order.
pub(crate) fn write_reign((epoch, number): (u32, u32)) -> Vec<u8> {
    message(REIGN, |bits| {
        bits.write(u64::from(epoch), 32);
        bits.write(u64::from(number), 32);
    })
}

pub(crate) fn read_reign(message: &[u8]) -> Option<(u32, u32)> {
    let mut bits = BitReader::new(message);
    let reign = (bits.read(32) as u32, bits.read(32) as u32);
    bits.finish().ok()?;
    Some(reign)
}

impl Order {
    pub(crate) fn write(&self) -> Vec<u8> {
        message(ORDER, |bits| {
            bits.write(u64::from(self.epoch), 32);
            bits.write(u64::from(self.number), 32);
            write_tickets(bits, &self.spares);
            bits.write(self.heirs.len() as u64, 8);
            for heir in &self.heirs {
                write_peer(bits, heir.peer);
                bits.write(u64::from(heir.is_you), 8);
                write_tickets(bits, &heir.tickets);
            }
        })
    }

    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let mut bits = BitReader::new(message);
        let (epoch, number) = (bits.read(32) as u32, bits.read(32) as u32);
        let spares = read_tickets(&mut bits)?;
        let count = bits.read(8) as usize;
        if count > SUCCESSORS_MAX {
            return None;
        }
        let heirs = (0..count).map(|_| Heir::read(&mut bits)).collect::<Option<_>>()?;
        bits.finish().ok()?;
        Some(Self { epoch, number, spares, heirs })
    }
}

impl Heir {
    fn read(bits: &mut BitReader<'_>) -> Option<Self> {
        let peer = read_peer(bits);
        let is_you = bits.read(8);
        let tickets = read_tickets(bits)?;
        (is_you <= 1).then_some(Self { peer, is_you: is_you == 1, tickets })
    }
}

impl Charge {
    pub(crate) fn write(&self) -> Vec<u8> {
        message(CHARGE, |bits| {
            bits.write(u64::from(self.epoch), 32);
            bits.write(u64::from(self.number), 32);
            bits.write(u64::from(self.rank), 8);
            bits.write(self.you, 64);
            bits.write(self.host, 64);
            bits.write_bytes(self.key.as_bytes());
            bits.write(self.unix_seconds, 64);
            bits.write(self.electorates.len() as u64, 8);
            self.electorates.iter().for_each(|electorate| electorate.write(bits));
        })
    }

    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let mut bits = BitReader::new(message);
        let (epoch, number) = (bits.read(32) as u32, bits.read(32) as u32);
        let rank = bits.read(8) as u32;
        let (you, host) = (bits.read(64), bits.read(64));
        let mut key = [0; SECRET_BYTES];
        bits.read_bytes(&mut key);
        let unix_seconds = bits.read(64);
        let count = bits.read(8) as usize;
        if !(1..=ELECTORATES_MAX).contains(&count) || rank as usize >= SUCCESSORS_MAX {
            return None;
        }
        let electorates = (0..count).map(|_| Electorate::read(&mut bits)).collect::<Option<_>>()?;
        bits.finish().ok()?;
        let key = TokenKey::from_bytes(key);
        Some(Self { epoch, number, rank, you, host, key, unix_seconds, electorates })
    }
}

impl<'a> Piece<'a> {
    pub(crate) fn write(&self) -> Vec<u8> {
        message(STATE, |bits| {
            bits.write(u64::from(self.epoch), 32);
            bits.write(u64::from(self.tick.0), 32);
            bits.write(self.index as u64, 16);
            bits.write(self.count as u64, 16);
            bits.write(u64::from(self.is_last_word), 8);
            bits.write_bytes(self.bytes);
        })
    }

    pub(crate) fn read(message: &'a [u8]) -> Option<Self> {
        let mut bits = BitReader::new(message);
        let (epoch, tick) = (bits.read(32) as u32, Tick(bits.read(32) as u32));
        let (index, count) = (bits.read(16) as usize, bits.read(16) as usize);
        let is_last_word = bits.read(8);
        let bytes = bits.rest();
        let is_lawful = is_last_word <= 1
            && index < count
            && count <= STATE_PIECES_MAX
            && (1..=STATE_PIECE_BYTES_MAX).contains(&bytes.len())
            && (index + 1 == count || bytes.len() == STATE_PIECE_BYTES_MAX);
        (is_lawful && !bits.failed()).then_some(Self {
            epoch,
            tick,
            index,
            count,
            is_last_word: is_last_word == 1,
            bytes,
        })
    }
}

impl Said {
    pub(crate) fn write(&self) -> Vec<u8> {
        match self {
            Self::Volunteer(peer) => message(VOLUNTEER, |bits| {
                peer.iter().for_each(|peer| write_peer(bits, *peer));
            }),
            Self::Knows { epoch, number } => message(KNOWS, |bits| {
                bits.write(u64::from(*epoch), 32);
                bits.write(u64::from(*number), 32);
            }),
            Self::Holds(tick) => message(HOLDS, |bits| bits.write(u64::from(tick.0), 32)),
        }
    }

    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let (kind, rest) = message.split_first()?;
        let mut bits = BitReader::new(rest);
        let said = match *kind {
            VOLUNTEER if rest.is_empty() => Self::Volunteer(None),
            VOLUNTEER => Self::Volunteer(Some(read_peer(&mut bits))),
            KNOWS => Self::Knows { epoch: bits.read(32) as u32, number: bits.read(32) as u32 },
            HOLDS => Self::Holds(Tick(bits.read(32) as u32)),
            _ => return None,
        };
        bits.finish().ok()?;
        Some(said)
    }
}

fn write_tickets(bits: &mut BitWriter, tickets: &[ClientToken]) {
    bits.write(tickets.len() as u64, 8);
    for ticket in tickets {
        let ticket = ticket.to_bytes();
        bits.write(ticket.len() as u64, 16);
        bits.write_bytes(&ticket);
    }
}

fn read_tickets(bits: &mut BitReader<'_>) -> Option<Vec<ClientToken>> {
    let count = bits.read(8) as usize;
    let mut read = || {
        let length = bits.read(16) as usize;
        let mut ticket = vec![0; Some(length).filter(|length| *length <= CLIENT_TOKEN_BYTES_MAX)?];
        bits.read_bytes(&mut ticket);
        ClientToken::from_bytes(&ticket)
    };
    (0..Some(count).filter(|count| *count <= TICKETS_EACH)?).map(|_| read()).collect()
}

fn write_peer(bits: &mut BitWriter, peer: Peer) {
    bits.write_bytes(&peer.address());
    bits.write(u64::from(peer.port()), 16);
}

fn read_peer(bits: &mut BitReader<'_>) -> Peer {
    let mut address = [0; 16];
    bits.read_bytes(&mut address);
    Peer::new(address, bits.read(16) as u16)
}

/// More than any of these messages.
const MESSAGE_BYTES_MAX: usize = 4096;
const TICKETS_BYTES_MAX: usize = TICKETS_EACH * (CLIENT_TOKEN_BYTES_MAX + 2);
const _: () = assert!((SUCCESSORS_MAX + 1) * (TICKETS_BYTES_MAX + 32) < MESSAGE_BYTES_MAX);
const _: () = assert!(ELECTORATES_MAX * (super::ELECTORS_MAX * 8 + 16) < MESSAGE_BYTES_MAX);
const _: () = assert!(STATE_PIECE_BYTES_MAX + 32 < MESSAGE_BYTES_MAX);

fn message(kind: u8, write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
    let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
    bits.write(u64::from(kind), 8);
    write(&mut bits);
    bits.finish().expect("the parts have limits of their own").to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn charge() -> Charge {
        let electorates = vec![Electorate::new(3, [1, 2, 3]), Electorate::new(2, [1, 2])];
        let key = TokenKey::from_bytes([7; SECRET_BYTES]);
        Charge { epoch: 4, number: 9, rank: 1, you: 3, host: 1, key, unix_seconds: 99, electorates }
    }

    #[test]
    fn what_is_said_is_understood() {
        let peer = Peer::new([3; 16], 4000);
        for said in [
            Said::Volunteer(None),
            Said::Volunteer(Some(peer)),
            Said::Knows { epoch: 7, number: u32::MAX },
            Said::Holds(Tick(77)),
        ] {
            assert_eq!(Said::read(&said.write()), Some(said));
        }
        assert_eq!(Charge::read(&charge().write()[1..]), Some(charge()));
        let empty = Order { epoch: 4, number: 1, spares: Vec::new(), heirs: Vec::new() };
        assert_eq!(Order::read(&empty.write()[1..]), Some(empty));
        assert_eq!(read_reign(&write_reign((6, 9))[1..]), Some((6, 9)));
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_not() {
        let whole = charge().write();
        for length in 1..whole.len() {
            assert_eq!(Charge::read(&whole[1..length]), None, "{length} bytes");
        }
        assert_eq!(Charge::read(&[&whole[1..], &[0]].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes: Vec<u8>) {
            let order = Order::read(&bytes).map(|order| order.write());
            prop_assert!(order.is_none_or(|written| written[1..] == bytes));
            let charge = Charge::read(&bytes).map(|charge| charge.write());
            prop_assert!(charge.is_none_or(|written| written[1..] == bytes));
            let piece = Piece::read(&bytes).map(|piece| piece.write());
            prop_assert!(piece.is_none_or(|written| written[1..] == bytes));
            prop_assert!(Said::read(&bytes).is_none_or(|said| said.write() == bytes));
        }
    }
}
