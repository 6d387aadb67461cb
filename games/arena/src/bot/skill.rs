//! How good a bot is: one table of numbers, one line a level. Whatever makes bots differ stands here.

/// What a bot's eyes, hands and nerves can do. Seconds, radians, and points of health.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skill {
    /// What it is called.
    pub name: &'static str,
    /// From when an enemy comes into sight until it is noticed.
    pub reaction_seconds: f32,
    /// How far to either side it notices anyone.
    pub sight_angle: f32,
    /// How fast it turns at most, a second.
    pub turn_speed: f32,
    /// How quickly it turns faster, a second a second.
    pub turn_acceleration: f32,
    /// How far off it aims at someone it has just noticed: the deviation of a normal distribution.
    pub error_first: f32,
    /// How far off it aims after it has followed someone for long.
    pub error_settled: f32,
    /// How long it takes for most of the difference to go.
    pub settle_seconds: f32,
    /// How late it understands that someone has changed speed.
    pub lag_seconds: f32,
    /// For how long it holds the trigger.
    pub burst_seconds: f32,
    /// For how long it lets go of it.
    pub pause_seconds: f32,
    /// How often it changes sides in a fight, a second.
    pub dodges_per_second: f32,
    /// How often it jumps in a fight, a second.
    pub jumps_per_second: f32,
    /// How much of an enemy's way it foresees for a rocket: 1 is all of it.
    pub foresight: f32,
    /// How often it prefers a rocket where one is of use.
    pub rocket_share: f32,
    /// With less than this it looks for cover.
    pub cover_health: f32,
}

/// The levels, from the first to the fifth.
pub const SKILLS: [Skill; 5] = [
    skill("novice", [0.60, 0.9], [3.5, 18.0], [0.150, 0.070, 1.6, 0.28], [0.25, 0.60], FEET[0]),
    skill("casual", [0.45, 1.0], [5.0, 30.0], [0.110, 0.045, 1.2, 0.22], [0.35, 0.45], FEET[1]),
    skill("regular", [0.34, 1.1], [7.0, 50.0], [0.075, 0.030, 0.8, 0.16], [0.50, 0.35], FEET[2]),
    skill("veteran", [0.26, 1.2], [9.0, 80.0], [0.050, 0.020, 0.5, 0.11], [0.70, 0.25], FEET[3]),
    skill("expert", [0.19, 1.3], [12.0, 120.0], [0.032, 0.013, 0.3, 0.07], [1.20, 0.15], FEET[4]),
];

/// Dodges and jumps a second, foresight, share of rockets, health below which it looks for cover.
const FEET: [[f32; 5]; 5] = [
    [0.4, 0.05, 0.3, 0.30, 0.0],
    [0.7, 0.08, 0.5, 0.30, 20.0],
    [1.0, 0.12, 0.7, 0.35, 30.0],
    [1.4, 0.15, 0.9, 0.40, 35.0],
    [1.8, 0.18, 1.0, 0.40, 40.0],
];

impl Skill {
    /// The skill of a level from 1 to 5; others are the nearest.
    pub fn level(level: u8) -> Self {
        SKILLS[usize::from(level.clamp(1, 5)) - 1]
    }
}

const fn skill(
    name: &'static str,
    [reaction_seconds, sight_angle]: [f32; 2],
    [turn_speed, turn_acceleration]: [f32; 2],
    [error_first, error_settled, settle_seconds, lag_seconds]: [f32; 4],
    [burst_seconds, pause_seconds]: [f32; 2],
    [dodges_per_second, jumps_per_second, foresight, rocket_share, cover_health]: [f32; 5],
) -> Skill {
    Skill {
        name,
        reaction_seconds,
        sight_angle,
        turn_speed,
        turn_acceleration,
        error_first,
        error_settled,
        settle_seconds,
        lag_seconds,
        burst_seconds,
        pause_seconds,
        dodges_per_second,
        jumps_per_second,
        foresight,
        rocket_share,
        cover_health,
    }
}
