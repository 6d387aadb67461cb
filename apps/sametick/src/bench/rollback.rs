//! `bench rollback`: two players of the arena guess ahead of each other over a bad line: how fast wrong guesses are
//! stepped again, and what is sent; beside ggrs on the same game, the same commands and the same line.

#[cfg(feature = "peers")]
mod ggrs;
mod ours;

use super::{Report, print};
use anyhow::{Context, ensure};
use sametick::{Dice, Span};
use sametick_arena::map::MAPS;
use sametick_arena::{Command, Content, Mode};
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench rollback
  sametick bench rollback --seconds 20 --ping 150 --loss 0.05 --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long both play, in real time: ggrs reads the clock itself
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Milliseconds there and back
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=200))]
    ping: u32,
    /// The share of datagrams that is lost
    #[arg(long, default_value_t = 0.02)]
    loss: f64,
    /// What commands and losses follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

const TICK: Span = Span::micros(16_667);
/// How many ticks are guessed at most, and how late commands take effect; the same for both.
const DEPTH: u8 = 8;
const DELAY: u8 = 1;

/// How long it may take to begin, and be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was measured of one side.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// Ticks that were stepped again, by both players.
    resimulated: u64,
    /// The time that all of the library's and the game's work took, by both players.
    spent: Duration,
    /// All ticks that were stepped.
    stepped: u64,
    /// What both players sent.
    bytes: u64,
    /// For how long was played.
    seconds: f64,
    verified: bool,
}

impl Measured {
    /// How many ticks are stepped, most of them again, in a second of work: everything that it takes is in it.
    fn resimulated_ticks_per_second(&self) -> f64 {
        self.stepped as f64 / self.spent.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn bytes_per_player_per_second(&self) -> f64 {
        self.bytes as f64 / 2.0 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// Two players who are timed, frame by frame.
trait Pair {
    fn frame(&mut self) -> anyhow::Result<()>;
    /// What was measured since the game began, if it has.
    fn measured(&self) -> Option<Measured>;
}

/// Has all play at once, a frame of one after a frame of the other, and now this one first and now that one: so
/// whatever else the machine does, and whatever the one leaves in the caches, meets both.
fn play(options: &Options, pairs: &mut [&mut dyn Pair]) -> anyhow::Result<()> {
    let frame = Duration::from_micros(TICK.as_micros());
    let (mut next, patience) = (Instant::now(), Instant::now() + PATIENCE);
    let has_played = |pair: &&mut dyn Pair| {
        pair.measured().is_some_and(|measured| measured.seconds >= f64::from(options.seconds))
    };
    while !pairs.iter().all(has_played) {
        let has_begun = pairs.iter().all(|pair| pair.measured().is_some());
        ensure!(has_begun || Instant::now() < patience, "they did not begin to play");
        pairs.reverse();
        for pair in pairs.iter_mut() {
            pair.frame()?;
        }
        next += frame;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    ensure!((0.0..0.5).contains(&options.loss), "--loss is a share below a half");
    let (_, text) = MAPS[0];
    let content = Content::new(text, Mode::FreeForAll)?;
    let sealed = ours::sealed(options, &content);
    let mut ours = ours::Plain::new(options, &content);
    #[cfg(feature = "peers")]
    let mut theirs = ggrs::Theirs::new(options, &content)?;
    play(
        options,
        &mut [
            &mut ours,
            #[cfg(feature = "peers")]
            &mut theirs,
        ],
    )?;
    let plain = ours.measured().context("it never began")?;
    let mut report = Report {
        name: "rollback",
        options: json!({
            "seconds": options.seconds, "ping": options.ping, "loss": options.loss,
            "depth": DEPTH, "delay": DELAY,
        }),
        seed: options.seed,
        verified: sealed.verified && plain.verified,
        figures: Vec::new(),
    };
    report.add("resimulated_ticks_per_second", plain.resimulated_ticks_per_second());
    report.add("bytes_per_player_per_second", sealed.bytes_per_player_per_second());
    report.add("unsealed_bytes_per_player_per_second", plain.bytes_per_player_per_second());
    report.add("resimulated_share", share(&plain));
    let mut table = format!(
        "{:<24}{:>22}{:>16}{:>14}\n",
        "", "resimulated ticks/s", "bytes/player/s", "stepped again"
    );
    table += &row("sametick, sealed, alone", &sealed);
    table += &row("sametick, unsealed", &plain);
    #[cfg(feature = "peers")]
    {
        let theirs = theirs.measured().context("it never began")?;
        report.verified &= theirs.verified;
        report.add("ggrs_resimulated_ticks_per_second", theirs.resimulated_ticks_per_second());
        report.add("ggrs_bytes_per_player_per_second", theirs.bytes_per_player_per_second());
        report.add("ggrs_resimulated_share", share(&theirs));
        table += &row("ggrs, unsealed", &theirs);
    }
    if options.json { report.print_json() } else { print(&table) }
}

/// Which share of all steps was taken again.
fn share(measured: &Measured) -> f64 {
    measured.resimulated as f64 / measured.stepped.max(1) as f64
}

fn row(name: &str, measured: &Measured) -> String {
    format!(
        "{name:<24}{:>22.0}{:>16.0}{:>13.1}%\n",
        measured.resimulated_ticks_per_second(),
        measured.bytes_per_player_per_second(),
        share(measured) * 100.0
    )
}

/// What a player asks for at a tick: looks about all the time, as people do, and changes its mind now and then.
fn command(seed: u64, player: u64, tick: u32) -> Command {
    let mood = Dice::new(seed ^ u64::from(tick / 20), player).roll_u64();
    let mut dice = Dice::new(seed ^ u64::from(tick), 100 + player);
    let mut command = Command {
        yaw: tick as f32 * 0.02 * if mood & 1 == 0 { 1.0 } else { -1.0 },
        pitch: (dice.unit() as f32 - 0.5) * 0.02,
        forward: if mood & 2 == 0 { 7 } else { -7 },
        right: (mood >> 8) as i8 % 8,
        jump: mood & 4 == 0,
        fire: mood & 0x18 == 0,
        ..Command::default()
    };
    // As it is on the wire.
    let _ = sametick::settle(&mut command);
    command
}
