//! A script of sending, ticking, losing, doubling, delaying, forging and closing over two channels,
//! with what they promise checked at every step.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use sametick::bits::BitWriter;
use sametick::channel::{
    BODY_BYTES_MAX, Channel, CloseReason, Compression, Event, Settings, State,
};
use sametick::channel::{RELIABLE_BYTES_MAX, UNRELIABLE_BYTES_MAX};
use sametick::{Span, Time};
use script::Script;
use std::collections::BTreeSet;

const OPERATIONS_MAX: usize = 300;
const PACKETS_MAX: usize = 2000;

/// One channel, and what it was asked and told.
struct End {
    channel: Channel,
    /// Lengths of reliable messages that were taken for sending.
    reliable_sent: Vec<usize>,
    /// Of each unreliable message: its length, and how many reliable ones came before it.
    unreliable_sent: Vec<(usize, usize)>,
    reliable_came: usize,
    unreliable_newest: Option<u32>,
    resolved: BTreeSet<u32>,
    /// The numbers of packets that were given to it: the layer below passes each once.
    given: BTreeSet<u64>,
    /// It was given a packet that its other end never sent, so it may be told anything.
    is_deceived: bool,
    /// On their way to it.
    packets: Vec<(u64, Vec<u8>)>,
}

struct Pair {
    now: Time,
    ends: [End; 2],
    body: BitWriter,
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let mut pair = Pair::new(script.byte());
    for _ in 0..OPERATIONS_MAX {
        if script.is_over() {
            break;
        }
        pair.operate(&mut script);
        assert!(pair.ends.iter().all(|end| end.channel.statistics().adds_up()));
    }
    pair.settle();
});

impl Pair {
    fn new(kind: u8) -> Self {
        let end = |index: u8| {
            let zero_runs = kind >> index & 1 != 0;
            let compression = if zero_runs { Compression::ZeroRuns } else { Compression::None };
            let settings = Settings { compression, ..Settings::default() };
            End {
                channel: Channel::new(settings, Time::ZERO, u64::from(kind / 4) + u64::from(index)),
                reliable_sent: Vec::new(),
                unreliable_sent: Vec::new(),
                reliable_came: 0,
                unreliable_newest: None,
                resolved: BTreeSet::new(),
                given: BTreeSet::new(),
                is_deceived: false,
                packets: Vec::new(),
            }
        };
        let ends = [end(0), end(1)];
        Self { now: Time::ZERO, ends, body: BitWriter::fixed(BODY_BYTES_MAX) }
    }

    fn operate(&mut self, script: &mut Script<'_>) {
        let operation = script.byte();
        let which = usize::from(operation & 1);
        match operation >> 1 & 15 {
            0 | 1 => self.send_reliable(which, usize::from(script.short())),
            2 | 3 => self.send_unreliable(which, usize::from(script.short())),
            4 | 5 => self.tick(Span::millis(u64::from(script.byte()))),
            6 | 7 => self.transmit(which),
            8 => self.deliver(which, usize::from(script.byte())),
            9 => {
                self.take_packet(which, usize::from(script.byte()));
            }
            10 => {
                let packets = &mut self.ends[which].packets;
                let index = usize::from(script.byte()) % packets.len().max(1);
                if let Some(packet) = packets.get(index).cloned() {
                    packets.push(packet);
                }
            }
            11 | 12 => self.deliver_all(which),
            13 => {
                let number = self.ends[which].given.last().map_or(1, |newest| newest + 1);
                self.ends[which].is_deceived = true;
                self.give(which, number, script.string());
            }
            14 if script.byte() == 0 => {
                self.ends[which].channel.close(self.now, CloseReason::Left);
            }
            _ => {}
        }
    }

    fn send_reliable(&mut self, which: usize, length: usize) {
        let end = &mut self.ends[which];
        let length = usual(length).min(RELIABLE_BYTES_MAX);
        let message = content(end.reliable_sent.len() as u32, length);
        if end.channel.send_reliable(&message).is_ok() {
            end.reliable_sent.push(length);
        }
    }

    fn send_unreliable(&mut self, which: usize, length: usize) {
        let end = &mut self.ends[which];
        // None is so short that it could not be told from others.
        let length = usual(length).clamp(4, UNRELIABLE_BYTES_MAX);
        let token = end.unreliable_sent.len() as u32;
        end.channel.send_unreliable(token, &content(token, length));
        end.unreliable_sent.push((length, end.reliable_sent.len()));
    }

    fn tick(&mut self, span: Span) {
        self.now += span;
        for which in 0..2 {
            self.told(which, |channel, now, mut tell| channel.advance(now, &mut tell));
        }
    }

    fn transmit(&mut self, which: usize) {
        self.told(which, |channel, now, mut tell| channel.advance(now, &mut tell));
        for _ in 0..PACKETS_MAX {
            self.body.clear();
            let end = &mut self.ends[which];
            let Some(number) = end.channel.transmit(self.now, &mut self.body) else {
                let wake = end.channel.next_wake();
                assert!(wake > self.now, "nothing to do now, and still it would wake at {wake}");
                return;
            };
            let body = self.body.finish().expect("a body fits a packet").to_vec();
            let packets = &mut self.ends[1 - which].packets;
            if packets.len() < PACKETS_MAX {
                packets.push((number, body));
            }
        }
        panic!("a channel sends without end");
    }

    fn take_packet(&mut self, which: usize, index: usize) -> Option<(u64, Vec<u8>)> {
        let packets = &mut self.ends[which].packets;
        let index = index % packets.len().max(1);
        (index < packets.len()).then(|| packets.remove(index))
    }

    fn deliver(&mut self, which: usize, index: usize) {
        if let Some((number, body)) = self.take_packet(which, index) {
            self.give(which, number, &body);
        }
    }

    fn deliver_all(&mut self, which: usize) {
        for (number, body) in std::mem::take(&mut self.ends[which].packets) {
            self.give(which, number, &body);
        }
    }

    fn give(&mut self, which: usize, number: u64, body: &[u8]) {
        if self.ends[which].given.insert(number) {
            self.told(which, |channel, now, mut tell| {
                channel.receive(now, number, body, &mut tell)
            });
        }
    }

    /// Lets a channel work, and checks what it tells.
    fn told(
        &mut self,
        which: usize,
        work: impl FnOnce(&mut Channel, Time, &mut dyn FnMut(Event<'_>)),
    ) {
        let [first, second] = &mut self.ends;
        let (end, other) = if which == 0 { (first, &*second) } else { (second, &*first) };
        let End { channel, reliable_came, unreliable_newest, resolved, is_deceived, .. } = end;
        let sent = end.unreliable_sent.len();
        work(channel, self.now, &mut |event| match event {
            Event::Delivered(token) | Event::Lost(token) => {
                assert!((token as usize) < sent, "a verdict on nothing");
                assert!(resolved.insert(token), "two verdicts on {token}");
            }
            _ if *is_deceived => {}
            Event::Reliable(bytes) => {
                let length = other.reliable_sent.get(*reliable_came).copied();
                assert_eq!(Some(bytes.len()), length, "the next reliable message in order");
                assert!(bytes == content(*reliable_came as u32, bytes.len()), "altered");
                *reliable_came += 1;
            }
            Event::Unreliable(bytes) => {
                let token = u32::from_le_bytes(*bytes.first_chunk().expect("none is shorter"));
                let (length, after) = other.unreliable_sent[token as usize];
                assert!(bytes.len() == length && bytes == content(token, length), "altered");
                assert!(unreliable_newest.is_none_or(|newest| newest < token), "not newer");
                assert!(*reliable_came >= after, "before a reliable one it comes after");
                *unreliable_newest = Some(token);
            }
        });
    }

    /// On a good line everything comes to an end: reliable messages arrive, verdicts are passed.
    fn settle(&mut self) {
        for _ in 0..6000 {
            for which in 0..2 {
                self.transmit(which);
            }
            self.tick(Span::millis(10));
            for which in 0..2 {
                self.deliver_all(which);
            }
            if !self.is_fair() {
                return;
            }
            let [first, second] = &self.ends;
            let is_settled = |end: &End, other: &End| {
                end.reliable_came == other.reliable_sent.len()
                    && end.resolved.len() == end.unreliable_sent.len()
            };
            if is_settled(first, second) && is_settled(second, first) {
                return;
            }
        }
        panic!("a minute on a good line settles nothing");
    }

    /// Whether both are still there and neither was deceived.
    fn is_fair(&self) -> bool {
        self.ends.iter().all(|end| !end.is_deceived && end.channel.state() == State::Open)
    }
}

/// Most messages are short, as in a game, and a few have several pieces.
fn usual(length: usize) -> usize {
    length % if length < 60_000 { 400 } else { 9_000 }
}

/// The message of that number and length.
fn content(number: u32, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..length).map(|at| if at % 7 < 3 { 0 } else { (at as u32 ^ number) as u8 }).collect();
    let head = number.to_le_bytes();
    let head_bytes = length.min(4);
    bytes[..head_bytes].copy_from_slice(&head[..head_bytes]);
    bytes
}
