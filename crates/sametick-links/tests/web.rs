//! Sessions of browsers, from the side of a game: who gets one, and what goes through it.
#![cfg(feature = "web")]
#![allow(clippy::unwrap_used, reason = "a test may panic where it stands")]

use sametick::{Peer, Span};
use sametick_links::web::{PLAY_PATH, WebConfig, WebLink};
use sametick_links::{Both, Clock, Link, TcpLink, UdpLink};
use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wtransport::endpoint::ConnectOptions;
use wtransport::tls::Sha256Digest;
use wtransport::{ClientConfig, Connection, Endpoint};

fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn start() -> Both {
    let web = WebLink::start(WebConfig::new(any(), Some(any()))).unwrap();
    Both::new(UdpLink::bind(any()).unwrap(), Some(web))
}

fn run<T>(task: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap().block_on(task)
}

/// What a browser does for a page of this origin.
async fn connect(link: &Both, origin: &str, path: &str) -> Option<Connection> {
    let door = link.web.as_ref().unwrap().door();
    let hashes = door.certificate_hashes().into_iter().map(Sha256Digest::new);
    let config = ClientConfig::builder().with_bind_default();
    let config = config.with_server_certificate_hashes(hashes).build();
    let url = format!("https://{}{path}", door.webtransport().unwrap());
    let options = ConnectOptions::builder(url).add_header("origin", origin).build();
    Endpoint::client(config).unwrap().connect(options).await.ok()
}

/// Whoever asks while a certificate is renewed asks again, as pages do.
async fn connect_at_last(link: &Both, page: &str) -> Connection {
    loop {
        if let Some(connection) = connect(link, page, PLAY_PATH).await {
            return connection;
        }
    }
}

fn page_of(link: &Both) -> String {
    format!("http://{}", link.web.as_ref().unwrap().door().page())
}

fn receive(link: &mut Both, clock: &Clock) -> (Peer, Vec<u8>) {
    let mut datagram = Vec::new();
    loop {
        if let Some(from) = link.receive(clock.now(), &mut datagram) {
            return (from, datagram);
        }
        link.wait(clock, clock.now() + Span::seconds(1));
    }
}

#[test]
fn one_link_carries_browsers_and_sockets_and_only_browsers_are_vouched_for() {
    let (mut link, clock) = (start(), Clock::start());
    run(async {
        let page = page_of(&link);
        let browser = connect(&link, &page, PLAY_PATH).await.expect("its own page may");
        browser.send_datagram(b"from a browser").unwrap();
        let (session, datagram) = receive(&mut link, &clock);
        assert_eq!(datagram, b"from a browser");
        assert_eq!(link.session(session).map(|tls| tls.link()), Some("webtransport"));

        let mut socket = UdpLink::bind(any()).unwrap();
        socket.send(clock.now(), link.local(), b"from a socket");
        socket.flush(clock.now());
        let (peer, datagram) = receive(&mut link, &clock);
        assert_eq!((peer, datagram), (socket.local(), b"from a socket".to_vec()));
        assert!(link.session(peer).is_none());

        link.send(clock.now(), session, b"to the browser");
        link.send(clock.now(), peer, b"to the socket");
        link.flush(clock.now());
        assert_eq!(&*browser.receive_datagram().await.unwrap(), b"to the browser");
        let mut datagram = Vec::new();
        while socket.receive(clock.now(), &mut datagram).is_none() {
            socket.wait(&clock, clock.now() + Span::seconds(1));
        }
        assert_eq!(datagram, b"to the socket");

        drop(browser);
        let departure = loop {
            if let Some(departure) = link.departed() {
                break departure;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(departure.peer, session);
        assert!(link.session(session).is_none());
    });
}

#[test]
fn a_certificate_is_renewed_while_sessions_stay() {
    let often = Duration::from_millis(300);
    let config = WebConfig { renewed_every: often, ..WebConfig::new(any(), Some(any())) };
    let web = WebLink::start(config).unwrap();
    let (mut link, clock) = (Both::new(UdpLink::bind(any()).unwrap(), Some(web)), Clock::start());
    run(async {
        let page = page_of(&link);
        let first = link.web.as_ref().unwrap().door().certificate_hashes()[0];
        let early = connect_at_last(&link, &page).await;
        while link.web.as_ref().unwrap().door().certificate_hashes().contains(&first) {
            tokio::time::sleep(often).await;
        }
        let late = connect_at_last(&link, &page).await;
        early.send_datagram(b"early").unwrap();
        assert_eq!(receive(&mut link, &clock).1, b"early");
        late.send_datagram(b"late").unwrap();
        assert_eq!(receive(&mut link, &clock).1, b"late");
    });
}

#[test]
fn players_over_udp_and_tcp_are_answered_where_they_came_in_and_who_hangs_up_has_left() {
    let clock = Clock::start();
    let tcp = TcpLink::listen(any()).unwrap();
    let door = tcp.local();
    let mut link = Both::new(UdpLink::bind(any()).unwrap(), None).with_tcp(tcp);
    let mut near = UdpLink::bind(any()).unwrap();
    let mut far = TcpLink::connect(door).unwrap();
    near.send(clock.now(), link.local(), b"near");
    far.send(clock.now(), door, b"far");
    near.flush(clock.now());
    far.flush(clock.now());
    let mut came = [receive(&mut link, &clock), receive(&mut link, &clock)];
    came.sort_by(|one, other| one.1.cmp(&other.1));
    assert_eq!([&came[0].1[..], &came[1].1[..]], [b"far".as_slice(), b"near"]);
    for (peer, datagram) in &came {
        link.send(clock.now(), *peer, datagram);
    }
    link.flush(clock.now());
    let mut datagram = Vec::new();
    let ends: [(&mut dyn Link, Peer, &[u8]); 2] =
        [(&mut near, link.local(), b"near"), (&mut far, door, b"far")];
    for (end, from, expected) in ends {
        let heard = loop {
            if let Some(heard) = end.receive(clock.now(), &mut datagram) {
                break heard;
            }
            end.wait(&clock, clock.now() + Span::seconds(1));
        };
        assert_eq!((heard, &datagram[..]), (from, expected));
    }
    drop(far);
    let left = loop {
        assert_eq!(link.receive(clock.now(), &mut datagram), None);
        if let Some(departure) = link.departed() {
            break departure.peer;
        }
        link.wait(&clock, clock.now() + Span::seconds(1));
    };
    assert_eq!(left, came[0].0);
}

#[test]
fn pages_of_strangers_and_other_paths_get_no_session() {
    let link = start();
    run(async {
        let page = page_of(&link);
        for (origin, path) in
            [("http://evil.example", PLAY_PATH), ("null", PLAY_PATH), (page.as_str(), "/other")]
        {
            assert!(connect(&link, origin, path).await.is_none(), "{origin} {path}");
        }
    });
    let statistics = link.web.as_ref().unwrap().statistics();
    assert_eq!((statistics.foreign, statistics.opened), (3, 0));
}

/// What the server answers to a request for a WebSocket, without its end.
fn upgrade(link: &Both, origin: &str) -> (TcpStream, String) {
    let page = link.web.as_ref().unwrap().door().page();
    let mut stream = TcpStream::connect(page).unwrap();
    let request = format!(
        "GET {PLAY_PATH} HTTP/1.1\r\nHost: {page}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    (stream, String::from_utf8(answer).unwrap())
}

#[test]
fn a_websocket_without_tls_is_carried_and_not_vouched_for() {
    let (mut link, clock) = (start(), Clock::start());
    let page = page_of(&link);
    let (mut stream, answer) = upgrade(&link, &page);
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    // A binary message of five bytes, its mask zero.
    stream.write_all(&[0x82, 0x85, 0, 0, 0, 0]).unwrap();
    stream.write_all(b"hello").unwrap();
    let (session, datagram) = receive(&mut link, &clock);
    assert_eq!(datagram, b"hello");
    assert!(link.session(session).is_none(), "nothing protects it but sealing");
    link.send(clock.now(), session, b"welcome");
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).unwrap();
    assert_eq!(frame, *b"\x82\x07welcome");
    let (_, refused) = upgrade(&link, "http://evil.example");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
}

#[test]
fn a_websocket_whose_browser_does_not_read_pushes_out_its_own_oldest_only() {
    let (mut link, clock) = (start(), Clock::start());
    let page = page_of(&link);
    let (mut stream, _) = upgrade(&link, &page);
    stream.write_all(&[0x82, 0x81, 0, 0, 0, 0, 1]).unwrap();
    let (session, _) = receive(&mut link, &clock);
    let statistics = |link: &Both| link.web.as_ref().unwrap().statistics();
    // More than any buffer of the system's holds: from then on the oldest are dropped.
    let mut sent = 0_u64;
    while statistics(&link).dropped_out < 1_000 {
        link.send(clock.now(), session, &[0; 1_200]);
        sent += 1;
        assert!(sent < 1_000_000, "it grows without bound");
    }
    let statistics = statistics(&link);
    let waiting = sent - statistics.sent - statistics.dropped_out;
    assert!(waiting <= sametick_links::web::OUTBOX_MAX as u64, "{waiting} wait");
}
