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

/// What the holder of the keys makes of a payload under this number and flags.
fn sealed(sender: Side, number: u64, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (mut sealer, _) = Protection::Sealed(keys()).split_at(sender, ID, number);
    let mut datagram = vec![0; sealer.header_bytes() + payload.len() + sealer.tag_bytes()];
    datagram[sealer.header_bytes()..][..payload.len()].copy_from_slice(payload);
    let done = sealer.seal_in_place(number, flags, &mut datagram);
    done.expect("a number that was opened can be sealed");
    datagram
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
    let mut sent: Vec<Vec<u8>> = Vec::new();
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
                sent.push(datagram);
            }
            continue;
        }
        let index = usize::from(script.byte());
        let known = sent.get(index % sent.len().max(1)).filter(|_| operation % 4 < 3);
        let mut datagram = known.cloned().unwrap_or_else(|| script.string().to_vec());
        if operation % 4 == 2 {
            script.damage(&mut datagram);
        }
        let copy = datagram.clone();
        let forgeries = opener.forgeries();
        match opener.open_in_place(&mut datagram) {
            Ok(packet) => {
                // The keys are known here, so the input may hold a packet that it sealed itself.
                let again = sealed(sender, packet.number, packet.flags, packet.payload);
                assert_eq!(again, copy, "a packet that nobody could have sealed");
                assert!(passed.insert(packet.number), "{} passed twice", packet.number);
                assert_eq!(packet.payload.len() + sealer.header_bytes() + 16, copy.len());
            }
            Err(Refusal::Forged) => assert_eq!(opener.forgeries(), forgeries + 1),
            Err(_) => assert_eq!(opener.forgeries(), forgeries),
        }
    }
});
