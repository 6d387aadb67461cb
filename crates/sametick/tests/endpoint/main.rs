//! Listener and dialer over a simulated network: joining, talking, rebinding, leaving, coming back.
#![cfg(feature = "secure")]

mod ids;
mod pair;
mod vouched;

use pair::{Pair, Told};
use sametick::channel::{CloseReason, UNRELIABLE_BYTES_MAX};
use sametick::network::{Conditions, Loss};
use sametick::secure::Denial;
use sametick::{Span, Time};

#[test]
fn a_client_joins_and_messages_go_both_ways() {
    let mut pair = Pair::new(1);
    pair.run(Span::millis(300));
    assert_eq!(pair.client_told, [Told::Connected]);
    assert_eq!(pair.server_told, [Told::Connected]);
    pair.client.send_reliable(b"hello").unwrap();
    pair.client.send_unreliable(1, b"a command");
    pair.server_send_reliable(b"welcome");
    pair.server_send_unreliable(5, b"a snapshot");
    pair.run(Span::millis(300));
    let [hello, command] = [Told::Reliable(b"hello".into()), Told::Unreliable(b"a command".into())];
    assert_eq!(pair.server_told[1..], [hello, command, Told::Delivered(5)]);
    let [welcome, snapshot] =
        [Told::Reliable(b"welcome".into()), Told::Unreliable(b"a snapshot".into())];
    assert_eq!(pair.client_told[1..], [welcome, snapshot, Told::Delivered(1)]);
}

#[test]
fn a_join_takes_three_round_trips_at_most() {
    let mut pair = Pair::new(2);
    pair.set_conditions(Conditions { delay: Span::millis(100), ..Conditions::PERFECT });
    pair.run_until(|pair| !pair.server_told.is_empty());
    assert!(pair.now <= Time::from_millis(700), "joined at {}", pair.now);
}

#[test]
fn a_long_unreliable_message_arrives_in_pieces() {
    let mut pair = Pair::new(3);
    pair.run(Span::millis(200));
    let long: Vec<u8> = (0..UNRELIABLE_BYTES_MAX).map(|i| i as u8).collect();
    pair.client.send_unreliable(1, &long);
    pair.run(Span::millis(200));
    assert_eq!(pair.server_told[1..], [Told::Unreliable(long)]);
    assert_eq!(pair.client_told[1..], [Told::Delivered(1)]);
}

#[test]
fn rebinding_costs_no_more_than_what_was_under_way() {
    let mut pair = Pair::new(4);
    pair.run(Span::millis(200));
    for round in 0..10u32 {
        pair.rebind_client();
        pair.client.send_reliable(&round.to_le_bytes()).unwrap();
        pair.server_send_reliable(&round.to_le_bytes());
        pair.run(Span::millis(1500));
    }
    let expected: Vec<Told> = (0..10u32).map(|i| Told::Reliable(i.to_le_bytes().into())).collect();
    assert_eq!(pair.server_told[1..], expected);
    assert_eq!(pair.client_told[1..], expected);
}

#[test]
fn a_quiet_client_at_a_new_address_is_spoken_to_within_two_round_trips_of_its_next_word() {
    let mut pair = Pair::new(41);
    pair.run(Span::seconds(1));
    pair.rebind_client();
    pair.server_send_reliable(&[7; 900]);
    // Until it is quiet no longer, and then a probe and its answer.
    pair.run(Span::millis(600));
    assert_eq!(pair.client_told[1..], [Told::Reliable([7; 900].into())]);
}

#[test]
fn a_client_whose_address_changes_before_it_hears_that_it_was_accepted_is_let_in() {
    let mut pair = Pair::new(42);
    pair.run_until(|pair| pair.half_open() == 1);
    // What was under way to the old address is lost.
    pair.rebind_client();
    pair.run(Span::seconds(2));
    assert_eq!(pair.client_told, [Told::Connected]);
    assert_eq!(pair.connections(), 1);
}

#[test]
fn what_is_said_before_the_server_has_let_us_in_is_said_then() {
    let mut pair = Pair::new(43);
    let mut taken = Vec::new();
    for number in 0..2000_u32 {
        let message = [number.to_le_bytes(); 64].concat();
        match pair.client.send_reliable(&message) {
            Ok(()) => taken.push(Told::Reliable(message)),
            Err(backlogged) => assert!(backlogged.waiting_bytes > 200_000),
        }
    }
    assert!((100..2000).contains(&taken.len()), "as much as a connection takes, and no more");
    pair.run(Span::seconds(10));
    assert_eq!(pair.server_told[1..], taken);
}

#[test]
fn what_arrives_is_acknowledged_however_long_a_round_trip_takes() {
    for (delay_ms, joins_with_ms) in [(550, 550), (700, 700), (1_500, 10), (4_000, 10)] {
        let mut pair = Pair::new(44);
        let delay = |ms| Conditions { delay: Span::millis(ms), ..Conditions::PERFECT };
        pair.set_conditions(delay(joins_with_ms));
        pair.run_until(|pair| pair.server_told == [Told::Connected]);
        pair.set_conditions(delay(delay_ms));
        for number in 0..600_u32 {
            pair.client.send_unreliable(number, b"a command");
            pair.run(Span::millis(33));
        }
        pair.client.send_reliable(&[7; 5_000]).unwrap();
        pair.server_send_reliable(&[8; 5_000]);
        pair.run(Span::millis(4 * delay_ms + 500));
        assert_eq!(pair.client.backlog_bytes(), 0, "to the server, {delay_ms} ms one way");
        assert_eq!(pair.server_backlog_bytes(), 0, "to the client, {delay_ms} ms one way");
        let is_delivered = |told: &&Told| matches!(told, Told::Delivered(_));
        let delivered = pair.client_told.iter().filter(is_delivered).count();
        assert!(delivered > 200, "{delivered} of 600 at {delay_ms} ms one way");
    }
}

#[test]
fn goodbye_says_why_to_the_other_end() {
    let mut pair = Pair::new(5);
    pair.run(Span::millis(200));
    pair.close_client(CloseReason::Left);
    pair.run(Span::millis(400));
    assert_eq!(pair.server_told[1..], [Told::Left(CloseReason::Left)]);
    assert_eq!(pair.client_told[1..], [Told::Left(CloseReason::Left)]);
    let mut pair = Pair::new(6);
    pair.run(Span::millis(200));
    pair.close_server(CloseReason::Kicked);
    pair.run(Span::millis(400));
    assert_eq!(pair.client_told[1..], [Told::Left(CloseReason::Kicked)]);
}

#[test]
fn a_goodbye_that_was_lost_is_said_again() {
    let mut pair = Pair::new(7);
    pair.run(Span::millis(200));
    pair.cut_to_client();
    pair.close_server(CloseReason::Kicked);
    pair.run(Span::millis(500));
    pair.heal_to_client();
    pair.run(Span::millis(1500));
    assert_eq!(pair.client_told[1..], [Told::Left(CloseReason::Kicked)]);
}

#[test]
fn a_silent_end_is_gone_after_the_time_out_and_not_before() {
    let mut pair = Pair::new(8);
    pair.run(Span::millis(200));
    pair.cut_both();
    pair.run(Span::millis(9500));
    assert_eq!(pair.server_told.len(), 1);
    pair.run(Span::millis(1000));
    assert_eq!(pair.server_told[1..], [Told::Left(CloseReason::TimedOut)]);
    assert_eq!(pair.client_told[1..], [Told::Left(CloseReason::TimedOut)]);
}

#[test]
fn a_restarted_server_tells_its_clients_in_a_round_trip() {
    let mut pair = Pair::new(9);
    pair.run(Span::millis(200));
    pair.restart_server();
    pair.run(Span::millis(600));
    assert_eq!(pair.client_told[1..], [Told::Left(CloseReason::Reset)]);
    // The ticket of the last session opens the new server too.
    pair.redial_with_ticket();
    pair.run(Span::millis(400));
    assert_eq!(pair.client_told[2..], [Told::Connected]);
}

#[test]
fn the_same_player_again_replaces_the_older_session() {
    let mut pair = Pair::new(10);
    pair.run(Span::millis(200));
    pair.redial_with_ticket();
    pair.run(Span::millis(400));
    assert_eq!(pair.server_told[1..], [Told::Left(CloseReason::Replaced), Told::Connected]);
    assert_eq!(pair.connections(), 1);
}

#[test]
fn a_full_server_says_so() {
    let mut pair = Pair::new(11);
    pair.run(Span::millis(200));
    for stranger in 0..pair::CONNECTIONS - 1 {
        pair.redial_as(100 + stranger as u64);
        pair.run(Span::millis(200));
    }
    assert_eq!(pair.connections(), pair::CONNECTIONS);
    pair.redial_as(999);
    pair.run(Span::millis(200));
    assert_eq!(pair.client_told.last(), Some(&Told::Denied(Denial::ServerFull)));
}

#[test]
fn a_fifth_of_all_packets_lost_loses_no_reliable_message() {
    let mut pair = Pair::new(12);
    pair.set_conditions(Conditions {
        delay: Span::millis(40),
        loss: Loss::Random { probability: 0.2 },
        ..Conditions::PERFECT
    });
    pair.run(Span::seconds(3));
    for i in 0..300u32 {
        pair.server_send_reliable(&i.to_le_bytes());
        pair.run(Span::millis(20));
    }
    pair.run(Span::seconds(5));
    let reliable = |told: &&Told| matches!(told, Told::Reliable(_));
    let received: Vec<Told> = pair.client_told.iter().filter(reliable).cloned().collect();
    let expected: Vec<Told> = (0..300u32).map(|i| Told::Reliable(i.to_le_bytes().into())).collect();
    assert_eq!(received, expected);
}

#[test]
fn an_end_that_is_over_says_so_once_and_asks_for_nothing() {
    let mut pair = Pair::new(13);
    pair.run(Span::millis(200));
    pair.close_client(CloseReason::Left);
    pair.run(Span::millis(400));
    // The server has forgotten everything, and says so to whoever still speaks.
    pair.restart_server();
    pair.run(Span::seconds(5));
    assert_eq!(pair.client_told[1..], [Told::Left(CloseReason::Left)]);
    assert_eq!(pair.client.next_wake(), Time::MAX);
    assert!(pair.client.is_over());
}

#[test]
fn a_client_that_moved_and_went_silent_can_still_be_removed() {
    let mut pair = Pair::new(13);
    pair.run(Span::millis(200));
    pair.rebind_client();
    pair.client.send_unreliable(1, b"!");
    pair.run_until(|pair| pair.server_told.len() == 2);
    pair.cut_both();
    // The new address has not proved itself, so that few goodbyes may be sent to it.
    pair.close_server(CloseReason::Kicked);
    pair.run(Span::seconds(1));
    assert_eq!(pair.server_told[2..], [Told::Left(CloseReason::Kicked)]);
}

#[test]
fn a_server_that_may_not_speak_sleeps() {
    let mut pair = Pair::new(14);
    pair.run(Span::millis(200));
    pair.rebind_client();
    pair.client.send_unreliable(1, b"from a new address, once");
    pair.run_until(|pair| pair.server_told.len() == 2);
    pair.cut_both();
    for token in 0..8 {
        pair.server_send_unreliable(token, &[7; 200]);
    }
    pair.run(Span::millis(5));
    assert!(pair.server_next_wake() > pair.now, "{} at {}", pair.server_next_wake(), pair.now);
}

#[test]
fn who_comes_to_a_full_server_throws_nobody_out() {
    let mut pair = Pair::new(21);
    pair.run(Span::millis(200));
    let ticket = pair.ticket();
    for stranger in 0..pair::CONNECTIONS - 1 {
        pair.redial_as(100 + stranger as u64);
        pair.run(Span::millis(200));
    }
    // One of those who are here knocks again and is half-open when a newcomer comes.
    pair.redial_with(ticket);
    pair.run(Span::millis(35));
    let told = pair.server_told.len();
    pair.redial_as(999);
    pair.run(Span::seconds(1));
    assert_eq!(pair.client_told.last(), Some(&Told::Denied(Denial::ServerFull)));
    assert_eq!(pair.server_told.len(), told, "nobody noticed: {:?}", &pair.server_told[told..]);
    assert_eq!(pair.connections(), pair::CONNECTIONS);
}

#[test]
fn the_older_session_hears_why_it_ended() {
    let mut pair = Pair::new(22);
    pair.run(Span::millis(200));
    let old = pair.redial_beside(1);
    pair.run_both(Span::millis(600), old, |told| {
        assert_eq!(told, [Told::Left(CloseReason::Replaced)]);
    });
}
