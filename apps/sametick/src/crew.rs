//! Many headless players in one process, on a few threads: each a real client on a socket of its own.

mod crowd;
mod name;
pub(crate) mod player;
pub(crate) mod skill;
pub(crate) mod tally;

use crate::content::Shelf;
use crate::stop::Stop;
use crate::tokens;
use anyhow::Context;
use player::{Player, Start};
use sametick::codec::compact::Tables;
use sametick::network::Conditions;
use sametick::secure::{SystemRandom, TokenKey};
use sametick::{Span, Time, View};
use sametick_arena::bot::Skill;
use sametick_links::{Clock, Conditioned, UdpLink, conditioner::Direction, peer_at};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tally::{Summary, Tally};

/// More would wait for each other on the processors that most machines have.
const THREADS_MAX: usize = 4;
/// Players knock one after the other, lest a server take them for a flood.
const KNOCK_EVERY: Span = Span::millis(5);
/// How long a server may take to answer.
const PATIENCE: Span = Span::seconds(5);
/// A thread looks after all of its players at least this often.
const LOOKS_EVERY: Span = Span::millis(1);
/// How long one waits for one's own goodbye to be sent.
const GOODBYE: Span = Span::millis(400);

/// Who plays, where, and over which line.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) server: SocketAddr,
    /// One player each.
    pub(crate) client_ids: Vec<u64>,
    pub(crate) key: Option<TokenKey>,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) view: View,
    pub(crate) skill: Skill,
    pub(crate) seed: u64,
    /// To the server, and from it.
    pub(crate) conditions: [Conditions; 2],
    pub(crate) plays_for: Option<Span>,
    /// For a server that sends compact snapshots, and whether it is let.
    pub(crate) tables: Option<Arc<Tables>>,
    pub(crate) reads_compact: bool,
    /// Whether nobody plays unless all snapshots are.
    pub(crate) needs_compact: bool,
}

impl Crew {
    /// Plays until the time is over, the end is asked for, or everyone is gone.
    pub(crate) fn play(&self, stop: &Stop) -> anyhow::Result<Summary> {
        let clock = Clock::start();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = processors.min(THREADS_MAX).clamp(1, self.client_ids.len().max(1));
        let tallies = std::thread::scope(|scope| {
            let play = |first| {
                let (crew, clock, stop) = (&*self, &clock, &stop);
                scope.spawn(move || crew.play_some(first, threads, clock, stop))
            };
            let handles: Vec<_> = (0..threads).map(play).collect();
            let joined = handles.into_iter().map(|handle| handle.join().expect("no player panics"));
            joined.collect::<anyhow::Result<Vec<Vec<Tally>>>>()
        })?;
        let seconds = clock.now().as_seconds_f64();
        Ok(Summary { asked: self.client_ids.len(), seconds, tallies: tallies.concat() })
    }

    /// Every n-th player, from the first on.
    fn play_some(
        &self,
        first: usize,
        every: usize,
        clock: &Clock,
        stop: &Stop,
    ) -> anyhow::Result<Vec<Tally>> {
        let mut coming = (first..self.client_ids.len()).step_by(every).peekable();
        let mut players: Vec<Player> = Vec::new();
        let (mut end, mut turn) = (Time::MAX, 0);
        loop {
            let now = clock.now();
            while let Some(index) = coming.next_if(|index| now >= knocks_at(*index)) {
                players.push(self.begin(index, now)?);
            }
            players.iter_mut().for_each(|player| player.drive(now, &self.shelf));
            let is_settled = coming.peek().is_none() && players.iter().all(Player::is_settled);
            // The time of play begins when everyone knows whether it plays.
            if end == Time::MAX
                && (is_settled || now >= knocks_at(self.client_ids.len()) + PATIENCE)
            {
                end = self.plays_for.map_or(Time::MAX, |span| now + span);
            }
            let is_empty = coming.peek().is_none() && players.iter().all(Player::is_over);
            let is_hopeless = end != Time::MAX && players.iter().all(|player| !player.has_joined());
            let is_refused = self.needs_compact && players.iter().any(Player::is_told_plainly);
            if now >= end || stop.is_asked() || is_empty || is_hopeless || is_refused {
                break;
            }
            let knock = coming.peek().map_or(Time::MAX, |index| knocks_at(*index));
            let wake = players.iter().map(Player::next_wake).fold(end.min(knock), Time::min);
            // One socket can be slept on; with many, the others are looked after often enough.
            let alone = players.len() == 1 && coming.peek().is_none();
            let until = if alone { wake } else { wake.min(now + LOOKS_EVERY) };
            turn += 1;
            let count = players.len().max(1);
            match players.get_mut(turn % count) {
                Some(player) => player.wait(clock, until.min(now + Span::millis(50))),
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
        Ok(farewell(players, clock, &self.shelf))
    }

    /// A player's line to the server.
    fn link(&self, index: usize) -> anyhow::Result<Conditioned<UdpLink>> {
        let here: IpAddr = match self.server {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0_u16; 8].into(),
        };
        let link = UdpLink::bind(SocketAddr::new(here, 0))
            .with_context(|| format!("the system gives no socket to player {}", index + 1))?;
        let seed = self.seed.wrapping_add(index as u64);
        let mut link = Conditioned::new(link, seed);
        // Looking again and again for the sake of microseconds would keep the others waiting.
        link.set_spin(Span::ZERO);
        let [to, from] = self.conditions.clone();
        link.set_conditions(Direction::Outbound, to);
        link.set_conditions(Direction::Inbound, from);
        Ok(link)
    }

    fn begin(&self, index: usize, now: Time) -> anyhow::Result<Player> {
        let link = self.link(index)?;
        let random = &mut SystemRandom::new();
        let start = Start {
            server: peer_at(self.server),
            token: tokens::token(self.key.as_ref(), self.client_ids[index], random),
            ground: Arc::clone(self.shelf.first()),
            view: self.view,
            link,
            skill: self.skill,
            seed: self.seed,
            index,
            tables: self.tables.clone(),
            reads_compact: self.reads_compact,
        };
        Ok(Player::new(start, now, random))
    }
}

fn knocks_at(index: usize) -> Time {
    Time::ZERO + KNOCK_EVERY * index as u64
}

/// Everyone says goodbye and waits until that is sent.
fn farewell(mut players: Vec<Player>, clock: &Clock, shelf: &Shelf) -> Vec<Tally> {
    let now = clock.now();
    let tallies = players.iter_mut().map(|player| player.tally(now)).collect();
    players.retain(|player| !player.is_over());
    players.iter_mut().for_each(|player| player.leave(now));
    while clock.now() < now + GOODBYE && players.iter().any(|player| !player.is_over()) {
        let now = clock.now();
        players.iter_mut().for_each(|player| player.drive(now, shelf));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    tallies
}

/// Identities nobody else has.
pub(crate) fn client_ids(count: usize) -> Vec<u64> {
    use sametick::secure::Random;
    let draw = || {
        let mut bytes = [0; 8];
        SystemRandom::new().fill(&mut bytes);
        u64::from_le_bytes(bytes)
    };
    (0..count).map(|_| draw()).collect()
}
