//! `throng token`: who may read at a server.

use crate::args::Token as Request;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs::File;
use std::io::{self, ErrorKind, Write, stdout};
use std::path::Path;
use tempfile::NamedTempFile;
use throng_server::{Access, Token, read_text};
use zeroize::Zeroizing;

/// Makes a token and prints its secret, this once; or removes a token.
pub fn run(request: &Request, json: bool) -> Result<bool> {
    let file = &request.file;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    // Two of these at the same time must not undo each other.
    let lock = File::open(directory).and_then(|opened| opened.lock().map(|()| opened));
    let _lock = lock.with_context(|| format!("cannot use {}", directory.display()))?;
    let mut access = read(file)?;
    let secret = change(request, &mut access)?;
    write(directory, file, &access).with_context(|| format!("cannot write {}", file.display()))?;
    let text = match (&secret, json) {
        (Some(secret), true) => {
            let role = access.tokens().last().map(|token| token.reader.to_string());
            let made =
                json!({ "token": **secret, "name": request.name, "role": role, "file": file });
            format!("{made:#}\n")
        }
        (None, true) => format!("{:#}\n", json!({ "revoked": request.revoke, "file": file })),
        (Some(secret), false) => format!("{}\n", **secret),
        (None, false) => String::new(),
    };
    let printed = stdout().write_all(Zeroizing::new(text).as_bytes());
    printed.context("cannot print the token; revoke it")?;
    if !json {
        eprintln!("{}", advice(request));
    }
    Ok(true)
}

/// Adds a token and returns its secret, or removes one.
fn change(request: &Request, access: &mut Access) -> Result<Option<Zeroizing<String>>> {
    let file = request.file.display();
    match (&request.revoke, &request.name, request.role) {
        (Some(name), ..) => {
            if !access.remove(name) {
                bail!("{file} has no token named {name}; it has {}", names(access));
            }
            Ok(None)
        }
        (None, Some(name), Some(role)) => {
            if access.tokens().iter().any(|token| token.name == *name) {
                bail!("{file} has a token named {name}; choose another name, or --revoke it first");
            }
            let (secret, token) = Token::generate(name, role)?;
            access.add(token)?;
            Ok(Some(secret))
        }
        _ => bail!("--name and --role are needed, or --revoke"),
    }
}

fn read(file: &Path) -> Result<Access> {
    match read_text(file) {
        Ok(text) => Access::parse(&text)
            .with_context(|| format!("{} is not a file of tokens", file.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Access::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Writes the file in one step, readable by its owner alone.
fn write(directory: &Path, file: &Path, access: &Access) -> io::Result<()> {
    let mut new = NamedTempFile::new_in(directory)?;
    new.write_all(access.to_toml().as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

fn names(access: &Access) -> String {
    let names: Vec<&str> = access.tokens().iter().map(|token| token.name.as_str()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn advice(request: &Request) -> String {
    let file = request.file.display();
    match &request.revoke {
        Some(name) => {
            format!("{name} is no longer in {file}; send the server SIGHUP to shut them out")
        }
        None => format!(
            "The token above is not shown again. {file} keeps its digest; name it in the server's \
             configuration, under [access], as tokens = \"{file}\", and send the server SIGHUP."
        ),
    }
}
