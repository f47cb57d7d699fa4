//! The answers of the command line, word by word: a transcript of commands that is played again.
//!
//! `golden/transcript.txt` holds scenes. Each begins with `== its name` and has a fresh directory
//! with a copy of `golden/files`, in which its commands run one after the other:
//!
//! ```text
//! $ throng account bit-sum --n 100 --lambda 100 --delta 1e-6 --json
//! | a line of standard output
//! ! a line of standard error
//! ? 2, the exit code if it is not 0
//! ```
//!
//! With `--json` the object has the same fields, and its numbers are the same to the last bit. Of
//! text the words are the same; a number may be rounded the other way, so it may differ by one unit
//! of its last digit. Files shown by `$ cat` are the same to the last byte. `{chain}` and `{one
//! mix}` in a command stand for parties whose identities are at the end of this file.
//!
//! A change that is meant is written with
//!
//! ```text
//! THRONG_WRITE_GOLDEN=1 cargo test -p throng --test golden
//! ```
//!
//! which plays the commands of the transcript and replaces what is below them. Read the difference.

use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

#[test]
fn every_command_of_the_transcript_answers_as_before() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let file = golden.join("transcript.txt");
    let stored = Transcript::parse(&fs::read_to_string(&file).unwrap());
    let played = stored.play(&golden.join("files"));
    if env::var_os("THRONG_WRITE_GOLDEN").is_some() {
        fs::write(&file, played.to_string()).unwrap();
        return;
    }
    let steps = |transcript: &Transcript| -> Vec<Step> {
        transcript.scenes.iter().flat_map(|scene| scene.steps.clone()).collect()
    };
    let (stored, played) = (steps(&stored), steps(&played));
    assert!(stored.len() >= 400, "commands were lost");
    let mut wrong = String::new();
    for (stored, played) in stored.iter().zip(&played) {
        let differences = stored.differences(played);
        if !differences.is_empty() {
            writeln!(wrong, "$ {}\n  {}", stored.line, differences.join("\n  ")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "not as in the transcript:\n{wrong}");
}

#[test]
fn numbers_of_text_may_be_rounded_the_other_way_and_nothing_else() {
    for (stored, found) in [
        ("epsilon 0.312345", "epsilon   0.312346"),
        ("at most 68.13,", "at most 68.1301,"),
        ("(1.25000e-7)", "(1.25001e-7)"),
        ("9.99999", "10"),
        ("1 in 1234567", "1 in 1234566"),
        ("delta 1e-6", "delta 1.00001e-6"),
    ] {
        assert!(same_text(stored, found) && same_text(found, stored), "{stored}, {found}");
    }
    for (stored, found) in [
        ("epsilon 0.312345", "epsilon 0.312347"),
        ("epsilon 0.312345", "delta 0.312345"),
        ("Theorem 3.1", "Theorem 3.2"),
        ("2 messages", "3 messages"),
        ("1e-6", "1e-7"),
        ("0.5", "0.5 or more"),
        ("0.5", "-0.5"),
        ("a312345", "a312346"),
    ] {
        assert!(!same_text(stored, found) && !same_text(found, stored), "{stored}, {found}");
    }
}

/// What was said, without how far long work was: that hangs on the machine.
fn without_progress(said: &str) -> String {
    let is_progress = |line: &&str| {
        let told = line.trim_end();
        told.ends_with(" s so far") || told.ends_with(" s left") || told.ends_with(": 0 %")
    };
    said.split_inclusive('\n').filter(|line| !is_progress(line)).collect()
}

/// All scenes, and the comment above the first.
struct Transcript {
    head: String,
    scenes: Vec<Scene>,
}

/// Commands that share a directory.
struct Scene {
    name: String,
    steps: Vec<Step>,
}

/// A command and its answer.
#[derive(Clone, Default)]
struct Step {
    line: String,
    code: i32,
    out: String,
    err: String,
}

impl Transcript {
    fn parse(text: &str) -> Self {
        let mut transcript = Self { head: String::new(), scenes: Vec::new() };
        for (place, line) in text.lines().enumerate() {
            let here = format!("line {} of the transcript: {line}", place + 1);
            if let Some(name) = line.strip_prefix("== ") {
                transcript.scenes.push(Scene { name: name.into(), steps: Vec::new() });
                continue;
            }
            let Some(scene) = transcript.scenes.last_mut() else {
                writeln!(transcript.head, "{line}").unwrap();
                continue;
            };
            if let Some(command) = line.strip_prefix("$ ") {
                scene.steps.push(Step { line: command.into(), ..Step::default() });
            } else if !line.is_empty() {
                let step = scene.steps.last_mut().expect(&here);
                let (mark, rest) = line.split_at(1);
                let rest = rest.strip_prefix(' ').unwrap_or(rest);
                match mark {
                    "|" => writeln!(step.out, "{rest}").unwrap(),
                    "!" => writeln!(step.err, "{rest}").unwrap(),
                    "?" => step.code = rest.parse().unwrap(),
                    _ => panic!("{here}"),
                }
            }
        }
        transcript
    }

    /// Plays the commands and keeps the answers of the program that was built. Scenes run side by
    /// side.
    fn play(&self, files: &Path) -> Self {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut mine = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(scene) = self.scenes.get(place) else { return mine };
                mine.push((place, scene.play(files)));
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut played: Vec<(usize, Scene)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        played.sort_by_key(|(place, _)| *place);
        let scenes = played.into_iter().map(|(_, scene)| scene).collect();
        Self { head: self.head.clone(), scenes }
    }
}

impl std::fmt::Display for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.head)?;
        for (place, scene) in self.scenes.iter().enumerate() {
            let apart = if place == 0 { "" } else { "\n" };
            writeln!(f, "{apart}== {}", scene.name)?;
            for step in &scene.steps {
                writeln!(f, "\n$ {}", step.line)?;
                for (mark, text) in [("|", &step.out), ("!", &step.err)] {
                    for line in text.lines() {
                        writeln!(f, "{}", format!("{mark} {line}").trim_end())?;
                    }
                }
                if step.code != 0 {
                    writeln!(f, "? {}", step.code)?;
                }
            }
        }
        Ok(())
    }
}

impl Scene {
    fn play(&self, files: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in fs::read_dir(files).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        let steps = self.steps.iter().map(|step| step.play(folder.path())).collect();
        Self { name: self.name.clone(), steps }
    }
}

impl Step {
    fn play(&self, folder: &Path) -> Self {
        let one_mix = format!("--mix {NORTH} --analyzer {COUNTER}");
        let chain = format!("--mix {NORTH} --mix {SOUTH} --analyzer {COUNTER}");
        let line = self.line.replace("{chain}", &chain).replace("{one mix}", &one_mix);
        let words = words(&line);
        let mut step = Self { line: self.line.clone(), ..Self::default() };
        if words[0] == "cat" {
            step.out = fs::read_to_string(folder.join(&words[1])).unwrap();
            return step;
        }
        // Neither the width of a terminal nor a variable of whoever runs this changes an answer.
        let output = Command::new(assert_cmd::cargo::cargo_bin!("throng"))
            .args(&words[1..])
            .current_dir(folder)
            .env_clear()
            .output()
            .unwrap();
        step.code = output.status.code().unwrap();
        step.out = String::from_utf8(output.stdout).unwrap();
        step.err = without_progress(&String::from_utf8(output.stderr).unwrap());
        if self.is_json() && !step.out.is_empty() {
            let mut answer = serde_json::from_str(&step.out).unwrap();
            hide(&mut answer);
            step.out = by_field(&answer);
        }
        step
    }

    fn is_json(&self) -> bool {
        self.line.ends_with(" --json")
    }

    fn differences(&self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if self.code != found.code {
            differences.push(format!("exit code {} instead of {}", found.code, self.code));
        }
        if !same_text(&self.err, &found.err) {
            differences.push(format!("error {:?} instead of {:?}", found.err, self.err));
        }
        let same = match &self.line {
            line if line.starts_with("cat ") && exact() => self.out == found.out,
            _ if self.is_json() && !self.out.is_empty() && !found.out.is_empty() => {
                let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                compare("", &read(&self.out), &read(&found.out), &mut differences);
                true
            }
            _ => same_text(&self.out, &found.out),
        };
        if !same {
            differences.push(format!("{:?} instead of {:?}", found.out, self.out));
        }
        differences
    }
}

/// Splits as a shell does, with double quotes only.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in line.split('"').enumerate() {
        if place % 2 == 1 {
            words.push(part.to_string());
        } else {
            words.extend(part.split_whitespace().map(str::to_string));
        }
    }
    words
}

/// Times, and what follows from secrets, which are never seeded, are not part of the transcript.
fn hide(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if HIDDEN.contains(&name.as_str()) {
                    *value = "...".into();
                } else {
                    hide(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide),
        _ => {}
    }
}

/// The answer with one field a line, so that a difference is read easily.
fn by_field(answer: &Value) -> String {
    let Value::Object(fields) = answer else { panic!("not an object: {answer}") };
    let line = |(name, value): (&String, &Value)| format!("  {}: {value}", Value::from(&name[..]));
    let lines: Vec<String> = fields.iter().map(line).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Adds every place where `found` is not `stored`.
fn compare(place: &str, stored: &Value, found: &Value, differences: &mut Vec<String>) {
    match (stored, found) {
        (Value::Object(old), Value::Object(new)) => {
            let none = Value::String("(absent)".into());
            let only_new: Map<String, Value> =
                new.iter().filter(|(name, _)| !old.contains_key(*name)).map(owned).collect();
            for (name, value) in old.iter().chain(&only_new) {
                let before = if old.contains_key(name) { value } else { &none };
                let after = new.get(name).unwrap_or(&none);
                compare(&format!("{place}.{name}"), before, after, differences);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                compare(&format!("{place}[{i}]"), old, new, differences);
            }
        }
        (Value::String(old), Value::String(new)) if same_text(old, new) => {}
        (Value::Number(old), Value::Number(new)) if same_number(old, new) => {}
        _ if stored == found => {}
        _ => differences.push(format!("{place}: {found} instead of {stored}")),
    }
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

fn same_number(stored: &serde_json::Number, found: &serde_json::Number) -> bool {
    if exact() {
        return stored == found;
    }
    let (old, new) = (stored.as_f64().unwrap(), found.as_f64().unwrap());
    (old - new).abs() <= 1e-9 * old.abs().max(new.abs())
}

/// True if logarithms and Fourier transforms are those with which the transcript was written.
/// Another C library, or a processor without these instructions, rounds some last digits
/// differently.
fn exact() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    return is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma");
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
    return false;
}

/// True if the words are the same, whatever is between them, and the numbers are but for rounding.
fn same_text(stored: &str, found: &str) -> bool {
    let (mut old, mut new) = (pieces(stored).into_iter(), pieces(found).into_iter());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(old), Some(new)) if old == new || near(old, new) => {}
            (Some(old), Some(new)) if !exact() && is_digest(old) && is_digest(new) => {}
            _ => return false,
        }
    }
}

/// Numbers, words and signs. A number that touches a letter is a part of its word.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let length = if first.is_alphanumeric() {
                // A point or a sign goes on with a number: 3.5, 1e-6.
                let bytes = rest.as_bytes();
                let goes_on = |i: usize, c: char| {
                    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
                    let before = bytes[i - 1];
                    c.is_alphanumeric()
                        || c == '.' && before.is_ascii_digit() && digit(i + 1)
                        || c == '-' && before == b'e' && digit(i + 1) && bytes[0].is_ascii_digit()
                };
                let mut after = rest.char_indices().skip(1);
                after.find(|&(i, c)| !goes_on(i, c)).map_or(rest.len(), |(i, _)| i)
            } else {
                first.len_utf8()
            };
            pieces.push(&rest[..length]);
            rest = &rest[length..];
        }
    }
    pieces
}

/// True if two numbers, one with four digits or more, differ by at most one unit of the last digit
/// of the coarser and by at most a thousandth.
fn near(old: &str, new: &str) -> bool {
    let (Some(old), Some(new)) = (PrintedNumber::read(old), PrintedNumber::read(new)) else {
        return false;
    };
    let unit = old.unit.max(new.unit).min(1e-3 * old.value.max(new.value));
    old.digits.max(new.digits) >= 4 && (old.value - new.value).abs() <= unit * (1.0 + 1e-6)
}

/// A number as it was printed, without its sign.
struct PrintedNumber {
    value: f64,
    unit: f64,
    digits: usize,
}

impl PrintedNumber {
    fn read(text: &str) -> Option<Self> {
        let value = text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len()) as i32;
        let unit = 10_f64.powi(exponent.parse::<i32>().ok()? - decimals);
        let digits = mantissa.replace('.', "").trim_start_matches('0').len();
        Some(Self { value, unit, digits })
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Fields whose values are not compared.
const HIDDEN: [&str; 7] = [
    "reports_per_second",
    "seconds",
    "work_seconds",
    "seal_seconds",
    "look_seconds",
    "many_rounds",
    "one_round",
];

const NORTH: &str =
    "north=https://north.example=ccb2c532e260afafcba0ada0081a89077dadcf29ad77d638a508747753d9c289";
const SOUTH: &str =
    "south=https://south.example=264e0e91fc0dd6bf5e00508d905110422625b6790417e2350675fe5f02f5162f";
const COUNTER: &str = concat!(
    "counter=https://counter.example=",
    "94c5a299f8650ced40baa5b5643b924925e0175e5688c0abd58c1dd8dacd9a58"
);
