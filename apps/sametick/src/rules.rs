//! What a match is played by: the options that `play` and `serve` share.

use crate::address;
use crate::content::{self, ModeName, Shelf};
use crate::crew::skill::{self, skills};
use crate::crew::{self, Crew};
use anyhow::bail;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, value_parser};
use sametick::lockstep::Setup;
use sametick::network::Conditions;
use sametick::secure::TokenKey;
use sametick::{Model, Rates, Span};
use sametick_arena::Content;
use sametick_arena::bot::Skill;
use std::net::SocketAddr;
use std::sync::Arc;

/// Map, mode and network.
#[derive(Args, Clone, Debug)]
pub(crate) struct Rules {
    /// Map: corners, halls, field, or the path of a .map file
    #[arg(long, value_name = "NAME", default_value = "halls")]
    pub(crate) map: String,
    /// What the match is played for
    #[arg(long, value_enum, default_value_t = ModeName::Ffa)]
    pub(crate) mode: ModeName,
    /// Ticks a second, 20 to 1000
    #[arg(long, value_name = "HZ", default_value_t = 60, value_parser = value_parser!(u32).range(20..=1000))]
    pub(crate) tick_rate: u32,
    /// Snapshots a second that each player is sent, at most one a tick
    #[arg(long, value_name = "HZ", default_value_t = 20, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) snapshot_rate: u32,
    /// Network model: what the server decides, and how its bots see others; or lockstep, without a server
    #[arg(long, default_value = "half_life", value_parser = all_models())]
    pub(crate) model: Chosen,
    /// How well bots play
    #[arg(long, default_value = skill::USUAL, value_parser = skills())]
    pub(crate) skill: Skill,
    /// Decides every chance of the match; another for another match
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Players at once, bots among them, at most 1024
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = value_parser!(u32).range(1..=1024))]
    pub(crate) players_max: u32,
}

/// One of the models by name.
pub(crate) fn models() -> impl TypedValueParser<Value = Model> {
    PossibleValuesParser::new(Model::ALL.map(|model| model.name))
        .map(|name| Model::named(&name).expect("only names of models pass"))
}

/// A model by name: one with a server or, if there is a setup, one without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) name: &'static str,
    pub(crate) served: Model,
    pub(crate) lockstep: Option<Setup>,
}

fn all_models() -> impl TypedValueParser<Value = Chosen> {
    let names = Model::ALL.map(|model| model.name);
    let names = names.into_iter().chain(Setup::ALL.map(|(name, _)| name));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).map(|name| {
        let served = Model::named(&name).map(|model| (model.name, model, None));
        let lockstep = Setup::ALL.into_iter().find(|(known, _)| *known == name);
        let lockstep = lockstep.map(|(name, setup)| (name, Model::HALF_LIFE, Some(setup)));
        let (name, served, lockstep) = served.or(lockstep).expect("only names of models pass");
        Chosen { name, served, lockstep }
    })
}

/// The most ticks there may be to a snapshot: a client asks for them in a byte.
const TICKS_PER_SNAPSHOT_MAX: u32 = 255;

impl Rules {
    pub(crate) fn content(&self) -> anyhow::Result<Content> {
        content::load(&self.map, self.mode)
    }

    pub(crate) fn tick_length(&self) -> Span {
        Span::from_micros_f64(1e6 / f64::from(self.tick_rate))
    }

    pub(crate) fn rates(&self) -> anyhow::Result<Rates> {
        let (ticks, snapshots) = (self.tick_rate, self.snapshot_rate);
        if snapshots > ticks {
            bail!(
                "--snapshot-rate {snapshots} is more than --tick-rate {ticks}: there is at most one a tick"
            );
        }
        let ticks_per_snapshot = (f64::from(ticks) / f64::from(snapshots)).round() as u32;
        if ticks_per_snapshot > TICKS_PER_SNAPSHOT_MAX {
            bail!(
                "--snapshot-rate {snapshots} is too few for --tick-rate {ticks}: \
                 there are at most {TICKS_PER_SNAPSHOT_MAX} ticks to a snapshot"
            );
        }
        let tick_length = self.tick_length();
        Ok(Rates { tick_length, ticks_per_snapshot, ..self.model.served.rates })
    }

    /// All of it as a config file has it, for whoever plays the match again.
    pub(crate) fn configuration(&self) -> String {
        let mode = self.mode.to_possible_value().map(|mode| mode.get_name().to_owned());
        format!(
            "map = \"{}\"\nmode = \"{}\"\ntick-rate = {}\nsnapshot-rate = {}\nmodel = \"{}\"\nseed = {}\n",
            self.map,
            mode.unwrap_or_default(),
            self.tick_rate,
            self.snapshot_rate,
            self.model.name,
            self.seed
        )
    }

    /// Whether so many bots have room.
    pub(crate) fn seat(&self, bots: u32) -> anyhow::Result<()> {
        let most = self.players_max;
        if bots > most {
            bail!("{bots} bots are more than --players-max {most}: raise it, or lower --bots");
        }
        Ok(())
    }

    /// Bots that play on a server of this process, which listens at `server`.
    pub(crate) fn crew(
        &self,
        content: &Content,
        count: u32,
        server: SocketAddr,
        key: Option<TokenKey>,
    ) -> Crew {
        let shelf = Shelf::of(content.clone());
        // Found out before anyone waits for it.
        shelf.first().ways();
        Crew {
            server: address::nearby(server),
            client_ids: crew::client_ids(count as usize),
            key,
            shelf: Arc::new(shelf),
            view: self.model.served.view,
            skill: self.skill,
            seed: self.seed,
            conditions: [Conditions::PERFECT, Conditions::PERFECT],
            plays_for: None,
            tables: None,
            reads_compact: true,
            needs_compact: false,
        }
    }

    /// What a page is told of it.
    pub(crate) fn facts(&self, content: &Content, rates: &Rates) -> serde_json::Value {
        serde_json::json!({
            "map": self.map,
            "title": content.map.title,
            "mode": format!("{:?}", self.mode).to_lowercase(),
            "model": self.model.name,
            "tick_rate": self.tick_rate,
            "snapshot_rate": f64::from(self.tick_rate) / f64::from(rates.ticks_per_snapshot),
            "players_max": self.players_max,
            "content": format!("{:016x}", content.name()),
        })
    }

    /// One line about all of it.
    pub(crate) fn text(&self, content: &Content, rates: &Rates) -> String {
        let snapshots = f64::from(self.tick_rate) / f64::from(rates.ticks_per_snapshot);
        let mode = format!("{:?}", self.mode).to_lowercase();
        format!(
            "{} ({mode}), {} ticks and {snapshots:.0} snapshots a second, model {}",
            content.map.title, self.tick_rate, self.model.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        rules: Rules,
    }

    fn rates(arguments: &[&str]) -> Result<(u64, u32), String> {
        let program = Program::try_parse_from([&["x"], arguments].concat());
        let rules = program.map_err(|error| error.to_string())?.rules;
        let rates = rules.rates().map_err(|error| error.to_string())?;
        Ok((rates.tick_length.as_micros(), rates.ticks_per_snapshot))
    }

    #[test]
    fn rates_become_ticks() {
        assert_eq!(rates(&[]), Ok((16_667, 3)));
        assert_eq!(rates(&["--tick-rate", "1000"]), Ok((1_000, 50)));
        assert_eq!(rates(&["--tick-rate", "20"]), Ok((50_000, 1)));
        assert!(rates(&["--tick-rate", "30", "--snapshot-rate", "60"]).is_err());
        assert!(rates(&["--tick-rate", "1000", "--snapshot-rate", "2"]).is_err());
        assert!(rates(&["--tick-rate", "19"]).is_err());
    }
}
