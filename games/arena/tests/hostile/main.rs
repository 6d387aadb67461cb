//! Hostile clients gain nothing and cost the others nothing. Most are made of messages written by hand on a
//! connection of their own; what they gain is compared with an honest one on the same line, what they cost with the
//! bytes that the others are sent.
//!
//! | cheat | the test |
//! |---|---|
//! | more commands than time | `time::more_commands_than_time_lead_no_further` |
//! | stored commands, all at once | `time::silence_and_a_burst_lead_no_further` |
//! | the same tick again, or otherwise | `time::a_tick_cannot_be_played_twice_nor_changed` |
//! | faster triggers and jumps | `time::triggers_and_jumps_count_in_ticks_of_the_server` |
//! | lag switch | `time::a_lag_switch_makes_nobody_harder_to_hit` |
//! | backtrack: an older moment than was seen | `moments::an_older_moment_gains_two_ticks_at_most` |
//! | moments of the future, or of no time at all | `moments::no_moment_is_judged_beyond_its_bounds` |
//! | delayed acknowledgements | `moments::delayed_acknowledgements_gain_two_ticks_at_most` |
//! | aim beyond limits | `state::what_no_client_writes_changes_nothing` |
//! | anything at all | `state::a_million_commands_of_any_kind_harm_nothing` |
//! | shots through walls | `state::nobody_is_hit_through_a_wall` |
//! | teleport, and other false claims | `state::claims_count_for_nothing_where_nobody_is_trusted` |
//! | the same where clients are trusted, NaN too | `state::a_trusted_client_claims_its_own_place_and_no_more` |
//! | watching for a moment instead of dying | `state::to_watch_for_a_moment_is_no_way_out` |
//! | replayed and forged packets | `floods::replayed_and_forged_packets_change_nothing` |
//! | legal but costly messages | `floods::a_flood_of_legal_messages_costs_the_others_nothing` |
//! | talk without end | `floods::who_talks_without_end_is_heard_once_a_second` |
//! | wallhack | all of `hidden`: what is not sent cannot be shown |
//!
//! Two rows of the table are met in part. Whoever delays its acknowledgements for as long as the server remembers its
//! shortest round trip (10 to 20 s), or from the first packet on, is to the server one with a longer line, and is
//! rewound as one: up to the cap, never beyond (`moments::a_line_that_is_always_slow_is_rewound_up_to_the_cap`). And
//! who watches sees everything; it comes back no sooner than the dead do and not to where it was.

mod floods;
mod moments;
mod state;
mod time;

use super::harness::rogue::{Message, Rogue};
use super::harness::{Match, STEP, Setup, line};
use sametick::network::Conditions;
use sametick::{Model, Rates, Span, Tick, Time, Verdict, View};
use sametick_arena::scenes::{RUNNER, Scene};
use sametick_arena::vector::{Vector, length, subtract};
use sametick_arena::{Command, Content, Fighter};
use std::sync::LazyLock;

/// How far ahead of the server a rogue's commands are stamped: they come in time on its line.
const AHEAD: u32 = 3;
const TICK_SECONDS: f32 = 0.016_667;

static CONTENT: LazyLock<Content> = LazyLock::new(|| {
    let mut content = Scene::dash_across().content;
    content.tuning.fighters_collide = false;
    content.map.visibility();
    content
});

/// Two honest players and a rogue.
struct Bout<'a> {
    content: &'a Content,
    rates: Rates,
    view: View,
    rogue_line: Conditions,
    /// Whether the honest stay where they begin.
    stands: bool,
    seconds: u64,
    /// Whether the honest get compact snapshots.
    is_compact: bool,
}

impl Bout<'_> {
    fn new(model: Model) -> Self {
        Self {
            content: &CONTENT,
            rates: model.rates,
            view: model.view,
            rogue_line: line(20, 0, 0.0),
            stands: false,
            seconds: 6,
            is_compact: false,
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
struct Outcome {
    /// All that the server sent to the first of the honest.
    bytes: Vec<u8>,
    /// How many bytes it sent to the rogue.
    bytes_to_rogue: u64,
    /// The rogue's fighter, tick by tick.
    rogue: Vec<Fighter>,
    runner: Vec<Fighter>,
    /// Of the rogue's shots.
    verdicts: Vec<Verdict>,
    /// How often commands of the first of the honest came late.
    repeated: u64,
    malformed: u64,
    memory_bytes_max: usize,
    world_hash: u64,
}

impl Outcome {
    /// How far the rogue went, and how far in one tick at most; teleports do not count.
    fn metres(&self) -> (f32, f32) {
        let legs = self.rogue.windows(2).filter(|pair| pair[0].teleports == pair[1].teleports);
        let legs = legs.map(|pair| length(level(subtract(pair[1].position, pair[0].position))));
        legs.fold((0.0, 0.0), |(sum, most), leg| (sum + leg, leg.max(most)))
    }
}

fn level(way: Vector) -> Vector {
    [way[0], way[1], 0.0]
}

/// What an honest one in the rogue's place asks for in a tick: it runs in squares.
fn run(tick: u32) -> Command {
    let yaw = (tick / 120 % 4) as f32 * std::f32::consts::FRAC_PI_2;
    Command { forward: 7, yaw, ..Command::default() }
}

/// Plays; in each step `act` is what the rogue does, with the tick that has just passed, if one has.
fn play(bout: &Bout<'_>, mut act: impl FnMut(&mut Match, &mut Rogue, Option<Tick>)) -> Outcome {
    let mut play = Match::new(&Setup {
        content: bout.content,
        rates: bout.rates,
        views: &[bout.view; 2],
        lines: &[line(30, 0, 0.0)],
        seed: 11,
    });
    if bout.is_compact {
        play.offer_tables();
    }
    let layouts = sametick::Layouts::of::<sametick_arena::Entity>();
    let (mut rogue, mut outcome) = (None::<Rogue>, Outcome::default());
    while play.now < Time::from_seconds(bout.seconds) {
        let (honest, hostile) = (play.guests[0].host, rogue.as_ref().map(|rogue| rogue.host));
        let is_tick = play.step_server(|host, datagram| {
            if host == honest {
                outcome.bytes.extend_from_slice(datagram);
            } else if Some(host) == hostile {
                outcome.bytes_to_rogue += datagram.len() as u64;
            }
        });
        let tick = play.server.world().tick();
        for guest in 0..2 {
            // The second waits for the first, so that each has its place.
            if guest == 0 || play.guests[0].client.me().is_some() {
                play.frame(guest, |_, view| match bout.stands {
                    true => Command::default(),
                    false => run(view.tick().0 + 60 * guest as u32),
                });
            }
        }
        if rogue.is_none() && play.guests[1].client.me().is_some() {
            rogue = Some(Rogue::new(&mut play, &bout.rogue_line));
        }
        if let Some(rogue) = &mut rogue {
            rogue.step(&mut play);
            if rogue.me.is_some() {
                act(&mut play, rogue, is_tick.then_some(tick));
            }
            let own = rogue.me.and_then(|me| play.fighter(me)).map(|(_, own)| own.clone());
            if is_tick && let Some(me) = rogue.me {
                outcome.rogue.extend(own);
                outcome.runner.extend(play.fighter(RUNNER).map(|(_, runner)| runner.clone()));
                let verdicts = play.server.take_verdicts();
                outcome.verdicts.extend(verdicts.iter().filter(|verdict| verdict.player == me));
                let memory = play.server.memory_bytes(me);
                outcome.memory_bytes_max = outcome.memory_bytes_max.max(memory);
            }
        }
        play.now += STEP;
    }
    assert_eq!(play.is_compact(), bout.is_compact);
    outcome.repeated = play.guests[0].client.repeated();
    outcome.malformed = play.server.malformed();
    outcome.world_hash = play.server.world().hash(&layouts);
    assert!(outcome.rogue.len() > 60, "the rogue played");
    assert!(play.guests.iter().all(|guest| guest.client.malformed() == 0));
    outcome
}

/// Until this tick all are honest: who joins has nothing to compare with yet.
const BEGUN: u32 = 90;

/// What an honest one does in the rogue's place.
fn honest(play: &mut Match, rogue: &mut Rogue, tick: Option<Tick>) {
    if let Some(tick) = tick {
        let stamped = Tick(tick.0 + AHEAD);
        rogue.say(play, &Message::new(stamped, &[run(stamped.0)]));
    }
}

/// Seconds of a span.
fn seconds(span: Span) -> f32 {
    span.as_seconds_f64() as f32
}
