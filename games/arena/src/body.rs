//! How large a fighter is. A place is where its feet are: the middle of the lower side of its box.

use crate::vector::{Bounds, Vector};

/// Half the width of the box, on both level axes.
pub const RADIUS_METRES: f32 = 0.4;
/// From the feet to the crown, standing.
pub const STANDING_METRES: f32 = 1.75;
/// From the feet to the crown, crouched.
pub const CROUCHED_METRES: f32 = 1.2;
/// How far the eyes are below the crown.
pub const EYES_BELOW_CROWN_METRES: f32 = 0.2;
/// How far below the crown a hit still counts as one of the head.
pub const HEAD_METRES: f32 = 0.35;

/// From the feet to the crown.
pub fn height(is_crouched: bool) -> f32 {
    if is_crouched { CROUCHED_METRES } else { STANDING_METRES }
}

/// Half the sizes of the box.
pub fn half(is_crouched: bool) -> Vector {
    [RADIUS_METRES, RADIUS_METRES, height(is_crouched) / 2.0]
}

/// The middle of the box over these feet.
pub fn centre(feet: Vector, is_crouched: bool) -> Vector {
    [feet[0], feet[1], feet[2] + height(is_crouched) / 2.0]
}

/// The box over these feet.
pub fn bounds(feet: Vector, is_crouched: bool) -> Bounds {
    let centre = centre(feet, is_crouched);
    Bounds { low: centre, high: centre }.grown(half(is_crouched))
}

/// Where the eyes are over these feet.
pub fn eye(feet: Vector, is_crouched: bool) -> Vector {
    [feet[0], feet[1], feet[2] + height(is_crouched) - EYES_BELOW_CROWN_METRES]
}
