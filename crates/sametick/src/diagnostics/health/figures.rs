//! The numbers of a net graph, worked out from what was lately seen.

use super::{Bar, Fate, Frame, Health, KEPT, Link, Update};
use crate::core::time::{Span, Time};
use std::fmt;

/// Ping, jitter and all that is counted a second are of so long.
pub const PING_OVER: Span = Span::seconds(2);
/// What the server said of itself holds for so long.
const PACE_HOLDS: Span = Span::seconds(4);
/// An update that is so much later than the one before it was held up.
const HELD_UP: f64 = 60.0;
const HOLD_UPS_OVER: Span = Span::seconds(4);
/// Fewer updates than this say nothing of how evenly they come, nor of how many are lost.
const UPDATES_MIN: usize = 10;
/// What was made up for lateness is told of so long.
const MADE_UP_OVER: Span = Span::seconds(3);
/// No screen shows more, however fast the game's ticks are.
const FRAME_MIN_MS: f64 = 16.667;

/// The usual and the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub worst: f64,
}

/// What was measured, in milliseconds unless the name says otherwise. Those with a second in their name, the
/// ping and the times are of the last two seconds, losses of the last six.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The median round trip, once one was measured.
    pub ping_ms: Option<f64>,
    /// The 95th percentile of the round trips less their median.
    pub jitter_ms: f64,
    /// The share of the server's updates that never came, in per cent.
    pub loss_down_percent: f64,
    /// The share of our packets that the server has not seen, as it says itself, in per cent.
    pub loss_up_percent: f64,
    /// By how much our commands were early at the server, on average.
    pub margin_ms: Option<f64>,
    /// By how much they are meant to be.
    pub target_margin_ms: f64,
    /// How many updates told of a late command.
    pub late_per_second: f64,
    /// How many commands the server had to repeat.
    pub repeated_per_second: f64,
    /// For how long it has had to, without a break.
    pub repeated_for_ms: f64,
    /// By how much our time went ahead at once in the last three seconds, because commands were late.
    pub made_up_ms: f64,
    /// How many updates came; those of one tick count once.
    pub updates_per_second: f64,
    /// The time between two of them.
    pub gap_ms: Spread,
    /// How unevenly they come: the 95th percentile of their lateness less its median.
    pub unevenness_ms: f64,
    /// How much later others are shown for that; none if they are not shown so.
    pub waits_ms: Option<f64>,
    /// How many updates of the last four seconds came far later than the one before, in a stream.
    pub hold_ups: u32,
    /// How old what is shown of the others is, by the server's present.
    pub others_age_ms: Option<f64>,
    /// How far back the server would have to judge our shots.
    pub needs_rewind_ms: Option<f64>,
    /// How far behind the newest update others are shown on purpose.
    pub buffer_ms: f64,
    /// How far back it judges at most; none if it does not, or has not said so.
    pub rewinds_at_most_ms: Option<f64>,
    /// How far back it judged our last command.
    pub rewound_ms: Option<f64>,
    /// How long a frame takes.
    pub frame_ms: Spread,
    /// The median frame.
    pub frame_median_ms: f64,
    /// How long a frame's share for what is predicted anew takes.
    pub repredicted_ms: Spread,
    /// How long a tick of the game takes, once that is known.
    pub tick_length_ms: Option<f64>,
    /// How long the server takes for one, if it says so.
    pub server_tick_ms: Option<Spread>,
    /// How many updates a second the server sent us, and how many it would have, if it says so.
    pub sent_per_second: Option<(f64, f64)>,
    /// What share of the updates that were due it did not send.
    pub unsent_share: f64,
    /// Received bytes, with what the layers below add.
    pub in_bytes_per_second: f64,
    /// Sent bytes, likewise.
    pub out_bytes_per_second: f64,
    /// For how long nothing has come from the server.
    pub silent: Span,
}

/// In one line: `42 ms ±3, lost ↓0.2 ↑0.0 %, 14.2 kB/s`.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ping) = self.ping_ms else { return f.write_str("no answer yet") };
        write!(
            f,
            "{ping:.0} ms ±{:.0}, lost ↓{:.1} ↑{:.1} %, {:.1} kB/s",
            self.jitter_ms,
            self.loss_down_percent,
            self.loss_up_percent,
            (self.in_bytes_per_second + self.out_bytes_per_second) / 1_000.0
        )
    }
}

impl Figures {
    /// What a frame may take.
    pub(super) fn frame_budget_ms(&self) -> Option<f64> {
        self.tick_length_ms.map(|length| length.max(FRAME_MIN_MS))
    }
}

impl Health {
    /// What was measured lately.
    pub fn figures(&self, now: Time) -> Figures {
        let newest = &self.newest;
        let mut figures = Figures {
            target_margin_ms: newest.target_margin.as_millis_f64(),
            repeated_for_ms: newest.repeated_for.as_millis_f64(),
            waits_ms: newest.waits.map(Span::as_millis_f64),
            buffer_ms: newest.buffer.as_millis_f64(),
            tick_length_ms: newest.tick_length.map(Span::as_millis_f64),
            silent: newest.heard_at.map_or(Span::ZERO, |at| now - at),
            ..Figures::default()
        };
        // Where answers are rare, an older one is better than none.
        let recent =
            if self.pings.since(now - PING_OVER).next().is_some() { PING_OVER } else { KEPT };
        let mut pings: Vec<f64> =
            self.pings.since(now - recent).map(|(_, ping)| ping.as_millis_f64()).collect();
        if let Some(median) = at_share(&mut pings, 0.5) {
            figures.ping_ms = Some(median);
            figures.jitter_ms = at_share(&mut pings, 0.95).unwrap_or(median) - median;
        }
        self.count_updates(now, &mut figures);
        self.count_bytes(now, &mut figures);
        self.look_at_frames(now, &mut figures);
        self.listen(now, &mut figures);
        figures
    }

    fn count_updates(&self, now: Time, figures: &mut Figures) {
        let lost = self.updates.iter().filter(|(_, bar)| bar.fate == Fate::Lost).count();
        if self.updates.len() >= UPDATES_MIN {
            figures.loss_down_percent = 100.0 * lost as f64 / self.updates.len() as f64;
        }
        let seconds = PING_OVER.as_seconds_f64();
        let came = |(_, bar): (Time, &Bar)| (bar.fate == Fate::Arrived).then_some(bar.update);
        let updates: Vec<Update> = self.updates.since(now - PING_OVER).filter_map(came).collect();
        let margins: Vec<f64> = updates.iter().filter_map(|update| update.margin_ms).collect();
        if !margins.is_empty() {
            figures.margin_ms = Some(margins.iter().sum::<f64>() / margins.len() as f64);
        }
        let late = margins.iter().filter(|margin| **margin < 0.0).count();
        figures.late_per_second = late as f64 / seconds;
        let repeated: u32 = updates.iter().map(|update| update.repeated).sum();
        figures.repeated_per_second = f64::from(repeated) / seconds;
        let mut firsts = updates;
        firsts.dedup_by_key(|update| update.tick);
        figures.updates_per_second = firsts.len() as f64 / seconds;
        let gaps = firsts.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis_f64());
        figures.gap_ms = spread(gaps);
        let Some(length) = figures.tick_length_ms else { return };
        let lateness = |update: &Update| {
            (update.at - Time::ZERO).as_millis_f64() - f64::from(update.tick.0) * length
        };
        let mut late: Vec<f64> = firsts.iter().map(lateness).collect();
        if late.len() >= UPDATES_MIN
            && let (Some(median), Some(high)) =
                (at_share(&mut late, 0.5), at_share(&mut late, 0.95))
        {
            figures.unevenness_ms = high - median;
        }
        if self.link == Link::Stream {
            let recent: Vec<f64> = self
                .updates
                .since(now - HOLD_UPS_OVER)
                .filter_map(came)
                .map(|update| lateness(&update))
                .collect();
            let held_up = recent.windows(2).filter(|pair| pair[1] - pair[0] >= HELD_UP).count();
            figures.hold_ups = held_up as u32;
        }
    }

    fn count_bytes(&self, now: Time, figures: &mut Figures) {
        let Some((last_at, last)) = self.counts.last() else { return };
        if let Some((_, first)) = self.counts.iter().next() {
            let arrived = last.told_arrived - first.told_arrived;
            let missing = last.told_missing - first.told_missing;
            let all = (arrived + missing).max(1);
            figures.loss_up_percent = 100.0 * missing as f64 / all as f64;
        }
        if let Some((_, first)) = self.counts.since(now - MADE_UP_OVER).next() {
            figures.made_up_ms = (last.made_up - first.made_up).as_millis_f64();
        }
        if let Some((at, first)) = self.counts.since(now - PING_OVER).next()
            && last_at > at
        {
            let seconds = (last_at - at).as_seconds_f64();
            figures.in_bytes_per_second = (last.bytes_in - first.bytes_in) as f64 / seconds;
            figures.out_bytes_per_second = (last.bytes_out - first.bytes_out) as f64 / seconds;
        }
    }

    fn look_at_frames(&self, now: Time, figures: &mut Figures) {
        let frames = || self.frames.since(now - PING_OVER).map(|(_, frame)| frame);
        let took = |frame: &Frame| frame.work.frame.as_millis_f64();
        let mut times: Vec<f64> = frames().map(took).collect();
        figures.frame_ms = spread(times.iter().copied());
        figures.frame_median_ms = at_share(&mut times, 0.5).unwrap_or(0.0);
        figures.repredicted_ms =
            spread(frames().map(|frame| frame.work.repredicted.as_millis_f64()));
        let screens = || frames().filter_map(|frame| frame.screen);
        let mut behind: Vec<f64> = screens().map(|screen| screen.behind_own_ms).collect();
        let mut shown: Vec<f64> =
            screens().map(|screen| screen.behind_own_ms - screen.guessed_ms).collect();
        figures.needs_rewind_ms = at_share(&mut behind, 0.5);
        // A command is away for half a round trip and then waits for its tick: so far our own time is ahead.
        if let (Some(shown), Some(ping)) = (at_share(&mut shown, 0.5), figures.ping_ms) {
            let ahead = ping / 2.0 + figures.margin_ms.unwrap_or(0.0);
            figures.others_age_ms = Some((shown - ahead).max(0.0));
        }
    }

    fn listen(&self, now: Time, figures: &mut Figures) {
        let Some((_, pace)) = self.newest.pace.filter(|(at, _)| now - *at <= PACE_HOLDS) else {
            return;
        };
        figures.server_tick_ms = Some(Spread {
            mean: pace.tick_mean.as_millis_f64(),
            worst: pace.tick_worst.as_millis_f64(),
        });
        let at_most = pace.rewinds_at_most;
        figures.rewinds_at_most_ms = (at_most > Span::ZERO).then(|| at_most.as_millis_f64());
        figures.rewound_ms = pace.rewound.map(Span::as_millis_f64);
        let every = f64::from(pace.ticks_per_snapshot.max(self.newest.snapshot_every).max(1));
        let due = f64::from(pace.ticks) / every;
        if let Some(length) = figures.tick_length_ms.filter(|_| due >= 1.0) {
            let sent = f64::from(pace.snapshots) / pace.over.as_seconds_f64().max(0.001);
            figures.sent_per_second = Some((sent, 1_000.0 / (length * every)));
            figures.unsent_share = (1.0 - f64::from(pace.snapshots) / due).max(0.0);
        }
    }
}

fn spread(values: impl Iterator<Item = f64>) -> Spread {
    let (mut count, mut sum, mut worst) = (0, 0.0, 0.0_f64);
    values.for_each(|value| {
        (count, sum, worst) = (count + 1, sum + value, worst.max(value));
    });
    Spread { mean: if count == 0 { 0.0 } else { sum / f64::from(count) }, worst }
}

/// The value below which that share of them lies.
fn at_share(values: &mut [f64], share: f64) -> Option<f64> {
    let index = ((values.len() as f64 * share) as usize).min(values.len().checked_sub(1)?);
    Some(*values.select_nth_unstable_by(index, f64::total_cmp).1)
}
