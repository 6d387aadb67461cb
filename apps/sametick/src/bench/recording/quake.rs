//! Reads `Q3S1`, a Quake III deathmatch as its client saw it. Knows nothing of other formats.

use super::{
    Reader, RecordedEntity, RecordedField, RecordedKind, Recording, RecordingError, damaged, lawful,
};
use sametick::codec::compact::Hint;
use std::sync::Arc;

pub(super) const MAGIC: &[u8] = b"Q3S1";

const VERSION: u32 = 1;
const SNAPSHOTS_HZ: u32 = 20;
const ENTITY_FIELDS: u16 = 51;
const PLAYER_FIELDS: u16 = 112;
const ENTITY_KIND: u8 = 0;
const PLAYER_KIND: u8 = 1;
/// The player's own state has no number. Quake numbers entities with 10 bits, so this is free.
const PLAYER_SLOT: u16 = 1024;

const SNAPSHOT_MARK: u8 = 0xA5;
const END_MARK: u8 = 0x5A;
/// Message number, time, Quake's own baseline, flags, and what Quake spent in bytes and bits:
/// they tell of Quake's coder rather than of the game.
const SNAPSHOT_HEADER_BYTES: usize = 4 + 4 + 1 + 1 + 2 + 4 * 4;

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Recording, RecordingError> {
    read_header(reader)?;
    let entity = read_kind(reader, "entity", ENTITY_FIELDS)?;
    let player = read_kind(reader, "player", PLAYER_FIELDS)?;
    let baselines = read_entities(reader, &entity, &[])?;
    let mut frames: Vec<Vec<RecordedEntity>> = Vec::new();
    let mut player_values = zeros(&player);
    loop {
        reader.enter("snapshot", frames.len());
        if !read_mark(reader)? {
            break;
        }
        reader.take(SNAPSHOT_HEADER_BYTES)?;
        let area_bytes = reader.u8()?;
        reader.take(usize::from(area_bytes))?;
        player_values = read_changes(reader, &player, &player_values)?;
        let previous = frames.last().map(Vec::as_slice).unwrap_or_default();
        let mut frame = read_entities(reader, &entity, previous)?;
        let values = Arc::clone(&player_values);
        frame.push(RecordedEntity { slot: PLAYER_SLOT, kind: PLAYER_KIND, values });
        frames.push(frame);
    }
    Ok(Recording {
        format: "quake3",
        snapshots_hz: SNAPSHOTS_HZ,
        kinds: vec![entity, player],
        baselines,
        frames,
        first_measured: 0,
        exact: None,
    })
}

fn read_header(reader: &mut Reader<'_>) -> Result<(), RecordingError> {
    reader.take(MAGIC.len())?;
    let version = reader.u32()?;
    if version != VERSION {
        let problem = format!("version {version} is not known, only {VERSION} is");
        return Err(RecordingError { offset: 4, problem });
    }
    for (what, expected) in [("an entity", ENTITY_FIELDS), ("a player", PLAYER_FIELDS)] {
        let (offset, count) = (reader.offset, reader.u16()?);
        if count != expected {
            let problem = format!("{what} should have {expected} fields, but has {count}");
            return Err(damaged(offset, problem));
        }
    }
    Ok(())
}

fn read_kind(
    reader: &mut Reader<'_>,
    name: &'static str,
    field_count: u16,
) -> Result<RecordedKind, RecordingError> {
    let fields = (0..field_count).map(|_| read_field(reader)).collect::<Result<Vec<_>, _>>()?;
    let hints = hints(&fields);
    Ok(RecordedKind { name, fields, hints })
}

/// Which fields are the velocities of which, and what an entity's nature is told by.
fn hints(fields: &[RecordedField]) -> Vec<Hint> {
    let find = |name: &str| fields.iter().position(|field| field.name == name);
    let mut hints = Vec::new();
    let pairs =
        [("pos.trDelta", "pos.trBase"), ("velocity", "origin"), ("apos.trDelta", "apos.trBase")];
    for (rate, of) in pairs {
        for axis in 0..3 {
            let found = find(&format!("{rate}[{axis}]")).zip(find(&format!("{of}[{axis}]")));
            hints.extend(found.map(|(rate, of)| Hint::RateOf { rate, of }));
        }
    }
    hints.extend(["eType", "weapon"].into_iter().filter_map(find).map(|word| Hint::Tag { word }));
    hints
}

fn read_field(reader: &mut Reader<'_>) -> Result<RecordedField, RecordingError> {
    let offset = reader.offset;
    let name_bytes = reader.u8()?;
    let name = reader.take(usize::from(name_bytes))?;
    let name = match str::from_utf8(name) {
        Ok(name) if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()) => name,
        _ => return Err(damaged(offset, "a field's name should be printable ASCII".into())),
    };
    let offset = reader.offset;
    let bits = reader.u8()?.cast_signed();
    let width = u32::from(bits.unsigned_abs());
    match bits {
        0 => Ok(RecordedField::float(name)),
        1..=32 => Ok(RecordedField::unsigned(name, width)),
        -32..=-1 => Ok(RecordedField::signed(name, width)),
        _ => {
            let problem = format!("the width of {name} should be within -32..=32, but is {bits}");
            Err(damaged(offset, problem))
        }
    }
}

/// Tells whether another snapshot follows.
fn read_mark(reader: &mut Reader<'_>) -> Result<bool, RecordingError> {
    let offset = reader.offset;
    match reader.u8()? {
        SNAPSHOT_MARK => Ok(true),
        END_MARK => Ok(false),
        mark => {
            let problem = format!(
                "the snapshot mark should be {SNAPSHOT_MARK:#04X} or {END_MARK:#04X}, \
                 but is {mark:#04X}"
            );
            Err(damaged(offset, problem))
        }
    }
}

/// Reads all entities present, each as changes to the same number in `previous`, or to zero.
fn read_entities(
    reader: &mut Reader<'_>,
    kind: &RecordedKind,
    previous: &[RecordedEntity],
) -> Result<Vec<RecordedEntity>, RecordingError> {
    let count = reader.u16()?;
    let zeros = zeros(kind);
    let mut entities = Vec::new();
    let mut next = 0;
    for _ in 0..count {
        let (offset, slot) = (reader.offset, reader.u16()?);
        if !(next..PLAYER_SLOT).contains(&slot) {
            let problem = format!(
                "the entity's number should be within {next}..{PLAYER_SLOT}, but is {slot}"
            );
            return Err(damaged(offset, problem));
        }
        next = slot + 1;
        let before = match previous.binary_search_by_key(&slot, |entity| entity.slot) {
            Ok(index) => &previous[index].values,
            Err(_) => &zeros,
        };
        let values = read_changes(reader, kind, before)?;
        entities.push(RecordedEntity { slot, kind: ENTITY_KIND, values });
    }
    Ok(entities)
}

fn zeros(kind: &RecordedKind) -> Arc<[u32]> {
    kind.fields.iter().map(|_| 0).collect()
}

/// Reads the fields that differ from `before`; without any, the values stay shared.
fn read_changes(
    reader: &mut Reader<'_>,
    kind: &RecordedKind,
    before: &Arc<[u32]>,
) -> Result<Arc<[u32]>, RecordingError> {
    let mut values = Arc::clone(before);
    let count = reader.u8()?;
    for _ in 0..count {
        let (offset, index) = (reader.offset, usize::from(reader.u8()?));
        let Some(field) = kind.fields.get(index) else {
            let (name, end) = (kind.name, kind.fields.len());
            let problem = format!("the {name}'s field should be within 0..{end}, but is {index}");
            return Err(damaged(offset, problem));
        };
        let offset = reader.offset;
        Arc::make_mut(&mut values)[index] = lawful(kind, field, offset, reader.u32()?)?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_damage, check_error};
    use super::super::{RecordedFieldKind, read};
    use super::*;

    type Changes<'a> = &'a [(u8, u32)];
    type Entities<'a> = &'a [(u16, Changes<'a>)];

    /// Field 0 is a float, 1 has 10 bits, 2 is signed with 16, 3 has 32, and so on around.
    const WIDTHS: [i8; 4] = [0, 10, -16, 32];
    const MINUS_ONE: u32 = u32::MAX;

    fn file(baselines: Entities, snapshots: &[(Changes, Entities)]) -> Vec<u8> {
        let mut file = header();
        write_entities(&mut file, baselines);
        for (player, entities) in snapshots {
            file.push(SNAPSHOT_MARK);
            file.extend([0; SNAPSHOT_HEADER_BYTES]);
            file.extend([2, 0xFF, 0xFF]);
            write_changes(&mut file, player);
            write_entities(&mut file, entities);
        }
        file.push(END_MARK);
        file
    }

    fn header() -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend(ENTITY_FIELDS.to_le_bytes());
        file.extend(PLAYER_FIELDS.to_le_bytes());
        for count in [ENTITY_FIELDS, PLAYER_FIELDS] {
            for index in 0..usize::from(count) {
                let name = format!("f{index}");
                file.push(name.len() as u8);
                file.extend(name.as_bytes());
                file.push(WIDTHS[index % WIDTHS.len()].cast_unsigned());
            }
        }
        file
    }

    fn write_entities(file: &mut Vec<u8>, entities: Entities) {
        file.extend((entities.len() as u16).to_le_bytes());
        for (number, changes) in entities {
            file.extend(number.to_le_bytes());
            write_changes(file, changes);
        }
    }

    fn write_changes(file: &mut Vec<u8>, changes: Changes) {
        file.push(changes.len() as u8);
        for (field, value) in changes {
            file.push(*field);
            file.extend(value.to_le_bytes());
        }
    }

    fn good_file() -> Vec<u8> {
        let baselines: Entities = &[(5, &[(1, 1023)]), (1023, &[])];
        file(
            baselines,
            &[
                (&[(111, 7), (2, MINUS_ONE)], &[(3, &[(0, 0x7FC0_0000)]), (9, &[(3, MINUS_ONE)])]),
                (&[], &[(3, &[]), (5, &[(50, 4)]), (9, &[(1, 2)])]),
                (&[(2, 0)], &[(5, &[])]),
                (&[], &[(3, &[]), (9, &[(6, 32767)])]),
            ],
        )
    }

    #[test]
    fn changes_add_up_to_whole_entities() {
        let recording = read(&good_file()).unwrap();
        assert_eq!((recording.format, recording.snapshots_hz), ("quake3", 20));
        assert_eq!((recording.frames.len(), recording.first_measured), (4, 0));
        let slots = |frame: usize| -> Vec<(u16, u8)> {
            recording.frames[frame].iter().map(|entity| (entity.slot, entity.kind)).collect()
        };
        let value =
            |frame: usize, index: usize, field: usize| recording.frames[frame][index].values[field];
        assert_eq!(slots(1), [(3, 0), (5, 0), (9, 0), (1024, 1)]);
        assert_eq!(slots(2), [(5, 0), (1024, 1)]);
        // Entity 3 rests, then is away for a frame, then comes back from zero.
        let floats = [value(0, 0, 0), value(1, 0, 0), value(3, 0, 0)];
        assert_eq!(floats, [0x7FC0_0000, 0x7FC0_0000, 0]);
        assert_eq!([value(1, 2, 3), value(1, 2, 1), value(3, 1, 3)], [MINUS_ONE, 2, 0]);
        assert_eq!([value(1, 3, 2), value(2, 1, 2), value(3, 2, 111)], [MINUS_ONE, 0, 7]);
        assert_eq!(recording.baselines.len(), 2);
        assert_eq!((recording.baselines[0].slot, recording.baselines[0].values[1]), (5, 1023));
    }

    #[test]
    fn fields_are_as_the_file_describes_them() {
        let kinds = read(&good_file()).unwrap().kinds;
        assert_eq!((kinds[0].name, kinds[0].fields.len()), ("entity", 51));
        assert_eq!((kinds[1].name, kinds[1].fields.len()), ("player", 112));
        let described: Vec<_> = kinds[1].fields[..4].iter().map(|field| field.kind).collect();
        use RecordedFieldKind::{Float, Signed, Unsigned};
        assert_eq!(described, [Float, Unsigned(10), Signed(16), Unsigned(32)]);
        assert_eq!(kinds[0].fields[50].name, "f50");
    }

    #[test]
    fn damage_is_noticed_and_never_panics() {
        check_damage(&good_file());
    }

    #[test]
    fn errors_tell_where_and_what() {
        let base = header().len() + 2;
        let good = file(&[], &[(&[], &[])]);
        let check = |entities: Entities, offset: usize, problem: &str| {
            let sentence = format!("at byte {}: {problem}; the file is damaged", base + offset);
            check_error(&file(entities, &[]), &sentence);
        };
        check(&[(7, &[]), (7, &[])], 3, "the entity's number should be within 8..1024, but is 7");
        check(&[(1024, &[])], 0, "the entity's number should be within 0..1024, but is 1024");
        check(&[(1, &[(51, 0)])], 3, "the entity's field should be within 0..51, but is 51");
        check(&[(1, &[(1, 1024)])], 4, "the entity's f1 should be within 0..=1023, but is 1024");
        check(
            &[(1, &[(2, 32768)])],
            4,
            "the entity's f2 should be within -32768..=32767, but is 32768",
        );
        let cut = &good[..good.len() - 1];
        check_error(cut, &format!("at byte {}: the file ends inside snapshot 1", cut.len()));
        let unmarked = [cut, &[0x17]].concat();
        check_error(
            &unmarked,
            &format!(
                "at byte {}: the snapshot mark should be 0xA5 or 0x5A, but is 0x17; \
                 the file is damaged",
                cut.len()
            ),
        );
        let sentence =
            format!("at byte {}: too few frames: 0, but measuring starts after 0", base + 1);
        check_error(&file(&[], &[]), &sentence);
        check_header_errors(&good);
    }

    fn check_header_errors(good: &[u8]) {
        let check = |offset: usize, byte: u8, sentence: &str| {
            let mut file = good.to_vec();
            file[offset] = byte;
            check_error(&file, sentence);
        };
        check(4, 2, "at byte 4: version 2 is not known, only 1 is");
        check(
            10,
            111,
            "at byte 10: a player should have 112 fields, but has 111; the file is damaged",
        );
        check(13, 0, "at byte 12: a field's name should be printable ASCII; the file is damaged");
        check(
            15,
            33,
            "at byte 15: the width of f0 should be within -32..=32, but is 33; \
             the file is damaged",
        );
        check_error(&good[..40], "at byte 40: the file ends inside the header");
    }
}
