//! A whole match inside the page: a server, its bots as clients like any other, and the library's simulated network
//! between them. Behind the first screen where there is no server, and the ground for the theatre.

use crate::conditions::Wanted;
use crate::session::Road;
use sametick::network::{Host, Network};
use sametick::secure::Random;
use sametick::{Client, Dice, Others, Peer, Rates, Server, Span, Tick, Time, View, World};
use sametick_arena::bot::{Bot, SKILLS, Ways};
use sametick_arena::{Arena, Content, Entity};
use std::sync::Arc;

/// How far one frame takes the match at most: who looked away sees it go on from where it was.
const CATCH_UP_MAX: Span = Span::millis(250);
/// How finely time passes within a frame.
const STEP: Span = Span::millis(4);
/// How bots are called.
const NAMES: [&str; 8] =
    ["Ada", "Alan", "Barbara", "Claude", "Dennis", "Edsger", "Frances", "Grace"];

/// Server, bots and network.
pub(crate) struct Inside {
    server: Server<Arena>,
    network: Network,
    here: Host,
    mine: Host,
    bots: Vec<Player>,
    content: Content,
    /// The match's own time, and the page's when that was set.
    now: Time,
    page: Time,
    random: Seeded,
    datagram: Vec<u8>,
}

struct Player {
    client: Client<Arena>,
    host: Host,
    bot: Bot,
    thought: Tick,
}

/// Chance for what needs no secrets, because nothing leaves the page.
struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

impl Inside {
    /// Begins a match with so many bots.
    pub(crate) fn new(content: &Content, bots: usize, now: Time, random: &mut dyn Random) -> Self {
        let mut seed = [0; 8];
        random.fill(&mut seed);
        let seed = u64::from_le_bytes(seed);
        let mut random = Seeded(Dice::new(seed, 0x5eed));
        let mut network = Network::new(seed);
        let (here, mine) = (network.add_host(), network.add_host());
        let address = network.address(here);
        let server = Server::open(content.clone(), seed, Rates::USUAL, now, &mut random);
        let ways = Arc::new(Ways::new(content));
        // A bot needs no smooth picture.
        let view = View { others: Others::Latest, smooths_over: Span::ZERO, ..View::USUAL };
        let bots = (0..bots)
            .map(|number| {
                let skill = SKILLS[number % 3 + 1];
                let mut bot = Bot::new(skill, seed.wrapping_add(number as u64), Arc::clone(&ways));
                bot.call(NAMES[number % NAMES.len()]);
                let client = Client::open(address, content.clone(), view, now, &mut random);
                Player { client, host: network.add_host(), bot, thought: Tick(0) }
            })
            .collect();
        Self {
            server,
            network,
            here,
            mine,
            bots,
            content: content.clone(),
            now,
            page: now,
            random,
            datagram: Vec::new(),
        }
    }

    /// Where to knock.
    pub(crate) fn address(&self) -> Peer {
        self.network.address(self.here)
    }

    fn step(&mut self, client: &mut Client<Arena>) {
        let now = self.now;
        let Self { server, network, here, datagram, .. } = self;
        while let Some(from) = network.receive(now, *here, datagram) {
            if let Some(answer) = server.receive(now, from, datagram, &mut self.random) {
                network.send(now, *here, from, &answer);
            }
        }
        server.advance(now);
        while let Some((to, datagram)) = server.transmit(now) {
            network.send(now, *here, to, datagram);
        }
        // Who joined and left, and who judged how, is of no interest here.
        let _ = server.take_events();
        let _ = server.take_verdicts();
        let address = network.address(*here);
        carry(network, client, self.mine, address, now, datagram);
        for player in &mut self.bots {
            carry(network, &mut player.client, player.host, address, now, datagram);
            player.think(now, &self.content);
        }
    }
}

impl Road for Inside {
    fn name(&self) -> String {
        "in this page".into()
    }

    fn drive(&mut self, client: &mut Client<Arena>, now: Time) -> Time {
        let behind = now - self.page;
        self.page = now;
        // The match's own time stands still while nobody looks, and the client's with it.
        let due = behind.min(CATCH_UP_MAX);
        let end = self.now + due;
        while self.now < end {
            self.now = (self.now + STEP).min(end);
            self.step(client);
        }
        self.now
    }

    fn set_conditions(&mut self, wanted: &Wanted) {
        let [out, back] = wanted.conditions();
        self.network.set_conditions(self.mine, self.here, out);
        self.network.set_conditions(self.here, self.mine, back);
    }

    fn truth(&self) -> Option<&World<Entity>> {
        Some(self.server.world())
    }

    #[cfg(test)]
    fn screens(&self) -> Vec<(sametick::PlayerId, Tick, &World<Entity>)> {
        let seen = self.bots.iter().filter_map(|bot| {
            let (me, shown) = bot.client.me().zip(bot.client.shown())?;
            Some((me, bot.thought, shown))
        });
        seen.collect()
    }
}

impl Player {
    fn think(&mut self, now: Time, content: &Content) {
        let (Some(me), Some(world)) = (self.client.me(), self.client.predicted()) else { return };
        let tick = world.tick();
        let passed = tick.0.saturating_sub(self.thought.0);
        if passed == 0 {
            return;
        }
        self.thought = tick;
        let Some(shown) = self.client.view(now) else { return };
        let seconds = (passed as f32 * Rates::USUAL.tick_length.as_seconds_f64() as f32).min(0.25);
        let command = self.bot.think(shown, me, content, seconds);
        self.client.command(command);
        self.client.take_effects();
        let _ = self.client.take_events();
    }
}

fn carry(
    network: &mut Network,
    client: &mut Client<Arena>,
    host: Host,
    server: Peer,
    now: Time,
    datagram: &mut Vec<u8>,
) {
    while network.receive(now, host, datagram).is_some() {
        client.receive(now, datagram);
    }
    client.advance(now);
    while let Some(datagram) = client.transmit(now) {
        network.send(now, host, server, datagram);
    }
}
