//! The server of the flood: echoes what its clients say, and counts what strangers cost.

use super::{Now, Stage, thread_seconds};
use anyhow::Context;
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Listener, ListenerConfig, ListenerEvent};
use sametick::secure::{ConnectionId, GateConfig, Past, SystemRandom, TokenKey};
use sametick::{Peer, Span, Time};
use sametick_links::{Clock, Link, UdpLink};
use std::collections::BTreeSet;

pub(super) const PROTOCOL: u64 = 7;

/// So many datagrams, and then those who wait for an answer have their turn.
const DATAGRAMS_PER_TURN: usize = 256;

/// No turn comes later, even if nothing arrives: somebody has to see the stage change.
const TURN_MAX: Span = Span::millis(5);

pub(super) struct Server {
    link: UdpLink,
    listener: Listener,
    honest: BTreeSet<Peer>,
}

#[derive(Default)]
pub(super) struct Outcome {
    pub(super) stranger_datagrams: u64,
    pub(super) stranger_bytes_in: u64,
    pub(super) stranger_bytes_out: u64,
    /// What the listener's memory grew by while it looked at strangers' datagrams.
    pub(super) stranger_state_bytes: i64,
    /// For which the thread ran during the flood.
    pub(super) busy_seconds: Option<f64>,
    /// Whether every datagram that came was taken or dropped for a reason.
    pub(super) adds_up: bool,
}

impl Server {
    pub(super) fn bind(clients: &[UdpLink], connections: u32) -> anyhow::Result<Self> {
        let link = UdpLink::bind(([127, 0, 0, 1], 0).into()).context("no socket for the server")?;
        link.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
        let random = &mut SystemRandom::new();
        let past = Past::Unknown { started_unix_seconds: 0 };
        let ticket_key = TokenKey::generate(random);
        let config = ListenerConfig {
            gate: GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, ticket_key, past),
            channel: Settings::default(),
            // A few places stay free, which strangers could take.
            connections_max: connections as usize + 14,
            unix_seconds_at_zero: 0,
        };
        let listener = Listener::new(config, Time::ZERO, random);
        Ok(Self { link, listener, honest: clients.iter().map(Link::local).collect() })
    }

    pub(super) fn address(&self) -> Peer {
        self.link.local()
    }

    pub(super) fn run(mut self, clock: Clock, stage: &Stage) -> Outcome {
        let mut outcome = Outcome::default();
        let mut datagram = Vec::with_capacity(1200);
        let mut echoes: Vec<(ConnectionId, [u8; 8])> = Vec::with_capacity(DATAGRAMS_PER_TURN);
        let (mut taken, mut busy) = (0, Busy::default());
        while !stage.is(Now::Over) {
            busy.follow(stage);
            for _ in 0..DATAGRAMS_PER_TURN {
                let now = clock.now();
                let Some(from) = self.link.receive(now, &mut datagram) else { break };
                taken += 1;
                self.take(now, from, &mut datagram, &mut echoes, &mut outcome);
            }
            let now = clock.now();
            for (token, (to, echo)) in (0..).zip(echoes.drain(..)) {
                self.listener.send_unreliable(to, token, &echo);
            }
            self.listener.advance(now, &mut |_| {});
            while let Some((to, datagram)) = self.listener.transmit(now) {
                self.link.send(now, to, datagram);
            }
            self.link.flush(now);
            let wake = self.listener.next_wake().min(now + TURN_MAX);
            self.link.wait(&clock, wake);
        }
        outcome.busy_seconds = busy.seconds;
        let drops = self.listener.drops();
        let dropped = drops.malformed + drops.unknown_connection + drops.replayed + drops.forged;
        let handshakes = self.listener.gate_counters().received();
        outcome.adds_up = taken == self.listener.packets_taken() + dropped + handshakes
            && self.link.statistics().closes();
        outcome
    }

    fn take(
        &mut self,
        now: Time,
        from: Peer,
        datagram: &mut [u8],
        echoes: &mut Vec<(ConnectionId, [u8; 8])>,
        outcome: &mut Outcome,
    ) {
        let Self { link, listener, honest } = self;
        let is_stranger = !honest.contains(&from);
        let bytes_in = datagram.len() as u64;
        let mut answer_bytes = [0; 1200];
        let mut bytes_out = 0;
        let random = &mut SystemRandom::new();
        let counted = allocation_counter::measure(|| {
            let mut tell = |event: ListenerEvent<'_>| {
                if let ListenerEvent::Message { connection, event: Event::Unreliable(said) } = event
                    && let Ok(said) = said.try_into()
                {
                    echoes.push((connection, said));
                }
            };
            if let Some(answer) = listener.receive(now, from, datagram, random, &mut tell) {
                bytes_out = answer.len();
                answer_bytes[..bytes_out].copy_from_slice(&answer);
            }
        });
        if bytes_out > 0 {
            link.send(now, from, &answer_bytes[..bytes_out]);
        }
        if is_stranger {
            outcome.stranger_datagrams += 1;
            outcome.stranger_bytes_in += bytes_in;
            outcome.stranger_bytes_out += bytes_out as u64;
            outcome.stranger_state_bytes += counted.bytes_current;
        }
    }
}

/// How long this thread ran during the flood.
#[derive(Default)]
struct Busy {
    began: Option<f64>,
    seconds: Option<f64>,
}

impl Busy {
    fn follow(&mut self, stage: &Stage) {
        match self.began {
            None if stage.is(Now::Flooded) => self.began = thread_seconds(),
            Some(began) if self.seconds.is_none() && !stage.is(Now::Flooded) => {
                self.seconds = thread_seconds().map(|seconds| seconds - began);
            }
            _ => {}
        }
    }
}
