//! Carries the datagrams of one session between a browser and the hub, over either road.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use sametick::Peer;
use sametick::secure::TlsSession;
use tokio::sync::{Notify, Semaphore};
use wtransport::endpoint::{IncomingSession, endpoint_side};
use wtransport::{Connection, Endpoint, VarInt};

use super::PLAY_PATH;
use super::door::Door;
use super::hub::{Hub, Next};
use crate::link::{DATAGRAM_BYTES_MAX, Reason};

/// How many handshakes may be under way; who comes on top is turned away.
const HANDSHAKES_MAX: usize = 128;
/// How long one may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// How often a session looks whether anybody was let in.
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// How long a browser may leave a frame of ours unread before its session is over.
const UNREAD_MAX: Duration = Duration::from_secs(20);

/// Takes in WebTransport sessions.
pub(super) async fn accept(
    endpoint: Arc<Endpoint<endpoint_side::Server>>,
    door: Door,
    hub: Arc<Hub>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    loop {
        let incoming = endpoint.accept().await;
        let Ok(permit) = Arc::clone(&handshakes).try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        let (door, hub) = (door.clone(), Arc::clone(&hub));
        tokio::spawn(async move {
            let welcomed = tokio::time::timeout(HANDSHAKE_MAX, welcome(incoming, &door, &hub));
            let Ok(Some((connection, peer, news))) = welcomed.await else { return };
            drop(permit);
            let reason = carry_datagrams(&connection, peer, &news, &hub).await;
            connection.close(VarInt::from_u32(0), b"");
            hub.end(peer, reason);
        });
    }
}

/// A session that may come in.
async fn welcome(
    incoming: IncomingSession,
    door: &Door,
    hub: &Hub,
) -> Option<(Connection, Peer, Arc<Notify>)> {
    let request = incoming.await.ok()?;
    let origin = request.origin().unwrap_or_default();
    if request.path() != PLAY_PATH || !door.accepts_origin(origin, request.authority()) {
        hub.count_foreign();
        request.forbidden().await;
        return None;
    }
    let tls = TlsSession::vouched_for_by("webtransport");
    let Some((peer, news)) = hub.open(request.remote_address(), Some(tls)) else {
        request.too_many_requests().await;
        return None;
    };
    match request.accept().await {
        Ok(connection) => Some((connection, peer, news)),
        Err(_) => {
            hub.end(peer, Reason::Closed);
            None
        }
    }
}

async fn carry_datagrams(connection: &Connection, peer: Peer, news: &Notify, hub: &Hub) -> Reason {
    loop {
        loop {
            match hub.next(peer) {
                // What the session cannot take is lost, as datagrams are.
                Next::Send(datagram) => _ = connection.send_datagram(datagram),
                Next::Wait => break,
                Next::Close => return Reason::Closed,
            }
        }
        tokio::select! {
            received = connection.receive_datagram() => match received {
                Ok(datagram) if hub.deliver(peer, &datagram) => {}
                Ok(_) => return Reason::Hostile,
                Err(_) => return Reason::Closed,
            },
            () = news.notified() => {}
            () = tokio::time::sleep(LOOKS_EVERY) => {}
        }
    }
}

/// A WebSocket, whose every binary message is a datagram, until it is over.
pub(super) async fn carry_messages(
    mut socket: WebSocket,
    peer: Peer,
    news: Arc<Notify>,
    hub: Arc<Hub>,
) {
    let reason = exchange(&mut socket, peer, &news, &hub).await;
    hub.end(peer, reason);
}

async fn exchange(socket: &mut WebSocket, peer: Peer, news: &Notify, hub: &Hub) -> Reason {
    loop {
        loop {
            match hub.next(peer) {
                Next::Send(datagram) => {
                    let sent = socket.send(Message::Binary(datagram.into()));
                    match tokio::time::timeout(UNREAD_MAX, sent).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) => return Reason::Closed,
                        Err(_) => return Reason::Silent,
                    }
                }
                Next::Wait => break,
                Next::Close => return Reason::Closed,
            }
        }
        tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Binary(datagram))) if hub.deliver(peer, &datagram) => {}
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Text(_))) => return Reason::Hostile,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Reason::Closed,
            },
            () = news.notified() => {}
            () = tokio::time::sleep(LOOKS_EVERY) => {}
        }
    }
}

/// The longest message that a WebSocket takes.
pub(super) const MESSAGE_BYTES_MAX: usize = DATAGRAM_BYTES_MAX;
