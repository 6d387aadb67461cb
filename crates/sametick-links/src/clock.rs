//! The clock of this machine as the library's [`Time`]. The only place that reads one.

use sametick::Time;

#[cfg(not(target_arch = "wasm32"))]
type Instant = std::time::Instant;
/// Milliseconds since the page began.
#[cfg(target_arch = "wasm32")]
type Instant = f64;

/// Counts from its own start, never backwards. A copy counts from the same start.
///
/// ```
/// use sametick_links::Clock;
/// let clock = Clock::start();
/// let (earlier, later) = (clock.now(), clock.now());
/// assert!(earlier <= later);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

#[cfg(not(target_arch = "wasm32"))]
impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// How much time has passed since the start.
    pub fn now(&self) -> Time {
        let micros = self.start.elapsed().as_micros();
        Time::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

#[cfg(target_arch = "wasm32")]
impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { start: crate::browser::now_millis() }
    }

    /// How much time has passed since the start.
    pub fn now(&self) -> Time {
        Time::from_micros(((crate::browser::now_millis() - self.start) * 1e3) as u64)
    }
}
