//! The scene "One bad line": four who play in lockstep, and one whose line goes bad for a while.

use super::{Moment, Staged};
use crate::arena::{Arena, Entity};
use crate::bot::{Act, Script};
use crate::command::Command;
use crate::content::Content;
use crate::scenes::{BEGINS_AT, RUN_SPEED};
use sametick::theatre::{Play, Recorded, Setup, Shape, Wire};
use sametick::{PlayerId, Rates, Span, View, World, lockstep};

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

impl BadLine {
    /// What a link calls it.
    pub const KEY: &'static str = "line";
    /// What people call it.
    pub const TITLE: &'static str = "One bad line";
    /// What it claims.
    pub const SENTENCES: [&'static str; 2] =
        ["B's line goes bad. Everyone stops to wait;", "press packet_server and only B suffers."];
    /// The model it is played under unless another is wanted.
    pub const MODEL: &'static str = "doom1993";
    /// There and back in milliseconds, of A and of B; the others' is A's.
    pub const PINGS: [u64; 2] = [30, 300];
    /// For how long it is played.
    pub const SECONDS: u64 = 12;
    /// Where to look, and how many metres are to be seen from left to right.
    pub const FOCUS: [f32; 3] = [0.0, 0.0, 19.0];

    /// How it is staged unless something else is wanted: the lines, and the model.
    pub fn setup(&self) -> (Setup, lockstep::Setup) {
        let mut wires = vec![Wire::of(Span::millis(Self::PINGS[0])); PLAYERS];
        let [from, to] = BAD.map(Span::millis);
        wires[1] = Wire { bad: Some((from, to)), ..Wire::of(Span::millis(Self::PINGS[1])) };
        let setup = Setup {
            seed: 7,
            rates: Rates::USUAL,
            view: View::USUAL,
            wires,
            begins: Span::from_millis_f64(BEGINS_AT * 1000.0),
            length: Span::seconds(Self::SECONDS),
        };
        (setup, lockstep::Setup::DOOM_1993)
    }

    /// When it shows what it claims, and what was measured then.
    pub fn moment(&self, shown: &Recorded) -> Option<Moment> {
        let [from, to] = BAD.map(|millis| shown.frame_at(Span::millis(millis)));
        let (first, last) = (shown.frames.get(from)?, shown.frames.get(to)?);
        let tick = shown.tick_length.as_millis_f64();
        // What is awaited in the first second: later everyone has made up for it.
        let waiting = (from..to).find(|frame| shown.awaited(*frame).is_some());
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
        let again = last.panes[A].repredicted - first.panes[A].repredicted;
        let caption = match again {
            0 => format!("Nobody stood still. {later}."),
            again => {
                format!("Nobody stood still. A stepped **{again}** ticks again, to put B right.")
            }
        };
        let frame = shown.frame_at(Span::millis(BAD[0] + 1_000));
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

    fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
        self.stage.shapes(world, into);
    }
}
