//! Simulated streams: every byte arrives once and in order, and what that costs can be measured.

use proptest::prelude::*;
use sametick::network::stream::{
    SEGMENT_BYTES, STREAM_RECEIVE_BYTES_MAX, STREAM_SEND_BYTES_MAX, Side, Stream,
};
use sametick::network::{Conditions, Jitter, Loss, Pipe, Profile};
use sametick::{Dice, Span, Time};

fn line(delay_ms: u64, probability: f64) -> Conditions {
    let (delay, loss) = (Span::millis(delay_ms), Loss::Random { probability });
    Conditions { delay, loss, ..Conditions::PERFECT }
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    Dice::new(seed, 0).fill(&mut noise);
    noise
}

/// Sends all bytes both ways as fast as they are taken, closes, and gives what arrived and when
/// the last of it did.
fn exchange(stream: &mut Stream, sent: &[Vec<u8>; 2]) -> ([Vec<u8>; 2], Time) {
    let sides = [Side::Near, Side::Far];
    let (mut taken, mut arrived) = ([0, 0], [Vec::new(), Vec::new()]);
    let (mut now, mut last) = (Time::ZERO, Time::ZERO);
    loop {
        for from in sides {
            let side = from as usize;
            taken[side] += stream.send(now, from, &sent[side][taken[side]..]);
            if taken[side] == sent[side].len() {
                stream.close(now, from);
            }
            if stream.receive(now, from, &mut arrived[side]) > 0 {
                last = now;
            }
        }
        match stream.next_wake() {
            Some(wake) => now = wake,
            None => {
                // Without any delay the last bytes may have come after their side was asked.
                for side in sides {
                    stream.receive(now, side, &mut arrived[side as usize]);
                }
                return (arrived, last);
            }
        }
    }
}

fn check(seed: u64, conditions: &Conditions, bytes: [usize; 2]) {
    let mut stream = Stream::new(seed, conditions.clone(), conditions.clone());
    let sent = bytes.map(|bytes| noise(seed, bytes));
    let ([at_near, at_far], _) = exchange(&mut stream, &sent);
    let what = format!("seed {seed}, {conditions:?}");
    assert!(at_far == sent[0], "{what}: {} of {} bytes", at_far.len(), sent[0].len());
    assert!(at_near == sent[1], "{what}: {} of {} bytes", at_near.len(), sent[1].len());
    for side in [Side::Near, Side::Far] {
        let end = stream.end(side);
        assert!(end.is_finished() && end.is_delivered() && !end.is_broken(), "{what}: {end:?}");
        assert!(stream.pipe(side).statistics().closes(), "{what}");
    }
}

#[test]
fn bytes_in_are_bytes_out_under_loss_and_reordering() {
    let conditions = Conditions {
        jitter: Jitter::Uniform { width: Span::millis(20) },
        reorder: 0.2,
        reorder_by: Span::millis(100),
        keep_order: false,
        duplicate: 0.1,
        bit_flip: 0.01,
        truncate: 0.01,
        ..line(30, 0.2)
    };
    for seed in 0..20 {
        check(seed, &conditions, [100_000, 30_000]);
    }
}

#[test]
fn every_profile_carries_a_stream() {
    for profile in Profile::all() {
        let mut stream = Stream::new(1, profile.up.clone(), profile.down.clone());
        let sent = [noise(1, 50_000), noise(2, 50_000)];
        let ([at_near, at_far], _) = exchange(&mut stream, &sent);
        assert!(at_far == sent[0] && at_near == sent[1], "{}", profile.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_byte_is_lost_or_doubled(
        seed: u64,
        near in 0..40_000usize,
        far in 0..40_000usize,
        loss in 0.0..0.3f64,
        reorder in 0.0..0.5f64,
        delay_ms in 0..100u64,
    ) {
        let reorder_by = Span::millis(60);
        check(seed, &Conditions { reorder, reorder_by, ..line(delay_ms, loss) }, [near, far]);
    }
}

/// When each of 600 messages of 100 bytes, 60 a second, was whole at the other end, in
/// milliseconds after it was sent.
fn stream_delays_ms(conditions: &Conditions) -> Vec<f64> {
    let mut stream = Stream::new(3, conditions.clone(), line(50, 0.0));
    let (mut delays, mut bytes) = (Vec::new(), Vec::new());
    let sent_at = |message: usize| Time::from_micros(message as u64 * 16_667);
    let mut sent = 0;
    while delays.len() < 600 {
        let next = (sent < 600).then(|| sent_at(sent));
        let Some(now) = stream.next_wake().into_iter().chain(next).min() else { break };
        if next == Some(now) {
            assert_eq!(stream.send(now, Side::Near, &[0; 100]), 100);
            sent += 1;
        }
        stream.receive(now, Side::Far, &mut bytes);
        let whole = delays.len()..bytes.len() / 100;
        delays.extend(whole.map(|message| (now - sent_at(message)).as_millis_f64()));
    }
    delays
}

/// The same with datagrams; those that are lost are left out.
fn datagram_delays_ms(conditions: &Conditions) -> Vec<f64> {
    let mut pipe = Pipe::new(3, conditions.clone());
    let (mut delays, mut bytes) = (Vec::new(), Vec::new());
    for message in 0..600u64 {
        let sent = Time::from_micros(message * 16_667);
        pipe.push(sent, &[0; 100]);
        while let Some(arrival) = pipe.pop(Time::MAX, &mut bytes) {
            delays.push((arrival - sent).as_millis_f64());
        }
    }
    delays
}

#[test]
fn one_lost_segment_holds_up_those_behind_it() {
    let clean = stream_delays_ms(&line(50, 0.0));
    assert_eq!(clean, vec![50.0; 600]);

    let lossy = line(50, 0.02);
    let late = |delays: &[f64]| delays.iter().filter(|delay| **delay > 60.0).count();
    let stream = stream_delays_ms(&lossy);
    assert_eq!(stream.len(), 600);
    // Each lost segment holds up those of the next 100 ms or more. `docs/networks.md` says so.
    let worst = stream.iter().copied().fold(0.0, f64::max);
    assert_eq!((late(&stream), worst.round()), (140, 217.0));

    let datagrams = datagram_delays_ms(&lossy);
    assert_eq!(late(&datagrams), 0);
    assert!(datagrams.len() > 570, "{} arrived", datagrams.len());
}

#[test]
fn a_loss_amid_traffic_is_repaired_before_the_timeout() {
    let mut stream = Stream::new(1, line(50, 0.0), line(50, 0.0));
    // Enough traffic for a measured round trip; then the first of ten segments is lost.
    let mut bytes = Vec::new();
    stream.send(Time::ZERO, Side::Near, b"x");
    let start = Time::from_seconds(1);
    stream.receive(start, Side::Far, &mut bytes);
    stream.pipe_mut(Side::Near).cut();
    stream.send(start, Side::Near, &[0; SEGMENT_BYTES]);
    stream.pipe_mut(Side::Near).heal();
    stream.send(start, Side::Near, &[0; 9 * SEGMENT_BYTES]);
    bytes.clear();
    assert_eq!(stream.receive(start + Span::millis(149), Side::Far, &mut bytes), 0);
    let all = 10 * SEGMENT_BYTES;
    assert_eq!(stream.receive(start + Span::millis(150), Side::Far, &mut bytes), all);
    stream.advance(start + Span::seconds(1));
    let statistics = stream.end(Side::Near).statistics();
    assert_eq!((statistics.fast_resends, statistics.timeouts), (1, 0));
    // The acknowledgement of what was sent twice, 200 ms after the first time, measured nothing.
    assert_eq!(statistics.round_trip, Some(Span::millis(100)));
}

#[test]
fn timeouts_double() {
    let mut stream = Stream::new(1, line(20, 0.0), line(20, 0.0));
    stream.send(Time::ZERO, Side::Near, b"measure");
    stream.advance(Time::from_seconds(1));
    stream.pipe_mut(Side::Near).cut();
    let start = Time::from_seconds(1);
    stream.send(start, Side::Near, b"nobody hears this");
    let mut waits = Vec::new();
    let mut before = start;
    for _ in 0..5 {
        let wake = stream.next_wake().unwrap();
        waits.push((wake - before).as_millis_f64());
        before = wake;
        stream.advance(wake);
    }
    assert_eq!(waits, [200.0, 400.0, 800.0, 1_600.0, 3_200.0]);
    // After some more the end gives up, and nothing is left to happen.
    while let Some(wake) = stream.next_wake() {
        assert!(wake < Time::from_seconds(3_600));
        stream.advance(wake);
    }
    assert!(stream.end(Side::Near).is_broken());
    assert_eq!(stream.send(Time::from_seconds(3_600), Side::Near, b"more"), 0);
}

#[test]
fn a_slow_reader_stops_the_sender_and_starts_it_again() {
    let mut stream = Stream::new(1, line(10, 0.0), line(10, 0.0));
    let sent = noise(1, 2 * STREAM_SEND_BYTES_MAX);
    let mut taken = stream.send(Time::ZERO, Side::Near, &sent);
    assert_eq!(taken, STREAM_SEND_BYTES_MAX);
    for second in 1..60 {
        taken += stream.send(Time::from_seconds(second), Side::Near, &sent[taken..]);
    }
    // The far end holds all that it can; the rest waits at the near one.
    assert_eq!(taken, STREAM_SEND_BYTES_MAX + STREAM_RECEIVE_BYTES_MAX);
    let (mut bytes, mut now) = (Vec::new(), Time::from_seconds(60));
    while bytes.len() < taken {
        stream.receive(now, Side::Far, &mut bytes);
        now += Span::millis(10);
    }
    assert!(bytes == sent);
    assert!(now < Time::from_seconds(62), "{now}");
}

#[test]
fn a_side_may_close_while_the_other_has_no_room() {
    let mut stream = Stream::new(1, line(10, 0.0), line(10, 0.0));
    let sent = noise(1, STREAM_RECEIVE_BYTES_MAX);
    stream.send(Time::ZERO, Side::Near, &sent);
    stream.close(Time::from_seconds(60), Side::Near);
    let mut bytes = Vec::new();
    stream.receive(Time::from_seconds(120), Side::Far, &mut bytes);
    stream.advance(Time::from_seconds(240));
    assert!(bytes == sent && stream.end(Side::Far).is_finished());
    assert!(stream.end(Side::Near).is_delivered());
    assert_eq!(stream.next_wake(), None);
}

#[test]
fn a_lost_word_of_new_room_is_asked_for() {
    let mut stream = Stream::new(1, line(10, 0.0), line(10, 0.0));
    let sent = noise(1, STREAM_RECEIVE_BYTES_MAX + 5_000);
    let mut taken = 0;
    for second in 0..5 {
        taken += stream.send(Time::from_seconds(second), Side::Near, &sent[taken..]);
    }
    assert_eq!(taken, sent.len());
    let (mut bytes, mut now) = (Vec::new(), Time::from_seconds(5));
    stream.pipe_mut(Side::Far).cut();
    stream.receive(now, Side::Far, &mut bytes);
    assert_eq!(bytes.len(), STREAM_RECEIVE_BYTES_MAX);
    stream.pipe_mut(Side::Far).heal();
    while bytes.len() < taken {
        now = stream.next_wake().unwrap();
        stream.receive(now, Side::Far, &mut bytes);
    }
    assert!(bytes == sent);
}

#[test]
fn a_stream_yields_to_the_bandwidth() {
    let narrow = Conditions {
        bandwidth_bytes_per_second: Some(125_000),
        queue_bytes_max: 16_000,
        overhead_bytes: 40,
        ..line(20, 0.0)
    };
    let mut stream = Stream::new(1, narrow, line(20, 0.0));
    let (arrived, last) = exchange(&mut stream, &[noise(1, 1_000_000), Vec::new()]);
    assert_eq!(arrived[1].len(), 1_000_000);
    // 8.5 s at best with headers; growing and repairing may cost as much as a fifth.
    let seconds = last.as_seconds_f64();
    assert!((8.4..10.5).contains(&seconds), "{seconds} s");
    assert!(stream.pipe(Side::Near).statistics().queue_full > 0);
}

#[test]
fn how_often_a_stream_is_looked_at_changes_nothing() {
    let wild = || line(30, 0.1);
    let run = |step: Span| {
        let mut stream = Stream::new(4, wild(), wild());
        stream.send(Time::ZERO, Side::Near, &noise(1, 50_000));
        let mut now = Time::ZERO;
        while now < Time::from_seconds(20) {
            now += step;
            stream.advance(now);
        }
        let mut bytes = Vec::new();
        stream.receive(now, Side::Far, &mut bytes);
        (bytes, stream.end(Side::Near).statistics(), *stream.pipe(Side::Near).statistics())
    };
    assert_eq!(run(Span::millis(1)), run(Span::seconds(20)));
}

#[test]
fn closing_one_side_leaves_the_other_open() {
    let mut stream = Stream::new(1, line(10, 0.0), line(10, 0.0));
    let ms = Time::from_millis;
    stream.send(ms(0), Side::Near, b"last words");
    stream.close(ms(0), Side::Near);
    assert_eq!(stream.send(ms(0), Side::Near, b"one more"), 0);
    let mut bytes = Vec::new();
    stream.advance(ms(10));
    assert!(!stream.end(Side::Far).is_finished(), "something is left to be read");
    stream.receive(ms(10), Side::Far, &mut bytes);
    assert_eq!(bytes, b"last words");
    assert!(stream.end(Side::Far).is_finished());
    assert_eq!(stream.send(ms(20), Side::Far, b"answer"), 6);
    bytes.clear();
    stream.receive(ms(30), Side::Near, &mut bytes);
    assert_eq!(bytes, b"answer");
    assert!(stream.end(Side::Near).is_delivered() && !stream.end(Side::Near).is_finished());
}
