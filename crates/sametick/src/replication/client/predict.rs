//! The client's guess at its own time: the newest snapshot, stepped on by the same rules with its own
//! commands and, if it wishes, with the last ones known of the others.

use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::replication::client::follow::SnapshotClient;
use crate::replication::commands::KEPT_COMMANDS_MAX;
use crate::replication::messages::FORESEEN_TICKS_MAX;
use crate::sim::game::{Game, Sight, Sights, Stride, Turn};
use crate::sim::sight::Past;
use crate::sim::view::Others;
use crate::sim::world::World;

/// The most ticks that a client predicts, at the shortest tick there is. At longer ticks a client predicts as many as
/// take `PREDICTED_MAX`, and at least `PREDICTED_TICKS_LEAST`: a number of ticks alone would be 128 ms at 1,000
/// ticks a second, which is less than many a round trip.
pub const PREDICTED_TICKS_MAX: u32 = 1024;

/// How far a client predicts where ticks are short.
const PREDICTED_MAX: Span = Span::millis(PREDICTED_TICKS_MAX as u64);
/// How many ticks it may predict at every rate.
const PREDICTED_TICKS_LEAST: u32 = 128;

const _: () = assert!(
    KEPT_COMMANDS_MAX >= (PREDICTED_TICKS_MAX + FORESEEN_TICKS_MAX) as usize,
    "a client predicts with its commands"
);

/// How many ticks of this length a client predicts at most, whatever the round trip: however long the server was
/// silent, or says that it was, a snapshot costs no more steps.
pub(crate) fn predicted_ticks_max(tick_length: Span) -> u32 {
    let ticks = PREDICTED_MAX.as_micros() / tick_length.as_micros().max(1);
    ticks.clamp(u64::from(PREDICTED_TICKS_LEAST), u64::from(PREDICTED_TICKS_MAX)) as u32
}

impl<G: Game> SnapshotClient<G> {
    /// Starts from the newest snapshot and steps again what was predicted before. Our own may be of an
    /// older one, if the part that told of it was lost.
    pub(crate) fn repredict(&mut self) {
        let until = self.predicted.tick().max(self.snapshot.tick());
        let guessed = self.own_entities(until);
        self.predicted.clone_from(&self.snapshot);
        self.predicted.set_predicts(self.me);
        self.previous.clone_from(&self.snapshot);
        self.predicted.set_tick(self.own_tick);
        if self.trusted {
            // What we decided on stands, as far as the game trusts us.
            for (id, decided) in self.decisions.at(self.own_tick).unwrap_or_default() {
                if let Some(entity) = self.predicted.entity_mut(*id) {
                    G::trust(entity, decided);
                }
            }
        }
        let ticks = self.view.stride;
        let mut stride = Stride { ticks, me: Some(self.me), done: 0, is_last: false };
        // Beyond the limit our own wait. To leave out the first ticks instead would predict with commands whose
        // predecessors never happened, and nothing would be where the server has it.
        let last = until.0.min(self.own_tick.0.saturating_add(self.predicted_ticks_max));
        while self.predicted.tick().0 < last {
            stride.done += 1;
            stride.is_last = self.predicted.tick().0 + 1 == last;
            self.step(stride);
        }
        if last < until.0 {
            self.previous.clone_from(&self.predicted);
            self.predicted.set_tick(until);
        }
        self.repredicted_ticks += u64::from(stride.done);
        let corrections = guessed.iter().filter_map(|(id, was)| {
            let right = self.predicted.entity(self.name_of(*id))?;
            (!G::jumps(was, right)).then(|| G::distance(was, right))
        });
        let correction = corrections.fold(0.0, f32::max);
        self.watch.correct(correction);
    }

    /// Our own entities as they are predicted, if that is of this tick.
    fn own_entities(&self, tick: Tick) -> Vec<(EntityId, G::Entity)> {
        if !self.view.predicts || self.predicted.tick() != tick {
            return Vec::new();
        }
        let own = self.predicted.owned_entities().filter(|(_, owner, _)| *owner == Some(self.me));
        own.map(|(id, _, entity)| (id, entity.clone())).collect()
    }

    /// One tick of what we predict; all else stays as the snapshot has it.
    pub(crate) fn step(&mut self, stride: Stride) {
        let tick = Tick(self.predicted.tick().0 + 1);
        self.previous.clone_from(&self.predicted);
        let ahead = tick.0.saturating_sub(self.snapshot.tick().0);
        let is_within = u64::from(ahead) * self.tick_length.as_micros()
            <= self.view.predicts_at_most.as_micros();
        if self.view.predicts && is_within {
            self.commands.clear();
            self.commands.push((self.me, self.log.get(tick).cloned()));
            // Others are of the snapshot's tick: until then only our own are behind.
            let is_past = tick <= self.snapshot.tick();
            for (player, command) in self.others.iter().filter(|_| !is_past) {
                let place = self.commands.partition_point(|(before, _)| before <= player);
                self.commands.insert(place, (*player, Some(G::repeat(command, ahead))));
            }
            let moment = self.log.moment(tick);
            let sight = moment.map(|moment| Sight::new(self.me, self.view.others, moment));
            let past = Past {
                history: &self.history,
                layouts: &self.layouts.state,
                content: &self.content,
                tick_length: self.tick_length,
            };
            let turn = Turn {
                commands: &self.commands,
                sights: sight.map(|sight| Sights { past, players: vec![sight] }),
                stride,
                is_predicted: true,
                ..Turn::new(tick, self.tick_length, self.seed, &self.content)
            };
            G::step(&mut self.predicted, &turn);
            let me = self.me;
            for emitted in turn.events.into_inner() {
                // What others do is for the server to tell.
                let entity = emitted.key.entity;
                let owner = self.predicted.owner(entity).or_else(|| self.previous.owner(entity));
                if owner == Some(me) {
                    self.effects.predict(emitted);
                }
            }
            let others = self.view.others;
            self.predicted.restore(&self.snapshot, |owner, entity| {
                owner == Some(me) || !is_past && is_predicted::<G>(me, others, owner, entity)
            });
            // What is not finite was mended; the server will say what it is.
            let _ = self.predicted.settle();
        }
        self.predicted.set_tick(tick);
        if self.trusted && self.view.predicts {
            self.decisions.keep(&self.predicted, self.me);
        }
    }

    /// Our own entities, stepped to our own time.
    pub(crate) fn predicted(&self) -> &World<G::Entity> {
        if self.view.predicts { &self.predicted } else { &self.snapshot }
    }
}

/// Whether a client steps an entity on by itself.
pub(crate) fn is_predicted<G: Game>(
    me: PlayerId,
    others: Others,
    owner: Option<PlayerId>,
    entity: &G::Entity,
) -> bool {
    owner == Some(me) || G::shown(entity, others) == Others::Predicted
}
