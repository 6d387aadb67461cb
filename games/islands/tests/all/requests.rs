//! Each kind of request, lawful and not: what is refused changes nothing.

use crate::stage::Stage;
use sametick::PlayerId;
use sametick_islands::{
    BuildingKind, Cell, DIRECTIONS, Denial, Job, Link, Mark, Opening, Request, UNITS_MAX, UnitKind,
    Verb,
};

/// What an altar draws by itself, as workers.
const ALTAR: u8 = 3;

/// The first run of a bridge off a player's island, to the east or west.
fn shore(stage: &Stage, seat: usize) -> (Cell, u8) {
    let altar = stage.content.homes()[seat].altar;
    for (direction, (x, y)) in DIRECTIONS.into_iter().enumerate() {
        let mut cell = altar;
        while stage.content.is_land(cell) {
            cell = cell.offset(x, y).expect("islands end before the map");
        }
        let run = (0..4).map(|step| cell.offset(x * step, y * step));
        if run.into_iter().all(|cell| {
            cell.is_some_and(|cell| stage.content.is_inside(cell) && !stage.content.is_land(cell))
        }) {
            return (cell, direction as u8);
        }
    }
    panic!("an island without open water");
}

#[test]
fn a_squad_goes_where_it_is_told_and_arrives_when_its_way_says() {
    let mut stage = Stage::new(Opening::Settlers);
    let raiders = stage.units(0, UnitKind::Raider);
    let squad = raiders[0].1.squad;
    let goal = stage.content.homes()[0].workshops[1];
    stage.ask(0, &Request::march([stage.mark(squad)], goal, false)).expect("it is theirs");
    let told = stage.squad(squad);
    let errand = stage.errand(squad);
    assert_eq!((errand.job, errand.goal), (Job::Go, goal));
    while stage.squad(squad).is_moving(stage.clock()) {
        assert_eq!(stage.squad(squad), told, "nothing changes on the way");
        stage.wait(1);
    }
    assert_eq!(stage.squad(squad).spot(stage.clock()), goal.centre());
}

#[test]
fn a_part_of_a_squad_leaves_it_and_nobody_jumps() {
    let mut stage = Stage::new(Opening::War);
    let raiders = stage.units(0, UnitKind::Raider);
    let squad = raiders[0].1.squad;
    let some: Vec<Mark> = raiders.iter().take(5).map(|(link, _)| *link).collect();
    let goal = stage.content.homes()[0].workshops[0];
    let mut request = Request::march(some.iter().copied(), goal, true);
    request.whole = false;
    let before = stage.squad(squad).spot(stage.clock());
    stage.ask(0, &request).expect("they are theirs");
    let after = stage.units(0, UnitKind::Raider);
    let gone = after.iter().find(|(link, _)| *link == some[0]).expect("it lives").1;
    assert_ne!(gone.squad, squad);
    assert_eq!(after.iter().filter(|(_, unit)| unit.squad == squad).count(), raiders.len() - 5);
    assert_eq!(stage.squad(gone.squad).from, before);
    assert_eq!(gone.place, raiders[0].1.place);
}

#[test]
fn nobody_leads_what_is_not_theirs_nor_what_is_gone_nor_nobody() {
    let mut stage = Stage::new(Opening::Settlers);
    let theirs = stage.mark(stage.units(1, UnitKind::Raider)[0].1.squad);
    let goal = stage.content.homes()[0].altar;
    assert_eq!(stage.ask(0, &Request::march([theirs], goal, true)), Err(Denial::Gone));
    assert_eq!(stage.ask(0, &Request::march([Mark(4000 << 3)], goal, true)), Err(Denial::Gone));
    assert_eq!(stage.ask(0, &Request::march([], goal, true)), Err(Denial::Nobody));
    assert_eq!(stage.ask(7, &Request::march([theirs], goal, true)), Err(Denial::NotPlaying));
    let across = stage.content.homes()[1].altar;
    let mine = stage.mark(stage.units(0, UnitKind::Raider)[0].1.squad);
    assert_eq!(stage.ask(0, &Request::march([mine], across, true)), Err(Denial::Unreachable));
}

#[test]
fn workers_gather_where_there_is_room_and_others_never() {
    let mut stage = Stage::new(Opening::Settlers);
    let workers: Vec<Mark> =
        stage.units(0, UnitKind::Worker).iter().map(|(link, _)| *link).collect();
    let raider = stage.units(0, UnitKind::Raider)[0].0;
    let spring = stage.content.springs()[usize::from(stage.content.homes()[0].springs[1])];
    assert_eq!(
        stage.ask(0, &Request::gather(workers.iter().copied(), spring)),
        Err(Denial::SpringIsFull)
    );
    assert_eq!(stage.ask(0, &Request::gather([raider], spring)), Err(Denial::NoWorker));
    let altar = stage.content.homes()[0].altar;
    assert_eq!(stage.ask(0, &Request::gather([workers[0]], altar)), Err(Denial::NoSpring));
    stage.wait(8);
    assert_eq!(stage.realm(0).rate, ALTAR + 4);
    stage
        .ask(0, &Request::gather([workers[0], workers[2]], spring))
        .expect("there is room for three");
    stage.wait(8);
    assert_eq!(stage.realm(0).rate, ALTAR + 2, "who is on the way gathers nothing");
    stage.wait(300);
    assert_eq!(stage.realm(0).rate, ALTAR + 4);
}

#[test]
fn a_tower_is_paid_for_walked_to_and_built() {
    let mut stage = Stage::new(Opening::Settlers);
    let worker = stage.units(0, UnitKind::Worker)[0].0;
    let home = stage.content.homes()[0];
    let tower = |place| Request::build(worker, BuildingKind::Tower, place);
    assert_eq!(stage.ask(0, &tower(home.altar)), Err(Denial::Occupied));
    assert_eq!(stage.ask(0, &tower(Cell::new(0, 0).expect("a corner"))), Err(Denial::NotOnLand));
    assert_eq!(
        stage.ask(0, &Request::build(worker, BuildingKind::Altar, home.towers[0])),
        Err(Denial::CannotMake)
    );
    let raider = stage.units(0, UnitKind::Raider)[0].0;
    assert_eq!(
        stage.ask(0, &Request::build(raider, BuildingKind::Tower, home.towers[0])),
        Err(Denial::NoWorker)
    );
    let before = stage.realm(0).crystals(stage.clock());
    stage.ask(0, &tower(home.towers[0])).expect("there is room and money");
    assert!(stage.realm(0).crystals(stage.clock()) + 58 <= before);
    assert_eq!(stage.building(0, BuildingKind::Tower).1.ready, 0, "nobody is there yet");
    stage.wait(900);
    assert!(stage.building(0, BuildingKind::Tower).1.is_ready(stage.clock()));
}

#[test]
fn a_bridge_begins_at_a_shore_crosses_water_and_carries_when_it_stands() {
    let mut stage = Stage::new(Opening::Settlers);
    let worker = stage.units(0, UnitKind::Worker)[0].0;
    let (first, direction) = shore(&stage, 0);
    let altar = stage.content.homes()[0].altar;
    assert_eq!(
        stage.ask(0, &Request::bridge(worker, altar, direction, 3)),
        Err(Denial::NotABridge)
    );
    assert_eq!(
        stage.ask(0, &Request::bridge(worker, first, direction, 0)),
        Err(Denial::NotABridge)
    );
    let (x, y) = DIRECTIONS[usize::from(direction)];
    let off = first.offset(x * 2, y * 2).expect("open water");
    assert_eq!(
        stage.ask(0, &Request::bridge(worker, off, direction, 2)),
        Err(Denial::NotABridge),
        "in mid-water"
    );
    stage.ask(0, &Request::bridge(worker, first, direction, 3)).expect("a shore");
    assert_eq!(
        stage.ask(0, &Request::bridge(worker, first, direction, 2)).err(),
        None,
        "the same plan again"
    );
    stage.wait(900);
    assert!(stage.building(0, BuildingKind::Bridge).1.is_ready(stage.clock()));
    assert_eq!(stage.ask(0, &Request::bridge(worker, first, direction, 2)), Err(Denial::Occupied));
    let raider = stage.units(0, UnitKind::Raider)[0].1.squad;
    stage.ask(0, &Request::march([stage.mark(raider)], off, false)).expect("one can walk there");
    stage.wait(400);
    assert_eq!(stage.squad(raider).spot(stage.clock()).cell(), off);
}

#[test]
fn a_workshop_makes_what_is_paid_for_one_after_the_other() {
    let mut stage = Stage::new(Opening::Settlers);
    let (shop, _) = stage.building(0, BuildingKind::Workshop);
    let (altar, _) = stage.building(0, BuildingKind::Altar);
    assert_eq!(stage.ask(0, &Request::produce(shop, UnitKind::Worker, 1)), Err(Denial::CannotMake));
    assert_eq!(
        stage.ask(0, &Request::produce(altar, UnitKind::Raider, 1)),
        Err(Denial::CannotMake)
    );
    assert_eq!(stage.ask(1, &Request::produce(shop, UnitKind::Raider, 1)), Err(Denial::Gone));
    assert_eq!(stage.ask(0, &Request::produce(shop, UnitKind::Raider, 15)), Err(Denial::TooPoor));
    assert_eq!(stage.ask(0, &Request::produce(shop, UnitKind::Raider, 0)), Err(Denial::CannotMake));
    stage.ask(0, &Request::produce(shop, UnitKind::Raider, 3)).expect("there is money");
    assert_eq!(stage.ask(0, &Request::produce(shop, UnitKind::Archer, 1)), Err(Denial::Busy));
    let ticks = UnitKind::Raider.table().ticks;
    for made in 1..=3 {
        stage.wait(ticks);
        assert_eq!(stage.units(0, UnitKind::Raider).len(), 4 + made);
    }
    stage.wait(2 * ticks);
    assert_eq!(stage.units(0, UnitKind::Raider).len(), 7, "no more than were ordered");
}

#[test]
fn what_is_cancelled_is_paid_back() {
    let mut stage = Stage::new(Opening::Settlers);
    let (shop, _) = stage.building(0, BuildingKind::Workshop);
    let cancel = |target| Request { verb: Verb::Cancel, target, ..Request::default() };
    assert_eq!(stage.ask(0, &cancel(shop)), Err(Denial::CannotMake));
    let before = stage.realm(0).crystals(stage.clock());
    stage.ask(0, &Request::produce(shop, UnitKind::Raider, 3)).expect("there is money");
    stage.ask(0, &cancel(shop)).expect("it makes something");
    assert!(stage.realm(0).crystals(stage.clock()) >= before);
    stage.wait(400);
    assert_eq!(stage.units(0, UnitKind::Raider).len(), 4);
    let worker = stage.units(0, UnitKind::Worker)[0].0;
    let place = stage.content.homes()[0].towers[0];
    stage.ask(0, &Request::build(worker, BuildingKind::Tower, place)).expect("there is money");
    let (tower, _) = stage.building(0, BuildingKind::Tower);
    stage.ask(0, &cancel(tower)).expect("it is not built yet");
    assert_eq!(stage.errand(stage.units(0, UnitKind::Worker)[0].1.squad).aim, Link::NOBODY);
}

#[test]
fn nobody_attacks_what_is_theirs_or_what_they_do_not_see() {
    let mut stage = Stage::new(Opening::Settlers);
    let raider = stage.units(0, UnitKind::Raider)[0].0;
    let worker = stage.units(0, UnitKind::Worker)[0].0;
    let attack = |who: Mark, target| Request {
        verb: Verb::Attack,
        target,
        group: [who].into_iter().collect(),
        ..Request::default()
    };
    let mine = stage.building(0, BuildingKind::Altar).0;
    let theirs = stage.building(1, BuildingKind::Altar).0;
    assert_eq!(stage.ask(0, &attack(raider, mine)), Err(Denial::NoEnemy));
    assert_eq!(stage.ask(0, &attack(worker, mine)), Err(Denial::Unarmed));
    assert_eq!(stage.ask(0, &attack(raider, theirs)), Err(Denial::Gone), "it is in the dark");
}

#[test]
fn no_realm_grows_past_its_bound() {
    let mut stage = Stage::new(Opening::War);
    let (shop, _) = stage.building(0, BuildingKind::Workshop);
    stage.wait(1200);
    while stage.ask(0, &Request::produce(shop, UnitKind::Raider, 5)).is_ok() {
        stage.wait(5 * UnitKind::Raider.table().ticks);
    }
    let all = UnitKind::ALL.iter().map(|kind| stage.units(0, *kind).len()).sum::<usize>();
    assert!(all <= UNITS_MAX && all + 5 > UNITS_MAX, "{all}");
    assert_eq!(stage.ask(0, &Request::produce(shop, UnitKind::Raider, 5)), Err(Denial::TooMany));
}

#[test]
fn who_loses_the_altar_is_out_and_the_last_one_wins() {
    let mut stage = Stage::new(Opening::Settlers);
    stage.game.leave(PlayerId(1));
    stage.wait(8);
    let contest = sametick_islands::contest(stage.world());
    assert!(contest.is_over && contest.winner == Some(0), "{contest:?}");
    let raider = stage.units(0, UnitKind::Raider)[0].1.squad;
    let goal = stage.content.homes()[0].altar;
    assert_eq!(stage.ask(0, &Request::march([stage.mark(raider)], goal, true)), Err(Denial::Over));
    assert!(stage.mark(raider).0 > 0);
}

#[test]
fn every_denial_has_words_and_a_code_of_its_own() {
    for (code, denial) in Denial::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(denial.code()), code);
        assert!(denial.words().ends_with('.'));
    }
}
