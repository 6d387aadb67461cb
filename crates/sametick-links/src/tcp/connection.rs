//! One connection: frames in and frames out over a stream of bytes. Knows no listener and no address.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};

use sametick::{Span, Time};

use crate::link::{DATAGRAM_BYTES_MAX, Reason};

/// How many bytes of a peer wait to be sent before its further datagrams are dropped.
pub const BACKLOG_BYTES_MAX: usize = 64 << 10;
/// How long a frame may be unfinished; also how long one who connected may take for its first.
pub const UNFINISHED_MAX: Span = Span::seconds(5);

/// What is read of a connection at once.
const INBOUND_BYTES: usize = 8 << 10;
/// The length of a frame: two bytes, the low one first.
const HEADER_BYTES: usize = 2;

const _: () = assert!(INBOUND_BYTES >= HEADER_BYTES + DATAGRAM_BYTES_MAX);
const _: () = assert!(BACKLOG_BYTES_MAX >= HEADER_BYTES + DATAGRAM_BYTES_MAX);
const _: () = assert!(DATAGRAM_BYTES_MAX <= u16::MAX as usize);

/// Frames over a stream that never blocks.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    /// What arrived and is not taken yet stands from `start` to `end`.
    inbound: Box<[u8]>,
    start: usize,
    end: usize,
    /// Since when a frame is missing or unfinished.
    unfinished_since: Option<Time>,
    outbound: VecDeque<u8>,
    /// How many bytes of the frame in front are still to be sent; none if it was not begun.
    front_left: usize,
    /// How many frames wait in `outbound`.
    queued: u64,
    has_spoken: bool,
    /// When it last said something whole, or began.
    heard_at: Time,
    ending: Option<Reason>,
}

impl<S: Read + Write> Connection<S> {
    /// A connection that must send its first frame in time, if it is said when it began.
    pub(super) fn new(stream: S, first_frame_from: Option<Time>) -> Self {
        Self {
            stream,
            inbound: vec![0; INBOUND_BYTES].into(),
            start: 0,
            end: 0,
            unfinished_since: first_frame_from,
            outbound: VecDeque::new(),
            front_left: 0,
            queued: 0,
            has_spoken: false,
            heard_at: first_frame_from.unwrap_or_default(),
            ending: None,
        }
    }

    /// When it last said something whole, or began.
    pub(super) fn heard_at(&self) -> Time {
        self.heard_at
    }

    /// Makes room for another.
    pub(super) fn give_way(&mut self) {
        self.end_for(Reason::Silent);
        (self.start, self.end) = (0, 0);
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    /// Reads once, if there is room.
    pub(super) fn fill(&mut self, now: Time) {
        if self.ending.is_some() || self.has_frame() {
            return;
        }
        self.inbound.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        match self.stream.read(&mut self.inbound[self.end..]) {
            Ok(0) => self.end_for(Reason::Closed),
            Ok(bytes) => {
                self.end += bytes;
                self.unfinished_since.get_or_insert(now);
            }
            Err(error) if is_for_later(error.kind()) => {}
            Err(error) => self.end_for(Reason::Broken(error.kind())),
        }
    }

    /// Takes out the next frame, if it is whole.
    pub(super) fn next_frame(&mut self, now: Time, into: &mut Vec<u8>) -> bool {
        let Some(bytes) = self.frame_bytes() else { return false };
        if bytes > DATAGRAM_BYTES_MAX {
            // Nothing after this makes sense.
            (self.start, self.end) = (0, 0);
            self.ending = Some(Reason::Hostile);
            return false;
        }
        let from = self.start + HEADER_BYTES;
        if self.end < from + bytes {
            return false;
        }
        into.clear();
        into.extend_from_slice(&self.inbound[from..from + bytes]);
        self.start = from + bytes;
        (self.has_spoken, self.heard_at) = (true, now);
        self.unfinished_since = (self.start < self.end).then_some(now);
        true
    }

    /// Whether something waits that [`Connection::next_frame`] decides upon.
    pub(super) fn has_frame(&self) -> bool {
        self.frame_bytes().is_some_and(|bytes| {
            bytes > DATAGRAM_BYTES_MAX || self.end - self.start >= HEADER_BYTES + bytes
        })
    }

    fn frame_bytes(&self) -> Option<usize> {
        let header = self.inbound[self.start..self.end].first_chunk::<HEADER_BYTES>()?;
        Some(usize::from(u16::from_le_bytes(*header)))
    }

    /// Queues a frame, if there is room for it.
    pub(super) fn push(&mut self, datagram: &[u8]) -> bool {
        let bytes = HEADER_BYTES + datagram.len();
        if self.ending.is_some() || self.outbound.len() + bytes > BACKLOG_BYTES_MAX {
            return false;
        }
        self.outbound.extend((datagram.len() as u16).to_le_bytes());
        self.outbound.extend(datagram);
        self.queued += 1;
        true
    }

    /// Writes what the system takes and says how many frames were finished by it.
    pub(super) fn flush(&mut self) -> u64 {
        let mut finished = 0;
        while self.ending.is_none() && !self.outbound.is_empty() {
            match self.stream.write(self.outbound.as_slices().0) {
                Ok(0) => self.end_for(Reason::Closed),
                Ok(bytes) => finished += self.drop_written(bytes),
                Err(error) if is_for_later(error.kind()) => break,
                Err(error) => self.end_for(Reason::Broken(error.kind())),
            }
        }
        finished
    }

    fn drop_written(&mut self, mut bytes: usize) -> u64 {
        let mut finished = 0;
        while bytes > 0 {
            if self.front_left == 0 {
                let length = [self.outbound[0], self.outbound[1]];
                self.front_left = HEADER_BYTES + usize::from(u16::from_le_bytes(length));
            }
            let written = bytes.min(self.front_left);
            self.outbound.drain(..written);
            self.front_left -= written;
            bytes -= written;
            finished += u64::from(self.front_left == 0);
        }
        self.queued -= finished;
        finished
    }

    fn end_for(&mut self, reason: Reason) {
        self.ending.get_or_insert(reason);
    }

    /// Ends a connection that has left a frame unfinished for too long.
    pub(super) fn expire(&mut self, now: Time) {
        if self.expires().is_some_and(|expires| expires <= now) {
            self.end_for(Reason::Silent);
        }
    }

    /// When the connection ends unless a frame is finished before.
    pub(super) fn expires(&self) -> Option<Time> {
        let since = self.unfinished_since.filter(|_| self.ending.is_none() && !self.has_frame())?;
        Some(since + UNFINISHED_MAX)
    }

    /// Why the connection is over, once all that had arrived is taken.
    pub(super) fn ended(&self) -> Option<Reason> {
        self.ending.filter(|_| !self.has_frame())
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether a frame was ever taken out.
    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// How many frames wait to be sent.
    pub(super) fn queued(&self) -> u64 {
        self.queued
    }
}

fn is_for_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// A stream that takes and gives so many bytes at once and then would block for a turn.
    struct Trickle {
        gives: VecDeque<u8>,
        taken: Vec<u8>,
        at_once: usize,
        is_turn: bool,
        breaks: Option<ErrorKind>,
    }

    impl Trickle {
        fn new(gives: &[u8], at_once: usize) -> Self {
            let gives = gives.iter().copied().collect();
            Self { gives, taken: Vec::new(), at_once, is_turn: false, breaks: None }
        }

        fn turn(&mut self) -> io::Result<()> {
            self.is_turn = !self.is_turn;
            match self.breaks {
                Some(kind) => Err(kind.into()),
                None if self.is_turn => Ok(()),
                None => Err(ErrorKind::WouldBlock.into()),
            }
        }
    }

    impl Read for Trickle {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.turn()?;
            let bytes = self.at_once.min(into.len()).min(self.gives.len());
            into[..bytes].iter_mut().zip(self.gives.drain(..bytes)).for_each(|(to, by)| *to = by);
            Ok(bytes)
        }
    }

    impl Write for Trickle {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.turn()?;
            let bytes = &bytes[..self.at_once.min(bytes.len())];
            self.taken.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn frames(datagrams: &[Vec<u8>]) -> Vec<u8> {
        let frame = |datagram: &Vec<u8>| {
            [&(datagram.len() as u16).to_le_bytes()[..], &datagram[..]].concat()
        };
        datagrams.iter().flat_map(frame).collect()
    }

    fn datagrams() -> Vec<Vec<u8>> {
        vec![vec![], vec![1], vec![2; DATAGRAM_BYTES_MAX], vec![], vec![3; 77]]
    }

    #[test]
    fn frames_survive_any_cut_of_the_stream() {
        let bytes = frames(&datagrams());
        for at_once in [1, 2, 3, 7, 1000, 5000] {
            let mut connection = Connection::new(Trickle::new(&bytes, at_once), None);
            let (mut datagram, mut received) = (Vec::new(), Vec::new());
            while connection.ended().is_none() {
                connection.fill(Time::ZERO);
                while connection.next_frame(Time::ZERO, &mut datagram) {
                    received.push(datagram.clone());
                }
            }
            assert_eq!(received, datagrams(), "{at_once}");
            assert_eq!(connection.ended(), Some(Reason::Closed));

            let mut connection = Connection::new(Trickle::new(&[], at_once), None);
            datagrams().iter().for_each(|datagram| assert!(connection.push(datagram)));
            let mut finished = 0;
            while finished < 5 {
                finished += connection.flush();
                assert_eq!(connection.queued() + finished, 5);
            }
            assert_eq!(connection.stream().taken, bytes, "{at_once}");
        }
    }

    #[test]
    fn a_backlog_is_bounded() {
        let mut connection = Connection::new(Trickle::new(&[], 1), None);
        let accepted = (0..1000).filter(|_| connection.push(&[0; 1000])).count();
        assert_eq!(accepted, BACKLOG_BYTES_MAX / 1002);
        assert!(connection.outbound.len() <= BACKLOG_BYTES_MAX);
        assert_eq!(connection.queued(), accepted as u64);
    }

    #[test]
    fn an_impossible_length_ends_the_connection_after_what_came_before() {
        let bytes = [frames(&[vec![1, 2]]), vec![0xff, 0xff, 0, 0]].concat();
        let mut connection = Connection::new(Trickle::new(&bytes, 100), None);
        let mut datagram = Vec::new();
        connection.fill(Time::ZERO);
        assert!(connection.next_frame(Time::ZERO, &mut datagram));
        assert_eq!(datagram, [1, 2]);
        assert_eq!(connection.ended(), None);
        assert!(!connection.next_frame(Time::ZERO, &mut datagram));
        assert_eq!(connection.ended(), Some(Reason::Hostile));
        assert!(!connection.push(b"nothing more"));
    }

    #[test]
    fn what_is_left_unfinished_ends_the_connection() {
        let at = Time::from_seconds;
        let expiry = |at| Some(at + UNFINISHED_MAX);
        // Nothing at all; then half a frame.
        let mut connection = Connection::new(Trickle::new(&[2, 0, 7], 3), Some(at(1)));
        assert_eq!(connection.expires(), expiry(at(1)));
        connection.fill(at(3));
        assert_eq!(connection.expires(), expiry(at(1)));
        connection.expire(at(5));
        assert_eq!(connection.ended(), None);
        connection.expire(at(6));
        assert_eq!(connection.ended(), Some(Reason::Silent));

        // A frame in time, silence after it, then half a frame.
        let mut connection = Connection::new(Trickle::new(&[1, 0, 7, 1, 0], 3), Some(at(1)));
        connection.fill(at(2));
        assert!(connection.has_frame() && connection.expires().is_none());
        assert!(connection.next_frame(at(9), &mut Vec::new()));
        assert_eq!(connection.expires(), None);
        connection.fill(at(99));
        connection.fill(at(100));
        assert_eq!(connection.expires(), expiry(at(100)));
    }

    #[test]
    fn an_error_ends_the_connection_and_says_which() {
        let kind = ErrorKind::ConnectionReset;
        let mut connection = Connection::new(Trickle::new(&[], 1), None);
        connection.stream.breaks = Some(kind);
        assert!(connection.push(b"lost"));
        assert_eq!(connection.flush(), 0);
        assert_eq!(connection.ended(), Some(Reason::Broken(kind)));
        assert_eq!(connection.queued(), 1);
    }
}
