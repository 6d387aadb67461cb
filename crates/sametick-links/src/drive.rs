//! Carries datagrams between a link and a game's server, client or mesh. They know no socket; this is the
//! few lines between them that every program would write.

use crate::Link;
use sametick::endpoint::Answer;
use sametick::eventlock::{EventClient, EventServer, Requests};
use sametick::lockstep::Mesh;
use sametick::secure::{Random, TlsSession};
use sametick::{Client, Game, Peer, Server, Time};

/// So many datagrams at most are taken before something is done about them: what comes faster than it can be read, as
/// when a thousand players knock at once, must not keep a server from its ticks and its answers.
pub const TAKEN_AT_ONCE_MAX: usize = 2048;

/// Hands a server what has come, lets it do what is due, and sends what it has to say. Call it whenever
/// something came and when [`Server::next_wake`] says; `link.wait` waits for either.
///
/// See `examples/hello.rs` for both ends.
pub fn drive_server<G: Game>(
    server: &mut Server<G>,
    link: &mut impl Link,
    now: Time,
    random: &mut dyn Random,
) {
    take(link, now, |from, datagram| server.receive_from(now, from, datagram, random));
    // Whoever is gone for good need not be waited for.
    while let Some(departure) = link.departed() {
        server.session_ended(now, departure.peer);
    }
    server.advance(now);
    while let Some((to, datagram)) = server.transmit(now) {
        link.send(now, to, datagram);
    }
    link.flush(now);
}

/// The same for a client and its server at `to`.
pub fn drive_client<G: Game>(client: &mut Client<G>, link: &mut impl Link, to: Peer, now: Time) {
    take(link, now, |(from, _), datagram| {
        if from == to {
            client.receive(now, datagram);
        }
        None
    });
    client.advance(now);
    while let Some(datagram) = client.transmit(now) {
        link.send(now, to, datagram);
    }
    link.flush(now);
}

/// The same for one machine of a lockstep game.
pub fn drive_mesh<G: Game>(
    mesh: &mut Mesh<G>,
    link: &mut impl Link,
    now: Time,
    random: &mut dyn Random,
) {
    take(link, now, |from, datagram| mesh.receive(now, from, datagram, random));
    while let Some(departure) = link.departed() {
        mesh.session_ended(now, departure.peer);
    }
    mesh.advance(now, random);
    while let Some((to, datagram)) = mesh.transmit() {
        link.send(now, to, &datagram);
    }
    link.flush(now);
}

/// The same for the server of an event-locked game.
pub fn drive_event_server<G: Requests>(
    server: &mut EventServer<G>,
    link: &mut impl Link,
    now: Time,
    random: &mut dyn Random,
) {
    take(link, now, |from, datagram| server.receive_from(now, from, datagram, random));
    while let Some(departure) = link.departed() {
        server.session_ended(now, departure.peer);
    }
    server.advance(now);
    while let Some((to, datagram)) = server.transmit(now) {
        link.send(now, to, datagram);
    }
    link.flush(now);
}

/// The same for a client of one and its server at `to`.
pub fn drive_event_client<G: Requests>(
    client: &mut EventClient<G>,
    link: &mut impl Link,
    to: Peer,
    now: Time,
) {
    take(link, now, |(from, _), datagram| {
        if from == to {
            client.receive(now, datagram);
        }
        None
    });
    client.advance(now);
    while let Some(datagram) = client.transmit(now) {
        link.send(now, to, datagram);
    }
    link.flush(now);
}

/// Hands on what has come, and sends what is answered at once.
fn take(
    link: &mut impl Link,
    now: Time,
    mut hand: impl FnMut((Peer, Option<TlsSession>), &mut [u8]) -> Option<Answer>,
) {
    let mut datagram = Vec::new();
    for _ in 0..TAKEN_AT_ONCE_MAX {
        let Some(from) = link.receive(now, &mut datagram) else { break };
        let session = link.session(from);
        if let Some(answer) = hand((from, session), &mut datagram) {
            link.send(now, from, &answer);
        }
    }
}
