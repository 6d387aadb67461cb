//! The client's place ahead of the server: just so far that its commands arrive in time.
//!
//! The server tells with each snapshot how early the newest command came. A slow loop holds that
//! margin at what the measured jitter asks for; when commands come too late, a fast path makes up for it
//! at once. Shown time never runs backwards: it is slowed, or waits.

use crate::core::tick::{AHEAD_TICKS_MAX, Tick};
use crate::core::time::{Span, Time};

/// The margin is held at so many times the jitter: with usual jitter about one command in a thousand
/// is late.
const JITTERS: f64 = 3.0;
const MARGIN_MIN_MICROS: f64 = 2_000.0;
/// The slow loop changes the speed of time by at most this share.
const SPEED_CHANGE_MAX: f64 = 0.03;
/// How fast the slow loop takes away what is too much, in shares of it a second.
const SLOW_GAIN: f64 = 0.5;
/// No line is so bad that going further ahead would help its player.
const AHEAD_MICROS_MAX: f64 = 400_000.0;
/// What is late by more than this is a step in delay, which is made up for, and no jitter.
const STEP_MICROS: f64 = 20_000.0;
/// So far off, the clock starts afresh.
const RESET_MICROS: f64 = 1_000_000.0;

/// Tells which tick a client is in.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    tick_length: Span,
    /// The client's game time in microseconds, at `at`.
    game_micros: f64,
    at: Time,
    /// How fast game time runs, near 1.
    speed: f64,
    jitter_micros: f64,
    margin_micros: f64,
    /// The tick we had reached when lateness was last made up for: what is told of commands before
    /// it is news no more.
    corrected: Tick,
    /// The newest command that the last report was about.
    reported: Tick,
    /// By how much lateness was made up for at once, all in all.
    made_up_micros: f64,
    is_set: bool,
    /// Whether nothing has been told of how early commands come.
    is_guess: bool,
}

impl Clock {
    pub(crate) fn new(tick_length: Span, now: Time) -> Self {
        Self {
            tick_length,
            game_micros: 0.0,
            at: now,
            speed: 1.0,
            jitter_micros: 2_000.0,
            margin_micros: 0.0,
            corrected: Tick(0),
            reported: Tick(0),
            made_up_micros: 0.0,
            is_set: false,
            is_guess: true,
        }
    }

    /// Whether it knows anything of the server's time.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set
    }

    /// The tick that should have been stepped by now.
    pub(crate) fn tick(&mut self, now: Time) -> Tick {
        self.run(now);
        Tick((self.game_micros / self.length()) as u32)
    }

    /// Our own time in ticks, with its fraction.
    pub(crate) fn ticks(&mut self, now: Time) -> f64 {
        self.run(now);
        self.game_micros / self.length()
    }

    /// When the next tick is due.
    pub(crate) fn next_tick_at(&self) -> Time {
        let left = self.length() - self.game_micros.rem_euclid(self.length());
        self.at + Span::from_micros_f64((left / self.speed).ceil())
    }

    /// Takes in a snapshot: its tick, half of the round trip, and by how many microseconds commands were
    /// early (late, if below zero) up to which tick's; none if no command had come.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        tick: Tick,
        half_trip: Span,
        margin: Option<(f64, Tick)>,
    ) {
        self.run(now);
        let server = f64::from(tick.0) * self.length() + half_trip.as_micros() as f64;
        // Nobody's commands are in time from behind the server: whoever stood still, and hears of what
        // was meanwhile, goes on from the newest of it.
        let is_behind = self.game_micros < server;
        let Some((margin, newest)) = margin.filter(|_| self.is_set && !is_behind) else {
            if !self.is_set || is_behind || self.game_micros - server > RESET_MICROS {
                self.game_micros =
                    server + half_trip.as_micros() as f64 + self.target() + self.length();
                // The commands up to here are asked for all at once: how late they come tells nothing.
                self.corrected = Tick((self.game_micros / self.length()) as u32);
                (self.is_set, self.is_guess) = (true, true);
            }
            return;
        };
        let since = self.reported;
        self.reported = newest.max(since);
        if since < self.corrected {
            return;
        }
        if self.is_guess {
            // What is known replaces what was guessed; being wrong there is no jitter.
            (self.margin_micros, self.is_guess) = (margin, false);
        }
        let off = (margin - self.margin_micros).abs();
        self.jitter_micros += (off.min(if margin < 0.0 { STEP_MICROS } else { 100_000.0 })
            - self.jitter_micros)
            * 0.1;
        self.margin_micros += (margin - self.margin_micros) * 0.25;
        if margin < 0.0 {
            // Late: make up for it now, and do not do it again before the next word from the server.
            let most = server + half_trip.as_micros() as f64 + self.ahead_max();
            let wanted = self.game_micros + self.target() - margin;
            let made_up = wanted.min(most).max(self.game_micros) - self.game_micros;
            self.game_micros += made_up;
            self.made_up_micros += made_up;
            self.margin_micros = self.target();
            self.corrected = Tick((self.game_micros / self.length()) as u32);
            self.speed = 1.0;
            return;
        }
        let error = (self.target() - self.margin_micros) / 1e6;
        self.speed = 1.0 + (error * SLOW_GAIN).clamp(-SPEED_CHANGE_MAX, SPEED_CHANGE_MAX);
    }

    /// Goes back at once, for a user who shows nobody this time: no tick begins until it has passed again. What is
    /// told of commands that were made before is no news.
    pub(crate) fn give_back(&mut self, now: Time, span: Span) {
        self.run(now);
        self.corrected = self.corrected.max(Tick((self.game_micros / self.length()) as u32));
        let micros = span.as_micros() as f64;
        self.game_micros = (self.game_micros - micros).max(0.0);
        self.margin_micros -= micros;
        self.speed = 1.0;
    }

    fn run(&mut self, now: Time) {
        let passed = (now - self.at).as_micros() as f64;
        self.game_micros += passed * self.speed;
        self.at = self.at.max(now);
    }

    /// How early commands are meant to be.
    pub(crate) fn target_margin(&self) -> Span {
        Span::from_micros_f64(self.target())
    }

    /// By how much lateness was made up for at once, all in all.
    pub(crate) fn made_up(&self) -> Span {
        Span::from_micros_f64(self.made_up_micros)
    }

    fn target(&self) -> f64 {
        (self.jitter_micros * JITTERS).max(MARGIN_MIN_MICROS)
    }

    /// How far ahead of what the way takes we go at most: the server takes no commands from further
    /// on, and on a line that is worse than that some are late.
    fn ahead_max(&self) -> f64 {
        AHEAD_MICROS_MAX.min(self.length() * f64::from(AHEAD_TICKS_MAX / 2))
    }

    fn length(&self) -> f64 {
        self.tick_length.as_micros() as f64
    }
}
