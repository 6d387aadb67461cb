//! What is shown of a death: one's own screen beside the killer's at the moment of the shot. Both are put together from
//! what this client had been told and had shown by then; only how far back the server looked must be told by it.

use crate::camera::Camera;
use sametick::{EntityId, Span, Tick, World};
use sametick_arena::{Entity, Fighter};
use std::collections::VecDeque;

/// How long it is shown.
pub(crate) const SHOWN_SECONDS: f32 = 3.0;
/// Screens that are remembered: more than the longest rewind and round trip.
const SCREENS_MAX: usize = 120;
/// Snapshots that are remembered.
const SNAPSHOTS_MAX: usize = 48;

/// What was on one's own screen.
struct Screen {
    /// One's own tick then.
    tick: Tick,
    camera: Camera,
    world: World<Entity>,
}

/// What was shown and told of late.
#[derive(Default)]
pub(crate) struct Recorder {
    screens: VecDeque<Screen>,
    snapshots: VecDeque<World<Entity>>,
}

/// A moment that is known only from farther away than this is not known.
const APART_TICKS_MAX: u32 = 12;

/// Two screens and a sentence.
pub(crate) struct Replay {
    /// One's own: what it showed, and from where.
    pub(crate) mine: (World<Entity>, Camera),
    /// The killer's, if it is known how far back the server looked.
    pub(crate) theirs: Option<(World<Entity>, Camera)>,
    /// Whose eyes the second are.
    pub(crate) killer: EntityId,
    /// Whose the first are.
    pub(crate) own: EntityId,
    /// What to say of it.
    pub(crate) sentence: String,
    /// For how much longer.
    pub(crate) left: f32,
}

impl Recorder {
    /// Takes note of what the screen shows; one a tick is enough.
    pub(crate) fn screen(&mut self, tick: Tick, camera: Camera, world: &World<Entity>) {
        if self.screens.back().is_some_and(|last| last.tick == tick) {
            return;
        }
        let mut oldest =
            if self.screens.len() == SCREENS_MAX { self.screens.pop_front() } else { None };
        // What was forgotten is written over: nothing is allocated a second time.
        let mut kept = oldest.take().map_or_else(World::default, |oldest| oldest.world);
        kept.clone_from(world);
        self.screens.push_back(Screen { tick, camera, world: kept });
    }

    /// Takes note of what the server told.
    pub(crate) fn snapshot(&mut self, world: &World<Entity>) {
        if self.snapshots.back().is_some_and(|last| last.tick() >= world.tick()) {
            return;
        }
        if self.snapshots.len() == SNAPSHOTS_MAX {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back(world.clone());
    }

    /// Another match: what was is of no meaning.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// One's own screen alone, where nothing was looked back.
    pub(crate) fn own_screen(
        &self,
        tick: Tick,
        who: (EntityId, EntityId),
        sentence: String,
    ) -> Option<Replay> {
        Some(Replay { sentence, ..self.replay(tick, who, "", None)? })
    }

    /// Puts the two screens together.
    pub(crate) fn replay(
        &self,
        tick: Tick,
        (own, killer): (EntityId, EntityId),
        name: &str,
        rewound: Option<(Span, Span)>,
    ) -> Option<Replay> {
        let mine = self.screen_at(tick)?;
        let mut mine_world = mine.world.clone();
        // The one who is to be seen is the one who looked, not the one who fell.
        if let Some(fighter) = mine_world.get_mut::<Fighter>(own) {
            fighter.health = fighter.health.max(1);
        }
        let camera = mine.camera;
        let theirs = rewound.and_then(|(rewound, tick_length)| {
            let ticks = rewound.as_micros() as f64 / tick_length.as_micros().max(1) as f64;
            let then = Tick(tick.0.saturating_sub(ticks.round() as u32));
            self.killers_screen(tick, then, own, killer, camera.width)
        });
        let milliseconds = rewound.map(|(rewound, _)| rewound.as_millis_f64().round());
        let sentence = match (milliseconds, &theirs) {
            (Some(milliseconds), Some(_)) if milliseconds >= 1.0 => {
                format!("On {name}’s screen you were here, {milliseconds} ms earlier.")
            }
            (Some(_), Some(_)) => format!("On {name}’s screen you were where you were on yours."),
            _ => format!("{name} hit you. What {name} saw is not known here."),
        };
        let mine = (mine_world, camera);
        Some(Replay { mine, theirs, killer, own, sentence, left: SHOWN_SECONDS })
    }

    /// What the killer saw: itself at the tick of its shot, all others as they were when the server looked.
    fn killers_screen(
        &self,
        tick: Tick,
        then: Tick,
        own: EntityId,
        killer: EntityId,
        width: f32,
    ) -> Option<(World<Entity>, Camera)> {
        let mut world = self.snapshot_at(then)?.clone();
        let shooter = self.snapshot_at(tick)?.get::<Fighter>(killer)?.clone();
        let screen = self.screen_at(then).map(|screen| &screen.world);
        let screen = screen.filter(|world| world.tick().0.abs_diff(then.0) <= APART_TICKS_MAX);
        let victim = screen.and_then(|world| world.get::<Fighter>(own)).cloned();
        if let Some(fighter) = world.get_mut::<Fighter>(own) {
            // Where frames were too slow for one's own screen, the server's word of that tick is near enough.
            let victim = victim.unwrap_or_else(|| fighter.clone());
            *fighter = Fighter { health: victim.health.max(1), ..victim };
        }
        let camera = Camera {
            eye: shooter.eye(),
            yaw: shooter.yaw,
            pitch: shooter.pitch,
            width,
            shift: 0.0,
        };
        Some((world, camera))
    }

    fn screen_at(&self, tick: Tick) -> Option<&Screen> {
        self.screens.iter().min_by_key(|screen| screen.tick.0.abs_diff(tick.0))
    }

    fn snapshot_at(&self, tick: Tick) -> Option<&World<Entity>> {
        let apart = |world: &World<Entity>| world.tick().0.abs_diff(tick.0);
        let nearest = self.snapshots.iter().min_by_key(|world| apart(world));
        nearest.filter(|world| apart(world) <= APART_TICKS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Session, named_content};
    use sametick::secure::SystemRandom;
    use sametick::{Effect, PlayerId, Time, View};
    use sametick_arena::vector::{Vector, length, subtract};
    use sametick_arena::{Command, What};

    const LOOK: Camera = Camera { eye: [0.0; 3], yaw: 0.0, pitch: 0.0, width: 1.5, shift: 0.0 };

    /// Runs among bots until one of them kills, and puts the death together; with it, where the victim was on the
    /// killer's own screen when that fired.
    fn death() -> (Replay, Vector) {
        let content = named_content("corners", "ffa").unwrap();
        let mut session =
            Session::inside(&content, 5, View::default(), Time::ZERO, &mut SystemRandom::new());
        let (mut recorder, mut now) = (Recorder::default(), Time::ZERO);
        let mut screens: VecDeque<(PlayerId, Tick, Vector)> = VecDeque::new();
        for _ in 0..20_000 {
            now += Span::millis(16);
            session.frame(
                now,
                Command { forward: 7, yaw: now.as_micros() as f32 / 9e5, ..Command::default() },
            );
            let effects = session.take_effects();
            let Some(world) = session.shown() else { continue };
            recorder.screen(world.tick(), LOOK, world);
            session.player().snapshot().into_iter().for_each(|world| recorder.snapshot(world));
            let Some((own, _)) = session.own() else { continue };
            for (bot, tick, world) in session.road().screens() {
                let seen = world.get::<Fighter>(own).map(|victim| (bot, tick, victim.position));
                screens.extend(seen);
            }
            screens.drain(..screens.len().saturating_sub(500));
            for effect in effects {
                let Effect::Started { key, event, .. } = effect else { continue };
                let Some(killer) = event.by.filter(|by| *by != own) else { continue };
                if event.what != What::Death || key.entity != own || event.weapon.index() == 2 {
                    continue;
                }
                let rewound = (Span::millis(event.rewound_ms.into()), Span::micros(16_667));
                let replay =
                    recorder.replay(key.tick, (own, killer), "Ada", Some(rewound)).unwrap();
                let player = world.get::<Fighter>(killer).unwrap().player;
                // A command is given in the tick before the one it is for.
                let apart = |tick: Tick| (tick.0 + 1).abs_diff(key.tick.0);
                let own_screen = screens.iter().filter(|(of, ..)| of.0 == player);
                let (_, tick, seen) = own_screen.min_by_key(|(_, tick, _)| apart(*tick)).unwrap();
                assert!(apart(*tick) <= 2, "{tick:?} of {:?}", key.tick);
                return (replay, *seen);
            }
        }
        panic!("nobody killed us");
    }

    #[test]
    fn the_victim_is_where_the_killers_own_screen_had_it() {
        let (replay, judged) = death();
        let (world, _) = replay.theirs.expect("the server is in this page");
        let seen = world.get::<Fighter>(replay.own).unwrap().position;
        let off = length(subtract(seen, judged));
        // A tick or two of running, and what the eye is spared.
        assert!(off < 0.35, "{off} m");
        assert!(replay.sentence.starts_with("On Ada’s screen you were"), "{}", replay.sentence);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut recorder = Recorder::default();
        let world = World::default();
        (0..1000).for_each(|tick| recorder.screen(Tick(tick), LOOK, &world));
        assert_eq!(recorder.screens.len(), SCREENS_MAX);
        let replay = recorder.replay(Tick(999), own_and_killer(), "Ada", None).unwrap();
        assert!(replay.theirs.is_none() && replay.sentence.contains("not known"));
    }

    fn own_and_killer() -> (EntityId, EntityId) {
        (EntityId::new(1, 1).unwrap(), EntityId::new(2, 1).unwrap())
    }
}
