//! A map as triangles and inked edges. How open a place is to the sky around it is found once, with the map's own
//! rays; edges are drawn where two surfaces meet, and nowhere else.

use crate::colours::{self, Colour};
use sametick_arena::Map;
use sametick_arena::map::{Brush, Plane};
use sametick_arena::vector::{Vector, add, along, cross, length, scale, subtract, unit};
use std::collections::BTreeSet;

/// What a vertex is made of: place, normal, colour, and how open it is.
pub(crate) const VERTEX_FLOATS: usize = 10;
/// How far a ray looks for what is in the way of light.
const OCCLUSION_METRES: f32 = 2.2;
/// How far off a surface such a ray begins.
const OFF_METRES: f32 = 0.03;
/// How many squares a mesh aims at: larger maps have larger squares.
const SQUARES_WANTED: f32 = 14_000.0;
/// The smallest and the largest square.
const SQUARE_METRES: std::ops::RangeInclusive<f32> = 0.8..=3.0;
/// An edge is looked at in pieces of about this length.
const PIECE_METRES: f32 = 0.5;

/// Triangles and edges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mesh {
    /// [`VERTEX_FLOATS`] each.
    pub(crate) vertices: Vec<f32>,
    /// Three to a triangle.
    pub(crate) indices: Vec<u32>,
    /// Both ends of each edge.
    pub(crate) edges: Vec<[Vector; 2]>,
}

/// All that never moves.
pub(crate) fn of_map(map: &Map) -> Mesh {
    let accent = colours::accent(&map.title);
    let drawn: Vec<&Brush> = map.brushes().iter().filter(|brush| is_drawn(brush)).collect();
    let square = square_metres(&drawn);
    let mut mesh = Mesh::default();
    for brush in &drawn {
        for (face, texture) in brush.faces() {
            let colour = painted(texture, face, accent);
            mesh.add_face(Some(map), &brush.outline(face), face, colour, square);
        }
    }
    mesh.edges = edges(&drawn, |place| is_solid(map, place));
    mesh
}

/// A door or a lift, as its plan has it: nothing shades it, for it moves.
pub(crate) fn of_mover(brushes: &[Brush], map_title: &str) -> Mesh {
    let mut mesh = Mesh::default();
    for brush in brushes {
        for (face, texture) in brush.faces() {
            let colour = painted(texture, face, colours::accent(map_title));
            mesh.add_face(None, &brush.outline(face), face, colour, f32::INFINITY);
        }
    }
    let brushes: Vec<&Brush> = brushes.iter().collect();
    let holds = |place| brushes.iter().any(|brush| brush.overlaps([0.0; 3], place));
    mesh.edges = edges(&brushes, holds);
    mesh
}

/// The roof of an architect's model is off.
fn is_drawn(brush: &Brush) -> bool {
    !brush.faces().any(|(_, texture)| matches!(texture, "sky" | "ceiling"))
}

/// What one walks on is a floor, whatever it is called.
fn painted(texture: &str, face: Plane, accent: Colour) -> Colour {
    let colour = colours::surface(texture, accent);
    let is_plain = colour == colours::WALL || colour == colours::SHADE;
    if face.normal[2] > 0.7 && is_plain {
        colours::mix(colours::FLOOR, colour, 0.35)
    } else {
        colour
    }
}

fn square_metres(brushes: &[&Brush]) -> f32 {
    let area = |brush: &&Brush| -> f32 {
        let half = brush.bounds().half();
        8.0 * (half[0] * half[1] + half[1] * half[2] + half[2] * half[0])
    };
    let total: f32 = brushes.iter().map(area).sum();
    (total / SQUARES_WANTED).sqrt().clamp(*SQUARE_METRES.start(), *SQUARE_METRES.end())
}

fn is_solid(map: &Map, place: Vector) -> bool {
    !map.fits([0.001; 3], place)
}

impl Mesh {
    /// A face, in squares if it has four corners: how open it is differs from place to place.
    fn add_face(
        &mut self,
        map: Option<&Map>,
        outline: &[Vector],
        face: Plane,
        colour: Colour,
        square: f32,
    ) {
        match outline {
            &[a, b, c, d] => self.add_squares(map, [a, b, c, d], face, colour, square),
            _ => {
                let first = self.count();
                for corner in outline {
                    self.add_vertex(map, *corner, face.normal, colour);
                }
                for corner in 1..(outline.len() as u32).saturating_sub(1) {
                    self.indices.extend([first, first + corner, first + corner + 1]);
                }
            }
        }
    }

    fn add_squares(
        &mut self,
        map: Option<&Map>,
        [a, b, c, d]: [Vector; 4],
        face: Plane,
        colour: Colour,
        square: f32,
    ) {
        let count =
            |from: Vector, to: Vector| (length(subtract(to, from)) / square).ceil().max(1.0) as u32;
        let (across, along_it) = (count(a, b), count(b, c));
        let place = |column: f32, row: f32| {
            let (u, v) = (column / across as f32, row / along_it as f32);
            let (low, high) = (along(a, subtract(b, a), u), along(d, subtract(c, d), u));
            along(low, subtract(high, low), v)
        };
        let mut numbers = vec![u32::MAX; ((across + 1) * (along_it + 1)) as usize];
        for row in 0..along_it {
            for column in 0..across {
                let middle = place(column as f32 + 0.5, row as f32 + 0.5);
                let outside = along(middle, face.normal, OFF_METRES);
                // What stands on or against it hides it; a square that is hidden in part is drawn.
                let corners = [(0, 0), (1, 0), (1, 1), (0, 1)];
                let near = |(x, y): (u32, u32)| {
                    let corner = place((column + x) as f32, (row + y) as f32);
                    along(along(corner, subtract(middle, corner), 0.1), face.normal, OFF_METRES)
                };
                let is_hidden = map.is_some_and(|map| {
                    is_solid(map, outside) && corners.iter().all(|at| is_solid(map, near(*at)))
                });
                if is_hidden {
                    continue;
                }
                let mut corner = |(x, y): (u32, u32)| {
                    let (x, y) = (column + x, row + y);
                    let number = &mut numbers[(y * (across + 1) + x) as usize];
                    if *number == u32::MAX {
                        *number = self.count();
                        self.add_vertex(map, place(x as f32, y as f32), face.normal, colour);
                    }
                    *number
                };
                let [a, b, c, d] = corners.map(&mut corner);
                self.indices.extend([a, b, c, a, c, d]);
            }
        }
    }

    fn count(&self) -> u32 {
        (self.vertices.len() / VERTEX_FLOATS) as u32
    }

    fn add_vertex(&mut self, map: Option<&Map>, place: Vector, normal: Vector, colour: Colour) {
        let open = map.map_or(1.0, |map| openness(map, place, normal));
        self.vertices.extend(place);
        self.vertices.extend(normal);
        self.vertices.extend(colour);
        self.vertices.push(open);
    }
}

/// How open a place on a surface is: 1 is a plain without anything. A place that something stands on borrows from
/// its neighbours, lest the dark beneath bleed out.
fn openness(map: &Map, place: Vector, normal: Vector) -> f32 {
    let (across, upwards) = axes(normal);
    let off = along(place, normal, OFF_METRES);
    let besides = [(across, 1.0), (across, -1.0), (upwards, 1.0), (upwards, -1.0)];
    let near = besides.map(|(axis, way)| along(off, axis, 0.15 * way));
    let candidates = if is_solid(map, off) { &near[..] } else { &[off] };
    let free: Vec<f32> = candidates
        .iter()
        .filter(|at| !is_solid(map, **at))
        .map(|at| open_from(map, *at, normal, (across, upwards)))
        .collect();
    if free.is_empty() { 0.35 } else { free.iter().sum::<f32>() / free.len() as f32 }
}

fn open_from(map: &Map, at: Vector, normal: Vector, (across, upwards): (Vector, Vector)) -> f32 {
    // One straight up and eight around it, in proportion to the light that comes from there.
    let mut blocked = hidden(map, at, normal);
    for turn in 0..8 {
        let (sine, cosine) = (turn as f32 * std::f32::consts::FRAC_PI_4).sin_cos();
        let side = add(scale(across, cosine), scale(upwards, sine));
        blocked += hidden(map, at, unit(add(scale(normal, 0.65), side)));
    }
    1.0 - blocked / 9.0
}

/// How much of a ray's light something takes: all if it is near.
fn hidden(map: &Map, from: Vector, way: Vector) -> f32 {
    let trace = map.ray(from, along(from, way, OCCLUSION_METRES));
    1.0 - trace.fraction
}

/// Two directions at right angles to a normal and to each other.
fn axes(normal: Vector) -> (Vector, Vector) {
    let other = if normal[2].abs() > 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
    let across = unit(cross(other, normal));
    (across, cross(normal, across))
}

/// The edges of brushes, where surfaces meet at an angle.
fn edges(brushes: &[&Brush], is_solid: impl Fn(Vector) -> bool) -> Vec<[Vector; 2]> {
    let mut known = BTreeSet::new();
    let mut edges = Vec::new();
    for brush in brushes {
        for ([from, to], normals) in edges_of(brush) {
            let pieces = (length(subtract(to, from)) / PIECE_METRES).ceil().max(1.0) as usize;
            let at = |piece: usize| along(from, subtract(to, from), piece as f32 / pieces as f32);
            let shows: Vec<bool> = (0..pieces)
                .map(|piece| {
                    let middle = scale(add(at(piece), at(piece + 1)), 0.5);
                    is_crease(middle, normals, &is_solid) && known.insert(grid(middle))
                })
                .collect();
            let mut first = None;
            for piece in 0..=pieces {
                match (first, shows.get(piece) == Some(&true)) {
                    (None, true) => first = Some(piece),
                    (Some(begun), false) => {
                        edges.push([at(begun), at(piece)]);
                        first = None;
                    }
                    _ => {}
                }
            }
        }
    }
    edges
}

/// Each edge of a brush with the normals of its two faces.
fn edges_of(brush: &Brush) -> Vec<([Vector; 2], [Vector; 2])> {
    let faces: Vec<(Plane, Vec<Vector>)> =
        brush.faces().map(|(face, _)| (face, brush.outline(face))).collect();
    let mut edges = Vec::new();
    for (number, (face, outline)) in faces.iter().enumerate() {
        for corner in 0..outline.len() {
            let ends = [outline[corner], outline[(corner + 1) % outline.len()]];
            let shares = |other: &&(Plane, Vec<Vector>)| {
                ends.iter().all(|end| other.0.height(*end).abs() < 2e-3)
            };
            // Each edge is met twice: once is enough.
            if let Some((other, _)) = faces[number + 1..].iter().find(shares) {
                edges.push((ends, [face.normal, other.normal]));
            }
        }
    }
    edges
}

/// Whether surfaces turn here: of the four corners around an edge one or three are solid, or two that face each other.
fn is_crease(at: Vector, [one, other]: [Vector; 2], is_solid: impl Fn(Vector) -> bool) -> bool {
    let corner =
        |a: f32, b: f32| is_solid(add(at, scale(add(scale(one, a), scale(other, b)), OFF_METRES)));
    let solid = [corner(1.0, 1.0), corner(1.0, -1.0), corner(-1.0, -1.0), corner(-1.0, 1.0)];
    match solid.iter().filter(|is_solid| **is_solid).count() {
        1 | 3 => true,
        2 => solid[0] == solid[2],
        _ => false,
    }
}

/// Which place this is, to a sixteenth of a metre: an edge that two brushes share is drawn once.
fn grid(place: Vector) -> [i32; 3] {
    place.map(|part| (part * 16.0).round() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick_arena::map::MAPS;
    use sametick_arena::vector::Bounds;

    fn cuboid(low: Vector, high: Vector) -> Brush {
        Brush::cuboid(Bounds { low, high }).unwrap()
    }

    fn total(edges: &[[Vector; 2]]) -> f32 {
        edges.iter().map(|[from, to]| length(subtract(*to, *from))).sum()
    }

    #[test]
    fn a_box_has_twelve_edges_and_twelve_triangles() {
        let mesh = of_mover(&[cuboid([0.0; 3], [1.0, 2.0, 3.0])], "Halls");
        assert_eq!(mesh.indices.len(), 36);
        assert_eq!(mesh.edges.len(), 12);
        assert!((total(&mesh.edges) - 24.0).abs() < 1e-4);
    }

    #[test]
    fn two_boxes_in_a_row_have_no_edge_between_them() {
        let boxes = [cuboid([0.0; 3], [1.0; 3]), cuboid([1.0, 0.0, 0.0], [2.0, 1.0, 1.0])];
        let mesh = of_mover(&boxes, "Halls");
        // A bar of 2 by 1 by 1.
        assert!((total(&mesh.edges) - 16.0).abs() < 1e-4, "{:?}", mesh.edges);
    }

    #[test]
    fn where_a_box_stands_on_another_there_is_an_edge() {
        let boxes = [cuboid([0.0; 3], [3.0, 3.0, 1.0]), cuboid([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])];
        let mesh = of_mover(&boxes, "Halls");
        assert!((total(&mesh.edges) - (28.0 + 12.0)).abs() < 1e-3, "{}", total(&mesh.edges));
    }

    #[test]
    fn every_map_becomes_a_mesh_of_a_bearable_size() {
        for (name, text) in MAPS {
            let mesh = of_map(&Map::read(text).unwrap());
            let (vertices, triangles) = (mesh.count(), mesh.indices.len() / 3);
            assert!((500..80_000).contains(&vertices), "{name}: {vertices} vertices");
            assert!(triangles > 500 && !mesh.edges.is_empty(), "{name}: {triangles} triangles");
            assert!(mesh.indices.iter().all(|index| *index < vertices));
            assert!(mesh.vertices.iter().all(|part| part.is_finite()));
            let open = mesh.vertices.chunks(VERTEX_FLOATS).map(|vertex| vertex[9]);
            assert!(open.clone().all(|open| (0.0..=1.0).contains(&open)));
            assert!(open.clone().any(|open| open < 0.7) && open.clone().any(|open| open > 0.9));
        }
    }
}
