//! `bench instructions`: what a field costs, in instructions, which a busy machine does not change.
//!
//! The program runs itself under callgrind, each piece of work for two different numbers of rounds;
//! the difference is the work alone.

use super::workload::{self, PLAYERS, Player, Workload};
use super::{Report, channel, print};
use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use sametick::bits::BitWriter;
use sametick::record::ROW_WORDS;
use sametick::{Layout, Precision, Table, delta};
use serde_json::json;
use std::hint::black_box;
use std::process::Command;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick bench instructions
  sametick bench instructions --check --json";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Fail if a field costs more than it may
    #[arg(long)]
    check: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Work {
    piece: Piece,
    rounds: u32,
}

/// One piece of work, done to 64 players a round.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Piece {
    GatherState,
    GatherShown,
    Postcard,
    EncodeUnchanged,
    EncodeChanged,
    /// The same words in records four times as long: what is left is the cost of a record.
    EncodeUnchangedLong,
    EncodeChangedLong,
    /// Two payloads of 100 bytes, each sent and received, over a connection and over bare channels.
    PacketSealed,
    PacketUnsealed,
}

const SEED: u64 = 1;
const ROUNDS: u32 = 200;

const GATHERED_MAX: f64 = 6.0;
const CHANGED_MAX: f64 = 40.0;
const UNCHANGED_MAX: f64 = 5.0;
/// Not asked for, but nothing may hide here. What a long record saves since the end of its mask is one
/// bit counts as the short one's: it costs what it did.
const GATHERED_SHOWN_MAX: f64 = 9.0;
const RECORD_MAX: f64 = 115.0;
const POSTCARD_RATIO_MIN: f64 = 2.5;
const PACKET_MAX: f64 = 6_500.0;
const PACKET_UNSEALED_MAX: f64 = 2_400.0;

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let fields = (PLAYERS * Layout::of::<Player>(Precision::State).len()) as f64;
    let state = count(Piece::GatherState)?;
    let shown = count(Piece::GatherShown)? / fields;
    let postcard = count(Piece::Postcard)?;
    let (unchanged, record) =
        split(count(Piece::EncodeUnchanged)?, count(Piece::EncodeUnchangedLong)?, fields);
    let (changed, _) =
        split(count(Piece::EncodeChanged)?, count(Piece::EncodeChangedLong)?, fields);
    let (gathered, ratio) = (state / fields, postcard / state);
    let packet = count(Piece::PacketSealed)? / 2.0;
    let unsealed = count(Piece::PacketUnsealed)? / 2.0;
    let holds = gathered <= GATHERED_MAX
        && changed <= CHANGED_MAX
        && unchanged <= UNCHANGED_MAX
        && shown <= GATHERED_SHOWN_MAX
        && record <= RECORD_MAX
        && ratio >= POSTCARD_RATIO_MIN
        && packet <= PACKET_MAX
        && unsealed <= PACKET_UNSEALED_MAX;
    if options.json {
        let mut report = Report {
            name: "instructions",
            options: json!({ "check": options.check }),
            seed: SEED,
            verified: holds,
            figures: Vec::new(),
        };
        report.add("gathered_field_instructions", gathered);
        report.add("gathered_shown_field_instructions", shown);
        report.add("changed_field_instructions", changed);
        report.add("unchanged_field_instructions", unchanged);
        report.add("encoded_record_instructions", record);
        report.add("world_gather_instructions", state);
        report.add("world_postcard_instructions", postcard);
        report.add("postcard_to_gather_ratio", ratio);
        report.add("packet_instructions", packet);
        report.add("packet_unsealed_instructions", unsealed);
        report.print_json()?;
    } else {
        print(&format!(
            "Instructions a field, 64 players of 13 fields:
  gathered, exact              {gathered:>6.1}   at most {GATHERED_MAX}
  gathered, quantised          {shown:>6.1}   at most {GATHERED_SHOWN_MAX}
  encoded, changed             {changed:>6.1}   at most {CHANGED_MAX}
  encoded, unchanged           {unchanged:>6.1}   at most {UNCHANGED_MAX}
  encoded, each record besides {record:>6.1}   at most {RECORD_MAX}
The 64 players: gathered {state:.0}, serialised with postcard {postcard:.0}
  ratio                        {ratio:>6.1}   at least {POSTCARD_RATIO_MIN}
A packet with 100 bytes, sent and received:
  sealed                       {packet:>6.0}   at most {PACKET_MAX}
  without the seal             {unsealed:>6.0}   at most {PACKET_UNSEALED_MAX}\n"
        ))?;
    }
    ensure!(holds || !options.check, "a field costs more instructions than it may");
    Ok(())
}

/// What a field costs and what a record, from the cost of all fields in short and in long records.
fn split(short: f64, long: f64, fields: f64) -> (f64, f64) {
    let records = PLAYERS as f64;
    let record = (short - long) / (records - records / LONG as f64);
    ((short - records * record) / fields, record)
}

/// How many players share a long record.
const LONG: usize = 4;

/// Instructions of one round.
fn count(piece: Piece) -> anyhow::Result<f64> {
    let (few, many) = (callgrind(piece, ROUNDS)?, callgrind(piece, 2 * ROUNDS)?);
    Ok((many - few) as f64 / f64::from(ROUNDS))
}

fn callgrind(piece: Piece, rounds: u32) -> anyhow::Result<u64> {
    let name = piece.to_possible_value().context("every piece has a name")?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().context("this program cannot be found")?)
        .args(["bench", "work", name.get_name(), &rounds.to_string()]);
    collected(&mut command)
}

/// Runs valgrind and reads what it counted.
pub(super) fn collected(valgrind: &mut Command) -> anyhow::Result<u64> {
    let output = valgrind
        .output()
        .context("valgrind is needed to count instructions; install it and try again")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {text}");
    let Some((_, counted)) = text.split_once("Collected : ") else {
        bail!("valgrind printed no count: {text}");
    };
    let digits: String = counted.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().context("valgrind printed a count that is no number")
}

pub(crate) fn work(work: &Work) -> anyhow::Result<()> {
    match work.piece {
        Piece::PacketSealed => channel::work_sealed(work.rounds),
        Piece::PacketUnsealed => channel::work_unsealed(work.rounds),
        piece => {
            work_on_values(piece, work.rounds);
            Ok(())
        }
    }
}

fn work_on_values(piece: Piece, rounds: u32) {
    let mut workload = Workload::new(SEED);
    (0..60).for_each(|_| workload.step());
    let mut players: Vec<Player> = workload.players().cloned().collect();
    match piece {
        Piece::GatherState => gather(&mut players, Precision::State, rounds),
        Piece::GatherShown => gather(&mut players, Precision::Shown, rounds),
        Piece::Postcard => serialise(&players, rounds),
        Piece::EncodeUnchanged => encode(&workload, 1, 0, rounds),
        Piece::EncodeChanged => encode(&workload, 1, 1, rounds),
        Piece::EncodeUnchangedLong => encode(&workload, LONG, 0, rounds),
        Piece::EncodeChangedLong => encode(&workload, LONG, 1, rounds),
        Piece::PacketSealed | Piece::PacketUnsealed => {}
    }
}

fn gather(players: &mut [Player], precision: Precision, rounds: u32) {
    let layout = Layout::of::<Player>(precision);
    // Records one behind the other, and room at the end for the last to be lent as a row.
    let mut records = vec![0; players.len() * layout.len() + ROW_WORDS];
    for _ in 0..rounds {
        for (index, player) in black_box(&mut *players).iter_mut().enumerate() {
            let row = records[index * layout.len()..].first_chunk_mut();
            layout.gather(player, row.expect("there is room for a row"));
        }
        black_box(&records);
    }
}

fn serialise(players: &[Player], rounds: u32) {
    let mut buffer = [0; 64];
    for _ in 0..rounds {
        for player in black_box(players) {
            let written = postcard::to_slice(player, &mut buffer);
            black_box(written.expect("a player fits"));
        }
    }
}

/// Every word differs by `change` from its base; each record holds the words of `shared` players.
fn encode(workload: &Workload, shared: usize, change: u32, rounds: u32) {
    let layouts = workload::layouts(Precision::Shown);
    let mut table = Table::default();
    workload.clone().fill(&layouts, &mut table);
    let player = &layouts[0];
    let layout = Layout::new(
        Precision::Shown,
        vec![player.words(); shared].concat(),
        player.initial().repeat(shared),
    );
    let players: Vec<&[u32]> = (0..PLAYERS).map(|slot| table.record(slot, player)).collect();
    let base: Vec<Vec<u32>> = players.chunks(shared).map(<[&[u32]]>::concat).collect();
    let mut now = base.clone();
    for (word, description) in now.iter_mut().flat_map(|words| words.iter_mut().zip(layout.words()))
    {
        *word = if *word < description.max { *word + change } else { *word - change };
    }
    let mut bits = BitWriter::fixed(1 << 16);
    for _ in 0..rounds {
        bits.clear();
        for (base, now) in black_box(&base).iter().zip(black_box(&now)) {
            delta::write(&mut bits, &layout, base, now);
        }
        black_box(&bits);
    }
}
