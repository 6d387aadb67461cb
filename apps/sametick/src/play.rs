//! `play`: a match on this machine, with bots, and open to whoever is near; or without any network.

use crate::address;
use crate::content::Ground;
use crate::crew::skill;
use crate::host::figures::Standing;
use crate::host::log::Log;
use crate::islands::{self, GameName};
use crate::matches::{self, Matches, Wanted};
use crate::page;
use crate::stop::Stop;
use anyhow::bail;
use clap::{Args, value_parser};
use sametick::{Alone, PlayerId, Span};
use sametick_arena::Arena;
use sametick_links::Clock;
use serde_json::json;
use std::net::SocketAddr;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick                                  a match of seven bots; Ctrl-C ends it
  sametick play --map field --bots 40       a large one
  sametick play --also corners,field        three matches, among which browsers choose
  sametick play --seconds 60                for a minute
  sametick play --model doom1993 --players 4    four machines in lockstep, without a server
  sametick play --model doom1993 --join 192.168.1.7:4000            one more machine in somebody's game
  sametick play --model doom1993 --join 192.168.1.7:4000 --watch    one that only watches it
  sametick play --game islands --players 6 --open    islands: you and five bots, until others come
  sametick play --game islands --bots 2 --page 0.0.0.0:4080         for two of the network, and two bots
  sametick play --game islands --join tcp://192.168.1.7:4000        a bot in somebody's islands, over TCP
  sametick play --record match.sametick     for `sametick replay match.sametick` to play again
  sametick play --alone --seconds 600       ten minutes of play without any network, as fast as it goes
  sametick bots --connect 127.0.0.1:4000    joins it from another terminal";

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) islands: islands::Options,
    #[command(flatten)]
    pub(crate) matches: matches::Options,
    /// Bots; with --game islands how many seats are not waited for (all but one)
    #[arg(long, value_name = "COUNT", default_value_t = 7)]
    pub(crate) bots: u32,
    /// Where others reach it: 0.0.0.0:4000 lets in the whole network; without it 127.0.0.1:4000, or a free port there
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address::listening)]
    pub(crate) address: Option<SocketAddr>,
    /// Open the page in this machine's browser
    #[arg(long)]
    pub(crate) open: bool,
    /// End after so many seconds of play; without it, when asked to
    #[arg(long, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seconds: Option<u32>,
    /// Play without a server or network, as fast as it goes (a minute of play unless --seconds says otherwise)
    #[arg(long, conflicts_with_all = NOT_ALONE)]
    alone: bool,
    /// With a lockstep model, or --game islands: how many play
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = value_parser!(u8).range(1..=8))]
    pub(crate) players: u8,
    /// With a lockstep model: how many of them on this machine, as bots (all, unless they join somebody else's game)
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u8).range(1..=8))]
    pub(crate) here: Option<u8>,
    /// With a lockstep model: join the game of whoever is there. With --game islands: join that contest as a bot, over
    /// UDP, or over TCP with tcp:// before the address; --players, --seed and --war are those of the contest
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) join: Option<String>,
    /// With a lockstep model: only watch the game of whoever is there
    #[arg(long, requires = "join")]
    pub(crate) watch: bool,
    /// The options that somebody has written down.
    #[arg(skip)]
    pub(crate) given: Vec<String>,
    /// Tell everything as JSON, an object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What means nothing without a server.
const NOT_ALONE: [&str; 9] =
    ["also", "page", "webtransport", "open", "address", "record", "codec", "tables", "foresee"];
/// What means nothing in lockstep, and what says the same there; and what means nothing under a server.
const ONLY_SERVED: [(&str, &str); 9] = [
    ("bots", "--players says how many play, and --here how many of them here"),
    ("alone", "to play without any network, leave out --model"),
    ("also", "there is one game"),
    ("players-max", "there are at most 8, and the game begins with --players"),
    ("snapshot-rate", "there are no snapshots"),
    ("codec", "there are no snapshots"),
    ("tables", "there are no snapshots"),
    ("foresee", "there are no snapshots"),
    ("record-what", "only commands travel, so --record keeps all there is"),
];
const ONLY_IN_LOCKSTEP: [&str; 4] = ["players", "here", "join", "watch"];

impl Options {
    /// Nothing that somebody asks for is passed over in silence.
    fn check(&self) -> anyhow::Result<()> {
        let is_given = |name: &str| self.given.iter().any(|given| given == name);
        if let Some(name) = islands::ONLY_HERE.into_iter().find(|name| is_given(name)) {
            bail!("--{name} is for --game islands");
        }
        let model = self.matches.rules.model;
        if model.lockstep.is_some() {
            let useless = ONLY_SERVED.into_iter().find(|(name, _)| is_given(name));
            if let Some((name, instead)) = useless {
                bail!(
                    "--{name} means nothing with --model {}, which is lockstep: {instead}",
                    model.name
                );
            }
            return Ok(());
        }
        if let Some(name) = ONLY_IN_LOCKSTEP.into_iter().find(|name| is_given(name)) {
            bail!(
                "--{name} is for lockstep, and --model {} has a server: choose a model such as doom1993, \
                 or join a server with `sametick bots --connect`",
                model.name
            );
        }
        Ok(())
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.islands.game == GameName::Islands {
        return islands::run(options);
    }
    options.check()?;
    if let Some(setup) = options.matches.rules.model.lockstep {
        return crate::lockstep::run(options, setup);
    }
    let stop = Stop::on_signals()?;
    if options.alone {
        return play_alone(options, &stop);
    }
    let matches = Matches::open(
        &options.matches,
        &Wanted {
            bots: options.bots,
            address: options.address,
            key: None,
            metrics: None,
            lasts: options.seconds.map(|seconds| Span::seconds(seconds.into())),
            invites: true,
        },
    )?;
    if options.open {
        let Some(page) = matches.page() else {
            bail!("there is no page to --open with --page off")
        };
        if !page::open_browser(page) {
            eprintln!("no browser could be started: open {page} in one");
        }
    }
    matches.run(&stop, &mut Log::new(options.json));
    Ok(())
}

/// Without being told otherwise, for so long.
const ALONE_SECONDS: u32 = 60;

fn play_alone(options: &Options, stop: &Stop) -> anyhow::Result<()> {
    let rules = &options.matches.rules;
    rules.seat(options.bots)?;
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
