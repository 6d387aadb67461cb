//! Opens the server's doors to browsers and keeps their certificates fresh.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use sametick::secure::TlsSession;
use tokio::net::TcpListener;
use tokio_rustls::{TlsAcceptor, rustls};
use wtransport::endpoint::endpoint_side;
use wtransport::quinn::TransportConfig;
use wtransport::{Endpoint, Identity, ServerConfig};

use super::certificate::{self, Source};
use super::hub::Hub;
use super::origin::Origins;
use super::{WebConfig, page, sessions};

/// A session of which nothing is heard for so long is over.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How often a browser is asked whether it is still there.
const ASKED_EVERY: Duration = Duration::from_secs(3);
/// What the QUIC library may hold back of one session in each direction; the oldest goes first.
const DATAGRAM_BUFFER_BYTES: usize = 64 << 10;
/// Handshakes of certificates whose hash a page may still be about to use.
const HASHES_MAX: usize = 2;

/// What a page must know to get in, and whom the server lets in. A copy knows the same.
#[derive(Clone, Debug)]
pub struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    page: SocketAddr,
    webtransport: Option<SocketAddr>,
    is_tls: bool,
    origins: Origins,
    pages_at: u16,
    /// Newest first; none if browsers know the certificate.
    hashes: Mutex<Vec<[u8; 32]>>,
    tls: RwLock<Option<Arc<rustls::ServerConfig>>>,
}

impl Door {
    /// Where pages and WebSockets are.
    pub fn page(&self) -> SocketAddr {
        self.0.page
    }

    /// Where WebTransport is, if it is.
    pub fn webtransport(&self) -> Option<SocketAddr> {
        self.0.webtransport
    }

    /// Whether pages and WebSockets are inside TLS.
    pub fn is_tls(&self) -> bool {
        self.0.is_tls
    }

    /// The SHA-256 of the certificates by which a browser may know WebTransport, newest first; none if
    /// the certificate is one that browsers know.
    pub fn certificate_hashes(&self) -> Vec<[u8; 32]> {
        self.0.hashes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a page of that origin may open sessions and ask for tokens; `host` is by what name the
    /// server was asked.
    pub fn accepts_origin(&self, origin: &str, host: &str) -> bool {
        self.0.origins.accept(origin, host, self.0.pages_at)
    }

    /// Whether the server goes by that name.
    pub fn knows_host(&self, host: &str) -> bool {
        self.0.origins.knows_host(host)
    }

    /// What vouches for WebSocket sessions: TLS that ends here.
    pub(super) fn websocket_tls(&self) -> Option<TlsSession> {
        self.is_tls().then(|| TlsSession::vouched_for_by("websocket"))
    }

    pub(super) fn tls(&self) -> Option<TlsAcceptor> {
        self.0.tls.read().unwrap_or_else(PoisonError::into_inner).clone().map(TlsAcceptor::from)
    }

    /// Takes a new certificate into use.
    fn renew(&self, identity: &Identity, source: &Source) -> io::Result<()> {
        if source.is_known() {
            let tls = certificate::page_tls(identity)?;
            *self.0.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(tls);
        } else if let Some(hash) = certificate::hash(identity) {
            let mut hashes = self.0.hashes.lock().unwrap_or_else(PoisonError::into_inner);
            hashes.insert(0, hash);
            hashes.truncate(HASHES_MAX);
        }
        Ok(())
    }
}

/// Binds everything and serves it in tasks of this runtime.
pub(super) async fn open(config: WebConfig, hub: Arc<Hub>) -> io::Result<Door> {
    let source = match config.certificate {
        Some((chain, key)) => Source::Files(chain, key),
        None => Source::Made(vec!["localhost".into(), "127.0.0.1".into(), "::1".into()]),
    };
    let identity = source.identity().await?;
    let listener = TcpListener::bind(config.page).await?;
    let endpoint = match config.webtransport {
        Some(address) => Some(Endpoint::server(server_config(address, identity.clone_identity()))?),
        None => None,
    };
    let page = listener.local_addr()?;
    let door = Door(Arc::new(Inner {
        page,
        pages_at: config.pages_at.unwrap_or(page.port()),
        webtransport: endpoint.as_ref().map(Endpoint::local_addr).transpose()?,
        is_tls: source.is_known(),
        origins: Origins::new(config.origins),
        hashes: Mutex::default(),
        tls: RwLock::default(),
    }));
    door.renew(&identity, &source)?;
    let router = (config.router)(door.clone());
    tokio::spawn(page::serve(listener, router, door.clone(), Arc::clone(&hub)));
    let endpoint = endpoint.map(Arc::new);
    if let Some(endpoint) = &endpoint {
        tokio::spawn(sessions::accept(Arc::clone(endpoint), door.clone(), hub));
    }
    tokio::spawn(keep_fresh(endpoint, door.clone(), source, config.renewed_every));
    Ok(door)
}

fn server_config(address: SocketAddr, identity: Identity) -> ServerConfig {
    let mut transport = TransportConfig::default();
    transport.datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES);
    transport.datagram_receive_buffer_size(Some(DATAGRAM_BUFFER_BYTES));
    transport.keep_alive_interval(Some(ASKED_EVERY));
    // Ten seconds are within what QUIC can say.
    transport.max_idle_timeout(SILENCE_MAX.try_into().ok());
    let tls = wtransport::tls::server::build_default_tls_config(identity);
    let builder = ServerConfig::builder().with_bind_address(address);
    // A session is known by its number, so a phone may change its network.
    builder.with_custom_tls_and_transport(tls, transport).allow_migration(true).build()
}

async fn keep_fresh(
    endpoint: Option<Arc<Endpoint<endpoint_side::Server>>>,
    door: Door,
    source: Source,
    every: Duration,
) {
    loop {
        tokio::time::sleep(every).await;
        // A certificate that cannot be read now may be in a moment; the one in use is good for days.
        let Ok(identity) = source.identity().await else { continue };
        if door.renew(&identity, &source).is_err() {
            continue;
        }
        if let (Some(endpoint), Some(address)) = (&endpoint, door.webtransport()) {
            // Sessions that are open keep the certificate they began with.
            let _ = endpoint.reload_config(server_config(address, identity), false);
        }
    }
}
