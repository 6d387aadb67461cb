//! The same contest frame by frame: a server that waits for everyone's commands before it hands them on. The first
//! player is the server.

use super::{Census, Contest, LOOK, Screens, Seen};
use crate::play::Seeded;
use sametick::lockstep::{Identity, Mesh, Role, Setup};
use sametick::{Dice, Peer, Tick, Time};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Islands, TICK};

pub(super) fn play(contest: &Contest) -> Seen {
    let (mut network, here, mut hosts) = contest.network();
    hosts[0] = here;
    let content = contest.content();
    let (mut now, mut random) = (Time::ZERO, Seeded(Dice::new(contest.seed, 9)));
    let door = network.address(here);
    let mut players = gather(contest, door, &content, &mut random);
    let mut bots: Vec<Bot> =
        (0..u64::from(contest.players)).map(|player| Bot::new(contest.seed ^ player)).collect();
    let mut traffic = contest.traffic();
    let (mut census, mut screens) = (Census::default(), Screens::new(hosts.len()));
    let (mut stall, mut datagram, mut verified) = (0, Vec::new(), true);
    let mut compared = Tick(0);
    while now < Time::from_seconds(u64::from(contest.seconds)) {
        let at = now - Time::ZERO;
        for (index, player) in players.iter_mut().enumerate() {
            while let Some(from) = network.receive(now, hosts[index], &mut datagram) {
                if let Some(answer) = player.receive(now, (from, None), &mut datagram, &mut random)
                {
                    network.send(now, hosts[index], from, &answer);
                }
            }
            let game = player.game();
            let tick = game.world().map_or(0, |world| world.tick().0);
            let is_new = tick > screens.0[index].0;
            let still = screens.look(at, index, tick);
            if index + 1 < hosts.len() && contest.counts(at) {
                stall = stall.max(still);
            }
            if is_new && let (Some(me), Some(world)) = (game.me(), game.world()) {
                let request = bots[index].think(world, me, &content);
                player.command(request);
            }
            player.advance(now, &mut random);
            while let Some((to, datagram)) = player.transmit() {
                match index {
                    0 => traffic.server_sent(at, &datagram),
                    _ => traffic.client_sent(at, index, &datagram),
                }
                network.send(now, hosts[index], to, &datagram);
            }
        }
        if at.as_micros().is_multiple_of(1_000_000) && contest.counts(at) {
            players[0].game().world().into_iter().for_each(|world| census.count(world));
            let known = agreed_at(&players);
            verified &= known.is_some_and(|known| known > compared);
            compared = known.unwrap_or(compared);
        }
        now += LOOK;
    }
    Seen {
        traffic,
        units_alive_min: census.least.unwrap_or(0),
        units_under_fire_mean: census.under_fire_mean(),
        stall_ticks_others_max: stall,
        verified,
    }
}

/// The tick that all have stepped, if they had the same world after it.
fn agreed_at(players: &[Mesh<Islands>]) -> Option<Tick> {
    let worlds = players.iter().filter_map(|player| player.game().world());
    let known = worlds.map(|world| world.tick()).min()?;
    let mut hashes = players.iter().filter_map(|player| player.game().hash_of(known));
    let first = hashes.next()?;
    hashes.all(|hash| hash == first).then_some(known)
}

/// The first founds the game and is its server, the others join.
fn gather(
    contest: &Contest,
    door: Peer,
    content: &Content,
    random: &mut Seeded,
) -> Vec<Mesh<Islands>> {
    let setup = Setup {
        players: contest.players,
        seed: contest.seed,
        tick_length: TICK,
        ..Setup::FRAME_LOCKED
    };
    let player = |index: u64| {
        let (me, content) = (Identity { session: 50 + index, name: index }, (content.clone(), 1));
        match index {
            0 => Mesh::found(setup, me, door, content, Time::ZERO, random),
            _ => Mesh::join(door, me, content, Role::Plays, Time::ZERO, random),
        }
    };
    (0..u64::from(contest.players)).map(player).collect()
}
