//! Who was hurt in a tick, by whom and how much: gathered while all move and fire, settled once all have.

use crate::arena::{Arena, Entity, Lookup};
use crate::content::Mode;
use crate::contest::{Contest, Phase};
use crate::event::{Event, FELT, SEEN, TOLD, What};
use crate::fighter::Fighter;
use crate::prop::Prop;
use crate::target::Target;
use crate::vector::{Vector, add, scale, subtract, unit};
use crate::weapon::Weapon;
use sametick::{EntityId, Turn, World};

/// One wound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hurt {
    pub(crate) victim: EntityId,
    /// The fighter who did it.
    pub(crate) by: Option<EntityId>,
    pub(crate) weapon: Weapon,
    pub(crate) damage: f32,
    /// By how much the victim's speed changes.
    pub(crate) knock: Vector,
    pub(crate) is_head: bool,
    /// Where it came from.
    pub(crate) at: Vector,
    /// How far back the server looked for it.
    pub(crate) rewound_ms: u16,
}

impl Hurt {
    /// By a fall, or a lift.
    pub(crate) fn by_nobody(victim: EntityId, damage: f32) -> Self {
        let weapon = Weapon::default();
        Self {
            victim,
            by: None,
            weapon,
            damage,
            knock: [0.0; 3],
            is_head: false,
            at: [0.0; 3],
            rewound_ms: 0,
        }
    }

    fn event(&self, what: What, direction: Vector) -> Event {
        let amount = self.damage.clamp(1.0, 255.0) as u8;
        let Self { weapon, by, at, is_head, rewound_ms, .. } = *self;
        Event { what, weapon, by, amount, at, direction, is_head, rewound_ms, ..Event::default() }
    }
}

/// Settles all wounds of a tick, in the order in which they were made.
pub(crate) fn settle(
    world: &mut World<Entity>,
    turn: &Turn<'_, Arena>,
    lookup: &Lookup,
    hurts: &[Hurt],
) {
    // Who has hit which target already: all pellets of a shot are one hit.
    let mut counted: Vec<(Option<EntityId>, EntityId)> = Vec::new();
    for hurt in hurts {
        match world.entity_mut(hurt.victim) {
            Some(Entity::Fighter(fighter)) if fighter.is_alive() => {
                let victim = fighter.clone();
                hurt_fighter(world, turn, lookup, hurt, victim);
            }
            Some(Entity::Prop(prop)) if prop.health > 0 => hurt_prop(prop, turn, hurt),
            Some(Entity::Target(target)) if target.health > 0 => {
                let hit = (hurt.by, hurt.victim);
                if target.counts_hits(turn) && counted.contains(&hit) {
                    continue;
                }
                counted.push(hit);
                let points = hurt_target(target, turn, hurt);
                score(world, lookup, hurt.by, points);
            }
            _ => {}
        }
    }
}

fn hurt_fighter(
    world: &mut World<Entity>,
    turn: &Turn<'_, Arena>,
    lookup: &Lookup,
    hurt: &Hurt,
    mut victim: Fighter,
) {
    let tuning = &turn.content().tuning;
    let by = hurt.by.and_then(|by| world.get::<Fighter>(by)).map(|by| by.player);
    let is_self = by == Some(victim.player);
    let team = |player: u16| lookup.seat(world, player).map_or(0, |seat| seat.team);
    let is_friend = !is_self
        && turn.content().mode == Mode::Teams
        && by.is_some_and(|by| team(by) == team(victim.player));
    victim.velocity = add(victim.velocity, hurt.knock);
    let direction = unit(subtract(hurt.at, victim.eye()));
    if !is_friend {
        let absorbed = (hurt.damage * tuning.armour_share).min(f32::from(victim.armour));
        victim.armour -= absorbed as u8;
        victim.health = victim.health.saturating_sub((hurt.damage - absorbed).max(1.0) as u8);
        turn.emit(hurt.victim, FELT, hurt.event(What::Hurt, direction));
    }
    let died = victim.health == 0;
    if died {
        (victim.respawn, victim.velocity) = (tuning.respawn_seconds, [0.0; 3]);
        // Everyone hears of it: where it was is for those who saw the wound.
        let death = Event { at: [0.0; 3], ..hurt.event(What::Death, [0.0; 3]) };
        turn.emit(hurt.victim, TOLD, death);
    }
    let player = victim.player;
    if let Some(fighter) = world.get_mut::<Fighter>(hurt.victim) {
        *fighter = victim;
    }
    if died {
        if let Some(seat) = lookup.seat_mut(world, player) {
            seat.deaths += 1;
        }
        let suicide = is_self || by.is_none();
        score(
            world,
            lookup,
            if suicide { Some(hurt.victim) } else { hurt.by },
            if suicide { -1 } else { 1 },
        );
    }
}

fn hurt_prop(prop: &mut Prop, turn: &Turn<'_, Arena>, hurt: &Hurt) {
    prop.health = prop.health.saturating_sub(hurt.damage as u8);
    prop.velocity = add(prop.velocity, scale(hurt.knock, 0.7));
    prop.is_resting = false;
    if prop.health == 0 {
        prop.velocity = [0.0; 3];
        prop.back_at = turn.tick().0 + (turn.content().tuning.prop_seconds / turn.dt()) as u32;
        turn.emit(hurt.victim, SEEN, hurt.event(What::Break, hurt.knock));
    }
}

/// What that is worth: a point if it broke.
fn hurt_target(target: &mut Target, turn: &Turn<'_, Arena>, hurt: &Hurt) -> i16 {
    let breaks = target.hurt(hurt.damage, turn);
    let what = if breaks { What::Break } else { What::Hurt };
    turn.emit(hurt.victim, FELT, hurt.event(what, hurt.knock));
    i16::from(breaks)
}

/// Counts for a fighter's player and team, while it counts.
fn score(world: &mut World<Entity>, lookup: &Lookup, fighter: Option<EntityId>, points: i16) {
    let counts = world.all::<Contest>().any(|(_, contest)| contest.phase == Phase::Playing);
    let player = fighter.and_then(|id| world.get::<Fighter>(id)).map(|fighter| fighter.player);
    let (Some(player), true) = (player, counts) else { return };
    let Some(seat) = lookup.seat_mut(world, player) else { return };
    seat.score += points;
    let team = usize::from(seat.team);
    let contest = world.all_mut::<Contest>().next().filter(|_| team > 0);
    if let Some((_, contest)) = contest {
        contest.team_scores[team - 1] += points;
    }
}
