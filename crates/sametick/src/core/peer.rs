//! The address of another host, as a value. Knows no socket and asks no name service.

use std::fmt;

const IPV4_PREFIX: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// Where datagrams come from and go to: an IPv6 address and a port.
///
/// An IPv4 address is the IPv6 address that it maps to. Whoever has a socket converts; the library
/// only compares.
///
/// ```
/// use sametick::Peer;
/// let server = Peer::from_ipv4([192, 0, 2, 7], 4000);
/// assert_eq!(server.to_string(), "192.0.2.7:4000");
/// assert_eq!(server, Peer::new(server.address(), server.port()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    address: [u8; 16],
    port: u16,
}

impl Peer {
    /// A peer at an IPv6 address, its first byte first.
    pub const fn new(address: [u8; 16], port: u16) -> Self {
        Self { address, port }
    }

    /// A peer at an IPv4 address, its first byte first.
    pub fn from_ipv4(address: [u8; 4], port: u16) -> Self {
        let mut mapped = [0; 16];
        mapped[..12].copy_from_slice(&IPV4_PREFIX);
        mapped[12..].copy_from_slice(&address);
        Self::new(mapped, port)
    }

    /// The IPv6 address, its first byte first.
    pub const fn address(self) -> [u8; 16] {
        self.address
    }

    /// The IPv4 address, for a peer that has one.
    pub fn ipv4(self) -> Option<[u8; 4]> {
        let [first @ .., a, b, c, d] = self.address;
        (first == IPV4_PREFIX).then_some([a, b, c, d])
    }

    /// The port.
    pub const fn port(self) -> u16 {
        self.port
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some([a, b, c, d]) = self.ipv4() {
            return write!(f, "{a}.{b}.{c}.{d}:{}", self.port);
        }
        let address = u128::from_be_bytes(self.address);
        write!(f, "[{:x}", address >> 112)?;
        for group in 1..8 {
            write!(f, ":{:x}", address >> (112 - 16 * group) & 0xffff)?;
        }
        write!(f, "]:{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_people_write_it() {
        let mut address = [0; 16];
        (address[0], address[1], address[15]) = (0xfd, 0x0a, 9);
        assert_eq!(Peer::new(address, 80).to_string(), "[fd0a:0:0:0:0:0:0:9]:80");
        assert_eq!(Peer::new(address, 80).ipv4(), None);
        assert_eq!(Peer::from_ipv4([127, 0, 0, 1], 80).to_string(), "127.0.0.1:80");
    }
}
