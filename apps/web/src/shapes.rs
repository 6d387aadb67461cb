//! The three shapes of which all that moves is made: a box, a capsule and a ball. Vertices are a place, a normal,
//! and the way outwards that an outline grows in.

use sametick_arena::vector::{Vector, add, scale, unit};

/// Place, normal, outwards.
pub(crate) const SHAPE_FLOATS: usize = 9;
/// The round parts of a capsule.
pub(crate) const CAPSULE_RADIUS: f32 = 0.5;

/// Triangles of a shape.
pub(crate) struct Shape {
    /// [`SHAPE_FLOATS`] each.
    pub(crate) vertices: Vec<f32>,
    /// Three to a triangle.
    pub(crate) indices: Vec<u16>,
}

/// From -½ to ½ on each axis.
pub(crate) fn cuboid() -> Shape {
    let mut shape = Shape { vertices: Vec::new(), indices: Vec::new() };
    for side in 0..6_usize {
        let (axis, way) = (side % 3, if side < 3 { 0.5 } else { -0.5 });
        let first = (shape.vertices.len() / SHAPE_FLOATS) as u16;
        for (u, v) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
            let mut place = [0.0; 3];
            // Turned round on the far sides, so that all faces go anticlockwise.
            (place[axis], place[(axis + 1) % 3], place[(axis + 2) % 3]) = (way, u * way * 2.0, v);
            let mut normal = [0.0; 3];
            normal[axis] = way * 2.0;
            shape.add(place, normal, unit(place));
        }
        shape.indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }
    shape
}

/// Half a metre in radius, two metres high around the origin: the one that is squeezed into bodies.
pub(crate) fn capsule() -> Shape {
    round(20, 12, 1.0 - CAPSULE_RADIUS, CAPSULE_RADIUS)
}

/// Half a metre in radius.
pub(crate) fn ball() -> Shape {
    round(16, 10, 0.0, 0.5)
}

/// Two halves of a ball, each as far from the middle as `apart`.
fn round(around: u16, rings: u16, apart: f32, radius: f32) -> Shape {
    let mut shape = Shape { vertices: Vec::new(), indices: Vec::new() };
    for ring in 0..=rings {
        // The middle ring is there twice: once for each half.
        for half in if ring * 2 == rings { &[-1.0_f32, 1.0][..] } else { &[0.0][..] } {
            let angle = (f32::from(ring) / f32::from(rings) - 0.5) * std::f32::consts::PI;
            let lift = if *half == 0.0 { angle.signum() } else { *half } * apart;
            for step in 0..=around {
                let turn = f32::from(step) / f32::from(around) * std::f32::consts::TAU;
                let (flat, up) = (angle.cos(), angle.sin());
                let normal = [flat * turn.cos(), flat * turn.sin(), up];
                shape.add(add(scale(normal, radius), [0.0, 0.0, lift]), normal, normal);
            }
        }
    }
    let rows = (shape.vertices.len() / SHAPE_FLOATS) as u16 / (around + 1);
    for row in 0..rows - 1 {
        for step in 0..around {
            let (a, c) = (row * (around + 1) + step, (row + 1) * (around + 1) + step);
            shape.indices.extend([a, a + 1, c + 1, a, c + 1, c]);
        }
    }
    shape
}

impl Shape {
    fn add(&mut self, place: Vector, normal: Vector, outwards: Vector) {
        self.vertices.extend(place);
        self.vertices.extend(normal);
        self.vertices.extend(outwards);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick_arena::vector::{cross, dot, subtract};

    #[test]
    fn all_triangles_face_outwards() {
        for (name, shape) in [("box", cuboid()), ("capsule", capsule()), ("ball", ball())] {
            let place = |index: u16| -> Vector {
                let at = usize::from(index) * SHAPE_FLOATS;
                [shape.vertices[at], shape.vertices[at + 1], shape.vertices[at + 2]]
            };
            for triangle in shape.indices.chunks(3) {
                let [a, b, c] = [place(triangle[0]), place(triangle[1]), place(triangle[2])];
                let normal = cross(subtract(b, a), subtract(c, a));
                assert!(dot(normal, add(a, add(b, c))) >= -1e-6, "{name}: {a:?} {b:?} {c:?}");
            }
        }
    }
}
