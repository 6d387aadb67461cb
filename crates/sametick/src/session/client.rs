//! A game's client: one connection, and the world as its player sees it.

use crate::codec::Agreed;
use crate::codec::compact::Tables;
use crate::core::entity::EntityId;
use crate::core::peer::Peer;
use crate::core::tick::PlayerId;
use crate::core::time::{Span, Time};
use crate::diagnostics::health::{Observation, PACE, Pace};
use crate::migration::succession::{CHARGE, ORDER, REIGN, STATE};
use crate::replication::client::follow::{SnapshotClient, content_of};
use crate::replication::messages::coded::part::COMPACT;
use crate::replication::messages::{CODED_EVENT, CODED_EVENTS, EVENT, EVENTS, SNAPSHOT, WELCOME};
use crate::schema::entities::KindOf;
use crate::session::following::Route;
use crate::sim::events::Effect;
use crate::sim::game::Game;
use crate::sim::view::View;
use crate::sim::world::World;
use crate::transport::channel::{CloseReason, Event, Settings, Statistics};
use crate::transport::endpoint::{Dialer, DialerEvent, OPEN_PROTOCOL};
use crate::transport::secure::{ClientToken, Denial, Random, TlsSession};
use std::sync::Arc;

/// What a client tells its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The server has let us in.
    Joined(PlayerId),
    /// It did not.
    Denied(Denial),
    /// The server plays another game than the one we have the content of; [`Client::load`] it to go
    /// on.
    GameChanged {
        /// What [`Game::content_name`] says of the content.
        content: u64,
    },
    /// The connection is over.
    Left(CloseReason),
    /// The host is gone, and we are on our way to its successor; [`Joined`](ClientEvent::Joined) or
    /// [`Left`](ClientEvent::Left) will follow.
    Migrating(CloseReason),
}

/// One player's client: [`receive`](Client::receive) what came, say what the player asks for
/// ([`command`](Client::command)), [`advance`](Client::advance), and send what
/// [`transmit`](Client::transmit) gives. Then draw what [`view`](Client::view) shows, and play what
/// [`take_effects`](Client::take_effects) tells. [`Server`](crate::Server) has an example of both.
///
/// Four worlds, from what was told to what is drawn: [`snapshot`](Client::snapshot) is the server's newest
/// word; [`predicted`](Client::predicted) is that with our own entities stepped to our own time;
/// [`view`](Client::view) is what to draw; [`local`](Client::local) is ours alone.
pub struct Client<G: Game> {
    pub(crate) dialer: Dialer,
    half: Half<G>,
    view: View,
    wish: G::Command,
    pub(crate) ticket: Option<ClientToken>,
    local: World<G::Entity>,
    /// Of a game whose content is not there yet.
    welcome: Option<Vec<u8>>,
    /// Reliable events of that game.
    early: Vec<Vec<u8>>,
    pub(crate) events: Vec<ClientEvent>,
    malformed: u64,
    /// What the server last said of itself.
    pace: Option<(Time, Pace)>,
    token: u32,
    /// Whether the server that was knocked at last did not open.
    pub(crate) was_denied: bool,
    /// Where to go when the host leaves.
    pub(crate) route: Box<Route<G::Entity>>,
    /// For servers that send compact snapshots.
    tables: Option<Arc<Tables>>,
    reads_compact: bool,
}

enum Half<G: Game> {
    /// What the game needs once the server says hello.
    Waiting(Option<G::Content>),
    Playing(Box<SnapshotClient<G>>),
}

impl<G: Game> Client<G> {
    /// Knocks at a server with a token, or with the ticket of an earlier session.
    pub fn new(
        server: Peer,
        token: ClientToken,
        content: G::Content,
        view: View,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        Self {
            dialer: Dialer::new(server, token, Settings::default(), now, random),
            half: Half::Waiting(Some(content)),
            view,
            wish: G::Command::default(),
            ticket: None,
            local: World::default(),
            welcome: None,
            early: Vec::new(),
            events: Vec::new(),
            malformed: 0,
            pace: None,
            token: 0,
            was_denied: false,
            route: Route::new(random),
            tables: None,
            reads_compact: true,
        }
    }

    /// Has the tables of the game's compact snapshots; without them a server that sends such sends plain ones.
    /// [`codec`](Client::codec) tells what came of it.
    pub fn with_tables(mut self, tables: impl Into<Arc<Tables>>) -> Self {
        self.bring_tables(tables);
        self
    }

    /// The same of a client that is there, for the next game it is let into.
    pub fn bring_tables(&mut self, tables: impl Into<Arc<Tables>>) {
        self.tables = Some(tables.into());
    }

    /// Gets plain snapshots, whatever the server offers.
    pub fn plain_only(mut self) -> Self {
        self.reads_compact = false;
        self
    }

    /// How the server's snapshots come, once it has let us in.
    pub fn codec(&self) -> Option<Agreed> {
        self.playing().map(|half| half.agreed)
    }

    /// Plays through a TLS session that a link has vouched for, where packets need not be sealed again.
    /// Call it before the first [`transmit`](Client::transmit), and give it no datagram that came
    /// otherwise.
    pub fn within(mut self, session: TlsSession) -> Self {
        self.dialer = self.dialer.within(session);
        self
    }

    /// Knocks at a server that is open to anyone.
    pub fn open(
        server: Peer,
        content: G::Content,
        view: View,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let mut id = [0; 8];
        random.fill(&mut id);
        let token = ClientToken::open_mode(OPEN_PROTOCOL, u64::from_le_bytes(id), b"", random);
        Self::new(server, token.expect("nothing is attached"), content, view, now, random)
    }

    /// Takes a datagram from the server; its bytes are of no use afterwards.
    pub fn receive(&mut self, now: Time, datagram: &mut [u8]) {
        let (mut messages, mut is_new, mut left) = (Vec::new(), false, None);
        let (events, ticket, is_seeking) =
            (&mut self.events, &mut self.ticket, self.route.is_seeking());
        let was_denied = &mut self.was_denied;
        self.dialer.receive(now, datagram, &mut |event| match event {
            DialerEvent::Connected { resume, .. } => {
                (*ticket, is_new) = (Some(resume.clone()), true)
            }
            // Whoever seeks knocks elsewhere soon.
            DialerEvent::Denied(_) if is_seeking => *was_denied = true,
            DialerEvent::Denied(denial) => events.push(ClientEvent::Denied(denial)),
            DialerEvent::Left(reason) => left = Some(reason),
            DialerEvent::Message(Event::Reliable(message) | Event::Unreliable(message)) => {
                messages.push(message.to_vec());
            }
            DialerEvent::Message(_) => {}
        });
        if is_new {
            self.introduce();
        }
        messages.iter().for_each(|message| self.hear(now, message));
        left.into_iter().for_each(|reason| self.leave(now, reason));
    }

    /// What the player asks for from now on, in this game and in those that follow; it may be said
    /// before the server has let us in.
    pub fn command(&mut self, wish: G::Command) {
        self.wish = wish;
    }

    /// Sees the world otherwise from now on. The server hears of it with the next command, and judges
    /// shots by it from then on.
    pub fn set_view(&mut self, view: View) {
        self.view = view;
        if let Half::Playing(half) = &mut self.half {
            half.view = view;
        }
    }

    /// Steps what is due.
    pub fn advance(&mut self, now: Time) {
        let mut left = None;
        self.dialer.advance(now, &mut |event| {
            if let DialerEvent::Left(reason) = event {
                left = Some(reason);
            }
        });
        left.into_iter().for_each(|reason| self.leave(now, reason));
        self.advance_route(now);
        if let Half::Playing(half) = &mut self.half {
            half.command(self.wish.clone());
            half.advance(now);
            let budget = self.dialer.budget_bytes(now);
            if let Some(message) = half.write(budget) {
                self.token = self.token.wrapping_add(1);
                self.dialer.send_unreliable(self.token, message);
            }
        }
    }

    /// The next datagram to send to the server; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<&[u8]> {
        self.dialer.transmit(now)
    }

    /// When to call [`advance`](Client::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        match &self.half {
            Half::Waiting(_) => self.dialer.next_wake(),
            Half::Playing(half) => half.next_wake().min(self.dialer.next_wake()),
        }
        .min(self.route_wake())
    }

    /// Our number in the game, once the server has said it.
    pub fn me(&self) -> Option<PlayerId> {
        self.playing().map(|half| half.me)
    }

    /// The seed of the game's chances, once the server has said it; see [`dice_of`](crate::dice_of).
    pub fn seed(&self) -> Option<u64> {
        self.playing().map(|half| half.seed)
    }

    /// The world as our player should see it now, once there is one: our own entities at our own time,
    /// the others as [`View`] says, errors smoothed. What a command is aimed at is what was looked at
    /// last before it.
    pub fn view(&mut self, now: Time) -> Option<&World<G::Entity>> {
        match &mut self.half {
            Half::Waiting(_) => None,
            Half::Playing(half) => Some(half.look(now)),
        }
    }

    /// What [`view`](Client::view) gave last.
    pub fn shown(&self) -> Option<&World<G::Entity>> {
        self.playing().map(SnapshotClient::shown)
    }

    /// The newest snapshot with our own entities stepped to our own time by the rules, and nothing done
    /// for the eye.
    pub fn predicted(&self) -> Option<&World<G::Entity>> {
        self.playing().map(SnapshotClient::predicted)
    }

    /// What the newest snapshot says, with nothing predicted.
    pub fn snapshot(&self) -> Option<&World<G::Entity>> {
        self.playing().map(|half| &half.snapshot)
    }

    /// Our own entity of this kind at our own time, once there is one.
    pub fn own<K: KindOf<G::Entity>>(&self) -> Option<(EntityId, &K)> {
        self.predicted()?.owned(self.me()?)
    }

    /// The name by which an entity is known now: what our prediction made has a provisional one, until
    /// the server's has come.
    pub fn name_of(&self, id: EntityId) -> EntityId {
        self.playing().map_or(id, |half| half.name_of(id))
    }

    /// How many ticks were stepped again because a snapshot had come, since the game began.
    pub fn repredicted_ticks(&self) -> u64 {
        self.playing().map_or(0, |half| half.repredicted_ticks)
    }

    /// How many ticks our own time is ahead of the newest snapshot.
    pub fn ticks_ahead(&self) -> u32 {
        self.playing().map_or(0, SnapshotClient::ticks_ahead)
    }

    /// How often the server had to repeat a command of ours because none had come in time.
    pub fn repeated(&self) -> u64 {
        self.playing().map_or(0, |half| half.repeated)
    }

    /// What the others in sight asked for last, if [`View::others_commands`] was set.
    pub fn others_commands(&self) -> &[(PlayerId, G::Command)] {
        self.playing().map_or(&[], |half| &half.others)
    }

    /// Entities of this client alone, beside the world: nobody else ever hears of them, and
    /// corrections leave them alone.
    pub fn local(&mut self) -> &mut World<G::Entity> {
        &mut self.local
    }

    /// Goes on in the game that the server has begun, after [`ClientEvent::GameChanged`]. Content of
    /// another name than the server's changes nothing.
    pub fn load(&mut self, now: Time, content: G::Content) {
        let name = self.welcome.as_deref().and_then(content_of);
        if name != Some(G::content_name(&content)) {
            return;
        }
        let Some(welcome) = self.welcome.take() else { return };
        self.half = Half::Waiting(Some(content));
        self.hear(now, &[&[WELCOME], &welcome[..]].concat());
        for event in std::mem::take(&mut self.early) {
            self.hear(now, &event);
        }
    }

    /// What is to be shown of events since this was last asked.
    pub fn take_effects(&mut self) -> Vec<Effect<G::Event>> {
        match &mut self.half {
            Half::Waiting(_) => Vec::new(),
            Half::Playing(half) => half.take_effects(),
        }
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<ClientEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was counted and measured on the connection.
    pub fn statistics(&self) -> Option<Statistics> {
        self.dialer.statistics()
    }

    /// What there is to say of the line since this was last asked, for a [`Health`](crate::health::Health).
    pub fn observe(&mut self) -> Observation {
        let mut seen = Observation {
            statistics: self.dialer.statistics(),
            snapshot_every: self.view.snapshot_every,
            pace: self.pace,
            ..Observation::default()
        };
        if let Half::Playing(half) = &mut self.half {
            seen.tick_length = Some(half.tick_length);
            seen.updates = half.watch.take();
            seen.screen = half.eye.screen;
            seen.target_margin = half.clock.target_margin();
            seen.made_up = half.clock.made_up();
            (seen.waits, seen.buffer) = (half.waits(), half.buffer());
        }
        seen
    }

    /// What to knock with to come back to the same place.
    pub fn ticket(&self) -> Option<&ClientToken> {
        self.ticket.as_ref()
    }

    /// Messages that were not taken.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Whether nothing more will come or go: denied, left or timed out.
    pub fn is_over(&self) -> bool {
        self.dialer.is_over() && !self.route.is_seeking()
    }

    /// Where our datagrams go; another place when a host has left to whom there is a successor.
    pub fn server(&self) -> Peer {
        self.dialer.server()
    }

    /// Which server of a game that its players host this is; higher after each change of host.
    pub fn epoch(&self) -> Option<u32> {
        self.route.epoch()
    }

    /// Says goodbye.
    pub fn close(&mut self, now: Time) {
        self.route.forget();
        self.dialer.close(now, CloseReason::Left);
    }

    pub(crate) fn playing(&self) -> Option<&SnapshotClient<G>> {
        match &self.half {
            Half::Waiting(_) => None,
            Half::Playing(half) => Some(half),
        }
    }

    fn leave(&mut self, now: Time, reason: CloseReason) {
        if !self.migrate(now, reason) {
            self.events.push(ClientEvent::Left(reason));
        }
    }

    fn hear(&mut self, now: Time, message: &[u8]) {
        if self.route.is_refused() {
            return;
        }
        let whole = message;
        let Some((kind, message)) = message.split_first() else {
            self.malformed += 1;
            return;
        };
        let trip = self.dialer.statistics().and_then(|statistics| statistics.round_trip.smoothed);
        let half_trip = trip.unwrap_or(Span::ZERO) / 2;
        if *kind == WELCOME && self.route.is_seeking() {
            self.half = match std::mem::replace(&mut self.half, Half::Waiting(None)) {
                Half::Playing(half) => Half::Waiting(Some(half.into_content())),
                waiting @ Half::Waiting(_) => waiting,
            };
            self.route.arrived();
        }
        let read = match (*kind, &mut self.half) {
            (REIGN | ORDER | CHARGE | STATE, _) => self.hear_succession(now, *kind, message),
            (WELCOME, half) => match (content_of(message), half) {
                (Some(name), Half::Waiting(content @ Some(_)))
                    if content.as_ref().map(G::content_name) == Some(name) =>
                {
                    let content = content.take();
                    content.is_some_and(|content| self.begin(now, message, content))
                }
                (Some(content), _) => {
                    self.welcome = Some(message.to_vec());
                    self.early.clear();
                    self.events.push(ClientEvent::GameChanged { content });
                    true
                }
                (None, _) => false,
            },
            (EVENT, _) if self.welcome.is_some() => {
                // Of the game that is to be loaded, or of the one before, which knows its own.
                let whole = [&[EVENT], message].concat();
                if self.early.len() < EARLY_EVENTS_MAX {
                    self.early.push(whole);
                }
                true
            }
            (SNAPSHOT | COMPACT.., Half::Playing(half)) => half.read(now, half_trip, whole).is_ok(),
            (PACE, _) => {
                let pace = Pace::read(message);
                self.pace = pace.map(|pace| (now, pace)).or(self.pace);
                pace.is_some()
            }
            (EVENT | CODED_EVENT, Half::Playing(half)) => {
                half.read_event(message, *kind == CODED_EVENT).is_ok()
            }
            (EVENTS | CODED_EVENTS, Half::Playing(half)) => {
                half.read_events(message, *kind == CODED_EVENTS).is_ok()
            }
            // Until the content is there, nothing can be made of it.
            (SNAPSHOT | EVENTS | CODED_EVENT | CODED_EVENTS | COMPACT.., Half::Waiting(_)) => {
                self.welcome.is_some()
            }
            _ => false,
        };
        self.malformed += u64::from(!read);
    }

    fn begin(&mut self, now: Time, welcome: &[u8], content: G::Content) -> bool {
        let tables = self.reads_compact.then_some(self.tables.as_ref());
        let half = SnapshotClient::with_tables(welcome, content, self.view, now, tables);
        let Ok(half) = half else { return false };
        self.events.push(ClientEvent::Joined(half.me));
        self.half = Half::Playing(Box::new(half));
        true
    }
}

/// How many events are kept for a game whose content is not there yet; more are not told.
const EARLY_EVENTS_MAX: usize = 1024;
