//! Between a link and a game: whatever comes, a server goes on, and so does a machine of a lockstep game.

use sametick::lockstep::{Identity, Mesh, Setup};
use sametick::secure::SystemRandom;
use sametick::{
    Fields, Game, Networked, NoEvent, Peer, Rates, Server, Span, Tick, Time, Turn, World,
};
use sametick_links::{Clock, Link, TAKEN_AT_ONCE_MAX, drive_mesh, drive_server};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Nothing;

impl Networked for Nothing {
    fn fields<F: Fields>(&mut self, _f: &mut F) {}
}

sametick::entities! { pub enum Entity { Nothing } }

struct Idle;

impl Game for Idle {
    type Entity = Entity;
    type Command = Nothing;
    type Event = NoEvent;
    type Content = ();

    fn step(_world: &mut World<Entity>, _turn: &Turn<'_, Self>) {}
}

/// Always has another datagram, as a socket has that fills faster than it is emptied.
struct Flooded {
    taken: usize,
    flushed: usize,
}

impl Link for Flooded {
    fn local(&self) -> Peer {
        Peer::from_ipv4([127, 0, 0, 1], 1)
    }

    fn receive(&mut self, _now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        self.taken += 1;
        assert!(self.taken < 100 * TAKEN_AT_ONCE_MAX, "it takes and takes, and does nothing else");
        into.clear();
        into.extend_from_slice(&[7; 40]);
        Some(Peer::from_ipv4([127, 0, 0, 1], 2))
    }

    fn send(&mut self, _now: Time, _to: Peer, _datagram: &[u8]) {}

    fn flush(&mut self, _now: Time) {
        self.flushed += 1;
    }

    fn wait(&mut self, _clock: &Clock, _until: Time) {}
}

#[test]
fn a_server_that_is_sent_more_than_it_can_take_still_ticks_and_answers() {
    let mut now = Time::ZERO;
    let random = &mut SystemRandom::new();
    let mut server = Server::<Idle>::open((), 1, Rates::default(), now, random);
    let mut link = Flooded { taken: 0, flushed: 0 };
    for _ in 0..10 {
        now += Span::millis(20);
        drive_server(&mut server, &mut link, now, random);
    }
    assert!(server.world().tick() >= Tick(10), "{:?}", server.world().tick());
    assert_eq!(link.flushed, 10);
}

#[test]
fn a_machine_of_a_lockstep_game_that_is_sent_more_than_it_can_take_still_steps_and_answers() {
    let mut now = Time::ZERO;
    let random = &mut SystemRandom::new();
    let mut link = Flooded { taken: 0, flushed: 0 };
    let (setup, me) = (Setup { players: 1, ..Setup::DOOM_1993 }, Identity { session: 1, name: 1 });
    let mut mesh = Mesh::<Idle>::found(setup, me, link.local(), ((), 1), now, random);
    for _ in 0..20 {
        now += Span::millis(20);
        drive_mesh(&mut mesh, &mut link, now, random);
    }
    let tick = mesh.game().world().expect("it has begun").tick();
    assert!(tick >= Tick(5), "{tick:?}");
    assert_eq!(link.flushed, 20);
}
