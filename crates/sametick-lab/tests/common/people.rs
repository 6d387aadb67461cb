//! People who do what their pages ask for, and a host who plays what is due.

use super::read;
use sametick::Dice;
use sametick::secure::Random;
use sametick_lab::people::{Asked, Calibration, Event, EventKind, SeatId, Stage, Study};
use std::collections::BTreeMap;

/// Pairs with roles, questions of all kinds, breaks and foreperiods.
pub(crate) const PAIRS: &str = r#"
question = "Who wins round a corner?"
participants = 8
repetitions = 2
practice = 1
order = "williams"
[settings]
duration = "1 s"
warm_up = "1 s"
[factors]
ping = ["40 ms", "80 ms", "120 ms", "160 ms"]
[people]
group = 2
roles = ["peeker", "holder"]
swap = true
consent = "Agree?"
thanks = "Bye."
break_every = 3
break_length = "30 s"
foreperiod = ["1 s", "3 s"]
[[people.question]]
ask = "How fair?"
kind = "rating"
options = ["1", "2", "3"]
[[people.question]]
ask = "What did you notice?"
kind = "choice"
options = ["nothing", "stutter", "delay"]
randomised = true
required = false
after = "session"
[[people.question]]
ask = "Anything else?"
kind = "text"
required = false
after = "study"
"#;

pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// Participants and a host who do what stages ask for; every event is kept as a log would.
pub(crate) struct Driver {
    pub(crate) text: String,
    pub(crate) study: Study,
    pub(crate) events: Vec<Event>,
    pub(crate) now_ms: u64,
    /// Answers whether a trial was right at a level.
    pub(crate) is_right: fn(f64, &mut Dice) -> bool,
    pub(crate) dice: Dice,
    pub(crate) finished: BTreeMap<u32, Vec<u32>>,
}

impl Driver {
    pub(crate) fn new(text: &str, seed: u64) -> Self {
        let (experiment, plan) = read(text);
        let codes =
            Study::draw_codes(Study::seats_of(&experiment), &mut Seeded(Dice::new(seed, 1)));
        let study = Study::new(&experiment, &plan, codes).expect("a study");
        Self {
            text: text.to_owned(),
            study,
            events: Vec::new(),
            now_ms: 1_000,
            is_right: |_, _| true,
            dice: Dice::new(seed, 2),
            finished: BTreeMap::new(),
        }
    }

    pub(crate) fn apply(&mut self, seat: Option<SeatId>, kind: EventKind) -> bool {
        let why = if kind.is_experimenters() { "because".to_owned() } else { String::new() };
        let event = Event { at_ms: self.now_ms, seat, kind, why };
        let is_taken = self.study.apply(&event).is_ok();
        if is_taken {
            if let EventKind::Finished { group, trial, .. } = event.kind {
                self.finished.entry(group).or_default().push(trial);
            }
            self.events.push(event);
        }
        is_taken
    }

    pub(crate) fn must(&mut self, seat: Option<SeatId>, kind: EventKind) {
        let shown = format!("{kind:?}");
        assert!(self.apply(seat, kind), "refused: {shown}");
    }

    /// One seat does what its page asks for; whether anything was to do.
    pub(crate) fn act(&mut self, seat: SeatId, floor_ms: f64) -> bool {
        if !self.study.is_here(seat) {
            return match self.study.secret_hash(seat) {
                None => self.apply(Some(seat), EventKind::Claimed { secret_hash: "s".to_owned() }),
                Some(_) => self.apply(Some(seat), EventKind::Returned),
            };
        }
        match self.study.stage(seat, self.now_ms) {
            Stage::Consent { .. } => self.apply(Some(seat), EventKind::Consented),
            Stage::Calibration => {
                let found = Calibration { floor_ms, ..Calibration::default() };
                self.apply(Some(seat), EventKind::Calibrated(found))
            }
            Stage::Ready { .. } => self.apply(Some(seat), EventKind::Ready),
            Stage::Refused { .. }
                if self.study.calibration(seat).is_some_and(|one| one.floor_ms != floor_ms) =>
            {
                self.apply(Some(seat), EventKind::MeasuresAgain)
            }
            Stage::Questions { trial, questions } => {
                let asked = questions[0].clone();
                let answer = self.answer(trial, &asked);
                let (question, presented) = (asked.question, asked.options);
                let kind = EventKind::Answered { trial, question, presented, answer };
                self.apply(Some(seat), kind)
            }
            Stage::Break { seconds_left } => {
                self.now_ms += seconds_left * 1_000;
                true
            }
            _ => false,
        }
    }

    /// By chance; which of two intervals as the level makes it.
    pub(crate) fn answer(&mut self, trial: Option<u32>, asked: &Asked) -> String {
        if asked.options.is_empty() {
            return String::new();
        }
        if asked.question == 0 {
            let (_, plan) = read(&self.text);
            let second = &plan.trials[trial.expect("a trial") as usize - 1];
            let right = usize::from(second.name == "comparison");
            let level = self.level();
            let is_right = (self.is_right)(level, &mut self.dice);
            return asked.options[if is_right { right } else { 1 - right }].clone();
        }
        asked.options[self.dice.below(asked.options.len() as u64) as usize].clone()
    }

    pub(crate) fn level(&self) -> f64 {
        let staircase = self.study.people().staircase.clone();
        let stairs = self.study.stairs(1).and_then(|all| all.values().next().cloned());
        staircase.map_or(0.0, |one| stairs.map_or(one.start(), |stairs| stairs.level(&one)))
    }

    /// The host plays what is due; whether anything was.
    pub(crate) fn play(&mut self) -> bool {
        let due = self.study.due(self.now_ms);
        for start in &due {
            let (group, trial, attempt) = (start.group, start.trial.number, start.attempt);
            self.must(None, EventKind::Started { group, trial, attempt });
            self.now_ms += 2_000;
            let level = start.trial.settings.number("ping").unwrap_or(0.0);
            let right = f64::from((self.is_right)(level, &mut self.dice));
            let (flags, result) = (Vec::new(), Some(right));
            self.must(None, EventKind::Finished { group, trial, attempt, flags, result });
        }
        !due.is_empty()
    }

    /// Everyone does what is asked, to the end.
    pub(crate) fn finish(&mut self, floor_ms: f64) {
        for _ in 0..100_000 {
            let mut moved = false;
            for seat in self.study.seats() {
                moved |= self.act(seat, floor_ms);
            }
            moved |= self.play();
            if !moved {
                return;
            }
        }
        panic!("it never ends");
    }

    pub(crate) fn folded_again(&self) -> Study {
        let (experiment, plan) = read(&self.text);
        let codes = self.study.seats().map(|s| self.study.code_of(s).expect("a code").to_owned());
        let mut study = Study::new(&experiment, &plan, codes.collect()).expect("a study");
        for event in &self.events {
            study.apply(event).expect("what was taken once is taken again");
        }
        study
    }

    /// All that can be seen of a study.
    pub(crate) fn seen(study: &Study, now_ms: u64) -> String {
        let stages: Vec<Stage> = study.seats().map(|seat| study.stage(seat, now_ms)).collect();
        format!("{} {stages:?} {:?}", study.live(now_ms), study.due(now_ms))
    }
}
