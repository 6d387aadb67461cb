//! `Conditioned`: a bad network in real time, over any link. What happens to a datagram is decided
//! by the library's simulated network; here it is let go at its moment and at no other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sametick::network::{Conditions, Pipe, Statistics, Transit};
use sametick::secure::TlsSession;
use sametick::{Dice, Peer, Span, Time};

use crate::clock::Clock;
use crate::link::{Departure, Link, assert_fits};

/// The most peers that are told apart. A newcomer takes the place of one with nothing under way and
/// no conditions of its own; if there is none, its datagrams are dropped.
pub const PEERS_MAX: usize = 1_024;
/// The most datagrams under way at once, of all peers and both directions.
pub const HELD_MAX: u64 = 1 << 16;
/// How long before a datagram's moment sleeping turns into looking again and again, if nothing else
/// is said. Systems wake a sleeper about that much late.
pub const SPIN: Span = Span::micros(100);

/// How many datagrams are taken from the link beneath in one go, lest a flood of them delay what is
/// due.
const INTAKE_MAX: usize = 256;
/// What can become of one datagram: itself and a copy.
const COPIES_MAX: u64 = 2;

/// A link with a bad network in front of it: every datagram is lost, damaged, doubled and delayed as
/// the conditions of its peer and direction say.
///
/// It adds what was asked and nothing else, provided that its owner spends the time between two
/// deadlines in [`Link::wait`]: there each datagram is let go at its moment. Who sleeps elsewhere
/// makes datagrams late, and [`Conditioned::statistics`] says by how much.
///
/// The chance of the n-th peer to appear follows from the seed and n alone, not from its address,
/// which the system draws anew each time.
///
/// ```
/// use sametick::Span;
/// use sametick::network::Conditions;
/// use sametick_links::conditioner::Direction;
/// use sametick_links::{Clock, Conditioned, Link, UdpLink};
///
/// let clock = Clock::start();
/// let mut server = UdpLink::bind("127.0.0.1:0".parse()?)?;
/// let mut client = Conditioned::new(UdpLink::bind("127.0.0.1:0".parse()?)?, 7);
/// let conditions = Conditions { delay: Span::millis(20), ..Conditions::PERFECT };
/// client.set_conditions(Direction::Outbound, conditions);
///
/// let sent = clock.now();
/// client.send(sent, server.local(), b"slow");
/// client.wait(&clock, sent + Span::millis(40));
///
/// server.wait(&clock, clock.now() + Span::seconds(5));
/// let mut datagram = Vec::new();
/// assert_eq!(server.receive(clock.now(), &mut datagram), Some(client.local()));
/// assert!(clock.now() - sent >= Span::millis(20));
/// assert_eq!(client.statistics().outbound.asked_mean(), Span::millis(20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Conditioned<L> {
    link: L,
    seed: u64,
    spin: Span,
    defaults: [Conditions; 2],
    peers: BTreeMap<Peer, Pipes>,
    /// How many peers have appeared so far.
    appeared: u64,
    /// When the next datagram of each pipe is due, by direction; pipes with nothing under way are
    /// left out.
    due: [BTreeSet<(Time, Peer)>; 2],
    held: u64,
    /// Departures whose last datagrams are still under way.
    leaving: VecDeque<Departure>,
    /// Whom the owner has forgotten while datagrams to them were still under way.
    forgotten: BTreeSet<Peer>,
    log: Log,
    statistics: ConditionerStatistics,
    scratch: Vec<u8>,
}

/// Which way a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To the peer.
    Outbound,
    /// From the peer.
    Inbound,
}

/// What the conditioner did so far. What became of a peer's datagrams is in
/// [`Conditioned::statistics_of`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConditionerStatistics {
    /// Delays of datagrams to peers.
    pub outbound: Timing,
    /// Delays of datagrams from peers.
    pub inbound: Timing,
    /// Datagrams that were dropped because too many peers or datagrams were under way.
    pub overflow: u64,
    /// Departures that were not passed on because there were too many.
    pub departures_forgotten: u64,
    /// Passages that found no place in the log.
    pub unlogged: u64,
}

/// What was asked of one direction and what was achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Datagrams and copies that were let go.
    pub released: u64,
    /// The sum of the delays that were asked for.
    pub asked: Span,
    /// The sum of the delays that they had.
    pub achieved: Span,
    /// The most that one was late.
    pub late_max: Span,
}

/// One datagram's way through the conditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Whom it went to or came from.
    pub peer: Peer,
    /// Which way it went.
    pub direction: Direction,
    /// When it came in.
    pub entered: Time,
    /// When it was to be let go.
    pub due: Time,
    /// When it was.
    pub released: Time,
}

/// The two directions of one peer.
#[derive(Debug)]
struct Pipes {
    pipes: [Pipe; 2],
    /// Whether a direction has conditions of its own.
    is_own: [bool; 2],
    last_used: Time,
}

#[derive(Debug, Default)]
struct Log {
    passages: Vec<Passage>,
    passages_max: usize,
}

impl<L: Link> Conditioned<L> {
    /// A link that passes everything at once, unharmed, until told otherwise.
    pub fn new(link: L, seed: u64) -> Self {
        Self {
            link,
            seed,
            spin: SPIN,
            defaults: [Conditions::PERFECT, Conditions::PERFECT],
            peers: BTreeMap::new(),
            appeared: 0,
            due: [BTreeSet::new(), BTreeSet::new()],
            held: 0,
            leaving: VecDeque::new(),
            forgotten: BTreeSet::new(),
            log: Log::default(),
            statistics: ConditionerStatistics::default(),
            scratch: Vec::new(),
        }
    }

    /// Changes one direction of all peers that have no conditions of their own, now and later.
    /// Datagrams under way keep their fate.
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn set_conditions(&mut self, direction: Direction, conditions: Conditions) {
        let way = direction as usize;
        assert_possible(&conditions);
        for pipes in self.peers.values_mut().filter(|pipes| !pipes.is_own[way]) {
            pipes.pipes[way].set_conditions(conditions.clone());
        }
        self.defaults[way] = conditions;
    }

    /// Gives one direction of one peer conditions of its own. Datagrams under way keep their fate.
    /// False if there are too many peers.
    ///
    /// # Panics
    /// If the conditions are impossible: [`Conditions::check`] says so beforehand.
    pub fn set_conditions_of(
        &mut self,
        now: Time,
        peer: Peer,
        direction: Direction,
        conditions: Conditions,
    ) -> bool {
        assert_possible(&conditions);
        let Some(pipes) = self.pipes(now, peer) else { return false };
        pipes.is_own[direction as usize] = true;
        pipes.pipes[direction as usize].set_conditions(conditions);
        true
    }

    /// Gives one direction of one peer the conditions that all have.
    pub fn unset_conditions_of(&mut self, peer: Peer, direction: Direction) {
        let (way, defaults) = (direction as usize, &self.defaults);
        if let Some(pipes) = self.peers.get_mut(&peer) {
            pipes.is_own[way] = false;
            pipes.pipes[way].set_conditions(defaults[way].clone());
        }
    }

    /// The conditions of datagrams to come.
    pub fn conditions(&self, peer: Peer, direction: Direction) -> &Conditions {
        let way = direction as usize;
        self.peers.get(&peer).map_or(&self.defaults[way], |pipes| pipes.pipes[way].conditions())
    }

    /// How long before a datagram's moment sleeping turns into looking again and again: more costs
    /// processor time, less costs precision.
    pub fn set_spin(&mut self, spin: Span) {
        self.spin = spin;
    }

    /// Writes down the way of each datagram from now on, at most so many until they are taken.
    pub fn keep_log(&mut self, passages_max: usize) {
        self.log.passages_max = passages_max;
    }

    /// Takes out what was written down, in the order in which datagrams were let go.
    pub fn take_log(&mut self) -> Vec<Passage> {
        std::mem::take(&mut self.log.passages)
    }

    /// What was done so far.
    pub fn statistics(&self) -> ConditionerStatistics {
        self.statistics
    }

    /// What became of one peer's datagrams, if it is known.
    pub fn statistics_of(&self, peer: Peer, direction: Direction) -> Option<&Statistics> {
        self.peers.get(&peer).map(|pipes| pipes.pipes[direction as usize].statistics())
    }

    /// The link beneath.
    pub fn link(&self) -> &L {
        &self.link
    }

    /// The link beneath, and nothing of what is under way.
    pub fn into_link(self) -> L {
        self.link
    }

    /// The pipes of a peer, if there is room for them.
    fn pipes(&mut self, now: Time, peer: Peer) -> Option<&mut Pipes> {
        if !self.peers.contains_key(&peer) {
            if self.peers.len() == PEERS_MAX {
                self.forget_idle()?;
            }
            let mut dice = Dice::new(self.seed, self.appeared);
            self.appeared += 1;
            let pipes = Pipes {
                pipes: self.defaults.each_ref().map(|it| Pipe::new(dice.roll_u64(), it.clone())),
                is_own: [false; 2],
                last_used: now,
            };
            self.peers.insert(peer, pipes);
        }
        let pipes = self.peers.get_mut(&peer)?;
        pipes.last_used = now;
        Some(pipes)
    }

    /// Forgets whoever was quiet longest.
    fn forget_idle(&mut self) -> Option<()> {
        let idle = self.peers.iter().filter(|(_, pipes)| pipes.is_idle());
        let (peer, _) = idle.min_by_key(|(_, pipes)| pipes.last_used)?;
        let peer = *peer;
        self.peers.remove(&peer);
        Some(())
    }

    /// Sends a datagram into its pipe.
    fn enter(&mut self, now: Time, peer: Peer, direction: Direction, datagram: &[u8]) {
        let way = direction as usize;
        if self.held + COPIES_MAX > HELD_MAX {
            self.statistics.overflow += 1;
            return;
        }
        let Some(pipes) = self.pipes(now, peer) else {
            self.statistics.overflow += 1;
            return;
        };
        let pipe = &mut pipes.pipes[way];
        let (held, due) = (pipe.statistics().in_flight, pipe.next_wake());
        pipe.push(now, datagram);
        let (held_now, due_now) = (pipe.statistics().in_flight, pipe.next_wake());
        self.held += held_now - held;
        self.reschedule(way, peer, due, due_now);
    }

    /// Takes out the first datagram of a direction that is due.
    fn leave(&mut self, now: Time, direction: Direction, into: &mut Vec<u8>) -> Option<Peer> {
        let way = direction as usize;
        let (due, peer) = *self.due[way].first().filter(|(due, _)| *due <= now)?;
        let pipe = &mut self.peers.get_mut(&peer)?.pipes[way];
        let transit = pipe.pop_transit(now, into)?;
        let due_next = pipe.next_wake();
        self.held -= 1;
        self.reschedule(way, peer, Some(due), due_next);
        self.record(now, peer, direction, transit);
        Some(peer)
    }

    fn reschedule(&mut self, way: usize, peer: Peer, before: Option<Time>, after: Option<Time>) {
        if before == after {
            return;
        }
        if let Some(due) = before {
            self.due[way].remove(&(due, peer));
        }
        if let Some(due) = after {
            self.due[way].insert((due, peer));
        }
    }

    fn record(&mut self, now: Time, peer: Peer, direction: Direction, transit: Transit) {
        let Transit { entered, arrival: due } = transit;
        let timing = match direction {
            Direction::Outbound => &mut self.statistics.outbound,
            Direction::Inbound => &mut self.statistics.inbound,
        };
        timing.released += 1;
        timing.asked += due - entered;
        timing.achieved += now - entered;
        timing.late_max = timing.late_max.max(now - due);
        if self.log.passages.len() < self.log.passages_max {
            self.log.passages.push(Passage { peer, direction, entered, due, released: now });
        } else if self.log.passages_max > 0 {
            self.statistics.unlogged += 1;
        }
    }

    /// Sends what is due to be sent.
    fn release(&mut self, now: Time) {
        let mut datagram = std::mem::take(&mut self.scratch);
        let mut is_any = false;
        while let Some(peer) = self.leave(now, Direction::Outbound, &mut datagram) {
            self.link.send(now, peer, &datagram);
            is_any = true;
        }
        self.scratch = datagram;
        if is_any {
            self.link.flush(now);
            self.forget_served();
        }
    }

    /// Has the link forget whom the owner has forgotten, once they were sent everything.
    fn forget_served(&mut self) {
        let Self { forgotten, peers, link, .. } = self;
        let way = Direction::Outbound as usize;
        forgotten.retain(|peer| {
            let is_awaited =
                peers.get(peer).is_some_and(|pipes| pipes.pipes[way].next_wake().is_some());
            if !is_awaited {
                link.forget(*peer);
            }
            is_awaited
        });
    }

    /// Takes in what the link beneath has received: its delay begins now.
    fn take_in(&mut self, now: Time) {
        let mut datagram = std::mem::take(&mut self.scratch);
        for _ in 0..INTAKE_MAX {
            let Some(peer) = self.link.receive(now, &mut datagram) else { break };
            self.enter(now, peer, Direction::Inbound, &datagram);
        }
        self.scratch = datagram;
        while let Some(departure) = self.link.departed() {
            if self.leaving.len() == PEERS_MAX {
                self.leaving.pop_front();
                self.statistics.departures_forgotten += 1;
            }
            self.leaving.push_back(departure);
        }
    }

    fn next_due(&self, direction: Direction) -> Option<Time> {
        self.due[direction as usize].first().map(|(due, _)| *due)
    }

    /// Whose departure may be told: nothing that it sent is under way any more.
    fn next_departure(&self) -> Option<usize> {
        self.leaving.iter().position(|departure| {
            let inbound = self.statistics_of(departure.peer, Direction::Inbound);
            inbound.is_none_or(|statistics| statistics.in_flight == 0)
        })
    }
}

impl Pipes {
    fn is_idle(&self) -> bool {
        self.is_own == [false; 2] && self.pipes.iter().all(|pipe| pipe.next_wake().is_none())
    }
}

impl<L: Link> Link for Conditioned<L> {
    fn local(&self) -> Peer {
        self.link.local()
    }

    fn receive(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        self.release(now);
        self.take_in(now);
        self.leave(now, Direction::Inbound, into)
    }

    fn send(&mut self, now: Time, to: Peer, datagram: &[u8]) {
        assert_fits(datagram);
        self.enter(now, to, Direction::Outbound, datagram);
    }

    fn flush(&mut self, now: Time) {
        self.release(now);
        self.link.flush(now);
    }

    fn wait(&mut self, clock: &Clock, until: Time) {
        loop {
            let now = clock.now();
            self.release(now);
            self.take_in(now);
            let has_arrived = self.next_due(Direction::Inbound).is_some_and(|due| due <= now);
            if has_arrived || now >= until || self.next_departure().is_some() {
                return;
            }
            let outbound = self.next_due(Direction::Outbound);
            let due = outbound.into_iter().chain(self.next_due(Direction::Inbound)).min();
            let sleep_until = due.map_or(until, |due| until.min(due - self.spin));
            if now < sleep_until {
                self.link.wait(clock, sleep_until);
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let due = self.due.iter().filter_map(BTreeSet::first).map(|(due, _)| *due);
        due.chain(self.link.next_wake()).min()
    }

    fn departed(&mut self) -> Option<Departure> {
        let departure = self.leaving.remove(self.next_departure()?)?;
        if self.peers.get(&departure.peer).is_some_and(Pipes::is_idle) {
            self.peers.remove(&departure.peer);
        }
        Some(departure)
    }

    fn session(&self, peer: Peer) -> Option<TlsSession> {
        self.link.session(peer)
    }

    fn forget(&mut self, peer: Peer) {
        self.leaving.retain(|departure| departure.peer != peer);
        self.forgotten.insert(peer);
        self.forget_served();
    }
}

impl Timing {
    /// The delay that was asked for, on average.
    pub fn asked_mean(&self) -> Span {
        self.asked / self.released.max(1)
    }

    /// The delay that datagrams had, on average.
    pub fn achieved_mean(&self) -> Span {
        self.achieved / self.released.max(1)
    }
}

fn assert_possible(conditions: &Conditions) {
    if let Err(impossible) = conditions.check() {
        panic!("no network can be so: {impossible}");
    }
}
