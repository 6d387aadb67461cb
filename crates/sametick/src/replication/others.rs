//! What players ask for, told to those who predict them: each command is written once a tick, and
//! copied for everyone who sees its player.

use crate::core::bits::{BitReader, BitWriter};
use crate::core::entity::SLOT_BITS;
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::replication::versions::Versions;
use crate::schema::delta;
use crate::schema::fields::Networked;
use crate::schema::record::{Layout, ROW_WORDS};

/// Of how many others' commands a snapshot tells.
const OTHERS_MAX: usize = 63;
const OTHERS_BITS: u32 = 6;
/// And of how many entities of each.
const SLOTS_MAX: usize = 7;
const COUNT_BITS: u32 = 3;

/// The commands of one tick, written.
#[derive(Debug)]
pub(crate) struct Commands {
    of: Option<Tick>,
    /// Whose each is, where it begins, and how long it is.
    entries: Vec<(PlayerId, usize, usize)>,
    /// With a word in front and one behind, as a range needs them.
    words: Vec<u64>,
    bits: BitWriter,
}

impl Default for Commands {
    fn default() -> Self {
        let bits = BitWriter::growing(usize::MAX);
        Self { of: None, entries: Vec::new(), words: Vec::new(), bits }
    }
}

impl Commands {
    /// Writes the commands of a tick, unless that was done.
    pub(crate) fn update<'a, C: Networked + 'a>(
        &mut self,
        tick: Tick,
        layout: &Layout,
        commands: impl Iterator<Item = (PlayerId, &'a C)>,
    ) {
        if self.of.replace(tick) == Some(tick) {
            return;
        }
        self.entries.clear();
        self.bits.clear();
        let mut row = [0; ROW_WORDS];
        for (player, command) in commands {
            let start = self.bits.bits_written();
            layout.gather(&mut command.clone(), &mut row);
            delta::write(&mut self.bits, layout, layout.initial(), &row[..layout.len()]);
            let bits = self.bits.bits_written() - start;
            self.entries.push((player, u64::BITS as usize + start, bits));
        }
        self.words.clear();
        self.words.push(0);
        for bytes in self.bits.finish().unwrap_or_default().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.words.push(u64::from_le_bytes(word));
        }
        self.words.push(0);
    }

    /// Writes those of the others whom a viewer sees, and where they stand.
    pub(crate) fn write(
        &self,
        bits: &mut BitWriter,
        versions: &Versions,
        visible: &Slots,
        viewer: PlayerId,
    ) {
        let in_sight = |player: PlayerId| {
            let owned = versions.owned(player).iter().map(|(_, slot)| *slot);
            owned.filter(|slot| visible.contains(*slot)).take(SLOTS_MAX)
        };
        let others = || {
            let others = self.entries.iter().filter(|(player, _, _)| *player != viewer);
            others.filter(|(player, _, _)| in_sight(*player).next().is_some()).take(OTHERS_MAX)
        };
        bits.write_bool(true);
        bits.write(others().count() as u64, OTHERS_BITS);
        for (player, start, length) in others() {
            bits.write(u64::from(player.0), 16);
            bits.write(in_sight(*player).count() as u64, COUNT_BITS);
            in_sight(*player).for_each(|slot| bits.write(slot as u64, SLOT_BITS));
            bits.write_range(&self.words, *start, *length);
        }
    }
}

/// What is known of another player: what it asks for, and where its entities are.
pub(crate) struct Known<C> {
    pub(crate) player: PlayerId,
    pub(crate) command: C,
    pub(crate) slots: Vec<usize>,
}

/// Reads what [`Commands::write`] wrote; none if nothing is said of them here.
pub(crate) fn read<C: Networked>(
    bits: &mut BitReader<'_>,
    layout: &Layout,
) -> Option<Vec<Known<C>>> {
    if !bits.read_bool() {
        return None;
    }
    let mut others = Vec::new();
    for _ in 0..bits.read(OTHERS_BITS) {
        let player = PlayerId(bits.read(16) as u16);
        let slots = (0..bits.read(COUNT_BITS)).map(|_| bits.read(SLOT_BITS) as usize).collect();
        let mut words = vec![0; layout.len()];
        delta::read(bits, layout, layout.initial(), &mut words);
        if bits.failed() {
            break;
        }
        others.push(Known { player, command: layout.value(&words), slots });
    }
    Some(others)
}
