//! Server and client in one process: datagrams carried by hand, time counted in milliseconds.
use sametick::{Client, Fields, Game, Networked, NoEvent, Peer, Rates, Server, Time, Turn, World};
#[derive(Clone, Debug, Default, PartialEq)]
struct Steps(u16);
impl Networked for Steps {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("steps", &mut self.0, 16);
    }
}
sametick::entities! { enum Entity { Steps } }
impl Game for Steps {
    type Entity = Entity;
    type Command = Steps;
    type Event = NoEvent;
    type Content = ();
    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Steps(0)));
        let mut walk = |id, more| world.owned_mut(id).map(|(_, Steps(taken))| *taken += more);
        turn.commands().for_each(|(player, wish)| _ = walk(player, wish.0));
    }
}
fn main() {
    let (me, random) = (Peer::new([1; 16], 1), &mut sametick::secure::SystemRandom::new());
    let mut server = Server::<Steps>::open((), 1, Rates::default(), Time::ZERO, random);
    let mut client = Client::<Steps>::open(me, (), Default::default(), Time::ZERO, random);
    for now in (0..2_000).map(Time::from_millis) {
        client.command(Steps(1));
        client.advance(now);
        while let Some(mut sent) = client.transmit(now).map(<[u8]>::to_vec) {
            let answer = server.receive(now, me, &mut sent, random);
            answer.into_iter().for_each(|answer| client.receive(now, &mut answer.to_vec()));
        }
        server.advance(now);
        while let Some((_, datagram)) = server.transmit(now) {
            client.receive(now, &mut datagram.to_vec());
        }
    }
    println!("{:?} after two seconds", client.own::<Steps>().expect("the server let us in").1);
}
