//! The part of the walk that codes a rotation: the base turned as predicted, then what that missed.

use super::feature as f;
use super::known::Entity;
use super::records::Records;
use super::tree::FRACTION_BITS;
use super::turn::{self, Turn};
use super::walk::{Part, Port, Subject, Walk};
use crate::schema::record::ROW_WORDS;

const ONE: i32 = 1 << FRACTION_BITS;

impl<'a, P: Port, R: Records<'a>> Walk<'a, P, R> {
    /// Codes four words as one rotation: the base turned as predicted, then what that missed.
    pub(super) fn rotation(&mut self, entity: &mut Entity<'a>, first: usize) {
        let max = entity.layout.words()[first + 1].max;
        let unpack = |words: &[u32]| turn::unpack(&words[first..first + 4], max);
        let base = unpack(entity.base);
        let turned = turn::between(&unpack(entity.before), &base);
        let turned_before = turn::between(&unpack(entity.earlier), &unpack(entity.before));
        let came = entity.truth.map(|truth| turn::between(&base, &unpack(truth)));
        let inputs = entity.turn_inputs(&turned, &turned_before, self.memory.space.leader);
        entity.known[f::SPEED] = turned.iter().map(|part| part.abs()).sum();
        entity.known[f::ACCELERATION] =
            (0..3).map(|axis| (turned[axis] - turned_before[axis]).abs()).sum();
        let mut predicted: Turn = [0; 3];
        for axis in 0..3 {
            let about = Subject { kind: Some(entity.kind), part: Part::Turn(axis as u8) };
            self.port.learn(about, &entity.known, &inputs[axis], came.map_or(0, |came| came[axis]));
            predicted[axis] = entity.tables.turns[axis].predict(&entity.known, &inputs[axis]);
            predicted[axis] = predicted[axis].clamp(-(1 << 15), 1 << 15);
        }
        let guess = turn::apply(&predicted, &base);
        self.components(entity, first, &guess, &predicted);
        let row = &self.memory.row;
        let turn = turn::between(&base, &unpack(&row[..]));
        entity.motion.turn = turn;
        entity.motion.turn_missed = std::array::from_fn(|axis| turn[axis] - predicted[axis]);
    }

    fn components(
        &mut self,
        entity: &mut Entity<'a>,
        first: usize,
        guess: &turn::Quaternion,
        by: &Turn,
    ) {
        let max = entity.layout.words()[first + 1].max;
        let truth = entity.truth.map(|truth| &truth[first..first + 4]);
        let (likely, lead) = turn::largest(guess);
        let kind = entity.kind;
        let subject = |word: usize| Subject { kind: Some(kind), part: Part::Word(word as u8) };
        entity.known[f::SPREAD] = lead;
        entity.known[f::PREDICTED_SIZE] = by.iter().map(|part| part.abs()).sum();
        entity.known[f::PREDICTED] = likely as i32 - entity.base[first].cast_signed();
        let wrapped = |value: i32| value << 30 >> 30;
        let missed = wrapped(truth.map_or(0, |truth| truth[0].cast_signed()) - likely as i32);
        let model = &entity.tables.words[first].numbers;
        let missed = self.port.number(subject(first), model, &entity.known, missed);
        let largest = (likely as i32 + missed) & 3;
        if wrapped(missed) != missed {
            return self.port.fail();
        }
        self.memory.row[first] = largest.cast_unsigned();
        let words = turn::pack(guess, largest as usize, max);
        let is_same = largest.cast_unsigned() == entity.base[first];
        for (index, predicted) in words.into_iter().enumerate() {
            let word = first + 1 + index;
            let guess = ((predicted + ONE / 2) >> FRACTION_BITS).clamp(0, max.cast_signed());
            let at = if is_same { entity.base[word].cast_signed() } else { guess };
            let recent = self.memory.recent[usize::from(entity.kind)][word];
            entity.known[f::PREDICTED] = guess - at;
            entity.known[f::FRACTION] = predicted - (guess << FRACTION_BITS);
            entity.known[f::VALUE] = guess;
            (entity.known[f::RECENT_SIZE], entity.known[f::RECENT]) =
                (recent.size, recent.residual);
            let now = truth.map_or(0, |truth| truth[index + 1].cast_signed());
            let model = &entity.tables.words[word].numbers;
            let missed = self.port.number(subject(word), model, &entity.known, now - guess);
            let value = guess.wrapping_add(missed).cast_unsigned();
            if value > max {
                return self.port.fail();
            }
            self.memory.row[word] = value;
            let delta = i32::from(value != entity.base[word]);
            let size = entity.note(missed, delta);
            let recent = &mut self.memory.recent[usize::from(entity.kind)][word % ROW_WORDS];
            recent.note(missed, size, delta);
        }
    }
}
