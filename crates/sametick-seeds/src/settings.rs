//! How much of a simulation is run, and with which faults: read from the environment.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The most runs that shrinking one failure takes, unless told otherwise.
const SHRINK_RUNS_MAX: u32 = 200;

/// What the environment asks for; none is what the simulation says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `SAMETICK_FIRST_SEED`.
    pub first_seed: u64,
    /// `SAMETICK_SEEDS`.
    pub seeds: Option<u64>,
    /// `SAMETICK_SECONDS`.
    pub seconds: Option<u64>,
    /// `SAMETICK_THREADS`.
    pub threads: Option<usize>,
    /// `SAMETICK_SCRIPT`: the faults that are kept.
    pub script: Option<BTreeSet<u32>>,
    /// `SAMETICK_SHRINK_RUNS`.
    pub shrink_runs_max: u32,
    /// `SAMETICK_SOAK_DIR`: where failures are written.
    pub soak_dir: Option<PathBuf>,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Panics
    /// If a variable does not say what it should: a test that ran something else would look as if it held.
    pub fn from_env() -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            let number: Option<u64> = text.parse().ok();
            Some(number.unwrap_or_else(|| panic!("{name} is a number, not {text:?}")))
        };
        let script = std::env::var("SAMETICK_SCRIPT").ok().map(|text| {
            let script = parse_script(&text);
            script
                .unwrap_or_else(|| panic!("SAMETICK_SCRIPT is such as 3,7-9 or none, not {text:?}"))
        });
        Self {
            first_seed: number("SAMETICK_FIRST_SEED").unwrap_or(0),
            seeds: number("SAMETICK_SEEDS"),
            seconds: number("SAMETICK_SECONDS"),
            threads: number("SAMETICK_THREADS").map(|threads| threads as usize),
            script,
            shrink_runs_max: number("SAMETICK_SHRINK_RUNS")
                .map_or(SHRINK_RUNS_MAX, |runs| u32::try_from(runs).unwrap_or(u32::MAX)),
            soak_dir: std::env::var_os("SAMETICK_SOAK_DIR").map(PathBuf::from),
        }
    }
}

/// The most faults that a script names: no run asks for as many.
const SCRIPT_NUMBERS_MAX: u32 = 10_000_000;

/// Reads numbers and ranges, such as `3,7-9`; `none` is a run without faults.
pub(crate) fn parse_script(text: &str) -> Option<BTreeSet<u32>> {
    let mut kept = BTreeSet::new();
    if text == "none" {
        return Some(kept);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > SCRIPT_NUMBERS_MAX {
            return None;
        }
        kept.extend(first..=last);
    }
    Some(kept)
}

/// Writes what [`parse_script`] reads.
pub(crate) fn write_script(kept: &BTreeSet<u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in kept {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let write = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.into_iter().map(write).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_as_it_is_written() {
        for (text, numbers) in
            [("none", &[][..]), ("3", &[3]), ("3,7-9", &[3, 7, 8, 9]), ("0-1,5", &[0, 1, 5])]
        {
            let kept: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!(parse_script(text), Some(kept.clone()), "{text}");
            assert_eq!(write_script(&kept), text);
        }
        assert_eq!(parse_script(" 2, 1 - 1"), Some([1, 2].into()));
        for text in ["", "a", "1,", "4-2", "-1", "1-", "0-4000000000"] {
            assert_eq!(parse_script(text), None, "{text}");
        }
    }
}
