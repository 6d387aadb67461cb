//! `play --model doom1993` and its like: machines that play in lockstep over real sockets, each a bot with a socket of
//! its own, without a server.

use crate::content::Ground;
use crate::crew::skill;
use crate::host::figures::Standing;
use crate::host::metrics::Board;
use crate::page::{self, Beside, Match};
use crate::play::Options;
use crate::recording_file::RecordingFile;
use crate::stop::Stop;
use crate::{address, crew};
use anyhow::{Context, bail};
use sametick::lockstep::{Desync, Happening, Identity, Mesh, Role, Setup, Topology, build_of};
use sametick::secure::SystemRandom;
use sametick::{Peer, Span, Tick, Time};
use sametick_arena::Arena;
use sametick_arena::bot::Bot;
use sametick_links::web::WebLink;
use sametick_links::{Both, Clock, Link, UdpLink, address_of, drive_mesh, peer_at};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// All are looked after at least this often.
const LOOKS_EVERY: Span = Span::millis(1);
/// How long goodbyes may take.
const GOODBYE: Span = Span::seconds(3);
/// How many ticks' hashes are kept to be compared.
const HASHES_KEPT: usize = 4096;

struct Machine {
    mesh: Mesh<Arena>,
    link: Both,
    bot: Bot,
    thought: Tick,
    compared: Tick,
    began_at: Option<Time>,
    /// When it found its world to be another than somebody's.
    parted_at: Option<Time>,
}

/// What all machines here found out together.
#[derive(Default)]
struct Ledger {
    hashes: BTreeMap<u32, u32>,
    agreed: u64,
    differed: u64,
}

pub(crate) fn run(options: &Options, setup: Setup) -> anyhow::Result<()> {
    let (ground, clock, stop) =
        (Ground::new(options.matches.rules.content()?), Clock::start(), Stop::on_signals()?);
    let setup = Setup {
        players: options.players,
        seed: options.matches.rules.seed,
        tick_length: options.matches.rules.tick_length(),
        ..setup
    };
    let here = options.here.unwrap_or(match &options.join {
        Some(_) => 1,
        // One place is for who comes with a browser.
        None if options.matches.page.is_wanted() => options.players.saturating_sub(1).max(1),
        None => options.players,
    });
    if here > options.players {
        bail!("--here {here} is more than --players {}", options.players);
    }
    let web = open_page(options, setup, here, &ground)?;
    let mut machines = begin(options, setup, here, (&ground, web), &clock)?;
    let mut tape = Tape::begin(options, &mut machines[0])?;
    let mut ledger = Ledger::default();
    let ends_at = |began: Time| options.seconds.map(|s| began + Span::seconds(s.into()));
    let mut end = None;
    loop {
        let now = clock.now();
        for machine in &mut machines {
            machine.drive(&clock, &ground, options)?;
            machine.compare(&mut ledger);
        }
        tape.run_on(&mut machines[0]);
        // The time of play begins when everyone has come.
        let has_begun = machines.iter().all(|machine| machine.began_at.is_some());
        end = end.or_else(|| has_begun.then(|| ends_at(now)).flatten());
        // The others may still be waiting for a part of our world.
        let parted_at = machines.iter().filter_map(|machine| machine.parted_at).min();
        end = parted_at.map(|parted| parted + GOODBYE).or(end);
        let is_over = machines.iter().all(|machine| machine.mesh.game().is_over());
        if stop.is_asked() || is_over || end.is_some_and(|end| now >= end) {
            break;
        }
        let wakes = machines.iter().map(|machine| machine.mesh.next_wake());
        let wake = wakes.fold(now + LOOKS_EVERY, Time::min);
        machines[0].link.wait(&clock, wake);
    }
    let report = report(options, &machines, &ledger);
    tape.end(&mut machines[0])?;
    let has_parted = machines.iter().any(|machine| machine.parted_at.is_some());
    farewell(&mut machines, &clock, &ground, options)?;
    if has_parted {
        bail!("the worlds are not the same any more: see above");
    }
    crate::print(&report)?;
    if ledger.differed > 0 {
        bail!("{} ticks were not the same on all machines", ledger.differed);
    }
    Ok(())
}

/// The recording of what the first machine here steps, if one is wanted.
struct Tape(Option<RecordingFile>);

impl Tape {
    fn begin(options: &Options, machine: &mut Machine) -> anyhow::Result<Self> {
        let wanted = &options.matches.recording;
        let opened = wanted.open(&options.matches.rules.configuration())?;
        Ok(Self(opened.map(|(file, what)| {
            machine.mesh.game_mut().record(&what);
            file
        })))
    }

    /// Hands on what was recorded. A recording that cannot go on ends; the game goes on.
    fn run_on(&mut self, machine: &mut Machine) {
        let Some(file) = &mut self.0 else { return };
        let game = machine.mesh.game_mut();
        let pushed = file.push(game.take_recording());
        if pushed.is_ok() && !file.is_full() {
            return;
        }
        let full = || format!("the recording {} is as long as it may be", file.path().display());
        eprintln!("{}", pushed.err().map_or_else(full, |error| format!("{error:#}")));
        if let Err(error) = self.end(machine) {
            eprintln!("{error:#}");
        }
    }

    fn end(&mut self, machine: &mut Machine) -> anyhow::Result<()> {
        let Some(mut file) = self.0.take() else { return Ok(()) };
        file.push(machine.mesh.game_mut().finish_recording())?;
        file.close()
    }
}

/// Opens the door for browsers, if one is wanted: to the machine that founds the game, and only to it.
fn open_page(
    options: &Options,
    setup: Setup,
    here: u8,
    ground: &Ground,
) -> anyhow::Result<Option<WebLink>> {
    if options.open && !options.matches.page.is_wanted() {
        bail!("--open needs a page: --page 127.0.0.1:4080");
    }
    let mut facts = options.matches.rules.facts(&ground.content, &options.matches.rules.rates()?);
    facts["lockstep"] = true.into();
    // A browser reaches this machine alone: where all others are needed to play, it can watch.
    let is_direct = setup.topology == Topology::PeerToPeer;
    facts["watch"] = (is_direct && here == options.players).into();
    let (board, beside, front) = (Board::default(), Beside::default(), page::FRONT);
    let game = Match { facts, board, key: None, beside, tables: None, front };
    let Some(web) = options.matches.page.open(false, game)? else { return Ok(None) };
    if options.join.is_some() {
        bail!("--page is for who begins the game; without --join");
    }
    if is_direct && setup.players > 2 && here < options.players {
        let (name, players) = (options.matches.rules.model.name, setup.players);
        bail!(
            "a browser reaches this machine alone: with --model {name} --page, --players is 2, \
             or all are here (--here {players}) and browsers watch"
        );
    }
    let pages = page::addresses(&web);
    if let Some(page) = pages.first().filter(|_| options.open)
        && !page::open_browser(page)
    {
        eprintln!("no browser could be started: open {page} in one");
    }
    if options.json {
        crate::print(&format!("{}\n", json!({ "pages": pages })))?;
    } else {
        pages.iter().for_each(|page| eprintln!("in a browser: {page}"));
    }
    Ok(Some(web))
}

/// One socket for each, at one address with different ports.
fn begin(
    options: &Options,
    setup: Setup,
    here: u8,
    (ground, mut web): (&Ground, Option<WebLink>),
    clock: &Clock,
) -> anyhow::Result<Vec<Machine>> {
    let random = &mut SystemRandom::new();
    let door = options.join.as_deref().map(address::resolve).transpose()?;
    let (mut machines, mut door): (Vec<Machine>, Option<Peer>) = (Vec::new(), door.map(peer_at));
    let ids = crew::client_ids(2 * usize::from(here));
    for (index, id) in ids.chunks(2).enumerate() {
        let me = Identity { session: id[0].max(1), name: id[1] };
        let content = (ground.content.clone(), BUILD);
        let now = clock.now();
        let (mesh, link) = match door {
            None => {
                let link = address::bind_chosen(options.address, "--address")?;
                let at = peer_at(address::nearby(address_of(link.local())));
                door = Some(at);
                eprintln!(
                    "waiting for {} players at {}; join with `sametick play --model {} --join {}`",
                    setup.players,
                    address_of(link.local()),
                    options.matches.rules.model.name,
                    address_of(at)
                );
                (Mesh::found(setup, me, at, content, now, random), link)
            }
            Some(door) => {
                let any = SocketAddr::new(options.address.unwrap_or(address::USUAL).ip(), 0);
                let link = UdpLink::bind(any).context("the system gives no socket")?;
                (Mesh::join(door, me, content, role(options), now, random), link)
            }
        };
        let bot = skill::bot(
            options.matches.rules.skill,
            options.matches.rules.seed,
            index,
            ground.ways(),
        );
        let (thought, compared) = (Tick(0), Tick(0));
        let link = Both::new(link, web.take());
        machines.push(Machine {
            mesh,
            link,
            bot,
            thought,
            compared,
            began_at: None,
            parted_at: None,
        });
    }
    Ok(machines)
}

fn role(options: &Options) -> Role {
    if options.watch { Role::Watches } else { Role::Plays }
}

/// What must be the same for two programs to play together.
const BUILD: u64 = build_of(sametick_arena::RULES);

impl Machine {
    fn drive(&mut self, clock: &Clock, ground: &Ground, options: &Options) -> anyhow::Result<()> {
        let now = clock.now();
        drive_mesh(&mut self.mesh, &mut self.link, now, &mut SystemRandom::new());
        let game = self.mesh.game_mut();
        game.take_effects();
        for event in game.take_events() {
            match event {
                Happening::Desynced(desync) => {
                    self.parted_at.get_or_insert(now);
                    if let Err(error) = write_down(&desync) {
                        eprintln!("{error:#}");
                    }
                }
                Happening::Over if self.began_at.is_none() => {
                    bail!("the game never began: nobody answers, or too few came");
                }
                Happening::Refused(refusal) => bail!("they do not let us in: {refusal}"),
                Happening::Joined(_) if options.watch => _ = self.began_at.get_or_insert(now),
                Happening::Came(..) => _ = self.began_at.get_or_insert(now),
                _ if options.json => {}
                Happening::Leads(player) => eprintln!("player {} leads", player.0),
                Happening::Halted => eprintln!("somebody's world is another: the game stops"),
                Happening::Paused => eprintln!("too few can be reached: the game waits for them"),
                Happening::LeftBehind => eprintln!("the others went on: asking to be let in again"),
                _ => {}
            }
        }
        let (Some(world), Some(me)) = (game.shown(), game.me()) else { return Ok(()) };
        let ticks = world.tick().0.saturating_sub(self.thought.0);
        if ticks > 0 {
            let dt = ticks as f32 * options.matches.rules.tick_length().as_seconds_f64() as f32;
            self.thought = world.tick();
            let command = self.bot.think(world, me, &ground.content, dt.min(1.0));
            self.mesh.command(command);
            // Where turns adapt, the slowest machine sets the pace.
            self.mesh.game_mut().set_tick_costs((clock.now() - now) / u64::from(ticks));
        }
        Ok(())
    }

    /// Compares each tick's world with what the other machines here have.
    fn compare(&mut self, ledger: &mut Ledger) {
        let game = self.mesh.game();
        let Some(newest) = game.world().map(|world| world.tick()) else { return };
        for tick in self.compared.0.max(newest.0.saturating_sub(60)) + 1..=newest.0 {
            let Some(hash) = game.hash_of(Tick(tick)) else { continue };
            match ledger.hashes.insert(tick, hash) {
                Some(other) if other == hash => ledger.agreed += 1,
                Some(_) => ledger.differed += 1,
                None => {}
            }
        }
        self.compared = newest;
        while ledger.hashes.len() > HASHES_KEPT {
            ledger.hashes.pop_first();
        }
    }
}

/// Writes down what is known of a desync, for `sametick replay`.
fn write_down(desync: &Desync) -> anyhow::Result<()> {
    let since = if desync.is_first { "at" } else { "at or before" };
    let (with, tick) = (desync.with.0, desync.tick.0);
    eprintln!("desync with player {with} {since} tick {tick}: {}", desync.first);
    for (name, bytes) in &desync.recordings {
        let file = format!("desync-{}-{}-{name}.sametick", desync.tick.0, desync.with.0);
        std::fs::write(&file, bytes).with_context(|| format!("cannot write {file}"))?;
        eprintln!("written: {file}; look at it with `sametick replay {file}`");
    }
    Ok(())
}

fn farewell(
    machines: &mut [Machine],
    clock: &Clock,
    ground: &Ground,
    options: &Options,
) -> anyhow::Result<()> {
    let began = clock.now();
    // One after the other, so that somebody is left to hear it.
    for index in 0..machines.len() {
        machines[index].mesh.close(clock.now());
        while !machines[index].mesh.game().is_over() && clock.now() < began + GOODBYE {
            for machine in machines.iter_mut() {
                machine.drive(clock, ground, options)?;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let now = clock.now();
        machines[index].mesh.hang_up(now);
        machines[index].drive(clock, ground, options)?;
    }
    Ok(())
}

fn report(options: &Options, machines: &[Machine], ledger: &Ledger) -> String {
    let standing = machines.iter().find_map(|machine| machine.mesh.game().world());
    let standing = standing.map(Standing::of);
    let rows: Vec<Value> = machines
        .iter()
        .map(|machine| {
            let game = machine.mesh.game();
            let statistics = game.statistics();
            json!({
                "player": game.me().map(|me| me.0),
                "watches": options.watch,
                "address": address_of(machine.link.local()).to_string(),
                "tick": game.world().map_or(0, |world| world.tick().0),
                "delay_ticks": statistics.delay_ticks,
                "stalls": statistics.stalls,
                "stalled_ms": statistics.stalled.as_millis_f64(),
                "resimulated_ticks": statistics.resimulated_ticks,
                "contacts": statistics.contacts,
            })
        })
        .collect();
    if options.json {
        let report = json!({
            "name": "lockstep", "model": options.matches.rules.model.name, "players": rows,
            "ticks_agreed": ledger.agreed, "ticks_differed": ledger.differed,
            "hashes": ledger.hashes,
            "match": standing.map(|standing| standing.json()),
        });
        return format!("{report}\n");
    }
    let mut text = format!(
        "{:>6} {:<22} {:>7} {:>7} {:>7} {:>11} {:>12}\n",
        "player", "address", "tick", "delay", "stalls", "stalled ms", "resimulated"
    );
    for row in &rows {
        let number = |name: &str| row[name].as_f64().map_or("-".to_owned(), |n| format!("{n:.0}"));
        text += &format!(
            "{:>6} {:<22} {:>7} {:>7} {:>7} {:>11} {:>12}\n",
            number("player"),
            row["address"].as_str().unwrap_or_default(),
            number("tick"),
            number("delay_ticks"),
            number("stalls"),
            number("stalled_ms"),
            number("resimulated_ticks")
        );
    }
    text += &format!(
        "{} worlds were the same on two machines, {} were not\n",
        ledger.agreed, ledger.differed
    );
    text + &standing.map(|standing| standing.table()).unwrap_or_default()
}
