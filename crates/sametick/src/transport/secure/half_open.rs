//! Connections that were accepted and have not spoken yet. Keeps the answer of each, so that a
//! client whose accept was lost gets the same one again; knows no keys. A client that gave up and
//! knocks anew with the same token is denied: to tell it from somebody who replays its older hello
//! the server would have to remember more of strangers.

use std::collections::BTreeMap;

use super::connection_id::ConnectionId;
use super::hello::{ACCEPT_BYTES_MAX, HELLO_BYTES};
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};

/// How many connections may be half-open; the oldest then makes room.
pub const HALF_OPEN_MAX: usize = 4096;
/// How long a client may take to send its first sealed packet.
pub const HALF_OPEN_TIMEOUT: Span = Span::seconds(5);

const ENTRY_BYTES_MAX: usize = 512;
const _: () = assert!(size_of::<Entry>() <= ENTRY_BYTES_MAX);

/// At most [`HALF_OPEN_MAX`] entries, one for a client.
#[derive(Clone, Debug)]
pub(super) struct HalfOpen {
    max: usize,
    next_age: u64,
    /// The oldest first.
    by_age: BTreeMap<u64, Entry>,
    age_of: BTreeMap<u64, u64>,
}

#[derive(Clone, Debug)]
struct Entry {
    client_id: u64,
    deadline: Time,
    peer: Peer,
    connection_id: ConnectionId,
    /// Tells the hello that was accepted from any other.
    hello_hash: [u8; 16],
    accept_length: u16,
    accept: [u8; ACCEPT_BYTES_MAX],
}

impl HalfOpen {
    pub(super) fn new(max: usize) -> Self {
        assert!((1..=HALF_OPEN_MAX).contains(&max), "1 to {HALF_OPEN_MAX} half-open connections");
        Self { max, next_age: 0, by_age: BTreeMap::new(), age_of: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.by_age.len()
    }

    /// The accept that answered this very hello, if it is still kept, and the peer that it went to. It is
    /// of use to nobody but whoever made the hello.
    pub(super) fn answer_to(
        &self,
        now: Time,
        client_id: u64,
        hello: &[u8; HELLO_BYTES],
    ) -> Option<(Peer, &[u8])> {
        let entry = self.by_age.get(self.age_of.get(&client_id)?)?;
        if now >= entry.deadline || entry.hello_hash != hash_of(hello) {
            return None;
        }
        Some((entry.peer, entry.accept.get(..entry.accept_length.into())?))
    }

    /// Keeps an accept; the client's former one is forgotten. Tells which connection had to make
    /// room, if one had.
    pub(super) fn insert(
        &mut self,
        now: Time,
        (client_id, peer, connection_id): (u64, Peer, ConnectionId),
        hello: &[u8; HELLO_BYTES],
        accept: &[u8],
    ) -> Option<ConnectionId> {
        self.remove(client_id);
        let evicted = if self.len() >= self.max { self.remove_oldest() } else { None };
        let mut bytes = [0; ACCEPT_BYTES_MAX];
        bytes[..accept.len()].copy_from_slice(accept);
        let entry = Entry {
            client_id,
            deadline: now + HALF_OPEN_TIMEOUT,
            peer,
            connection_id,
            hello_hash: hash_of(hello),
            accept_length: accept.len() as u16,
            accept: bytes,
        };
        self.by_age.insert(self.next_age, entry);
        self.age_of.insert(client_id, self.next_age);
        self.next_age += 1;
        evicted
    }

    /// Forgets a client: it has spoken, or it is gone.
    pub(super) fn remove(&mut self, client_id: u64) {
        if let Some(age) = self.age_of.remove(&client_id) {
            self.by_age.remove(&age);
        }
    }

    /// Forgets one connection that did not speak in time, and tells which.
    pub(super) fn take_overdue(&mut self, now: Time) -> Option<ConnectionId> {
        let (_, oldest) = self.by_age.first_key_value()?;
        if now < oldest.deadline { None } else { self.remove_oldest() }
    }

    fn remove_oldest(&mut self) -> Option<ConnectionId> {
        let (_, oldest) = self.by_age.pop_first()?;
        self.age_of.remove(&oldest.client_id);
        Some(oldest.connection_id)
    }
}

fn hash_of(hello: &[u8; HELLO_BYTES]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(hello).as_bytes()[..16]);
    short
}
