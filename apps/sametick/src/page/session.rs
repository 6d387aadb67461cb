//! `session.json`: what is played, where the roads are, and a fresh token to knock with.

use crate::host::metrics::Board;
use crate::tokens;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, ORIGIN, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sametick::codec::compact::Tables;
use sametick::secure::{Limiter, Quota, Random, SystemRandom, TokenKey};
use sametick_links::web::{Door, PLAY_PATH, Remote};
use sametick_links::{Clock, DATAGRAM_BYTES_MAX, peer_at};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// How many tokens a network may ask for.
const TOKENS: Quota = Quota { burst: 64, per_second: 4 };

/// The matches of this program that have a page: its port, what does not change, and what does.
#[derive(Clone, Default)]
pub(crate) struct Beside(Arc<Mutex<Vec<(u16, Value, Board)>>>);

impl Beside {
    pub(super) fn add(&self, port: u16, facts: Value, board: Board) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((port, facts, board));
    }

    /// All but the one at a port, each with the port of its page.
    fn others(&self, own: u16) -> Vec<Value> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |(port, facts, board): &(u16, Value, Board)| {
            let mut facts = counted(facts, board);
            facts["page_port"] = (*port).into();
            facts
        };
        all.iter().filter(|(port, ..)| *port != own).map(told).collect()
    }
}

/// What does not change of a match, and who plays at present.
fn counted(facts: &Value, board: &Board) -> Value {
    let (mut game, figures) = (facts.clone(), board.read());
    game["players"] = (figures.people + figures.bots).into();
    (game["people"], game["bots"]) = (figures.people.into(), figures.bots.into());
    game
}

/// What a page is told of the match.
#[derive(Clone)]
pub(crate) struct Match {
    /// All that does not change.
    pub(crate) facts: Value,
    pub(crate) board: Board,
    /// Seals tokens; none if anyone may join.
    pub(crate) key: Option<TokenKey>,
    /// What else is played.
    pub(crate) beside: Beside,
    /// Of its compact snapshots, if they are such.
    pub(crate) tables: Option<Arc<Tables>>,
    /// The page on which it is played.
    pub(crate) front: &'static str,
}

/// Where a page finds tables.
fn tables_path(tables: &Tables) -> String {
    format!("tables/{:016x}", tables.hash())
}

struct Desk {
    door: Door,
    game: Match,
    /// Another after each start: tickets of an earlier one are worth nothing.
    server: String,
    clock: Clock,
    limiter: Mutex<Limiter>,
}

/// Answers at `/session.json`.
pub(super) fn router(door: Door, game: Match) -> Router {
    let random = &mut SystemRandom::new();
    let limiter = Mutex::new(Limiter::new(TOKENS, random));
    let mut server = [0; 8];
    random.fill(&mut server);
    let server = digits(&server);
    let desk = Desk { door, game, server, clock: Clock::start(), limiter };
    let tables = desk.game.tables.clone();
    let router = Router::new().route("/session.json", get(answer)).with_state(Arc::new(desk));
    let Some(tables) = tables else { return router };
    // Their name is their hash: whoever has them need not ask again.
    let (path, bytes) = (format!("/{}", tables_path(&tables)), Bytes::from(tables.to_bytes()));
    let head = [
        (CONTENT_TYPE, "application/octet-stream"),
        (CACHE_CONTROL, "max-age=31536000, immutable"),
    ];
    router.route(&path, get(async move || (head, bytes.clone())))
}

async fn answer(
    State(desk): State<Arc<Desk>>,
    ConnectInfo(Remote(from)): ConnectInfo<Remote>,
    headers: HeaderMap,
) -> Response {
    if !is_own_page(&desk.door, &headers) {
        return (StatusCode::FORBIDDEN, "pages of that origin may not join here\n").into_response();
    }
    let (now, peer) = (desk.clock.now(), peer_at(from));
    if !desk.limiter.lock().unwrap_or_else(PoisonError::into_inner).allow(now, peer) {
        let wait = [(RETRY_AFTER, "1")];
        return (StatusCode::TOO_MANY_REQUESTS, wait, "too many at once: try again in a second\n")
            .into_response();
    }
    let head = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (head, desk.session().to_string()).into_response()
}

/// Browsers say where a page is from when it is from elsewhere; a program says nothing.
pub(crate) fn is_own_page(door: &Door, headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = text(&HeaderName::from_static("sec-fetch-site"));
    match text(&ORIGIN) {
        Some(origin) => door.accepts_origin(origin, text(&HOST).unwrap_or_default()),
        None => matches!(site, None | Some("same-origin" | "none")),
    }
}

impl Desk {
    fn session(&self) -> Value {
        let random = &mut SystemRandom::new();
        let mut client_id = [0; 8];
        random.fill(&mut client_id);
        let key = self.game.key.as_ref();
        let token = tokens::token(key, u64::from_le_bytes(client_id), random);
        let mut matches = vec![counted(&self.game.facts, &self.game.board)];
        matches.extend(self.game.beside.others(self.door.page().port()));
        let hashes: Vec<String> =
            self.door.certificate_hashes().iter().map(|h| digits(h)).collect();
        let webtransport = self
            .door
            .webtransport()
            .map(|address| json!({ "port": address.port(), "path": PLAY_PATH, "hashes": hashes }));
        json!({
            "build": env!("CARGO_PKG_VERSION"),
            "server": self.server,
            "matches": matches,
            "network": super::from_network(&self.door),
            "webtransport": webtransport,
            "websocket": { "path": PLAY_PATH, "tls": self.door.is_tls() },
            "tables": self.game.tables.as_ref().map(|tables| tables_path(tables)),
            "token": token.to_text(),
            // Where anyone may join, a token does not expire.
            "token_seconds": key.map(|_| tokens::TOKEN_SECONDS),
            "limits": { "datagram_bytes": DATAGRAM_BYTES_MAX, "tokens_per_second": TOKENS.per_second },
        })
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
