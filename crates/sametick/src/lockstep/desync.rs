//! Worlds that differ although they were stepped from the same commands: found by their hashes, and explained by
//! comparing them.

use super::player::{Happening, Lockstep, Role};
use super::words::Word;
use super::worlds::Past;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::replay::Recording;
use crate::sim::game::Game;
use crate::sim::sight::History;
use crate::sim::world::World;
use std::collections::BTreeMap;

/// What is known of a desync.
#[derive(Clone, Debug, PartialEq)]
pub struct Desync {
    /// Whose world is another than ours; "left" is ours, "right" is theirs.
    pub with: PlayerId,
    /// The first tick at which they differ, as far as is known.
    pub tick: Tick,
    /// Whether they were the same on the tick before. If not, that one is not kept any more: they may have differed
    /// for longer.
    pub is_first: bool,
    /// The first entity and field that differ, with both values.
    pub first: String,
    /// All that differs at that tick.
    pub differences: Vec<String>,
    /// Recordings that `sametick replay` opens, with a name for each: our match from the last tick on which we
    /// agreed, our world, and theirs.
    pub recordings: Vec<(&'static str, Vec<u8>)>,
}

/// How often hashes are sent to whoever has others.
const ASK_EVERY: Span = Span::millis(50);

/// How many hashes of others are remembered until we are there ourselves.
const EARLY_MAX: usize = 64;

/// A desync that is being looked into.
pub(super) struct Inquest<G: Game> {
    with: u64,
    /// Their hashes, once they have come.
    theirs: Option<(Tick, Vec<u32>)>,
    /// Whether our world was sent.
    is_sent: bool,
    evidence: Option<World<G::Entity>>,
    asked_at: Time,
}

/// Hashes that others told before we were there: by tick and machine.
pub(super) type Early = BTreeMap<(Tick, u64), u32>;

impl<G: Game> Lockstep<G> {
    /// Another's hash of a tick.
    pub(super) fn hear_hash(&mut self, now: Time, from: u64, tick: Tick, hash: u32) {
        let Some(worlds) = &self.worlds else { return };
        match worlds.at(tick) {
            Some(past) if past.hash(&self.layouts) != hash => self.suspect(now, from),
            None if tick > worlds.executed() && self.early.len() < EARLY_MAX => {
                self.early.insert((tick, from), hash);
            }
            _ => {}
        }
    }

    /// We have stepped a tick of which others may have told.
    pub(super) fn compare(&mut self, tick: Tick) {
        let told = self.early.range((tick, 0)..=(tick, u64::MAX));
        let told: Vec<(u64, u32)> = told.map(|((_, from), hash)| (*from, *hash)).collect();
        self.early = self.early.split_off(&(Tick(tick.0 + 1), 0));
        if told.is_empty() {
            return;
        }
        let ours = self.hash_of(tick);
        let other = told.into_iter().find(|(_, hash)| Some(*hash) != ours);
        if let Some((from, _)) = other {
            self.suspect(self.spoke_at, from);
        }
    }

    fn suspect(&mut self, now: Time, with: u64) {
        self.halt();
        // Who only watches stops alone: that is no matter of those who play.
        if self.inquest.is_none() && self.role == Role::Plays {
            let asked_at = now - ASK_EVERY;
            self.inquest =
                Some(Inquest { with, theirs: None, is_sent: false, evidence: None, asked_at });
        }
    }

    /// Somebody looks into it and tells its hashes.
    pub(super) fn hear_inquest(&mut self, now: Time, from: u64, first: Tick, hashes: Vec<u32>) {
        let member = self.roster.as_ref().and_then(|roster| roster.member(from));
        let counts = member.is_some_and(|member| member.wants_to_play);
        if !counts || self.worlds.is_none() || self.role == Role::Watches {
            return;
        }
        self.suspect(now, from);
        if let Some(inquest) = self.inquest.as_mut().filter(|inquest| inquest.with == from) {
            inquest.theirs.get_or_insert((first, hashes));
        }
    }

    /// Whether our world is being compared with this one's.
    pub(super) fn is_compared_with(&self, identity: u64) -> bool {
        self.inquest.as_ref().is_some_and(|inquest| inquest.with == identity)
    }

    /// Their world of the tick at which we differ.
    pub(super) fn hear_evidence(&mut self, from: u64, world: World<G::Entity>) {
        if let Some(inquest) = self.inquest.as_mut().filter(|inquest| inquest.with == from) {
            inquest.evidence.get_or_insert(world);
        }
    }

    /// Asks, answers, and tells what came of it.
    pub(super) fn investigate(&mut self, now: Time) {
        let (Some(inquest), Some(worlds)) = (&self.inquest, &self.worlds) else { return };
        let (with, is_due) = (inquest.with, now - inquest.asked_at >= ASK_EVERY);
        let member = self.roster.as_ref().and_then(|roster| roster.member(with)).copied();
        let Some(member) = member else { return };
        let first_differing = inquest.theirs.as_ref().and_then(|(first, hashes)| {
            let mut theirs = (first.0..).map(Tick).zip(hashes);
            theirs.find_map(|(tick, hash)| {
                worlds.at(tick).filter(|past| past.hash(&self.layouts) != *hash).map(|_| tick)
            })
        });
        let evidence = first_differing.filter(|_| !inquest.is_sent);
        let evidence = evidence.and_then(|tick| worlds.at(tick));
        let bytes = evidence.map(|past| past.world.save(&self.layouts));
        let report = match (first_differing, &inquest.evidence) {
            (Some(tick), Some(theirs)) if theirs.tick() == tick => {
                let first = inquest.theirs.as_ref().map(|(first, _)| *first);
                let before = Tick(tick.0.saturating_sub(1));
                let is_first = first < Some(tick) && worlds.at(before).is_some();
                Some(self.report(member.player, (tick, is_first), theirs))
            }
            _ => None,
        };
        let hashes = || -> (Tick, Vec<u32>) {
            let first = worlds.past().next().map_or(Tick(0), |past| past.world.tick());
            (first, worlds.past().map(|past: &Past<G>| past.hash(&self.layouts)).collect())
        };
        let word = is_due.then(hashes).map(|(first, hashes)| Word::Inquest { first, hashes });
        if let Some(inquest) = &mut self.inquest {
            inquest.is_sent |= bytes.is_some();
            inquest.asked_at = if is_due { now } else { inquest.asked_at };
            if report.is_some() {
                // Told once.
                inquest.evidence = None;
            }
        }
        if let Some(bytes) = bytes {
            self.hand_over(now, with, bytes);
        }
        word.into_iter().for_each(|word| self.post((with, member.at), &word));
        self.events.extend(report.map(|report| Happening::Desynced(Box::new(report))));
    }

    fn report(
        &self,
        with: PlayerId,
        (tick, is_first): (Tick, bool),
        theirs: &World<G::Entity>,
    ) -> Desync {
        let ours = self.worlds.as_ref().and_then(|worlds| worlds.at(tick));
        let differences = ours.map(|past| past.world.differences(theirs, &self.layouts));
        let differences = differences.unwrap_or_default();
        let first = differences.first().cloned().unwrap_or_default();
        let recordings = vec![
            ("ours-since-we-agreed", self.recording(tick)),
            ("ours", ours.map(|past| self.recording_of(&past.world)).unwrap_or_default()),
            ("theirs", self.recording_of(theirs)),
        ];
        Desync { with, tick, is_first, first, differences, recordings }
    }

    /// One world.
    fn recording_of(&self, world: &World<G::Entity>) -> Vec<u8> {
        let Some(mut recorder) = self.recorder_from(world, &recording()) else { return Vec::new() };
        recorder.finish(world, &History::default(), &self.layouts);
        recorder.take()
    }

    /// Our match up to a tick, from the first that is known: all that was asked since we agreed. Whoever
    /// plays it again sees whether the rules make of it what our machine did.
    fn recording(&self, until: Tick) -> Vec<u8> {
        let nothing = History::default();
        let Some(worlds) = &self.worlds else { return Vec::new() };
        let mut past = worlds.past().take_while(|past| past.world.tick() <= until);
        let Some(mut before) = past.next() else { return Vec::new() };
        let Some(mut recorder) = self.recorder_from(&before.world, &recording()) else {
            return Vec::new();
        };
        for after in past {
            let Some(inputs) = &after.inputs else { continue };
            recorder.begin(&before.world, &nothing, &self.layouts);
            let came_and_went = (&inputs.joined[..], &inputs.left[..]);
            let tick = after.world.tick();
            recorder.step::<G>(&self.layout, tick, came_and_went, &inputs.commands, &[]);
            recorder.end(&after.world, &self.layouts);
            before = after;
        }
        recorder.finish(&before.world, &nothing, &self.layouts);
        recorder.take()
    }
}

fn recording() -> Recording {
    Recording::new("lockstep", "the worlds of a desync")
}
