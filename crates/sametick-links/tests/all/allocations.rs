//! In the steady state UDP allocates nothing.

use sametick_links::{Link, UdpLink};

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
