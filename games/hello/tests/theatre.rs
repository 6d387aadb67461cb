//! What the scene of hello claims, measured.

use sametick::theatre::{Hand, Keys, Recorded, Running, Scene, Setup, run};
use sametick::{Model, PlayerId, Span};
use sametick_hello::{Greeting, turn};

const TICK_MS: f64 = 16.667;

/// How long after the server A's screen shows a player turn; before it if below zero.
fn late_ms(shown: &Recorded, player: u16) -> f64 {
    let [seen, real] = [1, 0].map(|pane| {
        let frame = turn(shown, pane, PlayerId(player)).expect("it turns");
        shown.frames[frame].at.as_millis_f64()
    });
    seen - real
}

#[test]
fn a_turns_before_the_server_knows_and_b_turns_late_and_without_prediction_both_do() {
    let setup = Greeting.poster().setup();
    let shown = run(&Greeting, &setup);
    let (own, other) = (late_ms(&shown, 0), late_ms(&shown, 1));
    // Half a ping and a margin ahead of the server, and drawn up to two ticks later; half a ping and two snapshots
    // behind it.
    assert!((-150.0..=-100.0 + 2.0 * TICK_MS).contains(&own), "{own} ms");
    assert!((200.0 - TICK_MS..=250.0 + TICK_MS).contains(&other), "{other} ms");
    let quake = Setup { rates: Model::QUAKE.rates, view: Model::QUAKE.view, ..setup };
    let shown = run(&Greeting, &quake);
    let (own, other) = (late_ms(&shown, 0), late_ms(&shown, 1));
    assert!((100.0 - TICK_MS..=150.0 + TICK_MS).contains(&own), "{own} ms");
    assert!((100.0 - TICK_MS..=150.0 + TICK_MS).contains(&other), "{other} ms");
}

#[test]
fn whoever_takes_the_keys_plays_a_run_that_can_be_played_again() {
    let setup = Greeting.poster().setup();
    let mut live = Running::new(Greeting, setup.clone());
    for (at, east) in [(1000, 1), (1250, 0), (1403, -1), (2600, 1)] {
        live.advance(Span::millis(at));
        live.press(Keys { east, ..Keys::default() });
    }
    live.advance(setup.length);
    let hand = Hand::read(&live.hand().to_string()).expect("it reads what it wrote");
    let again = run(&Greeting, &Setup { hand, ..setup.clone() });
    assert_eq!(live.recorded().trace(), again.trace());
    assert_ne!(again.trace(), run(&Greeting, &setup).trace());
    // A went where it was sent to: east until 1250, nowhere until 1403.
    let x =
        |at: u64| again.person(again.frame_at(Span::millis(at)), 1, PlayerId(0)).unwrap().place[0];
    assert!(x(1200) > x(1050) + 1.0 && (x(1390) - x(1300)).abs() < 0.01, "{} {}", x(1050), x(1200));
}
