//! Bad networks: in virtual time over a link of memory, and in real time over the loopback.

use std::collections::VecDeque;

use sametick::network::{Conditions, Jitter, Loss, Statistics};
use sametick::{Peer, Span, Time};
use sametick_links::conditioner::{Direction, HELD_MAX, PEERS_MAX, Passage};
use sametick_links::{Clock, Conditioned, Departure, Link, Reason, UdpLink};

use crate::suite;

/// A link that keeps what it is given and receives what it was told to.
#[derive(Default)]
struct Memory {
    arriving: VecDeque<(Peer, Vec<u8>)>,
    sent: Vec<(Time, Peer, Vec<u8>)>,
    departed: VecDeque<Departure>,
    forgotten: Vec<Peer>,
}

impl Link for &mut Memory {
    fn local(&self) -> Peer {
        peer(0)
    }

    fn receive(&mut self, _now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        let (peer, datagram) = self.arriving.pop_front()?;
        *into = datagram;
        Some(peer)
    }

    fn send(&mut self, now: Time, to: Peer, datagram: &[u8]) {
        self.sent.push((now, to, datagram.to_vec()));
    }

    fn flush(&mut self, _now: Time) {}

    fn wait(&mut self, _clock: &Clock, _until: Time) {}

    fn departed(&mut self) -> Option<Departure> {
        self.departed.pop_front()
    }

    fn forget(&mut self, peer: Peer) {
        self.forgotten.push(peer);
    }
}

fn peer(port: u16) -> Peer {
    Peer::from_ipv4([127, 0, 0, 1], port)
}

fn late(millis: u64) -> Conditions {
    Conditions { delay: Span::millis(millis), ..Conditions::PERFECT }
}

/// Runs until nothing is under way; what arrives is given with its moment.
fn run(link: &mut impl Link, mut now: Time) -> Vec<(Time, Peer, Vec<u8>)> {
    let (mut received, mut datagram) = (Vec::new(), Vec::new());
    loop {
        while let Some(peer) = link.receive(now, &mut datagram) {
            received.push((now, peer, datagram.clone()));
        }
        match link.next_wake() {
            Some(wake) => now = wake,
            None => return received,
        }
    }
}

#[test]
fn peers_and_directions_have_their_own_conditions() {
    let arriving = [1, 2].map(|port| (peer(port), vec![port as u8])).into();
    let mut memory = Memory { arriving, ..Memory::default() };
    let mut link = Conditioned::new(&mut memory, 1);
    let (mine, theirs) = (Direction::Outbound, Direction::Inbound);
    link.set_conditions(mine, late(10));
    link.set_conditions(theirs, late(20));
    assert!(link.set_conditions_of(Time::ZERO, peer(2), mine, late(30)));
    assert!(link.set_conditions_of(Time::ZERO, peer(2), theirs, late(40)));
    assert_eq!(link.conditions(peer(2), mine).delay, Span::millis(30));
    (1..=3).for_each(|port| link.send(Time::ZERO, peer(port), &[port as u8]));
    let at = |millis, port: u16| (Time::from_millis(millis), peer(port), vec![port as u8]);
    assert_eq!(run(&mut link, Time::ZERO), [at(20, 1), at(40, 2)]);
    drop(link);
    assert_eq!(memory.sent, [at(10, 1), at(10, 3), at(30, 2)]);
}

#[test]
fn conditions_change_while_datagrams_are_under_way() {
    let mut memory = Memory::default();
    let mut link = Conditioned::new(&mut memory, 1);
    let way = Direction::Outbound;
    let now = Time::ZERO;
    link.send(now, peer(1), b"at once");
    link.set_conditions(way, late(50));
    link.send(now, peer(1), b"later");
    assert!(link.set_conditions_of(now, peer(1), way, late(90)));
    link.send(now, peer(1), b"last");
    link.set_conditions(way, late(10));
    assert_eq!(link.conditions(peer(1), way), &late(90));
    link.unset_conditions_of(peer(1), way);
    assert_eq!(link.conditions(peer(1), way), &late(10));
    assert!(run(&mut link, now).is_empty());
    drop(link);
    let sent: Vec<_> = memory.sent.iter().map(|(at, _, it)| (at.as_micros(), &it[..])).collect();
    assert_eq!(sent, [(0, &b"at once"[..]), (50_000, b"later"), (90_000, b"last")]);
}

/// The datagrams that come through, with their moments.
fn trace(seed: u64, port: u16) -> Vec<(Time, Vec<u8>)> {
    let mut memory = Memory::default();
    let mut link = Conditioned::new(&mut memory, seed);
    let conditions = Conditions {
        delay: Span::millis(5),
        jitter: Jitter::Normal { deviation: Span::millis(2) },
        loss: Loss::Random { probability: 0.3 },
        duplicate: 0.1,
        bit_flip: 0.1,
        keep_order: false,
        ..Conditions::PERFECT
    };
    link.set_conditions(Direction::Outbound, conditions);
    for index in 0..200_u64 {
        let now = Time::from_millis(index);
        link.send(now, peer(port), &index.to_le_bytes());
        link.flush(now);
    }
    run(&mut link, Time::from_millis(200));
    let statistics =
        *link.statistics_of(peer(port), Direction::Outbound).expect("the peer is known");
    assert!(statistics.closes() && statistics.in_flight == 0, "{statistics:?}");
    assert_eq!(link.statistics().outbound.released, statistics.delivered);
    drop(link);
    memory.sent.into_iter().map(|(at, _, datagram)| (at, datagram)).collect()
}

#[test]
fn a_seed_decides_and_an_address_does_not() {
    assert_eq!(trace(1, 5), trace(1, 5));
    assert_eq!(trace(1, 5), trace(1, 6));
    assert_ne!(trace(1, 5), trace(2, 5));
}

#[test]
fn the_log_tells_what_was_asked_and_what_was_done() {
    let mut memory = Memory::default();
    let mut link = Conditioned::new(&mut memory, 1);
    link.keep_log(2);
    link.set_conditions(Direction::Outbound, late(10));
    (0..3).for_each(|index| link.send(Time::from_millis(index), peer(1), b"x"));
    // The owner comes 5 ms too late for the second.
    [10, 16].iter().for_each(|millis| link.flush(Time::from_millis(*millis)));
    let passage = |entered, due, released| Passage {
        peer: peer(1),
        direction: Direction::Outbound,
        entered: Time::from_millis(entered),
        due: Time::from_millis(due),
        released: Time::from_millis(released),
    };
    assert_eq!(link.take_log(), [passage(0, 10, 10), passage(1, 11, 16)]);
    assert_eq!(link.take_log(), []);
    let statistics = link.statistics();
    assert_eq!((statistics.unlogged, statistics.outbound.released), (1, 3));
    assert_eq!(statistics.outbound.asked_mean(), Span::millis(10));
    assert_eq!(statistics.outbound.achieved_mean(), Span::millis(13));
    assert_eq!(statistics.outbound.late_max, Span::millis(5));
}

#[test]
fn what_is_under_way_has_a_bound() {
    let mut memory = Memory::default();
    let mut link = Conditioned::new(&mut memory, 1);
    link.set_conditions(Direction::Outbound, Conditions { duplicate: 0.5, ..late(1000) });
    let count = HELD_MAX + 1000;
    (0..count).for_each(|index| link.send(Time::ZERO, peer((index % 16) as u16), &[1]));
    let of = |port| *link.statistics_of(peer(port), Direction::Outbound).unwrap();
    let all: Vec<Statistics> = (0..16).map(of).collect();
    let sum = |of: fn(&Statistics) -> u64| all.iter().map(of).sum::<u64>();
    assert!(sum(|it| it.in_flight) <= HELD_MAX);
    assert!(link.statistics().overflow > 0);
    assert_eq!(sum(|it| it.pushed) + link.statistics().overflow, count);
    assert!(all.iter().all(Statistics::closes));
    // Afterwards there is room again.
    let overflow = link.statistics().overflow;
    run(&mut link, Time::ZERO);
    link.send(Time::from_seconds(2), peer(1), &[1]);
    assert_eq!(link.statistics().overflow, overflow);
}

#[test]
fn strangers_without_number_take_no_more_room_than_so() {
    let mut memory = Memory::default();
    let mut link = Conditioned::new(&mut memory, 1);
    let now = Time::ZERO;
    assert!(link.set_conditions_of(now, peer(1), Direction::Outbound, late(1)));
    // Each passes at once, so the one before it can be forgotten; those with conditions stay.
    for port in 2..PEERS_MAX as u16 + 200 {
        link.send(now, peer(port), b"hello");
        link.flush(now);
    }
    assert_eq!(link.statistics().overflow, 0);
    assert_eq!(link.conditions(peer(1), Direction::Outbound), &late(1));
    assert!(link.statistics_of(peer(2), Direction::Outbound).is_none());
    // With something under way to all of them nobody can be forgotten.
    link.set_conditions(Direction::Outbound, late(1));
    for port in 2..PEERS_MAX as u16 + 200 {
        link.send(now, peer(port), b"hello");
    }
    let overflow = link.statistics().overflow;
    assert_eq!(overflow, 199);
    assert!(!link.set_conditions_of(now, peer(60_000), Direction::Inbound, late(1)));
    run(&mut link, now);
    drop(link);
    assert_eq!(memory.sent.len() as u64, 2 * (PEERS_MAX as u64 + 198) - overflow);
}

#[test]
fn who_departs_is_heard_out_first_and_who_is_forgotten_told_everything() {
    let mut memory = Memory::default();
    let departure = Departure { peer: peer(1), reason: Reason::Closed };
    memory.arriving.push_back((peer(1), b"goodbye".to_vec()));
    memory.departed.push_back(departure);
    let mut link = Conditioned::new(&mut memory, 1);
    link.set_conditions(Direction::Inbound, late(30));
    link.set_conditions(Direction::Outbound, late(30));
    let mut datagram = Vec::new();
    assert_eq!(link.receive(Time::ZERO, &mut datagram), None);
    assert_eq!(link.departed(), None);
    assert_eq!(link.receive(Time::from_millis(30), &mut datagram), Some(peer(1)));
    assert_eq!((link.departed(), link.departed()), (Some(departure), None));

    link.send(Time::from_millis(30), peer(2), b"you are not welcome");
    link.forget(peer(2));
    assert!(link.link().forgotten.is_empty());
    link.flush(Time::from_millis(60));
    assert_eq!(link.link().forgotten, [peer(2)]);
    link.forget(peer(3));
    assert_eq!(link.link().forgotten, [peer(2), peer(3)]);
}

#[test]
fn what_no_network_can_be_is_refused() {
    let mut memory = Memory::default();
    let mut link = Conditioned::new(&mut memory, 1);
    let odd = Conditions { duplicate: 1.5, ..Conditions::PERFECT };
    let set = std::panic::AssertUnwindSafe(|| link.set_conditions(Direction::Inbound, odd));
    assert!(std::panic::catch_unwind(set).is_err());
}

/// Sends numbered datagrams over the loopback with conditions at one end; all must arrive, in order
/// and no earlier than asked.
fn check_real_time(outbound: Conditions, inbound: Conditions) {
    const COUNT: u64 = 60;
    let clock = suite::clock();
    let bind = || UdpLink::bind(suite::local()).expect("the loopback has a free port");
    let asked = outbound.delay + inbound.delay;
    let (mut sender, mut receiver) = (Conditioned::new(bind(), 3), Conditioned::new(bind(), 4));
    sender.set_conditions(Direction::Outbound, outbound);
    receiver.set_conditions(Direction::Inbound, inbound);
    let to = receiver.local();
    let echo = std::thread::spawn(move || {
        let (mut datagram, mut arrivals) = (Vec::new(), Vec::new());
        for _ in 0..COUNT {
            let Some(_) = suite::receive(&mut receiver, &clock, &mut datagram) else { break };
            let (sent, index) = datagram.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            arrivals.push((Time::from_micros(number(sent)), clock.now(), number(index)));
        }
        arrivals
    });
    for index in 0..COUNT {
        let now = clock.now();
        let datagram = [now.as_micros().to_le_bytes(), index.to_le_bytes()].concat();
        sender.send(now, to, &datagram);
        sender.wait(&clock, now + Span::millis(1));
    }
    while sender.next_wake().is_some() {
        sender.wait(&clock, clock.now() + Span::seconds(1));
    }
    let arrivals = echo.join().expect("the receiver ends well");
    assert_eq!(arrivals.len() as u64, COUNT);
    for (expected, (sent, arrived, index)) in (0..).zip(arrivals) {
        assert_eq!(index, expected);
        assert!(arrived - sent >= asked, "{index} took {} instead of {asked}", arrived - sent);
    }
    let statistics = sender.statistics_of(to, Direction::Outbound).expect("the peer is known");
    assert!(statistics.closes() && statistics.delivered == COUNT);
}

#[test]
fn in_real_time_nothing_comes_early_and_all_in_order() {
    let jittery = || {
        let jitter = Jitter::Uniform { width: Span::millis(4) };
        Conditions { delay: Span::millis(7), jitter, ..Conditions::PERFECT }
    };
    check_real_time(jittery(), Conditions::PERFECT);
    check_real_time(Conditions::PERFECT, jittery());
    check_real_time(jittery(), jittery());
}
