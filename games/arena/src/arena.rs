//! The game: one tick after the other, in an order that is the same for those who know everything and for
//! those who know only what they see.
//!
//! Fighters move, then fire, then rockets fly; whoever was hurt is hurt at the end. Only fighters whose commands are
//! known take part, with their rockets: on a client that is its own player. Everything that nobody owns
//! (doors, items, scores) is stepped along, and the library puts it back.

use crate::command::{Command, SAY_BYTES_MAX};
use crate::content::{Content, Mode};
use crate::contest::{self, Contest};
use crate::damage;
use crate::door::{self, Door};
use crate::event::{Event, TOLD, What};
use crate::fighter::{self, Fighter};
use crate::item::Item;
use crate::prop::{self, Prop};
use crate::rocket::Rocket;
use crate::seat::Seat;
use crate::solids::Solids;
use crate::target::{self, Target};
use crate::vector::{Bounds, Vector, add, dot, length, scale, subtract};
use crate::weapon::{self, Shooter};
use sametick::relevance::Places;
use sametick::{EntityId, Game, Others, PlayerId, Slots, Text, Tick, Turn, World};

sametick::entities! {
    /// All that there is in the arena.
    pub enum Entity { Contest, Seat, Fighter, Rocket, Item, Door, Prop, Target }
}

/// The shooter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arena;

/// What dice are rolled for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Roll {
    Spawn = 1,
    Spread = 2,
    Target = 3,
    Wait = 4,
}

impl Entity {
    /// Where it can be hit; none for what cannot.
    pub fn bounds(&self) -> Option<Bounds> {
        match self {
            Self::Fighter(fighter) => fighter.bounds(),
            Self::Prop(prop) => prop.bounds(),
            Self::Target(target) => target.bounds(),
            _ => None,
        }
    }

    /// Where it is; none for what is nowhere.
    pub fn place(&self, content: &Content) -> Option<Vector> {
        match self {
            Self::Contest(_) | Self::Seat(_) => None,
            Self::Fighter(fighter) => Some(fighter.position),
            Self::Rocket(rocket) => Some(rocket.position),
            Self::Prop(prop) => Some(prop.position),
            Self::Target(target) => Some(target.position),
            Self::Item(item) => {
                content.map.items.get(usize::from(item.index)).map(|item| item.place)
            }
            // A door is larger than a cell's bodies are, and there are few.
            Self::Door(_) => None,
        }
    }
}

impl Game for Arena {
    type Entity = Entity;
    type Command = Command;
    type Event = Event;
    type Content = Content;

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.left().for_each(|player| leave(world, player));
        turn.joined().for_each(|player| join(world, turn, player));
        let lookup = Lookup::new(world);
        for (player, command) in turn.commands() {
            if let Some(seat) = lookup.seat_mut(world, player.0) {
                seat.heed(command);
                let pause = (1.0 / turn.dt()) as u32;
                let words = seat.words(command, turn.tick().0, pause);
                say(world, turn, player, words);
            }
        }
        contest::step(world, turn);
        door::step(world, turn);
        let map = &turn.content().map;
        let openness = |door: &Door| {
            let plan = map.doors.get(usize::from(door.index));
            plan.map_or(0.0, |plan| door.openness(plan, turn.tick(), turn.dt()))
        };
        let solids = Solids::new(turn.content(), world, fighter::seconds(turn), openness);
        let mut hurts = Vec::new();
        let is_held = lookup.is_held(world, turn);
        let heeded = |command: &Command| if is_held { command.looking() } else { *command };
        for (player, command) in turn.commands() {
            let command = &heeded(command);
            let Some(id) = lookup.fighter(player) else { continue };
            let Some(mut fighter) = world.get::<Fighter>(id).cloned() else { continue };
            fighter.step(id, command, &lookup, (world, &solids), turn, &mut hurts);
            if fighter.took_at == turn.tick().0 {
                remove_item(world, turn, fighter.took);
            }
            put(world, id, fighter);
        }
        for (player, command) in turn.commands() {
            let command = &heeded(command);
            let Some(id) = lookup.fighter(player) else { continue };
            let Some(mut fighter) =
                world.get::<Fighter>(id).filter(|fighter| fighter.is_alive()).cloned()
            else {
                continue;
            };
            let shooter = Shooter { id, player, command };
            let rocket = weapon::handle(&mut fighter, &shooter, world, turn, &solids, &mut hurts);
            put(world, id, fighter);
            if let Some(rocket) = rocket {
                world.spawn_owned(player, rocket);
            }
        }
        fly_rockets(world, turn, &solids, &mut hurts);
        prop::step(world, &solids, turn);
        target::step(world, turn);
        damage::settle(world, turn, &lookup, &hurts);
    }

    fn event_kind(event: &Event) -> u8 {
        event.what as u8
    }

    fn repeat(last: &Command, times: u32) -> Command {
        // A trigger that nobody is known to hold is let go at once; feet run on for a moment.
        let quiet = Command { say: Text::default(), letter: 0, ..*last };
        let kept = Command { fire: false, jump: false, reload: false, ..quiet };
        if times <= sametick::REPEATS_MAX { kept } else { Command { forward: 0, right: 0, ..kept } }
    }

    /// Nobody meets the body of one who is not there; its seat and score are kept.
    fn absent() -> Option<Command> {
        Some(Command { watch: true, ..Command::default() })
    }

    /// What changes at once is shown as it is told.
    fn shown(entity: &Entity, wish: Others) -> Others {
        match entity {
            Entity::Contest(_) | Entity::Seat(_) | Entity::Item(_) | Entity::Door(_) => {
                Others::Latest
            }
            Entity::Fighter(_) | Entity::Rocket(_) | Entity::Prop(_) | Entity::Target(_) => wish,
        }
    }

    /// A teleporter, or a new life.
    fn jumps(from: &Entity, to: &Entity) -> bool {
        match (from, to) {
            (Entity::Fighter(from), Entity::Fighter(to)) => from.teleports != to.teleports,
            _ => false,
        }
    }

    /// In metres.
    fn distance(from: &Entity, to: &Entity) -> f32 {
        match (from, to) {
            (Entity::Fighter(from), Entity::Fighter(to)) => {
                length(subtract(from.position, to.position))
            }
            _ => 0.0,
        }
    }

    /// Straight on, but not through walls.
    fn drift(entity: &mut Entity, content: &Content, seconds: f32) -> bool {
        let Entity::Fighter(fighter) = entity else { return false };
        let Some(bounds) = fighter.bounds() else { return true };
        let centre = bounds.centre();
        let there = add(centre, scale(fighter.velocity, seconds));
        let half = scale(subtract(bounds.high, bounds.low), 0.5);
        let end = content.map.trace(half, centre, there).end;
        fighter.position = add(fighter.position, subtract(end, centre));
        true
    }

    /// They predict a player's own fighter alike on every machine.
    fn foresees() -> bool {
        true
    }

    /// Rockets and all else that flies or falls is met in the present.
    fn is_rewound(entity: &Entity) -> bool {
        matches!(entity, Entity::Fighter(_) | Entity::Target(_))
    }

    /// A fighter's own player says where it is and where it looks; others have a say in the rest.
    fn trust(decided: &mut Entity, claimed: &Entity) {
        if let (Entity::Fighter(decided), Entity::Fighter(claimed)) = (decided, claimed)
            && decided.is_alive()
            && decided.teleports == claimed.teleports
        {
            (decided.position, decided.velocity) = (claimed.position, claimed.velocity);
            (decided.yaw, decided.pitch) = (claimed.yaw, claimed.pitch);
            decided.is_grounded = claimed.is_grounded;
            decided.is_crouched = claimed.is_crouched;
        }
    }

    fn populate(content: &Content, world: &mut World<Entity>) {
        world.spawn(Contest::default());
        let numbered = |count: usize| (0..count).map(|index| index as u8);
        numbered(content.map.items.len())
            .for_each(|index| _ = world.spawn(Item { index, back_at: 0 }));
        numbered(content.map.doors.len())
            .for_each(|index| _ = world.spawn(Door { index, ..Door::default() }));
        for (index, prop) in numbered(content.map.props.len()).zip(&content.map.props) {
            world.spawn(Prop::whole(index, prop.place));
        }
        if content.mode == Mode::Practice {
            let set = content.targets.kinds.len();
            numbered(set).for_each(|index| _ = world.spawn(Target::new(index, [0.0; 3])));
            let own = &content.map.targets[..if set == 0 { content.map.targets.len() } else { 0 }];
            for (index, target) in numbered(own.len()).zip(own) {
                world.spawn(Target::new(index, target.place));
            }
        }
    }

    fn content_name(content: &Content) -> u64 {
        content.name()
    }

    fn relevant(world: &World<Entity>, content: &Content, viewer: PlayerId, visible: &mut Slots) {
        let Some(eye) = eye(world.owned::<Fighter>(viewer).map(|(_, own)| own), content) else {
            sametick::relevance::everything(world, visible);
            return;
        };
        let visibility = content.map.visibility();
        let cell = |entity: &Entity| cell(entity, content);
        visibility.cells().visible_from(world, visibility.cell(eye), cell, visible);
        let mine = world.all::<Rocket>().filter(|(id, _)| world.owner(*id) == Some(viewer));
        mine.for_each(|(id, _)| visible.insert(id.slot()));
    }

    fn update_every(world: &World<Entity>, viewer: PlayerId) -> impl Fn(EntityId) -> u32 {
        let own = world.owned::<Fighter>(viewer).filter(|_| world.len() > CROWD);
        let eye = own.map(|(_, own)| own.position);
        move |entity| {
            let Some(eye) = eye else { return 1 };
            let Some(other) = world.get::<Fighter>(entity) else {
                return if world.get::<Seat>(entity).is_some() { SEATS_EVERY } else { 1 };
            };
            let way = subtract(other.position, eye);
            let paces = FAR_METRES.iter().filter(|far| dot(way, way) > *far * *far).count();
            1 << paces
        }
    }

    fn places(world: &World<Entity>, content: &Content, places: &mut Places) {
        if !content.tuning.sees_all {
            places.fill(world, |entity| cell(entity, content));
        }
    }

    fn relevant_among(
        world: &World<Entity>,
        content: &Content,
        places: &Places,
        viewer: PlayerId,
        visible: &mut Slots,
    ) {
        let Some(eye) = eye(world.owned::<Fighter>(viewer).map(|(_, own)| own), content) else {
            sametick::relevance::everything(world, visible);
            return;
        };
        let visibility = content.map.visibility();
        visibility.cells().visible_among(places, visibility.cell(eye), visible);
        let mine = world.all_owned(viewer).filter(|(id, _)| world.get::<Rocket>(*id).is_some());
        mine.for_each(|(id, _)| visible.insert(id.slot()));
    }
}

/// With more entities than this in a match, fighters who are far away are told of in every second, fourth or eighth
/// snapshot: a thousand on one field would fill any line.
const CROWD: usize = 800;
const FAR_METRES: [f32; 3] = [16.0, 32.0, 64.0];
/// A list of a thousand scores is told of in every which snapshot.
const SEATS_EVERY: u32 = 4;

/// From where a player looks; none if it sees everything.
fn eye(own: Option<&Fighter>, content: &Content) -> Option<Vector> {
    own.filter(|own| !own.is_away && !content.tuning.sees_all).map(|own| own.position)
}

/// The cell in which something is; none for what everyone sees.
fn cell(entity: &Entity, content: &Content) -> Option<usize> {
    entity.place(content).and_then(|place| content.map.visibility().cell(place))
}

/// Tells everyone what a player says.
fn say(
    world: &World<Entity>,
    turn: &Turn<'_, Arena>,
    player: PlayerId,
    words: Option<Text<SAY_BYTES_MAX>>,
) {
    let seat = world.all::<Seat>().find(|(_, seat)| seat.player == player.0);
    if let (Some((id, _)), Some(words)) = (seat, words) {
        turn.emit(id, TOLD, Event { what: What::Say, words, ..Event::default() });
    }
}

fn put(world: &mut World<Entity>, id: EntityId, fighter: Fighter) {
    if let Some(place) = world.get_mut::<Fighter>(id) {
        *place = fighter;
    }
}

fn remove_item(world: &mut World<Entity>, turn: &Turn<'_, Arena>, index: u8) {
    let ticks = (turn.content().tuning.item_seconds / turn.dt()) as u32;
    let mut items = world.all_mut::<Item>();
    if let Some((_, item)) = items.find(|(_, item)| item.index == index) {
        item.back_at = turn.tick().0 + ticks;
    }
}

fn fly_rockets(
    world: &mut World<Entity>,
    turn: &Turn<'_, Arena>,
    solids: &Solids<'_>,
    hurts: &mut Vec<damage::Hurt>,
) {
    let rockets: Vec<EntityId> = world.all::<Rocket>().map(|(id, _)| id).collect();
    for id in rockets {
        let is_known = world.owner(id).is_some_and(|owner| turn.command(owner).is_some());
        let Some(mut rocket) = world.get::<Rocket>(id).filter(|_| is_known).cloned() else {
            continue;
        };
        let is_gone = rocket.step(id, (world, solids), turn, hurts);
        if is_gone {
            world.despawn(id);
        } else if let Some(place) = world.get_mut::<Rocket>(id) {
            *place = rocket;
        }
    }
}

fn join(world: &mut World<Entity>, turn: &Turn<'_, Arena>, player: PlayerId) {
    let mode = turn.content().mode;
    let of_team = |team: u8| world.all::<Seat>().filter(|(_, seat)| seat.team == team).count();
    let team = match mode {
        Mode::Teams => {
            if of_team(1) <= of_team(2) {
                1
            } else {
                2
            }
        }
        _ => 0,
    };
    let playing = world.all::<Seat>().filter(|(_, seat)| seat.plays()).count();
    let must_watch = mode == Mode::Duel && playing >= 2;
    let name = Text::cut(&format!("Player {}", u32::from(player.0) + 1));
    world.spawn(Seat { player: player.0, name, team, must_watch, ..Seat::default() });
    let round =
        world.all::<Contest>().next().map_or(0, |(_, contest)| contest.round_at(turn.tick()));
    let mut fighter =
        Fighter { player: player.0, round, is_away: must_watch, ..Fighter::default() };
    let Some(id) = world.spawn_owned(player, fighter.clone()) else { return };
    fighter.begin(team, turn.content(), turn.dice(id, Roll::Spawn as u32));
    fighter.is_away = must_watch;
    put(world, id, fighter);
}

fn leave(world: &mut World<Entity>, player: PlayerId) {
    let is_theirs = |id: EntityId, entity: &Entity| match entity {
        Entity::Seat(seat) => seat.player == player.0,
        _ => world.owner(id) == Some(player),
    };
    let theirs: Vec<EntityId> =
        world.entities().filter(|(id, entity)| is_theirs(*id, entity)).map(|(id, _)| id).collect();
    theirs.into_iter().for_each(|id| _ = world.despawn(id));
}

/// Whose is what, found once a tick: a thousand players are not looked for a thousand times.
pub(crate) struct Lookup {
    fighters: Vec<(PlayerId, EntityId)>,
    seats: Vec<(u16, EntityId)>,
    /// By their numbers in the map, as far as they are known here.
    items: Vec<Option<EntityId>>,
    contest: Option<EntityId>,
}

impl Lookup {
    fn new(world: &World<Entity>) -> Self {
        let owned = world.all::<Fighter>().filter_map(|(id, _)| Some((world.owner(id)?, id)));
        let mut fighters: Vec<(PlayerId, EntityId)> = owned.collect();
        fighters.sort_unstable();
        let mut seats: Vec<(u16, EntityId)> =
            world.all::<Seat>().map(|(id, seat)| (seat.player, id)).collect();
        seats.sort_unstable();
        let mut items = Vec::new();
        for (id, item) in world.all::<Item>() {
            let index = usize::from(item.index);
            items.resize(items.len().max(index + 1), None);
            items[index] = Some(id);
        }
        Self { fighters, seats, items, contest: world.all::<Contest>().next().map(|(id, _)| id) }
    }

    fn fighter(&self, player: PlayerId) -> Option<EntityId> {
        let index = self.fighters.binary_search_by_key(&player, |(player, _)| *player).ok()?;
        Some(self.fighters[index].1)
    }

    fn seat_id(&self, player: u16) -> Option<EntityId> {
        let index = self.seats.binary_search_by_key(&player, |(player, _)| *player).ok()?;
        Some(self.seats[index].1)
    }

    pub(crate) fn seat<'w>(&self, world: &'w World<Entity>, player: u16) -> Option<&'w Seat> {
        world.get(self.seat_id(player)?)
    }

    pub(crate) fn seat_mut<'w>(
        &self,
        world: &'w mut World<Entity>,
        player: u16,
    ) -> Option<&'w mut Seat> {
        world.get_mut(self.seat_id(player)?)
    }

    /// The item with this number in the map, if it is known here.
    pub(crate) fn item<'w>(&self, world: &'w World<Entity>, index: usize) -> Option<&'w Item> {
        world.get((*self.items.get(index)?)?)
    }

    /// The round that a tick belongs to, if that is known here.
    pub(crate) fn round(&self, world: &World<Entity>, tick: Tick) -> Option<u8> {
        Some(world.get::<Contest>(self.contest?)?.round_at(tick))
    }

    fn is_held(&self, world: &World<Entity>, turn: &Turn<'_, Arena>) -> bool {
        let contest = self.contest.and_then(|id| world.get::<Contest>(id));
        contest.is_some_and(|contest| contest.is_held(turn.content(), turn.tick()))
    }
}
