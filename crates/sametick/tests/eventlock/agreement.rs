//! What is official on a client is what the server has, as far as that client sees, whatever the network does. Seeds
//! from [`WIDE_FROM`](sametick_seeds::WIDE_FROM) on draw from wide ranges: see `wide`.

use super::party::{Party, TAG_BYTES};
use super::tanks::{FAR, Field, Order, Tank};
use super::wide;
use crate::gated::gated;
use sametick::eventlock::EventRates;
use sametick::network::{Conditions, Jitter, Loss, Outage};
use sametick::{Dice, Span, Time};
use sametick_seeds::{Script, Simulation, is_wide};

const SIMULATION: Simulation<u64, Counts> = Simulation {
    name: "eventlock",
    program: "-p sametick --features secure --test all",
    test: "eventlock::agreement::official_worlds_agree_at_every_second_of_200_matches_with_faults",
    seeds: 200,
    seconds: None,
    expand: |seed, _| seed,
    run: |seed, script| play(*seed, script),
};

/// How many worlds were compared, and how many requests were optimistic then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) compared: u32,
    pub(crate) optimistic: u32,
}

/// One of many bad lines.
fn trouble(dice: &mut Dice) -> Conditions {
    Conditions {
        delay: Span::millis(5 + dice.below(250)),
        jitter: Jitter::Uniform { width: Span::millis(dice.below(120)) },
        keep_order: false,
        loss: Loss::Random { probability: dice.unit() * 0.15 },
        duplicate: dice.unit() * 0.1,
        reorder: dice.unit() * 0.1,
        reorder_by: Span::millis(dice.below(200)),
        ..Conditions::PERFECT
    }
}

/// Everyone orders something now and then, lawful or not; lines fail, and players come back.
pub(crate) fn play(seed: u64, script: &Script) -> Counts {
    if is_wide(seed) {
        return wide::play(seed, script);
    }
    let dice = &mut Dice::new(seed, 1);
    let count = 2 + dice.below(3) as usize;
    let field = Field { sight: 300 + dice.below(500) as i32, tanks: 3 };
    let mut party = Party::new(count, seed, field, EventRates::default());
    for client in 0..count {
        let conditions = gated(script, trouble(dice));
        party.set_line(client, &conditions);
    }
    let (mut compared, mut optimistic) = (0, 0);
    for second in 0..20 {
        for _ in 0..4 {
            party.run(Span::millis(250), |_| {});
            for client in 0..count {
                let now = party.time_of(client);
                let unit = party.tank(client, dice.below(4) as usize);
                let to = [dice.below(900) as i32, dice.below(600) as i32];
                let order = Order { builds: dice.below(9) == 0, unit, to };
                let _ = party.clients[client].request(now, order);
            }
        }
        let client = dice.below(count as u64) as usize;
        let now = party.now;
        match dice.below(8) {
            0 => {
                let what = || format!("{client} on a fresh connection");
                if script.allows("return", now, what) {
                    party.come_back(client);
                }
            }
            1 => {
                let ends = now + Span::millis(dice.below(1500));
                let outage = Outage { begins: now, ends, holds: dice.below(2) == 0 };
                let (from, to) = (party.server_host, party.hosts[client]);
                if script.allows("outage", now, || format!("to {client}: {outage:?}")) {
                    party.network.add_outage(now, from, to, outage);
                }
            }
            2 => {
                let conditions = trouble(dice);
                if script.allows("other line", now, || format!("of {client}: {conditions:?}")) {
                    party.set_line(client, &conditions);
                }
            }
            _ => {}
        }
        optimistic += party.clients.iter().map(|client| client.waiting() as u32).sum::<u32>();
        compared += if second > 2 { party.compare(seed) } else { 0 };
    }
    assert_eq!(party.server.malformed(), 0, "seed {seed}");
    script.lasted(party.now.as_seconds_f64());
    Counts { compared, optimistic }
}

#[test]
fn official_worlds_agree_at_every_second_of_200_matches_with_faults() {
    let sweep = SIMULATION.sweep();
    let compared: u32 = sweep.tallies.iter().map(|counts| counts.compared).sum();
    let optimistic: u32 = sweep.tallies.iter().map(|counts| counts.optimistic).sum();
    println!("{compared} worlds were compared, {optimistic} requests were optimistic then");
    if sweep.is_whole(20) {
        let seeds = sweep.tallies.len() as u32;
        assert!(compared > 40 * seeds, "only {compared} worlds were compared");
        assert!(optimistic > 10 * seeds, "only {optimistic} requests were optimistic then");
    }
}

/// A seed that is written down must mean the same run later: these are the dice that nothing else decides.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let script = Script::describing(None);
    play(1, &script);
    let kinds = ["jitter", "outage", "return"];
    let drawn = [
        "jitter, always: Uniform { width: Span(109000) }",
        "jitter, always: Uniform { width: Span(17000) }",
        "jitter, always: Uniform { width: Span(110000) }",
        "outage, 10.000000 s: to 0: Outage { begins: Time(10000000), ends: Time(10787000), holds: false }",
        "return, 12.000000 s: 0 on a fresh connection",
    ];
    assert_eq!(script.first_of(&kinds, drawn.len()), drawn);
}

/// All that the server sends to player 0, while player 1, out of its sight, does one thing or another.
fn sent_to_the_blind(hidden: i32) -> (Vec<Vec<u8>>, Option<Tank>) {
    let field = Field { sight: 150, tanks: 2 };
    let mut party = Party::new(2, 12, field, EventRates::default());
    party.trace = Some(vec![Vec::new(); 2]);
    party.run(Span::seconds(3), |_| {});
    for round in 0..10 {
        let (own, theirs) = (party.tank(0, 0).expect("own"), party.tank(1, 1).expect("theirs"));
        party.order(0, own, [200 + round, 230]);
        party.order(1, theirs, [FAR - hidden * round, FAR - 700]);
        party.run(Span::millis(900), |_| {});
    }
    let theirs = party.tank(1, 1).expect("theirs");
    assert!(party.compare(12) == 2);
    let tank = party.server.world().get::<Tank>(theirs).cloned();
    (party.trace.take().expect("kept").swap_remove(0), tank)
}

#[test]
fn what_is_hidden_changes_no_byte_of_what_is_sent() {
    let (here, tank_here) = sent_to_the_blind(1);
    let (there, tank_there) = sent_to_the_blind(90);
    assert_ne!(tank_here, tank_there, "something is different");
    assert!(here.len() > 15);
    assert!(here == there, "and player 0 cannot tell");
}

#[test]
fn whoever_comes_into_sight_is_told_whole_and_whoever_leaves_is_gone() {
    let field = Field { sight: 300, tanks: 1 };
    let mut party = Party::new(2, 4, field, EventRates::default());
    party.run(Span::seconds(2), |_| {});
    let theirs = party.tank(1, 0).expect("theirs");
    let sees = |party: &Party| party.clients[0].world().is_some_and(|world| world.contains(theirs));
    assert!(!sees(&party), "400 away");
    party.order(1, theirs, [350, 200]);
    let mut seen = Vec::new();
    party.run(Span::seconds(4), |party| seen.push(sees(party)));
    assert!(
        sees(&party) && party.clients[0].world().and_then(|world| world.owner(theirs)).is_some()
    );
    party.order(1, theirs, [900, 200]);
    party.run(Span::seconds(8), |_| {});
    assert!(!sees(&party));
    assert_eq!(party.compare(4), 2);
}

#[test]
fn a_quiet_world_costs_next_to_nothing() {
    let mut party = Party::new(8, 4, super::tanks::OPEN_FIELD, EventRates::default());
    party.run(Span::seconds(20), |_| {});
    let before = party.bytes.clone();
    party.run(Span::seconds(60), |_| {});
    for (now, before) in party.bytes.iter().zip(before) {
        let [down, up] = [0, 1].map(|way| (now[way] - before[way]) / 60);
        assert!(down < 10 && up < 10, "{down} bytes a second down, {up} up");
    }
}

#[test]
fn what_a_server_counts_as_sent_is_what_it_sent() {
    let mut party = Party::new(2, 8, super::tanks::OPEN_FIELD, EventRates::default());
    party.run(Span::seconds(30), |_| {});
    for (client, bytes) in party.clients.iter().zip(&party.bytes) {
        let counted = party.server.statistics(client.me().expect("in the game"));
        let counted = counted.expect("it is connected");
        // Besides: seals, which are not counted here, and IP and UDP, which are counted there.
        let besides = (28 + TAG_BYTES as u64) * counted.packets_sent;
        assert_eq!(counted.bytes_sent - besides, bytes[0]);
    }
}

#[test]
fn a_budget_is_kept_and_everyone_is_still_told_all() {
    let busy = |bytes_per_second: Option<u32>| {
        let rates = EventRates { bytes_per_second, ..EventRates::default() };
        let mut party = Party::new(4, 21, super::tanks::OPEN_FIELD, rates);
        party.run(Span::seconds(3), |_| {});
        let sent = |party: &Party| {
            let seals = party.packets * TAG_BYTES as u64;
            seals + party.bytes.iter().map(|bytes| bytes[0]).sum::<u64>()
        };
        let (before, dice) = (sent(&party), &mut Dice::new(1, 1));
        party.run(Span::seconds(60), |party| {
            if (party.now - Time::ZERO).as_micros().is_multiple_of(200_000) {
                for client in 0..4 {
                    let Some(unit) = party.tank(client, dice.below(3) as usize) else { continue };
                    let x = 200 + 400 * client as i32;
                    let order =
                        Order { unit: Some(unit), to: [x, dice.below(3000) as i32], builds: false };
                    let now = party.now;
                    let _ = party.clients[client].request(now, order);
                }
            }
        });
        assert!(party.compare(21) == 4);
        (sent(&party) - before) / 60
    };
    let (free, bound) = (busy(None), busy(Some(200)));
    // What goes out anyway may owe a little.
    assert!(
        bound < 250 && free > 2 * bound,
        "{bound} bytes a second with a budget, {free} without"
    );
}
