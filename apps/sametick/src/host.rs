//! A running server of the arena: drives it, watches it, tells of it, and says goodbye to everyone at the end.

pub(crate) mod figures;
pub(crate) mod log;
mod meter;
pub(crate) mod metrics;

use crate::crew::Crew;
use crate::crew::tally::words;
use crate::recording_file::RecordingFile;
use crate::stop::Stop;
use crate::tokens;
use figures::Figures;
use log::{Line, Log};
use meter::Meter;
use metrics::Board;
use sametick::channel::Settings;
use sametick::codec::compact::Tables;
use sametick::endpoint::ListenerConfig;
use sametick::replay::Recording;
use sametick::secure::{SystemRandom, TokenKey};
use sametick::{PlayerId, Rates, Server, ServerEvent, Span, Time};
use sametick_arena::{Arena, Content};
use sametick_links::{Both, Clock, Link, drive_server};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often figures are left for whoever asks.
const POSTED_EVERY: Span = Span::millis(250);
/// How often a server that nobody writes to looks whether it is to stop.
const LOOKS_EVERY: Span = Span::millis(50);
/// How long everyone is given to hear the goodbye.
const GOODBYE: Span = Span::seconds(1);

/// All that a server is started with.
pub(crate) struct Plan {
    pub(crate) content: Content,
    pub(crate) rates: Rates,
    pub(crate) seed: u64,
    pub(crate) players_max: usize,
    pub(crate) key: Option<TokenKey>,
    pub(crate) link: Both,
    /// Players of the server's own.
    pub(crate) crew: Option<Crew>,
    pub(crate) lasts: Option<Span>,
    pub(crate) recording: Option<(RecordingFile, Recording)>,
    /// Of compact snapshots, if they are to be.
    pub(crate) tables: Option<Arc<Tables>>,
    /// Whether they are plain while the server is busy.
    pub(crate) by_load: bool,
    pub(crate) foresees: bool,
}

/// A server, and what is known of it.
pub(crate) struct Host {
    server: Server<Arena>,
    link: Both,
    clock: Clock,
    meter: Meter,
    crew: Option<Crew>,
    crew_ids: BTreeSet<u64>,
    crew_players: BTreeSet<PlayerId>,
    /// Where the match is recorded to.
    recording: Option<RecordingFile>,
    board: Board,
    posted_at: Time,
    lasts: Option<Span>,
    end: Time,
    /// Whether snapshots were compact when that was last told.
    was_compact: bool,
}

impl Host {
    pub(crate) fn new(plan: Plan, board: Board) -> anyhow::Result<Self> {
        let Plan { content, rates, seed, players_max, key, link, crew, lasts, .. } = plan;
        let (recording, tables) = (plan.recording, plan.tables);
        // Found out now rather than in the first tick.
        content.map.visibility();
        let (clock, random) = (Clock::start(), &mut SystemRandom::new());
        let now = clock.now();
        let config = ListenerConfig {
            gate: tokens::gate(key.as_ref(), random),
            channel: Settings::default(),
            connections_max: players_max,
            unix_seconds_at_zero: tokens::unix_seconds(),
        };
        let ids = crew.as_ref().map(|crew| crew.client_ids.iter().copied().collect());
        let mut server = Server::new(config, content, seed, rates, now, random);
        if let Some(tables) = tables {
            server.use_tables(tables)?;
        }
        if plan.by_load {
            server.choose_by_load();
        }
        if plan.foresees {
            server.foresee();
        }
        let recording = recording.map(|(file, what)| {
            server.record(&what);
            file
        });
        Ok(Self {
            was_compact: server.sends_compact(),
            server,
            link,
            meter: Meter::new(rates.tick_length, now),
            crew,
            crew_ids: ids.unwrap_or_default(),
            crew_players: BTreeSet::new(),
            recording,
            board,
            posted_at: now,
            lasts,
            end: Time::MAX,
            clock,
        })
    }

    /// Plays until the end, whoever brings it about.
    pub(crate) fn run(&mut self, stop: &Stop, log: &mut Log) -> Figures {
        let now = self.clock.now();
        self.end = self.lasts.map_or(Time::MAX, |span| now + span);
        if let Some(warning) = self.server.warning() {
            log.tell(self.clock.now(), &Line::Warning(warning));
        }
        for warning in self.link.udp.warnings() {
            log.tell(self.clock.now(), &Line::Warning(&warning.to_string()));
        }
        let (crew, crew_stop) = (self.crew.take(), Stop::default());
        std::thread::scope(|scope| {
            let playing = crew.as_ref().map(|crew| scope.spawn(|| crew.play(&crew_stop)));
            self.play(stop, log);
            let figures = self.figures();
            self.say_goodbye();
            self.finish_recording(log);
            crew_stop.ask();
            if let Some(Err(error)) = playing.and_then(|thread| thread.join().ok()) {
                log.tell(self.clock.now(), &Line::Warning(&format!("the bots: {error:#}")));
            }
            log.tell(self.clock.now(), &Line::Stopped(&figures));
            figures
        })
    }

    fn play(&mut self, stop: &Stop, log: &mut Log) {
        loop {
            let now = self.drive();
            if now >= self.end || stop.is_asked() {
                return;
            }
            self.tell(now, log);
            self.record(log);
            let wake = self.server.next_wake().min(self.end).min(now + LOOKS_EVERY);
            self.link.wait(&self.clock, wake);
        }
    }

    fn drive(&mut self) -> Time {
        let now = self.clock.now();
        drive_server(&mut self.server, &mut self.link, now, &mut SystemRandom::new());
        let took = self.clock.now() - now;
        self.server.worked(took);
        self.meter.worked(took, self.server.world().tick().0);
        now
    }

    /// Hands what was recorded to its file. A recording that cannot go on ends; the match goes on.
    fn record(&mut self, log: &mut Log) {
        let Some(file) = &mut self.recording else { return };
        if let Err(error) = file.push(self.server.take_recording()) {
            log.tell(self.clock.now(), &Line::Warning(&format!("{error:#}; it ends here")));
            self.server.finish_recording();
            self.recording = None;
        } else if file.is_full() {
            let full = format!("the recording {} is as long as it may be", file.path().display());
            log.tell(self.clock.now(), &Line::Warning(&full));
            self.finish_recording(log);
        }
    }

    fn finish_recording(&mut self, log: &mut Log) {
        let Some(mut file) = self.recording.take() else { return };
        let written = file.push(self.server.finish_recording()).and_then(|()| file.close());
        if let Err(error) = written {
            log.tell(self.clock.now(), &Line::Warning(&format!("{error:#}")));
        }
    }

    fn tell(&mut self, now: Time, log: &mut Log) {
        for event in self.server.take_events() {
            match event {
                ServerEvent::Joined { player, client_id } if self.crew_ids.contains(&client_id) => {
                    self.crew_players.insert(player);
                }
                ServerEvent::Left { player, .. } if self.crew_players.remove(&player) => {}
                ServerEvent::Joined { player, .. } => {
                    log.tell(now, &Line::Joined { player: player.0 });
                }
                ServerEvent::Left { player, reason } => {
                    let reason = words(&format!("{reason:?}"));
                    log.tell(now, &Line::Left { player: player.0, reason });
                }
            }
        }
        let is_compact = self.server.sends_compact();
        if is_compact != std::mem::replace(&mut self.was_compact, is_compact) {
            let (codec, why) =
                if is_compact { ("compact", "has time again") } else { ("plain", "is busy") };
            let text = format!("snapshots are {codec} from now on: the server {why}");
            log.tell(now, &Line::Note { event: "codec", text, facts: json!({ "codec": codec }) });
        }
        if now - self.posted_at >= POSTED_EVERY {
            self.posted_at = now;
            let figures = self.figures();
            self.board.post(&figures);
            if now >= log.next_status() {
                log.tell(now, &Line::Status(&figures));
            }
        }
    }

    fn figures(&mut self) -> Figures {
        self.meter.figures(self.clock.now(), &self.server, &self.link, self.crew_players.len())
    }

    fn say_goodbye(&mut self) {
        let now = self.clock.now();
        self.server.close(now);
        while self.server.players().next().is_some() && self.clock.now() < now + GOODBYE {
            self.drive();
            let wake = self.server.next_wake().min(self.clock.now() + LOOKS_EVERY);
            self.link.wait(&self.clock, wake);
        }
    }
}
