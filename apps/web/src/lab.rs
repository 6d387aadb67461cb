//! The play page as a participant of an experiment has it: how often pictures are drawn, how late hands and pictures
//! are, and what each second was like. Time is handed in; knows no browser.

use sametick::{Span, Time};
use std::collections::VecDeque;

/// More frames of delay are not given: two seconds at 60 a second.
pub(crate) const FRAME_DELAY_MAX: usize = 120;
/// Nor later hands.
pub(crate) const INPUT_DELAY_MS_MAX: f64 = 2000.0;
/// The rates that pictures can be asked for.
pub(crate) const FRAME_RATES: std::ops::RangeInclusive<f64> = 1.0..=1000.0;
/// What waits for its time; more than this comes at once.
const WAITING_MAX: usize = 4096;
/// The frames of a second that are remembered; a display that is faster counts on.
const FRAMES_MAX: usize = 1024;
/// A display does not keep time to the microsecond: a frame that is nearly due is due.
const NEARLY: Span = Span::micros(1500);

/// What the experiment asks of the page in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    /// At most so many pictures a second; none is as many as the display shows.
    pub(crate) frame_rate: Option<f64>,
    /// Pictures are shown so many frames late.
    pub(crate) frame_delay: usize,
    /// Keys and mouse count so much later.
    pub(crate) input_delay: Span,
}

impl Terms {
    /// As numbers say it; what is out of bounds is put within.
    pub(crate) fn new(frame_rate: Option<f64>, frame_delay: f64, input_delay_ms: f64) -> Self {
        let rate = frame_rate.filter(|rate| *rate > 0.0);
        let micros = input_delay_ms.clamp(0.0, INPUT_DELAY_MS_MAX) * 1000.0;
        Self {
            frame_rate: rate.map(|rate| rate.clamp(*FRAME_RATES.start(), *FRAME_RATES.end())),
            frame_delay: (frame_delay.max(0.0) as usize).min(FRAME_DELAY_MAX),
            input_delay: Span::from_micros_f64(micros),
        }
    }
}

/// Says which frames of the display are drawn, so that there are no more a second than wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    due: Option<Time>,
}

impl Pace {
    /// Whether the frame at this time is drawn.
    pub(crate) fn is_due(&mut self, rate: Option<f64>, now: Time) -> bool {
        let Some(rate) = rate else { return true };
        let period = Span::from_micros_f64(1e6 / rate);
        let due = self.due.unwrap_or(now);
        if now + NEARLY < due {
            return false;
        }
        // The next follows the plan, so that the rate is right on average; after a long wait it begins anew.
        let next = due + period;
        self.due = Some(if next < now { now + period } else { next });
        true
    }
}

/// What counts later than it happened.
#[derive(Debug)]
pub(crate) struct Later<T> {
    waiting: VecDeque<(Time, T)>,
}

impl<T> Default for Later<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<T> Later<T> {
    /// It happened, and counts so much later.
    pub(crate) fn put(&mut self, now: Time, delay: Span, what: T) {
        self.waiting.push_back((now + delay, what));
    }

    /// The next that counts by now.
    pub(crate) fn take(&mut self, now: Time) -> Option<T> {
        let is_full = self.waiting.len() > WAITING_MAX;
        let is_due = self.waiting.front().is_some_and(|(due, _)| *due <= now);
        if is_due || is_full { self.waiting.pop_front().map(|(_, what)| what) } else { None }
    }
}

/// Pictures that are shown some frames after they were made.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    pictures: VecDeque<T>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { pictures: VecDeque::new() }
    }
}

impl<T> Shelf<T> {
    /// Puts the newest, and gives the one that is to be seen now, so many frames older.
    pub(crate) fn exchange(&mut self, newest: T, frames: usize) -> Option<T> {
        self.pictures.push_back(newest);
        // Of a shorter delay, only the last one is seen.
        let extra = self.pictures.len().saturating_sub(frames + 1);
        self.pictures.drain(..extra);
        if self.pictures.len() > frames { self.pictures.pop_front() } else { None }
    }

    /// Nothing of before is shown any more.
    pub(crate) fn clear(&mut self) {
        self.pictures.clear();
    }
}

/// What a second of the page was like.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Second {
    spans: Vec<Span>,
    frames: u32,
    inputs: u32,
}

/// The same in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) frames: u32,
    /// From picture to picture, on average.
    pub(crate) frame_ms: f64,
    /// Of a hundred, the fifth longest.
    pub(crate) frame_ms_95: f64,
    pub(crate) inputs: u32,
}

impl Second {
    /// A picture was drawn, so long after the one before.
    pub(crate) fn frame(&mut self, span: Span) {
        self.frames += 1;
        if self.spans.len() < FRAMES_MAX {
            self.spans.push(span);
        }
    }

    /// A key, a button or the mouse.
    pub(crate) fn input(&mut self) {
        self.inputs += 1;
    }

    /// What it came to; the next begins.
    pub(crate) fn take(&mut self) -> Figures {
        let mut second = std::mem::take(self);
        second.spans.sort_unstable();
        let count = second.spans.len();
        let total: f64 = second.spans.iter().map(|span| span.as_millis_f64()).sum();
        let place = (count * 95).div_ceil(100).saturating_sub(1);
        Figures {
            frames: second.frames,
            frame_ms: if count > 0 { total / count as f64 } else { 0.0 },
            frame_ms_95: second.spans.get(place).map_or(0.0, |span| span.as_millis_f64()),
            inputs: second.inputs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many frames of a display of so many Hz are drawn in ten seconds.
    fn drawn(display: f64, rate: Option<f64>) -> usize {
        let mut pace = Pace::default();
        let times = (0..(display * 10.0) as u64)
            .map(|frame| Time::from_micros((frame as f64 * 1e6 / display) as u64));
        times.filter(|now| pace.is_due(rate, *now)).count()
    }

    #[test]
    fn no_more_pictures_are_drawn_than_asked_for_and_no_fewer_than_the_display_can() {
        assert_eq!(drawn(60.0, None), 600);
        for (display, rate, wanted) in [
            (60.0, 30.0, 300),
            (60.0, 60.0, 600),
            (144.0, 60.0, 600),
            (240.0, 120.0, 1200),
            (60.0, 240.0, 600),
        ] {
            let got = drawn(display, Some(rate));
            assert!(got.abs_diff(wanted) <= 2, "{rate} of {display}: {got}, not {wanted}");
        }
    }

    #[test]
    fn after_a_long_wait_no_frames_are_made_up_for() {
        let mut pace = Pace::default();
        assert!(pace.is_due(Some(10.0), Time::ZERO));
        let late = Time::from_seconds(5);
        assert!(pace.is_due(Some(10.0), late));
        assert!(!pace.is_due(Some(10.0), late + Span::millis(20)));
    }

    #[test]
    fn hands_count_later_by_exactly_what_was_asked_and_in_their_order() {
        let mut later = Later::default();
        for number in 0..3 {
            later.put(Time::from_millis(10 * number), Span::millis(50), number);
        }
        assert_eq!(later.take(Time::from_millis(49)), None);
        assert_eq!(later.take(Time::from_millis(60)), Some(0));
        assert_eq!(later.take(Time::from_millis(60)), Some(1));
        assert_eq!(later.take(Time::from_millis(60)), None);
        assert_eq!(later.take(Time::from_millis(70)), Some(2));
    }

    #[test]
    fn pictures_are_late_by_whole_frames() {
        let mut shelf = Shelf::default();
        let seen: Vec<Option<u32>> = (0..5).map(|frame| shelf.exchange(frame, 2)).collect();
        assert_eq!(seen, [None, None, Some(0), Some(1), Some(2)]);
        assert_eq!(shelf.exchange(5, 0), Some(5), "a shorter delay shows the newest");
        assert_eq!(shelf.exchange(6, 0), Some(6));
    }

    #[test]
    fn a_second_with_one_stall_says_so() {
        let mut second = Second::default();
        (0..19).for_each(|_| second.frame(Span::millis(16)));
        second.frame(Span::millis(200));
        second.input();
        let figures = second.take();
        assert_eq!((figures.frames, figures.inputs), (20, 1));
        assert!(
            (figures.frame_ms - 25.2).abs() < 1e-9 && figures.frame_ms_95 == 16.0,
            "{figures:?}"
        );
        (0..4).for_each(|_| second.frame(Span::millis(100)));
        assert_eq!(second.take().frame_ms_95, 100.0);
        assert_eq!(second.take(), Figures::default(), "nothing is counted twice");
    }

    #[test]
    fn what_is_out_of_bounds_is_put_within() {
        let terms = Terms::new(Some(1e9), 1e9, 1e9);
        assert_eq!((terms.frame_rate, terms.frame_delay), (Some(1000.0), FRAME_DELAY_MAX));
        assert_eq!(terms.input_delay, Span::seconds(2));
        assert_eq!(Terms::new(Some(0.0), -1.0, -1.0), Terms::default());
    }
}
