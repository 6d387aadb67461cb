//! Matches over bad lines, recorded by their server: played again they are the same match, bit for bit; cut, damaged
//! or of another map they are refused or end where they are whole.

use proptest::prelude::*;
use sametick::network::{Conditions, Host, Jitter, Loss, Network};
use sametick::replay::{Header, Recording, Replay, ReplayError};
use sametick::secure::Random;
use sametick::{Client, Dice, Layouts, Model, Rates, Server, Span, Tick, Time, Trust};
use sametick_arena::{Arena, Command, Content, Entity, Mode, anything, map};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const STEP: Span = Span::millis(4);
const GUESTS: usize = 5;
/// With how many players costs are measured.
const CROWD: usize = 64;

static CONTENT: LazyLock<Content> = LazyLock::new(|| {
    let content = Content::new(map::CORNERS, Mode::FreeForAll).expect("the map is sound");
    content.map.visibility();
    content
});

static LAYOUTS: LazyLock<Layouts> = LazyLock::new(Layouts::of::<Entity>);

struct Seeded(Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

struct Match {
    seed: u64,
    rate: u64,
    now: Time,
    network: Network,
    server_host: Host,
    server: Server<Arena>,
    guests: Vec<(Host, Client<Arena>)>,
    random: Seeded,
    file: Vec<u8>,
    /// How long the server took for each tick.
    took: Vec<Duration>,
    /// Whether players look elsewhere in each tick, as people do.
    is_restless: bool,
}

impl Match {
    fn new(seed: u64, rates: Rates, model: Model) -> Self {
        Self::with(seed, rates, model, GUESTS)
    }

    fn with(seed: u64, rates: Rates, model: Model, guests: usize) -> Self {
        let mut random = Seeded(Dice::new(seed, 2));
        let mut network = Network::new(seed);
        network.set_default_conditions(Conditions {
            delay: Span::millis(40),
            jitter: Jitter::Uniform { width: Span::millis(15) },
            loss: Loss::Random { probability: 0.03 },
            ..Conditions::PERFECT
        });
        let server_host = network.add_host();
        let now = Time::ZERO;
        let server = Server::open(CONTENT.clone(), seed, rates, now, &mut random);
        let address = network.address(server_host);
        let guests = (0..guests).map(|_| {
            let client = Client::open(address, CONTENT.clone(), model.view, now, &mut random);
            (network.add_host(), client)
        });
        let (guests, file, took) = (guests.collect(), Vec::new(), Vec::new());
        let rate = Span::seconds(1).as_micros() / rates.tick_length.as_micros();
        let is_restless = false;
        Self {
            seed,
            rate,
            now,
            network,
            server_host,
            server,
            guests,
            random,
            file,
            took,
            is_restless,
        }
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            self.now += STEP;
        }
    }

    fn step(&mut self) {
        let (now, mut datagram) = (self.now, Vec::new());
        while let Some(from) = self.network.receive(now, self.server_host, &mut datagram) {
            let answer = self.server.receive(now, from, &mut datagram, &mut self.random);
            if let Some(answer) = answer {
                self.network.send(now, self.server_host, from, &answer);
            }
        }
        let begun = Instant::now();
        let before = self.server.world().tick();
        self.server.advance(now);
        if self.server.world().tick() != before {
            self.took.push(begun.elapsed());
        }
        self.file.extend(self.server.take_recording());
        while let Some((to, datagram)) = self.server.transmit(now) {
            self.network.send(now, self.server_host, to, datagram);
        }
        let server = self.network.address(self.server_host);
        for (host, client) in &mut self.guests {
            while self.network.receive(now, *host, &mut datagram).is_some() {
                client.receive(now, &mut datagram);
            }
            if let (Some(me), Some(world)) = (client.me(), client.predicted()) {
                // Keys are held for as long at every rate.
                let tick = u64::from(world.tick().0) * 60 / self.rate;
                let wish = anything(self.seed, tick as u32, me);
                let turned =
                    if self.is_restless { (world.tick().0 as f32 * 0.37).sin() } else { 0.0 };
                let (yaw, pitch) = (wish.yaw + turned, wish.pitch + turned * 0.3);
                client.command(Command { yaw, pitch, ready: true, ..wish });
            }
            client.advance(now);
            if (now - Time::ZERO).as_micros().is_multiple_of(16_000) {
                client.view(now);
            }
            client.take_effects();
            while let Some(datagram) = client.transmit(now) {
                self.network.send(now, *host, server, datagram);
            }
        }
    }

    fn hash(&self) -> u64 {
        self.server.world().hash(&LAYOUTS)
    }

    fn finish(mut self) -> Vec<u8> {
        self.file.extend(self.server.finish_recording());
        self.file
    }
}

fn recording() -> Recording {
    Recording { checkpoint_every: Span::seconds(2), ..Recording::new("test", "map = corners") }
}

fn record(seed: u64, rates: Rates, model: Model, span: Span) -> Vec<u8> {
    let mut play = Match::new(seed, rates, model);
    play.server.record(&recording());
    play.run(span);
    play.finish()
}

fn open(file: &[u8]) -> Replay<Arena> {
    Replay::open(file.to_vec(), CONTENT.clone()).expect("it is a recording")
}

static FILE: LazyLock<Vec<u8>> =
    LazyLock::new(|| record(1, Model::HALF_LIFE.rates, Model::HALF_LIFE, Span::seconds(9)));

#[test]
fn a_match_played_again_is_the_same_match() {
    let at_rate = |rates: Rates, rate: u64| Rates {
        tick_length: Span::micros(1_000_000 / rate),
        ticks_per_snapshot: (rate / 20).max(1) as u32,
        ..rates
    };
    for model in Model::ALL {
        for (seed, rate) in [(1, 60), (2, 20), (3, 400)] {
            let rates = at_rate(model.rates, rate);
            let file = record(seed, rates, model, Span::seconds(7));
            let mut replay = open(&file);
            let name = format!("{} at {rate}, seed {seed}", model.name);
            let found = replay.verify().unwrap();
            assert_eq!(found.divergence, None, "{name}");
            assert!(found.ticks > 6 * rate as u32 && found.hashes == found.ticks, "{name}");
            assert!(found.verdicts > 5 && found.events > 0, "{name}: {found:?}");
            assert!(replay.is_ended() && replay.damaged_bytes() == 0, "{name}");
            let summary = replay.summary().unwrap();
            assert_eq!(summary.players.len(), GUESTS, "{name}");
            let rewinds = rates.rewinding.at_most > Span::ZERO;
            assert_eq!(summary.rewound > 0, rewinds, "{name}: {summary:?}");
            assert_eq!(summary.claims > 0, rates.trust == Trust::Clients, "{name}: {summary:?}");
            println!("{name}: {found:?} {summary:?}");
        }
    }
}

#[test]
fn recording_changes_nothing_of_the_game() {
    for model in [Model::HALF_LIFE, Model::FPSCI] {
        let hashes = [false, true].map(|is_recorded| {
            let mut play = Match::new(4, model.rates, model);
            if is_recorded {
                play.server.record(&Recording { keeps_sent: true, ..recording() });
            }
            play.run(Span::seconds(6));
            play.hash()
        });
        assert_eq!(hashes[0], hashes[1], "{}", model.name);
    }
}

#[test]
fn a_recording_may_begin_in_the_middle_and_outlive_who_leaves() {
    let mut play = Match::new(5, Model::HALF_LIFE.rates, Model::HALF_LIFE);
    play.run(Span::seconds(4));
    play.server.record(&recording());
    play.run(Span::seconds(2));
    play.guests[1].1.close(play.now);
    // Its place is kept for a minute.
    play.run(Span::seconds(64));
    let file = play.finish();
    let mut replay = open(&file);
    assert_eq!(replay.verify().unwrap().divergence, None);
    let summary = replay.summary().unwrap();
    assert!(summary.first > Tick(200), "{summary:?}");
    assert_eq!((summary.joined, summary.left), (0, 1));
    let minutes = f64::from(summary.last.0 - summary.first.0) / 3_600.0;
    let per_player = file.len() as f64 / minutes / summary.players.len() as f64;
    println!("{} bytes, {per_player:.0} a player and minute", file.len());
}

#[test]
fn another_map_ends_the_recording_of_the_first() {
    let mut play = Match::new(6, Model::HALF_LIFE.rates, Model::HALF_LIFE);
    play.server.record(&recording());
    play.run(Span::seconds(3));
    let last = play.server.world().tick();
    play.server.change(play.now, CONTENT.clone(), 7);
    play.run(Span::seconds(1));
    assert!(!play.server.is_recording());
    let mut replay = open(&play.file);
    assert_eq!(replay.verify().unwrap().divergence, None);
    assert_eq!((*replay.ticks().end(), replay.is_ended()), (last, true));
}

#[test]
fn seeking_leads_where_playing_leads() {
    let mut replay = open(&FILE);
    let straight: Vec<u64> = replay.worlds().map(|world| world.unwrap().hash(&LAYOUTS)).collect();
    let (first, last) = (replay.ticks().start().0, replay.ticks().end().0);
    assert_eq!(straight.len() as u32, last - first + 1);
    let mut dice = Dice::new(1, 1);
    let anywhere = (0..40).map(|_| first + dice.below(u64::from(last - first + 1)) as u32);
    for tick in anywhere.chain([first, last, last, last - 1, first + 1]) {
        replay.seek(Tick(tick)).unwrap();
        assert_eq!(replay.world().tick(), Tick(tick));
        assert_eq!(replay.world().hash(&LAYOUTS), straight[(tick - first) as usize], "{tick}");
    }
    let beyond = replay.seek(Tick(last + 1)).unwrap_err();
    assert_eq!(beyond.to_string(), format!("there is no tick {} in {first} to {last}", last + 1));
}

#[test]
fn what_was_sent_is_kept_on_request() {
    let mut play = Match::new(8, Model::HALF_LIFE.rates, Model::HALF_LIFE);
    play.server.record(&Recording { keeps_sent: true, ..recording() });
    play.run(Span::seconds(4));
    let file = play.finish();
    let mut replay = open(&file);
    assert_eq!(replay.verify().unwrap().divergence, None);
    let (mut messages, mut before) = ([0; GUESTS], Tick(0));
    for (tick, player, message) in replay.sent() {
        assert!(tick >= before && !message.is_empty());
        (before, messages[usize::from(player.0)]) = (tick, messages[usize::from(player.0)] + 1);
    }
    assert!(messages.iter().all(|count| *count > 50), "{messages:?}");
    assert_eq!(open(&FILE).sent().count(), 0);
}

#[test]
fn another_content_is_refused_by_name() {
    let other = Content::new(map::CORNERS, Mode::Teams).unwrap();
    let refused = Replay::<Arena>::open(FILE.clone(), other).err().unwrap();
    assert!(matches!(refused, ReplayError::Content { .. }), "{refused}");
    assert!(refused.to_string().starts_with("the recording was played with the content"));
    assert_eq!(Header::read(&FILE).unwrap().configuration, "map = corners");
}

/// `cargo test --release -p sametick-arena --test all replays -- --ignored --nocapture`
#[test]
#[ignore = "it measures"]
fn what_recording_costs() {
    for model in [Model::HALF_LIFE, Model::FPSCI] {
        for guests in [8, CROWD] {
            let usual = || Recording::new("test", "");
            let ways = [
                ("off", None),
                ("without hashes", Some(Recording { hash_every: 0, ..usual() })),
                ("as usual", Some(usual())),
                ("a world a second", {
                    Some(Recording { checkpoint_every: Span::seconds(1), ..usual() })
                }),
                ("and what is sent", Some(Recording { keeps_sent: true, ..usual() })),
            ];
            for (way, recording) in ways {
                let mut play = Match::with(9, model.rates, model, guests);
                play.is_restless = true;
                if let Some(recording) = &recording {
                    play.server.record(recording);
                }
                play.run(Span::seconds(3));
                play.took.clear();
                let before = play.file.len();
                play.run(Span::seconds(6));
                let bytes = play.file.len() - before;
                let mut took = std::mem::take(&mut play.took);
                took.sort_unstable();
                // The quicker half: what else the machine does is not ours.
                println!(
                    "{}, {guests} players, {way}: a quarter of the ticks within {:.1?}, half {:.1?}, 98 % {:.1?}; \
                     {:.1} KiB a player and minute",
                    model.name,
                    took[took.len() / 4],
                    took[took.len() / 2],
                    took[took.len() * 98 / 100],
                    bytes as f64 * 10.0 / 1024.0 / guests as f64,
                );
            }
        }
    }
}

/// To start a recording is to write one checkpoint. Run it as above.
#[test]
#[ignore = "it measures"]
fn what_a_checkpoint_costs() {
    for guests in [8, CROWD] {
        let mut play = Match::with(9, Model::HALF_LIFE.rates, Model::HALF_LIFE, guests);
        // Long enough for all the history that is remembered.
        play.run(Span::seconds(5));
        let mut took: Vec<(Duration, usize)> = (0..21)
            .map(|_| {
                let begun = Instant::now();
                play.server.record(&Recording::new("", ""));
                (begun.elapsed(), play.server.take_recording().len())
            })
            .collect();
        took.sort_unstable();
        let (median, bytes) = took[took.len() / 2];
        println!("{guests} players: {median:.1?} for a checkpoint, {bytes} bytes with a header");
    }
}

/// A block: where it begins, its kind, and its payload.
struct Framed {
    start: usize,
    kind: u8,
    payload: std::ops::Range<usize>,
}

const TICKS: u8 = 2;
const START_BYTES: usize = 10;
const HEAD_BYTES: usize = 9;

fn blocks(file: &[u8]) -> Vec<Framed> {
    let (mut all, mut start) = (Vec::new(), START_BYTES);
    while start < file.len() {
        let length = u32::from_le_bytes(file[start + 1..start + 5].try_into().expect("four bytes"));
        let payload = start + HEAD_BYTES..start + HEAD_BYTES + length as usize;
        all.push(Framed { start, kind: file[start], payload: payload.clone() });
        start = payload.end;
    }
    all
}

/// Makes a block's sum right again.
fn sum_up(file: &mut [u8], Framed { start, payload, .. }: &Framed) {
    let bytes = file[*start..start + 5].iter().chain(&file[payload.clone()]);
    let sum = bytes.fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 }
        })
    });
    file[start + 5..start + HEAD_BYTES].copy_from_slice(&(!sum).to_le_bytes());
}

#[test]
fn a_changed_command_is_found_by_tick_entity_and_field() {
    let framed = blocks(&FILE);
    let ticks: Vec<&Framed> = framed.iter().filter(|block| block.kind == TICKS).collect();
    let mut named = 0;
    for block in &ticks[3..5] {
        let first = u32::from_le_bytes(*FILE[block.payload.clone()].first_chunk().unwrap());
        let mut file = FILE.clone();
        for at in block.payload.clone().skip(8).step_by(3) {
            file.copy_from_slice(&FILE);
            file[at] ^= 16;
            assert!(open(&file).ticks().end().0 < first, "without its sum it is not played");
            sum_up(&mut file, block);
            // Some bytes cannot be changed without saying something that nobody says.
            if let Ok(found) = open(&file).verify() {
                // To the dead, or without a shot, some commands are the same.
                let Some(divergence) = found.divergence else { continue };
                assert!(divergence.tick.0 >= first, "{divergence}");
                let checkpoint = divergence.checkpoint.unwrap();
                assert!(checkpoint >= divergence.tick);
                let text = divergence.to_string();
                let is_named = text.contains("on the left") && text.contains('#');
                named += u32::from(is_named);
                if is_named && named < 4 {
                    println!("{text}");
                }
            }
        }
    }
    assert!(named > 5, "{named}");
}

#[test]
fn a_cut_recording_is_played_up_to_its_last_whole_block() {
    let framed = blocks(&FILE);
    // Header and first world are needed.
    for (index, block) in framed.iter().enumerate() {
        let cuts = [block.start, block.start + 1, block.payload.start, block.payload.end - 1];
        for cut in cuts.into_iter().filter(|cut| *cut < FILE.len()) {
            match Replay::<Arena>::open(FILE[..cut].to_vec(), CONTENT.clone()) {
                Err(error) => assert!(index < 2, "block {index} at {cut}: {error}"),
                Ok(mut replay) => {
                    assert!(index >= 2 && !replay.is_ended());
                    assert_eq!(replay.damaged_bytes(), cut - block.start);
                    let end = *replay.ticks().end();
                    replay.seek(end).unwrap();
                    assert_eq!(replay.step().unwrap().map(|stepped| stepped.tick), None);
                }
            }
        }
    }
    let mut cut = open(&FILE[..framed[framed.len() / 2].start + 7]);
    assert_eq!(cut.verify().unwrap().divergence, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn anything_is_refused_or_played(bytes: Vec<u8>, keeps in 0usize..300) {
        let start = &FILE[..keeps.min(FILE.len())];
        if let Ok(mut replay) = Replay::<Arena>::open([start, &bytes].concat(), CONTENT.clone()) {
            let _ = (replay.verify(), replay.summary());
        }
    }

    /// With right sums, so that what is inside is read.
    #[test]
    fn any_damage_to_what_players_did_is_refused_or_played(
        block: prop::sample::Index,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
    ) {
        let mut file = FILE.clone();
        let mut framed = blocks(&file);
        framed.retain(|block| block.kind == TICKS);
        let block = &framed[block.index(framed.len())];
        for (at, flip) in flips {
            file[block.payload.start + at.index(block.payload.len())] ^= flip;
        }
        sum_up(&mut file, block);
        if let Ok(mut replay) = Replay::<Arena>::open(file, CONTENT.clone()) {
            let first = u32::from_le_bytes(*FILE[block.payload.clone()].first_chunk().unwrap());
            let _ = replay.seek(Tick(first - 1));
            while let Ok(Some(_)) = replay.step() {}
        }
    }
}
