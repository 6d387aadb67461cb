//! Builds the page: apps/web as wasm, what wasm-bindgen makes of it, and the files beside it. What a browser
//! fetches then stands in one folder, also compressed, as it is served.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use wasm_bindgen_cli_support::Bindgen;

const WASM: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "sametick-web";
const NAME: &str = "sametick_web";
/// Each is a feature of the package, and has a wasm of its own.
const PAGES: [&str; 3] = ["play", "theatre", "islands"];
/// What of apps/web is part of the page as it is: files beside its manifest, and a folder.
const PAGE_FILES: [&str; 3] = ["html", "ico", "webmanifest"];
const PAGE_FOLDER: &str = "page";
/// What compression would not make smaller.
const COMPRESSED_KINDS: [&str; 5] = ["png", "jpg", "webp", "woff2", "ogg"];
/// What the outer build was told is not meant for the browser.
const NOT_FOR_WASM: [&str; 7] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Options of `cargo xtask web`.
#[derive(Args)]
pub(crate) struct Web {
    /// Small and fast, and compressed beside; without it, quickly built
    #[arg(long)]
    release: bool,
    /// Where the page goes; without it, target/web
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Where wasm is compiled; without it, target/web-build
    #[arg(long, value_name = "FOLDER")]
    build: Option<PathBuf>,
    /// Also write a Rust file with all of it, to be included in a program
    #[arg(long, value_name = "FILE")]
    embed: Option<PathBuf>,
}

pub(crate) fn run(web: &Web) -> Result<ExitCode> {
    let root = root()?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let out = web.out.clone().unwrap_or_else(|| target.join("web"));
    let build = web.build.clone().unwrap_or_else(|| target.join("web-build"));
    need_target()?;
    let profile_of = |page| if web.release { released_profile(page) } else { "wasm-quick" };
    // In a profile's folder there is room for one page at a time.
    let mut profiles = PAGES.map(profile_of).to_vec();
    profiles.sort_unstable();
    profiles.dedup();
    all_at_once(&profiles, |profile| {
        let mut pages = PAGES.into_iter().filter(|page| profile_of(page) == *profile);
        pages.try_for_each(|page| compile(&root, &build, page, profile))
    })?;
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    all_at_once(&PAGES, |page| {
        Bindgen::new()
            .input_path(compiled(&build, page, profile_of(page)))
            .out_name(&format!("sametick_{page}"))
            .web(true)?
            .omit_default_module_path(false)
            .typescript(false)
            .generate(&out)
            .context("wasm-bindgen cannot make a page of it")
    })?;
    copy_page(&root.join("apps/web"), &out)?;
    let mut files = Vec::new();
    list(&out, "", &mut files)?;
    if web.release {
        all_at_once(&files, |file| compress(&out.join(file)))?;
    }
    if let Some(embed) = &web.embed {
        fs::write(embed, embedded(&out, &files))
            .with_context(|| format!("cannot write {}", embed.display()))?;
    }
    report(&out, &files)?;
    Ok(ExitCode::SUCCESS)
}

fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_path_buf).context("xtask stands in no workspace")
}

/// Adds the target where rustup can, or says in one sentence what to do.
fn need_target() -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot = sysroot.context("cannot start rustc")?;
    let sysroot = String::from_utf8(sysroot.stdout).context("rustc printed broken UTF-8")?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(WASM).is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", WASM]).status();
    if !added.is_ok_and(|status| status.success()) {
        bail!("the browser's compile target is missing: run `rustup target add {WASM}`");
    }
    Ok(())
}

/// Does something with each, as many at once as there are processors.
fn all_at_once<T: Sync>(items: &[T], act: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            act(item)?;
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let end = |worker: thread::ScopedJoinHandle<'_, Result<()>>| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().try_for_each(end)
    })
}

fn released_profile(page: &str) -> &'static str {
    if page == "theatre" { "wasm-smallest" } else { "wasm" }
}

/// Where a page's wasm is kept: what cargo makes of the next one has the same name.
fn compiled(build: &Path, page: &str, profile: &str) -> PathBuf {
    build.join(WASM).join(profile).join(format!("sametick_{page}.wasm"))
}

/// Compiles what one page needs.
fn compile(root: &Path, build: &Path, page: &str, profile: &str) -> Result<()> {
    let mut cargo = crate::cargo();
    cargo.current_dir(root).args(["build", "--locked", "--lib", "--package", PACKAGE]);
    cargo.args(["--no-default-features", "--features", page]);
    cargo.args(["--target", WASM, "--profile", profile, "--target-dir"]).arg(build);
    NOT_FOR_WASM.iter().for_each(|name| _ = cargo.env_remove(name));
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("apps/web does not compile for {WASM}: see above");
    }
    let kept = compiled(build, page, profile);
    fs::copy(kept.with_file_name(NAME).with_extension("wasm"), &kept)
        .with_context(|| format!("cannot keep {}", kept.display()))?;
    Ok(())
}

/// Copies a file of a page. A script leaves behind the lines that are comments: nobody's browser needs them.
fn copy_without_comments(from: &Path, to: &Path) -> Result<()> {
    if from.extension().is_none_or(|kind| kind != "js") {
        fs::copy(from, to)?;
        return Ok(());
    }
    let text = fs::read_to_string(from)?;
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    fs::write(to, lines.fold(String::new(), |text, line| text + line + "\n"))?;
    Ok(())
}

fn copy_page(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if let Some(name) = path.file_name().filter(|_| PAGE_FILES.contains(&kind)) {
            copy_without_comments(&path, &to.join(name))?;
        }
    }
    let folder = from.join(PAGE_FOLDER);
    let mut files = Vec::new();
    if folder.is_dir() {
        list(&folder, "", &mut files)?;
    }
    for file in files {
        let place = to.join(&file);
        place.parent().map(fs::create_dir_all).transpose()?;
        copy_without_comments(&folder.join(&file), &place)?;
    }
    Ok(())
}

/// All files of a folder by their paths in it, in order.
fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}

/// Writes the same compressed beside a file, where that makes it smaller.
fn compress(file: &Path) -> Result<()> {
    let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    if COMPRESSED_KINDS.contains(&kind) {
        return Ok(());
    }
    let plain = fs::read(file)?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&plain)?;
    let mut brotli = Vec::new();
    let options = brotli::enc::BrotliEncoderParams { quality: 9, ..Default::default() };
    brotli::BrotliCompress(&mut &plain[..], &mut brotli, &options)?;
    for (ending, bytes) in [("gz", gzip.finish()?), ("br", brotli)] {
        if bytes.len() < plain.len() {
            fs::write(with_ending(file, ending), bytes)?;
        }
    }
    Ok(())
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// A Rust expression: each file's path, and its bytes as they are, by gzip and by brotli.
fn embedded(out: &Path, files: &[String]) -> String {
    let mut text = String::from("[\n");
    for file in files {
        let path = out.join(file);
        let bytes =
            |path: &Path| format!("include_bytes!({:?}).as_slice()", path.display().to_string());
        let maybe = |ending| {
            let path = with_ending(&path, ending);
            if path.exists() { format!("Some({})", bytes(&path)) } else { "None".into() }
        };
        text += &format!(
            "    File {{ path: {file:?}, plain: {}, gzip: {}, brotli: {} }},\n",
            bytes(&path),
            maybe("gz"),
            maybe("br")
        );
    }
    text + "]\n"
}

fn report(out: &Path, files: &[String]) -> Result<()> {
    for file in files.iter().filter(|file| file.ends_with(".wasm")) {
        let size = |path: PathBuf| fs::metadata(path).map(|data| data.len() as f64 / 1e3);
        let path = out.join(file);
        let plain = size(path.clone())?;
        match size(with_ending(&path, "br")) {
            Ok(small) => println!("{file}: {plain:.0} kB, {small:.0} kB compressed"),
            Err(_) => println!("{file}: {plain:.0} kB"),
        }
    }
    println!("the page is in {}", out.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_embedded_names_every_file_once_and_what_there_is_of_it() {
        let folder = env::temp_dir().join(format!("sametick-web-{}", std::process::id()));
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("page.html"), "word ".repeat(100)).unwrap();
        fs::write(folder.join("deep/dot.png"), [0; 100]).unwrap();
        let mut files = Vec::new();
        list(&folder, "", &mut files).unwrap();
        assert_eq!(files, ["deep/dot.png", "page.html"]);
        files.iter().for_each(|file| compress(&folder.join(file)).unwrap());
        let text = embedded(&folder, &files);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(text.matches("path: ").count(), 2);
        assert!(text.contains("page.html.br") && text.contains("page.html.gz"), "{text}");
        assert!(!text.contains("dot.png.br"), "{text}");
    }
}
