//! The built-in work: players who run, jump, aim and fire, their rockets, and props that mostly rest.
//!
//! Everything follows from the seed. Fields have the ranges of the recorded 64-player run, so that
//! what is measured here and there can be compared.

use sametick::kinds::{Angle, Quaternion};
use sametick::{EntityId, Fields, Head, Layout, Networked, Precision, Table};
use serde::Serialize;
use std::f32::consts::{PI, TAU};

pub(crate) const PLAYERS: usize = 64;
pub(crate) const ROCKETS: usize = 16;
pub(crate) const PROPS: usize = 200;
pub(crate) const TICKS_PER_SECOND: u32 = 60;

const ARENA_UNITS: f32 = 4096.0;
const RUN_UNITS_PER_SECOND: f32 = 320.0;
const JUMP_UNITS_PER_SECOND: f32 = 270.0;
const ROCKET_UNITS_PER_SECOND: f32 = 900.0;
const GRAVITY: f32 = 800.0;
const PITCH_MAX: f32 = 1.4;
const TICK_SECONDS: f32 = 1.0 / TICKS_PER_SECOND as f32;
/// How many props a kick sets tumbling in a second, and how many change what they look like.
const KICKS_PER_SECOND: f32 = 2.0;
const CHANGES_PER_SECOND: f32 = 10.0;
const MAGAZINE: u16 = 100;

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Player {
    position: [f32; 3],
    velocity: [f32; 3],
    yaw: f32,
    pitch: f32,
    health: u8,
    weapon: u8,
    ammo: u16,
    animation: u8,
    flags: u8,
}

#[derive(Clone, Debug, Default)]
struct Rocket {
    position: [f32; 3],
    velocity: [f32; 3],
    owner: Option<EntityId>,
    kind: u8,
}

#[derive(Clone, Debug)]
struct Prop {
    position: [f32; 3],
    rotation: [f32; 4],
    velocity: [f32; 3],
    spin: [f32; 3],
    health: u8,
    look: u8,
}

impl Networked for Player {
    #[inline]
    fn fields<F: Fields>(&mut self, f: &mut F) {
        let [x, y, z] = &mut self.position;
        f.exact("x", x).shown(0.0..=ARENA_UNITS, 0.125);
        f.exact("y", y).shown(0.0..=ARENA_UNITS, 0.125);
        f.exact("z", z).shown(0.0..=512.0, 0.125);
        let [x, y, z] = &mut self.velocity;
        f.exact("velocity_x", x).shown(-1024.0..=1023.0, 1.0);
        f.exact("velocity_y", y).shown(-1024.0..=1023.0, 1.0);
        f.exact("velocity_z", z).shown(-1024.0..=1023.0, 1.0);
        f.exact("yaw", &mut self.yaw).shown_as(Angle::new(16));
        f.exact("pitch", &mut self.pitch).shown(-PITCH_MAX..=PITCH_MAX, TAU / 65536.0);
        f.int("health", &mut self.health, 0..=100);
        f.int("weapon", &mut self.weapon, 0..=7);
        f.int("ammo", &mut self.ammo, 0..=200);
        f.int("animation", &mut self.animation, 0..=3);
        f.bits("flags", &mut self.flags, 3);
    }
}

impl Networked for Rocket {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("position", &mut self.position).shown_each(0.0..=ARENA_UNITS, 0.125);
        f.exacts("velocity", &mut self.velocity).shown_each(-1024.0..=1023.0, 1.0);
        f.entity("owner", &mut self.owner);
        f.int("kind", &mut self.kind, 0..=3);
    }
}

impl Default for Prop {
    fn default() -> Self {
        let rotation = [0.0, 0.0, 0.0, 1.0];
        Self {
            position: [0.0; 3],
            rotation,
            velocity: [0.0; 3],
            spin: [0.0; 3],
            health: 100,
            look: 0,
        }
    }
}

impl Networked for Prop {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("position", &mut self.position).shown_each(0.0..=ARENA_UNITS, 0.125);
        f.exacts("rotation", &mut self.rotation).shown_as(Quaternion::new(10));
        f.exacts("velocity", &mut self.velocity).shown_each(-1024.0..=1023.0, 1.0);
        f.exacts("spin", &mut self.spin).shown_each(-16.0..=16.0, 0.0625);
        f.int("health", &mut self.health, 0..=100);
        f.int("look", &mut self.look, 0..=7);
    }
}

const PLAYER: u8 = 0;
const ROCKET: u8 = 1;
const PROP: u8 = 2;

/// The layouts of the three kinds, in the order of their numbers.
pub(crate) fn layouts(precision: Precision) -> Vec<Layout> {
    vec![
        Layout::of::<Player>(precision),
        Layout::of::<Rocket>(precision),
        Layout::of::<Prop>(precision),
    ]
}

/// What a player means to do next; never on the wire.
#[derive(Clone, Debug)]
struct Mind {
    heading: f32,
    turn_at: u32,
    jump_at: u32,
    fire_from: u32,
    fire_until: u32,
    weapon_at: u32,
    yaw_rate: f32,
    pitch_rate: f32,
}

/// The world of the benchmark. Players stand in the first slots, then rockets, then props.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    chance: Chance,
    tick: u32,
    players: Vec<(Player, Mind)>,
    /// Each slot's rocket, how many it has had, and when the present one bursts.
    rockets: Vec<(Rocket, u32, u32)>,
    props: Vec<Prop>,
}

impl Workload {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let players = (0..PLAYERS).map(|_| spawn(&mut chance)).collect();
        let props = (0..PROPS).map(|_| Prop {
            position: [chance.between(0.0, ARENA_UNITS), chance.between(0.0, ARENA_UNITS), 0.0],
            look: chance.below(8) as u8,
            ..Prop::default()
        });
        let props = props.collect();
        Self { chance, tick: 0, players, rockets: vec![(Rocket::default(), 0, 0); ROCKETS], props }
    }

    /// The players alone, for what is measured on one kind.
    pub(crate) fn players(&self) -> impl Iterator<Item = &Player> {
        self.players.iter().map(|(player, _)| player)
    }

    pub(crate) fn step(&mut self) {
        self.tick += 1;
        for (player, mind) in &mut self.players {
            think(player, mind, self.tick, &mut self.chance);
            run(player, mind, self.tick, &mut self.chance);
            fight(player, mind, self.tick, &mut self.chance);
        }
        self.fly_rockets();
        self.move_props();
    }

    /// Fills `table` with what is there now. A rocket that bursts is followed by another at once, in the
    /// same slot under another name; before the first there is none.
    pub(crate) fn fill(&mut self, layouts: &[Layout], table: &mut Table) {
        table.visible.clear();
        for (slot, (player, _)) in self.players.iter_mut().enumerate() {
            table.gather(head(slot, 1, PLAYER), &layouts[0], player);
        }
        for (index, (rocket, generation, _)) in self.rockets.iter_mut().enumerate() {
            if *generation > 0 {
                let head = head(PLAYERS + index, *generation, ROCKET);
                table.gather(head, &layouts[1], rocket);
            }
        }
        for (index, prop) in self.props.iter_mut().enumerate() {
            let head = head(PLAYERS + ROCKETS + index, 1, PROP);
            table.gather(head, &layouts[2], prop);
        }
    }

    fn fly_rockets(&mut self) {
        for (index, (rocket, generation, bursts_at)) in self.rockets.iter_mut().enumerate() {
            if self.tick >= *bursts_at {
                let shooter = (index * PLAYERS / ROCKETS + self.chance.below(4) as usize) % PLAYERS;
                let player = &self.players[shooter].0;
                let (sine, cosine) = libm::sincosf(player.yaw);
                let speed = ROCKET_UNITS_PER_SECOND;
                rocket.position =
                    [player.position[0], player.position[1], player.position[2] + 40.0];
                rocket.velocity = [cosine * speed, sine * speed, 0.0];
                rocket.owner = EntityId::new(shooter, 1);
                rocket.kind = self.chance.below(2) as u8;
                *generation += 1;
                *bursts_at = self.tick + 30 + self.chance.below(120);
            }
            for (position, velocity) in rocket.position.iter_mut().zip(rocket.velocity) {
                *position = (*position + velocity * TICK_SECONDS).clamp(0.0, ARENA_UNITS);
            }
        }
    }

    fn move_props(&mut self) {
        if self.chance.happens(KICKS_PER_SECOND * TICK_SECONDS) {
            let prop = self.chance.below(PROPS as u32) as usize;
            for speed in &mut self.props[prop].velocity[..2] {
                *speed = self.chance.between(-200.0, 200.0);
            }
            self.props[prop].spin = [0, 1, 2].map(|_| self.chance.between(-6.0, 6.0));
        }
        if self.chance.happens(CHANGES_PER_SECOND * TICK_SECONDS) {
            let prop = &mut self.props[self.chance.below(PROPS as u32) as usize];
            prop.health = prop.health.checked_sub(self.chance.below(20) as u8).unwrap_or(100);
            prop.look = (prop.look + 1) % 8;
        }
        self.props.iter_mut().filter(|prop| prop.velocity != [0.0; 3]).for_each(tumble);
    }
}

fn head(slot: usize, generation: u32, kind: u8) -> Head {
    Head { id: EntityId::new(slot, generation).expect("the workload's slots exist"), kind }
}

fn spawn(chance: &mut Chance) -> (Player, Mind) {
    let heading = chance.between(-PI, PI);
    let player = Player {
        position: [
            chance.between(64.0, ARENA_UNITS - 64.0),
            chance.between(64.0, ARENA_UNITS - 64.0),
            0.0,
        ],
        yaw: heading,
        health: 100,
        weapon: chance.below(8) as u8,
        ammo: MAGAZINE,
        animation: 1,
        flags: 1,
        ..Player::default()
    };
    let mind = Mind {
        heading,
        turn_at: 18 + chance.below(73),
        jump_at: 30 + chance.below(180),
        fire_from: 60 + chance.below(240),
        fire_until: 0,
        weapon_at: 120 + chance.below(600),
        yaw_rate: 0.0,
        pitch_rate: 0.0,
    };
    (player, mind)
}

/// Decides where to run and look; a hand on a mouse is never quite still.
fn think(player: &mut Player, mind: &mut Mind, tick: u32, chance: &mut Chance) {
    if tick >= mind.turn_at {
        mind.heading = wrap(mind.heading + chance.between(-2.0, 2.0));
        mind.turn_at = tick + 18 + chance.below(73);
    }
    let off = wrap(mind.heading - player.yaw);
    mind.yaw_rate +=
        (off * 60.0 - mind.yaw_rate * 12.0) * TICK_SECONDS + chance.between(-0.25, 0.25);
    mind.pitch_rate +=
        (player.pitch * -30.0 - mind.pitch_rate * 8.0) * TICK_SECONDS + chance.between(-0.12, 0.12);
    player.yaw = wrap(player.yaw + mind.yaw_rate * TICK_SECONDS);
    player.pitch = (player.pitch + mind.pitch_rate * TICK_SECONDS).clamp(-PITCH_MAX, PITCH_MAX);
}

fn run(player: &mut Player, mind: &mut Mind, tick: u32, chance: &mut Chance) {
    let grounded = player.flags & 1 != 0;
    let (sine, cosine) = libm::sincosf(mind.heading);
    let grip = if grounded { 10.0 } else { 1.5 } * TICK_SECONDS;
    player.velocity[0] += (cosine * RUN_UNITS_PER_SECOND - player.velocity[0]) * grip;
    player.velocity[1] += (sine * RUN_UNITS_PER_SECOND - player.velocity[1]) * grip;
    let jumps = grounded && tick >= mind.jump_at;
    if jumps {
        player.velocity[2] = JUMP_UNITS_PER_SECOND;
        mind.jump_at = tick + 60 + chance.below(240);
    }
    if jumps || !grounded {
        player.velocity[2] -= GRAVITY * TICK_SECONDS;
    }
    for (position, velocity) in player.position.iter_mut().zip(player.velocity) {
        *position += velocity * TICK_SECONDS;
    }
    let lands = player.position[2] <= 0.0 && !jumps;
    if lands {
        (player.position[2], player.velocity[2]) = (0.0, 0.0);
    }
    for axis in 0..2 {
        let inside = player.position[axis].clamp(16.0, ARENA_UNITS - 16.0);
        if inside != player.position[axis] {
            (player.position[axis], player.velocity[axis]) = (inside, 0.0);
            mind.turn_at = mind.turn_at.min(tick + 6);
        }
    }
    player.flags = player.flags & !1 | u8::from(lands);
}

fn fight(player: &mut Player, mind: &mut Mind, tick: u32, chance: &mut Chance) {
    if tick >= mind.weapon_at {
        player.weapon = chance.below(8) as u8;
        player.ammo = MAGAZINE;
        mind.weapon_at = tick + 180 + chance.below(600);
    }
    if tick >= mind.fire_from {
        mind.fire_until = tick + 20 + chance.below(60);
        mind.fire_from = mind.fire_until + 60 + chance.below(240);
    }
    let fires = tick < mind.fire_until;
    if fires && tick.is_multiple_of(6) {
        player.ammo = player.ammo.checked_sub(1).unwrap_or(MAGAZINE);
    }
    let hurt = chance.happens(1.0 / 240.0);
    if hurt {
        player.health = player.health.checked_sub(8 + chance.below(30) as u8).unwrap_or(100);
    }
    let grounded = player.flags & 1;
    player.animation = if grounded == 0 { 3 } else { 1 + u8::from(fires) };
    player.flags = grounded | u8::from(fires) << 1 | u8::from(hurt) << 2;
}

/// Slides and turns until friction has it rest.
fn tumble(prop: &mut Prop) {
    for (position, velocity) in prop.position.iter_mut().zip(prop.velocity) {
        *position = (*position + velocity * TICK_SECONDS).clamp(0.0, ARENA_UNITS);
    }
    let ([a, b, c], [x, y, z, w]) =
        (prop.spin.map(|spin| spin * TICK_SECONDS / 2.0), prop.rotation);
    let turned = [
        x + a * w + b * z - c * y,
        y + b * w + c * x - a * z,
        z + c * w + a * y - b * x,
        w - a * x - b * y - c * z,
    ];
    let length = turned.iter().map(|part| part * part).sum::<f32>().sqrt();
    prop.rotation = turned.map(|part| part / length);
    let slow = |speed: f32| if speed.abs() < 0.5 { 0.0 } else { speed * 0.97 };
    prop.velocity = prop.velocity.map(slow);
    prop.spin =
        if prop.velocity == [0.0; 3] { [0.0; 3] } else { prop.spin.map(|spin| spin * 0.97) };
}

fn wrap(angle: f32) -> f32 {
    let turned = if angle >= PI { angle - TAU } else { angle };
    if turned < -PI { turned + TAU } else { turned }
}

/// A seeded stream of chance (splitmix64).
#[derive(Clone, Debug)]
struct Chance(u64);

impl Chance {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.roll() >> 40) as f32 / (1 << 24) as f32
    }

    fn below(&mut self, end: u32) -> u32 {
        (((self.roll() >> 32) * u64::from(end)) >> 32) as u32
    }

    fn happens(&mut self, probability: f32) -> bool {
        self.between(0.0, 1.0) < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_after(seed: u64, ticks: u32) -> u64 {
        let layouts = layouts(Precision::State);
        let (mut workload, mut table) = (Workload::new(seed), Table::default());
        for _ in 0..ticks {
            workload.step();
        }
        workload.fill(&layouts, &mut table);
        table.hash(&layouts)
    }

    /// The same on every platform: where it is not, floats are computed in another way.
    const GOLDEN_HASH: u64 = 0xca40_98f6_8ddd_bb9a;

    #[test]
    fn the_same_seed_gives_the_same_world_everywhere() {
        assert_eq!(hash_after(1, 600), GOLDEN_HASH);
        assert_ne!(hash_after(1, 600), hash_after(2, 600));
    }

    #[test]
    fn players_run_and_props_mostly_rest() {
        let mut workload = Workload::new(3);
        for _ in 0..600 {
            workload.step();
            let moving = workload.props.iter().filter(|prop| prop.velocity != [0.0; 3]).count();
            assert!(moving < 20, "{moving} props move");
            for player in workload.players() {
                assert!((0.0..80.0).contains(&player.position[2]), "{player:?}");
                assert!(player.velocity.iter().all(|speed| speed.abs() < 400.0), "{player:?}");
            }
        }
        let runs = |p: &&Player| p.velocity[0].abs() + p.velocity[1].abs() > 100.0;
        assert!(workload.players().filter(runs).count() > 50);
    }
}
