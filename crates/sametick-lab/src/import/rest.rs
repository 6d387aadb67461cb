//! What a level of an experiment says that is read apart: told when all is read, so that no key is passed over.

use super::{Becomes, Fate, Import, KEYS, line, quoted};
use crate::any::{Any, Place, WrongAny};
use crate::value::Plain;

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

    /// How long targets wait before they appear: fixed, or drawn between two.
    pub(super) fn foreperiod(
        &mut self,
        text: &mut String,
        level: &Any,
        path: &str,
        prefix: &str,
    ) -> Result<(), WrongAny> {
        let full = if path.is_empty() { String::new() } else { format!("{path}.") };
        let (mean, range) = (level.get("pretrialDuration"), level.get("pretrialDurationRange"));
        let Some(at) = mean.or(range) else { return Ok(()) };
        let time = |any: &Any| any.number().filter(|time| (0.0..=3_600.0).contains(time));
        let mut said = |name: &str, seconds: f64| {
            let ms = quoted(&format!("{} ms", Plain(seconds * 1000.0)));
            line(text, &format!("{prefix}{name}"), &ms);
        };
        let odd =
            |key: &str, any: &Any| self.wrong(any.at, format!("`{key}` is seconds, 3600 at most"));
        let mean_seconds = match mean {
            Some(mean) => Some(time(mean).ok_or_else(|| odd("pretrialDuration", mean))?),
            None => None,
        };
        let Some(range) = range else {
            said("foreperiod", mean_seconds.unwrap_or(0.0));
            self.note(at.at, &format!("{full}pretrialDuration"), Fate::Mapped, "`foreperiod`");
            return Ok(());
        };
        let both: Option<Vec<f64>> = range.items().unwrap_or_default().iter().map(time).collect();
        let [least, most] = both.unwrap_or_default()[..] else {
            return Err(odd("pretrialDurationRange", range));
        };
        if least > most {
            return Err(self.wrong(range.at, "`pretrialDurationRange` is from least to most"));
        }
        said("foreperiod", least);
        said("foreperiod_most", most);
        if let Some(mean) = mean_seconds.filter(|mean| *mean > least) {
            said("foreperiod_mean", mean);
        }
        let what = "`foreperiod` to `foreperiod_most`, a truncated exponential of this mean from the least on";
        self.note(range.at, &format!("{full}pretrialDurationRange"), Fate::Mapped, what);
        if let Some(mean) = mean {
            let what = "`foreperiod_mean`";
            self.note(mean.at, &format!("{full}pretrialDuration"), Fate::Mapped, what);
        }
        Ok(())
    }
}
