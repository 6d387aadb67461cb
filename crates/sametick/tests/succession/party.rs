//! Players who host their game themselves, over a simulated network, and what must hold at every moment.

use super::scores::{Scores, Wish};
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::secure::{ClientToken, Random};
use sametick::{Client, Dice, Hosted, HostedConfig, PlayerId, Rates, Span, Time, View};

const STEP: Span = Span::millis(4);

pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

pub(crate) struct Member {
    pub(crate) host: Host,
    /// Until then its machine does nothing, and knows nothing of that.
    pub(crate) frozen_until: Time,
    /// None once its machine is dark.
    pub(crate) player: Option<Hosted<Scores>>,
    /// What was last news to it, since when, and the longest it had none.
    news: (u32, u32),
    news_at: Time,
    pub(crate) gap: Span,
    epoch: u32,
    tick: Option<u32>,
}

pub(crate) struct Party {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) members: Vec<Member>,
    pub(crate) random: Seeded,
    /// The newest epoch that was ever stepped, and how many were.
    epoch: u32,
    pub(crate) epochs: Vec<u32>,
}

/// 100 ms there and back, a little jitter, a little loss.
pub(crate) fn ordinary() -> Conditions {
    Conditions {
        delay: Span::millis(45),
        jitter: Jitter::Uniform { width: Span::millis(10) },
        loss: Loss::Random { probability: 0.02 },
        keep_order: false,
        ..Conditions::PERFECT
    }
}

impl Party {
    /// The first of them is the host.
    pub(crate) fn new(seed: u64, count: usize) -> Self {
        Self::over(seed, count, ordinary())
    }

    /// The same over other lines.
    pub(crate) fn over(seed: u64, count: usize, conditions: Conditions) -> Self {
        Self::with(seed, count, Rates::default(), conditions)
    }

    /// The same at other rates.
    pub(crate) fn with(seed: u64, count: usize, rates: Rates, conditions: Conditions) -> Self {
        let mut network = Network::new(seed);
        network.set_default_conditions(conditions);
        let random = Seeded(Dice::new(seed, 9));
        let (now, members) = (Time::ZERO, Vec::new());
        let mut party = Self { now, network, members, random, epoch: 0, epochs: vec![0] };
        let (host, random) = (party.network.add_host(), &mut party.random);
        let config = HostedConfig::open((), View::default(), random);
        let first = Hosted::open(config, seed, rates, now, random);
        party.members.push(Member::new(host, first, now));
        (1..count).for_each(|_| party.join(0));
        party
    }

    /// Somebody comes to the game that a member hosts.
    pub(crate) fn join(&mut self, at: usize) {
        let (host, random) = (self.network.add_host(), &mut self.random);
        let address = self.network.address(self.members[at].host);
        let config = HostedConfig::open((), View::default(), random);
        let player = Hosted::join_open(address, config, self.now, random);
        self.members.push(Member::new(host, player, self.now));
    }

    /// A player who has left comes back to the game that a member hosts, as the same.
    pub(crate) fn come_back(&mut self, member: usize, ticket: ClientToken, at: usize) {
        let (host, random) = (self.members[member].host, &mut self.random);
        let address = self.network.address(self.members[at].host);
        let config = HostedConfig::open((), View::default(), random);
        let player = Hosted::join(address, ticket, config, self.now, random);
        self.members[member] = Member::new(host, player, self.now);
    }

    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            self.now += STEP;
        }
    }

    pub(crate) fn kill(&mut self, member: usize) {
        self.members[member].player = None;
    }

    /// Cuts every line between the two sides; a bit for each member says on which it is.
    pub(crate) fn part(&mut self, sides: u32) {
        self.between(sides, |network, one, other| network.cut_both(one, other));
    }

    pub(crate) fn heal(&mut self) {
        let hosts: Vec<Host> = self.members.iter().map(|member| member.host).collect();
        for one in &hosts {
            hosts.iter().for_each(|other| self.network.heal(*one, *other));
        }
    }

    fn between(&mut self, sides: u32, mut act: impl FnMut(&mut Network, Host, Host)) {
        for (i, one) in self.members.iter().enumerate() {
            for (j, other) in self.members.iter().enumerate() {
                if sides >> i & 1 != sides >> j & 1 {
                    act(&mut self.network, one.host, other.host);
                }
            }
        }
    }

    pub(crate) fn client(&self, member: usize) -> &Client<Scores> {
        self.members[member].player.as_ref().expect("it is alive").client()
    }

    pub(crate) fn player(&mut self, member: usize) -> &mut Hosted<Scores> {
        self.members[member].player.as_mut().expect("it is alive")
    }

    pub(crate) fn alive(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|i| self.members[*i].player.is_some()).collect()
    }

    /// Who is the server at this moment.
    pub(crate) fn hosts(&self) -> Vec<usize> {
        let is_host = |i: &usize| {
            let member = &self.members[*i];
            let is_awake = member.frozen_until <= self.now;
            is_awake && member.player.as_ref().is_some_and(Hosted::is_host)
        };
        (0..self.members.len()).filter(is_host).collect()
    }

    /// How many play in the game that a member hosts.
    pub(crate) fn seated(&self, host: usize) -> usize {
        let server = self.members[host].player.as_ref().and_then(Hosted::server);
        server.map_or(0, |server| server.players().count())
    }

    pub(crate) fn identities(&self) -> Vec<Option<PlayerId>> {
        let me = |member: &Member| member.player.as_ref().and_then(|player| player.client().me());
        self.members.iter().map(me).collect()
    }

    /// All who are alive play one game, and one of them hosts it.
    pub(crate) fn check_united(&self) {
        let hosts = self.hosts();
        assert_eq!(hosts.len(), 1, "{hosts:?} host");
        let server = self.members[hosts[0]].player.as_ref().and_then(Hosted::server);
        let server = server.expect("it hosts");
        for i in self.alive() {
            let member = &self.members[i];
            assert_eq!(self.client(i).epoch(), server.epoch(), "member {i}");
            let age = self.now - member.news_at;
            assert!(age < Span::seconds(1), "member {i} has heard nothing for {age}");
        }
    }

    /// Forgets the gaps of the past.
    pub(crate) fn reset_gaps(&mut self) {
        self.members.iter_mut().for_each(|member| member.gap = Span::ZERO);
    }

    fn step(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        let mut stepped = Vec::new();
        let members = self.members.iter_mut().enumerate();
        for (index, member) in members.filter(|(_, member)| member.frozen_until <= now) {
            // A dark machine takes no datagrams either.
            while let Some(from) = self.network.receive(now, member.host, &mut datagram) {
                let Some(player) = &mut member.player else { continue };
                let answer = player.receive(now, from, &mut datagram, &mut self.random);
                if let Some(answer) = answer {
                    self.network.send(now, member.host, from, &answer);
                }
            }
            let Some(player) = &mut member.player else { continue };
            player.client_mut().command(Wish { works: true });
            player.advance(now, &mut self.random);
            while let Some((to, datagram)) = player.transmit() {
                self.network.send(now, member.host, to, &datagram);
            }
            if let Some(epoch) = member.observe(now) {
                stepped.push((index, epoch));
            }
        }
        assert!(stepped.len() <= 1, "{stepped:?} step at once, at {now}");
        for (index, epoch) in stepped {
            assert!(epoch >= self.epoch, "{index} steps epoch {epoch} after {}", self.epoch);
            self.epoch = epoch;
            if self.epochs.last() != Some(&epoch) {
                self.epochs.push(epoch);
            }
        }
        let hosts = self.hosts();
        assert!(hosts.len() <= 1, "{hosts:?} host at once, at {now}");
    }
}

impl Member {
    fn new(host: Host, player: Hosted<Scores>, now: Time) -> Self {
        Self {
            host,
            frozen_until: now,
            player: Some(player),
            news: (0, 0),
            news_at: now,
            gap: Span::ZERO,
            epoch: 0,
            tick: None,
        }
    }

    /// Keeps account of what came; the epoch of a server here that stepped just now.
    fn observe(&mut self, now: Time) -> Option<u32> {
        let player = self.player.as_ref()?;
        let client = player.client();
        let epoch = client.epoch().unwrap_or(0);
        assert!(epoch >= self.epoch, "a client went back from epoch {} to {epoch}", self.epoch);
        self.epoch = epoch;
        let news = (epoch, client.snapshot().map_or(0, |world| world.tick().0));
        if news.1 > 0 && news > self.news {
            self.gap = self.gap.max(now - self.news_at);
            (self.news, self.news_at) = (news, now);
        }
        let server = player.server();
        let tick = server.map(|server| server.world().tick().0);
        let before = std::mem::replace(&mut self.tick, tick);
        let has_stepped = before.is_some() && tick > before;
        server.filter(|_| has_stepped)?.epoch()
    }
}
