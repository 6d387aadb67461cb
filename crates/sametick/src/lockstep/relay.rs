//! What is said while the game runs: everyone's own commands to everyone, or to a server among the players and
//! from it. Each word carries all that its listener has not acknowledged.

use super::player::{Lockstep, Role, SPEAK_EVERY, Stage};
use super::playing::settled;
use super::roster::Member;
use super::setup::{Setup, Topology};
use super::streams::Stream;
use super::words::{MESSAGE_BYTES_MAX, Play, Word};
use super::{HASH_EVERY_TICKS, LEASE, PLAYERS_MAX, STREAMED_TICKS_MAX};
use crate::core::bits::BitWriter;
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::sim::game::Game;
use crate::transport::clock::Clock;

/// Commands that come so early were made for a server that ran on.
const TOO_EARLY_MICROS: f64 = 250_000.0;

/// How many bytes of a word are for commands; and how many there are at most, beside all else that is said.
const STREAM_BYTES: usize = 400;
const STREAM_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 150;

/// How many seats' commands a word has.
const STREAMS_MAX: usize = 15;

/// The longest command: those of a tick must fit one message, whoever gave them.
pub(super) const COMMAND_BITS_MAX: usize = STREAM_BYTES_MAX * 8 / PLAYERS_MAX;

/// After so long without a step we say in full what we have: somebody may hand us what is missing.
const VECTOR_AFTER: Span = Span::millis(200);

/// So long after that we take commands from others than who gave them.
const HANDED_WITHIN: Span = Span::seconds(1);

impl<G: Game> Lockstep<G> {
    /// Says what is due to whoever should hear it.
    pub(super) fn speak(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        let news = match self.has_server() && self.is_leader() {
            true => self.executed(),
            false => self.newest_own().unwrap_or(self.executed()),
        };
        let turn_ticks = u32::from(self.pace().turn_ticks);
        let has_news = news.0 >= self.spoke_of.0 + turn_ticks;
        if !has_news && now - self.spoke_at < SPEAK_EVERY {
            return;
        }
        (self.spoke_at, self.spoke_of) = (now, news);
        let others = roster.here().filter(|member| member.identity != self.identity);
        let listeners: Vec<Member> =
            others.filter(|member| self.talks_to(member)).copied().collect();
        for listener in listeners {
            let play = self.play_for(now, &listener);
            self.post((listener.identity, listener.at), &Word::Play(Box::new(play)));
        }
        if self.is_leader() {
            self.tell_parted();
        }
    }

    /// Tells those who were taken out so, until enough of those who decided with them know of it.
    fn tell_parted(&mut self) {
        let Some(roster) = &self.roster else { return };
        let is_parted = |member: &&Member| {
            !member.is_here() && !self.election.released.contains(&member.identity)
        };
        let parted = roster.asked().filter(is_parted);
        let parted: Vec<_> = parted.map(|member| (member.identity, member.at)).collect();
        if parted.is_empty() {
            return;
        }
        let word = Word::Play(Box::new(self.account(roster.epoch, &[])));
        parted.into_iter().for_each(|to| self.post(to, &word));
    }

    /// What one listener is told.
    fn play_for(&mut self, now: Time, listener: &Member) -> Play<G::Command> {
        let streams = self.streams_for(listener);
        let held = self.held_of(listener);
        let (executed, clock) = (self.executed(), self.clock.ticks);
        let is_stuck = self.stalled_since.is_some_and(|since| now - since >= VECTOR_AFTER);
        let vector = if is_stuck && !self.has_server() { self.vector() } else { Vec::new() };
        if !vector.is_empty() {
            self.asked_all_at = Some(now);
        }
        let needs_margin = self.has_server() && self.is_leader();
        let Some(roster) = &self.roster else { unreachable!("speaks only with a roster") };
        let (epoch, version) = (roster.epoch, roster.version as u8);
        let contact = self.contacts.entry(listener.identity);
        let contact = contact.or_insert_with(|| super::contact::Contact::new(now, listener.enters));
        let roster = (contact.version != Some(version)).then(|| roster.clone());
        let margin = contact.margin.take().filter(|_| needs_margin);
        let margin = margin.map(|ticks| (ticks * 16.0).clamp(-32_000.0, 32_000.0) as i16);
        let timing = contact.timing(now, clock, executed);
        let hash = timing.and_then(|_| self.newest_hash());
        let needs = timing.and_then(|_| self.own_needs());
        // Both may not fit: first it must know what was decided.
        let streams = if roster.is_some() { Vec::new() } else { streams };
        Play {
            epoch,
            version,
            executed: self.worlds.as_ref().map(|_| executed),
            held,
            leaves: self.leaving_since.is_some(),
            last: self.newest_own().unwrap_or(executed),
            is_halted: self.is_halted,
            roster,
            timing,
            hash,
            margin,
            needs,
            vector,
            streams,
        }
    }

    /// What this machine has of every seat; of one of which it has nothing, up to where it needs it.
    pub(super) fn vector(&self) -> Vec<(u8, Tick)> {
        // Before the game begins there are no commands, and a seat that somebody has given up again is nothing to lack.
        let roster = self.roster.as_ref().filter(|roster| roster.has_begun);
        let members = roster.map_or(&[][..], |roster| &roster.members);
        let next = self.executed().0 + 1;
        let known = |member: &Member| {
            let needed = Tick(member.plays_from?.0.max(next) - 1);
            let newest = self.streams.newest(member.seat).unwrap_or(needed);
            // What came of somebody after it was given up does not count.
            let newest =
                member.leaves_at.map_or(newest, |end| newest.min(Tick(end.0.saturating_sub(1))));
            Some((member.seat as u8, newest))
        };
        members.iter().filter_map(known).collect()
    }

    fn newest_hash(&self) -> Option<(Tick, u32)> {
        let worlds = self.worlds.as_ref()?;
        let tick = Tick(worlds.executed().0 / HASH_EVERY_TICKS * HASH_EVERY_TICKS);
        Some((tick, worlds.at(tick)?.hash(&self.layouts)))
    }

    /// Up to which tick we have what this one sends us.
    fn held_of(&self, listener: &Member) -> Tick {
        let executed = self.executed();
        if !self.has_server() && self.role == Role::Plays {
            return self.streams.newest(listener.seat).unwrap_or(executed);
        }
        if self.is_leader() {
            let asked = self.asked.get(&listener.seat).map_or(executed, Stream::newest);
            return asked.max(executed);
        }
        self.known_up_to(executed)
    }

    /// The last of the ticks after one whose commands are all there. A roster may say what it likes of who plays when:
    /// further than commands are kept nobody looks.
    pub(super) fn known_up_to(&self, after: Tick) -> Tick {
        let ahead = (1..=super::KEPT_TICKS).map_while(|i| after.0.checked_add(i).map(Tick));
        ahead.take_while(|tick| self.is_known(*tick)).last().unwrap_or(after)
    }

    /// The commands that a listener is sent: all that it lacks, as far as they fit.
    fn streams_for(&self, listener: &Member) -> Vec<(u8, Tick, Vec<G::Command>)> {
        let Some(roster) = &self.roster else { return Vec::new() };
        let contact = self.contacts.get(&listener.identity);
        let held = contact.map_or(listener.enters, |contact| contact.held);
        let wanted: Vec<(u16, Tick)> = if !roster.setup.has_server() && listener.wants_to_play {
            let own = self.seat().map(|me| (me.seat, held));
            let vector = contact.map_or(&[][..], |contact| &contact.vector);
            let lacks = |member: &Member| {
                let has = vector.iter().find(|(seat, _)| *seat == member.seat as u8);
                has.map(|(_, tick)| (member.seat, *tick))
            };
            match vector.is_empty() {
                true => own.into_iter().collect(),
                false => roster.members.iter().filter_map(lacks).collect(),
            }
        } else if self.is_leader() {
            roster.members.iter().map(|member| (member.seat, held)).collect()
        } else {
            self.seat().map(|me| (me.seat, held)).into_iter().collect()
        };
        self.cut(&wanted, roster.setup.has_server() && !self.is_leader())
    }

    /// Commands after these ticks, as many as fit a word.
    pub(super) fn cut(
        &self,
        wanted: &[(u16, Tick)],
        is_asked: bool,
    ) -> Vec<(u8, Tick, Vec<G::Command>)> {
        let find = |seat: u16| match is_asked {
            true => self.asked.get(&seat),
            false => self.streams.stream(seat),
        };
        let lacking: Vec<(u16, Tick, &Stream<G::Command>)> = wanted
            .iter()
            .filter_map(|(seat, after)| Some((*seat, *after, find(*seat)?)))
            .filter(|(_, after, stream)| stream.newest() > *after)
            .take(STREAMS_MAX)
            .collect();
        let mut streams: Vec<(u8, Tick, Vec<G::Command>)> = lacking
            .iter()
            .map(|(seat, after, stream)| {
                (*seat as u8, Tick(after.0 + 1).max(stream.first()), Vec::new())
            })
            .collect();
        // Tick by tick, so that what is cut off is the same for all.
        let (mut scratch, mut bits) = (BitWriter::growing(MESSAGE_BYTES_MAX), 0);
        for index in 0..STREAMED_TICKS_MAX as u32 {
            let mut has_more = false;
            for ((_, first, commands), (_, _, stream)) in streams.iter_mut().zip(&lacking) {
                let Some(command) = stream.get(Tick(first.0 + index)) else { continue };
                scratch.clear();
                let record = self.layout.record(command);
                let base = commands.last().map(|last| self.layout.record(last));
                let base = base.as_deref().unwrap_or(self.layout.initial());
                crate::schema::delta::write(&mut scratch, &self.layout, base, &record);
                bits += scratch.bits_written() + 1;
                if bits > STREAM_BYTES_MAX * 8 {
                    return streams;
                }
                commands.push(command.clone());
                has_more = true;
            }
            if !has_more || bits > STREAM_BYTES * 8 {
                break;
            }
        }
        streams
    }

    /// Takes in what another tells.
    pub(super) fn hear_play(&mut self, now: Time, from: (u64, Peer), play: Play<G::Command>) {
        if let Some(roster) = &play.roster {
            self.hear_roster(now, from, roster.clone());
        }
        let Some(roster) = self.roster.as_ref().filter(|_| self.stage == Stage::Playing) else {
            return;
        };
        let Some(speaker) = roster.member(from.0).copied() else {
            return self.turn_away(now, from);
        };
        if play.epoch != roster.epoch {
            return self.hear_other_epoch(from, play.epoch);
        }
        if let Some(contact) = self.contacts.get_mut(&from.0) {
            // So much counts whatever we promised: a candidate may need the promise of a member that has no world yet.
            contact.is_in = true;
        }
        if self.is_bound() {
            return;
        }
        let (version, pace) = (roster.version as u8, self.pace());
        let has_newer = (play.version.wrapping_sub(version) as i8) > 0;
        let (is_leader, has_server) = (self.is_leader(), roster.setup.has_server());
        let from_leader = speaker.seat == roster.leader;
        let own = self.newest_own();
        let contact = self.contacts.entry(from.0);
        let contact = contact.or_insert_with(|| super::contact::Contact::new(now, speaker.enters));
        contact.heard_at = now;
        self.election.restarted.remove(&from.0);
        contact.version = Some(play.version);
        contact.leaves = play.leaves;
        contact.vector.clone_from(&play.vector);
        contact.last_given = play.leaves.then_some(play.last);
        if let Some(executed) = play.executed {
            (contact.executed, contact.has_said_so) = (Some(executed), true);
            contact.held = contact.held.max(play.held);
            if own.is_some() && !(has_server && is_leader) {
                contact.hear_reserve(now, play.held.0.saturating_sub(executed.0));
            }
        }
        if let Some(timing) = play.timing {
            contact.hear_timing(now, timing, play.executed, pace.tick_takes);
        }
        // Who only watches holds nobody up, whatever its machine can do or has made of the world.
        let counts = speaker.wants_to_play;
        if let Some(needs) = play.needs.filter(|_| counts) {
            self.needs.insert(from.0, needs);
        }
        if play.is_halted && counts {
            self.halt();
        }
        if has_newer {
            // Something was decided that we do not know of yet.
            return;
        }
        match (has_server, is_leader, from_leader) {
            (false, ..) => {
                // Everyone tells its own; others' are handed on to who asked for them, or only watches.
                let has_asked = self.asked_all_at.is_some_and(|at| now - at < HANDED_WITHIN);
                let takes_all = has_asked || (self.role == Role::Watches && from_leader);
                let own = speaker.seat as u8;
                self.take_streams(&play.streams, |seat| counts && (takes_all || seat == own));
            }
            (true, true, _) => self.take_asked(&speaker, &play.streams),
            (true, false, true) => {
                self.take_streams(&play.streams, |_| true);
                self.hear_margin(now, from.0, &play);
            }
            (true, false, false) => {}
        }
        if let Some((tick, hash)) = play.hash.filter(|_| counts) {
            self.hear_hash(now, from.0, tick, hash);
        }
    }

    /// Takes in the commands of those seats of which the speaker is believed.
    pub(super) fn take_streams(
        &mut self,
        streams: &[(u8, Tick, Vec<G::Command>)],
        is_believed: impl Fn(u8) -> bool,
    ) {
        let Some(roster) = &self.roster else { return };
        let own = roster.member(self.identity).map(|me| me.seat).filter(|_| !self.has_server());
        if self.worlds.is_none() {
            return;
        }
        let executed = self.executed();
        for (seat, first, commands) in streams.iter().filter(|(seat, ..)| is_believed(*seat)) {
            let member = roster.members.iter().rev().find(|member| member.seat as u8 == *seat);
            let Some(member) = member.filter(|member| Some(member.seat) != own) else { continue };
            let Some(from) = member.plays_from else { continue };
            let stream = self.streams.open(member.seat, from.max(Tick(executed.0 + 1)));
            for (tick, command) in (first.0..).map(Tick).zip(commands) {
                let is_near = tick.0 <= executed.0 + super::KEPT_TICKS;
                if is_near && member.leaves_at.is_none_or(|end| tick < end) {
                    stream.take(tick, command.clone());
                }
            }
        }
    }

    /// The server takes what a player asks for.
    fn take_asked(&mut self, speaker: &Member, streams: &[(u8, Tick, Vec<G::Command>)]) {
        let Some(from) = speaker.plays_from else { return };
        let (executed, clock) = (self.executed(), self.clock.ticks);
        let first_open = from.max(Tick(executed.0 + 1));
        let asked = self.asked.entry(speaker.seat).or_insert_with(|| Stream::new(first_open));
        if asked.newest() < executed {
            // What is past is past: it goes on with what can still count.
            *asked = Stream::new(first_open);
        }
        let before = asked.newest();
        for (_, first, commands) in streams.iter().filter(|(seat, ..)| *seat == speaker.seat as u8)
        {
            for (tick, command) in (first.0..).map(Tick).zip(commands) {
                if tick.0 <= executed.0 + super::DELAY_TICKS_MAX * 2 {
                    asked.take(tick, command.clone());
                }
            }
            // All of it came too late; how late tells how much earlier it must be made.
            let newest = Tick(first.0 + commands.len().saturating_sub(1) as u32);
            let is_late = newest < first_open;
            if (asked.newest() > before || is_late)
                && let Some(contact) = self.contacts.get_mut(&speaker.identity)
            {
                let margin =
                    f64::from(newest.max(if is_late { newest } else { asked.newest() }).0) - clock;
                contact.margin = Some(contact.margin.map_or(margin, |known| known.min(margin)));
            }
        }
    }

    /// The server closes the ticks that are due: the commands of each are now what they are.
    pub(super) fn close_ticks(&mut self, now: Time, setup: Setup) {
        if self.is_halted || self.is_waiting() || !self.has_quorum(now) {
            // Somebody else may be leading already.
            self.clock.hold_at(f64::from(self.executed().0) + 1.0);
            return;
        }
        let waits = setup.topology == Topology::WaitingServer;
        for _ in 0..super::STEPS_MAX {
            let tick = Tick(self.executed().0 + 1);
            if f64::from(tick.0) > self.clock.ticks || self.is_known(tick) {
                return;
            }
            let Some(roster) = &self.roster else { return };
            let playing: Vec<Member> =
                roster.members.iter().filter(|member| member.plays_at(tick)).copied().collect();
            let has = |member: &Member| {
                self.asked.get(&member.seat).and_then(|asked| asked.get(tick)).is_some()
            };
            if playing.is_empty() || (waits && !playing.iter().all(has)) {
                return;
            }
            for member in playing {
                self.close_one(&member, tick);
            }
            self.execute(setup);
        }
    }

    fn close_one(&mut self, member: &Member, tick: Tick) {
        let command = self.asked.get(&member.seat).and_then(|asked| asked.get(tick)).cloned();
        let stream = self.streams.open(member.seat, tick);
        let command = command.unwrap_or_else(|| {
            let newest = stream.newest();
            let times = self.repeated.entry(member.seat).or_default();
            *times += 1;
            let last = stream.get(newest);
            settled(last.map(|last| G::repeat(last, *times)).unwrap_or_default())
        });
        let is_repeated =
            self.asked.get(&member.seat).is_none_or(|asked| asked.get(tick).is_none());
        if !is_repeated {
            self.repeated.remove(&member.seat);
        }
        self.streams.open(member.seat, tick).take(tick, command);
        if let Some(asked) = self.asked.get_mut(&member.seat) {
            asked.forget_before(Tick(tick.0 + 1));
        }
    }

    /// A player sees whether its command of a closed tick was there in time, and forgets it.
    pub(super) fn settle_asked(&mut self, tick: Tick) {
        let Some(seat) = self.seat().map(|me| me.seat) else { return };
        if !self.has_server() || self.is_leader() {
            return;
        }
        let Some(asked) = self.asked.get_mut(&seat) else { return };
        let is_other = asked.get(tick).is_some_and(|own| Some(own) != self.streams.get(seat, tick));
        self.statistics.replaced += u64::from(is_other);
        asked.forget_before(Tick(tick.0 + 1));
    }

    /// A player learns how early its commands come at a server that does not wait.
    fn hear_margin(&mut self, now: Time, server: u64, play: &Play<G::Command>) {
        let (Some(roster), Some(executed)) = (&self.roster, play.executed) else { return };
        // A game that has not begun has no time to be ahead of.
        if roster.setup.topology != Topology::PacketServer || executed == Tick(0) {
            return;
        }
        let takes = self.pace().tick_takes;
        let half = self.contacts.get(&server).map_or(Span::ZERO, super::contact::Contact::way);
        let margin = play
            .margin
            .map(|margin| (f64::from(margin) / 16.0 * takes.as_micros() as f64, play.held));
        if margin.is_some_and(|(micros, _)| micros > TOO_EARLY_MICROS) {
            // The server stood still: what it takes to be in time is found anew.
            self.ahead = None;
        }
        let ahead = self.ahead.get_or_insert_with(|| Clock::new(takes, now));
        ahead.observe(now, executed, half, margin);
    }

    /// Whether enough players have heard us lately to be sure that nobody else leads.
    pub(super) fn has_quorum(&self, now: Time) -> bool {
        let Some(roster) = &self.roster else { return false };
        roster.is_quorum(|identity| {
            let is_mutant = mutant::is(Mutant::LeaseFromWhatWasHeard);
            let reached = |contact: &super::contact::Contact| {
                now - if is_mutant { contact.heard_at } else { contact.reached_at } < LEASE
            };
            identity == self.identity || self.contacts.get(&identity).is_some_and(reached)
        })
    }
}
