//! What every link promises, tested on all of them over the loopback. Nothing here depends on how
//! fast the machine is.

use crate::suite::{self, Rig};
use sametick::Peer;
use sametick_links::{Conditioned, Link, TcpLink, UdpLink, address_of};

struct Udp;
struct Tcp;
struct ConditionedUdp;
struct ConditionedTcp;

impl Rig for Udp {
    type Link = UdpLink;

    fn server() -> UdpLink {
        UdpLink::bind(suite::local()).expect("the loopback has a free port")
    }

    fn client(_server: Peer) -> UdpLink {
        UdpLink::bind(suite::local()).expect("the loopback has a free port")
    }

    fn closes(link: &UdpLink) -> bool {
        link.statistics().closes()
    }
}

impl Rig for Tcp {
    type Link = TcpLink;

    fn server() -> TcpLink {
        TcpLink::listen(suite::local()).expect("the loopback has a free port")
    }

    fn client(server: Peer) -> TcpLink {
        TcpLink::connect(server).expect("the server listens")
    }

    fn closes(link: &TcpLink) -> bool {
        link.statistics().closes()
    }
}

impl Rig for ConditionedUdp {
    type Link = Conditioned<UdpLink>;

    fn server() -> Self::Link {
        Conditioned::new(Udp::server(), 1)
    }

    fn client(server: Peer) -> Self::Link {
        Conditioned::new(Udp::client(server), 2)
    }

    fn closes(link: &Self::Link) -> bool {
        Udp::closes(link.link())
    }
}

impl Rig for ConditionedTcp {
    type Link = Conditioned<TcpLink>;

    fn server() -> Self::Link {
        Conditioned::new(Tcp::server(), 1)
    }

    fn client(server: Peer) -> Self::Link {
        Conditioned::new(Tcp::client(server), 2)
    }

    fn closes(link: &Self::Link) -> bool {
        Tcp::closes(link.link())
    }
}

macro_rules! on_every_link {
    ($($test:ident)*) => {
        mod udp { $(#[test] fn $test() { crate::suite::$test::<super::Udp>() })* }
        mod tcp { $(#[test] fn $test() { crate::suite::$test::<super::Tcp>() })* }
        mod conditioned_udp {
            $(#[test] fn $test() { crate::suite::$test::<super::ConditionedUdp>() })*
        }
        mod conditioned_tcp {
            $(#[test] fn $test() { crate::suite::$test::<super::ConditionedTcp>() })*
        }
    };
}

on_every_link! {
    datagrams_arrive_in_the_order_in_which_they_were_sent
    every_size_comes_back_as_it_was
    many_peers_are_told_apart
    peers_that_die_disturb_nobody
    a_flood_starves_nobody
    a_datagram_that_is_too_long_is_never_sent
    waiting_ends_when_the_time_has_come
}

#[test]
fn an_ipv6_socket_hears_ipv4() {
    let mapped = "[::ffff:127.0.0.1]:0".parse().unwrap();
    let Ok(mut server) = UdpLink::bind(mapped) else {
        eprintln!("not tested: this machine has no IPv6");
        return;
    };
    let mut client = Udp::client(server.local());
    assert!(address_of(server.local()).is_ipv4(), "a mapped address is the IPv4 one");
    suite::exchange(&mut client, &mut server, b"four to six");
}

#[test]
fn udp_drops_what_is_too_long_and_counts_it() {
    let clock = suite::clock();
    let mut server = Udp::server();
    let raw = std::net::UdpSocket::bind(suite::local()).unwrap();
    for bytes in [1201, 1200, 9000, 60_000, 3] {
        raw.send_to(&vec![7; bytes], address_of(server.local())).unwrap();
    }
    let mut datagram = Vec::new();
    for bytes in [1200, 3] {
        assert!(suite::receive(&mut server, &clock, &mut datagram).is_some());
        assert_eq!(datagram, vec![7; bytes]);
    }
    let statistics = server.statistics();
    assert_eq!((statistics.arrived, statistics.received, statistics.too_large), (5, 2, 3));
    assert!(statistics.closes());
}

#[test]
fn udp_goes_on_when_nobody_is_there() {
    let clock = suite::clock();
    let (mut server, mut client) = (Udp::server(), Udp::client(suite::nobody()));
    let mut datagram = Vec::new();
    for _ in 0..100 {
        server.send(clock.now(), suite::nobody(), b"anybody?");
        server.flush(clock.now());
        assert_eq!(server.receive(clock.now(), &mut datagram), None);
        suite::exchange(&mut client, &mut server, b"still here");
    }
    assert!(server.statistics().closes());
}
