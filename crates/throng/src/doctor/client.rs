//! A chain as its clients see it.

use super::chain::{self, PATIENCE};
use super::clock;
use super::finding::Findings;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use throng_client::{Patience, Uploader};
use throng_collection::{Board, Collection};

/// Checks that everyone answers, and that the keys that reports are sealed to are signed by all.
pub async fn examine(file: &Path, findings: &mut Findings) -> Option<()> {
    let collection = Arc::new(collection(file, findings)?);
    chain::schedule(&collection, true, findings);
    let http = chain::http(None).ok_or("TLS cannot be set up here");
    let http = findings.need("reach", http, "install the system's certificates")?;
    let all = (1..=collection.chain.hops()).map(|hop| (Arc::clone(&collection), hop));
    chain::examine(&http, all, findings).await;
    keys(&collection, findings).await
}

/// Reads a collection and says whether it keeps its promise. A board makes no promise that could be
/// checked from outside.
pub fn collection(file: &Path, findings: &mut Findings) -> Option<Collection> {
    let (check, name) = ("collection", file.display());
    let text =
        throng_server::read_text(file).map_err(|error| format!("cannot read {name}: {error}"));
    let remedy = "ask whoever wrote the question for it, or see throng collection new";
    let text = findings.need(check, text, remedy)?;
    let remedy = "take the file that everyone has; changed, it is another collection";
    let refused = |error| format!("{name}: {error}");
    if Board::is_in(&text) {
        let board = findings.need(check, Board::parse(&text).map_err(refused), remedy)?;
        findings.ok(check, format!("{name} is a board; its id is {}", board.id()));
        return None;
    }
    let collection = findings.need(check, Collection::parse(&text).map_err(refused), remedy)?;
    findings.ok(check, format!("{name} keeps its promise; its id is {}", collection.id()));
    Some(collection)
}

/// The keys of the present window, and of the next if that is near.
async fn keys(collection: &Collection, findings: &mut Findings) -> Option<()> {
    let patience = Patience { attempts: 1, request: PATIENCE, ..Patience::default() };
    let uploader = Uploader::with_patience(collection, patience);
    let uploader = findings.need("keys", uploader, "correct its url")?;
    let now = clock::now() as u64;
    let soon = chain::window(collection, now + NEAR.as_secs());
    let mut windows = vec![chain::window(collection, now), soon];
    windows.dedup();
    for window in windows.into_iter().flatten() {
        match uploader.directory(window).await {
            Ok(_) => {
                let all = collection.chain.hops();
                findings.ok("keys", format!("those of window {window} are signed by all {all}"));
            }
            Err(error) => {
                let remedy = "the parties sign them as soon as all are up and reach one another";
                findings.not_yet("keys", format!("those of window {window}: {error}"), remedy);
            }
        }
    }
    Some(())
}

/// The time that a report may take from being sealed to being sent.
const NEAR: Duration = Duration::from_secs(3);
