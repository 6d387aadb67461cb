//! What a fighter looks like: a capsule, a box for a head, a dark visor that shows where it looks, a gun. It moves as
//! its velocity says, never in a loop; who dies becomes twelve cubes.

use crate::colours::{self, Colour};
use crate::scene::{Light, Scene, instance, rod};
use sametick::{EntityId, World};
use sametick_arena::vector::{Vector, add, cross, direction, dot, length, scale, subtract, unit};
use sametick_arena::{Entity, Fighter, Weapon, body};
use std::collections::BTreeMap;

/// The most that a runner leans: 8 degrees.
const LEAN_MAX: f32 = 8.0 * std::f32::consts::PI / 180.0;
/// How long one is squashed after a landing.
const SQUASH_SECONDS: f32 = 0.12;
/// How long a gun is thrown back.
pub(crate) const RECOIL_SECONDS: f32 = 0.06;
/// How far one walks from one step to the next.
pub(crate) const STRIDE_METRES: f32 = 1.9;
/// One's own gun is drawn smaller, because it is nearer than one's hands would be.
const HANDS_SCALE: f32 = 0.55;
/// How much of the way to the right lean is left after a second.
const LEAN_EASE: f32 = 12.0;
/// Ticks that a figure is remembered after it was last seen.
const FORGET_SECONDS: f32 = 2.0;

/// How one fighter moves, for the eye.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figure {
    /// Forwards and to the right, in radians.
    lean: [f32; 2],
    /// How far it has walked.
    pub(crate) walked: f32,
    squash: f32,
    recoil: f32,
    was_grounded: bool,
    teleports: u8,
    unseen: f32,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    known: BTreeMap<EntityId, Figure>,
}

/// What was heard of a figure while time passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Heard {
    /// A foot came down.
    Step(Vector),
}

impl Figures {
    /// Lets time pass.
    pub(crate) fn pass(
        &mut self,
        world: &World<Entity>,
        seconds: f32,
        mut hear: impl FnMut(EntityId, Heard),
    ) {
        for figure in self.known.values_mut() {
            figure.unseen += seconds;
        }
        for (id, fighter) in world.all::<Fighter>().filter(|(_, fighter)| fighter.is_alive()) {
            let figure = self.known.entry(id).or_default();
            if figure.pass(fighter, seconds) {
                hear(id, Heard::Step(fighter.position));
            }
        }
        self.known.retain(|_, figure| figure.unseen < FORGET_SECONDS);
    }

    /// Its gun went off.
    pub(crate) fn kick(&mut self, id: EntityId) {
        self.known.entry(id).or_default().recoil = RECOIL_SECONDS;
    }

    /// How one moves; at rest if it is not known.
    pub(crate) fn get(&self, id: EntityId) -> Figure {
        self.known.get(&id).copied().unwrap_or_default()
    }

    /// A whole fighter.
    pub(crate) fn draw(&self, id: EntityId, fighter: &Fighter, colour: Colour, scene: &mut Scene) {
        self.get(id).draw(fighter, colour, scene);
    }
}

impl Figure {
    /// Whether a foot came down.
    fn pass(&mut self, fighter: &Fighter, seconds: f32) -> bool {
        let jumped = fighter.teleports != self.teleports;
        if jumped {
            *self = Self { teleports: fighter.teleports, was_grounded: true, ..Self::default() };
        }
        self.unseen = 0.0;
        let (forward, right) = level_axes(fighter.yaw);
        let speed = [dot(fighter.velocity, forward), dot(fighter.velocity, right)];
        let ease = 1.0 - (-LEAN_EASE * seconds).exp();
        for (lean, speed) in self.lean.iter_mut().zip(speed) {
            *lean += ((speed / 8.0).clamp(-1.0, 1.0) * LEAN_MAX - *lean) * ease;
        }
        if fighter.is_grounded && !self.was_grounded {
            self.squash = SQUASH_SECONDS;
        }
        self.was_grounded = fighter.is_grounded;
        self.squash = (self.squash - seconds).max(0.0);
        self.recoil = (self.recoil - seconds).max(0.0);
        let flat = length([fighter.velocity[0], fighter.velocity[1], 0.0]);
        let before = self.walked;
        if fighter.is_grounded {
            self.walked += flat * seconds;
        }
        let steps = |metres: f32| (metres / STRIDE_METRES) as u32;
        steps(self.walked) != steps(before)
    }

    /// How far the gun is thrown back, of its way.
    pub(crate) fn recoil(&self) -> f32 {
        self.recoil / RECOIL_SECONDS
    }

    /// How high the step is at present: 0 to 1.
    pub(crate) fn bob(&self) -> f32 {
        (self.walked / STRIDE_METRES * std::f32::consts::PI).sin().abs()
    }

    fn draw(&self, fighter: &Fighter, colour: Colour, scene: &mut Scene) {
        let (forward, right) = level_axes(fighter.yaw);
        let [ahead, aside] = self.lean;
        let up =
            unit(add([0.0, 0.0, 1.0], add(scale(forward, ahead.sin()), scale(right, aside.sin()))));
        let front = unit(subtract(forward, scale(up, dot(forward, up))));
        let side = cross(front, up);
        let squash = 1.0 - 0.22 * (self.squash / SQUASH_SECONDS * std::f32::consts::PI).sin();
        let tall = body::height(fighter.is_crouched) / body::STANDING_METRES * squash;
        let wide = 1.0 + (1.0 - squash) * 0.6;
        let feet = add(fighter.position, [0.0, 0.0, 0.06 * self.bob()]);
        let at = |height: f32, across: f32, depth: f32| {
            add(feet, add(scale(up, height * tall), add(scale(side, across), scale(front, depth))))
        };
        let radius = 0.35 * wide;
        let body = [scale(side, radius * 2.0), scale(front, radius * 2.0), scale(up, 0.66 * tall)];
        scene.person_capsules.push(instance(at(0.68, 0.0, 0.0), body, colour, Light::Person));
        // The head looks where the player does.
        let aim = direction(fighter.yaw, fighter.pitch.clamp(-0.9, 0.9));
        let head_up = unit(cross(side, aim));
        let head = at(1.53, 0.0, 0.02);
        let size = |across: f32, depth: f32, height: f32| {
            [scale(side, across), scale(aim, depth), scale(head_up, height)]
        };
        let pale = colours::mix(colour, colours::PAPER, 0.28);
        scene.person_boxes.push(instance(head, size(0.36, 0.36, 0.36), pale, Light::Person));
        let visor = add(head, add(scale(aim, 0.14), scale(head_up, 0.03)));
        scene.person_boxes.push(instance(
            visor,
            size(0.38, 0.14, 0.13),
            colours::INK,
            Light::Person,
        ));
        self.draw_gun(fighter, at(1.2, 0.3, 0.0), (aim, head_up, side), scene);
    }

    fn draw_gun(
        &self,
        fighter: &Fighter,
        hand: Vector,
        (aim, up, side): (Vector, Vector, Vector),
        scene: &mut Scene,
    ) {
        let hand = add(hand, scale(aim, -0.12 * self.recoil()));
        for (depth, size, colour) in gun(fighter.weapon) {
            let axes = [scale(side, size[0]), scale(aim, size[1]), scale(up, size[2])];
            let middle = add(hand, add(scale(aim, depth[1]), scale(up, depth[2])));
            scene.person_boxes.push(instance(middle, axes, colour, Light::Person));
        }
    }
}

/// The parts of a gun: where (side, ahead, up), how large, and in which colour.
fn gun(weapon: Weapon) -> Vec<(Vector, Vector, Colour)> {
    let dark = colours::mix(colours::INK, colours::SLATE, 0.35);
    match weapon {
        Weapon::Rifle => vec![
            ([0.0, 0.22, 0.0], [0.08, 0.62, 0.11], dark),
            ([0.0, 0.62, 0.02], [0.045, 0.28, 0.045], colours::INK),
            ([0.0, 0.24, -0.12], [0.06, 0.1, 0.18], colours::INK),
        ],
        Weapon::Shotgun => vec![
            ([0.0, 0.15, 0.0], [0.1, 0.5, 0.12], dark),
            ([0.0, 0.55, 0.02], [0.09, 0.42, 0.07], colours::INK),
        ],
        Weapon::Launcher => vec![
            ([0.0, 0.2, 0.03], [0.17, 0.85, 0.17], dark),
            ([0.0, 0.64, 0.03], [0.2, 0.1, 0.2], colours::INK),
        ],
    }
}

/// Where bullets leave the gun of a fighter that others see.
pub(crate) fn muzzle(fighter: &Fighter) -> Vector {
    let (_, right) = level_axes(fighter.yaw);
    let aim = direction(fighter.yaw, fighter.pitch);
    let shoulder = body::height(fighter.is_crouched) * 1.2 / body::STANDING_METRES;
    add(add(fighter.position, [0.0, 0.0, shoulder]), add(scale(right, 0.3), scale(aim, 0.8)))
}

/// Where one's own bullets are first seen: a little before one's own gun, lest they fill the screen.
pub(crate) fn own_muzzle(eye: Vector, yaw: f32, pitch: f32) -> Vector {
    let (_, right) = level_axes(yaw);
    let ahead = scale(direction(yaw, pitch), 1.3);
    add(eye, add(ahead, add(scale(right, 0.22), [0.0, 0.0, -0.2])))
}

/// One's own gun, before one's own eyes.
pub(crate) fn hands(
    camera: &crate::camera::Camera,
    fighter: &Fighter,
    figure: Figure,
    lowered: f32,
    scene: &mut Scene,
) {
    let (aim, right, up) = (camera.forward(), camera.right(), camera.up());
    let sway = (figure.walked / STRIDE_METRES * std::f32::consts::PI).sin() * 0.012;
    let place = [
        0.17 + sway,
        0.3 - 0.06 * figure.recoil(),
        -0.17 - 0.012 * figure.bob() - 0.25 * lowered + 0.012 * figure.recoil(),
    ];
    let at = |off: Vector| {
        let [side, ahead, above] = [0, 1, 2].map(|axis| place[axis] + off[axis] * HANDS_SCALE);
        add(camera.eye, add(scale(right, side), add(scale(aim, ahead), scale(up, above))))
    };
    for (off, size, colour) in gun(fighter.weapon) {
        let [x, y, z] = scale(size, HANDS_SCALE);
        let axes = [scale(right, x), scale(aim, y), scale(up, z)];
        scene.hands.push(instance(at(off), axes, colour, Light::Person));
    }
    // A mark of one's own colour, so that the eye knows whose hands these are.
    let axes = [scale(right, 0.047), scale(aim, 0.035), scale(up, 0.063)];
    scene.hands.push(instance(at([0.0, 0.36, 0.0]), axes, colours::OWN, Light::Person));
}

/// The outline of where the server has someone: a dashed box.
pub(crate) fn ghost(fighter: &Fighter, scene: &mut Scene) {
    let Some(bounds) = fighter.bounds() else { return };
    let mut edges = Scene::default();
    edges.add_edges(bounds);
    for [from, to] in edges.edges {
        let way = subtract(to, from);
        let dashes = (length(way) / 0.16).ceil().max(1.0);
        for dash in 0..dashes as u32 {
            let part = |share: f32| add(from, scale(way, (dash as f32 + share) / dashes));
            scene.boxes.push(rod(part(0.2), part(0.8), 0.02, colours::INK, Light::Shining));
        }
    }
}

fn level_axes(yaw: f32) -> (Vector, Vector) {
    let (sine, cosine) = yaw.sin_cos();
    ([cosine, sine, 0.0], [sine, -cosine, 0.0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::World;

    fn runner(velocity: Vector) -> Fighter {
        Fighter { health: 100, velocity, is_grounded: true, ..Fighter::default() }
    }

    #[test]
    fn a_runner_leans_no_more_than_eight_degrees_and_steps_by_distance() {
        let mut world = World::default();
        world.spawn(runner([8.0, 0.0, 0.0]));
        let (mut figures, mut steps) = (Figures::default(), 0);
        for _ in 0..60 {
            figures.pass(&world, 1.0 / 60.0, |_, _| steps += 1);
        }
        assert_eq!(steps, (8.0 / STRIDE_METRES) as i32);
        let figure = *figures.known.values().next().unwrap();
        assert!(figure.lean[0] > 0.9 * LEAN_MAX && figure.lean[0] <= LEAN_MAX);
        assert!(figure.lean[1].abs() < 1e-4);
    }

    #[test]
    fn whoever_stands_still_does_not_move_at_all() {
        let mut world = World::default();
        world.spawn(runner([0.0; 3]));
        let mut figures = Figures::default();
        figures.pass(&world, 1.0, |_, _| {});
        let before = figures.clone();
        figures.pass(&world, 0.5, |_, _| {});
        let one = |figures: &Figures| *figures.known.values().next().unwrap();
        assert_eq!(Figure { squash: 0.0, ..one(&before) }, Figure { squash: 0.0, ..one(&figures) });
    }

    #[test]
    fn a_fighter_is_drawn_within_its_box_but_for_its_gun() {
        let mut scene = Scene::default();
        Figure::default().draw(&runner([0.0; 3]), colours::ENEMY, &mut scene);
        let (capsule, head) = (scene.person_capsules[0], scene.person_boxes[0]);
        let tops = [capsule[11] + capsule[10], head[11] + head[10] / 2.0];
        assert!(tops.iter().all(|top| *top < body::STANDING_METRES), "{tops:?}");
    }

    #[test]
    fn figures_that_are_gone_are_forgotten() {
        let mut world = World::default();
        let id = world.spawn(runner([0.0; 3])).unwrap();
        let mut figures = Figures::default();
        figures.pass(&world, 0.1, |_, _| {});
        world.despawn(id);
        figures.pass(&world, FORGET_SECONDS + 0.1, |_, _| {});
        assert!(figures.known.is_empty());
    }
}
