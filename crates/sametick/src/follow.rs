//! The client's half of the snapshot models: follows the server's snapshots, predicts its own player,
//! and sends what it asks for. Knows messages, no datagram.

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::clock::Clock;
use crate::commands::CommandLog;
use crate::entities::{Entities, Layouts};
use crate::events::{self, Effect, Effects};
use crate::game::{Game, Turn};
use crate::record::{Layout, Precision};
use crate::serve::{
    MARGIN_UNIT_MICROS, RECEIVED_BACK_MAX, RECEIVED_BITS, SNAPSHOT, TICK_BITS, read_others,
};
use crate::snapshot::ServerTables;
use crate::table::{Head, Table};
use crate::time::{Span, Time};
use crate::versions::WireLayouts;
use crate::world::{PlayerId, Tick, World};
use std::cell::RefCell;
use std::ops::Range;

/// How far a client predicts at most, whatever the round trip.
pub const PREDICTED_TICKS_MAX: u32 = 128;

/// So many ticks after the server passed it, what was predicted and never confirmed is taken back.
const CANCEL_TICKS: u32 = 30;

pub(crate) struct SnapshotClient<G: Game> {
    game_id: u8,
    pub(crate) me: PlayerId,
    content: G::Content,
    seed: u64,
    tick_length: Span,
    wants: View,
    layouts: Layouts,
    wire: WireLayouts,
    command_layout: Layout,
    tables: ServerTables,
    /// The newest of each range of slots.
    seen: Table,
    clock: Clock,
    log: CommandLog<G::Command>,
    wish: G::Command,
    /// The newest tick of ours that the server has a command for.
    received: Tick,
    /// The newest tick that the server told of.
    newest_tick: Tick,
    /// What the newest snapshot says.
    pub(crate) snapshot: World<G::Entity>,
    /// The same, with our own entities stepped up to our own time.
    predicted: World<G::Entity>,
    has_news: bool,
    /// What the others in sight asked for, if the server was asked to tell.
    pub(crate) others: Vec<(PlayerId, G::Command)>,
    event_layout: Layout,
    effects: Effects<G::Event>,
    pub(crate) repeated: u64,
    bits: BitWriter,
}

impl<G: Game> SnapshotClient<G> {
    /// Begins with the message that [`join`](crate::serve::SnapshotServer::join) gave.
    pub(crate) fn new(
        welcome: &[u8],
        content: G::Content,
        wants: View,
        now: Time,
    ) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(welcome);
        let game_id = bits.read(8) as u8;
        let me = PlayerId(bits.read(16) as u16);
        let newest_tick = Tick(bits.read(32) as u32);
        let tick_length = Span::micros(bits.read(32));
        let seed = bits.read(64);
        let name = bits.read(64);
        bits.finish()?;
        if name != G::content_name(&content) {
            return Err(Malformed);
        }
        if !crate::alone::TICK_LENGTHS.contains(&tick_length) {
            return Err(Malformed);
        }
        let layouts = Layouts::of::<G::Entity>();
        let loaded = loaded::<G>(&content, &layouts);
        Ok(Self {
            game_id,
            me,
            others: Vec::new(),
            content,
            seed,
            tick_length,
            wants,
            wire: WireLayouts::new(&layouts),
            layouts,
            command_layout: Layout::of::<G::Command>(Precision::State),
            tables: ServerTables::new(loaded),
            seen: Table::default(),
            clock: Clock::new(tick_length, now),
            log: CommandLog::default(),
            wish: G::Command::default(),
            received: Tick(0),
            newest_tick,
            snapshot: World::default(),
            predicted: World::default(),
            has_news: false,
            event_layout: Layout::of::<G::Event>(Precision::State),
            effects: Effects::default(),
            repeated: 0,
            bits: BitWriter::growing(2048),
        })
    }

    /// What the player asks for from now on.
    pub(crate) fn command(&mut self, wish: G::Command) {
        self.wish = wish;
    }

    /// Takes in a snapshot, or a part of one, with what precedes it: its tick and what it is about, if it
    /// is of this game.
    pub(crate) fn read(
        &mut self,
        now: Time,
        half_trip: Span,
        message: &[u8],
    ) -> Result<Option<(Tick, Range<usize>)>, Malformed> {
        let mut bits = BitReader::new(message);
        if bits.read(8) as u8 != SNAPSHOT {
            return Err(Malformed);
        }
        if bits.read(8) as u8 != self.game_id {
            return Ok(None);
        }
        let tick = nearest(self.newest_tick, bits.read(TICK_BITS) as u32);
        let repeated = if bits.read_bool() { bits.read(6) } else { 0 };
        let margin = bits.read(15) as i64;
        let received = bits.read(RECEIVED_BITS) as u32;
        let others = read_others(&mut bits, &self.command_layout);
        let part = self.tables.read(&mut bits, self.wire.all()).ok_or(Malformed)?;
        bits.finish()?;
        self.repeated += repeated;
        if !others.is_empty() {
            self.others = others;
        }
        let received = Tick(match received {
            0 => 0,
            received => tick.0.saturating_add(received).saturating_sub(RECEIVED_BACK_MAX),
        });
        self.received = self.received.max(received);
        self.newest_tick = self.newest_tick.max(tick);
        let margin = (margin != 0).then(|| ((margin - 16_384) * MARGIN_UNIT_MICROS) as f64);
        self.clock.observe(now, tick, half_trip, margin.map(|margin| (margin, received)));
        let slots = part.slots;
        if tick < self.snapshot.tick() {
            return Ok(Some((tick, slots)));
        }
        // The other parts of this snapshot may come later, or not at all.
        self.seen.take_slots(part.table, slots.clone(), self.wire.all());
        fill(&mut self.snapshot, &self.seen, &self.layouts, self.me);
        self.snapshot.set_tick(tick);
        self.log.forget_until(tick);
        self.repredict();
        let known = &self.snapshot;
        self.effects.settle(tick, CANCEL_TICKS, G::event_lasts, |entity| known.contains(entity));
        Ok(Some((tick, slots)))
    }

    /// Takes in an event.
    pub(crate) fn read_event(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let mut bits = BitReader::new(message);
        if bits.read(8) as u8 != self.game_id {
            // Of the game before: its entities' names mean others now.
            return Ok(());
        }
        let (key, is_saved, event) =
            events::read(&mut bits, &self.event_layout).ok_or(Malformed)?;
        bits.finish()?;
        self.effects.tell(key, is_saved, event);
        Ok(())
    }

    /// What is to be shown of events since this was last asked.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect<G::Event>> {
        std::mem::take(&mut self.effects.fresh)
    }

    /// Steps as many ticks as are due.
    pub(crate) fn advance(&mut self, now: Time) {
        if !self.clock.is_set() {
            return;
        }
        let due = self.clock.tick(now);
        let behind = due.0.saturating_sub(self.predicted.tick().0);
        if behind > PREDICTED_TICKS_MAX {
            self.predicted.set_tick(Tick(due.0 - 1));
        }
        while self.predicted.tick() < due {
            let tick = Tick(self.predicted.tick().0 + 1);
            self.log.push(tick, self.wish.clone());
            self.has_news = true;
            self.step();
        }
    }

    /// When the next tick is due.
    pub(crate) fn next_wake(&self) -> Time {
        if self.clock.is_set() { self.clock.next_tick_at() } else { Time::MAX }
    }

    /// The message to the server, if a tick has passed since the last and it fits. What does not goes
    /// with the next, which repeats it; in a queue it would only grow old.
    pub(crate) fn write(&mut self, budget_bytes: usize) -> Option<&[u8]> {
        if !self.has_news {
            return None;
        }
        self.bits.clear();
        self.bits.write(u64::from(self.game_id), 8);
        self.bits.write(u64::from(self.wants.snapshot_every.min(255)), 8);
        self.bits.write_bool(self.wants.others_commands);
        let (newest, before) = self.tables.acknowledgement();
        self.bits.write(newest & 0xffff_ffff, 32);
        self.bits.write(u64::from(before), 32);
        self.log.write(&mut self.bits, &self.command_layout, self.received);
        let message = self.bits.finish().ok().filter(|message| message.len() <= budget_bytes);
        self.has_news = message.is_none();
        message
    }

    /// The world as this player should see it.
    pub(crate) fn view(&self) -> &World<G::Entity> {
        if self.wants.predicts { &self.predicted } else { &self.snapshot }
    }

    /// How many ticks our own time is ahead of the newest snapshot.
    pub(crate) fn ticks_ahead(&self) -> u32 {
        self.predicted.tick().0.saturating_sub(self.snapshot.tick().0)
    }

    /// What the next game needs, once this one is over.
    pub(crate) fn into_content(self) -> G::Content {
        self.content
    }

    /// Starts from the newest snapshot and steps again what was predicted before.
    fn repredict(&mut self) {
        let until = self.predicted.tick();
        self.predicted.clone_from(&self.snapshot);
        while self.predicted.tick() < until {
            self.step();
        }
    }

    /// One tick of our own entities; all others stay as the snapshot has them.
    fn step(&mut self) {
        let tick = Tick(self.predicted.tick().0 + 1);
        let ahead = tick.0.saturating_sub(self.snapshot.tick().0);
        let is_within = u64::from(ahead) * self.tick_length.as_micros()
            <= self.wants.predicts_at_most.as_micros();
        if self.wants.predicts && is_within {
            let commands = [(self.me, self.log.get(tick).cloned())];
            let turn = Turn {
                tick,
                tick_length: self.tick_length,
                seed: self.seed,
                content: &self.content,
                joined: &[],
                left: &[],
                commands: &commands,
                events: RefCell::default(),
            };
            G::step(&mut self.predicted, &turn);
            let me = self.me;
            for emitted in turn.events.into_inner() {
                // What others do is for the server to tell.
                if self.predicted.owner(emitted.key.entity) == Some(me) {
                    self.effects.predict(emitted);
                }
            }
            self.predicted.restore_others(&self.snapshot, self.me);
            // What is not finite was mended; the server will say what it is.
            let _ = self.predicted.settle();
        }
        self.predicted.set_tick(tick);
    }
}

/// The name of the content that a welcome speaks of.
pub(crate) fn content_of(welcome: &[u8]) -> Option<u64> {
    let name = welcome.last_chunk()?;
    Some(u64::from_le_bytes(*name))
}

/// The tick nearest to `around` with these low bits.
fn nearest(around: Tick, low: u32) -> Tick {
    let unused = 32 - TICK_BITS;
    let ahead = (low.wrapping_sub(around.0) << unused).cast_signed() >> unused;
    Tick(around.0.saturating_add_signed(ahead))
}

/// The table that both ends have before anything is sent.
fn loaded<G: Game>(content: &G::Content, layouts: &Layouts) -> Table {
    let mut world = World::default();
    G::populate(content, &mut world);
    // The server mends what is not finite in the same way.
    let _ = world.settle();
    let mut table = Table::default();
    for (id, entity) in world.entities() {
        let kind = WireLayouts::kind(entity.kind(), Precision::Shown);
        entity.clone().gather(&layouts.shown, Head { id, kind }, &mut table);
    }
    table
}

/// How a client wants to see the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Whether its own player is predicted: it moves at once, not a round trip later.
    pub predicts: bool,
    /// How far ahead of the newest snapshot it is predicted at most; beyond that it waits.
    pub predicts_at_most: Span,
    /// In every which tick it wants a snapshot, at most 255; 0 is as often as the server offers.
    pub snapshot_every: u32,
    /// Whether it wants to know what the others in sight ask for.
    pub others_commands: bool,
}

impl Default for View {
    fn default() -> Self {
        Self {
            predicts: true,
            predicts_at_most: Span::seconds(1),
            snapshot_every: 0,
            others_commands: false,
        }
    }
}

/// Makes a world of what is in sight.
fn fill<E: Entities>(world: &mut World<E>, table: &Table, layouts: &Layouts, me: PlayerId) {
    world.clear();
    for slot in table.visible.iter() {
        let Some(head) = table.head(slot) else { continue };
        let (precision, owner) = match head.kind % 2 {
            0 => (Precision::Shown, None),
            _ => (Precision::State, Some(me)),
        };
        if let Some(mut entity) = E::default_of(head.kind / 2) {
            entity.scatter(layouts.at(precision), table.lend(slot));
            world.put(head.id, owner, entity);
        }
    }
}
