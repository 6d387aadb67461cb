//! Compares a match played again with what it was, and counts what is in it.

use super::ReplayError;
use super::block::Kind;
use super::playback::Replay;
use crate::core::tick::{PlayerId, Tick};
use crate::sim::game::Game;
use std::collections::BTreeSet;
use std::fmt;

/// How many differences of one world are told.
const DIFFERENCES_MAX: usize = 64;

/// What became of a match when it was played again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many ticks were stepped.
    pub ticks: u32,
    /// How many of their worlds were compared by their hashes.
    pub hashes: u32,
    /// How many worlds were compared whole.
    pub checkpoints: u32,
    /// What happened in them.
    pub events: u64,
    /// How many shots were judged.
    pub verdicts: u64,
    /// Where it first became another match; none if it never did.
    pub divergence: Option<Divergence>,
}

/// Where a match that is played again first differs from what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The first tick whose world is another.
    pub tick: Tick,
    /// The first checkpoint from there on, at which both worlds are known; none if the recording ends before.
    pub checkpoint: Option<Tick>,
    /// In what they differ there, by entity and field: played again on the left, recorded on the right. Nothing
    /// if what differed has passed until then.
    pub differences: Vec<String>,
}

/// What is in a recording, as far as that is known without stepping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The first tick there is a world of.
    pub first: Tick,
    /// The last.
    pub last: Tick,
    /// Everyone who ever joined or asked for something.
    pub players: BTreeSet<PlayerId>,
    /// How often somebody joined.
    pub joined: u32,
    /// How often somebody left.
    pub left: u32,
    /// How many commands were executed, repeated ones too.
    pub commands: u64,
    /// How often others were put back to where a shooter saw them.
    pub rewound: u64,
    /// How many claims of trusted clients counted.
    pub claims: u64,
    /// How many worlds are in it.
    pub checkpoints: u32,
    /// How many bytes of it are whole.
    pub bytes: usize,
    /// Whether it was ended on purpose.
    pub is_ended: bool,
}

impl<G: Game> Replay<G> {
    /// Steps the whole match again and compares it with the recorded hashes and worlds, up to the first
    /// difference. It stands where that ends.
    pub fn verify(&mut self) -> Result<Verification, ReplayError> {
        self.load(0)?;
        let mut found = Verification::default();
        let mut differs_at = None;
        for index in 0..self.blocks.len() {
            let (kind, last) = (self.blocks[index].block.kind, self.blocks[index].last);
            match kind {
                Kind::Ticks => {
                    while self.world().tick() < last {
                        let differs = self.verify_step(&mut found)?;
                        let tick = self.world().tick();
                        differs_at = differs_at.or(differs.then_some(tick));
                    }
                }
                Kind::Checkpoint => {
                    let recorded = self.checkpoint(index)?;
                    found.checkpoints += 1;
                    let is_same = recorded.hash == self.world().hash(&self.layouts);
                    let differs = differs_at.or((!is_same).then_some(last));
                    if let Some(tick) = differs {
                        let mut differences =
                            self.world().differences(&recorded.world, &self.layouts);
                        differences.truncate(DIFFERENCES_MAX);
                        let checkpoint = Some(last);
                        found.divergence = Some(Divergence { tick, checkpoint, differences });
                        return Ok(found);
                    }
                }
                Kind::Header | Kind::Sent | Kind::End => {}
            }
        }
        found.divergence =
            differs_at.map(|tick| Divergence { tick, checkpoint: None, differences: Vec::new() });
        Ok(found)
    }

    /// Steps once; says whether the world is another than it was.
    fn verify_step(&mut self, found: &mut Verification) -> Result<bool, ReplayError> {
        let Some(stepped) = self.step()? else { return Ok(false) };
        found.ticks += 1;
        found.events += stepped.events.len() as u64;
        found.verdicts += stepped.verdicts.len() as u64;
        let Some(hash) = stepped.hash else { return Ok(false) };
        found.hashes += 1;
        Ok(self.world().hash(&self.layouts) as u32 != hash)
    }

    /// Counts what is in the recording. It stands at its first world afterwards.
    pub fn summary(&mut self) -> Result<Summary, ReplayError> {
        self.load(0)?;
        let kinds = self.blocks.iter().map(|placed| placed.block.kind);
        let mut summary = Summary {
            first: *self.ticks().start(),
            last: *self.ticks().end(),
            players: BTreeSet::new(),
            joined: 0,
            left: 0,
            commands: 0,
            rewound: 0,
            claims: 0,
            checkpoints: kinds.filter(|kind| *kind == Kind::Checkpoint).count() as u32,
            bytes: self.whole_bytes(),
            is_ended: self.is_ended(),
        };
        while let Some(given) = self.next_given()? {
            summary.players.extend(given.joined.iter());
            summary.players.extend(given.commands.iter().map(|(player, _)| *player));
            summary.joined += given.joined.len() as u32;
            summary.left += given.left.len() as u32;
            summary.commands += given.commands.len() as u64;
            summary.rewound += given.saw.len() as u64;
            summary.claims += (given.claims_before.len() + given.claims_after.len()) as u64;
        }
        self.load(0)?;
        Ok(summary)
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another match from tick {} on", self.tick.0)?;
        let Some(checkpoint) = self.checkpoint else {
            return f.write_str("; no world was kept after that, to tell in what");
        };
        let first = self.differences.first().map_or("both are the same again", String::as_str);
        write!(f, "; at tick {}, {first}", checkpoint.0)?;
        match self.differences.len() {
            0 | 1 => Ok(()),
            more => write!(f, ", and {} more", more - 1),
        }
    }
}
