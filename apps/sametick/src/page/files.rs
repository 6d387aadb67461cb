//! The page's files: built into released programs, read from target/web by others. Knows nothing of matches.

use anyhow::Context;
use axum::Router;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A file as it is served.
#[cfg_attr(not(embedded_page), allow(dead_code))]
struct File {
    path: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

#[cfg(embedded_page)]
static FILES: &[File] = &include!(concat!(env!("OUT_DIR"), "/page.rs"));
#[cfg(not(embedded_page))]
static FILES: &[File] = &[];

/// Answers with the page's files; `front` is the one that is meant if none is named.
pub(super) fn router(front: &'static str) -> Router {
    Router::new().fallback(move |uri: Uri, headers: HeaderMap| answer(front, uri, headers))
}

/// Writes the files that are wanted into a folder, as they are; how many bytes.
pub(super) fn write(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> anyhow::Result<usize> {
    let mut all: Vec<(String, Vec<u8>)> =
        FILES.iter().map(|file| (file.path.into(), file.plain.into())).collect();
    if all.is_empty() {
        list(&built(), "", &mut all).context("the page is not built: run `cargo xtask web`")?;
    }
    let mut bytes_written = 0;
    for (path, bytes) in all.iter().filter(|(path, _)| is_wanted(path)) {
        let place = folder.join(path);
        place.parent().map(std::fs::create_dir_all).transpose()?;
        std::fs::write(&place, bytes)
            .with_context(|| format!("cannot write {}", place.display()))?;
        bytes_written += bytes.len();
    }
    Ok(bytes_written)
}

/// All files of a built page by their paths in it, but for those that are compressed.
fn list(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else if !name.ends_with(".br") && !name.ends_with(".gz") {
            files.push((name, std::fs::read(entry.path())?));
        }
    }
    Ok(())
}

/// Where programs that are not released find the page.
fn built() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    target.unwrap_or_else(|| here.into()).join("web")
}

async fn answer(front: &'static str, uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => front,
        path => path,
    };
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    match find(path, accepted.unwrap_or_default()) {
        Found::File { bytes, encoding } => {
            let tag = tag(&bytes);
            let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| *known == *tag);
            // Asked for each time, answered in full only when it changed.
            let common =
                [(CACHE_CONTROL, "no-cache".into()), (ETAG, tag), (VARY, "accept-encoding".into())];
            if is_known {
                return (StatusCode::NOT_MODIFIED, common).into_response();
            }
            let kind = [(CONTENT_TYPE, content_type(path))];
            match encoding {
                Some(encoding) => {
                    (common, kind, [(CONTENT_ENCODING, encoding)], bytes).into_response()
                }
                None => (common, kind, bytes).into_response(),
            }
        }
        Found::Nothing => (StatusCode::NOT_FOUND, "there is no such page\n").into_response(),
        Found::NotBuilt => {
            let advice = "the page is not built: run `cargo xtask web`, or `cargo run --release`\n";
            (StatusCode::NOT_FOUND, advice).into_response()
        }
    }
}

enum Found {
    File { bytes: Cow<'static, [u8]>, encoding: Option<&'static str> },
    Nothing,
    NotBuilt,
}

fn find(path: &str, accepted: &str) -> Found {
    if !FILES.is_empty() {
        return match FILES.iter().find(|file| file.path == path) {
            Some(file) => embedded(file, accepted),
            None => Found::Nothing,
        };
    }
    on_disk(path)
}

fn embedded(file: &File, accepted: &str) -> Found {
    let compressed = [("br", file.brotli), ("gzip", file.gzip)];
    let mut usable = compressed.into_iter().filter(|(name, _)| accepts(accepted, name));
    let found = usable.find_map(|(name, bytes)| Some((bytes?, Some(name))));
    let (bytes, encoding) = found.unwrap_or((file.plain, None));
    Found::File { bytes: Cow::Borrowed(bytes), encoding }
}

/// Whether a list such as `gzip, br;q=1` names an encoding and does not refuse it.
fn accepts(list: &str, name: &str) -> bool {
    list.split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next() == Some(name);
        is_named && !parts.any(|part| ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(&part))
    })
}

fn on_disk(path: &str) -> Found {
    let folder = built();
    if !folder.join("index.html").exists() {
        return Found::NotBuilt;
    }
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\');
    if !path.split('/').all(is_plain) {
        return Found::Nothing;
    }
    match std::fs::read(folder.join(path)) {
        Ok(bytes) => Found::File { bytes: Cow::Owned(bytes), encoding: None },
        Err(_) => Found::Nothing,
    }
}

/// Changes with the bytes.
fn tag(bytes: &[u8]) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("\"{:016x}\"", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "webmanifest" => "application/manifest+json",
        "txt" | "map" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_gets_the_smallest_that_it_takes() {
        let file = File { path: "a", plain: b"plain", gzip: Some(b"gz"), brotli: Some(b"b") };
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", (&b"b"[..], Some("br"))),
            ("gzip;q=1.0, br;q=0", (b"gz", Some("gzip"))),
            ("", (b"plain", None)),
            ("brown", (b"plain", None)),
        ] {
            let Found::File { bytes, encoding } = embedded(&file, accepted) else { panic!() };
            assert_eq!((&bytes[..], encoding), expected, "{accepted}");
        }
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        for path in ["../Cargo.toml", "a/../../x", "/etc/passwd", "", ".git", "a\\..\\b"] {
            assert!(!matches!(on_disk(path), Found::File { .. }), "{path}");
        }
    }
}
