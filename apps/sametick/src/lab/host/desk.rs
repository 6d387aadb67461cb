//! The desk: one router for participants and the experimenter. Decides who may ask how often, and what is asked for in
//! which words; `api` and `live` answer.

use super::calibration::Calibration;
use super::live::{self, Logins};
use super::state::{Running, State};
use super::table::{Table, lock};
use super::{api, session};
use crate::page;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, RETRY_AFTER, SET_COOKIE,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use sametick::Peer;
use sametick::secure::{Limiter, Quota, SystemRandom};
use sametick_lab::people::SeatId;
use sametick_lab::{Controls, Wish};
use sametick_links::web::{Door, Remote};
use sametick_links::{Clock, peer_at};
use serde_json::{Map, Value, json};
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 16 << 10;
/// How often a network may claim seats, as a class at one address does; who guesses codes of 50 bits gets nowhere.
const CLAIMS: Quota = Quota { burst: 60, per_second: 3 };
/// How often an address may try a password, and how often all together may.
const PASSWORDS: Quota = Quota { burst: 5, per_second: 1 };
const PASSWORDS_OF_ALL: Quota = Quota { burst: 60, per_second: 5 };
/// How often a network may ask that has neither a seat's secret nor the experimenter's cookie.
const CALLS: Quota = Quota { burst: 100, per_second: 30 };
/// How often a seat's page may ask, or whoever knows the password: a page asks three times a second. A class at one
/// address is as many seats.
const OWN_CALLS: Quota = Quota { burst: 100, per_second: 20 };

/// An answer, or what is wrong.
pub(super) type Answer = Result<Value, Errors>;

/// What is wrong, in a sentence.
#[derive(Debug)]
pub(super) struct Errors {
    status: StatusCode,
    what: String,
}

impl Errors {
    pub(super) fn new(status: StatusCode, what: &str) -> Self {
        Self { status, what: what.to_owned() }
    }

    pub(super) fn bad(what: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, what }
    }
}

/// A text of an object; empty if there is none.
pub(super) fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body[name].as_str().unwrap_or_default()
}

pub(super) fn object(body: &Value) -> Result<Map<String, Value>, Errors> {
    let what = || Errors::bad("a JSON object is wanted".to_owned());
    body.as_object().cloned().ok_or_else(what)
}

/// Everything that requests are answered from.
pub(super) struct Desk {
    pub(super) title: String,
    /// Where people are told to go.
    pub(super) address: String,
    /// The way to there, as a picture.
    pub(super) qr_svg: String,
    pub(super) state: Mutex<State>,
    pub(super) tables: Vec<Table>,
    pub(super) calibration: Calibration,
    pub(super) logins: Logins,
    /// Whose hands play with what, and with which keys.
    pub(super) controls: Controls,
}

/// How a participant's hand is on the page: what it was calibrated with, else what the file says.
pub(super) struct Grip {
    pub(super) sensitivity: Option<f64>,
    pub(super) invert: Option<bool>,
    pub(super) keys: String,
}

impl Desk {
    pub(super) fn grip(&self, state: &State, seat: SeatId) -> Grip {
        let keys = self.controls.key_list();
        if let Some(found) = state.study.calibration(seat) {
            let (sensitivity, invert) = (Some(found.sensitivity), Some(found.invert));
            return Grip { sensitivity, invert, keys };
        }
        let hand = self.controls.hand(seat.0);
        Grip {
            sensitivity: hand.and_then(|hand| hand.sensitivity),
            invert: hand.map(|hand| hand.is_inverted),
            keys,
        }
    }

    /// The table of a group.
    pub(super) fn table(&self, group: u32) -> Option<&Table> {
        self.tables.get((group as usize).wrapping_sub(1))
    }

    /// Ends what a group plays, if the study has.
    pub(super) fn stop_table(&self, state: &mut State, group: u32, why: &str) {
        if state.running.contains_key(&group)
            && let Some(table) = self.table(group)
        {
            table.wish(Wish::Stop(why.to_owned()));
        }
    }

    pub(super) fn calibration_session(&self, seat: SeatId, hand: &Grip) -> Value {
        session::of_calibration(&self.calibration, seat, hand)
    }

    pub(super) fn trial_session(
        &self,
        running: &Running,
        seat: SeatId,
        hand: &Grip,
    ) -> Option<Value> {
        session::of_trial(self.table(running.start.group)?, running, seat, hand)
    }
}

/// A desk that is not set up yet when its door opens, for tables must know the door's port.
pub(super) type Waiting = Arc<OnceLock<Desk>>;

struct Front {
    desk: Waiting,
    door: Door,
    clock: Clock,
    claims: Mutex<Limiter>,
    passwords: Mutex<Limiter>,
    passwords_of_all: Mutex<Limiter>,
    calls: Mutex<Limiter>,
    own_calls: Mutex<Limiter>,
}

/// Answers everything under `/lab/` and `/live/`.
pub(super) fn router(desk: Waiting, door: Door) -> Router {
    let random = &mut SystemRandom::new();
    let mut limiter = |quota| Mutex::new(Limiter::new(quota, random));
    let front = Arc::new(Front {
        claims: limiter(CLAIMS),
        passwords: limiter(PASSWORDS),
        passwords_of_all: limiter(PASSWORDS_OF_ALL),
        calls: limiter(CALLS),
        own_calls: limiter(OWN_CALLS),
        clock: Clock::start(),
        desk,
        door,
    });
    let answer = move |ConnectInfo(Remote(from)): ConnectInfo<Remote>, request: Request| {
        let front = Arc::clone(&front);
        async move { front.answer(from, request).await }
    };
    let all = axum::routing::any(answer);
    Router::new()
        .route("/lab/{*path}", all.clone())
        .route("/live/{*path}", all)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

impl Front {
    async fn answer(&self, from: SocketAddr, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let answered = match axum::body::to_bytes(body, BODY_BYTES_MAX).await {
            Ok(bytes) => {
                self.dispatch(from, &parts.method, parts.uri.path(), &parts.headers, &bytes)
            }
            Err(_) => {
                let what = format!("a request has {BODY_BYTES_MAX} bytes at most");
                Err(Errors { status: StatusCode::PAYLOAD_TOO_LARGE, what })
            }
        };
        let common = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
        match answered {
            Ok((value, None)) => (common, value.to_string()).into_response(),
            Ok((value, Some(cookie))) => {
                (common, [(SET_COOKIE, cookie)], value.to_string()).into_response()
            }
            Err(Errors { status, what }) => {
                let body = json!({ "error": what }).to_string();
                if status == StatusCode::TOO_MANY_REQUESTS {
                    return (status, common, [(RETRY_AFTER, "1")], body).into_response();
                }
                (status, common, body).into_response()
            }
        }
    }

    fn allow(&self, limiter: &Mutex<Limiter>, from: SocketAddr) -> Result<(), Errors> {
        self.allow_peer(limiter, peer_at(from))
    }

    fn allow_peer(&self, limiter: &Mutex<Limiter>, from: Peer) -> Result<(), Errors> {
        match lock(limiter).allow(self.clock.now(), from) {
            true => Ok(()),
            false => {
                let what = "too many at once: try again in a second";
                Err(Errors::new(StatusCode::TOO_MANY_REQUESTS, what))
            }
        }
    }

    fn dispatch(
        &self,
        from: SocketAddr,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        bytes: &Bytes,
    ) -> Result<(Value, Option<String>), Errors> {
        if !page::is_own_page(&self.door, headers) {
            let what = "pages of that origin may not ask here";
            return Err(Errors::new(StatusCode::FORBIDDEN, what));
        }
        let Some(desk) = self.desk.get() else {
            self.allow(&self.calls, from)?;
            return Err(Errors::new(StatusCode::SERVICE_UNAVAILABLE, "not yet: try again"));
        };
        let who = self.known(desk, path, headers);
        match &who {
            // Each has a quota of its own: a class behind one address is not one visitor.
            Some(who) => self.allow_peer(&self.own_calls, peer_of(who.as_bytes()))?,
            None => self.allow(&self.calls, from)?,
        }
        let read = || -> Result<Value, Errors> {
            let read = serde_json::from_slice::<Value>(bytes);
            let read = read.map_err(|error| Errors::bad(format!("this is no JSON: {error}")))?;
            object(&read).map(Value::Object)
        };
        let plain = |answer: Answer| answer.map(|value| (value, None));
        match (method.as_str(), path) {
            ("POST", "/lab/claim") => {
                self.allow(&self.claims, from)?;
                plain(api::claim(desk, &read()?))
            }
            ("GET", "/lab/seat") => plain(api::seat(desk, self.holder(desk, headers)?)),
            ("POST", "/lab/seat") => plain(api::act(desk, self.holder(desk, headers)?, &read()?)),
            ("POST", "/lab/telemetry") => {
                plain(api::telemetry(desk, self.holder(desk, headers)?, read()?))
            }
            ("GET", "/lab/session.json") => plain(api::session(desk, self.holder(desk, headers)?)),
            ("POST", "/live/login") => {
                self.allow_peer(&self.passwords, peer_of(from.ip().to_string().as_bytes()))?;
                self.allow_peer(&self.passwords_of_all, peer_of(b"all"))?;
                let cookie = desk.logins.log_in(text(&read()?, "password"), self.door.is_tls());
                let cookie = cookie.ok_or_else(|| {
                    Errors::new(StatusCode::UNAUTHORIZED, "that is not the password")
                })?;
                Ok((json!({}), Some(cookie)))
            }
            (_, path) if path.starts_with("/live/") => {
                let cookie = headers.get(COOKIE).and_then(|value| value.to_str().ok());
                if !desk.logins.knows(cookie.unwrap_or_default()) {
                    return Err(Errors::new(StatusCode::UNAUTHORIZED, "log in first"));
                }
                match (method.as_str(), path) {
                    ("GET", "/live/state") => Ok((live::state(desk), None)),
                    ("POST", "/live/do") => plain(live::act(desk, &read()?)),
                    _ => Err(nothing_there()),
                }
            }
            _ => Err(nothing_there()),
        }
    }

    /// Who asks, if that is a seat's page or somebody who knows the password.
    fn known(&self, desk: &Desk, path: &str, headers: &HeaderMap) -> Option<String> {
        if path.starts_with("/live/") {
            let cookie = headers.get(COOKIE)?.to_str().ok()?;
            return desk.logins.knows(cookie).then(|| "experimenter".to_owned());
        }
        headers.get(AUTHORIZATION)?;
        self.holder(desk, headers).ok().map(|seat| format!("seat {}", seat.0))
    }

    /// Whose page asks.
    fn holder(&self, desk: &Desk, headers: &HeaderMap) -> Result<SeatId, Errors> {
        let said = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let secret = said.and_then(|said| said.strip_prefix("Bearer ")).unwrap_or_default();
        let seat = lock(&desk.state).seat_with(&api::hash(secret));
        seat.ok_or_else(|| Errors::new(StatusCode::UNAUTHORIZED, "claim a seat first"))
    }
}

/// A name as an address of its own, for limits count by networks.
fn peer_of(name: &[u8]) -> Peer {
    let hash = blake3::hash(name);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    peer_at(SocketAddr::new(Ipv6Addr::from(bytes).into(), 0))
}

fn nothing_there() -> Errors {
    Errors::new(StatusCode::NOT_FOUND, "there is nothing of that name")
}
