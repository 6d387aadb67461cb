//! What a link of the theatre asks for, and the shortest link that asks for it again: only what differs from the scene.

use super::repertoire::{GAMES, Staging, scenes};
use sametick::theatre::{Hand, Setup, Wire};
use sametick::{Model, Span, lockstep};

/// The longest link that is read.
const LINK_BYTES_MAX: usize = 4_000;
const PING_MS_MAX: u32 = 600;
const JITTER_MS_MAX: u32 = 100;
const LOSS_PERCENT_MAX: u32 = 30;
/// Ticks a second, and ticks to a snapshot.
const TICKS: [u32; 2] = [20, 128];
const SNAPSHOTS: [u32; 2] = [1, 12];

/// One player's line: milliseconds there and back, milliseconds at most each way, per cent each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) ping: u32,
    pub(crate) jitter: u32,
    pub(crate) loss: u32,
}

/// Everything that a run of a scene follows from.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) game: &'static str,
    key: &'static str,
    pub(crate) model: Model,
    /// The name of a lockstep model that is wanted instead.
    lockstep: Option<&'static str>,
    /// A's and B's.
    pub(crate) lines: [Line; 2],
    pub(crate) ticks: u32,
    pub(crate) snapshots: u32,
    /// Whether a target must be in sight in the present too.
    pub(crate) sight: bool,
    /// The shaper of a scene's line to A: whether it is silent for a while.
    pub(crate) silent: bool,
    /// What a reader who has taken A's keys asks for.
    pub(crate) hand: Hand,
}

impl Wanted {
    /// As the scene of this key is staged; the first if there is none.
    fn of(game: &str, key: &str) -> Self {
        let game = GAMES.into_iter().find(|name| *name == game).unwrap_or(GAMES[0]);
        let scene = scene(game, key).poster();
        let tick = scene.model.rates.tick_length;
        let line = |ping: u64| Line { ping: ping as u32, ..Line::default() };
        Self {
            game,
            key: scene.key,
            model: scene.model,
            lockstep: scene.lockstep,
            lines: scene.pings.map(line),
            ticks: (1.0 / tick.as_seconds_f64()).round() as u32,
            snapshots: scene.model.rates.ticks_per_snapshot,
            sight: scene.model.rates.rewinding.needs_sight,
            silent: true,
            hand: Hand::default(),
        }
    }

    /// What a query asks for; what it does not say, or says wrongly, is as the scene has it.
    pub(crate) fn read(query: &str) -> Self {
        let query = query.get(..LINK_BYTES_MAX).unwrap_or(query);
        let words =
            query.trim_start_matches('?').split('&').filter_map(|word| word.split_once('='));
        let words: Vec<(&str, &str)> = words.collect();
        let said = |name: &str| words.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let name = |name: &str| said(name).unwrap_or_default();
        let mut wanted = Self::of(name("game"), name("scene"));
        let number = |name: &str, [least, most]: [u32; 2], otherwise: u32| {
            let said = said(name).and_then(|value| value.parse::<f64>().ok());
            said.map_or(otherwise, |value| value.round().clamp(least.into(), most.into()) as u32)
        };
        let can_be = wanted.scene().models();
        let model = said("model").filter(|model| can_be.contains(model)).unwrap_or_default();
        let in_lockstep = lockstep::Setup::ALL.into_iter().find(|(known, _)| *known == model);
        if let Some(model) = Model::named(model) {
            (wanted.model, wanted.lockstep) = (model, None);
        } else if let Some((known, _)) = in_lockstep {
            wanted.lockstep = Some(known);
        }
        for (line, letter) in wanted.lines.iter_mut().zip(["a", "b"]) {
            line.ping = number(&format!("{letter}.ping"), [0, PING_MS_MAX], line.ping);
            line.jitter = number(&format!("{letter}.jitter"), [0, JITTER_MS_MAX], line.jitter);
            line.loss = number(&format!("{letter}.loss"), [0, LOSS_PERCENT_MAX], line.loss);
        }
        wanted.ticks = number("ticks", TICKS, wanted.ticks);
        wanted.snapshots = number("snapshots", SNAPSHOTS, wanted.snapshots);
        wanted.sight = said("sight").map_or(wanted.sight, |value| value == "1");
        wanted.silent = said("silent").map_or(wanted.silent, |value| value == "1");
        wanted.hand = said("hand").and_then(Hand::read).unwrap_or_default();
        wanted
    }

    /// The name of the model.
    pub(crate) fn model(&self) -> &'static str {
        self.lockstep.unwrap_or(self.model.name)
    }

    /// The query that asks for this, without a question mark.
    pub(crate) fn link(&self) -> String {
        let usual = Self::of(self.game, self.key);
        let mut words = vec![format!("scene={}", self.key)];
        if self.game != GAMES[0] {
            words.insert(0, format!("game={}", self.game));
        }
        if self.model() != usual.model() {
            words.push(format!("model={}", self.model()));
        }
        let mut number = |name: String, value: u32, usual: u32| {
            if value != usual {
                words.push(format!("{name}={value}"));
            }
        };
        for (index, letter) in ["a", "b"].into_iter().enumerate() {
            let (line, usual) = (self.lines[index], usual.lines[index]);
            number(format!("{letter}.ping"), line.ping, usual.ping);
            number(format!("{letter}.jitter"), line.jitter, usual.jitter);
            number(format!("{letter}.loss"), line.loss, usual.loss);
        }
        number("ticks".into(), self.ticks, usual.ticks);
        number("snapshots".into(), self.snapshots, usual.snapshots);
        number("sight".into(), self.sight.into(), usual.sight.into());
        number("silent".into(), self.silent.into(), usual.silent.into());
        if !self.hand.is_empty() {
            words.push(format!("hand={}", self.hand));
        }
        words.join("&")
    }

    pub(crate) fn scene(&self) -> Box<dyn Staging> {
        scene(self.game, self.key)
    }

    pub(crate) fn setup(&self) -> Setup {
        let usual = self.scene().poster().setup();
        let (rates, view, hand) = (self.model.rates, self.model.view, self.hand.clone());
        let lockstep = self.lockstep.and_then(lockstep::Setup::named);
        let mut setup = Setup { rates, view, hand, lockstep, ..usual.clone() };
        // The rules of a game may count in ticks: theirs hold under whatever model.
        setup.rates.tick_length = if self.ticks == Self::of(self.game, self.key).ticks {
            usual.rates.tick_length
        } else {
            Span::micros(1_000_000 / u64::from(self.ticks))
        };
        setup.rates.ticks_per_snapshot = self.snapshots;
        setup.rates.rewinding.needs_sight = self.sight;
        for (wire, line) in setup.wires.iter_mut().zip(self.lines) {
            *wire = Wire {
                ping: Span::millis(line.ping.into()),
                jitter: Span::millis(line.jitter.into()),
                loss: f64::from(line.loss) / 100.0,
                silent: wire.silent.filter(|_| self.silent),
                bad: wire.bad,
            };
        }
        setup
    }
}

fn scene(game: &str, key: &str) -> Box<dyn Staging> {
    let mut all = scenes(game);
    let index = all.iter().position(|scene| scene.poster().key == key).unwrap_or(0);
    all.swap_remove(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_only_what_differs_and_is_read_back_as_it_was() {
        assert_eq!(Wanted::read("").link(), "scene=cover");
        assert_eq!(Wanted::read("?scene=cover&a.ping=100&model=half_life").link(), "scene=cover");
        for link in [
            "scene=cover&a.ping=180",
            "scene=tree&sight=1",
            "game=hello&scene=hello&b.ping=90",
            "scene=cover&hand=1200-6_1500-3f",
            "scene=line&model=packet_server",
            "scene=line&model=half_life&b.ping=200",
            "scene=step&model=rollback",
            "game=islands&scene=bridge",
            "game=islands&scene=bridge&model=doom1993&a.ping=30",
            "scene=burst&model=doom3&a.loss=3&b.jitter=20&ticks=30&snapshots=6&silent=0",
        ] {
            assert_eq!(Wanted::read(link).link(), link);
        }
    }

    #[test]
    fn nonsense_is_as_if_it_was_not_said() {
        for link in [
            "?scene=nowhere",
            "?model=&a.ping=far",
            "?=&&&",
            "?a.ping",
            "scene=cover&x=1",
            "?hand=1-2-3&game=chess",
        ] {
            assert_eq!(Wanted::read(link).link(), "scene=cover", "{link}");
        }
        // A model that the scene cannot be played under is no model of its.
        let bridge = Wanted::read("game=islands&model=half_life");
        assert_eq!((bridge.model(), bridge.ticks), ("netstorm", 20));
        assert_eq!(Wanted::read("model=netstorm").link(), "scene=cover");
        let wild = Wanted::read("?a.ping=1e9&b.loss=-4&ticks=0&snapshots=NaN");
        assert_eq!((wild.lines[0].ping, wild.lines[1].loss), (PING_MS_MAX, 0));
        assert!((TICKS[0]..=TICKS[1]).contains(&wild.ticks));
        assert!(wild.snapshots <= SNAPSHOTS[1]);
    }
}
