//! Whole matches by seed, over bad lines and at every tick rate: what each client has is what the server had for it
//! at that tick, nothing that is hidden is ever told, and who is left alone is predicted exactly.
//! `SAMETICK_SEEDS` and `SAMETICK_FIRST_SEED` choose others.

use super::harness::{self, STEP, Setup};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::record::ROW_WORDS;
use sametick::{
    BODY_KEPT, Client, Dice, Entities, Game, Layouts, Model, Others, PlayerId, Precision, Rates,
    Slots, Span, Tick, Time, World,
};
use sametick_arena::{Arena, Command, Content, Entity, Fighter, Mode, Seat, Tuning, anything, map};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// Players are in, and their clocks are set.
const SETTLED: Time = Time::from_millis(2_000);
/// For how long the server's worlds are remembered.
const REMEMBERED: usize = 100;

static CONTENTS: LazyLock<Vec<Content>> = LazyLock::new(|| {
    let modes = [Mode::Duel, Mode::FreeForAll, Mode::Teams];
    let contents = map::MAPS.iter().zip(modes).map(|((_, text), mode)| {
        let content = Content::new(text, mode).expect("the map is sound");
        content.map.visibility();
        // Bumps are for the server to say: where the others are now, no client knows.
        Content { tuning: Tuning { fighters_collide: false, ..Tuning::default() }, ..content }
    });
    contents.collect()
});

/// All that a seed decides.
#[derive(Clone, Debug)]
struct Options {
    seed: u64,
    rate: u32,
    millis: u64,
    map: usize,
    model: Model,
    conditions: Conditions,
    /// Whether anybody shoots.
    is_war: bool,
}

impl Options {
    fn expand(seed: u64) -> Self {
        let (rate, millis) = [(20, 6_000), (60, 6_000), (128, 5_000), (400, 3_500), (1000, 3_000)]
            [(seed % 5) as usize];
        let mut dice = Dice::new(seed, 1);
        let mut pick = |from: [f64; 3]| from[dice.below(3) as usize];
        let is_bad = !seed.is_multiple_of(3);
        let conditions = Conditions {
            delay: Span::from_millis_f64(pick([5.0, 30.0, 80.0])),
            jitter: Jitter::Uniform {
                width: Span::from_millis_f64(if is_bad { pick([0.0, 5.0, 30.0]) } else { 0.0 }),
            },
            loss: Loss::Random { probability: if is_bad { pick([0.0, 0.02, 0.1]) } else { 0.0 } },
            ..Conditions::PERFECT
        };
        let models = [Model::QUAKEWORLD, Model::QUAKE3, Model::HALF_LIFE, Model::DOOM3];
        let model = models[dice.below(4) as usize];
        let map = (seed / 5 % 3) as usize;
        Self { seed, rate, millis, map, model, conditions, is_war: seed % 2 == 1 }
    }

    fn is_clean(&self) -> bool {
        self.seed.is_multiple_of(3)
    }
}

/// How much was checked.
#[derive(Debug, Default)]
struct Tally {
    snapshots: u64,
    entities: u64,
    hidden: u64,
    predicted: u64,
    exact: u64,
}

/// What is known of one player.
#[derive(Default)]
struct Known {
    newest: Tick,
    predicted: BTreeMap<Tick, Fighter>,
}

struct Match {
    options: Options,
    play: harness::Match,
    known: Vec<Known>,
    layouts: Layouts,
    worlds: BTreeMap<Tick, World<Entity>>,
    tally: Tally,
}

impl Match {
    fn new(options: Options) -> Self {
        let tick_length = Span::micros(u64::from(1_000_000 / options.rate));
        let ticks_per_snapshot = (options.rate / 20).max(1);
        let play = harness::Match::new(&Setup {
            content: &CONTENTS[options.map],
            rates: Rates { tick_length, ticks_per_snapshot, ..options.model.rates },
            views: &[options.model.view; 4],
            lines: std::slice::from_ref(&options.conditions),
            seed: options.seed,
        });
        let known = play.guests.iter().map(|_| Known::default()).collect();
        let (layouts, worlds) = (Layouts::of::<Entity>(), BTreeMap::new());
        Self { options, play, known, layouts, worlds, tally: Tally::default() }
    }

    fn step(&mut self) {
        if self.play.step_server(|_, _| {}) {
            self.remember();
        }
        for guest in 0..self.play.guests.len() {
            self.step_guest(guest);
        }
    }

    fn step_guest(&mut self, index: usize) {
        let now = self.play.now;
        self.play.receive(index, |_| {});
        let client = &mut self.play.guests[index].client;
        if let (Some(me), Some(world)) = (client.me(), client.predicted()) {
            // Keys are held for as long at every rate.
            let tick = u64::from(world.tick().0) * 60 / u64::from(self.options.rate);
            let wish = anything(self.options.seed, tick as u32, me);
            let fire = wish.fire && self.options.is_war;
            client.command(Command { fire, ready: true, ..wish });
        }
        client.advance(now);
        if (now - Time::ZERO).as_micros().is_multiple_of(16_000) {
            client.view(now);
        }
        client.take_effects();
        let known = &mut self.known[index];
        if let (Some(world), Some((_, own))) = (client.predicted(), client.own::<Fighter>()) {
            known.predicted.insert(world.tick(), own.clone());
            while known.predicted.len() > 2 * REMEMBERED {
                known.predicted.pop_first();
            }
        }
        assert_eq!(client.malformed(), 0);
        let newest = client.snapshot().map(World::tick);
        self.play.send(index);
        if let Some(tick) = newest.filter(|tick| *tick > known.newest) {
            known.newest = tick;
            self.check_snapshot(index);
        }
    }

    /// Keeps the server's world, and compares what clients foretold of it.
    fn remember(&mut self) {
        let world = self.play.server.world();
        let guests = self.play.guests.iter().zip(&self.known);
        for (guest, known) in guests.filter(|_| self.play.now > SETTLED) {
            let own = guest.client.me().and_then(|me| world.owned::<Fighter>(me));
            if let (Some((_, own)), Some(predicted)) = (own, known.predicted.get(&world.tick())) {
                self.tally.predicted += 1;
                self.tally.exact += u64::from(own == predicted);
            }
        }
        self.worlds.insert(world.tick(), world.clone());
        while self.worlds.len() > REMEMBERED * (self.options.rate as usize / 20).max(1) {
            self.worlds.pop_first();
        }
    }

    /// What a client has is what it may see, as the server had it: of that tick or, if a part was lost, of one
    /// before.
    fn check_snapshot(&mut self, index: usize) {
        let client = &self.play.guests[index].client;
        let (Some(snapshot), Some(me)) = (client.snapshot(), client.me()) else { return };
        let content = &CONTENTS[self.options.map];
        let world = self.worlds.get(&snapshot.tick()).expect("a snapshot of a tick that was");
        let may_see = sees(world, content, me);
        let mut seen = 0;
        for (id, entity) in snapshot.entities() {
            let precision = match snapshot.owner(id) == Some(me) {
                true => Precision::State,
                false => Precision::Shown,
            };
            let told = record(&self.layouts, precision, entity);
            let was_so = |world: &World<Entity>| {
                let then = world.entity(id);
                then.is_some_and(|then| record(&self.layouts, precision, then) == told)
            };
            let of_now = may_see.contains(id.slot()) && was_so(world);
            let is_so = of_now || {
                let mut before = self.worlds.range(..snapshot.tick()).rev().map(|(_, world)| world);
                let saw = |world| sees(world, content, me).contains(id.slot());
                !self.options.is_clean() && before.any(|world| was_so(world) && saw(world))
            };
            assert!(is_so, "{me:?} at {:?} has {id:?}: {entity:?}", snapshot.tick());
            seen += u64::from(of_now);
        }
        let may_see = may_see.len() as u64;
        if self.options.is_clean() && self.play.now > SETTLED {
            assert_eq!(seen, may_see, "{me:?} at {:?} lacks something", snapshot.tick());
        }
        self.tally.snapshots += 1;
        self.tally.entities += seen;
        self.tally.hidden += world.len() as u64 - may_see;
    }
}

fn sees(world: &World<Entity>, content: &Content, me: PlayerId) -> Slots {
    let mut slots = Slots::default();
    Arena::relevant(world, content, me, &mut slots);
    slots
}

fn record(layouts: &Layouts, precision: Precision, entity: &Entity) -> Vec<u32> {
    let mut row = [0; ROW_WORDS];
    let layouts = layouts.at(precision);
    entity.clone().record(layouts, &mut row);
    row[..layouts[usize::from(entity.kind())].len()].to_vec()
}

fn run(options: &Options) -> Tally {
    let mut play = Match::new(options.clone());
    while play.play.now < Time::from_millis(options.millis) {
        play.step();
        play.play.now += STEP;
    }
    let tally = play.tally;
    assert!(tally.snapshots > 20 && tally.predicted > 20, "nobody played: {tally:?}");
    let wrong = tally.predicted - tally.exact;
    // Who predicts the others too may be wrong about them, and so about an item that both want.
    let is_sure = options.model.view.others != Others::Predicted;
    if options.is_clean() && !options.is_war && is_sure {
        assert_eq!(wrong, 0, "predictions went wrong: {tally:?}");
    }
    tally
}

#[test]
fn every_seed_of_a_match_holds() {
    let number = |name: &str, otherwise: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
        Err(_) => otherwise,
    };
    let (first, seeds) = (number("SAMETICK_FIRST_SEED", 0), number("SAMETICK_SEEDS", 200));
    let halves: Vec<Vec<Result<Tally, String>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|half| {
                let seeds = (first..first + seeds).filter(move |seed| seed % 2 == half);
                scope.spawn(move || seeds.map(judge).collect())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it ran")).collect()
    });
    let (mut total, mut failures) = (Tally::default(), Vec::new());
    for result in halves.into_iter().flatten() {
        match result {
            Ok(tally) => {
                total.snapshots += tally.snapshots;
                total.entities += tally.entities;
                total.hidden += tally.hidden;
                total.predicted += tally.predicted;
                total.exact += tally.exact;
            }
            Err(failure) => failures.push(failure),
        }
    }
    println!("{total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(total.hidden > 0 || seeds < 100, "nothing was ever hidden");
}

fn judge(seed: u64) -> Result<Tally, String> {
    let options = Options::expand(seed);
    catch_unwind(AssertUnwindSafe(|| run(&options))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        format!("seed {seed}, {options:?}\n{text}")
    })
}

/// One says goodbye, one falls silent: neither leaves a body behind for longer than a connection may be silent, and
/// both keep seat and score. The one who comes back plays on.
#[test]
fn who_drops_out_leaves_no_ghost_and_keeps_its_seat() {
    let content = &CONTENTS[1];
    let views = [Model::HALF_LIFE.view; 3];
    let lines = [harness::line(40, 0, 0.0)];
    let rates = Model::HALF_LIFE.rates;
    let mut play =
        harness::Match::new(&Setup { content, rates, views: &views, lines: &lines, seed: 5 });
    let is_there = |play: &harness::Match, player: u16| {
        play.fighter(PlayerId(player)).is_some_and(|(_, fighter)| !fighter.is_away)
    };
    let seats = |play: &harness::Match| play.server.world().all::<Seat>().count();
    let (goodbye, silence) = (Time::from_seconds(3), Time::from_seconds(4));
    let back = Time::from_seconds(20);
    let mut ticket = None;
    while play.now < Time::from_seconds(26) {
        play.step_server(|_, _| {});
        if play.now == goodbye {
            assert_eq!((seats(&play), is_there(&play, 0), is_there(&play, 1)), (3, true, true));
            ticket = play.guests[0].client.ticket().cloned();
            play.guests[0].client.close(goodbye);
        }
        if play.now == back {
            let address = play.network.address(play.server_host);
            let (token, view) = (ticket.clone().expect("a ticket"), views[0]);
            let content = content.clone();
            play.guests[0].client =
                Client::new(address, token, content, view, play.now, &mut play.random);
        }
        for guest in 0..3 {
            let is_silent = guest == 1 && play.now >= silence;
            if !is_silent && play.millis().is_multiple_of(8) {
                play.frame(guest, |_, _| Command::default());
            }
        }
        play.now += STEP;
        // The silent one's connection is over ten seconds after its last word.
        let gone = [goodbye + BODY_KEPT, silence + Span::seconds(10)];
        for (player, gone) in (0..).zip(gone) {
            let is_back = player == 0 && play.now >= back;
            let is_late = play.now > gone + Span::millis(500) && !is_back;
            assert!(!is_late || !is_there(&play, player), "a ghost of {player} at {:?}", play.now);
        }
        assert!(play.now < Time::from_seconds(2) || seats(&play) == 3, "seats are kept");
    }
    assert!(is_there(&play, 0), "who comes back plays on");
}
