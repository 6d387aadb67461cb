//! Partitions at the worst moment: when one player has learned of another host and others have not, or when a host
//! leaves. Links of other lengths: a player that is near its host leaves and is back before players that are far have
//! heard of anything. And a game that grows while a successor is cut off.

use super::party::Party;
use sametick::network::Conditions;
use sametick::secure::ClientToken;
use sametick::{Dice, Span, Time};
use sametick_seeds::{Script, WIDE_FROM};

/// How likely players are parted anew when one of them has learned of a change of host.
const CHANCE: f64 = 0.3;

/// How likely a player leaves in a step, and when the host's players have just changed. Half of them are back at the
/// same host at once, the others within half a second.
const RETURNS: f64 = 0.0005;
const RETURNS_AT_A_CHANGE: f64 = 0.6;
const RETURNS_WITHIN_MS: u64 = 500;
const RETURNS_AT_ONCE_MS: u64 = 20;

/// How likely a player that has come back is parted from its host within a second, and half of all with it.
const PARTED_AFTER_RETURN: f64 = 0.5;

/// How likely a game that few play grows in a step while one of them is cut off, and how many it may come to.
const OUTGROWN: f64 = 0.0005;
const OUTGROWN_FROM_MAX: usize = 5;
const OUTGROWN_MEMBERS_MAX: usize = 12;

/// A link takes at most so long, one way; half of them are short.
const DELAY_MS_MAX: u64 = 120;
const DELAY_SHORT_MS_MAX: u64 = 10;

/// How likely the host leaves in a step, and all are parted within the next half second.
const LEAVES: f64 = 0.0002;
const PARTED_WITHIN_MS: u64 = 500;

/// How likely somebody joins in a step, also while players are parted.
const JOINS: f64 = 0.001;
const MEMBERS_MAX: usize = 8;

const STEP: Span = Span::millis(4);

pub(crate) struct Strikes {
    /// None where a seed has no strikes.
    dice: Option<Dice>,
    /// The hosts, and each player's epoch.
    known: (Vec<usize>, Vec<Option<u32>>),
    /// In how many steps all are parted, if a host has left.
    parted_in: Option<u64>,
    /// Who comes back: when, with which ticket, to whom.
    returning: Option<Returning>,
    strike: Option<Strike>,
    /// What a link is like but for its length, and how many members have theirs.
    line: Conditions,
    laid: usize,
    /// How many players the hosts have.
    seated: usize,
}

struct Returning {
    member: usize,
    at: Time,
    ticket: ClientToken,
    host: usize,
}

/// When a player that has come back is parted from its host.
struct Strike {
    member: usize,
    host: usize,
    at: Time,
}

impl Strikes {
    /// Over links like this one, where a seed has strikes: of other lengths.
    pub(crate) fn new(seed: u64, line: Conditions) -> Self {
        let dice = (seed >= WIDE_FROM).then(|| Dice::new(seed, 79));
        let known = Default::default();
        let (parted_in, returning, strike) = (None, None, None);
        Self { dice, known, parted_in, returning, strike, line, laid: 0, seated: 0 }
    }

    /// Lets time pass, and strikes.
    pub(crate) fn run(&mut self, party: &mut Party, span: Span, script: &Script) {
        if self.dice.is_none() {
            return party.run(span);
        }
        let end = party.now + span;
        while party.now < end {
            self.lay_lines(party);
            party.run(STEP);
            self.look(party, script);
            self.send_away(party, script);
            self.part_from_host(party, script);
            self.outgrow(party, script);
        }
    }

    /// Links of members that are new have lengths of their own.
    fn lay_lines(&mut self, party: &mut Party) {
        let Some(dice) = &mut self.dice else { return };
        for one in self.laid..party.members.len() {
            for other in 0..one {
                let is_short = dice.chance(0.5);
                let ms_max = if is_short { DELAY_SHORT_MS_MAX } else { DELAY_MS_MAX };
                let delay = Span::millis(1 + dice.below(ms_max));
                let [one, other] = [one, other].map(|index| party.members[index].host);
                let line = Conditions { delay, ..self.line.clone() };
                party.network.set_conditions(one, other, line.clone());
                party.network.set_conditions(other, one, line);
            }
        }
        self.laid = party.members.len();
    }

    fn look(&mut self, party: &mut Party, script: &Script) {
        let Some(dice) = &mut self.dice else { return };
        let epochs = party.alive().into_iter().map(|i| party.client(i).epoch()).collect();
        let before = std::mem::replace(&mut self.known, (party.hosts(), epochs));
        let is_news = before != self.known && dice.chance(CHANCE);
        if party.alive().len() > 2 && dice.chance(LEAVES) {
            let (now, parted_in) = (party.now, dice.below(PARTED_WITHIN_MS) / 4);
            if script.allows("leave", now, || format!("hosts {:?} say goodbye", party.hosts())) {
                party.hosts().into_iter().for_each(|host| party.player(host).leave(now));
                self.parted_in = Some(parted_in);
            }
        }
        if party.members.len() < MEMBERS_MAX
            && dice.chance(JOINS)
            && script.allows("join", party.now, || "somebody comes".to_owned())
        {
            party.hosts().into_iter().for_each(|host| party.join(host));
        }
        let is_due = self.parted_in == Some(0);
        self.parted_in = self.parted_in.and_then(|steps| steps.checked_sub(1));
        if is_news || is_due {
            let sides = dice.below(1 << party.members.len()) as u32;
            if script.allows("strike", party.now, || format!("{sides:b}, member 0 last")) {
                party.heal();
                party.part(sides);
            }
        }
    }

    /// Somebody says goodbye, and comes back at once: whom it left may not count it any more as one who is gone.
    fn send_away(&mut self, party: &mut Party, script: &Script) {
        let Some(dice) = &mut self.dice else { return };
        if let Some(back) = self.returning.take_if(|back| party.now >= back.at) {
            // Whoever hosts now knows nothing of its goodbye.
            if party.hosts() == [back.host] {
                party.come_back(back.member, back.ticket, back.host);
                let waits = Span::millis(400 + dice.below(600));
                let strike = Strike { member: back.member, host: back.host, at: party.now + waits };
                self.strike = dice.chance(PARTED_AFTER_RETURN).then_some(strike);
            }
        }
        let member = dice.below(party.members.len() as u64) as usize;
        let hosts = party.hosts();
        let seated = hosts.iter().map(|host| party.seated(*host)).sum();
        let is_change = std::mem::replace(&mut self.seated, seated) != seated;
        let chance = if is_change { RETURNS_AT_A_CHANGE } else { RETURNS };
        let leaves = dice.chance(chance) && self.returning.is_none();
        if let ([host], true) = (&party.hosts()[..], leaves && party.alive().contains(&member))
            && *host != member
            && let Some(ticket) = party.client(member).ticket().cloned()
        {
            let is_at_once = dice.chance(0.5);
            let within_ms = if is_at_once { RETURNS_AT_ONCE_MS } else { RETURNS_WITHIN_MS };
            let (now, at) = (party.now, party.now + Span::millis(dice.below(within_ms)));
            if script.allows("return", now, || format!("{member} leaves, and is back at {at}")) {
                party.player(member).leave(now);
                self.returning = Some(Returning { member, at, ticket, host: *host });
            }
        }
    }
    /// A player that has come back is parted from its host, with half of all: the host must not count it.
    fn part_from_host(&mut self, party: &mut Party, script: &Script) {
        let Some(Strike { member, host, .. }) =
            self.strike.take_if(|strike| party.now >= strike.at)
        else {
            return;
        };
        let mut others = players_besides(party, host);
        let half = (others.len() + 1).div_ceil(2);
        others.retain(|other| *other != member);
        let Some(dice) = &mut self.dice else { return };
        let mut sides = 1_u32 << member;
        while sides.count_ones() < half as u32 && !others.is_empty() {
            let place = dice.below(others.len() as u64) as usize;
            sides |= 1 << others.swap_remove(place);
        }
        let apart = Span::millis(2_500 + dice.below(2_000));
        if party.hosts() == [host]
            && script.allows("strike", party.now, || format!("{sides:b}, member 0 last"))
        {
            party.heal();
            party.part(sides);
            party.run(apart);
            party.heal();
        }
    }

    /// One player is cut off while so many come to the game that they and the host decide without the others. Then the
    /// others are on the side of the one that was cut off, which knows nothing of those that came.
    fn outgrow(&mut self, party: &mut Party, script: &Script) {
        let Some(dice) = &mut self.dice else { return };
        if !dice.chance(OUTGROWN) {
            return;
        }
        let [host] = party.hosts()[..] else { return };
        let others = players_besides(party, host);
        let is_small = (2..OUTGROWN_FROM_MAX).contains(&others.len());
        if !is_small || party.members.len() + others.len() > OUTGROWN_MEMBERS_MAX {
            return;
        }
        let lone = others[dice.below(others.len() as u64) as usize];
        let spans: Vec<Span> = others.iter().map(|_| Span::millis(100 + dice.below(500))).collect();
        let apart = Span::millis(3_000 + dice.below(3_000));
        let what = || format!("{} come to {host} while {lone} is cut off", others.len());
        if !script.allows("outgrow", party.now, what) {
            return;
        }
        party.heal();
        party.part(1 << lone);
        for span in spans {
            party.join(host);
            self.lay_lines(party);
            // Those that come do not hear it either.
            party.part(1 << lone);
            party.run(span);
        }
        party.run(Span::millis(500));
        party.heal();
        party.part(others.iter().fold(0, |sides, other| sides | 1 << other));
        party.run(apart);
        party.heal();
    }
}

/// Who plays, but for the host.
fn players_besides(party: &Party, host: usize) -> Vec<usize> {
    let plays = |member: &usize| *member != host && !party.client(*member).is_over();
    party.alive().into_iter().filter(plays).collect()
}
