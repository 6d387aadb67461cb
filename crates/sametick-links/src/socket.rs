//! Opens sockets and sleeps on them. Knows no datagram.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::event::{PollFd, Timespec, poll};
use sametick::Span;
use socket2::{Domain, Protocol, Socket, Type};

/// The longest sleep at once: an hour. Whoever wants more sleeps again.
const SLEEP_MAX: Span = Span::seconds(3_600);
const MICROS_PER_SECOND: u64 = 1_000_000;
const NANOS_PER_MICRO: u64 = 1_000;

/// A bound socket that never blocks. One bound to an IPv6 address hears IPv4 too, where the address
/// stands for both.
pub(crate) fn bind(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if address.is_ipv6() {
        // Some systems have one or the other; they say so when IPv4 is sent to.
        let _ = socket.set_only_v6(false);
    }
    // Lets a server that was just stopped start again; on Windows it would let two share a port.
    if cfg!(unix) && kind == Type::STREAM {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Opens with all IPv6 and IPv4 addresses of this machine, or where there is no IPv6 with IPv4 alone.
pub(crate) fn everywhere<T>(
    port: u16,
    open: impl Fn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    match open(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))) {
        // That the port is taken is not what IPv4 would help against.
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
            open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))
        }
        opened => opened,
    }
}

/// Sleeps until one of the sockets is ready or the time is over, or a little shorter.
pub(crate) fn sleep_on(sockets: &mut [PollFd<'_>], at_most: Span) {
    let micros = at_most.min(SLEEP_MAX).as_micros();
    let timeout = Timespec {
        tv_sec: (micros / MICROS_PER_SECOND) as i64,
        tv_nsec: (micros % MICROS_PER_SECOND * NANOS_PER_MICRO) as _,
    };
    // A signal, or a system that is out of memory: in both cases the caller looks for itself.
    let _ = poll(sockets, Some(&timeout));
}

/// Sleeps until one of the UDP sockets has something to read or the time is over, or a little shorter.
#[cfg(feature = "web")]
pub(crate) fn sleep_on_readable(sockets: &[&std::net::UdpSocket], at_most: Span) {
    use rustix::event::PollFlags;
    let mut sockets: Vec<_> =
        sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::IN)).collect();
    sleep_on(&mut sockets, at_most);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everywhere_is_ipv4_alone_only_where_there_is_no_ipv6() {
        let open = |kind: Option<io::ErrorKind>| {
            everywhere(7, |address| match kind {
                Some(kind) if address.is_ipv6() => Err(kind.into()),
                _ => Ok(address.to_string()),
            })
        };
        assert_eq!(open(None).unwrap(), "[::]:7");
        assert_eq!(open(Some(io::ErrorKind::Unsupported)).unwrap(), "0.0.0.0:7");
        assert!(open(Some(io::ErrorKind::AddrInUse)).is_err());
    }
}
