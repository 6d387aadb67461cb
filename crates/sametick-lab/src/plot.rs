//! Plots as SVG: points with intervals, lines, axes. No script; colours that differ in brightness too.

use crate::value::Plain;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 52.0;
const TICKS: usize = 5;
/// What a picture needs where no page says it.
const STYLE: &str = "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.grid{stroke:#e5e7eb}\
                     .axis{stroke:#111827}</style>\n";
/// By series.
const COLOURS: [&str; 12] = [
    "#0b5d8a", "#c2410c", "#3f7d20", "#7b2d8b", "#a16207", "#0f766e", "#9f1239", "#475569",
    "#1d4ed8", "#65a30d", "#be185d", "#111827",
];

/// Place, mean, and interval if there is one.
pub type Point = (f64, f64, Option<(f64, f64)>);

/// One line of a plot.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// From left to right.
    pub points: Vec<Point>,
    /// A faint line for each unit.
    pub faint: Vec<Vec<(f64, f64)>>,
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// What goes to the right.
    pub x_title: String,
    /// What goes up.
    pub y_title: String,
    /// Names of places, where they are no numbers.
    pub places: Vec<String>,
    /// Each in its own colour.
    pub series: Vec<Series>,
}

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (mut low_x, mut high_x) = span(points().map(|point| point.0));
        let ends = |point: &Point| {
            let (low, high) = point.2.unwrap_or((point.1, point.1));
            [low, high, point.1]
        };
        let (low_y, high_y) = span(points().flat_map(ends).chain([0.0]));
        let room = (high_y - low_y) * 0.06;
        let (low_y, high_y) = (if low_y < 0.0 { low_y - room } else { 0.0 }, high_y + room);
        if !self.places.is_empty() {
            (low_x, high_x) = (-0.5, self.places.len() as f64 - 0.5);
        }
        let x = |at: f64| LEFT + (at - low_x) / (high_x - low_x) * (WIDTH - LEFT - RIGHT);
        let y =
            |at: f64| HEIGHT - BOTTOM - (at - low_y) / (high_y - low_y) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" role=\"img\" aria-label=\"{} over {}\">\n{STYLE}",
            escaped(&self.y_title),
            escaped(&self.x_title)
        );
        self.axes(&mut svg, (low_x, high_x), (low_y, high_y), &x, &y);
        for (index, series) in self.series.iter().enumerate() {
            draw(&mut svg, series, COLOURS[index % COLOURS.len()], &x, &y);
            if self.series.len() > 1 {
                let at = TOP + 10.0 + 18.0 * index as f64;
                let colour = COLOURS[index % COLOURS.len()];
                let _ = writeln!(
                    svg,
                    "<rect x=\"{0}\" y=\"{1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/><text x=\"{2}\" \
                        y=\"{3}\">{4}</text>",
                    WIDTH - RIGHT + 12.0,
                    at - 6.0,
                    WIDTH - RIGHT + 30.0,
                    at,
                    escaped(&series.name)
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(
        &self,
        svg: &mut String,
        (low_x, high_x): (f64, f64),
        (low_y, high_y): (f64, f64),
        x: &dyn Fn(f64) -> f64,
        y: &dyn Fn(f64) -> f64,
    ) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for at in ticks(low_y, high_y) {
            let (place, text) = (y(at), short(at));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{place:.1}\" x2=\"{right}\" y2=\"{place:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 8.0,
                place + 4.0
            );
        }
        let places: Vec<(f64, String)> = match self.places.is_empty() {
            true => {
                ticks(low_x, high_x).into_iter().map(|at| (at, Plain(at).to_string())).collect()
            }
            false => (0..).map(f64::from).zip(self.places.iter().cloned()).collect(),
        };
        for (at, text) in places {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x(at),
                bottom + 18.0,
                escaped(&text)
            );
        }
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\
             <text x=\"{:.0}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {:.0}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            HEIGHT - 10.0,
            escaped(&self.x_title),
            f64::midpoint(TOP, bottom),
            escaped(&self.y_title)
        );
    }
}

/// Plots side by side, two in a row, on white.
pub(crate) fn panels(plots: &[Plot]) -> String {
    let rows = plots.len().div_ceil(2) as f64;
    let (width, height) = (2.0 * WIDTH, rows * HEIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (index, plot) in plots.iter().enumerate() {
        let (x, y) = ((index % 2) as f64 * WIDTH, (index / 2) as f64 * HEIGHT);
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">{}</g>", plot.svg());
    }
    svg + "</svg>\n"
}

fn draw(
    svg: &mut String,
    series: &Series,
    colour: &str,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) {
    let way = |points: &[(f64, f64)]| {
        let places = points.iter().map(|(at, number)| format!("{:.1},{:.1}", x(*at), y(*number)));
        places.collect::<Vec<_>>().join(" ")
    };
    for faint in &series.faint {
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-opacity=\"0.18\"/>",
            way(faint)
        );
    }
    let means: Vec<(f64, f64)> = series.points.iter().map(|point| (point.0, point.1)).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        way(&means)
    );
    for (at, mean, interval) in &series.points {
        if let Some((low, high)) = interval {
            let _ = writeln!(
                svg,
                "<line x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{0:.1}\" y2=\"{2:.1}\" stroke=\"{colour}\" \
                    stroke-width=\"1.5\"/>",
                x(*at),
                y(*low),
                y(*high)
            );
        }
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.2\" fill=\"{colour}\"/>",
            x(*at),
            y(*mean)
        );
    }
}

fn span(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let numbers = numbers.filter(|number| number.is_finite());
    let (low, high) =
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), n| (l.min(n), h.max(n)));
    match low < high {
        true => (low, high),
        false if low.is_finite() => (low - 0.5, low + 0.5),
        false => (0.0, 1.0),
    }
}

/// Round numbers between two.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / TICKS as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= rough);
    let step = step.unwrap_or(power);
    let first = (low / step).ceil() as i64;
    (first..first + 3 * TICKS as i64)
        .map(|n| n as f64 * step)
        .take_while(|at| *at <= high + 1e-9 * step)
        .collect()
}

/// A number at an axis: thousands in short.
fn short(number: f64) -> String {
    match number.abs() {
        size if size >= 1e7 => format!("{} M", Plain(number / 1e6)),
        size if size >= 1e4 => format!("{} k", Plain(number / 1e3)),
        _ => Plain(number).to_string(),
    }
}

/// Text that means nothing to a page.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_lie_within() {
        assert_eq!(ticks(0.0, 250.0), [0.0, 50.0, 100.0, 150.0, 200.0, 250.0]);
        assert_eq!([0.5, 250.0, 50_000.0, 3e9].map(short), ["0.5", "250", "50 k", "3000 M"]);
        assert_eq!(ticks(0.0, 0.9), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8]);
    }

    #[test]
    fn a_hostile_name_stays_text() {
        let series = Series {
            name: "<script>".to_owned(),
            points: vec![(0.0, 1.0, None)],
            ..Series::default()
        };
        let plot = Plot { series: vec![series.clone(), series], ..Plot::default() };
        assert!(!plot.svg().contains("<script>"));
    }
}
