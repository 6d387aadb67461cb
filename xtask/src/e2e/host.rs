//! A plain host of static files, as anybody has one: a folder below some path, and nothing else. Remembers what it was
//! asked for.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// Where the folder is, so that a page that asks for the root of its host is found out.
const BELOW: &str = "/some/where/";

/// Runs until the program ends.
pub(crate) struct Host {
    address: SocketAddr,
    missed: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let missed = Arc::new(Mutex::new(Vec::new()));
        let (folder, known) = (folder.to_path_buf(), Arc::clone(&missed));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, known) = (folder.clone(), Arc::clone(&known));
                thread::spawn(move || answer(stream, &folder, &known));
            }
        });
        Ok(Self { address, missed })
    }

    /// The folder's address.
    pub(crate) fn page(&self) -> String {
        format!("http://{}{BELOW}", self.address)
    }

    /// What was asked for and is not there.
    pub(crate) fn missed(&self) -> Vec<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One request a connection. Whoever hangs up has changed its mind.
fn answer(mut stream: TcpStream, folder: &Path, missed: &Mutex<Vec<String>>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let path = first.split(' ').nth(1)?.split('?').next()?;
    let name = path.strip_prefix(BELOW).filter(|name| !name.contains(".."));
    let name = name.map(|name| if name.is_empty() { "index.html" } else { name });
    let bytes = name.and_then(|name| std::fs::read(folder.join(name)).ok());
    let kind = match path.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        _ => "text/html",
    };
    let code = if bytes.is_some() { "200 OK" } else { "404 Not Found" };
    if bytes.is_none() {
        missed.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
    }
    let bytes = bytes.unwrap_or_default();
    let length = bytes.len();
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&bytes).ok()
}
