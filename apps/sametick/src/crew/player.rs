//! One headless player: a real client on a socket of its own, a bot that decides, and what it met with.

use super::skill;
use super::tally::Tally;
use crate::content::{Ground, Shelf};
use sametick::codec::Agreed;
use sametick::codec::compact::Tables;
use sametick::health::{Health, Link as Carrier, Work};
use sametick::secure::{ClientToken, Random};
use sametick::{Client, ClientEvent, Peer, Span, Tick, Time, View};
use sametick_arena::bot::{Bot, Skill};
use sametick_arena::vector::{length, subtract};
use sametick_arena::{Arena, Fighter};
use sametick_links::{Conditioned, Link, UdpLink, drive_client};
use std::collections::VecDeque;
use std::sync::Arc;

/// For so many ticks one's own predictions are remembered, to be compared with what became of them.
const REMEMBERED_MAX: usize = 512;

/// How often the line is looked at, at most.
const EXAMINED_EVERY: Span = Span::millis(8);

/// One player.
pub(crate) struct Player {
    client: Client<Arena>,
    link: Conditioned<UdpLink>,
    server: Peer,
    ground: Arc<Ground>,
    skill: Skill,
    seed: u64,
    index: usize,
    /// Made when it is known what is played.
    bot: Option<Bot>,
    thought: (Tick, Time),
    snapshot: Tick,
    /// Where it thought to be, by tick.
    predicted: VecDeque<(Tick, Fighter)>,
    tally: Tally,
    health: Health,
    /// When it was last asked how the line is.
    examined_at: Time,
}

/// What a player needs to begin.
pub(crate) struct Start {
    pub(crate) server: Peer,
    pub(crate) token: ClientToken,
    pub(crate) ground: Arc<Ground>,
    pub(crate) view: View,
    pub(crate) link: Conditioned<UdpLink>,
    pub(crate) skill: Skill,
    pub(crate) seed: u64,
    pub(crate) index: usize,
    pub(crate) tables: Option<Arc<Tables>>,
    pub(crate) reads_compact: bool,
}

impl Player {
    /// Knocks.
    pub(crate) fn new(start: Start, now: Time, random: &mut dyn Random) -> Self {
        let Start { server, token, ground, view, link, skill, seed, index, .. } = start;
        let mut client = Client::new(server, token, ground.content.clone(), view, now, random);
        if let Some(tables) = start.tables {
            client = client.with_tables(tables);
        }
        if !start.reads_compact {
            client = client.plain_only();
        }
        Self {
            client,
            link,
            server,
            ground,
            skill,
            seed,
            index,
            bot: None,
            thought: (Tick(0), now),
            snapshot: Tick(0),
            predicted: VecDeque::new(),
            tally: Tally::default(),
            health: Health::new(Carrier::Datagrams),
            examined_at: now,
        }
    }

    /// Takes what has come, decides, and sends.
    pub(crate) fn drive(&mut self, now: Time, shelf: &Shelf) {
        drive_client(&mut self.client, &mut self.link, self.server, now);
        for event in self.client.take_events() {
            self.heed(now, event, shelf);
        }
        self.compare();
        self.think(now);
        self.examine(now);
        // What happens to be seen is of no use here, but is not to pile up.
        self.client.take_effects();
    }

    /// When it has something to do, if nothing comes before.
    pub(crate) fn next_wake(&self) -> Time {
        self.client.next_wake().min(self.link.next_wake().unwrap_or(Time::MAX))
    }

    /// Sleeps on its own socket.
    pub(crate) fn wait(&mut self, clock: &sametick_links::Clock, until: Time) {
        self.link.wait(clock, until);
    }

    /// Says goodbye.
    pub(crate) fn leave(&mut self, now: Time) {
        self.client.close(now);
    }

    /// Whether it knows if it plays.
    pub(crate) fn is_settled(&self) -> bool {
        self.has_joined() || self.is_over() || self.tally.is_unknown_game
    }

    /// Whether it plays or has played.
    pub(crate) fn has_joined(&self) -> bool {
        self.tally.joined_at.is_some()
    }

    /// Whether its snapshots do not come compact, as far as that is known.
    pub(crate) fn is_told_plainly(&self) -> bool {
        let agreed = self.client.codec();
        agreed.is_some_and(|agreed| !matches!(agreed, Agreed::Compact { .. }))
    }

    /// Whether nothing more will come or go.
    pub(crate) fn is_over(&self) -> bool {
        self.client.is_over()
    }

    /// What it met with until now.
    pub(crate) fn tally(&mut self, now: Time) -> Tally {
        self.tally.late_commands = self.client.repeated();
        self.tally.malformed = self.client.malformed();
        self.tally.codec = self.client.codec().or(self.tally.codec);
        if let (Some(joined_at), None) = (self.tally.joined_at, self.tally.left) {
            self.tally.played = now - joined_at;
        }
        self.tally.clone()
    }

    fn heed(&mut self, now: Time, event: ClientEvent, shelf: &Shelf) {
        match event {
            ClientEvent::Joined(_) => _ = self.tally.joined_at.get_or_insert(now),
            ClientEvent::Denied(denial) => self.tally.denied = Some(denial),
            ClientEvent::GameChanged { content } => match shelf.find(content) {
                Some(ground) => {
                    (self.ground, self.bot) = (Arc::clone(ground), None);
                    self.client.load(now, ground.content.clone());
                }
                None => self.tally.is_unknown_game = true,
            },
            // A server of ours is no host among players.
            ClientEvent::Migrating(_) => {}
            ClientEvent::Left(reason) => {
                self.tally.played = self.tally.joined_at.map_or(Span::ZERO, |at| now - at);
                self.tally.left = Some(reason);
            }
        }
    }

    /// Counts what a new snapshot says, and whether it is what was predicted of one's own body.
    fn compare(&mut self) {
        let (Some(snapshot), Some(me)) = (self.client.snapshot(), self.client.me()) else { return };
        if snapshot.tick() == self.snapshot {
            return;
        }
        self.snapshot = snapshot.tick();
        self.tally.snapshots += 1;
        let trip = self.client.statistics().and_then(|statistics| statistics.round_trip.smoothed);
        self.tally.round_trip = trip.or(self.tally.round_trip);
        self.tally.bytes_received = self.client.statistics().map_or(0, |s| s.bytes_received);
        while self.predicted.front().is_some_and(|(tick, _)| *tick < self.snapshot) {
            self.predicted.pop_front();
        }
        let told = snapshot.owned::<Fighter>(me).map(|(_, own)| own);
        let thought = self.predicted.front().filter(|(tick, _)| *tick == self.snapshot);
        let (Some(told), Some((_, thought))) = (told, thought) else { return };
        let off = length(subtract(told.position, thought.position));
        // Whoever dies or begins again was not meant to foresee it.
        let is_elsewhere = told.teleports != thought.teleports;
        if off > 0.0 && !is_elsewhere {
            self.tally.corrections += 1;
            self.tally.corrected_metres_max = self.tally.corrected_metres_max.max(off);
        }
        self.tally.compared += 1;
    }

    /// Takes down how the line is, about as often as a screen would be drawn.
    fn examine(&mut self, now: Time) {
        let frame = now - self.examined_at;
        if frame < EXAMINED_EVERY || !self.has_joined() || self.is_over() {
            return;
        }
        self.examined_at = now;
        let work = Work { frame, repredicted: Span::ZERO };
        self.health.frame(now, work, self.client.observe());
        if let Some(warning) = self.health.warning() {
            self.tally.warn(warning);
        }
    }

    /// Decides once a tick.
    fn think(&mut self, now: Time) {
        let Some(me) = self.client.me() else { return };
        let Some(predicted) = self.client.predicted() else { return };
        let tick = predicted.tick();
        if tick == self.thought.0 {
            return;
        }
        if let Some((_, own)) = predicted.owned::<Fighter>(me) {
            self.predicted.retain(|(known, _)| *known < tick);
            self.predicted.push_back((tick, own.clone()));
            if self.predicted.len() > REMEMBERED_MAX {
                self.predicted.pop_front();
            }
        }
        let seconds = (now - self.thought.1).as_seconds_f64().min(1.0) as f32;
        self.thought = (tick, now);
        let Some(world) = self.client.view(now) else { return };
        let (skill, seed, index, ground) = (self.skill, self.seed, self.index, &self.ground);
        if self.bot.is_none() {
            self.bot = ground.ways_if_known().map(|ways| skill::bot(skill, seed, index, ways));
        }
        // Until it knows its ways it stands still, but keeps up with the server.
        let Some(bot) = &mut self.bot else { return };
        let command = bot.think(world, me, &ground.content, seconds);
        self.client.command(command);
    }
}
