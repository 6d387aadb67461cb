//! Records one after another through the coder, with no entities around them: what players ask for, and what happens.

use super::asked::{Around, Asked, code_asked};
use super::part;
use crate::codec::compact::range::{Decoder, Encoder};
use crate::codec::compact::records::{Past, Records};
use crate::codec::compact::tables::{KindTables, Tables};
use crate::codec::compact::tree::NumberModel;
use crate::codec::compact::walk::{Memory, Port, Walk};
use crate::codec::compact::{HAS_CODER, Reading, Writing};
use crate::core::bits::Malformed;
use crate::core::entity::EntityId;
use crate::core::sequence::nearest_of;
use crate::core::slots::Slots;
use crate::core::tick::Tick;
use crate::schema::record::Layout;
use crate::schema::table::Head;
use crate::sim::game::EventKey;
use std::sync::LazyLock;

/// A message has at most so many records.
const COUNT_BITS: u32 = 5;
pub(crate) const STREAM_RECORDS_MAX: usize = 1 << COUNT_BITS;
const _: () = assert!(crate::replication::commands::REPEATED_COMMANDS_MAX <= STREAM_RECORDS_MAX);

/// All stand in the same place, one after the other.
static PLACE: LazyLock<(Head, Slots)> = LazyLock::new(|| {
    let mut slots = Slots::default();
    slots.insert(0);
    let id = EntityId::new(0, 1).expect("the first name there is");
    (Head { id, kind: 0 }, slots)
});

/// One record, or none.
#[derive(Clone, Copy)]
struct Single<'a>(Option<&'a [u32]>);

impl<'a> Records<'a> for Single<'a> {
    fn head(self, slot: usize) -> Option<Head> {
        self.0.filter(|_| slot == 0).map(|_| PLACE.0)
    }
    fn record(self, _: usize, _: &Layout) -> &'a [u32] {
        self.0.unwrap_or(&[])
    }
    fn visible(self) -> &'a Slots {
        &PLACE.1
    }
}

/// Codes records of one layout.
#[derive(Debug)]
pub(crate) struct Stream {
    layout: Layout,
    /// Of one kind.
    tables: Tables,
    memory: Memory,
    /// What was read last.
    records: Vec<Vec<u32>>,
}

impl Stream {
    fn new(trained: Option<&KindTables>, layout: &Layout) -> Self {
        let layouts = std::slice::from_ref(layout);
        let mut tables = Tables::built_in(layouts);
        if let Some(trained) = trained.filter(|trained| trained.suits(layout)) {
            tables.kinds = vec![trained.clone()];
            tables = tables.compile();
        }
        Self { layout: layout.clone(), tables, memory: Memory::default(), records: Vec::new() }
    }

    /// Walks records, each against those before it: those given, or as many as are asked for.
    fn walk<P: Port, R: AsRef<[u32]>>(&mut self, port: &mut P, truth: Option<&[R]>, count: usize) {
        self.records.clear();
        if !HAS_CODER {
            return port.fail();
        }
        for index in 0..count {
            let known = |back: usize| {
                let index = index.checked_sub(back)?;
                self.records.get(index).map(Vec::as_slice)
            };
            let lineage = Past {
                base: Single(known(1)),
                before: Some(Single(known(2))),
                earlier: Some(Single(known(3))),
                spans: [1; 3],
            };
            let layouts = std::slice::from_ref(&self.layout);
            let truth = truth.map(|truth| truth[index].as_ref());
            let mut walk = Walk::new(layouts, &self.tables, lineage, &mut self.memory, port);
            let is_changed = walk.entity(0, PLACE.0, truth, None);
            if port.failed() {
                return;
            }
            let record = match (is_changed, known(1)) {
                (false, Some(known)) => known.to_vec(),
                _ => self.memory.row[..self.layout.len()].to_vec(),
            };
            self.records.push(record);
        }
    }
}

/// The streams of a game: what a client's messages and a server's events are coded with.
#[derive(Debug)]
pub struct Streams {
    commands: Stream,
    events: Stream,
}

/// What names an event besides its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// When it happened.
    pub tick: Tick,
    /// The entity it is about.
    pub entity: EntityId,
    /// Which of that entity's events of its kind and tick it is.
    pub ordinal: u8,
    /// Whether those who join later are told of it too.
    pub is_saved: bool,
}

impl Named {
    pub(crate) fn key(&self, kind: u8) -> EventKey {
        EventKey { tick: self.tick, entity: self.entity, kind, ordinal: self.ordinal }
    }
}

/// A tick is told as its low bits, but that of an event that was saved, which may be of any age.
const EVENT_TICK_BITS: u32 = 16;
const SLOT_BITS: u32 = 12;
const _: () = assert!(crate::ENTITY_SLOTS_MAX <= 1 << SLOT_BITS);
/// The chance, of 65536, that an event is saved.
const SAVED: u16 = 4_000;

/// The models of names, which are the same in all games.
static SMALL: LazyLock<NumberModel> = LazyLock::new(|| NumberModel::prior(0));

impl Streams {
    /// With what tables know of them; what they do not is built in.
    pub fn new(tables: &Tables, commands: &Layout, events: &Layout) -> Self {
        let [trained_commands, trained_events] = &tables.streams;
        Self {
            commands: Stream::new(trained_commands.as_deref(), commands),
            events: Stream::new(trained_events.as_deref(), events),
        }
    }

    /// Writes commands, at least one, the newest first.
    pub fn write_commands(&mut self, records: &[Vec<u32>]) -> Vec<u8> {
        let mut encoder = Encoder::default();
        Encoder::raw(&mut encoder, COUNT_BITS, records.len() as u32 - 1);
        let mut port = Writing { encoder, bytes_max: usize::MAX };
        self.commands.walk(&mut port, Some(records), records.len());
        port.encoder.finish()
    }

    /// Reads what [`write_commands`](Streams::write_commands) wrote.
    pub fn read_commands(&mut self, bytes: &[u8]) -> Result<&[Vec<u32>], Malformed> {
        let mut port = Reading { decoder: Decoder::new(bytes), failed: false };
        let count = port.decoder.raw(COUNT_BITS) as usize + 1;
        self.commands.walk::<_, Vec<u32>>(&mut port, None, count);
        if port.failed() {
            return Err(Malformed);
        }
        port.decoder.finish()?;
        Ok(&self.commands.records)
    }

    /// Writes a client's message: a byte that is not zero, what it says, and its commands, as many as that says.
    pub(crate) fn write_message(
        &mut self,
        first: u8,
        asked: Asked,
        records: &[Vec<u32>],
    ) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.prefix(first);
        let around = Around {
            part: asked.decoded.newest,
            tick: asked.commands.map_or(Tick(0), |(newest, _)| newest),
        };
        code_asked(&mut encoder, &around, asked);
        let mut port = Writing { encoder, bytes_max: usize::MAX };
        self.commands.walk(&mut port, Some(records), records.len());
        port.encoder.finish()
    }

    /// Reads what [`write_message`](Streams::write_message) wrote behind the first byte.
    pub(crate) fn read_message(
        &mut self,
        body: &[u8],
        around: &Around,
    ) -> Result<(Asked, &[Vec<u32>]), Malformed> {
        let mut port = Reading { decoder: Decoder::new(body), failed: false };
        let asked = code_asked(&mut port, around, Asked::default());
        let count = asked.commands.map_or(0, |(_, count)| count);
        if !port.failed() {
            self.commands.walk::<_, Vec<u32>>(&mut port, None, count);
        }
        if port.failed() {
            return Err(Malformed);
        }
        port.decoder.finish()?;
        Ok((asked, &self.commands.records))
    }

    /// Writes an event.
    pub fn write_event(&mut self, named: Named, record: &[u32]) -> Vec<u8> {
        let mut encoder = Encoder::default();
        code_named(&mut encoder, named.tick, Some(named));
        let mut port = Writing { encoder, bytes_max: usize::MAX };
        self.events.walk(&mut port, Some(&[record]), 1);
        port.encoder.finish()
    }

    /// Reads what [`write_event`](Streams::write_event) wrote; `newest` is a tick not far from it.
    pub fn read_event(&mut self, bytes: &[u8], newest: Tick) -> Result<(Named, &[u32]), Malformed> {
        let mut port = Reading { decoder: Decoder::new(bytes), failed: false };
        let named = code_named(&mut port, newest, None).ok_or(Malformed)?;
        self.events.walk::<_, Vec<u32>>(&mut port, None, 1);
        if port.failed() {
            return Err(Malformed);
        }
        port.decoder.finish()?;
        let record = self.events.records.first().ok_or(Malformed)?;
        Ok((named, record))
    }

    /// Writes events that are told together, at least one and at most [`EVENTS_TOGETHER_MAX`], in one run of
    /// decisions: the name of each but the first from the one before it. None of them is saved for later. Begins none
    /// behind so many bytes, but the first; says how many it wrote.
    pub fn write_events<'e>(
        &mut self,
        events: impl IntoIterator<Item = (Named, &'e [u32])>,
        begun_bytes_max: usize,
    ) -> (Vec<u8>, usize) {
        let mut port = Writing { encoder: Encoder::default(), bytes_max: usize::MAX };
        let (mut before, mut count) = (None, 0);
        for (named, record) in events.into_iter().take(EVENTS_TOGETHER_MAX) {
            if before.is_some() {
                if port.encoder.bytes_written() > begun_bytes_max {
                    break;
                }
                port.encoder.bit(MORE_EVENTS, true);
            }
            code_next(&mut port.encoder, named.tick, before, Some(named));
            self.events.walk(&mut port, Some(&[record]), 1);
            before = Some(named);
            count += 1;
        }
        port.encoder.bit(MORE_EVENTS, false);
        (port.encoder.finish(), count)
    }

    /// Reads what [`write_events`](Streams::write_events) wrote; `newest` is a tick not far from them.
    pub fn read_events(
        &mut self,
        bytes: &[u8],
        newest: Tick,
    ) -> Result<Vec<(Named, Vec<u32>)>, Malformed> {
        let mut port = Reading { decoder: Decoder::new(bytes), failed: false };
        let mut events: Vec<(Named, Vec<u32>)> = Vec::new();
        loop {
            let before = events.last().map(|(named, _)| *named);
            let named = code_next(&mut port, newest, before, None).ok_or(Malformed)?;
            self.events.walk::<_, Vec<u32>>(&mut port, None, 1);
            if port.failed() || events.len() == EVENTS_TOGETHER_MAX {
                return Err(Malformed);
            }
            events.push((named, self.events.records.pop().ok_or(Malformed)?));
            if !port.decoder.bit(MORE_EVENTS) {
                break;
            }
        }
        port.decoder.finish()?;
        Ok(events)
    }
}

/// So many events at most are told together.
pub const EVENTS_TOGETHER_MAX: usize = 256;

/// The chances, of 65536, that there are more events, and that the next is about the same entity.
const MORE_EVENTS: u16 = 30_000;
const SAME_ENTITY: u16 = 16_000;

/// Codes the name of an event that is told with others, either way; none if it cannot be one.
fn code_next(
    coder: &mut impl part::Head,
    newest: Tick,
    before: Option<Named>,
    named: Option<Named>,
) -> Option<Named> {
    let tick = named.map_or(0, |named| named.tick.0);
    let tick = match before {
        Some(before) => {
            part::code_near(coder, &SMALL, tick, before.tick.0, (0, i32::MAX.cast_unsigned()))
        }
        None => code_tick(coder, newest, Tick(tick)).0,
    };
    let entity = named.map(|named| named.entity);
    let known = before.map(|before| before.entity);
    let is_same = known.is_some() && coder.decide(SAME_ENTITY, entity == known);
    let entity = if is_same { known } else { code_entity(coder, entity) };
    if !is_same && entity.is_some() && entity == known {
        coder.fail();
    }
    let ordinal = code_ordinal(coder, named.map_or(0, |named| named.ordinal));
    Some(Named { tick: Tick(tick), entity: entity?, ordinal, is_saved: false })
}

/// Codes an event's name, either way; none if it cannot be one.
fn code_named(coder: &mut impl part::Head, newest: Tick, named: Option<Named>) -> Option<Named> {
    let is_saved = coder.decide(SAVED, named.is_some_and(|named| named.is_saved));
    let tick = named.map_or(0, |named| named.tick.0);
    let tick = if is_saved {
        let low = coder.raw(EVENT_TICK_BITS, tick & ((1 << EVENT_TICK_BITS) - 1));
        coder.raw(EVENT_TICK_BITS, tick >> EVENT_TICK_BITS) << EVENT_TICK_BITS | low
    } else {
        code_tick(coder, newest, Tick(tick)).0
    };
    let entity = code_entity(coder, named.map(|named| named.entity));
    let ordinal = code_ordinal(coder, named.map_or(0, |named| named.ordinal));
    Some(Named { tick: Tick(tick), entity: entity?, ordinal, is_saved })
}

/// Codes a tick as its low bits: the one nearest to another. Before the first there is none.
pub(super) fn code_tick(coder: &mut impl part::Head, around: Tick, tick: Tick) -> Tick {
    let mask = (1 << EVENT_TICK_BITS) - 1;
    let low = coder.raw(EVENT_TICK_BITS, tick.0 & mask);
    let tick = nearest_of(u64::from(around.0), low, EVENT_TICK_BITS) as u32;
    if tick & mask != low {
        coder.fail();
    }
    Tick(tick)
}

/// Codes which entity an event is about; none, and a failure, if it cannot be one.
fn code_entity(coder: &mut impl part::Head, entity: Option<EntityId>) -> Option<EntityId> {
    let slot = coder.raw(SLOT_BITS, entity.map_or(0, |entity| entity.slot() as u32));
    let generation = entity.map_or(0, |entity| entity.generation().cast_signed() - 1);
    let generation = SMALL.code(coder, &Default::default(), generation);
    let entity = u32::try_from(i64::from(generation) + 1)
        .ok()
        .and_then(|generation| EntityId::new(slot as usize, generation));
    if entity.is_none() {
        coder.fail();
    }
    entity
}

fn code_ordinal(coder: &mut impl part::Head, ordinal: u8) -> u8 {
    part::code_near(coder, &SMALL, u32::from(ordinal), 0, (0, u32::from(u8::MAX))) as u8
}
