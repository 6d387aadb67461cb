//! What only connections can do wrong: strange lengths, half frames, silence, ends, too many.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::suite::{self, exchange, local, receive};
use sametick::{Peer, Span, Time};
use sametick_links::tcp::{BACKLOG_BYTES_MAX, UNFINISHED_MAX};
use sametick_links::{Clock, Departure, Link, Reason, TcpLink, address_of, peer_at};

fn server() -> TcpLink {
    TcpLink::listen(local()).expect("the loopback has a free port")
}

fn raw(server: &TcpLink) -> (TcpStream, Peer) {
    let stream = TcpStream::connect(address_of(server.local())).expect("the server listens");
    let peer = peer_at(stream.local_addr().expect("a connection has two addresses"));
    (stream, peer)
}

/// Runs the link until somebody departs; nothing may be received meanwhile.
fn departure(link: &mut TcpLink, clock: &Clock) -> Departure {
    let deadline = clock.now() + Span::seconds(20);
    let mut datagram = Vec::new();
    while clock.now() < deadline {
        assert_eq!(link.receive(clock.now(), &mut datagram), None);
        if let Some(departure) = link.departed() {
            return departure;
        }
        link.wait(clock, deadline);
    }
    panic!("nobody departs");
}

/// Whether the other end closes, however it does.
fn is_closed(mut stream: TcpStream) -> bool {
    let patience = Some(std::time::Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("streams have time-outs");
    match stream.read(&mut [0; 16]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn an_impossible_length_closes_that_connection_only() {
    let clock = suite::clock();
    let mut server = server();
    let mut honest = TcpLink::connect(server.local()).unwrap();
    exchange(&mut honest, &mut server, b"before");
    let mut datagram = Vec::new();
    for header in [[0xb1, 0x04], [0xff, 0xff], [0x00, 0x80]] {
        let (mut stream, peer) = raw(&server);
        stream.write_all(&[2, 0, 1, 2]).unwrap();
        stream.write_all(&header).unwrap();
        assert_eq!(receive(&mut server, &clock, &mut datagram), Some(peer));
        assert_eq!(datagram, [1, 2]);
        let reason = Reason::Hostile;
        assert_eq!(departure(&mut server, &clock), Departure { peer, reason });
        assert!(is_closed(stream));
        exchange(&mut honest, &mut server, b"still here");
    }
    assert_eq!(server.peers().count(), 1);
    assert!(server.statistics().closes());
}

#[test]
fn a_frame_may_come_byte_by_byte() {
    let clock = suite::clock();
    let mut server = server();
    let (mut stream, peer) = raw(&server);
    stream.set_nodelay(true).unwrap();
    let mut datagram = Vec::new();
    for byte in [3, 0, 7, 8] {
        stream.write_all(&[byte]).unwrap();
        server.wait(&clock, clock.now() + Span::millis(1));
        assert_eq!(server.receive(clock.now(), &mut datagram), None);
    }
    stream.write_all(&[9]).unwrap();
    assert_eq!(receive(&mut server, &clock, &mut datagram), Some(peer));
    assert_eq!(datagram, [7, 8, 9]);
}

#[test]
fn who_never_finishes_a_frame_is_turned_out() {
    let mut server = server();
    let mut datagram = Vec::new();
    let (silent, _) = raw(&server);
    let (mut slow, _) = raw(&server);
    slow.write_all(&[200, 0, 1]).unwrap();
    let (mut once, once_peer) = raw(&server);
    once.write_all(&[0, 0, 9]).unwrap();
    let mut honest = TcpLink::connect(server.local()).unwrap();
    honest.send(Time::ZERO, server.local(), b"whole");
    honest.flush(Time::ZERO);
    // All time is handed in, and stands still until all four are here and two were heard.
    let mut heard = 0;
    while heard < 2 || server.peers().count() < 4 {
        heard += usize::from(server.receive(Time::ZERO, &mut datagram).is_some());
    }
    assert_eq!(server.next_wake(), Some(Time::ZERO + UNFINISHED_MAX));
    let just_before = Time::ZERO + UNFINISHED_MAX - Span::micros(1);
    assert_eq!(server.receive(just_before, &mut datagram), None);
    assert_eq!(server.peers().count(), 4);
    // The rest of its second frame may arrive only now; then it has as long again.
    assert_eq!(server.receive(Time::ZERO + UNFINISHED_MAX, &mut datagram), None);
    assert!(is_closed(silent) && is_closed(slow));
    assert_eq!(server.receive(Time::ZERO + UNFINISHED_MAX * 3, &mut datagram), None);
    assert_eq!(server.receive(Time::ZERO + UNFINISHED_MAX * 6, &mut datagram), None);
    assert_eq!(server.peers().collect::<Vec<_>>(), [honest.local()]);
    // Of those, one had been heard of.
    let expected = Departure { peer: once_peer, reason: Reason::Silent };
    assert_eq!((server.departed(), server.departed()), (Some(expected), None));
    exchange(&mut honest, &mut server, b"and after all that");
}

#[test]
fn what_was_sent_before_an_end_is_received_before_it() {
    let clock = suite::clock();
    let mut server = server();
    let mut client = TcpLink::connect(server.local()).unwrap();
    let peer = client.local();
    (0..40_u8).for_each(|index| client.send(clock.now(), server.local(), &[index; 1000]));
    client.flush(clock.now());
    drop(client);
    let mut datagram = Vec::new();
    for index in 0..40_u8 {
        assert_eq!(receive(&mut server, &clock, &mut datagram), Some(peer));
        assert_eq!(datagram, [index; 1000]);
    }
    assert_eq!(departure(&mut server, &clock), Departure { peer, reason: Reason::Closed });
    server.send(clock.now(), peer, b"nobody");
    assert_eq!(server.statistics().unreachable, 1);
    assert!(server.statistics().closes());
}

#[test]
fn a_client_hears_that_its_server_is_gone() {
    let clock = suite::clock();
    let mut server = server();
    let mut client = TcpLink::connect(server.local()).unwrap();
    let peer = server.local();
    exchange(&mut client, &mut server, b"hello");
    server.forget(client.local());
    assert_eq!(departure(&mut client, &clock).peer, peer);
    assert_eq!(server.departed(), None, "whom we forget does not depart");
    assert!(TcpLink::connect(peer).is_ok(), "others are welcome");
    drop(server);
    assert!(TcpLink::connect(peer).is_err());
}

#[test]
fn who_reads_nothing_costs_a_bounded_backlog_and_nobody_else() {
    let clock = suite::clock();
    let mut server = server();
    let (mut lazy, lazy_peer) = raw(&server);
    lazy.write_all(&[0, 0]).unwrap();
    assert_eq!(receive(&mut server, &clock, &mut Vec::new()), Some(lazy_peer));
    let mut honest = TcpLink::connect(server.local()).unwrap();
    // The system holds a few megabytes by itself.
    for _ in 0..100 {
        (0..200).for_each(|_| server.send(clock.now(), lazy_peer, &[7; 1200]));
        server.flush(clock.now());
        exchange(&mut honest, &mut server, b"still here");
    }
    let statistics = server.statistics();
    assert!(statistics.backlogged > 0, "{statistics:?}");
    // One of them may be on its way in part.
    assert!(statistics.queued <= BACKLOG_BYTES_MAX.div_ceil(1202) as u64, "{statistics:?}");
    assert!(statistics.closes(), "{statistics:?}");
    // What it does get is whole and in order.
    let mut frame = [0; 1202];
    for _ in 0..50 {
        lazy.read_exact(&mut frame).unwrap();
        assert_eq!((&frame[..2], &frame[2..]), (&1200_u16.to_le_bytes()[..], &[7; 1200][..]));
    }
}

#[test]
fn who_is_too_many_is_turned_away() {
    let clock = suite::clock();
    let mut server = server();
    server.limit_connections(2);
    let mut clients = [(); 2].map(|()| TcpLink::connect(server.local()).unwrap());
    clients.iter_mut().for_each(|client| exchange(client, &mut server, b"in"));
    let (stream, _) = raw(&server);
    while server.statistics().turned_away == 0 {
        assert_eq!(server.receive(clock.now(), &mut Vec::new()), None);
    }
    assert!(is_closed(stream));
    clients.iter_mut().for_each(|client| exchange(client, &mut server, b"still in"));
    server.forget(clients[0].local());
    exchange(&mut TcpLink::connect(server.local()).unwrap(), &mut server, b"room again");
    assert!(server.statistics().closes());
}

#[test]
fn who_has_been_silent_for_longest_gives_way_when_all_places_are_taken() {
    let mut server = server();
    server.limit_connections(2);
    let mut hoarders = [(); 2].map(|()| raw(&server));
    let mut datagram = Vec::new();
    // One word each, and then nothing: a place is not theirs for ever.
    for (stream, peer) in &mut hoarders {
        stream.write_all(&[1, 0, 5]).unwrap();
        while server.receive(Time::from_seconds(1), &mut datagram) != Some(*peer) {}
    }
    let (mut honest, honest_peer) = raw(&server);
    honest.write_all(&[1, 0, 6]).unwrap();
    while server.receive(Time::from_seconds(7), &mut datagram) != Some(honest_peer) {}
    assert_eq!(server.peers().count(), 2);
    let departure = server.departed().expect("one had to go");
    assert_eq!(departure.reason, Reason::Silent);
    assert!(server.statistics().closes());
}

#[test]
fn small_frames_of_one_do_not_hold_up_another() {
    let clock = suite::clock();
    let mut server = server();
    let (mut flooder, flooder_peer) = raw(&server);
    let (mut honest, _) = raw(&server);
    // 4096 empty frames are in the server's hands before the other has said a word.
    flooder.write_all(&[0; 8192]).unwrap();
    let mut datagram = Vec::new();
    assert_eq!(receive(&mut server, &clock, &mut datagram), Some(flooder_peer));
    honest.write_all(&[1, 0, 5]).unwrap();
    let mut from_flooder = 1;
    while receive(&mut server, &clock, &mut datagram) == Some(flooder_peer) {
        from_flooder += 1;
    }
    assert_eq!(datagram, [5]);
    assert!(from_flooder < 4096, "the other had to wait for all {from_flooder}");
}
