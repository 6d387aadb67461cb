//! Reliable messages: cut into fragments, numbered, sent until they arrived, put together in order.

use super::packet::{COUNT_BITS, NUMBER_BITS, near};
use crate::core::bits::{BitReader, BitWriter};
use crate::core::mutant::{self, Mutant};
use std::collections::VecDeque;
use std::fmt;

/// The longest reliable message.
pub const RELIABLE_BYTES_MAX: usize = 64 * 1024;

/// How many bytes of reliable messages may wait, each fragment counted as [`FRAGMENT_COST_BYTES`]
/// more than it has; a reader slower than this is cut off by its owner.
pub const RELIABLE_BACKLOG_BYTES_MAX: usize = 256 * 1024;

/// What a fragment takes besides its bytes, so that a queue of empty messages has a limit too.
pub const FRAGMENT_COST_BYTES: usize = 128;

/// The longest fragment: it fits a packet on its own.
pub(crate) const FRAGMENT_BYTES_MAX: usize = 1024;

/// How far ahead of the first missing fragment others are sent and kept.
const WINDOW_FRAGMENTS: u64 = 128;

/// Where there is no more on its way than this, each unreliable message carries it all again, so
/// that a lost packet holds up nothing.
const REPEATED_BYTES_MAX: usize = 256;

const LENGTH_BITS: u32 = 11;
const HEAD_BITS: usize = 1 + NUMBER_BITS as usize + 1 + LENGTH_BITS as usize;
const FRAGMENTS_PER_PACKET_MAX: usize = 1 << COUNT_BITS;
/// The packets that last carried a fragment; an older one's arrival is not noticed.
const CARRIERS: usize = 4;

const _: () = assert!(FRAGMENT_BYTES_MAX < 1 << LENGTH_BITS);
const _: () = assert!(
    FRAGMENT_BYTES_MAX + HEAD_BITS.div_ceil(8) + super::packet::HEAD_BYTES_MAX
        <= super::packet::BODY_BYTES_MAX
);
const _: () = assert!(WINDOW_FRAGMENTS as usize * FRAGMENT_BYTES_MAX >= RELIABLE_BYTES_MAX);
const _: () = assert!(size_of::<Fragment>() <= FRAGMENT_COST_BYTES);
const _: () = assert!(
    RELIABLE_BACKLOG_BYTES_MAX
        >= RELIABLE_BYTES_MAX / FRAGMENT_BYTES_MAX * (FRAGMENT_BYTES_MAX + FRAGMENT_COST_BYTES)
);

/// The message was not taken: it is too long, or too much is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlogged {
    /// How many bytes wait to be acknowledged.
    pub waiting_bytes: usize,
}

/// Fragments on their way out, oldest first, from the first that has not arrived.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    fragments: VecDeque<Fragment>,
    /// The number of the fragment in front.
    first: u64,
    waiting_bytes: usize,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Fragment {
    bytes: Vec<u8>,
    ends_message: bool,
    state: FragmentState,
    carriers: [u64; CARRIERS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FragmentState {
    /// Not sent yet, or lost.
    Waiting,
    Flying,
    Arrived,
}

impl Outgoing {
    pub(super) fn push(&mut self, message: &[u8]) -> Result<(), Backlogged> {
        let refused = Backlogged { waiting_bytes: self.waiting_bytes };
        let pieces = message.len().div_ceil(FRAGMENT_BYTES_MAX).max(1);
        let total = self.waiting_bytes + message.len() + pieces * FRAGMENT_COST_BYTES;
        if message.len() > RELIABLE_BYTES_MAX || total > RELIABLE_BACKLOG_BYTES_MAX {
            return Err(refused);
        }
        self.waiting_bytes = total;
        for piece in 0..pieces {
            let start = piece * FRAGMENT_BYTES_MAX;
            let end = message.len().min(start + FRAGMENT_BYTES_MAX);
            // A long queue of short messages must not sit in the buffers of long ones.
            let is_short_queue = self.fragments.len() < SPARE_MAX;
            let spare = if is_short_queue { self.spare.pop() } else { None };
            let mut bytes = spare.unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(&message[start..end]);
            self.fragments.push_back(Fragment {
                bytes,
                ends_message: piece + 1 == pieces,
                state: FragmentState::Waiting,
                carriers: [0; CARRIERS],
            });
        }
        Ok(())
    }

    /// The number behind the newest fragment: what an unreliable message sent now comes after.
    pub(super) fn end(&self) -> u64 {
        self.first + self.fragments.len() as u64
    }

    /// Bytes that are waiting to be acknowledged.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// The heap it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let held: usize = self.fragments.iter().map(|fragment| fragment.bytes.capacity()).sum();
        held + self.fragments.capacity() * size_of::<Fragment>() + heap_of(&self.spare)
    }

    /// Whether nothing is on its way or waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Whether any fragment should be sent as soon as may be, and the bytes that all of them take.
    pub(super) fn urgent_bytes(&self) -> Option<usize> {
        let urgent = self.window().filter(|(_, f)| f.state == FragmentState::Waiting);
        urgent.map(|(_, fragment)| fragment.bytes_on_wire()).reduce(|sum, bytes| sum + bytes)
    }

    /// Decides what the packet `number` carries in at most `room` bytes, and says how many fragments.
    /// With a payload that comes after `end`, what is still on its way goes along again if it is
    /// little.
    pub(super) fn choose(&mut self, number: u64, mut room: usize, repeat: bool) -> usize {
        let flying: usize = self
            .window()
            .filter(|(_, fragment)| fragment.state == FragmentState::Flying)
            .map(|(_, fragment)| fragment.bytes_on_wire())
            .sum();
        let repeat = repeat && flying <= REPEATED_BYTES_MAX;
        let mut chosen = 0;
        for fragment in self.fragments.iter_mut().take(WINDOW_FRAGMENTS as usize) {
            let wanted = match fragment.state {
                FragmentState::Waiting => true,
                FragmentState::Flying => repeat,
                FragmentState::Arrived => false,
            };
            if !wanted {
                continue;
            }
            let bytes = fragment.bytes_on_wire();
            if bytes > room || chosen == FRAGMENTS_PER_PACKET_MAX {
                break;
            }
            room -= bytes;
            chosen += 1;
            fragment.state = FragmentState::Flying;
            fragment.carriers.rotate_right(1);
            fragment.carriers[0] = number;
        }
        chosen
    }

    /// Writes the fragments chosen for the packet `number`.
    pub(super) fn write(&self, number: u64, bits: &mut BitWriter) {
        let mut expected = None;
        for (sequence, fragment) in self.window().filter(|(_, f)| f.carriers[0] == number) {
            bits.write_bool(expected == Some(sequence));
            if expected != Some(sequence) {
                bits.write(sequence & 0xffff, NUMBER_BITS);
            }
            bits.write_bool(fragment.ends_message);
            bits.write(fragment.bytes.len() as u64, LENGTH_BITS);
            bits.write_bytes(&fragment.bytes);
            expected = Some(sequence + 1);
        }
    }

    /// Whether the other end will still miss any fragment before `end` once it has the packet
    /// `number`.
    pub(super) fn misses(&self, number: u64, end: u64) -> bool {
        let before = (end.saturating_sub(self.first)) as usize;
        let arrives = |f: &Fragment| f.state == FragmentState::Arrived || f.carriers[0] == number;
        !self.fragments.iter().take(before).all(arrives)
    }

    /// Takes in the verdict on a packet that carried fragments.
    pub(super) fn resolve(&mut self, number: u64, delivered: bool) {
        for fragment in self.fragments.iter_mut().take(WINDOW_FRAGMENTS as usize) {
            if delivered && fragment.carriers.contains(&number) {
                fragment.state = FragmentState::Arrived;
            } else if fragment.carriers[0] == number && fragment.state == FragmentState::Flying {
                fragment.state = FragmentState::Waiting;
            }
        }
        while self.fragments.front().is_some_and(|f| f.state == FragmentState::Arrived) {
            if let Some(fragment) = self.fragments.pop_front() {
                self.waiting_bytes -= fragment.bytes.len() + FRAGMENT_COST_BYTES;
                self.first += 1;
                keep_spare(&mut self.spare, fragment.bytes);
            }
        }
    }

    fn window(&self) -> impl Iterator<Item = (u64, &Fragment)> {
        (self.first..).zip(self.fragments.iter().take(WINDOW_FRAGMENTS as usize))
    }
}

impl Fragment {
    fn bytes_on_wire(&self) -> usize {
        self.bytes.len() + HEAD_BITS.div_ceil(8)
    }
}

/// How many empty buffers are kept for later.
const SPARE_MAX: usize = 8;

fn keep_spare(spare: &mut Vec<Vec<u8>>, bytes: Vec<u8>) {
    if spare.len() < SPARE_MAX {
        spare.push(bytes);
    }
}

/// The heap that a list of buffers holds.
pub(super) fn heap_of(buffers: &Vec<Vec<u8>>) -> usize {
    let held: usize = buffers.iter().map(Vec::capacity).sum();
    held + buffers.capacity() * size_of::<Vec<u8>>()
}

/// Fragments coming in.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Those that came before others in front of them; the first place is the next one expected.
    early: VecDeque<Option<(bool, Vec<u8>)>>,
    next: u64,
    /// The message under way.
    message: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

/// The other end's message is longer than any may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Incoming {
    /// The number behind the last fragment handed out.
    pub(super) fn end(&self) -> u64 {
        self.next
    }

    /// The heap it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let early: usize = self.early.iter().flatten().map(|(_, bytes)| bytes.capacity()).sum();
        let places = self.early.capacity() * size_of::<Option<(bool, Vec<u8>)>>();
        early + places + self.message.capacity() + heap_of(&self.spare)
    }

    /// Reads `count` fragments and hands out the messages they complete; says how many had come
    /// before or are too far ahead. The bits were checked.
    pub(super) fn read(
        &mut self,
        bits: &mut BitReader<'_>,
        count: usize,
        tell: &mut impl FnMut(&[u8]),
    ) -> Result<u64, TooLong> {
        if count == 0 {
            return Ok(0);
        }
        let mut unused = 0;
        let mut sequence = 0u64;
        let mut bytes = [0; FRAGMENT_BYTES_MAX];
        for _ in 0..count {
            let (low, ends_message, length) = read_head(bits);
            // A liar's number may lie before zero, which wraps.
            let following = sequence.wrapping_add(1);
            sequence = low.map_or(following, |low| near(self.next, low));
            bits.read_bytes(&mut bytes[..length]);
            match sequence.checked_sub(self.next) {
                Some(0) => {
                    self.append(&bytes[..length], ends_message, tell)?;
                    self.early.pop_front();
                    self.next += 1;
                    self.append_early(tell)?;
                }
                Some(ahead) if ahead < WINDOW_FRAGMENTS || mutant::is(Mutant::UnboundedGaps) => {
                    unused += self.keep(ahead as usize, &bytes[..length], ends_message);
                }
                _ => unused += 1,
            }
        }
        Ok(unused)
    }

    fn keep(&mut self, ahead: usize, bytes: &[u8], ends_message: bool) -> u64 {
        if self.early.len() <= ahead {
            self.early.resize_with(ahead + 1, || None);
        }
        if self.early[ahead].is_some() {
            return 1;
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(bytes);
        self.early[ahead] = Some((ends_message, kept));
        0
    }

    fn append_early(&mut self, tell: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(Some((ends_message, bytes))) = self.early.front_mut().map(Option::take) {
            self.early.pop_front();
            self.next += 1;
            self.append(&bytes, ends_message, tell)?;
            keep_spare(&mut self.spare, bytes);
        }
        Ok(())
    }

    fn append(
        &mut self,
        bytes: &[u8],
        ends_message: bool,
        tell: &mut impl FnMut(&[u8]),
    ) -> Result<(), TooLong> {
        if self.message.is_empty() && ends_message {
            tell(bytes);
            return Ok(());
        }
        if self.message.len() + bytes.len() > RELIABLE_BYTES_MAX {
            return Err(TooLong);
        }
        self.message.extend_from_slice(bytes);
        if ends_message {
            tell(&self.message);
            self.message.clear();
            // A long message is rare; its buffer need not stay for the whole connection.
            self.message.shrink_to(FRAGMENT_BYTES_MAX);
        }
        Ok(())
    }
}

/// Whether `count` well-formed fragments follow.
pub(super) fn check(bits: &mut BitReader<'_>, count: usize) -> bool {
    for index in 0..count {
        let (low, _, length) = read_head(bits);
        if length > FRAGMENT_BYTES_MAX || index == 0 && low.is_none() {
            return false;
        }
        bits.skip(8 * length);
    }
    !bits.failed()
}

/// The low bits of a fragment's number unless it follows the one before, whether it ends a message,
/// and its length.
fn read_head(bits: &mut BitReader<'_>) -> (Option<u16>, bool, usize) {
    let follows = bits.read_bool();
    let low = if follows { None } else { Some(bits.read(NUMBER_BITS) as u16) };
    (low, bits.read_bool(), bits.read(LENGTH_BITS) as usize)
}

impl fmt::Display for Backlogged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, most) = (self.waiting_bytes, RELIABLE_BACKLOG_BYTES_MAX);
        write!(
            f,
            "the message was not taken: {waiting} of at most {most} bytes are waiting already"
        )
    }
}

impl std::error::Error for Backlogged {}
