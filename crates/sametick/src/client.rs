//! A game's client: one connection, and the world as its player sees it.

use crate::channel::{CloseReason, Event, Settings, Statistics};
use crate::endpoint::{Dialer, DialerEvent};
use crate::events::Effect;
use crate::follow::{SnapshotClient, View};
use crate::game::Game;
use crate::peer::Peer;
use crate::secure::{ClientToken, Denial, Random};
use crate::serve::{EVENT, SNAPSHOT, WELCOME};
use crate::server::OPEN_PROTOCOL;
use crate::time::{Span, Time};
use crate::world::{PlayerId, World};

/// What a client tells its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The server has let us in.
    Joined(PlayerId),
    /// It did not.
    Denied(Denial),
    /// The server has begun another game; [`Client::load`] its content to go on.
    GameChanged,
    /// The connection is over.
    Left(CloseReason),
}

/// One player's client.
pub struct Client<G: Game> {
    dialer: Dialer,
    half: Half<G>,
    view: View,
    ticket: Option<ClientToken>,
    local: World<G::Entity>,
    /// Of a game whose content is not there yet.
    welcome: Option<Vec<u8>>,
    events: Vec<ClientEvent>,
    malformed: u64,
    token: u32,
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
            ticket: None,
            local: World::default(),
            welcome: None,
            events: Vec::new(),
            malformed: 0,
            token: 0,
        }
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
        let mut messages = Vec::new();
        let (events, ticket) = (&mut self.events, &mut self.ticket);
        self.dialer.receive(now, datagram, &mut |event| match event {
            DialerEvent::Connected { resume, .. } => *ticket = Some(resume.clone()),
            DialerEvent::Denied(denial) => events.push(ClientEvent::Denied(denial)),
            DialerEvent::Left(reason) => events.push(ClientEvent::Left(reason)),
            DialerEvent::Message(Event::Reliable(message) | Event::Unreliable(message)) => {
                messages.push(message.to_vec());
            }
            DialerEvent::Message(_) => {}
        });
        messages.iter().for_each(|message| self.hear(now, message));
    }

    /// What the player asks for from now on.
    pub fn command(&mut self, wish: G::Command) {
        if let Half::Playing(half) = &mut self.half {
            half.command(wish);
        }
    }

    /// Steps what is due.
    pub fn advance(&mut self, now: Time) {
        let events = &mut self.events;
        self.dialer.advance(now, &mut |event| {
            if let DialerEvent::Left(reason) = event {
                events.push(ClientEvent::Left(reason));
            }
        });
        if let Half::Playing(half) = &mut self.half {
            half.advance(now);
            if let Some(message) = half.write() {
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
    }

    /// Our number in the game, once the server has said it.
    pub fn me(&self) -> Option<PlayerId> {
        self.playing().map(|half| half.me)
    }

    /// The world as our player should see it, once there is one.
    pub fn view(&self) -> Option<&World<G::Entity>> {
        self.playing().map(SnapshotClient::view)
    }

    /// What the newest snapshot says, without prediction.
    pub fn snapshot(&self) -> Option<&World<G::Entity>> {
        self.playing().map(|half| &half.snapshot)
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

    /// Goes on in the game that the server has begun, after [`ClientEvent::GameChanged`].
    pub fn load(&mut self, now: Time, content: G::Content) {
        if let Some(welcome) = self.welcome.take() {
            self.half = Half::Waiting(Some(content));
            self.hear(now, &[&[WELCOME], &welcome[..]].concat());
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

    /// What to knock with to come back to the same place.
    pub fn ticket(&self) -> Option<&ClientToken> {
        self.ticket.as_ref()
    }

    /// Messages that were not taken.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Says goodbye.
    pub fn close(&mut self, now: Time) {
        self.dialer.close(now, CloseReason::Left);
    }

    fn playing(&self) -> Option<&SnapshotClient<G>> {
        match &self.half {
            Half::Waiting(_) => None,
            Half::Playing(half) => Some(half),
        }
    }

    fn hear(&mut self, now: Time, message: &[u8]) {
        let whole = message;
        let Some((kind, message)) = message.split_first() else {
            self.malformed += 1;
            return;
        };
        let trip = self.dialer.statistics().and_then(|statistics| statistics.round_trip.smoothed);
        let half_trip = trip.unwrap_or(Span::ZERO) / 2;
        let read = match (*kind, &mut self.half) {
            (WELCOME, Half::Waiting(content)) => content.take().is_some_and(|content| {
                let half = SnapshotClient::new(message, content, self.view, now);
                half.is_ok_and(|half| {
                    self.events.push(ClientEvent::Joined(half.me));
                    self.half = Half::Playing(Box::new(half));
                    true
                })
            }),
            (WELCOME, Half::Playing(_)) => {
                self.welcome = Some(message.to_vec());
                self.events.push(ClientEvent::GameChanged);
                true
            }
            (SNAPSHOT, Half::Playing(half)) => half.read(now, half_trip, whole).is_ok(),
            (EVENT, Half::Playing(half)) => half.read_event(message).is_ok(),
            _ => false,
        };
        self.malformed += u64::from(!read);
    }
}
