//! Something long in pieces, each sent until it is there: a world for who joins, or for comparing.

use super::{BLOB_BYTES_MAX, PIECE_BYTES_MAX};
use crate::time::{Span, Time};

/// How many pieces may be under way.
const WINDOW_PIECES: usize = 16;
const RESEND: Span = Span::millis(150);

/// The sending end.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) id: u8,
    bytes: Vec<u8>,
    /// How many of the first pieces have arrived, and which are sent next.
    taken: usize,
    next: usize,
    sent_at: Time,
}

impl Outgoing {
    pub(super) fn new(id: u8, bytes: Vec<u8>, now: Time) -> Self {
        Self { id, bytes, taken: 0, next: 0, sent_at: now }
    }

    fn count(&self) -> usize {
        self.bytes.len().div_ceil(PIECE_BYTES_MAX).max(1)
    }

    pub(super) fn is_done(&self) -> bool {
        self.taken >= self.count()
    }

    pub(super) fn hear(&mut self, now: Time, count: u16) {
        if usize::from(count) > self.taken {
            self.taken = usize::from(count).min(self.count());
            self.next = self.next.max(self.taken);
            self.sent_at = now;
        }
    }

    /// The next piece that is due: its index, how many there are, and itself.
    pub(super) fn next(&mut self, now: Time) -> Option<(u16, u16, &[u8])> {
        if self.is_done() {
            return None;
        }
        if now - self.sent_at >= RESEND {
            (self.next, self.sent_at) = (self.taken, now);
        }
        let index = self.next;
        if index >= self.count() || index >= self.taken + WINDOW_PIECES {
            return None;
        }
        self.next += 1;
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
        if index == self.taken && is_whole && self.bytes.len() + bytes.len() <= BLOB_BYTES_MAX {
            self.bytes.extend_from_slice(bytes);
            self.taken += 1;
        }
        if self.taken == count && !self.is_told {
            self.is_told = true;
            return (self.taken, Some(std::mem::take(&mut self.bytes)));
        }
        (self.taken, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_on_the_way_comes_in_the_end() {
        let whole: Vec<u8> = (0..40_000_u32).map(|i| i as u8).collect();
        let mut now = Time::ZERO;
        let (mut near, mut far) = (Outgoing::new(3, whole.clone(), now), Incoming::default());
        let (mut got, mut sent) = (None, 0);
        while got.is_none() {
            now += Span::millis(20);
            while let Some((index, count, bytes)) = near.next(now) {
                let bytes = bytes.to_vec();
                sent += 1;
                if sent % 3 == 0 {
                    continue;
                }
                let (taken, all) = far.take((3, index, count), &bytes);
                near.hear(now, taken);
                got = got.or(all);
            }
        }
        assert_eq!(got, Some(whole));
        assert!(near.is_done());
    }
}
