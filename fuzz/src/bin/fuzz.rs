//! libFuzzer, driving the target that `THRONG_FUZZ_TARGET` names.
//!
//! With `THRONG_FUZZ_SEEDS` it writes what every target starts from, its seeds and its corpus, into
//! that directory instead, and prints the names of all targets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs, io, process};
use throng_fuzz::{TARGETS, target::Target};

fuzz_target!(
    init: {
        if let Some(directory) = env::var_os("THRONG_FUZZ_SEEDS") {
            write_seeds(directory.as_ref()).expect("seeds can be written");
            process::exit(0);
        }
    },
    |bytes: &[u8]| (TARGET.body)(bytes)
);

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = env::var("THRONG_FUZZ_TARGET").expect("THRONG_FUZZ_TARGET names a target");
    TARGETS.iter().find(|target| target.name == name).expect("there is a target of this name")
});

fn write_seeds(directory: &Path) -> io::Result<()> {
    for target in &TARGETS {
        let directory = directory.join(target.name);
        fs::create_dir_all(&directory)?;
        let corpus = target.corpus(Path::new(CORPORA));
        for (what, inputs) in [("seed", (target.seeds)()), ("kept", corpus)] {
            for (number, input) in inputs.iter().enumerate() {
                fs::write(directory.join(format!("{what}-{number:04}")), input)?;
            }
        }
        println!("{}", target.name);
    }
    Ok(())
}

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
