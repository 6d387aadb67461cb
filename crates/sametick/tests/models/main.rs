//! What each client-server model shows, how shots are judged under it, and what a liar gains.
#![cfg(feature = "secure")]

mod party;
mod range;
mod table;

use party::{Party, line, own, pace};
use range::{Ball, Place, Rocket, Runner, SPEED, Wish};
use sametick::network::{Conditions, Jitter};
use sametick::{
    Base, Claim, Effect, Interpolation, Model, Others, Path, Rates, Rewinding, Span, Time, Trust,
    View,
};

const TICK: Span = Span::micros(16_667);

fn seen_with(others: Others) -> View {
    View { others, ..View::default() }
}

/// A shooter who aims at what its screen shows of the other, every 100 ms once all have settled.
fn shoot_at_what_is_shown(party: &mut Party, seconds: u64) {
    party.run(Span::seconds(seconds), |party| {
        let millis = (party.now - Time::ZERO).as_micros() / 1000;
        party.clients[1].command(pace(party.now, 700));
        let aim = party.shown(0, 1).map(|runner| runner.x);
        let fire = millis > 3_000 && millis % 100 < 17 && aim.is_some();
        party.clients[0].command(Wish { fire, aim: aim.unwrap_or(0.0), ..Wish::default() });
    });
}

#[test]
fn a_shot_hits_what_its_shooter_saw_however_it_sees() {
    let ways = [
        Others::Latest,
        Others::Extrapolated { at_most: Span::millis(100) },
        Others::Interpolated(Interpolation::HISTORY),
    ];
    for (others, ping) in ways.into_iter().flat_map(|others| [(others, 40), (others, 100)]) {
        // What is smoothed is for the eye alone: the server knows nothing of it.
        let view = View { smooths_over: Span::ZERO, ..seen_with(others) };
        let views = [view, View::default()];
        let mut party = Party::new(Rates::default(), &views, Place::default(), &line(ping, 0.0));
        shoot_at_what_is_shown(&mut party, 20);
        let verdicts = party.server.take_verdicts();
        let hits = verdicts.iter().filter(|verdict| verdict.hit.is_some()).count();
        assert!(verdicts.len() > 100, "{others:?}: {} shots", verdicts.len());
        let share = hits as f64 / verdicts.len() as f64;
        assert!(share > 0.99, "{others:?} at {ping} ms: {hits} of {}", verdicts.len());
        let present = verdicts.iter().filter(|verdict| verdict.present.is_some()).count();
        // Moved on to the present, they are shown about where they are.
        let is_late = ping >= 100 && !matches!(others, Others::Extrapolated { .. });
        assert!(
            !is_late || present * 2 < verdicts.len(),
            "{others:?}: judged by the present, {present} of {} would have hit",
            verdicts.len()
        );
    }
}

#[test]
fn without_rewinding_a_shot_misses_by_what_the_screen_is_late() {
    let rates = Rates { rewinding: Rewinding::NONE, ..Rates::default() };
    let views = [View::default(); 2];
    let mut party = Party::new(rates, &views, Place::default(), &line(100, 0.0));
    let mut off = Vec::new();
    party.run(Span::seconds(10), |party| {
        party.clients[1].command(Wish { east: 1, ..Wish::default() });
        if party.now > Time::from_seconds(4)
            && let (Some(shown), Some(truth)) = (party.shown(0, 1), party.truth(1))
        {
            off.push(truth.x - shown.x);
        }
    });
    // Half a round trip, two snapshots of 50 ms, and the time between looks.
    let mean = off.iter().sum::<f32>() / off.len() as f32;
    let predicted = SPEED * (0.050 + 0.100);
    assert!((mean - predicted).abs() < SPEED * 0.020, "{mean} m late, {predicted} m expected");
}

#[test]
fn sight_in_the_present_can_be_asked_for() {
    for (needs_sight, is_hit) in [(false, true), (true, false)] {
        let rewinding = Rewinding { needs_sight, ..Rewinding::USUAL };
        let rates = Rates { rewinding, ..Rates::default() };
        let place = Place { is_walled: true, ..Place::default() };
        let mut party = Party::new(rates, &[View::default(); 2], place, &line(100, 0.0));
        shoot_at_what_is_shown(&mut party, 8);
        let verdicts = party.server.take_verdicts();
        assert!(verdicts.len() > 20);
        assert!(verdicts.iter().all(|verdict| verdict.hit.is_some() == is_hit));
        assert!(verdicts.iter().all(|verdict| verdict.seen.is_some()), "both are logged");
    }
}

#[test]
fn a_ball_touches_the_ground_over_the_history_and_turns_before_it_towards_the_newest() {
    let lowest = |path: Path| {
        let others = Others::Interpolated(Interpolation { path, ..Interpolation::HISTORY });
        let rates = Rates { ticks_per_snapshot: 6, ..Rates::default() };
        let place = Place { has_ball: true, ..Place::default() };
        let mut party = Party::new(rates, &[seen_with(others)], place, &line(50, 0.0));
        party.looks_every = 1;
        let mut lows = Vec::new();
        let (mut last, mut falling) = (0.0f32, false);
        party.run(Span::seconds(12), |party| {
            let world = party.clients[0].shown();
            let Some((_, ball)) = world.and_then(|world| world.all::<Ball>().next()) else {
                return;
            };
            if party.now > Time::from_seconds(2) {
                if falling && ball.height > last {
                    lows.push(last);
                }
                falling = ball.height < last || (falling && ball.height == last);
            }
            last = ball.height;
        });
        lows.iter().sum::<f32>() / lows.len() as f32
    };
    let (history, newest) = (lowest(Path::History), lowest(Path::Newest));
    assert!(history < newest, "history {history} m, newest {newest} m");
}

#[test]
fn who_jumps_is_never_shown_between() {
    let ways = [
        Others::Extrapolated { at_most: Span::millis(100) },
        Others::Interpolated(Interpolation::HISTORY),
        Others::Interpolated(Interpolation::NEWEST),
        Others::Predicted,
    ];
    for others in ways {
        let views = [seen_with(others); 2];
        let mut party = Party::new(Rates::default(), &views, Place::default(), &line(80, 0.02));
        let mut places = Vec::new();
        party.run(Span::seconds(12), |party| {
            let millis = (party.now - Time::ZERO).as_micros() / 1000;
            let jump = millis > 2_000 && millis % 1_000 < 17;
            party.clients[1].command(Wish { jump, ..Wish::default() });
            let shown = [party.shown(0, 1), party.shown(1, 1)];
            places.extend(shown.into_iter().flatten().map(|runner| runner.x));
        });
        // It stands at the one end or at the other, if need be after more than one jump.
        let is_end = |x: &f32| (x / 40.0 - (x / 40.0).round()).abs() < 0.01;
        let between = places.iter().find(|x| !is_end(x));
        assert_eq!(between, None, "{others:?}");
        assert!(places.iter().any(|x| x.abs() > 1.0), "{others:?}: nobody jumped");
    }
}

#[test]
fn when_snapshots_stop_interpolation_rests_or_goes_on() {
    for (goes_on, metres) in [(Span::ZERO, 0.0), (Span::millis(250), 0.25 * SPEED)] {
        let others = Others::Interpolated(Interpolation { goes_on, ..Interpolation::HISTORY });
        let views = [seen_with(others), View::default()];
        let mut party = Party::new(Rates::default(), &views, Place::default(), &line(50, 0.0));
        let run = |party: &mut Party| {
            party.clients[1].command(Wish { east: 1, ..Wish::default() });
        };
        party.run(Span::seconds(4), run);
        party.network.cut(party.server_host, party.hosts[0]);
        party.run(Span::millis(100), run);
        let newest = party.clients[0].snapshot().unwrap();
        let newest = newest.get::<Runner>(party.id_of(1).unwrap()).unwrap().x;
        party.run(Span::millis(900), run);
        let beyond = party.shown(0, 1).unwrap().x - newest;
        assert!((beyond - metres).abs() < 0.1, "{goes_on:?}: {beyond} m beyond the newest");
    }
}

#[test]
fn a_rocket_has_one_name_after_the_other_and_flies_on_at_once() {
    let mut party =
        Party::new(Rates::default(), &[View::default(); 2], Place::default(), &line(100, 0.05));
    party.run(Span::seconds(3), |_| {});
    let (mut provisional, mut renamed, mut bangs) = (Vec::new(), Vec::new(), 0);
    party.run(Span::seconds(6), |party| {
        let millis = (party.now - Time::ZERO).as_micros() / 1000;
        let rocket = millis % 500 < 17 && millis < 8_000;
        party.clients[0].command(Wish { rocket, ..Wish::default() });
        let client = &party.clients[0];
        let rockets: Vec<_> =
            client.predicted().unwrap().all::<Rocket>().map(|(id, _)| id).collect();
        provisional.extend(rockets.iter().filter(|id| id.is_provisional()));
        provisional.dedup();
        renamed.extend(rockets.iter().filter(|id| !id.is_provisional()));
        let effects = party.clients[0].take_effects();
        bangs += effects.iter().filter(|effect| matches!(effect, Effect::Started { .. })).count();
    });
    provisional.sort();
    provisional.dedup();
    renamed.sort();
    renamed.dedup();
    assert!(provisional.len() >= 8, "{} rockets were predicted", provisional.len());
    let names: Vec<_> = provisional.iter().map(|id| party.clients[0].name_of(*id)).collect();
    assert!(names.iter().all(|id| !id.is_provisional()), "the server's name came for each");
    assert!(names.iter().all(|name| renamed.contains(name)), "and it is that rocket's");
    assert_eq!(bangs, provisional.len(), "each was heard once");
}

#[test]
fn an_error_is_smoothed_on_the_screen_and_not_in_the_rules() {
    // Two who predict each other: whoever turns is corrected on the other's screen.
    let view = seen_with(Others::Predicted);
    let leap = |smooths_over: Span| {
        let views = [View { smooths_over, ..view }; 2];
        let mut party = Party::new(Rates::default(), &views, Place::default(), &line(150, 0.0));
        party.looks_every = 4;
        let (mut last, mut leap) = (None::<f32>, 0.0f32);
        party.run(Span::seconds(10), |party| {
            party.clients[1].command(pace(party.now, 900));
            let shown = party.shown(0, 1).map(|runner| runner.x);
            if party.now > Time::from_seconds(3)
                && let (Some(last), Some(shown)) = (last, shown)
            {
                leap = leap.max((shown - last).abs());
            }
            last = shown;
        });
        leap
    };
    let (at_once, smoothed) = (leap(Span::ZERO), leap(Span::millis(150)));
    assert!(at_once > 0.4, "{at_once} m: a turn is seen late and corrected at once");
    assert!(smoothed < at_once / 3.0, "{smoothed} m at a time instead of {at_once}");
}

#[test]
fn others_are_predicted_with_their_commands_to_the_present() {
    let views = [seen_with(Others::Predicted); 2];
    let mut party = Party::new(Rates::default(), &views, Place::default(), &line(100, 0.0));
    let mut off = Vec::new();
    party.run(Span::seconds(8), |party| {
        party.clients[1].command(Wish { east: 1, ..Wish::default() });
        if party.now > Time::from_seconds(4)
            && let (Some(shown), Some(truth)) = (party.shown(0, 1), party.truth(1))
        {
            off.push(shown.x - truth.x);
        }
    });
    // Who goes straight on is where it will be when our command arrives: ahead of the server by that.
    let mean = off.iter().sum::<f32>() / off.len() as f32;
    assert!((0.0..SPEED * 0.100).contains(&mean), "{mean} m ahead");
}

#[test]
fn larger_steps_lead_to_the_same_place_for_who_goes_straight() {
    let run = |stride: u32| {
        let views = [View { stride, ..seen_with(Others::Predicted) }; 2];
        let mut party = Party::new(Rates::default(), &views, Place::default(), &line(100, 0.0));
        party.run(Span::seconds(6), |party| {
            party.clients[1].command(Wish { east: 1, ..Wish::default() });
        });
        party.clients[0].predicted().unwrap().all::<Runner>().map(|(_, r)| r.x).collect::<Vec<_>>()
    };
    for (one, four) in run(1).into_iter().zip(run(4)) {
        assert!((one - four).abs() < 0.01, "{one} and {four}");
    }
}

#[test]
fn a_trusted_client_is_never_corrected_and_the_loser_of_a_race_is() {
    let model = Model::FPSCI;
    let place = Place { item: Some(3.0), ..Place::default() };
    let mut party = Party::new(model.rates, &[model.view; 2], place, &line(150, 0.0));
    assert_eq!(model.rates.trust, Trust::Clients);
    let (mut claims, mut both) = (Vec::new(), false);
    party.run(Span::seconds(8), |party| {
        let east = i8::from(party.now > Time::from_seconds(3));
        (0..2).for_each(|client| party.clients[client].command(Wish { east, ..Wish::default() }));
        claims.extend(party.server.take_claims());
        let items = (0..2).map(|client| own(&party.clients[client]).map_or(0, |own| own.items));
        both |= items.sum::<u8>() == 2;
    });
    assert!(both, "both took it on their own screens");
    let items: Vec<u8> = (0..2).map(|client| party.truth(client).unwrap().items).collect();
    assert_eq!(items.iter().sum::<u8>(), 1, "the server's order decided");
    let shown: Vec<u8> = (0..2).map(|client| own(&party.clients[client]).unwrap().items).collect();
    assert_eq!(shown, items, "and the loser was corrected");
    for (client, items) in items.into_iter().enumerate() {
        let theirs = claims.iter().filter(|claim| Some(claim.player) == party.clients[client].me());
        let (taken, refused): (Vec<&Claim>, Vec<&Claim>) = theirs.partition(|claim| claim.is_taken);
        assert!(!taken.is_empty());
        assert_eq!(refused.is_empty(), items == 1, "both claims are logged");
        assert_eq!(party.corrections[client], [], "nobody's place was corrected");
    }
}

#[test]
fn a_trusted_client_s_hits_are_its_own() {
    let model = Model::FPSCI;
    let mut party = Party::new(model.rates, &[model.view; 2], Place::default(), &line(200, 0.05));
    shoot_at_what_is_shown(&mut party, 15);
    let verdicts = party.server.take_verdicts();
    let hits = verdicts.iter().filter(|verdict| verdict.hit.is_some()).count();
    assert!(verdicts.len() > 60 && hits == verdicts.len(), "{hits} of {}", verdicts.len());
}

#[test]
fn clients_of_all_models_play_on_one_server() {
    let views = Model::ALL.map(|model| model.view);
    let mut party = Party::new(Rates::default(), &views, Place::default(), &line(80, 0.02));
    party.run(Span::seconds(6), |party| {
        let wish = pace(party.now, 700);
        party.clients.iter_mut().for_each(|client| client.command(wish));
    });
    for on in 0..views.len() {
        assert_eq!(party.clients[on].malformed(), 0);
        for of in 0..views.len() {
            let (shown, truth) = (party.shown(on, of).unwrap(), party.truth(of).unwrap());
            let metres = (shown.x - truth.x).abs();
            assert!(metres < 0.4 * SPEED, "{}: {metres} m off", Model::ALL[on].name);
        }
    }
    assert_eq!(party.server.malformed(), 0);
}

#[test]
fn what_a_snapshot_is_told_against_costs_what_the_papers_say() {
    // Someone stands still, someone runs: only the base differs.
    let bytes = |base: Base| {
        let rates = Rates { base, ..Rates::default() };
        let views = [View::default(); 6];
        let mut party = Party::new(rates, &views, Place::default(), &line(50, 0.0));
        party.run(Span::seconds(8), |party| {
            let wish = pace(party.now, 700);
            party.clients[..2].iter_mut().for_each(|client| client.command(wish));
        });
        assert!(party.clients.iter().all(|client| client.malformed() == 0));
        party.bytes[1]
    };
    let [common, last, none] = [Base::Common, Base::LastAcknowledged, Base::None].map(bytes);
    assert_eq!(common, last, "nobody left sight");
    assert!(none > common * 5 / 4, "{none} bytes whole, {common} against the common base");
}

#[test]
fn who_is_told_of_rarely_is_never_shown_going_back() {
    for (told_every, ping) in [(1, 100), (2, 100), (3, 0), (3, 100), (3, 250)] {
        let place = Place { told_every, ..Place::default() };
        let mut party =
            Party::new(Rates::default(), &[View::default(); 2], place, &line(ping, 0.02));
        let (mut last, mut steps) = (f32::MIN, 0);
        party.run(Span::seconds(8), |party| {
            party.clients[1].command(Wish { east: 1, ..Wish::default() });
            let Some(id) = party.id_of(1) else { return };
            let snapshot = party.clients[0].snapshot();
            let Some(runner) = snapshot.and_then(|world| world.get::<Runner>(id)) else { return };
            assert!(runner.x >= last, "each {told_every} at {ping} ms: {last} to {}", runner.x);
            steps += u32::from(runner.x > last);
            last = runner.x;
        });
        assert!(
            steps > 40 && last > 20.0,
            "each {told_every} at {ping} ms: {steps} steps to {last}"
        );
    }
}

#[test]
fn an_entity_is_shown_as_the_game_says_whatever_its_viewer_wishes() {
    let ways =
        [Others::Latest, Others::Extrapolated { at_most: Span::millis(100) }, Others::Predicted];
    for wish in ways {
        let place = Place { has_ball: true, ..Place::default() };
        let mut party = Party::new(Rates::default(), &[seen_with(wish)], place, &line(50, 0.0));
        let (mut moved, mut looks, mut last) = (0, 0, 0.0f32);
        party.run(Span::seconds(6), |party| {
            let millis = (party.now - Time::ZERO).as_micros() / 1000;
            let ball = party.clients[0].shown().and_then(|world| world.all::<Ball>().next());
            let Some((_, ball)) = ball.filter(|_| millis > 3_000 && millis.is_multiple_of(5))
            else {
                return;
            };
            looks += 1;
            moved += u32::from(ball.height != last);
            last = ball.height;
        });
        assert!(moved * 10 > looks * 9, "{wish:?}: it moved in {moved} of {looks} looks");
    }
}

#[test]
fn smoothing_invents_no_errors() {
    for looks_every in [5, 33] {
        let places = |smooths_over| {
            let views = [View { smooths_over, ..View::default() }];
            let mut party = Party::new(Rates::default(), &views, Place::default(), &line(100, 0.0));
            party.looks_every = looks_every;
            let mut places = Vec::new();
            party.run(Span::seconds(8), |party| {
                party.clients[0].command(Wish { east: 1, ..Wish::default() });
                if party.now > Time::from_seconds(4) {
                    places.extend(party.shown(0, 0).map(|runner| runner.x));
                }
            });
            places
        };
        let (bare, smoothed) = (places(Span::ZERO), places(Span::millis(100)));
        assert_eq!(bare, smoothed, "looking every {looks_every} ms");
    }
}

#[test]
fn who_left_asks_for_nothing() {
    let views = [seen_with(Others::Predicted); 2];
    let mut party = Party::new(Rates::default(), &views, Place::default(), &line(50, 0.0));
    party.run(Span::seconds(3), |party| {
        party.clients[1].command(Wish { east: 1, ..Wish::default() });
    });
    assert_eq!(party.clients[0].others_commands().len(), 1);
    let now = party.now;
    party.clients[1].close(now);
    party.run(Span::seconds(3), |_| {});
    assert_eq!(party.clients[0].others_commands(), []);
}

#[test]
fn honest_shots_hit_on_lines_with_loss_and_jitter_and_at_other_rates() {
    let jittery = |ping, millis| Conditions {
        jitter: Jitter::Uniform { width: Span::millis(millis) },
        ..line(ping, 0.0)
    };
    let fast = Rates { tick_length: Span::millis(2), ticks_per_snapshot: 25, ..Rates::default() };
    let history = Others::Interpolated(Interpolation::HISTORY);
    let cases = [
        (history, Rates::default(), line(40, 0.1), 0.98),
        (history, Rates::default(), jittery(40, 20), 0.98),
        (history, fast, line(40, 0.0), 0.98),
        (Others::Latest, Rates::default(), line(40, 0.1), 0.85),
        (Others::Latest, Rates { ticks_per_snapshot: 6, ..Rates::default() }, line(40, 0.0), 0.98),
        (Others::Latest, fast, line(40, 0.0), 0.98),
        (
            Others::Extrapolated { at_most: Span::millis(100) },
            Rates::default(),
            jittery(40, 10),
            0.9,
        ),
    ];
    for (others, rates, conditions, least) in cases {
        let view = View { smooths_over: Span::ZERO, ..seen_with(others) };
        let views = [view, View::default()];
        let mut party = Party::new(rates, &views, Place::default(), &conditions);
        shoot_at_what_is_shown(&mut party, 15);
        let verdicts = party.server.take_verdicts();
        let hits = verdicts.iter().filter(|verdict| verdict.hit.is_some()).count();
        let share = hits as f64 / verdicts.len().max(1) as f64;
        let case = format!("{others:?} with {:?} at {:?}", conditions.jitter, rates.tick_length);
        assert!(share >= least, "{case}: {hits} of {} hit", verdicts.len());
    }
}

#[test]
fn who_stood_still_is_in_time_again_within_a_second() {
    for (joined, stall) in
        [(150, 1_000), (400, 1_000), (400, 2_500), (3_000, 1_500), (3_000, 5_000)]
    {
        let mut party =
            Party::new(Rates::default(), &[View::default()], Place::default(), &line(20, 0.0));
        party.run(Span::millis(joined), |_| {});
        party.stalls_until = party.now + Span::millis(stall);
        party.run(Span::millis(stall + 1_000), |_| {});
        let before = party.clients[0].repeated();
        party.run(Span::seconds(3), |party| {
            party.clients[0].command(Wish { east: 1, ..Wish::default() });
        });
        let late = party.clients[0].repeated() - before;
        assert!(late < 10, "{stall} ms at {joined}: {late} commands were late");
        let x = party.truth(0).unwrap().x;
        assert!(x > 2.0 * SPEED, "{stall} ms at {joined}: it came to {x} m");
    }
}

#[test]
fn rewinding_stays_within_its_limit() {
    let views = [View::default(); 2];
    let mut party = Party::new(Rates::default(), &views, Place::default(), &line(400, 0.1));
    shoot_at_what_is_shown(&mut party, 20);
    let verdicts = party.server.take_verdicts();
    let most = Span::millis(250);
    assert!(verdicts.len() > 50);
    assert!(verdicts.iter().all(|verdict| verdict.rewound <= most));
    assert!(verdicts.iter().any(|verdict| verdict.rewound + TICK > most), "the limit was reached");
}
