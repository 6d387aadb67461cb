//! A match of the arena in memory, on virtual time: one real server, some whole clients, and extras, who talk to
//! the server as clients do but keep no world. Measures the server's calls and nothing else.

use crate::bench::line::Line;
use crate::bench::served::{Seeded, Views, address_of, cpu_time, step_server};
use allocation_counter::measure;
use sametick::channel::{RateLimits, Settings};
use sametick::endpoint::ListenerConfig;
use sametick::{Client, Dice, Extra, Model, PlayerId, Rates, Server, Span, Tick, Time};
use sametick_arena::{Arena, Content, Entity, anything};
use std::time::Duration;

/// Twice a tick everyone hears and speaks.
const STEPS_PER_TICK: u32 = 2;
/// So many clients are whole, and what they have is compared with what the server showed.
const WHOLE_MAX: u32 = 8;
/// One snapshot in so many of each whole client is compared.
const COMPARED_EVERY: u64 = 7;
/// In so many steps everybody has knocked: hands on keyboards are not that quick either.
const KNOCKING_STEPS: usize = 60;
/// No line of this match is the narrow one.
const CEILING_BYTES_PER_SECOND: u32 = 8_000_000;

/// Who plays, and how.
#[derive(Clone)]
pub(super) struct Match {
    pub(super) players: u32,
    pub(super) tick_rate: u32,
    pub(super) ticks_per_snapshot: u32,
    pub(super) model: Model,
    pub(super) ping_ms: u32,
    pub(super) content: Content,
    pub(super) seed: u64,
}

/// What some time took.
#[derive(Clone, Default)]
pub(super) struct Spent {
    /// The server's time in each tick.
    pub(super) ticks: Vec<Duration>,
    pub(super) bytes_down: u64,
    /// Snapshots that came to anyone.
    pub(super) snapshots: u64,
    /// Commands that came too late.
    pub(super) late: u64,
}

pub(super) struct Crowd {
    now: Time,
    step: Span,
    server: Server<Arena>,
    members: Vec<Member>,
    up: Line,
    down: Line,
    random: Seeded,
    dice: Dice,
    seed: u64,
    views: Views,
    /// What the server has on the heap because of its clients.
    pub(super) server_bytes: i64,
    pub(super) spent: Spent,
    pub(super) verified: bool,
    pub(super) compared: u64,
}

/// One player, its newest snapshot, and how many of its commands were late so far.
struct Member {
    client: Talker,
    newest: Tick,
    snapshots: u64,
    late: u64,
    begins: usize,
}

#[expect(clippy::large_enum_variant, reason = "few are whole, and each is as large as it is")]
enum Talker {
    Whole(Client<Arena>),
    Extra(Extra<Arena>),
}

impl Crowd {
    pub(super) fn new(plan: &Match) -> Self {
        let Match { players, tick_rate, ticks_per_snapshot, model, ping_ms, ref content, seed } =
            *plan;
        let mut random = Seeded(Dice::new(seed, 1));
        let tick_length =
            Span::micros((1_000_000 + u64::from(tick_rate) / 2) / u64::from(tick_rate));
        let rates = Rates { tick_length, ticks_per_snapshot, ..model.rates };
        let rate = RateLimits {
            ceiling_bytes_per_second: CEILING_BYTES_PER_SECOND,
            ..RateLimits::default()
        };
        let channel = Settings { rate, ..Settings::default() };
        let config = ListenerConfig { channel, ..ListenerConfig::open(&mut random) };
        // Clients have their own, in which nobody has looked for what can be seen.
        let theirs = content.clone();
        let ours = content.clone();
        if !ours.tuning.sees_all {
            ours.map.visibility();
        }
        let server = Server::new(config, ours, seed, rates, Time::ZERO, &mut random);
        let members = (0..players).map(|number| {
            let (to, now) = (address_of(0), Time::ZERO);
            let client = if number < WHOLE_MAX {
                Talker::Whole(Client::open(to, theirs.clone(), model.view, now, &mut random))
            } else {
                Talker::Extra(Extra::open(to, model.view, now, &mut random))
            };
            let begins = number as usize * KNOCKING_STEPS / players as usize;
            Member { client, newest: Tick(0), snapshots: 0, late: 0, begins }
        });
        let members = members.collect();
        let step = tick_length / u64::from(STEPS_PER_TICK);
        let delay_steps = (u64::from(ping_ms) * 500).div_ceil(step.as_micros()).max(1) as usize;
        Self {
            now: Time::ZERO,
            step,
            server,
            members,
            // Clients speak after the server within a step.
            up: Line::new(delay_steps - 1, players as usize),
            down: Line::new(delay_steps, players as usize),
            random,
            dice: Dice::new(seed, 2),
            seed,
            views: Views::of::<Entity>(),
            server_bytes: 0,
            spent: Spent::default(),
            verified: true,
            compared: 0,
        }
    }

    pub(super) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            let mut took = Duration::ZERO;
            for _ in 0..STEPS_PER_TICK {
                took += self.serve();
                self.follow();
                self.now += self.step;
            }
            self.spent.ticks.push(took);
        }
    }

    /// Whether everyone is here and has been told something.
    pub(super) fn is_complete(&self) -> bool {
        self.server.players().count() == self.members.len()
            && self.members.iter().all(|member| member.snapshots > 0)
    }

    /// Messages that either end did not take.
    pub(super) fn malformed(&self) -> u64 {
        let theirs = self.members.iter().map(|member| match &member.client {
            Talker::Whole(client) => client.malformed(),
            Talker::Extra(extra) => extra.malformed(),
        });
        self.server.malformed() + theirs.sum::<u64>()
    }

    fn serve(&mut self) -> Duration {
        let mut arriving = self.up.arrive(&mut self.dice, 0.0);
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
        self.spent.bytes_down += departing.bytes() as u64;
        let world = self.server.world();
        if world.tick() > before {
            self.views.remember(world);
        }
        // Whoever asks gets them; here nobody does.
        self.server.take_verdicts();
        self.server.take_events();
        took
    }

    fn follow(&mut self) {
        let (now, seed) = (self.now, self.seed);
        let steps = (now.as_micros() / self.step.as_micros()) as usize;
        let mut arriving = self.down.arrive(&mut self.dice, 0.0);
        arriving.each(|client, datagram| self.members[client].client.receive(now, datagram));
        self.down.depart(arriving);
        let departing = self.up.departing();
        let tick = (now.as_micros() / (2 * self.step.as_micros())) as u32;
        for (number, member) in self.members.iter_mut().enumerate() {
            if steps < member.begins {
                continue;
            }
            // Not all change their minds in the same tick.
            let mood = tick + (number as u32 * 7) % 15;
            member.client.act(now, anything(seed, mood, PlayerId(number as u16)));
            while let Some(datagram) = member.client.transmit(now) {
                departing.push(number, datagram);
            }
            let (came, late) = member.count();
            self.spent.snapshots += came;
            self.spent.late += late;
            if let Talker::Whole(client) = &member.client
                && came > 0
                && (member.snapshots + number as u64).is_multiple_of(COMPARED_EVERY)
            {
                // Of several parts, one may have had to wait.
                self.verified &= self.views.show(client, false);
                self.compared += 1;
            }
        }
    }
}

impl Member {
    /// How many snapshots and late commands there are since this was last asked.
    fn count(&mut self) -> (u64, u64) {
        let (snapshots, late) = match &self.client {
            Talker::Whole(client) => {
                let tick = client.snapshot().map_or(Tick(0), |world| world.tick());
                let is_new = std::mem::replace(&mut self.newest, tick) != tick;
                (self.snapshots + u64::from(is_new), client.repeated())
            }
            Talker::Extra(extra) => (extra.snapshots(), extra.repeated()),
        };
        let new = (snapshots - self.snapshots, late - self.late);
        (self.snapshots, self.late) = (snapshots, late);
        new
    }
}

impl Talker {
    fn receive(&mut self, now: Time, datagram: &mut [u8]) {
        match self {
            Self::Whole(client) => client.receive(now, datagram),
            Self::Extra(extra) => extra.receive(now, datagram),
        }
    }

    fn act(&mut self, now: Time, command: sametick_arena::Command) {
        match self {
            Self::Whole(client) => {
                client.command(command);
                client.advance(now);
                client.take_effects();
                client.take_events();
            }
            Self::Extra(extra) => {
                extra.command(command);
                extra.advance(now);
            }
        }
    }

    fn transmit(&mut self, now: Time) -> Option<&[u8]> {
        match self {
            Self::Whole(client) => client.transmit(now),
            Self::Extra(extra) => extra.transmit(now),
        }
    }
}
