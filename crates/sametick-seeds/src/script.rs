//! The gate that every fault of a run passes: numbers the faults, and lets a run be repeated with some of them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::rc::Rc;

/// Numbers the faults of one run in the order in which the simulation asks for them, and refuses those that are not
/// kept. A clone is the same script.
///
/// A simulation rolls its dice whether or not a fault is allowed, so that refusing one changes as little else as
/// possible. With [`Script::all`] every fault is allowed, and the run is the seed's own.
#[derive(Clone, Debug)]
pub struct Script(Rc<RefCell<Asked>>);

#[derive(Debug)]
struct Asked {
    /// None allows all.
    kept: Option<BTreeSet<u32>>,
    next: u32,
    /// Those that were allowed.
    inflicted: Vec<Fault>,
    describes: bool,
    virtual_seconds: f64,
}

/// One fault that a run inflicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number among all that the run asked for.
    pub number: u32,
    /// Its kind, in a word. Shrinking tries to do without a whole kind first.
    pub kind: &'static str,
    /// The virtual time and what it was; empty unless the script describes.
    pub what: String,
}

impl Script {
    /// Allows every fault: the run is what the seed alone says.
    pub fn all() -> Self {
        Self::new(None, false)
    }

    /// Allows the faults with these numbers, or all.
    pub fn keeping(kept: Option<BTreeSet<u32>>) -> Self {
        Self::new(kept, false)
    }

    /// The same, and keeps the words of each fault.
    pub fn describing(kept: Option<BTreeSet<u32>>) -> Self {
        Self::new(kept, true)
    }

    fn new(kept: Option<BTreeSet<u32>>, describes: bool) -> Self {
        let asked = Asked { kept, next: 0, inflicted: Vec::new(), describes, virtual_seconds: 0.0 };
        Self(Rc::new(RefCell::new(asked)))
    }

    /// Whether a fault may be inflicted now. Ask once for each, after its dice are rolled.
    pub fn allows(
        &self,
        kind: &'static str,
        at: impl Display,
        what: impl FnOnce() -> String,
    ) -> bool {
        let mut asked = self.0.borrow_mut();
        let number = asked.next;
        asked.next += 1;
        if asked.kept.as_ref().is_some_and(|kept| !kept.contains(&number)) {
            return false;
        }
        let what = if asked.describes { format!("{at}: {}", what()) } else { String::new() };
        asked.inflicted.push(Fault { number, kind, what });
        true
    }

    /// What was drawn for the whole run, or `calm` if that is not allowed. Nothing is asked if both are the same.
    pub fn habit<T: PartialEq + Debug>(&self, kind: &'static str, drawn: T, calm: T) -> T {
        if drawn == calm || !self.allows(kind, "always", || format!("{drawn:?}")) {
            return calm;
        }
        drawn
    }

    /// Says how long the run was in virtual time, for the summary.
    pub fn lasted(&self, virtual_seconds: f64) {
        self.0.borrow_mut().virtual_seconds = virtual_seconds;
    }

    pub(crate) fn virtual_seconds(&self) -> f64 {
        self.0.borrow().virtual_seconds
    }

    /// The faults that were allowed so far, in their order.
    pub fn inflicted(&self) -> Vec<Fault> {
        self.0.borrow().inflicted.clone()
    }

    /// The first faults of these kinds, in words; for a script that describes. Pins what a seed draws.
    pub fn first_of(&self, kinds: &[&str], count: usize) -> Vec<String> {
        let asked = self.0.borrow();
        let faults = asked.inflicted.iter().filter(|fault| kinds.contains(&fault.kind));
        faults.take(count).map(|fault| format!("{}, {}", fault.kind, fault.what)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for five faults; those that were allowed.
    fn ask(script: &Script) -> Vec<usize> {
        (0..5).filter(|n| script.allows("cut", n, || format!("line {n}"))).collect()
    }

    #[test]
    fn a_script_allows_all_or_what_it_keeps() {
        assert_eq!(ask(&Script::all()), [0, 1, 2, 3, 4]);
        assert_eq!(ask(&Script::keeping(Some([1, 4, 9].into()))), [1, 4]);
        assert_eq!(ask(&Script::keeping(Some(BTreeSet::new()))), []);
    }

    #[test]
    fn faults_are_numbered_whether_or_not_they_are_allowed() {
        let script = Script::describing(Some([3].into()));
        ask(&script);
        let fault = Fault { number: 3, kind: "cut", what: "3: line 3".to_owned() };
        assert_eq!(script.inflicted(), [fault]);
        assert!(!script.allows("cut", 5, String::new));
    }

    #[test]
    fn a_habit_that_is_refused_is_calm_and_one_that_is_calm_is_not_asked_for() {
        let script = Script::keeping(Some([1].into()));
        assert_eq!(script.habit("loss", 5, 0), 0);
        assert_eq!(script.habit("jitter", 0, 0), 0);
        assert_eq!(script.habit("drift", 7, 0), 7);
        assert_eq!(script.inflicted().len(), 1);
    }

    #[test]
    fn the_first_faults_of_some_kinds_are_told_in_words() {
        let script = Script::describing(None);
        script.habit("loss", 0.5, 0.0);
        ask(&script);
        assert_eq!(script.first_of(&["cut"], 2), ["cut, 0: line 0", "cut, 1: line 1"]);
        assert_eq!(script.first_of(&["loss", "drift"], 2), ["loss, always: 0.5"]);
    }
}
