//! Mutants for mutation testing: mistakes that a simulation must find, each at one line of this library. Without the
//! feature `mutants` no code of theirs is compiled.
//!
//! `docs/mutants.md` says after how many seeds each is found.

/// One mistake. The comment of each says what is wrong, and which promise that breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub, reason = "public with the feature, used by other features")]
pub enum Mutant {
    // Connections.
    /// netcode, 2019: the replay window moves before a packet is authenticated. A forged packet then makes the
    /// receiver refuse honest ones.
    WindowBeforeAuthentication,
    /// netcode, 2026: packet number plus window overflows at 32 bits, and late packets seem too old.
    AdditiveOverflow,
    /// Quake III: an acknowledgement of a packet that was never sent is believed.
    UnclampedAcknowledgement,
    /// quinn, 2026: reliable fragments are kept however far apart their numbers are. Memory is not bounded.
    UnboundedGaps,
    /// netcode, 2026: after a restart the same key seals the same packet numbers again.
    KeysAgainAfterRestart,
    /// A gap of more than 32 packets shifts the acknowledged range by 32 instead of clearing it, and the range is one
    /// packet too wide: it acknowledges a packet that was lost.
    AckOneBeyondAGap,
    /// The replay window admits 64 packet numbers more than it remembers: an old packet is taken a second time if the
    /// packet that shares its bit was lost.
    WindowAWordTooLong,
    /// A new path counts as proven by an acknowledgement of the last packet that was sent to the old path: an
    /// unproven address is sent more than three times what came from it.
    PathProvenByTheOldPath,
    /// A connection attempt that was accepted before the confirmed one is kept: a late packet of it replaces the newer
    /// session, which ends without a cause.
    OlderAttemptKept,
    /// The burst is not left out of what is refilled near the ceiling: after a pause a second has more bytes than the
    /// ceiling.
    BurstAboveTheCeiling,

    // Whole games: snapshots, baselines, commands, lag compensation.
    /// Parts of a snapshot are joined to one baseline although the first of them is not acknowledged: the client
    /// cannot decode what is built on it.
    BaselineJoinedAPartEarly,
    /// An entity counts as on the client's screen if it came into sight one snapshot after the baseline: the client
    /// keeps what it last knew of it, or does not see it.
    OnScreenASnapshotEarly,
    /// A fresh version of an entity is not marked as in use: it is freed while a client's baseline names it, and the
    /// next version gets its number.
    FreshVersionNotMarked,
    /// The limit of lag compensation is not checked again after the view time was rounded to a snapshot: a shot is
    /// judged further back than the limit.
    RewoundBeyondTheLimit,
    /// A client forgets its commands up to the newest snapshot although the part with its own entity was lost: it
    /// predicts without the commands in between.
    CommandsForgottenWithALostPart,

    // Lockstep.
    /// While the electors change, a quorum of the new roster is enough: two halves need not share a player.
    QuorumOfTheNewRoster,
    /// The leader counts its lease from when it heard a player, not from when it sent what the player has heard: it
    /// leads on after that player looks for another leader.
    LeaseFromWhatWasHeard,
    /// An election takes a silent player out at the last tick of which somebody has its command, and not at the next:
    /// who has stepped that tick has another world.
    GoneATickEarly,
    /// A machine that has promised its word to a caller still adopts a roster of the old epoch, and takes its promise
    /// back with it: it plays on with a leader that the caller takes out.
    RosterAfterItsPromise,
    /// A machine that has promised its word to a caller still takes commands of the old epoch: it steps ticks of which
    /// the caller does not know.
    HearsAfterItsPromise,
    /// A promise counts before the caller has all commands that the other has: the new roster removes a player before
    /// ticks that somebody stepped with it.
    PromiseBeforeHandover,

    // Host migration.
    /// The host counts its lease from when it heard a player, not from when it sent what the player acknowledged: a
    /// player that cannot hear the host is counted by two servers.
    LeaseFromLastHeard,
    /// The old electorate is dropped when a quorum of the new one knows the new order: a successor with the old order
    /// can gather a quorum too.
    SettledByTheNewElectorate,
    /// The vote of a player that left for good is kept when it comes back: it counts here and elsewhere.
    ProxyKeptOnReturn,
    /// A host that leaves gives its vote to every successor and not to the first alone: two successors have it.
    LastWordForEverySuccessor,
    /// A successor does not notice that a player knows a newer order than its own: it stands with an electorate that
    /// was replaced.
    StandsWithAnOldOrder,
    /// A successor steps as soon as a quorum is connected, before any player has promised its epoch: players that it
    /// loses at that moment count for the old host again, which steps an older epoch after a newer one.
    StepsWithoutPromises,

    // Event locking.
    /// An entity that follows another of its kind in a slot counts as the same: the client keeps the old id.
    SameSlotSameEntity,
    /// What one player sees is added to what the last one saw: a player is told of what only another may see.
    SightOfTheLastViewer,
    /// A request that the client's own rule denies leaves the official world at the present tick, of which the server
    /// has told nothing.
    DenialMovesTheTick,
}

#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}

#[cfg(feature = "mutants")]
pub use chosen::choose;

#[cfg(feature = "mutants")]
pub(crate) use chosen::is;

#[cfg(feature = "mutants")]
mod chosen {
    use super::Mutant;
    use std::cell::Cell;

    thread_local! {
        static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Switches one mutant on in this thread, or none. A simulation runs a seed in one thread, so that several
    /// mutants can be searched for at once.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.set(mutant);
    }

    #[inline]
    pub(crate) fn is(mutant: Mutant) -> bool {
        CHOSEN.get() == Some(mutant)
    }
}
