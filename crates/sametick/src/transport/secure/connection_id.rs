//! The name of a connection on the wire, which survives a change of address. Keeps no table.

/// Names a connection in every packet towards the server: its slot and 16 random bits.
///
/// No two connections of a server have the same one: not those that are live, nor those that are
/// half-open or still say goodbye. The random half tells a connection from others in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(u32);

impl ConnectionId {
    /// How long it is on the wire.
    pub const BYTES: usize = 4;

    /// The name of the connection in `slot`.
    pub const fn new(slot: u16, salt: u16) -> Self {
        Self((salt as u32) << 16 | slot as u32)
    }

    /// As it stands on the wire.
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }

    /// From the wire. Every value is a name, whether or not a connection bears it.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }

    /// The place in the server's table of connections where it belongs.
    pub const fn slot(self) -> u16 {
        self.0 as u16
    }
}
