//! An honest client of a run: joins, talks, leaves or vanishes, and comes back.

use super::content::Way;
use super::ledger::Ledger;
use super::options::Options;
use super::server::Sends;
use super::{PROTOCOL, Seeded, TOKEN_KEY, UNIX_SECONDS};
use sametick::channel::{CHANNEL_MEMORY_BYTES_MAX, CloseReason};
use sametick::endpoint::{Dialer, DialerEvent};
use sametick::network::{Host, HostClock, Network};
use sametick::secure::{ClientToken, Grant, TokenIssuer};
use sametick::{Dice, Peer, Span, Time};

/// Whoever was heard of more recently is still there when the calm begins.
const LONG_SILENCE: Span = Span::seconds(5);

/// How likely a client of a wide seed sends all that its budget allows when it is connected, and for how long: 2 s.
const GREED: f64 = 0.3;
const GREEDY_TICKS: u32 = 120;

/// How many messages a greedy client gives in one tick: no more than wait for a budget without any being given up.
const GREEDY_MESSAGES: usize = 100;

/// How likely the first packets of a client of a wide seed are held up while it vanishes and connects anew.
const HELD_UP: f64 = 0.15;

/// They arrive when it has been connected again for fewer ticks than this.
const HELD_UP_TICKS_MAX: u64 = 30;

pub(crate) struct Client {
    pub(crate) host: Host,
    pub(crate) dialer: Dialer,
    pub(crate) wake: Time,
    pub(crate) session: Option<usize>,
    identity: u64,
    /// The last ticket that was given, and the one that was used last.
    ticket: Option<ClientToken>,
    used_ticket: Option<ClientToken>,
    dialed_at: Time,
    redial_at: Option<Time>,
    is_calm: bool,
    has_left: bool,
    random: Seeded,
    dice: Dice,
    burst_dice: Dice,
    /// What its dialer takes for the time.
    clock: HostClock,
    /// In wide seeds clients may vanish as soon as they are connected.
    wide_dice: Option<Dice>,
    habits: Option<Habits>,
    ticks_here: u32,
    datagram: Vec<u8>,
}

/// What clients of wide seeds do besides.
struct Habits {
    dice: Dice,
    /// It sends all that it may for so many ticks.
    greedy_ticks: u32,
    /// Whether the packets of its present session are held up.
    holds: bool,
    /// What was held up of the session before, and after how many ticks of the present one it arrives.
    held: Vec<Vec<u8>>,
    held_ticks: u32,
}

impl Habits {
    fn new(dice: Dice) -> Self {
        Self { dice, greedy_ticks: 0, holds: false, held: Vec::new(), held_ticks: 0 }
    }

    /// A session begins.
    fn begin(&mut self, identity: u64, ledger: &Ledger) {
        let [is_greedy, is_held_up] = [GREED, HELD_UP].map(|chance| self.dice.chance(chance));
        let held_ticks = self.dice.below(HELD_UP_TICKS_MAX) as u32;
        let (now, script) = (ledger.now, &ledger.script);
        let what = || format!("client {identity} sends all that it may");
        let is_greedy = is_greedy && script.allows("greed", now, what);
        self.greedy_ticks = if is_greedy { GREEDY_TICKS } else { 0 };
        let what =
            || format!("client {identity} vanishes, its packets come {held_ticks} ticks late");
        if is_held_up && self.held.is_empty() && script.allows("hold", now, what) {
            (self.holds, self.held_ticks) = (true, held_ticks);
        }
    }
}

/// What a client was told, as far as its session is concerned.
#[derive(Default)]
struct News {
    ended: Option<CloseReason>,
    denied: bool,
}

impl Client {
    pub(crate) fn new(options: &Options, host: Host, server: Peer, identity: u64) -> Self {
        let mut random = Seeded(Dice::new(options.seed, 100 + identity));
        let token = fresh_token(Time::ZERO, identity, &mut random);
        let dialer = Dialer::new(server, token, options.settings(), Time::ZERO, &mut random);
        Self {
            host,
            dialer,
            wake: Time::ZERO,
            session: None,
            identity,
            ticket: None,
            used_ticket: None,
            dialed_at: Time::ZERO,
            redial_at: None,
            is_calm: false,
            has_left: false,
            random,
            dice: Dice::new(options.seed, 200 + identity),
            burst_dice: Dice::new(options.seed, 300 + identity),
            clock: clock(options, identity),
            wide_dice: options.is_wide().then(|| Dice::new(options.seed, 500 + identity)),
            habits: options.is_wide().then(|| Habits::new(Dice::new(options.seed, 600 + identity))),
            ticks_here: 0,
            datagram: Vec::new(),
        }
    }

    pub(crate) fn receive(&mut self, ledger: &mut Ledger, network: &mut Network) {
        let now = ledger.now;
        let mut datagram = std::mem::take(&mut self.datagram);
        while network.receive(now, self.host, &mut datagram).is_some() {
            let hash = ledger.arrives(Way::Down, &datagram);
            let before = self.dialer.packets_taken();
            let had_session = self.session.is_some();
            let mut news = News::default();
            let (session, ticket) = (&mut self.session, &mut self.ticket);
            let who = (self.identity, self.dialed_at);
            self.dialer.receive(self.clock.local(now), &mut datagram, &mut |event| {
                hear(event, who, session, ticket, &mut news, ledger);
            });
            let was_taken = self.dialer.packets_taken() > before;
            let here = self.session.filter(|_| self.dialer.is_connected());
            ledger.arrived((hash, Way::Down), was_taken, |session| here == Some(session));
            self.take_news(news, ledger);
            let has_begun = !had_session && self.session.is_some() && !self.is_calm;
            if let Some(habits) = self.habits.as_mut().filter(|_| has_begun) {
                habits.begin(self.identity, ledger);
            }
        }
        self.datagram = datagram;
        self.wake = self.clock.global(self.dialer.next_wake());
    }

    pub(crate) fn pump(
        &mut self,
        ledger: &mut Ledger,
        network: &mut Network,
        server: Peer,
        overheard: &mut impl FnMut(Peer, Peer, &[u8]),
    ) {
        let now = ledger.now;
        let local = self.clock.local(now);
        ledger.time_passes();
        let mut news = News::default();
        let (session, ticket) = (&mut self.session, &mut self.ticket);
        let who = (self.identity, self.dialed_at);
        self.dialer.advance(local, &mut |event| {
            hear(event, who, session, ticket, &mut news, ledger);
        });
        self.take_news(news, ledger);
        self.let_go(ledger, network, server, overheard);
        while let Some(bytes) = self.dialer.transmit(local) {
            self.datagram.clear();
            self.datagram.extend_from_slice(bytes);
            if let Some(last) = self.dialer.last_sealed()
                && let Some(session) = self.session
            {
                ledger.sealed(session, Way::Up, last, &self.datagram);
            }
            if let Some(habits) = self.habits.as_mut().filter(|habits| habits.holds) {
                habits.held.push(self.datagram.clone());
                continue;
            }
            overheard(network.address(self.host), server, &self.datagram);
            network.send(now, self.host, server, &self.datagram);
        }
        self.wake = self.clock.global(self.dialer.next_wake());
        if self.wake <= now {
            ledger.fail("30", "a dialer asks to be woken at once, again and again");
        }
    }

    /// What was held up of the session before goes on its way.
    fn let_go(
        &mut self,
        ledger: &Ledger,
        network: &mut Network,
        server: Peer,
        overheard: &mut impl FnMut(Peer, Peer, &[u8]),
    ) {
        let Some(habits) = &mut self.habits else { return };
        if habits.holds || self.ticks_here <= habits.held_ticks {
            return;
        }
        for datagram in habits.held.drain(..) {
            overheard(network.address(self.host), server, &datagram);
            network.send(ledger.now, self.host, server, &datagram);
        }
    }

    fn take_news(&mut self, news: News, ledger: &mut Ledger) {
        if news.denied && self.is_calm {
            ledger.fail("32", "a client was denied on a good network");
        }
        let Some(reason) = news.ended else { return };
        if std::mem::replace(&mut self.has_left, true) {
            ledger.fail("35", "a client was told twice that it left");
        }
        match self.session {
            Some(session) => ledger.ended(session, Way::Down, reason),
            None if self.is_calm => ledger.fail("32", "a client could not join a good network"),
            None => {}
        }
    }

    /// What the player does each tick.
    pub(crate) fn tick(
        &mut self,
        options: &Options,
        ledger: &mut Ledger,
        sends: Sends,
        server: Peer,
    ) {
        let now = ledger.now;
        let join_max = Span::millis(options.delay_ms) * 6 + Span::seconds(1);
        if self.is_calm && !self.dialer.is_connected() && now - self.dialed_at > join_max {
            ledger.fail("32", format!("a client has been joining since {}", self.dialed_at));
        }
        if self.dialer.is_over() {
            // Now and then longer than an ended connection is remembered.
            let pause_max = if self.dice.chance(0.2) { 4_500 } else { 1_000 };
            let pause = Span::millis(self.dice.below(pause_max));
            if now >= *self.redial_at.get_or_insert(now + pause) {
                self.dial(options, ledger, server);
            }
            return;
        }
        let Some(session) = self.session.filter(|_| self.dialer.is_connected()) else { return };
        for _ in 0..options.messages(sends, &mut self.burst_dice) {
            self.send(options, ledger, sends, session);
        }
        if options.clients_leave && !self.is_calm && self.dice.chance(1.0 / 600.0) {
            let says_goodbye = self.dice.chance(0.5);
            let how = if says_goodbye { "leaves" } else { "vanishes" };
            if !ledger.script.allows("leave", now, || format!("client {} {how}", self.identity)) {
                return;
            }
            ledger.sessions[session].cause = Some("the client left");
            if says_goodbye {
                self.dialer.close(self.clock.local(now), CloseReason::Left);
                self.wake = now;
            } else {
                // It vanishes without a word and comes back as if it had been restarted.
                self.dial(options, ledger, server);
            }
            return;
        }
        self.ticks_here += 1;
        if self.is_calm {
            return;
        }
        if self.habits.as_ref().is_some_and(|habits| self.ticks_here <= habits.greedy_ticks) {
            self.send_all(ledger, session);
        }
        let is_new = self.ticks_here == 2;
        let is_hasty = is_new && self.wide_dice.as_mut().is_some_and(|dice| dice.chance(0.3));
        let what = || format!("client {} vanishes at once", self.identity);
        let is_hasty = is_hasty && ledger.script.allows("leave", now, what);
        let is_held_up = self.habits.as_ref().is_some_and(|habits| habits.holds);
        if is_hasty || is_new && is_held_up {
            // Its first packets may still be under way: they are of an attempt that it has given up.
            ledger.sessions[session].cause = Some("the client left");
            self.dial(options, ledger, server);
        }
    }

    fn send(&mut self, options: &Options, ledger: &mut Ledger, sends: Sends, session: usize) {
        let is_due = self.dice.chance(sends.reliable_chance);
        let backlog = self.dialer.backlog_bytes();
        if sends.reliables && is_due && backlog < options.backlog_bytes_max() {
            let head = ledger.next_reliable(session, Way::Up);
            if self.dialer.send_reliable(ledger.content.message(head)).is_ok() {
                ledger.reliable_sent(session, Way::Up);
            }
        }
        let budget = self.dialer.budget_bytes(self.clock.local(ledger.now));
        if sends.unreliables && (!options.asks_budget || budget >= 400) {
            let head = ledger.next_unreliable(session, Way::Up);
            self.dialer.send_unreliable(head.counter, ledger.content.message(head));
        }
        self.wake = self.wake.min(ledger.now);
    }

    /// Sends as much as the budget allows.
    fn send_all(&mut self, ledger: &mut Ledger, session: usize) {
        for _ in 0..GREEDY_MESSAGES {
            if self.dialer.budget_bytes(self.clock.local(ledger.now)) < 400 {
                break;
            }
            let head = ledger.next_unreliable(session, Way::Up);
            self.dialer.send_unreliable(head.counter, ledger.content.message(head));
        }
        self.wake = self.wake.min(ledger.now);
    }

    /// Faults are over: who is not here begins anew.
    pub(crate) fn calm_down(&mut self, options: &Options, ledger: &mut Ledger, server: Peer) {
        self.is_calm = true;
        if let Some(habits) = &mut self.habits {
            // What is held up is lost.
            (habits.greedy_ticks, habits.holds) = (0, false);
            habits.held.clear();
        }
        // The other end may have given up on it, or be about to.
        let is_silent = |session: usize| {
            let silence = ledger.silence(session, Way::Up).max(ledger.silence(session, Way::Down));
            options.is_wide() && silence > LONG_SILENCE
        };
        if let Some(session) = self.session.filter(|session| is_silent(*session)) {
            ledger.sessions[session].cause.get_or_insert("the client left");
        }
        let is_leaving = |session: usize| ledger.sessions[session].cause.is_some();
        if !self.dialer.is_connected() || self.session.is_some_and(is_leaving) {
            self.ticket = None;
            self.dial(options, ledger, server);
        }
    }

    pub(crate) fn check(&self, ledger: &Ledger) {
        let held = self.dialer.memory_bytes();
        if held > CHANNEL_MEMORY_BYTES_MAX + 4096 {
            ledger.fail("28", format!("a client's connection holds {held} bytes"));
        }
        if self.dialer.statistics().is_some_and(|statistics| !statistics.adds_up()) {
            ledger.fail("31", "a client's packets do not add up");
        }
    }

    /// After the calm the server has said of every reliable message that it came.
    pub(crate) fn check_acknowledged(&self, ledger: &Ledger) {
        let waiting = self.dialer.backlog_bytes();
        if waiting > 0 {
            ledger.fail("33", format!("a client has {waiting} bytes not acknowledged"));
        }
    }

    fn dial(&mut self, options: &Options, ledger: &mut Ledger, server: Peer) {
        let now = ledger.now;
        let again = self.used_ticket.clone().filter(|_| self.dice.chance(0.2) && !self.is_calm);
        let ticket = self.ticket.take().filter(|_| self.dice.chance(0.6));
        let token = match again.or(ticket) {
            Some(ticket) => {
                self.used_ticket = Some(ticket.clone());
                ticket
            }
            None => fresh_token(now, self.identity, &mut self.random),
        };
        let local = self.clock.local(now);
        self.dialer = Dialer::new(server, token, options.settings(), local, &mut self.random);
        (self.session, self.redial_at, self.has_left) = (None, None, false);
        (self.dialed_at, self.wake, self.ticks_here) = (now, now, 0);
        if let Some(habits) = &mut self.habits {
            (habits.greedy_ticks, habits.holds) = (0, false);
        }
    }
}

/// Right at the start, then fast or slow.
fn clock(options: &Options, identity: u64) -> HostClock {
    let max = options.drift_ppm_max;
    let drift = Dice::new(options.seed, 400 + identity).below(2 * max + 1);
    HostClock { drift_ppm: drift as i32 - max as i32, offset_micros: 0 }
}

fn hear(
    event: DialerEvent<'_>,
    (identity, dialed_at): (u64, Time),
    session: &mut Option<usize>,
    ticket: &mut Option<ClientToken>,
    news: &mut News,
    ledger: &mut Ledger,
) {
    match event {
        DialerEvent::Connected { connection, resume, .. } => {
            *ticket = Some(resume.clone());
            *session = Some(ledger.begin_session(connection, identity, false, dialed_at));
        }
        DialerEvent::Denied(_) => news.denied = true,
        DialerEvent::Message(event) => match *session {
            Some(session) => ledger.told(session, Way::Down, event),
            None => ledger.fail("24", "a message came before there was a session"),
        },
        DialerEvent::Left(reason) => {
            if news.ended.replace(reason).is_some() {
                ledger.fail("35", "a client was told twice that it left");
            }
        }
    }
}

pub(crate) fn fresh_token(now: Time, client_id: u64, random: &mut Seeded) -> ClientToken {
    let issuer = TokenIssuer::new(TOKEN_KEY, PROTOCOL);
    let grant = Grant { client_id, ..Grant::default() };
    let unix_seconds = UNIX_SECONDS + now.as_micros() / 1_000_000;
    issuer.issue(&grant, unix_seconds, random).expect("a small grant")
}
