//! Coming in: the door, the terms that all must share, the world for who comes late, and the beginning, which waits
//! for all.

use super::BLOB_BYTES_MAX;
use super::contact::Contact;
use super::player::{Happening, Lockstep, Role, Stage};
use super::roster::{Age, Roster};
use super::streams::Streams;
use super::transfer::{Outgoing, RESEND_MIN};
use super::turns::GameClock;
use super::words::{Refusal, Terms, Word};
use super::worlds::Worlds;
use crate::game::Game;
use crate::peer::Peer;
use crate::time::{Span, Time};
use crate::world::{Tick, World};

/// How often one asks to be let in.
pub(super) const KNOCK_EVERY: Span = Span::millis(250);

/// How long nobody may answer before one gives up.
const KNOCK_MAX: Span = Span::seconds(30);

/// Who comes back tries another door after so long.
const DOOR_PATIENCE: Span = Span::seconds(1);

/// So long somebody who knocks was silent before, if it has really lost its place.
const SILENT_BEFORE: Span = Span::millis(500);

impl<G: Game> Lockstep<G> {
    /// Asks to be let in, again and again.
    pub(super) fn knock(&mut self, now: Time) {
        let Stage::Knocking { since, asked_at } = self.stage else { return };
        if now - since >= KNOCK_MAX {
            return self.end();
        }
        if now - asked_at < KNOCK_EVERY {
            return;
        }
        let tries = (now - since).as_micros() / DOOR_PATIENCE.as_micros();
        let last_try = (asked_at - since).as_micros() / DOOR_PATIENCE.as_micros();
        if tries > 0 && last_try != tries {
            // The one we asked may be gone: one of the others will know who leads.
            let members = self.roster.iter().flat_map(|roster| &roster.members);
            let others = members.filter(|member| member.identity != self.identity);
            let others = others.map(|member| (member.identity, member.at));
            let doors: Vec<_> = others.chain([self.first_door]).collect();
            self.door = doors[tries as usize % doors.len()];
        }
        self.stage = Stage::Knocking { since, asked_at: now };
        let wants_to_play = self.role == Role::Plays;
        self.post(self.door, &Word::Hello { terms: self.terms, name: self.name, wants_to_play });
    }

    /// Somebody asks to be let in.
    pub(super) fn answer(
        &mut self,
        now: Time,
        from: (u64, Peer),
        (terms, name): (Terms, u64),
        wants_to_play: bool,
    ) {
        if self.stage != Stage::Playing {
            return;
        }
        self.hear_forfeit(now, name);
        if !self.is_leader() {
            return self.turn_away(from);
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
        let has_begun = roster.has_begun;
        let worlds = self.worlds.as_ref().filter(|_| has_begun);
        let world = worlds.map(|worlds| worlds.known().save(&self.layouts));
        if world.as_ref().is_some_and(|world| world.len() > BLOB_BYTES_MAX) {
            return self.post(from, &Word::Refusal(Refusal::World));
        }
        let Some(roster) = &mut self.roster else { return };
        let is_let_in = roster.admit((from.0, name), from.1, wants_to_play, executed);
        if !is_let_in {
            return self.post(from, &Word::Refusal(Refusal::Full));
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
    pub(super) fn turn_away(&mut self, from: (u64, Peer)) {
        let Some(roster) = &self.roster else { return };
        let candidate = self.election.candidate().and_then(|identity| roster.member(identity));
        let Some(leader) = candidate.or(roster.leader()) else { return };
        let seen_at = self.contacts.get(&leader.identity).and_then(|contact| contact.at);
        let at = seen_at.unwrap_or(leader.at);
        let word = Word::Notice { age: roster.age(), leader: leader.identity, at };
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
            Stage::Knocking { since, .. } if self.is_door(from) && leader.0 != self.identity => {
                // Whoever leads speaks from where it is.
                let door = if leader.0 == from.0 { from } else { leader };
                if door != self.door {
                    self.door = door;
                    self.stage = Stage::Knocking { since, asked_at: now };
                }
            }
            Stage::Playing => {
                let Some(roster) = &self.roster else { return };
                // Or one who began anew where we knew somebody.
                let is_known =
                    roster.members.iter().any(|m| m.identity == from.0 || m.at == from.1);
                if is_known && age.is_after(roster.age()) && leader.0 != self.identity {
                    // Whoever leads speaks from where it is.
                    let door = if leader.0 == from.0 { from } else { leader };
                    self.come_back(now, door);
                }
            }
            _ => {}
        }
    }

    /// The others went on without us: we ask to be let in again.
    pub(super) fn come_back(&mut self, now: Time, door: (u64, Peer)) {
        if self.leaving_since.is_some() {
            return self.end();
        }
        self.door = door;
        self.stage = Stage::Knocking { since: now, asked_at: now - KNOCK_EVERY };
        for member in self.roster.iter_mut().flat_map(|roster| &mut roster.members) {
            // Where they were seen last is where they may still be.
            let seen_at = self.contacts.get(&member.identity).and_then(|contact| contact.at);
            member.at = seen_at.unwrap_or(member.at);
        }
        self.end_recording();
        self.worlds = None;
        self.streams = Streams::default();
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

    /// A roster came: newer than ours, or the first that has us in it.
    pub(super) fn hear_roster(&mut self, now: Time, from: (u64, Peer), roster: Roster) {
        let is_newer = self.roster.as_ref().is_none_or(|known| roster.age().is_after(known.age()));
        let is_in = roster.member(self.identity).is_some();
        if let Stage::Knocking { .. } = self.stage {
            // An old roster may still have the seat that we lost.
            let seat = |roster: &Roster| roster.member(self.identity).map(|me| me.seat);
            let is_lost = is_in && self.roster.as_ref().and_then(seat) == seat(&roster);
            if is_in && is_newer && !is_lost && self.is_door(from) {
                self.enter(now, roster);
            }
            return;
        }
        // Only those we play with say who plays, and nobody says by other rules.
        let is_strange = self
            .roster
            .as_ref()
            .is_some_and(|known| known.member(from.0).is_none() || known.setup != roster.setup);
        if !is_newer || is_strange || self.election.has_promised_beyond(roster.epoch) {
            return;
        }
        if self.is_leader()
            && let Some(own) = self.roster.as_mut().filter(|own| own.epoch == roster.epoch)
        {
            // In its own epoch only the leader decides: who was told otherwise is told anew, under a later number.
            own.version = roster.version;
            return own.count_up();
        }
        match (is_in, roster.leader().map(|leader| (leader.identity, leader.at))) {
            (true, _) => self.adopt(now, roster),
            (false, Some(leader)) if leader.0 != self.identity => {
                self.roster = Some(roster);
                self.come_back(now, leader);
            }
            (false, _) => {}
        }
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
            let contact = self.contacts.get(to);
            let trip = contact.and_then(|contact| contact.round_trip).unwrap_or_default();
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
