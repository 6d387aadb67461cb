//! How well bots hit: a rooted bot fires its rifle at someone who strafes before it.

use super::party::{Party, hall, place_spawns};
use sametick_arena::bot::{Act, SKILLS, Script, Ways};
use std::f32::consts::PI;
use std::sync::Arc;

const METRES: [f32; 4] = [5.0, 10.0, 20.0, 40.0];
const SEEDS: u64 = 6;

/// Hits and shots of a level at a distance.
fn shoot(level: u8, metres: f32) -> [u32; 2] {
    let mut content = hall(&[]);
    let [rifle, shotgun, launcher] = &mut content.tuning.weapons;
    (rifle.damage, rifle.magazine, rifle.knock) = (0.1, 250, 0.0);
    (shotgun.magazine, launcher.magazine) = (0, 0);
    let east = -28.0 + metres;
    let (from, to) = ([east, -3.0, 0.01], [east, 3.0, 0.01]);
    place_spawns(&mut content, &[([-28.0, 0.0, 0.01], 0.0), (from, PI)]);
    let ways = Arc::new(Ways::new(&content));
    let mut sum = [0; 2];
    for seed in 1..=SEEDS {
        let act = Act::new(Script::Strafe { from, to, speed: 5.0 });
        let mut party = Party::at(60, &content, &ways, &[level], seed, vec![act]);
        party.bots[0].is_rooted = true;
        party.run(12.0);
        let tally = &party.tallies[0];
        sum[0] += tally.hits.iter().sum::<u32>();
        sum[1] += tally.shots.iter().sum::<u32>();
    }
    sum
}

#[test]
fn better_bots_hit_more_and_nearer_ones_are_hit_more() {
    let mut shares = Vec::new();
    for (level, skill) in (1..).zip(SKILLS) {
        let counts = METRES.map(|metres| shoot(level, metres));
        let share = counts.map(|[hits, shots]| hits as f32 / shots.max(1) as f32);
        println!("{:8} {:?} of {:?}", skill.name, share, counts.map(|[_, shots]| shots));
        assert!(counts.iter().all(|[_, shots]| *shots > 50), "{}: {counts:?}", skill.name);
        assert!(share.windows(2).all(|pair| pair[0] > pair[1]), "{}: {share:?}", skill.name);
        shares.push(share);
    }
    for (worse, better) in shares.iter().zip(&shares[1..]) {
        assert!(worse.iter().zip(better).all(|(worse, better)| better > worse), "{shares:?}");
    }
}
