//! A contest under event locking: each client's official world is the server's, as far as that client sees.

use super::lines::{Act, Lines, Seeded, is_away, is_crashed, is_still, token};
use super::{CALM, Netcode, Options, STEP, Tally};
use sametick::eventlock::{EventClient, EventRates, EventServer, sight_hash};
use sametick::{Dice, Game, Layouts, PlayerId, Slots, Span, Tick, Time, World};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Entity, Islands, TICK};
use std::collections::BTreeMap;

/// How often official worlds are compared.
const COMPARED_EVERY_MICROS: u64 = 250_000;
/// For how many ticks is remembered what each player may know.
const REMEMBERED_TICKS: u32 = 100;
/// What a client has in the calm is at most so old, besides what its line and what is gathered take.
const LATE_TICKS_MAX: u64 = 6;

struct Guest {
    /// None while there is no process.
    client: Option<EventClient<Islands>>,
    bot: Bot,
    thought: Tick,
}

struct Party<'a> {
    options: &'a Options,
    content: Content,
    now: Time,
    lines: Lines,
    server: EventServer<Islands>,
    guests: Vec<Guest>,
    layouts: Layouts,
    /// What each player might know in the last ticks, as hashes.
    known: BTreeMap<(PlayerId, Tick), u64>,
    random: Seeded,
    tally: Tally,
}

pub(super) fn run(options: &Options) -> Tally {
    let mut party = Party::new(options);
    let end = options.end();
    while party.now < end {
        party.step();
        if (party.now - Time::ZERO).as_micros().is_multiple_of(COMPARED_EVERY_MICROS) {
            party.compare();
        }
        party.now += STEP;
    }
    party.check_end();
    party.tally
}

impl<'a> Party<'a> {
    fn new(options: &'a Options) -> Self {
        let Netcode::EventLocked { tell_every, bytes_per_second } = options.netcode else {
            unreachable!("another netcode")
        };
        let (content, lines) = (options.content(), Lines::new(options, true));
        let mut random = Seeded(Dice::new(options.seed, 2));
        let rates = EventRates {
            tick_length: TICK,
            tell_every,
            bytes_per_second,
            keeps_hashes: true,
            ..EventRates::default()
        };
        let now = Time::ZERO;
        let server = EventServer::open(content.clone(), options.seed, rates, now, &mut random);
        let guest = |bot| Guest { client: None, bot: Bot::new(bot), thought: Tick(0) };
        let guests = options.players.iter().map(|player| guest(player.bot)).collect();
        let mut party = Self {
            options,
            content,
            now,
            lines,
            server,
            guests,
            layouts: Layouts::of::<Entity>(),
            known: BTreeMap::new(),
            random,
            tally: Tally::default(),
        };
        (0..options.players.len()).for_each(|player| party.come(player));
        party
    }

    /// A new process, with the ticket of the one before if that had any.
    fn come(&mut self, player: usize) {
        let server = self.lines.server.expect("there is one");
        let address = self.lines.network.address(server);
        let now = self.lines.local(player, self.now);
        let ticket =
            self.guests[player].client.as_ref().and_then(|client| client.ticket().cloned());
        let token = ticket.unwrap_or_else(|| token(player, &mut self.random));
        let content = self.content.clone();
        let client = EventClient::new(address, token, content, now, &mut self.random);
        self.guests[player].client = Some(client);
        self.guests[player].thought = Tick(0);
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::SaysGoodbye(player) => {
                let now = self.lines.local(player, self.now);
                self.guests[player].client.iter_mut().for_each(|client| client.close(now));
            }
            // Its ticket is kept on the disk: the client stays where it is, and does nothing.
            Act::Crashes(_) => {}
            Act::ComesBack(player) => self.come_back(player),
        }
    }

    fn come_back(&mut self, player: usize) {
        self.lines.move_in(self.options, self.now, player);
        self.come(player);
        self.tally.returns += 1;
    }

    fn step(&mut self) {
        let now = self.now;
        let acts = self.lines.go_wrong(self.options, now);
        acts.into_iter().for_each(|act| self.act(act));
        let (server_host, mut datagram) = (self.lines.server.expect("there is one"), Vec::new());
        let network = &mut self.lines.network;
        while let Some(from) = network.receive(now, server_host, &mut datagram) {
            if let Some(answer) = self.server.receive(now, from, &mut datagram, &mut self.random) {
                network.send(now, server_host, from, &answer);
            }
        }
        let before = self.server.world().tick();
        self.server.advance(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            network.send(now, server_host, to, datagram);
        }
        for player in 0..self.guests.len() {
            let is_over = self.guests[player].client.as_ref().is_none_or(EventClient::is_over);
            if is_over && !is_away(self.options, player, now) {
                // A client that is not connected connects again.
                self.come_back(player);
            }
            let is_idle = is_still(self.options, player, now);
            if !is_idle && !is_crashed(self.options, player, now) {
                self.step_guest(player);
            }
        }
        let newest = self.server.world().tick();
        if newest > before && now + TICK * u64::from(REMEMBERED_TICKS) > self.options.calm + CALM {
            self.remember(newest);
        }
        self.tally.ticks = u64::from(newest.0);
    }

    /// Keeps what each player may know of the world now, whatever the tick.
    fn remember(&mut self, newest: Tick) {
        let world = self.server.world();
        for me in self.guests.iter().filter_map(|guest| guest.client.as_ref()?.me()) {
            let mut visible = Slots::default();
            Islands::relevant(world, &self.content, me, &mut visible);
            let is_seen = |id: sametick::EntityId| visible.contains(id.slot());
            let hash = sight_hash(world, &self.layouts, Tick(0), is_seen);
            self.known.insert((me, newest), hash);
        }
    }

    fn step_guest(&mut self, player: usize) {
        let (now, local) = (self.now, self.lines.local(player, self.now));
        let (host, mut datagram) = (self.lines.hosts[player], Vec::new());
        let server = self.lines.network.address(self.lines.server.expect("there is one"));
        let Guest { client: Some(client), bot, thought } = &mut self.guests[player] else { return };
        let network = &mut self.lines.network;
        while network.receive(now, host, &mut datagram).is_some() {
            client.receive(local, &mut datagram);
        }
        client.advance(local);
        if let (Some(me), Some(world)) = (client.me(), client.world())
            && world.tick() > *thought
        {
            *thought = world.tick();
            let request = bot.think(world, me, &self.content);
            if !request.is_nothing() && client.request(local, request).is_ok() {
                self.tally.requests += 1;
            }
        }
        while let Some(datagram) = client.transmit(local) {
            network.send(now, host, server, datagram);
        }
        client.take_answers();
    }

    /// Each client's official world is what the server has for it at that tick: all that it may know, and nothing else.
    fn compare(&mut self) {
        assert_eq!(self.server.malformed(), 0, "the server was told nonsense");
        for client in self.guests.iter().filter_map(|guest| guest.client.as_ref()) {
            let (Some(me), Some((tick, hash))) = (client.me(), client.hash()) else { continue };
            assert_eq!(client.malformed(), 0, "{me:?} was told nonsense");
            let Some(world) = client.world().filter(|_| !client.is_over()) else { continue };
            self.tally.hidden += self.server.world().len().saturating_sub(world.len()) as u64;
            match self.server.hash_told(me, tick) {
                Some(truth) => {
                    assert_eq!(hash, truth, "{me:?} at {tick:?}");
                    self.tally.compared += world.len() as u64;
                }
                // Of a connection that the server has given up, or that has just begun.
                None => {
                    let is_old = self.now > self.options.calm + Span::seconds(4);
                    assert!(!is_old || World::is_empty(world), "{me:?} was never told {tick:?}");
                }
            }
        }
    }

    /// Everyone is in, hears of the present, and is answered.
    fn check_end(&mut self) {
        let newest = self.server.world().tick();
        let due = (self.now - Time::ZERO).as_micros() / TICK.as_micros();
        assert!(u64::from(newest.0) + 2 >= due, "the server stands still at {newest:?} of {due}");
        for player in 0..self.guests.len() {
            let client = self.guests[player].client.as_mut().expect("it came");
            let events = client.take_events();
            assert!(client.me().is_some(), "player {player} is not in: {events:?}");
            // A budget delays messages.
            let Netcode::EventLocked { bytes_per_second: None, .. } = self.options.netcode else {
                continue;
            };
            self.check_present(player);
        }
    }

    /// What a client has is what it might know a moment ago: the tick of its world may be older, where nothing changed.
    fn check_present(&self, player: usize) {
        let Netcode::EventLocked { tell_every, .. } = self.options.netcode else {
            unreachable!("another netcode")
        };
        let client = self.guests[player].client.as_ref();
        let present = client.and_then(|client| Some((client.me()?, client.world()?)));
        let (me, world) = present.expect("it is in");
        let delay = self.options.players[player].line.delay;
        let late = (delay + tell_every).as_micros().div_ceil(TICK.as_micros()) + LATE_TICKS_MAX;
        let newest = self.server.world().tick();
        let oldest = Tick(newest.0.saturating_sub(late as u32));
        let hash = sight_hash(world, &self.layouts, Tick(0), |_| true);
        let mut known = self.known.range((me, oldest)..=(me, newest));
        let is_present = known.any(|(_, known)| *known == hash);
        assert!(is_present, "player {player} has {:?} at {newest:?}, {delay} away", world.tick());
    }
}
