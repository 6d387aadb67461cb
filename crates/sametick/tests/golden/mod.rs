//! One run over every kind of line, condensed to a number that must be the same on every machine.
//! Uses nothing but the library, so that it can be run in wasm as it stands.

use sametick::network::stream::{Side, Stream};
use sametick::network::{Conditions, Host, HostClock, Jitter, Network, Outage, Profile, Trace};
use sametick::{Dice, Time};

/// What [`trace_hash`] gives for seed 1.
pub(crate) const GOLDEN_HASH: u64 = 0x5161_4345_3f1f_cd5c;

/// A hash of every datagram and stream byte that arrived, and of when it did.
pub(crate) fn trace_hash(seed: u64) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    hash_network(seed, &mut hash);
    for profile in Profile::all() {
        hash_stream(seed, &profile, &mut hash);
    }
    hash.0
}

struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_u64(&mut self, value: u64) {
        self.add(&value.to_le_bytes());
    }
}

/// A server and a client of each profile, and one on a traced line: 20 seconds at 60 datagrams a
/// second each way, with an outage, a cut, rebinding and a drifting clock.
fn hash_network(seed: u64, hash: &mut Hash) {
    let mut network = Network::new(seed);
    let server = network.add_host();
    let clients: Vec<Host> = (0..8).map(|_| network.add_host()).collect();
    for (client, profile) in clients.iter().zip(Profile::all()) {
        network.set_profile(*client, server, &profile);
    }
    let trace = Trace::parse("10\n12.5\n11\n60\n").expect("a trace");
    let traced = Conditions { jitter: Jitter::Trace(trace), ..Conditions::PERFECT };
    network.set_conditions(clients[7], server, traced);
    let (begins, ends) = (Time::from_seconds(3), Time::from_seconds(4));
    for (client, holds) in [(clients[0], true), (clients[1], false)] {
        network.add_outage(Time::ZERO, client, server, Outage { begins, ends, holds });
    }
    *network.clock_mut(clients[2]) = HostClock { drift_ppm: -500, offset_micros: 1_234 };
    let mut contents = Dice::new(seed, 99);
    for frame in 0..1_200u64 {
        let now = Time::from_micros(frame * 16_667);
        for client in &clients {
            let mut bytes = vec![0; contents.below(1_300) as usize];
            contents.fill(&mut bytes);
            network.send(now, *client, network.address(server), &bytes);
            network.send(now, server, network.address(*client), &bytes);
        }
        match frame {
            300 => drop(network.rebind(now, clients[3])),
            400 => network.cut(server, clients[4]),
            500 => network.heal(server, clients[4]),
            _ => {}
        }
        hash_arrivals(&mut network, now, hash);
    }
    hash_arrivals(&mut network, Time::from_seconds(100), hash);
    let shown = network.clock(clients[2]).local(Time::from_seconds(100));
    hash.add_u64(shown.as_micros());
    let statistics = network.statistics_of_all();
    assert!(statistics.closes() && statistics.in_flight == 0, "seed {seed}: {statistics:?}");
}

fn hash_arrivals(network: &mut Network, until: Time, hash: &mut Hash) {
    let mut bytes = Vec::new();
    let hosts: Vec<Host> = network.hosts().collect();
    while let Some(now) = network.next_wake().filter(|wake| *wake <= until) {
        for host in &hosts {
            while let Some(sender) = network.receive(now, *host, &mut bytes) {
                hash.add_u64(now.as_micros());
                hash.add(&sender.address());
                hash.add_u64(u64::from(sender.port()));
                hash.add(&bytes);
            }
        }
    }
}

/// Two seconds of 200 bytes at 60 Hz through a stream.
fn hash_stream(seed: u64, profile: &Profile, hash: &mut Hash) {
    let mut stream = Stream::new(seed, profile.up.clone(), profile.down.clone());
    let mut bytes = Vec::new();
    for frame in 0..120u64 {
        stream.send(Time::from_micros(frame * 16_667), Side::Near, &[frame as u8; 200]);
    }
    while let Some(now) = stream.next_wake() {
        stream.receive(now, Side::Far, &mut bytes);
        hash.add_u64(now.as_micros());
        hash.add_u64(bytes.len() as u64);
    }
    assert_eq!(bytes.len(), 120 * 200, "seed {seed}, {}", profile.name);
    hash.add(&bytes);
}
