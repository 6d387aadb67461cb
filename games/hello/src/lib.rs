//! The game of the hello example on the theatre's stage: what a game must say to be seen there, and no more.
//!
//! ```
//! use sametick::theatre::{Scene, run};
//! use sametick_hello::Greeting;
//!
//! let recorded = run(&Greeting, &Greeting.poster().setup());
//! let moment = Greeting.moment(&recorded).unwrap();
//! assert!(moment.caption.starts_with("B turned on A's screen"), "{}", moment.caption);
//! ```

// The example's own file: what is shown is what it plays.
#[path = "../../../crates/sametick-links/examples/hello/rules.rs"]
pub mod rules;

use rules::{Entity, Hello, Walker, Wish};
use sametick::theatre::{Keys, Moment, Play, Poster, Recorded, Scene, Shape, ShapeKind};
use sametick::{Model, PlayerId, Span, World};

/// All are in, and their clocks are set.
const BEGINS: Span = Span::seconds(3);
/// For how long they walk before they turn round.
const WALK_SECONDS: f32 = 2.4;
/// When both turn from west to east, and how long before and after it is looked for.
const TURN_SECONDS: f32 = 1.5 * WALK_SECONDS;
const TURN_WITHIN_SECONDS: f32 = 1.1;
/// They are on one line; the stage has a lane for each, so that they can be told apart.
const LANE_METRES: f32 = 8.0;

/// Both players walk to and fro, and turn in the same tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greeting;

impl Play for Greeting {
    type Game = Hello;

    fn content(&self) {}

    fn command(&self, _me: PlayerId, view: &World<Entity>, dt: f32) -> Wish {
        let seconds = (view.tick().0 + 1) as f32 * dt - BEGINS.as_seconds_f64() as f32;
        let turns = ((seconds + WALK_SECONDS / 2.0) / WALK_SECONDS) as u32;
        Wish(if seconds < 0.0 { 0 } else { 1 - 2 * (turns % 2) as i32 })
    }

    fn steered(&self, _by_itself: Wish, keys: Keys) -> Wish {
        Wish(keys.east.signum().into())
    }

    fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
        into.extend(world.all::<Walker>().map(|(id, walker)| {
            // The first is nobody's; then come the players, in the order in which they were let in.
            let lane = id.slot() as u16;
            Shape {
                id,
                kind: ShapeKind::Person,
                owner: lane.checked_sub(1).map(PlayerId),
                place: [walker.0, LANE_METRES * (1.0 - f32::from(lane)), 0.0],
                size: [0.9, 3.2],
                facing: 0.0,
                pitch: 0.0,
                is_alive: true,
                is_unofficial: false,
            }
        }));
    }
}

impl Scene for Greeting {
    fn poster(&self) -> Poster {
        Poster {
            key: "hello",
            title: "Hello",
            sentences: [
                "A and B walk to and fro and turn in the same tick.",
                "On A's screen A turns before the server knows of it, and B turns late; under quake both do.",
            ],
            model: Model::HALF_LIFE,
            pings: [200, 30],
            silent: None,
            begins: BEGINS,
            seconds: 8,
            blocks: Vec::new(),
            focus: [0.0, 0.0, 44.0],
            has_fairness: false,
            lockstep: None,
            others: 0,
            bad: None,
        }
    }

    fn moment(&self, recorded: &Recorded) -> Option<Moment> {
        let [a, b] = [PlayerId(0), PlayerId(1)];
        let late = |pane, player| {
            let at = |pane| Some(recorded.frames[turn(recorded, pane, player)?].at);
            Some(at(pane)?.as_seconds_f64() - at(0)?.as_seconds_f64())
        };
        let (own, other) = (late(1, a)?, late(1, b)?);
        let side = if own > 0.0 { "after" } else { "before" };
        let caption = format!(
            "B turned on A's screen **{:.0} ms** after it did on the server's; A itself **{:.0} ms {side}**.",
            other * 1000.0,
            own.abs() * 1000.0
        );
        Some(Moment { frame: turn(recorded, 1, b)?, caption, seconds: other, metres: 0.0 })
    }
}

/// The frame in which a pane shows a player farthest west, where it turns.
pub fn turn(recorded: &Recorded, pane: usize, player: PlayerId) -> Option<usize> {
    let near = |frame: &usize| {
        let at = recorded.frames[*frame].at.as_seconds_f64() as f32;
        (at - TURN_SECONDS).abs() < TURN_WITHIN_SECONDS
    };
    let x = |frame: &usize| recorded.person(*frame, pane, player).map(|shape| shape.place[0]);
    let frames = (0..recorded.frames.len()).filter(near).filter(|frame| x(frame).is_some());
    frames.min_by(|one, other| x(one).unwrap_or(0.0).total_cmp(&x(other).unwrap_or(0.0)))
}
