//! `throng manual`: a manual page for every command.

use crate::args::Cli;
use crate::report::Report;
use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes `throng.1`, `throng-plan.1`, `throng-account-bit-sum.1` and all the others.
pub fn write(out: &Path) -> Result<Report> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut throng = Cli::command().disable_help_subcommand(true);
    throng.build();
    Ok(Report::default()
        .line("pages", "manual pages written", write_pages(&throng, out)?)
        .line("directory", "directory", out.display().to_string())
        .note(format!("Read one with: man -l {}", out.join("throng.1").display())))
}

/// Writes the page of a command and those of its parts, and returns how many there are.
fn write_pages(command: &Command, out: &Path) -> Result<usize> {
    let file = out.join(Man::new(command.clone()).get_filename());
    let page = render(command)?;
    fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
    let parts = command.get_subcommands().map(|part| write_pages(part, out));
    Ok(1 + parts.sum::<Result<usize>>()?)
}

/// The sections that clap knows, and the examples of `--help` under the heading that manuals use.
fn render(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = Man::new(command.clone().after_help(Resettable::Reset));
    man.source(concat!("throng ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    if let Some(help) = command.get_after_help() {
        writeln!(page, ".SH EXAMPLES\n.nf")?;
        // The first line is the heading of `--help`.
        for line in help.to_string().lines().skip(1) {
            let line = line.strip_prefix("  ").unwrap_or(line);
            writeln!(page, "{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
        }
        writeln!(page, ".fi")?;
    }
    Ok(page)
}
