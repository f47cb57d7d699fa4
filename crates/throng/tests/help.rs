//! Every page of `--help` ends with examples that work, and the manual has all of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// Each example is run as it stands, except for those that run until they are stopped, need others
/// to run, measure for minutes, or have a test of their own. Those are parsed where they are
/// defined.
#[test]
fn the_examples_work() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data"), here.join("data")).unwrap();
    let identities: Vec<String> = ["NORTH", "SOUTH", "COUNTER"].map(|name| made(here, name)).into();
    let mut pages = pages();
    // Others need the files that these write.
    pages.sort_by_key(|page| !FIRST.contains(&page.join(" ").as_str()));
    for page in pages {
        let examples = examples(&page);
        assert!(!examples.is_empty(), "throng {} --help has no example", page.join(" "));
        for example in examples.iter().filter(|e| !NOT_HERE.iter().any(|not| e.starts_with(not))) {
            let mut shell = shell(here, example);
            for (name, identity) in ["NORTH", "SOUTH", "COUNTER"].iter().zip(&identities) {
                shell.env(name, identity);
            }
            let output = shell.output().unwrap();
            // A planted bug is found, which is a failure.
            let expected = i32::from(example.contains("--weaken"));
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{example}: {error}");
        }
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let output = shell(directory.path(), "throng manual --out man/1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = pages();
    for page in &pages {
        let name = [&["throng".to_owned()], &page[..]].concat().join("-");
        let text = fs::read_to_string(directory.path().join(format!("man/1/{name}.1")));
        let text = text.unwrap_or_else(|error| panic!("{name}.1: {error}"));
        let mut lines =
            text.lines().filter(|line| !line.starts_with(".ie") && *line != ".el .ds Aq '");
        assert!(lines.next().unwrap().starts_with(&format!(".TH {name} 1")), "{name}");
        let shown = text.split(".SH EXAMPLES\n.nf\n").nth(1).unwrap_or_else(|| panic!("{name}"));
        let plain = shown.replace("\\-", "-");
        assert!(plain.starts_with(&format!("throng {}", page.join(" "))), "{name}: {plain}");
    }
    let written = fs::read_dir(directory.path().join("man/1")).unwrap().count();
    assert_eq!(written, pages.len());
}

/// The path of every command, from `throng` itself on.
fn pages() -> Vec<Vec<String>> {
    let mut pages = vec![vec![]];
    let mut next = 0;
    while next < pages.len() {
        let page: Vec<String> = pages[next].clone();
        let help = help(&page);
        let commands = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        for line in commands.lines().take_while(|line| !line.is_empty()) {
            let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
            let name = name.and_then(|line| line.split_whitespace().next());
            if let Some(name) = name.filter(|name| *name != "help") {
                pages.push([&page[..], &[name.to_owned()]].concat());
            }
        }
        next += 1;
    }
    assert!(pages.len() > 50, "{pages:?}");
    pages
}

/// The commands at the end of a page, with continued lines as one.
fn examples(page: &[String]) -> Vec<String> {
    let help = help(page);
    let text = help.split("\nExamples:\n").nth(1).or_else(|| help.split("\nExample:\n").nth(1));
    let text = text.unwrap_or_default().replace("\\\n", " ");
    text.lines()
        .filter_map(|line| line.strip_prefix("  throng "))
        .map(|e| format!("throng {e}"))
        .collect()
}

fn help(page: &[String]) -> String {
    let output = Command::new(THRONG).args(page).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The public half of a new identity.
fn made(here: &Path, name: &str) -> String {
    let made: Output = shell(here, &format!("throng keygen --out {name} --json")).output().unwrap();
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    made["identity"].as_str().unwrap().to_owned()
}

/// A command as a reader would type it.
fn shell(here: &Path, command: &str) -> Command {
    let folder = Path::new(THRONG).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell.args(["-c", command]).current_dir(here).env("PATH", format!("{folder}:{path}"));
    shell
}

const THRONG: &str = env!("CARGO_BIN_EXE_throng");

/// Pages whose examples write what others read.
const FIRST: [&str; 3] = ["keygen", "plan", "collection new"];

/// Examples that do not end, need a chain, or take minutes.
const NOT_HERE: [&str; 10] = [
    "throng demo",
    "throng serve",
    "throng send",
    "throng results",
    "throng doctor --",
    "throng log",
    "throng bench",
    "throng figures",
    "throng simulate burst-count --n 1e6",
    "throng audit bit-sum --n 20",
];
