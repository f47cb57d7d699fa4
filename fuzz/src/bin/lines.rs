//! The lines of decoders that the corpora reach: `lines DECODERS LCOV LEAST`.
//!
//! Prints a row for each file of the list, and fails if less than so many per cent of all its lines
//! are reached.

use std::collections::BTreeMap;
use std::error::Error;
use std::{env, fs, process};

fn main() -> Result<(), Box<dyn Error>> {
    let [decoders, lcov, least] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: lines DECODERS LCOV LEAST")?;
    let (least, reached): (f64, _) = (least.parse()?, read_lcov(&fs::read_to_string(lcov)?));
    let (mut lines, mut hit) = (0, 0);
    println!("{:<52}{:>6}{:>9}{:>8}  not reached", "decoder", "lines", "reached", "%");
    for entry in fs::read_to_string(decoders)?.lines() {
        let entry = entry.split('#').next().unwrap_or_default().trim();
        if entry.is_empty() {
            continue;
        }
        let row = Row::of(entry, &reached)?;
        println!(
            "{:<52}{:>6}{:>9}{:>8.1}  {}",
            row.file.trim_start_matches("crates/"),
            row.lines,
            row.lines - row.missed.len(),
            percent(row.lines - row.missed.len(), row.lines),
            ranges(&row.missed)
        );
        (lines, hit) = (lines + row.lines, hit + row.lines - row.missed.len());
    }
    let share = percent(hit, lines);
    println!("{:<52}{lines:>6}{hit:>9}{share:>8.1}", "all decoders");
    if share < least {
        eprintln!("less than {least} % of the lines of decoders are reached");
        process::exit(1);
    }
    Ok(())
}

/// How often each line of each file was run.
type Reached = BTreeMap<String, BTreeMap<usize, u64>>;

/// The lines of one entry of the list.
struct Row<'a> {
    file: &'a str,
    lines: usize,
    missed: Vec<usize>,
}

impl<'a> Row<'a> {
    /// Reads an entry: a file, or a file and functions of it.
    fn of(entry: &'a str, reached: &Reached) -> Result<Self, Box<dyn Error>> {
        let (file, functions) = entry.split_once(':').unwrap_or((entry, ""));
        let wanted: Vec<&str> = functions.split(',').map(str::trim).collect();
        let source = fs::read_to_string(format!("{ROOT}/{file}"))?;
        let mut within = Vec::new();
        for name in wanted.iter().filter(|name| !name.is_empty()) {
            let found = bodies(&source, name);
            if found.is_empty() {
                return Err(format!("{file} has no function {name}").into());
            }
            within.extend(found);
        }
        let counts = reached.iter().find(|(path, _)| path.ends_with(&format!("/{file}")));
        let counts = counts.ok_or_else(|| format!("nothing is known of {file}"))?.1;
        let ours = |line: usize| {
            within.is_empty() || within.iter().any(|(from, to)| (*from..=*to).contains(&line))
        };
        let counts: Vec<_> = counts.iter().filter(|(line, _)| ours(**line)).collect();
        let missed = counts.iter().filter(|(_, count)| **count == 0).map(|(line, _)| **line);
        Ok(Self { file, lines: counts.len(), missed: missed.collect() })
    }
}

/// The first and last lines of all functions of this name. The last one is the bracket that stands
/// as far to the right as the function begins.
fn bodies(source: &str, name: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let begins = |line: &str| {
        let rest = line.split_once("fn ").map_or("", |(_, rest)| rest);
        rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let indent = line.len() - line.trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        let last = lines[first..].iter().position(|line| **line == end).unwrap_or(0);
        found.push((first + 1, first + last + 1));
    }
    found
}

fn read_lcov(text: &str) -> Reached {
    let mut all = Reached::new();
    let mut file = String::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = path.to_owned();
        } else if let Some((number, count)) =
            line.strip_prefix("DA:").and_then(|rest| rest.split_once(','))
            && let (Ok(number), Ok(count)) = (number.parse(), count.parse::<u64>())
        {
            *all.entry(file.clone()).or_default().entry(number).or_default() += count;
        }
    }
    all
}

/// Lines as people read them: `12-15 20`.
fn ranges(lines: &[usize]) -> String {
    let runs = lines.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(" ")
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// The directory that files of the list are in.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
