//! `play --game islands`: an event-locked server of Islands on this machine, for programs over UDP and TCP and for
//! browsers, with bots in the seats that nobody takes; or one player of somebody else's contest.

mod saved;
mod visitor;

use crate::host::figures::Figures;
use crate::host::log::{Line, Log, STATUS};
use crate::host::metrics::Board;
use crate::page::{self, Beside, Match};
use crate::play;
use crate::stop::Stop;
use crate::{address, crew, tokens};
use anyhow::bail;
use clap::{Args, ValueEnum};
use sametick::channel::Settings;
use sametick::endpoint::ListenerConfig;
use sametick::eventlock::{EventRates, EventServer};
use sametick::secure::SystemRandom;
use sametick::{Alone, PlayerId, ServerEvent, Span, Tick, Time, World};
use sametick_islands::bot::Bot;
use sametick_islands::{
    Content, Entity, Islands, Opening, SEATS_MAX, TICK, TICKS_PER_SECOND, clock, contest, scores,
};
use sametick_links::{Both, Clock, Link, TcpLink, UdpLink, address_of, drive_event_server};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The page on which it is played.
const FRONT: &str = "islands.html";
/// What happens is told this often.
const TELL_EVERY: Span = Span::millis(100);
/// A hand may ask quickly: a box of workers is a request for each.
const REQUESTS_PER_SECOND: u32 = 20;
const REQUESTS_AT_ONCE: u32 = 60;
/// Whoever is away for so long is played for.
const AWAY: Span = Span::seconds(10);
/// How long a contest's end is looked at before the next begins.
const INTERVAL: Span = Span::seconds(20);
/// How often figures are left for pages, and a server that nobody writes to looks whether it is to stop.
const POSTED_EVERY: Span = Span::millis(250);
const LOOKS_EVERY: Span = Span::millis(50);
/// How long everyone is given to hear the goodbye.
const GOODBYE: Span = Span::seconds(1);

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GameName {
    /// The shooter
    Arena,
    /// The strategy game, event-locked
    Islands,
}

/// What only Islands has to be told.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct Options {
    /// The game
    #[arg(long, value_enum, default_value_t = GameName::Arena)]
    pub(crate) game: GameName,
    /// With --game islands: begin with a standing army instead of four workers
    #[arg(long)]
    war: bool,
    /// With --game islands: write the contest to this file at the end
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// With --game islands: go on with the contest of this file
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
}

/// What means nothing in the arena, and what means nothing here.
pub(crate) const ONLY_HERE: [&str; 3] = ["war", "save", "load"];
const ONLY_IN_THE_ARENA: [&str; 16] = [
    "map",
    "mode",
    "tick-rate",
    "snapshot-rate",
    "model",
    "skill",
    "players-max",
    "also",
    "record",
    "record-what",
    "codec",
    "tables",
    "foresee",
    "alone",
    "here",
    "watch",
];
/// What means nothing to whoever joins a contest that is elsewhere.
const ONLY_AT_HOME: [&str; 6] = ["bots", "address", "open", "page", "save", "load"];
/// What a saved contest has said already.
const SAVED: [&str; 3] = ["players", "seed", "war"];

/// A contest as it is about to be played.
struct Plan {
    content: Content,
    seed: u64,
    /// None for a new one.
    saved: Option<World<Entity>>,
    /// How many people are waited for.
    people: usize,
}

impl Plan {
    fn of(options: &play::Options) -> anyhow::Result<Self> {
        let is_given = |name: &str| options.given.iter().any(|given| given == name);
        if let Some(name) = ONLY_IN_THE_ARENA.into_iter().find(|name| is_given(name)) {
            bail!("--{name} means nothing with --game islands: it is for the arena");
        }
        let (content, seed, saved) = match &options.islands.load {
            Some(path) => {
                if let Some(name) = SAVED.into_iter().find(|name| is_given(name)) {
                    bail!("--{name} means nothing with --load: the saved contest says it");
                }
                let (content, seed, world) = saved::read(path)?;
                (content, seed, Some(world))
            }
            None => {
                if usize::from(options.players) < 2 {
                    bail!("--players {} is too few for islands: 2 to {SEATS_MAX}", options.players);
                }
                let seed = options.matches.rules.seed;
                let opening = if options.islands.war { Opening::War } else { Opening::Settlers };
                (Content::new(seed, options.players, opening), seed, None)
            }
        };
        let players = u32::from(content.players());
        let bots = if is_given("bots") { options.bots } else { players - 1 };
        if bots > players {
            bail!("--bots {bots} is more than the {players} who play");
        }
        Ok(Self { content, seed, saved, people: (players - bots) as usize })
    }

    /// The world to begin with: everyone has a seat in it, whoever will take it.
    fn world(&mut self) -> anyhow::Result<World<Entity>> {
        if let Some(world) = self.saved.take() {
            return Ok(world);
        }
        let mut game = Alone::<Islands>::new(self.content.clone(), self.seed, TICK);
        self.players().for_each(|player| game.join(player));
        game.step([])?;
        Ok(game.world().clone())
    }

    fn players(&self) -> impl Iterator<Item = PlayerId> + use<> {
        (0..u16::from(self.content.players())).map(PlayerId)
    }

    fn is_war(&self) -> bool {
        self.content.opening() == Opening::War
    }

    /// What a page is told of it. A seed may be larger than a page's numbers, and goes as text.
    fn facts(&self) -> Value {
        json!({
            "game": "islands",
            "title": "Islands",
            "mode": if self.is_war() { "war" } else { "settlers" },
            "model": "event locking",
            "tick_rate": TICKS_PER_SECOND,
            "players_max": self.content.players(),
            "seats": self.content.players(),
            "seed": self.seed.to_string(),
            "war": self.is_war(),
            "content": format!("{:016x}", self.content.name()),
        })
    }

    fn text(&self) -> String {
        let begins = if self.is_war() { "a standing army" } else { "four workers each" };
        let waits = match self.people {
            0 => "bots in every seat that nobody takes".to_owned(),
            1 => "begins when somebody comes".to_owned(),
            people => format!("begins when {people} have come"),
        };
        let (players, seed) = (self.content.players(), self.seed);
        format!("Islands for {players}, {begins}, map {seed}, event-locked, UDP and TCP; {waits}")
    }

    /// How a bot joins from elsewhere.
    fn invitation(&self, bound: &str) -> String {
        let (players, seed) = (self.content.players(), self.seed);
        let war = if self.is_war() { " --war" } else { "" };
        format!(
            "a bot joins with --game islands --join {bound} --players {players} --seed {seed}{war}"
        )
    }
}

pub(crate) fn run(options: &play::Options) -> anyhow::Result<()> {
    let mut plan = Plan::of(options)?;
    if let Some(to) = &options.join {
        if let Some(name) =
            ONLY_AT_HOME.iter().find(|name| options.given.iter().any(|g| g == *name))
        {
            bail!("--{name} means nothing with --join: the contest is elsewhere");
        }
        return visitor::run(&visitor::Visit {
            content: &plan.content,
            to,
            seed: plan.seed,
            seconds: options.seconds,
            is_json: options.json,
        });
    }
    if let Some(path) = &options.islands.save {
        saved::check(path, options.islands.load.as_deref())?;
    }
    let stop = Stop::on_signals()?;
    let (udp, tcp) = bind(options.address)?;
    let bound = address_of(udp.local()).to_string();
    let (board, beside) = (Board::default(), Beside::default());
    let facts = plan.facts();
    let (key, tables) = (None, None);
    let game = Match { facts, board: board.clone(), key, beside, tables, front: FRONT };
    let web = options.matches.page.open(true, game)?;
    let pages = web.as_ref().map(page::addresses).unwrap_or_default();
    let pages: Vec<String> = pages.into_iter().map(|page| page + FRONT).collect();
    if options.open {
        let Some(page) = pages.first() else { bail!("there is no page to --open with --page off") };
        if !page::open_browser(page) {
            eprintln!("no browser could be started: open {page} in one");
        }
    }
    let mut log = Log::new(options.json);
    let what = format!("{}; {}", plan.text(), plan.invitation(&bound));
    log.tell(Time::ZERO, &Line::Listening { address: bound, what, metrics: None, pages });
    let (clock, mut link) = (Clock::start(), Both::new(udp, web).with_tcp(tcp));
    let end =
        options.seconds.map_or(Time::MAX, |seconds| Time::ZERO + Span::seconds(seconds.into()));
    let mut is_first = true;
    loop {
        let world = plan.world()?;
        let mut table = Table::new(&plan, world, &clock, board.clone());
        if let Some(warning) =
            table.server.listener().warning().filter(|_| std::mem::take(&mut is_first))
        {
            log.tell(clock.now(), &Line::Warning(warning));
        }
        table.play(&mut link, end, &stop, &mut log);
        let is_end = stop.is_asked() || clock.now() >= end;
        if is_end && let Some(path) = &options.islands.save {
            saved::write(path, &plan.content, plan.seed, table.server.world())?;
            eprintln!("saved to {}", path.display());
        }
        table.say_goodbye(&mut link);
        if is_end {
            log.tell(clock.now(), &table.note("stopped"));
            return Ok(());
        }
    }
}

/// How many ports are tried for one that is free for UDP and TCP, if nobody has chosen one.
const PORTS_TRIED: u32 = 8;

/// A port for players over UDP and for players over TCP.
fn bind(chosen: Option<SocketAddr>) -> anyhow::Result<(UdpLink, TcpLink)> {
    let option = "--address";
    let mut udp = address::bind_chosen(chosen, option)?;
    for _ in 0..PORTS_TRIED {
        let at = address_of(udp.local());
        match TcpLink::listen(at) {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) if chosen.is_some_and(|chosen| chosen.port() != 0) => {
                return Err(address::refused(&error, at, option, "TCP"));
            }
            // Somebody has this port for TCP: both move to another.
            Err(_) => udp = address::bind(SocketAddr::new(at.ip(), 0), option)?,
        }
    }
    bail!("no port is free for both UDP and TCP: choose one with {option}")
}

/// One contest, and all who are in it.
struct Table<'a> {
    server: EventServer<Islands>,
    clock: &'a Clock,
    board: Board,
    bots: Vec<Bot>,
    /// From when on a bot plays in a seat; never while its player is here.
    played_from: Vec<Option<Time>>,
    /// The last tick that bots have looked at.
    thought: Tick,
    people: usize,
    posted_at: Time,
    ended_at: Option<Time>,
}

impl<'a> Table<'a> {
    fn new(plan: &Plan, world: World<Entity>, clock: &'a Clock, board: Board) -> Self {
        let (now, random) = (clock.now(), &mut SystemRandom::new());
        let players: Vec<PlayerId> = plan.players().collect();
        let config = ListenerConfig {
            gate: tokens::gate(None, random),
            channel: Settings::default(),
            connections_max: players.len(),
            unix_seconds_at_zero: tokens::unix_seconds(),
        };
        let rates = EventRates {
            tick_length: TICK,
            tell_every: TELL_EVERY,
            requests_per_second: REQUESTS_PER_SECOND,
            requests_at_once: REQUESTS_AT_ONCE,
            ..EventRates::default()
        };
        let server = EventServer::new(config, plan.content.clone(), plan.seed, rates, now, random);
        let mut server = server.resume(now, world, &players).with_lent_places();
        server.hold(now, plan.people > 0);
        Self {
            thought: server.world().tick(),
            server,
            clock,
            board,
            bots: players.iter().map(|player| Bot::new(plan.seed ^ u64::from(player.0))).collect(),
            // In seats that nobody has taken yet bots play at once.
            played_from: vec![Some(Time::ZERO); players.len()],
            people: plan.people,
            posted_at: now,
            ended_at: None,
        }
    }

    /// Until it is over and was looked at, or everything ends.
    fn play(&mut self, link: &mut Both, end: Time, stop: &Stop, log: &mut Log) {
        loop {
            let now = self.clock.now();
            drive_event_server(&mut self.server, link, now, &mut SystemRandom::new());
            self.tell(now, log);
            if self.server.players().count() >= self.people {
                self.people = 0;
                self.server.hold(now, false);
            }
            self.think(now);
            if contest(self.server.world()).is_over && self.ended_at.is_none() {
                self.ended_at = Some(now);
                log.tell(now, &self.note("over"));
            }
            let is_looked_at = self.ended_at.is_some_and(|ended| now - ended >= INTERVAL);
            if is_looked_at || now >= end || stop.is_asked() {
                return;
            }
            link.wait(self.clock, self.server.next_wake().min(end).min(now + LOOKS_EVERY));
        }
    }

    /// Bots look once a tick at what their seat sees.
    fn think(&mut self, now: Time) {
        let tick = self.server.world().tick();
        if tick <= self.thought {
            return;
        }
        self.thought = tick;
        for (seat, bot) in self.bots.iter_mut().enumerate() {
            let player = PlayerId(seat as u16);
            let request = self.played_from[seat]
                .is_some_and(|from| now >= from)
                .then(|| bot.think(self.server.world(), player, self.server.content()))
                .filter(|request| !request.is_nothing());
            if let Some(request) = request {
                self.server.play_for(player, request);
            }
        }
    }

    fn tell(&mut self, now: Time, log: &mut Log) {
        for event in self.server.take_events() {
            match event {
                ServerEvent::Joined { player, .. } => {
                    self.play_from(player, None);
                    log.tell(now, &Line::Joined { player: player.0 });
                }
                ServerEvent::Left { player, reason } => {
                    // Whoever is gone for a moment finds everything as it was left.
                    self.play_from(player, Some(now + AWAY));
                    let reason = crew::tally::words(&format!("{reason:?}"));
                    log.tell(now, &Line::Left { player: player.0, reason });
                }
            }
        }
        if now - self.posted_at >= POSTED_EVERY {
            self.posted_at = now;
            let people = self.server.players().count();
            let bots = self.bots.len() - people.min(self.bots.len());
            self.board.post(&Figures { people, bots, ..Figures::default() });
            if now >= log.next_status() {
                log.tell(now, &self.note(STATUS));
            }
        }
    }

    fn play_from(&mut self, player: PlayerId, from: Option<Time>) {
        if let Some(place) = self.played_from.get_mut(usize::from(player.0)) {
            *place = from;
        }
    }

    /// How the contest stands.
    fn note(&self, event: &'static str) -> Line<'static> {
        let world = self.server.world();
        let (now, contest) = (clock(world), contest(world));
        let people = self.server.players().count();
        let scores = &scores(world, now)[..self.bots.len()];
        let seconds = now / TICKS_PER_SECOND;
        let letters = scores.iter().enumerate().map(|(seat, score)| {
            let is_out = if contest.plays(seat as u8) { "" } else { " (out)" };
            format!("{} {score}{is_out}", letter(seat as u8))
        });
        let letters: Vec<String> = letters.collect();
        let won = match contest.winner {
            Some(seat) => format!("{} has won", letter(seat)),
            None if contest.is_over => "nobody has won".to_owned(),
            None if self.people > 0 => "waiting".to_owned(),
            None => "under way".to_owned(),
        };
        let text = format!(
            "{event}: {people} of {} seats taken | {}:{:02} {won} | {}",
            self.bots.len(),
            seconds / 60,
            seconds % 60,
            letters.join(", ")
        );
        let facts = json!({
            "people": people, "bots": self.bots.len() - people.min(self.bots.len()), "ticks": now,
            "waits_for": self.people, "over": contest.is_over, "winner": contest.winner, "scores": scores,
        });
        Line::Note { event, text, facts }
    }

    fn say_goodbye(&mut self, link: &mut Both) {
        let began = self.clock.now();
        self.server.close(began);
        while self.server.players().next().is_some() && self.clock.now() < began + GOODBYE {
            let now = self.clock.now();
            drive_event_server(&mut self.server, link, now, &mut SystemRandom::new());
            link.wait(self.clock, self.server.next_wake().min(now + LOOKS_EVERY));
        }
    }
}

/// What players of a seat are called, as on their pages.
fn letter(seat: u8) -> char {
    char::from(b'A' + seat.min(SEATS_MAX as u8))
}
