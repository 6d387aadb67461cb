//! The page server: the page itself, what a page must know to join, and the options of both. The files are served
//! apart from the sessions, so that other pages can be served alone.

mod files;
mod session;

use crate::address;
use anyhow::{anyhow, bail};
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{HeaderName, X_CONTENT_TYPE_OPTIONS};
use axum::middleware;
use axum::response::Response;
use clap::Args;
use sametick_links::web::{Door, WebConfig, WebLink};
pub(crate) use session::{Beside, Match, digits, is_own_page};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};

/// Where `play` serves its page, if the port is free; else at any that is.
const USUAL: ([u8; 4], u16) = ([127, 0, 0, 1], 4080);

/// The page that stands for the whole, unless a game has one of its own.
pub(crate) const FRONT: &str = "index.html";

/// Where browsers get in.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct Options {
    /// Serve the page here, over TCP: 0.0.0.0:4080 lets in the whole network, `off` is without
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_or_off)]
    page: Option<Place>,
    /// WebTransport over UDP; without it at the page's address, `off` is without
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_or_off)]
    webtransport: Option<Place>,
    /// PEM file with a certificate that browsers know: pages are then served over https
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// PEM file with its key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Another origin whose pages may join, such as `https://game.example.org`
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    origin: Option<String>,
}

/// An address, or none on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    At(SocketAddr),
    Off,
}

fn listening_or_off(text: &str) -> Result<Place, String> {
    match text {
        "off" => Ok(Place::Off),
        text => address::listening(text).map(Place::At),
    }
}

fn origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://"));
    match host.map(|host| host.trim_end_matches('/')) {
        Some(host) if !host.is_empty() && !host.contains('/') => Ok(text.to_owned()),
        _ => Err("write a scheme and a host, such as https://game.example.org".to_owned()),
    }
}

impl Options {
    /// Whether somebody has asked for a page.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(self.page, Some(Place::At(_)))
    }

    /// Opens the doors for browsers, if there are to be any. `is_usual` is to have them without being asked.
    pub(crate) fn open(&self, is_usual: bool, game: Match) -> anyhow::Result<Option<WebLink>> {
        if self.cert.is_some() != self.key.is_some() {
            bail!("a certificate and its key go together: give both --cert and --key");
        }
        let (page, is_chosen) = match self.page {
            Some(Place::At(address)) => (address, true),
            None if is_usual => (SocketAddr::from(USUAL), false),
            Some(Place::Off) | None => return Ok(None),
        };
        let (facts, board, beside) = (game.facts.clone(), game.board.clone(), game.beside.clone());
        let started = self.start(page, game.clone());
        let started = match started {
            Err(error) if !is_chosen && error.kind() == ErrorKind::AddrInUse => {
                self.start(SocketAddr::new(page.ip(), 0), game)
            }
            started => started,
        };
        let web = started.map_err(|error| match error.kind() {
            ErrorKind::Other => anyhow!("{error}"),
            _ => self.refused(&error, page),
        })?;
        beside.add(web.door().page().port(), facts, board);
        Ok(Some(web))
    }

    /// Which of the doors could not be opened. They were tried together, so each is tried again.
    fn refused(&self, error: &std::io::Error, page: SocketAddr) -> anyhow::Error {
        let beside = match self.webtransport {
            Some(Place::At(address)) => Some((address, "--webtransport")),
            Some(Place::Off) => None,
            None => Some((page, "--page")),
        };
        let is_free = TcpListener::bind(page).is_ok();
        match beside.filter(|(address, _)| is_free && UdpSocket::bind(address).is_err()) {
            Some((address, option)) => address::refused(error, address, option, "UDP"),
            None => address::refused(error, page, "--page", "TCP"),
        }
    }

    /// The same at free ports, for another match.
    pub(crate) fn elsewhere(&self) -> Self {
        let free = |place: Place| match place {
            Place::At(address) => Place::At(SocketAddr::new(address.ip(), 0)),
            Place::Off => Place::Off,
        };
        let (page, webtransport) = (self.page.map(free), self.webtransport.map(free));
        Self { page, webtransport, ..self.clone() }
    }

    fn start(&self, page: SocketAddr, game: Match) -> std::io::Result<WebLink> {
        let webtransport = match self.webtransport {
            Some(Place::At(address)) => Some(address),
            Some(Place::Off) => None,
            None => Some(page),
        };
        let front = game.front;
        WebLink::start(WebConfig {
            router: Box::new(move |door| {
                isolated(files::router(front).merge(session::router(door, game)))
            }),
            ..self.config(page, webtransport)
        })
    }

    fn config(&self, page: SocketAddr, webtransport: Option<SocketAddr>) -> WebConfig {
        WebConfig {
            certificate: self.cert.clone().zip(self.key.clone()),
            origins: self.origin.iter().cloned().collect(),
            ..WebConfig::new(page, webtransport)
        }
    }

    /// For this machine alone, at a free port and without WebTransport.
    pub(crate) fn of_this_machine() -> Self {
        let free = SocketAddr::new(SocketAddr::from(USUAL).ip(), 0);
        let (page, webtransport) = (Some(Place::At(free)), Some(Place::Off));
        Self { page, webtransport, cert: None, key: None, origin: None }
    }

    /// Serves the page's files and what else a router answers, but no match: those have doors of their own.
    pub(crate) fn serve(
        &self,
        front: &'static str,
        router: impl FnOnce(Door) -> Router + Clone + Send + 'static,
    ) -> anyhow::Result<WebLink> {
        if self.cert.is_some() != self.key.is_some() {
            bail!("a certificate and its key go together: give both --cert and --key");
        }
        let start = |page: SocketAddr| {
            let router = router.clone();
            WebLink::start(WebConfig {
                router: Box::new(move |door| isolated(files::router(front).merge(router(door)))),
                ..self.config(page, None)
            })
        };
        let (page, started) = match self.page {
            Some(Place::Off) => bail!("people join by their browsers: --page cannot be off"),
            Some(Place::At(page)) => (page, start(page)),
            None => {
                let usual = SocketAddr::from(USUAL);
                let started = start(usual).or_else(|_| start(SocketAddr::new(usual.ip(), 0)));
                (usual, started)
            }
        };
        started.map_err(|error| match error.kind() {
            ErrorKind::Other => anyhow!("{error}"),
            _ => address::refused(&error, page, "--page", "TCP"),
        })
    }

    /// A door for players alone, whose pages are served at another port of this program.
    pub(crate) fn side_door(&self, at: SocketAddr, pages_at: u16) -> std::io::Result<WebLink> {
        let is_without = self.webtransport == Some(Place::Off);
        let config = self.config(at, (!is_without).then_some(at));
        WebLink::start(WebConfig { pages_at: Some(pages_at), ..config })
    }

    /// Where people are told to go: the name that was given, or the address by which the network knows it.
    pub(crate) fn told(&self, door: &Door) -> String {
        let named = self.origin.as_ref().map(|origin| format!("{}/", origin.trim_end_matches('/')));
        let near = || written(door, address::nearby(door.page()));
        named.or_else(|| from_network(door)).unwrap_or_else(near)
    }
}

/// Serves the page's files and nothing else.
pub(crate) fn alone(page: SocketAddr) -> anyhow::Result<WebLink> {
    let started = WebLink::start(WebConfig {
        router: Box::new(|_door| isolated(files::router(FRONT))),
        ..WebConfig::new(page, None)
    });
    started.map_err(|error| address::refused(&error, page, "--page", "TCP"))
}

/// Writes all that the theatre needs into a folder that any host can serve; how many bytes that is.
pub(crate) fn write_theatre(folder: &Path) -> anyhow::Result<usize> {
    let is_wanted =
        |path: &str| ["theatre", "sametick_theatre"].iter().any(|of| path.starts_with(of));
    let bytes = files::write(folder, is_wanted)?;
    // What hosts answer with when only the folder is asked for.
    let copied = std::fs::copy(folder.join("theatre.html"), folder.join("index.html"))?;
    Ok(bytes + copied as usize)
}

/// Pages of their own world: no other page shares their memory or can look into it.
fn isolated(router: Router) -> Router {
    const HEADERS: [(HeaderName, HeaderValue); 5] = [
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (
            HeaderName::from_static("cross-origin-embedder-policy"),
            HeaderValue::from_static("require-corp"),
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("same-origin")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    router.layer(middleware::map_response(async |mut response: Response| {
        response.headers_mut().extend(HEADERS);
        response
    }))
}

/// The addresses to open: on this machine, and from the network if it can be reached from there.
pub(crate) fn addresses(web: &WebLink) -> Vec<String> {
    let door = web.door();
    let mut all = vec![written(door, address::nearby(door.page()))];
    all.extend(from_network(door));
    all.dedup();
    all
}

/// The address to open on another machine of the network, if the page can be reached from there.
pub(crate) fn from_network(door: &Door) -> Option<String> {
    let bound = door.page();
    let ip = match bound.ip() {
        ip if ip.is_loopback() => return None,
        ip if ip.is_unspecified() => from_outside()?,
        ip => ip,
    };
    Some(written(door, SocketAddr::new(ip, bound.port())))
}

fn written(door: &Door, address: SocketAddr) -> String {
    format!("{}://{address}/", if door.is_tls() { "https" } else { "http" })
}

/// This machine's address in its network. Nothing is sent: the system only says from where it would be.
fn from_outside() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|local| local.ip()).filter(|ip| !ip.is_unspecified())
}

/// Opens an address in this machine's browser; says whether there is one.
pub(crate) fn open_browser(address: &str) -> bool {
    let (program, first): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/c", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = std::process::Command::new(program);
    command.args(first).arg(address).stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null()).spawn().is_ok()
}
