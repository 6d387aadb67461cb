use sametick_arena::map::*;
#[test]
fn maps() {
    for (name, text) in MAPS {
        let map = Map::read(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let t = std::time::Instant::now();
        let v = map.visibility();
        println!("{name}: {} brushes, {} cells, hidden {:.3}, {:?}", map.brushes().len(), v.len(), v.hidden_share(), t.elapsed());
        for s in &map.spawns { assert!(map.ground(s.place, 1.0).is_some(), "{name} {:?}", s.place); }
        for t in &map.teleporters { assert!(map.ground(t.to, 1.0).is_some(), "{name} {:?}", t.to); }
        for s in &map.items { assert!(map.fits([0.3; 3], s.place), "{name} {:?}", s.place); }
        for s in &map.props { assert!(map.fits([0.5; 3], [s.place[0],s.place[1],s.place[2]+0.51]), "{name} prop {:?}", s.place); }
        for s in &map.targets { assert!(map.fits([0.5; 3], s.place), "{name} target {:?}", s.place); }
    }
}
