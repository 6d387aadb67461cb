//! Addresses as people write them, and sockets at them; every failure says what to do.

use anyhow::{Context, anyhow};
use sametick_links::UdpLink;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// An address to listen at: numbers, and a port of which 0 is any.
pub(crate) fn listening(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write ADDRESS:PORT, such as 0.0.0.0:4000 or [::]:4000".to_owned())
}

/// The address of another host, which may have a name.
pub(crate) fn resolve(text: &str) -> anyhow::Result<SocketAddr> {
    let advice = || format!("cannot connect to {text:?}: write HOST:PORT, such as 127.0.0.1:4000");
    let found = text.to_socket_addrs().with_context(advice)?;
    // Servers listen on IPv4 unless told otherwise, and a name may stand for both.
    found.min_by_key(SocketAddr::is_ipv6).with_context(advice)
}

/// Where others reach a match on this machine, if nobody says otherwise and the port is free; else at any that is.
pub(crate) const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4000);

/// A socket at the address that was chosen, or near the usual one.
pub(crate) fn bind_chosen(chosen: Option<SocketAddr>, option: &str) -> anyhow::Result<UdpLink> {
    match chosen {
        Some(address) => bind(address, option),
        None => UdpLink::bind(USUAL).or_else(|_| bind(SocketAddr::new(USUAL.ip(), 0), option)),
    }
}

/// A socket at an address.
pub(crate) fn bind(address: SocketAddr, option: &str) -> anyhow::Result<UdpLink> {
    UdpLink::bind(address).map_err(|error| refused(&error, address, option, "UDP"))
}

/// Why an address could not be listened at, in a sentence.
pub(crate) fn refused(
    error: &std::io::Error,
    address: SocketAddr,
    option: &str,
    protocol: &str,
) -> anyhow::Error {
    match error.kind() {
        ErrorKind::AddrInUse => anyhow!(
            "{protocol} port {} at {} is taken: choose another with {option}, or port 0 for any that is free",
            address.port(),
            address.ip(),
        ),
        ErrorKind::AddrNotAvailable => anyhow!(
            "{} is no address of this machine: {option} takes one of its own, or 0.0.0.0 for all of them",
            address.ip(),
        ),
        ErrorKind::PermissionDenied => anyhow!(
            "the system does not allow port {}: choose one above 1023 with {option}",
            address.port(),
        ),
        _ => anyhow!("cannot listen at {address}: {error}; choose another with {option}"),
    }
}

/// Where a program on this machine reaches a server that listens at `bound`.
pub(crate) fn nearby(bound: SocketAddr) -> SocketAddr {
    let mut near = bound;
    if bound.ip().is_unspecified() {
        match bound {
            SocketAddr::V4(_) => near.set_ip([127, 0, 0, 1].into()),
            SocketAddr::V6(_) => near.set_ip([0, 0, 0, 0, 0, 0, 0, 1].into()),
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_everywhere_is_reached_nearby() {
        let near = |text: &str| nearby(text.parse().unwrap()).to_string();
        assert_eq!(near("0.0.0.0:7"), "127.0.0.1:7");
        assert_eq!(near("[::]:7"), "[::1]:7");
        assert_eq!(near("192.0.2.1:7"), "192.0.2.1:7");
    }
}
