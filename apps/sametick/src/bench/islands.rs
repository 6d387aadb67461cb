//! `bench islands`: hundreds of units fight in a contest of bots under event locking, beside the same contest under
//! snapshots and in lockstep: what a server and each client send.

use super::{Report, print};
use sametick::Span;
use sametick::network::{Conditions, Loss};
use sametick_lab::contest::{Contest, Way};
use serde_json::json;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench islands
  sametick bench islands --seconds 900 --seed 7 --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long the contest is, in the game's time
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(121..=1500))]
    seconds: u32,
    /// How many play
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=8))]
    players: u8,
    /// Milliseconds there and back, for all but the last player, who has 500 and loses a tenth
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(0..=400))]
    ping: u32,
    /// Bytes a second that the event-locked server may send to all together, seals included; 0 for as many as it takes
    #[arg(long, default_value_t = 860)]
    budget: u32,
    /// What the map and the bots follow from
    #[arg(long, default_value_t = 2)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

impl Options {
    /// Everyone has the same line, but for the last, whose is bad.
    fn contest(&self) -> Contest {
        let line = |ping: u32, loss: f64| Conditions {
            delay: Span::micros(u64::from(ping) * 500),
            loss: Loss::Random { probability: loss },
            ..Conditions::PERFECT
        };
        let mut lines =
            vec![[line(self.ping, 0.0), line(self.ping, 0.0)]; usize::from(self.players)];
        lines.pop();
        lines.push([line(500, 0.1), line(500, 0.1)]);
        Contest {
            seconds: self.seconds,
            warm_up_seconds: 60,
            players: self.players,
            seed: self.seed,
            budget: Some(self.budget).filter(|budget| *budget > 0),
            lines,
        }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let contest = options.contest();
    let runs = [
        ("", contest.play(Way::EventLocked)),
        ("snapshots_", contest.play(Way::Snapshots)),
        ("lockstep_", contest.play(Way::FrameLocked)),
    ];
    let mut report = Report {
        name: "islands",
        options: json!({
            "seconds": options.seconds, "players": options.players, "ping": options.ping, "budget": options.budget,
        }),
        seed: options.seed,
        verified: runs.iter().all(|(_, seen)| seen.verified),
        figures: Vec::new(),
    };
    let mut table = format!(
        "{:<16}{:>12}{:>12}{:>12}{:>10}{:>12}{:>8}{:>8}{:>8}\n",
        "",
        "server B/s",
        "client B/s",
        "peak B",
        "seals B/s",
        "headers B/s",
        "units",
        "fire",
        "stall"
    );
    report.add("players", f64::from(options.players));
    for (prefix, seen) in &runs {
        let traffic = seen.traffic.figures();
        let others = [
            ("units_alive_min", seen.units_alive_min as f64),
            ("units_under_fire_mean", seen.units_under_fire_mean),
            ("stall_ticks_others_max", f64::from(seen.stall_ticks_others_max)),
        ];
        for (name, figure) in traffic.iter().chain(&others).chain(&seen.answers) {
            report.add(format!("{prefix}{name}"), *figure);
        }
        let name = if prefix.is_empty() { "event locking" } else { prefix.trim_end_matches('_') };
        table += &format!(
            "{name:<16}{:>12.0}{:>12.0}{:>12.0}{:>10.0}{:>12.0}{:>8}{:>8.0}{:>8}\n",
            traffic[0].1,
            traffic[1].1,
            traffic[2].1,
            traffic[6].1,
            traffic[7].1,
            seen.units_alive_min,
            seen.units_under_fire_mean,
            seen.stall_ticks_others_max,
        );
    }
    table += "Worst minute after the first, to all together, seals counted; headers of IP and UDP are besides.\n";
    if options.json { report.print_json() } else { print(&table) }
}
