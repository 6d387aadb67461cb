//! What the compact codec takes of a match of sixteen bots, and what foreseeing by the rules saves and costs: bytes a
//! second to each of them, and the server's time for all. Over a simulated line, the same match each time; the tables
//! are those of the file that is named, or built in.

use sametick::Wire;
use sametick::codec::compact::Tables;
use sametick::network::{Conditions, Host, Loss, Network};
use sametick::secure::Random;
use sametick::{Client, Dice, Rates, Server, Span, Tick, Time, View};
use sametick_arena::bot::{Bot, Skill, Ways};
use sametick_arena::{Arena, Content, Mode, map};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PLAYERS: u64 = 16;
/// The first seconds are not measured: everyone is new then.
const SECONDS: (u64, u64) = (8, 28);
const DT: f32 = 1.0 / 60.0;
const SEED: u64 = 4;

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

struct Player {
    host: Host,
    client: Client<Arena>,
    bot: Bot,
    thought_at: Option<Tick>,
}

/// What is measured of a match.
#[derive(Default)]
struct Figures {
    bytes: usize,
    took: Duration,
    malformed: u64,
}

fn main() {
    let content = Content::new(map::HALLS, Mode::FreeForAll).expect("the map is sound");
    let ways = Arc::new(Ways::new(&content));
    let tables = match std::env::args().nth(1) {
        Some(path) => {
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            Tables::from_bytes(&bytes).unwrap_or_else(|error| panic!("{path}: {error}"))
        }
        None => Tables::built_in(Wire::of::<Arena>().layouts()),
    };
    let tables = Arc::new(tables);
    for ping in [40, 100] {
        for (name, is_compact, foresees) in
            [("plain", false, false), ("compact", true, false), ("foreseen", true, true)]
        {
            let tables = is_compact.then_some(&tables);
            let figures = play(&content, &ways, tables, foresees, ping);
            let seconds = (SECONDS.1 - SECONDS.0) as f64;
            println!(
                "ping {ping:>3} ms, {name:<8} {:>5.0} bytes a second to each, \
                 {:>4.1} ms of the server's time a second, {} refused",
                figures.bytes as f64 / PLAYERS as f64 / seconds,
                1e3 * figures.took.as_secs_f64() / seconds,
                figures.malformed,
            );
        }
    }
}

fn play(
    content: &Content,
    ways: &Arc<Ways>,
    tables: Option<&Arc<Tables>>,
    foresees: bool,
    ping: u64,
) -> Figures {
    let random = &mut Seeded(Dice::new(SEED, 2));
    let mut network = Network::new(SEED);
    let line = Conditions {
        delay: Span::micros(500 * ping),
        loss: Loss::Random { probability: 0.01 },
        ..Conditions::PERFECT
    };
    let mut server =
        Server::<Arena>::open(content.clone(), SEED, Rates::default(), Time::ZERO, random);
    if let Some(tables) = tables {
        server.use_tables(Arc::clone(tables)).expect("they are of this game");
        assert_eq!(foresees, foresees && server.foresee());
    }
    let home = network.add_host();
    let mut players: Vec<Player> = (0..PLAYERS)
        .map(|number| {
            let host = network.add_host();
            network.set_conditions(host, home, line.clone());
            network.set_conditions(home, host, line.clone());
            let (address, view) = (network.address(home), View::default());
            let mut client = Client::open(address, content.clone(), view, Time::ZERO, random);
            tables.iter().for_each(|tables| client.bring_tables(Arc::clone(tables)));
            let bot = Bot::new(Skill::level(2 + number as u8 % 4), number, ways.clone());
            Player { host, client, bot, thought_at: None }
        })
        .collect();
    let (mut figures, mut datagram) = (Figures::default(), Vec::new());
    for now in (0..1_000 * SECONDS.1).map(Time::from_millis) {
        let is_measured = now >= Time::from_millis(1_000 * SECONDS.0);
        let began = Instant::now();
        while let Some(from) = network.receive(now, home, &mut datagram) {
            if let Some(answer) = server.receive(now, from, &mut datagram, random) {
                network.send(now, home, from, &answer);
            }
        }
        server.advance(now);
        while let Some((to, datagram)) = server.transmit(now) {
            figures.bytes += if is_measured { datagram.len() } else { 0 };
            network.send(now, home, to, datagram);
        }
        figures.took += if is_measured { began.elapsed() } else { Duration::ZERO };
        for player in &mut players {
            while network.receive(now, player.host, &mut datagram).is_some() {
                player.client.receive(now, &mut datagram);
            }
            player.think(now, content);
            player.client.advance(now);
            while let Some(datagram) = player.client.transmit(now) {
                network.send(now, player.host, network.address(home), datagram);
            }
        }
    }
    figures.malformed = players.iter().map(|player| player.client.malformed()).sum();
    figures
}

impl Player {
    /// Asks for something, once a tick.
    fn think(&mut self, now: Time, content: &Content) {
        let tick = self.client.predicted().map(|world| world.tick());
        let (Some(me), true) = (self.client.me(), tick != self.thought_at) else { return };
        self.thought_at = tick;
        if let Some(view) = self.client.view(now) {
            let command = self.bot.think(view, me, content, DT);
            self.client.command(command);
        }
        self.client.take_effects();
    }
}
