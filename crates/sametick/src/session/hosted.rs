//! One of the players of a game that has no server of its own: a client, and the server whenever it is
//! this player's turn to be it.

use crate::config::rates::Rates;
use crate::core::peer::Peer;
use crate::core::time::Time;
use crate::migration::succession::{HOST_SILENCE, Stage};
use crate::session::client::Client;
use crate::session::server::Server;
use crate::sim::game::Game;
use crate::sim::view::View;
use crate::transport::channel::CloseReason;
use crate::transport::endpoint::{Answer, ListenerConfig, OPEN_PROTOCOL};
use crate::transport::secure::{ClientToken, Random, is_handshake};
use std::collections::VecDeque;

/// Where a player's own server is, for its own client.
const OWN: Peer = Peer::new([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 0);

/// What a player needs to take part, and to be the server.
#[derive(Clone, Debug)]
pub struct HostedConfig<C> {
    /// How it listens, should it be the server. Keys for tickets come from the host before.
    pub listener: ListenerConfig,
    /// Map and tuning.
    pub content: C,
    /// How it wants to see the world.
    pub view: View,
    /// Where others reach it, if that is not where the host sees it.
    pub reached_at: Option<Peer>,
}

impl<C> HostedConfig<C> {
    /// For a game that is open to anyone: private against listeners, not against impostors.
    pub fn open(content: C, view: View, random: &mut dyn Random) -> Self {
        Self { listener: ListenerConfig::open(random), content, view, reached_at: None }
    }
}

/// What becomes of a player's own server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostedEvent {
    /// It is the server of this game now, or again.
    Hosting {
        /// Counts the servers that this game had.
        epoch: u32,
    },
    /// Too few of the players are in touch to be sure that nobody else is the server: nothing is
    /// stepped until they are.
    Paused,
    /// It is the server no more: another is, or it has left.
    SteppedDown,
}

/// One player of a game that its players host. See [`succession`](crate::migration::succession) for how the host
/// changes and why there is never more than one.
///
/// Datagrams of client and server go through one socket, so that the way to the server is the one that
/// the host has seen open.
///
/// ```
/// use sametick::network::Network;
/// use sametick::secure::SystemRandom;
/// use sametick::{
///     Fields, Game, Hosted, HostedConfig, Networked, NoEvent, Rates, Span, Time, Turn, View, World,
/// };
///
/// #[derive(Clone, Debug, Default)]
/// pub struct Score { pub points: u16 }
/// impl Networked for Score {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bits("points", &mut self.points, 16); }
/// }
/// sametick::entities! { pub enum Entity { Score } }
///
/// struct Counting;
/// impl Game for Counting {
///     type Entity = Entity;
///     type Command = Score;
///     type Event = NoEvent;
///     type Content = ();
///     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
///         for player in turn.joined() {
///             world.spawn_owned(player, Score::default());
///         }
///         for (_, score) in world.all_mut::<Score>() {
///             score.points += 1;
///         }
///     }
/// }
/// # impl PartialEq for Score { fn eq(&self, other: &Self) -> bool { self.points == other.points } }
///
/// let (mut now, random) = (Time::ZERO, &mut SystemRandom::new());
/// let mut network = Network::new(1);
/// let hosts = [network.add_host(), network.add_host()];
/// let config = |random: &mut SystemRandom| HostedConfig::open((), View::default(), random);
/// let first = Hosted::<Counting>::open(config(random), 7, Rates::default(), now, random);
/// let second = Hosted::join_open(network.address(hosts[0]), config(random), now, random);
/// let mut players = vec![(hosts[0], first), (hosts[1], second)];
///
/// let mut run = |players: &mut Vec<(_, Hosted<Counting>)>, seconds| {
///     let end = now + Span::seconds(seconds);
///     while now < end {
///         for (host, player) in &mut *players {
///             let mut datagram = Vec::new();
///             while let Some(from) = network.receive(now, *host, &mut datagram) {
///                 if let Some(answer) = player.receive(now, from, &mut datagram, random) {
///                     network.send(now, *host, from, &answer);
///                 }
///             }
///             player.advance(now, random);
///             while let Some((to, datagram)) = player.transmit() {
///                 network.send(now, *host, to, &datagram);
///             }
///         }
///         now += Span::millis(5);
///     }
/// };
/// run(&mut players, 3);
/// assert!(players[0].1.is_host() && !players[1].1.is_host());
/// let me = players[1].1.client().me();
///
/// // The host's machine goes dark; three seconds later the other one is the host.
/// players.remove(0);
/// run(&mut players, 3);
/// let survivor = &players[0].1;
/// assert!(survivor.is_host());
/// assert_eq!(survivor.client().me(), me);
/// assert!(survivor.client().own::<Score>().unwrap().1.points > 100);
/// ```
pub struct Hosted<G: Game> {
    client: Client<G>,
    server: Option<Server<G>>,
    config: HostedConfig<G::Content>,
    outbox: VecDeque<(Peer, Vec<u8>)>,
    events: Vec<HostedEvent>,
    stage: Option<Stage>,
    is_leaving: bool,
}

impl<G: Game<Content: Clone>> Hosted<G> {
    /// The first host, whose own player has this token.
    pub fn new(
        config: HostedConfig<G::Content>,
        token: ClientToken,
        (seed, rates): (u64, Rates),
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let (listener, content) = (config.listener.clone(), config.content.clone());
        let own = token.head.client_id;
        let mut server = Server::new(listener, content, seed, rates, now, random);
        server.host(own, now, random);
        Self { server: Some(server), ..Self::join(OWN, token, config, now, random) }
    }

    /// One who joins the game of a host, and may be the next.
    pub fn join(
        host: Peer,
        token: ClientToken,
        config: HostedConfig<G::Content>,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let content = config.content.clone();
        let mut client = Client::new(host, token, content, config.view, now, random);
        client.volunteer(config.reached_at);
        Self {
            client,
            server: None,
            config,
            outbox: VecDeque::new(),
            events: Vec::new(),
            stage: None,
            is_leaving: false,
        }
    }

    /// The first host of a game that is open to anyone.
    pub fn open(
        config: HostedConfig<G::Content>,
        seed: u64,
        rates: Rates,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let token = open_token(random);
        Self::new(config, token, (seed, rates), now, random)
    }

    /// One who joins a game that is open to anyone.
    pub fn join_open(
        host: Peer,
        config: HostedConfig<G::Content>,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let token = open_token(random);
        Self::join(host, token, config, now, random)
    }

    /// Takes a datagram; its bytes are of no use afterwards. An answer goes back to the same peer.
    pub fn receive(
        &mut self,
        now: Time,
        from: Peer,
        datagram: &mut [u8],
        random: &mut dyn Random,
    ) -> Option<Answer> {
        let is_for_client = from == self.client.server();
        let Some(server) = self.server.as_mut() else {
            if is_for_client {
                self.client.receive(now, datagram);
            }
            return None;
        };
        if !is_for_client {
            return server.receive(now, from, datagram, random);
        }
        // Two who knock at each other: what is not the one's is the other's.
        let is_answered = is_handshake(datagram);
        self.client.receive(now, &mut datagram.to_vec());
        self.step_aside(now);
        let answer = self.server.as_mut()?.receive(now, from, datagram, random);
        answer.filter(|_| is_answered)
    }

    /// Steps what is due, and decides whether to be the server.
    pub fn advance(&mut self, now: Time, random: &mut dyn Random) {
        if let Some(server) = &mut self.server {
            server.advance(now);
        }
        self.client.advance(now);
        self.step_aside(now);
        self.change_roles(now, random);
        self.exchange(now, random);
        self.tell();
    }

    /// The next datagram to send, and to whom; call it after [`advance`](Hosted::advance) until there is
    /// none.
    pub fn transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.outbox.pop_front()
    }

    /// When to call [`advance`](Hosted::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        let server = self.server.as_ref().map_or(Time::MAX, Server::next_wake);
        self.client.next_wake().min(server)
    }

    /// The player.
    pub fn client(&self) -> &Client<G> {
        &self.client
    }

    /// The player, to command it and to take its events.
    pub fn client_mut(&mut self) -> &mut Client<G> {
        &mut self.client
    }

    /// The server, if this player has one: it steps only if [`is_host`](Hosted::is_host).
    pub fn server(&self) -> Option<&Server<G>> {
        self.server.as_ref()
    }

    /// The same, to take its events.
    pub fn server_mut(&mut self) -> Option<&mut Server<G>> {
        self.server.as_mut()
    }

    /// Whether this player is the server at present, and steps the game.
    pub fn is_host(&self) -> bool {
        self.stage == Some(Stage::Reigning)
    }

    /// What happened to the server since this was last asked.
    pub fn take_events(&mut self) -> Vec<HostedEvent> {
        std::mem::take(&mut self.events)
    }

    /// Leaves the game; a host hands it over first. Go on until [`is_over`](Hosted::is_over).
    pub fn leave(&mut self, now: Time) {
        self.is_leaving = true;
        self.client.close(now);
        if let Some(server) = &mut self.server {
            server.hand_over(now);
        }
    }

    /// Whether nothing more will come or go.
    pub fn is_over(&self) -> bool {
        self.server.is_none() && self.client.is_over()
    }

    /// Whoever is lent to another server, or has promised its epoch, is none itself. One that calls for an epoch, or
    /// has begun it, has promised that: no older server counts it, and one that lets it in for a moment ends nothing.
    fn step_aside(&mut self, now: Time) {
        let is_elsewhere = self.client.dialer.is_connected() && self.client.server() != OWN;
        let Some(server) = &mut self.server else { return };
        let has_promised = self.client.epoch() > server.epoch();
        let is_bound = matches!(server.stage(), Some(Stage::Calling | Stage::Reigning));
        if has_promised || is_elsewhere && !is_bound {
            server.abdicate(now);
        }
    }

    fn change_roles(&mut self, now: Time, random: &mut dyn Random) {
        if self.server.as_ref().is_some_and(|server| server.is_over(now)) {
            self.server = None;
        }
        let at_home = self.client.server() == OWN;
        match self.server.as_ref().and_then(|server| server.stage()) {
            None if !self.is_leaving => {
                if let Some(bequest) = self.client.stand(now) {
                    let HostedConfig { listener, content, .. } = self.config.clone();
                    self.server = Server::stand(bequest, content, listener, now, random);
                }
            }
            Some(Stage::Calling) => {
                let call = self.server.as_ref().and_then(Server::call);
                call.into_iter().for_each(|call| self.client.promise(call));
            }
            Some(Stage::Over) => self.client.stand_no_more(now),
            Some(Stage::Reigning) if !at_home && !self.is_leaving => self.client.go_home(now, OWN),
            Some(Stage::Paused) if at_home && self.client.dialer.is_connected() => {
                let server = self.server.as_ref();
                let is_lost = server.is_some_and(|server| server.paused_for(now) >= HOST_SILENCE);
                if is_lost && self.client.has_successors() {
                    self.client.seek(now, CloseReason::ServerStopped, true);
                }
            }
            _ => {}
        }
    }

    /// Carries datagrams between our own client and server, and lays out the rest.
    fn exchange(&mut self, now: Time, random: &mut dyn Random) {
        let Self { client, server, outbox, .. } = self;
        loop {
            let before = outbox.len();
            let mut is_quiet = true;
            // What comes back may send the client elsewhere.
            while let (to, Some(datagram)) = (client.server(), client.transmit(now)) {
                let mut datagram = datagram.to_vec();
                if to != OWN {
                    outbox.push_back((to, datagram));
                } else if let Some(server) = server {
                    is_quiet = false;
                    let answer = server.receive(now, OWN, &mut datagram, random);
                    if let Some(answer) = answer {
                        client.receive(now, &mut answer.to_vec());
                    }
                }
            }
            while let Some((to, datagram)) = server.as_mut().and_then(|s| s.transmit(now)) {
                let mut datagram = datagram.to_vec();
                if to != OWN {
                    outbox.push_back((to, datagram));
                } else if client.server() == OWN {
                    is_quiet = false;
                    client.receive(now, &mut datagram);
                }
            }
            if is_quiet || outbox.len() > before + OUTBOX_MAX {
                return;
            }
        }
    }

    fn tell(&mut self) {
        let stage = self.server.as_ref().and_then(|server| server.stage());
        let before = std::mem::replace(&mut self.stage, stage);
        let event = match stage {
            _ if stage == before => None,
            Some(Stage::Reigning) => {
                let epoch = self.server.as_ref().and_then(Server::epoch).unwrap_or_default();
                Some(HostedEvent::Hosting { epoch })
            }
            Some(Stage::Paused) => Some(HostedEvent::Paused),
            Some(Stage::HandingOver | Stage::Over) | None => {
                let was_host = matches!(before, Some(Stage::Reigning | Stage::Paused));
                was_host.then_some(HostedEvent::SteppedDown)
            }
            Some(Stage::Standing | Stage::Calling) => None,
        };
        self.events.extend(event);
    }
}

/// Enough for one moment of a game with thousands of players.
const OUTBOX_MAX: usize = 1 << 16;

fn open_token(random: &mut dyn Random) -> ClientToken {
    let mut id = [0; 8];
    random.fill(&mut id);
    let token = ClientToken::open_mode(OPEN_PROTOCOL, u64::from_le_bytes(id), b"", random);
    token.expect("nothing is attached")
}
