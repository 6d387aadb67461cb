//! People in an experiment: what a file says of them, and a study as a fold over what happened.
//!
//! A *seat* is one person's place, a *group* the seats that play together at a table. [`Study`] does nothing by itself:
//! time and chance are arguments, and what it knows comes from [`Event`]s. Whoever applies the logged events again has
//! the study where it stopped.
//!
//! ```
//! use sametick_lab::people::{Calibration, Event, EventKind, SeatId, Stage, Study};
//! use sametick_lab::{Experiment, Plan};
//!
//! let file = r#"
//! question = "Who notices 100 ms?"
//! [factors]
//! ping = ["0 ms", "100 ms"]
//! [people]
//! consent = "You will play two short rounds."
//! "#;
//! let experiment = Experiment::read(file, ".".as_ref(), false)?;
//! let plan = Plan::new(&experiment)?;
//! let mut study = Study::new(&experiment, &plan, vec!["7K2MWQ94XB".to_owned()])?;
//! let seat = study.seat_of("7k2mwq94xb").ok_or("no such code")?;
//! let happens = |kind| Event { at_ms: 0, seat: Some(seat), kind, why: String::new() };
//! study.apply(&happens(EventKind::Claimed { secret_hash: "5e".to_owned() }))?;
//! assert!(matches!(study.stage(seat, 0), Stage::Consent { .. }));
//! study.apply(&happens(EventKind::Consented))?;
//! study.apply(&happens(EventKind::Calibrated(Calibration::default())))?;
//! study.apply(&happens(EventKind::Ready))?;
//! let start = &study.due(0)[0];
//! assert_eq!((start.group, start.trial.number, start.attempt), (1, 1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod arrange;
mod chance;
mod event;
mod exclude;
mod flags;
mod line;
mod live;
mod log;
mod now;
mod power;
mod read;
mod report;
mod roles;
mod stage;
mod stairs;
mod study;
mod table;
mod track;
mod words;

pub(crate) use arrange::arrange;
pub use event::{CHARACTERS_MAX, Calibration, EVENTS_MAX, Event, EventKind, Refusal, SeatId};
pub use exclude::{Excluded, excluded};
pub use flags::{Flag, Telemetry, flags};
pub use line::Line;
pub use log::{Attempt, WHICH_INTERVAL, result};
pub use power::{PARTICIPANTS_MAX, Power, power};
pub(crate) use report::{section, thresholds};
pub use stage::{Asked, Stage, Start};
pub use stairs::{Stairs, Step};
pub use study::{ATTEMPTS_MAX, SEATS_MAX, Study};
pub use table::{
    Comparison, Correct, Design, Exclusion, GROUP_MAX, Intervals, OPTIONS_MAX, People,
    QUESTIONS_MAX, Question, QuestionKind, Staircase, When,
};
