//! Table B: what arrives sizes nothing, loops over nothing and breaks nothing.

use super::bodies;
use super::town::Town;
use allocation_counter::measure;
use sametick::channel::{
    CHANNEL_MEMORY_BYTES_MAX, Channel, CloseReason, RELIABLE_BACKLOG_BYTES_MAX, Settings, State,
};
use sametick::network::{Conditions, Jitter};
use sametick::{Dice, Span, Time};

fn channel() -> Channel {
    Channel::new(Settings::default(), Time::ZERO, 1)
}

/// What any one packet can make us allocate: an unreliable message in pieces has its room from the
/// first piece on.
const PACKET_ALLOCATES_BYTES_MAX: i64 = 20 * 1024;

#[test]
fn length_or_count_from_the_wire_sizes_no_allocation() {
    let dice = &mut Dice::new(1, 1);
    let mut channel = channel();
    for number in 1..20_000 {
        let body = match dice.below(4) {
            0 => bodies::fragments(&[(1 + dice.below(60_000), false, dice.below(1025) as usize)]),
            1 => bodies::piece(dice.below(number + 1), dice.below(15)),
            2 => bodies::dependent(1 + dice.below(30_000), dice.below(1163) as usize),
            _ => {
                let mut junk = vec![0; dice.below(1177) as usize];
                dice.fill(&mut junk);
                // Without an acknowledgement, which would be found to be a lie.
                junk.first_mut().into_iter().for_each(|first| *first &= !3);
                junk
            }
        };
        let now = Time::from_millis(number);
        let used = measure(|| channel.receive(now, number, &body, &mut |_| {}));
        assert!(used.bytes_max as i64 <= PACKET_ALLOCATES_BYTES_MAX, "{used:?}");
        if channel.state() != State::Open {
            channel = self::channel();
        }
        assert!(channel.memory_bytes() <= CHANNEL_MEMORY_BYTES_MAX);
    }
}

#[test]
fn gapped_fragments_keep_memory_flat_for_ten_minutes() {
    let mut channel = channel();
    let mut held_after_a_second = 0;
    for number in 1..36_000 {
        // Every other fragment, one byte each, further and further ahead.
        let body = bodies::fragments(&[(2 * number + 1, false, 1), (2 * number + 3, true, 1)]);
        channel.receive(Time::from_micros(number * 16_667), number, &body, &mut |_| {});
        if number == 60 {
            held_after_a_second = channel.memory_bytes();
        }
    }
    assert_eq!(channel.state(), State::Open);
    assert!(channel.memory_bytes() <= held_after_a_second + 8_192, "{}", channel.memory_bytes());
}

#[test]
fn a_message_that_never_ends_closes_the_connection() {
    let mut channel = channel();
    for number in 1..100 {
        let body = bodies::fragments(&[(number - 1, false, 1024)]);
        channel.receive(Time::from_millis(number), number, &body, &mut |_| {});
        assert!(channel.memory_bytes() <= CHANNEL_MEMORY_BYTES_MAX);
    }
    assert_eq!(channel.state(), State::Closing(CloseReason::ProtocolViolation));
}

#[test]
fn a_queue_of_empty_messages_has_a_limit_too() {
    let mut channel = channel();
    let taken = (0..1_000_000).take_while(|_| channel.send_reliable(b"").is_ok()).count();
    assert!(taken <= RELIABLE_BACKLOG_BYTES_MAX / 100, "{taken}");
    (0..100).for_each(|token| channel.send_unreliable(token, &[1; 18_000]));
    assert!(channel.memory_bytes() <= CHANNEL_MEMORY_BYTES_MAX, "{}", channel.memory_bytes());
}

#[test]
fn truncated_at_every_byte_changes_nothing() {
    let mut town = Town::new(3, 1);
    town.run(Span::millis(500));
    town.is_watched = true;
    town.run(Span::millis(200));
    town.is_watched = false;
    assert!(town.seen.len() > 10);
    // The client falls silent; what it sends from here on is cut short on the way.
    let mut dialer = town.clients[0].dialer.take().expect("it is here");
    dialer.send_reliable(b"do not lose me").expect("there is room");
    let whole = dialer.transmit(town.now).expect("something is due").to_vec();
    let from = town.network.address(town.clients[0].host);
    let (taken, reliables) = (town.server.packets_taken(), town.reliables);
    for length in 0..whole.len() {
        town.hand_to_server(from, &mut whole[..length].to_vec());
    }
    assert_eq!((town.server.packets_taken(), town.reliables), (taken, reliables));
    town.hand_to_server(from, &mut whole.clone());
    assert_eq!((town.server.packets_taken(), town.reliables), (taken + 1, reliables + 1));
    assert!(town.left.is_empty());
}

#[test]
fn jitter_only_half_of_all_packets_out_of_order_loses_no_reliable_message() {
    let mut town = Town::new(4, 2);
    town.set_conditions(&Conditions {
        delay: Span::millis(20),
        jitter: Jitter::Uniform { width: Span::millis(30) },
        keep_order: false,
        reorder: 0.5,
        reorder_by: Span::millis(200),
        ..Conditions::PERFECT
    });
    town.run(Span::seconds(1));
    for message in 0..300u32 {
        let dialer = town.clients[0].dialer.as_mut().expect("it dials");
        dialer.send_reliable(&message.to_le_bytes()).expect("there is room");
        town.run(Span::millis(30));
    }
    town.run(Span::seconds(1));
    assert_eq!((town.reliables, town.left.len()), (300, 0));
}

#[test]
fn a_client_killed_a_hundred_times_costs_the_others_nothing() {
    let mut town = Town::new(5, 3);
    town.run(Span::seconds(1));
    for _ in 0..100 {
        // It vanishes in mid-sentence; nobody is told.
        town.clients[2].dialer = None;
        town.run(Span::millis(80));
        town.dial(2);
        let before: Vec<u64> = town.clients.iter().map(|client| client.unreliables).collect();
        town.run(Span::millis(320));
        for (client, before) in town.clients[..2].iter().zip(before) {
            assert!(client.unreliables - before >= 19, "one message each sixteen milliseconds");
        }
        assert!(town.here.len() <= 3);
    }
    assert!(town.clients[..2].iter().all(|client| client.left.is_empty()));
}
