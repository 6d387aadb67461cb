//! The field walk of a value and all that follows from it: records, layouts, deltas, tables, blending. Knows nothing of
//! rules, messages or connections.

pub(crate) mod blend;
pub mod delta;
pub(crate) mod entities;
pub(crate) mod fields;
pub(crate) mod hint;
pub mod kinds;
pub mod record;
pub(crate) mod table;
pub(crate) mod walks;
pub mod word;
