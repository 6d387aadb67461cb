//! What the experimenter's page shows of a study, and every event in words.

use super::event::{Event, EventKind, SeatId};
use super::line::Line;
use super::stage::Stage;
use super::study::{Fate, Group, Seat, Study};
use serde_json::{Value as Json, json};

/// How many events are told.
pub(crate) const TOLD_MAX: usize = 50;
/// A trial that was broken off so often, one after the other, is told.
const BROKEN_TOLD: u32 = 2;
/// What lies between two trials, as a guess, in seconds: reading, answering, getting ready.
pub(crate) const BETWEEN_SECONDS: f64 = 8.0;

impl Study {
    /// What the experimenter's page shows of everyone, without telemetry. Scores are not in it, and conditions only as
    /// letters unless they were looked at.
    pub fn live(&self, now_ms: u64) -> Json {
        let seats: Vec<Json> = self.seats().map(|seat| self.live_seat(seat, now_ms)).collect();
        let told = self.told.iter().rev();
        let log: Vec<Json> =
            told.map(|(at_ms, words)| json!({ "at_ms": at_ms, "words": words })).collect();
        json!({
            "title": self.title,
            "question": self.question,
            "is_paused": self.is_paused,
            "is_over": self.is_over(),
            "seconds_left": self.seconds_left(now_ms),
            "seats": seats,
            "anomalies": self.anomalies(),
            "changes": self.changes.iter().map(|(group, change)| json!({
                "group": group, "setting": change.name(), "value": change.value.shown(change.row.kind),
            })).collect::<Vec<_>>(),
            "log": log,
        })
    }

    fn live_seat(&self, id: SeatId, now_ms: u64) -> Json {
        let Some(seat) = self.seat(id) else { return Json::Null };
        let group = &self.groups[seat.group];
        let place = group.playing.map(|(place, _)| place).or_else(|| self.next_of(group));
        let trial = place.map(|place| self.trial_now(seat.group, place));
        let part = place.map(|place| self.part(group, place, seat));
        let asked = trial
            .as_ref()
            .zip(part.as_ref())
            .map(|(trial, (player, _))| Line::asked(&trial.settings, &self.folder, *player));
        let asked = asked.unwrap_or_default();
        let revealed = trial.as_ref().filter(|trial| group.revealed == Some(trial.number));
        json!({
            "seat": id.0,
            "code": seat.code,
            "group": seat.group + 1,
            "role": part.and_then(|(_, role)| role),
            "is_here": seat.is_here,
            "can_be_freed": seat.secret_hash.is_some() && self.is_fresh(seat.group),
            "state": self.state(id, seat, group, now_ms),
            "trial": trial.as_ref().map(|trial| trial.number),
            "last": group.session.as_ref().map(|(_, number)| *number),
            "place": trial.as_ref().map(|trial| trial.place),
            "of": group.trials.len(),
            "letter": trial.as_ref().map(|trial| self.conditions[trial.condition].0.clone()),
            "condition": revealed.map(|trial| self.conditions[trial.condition].1.clone()),
            "asked_ms": asked.ping_ms,
            "asked_loss": asked.loss,
            "floor_ms": seat.calibration.as_ref().map(|found| found.floor_ms),
        })
    }

    fn state(&self, id: SeatId, seat: &Seat, group: &Group, now_ms: u64) -> String {
        if seat.secret_hash.is_none() {
            return "not here yet".to_owned();
        }
        let (of, stage) = (group.trials.len(), self.stage(id, now_ms));
        // Who is through is asked to close the page: nobody misses them.
        if !seat.is_here && !matches!(stage, Stage::Thanks { .. }) {
            return "away".to_owned();
        }
        match stage {
            Stage::Consent { .. } => "reads the consent".to_owned(),
            Stage::Calibration => "calibrates".to_owned(),
            Stage::Refused { .. } => "cannot have a condition".to_owned(),
            Stage::Waiting { .. } if self.is_paused => "paused".to_owned(),
            Stage::Waiting { .. } => "waits".to_owned(),
            Stage::Ready { place, .. } => format!("before trial {place} of {of}"),
            Stage::Play { place, .. } => format!("trial {place} of {of}"),
            Stage::Break { .. } => "rests".to_owned(),
            Stage::Questions { .. } => "answers".to_owned(),
            Stage::Thanks { .. } if group.declined.is_some() => "does not take part".to_owned(),
            Stage::Thanks { .. } => "done".to_owned(),
        }
    }

    /// What is not as it should be, in words.
    fn anomalies(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (index, seat) in self.seats.iter().enumerate() {
            let who = format!("P{:02}", index + 1);
            if let Some(why) = &seat.refused {
                found.push(format!("{who}: {why}."));
            }
            if seat.secret_hash.is_some() && !seat.is_here && !self.has_ended(seat) {
                found.push(format!("{who}: is away."));
            }
        }
        for (index, group) in self.groups.iter().enumerate() {
            if group.declined.is_some() {
                found.push(format!("Group {}: somebody does not take part.", index + 1));
            }
            if group.broken >= BROKEN_TOLD {
                let times = group.broken;
                found.push(format!("Group {}: its trial was broken off {times} times.", index + 1));
            }
        }
        found
    }

    fn has_ended(&self, seat: &Seat) -> bool {
        let group = &self.groups[seat.group];
        let is_through = self.next_of(group).is_none() && seat.owed.is_empty();
        group.declined.is_some() || (is_through && group.session.is_some())
    }

    /// How long the slowest group that has begun or can begin still takes, as a guess.
    fn seconds_left(&self, now_ms: u64) -> f64 {
        let mean = self.people.foreperiod_ms.map_or(0.0, |(least, most)| (least + most) / 2.0);
        let each = |group: &Group| {
            if group.declined.is_some() {
                return 0.0;
            }
            let open = group.fates.iter().enumerate().filter(|(_, fate)| **fate == Fate::Open);
            let played = open.map(|(place, _)| {
                (self.trial_at(group, place).played_ms() + mean) / 1000.0 + BETWEEN_SECONDS
            });
            let left: Vec<f64> = played.collect();
            let breaks = match self.people.break_every {
                Some(every) => left.len() / every as usize,
                None => 0,
            };
            let rest = group.break_until_ms.saturating_sub(now_ms) as f64;
            left.iter().sum::<f64>() + (breaks as f64 * self.people.break_ms as f64 + rest) / 1000.0
        };
        self.groups.iter().map(each).fold(0.0, f64::max).round()
    }
}

/// An event in words, as the experimenter reads it, where so many seats make a group.
pub(crate) fn words(event: &Event, group_size: u32) -> String {
    let seats = |group: u32| {
        let first = (group.saturating_sub(1)).saturating_mul(group_size) + 1;
        let all: Vec<String> =
            (first..first.saturating_add(group_size)).map(|seat| format!("P{seat:02}")).collect();
        match &all[..] {
            [.., one, last] if all.len() == 2 => format!("{one} and {last}"),
            [first, .., last] => format!("{first} to {last}"),
            _ => all.concat(),
        }
    };
    let who = event.seat.map_or(String::new(), |seat| format!("P{:02} ", seat.0));
    let why = match event.why.trim() {
        "" => String::new(),
        why => format!(": {why}"),
    };
    let what = match &event.kind {
        EventKind::Claimed { .. } => "took a seat".to_owned(),
        EventKind::Left => "is away".to_owned(),
        EventKind::Returned => "is back".to_owned(),
        EventKind::Consented => "agreed".to_owned(),
        EventKind::Declined => "does not take part".to_owned(),
        EventKind::Calibrated(found) => format!("calibrated, floor {:.0} ms", found.floor_ms),
        EventKind::MeasuresAgain => "is measured again".to_owned(),
        EventKind::Ready => "is ready".to_owned(),
        EventKind::Started { group, trial, attempt: 1 } => {
            format!("{} began trial {trial}", seats(*group))
        }
        EventKind::Started { group, trial, attempt } => {
            format!("{} began trial {trial}, attempt {attempt}", seats(*group))
        }
        EventKind::Finished { group, trial, flags, .. } if flags.is_empty() => {
            format!("{} finished trial {trial}", seats(*group))
        }
        EventKind::Finished { group, trial, flags, .. } => {
            format!("{} finished trial {trial}, flagged: {}", seats(*group), flags.join(", "))
        }
        EventKind::Broken { group, trial, reason, .. } => {
            format!("{} could not finish trial {trial}: {reason}", seats(*group))
        }
        EventKind::Answered { .. } => "answered".to_owned(),
        EventKind::Paused => "Paused".to_owned(),
        EventKind::Resumed => "Resumed".to_owned(),
        EventKind::Repeated { group, trial } => format!("{} repeats trial {trial}", seats(*group)),
        EventKind::Skipped { group, trial } => format!("{} skips trial {trial}", seats(*group)),
        EventKind::Noted { text } => format!("Note: {text}"),
        EventKind::Changed { group, setting, value } => {
            let whose = group.map_or(String::new(), |group| format!(" of {}", seats(group)));
            match value.trim() {
                "" => format!("Took back the change of {setting}{whose}"),
                value => format!("Changed {setting}{whose} to {value}"),
            }
        }
        EventKind::Freed { seat, .. } => format!("Gave seat P{seat:02} to somebody else"),
        EventKind::Revealed { group } => format!("Looked at the condition of {}", seats(*group)),
    };
    format!("{who}{what}{why}")
}
