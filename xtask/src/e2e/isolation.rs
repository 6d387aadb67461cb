//! Pages are cross-origin isolated, their files have the right types, and strangers' pages get no token.

use anyhow::{Result, ensure};

use super::Stage;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    let page = stage.page(&server, "").await?;
    ensure!(page.ask("crossOriginIsolated").await? == true, "the page is not isolated");
    page.close().await?;
    let head = server.get("/", &[])?.to_lowercase();
    ensure!(head.contains("content-type: text/html"), "{head}");
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
