//! Who plays: bots that fight, and scripts of two. And the grounds that trials are played on, made once for all.

use crate::plan::Trial;
use crate::scan::map_text;
use crate::settings::Settings;
use crate::targets::with_targets;
use sametick::{PlayerId, Span, World};
use sametick_arena::bot::{Bot, SKILLS, Skill, Ways};
use sametick_arena::map::{MAPS, MapError};
use sametick_arena::scenes::Scene;
use sametick_arena::vector::along;
use sametick_arena::{Command, Content, Entity, Fighter, Mode, Tuning, Weapon};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What is played on: content, and the ways about it.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) content: Arc<Content>,
    ways: Option<Arc<Ways>>,
    scene: Option<Arc<Scene>>,
}

impl Ground {
    /// The same for people who wait: when everyone is here, the warm-up passes and then this much before the round
    /// begins.
    pub(super) fn held(self, trial: &Trial, foreperiod: Span) -> Self {
        if foreperiod == Span::ZERO {
            return self;
        }
        let warm_up = trial.settings.number("warm_up").unwrap_or(0.0);
        let seconds = (warm_up / 1000.0 + foreperiod.as_seconds_f64()) as f32;
        let players = u16::try_from(trial.settings.players()).unwrap_or(u16::MAX);
        Self { content: Arc::new((*self.content).clone().held(players, seconds)), ..self }
    }
}

/// All grounds that were asked for; finding out a map's ways takes a moment.
#[derive(Default)]
pub struct Library {
    grounds: Mutex<BTreeMap<(String, String), Ground>>,
    /// Where paths begin.
    pub folder: PathBuf,
}

impl Library {
    /// A library whose paths begin in a folder.
    pub fn new(folder: &Path) -> Self {
        Self { grounds: Mutex::default(), folder: folder.to_owned() }
    }

    /// The ground of a trial.
    pub(crate) fn ground(&self, trial: &Trial) -> Result<Ground, String> {
        let settings = &trial.settings;
        let key = match settings.text("play") {
            "scene" => (settings.text("scene").to_owned(), "scene".to_owned()),
            _ => (settings.text("map").to_owned(), settings.text("mode").to_owned()),
        };
        let ground = self.plain(key.clone())?;
        let set = settings.target_set();
        if set.kinds.is_empty() || ground.scene.is_some() {
            return Ok(ground);
        }
        let warm_up = settings.number("warm_up").unwrap_or(0.0);
        let key = (key.0, format!("{} {warm_up} {}", key.1, set.text()));
        let mut grounds = self.grounds.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let made = grounds.entry(key).or_insert_with(|| {
            let content = with_targets((*ground.content).clone(), set, warm_up);
            Ground { content: Arc::new(content), ..ground }
        });
        Ok(made.clone())
    }

    /// A map in a mode, or a scene.
    fn plain(&self, key: (String, String)) -> Result<Ground, String> {
        let mut grounds = self.grounds.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(ground) = grounds.get(&key) {
            return Ok(ground.clone());
        }
        let ground = match key.1.as_str() {
            "scene" => scene_of(&key.0),
            mode => {
                let text = map_text(&self.folder, &key.0)?;
                let content = match_content(&text, mode_of(mode));
                let content = content.map_err(|error| format!("the map {:?}: {error}", key.0))?;
                content.map.visibility();
                let ways = Some(Arc::new(Ways::new(&content)));
                Ground { content: Arc::new(content), ways, scene: None }
            }
        };
        grounds.insert(key, ground.clone());
        Ok(ground)
    }
}

/// One round that does not end: what is counted is counted through.
fn match_content(map: &str, mode: Mode) -> Result<Content, MapError> {
    let tuning = Tuning { score_limit: 0, round_seconds: 0.0, ..Tuning::default() };
    Ok(Content { tuning, ..Content::new(map, mode)? })
}

/// The content of a trial's recording, by the name that it has there: a scene, or a match on a map that comes with the
/// game or is handed in.
pub fn content_named(name: u64, map: Option<&str>) -> Option<Content> {
    all_contents(map).find(|content| content.name() == name)
}

fn all_contents(map: Option<&str>) -> impl Iterator<Item = Content> {
    let scenes = Scene::all().into_iter().map(|scene| scene.content);
    let maps = MAPS.iter().map(|(_, text)| *text).chain(map);
    let modes = [Mode::FreeForAll, Mode::Teams, Mode::Duel, Mode::Practice];
    let matches = maps.flat_map(move |map| {
        modes.into_iter().filter_map(move |mode| match_content(map, mode).ok())
    });
    scenes.chain(matches)
}

/// The same, for a recording whose configuration may tell of targets, and of a round that was held.
pub fn content_recorded(name: u64, configuration: &str, map: Option<&str>) -> Option<Content> {
    let said: Option<serde_json::Value> = serde_json::from_str(configuration).ok();
    let number = |name: &str| said.as_ref().and_then(|said| said.get(name)?.as_f64());
    let hold = number("held_for").zip(number("pause_seconds"));
    let held = |content: Content| match hold {
        Some((players, seconds)) => content.held(players as u16, seconds as f32),
        None => content,
    };
    let set = said.as_ref().and_then(|said| said.get("target_set")?.as_str());
    let Some(set) = set.and_then(|text| sametick_arena::TargetSet::read(text).ok()) else {
        return all_contents(map).map(held).find(|content| content.name() == name);
    };
    let warm_up = number("warm_up").or(Settings::default().number("warm_up")).unwrap_or(0.0);
    let maps = MAPS.iter().map(|(_, text)| *text).chain(map);
    let plain = maps.filter_map(|map| match_content(map, Mode::Practice).ok());
    let mut all = plain.map(|content| held(with_targets(content, set.clone(), warm_up)));
    all.find(|content| content.name() == name)
}

fn scene_of(name: &str) -> Ground {
    let scene = match name {
        "corner" => Scene::corner(),
        "run_at_each_other" => Scene::run_at_each_other(),
        "tree" => Scene::tree(),
        _ => Scene::dash_across(),
    };
    // Before it is handed out: copies share what was found out.
    scene.content.map.visibility();
    let content = Arc::new(scene.content.clone());
    Ground { content, ways: None, scene: Some(Arc::new(scene)) }
}

fn mode_of(name: &str) -> Mode {
    match name {
        "tdm" => Mode::Teams,
        "duel" => Mode::Duel,
        "targets" => Mode::Practice,
        _ => Mode::FreeForAll,
    }
}

/// Who decides what a player asks for.
pub(crate) enum Mind {
    /// And the one weapon that it uses, if it may not choose.
    Bot(Box<Bot>, Option<Weapon>),
    /// And for how many seconds of its target's run it aims ahead.
    Script(Arc<Scene>, f32),
    /// Somebody elsewhere decides.
    Person,
}

impl Mind {
    pub(crate) fn new(trial: &Trial, ground: &Ground, player: u32) -> Self {
        match (&ground.scene, &ground.ways) {
            (Some(scene), _) => {
                let ahead_ms = trial.settings.number_of(player, "aim_ahead").unwrap_or(0.0);
                Self::Script(Arc::clone(scene), (ahead_ms / 1000.0) as f32)
            }
            (None, ways) => {
                let name = trial.settings.text_of(player, "skill");
                let skill: Skill =
                    SKILLS.into_iter().find(|skill| skill.name == name).unwrap_or(SKILLS[2]);
                let ways = ways.clone().unwrap_or_else(|| Arc::new(Ways::new(&ground.content)));
                let seed = trial.seed.wrapping_add(u64::from(player) << 32);
                let weapon = match trial.settings.text_of(player, "weapon") {
                    "rifle" => Some(Weapon::Rifle),
                    "shotgun" => Some(Weapon::Shotgun),
                    "launcher" => Some(Weapon::Launcher),
                    _ => None,
                };
                Self::Bot(Box::new(Bot::new(skill, seed, ways)), weapon)
            }
        }
    }

    pub(crate) fn role(&self) -> &'static str {
        match self {
            Self::Bot(..) => "bot",
            Self::Script(..) => "script",
            Self::Person => "person",
        }
    }

    /// What it asks for, this long after it was last asked; a tick of the game takes `tick` seconds.
    pub(crate) fn think(
        &mut self,
        picture: &World<Entity>,
        me: PlayerId,
        content: &Content,
        [since, tick]: [f32; 2],
    ) -> Command {
        match self {
            Self::Bot(bot, weapon) => {
                let wish = bot.think(picture, me, content, since);
                Command { weapon: weapon.unwrap_or(wish.weapon), ..wish }
            }
            Self::Person => Command::default(),
            Self::Script(scene, 0.0) => scene.think(me, picture, tick),
            Self::Script(scene, ahead) => {
                let fire = scene.think(me, picture, tick).fire;
                let mut later = picture.clone();
                for (_, fighter) in later.all_mut::<Fighter>().filter(|(_, one)| one.player != me.0)
                {
                    fighter.position = along(fighter.position, fighter.velocity, *ahead);
                }
                Command { fire, ..scene.think(me, &later, tick) }
            }
        }
    }
}
