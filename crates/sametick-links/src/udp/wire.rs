//! The calls to the system: many datagrams at once where it takes many. Counts nothing.

use std::io;
use std::net::UdpSocket;

use super::batch::{Incoming, Outgoing};
#[cfg(target_os = "linux")]
use super::linux;

/// All that is asked of the system. A test stands in for it, to fail as systems do.
pub(super) trait Calls {
    /// Fills with what has arrived, at least one datagram.
    fn receive(&mut self, into: &mut Incoming) -> io::Result<()>;

    /// Sends the first of at least one datagram, and others after it if it likes; says how many. An
    /// error concerns the first.
    fn send(&mut self, from: &Outgoing) -> io::Result<usize>;
}

/// A socket that never blocks.
#[derive(Debug)]
pub(super) struct Wire {
    socket: UdpSocket,
    #[cfg(target_os = "linux")]
    is_ipv6: bool,
}

impl Wire {
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        Ok(Self {
            #[cfg(target_os = "linux")]
            is_ipv6: socket.local_addr()?.is_ipv6(),
            socket,
        })
    }

    pub(super) fn socket(&self) -> &UdpSocket {
        &self.socket
    }
}

#[cfg(target_os = "linux")]
impl Calls for Wire {
    fn receive(&mut self, into: &mut Incoming) -> io::Result<()> {
        linux::receive(&self.socket, self.is_ipv6, into)
    }

    fn send(&mut self, from: &Outgoing) -> io::Result<usize> {
        match from.waiting() {
            // A batch of one costs more than it saves.
            1 => send_one(&self.socket, from),
            _ => linux::send(&self.socket, from),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Calls for Wire {
    fn receive(&mut self, into: &mut Incoming) -> io::Result<()> {
        receive_one(&self.socket, into)
    }

    fn send(&mut self, from: &Outgoing) -> io::Result<usize> {
        send_one(&self.socket, from)
    }
}

#[cfg(any(not(target_os = "linux"), test))]
fn receive_one(socket: &UdpSocket, into: &mut Incoming) -> io::Result<()> {
    /// Windows takes a datagram that is longer than its buffer for an error.
    const WSAEMSGSIZE: i32 = 10_040;

    let (buffers, heads) = into.room();
    let filled = match socket.recv_from(&mut buffers[0]) {
        Err(error) if cfg!(windows) && error.raw_os_error() == Some(WSAEMSGSIZE) => {
            (super::batch::NOWHERE, buffers[0].len())
        }
        received => received.map(|(bytes, from)| (from, bytes))?,
    };
    heads[0] = filled;
    into.fill(1);
    Ok(())
}

fn send_one(socket: &UdpSocket, from: &Outgoing) -> io::Result<usize> {
    let Some((to, datagram)) = from.iter().next() else { return Ok(0) };
    socket.send_to(datagram, to).map(|_| 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_by_one_and_many_at_once_carry_the_same() {
        let bind = || Wire::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
        let (mut sender, mut receiver) = (bind(), bind());
        let to = receiver.socket.local_addr().unwrap();
        let datagrams: [Vec<u8>; 5] = [vec![], vec![1], vec![2; 1200], vec![3; 100], vec![4]];
        let mut outgoing = Outgoing::new();
        for one_by_one in [false, true] {
            datagrams.iter().for_each(|datagram| outgoing.push(to, datagram));
            while outgoing.waiting() > 0 {
                let sent = match one_by_one {
                    true => send_one(&sender.socket, &outgoing),
                    false => sender.send(&outgoing),
                };
                outgoing.take(sent.unwrap());
            }
        }
        let mut incoming = Incoming::new();
        let mut received = Vec::new();
        for one_by_one in [true, false, false] {
            if received.len() < 2 * datagrams.len() {
                match one_by_one {
                    true => receive_one(&receiver.socket, &mut incoming).unwrap(),
                    false => receiver.receive(&mut incoming).unwrap(),
                }
            }
            while let Some((from, datagram)) = incoming.next() {
                let sender = sender.socket.local_addr().unwrap();
                assert_eq!(from, crate::link::peer_at(sender));
                received.push(datagram.to_vec());
            }
        }
        if cfg!(target_os = "linux") {
            assert_eq!(received, [datagrams.clone(), datagrams].concat());
        }
    }
}
