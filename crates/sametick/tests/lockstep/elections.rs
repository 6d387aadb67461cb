//! Elections in scripted trouble: each test is what a seed of the simulation once found, reduced to the promise that it
//! broke.

use super::party::Party;
use super::{line, party};
use crate::tag::Tag;
use sametick::lockstep::{Happening, Role, Setup};
use sametick::{PlayerId, Span};

/// How long everyone may take to play one game again once nothing is in the way.
const CALM: Span = Span::seconds(11);

/// Runs until something holds, for ten seconds at most.
fn run_until(party: &mut Party<Tag>, what: &str, holds: impl Fn(&Party<Tag>) -> bool) {
    let end = party.now + Span::seconds(10);
    while !holds(party) {
        assert!(party.now < end, "{what}: not within ten seconds");
        party.run(Span::millis(4));
    }
}

fn has_happened(party: &Party<Tag>, index: usize, event: &Happening) -> bool {
    party.machines[index].events.iter().any(|(_, happened)| happened == event)
}

fn check_plays_on(party: &mut Party<Tag>) {
    party.run(CALM);
    party.check();
    party.check_united(40);
}

#[test]
fn a_restarted_player_helps_one_candidate_and_never_two() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 3, 21, line(60, 0.0));
        party.run(Span::seconds(3));
        let [one, other] = [0, 2].map(|index| party.machines[index].host);
        party.network.cut_both(one, other);
        party.run(Span::millis(900));
        party.kill(1);
        party.run(Span::millis(600));
        party.revive(1);
        party.run(Span::seconds(6));
        party.check();
        party.network.heal(one, other);
        party.network.heal(other, one);
        check_plays_on(&mut party);
    }
}

#[test]
fn a_restarted_player_finds_the_only_machine_that_still_plays() {
    let mut party = party(Setup::PACKET_SERVER, 3, 22, line(30, 0.0));
    party.run(Span::seconds(3));
    let hosts = [0, 1, 2].map(|index| party.machines[index].host);
    party.network.cut_both(hosts[0], hosts[1]);
    party.network.cut_both(hosts[0], hosts[2]);
    run_until(&mut party, "the second leads", |party| {
        let epochs = [1, 2].map(|index| party.lockstep(index).epoch());
        epochs[0] == epochs[1] && epochs[0] != Some(0)
    });
    party.kill(1);
    for other in [hosts[1], hosts[2]] {
        party.network.heal(hosts[0], other);
        party.network.heal(other, hosts[0]);
    }
    // The restarted one asks at the first, which was left behind and asks to be let in itself.
    party.revive(1);
    check_plays_on(&mut party);
}

#[test]
fn a_joiner_that_has_the_world_goes_on_when_everyone_that_played_restarted() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 2, 23, line(60, 0.0));
        party.run(Span::seconds(3));
        party.kill(1);
        party.run(Span::seconds(6));
        party.revive(1);
        run_until(&mut party, name, |party| party.lockstep(1).world().is_some());
        party.kill(0);
        party.run(Span::seconds(1));
        party.revive(0);
        check_plays_on(&mut party);
    }
}

#[test]
fn a_player_left_behind_goes_on_when_those_that_left_it_lost_everything() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 2, 24, line(60, 0.0));
        party.run(Span::seconds(3));
        party.machines[1].frozen_until = party.now + Span::seconds(6);
        party.run(Span::seconds(6));
        run_until(&mut party, name, |party| has_happened(party, 1, &Happening::LeftBehind));
        party.kill(0);
        party.run(Span::seconds(2));
        party.revive(0);
        check_plays_on(&mut party);
    }
}

#[test]
fn a_watcher_that_was_given_up_finds_a_leader_that_has_moved() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 3, 25, line(60, 0.0));
        party.run(Span::seconds(3));
        party.add(Role::Watches);
        party.run(Span::seconds(2));
        let [leader, watcher] = [0, 3].map(|index| party.machines[index].host);
        party.network.cut_both(leader, watcher);
        party.run(setup.patience + Span::seconds(2));
        let now = party.now;
        party.network.rebind(now, leader);
        party.network.heal(leader, watcher);
        party.network.heal(watcher, leader);
        check_plays_on(&mut party);
    }
}

#[test]
fn when_one_of_two_players_says_goodbye_the_other_plays_on_and_lets_it_in_again() {
    for (name, setup) in Setup::ALL {
        for (leaver, ping, loss) in [(0, 40, 0.0), (0, 300, 0.1), (1, 40, 0.0), (1, 300, 0.1)] {
            println!("{name}: {leaver} leaves, {ping} ms, {loss}");
            let mut party = party(setup, 2, 26, line(ping, loss));
            party.run(Span::seconds(4));
            let now = party.now;
            party.lockstep_mut(leaver).close(now);
            run_until(&mut party, name, |party| has_happened(party, leaver, &Happening::Over));
            party.run(Span::seconds(3));
            let stayed = 1 - leaver;
            assert!(party.lockstep(stayed).is_leader(), "{name}");
            assert_eq!(party.lockstep(stayed).players().len(), 1, "{name}");
            assert!(party.now - party.machines[stayed].stepped_at < Span::seconds(1), "{name}");
            party.kill(leaver);
            party.revive(leaver);
            check_plays_on(&mut party);
        }
    }
}

#[test]
fn a_leader_whose_decision_nobody_confirms_goes_on_once_all_others_have_restarted() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 3, 27, line(40, 0.0));
        party.run(Span::seconds(3));
        party.kill(2);
        // It is given up while the other one hears nothing of it, and still counts.
        party.run(setup.patience - Span::millis(300));
        let [leader, other] = [0, 1].map(|index| party.machines[index].host);
        party.network.cut(leader, other);
        party.run(Span::millis(800));
        party.kill(1);
        party.network.heal(leader, other);
        party.revive(2);
        party.run(Span::seconds(3));
        party.revive(1);
        check_plays_on(&mut party);
    }
}

#[test]
fn a_player_whose_leader_let_somebody_in_and_died_plays_on_with_that_one() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 3, 28, line(40, 0.0));
        party.run(Span::seconds(3));
        party.kill(2);
        party.run(setup.patience + Span::seconds(1));
        party.machines[1].frozen_until = party.now + Span::millis(2_500);
        party.revive(2);
        party.run(Span::millis(1_500));
        party.kill(0);
        party.run(Span::seconds(2));
        party.revive(0);
        check_plays_on(&mut party);
    }
}

#[test]
fn a_watcher_that_only_a_deposed_leader_knew_finds_the_game_that_goes_on() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 3, 29, line(60, 0.0));
        party.run(Span::seconds(3));
        let leader = party.machines[0].host;
        for other in [1, 2] {
            let other = party.machines[other].host;
            party.network.cut(leader, other);
        }
        // It asks at the leader, and nobody else learns of it.
        party.add(Role::Watches);
        run_until(&mut party, name, |party| party.lockstep(3).epoch().is_some());
        party.kill(0);
        party.run(CALM);
        party.check();
        party.check_united(40);
    }
}

#[test]
fn a_game_that_is_not_full_refuses_nobody_however_many_have_left_lately() {
    for (name, setup) in Setup::ALL {
        for (role, count) in [(Role::Watches, 4), (Role::Plays, 4)] {
            println!("{name}: {role:?}");
            let mut party = party(setup, 3, 31, line(30, 0.0));
            party.run(Span::seconds(2));
            (0..count).for_each(|_| party.add(role));
            for _ in 0..5 {
                party.run(Span::millis(1_200));
                let now = party.now;
                (3..3 + count).for_each(|index| party.lockstep_mut(index).close(now));
                party.run(Span::millis(300));
                (3..3 + count).for_each(|index| party.kill(index));
                (3..3 + count).for_each(|index| party.revive(index));
            }
            check_plays_on(&mut party);
            for index in 3..3 + count {
                let events = &party.machines[index].events;
                let is_refused = |event: &Happening| matches!(event, Happening::Refused(_));
                assert!(!events.iter().any(|(_, event)| is_refused(event)), "{name}: {events:?}");
            }
        }
    }
}

#[test]
fn a_player_that_lacks_commands_that_nobody_has_continues_from_the_world_after_them() {
    for (name, setup) in Setup::ALL {
        println!("{name}");
        let mut party = party(setup, 3, 32, line(60, 0.0));
        party.run(Span::seconds(3));
        party.kill(1);
        party.run(setup.patience + Span::seconds(3));
        // The leader receives all commands of the other player and steps on; the player receives none of the leader's.
        let [leader, player] = [0, 2].map(|index| party.machines[index].host);
        party.network.cut(leader, player);
        party.run(Span::millis(400));
        party.revive(1);
        run_until(&mut party, name, |party| party.lockstep(1).world().is_some());
        let tick = |party: &Party<Tag>, index: usize| party.lockstep(index).world().unwrap().tick();
        let joined = tick(&party, 1);
        assert!(joined > tick(&party, 2), "{name}: the joiner's world is later");
        party.kill(0);
        party.run(Span::seconds(2));
        party.revive(0);
        check_plays_on(&mut party);
        assert!(tick(&party, 2) > joined, "{name}");
    }
}

#[test]
fn a_watcher_keeps_no_restarted_player_from_the_last_player_that_has_a_world() {
    for ((name, setup), moves) in Setup::ALL.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        println!("{name}, the restarted player has moved: {moves}");
        let mut party = party(setup, 2, 33, line(60, 0.0));
        party.run(Span::seconds(3));
        party.add(Role::Watches);
        run_until(&mut party, name, |party| party.lockstep(2).world().is_some());
        let hosts = [0, 1, 2].map(|index| party.machines[index].host);
        if moves {
            // The other player does not hear of it: only the watcher can tell it.
            let now = party.now;
            party.network.cut(hosts[0], hosts[1]);
            party.network.rebind(now, hosts[0]);
        }
        party.network.cut_both(hosts[0], hosts[1]);
        party.network.cut_both(hosts[2], hosts[1]);
        // The first of two goes on alone, and loses all that it knew. The watcher has seen it.
        run_until(&mut party, name, |party| {
            let [one, watched] = [1, 2].map(|index| party.lockstep(index).world().unwrap().tick());
            watched.0 > one.0 + 30
        });
        party.kill(0);
        party.revive(0);
        party.run(Span::seconds(2));
        party.network.heal_both(hosts[0], hosts[1]);
        party.network.heal_both(hosts[2], hosts[1]);
        check_plays_on(&mut party);
    }
}

#[test]
fn a_new_leader_takes_nobody_out_of_ticks_that_others_have_stepped() {
    for (name, setup) in [("packet", Setup::PACKET_SERVER), ("frame", Setup::FRAME_LOCKED)] {
        println!("{name}");
        let mut party = party(setup, 5, 34, line(40, 0.0));
        party.run(Span::seconds(3));
        let by_number = |number: u16| (0..5).find(|index| party.me(*index) == PlayerId(number));
        let order: Vec<usize> = (0..5).filter_map(by_number).collect();
        let hosts: Vec<_> = order.iter().map(|index| party.machines[*index].host).collect();
        // The next leader lacks what the others have stepped, until they hand it over with their promises.
        party.network.cut(hosts[0], hosts[1]);
        party.run(Span::millis(300));
        party.kill(0);
        run_until(&mut party, name, |party| party.lockstep(order[1]).is_leader());
        // Nobody can tell it that its roster has arrived, and one is silent for longer than its patience.
        for other in 2..5 {
            party.network.cut(hosts[other], hosts[1]);
            party.network.cut_both(hosts[other], hosts[4]);
        }
        party.network.cut(hosts[1], hosts[4]);
        party.run(setup.patience + Span::millis(200));
        party.network.heal(hosts[2], hosts[1]);
        party.network.heal(hosts[3], hosts[1]);
        party.run(Span::seconds(3));
        party.check();
        for (one, other) in (0..5).flat_map(|one| (0..5).map(move |other| (one, other))) {
            party.network.heal(hosts[one], hosts[other]);
        }
        party.revive(0);
        check_plays_on(&mut party);
    }
}
