//! What carries a trial with people in it: the table's doors, with a bad network in front of them, and a socket for
//! each bot.

use crate::address;
use sametick::network::Conditions;
use sametick::secure::TlsSession;
use sametick::{Peer, Span, Time};
use sametick_lab::Carrier;
use sametick_links::conditioner::Direction;
use sametick_links::{Both, Clock, Conditioned, Link, UdpLink, address_of, peer_at};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;

/// How long is slept at most before bots' sockets are looked at.
const LOOKS_EVERY: Span = Span::millis(1);
/// The most datagrams that wait to be read at one socket.
const WAITING_MAX: usize = 4_096;

/// A table's doors, which outlast its trials: whoever plays one takes them and brings them back.
pub(super) type Doors = Rc<RefCell<Option<Both>>>;

/// What came, with the moment at which it was found.
type Inbox = VecDeque<(Time, Peer, Vec<u8>)>;

pub(super) struct TableCarrier {
    clock: Clock,
    doors: Doors,
    /// Always there until it is brought back.
    link: Option<Conditioned<Both>>,
    server: Peer,
    /// By player from 1: a bot's socket, or where a person is, once that is known.
    players: Vec<Player>,
    inbox: Inbox,
}

enum Player {
    Bot(Box<Conditioned<UdpLink>>, Inbox),
    Person(Option<Peer>),
}

impl TableCarrier {
    /// For so many players, of whom those at `people`, counted from 1, are elsewhere.
    pub(super) fn open(
        doors: &Doors,
        players: usize,
        people: &[usize],
        seed: u64,
    ) -> Result<Self, String> {
        let both = doors.borrow_mut().take().ok_or("the table is taken")?;
        let here = address::nearby(address_of(both.local()));
        let seat = |player: usize| -> Result<Player, String> {
            if people.contains(&player) {
                return Ok(Player::Person(None));
            }
            let link = UdpLink::bind(SocketAddr::new(here.ip(), 0))
                .map_err(|error| format!("the system gives no socket to a bot: {error}"))?;
            let mut link = Conditioned::new(link, seed.wrapping_add(player as u64));
            link.set_spin(Span::ZERO);
            Ok(Player::Bot(Box::new(link), VecDeque::new()))
        };
        let players = (1..=players).map(seat).collect();
        let players = match players {
            Ok(players) => players,
            Err(what) => {
                doors.replace(Some(both));
                return Err(what);
            }
        };
        let mut link = Conditioned::new(both, seed);
        link.set_spin(Span::ZERO);
        Ok(Self {
            clock: Clock::start(),
            doors: Rc::clone(doors),
            link: Some(link),
            server: peer_at(here),
            players,
            inbox: VecDeque::new(),
        })
    }

    fn look(&mut self) {
        let mut datagram = Vec::new();
        let mut take = |now: Time, link: &mut dyn Link, inbox: &mut Inbox| {
            link.flush(now);
            while inbox.len() < WAITING_MAX
                && let Some(from) = link.receive(now, &mut datagram)
            {
                inbox.push_back((now, from, datagram.clone()));
            }
        };
        if let Some(link) = &mut self.link {
            take(self.clock.now(), link, &mut self.inbox);
        }
        for player in &mut self.players {
            if let Player::Bot(link, inbox) = player {
                take(self.clock.now(), &mut **link, inbox);
            }
        }
    }

    fn has_any(&self) -> bool {
        let is_waiting =
            |player: &Player| matches!(player, Player::Bot(_, inbox) if !inbox.is_empty());
        !self.inbox.is_empty() || self.players.iter().any(is_waiting)
    }
}

impl Carrier for TableCarrier {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn wait(&mut self, until: Time) {
        let has_bots = self.players.iter().any(|player| matches!(player, Player::Bot(..)));
        loop {
            self.look();
            let now = self.clock.now();
            if now >= until || self.has_any() {
                return;
            }
            let nap = if has_bots { until.min(now + LOOKS_EVERY) } else { until };
            match &mut self.link {
                Some(link) => link.wait(&self.clock, nap),
                None => return,
            }
        }
    }

    fn address(&self, host: usize) -> Peer {
        match host.checked_sub(1).and_then(|player| self.players.get(player)) {
            None => self.server,
            Some(Player::Bot(link, _)) => link.local(),
            Some(Player::Person(at)) => at.unwrap_or(peer_at(SocketAddr::from(([0; 4], 0)))),
        }
    }

    fn send(&mut self, from: usize, to: Peer, bytes: &[u8]) {
        let now = self.clock.now();
        if from == 0 {
            self.link.iter_mut().for_each(|link| link.send(now, to, bytes));
        } else if let Some(Player::Bot(link, _)) = self.players.get_mut(from - 1) {
            link.send(now, to, bytes);
        }
    }

    fn receive(&mut self, host: usize, into: &mut Vec<u8>) -> Option<Peer> {
        let inbox = match host {
            0 => &mut self.inbox,
            host => match self.players.get_mut(host - 1)? {
                Player::Bot(_, inbox) => inbox,
                Player::Person(_) => return None,
            },
        };
        let (_, from, datagram) = inbox.pop_front()?;
        *into = datagram;
        Some(from)
    }

    fn next_arrival(&self, host: usize) -> Option<Time> {
        let inbox = match host {
            0 => &self.inbox,
            host => match self.players.get(host - 1)? {
                Player::Bot(_, inbox) => inbox,
                Player::Person(_) => return None,
            },
        };
        inbox.front().map(|(at, _, _)| *at)
    }

    fn set_conditions(&mut self, from: usize, to: usize, conditions: Conditions) {
        let (now, is_up) = (self.clock.now(), to == 0);
        let Some(player) = self.players.get_mut(from.max(to).wrapping_sub(1)) else { return };
        let Some(link) = &mut self.link else { return };
        match player {
            Player::Bot(bot, _) if is_up => bot.set_conditions(Direction::Outbound, conditions),
            Player::Bot(bot, _) => {
                link.set_conditions_of(now, bot.local(), Direction::Outbound, conditions);
            }
            Player::Person(Some(peer)) => {
                let way = if is_up { Direction::Inbound } else { Direction::Outbound };
                link.set_conditions_of(now, *peer, way, conditions);
            }
            // It gets them when it is known where it is.
            Player::Person(None) => {}
        }
    }

    fn set_address(&mut self, host: usize, at: Peer) {
        let Some(Player::Person(place)) = self.players.get_mut(host.wrapping_sub(1)) else {
            return;
        };
        let before = place.replace(at);
        if let (Some(link), Some(before)) = (&mut self.link, before.filter(|before| *before != at))
        {
            link.unset_conditions_of(before, Direction::Inbound);
            link.unset_conditions_of(before, Direction::Outbound);
        }
    }

    fn session(&self, peer: Peer) -> Option<TlsSession> {
        self.link.as_ref()?.session(peer)
    }

    fn departed(&mut self) -> Option<Peer> {
        self.link.as_mut()?.departed().map(|departure| departure.peer)
    }
}

impl Drop for TableCarrier {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            self.doors.replace(Some(link.into_link()));
        }
    }
}
