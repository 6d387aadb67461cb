//! `play --game islands --join`: a bot in somebody's contest, without a screen, over UDP or TCP.

use super::{LOOKS_EVERY, letter};
use crate::crew::tally::words;
use crate::stop::Stop;
use crate::{address, tokens};
use anyhow::{Context, bail};
use sametick::eventlock::{EventClient, EventClientEvent};
use sametick::secure::{Random, SystemRandom};
use sametick::{Span, Tick, Time};
use sametick_islands::bot::Bot;
use sametick_islands::{Content, Islands, Unit, clock, contest};
use sametick_links::{Clock, Link, TcpLink, drive_event_client, peer_at};
use serde_json::json;

/// What a link over TCP begins with, and what says that it is none.
const TCP: &str = "tcp://";
const UDP: &str = "udp://";
/// How long a goodbye may take.
const GOODBYE: Span = Span::seconds(1);

/// Who visits, and for how long.
pub(super) struct Visit<'a> {
    pub(super) content: &'a Content,
    /// Where: `HOST:PORT`, behind `tcp://` over TCP.
    pub(super) to: &'a str,
    pub(super) seed: u64,
    pub(super) seconds: Option<u32>,
    pub(super) is_json: bool,
}

pub(super) fn run(visit: &Visit<'_>) -> anyhow::Result<()> {
    let stop = Stop::on_signals()?;
    if let Some(to) = visit.to.strip_prefix(TCP) {
        let server = address::resolve(to)?;
        let link = TcpLink::connect(peer_at(server));
        let link = link.with_context(|| format!("cannot connect to {server} over TCP"))?;
        return visit.play(link, server, &stop);
    }
    let server = address::resolve(visit.to.strip_prefix(UDP).unwrap_or(visit.to))?;
    let here = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let link = address::bind(here.parse().context("an address")?, "--join")?;
    visit.play(link, server, &stop)
}

impl Visit<'_> {
    fn play<L: Link>(
        &self,
        mut link: L,
        server: std::net::SocketAddr,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let (clock, random, to) = (Clock::start(), &mut SystemRandom::new(), peer_at(server));
        let mut id = [0; 8];
        random.fill(&mut id);
        let token = tokens::token(None, u64::from_le_bytes(id), random);
        let mut client = EventClient::new(to, token, self.content.clone(), clock.now(), random);
        let (mut bot, mut thought, mut asked) = (Bot::new(self.seed), Tick(0), 0_u64);
        let (mut joined_at, mut failure): (Option<Time>, Option<anyhow::Error>) = (None, None);
        loop {
            let now = clock.now();
            drive_event_client::<Islands>(&mut client, &mut link, to, now);
            for event in client.take_events() {
                match self.heed(event, joined_at.is_some()) {
                    Ok(()) => joined_at = Some(now),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            let has_played = joined_at.zip(self.seconds);
            let is_end = has_played.is_some_and(|(at, s)| now - at >= Span::seconds(s.into()));
            if is_end || stop.is_asked() || client.is_over() || failure.is_some() {
                break;
            }
            let me = client.me();
            if let Some((world, me)) = client.shown(now).zip(me)
                && world.tick() > thought
            {
                thought = world.tick();
                let request = bot.think(world, me, self.content);
                let is_asked = !request.is_nothing() && client.request(now, request).is_ok();
                asked += u64::from(is_asked);
            }
            link.wait(&clock, client.next_wake().min(now + LOOKS_EVERY));
        }
        let answers = client.take_answers();
        let granted = answers.iter().filter(|answer| answer.verdict.is_ok()).count();
        let (mut ticks, mut units, mut is_over) = (0, 0, false);
        if let Some((world, me)) = client.world().zip(client.me()) {
            (ticks, is_over) = (self::clock(world), contest(world).is_over);
            units = world.all::<Unit>().filter(|(id, _)| world.owner(*id) == Some(me)).count();
        }
        client.close(clock.now());
        let began = clock.now();
        while !client.is_over() && clock.now() < began + GOODBYE {
            drive_event_client::<Islands>(&mut client, &mut link, to, clock.now());
            link.wait(&clock, client.next_wake().min(clock.now() + LOOKS_EVERY));
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let text = format!("stopped: {units} units, {asked} orders, {granted} of the last granted");
        let facts = json!({
            "ticks": ticks, "units": units, "asked": asked, "granted": granted, "over": is_over,
        });
        self.say("stopped", &text, &facts)
    }

    /// Tells of having joined; everything else ends the visit.
    fn heed(&self, event: EventClientEvent, is_in: bool) -> anyhow::Result<()> {
        match event {
            EventClientEvent::Joined(me) => {
                let text = format!("joined {} as {}", self.to, letter(me.0 as u8));
                self.say("joined", &text, &json!({ "player": me.0 }))
            }
            EventClientEvent::Mismatched { .. } => bail!(
                "{} plays another map than this one: give its --players, --seed and --war",
                self.to
            ),
            EventClientEvent::Denied(why) => {
                bail!("{} lets nobody in: {}", self.to, words(&format!("{why:?}")))
            }
            EventClientEvent::Left(reason) if is_in => {
                bail!("{} is gone: {}", self.to, words(&format!("{reason:?}")))
            }
            EventClientEvent::Left(_) => {
                bail!("{} does not answer: is `sametick play --game islands` there?", self.to)
            }
        }
    }

    fn say(&self, event: &str, text: &str, facts: &serde_json::Value) -> anyhow::Result<()> {
        if !self.is_json {
            return crate::print(&format!("{text}\n"));
        }
        let mut line = json!({ "event": event });
        if let (Some(line), Some(facts)) = (line.as_object_mut(), facts.as_object()) {
            line.extend(facts.clone());
        }
        crate::print(&format!("{line}\n"))
    }
}
