//! A line between a page and its server that neither knows of: what comes is passed on later, or not at all. The
//! server's port for WebTransport is replaced by the relay's in what passes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// How many packets may be under way; more are lost.
const UNDER_WAY_MAX: usize = 4096;
const BYTES_MAX: usize = 65_536;

/// What it does to what passes; changed while it runs.
#[derive(Default)]
pub(super) struct Line {
    /// Each way.
    pub(super) delay_ms: AtomicU64,
    /// Of the server's datagrams, one in so many is lost; none if zero.
    pub(super) loses_one_in: AtomicU64,
}

/// A relay that has its ports, and nobody to relay to.
pub(super) struct Relay {
    pages: TcpListener,
    datagrams: UdpSocket,
    pub(super) line: Arc<Line>,
}

impl Relay {
    pub(super) fn bind() -> Result<Self> {
        let pages = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self { pages, datagrams: UdpSocket::bind("127.0.0.1:0")?, line: Arc::default() })
    }

    /// Where pages find it.
    pub(super) fn address(&self) -> Result<SocketAddr> {
        Ok(self.pages.local_addr()?)
    }

    /// Relays to a server's page, and to its port for WebTransport, until the program ends.
    pub(super) fn start(&self, page: &str, webtransport: u16) -> Result<()> {
        let own = self.datagrams.local_addr()?.port();
        self.relay_datagrams(webtransport)?;
        self.start_streams(page, BTreeMap::from([(webtransport, own)]))
    }

    /// Relays streams alone; ports that the server tells of are replaced.
    pub(super) fn start_streams(&self, page: &str, ports: BTreeMap<u16, u16>) -> Result<()> {
        let written = |(old, new)| [old, new].map(|port| format!("\"port\":{port}"));
        let ports: Vec<[String; 2]> = ports.into_iter().map(written).collect();
        let is_even = ports.iter().all(|[old, new]| old.len() == new.len());
        ensure!(is_even, "{ports:?} have not the same length");
        let (listener, line) = (self.pages.try_clone()?, Arc::clone(&self.line));
        let page = page.to_owned();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&page) else { return };
                let pair = [client.try_clone(), server.try_clone()];
                let [Ok(client_too), Ok(server_too)] = pair else { return };
                let (up, down) = (Arc::clone(&line), Arc::clone(&line));
                let ports = ports.clone();
                thread::spawn(move || pass(client, server, &up, |_| {}));
                thread::spawn(move || {
                    pass(server_too, client_too, &down, |bytes| replace(bytes, &ports));
                });
            }
        });
        Ok(())
    }

    fn relay_datagrams(&self, webtransport: u16) -> Result<()> {
        let (near, far) = (self.datagrams.try_clone()?, UdpSocket::bind("127.0.0.1:0")?);
        far.connect(("127.0.0.1", webtransport)).context("no server for datagrams")?;
        let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let heard = Arc::clone(&client);
        let (near_too, far_too) = (near.try_clone()?, far.try_clone()?);
        let up = later(Arc::clone(&self.line), move |bytes| _ = far.send(bytes));
        thread::spawn(move || {
            let mut buffer = vec![0; BYTES_MAX];
            while let Ok((length, from)) = near.recv_from(&mut buffer) {
                *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
                let _ = up.try_send((Instant::now(), buffer[..length].to_vec()));
            }
        });
        let down = later(Arc::clone(&self.line), move |bytes| {
            let to = *client.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = to.map(|to| near_too.send_to(bytes, to));
        });
        let line = Arc::clone(&self.line);
        thread::spawn(move || {
            let (mut buffer, mut count) = (vec![0; BYTES_MAX], 0u64);
            while let Ok(length) = far_too.recv(&mut buffer) {
                count += 1;
                let one_in = line.loses_one_in.load(Ordering::Relaxed);
                if one_in == 0 || !count.is_multiple_of(one_in) {
                    let _ = down.try_send((Instant::now(), buffer[..length].to_vec()));
                }
            }
        });
        Ok(())
    }
}

/// Does something with what is sent here, as much later as the line says.
fn later(
    line: Arc<Line>,
    mut act: impl FnMut(&[u8]) + Send + 'static,
) -> SyncSender<(Instant, Vec<u8>)> {
    let (sender, waiting): (_, Receiver<(Instant, Vec<u8>)>) = sync_channel(UNDER_WAY_MAX);
    thread::spawn(move || {
        for (came, bytes) in waiting {
            let delay = Duration::from_millis(line.delay_ms.load(Ordering::Relaxed));
            thread::sleep((came + delay).saturating_duration_since(Instant::now()));
            act(&bytes);
        }
    });
    sender
}

/// Passes a stream on until it ends.
fn pass(mut from: TcpStream, mut to: TcpStream, line: &Arc<Line>, change: impl Fn(&mut [u8])) {
    let Ok(end) = to.try_clone() else { return };
    let _ = to.set_nodelay(true);
    let sender = later(Arc::clone(line), move |bytes| {
        if bytes.is_empty() {
            let _ = end.shutdown(Shutdown::Write);
        } else {
            let _ = to.write_all(bytes);
        }
    });
    let mut buffer = vec![0; BYTES_MAX];
    loop {
        let length = from.read(&mut buffer).unwrap_or(0);
        change(&mut buffer[..length]);
        // A stream loses nothing: whoever sends waits.
        if sender.send((Instant::now(), buffer[..length].to_vec())).is_err() || length == 0 {
            return;
        }
    }
}

/// Wherever it stands.
fn replace(bytes: &mut [u8], ports: &[[String; 2]]) {
    for [old, new] in ports {
        for at in 0..bytes.len().saturating_sub(old.len() - 1) {
            if bytes[at..].starts_with(old.as_bytes()) {
                bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
            }
        }
    }
}
