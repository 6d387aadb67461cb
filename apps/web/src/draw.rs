//! Draws a scene with WebGL 2: one shadow map, one pass, no effects afterwards. The browser's own bindings are used,
//! which need no unsafe code.

use crate::camera::{Camera, Matrix, snapped, sun_matrix};
use crate::colours;
use crate::mesh::{Mesh, VERTEX_FLOATS};
use crate::scene::{INSTANCE_FLOATS, Instance, Scene};
use crate::shapes::{self, SHAPE_FLOATS, Shape};
use sametick_arena::vector::{Vector, along, unit};
use std::cell::Cell;
use std::collections::BTreeMap;
use web_sys::{
    WebGl2RenderingContext as Gl, WebGlBuffer, WebGlFramebuffer, WebGlProgram, WebGlShader,
    WebGlUniformLocation, WebGlVertexArrayObject as Array,
};

/// The sides of the shadow map, in dots.
const SHADOW_DOTS: i32 = 1024;
/// How far the shadow map reaches from its middle.
const SHADOW_HALF_METRES: f32 = 32.0;
/// And along the light.
const SHADOW_DEPTH_METRES: f32 = 90.0;
/// How wide the outline of people is.
const OUTLINE_DOTS: f32 = 2.0;

/// Towards the sun, 35 degrees high.
fn sun() -> Vector {
    unit([0.52, 0.63, 0.572])
}

/// A part of the canvas: left, bottom, width and height in dots.
pub(crate) type Pane = [i32; 4];

/// All that the graphics card holds.
pub(crate) struct Renderer {
    gl: Gl,
    programs: Programs,
    quad: Array,
    shapes: [Solid; 3],
    instances: WebGlBuffer,
    moving_edges: Lines,
    map: Option<Solid>,
    map_edges: Option<Lines>,
    movers: Vec<(Solid, Lines)>,
    shadow: WebGlFramebuffer,
    draw_calls: Cell<u32>,
    /// Whether shadows are smoothed; not where a machine draws without a graphics card.
    pub(crate) is_fine: bool,
}

struct Programs {
    map: Program,
    shape: Program,
    edge: Program,
    sky: Program,
    map_shadow: Program,
    shape_shadow: Program,
}

struct Program {
    program: WebGlProgram,
    places: BTreeMap<&'static str, WebGlUniformLocation>,
}

struct Solid {
    array: Array,
    count: i32,
    index_type: u32,
}

struct Lines {
    array: Array,
    buffer: WebGlBuffer,
    count: i32,
}

const UNIFORMS: [&str; 16] = [
    "view", "offset", "sun_view", "sun", "eye", "paper", "ink", "shadows", "taps", "outline",
    "picture", "forward", "right", "up", "reach", "sky",
];
const HEAD: &str = "#version 300 es\nprecision highp float;\nprecision highp int;\n";
const LIGHT: &str = include_str!("shaders/light.glsl");

impl Renderer {
    /// Prepares everything that no map is needed for.
    pub(crate) fn new(gl: Gl) -> Result<Self, String> {
        let shape = include_str!("shaders/shape.vert");
        let nothing = include_str!("shaders/nothing.frag");
        let map = include_str!("shaders/map.vert");
        let with_light = |text: &str| format!("{LIGHT}\n{text}");
        let programs = Programs {
            map: Program::new(&gl, map, &with_light(include_str!("shaders/map.frag")))?,
            shape: Program::new(&gl, shape, &with_light(include_str!("shaders/shape.frag")))?,
            edge: Program::new(
                &gl,
                include_str!("shaders/edge.vert"),
                include_str!("shaders/edge.frag"),
            )?,
            sky: Program::new(
                &gl,
                include_str!("shaders/sky.vert"),
                include_str!("shaders/sky.frag"),
            )?,
            map_shadow: Program::new(&gl, map, nothing)?,
            shape_shadow: Program::new(&gl, shape, nothing)?,
        };
        let instances = gl.create_buffer().ok_or("no buffer")?;
        let solid = |shape: &Shape| Solid::of_shape(&gl, shape);
        Ok(Self {
            shapes: [
                solid(&shapes::cuboid())?,
                solid(&shapes::capsule())?,
                solid(&shapes::ball())?,
            ],
            quad: gl.create_vertex_array().ok_or("no array")?,
            moving_edges: Lines::new(&gl, &[])?,
            shadow: shadow_map(&gl)?,
            map: None,
            map_edges: None,
            movers: Vec::new(),
            draw_calls: Cell::new(0),
            is_fine: true,
            instances,
            programs,
            gl,
        })
    }

    /// Takes another map, and what moves in it.
    pub(crate) fn load(&mut self, map: &Mesh, movers: &[Mesh]) -> Result<(), String> {
        self.map = Some(Solid::of_mesh(&self.gl, map)?);
        self.map_edges = Some(Lines::new(&self.gl, &map.edges)?);
        self.movers.clear();
        for mesh in movers {
            self.movers.push((Solid::of_mesh(&self.gl, mesh)?, Lines::new(&self.gl, &mesh.edges)?));
        }
        Ok(())
    }

    /// How many draw calls were made since this was last asked.
    pub(crate) fn take_draw_calls(&self) -> u32 {
        self.draw_calls.replace(0)
    }

    /// One picture in one part of the canvas.
    pub(crate) fn draw(&self, scene: &Scene, camera: &Camera, pane: Pane) {
        let lists = Lists::new(scene);
        let floats = js_sys::Float32Array::from(lists.all.as_flattened());
        self.gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&self.instances));
        self.gl.buffer_data_with_array_buffer_view(Gl::ARRAY_BUFFER, &floats, Gl::STREAM_DRAW);
        let middle =
            along(camera.eye, [camera.yaw.cos(), camera.yaw.sin(), 0.0], SHADOW_HALF_METRES * 0.6);
        let step = 2.0 * SHADOW_HALF_METRES / SHADOW_DOTS as f32;
        let sun_view = sun_matrix(
            snapped(middle, sun(), step),
            sun(),
            SHADOW_HALF_METRES,
            SHADOW_DEPTH_METRES,
        );
        self.draw_shadows(scene, &lists, &sun_view);
        let aspect = pane[2] as f32 / pane[3].max(1) as f32;
        self.draw_picture(scene, &lists, camera, (&camera.matrix(aspect), &sun_view), pane);
    }

    fn draw_shadows(&self, scene: &Scene, lists: &Lists, sun_view: &Matrix) {
        let gl = &self.gl;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&self.shadow));
        gl.disable(Gl::SCISSOR_TEST);
        gl.viewport(0, 0, SHADOW_DOTS, SHADOW_DOTS);
        gl.enable(Gl::DEPTH_TEST);
        gl.disable(Gl::BLEND);
        gl.disable(Gl::CULL_FACE);
        gl.enable(Gl::POLYGON_OFFSET_FILL);
        gl.polygon_offset(1.5, 3.0);
        gl.clear(Gl::DEPTH_BUFFER_BIT);
        let program = &self.programs.map_shadow;
        gl.use_program(Some(&program.program));
        program.matrix(gl, "view", sun_view);
        self.draw_ground(program, scene);
        let program = &self.programs.shape_shadow;
        gl.use_program(Some(&program.program));
        program.matrix(gl, "view", sun_view);
        program.float(gl, "outline", 0.0);
        for list in [lists.person_boxes, lists.boxes] {
            self.draw_shape(0, list);
        }
        self.draw_shape(1, lists.person_capsules);
        gl.disable(Gl::POLYGON_OFFSET_FILL);
        gl.bind_framebuffer(Gl::FRAMEBUFFER, None);
    }

    fn draw_picture(
        &self,
        scene: &Scene,
        lists: &Lists,
        camera: &Camera,
        (view, sun_view): (&Matrix, &Matrix),
        pane: Pane,
    ) {
        let gl = &self.gl;
        let [left, bottom, width, height] = pane;
        gl.viewport(left, bottom, width, height);
        gl.enable(Gl::SCISSOR_TEST);
        gl.scissor(left, bottom, width, height);
        gl.clear(Gl::DEPTH_BUFFER_BIT);
        self.draw_sky(camera, width as f32 / height.max(1) as f32);
        gl.enable(Gl::DEPTH_TEST);
        gl.enable(Gl::CULL_FACE);
        gl.cull_face(Gl::BACK);
        let picture = [width as f32, height as f32];
        for program in [&self.programs.map, &self.programs.shape] {
            gl.use_program(Some(&program.program));
            program.matrix(gl, "view", view);
            program.matrix(gl, "sun_view", sun_view);
            program.vector(gl, "sun", sun());
            program.vector(gl, "eye", camera.eye);
            program.vector(gl, "paper", colours::PAPER);
            program.vector(gl, "ink", colours::INK);
            program.float(gl, "taps", if self.is_fine { 4.0 } else { 1.0 });
            program.pair(gl, "picture", picture);
        }
        gl.use_program(Some(&self.programs.map.program));
        self.draw_ground(&self.programs.map, scene);
        let shape = &self.programs.shape;
        gl.use_program(Some(&shape.program));
        shape.float(gl, "outline", OUTLINE_DOTS);
        gl.cull_face(Gl::FRONT);
        self.draw_shape(1, lists.person_capsules);
        self.draw_shape(0, lists.person_boxes);
        gl.cull_face(Gl::BACK);
        shape.float(gl, "outline", 0.0);
        self.draw_shape(1, lists.person_capsules);
        self.draw_shape(0, lists.person_boxes);
        self.draw_shape(0, lists.boxes);
        gl.enable(Gl::BLEND);
        gl.blend_func(Gl::SRC_ALPHA, Gl::ONE_MINUS_SRC_ALPHA);
        gl.depth_mask(false);
        self.draw_edges(scene, camera, view, picture);
        gl.use_program(Some(&shape.program));
        self.draw_shape(2, lists.balls);
        gl.depth_mask(true);
        gl.disable(Gl::BLEND);
        gl.depth_range(0.0, 0.05);
        shape.float(gl, "outline", 1.5);
        gl.cull_face(Gl::FRONT);
        self.draw_shape(0, lists.hands);
        gl.cull_face(Gl::BACK);
        shape.float(gl, "outline", 0.0);
        self.draw_shape(0, lists.hands);
        gl.depth_range(0.0, 1.0);
    }

    fn draw_sky(&self, camera: &Camera, aspect: f32) {
        let (gl, program) = (&self.gl, &self.programs.sky);
        gl.use_program(Some(&program.program));
        gl.disable(Gl::DEPTH_TEST);
        gl.disable(Gl::BLEND);
        gl.disable(Gl::CULL_FACE);
        let across = (camera.width / 2.0).tan();
        let forward = along(camera.forward(), camera.right(), -camera.shift * across);
        program.vector(gl, "forward", forward);
        program.vector(gl, "right", camera.right());
        program.vector(gl, "up", camera.up());
        program.pair(gl, "reach", [across, across / aspect]);
        program.vector(gl, "paper", colours::PAPER);
        program.vector(gl, "sky", colours::SKY);
        gl.bind_vertex_array(Some(&self.quad));
        gl.draw_arrays(Gl::TRIANGLES, 0, 3);
        self.count();
    }

    fn draw_ground(&self, program: &Program, scene: &Scene) {
        let still = self.map.iter().map(|map| (map, [0.0; 3]));
        let moving = self.movers.iter().map(|(solid, _)| solid).zip(scene.movers.iter().copied());
        for (solid, offset) in still.chain(moving) {
            program.vector(&self.gl, "offset", offset);
            self.gl.bind_vertex_array(Some(&solid.array));
            self.gl.draw_elements_with_i32(Gl::TRIANGLES, solid.count, solid.index_type, 0);
            self.count();
        }
    }

    fn draw_shape(&self, shape: usize, (first, count): (usize, usize)) {
        if count == 0 {
            return;
        }
        let (gl, solid) = (&self.gl, &self.shapes[shape]);
        gl.bind_vertex_array(Some(&solid.array));
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&self.instances));
        let bytes = (INSTANCE_FLOATS * 4) as i32;
        for row in 0..4 {
            let place = 4 + row as u32;
            gl.enable_vertex_attrib_array(place);
            gl.vertex_attrib_pointer_with_i32(
                place,
                4,
                Gl::FLOAT,
                false,
                bytes,
                first as i32 * bytes + row * 16,
            );
            gl.vertex_attrib_divisor(place, 1);
        }
        gl.draw_elements_instanced_with_i32(
            Gl::TRIANGLES,
            solid.count,
            solid.index_type,
            0,
            count as i32,
        );
        self.count();
    }

    fn draw_edges(&self, scene: &Scene, camera: &Camera, view: &Matrix, picture: [f32; 2]) {
        let (gl, program) = (&self.gl, &self.programs.edge);
        gl.use_program(Some(&program.program));
        gl.disable(Gl::CULL_FACE);
        program.matrix(gl, "view", view);
        program.pair(gl, "picture", picture);
        program.vector(gl, "eye", camera.eye);
        program.vector(gl, "ink", colours::INK);
        self.moving_edges.fill(gl, &scene.edges, Gl::STREAM_DRAW);
        let still = self.map_edges.iter().map(|lines| (lines, [0.0; 3], lines.count));
        let movers = self.movers.iter().zip(&scene.movers);
        let moving = movers.map(|((_, lines), offset)| (lines, *offset, lines.count));
        let own = (&self.moving_edges, [0.0; 3], scene.edges.len() as i32);
        for (lines, offset, count) in still.chain(moving).chain([own]) {
            if count > 0 {
                program.vector(gl, "offset", offset);
                gl.bind_vertex_array(Some(&lines.array));
                gl.draw_arrays_instanced(Gl::TRIANGLE_STRIP, 0, 4, count);
                self.count();
            }
        }
        gl.enable(Gl::CULL_FACE);
    }

    fn count(&self) {
        self.draw_calls.set(self.draw_calls.get() + 1);
    }
}

/// Where each list of a scene lies among all instances: the first, and how many.
struct Lists {
    all: Vec<Instance>,
    person_boxes: (usize, usize),
    person_capsules: (usize, usize),
    boxes: (usize, usize),
    balls: (usize, usize),
    hands: (usize, usize),
}

impl Lists {
    fn new(scene: &Scene) -> Self {
        let mut all: Vec<Instance> = Vec::new();
        let mut place = |list: &[Instance]| {
            let first = all.len();
            all.extend_from_slice(list);
            (first, list.len())
        };
        let person_boxes = place(&scene.person_boxes);
        let person_capsules = place(&scene.person_capsules);
        let (boxes, balls, hands) = (place(&scene.boxes), place(&scene.balls), place(&scene.hands));
        Self { all, person_boxes, person_capsules, boxes, balls, hands }
    }
}

impl Program {
    fn new(gl: &Gl, vertex: &str, fragment: &str) -> Result<Self, String> {
        let program = gl.create_program().ok_or("no program")?;
        for (kind, text) in [(Gl::VERTEX_SHADER, vertex), (Gl::FRAGMENT_SHADER, fragment)] {
            gl.attach_shader(&program, &compiled(gl, kind, text)?);
        }
        gl.link_program(&program);
        if gl.get_program_parameter(&program, Gl::LINK_STATUS).as_bool() != Some(true) {
            return Err(gl.get_program_info_log(&program).unwrap_or_default());
        }
        let found = |name: &'static str| Some((name, gl.get_uniform_location(&program, name)?));
        let places = UNIFORMS.into_iter().filter_map(found).collect();
        Ok(Self { program, places })
    }

    fn matrix(&self, gl: &Gl, name: &str, matrix: &Matrix) {
        gl.uniform_matrix4fv_with_f32_array(self.places.get(name), false, matrix);
    }

    fn vector(&self, gl: &Gl, name: &str, [x, y, z]: Vector) {
        gl.uniform3f(self.places.get(name), x, y, z);
    }

    fn pair(&self, gl: &Gl, name: &str, [x, y]: [f32; 2]) {
        gl.uniform2f(self.places.get(name), x, y);
    }

    fn float(&self, gl: &Gl, name: &str, value: f32) {
        gl.uniform1f(self.places.get(name), value);
    }
}

fn compiled(gl: &Gl, kind: u32, text: &str) -> Result<WebGlShader, String> {
    let shader = gl.create_shader(kind).ok_or("no shader")?;
    gl.shader_source(&shader, &format!("{HEAD}{text}"));
    gl.compile_shader(&shader);
    if gl.get_shader_parameter(&shader, Gl::COMPILE_STATUS).as_bool() == Some(true) {
        Ok(shader)
    } else {
        Err(gl.get_shader_info_log(&shader).unwrap_or_default())
    }
}

impl Solid {
    fn of_mesh(gl: &Gl, mesh: &Mesh) -> Result<Self, String> {
        let array = filled_array(gl, &mesh.vertices, &[3, 3, 3, 1], VERTEX_FLOATS)?;
        let indices = js_sys::Uint32Array::from(&mesh.indices[..]);
        add_indices(gl, &indices)?;
        Ok(Self { array, count: mesh.indices.len() as i32, index_type: Gl::UNSIGNED_INT })
    }

    fn of_shape(gl: &Gl, shape: &Shape) -> Result<Self, String> {
        let array = filled_array(gl, &shape.vertices, &[3, 3, 3], SHAPE_FLOATS)?;
        let indices = js_sys::Uint16Array::from(&shape.indices[..]);
        add_indices(gl, &indices)?;
        Ok(Self { array, count: shape.indices.len() as i32, index_type: Gl::UNSIGNED_SHORT })
    }
}

fn filled_array(gl: &Gl, vertices: &[f32], parts: &[i32], floats: usize) -> Result<Array, String> {
    let array = gl.create_vertex_array().ok_or("no array")?;
    let buffer = gl.create_buffer().ok_or("no buffer")?;
    gl.bind_vertex_array(Some(&array));
    gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&buffer));
    let floats_of = js_sys::Float32Array::from(vertices);
    gl.buffer_data_with_array_buffer_view(Gl::ARRAY_BUFFER, &floats_of, Gl::STATIC_DRAW);
    let mut offset = 0;
    for (place, size) in parts.iter().enumerate() {
        gl.enable_vertex_attrib_array(place as u32);
        let bytes = (floats * 4) as i32;
        gl.vertex_attrib_pointer_with_i32(place as u32, *size, Gl::FLOAT, false, bytes, offset);
        offset += size * 4;
    }
    Ok(array)
}

fn add_indices(gl: &Gl, indices: &js_sys::Object) -> Result<(), String> {
    let buffer = gl.create_buffer().ok_or("no buffer")?;
    gl.bind_buffer(Gl::ELEMENT_ARRAY_BUFFER, Some(&buffer));
    gl.buffer_data_with_array_buffer_view(Gl::ELEMENT_ARRAY_BUFFER, indices, Gl::STATIC_DRAW);
    gl.bind_vertex_array(None);
    Ok(())
}

impl Lines {
    fn new(gl: &Gl, edges: &[[Vector; 2]]) -> Result<Self, String> {
        let array = gl.create_vertex_array().ok_or("no array")?;
        let buffer = gl.create_buffer().ok_or("no buffer")?;
        let lines = Self { array, buffer, count: edges.len() as i32 };
        lines.fill(gl, edges, Gl::STATIC_DRAW);
        gl.bind_vertex_array(Some(&lines.array));
        for place in 0..2 {
            gl.enable_vertex_attrib_array(place);
            gl.vertex_attrib_pointer_with_i32(place, 3, Gl::FLOAT, false, 24, place as i32 * 12);
            gl.vertex_attrib_divisor(place, 1);
        }
        gl.bind_vertex_array(None);
        Ok(lines)
    }

    fn fill(&self, gl: &Gl, edges: &[[Vector; 2]], how: u32) {
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&self.buffer));
        let floats = js_sys::Float32Array::from(edges.as_flattened().as_flattened());
        gl.buffer_data_with_array_buffer_view(Gl::ARRAY_BUFFER, &floats, how);
    }
}

fn shadow_map(gl: &Gl) -> Result<WebGlFramebuffer, String> {
    let texture = gl.create_texture().ok_or("no texture")?;
    gl.active_texture(Gl::TEXTURE0);
    gl.bind_texture(Gl::TEXTURE_2D, Some(&texture));
    gl.tex_storage_2d(Gl::TEXTURE_2D, 1, Gl::DEPTH_COMPONENT24, SHADOW_DOTS, SHADOW_DOTS);
    for (name, value) in [
        (Gl::TEXTURE_COMPARE_MODE, Gl::COMPARE_REF_TO_TEXTURE),
        (Gl::TEXTURE_COMPARE_FUNC, Gl::LEQUAL),
        (Gl::TEXTURE_MIN_FILTER, Gl::LINEAR),
        (Gl::TEXTURE_MAG_FILTER, Gl::LINEAR),
        (Gl::TEXTURE_WRAP_S, Gl::CLAMP_TO_EDGE),
        (Gl::TEXTURE_WRAP_T, Gl::CLAMP_TO_EDGE),
    ] {
        gl.tex_parameteri(Gl::TEXTURE_2D, name, value as i32);
    }
    let frame = gl.create_framebuffer().ok_or("no frame buffer")?;
    gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&frame));
    gl.framebuffer_texture_2d(
        Gl::FRAMEBUFFER,
        Gl::DEPTH_ATTACHMENT,
        Gl::TEXTURE_2D,
        Some(&texture),
        0,
    );
    gl.bind_framebuffer(Gl::FRAMEBUFFER, None);
    Ok(frame)
}
