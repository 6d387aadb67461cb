//! What Linux has for many datagrams at once. Counts nothing.

use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike, recvmmsg};
use rustix::net::addr::SocketAddrArg;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny, sendmmsg};

use super::batch::{BATCH, Incoming, NOWHERE, Outgoing};

thread_local! {
    // What the system fills in for each datagram. They cannot move to another thread, as links can,
    // so that all links of a thread share them. The two families do not: how long an address may be
    // is as the last call left it.
    static IPV4: RefCell<MultiHeaders<SockaddrIn>> =
        RefCell::new(MultiHeaders::preallocate(BATCH, None));
    static IPV6: RefCell<MultiHeaders<SockaddrIn6>> =
        RefCell::new(MultiHeaders::preallocate(BATCH, None));
}

/// Receives up to [`BATCH`] datagrams with one call.
pub(super) fn receive(socket: &UdpSocket, is_ipv6: bool, into: &mut Incoming) -> io::Result<()> {
    match is_ipv6 {
        true => IPV6.with_borrow_mut(|headers| receive_with(headers, socket, into)),
        false => IPV4.with_borrow_mut(|headers| receive_with(headers, socket, into)),
    }
}

fn receive_with<A: SockaddrLike + Copy + Into<SocketAddr>>(
    headers: &mut MultiHeaders<A>,
    socket: &UdpSocket,
    into: &mut Incoming,
) -> io::Result<()> {
    let (buffers, heads) = into.room();
    let mut slices = buffers.each_mut().map(|buffer| [IoSliceMut::new(buffer)]);
    let flags = MsgFlags::MSG_DONTWAIT;
    let received = recvmmsg(socket.as_raw_fd(), headers, slices.iter_mut(), flags, None)?;
    let mut filled = 0;
    for (head, datagram) in heads.iter_mut().zip(received) {
        *head = (datagram.address.map_or(NOWHERE, A::into), datagram.bytes);
        filled += 1;
    }
    into.fill(filled);
    Ok(())
}

/// Sends all datagrams with one call; says how many of them the system took.
pub(super) fn send(socket: &UdpSocket, from: &Outgoing) -> io::Result<usize> {
    let mut waiting = from.iter();
    let mut addresses: [SocketAddrAny; BATCH] = std::array::from_fn(|_| NOWHERE.as_any());
    let slices: [[IoSlice<'_>; 1]; BATCH] = std::array::from_fn(|index| {
        let (to, datagram) = waiting.next().unwrap_or((NOWHERE, &[]));
        addresses[index] = to.as_any();
        [IoSlice::new(datagram)]
    });
    let mut controls: [SendAncillaryBuffer<'_, '_, '_>; BATCH] =
        std::array::from_fn(|_| SendAncillaryBuffer::default());
    let mut index = 0;
    let mut messages = controls.each_mut().map(|control| {
        index += 1;
        MMsgHdr::new_with_addr(&addresses[index - 1], &slices[index - 1], control)
    });
    Ok(sendmmsg(socket, &mut messages[..from.waiting()], SendFlags::DONTWAIT)?)
}
