//! The page: joins a match, walks, and says in a line how it is. Exists in wasm only.
#![cfg(target_arch = "wasm32")]

use sametick::secure::ClientToken;
use sametick::{Client, ClientEvent, View};
use sametick_arena::map::MAPS;
use sametick_arena::{Arena, Command, Content, Fighter, Mode};
use sametick_links::browser::{BrowserLink, BrowserRandom, Request, Roads, Session, State};
use sametick_links::{Clock, drive_client};
use wasm_bindgen::prelude::wasm_bindgen;

/// How long the page waits before it asks again after a failure.
const AGAIN_MILLIS: u64 = 500;

/// A player's page.
#[wasm_bindgen]
pub struct Page {
    clock: Clock,
    roads: Roads,
    stage: Stage,
    /// What leads back to the same place, and on which server.
    ticket: Option<(String, ClientToken)>,
    server: String,
    forward: i8,
    yaw: f32,
    joins: u32,
    reason: String,
}

enum Stage {
    Asking(Request),
    Opening(Session, BrowserLink),
    Playing(Box<Client<Arena>>, BrowserLink),
    Waiting(u64),
}

#[wasm_bindgen]
impl Page {
    /// Begins to join. `roads` is `any`, `webtransport` or `websocket`; `ticket` is what an earlier page
    /// kept, or nothing.
    #[wasm_bindgen(constructor)]
    pub fn new(roads: &str, ticket: &str) -> Self {
        Self {
            clock: Clock::start(),
            roads: Roads::named(roads).unwrap_or_default(),
            stage: Stage::Asking(Request::start("session.json")),
            ticket: ticket.split_once(' ').and_then(|(server, ticket)| {
                Some((server.to_owned(), ClientToken::from_text(ticket)?))
            }),
            server: String::new(),
            forward: 0,
            yaw: 0.0,
            joins: 0,
            reason: String::new(),
        }
    }

    /// Walks, or stands.
    pub fn walk(&mut self, forward: i8, yaw: f32) {
        (self.forward, self.yaw) = (forward, yaw);
    }

    /// What leads back to the same place, as text.
    pub fn ticket(&self) -> String {
        let text =
            |(server, ticket): &(String, ClientToken)| format!("{server} {}", ticket.to_text());
        self.ticket.as_ref().map(text).unwrap_or_default()
    }

    /// Says goodbye.
    pub fn leave(&mut self) {
        let now = self.clock.now();
        if let Stage::Playing(client, link) = &mut self.stage {
            client.close(now);
            let server = link.server();
            drive_client(client, link, server, now);
        }
    }

    /// Does what is due.
    pub fn frame(&mut self) {
        let now = self.clock.now();
        let waiting = Stage::Waiting(now.as_micros() / 1_000 + AGAIN_MILLIS);
        self.stage = match std::mem::replace(&mut self.stage, waiting) {
            Stage::Waiting(until) if now.as_micros() / 1_000 >= until => {
                Stage::Asking(Request::start("session.json"))
            }
            Stage::Waiting(until) => Stage::Waiting(until),
            Stage::Asking(mut request) => match request.poll() {
                None => Stage::Asking(request),
                Some(Ok(session)) => {
                    let link = session.open(self.roads);
                    Stage::Opening(session, link)
                }
                Some(Err(reason)) => return self.reason = reason,
            },
            Stage::Opening(session, link) => match link.state() {
                State::Opening => Stage::Opening(session, link),
                State::Closed => return self.reason = link.reason(),
                State::Open => match self.knock(&session, &link) {
                    Some(client) => Stage::Playing(Box::new(client), link),
                    None => return self.reason = "the server's answer makes no sense".into(),
                },
            },
            Stage::Playing(mut client, mut link) => {
                client.command(Command {
                    forward: self.forward,
                    yaw: self.yaw,
                    ready: true,
                    ..Command::default()
                });
                let server = link.server();
                drive_client(&mut client, &mut link, server, now);
                client.view(now);
                client.take_effects();
                for event in client.take_events() {
                    match event {
                        ClientEvent::Joined(_) => {
                            self.joins += 1;
                            let server = self.server.clone();
                            self.ticket = client.ticket().map(|ticket| (server, ticket.clone()));
                        }
                        ClientEvent::Denied(denial) => {
                            // Perhaps it was the ticket: the session's own token is next.
                            self.ticket = None;
                            self.reason = format!("denied: {denial:?}");
                        }
                        ClientEvent::Left(reason) => self.reason = format!("{reason:?}"),
                        ClientEvent::GameChanged { content } => {
                            if let Some(content) = find(content) {
                                client.load(now, content);
                            }
                        }
                        ClientEvent::Migrating(_) => {}
                    }
                }
                if client.is_over() || link.state() == State::Closed {
                    if link.state() == State::Closed {
                        self.reason = link.reason();
                    }
                    return;
                }
                Stage::Playing(client, link)
            }
        };
    }

    /// How it is, as JSON: the server's own newest word about us among it.
    pub fn status(&self) -> String {
        let (mut road, mut player, mut tick, mut place) = ("", -1, 0, [0.0; 3]);
        let stage = match &self.stage {
            Stage::Asking(_) => "asking",
            Stage::Opening(..) => "opening",
            Stage::Waiting(_) => "waiting",
            Stage::Playing(client, link) => {
                road = link.road().map_or("", Roads::name);
                if let (Some(me), Some(snapshot)) = (client.me(), client.snapshot()) {
                    (player, tick) = (i32::from(me.0), snapshot.tick().0);
                    place = snapshot.owned::<Fighter>(me).map_or(place, |(_, own)| own.position);
                }
                if player >= 0 { "playing" } else { "knocking" }
            }
        };
        let [x, y, z] = place;
        format!(r#"{{"stage":"{stage}","road":"{road}","player":{player},"tick":{tick},"#,)
            + &format!(
                r#""x":{x},"y":{y},"z":{z},"joins":{},"reason":{:?}}}"#,
                self.joins, self.reason
            )
    }

    fn knock(&mut self, session: &Session, link: &BrowserLink) -> Option<Client<Arena>> {
        self.server = session.text("server")?;
        let ticket = self.ticket.take().filter(|(server, _)| *server == self.server);
        let token = ticket.map(|(_, ticket)| ticket).or_else(|| session.token())?;
        let content = u64::from_str_radix(&session.text("matches.0.content")?, 16).ok()?;
        let (server, now, random) = (link.server(), self.clock.now(), &mut BrowserRandom);
        let client = Client::new(server, token, find(content)?, View::default(), now, random);
        Some(match link.tls() {
            Some(tls) => client.within(tls),
            None => client,
        })
    }
}

/// The content of that name, if it comes with the game.
fn find(name: u64) -> Option<Content> {
    let modes = [Mode::FreeForAll, Mode::Teams, Mode::Duel, Mode::Practice];
    let all = MAPS.iter().flat_map(|(_, text)| modes.map(|mode| Content::new(text, mode)));
    all.flatten().find(|content| content.name() == name)
}
