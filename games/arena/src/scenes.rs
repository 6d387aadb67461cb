//! Small scenes of two players whose moves are known beforehand: what the papers tell of lag compensation, as maps,
//! scripts, lines and models. Tests measure them; a stage can play them.

use crate::arena::Entity;
use crate::bot::{Act, Look, Script};
use crate::command::Command;
use crate::content::{Content, Mode, Tuning};
use crate::fighter::Fighter;
use crate::map::{Map, UNITS_PER_METRE};
use crate::target::TargetSet;
use crate::vector::{Bounds, Vector};
use sametick::{Model, PlayerId, Rates, Span, World};
use std::fmt::Write;

/// Who aims; it must be the first to join.
pub const SHOOTER: PlayerId = PlayerId(0);
/// Who is aimed at; the second to join.
pub const RUNNER: PlayerId = PlayerId(1);

/// How fast runners run: what an act keeps exactly.
pub const RUN_SPEED: f32 = 7.2;
/// The second of the game in which acts begin: all are in, and their clocks are set.
pub const BEGINS_AT: f64 = 4.0;
/// The corner that the runner hides behind has its edge here, in line with the shooter.
pub const CORNER_EDGE_X: f32 = 2.0;
/// Half the width of the trunk.
const TRUNK_METRES: f32 = 0.45;
const CIRCLE_METRES: f32 = 3.0;

/// Two players, what they do, and what lies between them.
///
/// ```
/// use sametick_arena::scenes::Scene;
///
/// let scene = Scene::corner();
/// assert_eq!(scene.model.name, "half_life");
/// // The shooter is far from the server, the runner is near.
/// assert!(scene.pings[0] > scene.pings[1]);
/// assert_eq!(Scene::all().len(), 4);
/// ```
#[derive(Clone, Debug)]
pub struct Scene {
    /// What it is called.
    pub name: &'static str,
    /// Where it is played.
    pub content: Content,
    /// What [`SHOOTER`] and [`RUNNER`] do.
    pub acts: [Act; 2],
    /// Who fires whenever the other is in sight on its own screen.
    pub fires: [bool; 2],
    /// How it is served and seen.
    pub model: Model,
    /// There and back, of each player's line.
    pub pings: [Span; 2],
    /// For how long the acts are worth watching.
    pub seconds: f32,
}

impl Scene {
    /// All of them.
    pub fn all() -> [Self; 4] {
        [Self::tree(), Self::corner(), Self::run_at_each_other(), Self::dash_across()]
    }

    /// Two circle a tree that stands between them at every moment (paper 001, section 1.1). Who has a long line sees
    /// the other where it was, and past the tree.
    pub fn tree() -> Self {
        let trunk = Bounds {
            low: [-TRUNK_METRES, -TRUNK_METRES, 0.0],
            high: [TRUNK_METRES, TRUNK_METRES, 4.0],
        };
        let circle = |angle: f32| Script::Circle {
            centre: [0.0; 3],
            radius: CIRCLE_METRES,
            angle,
            speed: RUN_SPEED,
        };
        let scripts = [circle(0.0), circle(std::f32::consts::PI)];
        Self {
            acts: acts(scripts, [Look::At(RUNNER), Look::At(SHOOTER)]),
            ..Self::new("tree", &[trunk], [[CIRCLE_METRES, 0.0, 0.0], [-CIRCLE_METRES, 0.0, 0.0]])
        }
    }

    /// One runs behind a corner again and again, and is shot around it by one with a long line (paper 003).
    pub fn corner() -> Self {
        let wall = Bounds { low: [CORNER_EDGE_X, -1.0, 0.0], high: [20.0, 0.0, 4.0] };
        let (cover, out, stand) = ([9.0, 3.0, 0.0], [-4.0, 3.0, 0.0], [CORNER_EDGE_X, -14.0, 0.0]);
        let peek =
            Script::Peek { cover, out, speed: RUN_SPEED, hidden_seconds: 0.8, out_seconds: 0.6 };
        Self {
            acts: acts([Script::Stand { at: stand }, peek], [Look::At(RUNNER), Look::Ahead]),
            ..Self::new("corner", &[wall], [stand, cover])
        }
    }

    /// Two run straight at each other, and back, and both fire (paper 003).
    pub fn run_at_each_other() -> Self {
        let strafe = |side: f32| Script::Strafe {
            from: [side * 14.0, 0.0, 0.0],
            to: [side * 2.0, 0.0, 0.0],
            speed: RUN_SPEED,
        };
        let scripts = [strafe(-1.0), strafe(1.0)];
        Self {
            acts: acts(scripts, [Look::At(RUNNER), Look::At(SHOOTER)]),
            fires: [true; 2],
            ..Self::new("run at each other", &[], [[-14.0, 0.0, 0.0], [14.0, 0.0, 0.0]])
        }
    }

    /// One dashes across in front of the other, looking ahead (paper 003).
    pub fn dash_across() -> Self {
        let (stand, from) = ([0.0, -12.0, 0.0], [-12.0, 0.0, 0.0]);
        let dash = Script::Strafe { from, to: [12.0, 0.0, 0.0], speed: RUN_SPEED };
        Self {
            acts: acts([Script::Stand { at: stand }, dash], [Look::At(RUNNER), Look::Ahead]),
            ..Self::new("dash across", &[], [stand, from])
        }
    }

    fn new(name: &'static str, brushes: &[Bounds], places: [Vector; 2]) -> Self {
        // So many snapshots that 150 ms of line, what is shown of them and a margin stay within what is rewound.
        let rates = Rates { ticks_per_snapshot: 1, ..Model::HALF_LIFE.rates };
        let stand = || Act::new(Script::Stand { at: [0.0; 3] });
        Self {
            name,
            content: stage(brushes, places),
            acts: [stand(), stand()],
            fires: [true, false],
            model: Model { rates, ..Model::HALF_LIFE },
            pings: [Span::millis(150), Span::millis(10)],
            seconds: 8.0,
        }
    }

    /// What a player asks for next, if this is what its screen shows and a tick takes `dt` seconds.
    pub fn think(&self, me: PlayerId, view: &World<Entity>, dt: f32) -> Command {
        let index = usize::from(me.0) % 2;
        let command = self.acts[index].think(view, me, &self.content, dt);
        let other = if me == SHOOTER { RUNNER } else { SHOOTER };
        let has_begun = f64::from(view.tick().0) * f64::from(dt) >= BEGINS_AT;
        let fire = self.fires[index] && has_begun && self.has_in_sight(view, me, other);
        Command { fire, ..command }
    }

    /// Whether a straight line joins the eye of one player and the middle of another in this world.
    pub fn has_in_sight(&self, world: &World<Entity>, of: PlayerId, other: PlayerId) -> bool {
        let (Some(eye), Some(bounds)) =
            (fighter(world, of).map(Fighter::eye), fighter(world, other).and_then(Fighter::bounds))
        else {
            return false;
        };
        self.content.map.visible(eye, bounds.centre())
    }

    /// Whether nothing of a body can be seen from an eye: all of its corners are behind cover.
    pub fn hides(&self, eye: Vector, body: Bounds) -> bool {
        (0..8).all(|corner| {
            let place = [0, 1, 2].map(|axis| [body.low, body.high][corner >> axis & 1][axis]);
            !self.content.map.visible(eye, place)
        })
    }
}

/// A player's fighter, if this world shows one.
pub fn fighter(world: &World<Entity>, player: PlayerId) -> Option<&Fighter> {
    world.all::<Fighter>().map(|(_, fighter)| fighter).find(|fighter| fighter.player == player.0)
}

pub(crate) fn acts(scripts: [Script; 2], looks: [Look; 2]) -> [Act; 2] {
    let [first, second] = scripts.map(|script| Act { begins_at: BEGINS_AT, ..Act::new(script) });
    [Act { look: looks[0], ..first }, Act { look: looks[1], ..second }]
}

/// A hall of 48 by 48 metres with these blocks in it, where the first player begins at the first place and the second
/// at the second. Its rifle scratches, so that a scene does not end with the sixth hit.
pub(crate) fn stage(blocks: &[Bounds], places: [Vector; 2]) -> Content {
    const SIDE: f32 = 24.0;
    let shell = [
        ([-SIDE, -SIDE, -1.0], [SIDE, SIDE, 0.0]),
        ([-SIDE, -SIDE, 6.0], [SIDE, SIDE, 7.0]),
        ([-SIDE - 1.0, -SIDE, 0.0], [-SIDE, SIDE, 6.0]),
        ([SIDE, -SIDE, 0.0], [SIDE + 1.0, SIDE, 6.0]),
        ([-SIDE, -SIDE - 1.0, 0.0], [SIDE, -SIDE, 6.0]),
        ([-SIDE, SIDE, 0.0], [SIDE, SIDE + 1.0, 6.0]),
    ]
    .map(|(low, high)| Bounds { low, high });
    let mut text = String::from("{\n\"classname\" \"worldspawn\"\n\"message\" \"Stage\"\n");
    shell.iter().chain(blocks).for_each(|block| write_block(&mut text, *block));
    text.push_str("}\n");
    for (place, team) in places.into_iter().zip(1..) {
        let [x, y, _] = place.map(|metres| metres * UNITS_PER_METRE);
        let keys = "\"classname\" \"info_player_deathmatch\"";
        _ = writeln!(text, "{{\n{keys}\n\"origin\" \"{x} {y} 25\"\n\"team\" \"{team}\"\n}}");
    }
    let mut tuning =
        Tuning { score_limit: 0, round_seconds: 0.0, pause_seconds: 0.1, ..Tuning::default() };
    let rifle = &mut tuning.weapons[0];
    (rifle.damage, rifle.knock, rifle.magazine) = (1.0, 0.0, u8::MAX);
    let map = Map::read(&text).expect("the stage is sound");
    let targets = TargetSet::default();
    Content { map, tuning, mode: Mode::Teams, targets, held_for: 0 }
}

fn write_block(text: &mut String, block: Bounds) {
    let units = |corner: Vector| corner.map(|metres| metres * UNITS_PER_METRE);
    let ([a, b, c], [x, y, z]) = (units(block.low), units(block.high));
    text.push_str("{\n");
    for face in [
        [[a, b, c], [a, b + 1.0, c], [a, b, c + 1.0]],
        [[x, y, z], [x, y, z + 1.0], [x, y + 1.0, z]],
        [[a, b, c], [a, b, c + 1.0], [a + 1.0, b, c]],
        [[x, y, z], [x + 1.0, y, z], [x, y, z + 1.0]],
        [[a, b, c], [a + 1.0, b, c], [a, b + 1.0, c]],
        [[x, y, z], [x, y + 1.0, z], [x + 1.0, y, z]],
    ] {
        for [x, y, z] in face {
            _ = write!(text, "( {x} {y} {z} ) ");
        }
        text.push_str("wall 0 0 0 1 1\n");
    }
    text.push_str("}\n");
}
