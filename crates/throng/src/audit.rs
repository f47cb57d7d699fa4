//! `throng audit`: how private is it, seen from outside?

mod tell;

use crate::args::Audit as Request;
use crate::parallel::{cores, generator, interruption, seed, spread, spread_until};
use crate::report::Report;
use anyhow::{Result, bail, ensure};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use throng_account::{Crowd, Delta, Profile};
use throng_mechanism::{Attack, Audit, Design, Evidence, Mechanism};

/// Runs both worlds many times and compares what can be told apart with what is claimed.
pub fn run(request: &Request) -> Result<Report> {
    ensure!(request.runs.is_none_or(|runs| runs >= 100), "--runs must be 100 or more");
    let seconds = "--seconds must be from 1 to 86400";
    ensure!((1.0..=86_400.0).contains(&request.seconds), seconds);
    let seed = seed(request.seed)?;
    let failure = Delta::new(1.0 - request.confidence)?;
    let ask = request.wish.about(request.mechanism)?;
    let claimed = ask.calibrate(request.mechanism)?;
    let claim = claimed.profile(ask.crowd)?;
    let client = match request.weaken {
        Some(factor) => claimed.weakened(factor)?,
        None => claimed.clone(),
    };
    let began = Instant::now();
    let budget = Budget::of(request, &claimed, ask.crowd, &*claim)?;
    let attack = Attack::new(&claimed, ask.crowd, &*claim, &mut generator(seed, u64::MAX))?;

    // Everything that is bet on is settled here, by runs that have no part in what follows.
    let pilot = |part: u64, weakened: f64| -> Result<Vec<[f64; 2]>> {
        let client = claimed.weakened(weakened).unwrap_or_else(|_| claimed.clone());
        let runs = |unit| share(budget.pilot, PILOT_UNITS, unit);
        let seed = seed ^ (part + 1) << 56;
        let scores = spread("choosing tails", PILOT_UNITS, seed, |unit, rng| {
            Ok(attack.pilot(&client, runs(unit), rng)?)
        })?;
        Ok(scores.concat())
    };
    let design = Design::new(&*claim, &pilot(0, FACTORS[0])?, ask.delta)?;
    let all = Delta::new(stage_share(failure, 0))?;
    let mut seen_by_profile = None;
    for (part, factor) in (1..).zip(FACTORS) {
        if design.would_convict(&pilot(part, factor)?, budget.runs, all)? {
            seen_by_profile = Some(factor);
            break;
        }
    }

    let deadline = request.runs.is_none().then(|| began + Duration::from_secs_f64(request.seconds));
    let (evidence, share) = gather(&attack, &design, &client, &budget, seed, failure, deadline)?;
    let audit = design.judge(&attack, &evidence, share)?;
    let found = tell::Found {
        // The other stages had their share too.
        audit: Audit { confidence: request.confidence, ..audit },
        runs: evidence.runs(),
        intended: budget.runs,
        seed,
        seen_by_law: design.least_seen(&attack, evidence.runs(), share)?,
        seen_by_profile,
    };
    Ok(tell::report(request, &ask, &found))
}

/// Makes the runs; returns those that count, and the part of `failure` that is theirs.
///
/// Stopping early must not be a choice of the best moment: all runs together, the first half of
/// them, the first quarter and so on each have a share of the failure, and the answer is that of the
/// largest that is whole. So it holds whenever and for whatever reason the runs stop.
fn gather(
    attack: &Attack<'_>,
    design: &Design,
    client: &Mechanism,
    budget: &Budget,
    seed: u64,
    failure: Delta,
    deadline: Option<Instant>,
) -> Result<(Evidence, Delta)> {
    let interrupted = interruption()?;
    let stop =
        || interrupted.load(Ordering::Relaxed) || deadline.is_some_and(|end| Instant::now() > end);
    let units = UNITS.min(1 << budget.runs.ilog2());
    let parts = spread_until("auditing", units, seed, stop, |unit, rng| {
        Ok(design.gather(attack, client, share(budget.runs, units, unit), rng)?)
    })?;
    let mut stages = (0..=units.ilog2()).map(|stage| (stage, units >> stage));
    let Some((stage, whole)) = stages.find(|(_, whole)| parts.len() as u64 >= *whole) else {
        bail!("stopped before anything could be said");
    };
    let mut evidence = Evidence::default();
    parts.iter().take(whole as usize).for_each(|part| evidence.merge(part));
    Ok((evidence, Delta::new(stage_share(failure, stage))?))
}

/// The part of the failure that goes to all runs, to the first half, the first quarter …
fn stage_share(failure: Delta, stage: u32) -> f64 {
    failure.get() * 0.5_f64.powi(stage as i32 + 1)
}

/// The part of `runs` that is made in one of `units`.
fn share(runs: u64, units: u64, unit: u64) -> u64 {
    let until = |unit: u64| (u128::from(runs) * u128::from(unit) / u128::from(units)) as u64;
    until(unit + 1) - until(unit)
}

/// Runs that there is time for.
struct Budget {
    /// Of the audit itself.
    runs: u64,
    /// Of each pilot.
    pilot: u64,
}

impl Budget {
    /// The runs asked for, or as many as the time allows, by the speed of reports among a thousand.
    fn of(
        request: &Request,
        claimed: &Mechanism,
        crowd: Crowd,
        claim: &dyn Profile,
    ) -> Result<Self> {
        if let Some(runs) = request.runs {
            return Ok(Self { runs, pilot: (runs / 8).clamp(100, MAX_PILOT) });
        }
        let few = Crowd::new(crowd.get().min(1_000))?;
        let mut rng = generator(0, 0);
        let attack = Attack::new(claimed, few, claim, &mut rng)?;
        attack.pilot(claimed, 1, &mut rng)?;
        let (began, mut probes) = (Instant::now(), 0);
        while began.elapsed() < Duration::from_millis(100) {
            attack.pilot(claimed, 1, &mut rng)?;
            probes += 1;
        }
        let scale = crowd.get() as f64 / few.get() as f64;
        let each = began.elapsed().as_secs_f64() / f64::from(probes) * scale;
        let possible = request.seconds * cores() as f64 / each;
        let runs = (RUNS * possible) as u64;
        if runs < LEAST_RUNS {
            let ratio = RUNS * possible / LEAST_RUNS as f64;
            bail!(
                "a run of {} reports takes about {each:.2} s on one core, and {LEAST_RUNS} runs \
                 are the least that say anything: --n {} would do, or --seconds {:.0}",
                crowd.get(),
                (crowd.get() as f64 * 0.8 * ratio) as u64,
                (request.seconds / (0.8 * ratio)).ceil()
            );
        }
        let pilot = ((PILOT * possible) as u64).clamp(100, MAX_PILOT);
        Ok(Self { runs, pilot })
    }
}

/// Factors for which it is said whether the profile would show them. Tails are chosen for the
/// first.
const FACTORS: [f64; 5] = [1.3, 2.0, 4.0, 8.0, 16.0];
/// Units of work, of which a stage is the first half, quarter …: a power of two.
const UNITS: u64 = 512;
const PILOT_UNITS: u64 = 32;
const MAX_PILOT: u64 = 20_000;
/// The parts of the time for all runs and for each pilot. The rest is room for a busy machine.
const RUNS: f64 = 0.65;
const PILOT: f64 = 0.03;
/// Fewer runs see nothing but the crudest bugs.
const LEAST_RUNS: u64 = 200;
