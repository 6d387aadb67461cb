//! A client that knows only what it sees predicts its own fighter exactly: server and clients over a simulated line.

use sametick::secure::SystemRandom;
use sametick::{Client, Peer, PlayerId, Rates, Server, Span, Tick, Time, View};
use sametick_arena::{Arena, Command, Content, Fighter, Mode, Tuning, anything, map};
use std::collections::{BTreeMap, VecDeque};

/// One way, in milliseconds.
const DELAY: u64 = 40;

fn content() -> Content {
    // Bumps are for the server to say: where the others are now, no client knows.
    let tuning = Tuning { fighters_collide: false, ..Tuning::default() };
    Content { tuning, ..Content::new(map::HALLS, Mode::FreeForAll).expect("the map is sound") }
}

struct Far {
    peer: Peer,
    client: Client<Arena>,
    to_server: VecDeque<(u64, Vec<u8>)>,
    to_client: VecDeque<(u64, Vec<u8>)>,
    predicted: BTreeMap<Tick, Fighter>,
}

/// How many ticks of their own fighters clients predicted, and how many of those exactly.
fn play(seconds: u64, wish: impl Fn(u32, PlayerId) -> Command) -> (u32, u32) {
    let random = &mut SystemRandom::new();
    let mut server = Server::<Arena>::open(content(), 1, Rates::default(), Time::ZERO, random);
    let mut clients: Vec<Far> = (0..4)
        .map(|number| {
            let peer = Peer::new([number; 16], 1);
            let view = View { predicts_at_most: Span::seconds(1), ..View::default() };
            let client = Client::<Arena>::open(peer, content(), view, Time::ZERO, random);
            let (to_server, to_client) = (VecDeque::new(), VecDeque::new());
            Far { peer, client, to_server, to_client, predicted: BTreeMap::new() }
        })
        .collect();
    let (mut compared, mut exact) = (0, 0);
    for millis in 0..seconds * 1000 {
        let now = Time::from_millis(millis);
        for far in &mut clients {
            while let Some((_, mut datagram)) = far.to_client.pop_front_if(|(at, _)| *at <= millis)
            {
                far.client.receive(now, &mut datagram);
            }
            if let Some(me) = far.client.me() {
                let tick = far.client.predicted().map_or(0, |view| view.tick().0);
                far.client.command(wish(tick, me));
            }
            far.client.advance(now);
            if let (Some(view), Some((_, own))) =
                (far.client.predicted(), far.client.own::<Fighter>())
            {
                far.predicted.insert(view.tick(), own.clone());
            }
            while let Some(datagram) = far.client.transmit(now) {
                far.to_server.push_back((millis + DELAY, datagram.to_vec()));
            }
            while let Some((_, mut datagram)) = far.to_server.pop_front_if(|(at, _)| *at <= millis)
            {
                if let Some(answer) = server.receive(now, far.peer, &mut datagram, random) {
                    far.to_client.push_back((millis + DELAY, answer.to_vec()));
                }
            }
        }
        let before = server.world().tick();
        server.advance(now);
        while let Some((peer, datagram)) = server.transmit(now) {
            let far = clients.iter_mut().find(|far| far.peer == peer).expect("one of ours");
            far.to_client.push_back((millis + DELAY, datagram.to_vec()));
        }
        if server.world().tick() == before || millis < 2000 {
            continue;
        }
        for far in &clients {
            let own = far.client.me().and_then(|me| server.world().owned::<Fighter>(me));
            let predicted = far.predicted.get(&server.world().tick());
            if let (Some((_, own)), Some(predicted)) = (own, predicted) {
                compared += 1;
                exact += u32::from(own == predicted);
            }
        }
    }
    (compared, exact)
}

#[test]
fn who_is_left_alone_is_predicted_exactly() {
    let (compared, exact) =
        play(20, |tick, player| Command { fire: false, ..anything(5, tick, player) });
    println!("{exact} of {compared} ticks were predicted exactly");
    assert!(compared > 3_000);
    assert!(f64::from(exact) / f64::from(compared) > 0.98, "{exact} of {compared}");
}

#[test]
fn shots_of_others_are_all_that_surprises() {
    let (compared, exact) = play(20, |tick, player| anything(5, tick, player));
    println!("{exact} of {compared} ticks were predicted exactly");
    assert!(f64::from(exact) / f64::from(compared) > 0.8, "{exact} of {compared}");
}
