//! What one player's screen shows, measured frame by frame: how late its own commands are seen, and how far off the
//! others are.

use super::targets::nearest;
use crate::rows::{SecondRow, SightingRow, TrialLog, ViewRow};
use sametick::{Time, World};
use sametick_arena::scenes::RUN_SPEED;
use sametick_arena::vector::{Bounds, Vector, along, direction, dot, length, subtract, unit};
use sametick_arena::{Command, Content, Entity, Fighter, Target};
use std::collections::{BTreeMap, VecDeque};
use std::f32::consts::TAU;

/// Who is slower stands, and is not off however late it is shown.
const MOVING_SPEED: f32 = 1.0;
/// Further apart nobody is by lateness alone: it was put elsewhere, and the screen does not know yet.
const DEVIATION_MAX: f32 = 25.0;
/// How many commands are remembered until their effect is seen, and shots until they are judged.
const REMEMBERED_MAX: usize = 512;
/// How far one sees.
const SIGHT_METRES: f32 = 250.0;
/// Slower than this share of a run a target is about to turn.
const STEADY_SHARE: f32 = 0.97;

/// Where a player has itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Own {
    pub(crate) place: Vector,
    pub(crate) velocity: Vector,
    pub(crate) teleports: u8,
    pub(crate) is_alive: bool,
}

impl Own {
    pub(crate) fn of(fighter: &Fighter) -> Self {
        Self {
            place: fighter.position,
            velocity: fighter.velocity,
            teleports: fighter.teleports,
            is_alive: fighter.is_alive(),
        }
    }
}

/// What was under a crosshair when a player pulled the trigger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    yaw: u16,
    pub(crate) target: u32,
    pub(crate) shown: Vector,
    pub(crate) velocity: Vector,
}

/// What a look at a screen is compared with.
pub(crate) struct Truth<'a> {
    /// Milliseconds since logging began; below zero nothing is logged.
    pub(crate) time_ms: f64,
    pub(crate) tick: u32,
    /// By player, counted from 0: where each has itself, and where the server has it.
    pub(crate) owns: &'a [Option<Own>],
    pub(crate) served: &'a [Option<Own>],
    /// The player, counted from 1, of each number in the game.
    pub(crate) numbers: &'a BTreeMap<u16, u32>,
    pub(crate) logs_views: bool,
    /// Where it is played, if it matters who sees whom.
    pub(crate) sights: Option<&'a Content>,
}

/// One player's screen.
#[derive(Default)]
pub(crate) struct Screen {
    pub(crate) player: u32,
    pub(crate) second: SecondRow,
    pub(crate) own: Option<Own>,
    asked: VecDeque<(u16, Time)>,
    aims: VecDeque<Aim>,
    /// Where it looked, the target nearest to that, and how far beside it that was, in degrees.
    beside: VecDeque<(u16, (u32, f64))>,
    asked_yaw: Option<u16>,
    before: BTreeMap<u32, Vector>,
    in_sight: BTreeMap<u32, bool>,
}

impl Screen {
    pub(crate) fn new(player: u32) -> Self {
        Self { player, ..Self::default() }
    }

    /// Looks at a picture in which the own body looks `own_yaw`: between two ticks, where a picture is blended, that is
    /// not to be told from it.
    pub(crate) fn look(
        &mut self,
        now: Time,
        picture: &World<Entity>,
        own_yaw: Option<f32>,
        truth: &Truth<'_>,
        log: &mut TrialLog,
    ) {
        self.second.frames += 1;
        for (_, fighter) in picture.all::<Fighter>() {
            let Some(player) = truth.numbers.get(&fighter.player).copied() else { continue };
            if player == self.player {
                self.own = Some(Own::of(fighter));
                self.notice(now, word(own_yaw.unwrap_or(fighter.yaw)));
            } else if truth.time_ms >= 0.0 {
                self.compare(player, fighter, truth, log);
            }
        }
        if let Some(content) = truth.sights {
            self.sight(picture, content, truth, log);
        }
    }

    /// Takes down who has come into sight: a straight line from the own eye to its middle is free.
    fn sight(
        &mut self,
        picture: &World<Entity>,
        content: &Content,
        truth: &Truth<'_>,
        log: &mut TrialLog,
    ) {
        let Some(own) = self.own.filter(|own| own.is_alive) else { return };
        let eye = sametick_arena::body::eye(own.place, false);
        for (_, fighter) in picture.all::<Fighter>() {
            let other = truth.numbers.get(&fighter.player).copied();
            let Some(of) = other.filter(|of| *of != self.player) else { continue };
            let middle = fighter.bounds().map(Bounds::centre);
            let sees = middle.is_some_and(|middle| content.map.visible(eye, middle));
            let saw = self.in_sight.insert(of, sees);
            if sees && saw == Some(false) && truth.time_ms >= 0.0 {
                let row = SightingRow { time_ms: truth.time_ms, player: self.player, of };
                TrialLog::keep(&mut log.sightings, &mut log.dropped, row);
            }
        }
    }

    /// The own effect of a command is seen by where one looks: each command looks elsewhere.
    fn notice(&mut self, now: Time, yaw: u16) {
        let Some(place) = self.asked.iter().position(|(asked, _)| *asked == yaw) else { return };
        let (_, at) = self.asked[place];
        self.asked.drain(..=place);
        self.second.own_delay_ms += (now - at).as_millis_f64();
        self.second.own_delays += 1;
    }

    fn compare(&mut self, of: u32, shown: &Fighter, truth: &Truth<'_>, log: &mut TrialLog) {
        let index = of as usize - 1;
        let place = shown.position;
        let before = self.before.insert(of, place);
        let Some(own) = truth.owns[index].filter(|own| own.is_alive) else { return };
        let is_same_life = own.teleports % 4 == shown.teleports % 4 && shown.is_alive();
        let off = length(subtract(own.place, place));
        if !is_same_life || off > DEVIATION_MAX {
            return;
        }
        if truth.logs_views {
            let (time_ms, tick, player) = (truth.time_ms, truth.tick, self.player);
            let row = ViewRow { time_ms, tick, player, of, place, off_m: off };
            TrialLog::keep(&mut log.views, &mut log.dropped, row);
        }
        if length(own.velocity) < MOVING_SPEED {
            return;
        }
        let served = truth.served[index].map_or(own.place, |served| served.place);
        let second = &mut self.second;
        second.deviations += 1;
        second.deviation_m += f64::from(off);
        second.deviation_m_max = second.deviation_m_max.max(f64::from(off));
        second.server_deviation_m += f64::from(length(subtract(served, place)));
        second.stale += u32::from(before == Some(place));
        if is_straight(shown.velocity, own.velocity, RUN_SPEED) {
            second.straights += 1;
            second.straight_m += f64::from(off);
        }
    }

    /// Takes down what a player asks for, and at what it aims if it fires.
    pub(crate) fn ask(
        &mut self,
        now: Time,
        command: &Command,
        picture: &World<Entity>,
        content: &Content,
        numbers: &BTreeMap<u16, u32>,
    ) {
        let yaw = word(command.yaw);
        if self.asked_yaw != Some(yaw) {
            self.asked_yaw = Some(yaw);
            // A way of looking that was asked for before would be taken for the newer one's effect.
            self.asked.retain(|(asked, _)| *asked != yaw);
            self.asked.push_back((yaw, now));
        }
        if self.asked.len() > REMEMBERED_MAX {
            self.asked.pop_front();
        }
        if !command.fire {
            return;
        }
        let Some(own) = self.own else { return };
        let eye = sametick_arena::body::eye(own.place, command.crouch);
        let look = Look { eye, ways: [command.yaw, command.pitch] };
        self.beside.extend(look.beside(picture).map(|found| (yaw, found)));
        if self.beside.len() > REMEMBERED_MAX {
            self.beside.pop_front();
        }
        self.aims.extend(look.aim(picture, content, self.player, numbers));
        if self.aims.len() > REMEMBERED_MAX {
            self.aims.pop_front();
        }
    }

    /// At what a player aimed who fired looking so; the newest of its aims is meant.
    pub(crate) fn aim(&self, yaw: f32) -> Option<Aim> {
        self.aims.iter().rev().find(|aim| aim.yaw == word(yaw)).copied()
    }

    /// Beside which target a player looked who fired looking so, and by how much; the newest is meant.
    pub(crate) fn beside(&self, yaw: f32) -> Option<(u32, f64)> {
        let found = self.beside.iter().rev().find(|(known, _)| *known == word(yaw));
        found.map(|(_, beside)| *beside)
    }

    /// The second that is over.
    pub(crate) fn take_second(&mut self, second: u32) -> SecondRow {
        let row = std::mem::take(&mut self.second);
        SecondRow { second, player: self.player, ..row }
    }
}

/// From where somebody looks, and which way: how far around and how far up.
pub(crate) struct Look {
    pub(crate) eye: Vector,
    pub(crate) ways: [f32; 2],
}

impl Look {
    /// Whom a player has under the crosshair in a picture.
    pub(crate) fn aim(
        &self,
        picture: &World<Entity>,
        content: &Content,
        player: u32,
        numbers: &BTreeMap<u16, u32>,
    ) -> Option<Aim> {
        let [yaw, pitch] = self.ways;
        let end = along(self.eye, direction(yaw, pitch), SIGHT_METRES);
        let wall = content.map.ray(self.eye, end).fraction;
        let others = picture.all::<Fighter>().filter_map(|(_, fighter)| {
            let other = *numbers.get(&fighter.player).filter(|one| **one != player)?;
            let fraction = fighter.bounds()?.crossed(self.eye, end)?;
            (fraction <= wall).then_some((fraction, other, fighter))
        });
        let (_, target, fighter) = others.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (shown, velocity) = (fighter.position, fighter.velocity);
        Some(Aim { yaw: word(yaw), target, shown, velocity })
    }

    /// The target of a picture that is nearest to the crosshair, and how far beside it that is, in degrees.
    pub(crate) fn beside(&self, picture: &World<Entity>) -> Option<(u32, f64)> {
        let targets = picture.all::<Target>().filter(|(_, target)| target.health > 0);
        let targets = targets.map(|(_, target)| (u32::from(target.index) + 1, target.position));
        nearest(targets, self.eye, self.ways)
    }
}

/// How far a target has run on from its picture, if it runs straight and fast.
pub(crate) fn lead(aim: &Aim, truth: Own, run_speed: f32) -> Option<f64> {
    let now = unit(truth.velocity);
    is_straight(aim.velocity, truth.velocity, run_speed)
        .then(|| f64::from(dot(subtract(truth.place, aim.shown), now)))
}

/// Whether somebody runs the same way on two screens, and fast on both.
fn is_straight(one: Vector, other: Vector, run_speed: f32) -> bool {
    let is_steady = |velocity: Vector| length(velocity) > STEADY_SHARE * run_speed;
    is_steady(one) && is_steady(other) && dot(unit(one), unit(other)) > 0.99
}

/// A way of looking as commands and fighters have it.
fn word(yaw: f32) -> u16 {
    let turns = f64::from(yaw) / f64::from(TAU);
    ((turns * 65_536.0).round() as i64 & 0xffff) as u16
}
