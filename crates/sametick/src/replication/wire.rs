//! What is on the wire of a game: its kinds twice, as others see them and as their owner does, and one
//! player's view of a world as a table of those. Servers do the same piece by piece; this is for whoever
//! measures or trains.

use crate::core::tick::PlayerId;
use crate::replication::versions::WireLayouts;
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::{Layout, Precision};
use crate::schema::table::{Head, Table};
use crate::sim::game::Game;
use crate::sim::world::World;

/// The layouts of a game's wire.
#[derive(Clone, Debug)]
pub struct Wire {
    layouts: Layouts,
    both: WireLayouts,
    commands: Layout,
    events: Layout,
}

impl Wire {
    /// That of a game.
    pub fn of<G: Game>() -> Self {
        let layouts = Layouts::of::<G::Entity>();
        let commands = Layout::of::<G::Command>(Precision::State);
        let events = Layout::of::<G::Event>(Precision::State);
        Self { both: WireLayouts::new(&layouts), layouts, commands, events }
    }

    /// A layout for each kind on the wire: the first kind as shown, as its owner gets it, the second, ...
    pub fn layouts(&self) -> &[Layout] {
        self.both.all()
    }

    /// A name for each of the layouts.
    pub fn kind_names<G: Game>(&self) -> Vec<String> {
        let names = G::Entity::kind_names();
        let both = names.iter().flat_map(|name| [(*name).to_owned(), format!("own {name}")]);
        both.collect()
    }

    /// The layout of what players ask for.
    pub fn commands(&self) -> &Layout {
        &self.commands
    }

    /// The layout of what happens.
    pub fn events(&self) -> &Layout {
        &self.events
    }

    /// Fills `table` with what a player may know of a world, its own entities as the rules need them.
    pub fn view<G: Game>(
        &self,
        world: &World<G::Entity>,
        content: &G::Content,
        viewer: PlayerId,
        table: &mut Table,
    ) {
        table.visible.clear();
        let mut visible = crate::Slots::default();
        G::relevant(world, content, viewer, &mut visible);
        let mut scratch = Table::default();
        for (id, entity) in world.entities() {
            let is_own = world.owner(id) == Some(viewer);
            if !is_own && !visible.contains(id.slot()) {
                continue;
            }
            let precision = if is_own { Precision::State } else { Precision::Shown };
            let layouts = self.layouts.at(precision);
            let kind = entity.kind();
            entity.clone().gather(layouts, Head { id, kind }, &mut scratch);
            let record = scratch.record(id.slot(), &layouts[usize::from(kind)]);
            let kind = WireLayouts::kind(kind, precision);
            table
                .place(Head { id, kind }, &self.layouts()[usize::from(kind)])
                .copy_from_slice(record);
        }
    }
}
