//! `bench rollback`: two players of the arena guess ahead of each other over a bad line: how fast wrong guesses are
//! stepped again, and what is sent; beside ggrs on the same game, the same commands and the same line.

#[cfg(feature = "peers")]
mod ggrs;
mod ours;

use super::{Report, print};
use anyhow::ensure;
use sametick::{Dice, Span};
use sametick_arena::map::MAPS;
use sametick_arena::{Command, Content, Mode};
use serde_json::json;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench rollback
  sametick bench rollback --seconds 20 --ping 150 --loss 0.05 --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each plays, one after the other, in real time: ggrs reads the clock itself
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
    /// Where the present round began: seconds, time spent, ticks stepped; and the most a second of any.
    round: (f64, Duration, u64),
    best: f64,
}

impl Measured {
    /// Ends a round each second: the best counts, the others were disturbed.
    fn close_round(&mut self) {
        let (since, spent, stepped) = self.round;
        if self.seconds - since >= 1.0 {
            let took = self.spent.saturating_sub(spent).as_secs_f64();
            let rate = (self.stepped - stepped) as f64 / took.max(f64::MIN_POSITIVE);
            self.best = self.best.max(rate);
            self.round = (self.seconds, self.spent, self.stepped);
        }
    }

    /// How many ticks are stepped, most of them again, in a second of work: everything that it takes is in it.
    fn resimulated_ticks_per_second(&self) -> f64 {
        self.best
    }

    fn bytes_per_player_per_second(&self) -> f64 {
        self.bytes as f64 / 2.0 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    ensure!((0.0..0.5).contains(&options.loss), "--loss is a share below a half");
    let (_, text) = MAPS[0];
    let content = Content::new(text, Mode::FreeForAll)?;
    let ours = ours::measure(options, &content);
    let mut report = Report {
        name: "rollback",
        options: json!({
            "seconds": options.seconds, "ping": options.ping, "loss": options.loss,
            "depth": DEPTH, "delay": DELAY,
        }),
        seed: options.seed,
        verified: ours.sealed.verified,
        figures: Vec::new(),
    };
    report.add("resimulated_ticks_per_second", ours.plain.resimulated_ticks_per_second());
    report.add("bytes_per_player_per_second", ours.sealed.bytes_per_player_per_second());
    report.add("unsealed_bytes_per_player_per_second", ours.plain.bytes_per_player_per_second());
    report.add("resimulated_share", share(&ours.plain));
    let mut table = format!(
        "{:<24}{:>22}{:>16}{:>14}\n",
        "", "resimulated ticks/s", "bytes/player/s", "stepped again"
    );
    table += &row("sametick, sealed", &ours.sealed);
    table += &row("sametick, unsealed", &ours.plain);
    #[cfg(feature = "peers")]
    {
        let theirs = ggrs::measure(options, &content)?;
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
