//! The simulated network of a contest: each machine's line as it is at a moment, with what goes wrong then.

use super::{Options, Player};
use sametick::network::{Conditions, Host, Network};
use sametick::secure::{ClientToken, Random};
use sametick::{Dice, OPEN_PROTOCOL, Time};

/// What goes wrong with one machine or its line, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) player: usize,
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// It says goodbye, and comes back.
    Leaves,
    /// Its process ends without a word; another one comes.
    Crashes,
    /// It stands still.
    Stalls,
    /// Nothing passes its line in these directions.
    Outage { up: bool, down: bool },
}

impl FaultKind {
    /// What a script calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Leaves => "leave",
            Self::Crashes => "crash",
            Self::Stalls => "stall",
            Self::Outage { .. } => "outage",
        }
    }
}

impl Fault {
    fn is_on(&self, now: Time) -> bool {
        (self.from..self.until).contains(&now)
    }
}

/// What a machine does at a moment because of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    SaysGoodbye(usize),
    Crashes(usize),
    ComesBack(usize),
}

pub(super) struct Seeded(pub(super) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// A network with a server, or without one.
pub(super) struct Lines {
    pub(super) network: Network,
    pub(super) server: Option<Host>,
    /// One for each player; another one whenever its process is.
    pub(super) hosts: Vec<Host>,
}

impl Lines {
    pub(super) fn new(options: &Options, has_server: bool) -> Self {
        let mut network = Network::new(options.seed);
        let server = has_server.then(|| network.add_host());
        let hosts = options.players.iter().map(|_| network.add_host()).collect();
        let mut lines = Self { network, server, hosts };
        for (player, Player { drift_ppm, .. }) in options.players.iter().enumerate() {
            lines.network.clock_mut(lines.hosts[player]).set_drift(Time::ZERO, *drift_ppm);
        }
        lines.lay(options, Time::ZERO);
        lines
    }

    /// A new process of a player has an address of its own.
    pub(super) fn move_in(&mut self, options: &Options, now: Time, player: usize) -> Host {
        let host = self.network.add_host();
        let drift_ppm = options.players[player].drift_ppm;
        self.network.clock_mut(host).set_drift(now, drift_ppm);
        self.hosts[player] = host;
        self.lay(options, now);
        host
    }

    /// What a player's own clock shows.
    pub(super) fn local(&self, player: usize, now: Time) -> Time {
        self.network.clock(self.hosts[player]).local(now)
    }

    /// Lets begin and end what goes wrong now; gives what is for machines to do.
    pub(super) fn go_wrong(&mut self, options: &Options, now: Time) -> Vec<Act> {
        let mut acts = Vec::new();
        let turns = |fault: &&Fault| now == fault.from || now == fault.until;
        for fault in options.faults.iter().filter(turns) {
            let begins = now == fault.from;
            match fault.kind {
                FaultKind::Leaves if begins => acts.push(Act::SaysGoodbye(fault.player)),
                FaultKind::Crashes if begins => acts.push(Act::Crashes(fault.player)),
                FaultKind::Leaves | FaultKind::Crashes => acts.push(Act::ComesBack(fault.player)),
                FaultKind::Outage { .. } | FaultKind::Stalls => {}
            }
        }
        if options.faults.iter().any(|fault| turns(&fault)) || now == options.calm {
            self.lay(options, now);
        }
        acts
    }

    /// All lines as they are now: cut where there is an outage, and perfect but for their delay in the calm.
    fn lay(&mut self, options: &Options, now: Time) {
        let is_cut = |player: Option<usize>, is_up: bool| {
            let mut faults = options.faults.iter().filter(|fault| fault.is_on(now));
            faults.any(|fault| match fault.kind {
                FaultKind::Outage { up, down } if Some(fault.player) == player => {
                    if is_up {
                        up
                    } else {
                        down
                    }
                }
                _ => false,
            })
        };
        let players = self.hosts.iter().enumerate().map(|(player, host)| (Some(player), *host));
        let ends: Vec<_> = players.chain(self.server.map(|host| (None, host))).collect();
        for (from, from_host) in &ends {
            for (to, to_host) in ends.iter().filter(|(_, host)| host != from_host) {
                let Some(player) = from.or(*to) else { continue };
                let line = &options.players[player].line;
                let calm = Conditions { delay: line.delay, ..Conditions::PERFECT };
                let line = if now >= options.calm { calm } else { line.clone() };
                self.network.set_conditions(*from_host, *to_host, line);
                match is_cut(*from, true) || is_cut(*to, false) {
                    true => self.network.cut(*from_host, *to_host),
                    false => self.network.heal(*from_host, *to_host),
                }
            }
        }
    }
}

/// Whether such a fault of a player is on.
fn suffers(options: &Options, player: usize, now: Time, kinds: &[FaultKind]) -> bool {
    let mut faults = options.faults.iter().filter(|fault| fault.player == player);
    faults.any(|fault| kinds.contains(&fault.kind) && fault.is_on(now))
}

/// Whether a player's machine stands still.
pub(super) fn is_still(options: &Options, player: usize, now: Time) -> bool {
    suffers(options, player, now, &[FaultKind::Stalls])
}

/// Whether a player's process has crashed, and none has come after it.
pub(super) fn is_crashed(options: &Options, player: usize, now: Time) -> bool {
    suffers(options, player, now, &[FaultKind::Crashes])
}

/// Whether a player has left, one way or another, and has not come back.
pub(super) fn is_away(options: &Options, player: usize, now: Time) -> bool {
    suffers(options, player, now, &[FaultKind::Leaves, FaultKind::Crashes])
}

/// Whatever process of a player comes before it has a ticket says the same of who it is.
pub(super) fn token(player: usize, random: &mut Seeded) -> ClientToken {
    let token = ClientToken::open_mode(OPEN_PROTOCOL, 1 + player as u64, b"", random);
    token.expect("nothing is attached")
}
