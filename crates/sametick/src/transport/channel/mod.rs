//! One connection's messages: unreliable ones in order and at most once, reliable ones in order and
//! exactly once, over packets that may be lost, doubled or come late. Knows no address and no key.
//!
//! Reliable messages ride on the packets of the unreliable ones and arrive before any unreliable
//! message that was sent after them. Every packet acknowledges; each packet sent resolves once, to
//! delivered or lost, and whoever sent something in it is told. Packet numbers of 64 bits come from
//! the layer below, which also drops what came twice.

mod acknowledge;
mod compression;
mod packet;
mod rate;
mod reliable;
mod statistics;
#[cfg(test)]
mod tests;
mod told;
mod unreliable;

pub use acknowledge::RoundTrip;
pub use compression::Compression;
pub use packet::{BODY_BYTES_MAX, CloseReason, DATAGRAM_BYTES_MAX};
pub use rate::{RATE_FLOOR_BYTES_PER_SECOND, RateLimits};
pub use reliable::{
    Backlogged, FRAGMENT_COST_BYTES, RELIABLE_BACKLOG_BYTES_MAX, RELIABLE_BYTES_MAX,
};
pub use statistics::{Drops, Statistics};
pub use unreliable::{PAYLOAD_BYTES_MAX, UNRELIABLE_BYTES_MAX};

use crate::core::bits::{BitReader, BitWriter};
use crate::core::dice::Dice;
use crate::core::mutant::{self, Mutant};
use crate::core::time::{Span, Time};
use acknowledge::{Acknowledgement, NUMBERS_BACK_MAX, Received, Resolved, Sent, SentPacket};
use packet::{Body, HEAD_BYTES_MAX, Payload};
use rate::Rate;
pub(crate) use reliable::FRAGMENT_BYTES_MAX;
use reliable::{Incoming, Outgoing};
use told::Told;
use unreliable::{Inbox, Next, Outbox};

/// What a channel tells the layer above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next reliable message.
    Reliable(&'a [u8]),
    /// An unreliable message, newer than all before.
    Unreliable(&'a [u8]),
    /// The unreliable message sent with this token arrived at the other end.
    Delivered(u32),
    /// The unreliable message sent with this token is taken for lost; it may still arrive late.
    Lost(u32),
}

/// How a channel behaves; the defaults suit a game.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How much may be sent, everything included.
    pub rate: RateLimits,
    /// What the layers below add to each packet, counted into the rate: the seal, UDP and IP.
    pub overhead_bytes: usize,
    /// When nothing was sent for so long, an empty packet is.
    pub keep_alive: Span,
    /// When nothing came for so long, the other end is gone.
    pub time_out: Span,
    /// How long packets that came may wait for their acknowledgement to have company, at most
    /// [`ACKNOWLEDGE_WITHIN_MAX`].
    pub acknowledge_within: Span,
    /// For how long the other end lets ours wait.
    pub acknowledged_within: Span,
    /// How payloads are made shorter, if they are.
    pub compression: Compression,
    /// The number of the first packet, at least 1, in both directions; both ends must agree. Only
    /// tests need another than the default, to begin just below an edge of 16 or 32 bits.
    pub first_number: u64,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Messages go both ways.
    Open,
    /// We said goodbye and repeat it a few times; nothing else is sent or taken.
    Closing(CloseReason),
    /// Over.
    Closed(CloseReason),
}

/// How often goodbye is said, and how far apart: it is not acknowledged.
const GOODBYES: u32 = 4;
const GOODBYE_INTERVAL: Span = Span::millis(50);

/// The longest that an acknowledgement can say it waited.
pub const ACKNOWLEDGE_WITHIN_MAX: Span = Span::millis(250);

/// So many packets, or so long a time unless it is set otherwise, may wait for an acknowledgement to have company.
const UNACKNOWLEDGED_MAX: u32 = 8;
const ACKNOWLEDGE_WITHIN: Span = Span::millis(40);
const PATIENCE_WITHOUT_BUDGET: u32 = 3;
/// Beyond 33 packets an acknowledgement would leave some out.
const _: () = assert!(UNACKNOWLEDGED_MAX * PATIENCE_WITHOUT_BUDGET < 33);

/// On average one packet number in so many is never used; who acknowledges it lies.
const NUMBERS_PER_TRAP: u64 = 1024;

/// The least time between a packet and a probe after it.
const PROBE_INTERVAL: Span = Span::millis(50);

/// What the budget must allow before reliables go out on their own, whatever their length.
const RELIABLES_BYTES: usize = HEAD_BYTES_MAX + FRAGMENT_BYTES_MAX;

/// The first packet number: zero is nobody's, so that no packet can be acknowledged before any.
const FIRST_NUMBER: u64 = 1;

/// The most heap that a channel ever holds, whatever its owner sends and the other end does.
pub const CHANNEL_MEMORY_BYTES_MAX: usize = 1 << 20;

/// One end of one connection.
///
/// Two ends, joined by hand:
///
/// ```
/// use sametick::bits::BitWriter;
/// use sametick::channel::{BODY_BYTES_MAX, Channel, Event, Settings};
/// use sametick::{Span, Time};
///
/// let now = Time::ZERO;
/// let mut near = Channel::new(Settings::default(), now, 1);
/// let mut far = Channel::new(Settings::default(), now, 2);
/// near.send_reliable(b"the map is rooms")?;
/// near.send_unreliable(7, b"a snapshot");
///
/// let mut body = BitWriter::fixed(BODY_BYTES_MAX);
/// let number = near.transmit(now, &mut body).expect("there is something to send");
/// let mut told = Vec::new();
/// far.receive(now + Span::millis(20), number, body.finish()?, &mut |event| {
///     told.push(format!("{event:?}"));
/// });
/// assert!(told[0].starts_with("Reliable") && told[1].starts_with("Unreliable"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Channel {
    settings: Settings,
    state: State,
    next_number: u64,
    /// The number to be left out next, and the last one that was.
    trap_next: u64,
    trap_set: u64,
    dice: Dice,
    sent: Sent,
    told: Told,
    received: Received,
    outgoing: Outgoing,
    incoming: Incoming,
    outbox: Outbox,
    inbox: Inbox,
    rate: Rate,
    statistics: Statistics,
    heard_at: Time,
    spoke_at: Time,
    goodbyes_left: u32,
    /// The other end has said goodbye too: it need not be told again.
    is_told: bool,
    newest_acknowledged: u64,
    /// When it is over even if nobody let us say goodbye.
    closed_at: Time,
    ping_is_due: bool,
    /// Reliables went out on their own while a payload was waiting: it is the payload's turn.
    payload_is_next: bool,
    last_token: Option<u32>,
}

impl Channel {
    /// A fresh connection. The seed only decides which packet numbers are never used.
    pub fn new(settings: Settings, now: Time, seed: u64) -> Self {
        assert!(settings.first_number > 0, "number zero is nobody's");
        assert!(settings.acknowledge_within <= ACKNOWLEDGE_WITHIN_MAX, "no one could tell");
        let mut dice = Dice::new(seed, 0);
        Self {
            settings,
            state: State::Open,
            next_number: settings.first_number,
            trap_next: settings.first_number + dice.below(2 * NUMBERS_PER_TRAP),
            trap_set: 0,
            dice,
            sent: Sent::new(settings.acknowledged_within),
            told: Told::default(),
            received: Received::default(),
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            rate: Rate::new(settings.rate, now),
            statistics: Statistics::default(),
            heard_at: now,
            spoke_at: now,
            goodbyes_left: 0,
            is_told: false,
            newest_acknowledged: 0,
            closed_at: Time::MAX,
            ping_is_due: false,
            payload_is_next: false,
            last_token: None,
        }
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// What was counted and measured so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            round_trip: self.sent.round_trip(),
            rate_bytes_per_second: self.rate.bytes_per_second(),
            ..self.statistics
        }
    }

    /// The heap it holds now, at most [`CHANNEL_MEMORY_BYTES_MAX`].
    pub fn memory_bytes(&self) -> usize {
        self.sent.memory_bytes()
            + self.outgoing.memory_bytes()
            + self.incoming.memory_bytes()
            + self.outbox.memory_bytes()
            + self.inbox.memory_bytes()
    }

    /// The token of the unreliable message that the last packet carried, whole or in part.
    pub fn last_token(&self) -> Option<u32> {
        self.last_token
    }

    /// How many bytes of a message may be sent now, besides those that wait already. Ask before
    /// building one.
    pub fn budget_bytes(&mut self, now: Time) -> usize {
        let each = HEAD_BYTES_MAX + self.settings.overhead_bytes;
        let (packets, bytes) = self.outbox.waiting();
        let urgent = self.outgoing.urgent_bytes().unwrap_or(0);
        let waiting = packets * each + bytes + urgent;
        self.packet_budget_bytes(now).saturating_sub(HEAD_BYTES_MAX + waiting)
    }

    /// Bytes of reliable messages that the other end has not acknowledged, with
    /// [`FRAGMENT_COST_BYTES`] for each fragment.
    pub fn backlog_bytes(&self) -> usize {
        self.outgoing.waiting_bytes()
    }

    /// Takes a reliable message for sending, or says that too much is waiting already. On a
    /// connection that is over nothing is sent any more.
    pub fn send_reliable(&mut self, message: &[u8]) -> Result<(), Backlogged> {
        self.outgoing.push(message)
    }

    /// Takes an unreliable message, of at most [`UNRELIABLE_BYTES_MAX`], for sending. `token` names
    /// it in what is told of its fate. When too many wait already, the oldest is given up; its loss
    /// is told by the next [`advance`](Channel::advance).
    pub fn send_unreliable(&mut self, token: u32, message: &[u8]) {
        self.outbox.push(token, message, self.outgoing.end());
    }

    /// Says goodbye with a reason; it is sent a few times and the connection is over.
    pub fn close(&mut self, now: Time, reason: CloseReason) {
        if self.state == State::Open {
            self.state = State::Closing(reason);
            self.goodbyes_left = GOODBYES;
            self.spoke_at = now - GOODBYE_INTERVAL;
            self.closed_at = now + GOODBYE_INTERVAL * u64::from(GOODBYES + 1);
        }
    }

    /// Says goodbye once more, to an end that still speaks on a connection which is over.
    pub fn repeat_goodbye(&mut self) {
        if let State::Closed(reason) = self.state
            && !self.is_told
        {
            self.state = State::Closing(reason);
            self.goodbyes_left = 1;
            self.closed_at = Time::MAX;
        }
    }

    /// Has an empty packet go out soon, which the other end acknowledges.
    pub fn ping(&mut self) {
        self.ping_is_due = true;
    }

    /// Takes the body of a packet that the layer below has authenticated and never gave before.
    pub fn receive(
        &mut self,
        now: Time,
        number: u64,
        body: &[u8],
        tell: &mut impl FnMut(Event<'_>),
    ) {
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += (body.len() + self.settings.overhead_bytes) as u64;
        if self.state != State::Open {
            self.statistics.drops.packets_closed += 1;
            let head = Body::read(&mut BitReader::new(body), self.next_number);
            self.is_told |= head.is_some_and(|head| head.goodbye.is_some());
            return;
        }
        // Head and fragments are checked before anything moves: a damaged packet changes nothing.
        let mut bits = BitReader::new(body);
        let head = Body::read(&mut bits, self.next_number);
        let Some(head) = head.filter(|head| reliable::check(&mut bits.clone(), head.reliables))
        else {
            self.statistics.drops.packets_malformed += 1;
            return;
        };
        if head.acknowledged.is_some_and(|told| self.is_impossible(told)) {
            self.statistics.drops.packets_impossible += 1;
            return self.close(now, CloseReason::ProtocolViolation);
        }
        self.statistics.packets_taken += 1;
        let expected = (number + 1).saturating_sub(self.settings.first_number);
        self.statistics.packets_expected = self.statistics.packets_expected.max(expected);
        self.heard_at = now;
        self.received.add(now, number, head.asks_acknowledgement());
        if let Some(told) = head.acknowledged {
            self.newest_acknowledged = self.newest_acknowledged.max(told.newest);
            self.sent.acknowledge(now, told);
            self.rate.forgive(self.sent.take_late());
            let [arrived, missing] =
                self.told.take(told, self.settings.first_number, self.trap_set);
            self.statistics.packets_told_arrived += u64::from(arrived);
            self.statistics.packets_told_missing += u64::from(missing);
            self.resolve(now, tell);
        }
        match head.goodbye {
            Some(reason) => (self.state, self.is_told) = (State::Closed(reason), true),
            None => self.take_messages(now, number, head, bits, tell),
        }
    }

    fn take_messages(
        &mut self,
        now: Time,
        number: u64,
        head: Body,
        mut bits: BitReader<'_>,
        tell: &mut impl FnMut(Event<'_>),
    ) {
        let taken = self.incoming.read(&mut bits, head.reliables, &mut |message| {
            tell(Event::Reliable(message));
        });
        // The packet is genuine, so whoever made it wrong does not follow the protocol.
        let Ok(repeated) = taken else {
            return self.close(now, CloseReason::ProtocolViolation);
        };
        self.statistics.drops.reliable_repeated += repeated;
        let end = self.incoming.end();
        self.statistics.drops.unreliable_late += self.inbox.release(end, tell);
        match self.inbox.read(&mut bits, number, head.payload, end, tell) {
            Ok(dropped) => self.statistics.drops.unreliable_late += dropped,
            Err(_) => self.close(now, CloseReason::ProtocolViolation),
        }
    }

    /// Whether [`advance`](Channel::advance) has something to do before [`next_wake`](Channel::next_wake):
    /// to tell what became of messages, or to end.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.state != State::Open || self.sent.has_resolved() || self.outbox.has_given_up()
    }

    /// Finds what was lost, and whether the other end still speaks.
    pub fn advance(&mut self, now: Time, tell: &mut impl FnMut(Event<'_>)) {
        self.sent.expire(now);
        self.resolve(now, tell);
        self.outbox.pass_over();
        for token in self.outbox.take_given_up() {
            tell(Event::Lost(token));
        }
        match self.state {
            State::Open if now - self.heard_at >= self.settings.time_out => {
                self.state = State::Closed(CloseReason::TimedOut);
            }
            State::Closing(reason) if self.goodbyes_left == 0 || now >= self.closed_at => {
                self.state = State::Closed(reason);
            }
            _ => {}
        }
    }

    /// Writes the next packet's body into `body`, which starts empty, and gives its number; nothing
    /// if there is nothing to send now. Call it until there is nothing.
    pub fn transmit(&mut self, now: Time, body: &mut BitWriter) -> Option<u64> {
        match self.state {
            State::Closed(_) => None,
            State::Closing(reason) => self.transmit_goodbye(now, reason, body),
            State::Open => {
                let plan = self.plan(now)?;
                Some(self.transmit_planned(now, plan, body))
            }
        }
    }

    /// Writes an empty packet that the other end acknowledges, and nothing else, if none went out lately:
    /// what may be sent to an address that has not proved itself.
    pub fn transmit_probe(&mut self, now: Time, body: &mut BitWriter) -> Option<u64> {
        let is_due = self.state == State::Open && now >= self.next_probe();
        is_due.then(|| self.transmit_planned(now, Plan::Ping, body))
    }

    /// When [`transmit_probe`](Channel::transmit_probe) writes one.
    pub fn next_probe(&self) -> Time {
        if self.state == State::Open { self.spoke_at + PROBE_INTERVAL } else { Time::MAX }
    }

    /// When to call [`advance`](Channel::advance) and [`transmit`](Channel::transmit) at the latest,
    /// if nothing is received and nothing sent before.
    pub fn next_wake(&self) -> Time {
        match self.state {
            State::Closed(_) => Time::MAX,
            State::Closing(_) => (self.spoke_at + GOODBYE_INTERVAL).min(self.closed_at),
            State::Open => {
                let quiet = self.spoke_at + self.settings.keep_alive;
                let quiet = if self.ping_is_due { self.spoke_at } else { quiet };
                let mut wake = quiet.min(self.next_deadline());
                if let Some(since) = self.received.waiting_since() {
                    wake = wake.min(self.acknowledge_at(since));
                }
                if self.outbox.is_empty() && self.outgoing.is_empty() {
                    return wake;
                }
                let payload = self.outbox.peek().map(Next::body_bytes);
                let fragment =
                    self.outgoing.urgent_bytes().map(|_| HEAD_BYTES_MAX + FRAGMENT_BYTES_MAX);
                let bytes = payload.or(fragment).map(|bytes| bytes + self.settings.overhead_bytes);
                let affordable = bytes.map(|bytes| self.rate.affordable_at(bytes));
                affordable.map_or(wake, |affordable| affordable.min(wake))
            }
        }
    }

    /// When packets that came since then are acknowledged, if nothing else is sent before. As in `plan`:
    /// without a budget they gather for longer.
    #[inline]
    fn acknowledge_at(&self, since: Time) -> Time {
        let affordable = self.rate.affordable_at(self.settings.overhead_bytes + 1);
        let crowd = self.received.unacknowledged();
        let due = |patience: u32| {
            let is_crowded = crowd >= UNACKNOWLEDGED_MAX * patience;
            if is_crowded {
                since
            } else {
                since + self.settings.acknowledge_within * u64::from(patience)
            }
        };
        affordable.max(due(1)).min(due(PATIENCE_WITHOUT_BUDGET))
    }

    /// When a packet goes out only to acknowledge, unless another does before; none if nothing is to be acknowledged.
    pub fn acknowledges_at(&self) -> Option<Time> {
        self.received.waiting_since().map(|since| self.acknowledge_at(since))
    }

    /// When to call [`advance`](Channel::advance) at the latest, if nothing may be sent at present.
    pub fn next_deadline(&self) -> Time {
        match self.state {
            State::Closed(_) => Time::MAX,
            State::Closing(_) => self.closed_at,
            State::Open => {
                let silent = self.heard_at + self.settings.time_out;
                self.sent.next_expiry().map_or(silent, |expiry| expiry.min(silent))
            }
        }
    }

    /// The newest of our packets that the other end says it has; zero before any.
    pub fn newest_acknowledged(&self) -> u64 {
        self.newest_acknowledged
    }

    /// When we sent the newest packet that the other end says it has; none before any.
    pub fn delivered_at(&self) -> Option<Time> {
        if mutant::is(Mutant::LeaseFromLastHeard) {
            return Some(self.heard_at);
        }
        self.sent.delivered_at()
    }

    /// How long ago the other end was last heard.
    pub fn silence(&self, now: Time) -> Span {
        now - self.heard_at
    }

    fn packet_budget_bytes(&mut self, now: Time) -> usize {
        self.rate.budget_bytes(now).saturating_sub(self.settings.overhead_bytes)
    }

    /// Decides what the next packet carries, if there is to be one.
    fn plan(&mut self, now: Time) -> Option<Plan> {
        let budget = self.packet_budget_bytes(now);
        let payload = self.outbox.peek();
        let urgent = self.outgoing.urgent_bytes();
        if let Some(next) = payload.filter(|next| next.body_bytes() <= budget) {
            // Reliables that do not fit beside it go first on their own, but a long backlog of them
            // takes turns with the payloads: neither holds up the other.
            let fits = urgent.is_none_or(|bytes| bytes <= next.room_bytes());
            let is_next = fits || self.payload_is_next;
            return Some(if is_next { Plan::Payload(next) } else { Plan::Reliables });
        }
        let affordable = budget >= RELIABLES_BYTES;
        if urgent.is_some() && payload.is_none() && affordable {
            return Some(Plan::Reliables);
        }
        if self.ping_is_due || now - self.spoke_at >= self.settings.keep_alive {
            return Some(Plan::Ping);
        }
        // On a poor line acknowledgements must not eat what the messages need: they gather for longer.
        let patience = if budget > 0 { 1 } else { PATIENCE_WITHOUT_BUDGET };
        let within = self.settings.acknowledge_within * u64::from(patience);
        let waited = self.received.waiting_since().is_some_and(|at| now - at >= within);
        let crowded = self.received.unacknowledged() >= UNACKNOWLEDGED_MAX * patience;
        (waited || crowded).then_some(Plan::Acknowledge)
    }

    fn transmit_planned(&mut self, now: Time, plan: Plan, body: &mut BitWriter) -> u64 {
        let number = self.take_number();
        let mut head = Body::new(self.received.acknowledge(now));
        match plan {
            Plan::Payload(next) => {
                head.reliables = self.outgoing.choose(number, next.room_bytes(), true);
                let misses = self.outgoing.misses(number, next.after);
                head.payload = next.payload(number, misses.then_some(next.after as u16));
            }
            Plan::Reliables => {
                head.reliables =
                    self.outgoing.choose(number, BODY_BYTES_MAX - HEAD_BYTES_MAX, false);
            }
            Plan::Ping => head.payload = Payload::Ping,
            Plan::Acknowledge => {}
        }
        self.payload_is_next = matches!(plan, Plan::Reliables) && !self.outbox.is_empty();
        head.write(body);
        let head_bits = body.bits_written();
        self.outgoing.write(number, body);
        self.statistics.bytes_sent_reliable += (body.bits_written() - head_bits).div_ceil(8) as u64;
        let token = match plan {
            Plan::Payload(_) => {
                let before = body.bits_written();
                let token = self.outbox.write_next(number, self.settings.compression, body);
                self.statistics.bytes_sent_unreliable +=
                    ((body.bits_written() - before) / 8) as u64;
                token
            }
            _ => None,
        };
        self.last_token = token.map(|(token, _)| token);
        let reliable = head.reliables > 0;
        if head.asks_acknowledgement() {
            self.sent.add(SentPacket { number, at: now, token, reliable });
        }
        self.spoke(now, body);
        number
    }

    fn transmit_goodbye(
        &mut self,
        now: Time,
        reason: CloseReason,
        body: &mut BitWriter,
    ) -> Option<u64> {
        if self.goodbyes_left == 0 || now - self.spoke_at < GOODBYE_INTERVAL {
            return None;
        }
        self.goodbyes_left -= 1;
        self.last_token = None;
        Body { goodbye: Some(reason), ..Body::new(self.received.acknowledge(now)) }.write(body);
        self.spoke(now, body);
        Some(self.take_number())
    }

    fn spoke(&mut self, now: Time, body: &BitWriter) {
        let bytes = body.bits_written().div_ceil(8) + self.settings.overhead_bytes;
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += bytes as u64;
        self.rate.spend(now, bytes);
        self.spoke_at = now;
        self.ping_is_due = false;
    }

    fn take_number(&mut self) -> u64 {
        if self.next_number >= self.trap_next {
            self.trap_set = self.next_number;
            self.next_number += 1;
            // Far enough that the last one is out of every acknowledgement's reach.
            self.trap_next = self.next_number + 64 + self.dice.below(2 * NUMBERS_PER_TRAP);
        }
        self.next_number += 1;
        self.next_number - 1
    }

    /// Nobody can have received what was never sent.
    fn is_impossible(&self, told: Acknowledgement) -> bool {
        let is_sent = (self.settings.first_number..self.next_number).contains(&told.newest);
        let is_near = is_sent && self.next_number - told.newest <= NUMBERS_BACK_MAX;
        let is_trapped = self.trap_set != 0 && told.covers(self.trap_set);
        (!is_near || is_trapped) && !mutant::is(Mutant::UnclampedAcknowledgement)
    }

    fn resolve(&mut self, now: Time, tell: &mut impl FnMut(Event<'_>)) {
        while let Some(Resolved { packet, delivered }) = self.sent.next_resolved() {
            self.rate.observe(now, delivered, self.sent.round_trip());
            if packet.reliable {
                self.outgoing.resolve(packet.number, delivered);
            }
            self.statistics.packets_delivered += u64::from(delivered);
            self.statistics.packets_lost += u64::from(!delivered);
            if let Some(verdict) =
                packet.token.and_then(|token| self.outbox.resolve(token, delivered))
            {
                tell(verdict);
            }
        }
    }
}

/// What the next packet is for.
#[derive(Clone, Copy, Debug)]
enum Plan {
    Payload(Next),
    Reliables,
    Ping,
    Acknowledge,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: RateLimits::default(),
            overhead_bytes: packet::SEAL_BYTES_MAX + 28,
            keep_alive: Span::millis(250),
            time_out: Span::seconds(10),
            acknowledge_within: ACKNOWLEDGE_WITHIN,
            acknowledged_within: ACKNOWLEDGE_WITHIN,
            compression: Compression::None,
            first_number: FIRST_NUMBER,
        }
    }
}
