//! A server and a client on the street over a simulated network, in steps of a millisecond, and what a
//! [`Health`] says of it frame by frame.

use super::street::{Street, Wish};
use sametick::channel::{RateLimits, Settings};
use sametick::endpoint::ListenerConfig;
use sametick::health::{
    FRAMES_MAX, Figures, Health, Kind, Link, SHOWN_FOR_MIN, Severity, UPDATES_MAX, Work,
};
use sametick::network::stream::{Side, Stream};
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::secure::{ClientToken, GateConfig, Past, Random, TokenKey};
use sametick::{Client, Dice, Rates, Server, Span, Time, View};

pub(crate) const SEED: u64 = 11;
const PROTOCOL: u64 = 5;

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// A warning that was shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) kind: Kind,
    pub(crate) severity: Severity,
    /// The first words and the last.
    pub(crate) sentences: [String; 2],
    pub(crate) from: Time,
    pub(crate) until: Time,
}

pub(crate) struct Run {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) here: Host,
    pub(crate) there: Host,
    pub(crate) server: Server<Street>,
    pub(crate) client: Client<Street>,
    pub(crate) health: Health,
    /// How long a frame takes, and a tick of the server.
    pub(crate) frame: Span,
    pub(crate) tick_takes: Span,
    pub(crate) shown: Vec<Shown>,
    /// What the client received, without what the layers below add.
    pub(crate) received_bytes: u64,
    /// In place of the network: a stream, and what is left of a frame at each side.
    stream: Option<(Stream, [Vec<u8>; 2])>,
    next_frame: Time,
    random: Seeded,
}

impl Run {
    pub(crate) fn new(line: &Conditions) -> Self {
        Self::with(line, Rates::USUAL, View::USUAL, 0)
    }

    pub(crate) fn with(line: &Conditions, rates: Rates, view: View, lamps: u32) -> Self {
        let mut random = Seeded(Dice::new(SEED, 9));
        let mut network = Network::new(SEED);
        network.set_default_conditions(line.clone());
        let (here, there) = (network.add_host(), network.add_host());
        let now = Time::ZERO;
        Self {
            now,
            server: Server::open(lamps, SEED, rates, now, &mut random),
            client: Client::open(network.address(here), lamps, view, now, &mut random),
            network,
            here,
            there,
            health: Health::new(Link::Datagrams),
            frame: Span::millis(16),
            tick_takes: Span::millis(2),
            shown: Vec::new(),
            received_bytes: 0,
            stream: None,
            next_frame: now,
            random,
        }
    }

    /// On a perfect line, but the server may send no more than this in a second.
    pub(crate) fn limited(ceiling_bytes_per_second: u32, lamps: u32) -> Self {
        let mut run = Self::with(&line(30), Rates::USUAL, View::USUAL, lamps);
        let rate = RateLimits { ceiling_bytes_per_second, ..RateLimits::default() };
        let past = Past::Unknown { started_unix_seconds: 0 };
        let ticket_key = TokenKey::generate(&mut run.random);
        let config = ListenerConfig {
            gate: GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, ticket_key, past),
            channel: Settings { rate, ..Settings::default() },
            connections_max: 4,
            unix_seconds_at_zero: 0,
        };
        let random = &mut run.random;
        run.server = Server::new(config, lamps, SEED, Rates::USUAL, run.now, random);
        let token = ClientToken::open_mode(PROTOCOL, 1, b"", random).expect("nothing is attached");
        let server = run.network.address(run.here);
        run.client = Client::new(server, token, lamps, View::USUAL, run.now, random);
        run
    }

    /// Over a stream instead.
    pub(crate) fn over_stream(line: &Conditions, link: Link) -> Self {
        let mut run = Self::new(&Conditions::PERFECT);
        run.stream = Some((Stream::new(SEED, line.clone(), line.clone()), Default::default()));
        run.health.set_link(link);
        run
    }

    pub(crate) fn up(&mut self, line: Conditions) {
        self.network.set_conditions(self.there, self.here, line);
    }

    pub(crate) fn down(&mut self, line: Conditions) {
        self.network.set_conditions(self.here, self.there, line);
    }

    /// Nothing gets to the server from now on, or from it.
    pub(crate) fn cut(&mut self, up: bool, down: bool) {
        let (here, there) = (self.here, self.there);
        self.network.heal_both(here, there);
        if up {
            self.network.cut(there, here);
        }
        if down {
            self.network.cut(here, there);
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        self.health.figures(self.now)
    }

    pub(crate) fn seconds(&mut self, seconds: u64) -> &mut Self {
        self.millis(seconds * 1_000)
    }

    pub(crate) fn millis(&mut self, millis: u64) -> &mut Self {
        let end = self.now + Span::millis(millis);
        while self.now < end {
            self.serve();
            if self.now >= self.next_frame {
                self.play();
                self.next_frame = self.now + self.frame;
            }
            self.now += Span::millis(1);
        }
        self
    }

    /// The client stands still meanwhile.
    pub(crate) fn away(&mut self, seconds: u64) -> &mut Self {
        self.next_frame = self.now + Span::seconds(seconds);
        self.seconds(seconds)
    }

    fn serve(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.receive(Side::Far, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
                self.send(Side::Far, &answer);
            }
        }
        let before = self.server.world().tick();
        self.server.advance(now);
        while let Some((_, datagram)) = self.server.transmit(now) {
            let datagram = datagram.to_vec();
            self.send(Side::Far, &datagram);
        }
        let ticks = self.server.world().tick().0 - before.0;
        self.server.worked(self.tick_takes * u64::from(ticks));
    }

    fn play(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        while self.receive(Side::Near, &mut datagram).is_some() {
            self.received_bytes += datagram.len() as u64;
            self.client.receive(now, &mut datagram);
        }
        let leg = now.as_micros() / 700_000;
        self.client.command(Wish { east: if leg.is_multiple_of(2) { 1 } else { -1 } });
        self.client.advance(now);
        while let Some(datagram) = self.client.transmit(now).map(<[u8]>::to_vec) {
            self.send(Side::Near, &datagram);
        }
        self.client.view(now);
        let work = Work { frame: self.frame, repredicted: Span::micros(300) };
        let seen = self.client.observe();
        self.health.frame(now, work, seen);
        assert!(self.health.updates().len() <= UPDATES_MAX, "seed {SEED}");
        assert!(self.health.frames().len() <= FRAMES_MAX, "seed {SEED}");
        self.take_down(now);
    }

    fn take_down(&mut self, now: Time) {
        let Some(warning) = self.health.warning() else { return };
        let words = warning.sentence.clone();
        match self.shown.last_mut().filter(|shown| shown.from == warning.since) {
            Some(shown) => {
                shown.until = now;
                shown.severity = shown.severity.max(warning.severity);
                shown.sentences[1] = words;
            }
            None => self.shown.push(Shown {
                kind: warning.kind,
                severity: warning.severity,
                sentences: [words.clone(), words],
                from: now,
                until: now,
            }),
        }
    }

    fn send(&mut self, from: Side, datagram: &[u8]) {
        if let Some((stream, _)) = &mut self.stream {
            let frame = [&(datagram.len() as u16).to_le_bytes(), datagram].concat();
            assert_eq!(stream.send(self.now, from, &frame), frame.len(), "seed {SEED}");
            return;
        }
        let (from, to) = match from {
            Side::Near => (self.there, self.here),
            Side::Far => (self.here, self.there),
        };
        self.network.send(self.now, from, self.network.address(to), datagram);
    }

    fn receive(&mut self, at: Side, datagram: &mut Vec<u8>) -> Option<sametick::Peer> {
        let Some((stream, left)) = &mut self.stream else {
            let host = if at == Side::Near { self.there } else { self.here };
            return self.network.receive(self.now, host, datagram);
        };
        stream.advance(self.now);
        let left = &mut left[usize::from(at == Side::Far)];
        stream.receive(self.now, at, left);
        let length = usize::from(u16::from_le_bytes(*left.first_chunk()?));
        if left.len() < 2 + length {
            return None;
        }
        *datagram = left[2..2 + length].to_vec();
        left.drain(..2 + length);
        Some(self.network.address(if at == Side::Near { self.here } else { self.there }))
    }

    /// The stretches in which a warning was shown, after checking that each could be read.
    pub(crate) fn stretches(&self, of: Kind) -> Vec<&Shown> {
        for (index, shown) in self.shown.iter().enumerate() {
            let next = self.shown.get(index + 1);
            let is_over = shown.until + self.frame * 2 < self.now;
            let is_overruled = next.is_some_and(|next| next.severity == Severity::Severe);
            let lasted = shown.until - shown.from + self.frame * 2;
            let is_read = lasted >= SHOWN_FOR_MIN || !is_over || is_overruled;
            assert!(is_read, "seed {SEED}: {shown:?} flickers in {:#?}", self.shown);
        }
        self.shown.iter().filter(|shown| shown.kind == of).collect()
    }

    /// The one stretch of a warning.
    pub(crate) fn only(&self, of: Kind) -> &Shown {
        match self.stretches(of)[..] {
            [one] => one,
            _ => panic!("seed {SEED}: {of:?} is not shown once in {:#?}", self.shown),
        }
    }

    /// Nothing at all was warned of.
    pub(crate) fn is_silent(&self) {
        assert!(self.shown.is_empty(), "seed {SEED}: {:#?}", self.shown);
    }
}

pub(crate) fn line(delay_millis: u64) -> Conditions {
    Conditions { delay: Span::millis(delay_millis), ..Conditions::PERFECT }
}

pub(crate) fn lossy(delay_millis: u64, probability: f64) -> Conditions {
    Conditions { loss: Loss::Random { probability }, ..line(delay_millis) }
}

pub(crate) fn jittery(delay_millis: u64, width_millis: u64) -> Conditions {
    let jitter = Jitter::Uniform { width: Span::millis(width_millis) };
    Conditions { jitter, keep_order: true, ..line(delay_millis) }
}
