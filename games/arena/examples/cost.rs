//! What a step costs: nanoseconds a player, on each map, with as many players as are asked for (64 by default).

use sametick::{Alone, Game, PlayerId, Slots, Span};
use sametick_arena::{Arena, Content, Mode, anything, map};
use std::time::Instant;

const TICKS: u32 = 600;

fn main() {
    let players: u16 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(64);
    for (name, text) in map::MAPS {
        let content = Content::new(text, Mode::FreeForAll).expect("the map is sound");
        let begun = Instant::now();
        let visibility = content.map.visibility();
        let (cells, hidden, took) = (visibility.len(), visibility.hidden_share(), begun.elapsed());
        let mut game = Alone::<Arena>::new(content.clone(), 1, Span::micros(16_667));
        (0..players).for_each(|player| game.join(PlayerId(player)));
        let mut ticks = Vec::new();
        for tick in 0..TICKS {
            let all = (0..players).map(PlayerId);
            let commands: Vec<_> = all.map(|player| (player, anything(1, tick, player))).collect();
            let begun = Instant::now();
            game.step(commands).expect("all is finite");
            ticks.push(begun.elapsed().as_nanos() / u128::from(players));
        }
        // The median: what else the machine does is not ours.
        ticks.sort_unstable();
        let nanos = ticks[ticks.len() / 2];
        let begun = Instant::now();
        for player in (0..players).map(PlayerId) {
            Arena::relevant(game.world(), &content, player, &mut Slots::default());
        }
        let relevant = begun.elapsed().as_nanos() / u128::from(players);
        println!(
            "{name}: {nanos} ns a player and tick with {players} players; {relevant} ns to know what one may see; \
             {cells} cells, {:.1} % hidden, found out in {took:.1?}",
            hidden * 100.0
        );
    }
}
