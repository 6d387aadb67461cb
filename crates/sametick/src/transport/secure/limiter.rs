//! How much is done for whom, by network prefix, in constant memory and time. Knows addresses and
//! quotas; what is being limited is its caller's affair.
//!
//! A table of token buckets is found by a keyed hash of the prefix (the first 24 bits of an IPv4
//! address, 64 of an IPv6 one). It is lossy on purpose: two prefixes that meet in a bucket take it
//! from each other, each starting full. A flood from everywhere therefore shuts nobody out, and a
//! flood from one place is held to that place's quota. Nobody outside can aim at a bucket.

use std::fmt;

use super::random::{Random, draw};
use super::secret::Secret;
use crate::core::peer::Peer;
use crate::core::time::Time;

/// How many buckets a limiter has; they are all there from the start.
pub const LIMITER_BUCKETS: usize = 4096;

/// How often something may happen for one prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// At once, after a pause.
    pub burst: u32,
    /// In the long run.
    pub per_second: u32,
}

/// Token buckets for every prefix there is, in a table that forgets.
#[derive(Clone)]
pub struct Limiter {
    secret: Secret,
    quota: Quota,
    buckets: Vec<Bucket>,
}

/// A millionth of one permission, so that refilling by microseconds loses nothing.
const WHOLE: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Of the prefix that has it.
    fingerprint: u64,
    /// In millionths.
    left: u64,
    refilled_at: Time,
}

impl Limiter {
    /// Every prefix may use its whole burst from the start.
    pub fn new(quota: Quota, random: &mut dyn Random) -> Self {
        let nobody = Bucket {
            fingerprint: u64::from_le_bytes(draw(random)),
            left: 0,
            refilled_at: Time::from_micros(0),
        };
        Self { secret: Secret::generate(random), quota, buckets: vec![nobody; LIMITER_BUCKETS] }
    }

    /// Takes one permission from the peer's prefix; says whether there was one.
    pub fn allow(&mut self, now: Time, peer: Peer) -> bool {
        let hash = self.secret.tag(&prefix_of(peer));
        let hash = u128::from_le_bytes(hash);
        let bucket = &mut self.buckets[hash as usize % LIMITER_BUCKETS];
        let fingerprint = (hash >> 64) as u64;
        let full = u64::from(self.quota.burst) * WHOLE;
        if bucket.fingerprint != fingerprint {
            *bucket = Bucket { fingerprint, left: full, refilled_at: now };
        }
        let gained =
            (now - bucket.refilled_at).as_micros().saturating_mul(self.quota.per_second.into());
        bucket.left = bucket.left.saturating_add(gained).min(full);
        bucket.refilled_at = bucket.refilled_at.max(now);
        let allowed = bucket.left >= WHOLE;
        bucket.left -= if allowed { WHOLE } else { 0 };
        allowed
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Limiter({:?})", self.quota)
    }
}

/// The part of an address that its owner cannot choose freely, the rest zero. A mapped IPv4 address
/// keeps its marks, so that the two families do not meet.
fn prefix_of(peer: Peer) -> [u8; 16] {
    const IPV4_MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    let address = peer.address();
    let mut prefix = [0; 16];
    let kept = if address.starts_with(&IPV4_MAPPED) { 15 } else { 8 };
    prefix[..kept].copy_from_slice(&address[..kept]);
    prefix
}

#[cfg(test)]
mod tests {
    use super::super::seeded::Seeded;
    use super::*;

    const QUOTA: Quota = Quota { burst: 10, per_second: 5 };

    fn limiter() -> Limiter {
        Limiter::new(QUOTA, &mut Seeded::new(1))
    }

    fn ipv4(address: [u8; 4], port: u16) -> Peer {
        let [a, b, c, d] = address;
        Peer::new([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d], port)
    }

    #[test]
    fn a_prefix_gets_its_burst_and_then_its_rate() {
        let mut limiter = limiter();
        let start = Time::from_micros(5_000_000);
        let allowed = |limiter: &mut Limiter, micros: u64| {
            let now = Time::from_micros(start.as_micros() + micros);
            (0..100u8).filter(|i| limiter.allow(now, ipv4([10, 0, 0, *i], 1))).count()
        };
        assert_eq!(allowed(&mut limiter, 0), 10);
        assert_eq!(allowed(&mut limiter, 199_999), 0);
        assert_eq!(allowed(&mut limiter, 200_000), 1);
        assert_eq!(allowed(&mut limiter, 1_200_000), 5);
        assert_eq!(allowed(&mut limiter, 100_000_000), 10);
        assert_eq!(allowed(&mut limiter, 0), 0, "a clock that goes back gives nothing");
        assert_eq!(allowed(&mut limiter, 100_000_000), 0);
        assert_eq!(allowed(&mut limiter, u64::MAX - start.as_micros()), 10);
    }

    #[test]
    fn prefixes_are_24_bits_of_ipv4_and_64_of_ipv6() {
        let v6 = |subnet: u8, host: u8| {
            let mut address = [0x20; 16];
            (address[7], address[15]) = (subnet, host);
            Peer::new(address, 1)
        };
        assert_eq!(prefix_of(ipv4([1, 2, 3, 4], 1)), prefix_of(ipv4([1, 2, 3, 200], 9)));
        assert_ne!(prefix_of(ipv4([1, 2, 3, 4], 1)), prefix_of(ipv4([1, 2, 4, 4], 1)));
        assert_eq!(prefix_of(v6(1, 1)), prefix_of(v6(1, 2)));
        assert_ne!(prefix_of(v6(1, 1)), prefix_of(v6(2, 1)));
    }

    #[test]
    fn a_flood_from_everywhere_shuts_nobody_out_and_takes_no_memory() {
        let mut limiter = limiter();
        let now = Time::from_micros(0);
        let flood = allocation_counter::measure(|| {
            for source in 0..1_000_000u32 {
                let [a, b, c, d] = source.to_be_bytes();
                limiter.allow(now, Peer::new([a, b, c, d, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0], 1));
            }
        });
        assert_eq!(flood.count_total, 0);
        assert!(limiter.allow(now, ipv4([10, 0, 0, 1], 1)));
    }
}
