//! An extra: a client for crowds. It talks as a client does, acknowledges what comes, and keeps nothing of it.

use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::peer::Peer;
use crate::core::sequence::nearest;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::replication::commands::CommandLog;
use crate::replication::messages::decoded::Decoded;
use crate::replication::messages::heading::{Heading, Welcome};
use crate::replication::messages::{NUMBER_BITS, SNAPSHOT, WELCOME};
use crate::replication::others;
use crate::schema::record::{Layout, Precision};
use crate::sim::game::Game;
use crate::sim::sight::Moment;
use crate::sim::view::{View, write_others};
use crate::transport::channel::{CloseReason, Event, Settings, Statistics};
use crate::transport::clock::Clock;
use crate::transport::endpoint::{Dialer, DialerEvent, OPEN_PROTOCOL};
use crate::transport::secure::{ClientToken, Denial, Random};
use std::collections::VecDeque;

/// A player without a world: to a server it is like any other, and a thousand of them fit one process.
/// Load tests are made of them.
pub struct Extra<G: Game> {
    dialer: Dialer,
    view: View,
    wish: G::Command,
    part: Option<Part<G>>,
    token: u32,
    malformed: u64,
    denied: Option<Denial>,
    left: Option<CloseReason>,
}

/// What it knows once it was let in.
struct Part<G: Game> {
    welcome: Welcome,
    clock: Clock,
    log: CommandLog<G::Command>,
    layout: Layout,
    /// The tick of its newest command.
    tick: Tick,
    received: Tick,
    /// The ticks of the newest snapshots, oldest first.
    told: VecDeque<Tick>,
    /// Which parts of them came.
    came: Decoded,
    has_news: bool,
    snapshots: u64,
    repeated: u64,
    bits: BitWriter,
}

/// An extra shows others between the first two of so many snapshots.
const TOLD_MAX: usize = 3;

impl<G: Game> Extra<G> {
    /// Knocks at a server that is open to anyone. Of `view` it does what concerns the server.
    pub fn open(server: Peer, view: View, now: Time, random: &mut dyn Random) -> Self {
        let mut id = [0; 8];
        random.fill(&mut id);
        let token = ClientToken::open_mode(OPEN_PROTOCOL, u64::from_le_bytes(id), b"", random);
        Self::new(server, token.expect("nothing is attached"), view, now, random)
    }

    /// Knocks with a token. Of `view` it does what concerns the server.
    pub fn new(
        server: Peer,
        token: ClientToken,
        view: View,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let dialer = Dialer::new(server, token, Settings::default(), now, random);
        let wish = G::Command::default();
        let (part, token, malformed, denied, left) = (None, 0, 0, None, None);
        Self { dialer, view, wish, part, token, malformed, denied, left }
    }

    /// Takes a datagram from the server; its bytes are of no use afterwards.
    pub fn receive(&mut self, now: Time, datagram: &mut [u8]) {
        let (mut messages, denied, left) = (Vec::new(), &mut self.denied, &mut self.left);
        self.dialer.receive(now, datagram, &mut |event| match event {
            DialerEvent::Message(Event::Reliable(message) | Event::Unreliable(message)) => {
                messages.push(message.to_vec());
            }
            DialerEvent::Denied(denial) => *denied = Some(denial),
            DialerEvent::Left(reason) => *left = Some(reason),
            _ => {}
        });
        let trip = self.dialer.statistics().and_then(|statistics| statistics.round_trip.smoothed);
        let half_trip = trip.unwrap_or(Span::ZERO) / 2;
        for message in messages {
            let heard = match (message.first(), &mut self.part) {
                (Some(&WELCOME), part) => {
                    Part::new(&message[1..], now).map(|new| *part = Some(new))
                }
                (Some(&SNAPSHOT), Some(part)) => part.hear(now, half_trip, &message),
                _ => Ok(()),
            };
            self.malformed += u64::from(heard.is_err());
        }
    }

    /// What the player asks for from now on.
    pub fn command(&mut self, wish: G::Command) {
        self.wish = wish;
    }

    /// Says what is due.
    pub fn advance(&mut self, now: Time) {
        let left = &mut self.left;
        self.dialer.advance(now, &mut |event| {
            if let DialerEvent::Left(reason) = event {
                *left = Some(reason);
            }
        });
        let Some(part) = &mut self.part else { return };
        part.ask(now, &self.wish);
        let budget = self.dialer.budget_bytes(now);
        if let Some(message) = part.write(&self.view, budget) {
            self.token = self.token.wrapping_add(1);
            self.dialer.send_unreliable(self.token, message);
        }
    }

    /// The next datagram to send to the server; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<&[u8]> {
        self.dialer.transmit(now)
    }

    /// When to call [`advance`](Extra::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        let part = self.part.as_ref().filter(|part| part.clock.is_set());
        let tick = part.map_or(Time::MAX, |part| part.clock.next_tick_at());
        tick.min(self.dialer.next_wake())
    }

    /// Says goodbye; drive it until it [is over](Extra::is_over).
    pub fn close(&mut self, now: Time) {
        self.dialer.close(now, CloseReason::Left);
    }

    /// Whether nothing more will come or go.
    pub fn is_over(&self) -> bool {
        self.dialer.is_over()
    }

    /// Why it was not let in, if it was not.
    pub fn denied(&self) -> Option<Denial> {
        self.denied
    }

    /// Why it is not here any more, if it was.
    pub fn left(&self) -> Option<CloseReason> {
        self.left
    }

    /// What was counted and measured on its connection, once there is one.
    pub fn statistics(&self) -> Option<Statistics> {
        self.dialer.statistics()
    }

    /// Its number in the game, once the server has said it.
    pub fn me(&self) -> Option<PlayerId> {
        self.part.as_ref().map(|part| part.welcome.me)
    }

    /// How many snapshots came, however many parts each had.
    pub fn snapshots(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| part.snapshots)
    }

    /// How many of its commands came too late: the server repeated earlier ones.
    pub fn repeated(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| part.repeated)
    }

    /// Messages that were not taken because no server of ours writes such.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

impl<G: Game> Part<G> {
    fn new(welcome: &[u8], now: Time) -> Result<Self, Malformed> {
        let welcome = Welcome::read(welcome)?;
        Ok(Self {
            clock: Clock::new(welcome.tick_length, now),
            log: CommandLog::default(),
            layout: Layout::of::<G::Command>(Precision::State),
            tick: Tick(0),
            received: Tick(0),
            told: VecDeque::from([welcome.tick]),
            came: Decoded::default(),
            has_news: false,
            snapshots: 0,
            repeated: 0,
            bits: BitWriter::growing(2048),
            welcome,
        })
    }

    fn newest_tick(&self) -> Tick {
        self.told.back().copied().unwrap_or_default()
    }

    /// Takes in what precedes a part of a snapshot, and its number.
    fn hear(&mut self, now: Time, half_trip: Span, message: &[u8]) -> Result<(), Malformed> {
        let mut bits = BitReader::new(message);
        let Some(told) = Heading::read(&mut bits, self.welcome.game_id, self.newest_tick())? else {
            return Ok(());
        };
        others::read::<G::Command>(&mut bits, &self.layout);
        let number = nearest(self.came.newest, bits.read(NUMBER_BITS) as u16);
        if bits.failed() {
            return Err(Malformed);
        }
        self.acknowledge(number);
        self.received = self.received.max(told.received);
        if told.tick > self.newest_tick() {
            self.repeated += told.repeated.more_than(self.repeated);
            let margin = told.margin.map(|margin| (margin, told.received));
            self.clock.observe(now, told.tick, half_trip, margin);
            self.snapshots += 1;
            self.told.push_back(told.tick);
            if self.told.len() > TOLD_MAX {
                self.told.pop_front();
            }
            self.log.forget_until(told.tick);
        }
        Ok(())
    }

    fn acknowledge(&mut self, number: u64) {
        let Decoded { newest, before } = &mut self.came;
        if number > *newest {
            let ahead = (number - *newest) as u32;
            let shifted = *before << 1 | u64::from(*newest > 0);
            *before = shifted.checked_shl(ahead - 1).unwrap_or(0);
            *newest = number;
        } else if let back @ 1..=64 = *newest - number {
            *before |= 1 << (back - 1);
        }
    }

    /// Gives the commands of the ticks that are due.
    fn ask(&mut self, now: Time, wish: &G::Command) {
        if !self.clock.is_set() {
            return;
        }
        let due = self.clock.tick(now);
        // After a leap, only what is new.
        self.tick = self.tick.max(Tick(due.0.saturating_sub(crate::AHEAD_TICKS_MAX)));
        let [first, second] = [0, 1].map(|index| self.told.get(index).copied());
        let between = (first.unwrap_or_default(), second.or(first).unwrap_or_default());
        let moment = Moment::new(self.newest_tick(), between, 0.5, 0.0);
        while self.tick < due {
            self.tick = Tick(self.tick.0 + 1);
            self.log.push(self.tick, wish.clone(), moment);
            self.has_news = true;
        }
    }

    /// As `SnapshotClient` writes it. Plain: compact snapshots are for those who
    /// keep a world.
    fn write(&mut self, view: &View, budget_bytes: usize) -> Option<&[u8]> {
        if !self.has_news {
            return None;
        }
        let Self { bits, welcome, .. } = self;
        bits.clear();
        bits.write(u64::from(welcome.game_id), 8);
        bits.write(u64::from(view.snapshot_every.min(255)), 8);
        bits.write_bool(view.wants_commands());
        bits.write_bool(welcome.rewinds);
        bits.write_bool(false);
        self.came.write(bits);
        if welcome.rewinds {
            write_others(bits, view.others);
        }
        let others = welcome.rewinds.then_some(view.others);
        self.log.write(bits, &self.layout, self.received, others);
        let message = bits.finish().ok().filter(|message| message.len() <= budget_bytes);
        self.has_news = message.is_none();
        message
    }
}
