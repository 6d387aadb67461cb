//! What happened, as the server had it, and what must hold of it at every client and every step.

use super::arena::{Arena, BANNER, Crate, Entity, Map, Runner, SPLASH, THROW, WHISPER};
use super::simulation::{Guest, Options};
use sametick::channel::PAYLOAD_BYTES_MAX;
use sametick::{
    CHUNK_SLOTS, Client, ENTITY_SLOTS_MAX, Effect, Entities, EntityId, EventKey, Game, Head,
    Layouts, PlayerId, Precision, Server, ServerEvent, Slots, Span, Table, Time, World,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// So many worlds are remembered: longer than any snapshot is under way.
const WORLDS_KEPT: usize = 1_000;
/// The most ticks a client may be away from the server's, once it has found its place.
const CLOCK_ERROR_TICKS_MAX: u32 = 64;

/// How many commands may be late in the last second: a client that was throttled before may be still.
const GUESSED_MAX: u32 = 4;

#[derive(Default)]
pub(crate) struct Ledger {
    map: u64,
    worlds: BTreeMap<(u64, u32), World<Entity>>,
    players: BTreeMap<PlayerId, u64>,
    /// By map and entity: its kind and the tick of its birth.
    born: BTreeMap<(u64, usize, u32), (u8, u32)>,
    /// By map and crate: all colours that it ever had. Some clients are never told of the next.
    colours: BTreeMap<(u64, EntityId), BTreeSet<u8>>,
    /// By identity and map: which commands were asked for at which tick.
    asked: BTreeMap<(u64, u64), BTreeMap<u32, Vec<u32>>>,
    sessions: BTreeMap<u64, Session>,
    ticks: u64,
    layouts: Option<Layouts>,
    pub(crate) counts: Counts,
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) snapshots: u64,
    pub(crate) verdicts: u64,
    pub(crate) farewells: u64,
    pub(crate) whole: u64,
    pub(crate) predictions: u64,
    pub(crate) commands: u64,
    pub(crate) events: u64,
    pub(crate) sessions: u64,
    pub(crate) ahead_max: u32,
}

/// One stay of one client in one game.
#[derive(Default)]
struct Session {
    map: u64,
    began: Time,
    snapshot_at: Time,
    snapshot_tick: u32,
    own_tick: u32,
    shown_tick: u32,
    /// By tick, what was predicted for it, and the tick of the runner that it was predicted from.
    predicted: BTreeMap<u32, (u32, Runner)>,
    /// The tick that our own runner in the newest snapshot is of: see [`Ledger::runner_tick`].
    runner_tick: u32,
    runner: Option<Runner>,
    started: BTreeMap<EventKey, u8>,
    /// Whether nothing had been whispered to our runner when we first saw it.
    heard_all: Option<bool>,
    /// The chunks of which this session has shown anyone: a part about each has come.
    received_chunks: BTreeSet<usize>,
}

impl Ledger {
    pub(crate) fn change(&mut self, map: u64) {
        self.map = map;
    }

    pub(crate) fn begin(&mut self, began: Time, identity: u64, map: u64) {
        self.counts.sessions += 1;
        self.sessions.insert(identity, Session { map, began, ..Session::default() });
    }

    /// Takes down the server's world of each tick, and checks what concerns it alone.
    pub(crate) fn record(&mut self, now: Time, options: &Options, server: &mut Server<Arena>) {
        for event in server.take_events() {
            if let ServerEvent::Joined { player, client_id } = event {
                self.players.insert(player, client_id);
            }
        }
        for verdict in server.take_verdicts() {
            let limit = options.rates.rewinding.at_most;
            assert!(verdict.rewound <= limit, "a shot was judged {:?} back", verdict.rewound);
            self.counts.verdicts += 1;
        }
        let (world, tick) = (server.world(), server.world().tick().0);
        if tick == 0 || self.worlds.contains_key(&(self.map, tick)) {
            return;
        }
        self.ticks += 1;
        let due = now.as_micros() / options.rates.tick_length.as_micros() + 1;
        assert_eq!(self.ticks, due, "the server waits for nobody");
        for (id, entity) in world.entities() {
            self.meet(self.map, id, entity);
        }
        let mut loaded = World::default();
        Arena::populate(&Map { number: self.map, ..Map::default() }, &mut loaded);
        for (id, painted) in loaded.all::<Crate>().chain(world.all::<Crate>()) {
            self.colours.entry((self.map, id)).or_default().insert(painted.colour);
        }
        if let Some(before) = self.worlds.get(&(self.map, tick.wrapping_sub(1))) {
            for (id, runner) in world.all::<Runner>() {
                let Some(earlier) = before.get::<Runner>(id) else { continue };
                let player = world.owner(id).expect("a runner is somebody's");
                let asked = self.asked.get(&(self.players[&player], self.map));
                let asked = asked.and_then(|asked| asked.get(&tick)).map_or(&[][..], |a| a);
                match runner.executed - earlier.executed {
                    0 => assert_eq!(runner.stamp, earlier.stamp),
                    1 => assert!(asked.contains(&runner.stamp), "not asked for at tick {tick}"),
                    more => panic!("{more} commands in one tick"),
                }
                let moves = runner.executed - earlier.executed + runner.guessed - earlier.guessed;
                assert!(moves <= 1, "{moves} moves in one tick");
                self.counts.commands += u64::from(runner.executed - earlier.executed);
            }
        }
        self.worlds.insert((self.map, tick), world.clone());
        if self.worlds.len() > WORLDS_KEPT {
            self.worlds.pop_first();
        }
    }

    /// A name is one entity's, at all ends and for ever.
    fn meet(&mut self, map: u64, id: EntityId, entity: &Entity) {
        let birth = match entity {
            Entity::Runner(runner) => runner.born,
            Entity::Stone(stone) => stone.born,
            Entity::Crate(_) => 0,
        };
        let name = (map, id.slot(), id.generation());
        let known = *self.born.entry(name).or_insert((entity.kind(), birth));
        assert_eq!(known, (entity.kind(), birth), "{id:?} is two entities");
    }

    /// Checks one client after each of its steps.
    pub(crate) fn check_client(
        &mut self,
        now: Time,
        options: &Options,
        identity: u64,
        stamp: u32,
        client: &mut Client<Arena>,
    ) {
        let effects = client.take_effects();
        let (Some(me), Some(snapshot), true) =
            (client.me(), client.snapshot(), self.sessions.contains_key(&identity))
        else {
            return;
        };
        let mut session = self.sessions.remove(&identity).expect("there is one");
        let tick = snapshot.tick().0;
        assert!(tick >= session.snapshot_tick, "the snapshot went back to {tick}");
        let is_new = tick != session.snapshot_tick;
        if is_new {
            (session.snapshot_tick, session.snapshot_at) = (tick, now);
            let (map, received) = (session.map, &mut session.received_chunks);
            let is_of_now = self.check_snapshot(options, map, me, snapshot, received);
            let own = snapshot.owned::<Runner>(me);
            let is_first = own.map(|(_, runner)| runner.whispers == 0);
            session.heard_all = session.heard_all.or(is_first);
            if is_of_now {
                self.check_prediction(&mut session, me, snapshot);
            }
        }
        // The part about our runner may come after another part of the same snapshot.
        let runner = snapshot.owned::<Runner>(me).map(|(_, runner)| runner);
        if is_new || runner != session.runner.as_ref() {
            session.runner_tick = self.runner_tick(&session, me, tick, runner);
            session.runner = runner.cloned();
        }
        let own = tick + client.ticks_ahead();
        let asked = self.asked.entry((identity, session.map)).or_default();
        for tick in session.own_tick.max(own.saturating_sub(200)) + 1..=own {
            asked.entry(tick).or_default().push(stamp);
        }
        assert!(own >= session.own_tick, "our time went back from {} to {own}", session.own_tick);
        session.own_tick = own;
        let view = client.predicted().expect("it plays");
        assert!(view.tick().0 >= session.shown_tick, "shown time went back");
        session.shown_tick = view.tick().0;
        if let Some((_, runner)) = view.owned::<Runner>(me).filter(|_| own < tick + 40) {
            session.predicted.insert(view.tick().0, (session.runner_tick, runner.clone()));
        }
        while session.predicted.len() > 200 {
            session.predicted.pop_first();
        }
        self.check_clock(now, &session);
        for effect in effects {
            self.check_effect(options, &mut session, me, effect);
        }
        self.sessions.insert(identity, session);
    }

    /// A client's time stays near the server's while it hears from it.
    fn check_clock(&mut self, now: Time, session: &Session) {
        let heard = (now - session.snapshot_at).as_micros() < 300_000;
        let settled = (now - session.began).as_micros() > 3_000_000;
        let server = self.worlds.last_key_value().map_or((0, 0), |(key, _)| *key);
        if heard && settled && server.0 == session.map {
            let off = session.own_tick.abs_diff(server.1);
            self.counts.ahead_max = self.counts.ahead_max.max(off);
            assert!(off <= CLOCK_ERROR_TICKS_MAX, "{off} ticks off");
        }
    }

    /// What a client has is what it may see and what the server had: of this very tick or, of slots
    /// whose part was lost, of one before. The parts of a session's first snapshots may come in any order: until the
    /// first part about a chunk comes, the client has nobody of it. Gives whether all of it is of this tick.
    fn check_snapshot(
        &mut self,
        options: &Options,
        map: u64,
        me: PlayerId,
        snapshot: &World<Entity>,
        received_chunks: &mut BTreeSet<usize>,
    ) -> bool {
        let tick = snapshot.tick().0;
        let world = self.worlds.get(&(map, tick)).expect("a snapshot of a tick that was");
        let layouts = self.layouts.get_or_insert_with(Layouts::of::<Entity>);
        let chunks = world.entities().chain(snapshot.entities()).map(|(id, _)| id.slot());
        let chunks = chunks.max().map_or(0, |last| last / CHUNK_SLOTS + 1);
        let is_one_part = bits_max(layouts, world, me) <= 8 * PAYLOAD_BYTES_MAX;
        let (mut of_now, mut is_whole) = (0, true);
        let mut seen = vec![Vec::new(); chunks];
        for (id, entity) in snapshot.entities() {
            seen[id.slot() / CHUNK_SLOTS].push((id, entity));
        }
        // By tick, what the player might see then: looked up once for all chunks.
        let views = RefCell::new(BTreeMap::new());
        for (chunk, seen) in seen.iter().enumerate() {
            let earlier = self.worlds.range((map, 0)..=(map, tick)).rev().map(|(_, world)| world);
            let mut told = earlier.filter_map(|world| {
                let past = self.worlds.range((map, 0)..(map, world.tick().0)).rev();
                let past = past.map(|(_, world)| world);
                let was = |id, colour| {
                    self.colours.get(&(map, id)).is_some_and(|all| all.contains(&colour))
                };
                let mut views = views.borrow_mut();
                let visible = views.entry(world.tick().0).or_insert_with(|| view_of(world, me));
                let allowed = visible.chunks().get(chunk).copied().unwrap_or(0);
                let view = View { layouts, world, me, is_ample: options.is_ample, was };
                Some((world.tick().0, view.explains(past, (snapshot, seen), allowed)?))
            });
            let Some((at, is_exact)) = told.next() else {
                if seen.is_empty() && !is_one_part && !received_chunks.contains(&chunk) {
                    is_whole = false;
                    continue;
                }
                panic!("chunk {chunk} at {tick} is no view of {me:?}: {seen:?}");
            };
            assert!(at == tick || !is_one_part, "chunk {chunk} at {tick} is of {at}");
            of_now += usize::from(at == tick);
            is_whole &= at == tick && is_exact;
        }
        assert!(of_now > 0 || chunks == 0, "nothing of the snapshot of {tick} is of {tick}");
        self.counts.snapshots += 1;
        self.counts.whole += u64::from(is_whole);
        received_chunks.extend(snapshot.entities().map(|(id, _)| id.slot() / CHUNK_SLOTS));
        let met: Vec<_> = snapshot.entities().map(|(id, entity)| (id, entity.clone())).collect();
        met.iter().for_each(|(id, entity)| self.meet(map, *id, entity));
        of_now == chunks
    }

    /// The tick that our own runner in a snapshot is of. Where a snapshot has several parts and the one about our
    /// runner was lost, a client predicts from the runner that it had, which is of an earlier snapshot.
    ///
    /// A runner may look the same for several ticks; then the first of them is given, which may be too early. No
    /// prediction is judged wrongly for that: in those ticks no command was executed, so fewer were since the first of
    /// them than there are ticks, and [`check_prediction`](Ledger::check_prediction) judges only if all were.
    fn runner_tick(
        &mut self,
        session: &Session,
        me: PlayerId,
        tick: u32,
        runner: Option<&Runner>,
    ) -> u32 {
        let map = session.map;
        let layouts = self.layouts.get_or_insert_with(Layouts::of::<Entity>);
        let is_one_part = |world| bits_max(layouts, world, me) <= 8 * PAYLOAD_BYTES_MAX;
        let Some(own) = runner.filter(|_| !is_one_part(&self.worlds[&(map, tick)])) else {
            return tick;
        };
        let earlier = self.worlds.range((map, session.runner_tick)..=(map, tick)).rev();
        let was_so =
            |world: &World<Entity>| world.owned::<Runner>(me).is_some_and(|(_, then)| then == own);
        let same = earlier.skip_while(|(_, world)| !was_so(world));
        let first = same.take_while(|(_, world)| was_so(world)).last();
        first.map_or(session.runner_tick, |((_, tick), _)| *tick)
    }

    /// Where the server executed what was asked for, it says what was predicted.
    fn check_prediction(&mut self, session: &mut Session, me: PlayerId, snapshot: &World<Entity>) {
        let tick = snapshot.tick().0;
        let own = snapshot.owned::<Runner>(me);
        let (Some((_, runner)), Some((base, predicted))) = (own, session.predicted.remove(&tick))
        else {
            return;
        };
        let earlier = self.worlds.get(&(session.map, base));
        let earlier = earlier.and_then(|world| world.owned::<Runner>(me));
        let executed =
            earlier.and_then(|(_, earlier)| runner.executed.checked_sub(earlier.executed));
        if base < tick && executed == Some(tick - base) {
            assert_eq!(*runner, predicted, "predicted for {tick} from {base}");
            self.counts.predictions += 1;
        }
    }

    fn check_effect(
        &mut self,
        options: &Options,
        session: &mut Session,
        me: PlayerId,
        effect: Effect<super::arena::Word>,
    ) {
        match effect {
            Effect::Started { key, event, is_predicted } => {
                assert_eq!((event.tick, event.about), (key.tick.0, Some(key.entity)));
                assert!(event.kind != WHISPER || event.to == me.0, "a whisper to another");
                let again = session.started.insert(key, event.kind);
                assert_eq!(again, None, "{key:?} was played before");
                let to_those_who_see = matches!(event.kind, THROW | SPLASH);
                if to_those_who_see && !is_predicted && options.is_ample {
                    let from = (session.map, key.tick.0.saturating_sub(30));
                    let mut lately = self.worlds.range(from..=(session.map, key.tick.0));
                    let saw = lately.any(|(_, world)| {
                        world.contains(key.entity) && view_of(world, me).contains(key.entity.slot())
                    });
                    assert!(saw, "{event:?} is not for {me:?}");
                }
                self.counts.events += 1;
                // What happens to who is gone at once.
                self.counts.farewells += u64::from(event.kind == SPLASH && !is_predicted);
            }
            Effect::Cancelled { key } => {
                assert!(session.started.remove(&key).is_some(), "{key:?} was never played");
            }
        }
    }

    /// After some quiet everyone is here, in time, and has it all. Gives whether somebody joined too late to have a
    /// snapshot yet.
    pub(crate) fn check_end(
        &mut self,
        now: Time,
        server: &Server<Arena>,
        guests: &[Guest],
        options: &Options,
    ) -> bool {
        // One whose ticket was taken and whose answer was damaged knocks again after four seconds.
        let is_in = |guest: &&Guest| guest.client.as_ref().is_some_and(|c| c.me().is_some());
        let guests: Vec<&Guest> = guests.iter().filter(is_in).collect();
        assert!(server.players().count() >= guests.len() && !guests.is_empty(), "all are back");
        assert_eq!(server.malformed(), 0);
        let whole = Options { is_ample: true, ..options.clone() };
        let length = options.rates.tick_length;
        let mut is_somebody_late = false;
        for guest in guests {
            let (client, session) = (guest.client.as_ref(), &self.sessions[&guest.identity]);
            let client = client.expect("only those who are in");
            let (me, snapshot) = client.me().zip(client.snapshot()).expect("it plays");
            let behind = length * u64::from(server.world().tick().0 - snapshot.tick().0);
            let age = now - session.began;
            let delay = options.conditions.delay;
            if !has_snapshot(delay, age, behind - (delay - ONE_WAY_USUAL)) {
                is_somebody_late = true;
                continue;
            }
            let (_, runner) = server.world().owned::<Runner>(me).expect("its runner is there");
            let second = (Span::seconds(1).as_micros() / length.as_micros()) as u32;
            let earlier = &self.worlds[&(self.map, server.world().tick().0 - second)];
            // A handshake that had to be repeated may have let us in only just now.
            let Some((_, before)) = earlier.owned::<Runner>(me) else { continue };
            let guessed = runner.guessed - before.guessed;
            // The second that is judged must lie within the session.
            let is_settled = age > Span::seconds(1);
            assert!(
                guessed <= GUESSED_MAX || !is_settled,
                "{guessed} commands were late in the last second, {age} after the session began"
            );
            // Those of the last second may be predicted yet.
            let is_told = |key: &EventKey| key.tick <= earlier.tick();
            let whispers = session.started.iter().filter(|(key, _)| is_told(key));
            let whispers = whispers.filter(|(_, kind)| **kind == WHISPER).count();
            if session.heard_all == Some(true) {
                assert_eq!(whispers as u32, before.whispers, "reliable means all of them");
            }
            for (id, _) in snapshot.all::<Runner>() {
                let banner =
                    session.started.iter().find(|(key, kind)| key.entity == id && **kind == BANNER);
                assert!(banner.is_some(), "the banner of {id:?} was saved for {me:?}");
            }
            let (map, snapshot) = (session.map, snapshot.clone());
            assert_eq!(map, self.map, "everyone plays the same");
            // By now a part about every chunk has come.
            let mut received = (0..ENTITY_SLOTS_MAX / CHUNK_SLOTS).collect();
            self.check_snapshot(&whole, map, me, &snapshot, &mut received);
        }
        is_somebody_late
    }
}

/// At the end of a run no client's newest snapshot is older than this.
pub(crate) const BEHIND_MAX: Span = Span::millis(300);
/// Over links of up to so much one way; what a link takes longer, a snapshot may be older.
const ONE_WAY_USUAL: Span = Span::millis(100);

/// Whether a client has a recent snapshot; panics if it has none and should. A client whose handshake was repeated may
/// have joined moments before the end, and its first snapshot is still in flight.
fn has_snapshot(one_way: Span, session_age: Span, behind: Span) -> bool {
    let is_recent = behind < BEHIND_MAX;
    let is_due = session_age > one_way + BEHIND_MAX;
    assert!(is_recent || !is_due, "{behind} behind, {session_age} after the session began");
    is_recent
}

/// What the server had for a player at a tick.
struct View<'a, F> {
    layouts: &'a Layouts,
    world: &'a World<Entity>,
    me: PlayerId,
    is_ample: bool,
    /// Whether a crate ever had a colour.
    was: F,
}

impl<F: Fn(EntityId, u8) -> bool> View<'_, F> {
    /// Whether the server could have told this of a chunk of slots at its tick: of everyone in sight, as
    /// it was then, or as it had been if it is not told of each time; `past` is newest first. If so, gives
    /// whether all are as they were then.
    fn explains<'w>(
        &self,
        past: impl Iterator<Item = &'w World<Entity>> + Clone,
        (snapshot, seen): (&World<Entity>, &[(EntityId, &Entity)]),
        allowed: u32,
    ) -> Option<bool> {
        let Self { layouts, world, me, is_ample, ref was } = *self;
        let (mut count, mut is_exact) = (0, true);
        for (id, entity) in seen.iter().copied() {
            let is_own = world.owner(id) == Some(me);
            let is_allowed = allowed >> (id.slot() % CHUNK_SLOTS) & 1 != 0;
            if !is_allowed || (snapshot.owner(id) == Some(me)) != is_own {
                return None;
            }
            let precision = if is_own { Precision::State } else { Precision::Shown };
            let seen = record(layouts, precision, id, entity);
            let is_at = |world: &World<Entity>| {
                let entity = world.entity(id);
                entity.is_some_and(|entity| record(layouts, precision, id, entity) == seen)
            };
            let may_be_old = !is_own && (!is_ample || Arena::update_every(world, me)(id) > 1);
            let is_now = is_at(world);
            let was_so = || match entity {
                Entity::Crate(painted) => was(id, painted.colour),
                _ => past.clone().any(is_at),
            };
            if !(is_now || may_be_old && was_so()) {
                return None;
            }
            (count, is_exact) = (count + 1, is_exact && is_now);
        }
        let is_complete = count == allowed.count_ones();
        (is_complete || !is_ample).then_some(is_exact && is_complete)
    }
}

/// The most that a view can take on the wire.
fn bits_max(layouts: &Layouts, world: &World<Entity>, me: PlayerId) -> usize {
    const HEAD_BITS_MAX: usize = 160;
    const CHUNK_HEAD_BITS_MAX: usize = 133;
    const NAME_BITS: usize = 28;
    let visible = view_of(world, me);
    let chunks = world.entities().map(|(id, _)| id.slot() / CHUNK_SLOTS + 1).max().unwrap_or(0);
    let seen = world.entities().filter(|(id, _)| visible.contains(id.slot()));
    let entity = |(_, entity): (EntityId, &Entity)| {
        let words = layouts.state[usize::from(entity.kind())].words();
        NAME_BITS + words.iter().map(|word| 1 + word.bits as usize).sum::<usize>()
    };
    HEAD_BITS_MAX + chunks * CHUNK_HEAD_BITS_MAX + seen.map(entity).sum::<usize>()
}

/// The slots that a player may know of.
fn view_of(world: &World<Entity>, viewer: PlayerId) -> Slots {
    let mut visible = Slots::default();
    Arena::relevant(world, &Map::default(), viewer, &mut visible);
    visible
}

fn record(layouts: &Layouts, precision: Precision, id: EntityId, entity: &Entity) -> Vec<u32> {
    let (mut table, layouts) = (Table::default(), layouts.at(precision));
    // In the first slot: a table is as long as its last.
    let id = EntityId::new(0, id.generation()).expect("the first slot is lawful");
    entity.clone().gather(layouts, Head { id, kind: entity.kind() }, &mut table);
    table.record(id.slot(), &layouts[usize::from(entity.kind())]).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::arena::Stone;
    use super::*;

    #[test]
    fn a_client_that_joined_moments_before_the_end_may_have_no_snapshot() {
        let [one_way, run] = [Span::millis(100), Span::seconds(20)];
        assert!(!has_snapshot(one_way, Span::millis(400), run));
        assert!(has_snapshot(one_way, Span::millis(400), Span::millis(299)));
        // Its client joined 16 ms before the end: too late for a snapshot, which comes when the run goes on.
        super::super::simulation::run(
            &Options::narrow(10_775_061_397_595, 20),
            &sametick_seeds::Script::all(),
        );
    }

    #[test]
    #[should_panic(expected = "behind")]
    fn a_client_that_joined_half_a_second_before_the_end_has_a_snapshot() {
        has_snapshot(Span::millis(100), Span::millis(500), Span::seconds(20));
    }

    /// Seed 90,006,295: the part about our runner was lost, and since the one before it the server had guessed a
    /// command.
    #[test]
    fn a_client_predicts_from_the_runner_that_it_has_when_a_newer_one_was_lost() {
        let runner = |executed| Runner { executed, ..Runner::default() };
        let mut ledger = Ledger::default();
        for (tick, executed) in [(1, 6), (2, 7), (3, 8), (4, 8), (5, 9)] {
            let mut world = world();
            *world.owned_mut::<Runner>(ME).expect("it is there").1 = runner(executed);
            ledger.worlds.insert((0, tick), world);
        }
        let mut session = Session::default();
        // Of each snapshot: its tick, what is executed of the runner in it, and the tick that this runner is of.
        for (tick, executed, of) in
            [(2, 7, 2), (3, 7, 2), (4, 7, 2), (4, 8, 3), (5, 8, 3), (5, 9, 5)]
        {
            session.runner_tick = ledger.runner_tick(&session, ME, tick, Some(&runner(executed)));
            assert_eq!(session.runner_tick, of, "{executed} executed in the snapshot of {tick}");
        }
        super::super::simulation::run(
            &Options::expand(90_006_295, 20),
            &sametick_seeds::Script::all(),
        );
    }

    const ME: PlayerId = PlayerId(2);
    /// Two parts at least, four chunks.
    const STONES: usize = 100;

    /// What the server had: a runner of ours in the first chunk, and stones around it.
    fn world() -> World<Entity> {
        let mut world = World::default();
        world.spawn_owned(ME, Runner::default());
        (0..STONES).for_each(|_| _ = world.spawn(Stone::default()));
        world
    }

    /// The world without the entities of some chunks.
    fn without(world: &World<Entity>, is_gone: impl Fn(usize) -> bool) -> World<Entity> {
        let mut rest = world.clone();
        for (id, _) in world.entities().filter(|(id, _)| is_gone(id.slot() / CHUNK_SLOTS)) {
            rest.despawn(id);
        }
        rest
    }

    /// Shows snapshots to one session, one after the other.
    fn check(snapshots: &[World<Entity>]) {
        let mut ledger = Ledger::default();
        ledger.worlds.insert((0, 0), world());
        let (options, mut received) = (Options::expand(5_000_171, 20), BTreeSet::new());
        assert!(options.is_ample);
        for snapshot in snapshots {
            ledger.check_snapshot(&options, 0, ME, snapshot, &mut received);
        }
    }

    #[test]
    fn a_new_session_may_receive_the_last_part_of_its_first_snapshot_first() {
        let world = world();
        check(&[without(&world, |chunk| chunk < 3), without(&world, |chunk| chunk == 1), world]);
    }

    #[test]
    #[should_panic(expected = "chunk 0 at 0 is no view of PlayerId(2)")]
    fn a_chunk_that_was_received_never_vanishes() {
        let world = world();
        check(&[world.clone(), without(&world, |chunk| chunk == 0)]);
    }

    #[test]
    #[should_panic(expected = "chunk 0 at 0 is no view of PlayerId(2)")]
    fn a_chunk_of_a_new_session_comes_whole_or_not_at_all() {
        let world = world();
        let half = world.entities().map(|(id, _)| id).filter(|id| id.slot() < 10);
        let mut snapshot = world.clone();
        half.collect::<Vec<_>>().into_iter().for_each(|id| _ = snapshot.despawn(id));
        check(&[snapshot]);
    }
}
