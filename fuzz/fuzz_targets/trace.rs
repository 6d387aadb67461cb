//! Any text as a trace of delays: no panic, and a trace holds delays that a line can have.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::network::Trace;

fuzz_target!(|text: &str| match Trace::parse(text) {
    Ok(trace) => {
        assert!(!trace.delays().is_empty());
        // Written again it is the same, to the microsecond that it is kept in.
        let written: String =
            trace.delays().iter().map(|delay| format!("{}\n", delay.as_millis_f64())).collect();
        assert_eq!(Trace::parse(&written).as_ref(), Ok(&trace));
    }
    Err(error) => assert!(error.line <= text.lines().count().max(1), "{error}"),
});
