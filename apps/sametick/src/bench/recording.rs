//! Reads a recorded game whole into frames of raw values. Knows nothing of how they are coded.

mod arena;
mod cubes;
mod quake;

use sametick::codec::compact::Hint;
use std::fmt;
use std::sync::Arc;

/// The most entities one frame may hold: as many as a world has slots.
const SLOTS_MAX: u32 = sametick::ENTITY_SLOTS_MAX as u32;

/// One recording, read whole and checked.
#[derive(Debug)]
pub(crate) struct Recording {
    /// `arena`, `cubes` or `quake3`.
    pub format: &'static str,
    /// How many frames make a second.
    pub snapshots_hz: u32,
    /// What entities there are; an entity's `kind` is an index into this.
    pub kinds: Vec<RecordedKind>,
    /// What both sides know before the first frame, ascending by slot; only Quake has any.
    pub baselines: Vec<RecordedEntity>,
    /// One per snapshot: every entity that is present, ascending by slot.
    pub frames: Vec<Vec<RecordedEntity>>,
    /// The index of the first frame whose size counts; there always is one.
    pub first_measured: usize,
    /// The same frames before they were quantised; only the arena has them.
    pub exact: Option<Exact>,
}

/// The frames of a recording as the game itself held them, with their own kinds.
#[derive(Debug)]
pub(crate) struct Exact {
    pub kinds: Vec<RecordedKind>,
    pub frames: Vec<Vec<RecordedEntity>>,
}

/// A sort of entity: the fields that each of its entities has, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedKind {
    pub name: &'static str,
    pub fields: Vec<RecordedField>,
    /// What predicts what.
    pub hints: Vec<Hint>,
}

/// One field. Every value of a recording lies within `low..=high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedField {
    pub name: String,
    pub kind: RecordedFieldKind,
    /// The least value that the rules of the format allow; 0 for a float, whose bits are free.
    pub low: i64,
    /// The greatest value that the rules of the format allow; `u32::MAX` for a float.
    pub high: i64,
}

/// What a field's raw 32 bits mean, with the width in bits that the format gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedFieldKind {
    /// The bits of an IEEE float, any pattern.
    Float,
    Unsigned(u32),
    /// Two's complement, sign-extended to 32 bits.
    Signed(u32),
}

/// One entity in one frame. Copies share their values: most entities rest most of the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedEntity {
    pub slot: u16,
    pub kind: u8,
    /// One raw value for each field of the kind.
    pub values: Arc<[u32]>,
}

/// Why a file cannot be read: one sentence and the byte that it is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordingError {
    pub offset: usize,
    pub problem: String,
}

/// Reads any of the three formats, told apart by their first bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Recording, RecordingError> {
    let mut reader = Reader::new(bytes);
    let recording = if bytes.starts_with(arena::MAGIC) {
        arena::read(&mut reader)?
    } else if bytes.starts_with(cubes::MAGIC) {
        cubes::read(&mut reader)?
    } else if bytes.starts_with(quake::MAGIC) {
        quake::read(&mut reader)?
    } else {
        let problem = "not a recording this program knows (ARENA001, CUB1 and Q3S1 are)".into();
        return Err(RecordingError { offset: 0, problem });
    };
    reader.finish()?;
    // Whoever measures divides by the number of frames.
    let (frames, first) = (recording.frames.len(), recording.first_measured);
    if frames <= first {
        let problem = format!("too few frames: {frames}, but measuring starts after {first}");
        return Err(RecordingError { offset: bytes.len(), problem });
    }
    Ok(recording)
}

impl RecordedField {
    /// What a raw value of this field stands for; a float's bits stand for themselves.
    pub(crate) fn integer(&self, raw: u32) -> i64 {
        match self.kind {
            RecordedFieldKind::Signed(_) => i64::from(raw.cast_signed()),
            RecordedFieldKind::Float | RecordedFieldKind::Unsigned(_) => i64::from(raw),
        }
    }

    fn float(name: impl Into<String>) -> Self {
        let (kind, high) = (RecordedFieldKind::Float, i64::from(u32::MAX));
        Self { name: name.into(), kind, low: 0, high }
    }

    fn unsigned(name: impl Into<String>, bits: u32) -> Self {
        assert!((1..=32).contains(&bits));
        let kind = RecordedFieldKind::Unsigned(bits);
        Self { name: name.into(), kind, low: 0, high: (1 << bits) - 1 }
    }

    fn signed(name: impl Into<String>, bits: u32) -> Self {
        assert!((1..=32).contains(&bits));
        let (kind, half) = (RecordedFieldKind::Signed(bits), 1 << (bits - 1));
        Self { name: name.into(), kind, low: -half, high: half - 1 }
    }

    /// Narrows the range to what the rules allow within the width.
    fn within(self, low: i64, high: i64) -> Self {
        assert!(self.low <= low && low <= high && high <= self.high);
        Self { low, high, ..self }
    }
}

impl fmt::Display for RecordingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at byte {}: {}", self.offset, self.problem)
    }
}

impl std::error::Error for RecordingError {}

/// Takes little-endian numbers from the front of a file and remembers where it is.
struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// What is being read, for the sentence that says that the file ended inside it.
    part: &'static str,
    part_number: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0, part: "the header", part_number: None }
    }

    /// Says what is read from here on, such as frame 12.
    fn enter(&mut self, part: &'static str, number: usize) {
        (self.part, self.part_number) = (part, Some(number));
    }

    /// Takes one value of a record, stored in the fewest of 1, 2 or 4 bytes that hold its width.
    fn value(&mut self, kind: &RecordedKind, field: &RecordedField) -> Result<u32, RecordingError> {
        use RecordedFieldKind::{Float, Signed, Unsigned};
        let offset = self.offset;
        let raw = match field.kind {
            Unsigned(..=8) => u32::from(self.u8()?),
            Unsigned(..=16) => u32::from(self.u16()?),
            Signed(..=8) => i32::from(self.u8()?.cast_signed()).cast_unsigned(),
            Signed(..=16) => i32::from(self.u16()?.cast_signed()).cast_unsigned(),
            Float | Unsigned(_) | Signed(_) => self.u32()?,
        };
        lawful(kind, field, offset, raw)
    }

    fn u8(&mut self) -> Result<u8, RecordingError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, RecordingError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, RecordingError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, RecordingError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordingError> {
        let Some(array) = self.rest().first_chunk::<N>() else { return Err(self.ended()) };
        self.offset += N;
        Ok(*array)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], RecordingError> {
        let Some(bytes) = self.rest().get(..count) else { return Err(self.ended()) };
        self.offset += count;
        Ok(bytes)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    fn ended(&self) -> RecordingError {
        let number = self.part_number.map(|number| format!(" {number}")).unwrap_or_default();
        let problem = format!("the file ends inside {}{number}", self.part);
        RecordingError { offset: self.bytes.len(), problem }
    }

    /// Checks that nothing is left over.
    fn finish(&self) -> Result<(), RecordingError> {
        match self.rest().len() {
            0 => Ok(()),
            count => Err(damaged(self.offset, format!("{count} bytes follow the recording's end"))),
        }
    }
}

/// Lets a value pass that lies within its field's range.
fn lawful(
    kind: &RecordedKind,
    field: &RecordedField,
    offset: usize,
    raw: u32,
) -> Result<u32, RecordingError> {
    let integer = field.integer(raw);
    if (field.low..=field.high).contains(&integer) {
        return Ok(raw);
    }
    let (kind, RecordedField { name, low, high, .. }) = (kind.name, field);
    let problem = format!("the {kind}'s {name} should be within {low}..={high}, but is {integer}");
    Err(damaged(offset, problem))
}

fn damaged(offset: usize, problem: String) -> RecordingError {
    RecordingError { offset, problem: problem + "; the file is damaged" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a file is refused with exactly this sentence.
    pub(super) fn check_error(bytes: &[u8], sentence: &str) {
        assert_eq!(read(bytes).expect_err("a damaged file").to_string(), sentence);
    }

    /// Cuts a good file at every byte and flips every byte in nine ways. A cut must be noticed;
    /// a flip may go unnoticed, but must never panic nor blame a byte beyond the end.
    pub(super) fn check_damage(file: &[u8]) {
        read(file).expect("the whole file is good");
        for length in 0..file.len() {
            let error = read(&file[..length]).expect_err("a file cut short");
            assert!(error.offset <= length, "cut at {length}: {error}");
        }
        let mut flipped = file.to_vec();
        for index in 0..file.len() {
            for mask in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                flipped[index] = file[index] ^ mask;
                if let Err(error) = read(&flipped) {
                    assert!(error.offset <= file.len(), "byte {index} ^ {mask}: {error}");
                }
            }
            flipped[index] = file[index];
        }
        let longer = [file, &[0]].concat();
        assert!(read(&longer).is_err(), "a byte too many goes unnoticed");
    }

    #[test]
    fn unknown_files_are_named_as_such() {
        let sentence =
            "at byte 0: not a recording this program knows (ARENA001, CUB1 and Q3S1 are)";
        for file in ["", "C", "CUB2", "ARENA002 and more", "\0\0\0\0\0\0\0\0"] {
            check_error(file.as_bytes(), sentence);
        }
    }

    #[test]
    fn integers_follow_the_kind_of_their_field() {
        let check = |field: RecordedField, raw: u32, integer: i64, low: i64, high: i64| {
            assert_eq!((field.integer(raw), field.low, field.high), (integer, low, high));
        };
        check(RecordedField::unsigned("", 1), 1, 1, 0, 1);
        check(RecordedField::unsigned("", 32), u32::MAX, 0xFFFF_FFFF, 0, 0xFFFF_FFFF);
        check(RecordedField::signed("", 16), u32::MAX, -1, -32768, 32767);
        check(RecordedField::signed("", 32), 1 << 31, -(1 << 31), -(1 << 31), (1 << 31) - 1);
        check(RecordedField::signed("", 16).within(-5, 7), 7, 7, -5, 7);
        check(RecordedField::float(""), u32::MAX, 0xFFFF_FFFF, 0, 0xFFFF_FFFF);
    }
}
