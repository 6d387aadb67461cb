//! `play --game islands`, met by clients of the library over UDP and TCP, and by a player of the program.

use crate::program::{Running, answer, refusal, scratch};
use sametick::PlayerId;
use sametick::eventlock::{EventClient, EventClientEvent};
use sametick::secure::{ClientToken, SystemRandom};
use sametick_islands::{Content, Islands, Mark, Opening, Request, Squad, UnitKind, clock};
use sametick_links::{Clock, Link, UdpLink, drive_event_client, peer_at};
use serde_json::Value;

/// What the program's gate asks for.
const PROTOCOL: u64 = 0x5a6d_e71c_a7e4_0002;

struct Player {
    client: EventClient<Islands>,
    link: UdpLink,
    server: sametick::Peer,
    clock: Clock,
}

impl Player {
    fn knock(address: &str, id: u64, content: &Content) -> Self {
        let (random, clock) = (&mut SystemRandom::new(), Clock::start());
        let server = peer_at(address.parse().expect("an address"));
        let token = ClientToken::open_mode(PROTOCOL, id, b"", random).expect("nothing is attached");
        let link = UdpLink::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket");
        let client = EventClient::new(server, token, content.clone(), clock.now(), random);
        Self { client, link, server, clock }
    }

    /// Drives it until something is so.
    fn until(&mut self, mut is_so: impl FnMut(&mut EventClient<Islands>) -> bool) {
        loop {
            let now = self.clock.now();
            drive_event_client(&mut self.client, &mut self.link, self.server, now);
            if is_so(&mut self.client) {
                return;
            }
            assert!(!self.client.is_over(), "{:?}", self.client.take_events());
            self.link.wait(&self.clock, now + sametick::Span::millis(2));
        }
    }

    /// Until it is told of what it has.
    fn settle(&mut self) -> PlayerId {
        let is_settled = |client: &mut EventClient<Islands>| {
            let (world, me) = (client.world(), client.me());
            world.zip(me).is_some_and(|(world, me)| world.owned::<Squad>(me).is_some())
        };
        self.until(is_settled);
        self.client.me().expect("it has a seat")
    }
}

fn play(arguments: &[&str]) -> (Running, String) {
    let common = ["play", "--game", "islands", "--address", "127.0.0.1:0", "--page", "off"];
    let mut server = Running::start(&[&common[..], &["--json"], arguments].concat());
    let address = server.next("listening")["address"].as_str().expect("text").to_owned();
    (server, address)
}

#[test]
fn who_comes_takes_a_seat_and_what_it_orders_becomes_official() {
    let content = Content::new(5, 3, Opening::War);
    let (mut server, address) = play(&["--players", "3", "--seed", "5", "--war"]);
    let mut one = Player::knock(&address, 1, &content);
    let me = one.settle();
    let goal = content.homes()[usize::from(me.0)].workshops[0];
    let world = one.client.world().expect("it was told").clone();
    let raiders = world.all::<Squad>().filter(|(id, squad)| {
        world.owner(*id) == Some(me) && squad.pace == UnitKind::Raider.table().pace
    });
    let squad = raiders.map(|(id, _)| id).next().expect("an army has raiders");
    let order = Request::march([Mark::to(squad)], goal, false);
    let number = one.client.request(one.clock.now(), order).expect("it is lawful");
    assert!(one.client.is_unofficial(squad), "shown at once");
    let mut verdict = None;
    one.until(|client| {
        let answers = client.take_answers().into_iter();
        verdict = answers.filter(|answer| answer.number == number).map(|a| a.verdict).next();
        verdict.is_some()
    });
    assert!(verdict.is_some_and(|verdict| verdict.is_ok()), "{verdict:?}");
    let official = one.client.world().and_then(|world| world.get::<Squad>(squad));
    let official = official.map(|squad| squad.end().cell());
    assert_eq!(official, Some(goal));
    assert!(!one.client.is_unofficial(squad));

    // Two more have other seats, in which bots had played.
    let mut two = Player::knock(&address, 2, &content);
    let other = two.settle();
    let third = Player::knock(&address, 3, &content).settle();
    assert!(me != other && other != third && third != me);

    // Whoever comes after somebody has left, with another token, has its seat.
    two.client.close(two.clock.now());
    two.until(|client| client.is_over());
    server.next("left");
    let mut again = Player::knock(&address, 4, &content);
    assert_eq!(again.settle(), other);
    server.ask_to_stop();
    again.until(|client| client.is_over());
    let left = again.client.take_events();
    assert!(left.iter().any(|event| matches!(event, EventClientEvent::Left(_))), "{left:?}");
    assert_eq!(server.next("stopped")["over"], false);
}

#[test]
fn a_bot_of_the_program_joins_over_tcp_and_over_udp_and_its_orders_are_granted() {
    let map = ["--players", "2", "--seed", "5", "--war"];
    let (mut server, address) = play(&[&map[..], &["--bots", "0"]].concat());
    let join = |to: &str, seconds: &str| {
        let common = ["play", "--game", "islands", "--json", "--join", to, "--seconds", seconds];
        Running::start(&[&common[..], &map].concat())
    };
    let mut one = join(&format!("tcp://{address}"), "4");
    let mut two = join(&address, "4");
    assert_ne!(one.next("joined")["player"], two.next("joined")["player"], "a seat each");
    for player in [&mut one, &mut two] {
        let stopped = player.next("stopped");
        assert!(stopped["units"].as_u64() > Some(40), "it was told of its army: {stopped}");
        assert!(stopped["granted"].as_u64() > Some(0), "its orders are granted: {stopped}");
    }
    server.next("left");
    server.ask_to_stop();
    assert!(server.next("stopped")["ticks"].as_u64() > Some(20));
}

#[test]
fn whoever_joins_with_another_map_or_where_nobody_is_hears_so() {
    let (_server, address) = play(&["--players", "2", "--seed", "5", "--war"]);
    let to = format!("tcp://{address}");
    let join = |arguments: &[&str]| {
        refusal(&[&["play", "--game", "islands", "--join"], arguments].concat())
    };
    assert!(join(&[&to, "--players", "3"]).contains("give its --players, --seed and --war"));
    assert!(join(&[&to, "--bots", "3"]).contains("--bots means nothing with --join"));
    assert!(join(&["tcp://127.0.0.1:1"]).contains("cannot connect to 127.0.0.1:1 over TCP"));
}

#[test]
fn a_contest_waits_for_those_whose_seats_are_not_for_bots() {
    let content = Content::new(1, 2, Opening::Settlers);
    let (mut server, address) = play(&["--players", "2", "--bots", "0"]);
    let mut one = Player::knock(&address, 1, &content);
    one.until(|client| client.me().is_some());
    server.next("joined");
    let mut turns = 0;
    one.until(|_| {
        turns += 1;
        turns > 200
    });
    let has_begun = |one: &Player| one.client.world().is_some_and(|world| clock(world) > 0);
    assert!(!has_begun(&one), "nobody else has come");
    let mut two = Player::knock(&address, 2, &content);
    two.settle();
    one.settle();
    assert!(has_begun(&one) && has_begun(&two));
}

#[test]
fn a_contest_is_saved_at_the_end_and_goes_on_where_it_was() {
    let file = scratch("contest.islands", b"somebody else's");
    let save = ["play", "--game", "islands", "--save"];
    let sentence = refusal(&[&save[..], &[&file]].concat());
    assert!(sentence.contains("is there already: choose another name"), "{sentence}");
    let sentence = refusal(&[&save[..], &["no/such/folder/contest"]].concat());
    assert!(sentence.contains("cannot save to no/such/folder/contest"), "{sentence}");
    std::fs::remove_file(&file).expect("ours");
    let saved = play(&["--players", "2", "--bots", "2", "--seconds", "2", "--save", &file]);
    let stopped = { saved }.0.next("stopped");
    let ticks = stopped["ticks"].as_u64().expect("a number");
    assert!(ticks > 20, "{stopped}");
    let (mut server, _) = play(&["--load", &file, "--bots", "2", "--seconds", "1"]);
    let later: Value = server.next("stopped");
    assert!(later["ticks"].as_u64() > Some(ticks + 5), "{later}");
    let damaged = scratch("damaged.islands", b"nothing of the kind");
    let sentence = refusal(&["play", "--game", "islands", "--load", &damaged]);
    assert!(sentence.contains("cannot go on: it is no saved contest"), "{sentence}");
}

#[test]
fn what_means_nothing_with_islands_is_refused() {
    let islands =
        |arguments: &[&str]| refusal(&[&["play", "--game", "islands"], arguments].concat());
    assert!(islands(&["--map", "halls"]).contains("--map means nothing with --game islands"));
    assert!(islands(&["--tick-rate", "30"]).contains("--tick-rate means nothing"));
    assert!(islands(&["--alone"]).contains("--alone means nothing"));
    assert!(islands(&["--players", "1"]).contains("2 to 8"));
    assert!(islands(&["--bots", "9"]).contains("--bots 9 is more than the 4 who play"));
    assert!(islands(&["--load", "x", "--war"]).contains("--war means nothing with --load"));
    assert!(refusal(&["play", "--save", "x"]).contains("--save is for --game islands"));
    assert_eq!(answer(&["play", "--alone", "--seconds", "1", "--json"])["name"], "alone");
}
