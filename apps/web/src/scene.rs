//! All that is drawn in one picture besides the map, as lists of instances of the three shapes. Knows no browser.

use crate::colours::{self, Colour};
use crate::figure::Figures;
use crate::particles::Particles;
use sametick::{EntityId, PlayerId, Tick, World};
use sametick_arena::map::ItemKind;
use sametick_arena::vector::{Bounds, Vector, add, cross, scale, unit};
use sametick_arena::{
    Content, Door, Entity, Fighter, Item, Mode, PROP_HALF_METRES, Prop, Rocket, Seat, Target,
};

/// What an instance is made of: three rows of a matrix, and a colour with how it is lit.
pub(crate) const INSTANCE_FLOATS: usize = 16;
/// One shape: where, how large, and how it looks.
pub(crate) type Instance = [f32; INSTANCE_FLOATS];

/// How an instance takes light: the last part of its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Light {
    /// As a wall does.
    World,
    /// As a person does: fogged half as much.
    Person,
    /// Not at all: it shines.
    Shining,
    /// Shines, and lets through this share of what is behind.
    Glass(f32),
}

/// What one picture shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    /// Of people: they are outlined.
    pub(crate) person_boxes: Vec<Instance>,
    /// Of people.
    pub(crate) person_capsules: Vec<Instance>,
    /// Everything else with corners.
    pub(crate) boxes: Vec<Instance>,
    /// What is seen through.
    pub(crate) balls: Vec<Instance>,
    /// What is in one's own hands, drawn in front of all else.
    pub(crate) hands: Vec<Instance>,
    /// Inked edges of what moves, and outlines of ghosts.
    pub(crate) edges: Vec<[Vector; 2]>,
    /// Doors, then lifts: how far each is from where its plan has it.
    pub(crate) movers: Vec<Vector>,
}

/// A box or ball with its own axes, whose lengths are its sizes.
pub(crate) fn instance(
    middle: Vector,
    axes: [Vector; 3],
    colour: Colour,
    light: Light,
) -> Instance {
    let [x, y, z] = axes;
    let how = match light {
        Light::World => 0.0,
        Light::Person => 1.0,
        Light::Shining => 2.0,
        Light::Glass(share) => 3.0 + share.clamp(0.0, 0.99),
    };
    let mut parts = [0.0; INSTANCE_FLOATS];
    for row in 0..3 {
        parts[row * 4..row * 4 + 4].copy_from_slice(&[x[row], y[row], z[row], middle[row]]);
    }
    parts[12..15].copy_from_slice(&colour);
    parts[15] = how;
    parts
}

/// One whose sides follow the axes of the world.
pub(crate) fn straight(middle: Vector, size: Vector, colour: Colour, light: Light) -> Instance {
    let axes = [[size[0], 0.0, 0.0], [0.0, size[1], 0.0], [0.0, 0.0, size[2]]];
    instance(middle, axes, colour, light)
}

/// A thin one from a place to another.
pub(crate) fn rod(from: Vector, to: Vector, width: f32, colour: Colour, light: Light) -> Instance {
    let way = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    let other = if way[2].abs() > 0.9 * (way[0].abs() + way[1].abs()) {
        [1.0, 0.0, 0.0]
    } else {
        [0.0, 0.0, 1.0]
    };
    let side = unit(cross(way, other));
    let up = unit(cross(side, way));
    let middle = scale(add(from, to), 0.5);
    instance(middle, [way, scale(side, width), scale(up, width)], colour, light)
}

/// How people are coloured: who is "we".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Side {
    /// Whose eyes these are.
    pub(crate) player: Option<PlayerId>,
    /// Its team, where there are teams.
    pub(crate) team: u8,
}

impl Side {
    /// Of the one who looks.
    pub(crate) fn of(world: &World<Entity>, content: &Content, player: Option<PlayerId>) -> Self {
        let seat = player.and_then(|player| seat(world, player.0));
        let team = if content.mode == Mode::Teams { seat.map_or(1, |seat| seat.team) } else { 0 };
        Self { player, team }
    }

    /// Blue for us, vermilion for them.
    pub(crate) fn colour(self, world: &World<Entity>, player: u16) -> Colour {
        let is_us = self.player.is_some_and(|own| own.0 == player)
            || self.team > 0 && seat(world, player).is_some_and(|seat| seat.team == self.team);
        if is_us { colours::OWN } else { colours::ENEMY }
    }
}

/// A player's line in the score table.
pub(crate) fn seat(world: &World<Entity>, player: u16) -> Option<&Seat> {
    world.all::<Seat>().map(|(_, seat)| seat).find(|seat| seat.player == player)
}

/// What is needed besides the world to draw it.
pub(crate) struct Look<'a> {
    pub(crate) content: &'a Content,
    /// Whole ticks and the part of the next.
    pub(crate) ticks: f64,
    pub(crate) dt: f32,
    pub(crate) side: Side,
    /// Whoever's eyes these are is not drawn.
    pub(crate) hidden: Option<EntityId>,
}

impl Scene {
    /// Everything in a world.
    pub(crate) fn of(
        world: &World<Entity>,
        look: &Look<'_>,
        figures: &Figures,
        particles: &Particles,
    ) -> Self {
        let mut scene = Self::default();
        let seconds = look.ticks * f64::from(look.dt);
        scene.add_movers(world, look, seconds);
        for (id, fighter) in world.all::<Fighter>() {
            if fighter.is_alive() && Some(id) != look.hidden {
                let colour = look.side.colour(world, fighter.player);
                figures.draw(id, fighter, colour, &mut scene);
            }
        }
        for (_, item) in world.all::<Item>() {
            if item.is_there(Tick(look.ticks as u32)) {
                scene.add_item(item, look.content, seconds);
            }
        }
        for (_, prop) in world.all::<Prop>() {
            if let Some(bounds) = prop.bounds() {
                let size = [PROP_HALF_METRES * 2.0; 3];
                scene.boxes.push(straight(bounds.centre(), size, colours::SHADE, Light::World));
                scene.add_edges(bounds);
            }
        }
        for (_, target) in world.all::<Target>() {
            if let Some(bounds) = target.bounds() {
                let size = [target.half * 2.0; 3];
                scene.person_boxes.push(straight(
                    bounds.centre(),
                    size,
                    colours::ENEMY,
                    Light::Person,
                ));
            }
        }
        for (_, rocket) in world.all::<Rocket>() {
            if !rocket.is_burst {
                scene.add_rocket(rocket, world, look);
            }
        }
        particles.draw(&mut scene);
        scene
    }

    fn add_movers(&mut self, world: &World<Entity>, look: &Look<'_>, seconds: f64) {
        let map = &look.content.map;
        let whole = Tick(look.ticks as u32);
        let part = (look.ticks - f64::from(whole.0)) as f32;
        for (number, plan) in map.doors.iter().enumerate() {
            let door = world
                .all::<Door>()
                .map(|(_, door)| door)
                .find(|door| usize::from(door.index) == number);
            let open = |tick: Tick| door.map_or(0.0, |door| door.openness(plan, tick, look.dt));
            let between = open(whole) + (open(Tick(whole.0 + 1)) - open(whole)) * part;
            self.movers.push(scale(plan.slide, between));
        }
        self.movers.extend(map.lifts.iter().map(|lift| [0.0, 0.0, lift.height(seconds)]));
    }

    /// Turns slowly and rises and falls a little, so that it is seen to be for taking.
    fn add_item(&mut self, item: &Item, content: &Content, seconds: f64) {
        let Some(place) = content.map.items.get(usize::from(item.index)) else { return };
        let (sine, cosine) = ((seconds * 1.2) as f32 + f32::from(item.index)).sin_cos();
        let lift = ((seconds * 2.0) as f32 + f32::from(item.index)).sin() * 0.05 - 0.05;
        let middle = add(place.place, [0.0, 0.0, lift]);
        let axes = |size: Vector| {
            [
                [cosine * size[0], sine * size[0], 0.0],
                [-sine * size[1], cosine * size[1], 0.0],
                [0.0, 0.0, size[2]],
            ]
        };
        let mut part = |size: Vector, off: f32, colour: Colour| {
            self.boxes.push(instance(
                add(middle, [0.0, 0.0, off]),
                axes(size),
                colour,
                Light::World,
            ));
        };
        let case = colours::mix(colours::PAPER, colours::SHADE, 0.3);
        match place.kind {
            ItemKind::Health => {
                part([0.44, 0.44, 0.32], 0.0, case);
                part([0.46, 0.12, 0.34], 0.0, colours::INK);
                part([0.12, 0.46, 0.34], 0.0, colours::INK);
            }
            ItemKind::Armour => {
                part([0.44, 0.16, 0.44], 0.0, colours::SLATE);
                part([0.30, 0.18, 0.30], 0.0, case);
            }
            ItemKind::Bullets | ItemKind::Shells | ItemKind::Rockets => {
                part([0.40, 0.28, 0.24], 0.0, colours::mix(colours::SHADE, colours::SLATE, 0.35));
                let marks = match place.kind {
                    ItemKind::Bullets => 1,
                    ItemKind::Shells => 2,
                    _ => 3,
                };
                for mark in 0..marks {
                    part([0.42, 0.30, 0.03], 0.07 - mark as f32 * 0.07, colours::INK);
                }
            }
        }
    }

    fn add_rocket(&mut self, rocket: &Rocket, world: &World<Entity>, look: &Look<'_>) {
        let way = unit(rocket.velocity);
        let player = rocket.by.and_then(|by| world.get::<Fighter>(by)).map(|by| by.player);
        let colour = player.map_or(colours::SLATE, |player| look.side.colour(world, player));
        let end = |metres: f32| add(rocket.position, scale(way, metres));
        self.boxes.push(rod(end(-0.22), end(0.22), 0.12, colours::INK, Light::Person));
        self.boxes.push(rod(end(0.22), end(0.34), 0.09, colour, Light::Person));
        self.balls.push(ball(end(-0.3), 0.28, colours::WARNING, 0.9));
        self.balls.push(ball(end(-0.65), 0.4, colours::PAPER, 0.5));
        self.balls.push(ball(end(-1.1), 0.5, colours::PAPER, 0.25));
    }

    /// The twelve edges of a box.
    pub(crate) fn add_edges(&mut self, bounds: Bounds) {
        let Bounds { low, high } = bounds;
        let corner = |number: usize| {
            [0, 1, 2].map(|axis| if number >> axis & 1 == 1 { high[axis] } else { low[axis] })
        };
        for number in 0..8_usize {
            for axis in 0..3 {
                if number >> axis & 1 == 0 {
                    self.edges.push([corner(number), corner(number | 1 << axis)]);
                }
            }
        }
    }
}

/// Seen through by what is left of its strength.
pub(crate) fn ball(middle: Vector, size: f32, colour: Colour, strength: f32) -> Instance {
    straight(middle, [size; 3], colour, Light::Glass(strength))
}
