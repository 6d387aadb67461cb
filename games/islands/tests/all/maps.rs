//! Maps are fair: everyone begins alike, on firm ground, apart from everyone else.

use sametick_islands::{Content, Ground, Opening, SEATS_MAX};

#[test]
fn every_map_gives_everyone_a_home_alike_and_apart() {
    for (seed, players) in
        (0..40).flat_map(|seed| (2..=SEATS_MAX as u8).map(move |players| (seed, players)))
    {
        let map = Content::new(seed, players, Opening::Settlers);
        let ground = Ground::of_land(&map);
        assert_eq!(map.homes().len(), usize::from(players));
        let sizes: Vec<usize> = map
            .homes()
            .iter()
            .map(|home| {
                let island = ground.reachable(home.altar);
                let cells = (0..map.side()).flat_map(|y| (0..map.side()).map(move |x| (x, y)));
                let cells = cells.filter_map(|(x, y)| sametick_islands::Cell::new(x, y));
                let springs = home.springs.map(|spring| map.springs()[usize::from(spring)]);
                let all = home
                    .workshops
                    .into_iter()
                    .chain(home.towers)
                    .chain(springs)
                    .chain([home.altar]);
                let all: Vec<_> = all.collect();
                assert!(
                    all.iter().all(|cell| island.is_open(*cell)),
                    "seed {seed}, {players} players: {home:?}"
                );
                let built = [&home.workshops[..], &home.towers[..], &[home.altar]].concat();
                for (index, one) in built.iter().enumerate() {
                    assert!(
                        built[..index].iter().all(|other| one.apart(*other) > 1),
                        "seed {seed}, {players}: {home:?}"
                    );
                    assert!(
                        springs.iter().all(|spring| one.apart(*spring) > 1),
                        "seed {seed}, {players}: {home:?}"
                    );
                }
                let others = map.homes().iter().filter(|other| *other != home);
                others.for_each(|other| {
                    assert!(!island.is_open(other.altar), "seed {seed}, {players} players")
                });
                cells.filter(|cell| island.is_open(*cell)).count()
            })
            .collect();
        let (least, most) =
            (sizes.iter().min().copied().unwrap_or(0), sizes.iter().max().copied().unwrap_or(0));
        // Round islands on square cells: alike to a tenth.
        assert!(least > 120 && most * 9 <= least * 10, "seed {seed}, {players} players: {sizes:?}");
    }
}

#[test]
fn a_map_has_a_name_of_its_own() {
    let name = |seed, players, opening| Content::new(seed, players, opening).name();
    assert_eq!(name(1, 4, Opening::War), name(1, 4, Opening::War));
    let names = [
        name(1, 4, Opening::War),
        name(2, 4, Opening::War),
        name(1, 5, Opening::War),
        name(1, 4, Opening::Settlers),
        Content::new(1, 4, Opening::War).lasting(60).name(),
    ];
    assert!((0..5).all(|one| (0..one).all(|other| names[one] != names[other])), "{names:?}");
}
