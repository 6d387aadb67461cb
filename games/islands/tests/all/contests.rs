//! Whole contests of bots: played out, the same every time, saved and gone on with, and cheap to tell of.

use crate::stage::{Stage, bots, think};
use crate::telling::Told;
use sametick::{Alone, Layouts, PlayerId, World};
use sametick_islands::{
    Building, BuildingKind, Content, Contest, Entity, GRAINS, Islands, Opening, Realm, TICK,
    TICKS_PER_SECOND, UNITS_EACH_MAX, UNITS_MAX, Unit, clock, contest, shots, trace,
};

/// All clients of a server together; what NetStorm's modem carried, without its framing.
const TOLD_BYTES_PER_SECOND_MAX: u64 = 800;

#[test]
fn eight_bots_play_a_quarter_of_an_hour_with_400_units_and_someone_wins() {
    let content = Content::new(2, 8, Opening::War);
    let mut stage = Stage::with(content.clone());
    let mut bots = bots(&content, 2);
    let layouts = Layouts::of::<Entity>();
    let mut told: Vec<Told> = (0..8).map(|_| Told::default()).collect();
    let (mut crowded, mut bits, mut worst) = (0, 0, 0);
    while !contest(stage.world()).is_over {
        let asked = think(&mut bots, stage.world(), &content);
        stage.game.step(asked).expect("all numbers are finite");
        let world = stage.world();
        crowded += u32::from(world.all::<Unit>().count() >= 400);
        if contest(world).is_over {
            break;
        }
        for (player, told) in (0..8).map(PlayerId).zip(&mut told) {
            bits += told.tell(world, &content, player, &layouts).bits;
        }
        let clock = clock(world);
        if clock.is_multiple_of(60 * TICKS_PER_SECOND) {
            let rate = std::mem::take(&mut bits) / 8 / 60;
            let is_first = clock <= 60 * TICKS_PER_SECOND;
            worst = if is_first { worst } else { worst.max(rate) };
        }
    }
    let end = contest(stage.world());
    let seconds = clock(stage.world()) / TICKS_PER_SECOND;
    assert!((600..=900).contains(&seconds), "{seconds} s");
    assert!(end.winner.is_some(), "{end:?}");
    assert!(crowded >= 10 * 60 * TICKS_PER_SECOND, "400 units for {crowded} ticks");
    assert!(worst <= TOLD_BYTES_PER_SECOND_MAX, "{worst} bytes a second in the worst minute");
}

#[test]
fn for_ten_minutes_of_war_at_least_400_are_alive_and_many_fight_whatever_the_seed() {
    for seed in 1..=3 {
        let content = Content::new(seed, 8, Opening::War);
        let mut stage = Stage::with(content.clone());
        let mut bots = bots(&content, seed);
        let (mut least, mut under_fire, mut fight, mut looks) = (usize::MAX, 0, 0, 0);
        for tick in 0..10 * 60 * TICKS_PER_SECOND {
            let asked = think(&mut bots, stage.world(), &content);
            stage.game.step(asked).expect("all numbers are finite");
            if tick >= 60 * TICKS_PER_SECOND && tick.is_multiple_of(TICKS_PER_SECOND) {
                let world = stage.world();
                least = least.min(world.all::<Unit>().count());
                let hurt = world.all::<Unit>().filter(|(_, unit)| unit.health.loss() > 0);
                under_fire += hurt.count();
                fight += shots(world).len();
                looks += 1;
            }
        }
        let (under_fire, fight) = (under_fire / looks, fight / looks);
        assert!(least >= 400, "seed {seed}: {least} alive");
        assert!(under_fire >= 40 && fight >= 150, "seed {seed}: {under_fire} of {fight} shots");
    }
}

#[test]
fn whoever_is_out_leaves_its_room_to_the_others() {
    let mut stage = Stage::with(Content::new(4, 3, Opening::War));
    assert_eq!(contest(stage.world()).units_max(), UNITS_MAX);
    stage.game.leave(PlayerId(2));
    stage.wait(1);
    assert_eq!(contest(stage.world()).units_max(), UNITS_MAX * 3 / 2);
    let all = Contest { came: 0xff, out: 0x7f, ..Contest::default() };
    assert_eq!(all.units_max(), UNITS_EACH_MAX);
}

#[test]
fn settlers_grow_to_an_army_of_400() {
    let content = Content::new(2, 8, Opening::Settlers);
    let mut stage = Stage::with(content.clone());
    let mut bots = bots(&content, 2);
    let mut crowded = 0;
    for _ in 0..8 * 60 * TICKS_PER_SECOND {
        let asked = think(&mut bots, stage.world(), &content);
        stage.game.step(asked).expect("all numbers are finite");
        crowded += u32::from(stage.world().all::<Unit>().count() >= 400);
    }
    assert!(crowded > 3 * 60 * TICKS_PER_SECOND, "400 units for {crowded} ticks");
    let bridges =
        stage.world().all::<Building>().filter(|(_, one)| one.kind == BuildingKind::Bridge);
    assert!(bridges.count() > 10);
}

#[test]
fn the_same_seed_gives_the_same_worlds() {
    let play = |seed| {
        trace(Content::new(1, 4, Opening::War), seed, 1_200).expect("all numbers are finite")
    };
    let hash = play(1);
    assert_eq!(hash, play(1));
    assert_ne!(hash, play(2));
}

#[test]
fn a_saved_game_goes_on_as_if_it_had_not_been() {
    let content = Content::new(3, 4, Opening::War);
    let layouts = Layouts::of::<Entity>();
    let mut stage = Stage::with(content.clone());
    let mut minds = bots(&content, 3);
    let play = |game: &mut Alone<Islands>, minds: &mut Vec<_>, ticks: u32| {
        for _ in 0..ticks {
            let asked = think(minds, game.world(), &content);
            game.step(asked).expect("all numbers are finite");
        }
    };
    play(&mut stage.game, &mut minds, 2_000);
    let saved = stage.world().save(&layouts);
    let world = World::<Entity>::load(&saved, &layouts).expect("what was saved can be loaded");
    assert_eq!(world.hash(&layouts), stage.world().hash(&layouts));
    let mut again = Alone::<Islands>::new(content.clone(), 1, TICK);
    (0..4).for_each(|player| again.join(PlayerId(player)));
    // They join a world of their own, which the saved one replaces.
    again.step([]).expect("all numbers are finite");
    again.set_world(world);
    let mut same_minds = minds.clone();
    play(&mut stage.game, &mut minds, 1_000);
    play(&mut again, &mut same_minds, 1_000);
    assert_eq!(stage.world().differences(again.world(), &layouts), Vec::<String>::new());
    assert_eq!(stage.world().hash(&layouts), again.world().hash(&layouts));
}

#[test]
fn crystals_come_from_workers_and_go_where_something_is_paid_for() {
    let mut stage = Stage::new(Opening::Settlers);
    let mut minds = bots(&stage.content, 4);
    let mut before: Vec<Realm> = Vec::new();
    for tick in 0..4_000 {
        let asked = think(&mut minds, stage.world(), &stage.content);
        let is_asked = asked.iter().map(|(_, request)| !request.is_nothing()).collect::<Vec<_>>();
        stage.game.step(asked).expect("all numbers are finite");
        let clock = stage.clock();
        let now: Vec<Realm> = (0..2).map(|seat| stage.realm(seat)).collect();
        for (seat, (was, is)) in before.iter().zip(&now).enumerate() {
            let gathered = is.grains(clock) as i64 - was.grains(clock - 1) as i64;
            // A tick brings a grain a worker; a payment is of whole crystals.
            let paid = i64::from(was.rate) - gathered;
            if is_asked[seat] {
                assert!(paid % i64::from(GRAINS) == 0, "{paid} grains in tick {tick}");
            } else {
                assert_eq!(paid, 0, "nobody asked for anything in tick {tick}");
            }
        }
        before = now;
    }
}

#[test]
fn between_decisions_no_record_changes() {
    let mut stage = Stage::new(Opening::War);
    let layouts = Layouts::of::<Entity>();
    stage.wait(20);
    let mut told = Told::default();
    told.tell(stage.world(), &stage.content, PlayerId(0), &layouts);
    for _ in 0..1_000 {
        stage.wait(1);
        let cost = told.tell(stage.world(), &stage.content, PlayerId(0), &layouts);
        assert_eq!(cost.bits, 0, "nobody asked for anything, nothing is told");
    }
}
