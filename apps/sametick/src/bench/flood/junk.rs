//! The strangers of the flood: many sockets that send what no client sends, at a steady rate.

use super::server::PROTOCOL;
use anyhow::Context;
use sametick::secure::hello::{COOKIE_BYTES, HELLO_BYTES, Hello, NOISE_1_BYTES};
use sametick::secure::{TokenHead, TokenKind};
use sametick::{Dice, Peer, Span, Time};
use sametick_links::{Clock, Link, UdpLink};
use std::thread;
use std::time::Duration;

/// From so many ports.
const SOURCES: usize = 32;

/// Made in advance, so that making them does not slow the flood down.
const DATAGRAMS: usize = 4096;

/// The rate is kept from one slice of time to the next.
const SLICE: Span = Span::millis(1);

/// What is late is sent later, but never more than this at once.
const BURST_MAX: u64 = 2_000;

pub(super) struct Junk {
    server: Peer,
    per_second: u64,
    links: Vec<UdpLink>,
    datagrams: Vec<Vec<u8>>,
}

pub(super) struct Outcome {
    pub(super) sent: u64,
}

impl Junk {
    pub(super) fn bind(server: Peer, per_second: u32, seed: u64) -> anyhow::Result<Self> {
        // Each from a network of its own: the limiter must not do the work of the gate.
        let bind = |source: usize| {
            let network = 1 + source as u16;
            let [high, low] = network.to_be_bytes();
            UdpLink::bind(([127, high, low, 1], 0).into())
        };
        let links: Result<Vec<UdpLink>, _> = (0..SOURCES).map(bind).collect();
        let mut dice = Dice::new(seed, 5);
        Ok(Self {
            server,
            per_second: u64::from(per_second),
            links: links.context("no sockets for the strangers")?,
            datagrams: (0..DATAGRAMS).map(|_| datagram(&mut dice)).collect(),
        })
    }

    pub(super) fn run(mut self, clock: Clock, until: Time) -> Outcome {
        let began = clock.now();
        let (mut pushed, mut slice) = (0, 0);
        loop {
            let now = clock.now();
            if now >= until {
                break;
            }
            let due = (now - began).as_micros() * self.per_second / 1_000_000;
            let link = &mut self.links[slice % SOURCES];
            let end = due.min(pushed + BURST_MAX);
            for index in pushed..end {
                let datagram = &self.datagrams[index as usize % DATAGRAMS];
                link.send(now, self.server, datagram);
            }
            pushed = end;
            link.flush(now);
            slice += 1;
            thread::sleep(Duration::from_micros(SLICE.as_micros()));
        }
        Outcome { sent: self.links.iter().map(|link| link.statistics().sent).sum() }
    }
}

fn datagram(dice: &mut Dice) -> Vec<u8> {
    match dice.below(6) {
        0 | 1 => hello(dice, false),
        2 => hello(dice, true),
        3 | 4 => packet(dice),
        _ => {
            let mut bytes = vec![0; dice.below(HELLO_BYTES as u64 + 1) as usize];
            dice.fill(&mut bytes);
            bytes
        }
    }
}

/// A hello of the right game whose sender holds no token: with a cookie, it looks like the second one
/// of a client.
fn hello(dice: &mut Dice, with_cookie: bool) -> Vec<u8> {
    let mut sealed_token = [0; 120];
    dice.fill(&mut sealed_token);
    let (mut cookie, mut noise) = ([0; COOKIE_BYTES], [0; NOISE_1_BYTES]);
    if with_cookie {
        dice.fill(&mut cookie);
        dice.fill(&mut noise);
    }
    let head = TokenHead {
        kind: if dice.chance(0.5) { TokenKind::Connect } else { TokenKind::Resume },
        protocol_id: PROTOCOL,
        client_id: dice.roll_u64(),
        expires_unix_seconds: 60 + dice.below(200),
    };
    let hello_id = dice.roll_u64().to_le_bytes();
    Hello { head, hello_id, cookie, sealed_token: &sealed_token, noise, is_within_tls: false }
        .write()
        .to_vec()
}

/// A short packet of a connection that may or may not be there.
fn packet(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = vec![0; 20 + dice.below(60) as usize];
    dice.fill(&mut bytes);
    bytes[0] = 0;
    // One of the first slots, where clients are, with any salt.
    bytes[1..3].copy_from_slice(&(dice.below(64) as u16).to_le_bytes());
    bytes
}
