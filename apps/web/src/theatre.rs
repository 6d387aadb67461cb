//! The theatre page's own half: what a link asks for, the run that answers it, and both as numbers and words for
//! whoever draws. Knows no browser.

mod link;
#[cfg(target_arch = "wasm32")]
mod stage;

pub(crate) use link::Wanted;
#[cfg(target_arch = "wasm32")]
pub use stage::Theatre;

use sametick::theatre::{Cargo, Recorded, ShapeKind, run};
use sametick::{Model, PlayerId};
use sametick_arena::theatre::{Moment, Staged};
use std::fmt::Write;

/// A scene that was played as a link asks for it.
pub(crate) struct Performance {
    pub(crate) wanted: Wanted,
    pub(crate) scene: Staged,
    pub(crate) recorded: Recorded,
    pub(crate) moment: Option<Moment>,
}

impl Performance {
    pub(crate) fn of(wanted: Wanted) -> Self {
        let scene = wanted.scene();
        let recorded = run(&scene, &wanted.setup(&scene));
        let moment = scene.moment(&recorded);
        Self { wanted, scene, recorded, moment }
    }

    /// Every frame: its second, its tick, and of each pane its count of shapes, its tick, its margin and its
    /// correction, the age of the other, the error of the other and of its own, and whether the other is in sight; then
    /// the shapes.
    pub(crate) fn frames(&self) -> Vec<f32> {
        let recorded = &self.recorded;
        let mut numbers = Vec::new();
        for (number, frame) in recorded.frames.iter().enumerate() {
            numbers.extend([frame.at.as_seconds_f64() as f32, frame.tick.0 as f32]);
            for (index, pane) in frame.panes.iter().enumerate() {
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
                        f32::from(u8::from(shape.is_alive)),
                        shape.size[0],
                        shape.size[1],
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
            1 => self.scene.sees(&self.recorded, frame, pane, players),
            2 => self.scene.sees(&self.recorded, frame, pane, [players[1], players[0]]),
            _ => false,
        }
    }

    /// Every packet: whose line, up or down, sent and arrived (never is below zero), bytes, what for, which tick.
    pub(crate) fn packets(&self) -> Vec<f32> {
        let since = |time: sametick::Time| {
            (time.as_seconds_f64() - self.recorded.begins.as_seconds_f64()) as f32
        };
        let numbers = self.recorded.packets.iter().flat_map(|packet| {
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
            ]
        });
        numbers.collect()
    }

    /// All else, as JSON.
    pub(crate) fn words(&self) -> String {
        let (scene, recorded, wanted) = (&self.scene, &self.recorded, &self.wanted);
        let mut text = String::from("{");
        let _ = write!(
            text,
            "\"scene\":{},\"title\":{},\"sentences\":[{},{}],\"seconds\":{},\"focus\":{:?},\"trace\":\"{:016x}\"",
            quoted(scene.key),
            quoted(scene.title),
            quoted(scene.sentences[0]),
            quoted(scene.sentences[1]),
            scene.seconds,
            scene.focus,
            recorded.trace()
        );
        let blocks = scene.blocks.iter().map(|block| {
            let ([a, b, c], [x, y, z]) = (block.low, block.high);
            format!("[{a},{b},{c},{x},{y},{z}]")
        });
        let _ = write!(text, ",\"blocks\":[{}]", blocks.collect::<Vec<_>>().join(","));
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
        let _ = write!(text, ",\"shots\":[{}]", shots.collect::<Vec<_>>().join(","));
        match &self.moment {
            Some(moment) => {
                let _ = write!(
                    text,
                    ",\"moment\":{{\"frame\":{},\"caption\":{}}}",
                    moment.frame,
                    quoted(&moment.caption)
                );
            }
            None => text.push_str(",\"moment\":null"),
        }
        let lines = wanted.lines.iter().map(|line| {
            let [ping, jitter, loss] = [line.ping, line.jitter, line.loss];
            format!("{{\"ping\":{ping},\"jitter\":{jitter},\"loss\":{loss}}}")
        });
        let scenes = Staged::all();
        let scenes =
            scenes.iter().map(|scene| format!("[{},{}]", quoted(scene.key), quoted(scene.title)));
        let models = Model::ALL.iter().map(|model| quoted(model.name));
        let _ = write!(
            text,
            ",\"lines\":[{}],\"model\":{},\"ticks\":{},\"snapshots\":{},\"sight\":{},\"silent\":{},\
             \"scenes\":[{}],\"models\":[{}],\"link\":{}}}",
            lines.collect::<Vec<_>>().join(","),
            quoted(wanted.model.name),
            wanted.ticks,
            wanted.snapshots,
            wanted.sight,
            scene.silent.map_or("null".into(), |silent| format!("{silent:?}")),
            scenes.collect::<Vec<_>>().join(","),
            models.collect::<Vec<_>>().join(","),
            quoted(&wanted.link())
        );
        text
    }

    /// What everyone had at one frame: the state hashes of all panes.
    pub(crate) fn hash(&self, frame: usize) -> String {
        let panes = self.recorded.frames.get(frame).map(|frame| &frame.panes[..]);
        let panes = panes.unwrap_or_default().iter();
        panes.map(|pane| format!("{:016x}", pane.hash)).collect::<Vec<_>>().join(" ")
    }
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
        assert_eq!(played.packets().len(), 7 * played.recorded.packets.len());
        let panes = 3 * played.recorded.frames.len();
        let most = 2 * played.recorded.frames.len() + 8 * panes + 10 * played.recorded.shapes.len();
        assert_eq!(played.frames().len(), most);
    }
}
