//! A recording on its way to a file: written by a thread of its own, so that no tick ever waits for a disk.

use anyhow::{Context, bail};
use clap::{Args, ValueEnum, value_parser};
use sametick::replay::Recording;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// How many pieces can be on their way to the thread.
const PIECES_MAX: usize = 64;

/// How much can wait for a disk that is slower than the game. With more, the recording is given up.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// Whether a match is recorded, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct Wanted {
    /// Record the match to this file, for `sametick replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// What is recorded
    #[arg(long, value_enum, default_value_t = What::Match)]
    record_what: What,
    /// Megabytes after which the recording ends; the match goes on
    #[arg(long, value_name = "MEGABYTES", default_value_t = 1024)]
    #[arg(value_parser = value_parser!(u64).range(1..=1_000_000))]
    record_max: u64,
}

/// What a recording holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// What the rules were given: enough to play the match again
    Match,
    /// That, and what each player was sent
    Streams,
}

impl Wanted {
    /// The file, if one is wanted, and what goes into it. `configuration` is what the match is started with.
    pub(crate) fn open(
        &self,
        configuration: &str,
    ) -> anyhow::Result<Option<(RecordingFile, Recording)>> {
        let Some(path) = &self.record else { return Ok(None) };
        let build = concat!("sametick ", env!("CARGO_PKG_VERSION"));
        let keeps_sent = self.record_what == What::Streams;
        let recording = Recording { keeps_sent, ..Recording::new(build, configuration) };
        Ok(Some((RecordingFile::create(path, self.record_max << 20)?, recording)))
    }
}

/// A file that a match is recorded to.
///
/// After each `advance`, hand it what `Server::take_recording` gives; at the end, what `Server::finish_recording`
/// gives, and close it. What was handed over a moment ago survives the end of the program, however it ends.
pub(crate) struct RecordingFile {
    path: PathBuf,
    /// So many bytes may still come.
    room: u64,
    pieces: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    waiting: Vec<u8>,
}

impl RecordingFile {
    /// Makes the file, or empties it. It gets no longer than `bytes_max` and what is handed over at its end.
    pub(crate) fn create(path: &Path, bytes_max: u64) -> anyhow::Result<Self> {
        let file = File::create(path)
            .with_context(|| format!("cannot make the recording {}", path.display()))?;
        let (pieces, arriving) = sync_channel(PIECES_MAX);
        let writer = std::thread::Builder::new()
            .name("recording".into())
            .spawn(move || write(file, &arriving))
            .context("cannot start a thread for the recording")?;
        Ok(Self { path: path.to_owned(), room: bytes_max, pieces, writer, waiting: Vec::new() })
    }

    /// Whether it has become as long as it may.
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over bytes and never waits. An error means that the file gets no more: its disk is full, or slower
    /// than the game.
    pub(crate) fn push(&mut self, bytes: Vec<u8>) -> anyhow::Result<()> {
        self.room = self.room.saturating_sub(bytes.len() as u64);
        if self.waiting.is_empty() {
            self.waiting = bytes;
        } else {
            self.waiting.extend(bytes);
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        match self.pieces.try_send(std::mem::take(&mut self.waiting)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(back)) if back.len() <= WAITING_BYTES_MAX => {
                self.waiting = back;
                Ok(())
            }
            Err(TrySendError::Full(_)) => {
                bail!("the disk is too slow for the recording {}", self.path.display())
            }
            Err(TrySendError::Disconnected(_)) => {
                bail!("the recording {} cannot be written", self.path.display())
            }
        }
    }

    /// Waits until all is on the disk.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        let Self { path, pieces, writer, waiting, .. } = self;
        // If the thread has ended, it says why.
        let _ = pieces.send(waiting);
        drop(pieces);
        let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread died")));
        written.with_context(|| format!("cannot write the recording {}", path.display()))
    }
}

fn write(mut file: File, arriving: &Receiver<Vec<u8>>) -> io::Result<()> {
    // Straight to the system: what is there outlives the program.
    for piece in arriving {
        file.write_all(&piece)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_is_in_the_file_in_order() {
        let path = std::env::temp_dir().join(format!("sametick-{}.recording", std::process::id()));
        let mut file = RecordingFile::create(&path, 2000).unwrap();
        let pieces = || (0..500u32).map(|piece| piece.to_le_bytes().to_vec());
        pieces().for_each(|piece| file.push(piece).unwrap());
        assert!(file.is_full());
        file.close().unwrap();
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(written, pieces().flatten().collect::<Vec<u8>>());
    }

    #[test]
    fn a_file_that_cannot_be_is_refused() {
        assert!(RecordingFile::create(Path::new("/nowhere/at/all"), 1).is_err());
    }
}
