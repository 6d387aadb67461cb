//! Hosts on a simulated network: the same seed gives the same run, pairs do not disturb each other,
//! and every datagram is accounted for whatever happens at once.

mod golden;

use golden::{GOLDEN_HASH, trace_hash};
use proptest::prelude::*;
use sametick::network::{Conditions, Host, Jitter, Loss, Network, Outage, Profile, Trace};
use sametick::{Peer, Span, Time};

/// All that has arrived at a host by now.
fn received(network: &mut Network, now: Time, host: Host) -> Vec<(Peer, Vec<u8>)> {
    let mut bytes = Vec::new();
    std::iter::from_fn(|| {
        network.receive(now, host, &mut bytes).map(|sender| (sender, bytes.clone()))
    })
    .collect()
}

fn two_hosts(seed: u64, delay: Span) -> (Network, Host, Host) {
    let mut network = Network::new(seed);
    network.set_default_conditions(Conditions { delay, ..Conditions::PERFECT });
    let (one, other) = (network.add_host(), network.add_host());
    (network, one, other)
}

#[test]
fn the_same_seed_gives_the_same_run_on_every_machine() {
    assert_eq!(trace_hash(1), GOLDEN_HASH, "{:#018x}", trace_hash(1));
    assert_ne!(trace_hash(2), GOLDEN_HASH);
}

#[test]
fn datagrams_arrive_from_whom_they_come() {
    let (mut network, one, other) = two_hosts(1, Span::millis(5));
    let (from, to) = (network.address(one), network.address(other));
    network.send(Time::ZERO, one, to, b"hello");
    assert_eq!(network.next_wake(), Some(Time::from_millis(5)));
    assert_eq!((network.next_wake_of(one), network.host_at(to)), (None, Some(other)));
    assert_eq!(received(&mut network, Time::from_millis(4), other), []);
    let expected = [(from, b"hello".to_vec())];
    assert_eq!(received(&mut network, Time::from_millis(5), other), expected);
}

#[test]
fn those_that_arrive_together_come_in_the_order_in_which_they_were_sent() {
    let mut network = Network::new(1);
    let hosts: Vec<Host> = (0..9).map(|_| network.add_host()).collect();
    let to = network.address(hosts[0]);
    for sender in hosts[1..].iter().rev() {
        network.send(Time::ZERO, *sender, to, b"");
    }
    let senders: Vec<Peer> = hosts[1..].iter().rev().map(|host| network.address(*host)).collect();
    let arrived = received(&mut network, Time::ZERO, hosts[0]);
    assert_eq!(arrived.into_iter().map(|(sender, _)| sender).collect::<Vec<_>>(), senders);
}

#[test]
fn a_forger_is_taken_for_another_but_uses_his_own_line() {
    let mut network = Network::new(1);
    let [server, victim, forger] = std::array::from_fn(|_| network.add_host());
    let (to, claimed) = (network.address(server), network.address(victim));
    network.send_as(Time::ZERO, forger, claimed, to, b"kick me");
    assert_eq!(received(&mut network, Time::ZERO, server), [(claimed, b"kick me".to_vec())]);
    assert_eq!(network.statistics(forger, server).delivered, 1);
    assert_eq!(network.statistics(victim, server).pushed, 0);
}

#[test]
fn a_cut_is_one_way() {
    let (mut network, one, other) = two_hosts(1, Span::ZERO);
    let (at_one, at_other) = (network.address(one), network.address(other));
    let exchange = |network: &mut Network| {
        network.send(Time::ZERO, one, at_other, b"there");
        network.send(Time::ZERO, other, at_one, b"back");
        [other, one].map(|host| received(network, Time::ZERO, host).len())
    };
    network.cut(one, other);
    assert_eq!(exchange(&mut network), [0, 1]);
    network.heal(one, other);
    assert_eq!(exchange(&mut network), [1, 1]);
    network.cut_both(other, one);
    assert_eq!(exchange(&mut network), [0, 0]);
    network.heal_both(one, other);
    assert_eq!(exchange(&mut network), [1, 1]);
    assert_eq!(network.statistics_of_all().cut, 3);
}

#[test]
fn an_outage_passes() {
    let (mut network, one, other) = two_hosts(1, Span::ZERO);
    let to = network.address(other);
    let (begins, ends) = (Time::from_seconds(1), Time::from_seconds(2));
    network.add_outage(Time::ZERO, one, other, Outage { begins, ends, holds: false });
    let arrived: Vec<usize> = [999, 1_000, 1_999, 2_000]
        .map(|millis| {
            network.send(Time::from_millis(millis), one, to, b"");
            received(&mut network, Time::from_millis(millis), other).len()
        })
        .to_vec();
    assert_eq!(arrived, [1, 0, 0, 1]);
}

#[test]
fn rebinding_changes_the_address_and_loses_what_is_under_way_to_the_old_one() {
    let (mut network, server, client) = two_hosts(1, Span::millis(50));
    let (at_server, before) = (network.address(server), network.address(client));
    let ms = Time::from_millis;
    network.send(ms(0), server, before, b"arrived, not taken out");
    network.send(ms(30), server, before, b"under way");
    network.send(ms(30), client, at_server, b"old");
    let after = network.rebind(ms(60), client);
    assert_ne!(before, after);
    assert_eq!((network.host_at(before), network.address(client)), (None, after));
    network.send(ms(60), server, before, b"nobody is here");
    network.send(ms(60), server, after, b"found again");
    network.send(ms(60), client, at_server, b"new");

    let expected = [(at_server, b"arrived, not taken out".to_vec())];
    assert_eq!(received(&mut network, ms(60), client), expected);
    assert_eq!(received(&mut network, ms(500), client), [(at_server, b"found again".to_vec())]);
    // What the client sent before keeps the address that it was sent from.
    let expected = [(before, b"old".to_vec()), (after, b"new".to_vec())];
    assert_eq!(received(&mut network, ms(500), server), expected);
    let statistics = network.statistics(server, client);
    assert_eq!((statistics.misaddressed, network.unrouted()), (1, 1));
    assert!(statistics.closes(), "{statistics:?}");
}

#[test]
fn clocks_drift_apart() {
    let (mut network, one, other) = two_hosts(1, Span::ZERO);
    network.clock_mut(one).drift_ppm = 500;
    network.clock_mut(other).drift_ppm = -500;
    let now = Time::from_seconds(60);
    let apart = network.clock(one).local(now) - network.clock(other).local(now);
    assert_eq!(apart, Span::millis(60));
    // A host that asks to be woken after a second of its own is woken when that has passed.
    let wake = network.clock(other).global(network.clock(other).local(now) + Span::seconds(1));
    assert_eq!(wake - now, Span::micros(1_000_501));
}

#[test]
fn the_traffic_of_one_pair_does_not_change_the_fate_of_another() {
    let fates = |is_busy: bool| {
        let mut network = Network::new(5);
        let [server, client, busy] = std::array::from_fn(|_| network.add_host());
        let bad = Profile::named("bad").unwrap();
        network.set_profile(client, server, &bad);
        network.set_profile(busy, server, &bad);
        let to = network.address(server);
        let mut fates = Vec::new();
        for frame in 0..1_000u64 {
            let now = Time::from_millis(frame * 16);
            (0..3 * u64::from(is_busy)).for_each(|_| network.send(now, busy, to, b"noise"));
            network.send(now, client, to, &frame.to_le_bytes());
            let from_client = network.address(client);
            let arrived = received(&mut network, now, server);
            let arrived = arrived.into_iter().filter(|(sender, _)| *sender == from_client);
            fates.extend(arrived.map(|(_, bytes)| (frame, bytes)));
        }
        fates
    };
    assert_eq!(fates(false), fates(true));
    assert!(fates(true).len() > 800);
}

#[test]
fn defaults_are_for_lines_to_come() {
    let (mut network, one, other) = two_hosts(1, Span::millis(5));
    let delay = Span::millis(9);
    network.set_conditions(one, other, Conditions { delay, ..Conditions::PERFECT });
    network.set_default_conditions(Conditions::PERFECT);
    assert_eq!(network.conditions(one, other).delay, delay);
    assert_eq!(network.conditions(other, one), &Conditions::PERFECT);
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let span = |millis: u64| (0..=millis * 1_000).prop_map(Span::micros);
    let jitter = prop_oneof![
        Just(Jitter::None),
        span(50).prop_map(|width| Jitter::Uniform { width }),
        span(50).prop_map(|deviation| Jitter::Normal { deviation }),
        (span(20), 0.1..5.0, span(300)).prop_map(|(scale, shape, cap)| Jitter::Pareto {
            scale,
            shape,
            cap
        }),
        Just(Jitter::Trace(Trace::parse("1\n30\n7.25").expect("a trace"))),
    ];
    let loss = prop_oneof![
        Just(Loss::None),
        (0.0..=1.0).prop_map(|probability| Loss::Random { probability }),
        (0.0..=1.0, 0.0..=1.0, 0.0..=0.5, 0.0..=1.0).prop_map(
            |(enter, leave, loss_good, loss_bad)| Loss::Burst { enter, leave, loss_good, loss_bad }
        ),
    ];
    let line = (
        prop::option::of(1_000..10_000_000u32),
        0..100_000u32,
        0..100u32,
        prop_oneof![Just(1_200usize), 0..2_000usize],
    );
    let faults = (0.0..=1.0, 0.0..=1.0, span(250), 0.0..=1.0, 0.0..=1.0);
    (span(200), jitter, any::<bool>(), loss, line, faults).prop_map(
        |(delay, jitter, keep_order, loss, line, faults)| Conditions {
            delay,
            jitter,
            keep_order,
            loss,
            duplicate: faults.0,
            reorder: faults.1,
            reorder_by: faults.2,
            bit_flip: faults.3,
            truncate: faults.4,
            bandwidth_bytes_per_second: line.0,
            queue_bytes_max: line.1,
            overhead_bytes: line.2,
            mtu_bytes: line.3,
        },
    )
}

#[derive(Clone, Debug)]
enum Action {
    Send(usize),
    Receive,
    Cut,
    Heal,
    Outage(bool),
    Rebind,
    Change(Box<Conditions>),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        30 => (0..1_500usize).prop_map(Action::Send),
        10 => Just(Action::Receive),
        1 => Just(Action::Cut),
        2 => Just(Action::Heal),
        1 => any::<bool>().prop_map(Action::Outage),
        1 => Just(Action::Rebind),
        1 => conditions().prop_map(|conditions| Action::Change(Box::new(conditions))),
    ]
}

proptest! {
    #[test]
    fn every_datagram_is_accounted_for_whatever_happens_at_once(
        seed: u64,
        first in conditions(),
        actions in prop::collection::vec((0..20_000u64, action()), 0..300),
    ) {
        let (mut network, one, other) = two_hosts(seed, Span::ZERO);
        network.set_conditions(one, other, first);
        let (mut now, mut taken) = (Time::ZERO, 0);
        for (micros, action) in actions {
            now += Span::micros(micros);
            match action {
                Action::Send(bytes) => {
                    network.send(now, one, network.address(other), &vec![1; bytes]);
                }
                Action::Receive => taken += received(&mut network, now, other).len() as u64,
                Action::Cut => network.cut(one, other),
                Action::Heal => network.heal(one, other),
                Action::Outage(holds) => {
                    let outage = Outage { begins: now, ends: now + Span::millis(30), holds };
                    network.add_outage(now, one, other, outage);
                }
                Action::Rebind => drop(network.rebind(now, other)),
                Action::Change(conditions) => network.set_conditions(one, other, *conditions),
            }
            let statistics = network.statistics(one, other);
            prop_assert!(statistics.closes(), "{:?}", statistics);
        }
        taken += received(&mut network, Time::MAX, other).len() as u64;
        let statistics = network.statistics(one, other);
        prop_assert_eq!((statistics.in_flight, statistics.delivered), (0, taken));
        prop_assert!(statistics.closes(), "{:?}", statistics);
        prop_assert_eq!(network.next_wake(), None);
    }
}
