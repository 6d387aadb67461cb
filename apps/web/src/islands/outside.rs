//! The road to a contest on a server elsewhere: a session is asked for, a link is opened, and a seat is taken. Lost, it
//! is asked for anew with the ticket that was kept.

use super::stage::Skirmish;
use super::{BLENDING, Contest, Road, words};
use sametick::eventlock::{Denial, EventClient, EventClientEvent};
use sametick::network::Conditions;
use sametick::secure::ClientToken;
use sametick::{EntityId, Peer, PlayerId, Span, World};
use sametick_islands::{Content, Entity, Islands, Opening, Request, contest};
use sametick_links::browser::{self, BrowserLink, BrowserRandom, Roads, State};
use sametick_links::conditioner::Direction;
use sametick_links::{Clock, Conditioned, drive_event_client};
use wasm_bindgen::prelude::*;

/// Where a page asks.
const SESSION_URL: &str = "session.json";

/// What a step of a guest can come to.
const UNDER_WAY: u8 = 0;
const IN: u8 = 1;
const NOBODY: u8 = 2;
const FAILED: u8 = 3;

/// Somebody on the way to the server that the page is from.
#[wasm_bindgen]
pub struct Guest {
    stage: Stage,
    roads: Roads,
    ticket: String,
    clock: Clock,
    words: String,
}

enum Stage {
    Asking(browser::Request),
    Opening(Box<browser::Session>, BrowserLink),
    Knocking(Box<Outside>),
    Over,
}

#[wasm_bindgen]
impl Guest {
    /// Asks for a session; comes over any road, or over `webtransport` or `websocket`, with a ticket or without.
    #[wasm_bindgen(constructor)]
    pub fn new(roads: &str, ticket: &str) -> Guest {
        Self {
            stage: Stage::Asking(browser::Request::start(SESSION_URL)),
            roads: Roads::named(roads).unwrap_or_default(),
            ticket: ticket.into(),
            clock: Clock::start(),
            words: "Looking for the server.".into(),
        }
    }

    /// Takes the next step: 0 is under way, 1 in, 2 that there is no server of Islands, 3 that it failed.
    pub fn step(&mut self) -> u8 {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Asking(request) => self.ask(request),
            Stage::Opening(session, link) => self.open(session, link),
            Stage::Knocking(outside) => self.knock(outside),
            Stage::Over => FAILED,
        }
    }

    /// How it stands, in a sentence.
    pub fn words(&self) -> String {
        self.words.clone()
    }

    /// The contest, for whoever is in.
    pub fn contest(&mut self) -> Option<Skirmish> {
        let Stage::Knocking(outside) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return None;
        };
        let content = outside.client.content().clone();
        Some(Skirmish::of(Contest::over(outside, content)))
    }
}

impl Guest {
    fn ask(&mut self, mut request: browser::Request) -> u8 {
        match request.poll() {
            None => {
                self.stage = Stage::Asking(request);
                UNDER_WAY
            }
            Some(Err(_)) if request.is_absent() => NOBODY,
            Some(Err(reason)) => self.fail(reason),
            Some(Ok(session)) if session.text("matches.0.game").as_deref() != Some("islands") => {
                NOBODY
            }
            Some(Ok(session)) => {
                let link = session.open(self.roads);
                self.stage = Stage::Opening(Box::new(session), link);
                UNDER_WAY
            }
        }
    }

    fn open(&mut self, session: Box<browser::Session>, link: BrowserLink) -> u8 {
        match link.state() {
            State::Opening => {
                self.stage = Stage::Opening(session, link);
                return UNDER_WAY;
            }
            State::Closed => return self.fail(link.reason()),
            State::Open => {}
        }
        let text = |name: &str| session.text(&format!("matches.0.{name}")).unwrap_or_default();
        let Some((seed, seats)) = text("seed").parse().ok().zip(text("seats").parse().ok()) else {
            return self.fail("The server does not say what it plays.".into());
        };
        let opening = if text("war") == "true" { Opening::War } else { Opening::Settlers };
        let content = Content::new(seed, seats, opening);
        let identity = session.text("server").unwrap_or_default();
        let ticket = self.ticket.split_once(' ').filter(|(server, _)| *server == identity);
        let ticket = ticket.and_then(|(_, ticket)| ClientToken::from_text(ticket));
        let Some(token) = ticket.or_else(|| session.token()) else {
            return self.fail("The server gave no token.".into());
        };
        self.words = "Waiting for the others to come.".into();
        self.stage =
            Stage::Knocking(Box::new(Outside::new((link, identity), token, content, self.clock)));
        UNDER_WAY
    }

    fn knock(&mut self, mut outside: Box<Outside>) -> u8 {
        outside.advance(Span::ZERO);
        if let Some(reason) = outside.end.take() {
            return self.fail(reason);
        }
        let has_begun = outside.shown().is_some_and(|(world, _)| contest(world).began > 0);
        self.stage = Stage::Knocking(outside);
        if has_begun { IN } else { UNDER_WAY }
    }

    fn fail(&mut self, reason: String) -> u8 {
        self.words = reason;
        FAILED
    }
}

/// A seat on a server elsewhere.
struct Outside {
    client: EventClient<Islands>,
    link: Conditioned<BrowserLink>,
    server: Peer,
    /// Another after each start of the server: tickets of an earlier one are worth nothing.
    identity: String,
    clock: Clock,
    denied: Option<Denial>,
    end: Option<String>,
}

impl Outside {
    fn new(
        (link, identity): (BrowserLink, String),
        token: ClientToken,
        content: Content,
        clock: Clock,
    ) -> Self {
        let (server, tls, now) = (link.server(), link.tls(), clock.now());
        let client = EventClient::new(server, token, content, now, &mut BrowserRandom);
        let mut client = match tls {
            Some(tls) => client.within(tls),
            None => client,
        };
        client.set_blending(BLENDING);
        let link = Conditioned::new(link, now.as_micros());
        Self { client, link, server, identity, clock, denied: None, end: None }
    }
}

impl Road for Outside {
    fn advance(&mut self, _span: Span) {
        let now = self.clock.now();
        drive_event_client(&mut self.client, &mut self.link, self.server, now);
        for answer in self.client.take_answers() {
            self.denied = answer.verdict.err().or(self.denied);
        }
        for event in self.client.take_events() {
            self.end = match event {
                EventClientEvent::Joined(_) => continue,
                EventClientEvent::Mismatched { .. } => {
                    Some("The server plays by other rules: load the page again.".into())
                }
                EventClientEvent::Denied(reason) => Some(words::of_door(reason).into()),
                EventClientEvent::Left(reason) => Some(words::of_end(reason).into()),
            };
        }
        let link = self.link.link();
        if self.end.is_none() && link.state() == State::Closed {
            self.end = Some(link.reason());
        }
    }

    fn request(&mut self, request: Request) -> Result<(), Denial> {
        self.client.request(self.clock.now(), request)?;
        // It need not wait for the next frame.
        self.advance(Span::ZERO);
        Ok(())
    }

    fn take_denial(&mut self) -> Option<Denial> {
        self.denied.take()
    }

    fn shown(&mut self) -> Option<(&World<Entity>, f64)> {
        let now = self.clock.now();
        let (_, part) = self.client.tick_at(now)?;
        Some((self.client.shown(now)?, f64::from(part)))
    }

    fn is_unofficial(&self, id: EntityId) -> bool {
        self.client.is_unofficial(id)
    }

    fn leaving(&self, id: EntityId) -> Option<(&Entity, f32)> {
        self.client.leaving(self.clock.now(), id)
    }

    fn me(&self) -> PlayerId {
        self.client.me().unwrap_or(PlayerId(0))
    }

    fn name(&self) -> &'static str {
        match self.link.link().road() {
            Some(Roads::WebTransport) => "WebTransport",
            Some(Roads::WebSocket) => "WebSocket",
            _ => "no link",
        }
    }

    fn ping(&self) -> Option<Span> {
        self.client.statistics()?.round_trip.smoothed
    }

    fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    fn ticket(&self) -> Option<String> {
        self.client.ticket().map(|ticket| format!("{} {}", self.identity, ticket.to_text()))
    }

    fn set_delay(&mut self, ping: Span) {
        let half = Span::micros(ping.as_micros() / 2);
        for direction in [Direction::Outbound, Direction::Inbound] {
            let conditions = Conditions { delay: half, ..Conditions::PERFECT };
            self.link.set_conditions(direction, conditions);
        }
    }

    fn leave(&mut self) {
        // A page that goes cannot wait for a long line.
        self.set_delay(Span::ZERO);
        self.client.close(self.clock.now());
        self.advance(Span::ZERO);
    }
}
