//! What both ends know of one entity before and while it is coded: its past, the leader, its neighbours,
//! and what came of it already.

use super::feature as f;
use super::plan::{NONE, Numbers, Plan};
use super::records::Records;
use super::space::{Motion, Rumour, Space};
use super::tables::{KindTables, WordCode, WordTables};
use super::tree::{
    DIRECTION, FRACTION_BITS, Features, INITIAL, INPUTS, Inputs, MOVEMENT, OTHERS, RATE, RECENT,
    RESIDUALS, rounded,
};
use super::turn::Turn;
use crate::core::entity::EntityId;
use crate::schema::record::{Layout, ROW_WORDS, Row};
use crate::schema::table::Head;
use crate::schema::word::Word;

/// One entity while it is coded.
pub(super) struct Entity<'a> {
    pub(super) kind: u8,
    pub(super) id: EntityId,
    pub(super) plan: &'a Plan,
    pub(super) tables: &'a KindTables,
    pub(super) layout: &'a Layout,
    pub(super) base: &'a [u32],
    pub(super) before: &'a [u32],
    pub(super) earlier: &'a [u32],
    pub(super) truth: Option<&'a [u32]>,
    pub(super) known: Features,
    pub(super) rumour: Rumour,
    pub(super) led: [i32; 3],
    pub(super) motion: Motion,
}

/// What is known of each word of an entity, all of one length, so that one look at that is enough.
pub(super) struct Rows<'a> {
    pub(super) base: &'a [u32],
    pub(super) before: &'a [u32],
    pub(super) earlier: &'a [u32],
    /// What the word is now; of one who is read, what it was.
    pub(super) truth: &'a [u32],
    pub(super) initial: &'a [u32],
    pub(super) words: &'a [Word],
    pub(super) tables: &'a [WordTables],
}

impl<'a> Rows<'a> {
    #[inline(always)]
    pub(super) fn of(entity: &Entity<'a>) -> Self {
        let length = entity.base.len();
        Self {
            base: &entity.base[..length],
            before: &entity.before[..length],
            earlier: &entity.earlier[..length],
            truth: &entity.truth.unwrap_or(entity.base)[..length],
            initial: &entity.layout.initial()[..length],
            words: &entity.layout.words()[..length],
            tables: &entity.tables.words[..length],
        }
    }
}

/// What this snapshot's entities of a kind showed of a word so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    pub(super) residual: i32,
    pub(super) size: i32,
    pub(super) delta: i32,
}

impl Recent {
    /// Takes in what a prediction missed, how large that is, and how far the word went.
    #[inline(always)]
    pub(super) fn note(&mut self, missed: i32, size: i32, delta: i32) {
        self.residual = missed;
        self.size += (size * 16 - self.size) >> 2;
        self.delta = delta;
    }
}

const ONE: i32 = 1 << FRACTION_BITS;

pub(super) fn place_of<'a>(
    base: impl Records<'a>,
    layouts: &[Layout],
    plan: &Plan,
    slot: usize,
    head: &Head,
) -> Option<[i32; 3]> {
    let first = usize::from(plan.place);
    if plan.place == NONE {
        return None;
    }
    let words = base.record(slot, &layouts[usize::from(head.kind)]);
    Some(std::array::from_fn(|axis| plan.modes[first + axis].number(words[first + axis])))
}

/// Distances are told apart by their highest bits.
pub(super) const KEYS: usize = 256;

#[inline(always)]
pub(super) fn class(distance: u32) -> usize {
    let distance = distance | 8;
    let bits = 31 - distance.leading_zeros();
    ((bits << 3 | distance >> (bits - 3) & 7) as usize).min(KEYS - 4)
}

/// How far apart two places are, in no unit in particular.
#[inline]
pub(super) fn distance(left: &[i32; 3], right: &[i32; 3]) -> u32 {
    let axis = |axis: usize| i64::from(left[axis]) - i64::from(right[axis]);
    let square = [axis(0), axis(1), axis(2)].map(|apart| apart * apart).iter().sum::<i64>();
    ((square >> 4).min(1 << 30)) as u32
}

/// A distance with its bits behind the point. What is too far for that wraps, on both ends alike: predictions are only
/// worse for it.
#[inline(always)]
pub(super) fn scaled(steps: i32) -> i32 {
    steps << FRACTION_BITS
}

impl Entity<'_> {
    /// What is known before anything of it is coded.
    pub(super) fn introduce(&mut self, space: &Space, spans: &[u32; 3], changed_lately: i32) {
        let rows = self.base.iter().zip(self.before).zip(self.earlier);
        let (before, earlier) = rows.fold((0, 0), |(last, older), ((base, before), earlier)| {
            (last + i32::from(base != before), older + i32::from(before != earlier))
        });
        let plan = self.plan;
        self.known[f::CHANGED_BEFORE] = before;
        self.known[f::CHANGED_EARLIER] = earlier;
        self.known[f::CHANGED_LATELY] = changed_lately;
        for (feature, tag) in [f::TAG, f::SECOND_TAG].into_iter().zip(plan.tags) {
            if tag != NONE {
                self.known[feature] = self.base[usize::from(tag)].min(1 << 30).cast_signed();
            }
        }
        if plan.place == NONE {
            return;
        }
        let first = usize::from(plan.place);
        let number =
            |words: &[u32], axis: usize| plan.modes[first + axis].number(words[first + axis]);
        let from = std::array::from_fn(|axis| number(self.base, axis));
        self.motion.from = from;
        self.known[f::HEIGHT] = from[2];
        self.known[f::NEIGHBOURS] = space.crowd(&from, plan.radius);
        if let Some(leader) = &space.leader {
            self.known[f::LEADER_DISTANCE] =
                distance(&from, &leader.from).min(1 << 30).cast_signed();
        }
        if self.known[f::CHANGED_BEFORE] > 0 || self.known[f::CHANGED_EARLIER] > 0 {
            let (mut speed, mut acceleration) = (0, 0);
            for axis in 0..3 {
                let [at, before, earlier] =
                    [self.base, self.before, self.earlier].map(|words| number(words, axis));
                let (velocity, older) =
                    velocities(at.wrapping_sub(before), before.wrapping_sub(earlier), spans);
                speed += velocity.wrapping_abs() >> 2;
                acceleration += velocity.wrapping_sub(older).wrapping_abs() >> 2;
            }
            self.known[f::PLACE_SPEED] = speed;
            self.known[f::PLACE_ACCELERATION] = acceleration;
        }
    }

    /// Takes in what the leader and the neighbours did.
    pub(super) fn heed(&mut self) {
        let plan = self.plan;
        let first = usize::from(plan.place);
        let (mut leader_gap, mut neighbour_gap) = (0, 0);
        for axis in 0..3 {
            let number = |words: &[u32]| plan.modes[first + axis].number(words[first + axis]);
            let velocity = scaled(number(self.base).wrapping_sub(number(self.before)));
            leader_gap += velocity.saturating_sub(self.led[axis]).saturating_abs() >> 2;
            neighbour_gap += velocity.saturating_sub(self.rumour.swung[axis]).saturating_abs() >> 2;
        }
        self.known[f::LEADER_GAP] = leader_gap;
        self.known[f::NEIGHBOUR_GAP] = if self.rumour.count > 0 { neighbour_gap } else { -1 };
        self.known[f::NEIGHBOURS_MISSED] =
            if self.rumour.count > 0 { self.rumour.error } else { -1 };
    }

    /// How a word moves if it goes on as before, how that differs from before, and how many steps it went last.
    #[inline(always)]
    fn movement(
        mode: impl Numbers,
        (rows, word, at): (&Rows<'_>, usize, i32),
        spans: &[u32; 3],
    ) -> [i32; 3] {
        let before = mode.number(rows.before[word]);
        let earlier = mode.number(rows.earlier[word]);
        let last = mode.distance(before, at);
        let (velocity, older) = velocities(last, mode.distance(earlier, before), spans);
        [velocity, velocity.wrapping_sub(older), last]
    }

    /// How far a word's rate takes it, before and now.
    #[inline(always)]
    fn rate(&mut self, code: &WordCode, spans: &[u32; 3], row: &Row) -> [i32; 2] {
        let Some((rate, mode)) = code.rate else {
            self.known[f::RATE_CHANGE] = 0;
            return [0; 2];
        };
        let rate = usize::from(rate);
        let limit = |rate: i32| rate.clamp(-(1 << 18), 1 << 18);
        let old = limit(mode.number(self.base[rate]));
        let new = limit(mode.number(row[rate % ROW_WORDS]));
        self.known[f::RATE_CHANGE] = (new - old).abs();
        let span = spans[0].min(256).cast_signed();
        [old * span, new * span]
    }

    #[inline(always)]
    fn take_speed(&mut self, [velocity, change, _]: [i32; 3]) {
        self.known[f::SPEED] = velocity.wrapping_abs();
        self.known[f::ACCELERATION] = change.wrapping_abs();
        self.known[f::SPREAD] = velocity;
    }

    /// All that a word's prediction can be a sum of.
    pub(super) fn inputs(
        &mut self,
        (code, mode): (&WordCode, impl Numbers),
        (rows, word, at): (&Rows<'_>, usize, i32),
        spans: &[u32; 3],
        row: &Row,
        recent: i32,
    ) -> Inputs {
        let mut inputs = [0; INPUTS];
        let movement = Self::movement(mode, (rows, word, at), spans);
        [inputs[0], inputs[1], inputs[13]] = movement;
        inputs[13] = inputs[13].signum() * ONE;
        self.take_speed(movement);
        [inputs[2], inputs[3]] = self.rate(code, spans, row);
        if let Some(axis) = code.axis {
            let axis = usize::from(axis) % 3;
            inputs[4] = self.led[axis];
            inputs[5] = self.rumour.by[axis];
            inputs[6] = self.rumour.swung[axis];
            inputs[7] = self.rumour.missed[axis];
        }
        inputs[8] = scaled(self.known[f::RESIDUAL]);
        inputs[9] = scaled(self.known[f::RESIDUAL_BEFORE]);
        inputs[10] = recent;
        inputs[11] = ONE;
        inputs[12] = scaled(mode.distance(mode.number(rows.initial[word]), at));
        inputs
    }

    /// The same sum with what weighs anything, and with what is asked about taken in.
    #[inline(always)]
    pub(super) fn predict(
        &mut self,
        (tables, mode): (&WordTables, impl Numbers),
        (rows, word, at): (&Rows<'_>, usize, i32),
        spans: &[u32; 3],
        row: &Row,
        recent: i32,
    ) -> i32 {
        let code = &tables.code;
        let mut movement = [0; 3];
        if code.asks_speed {
            movement = Self::movement(mode, (rows, word, at), spans);
            self.take_speed(movement);
        }
        let mut rates = [0; 2];
        if code.asks_rate {
            rates = self.rate(code, spans, row);
        }
        if code.inputs == 0 {
            return 0;
        }
        let weights = tables.regression.weights(&self.known);
        let product = |input: usize, value: i32| i64::from(weights[input]) * i64::from(value);
        let mut sum = product(11, ONE);
        let mut add = |input: usize, value: i32| sum = sum.wrapping_add(product(input, value));
        if code.inputs & MOVEMENT != 0 {
            add(0, movement[0]);
            add(1, movement[1]);
        }
        if code.inputs & DIRECTION != 0 {
            add(13, movement[2].signum() * ONE);
        }
        if code.inputs & RATE != 0 {
            add(2, rates[0]);
            add(3, rates[1]);
        }
        if code.inputs & OTHERS != 0
            && let Some(axis) = code.axis
        {
            let (axis, rumour) = (usize::from(axis) % 3, &self.rumour);
            add(4, self.led[axis]);
            add(5, rumour.by[axis]);
            add(6, rumour.swung[axis]);
            add(7, rumour.missed[axis]);
        }
        if code.inputs & RESIDUALS != 0 {
            add(8, scaled(self.known[f::RESIDUAL]));
            add(9, scaled(self.known[f::RESIDUAL_BEFORE]));
        }
        if code.inputs & RECENT != 0 {
            add(10, recent);
        }
        if code.inputs & INITIAL != 0 {
            let initial = mode.number(rows.initial[word]);
            add(12, scaled(mode.distance(initial, at)));
        }
        rounded(sum)
    }

    pub(super) fn turn_inputs(
        &self,
        turned: &Turn,
        before: &Turn,
        leader: Option<Motion>,
    ) -> [Inputs; 3] {
        let led = leader.map_or([0; 3], |leader| leader.turn);
        let by = self.motion.by.map(|part| part.clamp(-(1 << 20), 1 << 20));
        std::array::from_fn(|axis| {
            [
                turned[0],
                turned[1],
                turned[2],
                turned[axis] - before[axis],
                led[axis],
                self.rumour.turn[axis],
                self.rumour.turn_missed[axis],
                by[0],
                by[1],
                by[2],
                self.motion.missed[(axis + 1) % 3].clamp(-(1 << 20), 1 << 20),
                self.motion.missed[(axis + 2) % 3].clamp(-(1 << 20), 1 << 20),
                ONE,
                0,
            ]
        })
    }

    /// What is known when a number is coded.
    #[inline(always)]
    pub(super) fn prepare(&mut self, (predicted, steps, at): (i32, i32, i32)) {
        let known = &mut self.known;
        known[f::PREDICTED] = steps;
        known[f::PREDICTED_SIZE] = predicted.wrapping_abs();
        known[f::FRACTION] = predicted.wrapping_sub(steps << FRACTION_BITS);
        known[f::SPREAD] = predicted.wrapping_sub(known[f::SPREAD]).wrapping_abs();
        known[f::VALUE] = at;
    }

    /// Takes in what a word's prediction missed; says how large that is.
    #[inline(always)]
    pub(super) fn note(&mut self, missed: i32, delta: i32) -> i32 {
        let size = missed.unsigned_abs().min(1 << 20).cast_signed();
        let known = &mut self.known;
        known[f::RESIDUAL_BEFORE] = known[f::RESIDUAL];
        known[f::RESIDUAL] = missed;
        known[f::RESIDUAL_SIZE] = size;
        known[f::RESIDUALS] += size;
        known[f::CHANGED_SO_FAR] += i32::from(delta != 0);
        size
    }

    /// Takes in how far a word went.
    #[inline(always)]
    pub(super) fn moved(&mut self, code: &WordCode, delta: i32, predicted: i32) {
        if let Some(tag) = code.tag {
            let feature = [f::TAG, f::SECOND_TAG][usize::from(tag) % 2];
            self.known[feature] = self.known[feature].wrapping_add(delta >> FRACTION_BITS);
        }
        if let Some(axis) = code.axis {
            let axis = usize::from(axis) % 3;
            self.motion.by[axis] = delta;
            self.motion.missed[axis] = delta.saturating_sub(predicted);
            self.known[f::MOVED] =
                (self.known[f::MOVED] + (delta.wrapping_abs() >> FRACTION_BITS)).min(1 << 24);
            self.known[f::MISSED] = (self.known[f::MISSED]
                + (self.motion.missed[axis].wrapping_abs() >> 2))
                .min(1 << 24);
        }
    }
}

/// How many steps a word is expected to go, within its range.
#[inline(always)]
pub(super) fn expected<M: Numbers>(word: u32, max: u32, predicted: i32) -> i32 {
    let steps = predicted.wrapping_add(ONE / 2) >> FRACTION_BITS;
    if !M::IS_RANGED {
        return steps;
    }
    // Beyond what a signed word holds nothing moves by steps.
    let max = max.min(i32::MAX.cast_unsigned()).cast_signed();
    let value = word.cast_signed();
    let within = value.wrapping_add(steps).clamp(0, max).wrapping_sub(value);
    // Nobody can tell beforehand which of the two it is.
    std::hint::select_unpredictable(steps == 0, 0, within)
}

/// How far something goes in the time to come if it goes on as before, and as it did before that.
#[inline(always)]
pub(super) fn velocities(last: i32, older: i32, spans: &[u32; 3]) -> (i32, i32) {
    let (last, older) = (scaled(last), scaled(older));
    if spans[0] == spans[1] && spans[1] == spans[2] {
        return (last, older);
    }
    spread(last, older, spans)
}

/// The same where the times differ, which is rare and apart from what is common.
#[inline(never)]
fn spread(last: i32, older: i32, spans: &[u32; 3]) -> (i32, i32) {
    let share = |moved: i32, span: u32| {
        let moved =
            i64::from(moved) * i64::from(spans[0].min(1 << 10)) / i64::from(span.clamp(1, 1 << 10));
        moved.clamp(-(1 << 29), 1 << 29) as i32
    };
    (share(last, spans[1]), share(older, spans[2]))
}
