//! The same promises with compact snapshots: nobody sees anything else than it would see of plain ones.

use super::*;
use crate::codec::compact::{Compact, Lineage, Tables, train};
use crate::codec::{Agreed, ByLoad};
use crate::replication::client::received::ReceivedPart;
use crate::replication::messages::coded::part::COMPACT;
use crate::replication::wire::Wire;
use std::sync::Arc;

pub(super) fn coder(wire: &WireLayouts) -> Compact {
    Compact::new(Tables::built_in(wire.all()))
}

/// Reads a part of which it is known that it can be read.
pub(super) fn read<'a>(
    tables: &'a mut ServerTables,
    coder: &mut Compact,
    wire: &WireLayouts,
    part: &[u8],
    is_compact: bool,
) -> ReceivedPart<'a> {
    let mut bits = BitReader::new(part);
    if is_compact && part[0] & COMPACT != 0 {
        let read = tables.read_compact(part, (coder, wire.all()), 0, |_, _| Ok(()), None);
        return read.expect("it is whole").expect("its base is there").2;
    }
    let mut said = Said::default();
    if is_compact {
        // As the test's own head has it.
        said.tick = (bits.read(40) >> 8) as u32;
    }
    let read = tables.read(bits, wire.all(), said);
    read.expect("it is whole").expect("its base is there")
}

/// Tables that were learned from a short match of two runners.
fn trained() -> Arc<Tables> {
    let mut simulation = Simulation::new(77, 2, true);
    let wire = Wire::of::<Yard>();
    let mut views = vec![Vec::new(); 2];
    for _ in 0..200 {
        for _ in 0..50 {
            simulation.step();
            simulation.now += Span::millis(1);
        }
        for (client, views) in views.iter_mut().enumerate() {
            let mut table = Table::default();
            let viewer = PlayerId(client as u16);
            wire.view::<Yard>(&simulation.server.world, &(), viewer, &mut table);
            views.push(table);
        }
    }
    let layouts = wire.layouts().to_vec();
    Arc::new(train::train(&layouts, &mut |learn| {
        for views in &views {
            for four in views.windows(4) {
                let [earlier, before, base, now] = four else { continue };
                let spans = [3; 3];
                let lineage = Lineage { base, before: Some(before), earlier: Some(earlier), spans };
                learn(&lineage, now);
            }
        }
    }))
}

fn built_in() -> Arc<Tables> {
    Arc::new(Tables::built_in(Wire::of::<Yard>().layouts()))
}

/// A match on a server with tables, followed by clients who have some or none.
fn simulation(
    seed: u64,
    clients: u16,
    servers: &Arc<Tables>,
    theirs: Option<&Arc<Tables>>,
) -> Simulation {
    let mut server = SnapshotServer::<Yard>::new((), seed, Rates::default(), Time::ZERO);
    server.use_tables(Arc::clone(servers)).expect("they are of this game");
    Simulation::with(server, seed, clients, |welcome| {
        SnapshotClient::with_tables(welcome, (), View::default(), Time::ZERO, Some(theirs))
            .expect("a lawful welcome")
    })
}

fn compact_under_way(simulation: &Simulation) -> (usize, usize) {
    let to_clients = simulation.under_way.iter().filter(|flight| flight.0.2.is_some());
    let (compact, plain): (Vec<_>, Vec<_>) =
        to_clients.partition(|flight| flight.0.4[0] & COMPACT != 0);
    (compact.len(), plain.len())
}

#[test]
fn a_client_of_compact_snapshots_has_what_the_server_showed_it_at_every_tick() {
    let trained = trained();
    for seed in 0..12 {
        let tables = if seed % 2 == 0 { built_in() } else { Arc::clone(&trained) };
        let mut simulation = simulation(seed, 3, &tables, Some(&tables));
        simulation.loss = [0.0, 0.1, 0.3][seed as usize % 3];
        simulation.jitter_micros = 30_000 * (seed / 2 % 2);
        simulation.run(20);
        let checked = simulation.checked;
        assert!(checked > 200, "seed {seed}: {checked} snapshots were checked");
        assert!(compact_under_way(&simulation).0 > 0, "seed {seed}: all are plain");
    }
}

#[test]
fn a_match_over_a_bad_line_gives_exactly_the_worlds_that_plain_gives() {
    let trained = trained();
    for seed in 0..4 {
        let mut plain = Simulation::new(seed, 3, true);
        let mut compact = simulation(seed, 3, &trained, Some(&trained));
        for simulation in [&mut plain, &mut compact] {
            simulation.seen = Some(BTreeMap::new());
            simulation.loss = 0.1 * seed as f64;
            simulation.jitter_micros = 20_000;
            simulation.run(20);
        }
        assert!(compact_under_way(&compact).0 > compact_under_way(&compact).1, "seed {seed}");
        let layouts = Layouts::of::<Entity>();
        let [one, other] = [&plain, &compact].map(|of| of.server.world.hash(&layouts));
        assert_eq!(one, other, "seed {seed}");
        let [plain, compact] = [plain, compact].map(|simulation| simulation.seen.unwrap());
        assert!(plain.len() > 500, "seed {seed}: {} snapshots", plain.len());
        assert_eq!(plain, compact, "seed {seed}");
    }
}

#[test]
fn a_budget_too_small_for_all_makes_progress_with_everyone_in_compact_snapshots_too() {
    let tables = built_in();
    let mut simulation = simulation(7, 3, &tables, Some(&tables));
    simulation.budget_bytes = 120;
    simulation.run(30);
    let crates = simulation.clients[0].snapshot.all::<Crate>().count();
    assert_eq!(crates, usize::from(CRATES), "all have come at last");
}

#[test]
fn who_comes_into_sight_of_compact_snapshots_is_shown_as_it_is_and_in_its_turns() {
    for seed in 1..=4 {
        what_comes_into_sight_is_shown_as_it_is(seed, (0.0, usize::MAX / 16), Some(1100));
        what_comes_into_sight_is_shown_as_it_is(seed, (0.1, usize::MAX / 16), Some(1100));
        what_comes_into_sight_is_shown_as_it_is(seed, (0.1, 700), Some(1100));
        what_comes_into_sight_is_shown_as_it_is(seed, (0.1, 300), Some(1100));
        // In many parts, plain ones among them; who has no room in its chunk's waits.
        what_comes_into_sight_is_shown_as_it_is(seed, (0.1, usize::MAX / 16), Some(90));
    }
}

#[test]
fn who_has_other_tables_or_none_is_told_why_and_gets_plain_snapshots() {
    let (trained, built_in) = (trained(), built_in());
    let wanted = trained.hash();
    for (theirs, ours) in [(None, None), (Some(&built_in), Some(built_in.hash()))] {
        let mut simulation = simulation(5, 2, &trained, theirs);
        simulation.run(5);
        let agreed = simulation.clients[0].agreed;
        assert_eq!(agreed, Agreed::Refused { wanted, ours });
        assert!(agreed.to_string().contains(&format!("{wanted:016x}")), "{agreed}");
        assert!(simulation.checked > 100);
        assert_eq!(compact_under_way(&simulation).0, 0);
    }
    // Who asks for plain ones is told that too.
    let mut server = SnapshotServer::<Yard>::new((), 5, Rates::default(), Time::ZERO);
    server.use_tables(Arc::clone(&trained)).expect("they are of this game");
    let welcome = server.join(PlayerId(0));
    let plain =
        SnapshotClient::<Yard>::with_tables(&welcome, (), View::default(), Time::ZERO, None);
    let agreed = plain.expect("a lawful welcome").agreed;
    assert_eq!(agreed, Agreed::Declined { offered: wanted });
    // What is built in need not be brought.
    let simulation = simulation(5, 1, &built_in, None);
    assert_eq!(simulation.clients[0].agreed, Agreed::Compact { tables: built_in.hash() });
}

#[test]
fn tables_of_another_game_are_refused_by_the_server() {
    let mut server = SnapshotServer::<Yard>::new((), 1, Rates::default(), Time::ZERO);
    let layouts = &Wire::of::<Yard>().layouts()[..1].to_vec();
    assert!(server.use_tables(Arc::new(Tables::built_in(layouts))).is_err());
    assert!(server.teller.is_none());
}

#[test]
fn a_damaged_compact_snapshot_that_is_refused_moves_nothing() {
    let trained = trained();
    let mut simulation = simulation(11, 2, &trained, Some(&trained));
    simulation.run(3);
    let messages: Vec<(usize, Vec<u8>)> = simulation
        .under_way
        .iter()
        .filter_map(|flight| Some((flight.0.2?, flight.0.4.clone())))
        .filter(|(_, message)| message[0] & COMPACT != 0)
        .collect();
    assert!(!messages.is_empty());
    let (mut dice, mut refused) = (Dice::new(13, 0), 0);
    for round in 0..20_000 {
        let (client, message) = &messages[round % messages.len()];
        let mut damaged = message.clone();
        for _ in 0..=dice.below(3) {
            let bit = 8 + dice.below(8 * (damaged.len() as u64 - 1)) as usize;
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        damaged.truncate(damaged.len() - dice.below(4).min(damaged.len() as u64 - 1) as usize);
        let client = &mut simulation.clients[*client];
        let layouts = Layouts::of::<Entity>();
        let state = |client: &mut SnapshotClient<Yard>| {
            let [told, predicted] = [&client.snapshot, client.predicted()];
            (told.hash(&layouts), predicted.hash(&layouts), client.tables_kept())
        };
        let before = state(client);
        if client.read(simulation.now, simulation.delay, &damaged).is_err() {
            refused += 1;
            assert_eq!(state(client), before, "round {round}");
        }
    }
    assert!(refused > 2_000, "{refused} of 20000 were refused");
}

#[test]
fn a_server_that_changes_its_codec_with_its_load_shows_the_same_at_every_tick() {
    let tables = built_in();
    let length = Rates::default().tick_length;
    let mut simulation = simulation(3, 3, &tables, Some(&tables));
    simulation.loss = 0.1;
    let mut kinds = [0, 0];
    for second in 0..12 {
        let share = if second % 3 == 0 { 9 } else { 1 };
        // Calm for long enough, so that each second changes it.
        let mut choice = ByLoad::default();
        (0..6).for_each(|_| choice = choice.after(length * share / 10, length));
        simulation.server.by_load = Some(choice);
        assert_eq!(simulation.server.sends_compact(), share == 1);
        simulation.run(1);
        let (compact, plain) = compact_under_way(&simulation);
        kinds = [kinds[0] + compact, kinds[1] + plain];
    }
    assert!(simulation.checked > 300, "{} snapshots were checked", simulation.checked);
    assert!(kinds.iter().all(|count| *count > 3), "{kinds:?} compact and plain under way");
}

#[test]
fn a_damaged_coded_message_of_a_client_is_refused_or_says_exactly_what_it_says() {
    use crate::Layout;
    use crate::replication::messages::coded::asked::{Around, Asked};
    use crate::replication::messages::coded::stream::Streams;
    use crate::sim::sight::Moment;
    use crate::sim::view::{Interpolation, Others};
    let layout = Layout::of::<Wish>(Precision::State);
    let mut streams = Streams::new(&built_in(), &layout, &layout);
    let mut dice = Dice::new(17, 0);
    let (mut refused, mut bytes) = (0, 0);
    for round in 0..400u32 {
        let newest = Tick(5_000 + round);
        let count = 1 + dice.below(7) as usize;
        let moment = |back: u32| {
            let of = newest.0 - back;
            let from = of / 3 * 3 - 12;
            let part = (of % 3 * 85) as u16;
            Moment {
                newest: Tick(from + 6),
                from: Tick(from),
                to: Tick(from + 3),
                part,
                ..Moment::default()
            }
        };
        let tells = round % 3 > 0;
        let asked = Asked {
            every: (round % 5) as u8,
            wants_commands: round % 7 == 0,
            foresees: round % 13 > 0,
            decoded: Decoded { newest: u64::from(40 + round), before: dice.below(64) | 1 },
            others: tells.then_some(Others::Interpolated(Interpolation::HISTORY)),
            claims: (round % 11 == 0).then(|| (vec![0b1011], 4)),
            commands: Some((newest, count)),
            moments: (0..count as u32).filter(|_| tells).map(moment).collect(),
        };
        let records = vec![layout.record(&Wish::default()); count];
        let around = Around { part: asked.decoded.newest + 9, tick: Tick(newest.0 - 7) };
        let message = streams.write_message(COMPACT | 1, asked.clone(), &records);
        bytes += message.len();
        let (read, back) = streams.read_message(&message[1..], &around).expect("it was written so");
        assert_eq!((read, back), (asked, &records[..]), "round {round}");
        for at in 1..message.len() {
            let mut damaged = message.clone();
            damaged[at] ^= 1 << dice.below(8);
            let read = streams.read_message(&damaged[1..], &around);
            let Ok((asked, records)) = read.map(|(asked, records)| (asked, records.to_vec()))
            else {
                refused += 1;
                continue;
            };
            let again = streams.write_message(COMPACT | 1, asked, &records);
            assert_eq!(again, damaged, "round {round}: two messages mean the same");
        }
    }
    assert!(refused > 300, "{refused} were refused");
    assert!(bytes < 400 * 24, "{bytes} bytes");
}
