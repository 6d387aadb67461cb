//! Arbitrary datagrams at a gate, and damaged hellos of a client that knows how to knock: no answer
//! is longer than its question, and nobody comes in with a hello that was changed.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use sametick::secure::{
    Applicant, ClientToken, Gate, GateConfig, Knock, Outcome, Past, Place, TokenKey, Verdict,
};
use sametick::{Peer, Span, Time};
use script::{Script, Seeded};
use std::sync::LazyLock;

const UNIX_SECONDS: u64 = 1_800_000_000;

static TOKEN: LazyLock<ClientToken> = LazyLock::new(|| {
    ClientToken::open_mode(7, 17, b"Ann", &mut Seeded::new(1)).expect("a short name")
});

fn gate(random: &mut Seeded) -> Gate {
    let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
    let config = GateConfig::new(7, TokenKey::PUBLISHED, TokenKey::from_bytes([9; 32]), past);
    Gate::new(config, Time::ZERO, random)
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let random = &mut Seeded::new(2);
    let mut gate = gate(random);
    let mut now = Time::ZERO;
    let mut knock = Knock::new(TOKEN.clone(), now, random);
    let peers = [Peer::from_ipv4([192, 0, 2, 7], 4000), Peer::from_ipv4([192, 0, 2, 8], 4000)];
    let (mut received, mut accepted) = (0, 0);
    for _ in 0..50 {
        if script.is_over() {
            break;
        }
        let operation = script.byte();
        now += Span::millis(u64::from(script.byte()) * 4);
        let hello = knock.transmit(now).filter(|_| operation % 2 == 0).map(Vec::from);
        let is_hello = hello.is_some();
        let mut datagram = hello.unwrap_or_else(|| script.string().to_vec());
        let is_genuine = is_hello && !script.damage(&mut datagram);
        let peer = peers[usize::from(operation / 2 % 8 == 7)];
        let unix_seconds = UNIX_SECONDS + now.as_micros() / 1_000_000;
        let admit = &mut |_: &Applicant| Ok(Place { slot: 3, tick: 900 });
        received += 1;
        let reply = match gate.receive(now, unix_seconds, peer, &datagram, random, admit) {
            Verdict::Dropped(_) => continue,
            Verdict::Reply(reply) => reply.to_vec(),
            Verdict::Accepted(new) => {
                assert!(is_genuine, "a changed hello was accepted");
                accepted += 1;
                new.reply
            }
        };
        assert!(reply.len() <= datagram.len(), "an answer longer than its question");
        // What belongs to another address never reaches this client.
        if peer == peers[0]
            && let Some(Outcome::Connected(_)) = knock.receive(now, &reply)
        {
            assert!(accepted > 0);
        }
    }
    assert_eq!(gate.counters().received(), received);
    assert_eq!(gate.counters().accepted(), accepted);
    assert!(gate.half_open() <= 1, "one client has one place");
});
