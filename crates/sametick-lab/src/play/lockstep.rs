//! A trial without a server: a match of bots or a scene in lockstep, every machine stepping the same world.

use super::books::{Due, STEP_LEAST, Seconds, add_lines, all_lines, ask_on_average, count};
use super::carrier::{Carrier, Counts, Meter};
use super::frames::{Frames, Part};
use super::lines::{RAMP_STEP, joined};
use super::mind::{Ground, Library, Mind};
use super::screen::{Own, Screen, Truth};
use super::targets::Targets;
use super::verdicts::{Judged, Shots};
use crate::plan::Trial;
use crate::rows::{CommandRow, PlayerRow, SecondRow, ShotRow, StateRow, TrialLog};
use sametick::lockstep::{Identity, Lockstep, Role, Setup, Statistics};
use sametick::network::Conditions;
use sametick::{Effect, EntityId, Layouts, Span, Tick, Time, World};
use sametick_arena::{Arena, Command, Entity, Fighter, Seat, Weapon, What};
use std::collections::{BTreeMap, VecDeque};

/// Machines step at these moments at least.
const LOOKS_EVERY: Span = Span::millis(4);

struct Machine {
    lockstep: Lockstep<Arena>,
    mind: Mind,
    screen: Screen,
    frame_length: Span,
    next_frame: Time,
    last_frame: Time,
    thought: Tick,
    counted: Statistics,
    reads_at_frames: bool,
    frame_delay: usize,
    pictures: VecDeque<World<Entity>>,
    input_delay: Span,
    inputs: VecDeque<(Time, Command)>,
}

struct Meeting<'a> {
    trial: &'a Trial,
    library: &'a Library,
    ground: Ground,
    meter: Meter,
    machines: Vec<Machine>,
    numbers: BTreeMap<u16, u32>,
    shots: Shots,
    seconds: Seconds,
    log: TrialLog,
    before: Vec<Counts>,
    scores: Vec<(i64, i64)>,
    lines: Vec<[Conditions; 2]>,
    tick_seconds: f32,
    stepped: Tick,
    frames: Frames,
}

/// Plays a trial over a carrier.
pub(crate) fn play(
    trial: &Trial,
    library: &Library,
    carrier: Box<dyn Carrier>,
) -> Result<TrialLog, String> {
    let mut meeting = Meeting::new(trial, library, carrier)?;
    meeting.run()?;
    meeting.finish()
}

impl<'a> Meeting<'a> {
    fn new(
        trial: &'a Trial,
        library: &'a Library,
        carrier: Box<dyn Carrier>,
    ) -> Result<Self, String> {
        let settings = &trial.settings;
        let setup = Setup::named(settings.text("model")).ok_or("this model has a server")?;
        let ground = library.ground(trial)?;
        let players = settings.players();
        let now = carrier.now();
        let tick_rate = settings.number("tick_rate").unwrap_or(60.0);
        let tick_length = Span::micros((1_000_000.0 / tick_rate).round() as u64);
        let setup = Setup { players: players as u8, seed: trial.seed, tick_length, ..setup };
        let first = carrier.address(0);
        let machine = |player: u32| {
            let me = Identity { session: u64::from(player), name: u64::from(player) };
            let content = ((*ground.content).clone(), 1);
            let lockstep = match player {
                1 => Lockstep::found(setup, me, first, content, now),
                _ => Lockstep::join(first, me, content, Role::Plays, now),
            };
            let number = |name| settings.number_of(player, name);
            let rate = number("frame_rate").unwrap_or(60.0);
            Machine {
                lockstep,
                mind: Mind::new(trial, &ground, player),
                screen: Screen::new(player),
                frame_length: Span::from_micros_f64(1e6 / rate),
                next_frame: now + Span::micros(u64::from(player) * 1_700),
                last_frame: now,
                thought: Tick(0),
                counted: Statistics::default(),
                reads_at_frames: settings.text_of(player, "reads") == "at_frames",
                frame_delay: number("frame_delay").unwrap_or(0.0) as usize,
                pictures: VecDeque::new(),
                input_delay: Span::from_millis_f64(number("input_delay").unwrap_or(0.0)),
                inputs: VecDeque::new(),
            }
        };
        let machines: Vec<Machine> = (1..=players).map(machine).collect();
        let seconds = Seconds::new(trial, now);
        let meter = Meter::new(carrier, players as usize, seconds.begins);
        let mut meeting = Self {
            trial,
            library,
            before: meter.counts.clone(),
            meter,
            machines,
            numbers: BTreeMap::new(),
            shots: Shots::default(),
            seconds,
            log: TrialLog::default(),
            scores: vec![(0, 0); players as usize],
            lines: Vec::new(),
            tick_seconds: tick_length.as_seconds_f64() as f32,
            stepped: Tick(0),
            frames: Frames::new(settings.flag("log_frames"), players as usize + 1),
            ground,
        };
        meeting.set_lines(0.0)?;
        Ok(meeting)
    }

    /// From player to player: up one's line and down the other's.
    fn set_lines(&mut self, at_ms: f64) -> Result<(), String> {
        let lines = all_lines(&self.trial.settings, &self.library.folder, at_ms)?;
        if lines == self.lines {
            return Ok(());
        }
        for (from, up) in lines.iter().enumerate() {
            for (to, down) in lines.iter().enumerate().filter(|(to, _)| *to != from) {
                self.meter.carrier.set_conditions(from, to, joined(&up[0], &down[1]));
            }
        }
        self.lines = lines;
        Ok(())
    }

    fn time_ms(&self) -> f64 {
        self.seconds.time_ms(self.meter.now())
    }

    fn run(&mut self) -> Result<(), String> {
        let mut next_line = Time::ZERO;
        while self.meter.now() < self.seconds.end {
            let now = self.meter.now();
            let world = self.machines[0].lockstep.world();
            self.seconds.wait_for_round(now, &mut self.meter, world);
            match self.seconds.due(now) {
                Some(Due::Begin) => self.begin(),
                Some(Due::End(second)) => self.end_second(second),
                None => {}
            }
            let changes = !self.trial.settings.changes.is_empty() && now >= self.seconds.begins;
            if changes && now >= next_line {
                next_line = now + RAMP_STEP;
                self.set_lines(self.time_ms())?;
            }
            let mut until = self.seconds.next().min(now + LOOKS_EVERY);
            for index in 0..self.machines.len() {
                self.step(index, now);
                let machine = &self.machines[index];
                until = until.min(machine.next_frame);
                if !machine.reads_at_frames {
                    let arrival = self.meter.carrier.next_arrival(index).unwrap_or(Time::MAX);
                    until = until.min(arrival).min(machine.lockstep.next_wake());
                }
            }
            self.meter.carrier.wait(until.max(now + STEP_LEAST));
        }
        self.end_second(self.seconds.second());
        Ok(())
    }

    fn begin(&mut self) {
        self.before.clone_from(&self.meter.counts);
        self.scores = self.all_scores();
        self.shots.forget();
        for machine in &mut self.machines {
            machine.screen.second = SecondRow::default();
            machine.counted = machine.lockstep.statistics();
            machine.lockstep.take_effects();
        }
    }

    fn all_scores(&self) -> Vec<(i64, i64)> {
        let mut scores = vec![(0, 0); self.machines.len()];
        let Some(world) = self.machines[0].lockstep.world() else { return scores };
        for (_, seat) in world.all::<Seat>() {
            if let Some(player) = self.numbers.get(&seat.player) {
                scores[*player as usize - 1] = (i64::from(seat.score), i64::from(seat.deaths));
            }
        }
        scores
    }

    fn end_second(&mut self, second: u32) {
        for index in 0..self.machines.len() {
            let (now, before) = (self.meter.counts[index], self.before[index]);
            let machine = &mut self.machines[index];
            let mut row = machine.screen.take_second(second);
            let (counts, counted) = (machine.lockstep.statistics(), machine.counted);
            row.repredicted = counts.resimulated_ticks.saturating_sub(counted.resimulated_ticks);
            let entities = machine.lockstep.world().map_or(0, World::len);
            row.repredicted_entities = row.repredicted * entities as u64;
            row.late_commands = counts.replaced.saturating_sub(counted.replaced);
            row.stalled_ms = counts.stalled.as_millis_f64() - counted.stalled.as_millis_f64();
            machine.counted = counts;
            count(&mut row, now, before);
            if index == 0 {
                let mut leader = SecondRow { second, ..SecondRow::default() };
                count(&mut leader, now, before);
                self.log.seconds.push(leader);
            }
            self.log.seconds.push(row);
        }
        self.before.clone_from(&self.meter.counts);
    }

    fn step(&mut self, index: usize, now: Time) {
        let is_frame = now >= self.machines[index].next_frame;
        if self.machines[index].reads_at_frames && !is_frame {
            return;
        }
        let mut message = Vec::new();
        let begun = self.frames.start();
        while let Some((sender, from)) = self.meter.receive(index, &mut message) {
            let session = sender as u64 + 1;
            self.machines[index].lockstep.receive(now, (session, from), &message);
        }
        self.frames.stop(index + 1, Part::Network, begun);
        let begun = self.frames.start();
        self.machines[index].lockstep.advance(now);
        self.frames.stop(index + 1, Part::Rules, begun);
        if let Some(me) = self.machines[index].lockstep.me() {
            self.numbers.entry(me.0).or_insert(index as u32 + 1);
        }
        self.machines[index].lockstep.take_events();
        if index == 0 {
            self.after_ticks();
        } else {
            self.machines[index].lockstep.take_effects();
        }
        if is_frame {
            self.frame(index, now);
        }
        let begun = self.frames.start();
        while let Some(((_, to), message)) = self.machines[index].lockstep.transmit() {
            self.meter.send(index, to, &message);
        }
        self.frames.stop(index + 1, Part::Encoding, begun);
        if is_frame {
            let at = (self.time_ms(), self.stepped.0);
            self.frames.end(index + 1, self.meter.counts[index], at, &mut self.log);
        }
    }

    /// Bullets and wounds, as the first machine knows them for certain.
    fn after_ticks(&mut self) {
        let time_ms = self.time_ms();
        let effects = self.machines[0].lockstep.take_effects();
        let Some(world) = self.machines[0].lockstep.world() else { return };
        let tick = world.tick();
        let logs_states = self.trial.settings.flag("log_states") && time_ms >= 0.0;
        let mut ids: BTreeMap<EntityId, u32> = BTreeMap::new();
        for (id, fighter) in world.all::<Fighter>() {
            if let Some(player) = self.numbers.get(&fighter.player).copied() {
                ids.insert(id, player);
                if tick > self.stepped {
                    self.shots.know(id, player, fighter);
                }
                // Where a machine makes up for several ticks at once, the last of them is logged.
                if tick > self.stepped && logs_states {
                    let row = StateRow {
                        tick: tick.0,
                        time_ms,
                        player,
                        place: fighter.position,
                        yaw: fighter.yaw,
                        pitch: fighter.pitch,
                        health: u32::from(fighter.health),
                    };
                    TrialLog::keep(&mut self.log.states, &mut self.log.dropped, row);
                }
            }
        }
        self.log.ticks += tick.0.saturating_sub(self.stepped.0) * u32::from(time_ms >= 0.0);
        self.stepped = self.stepped.max(tick);
        if time_ms < 0.0 {
            self.shots.forget();
            return;
        }
        let mut shots: Vec<ShotRow> = Vec::new();
        for effect in &effects {
            let Effect::Started { key, event, .. } = effect else { continue };
            match event.what {
                What::Shot if event.weapon != Weapon::Launcher => {
                    let Some(player) = ids.get(&key.entity).copied() else { continue };
                    let ordinal = shots.len() as u32;
                    let tick = key.tick.0;
                    shots.push(ShotRow { tick, time_ms, ordinal, player, ..ShotRow::default() });
                }
                What::Hurt => {
                    let by = event.by.and_then(|by| ids.get(&by)).copied();
                    let victim = ids.get(&key.entity).copied();
                    let struck = |shot: &&mut ShotRow| {
                        Some(shot.player) == by && shot.tick == key.tick.0 && shot.hit.is_none()
                    };
                    if let Some(shot) = shots.iter_mut().find(struck) {
                        (shot.seen, shot.present, shot.hit) = (victim, victim, victim);
                    }
                }
                _ => {}
            }
        }
        let owns: Vec<Option<Own>> = self.machines.iter().map(|one| one.screen.own).collect();
        let screens: Vec<&Screen> = self.machines.iter().map(|one| &one.screen).collect();
        let map = &self.ground.content.map;
        let (served, targets) = (&owns[..], &Targets::default());
        let pictured = &BTreeMap::new();
        let judged =
            Judged { tick: tick.0, time_ms, map, screens: &screens, pictured, served, targets };
        for mut shot in shots {
            self.shots.compare(&mut shot, &judged);
            TrialLog::keep(&mut self.log.shots, &mut self.log.dropped, shot);
        }
        self.shots.wounds(tick.0, time_ms, &mut self.log);
    }

    fn frame(&mut self, index: usize, now: Time) {
        let is_scene = matches!(self.machines[index].mind, Mind::Script(..));
        let owns: Vec<Option<Own>> = self.machines.iter().map(|one| one.screen.own).collect();
        let truth = Truth {
            time_ms: self.time_ms(),
            tick: self.stepped.0,
            owns: &owns,
            served: &owns,
            numbers: &self.numbers,
            logs_views: self.trial.settings.flag("log_views"),
            sights: is_scene.then_some(&*self.ground.content),
        };
        let machine = &mut self.machines[index];
        while machine.next_frame <= now {
            machine.next_frame += machine.frame_length;
        }
        let begun = self.frames.start();
        let shown = (machine.lockstep.shown(), machine.lockstep.me());
        self.frames.stop(index + 1, Part::Drawing, begun);
        let (Some(picture), Some(me)) = shown else { return };
        let late;
        let picture = match machine.frame_delay {
            0 => picture,
            delay => {
                machine.pictures.push_back(picture.clone());
                if machine.pictures.len() <= delay {
                    return;
                }
                late = machine.pictures.pop_front();
                late.as_ref().unwrap_or(picture)
            }
        };
        machine.screen.look(now, picture, None, &truth, &mut self.log);
        if picture.tick() > machine.thought {
            machine.thought = picture.tick();
            let since = (now - machine.last_frame).as_seconds_f64().min(1.0) as f32;
            machine.last_frame = now;
            let content = &self.ground.content;
            let wish = machine.mind.think(picture, me, content, [since, self.tick_seconds]);
            machine.screen.ask(now, &wish, picture, content, &self.numbers);
            machine.inputs.push_back((now + machine.input_delay, wish));
        }
        while let Some((at, wish)) = machine.inputs.front().copied()
            && at <= now
        {
            machine.inputs.pop_front();
            machine.lockstep.command(wish);
            if self.trial.settings.flag("log_commands") && truth.time_ms >= 0.0 {
                let row = CommandRow {
                    time_ms: truth.time_ms,
                    tick: truth.tick,
                    player: index as u32 + 1,
                    yaw: wish.yaw,
                    pitch: wish.pitch,
                    steps: [wish.forward, wish.right],
                    jump: wish.jump,
                    fire: wish.fire,
                };
                TrialLog::keep(&mut self.log.commands, &mut self.log.dropped, row);
            }
        }
    }

    fn finish(mut self) -> Result<TrialLog, String> {
        let scores = self.all_scores();
        for (index, machine) in self.machines.iter().enumerate() {
            let player = index as u32 + 1;
            self.log.players.push(PlayerRow {
                player,
                role: machine.mind.role(),
                skill: self.trial.settings.text_of(player, "skill").to_owned(),
                frame_rate: 1.0 / machine.frame_length.as_seconds_f64(),
                joined: machine.lockstep.me().is_some(),
                kills: scores[index].0 - self.scores[index].0,
                deaths: scores[index].1 - self.scores[index].1,
            });
            add_lines(&mut self.log, &self.meter, [index + 1, index], &self.lines[index]);
        }
        ask_on_average(&mut self.log, &self.trial.settings, &self.library.folder)?;
        let layouts = Layouts::of::<Entity>();
        let hash = self.machines[0].lockstep.world().map(|world| world.hash(&layouts));
        self.log.world_hash = hash.unwrap_or(0);
        Ok(self.log)
    }
}
