//! `WebLink`: datagrams to and from browsers, over WebTransport and WebSocket, on a thread of its own.
//! The game's thread only ever looks into queues that cannot grow.

mod certificate;
mod door;
mod hub;
mod origin;
mod page;
mod sessions;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use sametick::secure::TlsSession;
use sametick::{Peer, Time};

use crate::clock::Clock;
use crate::link::{Departure, Link, assert_fits, peer_at};
pub use door::Door;
use hub::Hub;
pub use hub::{INBOX_MAX, OUTBOX_MAX, SESSIONS_PER_PREFIX_MAX, UNSERVED_SECONDS, WebStatistics};
pub use page::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, Remote};

/// The path of sessions, over WebTransport and over WebSocket.
pub const PLAY_PATH: &str = "/play";
/// The most sessions at once, unless told fewer.
pub const SESSIONS_MAX: usize = 1_024;

/// How a [`WebLink`] is opened.
pub struct WebConfig {
    /// Where pages and WebSockets are served.
    pub page: SocketAddr,
    /// Where WebTransport is; none to be without.
    pub webtransport: Option<SocketAddr>,
    /// What is served beside [`PLAY_PATH`].
    pub router: Box<dyn FnOnce(Door) -> Router + Send>,
    /// A certificate that browsers know and its key, as PEM files; read again now and then. Without it
    /// pages are served without TLS, and WebTransport by a certificate that is made here.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Pages of other origins that may open sessions, such as `https://game.example.org`. The server's
    /// own pages always may.
    pub origins: Vec<String>,
    /// The port of the pages that may join, where another server of the same program serves them; else its own.
    pub pages_at: Option<u16>,
    /// The most sessions at once.
    pub sessions_max: usize,
    /// How often a certificate is made anew, or read again.
    pub renewed_every: Duration,
}

impl WebConfig {
    /// The usual limits, nothing but sessions, and no certificate of one's own.
    pub fn new(page: SocketAddr, webtransport: Option<SocketAddr>) -> Self {
        Self {
            page,
            webtransport,
            router: Box::new(|_| Router::new()),
            certificate: None,
            origins: Vec::new(),
            pages_at: None,
            sessions_max: SESSIONS_MAX,
            renewed_every: certificate::RENEWED_EVERY,
        }
    }
}

/// Browsers' sessions, as a link. Each session is a peer of its own, with a number in place of an
/// address: datagrams of one never count as those of another, nor as those of a UDP socket.
///
/// ```
/// use sametick_links::Link;
/// use sametick_links::web::{WebConfig, WebLink};
///
/// let any = "127.0.0.1:0".parse()?;
/// let link = WebLink::start(WebConfig::new(any, Some(any)))?;
/// println!("http://{}/, WebTransport at {:?}", link.door().page(), link.door().webtransport());
/// assert_eq!(link.door().certificate_hashes().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WebLink {
    hub: Arc<Hub>,
    door: Door,
    local: Peer,
    /// Ends the thread when it is dropped.
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl WebLink {
    /// Binds, and serves from now on.
    pub fn start(config: WebConfig) -> io::Result<Self> {
        let hub = Arc::new(Hub::new(config.sessions_max)?);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread_hub = Arc::clone(&hub);
        std::thread::Builder::new().name("web".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = tell.send(Err(error));
                    return;
                }
            };
            runtime.block_on(async {
                match door::open(config, thread_hub).await {
                    Ok(door) => {
                        let _ = tell.send(Ok(door));
                        let _ = stopped.await;
                    }
                    Err(error) => _ = tell.send(Err(error)),
                }
            });
        })?;
        let door = told.recv().map_err(|_| io::Error::other("the web's thread ended"))??;
        Ok(Self { local: peer_at(door.page()), hub, door, _stop: stop })
    }

    /// What a page must know to get in.
    pub fn door(&self) -> &Door {
        &self.door
    }

    /// What became of all datagrams and sessions.
    pub fn statistics(&self) -> WebStatistics {
        self.hub.statistics()
    }

    /// Whether a peer is a session of such a link.
    pub fn is_session(peer: Peer) -> bool {
        hub::is_session(peer)
    }

    pub(crate) fn waker(&self) -> &std::net::UdpSocket {
        self.hub.waker()
    }

    /// Whether there is nothing to receive; if so, the waker will tell when there is.
    pub(crate) fn may_sleep(&self) -> bool {
        self.hub.may_sleep()
    }
}

impl Link for WebLink {
    fn local(&self) -> Peer {
        self.local
    }

    fn receive(&mut self, _now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        self.hub.receive(into)
    }

    fn send(&mut self, _now: Time, to: Peer, datagram: &[u8]) {
        assert_fits(datagram);
        self.hub.send(to, datagram);
    }

    fn flush(&mut self, _now: Time) {}

    fn wait(&mut self, clock: &Clock, until: Time) {
        if self.may_sleep() {
            crate::socket::sleep_on_readable(&[self.hub.waker()], until - clock.now());
        }
    }

    fn departed(&mut self) -> Option<Departure> {
        self.hub.departed()
    }

    fn forget(&mut self, peer: Peer) {
        self.hub.close(peer);
    }

    fn session(&self, peer: Peer) -> Option<TlsSession> {
        self.hub.session(peer)
    }
}
