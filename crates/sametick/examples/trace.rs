//! A game played alone for some thousand ticks, and the hash of all its worlds: the same natively, as
//! released, and in wasm, or the machines would not agree. `cargo xtask trace` compares them.

use sametick::{
    Alone, EntityId, Fields, Game, Layouts, Networked, NoEvent, PlayerId, Span, Tick, Turn, World,
};

const TICKS: u32 = 5_000;
const PLAYERS: u16 = 8;

#[derive(Clone, Debug, Default, PartialEq)]
struct Wish {
    aim: f32,
    thrust: f32,
    fire: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 12);
        f.ranged("thrust", &mut self.thrust, 0.0..=1.0, 0.01);
        f.bool("fire", &mut self.fire);
    }
}

#[derive(Clone, Debug, Default)]
struct Ship {
    place: [f32; 2],
    speed: [f32; 2],
    facing: f32,
    hits: u16,
}

impl Networked for Ship {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place).shown_each(-500.0..=500.0, 0.01);
        f.exacts("speed", &mut self.speed);
        f.angle("facing", &mut self.facing, 16);
        f.bits("hits", &mut self.hits, 16);
    }
}

#[derive(Clone, Debug, Default)]
struct Spark {
    place: [f32; 2],
    speed: [f32; 2],
    from: Option<EntityId>,
    dies: u32,
}

impl Networked for Spark {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place);
        f.exacts("speed", &mut self.speed);
        f.entity("from", &mut self.from);
        f.bits("dies", &mut self.dies, 32);
    }
}

sametick::entities! { enum Entity { Ship, Spark } }

struct Sparks;

impl Game for Sparks {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = ();

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            let place = [f32::from(player.0) * 10.0, 0.0];
            world.spawn_owned(player, Ship { place, ..Ship::default() });
        }
        for (player, wish) in turn.commands() {
            fly(world, turn, player, wish);
        }
        let ships: Vec<(EntityId, [f32; 2])> =
            world.all::<Ship>().map(|(id, ship)| (id, ship.place)).collect();
        let (mut gone, mut hit) = (Vec::new(), Vec::new());
        for (id, spark) in world.all_mut::<Spark>() {
            spark.place = glide(spark.place, spark.speed, turn.dt());
            let near = |place: [f32; 2]| {
                libm::hypotf(place[0] - spark.place[0], place[1] - spark.place[1]) < 2.0
            };
            let struck = ships.iter().find(|(ship, at)| Some(*ship) != spark.from && near(*at));
            hit.extend(struck.map(|(ship, _)| *ship));
            if struck.is_some() || turn.tick() >= Tick(spark.dies) {
                gone.push(id);
            }
        }
        gone.into_iter().for_each(|id| _ = world.despawn(id));
        hit.into_iter().filter_map(|id| world.get_mut::<Ship>(id).map(|s| s.hits += 1)).count();
    }
}

fn fly(world: &mut World<Entity>, turn: &Turn<'_, Sparks>, player: PlayerId, wish: &Wish) {
    let Some((id, ship)) = world.owned_mut::<Ship>(player) else { return };
    let (sine, cosine) = libm::sincosf(wish.aim);
    let wind = turn.dice(id, 1).normal() as f32 * 0.1;
    ship.speed[0] = ship.speed[0] * 0.99 + cosine * wish.thrust + wind;
    ship.speed[1] = ship.speed[1] * 0.99 + sine * wish.thrust;
    ship.place = glide(ship.place, ship.speed, turn.dt());
    ship.facing = libm::atan2f(ship.speed[1], ship.speed[0]);
    let (place, speed) = (ship.place, [ship.speed[0] + cosine * 40.0, ship.speed[1] + sine * 40.0]);
    if wish.fire {
        world.spawn(Spark { place, speed, from: Some(id), dies: turn.tick().0 + 90 });
    }
}

fn glide(place: [f32; 2], speed: [f32; 2], seconds: f32) -> [f32; 2] {
    [0, 1].map(|axis| (place[axis] + speed[axis] * seconds).clamp(-500.0, 500.0))
}

/// The hash of every world of a game that the seed decides.
fn trace(seed: u64) -> u64 {
    let layouts = Layouts::of::<Entity>();
    let mut game = Alone::<Sparks>::new((), seed, Span::micros(16_667));
    (0..PLAYERS).for_each(|player| game.join(PlayerId(player)));
    let mut hash = 0;
    for tick in 0..TICKS {
        let wish = |player: u16| {
            let purpose = u64::from(tick / 20) << 16 | u64::from(player);
            let mut dice = sametick::Dice::new(seed, purpose);
            let (aim, thrust) = (dice.unit() as f32 * 6.2 - 3.1, dice.unit() as f32);
            (PlayerId(player), Wish { aim, thrust, fire: dice.chance(0.1) })
        };
        game.step((0..PLAYERS).map(wish)).expect("all numbers are finite");
        let world = game.world().hash(&layouts);
        hash = sametick::record::mix(hash, world as u32);
        hash = sametick::record::mix(hash, (world >> 32) as u32);
    }
    hash
}

fn main() {
    let text = format!("sametick trace {:016x}", trace(1));
    println!("{text}");
    // In wasm there is nowhere to print to: whoever runs it there looks for the text in its memory.
    text.leak();
}
