//! The receiving half of one end of a simulated stream: puts segments in order. Sends nothing.

use std::collections::BTreeMap;

use super::segment::{Header, SEGMENT_BYTES};

/// The most bytes that wait to be read at one end of a stream.
pub const STREAM_RECEIVE_BYTES_MAX: usize = 256 * 1024;
/// The most segments held that came before their turn; others must be sent again.
const HELD_SEGMENTS_MAX: usize = 1_024;

#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// The first place that has not arrived.
    next: u64,
    /// What arrived in order and was not read yet.
    ready: Vec<u8>,
    /// What arrived before its turn, by its place.
    held: BTreeMap<u64, Vec<u8>>,
    /// The place where the stream ends, once that is known.
    end: Option<u64>,
    is_acknowledgement_due: bool,
    /// The window that the other end was told last.
    window_told: u32,
}

impl Receiver {
    /// Takes a segment's data.
    pub(super) fn receive(&mut self, header: &Header, data: &[u8]) {
        if data.is_empty() && !header.is_last {
            return;
        }
        // Whatever it was, even an old segment: the other end may not know what has arrived.
        self.is_acknowledgement_due = true;
        let (begin, end) = (header.sequence, header.sequence.saturating_add(data.len() as u64));
        if header.is_last {
            self.end = Some(end);
        }
        let window_end = self.next + u64::from(self.window());
        if begin > self.next && end <= window_end {
            self.hold(begin, data);
        } else if begin <= self.next && end > self.next {
            let (old, fits) =
                ((self.next - begin) as usize, (window_end.min(end) - begin) as usize);
            self.append(&data[old..fits]);
            self.append_held();
        }
        if self.end == Some(self.next) {
            // The end takes a place of its own, so that it can be acknowledged.
            self.next += 1;
        }
    }

    /// Appends what has arrived in order, and says how many bytes that was.
    pub(super) fn read(&mut self, into: &mut Vec<u8>) -> usize {
        let bytes = self.ready.len();
        into.append(&mut self.ready);
        let segment = SEGMENT_BYTES as u32;
        if self.window_told < segment && self.window() >= 2 * segment {
            self.is_acknowledgement_due = true;
        }
        bytes
    }

    /// Whether the stream has ended and everything was read.
    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.next > end) && self.ready.is_empty()
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn is_acknowledgement_due(&self) -> bool {
        self.is_acknowledgement_due
    }

    /// The window to tell in a segment that is sent now and acknowledges as well.
    pub(super) fn tell_window(&mut self) -> u32 {
        self.is_acknowledgement_due = false;
        self.window_told = self.window();
        self.window_told
    }

    fn window(&self) -> u32 {
        (STREAM_RECEIVE_BYTES_MAX - self.ready.len()) as u32
    }

    fn append(&mut self, data: &[u8]) {
        self.ready.extend_from_slice(data);
        self.next += data.len() as u64;
    }

    fn append_held(&mut self) {
        while let Some(entry) = self.held.first_entry()
            && *entry.key() <= self.next
        {
            let (begin, data) = entry.remove_entry();
            // Segments that were cut anew when sent again may overlap.
            if let Some(fresh) = data.get((self.next - begin) as usize..) {
                self.append(fresh);
            }
        }
    }

    fn hold(&mut self, begin: u64, data: &[u8]) {
        let is_longer = self.held.get(&begin).is_none_or(|held| held.len() < data.len());
        if is_longer && self.held.len() < HELD_SEGMENTS_MAX {
            self.held.insert(begin, data.to_vec());
        }
    }
}
