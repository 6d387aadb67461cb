//! What the page says in words while one plays: the clock, the scores, who hit whom. Text only; where it stands is for
//! the style sheet.

use crate::hitmarks::State;
use sametick::{EntityId, PlayerId, Tick, World};
use sametick_arena::{Content, Contest, Entity, Event, Fighter, Phase, Seat, Weapon, What};
use std::collections::VecDeque;

/// How many lines of news there are.
pub(crate) const FEED_LINES: usize = 4;
/// How long a line is shown.
const LINE_SECONDS: f32 = 6.0;

/// Who a name belongs to, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// You or your team.
    Own,
    /// Them.
    Enemy,
    /// Neither: words between names.
    Nobody,
}

/// A line of news: parts of different colours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// In order.
    pub(crate) parts: Vec<(Whose, String)>,
    age: f32,
}

/// The last few lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    lines: VecDeque<Line>,
}

impl Feed {
    /// Adds a line; the oldest goes if there are too many.
    pub(crate) fn add(&mut self, parts: Vec<(Whose, String)>) {
        if self.lines.len() == FEED_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(Line { parts, age: 0.0 });
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, seconds: f32) {
        self.lines.iter_mut().for_each(|line| line.age += seconds);
        self.lines.retain(|line| line.age < LINE_SECONDS);
    }

    /// Oldest first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter()
    }
}

/// A name, its score, its deaths, and whether it is one's own.
pub(crate) type Row = (String, i16, u16, bool);

/// All that stands around the picture at a moment: whoever sees the picture later sees this later too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Around {
    pub(crate) clock: String,
    pub(crate) standing: String,
    /// One's own body, alive or not.
    pub(crate) own: Option<Fighter>,
    pub(crate) feed: Vec<Vec<(Whose, String)>>,
    /// All scores, if they are to be seen.
    pub(crate) scores: Option<Vec<Row>>,
    pub(crate) mark: Option<State>,
    /// From where one was hurt: angles, and for how long they still show.
    pub(crate) hurts: Vec<(f32, f32)>,
    /// Whether the round has not begun, and nothing of it is to be seen.
    pub(crate) is_held: bool,
}

impl Around {
    /// What the world says: the rest is the page's own. `now` is the tick that the player is in.
    pub(crate) fn of(
        world: &World<Entity>,
        content: &Content,
        me: Option<PlayerId>,
        (now, dt): (Tick, f32),
    ) -> Self {
        let contest = world.all::<Contest>().next().map(|(_, contest)| contest);
        Self {
            clock: contest.map_or(String::new(), |contest| clock(contest, world.tick(), dt)),
            standing: standing(world, me),
            is_held: contest.is_some_and(|contest| contest.is_held(content, now)),
            ..Self::default()
        }
    }

    /// Everyone's scores, the best first.
    pub(crate) fn all_scores(world: &World<Entity>, me: Option<PlayerId>) -> Vec<Row> {
        let is_me = |seat: &Seat| me.is_some_and(|me| me.0 == seat.player);
        let row = |seat: &Seat| (seat.name.to_string(), seat.score, seat.deaths, is_me(seat));
        ranking(world).into_iter().map(row).collect()
    }
}

/// What an event adds to the feed, if anything.
pub(crate) fn news(
    world: &World<Entity>,
    event: &Event,
    entity: EntityId,
    whose: impl Fn(u16) -> Whose,
) -> Option<Vec<(Whose, String)>> {
    let player = |id: EntityId| world.get::<Fighter>(id).map(|fighter| fighter.player);
    let named = |player: u16| (whose(player), name(world, player));
    match event.what {
        What::Death => {
            let victim = player(entity)?;
            let killer = event.by.and_then(player).filter(|killer| *killer != victim);
            let Some(killer) = killer else {
                return Some(vec![named(victim), (Whose::Nobody, " died".into())]);
            };
            let head = if event.is_head { ", head" } else { "" };
            let how = format!(" {}{head} ", weapon(event.weapon));
            Some(vec![named(killer), (Whose::Nobody, how), named(victim)])
        }
        What::Say => {
            let seat = world.get::<Seat>(entity)?;
            let words = format!(": {}", &*event.words);
            Some(vec![named(seat.player), (Whose::Nobody, words)])
        }
        _ => None,
    }
}

/// What a weapon is called.
pub(crate) fn weapon(weapon: Weapon) -> &'static str {
    match weapon {
        Weapon::Rifle => "rifle",
        Weapon::Shotgun => "shotgun",
        Weapon::Launcher => "rocket",
    }
}

/// What a player is called.
pub(crate) fn name(world: &World<Entity>, player: u16) -> String {
    crate::scene::seat(world, player)
        .map_or_else(|| format!("Player {}", u32::from(player) + 1), |seat| seat.name.to_string())
}

/// Time left and phase, in words.
pub(crate) fn clock(contest: &Contest, tick: Tick, dt: f32) -> String {
    let left = (contest.until.saturating_sub(tick.0) as f32 * dt - 0.01).ceil() as u32;
    let time = format!("{}:{:02}", left / 60, left % 60);
    match contest.phase {
        Phase::Waiting => "waiting for players".into(),
        Phase::Countdown => format!("begins in {left}"),
        Phase::Over => "round over".into(),
        Phase::Playing if contest.until == 0 => String::new(),
        Phase::Playing => time,
    }
}

/// Everyone in order: the best first, then who died least.
pub(crate) fn ranking(world: &World<Entity>) -> Vec<&Seat> {
    let mut seats: Vec<&Seat> = world.all::<Seat>().map(|(_, seat)| seat).collect();
    seats.sort_by(|a, b| {
        b.score.cmp(&a.score).then(a.deaths.cmp(&b.deaths)).then(a.player.cmp(&b.player))
    });
    seats
}

/// One's own score and place, and the best of the others: "7 (2nd), Ada 9".
pub(crate) fn standing(world: &World<Entity>, me: Option<PlayerId>) -> String {
    let seats = ranking(world);
    let seats: Vec<&Seat> = seats.into_iter().filter(|seat| seat.plays()).collect();
    let own = me.and_then(|me| seats.iter().position(|seat| seat.player == me.0));
    let best =
        seats.iter().enumerate().find(|(place, _)| Some(*place) != own).map(|(_, seat)| seat);
    let rival = best.map(|seat| format!("{} {}", &*seat.name, seat.score));
    match (own, rival) {
        (Some(place), Some(rival)) => {
            format!("{} ({}) · {rival}", seats[place].score, ordinal(place + 1))
        }
        (Some(place), None) => seats[place].score.to_string(),
        (None, Some(rival)) => rival,
        (None, None) => String::new(),
    }
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, tail) if tail != 11 => "st",
        (2, tail) if tail != 12 => "nd",
        (3, tail) if tail != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::Text;

    fn seat(player: u16, name: &str, score: i16, deaths: u16) -> Seat {
        Seat { player, name: Text::cut(name), score, deaths, ..Seat::default() }
    }

    #[test]
    fn the_best_is_first_and_ties_go_to_who_died_least() {
        let mut world: World<Entity> = World::default();
        for seat in [seat(0, "Ada", 3, 2), seat(1, "You", 5, 9), seat(2, "Bo", 3, 1)] {
            world.spawn(seat);
        }
        let names: Vec<&str> = ranking(&world).iter().map(|seat| &*seat.name).collect();
        assert_eq!(names, ["You", "Bo", "Ada"]);
        assert_eq!(standing(&world, Some(PlayerId(1))), "5 (1st) · Bo 3");
        assert_eq!(standing(&world, Some(PlayerId(0))), "3 (3rd) · You 5");
        assert_eq!(standing(&world, None), "You 5");
    }

    #[test]
    fn the_clock_counts_down_in_minutes() {
        let contest = Contest { phase: Phase::Playing, until: 7200, ..Contest::default() };
        assert_eq!(clock(&contest, Tick(3600), 1.0 / 60.0), "1:00");
        assert_eq!(clock(&contest, Tick(7000), 1.0 / 60.0), "0:04");
        let soon = Contest { phase: Phase::Countdown, until: 120, ..Contest::default() };
        assert_eq!(clock(&soon, Tick(0), 1.0 / 60.0), "begins in 2");
    }

    #[test]
    fn of_a_held_round_nothing_is_seen_before_everyone_is_placed() {
        let content =
            Content::new(sametick_arena::map::MAPS[0].1, sametick_arena::Mode::FreeForAll);
        let free = content.unwrap();
        let held = free.clone().held(2, 1.0);
        let mut world: World<Entity> = World::default();
        world.spawn(Contest { phase: Phase::Countdown, until: 60, ..Contest::default() });
        let is_held = |content: &Content, tick| {
            Around::of(&world, content, None, (Tick(tick), 1.0 / 60.0)).is_held
        };
        // The player's own tick counts, whatever the newest snapshot says.
        assert_eq!([0, 60, 61].map(|tick| is_held(&held, tick)), [true, true, false]);
        assert!(!is_held(&free, 0));
    }

    #[test]
    fn there_are_four_lines_and_they_go() {
        let mut feed = Feed::default();
        (0..9).for_each(|number| feed.add(vec![(Whose::Nobody, number.to_string())]));
        assert_eq!(feed.lines().count(), FEED_LINES);
        feed.pass(LINE_SECONDS + 0.1);
        assert_eq!(feed.lines().count(), 0);
    }

    #[test]
    fn ordinals_are_english() {
        let all: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 22].map(ordinal).to_vec();
        assert_eq!(all, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd"]);
    }
}
