//! Looks at the recording of a match: what is in it, whether it is the same match when it is played again, its world
//! at a tick, and all of its worlds for other programs.

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use sametick::record::ROW_WORDS;
use sametick::replay::{Header, Replay, Summary, Verification};
use sametick::word::Meaning;
use sametick::{Entities, Layout, Layouts, PlayerId, Tick, World};
use sametick_arena::map::MAPS;
use sametick_arena::{Arena, Content, Entity, Mode};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "Examples:
  sametick replay match.sametick                  what is in it, and whether it plays again as it was
  sametick replay match.sametick --seek 3600      the world a minute in, at 60 ticks a second
  sametick replay match.sametick --export json    each tick's world on a line of its own
  sametick replay match.sametick --map my.map     of a match on a map from a file";

/// A recording, and what is asked of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print the world at this tick instead
    #[arg(long, value_name = "TICK")]
    seek: Option<u32>,
    /// Print the world of every tick instead, from --seek on
    #[arg(long, value_enum)]
    export: Option<Format>,
    /// The map, if it was played on one from a file
    #[arg(long, value_name = "PATH")]
    map: Option<PathBuf>,
    /// Print what is in it as JSON
    #[arg(long)]
    json: bool,
}

/// How worlds are written for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A JSON object for each tick, one a line
    Json,
}

/// Does what is asked. A recording that plays differently is an error.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let file = options.file.display();
    let bytes = std::fs::read(&options.file).with_context(|| format!("cannot read {file}"))?;
    let header = Header::read(&bytes).with_context(|| format!("cannot play {file}"))?;
    let content = content(&header, options.map.as_deref())?;
    let mut replay =
        Replay::<Arena>::open(bytes, content).with_context(|| format!("cannot play {file}"))?;
    let seats = Seats::of(replay.header());
    let mut out = BufWriter::new(io::stdout().lock());
    if let Some(tick) = options.seek {
        replay.seek(Tick(tick)).with_context(|| format!("cannot seek in {file}"))?;
    }
    let done = match (options.export, options.seek) {
        (Some(Format::Json), _) => export(&mut replay, &seats, &mut out),
        (None, Some(_)) => print_world(replay.world(), &seats, &mut out),
        (None, None) => judge(&mut replay, options.json, &mut out),
    };
    match done.and_then(|()| Ok(out.flush()?)) {
        // Whoever reads along has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(()),
        done => done,
    }
}

/// The numbers that people know players by. Everyone counts from 1; a trial of the lab has the numbers of its log, and
/// its recording says who sat where.
struct Seats(BTreeMap<u16, u32>);

impl Seats {
    fn of(header: &Header) -> Self {
        let configuration: Option<Value> = serde_json::from_str(&header.configuration).ok();
        let seats = configuration.as_ref().and_then(|all| all["seats"].as_object());
        let number = |(seat, player): (&String, &Value)| {
            Some((seat.parse().ok()?, u32::try_from(player.as_u64()?).ok()?))
        };
        Self(seats.into_iter().flatten().filter_map(number).collect())
    }

    fn number(&self, player: PlayerId) -> u32 {
        self.0.get(&player.0).copied().unwrap_or(u32::from(player.0) + 1)
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The content that a recording names: a map that comes with the game or one that is given, in any mode.
pub(crate) fn content(header: &Header, map: Option<&Path>) -> anyhow::Result<Content> {
    let mut texts: Vec<String> = MAPS.iter().map(|(_, text)| (*text).to_owned()).collect();
    if let Some(path) = map {
        let text = std::fs::read_to_string(path);
        texts.push(text.with_context(|| format!("cannot read the map {}", path.display()))?);
    }
    for text in &texts {
        for mode in [Mode::FreeForAll, Mode::Teams, Mode::Duel, Mode::Practice] {
            let content = Content::new(text, mode).context("the map is damaged")?;
            if content.name() == header.content_name {
                return Ok(content);
            }
        }
    }
    // Trials of the lab are played with rules of their own.
    let map = texts.get(MAPS.len()).map(String::as_str);
    let (name, configuration) = (header.content_name, header.configuration.as_str());
    if let Some(content) = sametick_lab::content_recorded(name, configuration, map) {
        return Ok(content);
    }
    bail!(
        "it was played on a map that does not come with this build; hand it in with --map (its server says: {})",
        header.configuration.trim()
    )
}

/// Prints what is in a recording, and plays it again.
fn judge(replay: &mut Replay<Arena>, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let summary = replay.summary()?;
    let verification = replay.verify()?;
    if json {
        writeln!(out, "{}", as_json(replay, &summary, &verification))?;
    } else {
        print(replay, &summary, &verification, out)?;
    }
    match verification.divergence {
        None => Ok(()),
        Some(divergence) => {
            out.flush()?;
            Err(anyhow!("{divergence}"))
        }
    }
}

fn seconds(replay: &Replay<Arena>, summary: &Summary) -> f64 {
    f64::from(summary.last.0 - summary.first.0) * replay.header().rates.tick_length.as_seconds_f64()
}

fn print(
    replay: &Replay<Arena>,
    summary: &Summary,
    verification: &Verification,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let header = replay.header();
    writeln!(out, "build          {}", header.build)?;
    for (index, line) in header.configuration.trim().lines().enumerate() {
        writeln!(out, "{:<14} {line}", if index == 0 { "configuration" } else { "" })?;
    }
    writeln!(out, "seed           {}", header.seed)?;
    let (first, last) = (summary.first.0, summary.last.0);
    let seconds = seconds(replay, summary);
    writeln!(
        out,
        "ticks          {first} to {last}, {seconds:.1} s, a tick {}",
        header.rates.tick_length
    )?;
    let (players, joined, left) = (summary.players.len(), summary.joined, summary.left);
    writeln!(out, "players        {players}; joined {joined} times, left {left} times")?;
    writeln!(out, "commands       {}", summary.commands)?;
    writeln!(out, "events         {}", verification.events)?;
    writeln!(
        out,
        "shots          {}, rewound in {} ticks",
        verification.verdicts, summary.rewound
    )?;
    writeln!(out, "claims         {}", summary.claims)?;
    writeln!(out, "bytes          {}, {} worlds among them", summary.bytes, summary.checkpoints)?;
    let end = match (summary.is_ended, replay.damaged_bytes()) {
        (true, _) => "whole".to_owned(),
        (false, 0) => "its server was stopped; whole as far as it goes".to_owned(),
        (false, bytes) => format!("its last {bytes} bytes are cut or damaged, and left out"),
    };
    writeln!(out, "end            {end}")?;
    let Verification { ticks, hashes, checkpoints, .. } = verification;
    if verification.divergence.is_none() {
        writeln!(
            out,
            "played again   the same: {ticks} ticks, {hashes} hashes, {checkpoints} worlds"
        )?;
    }
    Ok(())
}

fn as_json(replay: &Replay<Arena>, summary: &Summary, verification: &Verification) -> Value {
    let header = replay.header();
    let divergence = verification.divergence.as_ref().map(|divergence| {
        json!({
            "tick": divergence.tick.0,
            "checkpoint": divergence.checkpoint.map(|tick| tick.0),
            "differences": divergence.differences,
        })
    });
    json!({
        "build": header.build,
        "configuration": header.configuration,
        "seed": header.seed,
        "tick_micros": header.rates.tick_length.as_micros(),
        "first_tick": summary.first.0,
        "last_tick": summary.last.0,
        "seconds": seconds(replay, summary),
        "players": summary.players.len(),
        "joined": summary.joined,
        "left": summary.left,
        "commands": summary.commands,
        "events": verification.events,
        "shots": verification.verdicts,
        "rewound": summary.rewound,
        "claims": summary.claims,
        "bytes": summary.bytes,
        "damaged_bytes": replay.damaged_bytes(),
        "is_ended": summary.is_ended,
        "ticks_played": verification.ticks,
        "hashes_compared": verification.hashes,
        "worlds_compared": verification.checkpoints,
        "divergence": divergence,
    })
}

fn print_world(world: &World<Entity>, seats: &Seats, out: &mut impl Write) -> anyhow::Result<()> {
    let layouts = Layouts::of::<Entity>();
    writeln!(out, "tick {}, {} entities", world.tick().0, world.len())?;
    for (id, entity) in world.entities() {
        let owner = world.owner(id).map(|owner| format!(" of player {}", seats.number(owner)));
        writeln!(out, "{id:?} {}{}", kind(entity), owner.unwrap_or_default())?;
        for (name, value) in fields(entity, &layouts) {
            let player = value.as_u64().and_then(|number| u16::try_from(number).ok());
            let value = match player.filter(|_| name == "player") {
                Some(player) => seats.number(PlayerId(player)).into(),
                None => value,
            };
            writeln!(out, "  {name} = {value}")?;
        }
    }
    Ok(())
}

fn export(replay: &mut Replay<Arena>, seats: &Seats, out: &mut impl Write) -> anyhow::Result<()> {
    let layouts = Layouts::of::<Entity>();
    for world in replay.worlds() {
        let world = world?;
        let entities = world.entities().map(|(id, entity)| {
            json!({
                "id": format!("{id:?}"),
                "kind": kind(entity),
                "owner": world.owner(id).map(|owner| owner.0),
                "player": world.owner(id).map(|owner| seats.number(owner)),
                "fields": fields(entity, &layouts).into_iter().collect::<Map<_, _>>(),
            })
        });
        let entities: Vec<Value> = entities.collect();
        writeln!(out, "{}", json!({ "tick": world.tick().0, "entities": entities }))?;
    }
    Ok(())
}

fn kind(entity: &Entity) -> &'static str {
    match entity {
        Entity::Contest(_) => "contest",
        Entity::Seat(_) => "seat",
        Entity::Fighter(_) => "fighter",
        Entity::Rocket(_) => "rocket",
        Entity::Item(_) => "item",
        Entity::Door(_) => "door",
        Entity::Prop(_) => "prop",
        Entity::Target(_) => "target",
    }
}

/// An entity's fields by name, a text as one.
fn fields(entity: &Entity, layouts: &Layouts) -> Vec<(String, Value)> {
    let layout: &Layout = &layouts.state[usize::from(entity.kind())];
    let mut row = [0; ROW_WORDS];
    entity.clone().record(&layouts.state, &mut row);
    let (mut all, mut index) = (Vec::new(), 0);
    while let Some(word) = layout.words().get(index) {
        let words = &row[index..];
        match word.meaning {
            Meaning::Unused => index += 1,
            Meaning::TextLength { words: behind } => {
                let bytes: Vec<u8> =
                    words[1..=behind].iter().flat_map(|word| word.to_le_bytes()).collect();
                let length = bytes.len().min(words[0] as usize);
                let name = word.name.trim_end_matches(".length").to_owned();
                all.push((name, Value::from(String::from_utf8_lossy(&bytes[..length]))));
                index += 1 + behind;
            }
            _ => {
                let shown = word.show(words[0]);
                // Numbers and flags are JSON already.
                let value = serde_json::from_str(&shown).unwrap_or(Value::from(shown));
                all.push((word.name.clone(), value));
                index += 1;
            }
        }
    }
    all
}
