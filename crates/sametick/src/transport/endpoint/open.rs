//! Endpoints without a backend: a published key, so that anyone may connect. Knows nothing of games.

use super::ListenerConfig;
use crate::transport::secure::{GateConfig, Past, Random, TokenKey};

/// What games of open servers call themselves: a number that changes with what goes over the wire, so that others are
/// not let in.
pub const OPEN_PROTOCOL: u64 = 0x5a6d_e71c_0003;

/// As many as the largest maps are made for.
const OPEN_CONNECTIONS_MAX: usize = 1024;

impl ListenerConfig {
    /// How a server listens that lets in anyone.
    pub fn open(random: &mut dyn Random) -> Self {
        let past = Past::Unknown { started_unix_seconds: 0 };
        let ticket_key = TokenKey::generate(random);
        Self {
            gate: GateConfig::new(OPEN_PROTOCOL, TokenKey::PUBLISHED, ticket_key, past),
            channel: crate::transport::channel::Settings::default(),
            connections_max: OPEN_CONNECTIONS_MAX,
            unix_seconds_at_zero: 0,
        }
    }
}
