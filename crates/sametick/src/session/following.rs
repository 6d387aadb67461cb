//! A client that goes where the order of succession sends it when its host is gone.

use crate::core::peer::Peer;
use crate::core::time::{Span, Time};
use crate::migration::succession::electorate::Electorate;
use crate::migration::succession::estate::Gathering;
use crate::migration::succession::words::{
    CHARGE, Charge, ORDER, Order, Piece, REIGN, STATE, Said, read_reign,
};
use crate::migration::succession::{ANSWERED_PATIENCE, EVEN_HELLOS, HOST_SILENCE, KNOCK_PATIENCE};
use crate::replication::server::serve::estate::Estate;
use crate::schema::entities::{Entities, Layouts};
use crate::session::client::{Client, ClientEvent};
use crate::sim::game::Game;
use crate::transport::channel::{CloseReason, Settings};
use crate::transport::endpoint::Dialer;
use crate::transport::seats::PLACE_KEPT;
use crate::transport::secure::{ClientToken, Random, Seedling};
use std::collections::BTreeMap;

/// What a client knows of who comes after its host.
pub(crate) struct Route<E> {
    random: Seedling,
    /// Where we would be reached as a server, if we want to be one.
    volunteers: Option<Option<Peer>>,
    /// The newest that any server spoke of; none before a host did.
    epoch: Option<u32>,
    /// The newest order that its server named: a server's numbers only grow.
    number: u32,
    order: Option<Order>,
    charge: Option<(Charge, Time)>,
    /// Made when the first state comes.
    layouts: Option<Layouts>,
    gathering: Gathering,
    estate: Option<Estate<E>>,
    host_is_gone: bool,
    /// The server that let us in last, and how to come back to it.
    home: Option<Peer>,
    /// What each server may be knocked with, the best last.
    tickets: BTreeMap<Peer, Vec<ClientToken>>,
    seeking: Option<Seeking>,
    /// The present server is older than what we know: nothing of it is taken.
    is_refused: bool,
}

/// On the way from one server to the next.
struct Seeking {
    reason: CloseReason,
    since: Time,
    knocking_since: Time,
    /// How many servers were tried.
    tried: usize,
    /// Whether the last one is known to be of no use.
    avoids_home: bool,
    /// Whether we stand ourselves meanwhile.
    stands: bool,
}

/// What a successor goes on with.
pub(crate) struct Bequest<E> {
    pub(crate) charge: Charge,
    pub(crate) charged_at: Time,
    pub(crate) estate: Estate<E>,
    pub(crate) host_is_gone: bool,
}

impl<E: Entities> Route<E> {
    pub(crate) fn new(random: &mut dyn Random) -> Box<Self> {
        Box::new(Self {
            random: Seedling::new(random),
            volunteers: None,
            epoch: None,
            number: 0,
            order: None,
            charge: None,
            layouts: None,
            gathering: Gathering::default(),
            estate: None,
            host_is_gone: false,
            home: None,
            tickets: BTreeMap::new(),
            seeking: None,
            is_refused: false,
        })
    }

    pub(crate) fn epoch(&self) -> Option<u32> {
        self.epoch
    }

    pub(crate) fn is_seeking(&self) -> bool {
        self.seeking.is_some()
    }

    /// Whether nothing more is to be taken from the present server.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The end of the way: a server has let us in.
    pub(crate) fn arrived(&mut self) {
        self.seeking = None;
    }

    /// Whoever leaves of its own will goes nowhere else.
    pub(crate) fn forget(&mut self) {
        (self.order, self.charge, self.seeking) = (None, None, None);
    }

    /// Whether there is anywhere to go after a connection that ended so.
    fn can_migrate(&self, reason: CloseReason) -> bool {
        let is_hosts_end = match reason {
            CloseReason::TimedOut | CloseReason::Reset | CloseReason::ServerStopped => true,
            // These are about us, not about the host.
            CloseReason::Left
            | CloseReason::Kicked
            | CloseReason::Replaced
            | CloseReason::Backlogged
            | CloseReason::ProtocolViolation => false,
        };
        is_hosts_end && self.order.as_ref().is_some_and(|order| !order.heirs.is_empty())
    }

    /// The newest epoch and, of that, the newest order.
    fn known(&self) -> Option<(u32, u32)> {
        Some((self.epoch?, self.number))
    }

    /// Takes nothing from an older epoch from now on.
    fn promise(&mut self, (epoch, number): (u32, u32)) {
        (self.epoch, self.number) = (Some(epoch), number);
    }

    /// Whom to knock at, one after the other.
    fn targets(&self) -> Vec<Peer> {
        let Some(seeking) = &self.seeking else { return Vec::new() };
        let heirs = self.order.iter().flat_map(|order| &order.heirs);
        let mut targets: Vec<Peer> =
            heirs.filter(|heir| !heir.is_you).map(|heir| heir.peer).collect();
        if let Some(home) = self.home.filter(|_| !seeking.avoids_home) {
            targets.retain(|target| *target != home);
            // Whoever stands wants to know first whether it has to.
            targets.insert(if seeking.stands { 0 } else { targets.len() }, home);
        }
        targets
    }

    /// Until when hellos to a server come at even intervals: only those to a successor do, and only in the first
    /// seconds after the host was lost. The old host may be alive and overloaded, so intervals grow for it.
    fn even_until(&self, peer: Peer) -> Time {
        let mut heirs = self.order.iter().flat_map(|order| &order.heirs);
        let is_successor = heirs.any(|heir| heir.peer == peer) && self.home != Some(peer);
        let since = self.seeking.as_ref().filter(|_| is_successor).map(|seeking| seeking.since);
        since.map_or(Time::ZERO, |since| since + EVEN_HELLOS)
    }

    /// What to knock with; what may be used up is not used again while there is another.
    fn ticket(&mut self, peer: Peer) -> Option<ClientToken> {
        self.tickets.get(&peer).and_then(|tickets| tickets.last()).cloned()
    }

    fn spend_ticket(&mut self, peer: Peer) {
        if let Some(tickets) = self.tickets.get_mut(&peer).filter(|tickets| tickets.len() > 1) {
            tickets.pop();
        }
    }

    /// What we go on with if it is our turn to be the server.
    fn bequest(&self) -> Option<Bequest<E>> {
        let seeking = self.seeking.as_ref()?;
        let (charge, charged_at) = self.charge.as_ref()?;
        let is_newest = Some((charge.epoch, charge.number)) == self.known();
        let is_our_turn = seeking.tried >= charge.rank as usize && !seeking.stands;
        let estate = self.estate.as_ref().filter(|_| is_newest && is_our_turn)?;
        Some(Bequest {
            charge: charge.clone(),
            charged_at: *charged_at,
            estate: estate.clone(),
            host_is_gone: self.host_is_gone,
        })
    }
}

impl<G: Game> Client<G> {
    /// Offers to be the server when the host leaves; others must be able to reach it at `peer`, or where
    /// the host sees it.
    pub(crate) fn volunteer(&mut self, peer: Option<Peer>) {
        self.route.volunteers = Some(peer);
    }

    /// What has to be said on a fresh connection.
    pub(crate) fn introduce(&mut self) {
        let server = self.dialer.server();
        self.route.is_refused = false;
        self.route.spend_ticket(server);
        let ticket = self.ticket.clone();
        self.route.tickets.entry(server).or_default().extend(ticket);
        if let Some((epoch, number)) = self.route.known() {
            self.say(Said::Knows { epoch, number });
        }
        if let Some(peer) = self.route.volunteers {
            self.say(Said::Volunteer(peer));
        }
    }

    /// What succession is about; false if it makes no sense.
    pub(crate) fn hear_succession(&mut self, now: Time, kind: u8, message: &[u8]) -> bool {
        match kind {
            REIGN => read_reign(message).is_some_and(|reign| self.hear_reign(reign)),
            ORDER => Order::read(message).is_some_and(|order| self.hear_order(order)),
            CHARGE => Charge::read(message).is_some_and(|charge| self.hear_charge(now, charge)),
            STATE => Piece::read(message).is_some_and(|piece| self.hear_state(&piece)),
            _ => false,
        }
    }

    /// The connection is over; true if we go on elsewhere.
    pub(crate) fn migrate(&mut self, now: Time, reason: CloseReason) -> bool {
        if let Some(seeking) = &mut self.route.seeking {
            seeking.tried += 1;
            self.knock_next(now);
            return true;
        }
        if !self.route.can_migrate(reason) {
            return false;
        }
        // A host that stops is no server any more; one that is silent may come back.
        self.seek(now, reason, reason == CloseReason::ServerStopped);
        true
    }

    /// Leaves the present server for the successors.
    pub(crate) fn seek(&mut self, now: Time, reason: CloseReason, avoids_home: bool) {
        self.route.seeking = Some(Seeking {
            reason,
            since: now,
            knocking_since: now,
            tried: 0,
            avoids_home,
            stands: false,
        });
        self.events.push(ClientEvent::Migrating(reason));
        self.knock_next(now);
    }

    /// Goes to a server at once.
    pub(crate) fn go(&mut self, now: Time, peer: Peer, ticket: ClientToken) {
        let even_until = self.route.even_until(peer);
        let random = &mut self.route.random;
        let dialer = Dialer::new(peer, ticket, Settings::default(), now, random);
        self.dialer = dialer.evenly_until(even_until);
        self.was_denied = false;
        if let Some(seeking) = &mut self.route.seeking {
            seeking.knocking_since = now;
        }
    }

    /// Goes to a server of our own, which is at `own`: back, or because the order has named us.
    pub(crate) fn go_home(&mut self, now: Time, own: Peer) {
        let mut heirs = self.route.order.iter().flat_map(|order| &order.heirs);
        let named = heirs.find(|heir| heir.is_you).and_then(|heir| heir.tickets.last()).cloned();
        let ticket = if self.route.home == Some(own) { self.route.ticket(own) } else { named };
        if let Some(ticket) = ticket {
            self.go(now, own, ticket);
        }
    }

    /// Whether the order names anybody but us.
    pub(crate) fn has_successors(&self) -> bool {
        let mut heirs = self.route.order.iter().flat_map(|order| &order.heirs);
        heirs.any(|heir| !heir.is_you)
    }

    /// What we go on with if it is our turn to be the server, until
    /// [`stand_no_more`](Client::stand_no_more). Meanwhile we knock: somebody else may be the server.
    pub(crate) fn stand(&mut self, now: Time) -> Option<Bequest<G::Entity>> {
        if self.dialer.is_connected() {
            return None;
        }
        let bequest = self.route.bequest()?;
        if let Some(seeking) = &mut self.route.seeking {
            (seeking.stands, seeking.tried) = (true, 0);
        }
        self.knock_next(now);
        Some(bequest)
    }

    /// Our own server calls for an epoch: ours is the first promise, and no older server counts us any more.
    pub(crate) fn promise(&mut self, call: (u32, u32)) {
        if self.route.epoch.is_none_or(|known| known < call.0) {
            self.route.promise(call);
        }
    }

    pub(crate) fn stand_no_more(&mut self, now: Time) {
        if let Some(seeking) = &mut self.route.seeking
            && seeking.stands
        {
            (seeking.stands, seeking.tried) = (false, 0);
            // Whoever stood may have been let in by the old host just now.
            if !self.dialer.is_connected() {
                self.knock_next(now);
            }
        }
    }

    /// Notices a host that is gone, and a server that does not open.
    pub(crate) fn advance_route(&mut self, now: Time) {
        let silence = self.dialer.silence(now);
        match (&self.route.seeking, silence) {
            // Whoever has lent itself to a server stays until that one is silent, or says goodbye.
            (_, Some(silence)) if silence >= HOST_SILENCE => {
                self.migrate(now, CloseReason::TimedOut);
            }
            (Some(seeking), None) if now - seeking.since >= PLACE_KEPT => {
                let reason = seeking.reason;
                self.route.seeking = None;
                self.dialer.close(now, reason);
                self.events.push(ClientEvent::Left(reason));
            }
            (Some(seeking), None) if now - seeking.knocking_since >= self.patience() => {
                self.migrate(now, CloseReason::TimedOut);
            }
            _ => {}
        }
    }

    /// When the route has to be looked at again.
    pub(crate) fn route_wake(&self) -> Time {
        let seeking = self.route.seeking.as_ref();
        seeking.map_or(Time::MAX, |seeking| seeking.knocking_since + KNOCK_PATIENCE)
    }

    fn patience(&self) -> Span {
        if self.dialer.is_answered() { ANSWERED_PATIENCE } else { KNOCK_PATIENCE }
    }

    fn knock_next(&mut self, now: Time) {
        if self.dialer.is_answered() || self.was_denied {
            self.route.spend_ticket(self.dialer.server());
        }
        let targets = self.route.targets();
        let tried = self.route.seeking.as_ref().map_or(0, |seeking| seeking.tried);
        let target = targets.get(tried % targets.len().max(1)).copied();
        if let Some((peer, ticket)) = target.and_then(|peer| Some((peer, self.route.ticket(peer)?)))
        {
            self.go(now, peer, ticket);
        } else {
            // Nobody is left but us.
            self.dialer.close(now, CloseReason::TimedOut);
            if let Some(seeking) = &mut self.route.seeking {
                seeking.knocking_since = now;
            }
        }
    }

    fn say(&mut self, said: Said) {
        // A backlog of these is the host's end, not ours.
        let _ = self.dialer.send_reliable(&said.write());
    }

    /// A server that steps, or a successor that asks for our promise before it does.
    fn hear_reign(&mut self, (epoch, number): (u32, u32)) -> bool {
        if self.route.epoch.is_some_and(|known| epoch < known) {
            // It has been told what we know, and sends us on.
            self.route.is_refused = true;
            return true;
        }
        let before = self.route.known();
        self.route.promise((epoch, number));
        self.route.host_is_gone = false;
        self.route.home = Some(self.dialer.server());
        if before != Some((epoch, number)) {
            self.say(Said::Knows { epoch, number });
        }
        true
    }

    fn hear_order(&mut self, order: Order) -> bool {
        if self.route.epoch != Some(order.epoch) || self.route.is_refused {
            return false;
        }
        let (epoch, number) = (order.epoch, order.number);
        let server = self.dialer.server();
        let heirs = order.heirs.iter().filter(|heir| !heir.is_you);
        let heirs = heirs.map(|heir| (heir.peer, heir.tickets.clone()));
        self.route.tickets = heirs.collect();
        let own = order.spares.iter().chain(&self.ticket).cloned();
        self.route.tickets.insert(server, own.collect());
        self.route.order = Some(order);
        self.route.number = number;
        self.say(Said::Knows { epoch, number });
        true
    }

    fn hear_charge(&mut self, now: Time, charge: Charge) -> bool {
        let is_ours = self.route.known() == Some((charge.epoch, charge.number));
        let decides = |electorate: &Electorate| electorate.contains(charge.you);
        let is_lawful = is_ours && charge.electorates.iter().any(decides);
        if is_lawful {
            self.route.charge = Some((charge, now));
        }
        is_lawful
    }

    fn hear_state(&mut self, piece: &Piece<'_>) -> bool {
        let route = &mut self.route;
        if route.epoch != Some(piece.epoch) || route.volunteers.is_none() {
            return false;
        }
        let Ok(whole) = route.gathering.take(piece) else { return false };
        let Some(bytes) = whole else { return true };
        let layouts = route.layouts.get_or_insert_with(Layouts::of::<G::Entity>);
        let estate = Estate::read(&bytes, layouts);
        let Some(estate) = estate.ok().filter(|estate| estate.world.tick() == piece.tick) else {
            return false;
        };
        route.estate = Some(estate);
        route.host_is_gone = piece.is_last_word;
        self.say(Said::Holds(piece.tick));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tick::Tick;
    use crate::migration::succession::words::{Heir, write_reign};
    use crate::schema::fields::{Fields, Networked};
    use crate::sim::game::{NoEvent, Turn};
    use crate::sim::view::View;
    use crate::sim::world::World;
    use crate::transport::secure::{SystemRandom, TokenKey};

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Nothing;

    impl Networked for Nothing {
        fn fields<F: Fields>(&mut self, _f: &mut F) {}
    }

    crate::entities! { pub(crate) enum Entity { Nothing } }

    struct Idle;

    impl Game for Idle {
        type Entity = Entity;
        type Command = Nothing;
        type Event = NoEvent;
        type Content = ();
        fn step(_: &mut World<Entity>, _: &Turn<'_, Self>) {}
    }

    fn hears(client: &mut Client<Idle>, message: &[u8]) -> bool {
        client.hear_succession(Time::ZERO, message[0], &message[1..])
    }

    #[test]
    fn what_does_not_belong_to_the_present_server_is_not_taken() {
        let random = &mut SystemRandom::new();
        let server = Peer::new([1; 16], 1);
        let mut client = Client::<Idle>::open(server, (), View::default(), Time::ZERO, random);
        let order = |epoch| Order { epoch, number: 5, spares: vec![], heirs: vec![] }.write();
        let charge = |number, you| {
            let electorates = vec![Electorate::new(8, [7, 8])];
            let key = TokenKey::generate(&mut SystemRandom::new());
            let (epoch, rank, host, unix_seconds) = (4, 0, 7, 0);
            Charge { epoch, number, rank, you, host, key, unix_seconds, electorates }.write()
        };
        let piece = |bytes: &[u8]| {
            let (epoch, tick, index, count) = (4, Tick(1), 0, 1);
            Piece { epoch, tick, index, count, is_last_word: false, bytes }.write()
        };
        assert!(!hears(&mut client, &order(4)), "no host has spoken");
        assert!(hears(&mut client, &write_reign((4, 0))));
        assert!(!hears(&mut client, &order(3)) && !hears(&mut client, &order(5)));
        assert!(!hears(&mut client, &charge(5, 8)), "there is no such order");
        assert!(hears(&mut client, &order(4)));
        assert!(!hears(&mut client, &charge(6, 8)) && !hears(&mut client, &charge(5, 9)));
        assert!(hears(&mut client, &charge(5, 8)));
        assert!(!hears(&mut client, &piece(&[1])), "it has not volunteered");
        client.volunteer(None);
        assert!(!hears(&mut client, &piece(&[1; 99])), "that is no state");
        assert!(client.route.estate.is_none());
        assert!(hears(&mut client, &write_reign((2, 9))) && client.route.is_refused());
        assert_eq!(client.epoch(), Some(4));
    }

    /// When hellos go to the successor and to the old host, in milliseconds since the host was lost. Nobody answers.
    fn hellos_until(millis: u64) -> [Vec<u64>; 2] {
        let random = &mut SystemRandom::new();
        let [host, successor] = [1, 2].map(|last| Peer::new([last; 16], 1));
        let mut client = Client::<Idle>::open(host, (), View::default(), Time::ZERO, random);
        let mut ticket = || ClientToken::open_mode(7, 9, b"", random).expect("nothing is attached");
        let spares = vec![ticket()];
        let heirs = vec![Heir { peer: successor, is_you: false, tickets: vec![ticket()] }];
        assert!(hears(&mut client, &write_reign((4, 0))));
        assert!(hears(&mut client, &Order { epoch: 4, number: 5, spares, heirs }.write()));
        client.seek(Time::ZERO, CloseReason::TimedOut, false);
        let mut sent = [Vec::new(), Vec::new()];
        for at in (0..millis).step_by(20) {
            let now = Time::from_millis(at);
            client.advance(now);
            let to = usize::from(client.server() == host);
            while client.transmit(now).is_some() {
                sent[to].push(at);
            }
        }
        sent
    }

    #[test]
    fn hellos_to_a_successor_are_even_for_five_seconds_and_those_to_the_old_host_never() {
        let [to_successor, to_host] = hellos_until(8_000);
        let even = [0, 200, 400, 600, 800];
        let growing = [0, 200, 600];
        let at = |began: u64, times: &[u64]| times.iter().map(|at| began + at).collect::<Vec<_>>();
        let in_time = [at(0, &even), at(2_000, &even), at(4_000, &even)].concat();
        assert_eq!(to_successor, [in_time, at(6_000, &growing)].concat());
        let rounds = [1_000, 3_000, 5_000, 7_000].map(|began| at(began, &growing));
        assert_eq!(to_host, rounds.concat());
    }
}
