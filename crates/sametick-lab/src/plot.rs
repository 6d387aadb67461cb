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
/// Names of places are slanted where they would run into each other; then they need more room below.
const SLANTED_BOTTOM: f64 = 104.0;
/// About how wide a letter is.
const LETTER: f64 = 6.6;
/// A line of the legend.
const LEGEND_LINE: f64 = 18.0;
/// The longest name in the legend, in letters.
const LEGEND_LETTERS: usize = 18;
/// How far apart series stand at one place, at most; and the share of the room to the next that all of them take.
const DODGE_MAX: f64 = 8.0;
const DODGE_SHARE: f64 = 0.5;
/// Half of a whisker's end.
const CAP: f64 = 2.5;
/// What a picture needs where no page says it.
pub(crate) const STYLE: &str = "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.grid{stroke:#e5e7eb}\
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
    /// Of how many units each point is.
    pub units: Vec<usize>,
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

/// Where numbers lie on the picture.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    /// How far the first and the last place stand from the edges.
    inset: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, at: f64) -> f64 {
        let (left, right) = (LEFT + self.inset, WIDTH - RIGHT - self.inset);
        left + (at - self.x.0) / (self.x.1 - self.x.0) * (right - left)
    }

    fn y(&self, at: f64) -> f64 {
        self.bottom - (at - self.y.0) / (self.y.1 - self.y.0) * (self.bottom - TOP)
    }
}

impl Plot {
    /// How high the picture is: as high as its legend, at least.
    fn height(&self) -> f64 {
        let lines = if self.series.len() > 1 { self.series.len() } else { 0 };
        let more = if self.is_slanted() { SLANTED_BOTTOM - BOTTOM } else { 0.0 };
        (HEIGHT + more).max(TOP + 20.0 + LEGEND_LINE * lines as f64)
    }

    fn is_slanted(&self) -> bool {
        let longest = self.places.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        longest as f64 * LETTER * self.places.len() as f64 > WIDTH - LEFT - RIGHT
    }

    /// All that is drawn lies within.
    fn frame(&self) -> Frame {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let ends = |point: &Point| {
            let (low, high) = point.2.unwrap_or((point.1, point.1));
            [low, high, point.1]
        };
        let faint = self.series.iter().flat_map(|series| series.faint.iter().flatten());
        let heights = points().flat_map(ends).chain(faint.map(|(_, number)| *number));
        let (low_y, high_y) = span(heights.chain([0.0]));
        let room = (high_y - low_y) * 0.06;
        let bottom = self.height() - if self.is_slanted() { SLANTED_BOTTOM } else { BOTTOM };
        let mut frame = Frame {
            x: span(points().map(|point| point.0)),
            y: (if low_y < 0.0 { low_y - room } else { 0.0 }, high_y + room),
            inset: 0.0,
            bottom,
        };
        if self.places.is_empty() {
            frame.inset = 12.0 + self.dodge(&frame) * self.series.len() as f64 / 2.0;
        } else {
            frame.x = (-0.5, self.places.len() as f64 - 0.5);
        }
        frame
    }

    /// How far series stand from each other at one place, so that none hides another's interval.
    fn dodge(&self, frame: &Frame) -> f64 {
        let mut at: Vec<f64> =
            self.series.iter().flat_map(|series| series.points.iter().map(|p| p.0)).collect();
        at.sort_by(f64::total_cmp);
        let apart = at.windows(2).map(|pair| frame.x(pair[1]) - frame.x(pair[0]));
        let nearest = apart.filter(|apart| *apart > 1.0).fold(WIDTH, f64::min);
        (nearest * DODGE_SHARE / self.series.len().max(1) as f64).min(DODGE_MAX)
    }

    /// The picture.
    pub fn svg(&self) -> String {
        let (frame, height) = (self.frame(), self.height());
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{} over {}\">\n{STYLE}",
            escaped(&self.y_title),
            escaped(&self.x_title)
        );
        self.axes(&mut svg, &frame);
        let dodge = self.dodge(&frame);
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        // What is faint lies below everything else.
        for is_faint in [true, false] {
            for (index, series) in self.series.iter().enumerate() {
                let colour = COLOURS[index % COLOURS.len()];
                let aside = (index as f64 - middle) * dodge;
                match is_faint {
                    true => draw_faint(&mut svg, series, colour, aside, &frame),
                    false => draw(&mut svg, series, (colour, dash(index)), aside, &frame),
                }
            }
        }
        self.legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn legend(&self, svg: &mut String) {
        let several = if self.series.len() > 1 { self.series.len() } else { 0 };
        for (index, series) in self.series.iter().enumerate().take(several) {
            let at = TOP + 10.0 + LEGEND_LINE * index as f64;
            let mut name: String = series.name.chars().take(LEGEND_LETTERS).collect();
            if name.len() < series.name.len() {
                name.push('\u{2026}');
            }
            let _ = writeln!(
                svg,
                "<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" stroke=\"{3}\" stroke-width=\"3\"{4}/>\
                 <text x=\"{5}\" y=\"{at}\"><title>{6}</title>{7}</text>",
                WIDTH - RIGHT + 10.0,
                at - 4.0,
                WIDTH - RIGHT + 26.0,
                COLOURS[index % COLOURS.len()],
                dash(index),
                WIDTH - RIGHT + 31.0,
                escaped(&series.name),
                escaped(&name)
            );
        }
    }

    fn axes(&self, svg: &mut String, frame: &Frame) {
        let (bottom, right) = (frame.bottom, WIDTH - RIGHT);
        for at in ticks(frame.y.0, frame.y.1) {
            let (place, text) = (frame.y(at), short(at));
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
                let all = ticks(frame.x.0, frame.x.1).into_iter();
                all.map(|at| (at, Plain(at).to_string())).collect()
            }
            false => (0..).map(f64::from).zip(self.places.iter().cloned()).collect(),
        };
        for (at, text) in places {
            let (x, y, text) = (frame.x(at), bottom + 18.0, escaped(&text));
            let _ = match self.is_slanted() {
                true => writeln!(
                    svg,
                    "<text transform=\"translate({x:.1} {}) rotate(-35)\" text-anchor=\"end\">{text}</text>",
                    y - 4.0
                ),
                false => {
                    writeln!(
                        svg,
                        "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
                    )
                }
            };
        }
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\
             <text x=\"{:.0}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {:.0}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            self.height() - 10.0,
            escaped(&self.x_title),
            f64::midpoint(TOP, bottom),
            escaped(&self.y_title)
        );
    }
}

/// Where colours come again, lines are dashed.
fn dash(index: usize) -> &'static str {
    if index < COLOURS.len() { "" } else { " stroke-dasharray=\"5 3\"" }
}

/// Plots side by side, two in a row, on white.
pub(crate) fn panels(plots: &[Plot]) -> String {
    let rows = plots.len().div_ceil(2) as f64;
    let each = plots.iter().map(Plot::height).fold(HEIGHT, f64::max);
    let (width, height) = (2.0 * WIDTH, rows * each);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (index, plot) in plots.iter().enumerate() {
        let (x, y) = ((index % 2) as f64 * WIDTH, (index / 2) as f64 * each);
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">{}</g>", plot.svg());
    }
    svg + "</svg>\n"
}

fn way(points: &[(f64, f64)], aside: f64, frame: &Frame) -> String {
    let place =
        |(at, number): &(f64, f64)| format!("{:.1},{:.1}", frame.x(*at) + aside, frame.y(*number));
    points.iter().map(place).collect::<Vec<_>>().join(" ")
}

fn draw_faint(svg: &mut String, series: &Series, colour: &str, aside: f64, frame: &Frame) {
    for faint in &series.faint {
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"0.8\" \
                stroke-opacity=\"0.22\"/>",
            way(faint, aside, frame)
        );
    }
}

fn draw(
    svg: &mut String,
    series: &Series,
    (colour, dash): (&str, &str),
    aside: f64,
    frame: &Frame,
) {
    let means: Vec<(f64, f64)> = series.points.iter().map(|point| (point.0, point.1)).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{dash}/>",
        way(&means, aside, frame)
    );
    for (at, mean, interval) in &series.points {
        let x = frame.x(*at) + aside;
        if let Some((low, high)) = interval {
            let (low, high) = (frame.y(*low), frame.y(*high));
            let (from, to) = (x - CAP, x + CAP);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {low:.1}V{high:.1}M{from:.1} {low:.1}H{to:.1}M{from:.1} {high:.1}H{to:.1}\" \
                    fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"/>"
            );
        }
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2.8\" fill=\"{colour}\"/>",
            frame.y(*mean)
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
pub(crate) fn ticks(low: f64, high: f64) -> Vec<f64> {
    if low >= high {
        return vec![low];
    }
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
pub(crate) fn short(number: f64) -> String {
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

    /// Every number of the coordinates of polylines, whiskers and dots.
    fn drawn(svg: &str) -> Vec<(f64, f64)> {
        let lines = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<polyline points=\"")?.split('"').next());
        let pairs =
            lines.flat_map(|points| points.split(' ')).filter_map(|pair| pair.split_once(','));
        pairs.filter_map(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?))).collect()
    }

    #[test]
    fn whatever_is_drawn_lies_within_the_axes() {
        // One seed is far above all means and their intervals, another far below.
        let series = |off: f64| Series {
            name: "one".to_owned(),
            points: vec![(0.0, 1.0 + off, Some((0.5, 1.5))), (250.0, 2.0, None)],
            faint: vec![vec![(0.0, 90.0), (250.0, -40.0)], vec![(0.0, 1.0), (250.0, 2.0)]],
            ..Series::default()
        };
        let all: Vec<Series> = (0..11).map(|n| series(f64::from(n))).collect();
        for (places, count) in
            [(vec![], 1), (vec![], 11), (vec!["a".to_owned(), "b".to_owned()], 11)]
        {
            let mut plot = Plot { places, series: all[..count].to_vec(), ..Plot::default() };
            if !plot.places.is_empty() {
                let places = |points: &mut (f64, f64)| points.0 /= 250.0;
                for series in &mut plot.series {
                    series.points.iter_mut().for_each(|point| point.0 /= 250.0);
                    series.faint.iter_mut().flatten().for_each(places);
                }
            }
            let found = drawn(&plot.svg());
            assert_eq!(found.len(), count * 6);
            for (x, y) in found {
                assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x} of {count} series");
                assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{y} of {count} series");
            }
        }
    }

    #[test]
    fn no_series_hides_the_interval_of_another_at_the_same_place() {
        let one = Series {
            points: vec![(0.0, 1.0, Some((0.5, 1.5))), (1.0, 1.0, None)],
            ..Series::default()
        };
        let plot = Plot { series: vec![one; 4], ..Plot::default() };
        let svg = plot.svg();
        let whiskers =
            svg.lines().filter_map(|line| line.strip_prefix("<path d=\"M")?.split(' ').next());
        let mut at: Vec<f64> = whiskers.filter_map(|x| x.parse().ok()).collect();
        at.sort_by(f64::total_cmp);
        assert_eq!(at.len(), 4);
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] > 2.0 * CAP), "{at:?}");
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
