//! How much a player may ask for and be told: so much at once, then so much a second. Knows no message.

use crate::core::time::Time;
use crate::transport::channel::Statistics;

/// How much may be asked: so much at once, then so much a second.
#[derive(Debug)]
pub(super) struct Bucket {
    micros: u64,
    at: Time,
}

impl Bucket {
    pub(super) fn full(now: Time) -> Self {
        Self { micros: u64::MAX / 2, at: now }
    }

    pub(super) fn takes(&mut self, now: Time, per_second: u32, at_once: u32) -> bool {
        let each = 1_000_000 / u64::from(per_second.max(1));
        let most = each * u64::from(at_once.max(1));
        self.micros = self.micros.saturating_add((now - self.at).as_micros()).min(most);
        self.at = self.at.max(now);
        let fits = self.micros >= each;
        self.micros -= if fits { each } else { 0 };
        fits
    }
}

/// What a player's share of the budget leaves it: time that its bytes have not used up.
#[derive(Debug)]
pub(super) struct Purse {
    micros: i64,
    at: Time,
    sent_bytes: u64,
}

/// What a player does not use up it may use later, but no more than this.
const PURSE_MICROS_MAX: i64 = 1_000_000;
/// A packet that goes out anyway takes news along while no more than this is owed.
const DEBT_MICROS_MAX: i64 = 1_000_000;
/// Nobody waits longer for news than this: what a first telling costs beyond is forgiven.
const OWED_MICROS_MAX: i64 = 5_000_000;
/// What a channel counts for each packet that is not of the budget: the headers of IP and UDP.
const BENEATH_BYTES: u64 = 28;

impl Purse {
    pub(super) fn new(now: Time) -> Self {
        Self { micros: 0, at: now, sent_bytes: 0 }
    }

    /// Whether there is anything in it, after all that was sent up to now has been paid for; `goes_anyway` says that a
    /// packet is due whether or not there is news, so that only the news must be paid for.
    pub(super) fn is_open(
        &mut self,
        now: Time,
        sent: Statistics,
        bytes_per_second: u64,
        goes_anyway: bool,
    ) -> bool {
        let sent_bytes = sent.bytes_sent.saturating_sub(sent.packets_sent * BENEATH_BYTES);
        let spent =
            sent_bytes.saturating_sub(self.sent_bytes) * 1_000_000 / bytes_per_second.max(1);
        let passed = (now - self.at).as_micros();
        let left = self.micros + passed as i64 - spent as i64;
        self.micros = left.clamp(-OWED_MICROS_MAX, PURSE_MICROS_MAX);
        (self.at, self.sent_bytes) = (now, sent_bytes);
        self.micros >= if goes_anyway { -DEBT_MICROS_MAX } else { 0 }
    }
}
