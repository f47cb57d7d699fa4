//! Writes what every target starts from into `corpus/`.

use std::{fs, io};

fn main() -> io::Result<()> {
    for target in throng_fuzz::TARGETS {
        let directory = format!("{}/corpus/{}", env!("CARGO_MANIFEST_DIR"), target.name);
        fs::create_dir_all(&directory)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(format!("{directory}/seed-{number:03}"), seed)?;
        }
    }
    Ok(())
}
