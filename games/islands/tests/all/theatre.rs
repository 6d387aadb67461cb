//! The claims of the theatre's scene "Bridge": measured, under event locking and in lockstep.

use sametick::theatre::{Cargo, HEADERS_BYTES, Recorded, Scene, Setup, run_locked};
use sametick::{PlayerId, Span, lockstep};
use sametick_islands::TICK;
use sametick_islands::theatre::{Bridge, arrives, ordered, sets_out};

const SERVER: usize = 0;
const A: usize = 1;
const B: usize = 2;

fn under(name: &str) -> Recorded {
    let scene = Bridge::default();
    let lockstep = lockstep::Setup::named(name);
    assert_eq!(lockstep.is_none(), name == "netstorm", "there is no {name}");
    run_locked(&scene, &Setup { lockstep, ..scene.poster().setup() })
}

/// How long after the order a pane shows A's squad on its way.
fn waits(shown: &Recorded, pane: usize) -> Span {
    let at = |frame: usize| shown.frames[frame].at;
    at(sets_out(shown, pane).expect("it sets out")) - at(ordered(shown).expect("it is ordered"))
}

fn is_unofficial(shown: &Recorded, frame: usize, pane: usize) -> bool {
    shown.person(frame, pane, PlayerId(0)).expect("it is in sight").is_unofficial
}

#[test]
fn a_squad_sets_out_at_once_where_it_was_ordered_and_arrives_everywhere_at_one_time() {
    let shown = under("netstorm");
    let [server, own, other] = [SERVER, A, B].map(|pane| waits(&shown, pane));
    assert!(own <= TICK * 2, "{own} on A's own screen");
    assert!(own < server && server <= TICK * 4, "{server} on the server");
    // Half of B's ping, and at most what is gathered before it is told.
    assert!((Span::millis(250)..Span::millis(650)).contains(&other), "{other} on B's screen");
    let [server, own, other] =
        [SERVER, A, B].map(|pane| arrives(&shown, pane).expect("it arrives"));
    assert!(own.abs_diff(server) <= 1 && other.abs_diff(server) <= 1, "{server} {own} {other}");
    assert!(shown.frames[server].at > Span::seconds(4), "it has gone all the way");
}

#[test]
fn what_is_hoped_for_is_marked_on_the_screen_of_who_hopes_and_until_the_server_agrees() {
    let shown = under("netstorm");
    let [from, until] = [sets_out(&shown, A).unwrap(), arrives(&shown, SERVER).unwrap()];
    assert!(is_unofficial(&shown, from, A));
    let marked = (0..shown.frames.len()).filter(|frame| is_unofficial(&shown, *frame, A));
    let marked: Vec<usize> = marked.collect();
    assert!(marked.iter().all(|frame| (from..until).contains(frame)), "{marked:?}");
    // A round trip, a tick and what is gathered before it is told.
    assert!(marked.len() as u64 * TICK.as_micros() <= 400_000, "{marked:?}");
    for frame in 0..shown.frames.len() {
        assert!(!is_unofficial(&shown, frame, SERVER) && !is_unofficial(&shown, frame, B));
    }
    // B's own order is B's hope, for longer.
    let hopes = |pane: usize| {
        let frames = 0..shown.frames.len();
        let own = |frame: usize| shown.person(frame, pane, PlayerId(1));
        frames.filter(|frame| own(*frame).is_some_and(|shape| shape.is_unofficial)).count()
    };
    assert!(hopes(B) > marked.len() && hopes(A) == 0, "{} {}", hopes(B), hopes(A));
}

#[test]
fn in_lockstep_nothing_moves_until_bs_line_has_answered() {
    let locked = waits(&under("netstorm"), A);
    let shown = under("doom1993");
    let own = waits(&shown, A);
    assert!(own >= Span::millis(250) && own > locked * 2, "{own}, under event locking {locked}");
    assert!((0..shown.frames.len()).all(|frame| !is_unofficial(&shown, frame, A)));
    let caption = Bridge::default().moment(&shown).expect("it has one").caption;
    assert!(caption.contains("B's line came first"), "{caption}");
}

#[test]
fn a_stops_at_the_moment_at_which_it_hopes_and_b_knows_nothing() {
    let (scene, shown) = (Bridge::default(), under("netstorm"));
    let moment = scene.moment(&shown).expect("it has one");
    assert!(is_unofficial(&shown, moment.frame, A), "{moment:?}");
    assert!(moment.frame < sets_out(&shown, B).unwrap(), "{moment:?}");
    assert!(moment.caption.contains("apart"), "{moment:?}");
}

#[test]
fn what_the_lines_carried_is_what_the_connections_counted() {
    for name in ["netstorm", "doom1993"] {
        let shown = under(name);
        for (sums, counted) in shown.sums.iter().zip(&shown.channel) {
            for (sum, counted) in sums.iter().zip(counted) {
                let bytes = counted.bytes - HEADERS_BYTES * counted.packets;
                assert_eq!((sum.packets, sum.bytes), (counted.packets, bytes), "{name}");
                assert!(sum.packets > 0, "{name}");
            }
        }
    }
}

#[test]
fn one_order_is_one_request_and_one_run_is_like_another() {
    let shown = under("netstorm");
    let asked = |player: u16| {
        let packets = shown.packets.iter().filter(|packet| packet.player == PlayerId(player));
        packets.filter(|packet| matches!(packet.cargo, Cargo::Commands(_))).count()
    };
    assert_eq!([asked(0), asked(1)], [1, 1]);
    assert!(shown.packets.iter().any(|packet| matches!(packet.cargo, Cargo::Snapshot(_))));
    assert_eq!(shown.trace(), under("netstorm").trace());
}
