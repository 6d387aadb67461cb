//! All that a server needs to continue where another stopped, as bytes. Knows neither which machine sends them nor why.

use crate::config::rates::{Base, Rates, Rewinding};
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::replication::messages::GAME_ID_MAX;
use crate::schema::entities::{Entities, Layouts};
use crate::sim::authority::Trust;
use crate::sim::events::SAVED_EVENTS_MAX;
use crate::sim::game::EventKey;
use crate::sim::world::World;

/// The longest state that is sent to a successor; a larger world cannot be handed on.
pub const STATE_BYTES_MAX: usize = 1 << 20;

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

const SEATS_MAX: usize = crate::transport::endpoint::CONNECTIONS_MAX * 2;

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
            && crate::sim::alone::TICK_LENGTHS.contains(&tick_length);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::fields::{Fields, Networked};

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
}
