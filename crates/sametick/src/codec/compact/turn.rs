//! Rotations in integers: small ones as vectors, whole ones as quaternions, the same on every machine.

/// So many bits behind the point.
pub(crate) const ONE_BITS: u32 = 14;
const ONE: i32 = 1 << ONE_BITS;

/// A quaternion (x, y, z, w).
pub(crate) type Quaternion = [i32; 4];
/// An axis times an angle; only for small ones.
pub(crate) type Turn = [i32; 3];

/// The square root of a half: no component but the largest is larger.
const HALF_ROOT: i64 = 11_585;

/// A quaternion from which component is largest and the others, each of `max` steps.
#[inline]
pub(crate) fn unpack(words: &[u32], max: u32) -> Quaternion {
    let largest = (words[0] % 4) as usize;
    let mut quaternion = [0; 4];
    let mut rest = ONE * ONE;
    let mut next = 1;
    let max = i64::from(max.max(1));
    for (part, component) in quaternion.iter_mut().enumerate() {
        if part != largest {
            let steps = 2 * i64::from(words[next]) - max;
            *component = (steps * HALF_ROOT / max) as i32;
            rest -= *component * *component;
            next += 1;
        }
    }
    quaternion[largest] = root(rest);
    quaternion
}

/// The whole part of a square root. The hardware's is exact and the same everywhere.
#[inline]
fn root(square: i32) -> i32 {
    f64::from(square.max(0)).sqrt() as i32
}

/// Which component is largest, and how much larger than the next.
#[inline]
pub(crate) fn largest(quaternion: &Quaternion) -> (usize, i32) {
    let (mut best, mut size, mut second) = (0, -1, -1);
    for (part, component) in quaternion.iter().enumerate() {
        let component = component.abs();
        if component > size {
            (best, second, size) = (part, size, component);
        } else if component > second {
            second = component;
        }
    }
    (best, size - second)
}

/// The components besides the largest, in words of `max` steps with four bits behind the point.
#[inline]
pub(crate) fn pack(quaternion: &Quaternion, largest: usize, max: u32) -> [i32; 3] {
    let sign = if quaternion[largest] < 0 { -1 } else { 1 };
    let max = i64::from(max);
    let word = |part: usize| {
        let part = if part < largest { part } else { part + 1 };
        let component = i64::from(quaternion[part] * sign);
        ((component + HALF_ROOT) * max * 16 / (2 * HALF_ROOT)) as i32
    };
    [word(0), word(1), word(2)]
}

#[inline]
fn multiply(a: &Quaternion, b: &Quaternion) -> Quaternion {
    let [ax, ay, az, aw] = a.map(i64::from);
    let [bx, by, bz, bw] = b.map(i64::from);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
    .map(|sum| ((sum + (1 << (ONE_BITS - 1))) >> ONE_BITS) as i32)
}

/// What turns `from` into `to`: twice the vector part.
#[inline]
pub(crate) fn between(from: &Quaternion, to: &Quaternion) -> Turn {
    let inverse = [-from[0], -from[1], -from[2], from[3]];
    let [x, y, z, w] = multiply(to, &inverse);
    let sign = if w < 0 { -2 } else { 2 };
    [sign * x, sign * y, sign * z]
}

/// `from`, turned.
#[inline]
pub(crate) fn apply(turn: &Turn, from: &Quaternion) -> Quaternion {
    let [x, y, z] = turn.map(|part| (part / 2).clamp(-ONE, ONE));
    let rest =
        i64::from(ONE).pow(2) - [x, y, z].map(|part| i64::from(part).pow(2)).iter().sum::<i64>();
    multiply(&[x, y, z, root(rest.max(0) as i32)], from)
}

/// A turn, ready to swing arms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swing {
    vector: [i64; 3],
    scalar: i64,
}

impl Swing {
    #[inline]
    pub(crate) fn new(turn: &Turn) -> Self {
        let vector = turn.map(|part| i64::from((part / 2).clamp(-ONE, ONE)));
        let rest = i64::from(ONE).pow(2) - vector.iter().map(|part| part * part).sum::<i64>();
        Self { vector, scalar: i64::from(root(rest.max(0) as i32)) }
    }

    /// Where it takes an arm, less the arm.
    #[inline(always)]
    pub(crate) fn of(&self, arm: &[i32; 3]) -> [i32; 3] {
        // With the vector part v and the scalar w: 2 w (v × a) + 2 v × (v × a).
        let once = cross(&self.vector, &arm.map(i64::from)).map(|part| part >> ONE_BITS);
        let twice = cross(&self.vector, &once);
        std::array::from_fn(|axis| {
            ((self.scalar * once[axis] + twice[axis]) >> (ONE_BITS - 1)) as i32
        })
    }
}

#[inline]
fn cross(a: &[i64; 3], b: &[i64; 3]) -> [i64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_one_into_another_does_so() {
        let from = unpack(&[3, 300, 200, 255], 511);
        let to = unpack(&[3, 310, 190, 270], 511);
        let back = apply(&between(&from, &to), &from);
        for (part, expected) in back.iter().zip(to) {
            assert!((part - expected).abs() < 40, "{back:?} is not {to:?}");
        }
        let packed = pack(&to, 3, 511);
        for (word, expected) in packed.iter().zip([310, 190, 270]) {
            assert!((word - 16 * expected).abs() <= 8, "{packed:?}");
        }
    }

    #[test]
    fn a_quarter_turn_about_the_upright_axis_takes_east_to_north() {
        // Half the root of two, twice over.
        let turn = [0, 0, 23_170];
        let [x, y, z] = Swing::new(&turn).of(&[16_000, 0, 0]);
        assert!((x + 16_000).abs() < 10 && (y - 16_000).abs() < 10 && z == 0, "{x} {y} {z}");
    }
}
