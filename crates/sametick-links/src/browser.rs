//! A page's side of the web: asks for a session, opens a road to the server, and is a link. Exists in
//! wasm only; nothing in it blocks, and nothing is async: a page asks again in its next frame.

use sametick::secure::{ClientToken, Random, TlsSession};
use sametick::{Peer, Time};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::clock::Clock;
use crate::link::{DATAGRAM_BYTES_MAX, Link, assert_fits};

/// How many received datagrams wait for the page; more push out the oldest.
pub const QUEUE_MAX: u32 = 256;

/// Stands for the server: a page has one, and no address of it.
const SERVER: Peer = Peer::new([0xfd; 16], 1);
/// Stands for the page.
const HERE: Peer = Peer::new([0xfd; 16], 2);

#[wasm_bindgen(module = "/src/browser.js")]
extern "C" {
    #[derive(Debug)]
    type Wire;
    #[wasm_bindgen(constructor)]
    fn new(roads: &str, transport: &str, hashes: &str, socket: &str, queue_max: u32) -> Wire;
    #[wasm_bindgen(method)]
    fn state(this: &Wire) -> u32;
    #[wasm_bindgen(method)]
    fn road(this: &Wire) -> u32;
    #[wasm_bindgen(method)]
    fn reason(this: &Wire) -> String;
    #[wasm_bindgen(method, js_name = droppedIn)]
    fn dropped_in(this: &Wire) -> f64;
    #[wasm_bindgen(method, js_name = droppedOut)]
    fn dropped_out(this: &Wire) -> f64;
    #[wasm_bindgen(method)]
    fn take(this: &Wire) -> Option<Vec<u8>>;
    #[wasm_bindgen(method)]
    fn send(this: &Wire, bytes: &[u8]);
    #[wasm_bindgen(method)]
    fn close(this: &Wire);

    #[derive(Debug)]
    type Reply;
    #[wasm_bindgen(constructor)]
    fn new(url: &str, bearer: &str) -> Reply;
    #[wasm_bindgen(method, js_name = isAbsent)]
    fn is_absent(this: &Reply) -> bool;
    #[wasm_bindgen(method, js_name = isThere)]
    fn is_there(this: &Reply) -> bool;
    #[wasm_bindgen(method)]
    fn reason(this: &Reply) -> String;
    #[wasm_bindgen(method)]
    fn text(this: &Reply, path: &str) -> Option<String>;
    #[wasm_bindgen(method)]
    fn count(this: &Reply, path: &str) -> u32;
    #[wasm_bindgen(method)]
    fn tables(this: &Reply) -> Option<Vec<u8>>;

    #[wasm_bindgen(js_name = transportUrl)]
    fn transport_url(port: &str, path: &str) -> String;
    #[wasm_bindgen(js_name = socketUrl)]
    fn socket_url(port: &str, path: &str) -> String;
    #[wasm_bindgen(js_name = isTlsPage)]
    fn is_tls_page() -> bool;
    #[wasm_bindgen(js_name = nowMillis)]
    pub(crate) fn now_millis() -> f64;
    #[wasm_bindgen(js_name = fillRandom)]
    fn fill_random(bytes: &mut [u8]);
}

/// The browser's source of bytes that nobody can foresee.
#[derive(Clone, Copy, Debug)]
pub struct BrowserRandom;

impl Random for BrowserRandom {
    fn fill(&mut self, bytes: &mut [u8]) {
        // As many as a browser gives at once.
        bytes.chunks_mut(65_536).for_each(fill_random);
    }
}

/// A request for a session, under way.
#[derive(Debug)]
pub struct Request {
    reply: Option<Reply>,
    is_absent: bool,
}

impl Request {
    /// Asks the server, by a path such as `session.json`.
    pub fn start(url: &str) -> Self {
        Self::start_as(url, "")
    }

    /// The same, as whoever holds a secret: it goes with the request as a bearer's. None is empty.
    pub fn start_as(url: &str, secret: &str) -> Self {
        Self { reply: Some(Reply::new(url, secret)), is_absent: false }
    }

    /// Whether it turned out that there is no server: nobody answered, or the page lies on a host of plain files.
    pub fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// The answer, once it is there; or one sentence about why there is none.
    pub fn poll(&mut self) -> Option<Result<Session, String>> {
        let reply = self.reply.take()?;
        if reply.is_there() {
            return Some(Ok(Session { reply }));
        }
        let reason = reply.reason();
        if reason.is_empty() {
            self.reply = Some(reply);
            return None;
        }
        self.is_absent = reply.is_absent();
        Some(Err(reason))
    }
}

/// What the server says of itself, and what to knock with.
#[derive(Debug)]
pub struct Session {
    reply: Reply,
}

impl Session {
    /// The text, number or flag at a path such as `matches.0.map`.
    pub fn text(&self, path: &str) -> Option<String> {
        self.reply.text(path)
    }

    /// The number at a path.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.text(path)?.parse().ok()
    }

    /// How many values the list at a path has.
    pub fn count(&self, path: &str) -> usize {
        self.reply.count(path) as usize
    }

    /// The file of the server's tables for compact snapshots, if it has such and they could be had.
    pub fn tables(&self) -> Option<Vec<u8>> {
        self.reply.tables()
    }

    /// What to knock with, once.
    pub fn token(&self) -> Option<ClientToken> {
        ClientToken::from_text(&self.text("token")?)
    }

    /// Opens a link to the server.
    pub fn open(&self, roads: Roads) -> BrowserLink {
        let at = |path: &str| self.text(path).unwrap_or_default();
        let port = at("webtransport.port");
        let transport = match port.as_str() {
            "" => String::new(),
            port => transport_url(port, &at("webtransport.path")),
        };
        let hashes: Vec<String> = (0..self.count("webtransport.hashes"))
            .map(|index| at(&format!("webtransport.hashes.{index}")))
            .collect();
        let socket = socket_url(&at("websocket.port"), &at("websocket.path"));
        BrowserLink {
            wire: Wire::new(roads.name(), &transport, &hashes.join(" "), &socket, QUEUE_MAX),
            // Only TLS that ends in the server itself counts.
            is_socket_tls: is_tls_page() && at("websocket.tls") == "true",
            received: 0,
            sent: 0,
        }
    }
}

/// Which roads may be tried, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roads {
    /// WebTransport, and WebSocket where that fails.
    #[default]
    Any,
    /// WebTransport alone.
    WebTransport,
    /// WebSocket alone.
    WebSocket,
}

impl Roads {
    /// As an option of a page says it.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Any, Self::WebTransport, Self::WebSocket]
            .into_iter()
            .find(|road| road.name() == name)
    }

    /// Its name: `any`, `webtransport` or `websocket`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::WebTransport => "webtransport",
            Self::WebSocket => "websocket",
        }
    }
}

/// How far a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Roads are being tried.
    Opening,
    /// Datagrams go both ways.
    Open,
    /// It is over; [`BrowserLink::reason`] says why.
    Closed,
}

/// What became of a page's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrowserStatistics {
    /// Datagrams that the page was given.
    pub received: u64,
    /// Datagrams that were to be sent.
    pub sent: u64,
    /// Received ones that were pushed out by newer ones, while the page did not look.
    pub dropped: u64,
    /// Own ones that the road did not take.
    pub unsent: u64,
}

/// A page's link to its server.
#[derive(Debug)]
pub struct BrowserLink {
    wire: Wire,
    is_socket_tls: bool,
    received: u64,
    sent: u64,
}

impl BrowserLink {
    /// How far it is.
    pub fn state(&self) -> State {
        match self.wire.state() {
            0 => State::Opening,
            1 => State::Open,
            _ => State::Closed,
        }
    }

    /// The road that was taken, once there is one; never [`Roads::Any`].
    pub fn road(&self) -> Option<Roads> {
        match self.wire.road() {
            1 => Some(Roads::WebTransport),
            2 => Some(Roads::WebSocket),
            _ => None,
        }
    }

    /// Why it is closed, in a sentence.
    pub fn reason(&self) -> String {
        self.wire.reason()
    }

    /// The peer that stands for the server.
    pub fn server(&self) -> Peer {
        SERVER
    }

    /// The TLS session that protects everything on this road, if it ends in the server; give it to
    /// [`Client::within`](sametick::Client::within).
    pub fn tls(&self) -> Option<TlsSession> {
        match self.road()? {
            Roads::WebTransport => Some(TlsSession::vouched_for_by("webtransport")),
            Roads::WebSocket if self.is_socket_tls => Some(TlsSession::vouched_for_by("websocket")),
            Roads::WebSocket | Roads::Any => None,
        }
    }

    /// What became of the datagrams.
    pub fn statistics(&self) -> BrowserStatistics {
        BrowserStatistics {
            received: self.received,
            sent: self.sent,
            dropped: self.wire.dropped_in() as u64,
            unsent: self.wire.dropped_out() as u64,
        }
    }

    /// Closes it.
    pub fn close(&self) {
        self.wire.close();
    }
}

impl Drop for BrowserLink {
    fn drop(&mut self) {
        self.wire.close();
    }
}

impl Link for BrowserLink {
    fn local(&self) -> Peer {
        HERE
    }

    fn receive(&mut self, _now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        loop {
            *into = self.wire.take()?;
            if into.len() <= DATAGRAM_BYTES_MAX {
                self.received += 1;
                return Some(SERVER);
            }
        }
    }

    fn send(&mut self, _now: Time, to: Peer, datagram: &[u8]) {
        assert_fits(datagram);
        if to == SERVER {
            self.sent += 1;
            self.wire.send(datagram);
        }
    }

    fn flush(&mut self, _now: Time) {}

    /// Returns at once: a page cannot sleep.
    fn wait(&mut self, _clock: &Clock, _until: Time) {}

    fn session(&self, _peer: Peer) -> Option<TlsSession> {
        self.tls()
    }
}
