//! What one direction of one line does to datagrams, as plain data. Decides no datagram's fate.

use std::fmt;
use std::sync::Arc;

use crate::core::time::Span;

/// The longest delay, jitter or reordering that a line may be given.
pub const DELAY_MAX: Span = Span::seconds(3_600);
/// The most bytes that a datagram can have: what UDP over IPv4 carries.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// The most delays that a trace may have.
pub const TRACE_DELAYS_MAX: usize = 1 << 20;

/// What happens to datagrams in one direction of one line.
///
/// ```
/// use sametick::Span;
/// use sametick::network::{Conditions, Loss};
/// let conditions = Conditions {
///     delay: Span::millis(40),
///     loss: Loss::Random { probability: 0.02 },
///     ..Conditions::PERFECT
/// };
/// assert!(conditions.check().is_ok());
///
/// let odd = Conditions { duplicate: 1.5, ..Conditions::PERFECT };
/// let error = odd.check().unwrap_err().to_string();
/// assert_eq!(error, "duplicate is 1.5: a probability lies between 0 and 1");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// How long each datagram is under way at least; normal jitter alone may take from it.
    pub delay: Span,
    /// How much the delay varies.
    pub jitter: Jitter,
    /// Whether a datagram with a shorter delay still waits for those before it. Without it jitter
    /// reorders; with it only `reorder` does.
    pub keep_order: bool,
    /// Which datagrams vanish.
    pub loss: Loss,
    /// The share of datagrams that arrive twice. The copy has jitter and damage of its own.
    pub duplicate: f64,
    /// The share of datagrams held back for up to `reorder_by`, while later ones overtake.
    pub reorder: f64,
    /// How long a datagram is held back at most for reordering.
    pub reorder_by: Span,
    /// The share of datagrams that arrive with one bit flipped.
    pub bit_flip: f64,
    /// The share of datagrams that arrive shorter than they were, some of them empty.
    pub truncate: f64,
    /// How fast the line sends; none is as fast as one likes.
    pub bandwidth_bytes_per_second: Option<u32>,
    /// How many bytes may wait for the line, the datagram being sent among them; what comes on top
    /// is dropped. Means nothing without a bandwidth.
    pub queue_bytes_max: u32,
    /// How many bytes the headers below add to each datagram, on the line and in its queue.
    pub overhead_bytes: u32,
    /// The largest datagram that passes, its headers not counted; larger ones vanish.
    pub mtu_bytes: usize,
}

/// How much the delay varies from datagram to datagram.
#[derive(Clone, Debug, PartialEq)]
pub enum Jitter {
    /// Not at all.
    None,
    /// Up to `width` more, each as likely.
    Uniform {
        /// The most that is added.
        width: Span,
    },
    /// More or less, normally distributed around the delay; never so much less that a datagram
    /// arrives before it was sent.
    Normal {
        /// The standard deviation.
        deviation: Span,
    },
    /// Mostly little more and seldom much more: a Pareto distribution that begins at zero, whose
    /// mean is `scale / (shape - 1)` before the cap.
    Pareto {
        /// The unit of length.
        scale: Span,
        /// How fast long delays grow rare; the smaller the wilder.
        shape: f64,
        /// The most that is added.
        cap: Span,
    },
    /// What was measured somewhere, delay by delay, over and over.
    Trace(Trace),
}

/// Which datagrams vanish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each with the same probability.
    Random {
        /// The share that vanishes.
        probability: f64,
    },
    /// In bursts, after Gilbert and Elliott: the line is good or bad, and may change with each
    /// datagram before that datagram's fate is decided. It begins good.
    Burst {
        /// The probability that a good line turns bad.
        enter: f64,
        /// The probability that a bad line turns good; its inverse is a burst's mean length.
        leave: f64,
        /// The share that vanishes while the line is good.
        loss_good: f64,
        /// The share that vanishes while the line is bad.
        loss_bad: f64,
    },
}

/// Delays measured somewhere, for [`Jitter::Trace`]. A clone shares the list.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace(Arc<[Span]>);

/// A field of [`Conditions`] that no line can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impossible {
    /// The field, with its variant's field after a dot.
    pub field: &'static str,
    /// Its value, spans in milliseconds.
    pub value: f64,
    /// What is wrong with it.
    pub why: &'static str,
}

/// What is wrong with the text of a trace, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The line, the first being 1; for a trace without delays its last.
    pub line: usize,
    /// What is wrong.
    pub problem: TraceProblem,
}

/// What can be wrong with the text of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceProblem {
    /// A line is no number.
    NotANumber,
    /// A delay is negative.
    Negative,
    /// A delay is longer than [`DELAY_MAX`].
    TooLong,
    /// There are more delays than [`TRACE_DELAYS_MAX`].
    TooMany,
    /// There is no delay at all.
    Empty,
}

impl Conditions {
    /// A line that passes everything at once, unharmed.
    pub const PERFECT: Self = Self {
        delay: Span::ZERO,
        jitter: Jitter::None,
        keep_order: true,
        loss: Loss::None,
        duplicate: 0.0,
        reorder: 0.0,
        reorder_by: Span::ZERO,
        bit_flip: 0.0,
        truncate: 0.0,
        bandwidth_bytes_per_second: None,
        queue_bytes_max: 64 * 1024,
        overhead_bytes: 0,
        mtu_bytes: DATAGRAM_BYTES_MAX,
    };

    /// Whether a line can be so; if not, the first field that it cannot have.
    pub fn check(&self) -> Result<(), Impossible> {
        check_span("delay", self.delay)?;
        self.jitter.check()?;
        self.loss.check()?;
        check_probability("duplicate", self.duplicate)?;
        check_probability("reorder", self.reorder)?;
        check_span("reorder_by", self.reorder_by)?;
        check_probability("bit_flip", self.bit_flip)?;
        check_probability("truncate", self.truncate)?;
        if self.bandwidth_bytes_per_second == Some(0) {
            let why = "a line that sends nothing is cut, not slow";
            return Err(Impossible { field: "bandwidth_bytes_per_second", value: 0.0, why });
        }
        if self.overhead_bytes as usize > DATAGRAM_BYTES_MAX {
            let value = f64::from(self.overhead_bytes);
            let why = "headers are smaller than the largest datagram";
            return Err(Impossible { field: "overhead_bytes", value, why });
        }
        if self.mtu_bytes > DATAGRAM_BYTES_MAX {
            let value = self.mtu_bytes as f64;
            return Err(Impossible { field: "mtu_bytes", value, why: "no datagram is so large" });
        }
        Ok(())
    }
}

impl Default for Conditions {
    /// [`Conditions::PERFECT`].
    fn default() -> Self {
        Self::PERFECT
    }
}

impl Jitter {
    fn check(&self) -> Result<(), Impossible> {
        match self {
            Self::None | Self::Trace(_) => Ok(()),
            Self::Uniform { width } => check_span("jitter.width", *width),
            Self::Normal { deviation } => check_span("jitter.deviation", *deviation),
            Self::Pareto { scale, shape, cap } => {
                check_span("jitter.scale", *scale)?;
                check_span("jitter.cap", *cap)?;
                if *shape > 0.0 && shape.is_finite() {
                    return Ok(());
                }
                let why = "a shape is a number above 0";
                Err(Impossible { field: "jitter.shape", value: *shape, why })
            }
        }
    }
}

impl Loss {
    /// The share of datagrams that vanishes in the long run.
    ///
    /// ```
    /// use sametick::network::Loss;
    /// let burst = Loss::Burst { enter: 0.01, leave: 0.19, loss_good: 0.0, loss_bad: 0.4 };
    /// assert!((burst.mean() - 0.02).abs() < 1e-12);
    /// ```
    pub fn mean(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Random { probability } => probability,
            // A line that never turns bad stays as it began.
            Self::Burst { enter: 0.0, loss_good, .. } => loss_good,
            Self::Burst { enter, leave, loss_good, loss_bad } => {
                (leave * loss_good + enter * loss_bad) / (enter + leave)
            }
        }
    }

    fn check(&self) -> Result<(), Impossible> {
        match *self {
            Self::None => Ok(()),
            Self::Random { probability } => check_probability("loss.probability", probability),
            Self::Burst { enter, leave, loss_good, loss_bad } => {
                check_probability("loss.enter", enter)?;
                check_probability("loss.leave", leave)?;
                check_probability("loss.loss_good", loss_good)?;
                check_probability("loss.loss_bad", loss_bad)
            }
        }
    }
}

fn check_span(field: &'static str, span: Span) -> Result<(), Impossible> {
    if span <= DELAY_MAX {
        return Ok(());
    }
    Err(Impossible { field, value: span.as_millis_f64(), why: "an hour is the longest there is" })
}

fn check_probability(field: &'static str, value: f64) -> Result<(), Impossible> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Impossible { field, value, why: "a probability lies between 0 and 1" })
}

impl Trace {
    /// Reads delays in milliseconds, one a line. Empty lines and what follows a `#` mean nothing.
    ///
    /// ```
    /// use sametick::Span;
    /// use sametick::network::Trace;
    /// let trace = Trace::parse("# evening, kitchen\n12.5\n80 # the neighbour's film\n").unwrap();
    /// assert_eq!(trace.delays(), [Span::micros(12_500), Span::millis(80)]);
    /// let error = Trace::parse("12\nfast\n").unwrap_err();
    /// assert_eq!(error.to_string(), "line 2: not a number of milliseconds");
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut delays = Vec::new();
        let mut line = 1;
        for (index, text) in text.lines().enumerate() {
            line = index + 1;
            let text = text.split('#').next().unwrap_or("").trim();
            if text.is_empty() {
                continue;
            }
            if delays.len() == TRACE_DELAYS_MAX {
                return Err(TraceError { line, problem: TraceProblem::TooMany });
            }
            delays.push(parse_delay(text).map_err(|problem| TraceError { line, problem })?);
        }
        if delays.is_empty() {
            return Err(TraceError { line, problem: TraceProblem::Empty });
        }
        Ok(Self(delays.into()))
    }

    /// The delays in the order of the text; at least one.
    pub fn delays(&self) -> &[Span] {
        &self.0
    }
}

fn parse_delay(text: &str) -> Result<Span, TraceProblem> {
    let millis: f64 = text.parse().map_err(|_| TraceProblem::NotANumber)?;
    if millis.is_nan() {
        Err(TraceProblem::NotANumber)
    } else if millis < 0.0 {
        Err(TraceProblem::Negative)
    } else if millis > DELAY_MAX.as_millis_f64() {
        Err(TraceProblem::TooLong)
    } else {
        Ok(Span::from_millis_f64(millis))
    }
}

impl fmt::Debug for Trace {
    // A test that prints its conditions should not print a million delays.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} delays, the first {})", self.0.len(), self.0[0])
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}: {}", self.field, self.value, self.why)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            TraceProblem::NotANumber => "not a number of milliseconds",
            TraceProblem::Negative => "a delay is not negative",
            TraceProblem::TooLong => "an hour is the longest delay there is",
            TraceProblem::TooMany => "the trace is too long",
            TraceProblem::Empty => "the trace has no delay",
        };
        write!(f, "line {}: {problem}", self.line)
    }
}

impl std::error::Error for Impossible {}
impl std::error::Error for TraceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_line_can_have_is_named() {
        let perfect = || Conditions::PERFECT;
        let loss = |loss| Conditions { loss, ..perfect() };
        let jitter = |jitter| Conditions { jitter, ..perfect() };
        let long = DELAY_MAX + Span::micros(1);
        let burst = Loss::Burst { enter: 0.1, leave: 1.1, loss_good: 0.0, loss_bad: 1.0 };
        let pareto = Jitter::Pareto { scale: Span::millis(1), shape: 0.0, cap: DELAY_MAX };
        for (field, conditions) in [
            ("delay", Conditions { delay: long, ..perfect() }),
            ("jitter.width", jitter(Jitter::Uniform { width: long })),
            ("jitter.deviation", jitter(Jitter::Normal { deviation: long })),
            ("jitter.shape", jitter(pareto)),
            ("loss.probability", loss(Loss::Random { probability: -0.1 })),
            ("loss.probability", loss(Loss::Random { probability: f64::NAN })),
            ("loss.leave", loss(burst)),
            ("duplicate", Conditions { duplicate: 2.0, ..perfect() }),
            ("reorder", Conditions { reorder: 2.0, ..perfect() }),
            ("reorder_by", Conditions { reorder_by: long, ..perfect() }),
            ("bit_flip", Conditions { bit_flip: 2.0, ..perfect() }),
            ("truncate", Conditions { truncate: 2.0, ..perfect() }),
            (
                "bandwidth_bytes_per_second",
                Conditions { bandwidth_bytes_per_second: Some(0), ..perfect() },
            ),
            ("overhead_bytes", Conditions { overhead_bytes: 1 << 20, ..perfect() }),
            ("mtu_bytes", Conditions { mtu_bytes: 1 << 20, ..perfect() }),
        ] {
            assert_eq!(conditions.check().unwrap_err().field, field);
        }
        assert_eq!(perfect().check(), Ok(()));
    }

    #[test]
    fn a_bad_trace_is_refused_with_its_line() {
        for (text, line, problem) in [
            ("", 1, TraceProblem::Empty),
            ("# nothing\n\n", 2, TraceProblem::Empty),
            ("1\n\n2,5", 3, TraceProblem::NotANumber),
            ("NaN", 1, TraceProblem::NotANumber),
            ("1\n-1", 2, TraceProblem::Negative),
            ("inf", 1, TraceProblem::TooLong),
            ("3600000.1", 1, TraceProblem::TooLong),
        ] {
            assert_eq!(Trace::parse(text), Err(TraceError { line, problem }), "{text}");
        }
        let long = "1\n".repeat(TRACE_DELAYS_MAX + 1);
        let line = TRACE_DELAYS_MAX + 1;
        let expected = Err(TraceError { line, problem: TraceProblem::TooMany });
        assert_eq!(Trace::parse(&long), expected);
    }
}
