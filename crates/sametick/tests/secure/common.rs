//! A server at a gate and clients who knock, joined by hand. Chance comes from seeds.

use sametick::secure::{
    Accepted, Applicant, ClientToken, Connected, Denial, DropReason, Gate, GateConfig, Grant,
    Knock, Outcome, Past, Place, Random, ReplyKind, TokenIssuer, TokenKey, Verdict,
};
use sametick::{Peer, Time};

pub(crate) const PROTOCOL: u64 = 0x5a6e_7131;
pub(crate) const UNIX_SECONDS: u64 = 1_800_000_000;
pub(crate) const TOKEN_KEY: TokenKey = TokenKey::from_bytes([0x11; 32]);
pub(crate) const TICKET_KEY: TokenKey = TokenKey::from_bytes([0x22; 32]);

/// The same bytes for the same seed.
#[derive(Clone)]
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

pub(crate) fn millis(millis: u64) -> Time {
    Time::from_micros(millis * 1000)
}

/// A peer of an IPv6 network of its own.
pub(crate) fn peer(number: u32) -> Peer {
    let [a, b, c, d] = number.to_be_bytes();
    Peer::new([0x20, 1, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 4000)
}

/// A gate, its clock and its randomness.
pub(crate) struct Server {
    pub(crate) gate: Gate,
    pub(crate) random: Seeded,
    pub(crate) now: Time,
    pub(crate) unix_seconds: u64,
    pub(crate) place: Result<Place, Denial>,
    /// About whom the owner was asked.
    pub(crate) asked: Vec<Applicant>,
}

impl Server {
    pub(crate) fn new(seed: u64) -> Self {
        let past = Past::Unknown { started_unix_seconds: UNIX_SECONDS };
        Self::with(seed, GateConfig::new(PROTOCOL, TOKEN_KEY, TICKET_KEY, past))
    }

    pub(crate) fn with(seed: u64, config: GateConfig) -> Self {
        let mut random = Seeded::new(seed);
        let now = millis(0);
        let gate = Gate::new(config, now, &mut random);
        let place = Ok(Place { slot: 3, tick: 900 });
        Self { gate, random, now, unix_seconds: UNIX_SECONDS, place, asked: Vec::new() }
    }

    pub(crate) fn receive(&mut self, from: Peer, datagram: &[u8]) -> Verdict {
        let (place, asked) = (self.place, &mut self.asked);
        let verdict = self.gate.receive(
            self.now,
            self.unix_seconds,
            from,
            datagram,
            &mut self.random,
            &mut |applicant| {
                asked.push(applicant.clone());
                place
            },
        );
        let answer_bytes = match &verdict {
            Verdict::Dropped(_) => 0,
            Verdict::Reply(reply) => reply.len(),
            Verdict::Accepted(accepted) => accepted.reply.len(),
        };
        assert!(answer_bytes <= datagram.len(), "an answer longer than its question");
        assert_counters_close(&self.gate);
        verdict
    }

    pub(crate) fn retry(&mut self, from: Peer, hello: &[u8]) -> Vec<u8> {
        match self.receive(from, hello) {
            Verdict::Reply(reply) if reply.kind() == ReplyKind::Retry => reply.to_vec(),
            other => panic!("a retry is due, not {other:?}"),
        }
    }

    pub(crate) fn accept(&mut self, from: Peer, hello: &[u8]) -> Box<Accepted> {
        match self.receive(from, hello) {
            Verdict::Accepted(accepted) => accepted,
            other => panic!("an accept is due, not {other:?}"),
        }
    }

    pub(crate) fn denial(&mut self, from: Peer, hello: &[u8]) -> (Denial, Vec<u8>) {
        match self.receive(from, hello) {
            Verdict::Reply(reply) => match reply.kind() {
                ReplyKind::Denied(denial) => (denial, reply.to_vec()),
                other => panic!("a denial is due, not {other:?}"),
            },
            other => panic!("a denial is due, not {other:?}"),
        }
    }

    pub(crate) fn drop_reason(&mut self, from: Peer, hello: &[u8]) -> DropReason {
        match self.receive(from, hello) {
            Verdict::Dropped(reason) => reason,
            other => panic!("a drop is due, not {other:?}"),
        }
    }

    /// A knock that has its cookie, and its hello.
    pub(crate) fn with_cookie(&mut self, from: Peer, token: ClientToken) -> (Knock, [u8; 1200]) {
        let now = self.now;
        let mut knock = Knock::new(token, now, &mut self.random);
        let first = knock.transmit(now).expect("the first hello is due at once");
        let retry = self.retry(from, &first);
        assert!(knock.receive(now, &retry).is_none());
        let hello = knock.transmit(now).expect("a hello with a cookie is due at once");
        (knock, hello)
    }

    /// A connection, its server's end first.
    pub(crate) fn connect(
        &mut self,
        from: Peer,
        token: ClientToken,
    ) -> (Box<Accepted>, Box<Connected>) {
        let (mut knock, hello) = self.with_cookie(from, token);
        let accepted = self.accept(from, &hello);
        let connected = connected(knock.receive(self.now, &accepted.reply));
        (accepted, connected)
    }
}

pub(crate) fn connected(outcome: Option<Outcome>) -> Box<Connected> {
    match outcome {
        Some(Outcome::Connected(connected)) => connected,
        other => panic!("a connection is due, not {other:?}"),
    }
}

pub(crate) fn token(client_id: u64, random: &mut Seeded) -> ClientToken {
    let grant = Grant { client_id, user_data: b"Ann", ..Grant::default() };
    let issuer = TokenIssuer::new(TOKEN_KEY, PROTOCOL);
    issuer.issue(&grant, UNIX_SECONDS, random).expect("a small grant")
}

pub(crate) fn assert_counters_close(gate: &Gate) {
    let counters = gate.counters();
    let dropped: u64 = DropReason::ALL.iter().map(|reason| counters.dropped(*reason)).sum();
    let denied: u64 = Denial::ALL.iter().map(|denial| counters.denied(*denial)).sum();
    let said =
        dropped + denied + counters.retries() + counters.accepts_again() + counters.accepted();
    assert_eq!(counters.received(), said, "{counters:?}");
}

/// Both ends of a connection understand each other.
pub(crate) fn assert_they_talk(server: &mut Accepted, client: &mut Connected) {
    for (sealer, opener) in
        [(&mut client.sealer, &mut server.opener), (&mut server.sealer, &mut client.opener)]
    {
        let mut datagram = sealed(sealer, b"how do you do");
        let packet = opener.open_in_place(&mut datagram).expect("authentic");
        assert_eq!((packet.flags, &*packet.payload), (5, b"how do you do".as_slice()));
    }
}

/// The next packet of a sealer.
pub(crate) fn sealed(sealer: &mut sametick::secure::Sealer, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; sealer.header_bytes()];
    datagram.extend_from_slice(payload);
    datagram.resize(datagram.len() + sealer.tag_bytes(), 0);
    sealer.seal_in_place(sealer.next_number(), 5, &mut datagram).expect("numbers are left");
    datagram
}
