//! The parties of a chain, asked from outside, and when they take reports.

use super::clock;
use super::finding::Findings;
use crate::results::why;
use reqwest::header::DATE;
use reqwest::{Certificate, Client, redirect};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use throng_collection::{Collection, duration_text};
use throng_wire::{KeyStatement, Party};

/// A client that trusts these roots in PEM alone, or those of the system.
pub fn http(authority: Option<&[u8]>) -> Option<Client> {
    // As parties among themselves: no proxy, and everyone answers at the address that all know.
    let client = Client::builder().redirect(redirect::Policy::none()).no_proxy().timeout(PATIENCE);
    let Some(authority) = authority else { return client.build().ok() };
    let roots = Certificate::from_pem_bundle(authority).ok().filter(|roots| !roots.is_empty())?;
    client.tls_certs_only(roots).build().ok()
}

/// Asks these parties, by collection and hop, all at the same time.
pub async fn examine(
    http: &Client,
    parties: impl Iterator<Item = (Arc<Collection>, u8)>,
    findings: &mut Findings,
) {
    let ask = |(collection, hop): (Arc<Collection>, u8)| {
        let http = http.clone();
        tokio::spawn(async move { look(http, &collection, hop).await })
    };
    let asked: Vec<_> = parties.map(ask).collect();
    for heard in asked {
        findings.extend(heard.await.expect("a check that does not panic"));
    }
}

/// Checks that reports are taken now. A collection that has ended is a failure for a client, and a
/// warning for a server.
pub fn schedule(collection: &Collection, client: bool, findings: &mut Findings) {
    let now = clock::now() as u64;
    let (check, schedule) = ("schedule", &collection.schedule);
    let last = collection.terms.promise.epochs - 1;
    let over = schedule.deadline(last);
    if let Some(epoch) = collection.epoch_at(now) {
        let closes = duration_text(schedule.deadline(epoch) - now);
        let says = format!("epoch {epoch} of 0 to {last} takes reports for another {closes}");
        findings.ok(check, says);
    } else if now < schedule.start {
        let says = format!("epoch 0 begins in {}", duration_text(schedule.start - now));
        if client {
            findings.warn(check, says, "wait, or check the clock and `start` in the file");
        } else {
            findings.ok(check, says);
        }
    } else if now < over {
        let says = format!("only the grace of epoch {last}, the last, is left");
        findings.warn(check, says, "the next report needs another collection");
    } else {
        let says = format!("the collection ended {} ago", duration_text(now - over));
        if client {
            findings.fail(check, says, "write another with throng collection new");
        } else {
            let remedy =
                "leave it in `collections` until limits.drain has passed, then take it out";
            findings.warn(check, says, remedy);
        }
    }
}

/// The window that reports are sealed for at this time, or will be within one window's time.
pub fn window(collection: &Collection, now: u64) -> Option<u64> {
    let schedule = &collection.schedule;
    let ahead = schedule.every.saturating_mul(schedule.window());
    let soon = || (now < schedule.start && schedule.start - now <= ahead).then_some(0);
    Some(schedule.window_of(collection.epoch_at(now).or_else(soon)?))
}

/// Asks one party: it has to answer, as itself, for this collection, and be ready.
pub async fn look(http: Client, collection: &Collection, hop: u8) -> Findings {
    let mut findings = Findings::default();
    if let Some(party) = collection.chain.party(hop) {
        let name = format!("{} (hop {hop}, {})", party.name, party.url);
        let peer = Peer { http, collection, party, hop, name };
        // The first check that fails has said what there is to say.
        let _ = peer.examine(&mut findings).await;
    }
    findings
}

struct Peer<'a> {
    http: Client,
    collection: &'a Collection,
    party: &'a Party,
    hop: u8,
    /// The name of the party, for people.
    name: String,
}

/// The answer of a party.
struct Answer {
    status: u16,
    body: Vec<u8>,
    /// The least number of seconds that its clock is ahead; 0 if it does not tell the time.
    ahead: f64,
}

impl Peer<'_> {
    async fn examine(&self, findings: &mut Findings) -> Option<()> {
        self.answers(findings).await?;
        self.serves(findings).await?;
        self.is_itself(findings).await?;
        self.is_ready(findings).await
    }

    async fn answers(&self, findings: &mut Findings) -> Option<()> {
        let answer = self.get("/healthz", findings).await?;
        if answer.status != 200 || answer.body != b"ok\n" {
            let says = format!("{} is no throng server", self.name);
            let remedy = "check the url in the collection, and the proxy in front";
            return findings.fail("reach", says, remedy);
        }
        let apart = answer.ahead.abs();
        let way = if answer.ahead > 0.0 { "ahead" } else { "behind" };
        let says = format!("the clock of {} is {apart:.0} s {way} of this one", self.name);
        let remedy = "set both by NTP: epochs open and close by them";
        if apart > TOLERANCE.max(self.collection.schedule.grace as f64) {
            findings.fail("clock", says, remedy);
        } else if apart > TOLERANCE {
            findings.warn("clock", says, remedy);
        }
        Some(())
    }

    async fn serves(&self, findings: &mut Findings) -> Option<()> {
        let answer = self.get("/v1/collections", findings).await?;
        let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let list = elements(&list["collections"]);
        let id = self.collection.id().to_string();
        let Some(place) = list.iter().find(|one| one["id"] == id.as_str()) else {
            let others: Vec<&str> = list.iter().filter_map(|one| one["id"].as_str()).collect();
            let others = if others.is_empty() { "none".into() } else { others.join(", ") };
            let says = format!("{} does not serve {id}; it serves {others}", self.name);
            let remedy = "compare the files with throng collection show: one of them was changed";
            return findings.fail("collection", says, remedy);
        };
        if place["hop"] != self.hop {
            let says = format!("{} answers as hop {}", self.name, place["hop"]);
            let remedy = "the url in the collection or a proxy leads to another party";
            return findings.fail("collection", says, remedy);
        }
        Some(())
    }

    /// Checks that the statement of its key is signed by the identity that the collection names.
    async fn is_itself(&self, findings: &mut Findings) -> Option<()> {
        let Some(window) = window(self.collection, clock::now() as u64) else { return Some(()) };
        let id = self.collection.id();
        let answer = self.get(&format!("/v1/collections/{id}/keys/{window}"), findings).await?;
        if answer.status != 200 {
            // It has no key yet, which is told by `readyz`.
            return Some(());
        }
        let statement = KeyStatement::decode(&answer.body);
        let key = statement.and_then(|s| s.verify(&id, window, self.hop, &self.party.identity));
        let key = key.map_err(|error| format!("{} is somebody else: {error}", self.name));
        let remedy = "check the url, and which key file runs there";
        findings.need("identity", key, remedy).map(drop)
    }

    async fn is_ready(&self, findings: &mut Findings) -> Option<()> {
        let answer = self.get("/readyz", findings).await?;
        let ready: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let id = self.collection.id().to_string();
        let mut waiting = elements(&ready["waiting"]).iter();
        if ready["store"] != "writable" {
            let says = format!("{} cannot write to its disk", self.name);
            findings.fail("ready", says, "its operator should look at space and permissions");
        } else if let Some(waits) = waiting.find(|one| one["collection"] == id.as_str()) {
            let says = format!("{} waits for {}", self.name, self.missing(waits));
            findings.not_yet("ready", says, "start who is missing; everyone has to reach everyone");
        } else if let Some(away) =
            elements(&ready["unreachable"]).iter().find(|one| one["collection"] == id.as_str())
        {
            let says = format!("{} does not reach {}", self.name, self.name_of(&away["hop"]));
            findings.fail("ready", says, "start it, or mend the way between the two");
        } else {
            let says = format!("{} answers, serves the collection and is ready", self.name);
            findings.ok("ready", says);
        }
        Some(())
    }

    /// The parties whose keys and signatures are missing, by name.
    fn missing(&self, waits: &Value) -> String {
        let names = |field: &str| {
            let hops = elements(&waits[field]).iter();
            hops.map(|hop| self.name_of(hop)).collect::<Vec<_>>().join(" and ")
        };
        match (names("keys"), names("signatures")) {
            (keys, _) if !keys.is_empty() => format!("the key of {keys}"),
            (_, signatures) if !signatures.is_empty() => format!("the signature of {signatures}"),
            _ => "the keys of this window".into(),
        }
    }

    fn name_of(&self, hop: &Value) -> &str {
        let hop = hop.as_u64().and_then(|hop| u8::try_from(hop).ok());
        let party = hop.and_then(|hop| self.collection.chain.party(hop));
        party.map_or("somebody", |party| &party.name)
    }

    async fn get(&self, path: &str, findings: &mut Findings) -> Option<Answer> {
        let failed = |error| {
            let why = why(error);
            let remedy = if why.contains("certificate") {
                "let `ca` under [peers] name who signed it, and let it name the host of the url"
            } else {
                "is it started, and is the url in the collection right?"
            };
            findings.not_yet("reach", format!("{} does not answer: {why}", self.name), remedy);
        };
        self.ask(path).await.map_err(failed).ok()
    }

    async fn ask(&self, path: &str) -> Result<Answer, reqwest::Error> {
        let asked = clock::now();
        let mut response = self.http.get(format!("{}{path}", self.party.url)).send().await?;
        let answered = clock::now();
        let date = response.headers().get(DATE).and_then(|date| clock::parse(date.to_str().ok()?));
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            body.extend_from_slice(&piece);
            if body.len() > LONGEST {
                break;
            }
        }
        let ahead = date.map_or(0.0, |date| clock::ahead(date, asked, answered));
        Ok(Answer { status: response.status().as_u16(), body, ahead })
    }
}

/// The elements of a list; none of what is no list.
fn elements(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Time for one answer.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Seconds that clocks may differ before a warning.
const TOLERANCE: f64 = 2.0;

/// Bytes of an answer that are read.
const LONGEST: usize = 1 << 20;
