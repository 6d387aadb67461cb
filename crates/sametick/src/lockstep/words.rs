//! The messages of lockstep games as bits. Whoever sends them is known from the connection; what they mean for
//! the game is others' business.

use super::roster::{Age, Roster};
use super::{HASHES_MAX, PIECE_BYTES_MAX, STREAMED_TICKS_MAX};
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::schema::delta;
use crate::schema::fields::Networked;
use crate::schema::record::Layout;

/// The longest message.
pub const MESSAGE_BYTES_MAX: usize = 1100;

const KIND_BITS: u32 = 3;
const HELLO: u64 = 0;
const REFUSAL: u64 = 1;
const NOTICE: u64 = 2;
const PLAY: u64 = 3;
const PIECE: u64 = 4;
const TAKEN: u64 = 5;
const CALL: u64 = 6;
const INQUEST: u64 = 7;

/// Everything that is said.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word<C> {
    /// Somebody wants to come in, or to come back.
    Hello { terms: Terms, name: u64, wants_to_play: bool },
    /// It cannot.
    Refusal(Refusal),
    /// The one who decides is another; or it has no place for you.
    Notice { age: Age, leader: u64, at: Peer },
    /// Everything about the running game.
    Play(Box<Play<C>>),
    /// A part of something long.
    Piece { id: u8, index: u16, count: u16, bytes: Vec<u8> },
    /// How many of the first pieces are there.
    Taken { id: u8, count: u16 },
    /// Somebody wants to lead, and has this; or somebody gives its word, and has this.
    Call { is_promise: bool, leaves: bool, play: Box<Play<C>> },
    /// Hashes of the newest ticks, oldest first.
    Inquest { first: Tick, hashes: Vec<u32> },
}

/// What must be the same on all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// The program, by a number of the caller's.
    pub(super) build: u64,
    /// The fields of all that the game has.
    pub(super) rules: u64,
    /// The content's name.
    pub(super) content: u64,
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It runs another build of the program.
    Build,
    /// Its game has other fields.
    Rules,
    /// It has other content: another map.
    Content,
    /// All seats are taken.
    Full,
    /// The world has become too long to be handed to who comes late.
    World,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Build => "they run another build of the program",
            Self::Rules => "their game has other fields",
            Self::Content => "they play on another map",
            Self::Full => "all seats are taken",
            Self::World => {
                "the game has begun, and its world has become too long to be handed over"
            }
        })
    }
}

/// What one member tells another, some times a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Play<C> {
    pub(super) epoch: u16,
    /// Which roster the speaker has, by the lowest bits.
    pub(super) version: u8,
    /// The newest tick that it has stepped for good; none if it has no world yet.
    pub(super) executed: Option<Tick>,
    /// Up to which tick it has what this listener sends.
    pub(super) held: Tick,
    /// Whether it will give no more commands than those it gave.
    pub(super) leaves: bool,
    /// If so, the tick of its last command.
    pub(super) last: Tick,
    /// Whether it found that worlds differ.
    pub(super) is_halted: bool,
    pub(super) roster: Option<Roster>,
    pub(super) timing: Option<Timing>,
    pub(super) hash: Option<(Tick, u32)>,
    /// How early the listener's newest command came, in 16ths of a tick.
    pub(super) margin: Option<i16>,
    /// What its machine needs, where turns adapt: the way in 16ths of a tick, a tick's cost in 10ths of a
    /// millisecond.
    pub(super) needs: Option<(u16, u16)>,
    /// What it has of each seat, by the lowest bits of the seat.
    pub(super) vector: Vec<(u8, Tick)>,
    pub(super) streams: Vec<(u8, Tick, Vec<C>)>,
}

/// What clocks are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Timing {
    /// The speaker's time in milliseconds, lowest bits.
    pub(super) stamp: u16,
    /// The newest stamp it got from the listener, and how many milliseconds ago.
    pub(super) echo: Option<(u16, u16)>,
    /// Where its game clock stands after the executed tick, in 16ths of a tick.
    pub(super) clock: u8,
}

pub(super) const STAMP_BITS: u32 = 13;
const AGE_BITS: u32 = 10;
const TICK_BITS: u32 = 16;
const NEEDS_BITS: u32 = 12;
const COUNT_BITS: u32 = 4;
const REFUSAL_BITS: u32 = 3;
const HASH_COUNT_BITS: u32 = 7;

impl<C: Networked + PartialEq> Word<C> {
    pub(super) fn write(&self, layout: &Layout) -> Vec<u8> {
        let mut bits = BitWriter::growing(MESSAGE_BYTES_MAX);
        match self {
            Self::Hello { terms, name, wants_to_play } => {
                bits.write(HELLO, KIND_BITS);
                let names = [terms.build, terms.rules, terms.content, *name];
                names.iter().for_each(|name| bits.write(*name, 64));
                bits.write_bool(*wants_to_play);
            }
            Self::Refusal(refusal) => {
                bits.write(REFUSAL, KIND_BITS);
                bits.write(*refusal as u64, REFUSAL_BITS);
            }
            Self::Notice { age: Age { epoch, version }, leader, at } => {
                bits.write(NOTICE, KIND_BITS);
                bits.write(u64::from(*epoch), 16);
                bits.write(u64::from(*version), 16);
                bits.write(*leader, 64);
                bits.write_bytes(&at.address());
                bits.write(u64::from(at.port()), 16);
            }
            Self::Play(play) => {
                bits.write(PLAY, KIND_BITS);
                play.write(&mut bits, layout);
            }
            Self::Piece { id, index, count, bytes } => {
                bits.write(PIECE, KIND_BITS);
                bits.write(u64::from(*id), 8);
                bits.write(u64::from(*index), 16);
                bits.write(u64::from(*count), 16);
                bits.align();
                bits.write_bytes(bytes);
            }
            Self::Taken { id, count } => {
                bits.write(TAKEN, KIND_BITS);
                bits.write(u64::from(*id), 8);
                bits.write(u64::from(*count), 16);
            }
            Self::Call { is_promise, leaves, play } => {
                bits.write(CALL, KIND_BITS);
                bits.write_bool(*is_promise);
                bits.write_bool(*leaves);
                play.write(&mut bits, layout);
            }
            Self::Inquest { first, hashes } => {
                bits.write(INQUEST, KIND_BITS);
                bits.write(u64::from(first.0), 32);
                bits.write(hashes.len() as u64, HASH_COUNT_BITS);
                hashes.iter().for_each(|hash| bits.write(u64::from(*hash), 32));
            }
        }
        // Whoever builds a message leaves room; what is too long after all is not sent.
        let message = bits.finish().map(<[u8]>::to_vec);
        debug_assert!(message.is_ok(), "a message is too long: {} bits", bits.bits_written());
        message.unwrap_or_default()
    }

    /// Reads a message; `near` is a tick close to those it is about.
    pub(super) fn read(bytes: &[u8], layout: &Layout, near: Tick) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(bytes);
        let word = match bits.read(KIND_BITS) {
            HELLO => {
                let [build, rules, content, name] = [(); 4].map(|()| bits.read(64));
                let terms = Terms { build, rules, content };
                Self::Hello { terms, name, wants_to_play: bits.read_bool() }
            }
            REFUSAL => Self::Refusal(match bits.read(REFUSAL_BITS) {
                0 => Refusal::Build,
                1 => Refusal::Rules,
                2 => Refusal::Content,
                3 => Refusal::Full,
                4 => Refusal::World,
                _ => return Err(Malformed),
            }),
            NOTICE => {
                let [epoch, version] = [(); 2].map(|()| bits.read(16) as u16);
                let age = Age { epoch, version };
                let leader = bits.read(64);
                let mut address = [0; 16];
                bits.read_bytes(&mut address);
                Self::Notice { age, leader, at: Peer::new(address, bits.read(16) as u16) }
            }
            PLAY => Self::Play(Box::new(Play::read(&mut bits, layout, near))),
            PIECE => {
                let id = bits.read(8) as u8;
                let [index, count] = [(); 2].map(|()| bits.read(16) as u16);
                bits.align();
                let bytes = bits.rest().to_vec();
                if bytes.len() > PIECE_BYTES_MAX || index >= count {
                    return Err(Malformed);
                }
                Self::Piece { id, index, count, bytes }
            }
            TAKEN => Self::Taken { id: bits.read(8) as u8, count: bits.read(16) as u16 },
            CALL => {
                let [is_promise, leaves] = [(); 2].map(|()| bits.read_bool());
                let play = Box::new(Play::read(&mut bits, layout, near));
                Self::Call { is_promise, leaves, play }
            }
            _ => {
                let first = super::roster::read_tick(&mut bits);
                let count = bits.read(HASH_COUNT_BITS) as usize;
                if count > HASHES_MAX {
                    return Err(Malformed);
                }
                Self::Inquest { first, hashes: (0..count).map(|_| bits.read(32) as u32).collect() }
            }
        };
        bits.finish()?;
        Ok(word)
    }
}

impl<C: Networked + PartialEq> Play<C> {
    fn write(&self, bits: &mut BitWriter, layout: &Layout) {
        bits.write(u64::from(self.epoch), 16);
        bits.write(u64::from(self.version), 8);
        let flags = [
            self.executed.is_some(),
            self.leaves,
            self.is_halted,
            self.roster.is_some(),
            self.timing.is_some(),
            self.hash.is_some(),
            self.margin.is_some(),
            self.needs.is_some(),
            !self.vector.is_empty(),
        ];
        flags.iter().for_each(|flag| bits.write_bool(*flag));
        if let Some(executed) = self.executed {
            write_tick(bits, executed);
        }
        write_tick(bits, self.held);
        if self.leaves {
            write_tick(bits, self.last);
        }
        if let Some(Timing { stamp, echo, clock }) = self.timing {
            bits.write(u64::from(stamp), STAMP_BITS);
            bits.write_bool(echo.is_some());
            if let Some((stamp, age)) = echo {
                bits.write(u64::from(stamp), STAMP_BITS);
                bits.write(u64::from(age), AGE_BITS);
            }
            bits.write(u64::from(clock), 8);
        }
        if let Some((tick, hash)) = self.hash {
            write_tick(bits, tick);
            bits.write(u64::from(hash), 32);
        }
        if let Some(margin) = self.margin {
            bits.write(u64::from(margin as u16), 16);
        }
        if let Some((way, costs)) = self.needs {
            bits.write(u64::from(way), NEEDS_BITS);
            bits.write(u64::from(costs), NEEDS_BITS);
        }
        if !self.vector.is_empty() {
            bits.write(self.vector.len() as u64 - 1, COUNT_BITS);
            for (seat, tick) in &self.vector {
                bits.write(u64::from(*seat), 8);
                write_tick(bits, *tick);
            }
        }
        bits.write(self.streams.len() as u64, COUNT_BITS);
        for (seat, first, commands) in &self.streams {
            bits.write(u64::from(*seat), 8);
            write_tick(bits, *first);
            let records: Vec<Vec<u32>> = commands.iter().map(|c| layout.record(c)).collect();
            delta::write_sequence(bits, layout, records.iter().map(Vec::as_slice));
        }
        if let Some(roster) = &self.roster {
            roster.write(bits);
        }
    }

    fn read(bits: &mut BitReader<'_>, layout: &Layout, near: Tick) -> Self {
        let (epoch, version) = (bits.read(16) as u16, bits.read(8) as u8);
        let flags = [(); 9].map(|()| bits.read_bool());
        let [has_world, leaves, is_halted, has_roster, has_timing, has_hash, ..] = flags;
        let [.., has_margin, has_needs, has_vector] = flags;
        let executed = has_world.then(|| read_tick(bits, near));
        let held = read_tick(bits, near);
        let last = if leaves { read_tick(bits, near) } else { Tick(0) };
        let timing = has_timing.then(|| {
            let stamp = bits.read(STAMP_BITS) as u16;
            let echo = bits
                .read_bool()
                .then(|| (bits.read(STAMP_BITS) as u16, bits.read(AGE_BITS) as u16));
            Timing { stamp, echo, clock: bits.read(8) as u8 }
        });
        let hash = has_hash.then(|| (read_tick(bits, near), bits.read(32) as u32));
        let margin = has_margin.then(|| bits.read(16) as u16 as i16);
        let needs = has_needs.then(|| [(); 2].map(|()| bits.read(NEEDS_BITS) as u16).into());
        let vector = if has_vector {
            let count = bits.read(COUNT_BITS) + 1;
            (0..count).map(|_| (bits.read(8) as u8, read_tick(bits, near))).collect()
        } else {
            Vec::new()
        };
        let count = bits.read(COUNT_BITS);
        let mut streams = Vec::new();
        for _ in 0..count {
            let (seat, first) = (bits.read(8) as u8, read_tick(bits, near));
            let mut commands = Vec::new();
            delta::read_sequence(bits, layout, |words| commands.push(layout.value::<C>(words)));
            if bits.failed() || commands.len() > STREAMED_TICKS_MAX {
                bits.fail();
                break;
            }
            streams.push((seat, first, commands));
        }
        let roster = (has_roster && !bits.failed()).then(|| Roster::read(bits));
        Self {
            epoch,
            version,
            executed,
            held,
            leaves,
            last,
            is_halted,
            roster,
            timing,
            hash,
            margin,
            needs,
            vector,
            streams,
        }
    }
}

fn write_tick(bits: &mut BitWriter, tick: Tick) {
    bits.write(u64::from(tick.0 & 0xffff), TICK_BITS);
}

/// The tick with these lowest bits that is nearest to another.
fn read_tick(bits: &mut BitReader<'_>, near: Tick) -> Tick {
    let low = bits.read(TICK_BITS) as u16;
    let ahead = low.wrapping_sub(near.0 as u16) as i16;
    Tick(near.0.checked_add_signed(i32::from(ahead)).unwrap_or(u32::from(low)))
}

/// How many milliseconds a stamp can be old before it is mistaken for a newer one.
pub(super) const AGE_MILLIS_MAX: u64 = (1 << AGE_BITS) - 1;
