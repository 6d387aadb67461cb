//! One entity between two of its states, or beyond them: how it looks at a moment that nobody was told
//! of. Floats slide, angles and rotations turn the short way round, all else changes at once.

use crate::schema::entities::Entities;
use crate::schema::kinds::{Kind, Octahedral, Quaternion};
use crate::schema::record::{Layout, ROW_WORDS, Row};
use crate::schema::word::{Blend, Meaning, Word};

/// `from` at part 0, `to` at part 1, something between or, past 1, further on in the same direction.
/// Both are of one kind; what cannot slide is that of `from` until `to` is reached.
pub(crate) fn between<E: Entities>(layouts: &[Layout], from: &E, to: &E, part: f64) -> E {
    if from.kind() != to.kind() || part == 0.0 {
        return if part < 1.0 { from.clone() } else { to.clone() };
    }
    let layout = &layouts[usize::from(from.kind())];
    let [a, b] = rows(layouts, [from, to]);
    let mut out = if part < 1.0 { a } else { b };
    each_group(layout, &[&a, &b], |index, word, group| match group {
        Group::Number => {
            let [from, to] = [a[index], b[index]].map(|bits| number(word, bits));
            out[index] = bits(word, from + shorter(word, to - from) * part);
        }
        Group::Rotation(kind) => {
            let [from, to] = [&a, &b].map(|row| kind.scatter(&row[index..]).map(f64::from));
            let turned = slide(from, nearest(to, from), part).map(|axis| axis as f32);
            kind.gather(&turned, &mut out[index..]);
        }
        Group::Direction(kind) => {
            let [from, to] = [&a, &b].map(|row| kind.scatter(&row[index..]).map(f64::from));
            kind.gather(&slide(from, to, part).map(|axis| axis as f32), &mut out[index..]);
        }
    });
    let mut entity = if part < 1.0 { from.clone() } else { to.clone() };
    entity.scatter(layouts, &out);
    entity
}

/// `target`, moved by a share of the way from `right` to `shown`: what is left of an error.
pub(crate) fn moved<E: Entities>(
    layouts: &[Layout],
    target: &E,
    right: &E,
    shown: &E,
    share: f64,
) -> E {
    if target.kind() != right.kind() || right.kind() != shown.kind() {
        return target.clone();
    }
    let layout = &layouts[usize::from(target.kind())];
    let [t, r, s] = rows(layouts, [target, right, shown]);
    let mut out = t;
    each_group(layout, &[&t, &r, &s], |index, word, group| match group {
        Group::Number => {
            let [t, r, s] = [t[index], r[index], s[index]].map(|bits| number(word, bits));
            out[index] = bits(word, t + shorter(word, s - r) * share);
        }
        Group::Rotation(kind) => {
            let [t, r, s] = [&t, &r, &s].map(|row| kind.scatter(&row[index..]).map(f64::from));
            let error = product(s, [-r[0], -r[1], -r[2], r[3]]);
            let none = [0.0, 0.0, 0.0, 1.0];
            let turned = product(slide(none, nearest(error, none), share), t);
            kind.gather(&turned.map(|axis| axis as f32), &mut out[index..]);
        }
        Group::Direction(kind) => {
            let [t, r, s] = [&t, &r, &s].map(|row| kind.scatter(&row[index..]).map(f64::from));
            let turned = std::array::from_fn(|axis| (t[axis] + (s[axis] - r[axis]) * share) as f32);
            kind.gather(&turned, &mut out[index..]);
        }
    });
    let mut entity = target.clone();
    entity.scatter(layouts, &out);
    entity
}

/// Whether two of one kind differ in anything that is told of them.
pub(crate) fn differ<E: Entities>(layouts: &[Layout], one: &E, other: &E) -> bool {
    let [a, b] = rows(layouts, [one, other]);
    one.kind() != other.kind() || a != b
}

enum Group {
    Number,
    Rotation(Quaternion),
    Direction(Octahedral),
}

/// Calls for each word that slides or turns, once for those that turn together. Lists that are not of
/// the same length have no items to compare.
fn each_group(layout: &Layout, rows: &[&Row], mut visit: impl FnMut(usize, &Word, Group)) {
    let mut index = 0;
    while let Some(word) = layout.words().get(index) {
        let (group, words) = match (word.blend, &word.meaning) {
            (Blend::Arc, Meaning::Rotation(kind)) => (Group::Rotation(*kind), Quaternion::WORDS),
            (Blend::Arc, Meaning::Ranged { .. }) => {
                (Group::Direction(Octahedral::of_max(word.max)), Octahedral::WORDS)
            }
            (Blend::Snap, Meaning::ListLength { .. })
                if rows.iter().any(|row| row[index] != rows[0][index]) =>
            {
                index += 1 + word.words_behind();
                continue;
            }
            (Blend::Snap, _) => {
                index += 1;
                continue;
            }
            _ => (Group::Number, 1),
        };
        visit(index, word, group);
        index += words;
    }
}

fn rows<E: Entities, const N: usize>(layouts: &[Layout], entities: [&E; N]) -> [Row; N] {
    entities.map(|entity| {
        let mut row = [0; ROW_WORDS];
        entity.clone().record(layouts, &mut row);
        row
    })
}

/// What a word that slides or turns stands for; steps, where it has steps.
fn number(word: &Word, bits: u32) -> f64 {
    match &word.meaning {
        Meaning::Exact => f64::from(f32::from_bits(bits)),
        Meaning::SmallFloat(float) => f64::from(float.to_value(bits)),
        _ => f64::from(bits),
    }
}

/// The word for a number, the nearest there is.
fn bits(word: &Word, number: f64) -> u32 {
    match &word.meaning {
        Meaning::Exact => {
            let finite = (number as f32).clamp(f32::MIN, f32::MAX);
            finite.to_bits()
        }
        Meaning::SmallFloat(float) => float.to_word(number as f32),
        Meaning::Angle { bits } => {
            let turn = f64::from(1u32 << (bits - 1)) * 2.0;
            (number.round_ties_even().rem_euclid(turn) as u32).min(word.max)
        }
        _ => number.round_ties_even().clamp(0.0, f64::from(word.max)) as u32,
    }
}

/// The difference of two numbers; of two angles, the short way round.
fn shorter(word: &Word, difference: f64) -> f64 {
    let Meaning::Angle { bits } = word.meaning else { return difference };
    let turn = f64::from(1u32 << (bits - 1)) * 2.0;
    let turned = difference.rem_euclid(turn);
    if turned > turn / 2.0 { turned - turn } else { turned }
}

fn slide<const N: usize>(from: [f64; N], to: [f64; N], part: f64) -> [f64; N] {
    std::array::from_fn(|axis| from[axis] + (to[axis] - from[axis]) * part)
}

/// A rotation and its negative are the same: the one that is nearer.
fn nearest(rotation: [f64; 4], to: [f64; 4]) -> [f64; 4] {
    let cosine: f64 = rotation.iter().zip(to).map(|(a, b)| a * b).sum();
    if cosine < 0.0 { rotation.map(|axis| -axis) } else { rotation }
}

/// Two rotations, the second first.
fn product([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::entities::Layouts;
    use crate::schema::fields::{Fields, Networked};

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Thing {
        x: f32,
        z: f32,
        yaw: f32,
        health: u8,
        turn: [f32; 4],
        aim: [f32; 3],
    }

    impl Networked for Thing {
        fn fields<F: Fields>(&mut self, f: &mut F) {
            f.exact("x", &mut self.x);
            f.ranged("z", &mut self.z, -10.0..=10.0, 0.01);
            f.angle("yaw", &mut self.yaw, 12);
            f.int("health", &mut self.health, 0..=100);
            f.quaternion("turn", &mut self.turn, 12);
            f.octahedral("aim", &mut self.aim, 12);
        }
    }

    crate::entities! { enum Entity { Thing } }

    fn thing(x: f32, yaw: f32, health: u8) -> Thing {
        let [half, whole] = [yaw / 2.0, yaw];
        Thing {
            x,
            z: x,
            yaw: whole,
            health,
            turn: [0.0, 0.0, libm::sinf(half), libm::cosf(half)],
            aim: [libm::cosf(whole), libm::sinf(whole), 0.0],
        }
    }

    fn part_of(from: &Thing, to: &Thing, part: f64) -> Thing {
        let layouts = Layouts::of::<Entity>();
        let [from, to] = [from, to].map(|thing| Entity::from(thing.clone()));
        let Entity::Thing(thing) = between(&layouts.state, &from, &to, part);
        thing
    }

    fn assert_near(a: f32, b: f32) {
        assert!((a - b).abs() < 0.01, "{a} is not {b}");
    }

    #[test]
    fn half_way_everything_is_half_way_and_what_cannot_slide_waits() {
        let half = part_of(&thing(1.0, 3.0, 80), &thing(2.0, -3.0, 60), 0.5);
        assert_near(half.x, 1.5);
        assert_near(half.z, 1.5);
        assert_near(half.yaw.abs(), std::f32::consts::PI);
        assert_near(half.aim[0], -1.0);
        assert_near(half.turn[2].abs(), 1.0);
        assert_eq!(half.health, 80);
        assert_eq!(part_of(&thing(1.0, 0.0, 80), &thing(2.0, 0.0, 60), 1.0).health, 60);
    }

    #[test]
    fn past_the_end_it_goes_on_and_stays_within_what_can_be_written() {
        let beyond = part_of(&thing(1.0, 0.1, 80), &thing(2.0, 0.2, 60), 3.0);
        assert_near(beyond.x, 4.0);
        assert_near(beyond.yaw, 0.4);
        let edge = part_of(&thing(0.0, 0.0, 0), &thing(9.0, 0.0, 0), 3.0);
        assert_near(edge.z, 10.0);
    }

    #[test]
    fn an_error_is_shown_in_shares_along_the_shortest_way() {
        let layouts = Layouts::of::<Entity>();
        let [target, right, shown] =
            [thing(5.0, 0.0, 50), thing(1.0, -3.1, 50), thing(2.0, 3.1, 40)].map(Entity::from);
        let Entity::Thing(half) = moved(&layouts.state, &target, &right, &shown, 0.5);
        assert_near(half.x, 5.5);
        assert_near(half.yaw, (6.2 - std::f32::consts::TAU) / 2.0);
        assert_near(half.turn[3], 1.0);
        assert_eq!(half.health, 50);
        let Entity::Thing(none) = moved(&layouts.state, &target, &right, &shown, 0.0);
        assert_eq!(none.x, 5.0);
    }
}
