//! Genuine, damaged, repeated and invented packets in any order: each genuine one passes once.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use sametick::secure::{ConnectionId, Protection, Refusal, Secret, SessionKeys, Side};
use script::Script;
use std::collections::BTreeSet;

const ID: ConnectionId = ConnectionId::new(3, 0x1234);

fn keys() -> SessionKeys {
    SessionKeys { up: Secret::from_bytes([1; 32]), down: Secret::from_bytes([2; 32]) }
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let up = script.byte() % 2 == 0;
    // Numbers begin anywhere, the end of a lap and of all numbers included.
    let first = (u64::from(script.short()) << 33).saturating_sub(u64::from(script.byte()));
    let (sender, receiver) =
        if up { (Side::Client, Side::Server) } else { (Side::Server, Side::Client) };
    let (mut sealer, _) = Protection::Sealed(keys()).split_at(sender, ID, first);
    let (_, mut opener) = Protection::Sealed(keys()).split_at(receiver, ID, first);
    let mut sent: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut passed = BTreeSet::new();
    for _ in 0..200 {
        if script.is_over() {
            return;
        }
        let operation = script.byte();
        if operation % 4 == 0 {
            let number = sealer.next_number() + u64::from(script.short() % 3000);
            let payload = script.bytes(usize::from(operation / 4));
            let room = sealer.header_bytes() + payload.len() + sealer.tag_bytes();
            let mut datagram = vec![0; room];
            datagram[sealer.header_bytes()..][..payload.len()].copy_from_slice(payload);
            if sealer.seal_in_place(number, 0, &mut datagram).is_ok() {
                sent.push((number, datagram));
            }
            continue;
        }
        let index = usize::from(script.byte());
        let known = sent.get(index % sent.len().max(1)).filter(|_| operation % 4 < 3);
        let (number, mut datagram) = match known {
            Some((number, datagram)) => (Some(*number), datagram.clone()),
            None => (None, script.string().to_vec()),
        };
        let is_damaged = operation % 4 == 2 && script.damage(&mut datagram);
        let number = number.filter(|_| !is_damaged);
        let copy = datagram.clone();
        let forgeries = opener.forgeries();
        match opener.open_in_place(&mut datagram) {
            Ok(packet) => {
                let genuine = number.is_some() || sent.iter().any(|(_, sent)| *sent == copy);
                assert!(genuine, "a packet that nobody sealed");
                assert!(passed.insert(packet.number), "{} passed twice", packet.number);
                assert_eq!(packet.payload.len() + sealer.header_bytes() + 16, copy.len());
            }
            Err(Refusal::Forged) => assert_eq!(opener.forgeries(), forgeries + 1),
            Err(_) => assert_eq!(opener.forgeries(), forgeries),
        }
    }
});
