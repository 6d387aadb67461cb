//! The road to a server elsewhere: a session is asked for, a link is opened, and the library's bad lines stand in front
//! of it. When it is lost it is tried again, and the same place is taken with the ticket that was kept.

use crate::conditions::Wanted;
use crate::lab::Terms;
use crate::player::Player;
use crate::session::{Road, Session, endless_content, find_held, named_content, targets_content};
use crate::settings::Settings;
use sametick::codec::compact::Tables;
use sametick::lockstep::{Identity, Mesh, Role, build_of};
use sametick::secure::{ClientToken, Random};
use sametick::{Client, Peer, Span, Time, View};
use sametick_arena::Arena;
use sametick_links::browser::{self, BrowserLink, BrowserRandom, Request, Roads, State};
use sametick_links::conditioner::Direction;
use sametick_links::{Conditioned, drive_client, drive_mesh};

/// Where a page asks.
const SESSION_URL: &str = "session.json";
/// Where a participant's page asks.
const LAB_SESSION_URL: &str = "lab/session.json";
/// How long to wait before asking again, at first and at most.
const AGAIN_FIRST: Span = Span::millis(500);
const AGAIN_MAX: Span = Span::seconds(5);
/// In an experiment others wait.
const LAB_AGAIN_MAX: Span = Span::seconds(1);

/// A match that can be joined, as the server tells of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) title: String,
    pub(crate) mode: String,
    /// The server's own players.
    pub(crate) bots: u32,
    /// The others, when the server was asked.
    pub(crate) people: u32,
    /// The port of its page; none if it is this one.
    pub(crate) page_port: Option<u16>,
}

/// What leads back to the same place, and on which server.
pub(crate) type Ticket = (String, ClientToken);

/// On the way to a server.
pub(crate) struct Joining {
    stage: Stage,
    roads: Roads,
    watches: bool,
    ticket: Option<Ticket>,
    again: Span,
    /// In an experiment: what leads to one's seat.
    secret: Option<String>,
    /// In an experiment: what it asks of the page, once it was told.
    pub(crate) lab: Option<LabSession>,
    /// All that the server told of, once it did.
    pub(crate) matches: Vec<Match>,
    /// Where others of the network find the page, if they can.
    pub(crate) network: Option<String>,
}

/// What the session of a participant says besides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabSession {
    pub(crate) terms: Terms,
    /// How the others are seen.
    pub(crate) model: Option<String>,
    /// How many snapshots behind the newest they are shown, if that differs from the model.
    pub(crate) interpolation: Option<f64>,
    /// Over how long corrections are spread, if that differs.
    pub(crate) smoothing_ms: Option<f64>,
    pub(crate) sensitivity: Option<f64>,
    pub(crate) invert: Option<bool>,
    /// Degrees from left to right, if that differs from the usual.
    pub(crate) field_of_view: Option<f64>,
    /// Actions and their keys: `jump=KeyJ&fire=KeyF`.
    pub(crate) keys: String,
}

enum Stage {
    Waiting(Time),
    Asking(Request),
    Opening(Box<browser::Session>, BrowserLink),
}

/// How a step on the way went.
pub(crate) enum Progress {
    /// Not there yet.
    UnderWay,
    /// There is no server to be asked.
    Nobody,
    /// Not this time; it will be tried again.
    Failed(String),
    /// There: at which server.
    Joined(String, Box<Session>),
}

impl Joining {
    /// Asks at once.
    pub(crate) fn new(settings: &Settings, ticket: Option<Ticket>) -> Self {
        Self::at(Stage::Asking(Request::start(SESSION_URL)), settings, ticket)
    }

    /// Asks at once for a participant's seat, by its secret.
    pub(crate) fn seat(settings: &Settings, ticket: Option<Ticket>, secret: String) -> Self {
        let stage = Stage::Asking(Request::start_as(LAB_SESSION_URL, &secret));
        Self { secret: Some(secret), ..Self::at(stage, settings, ticket) }
    }

    /// Asks for the same a little later.
    pub(crate) fn later(mut self, now: Time) -> Self {
        self.stage = Stage::Waiting(now + AGAIN_FIRST);
        self
    }

    fn ask(&self) -> Request {
        match &self.secret {
            Some(secret) => Request::start_as(LAB_SESSION_URL, secret),
            None => Request::start(SESSION_URL),
        }
    }

    /// Asks again a little later, and knocks with a ticket, if there is one.
    pub(crate) fn again(settings: &Settings, ticket: Option<Ticket>, now: Time) -> Self {
        Self::at(Stage::Waiting(now + AGAIN_FIRST), settings, ticket)
    }

    fn at(stage: Stage, settings: &Settings, ticket: Option<Ticket>) -> Self {
        let (roads, watches) = (Roads::named(&settings.link).unwrap_or_default(), settings.watches);
        let (again, matches, network) = (AGAIN_FIRST, Vec::new(), None);
        Self { stage, roads, watches, ticket, again, secret: None, lab: None, matches, network }
    }

    /// How far it is, in a word.
    pub(crate) fn stage(&self) -> &'static str {
        match self.stage {
            Stage::Waiting(_) => "waiting",
            Stage::Asking(_) => "asking",
            Stage::Opening(..) => "opening",
        }
    }

    /// Takes the next step, if it can be taken.
    pub(crate) fn step(&mut self, view: View, wanted: &Wanted, now: Time) -> Progress {
        match &mut self.stage {
            Stage::Waiting(until) => {
                if now >= *until {
                    self.stage = Stage::Asking(self.ask());
                }
                Progress::UnderWay
            }
            Stage::Asking(request) => match request.poll() {
                None => Progress::UnderWay,
                Some(Err(reason)) => {
                    let is_absent = request.is_absent();
                    let failed = self.fail(reason, now);
                    if is_absent { Progress::Nobody } else { failed }
                }
                Some(Ok(session)) => {
                    self.matches = matches_of(&session);
                    self.network = session.text("network");
                    self.lab = self.secret.as_ref().map(|_| lab_of(&session));
                    let link = session.open(self.roads);
                    self.stage = Stage::Opening(Box::new(session), link);
                    Progress::UnderWay
                }
            },
            Stage::Opening(_, link) => match link.state() {
                State::Opening => Progress::UnderWay,
                State::Closed => {
                    let reason = link.reason();
                    self.fail(reason, now)
                }
                State::Open => self.knock(view, wanted, now),
            },
        }
    }

    fn knock(&mut self, view: View, wanted: &Wanted, now: Time) -> Progress {
        let stage = std::mem::replace(&mut self.stage, Stage::Waiting(now + self.again));
        let Stage::Opening(session, link) = stage else { return Progress::UnderWay };
        let text = |name: &str| session.text(&format!("matches.0.{name}")).unwrap_or_default();
        let number = |name: &str| session.number(&format!("matches.0.{name}"));
        let hold = number("held_for").zip(number("pause_seconds"));
        let hold = hold.map(|(players, seconds)| (players as u16, seconds as f32));
        let by_number = u64::from_str_radix(&text("content"), 16).ok();
        let by_number = by_number.and_then(|name| find_held(name, hold));
        // A map that no page has comes with the session, and so do targets.
        let (map_text, set) = (text("map_text"), text("target_set"));
        let own = || {
            let own = match set.is_empty() {
                true => endless_content(&map_text, &text("mode")),
                false => {
                    let pause = number("pause_seconds").unwrap_or(0.0);
                    targets_content(&map_text, &text("map"), &set, pause)
                }
            };
            own.map(|content| match hold {
                Some((players, seconds)) => content.held(players, seconds),
                None => content,
            })
        };
        let by_number = by_number.or_else(own);
        let content = by_number.or_else(|| named_content(&text("map"), &text("mode")));
        let Some(content) = content else {
            return self.fail("The server plays a map that this page does not have.".into(), now);
        };
        let identity = session.text("server").unwrap_or_default();
        let ticket = self.ticket.take().filter(|(server, _)| *server == identity);
        let Some(token) = ticket.map(|(_, ticket)| ticket).or_else(|| session.token()) else {
            return self.fail("The server gave no token.".into(), now);
        };
        let (server, tls) = (link.server(), link.tls());
        let random = &mut BrowserRandom;
        let player = if session.text("matches.0.lockstep").is_some() {
            // Where a page cannot reach all who play, it watches.
            let watches = self.watches || text("watch") == "true";
            let role = if watches { Role::Watches } else { Role::Plays };
            let (me, game) = (identity_by(random), (content.clone(), BUILD));
            let mesh = Mesh::join(server, me, game, role, now, random);
            Player::of_mesh(match tls {
                Some(tls) => mesh.within(tls),
                None => mesh,
            })
        } else {
            let client = Client::<Arena>::new(server, token, content.clone(), view, now, random);
            let tables = session.tables().and_then(|bytes| Tables::from_bytes(&bytes).ok());
            let client = match tables {
                Some(tables) => client.with_tables(tables),
                None => client,
            };
            Player::Client(Box::new(match tls {
                Some(tls) => client.within(tls),
                None => client,
            }))
        };
        let mut road = Outside { link: Conditioned::new(link, now.as_micros()), server };
        road.set_conditions(wanted);
        Progress::Joined(identity, Box::new(Session::new(player, Box::new(road), content)))
    }

    fn fail(&mut self, reason: String, now: Time) -> Progress {
        self.stage = Stage::Waiting(now + self.again);
        let most = if self.secret.is_some() { LAB_AGAIN_MAX } else { AGAIN_MAX };
        self.again = (self.again * 2).min(most);
        Progress::Failed(sentence(&reason))
    }
}

/// What a participant's session says besides.
fn lab_of(session: &browser::Session) -> LabSession {
    let number = |name: &str| session.number(&format!("lab.{name}"));
    let terms = Terms::new(
        number("frame_rate"),
        number("frame_delay").unwrap_or(0.0),
        number("input_delay").unwrap_or(0.0),
    );
    LabSession {
        terms,
        model: session.text("lab.model"),
        interpolation: number("interpolation"),
        smoothing_ms: number("smoothing_ms"),
        sensitivity: number("sensitivity"),
        invert: session.text("lab.invert").map(|value| value == "true"),
        field_of_view: number("field_of_view"),
        keys: session.text("lab.keys").unwrap_or_default(),
    }
}

/// With a capital letter and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.trim_end_matches('.').chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// How often it is asked who plays.
const NEWS_EVERY: Span = Span::seconds(4);

/// Who plays in the matches of a server, asked again and again while one chooses.
#[derive(Default)]
pub(crate) struct News {
    request: Option<Request>,
    asked_at: Time,
}

impl News {
    /// The matches, if they have just been told anew.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Vec<Match>> {
        if self.request.is_none() && now - self.asked_at >= NEWS_EVERY {
            (self.request, self.asked_at) = (Some(Request::start(SESSION_URL)), now);
        }
        let answer = self.request.as_mut()?.poll()?;
        self.request = None;
        answer.ok().map(|session| matches_of(&session))
    }
}

/// What must be the same for two programs to play in lockstep.
const BUILD: u64 = build_of(sametick_arena::RULES);

/// Who this page is to other machines, as long as it is open.
fn identity_by(random: &mut dyn Random) -> Identity {
    let mut number = || {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        u64::from_le_bytes(bytes).max(1)
    };
    Identity { session: number(), name: number() }
}

/// At most this many matches are read from a server's list.
const MATCHES_MAX: usize = 16;

fn matches_of(session: &browser::Session) -> Vec<Match> {
    let one = |number: usize| {
        let text =
            |name: &str| session.text(&format!("matches.{number}.{name}")).unwrap_or_default();
        let number = |name: &str| session.number(&format!("matches.{number}.{name}"));
        let count = |name: &str| number(name).unwrap_or(0.0) as u32;
        let (bots, people) = (count("bots"), count("people"));
        let page_port = number("page_port").map(|port| port as u16);
        Match { title: text("title"), mode: text("mode"), bots, people, page_port }
    };
    (0..session.count("matches").min(MATCHES_MAX)).map(one).collect()
}

struct Outside {
    link: Conditioned<BrowserLink>,
    server: Peer,
}

impl Road for Outside {
    fn name(&self) -> String {
        match self.link.link().road() {
            Some(Roads::WebTransport) => "WebTransport".into(),
            Some(Roads::WebSocket) => "WebSocket".into(),
            _ => "no link".into(),
        }
    }

    fn drive(&mut self, client: &mut Client<Arena>, now: Time) -> Time {
        drive_client(client, &mut self.link, self.server, now);
        now
    }

    fn drive_mesh(&mut self, mesh: &mut Mesh<Arena>, now: Time) -> Time {
        drive_mesh(mesh, &mut self.link, now, &mut BrowserRandom);
        now
    }

    fn set_conditions(&mut self, wanted: &Wanted) {
        let directions = [Direction::Outbound, Direction::Inbound].into_iter();
        for (direction, conditions) in directions.zip(wanted.conditions()) {
            self.link.set_conditions(direction, conditions);
        }
    }

    fn dropped(&self) -> u64 {
        self.link.link().statistics().dropped
    }

    fn end(&self) -> Option<String> {
        let link = self.link.link();
        (link.state() == State::Closed).then(|| link.reason())
    }

    fn close(&mut self) {
        self.link.link().close();
    }
}
