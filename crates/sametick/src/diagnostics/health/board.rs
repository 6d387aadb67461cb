//! Which warning is shown: one at a time, the worst, for long enough to be read.

use super::figures::Figures;
use super::table::{Kind, Row, Severity, TABLE, Whose};
use crate::core::time::{Span, Time};
use std::cmp::Reverse;

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
    /// Since when it is not that bad any more.
    mild_since: Option<Time>,
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
        // What is severe stays so until it has been half way back for a while.
        let mild_since =
            (value < (row.fires + row.severe) / 2.0).then(|| self.mild_since.unwrap_or(now));
        self.mild_since = mild_since;
        let stays = self.is_severe && mild_since.is_none_or(|at| now - at < GONE_AFTER);
        self.is_severe = self.is_on && (value >= row.severe || stays);
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
        let shown = self.shown.as_ref().and_then(|shown| {
            let index = TABLE.iter().position(|row| row.kind == shown.kind)?;
            Some((index, shown.severity, now - shown.since))
        });
        // Of those that are equally bad, the first in the table. What is shown stands as long as it lingers.
        let rank = |(index, state): (usize, &State)| match shown {
            Some((at, severity, _)) if at == index && state.lingers(now) => {
                Some((Reverse(severity), index))
            }
            _ => state.is_on.then_some((Reverse(state.severity()), index)),
        };
        let worst = self.states.iter().enumerate().filter_map(rank).min();
        let next = match (shown, worst) {
            (Some((index, severity, since)), worst) if since < SHOWN_FOR_MIN => {
                let is_overruled = worst.filter(|(Reverse(worst), _)| *worst > severity);
                Some(is_overruled.map_or(index, |(_, worst)| worst))
            }
            (_, worst) => worst.map(|(_, index)| index),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Which warnings are shown from when, in milliseconds, if loss, silence and server ticks go as told.
    fn watch(figures: impl Fn(u64) -> Figures) -> Vec<(u64, Option<Kind>)> {
        let (mut board, mut changes) = (Board::default(), vec![(0, None)]);
        for millis in (0..30_000).step_by(20) {
            board.look(Time::from_millis(millis), &figures(millis), true);
            let kind = board.shown().map(|shown| shown.kind);
            if changes.last().is_some_and(|(_, last)| *last != kind) {
                changes.push((millis, kind));
            }
        }
        changes
    }

    fn lost(percent: f64) -> Figures {
        Figures { loss_down_percent: percent, ..Figures::default() }
    }

    #[test]
    fn a_warning_stands_for_three_seconds_and_goes_two_after_its_cause() {
        let brief = watch(|millis| lost(if (1_000..1_100).contains(&millis) { 9.0 } else { 0.0 }));
        assert_eq!(brief[1..], [(1_000, Some(Kind::Lost)), (4_000, None)]);
        let long = watch(|millis| lost(if (1_000..9_000).contains(&millis) { 9.0 } else { 0.0 }));
        assert_eq!(long[1..], [(1_000, Some(Kind::Lost)), (11_000, None)]);
    }

    #[test]
    fn at_the_edge_nothing_flickers() {
        let between = watch(|millis| lost(if millis / 100 % 2 == 0 { 5.1 } else { 1.6 }));
        assert_eq!(between[1..], [(0, Some(Kind::Lost))]);
        let across = watch(|millis| lost(if millis / 1_000 % 2 == 0 { 5.1 } else { 0.0 }));
        assert_eq!(across[1..], [(0, Some(Kind::Lost))]);
        let below = watch(|millis| lost(if millis / 100 % 2 == 0 { 4.9 } else { 0.0 }));
        assert_eq!(below.len(), 1);
    }

    #[test]
    fn the_worst_is_shown_and_a_severe_one_at_once() {
        let shown = watch(|millis| Figures {
            silent: if (2_000..3_000).contains(&millis) { Span::seconds(2) } else { Span::ZERO },
            late_per_second: if millis >= 500 { 2.0 } else { 0.0 },
            ..lost(if millis >= 1_000 { 9.0 } else { 0.0 })
        });
        let [late, silent, lost] = [Kind::Late, Kind::Silent, Kind::Lost].map(Some);
        assert_eq!(shown[1..], [(500, late), (2_000, silent), (5_000, lost)]);
    }

    #[test]
    fn every_row_clears_at_or_below_what_it_fires_at_and_there_is_one_of_each_kind() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(row.clears <= row.fires && row.fires <= row.severe, "{:?}", row.kind);
            assert!(TABLE[..index].iter().all(|other| other.kind != row.kind), "{:?}", row.kind);
        }
    }
}
