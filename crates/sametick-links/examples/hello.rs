//! Hello: walk to and fro over UDP, and see how long each turn of yours takes to show.
//! `hello serve [ADDRESS]`, `hello [ADDRESS] [--ping MS] [--no-prediction] [--seconds N]`; without an
//! address both ends run here. Compare `hello --ping 200` with and without `--no-prediction`.
use sametick::secure::SystemRandom;
use sametick::{Client, Fields, Game, Networked, NoEvent, Peer, Rates, Server, Time, Turn, World};
use sametick::{Span, View, network::Conditions};
use sametick_links::{Clock, Conditioned, Link, UdpLink, conditioner::Direction, peer_at};
#[derive(Clone, Debug, Default, PartialEq)]
struct Wish(i32);
impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("east", &mut self.0, -1..=1);
    }
}
#[derive(Clone, Debug, Default)]
struct Walker(f32);
impl Networked for Walker {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.0).shown(-20.0..=20.0, 0.01);
    }
}
sametick::entities! { enum Entity { Walker } }
struct Hello;
impl Game for Hello {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = ();
    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Walker(0.0)));
        for (player, Wish(east)) in turn.commands() {
            let Some((_, Walker(x))) = world.owned_mut(player) else { continue };
            *x = (*x + *east as f32 * 15.0 * turn.dt()).clamp(-20.0, 20.0);
        }
    }
}
fn serve(mut link: impl Link, clock: Clock, end: Time) {
    let (mut random, mut datagram) = (SystemRandom::new(), Vec::new());
    let mut server = Server::<Hello>::open((), 1, Rates::default(), clock.now(), &mut random);
    while clock.now() < end {
        let now = clock.now();
        while let Some(from) = link.receive(now, &mut datagram) {
            let answer = server.receive(now, from, &mut datagram, &mut random);
            answer.into_iter().for_each(|answer| link.send(now, from, &answer));
        }
        server.advance(now);
        while let Some((to, datagram)) = server.transmit(now) {
            link.send(now, to, datagram);
        }
        link.wait(&clock, server.next_wake().min(end));
    }
}
fn play(mut link: impl Link, clock: Clock, server: Peer, view: View, end: Time) {
    let (mut random, mut datagram) = (SystemRandom::new(), Vec::new());
    let mut client = Client::<Hello>::open(server, (), view, clock.now(), &mut random);
    let (mut east, mut asked, mut last, mut delay) = (1, Time::ZERO, 0.0, None);
    while clock.now() < end {
        let now = clock.now();
        while link.receive(now, &mut datagram).is_some() {
            client.receive(now, &mut datagram);
        }
        if now - asked > Span::millis(800) {
            (east, asked, delay) = (-east, now, None);
        }
        client.command(Wish(east));
        client.advance(now);
        while let Some(datagram) = client.transmit(now) {
            link.send(now, server, datagram);
        }
        let x = client.own::<Walker>().map_or(last, |(_, walker)| walker.0);
        let seen_at_last = || (now - asked).as_micros() / 16_667;
        delay = delay.or(((x - last) * east as f32 > 0.0).then(seen_at_last));
        if std::mem::replace(&mut last, x) != x {
            println!("{:>1$}  turn seen after {delay:?} ticks", "@", (x + 21.0) as usize);
        }
        link.wait(&clock, client.next_wake().min(end));
    }
    assert!(last != 0.0, "nobody let us in");
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (clock, words) = (Clock::start(), std::env::args().skip(1).collect::<Vec<_>>());
    let after = |name| words.iter().skip_while(move |word| *word != name).nth(1);
    let number = |name, otherwise| after(name).map_or(Ok(otherwise), |text| text.parse::<u64>());
    let address = words.iter().find_map(|word| word.parse().ok());
    let end = Time::from_seconds(number("--seconds", if words.is_empty() { 5 } else { u64::MAX })?);
    if words.first().is_some_and(|word| word == "serve") {
        serve(UdpLink::bind(address.unwrap_or("0.0.0.0:4000".parse()?))?, clock, end);
        return Ok(());
    }
    let here = UdpLink::bind("127.0.0.1:0".parse()?)?;
    let server = address.map_or(here.local(), peer_at);
    let _thread = address.is_none().then(|| std::thread::spawn(move || serve(here, clock, end)));
    let delay = Span::millis(number("--ping", 0)?);
    let mut link = Conditioned::new(UdpLink::bind("0.0.0.0:0".parse()?)?, 7);
    link.set_conditions(Direction::Outbound, Conditions { delay, ..Conditions::PERFECT });
    let predicts = !words.iter().any(|word| word == "--no-prediction");
    play(link, clock, server, View { predicts, ..View::default() }, end);
    Ok(())
}
