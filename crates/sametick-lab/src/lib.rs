//! The lab of Sametick: experiments, from a file to a figure. An experiment is a TOML file with a question; it is
//! planned, run with bots in virtual time (or over a carrier of one's own), logged to one SQLite file and reported as
//! one page.
//!
//! ```
//! use sametick_lab::{Experiment, How, Log, Plan, Simulated, outcomes, report, run};
//! use std::sync::atomic::AtomicBool;
//!
//! let file = r#"
//! question = "What does a client send in FPSci's format?"
//! [settings]
//! play = "fpsci"
//! duration = "2 s"
//! [factors]
//! tick_rate = ["30 Hz", "60 Hz"]
//! [[expect]]
//! metric = "frame_bytes"
//! equals = 63
//! within = "1 %"
//! "#;
//! let experiment = Experiment::read(file, ".".as_ref(), false)?;
//! let plan = Plan::new(&experiment)?;
//! # let folder = std::env::temp_dir().join(format!("sametick-lab-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let log = Log::write(&folder.join("frames.db"), &experiment, &plan)?;
//! let how = How { threads: 1, shard: (0, 1), is_real_time: false, runs_programs: false };
//! let carrier = |hosts, seed| Ok(Box::new(Simulated::new(hosts, seed)) as _);
//! run(&experiment, &plan, &log, how, &carrier, &AtomicBool::new(false), |_progress| {})?;
//! assert!(outcomes(&experiment, &log)?.iter().all(|outcome| outcome.holds));
//! assert!(report(&log, "sametick lab run frames.toml")?.contains("<svg"));
//! # drop(log);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `value`, `settings` | what a file may say, one row a setting |
//! | `scan`, `wrong`, `experiment`, `checks` | reading a file; what is wrong with it, and where |
//! | `any`, `import` | FPSci's files: reading them, and making experiments of them |
//! | `targets`, `controls`, `keys` | targets of a file; hands, keys and orders of sessions |
//! | `square`, `plan` | orders of conditions, and every trial that will be run |
//! | `people/` | people in an experiment: what a file says of them, and a study as a fold over events |
//! | `play/` | one trial: matches and scenes with a server or in lockstep, FPSci's own format; what is measured |
//! | `contest/`, `stages` | what benchmarks measure too: a war on Islands, and the stages of a codec |
//! | `rows`, `schema`, `log`, `export` | what is logged, the tables, the file, other files made of it |
//! | `run`, `programs`, `again` | all trials on all cores, programs around them, one trial again |
//! | `metrics`, `analysis`, `formula`, `expectations` | numbers of trials, intervals, what was expected |
//! | `plot`, `figure`, `film`, `report`, `compare`, `starting` | figures, films, the page, two logs, a first file |

mod again;
mod analysis;
mod any;
mod checks;
mod compare;
pub mod contest;
mod controls;
mod expectations;
mod experiment;
mod export;
mod figure;
mod film;
mod formula;
mod import;
mod keys;
mod log;
mod metrics;
pub mod people;
mod plan;
mod play;
mod plot;
mod programs;
mod report;
mod rows;
mod run;
mod scan;
mod schema;
mod settings;
mod square;
pub mod stages;
mod starting;
mod targets;
mod value;
mod wrong;

pub use again::play_again;
pub use analysis::{Analysis, Estimate, Met, estimate, straight};
pub use any::{
    ANY_BYTES_MAX, ANY_DEPTH_MAX, ANY_FILES_MAX, ANY_NAMES_MAX, ANY_VALUES_MAX, Any, AnyFile,
    AnyValue, Place, WrongAny,
};
pub use compare::compare;
pub use controls::{Controls, Hand, KEY_ACTIONS, SessionOrders};
pub use expectations::{Outcome, outcomes};
pub use experiment::{
    CONDITIONS_MAX, Cells, Expectation, Experiment, Figure, Rule, Session, Tolerance, TrialKind,
};
pub use export::Format;
pub use figure::figure;
pub use film::film;
pub use formula::Formula;
pub use import::{AnyKind, Fate, Imported, Listed, Mapping, any_kind, import, import_all, startup};
pub use log::{Log, LogError, build};
pub use metrics::{METRICS, Metric};
pub use plan::{Condition, Plan, TRIALS_MAX, Trial};
pub use play::{
    Achieved, Carrier, DROPPED_AFTER, Door, Ended, GATHERING_MAX, Library, NewCarrier, Person,
    Recorded, Simulated, Watch, Wish, content_named, content_recorded, live_ground, play,
    play_live, record,
};
pub use plot::{Plot, Point, Series};
pub use programs::Programs;
pub use report::{doubtful_shots, doubtful_trials, report, report_with};
pub use rows::{
    CommandRow, FrameRow, HitRow, LineRow, PlayerRow, ROWS_MAX, SecondRow, ShotRow, SightingRow,
    StateRow, TargetRow, TargetStateRow, TrialLog, ViewRow,
};
pub use run::{How, Progress, QUEUE_TRIALS_MAX, Ran, read_file, read_plan, run};
pub use schema::SCHEMA_VERSION;
pub use settings::{Assignment, Change, Otherwise, PLAYERS_MAX, Row, SETTINGS, Scope, Settings};
pub use square::Order;
pub use starting::{metrics_table, settings_table, starting_file, starting_file_for_people};
pub use targets::{NamedTarget, TARGET_KINDS_MAX};
pub use value::{Kind, Value};
pub use wrong::{WRONGS_MAX, Wrong, Wrongs};
