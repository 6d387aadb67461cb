//! A depot: goods of some length, as many as are ordered, and a keeper for each player, which counts its steps. Some
//! goods may be stirred: they change from tick to tick.

use sametick::Wire;
use sametick::bits::BitWriter;
use sametick::codec::compact::Tables;
use sametick::codec::plain;
use sametick::{Fields, Game, List, Networked, NoEvent, PlayerId, Table, Turn, World};

/// How long each of the goods is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goods {
    Bytes8,
    Bytes64,
    Bytes256,
    Bytes1000,
}

/// What is in the depot, and when it comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stock {
    pub(crate) count: usize,
    pub(crate) goods: Goods,
    pub(crate) from_tick: u32,
    pub(crate) per_tick: usize,
    /// In each tick one in so many changes; none if it is zero.
    pub(crate) stirred_one_in: usize,
}

impl Stock {
    /// The tick in which the last of the goods come.
    pub(crate) fn complete_at(&self) -> u32 {
        self.from_tick + self.count.div_ceil(self.per_tick) as u32
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Steps {
    pub(crate) walk: bool,
}

impl Networked for Steps {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bool("walk", &mut self.walk);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Keeper {
    pub(crate) steps: u32,
}

impl Networked for Keeper {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.bits("steps", &mut self.steps, 32);
    }
}

/// Goods of so many words of 4 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Load<const WORDS: usize> {
    pub(crate) words: List<u32, WORDS>,
}

impl<const WORDS: usize> Load<WORDS> {
    fn new(name: u32) -> Self {
        let word = |index: u32| (name * 257 + index + 1).wrapping_mul(2_654_435_761);
        Self { words: (0..WORDS as u32).map(word).collect() }
    }
}

impl<const WORDS: usize> Networked for Load<WORDS> {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.list("words", &mut self.words, |f, word| {
            f.bits("word", word, 32);
        });
    }
}

pub(crate) type Small = Load<2>;
pub(crate) type Medium = Load<16>;
pub(crate) type Large = Load<64>;
pub(crate) type Huge = Load<250>;

sametick::entities! { pub(crate) enum Entity { Keeper, Small, Medium, Large, Huge } }

pub(crate) struct Depot;

impl Game for Depot {
    type Entity = Entity;
    type Command = Steps;
    type Event = NoEvent;
    type Content = Stock;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Keeper::default());
        }
        for (player, _) in turn.commands() {
            if let Some((_, keeper)) = world.owned_mut::<Keeper>(player) {
                keeper.steps += 1;
            }
        }
        let stock = *turn.content();
        let ticks = (turn.tick().0 + 1).saturating_sub(stock.from_tick) as usize;
        let there = |ticks: usize| (ticks * stock.per_tick).min(stock.count) as u32;
        for name in there(ticks.saturating_sub(1))..there(ticks) {
            match stock.goods {
                Goods::Bytes8 => _ = world.spawn(Small::new(name)),
                Goods::Bytes64 => _ = world.spawn(Medium::new(name)),
                Goods::Bytes256 => _ = world.spawn(Large::new(name)),
                Goods::Bytes1000 => _ = world.spawn(Huge::new(name)),
            }
        }
        if stock.stirred_one_in > 0 {
            for (id, small) in world.all_mut::<Small>() {
                if id.slot().is_multiple_of(stock.stirred_one_in) {
                    small.words[0] = small.words[0].wrapping_add(1);
                }
            }
        }
    }

    /// All is in the rules: both ends have the same.
    fn content_name(stock: &Stock) -> u64 {
        stock.count as u64
    }
}

/// Whether one world has all goods of another, and nothing of them differs.
pub(crate) fn has_all(here: &World<Entity>, there: &World<Entity>) -> bool {
    let mut goods = there.entities();
    goods.all(|(id, entity)| match entity {
        Entity::Keeper(_) => true,
        Entity::Small(load) => here.get::<Small>(id) == Some(load),
        Entity::Medium(load) => here.get::<Medium>(id) == Some(load),
        Entity::Large(load) => here.get::<Large>(id) == Some(load),
        Entity::Huge(load) => here.get::<Huge>(id) == Some(load),
    })
}

/// How many ticks ago the oldest of small goods was as it is known, where each counts the ticks.
pub(crate) fn oldest(here: &World<Entity>, there: &World<Entity>) -> u32 {
    let ages = there
        .all::<Small>()
        .filter_map(|(id, now)| Some(now.words[0].wrapping_sub(here.get::<Small>(id)?.words[0])));
    ages.max().unwrap_or(0)
}

/// What one plain snapshot of a world takes for somebody that has nothing.
pub(crate) fn bytes_of(world: &World<Entity>, stock: &Stock, viewer: PlayerId) -> u64 {
    let (wire, mut view) = (Wire::of::<Depot>(), Table::default());
    wire.view::<Depot>(world, stock, viewer, &mut view);
    let mut bits = BitWriter::growing(8 << 20);
    plain::write(&mut bits, wire.layouts(), &Table::default(), &view);
    bits.finish().expect("it fits").len() as u64
}

pub(crate) fn tables() -> Tables {
    Tables::built_in(Wire::of::<Depot>().layouts())
}
