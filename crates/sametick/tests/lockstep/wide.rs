//! What seeds from `WIDE_FROM` on draw besides: up to 8 players and 4 who watch, come and go, longer and worse lines,
//! worlds of many entities, hosts that are slow for a while. After the calm nobody keeps a command delay that it
//! does not need.

use super::faults::{self, CALM, Counts, FAULTS, Options};
use super::party::{Machine, Party, stroll};
use super::strikes::Strikes;
use crate::gated::gated;
use crate::tag::{Entity, Runner, Wish};
use sametick::lockstep::{Lockstep, Role, Setup, Turns, WATCHERS_MAX};
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Dice, Game, NoEvent, Span, Time, Turn, World};
use sametick_seeds::Script;
use std::ops::Range;

/// So long after everyone plays one game again the command delay is what lines need: see `slow`.
const DELAY_IS_BACK: Span = Span::seconds(10);

/// Players among bystanders, of whom the content says how many there are.
pub(super) struct Crowd;

impl Game for Crowd {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = u16;

    fn content_name(bystanders: &u16) -> u64 {
        u64::from(*bystanders)
    }

    fn populate(bystanders: &u16, world: &mut World<Entity>) {
        for number in 0..*bystanders {
            world.spawn(Runner {
                x: f32::from(number % 50),
                y: f32::from(number / 50),
                ..Runner::default()
            });
        }
    }

    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        for player in turn.joined() {
            world.spawn_owned(player, Runner::default());
        }
        for player in turn.left() {
            if let Some((id, _)) = world.owned::<Runner>(player) {
                world.despawn(id);
            }
        }
        for (player, wish) in turn.commands() {
            let Some((_, runner)) = world.owned_mut::<Runner>(player) else { continue };
            let (north, east) = libm::sincosf(wish.aim);
            let stride = if wish.walk { 5.0 * turn.dt() } else { 0.0 };
            (runner.x, runner.y) = (runner.x + east * stride, runner.y + north * stride);
            runner.shouts = runner.shouts.wrapping_add(u16::from(wish.shout));
        }
        // Some of the bystanders move, so that no two worlds are alike.
        let tick = turn.tick().0;
        for (index, (_, runner)) in (0..).zip(world.all_mut::<Runner>()) {
            if (tick + index) % 16 == 0 {
                runner.stamp = runner.stamp.wrapping_add(1);
            }
        }
    }
}

fn stroll_in_a_crowd(_: &Lockstep<Crowd>, dice: &mut Dice, now: Time) -> Wish {
    stroll(dice, now)
}

pub(super) fn expand(seed: u64) -> Options {
    let mut dice = Dice::new(seed, 87);
    let (model, setup) = Setup::ALL[(seed % 5) as usize];
    let count = 2 + dice.below(7) as usize;
    let loss = match dice.below(3) {
        0 => Loss::None,
        1 => Loss::Random { probability: dice.unit() * 0.3 },
        _ => {
            let (enter, leave) = (0.01 + dice.unit() * 0.03, 0.1 + dice.unit() * 0.2);
            Loss::Burst { enter, leave, loss_good: 0.0, loss_bad: 0.8 }
        }
    };
    let conditions = Conditions {
        delay: Span::millis(dice.below(251)),
        jitter: Jitter::Uniform { width: Span::millis(dice.below(101)) },
        loss,
        duplicate: dice.unit() * 0.1,
        reorder: dice.unit() * 0.1,
        reorder_by: Span::millis(250),
        keep_order: dice.chance(0.2),
        bandwidth_bytes_per_second: dice.chance(0.2).then_some(30_000),
        ..Conditions::PERFECT
    };
    let patience = Span::millis(2_000 + dice.below(4_000));
    let bystanders = match dice.below(3) {
        0 => 0,
        1 => dice.below(100) as u16,
        _ => dice.below(2_000) as u16,
    };
    let setup = Setup { players: count as u8, patience, ..setup };
    Options { model, setup, count, conditions, bystanders, seed }
}

/// Which hosts are slow, how, and until when.
struct Slow {
    hosts: Vec<usize>,
    pause_ms: Range<u64>,
    until: Time,
}

pub(super) fn run(options: &Options, script: &Script) -> Counts {
    let Options { setup, count, conditions, bystanders, seed, .. } = options;
    let game = (*bystanders, stroll_in_a_crowd as super::party::Mind<Crowd>);
    let conditions = gated(script, conditions.clone());
    let mut party = Party::new(*setup, *count, game, *seed, conditions);
    let mut dice = Dice::new(*seed, 88);
    faults::let_clocks_drift(&mut party, &mut dice, script);
    party.run(Span::seconds(3));
    let end = party.now + FAULTS;
    let mut strikes = Strikes::new(*seed, party.now, FAULTS);
    let mut slow = Slow { hosts: Vec::new(), pause_ms: 1..2, until: party.now };
    while party.now < end {
        fault(&mut party, &mut slow, &mut dice, script);
        let span = Span::millis(200 + dice.below(1_500));
        party.run_with(span, |party| {
            if party.now < slow.until {
                party.slow_down(&slow.hosts, &slow.pause_ms, &mut dice);
            }
            strikes.look(party, script);
        });
        bury_who_left(&mut party);
    }
    faults::calm(&mut party);
    party.run(CALM + DELAY_IS_BACK);
    let is_over =
        |machine: &Machine<Crowd>| machine.lockstep.as_ref().is_some_and(Lockstep::is_over);
    let mut players = party.machines.iter().filter(|machine| machine.role == Role::Plays);
    assert!(players.all(|machine| !is_over(machine)), "a player found no game in the calm");
    // A watcher that said goodbye late may not have heard that its leader was deposed.
    bury_who_left(&mut party);
    let counts = faults::judge(&mut party, script);
    check_delays(&mut party);
    counts
}

fn fault(party: &mut Party<Crowd>, slow: &mut Slow, dice: &mut Dice, script: &Script) {
    let now = party.now;
    let watchers = || {
        let is_watcher = |index: &usize| party.machines[*index].role == Role::Watches;
        (0..party.machines.len()).filter(is_watcher)
    };
    match dice.below(16) {
        0 | 1 => {
            // They are called late for up to four seconds, and may not step all that is due meanwhile.
            let mask = dice.below(1 << party.machines.len());
            let shortest = 10 + dice.below(200);
            let pause_ms = shortest..shortest + 1 + dice.below(300);
            let until = now + Span::millis(dice.below(4_000));
            let what = || format!("{mask:b}, machine 0 last, by {pause_ms:?} ms until {until}");
            if script.allows("slow", now, what) {
                let hosts = (0..party.machines.len()).filter(|index| mask >> index & 1 == 1);
                *slow = Slow { hosts: hosts.collect(), pause_ms, until };
            }
        }
        2 if watchers().count() < WATCHERS_MAX => {
            if !script.allows("watcher", now, || "somebody comes to watch".to_owned()) {
                return;
            }
            party.add(Role::Watches);
            let index = party.machines.len() - 1;
            faults::let_clock_drift(party, index, dice, script);
        }
        3 => {
            let mut alive = watchers().filter(|index| party.machines[*index].lockstep.is_some());
            if let Some(index) = alive.next()
                && script.allows("watcher", now, || format!("{index} stops watching"))
            {
                let now = party.network.clock(party.machines[index].host).local(party.now);
                party.lockstep_mut(index).close(now);
            }
        }
        _ => faults::fault(party, dice, script),
    }
}

/// Who has left is dark, until it comes back.
fn bury_who_left(party: &mut Party<Crowd>) {
    for index in 0..party.machines.len() {
        if party.machines[index].lockstep.as_ref().is_some_and(Lockstep::is_over) {
            party.kill(index);
        }
    }
}

/// On the lines of the calm a command takes 30 ms: nobody's takes effect much later than that needs.
fn check_delays(party: &mut Party<Crowd>) {
    let ticks_max = match party.setup.turns {
        // Two ticks on the line, and as many for its jitter and for when hosts are called: four to six are usual.
        Turns::Ahead => 8,
        Turns::Adaptive => 14,
        Turns::Fixed { delay_ticks } => u32::from(delay_ticks) + 2,
    };
    let mut delays = vec![0; party.machines.len()];
    party.run_with(Span::seconds(1), |party| {
        for index in party.alive() {
            let delay = party.lockstep(index).statistics().delay_ticks;
            delays[index] = delay.max(delays[index]);
        }
    });
    assert!(
        delays.iter().all(|delay| *delay <= ticks_max),
        "after the calm commands take {delays:?} ticks, at most {ticks_max} are needed"
    );
}
