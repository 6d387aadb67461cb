//! Trials over real sockets on this machine, each line with its own bad network.

use anyhow::bail;
use sametick::network::Conditions;
use sametick::{Peer, Span, Time};
use sametick_lab::{Carrier, Plan};
use sametick_links::conditioner::Direction;
use sametick_links::{Clock, Conditioned, DATAGRAM_BYTES_MAX, Link, UdpLink};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// How long is slept between two looks at all sockets.
const LOOKS_EVERY: Span = Span::micros(200);
/// The most datagrams that wait to be read.
const WAITING_MAX: usize = 65_536;

/// Whether a plan can be run so.
pub(crate) fn check(plan: &Plan) -> anyhow::Result<()> {
    for trial in &plan.trials {
        let players = trial.settings.players() as usize;
        let play = trial.settings.text("play");
        if ["islands", "clock"].contains(&play) {
            bail!("{play:?} is played in virtual time only");
        }
        if trial.settings.text("play") == "fpsci" && 7 + 56 * players > DATAGRAM_BYTES_MAX {
            bail!(
                "{players} players in FPSci's format do not fit into a datagram: run it in virtual time"
            );
        }
    }
    Ok(())
}

/// A socket for each host.
pub(crate) fn open(hosts: usize, seed: u64) -> Result<Box<dyn Carrier>, String> {
    let mut links = Vec::new();
    for host in 0..hosts {
        let link = UdpLink::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .map_err(|error| format!("the system gives no socket to host {host}: {error}"))?;
        let mut link = Conditioned::new(link, seed.wrapping_add(host as u64));
        link.set_spin(Span::ZERO);
        links.push(link);
    }
    let inboxes = links.iter().map(|_| VecDeque::new()).collect();
    Ok(Box::new(Sockets { clock: Clock::start(), links, inboxes }))
}

struct Sockets {
    clock: Clock,
    links: Vec<Conditioned<UdpLink>>,
    /// What came, with the moment at which it was found.
    inboxes: Vec<VecDeque<(Time, Peer, Vec<u8>)>>,
}

impl Sockets {
    fn look(&mut self) {
        let mut datagram = Vec::new();
        for (link, inbox) in self.links.iter_mut().zip(&mut self.inboxes) {
            let now = self.clock.now();
            link.flush(now);
            while inbox.len() < WAITING_MAX
                && let Some(from) = link.receive(now, &mut datagram)
            {
                inbox.push_back((now, from, datagram.clone()));
            }
        }
    }
}

impl Carrier for Sockets {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn wait(&mut self, until: Time) {
        loop {
            self.look();
            let now = self.clock.now();
            if now >= until || self.inboxes.iter().any(|inbox| !inbox.is_empty()) {
                return;
            }
            let sleep = (until - now).min(LOOKS_EVERY);
            std::thread::sleep(Duration::from_micros(sleep.as_micros()));
        }
    }

    fn address(&self, host: usize) -> Peer {
        self.links[host].local()
    }

    fn send(&mut self, from: usize, to: Peer, bytes: &[u8]) {
        let now = self.clock.now();
        self.links[from].send(now, to, bytes);
    }

    fn receive(&mut self, host: usize, into: &mut Vec<u8>) -> Option<Peer> {
        let (_, from, datagram) = self.inboxes[host].pop_front()?;
        *into = datagram;
        Some(from)
    }

    fn next_arrival(&self, host: usize) -> Option<Time> {
        self.inboxes[host].front().map(|(at, _, _)| *at)
    }

    fn set_conditions(&mut self, from: usize, to: usize, conditions: Conditions) {
        let (now, peer) = (self.clock.now(), self.links[to].local());
        self.links[from].set_conditions_of(now, peer, Direction::Outbound, conditions);
    }
}
