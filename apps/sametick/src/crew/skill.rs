//! How well bots play, chosen by name. The one place that knows how a bot is made.

use super::name;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sametick_arena::bot::{Bot, SKILLS, Skill, Ways};
use std::sync::Arc;

/// What is played where nothing else is asked for.
pub(crate) const USUAL: &str = "regular";

/// One of the skills by name.
pub(crate) fn skills() -> impl TypedValueParser<Value = Skill> {
    PossibleValuesParser::new(SKILLS.map(|skill| skill.name)).map(|name| {
        let skill = SKILLS.into_iter().find(|skill| skill.name == name);
        skill.expect("only names of skills pass")
    })
}

/// The n-th bot, which has a name and knows its ways about the map; the seed decides its whims.
pub(crate) fn bot(skill: Skill, seed: u64, index: usize, ways: &Arc<Ways>) -> Bot {
    let seed = seed.wrapping_add(index as u64);
    let mut bot = Bot::new(skill, seed, Arc::clone(ways));
    bot.call(&name::name(index));
    bot
}
