//! What the leader of a lobby decides, which is a game that has not begun: who is out, whose vote counts should the
//! leader go, and when the game begins.

use super::LEASE;
use super::player::Lockstep;
use super::roster::{FIRST, Member, Roster};
use crate::core::time::Time;
use crate::sim::game::Game;

impl<G: Game> Lockstep<G> {
    /// Decides what is to be decided before the game begins.
    ///
    /// A decision is a new version of the roster, and all electors must confirm it before the game can begin. So
    /// nothing is decided while a member that can be reached has yet to confirm the last one.
    pub(super) fn lead_lobby(&mut self, now: Time, roster: &mut Roster) {
        // The leader that leaves decides nothing more: another calls, and has our promise.
        if self.leaving_since.is_some() {
            return;
        }
        if !self.can_begin(roster) && self.is_confirming(now, roster) {
            return;
        }
        if !roster.before.is_empty() {
            self.confirm(roster);
            self.look_for_restarted(now, roster);
            self.call_back(now, roster);
        }
        if !roster.before.is_empty() {
            return;
        }
        roster.forget_gone();
        self.find(roster);
        if !self.clear_lobby(now, roster) {
            self.seat_or_begin(roster);
        }
    }

    /// Whether a member has the roster and a world to begin with.
    fn is_ready(&self, roster: &Roster, member: &Member) -> bool {
        let version = Some(roster.version as u8);
        let contact = self.contacts.get(&member.identity);
        let has_it = contact.is_some_and(|c| c.version == version && c.executed.is_some());
        member.wants_to_play && (member.identity == self.identity || has_it)
    }

    /// Whether a member that can be reached, and stays, has yet to confirm the roster.
    fn is_confirming(&self, now: Time, roster: &Roster) -> bool {
        let can_answer = |member: &Member| {
            let contact = self.contacts.get(&member.identity);
            contact.is_some_and(|c| !c.leaves && now - c.reached_at.min(c.heard_at) < LEASE)
        };
        let is_gone = |member: &Member| self.election.gone.contains(&member.identity);
        let mut players = roster.here().filter(|member| member.wants_to_play);
        players
            .any(|member| !self.is_ready(roster, member) && can_answer(member) && !is_gone(member))
    }

    /// Takes out members that left, or fell silent: says whether it has, or has to ask the others first.
    ///
    /// An elector is taken out only while a quorum can confirm it: others may be about to take the lobby over.
    fn clear_lobby(&mut self, now: Time, roster: &mut Roster) -> bool {
        let patience = roster.setup.patience;
        let has_quorum = self.has_quorum(now);
        let (own, contacts, election) = (self.identity, &self.contacts, &mut self.election);
        let is_gone = |member: &Member, gone: &std::collections::BTreeSet<u64>| {
            let contact = contacts.get(&member.identity);
            let is_silent = contact.is_some_and(|contact| now - contact.heard_at >= patience);
            let leaves = contact.is_some_and(|contact| contact.leaves);
            member.identity != own && (is_silent || leaves || gone.contains(&member.identity))
        };
        let gone = &election.gone;
        let count = roster.here().count();
        roster.take_out(|member| {
            (member.plays_from.is_none() || has_quorum) && is_gone(member, gone)
        });
        let must_ask = roster.here().any(|member| is_gone(member, gone));
        election.gone.retain(|identity| roster.member(*identity).is_some());
        election.wanted |= must_ask;
        must_ask || roster.here().count() != count
    }

    /// Whether enough electors are ready, and all of them are.
    fn can_begin(&self, roster: &Roster) -> bool {
        let enough = usize::from(roster.setup.players);
        let mut electors = roster.electors();
        roster.electors().count() >= enough && electors.all(|one| self.is_ready(roster, one))
    }

    /// Lets the votes of those count that are ready; and begins once nobody waits for that, and they are enough.
    ///
    /// The electors are confirmed before the game begins, not while it runs: a roster holds up all commands until it
    /// has come.
    fn seat_or_begin(&self, roster: &mut Roster) {
        let known = roster.clone();
        let is_waiting = |member: &&mut Member| {
            member.is_here() && member.plays_from.is_none() && self.is_ready(&known, member)
        };
        let waiting: Vec<&mut Member> = roster.members.iter_mut().filter(is_waiting).collect();
        if waiting.is_empty() {
            roster.has_begun = self.can_begin(&known);
            return;
        }
        waiting.into_iter().for_each(|member| member.plays_from = Some(FIRST));
    }
}
