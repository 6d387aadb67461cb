//! A player of an event-locked game: the official world as it was told, what is hoped for on top, and the server's
//! time.

use super::ledger::Ledger;
use super::server::{frugal, map_of};
use super::speech::{Asking, Telling, Told, Welcome, is_within};
use super::unofficial::{Blending, OVERLAYS_MAX, Setting, Unofficial};
use super::{Denial, RequestAnswer, RequestNumber, Requests, rules, sight_hash};
use crate::core::entity::EntityId;
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::{Layout, Precision};
use crate::sim::world::World;
use crate::transport::channel::{CloseReason, Event, Settings, Statistics};
use crate::transport::endpoint::{Dialer, DialerEvent, OPEN_PROTOCOL};
use crate::transport::secure::{ClientToken, Denial as Refusal, Random, TlsSession};
use crate::transport::synchrony::{Estimator, Stamp, Steady, SyncClock};
use std::collections::VecDeque;

/// What a client tells its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClientEvent {
    /// In the game, as this player.
    Joined(PlayerId),
    /// The server plays another map, or by other rules; its content's name is this.
    Mismatched {
        /// The name of the server's content.
        content: u64,
    },
    /// Not let in.
    Denied(Refusal),
    /// It is over.
    Left(CloseReason),
}

/// How many answers are kept until they are asked for; the oldest are forgotten.
const ANSWERS_MAX: usize = 1024;

/// One player's side of an event-locked game. It is driven like a [`Client`](crate::Client): `receive`, `advance`,
/// `transmit`, `next_wake`.
///
/// The clock handed in may be wrong, and may be set while we play: only how much passes between two calls counts, and
/// not if it is negative or longer than five seconds.
pub struct EventClient<G: Requests> {
    dialer: Dialer,
    content: G::Content,
    layouts: Layouts,
    command_layout: Layout,
    half: Option<Half<G>>,
    steady: Steady,
    clock: SyncClock,
    blending: Blending,
    /// The question for the time that is under way.
    question: (u8, Option<Time>),
    ticket: Option<ClientToken>,
    answers: VecDeque<RequestAnswer>,
    events: Vec<EventClientEvent>,
    malformed: u64,
    has_begun: bool,
}

struct Half<G: Requests> {
    me: PlayerId,
    tick_length: Span,
    telling: Telling,
    asking: Asking,
    official: World<G::Entity>,
    unofficial: Unofficial<G::Entity>,
    shown: World<G::Entity>,
    shown_is_old: bool,
    next: RequestNumber,
}

impl<G: Requests> EventClient<G> {
    /// Knocks at a server with a token, or with the ticket of an earlier session.
    pub fn new(
        server: Peer,
        token: ClientToken,
        content: G::Content,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let settings = frugal(Settings::default());
        let mut steady = Steady::default();
        Self {
            dialer: Dialer::new(server, token, settings, steady.at(now), random),
            content,
            layouts: Layouts::of::<G::Entity>(),
            command_layout: Layout::of::<G::Command>(Precision::State),
            half: None,
            steady,
            clock: SyncClock::new(Estimator::default()),
            blending: Blending::default(),
            question: (0, None),
            ticket: None,
            answers: VecDeque::new(),
            events: Vec::new(),
            malformed: 0,
            has_begun: false,
        }
    }

    /// Knocks at a server that is open to anyone.
    pub fn open(server: Peer, content: G::Content, now: Time, random: &mut dyn Random) -> Self {
        let mut id = [0; 8];
        random.fill(&mut id);
        let token = ClientToken::open_mode(OPEN_PROTOCOL, u64::from_le_bytes(id), b"", random);
        Self::new(server, token.expect("nothing is attached"), content, now, random)
    }

    /// Plays through a TLS session that a link has vouched for. Call it before the first
    /// [`transmit`](EventClient::transmit).
    pub fn within(mut self, session: TlsSession) -> Self {
        self.dialer = self.dialer.within(session);
        self
    }

    /// Finds the server's time in this way.
    pub fn with_estimator(mut self, estimator: Estimator) -> Self {
        self.clock = SyncClock::new(estimator);
        self
    }

    /// Goes from the unofficial to the official in this way.
    pub fn set_blending(&mut self, blending: Blending) {
        self.blending = blending;
        if let Some(half) = &mut self.half {
            half.unofficial.blending = blending;
        }
    }

    /// Takes a datagram from the server; its bytes are of no use afterwards.
    pub fn receive(&mut self, now: Time, datagram: &mut [u8]) {
        let now = self.steady.at(now);
        let mut heard = Vec::new();
        let (events, ticket) = (&mut self.events, &mut self.ticket);
        self.dialer.receive(now, datagram, &mut |event| match event {
            DialerEvent::Connected { resume, .. } => *ticket = Some(resume.clone()),
            DialerEvent::Denied(refusal) => events.push(EventClientEvent::Denied(refusal)),
            DialerEvent::Left(reason) => events.push(EventClientEvent::Left(reason)),
            DialerEvent::Message(Event::Reliable(message)) => heard.push(message.to_vec()),
            DialerEvent::Message(_) => {}
        });
        heard.iter().for_each(|message| self.hear(now, message));
    }

    /// Does what is due: asks for the time, finds out whether the server is gone.
    pub fn advance(&mut self, now: Time) {
        let now = self.steady.at(now);
        let events = &mut self.events;
        self.dialer.advance(now, &mut |event| {
            if let DialerEvent::Left(reason) = event {
                events.push(EventClientEvent::Left(reason));
            }
        });
        if let Some(half) = &mut self.half
            && self.clock.asks(now)
        {
            self.clock.asked(now);
            self.question = (self.question.0.wrapping_add(1), Some(now));
            // What does not fit is asked again later.
            let _ = self.dialer.send_reliable(&half.asking.write_time(self.question.0));
        }
    }

    /// The next datagram to send to the server; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<&[u8]> {
        let now = self.steady.at(now);
        self.dialer.transmit(now)
    }

    /// When to call [`advance`](EventClient::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        let asks_at = if self.half.is_some() { self.clock.asks_at() } else { Time::MAX };
        self.steady.callers(self.dialer.next_wake().min(asks_at))
    }

    /// Asks the server for something, and shows it at once as unofficial. What the rule denies already here is not
    /// sent.
    pub fn request(&mut self, now: Time, mut request: G::Command) -> Result<RequestNumber, Denial> {
        let (tick, _) = self.tick_at(now).ok_or(Denial::ABSENT)?;
        let half = self.half.as_mut().filter(|_| !self.dialer.is_over()).ok_or(Denial::ABSENT)?;
        crate::settle(&mut request).map_err(|_| Denial::UNSENDABLE)?;
        if half.unofficial.len() >= OVERLAYS_MAX {
            return Err(Denial::FLOOD);
        }
        let known = half.official.tick();
        half.official.set_tick(tick.max(known));
        let verdict = G::foresee(&half.official, &self.content, half.me, &request);
        if verdict.is_ok() || !mutant::is(Mutant::DenialMovesTheTick) {
            half.official.set_tick(known);
        }
        verdict?;
        let record = self.command_layout.record(&request);
        // Nothing is learned from what cannot be sent.
        let mut asking = half.asking.clone();
        let message = asking.write_request(&self.command_layout, &record);
        self.dialer.send_reliable(&message).map_err(|_| Denial::UNSENDABLE)?;
        half.asking = asking;
        let number = half.next;
        half.next.0 += 1;
        half.refresh(&self.layouts, tick);
        let setting = Setting {
            content: &self.content,
            layouts: &self.layouts,
            me: half.me,
            tick_length: half.tick_length,
        };
        half.unofficial.add::<G>(&half.shown, tick, &setting, number, &request);
        half.shown_is_old = true;
        Ok(number)
    }

    /// Our number in the game, once the server has said it.
    pub fn me(&self) -> Option<PlayerId> {
        self.half.as_ref().map(|half| half.me)
    }

    /// The official world: what the server has told, up to the tick of this world. Nothing unofficial is ever in it.
    pub fn world(&self) -> Option<&World<G::Entity>> {
        self.half.as_ref().map(|half| &half.official)
    }

    /// The world to draw: the official one with what is hoped for laid over it, at the server's present tick.
    pub fn shown(&mut self, now: Time) -> Option<&World<G::Entity>> {
        let (tick, _) = self.tick_at(now)?;
        let half = self.half.as_mut()?;
        half.refresh(&self.layouts, tick);
        Some(&half.shown)
    }

    /// Whether an entity of [`shown`](EventClient::shown) is other than official.
    pub fn is_unofficial(&self, id: EntityId) -> bool {
        self.half.as_ref().is_some_and(|half| half.unofficial.contains(id))
    }

    /// While an entity goes from the unofficial to the official: its last unofficial state, and how far along it is,
    /// from 0 to 1. Draw it between where both states are at present.
    pub fn leaving(&self, now: Time, id: EntityId) -> Option<(&G::Entity, f32)> {
        let now = self.steady.clone().at(now);
        self.half.as_ref()?.unofficial.leaving(now, id)
    }

    /// How many requests are not answered yet.
    pub fn waiting(&self) -> usize {
        self.half.as_ref().map_or(0, |half| half.unofficial.len())
    }

    /// How often an entity jumped because it was officially too far from where it unofficially was, and how often it
    /// went smoothly.
    pub fn warps(&self) -> (u64, u64) {
        self.half.as_ref().map_or((0, 0), |half| (half.unofficial.jumps, half.unofficial.slides))
    }

    /// What became of requests since this was last asked.
    pub fn take_answers(&mut self) -> Vec<RequestAnswer> {
        self.answers.drain(..).collect()
    }

    /// The server's time: that of the game, zero at tick zero. It never runs backwards.
    pub fn server_time(&mut self, now: Time) -> Option<Time> {
        let now = self.steady.at(now);
        self.half.as_ref()?;
        self.clock.time(now)
    }

    /// The server's tick at present, and how far it is from it to the next.
    pub fn tick_at(&mut self, now: Time) -> Option<(Tick, f32)> {
        let time = self.server_time(now)?;
        Some(tick_of(time, self.half.as_ref()?.tick_length))
    }

    /// How long a tick takes.
    pub fn tick_length(&self) -> Option<Span> {
        self.half.as_ref().map(|half| half.tick_length)
    }

    /// The clock that follows the server's.
    pub fn clock(&self) -> &SyncClock {
        &self.clock
    }

    /// A number for the official world, to be compared with
    /// [`EventServer::hash_told`](super::EventServer::hash_told).
    pub fn hash(&self) -> Option<(Tick, u64)> {
        let world = self.world()?;
        Some((world.tick(), sight_hash(world, &self.layouts, world.tick(), |_| true)))
    }

    /// Map and tuning.
    pub fn content(&self) -> &G::Content {
        &self.content
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<EventClientEvent> {
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

    /// Whether nothing more will come or go.
    pub fn is_over(&self) -> bool {
        self.dialer.is_over()
    }

    /// Says goodbye.
    pub fn close(&mut self, now: Time) {
        let now = self.steady.at(now);
        self.dialer.close(now, CloseReason::Left);
    }

    fn hear(&mut self, now: Time, message: &[u8]) {
        if !std::mem::replace(&mut self.has_begun, true) {
            return self.begin(now, message);
        }
        let Some(half) = &mut self.half else { return };
        match half.telling.read(&self.layouts.state, message) {
            Err(_) => self.give_up(now),
            Ok(Told::Time(_, theirs)) if !is_within(theirs, half.tick_length) => self.give_up(now),
            Ok(Told::Time(question, theirs)) => {
                if let (number, Some(sent)) = self.question
                    && number == question
                {
                    self.question.1 = None;
                    self.clock.take(Stamp { sent, theirs, received: now });
                }
            }
            Ok(Told::News(news, answers)) => {
                let tick = half.telling.ledger.tick;
                self.clock.at_least(now, half.time_of(tick));
                let shown_at = self.clock.time(now).unwrap_or(Time::ZERO);
                let (present, _) = tick_of(shown_at, half.tick_length);
                half.refresh(&self.layouts, present);
                half.take_news(&news, &self.layouts);
                for answer in answers {
                    let Half { unofficial, shown, official, .. } = half;
                    unofficial.answer::<G>((now, present), answer.number, shown, official);
                    if self.answers.len() == ANSWERS_MAX {
                        self.answers.pop_front();
                    }
                    self.answers.push_back(answer);
                }
                half.shown_is_old = true;
            }
        }
    }

    /// The account is spoilt: nothing that follows would be understood.
    fn give_up(&mut self, now: Time) {
        self.malformed += 1;
        self.half = None;
        self.dialer.close(now, CloseReason::ProtocolViolation);
    }

    fn begin(&mut self, now: Time, message: &[u8]) {
        let Ok(welcome) = Welcome::read(message) else { return self.give_up(now) };
        let is_same = welcome.content == G::content_name(&self.content);
        if !is_same || welcome.rules != rules::<G>(&self.layouts) {
            self.events.push(EventClientEvent::Mismatched { content: welcome.content });
            return self.dialer.close(now, CloseReason::Left);
        }
        self.clock.at_least(now, welcome.time);
        let map = map_of::<G>(&self.content, &self.layouts);
        let mut official = World::default();
        official.set_tick(welcome.tick);
        let mut unofficial = Unofficial::default();
        unofficial.blending = self.blending;
        self.half = Some(Half {
            me: welcome.me,
            tick_length: welcome.tick_length,
            telling: Telling::new(Ledger::new(map, welcome.tick)),
            asking: Asking::new(&self.command_layout),
            shown: official.clone(),
            official,
            unofficial,
            shown_is_old: true,
            next: RequestNumber(0),
        });
        self.events.push(EventClientEvent::Joined(welcome.me));
    }
}

fn tick_of(time: Time, length: Span) -> (Tick, f32) {
    let (time, length) = (time.as_micros(), length.as_micros());
    let tick = u32::try_from(time / length).unwrap_or(u32::MAX);
    (Tick(tick), (time % length) as f32 / length as f32)
}

impl<G: Requests> Half<G> {
    fn time_of(&self, tick: Tick) -> Time {
        Time::ZERO + self.tick_length * u64::from(tick.0)
    }

    /// Makes the official world what the account says.
    fn take_news(&mut self, news: &super::ledger::News, layouts: &Layouts) {
        let told = &self.telling.ledger.told;
        for slot in &news.gone {
            if let Some(id) = self.official.tenant(*slot) {
                self.official.despawn(id);
            }
        }
        for slot in news.changed.iter().chain(&news.fresh) {
            let Some(head) = told.table.head(*slot) else { continue };
            let Some(mut entity) = G::Entity::default_of(head.kind) else { continue };
            entity.scatter(&layouts.state, told.table.lend(*slot));
            let owner = told.owner(*slot).checked_sub(1).map(|owner| PlayerId(owner as u16));
            self.official.put(head.id, owner, entity);
        }
        self.official.set_tick(self.telling.ledger.tick);
    }

    /// Makes what is drawn of what is official and what is hoped for.
    fn refresh(&mut self, layouts: &Layouts, tick: Tick) {
        if self.shown_is_old {
            self.shown.clone_from(&self.official);
            self.unofficial.apply(&mut self.shown, layouts, self.me);
            self.shown_is_old = false;
        }
        self.shown.set_tick(tick.max(self.official.tick()));
    }
}
