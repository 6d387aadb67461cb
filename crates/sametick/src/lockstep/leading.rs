//! What the leader of a game that has begun decides: who plays from which tick, who has left, how fast it goes.

use super::contact::Contact;
use super::player::{Happening, Lockstep};
use super::roster::{Roster, SLOWEST_PACE};
use super::setup::Turns;
use super::words::Word;
use super::{JOINER_TICKS_MAX, KEPT_TICKS, Pace, STEPS_MAX};
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::sim::game::Game;

/// Nobody decides more often than this.
const LEAD_EVERY: Span = Span::millis(20);

/// How often the pace is thought over, and for how long it must be too slow before it is quickened.
const PACE_EVERY: Span = Span::millis(500);
const QUICKEN_AFTER: u32 = 6;

/// For so many ticks those who left are remembered.
const REMEMBERED_TICKS: u32 = 3600;
const _: () = assert!(REMEMBERED_TICKS >= KEPT_TICKS);

/// So often those who were given up are told where the game is.
const CALL_BACK_EVERY: Span = Span::seconds(1);

/// How far behind somebody may be to begin to play.
const READY_TICKS: u32 = 20;

/// After so long without a piece of the world somebody who came in asks anew.
pub(super) const WORLD_MAX: Span = Span::seconds(5);

impl<G: Game> Lockstep<G> {
    /// Decides what is to be decided.
    pub(super) fn lead(&mut self, now: Time) {
        if now - self.led_at < LEAD_EVERY || self.is_halted {
            return;
        }
        self.led_at = now;
        let Some(mut roster) = self.roster.clone() else { return };
        let before = roster.clone();
        if !roster.has_begun {
            self.lead_lobby(now, &mut roster);
        } else if !roster.before.is_empty() {
            self.confirm(&mut roster);
            self.look_for_restarted(now, &roster);
            self.call_back(now, &roster);
        } else {
            self.let_play(&mut roster);
            self.let_go(now, &mut roster);
            self.find(&mut roster);
            self.adapt(now, &mut roster);
            roster.forget_before(Tick(self.executed().0.saturating_sub(REMEMBERED_TICKS)));
            self.call_back(now, &roster);
        }
        if roster != before {
            let electors = |roster: &Roster| -> Vec<u64> {
                roster.electors().map(|elector| elector.identity).collect()
            };
            if electors(&before) != electors(&roster) {
                roster.before = electors(&before);
            }
            roster.count_up();
            self.adopt(now, roster);
        }
    }

    /// Takes note of where the members are by now: a router may move them.
    pub(super) fn find(&self, roster: &mut Roster) {
        for member in roster.members.iter_mut().filter(|member| member.is_here()) {
            let seen_at = self.contacts.get(&member.identity).and_then(|contact| contact.at);
            member.at = seen_at.unwrap_or(member.at);
        }
    }

    /// A change of electors counts alone once enough of the old ones know of it.
    pub(super) fn confirm(&mut self, roster: &mut Roster) {
        let version = roster.version as u8;
        let knows = |identity: u64| {
            let contact = self.contacts.get(&identity);
            let is_released = self.election.released.contains(&identity);
            let has_it = contact.is_some_and(|c| c.version == Some(version));
            identity == self.identity || has_it || is_released
        };
        if roster.is_quorum(knows) {
            roster.before.clear();
            roster.waits = false;
            self.election.released.clear();
        }
    }

    /// Who was given up may be looking for us where we no longer are.
    pub(super) fn call_back(&mut self, now: Time, roster: &Roster) {
        if now - self.called_back_at < CALL_BACK_EVERY {
            return;
        }
        self.called_back_at = now;
        let is_away = |name: u64| roster.here().all(|member| member.name != name);
        let gone = roster.members.iter();
        let gone = gone.filter(|member| !member.is_here() && is_away(member.name));
        let gone: Vec<_> = gone.map(|member| (member.identity, member.at)).collect();
        let Some(at) = roster.leader().map(|leader| leader.at) else { return };
        let word = Word::Notice { age: roster.age(), leader: self.identity, at };
        gone.into_iter().for_each(|to| self.post(to, &word));
    }

    /// Who came late and has caught up plays from a tick on of which nobody has our command yet.
    fn let_play(&self, roster: &mut Roster) {
        let executed = self.executed();
        let margin = self.ticks_to_all();
        let from = Tick(self.newest_given().0.max(executed.0) + 1 + margin);
        // Ticks in which nobody plays may have been stepped as such.
        let from = from.max(roster.newest_named());
        for member in &mut roster.members {
            let contact = self.contacts.get(&member.identity);
            let is_near = contact.and_then(|contact| contact.executed);
            let is_near = is_near.is_some_and(|tick| tick.0 + READY_TICKS + margin >= executed.0);
            if member.is_here() && member.wants_to_play && member.plays_from.is_none() && is_near {
                member.plays_from = Some(from);
            }
        }
    }

    /// The newest tick of which others may have our command.
    fn newest_given(&self) -> Tick {
        match self.has_server() {
            true => Tick(self.executed().0 + STEPS_MAX).max(self.complete()),
            false => self.newest_own().unwrap_or(self.executed()),
        }
    }

    /// How long a word takes at worst to whoever plays, or wants to; who only watches holds nobody up.
    pub(super) fn longest_way(&self) -> Span {
        let members = self.roster.iter().flat_map(Roster::here);
        let players = members.filter(|member| member.wants_to_play);
        let contacts = players.filter_map(|member| self.contacts.get(&member.identity));
        contacts.map(Contact::way_at_worst).max().unwrap_or(Span::ZERO)
    }

    /// How many ticks pass until everyone who plays has heard something, and answered.
    fn ticks_to_all(&self) -> u32 {
        let takes = self.pace().tick_takes.as_micros().max(1);
        (self.longest_way().as_micros() * 3 / takes).min(120) as u32 + 6
    }

    /// Who said goodbye leaves where its commands end; who is silent is given up.
    fn let_go(&mut self, now: Time, roster: &mut Roster) {
        let (executed, patience) = (self.executed(), roster.setup.patience);
        let has_server = roster.setup.has_server();
        let has_quorum = !has_server || self.has_quorum(now);
        // A leader that has just taken over may not have stepped all that the one before it passed on; others have.
        let closed = self.complete();
        for member in roster.members.iter_mut().filter(|member| member.is_here()) {
            let Some(contact) = self.contacts.get(&member.identity) else { continue };
            let is_silent = now - contact.reached_at.min(contact.heard_at) >= patience;
            let is_gone = is_silent || self.election.gone.contains(&member.identity);
            let stands = contact.executed.unwrap_or(member.enters);
            let has_never_played = member.plays_from.is_none();
            // What comes after where it stands is kept for so long; without that it is handed the world anew.
            let kept = if has_never_played { JOINER_TICKS_MAX } else { KEPT_TICKS };
            let is_behind = contact.has_said_so && stands.0.saturating_add(kept) < executed.0;
            let waits = has_never_played && contact.executed.is_none();
            let is_lost = is_behind || (waits && now - contact.moved_at >= WORLD_MAX);
            let is_ours_to_say = has_never_played || (has_server && has_quorum);
            if is_ours_to_say && (is_gone || contact.leaves || is_lost) {
                member.leaves_at = Some(Tick(closed.0 + 1));
            } else if !has_server && contact.leaves {
                // It gives no more commands: what we have of it is all that anyone has, or will have.
                let newest = self.streams.newest(member.seat).unwrap_or(executed);
                let is_last = contact.last_given.is_some_and(|last| last <= newest);
                if is_last {
                    member.leaves_at = Some(Tick(newest.0 + 1));
                }
            } else if !has_server && is_gone {
                // Others may have commands of it that we lack: they are asked.
                self.election.wanted = true;
            }
        }
        // A member that has left is not gone any more: it may come back under the same identity.
        let here: Vec<u64> = roster.here().map(|member| member.identity).collect();
        self.election.gone.retain(|identity| here.contains(identity));
    }

    /// What this machine needs: how long a word takes to the slowest of the others, in 16ths of a tick, and
    /// how long a tick takes at least, in 10ths of a millisecond.
    pub(super) fn own_needs(&self) -> Option<(u16, u16)> {
        let roster = self.roster.as_ref()?;
        if roster.setup.turns != Turns::Adaptive {
            return None;
        }
        let takes = self.pace().tick_takes.as_micros().max(1);
        let way = self.longest_way().as_micros() * 16 / takes;
        let costs = self.tick_costs.as_micros() / 100;
        Some((way.min(4095) as u16, costs.min(4095) as u16))
    }

    /// Turns as long as the slowest line needs, ticks as long as the slowest machine needs.
    fn adapt(&mut self, now: Time, roster: &mut Roster) {
        if roster.setup.turns != Turns::Adaptive || now - self.paced_at < PACE_EVERY {
            return;
        }
        self.paced_at = now;
        let all = || self.needs.values().copied().chain(self.own_needs());
        let way = all().map(|(way, _)| u32::from(way)).max().unwrap_or(0);
        let costs = all().map(|(_, costs)| u64::from(costs) * 100).max().unwrap_or(0);
        // A word is sent at the end of a turn and must be there before the one after the next begins.
        let turn_ticks = (way.div_ceil(16) + 1).clamp(2, 31) as u8;
        let slowest = roster.setup.tick_length.as_micros() * SLOWEST_PACE;
        let tick_takes = Span::micros(costs.clamp(roster.setup.tick_length.as_micros(), slowest));
        let Some((from, pace)) = roster.paces.last().copied() else { return };
        if from > self.executed() {
            return;
        }
        let wanted = Pace { turn_ticks, tick_takes };
        let is_slower = turn_ticks > pace.turn_ticks || tick_takes > pace.tick_takes;
        let is_quicker = turn_ticks + 1 < pace.turn_ticks || tick_takes < pace.tick_takes;
        self.quicker_for = if is_quicker && !is_slower { self.quicker_for + 1 } else { 0 };
        if !is_slower && self.quicker_for < QUICKEN_AFTER {
            return;
        }
        self.quicker_for = 0;
        let soonest = self.newest_given().0 + 1 + self.ticks_to_all();
        let turns = (soonest - from.0).div_ceil(u32::from(pace.turn_ticks));
        let at = Tick(from.0 + turns * u32::from(pace.turn_ticks));
        roster.paces.push((at, wanted));
        if roster.paces.len() > 2 {
            roster.paces.remove(0);
        }
    }

    /// Stops: somebody's world is another.
    pub(super) fn halt(&mut self) {
        if !self.is_halted {
            self.is_halted = true;
            self.events.push(Happening::Halted);
        }
    }
}
