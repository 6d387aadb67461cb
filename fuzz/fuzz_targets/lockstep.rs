//! Two machines in lockstep whose messages are damaged, doubled or made up on the way: no panic, and whatever is said,
//! neither steps a tick that it does not have.
#![no_main]

#[path = "../../crates/sametick/tests/common/damage.rs"]
mod damage;
#[allow(dead_code)]
#[path = "../../crates/sametick/tests/common/tag.rs"]
mod tag;

use damage::damage;
use libfuzzer_sys::fuzz_target;
use sametick::lockstep::{Identity, Lockstep, Role, Setup};
use sametick::{Peer, Span, Time};
use tag::{Tag, Wish};

/// Longer than any input needs.
const TURNS_MAX: u32 = 2_000;

fuzz_target!(|input: &[u8]| {
    let Some((model, mut input)) = input.split_first() else { return };
    let (_, setup) = Setup::ALL[usize::from(*model) % Setup::ALL.len()];
    let (mut now, here) = (Time::from_seconds(1), Peer::new([1; 16], 1));
    let me = |session| Identity { session, name: session };
    let mut machines = [
        Lockstep::<Tag>::found(Setup { players: 2, ..setup }, me(1), here, ((), 1), now),
        Lockstep::join(here, me(2), ((), 1), Role::Plays, now),
    ];
    let (mut last, mut turns) = (Vec::new(), 0);
    while let Some((deed, rest)) = input.split_first() {
        input = rest;
        let take = |input: &mut &[u8], count: usize| {
            let (taken, rest) = input.split_at(count.min(input.len()));
            *input = rest;
            taken.to_vec()
        };
        let to = usize::from(deed >> 7);
        // From the other one, or from somebody whom nobody knows.
        let from = match deed & 0x40 {
            0 => (2 - to as u64, here),
            _ => (9, Peer::new([9; 16], 9)),
        };
        let count = take(&mut input, 1).first().copied().unwrap_or(0);
        match deed % 4 {
            0 => {
                for _ in 0..count {
                    turn(&mut machines, now, here, &mut last);
                    now += Span::millis(8);
                    turns += 1;
                }
            }
            1 => {
                let mut message = last.clone();
                damage(&mut message, &take(&mut input, usize::from(count)));
                machines[to].receive(now, from, &message);
            }
            2 => machines[to].receive(now, from, &take(&mut input, usize::from(count))),
            _ => machines[to].receive(now, from, &last.clone()),
        }
        if turns > TURNS_MAX {
            return;
        }
    }
});

fn turn(machines: &mut [Lockstep<Tag>; 2], now: Time, here: Peer, last: &mut Vec<u8>) {
    for index in 0..2 {
        machines[index].command(Wish { walk: true, ..Wish::default() });
        let before = machines[index].world().map(|world| world.tick());
        machines[index].advance(now);
        let after = machines[index].world().map(|world| world.tick());
        assert!(after >= before || before.is_none() || after.is_none());
        machines[index].take_effects();
        machines[index].take_events();
        while let Some((_, message)) = machines[index].transmit() {
            machines[1 - index].receive(now, (index as u64 + 1, here), &message);
            *last = message;
        }
    }
}
