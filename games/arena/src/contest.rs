//! The match itself: its phases, its rounds and who leads. Everyone knows of it.

use crate::arena::{Arena, Entity};
use crate::content::{Content, Mode};
use crate::event::{Event, TOLD, What};
use crate::item::Item;
use crate::seat::Seat;
use sametick::{EntityId, Fields, Networked, Tick, Turn, World};

/// What a match is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for players, or for them to be ready; nothing counts.
    #[default]
    Waiting,
    /// About to begin; nothing counts yet.
    Countdown,
    /// It counts.
    Playing,
    /// Over; the score stands.
    Over,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Waiting, Self::Countdown, Self::Playing, Self::Over];
}

/// Phase, round and the teams' scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contest {
    /// What it is at.
    pub phase: Phase,
    /// Counts the rounds that began, and wraps.
    pub round: u8,
    /// When the phase ends by itself; 0 is never.
    pub until: u32,
    /// By team.
    pub team_scores: [i16; 2],
}

impl Networked for Contest {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.choice("phase", &mut self.phase, &Phase::ALL);
        f.bits("round", &mut self.round, 8);
        f.bits("until", &mut self.until, 32);
        for (score, name) in self.team_scores.iter_mut().zip(["first_team", "second_team"]) {
            f.int(name, score, -9999..=9999);
        }
    }
}

impl Contest {
    /// The round that a tick belongs to: also known to those who do not know yet that it has begun.
    pub fn round_at(&self, tick: Tick) -> u8 {
        let begins = self.phase == Phase::Countdown && self.until > 0 && tick.0 >= self.until;
        self.round.wrapping_add(u8::from(begins))
    }

    /// Whether nobody may do anything yet in a tick: the round of such content has not begun.
    pub fn is_held(&self, content: &Content, tick: Tick) -> bool {
        let is_before = match self.phase {
            Phase::Waiting => true,
            // The first tick of the round places everyone anew; what they do counts from the next one on.
            Phase::Countdown => self.until == 0 || tick.0 <= self.until,
            Phase::Playing | Phase::Over => false,
        };
        content.held_for > 0 && is_before
    }
}

/// Goes from phase to phase, as players and scores will have it.
pub(crate) fn step(world: &mut World<Entity>, turn: &Turn<'_, Arena>) {
    let Some((id, contest)) =
        world.all::<Contest>().next().map(|(id, contest)| (id, contest.clone()))
    else {
        return;
    };
    choose_duellists(world, turn);
    let (tuning, mode) = (&turn.content().tuning, turn.content().mode);
    let is_due = contest.until > 0 && turn.tick().0 >= contest.until;
    let playing = world.all::<Seat>().filter(|(_, seat)| seat.plays()).count();
    let all_ready = world.all::<Seat>().all(|(_, seat)| !seat.plays() || seat.is_ready);
    let wanted = usize::from(turn.content().held_for).max(1);
    let is_complete =
        if mode == Mode::Duel { playing == 2 && all_ready } else { playing >= wanted };
    let best = world
        .all::<Seat>()
        .map(|(_, seat)| seat.score)
        .chain(contest.team_scores)
        .max()
        .unwrap_or(0);
    let is_won = tuning.score_limit > 0 && i32::from(best) >= i32::from(tuning.score_limit);
    match contest.phase {
        Phase::Waiting if is_complete => {
            enter(world, id, Phase::Countdown, tuning.pause_seconds, turn)
        }
        Phase::Countdown if !is_complete => enter(world, id, Phase::Waiting, 0.0, turn),
        Phase::Countdown if is_due => begin_round(world, id, turn),
        Phase::Playing if is_due || is_won || mode == Mode::Duel && playing < 2 => {
            enter(world, id, Phase::Over, tuning.pause_seconds, turn);
        }
        Phase::Over if is_due => enter(world, id, Phase::Waiting, 0.0, turn),
        _ => {}
    }
}

fn enter(
    world: &mut World<Entity>,
    id: EntityId,
    phase: Phase,
    seconds: f32,
    turn: &Turn<'_, Arena>,
) {
    let ticks = (seconds / turn.dt()) as u32;
    if let Some(contest) = world.get_mut::<Contest>(id) {
        contest.phase = phase;
        contest.until = if seconds > 0.0 { turn.tick().0 + ticks.max(1) } else { 0 };
        turn.emit(id, TOLD, Event { what: What::Phase, amount: phase as u8, ..Event::default() });
    }
}

/// Clears the scores and brings all items back; fighters see by the round's number that they begin again.
fn begin_round(world: &mut World<Entity>, id: EntityId, turn: &Turn<'_, Arena>) {
    enter(world, id, Phase::Playing, turn.content().tuning.round_seconds, turn);
    if let Some(contest) = world.get_mut::<Contest>(id) {
        contest.round = contest.round.wrapping_add(1);
        contest.team_scores = [0; 2];
    }
    world.all_mut::<Seat>().for_each(|(_, seat)| (seat.score, seat.deaths) = (0, 0));
    world.all_mut::<Item>().for_each(|(_, item)| item.back_at = 0);
}

/// In a duel the first two who want to play do; the others watch until one of them goes.
fn choose_duellists(world: &mut World<Entity>, turn: &Turn<'_, Arena>) {
    if turn.content().mode != Mode::Duel {
        return;
    }
    let taken = world.all::<Seat>().filter(|(_, seat)| seat.plays()).count();
    let mut free = 2_usize.saturating_sub(taken);
    for (_, seat) in world.all_mut::<Seat>() {
        if seat.must_watch && !seat.is_watching && free > 0 {
            (seat.must_watch, free) = (false, free - 1);
        } else if seat.is_watching {
            seat.must_watch = true;
        }
    }
}
