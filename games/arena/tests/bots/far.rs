//! Bots as clients: each knows only what its own client shows, over a line with delay and loss.

use super::party::MAPS;
use sametick::secure::SystemRandom;
use sametick::{Client, Dice, Peer, Rates, Server, Tick, Time, View};
use sametick_arena::bot::{Bot, Skill};
use sametick_arena::{Arena, Content, Fighter, Seat};
use std::collections::VecDeque;

/// One way, in milliseconds.
const DELAY: u64 = 40;
const LOSS: f64 = 0.02;
const DT: f32 = 1.0 / 60.0;

struct Far {
    peer: Peer,
    client: Client<Arena>,
    bot: Bot,
    thought_at: Option<Tick>,
    to_server: VecDeque<(u64, Vec<u8>)>,
    to_client: VecDeque<(u64, Vec<u8>)>,
}

#[test]
fn bots_play_through_clients() {
    let (_, content, ways) = &MAPS[0];
    let mut content: Content = content.clone();
    (content.tuning.pause_seconds, content.tuning.score_limit) = (0.1, 0);
    let random = &mut SystemRandom::new();
    let mut server =
        Server::<Arena>::open(content.clone(), 1, Rates::default(), Time::ZERO, random);
    let mut clients: Vec<Far> = (0..4)
        .map(|number| {
            let peer = Peer::new([number; 16], 1);
            let view = View::default();
            let client = Client::<Arena>::open(peer, content.clone(), view, Time::ZERO, random);
            let bot = Bot::new(Skill::level(4), number.into(), ways.clone());
            let (to_server, to_client) = (VecDeque::new(), VecDeque::new());
            Far { peer, client, bot, thought_at: None, to_server, to_client }
        })
        .collect();
    let mut dice = Dice::new(1, 1);
    let mut metres = 0.0;
    for millis in 0..40_000 {
        let now = Time::from_millis(millis);
        for far in &mut clients {
            while let Some((_, mut datagram)) = far.to_client.pop_front_if(|(at, _)| *at <= millis)
            {
                far.client.receive(now, &mut datagram);
            }
            let tick = far.client.predicted().map(|world| world.tick());
            if let (Some(me), true) = (far.client.me(), tick != far.thought_at) {
                far.thought_at = tick;
                if let Some(view) = far.client.view(now) {
                    let command = far.bot.think(view, me, &content, DT);
                    far.client.command(command);
                }
            }
            far.client.advance(now);
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
        server.advance(now);
        while let Some((peer, datagram)) = server.transmit(now) {
            let far = clients.iter_mut().find(|far| far.peer == peer).expect("one of ours");
            if !dice.chance(LOSS) {
                far.to_client.push_back((millis + DELAY, datagram.to_vec()));
            }
        }
        let speed = |own: &Fighter| {
            let [x, y, _] = own.velocity;
            (x * x + y * y).sqrt()
        };
        metres += server.world().all::<Fighter>().map(|(_, own)| speed(own)).sum::<f32>() / 1000.0;
    }
    let scores: Vec<(i16, u16)> =
        server.world().all::<Seat>().map(|(_, seat)| (seat.score, seat.deaths)).collect();
    println!("{scores:?}, {metres:.0} m by four bots in 40 s");
    assert!(scores.iter().map(|(kills, _)| kills).sum::<i16>() >= 3, "{scores:?}");
    assert!(metres > 4.0 * 40.0 * 2.5, "{metres} m");
}
