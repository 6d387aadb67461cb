//! The host leaves: when one of the players is the server, another takes over world, saved events and
//! players. Knows no socket; [`Hosted`](crate::Hosted) puts it to use.
//!
//! A host names up to [`SUCCESSORS_MAX`] of those who volunteered, tells every player whom to go to and
//! with which ticket, and sends the successors its state once a second. When it is gone the players knock
//! at the first successor, who goes on from the newest state it has, under a higher *epoch*. What
//! happened after that state is lost, unless the host said goodbye: then nothing is.
//!
//! # Why two servers never step at once
//!
//! *A player lends itself to one server at a time.* It leaves a server only when that server says goodbye,
//! or after [`HOST_SILENCE`] without a packet. A server counts a player for [`LEASE`], from the moment at
//! which it **sent** the newest packet that the player has acknowledged. The player got that packet later
//! than it was sent, and stays for longer than it is counted; so whoever is counted here has not left yet,
//! however slow or one-sided the line is. Clocks need not agree, only run at the same pace within a fifth.
//!
//! *A server steps only while those it counts, itself among them, are a quorum*: more than half of the
//! players of its order, or exactly half with the first successor among them. This goes for the host as
//! for a successor. Two quorums of one electorate share a player, and that player is lent to one of them.
//!
//! A player that says goodbye lends itself to nobody any more, so a server that counted it may go on counting
//! it. A host that says goodbye gives its own vote to the first successor, and to no other.
//!
//! *When the players change, both electorates count.* A host whose players come and go gives out a new
//! order, and needs a quorum of the new electorate and of the old one until a quorum of the old one knows
//! the new order; a successor that was told of both needs both. A successor with an older order may gather
//! all of the old electorate afterwards, but whoever knows a newer order says so and does not count for it,
//! and those who know are too many to leave a quorum. A new epoch's first order follows from the last of the
//! old one in the same way.
//!
//! # Why no epoch is stepped after a newer one
//!
//! Leases alone do not give this: a player that was counted by a successor may come back to the old host when
//! the successor is cut off. So *a player promises an epoch before that epoch is stepped*:
//!
//! 1. A successor *stands* until players that know its order, and no newer one, are a quorum of each
//!    electorate. This binds no player. If the old host is back first, nothing has happened.
//! 2. Then the successor *calls*: it sends its new epoch, with the number of its order, to those players, and
//!    its own client promises it first. A player that receives the call takes nothing from an older epoch any
//!    more, and says so on every connection, before anything else.
//! 3. The successor steps when a quorum of each electorate has promised. A server that steps or is paused
//!    counts a player only after the player said, on its present connection, that it knows this epoch.
//!
//! Any quorum of the old host shares a player with the quorum that promised, and that player counts for the old
//! host no more. If the old host has replaced the electorate meanwhile, a quorum of the old one knew the newer
//! order. Such a player is not called, and one that was called before never learns the newer order. So the old
//! host could not replace it.
//!
//! Two successors may call for one epoch, if the host named one after the other as its first; their orders
//! differ. While a successor calls, it counts only promises that carry its own order's number, and calls no
//! player that has promised anything newer than the old host's epoch. Of two such successors only one gathers a
//! quorum, by the same argument, and that one may then count every player that knows the epoch.
//!
//! A promise cannot be taken back. If a successor dies between its call and its first step, players that
//! promised do not count for the old host or for the second successor, and the game may stay without a server:
//! safety comes first here. That window is one round trip long.
//!
//! An old host that has lost its quorum knocks at its successors as a player, and is a server no more when one
//! lets it in, or when its own client has promised a newer epoch.
//!
//! A player that begins anew under its old identity has forgotten its promises. It must come back to the newest
//! host that it knew of, as a ticket of that host makes it do.
//!
//! All of this holds among players who follow the protocol. One who lies about what it has received can
//! lend itself twice, as a host who lies can do what it likes with its game; one who lies about what it
//! knows takes away its own word and no other.

pub(crate) mod electorate;
pub(crate) mod estate;
pub(crate) mod reign;
pub(crate) mod words;

pub(crate) use reign::Stage;
pub(crate) use words::{CHARGE, ORDER, REIGN, STATE};

pub use crate::replication::server::serve::estate::STATE_BYTES_MAX;

use crate::core::time::Span;
use crate::transport::channel::RELIABLE_BYTES_MAX;
use crate::transport::secure::TOKEN_LIFETIME_SECONDS_MAX;

/// How many successors a host names.
pub const SUCCESSORS_MAX: usize = 2;

/// How many players decide who the server is; others go along.
pub const ELECTORS_MAX: usize = 64;

/// After so long without a packet a player takes a host that has successors for gone.
pub const HOST_SILENCE: Span = Span::millis(1_500);

/// So long a server counts a player, from when it sent the newest packet that the player has.
pub const LEASE: Span = Span::millis(1_200);
const _: () = assert!(LEASE.as_micros() * 5 <= HOST_SILENCE.as_micros() * 4);

/// How often a successor gets the state.
pub const STATE_INTERVAL: Span = Span::seconds(1);

/// A piece of the state goes through a channel in one fragment.
const STATE_PIECE_BYTES_MAX: usize = 1000;
const STATE_PIECES_MAX: usize = STATE_BYTES_MAX.div_ceil(STATE_PIECE_BYTES_MAX);
const _: () = assert!(STATE_PIECES_MAX < 1 << 16 && STATE_PIECE_BYTES_MAX < RELIABLE_BYTES_MAX);

/// While so much of anything reliable waits for a successor, no more of the state is sent.
pub(crate) const STATE_BACKLOG_BYTES_MAX: usize = 8 * 1024;

/// The same for a host that leaves and has nothing else to say.
pub(crate) const LAST_WORD_BACKLOG_BYTES_MAX: usize = 128 * 1024;

/// How many electorates may have to agree.
const ELECTORATES_MAX: usize = 2;

/// Orders are this far apart at least.
const ORDER_INTERVAL: Span = Span::millis(250);

/// An order is renewed after this long, before its tickets expire.
const ORDER_LASTS: Span = Span::seconds(120);
pub(crate) const TICKET_SECONDS: u64 = TOKEN_LIFETIME_SECONDS_MAX;
const _: () = assert!(ORDER_LASTS.as_micros() * 2 < TICKET_SECONDS * 1_000_000);

/// How long one server is knocked at before the next, if it is silent.
pub(crate) const KNOCK_PATIENCE: Span = Span::millis(1_000);

/// The same if it has answered, and may be waiting for us as we are for it.
pub(crate) const ANSWERED_PATIENCE: Span = Span::millis(2_500);

/// For so long after it has left its host, a client sends its hellos to a successor every
/// [`KNOCK_INTERVAL`](crate::secure::KNOCK_INTERVAL). The game stands still meanwhile: with intervals that double,
/// three lost packets in a row cost 1.4 s, nearly all that [`HOST_SILENCE`] leaves of three seconds. What successors
/// receive stays bounded: a hello each interval and one for each retry. Afterwards intervals grow as everywhere.
pub(crate) const EVEN_HELLOS: Span = Span::seconds(5);

/// How many tickets a player gets for each server: one that was used and led to nothing is spent.
pub(crate) const TICKETS_EACH: usize = 2;

/// So long a successor waits for a quorum before it sends away those who have come.
const STANDING_ROUND: Span = Span::seconds(3);

/// How long a host that leaves waits for its successor to have everything.
const HAND_OVER_MAX: Span = Span::seconds(2);

/// How often a server that does not step looks whether it may.
pub(crate) const CHECK_INTERVAL: Span = Span::millis(20);

/// The epoch that a successor of this rank begins: higher than its host's, and than that of a successor
/// before it.
fn next_epoch(epoch: u32, rank: u32) -> u32 {
    let successors = SUCCESSORS_MAX as u32;
    (epoch / successors).saturating_add(1).saturating_mul(successors).saturating_add(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_grow_and_no_two_successors_share_one() {
        assert!(next_epoch(0, 0) > 0);
        for epoch in 0..100 {
            assert!(next_epoch(epoch, 0) > epoch);
            assert!(next_epoch(epoch, 1) > next_epoch(epoch, 0));
            let after_both = [0, 1].map(|rank| next_epoch(next_epoch(epoch, rank), 0));
            assert!(after_both.iter().all(|after| *after > next_epoch(epoch, 1)));
        }
    }
}
