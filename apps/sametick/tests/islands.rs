//! Islands under event locking over bad lines: whatever the network does, what a player was told is what the server had
//! for it, nothing it may not know, and nothing that it only hopes for.

use sametick::eventlock::{EventClient, EventRates, EventServer, sight_hash};
use sametick::network::{Conditions, Host, Jitter, Loss, Network, Outage};
use sametick::secure::Random;
use sametick::{Dice, EntityId, Game, Layouts, PlayerId, Slots, Span, Tick, Time, World};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Entity, Islands, Opening, TICK, Unit};
use std::collections::BTreeMap;

const MATCHES: u64 = 60;
const SECONDS: u64 = 20;
const STEP: Span = Span::millis(10);
/// So many ticks of the server are remembered: nobody is told so late.
const TICKS_KEPT: u32 = 300;

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

struct Player {
    client: EventClient<Islands>,
    host: Host,
    bot: Bot,
    /// The last tick it was told of and compared at.
    compared: Option<(PlayerId, Tick)>,
}

struct Match {
    seed: u64,
    now: Time,
    network: Network,
    here: Host,
    content: Content,
    server: EventServer<Islands>,
    players: Vec<Player>,
    worlds: BTreeMap<Tick, World<Entity>>,
    layouts: Layouts,
    random: Seeded,
    tally: Tally,
}

/// What was looked at.
#[derive(Default)]
struct Tally {
    tellings: u64,
    /// While something was hoped for that was not official.
    hopeful: u64,
    /// Entities that were there and hidden from a player when it was compared.
    hidden: u64,
    seconds: u64,
    returns: u64,
}

/// One of many bad lines.
fn trouble(dice: &mut Dice) -> Conditions {
    Conditions {
        delay: Span::millis(5 + dice.below(250)),
        jitter: Jitter::Uniform { width: Span::millis(dice.below(120)) },
        keep_order: false,
        loss: Loss::Random { probability: dice.unit() * 0.15 },
        duplicate: dice.unit() * 0.1,
        reorder: dice.unit() * 0.1,
        reorder_by: Span::millis(dice.below(200)),
        ..Conditions::PERFECT
    }
}

impl Match {
    fn new(seed: u64, dice: &mut Dice) -> Self {
        let mut random = Seeded(Dice::new(seed, 9));
        let mut network = Network::new(seed);
        let (here, count) = (network.add_host(), 2 + dice.below(3));
        let opening = if dice.below(4) == 0 { Opening::Settlers } else { Opening::War };
        let content = Content::new(seed, count as u8, opening);
        let budget = (dice.below(2) == 0).then_some(120 * count as u32);
        let rates = EventRates {
            tick_length: TICK,
            bytes_per_second: budget,
            keeps_hashes: true,
            ..EventRates::default()
        };
        let server = EventServer::open(content.clone(), seed, rates, Time::ZERO, &mut random);
        let address = network.address(here);
        let players = (0..count).map(|index| Player {
            client: EventClient::open(address, content.clone(), Time::ZERO, &mut random),
            host: network.add_host(),
            bot: Bot::new(seed ^ index),
            compared: None,
        });
        let players = players.collect();
        let mut game = Self {
            seed,
            now: Time::ZERO,
            network,
            here,
            content,
            server,
            players,
            worlds: BTreeMap::new(),
            layouts: Layouts::of::<Entity>(),
            random,
            tally: Tally::default(),
        };
        (0..game.players.len()).for_each(|index| game.set_line(index, &trouble(dice)));
        game
    }

    fn set_line(&mut self, index: usize, conditions: &Conditions) {
        let (here, there) = (self.here, self.players[index].host);
        self.network.set_conditions(here, there, conditions.clone());
        self.network.set_conditions(there, here, conditions.clone());
    }

    fn step(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.network.receive(now, self.here, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            answer.iter().for_each(|answer| self.network.send(now, self.here, from, answer));
        }
        self.server.advance(now);
        let world = self.server.world();
        self.worlds.entry(world.tick()).or_insert_with(|| world.clone());
        let oldest = world.tick().0.saturating_sub(TICKS_KEPT);
        self.worlds.retain(|tick, _| tick.0 >= oldest);
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.network.send(now, self.here, to, datagram);
        }
        let is_turn = (now - Time::ZERO).as_micros().is_multiple_of(TICK.as_micros());
        let address = self.network.address(self.here);
        for index in 0..self.players.len() {
            let host = self.players[index].host;
            while self.network.receive(now, host, &mut datagram).is_some() {
                self.players[index].client.receive(now, &mut datagram);
                self.compare(index);
            }
            let Player { client, bot, .. } = &mut self.players[index];
            client.advance(now);
            if let (true, Some(me)) = (is_turn, client.me())
                && let Some(world) = client.shown(now)
            {
                let request = bot.think(world, me, &self.content);
                if !request.is_nothing() {
                    let _ = client.request(now, request);
                }
            }
            while let Some(datagram) = client.transmit(now) {
                self.network.send(now, host, address, datagram);
            }
        }
        self.now += STEP;
    }

    /// After each telling: the official world is the server's of that tick, as far as its player may see, by the
    /// rules themselves and not by what the server says it has sent.
    fn compare(&mut self, index: usize) {
        let Player { client, compared, .. } = &mut self.players[index];
        let Some((me, (tick, hash))) = client.me().zip(client.hash()) else { return };
        // Before the first telling there is nothing.
        let is_told = client.world().is_some_and(|world| !world.is_empty());
        if !is_told || *compared == Some((me, tick)) {
            return;
        }
        *compared = Some((me, tick));
        let seed = self.seed;
        assert_eq!(client.malformed(), 0, "seed {seed}: {me:?} was told nonsense");
        let world = self.worlds.get(&tick);
        let world = world.unwrap_or_else(|| panic!("seed {seed}: {me:?} at {tick:?}, too late"));
        let mut visible = Slots::default();
        Islands::relevant(world, &self.content, me, &mut visible);
        let may_see = |id: EntityId| visible.contains(id.slot()) || world.owner(id) == Some(me);
        let official = client.world().expect("it was told");
        for (id, _) in official.entities() {
            assert!(!id.is_provisional(), "seed {seed}: {me:?} hopes for {id:?}, officially");
            assert!(may_see(id), "seed {seed}: {me:?} was told of {id:?} at {tick:?}");
        }
        let truth = sight_hash(world, &self.layouts, tick, may_see);
        assert_eq!(hash, truth, "seed {seed}: {me:?} at {tick:?}");
        if let Some(told) = self.server.hash_told(me, tick) {
            assert_eq!(told, truth, "seed {seed}: what the server says it told {me:?}");
        }
        self.tally.tellings += 1;
        self.tally.hopeful += u64::from(client.waiting() > 0);
        self.tally.hidden += world.entities().filter(|(id, _)| !may_see(*id)).count() as u64;
    }

    /// At every second, whether or not anything was just told.
    fn compare_all(&mut self) {
        for index in 0..self.players.len() {
            self.players[index].compared = None;
            let before = self.tally.tellings;
            self.compare(index);
            self.tally.seconds += self.tally.tellings - before;
        }
    }

    /// Lines fail and change, and players come back on fresh connections.
    fn suffer(&mut self, dice: &mut Dice) {
        let index = dice.below(self.players.len() as u64) as usize;
        let (now, host) = (self.now, self.players[index].host);
        match dice.below(8) {
            0 => {
                let Some(ticket) = self.players[index].client.ticket().cloned() else { return };
                let (address, content) = (self.network.address(self.here), self.content.clone());
                let random = &mut self.random;
                self.players[index].client =
                    EventClient::new(address, ticket, content, now, random);
                self.tally.returns += 1;
            }
            1 => {
                let ends = now + Span::millis(dice.below(1500));
                let outage = Outage { begins: now, ends, holds: dice.below(2) == 0 };
                self.network.add_outage(now, self.here, host, outage);
            }
            2 => self.set_line(index, &trouble(dice)),
            _ => {}
        }
    }
}

fn play(seed: u64) -> Tally {
    let dice = &mut Dice::new(seed, 1);
    let mut game = Match::new(seed, dice);
    for _ in 0..SECONDS {
        let end = game.now + Span::seconds(1);
        while game.now < end {
            game.step();
        }
        game.compare_all();
        game.suffer(dice);
    }
    assert_eq!(game.server.malformed(), 0, "seed {seed}");
    assert!(game.server.world().all::<Unit>().count() > 4, "seed {seed}: nobody plays");
    game.tally
}

#[test]
fn official_worlds_of_islands_agree_at_every_telling_and_every_second_whatever_lines_do() {
    let mut sum = Tally::default();
    for seed in 0..MATCHES {
        let tally = play(seed);
        sum.tellings += tally.tellings;
        sum.hopeful += tally.hopeful;
        sum.hidden += tally.hidden;
        sum.seconds += tally.seconds;
        sum.returns += tally.returns;
    }
    let Tally { tellings, hopeful, hidden, seconds, returns } = sum;
    assert!(seconds > MATCHES * SECONDS * 3 / 2, "only {seconds} worlds at whole seconds");
    assert!(tellings > 2 * seconds, "only {tellings} tellings");
    assert!(hopeful > tellings / 10, "only {hopeful} of {tellings} while something was unofficial");
    assert!(hidden > 10 * tellings, "only {hidden} hidden in {tellings} tellings");
    assert!(returns > MATCHES / 2, "only {returns} came back");
}
