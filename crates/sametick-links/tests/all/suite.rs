//! What every link promises, as functions over any of them.

use std::net::{SocketAddr, UdpSocket};
use std::sync::LazyLock;

use sametick::{Peer, Span, Time};
use sametick_links::{Clock, DATAGRAM_BYTES_MAX, Link, peer_at};

/// Far longer than anything here takes on a busy machine.
const PATIENCE: Span = Span::seconds(20);

/// One kind of link, from both ends.
pub(crate) trait Rig {
    type Link: Link;

    fn server() -> Self::Link;
    fn client(server: Peer) -> Self::Link;
    /// Whether all datagrams are accounted for.
    fn closes(link: &Self::Link) -> bool;
}

pub(crate) fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// The one clock of a test: for a link time never goes back.
pub(crate) fn clock() -> Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::start);
    *CLOCK
}

/// An address that was somebody's until now.
pub(crate) fn nobody() -> Peer {
    let socket = UdpSocket::bind(local()).expect("the loopback has a free port");
    peer_at(socket.local_addr().expect("a bound socket has an address"))
}

/// Waits for a datagram; none if patience ends.
pub(crate) fn receive(link: &mut impl Link, clock: &Clock, datagram: &mut Vec<u8>) -> Option<Peer> {
    let deadline = clock.now() + PATIENCE;
    while clock.now() < deadline {
        if let Some(peer) = link.receive(clock.now(), datagram) {
            return Some(peer);
        }
        link.wait(clock, deadline);
    }
    None
}

/// Sends a datagram there and back.
pub(crate) fn exchange(client: &mut impl Link, server: &mut impl Link, message: &[u8]) {
    let clock = clock();
    let mut datagram = Vec::new();
    client.send(clock.now(), server.local(), message);
    client.flush(clock.now());
    let peer = receive(server, &clock, &mut datagram).expect("a datagram arrives");
    assert_eq!(datagram, message);
    server.send(clock.now(), peer, &datagram);
    server.flush(clock.now());
    assert_eq!(receive(client, &clock, &mut datagram), Some(server.local()));
    assert_eq!(datagram, message);
}

pub(crate) fn datagrams_arrive_in_the_order_in_which_they_were_sent<R: Rig>() {
    let clock = clock();
    let mut server = R::server();
    let mut client = R::client(server.local());
    let mut datagram = Vec::new();
    // In bursts smaller than any buffer, larger than a batch.
    for burst in 0..10_u32 {
        let messages = (burst * 50..(burst + 1) * 50).map(u32::to_le_bytes);
        messages.clone().for_each(|message| client.send(clock.now(), server.local(), &message));
        client.flush(clock.now());
        for message in messages {
            assert!(receive(&mut server, &clock, &mut datagram).is_some());
            assert_eq!(datagram, message);
        }
    }
    assert!(R::closes(&server) && R::closes(&client));
}

pub(crate) fn every_size_comes_back_as_it_was<R: Rig>() {
    let mut server = R::server();
    let mut client = R::client(server.local());
    for bytes in [0, 1, 2, 3, 255, 256, 257, 1000, DATAGRAM_BYTES_MAX - 1, DATAGRAM_BYTES_MAX, 0] {
        let message: Vec<u8> = (0..bytes).map(|index| (index * 7 + bytes) as u8).collect();
        exchange(&mut client, &mut server, &message);
    }
    assert!(R::closes(&server) && R::closes(&client));
}

pub(crate) fn many_peers_are_told_apart<R: Rig>() {
    let clock = clock();
    let mut server = R::server();
    let mut clients: Vec<R::Link> = (0..40).map(|_| R::client(server.local())).collect();
    let (mut datagram, mut answered) = (Vec::new(), 0);
    for round in 0..5_u8 {
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(clock.now(), server.local(), &[index as u8, round]);
            client.flush(clock.now());
        }
        for _ in 0..clients.len() {
            let peer = receive(&mut server, &clock, &mut datagram).expect("all arrive");
            let client = &mut clients[usize::from(datagram[0])];
            assert_eq!((peer, datagram[1]), (client.local(), round));
            server.send(clock.now(), peer, &datagram);
        }
        server.flush(clock.now());
        for (index, client) in clients.iter_mut().enumerate() {
            assert_eq!(receive(client, &clock, &mut datagram), Some(server.local()));
            assert_eq!(datagram, [index as u8, round]);
            assert_eq!(client.receive(clock.now(), &mut datagram), None);
            answered += 1;
        }
    }
    assert_eq!(answered, 200);
    assert!(R::closes(&server) && clients.iter().all(R::closes));
}

pub(crate) fn peers_that_die_disturb_nobody<R: Rig>() {
    let clock = clock();
    let mut server = R::server();
    let mut survivor = R::client(server.local());
    let mut datagram = Vec::new();
    exchange(&mut survivor, &mut server, b"first");
    for round in 0..100_u8 {
        // One joins, is sent more than it reads, and dies amid its own traffic.
        let mut mortal = R::client(server.local());
        mortal.send(clock.now(), server.local(), b"hello");
        mortal.flush(clock.now());
        let peer = receive(&mut server, &clock, &mut datagram).expect("the mortal is heard");
        assert_eq!((peer, &datagram[..]), (mortal.local(), &b"hello"[..]));
        for _ in 0..10 {
            server.send(clock.now(), peer, &[round; 500]);
        }
        server.flush(clock.now());
        mortal.send(clock.now(), server.local(), b"last words");
        drop(mortal);
        server.send(clock.now(), peer, b"too late");
        server.flush(clock.now());
        exchange(&mut survivor, &mut server, &[round]);
    }
    assert!(R::closes(&server) && R::closes(&survivor));
}

pub(crate) fn a_flood_starves_nobody<R: Rig>() {
    const HONEST: u32 = 50;
    let clock = clock();
    let mut server = R::server();
    let mut flooder = R::client(server.local());
    let mut honest = R::client(server.local());
    let deadline = clock.now() + PATIENCE;
    let (mut datagram, mut heard, mut sent) = (Vec::new(), 0, 0);
    while heard < HONEST && clock.now() < deadline {
        (0..64).for_each(|_| flooder.send(clock.now(), server.local(), &[]));
        flooder.flush(clock.now());
        // The next one only when the last one was heard.
        if sent == heard {
            honest.send(clock.now(), server.local(), &sent.to_le_bytes());
            honest.flush(clock.now());
            sent += 1;
        }
        for _ in 0..100 {
            let Some(peer) = server.receive(clock.now(), &mut datagram) else { break };
            if peer == honest.local() {
                assert_eq!(datagram, heard.to_le_bytes());
                heard += 1;
            }
        }
    }
    assert_eq!(heard, HONEST);
    assert!(R::closes(&server) && R::closes(&flooder) && R::closes(&honest));
}

pub(crate) fn a_datagram_that_is_too_long_is_never_sent<R: Rig>() {
    let server = R::server();
    let mut client = R::client(server.local());
    let to = server.local();
    let too_long = [0; DATAGRAM_BYTES_MAX + 1];
    let send = std::panic::AssertUnwindSafe(|| client.send(Time::ZERO, to, &too_long));
    assert!(std::panic::catch_unwind(send).is_err());
}

pub(crate) fn waiting_ends_when_the_time_has_come<R: Rig>() {
    let clock = clock();
    let mut server = R::server();
    let until = clock.now() + Span::millis(5);
    while clock.now() < until {
        server.wait(&clock, until);
    }
    assert_eq!(server.receive(clock.now(), &mut Vec::new()), None);
    server.wait(&clock, Time::ZERO);
}
