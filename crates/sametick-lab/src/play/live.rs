//! A trial with people in it: they sit elsewhere and come in through a door, bots sit in beside them, time is real.
//! All rows but those of people's lines come from the code that plays trials in virtual time.

use super::books::{Due, STEP_LEAST, Seconds};
use super::carrier::Carrier;
use super::lines::{RAMP_STEP, asked, says_delay};
use super::mind::Library;
use super::served::{Match, Token, rates};
use crate::plan::Trial;
use crate::rows::{LineRow, SecondRow, TrialLog};
use crate::settings::Settings;
use sametick::channel::Statistics;
use sametick::endpoint::ListenerConfig;
use sametick::network::Conditions;
use sametick::secure::Random;
use sametick::{Model, Peer, PlayerId, Rates, ServerEvent, Span, Time};
use sametick_arena::{Content, Contest, Phase};

/// Whoever is not here when a trial is to begin is waited for so long.
pub const GATHERING_MAX: Span = Span::seconds(30);
/// Whoever is gone, or not heard, for so long has dropped out: the trial is broken.
pub const DROPPED_AFTER: Span = Span::seconds(3);
/// Whoever is not heard for so long when a trial ends did not play it to its end.
const UNHEARD_AT_END: Span = Span::millis(1_500);
/// How often people's lines are looked at, and wishes are asked for.
const LOOKS_EVERY: Span = Span::millis(50);
/// How long everyone is given to hear the goodbye.
const GOODBYE: Span = Span::seconds(1);
/// A held round begins with a tick: so long before it is due it is looked for.
const LOOKS_BEFORE: Span = Span::millis(100);
/// The most figures of one person's line that a trial keeps.
const SAMPLES_MAX: usize = 86_400;

/// Somebody who plays and sits elsewhere.
#[derive(Clone, Debug)]
pub struct Person {
    /// Which player of the trial, counted from 1.
    pub player: u32,
    /// The identity in its token.
    pub client_id: u64,
    /// How long its line takes there and back when nothing is added: this much less is.
    pub floor_ms: f64,
}

/// How everyone gets in, and where chance comes from: of people's matches nothing may be foreseen.
pub struct Door {
    /// Whom the server lets in.
    pub listener: ListenerConfig,
    /// What bots get in with.
    pub token: Token,
    /// Draws secrets.
    pub random: Box<dyn Random>,
    /// For how long the round is held when everyone is here and the warm-up is over; nobody does anything before it.
    pub foreperiod: Span,
}

/// What is wanted of a trial while it is played.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Lines are as these settings say from now on.
    Change(Box<Settings>),
    /// It is to end, and why; it is played again.
    Stop(String),
}

/// How one person's line is in one second, as the server sees it: what is added anywhere is in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Achieved {
    /// Which player.
    pub player: u32,
    /// The second of what is logged; none before that begins.
    pub second: Option<u32>,
    /// Whether it is here.
    pub is_here: bool,
    /// The ping that was asked for in all, if one was.
    pub asked_ms: Option<f64>,
    /// The ping that there is.
    pub ping_ms: Option<f64>,
    /// The loss that was asked for, as a share.
    pub asked_loss: f64,
    /// The loss that there was in this second, both ways together.
    pub loss: Option<f64>,
    /// For how long nothing had been heard of it when the second was over.
    pub unheard_ms: f64,
}

/// Who watches a trial while it is played.
pub trait Watch {
    /// A second is over.
    fn second(&mut self, of: &[Achieved]);
    /// The next thing that is wanted, if any.
    fn wish(&mut self) -> Option<Wish>;
}

/// How a trial ended.
pub enum Ended {
    /// As it should: what is logged, and what `sametick replay` reads.
    Played(Box<TrialLog>, Vec<u8>),
    /// Before its time, and why.
    Broken(String),
}

/// Plays a trial with people in it, in real time: begins when they are all here and some time has passed. The figure
/// `wait` is how long that was beyond the warm-up.
pub fn play_live(
    trial: &Trial,
    library: &Library,
    carrier: Box<dyn Carrier>,
    people: &[Person],
    door: Door,
    watch: &mut dyn Watch,
) -> Result<Ended, String> {
    let begun = std::time::Instant::now();
    let foreperiod = door.foreperiod;
    let mut play = Match::new(trial, library, carrier, Some((door, people)))?;
    let (waited_ms, broken) = play.run_live(foreperiod, watch)?;
    // Before the goodbye: until everyone has heard it they go on playing, and that is no part of the trial.
    let played = play.finish()?;
    play.say_goodbye()?;
    if let Some(why) = broken {
        return Ok(Ended::Broken(why));
    }
    let mut played = played;
    played.log.figures.push(("wait", waited_ms));
    played.log.wall_ms = begun.elapsed().as_secs_f64() * 1000.0;
    Ok(Ended::Played(Box::new(played.log), played.recording.unwrap_or_default()))
}

/// Whether people can play a trial whose round is held for so long, and what a server of its rules needs: the ground,
/// and the rates of its model.
pub fn live_ground(
    trial: &Trial,
    library: &Library,
    foreperiod: Span,
) -> Result<(Content, Rates), String> {
    let model = Model::named(trial.settings.text("model"));
    let model = model.ok_or("people play the models that have a server")?;
    if !["match", "scene"].contains(&trial.settings.text("play")) {
        return Err("people play matches and scenes".to_owned());
    }
    let ground = library.ground(trial)?.held(trial, foreperiod);
    Ok(((*ground.content).clone(), rates(trial, &model)))
}

/// One person at the table.
pub(super) struct Sitting {
    pub(super) person: Person,
    /// Its number in the game, and where its datagrams go.
    place: Option<(PlayerId, Peer)>,
    is_here: bool,
    heard_at: Time,
    heard: u64,
    asked_ms: Option<f64>,
    asked_loss: [f64; 2],
    pub(super) ping_ms: Option<f64>,
    before: Option<Counted>,
    /// Asked and achieved of every second that is logged.
    samples: Vec<(f64, f64)>,
    /// Up and down, of all seconds that are logged.
    totals: [Way; 2],
}

/// Packets of one way, and how many of them were lost.
#[derive(Clone, Copy, Default)]
struct Way {
    packets: u64,
    lost: u64,
}

/// Up and down since the connection began.
type Counted = [Way; 2];

fn counted(statistics: &Statistics) -> Counted {
    let (sent, came) = (statistics.packets_expected, statistics.packets_taken);
    let up = Way { packets: sent, lost: sent.saturating_sub(came) };
    let (arrived, missing) = (statistics.packets_told_arrived, statistics.packets_told_missing);
    [up, Way { packets: arrived + missing, lost: missing }]
}

impl Way {
    fn since(self, before: Self) -> Self {
        let packets = self.packets.saturating_sub(before.packets);
        // What was late counted as lost until it came.
        let lost = self.lost.saturating_sub(before.lost).min(packets);
        Self { packets, lost }
    }
}

impl Sitting {
    pub(super) fn new(person: Person, now: Time) -> Self {
        Self {
            person,
            place: None,
            is_here: false,
            heard_at: now,
            heard: 0,
            asked_ms: None,
            asked_loss: [0.0; 2],
            ping_ms: None,
            before: None,
            samples: Vec::new(),
            totals: [Way::default(); 2],
        }
    }

    /// What is to be added to both ways of its line, of what is asked in all: the line itself is there already.
    pub(super) fn ask(
        &mut self,
        settings: &Settings,
        [mut up, mut down]: [Conditions; 2],
        at_ms: f64,
    ) -> [Conditions; 2] {
        let both = [asked(&up), asked(&down)];
        self.asked_loss = both.map(|(_, loss)| loss);
        let is_asked = says_delay(settings, self.person.player, at_ms);
        self.asked_ms = is_asked.then_some(both[0].0 + both[1].0);
        // Nobody knows how a line's own time falls on its two ways: half each, as far as there is any to take from.
        let floor = Span::from_millis_f64(self.person.floor_ms.max(0.0));
        let from_up = up.delay.min(floor / 2);
        let from_down = down.delay.min(floor - from_up);
        up.delay -= from_up;
        down.delay -= from_down;
        up.delay -= floor - from_up - from_down;
        [up, down]
    }

    /// How long nothing was heard of it.
    fn unheard(&self, now: Time) -> Span {
        now - self.heard_at
    }

    fn achieved(
        &mut self,
        statistics: Option<&Statistics>,
        second: Option<u32>,
        now: Time,
    ) -> Achieved {
        let mut loss = None;
        if let Some(statistics) = statistics {
            let now = counted(statistics);
            let before = self.before.replace(now).unwrap_or(now);
            let ways = [0, 1].map(|way| now[way].since(before[way]));
            let packets = ways[0].packets + ways[1].packets;
            loss = (packets > 0).then(|| (ways[0].lost + ways[1].lost) as f64 / packets as f64);
            if second.is_some() {
                for (total, way) in self.totals.iter_mut().zip(ways) {
                    total.packets += way.packets;
                    total.lost += way.lost;
                }
            }
        }
        if let (Some(_), Some(ping)) = (second, self.ping_ms)
            && self.samples.len() < SAMPLES_MAX
        {
            self.samples.push((self.asked_ms.unwrap_or(self.person.floor_ms), ping));
        }
        Achieved {
            player: self.person.player,
            second,
            is_here: self.is_here,
            asked_ms: self.asked_ms,
            ping_ms: self.ping_ms,
            asked_loss: (self.asked_loss[0] + self.asked_loss[1]) / 2.0,
            loss,
            unheard_ms: self.unheard(now).as_millis_f64(),
        }
    }

    /// Its line, measured at the server's end alone: half of the ping each way.
    pub(super) fn lines(&self, seconds: &[SecondRow]) -> [LineRow; 2] {
        let count = self.samples.len().max(1) as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| self.samples.iter().map(of).sum::<f64>() / count;
        let mut pings: Vec<f64> = self.samples.iter().map(|(_, ping)| *ping).collect();
        pings.sort_by(f64::total_cmp);
        let own = || seconds.iter().filter(|row| row.player == self.person.player);
        let bytes: [u64; 2] =
            [own().map(|row| row.bytes_out).sum(), own().map(|row| row.bytes_in).sum()];
        let at = |share: usize| pings.get(pings.len() * share / 100).copied().unwrap_or(0.0);
        [0, 1].map(|way| LineRow {
            player: self.person.player,
            is_up: way == 0,
            asked_delay_ms: mean(|(asked, _)| *asked) / 2.0,
            asked_loss: self.asked_loss[way],
            delay_ms: mean(|(_, ping)| *ping) / 2.0,
            delay_ms_50: at(50) / 2.0,
            delay_ms_95: at(95) / 2.0,
            packets: self.totals[way].packets,
            lost: self.totals[way].lost,
            bytes: bytes[way],
        })
    }
}

impl Match<'_> {
    /// Takes note of who comes and goes.
    pub(super) fn heed(&mut self, now: Time, events: &[ServerEvent]) {
        for event in events {
            match *event {
                ServerEvent::Joined { player, client_id } => {
                    let mut people = self.people.iter_mut();
                    let Some(one) = people.find(|one| one.person.client_id == client_id) else {
                        continue;
                    };
                    self.numbers.insert(player.0, one.person.player);
                    (one.is_here, one.heard_at, one.before) = (true, now, None);
                    if let Some(peer) = self.server.peer(player) {
                        one.place = Some((player, peer));
                    }
                }
                ServerEvent::Left { player, .. } => {
                    let is_it = |one: &&mut Sitting| one.place.is_some_and(|(me, _)| me == player);
                    if let Some(one) = self.people.iter_mut().find(is_it) {
                        one.is_here = false;
                    }
                }
            }
        }
    }

    /// Looks where people are and whether they are heard; a line that moved gets its conditions again.
    fn look_after_people(&mut self, now: Time) {
        for index in 0..self.people.len() {
            let one = &mut self.people[index];
            let Some((player, _)) = one.place.filter(|_| one.is_here) else { continue };
            let Some(peer) = self.server.peer(player) else { continue };
            let host = one.person.player as usize;
            if let Some(statistics) = self.server.statistics(player) {
                one.ping_ms = statistics.round_trip.smoothed.map(Span::as_millis_f64);
                if statistics.packets_taken != one.heard {
                    (one.heard, one.heard_at) = (statistics.packets_taken, now);
                }
            }
            one.place = Some((player, peer));
            if self.meter.meet(host, peer) {
                let [up, down] = self.lines[host - 1].clone();
                self.meter.carrier.set_conditions(host, 0, up);
                self.meter.carrier.set_conditions(0, host, down);
            }
        }
    }

    fn tell_second(&mut self, second: Option<u32>, watch: &mut dyn Watch) {
        let (server, now) = (&self.server, self.meter.now());
        let tell = |one: &mut Sitting| {
            let statistics = one.place.and_then(|(player, _)| server.statistics(player));
            one.achieved(statistics.as_ref(), second, now)
        };
        let achieved: Vec<Achieved> = self.people.iter_mut().map(tell).collect();
        watch.second(&achieved);
    }

    /// Whether the round still waits for somebody.
    fn is_held(&self) -> bool {
        let (content, world) = (&self.ground.content, self.server.world());
        let phases = world.all::<Contest>().map(|(_, contest)| contest.phase);
        content.held_for > 0 && phases.into_iter().any(|phase| phase != Phase::Playing)
    }

    /// Why it cannot go on, if so.
    fn broken(&self, now: Time, opened: Time, has_begun: bool) -> Option<String> {
        for one in &self.people {
            let player = one.person.player;
            if has_begun && one.unheard(now) > DROPPED_AFTER {
                return Some(format!("player {player} dropped out"));
            }
            if !has_begun && !one.is_here && now - opened > GATHERING_MAX {
                return Some(format!("player {player} did not come"));
            }
        }
        None
    }

    /// Plays to the end, or until it is broken: then why. And for how many milliseconds after everyone's coming and the
    /// warm-up nothing was logged yet.
    fn run_live(
        &mut self,
        foreperiod: Span,
        watch: &mut dyn Watch,
    ) -> Result<(f64, Option<String>), String> {
        let opened = self.meter.now();
        let mut gathered = opened;
        let (mut next_look, mut next_line, mut next_told) = (opened, opened, opened);
        let mut has_begun = false;
        while self.meter.now() < self.seconds.end {
            let now = self.meter.now();
            if !has_begun && self.people.iter().all(|one| one.is_here) {
                (has_begun, gathered) = (true, now);
                // When exactly it begins, the game says: it counts in ticks.
                let early = foreperiod.min(LOOKS_BEFORE);
                self.seconds = Seconds::new(&self.trial, now + (foreperiod - early));
                self.meter.begins = self.seconds.begins;
            }
            self.seconds.wait_for_round(now, &mut self.meter, Some(self.server.world()));
            // The recording tells who is who, so all are to be there.
            let is_full = self.numbers.len() == self.guests.len();
            if has_begun && self.recording.is_none() && (is_full || now >= self.seconds.begins) {
                self.record(&self.numbers.clone());
            }
            match self.seconds.due(now) {
                Some(Due::Begin) if self.is_held() => {
                    return Ok((0.0, Some("the round did not begin".to_owned())));
                }
                Some(Due::Begin) => {
                    self.tell_second(None, watch);
                    self.begin();
                }
                Some(Due::End(second)) => {
                    self.tell_second(Some(second), watch);
                    self.end_second(second);
                }
                None if now < self.seconds.begins && now >= next_told => {
                    next_told = now + Span::seconds(1);
                    self.tell_second(None, watch);
                }
                None => {}
            }
            if now >= next_look {
                next_look = now + LOOKS_EVERY;
                self.look_after_people(now);
                if let Some(why) = self.broken(now, opened, has_begun) {
                    return Ok((0.0, Some(why)));
                }
                while let Some(wish) = watch.wish() {
                    match wish {
                        Wish::Stop(why) => return Ok((0.0, Some(why))),
                        Wish::Change(settings) => self.change(*settings)?,
                    }
                }
            }
            if !self.trial.settings.changes.is_empty() && now >= next_line {
                next_line = now + RAMP_STEP;
                self.set_lines(self.time_ms().max(0.0))?;
            }
            self.step(now)?;
            let until = self.next_wake().min(self.seconds.next()).min(next_look);
            self.meter.carrier.wait(until.max(now + STEP_LEAST));
        }
        let second = self.seconds.second();
        let now = self.meter.now();
        self.look_after_people(now);
        self.tell_second(Some(second), watch);
        self.end_second(second);
        // Half of a short round is as good as none.
        let unheard = UNHEARD_AT_END.min((self.seconds.end - self.seconds.begins) / 2);
        let gone = self.people.iter().find(|one| !one.is_here || one.unheard(now) > unheard);
        let warm_up = Span::from_millis_f64(self.trial.settings.number("warm_up").unwrap_or(0.0));
        let waited_ms = (self.seconds.begins - gathered - warm_up).as_millis_f64();
        Ok((waited_ms, gone.map(|one| format!("player {} dropped out", one.person.player))))
    }

    /// Everything that is due for everyone who is here.
    fn step(&mut self, now: Time) -> Result<(), String> {
        self.step_server(now)?;
        for index in 0..self.guests.len() {
            self.step_guest(index, now);
        }
        Ok(())
    }

    /// Lines are as other settings say from now on.
    fn change(&mut self, settings: Settings) -> Result<(), String> {
        if settings.players() as usize != self.guests.len() {
            return Err("nobody comes or goes during a trial".to_owned());
        }
        self.trial.to_mut().settings = settings;
        self.set_lines(self.time_ms().max(0.0))
    }

    fn say_goodbye(&mut self) -> Result<(), String> {
        let now = self.meter.now();
        self.server.close(now);
        while self.server.players().next().is_some() && self.meter.now() < now + GOODBYE {
            let now = self.meter.now();
            self.step(now)?;
            let until = self.next_wake().min(now + LOOKS_EVERY);
            self.meter.carrier.wait(until.max(now + STEP_LEAST));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::conditions;
    use super::*;
    use crate::{Experiment, Plan};

    fn added(settings: &str, floor_ms: f64) -> (Option<f64>, [f64; 2]) {
        let text = format!("question = \"?\"\n[settings]\n{settings}");
        let experiment = Experiment::read(&text, ".".as_ref(), false).unwrap();
        let settings = Plan::new(&experiment).unwrap().trials[0].settings.clone();
        let way = |is_up| conditions(&settings, ".".as_ref(), 1, is_up, 0.0).unwrap();
        let person = Person { player: 1, client_id: 1, floor_ms };
        let mut sitting = Sitting::new(person, Time::ZERO);
        let both = sitting.ask(&settings, [way(true), way(false)], 0.0);
        (sitting.asked_ms, both.map(|way| way.delay.as_millis_f64()))
    }

    #[test]
    fn a_line_gets_what_is_missing_to_what_was_asked_and_no_more() {
        assert_eq!(added("ping = \"100 ms\"", 38.0), (Some(100.0), [31.0, 31.0]));
        assert_eq!(added("ping = \"100 ms\"", 0.0), (Some(100.0), [50.0, 50.0]));
        // Below the floor nothing can be taken away.
        assert_eq!(added("ping = \"20 ms\"", 38.0), (Some(20.0), [0.0, 0.0]));
        // What one way has too little of is taken from the other.
        let uneven = "delay_up = \"0 ms\"\ndelay_down = \"100 ms\"";
        assert_eq!(added(uneven, 20.0), (Some(100.0), [0.0, 80.0]));
        let uneven = "delay_up = \"100 ms\"\ndelay_down = \"4 ms\"";
        assert_eq!(added(uneven, 20.0), (Some(104.0), [84.0, 0.0]));
        // Unsaid is no condition.
        assert_eq!(added("loss = \"1 %\"", 38.0), (None, [0.0, 0.0]));
    }
}
