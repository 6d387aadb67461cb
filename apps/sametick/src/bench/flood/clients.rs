//! The honest clients of the flood: each says 60 times a second who it is and how often it spoke.

use super::server::PROTOCOL;
use super::{ANSWER_WITHIN, Metronome, Now, Stage};
use anyhow::{Context, bail};
use sametick::channel::{Event, Settings};
use sametick::endpoint::{Dialer, DialerEvent};
use sametick::secure::{ClientToken, SystemRandom};
use sametick::{Peer, Span, Time};
use sametick_links::{Clock, Link, UdpLink};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// 60 commands a second.
const COMMAND_EVERY: Span = Span::micros(16_667);

/// Between two looks at all sockets; a tenth of a command's time.
const LOOK_EVERY: Duration = Duration::from_micros(1_500);

/// The answers of all clients.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) sent: usize,
    pub(super) answered: usize,
    pub(super) connected: usize,
    /// Whether every answer was what its client had sent.
    pub(super) all_genuine: bool,
    /// How long each answer took, shortest first.
    answers: Vec<Span>,
}

impl Outcome {
    /// So many of a hundred answers came within this.
    pub(super) fn answer_ms(&self, percent: usize) -> f64 {
        let index = (self.answers.len() * percent / 100).min(self.answers.len().saturating_sub(1));
        self.answers.get(index).map_or(0.0, |span| span.as_millis_f64())
    }
}

struct Client {
    number: u32,
    link: UdpLink,
    dialer: Dialer,
    metronome: Metronome,
    /// When each command was sent, and when its answer came.
    commands: Vec<(Time, Option<Time>)>,
    all_genuine: bool,
}

/// A socket for each: what comes from a server does not name the connection.
pub(super) fn bind(clients: u32) -> anyhow::Result<Vec<UdpLink>> {
    let bind = |_| UdpLink::bind(([127, 0, 0, 1], 0).into()).context("no socket for a client");
    (0..clients).map(bind).collect()
}

pub(super) fn run(
    links: Vec<UdpLink>,
    server: Peer,
    clock: Clock,
    stage: &Stage,
    joined: &AtomicUsize,
) -> anyhow::Result<Outcome> {
    let count = links.len() as u64;
    let dial = |(number, link): (u32, UdpLink)| {
        let random = &mut SystemRandom::new();
        let token = ClientToken::open_mode(PROTOCOL, u64::from(number) + 1, b"", random);
        let Ok(token) = token else { bail!("a token could not be made") };
        let now = clock.now();
        // Not all in the same moment, as players never are.
        let first = Span::micros(COMMAND_EVERY.as_micros() * u64::from(number) / count);
        Ok(Client {
            number,
            link,
            dialer: Dialer::new(server, token, Settings::default(), now, random),
            metronome: Metronome { next: now + first, every: COMMAND_EVERY },
            commands: Vec::new(),
            all_genuine: true,
        })
    };
    let clients: anyhow::Result<Vec<Client>> = (0..).zip(links).map(dial).collect();
    let mut clients = clients?;
    while !stage.is(Now::Over) {
        let mut connected = 0;
        for client in &mut clients {
            client.turn(&clock, server, stage.is(Now::Flooded));
            connected += usize::from(client.dialer.is_connected());
        }
        joined.store(connected, Ordering::Release);
        thread::sleep(LOOK_EVERY);
    }
    Ok(sum_up(&clients))
}

impl Client {
    fn turn(&mut self, clock: &Clock, server: Peer, is_flooded: bool) {
        let now = clock.now();
        let mut datagram = Vec::new();
        while self.link.receive(now, &mut datagram).is_some() {
            let (number, commands, genuine) =
                (self.number, &mut self.commands, &mut self.all_genuine);
            self.dialer.receive(now, &mut datagram, &mut |event| {
                if let DialerEvent::Message(Event::Unreliable(said)) = event {
                    *genuine &= hear(number, commands, said, now);
                }
            });
        }
        // Those who wait for the flood keep their beat.
        if self.metronome.is_due(now) && is_flooded {
            let mut command = [0; 8];
            command[..4].copy_from_slice(&self.number.to_le_bytes());
            command[4..].copy_from_slice(&(self.commands.len() as u32).to_le_bytes());
            self.dialer.send_unreliable(self.commands.len() as u32, &command);
            self.commands.push((now, None));
        }
        self.dialer.advance(now, &mut |_| {});
        while let Some(datagram) = self.dialer.transmit(now) {
            self.link.send(now, server, datagram);
        }
        self.link.flush(now);
    }
}

/// Takes in an echo; says whether it is one.
fn hear(number: u32, commands: &mut [(Time, Option<Time>)], said: &[u8], now: Time) -> bool {
    let Some((whose, counter)) = said.split_first_chunk() else { return false };
    let Ok(counter) = counter.try_into().map(u32::from_le_bytes) else { return false };
    match commands.get_mut(counter as usize) {
        Some((_, answered @ None)) if u32::from_le_bytes(*whose) == number => {
            *answered = Some(now);
            true
        }
        _ => false,
    }
}

fn sum_up(clients: &[Client]) -> Outcome {
    let mut outcome = Outcome { all_genuine: true, ..Outcome::default() };
    for client in clients {
        outcome.all_genuine &= client.all_genuine;
        outcome.connected += usize::from(client.dialer.is_connected());
        outcome.sent += client.commands.len();
        let took = client.commands.iter().filter_map(|(at, came)| came.map(|came| came - *at));
        outcome.answers.extend(took.filter(|span| *span <= ANSWER_WITHIN));
    }
    outcome.answered = outcome.answers.len();
    outcome.answers.sort_unstable();
    outcome
}
