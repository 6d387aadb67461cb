//! Cheating by volume: packets again and again, packets forged, and more of what is lawful than anybody needs.

use super::{AHEAD, BEGUN, Bout, CONTENT, honest, play, run};
use crate::harness::rogue::{Message, Rogue};
use crate::harness::{Match, STEP, Setup, line};
use sametick::channel::RateLimits;
use sametick::{Client, Dice, Model, Text, Tick, Time};
use sametick_arena::{Arena, Command};

/// What was sent to the second player in a match of two, whose first one's packets a third one replays and forges.
fn attacked(is_attacked: bool) -> (Vec<u8>, u64, [u64; 2]) {
    let mut play = Match::new(&Setup {
        content: &CONTENT,
        rates: Model::HALF_LIFE.rates,
        views: &[Model::HALF_LIFE.view; 2],
        lines: &[line(30, 0, 0.0)],
        seed: 21,
    });
    let attacker = play.add_host(&line(0, 0, 0.0));
    let server = play.network.address(play.server_host);
    let victim = play.network.address(play.guests[0].host);
    let (mut bytes, mut old, mut dice) = (Vec::new(), Vec::<Vec<u8>>::new(), Dice::new(6, 6));
    while play.now < Time::from_seconds(6) {
        let second = play.guests[1].host;
        play.step_server(|host, datagram| {
            if host == second {
                bytes.extend_from_slice(datagram);
            }
        });
        let now = play.now;
        play.receive(0, |_| {});
        let client: &mut Client<Arena> = &mut play.guests[0].client;
        client.command(run(client.predicted().map_or(0, |world| world.tick().0)));
        client.advance(now);
        let mut fresh = Vec::new();
        while let Some(datagram) = client.transmit(now) {
            fresh.push(datagram.to_vec());
        }
        for datagram in &fresh {
            play.network.send(now, play.guests[0].host, server, datagram);
        }
        // A forgery of the newest overtakes it.
        for mut datagram in fresh.into_iter().filter(|_| now > Time::from_millis(1_500)) {
            old.push(datagram.clone());
            flip(&mut datagram, &mut dice);
            if is_attacked {
                play.network.send_as(now, attacker, victim, server, &datagram);
            }
        }
        play.frame(1, |_, view| run(view.tick().0));
        if is_attacked && !old.is_empty() {
            for _ in 0..4 {
                // As it was, and with a bit flipped; under its sender's address, and another.
                let mut datagram = old[dice.below(old.len() as u64) as usize].clone();
                play.network.send_as(now, attacker, victim, server, &datagram);
                play.network.send(now, attacker, server, &datagram);
                flip(&mut datagram, &mut dice);
                play.network.send_as(now, attacker, victim, server, &datagram);
            }
        }
        play.now += STEP;
    }
    let layouts = sametick::Layouts::of::<sametick_arena::Entity>();
    let drops = play.server.listener().drops();
    (bytes, play.server.world().hash(&layouts), [drops.replayed, drops.forged])
}

fn flip(datagram: &mut [u8], dice: &mut Dice) {
    let bit = dice.below(datagram.len() as u64 * 8) as usize;
    datagram[bit / 8] ^= 1 << (bit % 8);
}

#[test]
fn replayed_and_forged_packets_change_nothing() {
    let (fair, fair_hash, _) = attacked(false);
    let (bytes, hash, [replayed, forged]) = attacked(true);
    assert!(replayed > 5_000 && forged > 200, "{replayed} replayed, {forged} forged");
    assert_eq!(hash, fair_hash, "the world is another");
    assert!(bytes == fair, "the others were told something else");
}

#[test]
fn a_flood_of_legal_messages_costs_the_others_nothing() {
    let bout = Bout::new(Model::HALF_LIFE);
    let fair = play(&bout, honest);
    // All that a message can ask for, each millisecond: 32 commands, every snapshot, everybody's commands, and nothing
    // acknowledged. It asks the server for what the honest one asks for.
    let flood = |play: &mut Match, rogue: &mut Rogue, tick: Option<Tick>| {
        honest(play, rogue, tick);
        let now = play.server.world().tick();
        for index in 0..if now.0 < BEGUN { 0 } else { 4 } {
            let newest = Tick(now.0 + AHEAD - 1);
            let commands: Vec<Command> = (0..32).map(|back| run(newest.0 - back)).collect();
            let asking = Message {
                snapshot_every: 1 + index % 2,
                wants_commands: index % 2 == 0,
                acknowledges: (index * 977, u64::MAX >> 32),
                ..Message::new(newest, &commands)
            };
            rogue.say(play, &asking);
        }
        // And reliable ones that mean nothing.
        let _ = rogue.dialer.send_reliable(&[9; 700]);
        rogue.flush(play);
    };
    let outcome = play(&bout, flood);
    assert!(outcome.bytes == fair.bytes, "the others were told something else");
    assert_eq!((outcome.repeated, outcome.world_hash), (fair.repeated, fair.world_hash));
    assert_eq!(outcome.rogue, fair.rogue);
    let rate = u64::from(RateLimits::default().ceiling_bytes_per_second);
    assert!(outcome.bytes_to_rogue <= rate * bout.seconds, "{}", outcome.bytes_to_rogue);
    assert!(outcome.memory_bytes_max <= 64 * 1024, "{}", outcome.memory_bytes_max);
}

#[test]
fn who_talks_without_end_is_heard_once_a_second() {
    let bout = Bout::new(Model::HALF_LIFE);
    let fair = play(&bout, honest);
    let words = Text::cut(&"spam ".repeat(12));
    let outcome = play(&bout, |play, rogue, tick| {
        let Some(stamped) = tick.map(|tick| tick.0 + AHEAD) else { return };
        let (letter, letter_at) = (b'a' + (stamped % 26) as u8, (stamped % 16) as u8);
        let command = Command { say: words, letter, letter_at, ..run(stamped) };
        rogue.say(play, &Message::new(Tick(stamped), &[command; 3]));
    });
    assert_eq!(outcome.repeated, fair.repeated, "nobody's commands were late");
    // Of 16 letters of a name and 60 of speech the others get at most so much a second.
    let more = outcome.bytes.len().saturating_sub(fair.bytes.len());
    let per_second = more / bout.seconds as usize;
    assert!(per_second < 1_500, "{per_second} bytes a second more");
}
