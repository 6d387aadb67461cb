//! Somebody on the way who has no key: records, replays, races, changes, forges and floods.

use super::ledger::Ledger;
use sametick::network::{Host, Network};
use sametick::secure::hello::Retry;
use sametick::secure::is_handshake;
use sametick::{Dice, Peer, Span, Time};
use std::collections::VecDeque;

const KEPT: usize = 256;
/// Where a hello has its cookie.
const COOKIE_AT: usize = 34;

pub(crate) struct Adversary {
    pub(crate) host: Host,
    pub(crate) wake: Time,
    dice: Dice,
    /// From whom, to whom, what.
    recorded: VecDeque<(Peer, Peer, Vec<u8>)>,
    races: Vec<(Peer, Vec<u8>)>,
    hello: Option<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Adversary {
    pub(crate) fn new(seed: u64, host: Host) -> Self {
        Self {
            host,
            wake: Time::ZERO,
            dice: Dice::new(seed, 20),
            recorded: VecDeque::new(),
            races: Vec::new(),
            hello: None,
            buffer: Vec::new(),
        }
    }

    /// Hears a datagram that somebody sent.
    pub(crate) fn overhear(&mut self, from: Peer, to: Peer, bytes: &[u8]) {
        if bytes.len() == 1200 && is_handshake(bytes) {
            self.hello = Some(bytes.to_vec());
        }
        if self.dice.chance(0.05) {
            let mut kept = Vec::new();
            if self.recorded.len() == KEPT {
                kept = self.recorded.pop_front().map_or(kept, |(_, _, bytes)| bytes);
            }
            kept.clear();
            kept.extend_from_slice(bytes);
            self.recorded.push_back((from, to, kept));
        }
        if self.dice.chance(0.002) {
            self.races.push((to, bytes.to_vec()));
        }
    }

    /// Uses the cookies it is given with hellos that it copied.
    pub(crate) fn receive(&mut self, ledger: &Ledger, network: &mut Network, server: Peer) {
        let mut datagram = std::mem::take(&mut self.buffer);
        while network.receive(ledger.now, self.host, &mut datagram).is_some() {
            if let (Some(retry), Some(hello)) = (Retry::read(&datagram), &self.hello) {
                let mut hello = hello.clone();
                hello[COOKIE_AT..COOKIE_AT + 16].copy_from_slice(&retry.cookie);
                if ledger.script.allows("copied hello", ledger.now, || "with a cookie".to_owned()) {
                    network.send(ledger.now, self.host, server, &hello);
                }
            }
        }
        self.buffer = datagram;
    }

    pub(crate) fn act(&mut self, ledger: &Ledger, network: &mut Network, server: Peer) {
        let now = ledger.now;
        for (to, bytes) in self.races.drain(..) {
            if ledger.script.allows("race", now, || format!("{} bytes to {to}", bytes.len())) {
                network.send(now, self.host, to, &bytes);
            }
        }
        self.buffer.clear();
        let mut claimed = network.address(self.host);
        let mut to = server;
        match self.dice.below(8) {
            0 => {
                // Junk from anywhere, sometimes with the length of a hello.
                let length = if self.dice.chance(0.2) { 1200 } else { self.dice.below(200) };
                self.buffer.resize(length as usize, 0);
                self.dice.fill(&mut self.buffer);
                claimed = self.anywhere();
            }
            1 => {
                // A copied hello from somebody else's address.
                self.buffer.extend_from_slice(self.hello.as_deref().unwrap_or(b"hello"));
                if self.dice.chance(0.7) {
                    claimed = self.anywhere();
                }
            }
            _ => {
                let Some((from, dear, recorded)) = self.pick() else { return self.sleep(now) };
                (claimed, to) = (from, dear);
                self.buffer.extend_from_slice(&recorded);
                self.spoil(&mut to, &mut claimed, server);
            }
        }
        let what = || format!("{} bytes to {to} as {claimed}", self.buffer.len());
        if ledger.script.allows("forgery", now, what) {
            network.send_as(now, self.host, claimed, to, &self.buffer);
        }
        self.sleep(now);
    }

    fn pick(&mut self) -> Option<(Peer, Peer, Vec<u8>)> {
        let place = self.dice.below(self.recorded.len().max(1) as u64) as usize;
        self.recorded.get(place).cloned()
    }

    /// Makes a forgery of a recorded datagram, or leaves it as it was: a replay.
    fn spoil(&mut self, to: &mut Peer, claimed: &mut Peer, server: Peer) {
        let number_at = if *to == server { 5 } else { 1 };
        match self.dice.below(5) {
            0 => {}
            1 => *claimed = self.anywhere(),
            2 => std::mem::swap(to, claimed),
            3 => {
                let length = self.buffer.len().max(1) as u64;
                let (at, mask) = (self.dice.below(length) as usize, 1 << self.dice.below(8));
                if let Some(byte) = self.buffer.get_mut(at) {
                    *byte ^= mask;
                }
            }
            _ => {
                // Far ahead of the number it had, as far as the short number reaches.
                if let Some([low, high]) =
                    self.buffer.get_mut(number_at..).and_then(|rest| rest.first_chunk_mut())
                {
                    let ahead = 1_500 + self.dice.below(30_000) as u16;
                    let number = u16::from_le_bytes([*low, *high]).wrapping_add(ahead);
                    [*low, *high] = number.to_le_bytes();
                }
            }
        }
    }

    fn anywhere(&mut self) -> Peer {
        let mut address = [0x20; 16];
        self.dice.fill(&mut address[2..8]);
        Peer::new(address, 4000)
    }

    fn sleep(&mut self, now: Time) {
        self.wake = now + Span::micros(1 + self.dice.below(20_000));
    }
}
