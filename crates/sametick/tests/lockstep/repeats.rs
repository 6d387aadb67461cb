//! Commands that are made up or guessed: all step by the same bits of them, whoever made them.

use super::line;
use super::party::Party;
use sametick::lockstep::{Lockstep, Setup};
use sametick::{Dice, Fields, Game, Networked, NoEvent, Span, Time, Turn, World};

/// Keeps of each player what only the exact bits of its commands tell.
struct Dials;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Twist {
    aim: f32,
    /// Zero, of one sign or the other.
    lean: [f32; 1],
}

impl Networked for Twist {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.angle("aim", &mut self.aim, 4);
        f.exacts("lean", &mut self.lean);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dial {
    sum: [f32; 1],
    leans: u16,
}

impl Networked for Dial {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exacts("sum", &mut self.sum);
        f.bits("leans", &mut self.leans, 16);
    }
}

mod desk {
    use super::Dial;
    sametick::entities! { pub(crate) enum Desk { Dial } }
}

impl Game for Dials {
    type Entity = desk::Desk;
    type Command = Twist;
    type Event = NoEvent;
    type Content = ();

    fn step(world: &mut World<desk::Desk>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Dial::default());
        }
        for (player, twist) in turn.commands() {
            if let Some((_, dial)) = world.owned_mut::<Dial>(player) {
                dial.sum[0] = (dial.sum[0] + twist.aim) % 1000.0;
                let leans = u16::from(twist.lean[0].is_sign_negative());
                dial.leans = dial.leans.wrapping_mul(3).wrapping_add(leans);
            }
        }
    }

    /// Off the grid: an angle of 4 bits has no such step.
    fn repeat(last: &Twist, times: u32) -> Twist {
        Twist { aim: last.aim + 0.01 * times as f32, lean: last.lean }
    }
}

fn twist(_: &Lockstep<Dials>, dice: &mut Dice, now: Time) -> Twist {
    let aim = ((now - Time::ZERO).as_micros() / 700_000) as f32;
    Twist { aim, lean: [if dice.chance(0.5) { -0.0 } else { 0.0 }] }
}

fn check_plays_the_same(name: &str, setup: Setup, twist: super::party::Mind<Dials>) {
    for seed in 0..3 {
        let setup = Setup { players: 3, ..setup };
        let mut party: Party<Dials> = Party::new(setup, 3, ((), twist), seed, line(100, 0.2));
        party.run(Span::seconds(8));
        party.check();
        assert!(party.compared > 200, "{name}, seed {seed}: {} compared", party.compared);
    }
}

#[test]
fn commands_that_are_made_up_are_settled_before_they_count() {
    let steady: super::party::Mind<Dials> =
        |lockstep, dice, now| Twist { lean: [0.0], ..twist(lockstep, dice, now) };
    for (name, setup) in Setup::ALL {
        check_plays_the_same(name, setup, steady);
    }
}

#[test]
fn a_guess_counts_only_if_its_commands_are_the_same_bit_by_bit() {
    check_plays_the_same("rollback", Setup::ROLLBACK, twist);
}
