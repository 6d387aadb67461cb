//! What flies about for a moment: flashes, tracers, chips, marks, blasts and the twelve cubes of who died. At most 512.

use crate::colours::{self, Colour};
use crate::scene::{Light, Scene, ball, instance, rod, straight};
use sametick::Dice;
use sametick_arena::vector::{Vector, add, along, cross, scale, subtract, unit};

/// The most that there are at once; one more, and the oldest goes.
pub(crate) const PARTICLES_MAX: usize = 512;
/// How long the line of a bullet is seen.
const TRACER_SECONDS: f32 = 0.06;
/// One's own flash and tracers are before one's nose: they are drawn so much smaller.
const OWN_SHARE: f32 = 0.35;
/// Two pictures of a screen that shows sixty a second.
const FLASH_SECONDS: f32 = 2.0 / 60.0;
/// How long a bullet's mark stays.
const MARK_SECONDS: f32 = 4.0;
/// How long a chip flies.
const CHIP_SECONDS: f32 = 0.45;
/// How long the cubes of a dead fighter are seen.
const CUBE_SECONDS: f32 = 0.6;
/// How long a burst is seen.
const BLAST_SECONDS: f32 = 0.35;
const GRAVITY: f32 = 12.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Flash { size: f32 },
    Tracer { to: Vector, width: f32 },
    Chip { velocity: Vector, size: f32 },
    Mark { normal: Vector },
    Blast { reach: f32 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Particle {
    kind: Kind,
    at: Vector,
    colour: Colour,
    age: f32,
    lasts: f32,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Particles {
    all: std::collections::VecDeque<Particle>,
    dice: Dice,
}

impl Default for Particles {
    fn default() -> Self {
        Self { all: std::collections::VecDeque::new(), dice: Dice::new(1, 0xf1a5) }
    }
}

impl Particles {
    /// A gun goes off.
    pub(crate) fn flash(&mut self, at: Vector, is_own: bool) {
        let size = if is_own { OWN_SHARE } else { 1.0 };
        self.add(Kind::Flash { size }, at, colours::WARNING, FLASH_SECONDS);
    }

    /// A bullet flies.
    pub(crate) fn tracer(&mut self, from: Vector, to: Vector, colour: Colour, is_own: bool) {
        let width = if is_own { OWN_SHARE } else { 1.0 };
        self.add(Kind::Tracer { to, width }, from, colour, TRACER_SECONDS);
    }

    /// A bullet meets a wall: six chips and a mark.
    pub(crate) fn impact(&mut self, at: Vector, normal: Vector) {
        self.chips(at, normal, 6, 0.035, colours::SHADE, 2.6);
        self.add(Kind::Mark { normal }, along(at, normal, 0.012), colours::INK, MARK_SECONDS);
    }

    /// A bullet meets someone.
    pub(crate) fn wound(&mut self, at: Vector, way: Vector, colour: Colour) {
        self.chips(at, scale(way, -1.0), 4, 0.045, colour, 2.0);
    }

    /// A rocket bursts.
    pub(crate) fn blast(&mut self, at: Vector, reach: f32) {
        self.add(Kind::Blast { reach }, at, colours::WARNING, BLAST_SECONDS);
        self.chips(at, [0.0, 0.0, 1.0], 18, 0.07, colours::SLATE, 7.0);
    }

    /// Someone is no more: twelve cubes.
    pub(crate) fn cubes(&mut self, feet: Vector, height: f32, push: Vector, colour: Colour) {
        for cube in 0..12 {
            let level = (cube / 4) as f32 / 3.0;
            let spread = self.anywhere();
            let at = add(feet, [spread[0] * 0.2, spread[1] * 0.2, 0.25 + level * height * 0.8]);
            let velocity = add(scale(spread, 2.6), add(scale(push, 2.0), [0.0, 0.0, 2.2]));
            let shade = if cube % 4 == 0 { colours::INK } else { colour };
            self.add(Kind::Chip { velocity, size: 0.24 }, at, shade, CUBE_SECONDS);
        }
    }

    /// Something broke.
    pub(crate) fn debris(&mut self, at: Vector) {
        self.chips(at, [0.0, 0.0, 1.0], 14, 0.12, colours::SHADE, 3.5);
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, seconds: f32) {
        for particle in &mut self.all {
            particle.age += seconds;
            if let Kind::Chip { velocity, .. } = &mut particle.kind {
                velocity[2] -= GRAVITY * seconds;
                particle.at = along(particle.at, *velocity, seconds);
            }
        }
        self.all.retain(|particle| particle.age < particle.lasts);
    }

    /// Adds them to a picture.
    pub(crate) fn draw(&self, scene: &mut Scene) {
        for particle in &self.all {
            let left = 1.0 - particle.age / particle.lasts;
            let Particle { at, colour, .. } = *particle;
            match particle.kind {
                Kind::Flash { size } => {
                    scene.balls.push(ball(at, 0.34 * size, colour, 0.75));
                    scene.balls.push(ball(at, 0.18 * size, colours::PAPER, 0.95));
                }
                Kind::Tracer { to, width } => {
                    let width = width * (0.022 * left + 0.006);
                    scene.boxes.push(rod(at, to, width, colour, Light::Shining))
                }
                Kind::Chip { size, .. } => {
                    let size = size * (0.3 + 0.7 * left);
                    let light = if size > 0.1 { Light::Person } else { Light::World };
                    scene.boxes.push(straight(at, [size; 3], colour, light));
                }
                Kind::Mark { normal } => {
                    let other =
                        if normal[2].abs() > 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
                    let across = unit(cross(other, normal));
                    let size = 0.055 * (left * 4.0).min(1.0);
                    let axes = [
                        scale(across, size),
                        scale(cross(normal, across), size),
                        scale(normal, 0.012),
                    ];
                    scene.boxes.push(instance(
                        at,
                        axes,
                        colours::mix(colour, colours::SHADE, 0.35),
                        Light::World,
                    ));
                }
                Kind::Blast { reach } => {
                    let size = reach * (0.35 + 0.65 * (1.0 - left * left));
                    scene.balls.push(ball(at, size * 1.4, colour, 0.45 * left));
                    scene.balls.push(ball(at, size * 0.8, colours::PAPER, 0.8 * left));
                }
            }
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn chips(
        &mut self,
        at: Vector,
        way: Vector,
        count: u32,
        size: f32,
        colour: Colour,
        speed: f32,
    ) {
        for _ in 0..count {
            let velocity =
                scale(add(way, self.anywhere()), speed * (0.4 + 0.6 * self.dice.unit() as f32));
            self.add(Kind::Chip { velocity, size }, along(at, way, 0.03), colour, CHIP_SECONDS);
        }
    }

    fn anywhere(&mut self) -> Vector {
        [0; 3].map(|_: i32| self.dice.unit() as f32 * 2.0 - 1.0)
    }

    fn add(&mut self, kind: Kind, at: Vector, colour: Colour, lasts: f32) {
        if self.all.len() == PARTICLES_MAX {
            self.all.pop_front();
        }
        self.all.push_back(Particle { kind, at, colour, age: 0.0, lasts });
    }
}

/// Which way a wall faces that a bullet met here, if it met one.
pub(crate) fn struck(map: &sametick_arena::Map, at: Vector, way: Vector) -> Option<Vector> {
    let trace = map.ray(subtract(at, scale(way, 0.3)), along(at, way, 0.3));
    (trace.is_hit() && !trace.started_inside).then_some(trace.normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_than_the_most() {
        let mut particles = Particles::default();
        for _ in 0..1000 {
            particles.impact([0.0; 3], [0.0, 0.0, 1.0]);
        }
        assert_eq!(particles.len(), PARTICLES_MAX);
    }

    #[test]
    fn twelve_cubes_are_gone_after_six_tenths_of_a_second() {
        let mut particles = Particles::default();
        particles.cubes([0.0; 3], 1.75, [1.0, 0.0, 0.0], colours::ENEMY);
        assert_eq!(particles.len(), 12);
        particles.pass(0.59);
        assert_eq!(particles.len(), 12);
        particles.pass(0.02);
        assert_eq!(particles.len(), 0);
    }

    #[test]
    fn a_tracer_lasts_sixty_milliseconds_and_a_mark_four_seconds() {
        let mut particles = Particles::default();
        particles.tracer([0.0; 3], [1.0; 3], colours::OWN, false);
        particles.impact([0.0; 3], [0.0, 0.0, 1.0]);
        particles.pass(0.061);
        assert_eq!(particles.len(), 7);
        particles.pass(3.9);
        assert_eq!(particles.len(), 1);
        particles.pass(0.1);
        assert_eq!(particles.len(), 0);
    }
}
