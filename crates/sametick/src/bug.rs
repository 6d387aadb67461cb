//! Bugs that others had, to be let loose on purpose: a simulation that does not find them proves
//! nothing. Without the feature `historical_bugs` none can be, and no code of theirs is compiled.

/// A mistake that was once made in a library like this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub, reason = "public with the feature, used by other features")]
pub enum Bug {
    /// netcode, 2019: the replay window moves before a packet is known to be authentic.
    WindowBeforeAuthentication,
    /// netcode, 2026: number plus window overflows, and late packets seem too old.
    AdditiveOverflow,
    /// Quake III: an acknowledgement of what was never sent is believed.
    UnclampedAcknowledgement,
    /// quinn, 2026: fragments are kept however far apart they are.
    UnboundedGaps,
    /// netcode, 2026: after a restart the same key seals the same numbers again.
    KeysAgainAfterRestart,
}

#[cfg(not(feature = "historical_bugs"))]
pub(crate) const fn is(_: Bug) -> bool {
    false
}

#[cfg(feature = "historical_bugs")]
pub use chosen::{ALL, choose};

#[cfg(feature = "historical_bugs")]
pub(crate) use chosen::is;

#[cfg(feature = "historical_bugs")]
mod chosen {
    use super::Bug;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// All of them.
    pub const ALL: [Bug; 5] = [
        Bug::WindowBeforeAuthentication,
        Bug::AdditiveOverflow,
        Bug::UnclampedAcknowledgement,
        Bug::UnboundedGaps,
        Bug::KeysAgainAfterRestart,
    ];

    /// One more than the place of the bug; zero for none.
    static CHOSEN: AtomicUsize = AtomicUsize::new(0);

    /// Lets one loose in the whole process, or none.
    pub fn choose(bug: Option<Bug>) {
        CHOSEN.store(bug.map_or(0, |bug| 1 + bug as usize), Ordering::Relaxed);
    }

    pub(crate) fn is(bug: Bug) -> bool {
        CHOSEN.load(Ordering::Relaxed) == 1 + bug as usize
    }
}
