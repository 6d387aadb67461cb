//! The three weapons: what each does, and what happens when a fighter's finger is on the trigger. A shot asks how
//! its shooter saw the others; whom it hurts is settled when all have moved and fired.

use crate::arena::{Arena, Entity, Roll};
use crate::body;
use crate::command::Command;
use crate::damage::Hurt;
use crate::event::{Event, REWOUND_MS_MAX, SEEN, What};
use crate::fighter::Fighter;
use crate::map::ItemKind;
use crate::rocket::Rocket;
use crate::solids::Solids;
use crate::vector::{Vector, add, along, cross, direction, scale, subtract, unit};
use sametick::{Dice, EntityId, PlayerId, Tick, Turn, World, dice_of};

/// What a fighter can have in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weapon {
    /// One bullet at a time, exactly where one looks.
    #[default]
    Rifle,
    /// Many pellets, for those who are near.
    Shotgun,
    /// Rockets that fly and burst.
    Launcher,
}

/// What a weapon does. Metres, seconds, and points of health.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeaponTuning {
    /// What one bullet or pellet does, or a rocket that hits.
    pub damage: f32,
    /// How many bullets leave at once.
    pub pellets: u8,
    /// How far pellets spread, as the tangent of the angle.
    pub spread: f32,
    /// From shot to shot.
    pub interval: f32,
    /// How many shots before it must be loaded again.
    pub magazine: u8,
    /// How long loading takes.
    pub reload: f32,
    /// How many shots one can carry besides the magazine.
    pub reserve_max: u8,
    /// How many shots an item gives.
    pub item_shots: u8,
    /// How fast what it fires pushes, a point of damage.
    pub knock: f32,
}

pub(crate) const WEAPONS: [WeaponTuning; 3] = [
    WeaponTuning {
        damage: 18.0,
        pellets: 1,
        spread: 0.0,
        interval: 0.1,
        magazine: 30,
        reload: 1.8,
        reserve_max: 150,
        item_shots: 60,
        knock: 0.03,
    },
    WeaponTuning {
        damage: 9.0,
        pellets: 9,
        spread: 0.12,
        interval: 0.8,
        magazine: 6,
        reload: 2.2,
        reserve_max: 30,
        item_shots: 12,
        knock: 0.06,
    },
    WeaponTuning {
        damage: 100.0,
        pellets: 1,
        spread: 0.0,
        interval: 0.8,
        magazine: 4,
        reload: 2.4,
        reserve_max: 20,
        item_shots: 8,
        knock: 0.12,
    },
];

/// How much more a hit of the head hurts.
const HEAD_TIMES: f32 = 2.0;
/// How far bullets fly.
const RANGE_METRES: f32 = 250.0;
/// How long it takes to have another weapon in hand.
const SWITCH_SECONDS: f32 = 0.35;

impl Weapon {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Rifle, Self::Shotgun, Self::Launcher];

    /// Its number.
    pub fn index(self) -> usize {
        self as usize
    }

    /// What fills it.
    pub fn ammunition(self) -> ItemKind {
        match self {
            Self::Rifle => ItemKind::Bullets,
            Self::Shotgun => ItemKind::Shells,
            Self::Launcher => ItemKind::Rockets,
        }
    }
}

/// Who fires, and what is needed to know where it goes.
pub(crate) struct Shooter<'a> {
    pub(crate) id: EntityId,
    pub(crate) player: PlayerId,
    pub(crate) command: &'a Command,
}

/// Switches, loads and fires, as the command says. Bullets hurt, rockets are returned.
pub(crate) fn handle(
    fighter: &mut Fighter,
    shooter: &Shooter<'_>,
    world: &World<Entity>,
    turn: &Turn<'_, Arena>,
    solids: &Solids<'_>,
    hurts: &mut Vec<Hurt>,
) -> Option<Rocket> {
    let (command, dt) = (shooter.command, turn.dt());
    fighter.cooldown -= dt;
    if command.weapon != fighter.weapon {
        (fighter.weapon, fighter.reloading) = (command.weapon, 0.0);
        fighter.cooldown = fighter.cooldown.max(SWITCH_SECONDS);
    }
    let (number, tuning) =
        (fighter.weapon.index(), &turn.content().tuning.weapons[fighter.weapon.index()]);
    if fighter.reloading > 0.0 {
        fighter.reloading = (fighter.reloading - dt).max(0.0);
        if fighter.reloading == 0.0 {
            let wanted = tuning.magazine.saturating_sub(fighter.loaded[number]);
            let shots = wanted.min(fighter.reserve[number]);
            fighter.loaded[number] += shots;
            fighter.reserve[number] -= shots;
        }
    }
    let wants_load =
        command.reload && fighter.loaded[number] < tuning.magazine || fighter.loaded[number] == 0;
    if wants_load
        && fighter.reloading == 0.0
        && fighter.reserve[number] > 0
        && fighter.cooldown <= 0.0
    {
        fighter.reloading = tuning.reload;
        turn.emit(
            shooter.id,
            SEEN,
            Event { what: What::Reload, weapon: fighter.weapon, ..Event::default() },
        );
    }
    let is_idle = !command.fire || fighter.reloading > 0.0 || fighter.loaded[number] == 0;
    if fighter.cooldown > 0.0 {
        return None;
    }
    if is_idle {
        fighter.cooldown = 0.0;
        return None;
    }
    // What the last tick had left over counts, so that the rate of fire is the same at every tick rate.
    fighter.cooldown = fighter.cooldown.max(-dt) + tuning.interval;
    fighter.loaded[number] -= 1;
    let aim = direction(fighter.yaw, fighter.pitch);
    let eye = body::eye(fighter.position, fighter.is_crouched);
    if fighter.weapon == Weapon::Launcher {
        let event = Event {
            what: What::Shot,
            weapon: fighter.weapon,
            at: eye,
            direction: aim,
            ..Event::default()
        };
        turn.emit(shooter.id, SEEN, event);
        return Some(Rocket::fired(shooter.id, eye, aim));
    }
    let at = fire(fighter, shooter, (eye, aim), world, turn, solids, hurts);
    let event =
        Event { what: What::Shot, weapon: fighter.weapon, at, direction: aim, ..Event::default() };
    turn.emit(shooter.id, SEEN, event);
    None
}

/// Where each pellet of a shot goes. Whoever knows the seed knows it too: the shooter's own screen shows what the
/// server will say.
fn pellets(tuning: &WeaponTuning, aim: Vector, mut dice: Dice) -> Vec<Vector> {
    let right = unit(cross(aim, [0.0, 0.0, 1.0]));
    let up = cross(right, aim);
    let mut off = || (dice.unit() + dice.unit() - 1.0) as f32 * tuning.spread;
    let mut pellet = || add(aim, add(scale(right, off()), scale(up, off())));
    (0..tuning.pellets).map(|_| if tuning.spread > 0.0 { unit(pellet()) } else { aim }).collect()
}

/// Where each pellet of a shot goes that a shooter fired in a tick of a game with this seed.
pub fn pellets_of(
    tuning: &WeaponTuning,
    aim: Vector,
    seed: u64,
    (tick, shooter): (Tick, EntityId),
) -> Vec<Vector> {
    pellets(tuning, aim, dice_of(seed, tick, shooter, Roll::Spread as u32))
}

/// Fires all pellets of a shot at the others as they were seen; where the first one ended.
fn fire(
    fighter: &Fighter,
    shooter: &Shooter<'_>,
    (eye, aim): (Vector, Vector),
    world: &World<Entity>,
    turn: &Turn<'_, Arena>,
    solids: &Solids<'_>,
    hurts: &mut Vec<Hurt>,
) -> Vector {
    let tuning = &turn.content().tuning.weapons[fighter.weapon.index()];
    let weapon = fighter.weapon;
    let rewound = turn.rewound(shooter.player).as_millis_f64().round();
    let rewound_ms = rewound.min(f64::from(REWOUND_MS_MAX)) as u16;
    let wall = |pellet| solids.ray(eye, along(eye, pellet, RANGE_METRES)).end;
    let pellets = pellets(tuning, aim, turn.dice(shooter.id, Roll::Spread as u32));
    let ways: Vec<_> = pellets.into_iter().map(|pellet| (pellet, wall(pellet))).collect();
    let near = turn.near(shooter.player, world, |one, other| may_meet(one, other, eye, &ways));
    let in_sight = |id: EntityId| {
        let bounds = world.entity(id).and_then(Entity::bounds);
        bounds.is_some_and(|bounds| solids.ray(eye, bounds.centre()).fraction >= 1.0)
    };
    let mut first = None;
    for (pellet, wall) in ways {
        let struck = turn.judge_near(&near, |near| nearest(near, shooter.id, eye, wall), in_sight);
        let end = struck.map_or(wall, |(_, (at, _))| at);
        if let Some((victim, (at, is_head))) = struck {
            let damage = tuning.damage * if is_head { HEAD_TIMES } else { 1.0 };
            let knock = scale(pellet, tuning.knock * tuning.damage);
            let by = Some(shooter.id);
            hurts.push(Hurt { victim, by, weapon, damage, knock, is_head, at, rewound_ms });
        }
        first.get_or_insert(end);
    }
    first.unwrap_or(eye)
}

/// Whether one of the pellets may meet something that was between two of its states, alive in either or in none.
fn may_meet(one: &Entity, other: &Entity, eye: Vector, ways: &[(Vector, Vector)]) -> bool {
    // Rounded as it was shown, it may be a little beside.
    const SLACK_METRES: f32 = 0.1;
    let body = |entity: &Entity| match entity {
        Entity::Fighter(fighter) => Some(body::bounds(fighter.position, false)),
        Entity::Target(target) => Some(target.body()),
        other => other.bounds(),
    };
    let Some((one, other)) = body(one).zip(body(other)) else { return false };
    let between = one.joined(other).grown([SLACK_METRES; 3]);
    ways.iter().any(|(_, wall)| between.crossed(eye, *wall).is_some())
}

/// What a bullet meets first on its way to a wall: what, where, and whether in the head.
fn nearest(
    near: &mut dyn Iterator<Item = (EntityId, &Entity)>,
    shooter: EntityId,
    eye: Vector,
    wall: Vector,
) -> Option<(EntityId, (Vector, bool))> {
    let others = near.filter(|(id, _)| *id != shooter);
    let crossed = others.filter_map(|(id, entity)| {
        let bounds = entity.bounds()?;
        Some((id, entity, bounds, bounds.crossed(eye, wall)?))
    });
    let (id, entity, bounds, fraction) = crossed.min_by(|a, b| a.3.total_cmp(&b.3))?;
    let at = along(eye, subtract(wall, eye), fraction);
    let is_high = at[2] > bounds.high[2] - body::HEAD_METRES;
    Some((id, (at, is_high && matches!(entity, Entity::Fighter(_)))))
}
