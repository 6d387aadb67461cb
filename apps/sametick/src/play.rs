//! `play`: a match on this machine, with bots, and open to whoever is near; or without any network.

use crate::address;
use crate::content::Ground;
use crate::crew::skill;
use crate::host::figures::Standing;
use crate::host::log::{Line, Log};
use crate::host::metrics::Board;
use crate::host::{Host, Plan};
use crate::page::{self, Match};
use crate::recording_file;
use crate::rules::Rules;
use crate::stop::Stop;
use clap::{Args, value_parser};
use sametick::{Alone, PlayerId, Span};
use sametick_arena::Arena;
use sametick_links::{Both, Clock, Link, address_of};
use serde_json::json;
use std::net::SocketAddr;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick                                  a match of seven bots; Ctrl-C ends it
  sametick play --map field --bots 40       a large one
  sametick play --seconds 60                for a minute
  sametick play --model doom1993 --players 4    four machines in lockstep, without a server
  sametick play --record match.sametick     for `sametick replay match.sametick` to play again
  sametick play --alone --seconds 600       ten minutes of play without any network, as fast as it goes
  sametick bots --connect 127.0.0.1:4000    joins it from another terminal";

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) rules: Rules,
    /// Bots
    #[arg(long, value_name = "COUNT", default_value_t = 7)]
    bots: u32,
    /// Where others reach it: 0.0.0.0:4000 lets in the whole network
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4000", value_parser = address::listening)]
    pub(crate) address: SocketAddr,
    #[command(flatten)]
    pub(crate) page: page::Options,
    /// Open the page in this machine's browser
    #[arg(long)]
    open: bool,
    /// End after so many seconds of play; without it, when asked to
    #[arg(long, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seconds: Option<u32>,
    #[command(flatten)]
    recording: recording_file::Wanted,
    /// Play without a server or network, as fast as it goes (a minute of play unless --seconds says otherwise)
    #[arg(long)]
    alone: bool,
    /// With a lockstep model: how many play
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = value_parser!(u8).range(1..=8))]
    pub(crate) players: u8,
    /// With a lockstep model: how many of them on this machine, as bots (all, unless they join somebody else's game)
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u8).range(1..=8))]
    pub(crate) here: Option<u8>,
    /// With a lockstep model: join the game of whoever is there
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) join: Option<String>,
    /// Tell everything as JSON, an object a line
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(setup) = options.rules.model.lockstep {
        return crate::lockstep::run(options, setup);
    }
    options.rules.seat(options.bots)?;
    let rates = options.rules.rates()?;
    let content = options.rules.content()?;
    let stop = Stop::on_signals()?;
    if options.alone {
        return play_alone(options, &stop);
    }
    let link = address::bind(options.address, "--address")?;
    let bound = address_of(link.local());
    let near = address::nearby(bound);
    let board = Board::default();
    let facts = options.rules.facts(&content, &rates);
    let web = options.page.open(true, Match { facts, board: board.clone(), key: None })?;
    let pages = web.as_ref().map(page::addresses).unwrap_or_default();
    let what = options.rules.text(&content, &rates);
    let what = format!("{what}; join with `sametick bots --connect {near}`");
    let crew = (options.bots > 0).then(|| options.rules.crew(&content, options.bots, bound, None));
    let plan = Plan {
        content,
        rates,
        seed: options.rules.seed,
        players_max: options.rules.players_max as usize,
        key: None,
        link: Both::new(link, web),
        crew,
        lasts: options.seconds.map(|seconds| Span::seconds(seconds.into())),
        recording: options.recording.open(&options.rules.configuration())?,
    };
    if let Some(page) = pages.first().filter(|_| options.open)
        && !page::open_browser(page)
    {
        eprintln!("no browser could be started: open {page} in one");
    }
    let listening = Line::Listening { address: bound.to_string(), what, metrics: None, pages };
    Host::new(plan, board).run(listening, &stop, &mut Log::new(options.json));
    Ok(())
}

/// Without being told otherwise, for so long.
const ALONE_SECONDS: u32 = 60;

fn play_alone(options: &Options, stop: &Stop) -> anyhow::Result<()> {
    let rules = &options.rules;
    let (ground, clock) = (Ground::new(rules.content()?), Clock::start());
    let mut game = Alone::<Arena>::new(ground.content.clone(), rules.seed, rules.tick_length());
    let mut bots: Vec<_> = (0..options.bots)
        .map(|bot| {
            let player = PlayerId(bot as u16);
            game.join(player);
            (player, skill::bot(rules.skill, rules.seed, bot as usize, ground.ways()))
        })
        .collect();
    let seconds = options.seconds.unwrap_or(ALONE_SECONDS);
    let (ticks, dt) =
        (u64::from(seconds) * u64::from(rules.tick_rate), 1.0 / rules.tick_rate as f32);
    let mut stepped = 0;
    while stepped < ticks && !stop.is_asked() {
        let world = game.world();
        let commands: Vec<_> = bots
            .iter_mut()
            .map(|(player, bot)| (*player, bot.think(world, *player, &ground.content, dt)))
            .collect();
        game.step(commands)?;
        stepped += 1;
    }
    let standing = Standing::of(game.world());
    let (played, took) =
        (stepped as f64 * f64::from(dt), clock.now().as_seconds_f64().max(f64::MIN_POSITIVE));
    if options.json {
        let report = json!({
            "name": "alone", "ticks": stepped, "seconds": played, "took_seconds": took,
            "match": standing.json(),
        });
        return crate::print(&format!("{report}\n"));
    }
    crate::print(&format!(
        "{stepped} ticks, {played:.0} s of play, took {took:.1} s: {:.0} times as fast as time\n{}",
        played / took,
        standing.table()
    ))
}
