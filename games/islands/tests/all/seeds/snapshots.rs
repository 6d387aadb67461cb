//! A contest over snapshots: what a client has of a tick is what the server had for it then.

use super::lines::{Act, Lines, Seeded, is_away, is_crashed, is_still, token};
use super::{CALM, Netcode, Options, STEP, Tally};
use sametick::record::ROW_WORDS;
use sametick::{
    Client, Dice, Entities, Game, Layouts, Model, PlayerId, Precision, Rates, Server, Slots, Span,
    Tick, Time, World,
};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Entity, Islands, TICK};
use std::collections::BTreeMap;

/// For how many ticks the server's worlds are remembered.
const REMEMBERED: usize = 300;
/// So long before the end nobody lacks anything.
const CHECKED: Span = Span::seconds(1);
/// How old the newest snapshot may be in the calm, besides what lines and snapshots take.
const LATE_TICKS_MAX: u64 = 6;

struct Guest {
    client: Client<Islands>,
    bot: Bot,
    thought: Tick,
    checked: Tick,
}

struct Party<'a> {
    options: &'a Options,
    model: Model,
    ticks_per_snapshot: u32,
    content: Content,
    layouts: Layouts,
    now: Time,
    lines: Lines,
    server: Server<Islands>,
    worlds: BTreeMap<Tick, World<Entity>>,
    guests: Vec<Guest>,
    random: Seeded,
    tally: Tally,
}

pub(super) fn run(options: &Options) -> Tally {
    let mut party = Party::new(options);
    let end = options.end();
    while party.now < end {
        party.step();
        party.now += STEP;
    }
    party.check_end();
    party.tally
}

impl<'a> Party<'a> {
    fn new(options: &'a Options) -> Self {
        let Netcode::Snapshots { model, ticks_per_snapshot } = options.netcode else {
            unreachable!("another netcode")
        };
        let (content, lines) = (options.content(), Lines::new(options, true));
        let mut random = Seeded(Dice::new(options.seed, 2));
        let rates = Rates { tick_length: TICK, ticks_per_snapshot, ..model.rates };
        let now = Time::ZERO;
        let server = Server::open(content.clone(), options.seed, rates, now, &mut random);
        let address = lines.network.address(lines.server.expect("there is one"));
        let guests = options.players.iter().enumerate().map(|(index, player)| {
            let (token, content, view) = (token(index, &mut random), content.clone(), model.view);
            Guest {
                client: Client::new(address, token, content, view, now, &mut random),
                bot: Bot::new(player.bot),
                thought: Tick(0),
                checked: Tick(0),
            }
        });
        let guests = guests.collect();
        Self {
            options,
            model,
            ticks_per_snapshot,
            content,
            layouts: Layouts::of::<Entity>(),
            now,
            lines,
            server,
            worlds: BTreeMap::new(),
            guests,
            random,
            tally: Tally::default(),
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::SaysGoodbye(player) => {
                let now = self.lines.local(player, self.now);
                self.guests[player].client.close(now);
            }
            // Its ticket is kept on the disk: the client stays where it is, and does nothing.
            Act::Crashes(_) => {}
            Act::ComesBack(player) => self.come_back(player),
        }
    }

    /// A new process, with the ticket of the one before if that had any.
    fn come_back(&mut self, player: usize) {
        self.lines.move_in(self.options, self.now, player);
        let address = self.lines.network.address(self.lines.server.expect("there is one"));
        let (now, view) = (self.lines.local(player, self.now), self.model.view);
        let (content, random) = (self.content.clone(), &mut self.random);
        let guest = &mut self.guests[player];
        let ticket = guest.client.ticket().cloned();
        let token = ticket.unwrap_or_else(|| token(player, random));
        guest.client = Client::new(address, token, content, view, now, random);
        (guest.thought, guest.checked) = (Tick(0), Tick(0));
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
        self.server.advance(now);
        let world = self.server.world();
        self.tally.ticks = u64::from(world.tick().0);
        self.worlds.entry(world.tick()).or_insert_with(|| world.clone());
        while self.worlds.len() > REMEMBERED {
            self.worlds.pop_first();
        }
        while let Some((to, datagram)) = self.server.transmit(now) {
            network.send(now, server_host, to, datagram);
        }
        for player in 0..self.guests.len() {
            if self.guests[player].client.is_over() && !is_away(self.options, player, now) {
                // A client that is not connected connects again.
                self.come_back(player);
            }
            let is_idle = is_still(self.options, player, now);
            if !is_idle && !is_crashed(self.options, player, now) {
                self.step_guest(player);
            }
        }
    }

    fn step_guest(&mut self, player: usize) {
        let (now, local) = (self.now, self.lines.local(player, self.now));
        let (host, mut datagram) = (self.lines.hosts[player], Vec::new());
        let server = self.lines.network.address(self.lines.server.expect("there is one"));
        let Guest { client, bot, thought, .. } = &mut self.guests[player];
        let network = &mut self.lines.network;
        while network.receive(now, host, &mut datagram).is_some() {
            client.receive(local, &mut datagram);
        }
        let me = client.me();
        if let (Some(view), Some(me)) = (client.view(local), me)
            && view.tick() > *thought
        {
            *thought = view.tick();
            let request = bot.think(view, me, &self.content);
            self.tally.requests += u64::from(!request.is_nothing());
            client.command(request);
        }
        client.advance(local);
        client.take_effects();
        while let Some(datagram) = client.transmit(local) {
            network.send(now, host, server, datagram);
        }
        assert_eq!(client.malformed(), 0, "{me:?} was told nonsense");
        let newest = client.snapshot().map_or(Tick(0), World::tick);
        if newest > self.guests[player].checked {
            self.guests[player].checked = newest;
            self.check_snapshot(player);
        }
    }

    /// What a client has is what it may know, as the server had it: of that tick or, if a part was lost, of one before.
    /// In the calm it has all of that.
    fn check_snapshot(&mut self, player: usize) {
        let client = &self.guests[player].client;
        let (Some(snapshot), Some(me)) = (client.snapshot(), client.me()) else { return };
        let world = self.worlds.get(&snapshot.tick()).expect("a snapshot of a tick that was");
        let may_know = knows(world, &self.content, me);
        let mut known = 0;
        for (id, entity) in snapshot.entities() {
            let precision = match snapshot.owner(id) == Some(me) {
                true => Precision::State,
                false => Precision::Shown,
            };
            let told = record(&self.layouts, precision, entity);
            let was_so = |world: &World<Entity>| {
                let then = world.entity(id);
                then.is_some_and(|then| record(&self.layouts, precision, then) == told)
            };
            let is_of_now = may_know.contains(id.slot()) && was_so(world);
            let is_so = is_of_now || {
                let mut before = self.worlds.range(..snapshot.tick()).rev().map(|(_, world)| world);
                let knew = |world| knows(world, &self.content, me).contains(id.slot());
                before.any(|world| was_so(world) && knew(world))
            };
            assert!(is_so, "{me:?} at {:?} has {id:?}: {entity:?}", snapshot.tick());
            known += u64::from(is_of_now);
        }
        let (may_know, all) = (may_know.len() as u64, world.len() as u64);
        if self.now + CHECKED > self.options.calm + CALM {
            assert_eq!(known, may_know, "{me:?} at {:?} lacks something", snapshot.tick());
        }
        self.tally.compared += known;
        self.tally.hidden += all - may_know;
    }

    /// Everyone is in and hears of the present.
    fn check_end(&mut self) {
        assert_eq!(self.server.malformed(), 0, "the server was told nonsense");
        let newest = self.server.world().tick();
        let due = (self.now - Time::ZERO).as_micros() / TICK.as_micros();
        assert!(u64::from(newest.0) + 2 >= due, "the server stands still at {newest:?} of {due}");
        for (player, guest) in self.guests.iter_mut().enumerate() {
            let events = guest.client.take_events();
            let client = &guest.client;
            let Some(snapshot) = client.snapshot().filter(|_| client.me().is_some()) else {
                panic!("player {player} is not in: {events:?}");
            };
            let delay = self.options.players[player].line.delay.as_micros() / TICK.as_micros();
            let late = delay + 2 * u64::from(self.ticks_per_snapshot) + LATE_TICKS_MAX;
            let age = u64::from(newest.0 - snapshot.tick().0);
            assert!(age <= late, "player {player} knows of {age} ticks ago, {delay} away");
        }
    }
}

fn knows(world: &World<Entity>, content: &Content, me: PlayerId) -> Slots {
    let mut slots = Slots::default();
    Islands::relevant(world, content, me, &mut slots);
    slots
}

fn record(layouts: &Layouts, precision: Precision, entity: &Entity) -> Vec<u32> {
    let mut row = [0; ROW_WORDS];
    let layouts = layouts.at(precision);
    entity.clone().record(layouts, &mut row);
    row[..layouts[usize::from(entity.kind())].len()].to_vec()
}
