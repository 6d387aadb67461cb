//! What forty years of netcode got wrong at this layer, a test for each: one server, one client and two
//! queues in virtual time.

use crate::config::rates::Rates;
use crate::replication::client::follow::SnapshotClient;
use crate::replication::server::serve::SnapshotServer;
use crate::{
    EntityId, Fields, Game, Layouts, Networked, NoEvent, PlayerId, Slots, Span, TABLES_MAX, Time,
    Trust, Turn, View, World,
};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug, Default, PartialEq)]
struct Wish {
    aim: f32,
    run: bool,
    jump: bool,
    is_guess: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 10);
        f.bool("run", &mut self.run);
        f.bool("jump", &mut self.jump);
        f.bool("is_guess", &mut self.is_guess);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runner {
    x: f32,
    facing: f32,
    jumps: u16,
    guessed: u16,
}

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x);
        f.angle("facing", &mut self.facing, 10);
        f.bits("jumps", &mut self.jumps, 16);
        f.bits("guessed", &mut self.guessed, 16);
    }
}

/// Something to see: large, so that it shows on the wire when it is sent whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sign {
    words: [[f32; 4]; 4],
}

impl Networked for Sign {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        for (name, words) in ["a", "b", "c", "d"].into_iter().zip(&mut self.words) {
            f.exacts(name, words);
        }
    }
}

crate::entities! { pub(crate) enum Entity { Runner, Sign } }

/// Content: whether the sign is in sight, which a test changes.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    is_hidden: bool,
}

struct Street;

impl Game for Street {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = Stage;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Runner::default());
            world.spawn(Sign { words: [[1.5; 4]; 4] });
        }
        for (player, wish) in turn.commands() {
            let Some((_, runner)) = world.owned_mut::<Runner>(player) else { continue };
            runner.x += if wish.run { 5.0 * turn.dt() } else { 0.0 };
            runner.facing = wish.aim;
            runner.jumps += u16::from(wish.jump);
            runner.guessed += u16::from(wish.is_guess);
        }
    }

    fn repeat(last: &Wish, times: u32) -> Wish {
        Wish { run: last.run && times < 10, jump: false, is_guess: true, ..last.clone() }
    }

    fn trust(decided: &mut Entity, claimed: &Entity) {
        if let (Entity::Runner(decided), Entity::Runner(claimed)) = (decided, claimed) {
            decided.x = claimed.x;
        }
    }

    /// Of a sign whose first word is 9 a client is told once.
    fn update_every(world: &World<Entity>, _viewer: PlayerId) -> impl Fn(EntityId) -> u32 {
        |entity| {
            let is_rare = world.get::<Sign>(entity).is_some_and(|sign| sign.words[0][0] == 9.0);
            if is_rare { u32::MAX } else { 1 }
        }
    }

    fn relevant(world: &World<Entity>, stage: &Stage, _viewer: PlayerId, visible: &mut Slots) {
        let hidden = |entity: &Entity| stage.is_hidden && matches!(entity, Entity::Sign(_));
        let seen = world.entities().filter(|(_, entity)| !hidden(entity));
        seen.for_each(|(id, _)| visible.insert(id.slot()));
    }
}

const ME: PlayerId = PlayerId(0);

struct Pair {
    now: Time,
    delay: Span,
    is_cut: bool,
    server: SnapshotServer<Street>,
    client: SnapshotClient<Street>,
    up: VecDeque<(Time, Vec<u8>)>,
    down: VecDeque<(Time, Vec<u8>)>,
    /// How many ticks were stepped again with each snapshot.
    reruns: Vec<u32>,
    bytes: Vec<usize>,
}

impl Pair {
    fn new(delay: Span, view: View) -> Self {
        let rates =
            Rates { tick_length: Span::millis(20), ticks_per_snapshot: 1, ..Rates::default() };
        Self::with_rates(delay, view, rates)
    }

    fn with_rates(delay: Span, view: View, rates: Rates) -> Self {
        let mut server = SnapshotServer::new(Stage::default(), 1, rates, Time::ZERO);
        let welcome = server.join(ME);
        let client = SnapshotClient::new(&welcome, Stage::default(), view, Time::ZERO).unwrap();
        Self {
            now: Time::ZERO,
            delay,
            is_cut: false,
            server,
            client,
            up: VecDeque::new(),
            down: VecDeque::new(),
            reruns: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            self.now += Span::millis(1);
        }
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some((_, message)) = self.up.pop_front_if(|(at, _)| *at <= now) {
            self.server.read(now, ME, &message).unwrap();
        }
        self.server.advance(now);
        let (down, bytes, at) = (&mut self.down, &mut self.bytes, now + self.delay);
        self.server.write(ME, 1100, 100_000, |_, part| {
            bytes.push(part.len());
            down.push_back((at, part.to_vec()));
        });
        while let Some((_, message)) = self.down.pop_front_if(|(at, _)| *at <= now) {
            self.client.read(now, self.delay, &message).unwrap();
            self.reruns.push(self.client.ticks_ahead());
        }
        self.client.advance(now);
        if let Some(message) = self.client.write(1200).map(<[u8]>::to_vec)
            && !self.is_cut
        {
            self.up.push_back((now + self.delay, message));
        }
    }

    fn runner(&self) -> Runner {
        self.server.world.owned::<Runner>(ME).map(|(_, runner)| runner.clone()).unwrap()
    }

    fn sign(&self) -> (EntityId, Sign) {
        self.server.world.all::<Sign>().next().map(|(id, sign)| (id, sign.clone())).unwrap()
    }
}

#[test]
fn fifty_commands_a_second_and_a_round_trip_of_100_ms_leave_five_to_run_again() {
    let mut pair = Pair::new(Span::millis(50), View::default());
    pair.run(Span::seconds(20));
    pair.reruns.clear();
    pair.run(Span::seconds(5));
    let (least, most) = (pair.reruns.iter().min().unwrap(), pair.reruns.iter().max().unwrap());
    // The sixth is the margin by which commands are early.
    assert!(*least == 5 && *most <= 6, "{least} to {most}");
}

#[test]
fn after_100_ms_more_delay_commands_are_in_time_again_within_a_second() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::seconds(5));
    let before = pair.runner().guessed;
    pair.delay = Span::millis(130);
    pair.run(Span::seconds(1));
    let during = pair.runner().guessed;
    assert!(during > before, "the step was felt");
    pair.reruns.clear();
    pair.run(Span::seconds(5));
    assert_eq!(pair.runner().guessed, during, "and made up for");
    let most = pair.reruns.iter().max().unwrap();
    assert!(*most <= 13 + 9, "made up for once, not for each report of it: {most} ticks ahead");
}

#[test]
fn prediction_goes_no_further_than_its_limit() {
    let view = View { predicts_at_most: Span::millis(60), ..View::default() };
    let mut pair = Pair::new(Span::millis(100), view);
    pair.client.command(Wish { run: true, ..Wish::default() });
    pair.run(Span::seconds(3));
    for _ in 0..200 {
        pair.run(Span::millis(1));
        let x = |world: &World<Entity>| world.owned::<Runner>(ME).unwrap().1.x;
        let ahead = x(pair.client.predicted()) - x(&pair.client.snapshot);
        assert!(ahead <= 3.0 * 0.1 + 1e-3, "{ahead} m ahead with three ticks of 0.1 m allowed");
    }
}

/// So many ticks and at most 20 snapshots a second.
fn at_rate(rate: u32) -> Rates {
    let tick_length = Span::micros(u64::from(1_000_000 / rate));
    Rates { tick_length, ticks_per_snapshot: (rate / 20).max(1), ..Rates::default() }
}

/// How many predictions of a client so far from a server of this rate were compared with what the server came to, and
/// how many of them were exact, once its clock was set.
fn exact_predictions(rate: u32, delay: Span) -> (u32, u32) {
    let mut pair = Pair::with_rates(delay, View::default(), at_rate(rate));
    let runner = |world: &World<Entity>| world.owned::<Runner>(ME).map(|(_, one)| one.clone());
    let (mut predicted, mut compared, mut exact) = (BTreeMap::new(), 0, 0);
    for millis in 0..6_000_u32 {
        let (aim, phase) = ((millis % 6_000) as f32 * 0.001, millis / 70);
        let (run, jump) = (phase % 3 != 0, phase.is_multiple_of(5));
        pair.client.command(Wish { aim, run, jump, is_guess: false });
        pair.run(Span::millis(1));
        let world = pair.client.predicted();
        predicted.insert(world.tick(), runner(world));
        let world = &pair.server.world;
        predicted = predicted.split_off(&world.tick());
        if let Some(guess) = predicted.get(&world.tick()).filter(|_| millis > 3_000) {
            compared += 1;
            exact += u32::from(*guess == runner(world));
        }
    }
    (compared, exact)
}

#[test]
fn a_client_predicts_itself_exactly_at_every_tick_rate_and_round_trip() {
    for rate in [20, 60, 128, 333, 1000] {
        for delay_ms in [5, 80, 150, 300] {
            let delay = Span::millis(delay_ms);
            let (compared, exact) = exact_predictions(rate, delay);
            assert!(compared >= 2_900, "{compared} compared at {rate} Hz, {delay_ms} ms away");
            assert_eq!(exact, compared, "{rate} Hz, {delay_ms} ms away");
        }
    }
}

#[test]
fn a_trusted_client_stands_by_what_it_decided_at_every_tick_rate_and_round_trip() {
    for (rate, delay_ms) in [(20, 300), (60, 80), (1000, 80), (1000, 300)] {
        let rates = Rates { trust: Trust::Clients, ..at_rate(rate) };
        let mut pair = Pair::with_rates(Span::millis(delay_ms), View::default(), rates);
        pair.client.command(Wish { run: true, ..Wish::default() });
        pair.run(Span::seconds(3));
        // The server hears no more of it, and guesses that it stops.
        pair.is_cut = true;
        pair.up.clear();
        let place = |pair: &Pair| {
            let world = pair.client.predicted();
            (world.tick().0, world.owned::<Runner>(ME).unwrap().1.x)
        };
        let (tick, x) = place(&pair);
        pair.run(Span::millis(700));
        let (now, there) = place(&pair);
        let expected = x + (now - tick) as f32 * 5.0 / rate as f32;
        let is_there = (there - expected).abs() < 0.05;
        assert!(is_there, "{there} m, not {expected}, at {rate} Hz, {delay_ms} ms away");
    }
}

#[test]
fn a_press_is_not_repeated_when_commands_stop_coming() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::seconds(2));
    pair.client.command(Wish { run: true, jump: true, ..Wish::default() });
    while pair.runner().jumps == 0 {
        pair.run(Span::millis(1));
    }
    pair.is_cut = true;
    pair.up.clear();
    let (jumps, x) = (pair.runner().jumps, pair.runner().x);
    // What had come ahead of its tick is executed, then guesses begin.
    pair.run(Span::millis(200));
    let after = pair.runner();
    assert!(after.guessed > 0 && after.x > x, "movement is repeated for a while");
    pair.run(Span::seconds(2));
    assert!(
        pair.runner().jumps <= jumps + 3,
        "only presses that had come: {}",
        pair.runner().jumps
    );
    assert!(pair.runner().x < x + 1.6, "and running decays: {} m", pair.runner().x - x);
}

#[test]
fn a_slot_that_was_given_to_another_while_nothing_came_is_the_others() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::seconds(2));
    let (old, _) = pair.sign();
    pair.down.clear();
    pair.server.world.despawn(old);
    let new = pair.server.world.spawn(Runner { x: 7.0, ..Runner::default() }).unwrap();
    assert_eq!((new.slot(), new.generation()), (old.slot(), old.generation() + 1));
    pair.run(Span::millis(200));
    assert!(!pair.client.snapshot.contains(old));
    assert_eq!(pair.client.snapshot.get::<Runner>(new).map(|runner| runner.x), Some(7.0));
}

#[test]
fn who_is_never_told_of_again_is_told_of_once_in_the_slot_of_another_too() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::seconds(2));
    let (old, _) = pair.sign();
    pair.server.world.despawn(old);
    let new = pair.server.world.spawn(Sign { words: [[9.0; 4]; 4] }).unwrap();
    assert_eq!(new.slot(), old.slot());
    pair.run(Span::millis(200));
    let words = |pair: &Pair| pair.client.snapshot.get::<Sign>(new).map(|sign| sign.words[1][1]);
    assert_eq!(words(&pair), Some(9.0));
    pair.server.world.get_mut::<Sign>(new).unwrap().words[1][1] = 3.0;
    pair.run(Span::millis(200));
    assert_eq!(words(&pair), Some(9.0), "and no more of what becomes of it");
    pair.server.set_content(Stage { is_hidden: true });
    pair.run(Span::millis(200));
    pair.server.set_content(Stage { is_hidden: false });
    pair.run(Span::millis(200));
    assert_eq!(words(&pair), Some(3.0), "until it comes into sight again");
}

#[test]
fn who_comes_back_into_sight_unchanged_costs_next_to_nothing() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::seconds(2));
    let (id, sign) = pair.sign();
    let first_sight = *pair.bytes.iter().max().unwrap();
    pair.server.set_content(Stage { is_hidden: true });
    pair.run(Span::seconds(2));
    assert!(!pair.client.snapshot.contains(id));
    pair.bytes.clear();
    pair.server.set_content(Stage { is_hidden: false });
    pair.run(Span::millis(200));
    assert_eq!(pair.client.snapshot.get::<Sign>(id), Some(&sign));
    let back = *pair.bytes.iter().max().unwrap();
    assert!(back + 60 < first_sight, "{back} bytes, {first_sight} at first");
}

#[test]
fn what_may_not_be_sent_is_not_built() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::millis(500));
    pair.now += Span::millis(20);
    pair.server.advance(pair.now);
    let mut numbers = Vec::new();
    pair.server.write(ME, 1100, 10, |number, _| numbers.push(number));
    assert_eq!(numbers, [], "nothing is begun, no number used");
    pair.server.write(ME, 1100, 1000, |number, _| numbers.push(number));
    pair.now += Span::millis(20);
    pair.server.advance(pair.now);
    pair.server.write(ME, 1100, 1000, |number, _| numbers.push(number));
    assert_eq!(numbers[1], numbers[0] + 1);
}

#[test]
fn a_snapshot_that_waited_tells_of_the_present() {
    let mut pair = Pair::new(Span::millis(30), View { snapshot_every: 10, ..View::default() });
    pair.run(Span::seconds(1));
    // One tick after it was due, with slots that were not there then.
    pair.now += Span::millis(20);
    pair.server.advance(pair.now);
    while !pair.server.world.tick().0.is_multiple_of(10) {
        pair.now += Span::millis(20);
        pair.server.advance(pair.now);
    }
    let mut parts = Vec::new();
    pair.server.write(ME, 1100, 10, |_, part| parts.push(part.to_vec()));
    (0..3).for_each(|_| _ = pair.server.world.spawn(Sign::default()));
    pair.now += Span::millis(20);
    pair.server.advance(pair.now);
    pair.server.write(ME, 1100, 1000, |_, part| parts.push(part.to_vec()));
    pair.client.read(pair.now, pair.delay, &parts[0]).unwrap();
    assert_eq!(pair.client.snapshot.tick(), pair.server.world.tick());
    assert_eq!(pair.client.snapshot.all::<Sign>().count(), 4);
}

#[test]
fn an_angle_that_goes_round_is_predicted_as_it_comes() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::seconds(1));
    let mut predicted = VecDeque::new();
    for step in 0..400_u16 {
        let aim = 3.0 + f32::from(step) * 0.001;
        pair.client.command(Wish { aim, ..Wish::default() });
        pair.run(Span::millis(20));
        let facing = |world: &World<Entity>| world.owned::<Runner>(ME).unwrap().1.facing;
        predicted.push_back((pair.client.predicted().tick(), facing(pair.client.predicted())));
        let told = pair.client.snapshot.tick();
        predicted.retain(|(tick, _)| *tick >= told);
        if let Some((_, expected)) = predicted.iter().find(|(tick, _)| *tick == told) {
            assert_eq!(facing(&pair.client.snapshot), *expected, "aiming at {aim}");
        }
    }
}

#[test]
fn a_lost_part_with_our_own_entity_leaves_its_prediction_as_it_was() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    (0..40).for_each(|_| _ = pair.server.world.spawn(Sign::default()));
    pair.client.command(Wish { run: true, ..Wish::default() });
    pair.run(Span::seconds(2));
    let place = |pair: &Pair| {
        let view = pair.client.predicted();
        (view.tick().0, view.owned::<Runner>(ME).unwrap().1.x)
    };
    let (tick, x) = place(&pair);
    for round in 0..20 {
        pair.now += Span::millis(20);
        // Everything changes, so that a snapshot takes several parts, and ours is in the last.
        for (_, sign) in pair.server.world.all_mut::<Sign>() {
            sign.words = [[100.0 + round as f32; 4]; 4];
        }
        pair.server.advance(pair.now);
        let mut parts = Vec::new();
        pair.server.write(ME, 1100, 100_000, |_, part| parts.push(part.to_vec()));
        assert!(parts.len() > 1);
        let lost = usize::from(round % 4 != 0);
        for part in &parts[..parts.len() - lost] {
            pair.client.read(pair.now, pair.delay, part).unwrap();
        }
        pair.client.advance(pair.now);
        let message = pair.client.write(1200).map(<[u8]>::to_vec);
        message.into_iter().for_each(|m| pair.server.read(pair.now, ME, &m).unwrap());
        let now = place(&pair);
        let expected = x + (now.0 - tick) as f32 * 0.1;
        assert!((now.1 - expected).abs() < 1e-2, "{} instead of {expected}, round {round}", now.1);
    }
}

#[test]
fn a_client_keeps_no_more_tables_than_its_server() {
    for delay_ms in [5, 100, 300] {
        let mut pair = Pair::new(Span::millis(delay_ms), View::default());
        pair.run(Span::seconds(5));
        let kept = pair.client.tables_kept();
        assert!(kept <= TABLES_MAX + 1, "{kept} tables, {delay_ms} ms away");
    }
}

#[test]
fn one_who_comes_back_before_the_tick_that_would_have_let_it_in_is_let_in() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    let welcome = pair.server.rejoin(ME);
    pair.client =
        SnapshotClient::new(&welcome, Stage::default(), View::default(), pair.now).unwrap();
    pair.run(Span::millis(200));
    assert!(pair.client.snapshot.owned::<Runner>(ME).is_some());
}

#[test]
fn a_client_that_has_nothing_to_ask_for_any_more_still_says_what_it_has() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    pair.run(Span::millis(500));
    pair.now += Span::millis(20);
    pair.client.advance(pair.now);
    assert!(pair.client.write(0).is_none(), "there was no room for it");
    // The server's time passes ours: what we asked for is over before it was sent.
    let (mut parts, until) = (Vec::new(), pair.now + Span::millis(400));
    while pair.now < until {
        pair.now += Span::millis(20);
        pair.server.advance(pair.now);
        pair.server.write(ME, 1100, 1000, |_, part| parts.push(part.to_vec()));
    }
    parts.iter().for_each(|part| _ = pair.client.read(pair.now, pair.delay, part).unwrap());
    let message = pair.client.write(1200).map(<[u8]>::to_vec).unwrap();
    assert!(pair.server.read(pair.now, ME, &message).is_ok());
}

#[test]
fn what_a_client_knows_of_the_world_can_be_kept_in_bytes() {
    let mut pair = Pair::new(Span::millis(30), View::default());
    let ids = [(); 5].map(|()| pair.server.world.spawn(Sign::default()).unwrap());
    ids[..4].iter().for_each(|id| _ = pair.server.world.despawn(*id));
    pair.run(Span::seconds(1));
    assert!(
        pair.client.snapshot.contains(ids[4]),
        "behind a slot that the client has heard nothing of"
    );
    let layouts = Layouts::of::<Entity>();
    let saved = pair.client.snapshot.save(&layouts);
    let loaded = World::load(&saved, &layouts).expect("what was saved is loaded");
    assert_eq!(pair.client.snapshot.differences(&loaded, &layouts), [""; 0]);
}

#[test]
fn what_is_of_the_game_before_does_nothing_in_the_next() {
    let mut pair = Pair::new(Span::millis(50), View::default());
    pair.client.command(Wish { run: true, ..Wish::default() });
    pair.run(Span::seconds(2));
    let [old_up, old_down] = [&pair.up, &pair.down].map(|queue| queue[0].1.clone());
    let welcomes = pair.server.change(Stage::default(), 2);
    assert!(pair.server.read(pair.now, ME, &old_up).is_ok(), "late, not malformed");
    pair.run(Span::millis(100));
    assert_eq!(pair.runner().x, 0.0, "commands for the game before run nobody here");
    pair.up.clear();
    pair.down.clear();
    let welcome = &welcomes[0].1;
    pair.client =
        SnapshotClient::new(welcome, Stage::default(), View::default(), pair.now).unwrap();
    assert!(matches!(pair.client.read(pair.now, pair.delay, &old_down), Ok(None)));
    assert!(pair.client.snapshot.is_empty());
    pair.run(Span::seconds(1));
    assert_eq!(pair.client.snapshot.len(), 2);
}
