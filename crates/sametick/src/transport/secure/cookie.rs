//! Proof that a client receives what is sent to its address, without remembering anything of it.
//!
//! A cookie is a keyed hash of the address, the port, the client id and the moment, in steps of
//! [`COOKIE_SECONDS`]; the step before is accepted too. So a cookie is good for one client at one
//! address, for 4 to 8 seconds.

use super::hello::{COOKIE_BYTES, is_zero};
use super::random::Random;
use super::secret::{Secret, same};
use crate::core::peer::Peer;
use crate::core::time::{Span, Time};

/// How long one step lasts.
pub const COOKIE_SECONDS: u64 = 4;

const STEP: Span = Span::seconds(COOKIE_SECONDS);

/// Bakes and checks cookies.
///
/// ```
/// use sametick::secure::{Cookies, SystemRandom};
/// use sametick::{Peer, Time};
///
/// let cookies = Cookies::new(&mut SystemRandom::new());
/// let (now, ann) = (Time::from_micros(0), Peer::new([1; 16], 4000));
/// let cookie = cookies.bake(now, ann, 17);
/// assert!(cookies.accepts(now, ann, 17, &cookie));
/// assert!(!cookies.accepts(now, Peer::new([2; 16], 4000), 17, &cookie));
/// ```
#[derive(Clone, Debug)]
pub struct Cookies {
    secret: Secret,
    /// What was baked before the last rotation stays good as long as it would have been.
    previous: Option<(Secret, Time)>,
}

impl Cookies {
    /// A secret of its own, which no restart survives: cookies of before are worth nothing.
    pub fn new(random: &mut dyn Random) -> Self {
        Self { secret: Secret::generate(random), previous: None }
    }

    /// Changes the secret. Whoever is knocking right now notices nothing.
    pub fn rotate(&mut self, now: Time, random: &mut dyn Random) {
        let before = std::mem::replace(&mut self.secret, Secret::generate(random));
        self.previous = Some((before, now));
    }

    /// The cookie for a client.
    pub fn bake(&self, now: Time, peer: Peer, client_id: u64) -> [u8; COOKIE_BYTES] {
        bake(&self.secret, step_of(now), peer, client_id)
    }

    /// Whether the cookie was baked for this client, a short while ago at most.
    pub fn accepts(
        &self,
        now: Time,
        peer: Peer,
        client_id: u64,
        cookie: &[u8; COOKIE_BYTES],
    ) -> bool {
        let recent = |secret: &Secret| {
            let step = step_of(now);
            let is_of = |step| same(cookie, &bake(secret, step, peer, client_id));
            is_of(step) || step > 0 && is_of(step - 1)
        };
        if is_zero(cookie) {
            return false; // The first hello has none: not worth a hash.
        }
        if recent(&self.secret) {
            return true;
        }
        let Some((secret, rotated_at)) = &self.previous else { return false };
        now - *rotated_at < Span::seconds(2 * COOKIE_SECONDS) && recent(secret)
    }
}

fn step_of(now: Time) -> u64 {
    now.as_micros() / STEP.as_micros()
}

fn bake(secret: &Secret, step: u64, peer: Peer, client_id: u64) -> [u8; COOKIE_BYTES] {
    let mut bytes = [0; 16 + 2 + 8 + 8];
    bytes[..16].copy_from_slice(&peer.address());
    bytes[16..18].copy_from_slice(&peer.port().to_le_bytes());
    bytes[18..26].copy_from_slice(&client_id.to_le_bytes());
    bytes[26..].copy_from_slice(&step.to_le_bytes());
    secret.tag(&bytes)
}

#[cfg(test)]
mod tests {
    use super::super::seeded::Seeded;
    use super::*;

    const ANN: Peer = Peer::new([1; 16], 4000);

    fn at(millis: u64) -> Time {
        Time::from_micros(millis * 1000)
    }

    #[test]
    fn a_cookie_lasts_four_to_eight_seconds() {
        let cookies = Cookies::new(&mut Seeded::new(1));
        for baked_at in [0, 1, 3999, 4000, 7999, 123_456] {
            let cookie = cookies.bake(at(baked_at), ANN, 17);
            let end = (baked_at / 4000 + 2) * 4000;
            assert!(end - baked_at > 4000 || baked_at % 4000 == 0);
            for good in [baked_at, baked_at + 4000, end - 1] {
                assert!(cookies.accepts(at(good), ANN, 17, &cookie), "{baked_at} at {good}");
            }
            assert!(!cookies.accepts(at(end), ANN, 17, &cookie));
            assert!(!cookies.accepts(at(baked_at + 1_000_000), ANN, 17, &cookie));
        }
    }

    #[test]
    fn a_cookie_is_bound_to_address_port_and_client() {
        let cookies = Cookies::new(&mut Seeded::new(2));
        let cookie = cookies.bake(at(0), ANN, 17);
        assert!(!cookies.accepts(at(0), Peer::new([1; 16], 4001), 17, &cookie));
        let mut address = [1; 16];
        for byte in 0..16 {
            address[byte] ^= 1;
            assert!(!cookies.accepts(at(0), Peer::new(address, 4000), 17, &cookie));
            address[byte] ^= 1;
        }
        assert!(!cookies.accepts(at(0), ANN, 18, &cookie));
        assert!(!cookies.accepts(at(0), ANN, 17, &[0; 16]));
        let others = Cookies::new(&mut Seeded::new(3));
        assert!(!others.accepts(at(0), ANN, 17, &cookie), "another server's, or after a restart");
    }

    #[test]
    fn rotating_the_secret_cuts_no_cookie_short_and_prolongs_none() {
        let random = &mut Seeded::new(4);
        let mut cookies = Cookies::new(random);
        let cookie = cookies.bake(at(1000), ANN, 17);
        cookies.rotate(at(1500), random);
        assert!(cookies.accepts(at(7999), ANN, 17, &cookie));
        assert!(!cookies.accepts(at(8000), ANN, 17, &cookie));
        cookies.rotate(at(1600), random);
        assert!(!cookies.accepts(at(1600), ANN, 17, &cookie), "two rotations in a row do");
    }
}
