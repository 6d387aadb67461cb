//! The simulated network: hosts, the lines between them and all that goes wrong there. Runs in the
//! caller's time, knows nothing of what datagrams mean.
//!
//! Everything is determined by the seed and by what is sent when: the same calls give the same
//! datagrams at the same moments, natively and in the browser. Each line rolls dice of its own, so
//! that no pair's traffic changes another pair's fate.
//!
//! ```
//! use sametick::Time;
//! use sametick::network::{Network, Profile};
//!
//! let mut network = Network::new(42);
//! let (server, client) = (network.add_host(), network.add_host());
//! network.set_profile(client, server, &Profile::named("dsl").unwrap());
//!
//! network.send(Time::ZERO, client, network.address(server), b"join");
//! let arrival = network.next_wake().unwrap();
//! let mut datagram = Vec::new();
//! let sender = network.receive(arrival, server, &mut datagram);
//! assert_eq!(sender, Some(network.address(client)));
//! assert_eq!(datagram, b"join");
//! ```

mod clock;
mod conditions;
mod flights;
mod line;
mod pipe;
mod profiles;
pub mod stream;

use std::collections::BTreeMap;

pub use clock::{DRIFT_PPM_MAX, HostClock};
pub use conditions::{
    Conditions, DATAGRAM_BYTES_MAX, DELAY_MAX, Impossible, Jitter, Loss, TRACE_DELAYS_MAX, Trace,
    TraceError, TraceProblem,
};
pub use line::{IN_FLIGHT_MAX, OUTAGES_MAX, Outage, Statistics};
pub use pipe::{Pipe, Transit};
pub use profiles::Profile;

use crate::core::dice::Dice;
use crate::core::peer::Peer;
use crate::core::time::Time;
use flights::Flights;
use line::Line;

/// The most hosts that a network has.
pub const HOSTS_MAX: usize = 1_024;

/// The ports that a host is given one after the other begin here.
const PORT_MIN: u16 = 1_024;

/// One host of a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(u32);

/// Hosts that send each other datagrams over bad lines.
#[derive(Clone, Debug)]
pub struct Network {
    seed: u64,
    defaults: Conditions,
    hosts: Vec<Place>,
    addresses: BTreeMap<Peer, Host>,
    /// By sender and receiver; a line comes into being with its first use.
    lines: BTreeMap<(Host, Host), Line>,
    unrouted: u64,
}

/// What the network knows of one host.
#[derive(Clone, Debug)]
struct Place {
    address: Peer,
    /// How many addresses it has given up.
    rebindings: u32,
    clock: HostClock,
    inbox: Flights<Label>,
}

/// What a datagram carries besides its bytes.
#[derive(Clone, Copy, Debug)]
struct Label {
    sender: Host,
    /// Who the datagram says that it comes from.
    claimed: Peer,
}

impl Network {
    /// A network without hosts, whose lines are perfect until told otherwise.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            defaults: Conditions::PERFECT,
            hosts: Vec::new(),
            addresses: BTreeMap::new(),
            lines: BTreeMap::new(),
            unrouted: 0,
        }
    }

    /// Adds a host, with an address of its own and a clock that is right.
    ///
    /// # Panics
    /// If there are [`HOSTS_MAX`] already.
    pub fn add_host(&mut self) -> Host {
        assert!(self.hosts.len() < HOSTS_MAX, "a network has at most {HOSTS_MAX} hosts");
        let host = Host(self.hosts.len() as u32);
        let address = address_of(host, 0);
        let clock = HostClock::default();
        self.hosts.push(Place { address, rebindings: 0, clock, inbox: Flights::new() });
        self.addresses.insert(address, host);
        host
    }

    /// All hosts, in the order in which they were added.
    pub fn hosts(&self) -> impl Iterator<Item = Host> + use<> {
        (0..self.hosts.len() as u32).map(Host)
    }

    /// Where the host is reached now.
    pub fn address(&self, host: Host) -> Peer {
        self.hosts[host.0 as usize].address
    }

    /// The host that is reached at an address now.
    pub fn host_at(&self, address: Peer) -> Option<Host> {
        self.addresses.get(&address).copied()
    }

    /// Sends a datagram. One to an address where nobody is vanishes and is counted.
    pub fn send(&mut self, now: Time, from: Host, to: Peer, bytes: &[u8]) {
        self.send_as(now, from, self.address(from), to, bytes);
    }

    /// Sends a datagram under another's address, as a forger does. It takes the forger's own line.
    pub fn send_as(&mut self, now: Time, from: Host, claimed: Peer, to: Peer, bytes: &[u8]) {
        let Some(receiver) = self.host_at(to) else {
            self.unrouted += 1;
            return;
        };
        let passages = self.line(from, receiver).decide(now, bytes.len());
        let inbox = &mut self.hosts[receiver.0 as usize].inbox;
        for passage in passages.into_iter().flatten() {
            let label = Label { sender: from, claimed };
            inbox.push(passage.arrival, label, bytes, |bytes| passage.damage(bytes));
        }
    }

    /// Takes out the first datagram that has arrived at a host and says whom it seems to come from;
    /// of those that arrived together, the one that was sent first. `into` becomes the datagram,
    /// and the memory that it had is used again.
    pub fn receive(&mut self, now: Time, host: Host, into: &mut Vec<u8>) -> Option<Peer> {
        let (_, label) = self.hosts[host.0 as usize].inbox.pop(now, into)?;
        self.line(label.sender, host).deliver(into.len());
        Some(label.claimed)
    }

    /// When the next datagram arrives anywhere, or arrived and waits to be received.
    pub fn next_wake(&self) -> Option<Time> {
        self.hosts.iter().filter_map(|place| place.inbox.next_arrival()).min()
    }

    /// When the next datagram arrives at a host, or arrived and waits to be received.
    pub fn next_wake_of(&self, host: Host) -> Option<Time> {
        self.hosts[host.0 as usize].inbox.next_arrival()
    }

    /// Changes the conditions that lines begin with; lines already in use stay as they are.
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn set_default_conditions(&mut self, conditions: Conditions) {
        if let Err(impossible) = conditions.check() {
            panic!("a line cannot be so: {impossible}");
        }
        self.defaults = conditions;
    }

    /// Changes one direction for datagrams to come; those under way keep their fate.
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn set_conditions(&mut self, from: Host, to: Host, conditions: Conditions) {
        self.line(from, to).set_conditions(conditions);
    }

    /// Gives a host a profile's line to another: up towards it, down from it.
    pub fn set_profile(&mut self, host: Host, other: Host, profile: &Profile) {
        self.set_conditions(host, other, profile.up.clone());
        self.set_conditions(other, host, profile.down.clone());
    }

    /// The conditions of one direction for datagrams to come.
    pub fn conditions(&self, from: Host, to: Host) -> &Conditions {
        self.lines.get(&(from, to)).map_or(&self.defaults, Line::conditions)
    }

    /// From now on nothing gets from one host to the other; the way back stays open.
    pub fn cut(&mut self, from: Host, to: Host) {
        self.line(from, to).set_cut(true);
    }

    /// Ends a cut.
    pub fn heal(&mut self, from: Host, to: Host) {
        self.line(from, to).set_cut(false);
    }

    /// Cuts both directions.
    pub fn cut_both(&mut self, one: Host, other: Host) {
        self.cut(one, other);
        self.cut(other, one);
    }

    /// Ends the cuts of both directions.
    pub fn heal_both(&mut self, one: Host, other: Host) {
        self.heal(one, other);
        self.heal(other, one);
    }

    /// Plans an outage of one direction. Outages that ended before `now` are forgotten; where two
    /// overlap, the one planned last counts.
    ///
    /// # Panics
    /// If [`OUTAGES_MAX`] are already ahead.
    pub fn add_outage(&mut self, now: Time, from: Host, to: Host, outage: Outage) {
        self.line(from, to).add_outage(now, outage);
    }

    /// Gives a host a new address, as when its router forgets it and maps it anew. What it sends
    /// comes from there from now on. The old address is nobody's for ever: what is under way to it
    /// is lost, because the router no longer knows whose it is; what has arrived stays.
    pub fn rebind(&mut self, now: Time, host: Host) -> Peer {
        let Self { hosts, lines, addresses, .. } = self;
        let place = &mut hosts[host.0 as usize];
        place.inbox.retain(|arrival, label| {
            let has_arrived = arrival <= now;
            if !has_arrived && let Some(line) = lines.get_mut(&(label.sender, host)) {
                line.misaddress();
            }
            has_arrived
        });
        addresses.remove(&place.address);
        place.rebindings += 1;
        place.address = address_of(host, place.rebindings);
        addresses.insert(place.address, host);
        place.address
    }

    /// A host's own clock.
    pub fn clock(&self, host: Host) -> &HostClock {
        &self.hosts[host.0 as usize].clock
    }

    /// A host's own clock, to set it or make it drift.
    pub fn clock_mut(&mut self, host: Host) -> &mut HostClock {
        &mut self.hosts[host.0 as usize].clock
    }

    /// What became of all datagrams from one host to the other.
    pub fn statistics(&self, from: Host, to: Host) -> Statistics {
        self.lines.get(&(from, to)).map_or_else(Statistics::default, |line| *line.statistics())
    }

    /// What became of all datagrams of all lines.
    pub fn statistics_of_all(&self) -> Statistics {
        let mut all = Statistics::default();
        self.lines.values().for_each(|line| all.add(line.statistics()));
        all
    }

    /// Datagrams that were sent to addresses where nobody was. They entered no line.
    pub fn unrouted(&self) -> u64 {
        self.unrouted
    }

    fn line(&mut self, from: Host, to: Host) -> &mut Line {
        let (seed, defaults) = (self.seed, &self.defaults);
        self.lines.entry((from, to)).or_insert_with(|| {
            let pair = u64::from(from.0) << 32 | u64::from(to.0);
            Line::new(Dice::new(seed, pair).roll_u64(), defaults.clone())
        })
    }
}

/// A host's address after so many rebindings; no two are ever the same.
fn address_of(host: Host, rebindings: u32) -> Peer {
    let ports = u32::from(u16::MAX - PORT_MIN) + 1;
    let mut address = [0; 16];
    // fd00::/8 is for networks that are nobody else's business.
    address[0] = 0xfd;
    address[8..12].copy_from_slice(&(rebindings / ports).to_be_bytes());
    address[12..].copy_from_slice(&(host.0 + 1).to_be_bytes());
    Peer::new(address, PORT_MIN + (rebindings % ports) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_given_twice() {
        let mut addresses: Vec<Peer> = (0..3)
            .flat_map(|host| {
                [0, 1, 64_511, 64_512, 64_513, u32::MAX].map(|n| address_of(Host(host), n))
            })
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 18);
    }
}
