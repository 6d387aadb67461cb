//! One direction of one line: each fault does what was asked, in the share that was asked.
//!
//! Bounds on shares are four standard deviations of what chance would give, and the seeds are
//! fixed: a test that passes once passes always.

use allocation_counter::measure;
use sametick::network::{
    Conditions, IN_FLIGHT_MAX, Jitter, Loss, OUTAGES_MAX, Outage, Pipe, Statistics, Trace,
};
use sametick::{Span, Time};

const SAMPLES: u64 = 100_000;

/// Sends numbered datagrams of 8 bytes, one a millisecond, and gives what arrived when.
fn run(seed: u64, conditions: Conditions, count: u64) -> (Vec<(Time, Vec<u8>)>, Statistics) {
    let mut pipe = Pipe::new(seed, conditions);
    let mut arrived = Vec::new();
    for number in 0..count {
        let now = Time::from_millis(number);
        pipe.push(now, &number.to_le_bytes());
        drain(&mut pipe, now, &mut arrived);
    }
    drain(&mut pipe, Time::MAX, &mut arrived);
    let statistics = *pipe.statistics();
    assert!(statistics.closes(), "seed {seed}: {statistics:?}");
    (arrived, statistics)
}

fn drain(pipe: &mut Pipe, now: Time, arrived: &mut Vec<(Time, Vec<u8>)>) {
    let mut bytes = Vec::new();
    while let Some(arrival) = pipe.pop(now, &mut bytes) {
        arrived.push((arrival, bytes.clone()));
    }
}

fn number_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// How long each datagram was under way, in milliseconds, in the order of arrival.
fn delays_ms(arrived: &[(Time, Vec<u8>)]) -> Vec<f64> {
    let delay = |(arrival, bytes): &(Time, Vec<u8>)| {
        (*arrival - Time::from_millis(number_of(bytes))).as_millis_f64()
    };
    arrived.iter().map(delay).collect()
}

fn mean_and_deviation(samples: &[f64]) -> (f64, f64) {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let squares = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>();
    (mean, (squares / samples.len() as f64).sqrt())
}

/// Whether a count is within four deviations of `SAMPLES` trials with that probability.
fn is_share(count: u64, probability: f64) -> bool {
    let expected = SAMPLES as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    (count as f64 - expected).abs() <= 4.0 * deviation
}

fn is_near(value: f64, expected: f64, off_max: f64) -> bool {
    (value - expected).abs() <= off_max
}

#[test]
fn a_perfect_line_passes_everything_at_once() {
    let (arrived, statistics) = run(1, Conditions::PERFECT, 1_000);
    assert_eq!(delays_ms(&arrived), vec![0.0; 1_000]);
    assert_eq!((statistics.pushed, statistics.delivered), (1_000, 1_000));
    assert_eq!((statistics.bytes_pushed, statistics.bytes_delivered), (8_000, 8_000));
}

#[test]
fn random_loss_takes_its_share() {
    for probability in [0.0, 0.001, 0.05, 0.2, 1.0] {
        for seed in 0..5 {
            let loss = Loss::Random { probability };
            let (_, statistics) = run(seed, Conditions { loss, ..Conditions::PERFECT }, SAMPLES);
            assert!(is_share(statistics.lost, probability), "seed {seed}: {statistics:?}");
        }
    }
}

#[test]
fn more_loss_loses_the_same_and_more() {
    let survivors = |probability| {
        let loss = Loss::Random { probability };
        let (arrived, _) = run(9, Conditions { loss, ..Conditions::PERFECT }, 10_000);
        arrived.iter().map(|(_, bytes)| number_of(bytes)).collect::<Vec<_>>()
    };
    let (little, much) = (survivors(0.05), survivors(0.2));
    assert!(much.len() < little.len() && much.iter().all(|n| little.binary_search(n).is_ok()));
}

#[test]
fn losses_come_in_bursts_of_the_mean_length_asked() {
    // All is lost while the line is bad: so a run of losses is a stay in the bad state.
    let (enter, leave) = (0.01, 0.2);
    let loss = Loss::Burst { enter, leave, loss_good: 0.0, loss_bad: 1.0 };
    for seed in 0..5 {
        let conditions = Conditions { loss, ..Conditions::PERFECT };
        let (arrived, statistics) = run(seed, conditions, SAMPLES);
        let numbers = arrived.iter().map(|(_, bytes)| number_of(bytes));
        let gaps: Vec<u64> = numbers
            .scan(0, |next, number| Some(number - std::mem::replace(next, number + 1)))
            .filter(|gap| *gap > 0)
            .collect();
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        // About 950 bursts, geometric with mean 5 and deviation 4.5: four deviations are 0.6.
        assert!(is_near(mean, 1.0 / leave, 0.6), "seed {seed}: a burst takes {mean}");
        // Losses come together, so their share varies more: by a factor of (2 - a) / a with a the
        // two probabilities together, under the root.
        let share = statistics.lost as f64 / SAMPLES as f64;
        let p = loss.mean();
        let together = enter + leave;
        let variance = p * (1.0 - p) / SAMPLES as f64 * (2.0 - together) / together;
        assert!(is_near(share, p, 4.0 * variance.sqrt()), "seed {seed}: {share} instead of {p}");
    }
}

#[test]
fn each_jitter_has_its_mean_and_spread() {
    let delay = Span::millis(50);
    let ms = Span::millis;
    let pareto = Jitter::Pareto { scale: ms(10), shape: 3.0, cap: ms(200) };
    let trace = Trace::parse("1\n2\n3\n6\n").unwrap();
    for (jitter, mean, deviation, off_max) in [
        (Jitter::None, 50.0, 0.0, 0.0),
        (Jitter::Uniform { width: ms(12) }, 56.0, 12.0 / 12f64.sqrt(), 0.05),
        (Jitter::Normal { deviation: ms(8) }, 50.0, 8.0, 0.11),
        // Without its cap: mean 10 / 2, variance 10² · 3 / (2² · 1); the cap takes 0.2 off.
        (pareto, 5.0 + 50.0, 8.3, 0.4),
        (Jitter::Trace(trace), 53.0, 3.5f64.sqrt(), 1e-9),
    ] {
        let shown = format!("{jitter:?}");
        let conditions = Conditions { delay, jitter, keep_order: false, ..Conditions::PERFECT };
        let (arrived, _) = run(3, conditions, SAMPLES);
        let (mean_found, deviation_found) = mean_and_deviation(&delays_ms(&arrived));
        assert!(is_near(mean_found, mean, off_max), "{shown}: mean {mean_found}");
        assert!(is_near(deviation_found, deviation, off_max), "{shown}: ±{deviation_found}");
    }
}

#[test]
fn jitter_stays_within_its_bounds() {
    let (delay, ms) = (Span::millis(5), Span::millis);
    for (jitter, low, high) in [
        (Jitter::Uniform { width: ms(3) }, 5.0, 8.0),
        // Most would arrive before they were sent; none does.
        (Jitter::Normal { deviation: ms(100) }, 0.0, 1_000.0),
        (Jitter::Pareto { scale: ms(10), shape: 0.5, cap: ms(40) }, 5.0, 45.0),
    ] {
        let conditions = Conditions { delay, jitter, keep_order: false, ..Conditions::PERFECT };
        let delays = delays_ms(&run(4, conditions, SAMPLES).0);
        assert!(delays.iter().all(|delay| (low..=high).contains(delay)));
        assert!(delays.iter().any(|delay| is_near(*delay, low, 0.01)));
    }
}

#[test]
fn a_trace_is_followed_delay_by_delay_and_begins_again() {
    let jitter = Jitter::Trace(Trace::parse("10\n20.5\n10\n").unwrap());
    let delay = Span::millis(1);
    let (arrived, _) = run(5, Conditions { delay, jitter, ..Conditions::PERFECT }, 6);
    // The third and the fourth wait for the second, because order is kept.
    assert_eq!(delays_ms(&arrived), [11.0, 21.5, 20.5, 19.5, 21.5, 20.5]);
}

#[test]
fn order_is_kept_or_not_as_asked() {
    let jitter = Jitter::Normal { deviation: Span::millis(10) };
    let delay = Span::millis(50);
    let numbers = |keep_order| {
        let conditions =
            Conditions { delay, jitter: jitter.clone(), keep_order, ..Conditions::PERFECT };
        let (arrived, _) = run(6, conditions, 1_000);
        arrived.iter().map(|(_, bytes)| number_of(bytes)).collect::<Vec<_>>()
    };
    assert!(numbers(true).is_sorted());
    assert!(!numbers(false).is_sorted());
}

#[test]
fn duplicates_take_their_share_and_arrive_whole() {
    let jitter = Jitter::Uniform { width: Span::millis(5) };
    let conditions = Conditions { duplicate: 0.1, jitter, ..Conditions::PERFECT };
    let (arrived, statistics) = run(7, conditions, SAMPLES);
    assert!(is_share(statistics.duplicated, 0.1), "{statistics:?}");
    assert_eq!(arrived.len() as u64, SAMPLES + statistics.duplicated);
    let mut counts = vec![0u8; SAMPLES as usize];
    arrived.iter().for_each(|(_, bytes)| counts[number_of(bytes) as usize] += 1);
    assert!(counts.iter().all(|count| (1..=2).contains(count)));
}

#[test]
fn reordering_holds_its_share_back_and_lets_the_others_pass() {
    let (delay, reorder_by) = (Span::millis(20), Span::millis(10));
    let conditions = Conditions { delay, reorder: 0.05, reorder_by, ..Conditions::PERFECT };
    let (arrived, statistics) = run(8, conditions, SAMPLES);
    assert!(is_share(statistics.reordered, 0.05), "{statistics:?}");
    let delays = delays_ms(&arrived);
    let late: Vec<f64> = delays.iter().copied().filter(|delay| *delay > 20.0).collect();
    assert_eq!(late.len() as u64, statistics.reordered);
    assert!(late.iter().all(|delay| *delay <= 30.0));
    assert!(is_near(mean_and_deviation(&late).0, 25.0, 0.2));
    let numbers: Vec<u64> = arrived.iter().map(|(_, bytes)| number_of(bytes)).collect();
    assert!(!numbers.is_sorted());
}

#[test]
fn a_bit_flip_is_one_bit_in_its_share_of_datagrams() {
    let (arrived, statistics) =
        run(9, Conditions { bit_flip: 0.01, ..Conditions::PERFECT }, SAMPLES);
    let sent = (0..SAMPLES).map(u64::to_le_bytes).map(u64::from_le_bytes);
    let flipped: Vec<u64> = arrived
        .iter()
        .zip(sent)
        .map(|((_, bytes), sent)| number_of(bytes) ^ sent)
        .filter(|difference| *difference != 0)
        .collect();
    assert_eq!(flipped.len() as u64, statistics.flipped);
    assert!(is_share(statistics.flipped, 0.01), "{statistics:?}");
    assert!(flipped.iter().all(|difference| difference.is_power_of_two()));
    let all = flipped.iter().fold(0, |all, difference| all | difference);
    assert_eq!(all, u64::MAX, "every bit is flipped now and then");
}

#[test]
fn truncation_leaves_the_beginning_of_its_share() {
    let (arrived, statistics) =
        run(10, Conditions { truncate: 0.01, ..Conditions::PERFECT }, SAMPLES);
    let short: Vec<(u64, &[u8])> = (0..)
        .zip(&arrived)
        .map(|(number, (_, bytes))| (number, &bytes[..]))
        .filter(|(_, bytes)| bytes.len() < 8)
        .collect();
    assert_eq!(short.len() as u64, statistics.truncated);
    assert!(is_share(statistics.truncated, 0.01), "{statistics:?}");
    assert!(short.iter().all(|(number, bytes)| number.to_le_bytes().starts_with(bytes)));
    for length in 0..8 {
        assert!(short.iter().any(|(_, bytes)| bytes.len() == length), "{length} bytes");
    }
}

#[test]
fn an_empty_datagram_passes_and_is_not_damaged() {
    let conditions = Conditions { bit_flip: 1.0, truncate: 1.0, ..Conditions::PERFECT };
    let mut pipe = Pipe::new(1, conditions);
    pipe.push(Time::ZERO, b"");
    let mut bytes = b"old".to_vec();
    assert_eq!(pipe.pop(Time::ZERO, &mut bytes), Some(Time::ZERO));
    assert_eq!(bytes, b"");
    assert_eq!((pipe.statistics().flipped, pipe.statistics().truncated), (0, 0));
}

#[test]
fn datagrams_over_the_mtu_vanish() {
    let mut pipe = Pipe::new(1, Conditions { mtu_bytes: 1_200, ..Conditions::PERFECT });
    pipe.push(Time::ZERO, &[0; 1_200]);
    pipe.push(Time::ZERO, &[0; 1_201]);
    let mut arrived = Vec::new();
    drain(&mut pipe, Time::ZERO, &mut arrived);
    assert_eq!(arrived.len(), 1);
    assert_eq!((pipe.statistics().too_large, pipe.statistics().closes()), (1, true));
}

#[test]
fn a_queue_delays_by_its_bytes_over_the_bandwidth_and_drops_from_the_tail() {
    let mut pipe = Pipe::new(
        1,
        Conditions {
            delay: Span::millis(10),
            bandwidth_bytes_per_second: Some(100_000),
            queue_bytes_max: 5_000,
            overhead_bytes: 40,
            ..Conditions::PERFECT
        },
    );
    for _ in 0..8 {
        pipe.push(Time::ZERO, &[0; 960]);
    }
    let mut arrived = Vec::new();
    drain(&mut pipe, Time::MAX, &mut arrived);
    let arrivals: Vec<u64> = arrived.iter().map(|(arrival, _)| arrival.as_micros()).collect();
    // A thousand bytes take 10 ms; five of them fill the queue.
    assert_eq!(arrivals, [20_000, 30_000, 40_000, 50_000, 60_000]);
    assert_eq!(pipe.statistics().queue_full, 3);
    // At 20 ms two have left.
    for _ in 0..3 {
        pipe.push(Time::from_millis(20), &[0; 960]);
    }
    assert_eq!(pipe.statistics().queue_full, 4);
    assert!(pipe.statistics().closes());
}

#[test]
fn a_fast_line_passes_what_its_bandwidth_says() {
    let mut pipe = Pipe::new(
        1,
        Conditions {
            bandwidth_bytes_per_second: Some(3_000_000_000),
            queue_bytes_max: u32::MAX,
            ..Conditions::PERFECT
        },
    );
    for _ in 0..3_000 {
        pipe.push(Time::ZERO, &[0; 1_000]);
    }
    let mut arrived = Vec::new();
    drain(&mut pipe, Time::MAX, &mut arrived);
    // A third of a microsecond each: rounding up to whole ones would make it three times as long.
    assert!(arrived[2_999].0 <= Time::from_micros(1_003), "{}", arrived[2_999].0);
}

#[test]
fn an_idle_line_takes_a_datagram_larger_than_its_queue() {
    let mut pipe = Pipe::new(
        1,
        Conditions {
            bandwidth_bytes_per_second: Some(1_000),
            queue_bytes_max: 10,
            ..Conditions::PERFECT
        },
    );
    pipe.push(Time::ZERO, &[0; 100]);
    pipe.push(Time::ZERO, &[0; 1]);
    assert_eq!((pipe.statistics().in_flight, pipe.statistics().queue_full), (1, 1));
}

#[test]
fn an_outage_loses_or_holds_what_is_sent_meanwhile() {
    for (holds, delivered) in [(false, 90), (true, 100)] {
        let mut pipe = Pipe::new(1, Conditions { delay: Span::millis(30), ..Conditions::PERFECT });
        let (begins, ends) = (Time::from_millis(50), Time::from_millis(60));
        pipe.add_outage(Time::ZERO, Outage { begins, ends, holds });
        for number in 0..100 {
            pipe.push(Time::from_millis(number), &[]);
        }
        let mut arrived = Vec::new();
        drain(&mut pipe, Time::MAX, &mut arrived);
        assert_eq!(arrived.len(), delivered);
        let at_the_end = arrived.iter().filter(|(arrival, _)| arrival.as_micros() == 90_000);
        assert_eq!(at_the_end.count(), if holds { 11 } else { 1 });
        assert_eq!(pipe.statistics().cut, 100 - delivered as u64);
        assert!(pipe.statistics().closes());
    }
}

#[test]
#[should_panic(expected = "at most 64 outages")]
fn a_line_remembers_a_bounded_number_of_outages() {
    let mut pipe = Pipe::new(1, Conditions::PERFECT);
    let second = |second| Outage {
        begins: Time::from_seconds(second),
        ends: Time::from_seconds(second + 1),
        holds: false,
    };
    for _ in 0..OUTAGES_MAX {
        pipe.add_outage(Time::ZERO, second(1));
    }
    // Those that are over no longer count.
    pipe.add_outage(Time::from_seconds(2), second(3));
    for _ in 0..OUTAGES_MAX {
        pipe.add_outage(Time::ZERO, second(3));
    }
}

#[test]
fn a_cut_lets_nothing_in_and_what_is_under_way_arrives() {
    let mut pipe = Pipe::new(1, Conditions { delay: Span::millis(30), ..Conditions::PERFECT });
    pipe.push(Time::ZERO, b"before");
    pipe.cut();
    pipe.push(Time::ZERO, b"while");
    pipe.heal();
    pipe.push(Time::ZERO, b"after");
    let mut arrived = Vec::new();
    drain(&mut pipe, Time::from_millis(30), &mut arrived);
    let arrived: Vec<&[u8]> = arrived.iter().map(|(_, bytes)| &bytes[..]).collect();
    assert_eq!(arrived, [&b"before"[..], b"after"]);
    assert_eq!((pipe.statistics().cut, pipe.statistics().closes()), (1, true));
}

#[test]
fn new_conditions_leave_those_under_way_alone() {
    let delay_ms = |delay_ms| Conditions {
        delay: Span::millis(delay_ms),
        keep_order: false,
        ..Conditions::PERFECT
    };
    let mut pipe = Pipe::new(1, delay_ms(100));
    pipe.push(Time::ZERO, b"slow");
    pipe.set_conditions(delay_ms(10));
    pipe.push(Time::ZERO, b"fast");
    pipe.set_conditions(Conditions { loss: Loss::Random { probability: 1.0 }, ..delay_ms(0) });
    pipe.push(Time::ZERO, b"lost");
    let mut arrived = Vec::new();
    drain(&mut pipe, Time::MAX, &mut arrived);
    let expected =
        [(Time::from_millis(10), b"fast".to_vec()), (Time::from_millis(100), b"slow".to_vec())];
    assert_eq!(arrived, expected);
}

#[test]
fn a_wider_line_takes_datagrams_while_the_old_queue_drains() {
    let rate = |bytes_per_second| Conditions {
        bandwidth_bytes_per_second: Some(bytes_per_second),
        queue_bytes_max: 10_000,
        ..Conditions::PERFECT
    };
    let mut pipe = Pipe::new(1, rate(10_000));
    (0..9).for_each(|_| pipe.push(Time::ZERO, &[0; 1_000]));
    pipe.set_conditions(rate(10_000_000));
    pipe.push(Time::ZERO, &[0; 1_000]);
    assert_eq!(pipe.statistics().queue_full, 0);
    let mut arrived = Vec::new();
    drain(&mut pipe, Time::MAX, &mut arrived);
    assert_eq!(arrived.last().map(|(arrival, _)| arrival.as_micros()), Some(900_100));
}

#[test]
#[should_panic(expected = "delay is 3600000.001: an hour is the longest there is")]
fn impossible_conditions_are_an_assertion_that_names_them() {
    let delay = Span::seconds(3_600) + Span::micros(1);
    Pipe::new(1, Conditions { delay, ..Conditions::PERFECT });
}

#[test]
fn a_line_carries_a_bounded_number_at_once() {
    let mut pipe = Pipe::new(1, Conditions { delay: Span::seconds(1), ..Conditions::PERFECT });
    for _ in 0..IN_FLIGHT_MAX + 10 {
        pipe.push(Time::ZERO, b"x");
    }
    let statistics = pipe.statistics();
    assert_eq!((statistics.in_flight, statistics.overflow), (IN_FLIGHT_MAX, 10));
    assert!(statistics.closes());
}

#[test]
fn a_warm_line_allocates_nothing() {
    let conditions = Conditions {
        delay: Span::millis(40),
        jitter: Jitter::Normal { deviation: Span::millis(5) },
        duplicate: 0.1,
        loss: Loss::Random { probability: 0.1 },
        bandwidth_bytes_per_second: Some(1_000_000),
        ..Conditions::PERFECT
    };
    let mut pipe = Pipe::new(1, conditions);
    let (mut bytes, mut now) = (Vec::new(), Time::ZERO);
    let mut second = |pipe: &mut Pipe| {
        for _ in 0..1_000 {
            now += Span::millis(1);
            pipe.push(now, &[7; 500]);
            while pipe.pop(now, &mut bytes).is_some() {}
        }
    };
    (0..10).for_each(|_| second(&mut pipe));
    let used = measure(|| second(&mut pipe));
    assert_eq!(used.count_total, 0, "{used:?}");
}
