//! Pages over HTTP, with TLS or without, and the WebSockets among them. Who holds connections open and
//! says nothing takes a bounded number of them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::{IncomingStream, Listener};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::PLAY_PATH;
use super::door::Door;
use super::hub::Hub;
use super::sessions::{MESSAGE_BYTES_MAX, carry_messages};

/// The most HTTP connections at once.
pub const CONNECTIONS_MAX: usize = 2_048;
/// The most of them from one address.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 128;

/// What the system may hold back of one connection; a game's datagrams are worthless when they are old.
const SEND_BUFFER_BYTES: usize = 64 << 10;
/// How long a TLS handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// How long nothing is accepted after that failed, most likely for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Remote(pub SocketAddr);

impl Connected<IncomingStream<'_, Doorway>> for Remote {
    fn connect_info(stream: IncomingStream<'_, Doorway>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// Serves pages and WebSockets for as long as the runtime lives.
pub(super) async fn serve(listener: TcpListener, router: Router, door: Door, hub: Arc<Hub>) {
    let Ok(local) = listener.local_addr() else { return };
    let state = (door.clone(), hub);
    let play = Router::new().route(PLAY_PATH, get(play)).with_state(state);
    let router = router.merge(play).layer(middleware::from_fn_with_state(door.clone(), know_host));
    let (hand_over, accepted) = mpsc::channel(ACCEPTED_MAX);
    tokio::spawn(accept(listener, door, hand_over));
    let service = router.into_make_service_with_connect_info::<Remote>();
    let _ = axum::serve(Doorway { accepted, local }, service).await;
}

/// How many accepted connections wait to be served.
const ACCEPTED_MAX: usize = 64;

async fn know_host(State(door): State<Door>, request: Request, next: Next) -> Response {
    if door.knows_host(text(request.headers(), &HOST)) {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, "this server does not go by that name\n").into_response()
    }
}

async fn play(
    State((door, hub)): State<(Door, Arc<Hub>)>,
    ConnectInfo(Remote(from)): ConnectInfo<Remote>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !door.accepts_origin(text(&headers, &ORIGIN), text(&headers, &HOST)) {
        hub.count_foreign();
        return (StatusCode::FORBIDDEN, "pages of that origin may not play here\n").into_response();
    }
    let Some((peer, news)) = hub.open(from, door.websocket_tls()) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n").into_response();
    };
    let lost = Arc::clone(&hub);
    upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        // Every message goes out at once.
        .write_buffer_size(0)
        .on_failed_upgrade(move |_| lost.end(peer, crate::Reason::Closed))
        .on_upgrade(move |socket| carry_messages(socket, peer, news, hub))
}

fn text<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Gives out connections that are ready to be served.
pub(super) struct Doorway {
    accepted: mpsc::Receiver<(Stream, SocketAddr)>,
    local: SocketAddr,
}

impl Listener for Doorway {
    type Io = Stream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stream, SocketAddr) {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            // Only when the runtime ends.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}

/// How many connections each address has.
type Counts = Arc<Mutex<BTreeMap<IpAddr, usize>>>;

/// Takes in connections, and shakes hands beside each other.
async fn accept(listener: TcpListener, door: Door, hand_over: mpsc::Sender<(Stream, SocketAddr)>) {
    let counts = Counts::default();
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Some(guest) = Guest::of(&counts, from.ip()) else { continue };
        let _ = socket.set_nodelay(true);
        let _ = SockRef::from(&socket).set_send_buffer_size(SEND_BUFFER_BYTES);
        let (tls, hand_over) = (door.tls(), hand_over.clone());
        tokio::spawn(async move {
            let Some(io) = shake(socket, tls).await else { return };
            let _ = hand_over.send((Stream { io, _guest: guest }, from)).await;
        });
    }
}

async fn shake(socket: TcpStream, tls: Option<tokio_rustls::TlsAcceptor>) -> Option<Box<dyn Io>> {
    let Some(tls) = tls else { return Some(Box::new(socket)) };
    let shaken = tokio::time::timeout(HANDSHAKE_MAX, tls.accept(socket)).await;
    let stream = shaken.ok()?.ok()?;
    Some(Box::new(stream))
}

/// Counts a connection for as long as it is there.
struct Guest {
    counts: Counts,
    address: IpAddr,
}

impl Guest {
    fn of(counts: &Counts, address: IpAddr) -> Option<Self> {
        let mut all = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = all.values().sum();
        let own = all.get(&address).copied().unwrap_or(0);
        if total >= CONNECTIONS_MAX || own >= CONNECTIONS_PER_ADDRESS_MAX {
            return None;
        }
        all.insert(address, own + 1);
        Some(Self { counts: Arc::clone(counts), address })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.address);
            }
        }
    }
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection, with TLS or without.
pub(super) struct Stream {
    io: Box<dyn Io>,
    _guest: Guest,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_gets_a_bounded_number_of_connections_and_gives_them_back() {
        let counts = Counts::default();
        let [one, other] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let mut guests: Vec<_> = (0..CONNECTIONS_PER_ADDRESS_MAX)
            .map(|_| Guest::of(&counts, one).expect("there is room"))
            .collect();
        assert!(Guest::of(&counts, one).is_none());
        assert!(Guest::of(&counts, other).is_some());
        guests.pop();
        assert!(Guest::of(&counts, one).is_some());
        guests.clear();
        assert!(counts.lock().unwrap().is_empty());
    }
}
