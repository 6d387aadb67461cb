//! Fog: nobody is told of what none of theirs sees.

use crate::stage::{Stage, bots, think};
use sametick::{Game, PlayerId, Slots};
use sametick_islands::{Content, Entity, Islands, Opening, SUB, Spot};

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
                    Entity::Realm(_) => {
                        assert_eq!(is_told, is_own, "nobody counts another's crystals")
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
