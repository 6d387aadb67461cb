//! Which pages may open sessions: the server's own, and those that its owner named. Reads headers, and
//! knows nothing else of a request.

/// Who may.
#[derive(Clone, Debug)]
pub(super) struct Origins {
    named: Vec<String>,
}

impl Origins {
    pub(super) fn new(named: Vec<String>) -> Self {
        let trim = |origin: String| origin.trim_end_matches('/').to_ascii_lowercase();
        Self { named: named.into_iter().map(trim).collect() }
    }

    /// Whether a page of that origin may talk to `host`, by which the server was asked. A page served by
    /// the server itself has the same host; `page_port` is where it then came from.
    pub(super) fn accept(&self, origin: &str, host: &str, page_port: u16) -> bool {
        let origin = origin.trim_end_matches('/').to_ascii_lowercase();
        if self.named.contains(&origin) {
            return true;
        }
        let host = host.to_ascii_lowercase();
        let (name, _) = split_port(&host);
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let (origin_name, origin_port) = split_port(rest);
        let usual_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let port = origin_port.unwrap_or(usual_port);
        is_ours(name) && here(origin_name) == here(name) && port == page_port
    }

    /// Whether a request that names this host may be answered: a stranger's name that was made to point
    /// here lets a stranger's page in.
    pub(super) fn knows_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_named = |origin: &String| {
            let name = origin.split_once("://").map_or(origin.as_str(), |(_, rest)| rest);
            name == host || split_port(name).0 == split_port(&host).0
        };
        is_ours(split_port(&host).0) || self.named.iter().any(is_named)
    }
}

/// Addresses, and names that only exist near by.
fn is_ours(name: &str) -> bool {
    let is_address = name.parse::<std::net::Ipv4Addr>().is_ok() || name.starts_with('[');
    is_address || name.ends_with(".local") || (!name.is_empty() && !name.contains('.'))
}

/// One name for the names of this machine.
fn here(name: &str) -> &str {
    if ["localhost", "[::1]"].contains(&name) { "127.0.0.1" } else { name }
}

/// A host's name and port. An IPv6 address stands in brackets.
fn split_port(host: &str) -> (&str, Option<u16>) {
    let after = host.rfind(']').map_or(0, |end| end + 1);
    match host[after..].rfind(':') {
        Some(at) => (&host[..after + at], host[after + at + 1..].parse().ok()),
        None => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_pages_may_and_strangers_may_not() {
        let origins = Origins::new(vec!["https://game.example.org/".into()]);
        for (origin, host, may) in [
            ("http://127.0.0.1:4080", "127.0.0.1:4080", true),
            ("http://127.0.0.1:4080", "127.0.0.1:4001", true),
            ("http://localhost:4080", "127.0.0.1:4001", true),
            ("http://[::1]:4080", "[::1]:4080", true),
            ("http://box.local:4080", "box.local:4080", true),
            ("https://game.example.org", "game.example.org:4080", true),
            ("HTTPS://GAME.example.org", "10.0.0.1:4080", true),
            ("http://127.0.0.1:8000", "127.0.0.1:4080", false),
            ("http://evil.example", "127.0.0.1:4080", false),
            // A name that was made to point here.
            ("http://evil.example:4080", "evil.example:4080", false),
            ("http://localhost:4080", "10.0.0.1:4080", false),
            ("null", "127.0.0.1:4080", false),
            ("file://", "", false),
            ("", "", false),
        ] {
            assert_eq!(origins.accept(origin, host, 4080), may, "{origin} to {host}");
        }
        for (host, known) in [
            ("127.0.0.1:4080", true),
            ("[::1]:4080", true),
            ("box", true),
            ("game.example.org", true),
            ("evil.example:4080", false),
            ("", false),
        ] {
            assert_eq!(origins.knows_host(host), known, "{host}");
        }
    }
}
