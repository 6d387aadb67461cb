//! What a server and a client have agreed on: how snapshots come.

use super::compact::{HAS_CODER, Tables};
use crate::schema::record::Layout;
use std::fmt;
use std::sync::Arc;

/// How a server's snapshots come to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// Plain; the server offers nothing else.
    Plain,
    /// Compact, with these tables on both ends.
    Compact {
        /// What [`Tables::hash`] says of them.
        tables: u64,
    },
    /// Plain, because the client asked for that; the server offers these tables.
    Declined {
        /// The server's.
        offered: u64,
    },
    /// Plain, because the client has not the tables that the server has.
    Refused {
        /// The server's.
        wanted: u64,
        /// The client's, if it has any.
        ours: Option<u64>,
    },
}

impl Agreed {
    /// What comes of an offer, and the tables to read with. Those that are built in everyone has who wants to read
    /// compact snapshots.
    pub(crate) fn on(
        offered: Option<u64>,
        ours: Option<Option<&Arc<Tables>>>,
        layouts: &[Layout],
    ) -> (Self, Option<Arc<Tables>>) {
        let Some(wanted) = offered else { return (Self::Plain, None) };
        if ours.is_none() || !HAS_CODER {
            return (Self::Declined { offered: wanted }, None);
        }
        let built_in = || Some(Arc::new(Tables::built_in(layouts)));
        let suits = |tables: &Arc<Tables>| tables.hash() == wanted && tables.check(layouts).is_ok();
        let ours_or_built_in =
            ours.and_then(|ours| ours.cloned().filter(suits).or_else(|| built_in().filter(suits)));
        let ours = ours.flatten();
        match ours_or_built_in {
            Some(tables) => (Self::Compact { tables: wanted }, Some(tables)),
            None => (Self::Refused { wanted, ours: ours.map(|tables| tables.hash()) }, None),
        }
    }
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => write!(f, "plain"),
            Self::Compact { tables } => write!(f, "compact, tables {tables:016x}"),
            Self::Declined { offered } => {
                write!(f, "plain, as was asked for: the server has tables {offered:016x}")
            }
            Self::Refused { wanted, ours: None } => {
                write!(f, "plain: the server has tables {wanted:016x}, and there are none here")
            }
            Self::Refused { wanted, ours: Some(ours) } => {
                write!(f, "plain: the server has tables {wanted:016x}, those here are {ours:016x}")
            }
        }
    }
}
