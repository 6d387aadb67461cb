//! The two directions of one connection as messages: what the server says after its welcome, and what a client says.
//! Each end holds one of either, and learns alike.

use super::coder::{Chance, Coder, Decoder, Encoder, Number};
use super::ledger::{Ledger, News, Picture, RecordModel};
use super::{Denial, RequestAnswer, RequestNumber, TICK_LAST};
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::schema::record::Layout;

/// The first words of a server on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Welcome {
    pub(super) me: PlayerId,
    pub(super) content: u64,
    pub(super) rules: u64,
    pub(super) tick: Tick,
    pub(super) tick_length: Span,
    /// The server's time: that of the game, zero at tick zero.
    pub(super) time: Time,
}

const TIME_BITS: u32 = 48;
const TICK_LENGTH_BITS: u32 = 24;
const WELCOME_BYTES: usize =
    (16 + 64 + 64 + 32 + TICK_LENGTH_BITS as usize + TIME_BITS as usize) / 8;

impl Welcome {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bits = BitWriter::growing(WELCOME_BYTES);
        bits.write(u64::from(self.me.0), 16);
        bits.write(self.content, 64);
        bits.write(self.rules, 64);
        bits.write(u64::from(self.tick.0), 32);
        bits.write(self.tick_length.as_micros(), TICK_LENGTH_BITS);
        bits.write(low_bits(self.time), TIME_BITS);
        bits.finish().map(<[u8]>::to_vec).unwrap_or_default()
    }

    pub(super) fn read(message: &[u8]) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(message);
        let welcome = Self {
            me: PlayerId(bits.read(16) as u16),
            content: bits.read(64),
            rules: bits.read(64),
            tick: Tick(bits.read(32) as u32),
            tick_length: Span::micros(bits.read(TICK_LENGTH_BITS)),
            time: Time::from_micros(bits.read(TIME_BITS)),
        };
        bits.finish()?;
        let is_lawful = crate::TICK_LENGTHS.contains(&welcome.tick_length)
            && welcome.tick <= TICK_LAST
            && is_within(welcome.time, welcome.tick_length);
        if is_lawful { Ok(welcome) } else { Err(Malformed) }
    }
}

/// Whether a time is one of the game's: not after its last tick.
pub(super) fn is_within(time: Time, tick_length: Span) -> bool {
    time <= Time::ZERO + tick_length * u64::from(TICK_LAST.0)
}

fn low_bits(time: Time) -> u64 {
    time.as_micros() & ((1 << TIME_BITS) - 1)
}

/// What a server says.
#[derive(Clone, Debug)]
pub(super) struct Telling {
    pub(super) ledger: Ledger,
    is_time: Chance,
    has_more: [Chance; 3],
    is_denied: Chance,
    ages: Number,
    denials: [Chance; 256],
    answered: u32,
}

/// One thing that a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// News of the world, and answers.
    News(News, Vec<RequestAnswer>),
    /// The time, to the question of this number.
    Time(u8, Time),
}

impl Telling {
    pub(super) fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
            is_time: Chance::default(),
            has_more: [Chance::default(); 3],
            is_denied: Chance::default(),
            ages: Number::default(),
            denials: [Chance::default(); 256],
            answered: 0,
        }
    }

    pub(super) fn write_news(
        &mut self,
        layouts: &[Layout],
        (tick, goal): (Tick, &Picture),
        news: &mut News,
        verdicts: &[Result<Tick, Denial>],
    ) -> Vec<u8> {
        let mut coder = Encoder::new();
        coder.bit(&mut self.is_time, false);
        self.code_answers(&mut coder, tick, verdicts, &mut Vec::new());
        self.ledger.exchange(&mut coder, layouts, (tick, Some(goal)), news);
        coder.finish()
    }

    pub(super) fn write_time(&mut self, question: u8, time: Time) -> Vec<u8> {
        let mut coder = Encoder::new();
        coder.bit(&mut self.is_time, true);
        coder.evens(u64::from(question), 8);
        coder.evens(low_bits(time), TIME_BITS);
        coder.finish()
    }

    /// Reads what was written. After an error nothing more can be read.
    pub(super) fn read(&mut self, layouts: &[Layout], message: &[u8]) -> Result<Told, Malformed> {
        let mut coder = Decoder::new(message);
        if coder.bit(&mut self.is_time, false) {
            let question = coder.evens(0, 8) as u8;
            return Ok(Told::Time(question, Time::from_micros(coder.evens(0, TIME_BITS))));
        }
        let (mut news, mut answers) = (News::default(), Vec::new());
        // How long ago an answer's tick was is told before the tick itself is.
        self.code_answers(&mut coder, Tick::default(), &[], &mut answers);
        self.ledger.exchange(&mut coder, layouts, (Tick::default(), None), &mut news);
        if coder.failed() {
            return Err(Malformed);
        }
        let now = self.ledger.tick.0;
        for answer in &mut answers {
            answer.verdict = answer.verdict.map(|age| Tick(now.saturating_sub(age.0)));
        }
        Ok(Told::News(news, answers))
    }

    /// Answers follow the order of the requests. What is read are ages instead of ticks.
    fn code_answers<C: Coder>(
        &mut self,
        coder: &mut C,
        now: Tick,
        verdicts: &[Result<Tick, Denial>],
        answers: &mut Vec<RequestAnswer>,
    ) {
        for index in 0..=ANSWERS_PER_TELLING_MAX {
            let wanted = verdicts.get(index).copied();
            if !coder.bit(&mut self.has_more[index.min(2)], wanted.is_some()) {
                return;
            }
            let wanted = wanted.unwrap_or(Ok(now));
            let verdict = if coder.bit(&mut self.is_denied, wanted.is_err()) {
                let code = wanted.err().map_or(0, |denial| u32::from(denial.0));
                Err(Denial(coder.tree(&mut self.denials, code, 8) as u8))
            } else {
                let age = wanted.map_or(0, |tick| now.0.saturating_sub(tick.0));
                Ok(Tick(self.ages.code(coder, age)))
            };
            answers.push(RequestAnswer { number: RequestNumber(self.answered), verdict });
            self.answered = self.answered.wrapping_add(1);
        }
        coder.fail();
    }
}

/// How many answers one telling has at most.
pub(super) const ANSWERS_PER_TELLING_MAX: usize = 64;

/// What a client says: requests, each against the one before, and questions for the time.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    is_time: Chance,
    model: RecordModel,
    last: Vec<u32>,
}

/// One thing that a client said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A request's record.
    Request,
    /// What time it is, by the question's number.
    Time(u8),
}

impl Asking {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            is_time: Chance::default(),
            model: RecordModel::default(),
            last: layout.initial().to_vec(),
        }
    }

    pub(super) fn write_request(&mut self, layout: &Layout, record: &[u32]) -> Vec<u8> {
        let mut coder = Encoder::new();
        coder.bit(&mut self.is_time, false);
        self.model.code(&mut coder, layout, (&mut self.last, Some(record)), 0, false);
        coder.finish()
    }

    pub(super) fn write_time(&mut self, question: u8) -> Vec<u8> {
        let mut coder = Encoder::new();
        coder.bit(&mut self.is_time, true);
        coder.evens(u64::from(question), 8);
        coder.finish()
    }

    pub(super) fn read(&mut self, layout: &Layout, message: &[u8]) -> Result<Asked, Malformed> {
        let mut coder = Decoder::new(message);
        if coder.bit(&mut self.is_time, false) {
            return Ok(Asked::Time(coder.evens(0, 8) as u8));
        }
        self.model.code(&mut coder, layout, (&mut self.last, None), 0, false);
        if coder.failed() { Err(Malformed) } else { Ok(Asked::Request) }
    }

    /// The record of the request that was read last.
    pub(super) fn last(&self) -> &[u32] {
        &self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_telling_leads_beyond_the_last_tick() {
        let telling = |tick| Telling::new(Ledger::new(Picture::default(), Tick(tick)));
        let message = |mut here: Telling| {
            here.write_news(&[], (TICK_LAST, &Picture::default()), &mut News::default(), &[])
        };
        assert!(telling(7).read(&[], &message(telling(7))).is_ok());
        assert_eq!(telling(8).read(&[], &message(telling(7))), Err(Malformed));
    }
}
