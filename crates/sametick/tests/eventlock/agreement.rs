//! What is official on a client is what the server has, as far as that client sees, whatever the network does.

use super::party::{Party, TAG_BYTES};
use super::tanks::{FAR, Field, Order, Tank};
use sametick::eventlock::EventRates;
use sametick::network::{Conditions, Jitter, Loss, Outage};
use sametick::{Dice, Span, Time};

const MATCHES: u64 = 200;

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
fn play(seed: u64) -> (u32, u32) {
    let dice = &mut Dice::new(seed, 1);
    let count = 2 + dice.below(3) as usize;
    let field = Field { sight: 300 + dice.below(500) as i32, tanks: 3 };
    let mut party = Party::new(count, seed, field, EventRates::default());
    for client in 0..count {
        let conditions = trouble(dice);
        party.set_line(client, &conditions);
    }
    let (mut compared, mut hopeful) = (0, 0);
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
        match dice.below(8) {
            0 => party.come_back(client),
            1 => {
                let ends = party.now + Span::millis(dice.below(1500));
                let outage = Outage { begins: party.now, ends, holds: dice.below(2) == 0 };
                let (from, to) = (party.server_host, party.hosts[client]);
                party.network.add_outage(party.now, from, to, outage);
            }
            2 => {
                let conditions = trouble(dice);
                party.set_line(client, &conditions);
            }
            _ => {}
        }
        hopeful += party.clients.iter().map(|client| client.waiting() as u32).sum::<u32>();
        compared += if second > 2 { party.compare(seed) } else { 0 };
    }
    assert_eq!(party.server.malformed(), 0, "seed {seed}");
    (compared, hopeful)
}

#[test]
fn official_worlds_agree_at_every_second_of_200_matches_with_faults() {
    let (mut compared, mut hopeful) = (0, 0);
    for seed in 0..MATCHES {
        let (worlds, waiting) = play(seed);
        compared += worlds;
        hopeful += waiting;
    }
    assert!(compared > 8_000, "only {compared} worlds were compared");
    assert!(hopeful > 2_000, "only {hopeful} requests were unofficial when worlds were compared");
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
