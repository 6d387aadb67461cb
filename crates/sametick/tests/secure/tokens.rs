//! What a token is good for, and what it is not: other times, games, servers, owners and uses.

use std::collections::BTreeSet;

use sametick::secure::{
    ClientToken, Denial, DropReason, Gate, GateConfig, Grant, LOG_WINDOW_SECONDS, Past, Resume,
    ServerId, TICKET_LIFETIME_SECONDS, TokenIssuer, TokenKey, TokenLog,
};

use super::common::*;

fn config(past: Past) -> GateConfig {
    GateConfig::new(PROTOCOL, TOKEN_KEY, TICKET_KEY, past)
}

#[test]
fn a_token_lets_in_once_from_whatever_address() {
    let mut server = Server::new(1);
    let mut random = Seeded::new(2);
    for client_id in 0..100 {
        let token = token(client_id, &mut random);
        server.connect(peer(client_id as u32), token.clone());
        for elsewhere in [client_id as u32, 1000 + client_id as u32] {
            let (mut knock, hello) = server.with_cookie(peer(elsewhere), token.clone());
            let (denial, bytes) = server.denial(peer(elsewhere), &hello);
            assert_eq!(denial, Denial::TokenUsed);
            assert!(knock.receive(server.now, &bytes).is_some());
        }
    }
    assert_eq!(server.gate.counters().key_agreements(), 100);
}

#[test]
fn after_a_restart_tokens_of_before_let_nobody_in() {
    let mut random = Seeded::new(2);
    let (used, unused) = (token(1, &mut random), token(2, &mut random));
    let mut server = Server::new(1);
    let (_, hello) = server.with_cookie(peer(1), used.clone());
    server.accept(peer(1), &hello);
    let saved = server.gate.token_log().save(server.now);

    // Without its log the server denies all that was issued before, used or not.
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS + 5 };
    let mut restarted = Server::with(9, config(past));
    restarted.unix_seconds += 5;
    restarted.retry(peer(1), &hello); // A captured hello fails by its cookie already.
    for token in [&used, &unused] {
        let (_, hello) = restarted.with_cookie(peer(1), token.clone());
        assert_eq!(restarted.denial(peer(1), &hello).0, Denial::TokenTooOld);
    }
    let issuer = TokenIssuer::new(TOKEN_KEY, PROTOCOL);
    let fresh = issuer.issue(&Grant::default(), UNIX_SECONDS + 5, &mut random).unwrap();
    restarted.connect(peer(1), fresh);

    // With its log it denies what was used and nothing else.
    let log = TokenLog::load(&saved, millis(0)).expect("it was saved whole");
    let mut restarted = Server::with(9, config(Past::Known(log)));
    restarted.unix_seconds += 5;
    let (_, hello) = restarted.with_cookie(peer(1), used);
    assert_eq!(restarted.denial(peer(1), &hello).0, Denial::TokenUsed);
    restarted.connect(peer(1), unused);
}

#[test]
fn a_used_token_stays_used_until_it_expires() {
    let mut random = Seeded::new(2);
    let issuer = TokenIssuer::new(TOKEN_KEY, PROTOCOL);
    let grant = Grant { lifetime_seconds: 300, ..Grant::default() };
    for used_at in [0, 100, LOG_WINDOW_SECONDS - 1, LOG_WINDOW_SECONDS] {
        let mut server = Server::new(1);
        (server.now, server.unix_seconds) = (millis(used_at * 1000), UNIX_SECONDS + used_at);
        let token = issuer.issue(&grant, server.unix_seconds, &mut random).unwrap();
        server.connect(peer(1), token.clone());
        for later in (used_at + 1..used_at + 300).step_by(13) {
            (server.now, server.unix_seconds) = (millis(later * 1000), UNIX_SECONDS + later);
            let (_, hello) = server.with_cookie(peer(1), token.clone());
            assert_eq!(server.denial(peer(1), &hello).0, Denial::TokenUsed, "{used_at}, {later}");
        }
        let (_, hello) = server.with_cookie(peer(1), token.clone());
        server.unix_seconds = UNIX_SECONDS + used_at + 300;
        assert_eq!(server.drop_reason(peer(1), &hello), DropReason::Expired);
    }
}

#[test]
fn tokens_of_another_time_game_key_or_server_are_refused() {
    let mut server = Server::new(1);
    let mut random = Seeded::new(2);
    let good = token(17, &mut random);
    let first_drop = |server: &mut Server, token: ClientToken| {
        let mut knock = sametick::secure::Knock::new(token, server.now, &mut Seeded::new(3));
        let hello = knock.transmit(server.now).expect("due");
        server.drop_reason(peer(1), &hello)
    };
    let mut other = good.clone();
    other.head.protocol_id += 1;
    assert_eq!(first_drop(&mut server, other), DropReason::Protocol);
    let mut other = good.clone();
    other.head.expires_unix_seconds = UNIX_SECONDS;
    assert_eq!(first_drop(&mut server, other), DropReason::Expired);
    let mut other = good.clone();
    other.head.expires_unix_seconds = UNIX_SECONDS + LOG_WINDOW_SECONDS + 1;
    assert_eq!(first_drop(&mut server, other), DropReason::ExpiryTooFar);

    // A longer life, another identity, or the backend's key guessed: the seal does not open.
    let mut longer = good.clone();
    longer.head.expires_unix_seconds += 1;
    let mut somebody = good.clone();
    somebody.head.client_id += 1;
    let issuer = TokenIssuer::new(TokenKey::from_bytes([9; 32]), PROTOCOL);
    let guessed = issuer.issue(&Grant::default(), UNIX_SECONDS, &mut random).unwrap();
    let open = ClientToken::open_mode(PROTOCOL, 17, b"", &mut random).unwrap();
    for forged in [longer, somebody, guessed] {
        let (_, hello) = server.with_cookie(peer(1), forged);
        assert_eq!(server.drop_reason(peer(1), &hello), DropReason::TokenForged);
    }
    assert_eq!(first_drop(&mut server, open), DropReason::ExpiryTooFar);

    let issuer = TokenIssuer::new(TOKEN_KEY, PROTOCOL);
    let grant = Grant { server: ServerId([5; 16]), ..Grant::default() };
    let elsewhere = issuer.issue(&grant, UNIX_SECONDS, &mut random).unwrap();
    let (_, hello) = server.with_cookie(peer(1), elsewhere.clone());
    assert_eq!(server.denial(peer(1), &hello).0, Denial::WrongServer);
    assert_eq!(server.gate.counters().key_agreements(), 0);
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let mut named = Server::with(4, GateConfig { server: ServerId([5; 16]), ..config(past) });
    named.connect(peer(1), elsewhere);
}

#[test]
fn open_mode_says_so_and_lets_in_who_makes_its_own_token_by_any_clock() {
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let open = GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, TICKET_KEY, past);
    let mut server = Server::with(1, open);
    assert!(server.gate.warning().is_some_and(|warning| warning.contains("not against impostors")));
    assert_eq!(Server::new(1).gate.warning(), None);
    for unix_seconds in [0, UNIX_SECONDS, u64::MAX - 1000] {
        server.unix_seconds = unix_seconds;
        let token = ClientToken::open_mode(PROTOCOL, 17, b"Ann", &mut server.random).unwrap();
        let (mut accepted, mut connected) = server.connect(peer(1), token.clone());
        assert_they_talk(&mut accepted, &mut connected);
        let (_, hello) = server.with_cookie(peer(2), token);
        assert_eq!(server.denial(peer(2), &hello).0, Denial::TokenUsed);
    }
}

#[test]
fn a_ticket_brings_a_client_back_to_its_slot_even_after_a_restart() {
    let mut server = Server::new(1);
    let (_, connected) = server.connect(peer(1), token(17, &mut Seeded::new(2)));
    let ticket = connected.resume;
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS + 60 };
    let mut restarted = Server::with(5, GateConfig { epoch: 1, ..config(past) });
    restarted.unix_seconds += 60;
    for (server, epoch_now) in [(&mut server, 0), (&mut restarted, 1)] {
        let (mut accepted, mut connected) = server.connect(peer(2), ticket.clone());
        assert_eq!(accepted.resume, Some(Resume { slot: 3, epoch: 0 }));
        assert_eq!((accepted.client_id, &*accepted.user_data), (17, b"Ann".as_slice()));
        assert_they_talk(&mut accepted, &mut connected);
        let (_, hello) = server.with_cookie(peer(2), ticket.clone());
        assert_eq!(server.denial(peer(2), &hello).0, Denial::TokenUsed);
        // The next ticket is as good, and tells the epoch it was given in.
        let (accepted, _) = server.connect(peer(3), connected.resume);
        assert_eq!(accepted.resume, Some(Resume { slot: 3, epoch: epoch_now }));
    }
}

#[test]
fn a_ticket_ends_and_needs_its_key() {
    let mut server = Server::new(1);
    let (_, connected) = server.connect(peer(1), token(17, &mut Seeded::new(2)));
    let ticket = connected.resume;
    let (_, hello) = server.with_cookie(peer(1), ticket.clone());
    server.unix_seconds += TICKET_LIFETIME_SECONDS;
    assert_eq!(server.drop_reason(peer(1), &hello), DropReason::Expired);
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let mut other = Server::with(4, GateConfig::new(PROTOCOL, TOKEN_KEY, TOKEN_KEY, past));
    let (_, hello) = other.with_cookie(peer(1), ticket);
    assert_eq!(other.drop_reason(peer(1), &hello), DropReason::TokenForged);
}

#[test]
fn no_key_serves_two_sessions_across_restarts_with_the_same_token() {
    let token = token(17, &mut Seeded::new(2));
    let mut key_ids = BTreeSet::new();
    for restart in 0..50 {
        // The worst case: the log is lost and nothing stands in for it.
        let past = Past::Unknown { started_unix_seconds: 0 };
        let mut server = Server::with(restart, config(past));
        let (accepted, connected) = server.connect(peer(1), token.clone());
        for key_id in [accepted.sealer.key_id(), connected.sealer.key_id()] {
            assert!(key_ids.insert(key_id), "restart {restart}: a key comes again");
        }
    }
}

#[test]
fn the_log_says_busy_before_it_forgets() {
    let mut log = TokenLog::new(millis(0), &mut Seeded::new(1));
    for id in 0..sametick::secure::LOG_TOKENS_MAX {
        log.insert(&id.to_le_bytes());
    }
    let mut server = Server::with(1, config(Past::Known(log)));
    let token = token(17, &mut Seeded::new(2));
    let (_, hello) = server.with_cookie(peer(1), token.clone());
    assert_eq!(server.denial(peer(1), &hello).0, Denial::Busy);
    server.now = millis(LOG_WINDOW_SECONDS * 1000);
    server.connect(peer(1), token);
}

#[test]
fn a_gate_can_be_moved_to_the_thread_that_serves_it() {
    fn is_send<T: Send>() {}
    is_send::<Gate>();
    is_send::<sametick::secure::Knock>();
    is_send::<sametick::secure::Accepted>();
}
