//! `bench islands`: hundreds of units fight in a contest of bots under event locking, beside the same contest under
//! snapshots and in lockstep: what a server and each client send.

mod event;
mod locked;
mod snapshots;
mod traffic;

use super::{Report, print};
use sametick::network::{Conditions, Host, Loss, Network};
use sametick::{Span, World};
use sametick_islands::{Content, Entity, Opening, TICK, Unit};
use serde_json::json;
use traffic::Traffic;

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

/// What was seen of one contest.
struct Seen {
    traffic: Traffic,
    units_alive_min: usize,
    units_under_fire_mean: f64,
    /// The longest that a screen other than the last player's stood still.
    stall_ticks_others_max: u32,
    /// Whether all worlds agreed, every second after the first minute.
    verified: bool,
    /// How long requests waited for their answers, where there are answers.
    answers: Vec<(&'static str, f64)>,
}

impl Options {
    fn content(&self) -> Content {
        // It must not end before the last second is counted.
        Content::new(self.seed, self.players, Opening::War).lasting(self.seconds + 60)
    }

    /// A host for the server, and one for each player; the last has a bad line.
    fn network(&self) -> (Network, Host, Vec<Host>) {
        let line = |ping: u32, loss: f64| Conditions {
            delay: Span::micros(u64::from(ping) * 500),
            loss: Loss::Random { probability: loss },
            ..Conditions::PERFECT
        };
        let mut network = Network::new(self.seed);
        network.set_default_conditions(line(self.ping, 0.0));
        let server = network.add_host();
        let hosts: Vec<Host> = (0..self.players).map(|_| network.add_host()).collect();
        if let Some(last) = hosts.last() {
            network.set_conditions(server, *last, line(500, 0.1));
            network.set_conditions(*last, server, line(500, 0.1));
        }
        (network, server, hosts)
    }
}

/// Counts units once a second, after the first minute.
#[derive(Default)]
struct Census {
    least: Option<usize>,
    under_fire: Vec<usize>,
}

impl Census {
    fn count(&mut self, world: &World<Entity>) {
        let alive = world.all::<Unit>().count();
        self.least = Some(self.least.map_or(alive, |least| least.min(alive)));
        let under_fire = world.all::<Unit>().filter(|(_, unit)| unit.health.loss() > 0);
        self.under_fire.push(under_fire.count());
    }

    fn under_fire_mean(&self) -> f64 {
        self.under_fire.iter().sum::<usize>() as f64 / self.under_fire.len().max(1) as f64
    }
}

/// When each screen last went on.
struct Screens(Vec<(u32, Span)>);

impl Screens {
    fn new(count: usize) -> Self {
        Self(vec![(0, Span::ZERO); count])
    }

    /// Takes down a screen's tick; says for how many whole ticks it stood still before it went on.
    fn look(&mut self, at: Span, client: usize, tick: u32) -> u32 {
        let (before, since) = self.0[client];
        if tick <= before {
            return 0;
        }
        self.0[client] = (tick, at);
        let stood = if before == 0 { Span::ZERO } else { at - since };
        // One tick it is meant to stand, and between two looks nobody knows.
        let still = stood - TICK - LOOK;
        still.as_micros().div_ceil(TICK.as_micros()) as u32
    }
}

/// How often everything is driven.
const LOOK: Span = Span::millis(10);

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let runs = [
        ("", event::play(options)),
        ("snapshots_", snapshots::play(options)),
        ("lockstep_", locked::play(options)),
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
