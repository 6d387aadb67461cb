//! The choices of a network model, as plain data. Knows nothing of how a choice is carried out.

pub(crate) mod model;
pub(crate) mod rates;
