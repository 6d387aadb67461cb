//! Conditions of a line, each of whose faults passes the gate of a script.

use sametick::Span;
use sametick::network::{Conditions, Jitter, Loss};
use sametick_seeds::Script;

/// The conditions with the faults that the script allows; the delay is none of them.
pub(crate) fn gated(script: &Script, drawn: Conditions) -> Conditions {
    let no_jitter = match drawn.jitter {
        Jitter::Uniform { .. } => Jitter::Uniform { width: Span::ZERO },
        _ => Jitter::None,
    };
    let no_loss = match drawn.loss {
        Loss::Random { .. } => Loss::Random { probability: 0.0 },
        _ => Loss::None,
    };
    Conditions {
        jitter: script.habit("jitter", drawn.jitter, no_jitter),
        loss: script.habit("loss", drawn.loss, no_loss),
        duplicate: script.habit("duplicates", drawn.duplicate, 0.0),
        reorder: script.habit("reordering", drawn.reorder, 0.0),
        bit_flip: script.habit("flipped bits", drawn.bit_flip, 0.0),
        truncate: script.habit("truncation", drawn.truncate, 0.0),
        bandwidth_bytes_per_second: script.habit(
            "bandwidth",
            drawn.bandwidth_bytes_per_second,
            None,
        ),
        ..drawn
    }
}
