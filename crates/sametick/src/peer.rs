//! Where a datagram comes from or goes to. Opens no socket.

/// An address and a port. IPv4 addresses stand in their mapped form, `::ffff:a.b.c.d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    address: [u8; 16],
    port: u16,
}

impl Peer {
    /// A peer at an address in network order.
    pub const fn new(address: [u8; 16], port: u16) -> Self {
        Self { address, port }
    }

    /// The address in network order.
    pub const fn address(self) -> [u8; 16] {
        self.address
    }

    /// The port.
    pub const fn port(self) -> u16 {
        self.port
    }
}
