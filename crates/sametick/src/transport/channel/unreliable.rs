//! Unreliable messages: sent once, whole or in pieces, handed out in order or not at all.

use super::Event;
use super::compression::Compression;
use super::packet::{BODY_BYTES_MAX, DependsOn, HEAD_BYTES_MAX, PIECES_MAX, Payload, near};
use super::reliable::heap_of;
use crate::core::bits::{BitReader, BitWriter, Malformed};
use std::collections::VecDeque;

/// The longest message that fits one packet.
pub const PAYLOAD_BYTES_MAX: usize = BODY_BYTES_MAX - HEAD_BYTES_MAX;

/// The longest message, in pieces: if one of them is lost, all are.
pub const UNRELIABLE_BYTES_MAX: usize = PIECES_MAX * PAYLOAD_BYTES_MAX;

/// How many messages can wait for a budget; one more, and the oldest is given up.
const OUTBOX_MAX: usize = 8;

/// How many can come at one moment, and how many bytes of them: a snapshot of a thousand players in its parts.
const BURST_MAX: usize = 128;
const BURST_BYTES_MAX: usize = 8 * UNRELIABLE_BYTES_MAX;

/// So many long buffers are kept for the next messages.
const SPARE_LONG_MAX: usize = 8;

/// How many messages in pieces can wait for their verdict.
const PARTIAL_MAX: usize = 8;

/// How many messages wait for a reliable one they depend on; one more, and the oldest is dropped.
const HELD_MAX: usize = 8;

/// Messages on their way out.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<Queued>,
    queue_bytes: usize,
    /// How many of them have waited since an earlier moment.
    passed_over: usize,
    /// Tokens of messages in pieces, how many pieces lack a verdict, and whether any was lost.
    partial: VecDeque<(u32, usize, bool)>,
    given_up: Vec<u32>,
    spare: Vec<Vec<u8>>,
    scratch: Option<BitWriter>,
}

#[derive(Debug)]
struct Queued {
    token: u32,
    /// The reliable fragments before this number come first.
    after: u64,
    bytes: Vec<u8>,
    pieces_sent: usize,
    /// The packet that carried the first piece.
    first: u64,
}

/// The next payload to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) length: usize,
    pub(super) after: u64,
    index: usize,
    count: usize,
    first: u64,
}

impl Next {
    /// What a packet with it takes at most, reliables not counted.
    pub(super) fn body_bytes(self) -> usize {
        HEAD_BYTES_MAX + self.length
    }

    /// What is left of such a packet for reliables.
    pub(super) fn room_bytes(self) -> usize {
        BODY_BYTES_MAX - self.body_bytes()
    }

    pub(super) fn payload(self, number: u64, depends_on: DependsOn) -> Payload {
        let Self { index, count, .. } = self;
        let first = if index == 0 { number } else { self.first } as u16;
        match count {
            1 => Payload::Whole(depends_on),
            _ => Payload::Piece { first, index, count, depends_on },
        }
    }
}

impl Outbox {
    pub(super) fn push(&mut self, token: u32, message: &[u8], after: u64) {
        assert!(message.len() <= UNRELIABLE_BYTES_MAX, "an unreliable message is too long");
        while self.queue.len() >= OUTBOX_MAX && self.passed_over > 0
            || self.queue.len() >= BURST_MAX
            || self.queue_bytes + message.len() > BURST_BYTES_MAX
        {
            let Some(oldest) = self.queue.pop_front() else { break };
            // Pieces already under way count as lost once they are resolved.
            self.given_up.push(oldest.token);
            self.partial.retain(|(token, ..)| *token != oldest.token);
            self.recycle(oldest.bytes);
        }
        self.queue_bytes += message.len();
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(message);
        self.queue.push_back(Queued { token, after, bytes, pieces_sent: 0, first: 0 });
    }

    /// A new moment begins: what waits still gives way to what is newer.
    pub(super) fn pass_over(&mut self) {
        self.passed_over = self.queue.len();
    }

    pub(super) fn peek(&self) -> Option<Next> {
        let queued = self.queue.front()?;
        let count = queued.count();
        let start = queued.pieces_sent * PAYLOAD_BYTES_MAX;
        let length = queued.bytes.len().min(start + PAYLOAD_BYTES_MAX) - start;
        let (after, index, first) = (queued.after, queued.pieces_sent, queued.first);
        Some(Next { length, after, index, count, first })
    }

    /// Writes the next payload behind the packet's reliables; gives its token and in how many pieces
    /// its message comes.
    pub(super) fn write_next(
        &mut self,
        number: u64,
        compression: Compression,
        bits: &mut BitWriter,
    ) -> Option<(u32, usize)> {
        let next = self.peek()?;
        let queued = self.queue.front_mut()?;
        let start = next.index * PAYLOAD_BYTES_MAX;
        let piece = &queued.bytes[start..start + next.length];
        compression.write(bits, piece, &mut self.scratch, 2 * PAYLOAD_BYTES_MAX);
        queued.pieces_sent += 1;
        queued.first = if next.index == 0 { number } else { queued.first };
        let token = queued.token;
        if next.count > 1 && next.index == 0 {
            if self.partial.len() == PARTIAL_MAX {
                self.given_up.extend(self.partial.pop_front().map(|(token, ..)| token));
            }
            self.partial.push_back((token, next.count, false));
        }
        if queued.pieces_sent == next.count
            && let Some(done) = self.queue.pop_front()
        {
            self.recycle(done.bytes);
        }
        Some((token, next.count))
    }

    /// Keeps the memory of a message that has left.
    fn recycle(&mut self, bytes: Vec<u8>) {
        self.passed_over = self.passed_over.saturating_sub(1);
        self.queue_bytes -= bytes.len();
        if bytes.capacity() <= 2 * PAYLOAD_BYTES_MAX || self.spare.len() < SPARE_LONG_MAX {
            self.spare.push(bytes);
        }
    }

    /// Takes in the verdict on a packet with a payload; the message's own, once it is known.
    pub(super) fn resolve(
        &mut self,
        (token, pieces): (u32, usize),
        delivered: bool,
    ) -> Option<Event<'static>> {
        let verdict =
            |delivered| if delivered { Event::Delivered(token) } else { Event::Lost(token) };
        if pieces == 1 {
            return Some(verdict(delivered));
        }
        let index = self.partial.iter().position(|(partial, ..)| *partial == token)?;
        let (_, pieces_left, lost) = &mut self.partial[index];
        *pieces_left -= 1;
        *lost |= !delivered;
        if *pieces_left > 0 {
            return None;
        }
        let lost = *lost;
        self.partial.remove(index);
        Some(verdict(!lost))
    }

    /// Whether any message was given up that nobody was told of.
    pub(super) fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// The tokens of messages that were never sent whole.
    pub(super) fn take_given_up(&mut self) -> impl Iterator<Item = u32> {
        self.given_up.drain(..)
    }

    /// The heap it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let queued: usize = self.queue.iter().map(|queued| queued.bytes.capacity()).sum();
        let lists = self.queue.capacity() * size_of::<Queued>()
            + self.partial.capacity() * size_of::<(u32, usize, bool)>()
            + self.given_up.capacity() * size_of::<u32>();
        let scratch = self.scratch.as_ref().map_or(0, BitWriter::memory_bytes);
        queued + lists + heap_of(&self.spare) + scratch
    }

    /// How many packets, and how many bytes in them, wait to be sent.
    pub(super) fn waiting(&self) -> (usize, usize) {
        self.queue.iter().fold((0, 0), |(packets, bytes), queued| {
            let sent = queued.pieces_sent * PAYLOAD_BYTES_MAX;
            (packets + queued.count() - queued.pieces_sent, bytes + queued.bytes.len() - sent)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Queued {
    fn count(&self) -> usize {
        self.bytes.len().div_ceil(PAYLOAD_BYTES_MAX).max(1)
    }
}

/// Messages coming in.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// The packet number of the newest message handed out, or of its first piece.
    newest: u64,
    partial: Option<Partial>,
    held: VecDeque<Held>,
    scratch: Option<BitWriter>,
}

/// Where a piece belongs: the packet of the first one, its place, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: u64,
    index: usize,
    count: usize,
}

/// A message of which some pieces have come.
#[derive(Debug)]
struct Partial {
    first: u64,
    count: usize,
    come: u16,
    length: usize,
    after: u64,
    bytes: Vec<u8>,
}

/// A message that came before a reliable one it depends on.
#[derive(Debug)]
struct Held {
    number: u64,
    after: u64,
    bytes: Vec<u8>,
}

impl Inbox {
    /// Reads what a packet carries behind its reliables, all fragments before `reliable_end` being
    /// here. Says how many messages were dropped for being late or for want of room.
    pub(super) fn read(
        &mut self,
        bits: &mut BitReader<'_>,
        number: u64,
        payload: Payload,
        reliable_end: u64,
        tell: &mut impl FnMut(Event<'_>),
    ) -> Result<u64, Malformed> {
        let (piece, depends_on) = match payload {
            Payload::None | Payload::Ping => return bits.clone().finish().map(|()| 0),
            Payload::Whole(depends_on) => (None, depends_on),
            Payload::Piece { first, index, count, depends_on } => {
                (Some(Piece { first: near(number, first), index, count }), depends_on)
            }
        };
        let after = depends_on.map_or(0, |low| near(reliable_end, low));
        let mut accept = |inbox: &mut Self, bytes: &[u8]| match piece {
            None => Ok(inbox.accept(number, after, bytes, reliable_end, tell)),
            Some(piece) if piece.first > number => Err(Malformed),
            Some(piece) => inbox.accept_piece(piece, after, bytes, reliable_end, tell),
        };
        if let Some(bytes) = Compression::untouched(bits) {
            return accept(self, bytes);
        }
        // Taken out while it lends the message, and put back.
        let mut scratch =
            self.scratch.take().unwrap_or_else(|| BitWriter::growing(PAYLOAD_BYTES_MAX));
        let dropped = Compression::read(bits, &mut scratch).and_then(|bytes| accept(self, bytes));
        self.scratch = Some(scratch);
        dropped
    }

    /// Hands out what waited for reliable fragments that have come now; says how many were late.
    pub(super) fn release(&mut self, reliable_end: u64, tell: &mut impl FnMut(Event<'_>)) -> u64 {
        let mut dropped = 0;
        while self.held.front().is_some_and(|held| held.after <= reliable_end)
            && let Some(held) = self.held.pop_front()
        {
            dropped += self.accept(held.number, 0, &held.bytes, reliable_end, tell);
        }
        dropped
    }

    /// The heap it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let held: usize = self.held.iter().map(|held| held.bytes.capacity()).sum();
        let partial = self.partial.as_ref().map_or(0, |partial| partial.bytes.capacity());
        let scratch = self.scratch.as_ref().map_or(0, BitWriter::memory_bytes);
        held + self.held.capacity() * size_of::<Held>() + partial + scratch
    }

    fn accept(
        &mut self,
        number: u64,
        after: u64,
        bytes: &[u8],
        reliable_end: u64,
        tell: &mut impl FnMut(Event<'_>),
    ) -> u64 {
        if number <= self.newest {
            return 1;
        }
        if after > reliable_end {
            return self.hold(number, after, bytes);
        }
        self.newest = number;
        tell(Event::Unreliable(bytes));
        0
    }

    fn hold(&mut self, number: u64, after: u64, bytes: &[u8]) -> u64 {
        let place = self.held.partition_point(|held| held.number < number);
        self.held.insert(place, Held { number, after, bytes: bytes.to_vec() });
        if self.held.len() <= HELD_MAX {
            return 0;
        }
        self.held.pop_front();
        1
    }

    /// Keeps the pieces of the newest message only: an older one would come too late anyway.
    fn accept_piece(
        &mut self,
        piece: Piece,
        after: u64,
        bytes: &[u8],
        reliable_end: u64,
        tell: &mut impl FnMut(Event<'_>),
    ) -> Result<u64, Malformed> {
        let Piece { first, index, count } = piece;
        let is_last = index + 1 == count;
        if bytes.is_empty() || !is_last && bytes.len() != PAYLOAD_BYTES_MAX {
            return Err(Malformed);
        }
        let known = self.partial.as_ref().map(|partial| (partial.first, partial.count));
        if first <= self.newest || known.is_some_and(|(newer, _)| newer > first) {
            return Ok(1);
        }
        if known.is_some_and(|(same, other)| same == first && other != count) {
            return Err(Malformed);
        }
        let mut dropped = 0;
        if known != Some((first, count)) {
            dropped += u64::from(known.is_some());
            let bytes = self.partial.take().map_or_else(Vec::new, |partial| partial.bytes);
            self.partial = Some(Partial { first, count, come: 0, length: 0, after, bytes });
        }
        let Some(partial) = &mut self.partial else { return Ok(dropped) };
        partial.come |= 1 << index;
        partial.after = partial.after.max(after);
        partial.bytes.resize(count * PAYLOAD_BYTES_MAX, 0);
        let start = index * PAYLOAD_BYTES_MAX;
        partial.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        if is_last {
            partial.length = start + bytes.len();
        }
        if partial.come.count_ones() as usize == count
            && let Some(whole) = self.partial.take()
        {
            dropped +=
                self.accept(first, whole.after, &whole.bytes[..whole.length], reliable_end, tell);
        }
        Ok(dropped)
    }
}
