//! The server's half of the snapshot models: steps the world, never waits, and tells each player what
//! it may see. Knows messages and players, no datagram.

use crate::codec::ByLoad;
use crate::config::rates::Rates;
use crate::core::bits::BitWriter;
use crate::core::mutant::{self, Mutant};
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::replay::Recorder;
use crate::replication::births::Births;
use crate::replication::commands::CommandQueue;
use crate::replication::foresight::Vantage;
use crate::replication::messages::coded::stream::Streams;
use crate::replication::messages::{
    FORESEEN_TICKS_MAX, GAME_ID_MAX, MARGIN_UNIT_MICROS, RECEIVED_BACK_MAX,
};
use crate::replication::others;
use crate::replication::server::changes::Changes;
use crate::replication::server::rewind::{Screen, Told};
use crate::replication::server::snapshot::{Candidate, ClientBase, Foresee, Frame, Teller};
use crate::replication::versions::{Remembered, VersionId, Versions, WireLayouts};
use crate::schema::entities::Layouts;
use crate::schema::record::{Layout, Precision, ROW_WORDS, Row};
use crate::schema::table::Table;
use crate::sim::authority::{self, CLAIMS_MAX, Claim, Decisions, Trust};
use crate::sim::game::{EventKey, Game, Sight, Sights, Turn, Verdict};
use crate::sim::relevance::Places;
use crate::sim::sight::{self, History, Moment, Past};
use crate::sim::view::Others;
use crate::sim::world::World;
pub use backlog::Backlog;
use head::SnapshotHead;
use std::collections::VecDeque;
use std::sync::Arc;
use telling::{Happening, Together};

mod backlog;
#[cfg(feature = "secure")]
mod bequest;
mod coming;
#[cfg(feature = "secure")]
pub(crate) mod estate;
mod head;
mod hearing;
mod recording;
mod shown;
mod telling;

/// So many ticks at most are made up for at once; a server that was away for longer goes on from now.
const CATCH_UP_TICKS_MAX: u32 = 10;

/// So many players get their snapshots in turns, in [`SPREAD_TURNS`] of the ticks between two, so that no tick takes
/// much longer than the others.
const SPREAD_PLAYERS_MIN: usize = 65;
const SPREAD_TURNS: u32 = 3;
/// Events do not wait for the snapshots of a player who asks for less than one in so many of those it is offered.
const EVENTS_WAIT_SNAPSHOTS: u32 = 2;

/// How often versions that nobody names are swept away: in each tick a share of the players is asked.
const SWEEP_TICKS: u32 = 15;

pub(crate) struct SnapshotServer<G: Game> {
    pub(crate) world: World<G::Entity>,
    content: G::Content,
    seed: u64,
    pub(crate) rates: Rates,
    layouts: Layouts,
    wire: WireLayouts,
    command_layout: Layout,
    versions: Versions,
    /// The map's entities, which every client has from the start.
    loaded: Vec<VersionId>,
    /// The tick that the versions are of.
    versions_at: Tick,
    /// Which game this is; it changes with the map.
    game_id: u8,
    changes: Changes,
    candidates: Vec<Candidate>,
    resting: Vec<u32>,
    players: Vec<Player<G>>,
    /// The commands of one message, and room for reading one.
    commands_read: Vec<(Tick, G::Command)>,
    command_row: Box<Row>,
    /// The same, written for those who predict others.
    others: others::Commands,
    /// The commands of one tick.
    commands: Vec<(PlayerId, Option<G::Command>)>,
    /// Who dropped out and is not waited for any more; their places are kept.
    absent: Vec<PlayerId>,
    joined: Vec<PlayerId>,
    left: Vec<PlayerId>,
    next_tick_at: Time,
    /// Where everyone stands, and of which tick that is.
    places: Places,
    places_at: Option<Tick>,
    visible: Slots,
    bits: BitWriter,
    /// Fields that held what is not finite, and were mended.
    pub(crate) unsettled: u64,
    /// Commands that had to be guessed.
    pub(crate) repeated: u64,
    event_layout: Layout,
    saved: Vec<(EventKey, Vec<u8>)>,
    /// What others were shown of the ticks of recent snapshots.
    history: History<G::Entity>,
    /// Whether players are asked what their screens show though no shot is judged by it.
    asks_what_is_shown: bool,
    /// Room for the moments of one message, and for the sights of one tick.
    moments_read: Vec<(Tick, Moment)>,
    sights: Vec<Sight<G>>,
    /// What was judged since it was last asked for.
    pub(crate) verdicts: VecDeque<Verdict>,
    pub(crate) claims: VecDeque<Claim>,
    /// If the match is recorded.
    recorder: Option<Box<Recorder>>,
    /// If snapshots are compact for those who can read that.
    pub(crate) teller: Option<Box<Teller>>,
    /// If snapshots are plain while the server is busy.
    pub(crate) by_load: Option<ByLoad>,
    /// If compact snapshots are foreseen for those who can do that.
    pub(crate) foresees: bool,
    /// What codes commands and events for those who have the tables of these names.
    streams: Vec<(u64, Streams)>,
    /// The events that were last coded together: as a rule the next player is told the same.
    together: Together,
}

struct Player<G: Game> {
    id: PlayerId,
    base: ClientBase,
    commands: CommandQueue<G::Command>,
    /// By how much commands were early, the smallest since it was last told.
    margin_micros: Option<i64>,
    snapshot_is_due: bool,
    /// In every which tick it gets one: as often as it asks, but not more often than the server offers.
    snapshot_every: u32,
    /// Whether it is told what others ask for, to predict them too.
    wants_commands: bool,
    last_command: Option<G::Command>,
    /// The commands of the last ticks, for foreseeing; none of a tick for which it gave none.
    executed: VecDeque<Option<G::Command>>,
    /// The slots in sight in the last snapshot, and of which tick that was.
    seen: Slots,
    seen_at: Tick,
    /// What it is to be told of, which all who are told share.
    events: Vec<Arc<Happening>>,
    /// How it shows others, and what its screen showed when it gave a command; none if it does not tell.
    others: Option<Others>,
    moments: VecDeque<Told>,
    screen: Screen,
    /// When a snapshot was last written, and in every how many ticks that is.
    sent_at: Tick,
    sent_every: u32,
    last_gap: u32,
    /// The states it claims for its own entities.
    claims: Decisions<G::Entity>,
    births: Births,
    /// Whether it was told which tables there are, and whether it says that it has them.
    offered: Option<u64>,
    reads_compact: bool,
    /// Whether its parts may be foreseen, and whether it can step its base by the rules as we do.
    may_be_foreseen: bool,
    foresees: bool,
}

/// For how many ticks moments are kept.
const MOMENTS_MAX: usize = 128;
/// How many verdicts are kept until they are asked for; one more, and the oldest is forgotten.
pub const VERDICTS_MAX: usize = 4096;

impl<G: Game> SnapshotServer<G> {
    pub(crate) fn new(content: G::Content, seed: u64, rates: Rates, now: Time) -> Self {
        let layouts = Layouts::of::<G::Entity>();
        let mut world = World::default();
        G::populate(&content, &mut world);
        let unsettled = u64::from(world.settle().is_err());
        let mut versions = Versions::default();
        versions.update(&mut world, &layouts);
        Self {
            world,
            loaded: versions.shown(),
            versions_at: Tick(0),
            game_id: 1,
            content,
            seed,
            rates,
            wire: WireLayouts::new(&layouts),
            layouts,
            command_layout: Layout::of::<G::Command>(Precision::State),
            versions,
            changes: Changes::default(),
            candidates: Vec::new(),
            resting: Vec::new(),
            players: Vec::new(),
            commands_read: Vec::new(),
            command_row: Box::new([0; ROW_WORDS]),
            commands: Vec::new(),
            absent: Vec::new(),
            others: others::Commands::default(),
            joined: Vec::new(),
            left: Vec::new(),
            next_tick_at: now,
            places: Places::default(),
            places_at: None,
            visible: Slots::default(),
            bits: BitWriter::growing(MESSAGE_BYTES_MAX),
            unsettled,
            repeated: 0,
            event_layout: Layout::of::<G::Event>(Precision::State),
            saved: Vec::new(),
            history: History::default(),
            asks_what_is_shown: false,
            moments_read: Vec::new(),
            sights: Vec::new(),
            verdicts: VecDeque::new(),
            claims: VecDeque::new(),
            recorder: None,
            teller: None,
            by_load: None,
            foresees: false,
            streams: Vec::new(),
            together: Together::default(),
        }
    }

    /// Steps as many ticks as are due.
    pub(crate) fn advance(&mut self, now: Time) {
        let mut steps = 0;
        while now >= self.next_tick_at {
            if steps == CATCH_UP_TICKS_MAX {
                self.next_tick_at = now;
            }
            self.step();
            self.next_tick_at += self.rates.tick_length;
            steps += 1;
        }
    }

    pub(crate) fn next_wake(&self) -> Time {
        self.next_tick_at
    }

    fn step(&mut self) {
        self.commands.clear();
        self.commands.extend(self.players.iter_mut().map(|player| {
            let told_next = player.commands.repeated;
            player.last_command = player.commands.next::<G>();
            let is_given = player.commands.repeated == told_next;
            player.keep_executed(is_given);
            self.repeated += u64::from(player.commands.repeated - told_next);
            (player.id, player.last_command.clone())
        }));
        for id in &self.absent {
            let place = self.commands.partition_point(|(player, _)| player < id);
            self.commands.insert(place, (*id, G::absent()));
        }
        let tick = Tick(self.world.tick().0 + 1);
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(&self.world, &self.history, &self.layouts);
        }
        self.apply_claims(tick, false);
        self.look_back(tick);
        let past = Past {
            history: &self.history,
            layouts: &self.layouts.state,
            content: &self.content,
            tick_length: self.rates.tick_length,
        };
        let turn = Turn {
            joined: &self.joined,
            left: &self.left,
            commands: &self.commands,
            sights: Some(Sights { past, players: std::mem::take(&mut self.sights) }),
            needs_sight: self.rates.rewinding.needs_sight,
            ..Turn::new(tick, self.rates.tick_length, self.seed, &self.content)
        };
        G::step(&mut self.world, &turn);
        self.sights = turn.sights.map(|sights| sights.players).unwrap_or_default();
        let (events, verdicts) = (turn.events.into_inner(), turn.verdicts.into_inner());
        log(&mut self.verdicts, verdicts, VERDICTS_MAX);
        self.record_step(tick);
        self.apply_claims(tick, true);
        for birth in self.world.take_births() {
            if let Some(player) = find(&mut self.players, birth.owner) {
                player.births.push(tick, birth);
            }
        }
        self.joined.clear();
        self.left.clear();
        self.world.set_tick(tick);
        self.unsettled += u64::from(self.world.settle().is_err());
        if let Some(recorder) = &mut self.recorder {
            recorder.end(&self.world, &self.layouts);
        }
        self.distribute(events);
        let spreads = self.players.len() >= SPREAD_PLAYERS_MIN;
        let due = |player: &Player<G>| player.is_due(tick, spreads);
        if self.players.iter().any(due) {
            self.update_versions();
            for player in self.players.iter_mut().filter(|player| due(player)) {
                player.snapshot_is_due = true;
            }
        }
        let turn = tick.0 % SWEEP_TICKS;
        if turn == 0 {
            self.versions.sweep();
            self.versions.mark([&self.loaded[..]].into_iter());
        }
        let asked =
            self.players.iter().filter(|player| u32::from(player.id.0) % SWEEP_TICKS == turn);
        asked.for_each(|player| self.versions.mark(player.base.named()));
    }

    /// Finds where everyone stands, unless that was done since the world last changed.
    fn find_places(&mut self) {
        if self.places_at.replace(self.world.tick()) != Some(self.world.tick()) {
            self.places.clear();
            G::places(&self.world, &self.content, &mut self.places);
        }
    }

    fn update_versions(&mut self) {
        self.versions.update(&mut self.world, &self.layouts);
        self.versions_at = self.world.tick();
        self.changes.clear();
        if self.rewinds() || self.asks_what_is_shown {
            let (world, layouts) = (&self.world, &self.layouts);
            self.history.push_with(self.versions_at, |then| {
                then.clone_from(world);
                sight::as_shown(then, layouts);
            });
        }
    }

    /// Whether shots are judged by what players' screens show.
    fn rewinds(&self) -> bool {
        self.rates.rewinding.at_most > Span::ZERO || self.rates.trust == Trust::Clients
    }

    /// Fills in how those players who tell saw the others when they gave their commands of a tick.
    fn look_back(&mut self, tick: Tick) {
        self.sights.clear();
        if !self.rewinds() {
            return;
        }
        let Self { players, rates, history, .. } = self;
        self.sights.extend(players.iter_mut().filter_map(|player| {
            let others = player.others?;
            // As a rule there is one of each tick.
            let likely = tick.0.wrapping_sub(player.moments.front()?.tick.0) as usize;
            let is_there = player.moments.get(likely).is_some_and(|told| told.tick == tick);
            let search = || player.moments.partition_point(|told| told.tick < tick);
            let index = if is_there { likely } else { search() };
            let told = *player.moments.get(index).filter(|told| told.tick == tick)?;
            let moment = match rates.trust {
                Trust::Clients => told.moment,
                Trust::Server => {
                    let choice = (rates.rewinding, rates.tick_length);
                    let every = player.sent_every;
                    let moment = player.screen.judge(told, others, choice, every, history);
                    // Where nothing that recent is remembered, the present is nearer to the truth.
                    let back = f64::from(tick.0) - moment.shown_tick(others);
                    let limit = rates.rewinding.at_most.as_micros() as f64;
                    let is_within = back * rates.tick_length.as_micros() as f64 <= limit;
                    (is_within || mutant::is(Mutant::RewoundBeyondTheLimit)).then_some(moment)?
                }
            };
            Some(Sight::new(player.id, others, moment))
        }));
    }

    /// Lets count what players claim of a tick that was stepped, or of those before it.
    fn apply_claims(&mut self, tick: Tick, is_stepped: bool) {
        if self.rates.trust == Trust::Server {
            return;
        }
        let until = if is_stepped { tick } else { Tick(tick.0 - 1) };
        for player in &mut self.players {
            let Some((of, claims)) = player.claims.take_until(until) else { continue };
            let layouts = &self.layouts.state;
            if let Some(recorder) = &mut self.recorder {
                recorder.claim(layouts, until, (player.id, of, &claims));
            }
            let judged =
                authority::apply(&mut self.world, layouts, player.id, of, &claims, G::trust);
            log(&mut self.claims, judged, CLAIMS_MAX);
        }
    }

    /// The shortest round trip to a player of late; gives how far back its last command was judged.
    pub(crate) fn measure(&mut self, of: PlayerId, round_trip: Span) -> Option<Span> {
        let player = find(&mut self.players, of)?;
        player.screen.round_trip = round_trip;
        player.screen.rewound
    }

    /// Whether there is anything to say to a player now.
    pub(crate) fn has_news_for(&mut self, to: PlayerId) -> bool {
        // In a crowd something happens in every tick: it goes with the next snapshot, in a third of the packets.
        let is_crowd = self.players.len() >= SPREAD_PLAYERS_MIN;
        let often = EVENTS_WAIT_SNAPSHOTS * self.rates.ticks_per_snapshot;
        let player = find(&mut self.players, to);
        player.is_some_and(|player| {
            let waits = is_crowd && player.snapshot_every <= often;
            player.snapshot_is_due || !waits && !player.events.is_empty()
        })
    }

    /// Finds whom a player is told of in the snapshot that is about to be written.
    fn look_for(&mut self, to: PlayerId) {
        self.find_places();
        let Some(player) = find(&mut self.players, to) else { return };
        self.visible.clear();
        G::relevant_among(&self.world, &self.content, &self.places, to, &mut self.visible);
        // What a player predicts it must be told of.
        for (_, slot) in self.versions.owned(to) {
            self.visible.insert(*slot);
        }
        player.seen.clone_from(&self.visible);
        player.seen_at = self.world.tick();
        // Whoever asks for more and for less by turns is judged by the shorter.
        let passed = self.world.tick().0 - player.sent_at.0;
        player.sent_every = player.last_gap.min(passed).max(1);
        (player.last_gap, player.sent_at) = (passed, self.world.tick());
    }

    /// Writes the snapshot that is due for a player, if one is, in parts of at most `bytes_max`.
    pub(crate) fn write(
        &mut self,
        to: PlayerId,
        bytes_max: usize,
        budget_bytes: usize,
        mut part: impl FnMut(u64, &[u8]),
    ) {
        let Some(player) = find(&mut self.players, to) else { return };
        if !player.snapshot_is_due || budget_bytes < MESSAGE_BYTES_MIN {
            return;
        }
        player.snapshot_is_due = false;
        // One that had to wait for its budget tells of the present, not of when it was due.
        if self.versions_at != self.world.tick() {
            self.update_versions();
        }
        self.look_for(to);
        let Some(player) = find(&mut self.players, to) else { return };
        // Whoever acknowledges nothing is told less; it counts as told, so that it gains nothing by that.
        if player.base.waits() {
            return;
        }
        let margin = player.margin_micros.take().map(|micros| micros / MARGIN_UNIT_MICROS);
        let margin = margin.map_or(0, |units| units.clamp(-16_383, 16_383) + 16_384);
        let (repeated, tick) = (player.commands.repeated, self.world.tick());
        let received = (player.commands.newest.0 + RECEIVED_BACK_MAX).saturating_sub(tick.0);
        let wants_commands = player.wants_commands;
        if wants_commands {
            let known = self.players.iter();
            let known = known.filter_map(|player| Some((player.id, player.last_command.as_ref()?)));
            self.others.update(tick, &self.command_layout, known);
        }
        let Some(player) = find(&mut self.players, to) else { return };
        let Player { base, births, snapshot_every, executed, .. } = player;
        let Player { reads_compact, may_be_foreseen, foresees, .. } = *player;
        if !births.is_empty() {
            births.tell(base.next_number(), tick);
        }
        let head = SnapshotHead { game_id: self.game_id, tick, repeated, margin, received, births };
        let mut frame = Frame {
            layouts: self.wire.all(),
            versions: &self.versions,
            changes: &mut self.changes,
            candidates: &mut self.candidates,
            holds_back: false,
            resting: &mut self.resting,
            turn: u64::from(tick.0 / (*snapshot_every).max(1)),
            update_every: G::update_every(&self.world, to),
        };
        let recorder = &mut self.recorder;
        let mut send = |number: u64, message: &[u8]| {
            if let Some(recorder) = recorder {
                recorder.sent(tick, to, message);
            }
            part(number, message);
        };
        let others = wants_commands.then_some(&self.others);
        let is_compact = reads_compact && self.by_load.is_none_or(ByLoad::is_compact);
        let teller = self.teller.as_deref_mut().filter(|_| is_compact);
        let (limits, viewer) = ((bytes_max, budget_bytes), (to, &self.visible, others));
        let vantage = Vantage::<G> {
            me: to,
            content: &self.content,
            seed: self.seed,
            tick_length: self.rates.tick_length,
            layouts: &self.layouts,
            wire: self.wire.all(),
        };
        let mut foresee = |base: Remembered<'_>, from: Tick, into: &mut Table| {
            let command = |of: Tick| executed.get((tick.0 - of.0) as usize).cloned().flatten();
            foresees && vantage.foresee(base, (from, tick), command, into)
        };
        let foresee: Option<Foresee<'_>> = if may_be_foreseen { Some(&mut foresee) } else { None };
        let told = (base, teller, foresee);
        let is_told = head.tell(told, &mut frame, viewer, limits, &mut self.bits, &mut send);
        drop(frame);
        if !is_told {
            self.write_much((to, wants_commands), limits, (margin, received), part);
        }
    }

    /// Whether snapshots are compact now, for those who can read that.
    pub(crate) fn sends_compact(&self) -> bool {
        self.teller.is_some() && self.by_load.is_none_or(ByLoad::is_compact)
    }

    /// Begins another game with those who are here: another map, other content. Each is told anew.
    pub(crate) fn change(&mut self, content: G::Content, seed: u64) -> Vec<(PlayerId, Vec<u8>)> {
        let players: Vec<PlayerId> = self.players.iter().map(|player| player.id).collect();
        let next = Self::new(content, seed, self.rates, self.next_tick_at);
        let game_id = self.game_id % GAME_ID_MAX + 1;
        // A recording is of one match.
        self.finish_recording();
        let (recorder, teller) = (self.recorder.take(), self.teller.take());
        let streams = std::mem::take(&mut self.streams);
        let Self { by_load, foresees, asks_what_is_shown, .. } = *self;
        let next = Self { by_load, foresees, asks_what_is_shown, ..next };
        *self = Self { game_id, recorder, teller, streams, ..next };
        players.into_iter().map(|player| (player, self.join(player))).collect()
    }

    #[cfg(test)]
    pub(crate) fn set_content(&mut self, content: G::Content) {
        (self.content, self.places_at) = (content, None);
    }

    /// Bytes on the heap for one player.
    pub(crate) fn memory_bytes(&self, of: PlayerId) -> usize {
        let player = self.players.iter().find(|player| player.id == of);
        player.map_or(0, |player| player.base.memory_bytes() + size_of::<Player<G>>())
    }
}

/// Players are kept by number; while nobody has left, each stands at its own.
fn find<G: Game>(players: &mut [Player<G>], id: PlayerId) -> Option<&mut Player<G>> {
    let likely = usize::from(id.0);
    let is_there = players.get(likely).is_some_and(|player| player.id == id);
    let search = || players.binary_search_by_key(&id, |player| player.id).ok();
    let index = if is_there { likely } else { search()? };
    players.get_mut(index)
}

/// How many microseconds a moment lies ahead; below zero, behind.
fn micros_until(moment: Time, now: Time) -> i64 {
    (moment - now).as_micros() as i64 - (now - moment).as_micros() as i64
}

/// Keeps the newest of what is logged.
fn log<T>(kept: &mut VecDeque<T>, new: Vec<T>, most: usize) {
    kept.extend(new);
    let excess = kept.len().saturating_sub(most);
    kept.drain(..excess);
}

impl<G: Game> Player<G> {
    /// Keeps what was executed last, the newest first, if that can be of use.
    fn keep_executed(&mut self, is_given: bool) {
        if self.may_be_foreseen {
            self.executed.truncate(FORESEEN_TICKS_MAX as usize - 1);
            self.executed.push_front(self.last_command.clone().filter(|_| is_given));
        }
    }

    /// Whether a snapshot is due in a tick.
    fn is_due(&self, tick: Tick, spreads: bool) -> bool {
        let every = self.snapshot_every;
        let turns = if spreads { SPREAD_TURNS.min(every) } else { 1 };
        let turn = u32::from(self.id.0) % turns * (every / turns);
        tick.0 % every == turn
    }
}

/// How many events can wait for a player; more are not told.
const EVENTS_WAITING_MAX: usize = 4096;
const MESSAGE_BYTES_MAX: usize = 2048;
const MESSAGE_BYTES_MIN: usize = 64;
