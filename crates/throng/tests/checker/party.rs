//! One party as a process: started under the shim, killed, watched, started again.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The state of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    Sound,
    /// Writing fails with ENOSPC.
    Full,
    /// Making durable fails with EIO.
    Failing,
}

pub struct Party {
    /// The place in the chain, from 1.
    pub hop: u8,
    /// The address it listens on, without a relay.
    pub address: SocketAddr,
    pub data: PathBuf,
    config: PathBuf,
    log: PathBuf,
    shim: PathBuf,
    control: File,
    control_path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    process: Option<Child>,
    /// The time of its start, and the length of the log then.
    started: Option<(Instant, u64)>,
    /// The last time at which its disk was not sound.
    unsound: Option<Instant>,
}

impl Party {
    /// A party that does not run yet. Its configuration is in `{folder}/{name}.toml`, and its data
    /// directory is `{folder}/{name}`.
    pub fn new(folder: &Path, name: &str, hop: u8, address: SocketAddr, shim: &Path) -> Self {
        let at = |end: &str| folder.join(format!("{name}{end}"));
        let control_path = at(".control");
        fs::write(&control_path, [0; 16]).unwrap();
        let control = OpenOptions::new().read(true).write(true).open(&control_path).unwrap();
        Self {
            hop,
            address,
            data: at(""),
            config: at(".toml"),
            log: at(".log"),
            shim: shim.to_owned(),
            control,
            control_path,
            state: Mutex::default(),
        }
    }

    /// Starts it, if it does not run.
    pub fn start(&self) {
        let mut state = self.state();
        if state.process.is_some() {
            return;
        }
        let begun = Instant::now();
        let log = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let length = log.metadata().unwrap().len();
        let role = if self.hop == 3 { "analyzer" } else { "mix" };
        let child = Command::new(env!("CARGO_BIN_EXE_throng"))
            .args(["serve", role, "--config"])
            .arg(&self.config)
            .env("LD_PRELOAD", &self.shim)
            .env("THRONG_SHIM_CONTROL", &self.control_path)
            .env("THRONG_SHIM_DATA", format!("{}/", self.data.display()))
            .env("THRONG_SHIM_SOURCE", self.source().to_string())
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        state.process = Some(child);
        state.started = Some((begun, length));
    }

    /// Sends SIGKILL: nothing is flushed, nobody is told. It stays down.
    pub fn kill(&self) {
        if let Some(mut child) = self.state().process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Looks whether it ended by itself. One that could not start while its disk was not sound is
    /// started again, as a supervisor does; any other end is a failure.
    pub fn supervise(&self) -> Result<(), String> {
        let mut state = self.state();
        let ended = state.process.as_mut().and_then(|child| child.try_wait().unwrap());
        let (Some(status), Some((started, length))) = (ended, state.started) else { return Ok(()) };
        let said = self.said_since(length);
        state.process = None;
        let excused = state.unsound.is_some_and(|at| at >= started) || self.disk() != 0;
        drop(state);
        self.start();
        if excused && said.contains("cannot start") {
            return Ok(());
        }
        Err(format!("hop {} ended by itself with {status}:\n{said}", self.hop))
    }

    /// Sets how many seconds its wall clock is off.
    pub fn set_clock(&self, seconds: i64) {
        self.control.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }

    pub fn set_disk(&self, disk: Disk) {
        let word: u32 = match disk {
            Disk::Sound => 0,
            Disk::Full => 1,
            Disk::Failing => 2,
        };
        // Whoever met the disk as it was has begun before this time.
        let mut state = self.state();
        self.control.write_all_at(&word.to_ne_bytes(), 8).unwrap();
        state.unsound = Some(Instant::now());
    }

    /// The number of calls that its disk has refused.
    pub fn refused(&self) -> u32 {
        self.word(12)
    }

    /// The address that it connects from.
    pub fn source(&self) -> IpAddr {
        self.address.ip()
    }

    /// Its whole log.
    pub fn said(&self) -> String {
        self.said_since(0)
    }

    /// The windows that it holds a secret of.
    pub fn secrets(&self) -> Vec<u64> {
        let names = fs::read_dir(self.data.join("secrets")).into_iter().flatten();
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| name.rsplit_once('-')?.1.parse().ok()).collect()
    }

    fn disk(&self) -> u32 {
        self.word(8)
    }

    fn word(&self, at: u64) -> u32 {
        let mut bytes = [0; 4];
        self.control.read_exact_at(&mut bytes, at).unwrap();
        u32::from_ne_bytes(bytes)
    }

    fn said_since(&self, length: u64) -> String {
        let mut said = Vec::new();
        if let Ok(mut log) = File::open(&self.log) {
            let _ = log.seek(SeekFrom::Start(length));
            let _ = log.read_to_end(&mut said);
        }
        String::from_utf8_lossy(&said).into_owned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Compiles the shim into a folder.
pub fn shim(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checker/shim.c");
    let made = folder.join("shim.so");
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&made, &source])
        .arg("-ldl")
        .status()
        .expect("the checker needs a C compiler: apt-get install gcc libc6-dev");
    assert!(compiled.success(), "cc: {compiled}");
    made
}
