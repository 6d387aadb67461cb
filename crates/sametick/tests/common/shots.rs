//! A small game with shots, two players of it over a simulated network, and the recording of their match. The fuzz
//! targets use it too.
#![allow(dead_code, reason = "no one uses all of it")]

use sametick::network::{Conditions, Network};
use sametick::replay::Recording;
use sametick::secure::Random;
use sametick::{
    Client, Delivery, Dice, Fields, Game, Model, Networked, Server, Span, Time, Turn, World,
};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub walk: i8,
    pub shoots: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("walk", &mut self.walk, -1..=1);
        f.bool("shoots", &mut self.shoots);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gunner {
    pub x: f32,
    pub hits: u8,
}

impl Networked for Gunner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.x).shown(-100.0..=100.0, 0.01);
        f.bits("hits", &mut self.hits, 8);
    }
}

sametick::entities! { pub(crate) enum Entity { Gunner } }

pub(crate) struct Shots;

impl Game for Shots {
    type Entity = Entity;
    type Command = Wish;
    type Event = Wish;
    type Content = u64;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Gunner::default());
        }
        for player in turn.left() {
            let theirs = world.owned::<Gunner>(player).map(|(id, _)| id);
            theirs.into_iter().for_each(|id| _ = world.despawn(id));
        }
        for (player, wish) in turn.commands() {
            let Some((me, gunner)) = world.owned_mut::<Gunner>(player) else { continue };
            let stride = f32::from(wish.walk) * 3.0 * turn.dt();
            gunner.x = (gunner.x + stride).clamp(-100.0, 100.0);
            let x = gunner.x;
            if !wish.shoots {
                continue;
            }
            let near = |world: &World<Entity>| {
                let mut others = world.all::<Gunner>().filter(|(id, _)| *id != me);
                others.find(|(_, other)| (other.x - x).abs() < 0.5).map(|(id, _)| id)
            };
            let hit = turn.judge(player, world, near, |_, _| true);
            if let Some(victim) = hit.and_then(|id| world.get_mut::<Gunner>(id)) {
                victim.hits = victim.hits.wrapping_add(1);
                victim.x = -victim.x;
                turn.emit(me, Delivery::default(), wish.clone());
            }
        }
    }

    fn content_name(content: &u64) -> u64 {
        *content
    }
}

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// The recording of a match of three seconds.
pub(crate) fn record(seed: u64, model: Model, keeps_sent: bool) -> Vec<u8> {
    let random = &mut Seeded(Dice::new(seed, 0));
    let mut network = Network::new(seed);
    network.set_default_conditions(Conditions { delay: Span::millis(40), ..Conditions::PERFECT });
    let host = network.add_host();
    let address = network.address(host);
    let mut server = Server::<Shots>::open(1, seed, model.rates, Time::ZERO, random);
    let recording = Recording::new("test", "shots");
    server.record(&Recording { checkpoint_every: Span::seconds(1), keeps_sent, ..recording });
    let mut clients: Vec<_> = (0..2)
        .map(|_| {
            let client = Client::<Shots>::open(address, 1, model.view, Time::ZERO, random);
            (network.add_host(), client)
        })
        .collect();
    let (mut file, mut datagram) = (Vec::new(), Vec::new());
    for now in (0..3_000).step_by(5).map(Time::from_millis) {
        while let Some(from) = network.receive(now, host, &mut datagram) {
            if let Some(answer) = server.receive(now, from, &mut datagram, random) {
                network.send(now, host, from, &answer);
            }
        }
        server.advance(now);
        file.extend(server.take_recording());
        while let Some((to, datagram)) = server.transmit(now) {
            network.send(now, host, to, datagram);
        }
        for (here, client) in &mut clients {
            while network.receive(now, *here, &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            let mut dice = Dice::new(seed, now.as_micros() / 200_000);
            let walk = dice.below(3) as i8 - 1;
            client.command(Wish { walk, shoots: dice.chance(0.7) });
            client.advance(now);
            while let Some(datagram) = client.transmit(now) {
                network.send(now, *here, address, datagram);
            }
        }
    }
    file.extend(server.finish_recording());
    file
}

pub(crate) const START_BYTES: usize = 10;
pub(crate) const HEAD_BYTES: usize = 9;

/// The kind and the payload of each block.
pub(crate) fn blocks(file: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut all, mut rest) = (Vec::new(), &file[START_BYTES..]);
    while let Some((head, after)) = rest.split_at_checked(HEAD_BYTES) {
        let length = u32::from_le_bytes(head[1..5].try_into().expect("four bytes"));
        let (payload, next) = after.split_at(length as usize);
        all.push((head[0], payload.to_vec()));
        rest = next;
    }
    all
}

/// The same back to bytes, each with a length and a sum that are right.
pub(crate) fn join(start: &[u8], blocks: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut file = start.to_vec();
    for (kind, payload) in blocks {
        let head = [&[*kind], &(payload.len() as u32).to_le_bytes()[..]].concat();
        let sum = head.iter().chain(payload).fold(!0u32, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 }
            })
        });
        file.extend(head);
        file.extend((!sum).to_le_bytes());
        file.extend(payload);
    }
    file
}
