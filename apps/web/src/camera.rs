//! Where one looks from, as the matrices that shaders want: column by column, z up in the world.

use sametick_arena::vector::{Vector, cross, direction, dot, unit};

/// Four columns of four.
pub(crate) type Matrix = [f32; 16];

/// Nothing nearer than this is drawn.
pub(crate) const NEAR_METRES: f32 = 0.08;
/// Nothing farther.
pub(crate) const FAR_METRES: f32 = 320.0;

/// A place, a direction and how much is seen from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Camera {
    /// Where the eye is.
    pub(crate) eye: Vector,
    /// Left from +x, in radians.
    pub(crate) yaw: f32,
    /// Up from the horizon.
    pub(crate) pitch: f32,
    /// How much is seen from left to right, in radians.
    pub(crate) width: f32,
    /// By how much of half the picture's width its middle is moved to the right.
    pub(crate) shift: f32,
}

impl Camera {
    /// Where it looks.
    pub(crate) fn forward(&self) -> Vector {
        direction(self.yaw, self.pitch)
    }

    /// Its right side.
    pub(crate) fn right(&self) -> Vector {
        let (sine, cosine) = self.yaw.sin_cos();
        [sine, -cosine, 0.0]
    }

    /// Its upper side.
    pub(crate) fn up(&self) -> Vector {
        cross(self.right(), self.forward())
    }

    /// From the world to the picture, whose width is `aspect` times its height.
    pub(crate) fn matrix(&self, aspect: f32) -> Matrix {
        let view = look(self.eye, self.right(), self.up(), self.forward());
        multiply(&perspective(self.width, aspect, self.shift), &view)
    }

    /// Looks from a place towards another.
    pub(crate) fn towards(eye: Vector, at: Vector, width: f32) -> Self {
        let [x, y, z] = [0, 1, 2].map(|axis| at[axis] - eye[axis]);
        let flat = (x * x + y * y).sqrt();
        Self { eye, yaw: y.atan2(x), pitch: z.atan2(flat), width, shift: 0.0 }
    }
}

/// One after the other: `b` first.
pub(crate) fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut product = [0.0; 16];
    for column in 0..4 {
        for row in 0..4 {
            product[column * 4 + row] = (0..4).map(|k| a[k * 4 + row] * b[column * 4 + k]).sum();
        }
    }
    product
}

/// Where a place comes to be, with the fourth part that it is to be divided by.
#[cfg(test)]
pub(crate) fn transform(matrix: &Matrix, place: Vector) -> [f32; 4] {
    [0, 1, 2, 3].map(|row| {
        (0..3).map(|column| matrix[column * 4 + row] * place[column]).sum::<f32>()
            + matrix[12 + row]
    })
}

/// So that the eye is at the origin and looks down the negative z axis.
fn look(eye: Vector, right: Vector, up: Vector, forward: Vector) -> Matrix {
    let back = forward.map(|part| -part);
    let mut matrix = [0.0; 16];
    for (row, axis) in [right, up, back].into_iter().enumerate() {
        for column in 0..3 {
            matrix[column * 4 + row] = axis[column];
        }
        matrix[12 + row] = -dot(axis, eye);
    }
    matrix[15] = 1.0;
    matrix
}

fn perspective(width: f32, aspect: f32, shift: f32) -> Matrix {
    let across = 1.0 / (width / 2.0).tan();
    let depth = NEAR_METRES - FAR_METRES;
    let mut matrix = [0.0; 16];
    (matrix[0], matrix[5]) = (across, across * aspect);
    (matrix[8], matrix[11]) = (-shift, -1.0);
    matrix[10] = (FAR_METRES + NEAR_METRES) / depth;
    matrix[14] = 2.0 * FAR_METRES * NEAR_METRES / depth;
    matrix
}

/// What the sun sees: a square of the world around `middle`, `half` metres to each side.
pub(crate) fn sun_matrix(middle: Vector, sun: Vector, half: f32, depth: f32) -> Matrix {
    let forward = sun.map(|part| -part);
    let right = unit(cross(forward, [0.0, 0.0, 1.0]));
    let up = cross(right, forward);
    let view = look(middle, right, up, forward);
    let mut squeeze = [0.0; 16];
    (squeeze[0], squeeze[5], squeeze[10], squeeze[15]) =
        (1.0 / half, 1.0 / half, -1.0 / depth, 1.0);
    multiply(&squeeze, &view)
}

/// The nearest place whose shadow falls on whole dots of the shadow map, lest shadows crawl when the eye moves.
pub(crate) fn snapped(middle: Vector, sun: Vector, step: f32) -> Vector {
    let forward = sun.map(|part| -part);
    let right = unit(cross(forward, [0.0, 0.0, 1.0]));
    let up = cross(right, forward);
    let mut snapped = [0.0; 3];
    for axis in [right, up, forward] {
        let along = (dot(middle, axis) / step).round() * step;
        for part in 0..3 {
            snapped[part] += axis[part] * along;
        }
    }
    snapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_screen(camera: Camera, place: Vector) -> [f32; 2] {
        let [x, y, _, w] = transform(&camera.matrix(16.0 / 9.0), place);
        [x / w, y / w]
    }

    const STRAIGHT: Camera =
        Camera { eye: [1.0, 2.0, 3.0], yaw: 0.0, pitch: 0.0, width: 1.5707964, shift: 0.0 };

    #[test]
    fn what_one_looks_at_is_in_the_middle() {
        for (yaw, pitch) in [(0.0, 0.0), (1.0, 0.3), (-2.5, -1.2)] {
            let camera = Camera { yaw, pitch, ..STRAIGHT };
            let forward = camera.forward();
            let place = [0, 1, 2].map(|axis| camera.eye[axis] + forward[axis] * 7.0);
            let [x, y] = on_screen(camera, place);
            assert!(x.abs() < 1e-5 && y.abs() < 1e-5, "{x} {y}");
            let again = Camera::towards(camera.eye, place, camera.width);
            assert!((again.yaw - yaw).abs() < 1e-5 && (again.pitch - pitch).abs() < 1e-5);
        }
    }

    #[test]
    fn right_is_right_and_up_is_up() {
        // +y is to the left of whoever looks along +x; 90 degrees across reach as far as they are away.
        let [x, y] = on_screen(STRAIGHT, [11.0, -8.0, 3.0]);
        assert!((x - 1.0).abs() < 1e-5 && y.abs() < 1e-5, "{x} {y}");
        assert!(on_screen(STRAIGHT, [11.0, 2.0, 5.0])[1] > 0.3);
    }

    #[test]
    fn a_shifted_picture_has_its_middle_elsewhere() {
        let camera = Camera { shift: 0.3, ..STRAIGHT };
        assert!((on_screen(camera, [11.0, 2.0, 3.0])[0] - 0.3).abs() < 1e-5);
    }

    #[test]
    fn the_sun_sees_its_square() {
        let sun = unit([0.3, 0.5, 0.4]);
        let matrix = sun_matrix([5.0, 6.0, 0.0], sun, 30.0, 80.0);
        let [x, y, _, w] = transform(&matrix, [5.0, 6.0, 0.0]);
        assert!(x.abs() < 1e-5 && y.abs() < 1e-5 && w == 1.0);
        let snapped = snapped([5.01, 6.02, 0.03], sun, 0.0625);
        assert!((0..3).all(|axis| (snapped[axis] - [5.01, 6.02, 0.03][axis]).abs() < 0.1));
    }
}
