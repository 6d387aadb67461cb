//! What goes through the compact codec besides snapshots, what players ask for and what happens, and who is attached
//! to whom: it comes back, damage is refused or is exactly what it says, and it is worth its trouble.

use sametick::bits::BitWriter;
use sametick::codec::compact::{Compact, Lineage, Tables, train};
use sametick::coded::{Named, Streams};
use sametick::delta;
use sametick::{Dice, EntityId, Fields, Head, Layout, Networked, Precision, Table, Tick};

/// What a player asks for.
#[derive(Clone, Debug, Default)]
struct Wish {
    aim: f32,
    pitch: f32,
    walk: u8,
    fires: bool,
}

impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 14);
        f.angle("pitch", &mut self.pitch, 12);
        f.int("walk", &mut self.walk, 0..=8);
        f.bool("fires", &mut self.fires);
    }
}

fn layout() -> Layout {
    Layout::of::<Wish>(Precision::State)
}

/// Messages of a player who turns steadily, the newest command of each first.
fn messages(seed: u64) -> Vec<Vec<Vec<u32>>> {
    let (mut dice, layout) = (Dice::new(seed, 0), layout());
    let mut wish = Wish::default();
    let mut speed = 0.02;
    let mut all: Vec<Vec<u32>> = Vec::new();
    for _ in 0..400 {
        if dice.below(25) == 0 {
            speed = dice.below(9) as f32 * 0.01 - 0.04;
            wish.walk = dice.below(9) as u8;
        }
        wish.aim += speed;
        wish.fires = dice.below(10) == 0;
        all.push(layout.record(&wish));
    }
    let newest_first = |window: &[Vec<u32>]| window.iter().rev().cloned().collect();
    all.windows(6).map(newest_first).collect()
}

fn named(seed: u64, index: usize) -> Named {
    let mut dice = Dice::new(seed, index as u64);
    Named {
        tick: Tick(70_000 + index as u32),
        entity: EntityId::new(dice.below(4096) as usize, 1 + dice.below(300) as u32)
            .expect("a name"),
        ordinal: dice.below(3) as u8,
        is_saved: dice.below(5) == 0,
    }
}

fn tables() -> [Tables; 2] {
    let messages: Vec<_> = (1..4).flat_map(messages).collect();
    let events: Vec<_> = messages.iter().map(|message| vec![message[0].clone()]).collect();
    let built_in = Tables::built_in(&[]);
    let layout = layout();
    let trained = train::train_streams(built_in.clone(), (&layout, &messages), (&layout, &events));
    let again = Tables::from_bytes(&trained.to_bytes()).expect("they were just written");
    assert_eq!(again.hash(), trained.hash());
    [built_in, again]
}

#[test]
fn commands_and_events_come_back_and_take_less_room_than_plain() {
    let layout = layout();
    for (tables, share) in tables().iter().zip([1.0, 0.6]) {
        let mut streams = Streams::new(tables, &layout, &layout);
        let (mut coded_bytes, mut plain_bytes) = (0, 0);
        for (index, message) in messages(9).iter().enumerate() {
            let coded = streams.write_commands(message);
            assert_eq!(streams.read_commands(&coded).expect("it was written so"), message);
            coded_bytes += coded.len();
            let mut bits = BitWriter::growing(1 << 12);
            delta::write_sequence(&mut bits, &layout, message.iter().map(Vec::as_slice));
            plain_bytes += bits.bits_written().div_ceil(8);
            let named = named(9, index);
            let coded = streams.write_event(named, &message[0]);
            let newest = Tick(named.tick.0 + 30);
            let (back, record) = streams.read_event(&coded, newest).expect("it was written so");
            assert_eq!((back, record), (named, &message[0][..]));
        }
        let (coded, plain) = (coded_bytes as f64, plain_bytes as f64);
        assert!(coded < share * plain, "{coded} bytes of {plain}");
    }
}

#[test]
fn events_that_are_told_together_come_back_and_take_less_room_than_each_alone() {
    let layout = layout();
    for tables in tables() {
        let mut streams = Streams::new(&tables, &layout, &layout);
        let (mut alone, mut together, mut is_split) = (0, 0, false);
        for (index, message) in messages(3).iter().enumerate() {
            let mut events: Vec<(Named, Vec<u32>)> = Vec::new();
            for (back, record) in message.iter().enumerate() {
                let named = Named { is_saved: false, ..named(3, index + back / 2) };
                events.push((named, record.clone()));
            }
            let all = events.iter().map(|(named, record)| (*named, &record[..]));
            let (coded, count) = streams.write_events(all.clone(), usize::MAX);
            assert_eq!(count, events.len());
            // In several messages, if one would be too long.
            let (first, count) = streams.write_events(all, 0);
            assert!((1..=events.len()).contains(&count) && first.len() <= coded.len());
            let read = streams.read_events(&first, events[0].0.tick);
            assert_eq!(read.as_deref(), Ok(&events[..count]));
            is_split |= count < events.len();
            let newest = Tick(events[0].0.tick.0 + 20);
            assert_eq!(streams.read_events(&coded, newest).as_ref(), Ok(&events));
            together += coded.len();
            let each =
                events.iter().map(|(named, record)| streams.write_event(*named, record).len());
            alone += each.sum::<usize>();
            for at in 0..coded.len() {
                let mut damaged = coded.clone();
                damaged[at] ^= 0x11;
                if let Ok(read) = streams.read_events(&damaged, newest) {
                    let again = read.iter().map(|(named, record)| (*named, &record[..]));
                    let (again, _) = streams.write_events(again, usize::MAX);
                    assert_eq!(again, damaged, "two messages mean the same");
                }
            }
        }
        assert!(10 * together < 7 * alone, "{together} bytes together, {alone} alone");
        assert!(is_split, "none was too long");
    }
}

#[test]
fn damage_to_commands_and_events_is_refused_or_is_exactly_what_it_says() {
    let layout = layout();
    for tables in tables() {
        let mut streams = Streams::new(&tables, &layout, &layout);
        let mut refused = [0; 2];
        for (index, message) in messages(5).iter().enumerate().step_by(37) {
            let commands = streams.write_commands(message);
            let named = named(5, index);
            let event = streams.write_event(named, &message[0]);
            for (which, whole) in [commands, event].into_iter().enumerate() {
                for (at, change) in (0..whole.len()).flat_map(|at| [1, 0x10, 0xff].map(|c| (at, c)))
                {
                    let mut damaged = whole.clone();
                    damaged[at] ^= change;
                    let again = if which == 0 {
                        let read = streams.read_commands(&damaged).map(<[_]>::to_vec);
                        read.map(|records| streams.write_commands(&records))
                    } else {
                        let read = streams.read_event(&damaged, named.tick);
                        let read = read.map(|(named, record)| (named, record.to_vec()));
                        read.map(|(named, record)| streams.write_event(named, &record))
                    };
                    match again {
                        Ok(again) => assert_eq!(again, damaged, "two messages mean the same"),
                        Err(_) => refused[which] += 1,
                    }
                }
            }
        }
        assert!(refused.iter().all(|count| *count > 0), "nothing was refused: {refused:?}");
    }
}

/// Carries a flag, or not.
#[derive(Clone, Debug, Default)]
struct Runner {
    place: [f32; 3],
}

#[derive(Clone, Debug, Default)]
struct Flag {
    place: [f32; 3],
    carrier: Option<EntityId>,
}

/// The same without the hint.
#[derive(Clone, Debug, Default)]
struct LooseFlag(Flag);

impl Networked for Runner {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place).shown_each(-50.0..=50.0, 0.01);
        f.near("place", 200);
    }
}

impl Networked for Flag {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place).shown_each(-50.0..=50.0, 0.01);
        f.entity("carrier", &mut self.carrier);
        f.near("place", 200);
        f.attached_to("carrier");
    }
}

impl Networked for LooseFlag {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.0.place).shown_each(-50.0..=50.0, 0.01);
        f.entity("carrier", &mut self.0.carrier);
        f.near("place", 200);
    }
}

const RUNNERS: usize = 8;

/// Hands out snapshots of runners who wander wildly, half of them with flags.
fn wander(layouts: &[Layout], seed: u64, mut look: impl FnMut(&Lineage<'_>, &Table)) {
    let mut dice = Dice::new(seed, 0);
    let mut runners = vec![Runner::default(); RUNNERS];
    let mut past = [(); 3].map(|()| Table::default());
    for _ in 0..200 {
        let mut now = Table::default();
        for (slot, runner) in runners.iter_mut().enumerate() {
            for part in &mut runner.place[..2] {
                *part = (*part + dice.below(400) as f32 * 0.01 - 2.0).clamp(-45.0, 45.0);
            }
            let id = EntityId::new(slot, 1).expect("a slot");
            now.gather(Head { id, kind: 0 }, &layouts[0], runner);
            if slot % 2 == 0 {
                let [x, y, z] = runner.place;
                let mut flag = Flag { place: [x, y, z + 1.5], carrier: Some(id) };
                let id = EntityId::new(RUNNERS + slot, 1).expect("a slot");
                now.gather(Head { id, kind: 1 }, &layouts[1], &mut flag);
            }
        }
        let [base, before, earlier] = &past;
        let spans = [1; 3];
        look(&Lineage { base, before: Some(before), earlier: Some(earlier), spans }, &now);
        past.rotate_right(1);
        past[0] = now;
    }
}

#[test]
fn what_is_attached_goes_with_its_anchor_and_costs_next_to_nothing() {
    let shown = Precision::Shown;
    let runner = Layout::of::<Runner>(shown);
    let alone = wandering_bytes(&[runner.clone(), Layout::of::<Flag>(shown)]);
    let loose = wandering_bytes(&[runner, Layout::of::<LooseFlag>(shown)]);
    // Eight runners and four flags: without the hint a flag costs what a runner does.
    assert!(alone < 0.8 * loose, "{alone} bytes with the hint, {loose} without");
}

/// Of the built-in tables; what is written comes back.
fn wandering_bytes(layouts: &[Layout]) -> f64 {
    let (mut codec, mut back) = (Compact::new(Tables::built_in(layouts)), Table::default());
    let mut sum = 0;
    wander(layouts, 3, |lineage, now| {
        let message = codec.write(layouts, lineage, now).to_vec();
        sum += message.len();
        assert_eq!(codec.read(layouts, lineage, &message, &mut back), Ok(()));
        assert!(back.looks_like(now, layouts));
    });
    sum as f64 / 200.0
}
