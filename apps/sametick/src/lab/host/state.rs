//! What the host knows: the study, its log, who is here and what is being played. One lock is around it, for which
//! tables never wait. What happens is logged before anyone is told.

use super::table::unix_us;
use sametick::secure::TokenKey;
use sametick_lab::people::{Event, EventKind, Refusal, SeatId, Stage, Start, Study};
use sametick_lab::{Achieved, Log, LogError};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// A page that was not heard for so long is gone, and its seat may be taken by another with the same code.
pub(super) const SILENT_MAX: Duration = Duration::from_secs(10);
/// How many seconds of each line the experimenter sees.
const TRACE_MAX: usize = 60;
/// The most seconds of telemetry of one seat in one trial.
const TELEMETRY_MAX: usize = 7_200;

/// A second of a page's, as it tells it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    pub(super) trial: u32,
    pub(super) attempt: u32,
    pub(super) frames: u32,
    pub(super) frame_ms: f64,
    pub(super) frame_ms_95: f64,
    pub(super) hidden_ms: f64,
    pub(super) is_focused: bool,
    pub(super) inputs: u32,
}

impl Told {
    /// Whether a page can have seen this.
    pub(super) fn is_possible(&self) -> bool {
        let is_time = |ms: f64| (0.0..=60_000.0).contains(&ms);
        let frames_max = 10_000;
        [self.frame_ms, self.frame_ms_95, self.hidden_ms].into_iter().all(is_time)
            && self.frames <= frames_max
            && self.inputs <= 100_000
    }
}

/// What is known of a seat beside the study.
#[derive(Default)]
pub(super) struct Life {
    pub(super) seen_at: Option<Instant>,
    pub(super) achieved: Option<Achieved>,
    /// Of the last seconds; none in a pause.
    pub(super) trace: VecDeque<Option<f64>>,
    pub(super) told: Option<Told>,
    /// Of its last trial.
    pub(super) flags: Vec<String>,
    /// Whether its page was told that it is over.
    is_thanked: bool,
}

impl Life {
    fn draw(&mut self, ping_ms: Option<f64>) {
        if self.trace.len() == TRACE_MAX {
            self.trace.pop_front();
        }
        self.trace.push_back(ping_ms);
    }
}

/// A trial that is being played.
pub(super) struct Running {
    pub(super) start: Start,
    pub(super) key: TokenKey,
    /// The number and the title of what is played.
    pub(super) content: u64,
    pub(super) title: String,
    /// The map's own text, if it is none that everyone has.
    pub(super) map_text: Option<String>,
    /// How long the game's rounds wait for their start.
    pub(super) pause_seconds: f64,
    /// How many must be there for that; 0 if nobody is waited for.
    pub(super) held_for: u16,
    /// What the experimenter changed in it, in words.
    pub(super) changed: Vec<String>,
    /// By seat and second: what the server saw of lines.
    pub(super) achieved: BTreeMap<(SeatId, u32), Achieved>,
    /// And what pages told.
    pub(super) told: BTreeMap<(SeatId, u32), Told>,
}

impl Running {
    pub(super) fn seat_of(&self, player: u32) -> Option<SeatId> {
        let found = self.start.seats.iter().find(|(_, number, _)| *number == player);
        found.map(|(seat, _, _)| *seat)
    }

    pub(super) fn player_of(&self, seat: SeatId) -> Option<u32> {
        let found = self.start.seats.iter().find(|(one, _, _)| *one == seat);
        found.map(|(_, player, _)| *player)
    }

    /// Puts what a page tells to the second that is under way.
    pub(super) fn tell(&mut self, seat: SeatId, told: Told) {
        let of_seat = (seat, 0)..=(seat, u32::MAX);
        let Some((_, now)) = self.achieved.range(of_seat.clone()).next_back().map(|(key, _)| *key)
        else {
            return;
        };
        let mut own = self.told.range(of_seat);
        let next = own.next_back().map_or(0, |((_, second), _)| second + 1);
        let second = now.max(next);
        // Who tells more than a second each second has made some of it up.
        if second <= now + 2 && (second as usize) < TELEMETRY_MAX {
            self.told.insert((seat, second), told);
        }
    }
}

/// Why something did not happen.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It may not.
    Refused(Refusal),
    /// It could not be written down; nothing may go on.
    Log(LogError),
}

pub(super) struct State {
    pub(super) study: Study,
    pub(super) log: Log,
    lives: Vec<Life>,
    pub(super) running: BTreeMap<u32, Running>,
    rested_at: Instant,
    pub(super) rows_dropped: u64,
    /// Whether it is said on the terminal who comes and what is finished.
    pub(super) tells: bool,
    /// What went wrong for good: the host ends.
    pub(super) failed: Option<String>,
}

/// What is said on the terminal of something that happened, if anything is.
fn progress(event: &Event) -> Option<String> {
    let who = event.seat.map(|seat| format!("P{:02}", seat.0));
    Some(match (&event.kind, who) {
        (EventKind::Claimed { .. }, Some(who)) => format!("{who} came"),
        (EventKind::Left, Some(who)) => format!("{who} is away"),
        (EventKind::Returned, Some(who)) => format!("{who} is back"),
        (EventKind::Declined, Some(who)) => format!("{who} does not take part"),
        (EventKind::Broken { group, trial, reason, .. }, _) => {
            format!("group {group}: trial {trial} was broken off, and is played again: {reason}")
        }
        _ => return None,
    })
}

/// Milliseconds since 1970.
pub(super) fn unix_ms() -> u64 {
    (unix_us() / 1000).max(0) as u64
}

impl State {
    pub(super) fn new(study: Study, log: Log) -> Self {
        // Pages that were here before a restart have as long as any other to be heard.
        let begun = Instant::now();
        let life = |_| Life { seen_at: Some(begun), ..Life::default() };
        let lives = study.seats().map(life).collect();
        Self {
            study,
            log,
            lives,
            running: BTreeMap::new(),
            rested_at: begun,
            rows_dropped: 0,
            tells: false,
            failed: None,
        }
    }

    pub(super) fn life(&mut self, seat: SeatId) -> Option<&mut Life> {
        self.lives.get_mut((seat.0 as usize).wrapping_sub(1))
    }

    /// Takes in what happened and writes it down. What was so already is fine.
    pub(super) fn happen(
        &mut self,
        seat: Option<SeatId>,
        kind: EventKind,
        why: &str,
    ) -> Result<(), Trouble> {
        let event = Event { at_ms: unix_ms(), seat, kind, why: why.to_owned() };
        match self.study.apply(&event) {
            // A page that says something twice is right; an experimenter's act that changes nothing is not done.
            Err(refusal) if refusal.is_repeat && !event.kind.is_experimenters() => return Ok(()),
            Err(refusal) => return Err(Trouble::Refused(refusal)),
            Ok(()) => {}
        }
        if let Some(words) = progress(&event).filter(|_| self.tells) {
            eprintln!("{words}");
        }
        self.log.add_event(&self.study, &event).map_err(|error| {
            self.failed = Some(error.to_string());
            Trouble::Log(error)
        })
    }

    /// The seat whose page holds a secret, by its hash.
    pub(super) fn seat_with(&self, secret_hash: &str) -> Option<SeatId> {
        self.study.seats().find(|seat| self.study.secret_hash(*seat) == Some(secret_hash))
    }

    /// A page was heard.
    pub(super) fn touch(&mut self, seat: SeatId) -> Result<(), Trouble> {
        if let Some(life) = self.life(seat) {
            life.seen_at = Some(Instant::now());
        }
        match self.study.is_here(seat) {
            true => Ok(()),
            false => self.happen(Some(seat), EventKind::Returned, ""),
        }
    }

    /// Whether a page was heard lately.
    pub(super) fn is_living(&mut self, seat: SeatId) -> bool {
        let seen_at = self.life(seat).and_then(|life| life.seen_at);
        seen_at.is_some_and(|at| at.elapsed() < SILENT_MAX)
    }

    /// What a page is told to show; the last thing is remembered.
    pub(super) fn stage(&mut self, seat: SeatId, now_ms: u64) -> Stage {
        let stage = self.study.stage(seat, now_ms);
        if let Some(life) = self.life(seat) {
            life.is_thanked = matches!(stage, Stage::Thanks { .. });
        }
        stage
    }

    /// Whether every page that is still there was told that it is over.
    pub(super) fn is_everyone_thanked(&mut self) -> bool {
        let seats: Vec<SeatId> = self.study.seats().collect();
        seats.into_iter().all(|seat| {
            let is_there = self.study.is_here(seat) && self.is_living(seat);
            !is_there || self.life(seat).is_none_or(|life| life.is_thanked)
        })
    }

    /// For so long nobody could be heard, for this was being written to: pages are not silent by that.
    pub(super) fn forgive(&mut self, time: Duration) {
        for life in &mut self.lives {
            life.seen_at = life.seen_at.map(|at| at + time);
        }
    }

    /// Takes note of pages that fell silent, and that nothing is known of lines on which nothing is played.
    pub(super) fn miss(&mut self) -> Result<(), Trouble> {
        let seats: Vec<SeatId> = self.study.seats().collect();
        let rests = self.rested_at.elapsed() >= Duration::from_secs(1);
        if rests {
            self.rested_at = Instant::now();
        }
        for seat in seats {
            let is_playing = self.running.values().any(|one| one.player_of(seat).is_some());
            if let Some(life) = self.life(seat).filter(|_| rests && !is_playing) {
                life.draw(None);
            }
            if self.study.is_here(seat) && !self.is_living(seat) {
                self.happen(Some(seat), EventKind::Left, "")?;
            }
        }
        Ok(())
    }

    /// A second at a table is over.
    pub(super) fn second(&mut self, group: u32, achieved: &[Achieved]) {
        for one in achieved {
            let Some(running) = self.running.get_mut(&group) else { return };
            let Some(seat) = running.seat_of(one.player) else { continue };
            if let Some(second) = one.second {
                running.achieved.insert((seat, second), *one);
            }
            let Some(life) = self.life(seat) else { continue };
            life.achieved = Some(*one);
            life.draw(one.ping_ms);
        }
    }
}
