//! Which warning is shown: one at a time, the worst, for long enough to be read.

use super::figures::Figures;
use super::table::{Kind, Row, Severity, TABLE, Whose};
use crate::time::{Span, Time};

/// A warning is shown for at least so long, unless a severe one takes the place of one that is not.
pub const SHOWN_FOR_MIN: Span = Span::seconds(3);
/// So long after it is over it goes.
pub const GONE_AFTER: Span = Span::seconds(2);
/// A sentence's numbers change at most this often.
const REWORDED_EVERY: Span = Span::millis(250);

/// What to tell the player.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// What is wrong.
    pub kind: Kind,
    /// Whose fault it is.
    pub whose: Whose,
    /// How bad it is.
    pub severity: Severity,
    /// The same in words, with what was measured.
    pub sentence: String,
    /// Since when it is shown.
    pub since: Time,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    states: [State; TABLE.len()],
    shown: Option<Warning>,
    worded_at: Time,
}

/// How one row of the table stands.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Since when it is at its threshold.
    high_since: Option<Time>,
    is_on: bool,
    is_severe: bool,
    over_at: Option<Time>,
}

impl State {
    fn look(&mut self, now: Time, row: &Row, value: f64) {
        if value < row.fires {
            self.high_since = None;
        } else {
            let since = *self.high_since.get_or_insert(now);
            self.is_on |= now - since >= row.lasts;
        }
        if self.is_on && value < row.clears {
            (self.is_on, self.over_at) = (false, Some(now));
        }
        // What is severe stays so until it is half way back.
        let severe = if self.is_severe { (row.fires + row.severe) / 2.0 } else { row.severe };
        self.is_severe = self.is_on && value >= severe;
    }

    fn lingers(&self, now: Time) -> bool {
        self.is_on || self.over_at.is_some_and(|at| now - at < GONE_AFTER)
    }

    fn severity(&self) -> Severity {
        if self.is_severe { Severity::Severe } else { Severity::Warning }
    }
}

impl Board {
    pub(super) fn shown(&self) -> Option<&Warning> {
        self.shown.as_ref()
    }

    /// Looks at what was measured. Before a connection has settled, only what it did until then is gone on
    /// with.
    pub(super) fn look(&mut self, now: Time, figures: &Figures, is_settled: bool) {
        for (row, state) in TABLE.iter().zip(&mut self.states) {
            let value = if is_settled { (row.value)(figures) } else { f64::NEG_INFINITY };
            state.look(now, row, value);
        }
        let on = self.states.iter().enumerate().filter(|(_, state)| state.is_on);
        // Of those that are equally bad, the first in the table.
        let worst = on.min_by_key(|(index, state)| (!state.is_severe, *index));
        let worst = worst.map(|(index, _)| index);
        let shown = self.shown.as_ref().and_then(|shown| {
            TABLE.iter().position(|row| row.kind == shown.kind).map(|index| (index, shown.since))
        });
        let next = match (shown, worst) {
            (None, worst) => worst,
            (Some((index, since)), worst) => {
                let state = &self.states[index];
                let is_new = now - since < SHOWN_FOR_MIN;
                let is_overruled =
                    worst.is_some_and(|worst| self.states[worst].is_severe && !state.is_severe);
                match worst {
                    _ if is_new && !is_overruled => Some(index),
                    None => Some(index).filter(|_| state.lingers(now)),
                    worst => worst,
                }
            }
        };
        match next {
            None => self.shown = None,
            Some(index) => self.show(now, index, figures),
        }
    }

    fn show(&mut self, now: Time, index: usize, figures: &Figures) {
        let (row, state) = (&TABLE[index], &self.states[index]);
        let same = self.shown.as_mut().filter(|shown| shown.kind == row.kind);
        match same {
            // What is over keeps its last words.
            Some(_) if !state.is_on || now - self.worded_at < REWORDED_EVERY => return,
            Some(shown) => {
                (shown.severity, shown.sentence) = (state.severity(), (row.sentence)(figures));
            }
            None => {
                self.shown = Some(Warning {
                    kind: row.kind,
                    whose: row.whose,
                    severity: state.severity(),
                    sentence: (row.sentence)(figures),
                    since: now,
                });
            }
        }
        self.worded_at = now;
    }
}
