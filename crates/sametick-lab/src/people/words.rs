//! What a file says of people, in the words of `lab check`.

use super::live::BETWEEN_SECONDS;
use super::table::{Correct, Design, People, When};
use crate::experiment::Experiment;
use crate::plan::Plan;
use crate::square::Order;
use crate::value::Plain;
use std::fmt::Write;

impl People {
    /// What will happen, and what is out of balance, a line each.
    pub fn explain(&self, experiment: &Experiment, plan: &Plan) -> String {
        let mut text = String::new();
        let groups = experiment.participants;
        let people = groups * self.group;
        let _ = match self.group {
            1 => writeln!(text, "people: {people}, one at a table"),
            size => writeln!(text, "people: {people}, {size} at a table, {groups} groups"),
        };
        if !self.roles.is_empty() {
            let changes = if self.swap { ", which change from trial to trial" } else { "" };
            let _ = writeln!(text, "  roles {}{changes}", self.roles.join(", "));
        }
        let own: Vec<f64> = plan
            .trials
            .iter()
            .filter(|trial| trial.participant == 1)
            .map(|trial| trial.played_ms() / 1000.0 + BETWEEN_SECONDS)
            .collect();
        let who = if self.group == 1 { "each" } else { "each group" };
        let meets = match self.design {
            Design::Within => format!("{who} meets all conditions"),
            Design::Between => format!("{who} meets one condition"),
        };
        let minutes = (own.iter().sum::<f64>() / 60.0).ceil();
        let (trials, minutes) = (counted(own.len(), "trial"), counted(minutes as usize, "minute"));
        let _ = writeln!(text, "  {meets}: {trials}, about {minutes}");
        self.explain_order(&mut text, experiment);
        self.explain_balance(&mut text, experiment, plan);
        self.explain_procedure(&mut text, experiment);
        let of = |when| self.questions.iter().filter(|one| one.after == when).count();
        let (trial, session, study) = (of(When::Trial), of(When::Session), of(When::Study));
        let _ = writeln!(
            text,
            "  questions: {trial} after each trial, {session} after each session, {study} in the end"
        );
        if let Some(every) = self.break_every {
            let seconds = self.break_ms / 1000;
            let every = counted(every as usize, "trial");
            let _ = writeln!(text, "  a break of {seconds} s after every {every}");
        }
        let _ = writeln!(
            text,
            "  flagged: ping off by more than {} ms, loss by {} %, frames longer than {} ms",
            Plain(self.tolerance_ms),
            Plain(self.tolerance_loss),
            Plain(self.frame_tolerance_ms)
        );
        for rule in &self.exclusions {
            let what = if rule.of_participant { "participants" } else { "trials" };
            let _ = writeln!(text, "  left out: {what} with {} ({})", rule.rule, rule.reason);
        }
        text
    }

    /// In which order conditions are met, by whom, and what that leaves mixed up.
    fn explain_order(&self, text: &mut String, experiment: &Experiment) {
        let most = experiment.sessions.iter().map(|session| session.conditions.len()).max();
        if most.unwrap_or(0) < 2 || self.design == Design::Between {
            return;
        }
        let _ = writeln!(
            text,
            "  order: {}",
            match experiment.order {
                Order::Williams => {
                    "williams: each condition stands in each place, and follows each other one, equally often"
                }
                Order::Latin => "latin: each condition stands in each place equally often",
                Order::Shuffled => "shuffled: by chance, another for each",
                Order::AsWritten => {
                    "as_written, the same for all: not balanced, what comes later is met with more practice"
                }
            }
        );
    }

    fn explain_balance(&self, text: &mut String, experiment: &Experiment, plan: &Plan) {
        // Of each session by itself, as they are dealt; the standard of two intervals is met by all.
        let counts = experiment.sessions.iter().map(|session| session.conditions.len() as u32);
        let uneven = counts.filter(|count| !experiment.participants.is_multiple_of(*count)).max();
        if let Some(conditions) = uneven.filter(|_| self.design == Design::Between) {
            let _ = writeln!(text, "  not balanced: {conditions} conditions want as many groups");
        }
        let repetitions = experiment.repetitions;
        if self.swap && !repetitions.is_multiple_of(self.group) {
            let size = self.group;
            let _ = writeln!(
                text,
                "  not balanced: {size} roles want a multiple of {size} repetitions, not {repetitions}"
            );
        }
        // What is below the floor of a usual line is refused to many.
        let least = plan.trials.iter().filter_map(|trial| trial.settings.number("ping"));
        if let Some(least) = least.min_by(f64::total_cmp).filter(|least| *least < 30.0) {
            let _ = writeln!(
                text,
                "  ping {} ms is below what most lines have: their participants would be refused",
                Plain(least)
            );
        }
    }

    fn explain_procedure(&self, text: &mut String, experiment: &Experiment) {
        if let Some(intervals) = &self.intervals {
            let (label, ask) = (intervals.standard.label(), &intervals.ask);
            let _ = writeln!(text, "  each trial is two rounds, one with {label}: \"{ask}\"");
        }
        if let Some(staircase) = &self.staircase {
            let kind = staircase.row().kind;
            let correct = match &staircase.correct {
                Correct::Metric(metric, comparison, bound) => {
                    format!("{} {} {}", metric.name, comparison.name(), Plain(*bound))
                }
                Correct::Answer(number, answer) => format!("question {number} answered {answer}"),
                Correct::Interval => "the right interval".to_owned(),
            };
            let _ = writeln!(
                text,
                "  staircase on {}: from {} in steps of {}{}, harder after {} right ({correct}), easier after {} \
                 wrong, over after {} reversals, or after {} trials",
                staircase.setting.name(),
                staircase.setting.value.shown(kind),
                Plain(staircase.step),
                kind.unit(),
                staircase.down,
                staircase.up,
                staircase.reversals,
                experiment.repetitions
            );
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
