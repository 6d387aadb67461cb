//! What a contest would cost to tell under event locking: each player's records against what it was last told.

use sametick::bits::BitWriter;
use sametick::{Entities, Game, Layouts, PlayerId, Slots, Table, World, delta};
use sametick_islands::{Content, Entity, Islands};

/// What an entity's number costs, about: the distance from the one before.
const NUMBER_BITS: u64 = 6;
const KIND_BITS: u64 = 3;

/// What one player was told.
#[derive(Default)]
pub(crate) struct Told {
    base: Table,
    visible: Slots,
}

/// What a tick costs to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) bits: u64,
    pub(crate) changes: u64,
    pub(crate) appear: u64,
    pub(crate) vanish: u64,
    /// Bits by kind.
    pub(crate) by_kind: [u64; 6],
}

impl Told {
    /// Tells of everything that changed; says what that cost.
    pub(crate) fn tell(
        &mut self,
        world: &World<Entity>,
        content: &Content,
        player: PlayerId,
        layouts: &Layouts,
    ) -> Cost {
        let mut cost = Cost::default();
        let mut visible = Slots::default();
        Islands::relevant(world, content, player, &mut visible);
        let mut now = Table::default();
        world.fill(&layouts.shown, &mut now);
        for (id, entity) in world.entities().filter(|(id, _)| visible.contains(id.slot())) {
            let (slot, kind) = (id.slot(), usize::from(entity.kind()));
            let layout = &layouts.shown[kind];
            let words = now.record(slot, layout);
            let is_known = self.visible.contains(slot) && self.base.head(slot) == now.head(slot);
            let mut bits = BitWriter::growing(4096);
            if is_known {
                let base = self.base.record(slot, layout);
                if base == words {
                    continue;
                }
                delta::write(&mut bits, layout, base, words);
                cost.changes += 1;
                cost.bits += NUMBER_BITS;
            } else {
                delta::write(&mut bits, layout, layout.initial(), words);
                cost.appear += 1;
                cost.bits += NUMBER_BITS + KIND_BITS;
            }
            let length = bits.bits_written() as u64;
            cost.bits += length;
            cost.by_kind[kind] += length + NUMBER_BITS;
        }
        let gone = self.visible.iter().filter(|slot| !visible.contains(*slot)).count() as u64;
        cost.vanish = gone;
        cost.bits += gone * (NUMBER_BITS + 1);
        (self.base, self.visible) = (now, visible);
        cost
    }
}
