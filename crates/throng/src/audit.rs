//! `throng audit`: how private is it, seen from outside?

use crate::args::Audit as Request;
use crate::parallel::{generator, seed, spread};
use crate::report::{Report, Rows, digits};
use anyhow::{Result, ensure};
use throng_account::Delta;
use throng_account::show::{Lower, Near, Upper};
use throng_mechanism::{Attack, Audit, Finding};

/// Runs both worlds many times and compares what can be told apart with what is claimed.
pub fn run(request: &Request) -> Result<Report> {
    ensure!(request.runs >= 100, "--runs must be 100 or more");
    let seed = seed(request.seed)?;
    let failure = Delta::new(1.0 - request.confidence)?;
    let ask = request.wish.about(request.mechanism)?;
    let claimed = ask.calibrate(request.mechanism)?;
    let claim = claimed.profile(ask.crowd)?;
    let real = match request.weaken {
        Some(factor) => claimed.weakened(factor)?,
        None => claimed.clone(),
    };
    let attack = Attack::new(&real, ask.crowd, &*claim, &mut generator(seed, u64::MAX))?;
    let blocks = request.runs.div_ceil(BLOCK);
    let scores = spread("auditing", 2 * blocks, seed, |unit, rng| {
        let runs = BLOCK.min(request.runs - unit / 2 * BLOCK);
        (0..runs).map(|_| Ok(attack.run((unit % 2) as usize, rng)?)).collect::<Result<Vec<f64>>>()
    })?;
    let world =
        |w: usize| -> Vec<f64> { scores.iter().skip(w).step_by(2).flatten().copied().collect() };
    let audit = Audit::judge(&world(0), &world(1), &*claim, ask.delta, failure)?;
    let epsilon_claimed = claim.epsilon(ask.delta)?.epsilon.get();
    let caught = audit.broken().next().is_some() || audit.epsilon_lower > epsilon_claimed;
    let head = vec!["epsilon", "delta measured, at least", "delta claimed, at most"];
    let row = |found: &Finding| {
        Report::default()
            .line("epsilon", head[0], Near(found.epsilon))
            .line("delta_lower", head[1], Lower(found.delta_lower))
            .line("delta_claimed", head[2], Upper(found.delta_claimed))
            .field("broken", found.broken())
    };
    let shown: Vec<Report> = audit.findings.iter().step_by(5).map(row).collect();
    let report = Report::default()
        .line("mechanism", "mechanism", request.mechanism.name())
        .line("n", "reports", ask.reports)
        .field("honest", ask.crowd.get())
        .line("runs", "runs in each world", request.runs)
        .line("delta", "delta", Upper(ask.delta.get()))
        .line("epsilon_claimed", "epsilon claimed, at most", Upper(epsilon_claimed))
        .line("epsilon_lower", "epsilon measured, at least", Lower(audit.epsilon_lower))
        .line("confidence", "confidence", Near(audit.confidence))
        .line("seed", "seed", seed)
        .line("consistent", "consistent with the claim", !caught)
        .field("profile", audit.findings.iter().map(row).collect::<Vec<_>>())
        // The head stands there even where nothing was found.
        .table(Rows { head, ..shown.into() });
    let excess = |found: &Finding| found.delta_lower - found.delta_claimed;
    if let Some(worst) = audit.broken().max_by(|a, b| excess(a).total_cmp(&excess(b))) {
        let text = format!(
            "CAUGHT: at epsilon {} delta is at least {}, but at most {} is claimed.",
            digits(Near(worst.epsilon)),
            digits(Lower(worst.delta_lower)),
            digits(Upper(worst.delta_claimed))
        );
        return Ok(report.field("caught", text.clone()).note(text).well(false));
    }
    Ok(report.note(
        "What happens less than once in as many runs is not seen, so the measured epsilon stays \
         far below the claimed one at a small delta. A broken claim shows at small epsilon first.",
    ))
}

/// Runs that one unit of work makes.
const BLOCK: u64 = 64;
