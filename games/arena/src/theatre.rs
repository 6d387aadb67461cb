//! The scenes that the theatre stages: two players, what lies between them, the two sentences that each scene claims,
//! and the moment at which it shows what it claims, measured.

mod bad_line;
mod moments;

use crate::arena::{Arena, Entity};
use crate::bot::{Act, Look, Script};
use crate::command::{AXIS_MAX, Command};
use crate::content::Content;
use crate::fighter::Fighter;
use crate::map::Map;
use crate::rocket::Rocket;
use crate::scenes::{BEGINS_AT, CORNER_EDGE_X, RUN_SPEED, RUNNER, SHOOTER, acts, fighter, stage};
use crate::vector::{Bounds, Vector, along, direction};
use crate::weapon::Weapon;
use crate::{body, scenes};
pub use bad_line::BadLine;
pub use moments::{approaches, passed_behind, pressed_and_moved};
use sametick::theatre::{Keys, Moment, Play, Poster, Recorded, Scene, Setup, Shape, ShapeKind};
use sametick::{Model, PlayerId, Span, World};

/// How long a bullet's way is drawn where nothing stops it.
const BULLET_METRES: f32 = 60.0;
/// Half the width of the tree: what A sees of B is old enough to pass it, what B sees of A is not.
const TRUNK_METRES: f32 = 0.45;
/// Half the sides of what flies.
const THING_METRES: f32 = 0.14;

/// One of the scenes.
#[derive(Clone, Debug)]
pub struct Staged {
    /// What a link calls it.
    pub key: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it claims.
    pub sentences: [&'static str; 2],
    /// The model it is played under unless another is wanted.
    pub model: Model,
    /// There and back in milliseconds, of A and of B.
    pub pings: [u64; 2],
    /// When nothing reaches A, in milliseconds of the scene.
    pub silent: Option<[u64; 2]>,
    /// For how long it is played.
    pub seconds: u64,
    /// What stands on the floor.
    pub blocks: Vec<Bounds>,
    /// Where to look, and how many metres are to be seen from left to right.
    pub focus: [f32; 3],
    content: Content,
    acts: [Act; 2],
    trigger: Trigger,
}

/// When A fires.
#[derive(Clone, Copy, Debug)]
enum Trigger {
    Never,
    /// Whenever A's screen shows B in sight.
    InSight,
    /// Whenever A's screen shows B in sight at a full run, this near to the middle.
    Running(f32),
    /// When A's screen shows B in sight, moving east, and east of here.
    Leaving(f32),
}

impl Staged {
    /// All of them, in the order of their keys on a keyboard.
    ///
    /// ```
    /// use sametick_arena::theatre::Staged;
    ///
    /// let keys = Staged::all().map(|scene| scene.key);
    /// assert_eq!(keys, ["cover", "step", "crossing", "peek", "tree", "rockets", "burst"]);
    /// assert_eq!(Staged::named("cover").unwrap().model.name, "half_life");
    /// ```
    pub fn all() -> [Self; 7] {
        [
            Self::cover(),
            Self::first_step(),
            Self::crossing(),
            Self::peek(),
            Self::tree(),
            Self::rockets(),
            Self::burst(),
        ]
    }

    /// The scene that a link calls so.
    pub fn named(key: &str) -> Option<Self> {
        Self::all().into_iter().find(|scene| scene.key == key)
    }

    fn cover() -> Self {
        let wall = Bounds { low: [CORNER_EDGE_X, -1.0, 0.0], high: [14.0, 0.0, 3.0] };
        let (cover, out, stand) = ([9.0, 3.0, 0.0], [-4.0, 3.0, 0.0], [CORNER_EDGE_X, -7.0, 0.0]);
        let run =
            Script::Peek { cover, out, speed: RUN_SPEED, hidden_seconds: 0.4, out_seconds: 0.4 };
        let mut scene = Self {
            key: "cover",
            title: "Behind cover",
            sentences: [
                "B runs behind a wall while A fires at what A's screen still shows.",
                "At the flash B is safe on B's own screen, and dies.",
            ],
            model: Model::HALF_LIFE,
            pings: [100, 30],
            focus: [2.2, -1.75, 15.4],
            acts: acts([Script::Stand { at: stand }, run], [Look::At(RUNNER), Look::Ahead]),
            trigger: Trigger::Leaving(CORNER_EDGE_X - 0.35),
            ..Self::new(&[wall], [stand, cover])
        };
        let rifle = &mut scene.content.tuning.weapons[0];
        (rifle.damage, rifle.interval) = (100.0, 1.0);
        scene
    }

    fn first_step() -> Self {
        let (stand, aside) = ([-8.0, 0.0, 0.0], [0.0, 3.0, 0.0]);
        let walk = |forward| Command { forward, ready: true, ..Command::default() };
        let keys = Script::Keys(vec![
            (0.0, walk(0)),
            (1.5, walk(AXIS_MAX)),
            (3.0, walk(0)),
            (4.5, walk(-AXIS_MAX)),
            (5.5, walk(0)),
        ]);
        let step =
            Script::Cross { from: aside, to: [0.0; 3], speed: RUN_SPEED, wait_seconds: 1.95 };
        Self {
            key: "step",
            title: "First step",
            sentences: [
                "A presses forward, and B steps into the way.",
                "Under quake nothing moves for a round trip; under quakeworld A moves at once and is put right at \
                 the bump.",
            ],
            model: Model::QUAKE,
            pings: [150, 30],
            seconds: 8,
            focus: [-3.0, 0.5, 14.0],
            acts: acts([keys, step], [Look::Ahead, Look::To([0.0, -20.0, 1.5])]),
            trigger: Trigger::Never,
            ..Self::new(&[], [stand, aside])
        }
    }

    fn crossing() -> Self {
        let (stand, from) = ([0.0, -9.0, 0.0], [-10.0, 0.0, 0.0]);
        let dash = Script::Strafe { from, to: [10.0, 0.0, 0.0], speed: RUN_SPEED };
        let mut scene = Self {
            key: "crossing",
            title: "Crossing",
            sentences: [
                "B crosses and A fires with the crosshair exactly on B.",
                "Every shot misses, by speed × delay; half_life makes the same shots hit.",
            ],
            model: Model::QUAKE3,
            pings: [100, 30],
            focus: [0.0, -3.5, 19.0],
            acts: acts([Script::Stand { at: stand }, dash], [Look::At(RUNNER), Look::Ahead]),
            trigger: Trigger::Running(6.0),
            ..Self::new(&[], [stand, from])
        };
        scene.content.tuning.weapons[0].interval = 0.35;
        scene
    }

    fn peek() -> Self {
        let wall = Bounds { low: [CORNER_EDGE_X, -1.0, 0.0], high: [14.0, 0.0, 3.0] };
        let (cover, out) = ([8.0, 2.0, 0.0], [-3.0, 2.0, 0.0]);
        let watch = [-4.0, -8.0, 0.0];
        let swing =
            Script::Peek { cover, out, speed: RUN_SPEED, hidden_seconds: 1.2, out_seconds: 0.8 };
        Self {
            key: "peek",
            title: "Peek",
            sentences: [
                "A swings round a corner that B is watching.",
                "The bars show how long A saw B before B could see A.",
            ],
            model: Model::HALF_LIFE,
            pings: [60, 60],
            focus: [1.5, -2.6, 17.0],
            acts: acts([swing, Script::Stand { at: watch }], [Look::At(RUNNER), Look::At(SHOOTER)]),
            trigger: Trigger::Never,
            ..Self::new(&[wall], [cover, watch])
        }
    }

    fn tree() -> Self {
        let tree = scenes::Scene::tree();
        let trunk = Bounds {
            low: [-TRUNK_METRES, -TRUNK_METRES, 0.0],
            high: [TRUNK_METRES, TRUNK_METRES, 4.0],
        };
        let mut scene = Self {
            key: "tree",
            title: "Tree",
            sentences: [
                "They circle a tree that, on B's screen, is always between them.",
                "A's screen shows no tree in the way; switch on \"clear line now\" and the hits stop.",
            ],
            model: Model::HALF_LIFE,
            pings: [120, 20],
            focus: [0.0, 0.0, 10.0],
            acts: tree.acts,
            trigger: Trigger::InSight,
            ..Self::new(&[trunk], [[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]])
        };
        // So seldom that B outlives the scene.
        scene.content.tuning.weapons[0].interval = 0.15;
        scene
    }

    fn rockets() -> Self {
        let (stand, from) = ([0.0, -12.0, 0.0], [-11.0, 0.0, 0.0]);
        let dash = Script::Strafe { from, to: [11.0, 0.0, 0.0], speed: RUN_SPEED };
        let mut scene = Self {
            key: "rockets",
            title: "Rockets",
            sentences: [
                "A rocket lives in the present, so one that meets B on A's screen passes behind B.",
                "Under doom3 it meets B, until B turns.",
            ],
            model: Model::QUAKE3,
            pings: [120, 40],
            focus: [0.0, -5.6, 24.0],
            acts: acts([Script::Stand { at: stand }, dash], [Look::Lead(RUNNER), Look::Ahead]),
            trigger: Trigger::InSight,
            ..Self::new(&[], [stand, from])
        };
        scene.acts[0].weapon = Weapon::Launcher;
        let launcher = &mut scene.content.tuning.weapons[Weapon::Launcher.index()];
        (launcher.damage, launcher.knock, launcher.magazine) = (1.0, 0.0, u8::MAX);
        scene
    }

    fn burst() -> Self {
        let (stand, from) = ([-2.0, -8.0, 0.0], [-10.0, 0.0, 0.0]);
        let run = Script::Strafe { from, to: [6.0, 0.0, 0.0], speed: RUN_SPEED };
        // A looks at one place: what it sees changes nothing of what it does.
        let look = Look::To([-2.0, 0.0, 1.5]);
        Self {
            key: "burst",
            title: "Burst",
            sentences: [
                "For half a second nothing reaches A.",
                "Compare which models freeze, run on for a moment, or guess well.",
            ],
            model: Model::QUAKEWORLD,
            pings: [80, 30],
            silent: Some([2900, 3400]),
            seconds: 8,
            focus: [-1.5, -2.5, 19.0],
            acts: acts([Script::Stand { at: stand }, run], [look, Look::Ahead]),
            trigger: Trigger::Never,
            ..Self::new(&[], [stand, from])
        }
    }

    fn new(blocks: &[Bounds], places: [Vector; 2]) -> Self {
        let mut content = stage(blocks, places);
        // Panes are looked at from above: whoever is behind a wall is drawn there.
        content.tuning.sees_all = true;
        let stand = || Act::new(Script::Stand { at: [0.0; 3] });
        Self {
            key: "",
            title: "",
            sentences: [""; 2],
            model: Model::HALF_LIFE,
            pings: [0; 2],
            silent: None,
            seconds: 12,
            blocks: blocks.to_vec(),
            focus: [0.0; 3],
            content,
            acts: [stand(), stand()],
            trigger: Trigger::Never,
        }
    }

    /// How it is staged unless something else is wanted.
    pub fn setup(&self) -> Setup {
        self.poster().setup()
    }

    /// The map, for whoever measures sight.
    pub fn map(&self) -> &Map {
        &self.content.map
    }
}

impl Scene for Staged {
    fn poster(&self) -> Poster {
        Poster {
            key: self.key,
            title: self.title,
            sentences: self.sentences,
            model: self.model,
            pings: self.pings,
            silent: self.silent,
            begins: Span::from_millis_f64(BEGINS_AT * 1000.0),
            seconds: self.seconds,
            blocks: self.blocks.iter().map(|block| [block.low, block.high]).collect(),
            focus: self.focus,
            has_fairness: matches!(self.key, "cover" | "tree"),
            lockstep: None,
            others: 0,
            bad: None,
        }
    }

    fn moment(&self, recorded: &Recorded) -> Option<Moment> {
        moments::find(self, recorded)
    }

    fn sees(&self, shown: &Recorded, frame: usize, pane: usize, who: [PlayerId; 2]) -> bool {
        let [of, other] = who.map(|player| shown.person(frame, pane, player));
        let (Some(of), Some(other)) = (of, other) else { return false };
        self.map().visible(moments::eye(of), moments::middle(other))
    }
}

impl Play for Staged {
    type Game = Arena;

    fn content(&self) -> Content {
        self.content.clone()
    }

    fn command(&self, me: PlayerId, view: &World<Entity>, dt: f32) -> Command {
        let index = usize::from(me.0) % 2;
        let command = self.acts[index].think(view, me, &self.content, dt);
        let has_begun = f64::from(view.tick().0) * f64::from(dt) >= BEGINS_AT;
        let other = fighter(view, if me == SHOOTER { RUNNER } else { SHOOTER });
        let (Some(own), Some(other)) = (fighter(view, me), other) else { return command };
        let middle = other.bounds().map(Bounds::centre);
        let in_sight = middle.is_some_and(|middle| self.content.map.visible(own.eye(), middle));
        let wants = match self.trigger {
            Trigger::Never => false,
            Trigger::InSight => true,
            Trigger::Running(x) => {
                other.velocity[0].abs() > 0.95 * RUN_SPEED && other.position[0].abs() < x
            }
            Trigger::Leaving(x) => other.velocity[0] > 1.0 && other.position[0] > x,
        };
        Command { fire: me == SHOOTER && has_begun && in_sight && wants, ..command }
    }

    fn steered(&self, by_itself: Command, keys: Keys) -> Command {
        let wish = [f32::from(keys.east), f32::from(keys.north)];
        let length = libm::sqrtf(wish[0] * wish[0] + wish[1] * wish[1]).max(1.0);
        let (sin, cos) = (libm::sinf(by_itself.yaw), libm::cosf(by_itself.yaw));
        let axis = |share: f32| libm::roundf(share / length * f32::from(AXIS_MAX)) as i8;
        Command {
            forward: axis(wish[0] * cos + wish[1] * sin),
            right: axis(wish[0] * sin - wish[1] * cos),
            fire: keys.fire,
            ..by_itself
        }
    }

    fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
        for (id, own) in world.all::<Fighter>() {
            into.push(Shape {
                id,
                kind: ShapeKind::Person,
                owner: Some(PlayerId(own.player)),
                place: own.position,
                size: [body::RADIUS_METRES, body::height(own.is_crouched)],
                facing: own.yaw,
                pitch: own.pitch,
                is_alive: own.is_alive(),
                is_unofficial: false,
            });
        }
        for (id, rocket) in world.all::<Rocket>() {
            let [x, y, z] = rocket.position;
            into.push(Shape {
                id,
                kind: if rocket.is_burst { ShapeKind::Burst } else { ShapeKind::Thing },
                owner: world.owner(id),
                place: [x, y, z - THING_METRES],
                size: [THING_METRES, 2.0 * THING_METRES],
                facing: libm::atan2f(rocket.velocity[1], rocket.velocity[0]),
                pitch: 0.0,
                is_alive: !rocket.is_burst,
                is_unofficial: false,
            });
        }
    }

    fn shot(&self, world: &World<Entity>, by: PlayerId) -> Option<[Vector; 2]> {
        let own = fighter(world, by)?;
        let (eye, aim) = (own.eye(), direction(own.yaw, own.pitch));
        Some([eye, self.content.map.ray(eye, along(eye, aim, BULLET_METRES)).end])
    }
}
