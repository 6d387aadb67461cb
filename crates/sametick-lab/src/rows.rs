//! What is logged of a trial, as plain rows. Players are counted from 1; 0 is the server.

/// The most rows of each kind that a trial keeps; what comes on top is counted and left out.
pub const ROWS_MAX: usize = 4_000_000;

/// All that is logged of one trial.
#[derive(Clone, Debug, Default)]
pub struct TrialLog {
    /// How long was logged, if not as long as the trial's setting says.
    pub duration_ms: Option<f64>,
    /// How many ticks the rules took in the logged time.
    pub ticks: u32,
    /// The hash of the last world: the same run ends with the same one.
    pub world_hash: u64,
    /// One for each player.
    pub players: Vec<PlayerRow>,
    /// Two for each player: up and down.
    pub lines: Vec<LineRow>,
    /// One for each second and player, and one for the server.
    pub seconds: Vec<SecondRow>,
    /// Every shot of a gun; rockets are not among them.
    pub shots: Vec<ShotRow>,
    /// Every wound.
    pub hits: Vec<HitRow>,
    /// Everyone who came into sight, in scenes.
    pub sightings: Vec<SightingRow>,
    /// Every player at every tick, if asked for.
    pub states: Vec<StateRow>,
    /// What every screen showed, if asked for.
    pub views: Vec<ViewRow>,
    /// Every life of every target.
    pub targets: Vec<TargetRow>,
    /// Every target at every tick, if asked for.
    pub target_states: Vec<TargetStateRow>,
    /// Every command, if asked for.
    pub commands: Vec<CommandRow>,
    /// Every frame of every client and every tick of the server, if asked for.
    pub frames: Vec<FrameRow>,
    /// Numbers of the whole trial, by name.
    pub figures: Vec<(&'static str, f64)>,
    /// Rows that were too many.
    pub dropped: u64,
    /// How long it took on this machine; not part of what repeats.
    pub wall_ms: f64,
}

impl TrialLog {
    /// Keeps a row unless there are too many.
    pub(crate) fn keep<T>(rows: &mut Vec<T>, dropped: &mut u64, row: T) {
        if rows.len() < ROWS_MAX {
            rows.push(row);
        } else {
            *dropped += 1;
        }
    }
}

/// One player's part.
#[derive(Clone, Debug, Default)]
pub struct PlayerRow {
    /// Who.
    pub player: u32,
    /// `bot`, `script`, `format` or `person`.
    pub role: &'static str,
    /// How well it plays.
    pub skill: String,
    /// Pictures a second asked for.
    pub frame_rate: f64,
    /// Whether it was in when the logged time began.
    pub joined: bool,
    /// What it scored, and how often it died.
    pub kills: i64,
    /// How often it died.
    pub deaths: i64,
}

/// One way of one player's line.
#[derive(Clone, Debug, Default)]
pub struct LineRow {
    /// Whose.
    pub player: u32,
    /// To the server, or from it; in lockstep to the others, or from them.
    pub is_up: bool,
    /// What was asked for, on average over the trial: delay with the mean of its jitter.
    pub asked_delay_ms: f64,
    /// And loss.
    pub asked_loss: f64,
    /// Measured at both ends: the mean, the median and the 95th percentile.
    pub delay_ms: f64,
    /// Half of all took less.
    pub delay_ms_50: f64,
    /// A twentieth took longer.
    pub delay_ms_95: f64,
    /// Datagrams sent.
    pub packets: u64,
    /// Those that did not arrive.
    pub lost: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// One second of one player; sums, with how many they are of.
#[derive(Clone, Debug, Default)]
pub struct SecondRow {
    /// Counted from 0.
    pub second: u32,
    /// Who; 0 is the server.
    pub player: u32,
    /// Frames drawn.
    pub frames: u32,
    /// Datagrams sent and received, and their bytes.
    pub packets_out: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Datagrams received.
    pub packets_in: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// From commands to their effect on the own screen.
    pub own_delay_ms: f64,
    /// Of how many.
    pub own_delays: u32,
    /// Between where others are shown and where they have themselves.
    pub deviation_m: f64,
    /// And where the server has them.
    pub server_deviation_m: f64,
    /// The first, of those who run straight and fast on both screens.
    pub straight_m: f64,
    /// Of how many of these.
    pub straights: u32,
    /// The largest.
    pub deviation_m_max: f64,
    /// Of how many looks.
    pub deviations: u32,
    /// How many of these showed nothing new.
    pub stale: u32,
    /// Own predictions put right.
    pub corrections: u32,
    /// By how much.
    pub corrected_m: f64,
    /// Ticks stepped again.
    pub repredicted: u64,
    /// The same, times the entities that there were to step.
    pub repredicted_entities: u64,
    /// Commands that came too late.
    pub late_commands: u64,
    /// How long the game stood still.
    pub stalled_ms: f64,
    /// Round trips, waits for frames included.
    pub round_trip_ms: f64,
    /// Of how many.
    pub round_trips: u32,
}

/// One shot, with both verdicts and what shooter and victim saw.
#[derive(Clone, Debug, Default)]
pub struct ShotRow {
    /// The tick in which it was judged.
    pub tick: u32,
    /// Since the logged time began.
    pub time_ms: f64,
    /// Which of that tick.
    pub ordinal: u32,
    /// Who fired.
    pub player: u32,
    /// How many pellets it had.
    pub pellets: u32,
    /// How many of them hit.
    pub pellets_hit: u32,
    /// Who was under the crosshair on the shooter's screen.
    pub aimed: Option<u32>,
    /// Whom it hit in the past that it was judged by.
    pub seen: Option<u32>,
    /// Whom it would have hit in the present.
    pub present: Option<u32>,
    /// Whom it hit.
    pub hit: Option<u32>,
    /// How far back it was judged.
    pub rewound_ms: f64,
    /// Where the shooter's screen showed the one under the crosshair.
    pub shown: Option<[f32; 3]>,
    /// Where that one had itself on its own screen.
    pub own: Option<[f32; 3]>,
    /// Where the server had it.
    pub served: Option<[f32; 3]>,
    /// Whether who was hit was out of the shooter's sight on its own screen.
    pub is_behind_cover: Option<bool>,
    /// How far the target had run on since the picture, on a straight run.
    pub lead_m: Option<f64>,
    /// How far of that the server put it back.
    pub lead_rewound_m: Option<f64>,
    /// Which target it hit.
    pub target: Option<u32>,
    /// The target nearest to the crosshair on the shooter's screen.
    pub aimed_target: Option<u32>,
    /// How far beside its middle the crosshair was, in degrees.
    pub aim_error: Option<f64>,
}

/// One life of a target.
#[derive(Clone, Debug, Default)]
pub struct TargetRow {
    /// Which of its set, from 1.
    pub target: u32,
    /// What it is called; `map` for a map's own.
    pub kind: String,
    /// Which life, from 1.
    pub life: u32,
    /// When it appeared.
    pub tick: u32,
    /// Since the logged time began.
    pub time_ms: f64,
    /// Metres across.
    pub size_m: f64,
    /// Metres away, degrees to the left of the view by which it appeared, and above.
    pub seen: Option<[f64; 3]>,
    /// What it took.
    pub hits: u32,
    /// When it was destroyed.
    pub destroyed_tick: Option<u32>,
    /// Since the logged time began.
    pub destroyed_ms: Option<f64>,
    /// By whose bullet.
    pub destroyed_by: Option<u32>,
}

/// A target at a tick, as the server has it.
#[derive(Clone, Debug, Default)]
pub struct TargetStateRow {
    /// Which tick.
    pub tick: u32,
    /// Since the logged time began.
    pub time_ms: f64,
    /// Which target.
    pub target: u32,
    /// Which of its lives.
    pub life: u32,
    /// Its middle.
    pub place: [f32; 3],
    /// Hits that it can still take.
    pub health: u32,
}

/// One wound.
#[derive(Clone, Debug, Default)]
pub struct HitRow {
    /// In which tick.
    pub tick: u32,
    /// Since the logged time began.
    pub time_ms: f64,
    /// Whose wound.
    pub player: u32,
    /// Whose bullet, if it was one.
    pub by: Option<u32>,
    /// Points of health.
    pub amount: u32,
    /// Whether it was the last.
    pub is_kill: bool,
}

/// The moment at which somebody comes into a player's sight on its own screen.
#[derive(Clone, Debug, Default)]
pub struct SightingRow {
    /// Since the logged time began.
    pub time_ms: f64,
    /// On whose screen.
    pub player: u32,
    /// Who.
    pub of: u32,
}

/// A player at a tick, as the server has it.
#[derive(Clone, Debug, Default)]
pub struct StateRow {
    /// Which tick.
    pub tick: u32,
    /// Since the logged time began.
    pub time_ms: f64,
    /// Who.
    pub player: u32,
    /// Its feet.
    pub place: [f32; 3],
    /// Where it looks, in radians.
    pub yaw: f32,
    /// And how far up.
    pub pitch: f32,
    /// Its health.
    pub health: u32,
}

/// What one screen shows of one player.
#[derive(Clone, Debug, Default)]
pub struct ViewRow {
    /// Since the logged time began.
    pub time_ms: f64,
    /// The server's tick at that moment.
    pub tick: u32,
    /// Whose screen.
    pub player: u32,
    /// Of whom.
    pub of: u32,
    /// Where it is shown.
    pub place: [f32; 3],
    /// How far that is from where it has itself.
    pub off_m: f32,
}

/// A command as it was given.
#[derive(Clone, Debug, Default)]
pub struct CommandRow {
    /// Since the logged time began.
    pub time_ms: f64,
    /// The server's tick at that moment.
    pub tick: u32,
    /// Who gave it.
    pub player: u32,
    /// Where it looks.
    pub yaw: f32,
    /// And how far up.
    pub pitch: f32,
    /// Steps forward and to the right, each from -7 to 7.
    pub steps: [i8; 2],
    /// Whether it jumps.
    pub jump: bool,
    /// Whether it fires.
    pub fire: bool,
}

/// A frame of a client, or a tick of the server: what came and went since the one before, and how long what took.
#[derive(Clone, Debug, Default)]
pub struct FrameRow {
    /// Since the logged time began.
    pub time_ms: f64,
    /// The server's tick at that moment.
    pub tick: u32,
    /// Who; 0 is the server.
    pub player: u32,
    /// Datagrams sent, their bytes, datagrams received, their bytes.
    pub counts: [u64; 4],
    /// Milliseconds of this machine: taking datagrams in, stepping the rules, writing datagrams, making the picture.
    pub took_ms: [f64; 4],
}
