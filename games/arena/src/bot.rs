//! Players without hands. A [`Bot`] fights: it knows what its player's client would show, finds its way, aims as
//! badly as a person of its skill, and asks for a [`Command`] each tick. An [`Act`] plays a script, for experiments.
//!
//! No clock, no chance but a seed of its own: the same views give the same commands, on every machine.
//!
//! ```
//! use sametick::{Alone, PlayerId, Span};
//! use sametick_arena::bot::{Bot, Skill, Ways};
//! use sametick_arena::{Arena, Content, Mode, map};
//! use std::sync::Arc;
//!
//! let content = Content::new(map::CORNERS, Mode::FreeForAll)?;
//! let ways = Arc::new(Ways::new(&content));
//! let mut bot = Bot::new(Skill::level(3), 7, ways);
//! let mut game = Alone::<Arena>::new(content.clone(), 1, Span::micros(16_667));
//! game.join(PlayerId(0));
//! for _ in 0..60 {
//!     let command = bot.think(game.world(), PlayerId(0), &content, 1.0 / 60.0);
//!     game.step([(PlayerId(0), command)])?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `ways`, `survey` | where one can go on a map, and how that is found out |
//! | `skill` | what makes a bot good, in one table |
//! | `sense`, `eyes` | what a bot sees, and whom it notices |
//! | `mind` | what it is after |
//! | `name` | what it is called |
//! | `legs`, `hands`, `arms` | how it moves, aims and arms itself |
//! | `act` | scripts |
//! | `tally` | what bots did in a match |

mod act;
mod arms;
mod eyes;
mod hands;
mod legs;
mod mind;
mod name;
mod sense;
mod skill;
mod survey;
mod tally;
mod ways;

pub use act::{Act, Look, Script};
pub use skill::{SKILLS, Skill};
pub use tally::{RANGE_METRES, RANGES, Tally};
pub use ways::{Leg, Link, Way, Ways};

use crate::arena::Entity;
use crate::body;
use crate::command::{AXIS_MAX, Command};
use crate::content::Content;
use crate::fighter::Fighter;
use crate::rocket::ROCKET_SPEED;
use crate::target::Target;
use crate::vector::{Bounds, Vector, along, length, subtract};
use crate::weapon::Weapon;
use arms::Arms;
use eyes::Eyes;
use hands::{Aim, Hands, lead};
use legs::{Legs, Step, level, unit};
use mind::{Mind, Mood};
use name::Name;
use sametick::{Dice, EntityId, PlayerId, World};
use sense::Sense;
use std::sync::Arc;

/// How far to the side a bot looks for a wall before it steps there.
const SIDESTEP_METRES: f32 = 0.9;
/// How often the feet look where they go in a fight.
const FOOTING_SECONDS: f64 = 0.1;
/// How far up a body one aims, of its height.
const CHEST_SHARE: f32 = 0.62;

/// A player that the machine plays.
#[derive(Clone, Debug)]
pub struct Bot {
    skill: Skill,
    ways: Arc<Ways>,
    dice: Dice,
    /// For how long it has been there.
    seconds: f64,
    own: Option<EntityId>,
    eyes: Eyes,
    mind: Mind,
    legs: Legs,
    hands: Hands,
    arms: Arms,
    name: Name,
    /// In a fight: the side it goes to, until when, and how its feet last decided.
    side: f32,
    side_until: f64,
    footing: [f32; 2],
    footing_until: f64,
    /// Whether it stays where it is and only looks, aims and fires.
    pub is_rooted: bool,
}

impl Bot {
    /// A bot of a skill that knows the ways of the map; the seed makes it different from others.
    pub fn new(skill: Skill, seed: u64, ways: Arc<Ways>) -> Self {
        Self {
            skill,
            ways,
            dice: Dice::new(seed, 0xb07),
            seconds: 0.0,
            own: None,
            eyes: Eyes::default(),
            mind: Mind::default(),
            legs: Legs::default(),
            hands: Hands::default(),
            arms: Arms::default(),
            name: Name::default(),
            side: 1.0,
            side_until: 0.0,
            footing: [0.0; 2],
            footing_until: 0.0,
            is_rooted: false,
        }
    }

    /// What it asks for next, if this is what its player's view shows and a tick takes `dt` seconds.
    pub fn think(
        &mut self,
        world: &World<Entity>,
        me: PlayerId,
        content: &Content,
        dt: f32,
    ) -> Command {
        self.seconds += f64::from(dt);
        let (yaw, pitch) = (self.hands.yaw, self.hands.pitch);
        let mut command = Command { yaw, pitch, ready: true, ..Command::default() };
        self.name.spell(world, me, &mut command);
        let Some(own) = self.find_own(world, me).filter(|own| own.is_alive()) else {
            self.rest();
            return command;
        };
        let sense = Sense { world, content, own, now: self.seconds, dt };
        self.eyes.look(&sense, &self.skill, (yaw, pitch));
        let with = (&mut self.eyes, &mut self.legs);
        self.mind.think(&sense, with, (&self.skill, &self.ways), &mut self.dice);
        let step = match self.aim_at(&sense) {
            Some((bounds, velocity)) => {
                self.fight(&sense, bounds, velocity, &mut command);
                if self.mind.mood == Mood::Hide {
                    self.travel(&sense)
                } else {
                    self.dance(&sense, bounds, command.weapon)
                }
            }
            None => {
                (command.weapon, command.reload) = self.arms.rest(own, content, self.seconds);
                let step = self.travel(&sense);
                self.look_ahead(&sense, step);
                step
            }
        };
        (command.yaw, command.pitch) = (self.hands.yaw, self.hands.pitch);
        if !self.is_rooted {
            [command.forward, command.right] = axes(step.way, command.yaw);
            command.jump = step.jump;
        }
        command
    }

    /// Sends it to a place, where it stays as long as it sees nobody; with none it decides again by itself.
    pub fn send(&mut self, place: Option<Vector>) {
        self.mind.errand = place;
    }

    /// Gives it a name for the score table: printable ASCII, the first 16 letters.
    pub fn call(&mut self, name: &str) {
        self.name = Name::new(name);
    }

    /// How good it is.
    pub fn skill(&self) -> &Skill {
        &self.skill
    }

    /// The enemy it fights, if it sees one.
    pub fn target(&self) -> Option<EntityId> {
        self.eyes.target(self.seconds, &self.skill).map(|target| target.id)
    }

    /// What it is after, in a word.
    pub fn mood(&self) -> &'static str {
        match self.mind.mood {
            Mood::Roam => "roam",
            Mood::Take(_) => "take",
            Mood::Hunt => "hunt",
            Mood::Fight => "fight",
            Mood::Hide => "hide",
            Mood::Peek => "peek",
        }
    }

    /// How often it was stuck and went another way.
    pub fn stuck_count(&self) -> u32 {
        self.legs.stuck_count
    }

    fn find_own<'w>(&mut self, world: &'w World<Entity>, me: PlayerId) -> Option<&'w Fighter> {
        let known = self.own.filter(|id| world.owner(*id) == Some(me));
        self.own = known.or_else(|| world.owned::<Fighter>(me).map(|(id, _)| id));
        world.get(self.own?)
    }

    /// Forgets what a dead one need not know.
    fn rest(&mut self) {
        (self.eyes, self.mind) = (Eyes::default(), Mind::sent(self.mind.errand));
        self.legs.stop();
    }

    /// What it fights, where that is now and how fast it moves.
    fn aim_at(&self, sense: &Sense<'_>) -> Option<(Bounds, Vector)> {
        let target = self.eyes.target(sense.now, &self.skill)?;
        match sense.world.entity(target.id)? {
            Entity::Fighter(fighter) => Some((fighter.bounds()?, fighter.velocity)),
            Entity::Target(Target { velocity, .. }) => Some((bounds(sense, target.id)?, *velocity)),
            _ => None,
        }
    }

    /// Aims and fires.
    fn fight(
        &mut self,
        sense: &Sense<'_>,
        bounds: Bounds,
        velocity: Vector,
        command: &mut Command,
    ) {
        let (own, skill) = (sense.own, &self.skill);
        let Some(id) = self.eyes.remembered().map(|enemy| enemy.id) else { return };
        let eye = own.eye();
        let metres = length(subtract(bounds.centre(), eye)).max(0.5);
        let weapon = self.arms.choose(own, metres, skill, sense.now, &mut self.dice);
        command.weapon = weapon;
        let height = bounds.high[2] - bounds.low[2];
        // Rockets at the feet of those who are not above: a miss bursts near them.
        let is_above = bounds.low[2] > own.position[2] + 0.5;
        let share = if weapon == Weapon::Launcher && !is_above { 0.1 } else { CHEST_SHARE };
        let [x, y, _] = bounds.centre();
        let mut off = subtract([x, y, bounds.low[2] + height * share], eye);
        if weapon == Weapon::Launcher {
            off = lead(off, velocity, ROCKET_SPEED, skill.foresight);
        }
        let run_share = level(own.velocity) / sense.content.tuning.run_speed;
        let aim = Aim { id, off, velocity: subtract(velocity, own.velocity), run_share };
        self.hands.follow(&aim, skill, &mut self.dice, sense.dt);
        // Targets are of any size.
        let half = bounds.half()[0];
        let is_body = (half - body::RADIUS_METRES).abs() < 0.005;
        let radius = if is_body { body::RADIUS_METRES } else { half };
        let width = match weapon {
            Weapon::Rifle => radius * 1.3,
            Weapon::Shotgun | Weapon::Launcher => radius * 2.0,
        };
        let is_safe = weapon != Weapon::Launcher || {
            let (from, to) =
                (eye, along(eye, crate::vector::direction(self.hands.yaw, self.hands.pitch), 4.0));
            metres > 4.0 && sense.content.map.visible(from, to)
        };
        let fires = self.hands.fires(libm::atan2f(width, metres), skill, sense.dt);
        command.fire = fires && is_safe;
    }

    /// Where the feet go while one fights: to a good distance, and from side to side.
    fn dance(&mut self, sense: &Sense<'_>, bounds: Bounds, weapon: Weapon) -> Step {
        let own = sense.own;
        if sense.now >= self.side_until {
            self.side = if self.dice.chance(0.5) { 1.0 } else { -1.0 };
            let mean = 1.0 / f64::from(self.skill.dodges_per_second);
            self.side_until = sense.now + mean * (0.5 + self.dice.unit());
        }
        if sense.now >= self.footing_until {
            self.footing_until = sense.now + FOOTING_SECONDS;
            let off = subtract(bounds.centre(), own.position);
            let [x, y] = unit(off);
            let nearer = ((level(off) - arms::preferred_metres(weapon)) / 5.0).clamp(-1.0, 1.0);
            let aside = self.side * 0.8;
            let ways = [
                [x * nearer - y * aside, y * nearer + x * aside],
                [x * nearer + y * aside, y * nearer - x * aside],
                [-y * aside, x * aside],
                [y * aside, -x * aside],
            ];
            let ways = ways.map(|[x, y]| unit([x, y, 0.0]));
            let open = ways.iter().position(|way| sense.is_open(*way, SIDESTEP_METRES));
            if open.is_some_and(|index| index % 2 == 1) {
                self.side = -self.side;
            }
            self.footing = open.map_or([0.0; 2], |index| ways[index]);
        }
        let jumps = f64::from(self.skill.jumps_per_second * sense.dt);
        Step { way: self.footing, jump: own.is_grounded && self.dice.chance(jumps) }
    }

    fn travel(&mut self, sense: &Sense<'_>) -> Step {
        if self.is_rooted {
            self.legs.stop();
            return Step::default();
        }
        self.legs.step(&self.ways, sense, &mut self.dice)
    }

    /// Looks where an enemy may come from, or where it goes.
    fn look_ahead(&mut self, sense: &Sense<'_>, step: Step) {
        let eye = sense.own.eye();
        let waits = matches!(self.mind.mood, Mood::Hunt | Mood::Peek | Mood::Hide | Mood::Fight);
        let enemy = self.eyes.remembered().filter(|_| waits).map(|enemy| enemy.bounds.centre());
        let ahead = self.legs.ahead(&self.ways).map(|feet| body::eye(feet, false));
        let straight = along(eye, [step.way[0], step.way[1], 0.0], 5.0);
        let mut off = subtract(enemy.or(ahead).unwrap_or(straight), eye);
        if level(off) < 1.0 {
            off = crate::vector::direction(self.hands.yaw, 0.0);
        }
        self.hands.look(off, &self.skill, sense.dt);
    }
}

fn bounds(sense: &Sense<'_>, id: EntityId) -> Option<Bounds> {
    sense.world.entity(id)?.bounds()
}

/// The axes of a command that moves this way on the level, for someone who looks there; the way's length is the share
/// of a full run.
fn axes([x, y]: [f32; 2], yaw: f32) -> [i8; 2] {
    let (sine, cosine) = libm::sincosf(yaw);
    let (forward, right) = (x * cosine + y * sine, x * sine - y * cosine);
    let share = (x * x + y * y).sqrt();
    // At a full run the larger axis is full: the rules shorten what is too long.
    let most = f32::from(AXIS_MAX);
    let times = if share > 0.97 { most / forward.abs().max(right.abs()).max(0.01) } else { most };
    [forward, right].map(|axis| libm::roundf(axis * times).clamp(-most, most) as i8)
}
