//! Plays a recording: the same rules, given the same, tick by tick or from any checkpoint on. Distrusts its bytes.

use super::block::{self, Block, Kind};
use super::checkpoint::{self, Checkpoint};
use super::header::{self, Header};
use super::ticks::{Bases, Claimed, Given, Shapes, Stretch};
use super::{ReplayError, after};
use crate::core::bits::BitReader;
use crate::core::tick::{PlayerId, Tick};
use crate::schema::entities::Layouts;
use crate::schema::record::{Layout, Precision};
use crate::sim::authority;
use crate::sim::events::Effect;
use crate::sim::game::{Emitted, Game, Sight, Sights, Turn, Verdict};
use crate::sim::sight::{self, History, Past};
use crate::sim::world::World;

/// Tick, player and length of a message that was sent.
pub(crate) const SENT_HEAD_BYTES: usize = 4 + 2 + 2;

/// A recorded match, standing at one of its ticks.
///
/// ```no_run
/// # use sametick::{Alone, Fields, Game, Networked, NoEvent, Turn, World};
/// # #[derive(Clone, Debug, Default, PartialEq)]
/// # pub struct Lamp;
/// # impl Networked for Lamp { fn fields<F: Fields>(&mut self, _f: &mut F) {} }
/// # sametick::entities! { pub enum Entity { Lamp } }
/// # struct Lamps;
/// # impl Game for Lamps {
/// #     type Entity = Entity; type Command = Lamp; type Event = NoEvent; type Content = ();
/// #     fn step(_world: &mut World<Entity>, _turn: &Turn<'_, Self>) {}
/// # }
/// use sametick::Tick;
/// use sametick::replay::{Header, Replay};
///
/// let bytes = std::fs::read("match.sametick")?;
/// println!("made with {}", Header::read(&bytes)?.configuration);
/// let mut replay = Replay::<Lamps>::open(bytes, ())?;
/// assert_eq!(replay.verify()?.divergence, None);
/// replay.seek(Tick(600))?;
/// println!("ten seconds in, there were {} entities", replay.world().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replay<G: Game> {
    bytes: Vec<u8>,
    header: Header,
    content: G::Content,
    pub(super) layouts: Layouts,
    command_layout: Layout,
    /// The whole blocks after the header.
    pub(super) blocks: Vec<Placed>,
    whole_bytes: usize,
    is_ended: bool,
    world: World<G::Entity>,
    history: History<G::Entity>,
    /// The block from which the next tick comes, how many of its bits are left, and what they stand against.
    reading: Option<Reading>,
    next_block: usize,
}

/// A block, and the ticks that it is of.
pub(super) struct Placed {
    pub(super) block: Block,
    pub(super) first: Tick,
    pub(super) last: Tick,
}

struct Reading {
    index: usize,
    next: Tick,
    bits_left: usize,
    bases: Bases,
}

/// What one step of a replay was given, and what came of it.
pub struct Stepped<G: Game> {
    /// The tick it led to.
    pub tick: Tick,
    /// Who was new.
    pub joined: Vec<PlayerId>,
    /// Who was gone.
    pub left: Vec<PlayerId>,
    /// What players asked for.
    pub commands: Vec<(PlayerId, G::Command)>,
    /// What happened.
    pub events: Vec<Effect<G::Event>>,
    /// What shots hit.
    pub verdicts: Vec<Verdict>,
    /// The low half of the hash that the world had, if that was recorded.
    pub hash: Option<u32>,
}

impl<G: Game> Replay<G> {
    /// Opens a recording and stands at its first world. It must have been played with this content. What follows
    /// its last whole block is left out: see [`is_ended`](Replay::is_ended).
    pub fn open(bytes: Vec<u8>, content: G::Content) -> Result<Self, ReplayError> {
        let (header, start) = Header::read_block(&bytes)?;
        let given = G::content_name(&content);
        if header.content_name != given {
            return Err(ReplayError::Content { recorded: header.content_name, given });
        }
        let layouts = Layouts::of::<G::Entity>();
        let command_layout = Layout::of::<G::Command>(Precision::State);
        if header::fingerprint::<G>(&layouts, &command_layout) != header.fingerprint {
            return Err(ReplayError::Layouts { build: header.build });
        }
        let (blocks, whole_bytes, is_ended) = scan(&bytes, start)?;
        let mut replay = Self {
            bytes,
            header,
            content,
            layouts,
            command_layout,
            blocks,
            whole_bytes,
            is_ended,
            world: World::default(),
            history: History::default(),
            reading: None,
            next_block: 0,
        };
        replay.load(0)?;
        Ok(replay)
    }

    /// What the recording is of.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Map and tuning.
    pub fn content(&self) -> &G::Content {
        &self.content
    }

    /// The first tick there is a world of, and the last.
    pub fn ticks(&self) -> std::ops::RangeInclusive<Tick> {
        // There is at least the first checkpoint.
        let [first, last] = [self.blocks.first(), self.blocks.last()];
        first.map_or(Tick(0), |block| block.first)..=last.map_or(Tick(0), |block| block.last)
    }

    /// Whether the recording was ended on purpose. Otherwise its server was killed, or it was cut or damaged: it
    /// is played up to its last whole block.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    pub(super) fn whole_bytes(&self) -> usize {
        self.whole_bytes
    }

    /// How many bytes follow the last whole block.
    pub fn damaged_bytes(&self) -> usize {
        self.bytes.len() - self.whole_bytes
    }

    /// The world at the tick where the replay stands.
    pub fn world(&self) -> &World<G::Entity> {
        &self.world
    }

    /// Stands at a tick: from where it is or from the last checkpoint before, it steps there.
    pub fn seek(&mut self, tick: Tick) -> Result<(), ReplayError> {
        let ticks = self.ticks();
        if !ticks.contains(&tick) {
            let (first, last) = (*ticks.start(), *ticks.end());
            return Err(ReplayError::OutOfRange { tick, first, last });
        }
        let is_before =
            |placed: &Placed| placed.block.kind == Kind::Checkpoint && placed.first <= tick;
        let checkpoint = self.blocks.iter().rposition(is_before).unwrap_or_default();
        let here = self.world.tick();
        if here > tick || self.blocks[checkpoint].first > here {
            self.load(checkpoint)?;
        }
        while self.world.tick() < tick {
            self.step()?;
        }
        Ok(())
    }

    /// Steps once; none after the last tick.
    pub fn step(&mut self) -> Result<Option<Stepped<G>>, ReplayError> {
        let given = self.next_given()?;
        Ok(given.map(|given| self.play(given)))
    }

    /// The world of each tick from where the replay stands to its end.
    pub fn worlds(&mut self) -> impl Iterator<Item = Result<World<G::Entity>, ReplayError>> {
        let mut next = Some(Ok(self.world.clone()));
        std::iter::from_fn(move || {
            let this = next.take()?;
            if this.is_ok() {
                let stepped = self.step().map(|stepped| stepped.map(|_| self.world.clone()));
                next = stepped.transpose();
            }
            Some(this)
        })
    }

    /// What players were sent, if that was recorded: after which tick, to whom, and the message.
    pub fn sent(&self) -> impl Iterator<Item = (Tick, PlayerId, &[u8])> {
        let blocks = self.blocks.iter().filter(|placed| placed.block.kind == Kind::Sent);
        blocks.flat_map(|placed| {
            let mut rest = &self.bytes[placed.block.payload.clone()];
            std::iter::from_fn(move || {
                let (head, messages) = rest.split_first_chunk::<SENT_HEAD_BYTES>()?;
                let head = u64::from_le_bytes(*head);
                let (message, after) = messages.split_at_checked((head >> 48) as usize)?;
                rest = after;
                Some((Tick(head as u32), PlayerId((head >> 32) as u16), message))
            })
        })
    }

    /// Stands at the world of a checkpoint.
    pub(super) fn load(&mut self, index: usize) -> Result<(), ReplayError> {
        let Checkpoint { world, history, .. } = self.checkpoint(index)?;
        (self.world, self.history) = (world, history);
        (self.reading, self.next_block) = (None, index + 1);
        Ok(())
    }

    pub(super) fn checkpoint(&self, index: usize) -> Result<Checkpoint<G::Entity>, ReplayError> {
        let placed = &self.blocks[index];
        let payload = &self.bytes[placed.block.payload.clone()];
        checkpoint::read(payload, &self.layouts).map_err(after(placed.first))
    }

    /// Reads what the next step was given.
    pub(super) fn next_given(&mut self) -> Result<Option<Given<G>>, ReplayError> {
        if self.reading.is_none() {
            let blocks = self.blocks.iter().enumerate().skip(self.next_block);
            let ticks = blocks.into_iter().find(|(_, placed)| placed.block.kind == Kind::Ticks);
            let Some((index, placed)) = ticks else { return Ok(None) };
            let bits_left = (placed.block.payload.len() - Stretch::BYTES) * 8;
            let bases = Bases::default();
            self.reading = Some(Reading { index, next: placed.first, bits_left, bases });
            self.next_block = index + 1;
        }
        let Some(reading) = &mut self.reading else { return Ok(None) };
        let placed = &self.blocks[reading.index];
        let payload = &self.bytes[placed.block.payload.clone()];
        let mut bits = BitReader::new(payload);
        bits.skip(payload.len() * 8 - reading.bits_left);
        let shapes = Shapes { state: &self.layouts.state, command: &self.command_layout };
        let given = reading.bases.read::<G>(&mut bits, shapes, reading.next);
        let before = Tick(reading.next.0 - 1);
        let given = given.map_err(after(before))?;
        reading.bits_left = bits.bits_left();
        if reading.next == placed.last {
            self.reading = None;
            bits.finish().map_err(after(before))?;
        } else {
            reading.next.0 += 1;
        }
        Ok(Some(given))
    }

    /// Steps as the server did, in the same order.
    fn play(&mut self, given: Given<G>) -> Stepped<G> {
        let Given { tick, joined, left, commands, hash, .. } = given;
        let rates = self.header.rates;
        if given.remembers {
            let (world, layouts) = (&self.world, &self.layouts);
            self.history.push_with(world.tick(), |then| {
                then.clone_from(world);
                sight::as_shown(then, layouts);
            });
        }
        self.apply(&given.claims_before);
        let past = Past {
            history: &self.history,
            layouts: &self.layouts.state,
            content: &self.content,
            tick_length: rates.tick_length,
        };
        let sights = given
            .saw
            .into_iter()
            .map(|(player, others, moment)| Sight::new(player, others, moment));
        let turn = Turn {
            joined: &joined,
            left: &left,
            commands: &commands,
            sights: Some(Sights { past, players: sights.collect() }),
            needs_sight: rates.rewinding.needs_sight,
            ..Turn::new(tick, rates.tick_length, self.header.seed, &self.content)
        };
        G::step(&mut self.world, &turn);
        let (events, verdicts) = (turn.events.into_inner(), turn.verdicts.into_inner());
        self.apply(&given.claims_after);
        self.world.set_tick(tick);
        // What is not finite was mended then, too.
        let _ = self.world.settle();
        let started =
            |Emitted { key, event, .. }| Effect::Started { key, event, is_predicted: false };
        let known = commands.into_iter().filter_map(|(player, command)| Some((player, command?)));
        Stepped {
            tick,
            joined,
            left,
            commands: known.collect(),
            events: events.into_iter().map(started).collect(),
            verdicts,
            hash,
        }
    }

    fn apply(&mut self, claims: &[Claimed<G::Entity>]) {
        for (player, of, claimed) in claims {
            let layouts = &self.layouts.state;
            authority::apply(&mut self.world, layouts, *player, *of, claimed, G::trust);
        }
    }
}

/// The whole blocks that follow each other as a recorder writes them, how far they reach, and whether the last
/// says that it is the last.
fn scan(bytes: &[u8], start: usize) -> Result<(Vec<Placed>, usize, bool), ReplayError> {
    let (mut blocks, mut at, mut now) = (Vec::<Placed>::new(), start, None::<Tick>);
    while let Some((block, next)) = block::read(bytes, at) {
        let payload = &bytes[block.payload.clone()];
        let ticks = match (block.kind, now) {
            (Kind::Checkpoint, now) => {
                let tick = checkpoint::tick(payload);
                tick.filter(|tick| now.is_none_or(|now| now == *tick)).map(|tick| (tick, tick))
            }
            (Kind::Ticks, Some(now)) => {
                let stretch = Stretch::read(payload).filter(|ticks| ticks.first.0 - 1 == now.0);
                stretch.map(|ticks| (ticks.first, ticks.last()))
            }
            (Kind::Sent, Some(now)) => Some((now, now)),
            (Kind::End, Some(_)) if payload.is_empty() => {
                return Ok((blocks, next, next == bytes.len()));
            }
            (Kind::Header | Kind::Ticks | Kind::Sent | Kind::End, _) => None,
        };
        let Some((first, last)) = ticks else { break };
        blocks.push(Placed { block, first, last });
        (at, now) = (next, Some(last));
    }
    if blocks.is_empty() { Err(ReplayError::Empty) } else { Ok((blocks, at, false)) }
}
