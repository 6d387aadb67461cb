//! The network falls apart in every way, and never are there two hosts: [`Party::run`] looks at each step.

use super::WARM_UP;
use super::party::{Party, ordinary};
use super::strikes::Strikes;
use crate::gated::gated;
use sametick::network::Host;
use sametick::{Dice, HostedEvent, Span};
use sametick_seeds::{Script, Simulation};

/// Until everyone has tried everyone.
const CONVERGENCE: Span = Span::seconds(12);

const SIMULATION: Simulation<u64, Outcome> = Simulation {
    name: "partitions",
    program: "-p sametick --features secure --test all",
    test: "succession::partitions::whatever_happens_to_lines_and_machines_there_are_never_two_hosts",
    seeds: 40,
    seconds: None,
    expand: |seed, _| seed,
    run,
};

#[test]
fn however_players_are_parted_there_is_one_host_and_all_come_back_to_it() {
    for count in 2..=5_u32 {
        // The first host is always on the side of the zeros: the other way round is the same.
        for sides in (1..1_u32 << (count - 1)).map(|others| others << 1) {
            for (seed, millis) in [(1, 1_300), (3, 5_000), (4, 9_000)] {
                println!("{count} players, parted {sides:b} for {millis} ms, seed {seed}");
                let mut party = Party::new(seed, count as usize);
                party.run(WARM_UP);
                let identities = party.identities();
                party.part(sides);
                party.run(Span::millis(millis));
                if millis == 5_000 {
                    assert_eq!(party.hosts().len(), 1, "one of two sides goes on");
                }
                party.heal();
                party.run(CONVERGENCE);
                party.check_united();
                assert_eq!(party.identities(), identities);
            }
        }
    }
}

#[test]
fn a_host_that_was_cut_off_comes_back_as_a_player() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut party = Party::new(seed, 3);
        party.run(WARM_UP);
        party.player(0).take_events();
        party.part(0b001);
        party.run(Span::seconds(5));
        assert_eq!(party.player(0).take_events(), [HostedEvent::Paused]);
        assert!(party.hosts()[0] != 0);
        party.heal();
        party.run(Span::seconds(5));
        assert_eq!(party.player(0).take_events(), [HostedEvent::SteppedDown]);
        assert!(party.player(0).server().is_none());
        party.check_united();
        assert_eq!(party.epochs.len(), 2);
    }
}

#[test]
fn a_successor_that_was_cut_off_comes_back_and_changes_nothing() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut party = Party::new(seed, 4);
        party.run(WARM_UP);
        for cut in 1..4 {
            party.part(1 << cut);
            party.run(Span::seconds(4));
            party.heal();
            party.run(CONVERGENCE);
            party.check_united();
            assert_eq!((party.hosts(), party.epochs.len()), (vec![0], 1));
        }
    }
}

#[test]
fn whatever_happens_to_lines_and_machines_there_are_never_two_hosts() {
    let sweep = SIMULATION.sweep();
    let count = |of: Outcome| sweep.tallies.iter().filter(|outcome| **outcome == of).count();
    let united = count(Outcome::United);
    println!(
        "{united} united, {} with stragglers, {} without a host",
        count(Outcome::WithStragglers),
        count(Outcome::WithoutHost)
    );
    // Of a few seeds, by chance, most may end without a quorum: only many can be judged together.
    assert!(!sweep.is_whole(40) || united * 3 > sweep.tallies.len(), "only {united} are united");
}

/// Players hear nothing of the successor from some moment on while it hears them, and then it is cut off and the old
/// host is back: what they know decides.
#[test]
fn an_old_host_never_steps_after_its_successor_has() {
    const MOMENT: Span = Span::millis(4);
    for (count, deaf_after_ms) in
        (3..=5).flat_map(|count| (0..400).step_by(20).map(move |ms| (count, ms)))
    {
        println!("{count} players, the successor is not heard {deaf_after_ms} ms after it stands");
        let mut party = Party::new(deaf_after_ms, count);
        party.run(WARM_UP);
        party.part(1);
        let standing = |party: &mut Party| (1..count).find(|i| party.player(*i).server().is_some());
        while standing(&mut party).is_none() {
            party.run(MOMENT);
        }
        let successor = standing(&mut party).expect("one stands");
        party.run(Span::millis(deaf_after_ms));
        let hosts: Vec<Host> = party.members.iter().map(|member| member.host).collect();
        for other in (0..count).filter(|other| *other != successor) {
            party.network.cut(hosts[successor], hosts[other]);
        }
        party.run(Span::millis(500));
        party.heal();
        party.part(1 << successor);
        party.run(CONVERGENCE);
        party.heal();
        party.run(CONVERGENCE);
    }
}

/// Whether or not it has stepped: the old host and its successor never step in turn.
#[test]
fn a_successor_that_is_cut_off_at_any_moment_leaves_one_history() {
    for millis in (1_300..3_700).step_by(50) {
        println!("parted after {millis} ms");
        let mut party = Party::new(millis, 3 + millis as usize / 50 % 3);
        party.run(WARM_UP);
        party.part(1);
        party.run(Span::millis(millis));
        for sides in [0b10, 0b1, 0b100] {
            party.heal();
            party.part(sides);
            party.run(Span::millis(3_500));
        }
        party.heal();
        party.run(CONVERGENCE);
    }
}

/// In this seed an old host once stepped after two that came later: players had lent themselves to a successor that
/// stepped, and knew nothing of its epoch when they were back.
#[test]
fn no_epoch_is_stepped_after_a_newer_one() {
    run(&300_000_008, &Script::all());
}

/// In this seed a host's word once counted for two successors.
#[test]
fn a_hosts_word_counts_for_one_successor() {
    run(&2_229, &Script::all());
}

/// One game in which eight things go wrong; [`Party::run`] looks at each step.
pub(crate) fn run(seed: &u64, script: &Script) -> Outcome {
    let seed = *seed;
    let line = gated(script, ordinary());
    let mut strikes = Strikes::new(seed, line.clone());
    let mut dice = Dice::new(seed, 77);
    let mut party = Party::over(seed, 3 + seed as usize % 3, line);
    party.run(WARM_UP);
    for _ in 0..8 {
        trouble(&mut party, &mut dice, seed % 2 == 1, script);
        strikes.run(&mut party, Span::millis(200 + dice.below(4_000)), script);
        party.heal();
        strikes.run(&mut party, Span::millis(dice.below(3_000)), script);
        party.heal();
    }
    party.run(CONVERGENCE * 2);
    script.lasted(party.now.as_seconds_f64());
    Outcome::of(&party)
}

/// Something goes wrong; if `people_too`, they come and go besides.
fn trouble(party: &mut Party, dice: &mut Dice, people_too: bool, script: &Script) {
    let hosts: Vec<Host> = party.members.iter().map(|member| member.host).collect();
    let (one, alive) = (dice.below(hosts.len() as u64) as usize, party.alive());
    let now = party.now;
    match dice.below(if people_too { 7 } else { 4 }) {
        0 | 1 => {
            let sides = dice.below(1 << hosts.len()) as u32;
            if script.allows("partition", now, || format!("{sides:b}, member 0 last")) {
                party.part(sides);
            }
        }
        2 => {
            let all = 0..hosts.len();
            let pairs = all.clone().flat_map(|from| all.clone().map(move |to| (from, to)));
            for (from, to) in pairs.filter(|(from, to)| from != to) {
                let is_cut = dice.chance(0.3);
                if is_cut && script.allows("cut", now, || format!("from {from} to {to}")) {
                    party.network.cut(hosts[from], hosts[to]);
                }
            }
        }
        3 => {
            let span = Span::millis(dice.below(6_000));
            if script.allows("freeze", now, || format!("{one} for {span}")) {
                party.members[one].frozen_until = now + span;
            }
        }
        4 if alive.len() > 2 => {
            let what = || format!("{one} goes dark");
            if script.allows("kill", now, what) {
                party.kill(one);
            }
        }
        5 if alive.contains(&one) => {
            let what = || format!("{one} leaves");
            if script.allows("leave", now, what) {
                party.player(one).leave(now);
            }
        }
        _ if hosts.len() < 8 => {
            for host in party.hosts() {
                if script.allows("join", now, || format!("somebody comes to {host}")) {
                    party.join(host);
                }
            }
        }
        _ => {}
    }
}

/// What became of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    United,
    /// Somebody was away while the host changed twice, and knows nobody who is the host now.
    WithStragglers,
    WithoutHost,
}

impl Outcome {
    fn of(party: &Party) -> Self {
        let host = match party.hosts()[..] {
            [] => return Self::WithoutHost,
            [host] => host,
            _ => unreachable!("looked at in each step"),
        };
        let epoch = party.client(host).epoch();
        let is_here = |i: &usize| party.client(*i).epoch() == epoch || party.client(*i).is_over();
        match party.alive().iter().all(is_here) {
            true => Self::United,
            false => Self::WithStragglers,
        }
    }
}

/// A seed that is written down must mean the same run later: these are the dice that nothing else decides.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let script = Script::describing(None);
    run(&3, &script);
    let kinds = ["partition", "cut", "freeze"];
    let drawn = [
        "partition, 2.500000 s: 101, member 0 last",
        "partition, 7.844000 s: 10, member 0 last",
        "freeze, 9.892000 s: 2 for 3302 ms",
    ];
    assert_eq!(script.first_of(&kinds, drawn.len()), drawn);
}
