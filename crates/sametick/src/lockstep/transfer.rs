//! Something long in pieces, each sent until it is there: a world for who joins, or for comparing.

use super::{BLOB_BYTES_MAX, PIECE_BYTES_MAX};
use crate::core::time::{Span, Time};
use std::collections::BTreeMap;

/// How many pieces may be under way: at first, at least and at most. More for all that arrive, a little less when one
/// seems lost, which may only be late, and half as many when nothing comes: a narrow line has a game to carry, too.
const WINDOW_FIRST: usize = 8;
const WINDOW_MIN: usize = 4;
const WINDOW_MAX: usize = 64;

/// A piece is sent anew no sooner than after this, whatever the line.
pub(super) const RESEND_MIN: Span = Span::millis(150);

/// After so many words that pieces came, but not the next one, that one is lost.
const REPEATS: u32 = 3;

/// The sending end.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) id: u8,
    bytes: Vec<u8>,
    /// How many of the first pieces have arrived, and which are sent next.
    taken: usize,
    next: usize,
    window: usize,
    /// How often we were told of `taken` since it grew.
    repeats: u32,
    /// The next one that is missing is to be sent anew.
    is_missed: bool,
    /// What was sent before the last loss was noticed. Of that each piece that turns out to be the next one missing is
    /// lost, too: it is sent anew at once, and not only when that was noticed for itself.
    doubted: usize,
    sent_at: Time,
}

impl Outgoing {
    pub(super) fn new(id: u8, bytes: Vec<u8>, now: Time) -> Self {
        let (taken, next, window, repeats) = (0, 0, WINDOW_FIRST, 0);
        let (is_missed, doubted) = (false, 0);
        Self { id, bytes, taken, next, window, repeats, is_missed, doubted, sent_at: now }
    }

    fn count(&self) -> usize {
        self.bytes.len().div_ceil(PIECE_BYTES_MAX).max(1)
    }

    pub(super) fn is_done(&self) -> bool {
        self.taken >= self.count()
    }

    /// So many of the first pieces have arrived; says whether these are more than before.
    pub(super) fn hear(&mut self, now: Time, count: u16) -> bool {
        let count = usize::from(count).min(self.next);
        if count <= self.taken {
            self.repeats += u32::from(count == self.taken);
            if self.repeats == REPEATS {
                (self.is_missed, self.doubted) = (true, self.next);
                self.window = (self.window - self.window / 8).max(WINDOW_MIN);
            }
            return false;
        }
        self.window = (self.window + (count - self.taken).div_ceil(2)).min(WINDOW_MAX);
        (self.taken, self.repeats, self.sent_at) = (count, 0, now);
        self.is_missed = count < self.doubted;
        true
    }

    /// The next piece that is due: its index, how many there are, and itself. What has not arrived after `resend` is
    /// taken for lost.
    pub(super) fn next(&mut self, now: Time, resend: Span) -> Option<(u16, u16, &[u8])> {
        if self.is_done() {
            return None;
        }
        if now - self.sent_at >= resend && self.next > self.taken {
            (self.sent_at, self.is_missed, self.repeats) = (now, true, 0);
            self.doubted = self.next;
            self.window = (self.window / 2).max(WINDOW_MIN);
        }
        let index = if self.is_missed { self.taken } else { self.next };
        if index >= self.count() || index >= self.taken + self.window {
            return None;
        }
        self.next = self.next.max(index + 1);
        self.is_missed = false;
        let (start, count) = (index * PIECE_BYTES_MAX, self.count());
        let end = (start + PIECE_BYTES_MAX).min(self.bytes.len());
        Some((index as u16, count as u16, &self.bytes[start..end]))
    }
}

/// The receiving end.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming {
    id: Option<u8>,
    bytes: Vec<u8>,
    /// What came before its turn.
    early: BTreeMap<u16, Vec<u8>>,
    taken: u16,
    is_told: bool,
}

impl Incoming {
    /// Takes a piece; the whole when it is the last, once. Also says which have come.
    pub(super) fn take(
        &mut self,
        (id, index, count): (u8, u16, u16),
        bytes: &[u8],
    ) -> (u16, Option<Vec<u8>>) {
        if self.id != Some(id) {
            *self = Self { id: Some(id), ..Self::default() };
        }
        // Pieces but the last are full, so their number bounds what is kept.
        let is_whole = bytes.len() == PIECE_BYTES_MAX || index + 1 == count;
        let is_near = (self.taken..self.taken.saturating_add(WINDOW_MAX as u16)).contains(&index);
        if is_whole && is_near && !self.is_told {
            self.early.insert(index, bytes.to_vec());
        }
        while let Some(bytes) = self.early.remove(&self.taken) {
            if self.bytes.len() + bytes.len() > BLOB_BYTES_MAX {
                break;
            }
            self.bytes.extend_from_slice(&bytes);
            self.taken += 1;
        }
        if self.taken == count && !self.is_told {
            self.is_told = true;
            self.early.clear();
            return (self.taken, Some(std::mem::take(&mut self.bytes)));
        }
        (self.taken, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends so many bytes over a line that takes so long each way and loses every so many pieces.
    fn takes(bytes: usize, way: Span, loses_every: usize) -> Span {
        takes_with(bytes, way, |sent| sent.is_multiple_of(loses_every))
    }

    /// The same over a line that loses those of the pieces sent that it is said to.
    fn takes_with(bytes: usize, way: Span, loses: impl Fn(usize) -> bool) -> Span {
        let whole: Vec<u8> = (0..bytes).map(|i| (i / 7) as u8).collect();
        let mut now = Time::ZERO;
        let (mut near, mut far) = (Outgoing::new(3, whole.clone(), now), Incoming::default());
        let (mut there, mut back, mut sent) = (Vec::new(), Vec::new(), 0);
        loop {
            assert!(now < Time::from_seconds(600), "it does not end");
            while let Some((index, count, bytes)) = near.next(now, RESEND_MIN.max(way * 3)) {
                sent += 1;
                if !loses(sent) {
                    there.push((now + way, index, count, bytes.to_vec()));
                }
            }
            for (_, index, count, bytes) in there.extract_if(.., |piece| piece.0 <= now) {
                let (taken, all) = far.take((3, index, count), &bytes);
                back.push((now + way, taken));
                if let Some(all) = all {
                    assert!(all == whole, "what came is not what was sent");
                    return now - Time::ZERO;
                }
            }
            for (_, taken) in back.extract_if(.., |word| word.0 <= now) {
                near.hear(now, taken);
            }
            now += Span::millis(4);
        }
    }

    #[test]
    fn what_is_lost_on_the_way_comes_in_the_end() {
        takes(40_000, Span::millis(20), 3);
        takes(0, Span::millis(20), usize::MAX);
        takes(PIECE_BYTES_MAX, Span::millis(20), usize::MAX);
    }

    #[test]
    fn each_piece_of_a_burst_that_is_lost_costs_one_round_trip() {
        let (way, burst) = (Span::millis(100), 12);
        let whole = takes_with(400_000, way, |_| false);
        let took = takes_with(400_000, way, |sent| (150..150 + burst).contains(&sent));
        let most = whole + way * 2 * (burst as u64 + 2);
        assert!(took <= most, "{took}, without losses {whole}, not {most}");
    }

    #[test]
    fn the_longest_world_is_there_before_the_commands_after_it_are_forgotten() {
        let kept = Span::micros(16_667) * u64::from(super::super::JOINER_TICKS_MAX);
        for (way, loses_every) in [(15, usize::MAX), (50, 50), (100, 20), (150, 50)] {
            let took = takes(BLOB_BYTES_MAX, Span::millis(way), loses_every);
            println!("{way} ms, every {loses_every}th lost: {took}");
            assert!(took < kept * 3 / 4, "{way} ms, every {loses_every}th lost: {took}");
        }
    }
}
