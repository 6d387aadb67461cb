//! x
#![allow(missing_docs)]
pub mod body;
pub mod map;
pub mod vector;
pub use map::Map;
