//! An event-locked contest inside the page: a server, bots as clients like any other, and the library's simulated
//! network between them, with the hand's own line as long as is wished.

use super::{BLENDING, Road};
use sametick::eventlock::{Denial, EventClient, EventRates, EventServer};
use sametick::network::{Conditions, Host, Network};
use sametick::secure::Random;
use sametick::{Dice, EntityId, PlayerId, Span, Tick, Time, World};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Entity, Islands, Request, TICK};

/// How finely time passes.
const STEP: Span = Span::millis(10);
/// In every which step a bot's client has its turn.
const BOT_STEPS: u64 = 5;
/// Longer than anybody takes to be let in.
const COMING_MAX: Span = Span::seconds(20);
/// What happens is told this often.
const TELL_EVERY: Span = Span::millis(100);
/// A hand may ask quickly: a box of workers is a request for each.
const REQUESTS_PER_SECOND: u32 = 20;
const REQUESTS_AT_ONCE: u32 = 60;

/// Chance for what needs no secrets, because nothing leaves the page.
struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// One who plays.
struct Player {
    client: EventClient<Islands>,
    host: Host,
    bot: Bot,
    thought: Tick,
}

/// Server, bots, network, and the hand's own client.
pub(super) struct Locked {
    server: EventServer<Islands>,
    network: Network,
    here: Host,
    /// The hand is the first.
    players: Vec<Player>,
    content: Content,
    seed: u64,
    now: Time,
    random: Seeded,
    datagram: Vec<u8>,
    /// Whether a bot plays for the hand too.
    is_watched: bool,
    /// What the server last denied the hand, until it was said.
    denied: Option<Denial>,
}

impl Locked {
    /// A contest in which everyone has come, from its beginning or from where it was saved.
    pub(super) fn new(
        content: &Content,
        seed: u64,
        saved: Option<World<Entity>>,
        ping: Span,
    ) -> Self {
        let mut random = Seeded(Dice::new(seed, 0x15_1a));
        let mut network = Network::new(seed);
        let here = network.add_host();
        let rates = EventRates {
            tick_length: TICK,
            tell_every: TELL_EVERY,
            requests_per_second: REQUESTS_PER_SECOND,
            requests_at_once: REQUESTS_AT_ONCE,
            ..EventRates::default()
        };
        let server = EventServer::open(content.clone(), seed, rates, Time::ZERO, &mut random);
        let server = match saved {
            Some(world) => {
                let players: Vec<PlayerId> =
                    (0..u16::from(content.players())).map(PlayerId).collect();
                server.resume(Time::ZERO, world, &players)
            }
            None => server,
        };
        let mut contest = Self {
            server,
            network,
            here,
            players: Vec::new(),
            content: content.clone(),
            seed,
            now: Time::ZERO,
            random,
            datagram: Vec::new(),
            is_watched: false,
            denied: None,
        };
        for seat in 0..u64::from(content.players()) {
            contest.come(seed ^ seat, if seat == 0 { ping } else { Span::ZERO });
        }
        contest
    }

    /// Lets one more in, and waits until it knows its number: seats are given in order.
    fn come(&mut self, seed: u64, ping: Span) {
        let host = self.network.add_host();
        let line = Conditions { delay: Span::micros(ping.as_micros() / 2), ..Conditions::PERFECT };
        self.network.set_conditions(host, self.here, line.clone());
        self.network.set_conditions(self.here, host, line);
        let address = self.network.address(self.here);
        let mut client =
            EventClient::open(address, self.content.clone(), self.now, &mut self.random);
        client.set_blending(BLENDING);
        self.players.push(Player { client, host, bot: Bot::new(seed), thought: Tick(0) });
        let end = self.now + COMING_MAX;
        let index = self.players.len() - 1;
        let is_in = |contest: &Self| {
            let client = &contest.players[index].client;
            client.me().is_some() && client.world().is_some_and(|world| world.tick() > Tick(0))
        };
        while !is_in(self) && self.now < end {
            self.pass();
        }
    }

    /// One step of time for all.
    fn pass(&mut self) {
        self.now += STEP;
        let now = self.now;
        while let Some(from) = self.network.receive(now, self.here, &mut self.datagram) {
            let answer = self.server.receive(now, from, &mut self.datagram, &mut self.random);
            if let Some(answer) = answer {
                self.network.send(now, self.here, from, &answer);
            }
        }
        self.server.advance(now);
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.network.send(now, self.here, to, datagram);
        }
        let address = self.network.address(self.here);
        let step = (now - Time::ZERO).as_micros() / STEP.as_micros();
        for (index, player) in self.players.iter_mut().enumerate() {
            // Nobody looks at a bot's screen: it has its turn less often, and not in the same step as the next.
            if index > 0 && step % BOT_STEPS != index as u64 % BOT_STEPS {
                continue;
            }
            while self.network.receive(now, player.host, &mut self.datagram).is_some() {
                player.client.receive(now, &mut self.datagram);
            }
            if index > 0 || self.is_watched {
                player.think(now, &self.content);
            }
            player.client.advance(now);
            for answer in player.client.take_answers() {
                if let (0, Err(denial)) = (index, answer.verdict) {
                    self.denied = Some(denial);
                }
            }
            while let Some(datagram) = player.client.transmit(now) {
                self.network.send(now, player.host, address, datagram);
            }
        }
    }
}

impl Road for Locked {
    fn advance(&mut self, span: Span) {
        let end = self.now + span;
        while self.now + STEP <= end {
            self.pass();
        }
    }

    fn request(&mut self, request: Request) -> Result<(), Denial> {
        let now = self.now;
        self.players[0].client.request(now, request).map(|_| ())
    }

    fn take_denial(&mut self) -> Option<Denial> {
        self.denied.take()
    }

    fn shown(&mut self) -> Option<(&World<Entity>, f64)> {
        let now = self.now;
        let client = &mut self.players[0].client;
        let (_, part) = client.tick_at(now)?;
        Some((client.shown(now)?, f64::from(part)))
    }

    fn is_unofficial(&self, id: EntityId) -> bool {
        self.players[0].client.is_unofficial(id)
    }

    fn leaving(&self, id: EntityId) -> Option<(&Entity, f32)> {
        self.players[0].client.leaving(self.now, id)
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(sametick_islands::save_contest(&self.content, self.seed, self.server.world()))
    }

    fn me(&self) -> PlayerId {
        self.players[0].client.me().unwrap_or(PlayerId(0))
    }

    fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }
}

impl Player {
    /// A bot looks once a tick, as its screen shows it.
    fn think(&mut self, now: Time, content: &Content) {
        let me = self.client.me();
        let Some((world, me)) = self.client.shown(now).zip(me) else { return };
        if world.tick() <= self.thought {
            return;
        }
        self.thought = world.tick();
        let request = self.bot.think(world, me, content);
        if !request.is_nothing() {
            // What is refused is refused: it thinks again.
            let _ = self.client.request(now, request);
        }
    }
}
