//! Table C: who has a token and a key can still not take more than its share.

use super::bodies;
use super::town::Town;
use sametick::bits::BitWriter;
use sametick::channel::{
    BODY_BYTES_MAX, CHANNEL_MEMORY_BYTES_MAX, Channel, CloseReason, Event, RateLimits, Settings,
    State,
};
use sametick::network::{Conditions, Loss};
use sametick::{Peer, Span, Time};

/// Sends one packet, and gives its number.
fn transmit(channel: &mut Channel, now: Time) -> Option<(u64, usize)> {
    let mut body = BitWriter::fixed(BODY_BYTES_MAX);
    let number = channel.transmit(now, &mut body)?;
    Some((number, body.finish().expect("it fits").len()))
}

#[test]
fn ack_lying_about_what_was_never_sent_ends_the_connection() {
    for (first_number, ahead) in
        [(1, 1), (1, 5), (1, 32_000), (65_530, 100), (1 << 32, 1), ((1 << 32) - 3, 30_000)]
    {
        let settings = Settings { first_number, ..Settings::default() };
        let mut channel = Channel::new(settings, Time::ZERO, 1);
        channel.send_unreliable(1, b"a snapshot");
        let (number, _) = transmit(&mut channel, Time::ZERO).expect("due");
        let mut told = 0;
        let lie = bodies::acknowledgement(number + ahead, u32::MAX);
        let now = Time::from_millis(50);
        channel.receive(now, first_number, &lie, &mut |_| told += 1);
        assert_eq!(channel.state(), State::Closing(CloseReason::ProtocolViolation), "{ahead}");
        assert_eq!((told, channel.statistics().drops.packets_impossible), (0, 1));
    }
}

#[test]
fn ack_lying_about_what_did_not_arrive_is_found_out_and_never_gets_more_than_the_rate() {
    let rate = RateLimits { ceiling_bytes_per_second: 100_000, ..RateLimits::default() };
    let settings = Settings { rate, ..Settings::default() };
    let mut channel = Channel::new(settings, Time::ZERO, 7);
    let (mut bytes, mut packets) = (0, 0);
    for tick in 0..6_000u64 {
        let now = Time::from_micros(tick * 16_667);
        let mut newest = 0;
        (0..4).for_each(|_| channel.send_unreliable(tick as u32, &[1; 1_000]));
        while let Some((number, length)) = transmit(&mut channel, now) {
            (newest, bytes, packets) = (number, bytes + length + 51, packets + 1);
        }
        // Everything came, it says, without having looked.
        let lie = bodies::acknowledgement(newest, u32::MAX);
        channel.receive(now, tick + 1, &lie, &mut |_| {});
        assert!(bytes as u64 <= 100_000 * (tick / 60 + 1) + 1_300);
        if channel.state() != State::Open {
            assert!(packets <= 8_192, "{packets} packets until it was found out");
            return;
        }
    }
    panic!("who acknowledges everything acknowledges a number that was never used");
}

#[test]
fn never_acknowledging_client_is_cut_off_at_a_bounded_cost() {
    let mut channel = Channel::new(Settings::default(), Time::ZERO, 1);
    let mut is_backlogged = false;
    for tick in 0..3_600u64 {
        let now = Time::from_micros(tick * 16_667);
        is_backlogged |= channel.send_reliable(&[5; 300]).is_err();
        channel.send_unreliable(tick as u32, &[6; 400]);
        while transmit(&mut channel, now).is_some() {}
        // A ping, with no acknowledgement.
        channel.receive(now, tick + 1, &[0b0000_0100], &mut |_| {});
        channel.advance(now, &mut |event| assert!(matches!(event, Event::Lost(_))));
        assert!(channel.memory_bytes() <= CHANNEL_MEMORY_BYTES_MAX);
    }
    assert!(is_backlogged, "its owner is told, and closes it");
    assert_eq!(channel.state(), State::Open);
}

#[test]
fn never_acknowledging_client_does_not_hold_up_the_others() {
    let mut town = Town::new(6, 3);
    town.run(Span::millis(500));
    let (server, mute) = (town.server_host, town.clients[0].host);
    // It is heard, but nothing reaches it: for the server it never acknowledges.
    town.network.cut(server, mute);
    let connection = town.connection_of(1).expect("it is here");
    for _ in 0..600 {
        if town.server.send_reliable(connection, &[1; 1_000]).is_err() {
            town.server.close(town.now, connection, CloseReason::Backlogged);
        }
        let before: Vec<u64> = town.clients[1..].iter().map(|c| c.unreliables).collect();
        town.run(Span::millis(16));
        let after: Vec<u64> = town.clients[1..].iter().map(|c| c.unreliables).collect();
        assert!(after.iter().zip(before).all(|(after, before)| *after > before));
    }
    assert_eq!(town.left, [(1, CloseReason::Backlogged)]);
}

#[test]
fn reliable_flood_is_handed_out_and_not_kept() {
    let mut channel = Channel::new(Settings::default(), Time::ZERO, 1);
    let mut told = 0;
    for number in 1..20_000u64 {
        let first = (number - 1) * 64;
        let flood: Vec<(u64, bool, usize)> =
            (first..first + 64).map(|sequence| (sequence, true, 10)).collect();
        let now = Time::from_micros(number * 100);
        channel.receive(now, number, &bodies::fragments(&flood), &mut |_| told += 1);
        while transmit(&mut channel, now).is_some() {}
    }
    assert_eq!(told, 64 * 19_999);
    assert!(channel.memory_bytes() < 64 * 1024, "{}", channel.memory_bytes());
}

#[test]
fn rebinding_every_five_seconds_under_a_fifth_of_loss_disconnects_nobody() {
    let mut town = Town::new(7, 3);
    town.run(Span::seconds(1));
    town.lossy();
    for _ in 0..12 {
        town.run(Span::seconds(5));
        for client in 0..town.clients.len() {
            town.network.rebind(town.now, town.clients[client].host);
        }
    }
    assert_eq!((town.here.len(), town.left.len()), (3, 0));
    assert!(town.clients.iter().all(|client| client.left.is_empty()));
}

#[test]
fn address_hijack_by_replayed_packets_never_moves_the_path() {
    let mut town = Town::new(8, 1);
    town.run(Span::millis(500));
    town.is_watched = true;
    let thief = Peer::new([0x66; 16], 666);
    let connection = town.connection_of(1).expect("it is here");
    let home = town.server.peer(connection);
    for _ in 0..200 {
        town.run(Span::millis(16));
        for (_, datagram) in std::mem::take(&mut town.seen) {
            for _ in 0..3 {
                town.hand_to_server(thief, &mut datagram.clone());
            }
        }
        assert_eq!(town.server.peer(connection), home);
    }
    assert!(town.server.drops().replayed >= 500);
}

#[test]
fn a_new_address_gets_no_more_than_three_times_its_bytes_before_it_has_proved_itself() {
    let mut town = Town::new(9, 1);
    town.run(Span::millis(500));
    let client = town.clients[0].host;
    town.set_conditions(&Conditions {
        loss: Loss::Random { probability: 1.0 },
        ..Conditions::PERFECT
    });
    let mut dialer = town.clients[0].dialer.take().expect("it is here");
    let connection = town.connection_of(1).expect("it is here");
    town.network.rebind(town.now, client);
    town.now += Span::millis(300);
    let datagram = dialer.transmit(town.now).expect("a keep-alive is due").to_vec();
    let victim = Peer::new([0x77; 16], 777);
    town.hand_to_server(victim, &mut datagram.clone());
    assert_eq!(town.server.peer(connection), Some(victim));
    town.server.send_unreliable(connection, 1, &[1; 1_000]);
    let mut bytes = 0;
    for millis in 0..5_000 {
        let now = town.now + Span::millis(millis);
        while let Some((to, datagram)) = town.server.transmit(now) {
            assert_eq!(to, victim);
            bytes += datagram.len();
        }
        town.server.advance(now, &mut |_| {});
    }
    assert!(bytes <= 3 * datagram.len(), "{bytes} bytes for {}", datagram.len());
}
