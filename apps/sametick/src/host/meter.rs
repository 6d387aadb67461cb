//! Measures a running server: how long its ticks take, and how much comes and goes.

use super::figures::{BUCKETS_MICROS, Drops, Figures, Standing};
use sametick::secure::{Denial, DropReason};
use sametick::{Server, Span, Time};
use sametick_arena::Arena;
use sametick_links::Both;
use std::collections::VecDeque;

/// Medians are of so many ticks.
const RECENT_TICKS: usize = 1024;
/// Over a shorter time, rates would jump.
const RATES_OVER: Span = Span::seconds(1);

pub(crate) struct Meter {
    started: Time,
    tick_length: Span,
    /// Work since the last tick: taking datagrams in belongs to the tick that follows.
    work: Span,
    last_tick: u32,
    recent: VecDeque<Span>,
    ticks: u64,
    overruns: u64,
    buckets: [u64; BUCKETS_MICROS.len()],
    sum: Span,
    /// When rates were last worked out, and the bytes in, bytes out and late commands until then.
    before: (Time, [u64; 3]),
    /// Those rates, a second each.
    rates: [f64; 3],
}

impl Meter {
    pub(crate) fn new(tick_length: Span, now: Time) -> Self {
        Self {
            started: now,
            tick_length,
            work: Span::ZERO,
            last_tick: 0,
            recent: VecDeque::new(),
            ticks: 0,
            overruns: 0,
            buckets: [0; BUCKETS_MICROS.len()],
            sum: Span::ZERO,
            before: (now, [0; 3]),
            rates: [0.0; 3],
        }
    }

    /// Takes down some work, after which the world is at a tick.
    pub(crate) fn worked(&mut self, took: Span, tick: u32) {
        self.work += took;
        let ticks = tick.wrapping_sub(self.last_tick);
        if ticks == 0 {
            return;
        }
        self.last_tick = tick;
        let each = std::mem::replace(&mut self.work, Span::ZERO) / u64::from(ticks);
        for _ in 0..ticks {
            self.count(each);
        }
    }

    fn count(&mut self, took: Span) {
        self.ticks += 1;
        self.overruns += u64::from(took > self.tick_length);
        self.sum += took;
        let micros = took.as_micros();
        let bounds = BUCKETS_MICROS.iter().zip(&mut self.buckets);
        bounds.filter(|(bound, _)| micros <= **bound).for_each(|(_, count)| *count += 1);
        if self.recent.len() == RECENT_TICKS {
            self.recent.pop_front();
        }
        self.recent.push_back(took);
    }

    /// All that is known now.
    pub(crate) fn figures(
        &mut self,
        now: Time,
        server: &Server<Arena>,
        link: &Both,
        bots: usize,
    ) -> Figures {
        let mut recent: Vec<Span> = self.recent.iter().copied().collect();
        recent.sort_unstable();
        let at = |share: f64| {
            let index = (recent.len() as f64 * share) as usize;
            recent.get(index).or(recent.last()).copied().unwrap_or(Span::ZERO)
        };
        let (socket, late) = (link.udp.statistics(), server.repeated());
        let web = link.web.as_ref().map(|web| web.statistics()).unwrap_or_default();
        let (bytes_in, bytes_out) =
            (socket.bytes_received + web.received_bytes, socket.bytes_sent + web.sent_bytes);
        let [bytes_in_rate, bytes_out_rate, late_rate] =
            self.rates(now, [bytes_in, bytes_out, late]);
        let gate = server.listener().gate_counters();
        Figures {
            uptime: now - self.started,
            tick_length: self.tick_length,
            people: server.players().count().saturating_sub(bots),
            bots,
            ticks: self.ticks,
            overruns: self.overruns,
            tick_median: at(0.5),
            tick_percentile_99: at(0.99),
            tick_buckets: self.buckets,
            tick_sum: self.sum,
            bytes_in,
            bytes_out,
            datagrams_in: socket.received + web.received,
            datagrams_out: socket.sent + web.sent,
            bytes_in_per_second: bytes_in_rate,
            bytes_out_per_second: bytes_out_rate,
            late_commands: late,
            late_per_second: late_rate,
            malformed: server.malformed(),
            drops: Drops {
                listener: server.listener().drops(),
                gate: DropReason::ALL.iter().map(|reason| gate.dropped(*reason)).sum(),
                unsent: socket.blocked
                    + socket.unreachable
                    + socket.failed
                    + web.dropped_out
                    + web.unreachable,
            },
            accepted: gate.accepted(),
            denied: Denial::ALL.map(|denial| (denial, gate.denied(denial))).to_vec(),
            standing: Standing::of(server.world()),
            is_compact: server.sends_compact(),
        }
    }

    fn rates(&mut self, now: Time, counts: [u64; 3]) -> [f64; 3] {
        let (then, before) = self.before;
        if now - then >= RATES_OVER {
            let seconds = (now - then).as_seconds_f64();
            let rate = |index: usize| counts[index].saturating_sub(before[index]) as f64 / seconds;
            (self.rates, self.before) = ([0, 1, 2].map(rate), (now, counts));
        }
        self.rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_between_ticks_belongs_to_the_next_one() {
        let mut meter = Meter::new(Span::micros(1_000), Time::ZERO);
        meter.worked(Span::micros(300), 0);
        meter.worked(Span::micros(900), 1);
        assert_eq!((meter.ticks, meter.overruns), (1, 1), "1.2 ms together");
        meter.worked(Span::micros(100), 3);
        assert_eq!((meter.ticks, meter.overruns), (3, 1));
        assert_eq!(meter.buckets[..5], [2, 2, 2, 2, 2]);
        assert_eq!(meter.buckets[5], 3, "bounds are cumulative");
        assert_eq!(meter.sum, Span::micros(1_300));
    }
}
