//! What screens showed that are elsewhere, worked out from what the server knows of them. Where others were, a player
//! tells with each command; where a player had itself follows from the commands that it had given by then, of which
//! some come later: until they have, a shot waits.

use super::screen::{Aim, Look, Screen};
use super::served::Match;
use super::verdicts::is_covered;
use sametick::{Alone, PlayerId, Span, Tick, Verdict, World};
use sametick_arena::vector::{Vector, add, length, scale, subtract};
use sametick_arena::{Arena, Entity, Fighter};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How many shots may wait for what their victims had asked for; what comes on top stays unknown.
const WAITING_MAX: usize = 256;
/// Whoever runs further ahead than this is not followed.
const AHEAD_MAX: Span = Span::seconds(1);
/// For how many ticks it is known where players stood.
const TRAIL_MAX: usize = 128;
/// A screen shows its own player on the way from the last tick to this one.
const SHOWN_BEHIND: f64 = 1.0;
/// Who is further away a tick later was put elsewhere.
const STEP_METRES_MAX: f32 = 2.0;

/// What a shooter saw.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pictured {
    pub(crate) aim: Option<Aim>,
    /// The target nearest to the crosshair, and how far beside it that was.
    pub(crate) beside: Option<(u32, f64)>,
}

/// What is kept of matches in which somebody sits elsewhere.
#[derive(Default)]
pub(crate) struct Elsewhere {
    players: BTreeSet<u32>,
    /// The world before the tick that was taken last.
    before: World<Entity>,
    /// Where players stood after a tick, and where their eyes were.
    trail: VecDeque<(u32, BTreeMap<u32, [Vector; 2]>)>,
    waiting: VecDeque<Waiting>,
    /// Steps a world for one player alone, as its own computer does; and for whom it has.
    alone: Option<Alone<Arena>>,
    met: BTreeSet<PlayerId>,
    tick_length: Span,
    /// Nothing is to be seen on it.
    dark: Screen,
}

/// A shot of which it is not yet known where its victim had itself.
struct Waiting {
    /// Its row.
    row: usize,
    shooter_eye: Vector,
    victim: u32,
    is_aimed: bool,
    is_hit: bool,
    /// The tick that the victim's own screen showed of itself when the shot was judged.
    until: f64,
    /// The world as the victim had it up to now: of what befell it in that tick it had not heard.
    world: World<Entity>,
}

impl Elsewhere {
    /// Keeps the world as it is before a tick.
    pub(super) fn before_tick(&mut self, world: &World<Entity>) {
        if !self.players.is_empty() {
            self.before.clone_from(world);
        }
    }

    /// A screen, if it is here to be looked at.
    pub(super) fn or_here<'a>(&'a self, screen: &'a Screen) -> &'a Screen {
        if self.players.contains(&screen.player) { &self.dark } else { screen }
    }

    /// Where a player stood at a moment between two ticks, and where its eyes were.
    fn stood(&self, player: u32, at: f64) -> Option<[Vector; 2]> {
        let after = self.trail.partition_point(|(tick, _)| f64::from(*tick) <= at);
        let (from, before) = self.trail.get(after.checked_sub(1)?)?;
        let before = before.get(&player).copied();
        let Some((to, then)) = self.trail.get(after) else { return before };
        let (before, then) = before.zip(then.get(&player).copied())?;
        let part = (at - f64::from(*from)) / f64::from(to - from);
        Some([0, 1].map(|which| between(before[which], then[which], part)))
    }
}

impl Match<'_> {
    /// From now on these players' screens are worked out. Nobody has joined yet.
    pub(super) fn look_elsewhere(&mut self, players: BTreeSet<u32>, tick_length: Span) {
        if players.is_empty() {
            return;
        }
        self.server.ask_what_is_shown();
        (self.elsewhere.players, self.elsewhere.tick_length) = (players, tick_length);
    }

    fn ticks(&self, span: Span) -> f64 {
        span.as_micros() as f64 / self.elsewhere.tick_length.as_micros() as f64
    }

    fn number_of(&self, player: u32) -> Option<PlayerId> {
        self.numbers.iter().find(|(_, one)| **one == player).map(|(number, _)| PlayerId(*number))
    }

    /// What shooters saw whose screens are elsewhere; and what victims had asked for in this tick.
    pub(super) fn picture_elsewhere(&mut self, verdicts: &[Verdict]) -> BTreeMap<u32, Pictured> {
        if self.elsewhere.players.is_empty() {
            return BTreeMap::new();
        }
        let tick = self.server.world().tick().0;
        let stood = self.elsewhere.players.iter().filter_map(|player| {
            let own = self.served[*player as usize - 1]?;
            Some((*player, [own.place, self.shots.look(*player)?.eye]))
        });
        let stood = stood.collect();
        self.elsewhere.trail.push_back((tick, stood));
        if self.elsewhere.trail.len() > TRAIL_MAX {
            self.elsewhere.trail.pop_front();
        }
        self.follow_victims(tick);
        let mut pictured = BTreeMap::new();
        for verdict in verdicts {
            let player = self.numbers.get(&verdict.player.0).copied();
            let Some(player) = player.filter(|player| self.elsewhere.players.contains(player))
            else {
                continue;
            };
            pictured.entry(player).or_insert_with(|| self.picture(player, verdict.player, tick));
        }
        pictured
    }

    /// By how many ticks a screen shows its own player late: half a frame old, and held back on purpose.
    fn own_behind(&self, player: u32) -> f64 {
        let guest = &self.guests[player as usize - 1];
        let frames = guest.frame_delay as f64 + 0.5;
        SHOWN_BEHIND + self.ticks(guest.frame_length) * frames
    }

    /// Hands and pictures may be late on purpose: then a shot answers what was shown so much earlier.
    fn picture(&self, player: u32, number: PlayerId, tick: u32) -> Pictured {
        let guest = &self.guests[player as usize - 1];
        let hands = self.ticks(guest.input_delay);
        let late = hands + self.ticks(guest.frame_length) * guest.frame_delay as f64;
        let at = tick.saturating_sub(late.round() as u32);
        let picture = self.server.shown_to(number, Tick(at), guest.view.predicts);
        let known = self.shots.look(player).zip(picture);
        let Some((look, picture)) = known else { return Pictured::default() };
        let eye = match guest.view.predicts {
            true => {
                let at = f64::from(tick) - hands - self.own_behind(player);
                self.elsewhere.stood(player, at).map(|[_, eye]| eye)
            }
            // It shows itself where the server told that it was.
            false => picture.owned::<Fighter>(number).map(|(_, own)| own.eye()),
        };
        let look = Look { eye: eye.unwrap_or(look.eye), ..look };
        let content = &self.ground.content;
        Pictured {
            aim: look.aim(&picture, content, player, &self.numbers),
            beside: look.beside(&picture),
        }
    }

    /// Shots from a row on wait if their victims' screens are elsewhere.
    pub(super) fn wait_for_victims(&mut self, first: usize) {
        if self.elsewhere.players.is_empty() {
            return;
        }
        for row in first..self.log.shots.len() {
            let shot = &self.log.shots[row];
            let (tick, aimed, hit) = (shot.tick, shot.aimed, shot.hit);
            let Some(look) = self.shots.look(shot.player) else { continue };
            let victims: BTreeSet<u32> = aimed.into_iter().chain(hit).collect();
            for victim in victims {
                let is_elsewhere = self.elsewhere.players.contains(&victim);
                let number = self.number_of(victim).filter(|_| is_elsewhere);
                let ahead = number.and_then(|number| self.server.ahead(number));
                let Some(ahead) = ahead.filter(|ahead| *ahead <= AHEAD_MAX) else { continue };
                if self.elsewhere.waiting.len() >= WAITING_MAX {
                    break;
                }
                let until = f64::from(tick) + self.ticks(ahead) - self.own_behind(victim);
                self.elsewhere.waiting.push_back(Waiting {
                    row,
                    shooter_eye: look.eye,
                    victim,
                    is_aimed: aimed == Some(victim),
                    is_hit: hit == Some(victim),
                    until,
                    world: self.elsewhere.before.clone(),
                });
            }
        }
        // Of the tick of the shot itself, what they asked for is known.
        let tick = self.server.world().tick().0;
        self.follow_victims(tick);
    }

    /// Goes on with the worlds of victims by what they asked for, and writes down where they had themselves.
    fn follow_victims(&mut self, tick: u32) {
        let waiting = std::mem::take(&mut self.elsewhere.waiting);
        let mut still = VecDeque::new();
        for mut one in waiting {
            match self.follow(&mut one, tick) {
                Some(place) => self.settle(&one, place),
                None => still.push_back(one),
            }
        }
        self.elsewhere.waiting = still;
    }

    /// Where a victim had itself, once that is known.
    fn follow(&mut self, one: &mut Waiting, tick: u32) -> Option<Vector> {
        let number = self.number_of(one.victim)?;
        let predicts = self.guests[one.victim as usize - 1].view.predicts;
        if !predicts {
            // It shows itself as the server told it.
            let at = Tick(one.until.max(0.0) as u32);
            let is_due = tick >= at.0;
            let shown = is_due.then(|| self.server.shown_to(number, at, false)).flatten()?;
            return place_of(&shown, number);
        }
        if one.until <= f64::from(self.elsewhere.before.tick().0) {
            return self.elsewhere.stood(one.victim, one.until).map(|[place, _]| place);
        }
        let command = self.server.asked_by(number).copied();
        while one.world.tick().0 < tick {
            let before = place_of(&one.world, number);
            let alone = self.alone(number);
            alone.set_world(std::mem::take(&mut one.world));
            // What is not finite was mended.
            let _ = alone.step(command.map(|command| (number, command)));
            one.world = alone.world().clone();
            let reached = f64::from(one.world.tick().0);
            if reached >= one.until {
                let now = place_of(&one.world, number)?;
                let part = 1.0 - (reached - one.until).clamp(0.0, 1.0);
                return Some(between(before.unwrap_or(now), now, part));
            }
        }
        None
    }

    fn settle(&mut self, one: &Waiting, place: Vector) {
        let map = &self.ground.content.map;
        let Some(shot) = self.log.shots.get_mut(one.row) else { return };
        if one.is_aimed {
            shot.own = Some(place);
        }
        if one.is_hit {
            shot.is_behind_cover = Some(is_covered(map, one.shooter_eye, place));
        }
    }

    fn alone(&mut self, player: PlayerId) -> &mut Alone<Arena> {
        let Elsewhere { alone, met, tick_length, .. } = &mut self.elsewhere;
        let (content, seed) = (&self.ground.content, self.trial.seed);
        let alone =
            alone.get_or_insert_with(|| Alone::new((**content).clone(), seed, *tick_length));
        if met.insert(player) {
            // In worlds that come later it has long joined.
            alone.join(player);
            let _ = alone.step([]);
        }
        alone
    }
}

/// A place on the way from one to another.
fn between(from: Vector, to: Vector, part: f64) -> Vector {
    let way = subtract(to, from);
    match length(way) <= STEP_METRES_MAX {
        true => add(from, scale(way, part as f32)),
        false if part < 0.5 => from,
        false => to,
    }
}

fn place_of(world: &World<Entity>, player: PlayerId) -> Option<Vector> {
    world.owned::<Fighter>(player).map(|(_, fighter)| fighter.position)
}

#[cfg(test)]
mod tests {
    use super::super::Simulated;
    use super::*;
    use crate::rows::ShotRow;
    use crate::{Experiment, Library, Plan};

    /// Shots of a match of bots as their screens had it, and as it is worked out if these are not looked at.
    fn both(settings: &str) -> Vec<(ShotRow, ShotRow)> {
        let text = format!(
            "question = \"?\"\n[settings]\nmap = \"corners\"\nplayers = 4\nduration = \"40 s\"\n{settings}"
        );
        let experiment = Experiment::read(&text, ".".as_ref(), false).unwrap();
        let trial = Plan::new(&experiment).unwrap().trials[0].clone();
        let library = Library::new(".".as_ref());
        let shots = |is_elsewhere: bool| {
            let carrier = Box::new(Simulated::new(5, trial.seed));
            let mut play = Match::new(&trial, &library, carrier, None).unwrap();
            if is_elsewhere {
                play.look_elsewhere((1..=4).collect(), Span::micros(16_667));
            }
            play.run().unwrap();
            play.finish().unwrap().log.shots
        };
        let (here, elsewhere) = (shots(false), shots(true));
        assert_eq!(here.len(), elsewhere.len(), "looking changes nothing");
        here.into_iter().zip(elsewhere).collect()
    }

    fn off(one: Option<Vector>, other: Option<Vector>) -> Option<f32> {
        Some(length(subtract(one?, other?)))
    }

    /// What nineteen of twenty are below, and of how many that is.
    fn most(both: &[(ShotRow, ShotRow)], of: fn(&ShotRow) -> Option<Vector>) -> (f32, usize) {
        let mut all: Vec<f32> =
            both.iter().filter_map(|(here, there)| off(of(here), of(there))).collect();
        all.sort_by(f32::total_cmp);
        (all.get(all.len() * 95 / 100).copied().unwrap_or(f32::MAX), all.len())
    }

    #[test]
    fn what_is_worked_out_is_what_screens_showed() {
        // Metres, by which others and the own player may be off. QuakeWorld's screens smooth errors, which nobody else
        // knows; a terminal shows itself a round trip late, in steps of snapshots.
        let cases: [(&str, f64, f32, f32); 7] = [
            ("model = \"half_life\"", 0.95, 0.001, 0.1),
            ("ping = \"150 ms\"\njitter = \"10 ms\"", 0.95, 0.001, 0.1),
            ("model = \"quake\"", 0.95, 0.001, 0.45),
            ("model = \"quakeworld\"", 0.9, 0.55, 0.45),
            ("model = \"quake3\"", 0.95, 0.001, 0.1),
            ("model = \"fpsci\"", 0.95, 0.001, 0.1),
            ("input_delay = \"50 ms\"\nframe_delay = 2", 0.95, 0.001, 0.1),
        ];
        for (settings, share, shown_max, own_max) in cases {
            let ping = if settings.contains("ping") { "" } else { "\nping = \"80 ms\"" };
            let both = both(&format!("{settings}{ping}"));
            let same = both.iter().filter(|(here, there)| here.aimed == there.aimed).count();
            let (all, aimed) = (both.len(), both.iter().filter(|(it, _)| it.aimed.is_some()));
            let aimed = aimed.count();
            assert!(same as f64 >= share * all as f64, "{settings}: {same} of {all} aims");
            let (shown, count) = most(&both, |shot| shot.shown);
            assert!(shown <= shown_max, "{settings}: others are {shown} m off");
            let (own, known) = most(&both, |shot| shot.own);
            assert!(own <= own_max, "{settings}: own players are {own} m off");
            assert!(count > 20 && known * 10 > aimed * 7, "{settings}: {known} of {aimed}");
            let covers = both.iter().filter(|(here, _)| here.is_behind_cover.is_some());
            let (mut hits, mut agree) = (0, 0);
            for (here, there) in covers {
                hits += 1;
                agree += u32::from(here.is_behind_cover == there.is_behind_cover);
            }
            assert!(hits > 20 && agree * 10 >= hits * 9, "{settings}: {agree} of {hits} covers");
        }
    }
}
