//! `docs/tutorial.md` as a reader would follow it: every command, in order, in one shell.
//!
//! Lines of a `console` block that begin with `$ ` are commands, continued by `\`; the others are
//! what the command before them prints. Of that, nothing has to be shown; what is shown must be
//! printed, line by line in this order, where `…` stands for anything and runs of spaces for one.
//! Only the ports are replaced, by free ones.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

#[test]
fn every_command_of_the_tutorial_works_and_prints_what_is_shown() {
    let text = include_str!("../../../docs/tutorial.md");
    let steps = steps(&with_free_ports(text));
    assert!(steps.len() > 15, "{} commands", steps.len());
    let directory = tempfile::tempdir().unwrap();
    // Elsewhere: the reader begins with an empty folder.
    let script = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(script.path(), shell_script(&steps)).unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_throng")).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("timeout")
        .args(["--kill-after=5", "240", "bash"])
        .arg(script.path())
        .current_dir(directory.path())
        .env("PATH", format!("{folder}:{path}"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    for (place, step) in steps.iter().enumerate() {
        let part = printed
            .split(&mark(place))
            .nth(1)
            .unwrap_or_else(|| panic!("{} was not reached:\n{printed}", step.command));
        let part = part.split(&mark(place + 1)).next().unwrap_or_default();
        let (part, status) = part.rsplit_once(STATUS).unwrap_or((part, "none"));
        assert_eq!(status.trim(), "0", "{} failed:\n{part}\n{}", step.command, logs(&directory));
        let mut lines = part.lines();
        for shown in &step.shown {
            let found = lines.any(|line| fits(shown, line));
            assert!(found, "{} does not print\n{shown}\nbut\n{part}", step.command);
        }
    }
}

/// A command and what the tutorial shows of its output.
struct Step {
    command: String,
    shown: Vec<String>,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let blocks = text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.into(), shown: vec![] }),
            (None, Some(step)) if step.command.ends_with('\\') => {
                step.command = format!("{}\n{line}", step.command);
            }
            (None, Some(step)) if !line.trim().is_empty() => step.shown.push(line.into()),
            _ => {}
        }
    }
    steps
}

/// All steps in one shell, with marks between them; whatever still runs at the end is stopped.
fn shell_script(steps: &[Step]) -> String {
    let mut script = String::from("exec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n");
    for (place, Step { command, .. }) in steps.iter().enumerate() {
        let mark = mark(place);
        let _ = write!(script, "echo '{mark}'\n{command}\necho \"{STATUS}$?\"\n");
    }
    script + &format!("echo '{}'\n", mark(steps.len()))
}

/// Replaces the ports, which are those of a machine on which nothing else runs.
fn with_free_ports(text: &str) -> String {
    let free: Vec<TcpListener> =
        (0..3).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
    let mut text = text.to_owned();
    for (port, free) in ["8001", "8002", "8003"].into_iter().zip(&free) {
        assert!(text.contains(port));
        // Marked first, since a free port could be one of them.
        text = text.replace(port, &format!("\u{1}{}", free.local_addr().unwrap().port()));
    }
    text.replace('\u{1}', "")
}

/// True if a line is as shown.
fn fits(shown: &str, line: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, line) = (plain(shown), plain(line));
    let parts: Vec<&str> = shown.split('…').collect();
    let [first, .., last] = parts[..] else { return shown == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

/// The logs of the servers, for whoever has to find out.
fn logs(directory: &tempfile::TempDir) -> String {
    let files = std::fs::read_dir(directory.path()).unwrap().filter_map(Result::ok);
    let logs = files.filter(|file| file.path().extension().is_some_and(|end| end == "log"));
    let text = |file: std::fs::DirEntry| {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        format!("{}:\n{text}", file.file_name().display())
    };
    logs.map(text).collect()
}

fn mark(place: usize) -> String {
    format!("@@@ {place} @@@")
}

const STATUS: &str = "@@@ status ";

#[test]
fn an_ellipsis_stands_for_anything_and_nothing_else_does() {
    assert!(fits("id  …", " id         0a1b"));
    assert!(fits("a … c … e", "a b c d e") && fits("…", "") && fits("a", " a"));
    assert!(!fits("a … c", "a b c d") && !fits("a", "a b") && !fits("a…b", "b a"));
}
