//! How a table crosses the network: the paper's plain way, and the zero runs it ends with.

mod agreed;
mod by_load;
pub mod compact;
pub mod plain;
pub mod zero_runs;

pub use agreed::Agreed;
pub use by_load::ByLoad;
