//! Finds few faults that still make a run fail: first without whole kinds, then by delta debugging. Runs nothing
//! itself.

use crate::script::Fault;
use std::collections::BTreeSet;

/// The faults that are left, and how many runs it took to find them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shrunk {
    pub(crate) kept: BTreeSet<u32>,
    pub(crate) runs: u32,
}

/// Shrinks the faults of a failed run.
///
/// `fails` runs with the faults it is given and says which of them were inflicted, or none if that run holds. Only
/// sets for which it failed are kept, so that what comes out fails, however the run changes with its faults.
pub(crate) fn shrink(
    faults: &[Fault],
    runs_max: u32,
    fails: impl FnMut(&BTreeSet<u32>) -> Option<BTreeSet<u32>>,
) -> Shrunk {
    let kept = faults.iter().map(|fault| fault.number).collect();
    let mut search = Search { kept, tried: BTreeSet::new(), runs: 0, runs_max, fails };
    if !search.keep_only(BTreeSet::new()) {
        search.drop_kinds(faults);
        search.delta_debug();
    }
    Shrunk { kept: search.kept, runs: search.runs }
}

struct Search<F> {
    /// The smallest set so far that fails.
    kept: BTreeSet<u32>,
    tried: BTreeSet<BTreeSet<u32>>,
    runs: u32,
    runs_max: u32,
    fails: F,
}

impl<F: FnMut(&BTreeSet<u32>) -> Option<BTreeSet<u32>>> Search<F> {
    /// Goes on with a smaller set if it fails too.
    fn keep_only(&mut self, candidate: BTreeSet<u32>) -> bool {
        let is_smaller = candidate.len() < self.kept.len();
        if !is_smaller || self.runs >= self.runs_max || !self.tried.insert(candidate.clone()) {
            return false;
        }
        self.runs += 1;
        let Some(inflicted) = (self.fails)(&candidate) else { return false };
        // Those that the run never came to ask for are not needed.
        self.kept = candidate.intersection(&inflicted).copied().collect();
        true
    }

    fn drop_kinds(&mut self, faults: &[Fault]) {
        let kinds: BTreeSet<&str> = faults.iter().map(|fault| fault.kind).collect();
        for kind in kinds {
            let of_kind = faults.iter().filter(|fault| fault.kind == kind);
            let of_kind: BTreeSet<u32> = of_kind.map(|fault| fault.number).collect();
            self.keep_only(&self.kept - &of_kind);
        }
    }

    /// Zeller and Hildebrandt's ddmin: in ever smaller parts, one part alone or all without one.
    fn delta_debug(&mut self) {
        let mut parts = 2;
        while self.kept.len() >= 2 && self.runs < self.runs_max {
            parts = parts.min(self.kept.len());
            let all: Vec<u32> = self.kept.iter().copied().collect();
            let chunks = all.chunks(all.len().div_ceil(parts));
            let chunks: Vec<BTreeSet<u32>> =
                chunks.map(|chunk| chunk.iter().copied().collect()).collect();
            if chunks.iter().any(|chunk| self.keep_only(chunk.clone())) {
                parts = 2;
            } else if chunks.iter().any(|chunk| self.keep_only(&self.kept - chunk)) {
                parts = (parts - 1).max(2);
            } else if parts >= all.len() {
                return;
            } else {
                parts *= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(count: u32) -> Vec<Fault> {
        let kind = |number| ["cut", "loss", "restart"][number as usize % 3];
        let fault = |number| Fault { number, kind: kind(number), what: String::new() };
        (0..count).map(fault).collect()
    }

    /// What is left of a hundred faults if those in `needed` make a run fail together.
    fn left(needed: &[u32], runs_max: u32) -> Shrunk {
        let needed: BTreeSet<u32> = needed.iter().copied().collect();
        shrink(&faults(100), runs_max, |kept| needed.is_subset(kept).then(|| kept.clone()))
    }

    #[test]
    fn what_is_left_is_what_was_needed() {
        for needed in [&[][..], &[0], &[99], &[3, 6], &[0, 50, 99], &[1, 2, 3, 4, 5, 6, 7]] {
            let shrunk = left(needed, 500);
            assert_eq!(shrunk.kept, needed.iter().copied().collect(), "in {} runs", shrunk.runs);
        }
        assert_eq!(left(&[], 500).runs, 1);
        assert!(left(&[40], 500).runs < 20);
    }

    #[test]
    fn shrinking_ends_after_so_many_runs_and_what_it_has_fails() {
        let shrunk = left(&[0, 20, 40, 60, 80], 30);
        assert_eq!(shrunk.runs, 30);
        assert!([0, 20, 40, 60, 80].iter().all(|number| shrunk.kept.contains(number)));
        assert!(shrunk.kept.len() < 100);
        assert_eq!(left(&[3], 0).kept.len(), 100);
    }

    /// A run that fails if two faults are there, or three others: either is an answer, and none is looked for twice.
    #[test]
    fn any_failure_counts_and_no_set_is_run_twice() {
        let mut tried = BTreeSet::new();
        let shrunk = shrink(&faults(30), 500, |kept| {
            assert!(tried.insert(kept.clone()), "{kept:?} was run before");
            let has = |numbers: &[u32]| numbers.iter().all(|number| kept.contains(number));
            (has(&[2, 17]) || has(&[4, 5, 28])).then(|| kept.clone())
        });
        assert!(shrunk.kept == [2, 17].into() || shrunk.kept == [4, 5, 28].into(), "{shrunk:?}");
    }

    /// Each run comes only so far as to ask for the first half of what it may do.
    #[test]
    fn faults_that_were_not_asked_for_are_not_kept() {
        let shrunk = shrink(&faults(64), 500, |kept| {
            let half: BTreeSet<u32> = kept.iter().copied().take(kept.len().div_ceil(2)).collect();
            half.contains(&0).then_some(half)
        });
        assert_eq!(shrunk.kept, [0].into());
    }

    /// What a run does may change with its faults in any way: the search ends all the same.
    #[test]
    fn shrinking_ends_even_if_failing_follows_no_rule() {
        for salt in 0..50_u32 {
            let shrunk = shrink(&faults(40), 200, |kept| {
                let mixed = kept.iter().fold(salt, |mixed, n| mixed.wrapping_mul(31) ^ n);
                (mixed % 3 == 0).then(|| kept.clone())
            });
            assert!(shrunk.runs <= 200);
        }
    }
}
