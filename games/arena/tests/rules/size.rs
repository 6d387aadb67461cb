//! How large a fighter is on the wire.

use sametick::{Layout, Precision};
use sametick_arena::Fighter;

/// The whole of a fighter as others see it, sent when it comes into sight; afterwards only what changed is.
#[test]
fn a_fighter_is_shown_in_twenty_bytes() {
    let layout = Layout::of::<Fighter>(Precision::Shown);
    let bits: u32 = layout.words().iter().map(|word| word.bits).sum();
    assert!(bits <= 160, "{bits}");
}
