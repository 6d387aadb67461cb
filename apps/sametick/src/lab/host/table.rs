//! A table: doors of its own and a thread on which its trials are played, one after the other.

use super::carrier::{Doors, TableCarrier};
use crate::tokens;
use sametick::channel::Settings;
use sametick::endpoint::ListenerConfig;
use sametick::secure::{SystemRandom, TokenKey};
use sametick::{Span, Time};
use sametick_lab::{
    Achieved, Door, Ended, Library, Person, Trial, Watch, Wish, live_ground, play_live,
};
use sametick_links::web::WebLink;
use sametick_links::{Both, Clock, Link, UdpLink, address_of, web};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The most that may wait for a trial to take it.
const WISHES_MAX: usize = 256;
/// How often a table where nobody plays looks for something to do.
const LOOKS_EVERY: Span = Span::millis(20);

/// What is to be played.
pub(super) struct Order {
    pub(super) group: u32,
    pub(super) attempt: u32,
    pub(super) trial: Trial,
    pub(super) people: Vec<Person>,
    /// Seals the tokens of this trial and of no other.
    pub(super) key: TokenKey,
    pub(super) foreperiod: Span,
}

/// What a table tells.
pub(super) enum Said {
    Second { group: u32, achieved: Vec<Achieved> },
    Ended { group: u32, trial: u32, attempt: u32, began_us: i64, result: Result<Ended, String> },
}

/// Where a table is found, and how it is told what to do.
pub(super) struct Table {
    pub(super) door: web::Door,
    pub(super) udp: SocketAddr,
    orders: Option<SyncSender<Order>>,
    wishes: Arc<Mutex<VecDeque<Wish>>>,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Table {
    pub(super) fn open(
        udp: UdpLink,
        web: WebLink,
        library: Arc<Library>,
        said: SyncSender<Said>,
    ) -> std::io::Result<Self> {
        let (door, bound) = (web.door().clone(), address_of(udp.local()));
        let (orders, ordered) = sync_channel(1);
        let (wishes, stops) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let playing = Playing {
            library,
            said,
            wishes: Arc::clone(&wishes),
            stops: Arc::clone(&stops),
            ordered,
        };
        let thread = std::thread::Builder::new()
            .name("table".into())
            .spawn(move || playing.run(Both::new(udp, Some(web))))?;
        Ok(Self { door, udp: bound, orders: Some(orders), wishes, stops, thread: Some(thread) })
    }

    /// Has a trial played; false if another is still being played.
    pub(super) fn play(&self, order: Order) -> bool {
        lock(&self.wishes).clear();
        self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// Ends what is being played, and the table.
    pub(super) fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    /// Wants something of the trial that is being played.
    pub(super) fn wish(&self, wish: Wish) {
        let mut wishes = lock(&self.wishes);
        if wishes.len() < WISHES_MAX {
            wishes.push_back(wish);
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Microseconds since 1970. A machine's clock may be set while people play; breaks and what is due go by how much time
/// has passed since the first look at it.
pub(super) fn unix_us() -> i64 {
    static BEGUN: OnceLock<(Instant, i64)> = OnceLock::new();
    let (begun, at_us) = BEGUN.get_or_init(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        (Instant::now(), since.map_or(0, |since| since.as_micros() as i64))
    });
    at_us + begun.elapsed().as_micros() as i64
}

/// Plays; a mistake in the game ends one attempt, not the table: its group would wait for ever.
fn guarded<T>(play: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // The carrier gives the doors back when it is dropped, and nothing else outlives a trial.
    let played = std::panic::catch_unwind(AssertUnwindSafe(play));
    played.unwrap_or_else(|_| Err("the table failed: it is played again".to_owned()))
}

struct Playing {
    library: Arc<Library>,
    said: SyncSender<Said>,
    wishes: Arc<Mutex<VecDeque<Wish>>>,
    stops: Arc<AtomicBool>,
    ordered: Receiver<Order>,
}

impl Playing {
    fn run(self, both: Both) {
        let doors: Doors = Rc::new(RefCell::new(Some(both)));
        let clock = Clock::start();
        while !self.stops.load(Ordering::Relaxed) {
            match self.ordered.try_recv() {
                Ok(order) => {
                    let Order { group, attempt, ref trial, .. } = order;
                    let (trial, began_us) = (trial.number, unix_us());
                    let result = guarded(|| self.play(order, &doors));
                    let ended = Said::Ended { group, trial, attempt, began_us, result };
                    if self.said.send(ended).is_err() {
                        return;
                    }
                }
                Err(TryRecvError::Empty) => idle(&doors, &clock),
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn play(&self, order: Order, doors: &Doors) -> Result<Ended, String> {
        let Order { group, trial, people, key, foreperiod, .. } = order;
        live_ground(&trial, &self.library, foreperiod)?;
        let players = trial.settings.players() as usize;
        let seats: Vec<usize> = people.iter().map(|person| person.player as usize).collect();
        // The line's chance is the trial's, as in virtual time.
        let carrier = TableCarrier::open(doors, players, &seats, trial.seed)?;
        let random = &mut SystemRandom::new();
        let door = Door {
            listener: ListenerConfig {
                gate: tokens::fresh_gate(&key, random),
                channel: Settings::default(),
                connections_max: players,
                unix_seconds_at_zero: tokens::unix_seconds(),
            },
            token: Box::new(move |id| tokens::token(Some(&key), id, &mut SystemRandom::new())),
            random: Box::new(SystemRandom::new()),
            foreperiod,
        };
        let mut watch = Watcher { playing: self, group };
        let (carrier, library) = (Box::new(carrier), &self.library);
        play_live(&trial, library, carrier, &people, door, &mut watch)
    }
}

/// Takes what comes while nobody plays, so that it is not taken for the next trial's.
fn idle(doors: &Doors, clock: &Clock) {
    let mut doors = doors.borrow_mut();
    let Some(both) = doors.as_mut() else { return };
    let (until, mut datagram) = (clock.now() + LOOKS_EVERY, Vec::new());
    while clock.now() < until {
        both.wait(clock, until);
        let now: Time = clock.now();
        while both.receive(now, &mut datagram).is_some() {}
        while both.departed().is_some() {}
    }
}

struct Watcher<'a> {
    playing: &'a Playing,
    group: u32,
}

impl Watch for Watcher<'_> {
    fn second(&mut self, of: &[Achieved]) {
        let said = Said::Second { group: self.group, achieved: of.to_vec() };
        // A second that nobody has time for is left out: no table waits for whoever writes.
        let _ = self.playing.said.try_send(said);
    }

    fn wish(&mut self) -> Option<Wish> {
        match self.playing.stops.load(Ordering::Relaxed) {
            true => Some(Wish::Stop("the lab was stopped".to_owned())),
            false => lock(&self.playing.wishes).pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_outlives_a_trial_that_panics() {
        let broken = guarded::<()>(|| panic!("a mistake in the game"));
        assert_eq!(broken, Err("the table failed: it is played again".to_owned()));
        assert_eq!(guarded(|| Ok(3)), Ok(3));
    }
}
