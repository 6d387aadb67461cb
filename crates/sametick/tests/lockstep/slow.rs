//! Hosts that are slow for a while: they are called late, or step only some of what is due. Who is slow makes its
//! commands earlier, nobody else does for long, and once all keep up the command delay is what the ping needs.

use super::party::Party;
use super::{line, party};
use crate::tag::Tag;
use sametick::lockstep::{Setup, Topology, Turns};
use sametick::{Dice, Span};
use std::ops::Range;

const MACHINES: usize = 6;
const PING_MS: u64 = 60;
const WARM_UP: Span = Span::seconds(8);

/// How much more than a game that never was slow somebody may have.
const MORE_TICKS_MAX: u32 = 2;

/// After so long with hosts that keep up.
///
/// Peer to peer a host may have the longest command delay, 60 ticks, and be a second behind. Half of what everyone
/// has in reserve is given back in each stretch of 1 s and what a word takes: 5 of them leave 2 of 60 ticks, and the
/// first one began when hosts were still slow. A player of a packet server is at most 250 ms ahead of what it needs:
/// 3 stretches leave 2 of 15 ticks. Where turns adapt, the leader waits for 3 s before it quickens the pace, all
/// learn of it within 2 s, and what the lines were taken to need meanwhile may need a second change.
fn is_back_after(setup: Setup) -> Span {
    match (setup.turns, setup.topology) {
        (Turns::Ahead, Topology::PacketServer) => Span::seconds(6),
        (Turns::Ahead, _) => Span::seconds(7),
        (Turns::Adaptive, _) => Span::seconds(10),
        (Turns::Fixed { .. }, _) => Span::seconds(4),
    }
}

/// For a while some hosts are called only now and then.
fn run_slowly(
    party: &mut Party<Tag>,
    span: Span,
    hosts: &[usize],
    pause_ms: Range<u64>,
    seed: u64,
) {
    let mut dice = Dice::new(seed, 31);
    party.run_with(span, |party| party.slow_down(hosts, &pause_ms, &mut dice));
}

/// The longest command delay of each machine within a second, and how many ticks that second had.
fn look(party: &mut Party<Tag>) -> (Vec<u32>, Vec<u32>) {
    let ticks = |party: &Party<Tag>| -> Vec<u32> {
        let tick = |index| party.lockstep(index).world().map_or(0, |world| world.tick().0);
        (0..MACHINES).map(tick).collect()
    };
    let (before, mut delays) = (ticks(party), vec![0; MACHINES]);
    party.run_with(Span::seconds(1), |party| {
        for (index, delay) in delays.iter_mut().enumerate() {
            *delay = party.lockstep(index).statistics().delay_ticks.max(*delay);
        }
    });
    let passed = ticks(party).iter().zip(before).map(|(after, before)| after - before).collect();
    (delays, passed)
}

fn check_delays(delays: &[u32], usual: &[u32], hosts: impl Iterator<Item = usize>, case: &str) {
    for host in hosts {
        let is_usual = delays[host] <= usual[host] + MORE_TICKS_MAX;
        assert!(is_usual, "{case}: host {host} of {delays:?} ticks, usually {usual:?}");
    }
}

#[test]
fn the_command_delay_comes_down_to_what_the_ping_needs_once_slow_hosts_keep_up() {
    let slow_hosts: [&[usize]; 4] = [&[3, 4, 5], &[0, 1, 2], &[0], &[0, 1, 2, 3, 4, 5]];
    for (name, setup) in Setup::ALL {
        let conditions = line(PING_MS, 0.0);
        let mut never_slow = party(setup, MACHINES, 1, conditions.clone());
        never_slow.run(WARM_UP);
        let (usual, _) = look(&mut never_slow);
        for (seed, hosts) in (1..).zip(slow_hosts) {
            let case = format!("{name}, seed {seed}, slow hosts {hosts:?}");
            let mut party = party(setup, MACHINES, seed, conditions.clone());
            party.run(WARM_UP);
            run_slowly(&mut party, Span::seconds(10), hosts, 100..400, seed);
            party.run(is_back_after(setup));
            let (delays, ticks) = look(&mut party);
            check_delays(&delays, &usual, 0..MACHINES, &case);
            assert!(ticks.iter().all(|ticks| (58..=62).contains(ticks)), "{case}: {ticks:?} ticks");
            party.check();
            party.check_united(30);
        }
    }
}

#[test]
fn a_slow_host_makes_its_own_commands_earlier_and_holds_up_nobody_else() {
    for (name, setup) in [("doom1993", Setup::DOOM_1993), ("packet_server", Setup::PACKET_SERVER)] {
        let mut never_slow = party(setup, MACHINES, 1, line(PING_MS, 0.0));
        never_slow.run(WARM_UP);
        let (usual, _) = look(&mut never_slow);
        for seed in 1..5 {
            let mut party = party(setup, MACHINES, seed, line(PING_MS, 0.0));
            party.run(WARM_UP);
            let slow = [MACHINES - 1];
            // The first pauses hold everyone up; from then on the slow host's commands come early enough.
            run_slowly(&mut party, Span::seconds(8), &slow, 100..250, seed);
            let stalled = |party: &Party<Tag>| party.lockstep(0).statistics().stalled;
            let before = stalled(&party);
            for second in 8..20 {
                run_slowly(&mut party, Span::seconds(1), &slow, 100..250, seed * 100 + second);
                let delays: Vec<u32> = (0..MACHINES)
                    .map(|index| party.lockstep(index).statistics().delay_ticks)
                    .collect();
                let case = format!("{name}, seed {seed}, after {second} s");
                check_delays(&delays, &usual, 0..MACHINES - 1, &case);
            }
            let more = stalled(&party) - before;
            assert!(more < Span::millis(600), "{name}, seed {seed}: stalled for {more} of 12 s");
            party.check();
        }
    }
}

#[test]
fn a_peer_that_dies_leaves_no_command_delay_behind() {
    let mut party = party(Setup::DOOM_1993, MACHINES, 3, line(PING_MS, 0.0));
    party.run(WARM_UP);
    let usual = party.lockstep(0).statistics().delay_ticks;
    party.kill(MACHINES - 1);
    party.run(Span::seconds(4));
    party.check();
    for index in 0..MACHINES - 1 {
        let delay = party.lockstep(index).statistics().delay_ticks;
        assert!(delay <= usual + MORE_TICKS_MAX, "host {index}: {delay} ticks, usually {usual}");
    }
}
