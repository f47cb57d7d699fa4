//! The check-up: what is wrong is found and said, and a chain that runs is well.

use serde_json::Value;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

#[test]
fn a_machine_is_looked_at_without_arguments() {
    let (code, answer) = doctor(Path::new("."), "");
    assert_eq!((code, &answer["ok"]), (0, &Value::Bool(true)), "{answer}");
    let checks = answer["checks"].as_array().unwrap();
    for check in ["processors", "temporary files", "clock", "loopback", "next"] {
        assert!(checks.iter().any(|one| one["check"] == check), "{check}: {answer}");
    }
    assert!(checks.iter().all(|one| one["state"].is_string() && one["says"].is_string()));
}

/// A change to a sound folder, and the finding that must follow.
type Case = (fn(&Folder), &'static str, &'static str, &'static str);

#[test]
fn what_is_wrong_with_a_party_is_found_and_said() {
    let mix = "--config north.toml --role mix";
    let cases: [Case; 13] = [
        (|f| fs::remove_file(f.path("north.toml")).unwrap(), mix, "configuration", "No such file"),
        (|f| f.edit("north.toml", "listen", "lisen"), mix, "configuration", "lisen: not known"),
        (|f| fs::remove_file(f.path("north.key")).unwrap(), mix, "identity", "throng keygen --out"),
        (|f| f.mode("north.key", 0o644), mix, "identity", "chmod 600"),
        (
            |f| f.edit("north.toml", "north.key", "counter.key"),
            mix,
            "place",
            "throng serve analyzer",
        ),
        (|f| f.stranger("north.key"), mix, "place", "none of north, south, counter"),
        (|f| f.edit("crashes.toml", "crowd = 190", "crowd = 19"), mix, "collection", "not kept"),
        (|f| fs::remove_file(f.path("crashes.toml")).unwrap(), mix, "collection", "cannot read"),
        (|f| fs::write(f.path("north-data"), "").unwrap(), mix, "data", "is not a directory"),
        (|f| f.append("north.toml", TLS), mix, "TLS", "`certificate` under [tls]"),
        (
            |f| f.append("north.toml", "[peers]\nca = \"no.pem\"\n"),
            mix,
            "TLS",
            "`ca` under [peers]",
        ),
        (
            |f| f.edit("counter.toml", "127.0.0.1:", "192.0.2.1:"),
            "--config counter.toml --role analyzer",
            "access",
            "throng token",
        ),
        (|_| {}, "--collection crashes.toml", "reach", "is it started"),
    ];
    for (harm, arguments, check, says) in cases {
        let folder = Folder::new();
        harm(&folder);
        let (code, answer) = doctor(folder.0.path(), arguments);
        assert_eq!(code, 1, "{answer}");
        assert!(found(&answer, "FAIL", check, says), "{check}, {says}: {answer:#}");
    }
}

#[test]
fn a_port_that_another_program_has_is_found() {
    let folder = Folder::new();
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let text = fs::read_to_string(folder.path("north.toml")).unwrap();
    let free = text.split('"').nth(1).unwrap();
    let taken = other.local_addr().unwrap().to_string();
    fs::write(folder.path("north.toml"), text.replace(free, &taken)).unwrap();
    let (code, answer) = doctor(folder.0.path(), "--config north.toml --role mix");
    assert_eq!(code, 1);
    assert!(found(&answer, "FAIL", "port", "taken, and not by this party"), "{answer:#}");
}

#[test]
fn a_chain_that_runs_is_well_and_a_party_that_is_gone_is_named() {
    let folder = Folder::new();
    folder.mode("south.toml", 0o644);
    fs::create_dir(folder.path("south-data")).unwrap();
    folder.mode("south-data", 0o755);
    let before = doctor(folder.0.path(), "--config south.toml --role mix").1;
    assert!(found(&before, "warn", "data", "chmod 700"), "{before:#}");

    let _north = folder.serve("mix", "north");
    let south = folder.serve("mix", "south");
    let _counter = folder.serve("analyzer", "counter");
    let (code, answer) = doctor(folder.0.path(), "--collection crashes.toml --wait 60");
    assert_eq!(code, 0, "{answer:#}");
    assert!(found(&answer, "ok", "keys", "signed by all 3"), "{answer:#}");
    let (code, answer) = doctor(folder.0.path(), "--config north.toml --role mix --wait 10");
    assert_eq!(code, 0, "{answer:#}");
    for party in ["north (hop 1", "south (hop 2", "counter (hop 3"] {
        assert!(found(&answer, "ok", "ready", party), "{party}: {answer:#}");
    }
    // Before a start the same would be free; here it is in use, by this very party.
    let (code, answer) = doctor(folder.0.path(), "--config counter.toml --role analyzer");
    assert_eq!(code, 0, "{answer:#}");
    assert!(found(&answer, "ok", "data", "in use by a running server"), "{answer:#}");
    assert!(found(&answer, "warn", "access", "throng token"), "{answer:#}");

    // On another port a second server would fail, since the first one has the data.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = fs::read_to_string(folder.path("counter.toml")).unwrap();
    let elsewhere = config.lines().map(|line| match line.split_once(" = ") {
        Some(("listen", _)) => format!("listen = \"127.0.0.1:{port}\"\n"),
        _ => format!("{line}\n"),
    });
    fs::write(folder.path("second.toml"), elsewhere.collect::<String>()).unwrap();
    let (code, answer) = doctor(folder.0.path(), "--config second.toml --role analyzer");
    assert_eq!(code, 1, "{answer:#}");
    assert!(found(&answer, "FAIL", "data", "stop that server first"), "{answer:#}");

    // Another file is another collection, which nobody serves.
    let text = fs::read_to_string(folder.path("crashes.toml")).unwrap();
    let other = text.replace("Did it crash today?", "Did it crash?");
    assert_ne!(other, text);
    fs::write(folder.path("other.toml"), other).unwrap();
    let (code, answer) = doctor(folder.0.path(), "--collection other.toml");
    assert_eq!(code, 1);
    assert!(found(&answer, "FAIL", "collection", "does not serve"), "{answer:#}");

    drop(south);
    let (code, answer) = doctor(folder.0.path(), "--collection crashes.toml");
    assert_eq!(code, 1);
    assert!(found(&answer, "FAIL", "reach", "south (hop 2"), "{answer:#}");
    assert!(found(&answer, "ok", "ready", "north (hop 1"), "{answer:#}");
}

/// Keys, a collection and configurations of three parties that have not started.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let mut new =
            "collection new crashes.toml --mechanism bit-sum --n 200 --epsilon 1 --delta 1e-6 \
             --epochs 10 --every 1h --grace 5m"
                .to_owned();
        let ports: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
        for (name, port) in ["north", "south", "counter"].into_iter().zip(&ports) {
            let made = folder.throng(&format!("keygen --out {name}.key --json"));
            let made: Value = serde_json::from_slice(&made).unwrap();
            let address = port.local_addr().unwrap();
            let flag = if name == "counter" { "analyzer" } else { "mix" };
            let identity = made["identity"].as_str().unwrap();
            let _ = write!(new, " --{flag} {name}=http://{address}={identity}");
            let config = format!(
                "listen = \"{address}\"\nidentity = \"{name}.key\"\ndata = \"{name}-data\"\n\
                 collections = [\"crashes.toml\"]\n"
            );
            fs::write(folder.path(&format!("{name}.toml")), config).unwrap();
        }
        folder.throng(&format!("{new} --text Did_it_crash_today?"));
        folder.edit("crashes.toml", "Did_it_crash_today?", "Did it crash today?");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from}:\n{text}");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    fn append(&self, name: &str, more: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        fs::write(self.path(name), text + more).unwrap();
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn stranger(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
        self.throng(&format!("keygen --out {name}"));
    }

    fn serve(&self, role: &str, name: &str) -> ServerProcess {
        let config = format!("{name}.toml");
        let mut command = Command::new(THRONG);
        command.args(["serve", role, "--config", &config]).current_dir(self.0.path());
        ServerProcess(command.stderr(Stdio::null()).spawn().unwrap())
    }

    fn throng(&self, arguments: &str) -> Vec<u8> {
        let mut command = Command::new(THRONG);
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {error}");
        output.stdout
    }
}

/// A server that ends with the test.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn doctor(here: &Path, arguments: &str) -> (i32, Value) {
    let mut command = Command::new(THRONG);
    command.args(["doctor", "--json"]).args(arguments.split_whitespace()).current_dir(here);
    let output = command.output().unwrap();
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), answer)
}

fn found(answer: &Value, state: &str, check: &str, says: &str) -> bool {
    answer["checks"].as_array().unwrap().iter().any(|one| {
        let text = format!("{}; {}", one["says"], one["remedy"]);
        one["state"] == state && one["check"] == check && text.contains(says)
    })
}

const TLS: &str = "[tls]\ncertificate = \"no.pem\"\nkey = \"no.key\"\n";

const THRONG: &str = env!("CARGO_BIN_EXE_throng");
