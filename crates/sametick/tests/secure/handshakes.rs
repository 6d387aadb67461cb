//! Who gets in, over networks that lose, repeat, reorder and lie.

use sametick::Time;
use sametick::secure::{
    ClientToken, Denial, DropReason, KNOCK_INTERVAL_MAX, KNOCK_TIMEOUT, Knock, Outcome, Place,
    ReplyKind, Verdict,
};

use super::common::*;

#[test]
fn a_client_with_a_token_connects_in_two_round_trips() {
    let mut server = Server::new(1);
    let token = token(17, &mut Seeded::new(2));
    let (mut accepted, mut connected) = server.connect(peer(1), token);
    assert_eq!((accepted.client_id, &*accepted.user_data), (17, b"Ann".as_slice()));
    assert_eq!(connected.connection_id, accepted.connection_id);
    assert_eq!((connected.connection_id.slot(), connected.tick), (3, 900));
    assert_they_talk(&mut accepted, &mut connected);
    let counters = server.gate.counters();
    assert_eq!((counters.received(), counters.key_agreements()), (2, 1));
}

#[test]
fn a_lost_accept_is_sent_again_and_makes_no_second_session() {
    let mut server = Server::new(1);
    let token = token(17, &mut Seeded::new(2));
    let (mut knock, hello) = server.with_cookie(peer(1), token);
    let mut accepted = server.accept(peer(1), &hello);
    let mut again = Vec::new();
    for resend in 1..=4 {
        server.now = millis(resend * 1000 + 100);
        let repeated = knock.transmit(server.now).expect("nothing came, so it knocks again");
        assert_eq!(repeated, hello);
        let Verdict::Reply(reply) = server.receive(peer(1), &repeated) else {
            panic!("the accept is sent again, even when its cookie is too old by now")
        };
        assert_eq!(reply.kind(), ReplyKind::AcceptAgain);
        again = reply.to_vec();
        assert_eq!(again, accepted.reply);
    }
    let mut connected = connected(knock.receive(server.now, &again));
    assert_they_talk(&mut accepted, &mut connected);
    assert_eq!(server.gate.counters().key_agreements(), 1);
    // Its address may have changed; a stranger who copied the hello can do nothing with the answer.
    let Verdict::Reply(reply) = server.receive(peer(2), &hello) else { panic!("the same again") };
    assert_eq!(*reply, accepted.reply);
    assert_eq!(server.gate.counters().key_agreements(), 1);
    // Once the client has spoken, its accept is forgotten; its hello is then that of a used token.
    server.gate.confirm(17);
    assert_eq!(server.gate.half_open(), 0);
    server.now = millis(0);
    assert_eq!(server.denial(peer(1), &hello).0, Denial::TokenUsed);
}

/// Datagrams, each with the millisecond at which it arrives.
type InFlight = Vec<(u64, Vec<u8>)>;

#[test]
fn over_bad_networks_clients_connect_once_and_both_ends_agree() {
    let mut slow = 0;
    for seed in 0..300 {
        let mut chance = Seeded::new(seed);
        let mut server = Server::new(seed);
        let token = token(17, &mut chance);
        let mut knock = Knock::new(token, server.now, &mut chance);
        // Both directions: loss of a fifth, one in ten twice, delays of 10 to 260 milliseconds.
        let (mut up, mut down) = (InFlight::new(), InFlight::new());
        let (mut sessions, mut outcome) = (Vec::new(), None);
        for now_millis in 0..5000 {
            server.now = millis(now_millis);
            let mut send = |queue: &mut InFlight, datagram: &[u8]| {
                let copies = [1, 0, 1, 1, 2, 1, 0, 1, 1, 1][chance.below(10) as usize];
                for _ in 0..copies {
                    queue.push((now_millis + 10 + chance.below(250), datagram.to_vec()));
                }
            };
            if let Some(hello) = knock.transmit(server.now) {
                send(&mut up, &hello);
            }
            for (_, datagram) in up.extract_if(.., |(due, _)| *due == now_millis) {
                match server.receive(peer(1), &datagram) {
                    Verdict::Dropped(_) => {}
                    Verdict::Reply(reply) => send(&mut down, &reply),
                    Verdict::Accepted(accepted) => {
                        send(&mut down, &accepted.reply);
                        sessions.push(accepted);
                    }
                }
            }
            for (_, datagram) in down.extract_if(.., |(due, _)| *due == now_millis) {
                outcome = knock.receive(server.now, &datagram).or(outcome);
            }
        }
        assert!(sessions.len() <= 1, "seed {seed}: a token lets one session in");
        match outcome {
            Some(Outcome::Connected(mut client)) => assert_they_talk(&mut sessions[0], &mut client),
            Some(Outcome::Denied(denial)) => panic!("seed {seed}: {denial:?}"),
            None => slow += 1,
        }
    }
    assert!(slow <= 3, "{slow} of 300 did not connect in 5 seconds");
}

#[test]
fn a_cookie_that_grew_old_on_the_way_is_replaced() {
    let mut server = Server::new(1);
    let token = token(17, &mut Seeded::new(2));
    let (mut knock, stale) = server.with_cookie(peer(1), token);
    // A retry that was on its way when the cookie came does not disturb the handshake.
    let other_cookie = {
        let mut early = stale;
        early[34..50].fill(0);
        early[565..613].fill(0);
        server.now = millis(4000);
        server.retry(peer(1), &early)
    };
    assert!(knock.receive(millis(2900), &other_cookie).is_none());
    assert_eq!(knock.transmit(millis(2900)), Some(stale));
    // The server restarts its cookies; the hello in hand is worth nothing any more.
    server.gate.rotate_cookie_secret(server.now, &mut server.random);
    server.gate.rotate_cookie_secret(server.now, &mut server.random);
    let retry = server.retry(peer(1), &stale);
    assert!(knock.receive(millis(4001), &retry).is_none());
    let fresh = knock.transmit(millis(4001)).expect("a new cookie is shown at once");
    assert_ne!(fresh[565..597], stale[565..597], "no ephemeral key serves two handshakes");
    let accepted = server.accept(peer(1), &fresh);
    connected(knock.receive(millis(4002), &accepted.reply));
}

#[test]
fn a_client_knocks_ever_more_slowly_and_gives_up_in_time() {
    let mut random = Seeded::new(1);
    let mut knock = Knock::new(token(17, &mut random), millis(0), &mut random);
    let (mut sent_at, mut now) = (Vec::new(), millis(0));
    while let Some(wake) = knock.next_wake().filter(|_| !knock.timed_out(now)) {
        now = wake;
        if knock.transmit(now).is_some() {
            sent_at.push(now.as_micros() / 1000);
        }
        assert!(knock.transmit(now).is_none(), "once is enough");
    }
    assert_eq!(sent_at, [0, 200, 600, 1400, 2400, 3400, 4400]);
    assert_eq!(now, Time::from_micros(0) + KNOCK_TIMEOUT);
    assert!(KNOCK_INTERVAL_MAX < KNOCK_TIMEOUT);
    assert!(knock.transmit(now).is_none());
}

#[test]
fn even_hellos_cost_600_ms_for_three_lost_ones_and_grow_apart_after_their_time() {
    let mut server = Server::new(1);
    let mut random = Seeded::new(2);
    let knock = Knock::new(token(17, &mut random), millis(0), &mut random);
    let mut knock = knock.evenly_until(millis(2_000));
    let hello = knock.transmit(millis(0)).expect("the first is due at once");
    let retry = server.retry(peer(1), &hello);
    // The cookie arrives after 100 ms; all that follows is lost.
    assert!(knock.receive(millis(100), &retry).is_none());
    let (mut sent_at, mut now) = (Vec::new(), millis(100));
    while !knock.timed_out(now) {
        sent_at.extend(knock.transmit(now).map(|_| now.as_micros() / 1000));
        assert!(knock.transmit(now).is_none(), "once is enough");
        now = knock.next_wake().expect("it is not over");
    }
    let even: Vec<u64> = (100..=2_100).step_by(200).collect();
    assert_eq!(sent_at, [even, vec![2_300, 2_700, 3_500, 4_500]].concat());
}

#[test]
fn junk_and_forgeries_do_not_disturb_a_client() {
    let mut server = Server::new(1);
    let mut chance = Seeded::new(3);
    let token = token(17, &mut chance);
    let mut knock = Knock::new(token, server.now, &mut chance);
    let hello = knock.transmit(server.now).expect("due");
    let now = server.now;
    let retry = server.retry(peer(1), &hello);
    let mut disturb = |knock: &mut Knock, original: &[u8]| {
        for bit in 0..original.len() * 8 {
            // A cookie is a server's own affair: a changed one cannot be told from a true one.
            if original.len() == retry.len() && bit / 8 >= 10 {
                continue;
            }
            let mut forged = original.to_vec();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(knock.receive(now, &forged).is_none(), "bit {bit}");
        }
        for _ in 0..1000 {
            let mut junk = vec![0; chance.below(600) as usize];
            sametick::secure::Random::fill(&mut chance, &mut junk);
            for kind in 0x81..=0x85 {
                if junk.len() > 10 {
                    (junk[0], junk[1]) = (kind, 1);
                    junk[2..10].copy_from_slice(&original[2..10]);
                    if junk.len() == retry.len() && kind == 0x82 {
                        continue;
                    }
                }
                assert!(knock.receive(now, &junk).is_none());
            }
        }
    };
    disturb(&mut knock, &retry);
    assert!(knock.receive(now, &retry).is_none());
    let hello = knock.transmit(now).expect("due");
    let accepted = server.accept(peer(1), &hello);
    disturb(&mut knock, &accepted.reply);
    connected(knock.receive(now, &accepted.reply));
    assert!(knock.receive(now, &accepted.reply).is_none(), "a knock ends once");
}

#[test]
fn the_owner_decides_about_those_who_are_genuine_and_only_them() {
    let mut server = Server::new(1);
    let token = token(17, &mut Seeded::new(2));
    let (_, mut forged) = server.with_cookie(peer(1), token.clone());
    forged[60] ^= 1;
    assert_eq!(server.drop_reason(peer(1), &forged), DropReason::TokenForged);
    assert!(server.asked.is_empty());
    for denial in [Denial::ServerFull, Denial::Unwelcome] {
        server.place = Err(denial);
        let (mut knock, hello) = server.with_cookie(peer(1), token.clone());
        let (denied, bytes) = server.denial(peer(1), &hello);
        assert_eq!(denied, denial);
        let outcome = knock.receive(server.now, &bytes);
        assert!(matches!(outcome, Some(Outcome::Denied(reason)) if reason == denial));
    }
    assert_eq!((server.asked.len(), server.asked[0].client_id), (2, 17));
    assert_eq!(server.gate.counters().key_agreements(), 0);
    // A denial spends no token: when a slot is free the same one lets the client in.
    server.place = Ok(Place { slot: 9, tick: 1 });
    assert_eq!(server.connect(peer(1), token).1.connection_id.slot(), 9);
}

#[test]
fn an_eavesdropper_can_neither_use_nor_spend_what_it_copies() {
    let mut server = Server::new(1);
    let mut random = Seeded::new(2);
    let token = token(17, &mut random);
    let (mut knock, hello) = server.with_cookie(peer(1), token.clone());
    // It has a cookie for its own address and everything of the hello but the shared key.
    let copied = ClientToken { psk: sametick::secure::Secret::from_bytes([9; 32]), ..token };
    let (_, own) = server.with_cookie(peer(2), copied);
    assert_eq!(server.drop_reason(peer(2), &own), DropReason::Unproven);
    let mut spliced = hello;
    spliced[34..50].copy_from_slice(&own[34..50]);
    assert_eq!(server.drop_reason(peer(2), &spliced), DropReason::Unproven);
    server.retry(peer(2), &hello);
    assert_eq!(server.gate.counters().key_agreements(), 0);
    let accepted = server.accept(peer(1), &hello);
    connected(knock.receive(server.now, &accepted.reply));
}
