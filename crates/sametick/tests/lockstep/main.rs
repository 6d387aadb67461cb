//! Lockstep games over simulated networks: everyone steps the same worlds, whatever the network does.

mod elections;
mod faults;
mod library;
mod lobby;
mod party;
mod repeats;
#[cfg(feature = "secure")]
mod sealed;
mod slow;
mod strikes;
#[cfg(feature = "secure")]
mod table;
mod wide;

use super::tag::{self, Runner, Tag};
use party::{Party, wander};
use sametick::lockstep::{Desync, Happening, PLAYERS_MAX, Refusal, Role, Setup, WATCHERS_MAX};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::replay::{Recording, Replay};
use sametick::{Span, Tick};

fn line(ping: u64, loss: f64) -> Conditions {
    Conditions {
        delay: Span::micros(ping * 500),
        jitter: Jitter::Uniform { width: Span::millis(ping / 20) },
        loss: Loss::Random { probability: loss },
        keep_order: false,
        ..Conditions::PERFECT
    }
}

fn party(setup: Setup, count: usize, seed: u64, conditions: Conditions) -> Party<Tag> {
    let setup = Setup { players: count as u8, ..setup };
    Party::new(setup, count, ((), wander), seed, conditions)
}

#[test]
fn every_model_keeps_everyone_on_the_same_tick() {
    for (name, setup) in Setup::ALL {
        for count in [2, 4, 8] {
            let mut party = party(setup, count, 5, line(80, 0.05));
            party.run(Span::seconds(10));
            party.check();
            party.check_united(30);
            let tick = party.lockstep(0).world().unwrap().tick().0;
            println!(
                "{name} {count}: tick {tick}, {} compared, {:?}",
                party.compared,
                party.lockstep(1).statistics()
            );
            assert!(tick > 400, "{name} with {count}: tick {tick}");
            assert!(party.compared > 300 * (count as u64 - 1), "{name}: {}", party.compared);
        }
    }
}

fn told(party: &Party<Tag>, index: usize) -> impl Iterator<Item = &Happening> {
    party.machines[index].events.iter().map(|(_, event)| event)
}

fn desync(party: &Party<Tag>, index: usize) -> Option<&Desync> {
    told(party, index).find_map(|event| match event {
        Happening::Desynced(desync) => Some(&**desync),
        _ => None,
    })
}

#[test]
fn one_flipped_bit_is_reported_within_a_second_by_tick_entity_and_field() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 3, 9, line(60, 0.02));
        party.run(Span::seconds(3));
        let player = party.me(2);
        let world = party.lockstep_mut(1).spoil().unwrap();
        let (id, runner) = world.owned_mut::<Runner>(player).unwrap();
        // Not the lowest bit: a few steps round that away, and worlds that agree again before the next hash is
        // compared are no desync.
        runner.x = f32::from_bits(runner.x.to_bits() ^ 1 << 16);
        let tick = world.tick().0;
        party.run(Span::seconds(1));
        let reports: Vec<&Desync> = (0..3).filter_map(|index| desync(&party, index)).collect();
        assert!(reports.len() >= 2, "{name}: {} reports", reports.len());
        for report in &reports {
            // A world whose hash was told before it was spoiled counts as it was then.
            let spoiled = tick + u32::from(tick.is_multiple_of(8));
            assert_eq!(report.tick, Tick(spoiled), "{name}: the first tick that differs");
            assert!(report.is_first, "{name}: they agreed on the tick before");
            let (entity, field) = (format!("{id:?}"), "x: ");
            assert!(
                report.first.contains(&entity) && report.first.contains(field),
                "{}",
                report.first
            );
            assert!(report.first.contains("on the left") && report.first.contains("on the right"));
        }
        for (what, bytes) in reports.iter().flat_map(|report| &report.recordings) {
            let replay = Replay::<Tag>::open(bytes.clone(), ());
            assert!(replay.is_ok(), "{name}: {what} is no recording");
        }
        // Who plays the spoiled machine's match again is told where the machine did not do as the rules say.
        let own = desync(&party, 1).unwrap_or_else(|| panic!("{name}: it was not told"));
        let mut replay = Replay::<Tag>::open(own.recordings[0].1.clone(), ()).unwrap();
        let divergence = replay.verify().unwrap().divergence.expect("the bit is found");
        assert_eq!(divergence.tick, Tick(tick), "{name}");
        let stands = party.lockstep(0).world().unwrap().tick();
        party.run(Span::seconds(1));
        assert_eq!(party.lockstep(0).world().unwrap().tick(), stands, "{name}: it stops");
    }
}

#[test]
fn who_comes_late_is_handed_the_world_and_plays_while_the_others_play_on() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 3, 11, line(60, 0.02));
        party.run(Span::seconds(5));
        (0..3).for_each(|index| party.machines[index].gap = Span::ZERO);
        party.add(Role::Plays);
        party.add(Role::Watches);
        party.run(Span::seconds(5));
        party.check();
        party.check_united(30);
        let players = party.lockstep(0).players();
        assert_eq!(players.len(), 4, "{name}: {players:?}");
        assert!(players.contains(&party.me(3)) && !players.contains(&party.me(4)));
        for index in 0..5 {
            let world = party.lockstep(index).world().unwrap();
            assert_eq!(world.all::<Runner>().count(), 4, "{name}");
        }
        for index in 0..3 {
            let gap = party.machines[index].gap;
            assert!(gap < Span::millis(400), "{name}: the others stood still for {gap}");
        }
    }
}

#[test]
fn who_only_watches_stops_nobody_when_its_world_is_another() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 3, 9, line(60, 0.02));
        party.run(Span::seconds(3));
        party.add(Role::Watches);
        party.run(Span::seconds(3));
        let player = party.me(2);
        let world = party.lockstep_mut(3).spoil().unwrap_or_else(|| panic!("{name}: it watches"));
        world.owned_mut::<Runner>(player).unwrap().1.x += 1.0;
        let before = party.lockstep(0).world().unwrap().tick().0;
        party.run(Span::seconds(3));
        let after = party.lockstep(0).world().unwrap().tick().0;
        assert!(after > before + 150, "{name}: from {before} to {after}");
        for index in 0..3 {
            let halted = told(&party, index)
                .find(|event| matches!(event, Happening::Halted | Happening::Desynced(_)));
            assert_eq!(halted, None, "{name}: player {index} is told");
        }
        let is_told = told(&party, 3).any(|event| *event == Happening::Halted);
        assert!(is_told, "{name}: the watcher knows");
    }
}

#[test]
fn who_only_watches_over_a_slow_line_slows_nobody_down() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 3, 19, line(40, 0.0));
        party.run(Span::seconds(10));
        let delays =
            |party: &Party<Tag>| [0, 1, 2].map(|i| party.lockstep(i).statistics().delay_ticks);
        let (before, stalled) = (delays(&party), party.lockstep(0).statistics().stalled);
        party.add(Role::Watches);
        for other in 0..3 {
            let hosts = [party.machines[3].host, party.machines[other].host];
            party.network.set_conditions(hosts[0], hosts[1], line(500, 0.02));
            party.network.set_conditions(hosts[1], hosts[0], line(500, 0.02));
        }
        party.lockstep_mut(3).set_tick_costs(Span::millis(40));
        party.run(Span::seconds(10));
        let watched = party.lockstep(3).world().map(|world| world.tick().0);
        let tick = party.lockstep(0).world().unwrap().tick().0;
        assert!(watched.is_some_and(|watched| watched + 60 > tick), "{name}: it sees {watched:?}");
        let after = delays(&party);
        let is_as_before = before.iter().zip(after).all(|(before, after)| after <= before + 1);
        assert!(is_as_before, "{name}: a delay of {before:?} ticks, then {after:?}");
        let more = party.lockstep(0).statistics().stalled - stalled;
        assert!(more < Span::millis(100), "{name}: stalled for {more}");
        assert_eq!(party.lockstep(0).pace().tick_takes, setup.tick_length, "{name}");
    }
}

#[test]
fn who_only_watches_needs_a_line_to_the_leader_alone_and_sees_it_evenly() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 4, 23, line(60, 0.02));
        party.run(Span::seconds(2));
        party.add(Role::Watches);
        party.run(Span::seconds(2));
        for other in 1..4 {
            let hosts = [party.machines[4].host, party.machines[other].host];
            party.network.cut_both(hosts[0], hosts[1]);
        }
        party.run(Span::seconds(3));
        party.machines[4].gap = Span::ZERO;
        party.run(Span::seconds(10));
        party.check();
        let gap = party.machines[4].gap;
        // A turn is stepped tick by tick, and a word that is lost comes with the next.
        assert!(gap < Span::millis(250), "{name}: it stood still for {gap}");
        let [tick, watched] = [0, 4].map(|index| party.lockstep(index).world().unwrap().tick().0);
        assert!(tick.abs_diff(watched) < 30, "{name}: {watched} of {tick}");
    }
}

#[test]
fn watchers_take_no_player_s_seat() {
    let mut party = party(Setup::PACKET_SERVER, 2, 20, line(30, 0.0));
    party.run(Span::seconds(1));
    (0..WATCHERS_MAX + 2).for_each(|_| party.add(Role::Watches));
    party.run(Span::seconds(2));
    (2..PLAYERS_MAX).for_each(|_| party.add(Role::Plays));
    party.run(Span::seconds(4));
    party.check();
    assert_eq!(party.lockstep(0).players().len(), PLAYERS_MAX);
    let refused = (2..4 + WATCHERS_MAX)
        .filter(|index| told(&party, *index).any(|e| *e == Happening::Refused(Refusal::Full)));
    assert_eq!(refused.count(), 2, "so many more than there is room for");
}

#[test]
fn what_one_machine_recorded_plays_again_to_the_same_worlds() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 3, 24, line(60, 0.02));
        party.lockstep_mut(1).record(&Recording::new("a test", ""));
        party.run(Span::seconds(2));
        // Also from the middle of a match, and by one who only watches.
        party.add(Role::Watches);
        party.lockstep_mut(3).record(&Recording::new("a test", ""));
        party.run(Span::seconds(3));
        for index in [1, 3] {
            assert!(party.lockstep(index).is_recording(), "{name}");
            let newest = party.lockstep(index).world().unwrap().tick();
            let recorded = party.lockstep_mut(index).finish_recording();
            let mut replay = Replay::<Tag>::open(recorded, ()).unwrap();
            assert_eq!(replay.verify().unwrap().divergence, None, "{name}");
            replay.seek(newest).unwrap();
            assert_eq!(replay.world().tick(), newest, "{name}: up to where it stands");
            assert_eq!(replay.world().all::<Runner>().count(), 3, "{name}");
        }
    }
}

#[test]
fn who_says_goodbye_leaves_on_the_same_tick_everywhere_and_the_others_play_on() {
    for (name, setup) in Setup::ALL {
        for leaver in [2, 0] {
            let mut party = party(setup, 4, 12, line(60, 0.02));
            party.run(Span::seconds(4));
            (0..4).for_each(|index| party.machines[index].gap = Span::ZERO);
            let (player, now) = (party.me(leaver), party.now);
            party.lockstep_mut(leaver).close(now);
            party.run(Span::seconds(4));
            party.check();
            assert!(party.lockstep(leaver).is_over(), "{name}: it is gone");
            let rest: Vec<usize> = (0..4).filter(|index| *index != leaver).collect();
            let went = |index: usize| {
                told(&party, index).find_map(|event| match event {
                    Happening::Went(who, tick) if *who == player => Some(*tick),
                    _ => None,
                })
            };
            let ticks: Vec<_> = rest.iter().map(|index| went(*index)).collect();
            assert!(
                ticks[0].is_some() && ticks.iter().all(|tick| *tick == ticks[0]),
                "{name}: {ticks:?}"
            );
            party.machines[leaver].lockstep = None;
            party.check_united(30);
            for index in rest {
                let gap = party.machines[index].gap;
                assert!(gap < Span::millis(1_200), "{name}, {leaver} leaves: a gap of {gap}");
            }
        }
    }
}

#[test]
fn a_relay_that_dies_is_replaced_within_three_seconds_at_100_ms() {
    let mut longest = Span::ZERO;
    for setup in [Setup::PACKET_SERVER, Setup::FRAME_LOCKED, Setup::DOOM_1993] {
        for seed in 0..20 {
            let count = 3 + seed as usize % 3;
            let mut party = party(setup, count, seed, line(100, 0.02));
            party.run(Span::millis(4_000 + seed * 37));
            let epoch = party.lockstep(1).epoch();
            (0..count).for_each(|index| party.machines[index].gap = Span::ZERO);
            party.kill(0);
            party.run(Span::seconds(5));
            party.check();
            party.check_united(30);
            assert!(party.lockstep(1).epoch() > epoch, "seed {seed}");
            for index in 1..count {
                longest = longest.max(party.machines[index].gap);
                let gap = party.machines[index].gap;
                assert!(gap < Span::seconds(3), "seed {seed}: a gap of {gap}");
                assert_eq!(party.lockstep(index).players().len(), count - 1);
            }
        }
    }
    println!("the longest gap: {longest}");
}

#[test]
fn a_peer_that_dies_holds_nobody_up_for_three_seconds_at_100_ms() {
    for seed in 0..10 {
        let count = 3 + seed as usize % 3;
        let mut party = party(Setup::DOOM_1993, count, seed, line(100, 0.02));
        party.run(Span::millis(4_000 + seed * 37));
        (0..count).for_each(|index| party.machines[index].gap = Span::ZERO);
        party.kill(count - 1);
        party.run(Span::seconds(5));
        party.check();
        for index in 0..count - 1 {
            let gap = party.machines[index].gap;
            assert!(gap < Span::seconds(3), "seed {seed}: a gap of {gap}");
            assert_eq!(party.lockstep(index).players().len(), count - 1);
        }
    }
}

#[test]
fn before_the_beginning_nobody_waits_for_those_who_went() {
    for (name, setup) in Setup::ALL {
        let setup = Setup { players: 3, ..setup };
        for comes_back in [false, true] {
            let mut party = Party::new(setup, 2, ((), wander), 9, line(60, 0.02));
            party.run(Span::seconds(1));
            party.kill(1);
            if comes_back {
                party.revive(1);
            } else {
                party.run(setup.patience + Span::seconds(1));
                party.add(Role::Plays);
            }
            party.add(Role::Plays);
            party.run(Span::seconds(8));
            party.check();
            let begun = party.lockstep(0).world().map(|world| world.tick().0);
            let players = party.lockstep(0).players().len();
            let case = format!("{name}, comes back {comes_back}: {players} players, {begun:?}");
            assert!(players == 3 && begun.is_some_and(|tick| tick > 60), "{case}");
        }
    }
}

#[test]
fn who_was_silent_for_too_long_before_the_beginning_comes_back_as_the_same_and_plays() {
    for (name, setup) in Setup::ALL {
        let setup = Setup { players: 3, ..setup };
        let mut party = Party::new(setup, 2, ((), wander), 9, line(60, 0.02));
        party.run(Span::seconds(1));
        let hosts = [0, 1].map(|index| party.machines[index].host);
        party.network.cut_both(hosts[0], hosts[1]);
        party.run(setup.patience + Span::millis(200));
        party.network.heal_both(hosts[0], hosts[1]);
        party.run(Span::seconds(2));
        assert!(told(&party, 1).any(|event| *event == Happening::LeftBehind), "{name}");
        assert!(party.lockstep(1).me().is_some(), "{name}: it is in again");
        party.add(Role::Plays);
        party.run(Span::seconds(6));
        party.check();
        party.check_united(30);
        assert_eq!(party.lockstep(0).players().len(), 3, "{name}");
    }
}

#[test]
fn who_steps_too_slowly_for_a_while_is_handed_the_world_and_is_back_afterwards() {
    let mut party = party(Setup::PACKET_SERVER, 3, 12, line(60, 0.01));
    party.run(Span::seconds(3));
    // It is called once a second, and steps only some of the ticks of that second.
    party.run_with(Span::seconds(15), |party| {
        let machine = &mut party.machines[2];
        if machine.frozen_until <= party.now {
            machine.frozen_until = party.now + Span::millis(1_000);
        }
    });
    party.run(Span::seconds(8));
    party.check();
    party.check_united(30);
    assert_eq!(party.lockstep(0).players().len(), 3);
    assert!(told(&party, 2).any(|event| *event == Happening::LeftBehind));
}

#[test]
fn who_only_watches_over_a_slow_line_is_not_thrown_out_when_another_leads() {
    for (name, setup) in [("relay", Setup::PACKET_SERVER), ("peers", Setup::DOOM_1993)] {
        let mut party = party(setup, 3, 19, line(20, 0.0));
        party.add(Role::Watches);
        for other in 0..3 {
            let hosts = [party.machines[3].host, party.machines[other].host];
            party.network.set_conditions(hosts[0], hosts[1], line(300, 0.0));
            party.network.set_conditions(hosts[1], hosts[0], line(300, 0.0));
        }
        party.run(Span::seconds(8));
        party.kill(0);
        party.run(Span::seconds(6));
        party.check();
        party.check_united(60);
        assert!(told(&party, 3).all(|event| *event != Happening::LeftBehind), "{name}");
    }
}

#[test]
fn who_takes_over_a_relay_while_catching_up_keeps_the_pace() {
    for (seed, setup) in [Setup::PACKET_SERVER, Setup::FRAME_LOCKED].into_iter().enumerate() {
        let mut party = party(setup, 3, 17 + seed as u64, line(60, 0.0));
        party.run(Span::seconds(3));
        // The heirs stand still for a moment, and have much to catch up when the relay dies.
        (1..3).for_each(|heir| party.machines[heir].frozen_until = party.now + Span::millis(400));
        party.run(Span::millis(420));
        party.kill(0);
        party.run(Span::seconds(4));
        let before = party.lockstep(1).world().unwrap().tick().0;
        party.run(Span::seconds(10));
        let ticks = party.lockstep(1).world().unwrap().tick().0 - before;
        assert!((590..=610).contains(&ticks), "{ticks} ticks in 10 s");
        party.check();
    }
}

#[test]
fn who_comes_back_has_its_number_again() {
    for (name, setup) in Setup::ALL {
        let mut party = party(setup, 3, 14, line(60, 0.02));
        party.run(Span::seconds(3));
        let player = party.me(2);
        party.kill(2);
        party.run(Span::seconds(2));
        party.revive(2);
        party.run(Span::seconds(6));
        party.check();
        party.check_united(30);
        assert_eq!(party.me(2), player, "{name}");
        assert_eq!(party.lockstep(0).players().len(), 3, "{name}");
    }
}

#[test]
fn turns_adapt_to_the_slowest_line_and_machine_on_the_same_tick_everywhere() {
    let mut party = party(Setup::AGE_OF_EMPIRES, 3, 15, line(40, 0.0));
    let mut paces: Vec<std::collections::BTreeMap<u32, _>> = vec![Default::default(); 3];
    let mut run = |party: &mut Party<Tag>, seconds| {
        party.run_with(Span::seconds(seconds), |party| {
            for (index, paces) in paces.iter_mut().enumerate() {
                let lockstep = party.lockstep(index);
                let tick = lockstep.world().map_or(0, |world| world.tick().0);
                if tick == 0 {
                    continue;
                }
                let told = *paces.entry(tick).or_insert(lockstep.pace());
                // On one machine a tick has one pace.
                assert_eq!(told, lockstep.pace(), "tick {tick}");
            }
        });
    };
    run(&mut party, 8);
    let near = party.lockstep(0).pace();
    // One line becomes bad: 300 ms there and back to everyone.
    for other in 0..2 {
        let hosts = [party.machines[2].host, party.machines[other].host];
        party.network.set_conditions(hosts[0], hosts[1], line(300, 0.0));
        party.network.set_conditions(hosts[1], hosts[0], line(300, 0.0));
    }
    run(&mut party, 10);
    let far = party.lockstep(0).pace();
    assert!(near.turn_ticks <= 5 && far.turn_ticks >= 10, "{near:?}, then {far:?}");
    let stalled = party.lockstep(0).statistics().stalled;
    run(&mut party, 5);
    let more = party.lockstep(0).statistics().stalled - stalled;
    assert!(more < Span::millis(100), "a steady delay instead of pauses: {more}");
    // One machine becomes slow.
    party.lockstep_mut(1).set_tick_costs(Span::millis(30));
    run(&mut party, 8);
    assert_eq!(party.lockstep(0).pace().tick_takes, Span::millis(30));
    // All is well again.
    party.lockstep_mut(1).set_tick_costs(Span::ZERO);
    for (i, j) in [(0, 2), (1, 2), (2, 0), (2, 1)] {
        let hosts = [party.machines[i].host, party.machines[j].host];
        party.network.set_conditions(hosts[0], hosts[1], line(40, 0.0));
    }
    run(&mut party, 20);
    assert!(party.lockstep(0).pace().turn_ticks < far.turn_ticks);
    assert_eq!(party.lockstep(0).pace().tick_takes, Setup::AGE_OF_EMPIRES.tick_length);
    for (tick, pace) in &paces[0] {
        for others in &paces[1..] {
            assert!(others.get(tick).is_none_or(|other| other == pace), "tick {tick}");
        }
    }
    party.check();
}

/// Walks on one of many maps.
struct Mapped;
/// The same with another field.
struct Jumping;

macro_rules! game {
    ($game:ident, $command:ty) => {
        impl sametick::Game for $game {
            type Entity = tag::Entity;
            type Command = $command;
            type Event = sametick::NoEvent;
            type Content = u64;
            fn content_name(content: &u64) -> u64 {
                *content
            }
            fn step(_: &mut sametick::World<tag::Entity>, _: &sametick::Turn<'_, Self>) {}
        }
    };
}
game!(Mapped, tag::Wish);
game!(Jumping, Runner);

#[test]
fn whoever_has_another_build_map_or_fields_is_refused_with_the_reason() {
    fn answers<G: sametick::Game<Content = u64>>(map: u64, build: u64) -> Vec<Happening> {
        use sametick::Time;
        use sametick::lockstep::{Identity, Lockstep};
        let here = sametick::Peer::new([1; 16], 1);
        let (now, me) = (Time::from_seconds(1), |session| Identity { session, name: session });
        let mut host = Lockstep::<Mapped>::found(Setup::DOOM_1993, me(1), here, (5, 1), now);
        let mut guest = Lockstep::<G>::join(here, me(2), (map, build), Role::Plays, now);
        guest.advance(now);
        let (_, hello) = guest.transmit().unwrap();
        host.receive(now, (2, here), &hello);
        host.advance(now);
        while let Some((_, answer)) = host.transmit() {
            guest.receive(now, (1, here), &answer);
        }
        guest.take_events()
    }
    let refused = |reason| vec![Happening::Refused(reason), Happening::Over];
    assert_eq!(answers::<Mapped>(5, 2), refused(Refusal::Build));
    assert_eq!(answers::<Mapped>(6, 1), refused(Refusal::Content));
    assert_eq!(answers::<Jumping>(5, 1), refused(Refusal::Rules));
    assert!(!answers::<Mapped>(5, 1).iter().any(|event| matches!(event, Happening::Refused(_))));
}

#[test]
fn what_is_guessed_is_heard_once_and_what_was_guessed_wrongly_is_taken_back() {
    use sametick::Effect;
    use std::collections::BTreeSet;
    let mut party = party(Setup::ROLLBACK, 2, 21, line(120, 0.02));
    let mut heard: Vec<BTreeSet<_>> = vec![BTreeSet::new(); 2];
    let mut guessed = 0;
    party.run_with(Span::seconds(20), |party| {
        for (index, heard) in heard.iter_mut().enumerate() {
            for effect in std::mem::take(&mut party.machines[index].effects) {
                match effect {
                    Effect::Started { key, is_predicted, .. } => {
                        guessed += u32::from(is_predicted);
                        assert!(heard.insert(key), "{key:?} is heard twice");
                    }
                    Effect::Cancelled { key } => assert!(heard.remove(&key), "{key:?} never was"),
                }
            }
        }
    });
    // All that is past what may still be guessed was heard by both.
    let known = (0..2).map(|index| party.lockstep(index).world().unwrap().tick().0).min().unwrap();
    let past = |keys: &BTreeSet<sametick::EventKey>| -> Vec<_> {
        keys.iter().copied().filter(|key| key.tick.0 + 30 < known).collect()
    };
    let [one, other] = [past(&heard[0]), past(&heard[1])];
    assert_eq!(one, other);
    assert!(one.len() > 50 && guessed > 50, "{} heard by both, {guessed} guessed", one.len());
}

#[test]
fn nobody_is_pulled_ahead_where_all_guess() {
    // One begins far ahead of the other, by what it stalled; and their clocks drift apart.
    let mut party = party(Setup::ROLLBACK, 2, 22, line(100, 0.0));
    for (index, drift) in [(0, 400), (1, -400)] {
        let host = party.machines[index].host;
        party.network.clock_mut(host).set_drift(sametick::Time::ZERO, drift);
    }
    party.run(Span::seconds(3));
    party.machines[1].frozen_until = party.now + Span::millis(120);
    party.run(Span::seconds(4));
    let mut sum = 0;
    party.run_with(Span::seconds(20), |party| {
        let [one, other] =
            [0, 1].map(|index| i64::from(party.lockstep(index).shown().unwrap().tick().0));
        assert!((one - other).abs() <= 3, "{one} and {other}");
        sum += one - other;
    });
    // Neither is ahead of the other all the time.
    let mean = sum as f64 / 5_000.0;
    assert!(mean.abs() < 1.5, "one is {mean} ticks ahead of the other");
}

#[test]
fn one_bad_line_is_felt_by_all_peer_to_peer_and_by_one_through_a_relay() {
    let delay = |setup: Setup| {
        let mut party = party(setup, 4, 16, line(30, 0.0));
        for other in 0..3 {
            let hosts = [party.machines[3].host, party.machines[other].host];
            party.network.set_conditions(hosts[0], hosts[1], line(200, 0.05));
            party.network.set_conditions(hosts[1], hosts[0], line(200, 0.05));
        }
        party.run(Span::seconds(15));
        party.check();
        let ticks = |index: usize| party.lockstep(index).statistics().delay_ticks;
        [ticks(1), ticks(3)]
    };
    let ([good, bad], [relayed_good, relayed_bad]) =
        (delay(Setup::DOOM_1993), delay(Setup::PACKET_SERVER));
    assert!(good >= 5 && bad >= 5, "peer to peer: {good} and {bad} ticks");
    assert!(relayed_good <= 4 && relayed_bad >= 10, "relayed: {relayed_good}, {relayed_bad} ticks");
}
