//! Recording what a server steps.

use super::SnapshotServer;
use crate::core::tick::{PlayerId, Tick};
use crate::replay::{Recorder, Recording};
use crate::sim::game::Game;
use std::sync::Arc;

impl<G: Game> SnapshotServer<G> {
    /// Records from the world on that there is now.
    pub(crate) fn record(&mut self, recording: &Recording) {
        let recorder = Recorder::new::<G>(
            recording,
            (&self.content, self.seed, self.rates),
            (&self.world, &self.history),
            (&self.layouts, &self.command_layout),
        );
        self.recorder = Some(Box::new(recorder));
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| !recorder.is_over())
    }

    /// The whole blocks since this was last asked.
    pub(crate) fn take_recording(&mut self) -> Vec<u8> {
        let taken = self.recorder.as_mut().map(|recorder| recorder.take());
        self.recorder.take_if(|recorder| recorder.is_over());
        taken.unwrap_or_default()
    }

    /// Ends the recording; what is left of it can still be taken.
    pub(crate) fn finish_recording(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.finish(&self.world, &self.history, &self.layouts);
        }
    }

    /// What the rules were given in the step that was just made.
    pub(super) fn record_step(&mut self, tick: Tick) {
        if let Some(recorder) = &mut self.recorder {
            let came_and_went = (&self.joined[..], &self.left[..]);
            let (layout, commands) = (&self.command_layout, &self.commands);
            recorder.step::<G>(layout, tick, came_and_went, commands, &self.sights);
        }
    }

    /// Events that a player is told, as they are sent.
    pub(super) fn record_sent(&mut self, to: PlayerId, events: &[(bool, Arc<[u8]>)]) {
        if let Some(recorder) = &mut self.recorder {
            for (_, event) in events {
                recorder.sent(self.world.tick(), to, event);
            }
        }
    }
}
