//! One machine's part in a lockstep game. Knows no socket and no clock.

use super::barrier::Search;
use super::contact::Contact;
use super::desync::{Desync, Early, Inquest};
use super::election::Election;
use super::relay::COMMAND_BITS_MAX;
use super::roster::{FIRST, Member, Roster};
use super::setup::Setup;
use super::streams::{Stream, Streams};
use super::transfer::{Incoming, Outgoing};
use super::turns::GameClock;
use super::words::{Refusal, Terms, Word};
use super::worlds::{Frame, Worlds};
use super::{Pace, SILENCE};
use crate::core::peer::Peer;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::replay::{Recorder, Recording};
use crate::schema::entities::Layouts;
use crate::schema::record::{Layout, Precision, mix};
use crate::sim::events::Effect;
use crate::sim::game::Game;
use crate::sim::world::World;
use crate::transport::clock::Clock;
use std::collections::{BTreeMap, VecDeque};

/// Whether one plays or only watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Gives commands.
    Plays,
    /// Sees everything and asks for nothing.
    Watches,
}

/// Who a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// A number drawn at random each time the program starts: who speaks, on every line.
    pub session: u64,
    /// A number that stays: who comes back with it gets its old place among the players, if that is free.
    pub name: u64,
}

/// What a machine tells its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// We are in, and have the world; commands count from the tick at which we are told to have joined.
    Joined(PlayerId),
    /// We are not let in.
    Refused(Refusal),
    /// Somebody gives commands from this tick on.
    Came(PlayerId, Tick),
    /// Somebody gives none any more from this tick on.
    Went(PlayerId, Tick),
    /// Somebody leads from now on; perhaps we.
    Leads(PlayerId),
    /// Too few are in touch to be sure that nobody else plays on: the game waits.
    Paused,
    /// The others went on without us; we are on our way back.
    LeftBehind,
    /// Somebody's world is not ours. The game stops; what is known follows as it comes.
    Halted,
    /// What differs, and since when.
    Desynced(Box<Desync>),
    /// Nobody answers any more, or we said goodbye.
    Over,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How often the game had to wait, and for how long in all.
    pub stalls: u64,
    /// All of that together.
    pub stalled: Span,
    /// The longest of them.
    pub stalled_at_most: Span,
    /// Ticks that were stepped again because a guess was wrong.
    pub resimulated_ticks: u64,
    /// Commands of ours instead of which a server that does not wait took others, because they came too late.
    pub replaced: u64,
    /// Messages that were not understood.
    pub malformed: u64,
    /// From the tick that is shown to the tick of the newest command.
    pub delay_ticks: u32,
    /// How many other machines are in touch.
    pub contacts: usize,
}

/// One machine's part in a lockstep game: [`receive`](Lockstep::receive) what came, say what the player asks
/// for ([`command`](Lockstep::command)), [`advance`](Lockstep::advance), and bring what
/// [`transmit`](Lockstep::transmit) gives to whom it is for. Then draw [`view`](Lockstep::view).
///
/// ```
/// use sametick::lockstep::{Identity, Lockstep, Role, Setup};
/// use sametick::network::Network;
/// use sametick::{Fields, Game, Networked, NoEvent, Span, Time, Turn, World};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Score { pub points: u16 }
/// impl Networked for Score {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bits("points", &mut self.points, 16); }
/// }
/// sametick::entities! { pub enum Entity { Score } }
///
/// struct Counting;
/// impl Game for Counting {
///     type Entity = Entity;
///     type Command = Score;
///     type Event = NoEvent;
///     type Content = ();
///     fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
///         for player in turn.joined() {
///             world.spawn_owned(player, Score::default());
///         }
///         for (player, wish) in turn.commands() {
///             if let Some((_, score)) = world.owned_mut::<Score>(player) {
///                 score.points = score.points.wrapping_add(wish.points);
///             }
///         }
///     }
/// }
///
/// let mut network = Network::new(1);
/// let hosts = [network.add_host(), network.add_host()];
/// let [first, second] = hosts.map(|host| network.address(host));
/// let (mut now, setup) = (Time::ZERO, Setup { players: 2, ..Setup::DOOM_1993 });
/// let mut players = [
///     Lockstep::<Counting>::found(setup, Identity { session: 10, name: 1 }, first, ((), 7), now),
///     Lockstep::join(first, Identity { session: 20, name: 2 }, ((), 7), Role::Plays, now),
/// ];
/// while now < Time::from_seconds(2) {
///     for (player, host) in players.iter_mut().zip(hosts) {
///         let mut message = Vec::new();
///         while let Some(from) = network.receive(now, host, &mut message) {
///             let who = if from == first { 10 } else { 20 };
///             player.receive(now, (who, from), &message);
///         }
///         player.command(Score { points: 1 });
///         player.advance(now);
///         while let Some(((_, to), message)) = player.transmit() {
///             network.send(now, host, to, &message);
///         }
///     }
///     now += Span::millis(5);
/// }
/// let [one, other] = players.each_ref().map(|player| player.world().unwrap());
/// assert!(one.tick().0 > 60 && one.tick().0.abs_diff(other.tick().0) < 5);
/// assert!(one.all::<Score>().all(|(_, score)| score.points > 60));
/// ```
pub struct Lockstep<G: Game> {
    pub(super) identity: u64,
    pub(super) name: u64,
    pub(super) terms: Terms,
    pub(super) role: Role,
    pub(super) content: G::Content,
    pub(super) layouts: Layouts,
    pub(super) layout: Layout,
    /// Whom we ask to be let in.
    pub(super) door: (u64, Peer),
    /// Whom we asked first.
    pub(super) first_door: (u64, Peer),
    /// What we have found out while we ask.
    pub(super) search: Search<G>,
    pub(super) stage: Stage,
    pub(super) roster: Option<Roster>,
    pub(super) worlds: Option<Worlds<G>>,
    pub(super) streams: Streams<G::Command>,
    /// Commands on their way to a server: our own, and on the server everyone's.
    pub(super) asked: BTreeMap<u16, Stream<G::Command>>,
    /// On a server: for how many ticks running a seat's command was made up.
    pub(super) repeated: BTreeMap<u16, u32>,
    pub(super) contacts: BTreeMap<u64, Contact>,
    pub(super) clock: GameClock,
    /// How far ahead of a server that does not wait we must be.
    pub(super) ahead: Option<Clock>,
    pub(super) wish: G::Command,
    pub(super) election: Election,
    pub(super) outgoing: Vec<(u64, Outgoing)>,
    pub(super) incoming: BTreeMap<u64, Incoming>,
    pub(super) transfers: u8,
    pub(super) inquest: Option<Inquest<G>>,
    pub(super) early: Early,
    /// What is to be recorded once there is a world; and what is being recorded.
    pub(super) wanted_recording: Option<Recording>,
    pub(super) recorder: Option<Recorder>,
    pub(super) is_halted: bool,
    pub(super) leaving_since: Option<Time>,
    /// When we heard that the others go on without us, or last said that we know it.
    pub(super) parted_at: Option<Time>,
    pub(super) spoke_at: Time,
    pub(super) spoke_of: Tick,
    pub(super) led_at: Time,
    pub(super) called_back_at: Time,
    /// When we last asked another member for the leader.
    pub(super) sought_at: Time,
    pub(super) stalled_since: Option<Time>,
    /// The newest command that we made while the game last stalled.
    pub(super) given_in_stall: Tick,
    /// When we last asked all for what is missing, whoever gave it.
    pub(super) asked_all_at: Option<Time>,
    /// How long a tick takes this machine at least, if its owner says so.
    pub(super) tick_costs: Span,
    pub(super) backlog: (u32, u32, Time),
    pub(super) paced_at: Time,
    pub(super) quicker_for: u32,
    pub(super) needs: BTreeMap<u64, (u16, u16)>,
    pub(super) outbox: VecDeque<((u64, Peer), Vec<u8>)>,
    pub(super) events: Vec<Happening>,
    pub(super) statistics: Statistics,
}

/// Where a machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It asks to be let in: since when, since when at this door, and when it asked last.
    Knocking {
        since: Time,
        door_since: Time,
        asked_at: Time,
    },
    /// It is in.
    Playing,
    Over,
}

impl<G: Game> Lockstep<G> {
    /// Founds a game and leads it, and is reached by others at `at`. `build` names the program.
    pub fn found(
        setup: Setup,
        me: Identity,
        at: Peer,
        (content, build): (G::Content, u64),
        now: Time,
    ) -> Self {
        assert!(setup.is_lawful(), "a game cannot be played so: {setup:?}");
        let mut founder = Self::new((me.session, at), me, (content, build), Role::Plays, now);
        let mut roster = Roster {
            epoch: 0,
            version: 1,
            setup,
            leader: 0,
            has_begun: false,
            before: Vec::new(),
            waits: false,
            paces: vec![(Tick(0), Pace::first(&setup))],
            members: Vec::new(),
        };
        roster.admit((me.session, me.name), at, true, Tick(0));
        roster.members.iter_mut().for_each(|founder| founder.plays_from = Some(FIRST));
        founder.enter(now, roster);
        founder
    }

    /// Asks to be let into a game by one who plays it, wherever that one is.
    pub fn join(
        door: Peer,
        me: Identity,
        (content, build): (G::Content, u64),
        role: Role,
        now: Time,
    ) -> Self {
        Self::new((ANYONE, door), me, (content, build), role, now)
    }

    fn new(
        door: (u64, Peer),
        me: Identity,
        (content, build): (G::Content, u64),
        role: Role,
        now: Time,
    ) -> Self {
        assert!(me.session != ANYONE, "session zero is nobody's");
        let (layouts, layout) =
            (Layouts::of::<G::Entity>(), Layout::of::<G::Command>(Precision::State));
        let command_bits = bits_at_most(&layout);
        assert!(
            command_bits <= COMMAND_BITS_MAX,
            "a command of {command_bits} bits is too large for lockstep, where it may have {COMMAND_BITS_MAX}: \
             those of all players travel in one message"
        );
        let rules = layouts.state.iter().chain([&layout]).fold(0, |sum, layout| {
            let number = layout.fingerprint();
            mix(mix(sum, number as u32), (number >> 32) as u32)
        });
        let content_name = G::content_name(&content);
        Self {
            identity: me.session,
            name: me.name,
            terms: Terms { build, rules, content: content_name },
            role,
            content,
            layouts,
            layout,
            door,
            first_door: door,
            search: Search::default(),
            stage: Stage::Knocking {
                since: now,
                door_since: now,
                asked_at: now - Span::seconds(1),
            },
            roster: None,
            worlds: None,
            streams: Streams::default(),
            asked: BTreeMap::new(),
            repeated: BTreeMap::new(),
            contacts: BTreeMap::new(),
            clock: GameClock::new(now, Tick(0)),
            ahead: None,
            wish: G::Command::default(),
            election: Election::default(),
            outgoing: Vec::new(),
            incoming: BTreeMap::new(),
            transfers: 0,
            inquest: None,
            early: Early::new(),
            wanted_recording: None,
            recorder: None,
            is_halted: false,
            leaving_since: None,
            parted_at: None,
            spoke_at: now,
            spoke_of: Tick(0),
            led_at: now,
            called_back_at: now,
            sought_at: now,
            stalled_since: None,
            given_in_stall: Tick(0),
            asked_all_at: None,
            tick_costs: Span::ZERO,
            backlog: (u32::MAX, u32::MAX, now),
            paced_at: now,
            quicker_for: 0,
            needs: BTreeMap::new(),
            outbox: VecDeque::new(),
            events: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// Takes a message, and from whom it came and where that is at present.
    pub fn receive(&mut self, now: Time, from: (u64, Peer), message: &[u8]) {
        if self.stage == Stage::Over || from.0 == self.identity {
            return;
        }
        match Word::read(message, &self.layout, self.executed()) {
            Ok(word) => {
                if let Some(contact) = self.contacts.get_mut(&from.0) {
                    contact.at = Some(from.1);
                }
                self.hear(now, from, word);
            }
            Err(_) => self.statistics.malformed += 1,
        }
    }

    fn hear(&mut self, now: Time, from: (u64, Peer), word: Word<G::Command>) {
        match word {
            Word::Hello { terms, name, wants_to_play } => {
                self.answer(now, from, (terms, name), wants_to_play);
            }
            Word::Refusal(refusal) => self.hear_refusal(from, refusal),
            Word::Notice { age, leader, at } => self.hear_notice(now, from, age, (leader, at)),
            Word::Play(play) => self.hear_play(now, from, *play),
            Word::Call { is_promise: false, play, .. } => self.hear_call(now, from, *play),
            Word::Call { is_promise: true, leaves, play } => {
                self.hear_promise(now, from.0, leaves, *play);
            }
            Word::Piece { id, index, count, bytes } => {
                self.hear_piece(now, from, (id, index, count), &bytes);
            }
            Word::Taken { id, count } => {
                let mine = |(to, out): &&mut (u64, Outgoing)| *to == from.0 && out.id == id;
                let outgoing = self.outgoing.iter_mut().find(mine);
                if outgoing.is_some_and(|(_, outgoing)| outgoing.hear(now, count))
                    && let Some(contact) = self.contacts.get_mut(&from.0)
                {
                    contact.moved_at = now;
                }
                self.outgoing.retain(|(_, outgoing)| !outgoing.is_done());
            }
            Word::Inquest { first, hashes } => self.hear_inquest(now, from.0, first, hashes),
        }
    }

    /// What the player asks for from now on.
    pub fn command(&mut self, wish: G::Command) {
        self.wish = wish;
    }

    /// Steps what is due, and says what is to be said.
    pub fn advance(&mut self, now: Time) {
        match self.stage {
            Stage::Over => return,
            Stage::Knocking { .. } => self.knock(now),
            Stage::Playing => self.play(now),
        }
        self.send_pieces(now);
        self.investigate(now);
    }

    fn play(&mut self, now: Time) {
        if !self.is_parted() {
            self.elect(now);
            if self.is_leader() {
                self.lead(now);
            }
            self.pass_time(now);
            self.speak(now);
            self.seek_leader(now);
        }
        if self.leaving_since.is_some_and(|since| self.has_left(now, since)) {
            self.end();
        }
    }

    /// The next message to send, and to whom; call it until there is none.
    pub fn transmit(&mut self) -> Option<((u64, Peer), Vec<u8>)> {
        self.outbox.pop_front()
    }

    /// When to call [`advance`](Lockstep::advance) at the latest.
    pub fn next_wake(&self) -> Time {
        match self.stage {
            Stage::Over => Time::MAX,
            Stage::Knocking { asked_at, .. } => asked_at + super::barrier::KNOCK_EVERY,
            Stage::Playing => {
                let next = self.clock.ticks.floor() + 1.0;
                self.clock.reaches(next, self.pace()).min(self.spoke_at + SPEAK_EVERY)
            }
        }
    }

    /// Our number in the game, once we are in it.
    pub fn me(&self) -> Option<PlayerId> {
        self.worlds.as_ref()?;
        Some(self.seat()?.player)
    }

    /// Who we are on every line.
    pub fn identity(&self) -> Identity {
        Identity { session: self.identity, name: self.name }
    }

    /// The newest world of which everything is known.
    pub fn world(&self) -> Option<&World<G::Entity>> {
        self.worlds.as_ref().map(Worlds::known)
    }

    /// The hash of a tick, if that is among the newest.
    pub fn hash_of(&self, tick: Tick) -> Option<u32> {
        self.worlds.as_ref()?.at(tick).map(|past| past.hash(&self.layouts))
    }

    /// The world to draw: the newest, guessed if the game is played so.
    pub fn view(&mut self, _now: Time) -> Option<&World<G::Entity>> {
        self.shown()
    }

    /// What [`view`](Lockstep::view) gives.
    pub fn shown(&self) -> Option<&World<G::Entity>> {
        self.worlds.as_ref().map(Worlds::shown)
    }

    /// What is to be shown of events since this was last asked.
    pub fn take_effects(&mut self) -> Vec<Effect<G::Event>> {
        self.worlds.as_mut().map(Worlds::take_effects).unwrap_or_default()
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<Happening> {
        std::mem::take(&mut self.events)
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Statistics {
        let resimulated_ticks = self.worlds.as_ref().map_or(0, |worlds| worlds.resimulated);
        let shown = self.shown().map_or(0, |world| world.tick().0);
        let delay_ticks = self.newest_own().map_or(0, |tick| tick.0.saturating_sub(shown));
        let contacts = self.contacts.len();
        Statistics { resimulated_ticks, delay_ticks, contacts, ..self.statistics }
    }

    /// How the game is played, once that is known.
    pub fn setup(&self) -> Option<Setup> {
        self.roster.as_ref().map(|roster| roster.setup)
    }

    /// How it is paced at present.
    pub fn pace(&self) -> Pace {
        let roster = self.roster.as_ref();
        roster.map_or(Pace::first(&Setup::DOOM_1993), |roster| roster.pace_at(self.executed()))
    }

    /// Whether we lead.
    pub fn is_leader(&self) -> bool {
        let leader = self.roster.as_ref().and_then(Roster::leader);
        self.stage == Stage::Playing
            && leader.is_some_and(|leader| leader.identity == self.identity)
    }

    /// Counts those who led.
    pub fn epoch(&self) -> Option<u16> {
        self.roster.as_ref().map(|roster| roster.epoch)
    }

    /// The player that has our promise to follow it if it comes to lead; none while no election is under way here.
    pub fn candidate(&self) -> Option<PlayerId> {
        let candidate = self.election.candidate()?;
        self.roster.as_ref()?.member(candidate).map(|member| member.player)
    }

    /// Who gives commands at present.
    pub fn players(&self) -> Vec<PlayerId> {
        let (roster, tick) = (self.roster.as_ref(), self.executed());
        let members = roster.into_iter().flat_map(|roster| &roster.members);
        members.filter(|member| member.plays_at(tick)).map(|member| member.player).collect()
    }

    /// With whom we are in touch, and where they are: whoever carries our messages keeps lines to them.
    pub fn contacts(&self) -> Vec<(u64, Peer)> {
        match (&self.stage, &self.roster) {
            (Stage::Knocking { .. }, _) => vec![self.door],
            (Stage::Playing, Some(roster)) => {
                let others = roster.here().filter(|member| member.identity != self.identity);
                let needed = others.filter(|member| self.talks_to(member) || self.may_need(member));
                needed.map(|member| (member.identity, member.at)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Says how long a tick takes this machine, everything included. Where turns adapt, the game is paced so
    /// that the slowest keeps up.
    pub fn set_tick_costs(&mut self, span: Span) {
        self.tick_costs = span;
    }

    /// Whether nothing more will come or go.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Says goodbye. The others hear of it as long as [`advance`](Lockstep::advance) is called until it
    /// [is over](Lockstep::is_over).
    pub fn close(&mut self, now: Time) {
        match self.stage {
            Stage::Playing => {
                self.leaving_since.get_or_insert(now);
            }
            _ => self.end(),
        }
    }

    /// For tests: changes our world and nobody else's.
    pub fn spoil(&mut self) -> Option<&mut World<G::Entity>> {
        self.worlds.as_mut().map(Worlds::known_mut)
    }

    pub(super) fn end(&mut self) {
        if self.stage != Stage::Over {
            self.stage = Stage::Over;
            self.events.push(Happening::Over);
        }
    }

    /// Our own row.
    pub(super) fn seat(&self) -> Option<&Member> {
        self.roster.as_ref()?.member(self.identity)
    }

    pub(super) fn executed(&self) -> Tick {
        self.worlds.as_ref().map_or(Tick(0), Worlds::executed)
    }

    pub(super) fn has_server(&self) -> bool {
        self.roster.as_ref().is_some_and(|roster| roster.setup.has_server())
    }

    /// Whether our words go to this one: among those who play to all or, where there is a server, to it or from it.
    /// Who only watches is told everything by the leader.
    pub(super) fn talks_to(&self, other: &Member) -> bool {
        let Some(roster) = &self.roster else { return false };
        let both_play = other.wants_to_play && self.role == Role::Plays;
        let is_direct = !roster.setup.has_server() && both_play;
        is_direct || self.is_leader() || other.seat == roster.leader
    }

    /// Whether we must be able to find this one should the leader go: the first two of the others.
    fn may_need(&self, other: &Member) -> bool {
        let Some(roster) = &self.roster else { return false };
        let heirs = roster.electors().filter(|member| member.seat != roster.leader).take(2);
        let mut heirs = heirs.map(|heir| heir.seat);
        let own = self.seat().map(|me| me.seat);
        self.election.is_open() || heirs.any(|heir| heir == other.seat || Some(heir) == own)
    }

    pub(super) fn post(&mut self, (to, at): (u64, Peer), word: &Word<G::Command>) {
        let message = word.write(&self.layout);
        let seen_at = self.contacts.get(&to).and_then(|contact| contact.at);
        let to = (to, seen_at.unwrap_or(at));
        if !message.is_empty() && self.outbox.len() < OUTBOX_MAX {
            self.outbox.push_back((to, message));
        }
    }

    pub(super) fn frame(&self) -> Option<Frame<'_, G>> {
        let setup = self.roster.as_ref()?.setup;
        Some(Frame {
            content: &self.content,
            layouts: &self.layouts,
            command: &self.layout,
            tick_length: setup.tick_length,
            seed: setup.seed,
        })
    }

    /// Whether our goodbye was heard, or nobody cares.
    fn has_left(&self, now: Time, since: Time) -> bool {
        let Some(roster) = &self.roster else { return true };
        let is_alone = roster.here().all(|member| member.identity == self.identity);
        // Who took us out asks until it has heard that we know.
        let is_quiet = self.parted_at.is_some_and(|at| now - at > PARTED_FOR);
        is_alone || is_quiet || now - since > LEAVING_MAX
    }
}

/// The most that a command can take: its words, a bit for each, and three for each group of them.
fn bits_at_most(layout: &Layout) -> usize {
    let words = layout.words().iter().map(|word| word.bits as usize + 1);
    words.sum::<usize>() + 3 * layout.len().div_ceil(64)
}

/// Something is said at least so often.
pub(super) const SPEAK_EVERY: Span = Span::millis(50);

/// How long one waits for one's goodbye to be heard.
const LEAVING_MAX: Span = Span::seconds(2);

/// Who said goodbye and knows that the others go on is gone if nobody asks it for so long whether it knows.
const PARTED_FOR: Span = Span::millis(500);
const _: () = assert!(LEAVING_MAX.as_micros() > SILENCE.as_micros());

/// Whoever is there: the session of one whose address alone is known.
pub(super) const ANYONE: u64 = 0;

/// How many messages wait to be brought away; an owner that forgets them loses them.
const OUTBOX_MAX: usize = 4096;

/// Where it stands, in a line; not all that it holds.
impl<G: Game> std::fmt::Debug for Lockstep<G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lockstep")
            .field("identity", &self.identity)
            .field("stage", &self.stage)
            .field("executed", &self.worlds.as_ref().map(Worlds::executed))
            .field("clock", &self.clock)
            .field("roster", &self.roster)
            .field("has", &self.vector())
            .field("election", &self.election)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
