//! Packets of an established connection: taken once, unchanged, by the right end.

use allocation_counter::measure;
use sametick::secure::packet::{DOWN_HEADER_BYTES, PACKET_TAG_BYTES, UP_HEADER_BYTES};
use sametick::secure::{
    ConnectionId, Exhausted, Opener, PACKET_NUMBERS, Protection, REPLAY_WINDOW_PACKETS, Refusal,
    Sealer, Secret, SessionKeys, Side, TlsSession, connection_id_of, is_handshake,
};

use super::common::*;

const ID: ConnectionId = ConnectionId::new(3, 0x1234);

fn keys() -> SessionKeys {
    SessionKeys { up: Secret::from_bytes([1; 32]), down: Secret::from_bytes([2; 32]) }
}

/// A client that sends and a server that receives, or the other way round.
fn pair(sender: Side, first: u64) -> (Sealer, Opener) {
    let receiver = if sender == Side::Client { Side::Server } else { Side::Client };
    let (sealer, _) = Protection::Sealed(keys()).split_at(sender, ID, first);
    let (_, opener) = Protection::Sealed(keys()).split_at(receiver, ID, first);
    (sealer, opener)
}

fn opens(opener: &mut Opener, datagram: &[u8]) -> Result<u64, Refusal> {
    opener.open_in_place(&mut datagram.to_vec()).map(|packet| packet.number)
}

#[test]
fn a_header_costs_23_bytes_up_and_19_down() {
    let (mut up, _) = pair(Side::Client, 0x0102);
    let datagram = sealed(&mut up, b"hello");
    assert_eq!(datagram.len(), 5 + 23);
    assert_eq!(datagram[..7], [5, 3, 0, 0x34, 0x12, 0x02, 0x01]);
    assert_eq!(connection_id_of(&datagram), Some(ID));
    assert!(!is_handshake(&datagram));
    let (mut down, _) = pair(Side::Server, 0x0102);
    let datagram = sealed(&mut down, b"hello");
    assert_eq!(datagram.len(), 5 + 19);
    assert_eq!(datagram[..3], [5, 0x02, 0x01]);
    assert_eq!((UP_HEADER_BYTES, DOWN_HEADER_BYTES, PACKET_TAG_BYTES), (7, 3, 16));
}

#[test]
fn no_changed_bit_is_taken_and_none_moves_the_window() {
    for side in [Side::Client, Side::Server] {
        let (mut sealer, mut opener) = pair(side, 0);
        let captured: Vec<_> = (0..40).map(|i| sealed(&mut sealer, &[i; 30])).collect();
        for datagram in &captured {
            for bit in 0..datagram.len() * 8 {
                let mut forged = datagram.clone();
                forged[bit / 8] ^= 1 << (bit % 8);
                assert!(opens(&mut opener, &forged).is_err(), "bit {bit}");
            }
        }
        // Not even the first was pushed out, or marked as seen.
        for (number, datagram) in captured.iter().enumerate() {
            assert_eq!(opens(&mut opener, datagram), Ok(number as u64));
        }
        assert!(opener.forgeries() > 0);
    }
}

#[test]
fn no_packet_is_taken_twice() {
    let (mut sealer, mut opener) = pair(Side::Client, 0);
    let captured: Vec<_> = (0..3000).map(|_| sealed(&mut sealer, b"shoot")).collect();
    for (number, datagram) in captured.iter().enumerate() {
        assert_eq!(opens(&mut opener, datagram), Ok(number as u64));
    }
    for _ in 0..3 {
        for (number, datagram) in captured.iter().enumerate() {
            let in_window = number as u64 + REPLAY_WINDOW_PACKETS >= 3000;
            let refusal = if in_window { Refusal::Replayed } else { Refusal::TooOld };
            assert_eq!(opens(&mut opener, datagram), Err(refusal));
        }
    }
    assert_eq!(opens(&mut opener, &sealed(&mut sealer, b"shoot")), Ok(3000));
}

#[test]
fn packets_may_change_places_within_the_window() {
    let mut chance = Seeded::new(1);
    let (mut sealer, mut opener) = pair(Side::Server, 0);
    let mut packets: Vec<_> = (0..1024).map(|_| sealed(&mut sealer, b"tick")).collect();
    for i in (1..packets.len()).rev() {
        packets.swap(i, chance.below(i as u64 + 1) as usize);
    }
    for packet in &packets {
        assert!(opens(&mut opener, packet).is_ok());
        assert_eq!(opens(&mut opener, packet), Err(Refusal::Replayed));
    }
}

#[test]
fn numbers_pass_the_edges_of_16_and_32_bits() {
    for first in [(1 << 16) - 1000, (1 << 32) - 1000, PACKET_NUMBERS - 2000] {
        let (mut sealer, mut opener) = pair(Side::Client, first);
        for number in first..first + 2000 {
            // One in three is lost; at the edge a long silence of one side.
            let datagram = sealed(&mut sealer, b"walk");
            if number % 3 != 0 && !(first + 900..first + 1100).contains(&number) {
                assert_eq!(opens(&mut opener, &datagram), Ok(number));
                assert_eq!(opens(&mut opener, &datagram), Err(Refusal::Replayed));
            }
        }
    }
}

#[test]
fn a_sender_may_skip_up_to_half_a_lap() {
    let (mut sealer, mut opener) = pair(Side::Client, 0);
    for number in [0, 32_768, 65_000, 65_536 + 30_000] {
        let mut datagram = vec![0; 7 + 16];
        sealer.seal_in_place(number, 0, &mut datagram).unwrap();
        assert_eq!(opens(&mut opener, &datagram), Ok(number));
    }
}

#[test]
fn a_connection_ends_before_its_numbers_do() {
    let (mut sealer, mut opener) = pair(Side::Client, PACKET_NUMBERS - 1);
    let last = sealed(&mut sealer, b"last");
    assert_eq!(opens(&mut opener, &last), Ok(PACKET_NUMBERS - 1));
    let mut datagram = vec![0; 30];
    assert_eq!(sealer.seal_in_place(PACKET_NUMBERS, 0, &mut datagram), Err(Exhausted));
    datagram[5..7].fill(0);
    assert_eq!(opens(&mut opener, &datagram), Err(Refusal::Exhausted));
}

#[test]
#[should_panic(expected = "was used before")]
fn a_number_that_was_used_is_an_assertion() {
    let (mut sealer, _) = pair(Side::Client, 0);
    sealed(&mut sealer, b"once");
    let _ = sealer.seal_in_place(0, 0, &mut [0; 30]);
}

#[test]
fn directions_and_connections_do_not_mix() {
    let (mut sealer, _) = pair(Side::Client, 0);
    let datagram = sealed(&mut sealer, b"reflected");
    let (_, mut client) = Protection::Sealed(keys()).split(Side::Client, ID);
    assert_eq!(opens(&mut client, &datagram), Err(Refusal::Forged));
    let other = SessionKeys { up: Secret::from_bytes([3; 32]), ..keys() };
    let (_, mut server) = Protection::Sealed(other).split(Side::Server, ID);
    assert_eq!(opens(&mut server, &datagram), Err(Refusal::Forged));
}

#[test]
fn short_and_foreign_datagrams_are_malformed() {
    let (mut sealer, mut opener) = pair(Side::Client, 0);
    let datagram = sealed(&mut sealer, b"");
    for length in 0..datagram.len() {
        assert_eq!(opens(&mut opener, &datagram[..length]), Err(Refusal::Malformed));
        assert_eq!(connection_id_of(&datagram[..length]).is_some(), length >= 7);
    }
    let mut handshake = datagram.clone();
    handshake[0] |= 0x80;
    assert_eq!(opens(&mut opener, &handshake), Err(Refusal::Malformed));
    assert_eq!(connection_id_of(&handshake), None);
    assert_eq!(opens(&mut opener, &datagram), Ok(0));
}

#[test]
fn sealing_and_opening_allocate_nothing() {
    let (mut sealer, mut opener) = pair(Side::Client, 0);
    let mut datagram = [7; 7 + 100 + 16];
    let worked = measure(|| {
        for number in 0..100 {
            sealer.seal_in_place(number, 0, &mut datagram).unwrap();
            assert!(opener.open_in_place(&mut datagram).is_ok());
            assert!(opener.open_in_place(&mut datagram).is_err());
        }
    });
    assert_eq!(worked.count_total, 0, "{worked:?}");
}

#[test]
fn inside_tls_the_same_rules_hold_without_a_second_seal() {
    let tls = || Protection::Passthrough(TlsSession::vouched_for_by("webtransport"));
    let (mut sealer, _) = tls().split_at(Side::Client, ID, 65_000);
    let (_, mut opener) = tls().split_at(Side::Server, ID, 65_000);
    assert_eq!((sealer.tag_bytes(), sealer.key_id()), (0, 0));
    let first = sealed(&mut sealer, b"plain");
    assert_eq!(first.len(), 7 + 5);
    for number in 65_001..67_000 {
        assert_eq!(opens(&mut opener, &sealed(&mut sealer, b"walk")), Ok(number));
    }
    assert_eq!(opens(&mut opener, &first), Err(Refusal::TooOld));
    let recent = sealed(&mut sealer, b"walk");
    assert_eq!(opens(&mut opener, &recent), Ok(67_000));
    assert_eq!(opens(&mut opener, &recent), Err(Refusal::Replayed));
    assert_eq!(opens(&mut opener, &recent[..6]), Err(Refusal::Malformed));
}
