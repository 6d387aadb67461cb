//! Matches from wide ranges: any tick rate, snapshot rate, model, map, mode and codec, up to sixteen players on lines
//! of their own, who fall silent, stand still, leave and come back. In the end all is calm, and everyone plays one
//! match.

use super::{CONTENTS, Known, Match, Options};
use crate::gated::gated;
use sametick::network::{Conditions, Jitter, Loss};
use sametick::{Client, Dice, Model, Span, Time};
use sametick_arena::Mode;
use sametick_seeds::Script;

/// What of a seed is drawn from which dice. What is drawn more of one never changes another.
const OPTIONS: u64 = 101;
const LINES: u64 = 102;
const FAULTS: u64 = 103;

const PLAYERS_MAX: u64 = 16;
const FAULTS_MAX: u64 = 8;
const DELAY_MILLIS_MAX: u64 = 300;
const LOSS_MAX: f64 = 0.2;
/// When everything is calm, and when everyone is in again: the farthest come back in four round trips.
const CALM: Time = Time::from_millis(2_500);
const SETTLED: Time = Time::from_millis(6_500);
const CLEAN_SETTLED: Time = Time::from_millis(3_500);
/// For how long is checked that nobody lacks anything.
const CHECKED_MILLIS: u64 = 1_000;
/// About how much work a match may be: it has as many players and snapshots as that allows. Few are larger.
const COST_MICROS_MAX: f64 = 750_000.0;
const LARGE_COST_MICROS_MAX: f64 = 3_000_000.0;

/// How snapshots are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Plain,
    Compact,
    /// Compact, with the rules as a predictor.
    Foreseen,
}

/// What goes wrong with one player's client or line, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    player: usize,
    from: Time,
    until: Time,
    kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    /// It says goodbye, and comes back with its ticket.
    Leaves,
    /// Its process ends without a word; another comes with its ticket.
    Crashes,
    /// It stands still.
    Stalls,
    /// Nothing passes its line in these directions.
    Outage { up: bool, down: bool },
}

pub(super) fn expand(seed: u64) -> Options {
    let mut dice = Dice::new(seed, OPTIONS);
    let rate = (20.0 * libm::pow(50.0, dice.unit())).round().clamp(20.0, 1000.0) as u32;
    let snapshots_per_second = 10 + dice.below(51) as u32;
    let ticks_per_snapshot = (rate / snapshots_per_second).max(1);
    let model = Model::ALL[dice.below(Model::ALL.len() as u64) as usize];
    let map = dice.below(CONTENTS.len() as u64) as usize;
    let modes = [Mode::Duel, Mode::FreeForAll, Mode::Teams, Mode::Practice];
    let mode = modes[dice.below(4) as usize];
    let codecs = [Codec::Plain, Codec::Plain, Codec::Compact, Codec::Foreseen];
    let codec = codecs[dice.below(4) as usize];
    let (is_clean, is_war) = (dice.below(4) == 0, dice.below(2) == 0);
    let cost_micros_max = if dice.below(16) == 0 { LARGE_COST_MICROS_MAX } else { COST_MICROS_MAX };
    let players = 2 + dice.below(PLAYERS_MAX - 1) as usize;
    let settled = if is_clean { CLEAN_SETTLED } else { SETTLED };
    let mut options = Options {
        seed,
        rate,
        ticks_per_snapshot,
        millis: (settled - Time::ZERO).as_micros() / 1000 + CHECKED_MILLIS,
        map,
        mode,
        model,
        lines: lines(seed, players, is_clean),
        is_war,
        is_clean,
        settled,
        codec,
        faults: Vec::new(),
        calm: (!is_clean).then_some(CALM),
    };
    while cost_micros(&options) > cost_micros_max {
        match options.lines.len() > 2 {
            true => _ = options.lines.pop(),
            false if options.ticks_per_snapshot >= rate / 10 => break,
            false => options.ticks_per_snapshot += 1,
        }
    }
    if !is_clean {
        let count = dice.below(FAULTS_MAX + 1);
        options.faults = (0..count).map(|index| fault(&options, index)).collect();
    }
    options
}

/// One for each player, drawn from dice of its own.
fn lines(seed: u64, players: usize, is_clean: bool) -> Vec<Conditions> {
    // Some matches are of neighbours, some of players from all over the world.
    let far = 1 + Dice::new(seed, LINES).below(DELAY_MILLIS_MAX);
    let line = |player: usize| {
        let mut dice = Dice::new(seed ^ LINES, 1 + player as u64);
        let delay = Span::millis(dice.below(far + 1));
        if is_clean { Conditions { delay, ..Conditions::PERFECT } } else { bad(delay, &mut dice) }
    };
    (0..players).map(line).collect()
}

fn bad(delay: Span, dice: &mut Dice) -> Conditions {
    let width = Span::millis(dice.below(51));
    let jitter = match dice.below(4) {
        0 => Jitter::None,
        1 => Jitter::Uniform { width },
        2 => Jitter::Normal { deviation: width / 4 },
        _ => Jitter::Pareto { scale: width / 4, shape: 1.5, cap: width * 4 },
    };
    let loss = match dice.below(4) {
        0 => Loss::None,
        1 | 2 => Loss::Random { probability: dice.unit() * LOSS_MAX },
        _ => Loss::Burst {
            enter: dice.unit() * 0.02,
            leave: 0.02 + dice.unit() * 0.3,
            loss_good: 0.0,
            loss_bad: 0.5 + dice.unit() * 0.5,
        },
    };
    let mut seldom = |most: f64| if dice.below(2) == 0 { 0.0 } else { dice.unit() * most };
    let (duplicate, reorder) = (seldom(0.1), seldom(0.1));
    let (reorder_by, keep_order) = (Span::millis(1 + dice.below(100)), dice.below(2) == 0);
    let perfect = Conditions::PERFECT;
    Conditions { delay, jitter, keep_order, loss, duplicate, reorder, reorder_by, ..perfect }
}

/// About how long a match takes to simulate, by what was measured of a millisecond of one client, of a tick of one
/// fighter on the server, and of one on a client: each tick, and all of a round trip again with each snapshot.
fn cost_micros(options: &Options) -> f64 {
    let seconds = options.millis as f64 / 1000.0;
    let rate = f64::from(options.rate);
    let snapshots = rate / f64::from(options.ticks_per_snapshot);
    let of_one = |line: &Conditions| {
        let again = snapshots * (line.delay.as_millis_f64() / 500.0 + 0.05);
        let steps = if options.model.view.predicts { 1.0 + again } else { 0.0 };
        seconds * (12_000.0 + rate * (25.0 + 15.0 * steps))
    };
    options.lines.iter().map(of_one).sum()
}

/// One of a match's faults, drawn from dice of its own: without it the others stay as they are.
fn fault(options: &Options, index: u64) -> Fault {
    let mut dice = Dice::new(options.seed ^ FAULTS, 1 + index);
    let player = dice.below(options.lines.len() as u64) as usize;
    let end_millis = (CALM - Time::ZERO).as_micros() / 1000;
    let from_millis = 300 + dice.below(end_millis - 400);
    let longest = end_millis - from_millis;
    let kind = match dice.below(6) {
        0 => FaultKind::Leaves,
        1 => FaultKind::Crashes,
        2 => FaultKind::Stalls,
        3 => FaultKind::Outage { up: true, down: true },
        4 => FaultKind::Outage { up: true, down: false },
        _ => FaultKind::Outage { up: false, down: true },
    };
    let millis = 1 + dice.below(longest.min(if kind == FaultKind::Stalls { 500 } else { longest }));
    let from = Time::from_millis(from_millis);
    Fault { player, from, until: from + Span::millis(millis), kind }
}

impl Options {
    /// Leaves out the faults of lines and clients that the script does not allow.
    pub(super) fn gate_wide(&mut self, script: &Script) {
        self.lines.iter_mut().for_each(|line| *line = gated(script, line.clone()));
        self.faults
            .retain(|fault| script.allows(fault.kind.name(), fault.from, || format!("{fault:?}")));
    }
}

impl FaultKind {
    /// What the script calls it.
    fn name(self) -> &'static str {
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

impl Match {
    /// Lets begin and end what goes wrong now.
    pub(super) fn go_wrong(&mut self) {
        let now = self.play.now;
        for index in 0..self.options.faults.len() {
            let fault = self.options.faults[index];
            let client = &mut self.play.guests[fault.player].client;
            match fault.kind {
                FaultKind::Leaves if now == fault.from => client.close(now),
                FaultKind::Leaves | FaultKind::Crashes if now == fault.until => {
                    self.come_back(fault.player);
                }
                FaultKind::Outage { .. } if now == fault.from || now == fault.until => {
                    self.lay_line(fault.player);
                }
                _ => {}
            }
        }
        for player in 0..self.play.guests.len() {
            if self.options.calm == Some(now) {
                self.lay_line(player);
            }
            // A client that is not connected connects again.
            if self.play.guests[player].client.is_over() && !self.is_away(player) {
                self.come_back(player);
            }
        }
    }

    /// Whether a player has left, and has not come back yet.
    fn is_away(&self, player: usize) -> bool {
        let leaves = |kind| matches!(kind, FaultKind::Crashes | FaultKind::Leaves);
        let mut faults = self.options.faults.iter().filter(|fault| fault.player == player);
        faults.any(|fault| leaves(fault.kind) && fault.is_on(self.play.now))
    }

    /// Whether a player's client does nothing, or is none.
    pub(super) fn is_still(&self, player: usize) -> bool {
        let stops = |kind| matches!(kind, FaultKind::Crashes | FaultKind::Stalls);
        let mut faults = self.options.faults.iter().filter(|fault| fault.player == player);
        faults.any(|fault| stops(fault.kind) && fault.is_on(self.play.now))
    }

    /// A new process, with the ticket of the one before if that had any.
    fn come_back(&mut self, player: usize) {
        let (now, view) = (self.play.now, self.options.model.view);
        let address = self.play.network.address(self.play.server_host);
        let guest = &mut self.play.guests[player];
        let (content, random) = (self.content.clone(), &mut self.play.random);
        guest.client = match guest.client.ticket().cloned() {
            Some(ticket) => Client::new(address, ticket, content, view, now, random),
            None => Client::open(address, content, view, now, random),
        };
        if self.options.codec != Codec::Plain {
            self.play.offer_tables();
        }
        let company = self.known[player].company;
        self.known[player] = Known { company, ..Known::default() };
        self.tally.returns += 1;
    }

    /// A player's line as it is now: cut where there is an outage, and perfect but for its delay in the calm.
    fn lay_line(&mut self, player: usize) {
        let now = self.play.now;
        let mine = |fault: &&Fault| fault.player == player && fault.is_on(now);
        let [mut is_up_cut, mut is_down_cut] = [false; 2];
        for fault in self.options.faults.iter().filter(mine) {
            if let FaultKind::Outage { up, down } = fault.kind {
                (is_up_cut, is_down_cut) = (is_up_cut || up, is_down_cut || down);
            }
        }
        let is_calm = self.options.calm.is_some_and(|calm| now >= calm);
        let line = &self.options.lines[player];
        let calm = Conditions { delay: line.delay, ..Conditions::PERFECT };
        let (here, there) = (self.play.guests[player].host, self.play.server_host);
        for (from, to, is_cut) in [(here, there, is_up_cut), (there, here, is_down_cut)] {
            let network = &mut self.play.network;
            network.set_conditions(from, to, if is_calm { calm.clone() } else { line.clone() });
            if is_cut { network.cut(from, to) } else { network.heal(from, to) }
        }
    }

    /// In the end everyone is in, and knows of what was a moment ago.
    pub(super) fn check_end(&self) {
        if !self.options.is_settled(self.play.now) {
            return;
        }
        let newest = self.play.server.world().tick();
        let tick_micros = 1_000_000 / u64::from(self.options.rate);
        for (player, guest) in self.play.guests.iter().enumerate() {
            let Some(snapshot) = guest.client.snapshot().filter(|_| guest.client.me().is_some())
            else {
                panic!("player {player} is not in");
            };
            let delay = self.options.lines[player].delay.as_micros() / tick_micros;
            // The first may wait for the second: then it tells of the tick at which it is sent.
            let late = delay + 2 * u64::from(self.options.ticks_per_snapshot) + 10;
            let age = u64::from(newest.0 - snapshot.tick().0);
            assert!(age <= late, "player {player} knows of {age} ticks ago, {delay} away");
        }
    }
}

#[test]
fn a_wide_seed_draws_every_choice_sooner_or_later() {
    let drawn: Vec<Options> =
        (0..300).map(|seed| expand(sametick_seeds::WIDE_FROM + seed)).collect();
    let any = |is_so: fn(&Options) -> bool| drawn.iter().any(is_so);
    for model in Model::ALL {
        assert!(drawn.iter().any(|one| one.model.name == model.name), "{}", model.name);
    }
    for map in 0..CONTENTS.len() {
        assert!(drawn.iter().any(|one| one.map == map), "map {map}");
    }
    assert!(any(|one| one.rate < 25) && any(|one| one.rate > 900));
    assert!(any(|one| one.lines.len() == 16) && any(|one| one.lines.len() == 2));
    assert!(any(|one| one.lines.iter().any(|line| line.delay > Span::millis(250))));
    assert!(any(|one| one.lines.iter().any(|line| matches!(line.loss, Loss::Burst { .. }))));
    for kind in [FaultKind::Leaves, FaultKind::Crashes, FaultKind::Stalls] {
        let is_there = |one: &Options| one.faults.iter().any(|fault| fault.kind == kind);
        assert!(drawn.iter().any(is_there), "{kind:?}");
    }
    assert!(drawn.iter().all(|one| (20..=1000).contains(&one.rate)));
    assert!(drawn.iter().all(|one| one.faults.iter().all(|fault| fault.until <= CALM)));
}
