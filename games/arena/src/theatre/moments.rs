//! When a scene shows what it claims, and the sentence that says how much, measured on what was recorded.

use super::Staged;
use crate::body;
use crate::scenes::{BEGINS_AT, CORNER_EDGE_X, RUNNER, SHOOTER};
use crate::vector::{Vector, length, subtract};
use sametick::theatre::{Moment, Recorded, Scene, Shape, ShapeKind, Shot};
use sametick::{EntityId, PlayerId, Span};

/// The server's pane, A's and B's.
const SERVER: usize = 0;
const A: usize = 1;
const B: usize = 2;

pub(super) fn find(scene: &Staged, recorded: &Recorded) -> Option<Moment> {
    match scene.key {
        "cover" => cover(scene, recorded),
        "step" => step(recorded),
        "crossing" => crossing(recorded),
        "peek" => peek(scene, recorded),
        "tree" => tree(scene, recorded),
        "rockets" => rockets(recorded),
        "burst" => burst(scene, recorded),
        _ => None,
    }
}

impl Staged {
    /// Whether nothing of a player can be seen by the other in a pane.
    pub fn hides(&self, shown: &Recorded, frame: usize, pane: usize, who: [PlayerId; 2]) -> bool {
        let [own, from] = who.map(|player| shown.person(frame, pane, player));
        let (Some(own), Some(from)) = (own, from) else { return false };
        let bounds = body::bounds(own.place, false);
        (0..8).all(|corner| {
            let place = [0, 1, 2].map(|axis| [bounds.low, bounds.high][corner >> axis & 1][axis]);
            !self.map().visible(eye(from), place)
        })
    }
}

pub(super) fn eye(shape: &Shape) -> Vector {
    body::eye(shape.place, false)
}

pub(super) fn middle(shape: &Shape) -> Vector {
    body::centre(shape.place, false)
}

fn moment(frame: usize, seconds: f64, metres: f32, caption: String) -> Option<Moment> {
    Some(Moment { frame, caption, seconds, metres })
}

/// B hears of its death.
fn cover(scene: &Staged, shown: &Recorded) -> Option<Moment> {
    let is_dead = |frame: &usize| shown.person(*frame, B, RUNNER).is_some_and(|own| !own.is_alive);
    let Some(frame) = (0..shown.frames.len()).find(is_dead) else {
        let robbed = |shot: &&Shot| shot.seen.is_some() && shot.hit.is_none();
        let shot = shown.shots.iter().find(robbed)?;
        let caption =
            "A's screen showed a hit. The server had B behind the wall, and **refused** it.";
        return moment(shot.frame, 0.0, 0.0, caption.into());
    };
    let last = frame.saturating_sub(1);
    let open = (0..frame).rev().find(|frame| !scene.hides(shown, *frame, B, [RUNNER, SHOOTER]))?;
    let hidden = (shown.frames[last].at - shown.frames[open].at).as_seconds_f64();
    let deep = shown.person(last, B, RUNNER)?.place[0] - CORNER_EDGE_X;
    let caption =
        format!("On B's screen B was behind the wall for **{hidden:.2} s**, **{deep:.1} m** deep.");
    moment(frame, hidden, deep, caption)
}

/// The frame in which A's own script has it press forward, and the one in which A sees itself move.
pub fn pressed_and_moved(shown: &Recorded) -> Option<[usize; 2]> {
    let tick = shown.tick_length.as_seconds_f64();
    let pressed = shown
        .frames
        .iter()
        .position(|frame| f64::from(frame.panes[A].tick.0 + 1) * tick >= BEGINS_AT + 1.5)?;
    let start = shown.person(pressed, A, SHOOTER)?.place;
    let has_moved = |frame: &usize| {
        let own = shown.person(*frame, A, SHOOTER);
        own.is_some_and(|own| length(subtract(own.place, start)) > 0.02)
    };
    Some([pressed, (pressed..shown.frames.len()).find(has_moved)?])
}

fn step(shown: &Recorded) -> Option<Moment> {
    let [pressed, moved] = pressed_and_moved(shown)?;
    let waited = (shown.frames[moved].at - shown.frames[pressed].at).as_seconds_f64();
    let bump = |frame: &usize| shown.frames[*frame].panes[A].correction > 0.1;
    if let Some(frame) = (moved..shown.frames.len()).find(bump) {
        let metres = shown.frames[frame].panes[A].correction;
        let caption = format!(
            "A saw its own first step after **{:.0} ms**, and was put right by **{:.0} cm** at the bump.",
            waited * 1000.0,
            metres * 100.0
        );
        return moment(frame, waited, metres, caption);
    }
    let caption = format!(
        "A pressed forward and saw its own first step **{:.0} ms** later.",
        waited * 1000.0
    );
    moment(moved, waited, 0.0, caption)
}

/// By how much a shot passed behind B on B's way along x, if B ran; ahead of it if below zero.
pub fn passed_behind(shown: &Recorded, shot: &Shot) -> Option<f32> {
    let [from, to] = shot.line?;
    let target = shown.person(shot.frame, SERVER, RUNNER)?;
    let before = shown.person(shot.frame.checked_sub(1)?, SERVER, RUNNER)?;
    let way = target.place[0] - before.place[0];
    let share = (target.place[1] - from[1]) / (to[1] - from[1]);
    let x = from[0] + (to[0] - from[0]) * share;
    (way.abs() > 0.08).then(|| (target.place[0] - x) * way.signum())
}

fn crossing(shown: &Recorded) -> Option<Moment> {
    let near = |frame: usize| {
        let place = shown.person(frame, SERVER, RUNNER).map(|shape| shape.place);
        place.is_some_and(|place| place[0].abs() < 4.0)
    };
    let mut shots = shown.shots.iter();
    let shot =
        shots.find(|shot| near(shot.frame) && shown.frames[shot.frame].at > Span::seconds(3))?;
    if shot.hit.is_some() {
        let back = shot.rewound.as_millis_f64();
        let caption = format!("The server looked **{back:.0} ms** back, and the shot hit.");
        return moment(shot.frame, back / 1000.0, 0.0, caption);
    }
    let metres = passed_behind(shown, shot)?;
    let caption = format!("The crosshair was on B; the shot passed **{metres:.2} m** behind B.");
    moment(shot.frame, 0.0, metres, caption)
}

fn peek(scene: &Staged, shown: &Recorded) -> Option<Moment> {
    let frames = 0..shown.frames.len();
    let a = frames.clone().find(|frame| scene.sees(shown, *frame, A, [SHOOTER, RUNNER]))?;
    let b = frames.clone().find(|frame| scene.sees(shown, *frame, B, [RUNNER, SHOOTER]))?;
    let ahead = shown.frames[b].at.as_seconds_f64() - shown.frames[a].at.as_seconds_f64();
    let caption = format!("A saw B **{:.0} ms** before B could see A.", ahead * 1000.0);
    moment(b.max(a), ahead, 0.0, caption)
}

fn tree(scene: &Staged, shown: &Recorded) -> Option<Moment> {
    let late = |shot: &&Shot| shown.frames[shot.frame].at > Span::seconds(3);
    let shot = shown.shots.iter().filter(late).find(|shot| shot.seen.is_some())?;
    let back = shot.rewound.as_millis_f64();
    let is_hidden = !scene.sees(shown, shot.frame, B, [RUNNER, SHOOTER]);
    let hidden = if is_hidden { "the tree hid A" } else { "A was in sight" };
    let verdict = if shot.hit.is_some() { "hit" } else { "was refused" };
    let caption = format!(
        "On B's screen {hidden}. The server looked **{back:.0} ms** back, and the shot **{verdict}**."
    );
    moment(shot.frame, back / 1000.0, 0.0, caption)
}

/// Each rocket's nearest approach to B in the server's pane: the frame, and how far from B it was on the level.
pub fn approaches(shown: &Recorded) -> Vec<(usize, f32)> {
    let mut best: Vec<(EntityId, usize, f32)> = Vec::new();
    for frame in 0..shown.frames.len() {
        let Some(target) = shown.person(frame, SERVER, RUNNER) else { continue };
        let things = shown.shapes(frame, SERVER).iter();
        for rocket in things.filter(|shape| shape.kind != ShapeKind::Person) {
            let [x, y, _] = subtract(rocket.place, target.place);
            let off = length([x, y, 0.0]);
            match best.iter_mut().find(|(id, _, _)| *id == rocket.id) {
                Some(known) if off < known.2 => (known.1, known.2) = (frame, off),
                Some(_) => {}
                None => best.push((rocket.id, frame, off)),
            }
        }
    }
    // Whoever is nearest in the last frame may have come nearer yet.
    let last = shown.frames.len().saturating_sub(1);
    best.into_iter().filter(|near| near.1 < last).map(|(_, frame, off)| (frame, off)).collect()
}

fn rockets(shown: &Recorded) -> Option<Moment> {
    let late = |(frame, _): &(usize, f32)| shown.frames[*frame].at > Span::seconds(2);
    let (frame, off) = approaches(shown).into_iter().find(late)?;
    let caption = if off < 0.8 {
        "On A's screen and on the server's the rocket **met** B.".into()
    } else {
        format!("On A's screen it met B; in the present it passed **{off:.1} m** behind B.")
    };
    moment(frame, 0.0, off, caption)
}

fn burst(scene: &Staged, shown: &Recorded) -> Option<Moment> {
    let [from, to] = scene.silent?.map(Span::millis);
    let quiet = shown.frame_at(from)..=shown.frame_at(to) + 6;
    let worst =
        quiet.max_by(|a, b| shown.error(*a, A, false).total_cmp(&shown.error(*b, A, false)))?;
    let metres = shown.error(worst, A, false);
    let caption =
        format!("Nothing came for 500 ms: A's screen showed B **{metres:.1} m** from where B was.");
    moment(worst, 0.5, metres, caption)
}
