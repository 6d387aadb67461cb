//! The page at work: each frame takes what happened, drives the match, and draws it. Owns everything, decides little.

mod happenings;
mod lab;
mod trial;

use crate::camera::Camera;
use crate::draw::{Pane, Renderer};
use crate::effects::{Noise, Stage};
use crate::figure::{self, Figures};
use crate::hitmarks::{HitMarks, bearing};
use crate::hud::{Around, Feed};
use crate::input::{Action, Hands};
use crate::killcam::{Recorder, Replay};
use crate::mesh;
use crate::outside::{Joining, Match, News, Progress, Ticket};
use crate::page::Page;
use crate::particles::Particles;
use crate::scene::{Look, Scene, Side};
use crate::session::{Session, Standing, named_content};
use crate::settings::Settings;
use crate::sound::Speakers;
use crate::spectator::Spectator;
use lab::{Lab, Picture};
use sametick::health::{Health, Link, Work};
use sametick::secure::ClientToken;
use sametick::{EntityId, PlayerId, Span, Text, Tick, Time, World};
use sametick_arena::vector::Vector;
use sametick_arena::{Command, Entity, Event, Fighter, Weapon};
use sametick_links::Clock;
use sametick_links::browser::BrowserRandom;
use trial::Trial;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{HtmlCanvasElement, WebGl2RenderingContext as Gl, WebGlContextAttributes};

/// A frame that took longer counts as this long for what only moves for the eye.
const FRAME_SECONDS_MAX: f32 = 0.25;
/// A page that was not drawn for so long is not looked at.
const UNSEEN_AFTER: Span = Span::seconds(2);
/// How long the arc around the crosshair shows from where one was hurt.
const HURT_SECONDS: f32 = 0.9;
/// How many such arcs there are.
const HURTS_MAX: usize = 4;

/// Which screen is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    /// A match to look at, and the way into it.
    First,
    /// One's own.
    Play,
}

/// Everything.
pub(crate) struct App {
    pub(crate) page: Page,
    canvas: HtmlCanvasElement,
    renderer: Renderer,
    pub(crate) settings: Settings,
    pub(crate) problems: Vec<String>,
    clock: Clock,
    last: Time,
    pub(crate) screen: Screen,
    pub(crate) session: Option<Session>,
    pub(crate) joining: Option<Joining>,
    /// Which server it is, what leads back to our place there, and how often we came in.
    server: String,
    ticket: Option<Ticket>,
    pub(crate) joins: u32,
    pub(crate) is_in: bool,
    /// What an experiment asks of the page, if this is a participant's.
    pub(crate) lab: Option<Lab>,
    /// What a test asked for.
    pub(crate) trial: Trial,
    pub(crate) matches: Vec<Match>,
    pub(crate) news: News,
    /// Where others of the network find this page, if they can.
    pub(crate) network: Option<String>,
    /// What to say about the connection, if it is not as it should be.
    pub(crate) notice: Option<String>,
    pub(crate) hands: Hands,
    is_locked: bool,
    pub(crate) figures: Figures,
    particles: Particles,
    pub(crate) marks: HitMarks,
    pub(crate) feed: Feed,
    /// What stands around the picture that is seen.
    pub(crate) around: Around,
    spectator: Spectator,
    recorder: Recorder,
    pub(crate) replay: Option<Replay>,
    pub(crate) hurts: Vec<(f32, f32)>,
    pub(crate) health: Health,
    speakers: Option<Speakers>,
    pub(crate) asked_key: Option<Action>,
    pub(crate) is_typing: bool,
    pub(crate) shows_conditions: bool,
    pub(crate) shows_settings: bool,
    pub(crate) draw_calls: u32,
    pub(crate) frames: u32,
    /// Milliseconds that the match and all of a frame took on the processor.
    pub(crate) costs: (f64, f64),
    say: Option<Text<{ sametick_arena::SAY_BYTES_MAX }>>,
    weapon_lowered: f32,
}

impl App {
    /// Prepares the page and begins to ask for a match.
    pub(crate) fn new() -> Result<Self, JsValue> {
        let window = web_sys::window().ok_or("there is no window")?;
        let document = window.document().ok_or("there is no document")?;
        let address = window.location().search().unwrap_or_default();
        let (settings, problems) = chosen(&address);
        let canvas: HtmlCanvasElement =
            document.get_element_by_id("view").ok_or("there is no canvas")?.dyn_into()?;
        let wishes = WebGlContextAttributes::new();
        wishes.set_antialias(settings.is_fine);
        wishes.set_alpha(false);
        let context = canvas.get_context_with_context_options("webgl2", &wishes)?;
        let gl: Gl = context.ok_or("This browser has no WebGL 2.")?.dyn_into()?;
        let mut renderer = Renderer::new(gl)?;
        renderer.is_fine = settings.is_fine;
        let clock = Clock::start();
        let ticket = kept_ticket();
        let is_asked = settings.server == "any" && !settings.is_lab;
        let joining = is_asked.then(|| Joining::new(&settings, ticket));
        let lab = settings.is_lab.then(Lab::default);
        let mut app = Self {
            page: Page::new(document)?,
            canvas,
            renderer,
            settings,
            problems,
            last: clock.now(),
            clock,
            screen: Screen::First,
            session: None,
            joining,
            server: String::new(),
            ticket: None,
            joins: 0,
            is_in: false,
            lab,
            trial: Trial::default(),
            matches: Vec::new(),
            news: News::default(),
            network: None,
            notice: None,
            hands: Hands::default(),
            is_locked: false,
            figures: Figures::default(),
            particles: Particles::default(),
            marks: HitMarks::default(),
            feed: Feed::default(),
            around: Around::default(),
            spectator: Spectator::default(),
            recorder: Recorder::default(),
            replay: None,
            hurts: Vec::new(),
            health: Health::new(Link::Datagrams),
            speakers: None,
            asked_key: None,
            is_typing: false,
            shows_conditions: false,
            shows_settings: false,
            draw_calls: 0,
            frames: 0,
            costs: (0.0, 0.0),
            say: None,
            weapon_lowered: 0.0,
        };
        if app.lab.is_some() {
            app.screen = Screen::Play;
        } else if app.joining.is_none() {
            app.play_inside();
        }
        app.prepare_page();
        Ok(app)
    }

    /// One frame.
    pub(crate) fn frame(&mut self) {
        let now = self.clock.now();
        if !self.is_frame_due(now) {
            return;
        }
        let passed = now - self.last;
        let seconds = (passed.as_seconds_f64() as f32).min(FRAME_SECONDS_MAX);
        self.last = now;
        self.heed_all(now);
        self.join(now);
        self.count_frame(passed);
        let command = self.command();
        let mut work = Work { frame: passed, repredicted: Span::ZERO };
        if let Some(session) = &mut self.session {
            session.frame(now, command);
            work.repredicted = self.clock.now() - now;
            session.worked(work.repredicted);
            self.costs.0 = work.repredicted.as_millis_f64();
            let observed = session.observe();
            self.health.frame(session.now(), work, observed);
        }
        self.notice_standing(now);
        if self.session.as_mut().is_some_and(Session::take_new_content) {
            self.load_map();
        }
        if self.trial.is_held || self.show_exhibit() {
            self.tell_tests(now);
            return;
        }
        self.frames += 1;
        self.pass(passed.as_seconds_f64().min(1.0) as f32);
        let camera = self.show(seconds);
        if let Some(camera) = camera {
            if self.lab.is_none() {
                self.speakers.iter_mut().for_each(|speakers| speakers.listen(&camera));
            }
            self.survey(&camera);
        }
        self.update_page(self.session.as_ref().map_or(now, Session::now));
        self.costs.1 = (self.clock.now() - now).as_millis_f64();
    }

    /// Between frames, and while nobody looks: carries commands and updates, and draws nothing. A computer that draws
    /// slowly plays no worse for it, and a page in the background stays in its match.
    pub(crate) fn pump(&mut self) {
        let now = self.clock.now();
        self.heed_all(now);
        self.join(now);
        let command = self.command();
        if let Some(session) = &mut self.session {
            if self.trial.has_pilot() {
                session.frame(now, command);
            } else {
                session.drive(now, command);
            }
            // However slow frames are, a death is told from what was known at the time.
            session.player().snapshot().into_iter().for_each(|told| self.recorder.snapshot(told));
            if now - self.last > UNSEEN_AFTER {
                // What nobody saw is not shown later.
                let _ = session.take_effects();
            }
        }
        self.notice_standing(now);
    }

    /// Says goodbye, because the page goes.
    pub(crate) fn leave(&mut self) {
        let now = self.clock.now();
        self.session.iter_mut().for_each(|session| session.close(now));
    }

    /// What is asked for: nothing but to watch, until one plays.
    fn command(&mut self) -> Command {
        let is_playing = self.screen == Screen::Play;
        let is_handled = self.is_locked || self.trial.is_driven();
        if !is_playing || self.is_typing || !is_handled {
            self.hands.let_go();
        }
        let say = self.say.take().unwrap_or_default();
        if let Some(command) = self.driven() {
            return command;
        }
        Command { watch: !is_playing || self.settings.watches, say, ..self.hands.command() }
    }

    fn join(&mut self, now: Time) {
        let Some(joining) = &mut self.joining else { return };
        match joining.step(self.settings.view(), &self.settings.wanted, now) {
            Progress::UnderWay => {}
            Progress::Joined(server, mut session) => {
                (self.server, self.is_in) = (server, false);
                self.matches = std::mem::take(&mut joining.matches);
                self.network = joining.network.take();
                let asked = joining.lab.take();
                self.joining = None;
                if let Some(asked) = asked {
                    session.set_view(self.begin_trial(asked));
                    // Until the first picture is there, what is to be hidden is.
                    let is_held = session.content().held_for > 0;
                    self.around = Around { is_held, ..Around::default() };
                }
                session.call(&self.settings.name);
                let is_stream = session.road().name() == "WebSocket";
                self.health = Health::new(if is_stream { Link::Stream } else { Link::Datagrams });
                self.session = Some(*session);
                self.recorder.clear();
                self.figures = Figures::default();
            }
            // The first time there is none, the page plays by itself; later it waits for the one it knew.
            Progress::Nobody if self.lab.is_some() => {
                self.notice = Some("The experiment does not answer. Trying again.".into());
            }
            Progress::Nobody if self.session.is_none() && self.matches.is_empty() => {
                self.joining = None;
                self.play_inside();
            }
            Progress::Nobody => self.notice = Some("No server answers. Trying again.".into()),
            Progress::Failed(reason) => self.notice = Some(format!("{reason} Trying again.")),
        }
    }

    /// A match in this page.
    fn play_inside(&mut self) {
        let Some(content) = named_content(&self.settings.map, "ffa") else { return };
        let now = self.clock.now();
        let (bots, view) = (self.settings.bots, self.settings.view());
        let mut session = Session::inside(&content, bots, view, now, &mut BrowserRandom);
        session.set_conditions(&self.settings.wanted);
        session.call(&self.settings.name);
        self.session = Some(session);
    }

    /// Says in words how the connection stands, and comes back when it was lost.
    fn notice_standing(&mut self, now: Time) {
        let Some(session) = &self.session else { return };
        match session.standing() {
            Standing::Playing if self.joining.is_none() => {
                self.notice = None;
                if !std::mem::replace(&mut self.is_in, true) {
                    self.joins += 1;
                    let ticket = session.player().ticket().cloned();
                    self.ticket = ticket.map(|ticket| (self.server.clone(), ticket));
                    keep_ticket(self.ticket.as_ref());
                }
            }
            Standing::Stopped(reason) => self.notice = Some(reason.clone()),
            Standing::Lost(_) if self.lab.is_some() => self.lose_trial(now),
            Standing::Lost(reason) if self.joining.is_none() => {
                self.notice = Some(format!("{reason} Trying again."));
                // A ticket that was refused is of no use.
                let ticket = self.ticket.take().filter(|_| self.is_in);
                self.joining = Some(Joining::again(&self.settings, ticket, now));
            }
            _ => {}
        }
    }

    fn load_map(&mut self) {
        let Some(session) = &self.session else { return };
        let map = &session.content().map;
        let doors = map.doors.iter().map(|door| &door.brushes);
        let brushes = doors.chain(map.lifts.iter().map(|lift| &lift.brushes));
        let movers: Vec<mesh::Mesh> =
            brushes.map(|brushes| mesh::of_mover(brushes, &map.title)).collect();
        if let Err(problem) = self.renderer.load(&mesh::of_map(map), &movers) {
            self.notice = Some(format!("The map cannot be drawn: {problem}"));
        }
    }

    /// Shows what is to be seen; from where, if there is anything.
    fn show(&mut self, seconds: f32) -> Option<Camera> {
        let mut session = self.session.take()?;
        let camera = self.show_match(&mut session, seconds);
        self.session = Some(session);
        camera
    }

    fn show_match(&mut self, session: &mut Session, seconds: f32) -> Option<Camera> {
        let effects = session.take_effects();
        let me = session.me();
        let own = session.own().map(|(id, fighter)| (id, fighter.clone()));
        let world = session.shown()?;
        let content = session.content();
        let playing = self.screen == Screen::Play;
        let is_alive = playing && own.as_ref().is_some_and(|(_, fighter)| fighter.is_alive());
        let watched = self
            .spectator
            .watched
            .and_then(|id| world.get::<Fighter>(id))
            .map(|f| PlayerId(f.player));
        let side = Side::of(world, content, if playing { me } else { watched });
        let mut stage = Stage {
            world,
            content,
            side,
            seed: session.player().seed(),
            own: own.as_ref().filter(|_| playing).map(|(id, _)| *id),
            own_muzzle: own.as_ref().map(|(_, fighter)| {
                figure::own_muzzle(fighter.eye(), self.hands.yaw, self.hands.pitch)
            }),
            figures: &mut self.figures,
            particles: &mut self.particles,
            marks: &mut self.marks,
            feed: &mut self.feed,
            noises: Vec::new(),
            hurts: Vec::new(),
            death: None,
            spawned: None,
        };
        stage.show(effects);
        let Stage { mut noises, hurts, death, spawned, .. } = stage;
        self.figures.pass(world, seconds, |id, heard| {
            let figure::Heard::Step(place) = heard;
            let is_own = own.as_ref().is_some_and(|(own, _)| *own == id);
            noises.push((Noise::Step, (!is_own).then_some(place)));
        });
        if let (Some(speakers), None) = (&mut self.speakers, &self.lab) {
            noises.drain(..).for_each(|(noise, at)| speakers.play(noise, at));
        }
        own.iter().for_each(|(_, fighter)| self.feel(fighter, &hurts));
        if let Some(at) = spawned {
            self.begin_life(session, at);
        }
        let camera = match &own {
            Some((id, fighter)) if is_alive => self.own_camera(*id, fighter, seconds),
            _ => self.gliding_camera(world, content, seconds),
        };
        session
            .player()
            .snapshot()
            .into_iter()
            .for_each(|snapshot| self.recorder.snapshot(snapshot));
        if is_alive {
            self.recorder.screen(world.tick(), camera, world);
        }
        // Whoever takes part in an experiment is not told how late anything is.
        let is_blind = self.lab.is_some();
        if let (Some((key, event)), Some((id, _)), false) = (death, &own, is_blind) {
            self.replay = self.death(session, key.tick, *id, &event);
        }
        self.draw(session, world, &camera, side, own.as_ref().filter(|_| is_alive), noises);
        Some(camera)
    }

    /// Arcs around the crosshair, from where one was hurt.
    fn feel(&mut self, fighter: &Fighter, hurts: &[(Vector, u8)]) {
        let yaw = self.hands.yaw;
        self.hurts
            .extend(hurts.iter().map(|(from, _)| (bearing(fighter, yaw, *from), HURT_SECONDS)));
        let extra = self.hurts.len().saturating_sub(HURTS_MAX);
        self.hurts.drain(..extra);
    }

    /// Lets time pass for what is only shown.
    fn pass(&mut self, seconds: f32) {
        let snapshot = self.session.as_ref().and_then(|session| session.player().snapshot());
        // First time passes, then comes the server's word: however slow a frame, it shows for one.
        self.marks.pass(seconds);
        self.marks.settle(snapshot.map_or(Tick(0), World::tick));
        self.particles.pass(seconds);
        self.feed.pass(seconds);
        self.hurts.iter_mut().for_each(|(_, left)| *left -= seconds);
        self.hurts.retain(|(_, left)| *left > 0.0);
        if let Some(replay) = &mut self.replay {
            replay.left -= seconds;
        }
        if self.replay.as_ref().is_some_and(|replay| replay.left <= 0.0) {
            self.replay = None;
        }
    }

    /// A new life looks where its place on the map does.
    fn begin_life(&mut self, session: &Session, at: [f32; 3]) {
        let near =
            |place: [f32; 3]| (0..3).map(|axis| (place[axis] - at[axis]).powi(2)).sum::<f32>();
        let spawns = session.content().map.spawns.iter();
        if let Some(spawn) = spawns.min_by(|a, b| near(a.place).total_cmp(&near(b.place))) {
            (self.hands.yaw, self.hands.pitch) = (spawn.yaw, 0.0);
        }
    }

    fn own_camera(&mut self, id: EntityId, fighter: &Fighter, seconds: f32) -> Camera {
        let bob = self.figures.get(id).bob() * 0.025;
        let mut eye = fighter.eye();
        eye[2] += bob;
        let lowered = if fighter.reloading > 0.0 { 1.0 } else { 0.0 };
        self.weapon_lowered += (lowered - self.weapon_lowered) * (1.0 - (-12.0 * seconds).exp());
        let width = self.settings.field_of_view.to_radians();
        Camera { eye, yaw: self.hands.yaw, pitch: self.hands.pitch, width, shift: 0.0 }
    }

    fn gliding_camera(
        &mut self,
        world: &World<Entity>,
        content: &sametick_arena::Content,
        seconds: f32,
    ) -> Camera {
        let mut camera = self.spectator.look(world, &content.map, seconds);
        if self.screen == Screen::First {
            camera.shift = 0.33;
        }
        camera
    }

    fn death(&self, session: &Session, tick: Tick, own: EntityId, event: &Event) -> Option<Replay> {
        let killer = event.by.filter(|killer| *killer != own)?;
        let world = session.shown()?;
        let player = world.get::<Fighter>(killer)?.player;
        let name = crate::hud::name(world, player);
        if event.weapon == Weapon::Launcher {
            let sentence = format!(
                "{name}’s rocket hit you. Rockets fly in the present: nothing was looked back."
            );
            return self.recorder.own_screen(tick, (own, killer), sentence);
        }
        let rewound = Some(Span::millis(event.rewound_ms.into())).zip(session.tick_length());
        self.recorder.replay(tick, (own, killer), &name, rewound)
    }

    fn draw(
        &mut self,
        session: &Session,
        world: &World<Entity>,
        camera: &Camera,
        side: Side,
        own: Option<&(EntityId, Fighter)>,
        noises: Vec<(Noise, Option<Vector>)>,
    ) {
        let [width, height] = self.fit_canvas();
        let dt = session.tick_length().map_or(1.0 / 60.0, |length| length.as_seconds_f64() as f32);
        let content = session.content();
        let look = |world: &World<Entity>, hidden| Look {
            content,
            ticks: f64::from(world.tick().0),
            dt,
            side,
            hidden,
        };
        let split = self.replay.as_ref().filter(|_| self.screen == Screen::Play);
        if let Some(replay) = split {
            let still = Particles::default();
            let half = if replay.theirs.is_some() { width / 2 } else { width };
            let (shown, eyes) = &replay.mine;
            let scene = Scene::of(shown, &look(shown, Some(replay.own)), &self.figures, &still);
            self.renderer.draw(&scene, eyes, [0, 0, half, height]);
            if let Some((shown, eyes)) = &replay.theirs {
                let scene =
                    Scene::of(shown, &look(shown, Some(replay.killer)), &self.figures, &still);
                self.renderer.draw(&scene, eyes, [half, 0, width - half, height]);
            }
        } else {
            let mut scene = Scene::of(
                world,
                &look(world, own.map(|(id, _)| *id)),
                &self.figures,
                &self.particles,
            );
            if let Some((id, fighter)) = own {
                let figure = self.figures.get(*id);
                figure::hands(camera, fighter, figure, self.weapon_lowered, &mut scene);
            }
            // A server elsewhere is known by its newest word.
            let truth = session.road().truth().or_else(|| session.player().snapshot());
            if let Some(truth) = truth.filter(|_| self.settings.ghosts) {
                let others =
                    truth.all::<Fighter>().filter(|(id, _)| own.is_none_or(|(own, _)| own != id));
                others.for_each(|(_, fighter)| figure::ghost(fighter, &mut scene));
            }
            let pane: Pane = [0, 0, width, height];
            let around = self.lab.is_some().then(|| self.around(session, world));
            match (&mut self.lab, around) {
                (Some(lab), Some(around)) => {
                    let picture = Picture { scene, camera: *camera, around, noises };
                    if let Some(picture) = lab.late_picture(picture) {
                        self.renderer.draw(&picture.scene, &picture.camera, pane);
                        self.hear(&picture);
                        self.around = picture.around;
                    }
                }
                _ => self.renderer.draw(&scene, camera, pane),
            }
        }
        self.draw_calls = self.renderer.take_draw_calls();
    }

    fn fit_canvas(&self) -> [i32; 2] {
        let ratio =
            web_sys::window().map_or(1.0, |window| window.device_pixel_ratio()).clamp(0.5, 2.0);
        let dots = |length: i32| ((f64::from(length) * ratio) as u32).max(1);
        let (width, height) = (dots(self.canvas.client_width()), dots(self.canvas.client_height()));
        if (self.canvas.width(), self.canvas.height()) != (width, height) {
            self.canvas.set_width(width);
            self.canvas.set_height(height);
        }
        [width as i32, height as i32]
    }
}

/// What was kept, and what the page's address asks for; and what is wrong with that.
fn chosen(address: &str) -> (Settings, Vec<String>) {
    let mut settings = Settings::default();
    let kept = storage().and_then(|storage| storage.get_item(STORED).ok().flatten());
    // What an older page has kept and this one does not know is no concern of the player's.
    kept.iter().for_each(|kept| _ = settings.read(kept));
    let problems = settings.read(address);
    let settings = if settings.is_lab { settings.for_participant() } else { settings };
    (settings, problems)
}

/// Under which name the way back is kept, for a reload.
const TICKET: &str = "sametick.ticket";

fn kept_ticket() -> Option<Ticket> {
    let storage = web_sys::window()?.session_storage().ok()??;
    let kept = storage.get_item(TICKET).ok()??;
    let (server, ticket) = kept.split_once(' ')?;
    Some((server.to_owned(), ClientToken::from_text(ticket)?))
}

fn keep_ticket(ticket: Option<&Ticket>) {
    let storage = web_sys::window().and_then(|window| window.session_storage().ok().flatten());
    if let (Some(storage), Some((server, ticket))) = (storage, ticket) {
        // Without it a reload takes a new place.
        let _ = storage.set_item(TICKET, &format!("{server} {}", ticket.to_text()));
    }
}

/// Under which name choices are kept.
const STORED: &str = "sametick.settings";

fn storage() -> Option<web_sys::Storage> {
    web_sys::window().and_then(|window| window.local_storage().ok().flatten())
}
