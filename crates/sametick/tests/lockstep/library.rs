//! Worlds that take long to be handed over, or cannot be.

use super::line;
use super::party::Party;
use crate::tag::Wish;
use sametick::lockstep::{Happening, Lockstep, Refusal, Role, Setup, WATCHERS_MAX};
use sametick::network::Conditions;
use sametick::{Dice, Fields, Game, Networked, NoEvent, Span, Tick, Time, Turn, World};

/// A shelf of books that nobody changes.
struct Library;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Book {
    pages: [[f32; 4]; 20],
}

const PAGES: [&str; 20] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t",
];

impl Networked for Book {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        for (name, page) in PAGES.into_iter().zip(&mut self.pages) {
            f.exacts(name, page);
        }
    }
}

mod shelf {
    use super::Book;
    sametick::entities! { pub(crate) enum Shelf { Book } }
}

impl Game for Library {
    type Entity = shelf::Shelf;
    type Command = Wish;
    type Event = NoEvent;
    /// How many books it has.
    type Content = u32;
    fn step(world: &mut World<shelf::Shelf>, turn: &Turn<'_, Self>) {
        if turn.tick() == Tick(1) {
            for book in 0..*turn.content() {
                let mut pages = [[0.0; 4]; 20];
                for (page, word) in pages.as_flattened_mut().iter_mut().enumerate() {
                    *word = (book * 80 + page as u32).wrapping_mul(0x9e37_79b9) as f32;
                }
                world.spawn(Book { pages });
            }
        }
    }
}

/// Asks for nothing.
fn read(_: &Lockstep<Library>, _: &mut Dice, _: Time) -> Wish {
    Wish::default()
}

#[test]
fn who_finds_all_places_taken_is_told_so_before_a_world_is_made_for_it() {
    let setup = Setup { players: 2, tick_length: Span::millis(50), ..Setup::DOOM_1993 };
    // A world too long to be handed over: whoever makes one would say so.
    let mut party: Party<Library> = Party::new(setup, 1, (4_000, read), 3, line(20, 0.0));
    (0..WATCHERS_MAX).for_each(|_| party.add(Role::Watches));
    party.run(Span::millis(500));
    party.add(Role::Plays);
    party.run(Span::millis(500));
    let refusal = |party: &Party<Library>, index: usize| {
        let events = party.machines[index].events.iter();
        events.clone().find_map(|(_, event)| match event {
            Happening::Refused(refusal) => Some(*refusal),
            _ => None,
        })
    };
    for (role, expected) in [(Role::Watches, Refusal::Full), (Role::Plays, Refusal::World)] {
        party.add(role);
        party.run(Span::seconds(1));
        assert_eq!(refusal(&party, party.machines.len() - 1), Some(expected), "{role:?}");
    }
}

/// A roster holds up the commands of whoever does not have it: until it has come, was confirmed, and commands follow.
/// Two come in a row, the joiner's first tick and its confirmation, and each takes a round trip (100 ms) and twice the
/// interval of messages (50 ms). A lost packet costs another interval, and the players have commands for as much in
/// reserve, because those travel one way (50 ms).
const STALL_MAX: Span = Span::millis(2 * (100 + 2 * 50));

#[test]
fn who_comes_late_is_handed_a_world_of_almost_a_mebibyte_while_the_others_play_on() {
    let setup = Setup { players: 2, tick_length: Span::millis(50), ..Setup::DOOM_1993 };
    for seed in [3, 7, 33, 46, 49] {
        let mut party: Party<Library> = Party::new(setup, 2, (2_850, read), seed, line(100, 0.02));
        party.run(Span::seconds(2));
        (0..2).for_each(|index| party.machines[index].gap = Span::ZERO);
        party.add(Role::Plays);
        party.run(Span::seconds(11));
        party.check();
        let events = &party.machines[2].events;
        assert_eq!(party.lockstep(0).players().len(), 3, "seed {seed}: {events:?}");
        party.check_united(30);
        for index in 0..2 {
            let gap = party.machines[index].gap;
            assert!(gap < STALL_MAX, "seed {seed}: the others stood still for {gap}");
        }
    }
}

/// How long it takes from the first hello until the world is there.
fn takes(conditions: Conditions, books: u32, seed: u64) -> Span {
    let setup = Setup { players: 2, tick_length: Span::millis(50), ..Setup::DOOM_1993 };
    let mut party: Party<Library> = Party::new(setup, 2, (books, read), seed, conditions);
    party.run(Span::seconds(4));
    party.add(Role::Plays);
    let since = party.now;
    while party.lockstep(2).world().is_none() {
        assert!(party.now - since < Span::seconds(60), "seed {seed}: it never comes");
        party.run(Span::millis(4));
    }
    party.now - since
}

/// A hello that is turned away and another one, the roster and its confirmation: two and a half round trips, a knock
/// interval (250 ms) and two intervals of messages (50 ms). Of 37 pieces 8, 16 and the rest go at once: three round
/// trips. One more is for pieces that come out of order and are taken for lost.
#[test]
fn a_world_takes_few_round_trips_however_long_they_are() {
    for ping in [60, 300, 600] {
        let most = Span::millis(7 * ping + 500);
        for seed in 0..10 {
            let took = takes(line(ping, 0.0), 100, seed);
            assert!(took < most, "seed {seed}, {ping} ms: {took}, not {most}");
        }
    }
}
