//! Plays a contest of bots and prints, minute by minute, who is there and what it would cost to tell of it.

#[path = "../tests/all/telling.rs"]
mod telling;

use sametick::{Alone, Layouts, PlayerId};
use sametick_islands::bot::Bot;
use sametick_islands::{
    Building, BuildingKind, Content, Contest, Entity, Islands, Opening, Squad, TICK, Unit, clock,
    contest,
};
use telling::Told;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (players, seed, war) = (number(8) as u16, number(1), number(0));
    let opening = if war == 0 { Opening::Settlers } else { Opening::War };
    let content = Content::new(seed, players as u8, opening);
    let layouts = Layouts::of::<Entity>();
    let mut bots: Vec<Bot> =
        (0..players).map(|player| Bot::new(seed ^ u64::from(player))).collect();
    let mut told: Vec<Told> = (0..players).map(|_| Told::default()).collect();
    let mut game = Alone::<Islands>::new(content.clone(), seed, TICK);
    (0..players).for_each(|player| game.join(PlayerId(player)));
    let (mut bits, mut appear, mut vanish, mut changes) = (0, 0, 0, 0);
    let (mut kinds, mut requests, mut least, mut deaths, mut before) =
        ([0; 6], 0, usize::MAX, 0, 0);
    let mut under_fire = 0;
    while !contest(game.world()).is_over {
        let asked: Vec<_> = (0..players)
            .zip(&mut bots)
            .map(|(player, bot)| {
                (PlayerId(player), bot.think(game.world(), PlayerId(player), &content))
            })
            .collect();
        requests += asked.iter().filter(|(_, request)| !request.is_nothing()).count();
        game.step(asked).expect("all numbers are finite");
        for (player, told) in (0..players).zip(&mut told) {
            let cost = told.tell(game.world(), &content, PlayerId(player), &layouts);
            bits += cost.bits;
            appear += cost.appear;
            vanish += cost.vanish;
            changes += cost.changes;
            (0..6).for_each(|kind| kinds[kind] += cost.by_kind[kind]);
        }
        let world = game.world();
        let units = world.all::<Unit>().count();
        deaths += usize::saturating_sub(before, units);
        before = units;
        least = least.min(units);
        under_fire += world.all::<Unit>().filter(|(_, one)| one.health.loss() > 0).count();
        if clock(world).is_multiple_of(1200) {
            let fighting = sametick_islands::shots(world).len();
            let of = |kind| {
                world.all::<Building>().filter(|(_, building)| building.kind == kind).count()
            };
            println!(
                "{:>2} min: {units:>3} units (least {least}), {fighting:>3} fight, {:>3} under fire, \
                 {deaths:>3} deaths, {:>3} squads, {} workshops, {} towers, {:>3} bridges, \
                 out {:08b}; {:>4} bytes/s, {:>4} changes/s, {:>4} appear/s, \
                 {:>4} vanish/s, by kind {:?}, {:.1} requests/s",
                clock(world) / 1200,
                under_fire / 1200,
                world.all::<Squad>().count(),
                of(BuildingKind::Workshop),
                of(BuildingKind::Tower),
                of(BuildingKind::Bridge),
                contest(world).out,
                bits / 8 / 60,
                changes / 60,
                appear / 60,
                vanish / 60,
                kinds.map(|bits: u64| bits / 480),
                requests as f64 / 60.0,
            );
            (bits, appear, vanish, changes, kinds, requests) = (0, 0, 0, 0, [0; 6], 0);
            (least, deaths, under_fire) = (usize::MAX, 0, 0);
        }
    }
    tell_the_end(&contest(game.world()), clock(game.world()) / 20);
}

fn tell_the_end(end: &Contest, seconds: u32) {
    println!("winner {:?} at {seconds} s, scores {:?}", end.winner, &end.scores[..]);
}
