//! Which weapon a bot takes in hand: by how far the enemy is, by what is loaded, and by what its hands prefer.

use super::skill::Skill;
use crate::content::Content;
use crate::fighter::Fighter;
use crate::weapon::Weapon;
use sametick::Dice;

/// Nearer than this, pellets all hit.
const SHOTGUN_METRES: f32 = 7.0;
/// Nearer than this, a rocket hurts its shooter; further than that, nobody waits for it.
const LAUNCHER_METRES: std::ops::Range<f32> = 5.0..26.0;
/// How long a choice stands.
const CHOICE_SECONDS: f64 = 1.6;

/// A weapon, and until when it is the one.
#[derive(Clone, Debug, Default)]
pub(super) struct Arms {
    weapon: Weapon,
    until: f64,
}

impl Arms {
    /// The weapon for an enemy at this distance.
    pub(super) fn choose(
        &mut self,
        own: &Fighter,
        metres: f32,
        skill: &Skill,
        now: f64,
        dice: &mut Dice,
    ) -> Weapon {
        let is_loaded = |weapon: Weapon| own.loaded[weapon.index()] > 0;
        let is_dangerous = self.weapon == Weapon::Launcher && metres < LAUNCHER_METRES.start - 1.0;
        if now < self.until && is_loaded(self.weapon) && !is_dangerous {
            return self.weapon;
        }
        self.until = now + CHOICE_SECONDS;
        let wants_rocket =
            LAUNCHER_METRES.contains(&metres) && dice.chance(skill.rocket_share.into());
        let order = if wants_rocket {
            [Weapon::Launcher, Weapon::Rifle, Weapon::Shotgun]
        } else if metres < SHOTGUN_METRES {
            [Weapon::Shotgun, Weapon::Rifle, Weapon::Launcher]
        } else {
            [Weapon::Rifle, Weapon::Launcher, Weapon::Shotgun]
        };
        let has = |weapon: &Weapon| own.reserve[weapon.index()] > 0;
        let loaded = order.into_iter().find(|weapon| is_loaded(*weapon));
        self.weapon = loaded.or_else(|| order.into_iter().find(has)).unwrap_or(self.weapon);
        self.weapon
    }

    /// The weapon for when nobody is there, and whether it wants to be loaded: each one in turn.
    pub(super) fn rest(&mut self, own: &Fighter, content: &Content, now: f64) -> (Weapon, bool) {
        let lacks = |weapon: &Weapon| {
            let magazine = content.tuning.weapons[weapon.index()].magazine;
            own.loaded[weapon.index()] <= magazine / 2 && own.reserve[weapon.index()] > 0
        };
        let wanting = Weapon::ALL.into_iter().find(lacks);
        if own.reloading == 0.0 && now >= self.until {
            self.weapon = wanting.unwrap_or(Weapon::Rifle);
        }
        (self.weapon, lacks(&self.weapon))
    }
}

/// How near a bot would like to be with a weapon in hand.
pub(super) fn preferred_metres(weapon: Weapon) -> f32 {
    match weapon {
        Weapon::Rifle => 14.0,
        Weapon::Shotgun => 3.5,
        Weapon::Launcher => 11.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weapon that a bot which never prefers rockets takes, by what is loaded and what is left.
    fn expect(metres: f32, loaded: [u8; 3], reserve: [u8; 3], wanted: Weapon) {
        let own = Fighter { loaded, reserve, ..Fighter::default() };
        let skill = Skill { rocket_share: 0.0, ..Skill::level(3) };
        let mut dice = Dice::new(1, 1);
        let chosen = Arms::default().choose(&own, metres, &skill, 0.0, &mut dice);
        assert_eq!(chosen, wanted, "{metres} m, {loaded:?}, {reserve:?}");
    }

    #[test]
    fn distance_and_ammunition_choose() {
        expect(4.0, [30, 6, 4], [0; 3], Weapon::Shotgun);
        expect(15.0, [30, 6, 4], [0; 3], Weapon::Rifle);
        expect(4.0, [30, 0, 4], [30, 6, 4], Weapon::Rifle);
        expect(15.0, [0, 6, 4], [30, 6, 4], Weapon::Launcher);
        expect(15.0, [0, 0, 0], [30, 6, 4], Weapon::Rifle);
        expect(15.0, [0, 0, 0], [0, 6, 0], Weapon::Shotgun);
    }

    #[test]
    fn a_rocket_is_put_away_when_the_enemy_is_near() {
        let own = Fighter { loaded: [30, 6, 4], ..Fighter::default() };
        let skill = Skill { rocket_share: 1.0, ..Skill::level(3) };
        let (mut arms, mut dice) = (Arms::default(), Dice::new(1, 1));
        arms.until = -1.0;
        assert_eq!(arms.choose(&own, 12.0, &skill, 0.0, &mut dice), Weapon::Launcher);
        assert_eq!(arms.choose(&own, 3.0, &skill, 0.1, &mut dice), Weapon::Shotgun);
    }
}
