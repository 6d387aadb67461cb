//! What a server costs from a few players to a thousand: a table, and a picture in plain SVG.

use super::{Options, measure};
use crate::bench::print;
use anyhow::Context;
use sametick_arena::Content;
use serde_json::json;

const PLAYERS: [u32; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1000];

/// One row of the table.
struct Point {
    players: u32,
    /// By column.
    values: [f64; 5],
}

/// What is shown, by the name of its figure, its heading, and what it is multiplied by.
const COLUMNS: [(&str, &str, f64); 5] = [
    ("tick_p50_ms", "tick p50, ms", 1.0),
    ("tick_p99_ms", "tick p99, ms", 1.0),
    ("server_core_percent", "core, %", 1.0),
    ("bytes_per_client_per_second", "kB/s each", 1e-3),
    ("server_bytes_per_client", "memory each, KiB", 1.0 / 1024.0),
];

pub(super) fn run(options: &Options, content: &Content) -> anyhow::Result<()> {
    let (mut points, mut verified) = (Vec::new(), true);
    if !options.json {
        let headings = COLUMNS.map(|(_, heading, _)| format!("{heading:>18}")).concat();
        print(&format!("{:>8}{headings}\n", "players"))?;
    }
    for players in PLAYERS {
        let report = measure(&Options { players, ..options.clone() }, content)?;
        verified &= report.verified;
        let figure = |name: &str| report.figures.iter().find(|(known, _)| known == name);
        let value = |name: &str, times: f64| figure(name).map_or(0.0, |(_, value)| value * times);
        let point = Point { players, values: COLUMNS.map(|(name, _, times)| value(name, times)) };
        if !options.json {
            let values = point.values.map(|value| format!("{value:>18.2}")).concat();
            print(&format!("{players:>8}{values}\n"))?;
        }
        points.push(point);
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, svg(&points))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    if options.json {
        let row = |point: &Point| {
            let names = COLUMNS.iter().map(|(name, _, times)| (*name, *times));
            let figures =
                names.zip(point.values).map(|((name, times), value)| (name, value / times));
            let mut row = json!({ "players": point.players });
            figures.for_each(|(name, value)| row[name] = json!(value));
            row
        };
        let rows: Vec<_> = points.iter().map(row).collect();
        let report =
            json!({ "name": "load", "seed": options.seed, "verified": verified, "curve": rows });
        return print(&format!("{report}\n"));
    }
    let verdict = if verified { "" } else { "not " };
    print(&format!("What clients had was {verdict}what the server showed.\n"))
}

const WIDTH: f64 = 760.0;
const PANEL_HEIGHT: f64 = 190.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 34.0;

/// A panel for each column, both axes logarithmic.
fn svg(points: &[Point]) -> String {
    let height = PANEL_HEIGHT * COLUMNS.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (column, (_, heading, _)) in COLUMNS.iter().enumerate() {
        let values: Vec<(f64, f64)> =
            points.iter().map(|point| (f64::from(point.players), point.values[column])).collect();
        text += &panel(PANEL_HEIGHT * column as f64, heading, &values);
    }
    text + "</svg>\n"
}

fn panel(top: f64, heading: &str, values: &[(f64, f64)]) -> String {
    let floor = |value: f64| value.max(1e-4);
    let low = values.iter().map(|(_, value)| floor(*value)).fold(f64::MAX, f64::min);
    let high = values.iter().map(|(_, value)| floor(*value)).fold(0.0, f64::max);
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    let (first, last) = (f64::from(PLAYERS[0]).log10(), 3.0);
    let x =
        |players: f64| LEFT + (players.log10() - first) / (last - first) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| {
        let share = (floor(value).log10() - low) / (high - low).max(1.0);
        top + TOP + (1.0 - share) * (PANEL_HEIGHT - TOP - BOTTOM)
    };
    let mut text = format!(
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{heading}</text>\n",
        top + 20.0
    );
    for decade in low as i32..=high as i32 {
        let value = 10_f64.powi(decade);
        text += &format!(
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(value) + 4.0,
            y = y(value),
        );
    }
    for (players, value) in values {
        text += &format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"#06c\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{players}</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#06c\">{value:.3}</text>\n",
            top + PANEL_HEIGHT - 12.0,
            y(*value) - 7.0,
            x = x(*players),
            y = y(*value),
        );
    }
    let line: Vec<String> = values
        .iter()
        .map(|(players, value)| format!("{:.1},{:.1}", x(*players), y(*value)))
        .collect();
    let line = line.join(" ");
    text + &format!(
        "<polyline points=\"{line}\" fill=\"none\" stroke=\"#06c\" stroke-width=\"1.5\"/>\n"
    )
}
