//! The game on one machine as time passes: commands are made, ticks are stepped, guessed or waited for, and its
//! clock is kept with the others'.

use super::contact::Contact;
use super::player::{Happening, Lockstep, Role};
use super::roster::{Member, Roster};
use super::setup::{Setup, Topology, Turns};
use super::streams::Stream;
use super::turns::GameClock;
use super::worlds::{Frame, Inputs};
use super::{JOINER_TICKS_MAX, KEPT_TICKS, Pace, STEPS_MAX};
use crate::core::order::sort_nearly_sorted;
use crate::core::tick::{PlayerId, Tick};
use crate::core::time::{Span, Time};
use crate::schema::fields::Networked;
use crate::sim::game::Game;

/// How many ticks that wait are looked at.
const BACKLOG_MAX: u32 = 16;
const BACKLOG_STRETCH: Span = Span::millis(500);

/// A command as all others will have it, who get it as a record. One that is not finite asks for nothing.
pub(super) fn settled<C: Networked + Default>(mut command: C) -> C {
    if crate::settle(&mut command).is_err() {
        command = C::default();
        // What is not finite was mended, as everywhere.
        let _ = crate::settle(&mut command);
    }
    command
}

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
        self.own_up(setup);
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
                command: &self.layout,
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
        let was_on_trial = self.clock.is_on_trial();
        let held = if is_stuck { self.clock.hold_at(limit) } else { 0.0 };
        if held > 0.0 {
            if !was_on_trial {
                self.contacts.values_mut().for_each(|contact| contact.has_lacked = false);
            }
            self.given_in_stall = self.newest_own().unwrap_or(executed);
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

    /// Whether nothing may be stepped: somebody was taken out and too few know of it yet, or we have promised a later
    /// epoch than that of our roster.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_bound() || self.roster.as_ref().is_some_and(|roster| roster.waits)
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
                Some(settled(G::repeat(last, tick.0.saturating_sub(newest.0))))
            })
        })
    }

    fn gather(
        &self,
        tick: Tick,
        command: impl Fn(u16) -> Option<G::Command>,
    ) -> Inputs<G::Command> {
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let mut members: Vec<&Member> = members.collect();
        sort_nearly_sorted(&mut members, |member| member.player);
        let playing = members.iter().filter(|member| member.plays_at(tick));
        let joined = members.iter().filter(|member| member.plays_from == Some(tick));
        let left = members.iter().filter(|member| {
            let has_played = member.plays_from.is_some_and(|from| from < tick);
            member.leaves_at == Some(tick) && has_played
        });
        // One who left before it began never was there.
        let joined = joined.filter(|member| member.plays_at(tick));
        Inputs {
            joined: joined.map(|member| member.player).collect(),
            left: left.map(|member| member.player).collect(),
            commands: playing.map(|member| (member.player, command(member.seat))).collect(),
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
        let wish = settled(self.wish.clone());
        for tick in newest.0 + 1..=end.0 {
            // More than one at once: the player has asked once.
            let repeated = tick - newest.0 - 1;
            let command = match repeated {
                0 => wish.clone(),
                _ => settled(G::repeat(&wish, repeated)),
            };
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
        let next = Tick(self.executed().0 + 1);
        let plays = self.seat().is_some_and(|me| me.plays_at(next));
        self.clock.follow(behind, plays);
        self.judge_stall();
        self.shorten_lead(now);
    }

    /// A machine that is called late finds its clock beyond its own newest command. Nobody can have stepped further
    /// than that command: all others have been waiting for us. So our clock waits with them, and our commands are
    /// made earlier from now on by what we were late. Without this our clock would run ahead of the others' by the
    /// pause, they would take the pause for their own lateness, and the next one would stall them again.
    fn own_up(&mut self, setup: Setup) {
        let is_ours_to_lead = setup.turns == Turns::Ahead && !setup.has_server();
        let is_playing = self.seat().is_some_and(|me| me.plays_from.is_some());
        if !is_ours_to_lead || !is_playing || self.leaving_since.is_some() || self.is_halted {
            return;
        }
        if let Some(newest) = self.newest_own().filter(|newest| *newest >= self.executed()) {
            self.clock.was_late(f64::from(newest.0) + 1.0);
        }
    }

    /// A stall makes our commands earlier at once, as if our own were late for the others, too: on a line that has
    /// become longer for both that is so, and one stall is enough. But it may as well be another machine that was
    /// late, and the others have had our commands all the time. That is known when everyone has said that it has
    /// what we made while the game stalled: all that it said before was said during the stall, or before it. If
    /// nobody lacked our next command in all that time, what the stall added is taken back.
    ///
    /// Without this, every pause of one machine made the commands of all others later by that pause, however much
    /// they had in reserve, and they came down only by half of it a second.
    fn judge_stall(&mut self) {
        let Some(roster) = self.roster.as_ref().filter(|_| self.clock.is_on_trial()) else {
            return;
        };
        let others = || {
            let others = roster.electors().filter(|member| member.identity != self.identity);
            others.map(|member| self.contacts.get(&member.identity))
        };
        let has_lacked = |contact: Option<&Contact>| contact.is_none_or(|c| c.has_lacked);
        let has_ours =
            |contact: Option<&Contact>| contact.is_some_and(|c| c.held >= self.given_in_stall);
        if others().any(has_lacked) {
            self.clock.keep_lead();
        } else if self.stalled_since.is_none() && others().all(has_ours) {
            self.clock.take_back_lead();
        }
    }

    /// Where everyone always has commands of ours in reserve, they can be given later.
    fn shorten_lead(&mut self, now: Time) {
        let Some(roster) = &self.roster else { return };
        if roster.setup.topology == Topology::PacketServer {
            return self.shorten_ahead(now);
        }
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
            self.clock.shorten_lead(f64::from(least - 1) * 0.5);
            self.contacts.values_mut().for_each(|contact| contact.forget_reserve(now));
        }
    }

    /// The same where a server does not wait. The clock that says how far ahead we are comes down by 3 % of the time
    /// that passes, as if a screen showed it; after a slow server that takes ten seconds. No screen shows it here:
    /// half of what the server always has beyond the margin that the clock means to keep is given back at once.
    fn shorten_ahead(&mut self, now: Time) {
        let takes = self.pace().tick_takes.as_micros() as f64;
        let leader = self.roster.as_ref().and_then(Roster::leader).map(|leader| leader.identity);
        let server = leader.and_then(|leader| self.contacts.get_mut(&leader));
        let (Some(server), Some(ahead)) = (server, &mut self.ahead) else { return };
        let wanted = (ahead.target_margin().as_micros() as f64 / takes).ceil() as u32 + 1;
        let spare = server.least_reserve().unwrap_or(0).saturating_sub(wanted);
        if spare >= 2 {
            ahead.give_back(now, Span::from_micros_f64(f64::from(spare) * 0.5 * takes));
            server.forget_reserve(now);
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
