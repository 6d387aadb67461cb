//! How a lockstep game is played: who talks to whom, how commands are timed, and whether anyone waits. One
//! implementation; these choices make the models.

use super::PLAYERS_MAX;
use crate::core::bits::{BitReader, BitWriter};
use crate::core::time::Span;
use crate::sim::alone::TICK_LENGTHS;

/// Who sends commands to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Everyone to everyone (DOOM, 1993). A tick waits for the slowest of all lines.
    PeerToPeer,
    /// Everyone to one of them, who answers nobody before it has heard from all (frame locking).
    WaitingServer,
    /// Everyone to one of them, who waits for nobody: what is late is replaced by the last command.
    PacketServer,
}

/// When a command that is given now takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// So many ticks later; if that is too soon for some line, the game stalls.
    Fixed {
        /// From the command to its tick.
        delay_ticks: u8,
    },
    /// Commands are made in real time even when the game stalls, so that it runs on, later by what the
    /// slowest line takes.
    Ahead,
    /// Communication turns of several ticks; a command takes effect two turns later. Length of turns
    /// and pace of the game follow what lines and machines can do, and change for all on the same turn.
    Adaptive,
}

/// What the founder of a game decides for all.
///
/// ```
/// use sametick::Span;
/// use sametick::lockstep::{Setup, Topology};
///
/// let setup = Setup { players: 4, seed: 7, ..Setup::named("packet_server").unwrap() };
/// assert_eq!(setup.topology, Topology::PacketServer);
/// assert_eq!(setup.tick_length, Span::micros(16_667));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Who sends commands to whom.
    pub topology: Topology,
    /// When a command takes effect.
    pub turns: Turns,
    /// How many ticks may be guessed ahead of what is known, and stepped again when the guess was wrong;
    /// with none the game waits.
    pub rollback_ticks: u8,
    /// How long a tick lasts.
    pub tick_length: Span,
    /// With how many players the game begins.
    pub players: u8,
    /// The seed of every chance.
    pub seed: u64,
    /// After so long without a word a player is taken for gone.
    pub patience: Span,
    /// Whether a part of the players goes on only if it is the larger one (or holds the first of them).
    /// Without this, two halves that lose each other play two games.
    pub needs_quorum: bool,
}

impl Setup {
    /// DOOM (1993): peer to peer, commands made ahead of the game.
    pub const DOOM_1993: Self = Self {
        topology: Topology::PeerToPeer,
        turns: Turns::Ahead,
        rollback_ticks: 0,
        tick_length: Span::micros(16_667),
        players: 2,
        seed: 0,
        patience: Span::millis(1_800),
        needs_quorum: true,
    };

    /// Frame locking (002, figure 1): a server that waits for all before it answers anyone, and updates that are
    /// due a fixed time after they are given. A line that takes longer freezes everyone.
    pub const FRAME_LOCKED: Self = Self {
        topology: Topology::WaitingServer,
        turns: Turns::Fixed { delay_ticks: 8 },
        ..Self::DOOM_1993
    };

    /// The packet server (001): who has a bad line is the only one to feel it.
    pub const PACKET_SERVER: Self = Self { topology: Topology::PacketServer, ..Self::DOOM_1993 };

    /// Age of Empires (002): communication turns that adapt.
    pub const AGE_OF_EMPIRES: Self = Self { turns: Turns::Adaptive, ..Self::DOOM_1993 };

    /// Rollback: nobody waits; what was guessed wrong is stepped again.
    pub const ROLLBACK: Self =
        Self { turns: Turns::Fixed { delay_ticks: 1 }, rollback_ticks: 12, ..Self::DOOM_1993 };

    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("doom1993", Self::DOOM_1993),
        ("frame_locked", Self::FRAME_LOCKED),
        ("packet_server", Self::PACKET_SERVER),
        ("age_of_empires", Self::AGE_OF_EMPIRES),
        ("rollback", Self::ROLLBACK),
    ];

    /// The model of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, setup)| setup)
    }

    /// Whether a game can be played so.
    pub fn is_lawful(&self) -> bool {
        let delay_ticks = match self.turns {
            Turns::Fixed { delay_ticks } => delay_ticks,
            Turns::Ahead | Turns::Adaptive => 1,
        };
        (1..=PLAYERS_MAX).contains(&usize::from(self.players))
            && TICK_LENGTHS.contains(&self.tick_length)
            && (1..=super::DELAY_TICKS_MAX).contains(&u32::from(delay_ticks))
            && u32::from(self.rollback_ticks) <= super::ROLLBACK_TICKS_MAX
            && (PATIENCE_MIN..=PATIENCE_MAX).contains(&self.patience)
    }

    /// Whether commands go through one of the players.
    pub(super) fn has_server(&self) -> bool {
        self.topology != Topology::PeerToPeer
    }

    pub(super) fn write(&self, bits: &mut BitWriter) {
        bits.write(self.topology as u64, 2);
        let (turns, delay_ticks) = match self.turns {
            Turns::Fixed { delay_ticks } => (0, delay_ticks),
            Turns::Ahead => (1, 0),
            Turns::Adaptive => (2, 0),
        };
        bits.write(turns, 2);
        bits.write(u64::from(delay_ticks), 8);
        bits.write(u64::from(self.rollback_ticks), 8);
        bits.write(self.tick_length.as_micros(), 16);
        bits.write(u64::from(self.players), 4);
        bits.write(self.seed, 64);
        bits.write(self.patience.as_micros() / 1000, 16);
        bits.write_bool(self.needs_quorum);
    }

    pub(super) fn read(bits: &mut BitReader<'_>) -> Self {
        let topology = match bits.read(2) {
            0 => Topology::PeerToPeer,
            1 => Topology::WaitingServer,
            _ => Topology::PacketServer,
        };
        let (turns, delay_ticks) = (bits.read(2), bits.read(8) as u8);
        let turns = match turns {
            0 => Turns::Fixed { delay_ticks },
            1 => Turns::Ahead,
            _ => Turns::Adaptive,
        };
        let setup = Self {
            topology,
            turns,
            rollback_ticks: bits.read(8) as u8,
            tick_length: Span::micros(bits.read(16)),
            players: bits.read(4) as u8,
            seed: bits.read(64),
            patience: Span::millis(bits.read(16)),
            needs_quorum: bits.read_bool(),
        };
        if !setup.is_lawful() {
            bits.fail();
        }
        setup
    }
}

/// Sooner than a leader is replaced nobody is given up.
const PATIENCE_MIN: Span = super::SILENCE;
const PATIENCE_MAX: Span = Span::seconds(60);
