//! The same event-locked match over UDP and over TCP: the game cannot tell which it is.

use sametick::eventlock::{Denial, EventClient, EventRates, EventServer, Requests};
use sametick::secure::SystemRandom;
use sametick::{EntityId, Fields, Game, Networked, NoEvent, PlayerId, Span, Turn, World};
use sametick_links::{Clock, Link, TcpLink, UdpLink, drive_event_client, drive_event_server};

#[derive(Clone, Debug, Default, PartialEq)]
struct Cart {
    to: u16,
    arrives: u32,
}

impl Networked for Cart {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("to", &mut self.to, 10);
        f.bits("arrives", &mut self.arrives, 24);
    }
}

sametick::entities! { enum Entity { Cart } }

#[derive(Clone, Debug, Default, PartialEq)]
struct Order {
    cart: Option<EntityId>,
    to: u16,
}

impl Networked for Order {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.entity("cart", &mut self.cart);
        f.bits("to", &mut self.to, 10);
    }
}

struct Carts;

impl Game for Carts {
    type Entity = Entity;
    type Command = Order;
    type Event = NoEvent;
    type Content = ();

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Cart::default()));
        for (player, order) in turn.commands() {
            let Some(cart) = order.cart.filter(|cart| world.owner(*cart) == Some(player)) else {
                continue;
            };
            if let Some(cart) = world.get_mut::<Cart>(cart) {
                *cart = Cart { to: order.to, arrives: turn.tick().0 + 20 };
            }
        }
    }
}

impl Requests for Carts {
    fn judge(
        world: &World<Entity>,
        (): &(),
        player: PlayerId,
        order: &Order,
    ) -> Result<(), Denial> {
        let owner = order.cart.and_then(|cart| world.owner(cart));
        if owner == Some(player) { Ok(()) } else { Err(Denial(1)) }
    }
}

/// Two players order their carts about, and at the end all three worlds are the same.
fn play<L: Link>(mut here: L, mut there: [L; 2], server_at: sametick::Peer) {
    let (clock, random) = (Clock::start(), &mut SystemRandom::new());
    let rates = EventRates {
        tick_length: Span::millis(5),
        tell_every: Span::millis(15),
        requests_per_second: 200,
        keeps_hashes: true,
        ..EventRates::default()
    };
    let now = clock.now();
    let mut server = EventServer::<Carts>::open((), 1, rates, now, random);
    let mut clients = [(); 2].map(|()| EventClient::<Carts>::open(server_at, (), now, random));
    let (mut granted, mut asked) = ([0; 2], [0; 2]);
    while granted.iter().any(|granted| *granted < 20) {
        let now = clock.now();
        drive_event_server(&mut server, &mut here, now, random);
        for (index, client) in clients.iter_mut().enumerate() {
            drive_event_client(client, &mut there[index], server_at, now);
            granted[index] +=
                client.take_answers().iter().filter(|answer| answer.verdict.is_ok()).count();
            let Some(me) = client.me() else { continue };
            let cart = client.world().and_then(|world| world.owned::<Cart>(me)).map(|(id, _)| id);
            if let Some(cart) = cart.filter(|_| asked[index] < 20 && client.waiting() == 0) {
                asked[index] += 1;
                let order = Order { cart: Some(cart), to: asked[index] };
                client.request(now, order).expect("its own");
                assert!(client.is_unofficial(cart));
                assert_eq!(
                    client.shown(now).and_then(|world| world.get::<Cart>(cart)).map(|cart| cart.to),
                    Some(asked[index])
                );
            }
        }
        here.wait(&clock, clock.now() + Span::millis(1));
    }
    // What the last order did reaches the other one too.
    let is_told = |client: &EventClient<Carts>| {
        client
            .world()
            .is_some_and(|world| world.all::<Cart>().filter(|(_, cart)| cart.to == 20).count() == 2)
    };
    while !clients.iter().all(is_told) {
        let now = clock.now();
        drive_event_server(&mut server, &mut here, now, random);
        for (client, link) in clients.iter_mut().zip(&mut there) {
            drive_event_client(client, link, server_at, now);
        }
        here.wait(&clock, clock.now() + Span::millis(1));
    }
    for client in &clients {
        let (me, (tick, hash)) =
            (client.me().expect("in the game"), client.hash().expect("in the game"));
        assert_eq!(server.hash_told(me, tick), Some(hash));
    }
}

#[test]
fn a_match_is_the_same_over_udp() {
    let here = UdpLink::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket");
    let at = here.local();
    let there = [(); 2]
        .map(|()| UdpLink::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket"));
    play(here, there, at);
}

#[test]
fn a_match_is_the_same_over_tcp() {
    let here = TcpLink::listen("127.0.0.1:0".parse().expect("an address")).expect("a socket");
    let at = here.local();
    let there = [(); 2].map(|()| TcpLink::connect(at).expect("a connection"));
    play(here, there, at);
}
