//! The game on one machine as time passes: commands are made, ticks are stepped, guessed or waited for, and its
//! clock is kept with the others'.

use super::contact::Contact;
use super::player::{Happening, Lockstep, Role};
use super::roster::Member;
use super::setup::{Setup, Topology, Turns};
use super::streams::Stream;
use super::turns::GameClock;
use super::worlds::{Frame, Inputs};
use super::{JOINER_TICKS_MAX, KEPT_TICKS, Pace, STEPS_MAX};
use crate::game::Game;
use crate::time::{Span, Time};
use crate::world::{PlayerId, Tick};

/// How many ticks that wait are looked at.
const BACKLOG_MAX: u32 = 16;
const BACKLOG_STRETCH: Span = Span::millis(500);

impl<G: Game> Lockstep<G> {
    /// Lets the game's time pass: commands are made, ticks are stepped or waited for.
    pub(super) fn pass_time(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        if self.worlds.is_none() || !roster.has_begun {
            self.clock = GameClock::new(now, self.executed());
            return;
        }
        let (setup, pace) = (roster.setup, self.pace());
        self.follow_others(now, pace);
        self.clock.run(now, pace);
        self.make_commands(now, setup, pace);
        if setup.has_server() && self.is_leader() {
            self.close_ticks(now, setup);
        }
        self.execute(setup);
        self.make_commands(now, setup, pace);
        self.wait(now, setup, pace);
        self.forget();
    }

    /// Forgets what nobody can need any more.
    fn forget(&mut self) {
        let Some(roster) = &self.roster else { return };
        let executed = self.executed().0;
        // Who is being handed the world, or has just got it, needs all that came after it.
        let joining = roster.here().filter(|member| member.plays_from.is_none()).map(|member| {
            let contact = self.contacts.get(&member.identity);
            contact.and_then(|contact| contact.executed).unwrap_or(member.enters).0
        });
        let needed =
            joining.min().unwrap_or(executed).max(executed.saturating_sub(JOINER_TICKS_MAX));
        let before = Tick(needed.min(executed.saturating_sub(KEPT_TICKS)));
        let is_known = |seat: u16| roster.seat(seat).is_some();
        self.streams.forget(before, is_known);
        self.asked.retain(|seat, _| is_known(*seat));
        self.repeated.retain(|seat, _| is_known(*seat));
    }

    pub(super) fn execute(&mut self, setup: Setup) {
        let mut steps = 0;
        while steps < STEPS_MAX && !self.is_halted && !self.is_waiting() {
            let tick = Tick(self.executed().0 + 1);
            let is_due = f64::from(tick.0) <= self.clock.ticks;
            let Some(inputs) = self.inputs(tick).filter(|_| is_due) else { break };
            self.begin_recording();
            let frame = Frame {
                content: &self.content,
                layouts: &self.layouts,
                tick_length: setup.tick_length,
                seed: setup.seed,
            };
            let came = inputs.joined.iter().map(|player| Happening::Came(*player, tick));
            let went = inputs.left.iter().map(|player| Happening::Went(*player, tick));
            self.events.extend(came.chain(went));
            if let Some(worlds) = &mut self.worlds {
                worlds.execute(&frame, inputs);
            }
            self.record_step();
            self.settle_asked(tick);
            self.compare(tick);
            steps += 1;
        }
        if setup.rollback_ticks > 0 && !self.is_halted {
            self.guess(setup);
        }
    }

    /// Steps ahead of what is known, up to where the clock is.
    fn guess(&mut self, setup: Setup) {
        let executed = self.executed();
        let limit = executed.0 + u32::from(setup.rollback_ticks);
        let until = Tick((self.clock.ticks as u32).min(limit));
        let Some(mut worlds) = self.worlds.take() else { return };
        if let Some(frame) = self.frame() {
            worlds.guess(&frame, until, |tick| self.likely(tick));
        }
        self.worlds = Some(worlds);
    }

    /// Holds the clock where the game cannot go on, and keeps account of it.
    fn wait(&mut self, now: Time, setup: Setup, pace: Pace) {
        let executed = self.executed();
        let next = Tick(executed.0 + 1);
        let limit = f64::from(next.0) + f64::from(setup.rollback_ticks);
        let is_stuck = self.is_halted || self.is_waiting() || !self.is_known(next);
        let held = if is_stuck { self.clock.hold_at(limit) } else { 0.0 };
        if held > 0.0 {
            let since = *self.stalled_since.get_or_insert(now);
            // One that never ends counts, too.
            self.statistics.stalled_at_most = self.statistics.stalled_at_most.max(now - since);
        } else if (!is_stuck || self.clock.ticks < limit)
            && let Some(since) = self.stalled_since.take()
            && now - since >= pace.tick_takes
        {
            self.statistics.stalls += 1;
            self.statistics.stalled += now - since;
            self.statistics.stalled_at_most = self.statistics.stalled_at_most.max(now - since);
        }
    }

    /// For whose commands the game stands still here at this moment; nobody's while it runs. Where a server passes
    /// commands on, its players wait for the server alone.
    pub fn awaited(&self) -> Vec<PlayerId> {
        let (Some(roster), Some(_)) = (&self.roster, self.stalled_since) else { return Vec::new() };
        let next = Tick(self.executed().0 + 1);
        if roster.setup.has_server() && !self.is_leader() {
            return roster.leader().map(|leader| leader.player).into_iter().collect();
        }
        let has = |seat: u16| match roster.setup.has_server() {
            true => self.asked.get(&seat).is_some_and(|stream| stream.newest() >= next),
            false => self.streams.get(seat, next).is_some(),
        };
        let playing = roster.members.iter().filter(|member| member.plays_at(next));
        playing.filter(|member| !has(member.seat)).map(|member| member.player).collect()
    }

    /// Whether somebody was taken out and too few know of it yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.roster.as_ref().is_some_and(|roster| roster.waits)
    }

    /// Whether all commands of a tick are there.
    pub(super) fn is_known(&self, tick: Tick) -> bool {
        let Some(roster) = &self.roster else { return false };
        let mut playing = roster.members.iter().filter(|member| member.plays_at(tick)).peekable();
        match playing.peek() {
            Some(_) => playing.all(|member| self.streams.get(member.seat, tick).is_some()),
            None => roster.is_between(tick),
        }
    }

    /// What a tick is given, once all of it is known.
    fn inputs(&self, tick: Tick) -> Option<Inputs<G::Command>> {
        self.is_known(tick).then(|| self.gather(tick, |seat| self.streams.get(seat, tick).cloned()))
    }

    /// What a tick is likely given: what is known, and else the last commands repeated.
    fn likely(&self, tick: Tick) -> Inputs<G::Command> {
        self.gather(tick, |seat| {
            let known = self.streams.get(seat, tick).cloned();
            known.or_else(|| {
                let stream = self.streams.stream(seat)?;
                let newest = stream.newest();
                let last = stream.get(newest)?;
                Some(G::repeat(last, tick.0.saturating_sub(newest.0)))
            })
        })
    }

    fn gather(
        &self,
        tick: Tick,
        command: impl Fn(u16) -> Option<G::Command>,
    ) -> Inputs<G::Command> {
        let members = self.roster.as_ref().map_or(&[][..], |roster| &roster.members);
        let mut commands: Vec<_> = members
            .iter()
            .filter(|member| member.plays_at(tick))
            .map(|member| (member.player, command(member.seat)))
            .collect();
        commands.sort_by_key(|(player, _)| *player);
        let sorted = |mut players: Vec<PlayerId>| {
            players.sort_unstable();
            players
        };
        let joined = members.iter().filter(|member| member.plays_from == Some(tick));
        let left = members.iter().filter(|member| {
            let has_played = member.plays_from.is_some_and(|from| from < tick);
            member.leaves_at == Some(tick) && has_played
        });
        // One who left before it began never was there.
        let joined = joined.filter(|member| member.leaves_at != Some(tick));
        Inputs {
            joined: sorted(joined.map(|member| member.player).collect()),
            left: sorted(left.map(|member| member.player).collect()),
            commands,
        }
    }

    /// Our newest command's tick.
    pub(super) fn newest_own(&self) -> Option<Tick> {
        let seat = self.seat()?.seat;
        match self.has_server() {
            true => self.asked.get(&seat).map(Stream::newest),
            false => self.streams.newest(seat),
        }
    }

    fn make_commands(&mut self, now: Time, setup: Setup, pace: Pace) {
        let Some(me) = self.seat().copied() else { return };
        let Some(from) = me.plays_from else { return };
        if self.is_halted {
            return;
        }
        // However long ago we were told to begin: what is past needs no command.
        let from = from.max(Tick(self.executed().0 + 1));
        let newest = match setup.has_server() {
            true => self.asked.entry(me.seat).or_insert_with(|| Stream::new(from)).newest(),
            false => self.streams.open(me.seat, from).newest(),
        };
        let wanted = self.command_tick(now, setup, pace);
        let limit = self.executed().0 + super::DELAY_TICKS_MAX + 2;
        let end = if self.leaving_since.is_some() { newest } else { Tick(wanted.0.min(limit)) };
        let mut wish = self.wish.clone();
        if crate::settle(&mut wish).is_err() {
            // A command that is not finite asks for nothing.
            wish = G::Command::default();
        }
        for tick in newest.0 + 1..=end.0 {
            // More than one at once: the player has asked once.
            let repeated = tick - newest.0 - 1;
            let command = if repeated == 0 { wish.clone() } else { G::repeat(&wish, repeated) };
            match setup.has_server() {
                true => {
                    self.asked.entry(me.seat).or_insert_with(|| Stream::new(from)).push(command)
                }
                false => self.streams.open(me.seat, from).push(command),
            }
        }
    }

    /// For which tick a command that is given now should be.
    fn command_tick(&mut self, now: Time, setup: Setup, pace: Pace) -> Tick {
        if setup.topology == Topology::PacketServer && !self.is_leader() {
            let known = self.ahead.as_mut().filter(|ahead| ahead.is_set());
            return known.map_or(Tick(0), |ahead| ahead.tick(now));
        }
        let lead = match setup.turns {
            Turns::Ahead if setup.topology == Topology::PacketServer => 1.0,
            Turns::Ahead => self.clock.lead.floor(),
            Turns::Adaptive => f64::from(pace.turn_ticks) * 2.0,
            Turns::Fixed { delay_ticks } => {
                f64::from(delay_ticks) + self.beyond_rollback(setup, pace)
            }
        };
        Tick((self.clock.ticks + lead) as u32)
    }

    /// By how many ticks the lines take longer than can be guessed over: commands are given later by that.
    fn beyond_rollback(&self, setup: Setup, pace: Pace) -> f64 {
        if setup.rollback_ticks == 0 {
            return 0.0;
        }
        let ticks = self.longest_way().as_micros() as f64 / pace.tick_takes.as_micros() as f64;
        (ticks.ceil() + 1.0 - f64::from(setup.rollback_ticks)).clamp(0.0, 30.0)
    }

    /// Keeps our clock with the others'.
    fn follow_others(&mut self, now: Time, pace: Pace) {
        let Some(roster) = &self.roster else { return };
        if roster.setup.has_server() || self.role == Role::Watches {
            match self.is_leader() {
                // Whoever was catching up when its turn came sets the pace from now on.
                true => self.clock.speed = 1.0,
                false => self.follow_server(now),
            }
            return;
        }
        let playing = roster.electors().filter(|member| member.identity != self.identity);
        let clocks = playing.filter_map(|member| {
            let contact = self.contacts.get(&member.identity)?;
            contact.clock(now, pace.tick_takes)
        });
        let slowest = clocks.fold(f64::INFINITY, f64::min);
        let behind = if slowest.is_finite() { slowest - self.clock.ticks } else { 0.0 };
        self.clock.follow(behind);
        self.shorten_lead(now);
    }

    /// Where everyone always has commands of ours in reserve, they can be given later.
    fn shorten_lead(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        if roster.setup.turns != Turns::Ahead || self.clock.lead <= 1.0 {
            return;
        }
        let server = roster.leader().filter(|_| roster.setup.has_server());
        let counts = |member: &&Member| server.is_none_or(|server| server.seat == member.seat);
        let others = roster.electors().filter(|member| member.identity != self.identity);
        let reserves = others.filter(counts).map(|member| {
            self.contacts.get(&member.identity).and_then(Contact::least_reserve).unwrap_or(0)
        });
        let least = reserves.min().unwrap_or(0);
        if least >= 2 {
            self.clock.lead = (self.clock.lead - f64::from(least - 1) * 0.5).max(1.0);
            self.contacts.values_mut().for_each(|contact| contact.forget_reserve(now));
        }
    }

    /// Where commands are passed on, by a server or to who only watches: as soon as they come, but evenly.
    fn follow_server(&mut self, now: Time) {
        let executed = self.executed();
        let known = (1..=BACKLOG_MAX).take_while(|i| self.is_known(Tick(executed.0 + i))).count();
        let waiting = known as u32;
        if now - self.backlog.2 >= BACKLOG_STRETCH {
            self.backlog = (u32::MAX, self.backlog.0, now);
        }
        self.backlog.0 = self.backlog.0.min(waiting);
        let least = self.backlog.0.min(self.backlog.1);
        self.clock.speed = match (waiting, least) {
            (8.., _) => 6.0,
            (_, 2..) => 1.1,
            (_, 1) => 1.02,
            _ => 1.0,
        };
        self.shorten_lead(now);
    }
}
