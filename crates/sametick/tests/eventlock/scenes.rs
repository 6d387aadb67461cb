//! The paper's figures as tests: how an order looks on everyone's screen, and who waits for whom.

use super::party::{Party, line};
use super::tanks::{OPEN_FIELD, SPEED, Tank};
use sametick::eventlock::{Blending, EventRates};
use sametick::{EntityId, PlayerId, Span, Time};

const PINGS: [u64; 4] = [30, 120, 300, 600];
const TICK: Span = Span::millis(50);

fn crowd() -> Party {
    let mut party = Party::new(PINGS.len(), 2, OPEN_FIELD, EventRates::default());
    party.step = Span::millis(1);
    for (client, ping) in PINGS.into_iter().enumerate() {
        party.set_line(client, &line(ping, 0.0));
        party.clients[client].set_blending(Blending {
            lasts: Span::millis(300),
            // What a tank goes in 200 ms.
            smooth_within: (4 * SPEED) as f32,
        });
    }
    // Clocks have been compared for a while.
    party.run(Span::seconds(9), |_| {});
    party
}

/// By how much each client's idea of the server's time is wrong at worst, in milliseconds.
fn clock_errors(party: &mut Party) -> Vec<f64> {
    let truth = party.server.time(party.now).as_seconds_f64();
    (0..party.clients.len())
        .map(|client| {
            let now = party.time_of(client);
            let shown = party.clients[client].server_time(now).expect("in the game");
            (shown.as_seconds_f64() - truth).abs() * 1e3
        })
        .collect()
}

/// Orders a tank of one client's on a way of some seconds, and tells when each screen showed it arrive, how wrong each
/// clock was, and whether the one who clicked saw it start at once.
fn drive(party: &mut Party, client: usize) -> (Vec<Time>, Vec<f64>, Time, EntityId) {
    let unit = party.tank(client, 0).expect("its own tank");
    let before = party.screen(client, unit).expect("on its screen").0;
    let to = [before.to[0], before.to[1] + 60 * SPEED];
    party.order(client, unit, to);
    assert!(party.clients[client].is_unofficial(unit));
    let (tank, shown) = party.screen(client, unit).expect("on its screen");
    assert_eq!(tank.to, to, "shown at once");
    assert!(f64::from(tank.departs) - shown <= 1.0 + 1e-3, "it starts within a tick of the click");
    let official = party.clients[client].world().and_then(|world| world.get::<Tank>(unit));
    assert_eq!(official, Some(&before), "nothing unofficial is official");

    let mut arrived = vec![None; PINGS.len()];
    let mut errors = vec![0.0f64; PINGS.len()];
    let mut truth = None;
    party.run(Span::seconds(6), |party| {
        let (now, on_server) = (party.now, party.server.world().get::<Tank>(unit).cloned());
        let on_server = on_server.expect("on the server");
        let server_tick = party.server.time(now).as_seconds_f64() / TICK.as_seconds_f64();
        if on_server.to == to && server_tick >= f64::from(on_server.arrives) {
            truth.get_or_insert(now);
        }
        for (worst, error) in errors.iter_mut().zip(clock_errors(party)) {
            *worst = worst.max(error);
        }
        for (client, arrived) in arrived.iter_mut().enumerate() {
            let (tank, tick) = party.screen(client, unit).expect("on every screen");
            if tank.to == to && tick >= f64::from(tank.arrives) {
                arrived.get_or_insert(now);
            }
        }
    });
    let arrived = arrived.into_iter().map(|at| at.expect("it arrived on every screen")).collect();
    (arrived, errors, truth.expect("it arrived"), unit)
}

#[test]
fn figure_2_every_screen_shows_the_tank_arrive_at_the_same_official_time() {
    for clicking in 0..PINGS.len() {
        let mut party = crowd();
        let (arrived, errors, truth, unit) = drive(&mut party, clicking);
        for ((at, error), ping) in arrived.iter().zip(&errors).zip(PINGS) {
            let off = (at.as_seconds_f64() - truth.as_seconds_f64()).abs() * 1e3;
            assert!(
                off <= error + 2.0,
                "at {ping} ms it arrived {off} ms off, the clock was {error} ms off"
            );
            assert!(*error < 10.0, "at {ping} ms the clock was {error} ms off");
        }
        for (client, ping) in PINGS.into_iter().enumerate() {
            let (jumps, slides) = party.clients[client].warps();
            let is_clicking = client == clicking;
            // Whoever is told less than 200 ms later than it hoped goes smoothly; others have nothing to correct.
            assert_eq!(
                jumps,
                u64::from(is_clicking && ping >= 600),
                "{ping} ms, clicked by {clicking}"
            );
            assert!(is_clicking || slides == 0, "only who clicked is corrected");
            assert!(!party.clients[client].is_unofficial(unit));
        }
    }
}

#[test]
fn the_way_from_the_unofficial_to_the_official_is_smooth_and_ends() {
    let mut party = crowd();
    let unit = party.tank(1, 0).expect("its own tank");
    party.order(1, unit, [2000, 200]);
    let mut weights = Vec::new();
    party.run(Span::seconds(2), |party| {
        let now = party.time_of(1);
        weights.extend(party.clients[1].leaving(now, unit).map(|(_, weight)| weight));
    });
    assert!(weights.len() > 250 && weights.is_sorted(), "{weights:?}");
    assert!(weights.first() < Some(&0.02) && weights.last() > Some(&0.98));
}

/// What every client but the last is told, tick by tick, while the last has this line, from the fifth second on; and
/// the longest that one of them did not move on, in ticks of its own screen.
fn told_to_others(ping: u64, loss: f64) -> (Vec<Vec<u32>>, u32) {
    let mut party = Party::new(4, 8, OPEN_FIELD, EventRates::default());
    party.run(Span::seconds(5), |_| {});
    party.set_line(3, &line(ping, loss));
    let mut told = vec![Vec::new(); 3];
    let mut screens = [(0u32, Time::ZERO); 3];
    let mut stall = Span::ZERO;
    party.run(Span::seconds(40), |party| {
        let millis = (party.now - Time::ZERO).as_micros() / 1000;
        if millis.is_multiple_of(700)
            && let Some(unit) = party.tank((millis / 700 % 3) as usize, 0)
        {
            party.order((millis / 700 % 3) as usize, unit, [(millis % 4000) as i32, 500]);
        }
        for client in 0..3 {
            let now = party.time_of(client);
            let Some((tick, _)) = party.clients[client].tick_at(now) else { continue };
            if tick.0 > screens[client].0 {
                if screens[client].1 > Time::ZERO + Span::seconds(8) {
                    stall = stall.max(party.now - screens[client].1);
                }
                screens[client] = (tick.0, party.now);
            }
            told[client].extend(party.clients[client].world().map(|world| world.tick().0));
        }
    });
    // A tick that is shown for one tick and a look does not stall.
    let beyond = (stall - Span::millis(60)).as_micros().div_ceil(TICK.as_micros());
    (told, beyond as u32)
}

#[test]
fn one_player_at_500_ms_and_a_tenth_lost_stalls_the_others_by_zero_ticks() {
    let (quiet, without) = told_to_others(60, 0.0);
    let (told, with) = told_to_others(500, 0.1);
    assert_eq!((without, with), (0, 0), "shown time runs on");
    assert!(told == quiet, "the others are told the same at the same time, to the tick");
}

#[test]
fn a_player_in_the_servers_own_process_takes_the_same_road() {
    let mut party = Party::new(2, 3, OPEN_FIELD, EventRates::default());
    party.set_line(0, &line(0, 0.0));
    party.run(Span::seconds(2), |_| {});
    let unit = party.tank(0, 0).expect("its own tank");
    party.order(0, unit, [900, 900]);
    assert!(party.clients[0].is_unofficial(unit), "its request is judged like any other");
    party.run(Span::seconds(1), |_| {});
    assert!(party.clients[0].take_answers()[0].verdict.is_ok());
    assert_eq!(party.clients[0].warps().0, 0);
    assert!(
        party.clients[1]
            .world()
            .and_then(|world| world.get::<Tank>(unit))
            .is_some_and(|tank| tank.to == [900, 900])
    );
    assert_eq!(party.count(PlayerId(0)), 3);
}
