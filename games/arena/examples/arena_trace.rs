//! Plays a match and a practice without anyone and tells the hash of all their worlds: the same natively, as released,
//! and in wasm.

use sametick_arena::{Content, Jumping, Mode, Space, TargetKind, TargetSet, Tuning, map, trace};

/// Targets that orbit, jump, go a set way and glide, after a wait by chance.
fn targets() -> TargetSet {
    let jumping = Jumping { seconds: [0.2, 0.6], speed: [20.0, 40.0], gravity: [8.0, 12.0] };
    let near = TargetKind {
        distance: [6.0, 12.0],
        size: [0.4, 1.5],
        speed: [5.0, 60.0],
        turn_seconds: [0.2, 0.9],
        respawns: None,
        away_seconds: 0.2,
        ..TargetKind::default()
    };
    let way = vec![(0.0, [6.0, -2.0, 1.0]), (0.7, [8.0, 2.0, 0.5]), (1.5, [6.0, -2.0, 1.0])];
    let kinds = vec![
        near.clone(),
        TargetKind { jumping: Some(jumping), ..near.clone() },
        TargetKind { way, ..near.clone() },
        TargetKind { space: Space::World, speed: [1.0, 9.0], ..near },
    ];
    TargetSet { kinds, wait_seconds: [0.3, 1.2], wait_mean_seconds: 0.6 }
}

fn main() {
    let content = Content::new(map::HALLS, Mode::Teams).expect("the map is sound");
    let fights = trace(content, 1, 16, 1_800).expect("all numbers are finite");
    let content = Content::new(map::FIELD, Mode::Practice).expect("the map is sound");
    let tuning = Tuning { pause_seconds: 0.5, ..content.tuning.clone() };
    let content = Content { targets: targets(), tuning, ..content };
    content.targets.check().expect("they can be played");
    let practice = trace(content, 2, 4, 900).expect("all numbers are finite");
    let text = format!("sametick trace {:016x}", fights.rotate_left(1) ^ practice);
    println!("{text}");
    // In wasm there is nowhere to print to: whoever runs it there looks for the text in its memory.
    text.leak();
}
