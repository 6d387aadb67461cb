//! Coming in: the door, the terms that all must share, the world for who comes late, and the beginning, which waits
//! for all.

use super::contact::Contact;
use super::player::{Happening, Lockstep, Role, Stage};
use super::roster::{Age, Member, Roster};
use super::streams::Streams;
use super::transfer::{Outgoing, RESEND_MIN};
use super::turns::GameClock;
use super::words::{Play, Refusal, Terms, Word};
use super::worlds::Worlds;
use super::{BLOB_BYTES_MAX, MEMBERS_MAX, SILENCE};
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::core::time::{Span, Time};
use crate::sim::game::Game;
use crate::sim::world::World;
use std::collections::BTreeMap;

/// How often one asks to be let in.
pub(super) const KNOCK_EVERY: Span = Span::millis(250);

/// How long nobody may answer before one gives up.
const KNOCK_MAX: Span = Span::seconds(30);

/// Who comes back tries another door after so long.
const DOOR_PATIENCE: Span = Span::seconds(1);

/// Whoever was left behind looks for the others for so long before it takes itself for the last that has a world.
const RESUME_AFTER: Span = Span::seconds(3);

/// So long somebody who knocks was silent before, if it has really lost its place.
const SILENT_BEFORE: Span = Span::millis(500);

/// What a machine that asks to be let in knows of the games around it.
pub(super) struct Search<G: Game> {
    /// A machine that plays and spoke to us, and when: another door to ask at.
    heard: Option<((u64, Peer), Time)>,
    /// Machines that ask to be let in as we do: by name, who and when.
    asking: BTreeMap<u64, ((u64, Peer), Time)>,
    /// The newest decision that is known of a game that goes on without us.
    witnessed: Option<Age>,
    /// What we had when the others went on without us, until we have their world.
    kept: Option<Kept<G>>,
    /// The machines of a game that we have forgotten: other doors to ask at. At most `MEMBERS_MAX`.
    doors: Vec<(u64, Peer)>,
}

impl<G: Game> Default for Search<G> {
    fn default() -> Self {
        let doors = Vec::new();
        Self { heard: None, asking: BTreeMap::new(), witnessed: None, kept: None, doors }
    }
}

impl<G: Game> Search<G> {
    /// Takes note of a machine that plays, and says whether no newer decision than its own is known. A watcher, whose
    /// notices have no age, decides nothing: all that decided with it may have lost their worlds.
    pub(super) fn hear_game(&mut self, now: Time, from: (u64, Peer), age: Age) -> bool {
        if age == Age::default() {
            return false;
        }
        self.heard = Some((from, now));
        let is_newest = self.witnessed.is_none_or(|known| !known.is_after(age));
        if is_newest {
            self.witnessed = Some(age);
        }
        is_newest
    }

    /// Whether nobody can let us in: no game has been heard of for a while, and every other elector of the one that
    /// we were left out of has lost its world and asks to be let in, too.
    fn is_last_with_a_world(&self, now: Time, me: u64) -> bool {
        let Some(Kept { roster, .. }) = &self.kept else { return false };
        let is_asking = |member: &Member| {
            let asking = self.asking.get(&member.name);
            asking.is_some_and(|(_, at)| now - *at < DOOR_PATIENCE)
        };
        let is_quiet = self.heard.is_none_or(|(_, at)| now - at >= RESUME_AFTER);
        let mut others = roster.electors().filter(|member| member.identity != me).peekable();
        is_quiet && others.peek().is_some() && others.all(is_asking)
    }
}

/// Where a machine stood when the others went on without it.
struct Kept<G: Game> {
    roster: Roster,
    worlds: Worlds<G>,
    streams: Streams<G::Command>,
}

impl<G: Game> Lockstep<G> {
    /// Asks to be let in, again and again.
    pub(super) fn knock(&mut self, now: Time) {
        let Stage::Knocking { since, mut door_since, asked_at } = self.stage else { return };
        if now - since >= KNOCK_MAX {
            return self.end();
        }
        if now - asked_at < KNOCK_EVERY {
            return;
        }
        if now - since >= RESUME_AFTER && self.search.is_last_with_a_world(now, self.identity) {
            return self.resume(now);
        }
        // A door that was named just now is asked for as long as any other before the next one.
        if now - door_since >= DOOR_PATIENCE {
            // The one we asked may be gone: one of the others will know who leads.
            let members = self.roster.iter().flat_map(|roster| &roster.members);
            let others = members.filter(|member| member.identity != self.identity);
            let others = others.map(|member| (member.identity, member.at));
            let doors = others.chain(self.search.doors.iter().copied()).chain([self.first_door]);
            let heard = self.search.heard.map(|(door, _)| door);
            let doors: Vec<_> = doors.chain(heard).collect();
            let tries = (now - since).as_micros() / DOOR_PATIENCE.as_micros();
            self.door = doors[tries as usize % doors.len()];
            door_since = now;
        }
        self.stage = Stage::Knocking { since, door_since, asked_at: now };
        let wants_to_play = self.role == Role::Plays;
        self.post(self.door, &Word::Hello { terms: self.terms, name: self.name, wants_to_play });
    }

    /// Asks at another door from now on.
    pub(super) fn go_to_door(&mut self, now: Time, door: (u64, Peer)) {
        let Stage::Knocking { since, .. } = self.stage else { return };
        if door != self.door {
            self.door = door;
            self.stage = Stage::Knocking { since, door_since: now, asked_at: now };
        }
    }

    /// Goes on from where we were when the others went on without us: they have lost where they were.
    fn resume(&mut self, now: Time) {
        let Some(Kept { roster, worlds, streams }) = self.search.kept.take() else { return };
        self.stage = Stage::Playing;
        self.clock = GameClock::new(now, worlds.executed());
        self.spoke_of = worlds.executed();
        let others = roster.here().filter(|member| member.identity != self.identity);
        for member in others {
            // They are asked for their word at once.
            let mut contact = Contact::new(now - SILENCE * 2, member.enters);
            contact.at = self.search.asking.get(&member.name).map(|((_, at), _)| *at);
            self.contacts.insert(member.identity, contact);
            if let Some((now_called, _)) = self.search.asking.get(&member.name) {
                self.election.restarted.insert(member.identity, *now_called);
            }
        }
        // No epoch counts that a game without us has passed.
        self.election.promise(self.search.witnessed.map_or(roster.epoch, |age| age.epoch));
        (self.roster, self.worlds, self.streams) = (Some(roster), Some(worlds), streams);
        if let Some(me) = self.seat() {
            self.events.push(Happening::Joined(me.player));
        }
    }

    /// Somebody asks to be let in.
    pub(super) fn answer(
        &mut self,
        now: Time,
        from: (u64, Peer),
        (terms, name): (Terms, u64),
        wants_to_play: bool,
    ) {
        let asking = &mut self.search.asking;
        if let Stage::Knocking { .. } = self.stage
            && (asking.len() < MEMBERS_MAX || asking.contains_key(&name))
        {
            asking.insert(name, (from, now));
        }
        if self.stage != Stage::Playing {
            return;
        }
        self.hear_member_restart(now, from, name);
        if !self.is_leader() {
            return self.turn_away(now, from);
        }
        let Some(roster) = &self.roster else { return };
        if let Some(refusal) = self.objection(terms) {
            return self.post(from, &Word::Refusal(refusal));
        }
        if roster.member(from.0).is_some() {
            return;
        }
        if let Some(before) = roster.here().find(|member| member.name == name) {
            // It began anew; what it was before is over once it has been silent for a while.
            let identity = before.identity;
            let contact = self.contacts.get(&identity);
            if contact.is_none_or(|contact| now - contact.heard_at >= SILENT_BEFORE) {
                self.election.gone.insert(identity);
            }
            return;
        }
        if self.is_halted || self.leaving_since.is_some() {
            return;
        }
        let executed = self.executed();
        // Who knocks at a full game again and again costs no world each time.
        if roster.is_full(wants_to_play) {
            return self.post(from, &Word::Refusal(Refusal::Full));
        }
        if !roster.has_room(wants_to_play, executed) {
            // The rows of members that left lately become free in a while; the machine asks again until then.
            return;
        }
        let has_begun = roster.has_begun;
        let worlds = self.worlds.as_ref().filter(|_| has_begun);
        let world = worlds.map(|worlds| worlds.known().save(&self.layouts));
        if world.as_ref().is_some_and(|world| world.len() > BLOB_BYTES_MAX) {
            return self.post(from, &Word::Refusal(Refusal::World));
        }
        let Some(roster) = &mut self.roster else { return };
        if !roster.admit((from.0, name), from.1, wants_to_play, executed) {
            return;
        }
        roster.count_up();
        self.contacts.insert(from.0, Contact::new(now, executed));
        if let Some(world) = world {
            self.hand_over(now, from.0, world);
        }
    }

    fn objection(&self, terms: Terms) -> Option<Refusal> {
        let differs = [
            (terms.build != self.terms.build, Refusal::Build),
            (terms.rules != self.terms.rules, Refusal::Rules),
            (terms.content != self.terms.content, Refusal::Content),
        ];
        differs.into_iter().find(|(differs, _)| *differs).map(|(_, refusal)| refusal)
    }

    /// Tells somebody who is not of ours whom to ask.
    pub(super) fn turn_away(&mut self, now: Time, from: (u64, Peer)) {
        let Some(roster) = &self.roster else { return };
        let candidate = self.election.candidate().and_then(|identity| roster.member(identity));
        let candidate = candidate.or(self.other_player(now, from.0));
        let Some(leader) = candidate.or(roster.leader()) else { return };
        let seen_at = self.contacts.get(&leader.identity).and_then(|contact| contact.at);
        let at = seen_at.unwrap_or(leader.at);
        // A watcher knows where the leader is, and vouches for nothing.
        let age = if self.role == Role::Watches { Age::default() } else { roster.age() };
        let word = Word::Notice { age, leader: leader.identity, at };
        self.post(from, &word);
    }

    /// Whether somebody is the one whom we asked.
    fn is_door(&self, from: (u64, Peer)) -> bool {
        self.door.0 == from.0 || self.door.1 == from.1
    }

    pub(super) fn hear_refusal(&mut self, from: (u64, Peer), refusal: Refusal) {
        if matches!(self.stage, Stage::Knocking { .. }) && self.is_door(from) {
            self.events.push(Happening::Refused(refusal));
            self.end();
        }
    }

    /// Somebody says that another leads, or that we are none of them.
    pub(super) fn hear_notice(
        &mut self,
        now: Time,
        from: (u64, Peer),
        age: Age,
        leader: (u64, Peer),
    ) {
        match self.stage {
            Stage::Knocking { .. } if self.is_door(from) && leader.0 != self.identity => {
                // Whoever leads speaks from where it is.
                self.search.hear_game(now, from, age);
                if !self.is_lent_to_other(now, leader.0) {
                    self.go_to_door(now, if leader.0 == from.0 { from } else { leader });
                }
            }
            Stage::Knocking { .. } => {
                self.search.hear_game(now, from, age);
            }
            Stage::Playing => {
                let Some(roster) = &self.roster else { return };
                let needs_quorum = roster.setup.needs_quorum;
                // Where parts go on as games of their own, those of another part are gone to us. Members that were
                // taken out still count until enough of them know of it.
                let counts = |m: &&Member| {
                    let is_asked = m.is_here() || roster.before.contains(&m.identity);
                    m.wants_to_play && (is_asked || !needs_quorum || self.is_astray(now))
                };
                let seen_at = |m: &Member| self.contacts.get(&m.identity).and_then(|c| c.at);
                let mut players = roster.members.iter().filter(counts);
                // One who plays with us, or one who began anew where we knew such a one.
                let is_known = players
                    .any(|m| m.identity == from.0 || m.at == from.1 || seen_at(m) == Some(from.1));
                // Whom enough hear leads: nobody else can.
                let leads = needs_quorum && self.is_leader() && self.has_quorum(now);
                let is_later = age.is_after(roster.age()) || self.is_astray(now);
                // The candidate that has our promise may lead by now, and count on our world.
                let is_promised = self.election.is_promised_to_other(now, age.epoch);
                let is_refused = !is_known || leads || !is_later || is_promised;
                if is_refused || leader.0 == self.identity {
                    return;
                }
                if self.leaving_since.is_some() {
                    // The roster that we are not in follows if somebody waits for our answer.
                    self.parted_at.get_or_insert(now);
                } else {
                    // Whoever leads speaks from where it is.
                    let door = if leader.0 == from.0 { from } else { leader };
                    let is_astray = self.is_astray(now);
                    self.come_back(now, door, Some(age));
                    if is_astray {
                        self.forget_game();
                    }
                }
            }
            Stage::Over => {}
        }
    }

    /// The others went on without us, as a decision of this age says: we ask to be let in again.
    pub(super) fn come_back(&mut self, now: Time, door: (u64, Peer), age: Option<Age>) {
        if self.leaving_since.is_some() {
            return self.end();
        }
        self.door = door;
        self.stage = Stage::Knocking { since: now, door_since: now, asked_at: now - KNOCK_EVERY };
        for member in self.roster.iter_mut().flat_map(|roster| &mut roster.members) {
            // Where they were seen last is where they may still be.
            let seen_at = self.contacts.get(&member.identity).and_then(|contact| contact.at);
            member.at = seen_at.unwrap_or(member.at);
        }
        self.end_recording();
        self.keep();
        self.search = Search { witnessed: age, kept: self.search.kept.take(), ..Search::default() };
        self.asked.clear();
        self.repeated.clear();
        self.contacts.clear();
        self.incoming.clear();
        self.outgoing.clear();
        self.election = super::election::Election::default();
        self.ahead = None;
        self.inquest = None;
        self.is_halted = false;
        self.events.push(Happening::LeftBehind);
    }

    /// Forgets the game that we come from, but for where its machines are.
    fn forget_game(&mut self) {
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let others = members.filter(|member| member.identity != self.identity);
        self.search.doors = others.map(|member| (member.identity, member.at)).collect();
        (self.roster, self.search.kept) = (None, None);
    }

    /// Puts aside what we have, in case nobody has more.
    fn keep(&mut self) {
        let (worlds, streams) = (self.worlds.take(), std::mem::take(&mut self.streams));
        let is_in = self.roster.as_ref().filter(|roster| roster.member(self.identity).is_some());
        if let (Some(roster), Some(worlds)) = (is_in.cloned(), worlds) {
            self.search.kept = Some(Kept { roster, worlds, streams });
        }
    }

    /// A roster came: newer than ours, or the first that has us in it.
    pub(super) fn hear_roster(&mut self, now: Time, from: (u64, Peer), roster: Roster) {
        let is_newer = self.roster.as_ref().is_none_or(|known| roster.age().is_after(known.age()));
        let is_in = roster.member(self.identity).is_some();
        if let Stage::Knocking { .. } = self.stage {
            // An old roster may still have the seat that we lost.
            let seat = |roster: &Roster| roster.member(self.identity).map(|me| me.seat);
            let is_lost = is_in && self.roster.as_ref().and_then(seat) == seat(&roster);
            let leader = roster.leader().map_or(from.0, |leader| leader.identity);
            let is_lent = self.is_lent_to_other(now, leader);
            if is_in && is_newer && !is_lost && !is_lent && self.is_door(from) {
                self.enter(now, roster);
                if let Some(contact) = self.contacts.get_mut(&from.0) {
                    // The roster may have the address that its sender had before it moved.
                    contact.at = Some(from.1);
                }
            }
            return;
        }
        // Only those we play with say who plays, and nobody says by other rules.
        let is_strange = self.roster.as_ref().is_some_and(|known| {
            let speaker = known.member(from.0).filter(|speaker| speaker.wants_to_play);
            speaker.is_none() || known.setup != roster.setup
        });
        if self.is_parted() && self.roster.as_ref().is_some_and(|own| own.age() == roster.age()) {
            return self.confirm_goodbye(now, from);
        }
        let has_promised = self.election.has_promised_beyond(roster.epoch);
        let is_mutant = mutant::is(Mutant::RosterAfterItsPromise);
        if !is_newer || is_strange || (has_promised && !is_mutant) {
            return;
        }
        if has_promised {
            self.election.take_back(roster.epoch);
        }
        if self.is_leader()
            && let Some(own) = self.roster.as_mut().filter(|own| own.epoch == roster.epoch)
        {
            // In its own epoch only the leader decides: who was told otherwise is told anew, under a later number.
            own.version = roster.version;
            return own.count_up();
        }
        match (is_in, roster.leader().map(|leader| (leader.identity, leader.at))) {
            (true, _) => self.follow(now, roster),
            (false, Some(_)) if self.leaving_since.is_some() => {
                self.roster = Some(roster);
                self.confirm_goodbye(now, from);
            }
            (false, Some(leader)) if leader.0 != self.identity => {
                let age = roster.age();
                self.keep();
                self.roster = Some(roster);
                self.come_back(now, leader, Some(age));
            }
            (false, _) => {}
        }
    }

    /// Whether we said goodbye, and know that we are out.
    pub(super) fn is_parted(&self) -> bool {
        self.leaving_since.is_some() && self.seat().is_none()
    }

    /// Confirms the roster that we are not in: we vote for no candidate any more. The leader may need that to go on.
    fn confirm_goodbye(&mut self, now: Time, to: (u64, Peer)) {
        let Some(roster) = &self.roster else { return };
        self.parted_at = Some(now);
        let account = Play { streams: Vec::new(), ..self.account(roster.epoch, &[]) };
        self.post(to, &Word::Call { is_promise: true, leaves: true, play: Box::new(account) });
    }

    /// We are in.
    pub(super) fn enter(&mut self, now: Time, roster: Roster) {
        self.stage = Stage::Playing;
        self.worlds = None;
        let is_fresh = roster.member(self.identity).is_some_and(|me| me.enters == Tick(0));
        self.adopt(now, roster);
        if is_fresh {
            let mut world = World::default();
            G::populate(&self.content, &mut world);
            // What is not finite was mended, as everywhere.
            let _ = world.settle();
            self.begin(now, world);
        }
    }

    /// Begins from a world.
    fn begin(&mut self, now: Time, world: World<G::Entity>) {
        self.search = Search::default();
        self.clock = GameClock::new(now, world.tick());
        self.spoke_of = world.tick();
        self.worlds = Some(Worlds::new(world));
        if let Some(me) = self.seat() {
            self.events.push(Happening::Joined(me.player));
        }
    }

    /// Takes a roster as ours.
    pub(super) fn adopt(&mut self, now: Time, roster: Roster) {
        let before = self.roster.as_ref().map(|roster| (roster.epoch, roster.leader));
        let leader = roster.leader().map(|leader| leader.player);
        if before != Some((roster.epoch, roster.leader)) {
            self.events.extend(leader.map(Happening::Leads));
            self.election.settle(roster.epoch);
            self.ahead = None;
            // Some of these hashes may be of ticks that never counted.
            self.early.clear();
            // What others know of us is told anew.
            for contact in self.contacts.values_mut() {
                (contact.version, contact.heard_at) = (None, now);
            }
        }
        // Who came back in between knows nothing of what it was told before.
        let seats = |roster: &Roster| -> Vec<(u64, u16)> {
            roster.here().map(|member| (member.identity, member.seat)).collect()
        };
        let (had, has) = (self.roster.as_ref().map(seats).unwrap_or_default(), seats(&roster));
        let stayed = |identity: &u64| {
            let seat =
                |seats: &[(u64, u16)]| seats.iter().find(|(who, _)| who == identity).copied();
            seat(&has).is_some_and(|now| seat(&had).is_none_or(|before| before == now))
        };
        self.contacts.retain(|identity, _| stayed(identity));
        self.needs.retain(|identity, _| stayed(identity));
        self.incoming.retain(|identity, _| stayed(identity));
        let is_asked = |identity: &u64| roster.asked().any(|member| member.identity == *identity);
        self.election.restarted.retain(|identity, _| is_asked(identity));
        for member in roster.here().filter(|member| member.identity != self.identity) {
            let contact = self.contacts.entry(member.identity);
            contact.or_insert_with(|| Contact::new(now, member.enters));
        }
        if before != Some((roster.epoch, roster.leader)) && roster.setup.has_server() {
            // What was told to the one before, another does not know.
            let executed = self.executed();
            let leads = roster.leader().is_some_and(|leader| leader.identity == self.identity);
            for contact in self.contacts.values_mut() {
                let known = contact.executed.unwrap_or(Tick(0));
                contact.held = if leads { known.min(executed) } else { executed };
            }
        }
        self.roster = Some(roster);
    }

    /// Sends something long to somebody.
    pub(super) fn hand_over(&mut self, now: Time, to: u64, bytes: Vec<u8>) {
        self.transfers = self.transfers.wrapping_add(1);
        self.outgoing.retain(|(other, _)| *other != to);
        self.outgoing.push((to, Outgoing::new(self.transfers, bytes, now)));
    }

    pub(super) fn send_pieces(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        self.outgoing.retain(|(to, _)| roster.member(*to).is_some());
        let mut words = Vec::new();
        for (to, outgoing) in &mut self.outgoing {
            let Some(member) = roster.member(*to) else { continue };
            let id = outgoing.id;
            // A machine that does not have the roster yet drops pieces, and each costs a resend: it speaks as a
            // member first. The round-trip time, which resends follow, is known by then, too.
            let contact = self.contacts.get(to).filter(|contact| contact.is_in);
            let Some(contact) = contact else { continue };
            let trip = contact.round_trip.unwrap_or_default();
            while let Some((index, count, bytes)) = outgoing.next(now, RESEND_MIN.max(trip * 2)) {
                let word = Word::Piece { id, index, count, bytes: bytes.to_vec() };
                words.push(((*to, member.at), word));
            }
        }
        words.iter().for_each(|(to, word)| self.post(*to, word));
    }

    pub(super) fn hear_piece(
        &mut self,
        now: Time,
        from: (u64, Peer),
        piece: (u8, u16, u16),
        bytes: &[u8],
    ) {
        // From whoever let us in or leads, and later from the one with whom we differ.
        let Some(roster) = self.roster.as_ref().filter(|_| self.stage == Stage::Playing) else {
            return;
        };
        let leads = roster.leader().is_some_and(|leader| leader.identity == from.0);
        let is_asked = match self.worlds {
            None => roster.member(from.0).is_some() && (leads || self.is_door(from)),
            Some(_) => self.is_compared_with(from.0),
        };
        if !is_asked {
            return;
        }
        let (count, whole) = self.incoming.entry(from.0).or_default().take(piece, bytes);
        self.post(from, &Word::Taken { id: piece.0, count });
        let Some(whole) = whole else { return };
        let Ok(world) = World::<G::Entity>::load(&whole, &self.layouts) else {
            self.statistics.malformed += 1;
            return;
        };
        if self.worlds.is_some() {
            return self.hear_evidence(from.0, world);
        }
        let is_ours = self.seat().is_some_and(|me| me.enters == world.tick());
        if is_ours {
            self.incoming.clear();
            self.begin(now, world);
        }
    }
}
