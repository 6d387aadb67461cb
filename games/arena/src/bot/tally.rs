//! What bots did in a match: shots and hits by distance, ways, places, and how long anyone stood still. Counts what
//! it is shown after each tick; changes nothing.

use super::Bot;
use crate::arena::Entity;
use crate::event::{Event, What};
use crate::fighter::Fighter;
use crate::seat::Seat;
use crate::vector::{Vector, length, subtract};
use crate::weapon::Weapon;
use sametick::{Effect, EntityId, PlayerId, World};
use std::collections::BTreeMap;

/// The upper ends of the ranges by which shots are counted, in metres; the last range has none.
pub const RANGE_METRES: [f32; 4] = [6.0, 12.0, 24.0, 48.0];
/// How many ranges there are.
pub const RANGES: usize = RANGE_METRES.len() + 1;
/// The side of the squares by which places are counted.
const SQUARE_METRES: f32 = 4.0;
/// Whoever stays within this far of where it was stands still.
const STILL_METRES: f32 = 1.5;
/// Further than this in a tick nobody walks.
const STRIDE_METRES_MAX: f32 = 3.0;

/// What one player did.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Rifle shots by how far the target was, and how many of them hit.
    pub shots: [u32; RANGES],
    /// As many of them hit.
    pub hits: [u32; RANGES],
    /// Shots of all weapons.
    pub all_shots: u32,
    /// How far it went, in metres.
    pub metres: f32,
    /// For how long it was alive.
    pub alive_seconds: f32,
    /// The longest time it stood still alive and with nobody to fight.
    pub still_seconds_max: f32,
    /// What it took.
    pub pickups: u32,
    /// Its place in the score table, when last seen.
    pub score: i16,
    /// How often it died.
    pub deaths: u16,
    /// Its team.
    pub team: u8,
    still_seconds: f32,
    anchor: Vector,
    last: Option<Vector>,
    squares: BTreeMap<[i16; 3], f32>,
}

impl Tally {
    /// Counts a tick of a match that bots play: the world after it, and what happened in it.
    pub fn count<'a>(
        tallies: &mut [Self],
        bots: impl IntoIterator<Item = (PlayerId, &'a Bot)>,
        world: &World<Entity>,
        effects: &[Effect<Event>],
        dt: f32,
    ) {
        for ((player, bot), tally) in bots.into_iter().zip(tallies) {
            let Some((id, own)) = world.owned::<Fighter>(player) else { continue };
            tally.follow(own, bot.target().is_some(), dt);
            let target = bot.target().and_then(|target| world.get::<Fighter>(target));
            let metres = target.map(|target| length(subtract(target.position, own.position)));
            for effect in effects {
                if let Effect::Started { key, event, .. } = effect {
                    tally.note(id, key.entity, event, metres);
                }
            }
            if let Some((_, seat)) = world.all::<Seat>().find(|(_, seat)| seat.player == player.0) {
                (tally.score, tally.deaths, tally.team) = (seat.score, seat.deaths, seat.team);
            }
        }
    }

    /// How spread out the places are where it was, in bits: 0 is always the same square, and each bit more is twice
    /// as many squares.
    pub fn place_entropy(&self) -> f32 {
        let total: f32 = self.squares.values().sum();
        let part = |seconds: &f32| {
            let share = seconds / total.max(f32::MIN_POSITIVE);
            -share * libm::log2f(share.max(f32::MIN_POSITIVE))
        };
        self.squares.values().map(part).sum()
    }

    /// How far it went in a minute of life.
    pub fn metres_per_minute(&self) -> f32 {
        self.metres * 60.0 / self.alive_seconds.max(1.0)
    }

    fn follow(&mut self, own: &Fighter, is_fighting: bool, dt: f32) {
        if !own.is_alive() {
            (self.last, self.still_seconds) = (None, 0.0);
            return;
        }
        self.alive_seconds += dt;
        let stride = self.last.map_or(0.0, |last| length(subtract(own.position, last)));
        self.metres += if stride < STRIDE_METRES_MAX { stride } else { 0.0 };
        self.last = Some(own.position);
        let square = own.position.map(|metres| (metres / SQUARE_METRES).floor() as i16);
        *self.squares.entry(square).or_default() += dt;
        if length(subtract(own.position, self.anchor)) > STILL_METRES || is_fighting {
            (self.anchor, self.still_seconds) = (own.position, 0.0);
        }
        self.still_seconds += dt;
        self.still_seconds_max = self.still_seconds_max.max(self.still_seconds);
    }

    fn note(&mut self, own: EntityId, about: EntityId, event: &Event, metres: Option<f32>) {
        let range = metres.map(|metres| RANGE_METRES.iter().filter(|end| metres > **end).count());
        match (event.what, range) {
            (What::Shot, range) if about == own => {
                self.all_shots += 1;
                if let Some(range) = range.filter(|_| event.weapon == Weapon::Rifle) {
                    self.shots[range] += 1;
                }
            }
            (What::Hurt, Some(range)) if event.by == Some(own) && about != own => {
                self.hits[range] += u32::from(event.weapon == Weapon::Rifle);
            }
            (What::Pickup, _) if about == own => self.pickups += 1,
            _ => {}
        }
    }
}
