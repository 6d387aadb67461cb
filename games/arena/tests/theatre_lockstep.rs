//! The claims of the scene "One bad line": measured, on seeded runs, under every lockstep model.

use sametick::theatre::{HEADERS_BYTES, Recorded, Scene, Setup, run};
use sametick::{PlayerId, Span, lockstep};
use sametick_arena::theatre::BadLine;
use std::collections::BTreeMap;

const A: usize = 1;
const B: usize = 2;
const TICK: Span = Span::micros(16_667);

fn under(name: &str) -> Recorded {
    let scene = BadLine::default();
    let lockstep = lockstep::Setup::named(name);
    assert!(lockstep.is_some(), "there is no {name}");
    run(&scene, &Setup { lockstep, ..scene.poster().setup() })
}

/// How many of a player's commands the relay made up.
fn replaced(shown: &Recorded, pane: usize) -> u64 {
    let [first, last] = [shown.frames.first(), shown.frames.last()].map(Option::unwrap);
    last.panes[pane].replaced - first.panes[pane].replaced
}

#[test]
fn under_doom1993_everyone_stops_and_waits_for_b_and_nobody_else() {
    let shown = under("doom1993");
    let stood: Vec<Span> = (A..=4).map(|pane| shown.stood(pane)).collect();
    // One more way of what the line takes now, less what commands were ahead.
    let waited = |span: &Span| (Span::millis(90)..Span::millis(250)).contains(span);
    assert!(stood.iter().all(waited), "{stood:?}");
    let b = PlayerId(1);
    let mut frames_waited = 0;
    for (number, frame) in shown.frames.iter().enumerate() {
        let waits = |pane: usize| &frame.panes[pane].awaits[..];
        for pane in [A, 3, 4] {
            assert!(
                waits(pane).is_empty() || waits(pane) == [b],
                "{}: {:?}",
                frame.at,
                waits(pane)
            );
        }
        if !waits(A).is_empty() {
            frames_waited += 1;
            assert_eq!(shown.awaited(number), Some(b));
        }
        assert!(frame.at >= Span::seconds(4) || shown.awaited(number).is_none(), "nobody yet");
    }
    assert!(frames_waited >= 4, "for {frames_waited} frames A waits");
    let moment = BadLine::default().moment(&shown).unwrap();
    assert!(moment.caption.contains("waited for B"), "{moment:?}");
    assert!((moment.seconds - stood[0].as_seconds_f64()).abs() < 1e-6);
    // From then on everyone's commands wait for B's line.
    let delay = |at: u64| shown.frames[shown.frame_at(Span::millis(at))].panes[A].delay_ticks;
    assert!(delay(3_900) <= 4 && delay(8_000) >= 8, "{} and {} ticks", delay(3_900), delay(8_000));
}

#[test]
fn under_packet_server_only_b_suffers() {
    let shown = under("packet_server");
    for pane in [A, 3, 4] {
        let stood = shown.stood(pane);
        assert!(stood <= TICK * 3, "pane {pane} stood still for {stood}");
        // A margin that is found by trying costs a command now and then.
        assert!(replaced(&shown, pane) <= 4, "pane {pane}: {}", replaced(&shown, pane));
    }
    assert!(shown.stood(B) > Span::millis(90), "B stands: {}", shown.stood(B));
    let replaced = replaced(&shown, B);
    assert!(replaced >= 12, "{replaced} commands of B's were replaced");
    let moment = BadLine::default().moment(&shown).unwrap();
    assert!(moment.caption.contains("the relay walked B on"), "{moment:?}");
}

#[test]
fn under_rollback_nobody_stops_and_ticks_are_stepped_again() {
    let shown = under("rollback");
    for pane in A..=4 {
        assert!(shown.stood(pane) <= TICK * 3, "pane {pane}: {}", shown.stood(pane));
    }
    let again = shown.frames.last().unwrap().panes[A].repredicted;
    assert!(again > 20, "{again} ticks were stepped again");
    assert!(BadLine::default().moment(&shown).unwrap().caption.contains("again"));
}

#[test]
fn under_age_of_empires_turns_widen() {
    let shown = under("age_of_empires");
    let delay = |at: u64| shown.frames[shown.frame_at(Span::millis(at))].panes[A].delay_ticks;
    assert!(delay(8_500) >= delay(3_900) + 4, "{} and {} ticks", delay(3_900), delay(8_500));
    assert!(BadLine::default().moment(&shown).is_some());
}

#[test]
fn all_panes_of_a_tick_have_the_same_world_and_the_first_is_one_of_them() {
    for (name, setup) in lockstep::Setup::ALL {
        let shown = under(name);
        let (mut worlds, mut compared) = (BTreeMap::new(), 0);
        for frame in &shown.frames {
            let panes = if setup.rollback_ticks > 0 { &frame.panes[..1] } else { &frame.panes[..] };
            for pane in panes {
                let known = *worlds.entry(pane.tick).or_insert(pane.hash);
                assert_eq!(known, pane.hash, "{name}: tick {}", pane.tick.0);
                compared += 1;
            }
            assert!(frame.panes.iter().all(|pane| pane.tick >= frame.tick), "{name}");
        }
        assert!(compared > worlds.len() && worlds.len() > 500, "{name}: {compared} compared");
        assert_eq!(shown.trace(), under(name).trace(), "{name}: the same seed, the same run");
    }
}

#[test]
fn what_is_drawn_of_the_wire_is_what_the_lines_took() {
    let shown = under("doom1993");
    let begins = shown.begins;
    for packet in &shown.packets {
        let at = packet.sent - begins;
        let is_bad = at >= Span::seconds(4) && at < Span::seconds(9);
        let is_bs = packet.player == PlayerId(1) || packet.to == Some(PlayerId(1));
        let Some(arrived) = packet.arrived else { continue };
        let took = arrived - packet.sent;
        let least = if is_bad && is_bs { 150 } else { 15 };
        // When the line is good again, nobody overtakes who is still under way.
        let most = if is_bs && at >= Span::seconds(9) { 150 } else { least };
        assert!((Span::millis(least)..=Span::millis(most)).contains(&took), "{packet:?}");
    }
    assert!(shown.packets.iter().any(|packet| packet.to == Some(PlayerId(0))));
}

#[test]
fn under_a_server_nobody_waits_and_b_is_seen_as_it_was() {
    let scene = BadLine::default();
    let shown = run(&scene, &Setup { lockstep: None, ..scene.poster().setup() });
    assert!((A..=4).all(|pane| shown.stood(pane) < Span::millis(60)));
    let age = |at: u64| shown.age(shown.frame_at(Span::millis(at)), A, PlayerId(1)).unwrap();
    assert!(age(3_500) < Span::millis(160), "{}", age(3_500));
    assert!(scene.moment(&shown).unwrap().caption.contains("Nobody waits"));
    // B's own commands take so much longer.
    let up = |from: u64| {
        let began = shown.begins + Span::millis(from);
        let of_b =
            |p: &&sametick::theatre::Packet| p.player == PlayerId(1) && p.is_up && p.sent > began;
        let packet = shown.packets.iter().find(of_b).unwrap();
        packet.arrived.unwrap() - packet.sent
    };
    assert_eq!([up(1_000), up(5_000)], [Span::millis(15), Span::millis(150)]);
}

#[test]
fn the_moment_shows_a_waiting_for_b() {
    let scene = BadLine::default();
    let shown = under("doom1993");
    let moment = scene.moment(&shown).expect("they wait");
    let frame = &shown.frames[moment.frame];
    assert_eq!(shown.awaited(moment.frame), Some(PlayerId(1)));
    assert_eq!(frame.panes[A].awaits, [PlayerId(1)], "{}", frame.at);
}

#[test]
fn what_the_lines_carried_is_what_the_connections_counted() {
    for name in ["doom1993", "packet_server", "age_of_empires", "rollback"] {
        let shown = under(name);
        for (sums, counted) in shown.sums.iter().zip(&shown.channel) {
            for (sum, counted) in sums.iter().zip(counted) {
                let bytes = counted.bytes - HEADERS_BYTES * counted.packets;
                assert_eq!((sum.packets, sum.bytes), (counted.packets, bytes), "{name}");
                assert!(sum.packets > 100, "{name}: {}", sum.packets);
            }
        }
    }
}
