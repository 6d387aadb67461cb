//! Builds the page into released programs. Others read it from target/web, where `cargo xtask web` puts it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the page is made of, from the top of the repository.
const SOURCES: [&str; 10] = [
    "Cargo.lock",
    "apps/web",
    "crates/sametick/Cargo.toml",
    "crates/sametick/src",
    "crates/sametick-links/Cargo.toml",
    "crates/sametick-links/src",
    "games/arena",
    "games/hello",
    "games/islands",
    "xtask/src/web.rs",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(embedded_page)");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    // Checks and tests stay quick.
    println!("cargo::rerun-if-env-changed=SAMETICK_WITHOUT_PAGE");
    let is_wanted = env::var_os("SAMETICK_WITHOUT_PAGE").is_none();
    if env::var("PROFILE").as_deref() != Ok("release") || !is_wanted {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    // A folder of its own: cargo holds the outer one while this runs.
    let build = out.ancestors().nth(4).unwrap_or(&out).join("web-build");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&root).args(["run", "--quiet", "--locked", "--package", "xtask"]);
    cargo.args(["--no-default-features", "--features", "web", "--target-dir"]).arg(&build);
    cargo.args(["--", "web", "--release", "--out"]).arg(out.join("page"));
    cargo.arg("--build").arg(&build).arg("--embed").arg(out.join("page.rs"));
    for name in ["CARGO_BUILD_TARGET", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTFLAGS"] {
        cargo.env_remove(name);
    }
    for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let output = cargo.output().expect("cargo can be started");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason =
            said.lines().rfind(|line| line.starts_with("Error:") || line.starts_with("error"));
        eprintln!("{said}");
        println!("cargo::error=the page could not be built: {}", reason.unwrap_or("see above"));
        return;
    }
    println!("cargo::rustc-cfg=embedded_page");
}
