//! A herd that follows a leader, seeded: bodies that move, turn, come and go, for tests of codecs. Uses
//! nothing but the library and plain arithmetic, so that it is the same on every machine.

use sametick::codec::compact::Lineage;
use sametick::{EntityId, Fields, Head, Layout, Networked, Precision, Table};

/// One of many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) place: [f32; 3],
    pub(crate) velocity: [f32; 3],
    pub(crate) rotation: [f32; 4],
    pub(crate) charge: f32,
    pub(crate) yaw: f32,
    pub(crate) mood: u8,
    pub(crate) target: Option<EntityId>,
}

/// The one that others follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leader(pub(crate) Body);

impl Networked for Body {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("place", &mut self.place).shown_each(-200.0..=200.0, 1.0 / 64.0);
        f.exacts("velocity", &mut self.velocity).shown_each(-50.0..=50.0, 1.0 / 32.0);
        f.quaternion("rotation", &mut self.rotation, 9);
        f.exact("charge", &mut self.charge);
        f.angle("yaw", &mut self.yaw, 12);
        f.int("mood", &mut self.mood, 0..=5);
        f.entity("target", &mut self.target);
        f.rate_of("velocity", "place");
        f.near("place", 256);
        f.tag("mood");
    }
}

impl Networked for Leader {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        self.0.fields(f);
        f.leads();
    }
}

pub(crate) fn layouts() -> [Layout; 2] {
    [Layout::of::<Leader>(Precision::Shown), Layout::of::<Body>(Precision::Shown)]
}

/// The herd, step by step.
pub(crate) struct Herd {
    state: u64,
    bodies: Vec<Body>,
    generations: Vec<u32>,
}

const BODIES: usize = 40;

impl Herd {
    pub(crate) fn new(seed: u64) -> Self {
        let mut herd = Self { state: seed, bodies: Vec::new(), generations: vec![1; BODIES] };
        for index in 0..BODIES {
            let body = herd.born(index);
            herd.bodies.push(body);
        }
        herd
    }

    fn roll(&mut self, below: u32) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as u32 % below
    }

    /// From minus one to one.
    fn part(&mut self) -> f32 {
        self.roll(2001) as f32 / 1000.0 - 1.0
    }

    fn born(&mut self, index: usize) -> Body {
        let place = [(index % 7) as f32 * 3.0, (index / 7) as f32 * 3.0, self.part()];
        let rotation = [self.part(), self.part(), self.part(), 1.5];
        Body { place, rotation, charge: self.part() * 100.0, ..Body::default() }
    }

    pub(crate) fn step(&mut self) {
        let push = [self.part(), self.part(), 0.0];
        for index in 0..BODIES {
            if index > 0 && self.roll(400) == 0 {
                self.generations[index] += 1;
                self.bodies[index] = self.born(index);
            }
            let is_moved = index < 20 || self.roll(10) == 0;
            let noise = [self.part() * 0.2, self.part() * 0.2, self.part() * 0.1];
            let (spin, news) = (self.part() * 0.05, self.roll(30));
            let charge = self.part();
            let target = self.roll(BODIES as u32) as usize;
            let generation = self.generations[target];
            let body = &mut self.bodies[index];
            if is_moved {
                for axis in 0..3 {
                    body.velocity[axis] = body.velocity[axis] * 0.9 + push[axis] + noise[axis];
                    body.place[axis] =
                        (body.place[axis] + body.velocity[axis] * 0.05).clamp(-190.0, 190.0);
                }
                body.rotation[0] += spin;
                body.rotation[1] -= spin * 0.5;
                body.yaw += spin;
            }
            match news {
                0 => body.mood = (body.mood + 1) % 6,
                1 => body.charge += charge,
                2 => body.target = EntityId::new(target, generation),
                _ => {}
            }
        }
    }

    /// Shows it in a table whose earlier records stay; some are out of sight now and then.
    pub(crate) fn show(&mut self, layouts: &[Layout; 2], table: &mut Table) {
        table.visible.clear();
        for index in 0..BODIES {
            // Far slots too, so that there are more chunks later than at first.
            let slot = if index >= 30 { index + 60 } else { index };
            if index > 0 && self.roll(12) == 0 {
                continue;
            }
            let kind = u8::from(index > 0);
            let Some(id) = EntityId::new(slot, self.generations[index]) else { continue };
            let (head, layout) = (Head { id, kind }, &layouts[usize::from(kind)]);
            table.gather(head, layout, &mut self.bodies[index].clone());
        }
    }
}

/// Hands out so many snapshots, each against the one `age` before it.
pub(crate) fn play(
    seed: u64,
    snapshots: usize,
    age: usize,
    mut each: impl FnMut(&Lineage<'_>, &Table),
) {
    let layouts = layouts();
    let mut herd = Herd::new(seed);
    let mut past = vec![[(); 3].map(|()| Table::default()); age];
    for index in 0..snapshots {
        herd.step();
        let past = &mut past[index % age];
        let mut now = past[0].clone();
        herd.show(&layouts, &mut now);
        let [base, before, earlier] = &*past;
        let spans = [age as u32, age as u32, 1 + (index % 3) as u32];
        each(&Lineage { base, before: Some(before), earlier: Some(earlier), spans }, &now);
        past.rotate_right(1);
        past[0] = now;
    }
}
