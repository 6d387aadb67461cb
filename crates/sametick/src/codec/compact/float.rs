//! What a float is beyond the number that it is coded as.

use super::feature as f;
use super::known::Entity;
use super::plan::{Mode, float_range, from_order, to_order};
use super::range::RAW_BITS_MAX;
use super::walk::{Part, Port, Subject};

/// What a float is beyond its number, most often nothing.
pub(super) fn float<P: Port>(
    port: &mut P,
    entity: &Entity<'_>,
    word: usize,
    (nearest, number): (u32, i32),
    mode: Mode,
) -> u32 {
    let Mode::Float { shift, times } = mode else { return nearest };
    let truth = entity.truth.map_or(0, |truth| truth[word]);
    let about = |part| Subject { kind: Some(entity.kind), part };
    let mut known = entity.known;
    known[f::VALUE] = i32::from(mode.word(mode.number(entity.base[word])) == entity.base[word]);
    let part = Part::OnGrid(word as u8);
    if port.flag(about(part), &entity.tables.words[word].on_grid, &known, truth == nearest) {
        return nearest;
    }
    let Some((first, more)) = float_range(number, shift, times) else {
        port.fail();
        return nearest;
    };
    let index = to_order(truth).wrapping_sub(first);
    let mut left = u32::BITS - more.leading_zeros();
    let mut read = 0;
    while left > 0 {
        let bits = left.min(RAW_BITS_MAX);
        left -= bits;
        let piece = index >> left & ((1 << bits) - 1);
        read = read << bits | port.raw(about(Part::OffGrid(word as u8)), bits, piece);
    }
    let value = from_order(first.wrapping_add(read));
    if read > more || value == nearest {
        port.fail();
    }
    value
}
