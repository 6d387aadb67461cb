//! A trial in FPSci's own wire format (paper 004): headless clients tell their pose in each frame, the server tells all
//! poses to all in each frame, and everything waits for frames.

use super::books::{Due, Seconds, add_lines, all_lines};
use super::carrier::{Carrier, Meter};
use super::mind::Library;
use crate::plan::Trial;
use crate::rows::{PlayerRow, SecondRow, TrialLog};
use sametick::network::Conditions;
use sametick::{Dice, Span, Time};
use sametick_arena::scenes::RUN_SPEED;

/// Type, frame, count and mode.
const HEADER_BYTES: usize = 7;
/// An identity, a rotation and a place.
const ENTITY_BYTES: usize = 56;
/// What the count's byte can say; more go into another packet.
const ENTITIES_MAX: usize = 255;
const UPDATE: u8 = 1;
const PROBE: u8 = 2;
const PROBE_EVERY: Span = Span::millis(250);

/// One pose: how far its player has run, and in which of its frames it said so.
#[derive(Clone, Copy, Debug, Default)]
struct Pose {
    frame: u32,
    metres: f32,
}

struct Headless {
    next_frame: Time,
    frame: u32,
    /// What it knows of the others, by their places.
    known: Vec<Option<Pose>>,
    /// By how many frames each was behind at best: what there is without loss.
    least_age: Vec<u32>,
    next_probe: Time,
    second: SecondRow,
}

/// Plays a trial over a carrier.
pub(crate) fn play(
    trial: &Trial,
    library: &Library,
    carrier: Box<dyn Carrier>,
) -> Result<TrialLog, String> {
    let mut room = Room::new(trial, library, carrier)?;
    room.run();
    Ok(room.finish())
}

struct Room {
    meter: Meter,
    frame_length: Span,
    server_frame: Time,
    frames: u32,
    poses: Vec<Option<Pose>>,
    clients: Vec<Headless>,
    seconds: Seconds,
    lines: Vec<[Conditions; 2]>,
    /// Of updates alone, out and in, packets and bytes, by host.
    counts: Vec<[u64; 4]>,
    log: TrialLog,
}

impl Room {
    fn new(
        trial: &Trial,
        library: &Library,
        mut carrier: Box<dyn Carrier>,
    ) -> Result<Self, String> {
        let settings = &trial.settings;
        let players = settings.players() as usize;
        let lines = all_lines(settings, &library.folder, 0.0)?;
        for (player, [up, down]) in (1..).zip(&lines) {
            carrier.set_conditions(player, 0, up.clone());
            carrier.set_conditions(0, player, down.clone());
        }
        let rate = settings.number("tick_rate").unwrap_or(60.0);
        let frame_length = Span::from_micros_f64(1e6 / rate);
        let now = carrier.now();
        let mut dice = Dice::new(trial.seed, 0xf95);
        let mut phase = || frame_length * dice.below(1_000) / 1_000;
        let server_frame = now + phase();
        let client = |next_frame: Time| Headless {
            next_frame,
            frame: 0,
            known: vec![None; players],
            least_age: vec![u32::MAX; players],
            next_probe: next_frame,
            second: SecondRow::default(),
        };
        let clients = (0..players).map(|_| client(now + phase())).collect();
        let seconds = Seconds::new(trial, now);
        let meter = Meter::new(carrier, players + 1, seconds.begins);
        Ok(Self {
            meter,
            frame_length,
            server_frame,
            frames: 0,
            poses: vec![None; players],
            clients,
            seconds,
            lines,
            counts: vec![[0; 4]; players + 1],
            log: TrialLog::default(),
        })
    }

    fn run(&mut self) {
        while self.meter.now() < self.seconds.end {
            let now = self.meter.now();
            match self.seconds.due(now) {
                Some(Due::Begin) => {
                    self.counts.fill([0; 4]);
                    self.clients.iter_mut().for_each(|one| one.second = SecondRow::default());
                }
                Some(Due::End(second)) => self.end_second(second),
                None => {}
            }
            if now >= self.server_frame {
                self.server_frame += self.frame_length;
                self.serve();
            }
            let mut until = self.server_frame.min(self.seconds.next());
            for index in 0..self.clients.len() {
                if now >= self.clients[index].next_frame {
                    self.clients[index].next_frame += self.frame_length;
                    self.frame(index, now);
                }
                until = until.min(self.clients[index].next_frame);
            }
            self.meter.carrier.wait(until.max(now + Span::micros(1)));
        }
        // A frame is late by less than a second's last microsecond: what is left is a whole second.
        self.end_second(self.seconds.second());
    }

    fn count(&mut self, host: usize, is_out: bool, bytes: usize) {
        let counts = &mut self.counts[host][if is_out { 0..2 } else { 2..4 }];
        counts[0] += 1;
        counts[1] += bytes as u64;
    }

    /// Takes in what came since the frame before, and tells all poses to all.
    fn serve(&mut self) {
        let mut message = Vec::new();
        while let Some((sender, from)) = self.meter.receive(0, &mut message) {
            if message.first() == Some(&PROBE) {
                self.meter.send(0, from, &message);
                continue;
            }
            self.count(0, false, message.len());
            if let (Some(pose), 1..) = (poses_of(&message).next(), sender)
                && let Some(known) = self.poses.get_mut(sender - 1)
                && known.is_none_or(|known| known.frame < pose.1.frame)
            {
                *known = Some(pose.1);
            }
        }
        self.frames += 1;
        self.log.ticks += u32::from(self.meter.now() >= self.seconds.begins);
        let poses = self.poses.clone();
        for (part, some) in poses.chunks(ENTITIES_MAX).enumerate() {
            let update = update(self.frames, part * ENTITIES_MAX, some);
            for client in 1..=self.clients.len() {
                let to = self.meter.carrier.address(client);
                self.count(0, true, update.len());
                self.meter.send(0, to, &update);
            }
        }
    }

    /// Takes in what came, looks, and tells its own pose.
    fn frame(&mut self, index: usize, now: Time) {
        let mut message = Vec::new();
        while self.meter.receive(index + 1, &mut message).is_some() {
            if message.first() == Some(&PROBE) {
                let mut sent = [0; 8];
                let bytes = message.get(1..9).unwrap_or(&sent).to_vec();
                sent.copy_from_slice(&bytes);
                let second = &mut self.clients[index].second;
                let sent = Time::from_micros(u64::from_le_bytes(sent));
                second.round_trip_ms += (now - sent).as_millis_f64();
                second.round_trips += 1;
                continue;
            }
            self.count(index + 1, false, message.len());
            let known = &mut self.clients[index].known;
            for (place, pose) in poses_of(&message) {
                if let Some(known) = known.get_mut(place)
                    && known.is_none_or(|known| known.frame < pose.frame)
                {
                    *known = Some(pose);
                }
            }
        }
        self.look(index, now);
        let client = &mut self.clients[index];
        client.frame += 1;
        client.second.frames += 1;
        let pose = Pose { frame: client.frame, metres: self.metres(now) };
        let to = self.meter.carrier.address(0);
        let update = update(pose.frame, index, &[Some(pose)]);
        self.count(index + 1, true, update.len());
        self.meter.send(index + 1, to, &update);
        let client = &mut self.clients[index];
        if now >= client.next_probe {
            client.next_probe = now + PROBE_EVERY;
            let mut probe = vec![PROBE];
            probe.extend_from_slice(&now.as_micros().to_le_bytes());
            self.meter.send(index + 1, to, &probe);
        }
    }

    /// Everyone runs straight on, all the time.
    fn metres(&self, now: Time) -> f32 {
        (f64::from(RUN_SPEED) * now.as_seconds_f64()) as f32
    }

    fn look(&mut self, index: usize, now: Time) {
        let metres = self.metres(now);
        let frames: Vec<u32> = self.clients.iter().map(|client| client.frame).collect();
        let client = &mut self.clients[index];
        for (place, known) in client.known.iter().enumerate().filter(|(place, _)| *place != index) {
            let Some(pose) = known else { continue };
            let off = f64::from((metres - pose.metres).abs());
            let second = &mut client.second;
            second.deviations += 1;
            second.deviation_m += off;
            second.straights += 1;
            second.straight_m += off;
            second.deviation_m_max = second.deviation_m_max.max(off);
            let age = frames[place].saturating_sub(pose.frame);
            client.least_age[place] = client.least_age[place].min(age);
            second.stale += u32::from(age > client.least_age[place]);
        }
    }

    fn end_second(&mut self, second: u32) {
        for (host, counts) in self.counts.iter_mut().enumerate() {
            let row = match host {
                0 => SecondRow::default(),
                host => std::mem::take(&mut self.clients[host - 1].second),
            };
            let [packets_out, bytes_out, packets_in, bytes_in] = std::mem::take(counts);
            self.log.seconds.push(SecondRow {
                second,
                player: host as u32,
                packets_out,
                bytes_out,
                packets_in,
                bytes_in,
                server_deviation_m: row.deviation_m,
                ..row
            });
        }
    }

    fn finish(mut self) -> TrialLog {
        for index in 0..self.clients.len() {
            let player = index as u32 + 1;
            self.log.players.push(PlayerRow {
                player,
                role: "format",
                frame_rate: 1.0 / self.frame_length.as_seconds_f64(),
                joined: true,
                ..PlayerRow::default()
            });
            add_lines(&mut self.log, &self.meter, [index + 1, index + 1], &self.lines[index]);
        }
        let frames = self.clients.iter().map(|client| u64::from(client.frame));
        self.log.world_hash = frames.fold(0, |hash, frame| hash.wrapping_mul(31) + frame);
        self.log
    }
}

/// A message of poses, the first of which is that of player `first`.
fn update(frame: u32, first: usize, poses: &[Option<Pose>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + ENTITY_BYTES * poses.len());
    bytes.push(UPDATE);
    bytes.extend_from_slice(&frame.to_be_bytes());
    bytes.extend_from_slice(&[poses.len() as u8, 1]);
    for (place, pose) in poses.iter().enumerate() {
        let pose = pose.unwrap_or_default();
        bytes.extend_from_slice(&((first + place) as u32).to_be_bytes());
        bytes.extend_from_slice(&pose.frame.to_be_bytes());
        for number in [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, pose.metres, 0.0, 0.0_f32] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
    }
    bytes
}

/// The poses of a message, each with its player's place; those that were never told are left out.
fn poses_of(message: &[u8]) -> impl Iterator<Item = (usize, Pose)> {
    let entities = message.get(HEADER_BYTES..).unwrap_or_default().chunks_exact(ENTITY_BYTES);
    let word = |bytes: &[u8], at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[at..at + 4]);
        u32::from_be_bytes(word)
    };
    entities.filter_map(move |bytes| {
        let (place, frame) = (word(bytes, 0) as usize, word(bytes, 4));
        let metres = f32::from_bits(word(bytes, 8 + 9 * 4));
        (frame > 0).then_some((place, Pose { frame, metres }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_s_update_has_63_bytes_and_comes_back_as_it_was() {
        let pose = Pose { frame: 7, metres: 12.5 };
        assert_eq!(update(7, 3, &[Some(pose)]).len(), 63);
        let all = update(9, 0, &[None, Some(pose), Some(pose)]);
        assert_eq!(all.len(), 7 + 3 * 56);
        let read: Vec<(usize, f32)> = poses_of(&all).map(|(at, pose)| (at, pose.metres)).collect();
        assert_eq!(read, [(1, 12.5), (2, 12.5)]);
        assert_eq!(poses_of(&[1, 2, 3]).count(), 0);
    }
}
