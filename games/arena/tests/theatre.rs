//! The claims of the theatre's scenes: each of their sentences is measured.

use sametick::theatre::{Recorded, Setup, run};
use sametick::{Model, Span};
use sametick_arena::theatre::Staged;

fn under(scene: &Staged, model: Model) -> Setup {
    Setup { rates: model.rates, view: model.view, ..scene.setup() }
}

fn staged(key: &str) -> Staged {
    Staged::named(key).unwrap()
}

fn played(scene: &Staged) -> Recorded {
    run(scene, &scene.setup())
}

#[test]
fn print_all() {
    for scene in Staged::all() {
        let begun = std::time::Instant::now();
        let shown = played(&scene);
        println!("{}: {} frames, {} packets, {} shots, {:?}, {:?}", scene.key, shown.frames.len(), shown.packets.len(),
            shown.shots.len(), begun.elapsed(), scene.moment(&shown));
        for model in Model::ALL {
            let shown = run(&scene, &under(&scene, model));
            let hits = shown.shots.iter().filter(|shot| shot.hit.is_some()).count();
            let most = shown.shots.iter().map(|shot| shot.rewound).max();
            println!("   {}: hits {hits} of {}, back {most:?}, {:?}", model.name, shown.shots.len(),
                scene.moment(&shown).map(|m| (shown.frames[m.frame].at, m.caption)));
        }
        let _ = Span::ZERO;
    }
}
