//! What a recording is of: everything that a match began with, but for the content itself, which is named.

use super::ReplayError;
use super::block::{self, Kind};
use crate::config::rates::{Base, Rates, Rewinding};
use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::time::Span;
use crate::schema::entities::Layouts;
use crate::schema::record::{Layout, Precision, mix};
use crate::sim::alone::TICK_LENGTHS;
use crate::sim::authority::Trust;
use crate::sim::game::Game;

/// How long the name of a build can be; what is longer is cut.
pub const BUILD_BYTES_MAX: usize = 1 << 10;

/// How long a configuration can be; what is longer is cut.
pub const CONFIGURATION_BYTES_MAX: usize = 1 << 16;

/// What a recording is of.
#[derive(Clone, Debug)]
pub struct Header {
    /// The build that recorded it, in its own words.
    pub build: String,
    /// What the caller needs to make the content again: a map's name, options. The library does not read it.
    pub configuration: String,
    /// The content's name, by [`Game::content_name`].
    pub content_name: u64,
    /// The seed of every chance.
    pub seed: u64,
    /// How the game was served.
    pub rates: Rates,
    /// A number for the fields of all that the game has: entities, commands and events.
    pub fingerprint: u64,
}

impl Header {
    /// Reads the beginning of a recording: what is needed to make the content with which it can be played.
    pub fn read(bytes: &[u8]) -> Result<Self, ReplayError> {
        Self::read_block(bytes).map(|(header, _)| header)
    }

    /// The same, and where the next block begins.
    pub(crate) fn read_block(bytes: &[u8]) -> Result<(Self, usize), ReplayError> {
        let start = block::read_start(bytes)?;
        let (block, next) = block::read(bytes, start).ok_or(ReplayError::Empty)?;
        let is_header = block.kind == Kind::Header;
        let header = is_header.then(|| Self::read_payload(&bytes[block.payload]));
        let header = header.unwrap_or(Err(Malformed)).map_err(super::after(crate::Tick(0)))?;
        Ok((header, next))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let Rates { tick_length, ticks_per_snapshot, rewinding, trust, base } = self.rates;
        let mut bits = BitWriter::growing(BUILD_BYTES_MAX + CONFIGURATION_BYTES_MAX + 128);
        bits.write(self.content_name, 64);
        bits.write(self.seed, 64);
        bits.write(self.fingerprint, 64);
        bits.write(tick_length.as_micros(), 64);
        bits.write(u64::from(ticks_per_snapshot), 32);
        bits.write(rewinding.at_most.as_micros(), 64);
        bits.write(u64::from(rewinding.needs_sight), 8);
        bits.write(u64::from(trust == Trust::Clients), 8);
        bits.write(base as u64, 8);
        for (text, bytes_max) in self.texts() {
            let text = cut(text, bytes_max).as_bytes();
            bits.write(text.len() as u64, 32);
            bits.write_bytes(text);
        }
        block::write(out, Kind::Header, &[bits.finish().expect("texts are cut")]);
    }

    fn texts(&self) -> [(&str, usize); 2] {
        [(&self.build, BUILD_BYTES_MAX), (&self.configuration, CONFIGURATION_BYTES_MAX)]
    }

    fn read_payload(payload: &[u8]) -> Result<Self, Malformed> {
        let mut bits = BitReader::new(payload);
        let [content_name, seed, fingerprint] = [(); 3].map(|()| bits.read(64));
        let tick_length = Span::micros(bits.read(64));
        let ticks_per_snapshot = bits.read(32) as u32;
        let at_most = Span::micros(bits.read(64));
        let [needs_sight, trusts_clients] = [(); 2].map(|()| bits.read(8));
        let base = match bits.read(8) {
            0 => Base::Common,
            1 => Base::LastAcknowledged,
            2 => Base::None,
            _ => return Err(Malformed),
        };
        let build = read_text(&mut bits, BUILD_BYTES_MAX)?;
        let configuration = read_text(&mut bits, CONFIGURATION_BYTES_MAX)?;
        bits.finish()?;
        let is_lawful = needs_sight < 2
            && trusts_clients < 2
            && ticks_per_snapshot > 0
            && TICK_LENGTHS.contains(&tick_length);
        let rewinding = Rewinding { at_most, needs_sight: needs_sight == 1 };
        let trust = if trusts_clients == 1 { Trust::Clients } else { Trust::Server };
        let rates = Rates { tick_length, ticks_per_snapshot, rewinding, trust, base };
        let header = Self { build, configuration, content_name, seed, rates, fingerprint };
        is_lawful.then_some(header).ok_or(Malformed)
    }
}

/// A number for all fields of a game: two builds with the same number mean the same by their records.
pub(crate) fn fingerprint<G: Game>(layouts: &Layouts, command: &Layout) -> u64 {
    let event = Layout::of::<G::Event>(Precision::State);
    let all = layouts.state.iter().chain(&layouts.shown).chain([command, &event]);
    all.map(Layout::fingerprint)
        .fold(0, |sum, number| mix(mix(sum, number as u32), (number >> 32) as u32))
}

/// As much of a text as fits.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

fn read_text(bits: &mut BitReader<'_>, bytes_max: usize) -> Result<String, Malformed> {
    let length = bits.read(32) as usize;
    if length > bytes_max || length * 8 > bits.bits_left() {
        return Err(Malformed);
    }
    let mut bytes = vec![0; length];
    bits.read_bytes(&mut bytes);
    String::from_utf8(bytes).map_err(|_| Malformed)
}
