//! Who leads when somebody is gone without a word, and what of the gone counts.

use super::player::{Happening, Lockstep, Stage};
use super::roster::{Member, Roster, is_after};
use super::words::{Play, Word};
use super::{MEMBERS_MAX, SILENCE};
use crate::game::Game;
use crate::peer::Peer;
use crate::time::{Span, Time};
use crate::world::Tick;
use std::collections::{BTreeMap, BTreeSet};

/// How often a call is repeated.
const CALL_EVERY: Span = Span::millis(60);

/// So long all others may take to answer; after that a quorum is enough.
const ANSWER_WITHIN: Span = Span::millis(400);

/// How many of those who began anew are remembered.
const FORFEITED_MAX: usize = 256;

/// Nobody calls anew sooner than this.
const RECALL_AFTER: Span = Span::millis(150);

/// The next in line calls so much later.
const RANK_WAITS: Span = Span::millis(700);

/// What this machine knows of elections.
#[derive(Clone, Debug, Default)]
pub(super) struct Election {
    /// The latest epoch that we gave our word to, or that was settled.
    promised: Option<u16>,
    call: Option<Call>,
    /// Who is known to be gone.
    pub(super) gone: BTreeSet<u64>,
    /// The leader wants to know what the others have of somebody who is gone.
    pub(super) wanted: bool,
    /// Who was silent and now asks to be let in: it knows nothing any more, and will lead nobody.
    pub(super) forfeited: BTreeSet<u64>,
    is_paused: bool,
    /// When we called last.
    called_at: Option<Time>,
    /// When we gave our word to somebody else.
    promised_at: Option<Time>,
    /// And to whom.
    promised_to: Option<u64>,
}

#[derive(Clone, Debug)]
struct Call {
    epoch: u16,
    since: Time,
    called_at: Time,
    /// Who gave its word and has nothing that we lack; and whether it leaves.
    promises: BTreeMap<u64, bool>,
}

impl Election {
    pub(super) fn has_promised_beyond(&self, epoch: u16) -> bool {
        self.promised.is_some_and(|promised| is_after(promised, epoch))
    }

    /// No earlier epoch counts any more.
    fn promise(&mut self, epoch: u16) {
        if !self.has_promised_beyond(epoch) {
            self.promised = Some(epoch);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.call.is_some() || self.promised_at.is_some()
    }

    /// Who may lead soon, as far as is known.
    pub(super) fn candidate(&self) -> Option<u64> {
        self.promised_to.filter(|_| self.promised_at.is_some())
    }

    /// Somebody leads.
    pub(super) fn settle(&mut self, epoch: u16) {
        self.promise(epoch);
        (self.call, self.promised_at, self.wanted) = (None, None, false);
        self.is_paused = false;
        self.gone.clear();
    }
}

impl<G: Game> Lockstep<G> {
    /// Calls for the word of the others if that is due, and leads if it has been given.
    pub(super) fn elect(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        let Some(me) = roster.member(self.identity).filter(|_| roster.has_begun).copied() else {
            return;
        };
        if self.is_halted || me.plays_from.is_none() || self.worlds.is_none() {
            return;
        }
        let is_soon = self.election.called_at.is_some_and(|at| now - at < RECALL_AFTER);
        if self.election.call.is_none() && !is_soon && self.is_to_call(now, &me) {
            self.election.called_at = Some(now);
            let rounds = MEMBERS_MAX as u16;
            self.election.promise(roster.epoch);
            let latest = self.election.promised.unwrap_or(roster.epoch);
            let rank = roster.members.iter().position(|member| member.seat == me.seat);
            let round = (latest / rounds + 1).wrapping_mul(rounds);
            let epoch = round + rank.unwrap_or(0) as u16 % rounds;
            self.election.promise(epoch);
            let (called_at, promises) = (now - CALL_EVERY, BTreeMap::new());
            self.election.call = Some(Call { epoch, since: now, called_at, promises });
        }
        self.call(now);
        self.install(now);
    }

    /// The leader calls when somebody is gone; others when the leader is, in their order.
    fn is_to_call(&self, now: Time, me: &Member) -> bool {
        let Some(roster) = &self.roster else { return false };
        // Whoever has our word is given the time to lead.
        let has_waited =
            self.election.promised_at.is_none_or(|at| now - at >= SILENCE + RANK_WAITS);
        if roster.leader == me.seat {
            let is_alone = self.leaving_since.is_some();
            return self.election.wanted && !is_alone && has_waited;
        }
        if self.leaving_since.is_some() {
            return false;
        }
        let Some(silent) = self.leader_silence(now) else { return false };
        let mut heirs = roster.electors().filter(|member| member.seat != roster.leader);
        let rank = heirs.position(|member| member.seat == me.seat).unwrap_or(0) as u64;
        let waits = SILENCE + RANK_WAITS * rank;
        (silent >= waits || (self.has_leader_left() && (rank == 0 || silent >= RANK_WAITS * rank)))
            && has_waited
    }

    fn has_leader_left(&self) -> bool {
        let leader = self.roster.as_ref().and_then(|roster| roster.leader());
        let Some(leader) = leader else { return true };
        !leader.is_here()
            || self.election.gone.contains(&leader.identity)
            || self.contacts.get(&leader.identity).is_some_and(|contact| contact.leaves)
    }

    /// For how long the leader has been silent.
    fn leader_silence(&self, now: Time) -> Option<Span> {
        let leader = self.roster.as_ref()?.leader()?;
        let contact = self.contacts.get(&leader.identity);
        contact.map(|contact| now - contact.heard_at).or(Some(SILENCE * 10))
    }

    fn call(&mut self, now: Time) {
        let Some(call) = &mut self.election.call else { return };
        if now - call.called_at < CALL_EVERY {
            return;
        }
        call.called_at = now;
        let epoch = call.epoch;
        let word = Word::Call {
            is_promise: false,
            leaves: false,
            play: Box::new(self.account(epoch, &[])),
        };
        let Some(roster) = &self.roster else { return };
        let others = roster.here().filter(|member| member.identity != self.identity);
        let others: Vec<_> = others.map(|member| (member.identity, member.at)).collect();
        others.into_iter().for_each(|to| self.post(to, &word));
    }

    /// What we have, under an epoch; with what a caller that has `known` lacks.
    fn account(&self, epoch: u16, known: &[(u8, Tick)]) -> Play<G::Command> {
        let roster = self.roster.as_ref();
        let members = roster.map_or(&[][..], |roster| &roster.members);
        let lacks = members.iter().filter_map(|member| {
            let newest = self.streams.newest(member.seat)?;
            let has = known.iter().find(|(seat, _)| *seat == member.seat as u8);
            let has = has.map_or(self.executed(), |(_, tick)| *tick);
            (newest > has && !known.is_empty()).then_some((member.seat, has))
        });
        let lacks: Vec<_> = lacks.collect();
        Play {
            epoch,
            version: roster.map_or(0, |roster| roster.version as u8),
            executed: self.worlds.as_ref().map(|_| self.executed()),
            held: self.executed(),
            leaves: self.leaving_since.is_some(),
            last: self.newest_own().unwrap_or(self.executed()),
            is_halted: self.is_halted,
            roster: roster.cloned(),
            timing: None,
            hash: None,
            margin: None,
            needs: None,
            vector: self.vector(),
            streams: self.cut(&lacks, false),
        }
    }

    /// Somebody wants to lead. It gets our word if it leads already, or if our leader is gone.
    pub(super) fn hear_call(&mut self, now: Time, from: (u64, Peer), play: Play<G::Command>) {
        if let Some(roster) = &play.roster {
            self.hear_roster(now, from, roster.clone());
        }
        if self.stage != Stage::Playing {
            return;
        }
        let Some(roster) = &self.roster else { return };
        let Some(caller) = roster.member(from.0).copied() else {
            return self.turn_away(from);
        };
        if self.seat().is_none() || self.worlds.is_none() || self.is_halted {
            return;
        }
        let is_leader = caller.seat == roster.leader;
        let is_gone = self.has_leader_left()
            || self.leader_silence(now).is_some_and(|silent| silent >= SILENCE)
            || (self.is_leader() && self.leaving_since.is_some());
        let promised = self.election.promised.unwrap_or(roster.epoch);
        let is_new = is_after(play.epoch, promised);
        // Who knows of a later decision than ours was let lead in between.
        let is_later =
            play.roster.as_ref().is_some_and(|theirs| theirs.age().is_after(roster.age()));
        let i_lead = self.is_leader() && self.leaving_since.is_none();
        if is_new && !is_later && (i_lead || (!is_leader && !is_gone)) {
            if self.is_leader() {
                // It lost sight of us and will not hear us in this epoch: all are asked anew.
                self.election.wanted = true;
                self.election.promise(play.epoch);
                self.election.call = None;
            }
            return;
        }
        if is_after(promised, play.epoch) {
            // It is told so, and calls anew above that.
            let account = self.account(promised, &[]);
            let word = Word::Call { is_promise: true, leaves: false, play: Box::new(account) };
            return self.post(from, &word);
        }
        if is_new {
            self.election.promise(play.epoch);
            (self.election.call, self.election.wanted) = (None, false);
        }
        (self.election.promised_at, self.election.promised_to) = (Some(now), Some(from.0));
        // A caller with an older roster is handed ours.
        let leaves = self.leaving_since.is_some();
        let account = self.account(play.epoch, &play.vector);
        let is_newer =
            |roster: &Roster| play.roster.as_ref().is_none_or(|t| roster.age().is_after(t.age()));
        let roster = account.roster.filter(is_newer);
        // Both may not fit: first it must know what was decided.
        let streams = if roster.is_some() { Vec::new() } else { account.streams };
        let account = Play { roster, streams, ..account };
        self.post(from, &Word::Call { is_promise: true, leaves, play: Box::new(account) });
    }

    /// Somebody gives its word.
    pub(super) fn hear_promise(
        &mut self,
        now: Time,
        from: u64,
        leaves: bool,
        play: Play<G::Command>,
    ) {
        let Some(call) = &self.election.call else { return };
        if self.roster.as_ref().is_none_or(|roster| roster.member(from).is_none()) {
            return;
        }
        if is_after(play.epoch, call.epoch) {
            self.election.promise(play.epoch);
            self.election.call = None;
            return;
        }
        if call.epoch != play.epoch {
            return;
        }
        if let (Some(theirs), Some(ours)) = (&play.roster, &self.roster)
            && theirs.age().is_after(ours.age())
            && theirs.setup == ours.setup
        {
            // Somebody led in between: what was decided then stands.
            let leader = theirs.leader().map(|leader| (leader.identity, leader.at));
            if theirs.member(self.identity).is_none() {
                return leader.into_iter().for_each(|leader| self.come_back(now, leader));
            }
            let call = self.election.call.take();
            self.adopt(now, theirs.clone());
            self.election.call = call;
        }
        self.take_streams(&play.streams);
        let mine = self.vector();
        let has_all = play.vector.iter().all(|(seat, tick)| {
            let own = mine.iter().find(|(known, _)| known == seat);
            own.is_some_and(|(_, newest)| newest >= tick)
        });
        if let Some(call) = self.election.call.as_mut().filter(|_| has_all) {
            call.promises.insert(from, leaves);
        }
    }

    /// Leads, if enough have given their word.
    fn install(&mut self, now: Time) {
        let (Some(call), Some(roster)) = (&self.election.call, &self.roster) else { return };
        let (me, gone) = (self.identity, &self.election.gone);
        let forfeited = &self.election.forfeited;
        let has = |identity: u64| {
            let is_out_of_play = forfeited.contains(&identity);
            identity == me || call.promises.contains_key(&identity) || is_out_of_play
        };
        let all = roster
            .electors()
            .all(|elector| has(elector.identity) || gone.contains(&elector.identity));
        let is_enough = roster.is_quorum(has);
        if !is_enough && now - call.since >= ANSWER_WITHIN && !self.election.is_paused {
            self.election.is_paused = true;
            self.events.push(Happening::Paused);
            return;
        }
        if !is_enough || (!all && now - call.since < ANSWER_WITHIN) {
            return;
        }
        let (call, mut roster) = (call.clone(), roster.clone());
        if roster.before.is_empty() {
            roster.before = roster.electors().map(|elector| elector.identity).collect();
        }
        roster.waits = true;
        let complete = self.complete();
        let has_server = roster.setup.has_server();
        for member in roster.members.iter_mut().filter(|member| member.is_here()) {
            let leaves = call.promises.get(&member.identity) == Some(&true);
            if (member.identity == me || call.promises.contains_key(&member.identity)) && !leaves {
                continue;
            }
            // A watcher may have been told more than anyone who is left: it is handed the world anew.
            let newest = self.streams.newest(member.seat).unwrap_or(complete);
            let end = Tick(if has_server { complete.0 } else { newest.0 } + 1);
            member.leaves_at = Some(end.max(member.plays_from.unwrap_or(end)));
        }
        let Some(seat) = roster.member(me).map(|member| member.seat) else { return };
        (roster.epoch, roster.leader) = (call.epoch, seat);
        roster.count_up();
        if has_server {
            // What was asked of the one before is asked of us; what is past is past.
            let own = self.asked.remove(&seat);
            self.asked.clear();
            self.asked.extend(own.map(|own| (seat, own)));
            self.repeated.clear();
            self.clock.lead = 1.0;
        }
        for contact in self.contacts.values_mut() {
            contact.reached_at = now;
        }
        self.adopt(now, roster);
    }

    /// The newest tick of which everything is known.
    fn complete(&self) -> Tick {
        self.known_up_to(self.executed())
    }

    /// Somebody who plays asks to be let in: it has begun anew.
    pub(super) fn hear_forfeit(&mut self, now: Time, name: u64) {
        let Some(roster) = &self.roster else { return };
        let Some(before) = roster.here().find(|member| member.name == name) else { return };
        let contact = self.contacts.get(&before.identity);
        let is_silent = contact.is_some_and(|contact| now - contact.heard_at >= SILENCE);
        if is_silent && self.election.forfeited.len() < FORFEITED_MAX {
            self.election.forfeited.insert(before.identity);
        }
    }

    /// Somebody has hung up: it is gone, and nobody need wait to be sure of it.
    #[cfg(feature = "secure")]
    pub(super) fn hear_hang_up(&mut self, identity: u64) {
        let is_known = self.roster.as_ref().is_some_and(|roster| roster.member(identity).is_some());
        if is_known && self.stage == Stage::Playing {
            self.election.gone.insert(identity);
        }
    }

    /// Somebody else is where a player was: that one has begun anew, and knows nothing of the game any more. If so
    /// have all others, they look for each other where we came in, and so do we.
    #[cfg(feature = "secure")]
    pub(super) fn hear_restart(&mut self, now: Time, identity: u64) {
        let Some(roster) = self.roster.as_ref().filter(|_| self.stage == Stage::Playing) else {
            return;
        };
        if roster.member(identity).is_none() || !self.is_silent(now, identity) {
            return;
        }
        self.election.gone.insert(identity);
        if self.election.forfeited.len() < FORFEITED_MAX {
            self.election.forfeited.insert(identity);
        }
        let has_forfeited = |member: &Member| self.election.forfeited.contains(&member.identity);
        let others = roster.electors().filter(|elector| elector.identity != self.identity);
        let others: Vec<&Member> = others.collect();
        let is_door = |member: &Member| member.at == self.first_door.1;
        let are_all = others.iter().all(|other| has_forfeited(other));
        if are_all && others.iter().any(|other| is_door(other)) {
            self.roster = None;
            self.come_back(now, self.first_door);
        }
    }

    /// Whether a member who should speak to us has said nothing for so long that it may be gone.
    #[cfg(feature = "secure")]
    pub(super) fn is_silent(&self, now: Time, identity: u64) -> bool {
        let Some(roster) = self.roster.as_ref().filter(|_| self.stage == Stage::Playing) else {
            return false;
        };
        let Some(member) = roster.member(identity) else { return false };
        let contact = self.contacts.get(&identity);
        let is_quiet = contact.is_some_and(|contact| now - contact.heard_at >= SILENCE);
        is_quiet && (self.talks_to(member) || self.election.is_open())
    }

    /// Somebody speaks of another epoch than ours.
    pub(super) fn hear_other_epoch(&mut self, from: u64, epoch: u16) {
        let is_later = self.roster.as_ref().is_some_and(|roster| is_after(epoch, roster.epoch));
        if let Some(contact) = self.contacts.get_mut(&from) {
            // It is told our roster until it has it.
            contact.version = None;
        }
        if is_later && self.is_leader() {
            self.election.wanted = true;
        }
    }
}
