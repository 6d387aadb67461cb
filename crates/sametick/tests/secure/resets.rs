//! How a client learns that its server has forgotten it, and how nobody else can tell it so.

use sametick::secure::hello::RESET_BYTES;
use sametick::secure::{ConnectionId, RESET_INTERVAL, connection_id_of, is_handshake};

use super::common::*;

/// What a server does with a datagram of nobody it knows.
fn answer(server: &mut Server, from: u32, datagram: &[u8]) -> Option<Vec<u8>> {
    if is_handshake(datagram) {
        return match server.receive(peer(from), datagram) {
            sametick::secure::Verdict::Reply(reply) => Some(reply.to_vec()),
            _ => None,
        };
    }
    let id = connection_id_of(datagram)?;
    let reset = server.gate.reset_for(server.now, peer(from), id, datagram.len())?;
    assert!(reset.len() < datagram.len(), "a reset is shorter than its cause");
    Some(reset.to_vec())
}

#[test]
fn a_restarted_server_tells_its_clients_in_one_round_trip() {
    let mut server = Server::new(1);
    let (_, mut connected) = server.connect(peer(1), token(17, &mut Seeded::new(2)));
    let mut restarted = Server::new(9);
    let packet = sealed(&mut connected.sealer, b"walk");
    let reset = answer(&mut restarted, 1, &packet).expect("the connection is unknown");
    assert!(connected.opener.open_in_place(&mut reset.clone()).is_err());
    assert!(connected.reset_token.matches(&reset));
    for bit in 0..reset.len() * 8 {
        let mut forged = reset.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(!connected.reset_token.matches(&forged), "bit {bit}");
    }
    assert!(!connected.reset_token.matches(&reset[1..]) && !connected.reset_token.matches(&[]));
}

#[test]
fn nobody_can_collect_the_resets_of_others() {
    let mut server = Server::new(1);
    let (_, mut connected) = server.connect(peer(1), token(17, &mut Seeded::new(2)));
    let packet = sealed(&mut connected.sealer, b"walk");
    let mut restarted = Server::new(9);
    let reset = answer(&mut restarted, 2, &packet).expect("the connection is unknown");
    assert!(!connected.reset_token.matches(&reset), "it is for another address");
    restarted.now = millis(1000);
    let other = ConnectionId::new(3, 0xffff);
    let reset = restarted.gate.reset_for(restarted.now, peer(1), other, 100).expect("a reset");
    assert!(!connected.reset_token.matches(&reset), "it is for another connection");
}

#[test]
fn two_servers_pointed_at_each_other_fall_silent() {
    for length in [0, 1, 16, 17, 18, 23, 100, 1200] {
        for first in [0x00, 0x7f, 0x81, 0x82, 0x83, 0x84, 0x85, 0xff] {
            let mut servers = [Server::new(1), Server::new(2)];
            let (mut datagram, mut exchanged) = (Some(vec![first; length]), 0);
            while let Some(bytes) = datagram {
                exchanged += 1;
                assert!(exchanged <= 5, "{length} bytes of {first}");
                servers.iter_mut().for_each(|server| server.now = millis(exchanged * 1000));
                datagram = answer(&mut servers[exchanged as usize % 2], 1, &bytes);
            }
        }
    }
}

#[test]
fn resets_are_rare_and_never_answer_something_as_short() {
    let mut server = Server::new(1);
    let id = ConnectionId::new(1, 1);
    let mut reset = |micros, trigger_bytes| {
        let now = sametick::Time::from_micros(micros);
        server.gate.reset_for(now, peer(1), id, trigger_bytes).is_some()
    };
    for short in 0..=RESET_BYTES {
        assert!(!reset(0, short));
    }
    assert!(reset(0, RESET_BYTES + 1));
    let sent = (0..1_000_000).step_by(100).filter(|micros| reset(*micros, 100)).count();
    assert_eq!(sent as u64, 1_000_000 / RESET_INTERVAL.as_micros() - 1);
}
