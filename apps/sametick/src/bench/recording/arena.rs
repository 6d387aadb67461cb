//! Reads `ARENA001`, players who run about, exact and quantised. Knows nothing of other formats.

use super::{
    Exact, Reader, RecordedEntity, RecordedField, RecordedKind, Recording, RecordingError,
    SLOTS_MAX, damaged,
};

use sametick::codec::compact::Hint;

pub(super) const MAGIC: &[u8] = b"ARENA001";

const TICKS_HZ: u32 = 60;
/// The task sends at 20 Hz, on the ticks 3, 6, 9 and so on, as the other libraries' runs do.
const TICKS_PER_SNAPSHOT: u32 = 3;

const HEADER_BYTES: u64 = 32;
const EXACT_BYTES: u64 = 38;
const QUANTISED_BYTES: u64 = 22;
const CHECKSUM_BYTES: u64 = 8;

/// The arena is 4096 units wide, and a step of position is 1/8 unit.
const POSITION_MAX: i64 = 4096 * 8;
/// Nobody outruns 320 units a second nor falls faster than a jump of 270 does, and the workload's
/// own test promises less than 600: these are the 11 bits that hold the promise.
const VELOCITY_MIN: i64 = -1024;
const VELOCITY_MAX: i64 = 1023;
/// Pitch is clamped to 1.4 radians, which is 14602.5 of the 65536 parts of a turn.
const PITCH_MAX: i64 = 14603;
/// The largest magazine.
const AMMO_MAX: i64 = 200;

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Recording, RecordingError> {
    let header = Header::read(reader)?;
    let exact_kinds = kinds(&header, exact_fields);
    let quantised_kinds = kinds(&header, quantised_fields);
    let exact_frames = read_block(reader, &header, &exact_kinds)?;
    let exact_end = reader.offset;
    let frames = read_block(reader, &header, &quantised_kinds)?;
    check_last_tick(reader, &header, exact_end)?;
    Ok(Recording {
        format: "arena",
        snapshots_hz: TICKS_HZ / TICKS_PER_SNAPSHOT,
        kinds: quantised_kinds,
        baselines: Vec::new(),
        frames,
        first_measured: 0,
        exact: Some(Exact { kinds: exact_kinds, frames: exact_frames }),
    })
}

struct Header {
    players: u32,
    props: u32,
    ticks: u32,
}

impl Header {
    /// Reads the header and checks that the file is as long as it promises.
    fn read(reader: &mut Reader<'_>) -> Result<Self, RecordingError> {
        reader.take(MAGIC.len())?;
        let (players, props) = (reader.u32()?, reader.u32()?);
        let (ticks, ticks_hz) = (reader.u32()?, reader.u32()?);
        let _seed = reader.u64()?;
        let entities = u64::from(players) + u64::from(props);
        if !(1..=u64::from(SLOTS_MAX)).contains(&entities) {
            let problem =
                format!("players and props should be 1 to {SLOTS_MAX}, but are {entities}");
            return Err(damaged(8, problem));
        }
        if ticks == 0 {
            return Err(damaged(16, "there should be a tick at least".into()));
        }
        if ticks_hz != TICKS_HZ {
            let problem = format!("a second should have {TICKS_HZ} ticks, but has {ticks_hz}");
            return Err(damaged(20, problem));
        }
        let records = entities * u64::from(ticks);
        let promised = HEADER_BYTES + records * (EXACT_BYTES + QUANTISED_BYTES) + CHECKSUM_BYTES;
        if (reader.bytes.len() as u64) < promised {
            let problem = format!("the file ends, but its header promises {promised} bytes");
            return Err(RecordingError { offset: reader.bytes.len(), problem });
        }
        Ok(Self { players, props, ticks })
    }

    fn entities(&self) -> u32 {
        self.players + self.props
    }
}

/// The kinds of entities; a player is what it is by its place in the tick.
fn kinds(
    header: &Header,
    fields: fn(Vec<RecordedField>) -> Vec<RecordedField>,
) -> Vec<RecordedKind> {
    let mut kinds =
        vec![RecordedKind { name: "player", fields: fields(player_fields()), hints: hints() }];
    if header.props > 0 {
        kinds.push(RecordedKind { name: "prop", fields: fields(prop_fields()), hints: hints() });
    }
    kinds
}

/// The three velocities behind the three positions.
fn hints() -> Vec<Hint> {
    (0..3).map(|axis| Hint::RateOf { rate: axis + 3, of: axis }).collect()
}

/// A player has 100 health at most, one of eight weapons and of three animations that count from
/// 1, and three flags: on the ground, firing, hurt.
fn player_fields() -> Vec<RecordedField> {
    small_fields(100, 7, 3, 7)
}

/// A prop's health is any byte, its weapon one of 16 looks, its animation wraps around, and its
/// flags count in the upper four bits.
fn prop_fields() -> Vec<RecordedField> {
    small_fields(255, 15, 255, 255)
}

/// The fields that are the same whether quantised or not.
fn small_fields(health: i64, weapon: i64, animation: i64, flags: i64) -> Vec<RecordedField> {
    vec![
        RecordedField::unsigned("health", 8).within(0, health),
        RecordedField::unsigned("weapon", 8).within(0, weapon),
        RecordedField::unsigned("ammo", 16).within(0, AMMO_MAX),
        RecordedField::unsigned("animation", 8).within(0, animation),
        RecordedField::unsigned("flags", 8).within(0, flags),
    ]
}

/// Block A: everything that moves is a float.
fn exact_fields(small_fields: Vec<RecordedField>) -> Vec<RecordedField> {
    let names = AXES.map(|axis| format!("position_{axis}")).into_iter();
    let names = names.chain(AXES.map(|axis| format!("velocity_{axis}")));
    let names = names.chain(["yaw".into(), "pitch".into()]);
    names.map(RecordedField::float).chain(small_fields).collect()
}

/// Block B: position in 1/8 unit, velocity in units a second, angles in 1/65536 turn.
fn quantised_fields(small_fields: Vec<RecordedField>) -> Vec<RecordedField> {
    let position = AXES.map(|axis| {
        RecordedField::unsigned(format!("position_{axis}"), 16).within(0, POSITION_MAX)
    });
    let velocity = AXES.map(|axis| {
        let field = RecordedField::signed(format!("velocity_{axis}"), 16);
        field.within(VELOCITY_MIN, VELOCITY_MAX)
    });
    let angles = [
        RecordedField::signed("yaw", 16),
        RecordedField::signed("pitch", 16).within(-PITCH_MAX, PITCH_MAX),
    ];
    position.into_iter().chain(velocity).chain(angles).chain(small_fields).collect()
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// Reads and checks every tick of a block and keeps those that are snapshots.
fn read_block(
    reader: &mut Reader<'_>,
    header: &Header,
    kinds: &[RecordedKind],
) -> Result<Vec<Vec<RecordedEntity>>, RecordingError> {
    let mut frames = Vec::new();
    for tick in 1..=header.ticks {
        let keep = tick.is_multiple_of(TICKS_PER_SNAPSHOT);
        let frame = read_tick(reader, header, kinds, keep)?;
        if keep {
            frames.push(frame);
        }
    }
    Ok(frames)
}

fn read_tick(
    reader: &mut Reader<'_>,
    header: &Header,
    kinds: &[RecordedKind],
    keep: bool,
) -> Result<Vec<RecordedEntity>, RecordingError> {
    let mut frame = Vec::new();
    let mut values = Vec::new();
    for (slot, index) in (0..=u16::MAX).zip(0..header.entities()) {
        let kind = u8::from(index >= header.players);
        let described = &kinds[usize::from(kind)];
        values.clear();
        for field in &described.fields {
            values.push(reader.value(described, field)?);
        }
        if keep {
            frame.push(RecordedEntity { slot, kind, values: values.as_slice().into() });
        }
    }
    Ok(frame)
}

/// Compares the trailer with the last tick's exact records, which end where block A ends.
fn check_last_tick(
    reader: &mut Reader<'_>,
    header: &Header,
    exact_end: usize,
) -> Result<(), RecordingError> {
    let offset = reader.offset;
    let written = reader.u64()?;
    let tick_bytes = header.entities() as usize * EXACT_BYTES as usize;
    let summed = fnv1a(&reader.bytes[exact_end - tick_bytes..exact_end]);
    if summed == written {
        return Ok(());
    }
    let problem =
        format!("the last tick's checksum should be {written:#018X}, but is {summed:#018X}");
    Err(damaged(offset, problem))
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_damage, check_error};
    use super::super::{RecordedFieldKind, read};
    use super::*;

    const PLAYERS: u32 = 2;
    const PROPS: u32 = 1;

    /// Entity `index` at `tick`; every number tells which it is.
    fn exact_record(tick: u32, index: u32) -> Vec<u8> {
        let floats = [0.5, 1.5, 2.5, -3.5, 4.5, -5.5, 6.5, -7.5];
        let floats = floats.map(|value: f32| value + (tick * 10 + index) as f32);
        let floats = floats.iter().flat_map(|value| value.to_le_bytes());
        floats.chain(small_record(tick, index)).collect()
    }

    fn quantised_record(tick: u32, index: u32) -> Vec<u8> {
        let number = (tick * 10 + index) as i16;
        let values = [number, 8, i16::MIN, -number, VELOCITY_MAX as i16, 0, -32768, -14603];
        let values = values.iter().flat_map(|value| value.to_le_bytes());
        values.chain(small_record(tick, index)).collect()
    }

    fn small_record(tick: u32, index: u32) -> [u8; 6] {
        if index < PLAYERS { [100, 7, 200, 0, 3, 7] } else { [255, 15, tick as u8, 0, 255, 0xF0] }
    }

    fn file(ticks: u32) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        for word in [PLAYERS, PROPS, ticks, TICKS_HZ, 1, 0] {
            file.extend(word.to_le_bytes());
        }
        let mut last_tick = 0;
        for tick in 1..=ticks {
            last_tick = file.len();
            file.extend((0..PLAYERS + PROPS).flat_map(|index| exact_record(tick, index)));
        }
        let checksum = fnv1a(&file[last_tick..]);
        for tick in 1..=ticks {
            file.extend((0..PLAYERS + PROPS).flat_map(|index| quantised_record(tick, index)));
        }
        file.extend(checksum.to_le_bytes());
        file
    }

    #[test]
    fn every_third_tick_is_a_snapshot() {
        let recording = read(&file(7)).unwrap();
        assert_eq!((recording.format, recording.snapshots_hz), ("arena", 20));
        assert_eq!((recording.frames.len(), recording.first_measured), (2, 0));
        let slots = |frame: &[RecordedEntity]| -> Vec<(u16, u8)> {
            frame.iter().map(|entity| (entity.slot, entity.kind)).collect()
        };
        assert_eq!(slots(&recording.frames[1]), [(0, 0), (1, 0), (2, 1)]);
        let negative = |value: i32| value.cast_unsigned();
        let expected = [61, 8, 32768, negative(-61), 1023, 0, negative(-32768), negative(-14603)];
        let values = &recording.frames[1][1].values;
        assert_eq!(values[..8], expected);
        assert_eq!(values[8..], [100, 7, 200, 3, 7]);
        assert_eq!(recording.frames[1][2].values[8..], [255, 15, 6, 255, 0xF0]);
    }

    #[test]
    fn exact_frames_go_along_with_the_quantised() {
        let exact = read(&file(7)).unwrap().exact.unwrap();
        assert_eq!(exact.frames.len(), 2);
        assert_eq!(
            exact.kinds.iter().map(|kind| kind.name).collect::<Vec<_>>(),
            ["player", "prop"]
        );
        let (fields, values) = (&exact.kinds[0].fields, &exact.frames[0][1].values);
        assert_eq!((fields.len(), values.len()), (13, 13));
        assert_eq!(fields[7].kind, RecordedFieldKind::Float);
        assert_eq!(f32::from_bits(values[7]), -7.5 + 31.0);
        assert_eq!(values[8..], [100, 7, 200, 3, 7]);
    }

    #[test]
    fn damage_is_noticed_and_never_panics() {
        check_damage(&file(3));
    }

    #[test]
    fn errors_tell_where_and_what() {
        let good = file(3);
        let changed = |offset: usize, bytes: &[u8]| {
            let mut file = good.clone();
            file[offset..offset + bytes.len()].copy_from_slice(bytes);
            file
        };
        check_error(&good[..20], "at byte 20: the file ends inside the header");
        check_error(&good[..100], "at byte 100: the file ends, but its header promises 580 bytes");
        check_error(&file(2), "at byte 400: too few frames: 0, but measuring starts after 0");
        check_error(&file(0), "at byte 16: there should be a tick at least; the file is damaged");
        check_error(
            &[&good[..], &[0, 0]].concat(),
            "at byte 580: 2 bytes follow the recording's end; the file is damaged",
        );
        check_error(
            &changed(8, &[255; 8]),
            "at byte 8: players and props should be 1 to 4096, but are 8589934590; \
             the file is damaged",
        );
        check_error(
            &changed(20, &[30]),
            "at byte 20: a second should have 60 ticks, but has 30; the file is damaged",
        );
        // The second entity's velocity_x in the first tick of block B.
        check_error(
            &changed(32 + 9 * 38 + 22 + 6, &[0, 4]),
            "at byte 402: the player's velocity_x should be within -1024..=1023, but is 1024; \
             the file is damaged",
        );
        let error = read(&changed(32 + 6 * 38, &[0x55])).unwrap_err().to_string();
        assert!(error.starts_with("at byte 572: the last tick's checksum should"), "{error}");
    }
}
