//! Lobbies: games that have not begun. The founder may go before they do.

use super::line;
use super::party::{Party, wander};
use crate::tag::Tag;
use sametick::Span;
use sametick::lockstep::{Happening, Role, Setup};

/// How long the members may take to begin once they are enough and nothing is in the way: the leader's silence, the
/// wait of the last candidate, an election, and a join.
const BEGIN_WITHIN: Span = Span::seconds(9);

/// A lobby of `count` machines that waits until there are `players`.
fn lobby(setup: Setup, count: usize, players: u8, seed: u64) -> Party<Tag> {
    let setup = Setup { players, ..setup };
    let mut party = Party::new(setup, count, ((), wander), seed, line(80, 0.03));
    party.run(Span::seconds(2));
    assert!((0..count).all(|index| tick(&party, index) == 0), "the lobby waits");
    party
}

fn tick(party: &Party<Tag>, index: usize) -> u32 {
    let lockstep = party.machines[index].lockstep.as_ref();
    lockstep.and_then(|lockstep| lockstep.world()).map_or(0, |world| world.tick().0)
}

/// All that are alive play one game with so many players.
fn check_plays(name: &str, party: &Party<Tag>, players: usize) {
    println!("{name}");
    party.check();
    party.check_united(40);
    for index in party.alive() {
        assert!(tick(party, index) > 60, "{name}: machine {index} at {}", tick(party, index));
        assert_eq!(party.lockstep(index).players().len(), players, "{name}: machine {index}");
    }
}

#[test]
fn a_lobby_begins_under_another_leader_when_its_founder_crashes() {
    for (name, setup) in Setup::ALL {
        for count in [3, 4, 7] {
            let mut party = lobby(setup, count, count as u8 + 1, 31);
            party.kill(0);
            party.run(Span::seconds(4));
            (0..2).for_each(|_| party.add(Role::Plays));
            party.run(BEGIN_WITHIN);
            check_plays(name, &party, count + 1);
        }
    }
}

#[test]
fn a_lobby_begins_under_another_leader_as_soon_as_its_founder_says_goodbye() {
    for (name, setup) in Setup::ALL {
        for count in [2, 3, 6] {
            let mut party = lobby(setup, count, count as u8 + 1, 32);
            let now = party.now;
            party.lockstep_mut(0).close(now);
            party.run(Span::seconds(1));
            (0..2).for_each(|_| party.add_at(Role::Plays, 1));
            party.run(Span::seconds(4));
            check_plays(name, &party, count + 1);
        }
    }
}

#[test]
fn a_founder_that_restarts_is_back_in_the_lobby_that_another_leads() {
    for (name, setup) in Setup::ALL {
        for count in [2, 3, 5] {
            let mut party = lobby(setup, count, count as u8 + 1, 33);
            party.kill(0);
            party.run(Span::millis(200));
            party.revive(0);
            party.add(Role::Plays);
            party.run(BEGIN_WITHIN);
            check_plays(name, &party, count + 1);
        }
    }
}

/// Parts two groups of machines, or lets them reach each other again.
fn part(party: &mut Party<Tag>, one: &[usize], other: &[usize], is_cut: bool) {
    for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))) {
        let [a, b] = [a, b].map(|index| party.machines[index].host);
        if is_cut {
            party.network.cut_both(a, b);
        } else {
            party.network.heal(a, b);
            party.network.heal(b, a);
        }
    }
}

#[test]
fn of_two_parts_of_a_lobby_that_could_both_begin_only_the_quorum_does() {
    let parts: [([usize; 2], usize); 2] = [([1, 2], 0), ([0, 1], 2)];
    for (name, setup) in Setup::ALL {
        for (most, least) in parts {
            let mut party = lobby(setup, 3, 4, 34);
            part(&mut party, &most, &[least], true);
            party.run(Span::seconds(5));
            // Enough others come to either part.
            (0..3).for_each(|_| party.add_at(Role::Plays, least));
            part(&mut party, &most, &[3, 4, 5], true);
            (0..2).for_each(|_| party.add_at(Role::Plays, most[0]));
            part(&mut party, &[6, 7], &[least, 3, 4, 5], true);
            party.run(Span::seconds(6));
            let has_begun = |index: &usize| tick(&party, *index) > 0;
            let began: Vec<usize> = (0..8).filter(has_begun).collect();
            assert_eq!(began, [&most[..], &[6, 7]].concat(), "{name}: parted from {least}");
            part(&mut party, &[most[0], most[1], 6, 7], &[least, 3, 4, 5], false);
            party.run(Span::seconds(11));
            check_plays(name, &party, 8);
        }
    }
}

#[test]
fn a_founder_whose_lobby_restarts_around_it_begins_with_those_that_came_back() {
    for (name, setup) in Setup::ALL {
        let mut party = lobby(setup, 4, 5, 35);
        (1..4).for_each(|index| party.kill(index));
        party.run(Span::millis(300));
        (1..4).for_each(|index| party.revive(index));
        party.add_at(Role::Plays, 0);
        party.run(BEGIN_WITHIN);
        check_plays(name, &party, 5);
    }
}

/// The leader is cut off for a while around the moment at which it forgets a member that has gone.
#[test]
fn a_promise_to_the_leader_of_a_lobby_counts_whichever_members_either_has_forgotten() {
    for (name, setup) in [("doom1993", Setup::DOOM_1993), ("frame_locked", Setup::FRAME_LOCKED)] {
        for after in (0..20).map(|index| Span::millis(20 * index)) {
            let mut party = lobby(setup, 4, 5, 38);
            party.kill(3);
            party.run(setup.patience + after);
            let hosts = [0, 1, 2].map(|index| party.machines[index].host);
            hosts[1..].iter().for_each(|other| party.network.cut(hosts[0], *other));
            party.run(setup.patience + Span::millis(300));
            hosts[1..].iter().for_each(|other| party.network.heal(hosts[0], *other));
            (0..2).for_each(|_| party.add_at(Role::Plays, 1));
            party.run(BEGIN_WITHIN);
            println!("cut off {after} later");
            check_plays(name, &party, 5);
        }
    }
}

#[test]
fn a_lobby_forgets_those_that_came_and_fell_silent_however_many() {
    for (name, setup) in Setup::ALL {
        let mut party = lobby(setup, 2, 3, 36);
        for _ in 0..4 {
            // They are let in, and never hear of it.
            let first = party.machines.len();
            (0..6).for_each(|_| party.add_at(Role::Plays, 0));
            party.run(Span::millis(20));
            (first..first + 6).for_each(|index| party.kill(index));
            party.run(setup.patience + Span::seconds(2));
        }
        party.add_at(Role::Plays, 0);
        party.run(Span::seconds(4));
        check_plays(name, &party, 3);
    }
}

#[test]
fn the_second_of_two_waits_and_says_so_when_the_founder_is_gone_for_good() {
    for (name, setup) in Setup::ALL {
        for needs_quorum in [true, false] {
            let mut party = lobby(Setup { needs_quorum, ..setup }, 2, 2 + 1, 37);
            party.kill(0);
            party.run(Span::seconds(5));
            let events = &party.machines[1].events;
            let is_paused = events.iter().any(|(_, event)| *event == Happening::Paused);
            assert_eq!(is_paused, needs_quorum, "{name}: {events:?}");
            assert_eq!(party.lockstep(1).is_leader(), !needs_quorum, "{name}: {events:?}");
        }
    }
}
