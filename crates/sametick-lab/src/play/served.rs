//! A trial with a server: a match or a scene under one of the client-server models.

use super::books::{Due, STEP_LEAST, Seconds, Seeded, add_lines, ask_on_average, count};
use super::carrier::{Carrier, Counts, Meter};
use super::elsewhere::Elsewhere;
use super::frames::{Frames, Part};
use super::lines::{RAMP_STEP, conditions};
use super::live::{Door, Person, Sitting};
use super::mind::{Ground, Library, Mind};
use super::screen::{Own, Screen, Truth};
use super::targets::Targets;
use super::verdicts::{Judged, Shots};
use super::weighing::Weighing;
use crate::plan::Trial;
use crate::rows::{CommandRow, PlayerRow, SecondRow, StateRow, TrialLog};
use sametick::network::Conditions;
use sametick::replay::Recording;
use sametick::secure::{ClientToken, Random};
use sametick::{
    Client, Dice, Interpolation, Layouts, Model, Others, PlayerId, Rates, Rewinding, Server, Span,
    Time, View, World,
};
use sametick_arena::{Arena, Command, Entity, Fighter, Seat};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// Bots' identities, where people's are their seats.
const BOT_IDENTITIES: u64 = 1 << 32;

/// Screens do not all draw at the same moment.
const FRAME_PHASES: u64 = 1_000;

pub(super) struct Guest {
    client: Option<Client<Arena>>,
    pub(super) view: View,
    mind: Mind,
    screen: Screen,
    pub(super) frame_length: Span,
    next_frame: Time,
    last_frame: Time,
    reads_at_frames: bool,
    pub(super) frame_delay: usize,
    pictures: VecDeque<World<Entity>>,
    pub(super) input_delay: Span,
    inputs: VecDeque<(Time, Command)>,
    counted: (u64, u64),
}

pub(crate) struct Match<'a> {
    pub(super) trial: Cow<'a, Trial>,
    pub(super) library: &'a Library,
    pub(super) ground: Ground,
    pub(super) meter: Meter,
    random: Box<dyn Random>,
    pub(super) server: Server<Arena>,
    pub(super) guests: Vec<Guest>,
    /// The players that sit elsewhere.
    pub(super) people: Vec<Sitting>,
    /// What bots get in with, where not everyone does.
    token: Option<Token>,
    pub(super) numbers: BTreeMap<u16, u32>,
    pub(super) served: Vec<Option<Own>>,
    scores: Vec<(i64, i64)>,
    pub(super) shots: Shots,
    /// What is worked out of screens that are elsewhere.
    pub(super) elsewhere: Elsewhere,
    targets: Targets,
    pub(super) seconds: Seconds,
    pub(super) log: TrialLog,
    tick_seconds: f32,
    ticks_per_snapshot: u32,
    before: Vec<Counts>,
    pub(super) lines: Vec<[Conditions; 2]>,
    frames: Frames,
    weighing: Option<Weighing>,
    /// The match as `sametick replay` reads it, if it is wanted.
    pub(super) recording: Option<Vec<u8>>,
}

/// What came of a trial.
pub(crate) struct Played {
    pub(crate) log: TrialLog,
    pub(crate) recording: Option<Vec<u8>>,
    /// The tick in which it ended.
    pub(crate) last_tick: u32,
    /// The player, counted from 1, of each number in the game.
    pub(crate) seats: BTreeMap<u16, u32>,
}

/// Makes a token for an identity.
pub(super) type Token = Box<dyn Fn(u64) -> ClientToken>;

/// Plays a trial over a carrier. With the players of its seats, what `sametick replay` reads comes with it.
pub(crate) fn play(
    trial: &Trial,
    library: &Library,
    carrier: Box<dyn Carrier>,
    seats: Option<&BTreeMap<u16, u32>>,
) -> Result<Played, String> {
    let mut play = Match::new(trial, library, carrier, None)?;
    if let Some(seats) = seats {
        play.record(seats);
    }
    play.run()?;
    play.finish()
}

/// What a server does, from the model and what the settings change of it.
pub(super) fn rates(trial: &Trial, model: &Model) -> Rates {
    let number = |name| trial.settings.number(name);
    let tick_rate = number("tick_rate").unwrap_or(60.0);
    let snapshots = number("snapshot_rate").unwrap_or(20.0);
    let at_most = number("rewind").map(Span::from_millis_f64);
    Rates {
        tick_length: Span::micros((1_000_000.0 / tick_rate).round() as u64),
        ticks_per_snapshot: ((tick_rate / snapshots).round() as u32).clamp(1, 255),
        rewinding: match at_most {
            None => model.rates.rewinding,
            Some(Span::ZERO) => Rewinding::NONE,
            Some(at_most) => Rewinding { at_most, ..Rewinding::USUAL },
        },
        ..model.rates
    }
}

impl<'a> Match<'a> {
    /// A match that is about to begin; behind a door, with people elsewhere, as soon as they are all here.
    pub(super) fn new(
        trial: &'a Trial,
        library: &'a Library,
        carrier: Box<dyn Carrier>,
        door: Option<(Door, &[Person])>,
    ) -> Result<Self, String> {
        let settings = &trial.settings;
        let model = Model::named(settings.text("model")).ok_or("this model has no server")?;
        let foreperiod = door.as_ref().map_or(Span::ZERO, |(door, _)| door.foreperiod);
        let ground = library.ground(trial)?.held(trial, foreperiod);
        let players = settings.players();
        let now = carrier.now();
        let seconds = match &door {
            None => Seconds::new(trial, now),
            Some(_) => Seconds::not_yet(),
        };
        let meter = Meter::new(carrier, players as usize + 1, seconds.begins);
        let mut seeded = Seeded(Dice::new(trial.seed, 2));
        let (rates, content) = (rates(trial, &model), (*ground.content).clone());
        let (seats, door) = door.map_or((&[][..], None), |(door, people)| (people, Some(door)));
        let (server, mut random, token) = match door {
            None => {
                let server = Server::open(content, trial.seed, rates, now, &mut seeded);
                (server, None, None)
            }
            Some(Door { listener, token, mut random, .. }) => {
                let server = Server::new(listener, content, trial.seed, rates, now, &mut *random);
                (server, Some(random), Some(token))
            }
        };
        let mut guests: Vec<Guest> = (1..=players)
            .map(|player| Guest::new(trial, &ground, player, model.view, now, &mut seeded.0))
            .collect();
        let mut people = Vec::new();
        for person in seats {
            let guest = (person.player as usize).checked_sub(1).and_then(|at| guests.get_mut(at));
            guest.ok_or("nobody plays as this player")?.leave_to_person();
            people.push(Sitting::new(person.clone(), now));
        }
        let random = random.take().unwrap_or_else(|| Box::new(seeded));
        let mut play = Self {
            trial: Cow::Borrowed(trial),
            library,
            ground,
            before: meter.counts.clone(),
            meter,
            random,
            server,
            guests,
            people,
            token,
            numbers: BTreeMap::new(),
            served: vec![None; players as usize],
            scores: vec![(0, 0); players as usize],
            shots: Shots::default(),
            elsewhere: Elsewhere::default(),
            targets: Targets::new(settings),
            seconds,
            log: TrialLog::default(),
            tick_seconds: rates.tick_length.as_seconds_f64() as f32,
            ticks_per_snapshot: rates.ticks_per_snapshot,
            lines: Vec::new(),
            frames: Frames::new(settings.flag("log_frames"), players as usize + 1),
            weighing: match settings.text("stages") {
                "off" => None,
                precision => {
                    let hz = settings.number("snapshot_rate").unwrap_or(20.0);
                    Some(Weighing::new(precision == "exact", hz))
                }
            },
            recording: None,
        };
        play.set_lines(0.0)?;
        let players = seats.iter().map(|person| person.player);
        play.look_elsewhere(players.collect(), rates.tick_length);
        Ok(play)
    }

    /// Records from now on, with the player, counted from 1, of each number in the game.
    pub(super) fn record(&mut self, seats: &BTreeMap<u16, u32>) {
        let mut configuration = self.trial.settings.json();
        configuration["seats"] =
            seats.iter().map(|(seat, player)| (seat.to_string(), *player)).collect();
        let content = &self.ground.content;
        if content.held_for > 0 {
            // Whoever plays the recording makes the game from these.
            configuration["held_for"] = content.held_for.into();
            configuration["pause_seconds"] = content.tuning.pause_seconds.into();
        }
        let configuration = configuration.to_string();
        self.server.record(&Recording::new(&crate::log::build(), &configuration));
        self.recording = Some(Vec::new());
    }

    pub(super) fn set_lines(&mut self, at_ms: f64) -> Result<(), String> {
        for player in 1..=self.guests.len() as u32 {
            let of = |is_up| {
                conditions(&self.trial.settings, &self.library.folder, player, is_up, at_ms)
            };
            let mut both = [of(true)?, of(false)?];
            if let Some(sitting) = self.people.iter_mut().find(|one| one.person.player == player) {
                both = sitting.ask(&self.trial.settings, both, at_ms);
            }
            let index = player as usize - 1;
            if self.lines.get(index) == Some(&both) {
                continue;
            }
            self.meter.carrier.set_conditions(index + 1, 0, both[0].clone());
            self.meter.carrier.set_conditions(0, index + 1, both[1].clone());
            match self.lines.get_mut(index) {
                Some(line) => *line = both,
                None => self.lines.push(both),
            }
        }
        Ok(())
    }

    pub(super) fn time_ms(&self) -> f64 {
        self.seconds.time_ms(self.meter.now())
    }

    pub(super) fn run(&mut self) -> Result<(), String> {
        let mut next_line = Time::ZERO;
        while self.meter.now() < self.seconds.end {
            let now = self.meter.now();
            self.seconds.wait_for_round(now, &mut self.meter, Some(self.server.world()));
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
            self.step_server(now)?;
            for index in 0..self.guests.len() {
                self.step_guest(index, now);
            }
            let until = self.next_wake().min(self.seconds.next());
            self.meter.carrier.wait(until.max(now + STEP_LEAST));
        }
        self.end_second(self.seconds.second());
        Ok(())
    }

    /// From now on everything counts.
    pub(super) fn begin(&mut self) {
        self.before.clone_from(&self.meter.counts);
        for guest in &mut self.guests {
            guest.screen.second = SecondRow::default();
            if let Some(client) = &mut guest.client {
                client.observe();
                guest.counted = (client.repredicted_ticks(), client.repeated());
            }
        }
        self.scores = self.all_scores();
        self.server.take_verdicts();
    }

    fn all_scores(&self) -> Vec<(i64, i64)> {
        let mut scores = vec![(0, 0); self.guests.len()];
        for (_, seat) in self.server.world().all::<Seat>() {
            if let Some(player) = self.numbers.get(&seat.player) {
                scores[*player as usize - 1] = (i64::from(seat.score), i64::from(seat.deaths));
            }
        }
        scores
    }

    pub(super) fn end_second(&mut self, second: u32) {
        for host in 0..=self.guests.len() {
            let (now, before) = (self.meter.counts[host], self.before[host]);
            let mut row = match host {
                0 => SecondRow { second, ..SecondRow::default() },
                host => {
                    let guest = &mut self.guests[host - 1];
                    let mut row = guest.screen.take_second(second);
                    if let Some(client) = &guest.client {
                        let counts = (client.repredicted_ticks(), client.repeated());
                        row.repredicted = counts.0.saturating_sub(guest.counted.0);
                        let entities = client.predicted().map_or(0, World::len);
                        row.repredicted_entities = row.repredicted * entities as u64;
                        row.late_commands = counts.1.saturating_sub(guest.counted.1);
                        guest.counted = counts;
                        let trip = client.statistics().and_then(|s| s.round_trip.smoothed);
                        row.round_trips = u32::from(trip.is_some());
                        row.round_trip_ms = trip.map_or(0.0, Span::as_millis_f64);
                    }
                    if let Some(one) =
                        self.people.iter().find(|one| one.person.player == host as u32)
                    {
                        row.round_trips = u32::from(one.ping_ms.is_some());
                        row.round_trip_ms = one.ping_ms.unwrap_or(0.0);
                    }
                    row
                }
            };
            count(&mut row, now, before);
            self.log.seconds.push(row);
        }
        self.before.clone_from(&self.meter.counts);
    }

    pub(super) fn next_wake(&self) -> Time {
        let mut until = self.server.next_wake();
        until = until.min(self.meter.carrier.next_arrival(0).unwrap_or(Time::MAX));
        for (index, guest) in self.guests.iter().enumerate() {
            until = until.min(guest.next_frame);
            if guest.reads_at_frames {
                continue;
            }
            let arrival = self.meter.carrier.next_arrival(index + 1).unwrap_or(Time::MAX);
            let wake = guest.client.as_ref().map_or(Time::MAX, Client::next_wake);
            until = until.min(arrival).min(wake);
        }
        until
    }

    pub(super) fn step_server(&mut self, now: Time) -> Result<(), String> {
        let mut datagram = Vec::new();
        let mut came = false;
        let begun = self.frames.start();
        while let Some((_, from)) = self.meter.receive(0, &mut datagram) {
            came = true;
            let from_within = (from, self.meter.carrier.session(from));
            let random = &mut *self.random;
            if let Some(answer) = self.server.receive_from(now, from_within, &mut datagram, random)
            {
                self.meter.send(0, from, &answer);
            }
        }
        while let Some(gone) = self.meter.carrier.departed() {
            self.server.session_ended(now, gone);
        }
        if !came && now < self.server.next_wake() {
            return Ok(());
        }
        self.frames.stop(0, Part::Network, begun);
        let before = self.server.world().tick();
        self.elsewhere.before_tick(self.server.world());
        let begun = self.frames.start();
        self.server.step(now);
        self.frames.stop(0, Part::Rules, begun);
        let begun = self.frames.start();
        self.server.tell(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.meter.send(0, to, datagram);
        }
        self.frames.stop(0, Part::Encoding, begun);
        let events = self.server.take_events();
        self.heed(now, &events);
        if let Some(recording) = &mut self.recording {
            recording.extend(self.server.take_recording());
        }
        let tick = self.server.world().tick();
        if tick != before {
            self.after_tick();
            let at = (self.time_ms(), tick.0);
            self.frames.end(0, self.meter.counts[0], at, &mut self.log);
            if let Some(weighing) = &mut self.weighing
                && tick.0.is_multiple_of(self.ticks_per_snapshot)
            {
                let (world, content) = (self.server.world(), &self.ground.content);
                weighing.weigh(world, content, self.numbers.keys().copied(), at.0)?;
            }
        }
        Ok(())
    }

    fn after_tick(&mut self) {
        let time_ms = self.time_ms();
        let world = self.server.world();
        let tick = world.tick().0;
        let logs_states = self.trial.settings.flag("log_states") && time_ms >= 0.0;
        let mut served = vec![None; self.guests.len()];
        for (id, fighter) in world.all::<Fighter>() {
            let Some(player) = self.numbers.get(&fighter.player).copied() else { continue };
            let index = player as usize - 1;
            served[index] = Some(Own::of(fighter));
            self.shots.know(id, player, fighter);
            if logs_states {
                let row = StateRow {
                    tick,
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
        self.served = served;
        let verdicts = self.server.take_verdicts();
        let (shots, world) = ((&verdicts[..], &self.numbers), self.server.world());
        let are_awaited = self.targets.are_awaited(self.meter.now(), &self.seconds);
        let at = (self.meter.now(), &self.seconds, logs_states);
        self.targets.after_tick(world, at, shots, &mut self.log);
        if time_ms >= 0.0 && are_awaited {
            // A wait by chance is no part of a trial's length.
            let length = self.trial.settings.number("duration").unwrap_or(0.0);
            self.seconds.end = self.meter.now() + Span::from_millis_f64(length);
            self.log.duration_ms = Some(time_ms + length);
        }
        if time_ms >= 0.0 && self.targets.are_gone() {
            self.seconds.end = self.seconds.end.min(self.meter.now());
            self.log.duration_ms = Some(time_ms);
        }
        let pictured = self.picture_elsewhere(&verdicts);
        if time_ms < 0.0 {
            self.shots.forget();
            return;
        }
        self.log.ticks += 1;
        let screens = self.guests.iter().map(|guest| self.elsewhere.or_here(&guest.screen));
        let screens: Vec<&Screen> = screens.collect();
        let judged = Judged {
            tick,
            time_ms,
            map: &self.ground.content.map,
            screens: &screens,
            pictured: &pictured,
            served: &self.served,
            targets: &self.targets,
        };
        let first = self.log.shots.len();
        self.shots.judge(&judged, &verdicts, &self.numbers, &mut self.log);
        self.wait_for_victims(first);
    }

    pub(super) fn step_guest(&mut self, index: usize, now: Time) {
        let is_frame = now >= self.guests[index].next_frame;
        let reads = is_frame || !self.guests[index].reads_at_frames;
        let arrived = self.meter.carrier.next_arrival(index + 1).is_some_and(|at| at <= now);
        let is_due = self.guests[index].client.as_ref().is_some_and(|one| now >= one.next_wake());
        if self.guests[index].client.is_none() && !self.guests[index].is_elsewhere() {
            self.open(index, now);
        }
        if !reads || !(is_frame || arrived || is_due) {
            return;
        }
        let mut datagram = Vec::new();
        let begun = self.frames.start();
        while self.meter.receive(index + 1, &mut datagram).is_some() {
            if let Some(client) = &mut self.guests[index].client {
                client.receive(now, &mut datagram);
            }
        }
        self.frames.stop(index + 1, Part::Network, begun);
        let Some(client) = &mut self.guests[index].client else { return };
        if let Some(PlayerId(number)) = client.me() {
            self.numbers.entry(number).or_insert(index as u32 + 1);
        }
        let begun = self.frames.start();
        client.advance(now);
        self.frames.stop(index + 1, Part::Rules, begun);
        if is_frame {
            self.frame(index, now);
        }
        let Some(client) = &mut self.guests[index].client else { return };
        let to = client.server();
        let begun = self.frames.start();
        while let Some(datagram) = client.transmit(now) {
            self.meter.send(index + 1, to, datagram);
        }
        self.frames.stop(index + 1, Part::Encoding, begun);
        if is_frame {
            let at = (self.time_ms(), self.server.world().tick().0);
            self.frames.end(index + 1, self.meter.counts[index + 1], at, &mut self.log);
        }
    }

    /// Scripts know who is who by the order in which they joined.
    fn open(&mut self, index: usize, now: Time) {
        let is_next = match (&self.guests[index].mind, index) {
            (Mind::Script(..), 1..) => self.numbers.values().any(|one| *one == index as u32),
            _ => true,
        };
        if is_next {
            let address = self.meter.carrier.address(0);
            let (content, view) = ((*self.ground.content).clone(), self.guests[index].view);
            let random = &mut *self.random;
            let client = match &self.token {
                None => Client::open(address, content, view, now, random),
                Some(token) => {
                    let token = token(BOT_IDENTITIES + index as u64);
                    Client::new(address, token, content, view, now, random)
                }
            };
            self.guests[index].client = Some(client);
        }
    }

    /// Draws a picture, measures it, and lets the player decide by it.
    fn frame(&mut self, index: usize, now: Time) {
        let time_ms = self.time_ms();
        let is_scene = matches!(self.guests[index].mind, Mind::Script(..));
        let owns: Vec<Option<Own>> = self.guests.iter().map(|guest| guest.screen.own).collect();
        let truth = Truth {
            time_ms,
            tick: self.server.world().tick().0,
            owns: &owns,
            served: &self.served,
            numbers: &self.numbers,
            logs_views: self.trial.settings.flag("log_views"),
            sights: is_scene.then_some(&*self.ground.content),
        };
        let guest = &mut self.guests[index];
        while guest.next_frame <= now {
            guest.next_frame += guest.frame_length;
        }
        let Some(client) = &mut guest.client else { return };
        let corrections = client.observe().updates;
        let moved = corrections.iter().map(|update| f64::from(update.correction));
        let moved: Vec<f64> = moved.filter(|metres| *metres > 0.001).collect();
        guest.screen.second.corrections += moved.len() as u32;
        guest.screen.second.corrected_m += moved.iter().sum::<f64>();
        client.take_effects();
        let me = client.me();
        let own_yaw = client.own::<Fighter>().map(|(_, own)| own.yaw);
        let own_yaw = own_yaw.filter(|_| guest.view.predicts && guest.frame_delay == 0);
        let begun = self.frames.start();
        let view = client.view(now);
        self.frames.stop(index + 1, Part::Drawing, begun);
        let (Some(view), Some(me)) = (view, me) else { return };
        let late;
        let picture = match guest.frame_delay {
            0 => view,
            delay => {
                guest.pictures.push_back(view.clone());
                if guest.pictures.len() <= delay {
                    return;
                }
                late = guest.pictures.pop_front();
                late.as_ref().unwrap_or(view)
            }
        };
        guest.screen.look(now, picture, own_yaw, &truth, &mut self.log);
        let since = (now - guest.last_frame).as_seconds_f64().min(1.0) as f32;
        guest.last_frame = now;
        let content = &self.ground.content;
        let wish = guest.mind.think(picture, me, content, [since, self.tick_seconds]);
        guest.screen.ask(now, &wish, picture, content, &self.numbers);
        guest.inputs.push_back((now + guest.input_delay, wish));
        while let Some((at, wish)) = guest.inputs.front().copied()
            && at <= now
        {
            guest.inputs.pop_front();
            client.command(wish);
            if self.trial.settings.flag("log_commands") && time_ms >= 0.0 {
                let row = CommandRow {
                    time_ms,
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

    /// What came of it. What happens afterwards is neither logged nor recorded.
    pub(super) fn finish(&mut self) -> Result<Played, String> {
        let scores = self.all_scores();
        for (index, guest) in self.guests.iter().enumerate() {
            let player = index as u32 + 1;
            let (now, before) = (scores[index], self.scores[index]);
            self.log.players.push(PlayerRow {
                player,
                role: guest.mind.role(),
                skill: match guest.is_elsewhere() {
                    true => String::new(),
                    false => self.trial.settings.text_of(player, "skill").to_owned(),
                },
                frame_rate: 1.0 / guest.frame_length.as_seconds_f64(),
                joined: self.numbers.values().any(|one| *one == player),
                kills: now.0 - before.0,
                deaths: now.1 - before.1,
            });
            if let Some(sitting) = self.people.iter().find(|one| one.person.player == player) {
                self.log.lines.extend(sitting.lines(&self.log.seconds));
                continue;
            }
            add_lines(&mut self.log, &self.meter, [index + 1, index + 1], &self.lines[index]);
        }
        // What was asked of people is known second by second.
        if self.people.is_empty() {
            ask_on_average(&mut self.log, &self.trial.settings, &self.library.folder)?;
        }
        if let Some(weighing) = &self.weighing {
            self.log.figures = weighing.figures();
        }
        self.log.figures.extend(self.targets.figures());
        self.log.world_hash = self.server.world().hash(&Layouts::of::<Entity>());
        let mut recording = self.recording.take();
        if let Some(recording) = &mut recording {
            recording.extend(self.server.finish_recording());
        }
        let last_tick = self.server.world().tick().0;
        let (log, seats) = (std::mem::take(&mut self.log), self.numbers.clone());
        Ok(Played { log, recording, last_tick, seats })
    }
}

impl Guest {
    /// From now on it is somebody elsewhere: nothing of it is worked out here.
    fn leave_to_person(&mut self) {
        (self.mind, self.next_frame, self.reads_at_frames) = (Mind::Person, Time::MAX, true);
    }

    fn is_elsewhere(&self) -> bool {
        matches!(self.mind, Mind::Person)
    }

    fn new(
        trial: &Trial,
        ground: &Ground,
        player: u32,
        view: View,
        now: Time,
        dice: &mut Dice,
    ) -> Self {
        let number = |name| trial.settings.number_of(player, name);
        let frame_length = Span::from_micros_f64(1e6 / number("frame_rate").unwrap_or(60.0));
        let phase = frame_length * dice.below(FRAME_PHASES) / FRAME_PHASES;
        let mut view = view;
        if let (Some(behind), Others::Interpolated(way)) = (number("interpolation"), view.others) {
            view.others = Others::Interpolated(Interpolation { behind: behind as u8, ..way });
        }
        if let Some(ms) = number("smoothing") {
            view.smooths_over = Span::from_millis_f64(ms);
        }
        Self {
            client: None,
            view,
            mind: Mind::new(trial, ground, player),
            screen: Screen::new(player),
            frame_length,
            next_frame: now + phase,
            last_frame: now,
            reads_at_frames: trial.settings.text_of(player, "reads") == "at_frames",
            frame_delay: number("frame_delay").unwrap_or(0.0) as usize,
            pictures: VecDeque::new(),
            input_delay: Span::from_millis_f64(number("input_delay").unwrap_or(0.0)),
            inputs: VecDeque::new(),
            counted: (0, 0),
        }
    }
}
