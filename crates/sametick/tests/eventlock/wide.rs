//! Matches from wide ranges: up to eight players, any tick length and rate, clocks that drift, lines up to the 600 ms
//! that the documents promise, and clients that stand still, leave and come back. In the end all is calm: everyone is
//! in the game, and has what it may see of the present.

use super::agreement::Counts;
use super::party::Party;
use super::tanks::{Field, Order};
use crate::gated::gated;
use sametick::eventlock::EventRates;
use sametick::network::{Conditions, Jitter, Loss, Outage};
use sametick::{Dice, Span, Time};
use sametick_seeds::Script;

const PLAYERS_MAX: u64 = 8;
/// One-way latency: a round-trip time of 600 ms.
const DELAY_MILLIS_MAX: u64 = 300;
const DRIFT_PPM_MAX: u64 = 1_000;
const FAULTS_SECONDS: u64 = 20;
/// When the last fault is over.
const CALM_FROM: Time = Time::from_seconds(FAULTS_SECONDS);
/// So long after the last fault everyone is in the game again.
const CALM: Span = Span::seconds(5);
/// What a client has in the calm is at most so old, besides what its line takes and what is gathered.
const LATE: Span = Span::millis(300);
/// For how long the server's worlds are kept.
const PAST: Span = Span::seconds(10);

/// All that a seed decides before the first fault.
struct Options {
    rates: EventRates,
    field: Field,
    lines: Vec<Conditions>,
    drifts_ppm: Vec<i32>,
}

fn expand(seed: u64) -> Options {
    let dice = &mut Dice::new(seed, 401);
    let count = 2 + dice.below(PLAYERS_MAX - 1);
    let rates = EventRates {
        tick_length: Span::millis(5 + dice.below(46)),
        tell_every: Span::millis(5 + dice.below(1_000)),
        bytes_per_second: dice.chance(0.3).then(|| 200 + dice.below(4_000) as u32),
        requests_per_second: 1 + dice.below(30) as u32,
        requests_at_once: 1 + dice.below(32) as u32,
        ..EventRates::default()
    };
    let field = Field { sight: 50 + dice.below(1_500) as i32, tanks: 1 + dice.below(8) as i32 };
    let far = 1 + dice.below(DELAY_MILLIS_MAX);
    let lines = (0..count).map(|_| trouble(far, dice)).collect();
    let drift = |_| dice.below(2 * DRIFT_PPM_MAX + 1) as i32 - DRIFT_PPM_MAX as i32;
    Options { rates, field, lines, drifts_ppm: (0..count).map(drift).collect() }
}

/// One of many bad lines, up to so many milliseconds long.
fn trouble(far: u64, dice: &mut Dice) -> Conditions {
    let width = Span::millis(dice.below(201));
    let jitter = match dice.below(4) {
        0 => Jitter::None,
        1 => Jitter::Uniform { width },
        2 => Jitter::Normal { deviation: width / 4 },
        _ => Jitter::Pareto { scale: width / 4, shape: 1.5, cap: width * 4 },
    };
    let loss = match dice.below(3) {
        0 => Loss::None,
        1 => Loss::Random { probability: dice.unit() * 0.3 },
        _ => Loss::Burst {
            enter: dice.unit() * 0.05,
            leave: 0.05 + dice.unit() * 0.3,
            loss_good: 0.0,
            loss_bad: 0.5 + dice.unit() * 0.5,
        },
    };
    let mut seldom = |most: f64| if dice.below(2) == 0 { 0.0 } else { dice.unit() * most };
    let (duplicate, reorder) = (seldom(0.2), seldom(0.2));
    let (bit_flip, truncate) = (seldom(0.02), seldom(0.02));
    Conditions {
        delay: Span::millis(dice.below(far + 1)),
        jitter,
        keep_order: dice.below(2) == 0,
        loss,
        duplicate,
        reorder,
        reorder_by: Span::millis(1 + dice.below(300)),
        bit_flip,
        truncate,
        bandwidth_bytes_per_second: dice.chance(0.2).then(|| 4_000 + dice.below(30_000) as u32),
        ..Conditions::PERFECT
    }
}

pub(super) fn play(seed: u64, script: &Script) -> Counts {
    let mut options = expand(seed);
    let count = options.lines.len();
    let mut party = Party::new(count, seed, options.field, options.rates);
    let tick_length = options.rates.tick_length;
    let ticks = |span: Span| span.as_micros().div_ceil(tick_length.as_micros());
    party.past_ticks = ticks(PAST) as usize;
    party.step = tick_length.min(party.step);
    for client in 0..count {
        options.lines[client] = gated(script, options.lines[client].clone());
        party.set_line(client, &options.lines[client]);
        let drift_ppm = script.habit("drift", options.drifts_ppm[client], 0);
        let (host, now) = (party.hosts[client], party.now);
        party.network.clock_mut(host).set_drift(now, drift_ppm);
        party.knock_as_before(client);
    }
    let dice = &mut Dice::new(seed, 402);
    let (mut compared, mut optimistic) = (0, 0);
    for second in 0..FAULTS_SECONDS {
        run_a_second(&mut party, dice);
        fault(&mut party, &mut options, dice, script);
        optimistic += party.clients.iter().map(|client| client.waiting() as u32).sum::<u32>();
        compared += if second > 2 { party.compare(seed) } else { 0 };
    }
    for client in 0..count {
        let calm = Conditions { delay: options.lines[client].delay, ..Conditions::PERFECT };
        party.set_line(client, &calm);
        party.frozen_until[client] = party.now;
    }
    while party.now < CALM_FROM + CALM {
        run_a_second(&mut party, dice);
        compared += party.compare(seed);
    }
    party.compare(seed);
    for client in 0..count {
        let is_in = party.clients[client].me().is_some() && !party.clients[client].is_over();
        assert!(is_in, "client {client} is not in the game: {:?}", options.rates);
        // A budget delays messages: a client that has just joined may have received nothing yet.
        let late = options.lines[client].delay + options.rates.tell_every + LATE;
        let is_present = options.rates.bytes_per_second.is_some()
            || party.is_present(client, ticks(late) as usize);
        assert!(is_present, "client {client} does not have what it saw {late} ago");
    }
    assert_eq!(party.server.malformed(), 0);
    script.lasted(party.now.as_seconds_f64());
    Counts { compared, optimistic }
}

/// Everyone orders something now and then, lawful or not. A client that is not connected connects again.
fn run_a_second(party: &mut Party, dice: &mut Dice) {
    for _ in 0..4 {
        party.run(Span::millis(250), |_| {});
        for client in 0..party.clients.len() {
            let unit = party.tank(client, dice.below(9) as usize);
            let to = [dice.below(3_500) as i32, dice.below(600) as i32];
            let order = Order { builds: dice.below(9) == 0, unit, to };
            let (now, is_frozen) = (party.time_of(client), party.frozen_until[client] > party.now);
            if !is_frozen && party.clients[client].is_over() {
                party.knock_as_before(client);
            } else if !is_frozen {
                let _ = party.clients[client].request(now, order);
            }
        }
    }
}

fn fault(party: &mut Party, options: &mut Options, dice: &mut Dice, script: &Script) {
    let client = dice.below(party.clients.len() as u64) as usize;
    let now = party.now;
    match dice.below(8) {
        0 if script.allows("return", now, || format!("{client} on a fresh connection")) => {
            party.knock_as_before(client);
        }
        1 => {
            let local = party.time_of(client);
            if script.allows("leave", now, || format!("{client} says goodbye")) {
                party.clients[client].close(local);
            }
        }
        2 => {
            let until = now + Span::millis(dice.below(4_000));
            if script.allows("stall", now, || format!("{client} until {until}")) {
                party.frozen_until[client] = until;
            }
        }
        3 | 4 => {
            let ends = (now + Span::millis(dice.below(4_000))).min(CALM_FROM);
            let outage = Outage { begins: now, ends, holds: dice.below(2) == 0 };
            let [server, host] = [party.server_host, party.hosts[client]];
            let (up, down) = [(true, true), (true, false), (false, true)][dice.below(3) as usize];
            let what = || format!("of {client}, up {up}, down {down}: {outage:?}");
            if ends > now && script.allows("outage", now, what) {
                let ways = [(host, server, up), (server, host, down)];
                for (from, to, _) in ways.into_iter().filter(|(_, _, is_out)| *is_out) {
                    party.network.add_outage(now, from, to, outage);
                }
            }
        }
        5 => {
            let conditions = trouble(DELAY_MILLIS_MAX, dice);
            if script.allows("other line", now, || format!("of {client}: {conditions:?}")) {
                party.set_line(client, &conditions);
                options.lines[client] = conditions;
            }
        }
        _ => {}
    }
}

#[test]
fn a_wide_seed_draws_every_choice_sooner_or_later() {
    let drawn: Vec<Options> =
        (0..200).map(|seed| expand(sametick_seeds::WIDE_FROM + seed)).collect();
    let any = |is_so: fn(&Options) -> bool| drawn.iter().any(is_so);
    assert!(any(|one| one.lines.len() == 2) && any(|one| one.lines.len() == 8));
    assert!(any(|one| one.lines.iter().any(|line| line.delay > Span::millis(280))));
    assert!(any(|one| one.rates.tick_length < Span::millis(8)));
    assert!(any(|one| one.rates.bytes_per_second.is_some()));
}
