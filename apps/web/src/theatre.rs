//! The theatre page's own half: what a link asks for, the run that answers it, and both as numbers and words for
//! whoever draws. Knows no browser.

mod link;
mod repertoire;
#[cfg(target_arch = "wasm32")]
mod stage;

pub(crate) use link::Wanted;
#[cfg(target_arch = "wasm32")]
pub use stage::Theatre;

use repertoire::{GAMES, Live, Staging, scenes};
use sametick::theatre::{Cargo, HEADERS_BYTES, Keys, Moment, Poster, Recorded, ShapeKind};
use sametick::{PlayerId, Span};
use std::fmt::Write;

/// The first pane, A's and B's.
const PANES: usize = 3;

/// A scene that was played as a link asks for it.
pub(crate) struct Performance {
    pub(crate) wanted: Wanted,
    scene: Box<dyn Staging>,
    poster: Poster,
    recorded: Recorded,
    moment: Option<Moment>,
    /// Played in its place, by a reader who has A's keys.
    live: Option<Box<dyn Live>>,
}

impl Performance {
    pub(crate) fn of(wanted: Wanted) -> Self {
        let scene = wanted.scene();
        let (poster, recorded) = (scene.poster(), scene.run(&wanted.setup()));
        let moment = scene.moment(&recorded);
        Self { wanted, scene, poster, recorded, moment, live: None }
    }

    /// What is to be seen.
    pub(crate) fn recorded(&self) -> &Recorded {
        self.live.as_ref().map_or(&self.recorded, |live| live.recorded())
    }

    /// The reader takes A's keys: the scene is played again up to there, and goes on when told.
    pub(crate) fn take(&mut self, at: Span) {
        let mut setup = self.wanted.setup();
        setup.hand = setup.hand.before(at);
        let keys = setup.hand.at(Span::MAX);
        let mut live = self.scene.start(setup);
        // Until here as it was; whoever takes the keys has pressed none yet.
        live.go_on(at, keys.unwrap_or_default());
        live.go_on(at, Keys::default());
        self.live = Some(live);
    }

    /// Plays on with these keys down.
    pub(crate) fn go_on(&mut self, until: Span, keys: Keys) {
        if let Some(live) = &mut self.live {
            live.go_on(until, keys);
        }
    }

    /// All keys that the reader has pressed, as a link has them.
    pub(crate) fn hand(&self) -> String {
        self.live.as_ref().map_or_else(String::new, |live| live.hand().to_string())
    }

    /// Every frame: its second, its tick, and of the first three panes each its count of shapes, its tick, its margin
    /// and its correction, the age of the other, the error of the other and of its own, whether the other is in sight,
    /// how long commands wait in lockstep, and how many ticks were stepped again so far; then the shapes.
    pub(crate) fn frames(&self, from: usize) -> Vec<f32> {
        let recorded = self.recorded();
        let mut numbers = Vec::new();
        for (number, frame) in recorded.frames.iter().enumerate().skip(from) {
            numbers.extend([frame.at.as_seconds_f64() as f32, frame.tick.0 as f32]);
            for (index, pane) in frame.panes.iter().take(PANES).enumerate() {
                let other = PlayerId(u16::from(index == 1));
                let age = recorded.age(number, index, other).filter(|_| index > 0);
                numbers.extend([
                    pane.shapes.len() as f32,
                    pane.tick.0 as f32,
                    pane.margin_ms.map_or(f32::NAN, |margin| margin as f32),
                    pane.correction,
                    age.map_or(f32::NAN, |age| age.as_millis_f64() as f32),
                    if index == 0 { 0.0 } else { recorded.error(number, index, false) },
                    if index == 0 { 0.0 } else { recorded.error(number, index, true) },
                    f32::from(u8::from(self.sees(number, index))),
                    pane.delay_ticks as f32 * recorded.tick_length.as_millis_f64() as f32,
                    pane.repredicted as f32,
                ]);
                for shape in recorded.shapes(number, index) {
                    let kind = match shape.kind {
                        ShapeKind::Person => 0.0,
                        ShapeKind::Thing => 1.0,
                        ShapeKind::Burst => 2.0,
                    };
                    numbers.extend([
                        shape.id.slot() as f32,
                        kind,
                        shape.owner.map_or(-1.0, |owner| f32::from(owner.0)),
                        shape.place[0],
                        shape.place[1],
                        shape.place[2],
                        shape.facing,
                        shape.pitch,
                        f32::from(u8::from(shape.is_alive)),
                        shape.size[0],
                        shape.size[1],
                        f32::from(u8::from(shape.is_unofficial)),
                    ]);
                }
            }
        }
        numbers
    }

    /// Whether a player's own screen shows the other with nothing between.
    fn sees(&self, frame: usize, pane: usize) -> bool {
        let players = [PlayerId(0), PlayerId(1)];
        match pane {
            1 => self.scene.sees(self.recorded(), frame, pane, players),
            2 => self.scene.sees(self.recorded(), frame, pane, [players[1], players[0]]),
            _ => false,
        }
    }

    /// Every packet: whose line, up or down, sent and arrived (never is below zero), bytes, what for, which
    /// tick, and straight to which player (else below zero).
    pub(crate) fn packets(&self, from: usize) -> Vec<f32> {
        let recorded = self.recorded();
        let since = |time: sametick::Time| {
            (time.as_seconds_f64() - recorded.begins.as_seconds_f64()) as f32
        };
        let numbers = recorded.packets.iter().skip(from).flat_map(|packet| {
            let (cargo, tick) = match packet.cargo {
                Cargo::Upkeep => (0.0, 0.0),
                Cargo::Commands(tick) => (1.0, tick.0 as f32),
                Cargo::Snapshot(tick) => (2.0, tick.0 as f32),
            };
            [
                f32::from(packet.player.0),
                f32::from(u8::from(packet.is_up)),
                since(packet.sent),
                packet.arrived.map_or(-1.0, since),
                packet.bytes as f32,
                cargo,
                tick,
                packet.to.map_or(-1.0, |player| f32::from(player.0)),
            ]
        });
        numbers.collect()
    }

    /// All shots, as JSON.
    pub(crate) fn shots(&self) -> String {
        let recorded = self.recorded();
        let shots = recorded.shots.iter().map(|shot| {
            let target = PlayerId(u16::from(shot.by == PlayerId(0)));
            let past = recorded.past_place(shot.frame, shot.rewound, target);
            let is_rewound = shot.rewound.as_micros() > 0;
            format!(
                "{{\"frame\":{},\"by\":{},\"seen\":{},\"hit\":{},\"back\":{},\"past\":{},\"line\":{}}}",
                shot.frame,
                shot.by.0,
                shot.seen.is_some(),
                shot.hit.is_some(),
                shot.rewound.as_millis_f64(),
                past.filter(|_| is_rewound).map_or("null".into(), |place| format!("{place:?}")),
                shot.line.map_or("null".into(), |line| format!("{line:?}")),
            )
        });
        format!("[{}]", shots.collect::<Vec<_>>().join(","))
    }

    /// In lockstep: from which second to which whom is waited for, and by whom if it is only one, as JSON.
    fn waits(&self) -> String {
        let recorded = self.recorded();
        let mut waits: Vec<(f64, f64, u16, i32)> = Vec::new();
        let tick = recorded.tick_length.as_seconds_f64();
        for (number, frame) in recorded.frames.iter().enumerate() {
            let Some(player) = recorded.awaited(number) else { continue };
            let waiting = (-1..).zip(&frame.panes).filter(|(_, pane)| !pane.awaits.is_empty());
            let waiting: Vec<i32> = waiting.map(|(who, _)| who).collect();
            let by = if let [one] = waiting[..] { one } else { -1 };
            let (at, end) = (frame.at.as_seconds_f64(), frame.at.as_seconds_f64() + tick);
            match waits.last_mut() {
                Some(last) if (last.2, last.3) == (player.0, by) && at - last.1 < tick => {
                    last.1 = end;
                }
                _ => waits.push((at, end, player.0, by)),
            }
        }
        list(waits.into_iter().map(|(from, to, of, by)| format!("[{from:.3},{to:.3},{of},{by}]")))
    }

    /// What is neither frame nor packet, as JSON.
    pub(crate) fn words(&self) -> String {
        let (poster, recorded, wanted) = (&self.poster, self.recorded(), &self.wanted);
        let mut text = String::from("{");
        let mut add = |name: &str, value: String| {
            let comma = if text.len() > 1 { "," } else { "" };
            // Writing into a string cannot fail.
            let _ = write!(text, "{comma}\"{name}\":{value}");
        };
        add("game", quoted(wanted.game));
        add("scene", quoted(poster.key));
        add("title", quoted(poster.title));
        add("sentences", list(poster.sentences.map(quoted)));
        add("seconds", poster.seconds.to_string());
        add("focus", format!("{:?}", poster.focus));
        add("fairness", poster.has_fairness.to_string());
        add("blocks", list(poster.blocks.iter().map(|block| format!("{:?}", block.concat()))));
        let silent = poster.silent.filter(|_| wanted.silent);
        add("silent", silent.map_or("null".into(), |silent| format!("{silent:?}")));
        add("trace", format!("\"{:016x}\"", recorded.trace()));
        add("shots", self.shots());
        let moment = self.moment.as_ref().map(|moment| {
            format!("{{\"frame\":{},\"caption\":{}}}", moment.frame, quoted(&moment.caption))
        });
        add("moment", moment.unwrap_or("null".into()));
        // What the lines have counted, up and down, and what the players' own ends have.
        let sums = recorded.sums.iter().map(|ways| {
            list(ways.map(|sum| format!("[{},{},{}]", sum.packets, sum.bytes, sum.lost)))
        });
        add("sums", list(sums));
        let ends = recorded.channel.iter().map(|ways| {
            list(ways.map(|sum| {
                format!("[{},{}]", sum.packets, sum.bytes - HEADERS_BYTES * sum.packets)
            }))
        });
        add("ends", list(ends));
        add("model", quoted(wanted.model()));
        add("lockstep", wanted.setup().lockstep.is_some().to_string());
        add("waits", self.waits());
        add("ticks", wanted.ticks.to_string());
        add("snapshots", wanted.snapshots.to_string());
        add("sight", wanted.sight.to_string());
        let lines = wanted.lines.map(|line| {
            let [ping, jitter, loss] = [line.ping, line.jitter, line.loss];
            format!("{{\"ping\":{ping},\"jitter\":{jitter},\"loss\":{loss}}}")
        });
        add("lines", list(lines));
        add("hand", quoted(&wanted.hand.to_string()));
        add("link", quoted(&wanted.link()));
        let scenes = scenes(wanted.game).into_iter().map(|scene| {
            let poster = scene.poster();
            format!("[{},{}]", quoted(poster.key), quoted(poster.title))
        });
        add("scenes", list(scenes));
        add("games", list(GAMES.map(quoted)));
        add("models", list(self.scene.models().into_iter().map(quoted)));
        text + "}"
    }

    /// What everyone had at one frame: the state hashes of all panes.
    pub(crate) fn hash(&self, frame: usize) -> String {
        let panes = self.recorded().frames.get(frame).map(|frame| &frame.panes[..]);
        let panes = panes.unwrap_or_default().iter();
        panes.map(|pane| format!("{:016x}", pane.hash)).collect::<Vec<_>>().join(" ")
    }
}

fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_the_identical_frame() {
        let wanted = Wanted::read("?scene=cover&a.ping=120&b.loss=2");
        let first = Performance::of(wanted.clone());
        let again = Performance::of(Wanted::read(&wanted.link()));
        assert_eq!(first.recorded.trace(), again.recorded.trace());
        // To a moment, away and back is the same lookup.
        let [there, away] = [300, 20].map(|frame| first.hash(frame));
        assert_eq!((first.hash(300), again.hash(300)), (there.clone(), there.clone()));
        assert_ne!(there, away);
        let other = Performance::of(Wanted::read("?scene=cover&a.ping=121&b.loss=2"));
        assert_ne!(other.recorded.trace(), first.recorded.trace());
    }

    #[test]
    fn what_is_said_is_sound_and_numbers_are_all_there() {
        let played = Performance::of(Wanted::read("?scene=tree"));
        let words = played.words();
        assert!(words.contains(r#"switch on \"clear line now\""#), "{words}");
        assert_eq!(words.matches('{').count(), words.matches('}').count());
        assert_eq!(played.packets(0).len(), 8 * played.recorded.packets.len());
        let panes = 3 * played.recorded.frames.len();
        let most =
            2 * played.recorded.frames.len() + 10 * panes + 12 * played.recorded.shapes.len();
        assert_eq!(played.frames(0).len(), most);
    }

    #[test]
    fn one_bad_line_has_four_players_three_panes_and_says_who_is_awaited() {
        let played = Performance::of(Wanted::read("?scene=line"));
        let words = played.words();
        assert!(words.contains(r#""model":"doom1993""#) && words.contains(r#""lockstep":true"#));
        assert!(words.contains(r#""waits":[["#) && words.contains(",1,-1]"), "{words}");
        let shapes = played.recorded.frames.iter().flat_map(|frame| &frame.panes[..PANES]);
        let shapes: usize = shapes.map(|pane| pane.shapes.len()).sum();
        let frames = played.recorded.frames.len();
        assert_eq!(shapes, 4 * PANES * frames);
        assert_eq!(played.frames(0).len(), (2 + 10 * PANES) * frames + 12 * shapes);
        let relayed = Performance::of(Wanted::read("?scene=line&model=packet_server"));
        assert_ne!(relayed.recorded.trace(), played.recorded.trace());
    }

    #[test]
    fn the_bridge_marks_what_is_unofficial_and_is_played_in_lockstep_beside() {
        let played = Performance::of(Wanted::read("?game=islands"));
        let words = played.words();
        assert!(words.contains(r#""model":"netstorm""#) && words.contains(r#""lockstep":false"#));
        assert!(words.contains(r#""models":["netstorm","doom1993","#), "{words}");
        assert!(played.recorded.shapes.iter().any(|shape| shape.is_unofficial));
        assert!(played.moment.is_some());
        let beside = Performance::of(Wanted::read("?game=islands&model=doom1993"));
        assert!(beside.words().contains(r#""lockstep":true"#) && beside.moment.is_some());
        assert_eq!(beside.recorded.tick_length, played.recorded.tick_length);
        assert!(!beside.recorded.shapes.iter().any(|shape| shape.is_unofficial));
    }

    #[test]
    fn who_takes_the_keys_in_lockstep_plays_what_its_link_plays_again() {
        let mut played = Performance::of(Wanted::read("?scene=line&model=rollback"));
        played.take(Span::millis(2000));
        played.go_on(Span::millis(2600), Keys { north: 1, ..Keys::default() });
        let last = played.recorded().frames.len() - 1;
        let link = format!("scene=line&model=rollback&hand={}", played.hand());
        let again = Performance::of(Wanted::read(&link));
        assert_eq!(again.hash(last), played.hash(last));
        let by_itself = Performance::of(Wanted::read("?scene=line&model=rollback"));
        assert_ne!(by_itself.hash(last), again.hash(last));
    }

    #[test]
    fn who_takes_the_keys_plays_what_its_link_plays_again() {
        let mut played = Performance::of(Wanted::read("?scene=step&a.ping=90"));
        let before = played.hash(100);
        played.take(Span::millis(2000));
        assert_eq!(played.hash(100), before, "up to there all is as it was");
        for (until, keys) in [
            (2300, Keys { east: 1, ..Keys::default() }),
            (2500, Keys { north: 1, ..Keys::default() }),
            (3100, Keys { east: -1, north: -1, fire: true }),
        ] {
            played.go_on(Span::millis(until), keys);
        }
        let last = played.recorded().frames.len() - 1;
        let link = format!("scene=step&a.ping=90&hand={}", played.hand());
        let again = Performance::of(Wanted::read(&link));
        assert_eq!(again.wanted.link(), link);
        assert_eq!(again.hash(last), played.hash(last));
        assert_ne!(
            Performance::of(Wanted::read("?scene=step&a.ping=90")).hash(last),
            again.hash(last)
        );
    }
}
