//! A tree of boxes over many bounded things, so that few of them are asked about any one way. Knows nothing
//! of what the things are.

use crate::vector::{Bounds, Vector};

/// How many things a leaf holds at most.
const LEAF_ITEMS: usize = 4;

/// The deepest a tree can be: each level halves what is left.
const DEPTH_MAX: usize = 32;

/// Names of things by where they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    items: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    bounds: Bounds,
    /// The first item and how many, or the second child and none; the first child comes next.
    start: u32,
    count: u32,
}

impl Tree {
    /// The tree over things with these bounds, named by their numbers.
    pub(crate) fn new(bounds: &[Bounds]) -> Self {
        let mut tree = Self { nodes: Vec::new(), items: (0..bounds.len() as u32).collect() };
        if !bounds.is_empty() {
            tree.grow(bounds, 0, bounds.len());
        }
        tree
    }

    fn grow(&mut self, bounds: &[Bounds], start: usize, end: usize) {
        let of = |item: &u32| bounds[*item as usize];
        let items = &mut self.items[start..end];
        let all = items.iter().map(of).reduce(Bounds::joined).unwrap_or_default();
        let (node, count) = (self.nodes.len(), end - start);
        self.nodes.push(Node { bounds: all, start: start as u32, count: count as u32 });
        if count <= LEAF_ITEMS {
            return;
        }
        let half = all.half();
        let axis = (0..3).fold(0, |best, axis| if half[axis] > half[best] { axis } else { best });
        items.sort_by(|a, b| of(a).centre()[axis].total_cmp(&of(b).centre()[axis]));
        let middle = start + count / 2;
        self.grow(bounds, start, middle);
        self.nodes[node].start = self.nodes.len() as u32;
        self.nodes[node].count = 0;
        self.grow(bounds, middle, end);
    }

    /// Calls `meet` with whatever a box of these half sizes may touch on its way; it says how much of the way
    /// is still free, beyond which nobody is asked. Less than nothing ends the search.
    pub(crate) fn sweep(
        &self,
        half: Vector,
        from: Vector,
        to: Vector,
        mut meet: impl FnMut(usize) -> f32,
    ) {
        let way = Way::new(from, to);
        let (mut waiting, mut height) = ([0_u32; DEPTH_MAX], 1);
        let mut free = 1.0;
        if self.nodes.is_empty() {
            return;
        }
        while height > 0 {
            height -= 1;
            let index = waiting[height];
            let node = &self.nodes[index as usize];
            if way.enters(node.bounds.grown(half)).is_none_or(|fraction| fraction > free) {
                continue;
            }
            if node.count == 0 {
                (waiting[height], waiting[height + 1]) = (node.start, index + 1);
                height += 2;
            } else {
                let items = &self.items[node.start as usize..][..node.count as usize];
                items.iter().for_each(|item| free = meet(*item as usize));
                if free < 0.0 {
                    return;
                }
            }
        }
    }
}

/// A straight way, made ready to be compared with boxes.
struct Way {
    from: Vector,
    /// One over its length on each axis; infinite where it does not move.
    inverse: Vector,
}

/// More than the skin, so that what is near enough to touch is asked.
const MARGIN: f32 = 0.01;

impl Way {
    fn new(from: Vector, to: Vector) -> Self {
        Self { from, inverse: [0, 1, 2].map(|axis| 1.0 / (to[axis] - from[axis])) }
    }

    /// When the way enters a box, if it does.
    fn enters(&self, bounds: Bounds) -> Option<f32> {
        let (mut enters, mut leaves) = (0.0_f32, 1.0_f32);
        for axis in 0..3 {
            let (low, high) = (bounds.low[axis] - MARGIN, bounds.high[axis] + MARGIN);
            let (from, inverse) = (self.from[axis], self.inverse[axis]);
            if inverse.is_infinite() {
                if from < low || from > high {
                    return None;
                }
                continue;
            }
            let (one, other) = ((low - from) * inverse, (high - from) * inverse);
            enters = enters.max(one.min(other));
            leaves = leaves.min(one.max(other));
        }
        (enters <= leaves).then_some(enters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::Dice;

    #[test]
    fn nothing_that_is_touched_is_left_out() {
        let mut dice = Dice::new(1, 1);
        let mut metres = |most: f64| (dice.unit() * most) as f32;
        let boxes: Vec<Bounds> = (0..300)
            .map(|_| {
                let low = [metres(50.0), metres(50.0), metres(20.0)];
                Bounds { low, high: [low[0] + metres(5.0), low[1] + metres(5.0), low[2] + 1.0] }
            })
            .collect();
        let tree = Tree::new(&boxes);
        for _ in 0..300 {
            let from = [metres(50.0), metres(50.0), metres(20.0)];
            let to = [metres(50.0), from[1], metres(20.0)];
            let half = [0.4, 0.4, 0.9];
            let mut met = Vec::new();
            tree.sweep(half, from, to, |item| {
                met.push(item);
                1.0
            });
            for (index, bounds) in boxes.iter().enumerate() {
                let grown = bounds.grown(half);
                let touches = (0..=100).any(|step| {
                    let share = step as f32 / 100.0;
                    grown.contains(
                        [0, 1, 2].map(|axis| from[axis] + (to[axis] - from[axis]) * share),
                    )
                });
                assert!(!touches || met.contains(&index));
            }
        }
    }
}
