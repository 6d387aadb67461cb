//! Arithmetic on places and directions, the same bits on every machine. Metres; z points up.

/// A place, a direction or a speed: x, y and z.
pub type Vector = [f32; 3];

/// The sum, axis by axis.
#[inline]
pub fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// From `b` to `a`.
#[inline]
pub fn subtract(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// As many times as long.
#[inline]
pub fn scale(a: Vector, times: f32) -> Vector {
    [a[0] * times, a[1] * times, a[2] * times]
}

/// `a`, and from there `times` along `b`.
#[inline]
pub fn along(a: Vector, b: Vector, times: f32) -> Vector {
    add(a, scale(b, times))
}

/// How far `a` reaches along `b`, times the length of `b`.
#[inline]
pub fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// At right angles to both, by the right hand.
#[inline]
pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// How long it is.
#[inline]
pub fn length(a: Vector) -> f32 {
    dot(a, a).sqrt()
}

/// Of length one; nothing stays nothing.
#[inline]
pub fn unit(a: Vector) -> Vector {
    let length = length(a);
    if length > 0.0 { scale(a, 1.0 / length) } else { a }
}

/// The lesser of both on each axis.
#[inline]
pub fn least(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|axis| a[axis].min(b[axis]))
}

/// The greater of both on each axis.
#[inline]
pub fn greatest(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|axis| a[axis].max(b[axis]))
}

/// Where one looks: yaw turns left from +x, pitch up from the horizon, both in radians.
pub fn direction(yaw: f32, pitch: f32) -> Vector {
    let ((sine, cosine), (up, flat)) = (libm::sincosf(yaw), libm::sincosf(pitch));
    [cosine * flat, sine * flat, up]
}

/// A box whose sides follow the axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The lowest corner.
    pub low: Vector,
    /// The highest corner.
    pub high: Vector,
}

impl Bounds {
    /// What holds every one of the places; at the origin if there are none.
    pub fn around(places: impl IntoIterator<Item = Vector>) -> Self {
        let mut places = places.into_iter();
        let first = places.next().unwrap_or_default();
        places.fold(Self { low: first, high: first }, |bounds, place| Self {
            low: least(bounds.low, place),
            high: greatest(bounds.high, place),
        })
    }

    /// Wider by `by` on both ends of each axis.
    pub fn grown(self, by: Vector) -> Self {
        Self { low: subtract(self.low, by), high: add(self.high, by) }
    }

    /// The same box elsewhere.
    pub fn moved(self, by: Vector) -> Self {
        Self { low: add(self.low, by), high: add(self.high, by) }
    }

    /// What holds both.
    pub fn joined(self, other: Self) -> Self {
        Self { low: least(self.low, other.low), high: greatest(self.high, other.high) }
    }

    /// Whether the two share a place.
    pub fn touches(self, other: Self) -> bool {
        (0..3).all(|axis| self.low[axis] <= other.high[axis] && other.low[axis] <= self.high[axis])
    }

    /// Whether a place is inside or on the edge.
    pub fn contains(self, place: Vector) -> bool {
        self.touches(Self { low: place, high: place })
    }

    /// How much of a straight line lies before it enters: nothing if it begins inside.
    pub fn crossed(self, from: Vector, to: Vector) -> Option<f32> {
        let (mut enters, mut leaves) = (0.0_f32, 1.0_f32);
        for axis in 0..3 {
            let way = to[axis] - from[axis];
            let (low, high) = (self.low[axis] - from[axis], self.high[axis] - from[axis]);
            if way == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return None;
                }
            } else {
                let (near, far) = if way > 0.0 { (low, high) } else { (high, low) };
                (enters, leaves) = (enters.max(near / way), leaves.min(far / way));
            }
        }
        (enters <= leaves).then_some(enters)
    }

    /// Its middle.
    pub fn centre(self) -> Vector {
        scale(add(self.low, self.high), 0.5)
    }

    /// From its middle to its highest corner.
    pub fn half(self) -> Vector {
        scale(subtract(self.high, self.low), 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_enters_a_box_or_does_not() {
        let bounds = Bounds { low: [0.0; 3], high: [1.0; 3] };
        assert_eq!(bounds.crossed([-1.0, 0.5, 0.5], [1.0, 0.5, 0.5]), Some(0.5));
        assert_eq!(bounds.crossed([0.5, 0.5, 3.0], [0.5, 0.5, -1.0]), Some(0.5));
        assert_eq!(bounds.crossed([0.5; 3], [3.0, 0.5, 0.5]), Some(0.0), "it begins inside");
        assert_eq!(bounds.crossed([-1.0, 2.0, 0.5], [1.0, 2.0, 0.5]), None);
        assert_eq!(bounds.crossed([-3.0, 0.5, 0.5], [-1.0, 0.5, 0.5]), None, "it ends before");
    }
}
