//! The net graph: the last six seconds of a connection as four strips, and its numbers with what each means. The
//! library measures; this says where on a sheet of 440 by 240 dots each stroke goes. Knows no browser.

use sametick::Time;
use sametick::health::{Fate, Figures, Health, KEPT};

/// The size of the sheet.
pub(crate) const SIZE: [f32; 2] = [440.0, 240.0];
/// How high a strip is, with the gap below it.
const STRIP: f32 = 60.0;
/// What is left of that for strokes.
const INNER: f32 = 40.0;
/// A strip's name stands above its strokes.
const TITLE: f32 = 15.0;
/// What a full strip means.
const BYTES_FULL: f32 = 1200.0;
const VIEW_MS_FULL: f32 = 120.0;
const MARGIN_MS_FULL: f32 = 60.0;
const CORRECTION_CM_FULL: f32 = 50.0;

/// What a stroke is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Ink,
    Slate,
    Rule,
    Own,
    Enemy,
    /// Slanted lines of slate.
    Hatched,
}

/// One stroke of the graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stroke {
    /// Left, top, width, height.
    Bar([f32; 4], Paint),
    /// A cross around a place: what was lost.
    Cross([f32; 2]),
    /// A dot around a place: what was repeated.
    Dot([f32; 2]),
    /// Words from a place on.
    Words([f32; 2], &'static str),
}

/// All strokes of the graph at a moment.
pub(crate) fn strokes(health: &Health, now: Time) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    let titles = [
        "snapshots, 0–1200 bytes; ✕ lost, hatched late",
        "view: below, ms between two snapshots; above, ms past the last",
        "commands: ms early at the server; below, late; ● repeated",
        "corrections, 0–50 cm",
    ];
    for (strip, title) in titles.into_iter().enumerate() {
        strokes.push(Stroke::Words([0.0, strip as f32 * STRIP + 11.0], title));
        let line = if strip == 1 || strip == 2 { middle(strip) } else { bottom(strip) };
        strokes.push(Stroke::Bar([0.0, line, SIZE[0], 1.0], Paint::Rule));
    }
    for (at, bar) in health.updates().iter() {
        let x = across(now, at);
        match bar.fate {
            Fate::Lost => strokes.push(Stroke::Cross([x, bottom(0) - 8.0])),
            Fate::Arrived => {
                let height = share(bar.update.bytes as f32, BYTES_FULL) * INNER;
                strokes.push(up(x, bottom(0), height.max(1.0), Paint::Slate));
            }
            Fate::Late => {
                let height = share(bar.update.bytes as f32, BYTES_FULL) * INNER;
                strokes.push(up(x, bottom(0), height.max(6.0), Paint::Hatched));
            }
        }
        if let Some(margin) = bar.update.margin_ms {
            strokes.push(around(
                x,
                middle(2),
                margin as f32 / MARGIN_MS_FULL,
                [Paint::Own, Paint::Enemy],
            ));
        }
        if bar.update.repeated > 0 {
            strokes.push(Stroke::Dot([x, middle(2)]));
        }
        let centimetres = bar.update.correction * 100.0;
        if centimetres > 0.05 {
            let height = share(centimetres, CORRECTION_CM_FULL) * INNER;
            strokes.push(up(x, bottom(3), height.max(1.5), Paint::Ink));
        }
    }
    for (at, frame) in health.frames().iter() {
        if let Some(screen) = frame.screen {
            let part = screen.past_newest_ms as f32 / VIEW_MS_FULL;
            strokes.push(around(across(now, at), middle(1), part, [Paint::Enemy, Paint::Slate]));
        }
    }
    strokes
}

/// A number of the graph: what it is called, what it is, and what it means.
pub(crate) type Number = (&'static str, String, &'static str);

/// The numbers beside the strips.
pub(crate) fn numbers(figures: &Figures) -> Vec<Number> {
    let ms = |value: f64| format!("{value:.0} ms");
    let or_none = |value: Option<f64>| value.map_or("–".to_owned(), ms);
    let spread = |mean: f64, worst: f64| {
        let digits = usize::from(worst < 100.0);
        format!("{mean:.digits$}, {worst:.digits$} ms")
    };
    vec![
        ("ping", or_none(figures.ping_ms), "Round trip: the median of two seconds"),
        (
            "jitter",
            format!("±{}", ms(figures.jitter_ms)),
            "95th percentile of round trips less their median",
        ),
        (
            "lost ↓ ↑",
            format!("{:.1} {:.1} %", figures.loss_down_percent, figures.loss_up_percent),
            "Updates that never came, and packets of ours that the server has not seen",
        ),
        (
            "rate ↓ ↑",
            format!(
                "{:.1} {:.1} kB/s",
                figures.in_bytes_per_second / 1e3,
                figures.out_bytes_per_second / 1e3
            ),
            "All bytes each way, with what the layers below add",
        ),
        (
            "margin, target",
            figures.margin_ms.map_or("–".into(), |margin| {
                format!("{margin:.0}, {:.0} ms", figures.target_margin_ms)
            }),
            "How early our commands are at the server, and are meant to be",
        ),
        (
            "late, repeated",
            format!("{:.1} {:.1} /s", figures.late_per_second, figures.repeated_per_second),
            "Updates that told of a late command, and commands that the server had to repeat",
        ),
        (
            "snapshot gap",
            spread(figures.gap_ms.mean, figures.gap_ms.worst),
            "Time between two updates: mean, worst",
        ),
        ("age of others", or_none(figures.others_age_ms), "How old what you see of the others is"),
        (
            "last rewind",
            or_none(figures.rewound_ms),
            "How far back the server judged our last command",
        ),
        (
            "frame",
            spread(figures.frame_ms.mean, figures.frame_ms.worst),
            "Time a frame takes: mean, worst",
        ),
        (
            "re-prediction",
            spread(figures.repredicted_ms.mean, figures.repredicted_ms.worst),
            "Time a frame spends on stepping again what was predicted: mean, worst",
        ),
        (
            "server tick",
            figures.server_tick_ms.map_or("–".into(), |tick| spread(tick.mean, tick.worst)),
            "Time the server takes for a tick: mean, worst",
        ),
    ]
}

fn across(now: Time, at: Time) -> f32 {
    let ago = (now - at).as_seconds_f64() / KEPT.as_seconds_f64();
    (1.0 - ago as f32) * (SIZE[0] - 3.0)
}

fn bottom(strip: usize) -> f32 {
    strip as f32 * STRIP + TITLE + INNER
}

fn middle(strip: usize) -> f32 {
    strip as f32 * STRIP + TITLE + INNER / 2.0
}

fn share(value: f32, full: f32) -> f32 {
    (value / full).clamp(0.0, 1.0)
}

fn up(x: f32, from: f32, height: f32, paint: Paint) -> Stroke {
    Stroke::Bar([x, from - height, 2.0, height], paint)
}

/// Upwards from a line, or downwards if it is less than nothing; each in its own paint.
fn around(x: f32, line: f32, part: f32, [above, below]: [Paint; 2]) -> Stroke {
    let height = part.abs().min(1.0) * INNER / 2.0;
    if part >= 0.0 {
        Stroke::Bar([x, line - height, 1.5, height.max(1.0)], above)
    } else {
        Stroke::Bar([x, line, 1.5, height.max(1.0)], below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::health::{Link, Observation, Screen, Update, Work};
    use sametick::{Span, Tick};

    fn watched() -> (Health, Time) {
        let mut health = Health::new(Link::Datagrams);
        let mut now = Time::from_seconds(1);
        for frame in 0..600_u32 {
            now += Span::millis(16);
            let update = Update {
                at: now,
                tick: Tick(frame),
                bytes: 300 + frame % 7 * 100,
                missing: u32::from(frame % 60 == 30),
                margin_ms: Some(if frame % 90 == 3 { -20.0 } else { 12.0 }),
                repeated: u32::from(frame % 90 == 3),
                correction: if frame % 50 == 0 { 0.2 } else { 0.0 },
                ..Update::default()
            };
            let updates = if frame % 3 == 0 { vec![update] } else { Vec::new() };
            let screen = Some(Screen { past_newest_ms: -40.0, ..Screen::default() });
            let tick_length = Some(Span::micros(16_667));
            let seen = Observation { tick_length, updates, screen, ..Observation::default() };
            health.frame(now, Work::default(), seen);
        }
        (health, now)
    }

    #[test]
    fn every_stroke_lies_on_the_sheet() {
        let (health, now) = watched();
        let strokes = strokes(&health, now);
        assert!(strokes.len() > 300);
        for stroke in &strokes {
            let (x, y) = match stroke {
                Stroke::Bar([x, y, ..], _)
                | Stroke::Cross([x, y])
                | Stroke::Dot([x, y])
                | Stroke::Words([x, y], _) => (*x, *y),
            };
            assert!((-0.1..=SIZE[0]).contains(&x) && (0.0..=SIZE[1]).contains(&y), "{stroke:?}");
        }
    }

    #[test]
    fn what_was_lost_late_or_repeated_is_marked() {
        let (health, now) = watched();
        let strokes = strokes(&health, now);
        assert!(strokes.iter().any(|stroke| matches!(stroke, Stroke::Cross(_))), "lost");
        assert!(strokes.iter().any(|stroke| matches!(stroke, Stroke::Dot(_))), "repeated");
        assert!(
            strokes.iter().any(|stroke| matches!(stroke, Stroke::Bar(_, Paint::Enemy))),
            "late"
        );
        assert!(
            strokes.iter().any(|stroke| matches!(stroke, Stroke::Bar(_, Paint::Ink))),
            "corrected"
        );
    }

    #[test]
    fn every_number_says_what_it_means() {
        let (health, now) = watched();
        let numbers = numbers(&health.figures(now));
        assert_eq!(numbers.len(), 12);
        assert!(numbers.iter().all(|(title, _, meaning)| !title.is_empty() && meaning.len() > 10));
    }
}
