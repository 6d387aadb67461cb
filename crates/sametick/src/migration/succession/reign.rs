//! Whether a server may step, and what it orders for when it is gone. Knows players and moments, no
//! connection and no world.

use super::electorate::Electorate;
use super::words::{Charge, Heir, Order, Said};
use super::{
    ELECTORATES_MAX, HAND_OVER_MAX, LEASE, ORDER_INTERVAL, ORDER_LASTS, STANDING_ROUND,
    SUCCESSORS_MAX, next_epoch,
};
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::tick::Tick;
use crate::core::time::Time;
use crate::transport::seats::PLACE_KEPT;
use crate::transport::secure::{ClientToken, TokenKey};
use std::collections::{BTreeMap, BTreeSet};

/// Where a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It wants to go on where its host stopped, and has not enough players yet.
    Standing,
    /// It has enough players, and asks each of them to promise its epoch.
    Calling,
    /// It steps.
    Reigning,
    /// It has too few players to be sure that nobody else steps.
    Paused,
    /// It has stepped for the last time and tells its successor.
    HandingOver,
    /// It is a server no more.
    Over,
}

/// A player with a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    pub(crate) client_id: u64,
    pub(crate) peer: Peer,
    /// When the newest packet that it has was sent.
    pub(crate) lent_at: Time,
}

/// A successor as its host knows it.
#[derive(Clone, Debug)]
struct Named {
    client_id: u64,
    peer: Peer,
    /// Stays the same for as long as it is named: tickets of older orders are good too.
    key: TokenKey,
}

#[derive(Debug)]
pub(crate) struct Reign {
    own: u64,
    pub(crate) epoch: u32,
    pub(crate) number: u32,
    /// The epoch of the host before, whose order a successor stands with.
    charged_epoch: u32,
    /// The newest first; a quorum of each is needed.
    electorates: Vec<Electorate>,
    named: Vec<Named>,
    /// What each player here says that it knows.
    knows: BTreeMap<u64, (u32, u32)>,
    volunteers: BTreeMap<u64, Option<Peer>>,
    /// Those who left for good: they lend themselves to nobody any more.
    proxies: BTreeSet<u64>,
    /// To whom the newest order, and the newest charge, was sent.
    told: BTreeSet<u64>,
    charged: BTreeSet<u64>,
    /// The players that were asked to promise the epoch, each on its present connection.
    called: BTreeSet<u64>,
    ordered_at: Time,
    pub(crate) stage: Stage,
    pub(crate) since: Time,
    rank: u32,
    /// Those who have been waiting for a server that stands.
    arrived: BTreeMap<u64, Time>,
    last_word_held: bool,
}

impl Reign {
    /// The first host, with nobody else yet.
    pub(crate) fn first(own: u64, now: Time) -> Self {
        Self::new(own, 0, 0, vec![Electorate::new(own, [own])], Stage::Reigning, now)
    }

    /// A successor that takes its charge.
    pub(crate) fn stand(charge: &Charge, host_is_gone: bool, now: Time) -> Self {
        let electorates = charge.electorates.clone();
        let stage = Stage::Standing;
        let mut reign = Self::new(charge.you, charge.epoch, charge.number, electorates, stage, now);
        reign.rank = charge.rank;
        // A host that left of its own will has given its word to its successor.
        reign.proxies.extend(host_is_gone.then_some(charge.host));
        reign
    }

    fn new(
        own: u64,
        epoch: u32,
        number: u32,
        electorates: Vec<Electorate>,
        stage: Stage,
        now: Time,
    ) -> Self {
        Self {
            own,
            epoch,
            number,
            charged_epoch: epoch,
            electorates,
            named: Vec::new(),
            knows: BTreeMap::new(),
            volunteers: BTreeMap::new(),
            proxies: BTreeSet::new(),
            told: BTreeSet::new(),
            charged: BTreeSet::new(),
            called: BTreeSet::new(),
            ordered_at: Time::ZERO,
            stage,
            since: now,
            rank: 0,
            arrived: BTreeMap::new(),
            last_word_held: false,
        }
    }

    /// A player has a new connection, on which nothing was said yet.
    pub(crate) fn arrive(&mut self, now: Time, client_id: u64) {
        self.depart(client_id, false);
        if !mutant::is(Mutant::ProxyKeptOnReturn) {
            self.proxies.remove(&client_id);
        }
        self.arrived.insert(client_id, now);
    }

    pub(crate) fn depart(&mut self, client_id: u64, is_for_good: bool) {
        // A player whose vote does not count here has not lent it to us when it leaves.
        if is_for_good && (self.may_decide(client_id) || self.may_promise(client_id)) {
            self.proxies.insert(client_id);
        }
        self.knows.remove(&client_id);
        self.called.remove(&client_id);
        self.volunteers.remove(&client_id);
        self.told.remove(&client_id);
        self.charged.remove(&client_id);
        self.arrived.remove(&client_id);
    }

    pub(crate) fn hear(&mut self, from: u64, said: Said) {
        match said {
            Said::Volunteer(peer) => {
                self.volunteers.insert(from, peer);
            }
            Said::Knows { epoch, number } => {
                self.knows.insert(from, (epoch, number));
            }
            Said::Holds(_) => {}
        }
    }

    /// Whether somebody knows of a newer epoch, or of an order that this successor has missed. Such a one
    /// does not count here; what it says ends nobody's reign, for it may not be true. While this successor
    /// calls, nobody but those that promised its epoch to it may know of that epoch: another successor, of
    /// another order, may call for the same.
    fn is_ahead(&self, known: (u32, u32)) -> bool {
        let is_mutant = mutant::is(Mutant::StandsWithAnOldOrder);
        let is_missed = known > (self.charged_epoch, self.number);
        match self.stage {
            Stage::Standing | Stage::Calling if is_mutant => known.0 > self.epoch,
            Stage::Standing => is_missed,
            Stage::Calling => is_missed && known != (self.epoch, self.number),
            Stage::Reigning | Stage::Paused | Stage::HandingOver | Stage::Over => {
                known.0 > self.epoch
            }
        }
    }

    /// Whether a player that is lent to this server counts. It says first what it knows: before that it may know
    /// of a newer server. One that calls counts only players that promised the epoch to this very successor.
    fn may_decide(&self, client_id: u64) -> bool {
        let Some(known) = self.knows.get(&client_id) else { return false };
        let is_ours = self.stage != Stage::Calling || known.1 == self.number;
        known.0 == self.epoch && is_ours && !self.is_ahead(*known)
    }

    /// Whether a player may promise the epoch that this successor calls for: it knows no other server than the one
    /// before, and no order that this successor has missed.
    fn may_promise(&self, client_id: u64) -> bool {
        let known = self.knows.get(&client_id);
        let is_free = |known: &(u32, u32)| known.0 == self.charged_epoch && !self.is_ahead(*known);
        self.stage == Stage::Calling && known.is_some_and(is_free)
    }

    /// Whether a player is to be asked for its promise now; each is asked once on a connection.
    pub(crate) fn calls(&mut self, client_id: u64) -> bool {
        self.may_promise(client_id) && self.called.insert(client_id)
    }

    /// The first successor has the whole state of this tick.
    pub(crate) fn hold(&mut self, from: u64, tick: Tick, last: Tick) {
        let is_first = self.named.first().is_some_and(|named| named.client_id == from);
        self.last_word_held |= self.stage == Stage::HandingOver && is_first && tick == last;
    }

    pub(crate) fn enter(&mut self, now: Time, stage: Stage) {
        if self.stage != stage && self.stage != Stage::Over {
            (self.stage, self.since) = (stage, now);
        }
    }

    /// Moves on to the stage that the moment calls for.
    pub(crate) fn advance(&mut self, now: Time, present: &[Present]) {
        let decides = self.decides(now, present);
        match self.stage {
            Stage::Standing if decides => {
                self.epoch = next_epoch(self.epoch, self.rank);
                let is_mutant = mutant::is(Mutant::StepsWithoutPromises);
                self.enter(now, if is_mutant { Stage::Reigning } else { Stage::Calling });
            }
            Stage::Calling if decides => self.enter(now, Stage::Reigning),
            // A player that promised this epoch has no older server to go back to: there is no second attempt.
            Stage::Calling if now - self.since >= PLACE_KEPT => self.enter(now, Stage::Over),
            Stage::Standing => {
                // A later successor lets the others try again; the first is the one they come to.
                let patience = if self.rank == 0 { PLACE_KEPT } else { STANDING_ROUND };
                if now - self.since >= patience {
                    self.enter(now, Stage::Over);
                }
            }
            Stage::Reigning if !decides => self.enter(now, Stage::Paused),
            Stage::Paused if decides => self.enter(now, Stage::Reigning),
            Stage::HandingOver => {
                let is_done = self.last_word_held || self.named.is_empty();
                if is_done || now - self.since >= HAND_OVER_MAX {
                    self.enter(now, Stage::Over);
                }
            }
            Stage::Calling | Stage::Reigning | Stage::Paused | Stage::Over => {}
        }
        if self.stage == Stage::Reigning {
            self.settle();
            self.order(now, present);
        }
    }

    /// Those who can do better elsewhere: they know more than we do, or have waited for long enough for a
    /// server that stands.
    pub(crate) fn dismissed(&self, now: Time) -> Vec<u64> {
        let is_held = |id: &u64| match self.stage {
            Stage::Standing => true,
            Stage::Calling => !self.may_decide(*id),
            Stage::Reigning | Stage::Paused | Stage::HandingOver | Stage::Over => false,
        };
        let waiting = self.arrived.iter().filter(|(id, _)| is_held(id));
        let tired = waiting.filter(|(_, at)| now - **at >= STANDING_ROUND).map(|(id, _)| *id);
        let ahead = self.knows.iter().filter(|(_, known)| self.is_ahead(**known));
        tired.chain(ahead.map(|(id, _)| *id)).collect()
    }

    /// The successors who are to have the state, the first one first.
    pub(crate) fn heirs(&self) -> impl Iterator<Item = u64> {
        self.named.iter().map(|named| named.client_id)
    }

    /// Who is to be told of the order, and of which one: `seal` makes a player's tickets for a successor,
    /// or for us.
    pub(crate) fn take_orders(
        &mut self,
        present: &[Present],
        unix_seconds: u64,
        mut seal: impl FnMut(u64, Option<&TokenKey>) -> Vec<ClientToken>,
    ) -> Vec<(u64, Vec<u8>)> {
        let mut messages = Vec::new();
        if self.stage != Stage::Reigning || self.number == 0 {
            return messages;
        }
        for client_id in present.iter().map(|present| present.client_id) {
            if self.told.insert(client_id) {
                let heirs = self.named.iter().map(|named| Heir {
                    peer: named.peer,
                    is_you: named.client_id == client_id,
                    tickets: seal(client_id, Some(&named.key)),
                });
                let (epoch, number, heirs) = (self.epoch, self.number, heirs.collect());
                let order = Order { epoch, number, spares: seal(client_id, None), heirs };
                messages.push((client_id, order.write()));
            }
            let rank = self.named.iter().position(|named| named.client_id == client_id);
            if let Some(rank) = rank
                && self.charged.insert(client_id)
            {
                let charge = Charge {
                    epoch: self.epoch,
                    number: self.number,
                    rank: rank as u32,
                    you: client_id,
                    host: self.own,
                    key: self.named[rank].key.clone(),
                    unix_seconds,
                    electorates: self.electorates.clone(),
                };
                messages.push((client_id, charge.write()));
            }
        }
        messages
    }

    /// Whether those who are lent to this server at this moment are a quorum of every electorate.
    fn decides(&self, now: Time, present: &[Present]) -> bool {
        let is_lent = |client_id: u64| {
            present.iter().any(|p| p.client_id == client_id && now - p.lent_at < LEASE)
        };
        let is_with = |client_id: u64| {
            client_id == self.own
                || self.proxies.contains(&client_id)
                || is_lent(client_id) && self.may_decide(client_id)
        };
        self.electorates.iter().all(|electorate| electorate.is_quorum(is_with))
    }

    /// Drops the older electorate once a quorum of it knows of the newer.
    fn settle(&mut self) {
        let newest = (self.epoch, self.number);
        let knows =
            |client_id: u64| client_id == self.own || self.knows.get(&client_id) == Some(&newest);
        let is_mutant = mutant::is(Mutant::SettledByTheNewElectorate);
        if let [newer, older] = &self.electorates[..]
            && (if is_mutant { newer } else { older }).is_quorum(knows)
        {
            self.electorates.truncate(1);
            self.charged.clear();
            let newest = &self.electorates[0];
            self.proxies.retain(|proxy| newest.contains(*proxy));
        }
    }

    /// Gives out a new order if the players, the successors or time call for one.
    fn order(&mut self, now: Time, present: &[Present]) {
        let is_old = now - self.ordered_at >= ORDER_LASTS && self.number > 0;
        let is_settled = self.electorates.len() < ELECTORATES_MAX;
        if now - self.ordered_at < ORDER_INTERVAL && self.number > 0 || !(is_settled || is_old) {
            return;
        }
        let wanted = if is_settled { self.wanted_heirs(present) } else { Vec::new() };
        let is_same =
            |(named, wanted): (&Named, &(u64, Peer))| (named.client_id, named.peer) == *wanted;
        let heirs_stay =
            wanted.len() == self.named.len() && self.named.iter().zip(&wanted).all(is_same);
        let ids: Vec<u64> = wanted.iter().map(|(client_id, _)| *client_id).collect();
        let others =
            present.iter().map(|present| present.client_id).filter(|id| self.may_vote(*id));
        let by_weight = [self.own].into_iter().chain(ids.iter().copied()).chain(others);
        let first = ids.first().copied().unwrap_or(self.own);
        // Without a successor there is nobody else to be the server, and nothing to decide.
        let count = if ids.is_empty() { 1 } else { usize::MAX };
        let electorate = Electorate::new(first, by_weight.take(count));
        let electorate_stays = self.electorates.first() == Some(&electorate);
        if is_settled && !electorate_stays {
            self.electorates.insert(0, electorate);
        }
        if is_settled && !heirs_stay {
            self.rename(&wanted);
        }
        if is_old || is_settled && !(electorate_stays && heirs_stay) {
            self.number += 1;
            self.ordered_at = now;
            self.told.clear();
            self.charged.clear();
        }
    }

    /// Whether a player that is here has a vote in the next order. A new one has when it has said what it knows, for
    /// it does not count before; one that had a vote and is back on another connection keeps it.
    fn may_vote(&self, client_id: u64) -> bool {
        let newest = self.electorates.first();
        self.may_decide(client_id) || newest.is_some_and(|newest| newest.contains(client_id))
    }

    /// Volunteers who are here; whoever was named stays in front.
    fn wanted_heirs(&self, present: &[Present]) -> Vec<(u64, Peer)> {
        let place = |client_id: u64| {
            let seen = present.iter().find(|present| present.client_id == client_id)?.peer;
            Some((client_id, (*self.volunteers.get(&client_id)?).unwrap_or(seen)))
        };
        let named = self.named.iter().map(|named| named.client_id);
        let fresh = self.volunteers.keys().copied().filter(|id| self.may_vote(*id));
        let mut wanted: Vec<(u64, Peer)> = Vec::new();
        for heir in named.chain(fresh).filter(|id| *id != self.own).filter_map(place) {
            if wanted.len() < SUCCESSORS_MAX && !wanted.contains(&heir) {
                wanted.push(heir);
            }
        }
        wanted
    }

    fn rename(&mut self, wanted: &[(u64, Peer)]) {
        let before = std::mem::take(&mut self.named);
        for &(client_id, peer) in wanted {
            let known = before.iter().find(|named| named.client_id == client_id);
            // An empty key is filled in before anybody is told.
            let key = known.map_or(NO_KEY, |named| named.key.clone());
            self.named.push(Named { client_id, peer, key });
        }
    }

    /// Gives those who were just named their keys.
    pub(crate) fn draw_keys(&mut self, mut draw: impl FnMut() -> TokenKey) {
        for named in self.named.iter_mut().filter(|named| named.key == NO_KEY) {
            named.key = draw();
        }
    }
}

const NO_KEY: TokenKey = TokenKey::from_bytes([0; crate::transport::secure::SECRET_BYTES]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Span;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::millis(millis)
    }

    fn present(client_id: u64, lent_at: Time) -> Present {
        Present { client_id, peer: Peer::new([client_id as u8; 16], 1), lent_at }
    }

    /// A host with three players, of whom 2 is the successor, whom all know.
    fn settled() -> Reign {
        let mut reign = Reign::first(1, at(0));
        let everyone = [1, 2, 3, 4].map(|id| present(id, at(1_000)));
        reign.hear(2, Said::Volunteer(None));
        [2, 3, 4].into_iter().for_each(|id| reign.hear(id, Said::Knows { epoch: 0, number: 0 }));
        reign.advance(at(1_000), &everyone);
        for id in [2, 3, 4] {
            reign.hear(id, Said::Knows { epoch: 0, number: reign.number });
        }
        reign.advance(at(1_100), &everyone);
        assert_eq!((reign.number, reign.electorates.len()), (1, 1));
        reign
    }

    #[test]
    fn a_host_pauses_when_the_last_player_it_needs_may_have_left() {
        let mut reign = settled();
        let lent = [present(1, at(0)), present(2, at(1_000)), present(3, at(500))];
        for (millis, stage) in [
            (2_199, Stage::Reigning), // Half of four, with the successor among them.
            (2_200, Stage::Paused),
        ] {
            reign.advance(at(millis), &lent);
            assert_eq!(reign.stage, stage, "at {millis} ms");
        }
        reign.advance(at(2_300), &[present(3, at(2_000)), present(4, at(2_000))]);
        assert_eq!(reign.stage, Stage::Reigning, "three of four");
        reign.advance(at(2_400), &[present(3, at(2_000))]);
        assert_eq!(reign.stage, Stage::Paused, "half, without the successor");
    }

    #[test]
    fn who_claims_to_know_more_takes_away_its_own_word_only() {
        let mut reign = settled();
        let everyone = [1, 2, 3, 4].map(|id| present(id, at(1_200)));
        reign.hear(4, Said::Knows { epoch: u32::MAX, number: 0 });
        reign.advance(at(1_200), &everyone);
        assert_eq!((reign.stage, reign.dismissed(at(1_200))), (Stage::Reigning, vec![4]));
        reign.hear(3, Said::Knows { epoch: u32::MAX, number: 0 });
        reign.hear(2, Said::Knows { epoch: u32::MAX, number: 0 });
        reign.advance(at(1_200), &everyone);
        assert_eq!(reign.stage, Stage::Paused, "three of four cannot all be wrong");
    }

    #[test]
    fn who_left_for_good_is_counted_until_the_order_is_without_it() {
        let mut reign = settled();
        [2, 3, 4].into_iter().for_each(|id| reign.depart(id, true));
        reign.advance(at(9_000), &[present(1, at(0))]);
        assert_eq!(reign.stage, Stage::Reigning);
    }

    /// Player 2, the first successor of 1 in an order of five, stands with this order.
    fn standing(number: u32) -> Reign {
        let (electorates, key) = (vec![Electorate::new(2, 1..=5)], NO_KEY);
        let (epoch, rank, you, host, unix_seconds) = (0, 0, 2, 1, 0);
        let charge = Charge { epoch, number, rank, you, host, key, unix_seconds, electorates };
        Reign::stand(&charge, false, at(0))
    }

    /// The same, once 3 and 4 have come.
    fn calling(number: u32) -> Reign {
        let mut reign = standing(number);
        [3, 4].into_iter().for_each(|id| reign.hear(id, Said::Knows { epoch: 0, number }));
        reign.advance(at(0), &lent());
        assert_eq!((reign.stage, reign.epoch), (Stage::Calling, 2));
        reign
    }

    fn lent() -> [Present; 3] {
        [3, 4, 5].map(|id| present(id, at(0)))
    }

    #[test]
    fn a_successor_steps_only_when_a_quorum_has_promised_its_epoch() {
        let mut reign = calling(7);
        reign.advance(at(100), &lent());
        reign.hear(3, Said::Knows { epoch: 2, number: 7 });
        reign.advance(at(100), &lent());
        assert_eq!(reign.stage, Stage::Calling, "two of five have promised");
        assert!(reign.calls(4) && !reign.calls(4) && !reign.calls(5));
        reign.hear(4, Said::Knows { epoch: 2, number: 7 });
        reign.advance(at(100), &lent());
        assert_eq!(reign.stage, Stage::Reigning);
    }

    #[test]
    fn no_promise_counts_of_a_player_that_knows_another_server_or_a_newer_order() {
        for known in [(0, 8), (2, 6), (2, 8), (3, 7), (4, 0)] {
            let mut reign = calling(7);
            reign.hear(3, Said::Knows { epoch: 2, number: 7 });
            let (epoch, number) = known;
            reign.hear(4, Said::Knows { epoch, number });
            assert!(!reign.calls(4), "{known:?}");
            assert_eq!(reign.dismissed(at(0)), [4], "{known:?}");
            reign.advance(at(0), &lent());
            reign.depart(4, true);
            reign.advance(at(0), &lent());
            assert_eq!(reign.stage, Stage::Calling, "{known:?}");
        }
    }

    #[test]
    fn a_host_counts_nobody_before_it_says_what_it_knows() {
        let mut reign = settled();
        [2, 3, 4].into_iter().for_each(|id| reign.arrive(at(1_200), id));
        let everyone = [1, 2, 3, 4].map(|id| present(id, at(1_200)));
        reign.advance(at(1_200), &everyone);
        assert_eq!(reign.stage, Stage::Paused);
        reign.hear(2, Said::Knows { epoch: 0, number: 1 });
        reign.advance(at(1_200), &everyone);
        assert_eq!(reign.stage, Stage::Reigning);
    }
}
