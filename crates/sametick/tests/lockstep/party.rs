//! Machines that play in lockstep over a simulated network, and what must hold at every moment: all who step a
//! tick have the same world after it.

use crate::tag::{Tag, Wish};
use sametick::lockstep::{Happening, Identity, Lockstep, Role, Setup};
use sametick::network::{Conditions, Host, Network};
use sametick::{Dice, Effect, Game, PlayerId, Span, Tick, Time};
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) const BUILD: u64 = 7;

/// So many ticks one can have stepped that never counted: what a lease lasts, and what is under way.
const ALONE_TICKS_MAX: u32 = 150;

/// Whoever gives commands: from a world, the own number and chance.
pub(crate) type Mind<G> = fn(&Lockstep<G>, &mut Dice, Time) -> <G as Game>::Command;

pub(crate) struct Machine<G: Game> {
    pub(crate) host: Host,
    pub(crate) identity: u64,
    pub(crate) role: Role,
    /// None while it is dark.
    pub(crate) lockstep: Option<Lockstep<G>>,
    pub(crate) frozen_until: Time,
    pub(crate) events: Vec<(Time, Happening)>,
    /// The newest tick whose hash was looked at.
    checked: Tick,
    /// When it last stepped, and the longest it did not.
    pub(crate) stepped_at: Time,
    pub(crate) gap: Span,
    pub(crate) bytes: u64,
    /// What it showed and nobody has looked at yet.
    pub(crate) effects: Vec<Effect<G::Event>>,
    dice: Dice,
}

pub(crate) struct Party<G: Game> {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) machines: Vec<Machine<G>>,
    pub(crate) content: G::Content,
    pub(crate) setup: Setup,
    pub(crate) step: Span,
    mind: Mind<G>,
    /// What came of each tick, and who had it.
    ledger: BTreeMap<u32, Vec<(usize, u32)>>,
    pub(crate) compared: u64,
    seed: u64,
}

impl<G: Game<Content: Clone>> Party<G> {
    pub(crate) fn new(
        setup: Setup,
        count: usize,
        (content, mind): (G::Content, Mind<G>),
        seed: u64,
        conditions: Conditions,
    ) -> Self {
        let mut network = Network::new(seed);
        network.set_default_conditions(conditions);
        let mut party = Self {
            now: Time::ZERO,
            network,
            machines: Vec::new(),
            content,
            setup: Setup { seed, ..setup },
            step: Span::millis(4),
            mind,
            ledger: BTreeMap::new(),
            compared: 0,
            seed,
        };
        (0..count).for_each(|_| party.add(Role::Plays));
        party
    }

    /// Somebody comes; the first founds the game.
    pub(crate) fn add(&mut self, role: Role) {
        self.add_by(role, None);
    }

    /// Somebody comes, and asks this machine.
    pub(crate) fn add_at(&mut self, role: Role, door: usize) {
        self.add_by(role, Some(door));
    }

    fn add_by(&mut self, role: Role, door: Option<usize>) {
        let (index, host) = (self.machines.len(), self.network.add_host());
        let identity = 100 + index as u64;
        let lockstep = self.begin((index, host, identity), role, door);
        self.machines.push(Machine {
            host,
            identity,
            role,
            lockstep: Some(lockstep),
            frozen_until: Time::ZERO,
            events: Vec::new(),
            checked: Tick(0),
            stepped_at: self.now,
            gap: Span::ZERO,
            bytes: 0,
            effects: Vec::new(),
            dice: Dice::new(self.seed, identity),
        });
    }

    fn begin(
        &self,
        (index, host, identity): (usize, Host, u64),
        role: Role,
        door: Option<usize>,
    ) -> Lockstep<G> {
        let (content, at) = (self.content.clone(), self.network.address(host));
        if index == 0 && self.machines.is_empty() {
            let now = self.network.clock(host).local(self.now);
            let me = Identity { session: identity, name: index as u64 };
            return Lockstep::found(self.setup, me, at, (content, BUILD), now);
        }
        // Whoever has come furthest.
        let others = self.machines.iter().filter(|machine| machine.identity != identity);
        let tick = |machine: &&Machine<G>| {
            machine.lockstep.as_ref().and_then(|lockstep| Some(lockstep.world()?.tick()))
        };
        let alive = others.max_by_key(tick);
        let door = door.map(|door| &self.machines[door]).or(alive);
        let door = self.network.address(door.unwrap_or(&self.machines[0]).host);
        let now = self.network.clock(host).local(self.now);
        let me = Identity { session: identity, name: index as u64 };
        Lockstep::join(door, me, (content, BUILD), role, now)
    }

    /// A machine goes dark without a word.
    pub(crate) fn kill(&mut self, index: usize) {
        // Who has no world is in no epoch, whatever it has heard of.
        let epoch = |machine: &Machine<G>| {
            machine.lockstep.as_ref().filter(|lockstep| lockstep.world().is_some())?.epoch()
        };
        let own = epoch(&self.machines[index]);
        let mut others = self.machines.iter().enumerate().filter(|(other, _)| *other != index);
        // The first of two decides alone, for as long as it likes and in the epoch of the other.
        let decides_alone = |lockstep: &Lockstep<G>| {
            let players = lockstep.players();
            players.len() <= 2 && players.first().copied() == lockstep.me()
        };
        let plays = |machine: &Machine<G>| machine.role == Role::Plays;
        let is_alone = !others.any(|(_, machine)| plays(machine) && epoch(machine) == own)
            || self.machines[index].lockstep.as_ref().is_some_and(decides_alone);
        self.machines[index].lockstep = None;
        if is_alone {
            // What it knew is lost; if it was alone with it, it never was. A player that is a quorum by itself may
            // have gone on alone for long, and from a tick that another had stepped with it. A watcher may have seen
            // that. It decides nothing, so the players that are left go on from what they know, and what only the
            // dead player and watchers have stepped never was either.
            let plays = |who: usize| self.machines[who].role == Role::Plays;
            for known in self.ledger.values_mut() {
                let is_lost = |(who, _): &&(usize, u32)| *who == index;
                let lost = known.iter().filter(is_lost).filter(|(who, _)| plays(*who));
                let lost: Vec<u32> = lost.map(|(_, hash)| *hash).collect();
                let others = known.iter().filter(|(who, _)| *who != index && plays(*who));
                let shared: Vec<u32> = others.map(|(_, hash)| *hash).collect();
                known.retain(|(who, hash)| {
                    let is_lost = *who == index || (!plays(*who) && lost.contains(hash));
                    !is_lost || shared.contains(hash)
                });
            }
        }
        self.disown(index);
    }

    /// It comes back and knows nothing.
    pub(crate) fn revive(&mut self, index: usize) {
        self.machines[index].identity += 1000;
        let (host, identity) = (self.machines[index].host, self.machines[index].identity);
        let lockstep = self.begin((index, host, identity), self.machines[index].role, None);
        let machine = &mut self.machines[index];
        (machine.lockstep, machine.checked) = (Some(lockstep), Tick(0));
        machine.stepped_at = self.now;
    }

    pub(crate) fn run(&mut self, span: Span) {
        self.run_with(span, |_| {});
    }

    pub(crate) fn run_with(&mut self, span: Span, mut each: impl FnMut(&mut Self)) {
        let end = self.now + span;
        while self.now < end {
            self.turn();
            each(self);
            self.now += self.step;
        }
    }

    /// Slow hosts: each that has just been called is not called again for a pause that is drawn.
    pub(crate) fn slow_down(&mut self, hosts: &[usize], pause_ms: &Range<u64>, dice: &mut Dice) {
        for host in hosts {
            let machine = &mut self.machines[*host];
            if machine.frozen_until <= self.now {
                let pause = pause_ms.start + dice.below(pause_ms.end - pause_ms.start);
                machine.frozen_until = self.now + Span::millis(pause);
            }
        }
    }

    fn turn(&mut self) {
        let (now, mut message) = (self.now, Vec::new());
        let identities: BTreeMap<_, _> = self
            .machines
            .iter()
            .map(|machine| (self.network.address(machine.host), machine.identity))
            .collect();
        for index in 0..self.machines.len() {
            let machine = &mut self.machines[index];
            if machine.frozen_until > now {
                continue;
            }
            while let Some(from) = self.network.receive(now, machine.host, &mut message) {
                // Whoever moved since is known on its line all the same.
                let host = self.network.host_at(from);
                let who = identities.get(&from).copied();
                if let (Some(lockstep), Some(who), Some(_)) = (&mut machine.lockstep, who, host) {
                    let local = self.network.clock(machine.host).local(now);
                    lockstep.receive(local, (who, from), &message);
                }
            }
            let Some(lockstep) = &mut machine.lockstep else { continue };
            let wish = (self.mind)(lockstep, &mut machine.dice, now);
            lockstep.command(wish);
            lockstep.advance(self.network.clock(machine.host).local(now));
            machine.effects.extend(lockstep.take_effects());
            while let Some(((_, to), message)) = lockstep.transmit() {
                machine.bytes += message.len() as u64;
                self.network.send(now, machine.host, to, &message);
            }
            let events = lockstep.take_events();
            self.look(index, events);
        }
    }

    /// Compares what a machine has stepped with what everyone else has.
    fn look(&mut self, index: usize, events: Vec<Happening>) {
        let now = self.now;
        for event in events {
            if event == Happening::LeftBehind {
                self.disown(index);
            }
            self.machines[index].events.push((now, event));
        }
        let machine = &mut self.machines[index];
        let Some(lockstep) = &machine.lockstep else { return };
        let Some(newest) = lockstep.world().map(|world| world.tick()) else { return };
        if newest > machine.checked {
            machine.gap = machine.gap.max(now - machine.stepped_at);
            machine.stepped_at = now;
        }
        let first = machine.checked.0.max(newest.0.saturating_sub(60));
        for tick in first + 1..=newest.0 {
            let Some(hash) = lockstep.hash_of(Tick(tick)) else { continue };
            let known = self.ledger.entry(tick).or_default();
            self.compared += u64::from(!known.is_empty());
            known.push((index, hash));
        }
        machine.checked = newest;
    }

    /// What a machine stepped of late does not count: it may have been alone with it.
    fn disown(&mut self, index: usize) {
        let first = self.machines[index].checked.0.saturating_sub(ALONE_TICKS_MAX);
        for (_, known) in self.ledger.range_mut(first..) {
            known.retain(|(who, _)| *who != index);
        }
        self.machines[index].checked = Tick(0);
    }

    /// All who stepped a tick have the same world after it.
    pub(crate) fn check(&self) {
        for (tick, known) in &self.ledger {
            let first = known.first().map(|(_, hash)| *hash);
            let other = known.iter().find(|(_, hash)| Some(*hash) != first);
            assert_eq!(other, None, "tick {tick} at {}: {known:?}", self.now);
        }
        for (index, machine) in self.machines.iter().enumerate() {
            let halted = machine.events.iter().find(|(_, event)| *event == Happening::Halted);
            assert_eq!(halted, None, "machine {index} halted");
        }
    }

    pub(crate) fn lockstep(&self, index: usize) -> &Lockstep<G> {
        self.machines[index].lockstep.as_ref().expect("it is alive")
    }

    pub(crate) fn lockstep_mut(&mut self, index: usize) -> &mut Lockstep<G> {
        self.machines[index].lockstep.as_mut().expect("it is alive")
    }

    pub(crate) fn alive(&self) -> Vec<usize> {
        let is_alive =
            |machine: &Machine<G>| machine.lockstep.as_ref().is_some_and(|l| !l.is_over());
        (0..self.machines.len()).filter(|index| is_alive(&self.machines[*index])).collect()
    }

    /// Everyone who is alive plays one game, and it goes on.
    pub(crate) fn check_united(&self, within_ticks: u32) {
        let alive = self.alive();
        let tick = |index: &usize| self.lockstep(*index).world().map_or(0, |world| world.tick().0);
        let ticks: Vec<u32> = alive.iter().map(tick).collect();
        let (least, most) = (ticks.iter().min(), ticks.iter().max());
        let epochs: Vec<_> = alive.iter().map(|index| self.lockstep(*index).epoch()).collect();
        assert!(epochs.windows(2).all(|pair| pair[0] == pair[1]), "epochs {epochs:?}");
        assert!(
            least.zip(most).is_some_and(|(least, most)| most - least <= within_ticks),
            "ticks {ticks:?}, epochs {epochs:?}"
        );
        let leaders = alive.iter().filter(|index| self.lockstep(**index).is_leader()).count();
        assert_eq!(leaders, 1, "leaders");
        let players = alive.iter().map(|index| self.lockstep(*index).players()).collect::<Vec<_>>();
        assert!(players.windows(2).all(|pair| pair[0].len() == pair[1].len()), "{players:?}");
        for index in alive {
            let age = self.now - self.machines[index].stepped_at;
            assert!(age < Span::seconds(1), "machine {index} has not stepped for {age}");
        }
    }

    pub(crate) fn me(&self, index: usize) -> PlayerId {
        self.lockstep(index).me().expect("it is in")
    }
}

/// Walks about and shouts.
pub(crate) fn wander(_: &Lockstep<Tag>, dice: &mut Dice, now: Time) -> Wish {
    stroll(dice, now)
}

/// The same in any game.
pub(crate) fn stroll(dice: &mut Dice, now: Time) -> Wish {
    let turn = (now - Time::ZERO).as_micros() / 300_000;
    Wish { aim: turn as f32, walk: dice.chance(0.8), shout: dice.chance(0.05), stamp: 0 }
}
