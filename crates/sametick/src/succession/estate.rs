//! All that a server needs to go on where another stopped, as bytes and in pieces. Knows neither who
//! sends them nor why.

use super::words::Piece;
use super::{STATE_BYTES_MAX, STATE_PIECE_BYTES_MAX};
use crate::authority::Trust;
use crate::bits::{BitReader, BitWriter, Malformed};
use crate::entities::{Entities, Layouts};
use crate::entity::EntityId;
use crate::events::SAVED_EVENTS_MAX;
use crate::game::EventKey;
use crate::rates::Rates;
use crate::rewind::Rewinding;
use crate::serve::GAME_ID_MAX;
use crate::snapshot::Base;
use crate::time::Span;
use crate::world::{PlayerId, Tick, World};
use std::sync::Arc;

/// A game between two ticks.
#[derive(Clone, Debug)]
pub(crate) struct Estate<E> {
    pub(crate) game_id: u8,
    pub(crate) rates: Rates,
    pub(crate) seed: u64,
    /// The name of the content.
    pub(crate) content: u64,
    /// What late joiners are told.
    pub(crate) saved: Vec<(EventKey, Vec<u8>)>,
    /// Who has a place, and under which identity.
    pub(crate) seats: Vec<(PlayerId, u64)>,
    /// Whom the rules have not been told of yet.
    pub(crate) joined: Vec<PlayerId>,
    pub(crate) left: Vec<PlayerId>,
    pub(crate) world: World<E>,
}

const SEATS_MAX: usize = crate::endpoint::CONNECTIONS_MAX * 2;
const EVENT_BYTES_MAX: usize = 2048;

impl<E: Entities> Estate<E> {
    /// None if it is longer than may be sent.
    pub(crate) fn write(&self, layouts: &Layouts) -> Option<Vec<u8>> {
        let mut bits = BitWriter::growing(STATE_BYTES_MAX);
        bits.write(u64::from(self.game_id), 8);
        bits.write(self.rates.tick_length.as_micros(), 32);
        bits.write(u64::from(self.rates.ticks_per_snapshot), 32);
        bits.write(self.rates.rewinding.at_most.as_micros(), 32);
        bits.write_bool(self.rates.rewinding.needs_sight);
        bits.write_bool(self.rates.trust == Trust::Clients);
        bits.write(self.rates.base as u64, 6);
        bits.write(self.seed, 64);
        bits.write(self.content, 64);
        bits.write(self.saved.len() as u64, 16);
        for (key, message) in &self.saved {
            bits.write(u64::from(key.tick.0), 32);
            bits.write(u64::from(EntityId::to_word(Some(key.entity))), 32);
            bits.write(u64::from(key.kind), 8);
            bits.write(u64::from(key.ordinal), 8);
            bits.write(message.len() as u64, 16);
            bits.write_bytes(message);
        }
        bits.write(self.seats.len() as u64, 16);
        for (player, client_id) in &self.seats {
            bits.write(u64::from(player.0), 16);
            bits.write(*client_id, 64);
        }
        for players in [&self.joined, &self.left] {
            bits.write(players.len() as u64, 16);
            players.iter().for_each(|player| bits.write(u64::from(player.0), 16));
        }
        bits.write_bytes(&self.world.save(layouts));
        bits.finish().ok().map(<[u8]>::to_vec)
    }

    pub(crate) fn read(bytes: &[u8], layouts: &Layouts) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(bytes);
        let game_id = bits.read(8) as u8;
        let tick_length = Span::micros(bits.read(32));
        let ticks_per_snapshot = bits.read(32) as u32;
        let at_most = Span::micros(bits.read(32));
        let [needs_sight, trusts_clients] = [(); 2].map(|()| bits.read_bool());
        let base = match bits.read(6) {
            0 => Base::Common,
            1 => Base::LastAcknowledged,
            2 => Base::None,
            _ => return Err(Malformed),
        };
        let (seed, content) = (bits.read(64), bits.read(64));
        let is_lawful = (1..=GAME_ID_MAX).contains(&game_id)
            && ticks_per_snapshot > 0
            && crate::alone::TICK_LENGTHS.contains(&tick_length);
        let events = count(&mut bits, SAVED_EVENTS_MAX, EVENT_BITS_MIN)?;
        let saved = (0..events).map(|_| read_event(&mut bits)).collect::<Result<Vec<_>, _>>()?;
        let seats = count(&mut bits, SEATS_MAX, SEAT_BITS)?;
        let seats: Vec<(PlayerId, u64)> =
            (0..seats).map(|_| (read_player(&mut bits), bits.read(64))).collect();
        let mut players = || {
            let players = count(&mut bits, SEATS_MAX, 16)?;
            Ok((0..players).map(|_| read_player(&mut bits)).collect::<Vec<_>>())
        };
        let (joined, left) = (players()?, players()?);
        let mut numbers: Vec<_> = seats.iter().map(|(player, _)| *player).collect();
        numbers.sort_unstable();
        let is_lawful = is_lawful
            && numbers.is_sorted_by(|one, next| one < next)
            && joined.iter().all(|player| numbers.binary_search(player).is_ok());
        let world = World::load(bits.rest(), layouts)?;
        if !is_lawful || bits.failed() {
            return Err(Malformed);
        }
        let rewinding = Rewinding { at_most, needs_sight };
        let trust = if trusts_clients { Trust::Clients } else { Trust::Server };
        let rates = Rates { tick_length, ticks_per_snapshot, rewinding, trust, base };
        Ok(Self { game_id, rates, seed, content, saved, seats, joined, left, world })
    }
}

const EVENT_BITS_MIN: usize = 32 + 32 + 8 + 8 + 16;
const SEAT_BITS: usize = 16 + 64;

/// How many things follow; no more than there may be, or than there are bits for.
fn count(bits: &mut BitReader<'_>, most: usize, bits_each: usize) -> Result<usize, Malformed> {
    let count = bits.read(16) as usize;
    (count <= most && count * bits_each <= bits.bits_left()).then_some(count).ok_or(Malformed)
}

fn read_player(bits: &mut BitReader<'_>) -> PlayerId {
    PlayerId(bits.read(16) as u16)
}

fn read_event(bits: &mut BitReader<'_>) -> Result<(EventKey, Vec<u8>), Malformed> {
    let tick = Tick(bits.read(32) as u32);
    let entity = EntityId::from_word(bits.read(32) as u32).ok_or(Malformed)?;
    let kind = bits.read(8) as u8;
    let ordinal = bits.read(8) as u8;
    let length = bits.read(16) as usize;
    if length > EVENT_BYTES_MAX {
        return Err(Malformed);
    }
    let mut message = vec![0; length];
    bits.read_bytes(&mut message);
    Ok((EventKey { tick, entity, kind, ordinal }, message))
}

/// A state on its way to one successor.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) tick: Tick,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) is_last_word: bool,
    next: usize,
}

impl Parcel {
    pub(crate) fn new(tick: Tick, bytes: Arc<[u8]>, is_last_word: bool) -> Self {
        Self { tick, bytes, is_last_word, next: 0 }
    }

    /// The next message, until all are taken.
    pub(crate) fn take(&mut self, epoch: u32) -> Option<Vec<u8>> {
        let count = self.bytes.len().div_ceil(STATE_PIECE_BYTES_MAX);
        let bytes = self.bytes.chunks(STATE_PIECE_BYTES_MAX).nth(self.next)?;
        let (tick, index, is_last_word) = (self.tick, self.next, self.is_last_word);
        self.next += 1;
        Some(Piece { epoch, tick, index, count, is_last_word, bytes }.write())
    }
}

/// A state as it comes in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    of: Option<(u32, Tick, usize)>,
    bytes: Vec<u8>,
    next: usize,
}

impl Gathering {
    /// Takes a piece; gives the bytes when they are whole. One that does not follow is refused, and so
    /// is all that came before it.
    pub(crate) fn take(&mut self, piece: &Piece<'_>) -> Result<Option<Vec<u8>>, Malformed> {
        let of = Some((piece.epoch, piece.tick, piece.count));
        if piece.index == 0 {
            *self = Self { of, ..Self::default() };
        }
        if self.of != of || self.next != piece.index {
            *self = Self::default();
            return Err(Malformed);
        }
        self.bytes.extend_from_slice(piece.bytes);
        self.next += 1;
        if self.next < piece.count {
            return Ok(None);
        }
        Ok(Some(std::mem::take(self).bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{Fields, Networked};

    fn piece(index: usize, count: usize, bytes: &[u8]) -> Piece<'_> {
        Piece { epoch: 1, tick: Tick(5), index, count, is_last_word: false, bytes }
    }

    #[derive(Clone, Debug, Default)]
    pub(crate) struct Lamp {
        is_lit: bool,
    }

    impl Networked for Lamp {
        fn fields<F: Fields>(&mut self, f: &mut F) {
            f.bool("is_lit", &mut self.is_lit);
        }
    }

    crate::entities! { pub(crate) enum Entity { Lamp } }

    fn estate() -> Estate<Entity> {
        let mut world = World::default();
        let lamp = world.spawn_owned(PlayerId(1), Lamp { is_lit: true }).unwrap();
        world.set_tick(Tick(77));
        let key = EventKey { tick: Tick(5), entity: lamp, kind: 0, ordinal: 0 };
        Estate {
            game_id: 3,
            rates: Rates::default(),
            seed: 1,
            content: 2,
            saved: vec![(key, vec![3, 1, 4])],
            seats: vec![(PlayerId(1), 17), (PlayerId(0), 16)],
            joined: vec![PlayerId(0)],
            left: vec![PlayerId(9)],
            world,
        }
    }

    #[test]
    fn an_estate_comes_out_as_it_went_in() {
        let (before, layouts) = (estate(), Layouts::of::<Entity>());
        let bytes = before.write(&layouts).unwrap();
        let after = Estate::<Entity>::read(&bytes, &layouts).unwrap();
        assert_eq!(after.write(&layouts), Some(bytes));
        assert_eq!((after.seats, after.saved), (before.seats, before.saved));
        assert_eq!(after.world.differences(&before.world, &layouts), [""; 0]);
    }

    #[test]
    fn a_damaged_estate_is_refused_or_is_another_lawful_one() {
        let layouts = Layouts::of::<Entity>();
        let bytes = estate().write(&layouts).unwrap();
        for length in 0..bytes.len() {
            assert!(Estate::<Entity>::read(&bytes[..length], &layouts).is_err(), "{length} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(other) = Estate::<Entity>::read(&damaged, &layouts) {
                assert_eq!(other.write(&layouts), Some(damaged), "bit {bit}");
            }
        }
    }

    #[test]
    fn pieces_make_up_what_was_cut() {
        let bytes: Vec<u8> = (0..STATE_PIECE_BYTES_MAX * 2 + 5).map(|i| i as u8).collect();
        let mut parcel = Parcel::new(Tick(5), bytes.clone().into(), false);
        let mut gathering = Gathering::default();
        let mut whole = None;
        while let Some(message) = parcel.take(1) {
            assert!(whole.is_none());
            whole = gathering.take(&Piece::read(&message[1..]).unwrap()).unwrap();
        }
        assert_eq!(whole, Some(bytes));
    }

    #[test]
    fn a_piece_that_does_not_follow_spoils_the_rest() {
        let full = [1; STATE_PIECE_BYTES_MAX];
        let mut gathering = Gathering::default();
        assert!(gathering.take(&piece(1, 2, &full)).is_err());
        assert_eq!(gathering.take(&piece(0, 3, &full)), Ok(None));
        assert!(gathering.take(&piece(2, 3, &full)).is_err());
        assert!(gathering.take(&piece(1, 3, &full)).is_err());
        assert_eq!(gathering.take(&piece(0, 1, &[3])), Ok(Some(vec![3])));
    }
}
