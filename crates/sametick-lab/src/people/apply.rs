//! The fold: what each event does to a study, and why some are refused.

use super::chance::plain_code;
use super::event::{CHARACTERS_MAX, Calibration, EVENTS_MAX, Event, EventKind, Refusal, SeatId};
use super::live::{TOLD_MAX, words};
use super::read::read_change;
use super::stairs::Step;
use super::study::{ATTEMPTS_MAX, Fate, Group, INTERVAL_NAMES, Seat, Study, WHICH};
use super::table::{Correct, When};

/// The most letters and digits of a code.
const CODE_CHARACTERS_MAX: usize = 40;

type Done = Result<(), Refusal>;

impl Study {
    /// Takes an event in. One that is refused changes nothing and is not to be logged.
    pub fn apply(&mut self, event: &Event) -> Result<(), Refusal> {
        if self.events >= EVENTS_MAX {
            return Err(Refusal::new(format!("a study has at most {EVENTS_MAX} events")));
        }
        if event.why.chars().count() > CHARACTERS_MAX {
            return Err(Refusal::new(format!("a reason has at most {CHARACTERS_MAX} characters")));
        }
        // Clocks of machines are put back at times; a study's own never is.
        let now_ms = self.clock_ms.max(event.at_ms);
        match (event.kind.is_participants(), event.seat) {
            (true, Some(seat)) => self.participant(seat, &event.kind, now_ms)?,
            (true, None) => return Err(Refusal::new("whose seat?")),
            (false, Some(_)) => return Err(Refusal::new("no participant does this")),
            (false, None) if event.kind.is_experimenters() => {
                let is_note = matches!(event.kind, EventKind::Noted { .. });
                if event.why.trim().is_empty() && !is_note {
                    return Err(Refusal::new("say why: it is logged"));
                }
                self.experimenter(&event.kind)?;
            }
            (false, None) => self.table(&event.kind, now_ms)?,
        }
        self.clock_ms = now_ms;
        self.events += 1;
        self.told.push_back((event.at_ms, words(event, self.people.group)));
        if self.told.len() > TOLD_MAX {
            self.told.pop_front();
        }
        Ok(())
    }

    fn participant(&mut self, id: SeatId, kind: &EventKind, now_ms: u64) -> Done {
        let index = (id.0 as usize).wrapping_sub(1);
        let Some(seat) = self.seats.get_mut(index) else {
            return Err(Refusal::new("there is no such seat"));
        };
        let group = seat.group;
        // Whoever comes back to see that it is over is let in to see it.
        let comes_or_goes =
            matches!(kind, EventKind::Left | EventKind::Returned | EventKind::Claimed { .. });
        if self.groups[group].declined.is_some() && !comes_or_goes {
            return Err(Refusal::new("this group's study is over"));
        }
        match kind {
            EventKind::Claimed { secret_hash } => return claimed(seat, secret_hash),
            _ if seat.secret_hash.is_none() => return Err(Refusal::new("nobody has this seat")),
            EventKind::Left if !seat.is_here => return Err(Refusal::again("it is gone already")),
            EventKind::Left => (seat.is_here, seat.is_ready) = (false, false),
            EventKind::Returned if seat.is_here => return Err(Refusal::again("it is here")),
            EventKind::Returned => seat.is_here = true,
            _ if !seat.is_here => return Err(Refusal::new("nobody is at this seat")),
            EventKind::Consented => match seat.consent {
                None => seat.consent = Some(true),
                Some(_) => return Err(Refusal::again("it agreed already")),
            },
            EventKind::Declined => {
                seat.consent = Some(false);
                let group = &mut self.groups[group];
                (group.declined, group.playing) = (Some(id), None);
            }
            EventKind::Calibrated(found) => return self.calibrated(id, found, now_ms),
            EventKind::MeasuresAgain => return self.measures_again(id, now_ms),
            EventKind::Ready => return self.ready(id, now_ms),
            EventKind::Answered { trial, question, presented, answer } => {
                return self.answered(id, *trial, *question, presented, answer);
            }
            _ => return Err(Refusal::new("no participant does this")),
        }
        Ok(())
    }

    fn calibrated(&mut self, id: SeatId, found: &Calibration, now_ms: u64) -> Done {
        match self.stage(id, now_ms) {
            super::Stage::Calibration => {}
            super::Stage::Consent { .. } => {
                return Err(Refusal::new("it has not agreed to take part"));
            }
            _ => return Err(Refusal::again("it is measured already")),
        }
        if let Some(what) = found.wrong() {
            return Err(Refusal::new(what));
        }
        let seat = &mut self.seats[id.0 as usize - 1];
        seat.calibration = Some(found.clone());
        let group = seat.group;
        self.look_at_floors(group);
        Ok(())
    }

    /// A line that was too slow may be better by now.
    fn measures_again(&mut self, id: SeatId, now_ms: u64) -> Done {
        match self.stage(id, now_ms) {
            super::Stage::Refused { .. } => {
                let seat = &mut self.seats[id.0 as usize - 1];
                (seat.calibration, seat.refused) = (None, None);
                Ok(())
            }
            super::Stage::Calibration => Err(Refusal::again("it is being measured")),
            _ => Err(Refusal::new("only a line that was refused is measured again")),
        }
    }

    fn ready(&mut self, id: SeatId, now_ms: u64) -> Done {
        match self.stage(id, now_ms) {
            super::Stage::Ready { .. } => {
                self.seats[id.0 as usize - 1].is_ready = true;
                Ok(())
            }
            _ if self.seats[id.0 as usize - 1].is_ready => Err(Refusal::again("it is ready")),
            _ => Err(Refusal::new("there is nothing to be ready for")),
        }
    }

    fn answered(
        &mut self,
        id: SeatId,
        trial: Option<u32>,
        question: u32,
        presented: &[String],
        answer: &str,
    ) -> Done {
        let index = id.0 as usize - 1;
        let owed = self.seats[index].owed.iter().position(|one| *one == (trial, question));
        let Some(owed) = owed else { return Err(Refusal::again("this was not asked")) };
        let Some(asked) = self.asked_one(id, trial, question) else {
            return Err(Refusal::new("there is no such question"));
        };
        if answer.chars().count() > CHARACTERS_MAX {
            return Err(Refusal::new(format!("an answer has {CHARACTERS_MAX} characters at most")));
        }
        let sorted = |options: &[String]| {
            let mut options = options.to_vec();
            options.sort();
            options
        };
        if sorted(presented) != sorted(&asked.options) {
            return Err(Refusal::new("these are not the options of this question"));
        }
        if answer.trim().is_empty() {
            if asked.required {
                return Err(Refusal::new("this question must be answered"));
            }
        } else if !asked.options.is_empty() && !asked.options.iter().any(|one| one == answer) {
            return Err(Refusal::new("this is none of the options"));
        }
        self.seats[index].owed.remove(owed);
        let group = self.seats[index].group;
        if let Some(trial) = trial {
            self.climb_by_answer(group, trial, question, answer);
        }
        self.settle(group);
        Ok(())
    }

    /// A staircase goes on by an answer, if that is what it goes by.
    fn climb_by_answer(&mut self, index: usize, trial: u32, question: u32, answer: &str) {
        let group = &self.groups[index];
        let Some(place) = self.place_of(group, trial) else { return };
        let is_right = match self.people.staircase.as_ref().map(|staircase| &staircase.correct) {
            Some(Correct::Answer(number, right)) if *number == question => answer == right,
            Some(Correct::Interval) if question == WHICH => {
                let first = place - place % 2;
                let comparison = match &self.people.intervals {
                    Some(one) if one.is_standard(self.trial_at(group, first)) => 1,
                    _ => 0,
                };
                answer == INTERVAL_NAMES[comparison]
            }
            _ => return,
        };
        self.climb(index, place, is_right);
    }

    fn climb(&mut self, index: usize, place: usize, is_right: bool) {
        let Some(staircase) = &self.people.staircase else { return };
        let group = &self.groups[index];
        let trial = self.trial_at(group, place);
        if trial.is_practice {
            return;
        }
        let (number, key) = (trial.number, self.stairs_key(group, place));
        let level = group.stairs.get(&key).map_or(staircase.start(), |one| one.level(staircase));
        let stairs = self.groups[index].stairs.entry(key).or_default();
        stairs.steps.push(Step { trial: number, level, is_right });
    }

    /// What happens at a table.
    fn table(&mut self, kind: &EventKind, now_ms: u64) -> Done {
        let (EventKind::Started { group, trial, attempt }
        | EventKind::Finished { group, trial, attempt, .. }
        | EventKind::Broken { group, trial, attempt, .. }) = kind
        else {
            return Err(Refusal::new("nobody does this"));
        };
        let index = self.group_index(*group)?;
        if let EventKind::Started { .. } = kind {
            return self.started(index, *trial, *attempt, now_ms);
        }
        let group = &self.groups[index];
        let place = match group.playing {
            Some((place, number))
                if number == *attempt && self.trial_at(group, place).number == *trial =>
            {
                place
            }
            _ => return Err(Refusal::again("this attempt is not being played")),
        };
        match kind {
            EventKind::Finished { result, flags, .. } => {
                if result.is_some_and(|result| !result.is_finite()) || flags.len() > 1_000 {
                    return Err(Refusal::new("such a result cannot be"));
                }
                self.finished(index, place, *result, now_ms);
            }
            _ => self.broken(index, place),
        }
        self.settle(index);
        Ok(())
    }

    fn started(&mut self, index: usize, trial: u32, attempt: u32, now_ms: u64) -> Done {
        let Some(start) = self.due_of(index, now_ms) else {
            return Err(Refusal::new("not everyone of this group is ready"));
        };
        if (start.trial.number, start.attempt) != (trial, attempt) {
            let (number, attempt) = (start.trial.number, start.attempt);
            return Err(Refusal::new(format!("due is attempt {attempt} at trial {number}")));
        }
        if attempt > ATTEMPTS_MAX {
            return Err(Refusal::new(format!("a trial has at most {ATTEMPTS_MAX} attempts")));
        }
        let Some(place) = self.next_of(&self.groups[index]) else {
            return Err(Refusal::new("nothing is left to play"));
        };
        let group = &mut self.groups[index];
        group.attempts[place] = attempt;
        group.playing = Some((place, attempt));
        for seat in self.seats_of_group(index) {
            seat.is_ready = false;
        }
        Ok(())
    }

    fn finished(&mut self, index: usize, place: usize, result: Option<f64>, now_ms: u64) {
        let trial = self.trial_at(&self.groups[index], place);
        let (number, session) = (trial.number, trial.session.clone());
        let is_last_interval = self.interval(place) != Some(1);
        let break_every = self.people.break_every;
        let group = &mut self.groups[index];
        (group.playing, group.broken) = (None, 0);
        group.fates[place] = Fate::Finished;
        group.again.retain(|again| *again != place);
        group.session = Some((session, number));
        group.since_break += u32::from(is_last_interval);
        if break_every.is_some_and(|every| group.since_break >= every) && is_last_interval {
            (group.since_break, group.break_until_ms) = (0, now_ms + self.people.break_ms);
        }
        let by_metric = self
            .people
            .staircase
            .as_ref()
            .is_some_and(|staircase| matches!(staircase.correct, Correct::Metric(..)));
        if let Some(result) = result.filter(|_| by_metric) {
            self.climb(index, place, result > 0.5);
        }
        if is_last_interval {
            let mut owed: Vec<u32> = self.people.intervals.iter().map(|_| WHICH).collect();
            owed.extend(self.questions_after(When::Trial));
            self.owe(index, Some(number), &owed);
        }
        self.look_at_floors(index);
    }

    /// Played again; of two intervals both are, for the first is forgotten by then.
    fn broken(&mut self, index: usize, place: usize) {
        let is_second = self.interval(place) == Some(2);
        let group = &mut self.groups[index];
        group.playing = None;
        group.broken += 1;
        if is_second && group.fates[place - 1] == Fate::Finished {
            group.fates[place - 1] = Fate::Open;
            group.again.retain(|again| *again != place && *again + 1 != place);
            group.again.push_front(place);
            group.again.push_front(place - 1);
        }
    }

    fn questions_after(&self, when: When) -> Vec<u32> {
        let questions = (1..).zip(&self.people.questions);
        questions.filter(|(_, one)| one.after == when).map(|(number, _)| number).collect()
    }

    fn owe(&mut self, index: usize, trial: Option<u32>, questions: &[u32]) {
        for seat in self.seats_of_group(index) {
            seat.owed.extend(questions.iter().map(|question| (trial, *question)));
        }
    }

    /// What follows from what is left: questions after a session, and in the end.
    fn settle(&mut self, index: usize) {
        let group = &self.groups[index];
        if group.playing.is_some() {
            return;
        }
        let next = self.next_of(group).map(|place| self.trial_at(group, place).session.clone());
        // An answer may still decide whether a staircase goes on.
        let is_asked = self.seats_in(index).any(|(_, seat)| !seat.owed.is_empty());
        if next.is_none() && is_asked && self.people.staircase.is_some() {
            return;
        }
        if let Some((session, last)) = group.session.clone()
            && next.as_ref() != Some(&session)
            && !group.sessions_asked.contains(&session)
        {
            self.groups[index].sessions_asked.insert(session);
            let questions = self.questions_after(When::Session);
            self.owe(index, Some(last), &questions);
        }
        let group = &mut self.groups[index];
        if next.is_none() && group.session.is_some() && !group.is_study_asked {
            group.is_study_asked = true;
            let questions = self.questions_after(When::Study);
            self.owe(index, None, &questions);
        }
    }

    fn experimenter(&mut self, kind: &EventKind) -> Done {
        match kind {
            EventKind::Paused | EventKind::Resumed => {
                let pauses = *kind == EventKind::Paused;
                if self.is_paused == pauses {
                    return Err(Refusal::again("it is so already"));
                }
                self.is_paused = pauses;
            }
            EventKind::Noted { text } => {
                if !(1..=CHARACTERS_MAX).contains(&text.trim().chars().count()) {
                    return Err(Refusal::new(format!(
                        "a note of 1 to {CHARACTERS_MAX} characters"
                    )));
                }
            }
            EventKind::Repeated { group, trial } => return self.repeated(*group, *trial),
            EventKind::Skipped { group, trial } => return self.skipped(*group, *trial),
            EventKind::Changed { group, setting, value } => {
                return self.changed(*group, setting, value);
            }
            EventKind::Freed { seat, code } => return self.freed(SeatId(*seat), code),
            EventKind::Revealed { group } => {
                let index = self.group_index(*group)?;
                let group = &self.groups[index];
                let place = group.playing.map(|(place, _)| place).or_else(|| self.next_of(group));
                let Some(place) = place else { return Err(Refusal::new("it plays no more")) };
                let number = self.trial_at(group, place).number;
                self.groups[index].revealed = Some(number);
            }
            _ => return Err(Refusal::new("the experimenter does no such thing")),
        }
        Ok(())
    }

    /// The trial itself, or both of two intervals.
    fn pair(&self, place: usize) -> Vec<usize> {
        match self.people.intervals {
            Some(_) => vec![place - place % 2, place - place % 2 + 1],
            None => vec![place],
        }
    }

    fn repeated(&mut self, number: u32, trial: u32) -> Done {
        let index = self.group_index(number)?;
        let group = &self.groups[index];
        let Some(place) = self.place_of(group, trial) else {
            return Err(Refusal::new("this group has no such trial"));
        };
        let pair = self.pair(place);
        if group.declined.is_some() {
            return Err(Refusal::new("this group's study is over"));
        }
        if pair.iter().any(|place| group.playing.is_some_and(|(playing, _)| playing == *place)) {
            return Err(Refusal::new("it is being played"));
        }
        if pair.iter().any(|place| group.fates[*place] == Fate::Open) {
            return Err(Refusal::again("it is still to be played"));
        }
        let numbers: Vec<u32> =
            pair.iter().map(|place| self.trial_at(group, *place).number).collect();
        // What was left out before its turn comes in its turn: else it would be met before what stands before it.
        let is_ahead = pair.iter().all(|place| group.fates[*place] == Fate::Skipped)
            && self.turn_of(group).is_some_and(|turn| turn < pair[0]);
        let key = self.stairs_key(group, place);
        if let Some(stairs) = group.stairs.get(&key) {
            let is_step = stairs.steps.iter().any(|step| numbers.contains(&step.trial));
            let is_last = stairs.steps.last().is_some_and(|step| numbers.contains(&step.trial));
            if is_step && !is_last {
                let what = "a staircase went on from it: only its last trial can be repeated";
                return Err(Refusal::new(what));
            }
        }
        let group = &mut self.groups[index];
        if let Some(stairs) = group.stairs.get_mut(&key) {
            stairs.steps.retain(|step| !numbers.contains(&step.trial));
        }
        for place in pair {
            group.fates[place] = Fate::Open;
            group.again.extend((!is_ahead).then_some(place));
        }
        let asked_of_trial = self.questions_after(When::Trial);
        for seat in self.seats_of_group(index) {
            seat.owed.retain(|(trial, question)| {
                let is_of_trial = *question == WHICH || asked_of_trial.contains(question);
                !(is_of_trial && trial.is_some_and(|trial| numbers.contains(&trial)))
            });
            seat.is_ready = false;
        }
        self.look_at_floors(index);
        Ok(())
    }

    fn skipped(&mut self, number: u32, trial: u32) -> Done {
        let index = self.group_index(number)?;
        let group = &self.groups[index];
        let Some(place) = self.place_of(group, trial) else {
            return Err(Refusal::new("this group has no such trial"));
        };
        if group.fates[place] != Fate::Open {
            return Err(Refusal::again("it is over already"));
        }
        let pair = self.pair(place);
        let group = &mut self.groups[index];
        group.broken = 0;
        for place in pair {
            if group.playing.is_some_and(|(playing, _)| playing == place) {
                group.playing = None;
            }
            if group.fates[place] == Fate::Open {
                group.fates[place] = Fate::Skipped;
            }
            group.again.retain(|again| *again != place);
        }
        for seat in self.seats_of_group(index) {
            seat.is_ready = false;
        }
        self.look_at_floors(index);
        self.settle(index);
        Ok(())
    }

    fn changed(&mut self, group: Option<u32>, setting: &str, value: &str) -> Done {
        if let Some(number) = group {
            self.group_index(number)?;
        }
        let change = read_change(self, setting, value).map_err(Refusal::new)?;
        let name = setting.trim();
        self.changes
            .retain(|(whose, known)| known.name() != name || (group.is_some() && *whose != group));
        self.changes.extend(change.map(|change| (group, change)));
        for index in 0..self.groups.len() {
            self.look_at_floors(index);
        }
        Ok(())
    }

    /// Whoever declined, never came back or cannot play is replaced; orders stay as they are.
    fn freed(&mut self, id: SeatId, code: &str) -> Done {
        let Some(seat) = self.seat(id) else { return Err(Refusal::new("there is no such seat")) };
        let (index, place) = (seat.group, seat.place);
        if seat.secret_hash.is_none() {
            return Err(Refusal::again("nobody has this seat"));
        }
        if !self.is_fresh(index) {
            return Err(Refusal::new("this group has played already"));
        }
        let plain = plain_code(code);
        let is_taken = self.seat_of(code).is_some_and(|other| other != id);
        if is_taken || !(1..=CODE_CHARACTERS_MAX).contains(&plain.chars().count()) {
            return Err(Refusal::new("another seat has this code, or it is none"));
        }
        self.seats[id.0 as usize - 1] = Seat::new(code.to_owned(), index, place);
        let group = &mut self.groups[index];
        group.declined = group.declined.filter(|who| *who != id);
        Ok(())
    }

    fn group_index(&self, number: u32) -> Result<usize, Refusal> {
        let index = (number as usize).wrapping_sub(1);
        match self.groups.get(index) {
            Some(_) => Ok(index),
            None => Err(Refusal::new("there is no such group")),
        }
    }

    /// A trial's numbers, or those of both intervals, as far as they do not count as finished.
    pub(crate) fn uncounted(&self, group: u32, trial: u32) -> Vec<u32> {
        let group = (group as usize).checked_sub(1).and_then(|index| self.groups.get(index));
        let Some(group) = group else { return Vec::new() };
        let Some(place) = self.place_of(group, trial) else { return Vec::new() };
        let pair = self.pair(place).into_iter().filter(|at| group.fates[*at] != Fate::Finished);
        pair.map(|place| self.trial_at(group, place).number).collect()
    }

    fn place_of(&self, group: &Group, trial: u32) -> Option<usize> {
        group.trials.iter().position(|at| self.trials[*at].number == trial)
    }

    fn seats_of_group(&mut self, index: usize) -> &mut [Seat] {
        let size = self.people.group as usize;
        &mut self.seats[index * size..(index + 1) * size]
    }
}

fn claimed(seat: &mut Seat, secret_hash: &str) -> Done {
    if !(1..=200).contains(&secret_hash.len()) {
        return Err(Refusal::new("a hash of 1 to 200 characters"));
    }
    if seat.is_here {
        return match seat.secret_hash.as_deref() == Some(secret_hash) {
            true => Err(Refusal::again("it has this seat already")),
            false => Err(Refusal::new("somebody else is at this seat")),
        };
    }
    // Another browser is another machine, or another line.
    if seat.secret_hash.as_deref().is_some_and(|known| known != secret_hash) {
        (seat.calibration, seat.refused) = (None, None);
    }
    seat.secret_hash = Some(secret_hash.to_owned());
    seat.is_here = true;
    Ok(())
}
