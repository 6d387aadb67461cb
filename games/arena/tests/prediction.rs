//! A client that knows only what it sees predicts its own fighter exactly: server and clients over a simulated line.

use sametick::secure::SystemRandom;
use sametick::{Client, Effect, Peer, PlayerId, Rates, Server, Span, Tick, Time, View};
use sametick_arena::{Arena, Command, Content, Fighter, Mode, Tuning, anything, map};
use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

static CONTENT: LazyLock<Content> = LazyLock::new(|| {
    // Bumps are for the server to say: where the others are now, no client knows.
    let tuning = Tuning { fighters_collide: false, ..Tuning::default() };
    let content = Content::new(map::HALLS, Mode::FreeForAll).expect("the map is sound");
    // Found out once, for all that are made from it.
    content.map.visibility();
    Content { tuning, ..content }
});

struct Far {
    peer: Peer,
    client: Client<Arena>,
    to_server: VecDeque<(u64, Vec<u8>)>,
    to_client: VecDeque<(u64, Vec<u8>)>,
    predicted: BTreeMap<Tick, Fighter>,
}

/// What clients came to know.
#[derive(Debug, Default)]
struct Tally {
    /// How many ticks of their own fighters they predicted, and how many of those exactly.
    compared: u32,
    exact: u32,
    /// How many events they predicted, were told without having predicted them, and took back.
    foreseen: u32,
    told: u32,
    cancelled: u32,
}

/// A match at so many ticks a second, of clients so many milliseconds away.
fn play(rate: u32, delay: u64, seconds: u64, wish: impl Fn(u32, PlayerId) -> Command) -> Tally {
    let random = &mut SystemRandom::new();
    let tick_length = Span::micros(u64::from(1_000_000 / rate));
    let rates = Rates { tick_length, ticks_per_snapshot: (rate / 20).max(1), ..Rates::default() };
    let mut server = Server::<Arena>::open(CONTENT.clone(), 1, rates, Time::ZERO, random);
    let mut clients: Vec<Far> = (0..4)
        .map(|number| {
            let peer = Peer::new([number; 16], 1);
            let view = View { predicts_at_most: Span::seconds(1), ..View::default() };
            let client = Client::<Arena>::open(peer, CONTENT.clone(), view, Time::ZERO, random);
            let (to_server, to_client) = (VecDeque::new(), VecDeque::new());
            Far { peer, client, to_server, to_client, predicted: BTreeMap::new() }
        })
        .collect();
    let mut tally = Tally::default();
    // A handshake takes two round trips, and then a client finds its place ahead of the server.
    let settled = 1840 + 4 * delay;
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
            let effects = far.client.take_effects();
            // In its first second a client is still finding its place ahead of the server.
            for effect in effects.into_iter().filter(|_| millis > 1500) {
                match effect {
                    Effect::Started { is_predicted: true, .. } => tally.foreseen += 1,
                    Effect::Started { .. } => tally.told += 1,
                    Effect::Cancelled { .. } => tally.cancelled += 1,
                }
            }
            while let Some(datagram) = far.client.transmit(now) {
                far.to_server.push_back((millis + delay, datagram.to_vec()));
            }
            while let Some((_, mut datagram)) = far.to_server.pop_front_if(|(at, _)| *at <= millis)
            {
                if let Some(answer) = server.receive(now, far.peer, &mut datagram, random) {
                    far.to_client.push_back((millis + delay, answer.to_vec()));
                }
            }
        }
        let before = server.world().tick();
        server.advance(now);
        while let Some((peer, datagram)) = server.transmit(now) {
            let far = clients.iter_mut().find(|far| far.peer == peer).expect("one of ours");
            far.to_client.push_back((millis + delay, datagram.to_vec()));
        }
        if server.world().tick() == before || millis < settled {
            continue;
        }
        for far in &clients {
            let own = far.client.me().and_then(|me| server.world().owned::<Fighter>(me));
            let predicted = far.predicted.get(&server.world().tick());
            if let (Some((_, own)), Some(predicted)) = (own, predicted) {
                tally.compared += 1;
                tally.exact += u32::from(own == predicted);
            }
        }
    }
    tally
}

/// Keys are held for as long at every rate.
fn keys(rate: u32, tick: u32, player: PlayerId) -> Command {
    anything(5, (u64::from(tick) * 60 / u64::from(rate)) as u32, player)
}

#[test]
fn who_is_left_alone_is_predicted_exactly() {
    let near = [(20, 40, 12), (60, 40, 20), (128, 40, 8), (400, 40, 4), (1000, 40, 3)];
    // A round trip of more ticks than 128, which were once the most that a client predicted.
    let far = [(20, 300, 12), (250, 300, 4), (1000, 80, 3), (1000, 300, 4)];
    for (rate, delay, seconds) in near.into_iter().chain(far) {
        let wish = |tick, player| Command { fire: false, ..keys(rate, tick, player) };
        let tally = play(rate, delay, seconds, wish);
        println!("{rate} Hz, {delay} ms away: {tally:?}");
        assert!(tally.compared > 500);
        let is_exact = tally.exact * 100 > tally.compared * 98;
        assert!(is_exact, "{rate} Hz, {delay} ms away: {tally:?}");
    }
}

#[test]
fn shots_of_others_are_all_that_surprises() {
    let tally = play(60, 40, 20, |tick, player| keys(60, tick, player));
    println!("{tally:?}");
    assert!(tally.exact * 100 > tally.compared * 95, "{tally:?}");
    assert!(tally.foreseen > 200 && tally.told > 20, "{tally:?}");
    assert!(tally.cancelled * 50 < tally.foreseen, "{tally:?}");
}
