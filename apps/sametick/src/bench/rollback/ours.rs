//! Our own side: two machines over the simulated network; the work is timed, the waiting is not.

use super::{DELAY, DEPTH, Measured, Options, Pair, TICK, command};
use crate::bench::served::cpu_time;
use sametick::lockstep::{Identity, Lockstep, Mesh, Role, Setup, Turns};
use sametick::network::{Conditions, Host, Loss, Network};
use sametick::secure::Random;
use sametick::{Dice, Span, Tick, Time};
use sametick_arena::{Arena, Content};

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

fn setup(options: &Options) -> Setup {
    Setup {
        players: 2,
        seed: options.seed,
        turns: Turns::Fixed { delay_ticks: DELAY },
        rollback_ticks: DEPTH,
        tick_length: TICK,
        ..Setup::ROLLBACK
    }
}

fn network(options: &Options) -> (Network, [Host; 2]) {
    let mut network = Network::new(options.seed);
    network.set_default_conditions(Conditions {
        delay: Span::micros(u64::from(options.ping) * 500),
        loss: Loss::Random { probability: options.loss },
        ..Conditions::PERFECT
    });
    let hosts = [network.add_host(), network.add_host()];
    (network, hosts)
}

/// Counts what has happened once the game has begun.
struct Watch {
    measured: Measured,
    began: Option<(Time, [u32; 2], [u64; 2])>,
    compared: Tick,
    seed: u64,
}

impl Watch {
    fn new(seed: u64) -> Self {
        let measured = Measured { verified: true, ..Measured::default() };
        Self { measured, began: None, compared: Tick(0), seed }
    }

    /// Whether what is done counts.
    fn counts(&self) -> bool {
        self.began.is_some()
    }

    fn look(&mut self, now: Time, games: [&Lockstep<Arena>; 2]) {
        let ticks = games.map(|game| game.shown().map_or(0, |world| world.tick().0));
        let again = games.map(|game| game.statistics().resimulated_ticks);
        if self.began.is_none() && ticks.iter().all(|tick| *tick > 60) {
            self.began = Some((now, ticks, again));
        }
        let known = games.map(|game| game.world().map_or(0, |world| world.tick().0));
        for tick in self.compared.0 + 1..=known[0].min(known[1]) {
            let [one, other] = games.map(|game| game.hash_of(Tick(tick)));
            self.measured.verified &= one.is_none() || other.is_none() || one == other;
            self.compared = Tick(tick);
        }
        if let Some((since, first, before)) = self.began {
            let seen = |i: usize| u64::from(ticks[i] - first[i]);
            self.measured.resimulated = again[0] + again[1] - before[0] - before[1];
            self.measured.stepped = seen(0) + seen(1) + self.measured.resimulated;
            self.measured.seconds = (now - since).as_seconds_f64();
        }
    }

    fn wish(&self, player: usize, game: &Lockstep<Arena>) -> sametick_arena::Command {
        let tick = game.shown().map_or(0, |world| world.tick().0);
        command(self.seed, player as u64, tick)
    }
}

/// A frame of both players lasts a tick.
fn end(options: &Options) -> Time {
    Time::from_seconds(u64::from(options.seconds) + 2)
}

/// Two machines without seals, for ggrs has none.
pub(super) struct Plain {
    now: Time,
    network: Network,
    hosts: [Host; 2],
    players: [Lockstep<Arena>; 2],
    watch: Watch,
    datagram: Vec<u8>,
}

impl Plain {
    pub(super) fn new(options: &Options, content: &Content) -> Self {
        let (network, hosts) = network(options);
        let at = network.address(hosts[0]);
        let me = |session| Identity { session, name: session };
        let (content, now) = (|| (content.clone(), 1), Time::ZERO);
        let players = [
            Lockstep::<Arena>::found(setup(options), me(1), at, content(), now),
            Lockstep::join(at, me(2), content(), Role::Plays, now),
        ];
        let watch = Watch::new(options.seed);
        Self { now, network, hosts, players, watch, datagram: Vec::new() }
    }
}

impl Pair for Plain {
    fn frame(&mut self) -> anyhow::Result<()> {
        let Self { now, network, hosts, players, watch, datagram } = self;
        let at = hosts.map(|host| network.address(host));
        for (index, player) in players.iter_mut().enumerate() {
            let other = (2 - index as u64, at[1 - index]);
            let wish = watch.wish(index, player);
            let began = cpu_time();
            while network.receive(*now, hosts[index], datagram).is_some() {
                player.receive(*now, other, datagram);
            }
            player.command(wish);
            player.advance(*now);
            player.take_effects();
            if watch.counts() {
                watch.measured.spent += cpu_time() - began;
            }
            while let Some((_, message)) = player.transmit() {
                watch.measured.bytes += if watch.counts() { message.len() as u64 } else { 0 };
                network.send(*now, hosts[index], other.1, &message);
            }
        }
        watch.look(*now, players.each_ref());
        *now += TICK;
        Ok(())
    }

    fn measured(&self) -> Option<Measured> {
        self.watch.counts().then_some(self.watch.measured)
    }
}

/// The same game over sealed connections, as it is played; nothing here needs the clock.
pub(super) fn sealed(options: &Options, content: &Content) -> Measured {
    let (mut network, hosts) = network(options);
    let at = hosts.map(|host| network.address(host));
    let random = &mut Seeded(Dice::new(options.seed, 9));
    let me = |session| Identity { session, name: session };
    let content = || (content.clone(), 1);
    let (mut now, mut watch) = (Time::ZERO, Watch::new(options.seed));
    let mut players = [
        Mesh::<Arena>::found(setup(options), me(1), at[0], content(), now, random),
        Mesh::join(at[0], me(2), content(), Role::Plays, now, random),
    ];
    let mut datagram = Vec::new();
    while now < end(options) {
        for (index, player) in players.iter_mut().enumerate() {
            let wish = watch.wish(index, player.game());
            let began = cpu_time();
            while let Some(from) = network.receive(now, hosts[index], &mut datagram) {
                if let Some(answer) = player.receive(now, (from, None), &mut datagram, random) {
                    network.send(now, hosts[index], from, &answer);
                }
            }
            player.command(wish);
            player.advance(now, random);
            player.game_mut().take_effects();
            if watch.counts() {
                watch.measured.spent += cpu_time() - began;
            }
            while let Some((to, datagram)) = player.transmit() {
                watch.measured.bytes += if watch.counts() { datagram.len() as u64 } else { 0 };
                network.send(now, hosts[index], to, &datagram);
            }
        }
        watch.look(now, players.each_ref().map(Mesh::game));
        now += TICK;
    }
    watch.measured
}
