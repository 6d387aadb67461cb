//! The network falls apart in every way, and never are there two hosts: [`Party::run`] looks at each step.

use super::party::Party;
use super::{WARM_UP, number};
use sametick::network::Host;
use sametick::{Dice, HostedEvent, Span};

/// Until everyone has tried everyone.
const CONVERGENCE: Span = Span::seconds(12);

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
    let (first, seeds) = (number("SAMETICK_FIRST_SEED", 0), number("SAMETICK_SEEDS", 40));
    let mut tally = Tally::default();
    // In the last one a host's word once counted for two successors.
    for seed in (first..first + seeds).chain([2_229]) {
        println!("seed {seed}");
        let mut dice = Dice::new(seed, 77);
        let mut party = Party::new(seed, 3 + seed as usize % 3);
        party.run(WARM_UP);
        for _ in 0..8 {
            trouble(&mut party, &mut dice, seed % 2 == 1);
            party.run(Span::millis(200 + dice.below(4_000)));
            party.heal();
            party.run(Span::millis(dice.below(3_000)));
        }
        party.run(CONVERGENCE * 2);
        tally.count(&party);
    }
    println!("{tally:?}");
    assert!(tally.united * 2 > tally.all(), "{tally:?}");
}

/// Something goes wrong; if `people_too`, they come and go besides.
fn trouble(party: &mut Party, dice: &mut Dice, people_too: bool) {
    let hosts: Vec<Host> = party.members.iter().map(|member| member.host).collect();
    let (one, alive) = (dice.below(hosts.len() as u64) as usize, party.alive());
    match dice.below(if people_too { 7 } else { 4 }) {
        0 | 1 => party.part(dice.below(1 << hosts.len()) as u32),
        2 => {
            let pairs = hosts.iter().flat_map(|from| hosts.iter().map(move |to| (from, to)));
            for (from, to) in pairs.filter(|(from, to)| from != to) {
                if dice.chance(0.3) {
                    party.network.cut(*from, *to);
                }
            }
        }
        3 => party.members[one].frozen_until = party.now + Span::millis(dice.below(6_000)),
        4 if alive.len() > 2 => party.kill(one),
        5 if alive.contains(&one) => {
            let now = party.now;
            party.player(one).leave(now);
        }
        _ if hosts.len() < 8 => party.hosts().into_iter().for_each(|host| party.join(host)),
        _ => {}
    }
}

/// What became of the games.
#[derive(Debug, Default)]
struct Tally {
    united: u32,
    /// Somebody was away while the host changed twice, and knows nobody who is the host now.
    with_stragglers: u32,
    without_host: u32,
}

impl Tally {
    fn all(&self) -> u32 {
        self.united + self.with_stragglers + self.without_host
    }

    fn count(&mut self, party: &Party) {
        match party.hosts()[..] {
            [] => self.without_host += 1,
            [host] => {
                let epoch = party.client(host).epoch();
                let is_here =
                    |i: &usize| party.client(*i).epoch() == epoch || party.client(*i).is_over();
                let all_are_here = party.alive().iter().all(is_here);
                *(if all_are_here { &mut self.united } else { &mut self.with_stragglers }) += 1;
            }
            _ => unreachable!("looked at in each step"),
        }
    }
}
