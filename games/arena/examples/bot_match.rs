//! A long match of bots on each map, in each mode and at each level: scores, hit rates, ways, and what a thought costs.
//!
//! `cargo run --release -p sametick-arena --example bot_match --`
//! `[--minutes N] [--map NAME] [--seed N] [--bots N] [--json]`

use sametick::{Alone, PlayerId, Span};
use sametick_arena::bot::{Bot, RANGE_METRES, RANGES, SKILLS, Skill, Tally, Ways};
use sametick_arena::{Arena, Content, Contest, Mode, map};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TICK: Span = Span::micros(16_667);
const DT: f32 = 1.0 / 60.0;

/// What is asked for.
struct Options {
    minutes: f32,
    map: Option<String>,
    seed: u64,
    bots: Option<usize>,
    json: bool,
}

/// A match that was played.
struct Played {
    map: &'static str,
    mode: Mode,
    level: String,
    tallies: Vec<Tally>,
    stuck: u32,
    thinking: Duration,
    thoughts: u32,
    took: Duration,
    team_scores: [i16; 2],
}

fn main() {
    let options = match options() {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            std::process::exit(2);
        }
    };
    let mut all = Vec::new();
    for (name, text) in map::MAPS {
        if options.map.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let begun = Instant::now();
        let content = Content::new(text, Mode::FreeForAll).expect("the map is sound");
        let ways = Arc::new(Ways::new(&content));
        if !options.json {
            println!("{name}: {} places found in {:.0?}", ways.places().len(), begun.elapsed());
        }
        let count = options.bots.unwrap_or(if name == "field" { 16 } else { 6 });
        let cases = [(Mode::FreeForAll, count), (Mode::Teams, count), (Mode::Duel, 2)];
        for (mode, count) in cases {
            let content = Content { mode, ..content.clone() };
            for level in 1..=5 {
                all.push(play(
                    (name, level.to_string()),
                    &content,
                    &ways,
                    &vec![level; count],
                    &options,
                ));
                show(all.last(), &options);
            }
            let mixed: Vec<u8> =
                (0..count).map(|index| if index % 2 == 0 { 5 } else { 1 }).collect();
            all.push(play((name, "5 1".into()), &content, &ways, &mixed, &options));
            show(all.last(), &options);
        }
    }
    if !options.json {
        show_hits(&all);
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options { minutes: 10.0, map: None, seed: 1, bots: None, json: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.json = true,
            "--minutes" => {
                let minutes = arguments.next().and_then(|minutes| minutes.parse().ok());
                options.minutes = minutes.ok_or("--minutes needs a number")?;
            }
            "--seed" => {
                let seed = arguments.next().and_then(|seed| seed.parse().ok());
                options.seed = seed.ok_or("--seed needs a whole number")?;
            }
            "--bots" => {
                let bots = arguments.next().and_then(|bots| bots.parse().ok());
                let bots = bots.filter(|bots| (1..=500).contains(bots));
                options.bots = Some(bots.ok_or("--bots needs a number from 1 to 500")?);
            }
            "--map" => {
                let name = arguments
                    .next()
                    .filter(|name| map::MAPS.iter().any(|(known, _)| known == name));
                options.map = Some(name.ok_or("--map needs one of corners, halls and field")?);
            }
            other => {
                return Err(format!(
                    "there is no option {other}; there are --minutes, --map, --seed, --bots and --json"
                ));
            }
        }
    }
    Ok(options)
}

fn play(
    (map, level): (&'static str, String),
    content: &Content,
    ways: &Arc<Ways>,
    levels: &[u8],
    options: &Options,
) -> Played {
    let mut content = content.clone();
    // The score is to be compared at the end of the time, not at the end of a round.
    (content.tuning.score_limit, content.tuning.round_seconds) = (0, 0.0);
    let mut game = Alone::<Arena>::new(content.clone(), options.seed, TICK);
    let mut bots: Vec<Bot> = levels
        .iter()
        .zip(options.seed * 1000..)
        .map(|(level, seed)| Bot::new(Skill::level(*level), seed, ways.clone()))
        .collect();
    let players: Vec<PlayerId> = (0..bots.len() as u16).map(PlayerId).collect();
    players.iter().for_each(|player| game.join(*player));
    let mut tallies = vec![Tally::default(); bots.len()];
    let (mut thinking, begun) = (Duration::ZERO, Instant::now());
    let ticks = (options.minutes * 60.0 / DT) as u32;
    for _ in 0..ticks {
        let now = Instant::now();
        let commands: Vec<_> = players
            .iter()
            .zip(&mut bots)
            .map(|(player, bot)| (*player, bot.think(game.world(), *player, &content, DT)))
            .collect();
        thinking += now.elapsed();
        game.step(commands).expect("all is finite");
        let effects = game.take_effects();
        let pairs = players.iter().copied().zip(&bots);
        Tally::count(&mut tallies, pairs, game.world(), &effects, DT);
    }
    let contest = game.world().all::<Contest>().next().map(|(_, contest)| contest.team_scores);
    Played {
        map,
        mode: content.mode,
        level,
        stuck: bots.iter().map(Bot::stuck_count).sum(),
        thinking,
        thoughts: ticks * bots.len() as u32,
        took: begun.elapsed(),
        tallies,
        team_scores: contest.unwrap_or_default(),
    }
}

fn show(played: Option<&Played>, options: &Options) {
    let Some(played) = played else { return };
    let nanos = played.thinking.as_nanos() as f64 / f64::from(played.thoughts.max(1));
    let scores: Vec<String> =
        played.tallies.iter().map(|tally| format!("{}:{}", tally.score, tally.deaths)).collect();
    let least = |of: fn(&Tally) -> f32| played.tallies.iter().map(of).fold(f32::INFINITY, f32::min);
    let still = played.tallies.iter().map(|tally| tally.still_seconds_max).fold(0.0, f32::max);
    let (metres, entropy) = (least(Tally::metres_per_minute), least(Tally::place_entropy));
    let pickups: u32 = played.tallies.iter().map(|tally| tally.pickups).sum();
    let Played { map, mode, level, stuck, took, team_scores, .. } = played;
    if options.json {
        let scores: Vec<String> = played
            .tallies
            .iter()
            .map(|tally| format!("[{},{}]", tally.score, tally.deaths))
            .collect();
        print!("{{\"map\":\"{map}\",\"mode\":\"{mode:?}\",\"level\":\"{level}\",");
        print!("\"scores\":[{}],\"team_scores\":{team_scores:?},", scores.join(","));
        print!("\"metres_per_minute_min\":{metres:.0},\"place_entropy_min\":{entropy:.2},");
        print!("\"still_seconds_max\":{still:.1},\"stuck\":{stuck},\"pickups\":{pickups},");
        println!("\"think_ns\":{nanos:.0}}}");
        return;
    }
    println!(
        "{map} {mode:?} level {level}: kills:deaths {} (teams {team_scores:?}); at least {metres:.0} m a minute, \
         {entropy:.1} bits of places; longest still {still:.1} s, stuck {stuck}, {pickups} items; \
         {:.1} µs a thought, all in {took:.1?}",
        scores.join(" "),
        nanos / 1000.0
    );
}

/// Hits of the rifle in all matches of one level, by distance.
fn show_hits(all: &[Played]) {
    print!("\nrifle hits, %  |");
    for range in 0..RANGES {
        let upper = RANGE_METRES.get(range).map_or("more".into(), |end| format!("to {end} m"));
        print!(" {upper:>14} |");
    }
    println!();
    for (level, skill) in (1..).zip(SKILLS) {
        let level: i32 = level;
        print!("{level} {:12} |", skill.name);
        for range in 0..RANGES {
            let matches = all.iter().filter(|played| played.level == level.to_string());
            let sum = |of: fn(&Tally) -> &[u32; RANGES]| -> u32 {
                matches
                    .clone()
                    .flat_map(|played| &played.tallies)
                    .map(|tally| of(tally)[range])
                    .sum()
            };
            let (shots, hits) = (sum(|tally| &tally.shots), sum(|tally| &tally.hits));
            let share = 100.0 * f64::from(hits) / f64::from(shots.max(1));
            print!(" {share:5.1} of {shots:5} |");
        }
        println!();
    }
}
