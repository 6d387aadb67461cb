//! Fog: nobody is told of what none of theirs sees.

use crate::stage::{Stage, bots, think};
use sametick::{EntityId, Game, PlayerId, Slots, World};
use sametick_islands::{
    Building, BuildingKind, Cell, Content, Denial, Entity, Errand, Health, Islands, Job, Opening,
    Request, SUB, Sight, Spot, Squad, UnitKind, foresee, judge,
};

/// The farthest that anyone sees: three blocks and the one it stands in, corner to corner.
const FAR: i32 = SUB * 16 * 3 / 2;

#[test]
fn what_is_told_of_others_is_within_sight_of_something_of_ones_own() {
    let mut stage = Stage::with(Content::new(6, 4, Opening::War));
    let mut bots = bots(&stage.content, 6);
    let (mut seen, mut hidden) = (0_u32, 0_u32);
    for tick in 0..4_000 {
        let asked = think(&mut bots, stage.world(), &stage.content);
        stage.game.step(asked).expect("all numbers are finite");
        if tick % 50 != 0 {
            continue;
        }
        let (world, clock) = (stage.world(), stage.clock());
        for player in (0..4).map(PlayerId) {
            let mut visible = Slots::default();
            Islands::relevant(world, &stage.content, player, &mut visible);
            let spot = |entity: &Entity| match entity {
                Entity::Squad(squad) => Some(squad.spot(clock)),
                Entity::Building(building) => Some(building.spot()),
                _ => None,
            };
            let eyes: Vec<Spot> =
                world.all_owned(player).filter_map(|(_, entity)| spot(entity)).collect();
            for (id, entity) in world.entities() {
                let is_own = world.owner(id) == Some(player);
                let is_told = visible.contains(id.slot());
                assert!(is_told || !is_own, "its own is told of");
                let near = |spot: Spot| eyes.iter().any(|eye| eye.is_within(spot, FAR));
                match entity {
                    Entity::Realm(_) | Entity::Errand(_) => {
                        assert_eq!(is_told, is_own, "nobody knows another's crystals or aims")
                    }
                    Entity::Squad(_) | Entity::Building(_) if !is_own => {
                        let spot = spot(entity).expect("it is somewhere");
                        assert!(
                            !is_told || near(spot),
                            "{player:?} is told of {id:?} at {spot:?} in tick {tick}"
                        );
                        *if is_told { &mut seen } else { &mut hidden } += 1;
                    }
                    Entity::Unit(unit) if !is_own => {
                        let squad = world.all::<sametick_islands::Squad>();
                        let mut squad =
                            squad.filter(|(id, _)| sametick_islands::Link::to(*id) == unit.squad);
                        let squad = squad.next().expect("every unit has a squad").0;
                        assert_eq!(
                            is_told,
                            visible.contains(squad.slot()),
                            "a unit is seen where its squad is"
                        );
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(seen > 500 && hidden > 5_000, "{seen} seen, {hidden} hidden");
}

#[test]
fn a_bot_asks_for_the_same_whether_it_is_given_the_world_or_what_its_player_is_told_of() {
    let mut stage = Stage::with(Content::new(7, 3, Opening::War));
    let mut knowing = bots(&stage.content, 7);
    let mut told = bots(&stage.content, 7);
    for tick in 0..3_000 {
        let asked = think(&mut knowing, stage.world(), &stage.content);
        for (player, request) in &asked {
            let mut visible = Slots::default();
            Islands::relevant(stage.world(), &stage.content, *player, &mut visible);
            let mut part = stage.world().clone();
            let hidden: Vec<_> = part
                .entities()
                .map(|(id, _)| id)
                .filter(|id| !visible.contains(id.slot()))
                .collect();
            hidden.into_iter().for_each(|id| _ = part.despawn(id));
            let again = told[usize::from(player.0)].think(&part, *player, &stage.content);
            assert_eq!(*request, again, "{player:?} in tick {tick}");
        }
        stage.game.step(asked).expect("all numbers are finite");
    }
}

/// What a player is told of.
fn told(stage: &Stage, player: PlayerId) -> World<Entity> {
    let (mut told, mut visible) = (stage.world().clone(), Slots::default());
    Islands::relevant(stage.world(), &stage.content, player, &mut visible);
    let hidden = told.entities().map(|(id, _)| id).filter(|id| !visible.contains(id.slot()));
    hidden.collect::<Vec<EntityId>>().into_iter().for_each(|id| _ = told.despawn(id));
    told
}

/// Lets the second player have bridges on every water cell from home to home, along one axis and then the other.
fn bridged(opening: Opening) -> (Stage, Vec<Cell>) {
    let mut stage = Stage::new(opening);
    let [from, to] = [0, 1].map(|seat| stage.content.homes()[seat].altar);
    let step = |at: i32, to: i32| at + (to - at).signum();
    let mut world = stage.world().clone();
    let (mut at, mut bridges) = (from, Vec::new());
    while at != to {
        let x = step(at.x(), to.x());
        let y = if at.x() == to.x() { step(at.y(), to.y()) } else { at.y() };
        at = Cell::new(x, y).expect("between two cells of the map");
        if !stage.content.is_land(at) {
            let bridge = Building {
                health: Health::full(120),
                kind: BuildingKind::Bridge,
                cell: at,
                seat: 1,
                span: 1,
                ready: 1,
                ..Building::default()
            };
            world.spawn_owned(PlayerId(1), bridge).expect("there is room");
            bridges.push(at);
        }
    }
    stage.game.set_world(world);
    (stage, bridges)
}

#[test]
fn a_client_sends_on_what_only_hidden_bridges_would_allow_and_the_server_says() {
    let (stage, bridges) = bridged(Opening::War);
    let (me, content) = (PlayerId(0), &stage.content);
    let known = told(&stage, me);
    let hidden = bridges
        .iter()
        .filter(|cell| !known.all::<Building>().any(|(_, building)| building.cell == **cell));
    assert!(hidden.count() > 3, "most of the way is in the dark");
    let squad = stage.mark(stage.units(0, UnitKind::Raider)[0].1.squad);
    let march = Request::march([squad], content.homes()[1].altar, true);
    assert_eq!(
        judge(stage.world(), content, me, &march),
        Ok(()),
        "the server knows of the bridges"
    );
    assert_eq!(judge(&known, content, me, &march), Err(Denial::Unreachable), "the client does not");
    assert_eq!(foresee(&known, content, me, &march), Ok(()), "and leaves it to the server");
}

#[test]
fn a_bridge_may_go_on_from_one_that_is_hidden() {
    let (stage, bridges) = bridged(Opening::War);
    let (me, content) = (PlayerId(0), &stage.content);
    let known = told(&stage, me);
    let worker = stage.units(0, UnitKind::Worker)[0].0;
    let beside = |shore: &Cell| {
        let directions = sametick_islands::DIRECTIONS.into_iter().enumerate();
        let run = directions.map(|(direction, (x, y))| (shore.offset(x, y), direction as u8));
        run.filter_map(|(first, direction)| Some(Request::bridge(worker, first?, direction, 1)))
            .find(|request| judge(stage.world(), content, me, request).is_ok())
    };
    let lawful: Vec<Request> = bridges.iter().filter_map(beside).collect();
    assert!(!lawful.is_empty());
    let refused = |request: &&Request| judge(&known, content, me, request).is_err();
    assert!(lawful.iter().any(|request| refused(&request)), "some go on in the dark");
    for request in &lawful {
        assert_eq!(foresee(&known, content, me, request), Ok(()), "{request:?}");
    }
}

#[test]
fn a_client_does_not_send_what_is_plainly_unlawful() {
    let mut stage = Stage::new(Opening::War);
    let me = PlayerId(0);
    let squad = stage.units(0, UnitKind::Raider)[0].1.squad;
    let march = Request::march([stage.mark(squad)], stage.content.homes()[1].altar, true);
    // With eyes everywhere all water is seen, and no bridge on it.
    let mut world = stage.world().clone();
    for (x, y) in (0..16).flat_map(|y| (0..16).map(move |x| (x * 8 + 4, y * 8 + 4))) {
        let from = Cell::new(x, y).expect("it is on the map").centre();
        world.spawn_owned(me, Squad { from, flies: true, ..Squad::default() }).expect("room");
    }
    stage.game.set_world(world);
    let known = told(&stage, me);
    assert_eq!(foresee(&known, &stage.content, me, &march), Err(Denial::Unreachable));
    let nobody = Request::march([], stage.content.homes()[0].altar, true);
    assert_eq!(foresee(&known, &stage.content, me, &nobody), Err(Denial::Nobody));
}

#[test]
fn whoever_is_out_sees_what_the_next_who_is_in_sees_and_no_errand() {
    let mut stage = Stage::with(Content::new(4, 3, Opening::War));
    let mut world = stage.world().clone();
    for (_, contest) in world.all_mut::<sametick_islands::Contest>() {
        contest.out = 0b001;
    }
    stage.game.set_world(world);
    let seen = |player: u16| sametick_islands::Sight::of(stage.world(), PlayerId(player));
    assert_eq!(seen(0), seen(1));
    assert_ne!(seen(1), seen(2));
    let known = told(&stage, PlayerId(0));
    let theirs = |id: EntityId| known.owner(id) == Some(PlayerId(1));
    assert!(known.all::<Squad>().any(|(id, _)| theirs(id)));
    assert!(!known.all::<sametick_islands::Errand>().any(|(id, _)| theirs(id)));
    assert!(!known.all::<Squad>().any(|(id, _)| known.owner(id) == Some(PlayerId(2))));
}

#[test]
fn an_attack_does_not_follow_its_target_into_the_dark() {
    let (mut stage, _) = bridged(Opening::War);
    let (link, aim) =
        (stage.units(0, UnitKind::Raider)[0].1.squad, stage.units(1, UnitKind::Raider)[0].0);
    let there = stage.squad(stage.units(1, UnitKind::Raider)[0].1.squad).spot(stage.clock());
    assert!(!Sight::of(stage.world(), PlayerId(0)).sees(there), "it is hidden");
    let mut world = stage.world().clone();
    let (_, errand) = world.all_mut::<Errand>().find(|(_, errand)| errand.squad == link).unwrap();
    (errand.job, errand.aim) = (Job::Attack, aim.link());
    stage.game.set_world(world);
    let before = stage.squad(link).end();
    for _ in 0..300 {
        stage.wait(1);
        assert_eq!(stage.squad(link).end(), before, "its way tells where the target is");
    }
}

#[test]
fn a_squad_that_stopped_to_fight_does_not_go_on_over_a_bridge_that_fell() {
    let (mut stage, bridges) = bridged(Opening::War);
    let link = stage.units(0, UnitKind::Raider)[0].1.squad;
    let march = Request::march([stage.mark(link)], stage.content.homes()[1].altar, true);
    stage.ask(0, &march).expect("bridges lead there");
    stage.wait(4);
    assert!(stage.squad(link).is_moving(stage.clock()));
    let (id, clock) = (stage.name(stage.mark(link)), stage.clock());
    let mut world = stage.world().clone();
    world.get_mut::<Squad>(id).expect("it is there").halt = clock as u16;
    let fallen = world.all::<Building>().filter(|(_, one)| bridges.contains(&one.cell));
    let fallen: Vec<EntityId> = fallen.map(|(id, _)| id).collect();
    assert!(!fallen.is_empty());
    fallen.into_iter().for_each(|id| _ = world.despawn(id));
    stage.game.set_world(world);
    for _ in 0..600 {
        stage.wait(1);
        let cell = stage.squad(link).spot(stage.clock()).cell();
        assert!(stage.content.is_land(cell), "it walks over water at {cell:?}");
    }
}
