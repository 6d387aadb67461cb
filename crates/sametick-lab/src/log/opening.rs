//! How a log is opened: with a lock if it is written to, and as it is where nothing can be written.

use super::{Log, LogError};
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};

impl Log {
    /// Opens a log in a place where nothing can be written, not even what readers share: it must not be written to by
    /// others meanwhile.
    pub(super) fn read_as_it_is(path: &Path) -> Result<Self, LogError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push("-wal");
        if std::fs::metadata(&beside).is_ok_and(|file| file.len() > 0) {
            let what = "it is being written, or was not closed, and nothing may be written beside it: copy it \
                        together with its -wal to a folder of yours";
            return Err(LogError(what.to_owned()));
        }
        let mut address = "file:".to_owned();
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                    address.push(char::from(*byte));
                }
                byte => {
                    let _ = write!(address, "%{byte:02X}");
                }
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(format!("{address}?immutable=1"), flags)?;
        Ok(Self { connection, path: path.to_owned(), _lock: None })
    }
}

/// The file beside a log that says that it is written to.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Holds a log as long as the file is open: one lab a log.
pub(super) fn lock(name: &Path, path: &Path) -> Result<File, LogError> {
    let file = File::create(name)
        .map_err(|error| LogError(format!("{} cannot be written: {error}", path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => {
            let path = path.display();
            Err(LogError(format!("another lab is writing {path}: wait for it, or stop it")))
        }
    }
}

/// Whether a file is there, and the system lets nobody open it so.
pub(super) fn is_shut(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}
