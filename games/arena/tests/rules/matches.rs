//! Phases, rounds, teams, spectators and names.

use super::play::{FIRST, Play, SECOND, hall};
use sametick::{Alone, Effect, PlayerId, Span, Text};
use sametick_arena::{Arena, Command, Content, Contest, Mode, Phase, Seat, Tuning, What, map};

fn contest(play: &Play) -> Contest {
    play.world().all::<Contest>().next().expect("there is one").1.clone()
}

fn seats(play: &Play) -> Vec<Seat> {
    play.world().all::<Seat>().map(|(_, seat)| seat.clone()).collect()
}

#[test]
fn a_round_ends_at_its_limit_and_another_begins() {
    let tuning = Tuning { score_limit: 1, pause_seconds: 0.5, ..Tuning::default() };
    let mut play = Play::with(&hall("", ""), 60, 2, Mode::Teams, tuning);
    assert_eq!((contest(&play).phase, contest(&play).round), (Phase::Playing, 1));
    play.hold(FIRST, |command| command.fire = true);
    assert!(play.until(|play| contest(play).phase == Phase::Over));
    assert_eq!(contest(&play).team_scores, [1, 0]);
    play.hold(FIRST, |command| command.fire = false);
    assert!(play.until(|play| contest(play).phase == Phase::Playing));
    assert_eq!(contest(&play).round, 2);
    assert!(seats(&play).iter().all(|seat| seat.score == 0));
    assert_eq!(play.fighter(SECOND).health, 100);
}

#[test]
fn time_ends_a_round_too() {
    let tuning = Tuning { round_seconds: 3.0, pause_seconds: 0.5, ..Tuning::default() };
    let mut play = Play::with(&hall("", ""), 60, 1, Mode::FreeForAll, tuning);
    play.run(2.0);
    assert_eq!(contest(&play).phase, Phase::Playing);
    assert!(play.until(|play| contest(play).phase == Phase::Over));
}

#[test]
fn a_duel_waits_until_both_are_ready_and_the_third_watches() {
    let tuning = Tuning { pause_seconds: 0.5, ..Tuning::default() };
    let mut play = Play::with(&hall("", ""), 60, 3, Mode::Duel, tuning);
    assert_eq!(contest(&play).phase, Phase::Waiting);
    assert!(play.fighter(PlayerId(2)).is_away);
    play.hold(FIRST, |command| command.ready = true);
    play.run(1.0);
    assert_eq!(contest(&play).phase, Phase::Waiting);
    play.hold(SECOND, |command| command.ready = true);
    play.run(1.0);
    assert_eq!(contest(&play).phase, Phase::Playing);
    play.hold(SECOND, |command| command.watch = true);
    play.run(0.1);
    assert!(play.fighter(SECOND).is_away && !play.fighter(PlayerId(2)).is_away);
    assert_eq!(contest(&play).phase, Phase::Playing, "the third has taken the place");
}

#[test]
fn a_held_round_waits_for_all_and_before_it_nobody_walks_fires_or_is_hurt() {
    let content = Content::new(&hall("", ""), Mode::FreeForAll).expect("the map is sound");
    let content = content.held(2, 0.5);
    let mut play = Play::on(content.clone(), 60, 1);
    assert_eq!(contest(&play).phase, Phase::Waiting, "one of two is here, and a second has passed");
    play.hold(FIRST, |command| (command.fire, command.forward, command.jump) = (true, 7, true));
    play.run(1.0);
    let stands = play.fighter(FIRST).clone();
    play.join(SECOND);
    let mut waited = 0;
    while contest(&play).phase != Phase::Playing {
        play.tick();
        waited += 1;
        let now = play.fighter(FIRST);
        if contest(&play).phase != Phase::Playing {
            assert_eq!((now.position, now.loaded), (stands.position, stands.loaded));
            assert_eq!(play.fighter(SECOND).health, 100);
        }
    }
    assert!((30..=32).contains(&waited), "half a second from the second one's coming: {waited}");
    play.run(0.5);
    assert!(play.fighter(FIRST).loaded[0] < stands.loaded[0], "now it counts");
    assert!(!contest(&play).is_held(&content, play.world().tick()));
}

#[test]
fn teams_are_even_and_a_name_is_spelled() {
    let mut play = Play::new(&hall("", ""), 60, 5);
    let teams: Vec<u8> = seats(&play).iter().map(|seat| seat.team).collect();
    assert_eq!(teams, [1, 2, 1, 2, 1]);
    for (at, letter) in "Ada".bytes().enumerate() {
        play.hold(FIRST, |command| (command.letter, command.letter_at) = (letter, at as u8));
        play.tick();
    }
    assert_eq!(&*seats(&play)[0].name, "Ada");
    play.game.leave(FIRST);
    play.tick();
    assert_eq!(seats(&play).len(), 4);
}

#[test]
fn what_is_said_is_told_once_and_not_more_often_than_once_a_second() {
    let content = Content::new(map::CORNERS, Mode::FreeForAll).expect("the map is sound");
    let mut game = Alone::<Arena>::new(content, 1, Span::micros(16_667));
    game.join(PlayerId(0));
    let mut heard = Vec::new();
    for tick in 0..300 {
        let text = if tick % 30 == 20 { format!("well \n{tick}") } else { String::new() };
        let say = Text::cut(&text);
        game.step([(PlayerId(0), Command { say, ..Command::default() })]).expect("all is finite");
        heard.extend(game.take_effects().into_iter().filter_map(|effect| match effect {
            Effect::Started { event, .. } if event.what == What::Say => {
                Some(event.words.to_string())
            }
            _ => None,
        }));
    }
    assert_eq!(heard, ["well 20", "well 80", "well 140", "well 200", "well 260"]);
}
