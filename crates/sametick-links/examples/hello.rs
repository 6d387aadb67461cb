//! Hello: walk to and fro over UDP; see how late your turns are, and how old what you see of another is.
//! `hello serve [ADDRESS]`, `hello [ADDRESS] [--ping MS] [--no-prediction] [--seconds N] [--view V]` with
//! V one of latest, extrapolate, interpolate, predict. Without an address both ends run here.
use sametick::{Client, Peer, PlayerId, Server, network::Conditions, secure::SystemRandom};
use sametick::{Rates, Span, Time, View};
use sametick_links::{Clock, Conditioned, Link, UdpLink, conditioner::Direction, peer_at};
use sametick_links::{drive_client, drive_server};
#[path = "hello/rules.rs"]
pub mod rules; // All that is the game's own.
use rules::{Hello, Walker, Wish};
fn serve(mut link: impl Link, clock: Clock, end: Time) {
    let mut random = SystemRandom::new();
    let mut server = Server::<Hello>::open((), 1, Rates::default(), clock.now(), &mut random);
    while clock.now() < end {
        drive_server(&mut server, &mut link, clock.now(), &mut random);
        link.wait(&clock, server.next_wake().min(end));
    }
}
fn play(mut link: impl Link, clock: Clock, server: Peer, view: View, end: Time) {
    let mut random = SystemRandom::new();
    let mut client = Client::<Hello>::open(server, (), view, clock.now(), &mut random);
    let (mut east, mut asked, mut last, mut delay) = (1, Time::ZERO, 0.0, None);
    while clock.now() < end {
        link.wait(&clock, client.next_wake().min(end));
        let now = clock.now();
        if now - asked > Span::millis(800) {
            (east, asked, delay) = (-east, now, None);
        }
        client.command(Wish(east));
        drive_client(&mut client, &mut link, server, now);
        let me = client.me().unwrap_or(PlayerId(0));
        let Some(world) = client.view(now) else { continue };
        let x = world.owned::<Walker>(me).map_or(last, |(_, walker)| walker.0);
        let seen_at_last = || (now - asked).as_micros() / 16_667;
        delay = delay.or(((x - last) * east as f32 > 0.0).then(seen_at_last));
        let Some((_, Walker(o, when))) = world.all().next() else { continue };
        let (place, age) = ((x + 21.0) as usize, world.tick().0 as f32 - when);
        if std::mem::replace(&mut last, x) != x {
            println!("{:>place$} turn after {delay:?} ticks; other {o:+.1}, {age:.1} old", "@");
        }
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
    let view = View { predicts: !words.contains(&"--no-prediction".into()), ..View::default() };
    let others = after("--view").map_or(Ok(view.others), |name| name.parse());
    play(link, clock, server, View { others: others.map_err(|e| e.to_string())?, ..view }, end);
    Ok(())
}
