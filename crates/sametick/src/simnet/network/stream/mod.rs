//! Simulated streams: ordered bytes over bad lines, as TCP carries them. Models what a game feels
//! of TCP, not TCP on the wire.
//!
//! A lost segment is sent again after three acknowledgements of the place before it or after a
//! time-out of 200 ms or more, which doubles; until it arrives, everything behind it waits. That
//! is what [`Stream`] is for: to measure what it costs. It is open from the start (a real one takes
//! one round trip more), acknowledges every segment at once, never waits to fill a segment, and has
//! no selective acknowledgements.

mod receiver;
mod segment;
mod sender;

pub use receiver::STREAM_RECEIVE_BYTES_MAX;
pub use segment::{SEGMENT_BYTES, SEGMENT_HEADER_BYTES};
pub use sender::{STREAM_SEND_BYTES_MAX, TIMEOUT_MAX, TIMEOUT_MIN, TIMEOUTS_MAX};

use super::conditions::Conditions;
use super::pipe::Pipe;
use crate::core::dice::Dice;
use crate::core::time::{Span, Time};
use receiver::Receiver;
use segment::Header;
use sender::Sender;

/// Both ends of a simulated stream, and the two pipes between them.
///
/// ```
/// use sametick::{Span, Time};
/// use sametick::network::Conditions;
/// use sametick::network::stream::{Side, Stream};
/// let line = Conditions { delay: Span::millis(50), ..Conditions::PERFECT };
/// let mut stream = Stream::new(1, line.clone(), line);
/// assert_eq!(stream.send(Time::ZERO, Side::Near, b"in order"), 8);
///
/// let mut bytes = Vec::new();
/// stream.receive(Time::from_millis(49), Side::Far, &mut bytes);
/// assert_eq!(bytes, b"");
/// stream.receive(Time::from_millis(50), Side::Far, &mut bytes);
/// assert_eq!(bytes, b"in order");
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    /// By [`Side`].
    ends: [End; 2],
    /// By the side that sends.
    pipes: [Pipe; 2],
    segment: Vec<u8>,
}

/// One side of a [`Stream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one.
    Near,
    /// The other.
    Far,
}

impl Side {
    /// The opposite side.
    pub fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

impl Stream {
    /// An open stream. `up` is the way from [`Side::Near`] to [`Side::Far`].
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn new(seed: u64, up: Conditions, down: Conditions) -> Self {
        let mut seeds = Dice::new(seed, 0);
        let pipes = [up, down].map(|conditions| Pipe::new(seeds.roll_u64(), conditions));
        Self { ends: [End::new(), End::new()], pipes, segment: Vec::new() }
    }

    /// Sends as many of the bytes as there is room for, and says how many: the others must be
    /// offered again later. None are taken once the side is closed or the stream broken.
    pub fn send(&mut self, now: Time, from: Side, bytes: &[u8]) -> usize {
        self.advance(now);
        let taken = self.ends[from as usize].write(bytes);
        self.flush(now, from);
        taken
    }

    /// Appends what has arrived at a side, and says how many bytes that was.
    pub fn receive(&mut self, now: Time, at: Side, into: &mut Vec<u8>) -> usize {
        self.advance(now);
        let bytes = self.ends[at as usize].read(into);
        self.flush(now, at);
        bytes
    }

    /// Closes one direction: what was sent still arrives, then the other side finds the end.
    pub fn close(&mut self, now: Time, from: Side) {
        self.advance(now);
        self.ends[from as usize].close();
        self.flush(now, from);
    }

    /// Lets everything happen that is due by now, each at its own moment: how often this is called
    /// changes nothing.
    pub fn advance(&mut self, now: Time) {
        while let Some(moment) = self.next_wake()
            && moment <= now
        {
            for from in [Side::Near, Side::Far] {
                self.carry(moment, from);
                self.flush(moment, from);
            }
        }
    }

    /// When something happens next.
    pub fn next_wake(&self) -> Option<Time> {
        let arrivals = self.pipes.iter().filter_map(Pipe::next_wake);
        let timers = self.ends.iter().filter_map(End::next_wake);
        arrivals.chain(timers).min()
    }

    /// One end, to ask how it does.
    pub fn end(&self, side: Side) -> &End {
        &self.ends[side as usize]
    }

    /// The pipe that a side sends into.
    pub fn pipe(&self, from: Side) -> &Pipe {
        &self.pipes[from as usize]
    }

    /// The pipe that a side sends into, to change its conditions or cut it.
    pub fn pipe_mut(&mut self, from: Side) -> &mut Pipe {
        &mut self.pipes[from as usize]
    }

    /// Hands over the segments that have arrived; each is answered before the next is looked at.
    fn carry(&mut self, now: Time, from: Side) {
        let to = from.other();
        while self.pipes[from as usize].pop(now, &mut self.segment).is_some() {
            self.ends[to as usize].receive(now, &self.segment);
            self.flush(now, to);
        }
    }

    fn flush(&mut self, now: Time, from: Side) {
        while self.ends[from as usize].transmit(now, &mut self.segment) {
            self.pipes[from as usize].push(now, &self.segment);
        }
    }
}

/// One end of a simulated stream, without a line: for a caller who carries the segments himself.
///
/// After every call to another method, [`transmit`](End::transmit) until it has nothing more, and
/// again at [`next_wake`](End::next_wake).
#[derive(Clone, Debug)]
pub struct End {
    sender: Sender,
    receiver: Receiver,
    segments_sent: u64,
    segments_damaged: u64,
}

/// How one end of a stream fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndStatistics {
    /// Segments sent, those without data among them.
    pub segments_sent: u64,
    /// Segments sent again.
    pub segments_resent: u64,
    /// Segments that arrived damaged and were dropped.
    pub segments_damaged: u64,
    /// How often nothing was acknowledged for too long.
    pub timeouts: u64,
    /// How often repeated acknowledgements told of a loss before the time-out did.
    pub fast_resends: u64,
    /// The smoothed round trip, once it was measured.
    pub round_trip: Option<Span>,
}

impl Default for End {
    fn default() -> Self {
        Self::new()
    }
}

impl End {
    /// An end of an open stream.
    pub fn new() -> Self {
        let (sender, receiver) = (Sender::new(), Receiver::default());
        Self { sender, receiver, segments_sent: 0, segments_damaged: 0 }
    }

    /// Takes as many bytes to send as there is room for, and says how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.sender.write(bytes)
    }

    /// Appends what has arrived in order, and says how many bytes that was.
    pub fn read(&mut self, into: &mut Vec<u8>) -> usize {
        self.receiver.read(into)
    }

    /// Says that nothing more will be written. Reading goes on.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// Takes a segment of the other end; a damaged one is dropped and counted.
    pub fn receive(&mut self, now: Time, segment: &[u8]) {
        let Some((header, data)) = segment::read(segment) else {
            self.segments_damaged += 1;
            return;
        };
        let with_data = !data.is_empty() || header.is_last;
        self.sender.acknowledge(now, header.acknowledged, header.window, with_data);
        self.receiver.receive(&header, data);
    }

    /// Makes `into` the next segment to send now; false if there is none.
    pub fn transmit(&mut self, now: Time, into: &mut Vec<u8>) -> bool {
        let piece = self.sender.next_piece(now);
        if piece.is_none() && !self.receiver.is_acknowledgement_due() {
            return false;
        }
        let header = Header {
            sequence: piece.map_or(self.sender.next(), |piece| piece.sequence),
            acknowledged: self.receiver.next(),
            window: self.receiver.tell_window(),
            is_last: piece.is_some_and(|piece| piece.is_last),
        };
        let data = piece.as_ref().map_or((&[][..], &[][..]), |piece| self.sender.data(piece));
        segment::write(&header, data, into);
        self.segments_sent += 1;
        true
    }

    /// When something must be sent again unless it is acknowledged before.
    pub fn next_wake(&self) -> Option<Time> {
        self.sender.timer()
    }

    /// Whether the other end was closed and everything that it sent was read.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Whether this end was closed and the other has everything.
    pub fn is_delivered(&self) -> bool {
        self.sender.is_delivered()
    }

    /// Whether the other end was silent for so long that this one gave up.
    pub fn is_broken(&self) -> bool {
        self.sender.is_broken()
    }

    /// How the end fared so far.
    pub fn statistics(&self) -> EndStatistics {
        let counts = self.sender.counts();
        EndStatistics {
            segments_sent: self.segments_sent,
            segments_resent: counts.resent,
            segments_damaged: self.segments_damaged,
            timeouts: counts.timeouts,
            fast_resends: counts.fast_resends,
            round_trip: self.sender.round_trip(),
        }
    }
}
