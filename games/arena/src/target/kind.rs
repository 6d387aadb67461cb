//! What a target is and does, as content of a match: sets of targets as FPSci defines them. Metres, seconds and
//! degrees, as experiments have them.

use crate::map::{Motion, TargetPlace};
use crate::movement::SPEED_MAX;
use crate::vector::{Bounds, Vector, add};
use std::fmt::Write as _;

/// The most targets of a set.
pub const TARGETS_MAX: usize = 64;
/// The most places that a target goes through.
pub const WAYPOINTS_MAX: usize = 4_096;
/// The most hits that a target can take.
pub const TARGET_HITS_MAX: u8 = 255;
/// The most times that a target comes back, but for ever.
pub const RESPAWNS_MAX: u16 = u16::MAX - 2;
/// The smallest target, across.
pub const TARGET_SIZE_LEAST: f32 = 0.01;
/// The largest target, across.
pub const TARGET_SIZE_MAX: f32 = 8.0;
/// How far from its place a map's own target goes, how fast, how often it turns and jumps, and how fast.
const ROAM_METRES: f32 = 2.5;
const ROAM_SPEED: f32 = 4.0;
const ROAM_TURN_SECONDS: [f32; 2] = [0.4, 2.4];
const ROAM_JUMP_SECONDS: [f32; 2] = [0.6, 2.6];
/// Half the side of a map's own target, and what it can take.
pub const TARGET_HALF_METRES: f32 = 0.4;
/// What a map's own target can take, in points of health.
pub const TARGET_HEALTH: u8 = 20;

/// In whose space a target moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Space {
    /// Through the map.
    #[default]
    World,
    /// On a sphere around the player, wherever that goes: always as far away, but for walls.
    Player,
}

/// How a target jumps: least and most of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jumping {
    /// From landing to jumping again.
    pub seconds: [f32; 2],
    /// How fast it leaves the ground: metres a second, or degrees a second in the player's space.
    pub speed: [f32; 2],
    /// Metres a second, each second.
    pub gravity: [f32; 2],
}

/// What one target of a set is and does; of two numbers the first is the least and the second the most.
///
/// ```
/// use sametick_arena::{Content, Mode, TargetKind, TargetSet, map};
///
/// let small = TargetKind { size: [0.2, 0.3], respawns: None, ..TargetKind::default() };
/// let targets = TargetSet { kinds: vec![small], ..TargetSet::default() };
/// assert_eq!(TargetSet::read(&targets.text()), Ok(targets.clone()));
/// let content = Content { targets, ..Content::new(map::FIELD, Mode::Practice)? };
/// assert!(content.targets.check().is_ok());
/// # Ok::<(), map::MapError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TargetKind {
    /// In whose space it moves.
    pub space: Space,
    /// Metres across.
    pub size: [f32; 2],
    /// Metres from the eye of the player by whose view it appears.
    pub distance: [f32; 2],
    /// Degrees beside that view, to the left.
    pub beside: [f32; 2],
    /// Degrees above it.
    pub above: [f32; 2],
    /// Whether the same angles to the right, and below, are as likely.
    pub is_symmetric: [bool; 2],
    /// Whether it stays above the player's eyes; only in the player's space.
    pub is_upper_only: bool,
    /// Metres a second, or degrees a second in the player's space.
    pub speed: [f32; 2],
    /// How long it moves one way.
    pub turn_seconds: [f32; 2],
    /// Whether and how it jumps.
    pub jumping: Option<Jumping>,
    /// How often it comes back; none is for ever.
    pub respawns: Option<u16>,
    /// How long it is away before it comes back.
    pub away_seconds: f32,
    /// How many hits it takes; none is a map's own target, which has points of health.
    pub hits: Option<u8>,
    /// When it is where, again and again; then nothing else is said of its motion. In the player's space forwards, to
    /// the left and up from the eye.
    pub way: Vec<(f32, Vector)>,
    /// Where it appears instead of by somebody's view.
    pub spawn_bounds: Option<Bounds>,
    /// What it does not leave.
    pub move_bounds: Option<Bounds>,
    /// Along which axes it does not move.
    pub is_locked: [bool; 3],
}

impl Default for TargetKind {
    /// As FPSci has it, but in the player's space.
    fn default() -> Self {
        Self {
            space: Space::Player,
            size: [0.2; 2],
            distance: [30.0, 40.0],
            beside: [5.0, 15.0],
            above: [0.0, 2.0],
            is_symmetric: [true; 2],
            is_upper_only: false,
            speed: [0.0, 5.5],
            turn_seconds: [1.0; 2],
            jumping: None,
            respawns: Some(0),
            away_seconds: 0.0,
            hits: Some(1),
            way: Vec::new(),
            spawn_bounds: None,
            move_bounds: None,
            is_locked: [false; 3],
        }
    }
}

impl TargetKind {
    /// A map's own target.
    pub(crate) fn of_map(place: &TargetPlace, away_seconds: f32, jump: [f32; 2]) -> Self {
        let around = Bounds { low: place.place, high: place.place };
        let moves = place.motion != Motion::Still;
        let [jump_speed, gravity] = jump;
        let jumping =
            Jumping { seconds: ROAM_JUMP_SECONDS, speed: [jump_speed; 2], gravity: [gravity; 2] };
        Self {
            space: Space::World,
            size: [2.0 * TARGET_HALF_METRES; 2],
            speed: if moves { [ROAM_SPEED; 2] } else { [0.0; 2] },
            turn_seconds: ROAM_TURN_SECONDS,
            jumping: (place.motion == Motion::Jumping).then_some(jumping),
            respawns: None,
            away_seconds,
            hits: None,
            spawn_bounds: Some(around.grown([ROAM_METRES * 0.7, ROAM_METRES * 0.7, 0.0])),
            move_bounds: Some(around.grown([ROAM_METRES, ROAM_METRES, TARGET_SIZE_MAX])),
            is_locked: [false, false, true],
            ..Self::default()
        }
    }

    /// How many hits or points it can take.
    pub(crate) fn health(&self) -> u8 {
        self.hits.unwrap_or(TARGET_HEALTH)
    }

    /// How long its way takes, once.
    pub(crate) fn way_seconds(&self) -> f32 {
        self.way.last().map_or(0.0, |(at, _)| *at)
    }

    /// The fastest that it can be played: metres a second, in the player's space degrees a second as far away as it may
    /// appear.
    pub fn speed_most(&self) -> f32 {
        match self.space {
            Space::World => SPEED_MAX,
            // In tenths, for who reads it.
            Space::Player => {
                libm::floorf((SPEED_MAX / self.distance[1].max(0.5)).to_degrees() * 10.0) / 10.0
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let jumping = self.jumping.unwrap_or(Jumping {
            seconds: [0.0; 2],
            speed: [0.0; 2],
            gravity: [0.0; 2],
        });
        let ranges = [
            ("size", self.size, TARGET_SIZE_LEAST, TARGET_SIZE_MAX),
            ("distance", self.distance, 0.5, 200.0),
            ("horizontal eccentricity", self.beside, -180.0, 180.0),
            ("vertical eccentricity", self.above, -90.0, 90.0),
            ("speed", self.speed, 0.0, self.speed_most()),
            ("motion change period", self.turn_seconds, 0.0, 86_400.0),
            ("jump period", jumping.seconds, 0.0, 86_400.0),
            ("jump speed", jumping.speed, 0.0, self.speed_most()),
            ("gravity", jumping.gravity, -1_000.0, 1_000.0),
            ("time away", [self.away_seconds; 2], 0.0, 86_400.0),
        ];
        for (name, [least, most], at_least, at_most) in ranges {
            let is_right = (at_least..=at_most).contains(&least)
                && (at_least..=at_most).contains(&most)
                && least <= most;
            if !is_right {
                let said = format!("{least} to {most}");
                return Err(format!(
                    "its {name} is {said}: from {at_least} to {at_most} it may be"
                ));
            }
        }
        if self.hits == Some(0) || self.respawns.is_some_and(|times| times > RESPAWNS_MAX) {
            return Err(format!(
                "it takes at least one hit, and comes back {RESPAWNS_MAX} times at most"
            ));
        }
        if self.way.len() > WAYPOINTS_MAX {
            return Err(format!("it goes through more than {WAYPOINTS_MAX} places"));
        }
        let later = |pair: &[(f32, Vector)]| pair[0].0 < pair[1].0;
        let is_finite = self.way.iter().all(|(at, place)| {
            (0.0..=86_400.0).contains(at) && place.iter().all(|part| part.abs() <= 1_000.0)
        });
        if !is_finite || !self.way.windows(2).all(later) || self.way.len() == 1 {
            return Err("its destinations are at least two, each later than the one before".into());
        }
        for bounds in [self.spawn_bounds, self.move_bounds].into_iter().flatten() {
            let is_box = (0..3).all(|axis| {
                bounds.low[axis] <= bounds.high[axis]
                    && bounds.low[axis].abs() <= 1_000.0
                    && bounds.high[axis].abs() <= 1_000.0
            });
            if !is_box {
                return Err("its bounds are a lower corner and a higher one, near the map".into());
            }
        }
        Ok(())
    }
}

/// The targets of a match, and how long they wait before they appear.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetSet {
    /// A target each; none are the map's own.
    pub kinds: Vec<TargetKind>,
    /// From the round's begin to their appearing: least and most.
    pub wait_seconds: [f32; 2],
    /// What that would be on average if there were no most.
    pub wait_mean_seconds: f32,
}

impl TargetSet {
    /// Whether all can be played; what is wrong, if not.
    pub fn check(&self) -> Result<(), String> {
        if self.kinds.len() > TARGETS_MAX {
            return Err(format!("{} targets: {TARGETS_MAX} are the most", self.kinds.len()));
        }
        let [least, most] = self.wait_seconds;
        let is_time = |time: f32| (0.0..=3_600.0).contains(&time);
        if !(is_time(least) && is_time(most) && least <= most && is_time(self.wait_mean_seconds)) {
            return Err(format!("the wait before targets appear is from {least} to {most} s"));
        }
        self.kinds.iter().try_for_each(TargetKind::check)
    }

    /// All of it as a text of numbers, for who plays elsewhere.
    pub fn text(&self) -> String {
        let [least, most] = self.wait_seconds;
        let mut text = format!("{least} {most} {}", self.wait_mean_seconds);
        for kind in &self.kinds {
            text.push('\n');
            kind.numbers().into_iter().for_each(|number| _ = write!(text, "{number} "));
            text.pop();
        }
        text
    }

    /// Reads such a text.
    pub fn read(text: &str) -> Result<Self, String> {
        let odd = || "this is no set of targets".to_owned();
        let mut lines = text.lines();
        let mut read = |line: &str| -> Option<Vec<f32>> {
            line.split(' ').take(NUMBERS_MAX).map(|word| word.parse().ok()).collect()
        };
        let wait = lines.next().and_then(&mut read).ok_or_else(odd)?;
        let [least, most, wait_mean_seconds] = wait[..] else { return Err(odd()) };
        let mut set = Self { kinds: Vec::new(), wait_seconds: [least, most], wait_mean_seconds };
        for line in lines.take(TARGETS_MAX + 1) {
            let numbers = read(line).ok_or_else(odd)?;
            set.kinds.push(TargetKind::of_numbers(&mut numbers.into_iter()).ok_or_else(odd)?);
        }
        set.check()?;
        Ok(set)
    }
}

/// The most numbers of a line of such a text.
const NUMBERS_MAX: usize = 4 * WAYPOINTS_MAX + 64;

impl TargetKind {
    fn numbers(&self) -> Vec<f32> {
        let flag = |flag: bool| f32::from(u8::from(flag));
        let mut all = vec![flag(self.space == Space::Player)];
        for range in [self.size, self.distance, self.beside, self.above] {
            all.extend(range);
        }
        all.extend(self.is_symmetric.map(flag));
        all.push(flag(self.is_upper_only));
        all.extend(self.speed);
        all.extend(self.turn_seconds);
        all.push(flag(self.jumping.is_some()));
        if let Some(jumping) = self.jumping {
            all.extend([jumping.seconds, jumping.speed, jumping.gravity].concat());
        }
        all.push(self.respawns.map_or(-1.0, f32::from));
        all.push(self.away_seconds);
        all.push(self.hits.map_or(-1.0, f32::from));
        for bounds in [self.spawn_bounds, self.move_bounds] {
            all.push(flag(bounds.is_some()));
            all.extend(bounds.iter().flat_map(|bounds| [bounds.low, bounds.high].concat()));
        }
        all.extend(self.is_locked.map(flag));
        all.extend(self.way.iter().flat_map(|(at, [x, y, z])| [*at, *x, *y, *z]));
        all
    }

    fn of_numbers(all: &mut impl Iterator<Item = f32>) -> Option<Self> {
        let mut next = || all.next();
        let is_player = next()? != 0.0;
        let mut pair = || Some([next()?, next()?]);
        let (size, distance, beside, above) = (pair()?, pair()?, pair()?, pair()?);
        let is_symmetric = pair()?.map(|flag| flag != 0.0);
        let is_upper_only = next()? != 0.0;
        let mut pair = || Some([next()?, next()?]);
        let (speed, turn_seconds) = (pair()?, pair()?);
        let jumps = next()? != 0.0;
        let mut pair = || Some([next()?, next()?]);
        let jumping = match jumps {
            true => Some(Jumping { seconds: pair()?, speed: pair()?, gravity: pair()? }),
            false => None,
        };
        let (respawns, away_seconds, hits) = (next()?, next()?, next()?);
        let mut bounds = || -> Option<Option<Bounds>> {
            if next()? == 0.0 {
                return Some(None);
            }
            let mut corner = || Some([next()?, next()?, next()?]);
            Some(Some(Bounds { low: corner()?, high: corner()? }))
        };
        let (spawn_bounds, move_bounds) = (bounds()?, bounds()?);
        let is_locked = [next()?, next()?, next()?].map(|flag| flag != 0.0);
        let mut way = Vec::new();
        while let Some(at) = next() {
            way.push((at, [next()?, next()?, next()?]));
        }
        Some(Self {
            space: if is_player { Space::Player } else { Space::World },
            size,
            distance,
            beside,
            above,
            is_symmetric,
            is_upper_only,
            speed,
            turn_seconds,
            jumping,
            respawns: (respawns >= 0.0).then_some(respawns as u16),
            away_seconds,
            hits: (hits >= 0.0).then_some(hits as u8),
            way,
            spawn_bounds,
            move_bounds,
            is_locked,
        })
    }

    /// A place of its way, for a player whose eye is there and who looks that way on the level.
    pub(crate) fn on_way(&self, place: Vector, eye: Vector, yaw: f32) -> Vector {
        if self.space == Space::World {
            return place;
        }
        let (sine, cosine) = libm::sincosf(yaw);
        let [forward, left, up] = place;
        add(eye, [forward * cosine - left * sine, forward * sine + left * cosine, up])
    }
}
