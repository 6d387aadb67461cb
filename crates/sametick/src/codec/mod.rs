//! How a table crosses the network: the paper's plain way, and the zero runs it ends with.

mod agreed;
pub mod compact;
pub mod plain;
mod wire;
pub mod zero_runs;

pub use agreed::Agreed;
pub use wire::Wire;
