//! What tests and pictures ask of the page: to play by itself, to hold still, to exhibit a figure before a surface, and
//! how it is. A player meets none of it.

use super::{App, Screen};
use crate::camera::Camera;
use crate::draw::Pane;
use crate::figure::Figures;
use crate::mesh;
use crate::particles::Particles;
use crate::scene::{Look, Scene, Side, seat};
use crate::session::Session;
use sametick::{Tick, Time, World};
use sametick_arena::bot::{Bot, Skill, Ways};
use sametick_arena::vector::{add, along, direction, dot, length, scale, subtract, unit};
use sametick_arena::{Command, Content, Contest, Entity, Fighter, Mode};
use std::sync::Arc;
use wasm_bindgen::JsValue;

/// How finely a map's text measures.
const UNITS_PER_METRE: f32 = 32.0;
/// How far away an exhibited figure stands.
const EXHIBIT_METRES: f32 = 40.0;
/// How far behind it the surface is.
const BEHIND_METRES: f32 = 1.5;
/// How steeply one looks down on the ground.
const ABOVE_PITCH: f32 = -0.5;

/// What was asked for.
#[derive(Default)]
pub(crate) struct Trial {
    /// What tests read; browsers that a person drives have none.
    told: Option<js_sys::Object>,
    /// Walk so, towards there.
    pub(super) walk: Option<(i8, f32)>,
    pilot: Option<Pilot>,
    exhibit: Option<Exhibit>,
    pub(super) is_held: bool,
    first_frame: Option<f64>,
    /// How many enemies are in the picture, how far the nearest is, and how many degrees they are apart.
    enemies: (u32, f32, f32),
}

impl Trial {
    /// Opens `window.sametick` to tests, and to nobody else: it lets a bot play.
    pub(crate) fn begin(&mut self) {
        let Some(window) = web_sys::window() else { return };
        let of = |object: &JsValue, name: &str| js_sys::Reflect::get(object, &name.into()).ok();
        let driven = of(&window, "navigator").and_then(|navigator| of(&navigator, "webdriver"));
        self.told = driven.is_some_and(|driven| driven.is_truthy()).then(js_sys::Object::new);
        if let Some(told) = &self.told {
            let _ = js_sys::Reflect::set(&window, &"sametick".into(), told);
        }
    }

    /// Whether no hands are needed to play.
    pub(crate) fn is_driven(&self) -> bool {
        self.walk.is_some() || self.pilot.is_some()
    }

    /// Whether a bot plays.
    pub(super) fn has_pilot(&self) -> bool {
        self.pilot.is_some()
    }
}

/// A bot that plays this page's player.
struct Pilot {
    bot: Bot,
    level: u8,
    content: u64,
    thought: Tick,
    command: Command,
}

impl Pilot {
    fn new(content: &Content, level: u8) -> Self {
        let bot = Bot::new(Skill::level(level), 1, Arc::new(Ways::new(content)));
        Self { bot, level, content: content.name(), thought: Tick(0), command: Command::default() }
    }

    fn think(&mut self, session: &Session) -> Command {
        let (Some(world), Some(me)) = (session.shown(), session.me()) else {
            return self.command;
        };
        let tick = session.player().own_tick().unwrap_or(world.tick());
        let passed = tick.0.saturating_sub(self.thought.0);
        if passed > 0 {
            self.thought = tick;
            let dt =
                session.tick_length().map_or(1.0 / 60.0, |length| length.as_seconds_f64() as f32);
            let seconds = (passed as f32 * dt).min(0.25);
            self.command = self.bot.think(world, me, session.content(), seconds);
        }
        self.command
    }
}

/// A figure before a surface.
struct Exhibit {
    content: Content,
    world: World<Entity>,
    camera: Camera,
}

impl Exhibit {
    /// Before a wall that faces one of four sides, or on the ground seen from above.
    fn new(texture: &str, title: &str, side: u8, is_above: bool) -> Option<Self> {
        let yaw = f32::from(side % 4) * std::f32::consts::FRAC_PI_2;
        let pitch = if is_above { ABOVE_PITCH } else { 0.0 };
        let ahead = direction(yaw, 0.0).map(f32::round);
        let across = [ahead[1].abs() * 60.0, ahead[0].abs() * 60.0, 0.0];
        let near = scale(ahead, EXHIBIT_METRES + BEHIND_METRES);
        let far = add(near, scale(ahead, 1.0));
        let ground = if is_above { texture } else { "floor" };
        let mut text = format!("{{\n\"classname\" \"worldspawn\"\n\"message\" \"{title}\"\n");
        text += &block([-90.0, -90.0, -1.0], [90.0, 90.0, 0.0], ground);
        if !is_above {
            let (one, other) = (subtract(near, across), add(add(far, across), [0.0, 0.0, 40.0]));
            let low = [0, 1, 2].map(|axis| one[axis].min(other[axis]));
            let high = [0, 1, 2].map(|axis| one[axis].max(other[axis]));
            text += &block(low, high, texture);
        }
        text += "}\n{\n\"classname\" \"info_player_deathmatch\"\n\"origin\" \"0 0 28\"\n}\n";
        let content = Content::new(&text, Mode::FreeForAll).ok()?;
        let chest = scale(ahead, EXHIBIT_METRES);
        let mut world = World::default();
        let figure = Fighter {
            health: 100,
            player: 1,
            position: chest,
            yaw: yaw + std::f32::consts::PI,
            is_grounded: true,
            ..Fighter::default()
        };
        world.spawn(figure)?;
        let chest = add(chest, [0.0, 0.0, 0.9]);
        let eye = along(chest, direction(yaw, pitch), -EXHIBIT_METRES);
        let width = crate::settings::Settings::default().field_of_view.to_radians();
        Some(Self { content, world, camera: Camera { eye, yaw, pitch, width, shift: 0.0 } })
    }
}

/// A box of a map's text.
fn block(low: [f32; 3], high: [f32; 3], texture: &str) -> String {
    let [[a, b, c], [x, y, z]] =
        [low, high].map(|corner| corner.map(|at| (at * UNITS_PER_METRE) as i32));
    let planes = [
        ([a, b, c], [a, b + 1, c], [a, b, c + 1]),
        ([x, y, z], [x, y, z + 1], [x, y + 1, z]),
        ([a, b, c], [a, b, c + 1], [a + 1, b, c]),
        ([x, y, z], [x + 1, y, z], [x, y, z + 1]),
        ([a, b, c], [a + 1, b, c], [a, b + 1, c]),
        ([x, y, z], [x, y + 1, z], [x + 1, y, z]),
    ];
    let point = |[x, y, z]: [i32; 3]| format!("( {x} {y} {z} )");
    let line = |(one, two, three)| {
        format!("{} {} {} {texture} 0 0 0 1 1\n", point(one), point(two), point(three))
    };
    format!("{{\n{}}}\n", planes.into_iter().map(line).collect::<String>())
}

impl App {
    /// Plays without a mouse.
    pub(crate) fn walk(&mut self, forward: i8, yaw: f32) {
        (self.screen, self.trial.walk, self.hands.yaw) = (Screen::Play, Some((forward, yaw)), yaw);
    }

    /// Has a bot of a skill from 1 to 5 play; 0 gives the player back.
    pub(crate) fn fly(&mut self, level: u8) {
        let content = self.session.as_ref().map(Session::content).filter(|_| level > 0);
        self.trial.pilot = content.map(|content| Pilot::new(content, level));
        self.trial.walk = None;
        self.screen = Screen::Play;
    }

    /// Leaves the picture as it is; the match goes on.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.trial.is_held = is_held;
    }

    /// Shows a figure at 40 m before a surface, and nothing else; whether it can.
    pub(crate) fn exhibit(&mut self, texture: &str, title: &str, side: u8, is_above: bool) -> bool {
        let Some(exhibit) = Exhibit::new(texture, title, side, is_above) else { return false };
        let is_loaded = self.renderer.load(&mesh::of_map(&exhibit.content.map), &[]).is_ok();
        self.trial.exhibit = Some(exhibit).filter(|_| is_loaded);
        is_loaded
    }

    /// Draws the exhibit, if there is one.
    pub(super) fn show_exhibit(&mut self) -> bool {
        let Some(exhibit) = &self.trial.exhibit else { return false };
        self.page.screen("exhibit");
        let look = Look {
            content: &exhibit.content,
            ticks: 0.0,
            dt: 1.0 / 60.0,
            side: Side::default(),
            hidden: None,
        };
        let scene = Scene::of(&exhibit.world, &look, &Figures::default(), &Particles::default());
        let [width, height] = self.fit_canvas();
        let pane: Pane = [0, 0, width, height];
        self.renderer.draw(&scene, &exhibit.camera, pane);
        self.draw_calls = self.renderer.take_draw_calls();
        self.frames += 1;
        true
    }

    /// What is asked for without hands.
    pub(super) fn driven(&mut self) -> Option<Command> {
        if let Some((forward, yaw)) = self.trial.walk {
            return Some(Command { forward, yaw, ready: true, ..Command::default() });
        }
        let (pilot, session) = (self.trial.pilot.as_mut()?, self.session.as_ref()?);
        if pilot.content != session.content().name() {
            *pilot = Pilot::new(session.content(), pilot.level);
        }
        let command = pilot.think(session);
        (self.hands.yaw, self.hands.pitch) = (command.yaw, command.pitch);
        Some(command)
    }

    /// Looks at what the picture shows.
    pub(super) fn survey(&mut self, camera: &Camera) {
        if self.trial.told.is_none() {
            return;
        }
        if self.trial.first_frame.is_none() && self.draw_calls > 0 {
            let performance = web_sys::window().and_then(|window| window.performance());
            self.trial.first_frame = performance.map(|performance| performance.now());
        }
        let Some(session) = &self.session else { return };
        let Some(world) = session.shown() else { return };
        let map = &session.content().map;
        let own = session.me().map(|me| me.0);
        let chests = world
            .all::<Fighter>()
            .filter(|(_, fighter)| fighter.is_alive() && Some(fighter.player) != own)
            .map(|(_, fighter)| add(fighter.position, [0.0, 0.0, 1.2]));
        let in_picture = |chest: &[f32; 3]| {
            let way = subtract(*chest, camera.eye);
            // Well inside: not at the edge, where the panels are.
            let is_ahead = dot(unit(way), camera.forward()) > (camera.width * 0.3).cos();
            is_ahead && map.visible(camera.eye, *chest)
        };
        let seen: Vec<_> =
            chests.filter(in_picture).map(|chest| subtract(chest, camera.eye)).collect();
        let nearest = seen.iter().map(|way| length(*way)).fold(1000.0, f32::min);
        let apart = |one: &[f32; 3]| {
            let angle = |other: &[f32; 3]| dot(unit(*one), unit(*other)).clamp(-1.0, 1.0).acos();
            seen.iter().map(angle).fold(0.0, f32::max)
        };
        let spread = seen.iter().map(apart).fold(0.0, f32::max);
        self.trial.enemies = (seen.len() as u32, nearest, spread.to_degrees());
    }

    /// What tests may read, and nobody writes: `window.sametick`, and a copy of it by `status()`. It is there in
    /// browsers that a program drives.
    ///
    /// - the connection: `stage` (`asking`, `opening`, `waiting`, `knocking`, `playing`), `road` (`webtransport`,
    ///   `websocket`, `page`) and `link` (the same for people), `standing`, `joins` (how often we came in), `reason`
    ///   (what is said about it), `ping`, `jitter`, `lossDown`, `lossUp` (all measured);
    /// - the match: `player` and `entity` (our number, our body's slot), `tick` (of the newest snapshot: the server's
    ///   time), `ownTick`, `x` `y` `z` (our feet by that snapshot), `health`, `alive`, `name`, `score`, `deaths`,
    ///   `fighters` (alive and in sight), `round` (0 before the first; with each everyone is placed anew), `confirmed`
    ///   and `refused` hits;
    /// - the page: `screen` (`first`, `play`), `yaw`, `pitch`, `locked`, `drawCalls`, `frames`, `matchMs` and `frameMs`
    ///   (what the match and all of the last frame took on the processor), `firstFrame` (ms from opening the page to
    ///   the first picture of a match), `enemies`, `nearest` and `spread` (alive, in the picture and not hidden;
    ///   metres; degrees between two of them), `held`, `waits` (a participant's round has not begun: nothing of it is
    ///   seen), `dropped` (datagrams that were pushed out while nobody looked), `build`.
    pub(crate) fn tell_tests(&self, now: Time) {
        let Some(told) = &self.trial.told else { return };
        let tell =
            |name: &str, value: JsValue| _ = js_sys::Reflect::set(told, &name.into(), &value);
        let figures = self.health.figures(now);
        tell("screen", if self.screen == Screen::Play { "play" } else { "first" }.into());
        tell("ping", figures.ping_ms.map_or(JsValue::NULL, JsValue::from));
        tell("jitter", figures.jitter_ms.into());
        tell("lossDown", figures.loss_down_percent.into());
        tell("lossUp", figures.loss_up_percent.into());
        tell("confirmed", self.marks.confirmed.into());
        tell("refused", self.marks.refused.into());
        tell("drawCalls", self.draw_calls.into());
        tell("frames", self.frames.into());
        tell("matchMs", self.costs.0.into());
        tell("frameMs", self.costs.1.into());
        tell("locked", self.is_locked().into());
        tell("yaw", self.hands.yaw.into());
        tell("pitch", self.hands.pitch.into());
        tell("build", env!("CARGO_PKG_VERSION").into());
        tell("joins", self.joins.into());
        tell("held", self.trial.is_held.into());
        tell("waits", self.around.is_held.into());
        tell("firstFrame", self.trial.first_frame.map_or(JsValue::NULL, JsValue::from));
        let (enemies, nearest, spread) = self.trial.enemies;
        tell("spread", spread.into());
        tell("enemies", enemies.into());
        tell("nearest", nearest.into());
        tell("reason", self.notice.clone().unwrap_or_default().into());
        let stage = self.joining.as_ref().map(|joining| joining.stage());
        let Some(session) = &self.session else {
            tell("stage", stage.unwrap_or("asking").into());
            return;
        };
        let is_in = matches!(session.standing(), crate::session::Standing::Playing);
        tell("stage", stage.unwrap_or(if is_in { "playing" } else { "knocking" }).into());
        let link = session.road().name();
        let road = if link == "in this page" { "page".to_owned() } else { link.to_lowercase() };
        tell("road", road.into());
        tell("link", session.road().name().into());
        tell("standing", format!("{:?}", session.standing()).into());
        tell("dropped", (session.road().dropped() as f64).into());
        tell("player", session.me().map_or(JsValue::NULL, |me| me.0.into()));
        tell("tick", session.player().snapshot().map_or(0, |world| world.tick().0).into());
        tell("ownTick", session.player().own_tick().map_or(0, |tick| tick.0).into());
        if let Some(hashes) = session.player().hashes() {
            let all = hashes.iter().map(|(tick, hash)| format!("{tick}:{hash}"));
            tell("hashes", all.collect::<Vec<_>>().join(" ").into());
        }
        tell_snapshot(session, &tell);
        if let Some((id, own)) = session.own() {
            tell("entity", (id.slot() as u32).into());
            tell("health", own.health.into());
            tell("alive", own.is_alive().into());
        }
        if let (Some(world), Some(me)) = (session.shown(), session.me()) {
            let alive = world.all::<Fighter>().filter(|(_, fighter)| fighter.is_alive()).count();
            tell("fighters", (alive as u32).into());
            if let Some(seat) = seat(world, me.0) {
                tell("score", seat.score.into());
                tell("deaths", seat.deaths.into());
                tell("name", seat.name.to_string().into());
            }
        }
    }
}

/// What the newest snapshot says of the round and of our feet.
fn tell_snapshot(session: &Session, tell: &impl Fn(&str, JsValue)) {
    let Some((world, me)) = session.player().snapshot().zip(session.me()) else { return };
    if let Some((_, contest)) = world.all::<Contest>().next() {
        tell("round", contest.round.into());
    }
    let Some((_, own)) = world.owned::<Fighter>(me) else { return };
    for (name, part) in ["x", "y", "z"].into_iter().zip(own.position) {
        tell(name, part.into());
    }
}
