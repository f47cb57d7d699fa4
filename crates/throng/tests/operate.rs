//! What an operator does with a running party: signals, files, and the log of it all.

use rcgen::{CertificateParams, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reloads_sigterm_stops_and_the_log_tells_of_both() {
    let folder = Folder::new();
    let mut mix = folder.serve();
    let listed = async || {
        let list = folder.json("/v1/collections").await;
        list["collections"].as_array().map_or(0, Vec::len)
    };
    folder.until(async || listed().await == 1).await;

    folder.edit("north.toml", "[\"a.toml\"]", "[\"a.toml\", \"b.toml\"]");
    mix.signal(Signal::HUP);
    folder.until(async || listed().await == 2).await;
    // A mistake is said, and changes nothing.
    folder.edit("north.toml", "\"b.toml\"]", "\"b.toml\", \"no.toml\"]");
    mix.signal(Signal::HUP);
    let failed = "throng_reloads_total{result=\"failed\"} 1\n";
    folder.until(async || folder.text("/metrics").await.is_some_and(|t| t.contains(failed))).await;
    assert_eq!(listed().await, 2);
    mix.signal(Signal::TERM);
    assert!(mix.0.wait().unwrap().success());
    let log = fs::read_to_string(folder.path("north.log")).unwrap();
    assert!(log.contains("reload failed, nothing changed") && log.contains("no.toml"), "{log}");

    let (code, verdict) = folder.log("verify");
    assert_eq!((code, &verdict["intact"]), (0, &Value::Bool(true)), "{verdict}");
    let (_, shown) = folder.log("show");
    let acts: Vec<&str> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|act| act["act"].as_str().unwrap())
        .collect();
    assert_eq!(acts, ["start", "reload", "collection added", "reload", "stop"]);
    let file = folder.path("north-data/audit.log");
    let lines = fs::read_to_string(&file).unwrap();
    fs::write(&file, lines.replacen("failed", "ok", 1)).unwrap();
    let (code, verdict) = folder.log("verify");
    assert_eq!((code, &verdict["broken"][0]), (1, &4.into()), "{verdict}");
}

#[test]
fn a_tls_key_that_others_may_read_is_refused() {
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".into()]).unwrap();
    fs::write(folder.path("cert.pem"), certificate.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.path("tls.key"), key.serialize_pem()).unwrap();
    let config = fs::read_to_string(folder.path("north.toml")).unwrap();
    let tls = "[tls]\ncertificate = \"cert.pem\"\nkey = \"tls.key\"\n";
    fs::write(folder.path("north.toml"), config + tls).unwrap();
    for mode in [0o644, 0o640, 0o604] {
        fs::set_permissions(folder.path("tls.key"), Permissions::from_mode(mode)).unwrap();
        let code = folder.serve().ended();
        let said = fs::read_to_string(folder.path("north.log")).unwrap();
        assert_eq!(code, Some(1), "{mode:o}: {said}");
        assert!(said.contains("others may read it; run chmod 600") && said.contains("tls.key"));
        assert!(!said.contains("BEGIN"), "nothing of the key is said");
    }
    fs::set_permissions(folder.path("tls.key"), Permissions::from_mode(0o600)).unwrap();
    let mut mix = folder.serve();
    let address = folder.address.clone();
    for _ in 0..600 {
        if std::net::TcpStream::connect(&address).is_ok() {
            return;
        }
        assert!(mix.0.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nobody listens");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_leaves_no_core_and_says_whether_it_may_be_swapped() {
    let folder = Folder::new();
    let mix = folder.serve();
    folder.until(async || folder.text("/healthz").await.is_some()).await;
    let of = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", mix.0.id())).unwrap();
    let limits = of("limits");
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().take(2).collect::<Vec<_>>(), ["0", "0"]);
    let status = of("status");
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    let log = fs::read_to_string(folder.path("north.log")).unwrap();
    assert_eq!(log.contains("memory is locked"), locked.trim() != "0 kB", "{locked}, {log}");
}

/// The files of a mix, whose others never come, and two questions.
struct Folder {
    place: TempDir,
    address: String,
}

impl Folder {
    fn new() -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = port.local_addr().unwrap().to_string();
        let folder = Self { place: tempfile::tempdir().unwrap(), address };
        let mut chain = String::new();
        for (name, flag, url) in [
            ("north", "mix", folder.address.as_str()),
            ("south", "mix", "127.0.0.1:1"),
            ("counter", "analyzer", "127.0.0.1:2"),
        ] {
            let made = folder.throng(&format!("keygen --out {name}.key --json"));
            let made: Value = serde_json::from_slice(&made.stdout).unwrap();
            let identity = made["identity"].as_str().unwrap();
            let _ = write!(chain, " --{flag} {name}=http://{url}={identity}");
        }
        for name in ["a", "b"] {
            let made = folder.throng(&format!(
                "collection new {name}.toml --mechanism bit-sum --n 200 --epsilon 1 --delta 1e-6 \
                 --epochs 10 --every 1h --grace 5m --text {name}?{chain}"
            ));
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        let config = format!(
            "listen = \"{}\"\nidentity = \"north.key\"\ndata = \"north-data\"\n\
             collections = [\"a.toml\"]\n",
            folder.address
        );
        fs::write(folder.path("north.toml"), config).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    fn throng(&self, arguments: &str) -> Output {
        let mut command = Command::new(THRONG);
        command.args(arguments.split_whitespace()).current_dir(self.place.path());
        command.output().unwrap()
    }

    fn log(&self, what: &str) -> (i32, Value) {
        let output = self.throng(&format!("log {what} --data north-data --json"));
        (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
    }

    fn serve(&self) -> ServerProcess {
        let log = fs::File::create(self.path("north.log")).unwrap();
        let mut command = Command::new(THRONG);
        command.args(["serve", "mix", "--config", "north.toml"]).current_dir(self.place.path());
        ServerProcess(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    async fn text(&self, path: &str) -> Option<String> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5));
        let answer =
            http.build().unwrap().get(format!("http://{}{path}", self.address)).send().await;
        answer.ok()?.text().await.ok()
    }

    async fn json(&self, path: &str) -> Value {
        let text = self.text(path).await.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Asks again and again, for at most a minute.
    async fn until(&self, mut holds: impl AsyncFnMut() -> bool) {
        for _ in 0..1_200 {
            if holds().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let log = fs::read_to_string(self.path("north.log")).unwrap_or_default();
        panic!("it did not happen:\n{log}");
    }
}

/// A server that ends with the test.
struct ServerProcess(Child);

impl ServerProcess {
    /// The exit code, if it ends within a minute by itself.
    fn ended(&mut self) -> Option<i32> {
        for _ in 0..1_200 {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const THRONG: &str = env!("CARGO_BIN_EXE_throng");
