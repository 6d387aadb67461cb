//! Lag compensation over real sockets, real time and bad lines: what a scripted shooter has under its crosshair it
//! hits, and without rewinding it misses by what paper 003 says. How late this machine was is measured and allowed
//! for; shots at moments in which it did not keep time are not counted, and more are fired instead.

use sametick::network::{Conditions, Jitter};
use sametick::secure::SystemRandom;
use sametick::{Client, Model, Rates, Rewinding, Server, Span, Tick, Time};
use sametick_arena::scenes::{BEGINS_AT, RUN_SPEED, RUNNER, SHOOTER, Scene, fighter};
use sametick_arena::{Arena, body::RADIUS_METRES};
use sametick_links::conditioner::Direction;
use sametick_links::{Clock, Conditioned, Link, UdpLink, drive_client, drive_server};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

const TICK_SECONDS: f32 = 0.016_667;
/// So many shots are counted.
const SHOTS: usize = 20;
/// Nearer to the middle than this, the runner runs straight.
const STEADY_METRES: f32 = 6.0;
/// A turn of the loop that takes longer than this is noticed by the players' clocks.
const PUNCTUAL: Span = Span::millis(8);
/// For so long before a shot the machine must have kept time.
const CALM: Span = Span::millis(400);

struct Shot {
    is_hit: bool,
    /// How far the runner was ahead of what was aimed at, in its direction.
    lead: f32,
    /// From the look to the verdict, in seconds.
    waited: f32,
    /// The longest turn of the loop of late, in seconds.
    late: f32,
}

struct End {
    client: Client<Arena>,
    link: Conditioned<UdpLink>,
}

fn link(ping: Span, seed: u64) -> Conditioned<UdpLink> {
    let udp = UdpLink::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a socket");
    let mut link = Conditioned::new(udp, seed);
    let line = Conditions {
        delay: ping / 2,
        jitter: Jitter::Uniform { width: Span::millis(2) },
        ..Conditions::PERFECT
    };
    link.set_conditions(Direction::Outbound, line.clone());
    link.set_conditions(Direction::Inbound, line);
    link
}

/// Shots fired at a runner who dashes across, over a line of this length.
fn shots(rates: Rates, ping: Span) -> Vec<Shot> {
    let scene = Scene::dash_across();
    scene.content.map.visibility();
    let (clock, random) = (Clock::start(), &mut SystemRandom::new());
    let now = clock.now();
    let mut server_link = link(Span::ZERO, 1);
    let address = server_link.local();
    let mut server = Server::<Arena>::open(scene.content.clone(), 1, rates, now, random);
    let mut ends: Vec<End> = Vec::new();
    let (mut aims, mut found) = (BTreeMap::<Tick, (Time, f32)>::new(), Vec::new());
    let (mut last, mut late) = (now, Vec::<(Time, Span)>::new());
    let begins = Time::from_micros((BEGINS_AT * 1e6) as u64) + Span::seconds(1);
    while found.len() < SHOTS {
        server_link.wait(&clock, clock.now() + Span::millis(1));
        let now = clock.now();
        late.push((now, now - last));
        late.retain(|(at, _)| now - *at < CALM);
        last = now;
        let before = server.world().tick();
        drive_server(&mut server, &mut server_link, now, random);
        if server.world().tick() != before {
            let late = late.iter().map(|(_, span)| *span).max().unwrap_or_default();
            judge(&mut server, now, begins, late, &aims, &mut found);
        }
        // The shooter comes first, so that each has its place.
        let is_next = ends.len() < 2 && ends.iter().all(|end| end.client.me().is_some());
        if is_next {
            let ping = if ends.is_empty() { ping } else { Span::millis(10) };
            let view = Model::HALF_LIFE.view;
            let client = Client::open(address, scene.content.clone(), view, now, random);
            ends.push(End { client, link: link(ping, 2 + ends.len() as u64) });
        }
        for end in &mut ends {
            let ticks = end.client.predicted().map(|world| world.tick().0);
            let me = end.client.me();
            if let (Some(me), Some(view)) = (me, end.client.view(now)) {
                let command = scene.think(me, view, TICK_SECONDS);
                end.client.command(command);
            }
            drive_client(&mut end.client, &mut end.link, address, now);
            let (Some(shown), Some(predicted)) = (end.client.shown(), end.client.predicted())
            else {
                continue;
            };
            if let (true, Some(runner)) = (me == Some(SHOOTER), fighter(shown, RUNNER)) {
                let first = ticks.map_or(predicted.tick().0, |tick| tick + 1);
                for tick in first..=predicted.tick().0 {
                    aims.insert(Tick(tick), (now, runner.position[0]));
                }
            }
        }
    }
    found
}

fn judge(
    server: &mut Server<Arena>,
    now: Time,
    begins: Time,
    late: Span,
    aims: &BTreeMap<Tick, (Time, f32)>,
    found: &mut Vec<Shot>,
) {
    let verdicts = server.take_verdicts();
    let tick = server.world().tick();
    let (Some(runner), Some((at, x))) = (fighter(server.world(), RUNNER), aims.get(&tick)) else {
        return;
    };
    let way = runner.velocity[0].signum();
    let is_steady = runner.position[0].abs() < STEADY_METRES && runner.position[0] * way > -4.0;
    let is_calm = late < PUNCTUAL && now > begins;
    for verdict in verdicts.iter().filter(|verdict| is_steady && is_calm && verdict.tick == tick) {
        found.push(Shot {
            is_hit: verdict.hit.is_some(),
            lead: (runner.position[0] - x) * way,
            waited: (now - *at).as_seconds_f64() as f32,
            late: late.as_seconds_f64() as f32,
        });
    }
}

#[test]
fn over_real_sockets_too_a_shot_hits_what_was_under_the_crosshair() {
    let usual = Model::HALF_LIFE.rates;
    let off = Rates { rewinding: Rewinding::NONE, ..usual };
    let ping = Span::millis(80);
    let (with, without) = std::thread::scope(|scope| {
        let with = scope.spawn(|| shots(usual, ping));
        let without = scope.spawn(|| shots(off, ping));
        (with.join().expect("they were fired"), without.join().expect("they were fired"))
    });
    let hits = with.iter().filter(|shot| shot.is_hit).count();
    assert!(hits * 100 >= with.len() * 97, "{hits} of {} hit", with.len());
    assert!(without.iter().all(|shot| !shot.is_hit), "a shot hit what was not there any more");
    for shot in &without {
        // Down the line, two snapshots back, up the line, and the margin.
        let shown = ping.as_seconds_f64() as f32 / 2.0 + 6.0 * TICK_SECONDS;
        let foretold = RUN_SPEED * (shown + shot.waited);
        // A tick, the jitter both ways, and what the loop was late.
        let allowed = RUN_SPEED * (TICK_SECONDS + 0.004 + 2.0 * shot.late);
        let off_by = (shot.lead - foretold).abs();
        assert!(off_by <= allowed, "{} m, {foretold} m foretold, {allowed} allowed", shot.lead);
        assert!(shot.lead > RADIUS_METRES);
    }
}
