//! `UdpLink`: datagrams as the internet knows them, many with one call to the system. Knows no
//! connection.

mod batch;
mod exchange;
#[cfg(target_os = "linux")]
mod linux;
mod wire;

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::event::{PollFd, PollFlags};
use sametick::{Peer, Time};
use socket2::{Protocol, Socket, Type};

use crate::clock::Clock;
use crate::link::{Link, assert_fits, peer_at};
use crate::socket;
use exchange::Exchange;
pub use exchange::UdpStatistics;
use wire::Wire;

/// How many bytes the system is asked to hold in each direction. Under a flood of 200,000 datagrams
/// a second the usual 208 KiB lost 3 % of everyone else's, and 4 MiB none.
pub const BUFFER_BYTES_WANTED: usize = 4 << 20;
/// What is asked for if that is refused is halved, down to this.
const BUFFER_BYTES_ASKED_MIN: usize = 128 << 10;

/// A UDP socket.
///
/// Errors that other hosts cause, by being gone or unreachable, are counted and stop nothing. In the
/// steady state it allocates nothing.
///
/// ```
/// use sametick::Span;
/// use sametick_links::{Clock, Link, UdpLink};
///
/// let clock = Clock::start();
/// let mut one = UdpLink::bind("127.0.0.1:0".parse()?)?;
/// let mut other = UdpLink::bind("127.0.0.1:0".parse()?)?;
/// one.warnings().iter().for_each(|warning| eprintln!("{warning}"));
///
/// one.send(clock.now(), other.local(), b"hello");
/// one.flush(clock.now());
/// other.wait(&clock, clock.now() + Span::seconds(5));
/// let mut datagram = Vec::new();
/// assert_eq!(other.receive(clock.now(), &mut datagram), Some(one.local()));
/// assert_eq!(datagram, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct UdpLink {
    wire: Wire,
    exchange: Exchange,
    local: Peer,
    warnings: Vec<UdpWarning>,
}

/// Something about a socket that works, but worse than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpWarning {
    /// Bursts that arrive while the program is busy will lose datagrams.
    SmallReceiveBuffer {
        /// What the system granted of [`BUFFER_BYTES_WANTED`].
        granted_bytes: usize,
    },
    /// Bursts that are sent at once will lose datagrams.
    SmallSendBuffer {
        /// What the system granted of [`BUFFER_BYTES_WANTED`].
        granted_bytes: usize,
    },
}

impl UdpLink {
    /// Binds a socket. Port 0 is any that is free.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::bind_wanting(address, BUFFER_BYTES_WANTED)
    }

    /// Binds a port on all addresses of this machine, IPv6 and IPv4 at once where there are both.
    pub fn bind_everywhere(port: u16) -> io::Result<Self> {
        socket::everywhere(port, Self::bind)
    }

    /// Whether the system has to be asked for what comes next, which then shows on the socket.
    #[cfg(feature = "web")]
    pub(crate) fn may_sleep(&mut self) -> bool {
        self.exchange.flush(&mut self.wire);
        !self.exchange.has_waiting()
    }

    #[cfg(feature = "web")]
    pub(crate) fn socket(&self) -> &UdpSocket {
        self.wire.socket()
    }

    fn bind_wanting(address: SocketAddr, buffer_bytes: usize) -> io::Result<Self> {
        let socket = socket::bind(address, Type::DGRAM, Protocol::UDP)?;
        let warnings = enlarge_buffers(&socket, buffer_bytes);
        let socket = UdpSocket::from(socket);
        let bound = socket.local_addr()?;
        Ok(Self {
            wire: Wire::new(socket)?,
            exchange: Exchange::new(bound.is_ipv6()),
            local: peer_at(bound),
            warnings,
        })
    }

    /// What is worse than it should be, for whoever starts the program to read.
    pub fn warnings(&self) -> &[UdpWarning] {
        &self.warnings
    }

    /// What became of all datagrams so far.
    pub fn statistics(&self) -> UdpStatistics {
        self.exchange.statistics()
    }
}

impl Link for UdpLink {
    fn local(&self) -> Peer {
        self.local
    }

    fn receive(&mut self, _now: Time, into: &mut Vec<u8>) -> Option<Peer> {
        self.exchange.receive(&mut self.wire, into)
    }

    fn send(&mut self, _now: Time, to: Peer, datagram: &[u8]) {
        assert_fits(datagram);
        self.exchange.send(&mut self.wire, to, datagram);
    }

    fn flush(&mut self, _now: Time) {
        self.exchange.flush(&mut self.wire);
    }

    fn wait(&mut self, clock: &Clock, until: Time) {
        self.exchange.flush(&mut self.wire);
        if self.exchange.has_waiting() {
            return;
        }
        let readable = PollFd::new(self.wire.socket(), PollFlags::IN);
        socket::sleep_on(&mut [readable], until - clock.now());
    }
}

/// Asks for large buffers and says where they were not granted.
fn enlarge_buffers(socket: &Socket, wanted: usize) -> Vec<UdpWarning> {
    enlarge(wanted, |bytes| socket.set_recv_buffer_size(bytes));
    enlarge(wanted, |bytes| socket.set_send_buffer_size(bytes));
    let (receive, send) = (granted(socket.recv_buffer_size()), granted(socket.send_buffer_size()));
    let receive = UdpWarning::SmallReceiveBuffer { granted_bytes: receive };
    let send = UdpWarning::SmallSendBuffer { granted_bytes: send };
    [receive, send].into_iter().filter(|warning| warning.granted_bytes() < wanted).collect()
}

/// Some systems grant what they can, others refuse what is too much.
fn enlarge(wanted: usize, ask: impl Fn(usize) -> io::Result<()>) {
    let mut bytes = wanted;
    while bytes >= BUFFER_BYTES_ASKED_MIN && ask(bytes).is_err() {
        bytes /= 2;
    }
}

fn granted(read_back: io::Result<usize>) -> usize {
    // Linux doubles what it grants, for its own records, and says the double.
    let bytes = read_back.unwrap_or(0);
    if cfg!(target_os = "linux") { bytes / 2 } else { bytes }
}

impl UdpWarning {
    fn granted_bytes(&self) -> usize {
        match *self {
            Self::SmallReceiveBuffer { granted_bytes } => granted_bytes,
            Self::SmallSendBuffer { granted_bytes } => granted_bytes,
        }
    }
}

impl fmt::Display for UdpWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (direction, setting, lost) = match self {
            Self::SmallReceiveBuffer { .. } => ("receive", "rmem_max", "arrive"),
            Self::SmallSendBuffer { .. } => ("send", "wmem_max", "are sent"),
        };
        let (granted, wanted) = (self.granted_bytes() >> 10, BUFFER_BYTES_WANTED >> 10);
        write!(
            f,
            "the system grants a UDP {direction} buffer of {granted} KiB instead of {wanted}: \
             datagrams that {lost} in bursts will be lost"
        )?;
        if cfg!(target_os = "linux") {
            write!(f, "; raise net.core.{setting} to {BUFFER_BYTES_WANTED}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_buffer_is_warned_of_and_works() {
        let absurd = 1 << 30;
        let local = "127.0.0.1:0".parse().unwrap();
        let link = UdpLink::bind_wanting(local, absurd).unwrap();
        assert_eq!(link.warnings().len(), 2, "{:?}", link.warnings());
        assert!(link.warnings().iter().all(|warning| warning.granted_bytes() < absurd));
        assert_eq!(UdpLink::bind_wanting(local, 1).unwrap().warnings(), []);
    }

    #[test]
    fn a_warning_says_what_to_do() {
        let text = UdpWarning::SmallReceiveBuffer { granted_bytes: 208 << 10 }.to_string();
        assert!(text.contains("receive buffer of 208 KiB instead of 4096"), "{text}");
        assert_eq!(text.contains("net.core.rmem_max to 4194304"), cfg!(target_os = "linux"));
    }
}
