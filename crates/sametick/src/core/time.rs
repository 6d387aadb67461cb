//! Moments and spans in whole microseconds. Reads no clock: the caller's own start is zero.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const MICROS_PER_MILLI: u64 = 1_000;
const MICROS_PER_SECOND: u64 = 1_000_000;

/// A moment, in microseconds since the caller's own start.
///
/// Arithmetic stops at both ends instead of wrapping: nothing is before [`Time::ZERO`] or after
/// [`Time::MAX`].
///
/// ```
/// use sametick::{Span, Time};
/// let shot = Time::from_millis(1_500);
/// let hit = shot + Span::millis(40);
/// assert_eq!(hit - shot, Span::millis(40));
/// assert_eq!(shot - hit, Span::ZERO);
/// assert_eq!(hit.to_string(), "1.540000 s");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// How long something takes, in microseconds; never negative.
///
/// ```
/// use sametick::Span;
/// assert_eq!(Span::seconds(1) / 4, Span::millis(250));
/// assert_eq!(Span::micros(1_500).as_millis_f64(), 1.5);
/// assert_eq!(Span::from_millis_f64(-3.0), Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The caller's own start.
    pub const ZERO: Self = Self(0);
    /// The last moment there is, about 584 thousand years on.
    pub const MAX: Self = Self(u64::MAX);

    /// The moment so many microseconds after the start.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The moment so many milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(MICROS_PER_MILLI))
    }

    /// The moment so many seconds after the start.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// Microseconds since the start.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND as f64
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span there is.
    pub const MAX: Self = Self(u64::MAX);

    /// So many microseconds.
    pub const fn micros(micros: u64) -> Self {
        Self(micros)
    }

    /// So many milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(millis.saturating_mul(MICROS_PER_MILLI))
    }

    /// So many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// The nearest span to so many milliseconds; none for what is negative or not a number.
    pub fn from_millis_f64(millis: f64) -> Self {
        Self::from_micros_f64(millis * MICROS_PER_MILLI as f64)
    }

    /// The nearest span to so many microseconds; none for what is negative or not a number.
    pub fn from_micros_f64(micros: f64) -> Self {
        // The cast stops at both ends and takes what is not a number for zero.
        Self(micros.round() as u64)
    }

    /// In microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// In milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_MILLI as f64
    }

    /// In seconds.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;

    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;

    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

/// How long ago the other moment was; no time if it is yet to come.
impl Sub for Time {
    type Output = Span;

    fn sub(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Span;

    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;

    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;

    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Span;

    fn div(self, parts: u64) -> Span {
        Span(self.0 / parts)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0 / MICROS_PER_SECOND, self.0 % MICROS_PER_SECOND)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stops_at_both_ends() {
        assert_eq!(Time::MAX + Span::micros(1), Time::MAX);
        assert_eq!(Time::ZERO - Span::micros(1), Time::ZERO);
        assert_eq!(Time::from_seconds(u64::MAX), Time::MAX);
        assert_eq!(Span::MAX + Span::MAX, Span::MAX);
        assert_eq!(Span::MAX * 2, Span::MAX);
        assert_eq!(Span::ZERO - Span::MAX, Span::ZERO);
    }

    #[test]
    fn fractions_go_to_the_nearest_microsecond() {
        assert_eq!(Span::from_millis_f64(0.0015), Span::micros(2));
        assert_eq!(Span::from_millis_f64(0.0014), Span::micros(1));
        assert_eq!(Span::from_millis_f64(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_millis_f64(f64::INFINITY), Span::MAX);
    }
}
