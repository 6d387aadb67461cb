//! One server and its clients in memory, on virtual time. Measures the library's calls, not the lines
//! between them.

use super::arena::{Arena, Film, Input};
use crate::bench::line::Line;
use crate::bench::served::{Seeded, Views, address_of, cpu_time, step_server};
use allocation_counter::measure;
use sametick::{Client, Dice, Model, Rates, Server, Span, Tick, Time, View};
use std::sync::Arc;
use std::time::Duration;

const TICK: Span = Span::micros(16_667);
/// Twice a tick everyone hears and speaks; a server that has nothing due sleeps.
const STEPS_PER_TICK: u32 = 2;

/// What some time took.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) server: Duration,
    pub(super) ticks: u64,
    /// Snapshots that were due, one for each client.
    pub(super) due: u64,
    pub(super) bytes_down: u64,
    pub(super) allocations: u64,
    /// Clients that predict, and clients that only watch.
    pub(super) clients: [Received; 2],
}

/// What receiving took some clients.
#[derive(Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) time: Duration,
    pub(super) snapshots: u64,
    pub(super) ticks_again: u64,
}

/// Who plays, and how.
#[derive(Clone, Copy)]
pub(super) struct Guests {
    pub(super) players: u32,
    pub(super) model: Model,
    pub(super) stride: u32,
    pub(super) ping_ms: u32,
}

pub(super) struct Party {
    now: Time,
    server: Server<Arena>,
    clients: Vec<Client<Arena>>,
    /// The newest snapshot of each client.
    newest: Vec<Tick>,
    up: Line,
    down: Line,
    random: Seeded,
    dice: Dice,
    ticks_per_snapshot: u32,
    loss: f64,
    views: Views,
    /// What the server has on the heap because of its clients.
    pub(super) server_bytes: i64,
    pub(super) spent: Spent,
    pub(super) verified: bool,
    pub(super) compared: u64,
}

impl Party {
    pub(super) fn new(
        Guests { players, model, stride, ping_ms }: Guests,
        ticks_per_snapshot: u32,
        loss: f64,
        seed: u64,
        film: &Arc<Film>,
    ) -> Self {
        let mut random = Seeded(Dice::new(seed, 1));
        let rates = Rates { tick_length: TICK, ticks_per_snapshot, ..model.rates };
        let server = Server::open(film.clone(), seed, rates, Time::ZERO, &mut random);
        let watch = View { predicts: false, ..model.view };
        let clients: Vec<Client<Arena>> = (0..players)
            .map(|client| {
                let predict = View { stride, ..model.view };
                let view = if client % 2 == 0 { predict } else { watch };
                Client::open(address_of(0), film.clone(), view, Time::ZERO, &mut random)
            })
            .collect();
        let step_micros = (TICK / u64::from(STEPS_PER_TICK)).as_micros();
        let delay_steps = (u64::from(ping_ms) * 500).div_ceil(step_micros).max(1) as usize;
        Self {
            now: Time::ZERO,
            server,
            newest: vec![Tick(0); clients.len()],
            clients,
            // Clients speak after the server within a step.
            up: Line::new(delay_steps - 1, players as usize),
            down: Line::new(delay_steps, players as usize),
            random,
            dice: Dice::new(seed, 2),
            ticks_per_snapshot,
            loss,
            views: Views::of::<super::arena::Entity>(),
            server_bytes: 0,
            spent: Spent::default(),
            verified: true,
            compared: 0,
        }
    }

    pub(super) fn run(&mut self, ticks: u32) {
        for step in 0..ticks * STEPS_PER_TICK {
            self.serve();
            self.follow(step % STEPS_PER_TICK == 0);
            self.now += TICK / u64::from(STEPS_PER_TICK);
        }
    }

    /// Whether everyone is here and has a world.
    pub(super) fn is_complete(&self) -> bool {
        self.server.players().count() == self.clients.len()
            && self.clients.iter().all(|client| {
                client.snapshot().is_some_and(|world| world.len() == self.clients.len())
            })
    }

    /// Messages that either end did not take.
    pub(super) fn malformed(&self) -> u64 {
        self.server.malformed() + self.clients.iter().map(Client::malformed).sum::<u64>()
    }

    fn serve(&mut self) {
        let mut arriving = self.up.arrive(&mut self.dice, self.loss);
        let departing = self.down.departing();
        let before = self.server.world().tick();
        let mut took = Duration::ZERO;
        let counted = measure(|| {
            let began = cpu_time();
            step_server(&mut self.server, self.now, &mut self.random, &mut arriving, departing);
            took = cpu_time() - began;
        });
        self.up.depart(arriving);
        self.server_bytes += counted.bytes_current;
        let tick = self.server.world().tick();
        let spent = &mut self.spent;
        spent.server += took;
        spent.allocations += counted.count_total;
        spent.bytes_down += departing.bytes() as u64;
        if tick > before {
            spent.ticks += u64::from(tick.0 - before.0);
            self.views.remember(self.server.world());
            if tick.0.is_multiple_of(self.ticks_per_snapshot) {
                spent.due += self.server.players().count() as u64;
            }
        }
    }

    fn follow(&mut self, acts: bool) {
        let now = self.now;
        let mut arriving = self.down.arrive(&mut self.dice, self.loss);
        for group in 0..2 {
            let began = cpu_time();
            arriving.each(|client, datagram| {
                if client % 2 == group {
                    self.clients[client].receive(now, datagram);
                }
            });
            self.spent.clients[group].time += cpu_time() - began;
        }
        self.down.depart(arriving);
        let departing = self.up.departing();
        for (number, client) in self.clients.iter_mut().enumerate() {
            if acts {
                client.command(Input::any(&mut self.dice));
            }
            client.advance(now);
            while let Some(datagram) = client.transmit(now) {
                departing.push(number, datagram);
            }
        }
        self.look();
    }

    /// Counts who has a new snapshot, and compares some of them with what the server showed.
    fn look(&mut self) {
        for number in 0..self.clients.len() {
            let client = &self.clients[number];
            let Some(world) = client.snapshot() else { continue };
            let tick = world.tick();
            if std::mem::replace(&mut self.newest[number], tick) == tick {
                continue;
            }
            let received = &mut self.spent.clients[number % 2];
            received.snapshots += 1;
            received.ticks_again += u64::from(client.ticks_ahead());
            let turn = tick.0 / self.ticks_per_snapshot + number as u32;
            if turn.is_multiple_of(COMPARED_EVERY) && world.len() == self.clients.len() {
                self.verified &= self.is_shown(client);
                self.compared += 1;
            }
        }
    }

    /// Whether a client has what the server showed at that tick: its own as it is, the others as shown.
    fn is_shown(&self, client: &Client<Arena>) -> bool {
        // A snapshot in several parts that lost one has the rest of it from an earlier tick.
        let is_whole = self.loss == 0.0 || self.clients.len() <= super::PLAYERS_IN_ONE_PART;
        self.views.show(client, is_whole)
    }
}

/// One snapshot in so many of each client is compared.
const COMPARED_EVERY: u32 = 5;
