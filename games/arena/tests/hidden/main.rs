//! Nothing hidden is sent: every packet to every player of matches of bots is decoded and compared with what that
//! player may know, found out here and not by the game's own rule; and whatever one does out of sight changes no byte
//! of what another is sent.
//!
//! Who may know of what: everyone of the match, of the score table and of doors; a player of its own entities; who
//! watches, of everything; anyone else of what stands in a cell that is seen from the cell it stands in. A closed door
//! hides nothing. A snapshot is of its tick: what it tells was in sight then. An event may be of what the last snapshot
//! had in sight.

mod silence;

use super::harness::rogue::{Message, Rogue};
use super::harness::{Match, STEP, Setup, line};
use sametick::bits::BitReader;
use sametick::record::ROW_WORDS;
use sametick::{
    Entities, EntityId, Layout, Layouts, Model, PlayerId, Precision, Rates, Tick, Time, World,
    delta,
};
use sametick_arena::bot::{Bot, Skill, Ways};
use sametick_arena::{Command, Content, Entity, Event, Fighter, Mode, Tuning, What, map};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The kinds of messages that bring an event, and several, each with its length before it.
const EVENT: u8 = 2;
const EVENTS: u8 = 7;
/// For how long the server's worlds are remembered, in ticks.
const REMEMBERED: usize = 200;
/// So many ticks ago at most was the snapshot that an event may go by.
const HOLD_TICKS: u32 = 3;
const BOTS: usize = 5;

static MAPS: LazyLock<Vec<(Content, Arc<Ways>)>> = LazyLock::new(|| {
    let surveyed = |text: &str| {
        let content = Content::new(text, Mode::FreeForAll).expect("the map is sound");
        let tuning = Tuning { pause_seconds: 0.1, respawn_seconds: 0.7, ..content.tuning };
        let content = Content { tuning, ..content };
        content.map.visibility();
        let ways = Arc::new(Ways::new(&content));
        (content, ways)
    };
    [map::HALLS, map::FIELD].into_iter().map(surveyed).collect()
});

/// Whether a player may know of an entity, in the world as it is.
fn may_know(world: &World<Entity>, content: &Content, viewer: PlayerId, id: EntityId) -> bool {
    let Some(entity) = world.entity(id) else { return false };
    let place = match entity {
        Entity::Contest(_) | Entity::Seat(_) | Entity::Door(_) => return true,
        Entity::Fighter(fighter) => fighter.position,
        Entity::Rocket(rocket) => rocket.position,
        Entity::Prop(prop) => prop.position,
        Entity::Target(target) => target.position,
        Entity::Item(item) => content.map.items[usize::from(item.index)].place,
    };
    let own = world.owned::<Fighter>(viewer).map(|(_, own)| own);
    let is_seen =
        own.is_none_or(|own| own.is_away || content.map.visibility().sees(own.position, place));
    is_seen || world.owner(id) == Some(viewer)
}

/// How much was compared.
#[derive(Debug, Default)]
struct Tally {
    packets: u64,
    told: u64,
    hidden: u64,
    events: u64,
    teleports: u64,
    deaths: u64,
    doors: u64,
}

struct Watched {
    play: Match,
    content: Content,
    worlds: BTreeMap<Tick, World<Entity>>,
    layouts: Layouts,
    is_clean: bool,
    tally: Tally,
}

impl Watched {
    fn remember(&mut self) {
        let world = self.play.server.world();
        let before = self.worlds.last_key_value().map(|(_, before)| before);
        for (id, fighter) in world.all::<Fighter>() {
            let then = before.and_then(|before| before.get::<Fighter>(id));
            self.tally.teleports +=
                u64::from(then.is_some_and(|then| then.teleports != fighter.teleports));
        }
        self.worlds.insert(world.tick(), world.clone());
        while self.worlds.len() > REMEMBERED {
            self.worlds.pop_first();
        }
    }

    /// What a client has after a packet: each entity as it was when its player could know of it. Where nothing is lost
    /// it could in the very tick of the snapshot.
    fn check(&mut self, index: usize, is_whole: bool) {
        let client = &self.play.guests[index].client;
        let (Some(snapshot), Some(me)) = (client.snapshot(), client.me()) else { return };
        let Some(world) = self.worlds.get(&snapshot.tick()) else { return };
        for (id, entity) in snapshot.entities() {
            let is_own = snapshot.owner(id) == Some(me);
            let precision = if is_own { Precision::State } else { Precision::Shown };
            let told = record(&self.layouts, precision, entity);
            let was_so = |world: &World<Entity>| {
                let then = world.entity(id);
                then.is_some_and(|then| record(&self.layouts, precision, then) == told)
                    && may_know(world, &self.content, me, id)
            };
            let mut before = self.worlds.range(..=snapshot.tick()).rev().map(|(_, world)| world);
            let tick = snapshot.tick();
            assert!(before.any(was_so), "{me:?} at {tick:?} was told of {id:?}: {entity:?}");
            let is_of_now = may_know(world, &self.content, me, id);
            let is_strict = is_whole && self.is_clean;
            assert!(is_of_now || !is_strict, "{me:?} at {tick:?} still has {id:?}: {entity:?}");
            self.tally.told += 1;
        }
        self.tally.hidden += world.len() as u64 - snapshot.len() as u64;
        self.tally.packets += 1;
    }

    /// What was said of events to one who listens: each of something it could know of, then or in its last snapshot;
    /// what everyone is told has no place.
    fn check_events(&mut self, ear: &mut Rogue) {
        let Some(me) = ear.me else { return };
        let layout = Layout::of::<Event>(Precision::State);
        let heard: Vec<Vec<u8>> =
            ear.heard.drain(..).flat_map(|message| events(&message)).collect();
        for event in heard {
            let mut bits = BitReader::new(&event);
            let (_game, tick, word) = (bits.read(8), bits.read(32) as u32, bits.read(32) as usize);
            bits.skip(9);
            let mut words = vec![0; layout.len()];
            delta::read(&mut bits, &layout, layout.initial(), &mut words);
            assert!(!bits.failed());
            let event: Event = layout.value(&words);
            let id = EntityId::new(word % 4096, word as u32 >> 12).expect("it has a name");
            self.tally.events += 1;
            self.tally.deaths += u64::from(event.what == What::Death);
            self.tally.doors += u64::from(event.what == What::Door);
            if matches!(event.what, What::Death | What::Phase | What::Say) {
                assert_eq!((event.at, event.direction), ([0.0; 3], [0.0; 3]), "{event:?}");
                continue;
            }
            let ticks = Tick(tick.saturating_sub(HOLD_TICKS))..=Tick(tick);
            let mut worlds = self.worlds.range(ticks).map(|(_, world)| world);
            let could_know = worlds.any(|world| may_know(world, &self.content, me, id));
            assert!(could_know, "{me:?} was told at {tick} of {id:?}: {event:?}");
        }
    }
}

/// The events that a message brings.
fn events(message: &[u8]) -> Vec<Vec<u8>> {
    match message.split_first() {
        Some((&EVENT, event)) => vec![event.to_vec()],
        Some((&EVENTS, mut rest)) => {
            let mut events = Vec::new();
            while let Some((length, behind)) = rest.split_first() {
                let (event, behind) = behind.split_at(usize::from(*length));
                events.push(event.to_vec());
                rest = behind;
            }
            events
        }
        _ => Vec::new(),
    }
}

fn record(layouts: &Layouts, precision: Precision, entity: &Entity) -> Vec<u32> {
    let mut row = [0; ROW_WORDS];
    let layouts = layouts.at(precision);
    entity.clone().record(layouts, &mut row);
    row[..layouts[usize::from(entity.kind())].len()].to_vec()
}

fn run(map: usize, model: Model, seed: u64, millis: u64, is_compact: bool) -> Tally {
    let (content, ways) = MAPS[map].clone();
    let is_clean = seed.is_multiple_of(2);
    let lines = [if is_clean { line(40, 0, 0.0) } else { line(60, 10, 0.1) }];
    let rates = Rates { ticks_per_snapshot: HOLD_TICKS, ..model.rates };
    let views = [model.view; BOTS];
    let mut play =
        Match::new(&Setup { content: &content, rates, views: &views, lines: &lines, seed });
    if is_compact {
        play.offer_tables();
    }
    let (layouts, worlds, tally) = (Layouts::of::<Entity>(), BTreeMap::new(), Tally::default());
    let mut watched = Watched { play, content, worlds, layouts, is_clean, tally };
    let mut ear = Rogue::new(&mut watched.play, &line(0, 0, 0.0));
    let mut bots: Vec<Bot> = (0..BOTS as u64)
        .map(|bot| Bot::new(Skill::level(2 + bot as u8 % 4), seed * 100 + bot, ways.clone()))
        .collect();
    while watched.play.now < Time::from_millis(millis) {
        let is_tick = watched.play.step_server(|_, _| {});
        if is_tick {
            watched.remember();
        }
        ear.step(&mut watched.play);
        watched.check_events(&mut ear);
        if is_tick && ear.me.is_some() {
            // Runs about, so that there is something to hear.
            let tick = watched.play.server.world().tick();
            let yaw = (tick.0 / 45) as f32 * 2.0;
            let command = Command { forward: 7, yaw, jump: true, ..Command::default() };
            ear.say(&mut watched.play, &Message::new(Tick(tick.0 + 2), &[command]));
        }
        for (index, bot) in bots.iter_mut().enumerate() {
            let mut packets = 0;
            watched.play.receive(index, |_| packets += 1);
            if packets > 0 {
                watched.check(index, packets == 1 || watched.is_clean);
            }
            let (now, dt) = (watched.play.now, 1.0 / 60.0);
            let client = &mut watched.play.guests[index].client;
            if let (true, Some(me)) = (is_tick, client.me())
                && let Some(view) = client.view(now)
            {
                let command = bot.think(view, me, &watched.content, dt);
                client.command(command);
            }
            client.take_effects();
            watched.play.send(index);
            assert_eq!(watched.play.guests[index].client.malformed(), 0);
        }
        watched.play.now += STEP;
    }
    assert_eq!(watched.play.is_compact(), is_compact);
    watched.tally
}

#[test]
fn no_packet_of_a_match_tells_of_what_its_player_cannot_see() {
    let [halls, field] = [0, 1];
    // Even seeds have clean lines.
    let cases = [
        (halls, Model::HALF_LIFE, 1, 8_000, false),
        (halls, Model::DOOM3, 2, 8_000, false),
        (halls, Model::QUAKE3, 3, 8_000, false),
        (halls, Model::HALF_LIFE, 4, 8_000, false),
        (field, Model::HALF_LIFE, 6, 4_000, false),
        // And the same of compact snapshots.
        (halls, Model::HALF_LIFE, 5, 8_000, true),
        (halls, Model::DOOM3, 8, 8_000, true),
    ];
    let mut all = Tally::default();
    for (map, model, seed, millis, is_compact) in cases {
        println!("seed {seed}, map {map}, {}", model.name);
        let tally = run(map, model, seed, millis, is_compact);
        println!("{tally:?}");
        assert!(tally.packets > 300 && tally.told > 5_000, "{tally:?}");
        all.hidden += tally.hidden;
        all.events += tally.events;
        all.teleports += tally.teleports;
        all.deaths += tally.deaths;
        all.doors += tally.doors;
    }
    assert!(all.hidden > 10_000 && all.events > 100, "{all:?}");
    assert!(all.teleports > 6 && all.deaths > 2 && all.doors > 2, "{all:?}");
}
