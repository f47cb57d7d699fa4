//! `throng doctor`: what is wrong with a machine, a party or a chain, and what to do about it.
//!
//! ```text
//! nothing given     the machine
//! --config FILE     a party: its files, disk, port, certificate, and the others of its chain
//! --collection FILE what a client needs: everyone answers, and the keys are signed by all
//! --wait SECONDS    the servers should be running: ask again until they are ready
//! ```
//!
//! Every check gives one finding. A running server is asked about what it holds, and nothing of it
//! is touched: without `--wait` a party is looked at before it starts, so its port is bound and its
//! lock taken for a moment.

mod certificate;
mod chain;
mod client;
mod clock;
mod finding;
mod machine;
mod party;

use crate::args::Doctor;
use crate::report::Report;
use anyhow::Result;
use finding::Findings;
use std::path::Path;
use std::time::{Duration, Instant};

/// Examines what is given, again and again if there is time, and reports.
pub fn run(request: &Doctor) -> Result<Report> {
    let until = Instant::now() + Duration::from_secs(request.wait.unwrap_or(0));
    tokio::runtime::Runtime::new()?.block_on(async {
        loop {
            let findings = examine(request).await;
            if !findings.may_pass() || Instant::now() >= until {
                return Ok(findings.report());
            }
            tokio::time::sleep(AGAIN).await;
        }
    })
}

async fn examine(request: &Doctor) -> Findings {
    let mut findings = Findings::default();
    if let (Some(file), Some(role)) = (&request.config, request.role) {
        party::examine(file, role, request.wait.is_some(), &mut findings).await;
    }
    if let Some(file) = &request.collection {
        client::examine(file, &mut findings).await;
    }
    if request.config.is_none() && request.collection.is_none() {
        machine::examine(&mut findings);
    }
    findings
}

/// The bytes of a file, or why there are none.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    throng_server::read_short(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The pause before everything is asked again.
const AGAIN: Duration = Duration::from_millis(500);
