//! Mechanisms that are fully described by a profile.

use super::{answer, floored, or_infinity};
use crate::args::{CrowdArgs, Plain, Query};
use crate::collection::read_terms;
use crate::report::{Report, finite};
use anyhow::{Context, Result};
use std::path::Path;
use throng_account::{Delta, Epsilon, Profile};
use throng_mechanism::{Claims, Protocol, SplitAndMix};

/// Answers one query.
pub fn run(plain: Plain) -> Result<Report> {
    let Plain { key, crowd, mut settings, flip, query } = plain;
    let inquiry = key.row().inquiry.context("a profile does not say all of this mechanism")?;
    let honest = crowd.crowd()?;
    if let Some(flip) = flip {
        settings.flip = flip.flip(crowd.n)?;
    }
    let profile = (inquiry.profile)(&settings, honest)?;
    known(key.name(), &crowd, &*profile, &query)
}

/// The promise that the shares of a sum give a crowd.
pub fn split_and_mix(
    crowd: &CrowdArgs,
    (epsilon, delta): (f64, f64),
    size: u32,
    query: &Query,
) -> Result<Report> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
    let honest = crowd.crowd()?;
    let mechanism = SplitAndMix::fragile(honest, epsilon, delta, size)?;
    let report = known("split-and-mix", crowd, &*mechanism.profile(honest)?, query)?;
    Ok(report
        .line("messages", "messages per report", mechanism.messages())
        .note("One liar, or one lost message, ruins the sum."))
}

/// The answer for the mechanism of a file, whichever it is.
pub fn collection(file: &Path, n: Option<u64>, query: &Query) -> Result<Report> {
    let terms = read_terms(file)?;
    let n = n.unwrap_or(terms.promise.crowd.get());
    let crowd = CrowdArgs { n, corrupt: 0.0 };
    let profile = terms.mechanism.profile(crowd.crowd()?)?;
    let (report, ..) = answer(crowd.header(terms.mechanism.key().name()), &*profile, query)?;
    Ok(report.field("local_floor", finite(or_infinity(terms.mechanism.local_floor()))))
}

/// The answer of a profile, and what one report keeps by itself.
fn known(name: &str, crowd: &CrowdArgs, profile: &dyn Profile, query: &Query) -> Result<Report> {
    Ok(floored(answer(crowd.header(name), profile, query)?.0, profile))
}
