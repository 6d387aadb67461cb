//! Cuts at the worst moment: when a machine has learned of a decision, and others do not know of it yet; and when one
//! has promised its vote, and hears the leader again that it has given up.

use super::party::Party;
use sametick::lockstep::{Lockstep, Role, WATCHERS_MAX};
use sametick::{Dice, Game, PlayerId, Span, Time};
use sametick_seeds::Script;

/// How likely the machines are parted anew when one of them has learned of a decision.
const CHANCE: f64 = 0.3;

/// How likely a run has a leader that is cut off and comes back.
const RETURN_CHANCE: f64 = 0.3;

pub(super) struct Strikes {
    dice: Dice,
    /// What each machine knows: the epoch, and who plays.
    known: Vec<Option<(Option<u16>, Vec<PlayerId>)>>,
    leader_return: LeaderReturn,
}

/// A leader is cut off with as many players as are no quorum with it, but are with one more. It admits a watcher,
/// so that
/// it has a roster that the others do not know. The first of them that promises its vote to a candidate then changes
/// sides: each of two leaders has a quorum if both count that machine.
enum LeaderReturn {
    Never,
    /// The leader of that moment is cut off, with the players that follow it by this number.
    Cuts(Time, usize),
    /// This one is cut off with these machines, and is heard by the first other one that promises.
    IsCut(usize, Vec<usize>),
}

impl Strikes {
    /// Strikes from now on for so long as faults last.
    pub(super) fn new(seed: u64, now: Time, lasts: Span) -> Self {
        let mut dice = Dice::new(seed, 80);
        let at = now + Span::micros(dice.below(lasts.as_micros() * 2 / 3));
        let (has_return, skips) = (dice.chance(RETURN_CHANCE), dice.below(8) as usize);
        let leader_return = match has_return {
            true => LeaderReturn::Cuts(at, skips),
            false => LeaderReturn::Never,
        };
        Self { dice: Dice::new(seed, 79), known: Vec::new(), leader_return }
    }

    /// Strikes, if somebody has just learned of something.
    pub(super) fn look<G: Game<Content: Clone>>(&mut self, party: &mut Party<G>, script: &Script) {
        if let LeaderReturn::Cuts(at, skips) = self.leader_return
            && at <= party.now
        {
            self.cut_leader(party, skips, script);
        }
        match &self.leader_return {
            LeaderReturn::IsCut(leader, side) => {
                if has_returned(party, *leader, side) {
                    self.leader_return = LeaderReturn::Never;
                }
            }
            _ => self.part(party, script),
        }
    }

    fn part<G: Game<Content: Clone>>(&mut self, party: &mut Party<G>, script: &Script) {
        let machines = party.machines.iter().map(|machine| machine.lockstep.as_ref());
        let known = machines.map(|lockstep| lockstep.map(|l| (l.epoch(), l.players()))).collect();
        let before = std::mem::replace(&mut self.known, known);
        if before == self.known || !self.dice.chance(CHANCE) {
            return;
        }
        let sides = self.dice.below(1 << party.machines.len());
        if !script.allows("strike", party.now, || format!("{sides:b}, machine 0 last")) {
            return;
        }
        for (i, one) in party.machines.iter().enumerate() {
            for (j, other) in party.machines.iter().enumerate() {
                match sides >> i & 1 == sides >> j & 1 {
                    true => party.network.heal(one.host, other.host),
                    false => party.network.cut(one.host, other.host),
                }
            }
        }
    }

    /// Cuts the leader off, once it leads them all and somebody more can watch.
    fn cut_leader<G: Game<Content: Clone>>(
        &mut self,
        party: &mut Party<G>,
        skips: usize,
        script: &Script,
    ) {
        let leads = |index: &usize| {
            let lockstep = party.machines[*index].lockstep.as_ref();
            lockstep.is_some_and(|l| l.is_leader() && l.players().len() > 2)
        };
        let of_role = |role: Role| {
            let machines = party.machines.iter().enumerate();
            machines.filter(move |(_, machine)| machine.role == role).map(|(index, _)| index)
        };
        let is_dark = party.machines.iter().any(|machine| machine.lockstep.is_none());
        let Some(leader) = (0..party.machines.len()).find(leads) else { return };
        if is_dark || of_role(Role::Watches).count() >= WATCHERS_MAX {
            return;
        }
        self.leader_return = LeaderReturn::Never;
        let mut others: Vec<usize> =
            of_role(Role::Plays).filter(|index| *index != leader).collect();
        let (count, with) = (others.len(), others.len() / 2);
        others.rotate_left(skips % count);
        let side: Vec<usize> = [leader].into_iter().chain(others).take(with.max(1)).collect();
        let what = || format!("{leader} is cut off with {side:?} and comes back");
        if !script.allows("return", party.now, what) {
            return;
        }
        for (i, one) in party.machines.iter().enumerate() {
            for (j, other) in party.machines.iter().enumerate() {
                match side.contains(&i) == side.contains(&j) {
                    true => party.network.heal(one.host, other.host),
                    false => party.network.cut(one.host, other.host),
                }
            }
        }
        party.add(Role::Watches);
        self.leader_return = LeaderReturn::IsCut(leader, side);
    }
}

/// Lets the first that promises its vote to another change to the side of a leader that is cut off. Says whether one
/// did, or the leader leads no more.
fn has_returned<G: Game<Content: Clone>>(
    party: &mut Party<G>,
    leader: usize,
    side: &[usize],
) -> bool {
    let has_promised = |index: &usize| {
        let lockstep = party.machines[*index].lockstep.as_ref();
        !side.contains(index) && lockstep.and_then(Lockstep::candidate).is_some()
    };
    let first = (0..party.machines.len()).find(has_promised);
    for (index, machine) in party.machines.iter().enumerate() {
        let Some(first) = first.map(|first| party.machines[first].host) else { break };
        // Who came to watch hears everybody.
        match (side.contains(&index), machine.role) {
            (true, _) => party.network.heal_both(first, machine.host),
            (false, Role::Plays) => party.network.cut_both(first, machine.host),
            (false, Role::Watches) => {}
        }
    }
    let leads = party.machines[leader].lockstep.as_ref().is_some_and(Lockstep::is_leader);
    first.is_some() || !leads
}
