//! Data directories of a chain that was stopped in the middle of an epoch, as later versions find
//! them when they are put in its place.
//!
//! ```text
//! cargo run -p throng-server --example fixture -- crates/throng-server/tests/upgrade/VERSION.tar.gz
//! ```
//!
//! `tests/upgrade.rs` opens every such file. One is made when the version of the data directory
//! changes, by the last build that writes the old one, and never again.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/upgrade/rounds.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod rounds;
#[path = "../tests/upgrade/story.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod story;

use flate2::{Compression, write::GzEncoder};
use std::fs::OpenOptions;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("say where to: fixture FILE")?;
    let directory = tempfile::tempdir()?;
    story::write_files(directory.path());
    story::play(directory.path());
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    archive.append_dir_all(".", directory.path())?;
    archive.into_inner()?.finish()?;
    println!("{path}");
    Ok(())
}
