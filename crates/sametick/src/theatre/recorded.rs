//! What is kept of a scene: every pane of every tick, every packet, every shot; and what can be measured of it.

use super::{Hand, PLAYERS_MAX};
use crate::config::rates::Rates;
use crate::core::entity::EntityId;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::lockstep;
use crate::schema::record::mix;
use crate::sim::view::View;
use std::ops::Range;

/// What the channel counts with each packet for IP and UDP, whose headers a simulated line does not have.
pub const HEADERS_BYTES: u64 = 28;
/// How far back [`Recorded::age`] looks for what a screen shows.
const AGE_MAX: Span = Span::millis(700);
/// Who has moved less meanwhile stands, and what is shown of it has no age.
const STANDING_METRES: f32 = 0.05;

/// One player's line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// There and back.
    pub ping: Span,
    /// How much longer a packet takes at most, each way.
    pub jitter: Span,
    /// The share of packets that are lost, each way.
    pub loss: f64,
    /// When nothing reaches the player, by the scene's own time.
    pub silent: Option<(Span, Span)>,
    /// When the line is as it is said here, by the scene's own time; else it takes [`GOOD_PING`] and does nothing else.
    pub bad: Option<(Span, Span)>,
}

/// What a line takes there and back while it is not [bad](Wire::bad).
pub const GOOD_PING: Span = Span::millis(30);

impl Wire {
    /// A line that takes so long and does nothing else.
    pub const fn of(ping: Span) -> Self {
        Self { ping, jitter: Span::ZERO, loss: 0.0, silent: None, bad: None }
    }
}

/// All that a run is made of, besides the game's own part.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Of the world and of the lines.
    pub seed: u64,
    /// What the server does.
    pub rates: Rates,
    /// How all players see the world.
    pub view: View,
    /// One for each player.
    pub wires: Vec<Wire>,
    /// When the scene begins: until then players join, and their clocks find the server's.
    pub begins: Span,
    /// For how long it is kept.
    pub length: Span,
    /// What a reader who has taken A's keys asks for.
    pub hand: Hand,
    /// Without a server, in lockstep: how. Of the rates only the tick's length counts then, and of the view nothing.
    pub lockstep: Option<lockstep::Setup>,
}

/// What a shape is, for whoever draws it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShapeKind {
    /// Somebody.
    #[default]
    Person,
    /// Something that flies or lies about.
    Thing,
    /// Something that has just burst.
    Burst,
}

/// Something to be drawn. Metres and radians; z points up, and facing turns left from +x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The same in all panes, once the server has named it.
    pub id: EntityId,
    /// What it is.
    pub kind: ShapeKind,
    /// Whose it is.
    pub owner: Option<PlayerId>,
    /// The middle of its lower side.
    pub place: [f32; 3],
    /// Half its width, and its height.
    pub size: [f32; 2],
    /// Which way it looks.
    pub facing: f32,
    /// And how far up.
    pub pitch: f32,
    /// Whether it is alive, or whole.
    pub is_alive: bool,
    /// Under event locking: whether only this player's screen has it so, in the hope that the server will agree. Said
    /// by the theatre, not by the game.
    pub is_unofficial: bool,
}

/// What one screen, or the server, has at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pane {
    /// Its shapes, among those of the recording.
    pub shapes: Range<usize>,
    /// Of the whole world that it is drawn from.
    pub hash: u64,
    /// That world's tick.
    pub tick: Tick,
    /// By how many milliseconds its commands were early at the server, as the server last told it.
    pub margin_ms: Option<f64>,
    /// How far its own entities were put right since the frame before, as the game measures distance.
    pub correction: f32,
    /// How many ticks it has stepped again so far because a snapshot had come.
    pub repredicted: u64,
    /// In lockstep: for whose commands it waits.
    pub awaits: Vec<PlayerId>,
    /// In lockstep: how many ticks after it is given a command takes effect.
    pub delay_ticks: u32,
    /// In lockstep: how many of its commands so far came too late and were replaced by the last one before.
    pub replaced: u64,
}

/// One tick of the server, and what everyone had on the screen then.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Since the scene began.
    pub at: Span,
    /// The server's tick.
    pub tick: Tick,
    /// The server's pane, then one for each player.
    pub panes: Vec<Pane>,
}

/// What a packet was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cargo {
    /// Commands, up to this tick of the player's own time.
    Commands(Tick),
    /// A snapshot of this tick, or what happened in it.
    Snapshot(Tick),
    /// Acknowledgements and the like.
    Upkeep,
}

/// One datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whose line it took.
    pub player: PlayerId,
    /// Towards the server, or from it.
    pub is_up: bool,
    /// In lockstep: to which player, if not to the others in the middle.
    pub to: Option<PlayerId>,
    /// When it was sent, on the clock of the run.
    pub sent: Time,
    /// When it arrived, if it did.
    pub arrived: Option<Time>,
    /// Its length.
    pub bytes: u32,
    /// What it was for.
    pub cargo: Cargo,
}

/// A shot, and what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// The frame in which it was judged.
    pub frame: usize,
    /// Who fired.
    pub by: PlayerId,
    /// What it hit on its shooter's screen.
    pub seen: Option<EntityId>,
    /// What it would have hit in the present.
    pub present: Option<EntityId>,
    /// What it hit after all.
    pub hit: Option<EntityId>,
    /// How far back the server looked.
    pub rewound: Span,
    /// Where it began and where it ended, if the game says so.
    pub line: Option<[[f32; 3]; 2]>,
}

/// What a line has carried while the scene was kept, by its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Packets that were sent.
    pub packets: u64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Packets that were lost.
    pub lost: u64,
}

/// A scene that was played.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// When the scene began, on the clock of the run.
    pub begins: Time,
    /// How long a tick is.
    pub tick_length: Span,
    /// In order.
    pub frames: Vec<Frame>,
    /// All shapes of all panes.
    pub shapes: Vec<Shape>,
    /// In the order in which they were sent.
    pub packets: Vec<Packet>,
    /// In order.
    pub shots: Vec<Shot>,
    /// By player: what the lines counted, up and down.
    pub sums: Vec<[Sum; 2]>,
    /// By player: what both ends of its connection counted as sent, up and down, with the [`HEADERS_BYTES`] that each
    /// packet has below.
    pub channel: Vec<[Sum; 2]>,
}

impl Recorded {
    /// In lockstep: for whom most wait in a frame, if anyone waits.
    pub fn awaited(&self, frame: usize) -> Option<PlayerId> {
        let panes = self.frames.get(frame).map(|frame| &frame.panes[..]).unwrap_or_default();
        let mut votes = [0; PLAYERS_MAX];
        for player in panes.iter().flat_map(|pane| &pane.awaits) {
            votes.get_mut(usize::from(player.0)).into_iter().for_each(|votes| *votes += 1);
        }
        let (most, votes) = (0..).zip(votes).max_by_key(|(player, votes)| (*votes, -*player))?;
        (votes > 0).then_some(PlayerId(most as u16))
    }

    /// For how long a pane stood still at most.
    pub fn stood(&self, pane: usize) -> Span {
        let (mut since, mut longest) = (Span::ZERO, Span::ZERO);
        let tick = |number: usize| self.frames[number].panes.get(pane).map(|pane| pane.tick);
        for number in 1..self.frames.len() {
            if tick(number) != tick(number - 1) {
                longest = longest.max(self.frames[number].at - since);
                since = self.frames[number].at;
            }
        }
        longest
    }

    /// The shapes of a pane; the server's is the first.
    pub fn shapes(&self, frame: usize, pane: usize) -> &[Shape] {
        let pane = self.frames.get(frame).and_then(|frame| frame.panes.get(pane));
        pane.and_then(|pane| self.shapes.get(pane.shapes.clone())).unwrap_or_default()
    }

    /// A player's body in a pane.
    pub fn person(&self, frame: usize, pane: usize, player: PlayerId) -> Option<&Shape> {
        let is_theirs =
            |shape: &&Shape| shape.kind == ShapeKind::Person && shape.owner == Some(player);
        self.shapes(frame, pane).iter().find(is_theirs)
    }

    /// The frame that is on screen so long after the scene began.
    pub fn frame_at(&self, at: Span) -> usize {
        self.frames.partition_point(|frame| frame.at <= at).saturating_sub(1)
    }

    /// How far from where the server has them now a pane shows its players; of others the farthest, or its own.
    pub fn error(&self, frame: usize, pane: usize, is_own: bool) -> f32 {
        let own = pane.checked_sub(1).map(|player| PlayerId(player as u16));
        let people = self.shapes(frame, pane).iter();
        let people = people.filter(|shape| shape.kind == ShapeKind::Person);
        people
            .filter(|shape| (shape.owner == own) == is_own)
            .filter_map(|shape| {
                let truth = self.person(frame, 0, shape.owner?)?;
                Some(distance(shape.place, truth.place))
            })
            .fold(0.0, f32::max)
    }

    /// How long ago the server had a player where this pane shows it: measured on the way that it took. None if it
    /// stood, for then any moment is as good as another.
    pub fn age(&self, frame: usize, pane: usize, player: PlayerId) -> Option<Span> {
        let shown = self.person(frame, pane, player)?.place;
        let now = self.frames.get(frame)?.at;
        let mut best: Option<(f32, Span)> = None;
        let (mut walked, mut later) = (0.0, self.person(frame, 0, player)?.place);
        for back in (0..frame).rev() {
            let at = self.frames[back].at;
            if now - at > AGE_MAX {
                break;
            }
            let Some(place) = self.person(back, 0, player).map(|shape| shape.place) else { break };
            let step = distance(place, later);
            walked += step;
            let share = share_between(place, later, shown);
            let nearest = [0, 1, 2].map(|axis| place[axis] + (later[axis] - place[axis]) * share);
            let off = distance(nearest, shown);
            let span = (self.frames[back + 1].at - at).as_micros() as f64 * f64::from(share);
            let age = (now - at).as_micros() as f64 - span;
            // Of places passed twice, the later passage.
            if best.is_none_or(|(least, _)| off < least - 0.001) {
                best = Some((off, Span::from_micros_f64(age.max(0.0))));
            }
            later = place;
        }
        best.filter(|_| walked > STANDING_METRES).map(|(_, age)| age)
    }

    /// Where the server had a player so long before a frame, between two ticks.
    pub fn past_place(&self, frame: usize, back: Span, player: PlayerId) -> Option<[f32; 3]> {
        let now = self.frames.get(frame)?.at;
        let wanted = Span::micros(now.as_micros().saturating_sub(back.as_micros()));
        let before = self.frame_at(wanted);
        let from = self.person(before, 0, player)?.place;
        let Some(to) = self.person(before + 1, 0, player).map(|shape| shape.place) else {
            return Some(from);
        };
        let length = (self.frames[before + 1].at - self.frames[before].at).as_micros() as f32;
        let passed = wanted.as_micros() as f32 - self.frames[before].at.as_micros() as f32;
        let share = (passed / length).clamp(0.0, 1.0);
        Some([0, 1, 2].map(|axis| from[axis] + (to[axis] - from[axis]) * share))
    }

    /// A number for everything that everyone saw and that went over the lines: two runs with the same number were
    /// the same.
    pub fn trace(&self) -> u64 {
        let mut hash = 0;
        let mut add = |word: u64| hash = mix(mix(hash, word as u32), (word >> 32) as u32);
        for frame in &self.frames {
            frame.panes.iter().for_each(|pane| add(pane.hash));
        }
        for packet in &self.packets {
            add(packet.sent.as_micros());
            add(packet.arrived.map_or(0, Time::as_micros));
            add(u64::from(packet.bytes));
        }
        for shot in &self.shots {
            add(shot.rewound.as_micros() << 1 | u64::from(shot.hit.is_some()));
        }
        hash
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    [0, 1, 2].map(|axis| (a[axis] - b[axis]) * (a[axis] - b[axis])).iter().sum::<f32>().sqrt()
}

/// Where on the way from one place to the other a third is nearest: 0 is at the first.
fn share_between(from: [f32; 3], to: [f32; 3], place: [f32; 3]) -> f32 {
    let dot =
        |a: [f32; 3], b: [f32; 3]| [0, 1, 2].map(|axis| a[axis] * b[axis]).iter().sum::<f32>();
    let minus = |a: [f32; 3], b: [f32; 3]| [0, 1, 2].map(|axis| a[axis] - b[axis]);
    let way = minus(to, from);
    let square = dot(way, way);
    if square > 0.0 { (dot(minus(place, from), way) / square).clamp(0.0, 1.0) } else { 1.0 }
}
