//! Grows a tree whose leaves tell symbols apart: each split is the one that saves most bits.

use super::super::tree::{FEATURES, LEAVES_MAX, Node, Tree};
use std::collections::BinaryHeap;

/// Samples of one subject: what was known, and which symbol came.
pub(super) struct Observed<'a> {
    /// One row of features for each.
    pub(super) known: &'a [i32],
    pub(super) symbols: &'a [u8],
    /// How many symbols there are.
    pub(super) alphabet: usize,
    /// Each stands for so many.
    pub(super) weight: f64,
    /// What a question costs, as a multiple of what it usually does.
    pub(super) price: f64,
}

/// So many thresholds are tried for each feature.
const THRESHOLDS_MAX: usize = 31;
/// A split must save so many bits for itself, and a little for each symbol that it tells apart.
const SPLIT_BITS: f64 = 24.0;
const LEAF_SAMPLES_MIN: usize = 24;
/// And so many for each time that it is asked, and such a share of what is asked about beyond a bit: questions take
/// time.
const FLAG_WORTH: f64 = 0.002;
const NUMBER_WORTH: f64 = 0.02;
const SHARE_WORTH: f64 = 0.03;

struct Binned {
    thresholds: Vec<Vec<i32>>,
    /// One row for each sample.
    bins: Vec<u8>,
    features: Vec<usize>,
}

/// A leaf that might be split.
struct Candidate {
    gain: f64,
    node: usize,
    samples: Vec<u32>,
    feature: usize,
    bin: u8,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Candidate {}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.node.cmp(&self.node))
    }
}

/// The tree, and for each sample its leaf.
pub(super) fn grow(observed: &Observed<'_>, leaves_max: usize) -> (Tree, Vec<u16>) {
    let count = observed.symbols.len();
    let binned = bin(observed);
    let mut nodes = vec![Node::leaf(0)];
    let mut heap = BinaryHeap::new();
    let mut finished = Vec::new();
    let all: Vec<u32> = (0..count as u32).collect();
    consider(observed, &binned, 0, all, &mut heap, &mut finished);
    let mut leaves = 1;
    while leaves < leaves_max.min(LEAVES_MAX) {
        let Some(best) = heap.pop() else { break };
        let next = nodes.len();
        let threshold = binned.thresholds[best.feature][usize::from(best.bin)];
        nodes[best.node] = Node { threshold, next: next as u16, feature: best.feature as u8 };
        nodes.extend([Node::leaf(0); 2]);
        let place =
            binned.features.iter().position(|feature| *feature == best.feature).unwrap_or(0);
        let width = binned.features.len();
        let is_less = |sample: &u32| binned.bins[*sample as usize * width + place] <= best.bin;
        let (less, more): (Vec<u32>, Vec<u32>) =
            best.samples.iter().partition(|sample| is_less(sample));
        consider(observed, &binned, next, less, &mut heap, &mut finished);
        consider(observed, &binned, next + 1, more, &mut heap, &mut finished);
        leaves += 1;
    }
    finished.extend(heap.into_iter().map(|candidate| (candidate.node, candidate.samples)));
    finished.sort_by_key(|(node, _)| *node);
    let mut assigned = vec![0; count];
    for (leaf, (node, samples)) in finished.iter().enumerate() {
        nodes[*node] = Node::leaf(leaf as u16);
        samples.iter().for_each(|sample| assigned[*sample as usize] = leaf as u16);
    }
    (Tree::new(nodes), assigned)
}

fn bin(observed: &Observed<'_>) -> Binned {
    let count = observed.symbols.len();
    let stride = (count / 4000).max(1);
    let mut thresholds = vec![Vec::new(); FEATURES];
    let mut features = Vec::new();
    for (feature, thresholds) in thresholds.iter_mut().enumerate() {
        let values = (0..count).step_by(stride);
        let mut values: Vec<i32> =
            values.map(|sample| observed.known[sample * FEATURES + feature]).collect();
        values.sort_unstable();
        let mut distinct = values.clone();
        distinct.dedup();
        if distinct.len() <= THRESHOLDS_MAX {
            distinct.pop();
            *thresholds = distinct;
        } else {
            let quantile = |index: usize| values[index * (values.len() - 1) / (THRESHOLDS_MAX + 1)];
            *thresholds = (1..=THRESHOLDS_MAX).map(quantile).collect();
            thresholds.dedup();
            let last = values.last();
            if thresholds.last() == last {
                thresholds.pop();
            }
        }
        if !thresholds.is_empty() {
            features.push(feature);
        }
    }
    let mut bins = Vec::with_capacity(count * features.len());
    for known in observed.known.chunks_exact(FEATURES) {
        for feature in &features {
            let value = known[*feature];
            bins.push(thresholds[*feature].partition_point(|threshold| *threshold < value) as u8);
        }
    }
    Binned { thresholds, bins, features }
}

/// Finds a leaf's best split, or finishes it.
fn consider(
    observed: &Observed<'_>,
    binned: &Binned,
    node: usize,
    samples: Vec<u32>,
    heap: &mut BinaryHeap<Candidate>,
    finished: &mut Vec<(usize, Vec<u32>)>,
) {
    let (width, alphabet) = (binned.features.len(), observed.alphabet);
    let mut total = vec![0u32; alphabet];
    samples.iter().for_each(|sample| total[usize::from(observed.symbols[*sample as usize])] += 1);
    let whole = cost(&total);
    let mut best = (0.0, 0, 0);
    if samples.len() >= 2 * LEAF_SAMPLES_MIN && whole > SPLIT_BITS {
        const BINS: usize = THRESHOLDS_MAX + 1;
        let mut counts = vec![0u32; width * BINS * alphabet];
        for sample in &samples {
            let sample = *sample as usize;
            let symbol = usize::from(observed.symbols[sample]);
            for (place, bin) in binned.bins[sample * width..][..width].iter().enumerate() {
                counts[(place * BINS + usize::from(*bin)) * alphabet + symbol] += 1;
            }
        }
        let count = samples.len() as f64;
        let worth = if alphabet == 2 { FLAG_WORTH } else { NUMBER_WORTH };
        let worth = (worth * count + SHARE_WORTH * (whole - count).max(0.0)) * observed.price;
        let distinct = total.iter().filter(|count| **count > 0).count() as f64;
        for (place, feature) in binned.features.iter().enumerate() {
            let mut less = vec![0u32; alphabet];
            let mut more = total.clone();
            for bin in 0..binned.thresholds[*feature].len() {
                let here = &counts[(place * BINS + bin) * alphabet..][..alphabet];
                if here.iter().all(|count| *count == 0) {
                    continue;
                }
                for (symbol, count) in here.iter().enumerate() {
                    less[symbol] += count;
                    more[symbol] -= count;
                }
                let few: u32 = less.iter().sum::<u32>().min(more.iter().sum());
                if (few as usize) < LEAF_SAMPLES_MIN {
                    continue;
                }
                let saved = (whole - cost(&less) - cost(&more)) * observed.weight;
                let gain = saved - SPLIT_BITS - 2.0 * distinct - worth * observed.weight;
                if gain > best.0 {
                    best = (gain, *feature, bin as u8);
                }
            }
        }
    }
    match best {
        (gain, feature, bin) if gain > 0.0 => {
            heap.push(Candidate { gain, node, samples, feature, bin })
        }
        _ => finished.push((node, samples)),
    }
}

/// How many bits symbols that come so often need together.
fn cost(counts: &[u32]) -> f64 {
    let total: u32 = counts.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let whole = f64::from(total);
    let each = |count: &u32| {
        if *count == 0 { 0.0 } else { f64::from(*count) * libm::log2((*count).into()) }
    };
    whole * libm::log2(whole) - counts.iter().map(each).sum::<f64>()
}
