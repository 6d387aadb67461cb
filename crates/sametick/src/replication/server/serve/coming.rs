//! Players who come, go, are missed, and come back to their place.

use super::telling::{Happening, as_event};
use super::{Player, SnapshotServer};
use crate::codec::compact::{Compact, HAS_CODER, Tables, TablesError};
use crate::config::rates::Base;
use crate::core::bits::BitWriter;
use crate::core::slots::Slots;
use crate::core::tick::{PlayerId, Tick};
use crate::replication::births::Births;
use crate::replication::commands::CommandQueue;
use crate::replication::messages::coded::stream::Streams;
use crate::replication::server::rewind::Screen;
use crate::replication::server::snapshot::{ClientBase, Teller};
use crate::sim::authority::{CLAIMED_TICKS_MAX, Decisions, Trust};
use crate::sim::game::Game;
use std::collections::VecDeque;
use std::sync::Arc;

impl<G: Game> SnapshotServer<G> {
    /// Offers compact snapshots to whoever joins from now on.
    pub(crate) fn use_tables(&mut self, tables: Arc<Tables>) -> Result<(), TablesError> {
        if !HAS_CODER {
            return Err(TablesError::NoCoder);
        }
        tables.check(self.wire.all())?;
        // Who was offered others goes on to say whether it has them.
        self.players.iter_mut().for_each(|player| player.reads_compact = false);
        let offered = |name: u64| self.players.iter().any(|player| player.offered == Some(name));
        let name = tables.hash();
        self.streams.retain(|(known, _)| *known != name && offered(*known));
        let streams = Streams::new(&tables, &self.command_layout, &self.event_layout);
        self.streams.push((name, streams));
        self.teller = Some(Box::new(Teller::new(Compact::new(tables))));
        Ok(())
    }

    /// Lets a player in from the next tick on, and gives the message that tells it so.
    pub(crate) fn join(&mut self, id: PlayerId) -> Vec<u8> {
        let tables = self.teller.as_ref().filter(|_| self.rates.base == Base::Common);
        let tables = tables.map(|teller| teller.tables_hash);
        let may_be_foreseen = tables.is_some() && self.foresees;
        let base = ClientBase::new(self.rates.base, self.loaded.clone());
        let player = Player {
            id,
            base: if tables.is_some() { base.with_past() } else { base },
            offered: tables,
            reads_compact: false,
            may_be_foreseen,
            foresees: false,
            commands: CommandQueue::new(self.world.tick()),
            margin_micros: None,
            snapshot_is_due: false,
            snapshot_every: self.rates.ticks_per_snapshot,
            wants_commands: false,
            last_command: None,
            executed: VecDeque::new(),
            seen: Slots::default(),
            seen_at: Tick(0),
            // What happened before and still matters.
            events: self.saved.iter().map(|(_, message)| Arc::new(saved(message))).collect(),
            others: None,
            moments: VecDeque::new(),
            screen: Screen::default(),
            sent_at: Tick(0),
            sent_every: self.rates.ticks_per_snapshot,
            last_gap: self.rates.ticks_per_snapshot,
            claims: Decisions::keeping(CLAIMED_TICKS_MAX),
            births: Births::default(),
        };
        let place = self.players.partition_point(|before| before.id <= id);
        self.players.insert(place, player);
        self.joined.push(id);
        let mut bits = BitWriter::growing(64);
        bits.write(u64::from(self.game_id), 8);
        bits.write(u64::from(id.0), 16);
        bits.write(u64::from(self.world.tick().0), 32);
        bits.write(self.rates.tick_length.as_micros(), 32);
        bits.write(self.seed, 64);
        bits.write_bool(self.rates.trust == Trust::Clients);
        bits.write_bool(self.rewinds() || self.asks_what_is_shown);
        bits.write_bool(tables.is_some());
        bits.write_bool(may_be_foreseen);
        bits.write(0, 4);
        if let Some(hash) = tables {
            bits.write(hash, 64);
        }
        bits.write(G::content_name(&self.content), 64);
        bits.finish().expect("a welcome is short").to_vec()
    }

    /// Lets a player back in who never left the game: it starts from nothing, but has its place.
    pub(crate) fn rejoin(&mut self, id: PlayerId) -> Vec<u8> {
        self.players.retain(|player| player.id != id);
        self.absent.retain(|absent| *absent != id);
        let welcome = self.join(id);
        // Unless it had not yet joined when it went.
        self.joined.pop();
        welcome
    }

    /// Keeps a player's place while it is away.
    pub(crate) fn suspend(&mut self, id: PlayerId) {
        self.players.retain(|player| player.id != id);
    }

    /// Takes a suspended player for absent: the game decides what becomes of its body.
    pub(crate) fn miss(&mut self, id: PlayerId) {
        if !self.absent.contains(&id) {
            self.absent.push(id);
        }
    }

    pub(crate) fn leave(&mut self, id: PlayerId) {
        self.players.retain(|player| player.id != id);
        self.absent.retain(|absent| *absent != id);
        self.left.push(id);
    }
}

/// An event that was saved, for one who joins.
fn saved(message: &[u8]) -> Happening {
    Happening { is_reliable: true, plain: as_event(message), coded: None }
}
