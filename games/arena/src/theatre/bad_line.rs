//! The scene "One bad line": four who play in lockstep, and one whose line goes bad for a while.

use super::Staged;
use crate::arena::{Arena, Entity};
use crate::bot::{Act, Script};
use crate::command::Command;
use crate::content::Content;
use crate::scenes::{BEGINS_AT, RUN_SPEED};
use sametick::theatre::{Keys, Moment, Play, Poster, Recorded, Scene, Shape};
use sametick::{Model, PlayerId, Span, World};

/// How many play.
const PLAYERS: usize = 4;
/// When B's line is bad, in the scene's own milliseconds.
const BAD: [u64; 2] = [4_000, 9_000];
/// Whoever stands still for longer than this is seen to stand.
const STANDS: Span = Span::millis(60);
/// A's pane and B's.
const A: usize = 1;
const B: usize = 2;

/// Four run to and fro beside each other; halfway B's line goes bad.
#[derive(Clone, Debug)]
pub struct BadLine {
    stage: Staged,
    acts: [Act; PLAYERS],
}

impl Default for BadLine {
    fn default() -> Self {
        let lanes = [-4.5, -1.5, 1.5, 4.5];
        let acts = lanes.map(|y| {
            let script =
                Script::Strafe { from: [-7.0, y, 0.0], to: [7.0, y, 0.0], speed: RUN_SPEED };
            Act { begins_at: BEGINS_AT, ..Act::new(script) }
        });
        let stage = Staged::new(&[], [[-7.0, lanes[0], 0.0], [-7.0, lanes[1], 0.0]]);
        Self { stage, acts }
    }
}

impl Scene for BadLine {
    fn poster(&self) -> Poster {
        Poster {
            key: "line",
            title: "One bad line",
            sentences: [
                "B's line goes bad.",
                "Everyone stops to wait; press packet_server and only B suffers.",
            ],
            model: Model::HALF_LIFE,
            pings: [30, 300],
            silent: None,
            begins: Span::from_millis_f64(BEGINS_AT * 1000.0),
            seconds: 12,
            blocks: Vec::new(),
            focus: [0.0, 0.0, 19.0],
            has_fairness: false,
            lockstep: Some("doom1993"),
            others: PLAYERS - 2,
            bad: Some(BAD),
        }
    }

    fn moment(&self, shown: &Recorded) -> Option<Moment> {
        let [from, to] = BAD.map(|millis| shown.frame_at(Span::millis(millis)));
        let (first, last) = (shown.frames.get(from)?, shown.frames.get(to)?);
        let tick = shown.tick_length.as_millis_f64();
        // What is awaited in the first second: later everyone has made up for it.
        let waiting = (from..to).find(|frame| {
            let waits =
                shown.frames[*frame].panes.get(A).is_some_and(|pane| !pane.awaits.is_empty());
            waits && shown.awaited(*frame) == Some(PlayerId(1))
        });
        let stood = shown.stood(A);
        let waits = |frame: &sametick::theatre::Frame| f64::from(frame.panes[A].delay_ticks) * tick;
        let later = format!(
            "A's commands now wait **{:.0} ms**, before **{:.0} ms**",
            waits(last),
            waits(first)
        );
        let late = last.panes[B].replaced - first.panes[B].replaced;
        if let Some(frame) = waiting.filter(|_| stood > STANDS) {
            let seconds = stood.as_seconds_f64();
            let caption =
                format!("Everyone stood still for **{seconds:.2} s**, and waited for B. {later}.");
            return Some(Moment { frame, caption, seconds, metres: 0.0 });
        }
        if late > 0 {
            let was = first.panes[B].replaced;
            let frame = (from..to).find(|frame| shown.frames[*frame].panes[B].replaced > was)?;
            let caption = format!(
                "A never stood still. **{late}** commands of B came too late, and the relay walked B on."
            );
            return Some(Moment { frame, caption, seconds: 0.0, metres: 0.0 });
        }
        if last.panes[A].delay_ticks == 0 {
            let frame = shown.frame_at(Span::millis(BAD[0] + 1_000));
            let age = shown.age(frame, A, PlayerId(1)).map_or(0.0, Span::as_seconds_f64);
            let caption = format!(
                "Nobody waits for B: A's screen shows B as B was **{:.0} ms** ago.",
                age * 1000.0
            );
            return Some(Moment { frame, caption, seconds: age, metres: 0.0 });
        }
        let again = last.panes[A].repredicted - first.panes[A].repredicted;
        let caption = match again {
            0 => format!("Nobody stood still. {later}."),
            again => {
                format!("Nobody stood still. A stepped **{again}** ticks again, to put B right.")
            }
        };
        let stepped = |frame: usize| shown.frames[frame].panes[A].repredicted;
        let frame = match again {
            0 => shown.frame_at(Span::millis(BAD[0] + 1_000)),
            // Where most were at once.
            _ => (from + 1..to).max_by_key(|frame| stepped(*frame) - stepped(frame - 1))?,
        };
        Some(Moment { frame, caption, seconds: 0.0, metres: 0.0 })
    }
}

impl Play for BadLine {
    type Game = Arena;

    fn content(&self) -> Content {
        self.stage.content()
    }

    fn command(&self, me: PlayerId, view: &World<Entity>, dt: f32) -> Command {
        let act = self.acts.get(usize::from(me.0));
        act.map_or_else(Command::default, |act| act.think(view, me, &self.stage.content, dt))
    }

    fn steered(&self, by_itself: Command, keys: Keys) -> Command {
        self.stage.steered(by_itself, keys)
    }

    fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
        self.stage.shapes(world, into);
    }
}
