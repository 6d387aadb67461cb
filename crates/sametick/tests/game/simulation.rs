//! Whole games by seed: a server and its guests over bad lines, who join, drop out, return, move to
//! other addresses and other maps. What must hold is checked in `ledger.rs`.

use super::Seeded;
use super::arena::{Arena, Goods, Map, Wish, Word};
use super::ledger::{BEHIND_MAX, Ledger};
use crate::gated::gated;
use sametick::Wire;
use sametick::channel::{RateLimits, Settings};
use sametick::codec::compact::Tables;
use sametick::codec::compact::train::train_streams;
use sametick::endpoint::ListenerConfig;
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::secure::{ClientToken, GateConfig, Past, TokenKey};
use sametick::{
    Base, Client, ClientEvent, Dice, Interpolation, Others, Rates, Server, Span, Time, View,
};
use sametick_seeds::Script;
use std::sync::Arc;

const STEP: Span = Span::millis(2);
/// How long lines are good and players quiet at the end.
const CALM: Span = Span::seconds(4);
const PROTOCOL: u64 = 7;
/// How often a guest looks at its screen, in steps.
const LOOKS_EVERY: u32 = 5;

/// A world of more goods takes several parts, and more than may be sent at once.
const SMALL_WORLD: u32 = 60;

/// How likely it is in a step that the server takes other tables.
const TABLES_CHANGE: f64 = 0.001;

/// All that a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    pub(crate) guests: u64,
    pub(crate) conditions: Conditions,
    /// Whether a snapshot always fits what may be sent, so that clients have everything.
    pub(crate) is_ample: bool,
    pub(crate) rates: Rates,
    pub(crate) map_changes: bool,
    /// Whether the server sends compact snapshots to guests who read them, with other tables now and then.
    pub(crate) is_compact: bool,
    /// Whether its rules foresee for them.
    pub(crate) foresees: bool,
    /// What comes into the world while the game goes on.
    pub(crate) goods: Goods,
    pub(crate) connections_max: usize,
    pub(crate) floor_bytes_per_second: u32,
    /// How long lines are good and players quiet at the end.
    pub(crate) calm: Span,
}

impl Options {
    /// Seeds from [`WIDE_FROM`](sametick_seeds::WIDE_FROM) on draw other worlds, players and links besides.
    pub(crate) fn expand(seed: u64, seconds: u64) -> Self {
        let options = Self::narrow(seed, seconds);
        if sametick_seeds::is_wide(seed) { options.widened() } else { options }
    }

    /// Worlds of up to 3,900 crates that come and go, up to 16 players, up to half a second there and back. Most draws
    /// are small: a world of thousands takes seconds to check.
    fn widened(mut self) -> Self {
        let mut dice = Dice::new(self.seed, 11);
        let sizes = [0, 0, 60, 60, 300, 300, 300, 1_000, 1_000, 3_900];
        let most = sizes[dice.below(sizes.len() as u64) as usize];
        let count = dice.below(most + 1) as u32;
        let per_tick = [1, 7, 50, 4_096][dice.below(4) as usize];
        let replaced_per_tick = [0, 0, 1, 4][dice.below(4) as usize];
        self.goods = Goods { count, per_tick, replaced_per_tick };
        let players = if count > 300 { [2, 2, 3, 4] } else { [2, 4, 8, 16] };
        self.guests = players[dice.below(4) as usize];
        self.connections_max = 64;
        let delays = [0, 5, 20, 60, 120, 250];
        self.conditions.delay = Span::millis(delays[dice.below(6) as usize]);
        if count > SMALL_WORLD {
            // It does not always fit what may be sent, whatever the floor is; and it takes the common baseline: with
            // the others everything that was not acknowledged in time is sent again, and a large world never arrives.
            (self.is_ample, self.rates.base) = (false, Base::Common);
            // At the floor it takes seconds until the rate has grown again, and then some more.
            self.calm = Span::seconds(8);
        }
        self
    }

    /// What seeds below draw, and drew always.
    pub(crate) fn narrow(seed: u64, seconds: u64) -> Self {
        let mut dice = Dice::new(seed, 1);
        let mut pick = |from: [f64; 3]| from[dice.below(3) as usize];
        let conditions = Conditions {
            delay: Span::from_millis_f64(pick([5.0, 40.0, 100.0])),
            jitter: Jitter::Uniform { width: Span::from_millis_f64(pick([0.0, 5.0, 30.0])) },
            loss: Loss::Random { probability: pick([0.0, 0.05, 0.2]) },
            duplicate: pick([0.0, 0.02, 0.1]),
            reorder: pick([0.0, 0.02, 0.1]),
            reorder_by: Span::millis(250),
            bit_flip: pick([0.0, 0.01, 0.01]),
            keep_order: false,
            ..Conditions::PERFECT
        };
        let tick_length = Span::from_millis_f64(pick([16.667, 16.667, 25.0]));
        let ticks_per_snapshot = pick([1.0, 3.0, 3.0]) as u32;
        let bases = [Base::Common, Base::Common, Base::LastAcknowledged, Base::None];
        let base = bases[(seed % 4) as usize];
        Self {
            seed,
            seconds,
            guests: 3 + seed % 2,
            conditions,
            is_ample: !seed.is_multiple_of(3),
            rates: Rates { tick_length, ticks_per_snapshot, base, ..Rates::default() },
            map_changes: seed % 4 != 1,
            is_compact: seed % 8 < 4,
            foresees: seed % 16 < 8,
            goods: Goods::default(),
            connections_max: 16,
            floor_bytes_per_second: if seed.is_multiple_of(3) { 2_000 } else { 250_000 },
            calm: CALM,
        }
    }
}

pub(crate) struct Guest {
    pub(crate) host: Host,
    pub(crate) identity: u64,
    pub(crate) client: Option<Client<Arena>>,
    pub(crate) view: View,
    ticket: Option<ClientToken>,
    back_at: Time,
    load_at: Option<(Time, u64)>,
    /// The map that was loaded last.
    map: u64,
    stamp: u32,
    wish: Wish,
}

struct Play {
    options: Options,
    now: Time,
    network: Network,
    server_host: Host,
    server: Server<Arena>,
    guests: Vec<Guest>,
    random: Seeded,
    dice: Dice,
    map: u64,
    /// What everyone has built in and what guests bring along, those in use first.
    tables: [Arc<Tables>; 2],
    brought: Arc<Tables>,
    ledger: Ledger,
    script: Script,
}

/// Plays one seed to its end; panics where something does not hold.
pub(crate) fn run(options: &Options, script: &Script) -> Ledger {
    let mut play = Play::new(options.clone(), script.clone());
    let end = Time::ZERO + Span::seconds(options.seconds);
    while play.now < end {
        let is_calm = play.now + options.calm >= end;
        if is_calm && play.now + options.calm < end + STEP {
            play.calm_down();
        }
        if !is_calm {
            play.act();
        }
        play.step(is_calm);
        play.now += STEP;
    }
    if play.ledger.check_end(play.now, &play.server, &play.guests, options) {
        // Somebody joined moments before the end. Its first snapshot must come all the same.
        let due = play.now + options.conditions.delay + BEHIND_MAX + STEP;
        while play.now <= due {
            play.step(true);
            play.now += STEP;
        }
        play.ledger.check_end(play.now, &play.server, &play.guests, options);
    }
    script.lasted(play.now.as_seconds_f64());
    play.ledger
}

impl Play {
    fn new(options: Options, script: Script) -> Self {
        let mut random = Seeded(Dice::new(options.seed, 2));
        let mut network = Network::new(options.seed);
        network.set_default_conditions(gated(&script, options.conditions.clone()));
        let server_host = network.add_host();
        let ticket_key = TokenKey::generate(&mut random);
        let past = Past::Unknown { started_unix_seconds: 0 };
        let config = ListenerConfig {
            gate: GateConfig::new(PROTOCOL, TokenKey::PUBLISHED, ticket_key, past),
            channel: Settings {
                rate: RateLimits {
                    floor_bytes_per_second: options.floor_bytes_per_second,
                    ..RateLimits::default()
                },
                ..Settings::default()
            },
            connections_max: options.connections_max,
            unix_seconds_at_zero: 0,
        };
        let map = Map { number: 0, goods: options.goods };
        let (seed, rates) = (options.seed, options.rates);
        let mut server = Server::new(config, map, seed, rates, Time::ZERO, &mut random);
        let tables = both_tables();
        if options.is_compact {
            server.use_tables(Arc::clone(&tables[0])).expect("they are of this game");
            assert!(!options.foresees || server.foresee(), "these rules do");
        }
        let mut dice = Dice::new(options.seed, 3);
        let guests = (0..options.guests).map(|number| {
            let snapshot_every = [0, 0, 2, 7][dice.below(4) as usize];
            let back_at = Time::from_millis(number * dice.below(3_000));
            let ways = [
                Others::Latest,
                Others::Extrapolated { at_most: Span::millis(100) },
                Others::Interpolated(Interpolation::HISTORY),
                Others::Interpolated(Interpolation::NEWEST),
                Others::Predicted,
            ];
            let others = ways[dice.below(5) as usize];
            let (predicts, stride) = (dice.chance(0.8), 1 + dice.below(4) as u32);
            let view = View { predicts, others, stride, snapshot_every, ..View::default() };
            Guest::new(network.add_host(), 100 + number, view, back_at)
        });
        let guests = guests.collect();
        let ledger = Ledger::default();
        let now = Time::ZERO;
        let map = 0;
        let brought = Arc::clone(&tables[1]);
        Self {
            options,
            now,
            network,
            server_host,
            server,
            guests,
            random,
            dice,
            map,
            tables,
            brought,
            ledger,
            script,
        }
    }

    /// What chance does to the players and their lines.
    fn act(&mut self) {
        let (now, script) = (self.now, &self.script);
        if self.options.map_changes
            && self.dice.chance(0.000_3)
            && script.allows("map", now, || format!("{} follows", self.map + 1))
        {
            self.map += 1;
            let map = Map { number: self.map, goods: self.options.goods };
            self.server.change(now, map, self.options.seed + self.map);
            self.ledger.change(self.map);
        }
        if self.options.is_compact && self.dice.chance(TABLES_CHANGE) {
            // Every second time at once back again: what waits was coded with the first.
            let times = 1 + self.dice.below(2);
            if script.allows("tables", now, || format!("change {times} times")) {
                for _ in 0..times {
                    self.tables.reverse();
                    let tables = Arc::clone(&self.tables[0]);
                    self.server.use_tables(tables).expect("they are of this game");
                }
            }
        }
        for guest in &mut self.guests {
            let identity = guest.identity;
            if self.dice.chance(0.000_3)
                && script.allows("rebind", now, || format!("{identity} moves to another address"))
            {
                self.network.rebind(now, guest.host);
            }
            if guest.client.is_some() && self.dice.chance(0.000_2) {
                let (says_goodbye, away) = (self.dice.chance(0.5), self.dice.below(6_000));
                let how = if says_goodbye { "leaves" } else { "vanishes" };
                if script.allows("leave", now, || format!("{identity} {how} for {away} ms")) {
                    if says_goodbye {
                        guest.say_goodbye(now, &mut self.network, self.server_host);
                    }
                    guest.client = None;
                    guest.back_at = now + Span::millis(away);
                }
            }
            if self.dice.chance(0.01) {
                let aim = self.dice.unit() as f32 * 6.0 - 3.0;
                let (walk, throw) = (self.dice.chance(0.7), self.dice.chance(0.1));
                guest.wish = Wish { aim, walk, throw, ..Wish::default() };
            }
        }
    }

    fn calm_down(&mut self) {
        let good = Conditions { delay: self.options.conditions.delay, ..Conditions::PERFECT };
        for guest in &mut self.guests {
            self.network.set_conditions(guest.host, self.server_host, good.clone());
            self.network.set_conditions(self.server_host, guest.host, good.clone());
            guest.wish = Wish::default();
            guest.back_at = guest.back_at.min(self.now);
            guest.load_at = guest.load_at.map(|(_, map)| (self.now, map));
        }
    }

    fn step(&mut self, is_calm: bool) {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.network.receive(now, self.server_host, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
                self.network.send(now, self.server_host, from, &answer);
            }
        }
        self.server.advance(now);
        self.ledger.record(now, &self.options, &mut self.server);
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.network.send(now, self.server_host, to, datagram);
        }
        for index in 0..self.guests.len() {
            self.step_guest(index, is_calm);
        }
    }

    fn step_guest(&mut self, index: usize, is_calm: bool) {
        let (now, mut datagram) = (self.now, Vec::new());
        let server = self.network.address(self.server_host);
        let guest = &mut self.guests[index];
        if guest.client.is_none() && now >= guest.back_at {
            let map = Map { number: self.map, goods: self.options.goods };
            guest.knock(now, server, map, &self.brought, &mut self.random);
        }
        while self.network.receive(now, guest.host, &mut datagram).is_some() {
            if let Some(client) = &mut guest.client {
                client.receive(now, &mut datagram);
            }
        }
        let Some(client) = &mut guest.client else { return };
        guest.stamp += 1;
        client.command(Wish { stamp: guest.stamp, ..guest.wish.clone() });
        client.advance(now);
        if let Some((_, map)) = guest.load_at.take_if(|(at, _)| *at <= now) {
            guest.map = map;
            client.load(now, Map { number: map, goods: self.options.goods });
        }
        for event in client.take_events() {
            match event {
                ClientEvent::Joined(_) => self.ledger.begin(now, guest.identity, guest.map),
                ClientEvent::GameChanged { content } => {
                    let wait = if is_calm { 0 } else { self.dice.below(500) };
                    guest.load_at = Some((now + Span::millis(wait), content));
                }
                ClientEvent::Denied(_) | ClientEvent::Left(_) => guest.back_at = now,
                ClientEvent::Migrating(_) => unreachable!("nobody hosts this game"),
            }
        }
        guest.ticket = client.ticket().cloned().or(guest.ticket.take());
        if guest.stamp.is_multiple_of(LOOKS_EVERY) {
            client.view(now);
        }
        self.ledger.check_client(now, &self.options, guest.identity, guest.stamp, client);
        while let Some(datagram) = client.transmit(now) {
            self.network.send(now, guest.host, server, datagram);
        }
        if client.is_over() {
            guest.client = None;
        }
    }
}

/// Two that differ in how they code what players ask for and what happens.
fn both_tables() -> [Arc<Tables>; 2] {
    let wire = Wire::of::<Arena>();
    let built_in = || Tables::built_in(wire.layouts());
    let wishes = [0, 1, 2].map(|stamp| wire.commands().record(&Wish { stamp, ..Wish::default() }));
    let words = [0, 1, 2].map(|tick| vec![wire.events().record(&Word { tick, ..Word::default() })]);
    let (commands, events) =
        ((wire.commands(), &[wishes.to_vec()][..]), (wire.events(), &words[..]));
    let both = [built_in(), train_streams(built_in(), commands, events)];
    assert_ne!(both[0].hash(), both[1].hash(), "they are the same");
    both.map(Arc::new)
}

impl Guest {
    fn new(host: Host, identity: u64, view: View, back_at: Time) -> Self {
        Self {
            host,
            identity,
            client: None,
            view,
            ticket: None,
            back_at,
            load_at: None,
            map: 0,
            stamp: 0,
            wish: Wish::default(),
        }
    }

    /// Comes for the first time, or back: with the ticket, or as a stranger of the same name.
    fn knock(
        &mut self,
        now: Time,
        server: sametick::Peer,
        map: Map,
        tables: &Arc<Tables>,
        random: &mut Seeded,
    ) {
        let fresh = ClientToken::open_mode(PROTOCOL, self.identity, b"", random);
        let fresh = fresh.expect("nothing is attached");
        let token = self.ticket.take().unwrap_or(fresh);
        (self.map, self.load_at) = (map.number, None);
        let client = Client::new(server, token, map, self.view, now, random);
        self.client = Some(match self.identity {
            101 => client.plain_only(),
            102 => client,
            _ => client.with_tables(Arc::clone(tables)),
        });
    }

    fn say_goodbye(&mut self, now: Time, network: &mut Network, server_host: Host) {
        let Some(client) = &mut self.client else { return };
        client.close(now);
        while let Some(datagram) = client.transmit(now) {
            network.send(now, self.host, network.address(server_host), datagram);
        }
    }
}
