//! A crowd over real sockets: players who talk to the server as clients do, press any key, and keep no world.

use super::tally::{Summary, Tally};
use super::{Crew, GOODBYE, PATIENCE, knocks_at};
use crate::stop::Stop;
use crate::tokens;
use sametick::secure::SystemRandom;
use sametick::{Extra, PlayerId, Span, Time};
use sametick_arena::{Arena, anything};
use sametick_links::{Clock, Conditioned, Link, UdpLink, peer_at};
use std::time::Duration;

/// All of them are looked after so often: their sockets are many, and nobody draws what comes.
const LOOKS_EVERY: Duration = Duration::from_millis(2);
/// For so long a player presses the same keys, give or take what it was born with.
const MOOD: Span = Span::micros(16_667);

struct Member {
    extra: Extra<Arena>,
    link: Conditioned<UdpLink>,
    number: u16,
    tally: Tally,
}

impl Crew {
    /// Plays as [`play`](Crew::play) does, with players of whom hundreds fit one thread.
    pub(crate) fn crowd(&self, stop: &Stop) -> anyhow::Result<Summary> {
        let clock = Clock::start();
        let count = self.client_ids.len();
        let (mut members, mut end) = (Vec::new(), Time::MAX);
        loop {
            let now = clock.now();
            while members.len() < count && now >= knocks_at(members.len()) {
                members.push(self.member(members.len(), now)?);
            }
            members.iter_mut().for_each(|member| self.drive(member, now));
            let is_over = members.len() == count && members.iter().all(|m| m.extra.is_over());
            let is_settled =
                members.len() == count && members.iter().all(|m| m.tally.joined_at.is_some());
            if end == Time::MAX && (is_settled || now >= knocks_at(count) + PATIENCE) {
                end = self.plays_for.map_or(Time::MAX, |span| now + span);
            }
            if now >= end || is_over || stop.is_asked() {
                break;
            }
            std::thread::sleep(LOOKS_EVERY);
        }
        let now = clock.now();
        members.iter_mut().for_each(|member| member.count(now));
        members.iter_mut().for_each(|member| member.extra.close(now));
        while clock.now() < now + GOODBYE {
            members.iter_mut().for_each(|member| self.drive(member, clock.now()));
            std::thread::sleep(LOOKS_EVERY);
        }
        let tallies = members.into_iter().map(|member| member.tally).collect();
        Ok(Summary { asked: count, seconds: now.as_seconds_f64(), tallies })
    }

    fn member(&self, index: usize, now: Time) -> anyhow::Result<Member> {
        let random = &mut SystemRandom::new();
        let token = tokens::token(self.key.as_ref(), self.client_ids[index], random);
        Ok(Member {
            extra: Extra::new(peer_at(self.server), token, self.view, now, random),
            link: self.link(index)?,
            number: index as u16,
            tally: Tally::default(),
        })
    }

    fn drive(&self, member: &mut Member, now: Time) {
        let (to, mut datagram) = (peer_at(self.server), Vec::new());
        let Member { extra, link, number, tally } = member;
        while let Some(from) = link.receive(now, &mut datagram) {
            if from == to {
                extra.receive(now, &mut datagram);
            }
        }
        if extra.me().is_some() {
            tally.joined_at.get_or_insert(now);
        }
        let mood = (now.as_micros() / MOOD.as_micros()) as u32 + u32::from(*number) * 7 % 15;
        extra.command(anything(self.seed, mood, PlayerId(*number)));
        extra.advance(now);
        while let Some(datagram) = extra.transmit(now) {
            link.send(now, to, datagram);
        }
        link.flush(now);
    }
}

impl Member {
    /// Takes down what it met with.
    fn count(&mut self, now: Time) {
        let Self { extra, tally, .. } = self;
        tally.played = tally.joined_at.map_or(Span::ZERO, |at| now - at);
        (tally.denied, tally.left) = (extra.denied(), extra.left());
        (tally.snapshots, tally.malformed) = (extra.snapshots(), extra.malformed());
        tally.late_commands = extra.repeated();
        if let Some(statistics) = extra.statistics() {
            tally.bytes_received = statistics.bytes_received;
            tally.round_trip = statistics.round_trip.smoothed;
        }
    }
}
