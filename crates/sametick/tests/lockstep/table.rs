//! What each lockstep model gives when one line is bad, measured in virtual time: the same numbers on every
//! machine. The table stands in docs/models.md; `SAMETICK_BLESS=1` writes it anew.

use super::sealed::Town;
use crate::tag::{Runner, Wish};
use sametick::lockstep::{Setup, Statistics};
use sametick::network::{Conditions, Loss};
use sametick::{Span, Time};
use std::path::Path;

const WARM_UP: Span = Span::seconds(6);
const SECONDS: u64 = 30;
const PLAYERS: usize = 4;

/// One of the others, and the one with the bad line.
const LOOKED_AT: [(usize, &str); 2] = [(1, "30 ms"), (3, "200 ms, 5 %")];

fn line(ping: u64, loss: f64) -> Conditions {
    let loss = Loss::Random { probability: loss };
    Conditions { delay: Span::micros(ping * 500), loss, ..Conditions::PERFECT }
}

fn rows(name: &str, setup: Setup) -> String {
    let mut town = Town::new(setup, PLAYERS, 7, line(30, 0.0));
    for other in 0..3 {
        let hosts = [town.machines[3].0, town.machines[other].0];
        town.network.set_conditions(hosts[0], hosts[1], line(200, 0.05));
        town.network.set_conditions(hosts[1], hosts[0], line(200, 0.05));
    }
    let mut delays = vec![Vec::new(); PLAYERS];
    let mut asked: Vec<(u16, Option<Time>)> = vec![(0, None); PLAYERS];
    town.run(WARM_UP, Span::millis(1), |town| ask(town, &mut asked, &mut delays));
    let (bytes, before) = (town.bytes.clone(), statistics(&town));
    delays.iter_mut().for_each(Vec::clear);
    town.run(Span::seconds(SECONDS), Span::millis(1), |town| ask(town, &mut asked, &mut delays));
    let after = statistics(&town);
    let mut text = String::new();
    for (index, line) in LOOKED_AT {
        let delay = delays[index].iter().sum::<f64>() / delays[index].len().max(1) as f64;
        let stalls = (after[index].stalls - before[index].stalls) * 60 / SECONDS;
        let stalled = after[index].stalled - before[index].stalled;
        let each =
            stalled.as_millis_f64() / (after[index].stalls - before[index].stalls).max(1) as f64;
        let [up, down] = [0, 1].map(|way| (town.bytes[index][way] - bytes[index][way]) / SECONDS);
        let again = after[index].resimulated_ticks - before[index].resimulated_ticks;
        let cells = [
            name.to_owned(),
            line.to_owned(),
            format!("{delay:.0}"),
            stalls.to_string(),
            format!("{each:.0}"),
            (again / SECONDS).to_string(),
            up.to_string(),
            down.to_string(),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

fn statistics(town: &Town) -> Vec<Statistics> {
    town.machines.iter().map(|(_, mesh)| mesh.game().statistics()).collect()
}

/// Everyone asks for something new every 700 ms, and looks when it is on its own screen.
fn ask(town: &mut Town, asked: &mut [(u16, Option<Time>)], delays: &mut [Vec<f64>]) {
    let now = town.now;
    let stamp = ((now - Time::ZERO).as_micros() / 700_000) as u16;
    for (index, (_, mesh)) in town.machines.iter_mut().enumerate() {
        if asked[index].0 != stamp {
            asked[index] = (stamp, Some(now));
        }
        mesh.command(Wish {
            walk: stamp.is_multiple_of(2),
            aim: f32::from(stamp),
            stamp,
            shout: false,
        });
        let game = mesh.game();
        let own = game.me().and_then(|me| game.shown()?.owned::<Runner>(me));
        if own.is_some_and(|(_, runner)| runner.stamp == stamp)
            && let Some(since) = asked[index].1.take()
        {
            delays[index].push((now - since).as_millis_f64());
        }
    }
}

const BEGIN: &str = "<!-- lockstep: begin -->\n";
const END: &str = "<!-- lockstep: end -->";

#[test]
fn the_table_of_lockstep_models_is_what_is_measured() {
    let head = [
        "model",
        "the player's line",
        "own delay ms",
        "stalls / min",
        "of ms",
        "ticks stepped again / s",
        "up B/s",
        "down B/s",
    ];
    let mut measured = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    Setup::ALL.into_iter().for_each(|(name, setup)| measured += &rows(name, setup));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let document = std::fs::read_to_string(&path).expect("docs/models.md is there");
    let (before, rest) = document.split_once(BEGIN).expect("the table begins");
    let (written, after) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("SAMETICK_BLESS").is_some() {
        std::fs::write(&path, [before, BEGIN, &measured, END, after].concat()).expect("written");
        return;
    }
    assert_eq!(written, measured, "docs/models.md; SAMETICK_BLESS=1 writes it anew");
}
