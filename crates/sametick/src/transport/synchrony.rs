//! What time it is on another machine, from stamps that it sends back over a stream: estimators that can be compared,
//! and a clock that follows the best of them without ever running backwards. Knows no message and reads no clock.

use crate::core::time::{Span, Time};
use std::collections::VecDeque;

/// A stamp that the other machine sent back: when we asked, what its clock said, and when we heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When we asked, by our clock.
    pub sent: Time,
    /// What the other clock said when it was asked.
    pub theirs: Time,
    /// When the answer came, by our clock.
    pub received: Time,
}

impl Stamp {
    /// Half of what the question and the answer took. Paper 002 calls it the time delta.
    pub fn latency(&self) -> Span {
        (self.received - self.sent) / 2
    }

    /// What is to be added to our clock, in microseconds, if both ways took the same time: the other's stamp, plus the
    /// latency, minus now.
    pub fn offset_micros(&self) -> i64 {
        micros(self.theirs) + self.latency().as_micros() as i64 - micros(self.received)
    }
}

fn micros(time: Time) -> i64 {
    time.as_micros() as i64
}

/// How an offset is found from some stamps, oldest first.
///
/// ```
/// use sametick::Time;
/// use sametick::synchrony::{Estimator, Stamp};
///
/// // The other clock is 10 s ahead. Four answers took 100 ms, one was sent again and took 700.
/// let stamp = |at: u64, back: u64| Stamp {
///     sent: Time::from_millis(at),
///     theirs: Time::from_millis(at + 10_050),
///     received: Time::from_millis(at + 50 + back),
/// };
/// let stamps = [stamp(0, 50), stamp(2000, 50), stamp(4000, 650), stamp(6000, 50), stamp(8000, 50)];
/// assert_eq!(Estimator::HighModes.offset_micros(&stamps), Some(10_000_000));
/// assert_eq!(Estimator::HalfTrip.offset_micros(&stamps[..3]), Some(10_300_000 - 600_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The newest stamp as it is, with no correction for latency: SNTP as 002 describes it.
    Uncorrected,
    /// The newest stamp and half of its own round trip.
    HalfTrip,
    /// 002's: of those whose latency is at most 1.5 times the median, the mean.
    HighModes,
    /// The stamp with the shortest round trip.
    ShortestTrip,
    /// The true offset lies between what each stamp says if its way there took no time, and if its way back took none.
    /// The middle of what all of them leave: the fastest way there counts and the fastest way back, be they of
    /// different stamps.
    #[default]
    Bounds,
}

/// What a clock of no special quality gains or loses at most, in millionths.
pub const DRIFT_PPM_MAX: u64 = 200;

/// So many stamps before the median means anything; the fewer before that count as they are.
pub const STAMPS_MIN: usize = 5;
/// So many are kept.
pub const STAMPS_MAX: usize = 16;

impl Estimator {
    /// All of them, to be compared.
    pub const ALL: [Self; 5] =
        [Self::Uncorrected, Self::HalfTrip, Self::HighModes, Self::ShortestTrip, Self::Bounds];

    /// What is to be added to our clock, in microseconds; none without a stamp.
    pub fn offset_micros(self, stamps: &[Stamp]) -> Option<i64> {
        let newest = stamps.last()?;
        Some(match self {
            Self::Uncorrected => micros(newest.theirs) - micros(newest.received),
            Self::HalfTrip => newest.offset_micros(),
            Self::HighModes => high_modes(stamps),
            Self::ShortestTrip => {
                // Of equals the newest.
                let stamp = stamps.iter().rev().min_by_key(|stamp| stamp.latency());
                stamp.unwrap_or(newest).offset_micros()
            }
            Self::Bounds => bounds(stamps, newest.received),
        })
    }
}

/// Elimination of higher-order modes. The text of 002 drops samples above 1.5 times the median; its listing asks
/// whether `sample - median < 1.5 * median`, which keeps up to 2.5 times: a slip, and the text is followed here.
fn high_modes(stamps: &[Stamp]) -> i64 {
    let mut latencies: Vec<Span> = stamps.iter().map(Stamp::latency).collect();
    latencies.sort_unstable();
    let median = latencies[latencies.len() / 2];
    let kept = stamps.iter().filter(|stamp| stamp.latency() * 2 <= median * 3);
    let (sum, count) =
        kept.fold((0, 0), |(sum, count), stamp| (sum + stamp.offset_micros(), count + 1));
    // The median itself is always kept.
    sum / i64::max(count, 1)
}

fn bounds(stamps: &[Stamp], now: Time) -> i64 {
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    // From the newest back: a clock that was set since then is known by a stamp that contradicts those after it.
    for stamp in stamps.iter().rev() {
        let drift = ((now - stamp.received).as_micros() * DRIFT_PPM_MAX / 1_000_000) as i64;
        let from = micros(stamp.theirs) - micros(stamp.received) - drift;
        let to = micros(stamp.theirs) - micros(stamp.sent) + drift;
        if from.max(least) > to.min(most) {
            break;
        }
        (least, most) = (from.max(least), to.min(most));
    }
    least / 2 + most / 2
}

/// So far off, the clock goes forward at once; otherwise it runs faster, or slower, until it is right.
const LEAP: Span = Span::millis(500);
/// How much faster or slower, at most, as a share of the time that passes: one part in so many.
const SLEW: i64 = 8;
/// So far ahead of the truth, as after our own clock was set, it runs at a quarter of its speed.
const SLOW_SLEW_FROM: i64 = 1_000_000;
/// If our own clock moves by more between two looks at it, it was set, or we slept; so much is taken for passed.
const GAP_MAX: Span = Span::seconds(5);

/// Another machine's clock, as well as it is known.
///
/// It is right as soon as the first answer is there, better after five, and never runs backwards: what is behind
/// runs faster for a while, what is ahead slower. Nothing waits for it, and whatever decides whether a game starts
/// should look at the caller's own clock instead: 002 warns of games that hang because time went backwards.
///
/// ```
/// use sametick::synchrony::{Estimator, Stamp, SyncClock};
/// use sametick::{Span, Time};
///
/// let mut clock = SyncClock::new(Estimator::default());
/// let asked = Time::from_millis(100);
/// assert!(clock.asks(asked), "at once");
/// clock.asked(asked);
/// let heard = Time::from_millis(180);
/// clock.take(Stamp { sent: asked, theirs: Time::from_millis(7_040), received: heard });
/// assert_eq!(clock.time(heard), Some(Time::from_millis(7_080)));
/// ```
#[derive(Clone, Debug)]
pub struct SyncClock {
    estimator: Estimator,
    stamps: VecDeque<Stamp>,
    /// How many were taken in, ever.
    taken: u64,
    asked_at: Option<Time>,
    /// What the estimator says.
    target_micros: i64,
    /// What is shown: our clock plus this.
    offset_micros: i64,
    /// When that was so; none before anything was heard.
    at: Option<Time>,
    /// The latest that was ever shown.
    shown: Time,
}

/// A question that is not answered for so long is asked again.
const ANSWER_MAX: Span = Span::seconds(5);
/// The first questions follow each other soon; 002 pauses a few seconds.
const ASKED_EVERY_FIRST: Span = Span::millis(1500);
/// Then drift is followed, slowly.
const ASKED_EVERY: Span = Span::seconds(20);

impl SyncClock {
    /// A clock that knows nothing yet.
    pub fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            stamps: VecDeque::new(),
            taken: 0,
            asked_at: None,
            target_micros: 0,
            offset_micros: 0,
            at: None,
            shown: Time::ZERO,
        }
    }

    /// Whether the other machine should be asked for its time now.
    pub fn asks(&self, now: Time) -> bool {
        now >= self.asks_at()
    }

    /// When it should be asked next.
    pub fn asks_at(&self) -> Time {
        let Some(asked_at) = self.asked_at else { return Time::ZERO };
        let is_answered = self.stamps.back().is_some_and(|stamp| stamp.sent >= asked_at);
        let every = match self.taken {
            _ if !is_answered => ANSWER_MAX,
            0..STAMPS_MIN_U64 => ASKED_EVERY_FIRST,
            _ => ASKED_EVERY,
        };
        asked_at + every
    }

    /// It is being asked.
    pub fn asked(&mut self, now: Time) {
        self.asked_at = Some(now);
    }

    /// Takes in an answer. One that says it came before it was asked for is not taken.
    pub fn take(&mut self, stamp: Stamp) {
        if stamp.received < stamp.sent {
            return;
        }
        self.follow(stamp.received);
        if self.stamps.len() == STAMPS_MAX {
            self.stamps.pop_front();
        }
        self.stamps.push_back(stamp);
        self.taken += 1;
        let stamps: &[Stamp] = self.stamps.make_contiguous();
        let offset = self.estimator.offset_micros(stamps).unwrap_or(0);
        self.target_micros = offset;
        let is_far_behind = offset - self.offset_micros > LEAP.as_micros() as i64;
        // The first answer is used at once; later only forwards.
        if self.taken == 1 || is_far_behind {
            self.offset_micros = offset;
        }
    }

    /// The other machine said something that it can have said at this time of its own only, or later.
    pub fn at_least(&mut self, now: Time, theirs: Time) {
        let is_known = self.at.is_some();
        self.follow(now);
        let least = micros(theirs) - micros(now);
        // Before any answer there is nothing better.
        if self.taken == 0 {
            self.target_micros = if is_known { self.target_micros.max(least) } else { least };
            self.offset_micros = self.target_micros;
        }
        // So far behind, what was known is wrong: our clock stood still, or was set. It is asked again at once.
        if least - self.target_micros > LEAP.as_micros() as i64 {
            self.target_micros = least;
            self.stamps.clear();
            self.asked_at = None;
        }
        self.offset_micros = self.offset_micros.max(least);
    }

    /// The other machine's time; none before anything was heard. Never earlier than what was told before.
    pub fn time(&mut self, now: Time) -> Option<Time> {
        self.at?;
        self.follow(now);
        let time = Time::from_micros((micros(now) + self.offset_micros).max(0).cast_unsigned());
        self.shown = self.shown.max(time);
        Some(self.shown)
    }

    /// How many answers there were.
    pub fn stamps_taken(&self) -> u64 {
        self.taken
    }

    /// What is still to be made up for, in microseconds.
    pub fn error_micros(&self) -> i64 {
        self.target_micros - self.offset_micros
    }

    /// Moves what is shown towards what is right, as much as the time allows that has passed.
    fn follow(&mut self, now: Time) {
        let at = self.at.unwrap_or(now).max(now);
        let passed = self.at.map_or(Span::ZERO, |before| now - before).as_micros() as i64;
        self.at = Some(at);
        let error = self.target_micros - self.offset_micros;
        let is_far_ahead = error < -SLOW_SLEW_FROM;
        let most = if is_far_ahead { passed * 3 / 4 } else { passed / SLEW };
        self.offset_micros += error.clamp(-most, most);
    }
}

const STAMPS_MIN_U64: u64 = STAMPS_MIN as u64;

/// A caller's clock made steady: it may be set back, or far forward, while we play.
#[derive(Clone, Debug, Default)]
pub struct Steady {
    last: Option<Time>,
    steady: Time,
}

impl Steady {
    /// The moment that `now` is, on a clock that nobody sets.
    pub fn at(&mut self, now: Time) -> Time {
        // Set back, no time has passed; what lies too far ahead cannot have either.
        let passed = self.last.map_or(now - Time::ZERO, |last| now - last);
        let is_first = self.last.replace(now).is_none();
        self.steady += if is_first || passed <= GAP_MAX { passed } else { Span::ZERO };
        self.steady
    }

    /// The caller's moment for a steady one.
    pub fn callers(&self, steady: Time) -> Time {
        self.last.map_or(steady, |last| last + (steady - self.steady))
    }
}
