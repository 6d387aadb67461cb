//! What machines believe of whom: strangers nothing, players no number or tick that would hold all of them up.

use super::player::{ANYONE, Happening, Identity, Lockstep, Role};
use super::roster::{Age, Member, Roster};
use super::transfer::Outgoing;
use super::words::{Play, Word};
use super::{KEPT_TICKS, MEMBERS_MAX, Setup};
use crate::core::peer::Peer;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::sim::world::World;
use crate::{Fields, Game, Networked, NoEvent, Turn};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Score {
    points: u16,
}

impl Networked for Score {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("points", &mut self.points, 16);
    }
}

crate::entities! { pub(crate) enum Entity { Score } }

struct Counting;

impl Game for Counting {
    type Entity = Entity;
    type Command = Score;
    type Event = NoEvent;
    type Content = ();

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Score::default());
        }
        for (player, wish) in turn.commands() {
            if let Some((_, score)) = world.owned_mut::<Score>(player) {
                score.points = score.points.wrapping_add(wish.points);
            }
        }
    }
}

/// Machines whose words arrive at once; one that is none any more hears and says nothing.
struct Table {
    now: Time,
    machines: Vec<Option<Lockstep<Counting>>>,
}

const STRANGER: (u64, Peer) = (99, Peer::new([99; 16], 1));

fn seat(index: usize) -> (u64, Peer) {
    (index as u64 + 1, Peer::new([index as u8 + 1; 16], 1))
}

impl Table {
    fn new(setup: Setup, count: usize) -> Self {
        let mut table = Self { now: Time::from_seconds(1), machines: Vec::new() };
        let setup = Setup { players: count as u8, ..setup };
        let (session, at) = seat(0);
        let me = Identity { session, name: session };
        table.machines.push(Some(Lockstep::found(setup, me, at, ((), 1), table.now)));
        (1..count).for_each(|_| table.join(Role::Plays));
        table
    }

    /// Somebody asks the first to be let in.
    fn join(&mut self, role: Role) {
        let (session, _) = seat(self.machines.len());
        let me = Identity { session, name: session };
        let machine = Lockstep::join(seat(0).1, me, ((), 1), role, self.now);
        self.machines.push(Some(machine));
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            for index in 0..self.machines.len() {
                let Some(machine) = &mut self.machines[index] else { continue };
                machine.command(Score { points: 1 });
                machine.advance(self.now);
                let mut words = Vec::new();
                words.extend(std::iter::from_fn(|| machine.transmit()));
                for ((_, at), word) in words {
                    let to = (0..self.machines.len()).find(|other| seat(*other).1 == at);
                    if let Some(Some(to)) = to.map(|to| &mut self.machines[to]) {
                        to.receive(self.now, seat(index), &word);
                    }
                }
            }
            self.now += Span::millis(4);
        }
    }

    fn machine(&mut self, index: usize) -> &mut Lockstep<Counting> {
        self.machines[index].as_mut().expect("it is there")
    }

    fn roster(&mut self, index: usize) -> &mut Roster {
        self.machine(index).roster.as_mut().expect("it is in")
    }

    fn tick(&mut self, index: usize) -> u32 {
        self.machine(index).executed().0
    }

    fn play(roster: &Roster, executed: Tick) -> Play<Score> {
        Play {
            epoch: roster.epoch,
            version: roster.version as u8,
            executed: Some(executed),
            held: executed,
            leaves: false,
            last: executed,
            is_halted: false,
            roster: Some(roster.clone()),
            timing: None,
            hash: None,
            margin: None,
            needs: None,
            vector: Vec::new(),
            streams: Vec::new(),
        }
    }

    /// Somebody says of a roster that it counts.
    fn say(&mut self, from: (u64, Peer), to: usize, roster: &Roster) {
        let (now, executed) = (self.now, Tick(self.tick(to)));
        let play = Self::play(roster, executed);
        let call = |is_promise| {
            let play = Box::new(play.clone());
            Word::Call { is_promise, leaves: false, play }
        };
        let words = [Word::Play(Box::new(play.clone())), call(false), call(true)];
        for word in words {
            let machine = self.machine(to);
            let message = word.write(&machine.layout);
            machine.receive(now, from, &message);
        }
    }

    /// Commands of a machine that it has not given yet.
    fn far(&mut self, of: usize) -> (u8, Tick, Vec<Score>) {
        let (seat, _) = seat(of);
        let machine = self.machine(of);
        let newest = machine.streams.newest(seat as u16 - 1).unwrap_or(machine.executed());
        (seat as u8 - 1, Tick(newest.0.saturating_sub(8)), vec![Score { points: 500 }; 32])
    }

    /// What a machine has of everyone's commands.
    fn newest(&mut self, index: usize) -> Vec<Option<Tick>> {
        (0..4).map(|seat| self.machine(index).streams.newest(seat)).collect()
    }

    /// Somebody says that these are commands that count.
    fn stream(&mut self, from: (u64, Peer), to: usize, streams: Vec<(u8, Tick, Vec<Score>)>) {
        let (now, executed, roster) = (self.now, Tick(self.tick(to)), self.roster(to).clone());
        let play = Play { roster: None, streams, ..Self::play(&roster, executed) };
        let machine = self.machine(to);
        let message = Word::Play(Box::new(play)).write(&machine.layout);
        machine.receive(now, from, &message);
    }

    /// Somebody says that it leads, and has for a while.
    fn notice(&mut self, from: (u64, Peer), to: usize) {
        let (now, mut age) = (self.now, self.roster(to).age());
        age.epoch += 16;
        let machine = self.machine(to);
        let word = Word::<Score>::Notice { age, leader: from.0, at: from.1 };
        machine.receive(now, from, &word.write(&machine.layout));
    }

    /// All who are here play one game, and it goes on.
    fn check_plays_on(&mut self, what: &str) {
        let here: Vec<usize> =
            (0..self.machines.len()).filter(|index| self.machines[*index].is_some()).collect();
        let before: Vec<u32> = here.iter().map(|index| self.tick(*index)).collect();
        self.run(Span::seconds(2));
        for (index, before) in here.iter().zip(before) {
            let after = self.tick(*index);
            assert!(after > before + 60, "{what}: machine {index} from {before} to {after}");
        }
        let ages: Vec<_> = here.iter().map(|index| self.roster(*index).age()).collect();
        assert!(ages.iter().all(|age| *age == ages[0]), "{what}: {ages:?}");
    }
}

#[test]
fn a_roster_from_a_stranger_is_not_believed() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 3);
        table.run(Span::seconds(2));
        for index in 0..3 {
            let known = table.roster(index).clone();
            let mut forged = known.clone();
            forged.count_up();
            forged.members.retain(|member| member.seat != 1);
            forged.members.iter_mut().for_each(|member| member.identity ^= 64);
            table.say(STRANGER, index, &forged);
            forged.epoch += 16;
            table.say(STRANGER, index, &forged);
            assert_eq!(*table.roster(index), known, "{name}: machine {index} believed a stranger");
        }
        table.check_plays_on(name);
    }
}

#[test]
fn who_asks_for_the_word_of_all_takes_no_roster_from_a_stranger() {
    let mut table = Table::new(Setup::DOOM_1993, 3);
    table.run(Span::seconds(2));
    table.machines[0] = None;
    // The second calls, and the third is gone as well: nobody answers.
    table.machines[2] = None;
    table.run(Span::seconds(4));
    let known = table.roster(1).clone();
    let mut forged = known.clone();
    forged.epoch = forged.epoch.wrapping_add(16);
    // A promise of the same epoch as the call, whatever that is.
    for epoch in 0..64 {
        forged.version = known.version.wrapping_add(1);
        table.say(STRANGER, 1, &Roster { epoch, ..forged.clone() });
    }
    assert_eq!(*table.roster(1), known);
}

#[test]
fn who_knocks_enters_no_game_but_the_one_it_asked_to_be_let_into() {
    let mut table = Table::new(Setup::DOOM_1993, 2);
    table.run(Span::seconds(2));
    let mut forged = table.roster(0).clone();
    table.machines[0] = None;
    table.join(Role::Plays);
    table.run(Span::millis(20));
    let (identity, at) = seat(2);
    forged.admit((identity, identity), at, true, Tick(0));
    forged.count_up();
    table.say(STRANGER, 2, &forged);
    assert!(table.machine(2).roster.is_none());
    assert!(table.machine(2).incoming.is_empty());
}

#[test]
fn a_far_tick_makes_nobody_look_far_or_keep_much() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 2);
        table.run(Span::seconds(2));
        let mut forged = table.roster(1).clone();
        forged.count_up();
        // Nobody plays until a day that never comes: all ticks before it are known, there is nothing to them.
        for member in &mut forged.members {
            member.plays_from = Some(Tick(u32::MAX / 2));
        }
        table.say(seat(0), 1, &forged);
        let executed = Tick(table.tick(1));
        let known = table.machine(1).known_up_to(executed);
        assert!(known.0 <= executed.0 + KEPT_TICKS, "{name}: {known:?}");
        table.run(Span::millis(100));
        assert!(table.tick(1) <= executed.0 + 16 * 26, "{name}: it rushes");
    }
}

#[test]
fn who_is_told_to_have_begun_long_ago_makes_no_commands_for_what_is_past() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 2);
        table.run(Span::seconds(20));
        let executed = table.tick(1);
        assert!(executed > 1000, "{name}: {executed}");
        let machine = table.machine(1);
        // As after a new seat that counts from the first tick on.
        (machine.asked, machine.streams) = (Default::default(), Default::default());
        table.run(Span::millis(8));
        let machine = table.machine(1);
        let own = machine.seat().expect("it is in").seat;
        let kept =
            machine.asked.get(&own).or(machine.streams.stream(own)).expect("it has made some");
        assert!(kept.first().0 > executed.min(machine.executed().0), "{name}: {:?}", kept.first());
    }
}

#[test]
fn a_number_far_ahead_is_overruled_by_who_decides() {
    for (name, setup) in Setup::ALL {
        for ahead in [1, 300, 20_000, 31_000] {
            let mut table = Table::new(setup, 3);
            table.run(Span::seconds(2));
            // One of the players tells the other that the leader is out, under a version far ahead.
            let mut forged = table.roster(2).clone();
            forged.version = forged.version.wrapping_add(ahead);
            forged.members[1].name = 77;
            table.say(seat(1), 2, &forged);
            assert_eq!(table.roster(2).version, forged.version, "{name}: the forgery is taken");
            table.run(Span::seconds(1));
            assert_ne!(table.roster(2).members[1].name, 77, "{name}, {ahead} ahead");
            table.check_plays_on(name);
        }
    }
}

#[test]
fn an_epoch_far_ahead_leaves_room_for_the_next() {
    for (name, setup) in Setup::ALL {
        for ahead in [16, 32_000] {
            let mut table = Table::new(setup, 3);
            table.run(Span::seconds(2));
            for _ in 0..3 {
                let mut forged = table.roster(2).clone();
                forged.epoch = forged.epoch.wrapping_add(ahead);
                forged.count_up();
                (1..3).for_each(|index| table.say(seat(3 - index), index, &forged));
                table.run(Span::seconds(4));
            }
            table.machines[0] = None;
            table.run(Span::seconds(6));
            table.check_plays_on(&format!("{name}, {ahead} ahead"));
        }
    }
}

#[test]
fn a_game_does_not_run_out_of_epochs_and_versions() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 3);
        table.run(Span::seconds(2));
        for index in 0..3 {
            let roster = table.roster(index);
            (roster.epoch, roster.version) = (u16::MAX - 15, u16::MAX);
            let epoch = roster.epoch;
            table.machine(index).election = Default::default();
            table.machine(index).election.settle(epoch);
        }
        table.join(Role::Plays);
        table.check_plays_on(name);
        table.machines[0] = None;
        table.run(Span::seconds(5));
        table.check_plays_on(name);
        let age = table.roster(1).age();
        assert!(age.epoch < 16 && age.version < 100, "{name}: {age:?}");
        assert_eq!(table.machine(1).players().len(), 3, "{name}");
    }
}

#[test]
fn a_world_is_taken_only_from_who_was_asked_for_it() {
    let mut table = Table::new(Setup::DOOM_1993, 2);
    table.run(Span::seconds(2));
    table.join(Role::Plays);
    // It is in, and the world has not come.
    let mut roster = table.roster(0).clone();
    let (identity, at) = seat(2);
    roster.admit((identity, identity), at, true, Tick(60));
    roster.count_up();
    let now = table.now;
    table.machine(2).advance(now);
    table.say(seat(0), 2, &roster);
    assert!(table.machine(2).roster.is_some() && table.machine(2).worlds.is_none());
    let mut world = World::<Entity>::default();
    world.set_tick(Tick(60));
    let bytes = world.save(&table.machine(2).layouts);
    let mut hand = |from: (u64, Peer)| {
        let mut outgoing = Outgoing::new(1, bytes.clone(), now);
        while let Some((index, count, bytes)) = outgoing.next(now, Span::seconds(1)) {
            let word = Word::<Score>::Piece { id: 1, index, count, bytes: bytes.to_vec() };
            let machine = table.machine(2);
            let message = word.write(&machine.layout);
            machine.receive(now, from, &message);
        }
        (table.machine(2).incoming.len(), table.machine(2).worlds.is_some())
    };
    assert_eq!(hand(seat(1)), (0, false), "another player is not who was asked");
    assert_eq!(hand(STRANGER), (0, false), "nor is a stranger");
    assert_eq!(hand(seat(0)), (0, true), "the one who leads is");
}

#[test]
fn those_who_come_and_go_leave_nothing_behind() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 2);
        table.run(Span::seconds(2));
        for _ in 0..20 {
            table.join(Role::Plays);
            table.run(Span::seconds(1));
            let (now, last) = (table.now, table.machines.len() - 1);
            assert!(table.machine(last).me().is_some(), "{name}: it is in");
            table.machine(last).close(now);
            table.run(Span::seconds(1));
            table.machines[last] = None;
            table.run(Span::seconds(9));
        }
        for index in 0..2 {
            let machine = table.machine(index);
            let kept = [
                machine.asked.len(),
                machine.repeated.len(),
                machine.incoming.len(),
                machine.outgoing.len(),
                machine.contacts.len(),
                machine.needs.len(),
            ];
            assert!(kept.iter().all(|kept| *kept <= MEMBERS_MAX), "{name}: {kept:?}");
        }
    }
}

#[test]
fn no_seat_is_given_twice_whoever_is_forgotten() {
    let mut table = Table::new(Setup::DOOM_1993, 2);
    let roster = table.roster(0);
    let come = |roster: &mut Roster, identity: u64, enters: u32| {
        assert!(roster.admit((identity, identity), seat(1).1, true, Tick(enters)));
        roster.members.last().map(|member| member.seat).expect("it is in")
    };
    let first = come(roster, 50, 0);
    roster.take_out(|member| member.identity == 50);
    assert!(roster.member(50).is_none());
    let second = come(roster, 50, 0);
    roster.forget_gone();
    assert_eq!(roster.members.len(), 2, "who went before the beginning leaves one row at most");
    let last = roster.members.last_mut().expect("it is in");
    last.leaves_at = Some(Tick(1));
    roster.forget_before(Tick(9_000));
    let third = come(roster, 51, 9_000);
    assert!(first < second && second < third, "{first} {second} {third}");
}

#[test]
fn nothing_that_a_watcher_says_of_who_plays_leads_or_asks_counts() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 3);
        table.join(Role::Watches);
        table.run(Span::seconds(2));
        assert!(table.machine(3).me().is_some(), "{name}: it watches");
        for index in 0..3 {
            let known = table.roster(index).clone();
            let mut forged = known.clone();
            forged.count_up();
            forged.members.retain(|member| member.seat != 1);
            table.say(seat(3), index, &forged);
            forged.epoch += 16;
            table.say(seat(3), index, &forged);
            table.notice(seat(3), index);
            let streams: Vec<_> = (0..3).filter(|i| *i != index).map(|i| table.far(i)).collect();
            let before = table.newest(index);
            table.stream(seat(3), index, streams);
            assert_eq!(*table.roster(index), known, "{name}: machine {index} believed it");
            assert_eq!(table.newest(index), before, "{name}: machine {index} took commands");
        }
        table.check_plays_on(name);
        let events: Vec<_> = (0..3).flat_map(|i| table.machine(i).take_events()).collect();
        let went = |event: &Happening| {
            matches!(event, Happening::LeftBehind | Happening::Halted | Happening::Went(..))
        };
        assert!(!events.iter().any(went), "{name}: {events:?}");
        assert_eq!(table.machine(0).epoch(), Some(0), "{name}: nobody was elected");
    }
}

#[test]
fn who_leads_and_is_heard_or_hears_of_it_from_one_who_went_stays() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 4);
        table.run(Span::seconds(2));
        let now = table.now;
        table.machine(3).close(now);
        table.run(Span::seconds(1));
        // A player says to the one who leads that another does; one who is gone says it to all.
        table.notice(seat(1), 0);
        (0..3).for_each(|index| table.notice(seat(3), index));
        table.machines[3] = None;
        table.check_plays_on(name);
        let events: Vec<_> = (0..3).flat_map(|i| table.machine(i).take_events()).collect();
        assert!(!events.contains(&Happening::LeftBehind), "{name}: {events:?}");
    }
}

#[test]
fn commands_are_taken_from_who_gave_them_unless_one_asked_for_what_is_missing() {
    let mut table = Table::new(Setup::DOOM_1993, 3);
    table.run(Span::seconds(2));
    let (before, streams) = (table.newest(0), vec![table.far(2)]);
    table.stream(seat(1), 0, streams.clone());
    assert_eq!(table.newest(0), before, "another's commands are not its to give");
    let now = table.now;
    table.machine(0).asked_all_at = Some(now);
    table.stream(seat(1), 0, streams);
    assert_ne!(table.newest(0), before, "what is missing is handed on");
}

#[test]
fn a_late_message_of_a_joiner_does_not_take_it_out_again() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 2);
        table.run(Span::seconds(2));
        // It was sent before the joiner had the world, and was overtaken.
        let (now, roster) = (table.now, table.roster(0).clone());
        let late = Play { executed: None, roster: None, ..Table::play(&roster, Tick(0)) };
        let machine = table.machine(0);
        let message = Word::Play(Box::new(late)).write(&machine.layout);
        machine.receive(now, seat(1), &message);
        table.check_plays_on(name);
        assert_eq!(table.roster(0).here().count(), 2, "{name}");
        assert_eq!(table.machine(0).epoch(), Some(0), "{name}: nobody was elected");
    }
}

#[test]
fn a_leader_refuses_a_rival_however_often_it_calls_and_asks_everyone_anew() {
    let mut table = Table::new(Setup::FRAME_LOCKED, 3);
    table.run(Span::seconds(2));
    let (now, known) = (table.now, table.roster(0).clone());
    let call = Play { epoch: 18, ..Table::play(&known, Tick(table.tick(2))) };
    let word = Word::Call { is_promise: false, leaves: false, play: Box::new(call) };
    for _ in 0..3 {
        let machine = table.machine(0);
        let message = word.write(&machine.layout);
        machine.receive(now, seat(2), &message);
        assert!(!machine.election.is_open(), "it gave its word to the rival");
    }
    table.check_plays_on("after the calls");
    assert!(table.machine(0).is_leader() && table.roster(0).epoch > 18, "it leads above the rival");
}

#[test]
fn a_machine_that_promised_steps_nothing_that_came_afterwards() {
    let mut table = Table::new(Setup::FRAME_LOCKED, 3);
    table.run(Span::seconds(2));
    let (tick, now) = (table.tick(1), table.now);
    let commands = || vec![Score { points: 1 }; 20];
    let handed = [0, 2].map(|seat| (seat, Tick(tick + 1), commands()));
    let machine = table.machine(1);
    // A candidate has its promise; then it calls itself, and others hand over what they have.
    machine.election.promise(18);
    machine.election.promise(33);
    machine.take_streams(&handed, |_| true);
    let advance = |machine: &mut Lockstep<Counting>| {
        (0..25).for_each(|step| machine.advance(now + Span::millis(step * 4)));
        machine.executed().0
    };
    assert_eq!(advance(machine), tick, "the holder of the promise may have ended a seat");
    let roster = machine.roster.clone().expect("it is in");
    machine.adopt(now, Roster { epoch: 33, ..roster });
    assert!(advance(machine) > tick, "by a roster of that epoch it goes on");
}

#[test]
fn commands_that_nobody_holds_any_more_hold_up_nobody() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 3);
        table.run(Span::seconds(2));
        // A member that left at a tick that has not been stepped, and whose last commands were lost with a leader.
        let end = Tick(table.tick(0) + 40);
        for index in 0..3 {
            let roster = table.roster(index);
            let one = roster.members[0];
            let (seat, identity, name) = (7, 77, 77);
            let (plays_from, leaves_at) = (Some(Tick(1)), Some(end));
            let member = Member { seat, identity, name, plays_from, leaves_at, ..one };
            roster.members.push(member);
        }
        table.machines[0] = None;
        table.run(setup.patience + Span::seconds(3));
        table.check_plays_on(name);
    }
}

#[test]
fn a_door_that_was_named_is_asked_before_another_is_tried() {
    let (mut now, me) = (Time::from_seconds(1), Identity { session: 2, name: 2 });
    let mut machine = Lockstep::<Counting>::join(seat(0).1, me, ((), 1), Role::Plays, now);
    let since = now;
    // Just before the next door would be tried.
    let (named, named_at) = (seat(5), since + Span::millis(2_960));
    let mut asked = Vec::new();
    while now < named_at + Span::millis(900) {
        if now == named_at {
            let word = Word::<Score>::Notice { age: Age::default(), leader: named.0, at: named.1 };
            machine.receive(now, seat(0), &word.write(&machine.layout));
        }
        machine.advance(now);
        let words = std::iter::from_fn(|| machine.transmit());
        asked.extend(words.map(|((_, at), _)| (now, at)));
        now += Span::millis(4);
    }
    let later: Vec<Peer> =
        asked.iter().filter(|(at, _)| *at > named_at).map(|(_, door)| *door).collect();
    assert!(later.len() > 2 && later.iter().all(|door| *door == named.1), "{later:?}");
}

/// Asks for more than fits.
#[derive(Clone, Debug, Default, PartialEq)]
struct Essay {
    words: [[f32; 4]; 8],
}

impl Networked for Essay {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for (name, words) in names.into_iter().zip(&mut self.words) {
            f.exacts(name, words);
        }
    }
}

struct Talking;

impl Game for Talking {
    type Entity = Entity;
    type Command = Essay;
    type Event = NoEvent;
    type Content = ();

    fn step(_: &mut World<Entity>, _: &Turn<'_, Self>) {}
}

#[test]
#[should_panic(expected = "is too large for lockstep")]
fn commands_that_do_not_fit_one_message_are_refused_at_once() {
    let me = Identity { session: ANYONE + 1, name: 1 };
    Lockstep::<Talking>::found(Setup::DOOM_1993, me, seat(0).1, ((), 1), Time::ZERO);
}

#[test]
fn a_leader_that_calls_an_election_still_sends_the_world_to_a_joiner() {
    for (name, setup) in Setup::ALL {
        let mut table = Table::new(setup, 2);
        table.run(Span::seconds(2));
        table.join(Role::Plays);
        // A joiner may be an old elector, whose promise the leader needs, and promises only once it has the world.
        let later = table.roster(0).epoch + 16;
        table.machine(0).election.promise(later);
        table.run(Span::seconds(1));
        assert!(table.machine(2).worlds.is_some(), "{name}");
    }
}

#[test]
fn a_member_that_left_before_its_first_tick_never_joins_the_world() {
    for (name, setup) in Setup::ALL {
        for leaves_before in [0, 20] {
            let mut table = Table::new(setup, 2);
            table.run(Span::seconds(2));
            let first = Tick(table.tick(0) + 40);
            for index in 0..2 {
                let roster = table.roster(index);
                let (seat, identity, name, player) = (7, 77, 77, PlayerId(7));
                let (plays_from, leaves_at) = (Some(first), Some(Tick(first.0 - leaves_before)));
                let one = roster.members[0];
                roster.members.push(Member {
                    seat,
                    identity,
                    name,
                    player,
                    plays_from,
                    leaves_at,
                    ..one
                });
            }
            table.run(Span::seconds(2));
            assert!(table.tick(0) > first.0, "{name}: they play on");
            let events = table.machine(0).take_events();
            let came = Happening::Came(PlayerId(7), first);
            assert!(!events.contains(&came), "{name}, {leaves_before} ticks before: {events:?}");
        }
    }
}
