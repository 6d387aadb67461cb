//! A client without a client: a connection on which every message is made by hand, as PROTOCOL.md has it.

use super::Match;
use sametick::bits::{BitReader, BitWriter};
use sametick::channel::{Event, RateLimits, Settings};
use sametick::endpoint::{Dialer, DialerEvent};
use sametick::network::{Conditions, Host};
use sametick::secure::ClientToken;
use sametick::{EntityId, Layout, OPEN_PROTOCOL, PlayerId, Precision, Tick, Time, delta};
use sametick_arena::{Command, Fighter};

const WELCOME: u8 = 0;
/// The number of a fighter's kind.
const FIGHTER_KIND: u64 = 2;
/// Others are shown as the newest snapshot has them, or between two.
pub(crate) const LATEST: u64 = 0;
pub(crate) const EXTRAPOLATED: u64 = 1;
pub(crate) const INTERPOLATED: u64 = 2;

/// What a screen is said to show: how many ticks older than the command the snapshots are, and what is between.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claimed {
    pub(crate) newest_age: u64,
    pub(crate) from_age: u64,
    pub(crate) span: u64,
    pub(crate) part: u64,
    pub(crate) ahead: u64,
}

impl Claimed {
    /// Between two snapshots of a server that tells of each third tick, so many ticks before a command.
    pub(crate) fn back(command: Tick, ticks: f64) -> Self {
        let shown = (f64::from(command.0) - ticks).max(0.0);
        let from = (shown / 3.0).floor() * 3.0;
        let from_age = (f64::from(command.0) - from).min(1023.0) as u64;
        let part = ((shown - from) / 3.0 * 256.0) as u64;
        Self { newest_age: from_age.saturating_sub(6), from_age, span: 3, part, ahead: 0 }
    }
}

/// A message to the server, with whatever is wrong with it.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The tick of the newest command.
    pub(crate) tick: Tick,
    /// As records, the newest first.
    pub(crate) commands: Vec<Vec<u32>>,
    /// How others are shown, and for each command what the screen showed.
    pub(crate) moments: Option<(u64, Vec<Claimed>)>,
    pub(crate) claims: Option<Vec<(EntityId, Fighter)>>,
    pub(crate) snapshot_every: u64,
    pub(crate) wants_commands: bool,
    pub(crate) acknowledges: (u64, u64),
}

impl Message {
    /// These commands, the newest first.
    pub(crate) fn new(tick: Tick, commands: &[Command]) -> Self {
        let layout = Layout::of::<Command>(Precision::State);
        let record = |command: &Command| {
            let mut command = *command;
            let _ = sametick::settle(&mut command);
            layout.record(&command)
        };
        Self {
            tick,
            commands: commands.iter().map(record).collect(),
            moments: None,
            claims: None,
            snapshot_every: 0,
            wants_commands: false,
            acknowledges: (0, 0),
        }
    }

    /// Plain: whoever is told of tables need not have them.
    pub(crate) fn write(&self, game_id: u8) -> Vec<u8> {
        let mut bits = BitWriter::growing(8192);
        bits.write(u64::from(game_id), 8);
        bits.write(self.snapshot_every, 8);
        bits.write_bool(self.wants_commands);
        bits.write_bool(self.moments.is_some());
        bits.write_bool(self.claims.is_some());
        bits.write(self.acknowledges.0, 32);
        bits.write(self.acknowledges.1, 32);
        // None of the parts before those.
        bits.write_bool(false);
        if let Some((others, _)) = &self.moments {
            bits.write(*others, 2);
            bits.write(if *others == EXTRAPOLATED { 1023 } else { 0 }, 10);
        }
        if let Some(claims) = &self.claims {
            let layout = Layout::of::<Fighter>(Precision::State);
            bits.write(claims.len() as u64, 4);
            for (id, fighter) in claims {
                bits.write(u64::from(id.generation()) << 12 | id.slot() as u64, 32);
                bits.write(FIGHTER_KIND, 8);
                let record = record_of(&layout, fighter);
                delta::write(&mut bits, &layout, layout.initial(), &record);
            }
        }
        bits.write(u64::from(self.tick.0), 32);
        if let Some((_, moments)) = &self.moments {
            bits.write(moments.len() as u64, 6);
            for (index, moment) in moments.iter().enumerate() {
                if index > 0 {
                    bits.write_bool(false);
                }
                bits.write(moment.newest_age.min(1023), 10);
                bits.write(moment.from_age.min(1023), 10);
                bits.write(moment.span.min(255), 8);
                bits.write(moment.part.min(4095), 12);
                bits.write_bool(moment.ahead > 0);
                if moment.ahead > 0 {
                    bits.write(moment.ahead.min(4095), 12);
                    bits.write(3, 8);
                }
            }
        }
        let layout = Layout::of::<Command>(Precision::State);
        delta::write_sequence(&mut bits, &layout, self.commands.iter().map(Vec::as_slice));
        bits.finish().expect("there is room").to_vec()
    }
}

/// A record that may hold what no value can: gathering is not asked about numbers that are not finite.
fn record_of(layout: &Layout, fighter: &Fighter) -> Vec<u32> {
    let mut mended = fighter.clone();
    let _ = sametick::settle(&mut mended);
    let mut record = layout.record(&mended);
    let names = layout.words().iter().map(|word| word.name.to_string());
    for (word, name) in record.iter_mut().zip(names) {
        for (axis, value) in fighter.position.iter().enumerate() {
            if !value.is_finite() && name.contains("position") && axis == 0 {
                *word = value.to_bits();
            }
        }
    }
    record
}

pub(crate) struct Rogue {
    pub(crate) host: Host,
    pub(crate) dialer: Dialer,
    pub(crate) me: Option<PlayerId>,
    game_id: u8,
    /// What the server said, since it was last looked at.
    pub(crate) heard: Vec<Vec<u8>>,
    /// For how long what comes is left lying, and what lies there.
    pub(crate) dozes_millis: u64,
    lying: Vec<(Time, Vec<u8>)>,
}

impl Rogue {
    /// Knocks at the match's server, and may send as much as it likes.
    pub(crate) fn new(play: &mut Match, line: &Conditions) -> Self {
        let host = play.add_host(line);
        let server = play.network.address(play.server_host);
        let token = ClientToken::open_mode(OPEN_PROTOCOL, 666, b"", &mut play.random);
        let rate = RateLimits { ceiling_bytes_per_second: 100_000_000, ..RateLimits::default() };
        let settings = Settings { rate, ..Settings::default() };
        let token = token.expect("nothing is attached");
        let dialer = Dialer::new(server, token, settings, play.now, &mut play.random);
        let (heard, lying) = (Vec::new(), Vec::new());
        Self { host, dialer, me: None, game_id: 0, heard, dozes_millis: 0, lying }
    }

    /// Takes in what has come, and sends what is due.
    pub(crate) fn step(&mut self, play: &mut Match) {
        let (now, mut datagram) = (play.now, Vec::new());
        while play.network.receive(now, self.host, &mut datagram).is_some() {
            self.lying.push((now, datagram.clone()));
        }
        while let Some((at, _)) = self.lying.first() {
            if (now - *at).as_micros() < self.dozes_millis * 1000 {
                break;
            }
            let (_, mut datagram) = self.lying.remove(0);
            let heard = &mut self.heard;
            self.dialer.receive(now, &mut datagram, &mut |event| {
                if let DialerEvent::Message(Event::Reliable(message) | Event::Unreliable(message)) =
                    event
                {
                    heard.push(message.to_vec());
                }
            });
        }
        let welcome = self.heard.iter().find(|message| message.first() == Some(&WELCOME));
        if let (Some(welcome), None) = (welcome, self.me) {
            let mut bits = BitReader::new(&welcome[1..]);
            self.game_id = bits.read(8) as u8;
            self.me = Some(PlayerId(bits.read(16) as u16));
        }
        self.dialer.advance(now, &mut |_| {});
        self.flush(play);
    }

    pub(crate) fn say(&mut self, play: &mut Match, message: &Message) {
        self.dialer.send_unreliable(1, &message.write(self.game_id));
        self.flush(play);
    }

    pub(crate) fn flush(&mut self, play: &mut Match) {
        let server = play.network.address(play.server_host);
        while let Some(datagram) = self.dialer.transmit(play.now) {
            play.network.send(play.now, self.host, server, datagram);
        }
    }
}
