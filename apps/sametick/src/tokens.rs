//! Who may join: anyone, or holders of tokens that were sealed with a key from a file.

use anyhow::{Context, bail};
use sametick::secure::{ClientToken, GateConfig, Grant, Past, Random, TokenIssuer, TokenKey};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The arena and its version, for the gate.
const PROTOCOL: u64 = 0x5a6d_e71c_a7e4_0002;

/// How long a sealed token is good for: it is used at once.
pub(crate) const TOKEN_SECONDS: u64 = 60;

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The key that a file holds: 64 hexadecimal digits.
pub(crate) fn read_key(path: &Path) -> anyhow::Result<TokenKey> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the token key {}", path.display()))?;
    let digits: Vec<u8> =
        text.trim().chars().map_while(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let mut bytes = [0; 32];
    if digits.len() != 64 || text.trim().len() != 64 {
        bail!(
            "{} is no token key: it holds 64 hexadecimal digits, as `openssl rand -hex 32` writes them",
            path.display()
        );
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    let key = TokenKey::from_bytes(bytes);
    if key.is_published() {
        bail!("{} holds the published key, which everyone has: draw another", path.display());
    }
    Ok(key)
}

/// Decides who gets in. Without a key that is anyone.
pub(crate) fn gate(key: Option<&TokenKey>, random: &mut dyn Random) -> GateConfig {
    let past = Past::Unknown { started_unix_seconds: key.map_or(0, |_| unix_seconds()) };
    let token_key = key.cloned().unwrap_or(TokenKey::PUBLISHED);
    GateConfig::new(PROTOCOL, token_key, TokenKey::generate(random), past)
}

/// Lets in holders of tokens that were sealed with a key that nobody had before: it has no past.
pub(crate) fn fresh_gate(key: &TokenKey, random: &mut dyn Random) -> GateConfig {
    let past = Past::Unknown { started_unix_seconds: 0 };
    GateConfig::new(PROTOCOL, key.clone(), TokenKey::generate(random), past)
}

/// What one player knocks with.
pub(crate) fn token(
    key: Option<&TokenKey>,
    client_id: u64,
    random: &mut dyn Random,
) -> ClientToken {
    let token = match key {
        None => ClientToken::open_mode(PROTOCOL, client_id, b"", random),
        Some(key) => {
            let grant = Grant { client_id, lifetime_seconds: TOKEN_SECONDS, ..Grant::default() };
            TokenIssuer::new(key.clone(), PROTOCOL).issue(&grant, unix_seconds(), random)
        }
    };
    token.expect("nothing is attached, and it lives as long as tokens do")
}
