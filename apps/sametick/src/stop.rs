//! When to stop: asked for by a signal (Ctrl-C, or the system's polite one). Asked a second time, the program
//! ends at once.

use anyhow::Context;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What shells report of a program that a signal ended.
const ENDED_AT_ONCE: i32 = 130;

/// Whether somebody has asked for the end. A copy hears the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens to signals from now on.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in TERM_SIGNALS {
            // In this order: the first signal finds the flag down, the second finds it up.
            flag::register_conditional_shutdown(*signal, ENDED_AT_ONCE, Arc::clone(&asked))
                .and_then(|_| flag::register(*signal, Arc::clone(&asked)))
                .context("the system lets nobody listen to signals")?;
        }
        Ok(Self(asked))
    }

    /// Asks for the end.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
