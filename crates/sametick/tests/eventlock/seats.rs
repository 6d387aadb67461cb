//! Places that are lent: kept for whoever comes, played for while nobody is there, and a time that waits for players.

use super::party::Party;
use super::tanks::{Entity, OPEN_FIELD, Order, Tank};
use sametick::eventlock::{EventClient, EventRates, EventServer};
use sametick::{Layouts, PLACE_KEPT, PlayerId, Span, World};

const PLAYERS: [PlayerId; 2] = [PlayerId(0), PlayerId(1)];

/// A game of two that waits for its players, of whom one comes.
fn waiting() -> Party {
    let mut before = Party::new(2, 5, OPEN_FIELD, EventRates::default());
    before.run(Span::seconds(1), |_| {});
    let layouts = Layouts::of::<Entity>();
    let saved = before.server.world().save(&layouts);
    let world = World::load(&saved, &layouts).expect("what was saved");
    Party::around(1, 6, OPEN_FIELD, |now, random| {
        let rates = EventRates { keeps_hashes: true, ..EventRates::default() };
        let server = EventServer::open(OPEN_FIELD, 1, rates, now, random);
        let mut server = server.resume(now, world, &PLAYERS).with_lent_places();
        server.hold(now, true);
        server
    })
}

#[test]
fn time_stands_until_it_is_let_go_on() {
    let mut party = waiting();
    let tick = party.server.world().tick();
    party.run(Span::seconds(5), |_| {});
    assert_eq!(party.clients[0].me(), Some(PlayerId(0)), "it is let in all the same");
    assert_eq!(party.server.world().tick(), tick);
    party.server.hold(party.now, false);
    party.run(Span::seconds(2), |_| {});
    assert_eq!(party.server.world().tick().0, tick.0 + 2 * 20 - 1, "the last is due just now");
    let unit = party.tank(0, 0).expect("it is told of its own");
    // A clock that ran on while time stood is early, and waits without going back.
    party.run(Span::seconds(10), |_| {});
    let time = party.screen(0, unit).expect("on its screen").1;
    let server = party.server.time(party.now).as_seconds_f64() * 20.0;
    assert!((time - server).abs() < 2.0, "its clock follows: {time} {server}");
    assert_eq!(party.compare(6), 1);
}

#[test]
fn somebody_plays_for_who_is_away_and_for_nobody_else() {
    let mut party = waiting();
    party.run(Span::seconds(1), |_| {});
    party.server.hold(party.now, false);
    party.run(Span::seconds(1), |_| {});
    let world = party.server.world();
    let units = PLAYERS.map(|player| world.owned::<Tank>(player).expect("it has one").0);
    let ways = |party: &Party| units.map(|unit| party.server.world().get::<Tank>(unit).cloned());
    let before = ways(&party);
    let order = |unit| Order { unit: Some(unit), to: [1500, 1500], ..Order::default() };
    // One asks for what is not its own.
    party.server.play_for(PlayerId(1), order(units[0]));
    party.run(Span::millis(200), |_| {});
    assert_eq!(ways(&party), before, "it is judged");
    (0..2).for_each(|index| party.server.play_for(PLAYERS[index], order(units[index])));
    party.run(Span::millis(200), |_| {});
    let after = ways(&party);
    assert_eq!(after[0], before[0], "who is here asks for itself");
    assert_ne!(after[1], before[1]);
}

#[test]
fn a_place_is_kept_and_the_next_who_comes_has_the_one_that_was_left_last() {
    let mut party = waiting();
    party.server.hold(party.now, false);
    party.run(Span::seconds(1), |_| {});
    let now = party.now;
    party.clients[0].close(now);
    party.run(PLACE_KEPT + Span::seconds(5), |_| {});
    assert_eq!(party.count(PlayerId(0)), 3, "all it had is still there");
    let address = party.network.address(party.server_host);
    let now = party.now;
    party.clients[0] = EventClient::open(address, OPEN_FIELD, now, &mut party.random);
    party.run(Span::seconds(1), |_| {});
    assert_eq!(party.clients[0].me(), Some(PlayerId(0)), "not the one that nobody has taken");
}
