//! The sending half of one end of a simulated stream: what goes when, and when again. After RFC
//! 5681, 6298 and 6582; puts nothing in order.

use std::collections::VecDeque;

use super::segment::SEGMENT_BYTES;
use crate::core::time::{Span, Time};

/// The most bytes that wait at one end of a stream to be sent or acknowledged.
pub const STREAM_SEND_BYTES_MAX: usize = 256 * 1024;
/// The shortest retransmission time-out.
pub const TIMEOUT_MIN: Span = Span::millis(200);
/// The longest retransmission time-out.
pub const TIMEOUT_MAX: Span = Span::seconds(60);
/// After so many time-outs in a row the stream is broken.
pub const TIMEOUTS_MAX: u32 = 12;

/// The time-out before the first round trip was measured.
const TIMEOUT_INITIAL: Span = Span::seconds(1);
const SEGMENT: u64 = SEGMENT_BYTES as u64;
const WINDOW_INITIAL_BYTES: u64 = 10 * SEGMENT;
/// So many acknowledgements of the same place mean that the segment there was lost.
const DUPLICATES_MAX: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// What was not acknowledged yet.
    bytes: VecDeque<u8>,
    /// How many bytes were ever written.
    written: u64,
    is_closing: bool,
    /// The first place that was not acknowledged.
    acknowledged: u64,
    /// The next place to send.
    next: u64,
    /// The place after the last that was ever sent.
    highest: u64,
    /// How many bytes the network seems to bear.
    window_bytes: u64,
    /// Below this window growth is fast, above it is slow.
    threshold_bytes: u64,
    /// How many bytes the other end takes.
    peer_window_bytes: u64,
    duplicates: u32,
    /// While a loss is repaired, and after a time-out: what had been sent when it was noticed.
    recover: u64,
    is_recovering: bool,
    must_resend_first: bool,
    must_probe: bool,
    timer: Option<Time>,
    timeouts_in_a_row: u32,
    round_trip: RoundTrip,
    /// A place whose acknowledgement measures the round trip, and when it was sent.
    timed: Option<(u64, Time)>,
    counts: Counts,
}

/// How often the sender had to help itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) resent: u64,
    pub(super) timeouts: u64,
    pub(super) fast_resends: u64,
}

/// A part of the stream to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) sequence: u64,
    pub(super) bytes: usize,
    pub(super) is_last: bool,
}

impl Sender {
    pub(super) fn new() -> Self {
        Self {
            bytes: VecDeque::new(),
            written: 0,
            is_closing: false,
            acknowledged: 0,
            next: 0,
            highest: 0,
            window_bytes: WINDOW_INITIAL_BYTES,
            threshold_bytes: u64::MAX,
            peer_window_bytes: WINDOW_INITIAL_BYTES,
            duplicates: 0,
            recover: 0,
            is_recovering: false,
            must_resend_first: false,
            must_probe: false,
            timer: None,
            timeouts_in_a_row: 0,
            round_trip: RoundTrip::default(),
            timed: None,
            counts: Counts::default(),
        }
    }

    /// Takes as many bytes as there is room for, and says how many.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let room = STREAM_SEND_BYTES_MAX - self.bytes.len();
        let taken = if self.is_closing || self.is_broken() { 0 } else { room.min(bytes.len()) };
        self.bytes.extend(&bytes[..taken]);
        self.written += taken as u64;
        taken
    }

    pub(super) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Whether the stream was closed and everything has arrived.
    pub(super) fn is_delivered(&self) -> bool {
        self.is_closing && self.acknowledged > self.written
    }

    pub(super) fn is_broken(&self) -> bool {
        self.timeouts_in_a_row > TIMEOUTS_MAX
    }

    pub(super) fn timer(&self) -> Option<Time> {
        self.timer
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn round_trip(&self) -> Option<Span> {
        self.round_trip.smoothed
    }

    /// The bytes of a piece, in the two parts in which they are held.
    pub(super) fn data(&self, piece: &Piece) -> (&[u8], &[u8]) {
        let begin = (piece.sequence - self.acknowledged) as usize;
        let end = begin + piece.bytes;
        let (front, back) = self.bytes.as_slices();
        let split = front.len();
        (
            &front[begin.min(split)..end.min(split)],
            &back[begin.saturating_sub(split)..end.saturating_sub(split)],
        )
    }

    /// What must be sent now, if anything.
    pub(super) fn next_piece(&mut self, now: Time) -> Option<Piece> {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.time_out();
        }
        if self.is_broken() {
            return None;
        }
        let is_probe = std::mem::take(&mut self.must_probe);
        let piece = if is_probe {
            // A byte that the other end has no room for. It counts as sent only in so far as its
            // acknowledgement is believed, should there be room after all.
            self.highest = self.highest.max(self.acknowledged + 1);
            Some(Piece { sequence: self.acknowledged, bytes: 1, is_last: false })
        } else if std::mem::take(&mut self.must_resend_first) {
            Some(self.first_again())
        } else {
            self.next_new()
        };
        if let Some(piece) = piece.as_ref().filter(|_| !is_probe) {
            self.note_sent(now, piece);
        }
        let is_waiting = self.next > self.acknowledged || self.next < self.written;
        if is_waiting && self.timer.is_none() {
            self.timer = Some(now + self.timeout());
        }
        piece
    }

    /// Takes an acknowledgement of everything before a place.
    pub(super) fn acknowledge(&mut self, now: Time, place: u64, window: u32, with_data: bool) {
        if place > self.highest || place < self.acknowledged {
            return;
        }
        let had_window_bytes = self.peer_window_bytes;
        self.peer_window_bytes = u64::from(window);
        if place > self.acknowledged {
            self.move_on(now, place);
        } else if self.peer_window_bytes != had_window_bytes {
            // Not a loss but a reader who made room. Probing is over.
            if self.next == self.acknowledged {
                (self.timer, self.timeouts_in_a_row) = (None, 0);
            }
        } else if !with_data && self.next > self.acknowledged {
            self.note_duplicate();
        }
    }

    /// The first segment that was not acknowledged, as far as it was ever sent.
    fn first_again(&self) -> Piece {
        let bytes = self.highest.min(self.written).saturating_sub(self.acknowledged).min(SEGMENT);
        let ends = self.acknowledged + bytes == self.written;
        let is_last = ends && self.is_closing && self.highest > self.written;
        Piece { sequence: self.acknowledged, bytes: bytes as usize, is_last }
    }

    /// The next segment, if the windows let it go.
    fn next_new(&self) -> Option<Piece> {
        let window_bytes = self.window_bytes.min(self.peer_window_bytes);
        let space = (self.acknowledged + window_bytes).saturating_sub(self.next);
        let rest = self.written.saturating_sub(self.next);
        let bytes = rest.min(space).min(SEGMENT);
        let is_last = self.is_closing && bytes == rest && self.next <= self.written;
        // A sliver goes only if it is all there is or nothing else would call for the next one.
        let is_worth_it = bytes == rest || bytes == SEGMENT || self.next == self.acknowledged;
        let is_sent = is_last || bytes > 0 && is_worth_it;
        is_sent.then_some(Piece { sequence: self.next, bytes: bytes as usize, is_last })
    }

    fn note_sent(&mut self, now: Time, piece: &Piece) {
        let end = piece.sequence + piece.bytes as u64 + u64::from(piece.is_last);
        if piece.sequence < self.highest {
            self.counts.resent += 1;
            // After Karn: an acknowledgement of what was sent twice measures nothing.
            self.timed = None;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        self.highest = self.highest.max(end);
        if piece.sequence == self.next {
            self.next = end;
        }
    }

    fn time_out(&mut self) {
        self.timer = None;
        self.timed = None;
        if self.peer_window_bytes == 0 && self.next == self.acknowledged {
            // The other end is slow, not gone: ask again, ever more seldom, and never give up.
            self.timeouts_in_a_row = (self.timeouts_in_a_row + 1).min(TIMEOUTS_MAX);
            self.must_probe = true;
            return;
        }
        if self.timeouts_in_a_row == 0 {
            self.halve_threshold();
        }
        self.counts.timeouts += 1;
        self.timeouts_in_a_row += 1;
        self.window_bytes = SEGMENT;
        // Whatever was sent after the lost segment is taken for lost as well.
        self.next = self.acknowledged;
        self.recover = self.highest;
        self.is_recovering = false;
        self.must_resend_first = false;
        self.duplicates = 0;
    }

    fn move_on(&mut self, now: Time, place: u64) {
        let moved = place - self.acknowledged;
        self.bytes.drain(..self.bytes.len().min(moved as usize));
        self.acknowledged = place;
        self.next = self.next.max(place);
        if let Some((timed, sent)) = self.timed
            && place >= timed
        {
            self.round_trip.measure(now - sent);
            self.timed = None;
        }
        self.timeouts_in_a_row = 0;
        self.duplicates = 0;
        self.must_probe = false;
        if self.is_recovering && place >= self.recover {
            self.is_recovering = false;
            self.must_resend_first = false;
            self.window_bytes = self.threshold_bytes;
        } else if self.is_recovering {
            // Another segment of the same window was lost: the one that is first now.
            self.must_resend_first = true;
            self.window_bytes = self.window_bytes.saturating_sub(moved).max(SEGMENT) + SEGMENT;
        } else {
            self.grow(moved);
        }
        let is_waiting = self.next > self.acknowledged;
        self.timer = is_waiting.then(|| now + self.timeout());
    }

    fn grow(&mut self, moved: u64) {
        let more = if self.window_bytes < self.threshold_bytes {
            moved.min(SEGMENT)
        } else {
            (SEGMENT * SEGMENT / self.window_bytes).max(1)
        };
        self.window_bytes = (self.window_bytes + more).min(STREAM_SEND_BYTES_MAX as u64);
    }

    fn note_duplicate(&mut self) {
        self.duplicates += 1;
        if self.is_recovering {
            // Each duplicate says that another segment has left the network.
            self.window_bytes = (self.window_bytes + SEGMENT).min(STREAM_SEND_BYTES_MAX as u64);
        } else if self.duplicates == DUPLICATES_MAX && self.acknowledged >= self.recover {
            self.halve_threshold();
            self.window_bytes = self.threshold_bytes + u64::from(DUPLICATES_MAX) * SEGMENT;
            self.recover = self.highest;
            self.is_recovering = true;
            self.must_resend_first = true;
            self.counts.fast_resends += 1;
        }
    }

    fn halve_threshold(&mut self) {
        self.threshold_bytes = ((self.next - self.acknowledged) / 2).max(2 * SEGMENT);
    }

    /// How long to wait for an acknowledgement: twice as long after each time-out in a row.
    fn timeout(&self) -> Span {
        (self.round_trip.timeout() * (1 << self.timeouts_in_a_row.min(TIMEOUTS_MAX)))
            .min(TIMEOUT_MAX)
    }
}

/// The round trip as measured, smoothed as RFC 6298 does.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    smoothed: Option<Span>,
    variation: Span,
}

impl RoundTrip {
    fn measure(&mut self, measured: Span) {
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.variation) = (Some(measured), measured / 2);
            return;
        };
        let off = (measured - smoothed) + (smoothed - measured);
        self.variation = (self.variation * 3 + off) / 4;
        self.smoothed = Some((smoothed * 7 + measured) / 8);
    }

    fn timeout(&self) -> Span {
        let Some(smoothed) = self.smoothed else { return TIMEOUT_INITIAL };
        (smoothed + self.variation * 4).clamp(TIMEOUT_MIN, TIMEOUT_MAX)
    }
}
