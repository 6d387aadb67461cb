//! Table A, as far as a whole listener is concerned.

use super::town::{SLOTS, Town};
use sametick::channel::CHANNEL_MEMORY_BYTES_MAX;
use sametick::secure::{HALF_OPEN_TIMEOUT, Knock, Outcome};
use sametick::{Peer, Span};

fn peer(number: u32) -> Peer {
    let [a, b, c, d] = number.to_be_bytes();
    Peer::new([0x20, 1, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 4000)
}

/// Knocks until it is accepted and then says nothing.
fn knock_and_fall_silent(town: &mut Town, number: u32) -> bool {
    let token = town.token(10_000 + u64::from(number));
    let mut knock = Knock::new(token, town.now, &mut town.random);
    let mut hello = knock.transmit(town.now).expect("due at once").to_vec();
    let mut tell = |_: sametick::endpoint::ListenerEvent<'_>| {};
    for _ in 0..2 {
        let (now, random) = (town.now, &mut town.random);
        let answer = town.server.receive(now, peer(number), &mut hello, random, &mut tell);
        let Some(answer) = answer else { return false };
        if let Some(Outcome::Connected(_)) = knock.receive(now, &answer) {
            return true;
        }
        hello = knock.transmit(now).map_or(Vec::new(), |hello| hello.to_vec());
    }
    false
}

#[test]
fn slow_loris_many_accepted_that_never_speak_keep_nobody_out() {
    let mut town = Town::new(1, 3);
    town.run(Span::millis(300));
    assert_eq!(town.here.len(), 3);
    let silent = (0..2_000).filter(|number| knock_and_fall_silent(&mut town, *number)).count();
    assert_eq!(silent, 2_000, "each had a genuine token");
    // At most one for each slot waits, whatever came.
    assert!(town.server.memory_bytes() <= SLOTS * 16 * 1024, "{}", town.server.memory_bytes());
    // Who is here stays, who comes gets in.
    town.clients[0].dialer = None;
    town.dial(0);
    town.run(Span::seconds(2));
    assert_eq!(town.here.len(), 3);
    assert!(town.clients.iter().all(|client| client.left.is_empty()));
    town.run(HALF_OPEN_TIMEOUT);
    let of_three = 3 * (CHANNEL_MEMORY_BYTES_MAX / 4);
    assert!(town.server.memory_bytes() < of_three, "those who never spoke are forgotten");
}

#[test]
fn a_hello_that_was_long_under_way_does_not_end_a_newer_session() {
    let mut town = Town::new(2, 1);
    let token = town.token(1);
    let mut abandoned = Knock::new(token, town.now, &mut town.random);
    let from = town.network.address(town.clients[0].host);
    let mut first = abandoned.transmit(town.now).expect("due").to_vec();
    let (now, random) = (town.now, &mut town.random);
    let retry = town.server.receive(now, from, &mut first, random, &mut |_| {});
    abandoned.receive(now, &retry.expect("a cookie"));
    let mut held_up = abandoned.transmit(now).expect("due").to_vec();
    town.run(Span::seconds(1));
    assert_eq!(town.here.len(), 1);
    town.hand_to_server(from, &mut held_up);
    town.run(Span::seconds(10));
    assert_eq!((town.here.len(), town.left.len()), (1, 0));
    assert!(town.clients[0].left.is_empty());
}
