//! Table E: what breaks heals, in a stated time.

use super::town::Town;
use sametick::channel::CloseReason;
use sametick::network::Conditions;
use sametick::{Span, Time};

#[test]
fn client_drop_and_return_two_hundred_times_under_loss_is_one_session_at_every_step() {
    let mut town = Town::new(11, 1);
    town.clients[0].is_chatty = false;
    town.lossy();
    let mut returns = 0;
    for round in 0..200 {
        match town.clients[0].ticket.take().filter(|_| round % 2 == 0) {
            Some(ticket) => town.dial_with(0, ticket),
            None => town.dial(0),
        }
        for _ in 0..400 + round % 7 * 100 {
            town.step();
            assert!(town.server.connections().count() <= 1);
            assert_eq!(town.server.connections().count(), town.here.len());
        }
        returns += usize::from(!town.here.is_empty());
    }
    assert!(returns >= 190, "{returns} of 200 found the way back");
}

#[test]
fn livelock_an_asymmetric_cut_removes_the_one_and_nobody_else() {
    let mut town = Town::new(12, 3);
    town.run(Span::seconds(1));
    let (server, deaf) = (town.server_host, town.clients[0].host);
    town.network.cut(deaf, server);
    town.run(Span::millis(9_500));
    assert!(town.left.is_empty(), "a silent peer is not removed before its time");
    town.run(Span::seconds(2));
    assert_eq!(town.left, [(1, CloseReason::TimedOut)]);
    // It hears that it is gone, though nobody hears it.
    assert_eq!((town.here.len(), town.clients[1].left.len()), (2, 0));
    town.network.heal(deaf, server);
    town.clients[0].dialer = None;
    town.dial(0);
    town.run(Span::seconds(5));
    assert_eq!(town.here.len(), 3);
}

#[test]
fn server_crash_and_restart_is_noticed_in_a_round_trip_and_all_return_in_two_seconds() {
    let mut town = Town::new(13, 5);
    town.run(Span::seconds(1));
    for _ in 0..10 {
        let crashed = town.now;
        town.restart_server();
        while town.here.len() < 5 {
            town.step();
            for client in 0..town.clients.len() {
                let is_over = town.clients[client].dialer.as_ref().is_none_or(|d| d.is_over());
                if let Some(ticket) = town.clients[client].ticket.take_if(|_| is_over) {
                    town.dial_with(client, ticket);
                }
            }
            assert!(town.now - crashed <= Span::seconds(2));
        }
        town.run(Span::millis(300));
    }
    assert_eq!(town.here.len(), 5);
}

#[test]
fn overload_for_a_minute_disconnects_nobody_and_is_over_in_two_seconds() {
    let mut town = Town::new(14, 2);
    town.run(Span::seconds(1));
    // Ten thousand bytes a second, and twice as much to send.
    let narrow = Conditions {
        delay: Span::millis(20),
        bandwidth_bytes_per_second: Some(10_000),
        queue_bytes_max: 16 * 1024,
        overhead_bytes: 28,
        ..Conditions::PERFECT
    };
    town.set_conditions(&narrow);
    for _ in 0..1_200 {
        for (connection, _) in town.here.clone() {
            town.server.send_unreliable(connection, 1, &[1; 700]);
        }
        town.run(Span::millis(50));
    }
    assert_eq!((town.here.len(), town.left.len()), (2, 0));
    town.set_conditions(&Conditions { delay: Span::millis(20), ..Conditions::PERFECT });
    town.run(Span::seconds(2));
    let before = town.clients[0].unreliables;
    town.run(Span::seconds(1));
    assert!(town.clients[0].unreliables - before >= 55, "sixty-two a second were sent");
}

#[test]
fn suspend_a_client_that_sleeps_for_half_a_minute_is_gone_and_comes_back() {
    let mut town = Town::new(15, 2);
    town.run(Span::seconds(1));
    let asleep = town.clients[0].dialer.take();
    town.run(Span::seconds(30));
    assert_eq!(town.left, [(1, CloseReason::TimedOut)]);
    town.clients[0].dialer = asleep;
    town.run(Span::seconds(1));
    // Its own clock tells it, or the server does.
    assert_eq!(town.clients[0].left.len(), 1);
    let ticket = town.clients[0].ticket.take().expect("it was here");
    town.dial_with(0, ticket);
    town.run(Span::seconds(1));
    assert_eq!(town.here.len(), 2);
}

#[test]
fn clock_step_of_an_hour_ends_connections_at_most() {
    let mut town = Town::new(16, 2);
    town.run(Span::seconds(1));
    town.clients[0].is_chatty = false;
    town.now += Span::seconds(3_600);
    town.run(Span::seconds(1));
    for client in 0..2 {
        if town.clients[client].dialer.as_ref().is_none_or(|dialer| dialer.is_over()) {
            town.dial(client);
        }
    }
    town.run(Span::seconds(1));
    assert_eq!(town.here.len(), 2);
    // A clock that goes back stops time, and no more.
    town.now = Time::from_micros(town.now.as_micros() - 500_000);
    town.run(Span::seconds(2));
    assert_eq!(town.here.len(), 2);
}
