//! The client's half of the snapshot models: follows the server's snapshots and sends what its player
//! asks for. Knows messages, no datagram. What it predicts is in `predict.rs`, what it shows in
//! `eye.rs`.

use crate::codec::Agreed;
use crate::codec::compact::{Compact, HAS_CODER, Tables};
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::entity::EntityId;
use crate::core::mutant::{self, Mutant};
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::diagnostics::health::{Update, Watch};
use crate::replication::births;
use crate::replication::client::eye::Eye;
use crate::replication::client::predict::predicted_ticks_max;
use crate::replication::client::received::{ForeseeOn, ReceivedPart, ServerTables};
use crate::replication::commands::CommandLog;
use crate::replication::foresight::Vantage;
use crate::replication::messages::FORESEEN_TICKS_MAX;
use crate::replication::messages::coded::asked::Asked;
use crate::replication::messages::coded::part::{self, COMPACT, Said};
use crate::replication::messages::coded::stream::Streams;
use crate::replication::messages::heading::{Heading, Welcome};
use crate::replication::others::{self, Known};
use crate::replication::versions::WireLayouts;
use crate::schema::entities::{Entities, Layouts};
use crate::schema::fields::Networked;
use crate::schema::record::{Layout, Precision};
use crate::schema::table::{Head, Table};
use crate::sim::authority::{self, Decisions};
use crate::sim::events::{self, Effect, Effects};
use crate::sim::game::{Game, Stride};
use crate::sim::sight::History;
use crate::sim::view::{View, write_others};
use crate::sim::world::World;
use crate::transport::clock::Clock;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// So long after the server passed it, what was predicted and never confirmed is taken back.
const CANCEL_AFTER: Span = Span::millis(500);

/// How many names that the server gave to what we had predicted are remembered.
const NAMES_MAX: usize = 64;

pub(crate) struct SnapshotClient<G: Game> {
    game_id: u8,
    pub(crate) me: PlayerId,
    pub(crate) content: G::Content,
    pub(crate) seed: u64,
    pub(crate) tick_length: Span,
    /// How many ticks are predicted at most.
    pub(crate) predicted_ticks_max: u32,
    pub(crate) view: View,
    /// Whether the server takes our word for our own entities.
    pub(crate) trusted: bool,
    /// Whether the server wants to know what our screen shows.
    rewinds: bool,
    /// How snapshots come, and what reads them if that is not plain.
    pub(crate) agreed: Agreed,
    compact: Option<Box<Compact>>,
    /// What codes commands and events then.
    streams: Option<Box<Streams>>,
    /// Whether parts say if they are foreseen, and whether we foresee the same.
    may_be_foreseen: bool,
    pub(crate) foresees: bool,
    pub(crate) layouts: Layouts,
    wire: WireLayouts,
    command_layout: Layout,
    tables: ServerTables,
    /// The newest of each range of slots.
    seen: Table,
    pub(crate) clock: Clock,
    pub(crate) log: CommandLog<G::Command>,
    wish: G::Command,
    /// The newest tick of ours that the server has a command for.
    received: Tick,
    /// The newest tick that the server told of.
    newest_tick: Tick,
    /// What the newest snapshot says.
    pub(crate) snapshot: World<G::Entity>,
    /// The tick that our own entities in it are of.
    pub(crate) own_tick: Tick,
    /// What the last snapshots said.
    pub(crate) history: History<G::Entity>,
    /// The newest, with what we predict stepped up to our own time.
    pub(crate) predicted: World<G::Entity>,
    /// The same, a tick earlier.
    pub(crate) previous: World<G::Entity>,
    /// What we decided on, where the server trusts us.
    pub(crate) decisions: Decisions<G::Entity>,
    pub(crate) eye: Eye<G::Entity>,
    has_news: bool,
    /// What there is to say of the line.
    pub(crate) watch: Watch,
    /// What the others in sight asked for, if the server was asked to tell.
    pub(crate) others: Vec<(PlayerId, G::Command)>,
    /// Whose the entities in these slots are, by slot.
    owners: Vec<(usize, PlayerId)>,
    /// What the server calls what we had predicted.
    names: VecDeque<(EntityId, EntityId)>,
    /// The commands of one step.
    pub(crate) commands: Vec<(PlayerId, Option<G::Command>)>,
    event_layout: Layout,
    pub(crate) effects: Effects<G::Event>,
    pub(crate) repeated: u64,
    pub(crate) repredicted_ticks: u64,
    bits: BitWriter,
}

impl<G: Game> SnapshotClient<G> {
    /// Begins with the message that [`join`](crate::replication::server::serve::SnapshotServer::join) gave.
    #[cfg(test)]
    pub(crate) fn new(
        welcome: &[u8],
        content: G::Content,
        view: View,
        now: Time,
    ) -> Result<Self, Malformed> {
        Self::with_tables(welcome, content, view, now, Some(None))
    }

    /// The same with tables for the compact codec, or without that codec.
    pub(crate) fn with_tables(
        welcome: &[u8],
        content: G::Content,
        view: View,
        now: Time,
        tables: Option<Option<&Arc<Tables>>>,
    ) -> Result<Self, Malformed> {
        let Welcome {
            game_id,
            me,
            tick: newest_tick,
            tick_length,
            seed,
            trusted,
            rewinds,
            tables: offered,
            foresees: may_be_foreseen,
            content: name,
        } = Welcome::read(welcome)?;
        if name != G::content_name(&content) {
            return Err(Malformed);
        }
        let layouts = Layouts::of::<G::Entity>();
        let loaded = loaded::<G>(&content, &layouts);
        let wire = WireLayouts::new(&layouts);
        let (agreed, tables) = Agreed::on(offered, tables, wire.all());
        let command_layout = Layout::of::<G::Command>(Precision::State);
        let event_layout = Layout::of::<G::Event>(Precision::State);
        let mut predicted = World::default();
        predicted.set_predicts(me);
        let predicted_ticks_max = predicted_ticks_max(tick_length);
        Ok(Self {
            game_id,
            me,
            content,
            seed,
            tick_length,
            predicted_ticks_max,
            view,
            trusted,
            rewinds,
            agreed,
            streams: tables
                .as_ref()
                .map(|tables| Box::new(Streams::new(tables, &command_layout, &event_layout))),
            compact: tables.map(|tables| Box::new(Compact::new(tables))),
            may_be_foreseen,
            foresees: may_be_foreseen && G::foresees(),
            wire,
            layouts,
            command_layout,
            // Only compact parts ask what a table was built on.
            tables: ServerTables::new(loaded, matches!(agreed, Agreed::Compact { .. })),
            seen: Table::default(),
            clock: Clock::new(tick_length, now),
            log: CommandLog::default(),
            wish: G::Command::default(),
            received: Tick(0),
            newest_tick,
            snapshot: World::default(),
            own_tick: Tick(0),
            history: History::default(),
            previous: World::default(),
            predicted,
            decisions: Decisions::keeping(predicted_ticks_max),
            eye: Eye::new(tick_length),
            has_news: false,
            watch: Watch::default(),
            others: Vec::new(),
            owners: Vec::new(),
            names: VecDeque::new(),
            commands: Vec::new(),
            event_layout,
            effects: Effects::default(),
            repeated: 0,
            repredicted_ticks: 0,
            bits: BitWriter::growing(2048),
        })
    }

    /// What the player asks for from now on.
    pub(crate) fn command(&mut self, wish: G::Command) {
        self.wish = wish;
    }

    /// Takes in a snapshot, or a part of one, with what precedes it: its tick and what it is about, if it
    /// is of this game and its base is there.
    pub(crate) fn read(
        &mut self,
        now: Time,
        half_trip: Span,
        message: &[u8],
    ) -> Result<Option<(Tick, Range<usize>)>, Malformed> {
        let before = self.tables.newest();
        let (log, layout) = (&self.log, &self.command_layout);
        // As the server has it from the wire.
        let command = |of: Tick| log.get(of).map(|command| layout.value(&layout.record(command)));
        let vantage = Vantage::<G> {
            me: self.me,
            content: &self.content,
            seed: self.seed,
            tick_length: self.tick_length,
            layouts: &self.layouts,
            wire: self.wire.all(),
        };
        let mut foresee = |base: &Table, ticks: (Tick, Tick), check: u32, into: &mut Table| {
            vantage.foresee_alike(base, ticks, command, (check, &mut self.foresees), into)
        };
        let foresee = self.may_be_foreseen.then_some(&mut foresee as ForeseeOn<'_>);
        let read = read_part(
            (&mut self.tables, self.compact.as_deref_mut(), foresee),
            (self.wire.all(), &self.command_layout),
            (self.game_id, self.newest_tick),
            message,
        )?;
        let Some((heading, others, part)) = read else { return Ok(None) };
        let Heading { tick, repeated, received, margin, births, .. } = heading;
        let missing = part.number.saturating_sub(before + 1);
        let is_first_part = tick > self.newest_tick;
        let ticks = tick.0.saturating_sub(self.newest_tick.0);
        let told = is_first_part.then(|| (repeated.more_than(self.repeated) as u32, ticks));
        self.repeated += told.map_or(0, |(more, _)| u64::from(more));
        self.received = self.received.max(received);
        self.newest_tick = self.newest_tick.max(tick);
        if is_first_part {
            self.clock.observe(now, tick, half_trip, margin.map(|margin| (margin, received)));
        }
        let update = Update {
            at: now,
            tick,
            bytes: message.len() as u32,
            missing: missing.min(u64::from(u32::MAX)) as u32,
            margin_ms: margin.map(|micros| micros / 1_000.0),
            ..Update::default()
        };
        self.watch.hear(update, told, self.tick_length);
        let (slots, untold) = (part.slots, part.untold.clone());
        let is_news = tick >= self.snapshot.tick();
        if is_news {
            // The other parts of this snapshot may come later, or not at all.
            let left = (&part.held, &part.untold);
            self.seen.take_slots(part.table, slots.clone(), left, self.wire.all());
        }
        births.into_iter().for_each(|(made, named)| self.rename(made, named));
        if !is_news {
            return Ok(Some((tick, slots)));
        }
        others.into_iter().for_each(|others| self.hear_of(others));
        let guesses = self.guesses(now);
        self.eye_before(now, tick);
        self.fill();
        self.snapshot.set_tick(tick);
        self.history.push(&self.snapshot);
        if self.tells_of_own(&slots, &untold) {
            self.own_tick = tick;
        }
        // What is built on older tables may be foreseen with older commands.
        let kept = if self.foresees { FORESEEN_TICKS_MAX } else { 0 };
        let is_mutant = mutant::is(Mutant::CommandsForgottenWithALostPart);
        let own_tick = if is_mutant { tick } else { self.own_tick };
        self.log.forget_until(Tick(own_tick.0.saturating_sub(kept)));
        self.repredict();
        self.take_errors(now, guesses);
        self.settle_effects(tick);
        Ok(Some((tick, slots)))
    }

    /// Whether a part about these slots, but for some, tells of all that is our own.
    fn tells_of_own(&self, slots: &Range<usize>, untold: &Slots) -> bool {
        let is_own = |slot: &usize| self.seen.head(*slot).is_some_and(|head| head.kind % 2 == 1);
        let is_told = |slot: usize| slots.contains(&slot) && !untold.contains(slot);
        self.seen.visible.iter().filter(is_own).all(is_told)
    }

    /// Lets events happen whose time and entity are known by now.
    fn settle_effects(&mut self, tick: Tick) {
        let seen = &self.seen;
        // Also who is gone by now was known, if its slot tells of it or of who came after it.
        let knows = |entity: EntityId| {
            let head = seen.head(entity.slot());
            head.is_some_and(|head| head.id.generation() >= entity.generation())
        };
        let patience = CANCEL_AFTER.as_micros().div_ceil(self.tick_length.as_micros()) as u32;
        self.effects.settle(tick, patience, G::event_lasts, knows);
    }

    /// Takes in an event.
    pub(crate) fn read_event(&mut self, message: &[u8], is_coded: bool) -> Result<(), Malformed> {
        let mut bits = BitReader::new(message);
        if bits.read(8) as u8 != self.game_id {
            // Of the game before: its entities' names mean others now.
            return Ok(());
        }
        if is_coded {
            let streams = self.streams.as_deref_mut().ok_or(Malformed)?;
            let (named, record) = streams.read_event(bits.rest(), self.newest_tick)?;
            let event = self.event_layout.value(record);
            self.effects.tell(named.key(G::event_kind(&event)), named.is_saved, event);
            return Ok(());
        }
        let (key, is_saved, event) =
            events::read(&mut bits, &self.event_layout, G::event_kind).ok_or(Malformed)?;
        bits.finish()?;
        self.effects.tell(key, is_saved, event);
        Ok(())
    }

    /// Takes in several: each with its length before it, or coded together.
    pub(crate) fn read_events(
        &mut self,
        mut message: &[u8],
        is_coded: bool,
    ) -> Result<(), Malformed> {
        if is_coded {
            return self.read_coded_events(message);
        }
        while let Some((length, rest)) = message.split_first() {
            let (event, rest) = rest.split_at_checked(usize::from(*length)).ok_or(Malformed)?;
            self.read_event(event, false)?;
            message = rest;
        }
        Ok(())
    }

    fn read_coded_events(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let (game_id, coded) = message.split_first().ok_or(Malformed)?;
        if *game_id != self.game_id {
            return Ok(());
        }
        let streams = self.streams.as_deref_mut().filter(|_| HAS_CODER).ok_or(Malformed)?;
        for (named, record) in streams.read_events(coded, self.newest_tick)? {
            let event = self.event_layout.value(&record);
            self.effects.tell(named.key(G::event_kind(&event)), named.is_saved, event);
        }
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
        if behind > self.predicted_ticks_max {
            self.predicted.set_tick(Tick(due.0 - 1));
        }
        let moment = self.looked_at(now);
        while self.predicted.tick() < due {
            let tick = Tick(self.predicted.tick().0 + 1);
            self.log.push(tick, self.wish.clone(), moment);
            self.has_news = true;
            self.step(Stride::default());
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
        if self.streams.is_some() {
            self.write_coded();
        } else {
            self.write_plain();
        }
        let message = self.bits.finish().ok().filter(|message| message.len() <= budget_bytes);
        self.has_news = message.is_none();
        message
    }

    fn write_plain(&mut self) {
        self.bits.write(u64::from(self.game_id), 8);
        self.bits.write(u64::from(self.view.snapshot_every.min(255)), 8);
        let claims = self.decisions.newest().filter(|_| self.trusted && self.view.predicts);
        self.bits.write_bool(self.view.wants_commands());
        self.bits.write_bool(self.rewinds);
        self.bits.write_bool(claims.is_some());
        self.tables.acknowledgement().write(&mut self.bits);
        if self.rewinds {
            write_others(&mut self.bits, self.view.others);
        }
        if let Some((_, claims)) = claims {
            authority::write(&mut self.bits, &self.layouts.state, claims);
        }
        let others = self.rewinds.then_some(self.view.others);
        self.log.write(&mut self.bits, &self.command_layout, self.received, others);
    }

    /// The same through the coder.
    fn write_coded(&mut self) {
        let claims = self.decisions.newest().filter(|_| self.trusted && self.view.predicts);
        let claims = claims.map(|(_, claims)| {
            authority::write(&mut self.bits, &self.layouts.state, claims);
            let claims = part::extra_of(&mut self.bits);
            self.bits.clear();
            claims
        });
        let others = self.rewinds.then_some(self.view.others);
        let (commands, moments, records) =
            self.log.told(&self.command_layout, self.received, others);
        let asked = Asked {
            every: self.view.snapshot_every.min(255) as u8,
            wants_commands: self.view.wants_commands(),
            foresees: self.foresees || !self.may_be_foreseen,
            decoded: self.tables.acknowledgement(),
            others,
            claims,
            commands,
            moments,
        };
        let streams = self.streams.as_deref_mut().filter(|_| HAS_CODER);
        let Some(streams) = streams else { return };
        self.bits.write_bytes(&streams.write_message(COMPACT | self.game_id, asked, &records));
    }

    /// The name by which an entity is known now: what was predicted has the server's, once that has come.
    pub(crate) fn name_of(&self, id: EntityId) -> EntityId {
        self.names.iter().find(|(made, _)| *made == id).map_or(id, |(_, named)| *named)
    }

    /// How many ticks our own time is ahead of the newest snapshot.
    pub(crate) fn ticks_ahead(&self) -> u32 {
        self.predicted.tick().0.saturating_sub(self.snapshot.tick().0)
    }

    /// The number of the newest part that came.
    #[cfg(test)]
    pub(crate) fn parts_read(&self) -> u64 {
        self.tables.newest()
    }

    #[cfg(test)]
    pub(crate) fn tables_kept(&self) -> usize {
        self.tables.kept()
    }

    /// What the next game needs, once this one is over.
    pub(crate) fn into_content(self) -> G::Content {
        self.content
    }

    /// Takes in whose entities are in sight, and what they ask for.
    fn hear_of(&mut self, others: Vec<Known<G::Command>>) {
        self.owners.clear();
        self.others.clear();
        for Known { player, command, slots } in others {
            self.owners.extend(slots.into_iter().map(|slot| (slot, player)));
            self.others.push((player, command));
        }
        self.owners.sort_unstable_by_key(|(slot, _)| *slot);
    }

    /// The server's name for what we had predicted has come.
    fn rename(&mut self, made: EntityId, named: EntityId) {
        if self.names.iter().any(|known| *known == (made, named)) {
            return;
        }
        if self.names.len() == NAMES_MAX {
            self.names.pop_front();
        }
        self.names.push_back((made, named));
        self.effects.rename(made, named);
        self.eye.rename(made, named);
    }

    /// Makes a world of what is in sight.
    fn fill(&mut self) {
        self.snapshot.clear();
        for slot in self.seen.visible.iter() {
            let Some(head) = self.seen.head(slot) else { continue };
            let precision = if head.kind % 2 == 0 { Precision::Shown } else { Precision::State };
            let owner = match precision {
                Precision::State => Some(self.me),
                Precision::Shown => {
                    let index = self.owners.binary_search_by_key(&slot, |(slot, _)| *slot).ok();
                    index.map(|index| self.owners[index].1)
                }
            };
            if let Some(mut entity) = G::Entity::default_of(head.kind / 2) {
                entity.scatter(self.layouts.at(precision), self.seen.lend(slot));
                self.snapshot.put(head.id, owner, entity);
            }
        }
    }
}

/// What precedes a part, what others ask for if it is told, and the part.
type Read<'a, C> = (Heading, Option<Vec<Known<C>>>, ReceivedPart<'a>);

/// Reads a part, plain or compact; none if it is of another game, or cannot be of use.
fn read_part<'a, C: Networked>(
    (tables, compact, foresee): (&'a mut ServerTables, Option<&mut Compact>, Option<ForeseeOn<'_>>),
    (layouts, commands): (&[Layout], &Layout),
    (game_id, newest_tick): (u8, Tick),
    message: &[u8],
) -> Result<Option<Read<'a, C>>, Malformed> {
    let first = message.first().copied().unwrap_or(0);
    if first & COMPACT == 0 {
        let mut bits = BitReader::new(message);
        let Some(heading) = Heading::read(&mut bits, game_id, newest_tick)? else {
            return Ok(None);
        };
        let others = others::read(&mut bits, commands);
        let part = tables.read(bits, layouts, heading.said)?;
        return Ok(part.map(|part| (heading, others, part)));
    }
    // Without the coder nothing of it is linked: pages that never have tables are smaller.
    let compact = compact.filter(|_| HAS_CODER).ok_or(Malformed)?;
    if first & !COMPACT != game_id & !COMPACT {
        return Ok(None);
    }
    let extra = |said: Said, mut bits: BitReader<'_>| {
        let births = births::read(&mut bits, Tick(said.tick));
        let others = others::read(&mut bits, commands);
        bits.finish().map(|()| (births, others))
    };
    let read = tables.read_compact(message, (compact, layouts), newest_tick.0, extra, foresee)?;
    Ok(read.map(|(said, brought, part)| {
        let (births, others) = brought.unwrap_or_default();
        (Heading::of(said, births), others, part)
    }))
}

/// The name of the content that a welcome speaks of.
pub(crate) fn content_of(welcome: &[u8]) -> Option<u64> {
    let name = welcome.last_chunk()?;
    Some(u64::from_le_bytes(*name))
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
