//! What a server says before anything else: to whoever joins, and at the head of each part of a snapshot. For all who
//! listen, with a world or without one.

use crate::core::bits::{BitReader, Malformed};
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::replication::births;
use crate::replication::messages::coded::part::Said;
use crate::replication::messages::{
    GAME_ID_MAX, MARGIN_UNIT_MICROS, RECEIVED_BACK_MAX, RECEIVED_BITS, REPEATED_BITS, SNAPSHOT,
    TICK_BITS,
};

/// What a server says to whoever joins.
pub(crate) struct Welcome {
    pub(crate) game_id: u8,
    pub(crate) me: PlayerId,
    pub(crate) tick: Tick,
    pub(crate) tick_length: Span,
    pub(crate) seed: u64,
    pub(crate) trusted: bool,
    pub(crate) rewinds: bool,
    /// The tables of the compact codec, if the server offers it.
    pub(crate) tables: Option<u64>,
    /// Whether its parts say if they are foreseen.
    pub(crate) foresees: bool,
    pub(crate) content: u64,
}

impl Welcome {
    /// Reads the message that [`join`](crate::replication::server::serve::SnapshotServer::join) gave.
    pub(crate) fn read(message: &[u8]) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(message);
        let game_id = bits.read(8) as u8;
        let me = PlayerId(bits.read(16) as u16);
        let tick = Tick(bits.read(32) as u32);
        let tick_length = Span::micros(bits.read(32));
        let seed = bits.read(64);
        let [trusted, rewinds, is_compact, foresees] = [(); 4].map(|()| bits.read_bool());
        let unused = bits.read(4);
        let tables = is_compact.then(|| bits.read(64));
        let content = bits.read(64);
        bits.finish()?;
        let is_lawful = (1..=GAME_ID_MAX).contains(&game_id) && unused == 0;
        let is_lawful = is_lawful && (is_compact || !foresees);
        if !is_lawful || !crate::sim::alone::TICK_LENGTHS.contains(&tick_length) {
            return Err(Malformed);
        }
        Ok(Self {
            game_id,
            me,
            tick,
            tick_length,
            seed,
            trusted,
            rewinds,
            tables,
            foresees,
            content,
        })
    }
}

/// What precedes each part of a snapshot.
pub(crate) struct Heading {
    pub(crate) said: Said,
    pub(crate) tick: Tick,
    /// How many commands had to be repeated for want of ours.
    pub(crate) repeated: Repeated,
    /// The newest tick of ours that the server has a command for.
    pub(crate) received: Tick,
    /// By how many microseconds our commands were early.
    pub(crate) margin: Option<f64>,
    /// What we had predicted, and what the server calls it.
    pub(crate) births: Vec<(EntityId, EntityId)>,
}

impl Heading {
    /// None if it is of another game.
    pub(crate) fn read(
        bits: &mut BitReader<'_>,
        game_id: u8,
        newest_tick: Tick,
    ) -> Result<Option<Self>, Malformed> {
        if bits.read(8) as u8 != SNAPSHOT {
            return Err(Malformed);
        }
        if bits.read(8) as u8 != game_id {
            return Ok(None);
        }
        let tick = nearest(newest_tick, bits.read(TICK_BITS) as u32);
        let repeated = bits.read(REPEATED_BITS) as u32;
        let margin = bits.read(15) as u32;
        let received = bits.read(RECEIVED_BITS) as u32;
        let said = Said { tick: tick.0, repeated, margin, received };
        Ok(Some(Self::of(said, births::read(bits, tick))))
    }

    /// What it is that was said.
    pub(crate) fn of(said: Said, births: Vec<(EntityId, EntityId)>) -> Self {
        let tick = Tick(said.tick);
        let received = Tick(match said.received {
            0 => 0,
            received => tick.0.saturating_add(received).saturating_sub(RECEIVED_BACK_MAX),
        });
        let margin = (said.margin != 0)
            .then(|| ((i64::from(said.margin) - 16_384) * MARGIN_UNIT_MICROS) as f64);
        Self { said, tick, repeated: Repeated(said.repeated), received, margin, births }
    }
}

/// The low bits of a running count: parts of one snapshot say the same, and a lost one loses nothing.
#[derive(Clone, Copy)]
pub(crate) struct Repeated(u32);

impl Repeated {
    /// How many more there are than were known.
    pub(crate) fn more_than(self, known: u64) -> u64 {
        u64::from(self.0.wrapping_sub(known as u32) % (1 << REPEATED_BITS))
    }
}

/// The tick nearest to `around` with these low bits.
fn nearest(around: Tick, low: u32) -> Tick {
    let unused = 32 - TICK_BITS;
    let ahead = (low.wrapping_sub(around.0) << unused).cast_signed() >> unused;
    Tick(around.0.saturating_add_signed(ahead))
}
