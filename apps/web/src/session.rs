//! One player's match: the library's client and the road to its server, which may be in this page too. The page asks
//! in each frame; time, chance and sockets are handed in.

use crate::conditions::Wanted;
use crate::inside::Inside;
use crate::player::{News, Player};
use sametick::channel::CloseReason;
use sametick::health::Observation;
use sametick::lockstep::Mesh;
use sametick::secure::Random;
use sametick::{Client, Effect, EntityId, PlayerId, Span, Time, View, World};
use sametick_arena::map::MAPS;
use sametick_arena::scenes::Scene;
use sametick_arena::{
    Arena, Command, Content, Entity, Event, Fighter, Mode, NAME_BYTES_MAX, TargetSet, Tuning,
};

/// The road to a server: datagrams in, datagrams out.
pub(crate) trait Road {
    /// What it is called in words.
    fn name(&self) -> String;
    /// Carries what there is to carry, and lets the client do what is due; the time that the client lives in.
    fn drive(&mut self, client: &mut Client<Arena>, now: Time) -> Time;
    /// The same for a machine in lockstep; not every road leads to others.
    fn drive_mesh(&mut self, _mesh: &mut Mesh<Arena>, now: Time) -> Time {
        now
    }
    /// Makes the road worse, or better again.
    fn set_conditions(&mut self, wanted: &Wanted);
    /// The server's own world, if it may be known.
    fn truth(&self) -> Option<&World<Entity>> {
        None
    }
    /// What each player of its own sees, and the tick it is at.
    #[cfg(test)]
    fn screens(&self) -> Vec<(PlayerId, sametick::Tick, &World<Entity>)> {
        Vec::new()
    }
    /// How many datagrams were pushed out by newer ones while nobody looked.
    fn dropped(&self) -> u64 {
        0
    }
    /// Why it is over, if it is.
    fn end(&self) -> Option<String> {
        None
    }
    /// Nothing more will be sent.
    fn close(&mut self) {}
}

/// How it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// On the way.
    Joining,
    /// There.
    Playing,
    /// Over, and why.
    Lost(String),
    /// Over for good, and why.
    Stopped(String),
}

/// One player's match.
pub(crate) struct Session {
    player: Player,
    road: Box<dyn Road>,
    content: Content,
    standing: Standing,
    speller: Speller,
    /// Whether another map is played than when this was last asked.
    has_new_content: bool,
    own: Option<EntityId>,
    tick_length: Option<Span>,
    now: Time,
}

impl Session {
    /// A match inside this page: a server, bots and a network without a flaw.
    pub(crate) fn inside(
        content: &Content,
        bots: usize,
        view: View,
        now: Time,
        random: &mut dyn Random,
    ) -> Self {
        let road = Inside::new(content, bots, now, random);
        let client = Client::open(road.address(), content.clone(), view, now, random);
        Self::new(Player::Client(Box::new(client)), Box::new(road), content.clone())
    }

    /// A player that has been made, and its road.
    pub(crate) fn new(player: Player, road: Box<dyn Road>, content: Content) -> Self {
        Self {
            player,
            road,
            content,
            standing: Standing::Joining,
            speller: Speller::default(),
            has_new_content: true,
            own: None,
            tick_length: None,
            now: Time::ZERO,
        }
    }

    /// What one wants to be called, told letter by letter.
    pub(crate) fn call(&mut self, name: &str) {
        self.speller = Speller::new(name);
    }

    /// Takes what came, and asks for what the player wants.
    pub(crate) fn drive(&mut self, now: Time, mut command: Command) {
        let me = self.player.me();
        let known = self.player.snapshot().zip(me).and_then(|(world, me)| {
            crate::scene::seat(world, me.0).map(|seat| seat.name.to_string())
        });
        self.speller.spell(known.as_deref(), now, &mut command);
        self.player.command(command);
        let now = self.carry(now);
        for news in self.player.take_news() {
            self.heed(now, news);
        }
        let is_over = matches!(self.standing, Standing::Lost(_) | Standing::Stopped(_));
        if let (Some(reason), false) = (self.road.end(), is_over) {
            self.standing = Standing::Lost(reason);
        }
        self.now = now;
        self.own = match &self.player {
            Player::Client(client) => client.own::<Fighter>().map(|(id, _)| id),
            Player::Mesh(mesh, _) => {
                let (game, me) = (mesh.game(), self.player.me());
                let own = game.shown().zip(me).and_then(|(world, me)| world.owned::<Fighter>(me));
                own.map(|(id, _)| id)
            }
        };
    }

    fn carry(&mut self, now: Time) -> Time {
        match &mut self.player {
            Player::Client(client) => self.road.drive(client, now),
            Player::Mesh(mesh, _) => self.road.drive_mesh(mesh, now),
        }
    }

    /// One frame: the same, and a look at the world.
    pub(crate) fn frame(&mut self, now: Time, command: Command) {
        self.drive(now, command);
        self.player.look(self.now);
    }

    fn heed(&mut self, now: Time, news: News) {
        match news {
            News::Joined => self.standing = Standing::Playing,
            // The first word says most.
            News::Lost(_) | News::Stopped(_) if matches!(self.standing, Standing::Stopped(_)) => {}
            News::Lost(reason) => self.standing = Standing::Lost(reason),
            News::Stopped(reason) => self.standing = Standing::Stopped(reason),
            News::GameChanged(name) => match (find_content(name), &mut self.player) {
                (Some(content), Player::Client(client)) => {
                    self.content = content.clone();
                    self.has_new_content = true;
                    client.load(now, content);
                }
                _ => {
                    self.standing = Standing::Lost(
                        "The server plays a map that this page does not have.".into(),
                    )
                }
            },
        }
    }

    /// Says how long the match took on the processor.
    pub(crate) fn worked(&mut self, span: Span) {
        if let Player::Mesh(mesh, _) = &mut self.player {
            mesh.game_mut().set_tick_costs(span);
        }
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The world as it is to be drawn.
    pub(crate) fn shown(&self) -> Option<&World<Entity>> {
        self.player.shown()
    }

    /// What is to be seen and heard since this was last asked.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect<Event>> {
        self.player.take_effects()
    }

    /// Our number.
    pub(crate) fn me(&self) -> Option<PlayerId> {
        self.player.me()
    }

    /// Our body, at our own time, for the eye.
    pub(crate) fn own(&self) -> Option<(EntityId, &Fighter)> {
        let id = self.own?;
        Some((id, self.player.shown()?.get::<Fighter>(id)?))
    }

    /// What is played.
    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// Whether another map is to be drawn.
    pub(crate) fn take_new_content(&mut self) -> bool {
        std::mem::take(&mut self.has_new_content)
    }

    /// What was measured since this was last asked.
    pub(crate) fn observe(&mut self) -> Observation {
        let seen = self.player.observe();
        self.tick_length = seen.tick_length.or(self.tick_length);
        seen
    }

    /// The time that the match is at: it may stand still while nobody looks.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// How long a tick takes, once that is known.
    pub(crate) fn tick_length(&self) -> Option<Span> {
        self.tick_length
    }

    /// The library's half.
    pub(crate) fn player(&self) -> &Player {
        &self.player
    }

    /// Sees the others otherwise.
    pub(crate) fn set_view(&mut self, view: View) {
        self.player.set_view(view);
    }

    /// Makes the road worse, or better again.
    pub(crate) fn set_conditions(&mut self, wanted: &Wanted) {
        self.road.set_conditions(wanted);
    }

    /// The road.
    pub(crate) fn road(&self) -> &dyn Road {
        &*self.road
    }

    /// What was measured on the connection.
    #[cfg(test)]
    pub(crate) fn statistics(&self) -> Option<sametick::channel::Statistics> {
        match &self.player {
            Player::Client(client) => client.statistics(),
            Player::Mesh(..) => None,
        }
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self, now: Time) {
        self.player.close(now);
        self.carry(now);
        self.road.close();
    }
}

/// The game of this name, among all that the page knows: those of matches, those of experiments, whose rounds do not
/// end by themselves, and the scenes.
pub(crate) fn find_content(name: u64) -> Option<Content> {
    find_held(name, None)
}

/// The same, of a round that is held: for so many players, and so many seconds.
pub(crate) fn find_held(name: u64, hold: Option<(u16, f32)>) -> Option<Content> {
    let held = |content: &Content| match hold {
        Some((players, seconds)) => content.clone().held(players, seconds),
        None => content.clone(),
    };
    let modes = [Mode::FreeForAll, Mode::Teams, Mode::Duel, Mode::Practice];
    let endless = endless();
    let ways = modes.into_iter().flat_map(|mode| [(mode, None), (mode, Some(&endless))]);
    let of_maps = MAPS.iter().find_map(|(_, text)| {
        let mut content = Content::new(text, Mode::FreeForAll).ok()?;
        let usual = content.tuning.clone();
        ways.clone().find_map(|(mode, tuning)| {
            (content.mode, content.tuning) = (mode, tuning.unwrap_or(&usual).clone());
            Some(held(&content)).filter(|content| content.name() == name)
        })
    });
    let scenes = || Scene::all().into_iter().map(|scene| held(&scene.content));
    of_maps.or_else(|| scenes().find(|content| content.name() == name))
}

/// The rounds of experiments do not end by themselves.
fn endless() -> Tuning {
    Tuning { score_limit: 0, round_seconds: 0.0, ..Tuning::default() }
}

/// The game of an experiment on a map of its own, by the map's text.
pub(crate) fn endless_content(text: &str, mode: &str) -> Option<Content> {
    let content = Content::new(text, mode_named(mode)?).ok()?;
    (!text.is_empty()).then(|| Content { tuning: endless(), ..content })
}

/// The game of an experiment with targets of its own, on a map by its text or else its name.
pub(crate) fn targets_content(
    text: &str,
    map: &str,
    set: &str,
    pause_seconds: f64,
) -> Option<Content> {
    let known = MAPS.iter().find(|(name, _)| *name == map).map(|(_, text)| *text);
    let text = if text.is_empty() { known? } else { text };
    let targets = TargetSet::read(set).ok().filter(|set| !set.kinds.is_empty())?;
    let mut content = Content { targets, ..endless_content(text, "targets")? };
    content.tuning.pause_seconds = pause_seconds as f32;
    Some(content)
}

/// The game on a map and in a mode by their short names.
pub(crate) fn named_content(map: &str, mode: &str) -> Option<Content> {
    let (_, text) = MAPS.iter().find(|(name, _)| *name == map)?;
    Content::new(text, mode_named(mode)?).ok()
}

fn mode_named(mode: &str) -> Option<Mode> {
    match mode {
        "ffa" => Some(Mode::FreeForAll),
        "tdm" => Some(Mode::Teams),
        "duel" => Some(Mode::Duel),
        "targets" => Some(Mode::Practice),
        _ => None,
    }
}

pub(crate) fn words(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::ServerStopped => "The server has stopped.",
        CloseReason::TimedOut => "The server has been silent for too long.",
        CloseReason::Left => "You have left.",
        _ => "The connection is over.",
    }
}

/// Tells one's name letter by letter, until the server has it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Speller {
    name: String,
    next: usize,
    /// No letter before this: the last one has to arrive first.
    wait_until: Option<Time>,
}

/// How long a letter stays in the command: some ticks, so that each is taken at least once.
const LETTER_LASTS: Span = Span::millis(60);
/// How long to wait for the server's word before spelling again.
const SPELL_AGAIN: Span = Span::millis(1500);

impl Speller {
    fn new(name: &str) -> Self {
        let fits = |letter: &char| letter.is_ascii_graphic() || *letter == ' ';
        let name: String = name.trim().chars().filter(fits).take(NAME_BYTES_MAX).collect();
        Self { name, next: 0, wait_until: None }
    }

    fn spell(&mut self, known: Option<&str>, now: Time, command: &mut Command) {
        let Some(known) = known else { return };
        if self.name.is_empty() || known == self.name {
            return;
        }
        if self.wait_until.is_some_and(|until| now >= until) {
            (self.next, self.wait_until) = (self.next + 1, None);
        }
        if self.next > self.name.len() {
            self.next = 0;
        }
        let pause = if self.next == self.name.len() { SPELL_AGAIN } else { LETTER_LASTS };
        self.wait_until.get_or_insert(now + pause);
        if let Some(letter) = self.name.as_bytes().get(self.next) {
            (command.letter, command.letter_at) = (*letter, self.next as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick::secure::SystemRandom;
    use sametick::{Others, PlayerId};

    fn play(seconds: u64, mut each: impl FnMut(&mut Session, Time)) -> Session {
        let content = named_content("corners", "ffa").unwrap();
        let random = &mut SystemRandom::new();
        let mut session = Session::inside(&content, 3, View::default(), Time::ZERO, random);
        session.call("Anna B");
        let mut now = Time::ZERO;
        while now < Time::from_seconds(seconds) {
            session.frame(now, Command { forward: 7, ..Command::default() });
            each(&mut session, now);
            now += Span::millis(16);
        }
        session
    }

    #[test]
    fn a_match_inside_the_page_has_bots_and_us_by_name() {
        let mut moved = false;
        let mut session = play(8, |session, _| {
            let own = session.own().map(|(_, own)| own.velocity);
            moved |= own.is_some_and(|velocity| velocity[0].abs() + velocity[1].abs() > 4.0);
        });
        assert_eq!(session.standing(), &Standing::Playing);
        assert!(moved, "we run");
        let me: PlayerId = session.me().unwrap();
        let world = session.shown().unwrap();
        assert_eq!(&*crate::scene::seat(world, me.0).unwrap().name, "Anna B");
        let names: Vec<String> =
            world.all::<sametick_arena::Seat>().map(|(_, seat)| seat.name.to_string()).collect();
        assert!(names.contains(&"Ada".to_owned()), "{names:?}");
        assert!(session.road().truth().is_some());
        session.close(Time::from_seconds(9));
    }

    #[test]
    fn the_view_and_the_line_change_while_one_plays() {
        let slow = Wanted { delay_ms: 60.0, ..Wanted::default() };
        let is_told = std::cell::Cell::new(false);
        let session = play(12, |session, now| {
            if now == Time::from_millis(4000) {
                session.set_conditions(&slow);
                session.set_view(View { others: Others::Predicted, ..View::default() });
            }
            // At one moment or another somebody is in sight.
            if let Player::Client(client) = session.player() {
                is_told.set(is_told.get() || !client.others_commands().is_empty());
            }
        });
        let trip = session.statistics().unwrap().round_trip.smoothed.unwrap().as_millis_f64();
        assert!((115.0..150.0).contains(&trip), "{trip}");
        assert_eq!(session.standing(), &Standing::Playing);
        assert!(is_told.get(), "the server tells what others ask for");
    }

    #[test]
    fn a_name_is_cut_to_what_can_be_told() {
        assert_eq!(Speller::new("  Zoë the Conqueror of All ").name, "Zo the Conqueror");
    }

    #[test]
    fn every_game_of_the_shelf_is_found_by_its_number() {
        let content = named_content("halls", "tdm").unwrap();
        let found = find_content(content.name()).unwrap();
        assert_eq!((found.map.title.as_str(), found.mode), ("Halls", Mode::Teams));
        let content = endless_content(MAPS[0].1, "duel").unwrap();
        let found = find_content(content.name()).unwrap();
        assert_eq!((&found.map.title, &found.tuning), (&content.map.title, &endless()));
        assert!(endless_content("", "duel").is_none());
        let kinds = vec![sametick_arena::TargetKind::default()];
        let targets = TargetSet { kinds, ..TargetSet::default() };
        let mut wanted = Content { targets, ..endless_content(MAPS[0].1, "targets").unwrap() };
        wanted.tuning.pause_seconds = 0.3;
        let (set, pause) = (wanted.targets.text(), f64::from(wanted.tuning.pause_seconds));
        let by_name = targets_content("", MAPS[0].0, &set, pause).unwrap();
        let by_text = targets_content(MAPS[0].1, "hall.map", &set, pause).unwrap();
        assert_eq!([by_name.name(), by_text.name()], [wanted.name(); 2]);
        assert!(targets_content("", "hall.map", &set, pause).is_none());
        assert!(targets_content(MAPS[0].1, "", "", pause).is_none());
        let scene = Scene::corner();
        assert!(find_content(scene.content.name()).is_some());
        assert!(find_content(1).is_none());
    }
}
