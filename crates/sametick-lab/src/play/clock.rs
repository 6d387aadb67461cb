//! A trial of clocks: one machine asks another for its time over a stream that sends again what is lost, and estimates
//! how far its own clock is off (paper 002).

use super::books::{Seconds, add_lines, all_lines};
use super::carrier::{Carrier, Meter};
use super::mind::Library;
use crate::plan::Trial;
use crate::rows::{PlayerRow, TrialLog};
use sametick::synchrony::{Estimator, Stamp};
use sametick::{Dice, Span, Time};

/// 002 pauses a few seconds between two questions.
const ASKED_EVERY: Span = Span::seconds(2);
/// TCP waits at least so long, and a round trip, before it sends again; twice as long each time.
const RESENT_AFTER: Span = Span::millis(200);
const RESENT_MAX: u32 = 8;
/// The other clock is ahead by up to so many hours.
const HOURS_MAX: u64 = 12;

/// Plays a trial over a carrier that knows at once when a datagram arrives.
pub(crate) fn play(
    trial: &Trial,
    library: &Library,
    mut carrier: Box<dyn Carrier>,
) -> Result<TrialLog, String> {
    let lines = all_lines(&trial.settings, &library.folder, 0.0)?;
    carrier.set_conditions(1, 0, lines[0][0].clone());
    carrier.set_conditions(0, 1, lines[0][1].clone());
    let round_trip = lines[0][0].delay + lines[0][1].delay;
    let mut dice = Dice::new(trial.seed, 0xc10c);
    let offset = Span::micros(dice.below(HOURS_MAX * 3_600_000_000));
    let seconds = Seconds::new(trial, carrier.now());
    let mut stream = Stream {
        meter: Meter::new(carrier, 2, Time::ZERO),
        patience: RESENT_AFTER + round_trip,
        words: 0,
    };
    let (mut stamps, mut resent) = (Vec::new(), 0_u32);
    let mut ask_at = seconds.begins;
    while ask_at < seconds.end {
        stream.meter.carrier.wait(ask_at);
        let sent = stream.meter.now();
        let there = stream.carry(1, 0)?;
        let theirs = stream.meter.now() + offset;
        let back = stream.carry(0, 1)?;
        resent += u32::from(there + back > 0);
        stamps.push(Stamp { sent, theirs, received: stream.meter.now() });
        ask_at = (sent + ASKED_EVERY).max(stream.meter.now());
    }
    let estimator = estimator(trial.settings.text("estimator"));
    let found = estimator.offset_micros(&stamps).ok_or("no stamp came back")?;
    let error = (found - offset.as_micros() as i64).abs() as f64 / 1000.0;
    let mut log = TrialLog::default();
    log.players.push(PlayerRow { player: 1, role: "clock", joined: true, ..PlayerRow::default() });
    add_lines(&mut log, &stream.meter, [1, 1], &lines[0]);
    log.figures = vec![
        ("clock_error", error),
        ("clock_resent", 100.0 * f64::from(resent) / stamps.len() as f64),
    ];
    log.world_hash = found.cast_unsigned();
    Ok(log)
}

fn estimator(name: &str) -> Estimator {
    match name {
        "uncorrected" => Estimator::Uncorrected,
        "half_trip" => Estimator::HalfTrip,
        "high_modes" => Estimator::HighModes,
        "shortest_trip" => Estimator::ShortestTrip,
        _ => Estimator::Bounds,
    }
}

struct Stream {
    meter: Meter,
    patience: Span,
    words: u64,
}

impl Stream {
    /// Carries a word from one host to the other, and waits for it; how often it was sent again.
    fn carry(&mut self, from: usize, to: usize) -> Result<u32, String> {
        let mut word = Vec::new();
        for again in 0..=RESENT_MAX {
            self.words += 1;
            let address = self.meter.carrier.address(to);
            self.meter.send(from, address, &self.words.to_le_bytes());
            if let Some(at) = self.meter.carrier.next_arrival(to) {
                self.meter.carrier.wait(at);
                while self.meter.receive(to, &mut word).is_some() {}
                return Ok(again);
            }
            let wait = self.patience * (1 << again);
            self.meter.carrier.wait(self.meter.now() + wait);
        }
        Err(format!("a word was lost {RESENT_MAX} times: the line carries nothing"))
    }
}
