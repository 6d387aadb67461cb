//! Requests that are not granted, and servers that go on from a saved game.

use super::party::{Party, Seeded, line};
use super::tanks::{
    Entity, FAR, Field, NO_UNIT, NOT_YOURS, OPEN_FIELD, Order, TOO_MANY, Tank, Tanks,
};
use sametick::eventlock::{
    Denial, EventClient, EventClientEvent, EventRates, EventServer, RequestAnswer, Requests,
};
use sametick::{Dice, Game, Layouts, NoEvent, Peer, PlayerId, Span, Time, Turn, World};

fn pair(rates: EventRates) -> Party {
    let mut party = Party::new(2, 5, OPEN_FIELD, rates);
    party.set_line(0, &line(400, 0.0));
    party.run(Span::seconds(3), |_| {});
    party
}

fn denied(answers: &[RequestAnswer]) -> Vec<Denial> {
    answers.iter().filter_map(|answer| answer.verdict.err()).collect()
}

#[test]
fn what_is_plainly_illegal_is_not_sent() {
    let mut party = pair(EventRates::default());
    let theirs = party.tank(1, 0).expect("the other's tank");
    let now = party.now;
    let order = Order { unit: Some(theirs), ..Order::default() };
    assert_eq!(party.clients[0].request(now, order), Err(NOT_YOURS));
    assert_eq!(party.clients[0].request(now, Order::default()), Err(NO_UNIT));
    let before = party.bytes[0][1];
    party.run(Span::millis(100), |_| {});
    assert!(party.bytes[0][1] - before < 60, "but for what was due anyway");
    assert_eq!(party.clients[0].waiting(), 0);
}

#[test]
fn a_request_that_was_lawful_when_asked_is_denied_with_the_reason_and_undone() {
    // It may build five more, and asks for six while the first are under way.
    let mut party = pair(EventRates::default());
    let (now, me) = (party.now, party.clients[0].me().expect("in the game"));
    for _ in 0..6 {
        party.clients[0]
            .request(now, Order { builds: true, to: [100, 100], unit: None })
            .expect("lawful here");
    }
    let shown = party.clients[0].shown(now).expect("in the game").all_owned(me).count();
    assert_eq!(shown, 9, "all six stand there unofficially");
    party.run(Span::seconds(2), |_| {});
    let answers = party.clients[0].take_answers();
    assert_eq!(denied(&answers), [TOO_MANY]);
    assert_eq!(answers.len(), 6);
    assert!(answers.windows(2).all(|pair| pair[0].number < pair[1].number));
    let now = party.now;
    assert_eq!(party.clients[0].shown(now).expect("in the game").all_owned(me).count(), 8);
    assert!(party.compare(5) > 0);
}

#[test]
fn a_request_for_a_unit_that_died_meanwhile_is_denied() {
    let mut party = pair(EventRates::default());
    let (unit, foe) = (party.tank(0, 0).expect("one"), party.tank(1, 0).expect("other"));
    // They meet; with 400 ms between, orders still go out when the unit is gone.
    party.order(0, unit, [400, 200]);
    party.order(1, foe, [400, 200]);
    let mut refused = Vec::new();
    party.run(Span::seconds(20), |party| {
        let now = party.now;
        if (now - Time::ZERO).as_micros().is_multiple_of(250_000) {
            let order = Order { unit: Some(unit), to: [400, 200], ..Order::default() };
            let _ = party.clients[0].request(now, order);
        }
        refused.extend(denied(&party.clients[0].take_answers()));
    });
    assert!(party.server.world().get::<Tank>(unit).is_none(), "it died");
    assert!(!refused.is_empty() && refused.iter().all(|denial| *denial == NO_UNIT), "{refused:?}");
    assert_eq!(party.clients[0].waiting(), 0);
}

/// The same game as the server's, to all appearances; but whatever is asked is found lawful.
struct Liars;

impl Game for Liars {
    type Entity = Entity;
    type Command = Order;
    type Event = NoEvent;
    type Content = Field;

    fn populate(content: &Field, world: &mut World<Entity>) {
        Tanks::populate(content, world);
    }

    fn step(_world: &mut World<Entity>, _turn: &Turn<'_, Self>) {}
}

impl Requests for Liars {
    fn judge(_: &World<Entity>, _: &Field, _: PlayerId, _: &Order) -> Result<(), Denial> {
        Ok(())
    }
}

/// A liar in a game with an honest one, over no distance.
struct Den {
    now: Time,
    server: EventServer<Tanks>,
    honest: EventClient<Tanks>,
    liar: EventClient<Liars>,
    random: Seeded,
}

const HONEST: Peer = Peer::new([1; 16], 1);
const LIAR: Peer = Peer::new([2; 16], 1);
const SERVER: Peer = Peer::new([3; 16], 1);

impl Den {
    fn new() -> Self {
        let (now, mut random) = (Time::ZERO, Seeded(Dice::new(3, 3)));
        let server = EventServer::open(OPEN_FIELD, 1, EventRates::default(), now, &mut random);
        let honest = EventClient::open(SERVER, OPEN_FIELD, now, &mut random);
        let liar = EventClient::open(SERVER, OPEN_FIELD, now, &mut random);
        let mut den = Self { now, server, honest, liar, random };
        den.run(Span::seconds(2));
        den
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            let now = self.now;
            let mut up = Vec::new();
            while let Some(datagram) = self.honest.transmit(now) {
                up.push((HONEST, datagram.to_vec()));
            }
            while let Some(datagram) = self.liar.transmit(now) {
                up.push((LIAR, datagram.to_vec()));
            }
            let mut down = Vec::new();
            for (from, mut datagram) in up {
                let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
                down.extend(answer.map(|answer| (from, answer.to_vec())));
            }
            self.server.advance(now);
            while let Some((to, datagram)) = self.server.transmit(now) {
                down.push((to, datagram.to_vec()));
            }
            for (to, mut datagram) in down {
                match to {
                    HONEST => self.honest.receive(now, &mut datagram),
                    _ => self.liar.receive(now, &mut datagram),
                }
            }
            self.honest.advance(now);
            self.liar.advance(now);
            self.now += Span::millis(10);
        }
    }
}

#[test]
fn whoever_orders_what_is_not_its_own_is_denied_by_the_server() {
    let mut den = Den::new();
    let (me, now) = (den.honest.me().expect("in the game"), den.now);
    let (theirs, before) =
        den.server.world().owned::<Tank>(me).map(|(id, tank)| (id, tank.clone())).expect("its own");
    let order = Order { unit: Some(theirs), to: [FAR, FAR], ..Order::default() };
    den.liar.request(now, order).expect("it thinks so");
    den.run(Span::seconds(1));
    assert_eq!(denied(&den.liar.take_answers()), [NOT_YOURS]);
    assert_eq!(den.server.world().get::<Tank>(theirs), Some(&before));
}

#[test]
fn a_flood_of_requests_is_denied_counted_and_harms_nobody() {
    let mut den = Den::new();
    let mut answers = Vec::new();
    let (mut asked, mine) = (0, den.liar.me().expect("in the game"));
    let (unit, _) = den.server.world().owned::<Tank>(mine).expect("its own");
    for _ in 0..50 {
        let now = den.now;
        for _ in 0..20 {
            let order = Order { unit: Some(unit), to: [asked % 1000, 7], ..Order::default() };
            asked += i32::from(den.liar.request(now, order).is_ok());
        }
        den.run(Span::millis(100));
        answers.extend(den.liar.take_answers());
    }
    den.run(Span::seconds(5));
    answers.extend(den.liar.take_answers());
    let flooded = denied(&answers).iter().filter(|denial| **denial == Denial::FLOOD).count();
    let rates = EventRates::default();
    let granted = answers.len() - flooded;
    let most = rates.requests_at_once + 12 * rates.requests_per_second;
    assert!(
        asked > 200 && answers.len() as i32 == asked,
        "all {asked} are answered: {}",
        answers.len()
    );
    assert!(granted as u32 <= most && granted > 20, "{granted} granted");
    assert_eq!(den.server.floods(), flooded as u64);
    // The honest one's request is granted as if nothing were.
    let (own, now) = (den.honest.me().expect("in the game"), den.now);
    let (unit, _) = den.server.world().owned::<Tank>(own).expect("its own");
    den.honest
        .request(now, Order { unit: Some(unit), to: [5, 5], ..Order::default() })
        .expect("lawful");
    den.run(Span::millis(400));
    assert!(matches!(den.honest.take_answers()[..], [RequestAnswer { verdict: Ok(_), .. }]));
}

#[test]
fn a_server_goes_on_from_a_saved_game_with_the_same_players() {
    let mut party = pair(EventRates::default());
    let unit = party.tank(0, 1).expect("its own tank");
    party.order(0, unit, [1500, 1500]);
    party.run(Span::seconds(2), |_| {});
    let layouts = Layouts::of::<Entity>();
    let (saved, tick) = (party.server.world().save(&layouts), party.server.world().tick());
    let way = party.server.world().get::<Tank>(unit).cloned();

    let loaded = World::load(&saved, &layouts).expect("what was saved");
    let players = [PlayerId(0), PlayerId(1)];
    let mut party = Party::around(2, 6, OPEN_FIELD, |now, random| {
        let rates = EventRates { keeps_hashes: true, ..EventRates::default() };
        EventServer::open(OPEN_FIELD, 1, rates, now, random).resume(now, loaded, &players)
    });
    party.run(Span::seconds(1), |_| {});
    assert!(party.server.world().tick() > tick, "it goes on where it was");
    assert_eq!(party.count(PlayerId(0)), 3, "nobody joined anew");
    let seen = party.clients[1].world().and_then(|world| world.get::<Tank>(unit));
    assert_eq!(seen, way.as_ref(), "and everyone is told");
    let times = [0, 1].map(|client| party.screen(client, unit).expect("on its screen").1);
    let server = party.server.time(party.now).as_seconds_f64() * 20.0;
    assert!(times.iter().all(|time| (time - server).abs() < 0.5), "{times:?} {server}");
    assert_eq!(party.compare(6), 2);
}

#[test]
fn another_map_or_other_rules_are_noticed() {
    struct Other;
    impl Game for Other {
        type Entity = Entity;
        type Command = Order;
        type Event = NoEvent;
        type Content = Field;
        fn step(_world: &mut World<Entity>, _turn: &Turn<'_, Self>) {}
        fn content_name(_content: &Field) -> u64 {
            77
        }
    }
    impl Requests for Other {
        fn judge(_: &World<Entity>, _: &Field, _: PlayerId, _: &Order) -> Result<(), Denial> {
            Ok(())
        }
    }
    let (now, mut random) = (Time::ZERO, Seeded(Dice::new(4, 4)));
    let mut server =
        EventServer::<Tanks>::open(OPEN_FIELD, 1, EventRates::default(), now, &mut random);
    let mut client = EventClient::<Other>::open(SERVER, OPEN_FIELD, now, &mut random);
    let mut now = now;
    for _ in 0..50 {
        while let Some(datagram) = client.transmit(now).map(<[u8]>::to_vec) {
            let answer = server.receive(now, LIAR, &mut datagram.clone(), &mut random);
            answer.into_iter().for_each(|answer| client.receive(now, &mut answer.to_vec()));
        }
        server.advance(now);
        while let Some((_, datagram)) = server.transmit(now) {
            client.receive(now, &mut datagram.to_vec());
        }
        client.advance(now);
        now += Span::millis(10);
    }
    assert!(client.take_events().contains(&EventClientEvent::Mismatched { content: 0 }));
    assert!(client.world().is_none());
}
