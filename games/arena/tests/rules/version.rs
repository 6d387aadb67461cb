//! The version of the rules stands for what a step computes.

use sametick_arena::{Content, Mode, RULES, map, trace};

/// Of each version what [`trace`] gives: half a minute of a team match of eight players in the halls.
const TRACES: [(&str, u64); 1] = [("1", 12_392_844_395_445_683_427)];

#[test]
fn rules_that_compute_something_else_have_another_version() {
    let content = Content::new(map::HALLS, Mode::Teams).expect("the map is sound");
    let computed = trace(content, 1, 8, 1_800).expect("the rules compute finite numbers");
    let (version, recorded) = TRACES[TRACES.len() - 1];
    assert_eq!(RULES, version, "the newest version is recorded last");
    assert_eq!(computed, recorded, "the rules changed: raise RULES and record {computed} for it");
    let count = TRACES.iter().filter(|(version, _)| *version == RULES).count();
    assert_eq!(count, 1, "a version is recorded once");
}
