//! `throng audit`: how private is it, seen from outside?

mod chain;
mod tell;

use crate::args::Audit as Request;
use crate::parallel::{cores, generator, interruption, seed, spread, spread_until};
use crate::progress::Progress;
use crate::report::Report;
use anyhow::{Result, bail, ensure};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use throng_account::{Crowd, Delta, Profile};
use throng_mechanism::{Ask, Attack, Audit, Design, Evidence, Mechanism};

/// Runs both worlds many times and compares what can be told apart with what is claimed.
pub fn run(request: &Request) -> Result<Report> {
    ensure!(request.runs.is_none_or(|runs| runs >= 100), "--runs must be 100 or more");
    let seconds = "--seconds must be from 1 to 86400";
    ensure!(request.seconds.is_none_or(|some| (1.0..=86_400.0).contains(&some)), seconds);
    let case = Case::new(request)?;
    if request.chain { chain::run(&case) } else { in_process(&case) }
}

/// The mechanism on trial: what is claimed of it, and the clients that are run.
struct Case<'a> {
    request: &'a Request,
    ask: Ask,
    claimed: Mechanism,
    claim: Box<dyn Profile>,
    client: Mechanism,
    seed: u64,
    /// The chance that anything that is said is wrong.
    failure: Delta,
    began: Instant,
}

impl<'a> Case<'a> {
    fn new(request: &'a Request) -> Result<Self> {
        let _working = Progress::busy("calibrating");
        let (seed, began) = (seed(request.seed)?, Instant::now());
        let failure = Delta::new(1.0 - request.confidence)?;
        let ask = request.wish.about(request.mechanism)?;
        let claimed = ask.calibrate(request.mechanism)?;
        let claim = claimed.profile(ask.crowd)?;
        let client = match request.weaken {
            Some(factor) => claimed.weakened(factor)?,
            None => claimed.clone(),
        };
        Ok(Self { request, ask, claimed, claim, client, seed, failure, began })
    }

    /// Settles everything that is bet on, by runs in process that have no part in what follows.
    fn bet(&self, attack: &Attack<'_>, budget: &Budget) -> Result<Bets> {
        let pilot = |part: u64, weakened: f64| -> Result<Vec<[f64; 2]>> {
            let client = self.claimed.weakened(weakened).unwrap_or_else(|_| self.claimed.clone());
            let runs = |unit| share(budget.pilot, PILOT_UNITS, unit);
            let seed = self.seed ^ (part + 1) << 56;
            let scores = spread("choosing tails", PILOT_UNITS, seed, |unit, rng| {
                Ok(attack.pilot(&client, runs(unit), rng)?)
            })?;
            Ok(scores.concat())
        };
        let design = Design::new(&*self.claim, &pilot(0, budget.aim)?, self.ask.delta)?;
        let all = Delta::new(stage_share(self.failure, 0))?;
        let mut seen_by_profile = None;
        for (part, factor) in (1..).zip(FACTORS) {
            if design.would_convict(&pilot(part, factor)?, budget.runs, all)? {
                seen_by_profile = Some(factor);
                break;
            }
        }
        Ok(Bets { design, seen_by_profile, runs: budget.runs })
    }

    /// Judges the first runs that make up a stage.
    fn judge(&self, attack: &Attack<'_>, bets: &Bets, heard: &Heard) -> Result<tell::Found> {
        let Bets { design, seen_by_profile, runs: intended } = bets;
        let Heard { evidence, share } = heard;
        let audit = design.judge(attack, evidence, *share)?;
        Ok(tell::Found {
            // The other stages had their share too.
            audit: Audit { confidence: self.request.confidence, ..audit },
            runs: evidence.runs(),
            intended: *intended,
            seed: self.seed,
            seen_by_law: design.least_seen(attack, evidence.runs(), *share)?,
            seen_by_profile: *seen_by_profile,
            passage: None,
        })
    }

    /// The evidence that counts, of `parts` parts that were planned: the largest stage that is
    /// whole.
    ///
    /// Stopping early must not be a choice of the best moment: all runs together, the first half
    /// of them, the first quarter and so on each have a share of the failure, and the answer is
    /// that of the largest that is whole. So it holds whenever and for whatever reason the runs
    /// stop.
    fn hear(&self, parts: &[Evidence], planned: u64) -> Result<Heard> {
        let mut stages = (0..=planned.ilog2()).map(|stage| (stage, planned >> stage));
        let Some((stage, whole)) = stages.find(|(_, whole)| parts.len() as u64 >= *whole) else {
            bail!("stopped before anything could be said");
        };
        let mut evidence = Evidence::default();
        parts.iter().take(whole as usize).for_each(|part| evidence.merge(part));
        Ok(Heard { evidence, share: Delta::new(stage_share(self.failure, stage))? })
    }
}

/// The bets of an audit, and how many runs are to decide them.
struct Bets {
    design: Design,
    /// The smallest factor tried that the profile would show.
    seen_by_profile: Option<f64>,
    runs: u64,
}

/// Evidence that counts, and the part of the failure that is its own.
struct Heard {
    evidence: Evidence,
    share: Delta,
}

/// The audit of the two halves of a mechanism, without a chain between them.
fn in_process(case: &Case<'_>) -> Result<Report> {
    let Case { request, ask, claimed, claim, client, seed, .. } = case;
    let budget = Budget::of(request, claimed, ask.crowd, &**claim)?;
    let attack = Attack::new(claimed, ask.crowd, &**claim, &mut generator(*seed, u64::MAX))?;
    let bets = case.bet(&attack, &budget)?;

    let deadline =
        request.runs.is_none().then(|| case.began + Duration::from_secs_f64(seconds(request)));
    let interrupted = interruption()?;
    let stop =
        || interrupted.load(Ordering::Relaxed) || deadline.is_some_and(|end| Instant::now() > end);
    let units = UNITS.min(1 << budget.runs.ilog2());
    let parts = spread_until("auditing", units, *seed, stop, |unit, rng| {
        Ok(bets.design.gather(&attack, client, share(budget.runs, units, unit), rng)?)
    })?;
    let found = case.judge(&attack, &bets, &case.hear(&parts, units)?)?;
    Ok(tell::report(request, ask, &found))
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

/// The time that an audit may take.
fn seconds(request: &Request) -> f64 {
    request.seconds.unwrap_or(if request.chain { 60.0 } else { 20.0 })
}

/// Runs that there is time for.
struct Budget {
    /// Of the audit itself.
    runs: u64,
    /// Of each pilot.
    pilot: u64,
    /// The factor of weaker noise that tails are chosen for.
    aim: f64,
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
            return Ok(Self { runs, pilot: (runs / 8).clamp(100, MAX_PILOT), aim: FACTORS[0] });
        }
        let few = Crowd::new(crowd.get().min(1_000))?;
        let attack = Attack::new(claimed, few, claim, &mut generator(0, 0))?;
        let scale = crowd.get() as f64 / few.get() as f64;
        let each = time_of_run(&attack)? * scale;
        let possible = seconds(request) * cores() as f64 / each;
        let runs = (RUNS * possible) as u64;
        if runs < LEAST_RUNS {
            let ratio = RUNS * possible / LEAST_RUNS as f64;
            bail!(
                "a run of {} reports takes about {each:.2} s on one core, and {LEAST_RUNS} runs \
                 are the least that say anything: --n {} would do, or --seconds {:.0}",
                crowd.get(),
                (crowd.get() as f64 * 0.8 * ratio) as u64,
                (seconds(request) / (0.8 * ratio)).ceil()
            );
        }
        let pilot = ((PILOT * possible) as u64).clamp(100, MAX_PILOT);
        Ok(Self { runs, pilot, aim: FACTORS[0] })
    }
}

/// Seconds that one run takes on one core, in process.
fn time_of_run(attack: &Attack<'_>) -> Result<f64> {
    let mut rng = generator(0, 1);
    attack.pilot(attack.claimed(), 1, &mut rng)?;
    let (began, mut probes) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_millis(100) {
        attack.pilot(attack.claimed(), 1, &mut rng)?;
        probes += 1;
    }
    Ok(began.elapsed().as_secs_f64() / f64::from(probes))
}

/// Factors for which it is said whether the profile would show them.
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
