//! One shooter, one runner who dashes across, and what became of each shot: where the runner was on the shooter's
//! screen, where it was for the server when the shot was judged, and how long ago the trigger was pulled.

use crate::harness::{Match, STEP, Setup, angles, line};
use sametick::{Model, Others, Rates, Span, Tick, Time};
use sametick_arena::Command;
use sametick_arena::body::RADIUS_METRES;
use sametick_arena::scenes::{BEGINS_AT, RUN_SPEED, RUNNER, SHOOTER, Scene, fighter};
use sametick_arena::vector::subtract;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

pub(crate) const TICK_SECONDS: f32 = 0.016_667;
/// A tick's travel.
pub(crate) const TICK_METRES: f32 = RUN_SPEED * TICK_SECONDS;
/// The shooter looks, and aims, this often.
pub(crate) const FRAME_MILLIS: u64 = 4;
/// Nearer to the middle than this, the runner has run straight for as long as anybody looks back.
const STEADY_METRES: f32 = 7.0;
/// How far the shooter is from the runner's way.
const DISTANCE_METRES: f32 = 12.0;
/// How long errors can be seen on a screen after they were corrected, in ticks.
const SMOOTHED_TICKS: u32 = 14;

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let scene = Scene::dash_across();
    scene.content.map.visibility();
    scene
});

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) model: Model,
    pub(crate) rates: Rates,
    pub(crate) ping: u64,
    pub(crate) jitter: u64,
    pub(crate) loss: f64,
    pub(crate) seed: u64,
    /// How far beside the middle of the runner it aims, in its direction.
    pub(crate) beside: f32,
    pub(crate) seconds: u64,
}

/// What became of one shot. Metres along the runner's way, seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shot {
    pub(crate) is_hit: bool,
    /// How far the server put the runner back.
    pub(crate) rewound: Span,
    /// How far the runner was ahead of what was aimed at.
    pub(crate) lead: f32,
    /// Where the runner was on the screen.
    pub(crate) aimed_x: f32,
    /// From pulling the trigger to the verdict.
    pub(crate) waited: f32,
    /// How wrong the shooter's prediction of the runner was.
    pub(crate) error: f32,
    /// How wrong it has been of late, at most.
    pub(crate) misjudged: f32,
    /// Whether the runner ran straight all the while.
    pub(crate) is_steady: bool,
}

/// What the shooter had on its screen when it gave a command.
struct Aim {
    at: Time,
    runner_x: f32,
    predicted_x: f32,
}

impl Trial {
    pub(crate) fn new(model: Model, ping: u64) -> Self {
        let rates = model.rates;
        Self { model, rates, ping, jitter: 0, loss: 0.0, seed: 1, beside: 0.0, seconds: 6 }
    }

    pub(crate) fn shots(&self) -> Vec<Shot> {
        let lines = [line(self.ping, self.jitter, self.loss), line(10, 0, 0.0)];
        let mut play = Match::new(&Setup {
            content: &SCENE.content,
            rates: self.rates,
            views: &[self.model.view; 2],
            lines: &lines,
            seed: self.seed,
        });
        let begins = Time::from_micros((BEGINS_AT * 1e6) as u64) + Span::millis(500);
        let (mut aims, mut shots) = (BTreeMap::new(), Vec::new());
        let mut misjudged: BTreeMap<Tick, f32> = BTreeMap::new();
        while play.now < begins + Span::seconds(self.seconds) {
            if play.step_server(|_, _| {}) {
                self.judge(&mut play, &aims, &mut misjudged, &mut shots);
            }
            let is_frame = play.millis().is_multiple_of(FRAME_MILLIS);
            self.shoot(&mut play, is_frame, begins, &mut aims);
            if play.guests[0].client.me().is_some() && is_frame {
                let dt = TICK_SECONDS;
                play.frame(1, |me, view| SCENE.think(me, view, dt));
            }
            play.now += STEP;
        }
        shots
    }

    fn shoot(
        &self,
        play: &mut Match,
        is_frame: bool,
        begins: Time,
        aims: &mut BTreeMap<Tick, Aim>,
    ) {
        let now = play.now;
        play.receive(0, |_| {});
        let client = &mut play.guests[0].client;
        let before = client.predicted().map(|world| world.tick());
        if is_frame && let Some(view) = client.view(now) {
            let (own, runner) = (fighter(view, SHOOTER), fighter(view, RUNNER));
            if let (Some(own), Some(runner)) = (own, runner) {
                let mut place = runner.bounds().map_or(runner.position, |bounds| bounds.centre());
                place[0] += self.beside * runner.velocity[0].signum();
                let (yaw, pitch) = angles(subtract(place, own.eye()));
                client.command(Command { yaw, pitch, fire: now >= begins, ..Command::default() });
            }
        }
        play.send(0);
        let client = &play.guests[0].client;
        let (Some(shown), Some(predicted)) = (client.shown(), client.predicted()) else { return };
        let x = |world| fighter(world, RUNNER).map(|runner| runner.position[0]);
        if let (Some(runner_x), Some(predicted_x)) = (x(shown), x(predicted)) {
            let first = before.map_or(1, |tick| tick.0 + 1);
            for tick in first.max(predicted.tick().0.saturating_sub(8))..=predicted.tick().0 {
                aims.insert(Tick(tick), Aim { at: now, runner_x, predicted_x });
            }
        }
    }

    /// Keeps what became of the shots of the tick that has passed.
    fn judge(
        &self,
        play: &mut Match,
        aims: &BTreeMap<Tick, Aim>,
        misjudged: &mut BTreeMap<Tick, f32>,
        shots: &mut Vec<Shot>,
    ) {
        let tick = play.server.world().tick();
        let Some((id, runner)) = play.fighter(RUNNER) else { return };
        let (x, way) = (runner.position[0], runner.velocity[0].signum());
        let Some(aim) = aims.get(&tick) else { return };
        let error = (x - aim.predicted_x).abs();
        misjudged.insert(tick, error);
        let late = misjudged.range(Tick(tick.0.saturating_sub(SMOOTHED_TICKS))..=tick);
        let misjudged = late.map(|(_, metres)| *metres).fold(0.0, f32::max);
        let waited = (play.now - aim.at).as_seconds_f64() as f32;
        let is_steady = x.abs() < STEADY_METRES && (x * way > -STEADY_METRES + 2.0);
        let (lead, aimed_x) = ((x - aim.runner_x) * way, aim.runner_x);
        for verdict in play.server.take_verdicts() {
            let (is_hit, rewound) = (verdict.hit == Some(id), verdict.rewound);
            shots.push(Shot {
                is_hit,
                rewound,
                lead,
                aimed_x,
                waited,
                error,
                misjudged,
                is_steady,
            });
        }
    }

    /// From how far beside the middle a shot cannot hit: seen at an angle, the target's depth widens it.
    pub(crate) fn reach(shot: &Shot) -> f32 {
        RADIUS_METRES * (1.0 + shot.aimed_x.abs() / DISTANCE_METRES) + 0.02
    }

    /// How old what the screen shows is by its way down and its interpolation, in seconds.
    pub(crate) fn shown_age(&self) -> f32 {
        let behind = match self.model.view.others {
            Others::Interpolated(how) => f32::from(how.behind),
            _ => 0.0,
        };
        let down = self.ping as f32 / 2000.0;
        down + behind * self.rates.ticks_per_snapshot as f32 * TICK_SECONDS
    }

    /// What paper 003 says that the runner is ahead: speed times latency, interpolation and margin.
    pub(crate) fn lead(&self, shot: &Shot) -> f32 {
        RUN_SPEED * (self.shown_age() + shot.waited)
    }
}

/// What was measured, for whoever has to find out why.
pub(crate) fn table(trials: &[(Trial, Vec<Shot>)]) -> String {
    let mut text = String::from(
        "model        ping jitter loss seed | shots hits | lead m  told m  age ms rewound ms\n",
    );
    for (trial, shots) in trials {
        let steady: Vec<&Shot> = shots.iter().filter(|shot| shot.is_steady).collect();
        let mean = |of: &dyn Fn(&Shot) -> f32| {
            steady.iter().map(|shot| of(shot)).sum::<f32>() / steady.len().max(1) as f32
        };
        let hits = shots.iter().filter(|shot| shot.is_hit).count();
        _ = writeln!(
            text,
            "{:12} {:4} {:6} {:4} {:4} | {:5} {hits:4} | {:6.3} {:6.3} {:7.1} {:6.1}",
            trial.model.name,
            trial.ping,
            trial.jitter,
            trial.loss,
            trial.seed,
            shots.len(),
            mean(&|shot| shot.lead),
            mean(&|shot| trial.lead(shot)),
            mean(&|shot| shot.lead / RUN_SPEED * 1000.0),
            mean(&|shot| shot.rewound.as_seconds_f64() as f32 * 1000.0),
        );
    }
    text
}
