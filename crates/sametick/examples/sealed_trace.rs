//! A handshake and some thousand sealed packets from foreseeable randomness, and the hash of all their
//! bytes: the same natively and in wasm, where other code encrypts. `cargo xtask trace` compares them.

use sametick::channel::Settings;
use sametick::endpoint::{Dialer, DialerEvent, Listener, ListenerConfig, ListenerEvent};
use sametick::secure::{ClientToken, GateConfig, Past, Random, TokenKey};
use sametick::{Peer, Span, Time};

const PROTOCOL: u64 = 7;
const MESSAGES: u32 = 2_000;

/// Foreseeable, for a comparison only: SplitMix64.
struct Foreseeable(u64);

impl Random for Foreseeable {
    fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            part.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes()[..part.len()]);
        }
    }
}

/// FNV-1a.
fn mix(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

fn main() {
    let (random, mut now) = (&mut Foreseeable(1), Time::ZERO);
    let (here, there) = (Peer::from_ipv4([192, 0, 2, 1], 1), Peer::from_ipv4([192, 0, 2, 2], 2));
    let past = Past::Unknown { started_unix_seconds: 0 };
    let gate = GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, TokenKey::generate(random), past);
    let channel = Settings::default();
    let config =
        ListenerConfig { gate, channel, connections_max: 1, unix_seconds_at_zero: 1_800_000_000 };
    let mut listener = Listener::new(config, now, random);
    let token = ClientToken::open_mode(PROTOCOL, 17, b"Ann", random).expect("a short name");
    let mut dialer = Dialer::new(here, token, channel, now, random);

    let (mut hash, mut heard, mut sent) = (0xcbf2_9ce4_8422_2325, 0, 0);
    let mut connection = None;
    while heard < MESSAGES && now < Time::from_seconds(600) {
        now += Span::millis(10);
        dialer.advance(now, &mut |_| {});
        if dialer.is_connected() && sent < MESSAGES {
            dialer.send_unreliable(sent, &sent.to_le_bytes());
            sent += 1;
        }
        while let Some(datagram) = dialer.transmit(now) {
            let mut datagram = datagram.to_vec();
            mix(&mut hash, &datagram);
            let answer =
                listener.receive(now, there, &mut datagram, random, &mut |event| match event {
                    ListenerEvent::Connected { connection: id, .. } => connection = Some(id),
                    ListenerEvent::Message { .. } | ListenerEvent::Left { .. } => {}
                });
            if let Some(answer) = answer {
                mix(&mut hash, &answer);
                dialer.receive(now, &mut answer.to_vec(), &mut |_| {});
            }
        }
        listener.advance(now, &mut |_| {});
        if let Some(connection) = connection {
            listener.send_unreliable(connection, heard, &[heard as u8; 100]);
        }
        while let Some((_, datagram)) = listener.transmit(now) {
            let mut datagram = datagram.to_vec();
            mix(&mut hash, &datagram);
            dialer.receive(now, &mut datagram, &mut |event| {
                if let DialerEvent::Message(sametick::channel::Event::Unreliable(_)) = event {
                    heard += 1;
                }
            });
        }
    }
    assert_eq!(heard, MESSAGES, "everything arrives");
    let text = format!("sametick trace {hash:016x}");
    println!("{text}");
    // In wasm there is nowhere to print to: whoever runs it there looks for the text in its memory.
    text.leak();
}
