//! A contest in lockstep: all machines that step a tick have the same world after it.

use super::lines::{Act, Lines, is_still};
use super::{Netcode, Options, STEP, Tally};
use sametick::lockstep::{Happening, Identity, Lockstep, Role, Setup};
use sametick::network::Host;
use sametick::{Span, Tick, Time};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Islands, TICKS_PER_SECOND};
use std::collections::BTreeMap;

const BUILD: u64 = 1;
/// So many ticks one can have stepped that never counted: what a lease lasts, and what is under way.
const ALONE_TICKS_MAX: u32 = 3 * TICKS_PER_SECOND;
/// So far apart machines are that play one game: what the farthest lines take.
const APART_TICKS_MAX: u32 = TICKS_PER_SECOND;
/// How many ticks are looked back for hashes that became known.
const LOOKED_BACK_TICKS: u32 = 60;

struct Machine {
    host: Host,
    session: u64,
    /// None while there is no process.
    lockstep: Option<Lockstep<Islands>>,
    /// Whether it has said goodbye.
    has_left: bool,
    bot: Bot,
    thought: Tick,
    checked: Tick,
    stepped_at: Time,
    events: Vec<(Time, Happening)>,
}

struct Party<'a> {
    options: &'a Options,
    name: &'static str,
    setup: Setup,
    content: Content,
    now: Time,
    lines: Lines,
    machines: Vec<Machine>,
    /// What came of each tick, and on which machines.
    ledger: BTreeMap<u32, Vec<(usize, u32)>>,
    tally: Tally,
}

pub(super) fn run(options: &Options) -> Tally {
    let mut party = Party::new(options);
    party.run_until(options.end());
    if std::env::var_os("SAMETICK_EXPLAIN").is_some() {
        let machines = party.machines.iter().enumerate();
        machines.for_each(|(index, Machine { lockstep, events, .. })| {
            println!("{index}: {lockstep:?}\n{events:?}");
        });
    }
    party.check();
    party.check_united();
    let before = party.newest(0);
    party.run_until(party.now + Span::seconds(1));
    let passed = party.newest(0) - before;
    let fair = TICKS_PER_SECOND / 2..=TICKS_PER_SECOND * 3 / 2;
    assert!(fair.contains(&passed), "{}: {passed} ticks in a second", party.name);
    party.tally.ticks = u64::from(party.newest(0));
    party.tally
}

impl<'a> Party<'a> {
    fn new(options: &'a Options) -> Self {
        let Netcode::Lockstep { name, setup } = options.netcode else {
            unreachable!("another netcode")
        };
        let (content, lines) = (options.content(), Lines::new(options, false));
        let machines = options.players.iter().zip(&lines.hosts).map(|(player, host)| Machine {
            host: *host,
            session: 0,
            lockstep: None,
            has_left: false,
            bot: Bot::new(player.bot),
            thought: Tick(0),
            checked: Tick(0),
            stepped_at: Time::ZERO,
            events: Vec::new(),
        });
        let machines = machines.collect();
        let (now, ledger, tally) = (Time::ZERO, BTreeMap::new(), Tally::default());
        let mut party = Self { options, name, setup, content, now, lines, machines, ledger, tally };
        (0..options.players.len()).for_each(|index| party.come(index));
        party
    }

    /// A new process: the very first founds the game, all others ask the machine with the newest tick.
    fn come(&mut self, index: usize) {
        let session = self.tally.returns * 1000 + index as u64 + 1;
        let me = Identity { session, name: index as u64 };
        let (content, now) = ((self.content.clone(), BUILD), self.lines.local(index, self.now));
        let host = self.lines.hosts[index];
        let is_first = self.machines.iter().all(|machine| machine.session == 0);
        let others = self.machines.iter().enumerate().filter(|(other, _)| *other != index);
        let door = others.max_by_key(|(_, machine)| {
            let lockstep = machine.lockstep.as_ref().filter(|lockstep| !lockstep.is_over());
            (lockstep.and_then(|lockstep| Some(lockstep.world()?.tick())), machine.session == 1)
        });
        let door = self.lines.network.address(door.expect("there are others").1.host);
        let at = self.lines.network.address(host);
        let lockstep = match is_first {
            true => Lockstep::found(self.setup, me, at, content, now),
            false => Lockstep::join(door, me, content, Role::Plays, now),
        };
        let machine = &mut self.machines[index];
        (machine.host, machine.session, machine.lockstep) = (host, session, Some(lockstep));
        machine.has_left = false;
        (machine.thought, machine.checked, machine.stepped_at) = (Tick(0), Tick(0), self.now);
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::SaysGoodbye(index) if self.all_have_the_world() => {
                let now = self.lines.local(index, self.now);
                self.machines[index].lockstep.iter_mut().for_each(|lockstep| lockstep.close(now));
                self.machines[index].has_left = true;
            }
            Act::Crashes(index) if self.all_have_the_world() => {
                self.machines[index].lockstep = None;
                self.disown(index);
            }
            // Somebody must be left who has the world.
            Act::SaysGoodbye(_) | Act::Crashes(_) => {}
            Act::ComesBack(index) => {
                // Whatever is left of the process before, which may still be saying goodbye, ends now.
                let Machine { lockstep, has_left, .. } = &self.machines[index];
                if *has_left || lockstep.as_ref().is_none_or(Lockstep::is_over) {
                    self.come_back(index);
                }
            }
        }
    }

    fn come_back(&mut self, index: usize) {
        self.disown(index);
        self.tally.returns += 1;
        self.lines.move_in(self.options, self.now, index);
        self.come(index);
    }

    fn all_have_the_world(&self) -> bool {
        let has = |lockstep: &Lockstep<Islands>| !lockstep.is_over() && lockstep.world().is_some();
        let is_in =
            |machine: &Machine| !machine.has_left && machine.lockstep.as_ref().is_some_and(has);
        self.machines.iter().all(is_in)
    }

    fn run_until(&mut self, end: Time) {
        while self.now < end {
            let acts = self.lines.go_wrong(self.options, self.now);
            acts.into_iter().for_each(|act| self.act(act));
            if self.now == self.options.calm {
                self.return_all();
            }
            for index in 0..self.machines.len() {
                if !is_still(self.options, index, self.now) {
                    self.step(index);
                }
            }
            self.now += STEP;
        }
    }

    /// In the calm a machine that has not joined asks another one.
    fn return_all(&mut self) {
        for index in 0..self.machines.len() {
            let lockstep = self.machines[index].lockstep.as_ref();
            if lockstep.is_none_or(|lockstep| lockstep.is_over() || lockstep.epoch().is_none()) {
                self.come_back(index);
            }
        }
    }

    fn step(&mut self, index: usize) {
        let (now, local, mut message) = (self.now, self.lines.local(index, self.now), Vec::new());
        let sessions = self.machines.iter().map(|machine| (machine.host, machine.session));
        let sessions: BTreeMap<Host, u64> = sessions.collect();
        let Machine { host, lockstep: Some(lockstep), bot, thought, .. } =
            &mut self.machines[index]
        else {
            return;
        };
        let network = &mut self.lines.network;
        while let Some(from) = network.receive(now, *host, &mut message) {
            // A process that is gone is nobody any more.
            let session = network.host_at(from).and_then(|host| sessions.get(&host));
            if let Some(session) = session {
                lockstep.receive(local, (*session, from), &message);
            }
        }
        if let (Some(world), Some(me)) = (lockstep.shown(), lockstep.me())
            && world.tick() > *thought
        {
            *thought = world.tick();
            let request = bot.think(world, me, &self.content);
            self.tally.requests += u64::from(!request.is_nothing());
            lockstep.command(request);
        }
        lockstep.advance(local);
        while let Some(((_, to), message)) = lockstep.transmit() {
            network.send(now, *host, to, &message);
        }
        let events = lockstep.take_events();
        self.look(index, &events);
    }

    /// Notes what a machine has stepped.
    fn look(&mut self, index: usize, events: &[Happening]) {
        assert!(!events.contains(&Happening::Halted), "{}: machine {index} halted", self.name);
        if events.contains(&Happening::LeftBehind) {
            self.disown(index);
        }
        let machine = &mut self.machines[index];
        machine.events.extend(events.iter().map(|event| (self.now, event.clone())));
        let Some(lockstep) = &machine.lockstep else { return };
        let Some(newest) = lockstep.world().map(|world| world.tick()) else { return };
        if newest > machine.checked {
            machine.stepped_at = self.now;
        }
        let first = machine.checked.0.max(newest.0.saturating_sub(LOOKED_BACK_TICKS));
        for tick in first + 1..=newest.0 {
            let Some(hash) = lockstep.hash_of(Tick(tick)) else { continue };
            let known = self.ledger.entry(tick).or_default();
            self.tally.compared += 100 * u64::from(!known.is_empty());
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

    fn check(&self) {
        for (tick, known) in &self.ledger {
            let first = known.first().map(|(_, hash)| *hash);
            let other = known.iter().find(|(_, hash)| Some(*hash) != first);
            assert_eq!(other, None, "{}: tick {tick}: {known:?}", self.name);
        }
    }

    fn newest(&self, index: usize) -> u32 {
        let world = self.machines[index].lockstep.as_ref().and_then(|lockstep| lockstep.world());
        world.map_or(0, |world| world.tick().0)
    }

    /// Everyone plays one game, and it goes on.
    fn check_united(&self) {
        let name = self.name;
        let all = || self.machines.iter().filter_map(|machine| machine.lockstep.as_ref());
        let ticks: Vec<u32> = (0..self.machines.len()).map(|index| self.newest(index)).collect();
        let epochs: Vec<_> = all().map(Lockstep::epoch).collect();
        assert!(epochs.windows(2).all(|pair| pair[0] == pair[1]), "{name}: epochs {epochs:?}");
        let (least, most) = (ticks.iter().min(), ticks.iter().max());
        let is_near = least.zip(most).is_some_and(|(least, most)| most - least <= APART_TICKS_MAX);
        assert!(is_near, "{name}: ticks {ticks:?}");
        assert_eq!(all().filter(|lockstep| lockstep.is_leader()).count(), 1, "{name}: leaders");
        for (index, machine) in self.machines.iter().enumerate() {
            let players = machine.lockstep.as_ref().map(|lockstep| lockstep.players().len());
            assert_eq!(players, Some(self.machines.len()), "{name}: players on machine {index}");
            let age = self.now - machine.stepped_at;
            assert!(age < Span::seconds(1), "{name}: machine {index} last stepped {age} ago");
        }
    }
}
