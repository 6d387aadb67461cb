//! Experiments.

mod experiment;
mod formula;
mod log;
mod metrics;
mod plan;
mod play;
mod rows;
mod run;
mod scan;
mod schema;
mod settings;
mod square;
mod value;
mod wrong;

pub use experiment::*;
pub use formula::Formula;
pub use log::{Log, LogError, build};
pub use metrics::{METRICS, Metric};
pub use plan::{Condition, Plan, TRIALS_MAX, Trial};
pub use play::{Carrier, Library, NewCarrier, Simulated, play};
pub use rows::*;
pub use run::{How, Progress, QUEUE_TRIALS_MAX, Ran, read_file, run};
pub use schema::SCHEMA_VERSION;
pub use settings::{Assignment, Change, Otherwise, PLAYERS_MAX, Row, SETTINGS, Scope, Settings};
pub use square::Order;
pub use value::{Kind, Value};
pub use wrong::Wrong;
