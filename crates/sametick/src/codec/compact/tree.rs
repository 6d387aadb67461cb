//! What tables consist of: small trees that ask about numbers known to both ends, and what stands at
//! their leaves: a chance, the chances of a number, or how to predict one.

use super::range::{CHANCE_MAX, CHANCE_MIN, Decoder, Encoder, RAW_BITS_MAX};

/// Numbers that both ends know when a value is coded; a tree asks about them.
pub(crate) type Features = [i32; FEATURES];

/// How many features there are.
pub(crate) const FEATURES: usize = 32;
// So that one of them can be cut out of a step.
const _: () = assert!(FEATURES.is_power_of_two() && FEATURES <= 256);

/// What a prediction is a weighted sum of.
pub(crate) type Inputs = [i32; INPUTS];

/// How many inputs a prediction has.
pub(crate) const INPUTS: usize = 14;

/// Which inputs are of a word's own movement, of which way it went, of its rate, of what others did, of what
/// was missed before, of the last of the kind, and of its initial value, a bit each.
pub(crate) const MOVEMENT: u16 = 1 << 0 | 1 << 1;
pub(crate) const DIRECTION: u16 = 1 << 13;
pub(crate) const RATE: u16 = 1 << 2 | 1 << 3;
pub(crate) const OTHERS: u16 = 0b1111 << 4;
pub(crate) const RESIDUALS: u16 = 1 << 8 | 1 << 9;
pub(crate) const RECENT: u16 = 1 << 10;
pub(crate) const INITIAL: u16 = 1 << 12;

/// Predictions are counted in so many bits behind the point.
pub(crate) const FRACTION_BITS: u32 = 4;

/// Weights are counted in so many bits behind the point.
pub(crate) const WEIGHT_BITS: u32 = 16;

/// A tree has at most so many leaves.
pub(crate) const LEAVES_MAX: usize = 1024;

/// One question, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Greater goes to the second of two children.
    pub(crate) threshold: i32,
    /// Where the two children stand, which are neighbours; of a leaf, its number.
    pub(crate) next: u16,
    /// Which feature is asked about.
    pub(crate) feature: u8,
}

impl Node {
    /// No feature: a leaf.
    pub(crate) const LEAF: u8 = u8::MAX;

    pub(crate) fn leaf(number: u16) -> Self {
        Self { threshold: 0, next: number, feature: Self::LEAF }
    }
}

/// Questions that lead to a leaf. Children stand behind their parents, so every walk ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// The same for walking: the first, and the children of each, which are looked up while it is asked.
    first: Step,
    steps: Vec<[Step; 2]>,
}

/// A node in a word: its threshold, its feature, and which pair of steps its children are; of a leaf its number,
/// counted on behind the pairs.
type Step = u64;

const FEATURE_SHIFT: u32 = 32;
const NEXT_SHIFT: u32 = 40;

impl Default for Tree {
    fn default() -> Self {
        Self::new(vec![Node::leaf(0)])
    }
}

impl Tree {
    /// Of nodes, at least one, the children of each behind it.
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        let questions = nodes.iter().filter(|node| node.feature != Node::LEAF).count();
        // Which pair of children each node's is, and how the node looks then.
        let mut pairs: Vec<u16> = Vec::new();
        let mut step = |node: &Node| {
            let mut next = questions + usize::from(node.next);
            if node.feature != Node::LEAF {
                next = pairs.len();
                pairs.push(node.next);
            }
            let feature = u64::from(node.feature) << FEATURE_SHIFT;
            (next as u64) << NEXT_SHIFT | feature | u64::from(node.threshold.cast_unsigned())
        };
        let all: Vec<Step> = nodes.iter().map(&mut step).collect();
        let child = |index: u16| [0, 1].map(|which| all[usize::from(index) + which]);
        let steps = pairs.iter().map(|index| child(*index)).collect();
        Self { first: all[0], steps, nodes }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Which features are asked about, a bit each.
    pub(crate) fn asked(&self) -> u32 {
        let questions = self.nodes.iter().filter(|node| node.feature != Node::LEAF);
        questions.fold(0, |asked, node| asked | 1 << (usize::from(node.feature) % FEATURES))
    }

    #[inline(always)]
    pub(crate) fn leaf(&self, features: &Features) -> usize {
        let mut step = self.first;
        loop {
            let next = (step >> NEXT_SHIFT) as usize;
            let Some(children) = self.steps.get(next) else {
                return next - self.steps.len();
            };
            let value = features[(step >> FEATURE_SHIFT) as usize % FEATURES];
            step = children[usize::from(value > (step as u32).cast_signed())];
        }
    }
}

/// A decision's chance by what is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlagModel {
    pub(crate) tree: Tree,
    /// By leaf.
    pub(crate) chances: Vec<u16>,
}

impl FlagModel {
    /// The same chance always.
    pub(crate) fn constant(chance: u16) -> Self {
        Self { tree: Tree::default(), chances: vec![chance] }
    }

    #[inline(always)]
    pub(crate) fn chance(&self, features: &Features) -> u16 {
        self.chances[self.tree.leaf(features)]
    }
}

/// A sum of inputs by what is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Regression {
    pub(crate) tree: Tree,
    /// By leaf.
    pub(crate) weights: Vec<Inputs>,
}

impl Regression {
    pub(crate) fn constant(weights: Inputs) -> Self {
        Self { tree: Tree::default(), weights: vec![weights] }
    }

    /// How much each input weighs.
    #[inline(always)]
    pub(crate) fn weights(&self, features: &Features) -> &Inputs {
        &self.weights[self.tree.leaf(features)]
    }

    #[inline(always)]
    pub(crate) fn predict(&self, features: &Features, inputs: &Inputs) -> i32 {
        let products = self.weights(features).iter().zip(inputs);
        let products = products.map(|(weight, input)| i64::from(*weight) * i64::from(*input));
        rounded(products.fold(0, i64::wrapping_add))
    }
}

/// A sum of weighed inputs as a prediction. What is too large for one wraps, on both ends alike.
#[inline(always)]
pub(crate) fn rounded(sum: i64) -> i32 {
    (sum.wrapping_add(1 << (WEIGHT_BITS - 1)) >> WEIGHT_BITS) as i32
}

/// A number is zero or has a sign and a class: how many bits it needs.
pub(crate) const CLASSES: usize = 33;
/// A leaf: the class at which to begin, then the chances of a larger class each, then of the signs.
pub(crate) const LEAF_WORDS: usize = 1 + (CLASSES - 1) + 2;
/// By class, from two up to four, by how far it is from the first asked, and by the bit before.
pub(crate) const DETAIL_WORDS: usize = 3 * 7 * 3;

/// A number's chances by what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberModel {
    pub(crate) tree: Tree,
    pub(crate) leaves: Vec<[u16; LEAF_WORDS]>,
    /// The two bits below a number's highest.
    pub(crate) details: [u16; DETAIL_WORDS],
    /// How many of them have chances; the rest are as likely either way.
    pub(crate) detail_bits: u8,
}

/// No more bits have chances.
pub(crate) const DETAIL_BITS_MAX: u8 = 2;

pub(crate) const HALF: u16 = 1 << 15;
/// The chance of a class larger than any that was ever seen.
pub(crate) const UNSEEN: u16 = 12_000;

impl NumberModel {
    /// What is assumed of a number nobody has seen: most often zero, and rarely large.
    pub(crate) fn prior(centre: u16) -> Self {
        let mut leaf = [HALF; LEAF_WORDS];
        leaf[0] = centre;
        for (class, chance) in leaf[1..CLASSES].iter_mut().enumerate() {
            *chance = if class < 2 { 20_000 } else { 36_000 };
        }
        Self {
            tree: Tree::default(),
            leaves: vec![leaf],
            details: [HALF - 4000; DETAIL_WORDS],
            detail_bits: DETAIL_BITS_MAX,
        }
    }

    /// Codes a number, either way: what comes back is what the other end has.
    #[inline(always)]
    pub(crate) fn code<C: Decide>(&self, coder: &mut C, features: &Features, value: i32) -> i32 {
        let leaf = &self.leaves[self.tree.leaf(features)];
        let class = code_class(coder, leaf, class_of(value));
        if class == 0 {
            return 0;
        }
        if class == CLASSES - 1 {
            // There is only one number so large.
            return i32::MIN;
        }
        let sign = leaf[CLASSES + usize::from(class > 1)];
        let mut left = class as u32 - 1;
        let size = value.unsigned_abs();
        let details = left.min(u32::from(self.detail_bits));
        // A sign that is as likely either way goes with the bits that are, if there are any.
        let joins = sign == HALF && (1..RAW_BITS_MAX).contains(&(left - details));
        let mut is_negative = !joins && coder.decide(sign, value < 0);
        let mut magnitude = 1;
        if details > 0 {
            let detail = detail_place(class, usize::from(leaf[0]));
            let mut place = detail;
            for _ in 0..details {
                left -= 1;
                let bit = coder.decide(self.details[place], size >> left & 1 != 0);
                magnitude = magnitude << 1 | u32::from(bit);
                place = detail + 1 + usize::from(bit);
            }
        }
        if joins {
            let below = size & !(u32::MAX << left);
            let known = coder.raw(left + 1, u32::from(value < 0) << left | below);
            is_negative = known >> left != 0;
            magnitude = magnitude << left | known & !(1 << left);
            left = 0;
        }
        while left > 0 {
            let bits = left.min(RAW_BITS_MAX);
            left -= bits;
            let known = coder.raw(bits, (size >> left) & ((1 << bits) - 1));
            magnitude = magnitude << bits | known;
        }
        let value = magnitude.cast_signed();
        if is_negative { value.wrapping_neg() } else { value }
    }
}

#[inline(always)]
pub(crate) fn class_of(value: i32) -> usize {
    (u32::BITS - value.unsigned_abs().leading_zeros()) as usize
}

#[inline(always)]
pub(crate) fn detail_place(class: usize, centre: usize) -> usize {
    let apart = (class + 3).saturating_sub(centre).min(6);
    ((class.min(4) - 2) * 7 + apart) * 3
}

/// From the leaf's first class upwards or downwards, one at a time.
#[inline(always)]
fn code_class<C: Decide>(coder: &mut C, leaf: &[u16; LEAF_WORDS], class: usize) -> usize {
    let chances = &leaf[1..CLASSES];
    let first = usize::from(leaf[0]).min(CLASSES - 1);
    let mut at = first;
    if at < CLASSES - 1 && coder.decide(chances[at], class > at) {
        at += 1;
        while at < CLASSES - 1 && coder.decide(chances[at], class > at) {
            at += 1;
        }
        return at;
    }
    while at > 0 && coder.decide(chances[at - 1], class < at) {
        at -= 1;
    }
    at
}

/// A coder, whichever way it goes.
pub(crate) trait Decide {
    /// Codes a decision; the reader does not look at the one it is given.
    fn decide(&mut self, chance: u16, decision: bool) -> bool;
    /// Codes a number of so many bits.
    fn raw(&mut self, bits: u32, value: u32) -> u32;
}

impl Decide for Encoder {
    #[inline(always)]
    fn decide(&mut self, chance: u16, decision: bool) -> bool {
        self.bit(chance, decision);
        decision
    }
    #[inline(always)]
    fn raw(&mut self, bits: u32, value: u32) -> u32 {
        Encoder::raw(self, bits, value);
        value
    }
}

impl Decide for Decoder<'_> {
    #[inline(always)]
    fn decide(&mut self, chance: u16, _: bool) -> bool {
        self.bit(chance)
    }
    #[inline(always)]
    fn raw(&mut self, bits: u32, _: u32) -> u32 {
        Decoder::raw(self, bits)
    }
}

/// Adds up what decisions cost instead of coding them.
#[derive(Debug, Default)]
pub(crate) struct Price {
    pub(crate) bits: f64,
}

impl Decide for Price {
    fn decide(&mut self, chance: u16, decision: bool) -> bool {
        let chance = f64::from(chance) / 65536.0;
        self.bits -= libm::log2(if decision { chance } else { 1.0 - chance });
        decision
    }
    fn raw(&mut self, bits: u32, value: u32) -> u32 {
        self.bits += f64::from(bits);
        value
    }
}

/// A chance from how often something was, between what tables can say.
pub(crate) fn chance_of(share: f64) -> u16 {
    ((share * 65536.0) as i64).clamp(i64::from(CHANCE_MIN), i64::from(CHANCE_MAX)) as u16
}
