//! Gives the rules a number: the hash of all sources and maps they are made of, the library's among them, so that two
//! programs know whether they step worlds alike.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDERS: [&str; 3] = ["src", "maps", "../../crates/sametick/src"];

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={folder}");
        list(&here.join(folder), &mut files)?;
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        // By what stands in them, not by where they lie, nor by how their lines end.
        for byte in fs::read(file)?.into_iter().filter(|byte| *byte != b'\r') {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=SAMETICK_RULES={hash}");
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
