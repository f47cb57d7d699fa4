//! The log of what operators did, as a chain: a line that is changed, added or taken out shows.
//!
//! ```text
//! line   {"seq":3,"time":1790000000,"act":"login","name":"night shift","hash":"9f86…"}
//! hash   SHA-256(hash of the line before ‖ the line up to `,"hash"`);  32 zeros before the first
//! break  a line whose act is `broken` comes after a chain that does not hold; the hash before it
//!        is SHA-256 of everything above it
//! ```
//!
//! A chain cannot tell that its last lines are missing, nor that all of it was written anew:
//! whoever keeps the newest hash elsewhere can. Servers log it when they start and when they stop.
//! There is nothing in it about reports or about who sent them.

use crate::Error;
use crate::config::in_file;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use throng_mix::lock;
use throng_wire::{hex, unhex};

/// The log of a server that runs. Every line is on disk before the next thing happens.
///
/// ```
/// use throng_server::AuditLog;
///
/// let data = tempfile::tempdir()?;
/// let log = AuditLog::open(data.path(), 1_000)?;
/// log.record(1_000, "start", &[("role", "mix".into())]);
/// let verdict = AuditLog::verify(data.path())?;
/// assert!(verdict.is_intact() && verdict.lines[0].contains(r#""act":"start","role":"mix""#));
///
/// // Somebody changes what is written.
/// let file = data.path().join("audit.log");
/// std::fs::write(&file, std::fs::read_to_string(&file)?.replace("mix", "nix"))?;
/// assert_eq!(AuditLog::verify(data.path())?.broken, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AuditLog {
    path: PathBuf,
    tail: Mutex<Tail>,
    intact: AtomicBool,
}

/// The end of the file, to which lines are added.
struct Tail {
    file: File,
    bytes: u64,
    lines: u64,
    last: [u8; 32],
}

/// The result of looking at a whole log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// All lines, as they are.
    pub lines: Vec<String>,
    /// The numbers, from 1, of the lines at which the chain does not hold.
    pub broken: Vec<u64>,
    /// The hash of the last line in hexadecimal digits.
    pub last: String,
}

impl Verdict {
    /// True if every line is as it was written and none is missing before the last.
    pub fn is_intact(&self) -> bool {
        self.broken.is_empty()
    }
}

impl AuditLog {
    /// Opens the log of a data directory, or begins it. A chain that does not hold is told in the
    /// log of the process, and in a new line, from which another chain goes on.
    pub fn open(data: &Path, now: u64) -> Result<Self, Error> {
        let path = data.join(NAME);
        let fail = |error: io::Error| in_file(&path, &error);
        let found = if_there(fs::read(&path)).map_err(fail)?;
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&path).map_err(fail)?;
        if found.is_none() {
            File::open(data).and_then(|directory| directory.sync_all()).map_err(fail)?;
        }
        let bytes = found.unwrap_or_default();
        let Walk { lines, last, holds, broken } = walk(&bytes);
        let tail = Mutex::new(Tail { file, bytes: bytes.len() as u64, lines, last });
        let log = Self { path, tail, intact: AtomicBool::new(broken.is_empty()) };
        if let Some(line) = broken.last() {
            tracing::error!(line, "the audit log is not as it was written");
        }
        if !holds {
            log.tell(now, &bytes, broken.last().copied());
        }
        Ok(log)
    }

    /// Looks at all lines of the log of a data directory, whether a server runs there or not.
    pub fn verify(data: &Path) -> Result<Verdict, Error> {
        let path = data.join(NAME);
        let bytes = fs::read(&path).map_err(|error| in_file(&path, &error))?;
        let Walk { last, broken, .. } = walk(&bytes);
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let text = |line: &[u8]| String::from_utf8_lossy(line).trim_end().to_owned();
        Ok(Verdict { lines: lines.map(text).collect(), broken, last: hex(&last) })
    }

    /// Writes down an act with its particulars. An act that cannot be written down is told in the
    /// log of the process, and the log counts as broken from then on.
    pub fn record(&self, now: u64, act: &str, particulars: &[(&str, Value)]) {
        let mut tail = lock(&self.tail);
        let before = tail.last;
        self.append(&mut tail, "", before, now, act, particulars);
    }

    /// True if the chain held when the log was opened, and every act since is written down.
    pub fn is_intact(&self) -> bool {
        self.intact.load(Ordering::Relaxed)
    }

    /// The hash of the last line in hexadecimal digits.
    pub fn last(&self) -> String {
        hex(&lock(&self.tail).last)
    }

    /// Writes down that the chain above does not hold.
    fn tell(&self, now: u64, above: &[u8], line: Option<u64>) {
        // Half a line stays what it is, on a line of its own.
        let end = if above.ends_with(b"\n") { "" } else { "\n" };
        let before = Sha256::new().chain_update(above).chain_update(end).finalize().into();
        self.append(&mut lock(&self.tail), end, before, now, BROKEN, &[("line", json!(line))]);
    }

    fn append(
        &self,
        tail: &mut Tail,
        end: &str,
        before: [u8; 32],
        now: u64,
        act: &str,
        particulars: &[(&str, Value)],
    ) {
        let mut entry = Map::new();
        entry.insert("seq".into(), json!(tail.lines + 1));
        entry.insert("time".into(), json!(now));
        entry.insert("act".into(), json!(act));
        entry.extend(particulars.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let body = Value::Object(entry).to_string();
        let body = body.strip_suffix('}').unwrap_or(&body);
        let hash = hash(&before, body.as_bytes());
        let line = format!("{end}{body}{MARK}{}\"}}\n", hex(&hash));
        let written = tail.file.write_all(line.as_bytes()).and_then(|()| tail.file.sync_data());
        if let Err(error) = written {
            self.intact.store(false, Ordering::Relaxed);
            let path = self.path.display();
            tracing::error!(act, "an act cannot be written down: {path}: {error}");
            // Half a line would be taken for damage.
            let _ = tail.file.set_len(tail.bytes);
            return;
        }
        tail.bytes += line.len() as u64;
        tail.lines += 1;
        tail.last = hash;
    }
}

/// The state of a log that was looked at from its first line to its last.
struct Walk {
    lines: u64,
    /// The hash of the last line that holds.
    last: [u8; 32],
    /// True if the last line holds.
    holds: bool,
    broken: Vec<u64>,
}

fn walk(bytes: &[u8]) -> Walk {
    let mut walk = Walk { lines: 0, last: [0; 32], holds: true, broken: Vec::new() };
    let mut above = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        walk.lines += 1;
        let read = Line::read(line);
        let tells = read.as_ref().is_some_and(|line| line.tells);
        let before = if tells { Sha256::digest(&bytes[..above]).into() } else { walk.last };
        let hash = read.filter(|line| (walk.holds || tells) && line.follows(&before, walk.lines));
        // A line that tells of a break where there is none stands for lines that were taken out.
        if walk.holds && (tells || hash.is_none()) {
            walk.broken.push(walk.lines);
        }
        walk.holds = hash.is_some();
        walk.last = hash.map_or(walk.last, |line| line.hash);
        above += line.len();
    }
    walk
}

/// A line as it is written, its hash apart.
struct Line<'a> {
    body: &'a [u8],
    hash: [u8; 32],
    seq: Option<u64>,
    /// True if it tells of a chain that does not hold.
    tells: bool,
}

impl<'a> Line<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let entry: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
        let end = format!("{MARK}{}\"}}\n", entry["hash"].as_str()?);
        let body = line.strip_suffix(end.as_bytes())?;
        let hash = unhex(entry["hash"].as_str()?)?.try_into().ok()?;
        Some(Self { body, hash, seq: entry["seq"].as_u64(), tells: entry["act"] == BROKEN })
    }

    fn follows(&self, before: &[u8; 32], number: u64) -> bool {
        self.hash == hash(before, self.body) && self.seq == Some(number)
    }
}

fn hash(before: &[u8; 32], body: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(before).chain_update(body).finalize().into()
}

fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// The name of the file in the data directory.
const NAME: &str = "audit.log";

/// The act of a line that tells of a chain that does not hold.
const BROKEN: &str = "broken";

/// The bytes between what is hashed and the hash.
const MARK: &str = ",\"hash\":\"";

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A log of five lines.
    fn written() -> TempDir {
        let data = tempfile::tempdir().unwrap();
        let log = AuditLog::open(data.path(), 10).unwrap();
        for name in ["a", "b", "c } \"", "d", "e"] {
            log.record(11, "login", &[("name", name.into())]);
        }
        data
    }

    fn lines(data: &TempDir) -> Vec<String> {
        let text = fs::read_to_string(data.path().join(NAME)).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn write(data: &TempDir, lines: &[String]) {
        fs::write(data.path().join(NAME), lines.concat()).unwrap();
    }

    #[test]
    fn a_log_that_nobody_touched_is_intact_and_goes_on() {
        let data = written();
        let log = AuditLog::open(data.path(), 20).unwrap();
        log.record(20, "stop", &[]);
        let verdict = AuditLog::verify(data.path()).unwrap();
        assert!(log.is_intact() && verdict.is_intact());
        assert_eq!((verdict.lines.len(), verdict.last), (6, log.last()));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(data.path().join(NAME)).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }

    /// A change of the lines of a log, and the line at which it shows.
    type Case = (fn(&mut Vec<String>), u64);

    #[test]
    fn a_line_that_is_changed_moved_added_or_missing_shows_and_is_told_once() {
        let cases: [Case; 7] = [
            (|lines| lines[2] = lines[2].replace("11", "12"), 3),
            (|lines| drop(lines.remove(1)), 2),
            (|lines| drop(lines.remove(0)), 1),
            (|lines| lines.swap(1, 2), 2),
            (|lines| lines.push(lines[4].clone()), 6),
            (|lines| lines[4].truncate(30), 5),
            (|lines| lines[3] = "\n".into(), 4),
        ];
        for (change, at) in cases {
            let data = written();
            let mut changed = lines(&data);
            change(&mut changed);
            write(&data, &changed);
            assert_eq!(AuditLog::verify(data.path()).unwrap().broken, [at]);
            for _ in 0..2 {
                let log = AuditLog::open(data.path(), 30).unwrap();
                log.record(31, "start", &[]);
                assert!(!log.is_intact(), "a break stays one");
            }
            assert_eq!(AuditLog::verify(data.path()).unwrap().broken, [at]);
            let now = lines(&data);
            assert_eq!(now[..changed.len() - 1], changed[..changed.len() - 1], "evidence");
            let told = now.iter().filter(|line| line.contains("\"act\":\"broken\"")).count();
            assert_eq!(told, 1, "{now:?}");
            // What was found is part of the new chain.
            let mut again = now.clone();
            again[0] = again[0].replace("10", "13").replace("11", "13");
            assert_ne!(again, now);
            write(&data, &again);
            assert!(!AuditLog::open(data.path(), 40).unwrap().is_intact());
            assert!(!AuditLog::verify(data.path()).unwrap().is_intact());
            assert!(lines(&data).len() > now.len(), "it is told again");
        }
    }

    #[test]
    fn a_break_that_is_claimed_hides_nothing() {
        let data = written();
        let mut cut = lines(&data)[..3].to_vec();
        let above = Sha256::digest(cut.concat()).into();
        let body = r#"{"seq":4,"time":30,"act":"broken","line":9"#;
        let hash = hex(&hash(&above, body.as_bytes()));
        cut.push(format!("{body}{MARK}{hash}\"}}\n"));
        write(&data, &cut);
        assert_eq!(AuditLog::verify(data.path()).unwrap().broken, [4]);
    }
}
