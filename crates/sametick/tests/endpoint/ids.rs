//! Connection ids when chance gives the same salt again, as it does once in 65,536 draws.

use super::pair::{Pair, Told};
use sametick::Span;
use sametick::channel::CloseReason;

#[test]
fn a_session_and_the_one_that_replaces_it_never_share_a_connection_id() {
    let mut pair = Pair::new(50);
    pair.repeat_salts();
    pair.run(Span::millis(300));
    let mut ids = vec![pair.connection().expect("a client is here")];
    for _ in 0..3 {
        let old = pair.redial_beside(1);
        pair.run_both(Span::millis(300), old, |told| {
            assert_eq!(told, [Told::Left(CloseReason::Replaced)]);
        });
        // The last one still says goodbye for a while.
        ids.push(pair.connection().expect("a client is here"));
        let [.., before, now] = ids[..] else { unreachable!("there are two") };
        assert_ne!(before, now, "all of them: {ids:?}");
        assert_eq!(before.slot(), now.slot(), "a client keeps its slot");
    }
}

#[test]
fn a_hello_that_is_never_followed_up_costs_a_live_session_nothing() {
    let mut pair = Pair::new(51);
    pair.repeat_salts();
    pair.run(Span::millis(300));
    let live = pair.redial_beside(1);
    pair.run_until(|pair| pair.half_open() == 1);
    pair.return_to(live);
    pair.client.send_reliable(b"still here").unwrap();
    pair.run(Span::millis(300));
    assert_eq!(pair.server_told, [Told::Connected, Told::Reliable(b"still here".into())]);
}
