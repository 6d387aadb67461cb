//! What a denial, or a record, must not tell: whether there is anything where one does not see.

use crate::stage::{Stage, bots, think};
use sametick::eventlock::Requests;
use sametick::{Game, PlayerId, Slots};
use sametick_islands::{
    BuildingKind, Content, Denial, Errand, Islands, Link, Mark, Opening, Request, Squad, UnitKind,
    Verb,
};

const ME: PlayerId = PlayerId(0);

/// A request of every sort that names someone: in its group, or as what it concerns.
fn naming(mine: Mark, someone: Mark) -> Vec<Request> {
    let mut requests = Vec::new();
    for verb in Verb::ALL {
        for whole in [false, true] {
            for group in [vec![someone], vec![mine, someone]] {
                let group = group.into_iter().collect();
                requests.push(Request { verb, whole, group, ..Request::default() });
            }
            let group = [mine].into_iter().collect();
            let about = Request { verb, whole, group, target: someone, ..Request::default() };
            for unit in UnitKind::ALL {
                for building in BuildingKind::ALL {
                    requests.push(Request { unit, building, count: 1, ..about.clone() });
                }
            }
        }
    }
    requests
}

#[test]
fn whoever_guesses_at_hidden_names_is_told_the_same_as_of_empty_slots() {
    let mut stage = Stage::with(Content::new(4, 3, Opening::War));
    let mut minds = bots(&stage.content, 4);
    let mut asked_for = 0;
    for _ in 0..8 {
        for _ in 0..100 {
            let asked = think(&mut minds, stage.world(), &stage.content);
            stage.game.step(asked).expect("all numbers are finite");
        }
        let (world, content) = (stage.world(), &stage.content);
        let mut visible = Slots::default();
        Islands::relevant(world, content, ME, &mut visible);
        let soldier = stage.units(0, UnitKind::Archer)[0].0;
        let nobody = Mark(4000 << 3);
        let empty: Vec<_> = naming(soldier, nobody);
        let empty: Vec<_> =
            empty.iter().map(|request| Islands::judge(world, content, ME, request)).collect();
        for (id, entity) in world.entities().filter(|(id, _)| !visible.contains(id.slot())) {
            for (request, empty) in naming(soldier, Mark::to(id)).iter().zip(&empty) {
                let answer = Islands::judge(world, content, ME, request);
                assert_eq!(answer, *empty, "{request:?} tells of {entity:?}");
                asked_for += 1;
            }
        }
    }
    assert!(asked_for > 100_000, "{asked_for}");
}

#[test]
fn whoever_names_what_is_seen_of_others_is_told_that_it_is_not_theirs() {
    let mut stage = Stage::new(Opening::Settlers);
    let theirs = stage.units(1, UnitKind::Raider)[0].1.squad;
    let mine = stage.units(0, UnitKind::Raider)[0].1.squad;
    let (id, there) = (stage.name(stage.mark(mine)), stage.squad(theirs));
    let mut world = stage.world().clone();
    world.get_mut::<sametick_islands::Squad>(id).expect("it is there").from = there.from;
    stage.game.set_world(world);
    let goal = stage.content.homes()[0].altar;
    let march = Request::march([stage.mark(theirs)], goal, true);
    assert_eq!(stage.ask(0, &march), Err(Denial::NotYours));
}

#[test]
fn an_order_whose_unit_has_gone_does_not_reach_the_next_tenant_of_its_slot() {
    let mut stage = Stage::new(Opening::Settlers);
    let (gone, unit) = stage.units(0, UnitKind::Raider)[0];
    let mut world = stage.world().clone();
    world.despawn(stage.name(gone));
    let next = world.spawn_owned(ME, unit).expect("there is room");
    stage.game.set_world(world);
    assert_eq!(Mark::to(next).link(), gone.link(), "the slot is the same");
    let goal = stage.content.homes()[0].workshops[1];
    let go = |who| Request { whole: false, ..Request::march([who], goal, false) };
    assert_eq!(stage.ask(0, &go(gone)), Err(Denial::Gone));
    assert_eq!(stage.ask(0, &go(Mark::to(next))), Ok(()));
}

#[test]
fn what_is_asked_of_a_building_that_fell_does_not_reach_the_next() {
    let mut stage = Stage::new(Opening::Settlers);
    let (gone, shop) = stage.building(0, BuildingKind::Workshop);
    let mut world = stage.world().clone();
    world.despawn(stage.name(gone));
    let next = world.spawn_owned(ME, shop).expect("there is room");
    stage.game.set_world(world);
    assert_eq!(Mark::to(next).link(), gone.link(), "the slot is the same");
    let make = |shop| Request::produce(shop, UnitKind::Raider, 1);
    assert_eq!(stage.ask(0, &make(gone)), Err(Denial::Gone));
    assert_eq!(stage.ask(0, &make(Mark::to(next))), Ok(()));
}

#[test]
fn every_squad_has_one_errand_of_the_same_owner_and_none_outlives_it() {
    let mut stage = Stage::with(Content::new(4, 3, Opening::War));
    let mut minds = bots(&stage.content, 4);
    for tick in 0..6_000 {
        let asked = think(&mut minds, stage.world(), &stage.content);
        stage.game.step(asked).expect("all numbers are finite");
        if tick == 5_000 {
            stage.game.leave(PlayerId(2));
        }
        let world = stage.world();
        let squads = world.all::<Squad>().map(|(id, _)| (Link::to(id), world.owner(id)));
        let errands = world.all::<Errand>().map(|(id, errand)| (errand.squad, world.owner(id)));
        let [mut squads, mut errands] = [squads.collect::<Vec<_>>(), errands.collect()];
        squads.sort_unstable();
        errands.sort_unstable();
        assert_eq!(squads, errands, "in tick {tick}");
    }
}
