//! What a player has chosen: remembered in the browser and set by the page's address, both as `name=value&…`. What
//! nobody knows is reported, never ignored.

use crate::conditions::{LOSS_PERCENT_MAX, Wanted};
use crate::input::{Action, Bindings};
use sametick::{Model, Others, View};

/// The shape in the middle of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Crosshair {
    /// Four strokes.
    #[default]
    Cross,
    /// A dot.
    Dot,
    /// A ring.
    Circle,
    /// Nothing.
    None,
}

/// How much of the net graph is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Graph {
    /// Nothing.
    #[default]
    Off,
    /// One line of numbers.
    Line,
    /// All of it.
    Full,
}

impl Crosshair {
    /// All of them by name.
    pub(crate) const ALL: [(&str, Self); 4] = [
        ("cross", Self::Cross),
        ("dot", Self::Dot),
        ("circle", Self::Circle),
        ("none", Self::None),
    ];
}

impl Graph {
    /// All of them by name.
    pub(crate) const ALL: [(&str, Self); 3] =
        [("off", Self::Off), ("line", Self::Line), ("full", Self::Full)];

    /// What follows when its key is pressed.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Off => Self::Line,
            Self::Line => Self::Full,
            Self::Full => Self::Off,
        }
    }
}

/// All that can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// What one is called.
    pub(crate) name: String,
    /// Degrees a hundred dots of the mouse turn one by.
    pub(crate) sensitivity: f32,
    /// Whether the mouse looks up when it is pulled.
    pub(crate) is_inverted: bool,
    /// Degrees from left to right.
    pub(crate) field_of_view: f32,
    /// In the middle.
    pub(crate) crosshair: Crosshair,
    /// From 0 to 1.
    pub(crate) volume: f32,
    /// How much of the graph.
    pub(crate) graph: Graph,
    /// Which key does what.
    pub(crate) bindings: Bindings,
    /// One's own line.
    pub(crate) wanted: Wanted,
    /// How the others are seen: a way or a model by name.
    pub(crate) view: String,
    /// Which road: `any`, `webtransport` or `websocket`.
    pub(crate) link: String,
    /// Whether the server's truth is drawn over what is shown.
    pub(crate) ghosts: bool,
    /// Whether shadows are smooth.
    pub(crate) is_fine: bool,
    /// Where the match is: `any` asks for a server and plays in the page if there is none; `page` never asks.
    pub(crate) server: String,
    /// Whether one only watches.
    pub(crate) watches: bool,
    /// Which map is played in the page.
    pub(crate) map: String,
    /// With how many bots.
    pub(crate) bots: usize,
    /// Whether this is a participant's page in an experiment.
    pub(crate) is_lab: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            sensitivity: 6.0,
            is_inverted: false,
            field_of_view: 95.0,
            crosshair: Crosshair::default(),
            volume: 0.6,
            graph: Graph::default(),
            bindings: Bindings::default(),
            wanted: Wanted::default(),
            view: "interpolate".into(),
            link: "any".into(),
            ghosts: false,
            is_fine: true,
            server: "any".into(),
            watches: false,
            map: "corners".into(),
            bots: 5,
            is_lab: false,
        }
    }
}

/// The longest name=value list that is read.
const TEXT_BYTES_MAX: usize = 8192;
/// The ways of seeing others, as the panel has them.
pub(crate) const VIEWS: [&str; 4] = ["latest", "extrapolate", "interpolate", "predict"];

impl Settings {
    /// Takes what a list says; what is wrong with it, a sentence each.
    pub(crate) fn read(&mut self, list: &str) -> Vec<String> {
        let list = list.trim_start_matches('?');
        if list.len() > TEXT_BYTES_MAX {
            return vec!["The address is too long to be read.".into()];
        }
        let mut wrong = Vec::new();
        for part in list.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decoded(name), decoded(value));
            if let Err(problem) = self.set(&name, &value) {
                wrong.push(problem);
            }
        }
        wrong
    }

    /// Sets one of them by name.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |low: f64, high: f64| {
            let number = value.parse::<f64>().ok().filter(|number| (low..=high).contains(number));
            number.ok_or_else(|| {
                format!("“{name}” should be a number from {low} to {high}, not “{value}”.")
            })
        };
        let one_of = |names: &[&str]| {
            if names.contains(&value) {
                Ok(value.to_owned())
            } else {
                Err(format!("“{name}” should be one of {}, not “{value}”.", names.join(", ")))
            }
        };
        match name {
            "name" => self.name = value.chars().take(16).collect(),
            "sensitivity" => self.sensitivity = number(0.1, 60.0)? as f32,
            "invert" => self.is_inverted = one_of(&["on", "off"])? == "on",
            "fov" => self.field_of_view = number(60.0, 130.0)? as f32,
            "volume" => self.volume = number(0.0, 1.0)? as f32,
            "crosshair" => self.crosshair = choice(name, value, &Crosshair::ALL)?,
            "graph" => self.graph = choice(name, value, &Graph::ALL)?,
            "delay" => self.wanted.delay_ms = number(0.0, crate::conditions::DELAY_MS_MAX)?,
            "jitter" => self.wanted.jitter_ms = number(0.0, crate::conditions::JITTER_MS_MAX)?,
            "loss" => self.wanted.loss_percent = [number(0.0, LOSS_PERCENT_MAX)?; 2],
            "loss.up" => self.wanted.loss_percent[0] = number(0.0, LOSS_PERCENT_MAX)?,
            "loss.down" => self.wanted.loss_percent[1] = number(0.0, LOSS_PERCENT_MAX)?,
            "rate" => self.wanted.rate_kbps = number(0.0, crate::conditions::RATE_KBPS_MAX)?,
            "view" if view_named(value).is_some() => self.view = value.to_owned(),
            "view" => {
                let models = Model::ALL.map(|model| model.name);
                one_of(&[&VIEWS[..], &models[..]].concat())?;
            }
            "link" => self.link = one_of(&["any", "webtransport", "websocket"])?,
            "ghosts" => self.ghosts = one_of(&["on", "off"])? == "on",
            "shadows" => self.is_fine = one_of(&["fine", "plain"])? == "fine",
            "watch" => self.watches = one_of(&["on", "off"])? == "on",
            "server" => self.server = one_of(&["any", "page"])?,
            "map" => self.map = one_of(&sametick_arena::map::MAPS.map(|(name, _)| name))?,
            "bots" => self.bots = number(0.0, 15.0)? as usize,
            "lab" => self.is_lab = one_of(&["on", "off"])? == "on",
            _ => match name.strip_prefix("key.").and_then(Action::named) {
                Some(action) => self.bindings.bind(action, value),
                None => {
                    return Err(format!(
                        "The address sets “{name}”, which this page does not know."
                    ));
                }
            },
        }
        Ok(())
    }

    /// What is remembered from visit to visit: not the line, which belongs to the address.
    pub(crate) fn remembered(&self) -> String {
        let name_of = |names: &[(&str, Crosshair)]| {
            let found = names.iter().find(|(_, crosshair)| *crosshair == self.crosshair);
            found.map_or("cross", |(name, _)| *name).to_owned()
        };
        let mut parts = vec![
            ("name".to_owned(), self.name.clone()),
            ("sensitivity".to_owned(), self.sensitivity.to_string()),
            ("invert".to_owned(), if self.is_inverted { "on" } else { "off" }.to_owned()),
            ("fov".to_owned(), self.field_of_view.to_string()),
            ("volume".to_owned(), self.volume.to_string()),
            ("crosshair".to_owned(), name_of(&Crosshair::ALL)),
            ("shadows".to_owned(), if self.is_fine { "fine" } else { "plain" }.to_owned()),
        ];
        for (action, key) in self.bindings.changed() {
            parts.push((format!("key.{}", action.name()), key.to_owned()));
        }
        let parts = parts.into_iter().map(|(name, value)| format!("{name}={}", encoded(&value)));
        parts.collect::<Vec<_>>().join("&")
    }

    /// What a participant may choose, and nothing else: neither the line nor how others are seen are theirs.
    pub(crate) fn for_participant(self) -> Self {
        Self {
            sensitivity: self.sensitivity,
            is_inverted: self.is_inverted,
            is_fine: self.is_fine,
            link: self.link,
            is_lab: true,
            ..Self::default()
        }
    }

    /// How the world is seen.
    pub(crate) fn view(&self) -> View {
        view_named(&self.view).unwrap_or_default()
    }
}

/// A way of seeing others, or all of a model's view.
pub(crate) fn view_named(name: &str) -> Option<View> {
    if let Some(model) = Model::named(name) {
        return Some(model.view);
    }
    name.parse::<Others>().ok().map(|others| View { others, ..View::USUAL })
}

fn choice<T: Copy>(name: &str, value: &str, all: &[(&str, T)]) -> Result<T, String> {
    all.iter().find(|(known, _)| *known == value).map(|(_, found)| *found).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("“{name}” should be one of {}, not “{value}”.", names.join(", "))
    })
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                match (digit(), digit()) {
                    (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                    _ => bytes.push(b'?'),
                }
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_sets_everything() {
        let mut settings = Settings::default();
        let wrong = settings.read(
            "?name=Zo%C3%AB+B&delay=80&jitter=5&loss=2&view=half_life&link=websocket&fov=100",
        );
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!((settings.name.as_str(), settings.wanted.delay_ms), ("Zoë B", 80.0));
        assert_eq!((settings.link.as_str(), settings.field_of_view), ("websocket", 100.0));
        assert_eq!(settings.view(), Model::HALF_LIFE.view);
    }

    #[test]
    fn what_nobody_knows_is_reported() {
        let mut settings = Settings::default();
        let wrong = settings.read("?delya=80&delay=fast&view=sideways&loss=199&key.fly=KeyF");
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        assert!(wrong[0].contains("delya") && wrong[2].contains("half_life"));
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_is_remembered_is_read_again() {
        let mut settings = Settings::default();
        settings.read("name=A%26B&sensitivity=3.5&crosshair=dot&key.jump=KeyJ&shadows=plain");
        let mut again = Settings::default();
        assert!(again.read(&settings.remembered()).is_empty());
        assert_eq!(again, settings);
    }

    #[test]
    fn a_participant_can_change_neither_the_line_nor_the_view() {
        let mut settings = Settings::default();
        let line = "?lab=on&delay=80&loss=5&view=latest&ghosts=on&graph=full";
        let wrong = settings.read(&format!("{line}&fov=130&server=page&sensitivity=3"));
        assert!(wrong.is_empty() && settings.is_lab, "{wrong:?}");
        let theirs = settings.for_participant();
        assert_eq!(theirs, Settings { sensitivity: 3.0, is_lab: true, ..Settings::default() });
    }

    #[test]
    fn broken_escapes_do_no_harm() {
        assert_eq!(decoded("%"), "?");
        assert_eq!(decoded("%C3"), "\u{fffd}");
        assert_eq!(decoded(&encoded("a b&ü=%")), "a b&ü=%");
    }
}
