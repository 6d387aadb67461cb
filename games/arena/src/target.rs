//! A target: appears by somebody's view or in its place, hangs still, glides, orbits, jumps or goes a set way; when it
//! is hit often enough it is away, and may come back. A map's own targets for practice are one kind of them.

mod kind;

pub use kind::{
    Jumping, RESPAWNS_MAX, Space, TARGET_HALF_METRES, TARGET_HEALTH, TARGET_HITS_MAX,
    TARGET_SIZE_LEAST, TARGET_SIZE_MAX, TARGETS_MAX, TargetKind, TargetSet, WAYPOINTS_MAX,
};

use crate::arena::{Arena, Entity, Roll};
use crate::content::Content;
use crate::contest::{Contest, Phase};
use crate::fighter::Fighter;
use crate::map::{REACH_METRES, SHOWN_METRES, SHOWN_RANGE};
use crate::movement::SPEED_MAX;
use crate::vector::{
    Bounds, Vector, add, along, cross, direction, dot, greatest, least, length, scale, subtract,
    unit,
};
use sametick::kinds::Int;
use sametick::{Dice, Fields, Networked, Turn, World};
use std::borrow::Cow;

/// How many places are tried for one that is free and in sight.
const SPAWN_TRIES: usize = 16;
/// Half sizes are whole numbers of this, and no less than the smallest target's: it is a whole millimetre across.
const HALF_STEP_METRES: f32 = 0.0005;
/// Where nothing may fly: the map's end is not shown.
const FARTHEST: f32 = REACH_METRES - 1.0;
/// So near to a wall a target may hang that would be in it.
const NEAREST_METRES: f32 = 0.6;
/// Comes back for ever.
const FOR_EVER: u16 = u16::MAX;

/// Something to shoot at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Its number in the set, or in the map.
    pub index: u8,
    /// Its middle.
    pub position: Vector,
    /// Metres a second.
    pub velocity: Vector,
    /// Half its side.
    pub half: f32,
    /// Hits or points that it can still take. None left: away.
    pub health: u8,
    /// When it is back: the server's own, as all that follows. Who knew it would not wait but count.
    pub back_at: u32,
    /// How often it will appear in this round, 65535 for ever.
    pub left: u16,
    /// In which round it last began.
    pub round: u8,
    /// When it turns next; on a set way when it began. Never nothing, but where it is not known.
    pub turns_at: u32,
    /// When it jumps next.
    pub jumps_at: u32,
    /// How high it is when it does not jump.
    pub ground: f32,
    /// How quickly it falls.
    pub gravity: f32,
    /// The eye by which it appeared; in the player's space the eye that it is carried along with.
    pub eye: Vector,
    /// Where that looked when the round began: yaw and pitch.
    pub view: [f32; 2],
    /// How much of its velocity is that eye's.
    pub carried: Vector,
}

impl Networked for Target {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("index", &mut self.index, 8);
        f.exacts("position", &mut self.position).shown_each(SHOWN_RANGE, SHOWN_METRES);
        f.exacts("velocity", &mut self.velocity).shown_each(-SPEED_MAX..=SPEED_MAX, 1.0 / 32.0);
        f.exact("half", &mut self.half).shown(0.0..=TARGET_SIZE_MAX / 2.0, HALF_STEP_METRES);
        f.int("health", &mut self.health, 0..=TARGET_HITS_MAX);
        f.bits("back_at", &mut self.back_at, 32).shown_as(Int::new(0..=0));
        f.bits("left", &mut self.left, 16).shown_as(Int::new(0..=0));
        f.bits("round", &mut self.round, 8).shown_as(Int::new(0..=0));
        f.bits("turns_at", &mut self.turns_at, 32).shown_as(Int::new(0..=0));
        f.bits("jumps_at", &mut self.jumps_at, 32).shown_as(Int::new(0..=0));
        f.exact("ground", &mut self.ground).shown(0.0..=0.0, 1.0);
        f.exact("gravity", &mut self.gravity).shown(0.0..=0.0, 1.0);
        f.exacts("eye", &mut self.eye).shown_each(0.0..=0.0, 1.0);
        f.exacts("view", &mut self.view).shown_each(0.0..=0.0, 1.0);
        f.exacts("carried", &mut self.carried).shown_each(0.0..=0.0, 1.0);
        f.rate_of("velocity", "position");
    }
}

impl Target {
    /// One that has not appeared yet.
    pub(crate) fn new(index: u8, position: Vector) -> Self {
        let half = TARGET_HALF_METRES;
        Self { index, position, half, turns_at: 1, left: FOR_EVER, ..Self::default() }
    }

    /// Where it can be hit, if it is there.
    pub fn bounds(&self) -> Option<Bounds> {
        (self.health > 0).then(|| self.body())
    }

    /// The room it takes, whether it is there or away.
    pub(crate) fn body(&self) -> Bounds {
        Bounds { low: self.position, high: self.position }.grown([self.half; 3])
    }

    /// Whether it counts hits, not points of health.
    pub(crate) fn counts_hits(&self, turn: &Turn<'_, Arena>) -> bool {
        kind_of(turn.content(), self.index).is_some_and(|kind| kind.hits.is_some())
    }

    /// Takes a wound; whether it was the last.
    pub(crate) fn hurt(&mut self, damage: f32, turn: &Turn<'_, Arena>) -> bool {
        let Some(kind) = kind_of(turn.content(), self.index) else { return false };
        let taken = if kind.hits.is_some() { 1 } else { damage as u8 };
        self.health = self.health.saturating_sub(taken);
        if self.health == 0 {
            self.back_at = turn.tick().0 + (kind.away_seconds / turn.dt()) as u32;
        }
        self.health == 0
    }
}

/// What a target of this number is.
fn kind_of(content: &Content, index: u8) -> Option<Cow<'_, TargetKind>> {
    let index = usize::from(index);
    if !content.targets.kinds.is_empty() {
        return content.targets.kinds.get(index).map(Cow::Borrowed);
    }
    let tuning = &content.tuning;
    let jump = [tuning.jump_speed, tuning.gravity];
    let place = content.map.targets.get(index)?;
    Some(Cow::Owned(TargetKind::of_map(place, tuning.target_seconds, jump)))
}

/// The round that targets of a set appear in, and by whose view.
struct Round {
    number: u8,
    is_on: bool,
    wait_ticks: u32,
    view: Option<(Vector, [f32; 2])>,
}

impl Round {
    fn of(world: &World<Entity>, turn: &Turn<'_, Arena>) -> Option<Self> {
        let set = &turn.content().targets;
        if set.kinds.is_empty() {
            return None;
        }
        let (id, contest) = world.all::<Contest>().next()?;
        let alive = world.all::<Fighter>().filter(|(_, fighter)| fighter.is_alive());
        let first = alive.min_by_key(|(_, fighter)| fighter.player);
        let wait = wait(set, &mut turn.dice(id, Roll::Wait as u32));
        Some(Self {
            number: contest.round,
            is_on: contest.phase == Phase::Playing,
            wait_ticks: (wait / turn.dt()) as u32,
            view: first.map(|(_, one)| (one.eye(), [one.yaw, one.pitch])),
        })
    }
}

/// How long targets wait: long waits are rarer, so that to have waited tells nothing; cut off at the most.
fn wait(set: &TargetSet, dice: &mut Dice) -> f32 {
    let [least, most] = set.wait_seconds.map(f64::from);
    let mean = f64::from(set.wait_mean_seconds) - least;
    let mean = if mean > 0.0 { mean } else { (most - least) / 2.0 };
    let unit = dice.unit();
    if most <= least {
        return least as f32;
    }
    let share = 1.0 - libm::exp(-(most - least) / mean);
    (least - mean * libm::log(1.0 - unit * share)).clamp(least, most) as f32
}

/// Moves all targets and brings back those that have been away long enough.
pub(crate) fn step(world: &mut World<Entity>, turn: &Turn<'_, Arena>) {
    let round = Round::of(world, turn);
    let tick = turn.tick().0;
    for (id, target) in world.all_mut::<Target>() {
        if target.turns_at == 0 {
            // Somebody else's: where it turns is not known here.
            target.position = along(target.position, target.velocity, turn.dt());
            continue;
        }
        let Some(kind) = kind_of(turn.content(), target.index) else { continue };
        let mut dice = turn.dice(id, Roll::Target as u32);
        if let Some(round) = &round {
            if round.is_on && target.round != round.number {
                let left = kind.respawns.map_or(FOR_EVER, |times| times.saturating_add(1));
                (target.round, target.health, target.left) = (round.number, 0, left);
                (target.back_at, target.view) = (tick + round.wait_ticks, NO_VIEW);
            }
            let is_away = target.round != round.number || target.left == 0;
            if target.health == 0 && (is_away || !round.is_on || !target.see(round, tick)) {
                continue;
            }
        }
        if target.health == 0 && tick >= target.back_at {
            target.appear(&kind, &mut dice, turn);
        } else if target.health > 0 {
            let eye = round.as_ref().and_then(|round| round.view).map(|(eye, _)| eye);
            if let Some(eye) = eye.filter(|_| kind.space == Space::Player) {
                target.velocity = subtract(target.velocity, target.carried);
                let carried = target.follow(eye, turn);
                target.go(&kind, &mut dice, turn);
                let velocity = add(target.velocity, carried);
                let velocity = velocity.map(|part| part.clamp(-SPEED_MAX, SPEED_MAX));
                target.carried = subtract(velocity, target.velocity);
                target.velocity = velocity;
            } else {
                target.go(&kind, &mut dice, turn);
            }
        }
    }
}

/// The view of a target that has not appeared in its round: nobody can look so far up.
const NO_VIEW: [f32; 2] = [0.0, 9.0];

fn between(dice: &mut Dice, [least, most]: [f32; 2]) -> f32 {
    least + (most - least) * dice.unit() as f32
}

/// An angle by chance, in radians, to either side if that is said.
fn angle(dice: &mut Dice, range: [f32; 2], is_symmetric: bool) -> f32 {
    let degrees = between(dice, range);
    let is_other = is_symmetric && dice.chance(0.5);
    if is_other { -degrees.to_radians() } else { degrees.to_radians() }
}

impl Target {
    /// Takes in by whose view it appears, when it is time; whether there is one. Where one looks counts when the
    /// round's first target appears, and from where one looks each time.
    fn see(&mut self, round: &Round, tick: u32) -> bool {
        let Some((eye, view)) = round.view.filter(|_| tick >= self.back_at) else { return false };
        self.eye = eye;
        if self.view == NO_VIEW {
            self.view = view;
        }
        true
    }

    fn appear(&mut self, kind: &TargetKind, dice: &mut Dice, turn: &Turn<'_, Arena>) {
        let tick = turn.tick().0;
        self.half = on_grid(between(dice, kind.size) / 2.0);
        (self.velocity, self.carried) = ([0.0; 3], [0.0; 3]);
        if let Some((_, first)) = kind.way.first() {
            self.position = kind.on_way(*first, self.eye, self.view[0]);
        } else if let Some(bounds) = kind.spawn_bounds {
            self.position = within(bounds, self.half, dice, turn.content());
        } else {
            self.appear_in_view(kind, dice, turn.content());
        }
        self.position = self.position.map(|part| part.clamp(-FARTHEST, FARTHEST));
        self.ground = self.position[2];
        self.health = kind.health();
        self.left = if self.left == FOR_EVER { FOR_EVER } else { self.left.saturating_sub(1) };
        self.turns_at = tick;
        self.jumps_at = tick;
        if let Some(jumping) = kind.jumping {
            self.jumps_at += ticks(between(dice, jumping.seconds), turn);
        }
    }

    /// So far beside and above the view, and so far away; nearer and as much smaller where walls leave no other room.
    fn appear_in_view(&mut self, kind: &TargetKind, dice: &mut Dice, content: &Content) {
        let [yaw, pitch] = self.view;
        let mut last = (self.eye, [1.0, 0.0, 0.0], 1.0);
        for _ in 0..SPAWN_TRIES {
            let beside = angle(dice, kind.beside, kind.is_symmetric[0]);
            let above = angle(dice, kind.above, kind.is_symmetric[1]);
            let metres = between(dice, kind.distance);
            let way = direction(yaw + beside, pitch + above);
            let place = along(self.eye, way, metres);
            if content.map.fits([self.half; 3], place) && content.map.visible(self.eye, place) {
                self.position = place;
                return;
            }
            last = (place, way, metres);
        }
        let (place, way, metres) = last;
        let free = metres * content.map.ray(self.eye, place).fraction;
        // In front of the wall, its corners too.
        let share = (free / (metres + 2.0 * self.half)).clamp(NEAREST_METRES / metres, 1.0);
        self.position = along(self.eye, way, metres * share);
        self.half = on_grid(self.half * share);
    }

    /// Goes along with the eye that it moves round, as far as walls let it; how fast that is.
    fn follow(&mut self, eye: Vector, turn: &Turn<'_, Arena>) -> Vector {
        let by = subtract(eye, self.eye);
        if by == [0.0; 3] {
            return [0.0; 3];
        }
        let there = add(self.position, by).map(|part| part.clamp(-FARTHEST, FARTHEST));
        let end = turn.content().map.trace([self.half; 3], self.position, there).end;
        let by = subtract(end, self.position);
        self.ground += by[2];
        (self.position, self.eye) = (end, eye);
        scale(by, 1.0 / turn.dt())
    }

    fn go(&mut self, kind: &TargetKind, dice: &mut Dice, turn: &Turn<'_, Arena>) {
        let (tick, dt) = (turn.tick().0, turn.dt());
        if !kind.way.is_empty() {
            let seconds = tick.saturating_sub(self.turns_at) as f32 * dt;
            let place = place_at(kind, seconds);
            let place = kind.on_way(place, self.eye, self.view[0]);
            let place = place.map(|part| part.clamp(-FARTHEST, FARTHEST));
            let speed = scale(subtract(place, self.position), 1.0 / dt);
            self.velocity = speed.map(|part| part.clamp(-SPEED_MAX, SPEED_MAX));
            self.position = place;
            return;
        }
        if tick >= self.turns_at {
            self.turns_at = tick + ticks(between(dice, kind.turn_seconds), turn).max(1);
            self.turn(kind, dice);
        }
        if let Some(jumping) = kind.jumping {
            self.jump(kind, &jumping, dice, turn);
        }
        match kind.space {
            Space::World => self.glide(kind, turn),
            Space::Player => self.orbit(kind, turn),
        }
    }

    /// Takes another speed and another way; up and down only where it does not jump.
    fn turn(&mut self, kind: &TargetKind, dice: &mut Dice) {
        let speed = between(dice, kind.speed);
        let up = self.velocity[2];
        let (sine, cosine) = libm::sincosf((dice.unit() * std::f64::consts::TAU) as f32);
        let height = (2.0 * dice.unit() - 1.0) as f32;
        if kind.space == Space::Player {
            let off = subtract(self.position, self.eye);
            let (ahead, metres) = (unit(off), length(off));
            let right = unit(cross(ahead, [0.0, 0.0, 1.0]));
            let right = if right == [0.0; 3] { [0.0, -1.0, 0.0] } else { right };
            let above = cross(right, ahead);
            let speed = (speed.to_radians() * metres).min(SPEED_MAX);
            self.velocity = match kind.jumping {
                Some(_) => scale(right, if cosine < 0.0 { -speed } else { speed }),
                None => add(scale(right, cosine * speed), scale(above, sine * speed)),
            };
        } else {
            let flat = (1.0 - height * height).max(0.0).sqrt();
            let is_level = kind.is_locked[2] || kind.jumping.is_some();
            let way = match is_level {
                true => [cosine, sine, 0.0],
                false => [cosine * flat, sine * flat, height],
            };
            let locked = |axis: usize| if kind.is_locked[axis] { 0.0 } else { way[axis] };
            self.velocity = scale(unit([0, 1, 2].map(locked)), speed.min(SPEED_MAX));
        }
        if kind.jumping.is_some() {
            self.velocity[2] = up;
        }
    }

    /// Leaves its height when it is time, and comes back to it.
    fn jump(
        &mut self,
        kind: &TargetKind,
        jumping: &Jumping,
        dice: &mut Dice,
        turn: &Turn<'_, Arena>,
    ) {
        let is_down = self.position[2] <= self.ground && self.velocity[2] <= 0.0;
        if !is_down {
            self.velocity[2] = (self.velocity[2] - self.gravity * turn.dt()).max(-SPEED_MAX);
            return;
        }
        (self.position[2], self.velocity[2]) = (self.ground, 0.0);
        if turn.tick().0 < self.jumps_at {
            return;
        }
        let metres = match kind.space {
            Space::World => 1.0,
            Space::Player => length(subtract(self.position, self.eye)).to_radians(),
        };
        self.gravity = between(dice, jumping.gravity);
        self.velocity[2] = (between(dice, jumping.speed) * metres).min(SPEED_MAX);
        // From the landing on, as far as that is known: up and down take as long.
        let flight = 2.0 * self.velocity[2] / self.gravity.max(0.1);
        let rest = between(dice, jumping.seconds);
        self.jumps_at = turn.tick().0 + ticks(flight.min(60.0) + rest, turn).max(1);
    }

    /// Straight on through the map, back from walls and from the end of its bounds.
    fn glide(&mut self, kind: &TargetKind, turn: &Turn<'_, Arena>) {
        let mut there = along(self.position, self.velocity, turn.dt());
        let bounds =
            kind.move_bounds.unwrap_or(Bounds { low: [-FARTHEST; 3], high: [FARTHEST; 3] });
        for (axis, part) in there.iter_mut().enumerate() {
            let (low, high) = (bounds.low[axis], bounds.high[axis]);
            let leaves = *part < low && self.velocity[axis] < 0.0
                || *part > high && self.velocity[axis] > 0.0;
            if leaves {
                self.velocity[axis] = -self.velocity[axis];
                *part = self.position[axis];
            }
        }
        let trace = turn.content().map.trace([self.half; 3], self.position, there);
        self.position = trace.end;
        if trace.is_hit() {
            let into = dot(self.velocity, trace.normal);
            self.velocity = along(self.velocity, trace.normal, -2.0 * into.min(0.0));
            if kind.jumping.is_some() {
                self.velocity[2] = self.velocity[2].min(0.0);
            }
        }
    }

    /// On round the eye that it goes along with, always as far from it; back from walls and from below.
    fn orbit(&mut self, kind: &TargetKind, turn: &Turn<'_, Arena>) {
        let mut off = subtract(self.position, self.eye);
        let (mut velocity, mut rise) = (self.velocity, 0.0);
        if kind.jumping.is_some() {
            // Round the upright through the eye; up and down by itself.
            (rise, off[2], velocity[2]) = (velocity[2], 0.0, 0.0);
        }
        let metres = length(off);
        let ahead = unit(off);
        let aside = along(velocity, ahead, -dot(velocity, ahead));
        let speed = length(velocity);
        let (sine, cosine) = libm::sincosf(speed * turn.dt() / metres.max(NEAREST_METRES));
        let side = unit(aside);
        let mut place = along(scale(ahead, cosine), side, sine);
        let mut velocity = scale(along(scale(side, cosine), ahead, -sine), speed);
        place = add(self.eye, scale(place, metres));
        if kind.jumping.is_some() {
            (place[2], velocity[2]) = (self.position[2] + rise * turn.dt(), rise);
        }
        let is_below = kind.is_upper_only && place[2] < self.eye[2] && velocity[2] < 0.0;
        if is_below {
            self.velocity[2] = -self.velocity[2];
            return;
        }
        let is_out = place.iter().any(|part| part.abs() > FARTHEST);
        let trace = turn.content().map.trace([self.half; 3], self.position, place);
        if is_out || trace.is_hit() {
            self.velocity = scale(self.velocity, -1.0);
            self.velocity[2] = if kind.jumping.is_some() { 0.0 } else { self.velocity[2] };
            return;
        }
        (self.position, self.velocity) = (place, velocity);
    }
}

fn ticks(seconds: f32, turn: &Turn<'_, Arena>) -> u32 {
    (seconds / turn.dt()) as u32
}

fn on_grid(half: f32) -> f32 {
    (libm::roundf(half / HALF_STEP_METRES) * HALF_STEP_METRES).max(TARGET_SIZE_LEAST / 2.0)
}

/// A free place within bounds, in sight of their middle; that itself if none is found.
fn within(bounds: Bounds, half: f32, dice: &mut Dice, content: &Content) -> Vector {
    let middle = bounds.centre();
    for _ in 0..SPAWN_TRIES {
        let place = [0, 1, 2].map(|axis| between(dice, [bounds.low[axis], bounds.high[axis]]));
        if content.map.fits([half; 3], place) && content.map.visible(middle, place) {
            return greatest(bounds.low, least(bounds.high, place));
        }
    }
    middle
}

/// Where a set way leads after so long; it begins again when it ends.
fn place_at(kind: &TargetKind, seconds: f32) -> Vector {
    let whole = kind.way_seconds();
    let seconds = if whole > 0.0 { seconds % whole } else { 0.0 };
    let after = kind.way.partition_point(|(at, _)| *at <= seconds);
    let from = kind.way.get(after.saturating_sub(1));
    match (from, kind.way.get(after)) {
        (Some((at, from)), Some((until, to))) if after > 0 => {
            along(*from, subtract(*to, *from), (seconds - at) / (until - at))
        }
        (Some((_, place)), _) | (None, Some((_, place))) => *place,
        (None, None) => [0.0; 3],
    }
}
