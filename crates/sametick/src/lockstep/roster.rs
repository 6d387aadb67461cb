//! Who takes part, from which tick to which, and how the game is paced: one value, made by the leader, told
//! to all, replaced as a whole by newer ones. Knows no messages.

use super::setup::Setup;
use super::{KEPT_TICKS, MEMBERS_MAX, PLAYERS_MAX, Pace, WATCHERS_MAX};
use crate::core::bits::{BitReader, BitWriter};
use crate::core::mutant::{self, Mutant};
use crate::core::peer::Peer;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;

/// The tick that a game begins with: the first that a lobby's electors give commands for.
pub(super) const FIRST: Tick = Tick(1);

/// One who takes part, for one stay: who comes back has a seat anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Counts the stays of this game; never given twice.
    pub(super) seat: u16,
    /// This machine's number on every line, another each time its program starts.
    pub(super) identity: u64,
    /// What it is known by when it comes back.
    pub(super) name: u64,
    /// Where others reach it.
    pub(super) at: Peer,
    pub(super) player: PlayerId,
    /// Whether it wants to play, and not only to watch.
    pub(super) wants_to_play: bool,
    /// It has the world of this tick, and is told what comes after.
    pub(super) enters: Tick,
    /// The first tick that waits for its command.
    pub(super) plays_from: Option<Tick>,
    /// The first tick that it has no part in.
    pub(super) leaves_at: Option<Tick>,
}

impl Member {
    /// Whether it is still here, as far as is known.
    pub(super) fn is_here(&self) -> bool {
        self.leaves_at.is_none()
    }

    pub(super) fn plays_at(&self, tick: Tick) -> bool {
        self.plays_from.is_some_and(|from| from <= tick)
            && self.leaves_at.is_none_or(|end| tick < end)
    }
}

/// When a roster was made: a later epoch's is later than any of an earlier one. Both numbers begin anew after the
/// greatest, so that no number that somebody names is the last, and a long game does not run out of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Age {
    pub(super) epoch: u16,
    pub(super) version: u16,
}

impl Age {
    pub(super) fn is_after(self, other: Self) -> bool {
        match self.epoch == other.epoch {
            true => is_after(self.version, other.version),
            false => is_after(self.epoch, other.epoch),
        }
    }
}

/// Whether a number that begins anew after the greatest is later than another: less than half of all numbers ahead.
pub(super) fn is_after(number: u16, other: u16) -> bool {
    number.wrapping_sub(other).cast_signed() > 0
}

/// All members, as the leader of an epoch last decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Roster {
    pub(super) epoch: u16,
    pub(super) version: u16,
    pub(super) setup: Setup,
    /// The seat of the one who decides.
    pub(super) leader: u16,
    pub(super) has_begun: bool,
    /// Whose word counted before the electors changed, until enough of them know of the change.
    pub(super) before: Vec<u64>,
    /// Whether nothing is stepped until then: somebody was taken out who may be playing on.
    pub(super) waits: bool,
    /// From which tick which pace counts; the last two.
    pub(super) paces: Vec<(Tick, Pace)>,
    /// By seat.
    pub(super) members: Vec<Member>,
}

impl Roster {
    pub(super) fn age(&self) -> Age {
        Age { epoch: self.epoch, version: self.version }
    }

    /// Something was decided: the next version.
    pub(super) fn count_up(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    pub(super) fn here(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_here())
    }

    /// Who is here under an identity.
    pub(super) fn member(&self, identity: u64) -> Option<&Member> {
        self.here().find(|member| member.identity == identity)
    }

    pub(super) fn seat(&self, seat: u16) -> Option<&Member> {
        self.members.iter().find(|member| member.seat == seat)
    }

    pub(super) fn leader(&self) -> Option<&Member> {
        self.seat(self.leader)
    }

    /// Those whose word counts when someone is to lead: who plays and is here.
    pub(super) fn electors(&self) -> impl Iterator<Item = &Member> {
        self.here().filter(|member| member.plays_from.is_some())
    }

    /// Those who are asked when someone is to lead: who is here, and whose word counted before the electors changed.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Member> {
        let is_asked = |member: &&Member| {
            let is_newest =
                |other: &Member| other.identity != member.identity || other.seat <= member.seat;
            let counted = self.before.contains(&member.identity);
            member.is_here() || (counted && self.members.iter().all(is_newest))
        };
        self.members.iter().filter(is_asked)
    }

    /// Whether these are enough to decide for all: more than half, or half with the first among them. While the
    /// electors change, both the old and the new must agree.
    pub(super) fn is_quorum(&self, has: impl Fn(u64) -> bool) -> bool {
        self.is_quorum_or_all(has, |_| false)
    }

    /// The same; or nobody is left who could decide otherwise: every elector votes, or has said that it has lost
    /// all that it knew. Such a one counts for no majority: it may have voted for another before.
    pub(super) fn is_quorum_or_all(
        &self,
        votes: impl Fn(u64) -> bool,
        has_answered: impl Fn(u64) -> bool,
    ) -> bool {
        let electors: Vec<u64> = self.electors().map(|elector| elector.identity).collect();
        let is_enough = |electors: &[u64]| {
            let with = electors.iter().filter(|elector| votes(**elector)).count();
            let has_first = electors.first().is_none_or(|first| votes(*first));
            let all = electors.len();
            with * 2 > all
                || (with * 2 == all && has_first)
                || (!self.setup.needs_quorum && with > 0)
                || electors.iter().all(|elector| has_answered(*elector))
        };
        let needs_before = !self.before.is_empty() && !mutant::is(Mutant::QuorumOfTheNewRoster);
        is_enough(&electors) && (!needs_before || is_enough(&self.before))
    }

    pub(super) fn pace_at(&self, tick: Tick) -> Pace {
        let known = self.paces.iter().rev().find(|(from, _)| *from <= tick);
        known.or(self.paces.first()).map_or(Pace::first(&self.setup), |(_, pace)| *pace)
    }

    /// Whether all places of those that play, or of those that watch, are taken.
    pub(super) fn is_full(&self, wants_to_play: bool) -> bool {
        let alike = self.here().filter(|member| member.wants_to_play == wants_to_play).count();
        let places = if wants_to_play { PLAYERS_MAX } else { WATCHERS_MAX };
        alike >= places || self.next_seat().is_none()
    }

    /// Whether somebody can be admitted now. A game that is not full may have no row left for a while, because the
    /// rows of members that left lately are still needed.
    pub(super) fn has_room(&self, wants_to_play: bool, enters: Tick) -> bool {
        let has_row = self.members.len() < MEMBERS_MAX || self.oldest_row(enters).is_some();
        has_row && !self.is_full(wants_to_play)
    }

    /// The row of a member that left so long before a tick that its commands are no longer kept, or that never gave
    /// any. The row of the greatest seat stays, so that no seat is given twice.
    fn oldest_row(&self, tick: Tick) -> Option<usize> {
        let is_old = |member: &Member| {
            let has_never_played = member.plays_from.is_none();
            member.leaves_at.is_some_and(|left| left.0 + KEPT_TICKS < tick.0 || has_never_played)
        };
        let all_but_newest = self.members.len().saturating_sub(1);
        self.members.iter().take(all_but_newest).position(is_old)
    }

    /// Takes in somebody new, or somebody who comes back and gets its number again.
    pub(super) fn admit(
        &mut self,
        (identity, name): (u64, u64),
        at: Peer,
        wants_to_play: bool,
        enters: Tick,
    ) -> bool {
        if !self.has_room(wants_to_play, enters) {
            return false;
        }
        let is_free = |player: &PlayerId| self.here().all(|member| member.player != *player);
        let before = self.members.iter().rev().find(|member| member.name == name);
        let before = before.map(|member| member.player).filter(is_free);
        let lowest = (0..MEMBERS_MAX as u16).map(PlayerId).find(is_free);
        let (Some(player), Some(seat)) = (before.or(lowest), self.next_seat()) else {
            return false;
        };
        if self.members.len() >= MEMBERS_MAX
            && let Some(oldest) = self.oldest_row(enters)
        {
            self.members.remove(oldest);
        }
        let (plays_from, leaves_at) = (None, None);
        self.members.push(Member {
            seat,
            identity,
            name,
            at,
            player,
            wants_to_play,
            enters,
            plays_from,
            leaves_at,
        });
        true
    }

    /// The row of the greatest seat is never forgotten before there is a greater, so that none is given twice.
    fn next_seat(&self) -> Option<u16> {
        self.members.last().map_or(Some(0), |member| member.seat.checked_add(1))
    }

    /// Whether nobody plays in a tick but somebody will: everyone else went before it began. Nobody is let in
    /// before it, so this stays so.
    pub(super) fn is_between(&self, tick: Tick) -> bool {
        self.members.iter().any(|member| {
            let begins = member.plays_from.filter(|from| *from > tick);
            begins.is_some_and(|from| member.leaves_at.is_none_or(|end| end > from))
        })
    }

    /// The newest tick from which on somebody was ever told to play, or not to.
    pub(super) fn newest_named(&self) -> Tick {
        let named = self.members.iter().flat_map(|member| [member.plays_from, member.leaves_at]);
        named.flatten().max().unwrap_or(Tick(0))
    }

    /// Forgets those who left long ago.
    pub(super) fn forget_before(&mut self, tick: Tick) {
        let (leader, newest) = (self.leader, self.members.last().map(|member| member.seat));
        self.members.retain(|member| {
            let counts = member.seat == leader || Some(member.seat) == newest;
            member.leaves_at.is_none_or(|left| left >= tick) || counts
        });
    }

    /// Before the game begins: takes out who is gone, as if it had never come.
    pub(super) fn take_out(&mut self, is_gone: impl Fn(&Member) -> bool) {
        for member in self.members.iter_mut().filter(|member| member.is_here()) {
            if is_gone(member) {
                member.leaves_at = Some(FIRST);
            }
        }
    }

    /// Before the game begins: forgets who is gone, once no vote of theirs counts any more.
    pub(super) fn forget_gone(&mut self) {
        self.forget_before(Tick(FIRST.0 + 1));
    }

    pub(super) fn write(&self, bits: &mut BitWriter) {
        bits.write(u64::from(self.epoch), 16);
        bits.write(u64::from(self.version), 16);
        self.setup.write(bits);
        bits.write(u64::from(self.leader), 16);
        bits.write_bool(self.has_begun);
        bits.write_bool(self.waits);
        bits.write(self.before.len() as u64, MEMBER_BITS + 1);
        self.before.iter().for_each(|identity| bits.write(*identity, 64));
        bits.write(self.paces.len() as u64, 2);
        for (from, pace) in &self.paces {
            bits.write(u64::from(from.0), 32);
            pace.write(bits);
        }
        bits.write(self.members.len() as u64, MEMBER_BITS + 1);
        for member in &self.members {
            bits.write(u64::from(member.seat), 16);
            bits.write(member.identity, 64);
            bits.write(member.name, 64);
            bits.write_bytes(&member.at.address());
            bits.write(u64::from(member.at.port()), 16);
            bits.write(u64::from(member.player.0), 16);
            bits.write_bool(member.wants_to_play);
            bits.write(u64::from(member.enters.0), 32);
            for tick in [member.plays_from, member.leaves_at] {
                bits.write_bool(tick.is_some());
                if let Some(tick) = tick {
                    bits.write(u64::from(tick.0), 32);
                }
            }
        }
    }

    pub(super) fn read(bits: &mut BitReader<'_>) -> Self {
        let (epoch, version) = (bits.read(16) as u16, bits.read(16) as u16);
        let setup = Setup::read(bits);
        let (leader, has_begun, waits) = (bits.read(16) as u16, bits.read_bool(), bits.read_bool());
        let count = bits.read(MEMBER_BITS + 1) as usize;
        if count > MEMBERS_MAX {
            bits.fail();
        }
        let before = (0..count.min(MEMBERS_MAX)).map(|_| bits.read(64)).collect();
        let paces =
            (0..bits.read(2)).map(|_| (read_tick(bits), Pace::read(bits))).collect::<Vec<_>>();
        let count = bits.read(MEMBER_BITS + 1) as usize;
        if count > MEMBERS_MAX {
            bits.fail();
        }
        let mut members: Vec<Member> = Vec::new();
        while members.len() < count && !bits.failed() {
            let seat = bits.read(16) as u16;
            let [identity, name] = [(); 2].map(|()| bits.read(64));
            let mut address = [0; 16];
            bits.read_bytes(&mut address);
            let at = Peer::new(address, bits.read(16) as u16);
            let player = PlayerId(bits.read(16) as u16);
            let (wants_to_play, enters) = (bits.read_bool(), read_tick(bits));
            let [plays_from, leaves_at] =
                [(); 2].map(|()| bits.read_bool().then(|| read_tick(bits)));
            if members.last().is_some_and(|last| last.seat >= seat) {
                bits.fail();
            }
            members.push(Member {
                seat,
                identity,
                name,
                at,
                player,
                wants_to_play,
                enters,
                plays_from,
                leaves_at,
            });
        }
        // Without somebody to wait for nobody would ever be elected instead.
        let is_led = members.iter().any(|member| member.seat == leader);
        let takes = setup.tick_length.as_micros()..=setup.tick_length.as_micros() * SLOWEST_PACE;
        let is_paced = paces.iter().all(|(_, pace)| takes.contains(&pace.tick_takes.as_micros()));
        if !is_led || !is_paced {
            bits.fail();
        }
        Self { epoch, version, setup, leader, has_begun, before, waits, paces, members }
    }
}

/// A tick; one that no game reaches is refused, so that nothing overflows when some are added to it.
pub(super) fn read_tick(bits: &mut BitReader<'_>) -> Tick {
    let tick = Tick(bits.read(32) as u32);
    if tick.0 > u32::MAX / 2 {
        bits.fail();
        return Tick(0);
    }
    tick
}

const MEMBER_BITS: u32 = MEMBERS_MAX.ilog2();
const _: () = assert!(MEMBERS_MAX.is_power_of_two());

impl Pace {
    /// What a game begins with.
    pub(super) fn first(setup: &Setup) -> Self {
        let turn_ticks = match setup.turns {
            super::Turns::Adaptive => FIRST_TURN.as_micros() / setup.tick_length.as_micros(),
            super::Turns::Fixed { .. } | super::Turns::Ahead => 1,
        };
        Self { turn_ticks: turn_ticks.clamp(1, 63) as u8, tick_takes: setup.tick_length }
    }

    fn write(self, bits: &mut BitWriter) {
        bits.write(u64::from(self.turn_ticks), 6);
        bits.write(self.tick_takes.as_micros(), 20);
    }

    fn read(bits: &mut BitReader<'_>) -> Self {
        let pace = Self { turn_ticks: bits.read(6) as u8, tick_takes: Span::micros(bits.read(20)) };
        if pace.turn_ticks == 0 {
            bits.fail();
        }
        pace
    }
}

/// By so much a tick may take longer than its length, for the slowest machine's sake.
pub(super) const SLOWEST_PACE: u64 = 4;

/// How long the first turns are, before anything is known of lines and machines.
const FIRST_TURN: Span = Span::millis(100);
