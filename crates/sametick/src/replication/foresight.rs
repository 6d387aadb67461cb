//! The rules as a predictor of the compact codec: both ends step what the client's base has, with the commands that
//! both know, and only the surprise is coded. Nothing else goes in, so nothing else can come out.

use crate::codec::compact::HAS_CODER;
use crate::codec::compact::records::Records;
use crate::core::bits::Malformed;
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::replication::messages::{CHECK_BITS, FORESEEN_TICKS_MAX};
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::{Layout, Precision, ROW_WORDS, Row, mix};
use crate::schema::table::Table;
use crate::sim::game::{Game, Turn};
use crate::sim::world::World;

/// Who foresees, and what both ends know of the game.
pub(crate) struct Vantage<'a, G: Game> {
    pub(crate) me: PlayerId,
    pub(crate) content: &'a G::Content,
    pub(crate) seed: u64,
    pub(crate) tick_length: Span,
    pub(crate) layouts: &'a Layouts,
    /// By kind on the wire.
    pub(crate) wire: &'a [Layout],
}

impl<G: Game> Vantage<'_, G> {
    /// Foresees from a base, with the command of each tick from the one behind the base's on, into a table: who is in
    /// its sight is foreseen, which are the player's own, as the rules have them. False, and of no use, if the base is
    /// too old or a command is not known.
    pub(crate) fn foresee<'r>(
        &self,
        base: impl Records<'r>,
        (from, to): (Tick, Tick),
        command: impl Fn(Tick) -> Option<G::Command>,
        foreseen: &mut Table,
    ) -> bool {
        foreseen.visible.clear();
        let ticks = to.0.saturating_sub(from.0);
        if !HAS_CODER || !(1..=FORESEEN_TICKS_MAX).contains(&ticks) {
            return false;
        }
        let ticks = (1..=ticks).map(|ahead| Tick(from.0 + ahead));
        let commands: Option<Vec<_>> = ticks.clone().map(command).collect();
        let Some(commands) = commands else { return false };
        // A new world each time: in one that was used before, names of others would be left.
        let (mut world, mut row) = (World::default(), [0; ROW_WORDS]);
        self.fill(&mut world, &mut row, base);
        world.set_tick(from);
        for (tick, command) in ticks.zip(commands) {
            let commands = [(self.me, Some(command))];
            let turn = Turn {
                commands: &commands,
                is_predicted: true,
                ..Turn::new(tick, self.tick_length, self.seed, self.content)
            };
            G::step(&mut world, &turn);
            world.set_tick(tick);
            // What is not finite is mended, on both ends alike.
            let _ = world.settle();
        }
        for slot in base.visible().iter() {
            let head = base.head(slot).filter(|head| precision_of(head.kind) == Precision::State);
            let Some(head) = head else { continue };
            if let Some(entity) = world.entity(head.id) {
                let layout = &self.wire[usize::from(head.kind)];
                entity.clone().record(&self.layouts.state, &mut row);
                foreseen.place(head, layout).copy_from_slice(&row[..layout.len()]);
            }
        }
        true
    }

    /// The same for a client, whose rules must come to what the server's came to. It `foresees` until they do not:
    /// rules that came to something else once are not asked again.
    pub(crate) fn foresee_alike<'r>(
        &self,
        base: impl Records<'r>,
        ticks: (Tick, Tick),
        command: impl Fn(Tick) -> Option<G::Command>,
        (expected, foresees): (u32, &mut bool),
        foreseen: &mut Table,
    ) -> Result<bool, Malformed> {
        if *foresees && !self.foresee(base, ticks, command, foreseen) {
            return Ok(false);
        }
        *foresees &= check(foreseen, self.wire) == expected;
        if *foresees { Ok(true) } else { Err(Malformed) }
    }

    /// Makes a world of what a base has in sight.
    fn fill<'r>(&self, world: &mut World<G::Entity>, row: &mut Row, base: impl Records<'r>) {
        world.set_predicts(self.me);
        for slot in base.visible().iter() {
            let Some(head) = base.head(slot) else { continue };
            let record = base.record(slot, &self.wire[usize::from(head.kind)]);
            let precision = precision_of(head.kind);
            let Some(mut entity) = G::Entity::default_of(head.kind / 2) else { continue };
            row[..record.len()].copy_from_slice(record);
            entity.scatter(self.layouts.at(precision), row);
            let owner = (precision == Precision::State).then_some(self.me);
            world.put(head.id, owner, entity);
        }
    }
}

fn precision_of(kind: u8) -> Precision {
    if kind.is_multiple_of(2) { Precision::Shown } else { Precision::State }
}

/// What is told of it.
pub(crate) fn check(foreseen: &Table, layouts: &[Layout]) -> u32 {
    let mut hash = 0;
    for slot in foreseen.visible.iter() {
        let Some(head) = foreseen.head(slot) else { continue };
        let words = foreseen.record(slot, &layouts[usize::from(head.kind)]);
        let named = mix(mix(hash, EntityId::to_word(Some(head.id))), u32::from(head.kind));
        hash = words.iter().fold(named, |hash, word| mix(hash, *word));
    }
    (hash >> (u64::BITS - CHECK_BITS)) as u32
}
