//! Tables of the compact codec, learned from a short match: what tests play with.

use sametick::Wire;
use sametick::codec::compact::{Lineage, Tables, train};
use sametick::{Alone, Dice, PlayerId, Span, Table};
use sametick_arena::{Arena, Command, Content, Mode, map};
use std::sync::{Arc, LazyLock};

const PLAYERS: u16 = 6;
const TICKS: u32 = 600;
/// A snapshot is of every third tick, its base two snapshots older.
const SNAPSHOT_TICKS: u32 = 3;

pub(crate) static TABLES: LazyLock<Arc<Tables>> = LazyLock::new(|| {
    let content = Content::new(map::HALLS, Mode::Teams).expect("the map is sound");
    let (wire, seen) = (Wire::of::<Arena>(), content.clone());
    let mut game = Alone::<Arena>::new(content, 5, Span::micros(16_667));
    (0..PLAYERS).for_each(|player| game.join(PlayerId(player)));
    let mut dice = Dice::new(5, 1);
    let mut views = vec![Vec::new(); usize::from(PLAYERS)];
    let mut wishes = vec![Command::default(); usize::from(PLAYERS)];
    let mut messages = vec![Vec::new(); usize::from(PLAYERS)];
    for tick in 0..TICKS {
        for (wish, records) in wishes.iter_mut().zip(&mut messages) {
            if dice.below(20) == 0 {
                *wish =
                    Command { forward: 7, yaw: dice.below(60) as f32 * 0.1, ..Command::default() };
            }
            wish.yaw += 0.01;
            records.push(wire.commands().record(wish));
        }
        let asked = wishes.iter().enumerate();
        let asked = asked.map(|(player, wish)| (PlayerId(player as u16), *wish));
        game.step(asked).expect("all numbers are finite");
        for (player, views) in views.iter_mut().enumerate().filter(|_| tick % SNAPSHOT_TICKS == 0) {
            let mut table = Table::default();
            let viewer = PlayerId(player as u16);
            wire.view::<Arena>(game.world(), &seen, viewer, &mut table);
            views.push(table);
        }
    }
    let spans = [2 * SNAPSHOT_TICKS; 3];
    let tables = train::train(wire.layouts(), &mut |learn| {
        for seven in views.iter().flat_map(|views| views.windows(7)) {
            let [earlier, _, before, _, base, _, now] = seven else { continue };
            learn(&Lineage { base, before: Some(before), earlier: Some(earlier), spans }, now);
        }
    });
    let newest_first = |window: &[Vec<u32>]| window.iter().rev().cloned().collect::<Vec<_>>();
    let messages: Vec<_> =
        messages.iter().flat_map(|all| all.windows(5)).map(newest_first).collect();
    let (commands, events) = ((wire.commands(), &messages[..]), (wire.events(), &[][..]));
    Arc::new(train::train_streams(tables, commands, events))
});
