//! A study: who sits where, what each group plays next, and what each page shows.

use super::chance::{FOREPERIOD, OPTIONS, dice, foreperiod_ms, plain_code, shuffle};
use super::event::{Calibration, SeatId};
use super::line::Line;
use super::stage::{Asked, Stage, Start};
use super::stairs::Stairs;
use super::table::{People, QuestionKind, Staircase};
use crate::experiment::Experiment;
use crate::plan::{Plan, Trial};
use crate::settings::Assignment;
use crate::value::{Plain, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::path::PathBuf;

/// The most seats of a study.
pub const SEATS_MAX: usize = 10_000;
/// The most attempts at a trial.
pub const ATTEMPTS_MAX: u32 = 1_000;
/// What the two intervals are called where one of them is chosen.
pub(crate) const INTERVAL_NAMES: [&str; 2] = ["the first", "the second"];
/// The question which of two intervals it was.
pub(crate) const WHICH: u32 = 0;

/// A study with people: the fold over all that happened. See the [module](super).
#[derive(Clone, Debug)]
pub struct Study {
    pub(crate) title: String,
    pub(crate) question: String,
    pub(crate) people: People,
    pub(crate) seed: u64,
    pub(crate) folder: PathBuf,
    /// Letter, label and levels of each condition.
    pub(crate) conditions: Vec<(String, String)>,
    pub(crate) trials: Vec<Trial>,
    pub(crate) groups: Vec<Group>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) is_paused: bool,
    /// Whose, and what; later ones override earlier ones.
    pub(crate) changes: Vec<(Option<u32>, Assignment)>,
    /// The latest time of an event.
    pub(crate) clock_ms: u64,
    pub(crate) events: u64,
    /// What happened last, in words.
    pub(crate) told: VecDeque<(u64, String)>,
}

/// Those who play together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Places of its trials in the study's.
    pub(crate) trials: Vec<usize>,
    /// How far each of them is.
    pub(crate) fates: Vec<Fate>,
    /// How often each was begun.
    pub(crate) attempts: Vec<u32>,
    /// By how much roles are turned in each.
    pub(crate) turns: Vec<u32>,
    /// Those that come before all others: repeated ones.
    pub(crate) again: VecDeque<usize>,
    /// How often what is next was broken off, one after the other.
    pub(crate) broken: u32,
    /// What is being played: its place among the group's trials, and which attempt.
    pub(crate) playing: Option<(usize, u32)>,
    /// How many were finished since the last break.
    pub(crate) since_break: u32,
    pub(crate) break_until_ms: u64,
    /// The session of what was finished last, and that trial.
    pub(crate) session: Option<(String, u32)>,
    /// Whose questions were asked.
    pub(crate) sessions_asked: BTreeSet<String>,
    pub(crate) is_study_asked: bool,
    /// By condition.
    pub(crate) stairs: BTreeMap<usize, Stairs>,
    /// Who does not take part any more.
    pub(crate) declined: Option<SeatId>,
    /// The trial whose condition the experimenter knows.
    pub(crate) revealed: Option<u32>,
}

/// How far a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    Finished,
    Skipped,
}

/// One person's place.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) code: String,
    /// Its group's place, from 0.
    pub(crate) group: usize,
    /// Its place in the group, from 0.
    pub(crate) place: usize,
    pub(crate) secret_hash: Option<String>,
    pub(crate) is_here: bool,
    pub(crate) consent: Option<bool>,
    pub(crate) calibration: Option<Calibration>,
    pub(crate) is_ready: bool,
    /// Questions not yet answered, by the trial that they are asked after.
    pub(crate) owed: VecDeque<(Option<u32>, u32)>,
    /// Why it cannot play.
    pub(crate) refused: Option<String>,
    /// The trial whose questions its page has before it, and since when. No event tells it: who starts a host again
    /// sees them anew.
    pub(crate) shown: Option<(Option<u32>, u64)>,
}

impl Study {
    /// A study of an experiment, with a code for each seat: [`Study::seats_of`] of them.
    pub fn new(experiment: &Experiment, plan: &Plan, codes: Vec<String>) -> Result<Self, String> {
        let people = experiment.people.clone().ok_or("the experiment has no [people]")?;
        let wanted = Self::seats_of(experiment);
        if codes.len() != wanted {
            return Err(format!("{wanted} seats need as many codes, not {}", codes.len()));
        }
        if wanted > SEATS_MAX {
            return Err(format!("{wanted} seats: at most {SEATS_MAX}"));
        }
        let plain: BTreeSet<String> = codes.iter().map(|code| plain_code(code)).collect();
        if plain.len() != codes.len() || plain.contains("") {
            return Err("two seats have the same code, or one has none".to_owned());
        }
        let size = people.group as usize;
        let seats = codes.into_iter().enumerate();
        let seats = seats.map(|(index, code)| Seat::new(code, index / size, index % size));
        let mut groups = Vec::new();
        for number in 1..=experiment.participants {
            let own = plan.trials.iter().enumerate();
            let own = own.filter(|(_, trial)| trial.participant == number).map(|(index, _)| index);
            groups.push(Group::new(own.collect(), plan, &people));
        }
        let conditions = plan.conditions.iter();
        Ok(Self {
            title: experiment.title.clone(),
            question: experiment.question.clone(),
            seed: experiment.seed,
            folder: experiment.folder.clone(),
            conditions: conditions.map(|one| (one.letter.clone(), one.label.clone())).collect(),
            trials: plan.trials.clone(),
            groups,
            seats: seats.collect(),
            people,
            is_paused: false,
            changes: Vec::new(),
            clock_ms: 0,
            events: 0,
            told: VecDeque::new(),
        })
    }

    /// How many seats an experiment has: people at a table, times tables.
    pub fn seats_of(experiment: &Experiment) -> usize {
        let group = experiment.people.as_ref().map_or(1, |people| people.group as usize);
        group * experiment.participants as usize
    }

    /// The `[people]` table that it goes by.
    pub fn people(&self) -> &People {
        &self.people
    }

    /// The seat of a code; small letters do, and letters that look like digits.
    pub fn seat_of(&self, code: &str) -> Option<SeatId> {
        let code = plain_code(code);
        let found = self.seats.iter().position(|seat| plain_code(&seat.code) == code)?;
        Some(SeatId(found as u32 + 1))
    }

    /// All seats.
    pub fn seats(&self) -> impl Iterator<Item = SeatId> + use<> {
        (1..=self.seats.len() as u32).map(SeatId)
    }

    /// The code of a seat.
    pub fn code_of(&self, seat: SeatId) -> Option<&str> {
        Some(&self.seat(seat)?.code)
    }

    /// The group of a seat, from 1.
    pub fn group_of(&self, seat: SeatId) -> Option<u32> {
        Some(self.seat(seat)?.group as u32 + 1)
    }

    /// The hash of the secret that a seat's page holds, if one has it.
    pub fn secret_hash(&self, seat: SeatId) -> Option<&str> {
        self.seat(seat)?.secret_hash.as_deref()
    }

    /// Whether a seat's page is there.
    pub fn is_here(&self, seat: SeatId) -> bool {
        self.seat(seat).is_some_and(|seat| seat.is_here)
    }

    /// What a seat's machine and line are, once measured.
    pub fn calibration(&self, seat: SeatId) -> Option<&Calibration> {
        self.seat(seat)?.calibration.as_ref()
    }

    /// The trials that are being played: group, trial and attempt. After a crash these are broken.
    pub fn playing(&self) -> Vec<(u32, u32, u32)> {
        let groups = self.groups.iter().enumerate();
        let playing = groups.filter_map(|(index, group)| {
            let (place, attempt) = group.playing?;
            Some((index as u32 + 1, self.trials[group.trials[place]].number, attempt))
        });
        playing.collect()
    }

    /// Whether the experimenter paused it.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether nobody has anything left to do.
    pub fn is_over(&self) -> bool {
        self.seats().all(|seat| matches!(self.stage(seat, u64::MAX), Stage::Thanks { .. }))
    }

    /// Whether a group has finished nothing and plays nothing, so that others may still sit there.
    pub(crate) fn is_fresh(&self, index: usize) -> bool {
        let group = &self.groups[index];
        group.session.is_none() && group.playing.is_none()
    }

    /// The staircases of a group by condition, from 0.
    pub fn stairs(&self, group: u32) -> Option<&BTreeMap<usize, Stairs>> {
        Some(&self.groups.get((group as usize).checked_sub(1)?)?.stairs)
    }

    pub(crate) fn seat(&self, seat: SeatId) -> Option<&Seat> {
        self.seats.get((seat.0 as usize).checked_sub(1)?)
    }

    pub(crate) fn seats_in(&self, group: usize) -> impl Iterator<Item = (SeatId, &Seat)> {
        let first = group * self.people.group as usize;
        let seats = self.seats.iter().enumerate().skip(first).take(self.people.group as usize);
        seats.map(|(index, seat)| (SeatId(index as u32 + 1), seat))
    }

    /// The condition whose staircase a trial belongs to: both intervals belong to that of the comparison.
    pub(crate) fn stairs_key(&self, group: &Group, place: usize) -> usize {
        let of = |place: usize| &self.trials[group.trials[place]];
        let Some(intervals) = &self.people.intervals else { return of(place).condition };
        let pair = [place - place % 2, place - place % 2 + 1];
        let comparison = pair.into_iter().find(|place| {
            group.trials.get(*place).is_some_and(|_| !intervals.is_standard(of(*place)))
        });
        of(comparison.unwrap_or(place)).condition
    }

    /// Whether the staircase that a trial belongs to has turned often enough.
    fn is_passed(&self, group: &Group, place: usize) -> bool {
        let Some(staircase) = &self.people.staircase else { return false };
        let stairs = group.stairs.get(&self.stairs_key(group, place));
        let is_counted = !self.trials[group.trials[place]].is_practice;
        is_counted && stairs.is_some_and(|stairs| stairs.is_over(staircase))
    }

    /// The place of what a group plays next.
    pub(crate) fn next_of(&self, group: &Group) -> Option<usize> {
        group.again.front().copied().or_else(|| self.turn_of(group))
    }

    /// The place that a group has reached in its order, whatever is repeated before.
    pub(crate) fn turn_of(&self, group: &Group) -> Option<usize> {
        let open = group.fates.iter().enumerate().filter(|(_, fate)| **fate == Fate::Open);
        open.map(|(place, _)| place).find(|place| !self.is_passed(group, *place))
    }

    pub(crate) fn trial_at(&self, group: &Group, place: usize) -> &Trial {
        &self.trials[group.trials[place]]
    }

    /// The staircase that rules a trial: none rules the standard of two intervals.
    fn staircase_of(&self, trial: &Trial) -> Option<&Staircase> {
        let is_standard = self.people.intervals.as_ref().is_some_and(|one| one.is_standard(trial));
        self.people.staircase.as_ref().filter(|_| !is_standard)
    }

    /// A trial with all that holds now: a staircase's level, then the experimenter's changes.
    pub(crate) fn trial_now(&self, group: usize, place: usize) -> Trial {
        let of = &self.groups[group];
        let mut trial = self.trial_at(of, place).clone();
        if let Some(staircase) = self.staircase_of(&trial) {
            let stairs = of.stairs.get(&self.stairs_key(of, place));
            let level = stairs.map_or(staircase.start(), |stairs| stairs.level(staircase));
            let value = Value::Number(level);
            trial.settings.assign(&Assignment { value, ..staircase.setting.clone() });
        }
        for (_, change) in self.changes_of(group) {
            trial.settings.assign(change);
        }
        trial
    }

    pub(crate) fn changes_of(
        &self,
        group: usize,
    ) -> impl Iterator<Item = &(Option<u32>, Assignment)> {
        let number = group as u32 + 1;
        self.changes.iter().filter(move |(whose, _)| whose.is_none_or(|whose| whose == number))
    }

    /// A seat's player's number, from 1, and its role.
    pub(crate) fn part(&self, group: &Group, place: usize, seat: &Seat) -> (u32, Option<String>) {
        let size = self.people.group as usize;
        let turned = (seat.place + group.turns[place] as usize) % size;
        let role = self.people.roles.get(turned).cloned();
        (turned as u32 + 1, role)
    }

    pub(crate) fn interval(&self, place: usize) -> Option<u32> {
        self.people.intervals.as_ref().map(|_| place as u32 % 2 + 1)
    }

    pub(crate) fn letter(&self, trial: &Trial) -> String {
        match self.people.intervals {
            Some(_) => String::new(),
            None => self.conditions[trial.condition].0.clone(),
        }
    }

    /// What a seat's page shows.
    pub fn stage(&self, seat: SeatId, now_ms: u64) -> Stage {
        let Some(own) = self.seat(seat) else {
            return Stage::Waiting { why: "There is no such seat.".to_owned() };
        };
        let group = &self.groups[own.group];
        if let Some(who) = group.declined {
            return Stage::Thanks { text: farewell(who == seat) };
        }
        if own.consent.is_none() {
            return Stage::Consent { text: self.people.consent.clone() };
        }
        // Who is through is not measured any more, on whatever machine the link is opened.
        if own.calibration.is_none() && (group.playing.is_some() || self.next_of(group).is_some()) {
            return Stage::Calibration;
        }
        if let Some((place, attempt)) = group.playing {
            return self.play_stage(group, own, place, attempt);
        }
        if let Some((trial, _)) = own.owed.front() {
            return Stage::Questions { trial: *trial, questions: self.asked(seat, own, *trial) };
        }
        let Some(place) = self.next_of(group) else {
            return Stage::Thanks { text: self.people.thanks.clone() };
        };
        if let Some(why) = &own.refused {
            return Stage::Refused { why: why.clone() };
        }
        if self.is_paused {
            return Stage::Waiting { why: "The experimenter paused the study.".to_owned() };
        }
        if now_ms < group.break_until_ms {
            let seconds_left = (group.break_until_ms - now_ms).div_ceil(1000);
            return Stage::Break { seconds_left };
        }
        if own.is_ready {
            return Stage::Waiting { why: self.waits_for(own) };
        }
        let trial = self.trial_at(group, place);
        Stage::Ready {
            place: trial.place,
            of: group.trials.len() as u32,
            round: self.counted(group, place + 1),
            rounds: self.counted(group, group.trials.len()),
            is_practice: trial.is_practice,
            letter: self.letter(trial),
            role: self.part(group, place, own).1,
            interval: self.interval(place),
        }
    }

    /// How many of a group's first trials count.
    fn counted(&self, group: &Group, first: usize) -> u32 {
        (0..first).filter(|place| !self.trial_at(group, *place).is_practice).count() as u32
    }

    fn play_stage(&self, group: &Group, own: &Seat, place: usize, attempt: u32) -> Stage {
        let trial = self.trial_at(group, place);
        Stage::Play {
            trial: trial.number,
            attempt,
            place: trial.place,
            of: group.trials.len() as u32,
            round: self.counted(group, place + 1),
            rounds: self.counted(group, group.trials.len()),
            is_practice: trial.is_practice,
            letter: self.letter(trial),
            role: self.part(group, place, own).1,
            interval: self.interval(place),
        }
    }

    /// Whom someone who is ready waits for.
    fn waits_for(&self, own: &Seat) -> String {
        let mut others = self.seats_in(own.group).filter(|(_, seat)| seat.place != own.place);
        let slow = others.find(|(_, seat)| !is_set(seat));
        match slow.map(|(_, seat)| seat) {
            None => "The round is about to begin.".to_owned(),
            Some(seat) if seat.secret_hash.is_none() => {
                "The other player has not come yet.".to_owned()
            }
            Some(seat) if !seat.is_here => "The other player is away.".to_owned(),
            Some(seat) if seat.refused.is_some() => {
                "The other player cannot play this round; the experimenter knows.".to_owned()
            }
            Some(_) => "The other player is not ready yet.".to_owned(),
        }
    }

    /// The questions that a seat owes after a trial, as they are shown.
    fn asked(&self, seat: SeatId, own: &Seat, trial: Option<u32>) -> Vec<Asked> {
        let owed = own.owed.iter().filter(|(after, _)| *after == trial);
        owed.filter_map(|(_, number)| self.asked_one(seat, trial, *number)).collect()
    }

    pub(crate) fn asked_one(&self, seat: SeatId, trial: Option<u32>, number: u32) -> Option<Asked> {
        if number == WHICH {
            let ask = self.people.intervals.as_ref()?.ask.clone();
            let options = INTERVAL_NAMES.map(str::to_owned).to_vec();
            let kind = QuestionKind::Choice.name();
            return Some(Asked { question: WHICH, ask, kind, options, required: true });
        }
        let question = self.people.questions.get(number as usize - 1)?;
        let mut options = question.options.clone();
        if question.randomised {
            let parts = [seat.0, trial.unwrap_or(0), number];
            shuffle(&mut options, &mut dice(self.seed, &parts, OPTIONS));
        }
        Some(Asked {
            question: number,
            ask: question.ask.clone(),
            kind: question.kind.name(),
            options,
            required: question.required,
        })
    }

    /// A page is told what to show: questions are shown from the first time on, until something else is.
    pub fn note_shown(&mut self, seat: SeatId, stage: &Stage, now_ms: u64) {
        let own = (seat.0 as usize).checked_sub(1).and_then(|index| self.seats.get_mut(index));
        let Some(own) = own else { return };
        own.shown = match stage {
            Stage::Questions { trial, .. } => {
                own.shown.filter(|(known, _)| known == trial).or(Some((*trial, now_ms)))
            }
            _ => None,
        };
    }

    /// The groups that are all ready, and what each of them plays now.
    pub fn due(&self, now_ms: u64) -> Vec<Start> {
        (0..self.groups.len()).filter_map(|group| self.due_of(group, now_ms)).collect()
    }

    pub(crate) fn due_of(&self, index: usize, now_ms: u64) -> Option<Start> {
        let group = self.groups.get(index)?;
        let is_free = !self.is_paused && group.playing.is_none() && group.declined.is_none();
        if !is_free || now_ms < group.break_until_ms {
            return None;
        }
        let place = self.next_of(group)?;
        if !self.seats_in(index).all(|(_, seat)| is_set(seat)) {
            return None;
        }
        let trial = self.trial_now(index, place);
        let attempt = group.attempts[place] + 1;
        let seats = self.seats_in(index).map(|(id, seat)| {
            let (player, role) = self.part(group, place, seat);
            (id, player, role)
        });
        let seats: Vec<(SeatId, u32, Option<String>)> = seats.collect();
        let asked = seats.iter();
        let asked = asked.map(|(_, player, _)| Line::asked(&trial.settings, &self.folder, *player));
        let foreperiod_ms = self.people.foreperiod_ms.map_or(0, |range| {
            foreperiod_ms(range, &mut dice(trial.seed, &[trial.number, attempt], FOREPERIOD))
        });
        Some(Start {
            group: index as u32 + 1,
            attempt,
            asked: asked.collect(),
            seats,
            foreperiod_ms,
            changed: self.changes_of(index).map(|(_, change)| change.label()).collect(),
            trial,
        })
    }

    /// Looks again whether lines of a group can have what is asked of them in the trials that are left.
    pub(crate) fn look_at_floors(&mut self, index: usize) {
        let refused: Vec<Option<String>> =
            self.seats_in(index).map(|(_, seat)| self.refusal(index, seat)).collect();
        let first = index * self.people.group as usize;
        for (seat, refused) in self.seats[first..].iter_mut().zip(refused) {
            seat.refused = refused;
        }
    }

    /// A condition below a line's floor is refused: it cannot be had, and pretending would be worse.
    fn refusal(&self, index: usize, seat: &Seat) -> Option<String> {
        let floor = seat.calibration.as_ref()?.floor_ms;
        let group = &self.groups[index];
        let left = group.fates.iter().enumerate().filter(|(_, fate)| **fate == Fate::Open);
        let left = left.map(|(place, _)| place).filter(|place| !self.is_passed(group, *place));
        let asked = left.filter_map(|place| {
            let mut trial = self.trial_now(index, place);
            if let Some(staircase) = self.staircase_of(self.trial_at(group, place)) {
                let value = Value::Number(staircase.least);
                trial.settings.assign(&Assignment { value, ..staircase.setting.clone() });
            }
            Line::least_ms(&trial.settings, &self.folder, self.part(group, place, seat).0)
        });
        let least = asked.min_by(f64::total_cmp)?;
        (floor > least + self.people.tolerance_ms).then(|| {
            let (least, floor) = (Plain(least.round()), Plain(floor.round()));
            format!("asked {least} ms, this line's floor is {floor} ms")
        })
    }

    /// The order in which each group meets its conditions, as CSV; the same for the same seed.
    pub fn order_table(&self) -> String {
        let mut text = String::from("group,place,trial,letter\n");
        for (index, group) in self.groups.iter().enumerate() {
            for at in &group.trials {
                let trial = &self.trials[*at];
                let letter = &self.conditions[trial.condition].0;
                let _ = writeln!(text, "{},{},{},{letter}", index + 1, trial.place, trial.number);
            }
        }
        text
    }
}

impl Seat {
    /// One that nobody has.
    pub(crate) fn new(code: String, group: usize, place: usize) -> Self {
        Self {
            code,
            group,
            place,
            secret_hash: None,
            is_here: false,
            consent: None,
            calibration: None,
            is_ready: false,
            owed: VecDeque::new(),
            refused: None,
            shown: None,
        }
    }
}

impl Group {
    fn new(trials: Vec<usize>, plan: &Plan, people: &People) -> Self {
        let size = if people.swap { people.group } else { 1 };
        // Turned by the place of a condition's first trial, and once more each time it is met: so each condition is met
        // in each role, which turning from trial to trial alone would not give.
        let mut met = BTreeMap::<(&str, usize, &str, bool), (u32, u32)>::new();
        let mut turns: Vec<u32> = Vec::new();
        for (place, at) in trials.iter().enumerate() {
            if people.intervals.is_some() && place % 2 == 1 {
                turns.extend(turns.last().copied());
                continue;
            }
            let trial = &plan.trials[*at];
            let key = (&*trial.session, trial.condition, &*trial.name, trial.is_practice);
            let first = met.len() as u32;
            let (first, times) = met.entry(key).or_insert((first, 0));
            turns.push((*first + *times) % size);
            *times += 1;
        }
        Self {
            fates: vec![Fate::Open; trials.len()],
            attempts: vec![0; trials.len()],
            turns,
            trials,
            again: VecDeque::new(),
            broken: 0,
            playing: None,
            since_break: 0,
            break_until_ms: 0,
            session: None,
            sessions_asked: BTreeSet::new(),
            is_study_asked: false,
            stairs: BTreeMap::new(),
            declined: None,
            revealed: None,
        }
    }
}

/// Whether a seat waits for nothing but the others.
pub(crate) fn is_set(seat: &Seat) -> bool {
    let is_through = seat.consent == Some(true) && seat.calibration.is_some();
    is_through && seat.is_here && seat.is_ready && seat.owed.is_empty() && seat.refused.is_none()
}

fn farewell(is_own: bool) -> String {
    match is_own {
        true => "You do not take part. You can close this page.".to_owned(),
        false => "The other player does not take part, so it ends here. Thank you.".to_owned(),
    }
}
