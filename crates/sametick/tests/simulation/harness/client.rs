//! An honest client of a run: joins, talks, leaves or vanishes, and comes back.

use super::content::Way;
use super::ledger::Ledger;
use super::options::Options;
use super::server::Sends;
use super::{PROTOCOL, Seeded, TOKEN_KEY, UNIX_SECONDS};
use sametick::channel::{CHANNEL_MEMORY_BYTES_MAX, CloseReason};
use sametick::endpoint::{Dialer, DialerEvent};
use sametick::network::{Host, Network};
use sametick::secure::{ClientToken, Grant, TokenIssuer};
use sametick::{Dice, Peer, Span, Time};

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
    datagram: Vec<u8>,
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
            datagram: Vec::new(),
        }
    }

    pub(crate) fn receive(&mut self, ledger: &mut Ledger, network: &mut Network) {
        let now = ledger.now;
        let mut datagram = std::mem::take(&mut self.datagram);
        while network.receive(now, self.host, &mut datagram).is_some() {
            let hash = ledger.arrives(Way::Down, &datagram);
            let before = self.dialer.packets_taken();
            let mut news = News::default();
            let (session, ticket) = (&mut self.session, &mut self.ticket);
            let who = (self.identity, self.dialed_at);
            self.dialer.receive(now, &mut datagram, &mut |event| {
                hear(event, who, session, ticket, &mut news, ledger);
            });
            let was_taken = self.dialer.packets_taken() > before;
            let here = self.session.filter(|_| self.dialer.is_connected());
            ledger.arrived((hash, Way::Down), was_taken, |session| here == Some(session));
            self.take_news(news, ledger);
        }
        self.datagram = datagram;
        self.wake = self.dialer.next_wake();
    }

    pub(crate) fn pump(
        &mut self,
        ledger: &mut Ledger,
        network: &mut Network,
        server: Peer,
        overheard: &mut impl FnMut(Peer, Peer, &[u8]),
    ) {
        let now = ledger.now;
        ledger.time_passes();
        let mut news = News::default();
        let (session, ticket) = (&mut self.session, &mut self.ticket);
        let who = (self.identity, self.dialed_at);
        self.dialer.advance(now, &mut |event| {
            hear(event, who, session, ticket, &mut news, ledger);
        });
        self.take_news(news, ledger);
        while let Some(bytes) = self.dialer.transmit(now) {
            self.datagram.clear();
            self.datagram.extend_from_slice(bytes);
            if let Some(last) = self.dialer.last_sealed()
                && let Some(session) = self.session
            {
                ledger.sealed(session, Way::Up, last, &self.datagram);
            }
            overheard(network.address(self.host), server, &self.datagram);
            network.send(now, self.host, server, &self.datagram);
        }
        self.wake = self.dialer.next_wake();
        if self.wake <= now {
            ledger.fail("30", "a dialer asks to be woken at once, again and again");
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
            Some(session) => ledger.ended(session, "the client's end", reason),
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
        self.send(options, ledger, sends, session);
        if options.clients_leave && !self.is_calm && self.dice.chance(1.0 / 600.0) {
            ledger.sessions[session].cause = Some("the client left");
            if self.dice.chance(0.5) {
                self.dialer.close(now, CloseReason::Left);
                self.wake = now;
            } else {
                // It vanishes without a word and comes back as if it had been restarted.
                self.dial(options, ledger, server);
            }
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
        let budget = self.dialer.budget_bytes(ledger.now);
        if sends.unreliables && (!options.asks_budget || budget >= 400) {
            let head = ledger.next_unreliable(session, Way::Up);
            self.dialer.send_unreliable(head.counter, ledger.content.message(head));
        }
        self.wake = self.wake.min(ledger.now);
    }

    /// Faults are over: who is not here begins anew.
    pub(crate) fn calm_down(&mut self, options: &Options, ledger: &mut Ledger, server: Peer) {
        self.is_calm = true;
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
        self.dialer = Dialer::new(server, token, options.settings(), now, &mut self.random);
        (self.session, self.redial_at, self.has_left) = (None, None, false);
        (self.dialed_at, self.wake) = (now, now);
    }
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
