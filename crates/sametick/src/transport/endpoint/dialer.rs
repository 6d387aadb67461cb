//! The client's end of its one connection.

use super::connection::{Connection, LastSealed};
use super::listener::ListenerDrops;
use crate::core::bits::BitWriter;
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};
use crate::transport::channel::{
    BODY_BYTES_MAX, Backlogged, CloseReason, DATAGRAM_BYTES_MAX, Event, FRAGMENT_BYTES_MAX,
    FRAGMENT_COST_BYTES, RELIABLE_BACKLOG_BYTES_MAX, RELIABLE_BYTES_MAX, Settings, Statistics,
};
use crate::transport::secure::{
    ClientToken, Connected, ConnectionId, Denial, Knock, Outcome, Random, ResetToken, TlsSession,
    is_handshake,
};

/// What a dialer tells its owner.
#[derive(Debug)]
pub enum DialerEvent<'a> {
    /// The server has let us in.
    Connected {
        /// Our connection; its slot is our place.
        connection: ConnectionId,
        /// The server's tick when it did.
        tick: u32,
        /// What to dial with to come back to the same place, for a while.
        resume: &'a ClientToken,
    },
    /// The server knows our token and does not let us in.
    Denied(Denial),
    /// Something happened on the connection.
    Message(Event<'a>),
    /// It is over.
    Left(CloseReason),
}

/// A client's connection, from the first knock to the last goodbye.
#[derive(Debug)]
pub struct Dialer {
    server: Peer,
    settings: Settings,
    seed: u64,
    /// Around all its datagrams, if it is so.
    session: Option<TlsSession>,
    stage: Stage,
    /// Reliable messages that wait for the connection, within what it will take.
    early: Vec<Vec<u8>>,
    drops: ListenerDrops,
    packets_taken: u64,
    body: BitWriter,
    datagram: Vec<u8>,
}

#[derive(Debug)]
enum Stage {
    Knocking(Box<Knock>),
    Here(Box<Connection>, ResetToken),
    Over,
}

impl Dialer {
    /// Knocks at `server` with a token, or with what was given to come back.
    pub fn new(
        server: Peer,
        token: ClientToken,
        settings: Settings,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let mut seed = [0; 8];
        random.fill(&mut seed);
        Self {
            server,
            settings,
            seed: u64::from_le_bytes(seed),
            session: None,
            stage: Stage::Knocking(Box::new(Knock::new(token, now, random))),
            early: Vec::new(),
            drops: ListenerDrops::default(),
            packets_taken: 0,
            body: BitWriter::fixed(BODY_BYTES_MAX),
            datagram: Vec::with_capacity(DATAGRAM_BYTES_MAX),
        }
    }

    /// Knocks through a TLS session that a link has vouched for: the same handshake, after which
    /// packets are not sealed a second time. Whoever hands in datagrams that did not come through that
    /// session takes the protection away. Call it before the first [`transmit`](Dialer::transmit).
    pub fn within(mut self, session: TlsSession) -> Self {
        self.stage = match self.stage {
            Stage::Knocking(knock) => Stage::Knocking(Box::new(knock.within(session))),
            stage => stage,
        };
        self.session = Some(session);
        self
    }

    /// Sends hellos at even intervals until a moment; see [`Knock::evenly_until`].
    pub(crate) fn evenly_until(mut self, moment: Time) -> Self {
        self.stage = match self.stage {
            Stage::Knocking(knock) => Stage::Knocking(Box::new(knock.evenly_until(moment))),
            stage => stage,
        };
        self
    }

    /// Whether messages go both ways.
    pub fn is_connected(&self) -> bool {
        matches!(&self.stage, Stage::Here(connection, _) if !connection.has_ended())
    }

    /// Whether it has ended, or never began.
    pub fn is_over(&self) -> bool {
        match &self.stage {
            Stage::Knocking(_) => false,
            Stage::Here(connection, _) => connection.has_ended(),
            Stage::Over => true,
        }
    }

    /// Where it knocks, or is connected.
    pub fn server(&self) -> Peer {
        self.server
    }

    /// Whether it knocks and the server has answered: then the token may be used up.
    pub fn is_answered(&self) -> bool {
        matches!(&self.stage, Stage::Knocking(knock) if knock.is_answered())
    }

    /// How long ago the server was last heard; none while not connected.
    pub fn silence(&self, now: Time) -> Option<Span> {
        match &self.stage {
            Stage::Here(connection, _) if !connection.has_ended() => {
                Some(connection.channel.silence(now))
            }
            Stage::Here(..) | Stage::Knocking(_) | Stage::Over => None,
        }
    }

    /// Packets that were not taken.
    pub fn drops(&self) -> ListenerDrops {
        self.drops
    }

    /// Packets that were taken.
    pub fn packets_taken(&self) -> u64 {
        self.packets_taken
    }

    /// What the datagram that was transmitted last holds; a hello is not sealed.
    pub fn last_sealed(&self) -> Option<LastSealed> {
        match &self.stage {
            Stage::Here(connection, _) => connection.last_sealed,
            Stage::Knocking(_) | Stage::Over => None,
        }
    }

    /// The heap that the connection holds.
    pub fn memory_bytes(&self) -> usize {
        match &self.stage {
            Stage::Here(connection, _) => connection.memory_bytes(),
            Stage::Knocking(_) | Stage::Over => self.early.iter().map(Vec::len).sum(),
        }
    }

    /// Takes a datagram from the server; its bytes are of no use afterwards.
    pub fn receive(
        &mut self,
        now: Time,
        datagram: &mut [u8],
        tell: &mut impl FnMut(DialerEvent<'_>),
    ) {
        match &mut self.stage {
            Stage::Over => {}
            Stage::Knocking(knock) => match knock.receive(now, datagram) {
                None => {}
                Some(Outcome::Denied(denial)) => {
                    self.stage = Stage::Over;
                    tell(DialerEvent::Denied(denial));
                }
                Some(Outcome::Connected(connected)) => self.enter(now, *connected, tell),
            },
            Stage::Here(connection, reset) => {
                if reset.matches(datagram) {
                    let was_told = connection.has_ended();
                    self.stage = Stage::Over;
                    if !was_told {
                        tell(DialerEvent::Left(CloseReason::Reset));
                    }
                } else if !is_handshake(datagram) {
                    match connection.open(self.server, self.session, datagram) {
                        Ok(opened) => {
                            self.packets_taken += 1;
                            connection.take(now, opened, &mut |event| {
                                tell(DialerEvent::Message(event));
                            });
                        }
                        Err(refusal) => self.drops.count(refusal),
                    }
                }
            }
        }
    }

    /// Moves time on.
    pub fn advance(&mut self, now: Time, tell: &mut impl FnMut(DialerEvent<'_>)) {
        match &mut self.stage {
            Stage::Knocking(knock) if knock.timed_out(now) => {
                self.stage = Stage::Over;
                tell(DialerEvent::Left(CloseReason::TimedOut));
            }
            Stage::Here(connection, _) => {
                let ended = connection.advance(now, &mut |event| tell(DialerEvent::Message(event)));
                if connection.is_forgotten(now) {
                    self.stage = Stage::Over;
                }
                if let Some(reason) = ended {
                    tell(DialerEvent::Left(reason));
                }
            }
            Stage::Knocking(_) | Stage::Over => {}
        }
    }

    /// The next datagram to send to the server; call it until there is none.
    pub fn transmit(&mut self, now: Time) -> Option<&[u8]> {
        match &mut self.stage {
            Stage::Over => return None,
            Stage::Knocking(knock) => {
                let hello = knock.transmit(now)?;
                self.datagram.clear();
                self.datagram.extend_from_slice(&hello);
            }
            Stage::Here(connection, _) => {
                if !connection.transmit(now, &mut self.body, &mut self.datagram) {
                    return None;
                }
            }
        }
        Some(&self.datagram)
    }

    /// When to call [`advance`](Dialer::advance) and [`transmit`](Dialer::transmit) at the latest.
    pub fn next_wake(&self) -> Time {
        match &self.stage {
            Stage::Knocking(knock) => knock.next_wake().unwrap_or(Time::MAX),
            Stage::Here(connection, _) => connection.next_wake(),
            Stage::Over => Time::MAX,
        }
    }

    /// Takes a reliable message for the server. Before it has let us in, messages wait; when all is over
    /// they are dropped, as those are that were under way.
    pub fn send_reliable(&mut self, message: &[u8]) -> Result<(), Backlogged> {
        match &mut self.stage {
            Stage::Here(connection, _) => connection.channel.send_reliable(message),
            Stage::Knocking(_) => {
                let waiting_bytes = self.early.iter().map(|early| cost_bytes(early)).sum::<usize>();
                let fits = waiting_bytes + cost_bytes(message) <= RELIABLE_BACKLOG_BYTES_MAX;
                if message.len() > RELIABLE_BYTES_MAX || !fits {
                    return Err(Backlogged { waiting_bytes });
                }
                self.early.push(message.to_vec());
                Ok(())
            }
            Stage::Over => Ok(()),
        }
    }

    /// Takes an unreliable message for the server; `token` names it in what is told of its fate. Nothing
    /// is told of one that was given before the server has let us in: it is not sent.
    pub fn send_unreliable(&mut self, token: u32, message: &[u8]) {
        if let Stage::Here(connection, _) = &mut self.stage {
            connection.channel.send_unreliable(token, message);
        }
    }

    /// How many bytes of a message may be sent now; none while not connected.
    pub fn budget_bytes(&mut self, now: Time) -> usize {
        match &mut self.stage {
            Stage::Here(connection, _) => connection.channel.budget_bytes(now),
            Stage::Knocking(_) | Stage::Over => 0,
        }
    }

    /// Bytes of reliable messages that the server has not acknowledged.
    pub fn backlog_bytes(&self) -> usize {
        match &self.stage {
            Stage::Here(connection, _) => connection.channel.backlog_bytes(),
            Stage::Knocking(_) => self.early.iter().map(|early| cost_bytes(early)).sum(),
            Stage::Over => 0,
        }
    }

    /// Says goodbye, or stops knocking.
    pub fn close(&mut self, now: Time, reason: CloseReason) {
        match &mut self.stage {
            Stage::Here(connection, _) => connection.channel.close(now, reason),
            Stage::Knocking(_) | Stage::Over => self.stage = Stage::Over,
        }
    }

    /// What was counted and measured, once connected.
    pub fn statistics(&self) -> Option<Statistics> {
        match &self.stage {
            Stage::Here(connection, _) => Some(connection.channel.statistics()),
            Stage::Knocking(_) | Stage::Over => None,
        }
    }

    fn enter(&mut self, now: Time, connected: Connected, tell: &mut impl FnMut(DialerEvent<'_>)) {
        let Connected { connection_id, tick, sealer, opener, resume, reset_token } = connected;
        let (keys, settings) = ((sealer, opener), self.settings);
        let mut connection =
            Connection::new(connection_id, 0, self.server, keys, settings, now, self.seed);
        connection.is_confirmed = true;
        // The client speaks first: until then the server does not know that it was heard.
        connection.channel.ping();
        for message in std::mem::take(&mut self.early) {
            connection.channel.send_reliable(&message).expect("no more waited than it takes");
        }
        self.stage = Stage::Here(Box::new(connection), reset_token);
        tell(DialerEvent::Connected { connection: connection_id, tick, resume: &resume });
    }
}

/// What a message counts for while it waits, as in a channel.
fn cost_bytes(message: &[u8]) -> usize {
    let fragments = message.len().div_ceil(FRAGMENT_BYTES_MAX).max(1);
    message.len() + fragments * FRAGMENT_COST_BYTES
}
