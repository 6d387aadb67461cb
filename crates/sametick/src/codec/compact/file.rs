//! Tables as a file: written once by training, read by every server and client, refused when damaged.

use super::plan::{Mode, NONE, Plan};
use super::range::{CHANCE_MAX, CHANCE_MIN};
use super::tables::{General, KindTables, Tables, WordCode, WordTables};
use super::tree::{
    CLASSES, DETAIL_BITS_MAX, DETAIL_WORDS, FEATURES, FlagModel, INPUTS, LEAF_WORDS, LEAVES_MAX,
    Node, NumberModel, Regression, Tree, UNSEEN,
};
use crate::codec::compact::tables::{TRAINED_ON_BYTES_MAX, TablesError};
use crate::codec::plain::KINDS_MAX;
use crate::schema::record::{ROW_WORDS, mix};

const MAGIC: [u8; 4] = *b"STCT";
/// Tables of another version are refused: the walk they were trained for was another.
pub const TABLES_VERSION: u16 = 3;
/// Longer files are refused unread.
pub const TABLES_BYTES_MAX: usize = 1 << 24;

/// Weights are smaller, so that no sum of products overflows.
const WEIGHT_MAX: i32 = 1 << 27;

impl Tables {
    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Out(Vec::new());
        out.0.extend(MAGIC);
        out.u16(TABLES_VERSION);
        let trained_on = self.trained_on.as_bytes();
        out.u16(trained_on.len() as u16);
        out.0.extend(trained_on);
        out.u16(self.kinds.len() as u16);
        self.kinds.iter().for_each(|kind| out.kind(kind));
        out.general(&self.general);
        for stream in &self.streams {
            out.u8(u8::from(stream.is_some()));
            stream.iter().for_each(|stream| out.kind(stream));
        }
        let sum = hash(&out.0);
        out.0.extend(sum.to_le_bytes());
        out.0
    }

    /// Reads a file; whatever is in it, what comes back is safe to code with.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TablesError> {
        if bytes.len() < MAGIC.len() || bytes[..MAGIC.len()] != MAGIC {
            return Err(TablesError::Foreign);
        }
        let mut input = In { bytes: &bytes[MAGIC.len()..] };
        let version = input.u16().ok_or(TablesError::Damaged)?;
        if version != TABLES_VERSION {
            return Err(TablesError::Version(version));
        }
        let (body, sum) = bytes.split_last_chunk().ok_or(TablesError::Damaged)?;
        if bytes.len() > TABLES_BYTES_MAX || hash(body) != u64::from_le_bytes(*sum) {
            return Err(TablesError::Damaged);
        }
        let tables = input.tables().ok_or(TablesError::Damaged)?;
        if input.bytes.len() == sum.len() {
            Ok(tables.compile())
        } else {
            Err(TablesError::Damaged)
        }
    }

    /// The number that names these tables: two ends that have the same mean the same by every bit.
    pub fn hash(&self) -> u64 {
        let bytes = self.to_bytes();
        hash(&bytes[..bytes.len() - size_of::<u64>()])
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    });
    words.fold(bytes.len() as u64, mix)
}

struct Out(Vec<u8>);

impl Out {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }
    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn kind(&mut self, kind: &KindTables) {
        self.plan(&kind.plan);
        self.flags(&kind.changed);
        self.flags(&kind.rare);
        kind.turns.iter().for_each(|turn| self.regression(turn));
        for word in &kind.words {
            self.regression(&word.regression);
            self.numbers(&word.numbers);
            self.flags(&word.on_grid);
        }
    }

    fn plan(&mut self, plan: &Plan) {
        self.0.extend(plan.fingerprint.to_le_bytes());
        self.u16(plan.modes.len() as u16);
        for mode in &plan.modes {
            match *mode {
                Mode::Integer { low } => {
                    self.u8(0);
                    self.u32(low.cast_unsigned());
                }
                Mode::Wraps { bits } => {
                    self.u8(1);
                    self.u8(bits);
                }
                Mode::Float { shift, times } => {
                    self.u8(2);
                    self.u8(shift);
                    self.u8(times);
                }
            }
        }
        self.0.extend(&plan.rates);
        self.0.extend(&plan.order);
        self.u16(plan.lively);
        self.0.extend([
            plan.place,
            plan.rotation,
            plan.tags[0],
            plan.tags[1],
            u8::from(plan.leads),
            plan.anchor,
        ]);
        self.u32(plan.radius);
    }

    fn general(&mut self, general: &General) {
        let General { more_chunks, same_sight, in_sight, strangers, stranger, generation, kind } =
            general;
        for flags in [more_chunks, same_sight, in_sight, strangers, stranger] {
            self.flags(flags);
        }
        self.numbers(generation);
        self.numbers(kind);
    }

    fn tree(&mut self, tree: &Tree) {
        self.u16(tree.nodes().len() as u16);
        for node in tree.nodes() {
            self.u8(node.feature);
            self.u16(node.next);
            if node.feature != Node::LEAF {
                self.u32(node.threshold.cast_unsigned());
            }
        }
    }

    fn flags(&mut self, model: &FlagModel) {
        self.tree(&model.tree);
        model.chances.iter().for_each(|chance| self.u16(*chance));
    }

    fn regression(&mut self, model: &Regression) {
        self.tree(&model.tree);
        model.weights.iter().flatten().for_each(|weight| self.u32(weight.cast_unsigned()));
    }

    fn numbers(&mut self, model: &NumberModel) {
        self.tree(&model.tree);
        let used = |leaf: &[u16; LEAF_WORDS]| {
            leaf[1..CLASSES].iter().rposition(|chance| *chance != UNSEEN).map_or(0, |last| last + 1)
        };
        let used = model.leaves.iter().map(used).max().unwrap_or(0);
        self.u8(used as u8);
        for leaf in &model.leaves {
            self.u8(leaf[0] as u8);
            leaf[1..1 + used].iter().chain(&leaf[CLASSES..]).for_each(|chance| self.u16(*chance));
        }
        self.u8(model.detail_bits);
        model.details.iter().for_each(|chance| self.u16(*chance));
    }
}

/// Reads what [`Out`] wrote; none when it could not have.
struct In<'a> {
    bytes: &'a [u8],
}

impl In<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }
    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let (first, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(first.to_vec())
    }

    fn tables(&mut self) -> Option<Tables> {
        let length = usize::from(self.u16()?);
        if length > TRAINED_ON_BYTES_MAX {
            return None;
        }
        let trained_on = String::from_utf8(self.take(length)?).ok()?;
        let kinds = usize::from(self.u16()?);
        if kinds > KINDS_MAX {
            return None;
        }
        let kinds = (0..kinds).map(|_| self.kind()).collect::<Option<_>>()?;
        let general = self.general()?;
        let streams = [self.stream()?, self.stream()?];
        Some(Tables { kinds, general, streams, has_anchors: false, trained_on })
    }

    fn stream(&mut self) -> Option<Option<Box<KindTables>>> {
        match self.u8()? {
            0 => Some(None),
            1 => Some(Some(Box::new(self.kind()?))),
            _ => None,
        }
    }

    fn kind(&mut self) -> Option<KindTables> {
        let plan = self.plan()?;
        let (changed, rare) = (self.flags()?, self.flags()?);
        let turns = [self.regression()?, self.regression()?, self.regression()?];
        let word = |_| {
            let (regression, numbers, on_grid) =
                (self.regression()?, self.numbers()?, self.flags()?);
            let code = WordCode::default();
            Some(WordTables { regression, numbers, on_grid, code })
        };
        let words = (0..plan.modes.len()).map(word).collect::<Option<_>>()?;
        Some(KindTables { plan, changed, rare, words, turns })
    }

    fn plan(&mut self) -> Option<Plan> {
        let fingerprint = self.array().map(u64::from_le_bytes)?;
        let words = usize::from(self.u16()?);
        if words > ROW_WORDS {
            return None;
        }
        let modes = (0..words).map(|_| self.mode()).collect::<Option<_>>()?;
        let (rates, order) = (self.take(words)?, self.take(words)?);
        let lively = self.u16()?;
        let [place, rotation, first, second, leads, anchor] = self.array()?;
        let radius = self.u32()?;
        let plan = Plan {
            fingerprint,
            modes,
            rates,
            order,
            lively,
            place,
            anchor,
            radius,
            rotation,
            tags: [first, second],
            leads: leads == 1,
        };
        (leads <= 1 && plan.is_sound()).then_some(plan)
    }

    fn mode(&mut self) -> Option<Mode> {
        match self.u8()? {
            0 => Some(Mode::Integer { low: self.u32()?.cast_signed() }),
            1 => self.u8().filter(|bits| (1..=32).contains(bits)).map(|bits| Mode::Wraps { bits }),
            2 => {
                let [shift, times] = self.array()?;
                (shift <= 24 && times > 0).then_some(Mode::Float { shift, times })
            }
            _ => None,
        }
    }

    fn general(&mut self) -> Option<General> {
        Some(General {
            more_chunks: self.flags()?,
            same_sight: self.flags()?,
            in_sight: self.flags()?,
            strangers: self.flags()?,
            stranger: self.flags()?,
            generation: self.numbers()?,
            kind: self.numbers()?,
        })
    }

    /// A tree and how many leaves it has, each of which stands in it once.
    fn tree(&mut self) -> Option<(Tree, usize)> {
        let count = usize::from(self.u16()?);
        if count == 0 || count > 2 * LEAVES_MAX {
            return None;
        }
        let mut nodes = Vec::with_capacity(count);
        for index in 0..count {
            let (feature, next) = (self.u8()?, self.u16()?);
            let is_leaf = feature == Node::LEAF;
            let threshold = if is_leaf { 0 } else { self.u32()?.cast_signed() };
            let children = usize::from(next)..usize::from(next) + 2;
            // Behind its parent, so that a walk ends.
            let leads_on =
                children.start > index && children.end <= count && usize::from(feature) < FEATURES;
            if !is_leaf && !leads_on {
                return None;
            }
            nodes.push(Node { threshold, next, feature });
        }
        let leaves = count.div_ceil(2);
        let is_leaf = |node: &&Node| node.feature == Node::LEAF;
        let is_within = nodes.iter().filter(is_leaf).all(|leaf| usize::from(leaf.next) < leaves);
        (is_within && count % 2 == 1).then_some((Tree::new(nodes), leaves))
    }

    fn chance(&mut self) -> Option<u16> {
        self.u16().filter(|chance| (CHANCE_MIN..=CHANCE_MAX).contains(chance))
    }

    fn flags(&mut self) -> Option<FlagModel> {
        let (tree, leaves) = self.tree()?;
        let chances = (0..leaves).map(|_| self.chance()).collect::<Option<_>>()?;
        Some(FlagModel { tree, chances })
    }

    fn regression(&mut self) -> Option<Regression> {
        let (tree, leaves) = self.tree()?;
        let mut weights = vec![[0; INPUTS]; leaves];
        for weight in weights.iter_mut().flatten() {
            *weight = self.u32()?.cast_signed();
            if weight.unsigned_abs() >= WEIGHT_MAX.unsigned_abs() {
                return None;
            }
        }
        Some(Regression { tree, weights })
    }

    fn numbers(&mut self) -> Option<NumberModel> {
        let (tree, leaves) = self.tree()?;
        let used = usize::from(self.u8()?);
        if used >= CLASSES {
            return None;
        }
        let mut all = Vec::with_capacity(leaves);
        for _ in 0..leaves {
            let mut leaf = [UNSEEN; LEAF_WORDS];
            leaf[0] = u16::from(self.u8()?);
            if usize::from(leaf[0]) >= CLASSES {
                return None;
            }
            for place in (1..1 + used).chain(CLASSES..LEAF_WORDS) {
                leaf[place] = self.chance()?;
            }
            all.push(leaf);
        }
        let detail_bits = self.u8().filter(|bits| *bits <= DETAIL_BITS_MAX)?;
        let mut details = [0; DETAIL_WORDS];
        for chance in &mut details {
            *chance = self.chance()?;
        }
        Some(NumberModel { tree, leaves: all, details, detail_bits })
    }
}

impl Plan {
    /// Whether every word it names is there, and each is coded once.
    fn is_sound(&self) -> bool {
        let words = self.modes.len();
        let is_there = |word: u8, count: usize| word == NONE || usize::from(word) + count <= words;
        let group = |first: u8, count: u8, word: u8| {
            first != NONE && (first..first.saturating_add(count)).contains(&word)
        };
        let moves = |word: &u8| group(self.place, 3, *word) || group(self.rotation, 4, *word);
        let rare = self.order.get(usize::from(self.lively)..);
        let mut seen = vec![false; words];
        let once = self.order.iter().all(|word| {
            seen.get_mut(usize::from(*word)).is_some_and(|seen| !std::mem::replace(seen, true))
        });
        once && rare.is_some_and(|rare| !rare.iter().any(moves))
            && self.rates.iter().chain(&self.tags).all(|word| is_there(*word, 1))
            && is_there(self.anchor, 1)
            && is_there(self.place, 3)
            && is_there(self.rotation, 4)
            && (self.place == NONE || (1..1 << 20).contains(&self.radius))
    }
}
