//! What one machine steps, recorded for [`replay`](crate::replay) as a server's match is.

use super::player::Lockstep;
use crate::config::rates::{Rates, Rewinding};
use crate::replay::{Recorder, Recording};
use crate::sim::game::Game;
use crate::sim::sight::History;
use crate::sim::world::World;

impl<G: Game> Lockstep<G> {
    /// Records what this machine steps, from the next tick on, as `Server::record` does a server's match: take the
    /// bytes after each [`advance`](Lockstep::advance). Every machine's recording of a tick is the same. It ends when
    /// the others go on without us: what we are handed then is another world.
    pub fn record(&mut self, recording: &Recording) {
        (self.wanted_recording, self.recorder) = (Some(recording.clone()), None);
    }

    /// Whether the match is being recorded, or will be once there is one: not any more once it has ended by itself.
    pub fn is_recording(&self) -> bool {
        let is_running = self.recorder.as_ref().is_some_and(|recorder| !recorder.is_over());
        is_running || self.wanted_recording.is_some()
    }

    /// What was recorded since this was last asked, in whole blocks.
    pub fn take_recording(&mut self) -> Vec<u8> {
        self.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    /// Ends the recording, and gives the rest of it.
    pub fn finish_recording(&mut self) -> Vec<u8> {
        self.end_recording();
        self.take_recording()
    }

    pub(super) fn end_recording(&mut self) {
        self.wanted_recording = None;
        if let (Some(recorder), Some(worlds)) = (&mut self.recorder, &self.worlds) {
            recorder.finish(worlds.known(), &History::default(), &self.layouts);
        }
    }

    /// Before a step for good.
    pub(super) fn begin_recording(&mut self) {
        let Some(worlds) = &self.worlds else { return };
        if let Some(wanted) = self.wanted_recording.take() {
            self.recorder = self.recorder_from(worlds.known(), &wanted);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(worlds.known(), &History::default(), &self.layouts);
        }
    }

    /// After it.
    pub(super) fn record_step(&mut self) {
        let (Some(recorder), Some(worlds)) = (&mut self.recorder, &self.worlds) else { return };
        let newest = worlds.newest();
        let Some(inputs) = &newest.inputs else { return };
        let (tick, came_and_went) = (newest.world.tick(), (&inputs.joined[..], &inputs.left[..]));
        recorder.step::<G>(&self.layout, tick, came_and_went, &inputs.commands, &[]);
        recorder.end(&newest.world, &self.layouts);
    }

    /// A recording that begins with a world.
    pub(super) fn recorder_from(
        &self,
        world: &World<G::Entity>,
        recording: &Recording,
    ) -> Option<Recorder> {
        let setup = self.roster.as_ref()?.setup;
        let rewinding = Rewinding::NONE;
        let rates = Rates { tick_length: setup.tick_length, rewinding, ..Rates::USUAL };
        let match_ = (&self.content, setup.seed, rates);
        let (nothing, layouts) = (History::default(), (&self.layouts, &self.layout));
        Some(Recorder::new::<G>(recording, match_, (world, &nothing), layouts))
    }
}
