//! A world in bytes, with what its server remembered of the worlds before it: from here a match can be stepped
//! on without knowing how it came here.

use super::block::BLOCK_BYTES_MAX;
use crate::codec::plain;
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::tick::Tick;
use crate::schema::entities::{Entities, Layouts};
use crate::schema::table::Table;
use crate::sim::sight::{HISTORY_MAX, History};
use crate::sim::world::World;

/// The world of a tick.
pub(crate) struct Checkpoint<E> {
    pub(crate) world: World<E>,
    pub(crate) hash: u64,
    pub(crate) history: History<E>,
}

/// Writes a world and what is remembered; none if that is longer than a block.
pub(crate) fn write<E: Entities>(
    world: &World<E>,
    history: &History<E>,
    layouts: &Layouts,
) -> Option<Vec<u8>> {
    let saved = world.save(layouts);
    let mut bits = BitWriter::growing(BLOCK_BYTES_MAX);
    bits.write(u64::from(world.tick().0), 32);
    bits.write(world.hash(layouts), 64);
    bits.write(saved.len() as u64, 32);
    bits.write_bytes(&saved);
    bits.write(history.worlds().len() as u64, 8);
    // Each against the one before: little happens between two snapshots.
    let [mut before, mut now] = [Table::default(), Table::default()];
    for then in history.worlds() {
        bits.write(u64::from(then.tick().0), 32);
        // As the reader does: who is gone keeps the last record.
        now.copy_from(&before);
        then.fill(&layouts.shown, &mut now);
        plain::write(&mut bits, &layouts.shown, &before, &now);
        std::mem::swap(&mut before, &mut now);
    }
    bits.finish().ok().map(<[u8]>::to_vec)
}

/// The tick of a checkpoint.
pub(crate) fn tick(payload: &[u8]) -> Option<Tick> {
    payload.first_chunk().map(|bytes| Tick(u32::from_le_bytes(*bytes)))
}

pub(crate) fn read<E: Entities>(
    payload: &[u8],
    layouts: &Layouts,
) -> Result<Checkpoint<E>, Malformed> {
    let mut bits = BitReader::new(payload);
    let tick = Tick(bits.read(32) as u32);
    let hash = bits.read(64);
    let length = bits.read(32) as usize;
    if length * 8 > bits.bits_left() {
        return Err(Malformed);
    }
    let start = payload.len() - bits.bits_left() / 8;
    let world = World::load(&payload[start..start + length], layouts)?;
    bits.skip(length * 8);
    if world.tick() != tick {
        return Err(Malformed);
    }
    let history = read_history(&mut bits, layouts, tick)?;
    bits.finish()?;
    Ok(Checkpoint { world, hash, history })
}

fn read_history<E: Entities>(
    bits: &mut BitReader<'_>,
    layouts: &Layouts,
    until: Tick,
) -> Result<History<E>, Malformed> {
    let count = bits.read(8) as usize;
    if count > HISTORY_MAX {
        return Err(Malformed);
    }
    let mut history = History::default();
    let [mut before, mut now] = [Table::default(), Table::default()];
    let mut last = None;
    for _ in 0..count {
        let tick = Tick(bits.read(32) as u32);
        if last.is_some_and(|last| tick <= last) || tick > until {
            return Err(Malformed);
        }
        last = Some(tick);
        plain::read(bits, &layouts.shown, &before, &mut now);
        if bits.failed() {
            return Err(Malformed);
        }
        let world = world_of(&now, layouts, tick)?;
        history.push(&world);
        std::mem::swap(&mut before, &mut now);
    }
    Ok(history)
}

/// Who was there, as others were shown them; whose they were, nobody asks of the past.
fn world_of<E: Entities>(
    table: &Table,
    layouts: &Layouts,
    tick: Tick,
) -> Result<World<E>, Malformed> {
    let mut world = World::default();
    for slot in table.visible.iter() {
        let head = table.head(slot).ok_or(Malformed)?;
        let mut entity = E::default_of(head.kind).ok_or(Malformed)?;
        entity.scatter(&layouts.shown, table.lend(slot));
        world.put(head.id, None, entity);
    }
    world.set_tick(tick);
    Ok(world)
}
