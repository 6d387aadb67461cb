//! Strangers in any number: they take no memory, cause no key agreement, get no more than they
//! sent, and keep nobody out.

use allocation_counter::measure;
use proptest::prelude::*;
use sametick::secure::{DropReason, GateConfig, HALF_OPEN_TIMEOUT, Knock, Past, Verdict};
use sametick::{Peer, Time};

use super::common::*;

/// All that exists for strangers, allocated when the gate is made.
const PRE_AUTHENTICATION_BYTES_MAX: u64 = 2 << 20;

#[test]
fn two_hundred_thousand_spoofed_hellos_leave_no_trace() {
    let mut server = None;
    let made = measure(|| server = Some(Server::new(1)));
    assert!(made.bytes_max <= PRE_AUTHENTICATION_BYTES_MAX, "{made:?}");
    let mut server = server.expect("just made");
    let mut chance = Seeded::new(2);
    let mut knock = Knock::new(token(17, &mut chance), server.now, &mut chance);
    let mut hello = knock.transmit(server.now).expect("due");
    let flood = measure(|| {
        for source in 0..200_000 {
            server.now = Time::from_micros(u64::from(source) * 5);
            // Every other one guesses a cookie, with a message of its own to go with it.
            let guess = if source % 2 == 0 { [0; 16] } else { [(source % 255 + 1) as u8; 16] };
            hello[34..50].copy_from_slice(&guess);
            hello[565..613].fill(guess[0]);
            hello[10] = source as u8;
            assert!(matches!(server.receive(peer(source), &hello), Verdict::Reply(_)));
        }
    });
    assert_eq!(flood.count_total, 0, "a stranger's datagram allocates nothing");
    let counters = server.gate.counters();
    assert_eq!((counters.retries(), counters.key_agreements()), (200_000, 0));
    assert_eq!((server.gate.half_open(), server.asked.len()), (0, 0));
    // And an honest newcomer connects as if nothing had been.
    server.connect(peer(7), token(99, &mut chance));
}

#[test]
fn a_flood_from_one_network_is_held_to_its_quota_and_others_do_not_notice() {
    let mut server = Server::new(1);
    let mut chance = Seeded::new(2);
    let mut knock = Knock::new(token(17, &mut chance), server.now, &mut chance);
    let hello = knock.transmit(server.now).expect("due");
    for port in 0..10_000 {
        server.receive(Peer::new([7; 16], port), &hello);
    }
    let counters = server.gate.counters();
    assert_eq!((counters.retries(), counters.dropped(DropReason::Flooded)), (512, 9488));
    server.connect(peer(7), token(99, &mut chance));
    // Who has a cookie is not held up by neighbours who have none.
    server.now = millis(1000);
    let (mut inside, hello_inside) =
        server.with_cookie(Peer::new([7; 16], 1), token(5, &mut chance));
    for port in 0..10_000 {
        server.receive(Peer::new([7; 16], port), &hello);
    }
    let accepted = server.accept(Peer::new([7; 16], 1), &hello_inside);
    connected(inside.receive(server.now, &accepted.reply));
}

#[test]
fn cookies_without_tokens_cost_no_key_agreement_and_are_limited_too() {
    let mut server = Server::new(1);
    let mut chance = Seeded::new(2);
    let (_, good) = server.with_cookie(peer(1), token(17, &mut chance));
    for flood in 0..2000u32 {
        let mut junk = good;
        // Within the nonce, the ciphertext, the tag or the Noise message.
        let at = [53, 80, 53 + 98, 570][flood as usize % 4];
        junk[at] ^= 1 + (flood / 4 % 255) as u8;
        assert!(matches!(server.receive(peer(1), &junk), Verdict::Dropped(_)));
    }
    let counters = server.gate.counters();
    assert_eq!(counters.key_agreements(), 0);
    assert_eq!(counters.dropped(DropReason::Limited), 2000 - 256);
    assert!(counters.dropped(DropReason::TokenForged) > 0);
    assert!(counters.dropped(DropReason::Unproven) > 0);
    assert!(server.asked.is_empty());
    // The token was not spent by any of it.
    server.now = millis(1000);
    server.accept(peer(1), &good);
}

#[test]
fn ten_thousand_that_never_speak_are_bounded_and_an_honest_client_still_joins() {
    const ENTRY_BYTES_MAX: u64 = 512;
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let config = GateConfig::new(PROTOCOL, TOKEN_KEY, TICKET_KEY, past);
    let max = config.half_open_max;
    let mut server = Server::with(1, config);
    let mut chance = Seeded::new(2);
    let hellos: Vec<_> = (0..10_000u32)
        .map(|i| server.with_cookie(peer(i), token(i.into(), &mut chance)).1)
        .collect();
    let mut evicted = 0;
    server.asked.reserve(10_100);
    let kept = measure(|| {
        for (hello, i) in hellos.iter().zip(0..) {
            evicted += usize::from(server.accept(peer(i), hello).evicted.is_some());
        }
    });
    assert_eq!((server.gate.half_open(), evicted), (max, 10_000 - max));
    // An ordered map is at least half full, and the applicants' names stay with this test.
    let asked_bytes = 3 * 10_000;
    let bound = 2 * max as u64 * (ENTRY_BYTES_MAX + 16) + asked_bytes;
    assert!(kept.bytes_current <= bound as i64, "{} of {bound}", kept.bytes_current);

    let started = server.now;
    let (mut accepted, mut connected) = server.connect(peer(77_777), token(77_777, &mut chance));
    assert_they_talk(&mut accepted, &mut connected);
    server.gate.confirm(77_777);
    assert!(server.gate.take_overdue(server.now).is_none());
    server.now = started + HALF_OPEN_TIMEOUT;
    let overdue = std::iter::from_fn(|| server.gate.take_overdue(server.now)).count();
    assert_eq!((overdue, server.gate.half_open()), (max - 1, 0));
}

#[test]
fn no_single_datagram_allocates_much() {
    let mut server = Server::new(1);
    server.asked.reserve(10);
    let token = token(17, &mut Seeded::new(2));
    let (_, hello) = server.with_cookie(peer(1), token);
    let mut verdict = None;
    // The dearest of all: it is accepted, and its owner gets two ciphers and an accept.
    let accepted = measure(|| verdict = Some(server.receive(peer(1), &hello)));
    assert!(matches!(verdict, Some(Verdict::Accepted(_))));
    // A first node of the map of half-open connections is made here, for eleven of them.
    assert!(accepted.bytes_current <= 4096 + 11 * 512, "{accepted:?}");
}

proptest! {
    #[test]
    fn nothing_a_stranger_sends_is_answered_with_more_or_taken_in(
        seed: u64,
        datagram in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..1500),
            proptest::collection::vec(any::<u8>(), 1200),
        ],
        flips in proptest::collection::vec((0..1200usize, any::<u8>()), 1..4),
        length in 0..1300usize,
    ) {
        let mut server = Server::new(seed);
        // `receive` asserts that the answer is no longer than the question and that sums close.
        server.receive(peer(1), &datagram);
        let (_, good) = server.with_cookie(peer(1), token(17, &mut Seeded::new(seed)));
        let mut changed = good.to_vec();
        for (at, byte) in flips {
            changed[at] ^= byte;
        }
        changed.resize(length.max(1199), 0);
        changed.truncate(length);
        if changed != good {
            prop_assert!(!matches!(server.receive(peer(1), &changed), Verdict::Accepted(_)));
            prop_assert_eq!(server.gate.counters().key_agreements(), 0);
        }
    }
}
