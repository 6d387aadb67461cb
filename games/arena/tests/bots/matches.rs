//! Matches of bots, scaled down: the example `bot_match` plays the long ones.

use super::party::{MAPS, Party};
use sametick_arena::{Content, Contest, Mode};
use std::collections::BTreeSet;

/// How far a bot goes in a minute of life at least, into how many bits of places, and how long it stands at most.
const METRES_PER_MINUTE_MIN: f32 = 180.0;
const ENTROPY_MIN: f32 = 3.0;
/// Twice as long as the lift takes to come back.
const STILL_SECONDS_MAX: f32 = 20.0;

fn play(which: usize, mode: Mode, levels: &[u8], seconds: f32, seed: u64) -> Party {
    let (name, content, ways) = &MAPS[which];
    let content = Content { mode, ..content.clone() };
    let mut party = Party::new(&content, ways, levels, seed);
    party.run(seconds);
    let scores: Vec<_> = party.tallies.iter().map(|tally| (tally.score, tally.deaths)).collect();
    println!("{name} {mode:?} {levels:?}: {scores:?}");
    for (tally, player) in party.tallies.iter().zip(0..) {
        let case = format!("{name} {mode:?} {levels:?}, seed {seed}, player {player}");
        let (metres, entropy) = (tally.metres_per_minute(), tally.place_entropy());
        assert!(metres > METRES_PER_MINUTE_MIN, "{case}: {metres} m a minute");
        assert!(entropy > ENTROPY_MIN, "{case}: {entropy} bits of places");
        let still = tally.still_seconds_max;
        assert!(still < STILL_SECONDS_MAX, "{case}: stood for {still} s");
        assert!(tally.score > -4, "{case}: kills itself, {}", tally.score);
    }
    party
}

/// Kills are other players' deaths, but for a few who fell or burst.
fn check_scores(party: &Party, kills_min: i32) {
    let kills: i32 = party.tallies.iter().map(|tally| i32::from(tally.score)).sum();
    let deaths: i32 = party.tallies.iter().map(|tally| i32::from(tally.deaths)).sum();
    assert!(kills >= kills_min && kills <= deaths, "{kills} kills, {deaths} deaths");
    assert!(deaths - kills <= 4 + deaths / 5, "{kills} kills, {deaths} deaths");
}

#[test]
fn everyone_against_everyone_on_corners() {
    (1..=5).for_each(|level| check_scores(&play(0, Mode::FreeForAll, &[level; 6], 60.0, 1), 2));
}

#[test]
fn everyone_against_everyone_in_halls() {
    (1..=5).for_each(|level| check_scores(&play(1, Mode::FreeForAll, &[level; 8], 60.0, 1), 1));
}

#[test]
fn everyone_against_everyone_on_the_field() {
    (1..=5).for_each(|level| check_scores(&play(2, Mode::FreeForAll, &[level; 12], 40.0, 1), 2));
}

#[test]
fn teams_and_duels() {
    for which in 0..3 {
        let party = play(which, Mode::Teams, &[4; 8], 60.0, 2);
        check_scores(&party, 2);
        let (_, contest) = party.world().all::<Contest>().next().expect("there is one");
        let sum = |team: u8| -> i16 {
            party.tallies.iter().filter(|tally| tally.team == team).map(|tally| tally.score).sum()
        };
        assert_eq!(contest.team_scores, [sum(1), sum(2)]);
    }
    check_scores(&play(0, Mode::Duel, &[4, 4], 120.0, 3), 2);
}

#[test]
fn targets_are_shot_in_practice() {
    let party = play(0, Mode::Practice, &[2, 4], 60.0, 4);
    assert!(party.tallies.iter().all(|tally| tally.score > 3 && tally.deaths <= 1));
}

#[test]
fn better_bots_win() {
    // Each level against the next two steps down, in turns around the table, over seeds.
    for (better, worse, times) in [(5, 1, 4), (4, 2, 2), (5, 3, 1), (3, 1, 2)] {
        let mut kills = [0_i32; 2];
        for seed in 1..=3 {
            let levels = [better, worse, better, worse];
            let party = play(0, Mode::FreeForAll, &levels, 90.0, seed);
            for (tally, index) in party.tallies.iter().zip([0, 1, 0, 1]) {
                kills[index] += i32::from(tally.score);
            }
        }
        let [good, bad] = kills;
        assert!(good > 8 && good > times * bad, "{better}: {good} kills, {worse}: {bad}");
    }
}

#[test]
fn bots_play_at_every_tick_rate() {
    let (_, content, ways) = &MAPS[0];
    for rate in [20, 128, 400] {
        let mut party = Party::at(rate, content, ways, &[4; 5], 5, Vec::new());
        party.run(30.0);
        let kills: i16 = party.tallies.iter().map(|tally| tally.score).sum();
        let metres: f32 = party.tallies.iter().map(|tally| tally.metres_per_minute()).sum();
        println!("{rate} ticks a second: {kills} kills, {} m a minute", metres / 5.0);
        assert!(kills >= 3 && metres / 5.0 > 150.0, "{rate}: {kills} kills, {metres} m");
    }
}

#[test]
fn bots_do_all_that_they_can() {
    let (_, content, ways) = &MAPS[0];
    let mut party = Party::new(content, ways, &[4; 6], 6);
    let mut moods = BTreeSet::new();
    for _ in 0..3600 {
        party.step();
        moods.extend(party.bots.iter().map(|bot| bot.mood()));
    }
    let all = ["fight", "hide", "hunt", "peek", "roam", "take"];
    assert!(moods.iter().eq(&all), "{moods:?}");
    let pickups: u32 = party.tallies.iter().map(|tally| tally.pickups).sum();
    assert!(pickups > 3, "{pickups} items were taken");
}
