//! The snapshots of paper 001 as it writes them: the message of its figure 9, a bit before every field, and the bit
//! string of what is in sight in 128 chunks. Packing is of fields: what names an entity has its bits anyway.
//!
//! Left out is only what Arena has not: the latest commands of other players, which ride on other messages here.

use super::Stage;
use sametick::bits::{BitReader, BitWriter};
use sametick::{EntityId, Head, Layout, Slots, Table};

/// Entities are numbered with so many bits; the last number ends the list of them.
const NUMBER_BITS: u32 = 12;
const END: usize = (1 << NUMBER_BITS) - 1;
/// In so many chunks of 32 bits it is told who is in sight.
const CHUNKS: usize = 128;
const GENERATION_BITS: u32 = 20;
const KIND_BITS: u32 = 8;

/// What stands before the entities: snapshot, frame, and its time in milliseconds.
pub type Numbers = [u32; 3];

/// Writes what is in sight of `now` against what the receiver has. False if there are more entities than numbers.
#[must_use]
pub fn write(
    stage: Stage,
    bits: &mut BitWriter,
    layouts: &[Layout],
    (base, now): (&Table, &Table),
    numbers: Numbers,
) -> bool {
    // Game, kind of message, the numbers, commands that were doubled, how far ahead the client is.
    bits.write(1, 32);
    bits.write(2, 8);
    numbers.iter().for_each(|number| bits.write(u64::from(*number), 32));
    bits.write(0, 8);
    bits.write(0, 16);
    let is_full = stage == Stage::Full;
    for slot in now.visible.iter() {
        let Some(head) = now.head(slot).filter(|_| slot < END) else { return false };
        let layout = &layouts[usize::from(head.kind)];
        let words = now.record(slot, layout);
        let known =
            base.head(slot).filter(|known| *known == head).map(|_| base.record(slot, layout));
        if stage == Stage::LeftOut && known == Some(words) {
            continue;
        }
        bits.write(slot as u64, NUMBER_BITS);
        let heads = [(head.id.generation(), GENERATION_BITS), (u32::from(head.kind), KIND_BITS)];
        let is_delta = matches!(stage, Stage::Delta | Stage::LeftOut);
        if is_delta {
            bits.write_bool(known.is_some());
        }
        // An entity that is known has the same head, which is two fields that did not change.
        match known.filter(|_| is_delta) {
            Some(known) => {
                bits.write(0, heads.len() as u32);
                let fields = layout.words().iter().zip(words.iter().zip(known));
                for (field, (word, known)) in fields.filter(|(field, _)| field.bits > 0) {
                    bits.write_bool(word != known);
                    if word != known {
                        bits.write(u64::from(*word), field.bits);
                    }
                }
            }
            None => {
                heads.iter().for_each(|(number, width)| bits.write(u64::from(*number), *width));
                for (field, word) in
                    layout.words().iter().zip(words).filter(|(field, _)| field.bits > 0)
                {
                    bits.write(u64::from(*word), if is_full { 32 } else { field.bits });
                }
            }
        }
    }
    bits.write(END as u64, NUMBER_BITS);
    if stage == Stage::LeftOut {
        write_sight(bits, &base.visible, &now.visible);
    }
    true
}

/// Only those who came or went have their chunk written.
fn write_sight(bits: &mut BitWriter, base: &Slots, now: &Slots) {
    let chunk = |slots: &Slots, index: usize| slots.chunks().get(index).copied().unwrap_or(0);
    for index in 0..CHUNKS {
        let (was, is) = (chunk(base, index), chunk(now, index));
        bits.write_bool(was != is);
        if was != is {
            bits.write(u64::from(is), 32);
        }
    }
}

/// Reads that back into `now`, which holds those in sight only.
pub fn read(
    stage: Stage,
    bits: &mut BitReader<'_>,
    layouts: &[Layout],
    base: &Table,
    now: &mut Table,
) {
    *now = Table::default();
    // What stands before the entities is no part of the world.
    for width in [32, 8, 32, 32, 32, 8, 16] {
        bits.read(width);
    }
    let wide = |width: u32| if stage == Stage::Full { 32 } else { width };
    loop {
        let slot = bits.read(NUMBER_BITS) as usize;
        if slot >= END || bits.failed() {
            break;
        }
        let is_known = matches!(stage, Stage::Delta | Stage::LeftOut) && bits.read_bool();
        let head = match is_known {
            true => base.head(slot).filter(|_| bits.read(2) == 0),
            false => {
                let (generation, kind) = (bits.read(GENERATION_BITS), bits.read(KIND_BITS));
                EntityId::new(slot, generation as u32).map(|id| Head { id, kind: kind as u8 })
            }
        };
        let Some((head, layout)) =
            head.and_then(|head| Some((head, layouts.get(usize::from(head.kind))?)))
        else {
            return bits.fail();
        };
        let known = is_known.then(|| base.record(slot, layout));
        let words = now.place(head, layout);
        for (index, field) in layout.words().iter().enumerate().filter(|(_, field)| field.bits > 0)
        {
            words[index] = match known {
                Some(known) if !bits.read_bool() => known[index],
                _ => bits.read(wide(field.bits)) as u32,
            };
        }
    }
    if stage == Stage::LeftOut {
        read_sight(bits, layouts, base, now);
    }
}

/// Who is in sight and was not told of is as it was.
fn read_sight(bits: &mut BitReader<'_>, layouts: &[Layout], base: &Table, now: &mut Table) {
    let mut visible = Slots::default();
    for index in 0..CHUNKS {
        let known = base.visible.chunks().get(index).copied().unwrap_or(0);
        let chunk = if bits.read_bool() { bits.read(32) as u32 } else { known };
        (0..32)
            .filter(|place| chunk >> place & 1 == 1)
            .for_each(|place| visible.insert(index * 32 + place));
    }
    for slot in visible.iter().filter(|slot| now.head(*slot).is_none()).collect::<Vec<_>>() {
        let Some(head) = base.head(slot) else { return bits.fail() };
        let layout = &layouts[usize::from(head.kind)];
        now.place(head, layout).copy_from_slice(base.record(slot, layout));
    }
    now.visible = visible;
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::{Layouts, World};
    use sametick_arena::{Entity, Item, Prop, Target};

    fn table(world: &World<Entity>, layouts: &[Layout], leaves_out: usize) -> Table {
        let mut all = Table::default();
        world.fill(layouts, &mut all);
        let mut now = Table::default();
        for (slot, head) in all.heads().filter(|(slot, _)| *slot != leaves_out) {
            let layout = &layouts[usize::from(head.kind)];
            now.place(head, layout).copy_from_slice(all.record(slot, layout));
        }
        now
    }

    #[test]
    fn every_stage_reads_back_what_it_wrote_and_each_is_shorter_than_the_one_before() {
        let layouts = Layouts::of::<Entity>().state;
        let mut world = World::<Entity>::default();
        for index in 0..60 {
            let position = [f32::from(index) * 1.7, 0.3, 0.0];
            world.spawn(Prop { index, position, health: 80, is_resting: true, ..Prop::default() });
            world.spawn(Item { index, ..Item::default() });
            world.spawn(Target { index, position, health: 40, ..Target::default() });
        }
        // One goes out of sight, one comes into it again, and one moves.
        let base = table(&world, &layouts, 7);
        for (_, prop) in world.all_mut::<Prop>().take(1) {
            prop.position[1] = 0.37;
        }
        let now = table(&world, &layouts, 9);
        let mut before = usize::MAX;
        for stage in Stage::ALL {
            let mut bits = BitWriter::growing(super::super::MESSAGE_BYTES_MAX);
            assert!(write(stage, &mut bits, &layouts, (&base, &now), [3, 900, 15_000]));
            let message = bits.finish().expect("it fits").to_vec();
            let (mut back, mut reader) = (Table::default(), BitReader::new(&message));
            read(stage, &mut reader, &layouts, &base, &mut back);
            assert!(reader.finish().is_ok(), "{stage:?}");
            assert!(back.looks_like(&now, &layouts), "{stage:?}");
            assert!(message.len() < before, "{stage:?}: {} and {before}", message.len());
            before = message.len();
        }
    }
}
