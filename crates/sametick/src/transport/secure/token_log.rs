//! Remembers which tokens were used, in constant memory. Knows ids and time, not what a token says.
//!
//! Two Bloom filters of half a mebibyte each take turns: what is used goes into the younger, both
//! are asked, and every [`LOG_WINDOW_SECONDS`] the older is emptied and becomes the younger. A used
//! token is thus remembered for at least that long, which is longer than it is valid. The log never
//! forgets early: past [`LOG_TOKENS_MAX`] in one window it says that it is full, and the gate lets
//! nobody in before the next. Up to there a token that was never used is refused with a chance of
//! less than 1 in 10,000.
//!
//! **A restart.** A log that starts empty would let each token of before in once more. So a server
//! either keeps the log ([`TokenLog::save`] when it stops, [`TokenLog::load`] when it starts), or
//! refuses every token that was issued before its own start; see [`super::Past`].

use std::fmt;

use super::random::Random;
use super::secret::Secret;
use super::token::TOKEN_LIFETIME_SECONDS_MAX;
use crate::core::time::{Span, Time};

/// How many tokens may be used in one window.
pub const LOG_TOKENS_MAX: u32 = 200_000;
/// By how much the clocks of a backend and a server may differ.
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 60;
/// How long a used token is remembered at least.
pub const LOG_WINDOW_SECONDS: u64 = TOKEN_LIFETIME_SECONDS_MAX + CLOCK_SKEW_SECONDS_MAX;

const FILTER_BITS: u32 = 1 << 22;
const FILTER_WORDS: usize = FILTER_BITS as usize / 64;
/// The best number for 21 bits a token: 2 filters refuse wrongly with 2 * 4.2e-5 when full.
const PROBES: usize = 14;
const WINDOW: Span = Span::seconds(LOG_WINDOW_SECONDS);

/// The ids of used tokens.
///
/// ```
/// use sametick::Time;
/// use sametick::secure::{SystemRandom, TokenLog};
///
/// let now = Time::from_micros(0);
/// let mut log = TokenLog::new(now, &mut SystemRandom::new());
/// assert!(!log.contains(b"a token's nonce and tag"));
/// log.insert(b"a token's nonce and tag");
/// assert!(log.contains(b"a token's nonce and tag"));
/// ```
#[derive(Clone)]
pub struct TokenLog {
    /// Nobody outside can make tokens that fill the same bits.
    secret: Secret,
    younger: Vec<u64>,
    older: Vec<u64>,
    younger_tokens: u32,
    rotated_at: Time,
}

impl TokenLog {
    /// An empty log.
    pub fn new(now: Time, random: &mut dyn Random) -> Self {
        Self {
            secret: Secret::generate(random),
            younger: vec![0; FILTER_WORDS],
            older: vec![0; FILTER_WORDS],
            younger_tokens: 0,
            rotated_at: now,
        }
    }

    /// Forgets what was used two windows ago.
    pub fn advance(&mut self, now: Time) {
        if now - self.rotated_at < WINDOW {
            return;
        }
        if now - self.rotated_at >= Span::micros(2 * WINDOW.as_micros()) {
            self.younger.fill(0);
        }
        std::mem::swap(&mut self.younger, &mut self.older);
        self.younger.fill(0);
        self.younger_tokens = 0;
        self.rotated_at = now;
    }

    /// Whether another token can be remembered in this window.
    pub fn is_full(&self) -> bool {
        self.younger_tokens >= LOG_TOKENS_MAX
    }

    /// Whether the token was used, with a small chance of yes if it was not.
    pub fn contains(&self, id: &[u8]) -> bool {
        let probes = self.probes(id);
        let all_in = |filter: &[u64]| probes.iter().all(|bit| filter[word(*bit)] & mask(*bit) != 0);
        all_in(&self.younger) || all_in(&self.older)
    }

    /// Remembers that the token was used. Asserts that the log is not full.
    pub fn insert(&mut self, id: &[u8]) {
        assert!(!self.is_full(), "a full log cannot promise to remember");
        for bit in self.probes(id) {
            self.younger[word(bit)] |= mask(bit);
        }
        self.younger_tokens += 1;
    }

    fn probes(&self, id: &[u8]) -> [u32; PROBES] {
        let mut bytes = [0; PROBES * 4];
        let mut hasher = blake3::Hasher::new_keyed(self.secret.as_bytes());
        hasher.update(id).finalize_xof().fill(&mut bytes);
        let mut probes = [0; PROBES];
        for (probe, bytes) in probes.iter_mut().zip(bytes.as_chunks().0) {
            *probe = u32::from_le_bytes(*bytes) % FILTER_BITS;
        }
        probes
    }

    /// The log as bytes, to be kept while the server is down. They hold the log's secret: keep them
    /// where the token key is kept.
    pub fn save(&self, now: Time) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SAVED_BYTES);
        bytes.extend_from_slice(self.secret.as_bytes());
        bytes.extend_from_slice(&self.younger_tokens.to_le_bytes());
        bytes.extend_from_slice(&(now - self.rotated_at).as_micros().to_le_bytes());
        for word in self.younger.iter().chain(&self.older) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let checksum = blake3::hash(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        bytes
    }

    /// The log that was saved, or nothing if the bytes are damaged. `now` is on the clock of the
    /// new run; how long the server was down does not matter, for the log then remembers longer.
    pub fn load(bytes: &[u8], now: Time) -> Option<Self> {
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        if bytes.len() != SAVED_BYTES || blake3::hash(content) != *checksum {
            return None;
        }
        let (secret, rest) = content.split_first_chunk()?;
        let (tokens, rest) = rest.split_first_chunk()?;
        let (age_micros, rest) = rest.split_first_chunk()?;
        let (younger, older) = rest.split_at(FILTER_WORDS * 8);
        // The clock of this run may be younger than the log: the remainder is then waited again.
        let age_micros = u64::from_le_bytes(*age_micros).min(now.as_micros());
        Some(Self {
            secret: Secret::from_bytes(*secret),
            younger: words(younger),
            older: words(older),
            younger_tokens: u32::from_le_bytes(*tokens),
            rotated_at: Time::from_micros(now.as_micros() - age_micros),
        })
    }
}

impl fmt::Debug for TokenLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TokenLog({} of {LOG_TOKENS_MAX} tokens)", self.younger_tokens)
    }
}

const CHECKSUM_BYTES: usize = 32;
const SAVED_BYTES: usize = 32 + 4 + 8 + 2 * FILTER_WORDS * 8 + CHECKSUM_BYTES;

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

fn word(bit: u32) -> usize {
    bit as usize / 64
}

fn mask(bit: u32) -> u64 {
    1 << (bit % 64)
}

#[cfg(test)]
mod tests {
    use super::super::seeded::Seeded;
    use super::*;

    fn seconds(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn log() -> TokenLog {
        TokenLog::new(seconds(0), &mut Seeded::new(1))
    }

    #[test]
    fn a_million_tokens_are_each_refused_a_second_time_within_a_mebibyte() {
        let mut log = log();
        let (mut wrongly_refused, mut now) = (0, 0);
        for id in 0..1_000_000u64 {
            if log.is_full() {
                now += LOG_WINDOW_SECONDS;
                log.advance(seconds(now));
            }
            let id = id.to_le_bytes();
            wrongly_refused += u32::from(log.contains(&id));
            log.insert(&id);
            assert!(log.contains(&id));
        }
        // All of the present and the last window are still known.
        for id in 600_000..1_000_000u64 {
            assert!(log.contains(&id.to_le_bytes()), "{id}");
        }
        assert!(wrongly_refused < 100, "{wrongly_refused} of a million");
        assert!((log.younger.capacity() + log.older.capacity()) * 8 <= 1 << 20);
    }

    #[test]
    fn even_a_full_log_refuses_wrongly_less_than_once_in_ten_thousand() {
        let mut log = log();
        for window in 0..2 {
            log.advance(seconds(window * LOG_WINDOW_SECONDS));
            for id in 0..u64::from(LOG_TOKENS_MAX) {
                log.insert(&(window << 32 | id).to_le_bytes());
            }
        }
        assert!(log.is_full());
        let wrong = (0..500_000u64).filter(|id| log.contains(&(9 << 32 | id).to_le_bytes()));
        let wrong = wrong.count();
        assert!(wrong < 50 + 20, "{wrong} in half a million, 42 are expected");
    }

    #[test]
    fn a_used_token_is_remembered_for_a_window_and_forgotten_after_two() {
        for used_at in [0, 1, LOG_WINDOW_SECONDS - 1] {
            let mut log = log();
            log.advance(seconds(used_at));
            log.insert(b"token");
            log.advance(seconds(used_at + LOG_WINDOW_SECONDS));
            assert!(log.contains(b"token"), "used at {used_at}");
            log.advance(seconds(used_at + 3 * LOG_WINDOW_SECONDS));
            assert!(!log.contains(b"token"));
        }
        let mut log = log();
        log.insert(b"token");
        log.advance(seconds(2 * LOG_WINDOW_SECONDS));
        assert!(!log.contains(b"token"), "also after a long silence");
    }

    #[test]
    fn a_saved_log_remembers_across_a_restart() {
        let mut log = log();
        log.insert(b"token");
        let saved = log.save(seconds(100));
        let mut loaded = TokenLog::load(&saved, seconds(0)).expect("it was just saved");
        assert!(loaded.contains(b"token") && !loaded.contains(b"other"));
        assert_eq!(loaded.younger_tokens, 1);
        loaded.advance(seconds(LOG_WINDOW_SECONDS));
        assert!(loaded.contains(b"token"));
    }

    #[test]
    fn damaged_bytes_are_no_log() {
        let saved = log().save(seconds(1));
        assert!(TokenLog::load(&[], seconds(0)).is_none());
        assert!(TokenLog::load(&saved[1..], seconds(0)).is_none());
        for at in [0, 33, 40, 1000, saved.len() - 1] {
            let mut damaged = saved.clone();
            damaged[at] ^= 1;
            assert!(TokenLog::load(&damaged, seconds(0)).is_none(), "byte {at}");
        }
    }
}
