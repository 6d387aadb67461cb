//! What a level of an experiment says that is read apart: told when all is read, so that no key is passed over.

use super::{Becomes, Fate, Import, KEYS, line, quoted};
use crate::any::{Any, Place, WrongAny};
use crate::value::Plain;

/// How long targets wait in FPSci if nothing is said.
const PRETRIAL_SECONDS: f64 = 0.5;

impl Import<'_> {
    /// Remembers a key that is read by itself.
    pub(super) fn remember(&mut self, at: Place, key: &str) {
        self.pending.push((at, key.to_owned()));
    }

    /// Tells of every such key of which nothing was told yet.
    pub(super) fn tell_rest(&mut self) {
        for (at, key) in std::mem::take(&mut self.pending) {
            if self.mappings.iter().any(|mapping| mapping.key == key) {
                continue;
            }
            let last = key.rsplit('.').next().unwrap_or(&key);
            let (fate, what) = match last {
                "description" => (Fate::Mapped, "`title`"),
                "sessions" => (Fate::Mapped, "[[session]]"),
                "trials" => (Fate::Mapped, "[[session.trial]]"),
                "id" => (Fate::Mapped, "`name`"),
                "count" => (Fate::Mapped, "`count`"),
                "defaultTrialCount" => (Fate::Mapped, "`count` of trials that say none"),
                "randomizeTaskOrder" | "randomizeTrialOrder" => {
                    (Fate::Approximated, "one `order` for the whole experiment")
                }
                "pastFrame" => (
                    Fate::Approximated,
                    "`rewind`, where `timeWarpEnabled` stands beside it; else nothing",
                ),
                "weapon" | "hitsToKill" => {
                    let what = "what is said further inside counts, and `hitsToKill` before a weapon's damage; else \
                        the arena has its own weapons";
                    (Fate::Impossible, what)
                }
                "targetIds" | "ids" => (Fate::Mapped, "`targetIds` is said too, and counts"),
                _ => (Fate::Mapped, "there is nothing in it"),
            };
            self.note(at, &key, fate, what);
        }
    }

    /// Every key that is known at any level.
    pub(super) fn known_keys() -> impl Iterator<Item = &'static str> {
        KEYS.iter().flat_map(|(_, keys): &(Becomes, &[&str])| keys.iter().copied())
    }

    /// Tells what becomes of the wait that a level says; trials have it.
    pub(super) fn foreperiod(&mut self, level: &Any, path: &str) -> Result<(), WrongAny> {
        let full = if path.is_empty() { String::new() } else { format!("{path}.") };
        // A range of the whole file holds here too.
        let range = self.wait_range(level)?.or(self.wait_range(&self.file.root)?);
        let mean = self.mean_wait(level)?;
        let is_above = mean.zip(range).is_none_or(|(mean, [least, _])| mean > least);
        if let Some(mean) = level.get("pretrialDuration") {
            let (fate, what) = match is_above {
                true => (
                    Fate::Mapped,
                    "`foreperiod` of trials, where a range is said `foreperiod_mean`",
                ),
                false => (
                    Fate::Approximated,
                    "not above the least of the range, and so no `foreperiod_mean`: it is the middle of the range",
                ),
            };
            self.note(mean.at, &format!("{full}pretrialDuration"), fate, what);
        }
        if let Some(range) = level.get("pretrialDurationRange") {
            let what = "`foreperiod` to `foreperiod_most`, a truncated exponential of this mean from the least on";
            self.note(range.at, &format!("{full}pretrialDurationRange"), Fate::Mapped, what);
        }
        Ok(())
    }

    /// How long the targets of a trial wait: fixed, or drawn between two; each as the innermost level says, or as is
    /// usual there.
    pub(super) fn trial_foreperiod(
        &self,
        text: &mut String,
        levels: [&Any; 3],
    ) -> Result<(), WrongAny> {
        let (mut mean, mut range) = (None, None);
        for level in levels {
            mean = mean.or(self.mean_wait(level)?);
            range = range.or(self.wait_range(level)?);
        }
        let mean = mean.unwrap_or(PRETRIAL_SECONDS);
        let mut said = |name: &str, seconds: f64| {
            line(text, name, &quoted(&format!("{} ms", Plain(seconds * 1000.0))));
        };
        let Some([least, most]) = range else {
            said("foreperiod", mean);
            return Ok(());
        };
        said("foreperiod", least);
        said("foreperiod_most", most);
        if mean > least {
            said("foreperiod_mean", mean);
        }
        Ok(())
    }

    fn mean_wait(&self, level: &Any) -> Result<Option<f64>, WrongAny> {
        let Some(mean) = level.get("pretrialDuration") else { return Ok(None) };
        let what = "`pretrialDuration` is seconds, 3600 at most";
        seconds(mean).map(Some).ok_or_else(|| self.wrong(mean.at, what))
    }

    fn wait_range(&self, level: &Any) -> Result<Option<[f64; 2]>, WrongAny> {
        let Some(range) = level.get("pretrialDurationRange") else { return Ok(None) };
        let both: Option<Vec<f64>> =
            range.items().unwrap_or_default().iter().map(seconds).collect();
        let what = match both.unwrap_or_default()[..] {
            [least, most] if least <= most => return Ok(Some([least, most])),
            [_, _] => "`pretrialDurationRange` is from least to most",
            _ => "`pretrialDurationRange` is seconds, 3600 at most",
        };
        Err(self.wrong(range.at, what))
    }
}

fn seconds(any: &Any) -> Option<f64> {
    any.number().filter(|time| (0.0..=3_600.0).contains(time))
}
