//! What each model gives on each line, measured in virtual time: the same numbers on every machine. The
//! table stands in docs/models.md; `SAMETICK_BLESS=1` writes it anew.

use super::party::{Party, line, own, pace};
use super::range::{Place, Wish};
use sametick::{Model, Span, Time};
use std::fmt::Write;
use std::path::Path;

const WARM_UP: Time = Time::from_seconds(3);
const SECONDS: u64 = 20;
const PINGS: [u64; 4] = [0, 50, 100, 200];
const LOSSES: [f64; 3] = [0.0, 0.02, 0.1];

/// What was measured of one model on one line.
#[derive(Default)]
struct Measured {
    own_delays: Vec<f64>,
    ages: Vec<f64>,
    distances: Vec<f64>,
    corrections: Vec<f64>,
    shots: usize,
    refused: usize,
    bytes: [u64; 2],
}

fn measure(model: Model, ping: u64, loss: f64) -> Measured {
    let mut party = Party::new(model.rates, &[model.view; 2], Place::default(), &line(ping, loss));
    let mut measured = Measured::default();
    let (mut asked, mut before) = (None, [0, 0]);
    party.run(Span::seconds(3 + SECONDS), |party| {
        let wish = pace(party.now, 700);
        party.clients[1].command(wish);
        let aim = party.shown(0, 1).map(|runner| runner.x);
        let millis = (party.now - Time::ZERO).as_micros() / 1000;
        let fire = party.now >= WARM_UP && millis % 100 < 17 && aim.is_some();
        party.clients[0].command(Wish { fire, aim: aim.unwrap_or(0.0), ..Wish::default() });
        if party.now < WARM_UP {
            party.server.take_verdicts();
            party.corrections[1].clear();
            before = party.bytes;
            return;
        }
        // From the turn that the player asks for, to the turn on its own screen.
        if asked.is_none_or(|(stamp, _)| stamp != wish.stamp) {
            asked = Some((wish.stamp, Some(party.now)));
        }
        let seen = party.shown(1, 1).map(|runner| runner.stamp);
        if let Some((stamp, at @ Some(_))) = &mut asked
            && seen == Some(*stamp)
        {
            let since = at.take().unwrap_or_default();
            measured.own_delays.push((party.now - since).as_micros() as f64 / 1000.0);
        }
        if let (Some(shown), Some(truth)) = (party.shown(0, 1), party.truth(1)) {
            measured.ages.push(f64::from(truth.when - shown.when) * 16.667);
            measured.distances.push(f64::from((truth.x - shown.x).abs()));
        }
    });
    measured.bytes = [0, 1].map(|way| (party.bytes[way] - before[way]) / SECONDS);
    // Who does not predict has nothing to correct.
    if !model.view.predicts {
        party.corrections[1].clear();
    }
    measured.corrections = party.corrections[1].iter().map(|metres| f64::from(*metres)).collect();
    for verdict in party.server.take_verdicts() {
        measured.shots += 1;
        measured.refused += usize::from(verdict.hit.is_none());
    }
    assert!(own(&party.clients[0]).is_some(), "{} at {ping} ms: nobody played", model.name);
    measured
}

fn mean(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value) / (values.len().max(1)) as f64
}

fn percentile_95(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * 95 / 100).copied().unwrap_or_default()
}

fn row(model: Model, ping: u64, loss: f64) -> String {
    let mut measured = measure(model, ping, loss);
    let corrections = measured.corrections.len() as f64 * 60.0 / SECONDS as f64;
    let refused = 100.0 * measured.refused as f64 / measured.shots.max(1) as f64;
    let cells = [
        model.name.to_string(),
        ping.to_string(),
        format!("{:.0}", loss * 100.0),
        format!("{:.0}", mean(&measured.own_delays)),
        format!("{:.0}", mean(&measured.ages)),
        format!("{:.2}", mean(&measured.distances)),
        format!("{:.2}", percentile_95(&mut measured.distances)),
        format!("{corrections:.0}"),
        format!("{:.2}", mean(&measured.corrections)),
        format!("{refused:.0}"),
        measured.bytes[0].to_string(),
        measured.bytes[1].to_string(),
    ];
    format!("| {} |", cells.join(" | "))
}

fn table() -> String {
    let head = [
        "model",
        "ping ms",
        "loss %",
        "own delay ms",
        "others' age ms",
        "off m",
        "off m, 95 %",
        "corrections / min",
        "of m",
        "shots refused %",
        "up B/s",
        "down B/s",
    ];
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    let cases: Vec<(Model, u64, f64)> = Model::ALL
        .into_iter()
        .flat_map(|model| PINGS.map(|ping| (model, ping)))
        .flat_map(|(model, ping)| LOSSES.map(|loss| (model, ping, loss)))
        .collect();
    let halves: Vec<String> = std::thread::scope(|scope| {
        let work = |cases: &'_ [(Model, u64, f64)]| {
            cases.iter().map(|(model, ping, loss)| row(*model, *ping, *loss) + "\n").collect()
        };
        let (first, second) = cases.split_at(cases.len() / 2);
        let threads = [scope.spawn(move || work(first)), scope.spawn(move || work(second))];
        threads.into_iter().map(|thread| thread.join().expect("a row is measured")).collect()
    });
    let _ = write!(text, "{}", halves.concat());
    text
}

/// The README's part of it: one ping and loss, and what most want to know.
fn in_short(table: &str) -> String {
    let head = "| model | own delay ms | others' age ms | shots refused % | kB/s down | kB/s up |";
    let mut text = format!("{head}\n|{}\n", "---|".repeat(6));
    for row in table.lines() {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [model, "100", "2", own, others, _, _, _, _, refused, up, down] = cells[..] else {
            continue;
        };
        let [up, down] = [up, down].map(|bytes| bytes.parse::<f64>().expect("bytes") / 1000.0);
        let _ =
            writeln!(text, "| `{model}` | {own} | {others} | {refused} | {down:.1} | {up:.1} |");
    }
    text
}

const BEGIN: &str = "<!-- table: begin -->\n";
const END: &str = "<!-- table: end -->";

/// Compares what stands in a document with what was measured, or writes it.
fn check(document: &str, measured: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = text.split_once(BEGIN).expect("the table begins");
    let (written, after) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("SAMETICK_BLESS").is_some() {
        std::fs::write(&path, [before, BEGIN, measured, END, after].concat()).expect("written");
        return;
    }
    for (line, (written, measured)) in written.lines().zip(measured.lines()).enumerate() {
        assert_eq!(written, measured, "row {line} of {document}; SAMETICK_BLESS=1 writes it anew");
    }
    assert_eq!(written, measured, "{document}");
}

#[test]
fn the_table_of_models_is_what_is_measured() {
    let measured = table();
    check("docs/models.md", &measured);
    check("README.md", &in_short(&measured));
}
