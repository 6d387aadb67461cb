//! A fighter: a player's body in the arena, alive, dead or away. What its rules add up is exact; others see as
//! much as their eyes need.

use crate::arena::{Arena, Entity, Lookup, Roll};
use crate::body;
use crate::command::{Command, PITCH_MAX, PITCH_STEP};
use crate::content::Content;
use crate::damage::Hurt;
use crate::event::{Event, SEEN, What};
use crate::map::{ItemKind, SHOWN_METRES, SHOWN_RANGE, SKIN_METRES};
use crate::movement::{self, SPEED_MAX};
use crate::solids::Solids;
use crate::vector::{Bounds, Vector, length, subtract};
use crate::weapon::Weapon;
use sametick::kinds::Int;
use sametick::{Dice, EntityId, Fields, Networked, Turn, World};

/// The most health one can have.
pub const HEALTH_MAX: u8 = 100;
/// The most armour one can have.
pub const ARMOUR_MAX: u8 = 100;
/// What a box of health or armour gives.
const ITEM_POINTS: u8 = 40;
/// Who lands faster than this is hurt, and how much for each metre a second more.
const SAFE_LANDING_SPEED: f32 = 14.0;
const LANDING_DAMAGE: f32 = 8.0;
/// What a lift does to whoever it presses against a ceiling.
const CRUSH_DAMAGE: f32 = 250.0;
/// How far from the middle of its body one reaches an item.
const ITEM_REACH_METRES: Vector = [0.9, 0.9, 1.5];
/// How many spawns are looked at for one far from where one died.
const SPAWNS_LOOKED_AT: usize = 3;

/// A player's body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fighter {
    /// Whose it is.
    pub player: u16,
    /// Where its feet are.
    pub position: Vector,
    /// Metres a second.
    pub velocity: Vector,
    /// Where it looks: left from +x.
    pub yaw: f32,
    /// Where it looks: up from the horizon.
    pub pitch: f32,
    /// None left: dead.
    pub health: u8,
    /// Takes a share of what hurts.
    pub armour: u8,
    /// What it has in hand.
    pub weapon: Weapon,
    /// Shots in each magazine.
    pub loaded: [u8; 3],
    /// Shots besides those.
    pub reserve: [u8; 3],
    /// Seconds until it can fire.
    pub cooldown: f32,
    /// Seconds until the magazine is full; nothing if it is not being filled.
    pub reloading: f32,
    /// Seconds until it begins again.
    pub respawn: f32,
    /// On its feet.
    pub is_grounded: bool,
    /// Small and slow.
    pub is_crouched: bool,
    /// Not there at all: its player watches.
    pub is_away: bool,
    /// Counts the times it was taken elsewhere: when it changes, what is between is not shown.
    pub teleports: u8,
    /// In which round of the match it last began.
    pub round: u8,
    /// The item it took last, and in which tick: its own copy of the world may not know yet that it is gone.
    pub took: u8,
    /// When that was.
    pub took_at: u32,
}

impl Networked for Fighter {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("player", &mut self.player, 16);
        f.exacts("position", &mut self.position).shown_each(SHOWN_RANGE, SHOWN_METRES);
        f.exacts("velocity", &mut self.velocity).shown_each(-SPEED_MAX..=SPEED_MAX, 1.0 / 32.0);
        f.angle("yaw", &mut self.yaw, 16);
        f.ranged("pitch", &mut self.pitch, -PITCH_MAX..=PITCH_MAX, PITCH_STEP);
        f.int("health", &mut self.health, 0..=HEALTH_MAX);
        f.int("armour", &mut self.armour, 0..=ARMOUR_MAX);
        f.choice("weapon", &mut self.weapon, &Weapon::ALL);
        for (loaded, name) in self.loaded.iter_mut().zip(["rifle", "shotgun", "launcher"]) {
            f.int(name, loaded, 0..=255).shown_as(Int::new(0..=0));
        }
        for (reserve, name) in self.reserve.iter_mut().zip(["bullets", "shells", "rockets"]) {
            f.int(name, reserve, 0..=255).shown_as(Int::new(0..=0));
        }
        f.exact("cooldown", &mut self.cooldown).shown(0.0..=0.0, 1.0);
        f.exact("reloading", &mut self.reloading).shown(0.0..=3.0, 1.0);
        // Who predicts others must not bring the dead back, nor begin a round for them again.
        f.exact("respawn", &mut self.respawn).shown(0.0..=3.5, 0.5);
        f.bool("is_grounded", &mut self.is_grounded);
        f.bool("is_crouched", &mut self.is_crouched);
        f.bool("is_away", &mut self.is_away);
        f.bits("teleports", &mut self.teleports, 2);
        f.bits("round", &mut self.round, 8);
        f.bits("took", &mut self.took, 8).shown_as(Int::new(0..=0));
        f.bits("took_at", &mut self.took_at, 32).shown_as(Int::new(0..=0));
        f.rate_of("velocity", "position");
    }
}

impl Fighter {
    /// Whether it is there and not dead.
    pub fn is_alive(&self) -> bool {
        self.health > 0 && !self.is_away
    }

    /// Where it can be hit, if it can.
    pub fn bounds(&self) -> Option<Bounds> {
        self.is_alive().then(|| body::bounds(self.position, self.is_crouched))
    }

    /// Where its eyes are.
    pub fn eye(&self) -> Vector {
        body::eye(self.position, self.is_crouched)
    }

    /// Begins anew at one of the map's spawns, by chance and rather far from where it was. It asks nothing about
    /// the others, of whom its own player may not know.
    pub(crate) fn begin(&mut self, team: u8, content: &Content, mut dice: Dice) {
        let fitting: Vec<_> = content
            .map
            .spawns
            .iter()
            .filter(|spawn| spawn.team == 0 || spawn.team == team)
            .collect();
        let all: Vec<_> = content.map.spawns.iter().collect();
        let spawns = if fitting.is_empty() { all } else { fitting };
        let mut best = spawns[dice.below(spawns.len() as u64) as usize];
        for _ in 1..SPAWNS_LOOKED_AT {
            let other = spawns[dice.below(spawns.len() as u64) as usize];
            let far = |place: Vector| length(subtract(place, self.position));
            if far(other.place) > far(best.place) {
                best = other;
            }
        }
        let weapons = &content.tuning.weapons;
        *self = Self {
            player: self.player,
            position: best.place,
            yaw: best.yaw,
            health: HEALTH_MAX,
            weapon: self.weapon,
            loaded: [0, 1, 2].map(|weapon| weapons[weapon].magazine),
            reserve: [0, 1, 2].map(|weapon| weapons[weapon].magazine),
            teleports: self.teleports.wrapping_add(1),
            round: self.round,
            took: self.took,
            took_at: self.took_at,
            ..Self::default()
        };
    }

    /// One tick of everything but its weapon.
    pub(crate) fn step(
        &mut self,
        id: EntityId,
        command: &Command,
        lookup: &Lookup,
        (world, solids): (&World<Entity>, &Solids<'_>),
        turn: &Turn<'_, Arena>,
        hurts: &mut Vec<Hurt>,
    ) {
        let (content, dt) = (turn.content(), turn.dt());
        let seat = lookup.seat(world, self.player);
        let was_away = self.is_away;
        let watches = command.watch || seat.map_or(was_away, |seat| seat.must_watch);
        let round = lookup.round(world, turn.tick()).unwrap_or(self.round);
        let begins = was_away || self.round != round;
        self.respawn = (self.respawn - dt).max(0.0);
        if watches && !was_away {
            // To watch for a moment is no shorter way to a new life than to die.
            self.respawn = content.tuning.respawn_seconds;
        }
        self.is_away = watches || was_away && self.respawn > 0.0;
        if !self.is_away && (begins || self.health == 0 && self.respawn == 0.0) {
            self.round = round;
            self.begin(
                seat.map_or(0, |seat| seat.team),
                content,
                turn.dice(id, Roll::Spawn as u32),
            );
            turn.emit(id, SEEN, Event { what: What::Spawn, at: self.position, ..Event::default() });
        }
        (self.yaw, self.pitch) = (command.yaw, command.pitch);
        if !self.is_alive() {
            self.velocity = [0.0; 3];
            return;
        }
        self.ride(id, solids, turn, hurts);
        let steps = movement::walk(self, id, command, solids, &content.tuning, dt);
        if steps.jumped {
            turn.emit(id, SEEN, Event { what: What::Jump, ..Event::default() });
        }
        if let Some(speed) = steps.landed {
            turn.emit(
                id,
                SEEN,
                Event { what: What::Land, amount: speed as u8, ..Event::default() },
            );
            if speed > SAFE_LANDING_SPEED {
                hurts.push(Hurt::by_nobody(id, (speed - SAFE_LANDING_SPEED) * LANDING_DAMAGE));
            }
        }
        self.teleport(id, turn);
        self.take(id, world, lookup, turn);
    }

    /// Goes with the lift it stands on, or is in the way of.
    fn ride(
        &mut self,
        id: EntityId,
        solids: &Solids<'_>,
        turn: &Turn<'_, Arena>,
        hurts: &mut Vec<Hurt>,
    ) {
        let (now, before) = (seconds(turn), seconds(turn) - f64::from(turn.dt()));
        for lift in &solids.map().lifts {
            let top = |seconds: f64| lift.bounds.high[2] + lift.height(seconds);
            let (top, top_before) = (top(now), top(before));
            let reach = lift.bounds.grown([body::RADIUS_METRES, body::RADIUS_METRES, 0.0]);
            let is_over = (0..2).all(|axis| {
                self.position[axis] > reach.low[axis] && self.position[axis] < reach.high[axis]
            });
            let feet = self.position[2];
            let stands = self.is_grounded && (feet - top_before).abs() < 0.05;
            let is_lifted = feet < top + SKIN_METRES && feet > top_before - 0.3;
            if is_over && (stands || is_lifted) {
                self.position[2] = top + SKIN_METRES;
                let centre = body::centre(self.position, self.is_crouched);
                if !solids.map().fits(body::half(self.is_crouched), centre) {
                    self.position[2] = feet;
                    hurts.push(Hurt::by_nobody(id, CRUSH_DAMAGE));
                }
            }
        }
    }

    fn teleport(&mut self, id: EntityId, turn: &Turn<'_, Arena>) {
        let bounds = body::bounds(self.position, self.is_crouched);
        let teleporters = &turn.content().map.teleporters;
        if let Some(teleporter) =
            teleporters.iter().find(|teleporter| teleporter.from.touches(bounds))
        {
            turn.emit(
                id,
                SEEN,
                Event { what: What::Teleport, at: self.position, ..Event::default() },
            );
            self.position = teleporter.to;
            self.teleports = self.teleports.wrapping_add(1);
            self.is_grounded = false;
        }
    }

    /// Takes what it touches and can use.
    fn take(
        &mut self,
        id: EntityId,
        world: &World<Entity>,
        lookup: &Lookup,
        turn: &Turn<'_, Arena>,
    ) {
        let (content, tick) = (turn.content(), turn.tick());
        let centre = body::centre(self.position, self.is_crouched);
        for (index, place) in content.map.items.iter().enumerate() {
            let off = subtract(place.place, centre);
            let is_near = (0..3).all(|axis| off[axis].abs() < ITEM_REACH_METRES[axis]);
            let item = if is_near { lookup.item(world, index) } else { None };
            let Some(item) = item.filter(|item| item.is_there(tick)) else { continue };
            let away_ticks = (content.tuning.item_seconds / turn.dt()) as u32;
            let is_mine = self.took == item.index && self.took_at > 0;
            let was_taken = is_mine && tick.0 < self.took_at.saturating_add(away_ticks);
            if !was_taken && self.use_item(place.kind, content) {
                (self.took, self.took_at) = (item.index, tick.0);
                let event = Event { what: What::Pickup, amount: item.index, ..Event::default() };
                turn.emit(id, SEEN, event);
            }
        }
    }

    /// Whether it was of any use.
    fn use_item(&mut self, kind: ItemKind, content: &Content) -> bool {
        let fill = |points: &mut u8, more: u8, most: u8| {
            let before =
                std::mem::replace(points, points.saturating_add(more).min(most).max(*points));
            *points > before
        };
        match kind {
            ItemKind::Health => fill(&mut self.health, ITEM_POINTS, HEALTH_MAX),
            ItemKind::Armour => fill(&mut self.armour, ITEM_POINTS, ARMOUR_MAX),
            _ => {
                Weapon::ALL.into_iter().filter(|weapon| weapon.ammunition() == kind).any(|weapon| {
                    let tuning = &content.tuning.weapons[weapon.index()];
                    fill(&mut self.reserve[weapon.index()], tuning.item_shots, tuning.reserve_max)
                })
            }
        }
    }
}

/// How long the game has run, at the end of this tick.
pub(crate) fn seconds(turn: &Turn<'_, Arena>) -> f64 {
    f64::from(turn.tick().0) * f64::from(turn.dt())
}
