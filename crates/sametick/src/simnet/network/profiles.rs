//! Lines that people have at home and on the road, by name. The numbers are chosen, not measured:
//! each profile says why, and `docs/networks.md` lists them.

use super::conditions::{Conditions, Jitter, Loss};
use crate::core::time::Span;

/// Both directions of a line that many people have.
///
/// ```
/// use sametick::network::Profile;
/// let wifi = Profile::named("wifi").unwrap();
/// assert!(wifi.up.loss.mean() > 0.0);
/// assert_eq!(Profile::NAMES.len(), Profile::all().count());
/// assert!(Profile::named("carrier pigeon").is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it is asked for by.
    pub name: &'static str,
    /// From the player to the rest of the world.
    pub up: Conditions,
    /// From the rest of the world to the player.
    pub down: Conditions,
    /// Why its numbers are what they are.
    pub reason: &'static str,
}

impl Profile {
    /// All names, from the best line to the worst.
    pub const NAMES: [&'static str; 7] = ["lan", "cable", "dsl", "wifi", "4g", "satellite", "bad"];

    /// The profile of that name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "lan" => Some(lan()),
            "cable" => Some(cable()),
            "dsl" => Some(dsl()),
            "wifi" => Some(wifi()),
            "4g" => Some(mobile()),
            "satellite" => Some(satellite()),
            "bad" => Some(bad()),
            _ => None,
        }
    }

    /// All profiles, in the order of their names.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().filter_map(Self::named)
    }
}

/// UDP, IPv4 and Ethernet add so many bytes to each datagram.
const OVERHEAD_BYTES: u32 = 8 + 20 + 18;
/// What Ethernet carries, less the headers of IPv4 and UDP.
const MTU_BYTES: usize = 1_500 - 20 - 8;
/// PPPoE takes 8 bytes more.
const MTU_BYTES_DSL: usize = MTU_BYTES - 8;

/// The direction of a profile, with all that the profiles share.
fn direction(delay: Span, jitter: Jitter, loss: Loss, kilobits_per_second: u32) -> Conditions {
    let bytes_per_second = kilobits_per_second * 125;
    Conditions {
        delay,
        jitter,
        loss,
        bandwidth_bytes_per_second: Some(bytes_per_second),
        // A tenth of a second is what modest routers hold.
        queue_bytes_max: bytes_per_second / 10,
        overhead_bytes: OVERHEAD_BYTES,
        mtu_bytes: MTU_BYTES,
        ..Conditions::PERFECT
    }
}

fn lan() -> Profile {
    let jitter = Jitter::Uniform { width: Span::micros(100) };
    let way = direction(Span::micros(150), jitter, Loss::None, 1_000_000);
    Profile {
        name: "lan",
        up: Conditions { queue_bytes_max: 512_000, ..way.clone() },
        down: Conditions { queue_bytes_max: 512_000, ..way },
        reason: "Gigabit Ethernet through one switch: wire and driver take a fraction of a \
                 millisecond, and a switch buffers half a megabyte.",
    }
}

fn cable() -> Profile {
    let up = Jitter::Pareto { scale: Span::millis(4), shape: 3.0, cap: Span::millis(30) };
    let down = Jitter::Pareto { scale: Span::millis(1), shape: 3.0, cap: Span::millis(20) };
    let loss = Loss::Random { probability: 0.001 };
    Profile {
        name: "cable",
        up: direction(Span::millis(9), up, loss, 20_000),
        down: direction(Span::millis(7), down, loss, 200_000),
        reason: "A server in the same region behind a cable modem, which must ask for each slot \
                 upwards and so is slower and less even that way.",
    }
}

fn dsl() -> Profile {
    let jitter = Jitter::Normal { deviation: Span::millis(1) };
    let loss = Loss::Random { probability: 0.001 };
    let up = direction(Span::millis(14), jitter.clone(), loss, 10_000);
    let down = direction(Span::millis(14), jitter, loss, 50_000);
    Profile {
        name: "dsl",
        up: Conditions { mtu_bytes: MTU_BYTES_DSL, ..up },
        down: Conditions { mtu_bytes: MTU_BYTES_DSL, ..down },
        reason: "A server in the same region behind VDSL, whose interleaving costs some even \
                 milliseconds each way and whose PPPoE costs 8 bytes of each datagram.",
    }
}

fn wifi() -> Profile {
    let jitter = Jitter::Pareto { scale: Span::millis(4), shape: 2.0, cap: Span::millis(150) };
    let loss = Loss::Burst { enter: 0.005, leave: 0.25, loss_good: 0.0005, loss_bad: 0.4 };
    Profile {
        name: "wifi",
        up: direction(Span::millis(8), jitter.clone(), loss, 40_000),
        down: direction(Span::millis(8), jitter, loss, 100_000),
        reason: "A good home line behind a busy radio: collisions are repeated, which keeps the \
                 order but spreads the delay, and some fail for a few packets in a row.",
    }
}

fn mobile() -> Profile {
    let up = Jitter::Pareto { scale: Span::millis(20), shape: 2.5, cap: Span::millis(300) };
    let down = Jitter::Pareto { scale: Span::millis(12), shape: 2.5, cap: Span::millis(300) };
    let loss = Loss::Burst { enter: 0.002, leave: 0.2, loss_good: 0.0005, loss_bad: 0.5 };
    let up = direction(Span::millis(25), up, loss, 10_000);
    let down = direction(Span::millis(20), down, loss, 30_000);
    Profile {
        name: "4g",
        up: Conditions { queue_bytes_max: 625_000, ..up },
        down: Conditions { queue_bytes_max: 1_875_000, ..down },
        reason: "The radio grants slots and repeats what fails, so delay varies more than loss, \
                 and the base station would rather hold half a second of data than drop it.",
    }
}

fn satellite() -> Profile {
    let jitter = Jitter::Normal { deviation: Span::millis(10) };
    let loss = Loss::Burst { enter: 0.001, leave: 0.1, loss_good: 0.002, loss_bad: 0.3 };
    Profile {
        name: "satellite",
        up: direction(Span::millis(310), jitter.clone(), loss, 3_000),
        down: direction(Span::millis(290), jitter, loss, 50_000),
        reason: "A geostationary satellite: light takes 240 ms up and down again, coding and the \
                 wait for a slot the rest, and rain comes in bursts.",
    }
}

fn bad() -> Profile {
    let jitter = Jitter::Pareto { scale: Span::millis(20), shape: 1.5, cap: Span::millis(400) };
    let loss = Loss::Burst { enter: 0.02, leave: 0.2, loss_good: 0.01, loss_bad: 0.5 };
    let way = Conditions {
        keep_order: false,
        duplicate: 0.01,
        reorder: 0.05,
        reorder_by: Span::millis(50),
        bit_flip: 0.001,
        truncate: 0.001,
        queue_bytes_max: 64_000,
        ..direction(Span::millis(100), jitter, loss, 1_000)
    };
    Profile {
        name: "bad",
        up: way.clone(),
        down: way,
        reason: "Everything at once, a little worse than people would go on playing with, so that \
                 what holds here holds.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_profile_that_a_line_can_have() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.name, name);
            assert_eq!((profile.up.check(), profile.down.check()), (Ok(()), Ok(())), "{name}");
        }
    }
}
