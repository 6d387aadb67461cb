//! In the steady state UDP allocates nothing, conditioned or not.

use sametick::Span;
use sametick::network::{Conditions, Jitter, Loss};
use sametick_links::conditioner::Direction;
use sametick_links::{Conditioned, Link, UdpLink};

use crate::suite;

/// Sends bursts there and back, more than a batch, and says how many came back.
fn bursts(client: &mut impl Link, server: &mut impl Link, buffer: &mut Vec<u8>) -> u32 {
    let clock = suite::clock();
    let mut answered = 0;
    for _ in 0..20 {
        (0..40).for_each(|_| client.send(clock.now(), server.local(), &[1; 900]));
        client.flush(clock.now());
        for _ in 0..40 {
            let Some(peer) = suite::receive(server, &clock, buffer) else { break };
            server.send(clock.now(), peer, buffer);
        }
        server.flush(clock.now());
        for _ in 0..40 {
            answered += u32::from(suite::receive(client, &clock, buffer).is_some());
        }
    }
    answered
}

#[test]
fn udp_allocates_nothing_in_the_steady_state() {
    let mut server = UdpLink::bind(suite::local()).unwrap();
    let mut client = UdpLink::bind(suite::local()).unwrap();
    let mut buffer = Vec::new();
    bursts(&mut client, &mut server, &mut buffer);
    let mut answered = 0;
    let counted = allocation_counter::measure(|| {
        answered = bursts(&mut client, &mut server, &mut buffer);
    });
    assert_eq!((answered, counted.count_total), (800, 0));
}

#[test]
fn conditions_allocate_next_to_nothing_in_the_steady_state() {
    let mut server = UdpLink::bind(suite::local()).unwrap();
    let mut client = Conditioned::new(UdpLink::bind(suite::local()).unwrap(), 1);
    let jitter = Jitter::Uniform { width: Span::micros(200) };
    for direction in [Direction::Outbound, Direction::Inbound] {
        let loss = Loss::Random { probability: 0.0 };
        let conditions = Conditions { jitter: jitter.clone(), loss, ..Conditions::PERFECT };
        client.set_conditions(direction, conditions);
    }
    let mut buffer = Vec::new();
    let clock = suite::clock();
    let mut bursts = || {
        let mut answered = 0;
        for _ in 0..20 {
            (0..40).for_each(|_| client.send(clock.now(), server.local(), &[1; 900]));
            let mut echoed = 0;
            let mut back = 0;
            while back < 40 && clock.now() < sametick::Time::from_seconds(60) {
                client.wait(&clock, clock.now() + Span::micros(300));
                while let Some(peer) = server.receive(clock.now(), &mut buffer) {
                    server.send(clock.now(), peer, &buffer);
                    echoed += 1;
                }
                server.flush(clock.now());
                while client.receive(clock.now(), &mut buffer).is_some() {
                    back += 1;
                }
            }
            assert_eq!((echoed, back), (40, 40));
            answered += back;
        }
        answered
    };
    bursts();
    let mut answered = 0;
    let counted = allocation_counter::measure(|| answered = bursts());
    // The set of what is due next grows from nothing again whenever nothing is under way.
    let per_datagram = counted.count_total as f64 / f64::from(answered);
    assert!(per_datagram < 0.2, "{per_datagram}");
}
