//! A snapshot as paper 001 writes it: who is in sight, who of them changed, and for each of those
//! the changed words raw.
//!
//! An entity that stands where another stood in the base, or of another kind, is written whole
//! against its kind's initial values: a slot's old tenant is never mistaken for its new one.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::{EntityId, GENERATION_BITS};
use crate::core::slots::{CHUNK_SLOTS, Slots, places, read_members, write_members};
use crate::schema::delta;
use crate::schema::record::Layout;
use crate::schema::table::{Head, Table};

/// How many kinds of entities a game can have.
pub const KINDS_MAX: usize = 256;

/// Writes what a receiver who holds `base` needs to see what is in sight in `now`.
///
/// Two ticks with two kinds: one entity comes, one changes, one leaves.
///
/// ```
/// use sametick::bits::{BitReader, BitWriter};
/// use sametick::codec::plain;
/// use sametick::{EntityId, Fields, Head, Layout, Networked, Precision, Table};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Runner { health: u8 }
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Rocket { armed: bool }
///
/// impl Networked for Runner {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.int("health", &mut self.health, 0..=100); }
/// }
/// impl Networked for Rocket {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("armed", &mut self.armed); }
/// }
///
/// let layouts = [Layout::of::<Runner>(Precision::State), Layout::of::<Rocket>(Precision::State)];
/// let runner = Head { id: EntityId::new(0, 1).unwrap(), kind: 0 };
/// let rocket = Head { id: EntityId::new(1, 1).unwrap(), kind: 1 };
/// let send = |base: &Table, now: &Table| {
///     let mut bits = BitWriter::fixed(1200);
///     plain::write(&mut bits, &layouts, base, now);
///     let mut reader = BitReader::new(bits.finish().unwrap());
///     let mut received = Table::default();
///     plain::read(&mut reader, &layouts, base, &mut received);
///     reader.finish().unwrap();
///     received
/// };
///
/// // The first tick is written against nothing; what arrived is the base of the next.
/// let mut now = Table::default();
/// now.gather(runner, &layouts[0], &mut Runner { health: 100 });
/// now.gather(rocket, &layouts[1], &mut Rocket { armed: true });
/// let base = send(&Table::default(), &now);
///
/// // The second starts from a copy of it: who is not in sight any more keeps their last record.
/// let mut now = base.clone();
/// now.gather(runner, &layouts[0], &mut Runner { health: 80 });
/// now.visible.remove(1);
/// let received = send(&base, &now);
/// assert_eq!(layouts[0].value::<Runner>(received.record(0, &layouts[0])), Runner { health: 80 });
/// assert!(!received.visible.contains(1));
/// ```
pub fn write(bits: &mut BitWriter, layouts: &[Layout], base: &Table, now: &Table) {
    now.visible.write(bits, &base.visible);
    for (index, chunk) in now.visible.chunks().iter().enumerate() {
        let first = index * CHUNK_SLOTS;
        let changed = keep(*chunk, |place| is_changed(layouts, base, now, first + place));
        write_members(bits, changed, *chunk);
        for slot in places(changed).map(|place| first + place) {
            let head = tenant(now, slot);
            let layout = &layouts[usize::from(head.kind)];
            let known = base.head(slot).map(|head| (head, base.record(slot, layout)));
            write_entity(bits, layouts, known, head, now.record(slot, layout));
        }
    }
}

/// The bits of `chunk` for whose places `wanted` holds.
fn keep(chunk: u32, wanted: impl Fn(usize) -> bool) -> u32 {
    places(chunk).filter(|place| wanted(*place)).fold(0, |kept, place| kept | 1 << place)
}

fn is_changed(layouts: &[Layout], base: &Table, now: &Table, slot: usize) -> bool {
    let head = tenant(now, slot);
    let layout = &layouts[usize::from(head.kind)];
    Some(head) != base.head(slot) || now.record(slot, layout) != base.record(slot, layout)
}

fn tenant(table: &Table, slot: usize) -> Head {
    table.head(slot).unwrap_or_else(|| panic!("slot {slot} is in sight, but nobody stands there"))
}

/// Writes one entity that changed: against its own record in the base or, if that slot held another
/// or nobody, its name, its kind and what differs from the kind's initial values.
pub fn write_entity(
    bits: &mut BitWriter,
    layouts: &[Layout],
    base: Option<(Head, &[u32])>,
    head: Head,
    words: &[u32],
) {
    let layout = &layouts[usize::from(head.kind)];
    let known = base.filter(|(base_head, _)| *base_head == head);
    bits.write_bool(known.is_none());
    if known.is_none() {
        bits.write(u64::from(head.id.generation()), GENERATION_BITS);
        if kind_bits(layouts) > 0 {
            bits.write(u64::from(head.kind), kind_bits(layouts));
        }
    }
    delta::write(bits, layout, known.map_or(layout.initial(), |(_, words)| words), words);
}

/// Reads into `now` the snapshot that was written against `base`.
///
/// On a message that no writer makes the reader fails, and `now` is of no use; `base` is whole.
pub fn read(bits: &mut BitReader<'_>, layouts: &[Layout], base: &Table, now: &mut Table) {
    now.copy_from(base);
    let mut visible = Slots::default();
    visible.read(bits, &base.visible);
    for (index, chunk) in visible.chunks().iter().enumerate() {
        for place in places(read_members(bits, *chunk)) {
            read_entity(bits, layouts, base, now, index * CHUNK_SLOTS + place);
            if bits.failed() {
                return;
            }
        }
    }
    // In sight without a state: nobody writes that.
    if visible.iter().any(|slot| now.head(slot).is_none()) {
        bits.fail();
    }
    now.visible = visible;
}

fn read_entity(
    bits: &mut BitReader<'_>,
    layouts: &[Layout],
    base: &Table,
    now: &mut Table,
    slot: usize,
) {
    let is_stranger = bits.read_bool();
    let head = if is_stranger { read_head(bits, layouts, slot) } else { base.head(slot) };
    let Some(head) = head else { return bits.fail() };
    // The name or the kind of a stranger must differ from those the base has.
    if is_stranger && base.head(slot) == Some(head) {
        return bits.fail();
    }
    let layout = &layouts[usize::from(head.kind)];
    let words = now.place(head, layout);
    let against = if is_stranger { layout.initial() } else { base.record(slot, layout) };
    delta::read(bits, layout, against, words);
    if !is_stranger && words == against {
        bits.fail();
    }
}

fn read_head(bits: &mut BitReader<'_>, layouts: &[Layout], slot: usize) -> Option<Head> {
    let generation = bits.read(GENERATION_BITS) as u32;
    let kind = if kind_bits(layouts) > 0 { bits.read(kind_bits(layouts)) as u8 } else { 0 };
    let lawful = usize::from(kind) < layouts.len();
    let id = EntityId::new(slot, generation)?;
    lawful.then_some(Head { id, kind })
}

/// How many bits name one of so many kinds.
fn kind_bits(layouts: &[Layout]) -> u32 {
    assert!(layouts.len() <= KINDS_MAX, "a game has at most {KINDS_MAX} kinds of entities");
    layouts.len().next_power_of_two().trailing_zeros()
}
