//! Any bodies to a channel that has sent things, as from a peer with keys and bad intentions: no
//! panic, memory within its bound, every packet accounted for, and a damaged one changes nothing.
#![no_main]

mod script;

use allocation_counter::measure;
use libfuzzer_sys::fuzz_target;
use sametick::bits::BitWriter;
use sametick::channel::{BODY_BYTES_MAX, Channel, Event, Settings, State};
use sametick::{Span, Time};
use script::Script;

/// What one connection may take whatever its other end sends.
const BYTES_MAX: i64 = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let mut body = BitWriter::fixed(BODY_BYTES_MAX);
    let mut taken_bytes = 0;
    let mut now = Time::from_seconds(1);
    let mut channel = Channel::new(Settings::default(), now, 1);
    channel.send_reliable(&[1; 3000]).expect("there is room");
    for token in 0..5 {
        channel.send_unreliable(token, &[2; 100]);
    }
    channel.send_unreliable(5, &[3; 5000]);
    transmit(&mut channel, now, &mut body);
    let mut number = 0;
    for _ in 0..200 {
        if script.is_over() {
            return;
        }
        let operation = script.byte();
        now += Span::millis(u64::from(operation % 16));
        number += 1 + u64::from(operation / 16 % 4);
        // Sometimes an old one, which the layer below lets pass once.
        let number = if operation >> 6 == 3 { u64::from(script.byte()) } else { number };
        let bytes = script.string();
        let before = (channel.state(), channel.statistics(), channel.backlog_bytes());
        let mut told = 0;
        let counted = measure(|| {
            channel.receive(now, number, bytes, &mut |event| {
                told += 1;
                if let Event::Reliable(bytes) | Event::Unreliable(bytes) = event {
                    assert!(bytes.len() <= 1 << 16);
                }
            });
        });
        taken_bytes += counted.bytes_current;
        assert!(taken_bytes <= BYTES_MAX, "{taken_bytes} bytes");
        let after = channel.statistics();
        assert!(after.adds_up());
        if after.drops.packets_malformed > before.1.drops.packets_malformed {
            assert_eq!((channel.state(), channel.backlog_bytes(), told), (before.0, before.2, 0));
        }
        if operation % 8 == 7 {
            let counted = measure(|| {
                channel.advance(now, &mut |_| {});
                transmit(&mut channel, now, &mut body);
            });
            taken_bytes += counted.bytes_current;
        }
        if matches!(channel.state(), State::Closed(_)) {
            return;
        }
    }
});

fn transmit(channel: &mut Channel, now: Time, body: &mut BitWriter) {
    for _ in 0..1000 {
        body.clear();
        if channel.transmit(now, body).is_none() {
            return;
        }
        assert!(body.finish().is_ok());
    }
    panic!("a channel sends without end");
}
