//! Reads `CUB1`, cubes in a heap, each frame the changes to the last. Knows no other format.

use super::{
    Reader, RecordedEntity, RecordedField, RecordedKind, Recording, RecordingError, SLOTS_MAX,
    damaged,
};

use sametick::codec::compact::Hint;

pub(super) const MAGIC: &[u8] = b"CUB1";

const FRAMES_HZ: u32 = 60;
/// Six frames of start state come first: a packet's baseline is six frames, 100 ms, older.
const FIRST_MEASURED: usize = 6;
/// Only in this format may two bytes stand for a whole frame, so the product needs a limit. It is
/// three times what the 2836 frames of 901 cubes need.
const ENTITIES_MAX: u64 = 1 << 23;
/// The bits of a record's first byte that nothing uses.
const UNUSED_BITS: u8 = 0b0111_1100;

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Recording, RecordingError> {
    let header = Header::read(reader)?;
    let kinds = cube_kinds();
    let kind = &kinds[0];
    let mut cubes = Vec::new();
    let mut frames = Vec::new();
    for frame in 0..header.frames {
        reader.enter("frame", frame as usize);
        read_changes(reader, &header, kind, &mut cubes)?;
        frames.push(cubes.clone());
    }
    Ok(Recording {
        format: "cubes",
        snapshots_hz: FRAMES_HZ,
        kinds,
        baselines: Vec::new(),
        frames,
        first_measured: FIRST_MEASURED,
        exact: None,
    })
}

struct Header {
    frames: u32,
    cubes: u32,
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Result<Self, RecordingError> {
        reader.take(MAGIC.len())?;
        let (frames, cubes, frames_hz) = (reader.u32()?, reader.u32()?, reader.u32()?);
        if !(1..=SLOTS_MAX).contains(&cubes) {
            let problem = format!("the cubes should be 1 to {SLOTS_MAX}, but are {cubes}");
            return Err(damaged(8, problem));
        }
        if u64::from(frames) * u64::from(cubes) > ENTITIES_MAX {
            let problem = format!(
                "{frames} frames of {cubes} cubes are more than the {ENTITIES_MAX} cubes in all \
                 that this program reads"
            );
            return Err(RecordingError { offset: 4, problem });
        }
        if frames_hz != FRAMES_HZ {
            let problem = format!("a second should have {FRAMES_HZ} frames, but has {frames_hz}");
            return Err(damaged(12, problem));
        }
        Ok(Self { frames, cubes })
    }
}

/// Cube 0 is the player's, which pushes and pulls the others.
const PLAYER_CUBE: u16 = 0;
/// Cubes this near each other, in 1/512 metre, are likely to touch.
const NEAR: u32 = 400;

fn cube_kinds() -> Vec<RecordedKind> {
    // Orientation is three numbers of 9 bits by the format's definition, though stored in 16.
    let orientation = ["a", "b", "c"].map(|name| RecordedField::signed(name, 16).within(0, 511));
    // Position is 1/512 metre, so 16 bits reach 64 metres; the format has no walls.
    let position = ["x", "y", "z"].map(|name| RecordedField::signed(name, 16));
    let fields = [RecordedField::unsigned("interacting", 1), RecordedField::unsigned("largest", 2)];
    let fields: Vec<_> = fields.into_iter().chain(orientation).chain(position).collect();
    let hints = vec![Hint::Rotation { first: 1 }, Hint::Near { first: 5, radius: NEAR }];
    let leads = [&hints[..], &[Hint::Leads]].concat();
    let player = RecordedKind { name: "player", fields: fields.clone(), hints: leads };
    vec![RecordedKind { name: "cube", fields, hints }, player]
}

/// Applies one frame's records to the frame before; the first frame fills an empty list.
fn read_changes(
    reader: &mut Reader<'_>,
    header: &Header,
    kind: &RecordedKind,
    cubes: &mut Vec<RecordedEntity>,
) -> Result<(), RecordingError> {
    let offset = reader.offset;
    let records = u32::from(reader.u16()?);
    if cubes.is_empty() && records != header.cubes {
        let all = header.cubes;
        let problem = format!("the first frame should hold all {all} cubes, but holds {records}");
        return Err(damaged(offset, problem));
    }
    let mut next = 0;
    for _ in 0..records {
        let offset = reader.offset;
        let cube = read_cube(reader, kind)?;
        let (slot, end) = (u32::from(cube.slot), header.cubes);
        if !(next..end).contains(&slot) {
            let problem =
                format!("the cube's number should be within {next}..{end}, but is {slot}");
            return Err(damaged(offset, problem));
        }
        next = slot + 1;
        match cubes.get_mut(usize::from(cube.slot)) {
            Some(present) => *present = cube,
            // In the first frame as many ascend as there are, so none can be left out.
            None => cubes.push(cube),
        }
    }
    Ok(())
}

fn read_cube(
    reader: &mut Reader<'_>,
    kind: &RecordedKind,
) -> Result<RecordedEntity, RecordingError> {
    let slot = reader.u16()?;
    let offset = reader.offset;
    let packed = reader.u8()?;
    if packed & UNUSED_BITS != 0 {
        let problem =
            format!("bits 2 to 6 of the cube's first byte should be 0, but it is {packed:#04X}");
        return Err(damaged(offset, problem));
    }
    let (interacting, largest) = (u32::from(packed >> 7), u32::from(packed & 3));
    let mut values = vec![interacting, largest];
    for field in &kind.fields[values.len()..] {
        values.push(reader.value(kind, field)?);
    }
    Ok(RecordedEntity { slot, kind: u8::from(slot == PLAYER_CUBE), values: values.into() })
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::super::tests::{check_damage, check_error};
    use super::*;

    const NOTHING: &[[i16; 8]] = &[];

    /// Writes frames of records: cube, first byte, a, b, c, x, y, z.
    fn file(cubes: u32, frames: &[&[[i16; 8]]]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        for word in [frames.len() as u32, cubes, FRAMES_HZ] {
            file.extend(word.to_le_bytes());
        }
        for records in frames {
            file.extend((records.len() as u16).to_le_bytes());
            for [cube, packed, numbers @ ..] in *records {
                file.extend(cube.to_le_bytes());
                file.push(*packed as u8);
                file.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
        }
        file
    }

    fn good_file() -> Vec<u8> {
        let start: &[[i16; 8]] = &[
            [0, 0x83, 0, 511, 255, -32768, 32767, 0],
            [1, 0x00, 1, 2, 3, 4, 5, 6],
            [2, 0x01, 7, 8, 9, -1, -2, -3],
        ];
        let first: &[[i16; 8]] = &[[1, 0x82, 3, 2, 1, 40, 50, 60]];
        let second: &[[i16; 8]] = &[[0, 0x02, 1, 1, 1, 1, 1, 1], [2, 0x01, 7, 8, 9, -1, -2, -4]];
        file(3, &[start, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, first, second])
    }

    #[test]
    fn each_frame_holds_every_cube() {
        let recording = read(&good_file()).unwrap();
        assert_eq!((recording.format, recording.snapshots_hz), ("cubes", 60));
        assert_eq!((recording.frames.len(), recording.first_measured), (8, 6));
        let integers = |frame: usize, slot: u16| -> Vec<i64> {
            let cube = &recording.frames[frame][usize::from(slot)];
            assert_eq!((cube.slot, cube.kind), (slot, u8::from(slot == 0)));
            let fields = recording.kinds[0].fields.iter();
            fields.zip(&*cube.values).map(|(field, raw)| field.integer(*raw)).collect()
        };
        assert!(recording.frames.iter().all(|frame| frame.len() == 3));
        assert_eq!(integers(5, 0), [1, 3, 0, 511, 255, -32768, 32767, 0]);
        assert_eq!(integers(5, 1), [0, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(integers(7, 1), [1, 2, 3, 2, 1, 40, 50, 60]);
        assert_eq!(integers(7, 2), [0, 1, 7, 8, 9, -1, -2, -4]);
    }

    #[test]
    fn damage_is_noticed_and_never_panics() {
        check_damage(&good_file());
    }

    #[test]
    fn errors_tell_where_and_what() {
        let check = |cubes: u32, frames: &[&[[i16; 8]]], sentence: &str| {
            check_error(&file(cubes, frames), sentence);
        };
        let zero = |cube: i16| [cube, 0, 0, 0, 0, 0, 0, 0];
        let good = good_file();
        check_error(&good[..15], "at byte 15: the file ends inside the header");
        check_error(&good[..good.len() - 1], "at byte 121: the file ends inside frame 7");
        check(1, &[&[zero(0)]], "at byte 33: too few frames: 1, but measuring starts after 6");
        check(
            2,
            &[&[zero(0)]],
            "at byte 16: the first frame should hold all 2 cubes, but holds 1; the file is damaged",
        );
        check(
            2,
            &[&[zero(1), zero(0)]],
            "at byte 33: the cube's number should be within 2..2, but is 0; the file is damaged",
        );
        check(
            1,
            &[&[[0, 0x84, 0, 0, 0, 0, 0, 0]]],
            "at byte 20: bits 2 to 6 of the cube's first byte should be 0, but it is 0x84; \
             the file is damaged",
        );
        check(
            1,
            &[&[[0, 0, 0, -1, 0, 0, 0, 0]]],
            "at byte 23: the cube's b should be within 0..=511, but is -1; the file is damaged",
        );
    }

    #[test]
    fn a_small_file_cannot_ask_for_much_memory() {
        let mut file = file(4096, &[]);
        file[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        check_error(
            &file,
            "at byte 4: 4294967295 frames of 4096 cubes are more than the 8388608 cubes in all \
             that this program reads",
        );
    }
}
