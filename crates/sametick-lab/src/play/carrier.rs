//! What carries datagrams between the hosts of a trial: the simulated network in virtual time, or real sockets. And the
//! meter between them and the game, which measures what lines really did.

use crate::rows::LineRow;
use sametick::network::{Conditions, Host, Network};
use sametick::record::mix;
use sametick::secure::TlsSession;
use sametick::{Peer, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Carries datagrams between hosts, which are counted from 0, and tells the time.
pub trait Carrier {
    /// How late it is.
    fn now(&self) -> Time;
    /// Comes back at this moment, or earlier if something came.
    fn wait(&mut self, until: Time);
    /// Where a host is reached.
    fn address(&self, host: usize) -> Peer;
    /// Sends a datagram.
    fn send(&mut self, from: usize, to: Peer, bytes: &[u8]);
    /// The next datagram that came to a host, and whom it is from.
    fn receive(&mut self, host: usize, into: &mut Vec<u8>) -> Option<Peer>;
    /// When the next one comes to a host, if that is known; at once, if one may have come already.
    fn next_arrival(&self, host: usize) -> Option<Time>;
    /// What one way of one line does from now on.
    fn set_conditions(&mut self, from: usize, to: usize, conditions: Conditions);

    /// A host that is elsewhere is reached there from now on.
    fn set_address(&mut self, _host: usize, _at: Peer) {}
    /// The TLS session in which a peer's datagrams come and go, if there is one.
    fn session(&self, _peer: Peer) -> Option<TlsSession> {
        None
    }
    /// The next peer that is gone for good.
    fn departed(&mut self) -> Option<Peer> {
        None
    }
}

/// Makes a carrier for so many hosts, by seed.
pub type NewCarrier<'a> = dyn Fn(usize, u64) -> Result<Box<dyn Carrier>, String> + Sync + 'a;

/// The simulated network: time passes as fast as the trial can be worked out.
pub struct Simulated {
    now: Time,
    network: Network,
    hosts: Vec<Host>,
}

impl Simulated {
    /// A network of so many hosts.
    pub fn new(hosts: usize, seed: u64) -> Self {
        let mut network = Network::new(seed);
        let hosts = (0..hosts).map(|_| network.add_host()).collect();
        Self { now: Time::ZERO, network, hosts }
    }
}

impl Carrier for Simulated {
    fn now(&self) -> Time {
        self.now
    }

    fn wait(&mut self, until: Time) {
        self.now = self.now.max(until);
    }

    fn address(&self, host: usize) -> Peer {
        self.network.address(self.hosts[host])
    }

    fn send(&mut self, from: usize, to: Peer, bytes: &[u8]) {
        self.network.send(self.now, self.hosts[from], to, bytes);
    }

    fn receive(&mut self, host: usize, into: &mut Vec<u8>) -> Option<Peer> {
        self.network.receive(self.now, self.hosts[host], into)
    }

    fn next_arrival(&self, host: usize) -> Option<Time> {
        self.network.next_wake_of(self.hosts[host])
    }

    fn set_conditions(&mut self, from: usize, to: usize, conditions: Conditions) {
        self.network.set_conditions(self.hosts[from], self.hosts[to], conditions);
    }
}

/// For how long a datagram is expected.
const EXPECTED_FOR: Span = Span::seconds(6);
/// The most delays of one line that are kept for its median.
const DELAYS_MAX: usize = 65_536;
/// The most datagrams of one line that are under way for the meter.
const UNDER_WAY_MAX: usize = 16_384;

/// Counts and times all datagrams, at both ends: asked is compared with what is found here.
pub(crate) struct Meter {
    pub(crate) carrier: Box<dyn Carrier>,
    hosts: BTreeMap<Peer, usize>,
    ways: BTreeMap<(usize, usize), Way>,
    pub(crate) counts: Vec<Counts>,
    /// From when on lines are timed.
    pub(crate) begins: Time,
    /// Hosts elsewhere: only the server's end of their lines is seen here.
    elsewhere: BTreeMap<Peer, usize>,
}

/// What a host sent and received so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets_out: u64,
    pub(crate) bytes_out: u64,
    pub(crate) packets_in: u64,
    pub(crate) bytes_in: u64,
}

#[derive(Default)]
struct Way {
    under_way: VecDeque<(u64, Time)>,
    delays: Vec<f32>,
    packets: u64,
    bytes: u64,
    arrived: u64,
}

impl Meter {
    pub(crate) fn new(carrier: Box<dyn Carrier>, hosts: usize, begins: Time) -> Self {
        let addresses = (0..hosts).map(|host| (carrier.address(host), host)).collect();
        let counts = vec![Counts::default(); hosts];
        let (ways, elsewhere) = (BTreeMap::new(), BTreeMap::new());
        Self { carrier, hosts: addresses, ways, counts, begins, elsewhere }
    }

    /// A host that is elsewhere is reached there from now on; whether that is news.
    pub(crate) fn meet(&mut self, host: usize, at: Peer) -> bool {
        if self.elsewhere.get(&at) == Some(&host) {
            return false;
        }
        self.elsewhere.retain(|_, known| *known != host);
        self.elsewhere.insert(at, host);
        self.carrier.set_address(host, at);
        true
    }

    pub(crate) fn now(&self) -> Time {
        self.carrier.now()
    }

    pub(crate) fn send(&mut self, from: usize, to: Peer, bytes: &[u8]) {
        let now = self.now();
        self.counts[from].packets_out += 1;
        self.counts[from].bytes_out += bytes.len() as u64;
        if let Some(host) = self.elsewhere.get(&to) {
            self.counts[*host].packets_in += 1;
            self.counts[*host].bytes_in += bytes.len() as u64;
        }
        if now >= self.begins
            && let Some(host) = self.hosts.get(&to)
        {
            let way = self.ways.entry((from, *host)).or_default();
            way.packets += 1;
            way.bytes += bytes.len() as u64;
            if way.under_way.len() == UNDER_WAY_MAX {
                way.under_way.pop_front();
            }
            way.under_way.push_back((name_of(bytes), now));
        }
        self.carrier.send(from, to, bytes);
    }

    pub(crate) fn receive(&mut self, host: usize, into: &mut Vec<u8>) -> Option<(usize, Peer)> {
        // Who reads late does not make the line longer.
        let now = self.now();
        let arrived = self.carrier.next_arrival(host).map_or(now, |at| at.min(now));
        let from = self.carrier.receive(host, into)?;
        self.counts[host].packets_in += 1;
        self.counts[host].bytes_in += into.len() as u64;
        if let Some(host) = self.elsewhere.get(&from) {
            self.counts[*host].packets_out += 1;
            self.counts[*host].bytes_out += into.len() as u64;
        }
        let sender = self.hosts.get(&from).copied().unwrap_or(usize::MAX);
        if let Some(way) = self.ways.get_mut(&(sender, host)) {
            while way.under_way.front().is_some_and(|(_, sent)| now - *sent > EXPECTED_FOR) {
                way.under_way.pop_front();
            }
            let name = name_of(into);
            if let Some(place) = way.under_way.iter().position(|(known, _)| *known == name) {
                let sent = way.under_way.remove(place).map_or(arrived, |(_, sent)| sent);
                way.arrived += 1;
                if way.delays.len() < DELAYS_MAX {
                    way.delays.push((arrived.max(sent) - sent).as_millis_f64() as f32);
                }
            }
        }
        Some((sender, from))
    }

    /// All ways that begin or end at a host, as one row each; what is still under way is not lost.
    pub(crate) fn line(&self, player: u32, host: usize, is_up: bool) -> LineRow {
        let mut row = LineRow { player, is_up, ..LineRow::default() };
        let (now, mut delays) = (self.now(), Vec::new());
        for ((from, to), way) in &self.ways {
            if host != if is_up { *from } else { *to } {
                continue;
            }
            let young = |sent: Time| (now - sent) < Span::from_millis_f64(row_patience(way));
            let waiting = way.under_way.iter().filter(|(_, sent)| young(*sent)).count() as u64;
            row.packets += way.packets;
            row.bytes += way.bytes;
            row.lost += way.packets.saturating_sub(way.arrived + waiting);
            delays.extend_from_slice(&way.delays);
        }
        delays.sort_by(f32::total_cmp);
        let at = |share: usize| delays.get(delays.len() * share / 100).copied().unwrap_or(0.0);
        (row.delay_ms_50, row.delay_ms_95) = (f64::from(at(50)), f64::from(at(95)));
        let sum: f64 = delays.iter().map(|delay| f64::from(*delay)).sum();
        row.delay_ms = sum / delays.len().max(1) as f64;
        row
    }
}

/// How long something may be under way at the end before it counts as lost: longer than anything took.
fn row_patience(way: &Way) -> f64 {
    let longest = way.delays.iter().copied().fold(0.0, f32::max);
    f64::from(longest) + 1.0
}

/// What a datagram is known by at both ends.
fn name_of(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    // Sealed datagrams end in a tag that is like no other; others begin with their numbers.
    let (head, tail) = (&bytes[..bytes.len().min(32)], &bytes[bytes.len().saturating_sub(16)..]);
    for chunk in head.chunks(4).chain(tail.chunks(4)) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash, u32::from_le_bytes(word));
    }
    hash
}
