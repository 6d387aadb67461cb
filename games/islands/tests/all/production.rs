//! What is paid for is made or paid back, whenever a building is asked for more, told to stop, or falls.

use crate::stage::Stage;
use sametick_islands::{
    BEAT_TICKS, Building, BuildingKind, Errand, GRAINS, Health, Job, Opening, Request, Squad,
    UnitKind, Verb,
};

const KIND: UnitKind = UnitKind::Raider;
const FIRST: u8 = 3;

/// Crystals, in grains, and the raiders that were made of them.
fn worth(stage: &Stage) -> u32 {
    let raiders = stage.units(0, KIND).len() as u32;
    stage.realm(0).grains(stage.clock()) + raiders * KIND.table().cost * GRAINS
}

/// Orders at every moment of a beat, and does something at every moment from the order until two units are there.
fn at_every_moment(what: &str, act: impl Fn(&mut Stage) -> u32) {
    let ticks = KIND.table().ticks;
    for begun in 0..BEAT_TICKS {
        for passed in (0..=2).flat_map(|unit| {
            let due: u32 = unit * ticks;
            due.saturating_sub(2 * BEAT_TICKS)..=due + 2 * BEAT_TICKS
        }) {
            let (mut stage, mut idle) =
                (Stage::new(Opening::Settlers), Stage::new(Opening::Settlers));
            stage.wait(begun);
            let (shop, _) = stage.building(0, BuildingKind::Workshop);
            stage.ask(0, &Request::produce(shop, KIND, FIRST)).expect("there is money");
            stage.wait(passed);
            let wanted = act(&mut stage);
            stage.wait(8 * ticks);
            idle.wait(stage.clock() - idle.clock());
            let case = format!("{what}, ordered at {begun}, {passed} ticks after");
            assert_eq!(worth(&stage), worth(&idle), "{case}");
            let made = stage.units(0, KIND).len() as u32 - idle.units(0, KIND).len() as u32;
            assert!(wanted == u32::MAX || made == wanted, "{case}: {made} were made");
        }
    }
}

#[test]
fn whoever_asks_for_more_at_any_moment_gets_all_of_them_and_no_more() {
    at_every_moment("more", |stage| {
        let (shop, _) = stage.building(0, BuildingKind::Workshop);
        stage.ask(0, &Request::produce(shop, KIND, 2)).expect("there is money");
        u32::from(FIRST) + 2
    });
}

#[test]
fn whoever_cancels_at_any_moment_is_paid_back_what_has_not_appeared() {
    at_every_moment("cancel", |stage| {
        let (target, _) = stage.building(0, BuildingKind::Workshop);
        let made = stage.units(0, KIND).len();
        stage
            .ask(0, &Request { verb: Verb::Cancel, target, ..Request::default() })
            .expect("it makes something");
        (made - 4) as u32
    });
}

#[test]
fn what_a_building_that_falls_was_to_make_is_paid_back() {
    at_every_moment("falls", |stage| {
        let (shop, _) = stage.building(0, BuildingKind::Workshop);
        let (id, clock) = (stage.name(shop), stage.clock());
        let mut world = stage.world().clone();
        let mut health = Health::full(1);
        health.set_loss(5, clock);
        world.get_mut::<Building>(id).expect("it stands").health = health;
        stage.game.set_world(world);
        stage.wait(2 * BEAT_TICKS);
        assert!(stage.world().get::<Building>(id).is_none(), "it has fallen");
        u32::MAX
    });
}

#[test]
fn workers_who_cannot_get_to_their_spring_earn_nothing() {
    let mut stage = Stage::new(Opening::Settlers);
    stage.wait(4 * BEAT_TICKS);
    let gathering = stage.realm(0).rate;
    let home = &stage.content.homes()[0];
    let springs = stage.content.springs().iter().copied();
    let far = springs.max_by_key(|spring| spring.apart(home.altar)).expect("there are springs");
    let mut world = stage.world().clone();
    for (_, worker) in stage.units(0, UnitKind::Worker) {
        let id = stage.name(stage.mark(worker.squad));
        let squad = world.get_mut::<Squad>(id).expect("it is there");
        squad.from = home.workshops[0].centre();
        squad.points.clear();
        let mut errands = world.all_mut::<Errand>();
        let (_, errand) = errands.find(|(_, errand)| errand.squad == worker.squad).unwrap();
        (errand.job, errand.goal) = (Job::Gather, far);
    }
    stage.game.set_world(world);
    stage.wait(4 * BEAT_TICKS);
    let waiting = stage.realm(0).rate;
    assert!(waiting < gathering, "{waiting} instead of {gathering}");
    let springs = stage.content.springs().iter().copied();
    let near = springs.min_by_key(|spring| spring.apart(stage.content.homes()[0].altar)).unwrap();
    let (worker, _) = stage.units(0, UnitKind::Worker)[0];
    stage.ask(0, &Request::gather([worker], near)).unwrap();
    stage.wait(1_000);
    assert!(stage.realm(0).rate > waiting, "{worker:?} gathers now");
}
