//! What nobody can take from others, and numbers that no honest world has.

use crate::stage::Stage;
use proptest::prelude::*;
use sametick::eventlock::Requests;
use sametick::{Alone, Layouts, PlayerId, Tick, World};
use sametick_islands::bot::Bot;
use sametick_islands::{
    Building, Cell, Content, Contest, Entity, Errand, GROUP_MAX, Islands, Link, Mark, Opening,
    Realm, Request, Squad, TICK, Unit, UnitKind, Verb, WAYS_PER_PLAYER_MAX, scores, shots,
};

/// Makes a squad of every unit of a player that fights; says which.
fn scatter(stage: &mut Stage, player: u16) -> Vec<Mark> {
    let mut world = stage.world().clone();
    let units = world.all_owned(PlayerId(player)).filter_map(|(id, entity)| match entity {
        Entity::Unit(unit) if unit.kind == UnitKind::Raider || unit.kind == UnitKind::Archer => {
            Some((id, unit.squad))
        }
        _ => None,
    });
    let units: Vec<_> = units.collect();
    let mut squads = Vec::new();
    for (id, link) in units {
        let squad = stage.squad(link);
        let squad = world.spawn_owned(PlayerId(player), squad).expect("there is room");
        world.get_mut::<Unit>(id).expect("it lives").squad = Link::to(squad);
        let goal = stage.squad(link).from.cell();
        let errand = Errand { squad: Link::to(squad), goal, ..Errand::default() };
        world.spawn_owned(PlayerId(player), errand).expect("there is room");
        squads.push(Mark::to(squad));
    }
    let is_empty = |link: Link| world.all::<Unit>().all(|(_, unit)| unit.squad != link);
    let empty = world.all::<Squad>().map(|(id, _)| id).filter(|id| is_empty(Link::to(*id)));
    let empty: Vec<_> = empty.collect();
    let is_of = |errand: &Errand| empty.iter().any(|id| Link::to(*id) == errand.squad);
    let errands = world.all::<Errand>().filter(|(_, errand)| is_of(errand)).map(|(id, _)| id);
    let gone: Vec<_> = errands.chain(empty.iter().copied()).collect();
    gone.into_iter().for_each(|id| _ = world.despawn(id));
    stage.game.set_world(world);
    squads
}

#[test]
fn players_who_ask_for_many_ways_take_none_from_others_and_get_all_of_theirs_in_time() {
    let mut stage = Stage::with(Content::new(4, 3, Opening::War));
    let many: Vec<Vec<Mark>> = (0..2).map(|player| scatter(&mut stage, player)).collect();
    let mine = stage.units(2, UnitKind::Raider)[0].1.squad;
    let goal = |seat: usize| stage.content.homes()[seat].workshops[1];
    let march = |seat: usize, squads: &[Mark]| {
        let squads = squads.iter().copied().take(GROUP_MAX);
        (PlayerId(seat as u16), Request::march(squads, goal(seat), false))
    };
    let asked = vec![march(0, &many[0]), march(1, &many[1]), march(2, &[stage.mark(mine)])];
    assert!(!(stage.clock() + 1).is_multiple_of(sametick_islands::BEAT_TICKS), "no beat");
    stage.game.step(asked).expect("all numbers are finite");
    assert!(stage.squad(mine).is_moving(stage.clock()), "the third has its way at once");
    // Who is where it was to go joins others there.
    let squads = |stage: &Stage, marks: &[Mark]| {
        let is_one = |mark: Mark| marks[..GROUP_MAX].contains(&mark);
        let squads = stage.world().all::<Squad>().filter(|(id, _)| is_one(Mark::to(*id)));
        squads.map(|(_, squad)| *squad).collect::<Vec<Squad>>()
    };
    let moving = |stage: &Stage, marks: &[Mark]| {
        squads(stage, marks).iter().filter(|squad| squad.is_moving(stage.clock())).count()
    };
    for marks in &many {
        assert!(moving(&stage, marks) <= WAYS_PER_PLAYER_MAX as usize);
    }
    stage.wait(20);
    for marks in &many {
        assert!(moving(&stage, marks) > 2 * WAYS_PER_PLAYER_MAX as usize, "the others went later");
        let links = marks[..GROUP_MAX].iter().map(|mark| mark.link());
        let errands = stage.world().all::<Errand>().map(|(_, errand)| errand);
        let errands = errands.filter(|errand| links.clone().any(|link| link == errand.squad));
        for errand in errands {
            let end = stage.squad(errand.squad).end().cell();
            assert_eq!(end, errand.goal, "nobody was forgotten");
        }
    }
}

/// A world at another tick, as a file or a server could have it.
fn at(world: &World<Entity>, tick: u32, layouts: &Layouts) -> World<Entity> {
    let mut bytes = world.save(layouts);
    bytes[..4].copy_from_slice(&tick.to_le_bytes());
    let world = World::load(&bytes, layouts).expect("only its tick is another");
    assert_eq!(world.tick(), Tick(tick));
    world
}

fn hostile() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0_u32..100_000, (0_u32..70_000).prop_map(|back| u32::MAX - back)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_tick_and_no_record_makes_the_rules_overflow(
        tick in hostile(),
        began in hostile(),
        moments in prop::collection::vec(0_u16..1 << 15, 8),
        pace in 0_u8..8,
        rate in 0_u8..72,
        cell in 0_u16..1 << 14,
        verb in 0_usize..9,
    ) {
        let layouts = Layouts::of::<Entity>();
        let content = Content::new(4, 2, Opening::War);
        let stage = Stage::with(content.clone());
        let mut world = at(stage.world(), tick, &layouts);
        for (_, contest) in world.all_mut::<Contest>() {
            contest.began = began;
        }
        for (_, squad) in world.all_mut::<Squad>() {
            (squad.since, squad.halt, squad.pace) = (moments[0], moments[1], pace);
            squad.points = [Cell(cell), Cell(moments[7] / 2)].into_iter().collect();
        }
        for (_, realm) in world.all_mut::<Realm>() {
            (realm.since, realm.rate) = (moments[2], rate);
        }
        for (_, building) in world.all_mut::<Building>() {
            (building.begun, building.ready, building.count) = (moments[3], moments[4], 15);
        }
        let group = [stage.units(0, UnitKind::Worker)[0].0].into_iter().collect();
        let target = stage.building(0, sametick_islands::BuildingKind::Workshop).0;
        let (verb, place) = (Verb::ALL[verb], content.homes()[0].altar);
        let request = Request { verb, place, target, group, count: 3, ..Request::default() };
        let me = PlayerId(0);
        let _ = Islands::judge(&world, &content, me, &request);
        let _ = Islands::foresee(&world, &content, me, &request);
        let (_, squad) = world.all::<Squad>().next().expect("there are some");
        let _ = (squad.shown_at(f64::from(tick)), squad.legs_ahead(tick).count());
        let _ = (shots(&world), scores(&world, tick));
        let mut bot = Bot::new(1);
        let _ = bot.think(&world, me, &content);
        // The last tick there is has none after it.
        if tick < u32::MAX {
            let mut game = Alone::<Islands>::new(content.clone(), 1, TICK);
            game.set_world(world);
            (0..2).for_each(|player| game.join(PlayerId(player)));
            game.step([(me, request), (PlayerId(1), Request::default())])?;
            let _ = bot.think(game.world(), me, &content);
        }
    }
}
