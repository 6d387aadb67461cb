//! A convex solid, and the sweep of a box against it.
//!
//! A `.map` brush is a set of planes. A box sweeps against it as a point does against the planes pushed
//! outwards by the box; with the bevels that Quake 2's compiler adds (an axis or an edge of the brush
//! against an axis of the box) that set of planes is the exact sum of the two. It takes a few
//! multiplications a plane, no iteration, no tolerance but one skin, and only operations that give the same bits
//! everywhere. `parry3d` could do it too, from corners instead of planes and by iteration; nothing of what it
//! offers besides is needed here.

use crate::vector::{Bounds, Vector, add, along, cross, dot, scale, subtract, unit};

/// How far a swept box stays away from what it hits: more than half of what positions are shown to
/// others by, so that a shown box is never inside a wall.
pub const SKIN_METRES: f32 = 0.005;

/// The most planes of a brush.
const FACES_MAX: usize = 64;

/// How near to a plane a corner counts as being on it.
const ON_PLANE: f32 = 1e-3;

/// The places where `normal · place <= distance` are behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plane {
    /// Points away from what is behind it; of length one.
    pub normal: Vector,
    /// From the origin, along the normal.
    pub distance: f32,
}

/// What lies behind all of its planes.
#[derive(Clone, Debug, PartialEq)]
pub struct Brush {
    /// Its faces, then the bevels that only boxes need.
    planes: Vec<Plane>,
    textures: Vec<String>,
    bounds: Bounds,
}

/// How a sweep went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trace {
    /// How much of the way is free: 1 is all of it.
    pub fraction: f32,
    /// Where it ended.
    pub end: Vector,
    /// Away from what was hit; nothing if nothing was.
    pub normal: Vector,
    /// Whether it began inside something; then there is no way at all.
    pub started_inside: bool,
}

impl Plane {
    /// How far a place is in front.
    #[inline]
    pub fn height(self, place: Vector) -> f32 {
        dot(self.normal, place) - self.distance
    }

    /// How far a box reaches along the normal, from its middle.
    #[inline]
    fn reach(self, half: Vector) -> f32 {
        let [x, y, z] = self.normal;
        x.abs() * half[0] + y.abs() * half[1] + z.abs() * half[2]
    }
}

impl Trace {
    /// A way with nothing in it.
    pub fn free(to: Vector) -> Self {
        Self { fraction: 1.0, end: to, normal: [0.0; 3], started_inside: false }
    }

    /// Whether something was in the way.
    pub fn is_hit(&self) -> bool {
        self.fraction < 1.0
    }

    /// Takes note of something in the way from `from` to `to`, if it is nearer.
    #[inline]
    pub(crate) fn meet(&mut self, fraction: f32, normal: Vector, from: Vector, to: Vector) {
        if fraction < self.fraction {
            *self = Self {
                fraction,
                normal,
                end: along(from, subtract(to, from), fraction),
                started_inside: self.started_inside,
            };
        }
    }
}

impl Brush {
    /// The brush of some faces; none if they enclose nothing.
    pub fn new(faces: Vec<(Plane, String)>) -> Option<Self> {
        if faces.len() > FACES_MAX {
            return None;
        }
        let (mut planes, textures): (Vec<Plane>, _) = faces.into_iter().unzip();
        let corners = corners(&planes);
        let bounds = Bounds::around(corners.iter().copied());
        if corners.len() < 4 || bounds.half().iter().any(|half| *half < ON_PLANE) {
            return None;
        }
        add_bevels(&mut planes, &corners);
        Some(Self { planes, textures, bounds })
    }

    /// A box whose sides follow the axes.
    pub fn cuboid(bounds: Bounds) -> Option<Self> {
        let side = |side: usize| {
            let (axis, is_high) = (side % 3, side < 3);
            let mut normal = [0.0; 3];
            normal[axis] = if is_high { 1.0 } else { -1.0 };
            let distance = if is_high { bounds.high[axis] } else { -bounds.low[axis] };
            (Plane { normal, distance }, String::new())
        };
        Self::new((0..6).map(side).collect())
    }

    /// What holds it.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Its faces, and the names of their textures.
    pub fn faces(&self) -> impl Iterator<Item = (Plane, &str)> {
        self.planes.iter().copied().zip(self.textures.iter().map(String::as_str))
    }

    /// The corners of one of its faces, in order around it, anticlockwise as seen from outside.
    pub fn outline(&self, face: Plane) -> Vec<Vector> {
        let mut outline = corners(&self.planes[..self.textures.len()]);
        outline.retain(|corner| face.height(*corner).abs() < ON_PLANE);
        let middle =
            scale(outline.iter().copied().fold([0.0; 3], add), 1.0 / outline.len().max(1) as f32);
        let first = outline.first().map_or([0.0; 3], |corner| unit(subtract(*corner, middle)));
        let second = cross(face.normal, first);
        let turn = |corner: &Vector| {
            let off = subtract(*corner, middle);
            libm::atan2f(dot(off, second), dot(off, first))
        };
        outline.sort_by(|a, b| turn(a).total_cmp(&turn(b)));
        outline
    }

    /// Whether a box around a place is in it, in part at least; its surface does not count.
    pub fn overlaps(&self, half: Vector, centre: Vector) -> bool {
        self.planes.iter().all(|plane| plane.height(centre) < plane.reach(half))
    }

    /// Whether all of a box is in it.
    pub fn holds(&self, bounds: Bounds) -> bool {
        let (centre, half) = (bounds.centre(), bounds.half());
        let faces = &self.planes[..self.textures.len()];
        faces.iter().all(|plane| plane.height(centre) + plane.reach(half) <= ON_PLANE)
    }

    /// Whether a straight line between two places touches it.
    pub fn blocks(&self, from: Vector, to: Vector) -> bool {
        let (mut enters, mut leaves) = (0.0_f32, 1.0_f32);
        for plane in &self.planes[..self.textures.len()] {
            let (before, after) = (plane.height(from), plane.height(to));
            if before >= 0.0 && after >= 0.0 {
                return false;
            }
            let fraction = before / (before - after);
            if before >= 0.0 {
                enters = enters.max(fraction);
            } else if after >= 0.0 {
                leaves = leaves.min(fraction);
            }
        }
        enters <= leaves
    }

    /// Shortens a trace to where a box of these half sizes meets this brush on the way between two centres.
    /// Nothing at all can be passed inside of it.
    pub fn sweep(&self, half: Vector, from: Vector, to: Vector, trace: &mut Trace) {
        let is_ray = half == [0.0; 3];
        let skin = if is_ray { 0.0 } else { SKIN_METRES };
        let planes = if is_ray { &self.planes[..self.textures.len()] } else { &self.planes[..] };
        let heights = planes.iter().map(|plane| {
            let reach = plane.reach(half);
            (plane.height(from) - reach, plane.height(to) - reach, plane.normal)
        });
        match pass(heights, skin) {
            Passage::Free => {}
            Passage::Hit(fraction, normal) => trace.meet(fraction, normal, from, to),
            Passage::Inside => {
                *trace = Trace { fraction: 0.0, end: from, normal: [0.0; 3], started_inside: true };
            }
        }
    }
}

/// How a way goes past what lies behind some planes.
pub(crate) enum Passage {
    Free,
    /// After this much of the way, at the side with this normal.
    Hit(f32, Vector),
    /// It begins inside.
    Inside,
}

/// The way of a point past planes, of each of which is known how high above it the way begins and ends. It stops a skin
/// above the plane it hits; who is nearer already may go along and away, but no further in.
#[inline]
pub(crate) fn pass(planes: impl Iterator<Item = (f32, f32, Vector)>, skin: f32) -> Passage {
    let (mut enters, mut leaves) = (f32::NEG_INFINITY, 1.0_f32);
    let (mut starts_inside, mut normal) = (true, [0.0; 3]);
    for (before, after, plane_normal) in planes {
        starts_inside &= before < 0.0;
        if before >= 0.0 && (after >= skin || after >= before) {
            return Passage::Free;
        }
        if before < 0.0 && after < 0.0 {
            continue;
        }
        if before > after {
            let fraction = ((before - skin) / (before - after)).max(0.0);
            if fraction > enters {
                (enters, normal) = (fraction, plane_normal);
            }
        } else {
            leaves = leaves.min((before - skin) / (before - after));
        }
    }
    match starts_inside {
        true => Passage::Inside,
        false if enters >= 0.0 && enters <= leaves => Passage::Hit(enters, normal),
        false => Passage::Free,
    }
}

/// Where three planes meet and none cuts off.
fn corners(planes: &[Plane]) -> Vec<Vector> {
    let mut corners: Vec<Vector> = Vec::new();
    for (first, a) in planes.iter().enumerate() {
        for (second, b) in planes.iter().enumerate().skip(first + 1) {
            for c in &planes[second + 1..] {
                let Some(corner) = meeting(*a, *b, *c) else { continue };
                let is_inside = planes.iter().all(|plane| plane.height(corner) < ON_PLANE);
                let is_near = |other: &Vector| {
                    let off = subtract(*other, corner);
                    dot(off, off) < ON_PLANE * ON_PLANE
                };
                if is_inside && !corners.iter().any(is_near) {
                    corners.push(corner);
                }
            }
        }
    }
    corners
}

fn meeting(a: Plane, b: Plane, c: Plane) -> Option<Vector> {
    let wide = |v: Vector| v.map(f64::from);
    let (na, nb, nc) = (wide(a.normal), wide(b.normal), wide(c.normal));
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let (bc, ca, ab) = (cross(nb, nc), cross(nc, na), cross(na, nb));
    let volume = na[0] * bc[0] + na[1] * bc[1] + na[2] * bc[2];
    if volume.abs() < 1e-6 {
        return None;
    }
    let [da, db, dc] = [a, b, c].map(|plane| f64::from(plane.distance));
    Some([0, 1, 2].map(|axis| ((bc[axis] * da + ca[axis] * db + ab[axis] * dc) / volume) as f32))
}

/// Adds the planes that the sum of a brush and a box has besides the faces of the brush: one for each side of
/// the box, and one wherever an edge of the brush slides along an edge of the box.
fn add_bevels(planes: &mut Vec<Plane>, corners: &[Vector]) {
    let axes: [Vector; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut normals: Vec<Vector> =
        axes.into_iter().flat_map(|axis| [axis, scale(axis, -1.0)]).collect();
    let faces = planes.clone();
    for (index, a) in faces.iter().enumerate() {
        for b in &faces[index + 1..] {
            let is_on_both = |corner: &&Vector| {
                a.height(**corner).abs() < ON_PLANE && b.height(**corner).abs() < ON_PLANE
            };
            let shared: Vec<&Vector> = corners.iter().filter(is_on_both).collect();
            let [one, other, ..] = shared[..] else { continue };
            for axis in axes {
                let normal = cross(unit(subtract(*other, *one)), axis);
                if dot(normal, normal) > 1e-4 {
                    normals.extend([unit(normal), scale(unit(normal), -1.0)]);
                }
            }
        }
    }
    for normal in normals {
        let is_known = planes.iter().any(|plane| dot(plane.normal, normal) > 0.9999);
        let distance = corners.iter().map(|corner| dot(normal, *corner)).fold(f32::MIN, f32::max);
        if !is_known {
            planes.push(Plane { normal, distance });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Brush {
        Brush::cuboid(Bounds { low: [0.0; 3], high: [2.0, 2.0, 2.0] }).unwrap()
    }

    #[test]
    fn a_box_stops_a_skin_away() {
        let mut trace = Trace::free([9.0, 1.0, 1.0]);
        block().sweep([0.5; 3], [-3.0, 1.0, 1.0], [9.0, 1.0, 1.0], &mut trace);
        assert!((trace.end[0] - (-0.5 - SKIN_METRES)).abs() < 1e-5, "{trace:?}");
        assert_eq!(trace.normal, [-1.0, 0.0, 0.0]);
    }

    #[test]
    fn what_starts_inside_goes_nowhere_and_what_passes_by_is_free() {
        let mut trace = Trace::free([9.0, 1.0, 1.0]);
        block().sweep([0.5; 3], [1.0; 3], [9.0, 1.0, 1.0], &mut trace);
        assert!(trace.started_inside && trace.end == [1.0; 3]);
        let mut trace = Trace::free([9.0, 3.0, 1.0]);
        block().sweep([0.5; 3], [-3.0, 3.0, 1.0], [9.0, 3.0, 1.0], &mut trace);
        assert!(!trace.is_hit());
    }

    #[test]
    fn faces_have_outlines() {
        let block = block();
        for (face, _) in block.faces() {
            let outline = block.outline(face);
            assert_eq!(outline.len(), 4);
            let turn = cross(subtract(outline[1], outline[0]), subtract(outline[2], outline[1]));
            assert!(dot(turn, face.normal) > 3.9, "{outline:?}");
        }
    }

    #[test]
    fn a_wedge_has_bevels_and_a_flat_one_is_nothing() {
        let root = 0.5_f32.sqrt();
        let mut faces: Vec<(Plane, String)> =
            block().faces().map(|(plane, name)| (plane, name.to_owned())).collect();
        faces.push((Plane { normal: [root, 0.0, root], distance: 2.0 * root }, String::new()));
        let wedge = Brush::new(faces.clone()).unwrap();
        // A box beside the thin end of the wedge, above its floor plane only by the bevel.
        assert!(!wedge.overlaps([0.5; 3], [2.6, 1.0, 0.0]));
        assert!(wedge.overlaps([0.5; 3], [2.4, 1.0, 0.0]));
        faces.push((Plane { normal: [0.0, 0.0, 1.0], distance: 0.0 }, String::new()));
        assert!(Brush::new(faces).is_none());
    }
}
