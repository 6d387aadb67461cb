//! A part of a snapshot on the wire: what stands before its entities, and they, in one run of decisions. PROTOCOL.md
//! has it under *Compact part*.

use crate::codec::compact::range::{Decoder, Encoder};
use crate::codec::compact::records::Past;
use crate::codec::compact::tree::{Decide, NumberModel};
use crate::codec::compact::walk::{Port, Walk};
use crate::codec::compact::{Compact, Reading, Writing};
use crate::core::bits::{BitWriter, Malformed};
use crate::core::sequence::nearest_of;
use crate::core::slots::{CHUNK_SLOTS, Slots};
use crate::replication::messages::merge::{Merge, Raw};
use crate::replication::messages::{BACK_MAX, CHECK_BITS, CHUNKS_MAX, FORESEEN_TICKS_MAX};
use crate::replication::versions::Remembered;
use crate::schema::record::Layout;
use crate::schema::table::Table;
use std::ops::Range;
use std::sync::LazyLock;

/// The first byte of a part has this bit, and the game's number below it.
pub(crate) const COMPACT: u8 = 0x80;

/// Whoever has the base is not farther away than this, older packets being refused; else there are more.
const NUMBER_BITS: u32 = 12;
const FAR_NUMBER_BITS: u32 = 16;
const TICK_LOW_BITS: u32 = 12;
const CHUNK_BITS: u32 = 8;
/// What else a part brings is counted in bits.
const EXTRA_BITS: u32 = 15;

/// So far back no base is: it says that the baseline is merged.
const MERGED_BACK: i32 = BACK_MAX as i32 + 1;

/// Chances, of 65536, that nobody needs to learn.
const TOLD_OF: u16 = 40_000;
const TOLD_WHOLE: u16 = 40_000;
const JOINED: u16 = 600;
const TELLS_MARGIN: u16 = 58_000;
const EXTRA: u16 = 2_000;
const FROM_START: u16 = 63_000;
const AS_LONG: u16 = 63_500;
const HOLDS_BACK: u16 = 6_000;
const FORESEEN: u16 = 60_000;

/// What a part says of its tick and of its reader's commands, as it is told: only low bits of the count of repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) tick: u32,
    pub(crate) repeated: u32,
    /// Zero is nothing.
    pub(crate) margin: u32,
    pub(crate) received: u32,
}

pub(crate) const REPEATED_COUNT: u32 = 1 << crate::replication::messages::REPEATED_BITS;
const MARGIN_MAX: u32 = (1 << 15) - 1;
const MARGIN_USUAL: u32 = 1 << 14;
const RECEIVED_MAX: u32 = (1 << crate::replication::messages::RECEIVED_BITS) - 1;
const TICK_COUNT: u32 = 1 << crate::replication::messages::TICK_BITS;

/// What a part's table is besides its entities, a function of its number as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) said: Said,
    /// How many ticks a part was ahead of its base, for each part between them.
    pub(crate) pace: u32,
    /// How many ticks lie between the table and its base, and between that and its own.
    pub(crate) spans: [u32; 2],
}

impl Told {
    /// Of a part that says this and is built on another, so many parts back; none is the map as loaded.
    pub(crate) fn on(base: Option<(&Told, u64)>, said: Said) -> Self {
        let Some((base, back)) = base else { return Self { said, pace: 0, spans: [1; 2] } };
        let span = said.tick.wrapping_sub(base.said.tick).max(1);
        Self { said, pace: span / (back as u32).max(1), spans: [span, base.spans[0]] }
    }

    /// The spans of a part of a tick that is built on this.
    pub(crate) fn spans_to(&self, tick: u32) -> [u32; 3] {
        [tick.wrapping_sub(self.said.tick).max(1), self.spans[0], self.spans[1]]
    }
}

/// A part's name and that of its base: so many parts back, none if the map as loaded, and whether with those joined to
/// it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) number: u64,
    pub(crate) back: u64,
    pub(crate) is_joined: bool,
    /// If the baseline is merged: of which parts, and whether the part tells of everything.
    pub(crate) merged: Option<(Merge, bool)>,
}

/// Numbers that are coded raw.
struct RawOf<'a, C>(&'a mut C);

impl<C: Head> Raw for RawOf<'_, C> {
    fn raw(&mut self, bits: u32, value: u32) -> u32 {
        self.0.raw(bits, value)
    }
    fn fail(&mut self) {
        self.0.fail();
    }
}

/// What both ends know of the base when the heading is coded.
#[derive(Clone, Copy)]
pub(crate) struct Against<'a> {
    /// None if it is the map as loaded.
    pub(crate) told: Option<&'a Told>,
    /// Where the base's chunks end.
    pub(crate) end: usize,
    /// The newest tick that the reader knows; what is written does not depend on it.
    pub(crate) newest_tick: u32,
    /// Whether the welcome said that parts may be foreseen.
    pub(crate) foresees: bool,
}

impl Against<'_> {
    /// Whether a part of a tick may have been foreseen.
    fn may_foresee(&self, tick: u32) -> bool {
        let ahead = self.told.map_or(0, |told| tick.wrapping_sub(told.said.tick));
        self.foresees && (1..=FORESEEN_TICKS_MAX).contains(&ahead)
    }
}

/// What follows the name.
#[derive(Clone, Debug)]
pub(crate) struct Heading {
    pub(crate) said: Said,
    pub(crate) chunks: Range<usize>,
    pub(crate) holds_back: bool,
    /// What the rules foresee must come to this, if they do.
    pub(crate) foreseen: Option<u32>,
    /// Bits that are handed on as they are.
    pub(crate) extra: Option<(Vec<u8>, usize)>,
}

/// The models of headings, which are the same in all games.
#[derive(Debug)]
struct HeadModels {
    back: NumberModel,
    small: NumberModel,
    margin: NumberModel,
}

impl Default for HeadModels {
    fn default() -> Self {
        Self {
            back: NumberModel::prior(3),
            small: NumberModel::prior(0),
            margin: NumberModel::prior(4),
        }
    }
}

static MODELS: LazyLock<HeadModels> = LazyLock::new(HeadModels::default);

/// A coder of either way that knows when what it reads makes no sense.
pub(super) trait Head: Decide {
    fn fail(&mut self);
}

impl Head for Encoder {
    fn fail(&mut self) {}
}

impl Head for Reading<'_> {
    fn fail(&mut self) {
        Port::fail(self);
    }
}

impl Decide for Reading<'_> {
    fn decide(&mut self, chance: u16, _: bool) -> bool {
        self.decoder.bit(chance)
    }
    fn raw(&mut self, bits: u32, _: u32) -> u32 {
        self.decoder.raw(bits)
    }
}

fn code_name(coder: &mut impl Head, newest: u64, name: Name) -> Name {
    let known = Default::default();
    let back = if name.merged.is_some() { MERGED_BACK } else { name.back as i32 };
    let back = MODELS.back.code(coder, &known, back);
    if back == MERGED_BACK {
        return code_merged(coder, newest, name);
    }
    let back = match u64::try_from(back) {
        Ok(back) if back <= BACK_MAX => back,
        _ => {
            coder.fail();
            0
        }
    };
    let bits = if back > 0 { NUMBER_BITS } else { FAR_NUMBER_BITS };
    let low = coder.raw(bits, name.number as u32 & ((1 << bits) - 1));
    let is_joined = back > 0 && coder.decide(JOINED, name.is_joined);
    Name { number: nearest_of(newest, low, bits), back, is_joined, merged: None }
}

/// The same of a merged baseline, behind what says that it is one.
fn code_merged(coder: &mut impl Head, newest: u64, name: Name) -> Name {
    let low = coder.raw(FAR_NUMBER_BITS, name.number as u32 & ((1 << FAR_NUMBER_BITS) - 1));
    let (merge, is_complete) = name.merged.unwrap_or_default();
    let merge = merge.code(&mut RawOf(coder));
    let is_complete = coder.raw(1, u32::from(is_complete)) != 0;
    let number = nearest_of(newest, low, FAR_NUMBER_BITS);
    Name { number, back: merge.back, is_joined: false, merged: Some((merge, is_complete)) }
}

/// Of which slots of some chunks a part tells that does not tell of everything.
fn code_told(coder: &mut impl Head, chunks: Range<usize>, told: &Slots) -> Slots {
    const HALF: u32 = CHUNK_SLOTS as u32 / 2;
    let mut coded = Slots::default();
    for chunk in chunks {
        let told = told.chunks().get(chunk).copied().unwrap_or(0);
        if !coder.decide(TOLD_OF, told != 0) {
            continue;
        }
        let mut mask = u32::MAX;
        if !coder.decide(TOLD_WHOLE, told == u32::MAX) {
            mask = coder.raw(HALF, told >> HALF) << HALF;
            mask |= coder.raw(HALF, told & ((1 << HALF) - 1));
            if mask == 0 || mask == u32::MAX {
                coder.fail();
            }
        }
        coded.set_chunk(chunk, mask);
    }
    coded
}

/// Codes a number from a guess, within what it can be.
pub(super) fn code_near(
    coder: &mut impl Head,
    model: &NumberModel,
    value: u32,
    guess: u32,
    limits: (u32, u32),
) -> u32 {
    let missed = value.wrapping_sub(guess).cast_signed();
    let missed = model.code(coder, &Default::default(), missed);
    let value = i64::from(guess) + i64::from(missed);
    if (i64::from(limits.0)..=i64::from(limits.1)).contains(&value) {
        value as u32
    } else {
        coder.fail();
        limits.0
    }
}

fn code_said(coder: &mut impl Head, against: Against<'_>, back: u64, said: Said) -> Said {
    let models = &*MODELS;
    let base = against.told.map_or(Said::default(), |told| told.said);
    let tick = match against.told {
        Some(told) => {
            let guess = base.tick.saturating_add(told.pace.saturating_mul(back as u32));
            code_near(coder, &models.small, said.tick, guess, (base.tick, u32::MAX))
        }
        None => {
            let low = said.tick % TICK_COUNT;
            let high = coder.raw(TICK_LOW_BITS, low >> TICK_LOW_BITS);
            let low =
                high << TICK_LOW_BITS | coder.raw(TICK_LOW_BITS, low & ((1 << TICK_LOW_BITS) - 1));
            nearest_of(u64::from(against.newest_tick), low, 2 * TICK_LOW_BITS) as u32
        }
    };
    let more = said.repeated.wrapping_sub(base.repeated) % REPEATED_COUNT;
    let more = code_near(coder, &models.small, more, 0, (0, REPEATED_COUNT - 1));
    let repeated = (base.repeated + more) % REPEATED_COUNT;
    let received = code_near(coder, &models.small, said.received, base.received, (0, RECEIVED_MAX));
    let mut margin = 0;
    if coder.decide(TELLS_MARGIN, said.margin != 0) {
        let guess = if base.margin == 0 { MARGIN_USUAL } else { base.margin };
        margin = code_near(coder, &models.margin, said.margin, guess, (1, MARGIN_MAX));
    }
    Said { tick, repeated, margin, received }
}

fn code_heading(
    coder: &mut impl Head,
    against: Against<'_>,
    back: u64,
    heading: Heading,
) -> Heading {
    let said = code_said(coder, against, back, heading.said);
    let mut extra = heading.extra;
    if coder.decide(EXTRA, extra.is_some()) {
        extra = Some(code_extra(coder, extra.unwrap_or_default()));
    }
    let Range { start, end } = heading.chunks;
    let is_first = coder.decide(FROM_START, start == 0);
    let start = if is_first { 0 } else { coder.raw(CHUNK_BITS, start as u32) as usize };
    let is_known = coder.decide(AS_LONG, end == against.end);
    let end = if is_known { against.end } else { coder.raw(CHUNK_BITS, end as u32) as usize };
    let is_other = !is_first && start == 0 || !is_known && end == against.end;
    if is_other || end > CHUNKS_MAX || start > end {
        coder.fail();
        return Heading { said, chunks: 0..0, holds_back: false, foreseen: None, extra };
    }
    let holds_back = coder.decide(HOLDS_BACK, heading.holds_back);
    let is_foreseen =
        against.may_foresee(said.tick) && coder.decide(FORESEEN, heading.foreseen.is_some());
    let foreseen = is_foreseen.then(|| code_check(coder, heading.foreseen.unwrap_or_default()));
    Heading { said, chunks: start..end, holds_back, foreseen, extra }
}

/// What the rules foresee must come to, the higher half first.
fn code_check(coder: &mut impl Head, check: u32) -> u32 {
    const HALF_BITS: u32 = CHECK_BITS / 2;
    const { assert!(CHECK_BITS.is_multiple_of(2)) };
    let high = coder.raw(HALF_BITS, check >> HALF_BITS);
    high << HALF_BITS | coder.raw(HALF_BITS, check & ((1 << HALF_BITS) - 1))
}

/// Bits as they are, and how many.
pub(super) fn code_extra(
    coder: &mut impl Head,
    (mut bytes, bits): (Vec<u8>, usize),
) -> (Vec<u8>, usize) {
    let bits = coder.raw(EXTRA_BITS, bits as u32) as usize;
    if bits == 0 {
        coder.fail();
    }
    bytes.resize(bits.div_ceil(8), 0);
    let mut left = bits;
    for byte in &mut bytes {
        let count = left.min(8);
        left -= count;
        *byte = coder.raw(count as u32, u32::from(*byte)) as u8;
    }
    (bytes, bits)
}

/// All that is to be written of a part.
pub(crate) struct Outgoing<'a> {
    pub(crate) game_id: u8,
    pub(crate) name: Name,
    pub(crate) heading: Heading,
    pub(crate) against: Against<'a>,
    pub(crate) lineage: Past<Remembered<'a>>,
    pub(crate) truth: Remembered<'a>,
    pub(crate) held: &'a mut Slots,
    /// What the rules foresee, if the heading says so.
    pub(crate) foreseen: &'a Table,
    /// The slots that it tells of; all of its chunks if there is none.
    pub(crate) told_of: Option<&'a Slots>,
    pub(crate) bytes_max: usize,
}

impl Compact {
    /// Writes a part, unless it is longer than it may be.
    pub(crate) fn write_part(&mut self, layouts: &[Layout], part: Outgoing<'_>) -> Option<&[u8]> {
        let Outgoing { game_id, name, heading, against, lineage, truth, held, .. } = part;
        let (bytes_max, foreseen) = (part.bytes_max, part.foreseen);
        let mut encoder = Encoder::reusing(std::mem::take(&mut self.bytes));
        encoder.prefix(COMPACT | game_id);
        code_name(&mut encoder, name.number, name);
        let heading = code_heading(&mut encoder, against, name.back, heading);
        if let Some(told_of) = part.told_of {
            code_told(&mut encoder, heading.chunks.clone(), told_of);
        }
        let mut port = Writing { encoder, bytes_max };
        let held = heading.holds_back.then_some(held);
        Walk::new(layouts, &self.tables, lineage, &mut self.memory, &mut port)
            .foreseeing(heading.foreseen.map(|_| foreseen))
            .telling_of(part.told_of)
            .part(heading.chunks, Some(truth), None, held);
        let is_whole = !port.failed();
        self.bytes = port.encoder.finish();
        (is_whole && self.bytes.len() <= bytes_max).then_some(&self.bytes)
    }
}

/// A part that is being read: its name first, then what follows from the base it names.
pub(crate) struct Incoming<'a> {
    port: Reading<'a>,
    pub(crate) name: Name,
}

impl<'a> Incoming<'a> {
    /// Reads a name; `newest` is the newest part that came.
    pub(crate) fn new(message: &'a [u8], newest: u64) -> Result<Self, Malformed> {
        let body = message.get(1..).ok_or(Malformed)?;
        let mut port = Reading { decoder: Decoder::new(body), failed: false };
        let unknown = Name { number: 0, back: 0, is_joined: false, merged: None };
        let name = code_name(&mut port, newest, unknown);
        let is_lawful = name.number > 0 && name.back <= name.number && !port.failed();
        if is_lawful { Ok(Self { port, name }) } else { Err(Malformed) }
    }

    /// Reads what follows the name.
    pub(crate) fn heading(&mut self, against: Against<'_>) -> Result<Heading, Malformed> {
        let said = Said::default();
        let unknown =
            Heading { said, chunks: 0..0, holds_back: false, foreseen: None, extra: None };
        let heading = code_heading(&mut self.port, against, self.name.back, unknown);
        if self.port.failed() { Err(Malformed) } else { Ok(heading) }
    }

    /// Reads of which slots it tells, if it does not tell of everything.
    pub(crate) fn told_of(&mut self, chunks: Range<usize>) -> Result<Slots, Malformed> {
        let told = code_told(&mut self.port, chunks, &Slots::default());
        if self.port.failed() { Err(Malformed) } else { Ok(told) }
    }

    /// Reads the entities into `now`, a copy of the base, and who is held back; where only some slots are told of,
    /// `now` gets what changed of them.
    pub(crate) fn entities<'t>(
        mut self,
        compact: &mut Compact,
        layouts: &'t [Layout],
        heading: &Heading,
        (lineage, foreseen): (Past<&'t Table>, &'t Table),
        told_of: Option<&'t Slots>,
        (now, held): (&mut Table, &mut Slots),
    ) -> Result<(), Malformed> {
        let held = heading.holds_back.then_some(held);
        Walk::new(layouts, &compact.tables, lineage, &mut compact.memory, &mut self.port)
            .foreseeing(heading.foreseen.map(|_| foreseen))
            .telling_of(told_of)
            .part(heading.chunks.clone(), None, Some(now), held);
        if self.port.failed() { Err(Malformed) } else { self.port.decoder.finish() }
    }
}

/// Bits that are handed on as they are, written.
pub(crate) fn extra_of(bits: &mut BitWriter) -> (Vec<u8>, usize) {
    let count = bits.bits_written();
    (bits.finish().unwrap_or_default().to_vec(), count)
}
