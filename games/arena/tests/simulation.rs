//! Whole matches by seed, over bad lines and at every tick rate: what each client has is what the server had for it
//! at that tick, nothing that is hidden is ever told, and who is left alone is predicted exactly.
//! The environment says how much is run ([`sametick_seeds`]); a failure prints the command that repeats it. Seeds from
//! [`WIDE_FROM`](sametick_seeds::WIDE_FROM) on draw from wide ranges: see `wide.rs`.

#[path = "simulation/wide.rs"]
mod wide;

use super::harness::{self, STEP, Setup};
use crate::gated::gated;
use sametick::network::{Conditions, Jitter, Loss};
use sametick::record::{ROW_WORDS, mix};
use sametick::{
    BODY_KEPT, Client, Dice, Entities, Game, Layouts, Model, Others, PlayerId, Precision, Rates,
    Slots, Span, Tick, Time, World,
};
use sametick_arena::vector::{length, subtract};
use sametick_arena::{Arena, Command, Content, Entity, Fighter, Mode, Seat, Tuning, anything, map};
use sametick_seeds::{Script, Simulation, is_wide};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

const SIMULATION: Simulation<Options, Tally> = Simulation {
    name: "arena",
    program: "-p sametick-arena --test all",
    test: "simulation::every_seed_of_a_match_holds",
    seeds: 200,
    seconds: None,
    expand: |seed, _| Options::expand(seed),
    run,
};

/// Players are in, and their clocks are set.
const SETTLED: Time = Time::from_millis(2_000);
/// For how many ticks the server's worlds are remembered, at 20 ticks a second.
const REMEMBERED: usize = 100;
/// A fighter is left alone while no other is so near, and has been for so long: by then its client knows of every item
/// that was taken and every door that was opened there.
const COMPANY_METRES: f32 = 16.0;
const COMPANY_FORGOTTEN: Span = Span::millis(2_500);

/// The maps, each with the mode of the seeds that are not wide; surveyed when first asked for.
const CONTENTS_MODES: [Mode; 3] = [Mode::Duel, Mode::FreeForAll, Mode::Teams];
static CONTENTS: [LazyLock<Content>; 3] = [
    LazyLock::new(|| content(0, CONTENTS_MODES[0])),
    LazyLock::new(|| content(1, CONTENTS_MODES[1])),
    LazyLock::new(|| content(2, CONTENTS_MODES[2])),
];

fn content(map: usize, mode: Mode) -> Content {
    let content = Content::new(map::MAPS[map].1, mode).expect("the map is sound");
    content.map.visibility();
    // Bumps are for the server to say: where the others are now, no client knows.
    Content { tuning: Tuning { fighters_collide: false, ..Tuning::default() }, ..content }
}

/// All that a seed decides.
#[derive(Clone, Debug)]
struct Options {
    seed: u64,
    rate: u32,
    ticks_per_snapshot: u32,
    millis: u64,
    map: usize,
    mode: Mode,
    model: Model,
    /// One for each player.
    lines: Vec<Conditions>,
    /// Whether anybody shoots.
    is_war: bool,
    /// Whether lines only take time, and nothing else goes wrong.
    is_clean: bool,
    /// From when on nobody lacks anything on a clean line, or in the calm.
    settled: Time,
    codec: wide::Codec,
    /// What else goes wrong, until everything is calm.
    faults: Vec<wide::Fault>,
    /// From when on lines only take time.
    calm: Option<Time>,
}

impl Options {
    fn expand(seed: u64) -> Self {
        if is_wide(seed) {
            return wide::expand(seed);
        }
        let (rate, millis) = [(20, 6_000), (60, 6_000), (128, 5_000), (400, 3_500), (1000, 3_000)]
            [(seed % 5) as usize];
        let mut dice = Dice::new(seed, 1);
        let mut pick = |from: [f64; 3]| from[dice.below(3) as usize];
        let is_clean = seed.is_multiple_of(3);
        let conditions = Conditions {
            delay: Span::from_millis_f64(pick([5.0, 30.0, 80.0])),
            jitter: Jitter::Uniform {
                width: Span::from_millis_f64(if is_clean { 0.0 } else { pick([0.0, 5.0, 30.0]) }),
            },
            loss: Loss::Random { probability: if is_clean { 0.0 } else { pick([0.0, 0.02, 0.1]) } },
            ..Conditions::PERFECT
        };
        let models = [Model::QUAKEWORLD, Model::QUAKE3, Model::HALF_LIFE, Model::DOOM3];
        let model = models[dice.below(4) as usize];
        let map = (seed / 5 % 3) as usize;
        Self {
            seed,
            rate,
            ticks_per_snapshot: (rate / 20).max(1),
            millis,
            map,
            mode: CONTENTS_MODES[map],
            model,
            lines: vec![conditions; 4],
            is_war: seed % 2 == 1,
            is_clean,
            settled: SETTLED,
            codec: wide::Codec::Plain,
            faults: Vec::new(),
            calm: None,
        }
    }

    /// Leaves out the faults that the script does not allow.
    fn gate(&mut self, script: &Script) {
        if self.is_wide() {
            return self.gate_wide(script);
        }
        // All have the same line.
        let line = gated(script, self.lines[0].clone());
        self.lines.fill(line);
    }

    fn is_wide(&self) -> bool {
        is_wide(self.seed)
    }

    /// Whether every client has all that it may have, and is right about itself: nothing goes wrong, or no more.
    fn is_settled(&self, now: Time) -> bool {
        now > self.settled && (self.is_clean || self.calm.is_some())
    }

    /// For how many ticks the server's worlds are remembered: five seconds, about.
    fn remembered(&self) -> usize {
        let rate = self.rate as usize;
        (REMEMBERED * (rate / 20).max(1)).max(5 * rate)
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
    /// Clients that came back.
    returns: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.snapshots += other.snapshots;
        self.entities += other.entities;
        self.hidden += other.hidden;
        self.predicted += other.predicted;
        self.exact += other.exact;
        self.returns += other.returns;
    }
}

/// What is known of one player.
#[derive(Default)]
struct Known {
    newest: Tick,
    predicted: BTreeMap<Tick, Fighter>,
    /// When another was last near its fighter.
    company: Time,
}

struct Match {
    options: Options,
    content: Content,
    play: harness::Match,
    known: Vec<Known>,
    layouts: Layouts,
    worlds: BTreeMap<Tick, World<Entity>>,
    tally: Tally,
}

impl Match {
    fn new(mut options: Options, script: &Script) -> Self {
        options.gate(script);
        let Options { mode, rate, ticks_per_snapshot, .. } = options;
        let tick_length = Span::micros(u64::from(1_000_000 / rate));
        let content = Content { mode, ..CONTENTS[options.map].clone() };
        let mut play = harness::Match::new(&Setup {
            content: &content,
            rates: Rates { tick_length, ticks_per_snapshot, ..options.model.rates },
            views: &vec![options.model.view; options.lines.len()],
            lines: &options.lines,
            seed: options.seed,
        });
        if options.codec != wide::Codec::Plain {
            play.offer_tables();
        }
        if options.codec == wide::Codec::Foreseen {
            assert!(play.server.foresee(), "the rules of the arena foresee");
        }
        let known = play.guests.iter().map(|_| Known::default()).collect();
        let (layouts, worlds) = (Layouts::of::<Entity>(), BTreeMap::new());
        Self { options, content, play, known, layouts, worlds, tally: Tally::default() }
    }

    fn step(&mut self) {
        self.go_wrong();
        if self.play.step_server(|_, _| {}) {
            self.remember();
        }
        for guest in 0..self.play.guests.len() {
            if !self.is_still(guest) {
                self.step_guest(guest);
            }
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
            while known.predicted.len() > (2 * REMEMBERED).max(self.options.rate as usize) {
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
        let (now, world) = (self.play.now, self.play.server.world());
        for (guest, known) in self.play.guests.iter().zip(&mut self.known) {
            let Some(me) = guest.client.me() else { continue };
            let Some((_, own)) = world.owned::<Fighter>(me) else { continue };
            let is_alone = match self.options.is_wide() {
                true => {
                    let is_near = |other: &Fighter| {
                        let apart = length(subtract(other.position, own.position));
                        other.player != own.player && !other.is_away && apart < COMPANY_METRES
                    };
                    if world.all::<Fighter>().any(|(_, other)| is_near(other)) {
                        known.company = now;
                    }
                    self.options.is_settled(now) && now > known.company + COMPANY_FORGOTTEN
                }
                false => now > SETTLED,
            };
            let predicted = known.predicted.get(&world.tick()).filter(|_| is_alone);
            if let Some(predicted) = predicted {
                self.tally.predicted += 1;
                self.tally.exact += u64::from(own == predicted);
            }
        }
        self.worlds.insert(world.tick(), world.clone());
        while self.worlds.len() > self.options.remembered() {
            self.worlds.pop_first();
        }
    }

    /// What a client has is what it may see, as the server had it: of that tick or, if a part was lost, of one
    /// before.
    fn check_snapshot(&mut self, index: usize) {
        let client = &self.play.guests[index].client;
        let (Some(snapshot), Some(me)) = (client.snapshot(), client.me()) else { return };
        let content = &self.content;
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
                !self.options.is_clean && before.any(|world| was_so(world) && saw(world))
            };
            assert!(is_so, "{me:?} at {:?} has {id:?}: {entity:?}", snapshot.tick());
            seen += u64::from(of_now);
        }
        let may_see = may_see.len() as u64;
        if self.options.is_settled(self.play.now) {
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

fn run(options: &Options, script: &Script) -> Tally {
    let mut play = Match::new(options.clone(), script);
    while play.play.now < Time::from_millis(options.millis) {
        play.step();
        play.play.now += STEP;
    }
    play.check_end();
    script.lasted(play.play.now.as_seconds_f64());
    let tally = play.tally;
    assert!(tally.snapshots > 20, "nobody played: {tally:?}");
    assert!(tally.predicted > 20 || options.is_wide(), "nobody predicted: {tally:?}");
    let wrong = tally.predicted - tally.exact;
    // Who predicts the others too may be wrong about them, and so about an item that both want.
    let is_sure = options.model.view.others != Others::Predicted;
    if (options.is_clean || options.calm.is_some()) && !options.is_war && is_sure {
        assert_eq!(wrong, 0, "predictions went wrong: {tally:?}");
    }
    tally
}

#[test]
fn every_seed_of_a_match_holds() {
    let sweep = SIMULATION.sweep();
    let mut total = Tally::default();
    for tally in &sweep.tallies {
        total.add(tally);
    }
    println!("{total:?}");
    assert!(total.hidden > 0 || !sweep.is_whole(100), "nothing was ever hidden");
}

/// A seed that is written down must mean the same run later: these are the dice that nothing else decides.
#[test]
fn a_seed_draws_what_it_always_drew() {
    let script = Script::describing(None);
    run(&Options::expand(20), &script);
    let kinds = ["jitter", "loss"];
    let drawn = [
        "jitter, always: Uniform { width: Span(30000) }",
        "loss, always: Random { probability: 0.1 }",
    ];
    assert_eq!(script.first_of(&kinds, drawn.len()), drawn);
}

/// A failure of a fixed seed is repeated by its number: what a number means never changes.
#[test]
fn seeds_below_the_wide_ones_draw_what_they_have_always_drawn() {
    let drawn = |seed: u64| {
        let Options { rate, millis, map, mode, model, lines, is_war, is_clean, .. } =
            Options::expand(seed);
        let [line, others @ ..] = &lines[..] else { panic!("somebody plays") };
        assert!(others.len() == 3 && others.iter().all(|other| other == line));
        assert_eq!((CONTENTS_MODES[map], seed.is_multiple_of(3)), (mode, is_clean));
        format!("{rate} {millis} {map} {} {line:?} {is_war}", model.name)
    };
    let hash = |seeds: Range<u64>| {
        let text: String = seeds.map(drawn).collect();
        text.bytes().fold(0, |hash, byte| mix(hash, u32::from(byte)))
    };
    assert_eq!(hash(0..600), 0x873f_452c_b30c_9bdf);
    assert_eq!(hash(8_000_000..8_000_600), 0x4fc0_8f4c_5183_208b);
}

/// One says goodbye, one falls silent: neither leaves a body behind for longer than a connection may be silent, and
/// both keep seat and score. The one who comes back plays on.
#[test]
fn who_drops_out_leaves_no_ghost_and_keeps_its_seat() {
    let content = &*CONTENTS[1];
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
