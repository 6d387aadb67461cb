//! The server's side of a recording: gathers what each step was given, as bytes that its owner takes and writes
//! wherever it likes. Changes nothing of the game.

use super::block::{self, BLOCK_BYTES_MAX, Kind};
use super::header::{self, Header};
use super::ticks::{Bases, Saw, Stretch, write_begin, write_end};
use super::{BLOCK_SPAN, checkpoint};
use crate::config::rates::Rates;
use crate::core::bits::BitWriter;
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::Span;
use crate::schema::entities::{Entities, Layouts};
use crate::schema::record::Layout;
use crate::schema::table::Table;
use crate::sim::game::{Game, Sight};
use crate::sim::sight::History;
use crate::sim::world::World;

/// How many bytes of a recording wait to be taken. With more its owner has forgotten it, and it ends there.
pub const RECORDING_WAITING_BYTES_MAX: usize = 64 << 20;

/// A block of ticks is closed once it is so long.
const TICKS_BYTES: usize = 64 << 10;

/// The same for what players were sent.
const SENT_BYTES: usize = 1 << 20;

const _: () = assert!(SENT_BYTES < BLOCK_BYTES_MAX);
const _: () = assert!(TICKS_BYTES < BLOCK_BYTES_MAX);
const _: () = assert!(RECORDING_WAITING_BYTES_MAX > 2 * BLOCK_BYTES_MAX);

/// What is recorded of a match, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The build that records, in its own words.
    pub build: String,
    /// What the caller needs to make the content again.
    pub configuration: String,
    /// How long it takes from one checkpoint to the next: so much must be stepped, at most, to see any tick.
    pub checkpoint_every: Span,
    /// In every which tick the world's hash is kept: 1 is each. Zero keeps only those of the checkpoints.
    pub hash_every: u32,
    /// Whether what players were sent is kept too.
    pub keeps_sent: bool,
}

impl Recording {
    /// A checkpoint each 10 s, a hash each tick, nothing of what is sent.
    pub fn new(build: &str, configuration: &str) -> Self {
        Self {
            build: build.to_owned(),
            configuration: configuration.to_owned(),
            checkpoint_every: Span::seconds(10),
            hash_every: 1,
            keeps_sent: false,
        }
    }
}

/// Records one match.
pub(crate) struct Recorder {
    hash_every: u32,
    keeps_sent: bool,
    checkpoint_ticks: u32,
    block_ticks: u32,
    next_checkpoint: Tick,
    /// The block that is open: its ticks, and their bits.
    open: Option<Stretch>,
    bits: BitWriter,
    bases: Bases,
    /// Room for hashing a world.
    table: Table,
    /// What players were sent since the last tick.
    sent: Vec<u8>,
    /// Whole blocks that nobody has taken yet.
    waiting: Vec<u8>,
    is_over: bool,
}

impl Recorder {
    pub(crate) fn new<G: Game>(
        recording: &Recording,
        (content, seed, rates): (&G::Content, u64, Rates),
        (world, history): (&World<G::Entity>, &History<G::Entity>),
        (layouts, command): (&Layouts, &Layout),
    ) -> Self {
        let ticks = |span: Span| {
            let ticks = span.as_micros().div_ceil(rates.tick_length.as_micros().max(1));
            ticks.clamp(1, 1 << 30) as u32
        };
        let header = Header {
            build: recording.build.clone(),
            configuration: recording.configuration.clone(),
            content_name: G::content_name(content),
            seed,
            rates,
            fingerprint: header::fingerprint::<G>(layouts, command),
        };
        let mut recorder = Self {
            hash_every: recording.hash_every,
            keeps_sent: recording.keeps_sent,
            checkpoint_ticks: ticks(recording.checkpoint_every),
            block_ticks: ticks(BLOCK_SPAN),
            next_checkpoint: world.tick(),
            open: None,
            bits: BitWriter::growing(BLOCK_BYTES_MAX - Stretch::BYTES),
            bases: Bases::default(),
            table: Table::default(),
            sent: Vec::new(),
            waiting: Vec::new(),
            is_over: false,
        };
        block::write_start(&mut recorder.waiting);
        header.write(&mut recorder.waiting);
        // Without the first world there is nothing to play; any other can be done without.
        recorder.is_over = !recorder.keep_checkpoint(world, history, layouts);
        recorder
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Before a step: the world that it leads on from, and what is remembered.
    pub(crate) fn begin<E: Entities>(
        &mut self,
        world: &World<E>,
        history: &History<E>,
        layouts: &Layouts,
    ) {
        if self.is_over {
            return;
        }
        let tick = world.tick();
        let is_full = self.open.is_some_and(|open| open.count >= self.block_ticks)
            || self.bits.bits_written() > TICKS_BYTES * 8;
        let is_due = tick >= self.next_checkpoint;
        if is_full || is_due {
            self.close();
        }
        if is_due {
            self.keep_checkpoint(world, history, layouts);
        }
        if self.sent.len() > SENT_BYTES {
            self.close_sent();
        }
        self.is_over |= self.waiting.len() > RECORDING_WAITING_BYTES_MAX;
        if self.open.is_none() {
            self.open = Some(Stretch { first: Tick(tick.0 + 1), count: 0 });
        }
        write_begin(&mut self.bits, history.newest() == Some(tick));
    }

    /// What a player claimed counts: of ticks before the step or, after it, of its own.
    pub(crate) fn claim<E: Entities>(
        &mut self,
        layouts: &[Layout],
        usual: Tick,
        claim: (PlayerId, Tick, &[(EntityId, E)]),
    ) {
        if !self.is_over {
            self.bases.write_claim(&mut self.bits, layouts, usual, claim);
        }
    }

    /// What the rules were given in a step, and which sights they asked for.
    pub(crate) fn step<G: Game>(
        &mut self,
        layout: &Layout,
        tick: Tick,
        came_and_went: (&[PlayerId], &[PlayerId]),
        commands: &[(PlayerId, Option<G::Command>)],
        sights: &[Sight<G>],
    ) {
        if self.is_over {
            return;
        }
        let asked = sights.iter().filter(|sight| sight.is_asked.get());
        let saw = asked.map(|sight| -> Saw { (sight.player, sight.others, sight.moment) });
        self.bases.write_step::<G>(&mut self.bits, layout, tick, came_and_went, commands, saw);
    }

    /// After a step: the world that came of it.
    pub(crate) fn end<E: Entities>(&mut self, world: &World<E>, layouts: &Layouts) {
        if self.is_over {
            return;
        }
        let is_hashed = self.hash_every > 0 && world.tick().0.is_multiple_of(self.hash_every);
        let hash = is_hashed.then(|| world.hash_in(layouts, &mut self.table));
        write_end(&mut self.bits, hash);
        if let Some(open) = &mut self.open {
            open.count += 1;
        }
    }

    /// A player is sent this.
    pub(crate) fn sent(&mut self, tick: Tick, player: PlayerId, message: &[u8]) {
        let length = u16::try_from(message.len()).ok().filter(|_| self.keeps_sent);
        let Some(length) = length.filter(|_| !self.is_over) else { return };
        if self.sent.len() + message.len() + super::playback::SENT_HEAD_BYTES > BLOCK_BYTES_MAX {
            return;
        }
        self.sent.extend(tick.0.to_le_bytes());
        self.sent.extend(player.0.to_le_bytes());
        self.sent.extend(length.to_le_bytes());
        self.sent.extend_from_slice(message);
    }

    /// The whole blocks since this was last asked.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waiting)
    }

    /// Ends the recording with the world as it is.
    pub(crate) fn finish<E: Entities>(
        &mut self,
        world: &World<E>,
        history: &History<E>,
        layouts: &Layouts,
    ) {
        if self.is_over {
            return;
        }
        self.close();
        self.keep_checkpoint(world, history, layouts);
        if !self.is_over {
            block::write(&mut self.waiting, Kind::End, &[]);
        }
        self.is_over = true;
    }

    /// Closes the block of ticks that is open.
    fn close(&mut self) {
        self.bases = Bases::default();
        if let Some(open) = self.open.take().filter(|open| open.count > 0) {
            match self.bits.finish() {
                Ok(ticks) => {
                    block::write(&mut self.waiting, Kind::Ticks, &[&open.write(), ticks]);
                }
                // A tick that is longer than a block is one that no replay can have.
                Err(_) => self.is_over = true,
            }
        }
        self.bits.clear();
        self.close_sent();
    }

    fn close_sent(&mut self) {
        if !self.sent.is_empty() {
            block::write(&mut self.waiting, Kind::Sent, &[&self.sent]);
            self.sent.clear();
        }
    }

    /// Keeps a world, unless it is longer than a block; says whether it did.
    fn keep_checkpoint<E: Entities>(
        &mut self,
        world: &World<E>,
        history: &History<E>,
        layouts: &Layouts,
    ) -> bool {
        self.next_checkpoint = Tick(world.tick().0.saturating_add(self.checkpoint_ticks));
        let payload = checkpoint::write(world, history, layouts).filter(|_| !self.is_over);
        if let Some(payload) = &payload {
            block::write(&mut self.waiting, Kind::Checkpoint, &[payload]);
        }
        payload.is_some()
    }
}
