//! What players say, plain or coded: read to its end first, then taken in.

use super::{MOMENTS_MAX, Player, SnapshotServer, find, micros_until};
use crate::codec::compact::HAS_CODER;
use crate::core::bits::{BitReader, Malformed};
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Time;
use crate::replication::commands::read_moments;
use crate::replication::messages::coded::asked::Around;
use crate::replication::messages::coded::part::COMPACT;
use crate::replication::messages::decoded::Decoded;
use crate::replication::server::rewind::Told;
use crate::sim::authority::{self, Trust};
use crate::sim::game::Game;
use crate::sim::sight::Moment;
use crate::sim::view::{Others, read_others};

/// What a message says besides its commands and their moments.
struct Heard<E> {
    every: u8,
    wants_commands: bool,
    /// Whether it is coded: its writer has the tables that it was told of.
    has_tables: bool,
    foresees: bool,
    decoded: Decoded,
    others: Option<Others>,
    claimed: Option<Vec<(EntityId, E)>>,
    /// The tick of its newest command.
    newest: Option<Tick>,
    /// The first tick that nothing had come for.
    first_new: Option<Tick>,
}

impl<G: Game> SnapshotServer<G> {
    /// Takes in what a player sent.
    pub(crate) fn read(
        &mut self,
        now: Time,
        from: PlayerId,
        message: &[u8],
    ) -> Result<(), Malformed> {
        let first = *message.first().ok_or(Malformed)?;
        if find(&mut self.players, from).is_none() {
            return Err(Malformed);
        }
        if first & !COMPACT != self.game_id {
            // Of the game before: nothing of it counts any more.
            return Ok(());
        }
        self.moments_read.clear();
        let heard = match first & COMPACT != 0 {
            true => self.hear_coded(from, &message[1..])?,
            false => self.hear_plain(from, &message[1..])?,
        };
        let offered = self.teller.as_ref().map(|teller| teller.tables_hash);
        let Some(player) = find(&mut self.players, from) else { return Ok(()) };
        player.commands.take(&mut self.commands_read);
        if heard.others.is_some() && heard.newest.is_some() {
            player.others = heard.others;
            let early = micros_until(self.next_tick_at, now);
            let length = self.rates.tick_length.as_micros() as i64;
            let next = i64::from(self.world.tick().0) + 1;
            player.take_moments(&self.moments_read, |of| early + (i64::from(of.0) - next) * length);
        }
        if let Some((claimed, tick)) = heard.claimed.zip(heard.newest) {
            player.claims.push(tick, claimed);
        }
        player.snapshot_every = u32::from(heard.every).max(self.rates.ticks_per_snapshot);
        player.wants_commands = heard.wants_commands;
        player.reads_compact = heard.has_tables && player.offered == offered;
        player.foresees = heard.foresees;
        player.base.acknowledge(heard.decoded);
        if !player.births.is_empty() {
            player.births.acknowledge(heard.decoded.newest as u32);
        }
        let Some(tick) = heard.first_new else { return Ok(()) };
        let ahead = i64::from(tick.0) - i64::from(self.world.tick().0) - 1;
        let margin = micros_until(self.next_tick_at, now)
            + ahead * self.rates.tick_length.as_micros() as i64;
        player.margin_micros = Some(player.margin_micros.map_or(margin, |least| least.min(margin)));
        Ok(())
    }

    /// Reads what stands behind the game's number.
    fn hear_plain(&mut self, from: PlayerId, body: &[u8]) -> Result<Heard<G::Entity>, Malformed> {
        let mut bits = BitReader::new(body);
        let every = bits.read(8) as u8;
        let [wants_commands, tells, claims] = [(); 3].map(|()| bits.read_bool());
        let decoded = Decoded::read(&mut bits);
        let others = tells.then(|| read_others(&mut bits));
        let claimed = match claims {
            true => Some(self.read_claims(&mut bits)?),
            false => None,
        };
        let newest = Tick(bits.read(32) as u32);
        if tells {
            read_moments(&mut bits, newest, &mut self.moments_read);
        }
        let Self { command_layout, command_row, commands_read, players, .. } = self;
        let player = find(players, from).ok_or(Malformed)?;
        let first_new =
            player.commands.read(&mut bits, command_layout, newest, command_row, commands_read);
        bits.finish()?;
        Ok(Heard {
            every,
            wants_commands,
            has_tables: false,
            foresees: false,
            decoded,
            others,
            claimed,
            newest: Some(newest),
            first_new: first_new?,
        })
    }

    /// Reads the same, coded with the tables that the player was told of.
    fn hear_coded(&mut self, from: PlayerId, body: &[u8]) -> Result<Heard<G::Entity>, Malformed> {
        let Self { streams, players, commands_read, command_layout, .. } = self;
        let player = find(players, from).ok_or(Malformed)?;
        let streams = streams.iter_mut().find(|(name, _)| Some(*name) == player.offered);
        let (_, streams) = streams.filter(|_| HAS_CODER).ok_or(Malformed)?;
        let around = Around { part: player.base.next_number() - 1, tick: self.world.tick() };
        let (asked, records) = streams.read_message(body, &around)?;
        let newest = asked.commands.map(|(newest, _)| newest);
        commands_read.clear();
        let mut first_new = None;
        if let Some(newest) = newest {
            first_new = player.commands.sort_out(command_layout, newest, records, commands_read)?;
            let told = asked.moments.iter().zip(0..);
            let tick = |back: u32| Tick(newest.0.saturating_sub(back));
            self.moments_read.extend(told.map(|(moment, back)| (tick(back), *moment)));
        }
        let claimed = match &asked.claims {
            Some((bytes, _)) => {
                let mut bits = BitReader::new(bytes);
                let claimed = self.read_claims(&mut bits)?;
                bits.finish()?;
                Some(claimed)
            }
            None => None,
        };
        Ok(Heard {
            every: asked.every,
            wants_commands: asked.wants_commands,
            has_tables: true,
            foresees: asked.foresees,
            decoded: asked.decoded,
            others: asked.others,
            claimed,
            newest,
            first_new,
        })
    }

    fn read_claims(
        &self,
        bits: &mut BitReader<'_>,
    ) -> Result<Vec<(EntityId, G::Entity)>, Malformed> {
        match self.rates.trust {
            Trust::Server => Err(Malformed),
            Trust::Clients => authority::read(bits, &self.layouts.state).ok_or(Malformed),
        }
    }
}

impl<G: Game> Player<G> {
    /// Keeps what the screen showed, newest first, as far as it is news.
    fn take_moments(&mut self, moments: &[(Tick, Moment)], early: impl Fn(Tick) -> i64) {
        let newest = self.moments.back().map_or(Tick(0), |told| told.tick);
        let news = moments.iter().take_while(|(tick, _)| *tick > newest).count();
        self.moments.extend(moments[..news].iter().rev().map(|(tick, moment)| Told {
            tick: *tick,
            moment: *moment,
            margin_micros: early(*tick),
        }));
        let excess = self.moments.len().saturating_sub(MOMENTS_MAX);
        self.moments.drain(..excess);
    }
}
