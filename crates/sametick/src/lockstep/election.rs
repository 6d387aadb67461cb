//! Who leads when somebody is gone without a word, and what of the gone counts.

use super::contact::{since_stamp, stamp_of};
use super::player::{Happening, Lockstep, Stage};
use super::roster::{Member, Roster, is_after};
use super::words::{Play, Timing, Word};
use super::{BLOB_BYTES_MAX, LEASE, MEMBERS_MAX, SILENCE};
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::sim::game::Game;
use std::collections::{BTreeMap, BTreeSet};

/// How often a call is repeated.
const CALL_EVERY: Span = Span::millis(60);

/// So long all others may take to answer; after that a quorum is enough.
const ANSWER_WITHIN: Span = Span::millis(400);

/// How many restarted members are remembered.
const RESTARTED_MAX: usize = 256;

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
    /// Members that lost their world, and under which identity and address each asks to be let in now.
    pub(super) restarted: BTreeMap<u64, (u64, Peer)>,
    /// The members that count as informed of the newest roster without being in it: those whose blank promises made
    /// this machine the leader, and those that said goodbye and know that they are out. None of them votes again.
    pub(super) released: BTreeSet<u64>,
    /// Since when a decision of ours cannot be confirmed, because members that decided before have restarted.
    stuck_since: Option<Time>,
    is_paused: bool,
    /// When we called last.
    called_at: Option<Time>,
    /// When we gave our word to somebody else.
    promised_at: Option<Time>,
    /// The identity that holds our promise of the epoch `promised`; none if we only refuse lower ones.
    promised_to: Option<u64>,
    /// A candidate called that could not be brought to our world: we call instead of it.
    overrules: bool,
    /// A machine without a world promises itself to one candidate at a time: to which, and until when.
    lent: Option<(u64, Time)>,
}

#[derive(Clone, Debug)]
struct Call {
    epoch: u16,
    since: Time,
    called_at: Time,
    /// The members that promised and have nothing that we lack.
    promises: BTreeMap<u64, Vote>,
    /// Members without a world that promised, and when the call was sent that each answered.
    blank: BTreeMap<u64, Time>,
}

/// What a promise says besides.
#[derive(Clone, Copy, Debug)]
struct Vote {
    leaves: bool,
    /// It stands before commands that we do not have: our world is beyond them.
    needs_world: bool,
}

impl Election {
    pub(super) fn has_promised_beyond(&self, epoch: u16) -> bool {
        self.promised.is_some_and(|promised| is_after(promised, epoch))
    }

    /// Whether a candidate of a later epoch than this one has our promise, and still has the time to lead.
    pub(super) fn is_promised_to_other(&self, now: Time, epoch: u16) -> bool {
        let is_fresh = self.promised_at.is_some_and(|at| now - at < SILENCE + RANK_WAITS);
        is_fresh && self.promised_to.is_some() && self.has_promised_beyond(epoch)
    }

    /// No earlier epoch counts any more.
    pub(super) fn promise(&mut self, epoch: u16) {
        if self.promised.is_none_or(|promised| is_after(epoch, promised)) {
            (self.promised, self.promised_to) = (Some(epoch), None);
        }
    }

    /// What a mutant does: as if nothing after this epoch had been promised.
    pub(super) fn take_back(&mut self, epoch: u16) {
        (self.promised, self.promised_to, self.promised_at) = (Some(epoch), None, None);
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
        self.overrules = false;
        (self.stuck_since, self.is_paused) = (None, false);
        self.gone.clear();
    }
}

impl<G: Game> Lockstep<G> {
    /// Whether we have promised a later epoch than that of our roster. Until a roster of such an epoch is there, we
    /// take no commands from those that play by ours, and step nothing: whoever holds a promise of ours counts on what
    /// we had when we gave it.
    pub(super) fn is_bound(&self) -> bool {
        let Some(roster) = &self.roster else { return false };
        let is_mutant = mutant::is(Mutant::HearsAfterItsPromise);
        self.election.has_promised_beyond(roster.epoch) && !is_mutant
    }

    /// Calls for the word of the others if that is due, and leads if it has been given.
    pub(super) fn elect(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        let Some(me) = roster.member(self.identity).copied() else { return };
        // A member that has the world but does not play yet may be the last that has it.
        if self.is_halted || !me.wants_to_play || self.worlds.is_none() {
            return;
        }
        let is_soon = self.election.called_at.is_some_and(|at| now - at < RECALL_AFTER);
        if self.election.call.is_none() && !is_soon && self.is_to_call(now, &me) {
            self.election.called_at = Some(now);
            self.election.overrules = false;
            let rounds = MEMBERS_MAX as u16;
            self.election.promise(roster.epoch);
            let latest = self.election.promised.unwrap_or(roster.epoch);
            let rank = roster.members.iter().position(|member| member.seat == me.seat);
            let round = (latest / rounds + 1).wrapping_mul(rounds);
            let epoch = round + rank.unwrap_or(0) as u16 % rounds;
            self.election.promise(epoch);
            let (called_at, promises, blank) = (now - CALL_EVERY, BTreeMap::new(), BTreeMap::new());
            self.election.call = Some(Call { epoch, since: now, called_at, promises, blank });
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
        if self.election.overrules {
            return true;
        }
        let heirs = roster.electors().filter(|member| member.seat != roster.leader);
        let heirs: Vec<u16> = heirs.map(|member| member.seat).collect();
        let rank = heirs.iter().position(|seat| *seat == me.seat).unwrap_or(heirs.len()) as u64;
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
    pub(super) fn leader_silence(&self, now: Time) -> Option<Span> {
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
        // The stamp comes back with a blank promise, which counts for a while from when it was asked for.
        let timing = Some(Timing { stamp: stamp_of(now), echo: None, clock: 0 });
        let play = Box::new(Play { timing, ..self.account(epoch, &[]) });
        let word = Word::Call { is_promise: false, leaves: false, play };
        let Some(roster) = &self.roster else { return };
        let others = roster.asked().filter(|member| member.identity != self.identity);
        let others = others.map(|member| (member.identity, member.at));
        let others: Vec<_> = others.chain(self.election.restarted.values().copied()).collect();
        others.into_iter().for_each(|to| self.post(to, &word));
    }

    /// What we have, under an epoch; with what a caller that has `known` lacks.
    pub(super) fn account(&self, epoch: u16, known: &[(u8, Tick)]) -> Play<G::Command> {
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
        if let Stage::Knocking { since, .. } = self.stage {
            return self.promise_blank(now, since, from, &play);
        }
        if self.stage != Stage::Playing {
            return;
        }
        if let Some(theirs) = play.roster.as_ref().filter(|r| self.is_continued(now, from.0, r)) {
            self.follow(now, theirs.clone());
        }
        let Some(roster) = &self.roster else { return };
        let Some(caller) = roster.member(from.0).copied() else {
            return self.turn_away(now, from);
        };
        // A late repetition of the call that made it the leader asks for nothing more.
        if !caller.wants_to_play || play.epoch == roster.epoch {
            return;
        }
        if self.seat().is_none() || self.worlds.is_none() || self.is_halted {
            return;
        }
        let is_leader = caller.seat == roster.leader;
        let is_gone = self.has_leader_left()
            || self.leader_silence(now).is_some_and(|silent| silent >= SILENCE)
            || (self.is_leader() && self.leaving_since.is_some());
        let promised = self.election.promised.unwrap_or(roster.epoch);
        let is_new = is_after(play.epoch, promised);
        let has_promise = play.epoch == promised && self.election.promised_to == Some(from.0);
        // Who knows of a later decision than ours was let lead in between.
        let is_later =
            play.roster.as_ref().is_some_and(|theirs| theirs.age().is_after(roster.age()));
        let i_lead = self.is_leader() && self.leaving_since.is_none();
        let is_refused = !is_later && (i_lead || (!is_leader && !is_gone));
        if is_refused && !has_promise && !is_after(promised, play.epoch) {
            if is_new && self.is_leader() {
                // It lost sight of us and will not hear us in this epoch: all are asked anew. Its call is repeated
                // meanwhile, and is refused each time: a leader that gave in to the second would wait for it, while
                // those that hear the leader refuse it.
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
        let executed = play.executed.unwrap_or(Tick(0));
        if !is_leader && !is_later && self.is_beyond(executed, &play.vector) {
            return self.overrule(play.epoch);
        }
        if is_new {
            self.election.promise(play.epoch);
            (self.election.call, self.election.wanted) = (None, false);
            self.election.overrules = false;
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

    /// Calls instead of a candidate that would continue from an older world than ours and could not reach ours.
    fn overrule(&mut self, epoch: u16) {
        if self.leaving_since.is_none() && self.role == super::player::Role::Plays {
            self.election.promise(epoch);
            (self.election.call, self.election.overrules) = (None, true);
        }
    }

    /// Whether a roster continues ours, and has a caller in it that we do not know: our leader let it in before it
    /// fell silent, and could not tell us. Nobody else is left who could.
    fn is_continued(&self, now: Time, caller: u64, theirs: &Roster) -> bool {
        let Some(ours) = &self.roster else { return false };
        let has = |member: &Member| {
            theirs.seat(member.seat).is_some_and(|row| row.identity == member.identity)
        };
        ours.member(caller).is_none()
            && theirs.member(caller).is_some_and(|caller| caller.wants_to_play)
            && theirs.member(self.identity).is_some()
            && (theirs.epoch, theirs.leader) == (ours.epoch, ours.leader)
            && theirs.age().is_after(ours.age())
            && theirs.setup == ours.setup
            && ours.here().all(has)
            && !self.is_leader()
            && self.leader_silence(now).is_some_and(|silent| silent >= SILENCE)
    }

    /// Promises a candidate that no other gets the help of this machine, which has no world, for a while.
    ///
    /// A machine that restarted does not know what it promised before. So its promise is no vote: it only says that
    /// nothing is left here of what this member knew, and [`install`](Self::install) needs that of every member
    /// that does not vote. It goes to one candidate at a time, to one that knows of the newest decisions, and not
    /// before all that look for a leader have had the time to call.
    fn promise_blank(
        &mut self,
        now: Time,
        since: Time,
        from: (u64, Peer),
        play: &Play<G::Command>,
    ) {
        let (Some(theirs), Some(timing)) = (&play.roster, play.timing) else { return };
        let is_newest = self.search.hear_game(now, from, theirs.age());
        let is_lent = self.is_lent_to_other(now, from.0);
        if !is_newest || is_lent || now - since < SILENCE {
            return;
        }
        self.election.lent = Some((from.0, now + SILENCE));
        self.go_to_door(now, from);
        let wants_to_play = self.role == super::player::Role::Plays;
        self.post(from, &Word::Hello { terms: self.terms, name: self.name, wants_to_play });
        let timing =
            Timing { stamp: stamp_of(now), echo: Some((timing.stamp, 0)), ..Timing::default() };
        let play = Play { epoch: play.epoch, timing: Some(timing), ..Play::default() };
        self.post(from, &Word::Call { is_promise: true, leaves: false, play: Box::new(play) });
    }

    /// Whether this machine has promised itself to another candidate than this one.
    pub(super) fn is_lent_to_other(&self, now: Time, candidate: u64) -> bool {
        self.election.lent.is_some_and(|(to, until)| now < until && to != candidate)
    }

    /// A machine without a world gives its word.
    fn hear_blank_promise(&mut self, now: Time, from: u64, play: &Play<G::Command>) {
        let Some(Timing { echo: Some((stamp, _)), .. }) = play.timing else { return };
        let mut restarted = self.election.restarted.iter();
        let Some(member) = restarted.find(|(_, (new, _))| *new == from).map(|(old, _)| *old) else {
            return;
        };
        if let Some(call) = self.election.call.as_mut().filter(|call| call.epoch == play.epoch) {
            call.blank.insert(member, now - since_stamp(now, stamp));
        }
    }

    /// Somebody gives its word.
    pub(super) fn hear_promise(
        &mut self,
        now: Time,
        from: u64,
        leaves: bool,
        play: Play<G::Command>,
    ) {
        if play.executed.is_none() {
            return self.hear_blank_promise(now, from, &play);
        }
        if let (true, Some(theirs), Some(ours)) = (leaves, &play.roster, &self.roster)
            && theirs.age() == ours.age()
            && ours.before.contains(&from)
            && ours.member(from).is_none()
        {
            self.election.released.insert(from);
            return;
        }
        let member = self.roster.as_ref().and_then(|roster| roster.member(from));
        let Some(call) = &self.election.call else {
            let is_unconfirmed = self.roster.as_ref().is_some_and(|roster| {
                is_after(play.epoch, roster.epoch) && !roster.before.is_empty()
            });
            if is_unconfirmed && self.is_leader() && member.is_some_and(|m| m.wants_to_play) {
                // It had promised a later epoch before it heard that we lead, and waits for that: all are asked anew.
                self.election.promise(play.epoch);
                self.election.wanted = true;
            }
            return;
        };
        // Who only watches keeps its place if it has no more than we have; nothing else is taken from it.
        let Some(counts) = member.map(|member| member.wants_to_play) else { return };
        if counts && is_after(play.epoch, call.epoch) {
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
            && counts
        {
            // Somebody led in between: what was decided then stands.
            let leader = theirs.leader().map(|leader| (leader.identity, leader.at));
            if theirs.member(self.identity).is_none() {
                let age = Some(theirs.age());
                return leader.into_iter().for_each(|leader| self.come_back(now, leader, age));
            }
            if theirs.member(self.identity).map(|me| me.seat) != self.seat().map(|me| me.seat) {
                return self.follow(now, theirs.clone());
            }
            let call = self.election.call.take();
            self.adopt(now, theirs.clone());
            self.election.call = call;
        }
        self.take_streams(&play.streams, |_| counts);
        let has_all = self.has_all(&play.vector);
        let has_all = has_all || mutant::is(Mutant::PromiseBeforeHandover);
        let needs_world = self.is_beyond(play.executed.unwrap_or(Tick(0)), &play.vector);
        if let Some(call) = self.election.call.as_mut().filter(|_| has_all) {
            call.promises.insert(from, Vote { leaves, needs_world });
        }
    }

    /// Whether we have all commands that another has, as far as they count: a member that has an older roster may not
    /// know yet where somebody's commands end.
    fn has_all(&self, theirs: &[(u8, Tick)]) -> bool {
        let mine = self.vector();
        theirs.iter().all(|(seat, tick)| {
            let own = mine.iter().find(|(known, _)| known == seat);
            let members = self.roster.as_ref().map_or(&[][..], |roster| &roster.members);
            let member = members.iter().rev().find(|member| member.seat as u8 == *seat);
            let end = member.and_then(|member| member.leaves_at);
            let counts = end.map_or(*tick, |end| Tick(end.0.saturating_sub(1)).min(*tick));
            own.is_some_and(|(_, newest)| *newest >= counts)
        })
    }

    /// Leads, if enough have given their word.
    fn install(&mut self, now: Time) {
        let (Some(call), Some(roster)) = (&self.election.call, &self.roster) else { return };
        let (me, gone) = (self.identity, &self.election.gone);
        let has = |identity: u64| identity == me || call.promises.contains_key(&identity);
        // One that restarted and was let in again knows what we know, and nothing of what it knew before.
        let is_back = |identity: u64| {
            let before = roster.asked().find(|member| member.identity == identity);
            let mut others = roster.here().filter(|member| member.identity != identity);
            before.is_some_and(|before| {
                others.any(|member| member.name == before.name && has(member.identity))
            })
        };
        let is_blank = |identity: u64| {
            let asked_at = call.blank.get(&identity);
            asked_at.is_some_and(|asked_at| now - *asked_at < LEASE) || is_back(identity)
        };
        let answered = |identity: u64| has(identity) || is_blank(identity);
        // A joiner does not vote, but may have a later world than we.
        let is_done = |m: &Member| answered(m.identity) || gone.contains(&m.identity);
        let all = roster.here().all(|member| !member.wants_to_play || is_done(member));
        let is_enough = roster.is_quorum_or_all(has, answered);
        if !is_enough && now - call.since >= ANSWER_WITHIN && !self.election.is_paused {
            self.election.is_paused = true;
            self.events.push(Happening::Paused);
            return;
        }
        if !is_enough || (!all && now - call.since < ANSWER_WITHIN) {
            return;
        }
        let asked = roster.asked().map(|member| member.identity);
        let released = asked.filter(|identity| is_blank(*identity)).collect();
        let (call, mut roster) = (call.clone(), roster.clone());
        if roster.before.is_empty() {
            roster.before = roster.electors().map(|elector| elector.identity).collect();
        }
        roster.waits = true;
        let complete = self.complete();
        let has_server = roster.setup.has_server();
        for member in &mut roster.members {
            let newest = self.streams.newest(member.seat).unwrap_or(complete);
            let end = Tick(if has_server { complete.0 } else { newest.0 } + 1);
            let vote = call.promises.get(&member.identity);
            let stays = vote.is_none_or(|vote| !vote.leaves && !vote.needs_world);
            if member.is_here() && has(member.identity) && stays {
                continue;
            }
            // A member that left before may have given commands that nobody of those who answered holds: nobody of
            // them stepped those ticks, and nobody could. A watcher may have been told more than anyone who is
            // left: it is handed the world anew.
            let end = member.leaves_at.map_or(end, |left| left.min(end));
            let end = Tick(end.0 - u32::from(mutant::is(Mutant::GoneATickEarly)));
            member.leaves_at = Some(end.max(member.plays_from.unwrap_or(end)));
        }
        let named = roster.newest_named();
        let is_own = |member: &&mut Member| member.is_here() && member.identity == me;
        let Some(own) = roster.members.iter_mut().find(is_own) else { return };
        // Whoever takes over before it ever played begins where the others end.
        own.plays_from.get_or_insert(named.max(Tick(complete.0 + 1)));
        let seat = own.seat;
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
            // What it told another counts no more, and it is given the time to tell us.
            (contact.reached_at, contact.moved_at) = (now, now);
            contact.has_said_so = false;
        }
        let worlds = self.admit_those_behind(&call, &mut roster);
        self.adopt(now, roster);
        self.election.released = released;
        worlds.into_iter().for_each(|(to, world)| self.hand_over(now, to, world));
    }

    /// Members that promised, and that stand before commands that we do not have, take part from our world on, under
    /// new seats: says who is handed which world.
    fn admit_those_behind(&self, call: &Call, roster: &mut Roster) -> Vec<(u64, Vec<u8>)> {
        let behind = call.promises.iter().filter(|(_, vote)| vote.needs_world && !vote.leaves);
        let behind: Vec<u64> = behind.map(|(identity, _)| *identity).collect();
        let Some(worlds) = self.worlds.as_ref().filter(|_| !behind.is_empty()) else {
            return Vec::new();
        };
        let world = worlds.known().save(&self.layouts);
        if world.len() > BLOB_BYTES_MAX {
            return Vec::new();
        }
        let mut admitted = Vec::new();
        for identity in behind {
            let rows = roster.members.iter().rev();
            let Some(row) = rows.clone().find(|row| row.identity == identity).copied() else {
                continue;
            };
            let at = self.contacts.get(&identity).and_then(|contact| contact.at).unwrap_or(row.at);
            let me = (identity, row.name);
            if roster.admit(me, at, row.wants_to_play, worlds.executed()) {
                admitted.push((identity, world.clone()));
            }
        }
        admitted
    }

    /// Asks all anew where a decision of ours waits for members that have restarted: they do not know that they ever
    /// voted, and only blank promises of all of them help.
    pub(super) fn look_for_restarted(&mut self, now: Time, roster: &Roster) {
        let has_restarted = |identity: &u64| self.election.restarted.contains_key(identity);
        if !roster.before.iter().any(has_restarted) {
            self.election.stuck_since = None;
            return;
        }
        let since = *self.election.stuck_since.get_or_insert(now);
        self.election.wanted |= now - since >= SILENCE;
    }

    /// The newest tick of which everything is known.
    pub(super) fn complete(&self) -> Tick {
        self.known_up_to(self.executed())
    }

    /// A machine asks to be let in under the name of a member: that member has lost its world.
    pub(super) fn hear_member_restart(&mut self, now: Time, from: (u64, Peer), name: u64) {
        let Some(roster) = &self.roster else { return };
        let Some(before) = roster.asked().find(|member| member.name == name) else { return };
        let contact = self.contacts.get(&before.identity);
        // A late hello of a member that plays by now says nothing.
        let is_silent = contact.is_none_or(|contact| now - contact.heard_at >= SILENCE);
        if is_silent && self.election.restarted.len() < RESTARTED_MAX {
            self.election.restarted.insert(before.identity, from);
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
    pub(super) fn hear_restart(&mut self, now: Time, identity: u64, there: (u64, Peer)) {
        let Some(roster) = self.roster.as_ref().filter(|_| self.stage == Stage::Playing) else {
            return;
        };
        if roster.member(identity).is_none() || !self.is_silent(now, identity) {
            return;
        }
        self.election.gone.insert(identity);
        if self.election.restarted.len() < RESTARTED_MAX {
            self.election.restarted.insert(identity, there);
        }
        let has_restarted =
            |member: &Member| self.election.restarted.contains_key(&member.identity);
        let others = roster.electors().filter(|elector| elector.identity != self.identity);
        let others: Vec<&Member> = others.collect();
        let is_door = |member: &Member| member.at == self.first_door.1;
        let are_all = others.iter().all(|other| has_restarted(other));
        if are_all && others.iter().any(|other| is_door(other)) {
            self.roster = None;
            self.come_back(now, self.first_door, None);
            self.search = Default::default();
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
    pub(super) fn hear_other_epoch(&mut self, from: (u64, Peer), epoch: u16) {
        let is_led = self.roster.as_ref().is_some_and(|roster| is_after(epoch, roster.epoch));
        if let Some(promised) = self.election.promised.filter(|p| is_led && is_after(*p, epoch)) {
            // It leads, and we have promised not to follow it: it is told, and calls above that.
            let account = self.account(promised, &[]);
            let word = Word::Call { is_promise: true, leaves: false, play: Box::new(account) };
            self.post(from, &word);
        }
        let from = from.0;
        let is_later = self.roster.as_ref().is_some_and(|roster| {
            let counts = roster.member(from).is_some_and(|member| member.wants_to_play);
            counts && is_after(epoch, roster.epoch)
        });
        if let Some(contact) = self.contacts.get_mut(&from) {
            // It is told our roster until it has it.
            contact.version = None;
        }
        if is_later && self.is_leader() {
            self.election.wanted = true;
        }
    }
}
