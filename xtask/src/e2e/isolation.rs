//! Pages are cross-origin isolated and small, their files have the right types, and strangers' pages get no token.

use anyhow::{Context, Result, ensure};

use super::Stage;
use super::server::Server;

/// What the rules may take on their way to the page, as released.
const WASM_BYTES_MAX: usize = 1_500_000;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    let page = stage.page(&server, "").await?;
    ensure!(page.ask("crossOriginIsolated").await? == true, "the page is not isolated");
    page.close().await?;
    let head = server.get("/", &[])?.to_lowercase();
    ensure!(head.contains("content-type: text/html"), "{head}");
    weigh(&server)?;
    let session = server.get("/session.json", &[])?;
    ensure!(session.contains("200 OK") && session.contains("\"token\":"), "{session}");
    let address = server.page_address();
    let own = server.get("/session.json", &[&format!("Origin: http://{address}")])?;
    ensure!(own.contains("200 OK"), "{own}");
    for stranger in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        let refused = server.get("/session.json", &[stranger])?;
        ensure!(refused.contains("403 Forbidden") && !refused.contains("token\":"), "{refused}");
    }
    let asked = (0..100).map(|_| server.get("/session.json", &[]));
    let answers: Vec<String> = asked.collect::<Result<_>>()?;
    let refused = answers.iter().filter(|answer| answer.contains("429 Too Many")).count();
    ensure!(refused > 0, "tokens are not limited");
    Ok(())
}

/// A program that is not released serves its files as they are.
fn weigh(server: &Server) -> Result<()> {
    let answer = server.get("/sametick_play_bg.wasm", &["Accept-Encoding: br"])?.to_lowercase();
    let value = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    ensure!(value("content-type:") == Some("application/wasm"), "the wasm has another type");
    if value("content-encoding:") == Some("br") {
        let bytes = value("content-length:").and_then(|text| text.parse::<usize>().ok());
        let bytes = bytes.context("the wasm has no length")?;
        println!("e2e: isolation: the wasm has {} kB, compressed", bytes / 1000);
        ensure!(bytes < WASM_BYTES_MAX, "the wasm has {bytes} bytes, more than {WASM_BYTES_MAX}");
    }
    Ok(())
}
