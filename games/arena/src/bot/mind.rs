//! What a bot is after: an enemy it sees, one it saw, cover, something to take, or a place to go and see. Decides a few
//! times a second; eyes, hands and feet do the rest.

use super::eyes::{Eyes, Sighting};
use super::legs::Legs;
use super::sense::Sense;
use super::skill::Skill;
use super::ways::{Way, Ways};
use crate::body;
use crate::fighter::{ARMOUR_MAX, Fighter, HEALTH_MAX};
use crate::item::Item;
use crate::map::ItemKind;
use crate::vector::{Vector, along, length, subtract};
use crate::weapon::Weapon;
use sametick::Dice;
use std::collections::BTreeSet;

/// How often a bot thinks.
const THOUGHT_SECONDS: f64 = 0.1;
/// For how long it stays after something, by what that is.
const HUNT_SECONDS: f64 = 6.0;
const HIDE_SECONDS: f64 = 2.5;
const PEEK_SECONDS: f64 = 3.0;
const ERRAND_SECONDS: f64 = 20.0;
/// How long a peek out and the way back take.
const PEEK_HALF_SECONDS: f64 = 0.7;
/// Not twice in this time does it look for cover, or begin to peek.
const COVER_PAUSE_SECONDS: f64 = 6.0;
const PEEK_PAUSE_SECONDS: f64 = 9.0;
/// How many places are looked at for cover.
const COVER_PLACES_MAX: usize = 300;
/// And every which of them.
const COVER_STRIDE: usize = 4;
/// An item that was not there is not looked for again for this long.
const SHUN_SECONDS: f64 = 8.0;
/// An item must be worth this much to be fetched.
const WORTH_MIN: f32 = 0.12;
/// So near, one sees whether an item is there.
const ITEM_SIGHT_METRES: f32 = 20.0;

/// What a bot is after.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Mood {
    /// Goes somewhere to see who is there.
    #[default]
    Roam,
    /// Fetches the item with this number.
    Take(usize),
    /// Goes where it last saw an enemy.
    Hunt,
    /// Fights one it sees.
    Fight,
    /// Goes behind something, and waits there.
    Hide,
    /// Steps out and back until the enemy shows itself.
    Peek,
}

/// A mood, and what goes with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Mind {
    pub(super) mood: Mood,
    goal: Option<Vector>,
    until: f64,
    think_at: f64,
    /// Where it last stood in sight of an enemy, and where it is hidden.
    out: Vector,
    cover: Vector,
    cover_at: f64,
    peek_at: f64,
    /// Until when each item is not looked for.
    shunned: Vec<f64>,
    /// Where it goes instead of deciding that.
    pub(super) errand: Option<Vector>,
}

impl Mind {
    /// One that has nothing in mind but an errand, if there is one.
    pub(super) fn sent(errand: Option<Vector>) -> Self {
        Self { errand, ..Self::default() }
    }

    /// Decides, if it is time, and sends the feet on their way.
    pub(super) fn think(
        &mut self,
        sense: &Sense<'_>,
        (eyes, legs): (&mut Eyes, &mut Legs),
        (skill, ways): (&Skill, &Ways),
        dice: &mut Dice,
    ) {
        if sense.now < self.think_at {
            return;
        }
        self.think_at = sense.now + THOUGHT_SECONDS;
        match eyes.target(sense.now, skill).copied() {
            Some(target) => self.meet(&target, sense, legs, (skill, ways)),
            None if self.errand.is_some() => (self.mood, self.goal) = (Mood::Roam, self.errand),
            None => self.go_on(sense, (eyes, legs), ways, dice),
        }
        if let Some(goal) = self.goal {
            legs.go(goal, ways, sense);
        }
    }

    /// An enemy is in sight.
    fn meet(
        &mut self,
        target: &Sighting,
        sense: &Sense<'_>,
        legs: &mut Legs,
        (skill, ways): (&Skill, &Ways),
    ) {
        let own = sense.own;
        let strength = f32::from(own.health) + f32::from(own.armour) / 2.0;
        if self.mood == Mood::Hide && sense.now < self.until {
            return;
        }
        if strength < skill.cover_health && sense.now >= self.cover_at {
            self.cover_at = sense.now + COVER_PAUSE_SECONDS;
            if let Some(cover) = find_cover(target, ways, sense) {
                (self.mood, self.goal, self.cover) = (Mood::Hide, Some(cover), cover);
                self.until = sense.now + HIDE_SECONDS;
                return;
            }
        }
        if self.mood != Mood::Fight {
            legs.stop();
        }
        (self.mood, self.goal, self.out) = (Mood::Fight, None, own.position);
    }

    /// Nobody is in sight.
    fn go_on(
        &mut self,
        sense: &Sense<'_>,
        (eyes, legs): (&mut Eyes, &mut Legs),
        ways: &Ways,
        dice: &mut Dice,
    ) {
        let (now, is_over) = (sense.now, sense.now >= self.until);
        match self.mood {
            Mood::Fight => match eyes.remembered() {
                Some(enemy) if now >= self.peek_at && may_peek(enemy, sense, dice) => {
                    // Back from where one saw it, to where one is not seen.
                    let cover = find_cover(enemy, ways, sense);
                    self.cover = cover.unwrap_or(sense.own.position);
                    (self.mood, self.until) = (Mood::Peek, now + PEEK_SECONDS);
                    self.peek_at = now + PEEK_PAUSE_SECONDS;
                }
                Some(enemy) => self.hunt(enemy, now),
                None => self.choose(sense, ways, dice),
            },
            Mood::Peek if !is_over => {
                let is_out = ((now / PEEK_HALF_SECONDS) as u64).is_multiple_of(2);
                self.goal = Some(if is_out { self.out } else { self.cover });
            }
            Mood::Hide if !is_over => {}
            Mood::Peek | Mood::Hide => match (self.best_item(sense), eyes.remembered()) {
                (Some((item, worth)), _) if worth > 2.0 * WORTH_MIN => self.fetch(item, sense),
                (_, Some(enemy)) => self.hunt(enemy, now),
                _ => self.choose(sense, ways, dice),
            },
            Mood::Hunt if is_over || !legs.has_goal() => {
                eyes.forget();
                self.choose(sense, ways, dice);
            }
            Mood::Take(item) if !self.is_worth(item, sense) => self.choose(sense, ways, dice),
            Mood::Roam | Mood::Take(_) if is_over || !legs.has_goal() => {
                if let Mood::Take(item) = self.mood {
                    self.shun(item, now);
                }
                self.choose(sense, ways, dice);
            }
            _ => {}
        }
    }

    fn hunt(&mut self, enemy: &Sighting, now: f64) {
        let [x, y, _] = enemy.bounds.centre();
        self.goal = Some([x, y, enemy.bounds.low[2]]);
        (self.mood, self.until) = (Mood::Hunt, now + HUNT_SECONDS);
    }

    fn choose(&mut self, sense: &Sense<'_>, ways: &Ways, dice: &mut Dice) {
        if let Some((item, _)) = self.best_item(sense) {
            self.fetch(item, sense);
            return;
        }
        let map = &sense.content.map;
        let things = map.spawns.len() + map.items.len();
        // Where people are: where they begin, and where there is something to take.
        let thing = dice.below(things as u64 + 1) as usize;
        let places = ways.places();
        let anywhere = places[dice.below(places.len() as u64) as usize];
        let spawn = map.spawns.get(thing).map(|spawn| spawn.place);
        let item = || map.items.get(thing - map.spawns.len()).map(|item| item.place);
        self.goal = Some(spawn.or_else(item).unwrap_or(anywhere));
        (self.mood, self.until) = (Mood::Roam, sense.now + ERRAND_SECONDS);
    }

    fn fetch(&mut self, item: usize, sense: &Sense<'_>) {
        self.goal = Some(sense.content.map.items[item].place);
        (self.mood, self.until) = (Mood::Take(item), sense.now + ERRAND_SECONDS);
    }

    fn shun(&mut self, item: usize, now: f64) {
        self.shunned.resize(self.shunned.len().max(item + 1), 0.0);
        self.shunned[item] = now + SHUN_SECONDS;
    }

    /// The item that is worth most, and how much.
    fn best_item(&mut self, sense: &Sense<'_>) -> Option<(usize, f32)> {
        let eye = sense.own.eye();
        for (_, item) in sense.world.all::<Item>() {
            let index = usize::from(item.index);
            let Some(place) = sense.content.map.items.get(index).map(|item| item.place) else {
                continue;
            };
            // Whether one that is out of sight is there, nobody knows.
            let is_gone = !item.is_there(sense.world.tick());
            let is_near = length(subtract(place, eye)) < ITEM_SIGHT_METRES;
            if is_gone && is_near && sense.content.map.visible(eye, place) {
                self.shun(index, sense.now);
            }
        }
        let worth = |index: usize| {
            let item = sense.content.map.items[index];
            let metres = length(subtract(item.place, sense.own.position));
            wanted(item.kind, sense.own) * 10.0 / (metres + 10.0)
        };
        let is_shunned =
            |index: &usize| self.shunned.get(*index).is_some_and(|until| *until > sense.now);
        let items = (0..sense.content.map.items.len()).filter(|index| !is_shunned(index));
        let best = items.map(|index| (index, worth(index))).max_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|(_, worth)| *worth > WORTH_MIN)
    }

    /// Whether the item that is being fetched is still of any use.
    fn is_worth(&self, item: usize, sense: &Sense<'_>) -> bool {
        let place = sense.content.map.items.get(item);
        place.is_some_and(|item| wanted(item.kind, sense.own) > 0.0)
    }
}

/// One waits for an enemy at a corner rather than walk up to it, if it is far and one is weak or has to load.
fn may_peek(enemy: &Sighting, sense: &Sense<'_>, dice: &mut Dice) -> bool {
    let far = length(subtract(enemy.bounds.centre(), sense.own.position)) > 8.0;
    let is_weak = sense.own.health < 50 || sense.own.reloading > 0.0;
    far && dice.chance(if is_weak { 0.7 } else { 0.25 })
}

/// How much a fighter wants what an item gives: 1 is very much.
fn wanted(kind: ItemKind, own: &Fighter) -> f32 {
    let lacks = |points: u8, most: u8| 1.0 - f32::from(points.min(most)) / f32::from(most);
    let lacks_shots = |weapon: Weapon, few: u8| {
        let shots = own.loaded[weapon.index()].saturating_add(own.reserve[weapon.index()]);
        0.8 * lacks(shots, few)
    };
    match kind {
        ItemKind::Health => lacks(own.health, HEALTH_MAX) * 1.2,
        ItemKind::Armour => lacks(own.armour, ARMOUR_MAX) * 0.6,
        ItemKind::Bullets => lacks_shots(Weapon::Rifle, 90),
        ItemKind::Shells => lacks_shots(Weapon::Shotgun, 18),
        ItemKind::Rockets => lacks_shots(Weapon::Launcher, 12),
    }
}

/// The nearest place on foot that an enemy cannot see.
fn find_cover(enemy: &Sighting, ways: &Ways, sense: &Sense<'_>) -> Option<Vector> {
    let eye = along(enemy.bounds.centre(), [0.0, 0.0, 1.0], enemy.bounds.half()[2] * 0.75);
    let first = ways.nearest(sense.own.position)?;
    let (mut found, mut known) = (vec![first], BTreeSet::from([first]));
    let mut looked_at = 0;
    while let Some(place) = found.get(looked_at).copied() {
        looked_at += 1;
        let feet = ways.places()[place as usize];
        let is_hidden = || {
            !sense.sees(eye, body::centre(feet, false)) && !sense.sees(eye, body::eye(feet, false))
        };
        // Not every one: neighbours are seen or hidden together.
        if looked_at % COVER_STRIDE == 0 && is_hidden() {
            return Some(feet);
        }
        for link in ways.links(place).iter().filter(|link| link.way == Way::Walk) {
            if found.len() < COVER_PLACES_MAX && known.insert(link.to) {
                found.push(link.to);
            }
        }
    }
    None
}
