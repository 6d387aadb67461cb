//! A contest of players without hands, and the hash of all its worlds: the same on every machine, or they would not
//! agree.

use crate::bot::Bot;
use crate::content::Content;
use crate::islands::{Entity, Islands, TICK};
use sametick::record::mix;
use sametick::{Alone, Layouts, PlayerId, Unsettled};

/// The hash of every world of a contest that the content and the seed decide.
pub fn trace(content: Content, seed: u64, ticks: u32) -> Result<u64, Unsettled> {
    let layouts = Layouts::of::<Entity>();
    let players = u16::from(content.players());
    let mut bots: Vec<Bot> =
        (0..players).map(|player| Bot::new(seed ^ u64::from(player))).collect();
    let mut game = Alone::<Islands>::new(content.clone(), seed, TICK);
    (0..players).for_each(|player| game.join(PlayerId(player)));
    let mut hash = 0;
    for _ in 0..ticks {
        let asked: Vec<_> = (0..players)
            .zip(&mut bots)
            .map(|(player, bot)| {
                (PlayerId(player), bot.think(game.world(), PlayerId(player), &content))
            })
            .collect();
        game.step(asked)?;
        let world = game.world().hash(&layouts);
        hash = mix(mix(hash, world as u32), (world >> 32) as u32);
    }
    Ok(hash)
}
