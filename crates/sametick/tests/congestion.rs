//! The rate of a channel follows its line: full on a clean one, just below a narrow one, and back.

use sametick::bits::BitWriter;
use sametick::channel::{BODY_BYTES_MAX, Channel, Event, RateLimits, Settings};
use sametick::network::{Conditions, Jitter, Loss, Pipe};
use sametick::{Span, Time};

const CEILING: u32 = 100_000;

/// Two channels joined by two pipes. The near one sends as much as its budget allows.
struct Line {
    now: Time,
    ends: [Channel; 2],
    pipes: [Pipe; 2],
    bytes_arrived: usize,
    token: u32,
}

impl Line {
    fn new(conditions: &Conditions) -> Self {
        let rate = RateLimits { ceiling_bytes_per_second: CEILING, ..RateLimits::default() };
        let settings = Settings { rate, ..Settings::default() };
        Self {
            now: Time::ZERO,
            ends: [1, 2].map(|seed| Channel::new(settings, Time::ZERO, seed)),
            pipes: [3, 4].map(|seed| Pipe::new(seed, conditions.clone())),
            bytes_arrived: 0,
            token: 0,
        }
    }

    /// Sends 400-byte messages sixty times a second, as many as the budget allows; the far end
    /// answers each tick with a small one. Gives the payload bytes a second that arrived.
    fn run(&mut self, seconds: u64) -> f64 {
        let (from, end) = (self.bytes_arrived, self.now + Span::seconds(seconds));
        while self.now < end {
            if self.now.as_micros().is_multiple_of(16_000) {
                for _ in 0..8 {
                    if self.ends[0].budget_bytes(self.now) >= 400 {
                        self.token += 1;
                        self.ends[0].send_unreliable(self.token, &[7; 400]);
                        self.exchange();
                    }
                }
                self.ends[1].send_unreliable(self.token, &[1; 20]);
            }
            self.exchange();
            self.now += Span::millis(1);
        }
        (self.bytes_arrived - from) as f64 / seconds as f64
    }

    fn exchange(&mut self) {
        let mut body = BitWriter::fixed(BODY_BYTES_MAX);
        let mut datagram = Vec::new();
        for near in 0..2 {
            while let Some(number) = self.ends[near].transmit(self.now, &mut body) {
                datagram.clear();
                datagram.extend_from_slice(&number.to_le_bytes());
                datagram.extend_from_slice(body.finish().expect("a body fits"));
                self.pipes[near].push(self.now, &datagram);
                body.clear();
            }
            let far = &mut self.ends[1 - near];
            let arrived = &mut self.bytes_arrived;
            let mut tell = |event: Event<'_>| {
                if let Event::Unreliable(message) = event {
                    *arrived += if near == 0 { message.len() } else { 0 };
                }
            };
            while self.pipes[near].pop(self.now, &mut datagram).is_some() {
                let (number, body) = datagram.split_first_chunk().expect("a number in front");
                far.receive(self.now, u64::from_le_bytes(*number), body, &mut tell);
            }
            far.advance(self.now, &mut tell);
        }
    }

    fn round_trip_ms(&self) -> f64 {
        let smoothed = self.ends[0].statistics().round_trip.smoothed;
        smoothed.unwrap_or_default().as_millis_f64()
    }

    fn rate(&self) -> u32 {
        self.ends[0].statistics().rate_bytes_per_second
    }
}

fn delayed() -> Conditions {
    Conditions { delay: Span::millis(25), ..Conditions::PERFECT }
}

#[test]
fn a_clean_line_is_used_to_the_ceiling_and_stays_there() {
    let mut line = Line::new(&delayed());
    line.run(5);
    let arrived = line.run(20);
    assert_eq!(line.rate(), CEILING, "it does not fight itself");
    assert!(arrived > 0.75 * f64::from(CEILING), "{arrived:.0} bytes a second arrived");
    assert!(line.round_trip_ms() < 55.0, "{} ms", line.round_trip_ms());
}

#[test]
fn a_narrow_line_is_filled_without_filling_its_queue() {
    let narrow = Conditions {
        bandwidth_bytes_per_second: Some(30_000),
        queue_bytes_max: 200_000,
        ..delayed()
    };
    let mut line = Line::new(&narrow);
    line.run(15);
    let arrived = line.run(30);
    assert!((12_000.0..30_000.0).contains(&arrived), "{arrived:.0} bytes a second arrived");
    assert!(line.round_trip_ms() < 350.0, "the queue holds {} ms", line.round_trip_ms());
    line.pipes.iter_mut().for_each(|pipe| pipe.set_conditions(delayed()));
    line.run(30);
    assert_eq!(line.rate(), CEILING, "a line that became wide is used again");
}

#[test]
fn a_line_that_loses_a_third_is_used_at_the_floor_at_least() {
    let lossy = Conditions { loss: Loss::Random { probability: 0.33 }, ..delayed() };
    let mut line = Line::new(&lossy);
    line.run(20);
    let floor = RateLimits::default().floor_bytes_per_second;
    assert!((floor..CEILING / 10).contains(&line.rate()), "{} bytes a second", line.rate());
    assert!(line.run(10) > 0.25 * f64::from(floor), "and messages still arrive");
}

#[test]
fn jitter_and_a_little_loss_are_no_congestion() {
    let wireless = Conditions {
        jitter: Jitter::Normal { deviation: Span::millis(8) },
        loss: Loss::Random { probability: 0.02 },
        keep_order: true,
        ..delayed()
    };
    let mut line = Line::new(&wireless);
    line.run(30);
    assert!(line.rate() > CEILING * 3 / 4, "{} bytes a second", line.rate());
}

/// Packets that newer ones overtook are taken for lost, so that what they carried is sent again soon. Most of them
/// arrive a moment later, and the line is as wide as before.
#[test]
fn a_line_that_mixes_packets_up_is_not_full() {
    let mixing = Conditions {
        jitter: Jitter::Pareto { scale: Span::millis(20), shape: 1.5, cap: Span::millis(400) },
        loss: Loss::Random { probability: 0.02 },
        keep_order: false,
        ..delayed()
    };
    let mut line = Line::new(&mixing);
    line.run(30);
    let statistics = line.ends[0].statistics();
    assert!(statistics.packets_lost > 3 * statistics.packets_told_missing, "{statistics:?}");
    assert!(line.rate() > CEILING * 3 / 4, "{} bytes a second", line.rate());
}
