//! What a connection counts and measures.

use super::acknowledge::RoundTrip;

/// Counts since the connection began, and what was measured last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// How long a round trip takes.
    pub round_trip: RoundTrip,
    /// What may be sent at present, everything included.
    pub rate_bytes_per_second: u32,
    /// Packets sent, with or without a payload.
    pub packets_sent: u64,
    /// Those of them that the other end was to acknowledge, and did.
    pub packets_delivered: u64,
    /// And did not.
    pub packets_lost: u64,
    /// Packets of ours that the other end says to have, counted when it can have nothing more to say of them.
    pub packets_told_arrived: u64,
    /// And says not to have, whatever was lost of what it said.
    pub packets_told_missing: u64,
    /// Packets that came, whatever became of them: the sum of `packets_taken` and the drops of packets.
    pub packets_received: u64,
    /// Packets that came and were in order.
    pub packets_taken: u64,
    /// Packets the other end has sent so far, as far as their numbers tell.
    pub packets_expected: u64,
    /// Bytes sent, with what the layers below add.
    pub bytes_sent: u64,
    /// Of these, unreliable messages.
    pub bytes_sent_unreliable: u64,
    /// Of these, reliable messages, repeated ones as often as they were sent.
    pub bytes_sent_reliable: u64,
    /// Bytes received, with what the layers below add.
    pub bytes_received: u64,
    /// What was not taken, and why.
    pub drops: Drops,
}

/// What was not taken, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Packets that nobody who follows the protocol sends.
    pub packets_malformed: u64,
    /// Packets that acknowledge what was never sent.
    pub packets_impossible: u64,
    /// Packets that came when the connection was over.
    pub packets_closed: u64,
    /// Reliable fragments that had come before, or too early.
    pub reliable_repeated: u64,
    /// Unreliable messages overtaken by newer ones, or held too long for a reliable one.
    pub unreliable_late: u64,
}

impl Statistics {
    /// The share of our packets that were lost, in per cent.
    pub fn loss_out_percent(&self) -> f64 {
        percent(self.packets_lost, self.packets_lost + self.packets_delivered)
    }

    /// The share of the other end's packets that never came, in per cent. One number in a thousand is
    /// left out on purpose, so a tenth of a per cent may be nothing.
    pub fn loss_in_percent(&self) -> f64 {
        let missing = self.packets_expected.saturating_sub(self.packets_taken);
        percent(missing, self.packets_expected)
    }

    /// Whether every packet that came is accounted for.
    pub fn adds_up(&self) -> bool {
        let Drops { packets_malformed, packets_impossible, packets_closed, .. } = self.drops;
        self.packets_received
            == self.packets_taken + packets_malformed + packets_impossible + packets_closed
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}
