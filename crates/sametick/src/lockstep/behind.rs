//! Members that the game has left behind: those that hear no leader and may not call for votes, and those that stand
//! before commands that nobody can send to them any more.

use super::SILENCE;
use super::leading::WORLD_MAX;
use super::player::{Lockstep, Role, Stage};
use super::roster::{Member, Roster};
use super::words::{Play, Word};
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::sim::game::Game;

/// A member that hears no leader asks another member so often.
const SEEK_EVERY: Span = Span::millis(250);

/// A watcher without a leader names the same player for so long.
const NAME_FOR: Span = Span::seconds(2);

impl<G: Game> Lockstep<G> {
    /// A member that may not call for votes, because it only watches or has no world yet, hears of an election only if
    /// the candidate knows it. One that only a deposed leader knew would wait for that leader for ever. So it sends
    /// its state to one player after the other while the leader is silent: a player that plays on without it answers
    /// with a notice. A member without a world has nothing to lose, and asks to be admitted anew.
    pub(super) fn seek_leader(&mut self, now: Time) {
        let Some(roster) = self.roster.as_ref().filter(|roster| roster.has_begun) else { return };
        let (may_call, is_led) =
            (self.role == Role::Plays && self.worlds.is_some(), self.is_leader());
        if may_call || is_led || self.leaving_since.is_some() {
            return;
        }
        let silent = self.leader_silence(now).unwrap_or_default();
        if silent < SILENCE || now - self.sought_at < SEEK_EVERY {
            return;
        }
        self.sought_at = now;
        if self.worlds.is_none() && silent >= SILENCE + WORLD_MAX {
            let (leader, age) = (roster.leader(), Some(roster.age()));
            let door = leader.map_or(self.door, |leader| (leader.identity, leader.at));
            return self.come_back(now, door, age);
        }
        let is_other = |member: &&Member| member.wants_to_play && member.identity != self.identity;
        let others = roster.members.iter().filter(is_other);
        let others: Vec<_> = others.map(|member| (member.identity, member.at)).collect();
        let turn = silent.as_micros() / SEEK_EVERY.as_micros();
        let Some(next) = turn.checked_rem(others.len() as u64) else { return };
        let (roster, vector) = (None, Vec::new());
        let state = Play { roster, vector, ..self.account(self.epoch().unwrap_or(0), &[]) };
        self.post(others[next as usize], &Word::Play(Box::new(state)));
    }

    /// A player that may know more than a watcher whose leader is silent: one after the other of all that the watcher
    /// knows, also of those that were taken out. The leader may have restarted, and ask us where its game is.
    pub(super) fn other_player(&self, now: Time, asks: u64) -> Option<&Member> {
        let silent = self.leader_silence(now).filter(|silent| *silent >= SILENCE)?;
        let roster = self.roster.as_ref().filter(|_| self.role == Role::Watches)?;
        let is_other = |member: &&Member| {
            let is_named = member.seat == roster.leader || member.identity == asks;
            member.wants_to_play && !is_named
        };
        let others: Vec<&Member> = roster.members.iter().filter(is_other).collect();
        let turn = silent.as_micros() / NAME_FOR.as_micros();
        others.get(turn.checked_rem(others.len() as u64)? as usize).copied()
    }

    /// Whether we only watch, and have heard no leader for so long that our game may be over. A watcher may know of
    /// later epochs than the game that goes on: those of players that were a quorum, and lost all they knew. A watcher
    /// decides nothing, so it follows any player that it knew, whatever the epoch.
    pub(super) fn is_astray(&self, now: Time) -> bool {
        let silent = self.leader_silence(now).unwrap_or_default();
        self.role == Role::Watches && silent >= SILENCE + WORLD_MAX
    }

    /// Whether another machine that has stepped `executed`, and has these commands, needs commands to reach our world
    /// that we do not have. Then it has stepped less than we: our commands of a seat begin no later than the tick after
    /// our world, or with the seat.
    pub(super) fn is_beyond(&self, executed: Tick, vector: &[(u8, Tick)]) -> bool {
        let members = self.roster.as_ref().map_or(&[][..], |roster| &roster.members);
        let own = self.executed();
        members.iter().any(|member| {
            let Some(from) = member.plays_from else { return false };
            let known = vector.iter().find(|(seat, _)| *seat == member.seat as u8);
            let known = known.map_or(Tick(from.0.saturating_sub(1)), |(_, tick)| *tick);
            let next = Tick(known.max(executed).0 + 1);
            let left = member.leaves_at.unwrap_or(Tick(u32::MAX));
            let first = self.streams.stream(member.seat).map_or(Tick(own.0 + 1), |s| s.first());
            next <= own && next < left && next < first
        })
    }

    /// Follows a roster that has us in it. If our seat in it is another one, our world is not continued: we are handed
    /// the world that is, as a joiner is.
    pub(super) fn follow(&mut self, now: Time, roster: Roster) {
        let seat = |roster: &Roster| roster.member(self.identity).map(|me| me.seat);
        let had = self.roster.as_ref().and_then(seat);
        let is_moved = had.is_some_and(|had| seat(&roster) != Some(had));
        // A seat that we had before we lost its world: nobody hands us that world under it.
        let is_former = had.is_some_and(|had| seat(&roster).is_some_and(|now| now < had));
        let has_nothing_to_lose = self.worlds.is_none() && !is_former;
        let is_ours = !is_moved || has_nothing_to_lose;
        if is_ours || self.stage != Stage::Playing || !roster.has_begun {
            return self.adopt(now, roster);
        }
        let leader = roster.leader().map_or(self.door, |leader| (leader.identity, leader.at));
        let seen_at = self.contacts.get(&leader.0).and_then(|contact| contact.at);
        let leader = (leader.0, seen_at.unwrap_or(leader.1));
        if is_former {
            // We ask to be let in until the leader has missed us for long enough to take that seat from us.
            let age = roster.age();
            self.roster = Some(roster);
            return self.come_back(now, leader, Some(age));
        }
        self.come_back(now, leader, Some(roster.age()));
        if self.stage == Stage::Over {
            return;
        }
        self.enter(now, roster);
        if let Some(contact) = self.contacts.get_mut(&leader.0) {
            contact.at = Some(leader.1);
        }
    }
}
