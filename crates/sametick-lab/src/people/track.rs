//! The picture of one staircase: trial by trial, which level it had, what was right, where it turned, what came out.

use super::stairs::Stairs;
use super::table::Staircase;
use crate::plot::{STYLE, escaped, short, ticks};
use std::fmt::Write;

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
const RIGHT_COLOUR: &str = "#0b5d8a";
const WRONG_COLOUR: &str = "#c2410c";
/// Half of a cross.
const CROSS: f64 = 3.4;

/// What pictures of staircases show, in words.
pub(super) const CAPTION: &str = "Each staircase by itself, trial by trial. A dot is a trial that was right, a cross \
    one that was wrong; with a ring around it the staircase turned there. The dashed line is the threshold: the mean \
    of the levels at the reversals, without the first two, of an even number of them.";

/// Where trials and levels lie on the picture.
struct Frame {
    trials: f64,
    low: f64,
    high: f64,
}

impl Frame {
    fn x(&self, trial: f64) -> f64 {
        LEFT + (trial - 0.5) / self.trials * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, level: f64) -> f64 {
        let bottom = HEIGHT - BOTTOM;
        bottom - (level - self.low) / (self.high - self.low) * (bottom - TOP)
    }
}

/// The picture of a staircase that has at least one step.
pub(super) fn svg(stairs: &Stairs, staircase: &Staircase, title: &str, level: &str) -> String {
    let levels = || stairs.steps.iter().map(|step| step.level);
    let (least, most) =
        levels().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), n| (l.min(n), m.max(n)));
    // Room for half a step above and below, so that no mark is cut.
    let room = staircase.step / 2.0;
    let trials = stairs.steps.len().max(1) as f64;
    let frame = Frame { trials, low: least - room, high: most + room };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{0}\">\n{STYLE}<text x=\"{LEFT}\" y=\"14\">{0}</text>\n",
        escaped(title)
    );
    axes(&mut svg, &frame, level);
    if let Some(threshold) = stairs.threshold(staircase) {
        let _ = writeln!(
            svg,
            "<line class=\"threshold\" x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\" stroke=\"#111827\" \
             stroke-dasharray=\"5 3\"/>",
            frame.y(threshold),
            WIDTH - RIGHT
        );
    }
    let places: Vec<(f64, f64)> = (1..)
        .zip(&stairs.steps)
        .map(|(number, step)| (frame.x(f64::from(number)), frame.y(step.level)))
        .collect();
    let way: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ =
        writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"#94a3b8\"/>", way.join(" "));
    for (step, (x, y)) in stairs.steps.iter().zip(&places) {
        let said = if step.is_right { "right" } else { "wrong" };
        let _ = write!(svg, "<g class=\"{said}\"><title>trial {}: {said}</title>", step.trial);
        let _ = match step.is_right {
            true => {
                write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{RIGHT_COLOUR}\"/>")
            }
            false => write!(
                svg,
                "<path d=\"M{0:.1} {1:.1}L{2:.1} {3:.1}M{0:.1} {3:.1}L{2:.1} {1:.1}\" stroke=\"{WRONG_COLOUR}\" \
                 stroke-width=\"1.8\"/>",
                x - CROSS,
                y - CROSS,
                x + CROSS,
                y + CROSS
            ),
        };
        svg.push_str("</g>\n");
    }
    for turn in stairs.turns(staircase) {
        let Some((x, y)) = places.get(turn) else { continue };
        let _ = writeln!(
            svg,
            "<circle class=\"turn\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6.5\" fill=\"none\" stroke=\"#111827\"/>"
        );
    }
    svg + "</svg>\n"
}

fn axes(svg: &mut String, frame: &Frame, level: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for at in ticks(frame.low, frame.high) {
        let (y, text) = (frame.y(at), short(at));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for at in ticks(1.0, frame.trials).into_iter().filter(|at| at.fract() == 0.0) {
        let (x, y) = (frame.x(at), bottom + 15.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            short(at)
        );
    }
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\
         <text x=\"{:.0}\" y=\"{}\" text-anchor=\"middle\">trial of this staircase</text>\
         <text transform=\"translate(13 {:.0}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 8.0,
        f64::midpoint(TOP, bottom),
        escaped(level)
    );
}
