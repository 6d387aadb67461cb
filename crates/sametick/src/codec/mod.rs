//! How a table crosses the network: the paper's plain way, and the zero runs it ends with.

pub mod compact;
pub mod plain;
pub mod zero_runs;
