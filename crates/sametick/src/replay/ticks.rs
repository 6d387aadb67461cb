//! What one step was given besides the world, as bits: who came and went, what players asked for, how those who
//! shot saw the others, and what those who are trusted claimed. Each block of ticks starts from nothing.

use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::entity::{ENTITY_SLOTS_MAX, EntityId};
use crate::core::tick::{PlayerId, Tick};
use crate::schema::delta;
use crate::schema::entities::Entities;
use crate::schema::record::{Layout, ROW_WORDS};
use crate::sim::game::Game;
use crate::sim::sight::Moment;
use crate::sim::view::{Others, read_others, write_others};
use std::collections::BTreeMap;

/// How many players a tick of a recording can name in one list.
pub const PLAYERS_MAX: usize = 8192;

/// Which tick a block of ticks begins with, and how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) first: Tick,
    pub(crate) count: u32,
}

impl Stretch {
    pub(crate) const BYTES: usize = 8;

    pub(crate) fn write(self) -> [u8; Self::BYTES] {
        (u64::from(self.first.0) | u64::from(self.count) << 32).to_le_bytes()
    }

    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let both = u64::from_le_bytes(*payload.first_chunk()?);
        let (first, count) = (Tick(both as u32), (both >> 32) as u32);
        // Each takes some bits, and there is a tick after the last.
        let is_lawful = count > 0 && count as usize <= payload.len() * 8;
        first.0.checked_add(count).filter(|_| is_lawful && first.0 > 0)?;
        Some(Self { first, count })
    }

    pub(crate) fn last(self) -> Tick {
        Tick(self.first.0 + self.count - 1)
    }
}

/// What was written last in a block: what comes next is written against it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bases {
    /// Who asked for something in the last tick, and for what; no words are the initial ones.
    commands: Vec<(PlayerId, Vec<u32>)>,
    /// For which entities a player claimed a state, and the state last claimed for each.
    claimed: BTreeMap<PlayerId, Vec<(EntityId, u8)>>,
    states: BTreeMap<u32, (u8, Vec<u32>)>,
}

/// A player's claims: of which tick, and what.
pub(crate) type Claimed<E> = (PlayerId, Tick, Vec<(EntityId, E)>);

/// What players asked for; by player.
pub(crate) type Asked<C> = Vec<(PlayerId, Option<C>)>;

/// How a player saw the others.
pub(crate) type Saw = (PlayerId, Others, Moment);

/// All that one step was given.
pub(crate) struct Given<G: Game> {
    pub(crate) tick: Tick,
    /// Whether the world before it is remembered, for those who see the past.
    pub(crate) remembers: bool,
    pub(crate) claims_before: Vec<Claimed<G::Entity>>,
    pub(crate) joined: Vec<PlayerId>,
    pub(crate) left: Vec<PlayerId>,
    pub(crate) commands: Asked<G::Command>,
    pub(crate) saw: Vec<Saw>,
    pub(crate) claims_after: Vec<Claimed<G::Entity>>,
    /// The low half of the hash of the world that came of it.
    pub(crate) hash: Option<u32>,
}

/// The layouts that ticks are written with.
#[derive(Clone, Copy)]
pub(crate) struct Shapes<'a> {
    pub(crate) state: &'a [Layout],
    pub(crate) command: &'a Layout,
}

impl Bases {
    /// One claim of several; [`write_step`](Bases::write_step) and [`write_end`] end them.
    pub(crate) fn write_claim<E: Entities>(
        &mut self,
        bits: &mut BitWriter,
        layouts: &[Layout],
        usual: Tick,
        (player, of, claims): (PlayerId, Tick, &[(EntityId, E)]),
    ) {
        bits.write_bool(true);
        bits.write(u64::from(player.0), 16);
        bits.write_bool(of != usual);
        if of != usual {
            bits.write(u64::from(of.0), 32);
        }
        let names: Vec<_> = claims.iter().map(|(id, entity)| (*id, entity.kind())).collect();
        let is_same = self.claimed.get(&player) == Some(&names);
        bits.write_bool(is_same);
        if !is_same {
            bits.write(names.len() as u64, 4);
            for (id, kind) in &names {
                bits.write(u64::from(EntityId::to_word(Some(*id))), 32);
                bits.write(u64::from(*kind), 8);
            }
            self.claimed.insert(player, names);
        }
        for (id, entity) in claims {
            let layout = &layouts[usize::from(entity.kind())];
            let mut row = [0; ROW_WORDS];
            entity.clone().record(layouts, &mut row);
            let words = &row[..layout.len()];
            delta::write(bits, layout, self.state(*id, entity.kind(), layout), words);
            self.keep_state(*id, entity.kind(), words);
        }
    }

    fn read_claims<E: Entities>(
        &mut self,
        bits: &mut BitReader<'_>,
        layouts: &[Layout],
        usual: Tick,
    ) -> Result<Vec<Claimed<E>>, Malformed> {
        let mut all = Vec::new();
        while bits.read_bool() {
            let player = read_player(bits);
            let of = if bits.read_bool() { Tick(bits.read(32) as u32) } else { usual };
            if !bits.read_bool() {
                let names = (0..bits.read(4)).map(|_| read_name(bits, layouts));
                let names = names.collect::<Option<Vec<_>>>().ok_or(Malformed)?;
                self.claimed.insert(player, names);
            }
            let names = self.claimed.get(&player).cloned().ok_or(Malformed)?;
            let mut claims = Vec::new();
            for (id, kind) in names {
                let mut entity = E::default_of(kind).ok_or(Malformed)?;
                let layout = &layouts[usize::from(kind)];
                let mut row = [0; ROW_WORDS];
                let words = &mut row[..layout.len()];
                delta::read(bits, layout, self.state(id, kind, layout), words);
                if bits.failed() {
                    return Err(Malformed);
                }
                self.keep_state(id, kind, &row[..layout.len()]);
                entity.scatter(layouts, &row);
                claims.push((id, entity));
            }
            all.push((player, of, claims));
        }
        Ok(all)
    }

    /// The state last claimed for an entity.
    fn state<'a>(&'a self, id: EntityId, kind: u8, layout: &'a Layout) -> &'a [u32] {
        let known = self.states.get(&EntityId::to_word(Some(id)));
        let known = known.filter(|(of, _)| *of == kind);
        known.map_or(layout.initial(), |(_, words)| words)
    }

    fn keep_state(&mut self, id: EntityId, kind: u8, words: &[u32]) {
        let name = EntityId::to_word(Some(id));
        if self.states.len() < ENTITY_SLOTS_MAX || self.states.contains_key(&name) {
            self.states.insert(name, (kind, words.to_vec()));
        }
    }

    /// What the rules were given, after the claims of ticks before.
    pub(crate) fn write_step<G: Game>(
        &mut self,
        bits: &mut BitWriter,
        layout: &Layout,
        tick: Tick,
        (joined, left): (&[PlayerId], &[PlayerId]),
        commands: &[(PlayerId, Option<G::Command>)],
        saw: impl Iterator<Item = Saw>,
    ) {
        bits.write_bool(false);
        for players in [joined, left] {
            bits.write_bool(!players.is_empty());
            if !players.is_empty() {
                write_players(bits, players.iter().copied());
            }
        }
        self.write_commands::<G>(bits, layout, commands);
        for (player, others, moment) in saw {
            bits.write_bool(true);
            bits.write(u64::from(player.0), 16);
            write_others(bits, others);
            write_moment(bits, tick, moment);
        }
        bits.write_bool(false);
    }

    fn write_commands<G: Game>(
        &mut self,
        bits: &mut BitWriter,
        layout: &Layout,
        commands: &[(PlayerId, Option<G::Command>)],
    ) {
        // Who asks for nothing is to the rules as if not there.
        let known = || commands.iter().filter_map(|(of, command)| Some((*of, command.as_ref()?)));
        let players = || known().map(|(player, _)| player);
        let is_same = players().eq(self.commands.iter().map(|(player, _)| *player));
        bits.write_bool(is_same);
        if !is_same {
            let players: Vec<PlayerId> = players().collect();
            write_players(bits, players.iter().copied());
            self.set_players(players);
        }
        let mut row = [0; ROW_WORDS];
        for ((_, command), (_, base)) in known().zip(&mut self.commands) {
            layout.gather(&mut command.clone(), &mut row);
            let words = &row[..layout.len()];
            if base.is_empty() {
                base.extend_from_slice(layout.initial());
            }
            bits.write_bool(base != words);
            if base != words {
                delta::write(bits, layout, base, words);
                base.copy_from_slice(words);
            }
        }
    }

    fn read_commands<G: Game>(
        &mut self,
        bits: &mut BitReader<'_>,
        layout: &Layout,
    ) -> Result<Asked<G::Command>, Malformed> {
        if !bits.read_bool() {
            let players = read_players(bits)?;
            if !players.is_sorted_by(|one, next| one < next) {
                return Err(Malformed);
            }
            self.set_players(players);
        }
        if self.commands.len() > bits.bits_left() {
            return Err(Malformed);
        }
        let mut commands = Vec::with_capacity(self.commands.len());
        let mut row = [0; ROW_WORDS];
        for (player, base) in &mut self.commands {
            if bits.read_bool() {
                let known: &[u32] = if base.is_empty() { layout.initial() } else { base };
                delta::read(bits, layout, known, &mut row[..layout.len()]);
                *base = row[..layout.len()].to_vec();
            }
            let known: &[u32] = if base.is_empty() { layout.initial() } else { base };
            row[..layout.len()].copy_from_slice(known);
            if bits.failed() {
                return Err(Malformed);
            }
            let mut command = G::Command::default();
            layout.scatter(&row, &mut command);
            commands.push((*player, Some(command)));
        }
        Ok(commands)
    }

    /// Others ask for something now; who did so before keeps its words.
    fn set_players(&mut self, players: Vec<PlayerId>) {
        let before = std::mem::take(&mut self.commands);
        let mut before = before.into_iter().peekable();
        self.commands = players
            .into_iter()
            .map(|player| {
                while before.next_if(|(other, _)| *other < player).is_some() {}
                before.next_if(|(same, _)| *same == player).unwrap_or((player, Vec::new()))
            })
            .collect();
    }

    /// All that was written of a tick.
    pub(crate) fn read<G: Game>(
        &mut self,
        bits: &mut BitReader<'_>,
        shapes: Shapes<'_>,
        tick: Tick,
    ) -> Result<Given<G>, Malformed> {
        let remembers = bits.read_bool();
        let claims_before = self.read_claims(bits, shapes.state, Tick(tick.0 - 1))?;
        let mut list = || if bits.read_bool() { read_players(bits) } else { Ok(Vec::new()) };
        let (joined, left) = (list()?, list()?);
        let commands = self.read_commands::<G>(bits, shapes.command)?;
        let mut saw = Vec::new();
        while bits.read_bool() {
            saw.push((read_player(bits), read_others(bits), read_moment(bits, tick)));
        }
        let claims_after = self.read_claims(bits, shapes.state, tick)?;
        let hash = bits.read_bool().then(|| bits.read(32) as u32);
        let given = Given {
            tick,
            remembers,
            claims_before,
            joined,
            left,
            commands,
            saw,
            claims_after,
            hash,
        };
        if bits.failed() { Err(Malformed) } else { Ok(given) }
    }
}

/// What is written of a tick first.
pub(crate) fn write_begin(bits: &mut BitWriter, remembers: bool) {
    bits.write_bool(remembers);
}

/// What is written of a tick last, after the claims of this tick.
pub(crate) fn write_end(bits: &mut BitWriter, hash: Option<u64>) {
    bits.write_bool(false);
    bits.write_bool(hash.is_some());
    if let Some(hash) = hash {
        bits.write(hash & 0xffff_ffff, 32);
    }
}

fn write_players(bits: &mut BitWriter, players: impl ExactSizeIterator<Item = PlayerId>) {
    assert!(players.len() <= PLAYERS_MAX, "more players than a server has places");
    bits.write(players.len() as u64, 16);
    players.for_each(|player| bits.write(u64::from(player.0), 16));
}

fn read_players(bits: &mut BitReader<'_>) -> Result<Vec<PlayerId>, Malformed> {
    let count = bits.read(16) as usize;
    if count > PLAYERS_MAX || count * 16 > bits.bits_left() {
        return Err(Malformed);
    }
    Ok((0..count).map(|_| read_player(bits)).collect())
}

fn read_player(bits: &mut BitReader<'_>) -> PlayerId {
    PlayerId(bits.read(16) as u16)
}

fn read_name(bits: &mut BitReader<'_>, layouts: &[Layout]) -> Option<(EntityId, u8)> {
    let id = EntityId::from_word(bits.read(32) as u32)?;
    let kind = bits.read(8) as u8;
    (usize::from(kind) < layouts.len()).then_some((id, kind))
}

/// A moment is written as clients tell it, unless it is too far back for that.
fn write_moment(bits: &mut BitWriter, tick: Tick, moment: Moment) {
    let is_usual = moment.is_tellable(tick);
    bits.write_bool(is_usual);
    if is_usual {
        return moment.write(bits, tick, None);
    }
    [moment.newest, moment.before, moment.from, moment.to]
        .iter()
        .for_each(|tick| bits.write(u64::from(tick.0), 32));
    [moment.part, moment.ahead].iter().for_each(|part| bits.write(u64::from(*part), 16));
}

fn read_moment(bits: &mut BitReader<'_>, tick: Tick) -> Moment {
    if bits.read_bool() {
        return Moment::read(bits, tick, None);
    }
    let [newest, before, from, to] = [(); 4].map(|()| Tick(bits.read(32) as u32));
    let [part, ahead] = [(); 2].map(|()| bits.read(16) as u16);
    Moment { newest, before, from, to, part, ahead }
}
