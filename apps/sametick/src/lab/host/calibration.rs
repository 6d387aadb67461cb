//! The calibration table: one match against targets for everyone who is new, with nothing added to anyone's line. Here
//! the server finds how long each line takes by itself.

use super::table::lock;
use crate::tokens;
use sametick::channel::Settings;
use sametick::endpoint::ListenerConfig;
use sametick::secure::{SystemRandom, TokenKey};
use sametick::{PlayerId, Rates, Server, ServerEvent, Span};
use sametick_arena::{Arena, Content};
use sametick_links::web::{self, WebLink};
use sametick_links::{Both, Clock, Link, UdpLink, address_of, drive_server};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How often every line is looked at.
const LOOKS_EVERY: Span = Span::millis(100);
/// So many looks make a floor, the newest of more: three seconds.
const LOOKS_LEAST: usize = 30;
const LOOKS_MAX: usize = 100;

/// The looks at each seat's line, in milliseconds.
type Looks = Arc<Mutex<BTreeMap<u64, VecDeque<f64>>>>;

/// Where the table is found, and what it found.
pub(super) struct Calibration {
    pub(super) door: web::Door,
    pub(super) udp: SocketAddr,
    pub(super) key: TokenKey,
    pub(super) content: Content,
    pub(super) rates: Rates,
    pub(super) map: String,
    /// Its own text, if it is none that everyone has.
    pub(super) map_text: Option<String>,
    pub(super) model: String,
    looks: Looks,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Calibration {
    pub(super) fn open(
        udp: UdpLink,
        web: WebLink,
        (content, rates): (Content, Rates),
        [map, model]: [String; 2],
        map_text: Option<String>,
        seats: usize,
    ) -> std::io::Result<Self> {
        let (door, bound) = (web.door().clone(), address_of(udp.local()));
        let random = &mut SystemRandom::new();
        let key = TokenKey::generate(random);
        let config = ListenerConfig {
            gate: tokens::fresh_gate(&key, random),
            channel: Settings::default(),
            connections_max: seats,
            unix_seconds_at_zero: tokens::unix_seconds(),
        };
        let (looks, stops) = (Looks::default(), Arc::<AtomicBool>::default());
        let (known, stopped, played) = (Arc::clone(&looks), Arc::clone(&stops), content.clone());
        let thread = std::thread::Builder::new().name("calibration".into()).spawn(move || {
            let (clock, random) = (Clock::start(), &mut SystemRandom::new());
            let server = Server::new(config, played, 1, rates, clock.now(), random);
            run(server, Both::new(udp, Some(web)), &clock, &known, &stopped);
        })?;
        let thread = Some(thread);
        Ok(Self {
            door,
            udp: bound,
            key,
            content,
            rates,
            map,
            map_text,
            model,
            looks,
            stops,
            thread,
        })
    }

    /// How long a seat's line takes there and back, once that is known: the middle of the newest looks.
    pub(super) fn floor_ms(&self, seat: u64) -> Option<f64> {
        let looks = lock(&self.looks);
        let mut looks: Vec<f64> = looks.get(&seat)?.iter().copied().collect();
        looks.sort_by(f64::total_cmp);
        (looks.len() >= LOOKS_LEAST).then(|| looks[looks.len() / 2])
    }
}

impl Drop for Calibration {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    mut server: Server<Arena>,
    mut link: Both,
    clock: &Clock,
    looks: &Looks,
    stops: &AtomicBool,
) {
    let mut seats: BTreeMap<PlayerId, u64> = BTreeMap::new();
    let mut next_look = clock.now();
    while !stops.load(Ordering::Relaxed) {
        let now = clock.now();
        drive_server(&mut server, &mut link, now, &mut SystemRandom::new());
        for event in server.take_events() {
            match event {
                ServerEvent::Joined { player, client_id } => {
                    seats.insert(player, client_id);
                    // Another page, perhaps on another line.
                    lock(looks).remove(&client_id);
                }
                ServerEvent::Left { player, .. } => _ = seats.remove(&player),
            }
        }
        server.take_verdicts();
        server.take_claims();
        if now >= next_look {
            next_look = now + LOOKS_EVERY;
            let mut looks = lock(looks);
            for (player, seat) in &seats {
                let trip = server.statistics(*player).and_then(|it| it.round_trip.smoothed);
                let Some(trip) = trip else { continue };
                let seat = looks.entry(*seat).or_default();
                if seat.len() == LOOKS_MAX {
                    seat.pop_front();
                }
                seat.push_back(trip.as_millis_f64());
            }
        }
        link.wait(clock, server.next_wake().min(next_look));
    }
}
