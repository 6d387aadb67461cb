//! What all kinds of trials share: the seconds that are logged, what hosts sent in them, lines, and chance.

use super::carrier::{Counts, Meter};
use super::lines::{RAMP_STEP, asked, conditions};
use crate::plan::Trial;
use crate::rows::{SecondRow, TrialLog};
use crate::settings::Settings;
use sametick::network::Conditions;
use sametick::secure::Random;
use sametick::{Dice, Span, Time, World};
use sametick_arena::{Contest, Entity, Phase};
use std::path::Path;

/// If a clock asks to be woken in the past, this much passes all the same.
pub(crate) const STEP_LEAST: Span = Span::micros(100);

/// For how long the start of a round is waited for beyond the warm-up. Over a line that lets nobody join there is none,
/// and such a trial is logged as it is.
pub(crate) const ROUND_WAIT_MAX: Span = Span::seconds(60);
/// By so much logging is put off as long as no round has begun.
const PUT_OFF: Span = Span::millis(5);

/// Secrets from a seed: what is simulated has none.
pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// When what is logged begins and ends, and which second of it is under way.
pub(crate) struct Seconds {
    pub(crate) begins: Time,
    pub(crate) end: Time,
    next: Time,
    second: u32,
    /// Until when the start of a round is waited for.
    patience: Time,
    has_begun: bool,
}

/// What is due at a moment.
pub(crate) enum Due {
    /// From now on everything counts.
    Begin,
    /// This second is over.
    End(u32),
}

impl Seconds {
    pub(crate) fn new(trial: &Trial, now: Time) -> Self {
        let length = |name| Span::from_millis_f64(trial.settings.number(name).unwrap_or(0.0));
        let begins = now + length("warm_up");
        Self {
            begins,
            end: begins + length("duration"),
            next: begins,
            second: 0,
            patience: begins + ROUND_WAIT_MAX,
            has_begun: false,
        }
    }

    /// Puts off what is logged as long as no round is played: a countdown counts for nothing.
    pub(crate) fn wait_for_round(
        &mut self,
        now: Time,
        meter: &mut Meter,
        world: Option<&World<Entity>>,
    ) {
        if self.has_begun || now < self.begins || now >= self.patience {
            return;
        }
        let contest =
            |world: &World<Entity>| world.all::<Contest>().next().map(|(_, one)| one.phase);
        if world.is_some_and(|world| contest(world).is_none_or(|phase| phase == Phase::Playing)) {
            return;
        }
        let length = self.end - self.begins;
        (self.begins, self.next) = (now + PUT_OFF, now + PUT_OFF);
        self.end = self.begins + length;
        meter.begins = self.begins;
    }

    /// Nothing is logged until it is known when all are here.
    pub(crate) fn not_yet() -> Self {
        let never = Time::MAX;
        Self {
            begins: never,
            end: never,
            next: never,
            second: 0,
            patience: never,
            has_begun: false,
        }
    }

    /// Milliseconds since logging began; below zero nothing is logged.
    pub(crate) fn time_ms(&self, now: Time) -> f64 {
        match now >= self.begins {
            true => (now - self.begins).as_millis_f64(),
            false => -(self.begins - now).as_millis_f64(),
        }
    }

    pub(crate) fn due(&mut self, now: Time) -> Option<Due> {
        if now < self.next {
            return None;
        }
        let is_first = !self.has_begun;
        self.has_begun = true;
        self.next += Span::seconds(1);
        if is_first {
            return Some(Due::Begin);
        }
        self.second += 1;
        Some(Due::End(self.second - 1))
    }

    /// When the next second begins, or all is over.
    pub(crate) fn next(&self) -> Time {
        self.next.min(self.end)
    }

    /// The second that is under way.
    pub(crate) fn second(&self) -> u32 {
        self.second
    }
}

/// What a host sent and received between two moments.
pub(crate) fn count(row: &mut SecondRow, now: Counts, before: Counts) {
    row.packets_out = now.packets_out - before.packets_out;
    row.bytes_out = now.bytes_out - before.bytes_out;
    row.packets_in = now.packets_in - before.packets_in;
    row.bytes_in = now.bytes_in - before.bytes_in;
}

/// Every player's line so many milliseconds after logging began: up and down.
pub(crate) fn all_lines(
    settings: &Settings,
    folder: &Path,
    at_ms: f64,
) -> Result<Vec<[Conditions; 2]>, String> {
    let line = |player| {
        let of = |is_up| conditions(settings, folder, player, is_up, at_ms);
        Ok([of(true)?, of(false)?])
    };
    (1..=settings.players()).map(line).collect()
}

/// Writes down a player's line: asked, and measured at its host.
pub(crate) fn add_lines(
    log: &mut TrialLog,
    meter: &Meter,
    [player, host]: [usize; 2],
    line: &[Conditions; 2],
) {
    for (is_up, conditions) in [true, false].into_iter().zip(line) {
        let mut row = meter.line(player as u32, host, is_up);
        (row.asked_delay_ms, row.asked_loss) = asked(conditions);
        log.lines.push(row);
    }
}

/// Where lines change during a trial, what was asked of them is the mean over its time.
pub(crate) fn ask_on_average(
    log: &mut TrialLog,
    settings: &Settings,
    folder: &Path,
) -> Result<(), String> {
    if settings.changes.is_empty() {
        return Ok(());
    }
    let step_ms = RAMP_STEP.as_millis_f64();
    let steps = (settings.number("duration").unwrap_or(0.0) / step_ms).floor().max(1.0) as u32;
    for row in &mut log.lines {
        let (mut delay_ms, mut lost) = (0.0, 0.0);
        for step in 0..steps {
            let at_ms = f64::from(step) * step_ms;
            let (ms, share) = asked(&conditions(settings, folder, row.player, row.is_up, at_ms)?);
            (delay_ms, lost) = (delay_ms + ms, lost + share);
        }
        row.asked_delay_ms = delay_ms / f64::from(steps);
        row.asked_loss = lost / f64::from(steps);
    }
    Ok(())
}
