//! Finds the weights of predictions: least squares that mind outliers little, by a small tree.

use super::super::feature as f;
use super::super::tree::{
    FEATURES, INITIAL, INPUTS, Inputs, MOVEMENT, Node, OTHERS, RATE, RECENT, RESIDUALS, Regression,
    Tree, WEIGHT_BITS,
};

/// Samples of one prediction: what was known, from what it is summed, and what came.
#[derive(Default)]
pub(super) struct Lessons {
    pub(super) known: Vec<i32>,
    pub(super) inputs: Vec<i32>,
    pub(super) came: Vec<i32>,
}

const ROUNDS: usize = 6;
const LEAVES_MAX: usize = 12;
const LEAF_SAMPLES_MIN: usize = 300;
/// What rounding alone leaves, squared.
const NOISE: f64 = 30.0;
const THRESHOLDS_MAX: usize = 7;
/// A question must save so many bits each time that it is asked.
const SPLIT_WORTH: f64 = 0.03;
/// What a class of predictions may depend on.
const ASKED: [usize; 13] = [
    f::ACQUAINTANCE,
    f::CHANGED_BEFORE,
    f::NEIGHBOURS,
    f::LEADER_DISTANCE,
    f::PLACE_SPEED,
    f::LEADER_GAP,
    f::NEIGHBOUR_GAP,
    f::TAG,
    f::SECOND_TAG,
    f::SPAN,
    f::HEIGHT,
    f::PLACE_ACCELERATION,
    f::NEIGHBOURS_MISSED,
];

/// Sums of products: all that least squares need.
#[derive(Clone)]
struct Moments {
    products: [[f64; INPUTS + 1]; INPUTS + 1],
    count: f64,
}

impl Moments {
    const NONE: Self = Self { products: [[0.0; INPUTS + 1]; INPUTS + 1], count: 0.0 };

    fn add(&mut self, inputs: &[i32], came: i32, weight: f64) {
        let mut row = [0.0; INPUTS + 1];
        for (value, input) in row.iter_mut().zip(inputs) {
            *value = f64::from(*input);
        }
        row[INPUTS] = f64::from(came);
        for (left, products) in row.iter().zip(self.products.iter_mut()) {
            if *left != 0.0 {
                for (right, product) in row.iter().zip(products.iter_mut()) {
                    *product += weight * left * right;
                }
            }
        }
        self.count += weight;
    }

    fn combine(&mut self, other: &Self, sign: f64) {
        for (row, other) in self.products.iter_mut().zip(&other.products) {
            row.iter_mut().zip(other).for_each(|(product, other)| *product += sign * other);
        }
        self.count += sign * other.count;
    }

    /// The weights, and the squares that are left.
    fn solve(&self) -> ([f64; INPUTS], f64) {
        let mut matrix = self.products;
        for (index, row) in matrix.iter_mut().enumerate().take(INPUTS) {
            row[index] += row[index] * 1e-4 + self.count * 4.0 + 1e-9;
        }
        for pivot in 0..INPUTS {
            let scale = matrix[pivot][pivot];
            let (above, below) = matrix.split_at_mut(pivot + 1);
            let source = &above[pivot];
            for row in below.iter_mut().take(INPUTS - pivot - 1) {
                let factor = row[pivot] / scale;
                for column in pivot..=INPUTS {
                    row[column] -= factor * source[column];
                }
            }
        }
        let mut weights = [0.0; INPUTS];
        for row in (0..INPUTS).rev() {
            let known: f64 =
                (row + 1..INPUTS).map(|column| matrix[row][column] * weights[column]).sum();
            weights[row] = (matrix[row][INPUTS] - known) / matrix[row][row];
        }
        (weights, self.left(&weights))
    }

    fn left(&self, weights: &[f64; INPUTS]) -> f64 {
        let mut left = self.products[INPUTS][INPUTS];
        for (row, weight) in self.products.iter().zip(weights) {
            let inner: f64 = row.iter().zip(weights).map(|(product, other)| product * other).sum();
            left += weight * (inner - 2.0 * row[INPUTS]);
        }
        left.max(0.0)
    }

    fn bits(&self) -> f64 {
        let (_, left) = self.solve();
        0.5 * self.count * libm::log2(left / self.count.max(1e-9) + NOISE)
    }
}

/// Inputs are worth their time together: a word's own movement, its rate, what others did, and so on.
const GROUPS: [u16; 6] = [INITIAL, RATE, OTHERS, RECENT, RESIDUALS, MOVEMENT];
/// A group must save so many bits each time that something is predicted.
const GROUP_WORTH: f64 = 0.04;

impl Moments {
    /// The same without some inputs, a bit each.
    fn without(&self, inputs: u16) -> Self {
        let mut rest = self.clone();
        for input in (0..INPUTS).filter(|input| inputs & 1 << input != 0) {
            rest.products[input] = [0.0; INPUTS + 1];
            rest.products.iter_mut().for_each(|row| row[input] = 0.0);
        }
        rest
    }
}

impl Lessons {
    /// The same without inputs that tell next to nothing.
    fn pruned(&self, samples: &[u32]) -> Self {
        let (_, trust) = self.fit(samples);
        let mut moments = Moments::NONE;
        for (sample, trust) in samples.iter().zip(&trust) {
            moments.add(self.inputs(*sample), self.came[*sample as usize], *trust);
        }
        let mut gone = 0;
        for group in GROUPS {
            let (with, without) = (moments.without(gone), moments.without(gone | group));
            if without.bits() - with.bits() < GROUP_WORTH * moments.count {
                gone |= group;
            }
        }
        let mut inputs = self.inputs.clone();
        for row in inputs.chunks_exact_mut(INPUTS) {
            for (input, value) in row.iter_mut().enumerate() {
                *value = if gone & 1 << input != 0 { 0 } else { *value };
            }
        }
        Self { known: self.known.clone(), inputs, came: self.came.clone() }
    }

    fn inputs(&self, sample: u32) -> &[i32] {
        &self.inputs[sample as usize * INPUTS..][..INPUTS]
    }

    fn missed(&self, sample: u32, weights: &[f64; INPUTS]) -> f64 {
        let sum: f64 = self
            .inputs(sample)
            .iter()
            .zip(weights)
            .map(|(input, weight)| f64::from(*input) * weight)
            .sum();
        f64::from(self.came[sample as usize]) - sum
    }

    /// Least squares again and again, each sample counting less the farther it is off.
    fn fit(&self, samples: &[u32]) -> ([f64; INPUTS], Vec<f64>) {
        let mut trust = vec![1.0; samples.len()];
        let mut weights = [0.0; INPUTS];
        for round in 0..ROUNDS {
            let mut moments = Moments::NONE;
            for (sample, trust) in samples.iter().zip(&trust) {
                moments.add(self.inputs(*sample), self.came[*sample as usize], *trust);
            }
            (weights, _) = moments.solve();
            let mut squares: Vec<f64> =
                samples.iter().map(|sample| square(self.missed(*sample, &weights))).collect();
            let trusts: Vec<f64> = squares.clone();
            let middle = squares.len() / 2;
            let (_, median, _) = squares.select_nth_unstable_by(middle, f64::total_cmp);
            let scale = *median + NOISE;
            if round + 1 < ROUNDS {
                trust = trusts.iter().map(|square| scale / (scale + square)).collect();
            }
        }
        (weights, trust)
    }
}

pub(super) fn regress(lessons: &Lessons) -> Option<Regression> {
    let count = lessons.came.len();
    if count < 16 {
        return None;
    }
    let stride = (count / 120_000).max(1);
    let all: Vec<u32> = (0..count as u32).step_by(stride).collect();
    let pruned = lessons.pruned(&all);
    let lessons = &pruned;
    let mut nodes = vec![Node::leaf(0)];
    let mut open = vec![(0, all)];
    let mut leaves: Vec<Inputs> = Vec::new();
    let mut splits = 0;
    while let Some((node, samples)) = open.pop() {
        let (weights, trust) = lessons.fit(&samples);
        let best = if splits + 1 < LEAVES_MAX { split(lessons, &samples, &trust) } else { None };
        if let Some((feature, threshold)) = best {
            let is_less =
                |sample: &u32| lessons.known[*sample as usize * FEATURES + feature] <= threshold;
            let (less, more): (Vec<u32>, Vec<u32>) = samples.into_iter().partition(is_less);
            let next = nodes.len();
            nodes[node] = Node { threshold, next: next as u16, feature: feature as u8 };
            nodes.extend([Node::leaf(0); 2]);
            open.insert(0, (next, less));
            open.insert(0, (next + 1, more));
            splits += 1;
        } else {
            nodes[node] = Node::leaf(leaves.len() as u16);
            leaves.push(weights.map(whole));
        }
    }
    Some(Regression { tree: Tree::new(nodes), weights: leaves })
}

fn whole(weight: f64) -> i32 {
    (weight * f64::from(1 << WEIGHT_BITS)).round().clamp(-1e8, 1e8) as i32
}

/// The best question to ask of some samples, if any is worth it.
fn split(lessons: &Lessons, samples: &[u32], trust: &[f64]) -> Option<(usize, i32)> {
    if samples.len() < 2 * LEAF_SAMPLES_MIN {
        return None;
    }
    let stride = (samples.len() / 30_000).max(1);
    let mut best = (0.0, 0, 0);
    for feature in ASKED {
        let value = |sample: u32| lessons.known[sample as usize * FEATURES + feature];
        let mut values: Vec<i32> =
            samples.iter().step_by(stride).map(|sample| value(*sample)).collect();
        values.sort_unstable();
        let mut thresholds: Vec<i32> = (1..=THRESHOLDS_MAX)
            .map(|part| values[part * (values.len() - 1) / (THRESHOLDS_MAX + 1)])
            .collect();
        thresholds.dedup();
        if values.first() == values.last() {
            continue;
        }
        let mut parts = vec![(Moments::NONE, 0usize); thresholds.len() + 1];
        for (sample, trust) in samples.iter().zip(trust).step_by(stride) {
            let part = thresholds.partition_point(|threshold| *threshold < value(*sample));
            parts[part].0.add(lessons.inputs(*sample), lessons.came[*sample as usize], *trust);
            parts[part].1 += stride;
        }
        let mut more = Moments::NONE;
        parts.iter().for_each(|(part, _)| more.combine(part, 1.0));
        let (whole, mut less, mut below) = (more.bits(), Moments::NONE, 0);
        for (threshold, (part, count)) in thresholds.iter().zip(&parts) {
            less.combine(part, 1.0);
            more.combine(part, -1.0);
            below += count;
            if below < LEAF_SAMPLES_MIN || samples.len() < below + LEAF_SAMPLES_MIN {
                continue;
            }
            let gain = (whole - less.bits() - more.bits()) * stride as f64;
            if gain > best.0 {
                best = (gain, feature, *threshold);
            }
        }
    }
    let (gain, feature, threshold) = best;
    (gain > 12.0 * INPUTS as f64 + samples.len() as f64 * SPLIT_WORTH)
        .then_some((feature, threshold))
}

fn square(number: f64) -> f64 {
    number * number
}
