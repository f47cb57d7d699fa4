//! `throng account`: how private is it?

mod plain;

use crate::args::{Account, CrowdArgs, FlipArgs, Query, Randomizer};
use crate::report::{Report, Rows, digits};
use anyhow::Context;
use throng_account::profile::{
    BitSum, Blanket, Bound, Longitudinal, Rappor, Shuffled, TwoMessageCount,
};
use throng_account::show::{Lower, Near, Upper};
use throng_account::spend::{closed_form, shuffled_rounds};
use throng_account::tradeoff::TradeOff;
use throng_account::{Crowd, Delta, Epsilon, Error, Guarantee, Probability, Profile, published};

/// Answers one query.
pub fn run(query: Account) -> anyhow::Result<Report> {
    match query {
        Account::BitSum { crowd, noise, query, alpha } => bit_sum(&crowd, &noise, &query, &alpha),
        Account::TwoMessageCount { crowd, p, query } => two_message_count(&crowd, p, &query),
        Account::RealSum { crowd, noise, r, query } => real_sum(&crowd, &noise, r, &query),
        Account::Plain(query) => plain::run(query),
        Account::SplitAndMix { crowd, noise_epsilon, noise_delta, size, query } => {
            plain::split_and_mix(&crowd, (noise_epsilon, noise_delta), size, &query)
        }
        Account::Collection { file, n, query } => plain::collection(&file, n, &query),
        Account::Amplify {
            crowd,
            epsilon0,
            mechanism,
            k,
            size,
            g,
            collision,
            keep,
            set,
            query,
        } => {
            if mechanism == Randomizer::General {
                return general(&crowd, epsilon0.context(needs("epsilon0"))?, &query);
            }
            let reports = crowd.crowd()?;
            let local =
                || Epsilon::new(epsilon0.context(needs("epsilon0"))?).map_err(anyhow::Error::from);
            let (name, blanket) = match mechanism {
                Randomizer::KaryResponse | Randomizer::General => {
                    let k = k.context(needs("k"))?;
                    if k == 2 {
                        return binary_response(&crowd, local()?, &query);
                    }
                    ("kary-response", Blanket::kary_response(reports, local()?, k)?)
                }
                Randomizer::SubsetSelection => {
                    let (k, size) = (k.context(needs("k"))?, size.context(needs("size"))?);
                    ("subset-selection", Blanket::subset_selection(reports, local()?, k, size)?)
                }
                Randomizer::LocalHashing => {
                    let g = g.context(needs("g"))?;
                    ("local-hashing", Blanket::local_hashing(reports, local()?, g, collision)?)
                }
                Randomizer::UnaryEncoding => {
                    let keep = Probability::new("keep", keep.context(needs("keep"))?)?;
                    let set = Probability::new("set", set.context(needs("set"))?)?;
                    ("unary-encoding", Blanket::unary_encoding(reports, keep, set)?)
                }
            };
            let report =
                crowd.header(name).line("epsilon0", "local epsilon0", Upper(epsilon0_of(&blanket)));
            let report = answer(report, &blanket, &query)?;
            match query.delta {
                Some(delta) => blanket_bounds(report, &blanket, reports, Delta::new(delta)?),
                None => Ok(report),
            }
        }
        Account::Compose { crowd, epsilon0, delta, rounds } => {
            composed(&crowd, epsilon0, delta, rounds)
        }
        Account::Rappor { f, p, q, hashes, reports } => {
            let [f, p, q] =
                [("f", f), ("p", p), ("q", q)].map(|(name, x)| Probability::new(name, x));
            let rappor = Rappor::new(hashes, f?, p?, q?)?;
            Ok(Report::default()
                .line("mechanism", "mechanism", "rappor")
                .field("hashes", hashes)
                .line("epsilon_one", "epsilon of one report", Upper(rappor.one_report().get()))
                .line("reports", "reports on one value", reports)
                .line(
                    "epsilon_reports",
                    "epsilon of that many",
                    Upper(rappor.reports(reports).get()),
                )
                .line("epsilon_forever", "epsilon for ever", Upper(rappor.forever().get()))
                .note(
                    "Per distinct value: a value that changes costs again. Local guarantees, \
                     without shuffling.",
                ))
        }
        Account::Longitudinal { periods, epsilon0, n, delta } => {
            longitudinal(periods, epsilon0, n, delta)
        }
    }
}

fn bit_sum(
    crowd: &CrowdArgs,
    noise: &FlipArgs,
    query: &Query,
    alpha: &[f64],
) -> anyhow::Result<Report> {
    let reports = crowd.crowd()?;
    let protocol = BitSum::with_flip(reports, noise.flip(crowd.n)?)?;
    let mut report = crowd
        .header("bit-sum")
        .line("lambda", "lambda", Near(noise.lambda.unwrap_or(protocol.lambda())))
        .line("flip", "flip probability", Near(protocol.flip()));
    report = answer(report, &protocol, query)?;
    report = report.line("local_floor", "local floor", Upper(epsilon0_of(&protocol)));
    if let Some(delta) = query.delta {
        report = match published::bit_sum_closed(reports, protocol.lambda(), Delta::new(delta)?) {
            Ok(epsilon) => {
                report.line("epsilon_published", "Cheu et al. Corollary 17", Upper(epsilon))
            }
            Err(why) => report.field("epsilon_published", why.to_string()),
        };
    }
    if alpha.is_empty() {
        return Ok(report);
    }
    let curve = TradeOff::new(&protocol)?;
    let betas = alpha.iter().map(|&a| curve.beta(a)).collect::<Result<Vec<_>, _>>()?;
    let rows =
        alpha.iter().zip(&betas).map(|(a, b)| vec![digits(Near(*a)), digits(Lower(*b))]).collect();
    Ok(report
        .field("alpha", alpha.to_vec())
        .field("beta", betas)
        .line("mu", "smallest GDP mu", Upper(curve.mu()))
        .table(Rows { head: vec!["type I error", "least type II error"], rows }))
}

fn two_message_count(crowd: &CrowdArgs, p: f64, query: &Query) -> anyhow::Result<Report> {
    let protocol = TwoMessageCount::new(crowd.crowd()?, Probability::new("p", p)?);
    let report = crowd.header("two-message-count").line("p", "p", Near(p)).line(
        "delta_least",
        "least delta of any epsilon",
        Upper(protocol.least_delta()),
    );
    let report = answer(report, &protocol, query)?;
    Ok(report.line("local_floor", "local floor", "infinity"))
}

fn real_sum(crowd: &CrowdArgs, noise: &FlipArgs, r: u64, query: &Query) -> anyhow::Result<Report> {
    let protocol = BitSum::with_flip(crowd.crowd()?, noise.flip(crowd.n)?)?.with_bits(r)?;
    let lambda = noise.lambda.unwrap_or(2.0 * crowd.n as f64 * protocol.flip());
    let mut report = crowd.header("real-sum").line("lambda", "lambda", Near(lambda)).line(
        "r",
        "bits per user",
        r,
    );
    // What Cheu et al., Theorem 23, would ask of each of the r bit-sums for the same promise.
    let (epsilon, delta) = if let Some(delta) = query.delta {
        let found = protocol.epsilon(Delta::new(delta)?)?;
        report = with_guarantee(report, &found);
        (found.epsilon, Ok(found.delta))
    } else {
        report = answer(report, &protocol, query)?;
        let epsilon = Epsilon::new(query.epsilon.unwrap_or(0.0))?;
        (epsilon, Delta::new(protocol.delta(epsilon).upper))
    };
    report = report.line("local_floor", "local floor of a report", Upper(epsilon0_of(&protocol)));
    let split = delta.and_then(|delta| published::real_sum_split(epsilon, delta, r));
    report = match split {
        Ok((each, _)) => {
            report.line("epsilon_per_bit_published", "per bit by Theorem 23", Near(each))
        }
        Err(why) => report.field("epsilon_per_bit_published", why.to_string()),
    };
    Ok(report)
}

fn general(crowd: &CrowdArgs, epsilon0: f64, query: &Query) -> anyhow::Result<Report> {
    let mechanism = Shuffled::new(crowd.crowd()?, Epsilon::new(epsilon0)?)?;
    let report = crowd.header("general").line("epsilon0", "local epsilon0", Upper(epsilon0));
    let report = answer(report, &mechanism, query)?;
    Ok(match query.delta {
        Some(delta) => bounds(report, &mechanism.bounds(Delta::new(delta)?)?),
        None => report,
    })
}

fn binary_response(crowd: &CrowdArgs, local: Epsilon, query: &Query) -> anyhow::Result<Report> {
    let reports = crowd.crowd()?;
    let protocol = BitSum::from_local(reports, local)?;
    let report = crowd.header("kary-response").field("k", 2).line(
        "epsilon0",
        "local epsilon0",
        Upper(local.get()),
    );
    let report = answer(report, &protocol, query)?;
    let Some(delta) = query.delta else { return Ok(report) };
    let delta = Delta::new(delta)?;
    let exact = protocol.epsilon(delta)?;
    let mut all = Shuffled::new(reports, local)?.bounds(delta)?;
    all.insert(0, Bound { theorem: exact.theorem, epsilon: Ok(exact.epsilon) });
    Ok(bounds(report, &all))
}

/// The blanket beside what holds for every randomizer with the same ε₀.
fn blanket_bounds(
    report: Report,
    blanket: &Blanket,
    crowd: Crowd,
    delta: Delta,
) -> anyhow::Result<Report> {
    let own = blanket.epsilon(delta)?;
    let mut all = Shuffled::new(crowd, Epsilon::new(epsilon0_of(blanket))?)?.bounds(delta)?;
    all.insert(0, Bound { theorem: own.theorem, epsilon: Ok(own.epsilon) });
    Ok(bounds(report, &all))
}

fn composed(crowd: &CrowdArgs, epsilon0: f64, delta: f64, rounds: u64) -> anyhow::Result<Report> {
    let (reports, local, delta) = (crowd.crowd()?, Epsilon::new(epsilon0)?, Delta::new(delta)?);
    if rounds == 0 {
        let range = "1 or more";
        return Err(Error::OutOfRange { name: "rounds", value: 0.0, range }.into());
    }
    let found = shuffled_rounds(reports, local, rounds, delta)?;
    // The same rounds by the rules of thumb: half of delta for the rounds, half for composing.
    let each = Delta::new(0.5 * delta.get() / rounds as f64)?;
    let per_round = Shuffled::new(reports, local)?.epsilon(each)?.epsilon;
    let slack = Delta::new(0.5 * delta.get())?;
    let advanced = closed_form::advanced(per_round, rounds, slack);
    let basic = closed_form::basic(per_round, each.get(), rounds).0;
    let unshuffled = rounds as f64 * epsilon0;
    let renyi = published::swap_renyi_rounds(reports, local, rounds, delta).min(unshuffled);
    let report = crowd
        .header("compose")
        .line("epsilon0", "local epsilon0", Upper(epsilon0))
        .line("rounds", "rounds", rounds);
    let report = with_guarantee(report, &found);
    let others = [
        ("basic", basic, "each round at delta/2T, epsilons added"),
        ("advanced", advanced, "Dwork, Rothblum, Vadhan (2010)"),
        ("swap-renyi", renyi, "Erlingsson et al. (2019), Remark 1, composed"),
        ("local", unshuffled, "without shuffling"),
    ];
    let json: Vec<_> = others
        .iter()
        .map(|(name, epsilon, source)| {
            serde_json::json!({"name": name, "epsilon": epsilon, "valid": true, "source": source})
        })
        .collect();
    let rows = others
        .iter()
        .map(|(name, epsilon, source)| {
            vec![(*name).into(), digits(Upper(*epsilon)), (*source).into()]
        })
        .collect();
    Ok(report
        .field("bounds", json)
        .table(Rows { head: vec!["for comparison", "epsilon", "source"], rows }))
}

fn longitudinal(periods: u64, epsilon0: f64, n: u64, delta: f64) -> anyhow::Result<Report> {
    let protocol = Longitudinal::new(periods, Epsilon::new(epsilon0)?)?;
    let levels = protocol.levels();
    let found = protocol.shuffled(Crowd::new(n)?)?.epsilon(Delta::new(delta)?)?;
    Ok(Report::default()
        .line("mechanism", "mechanism", "longitudinal")
        .line("n", "users", n)
        .line("periods", "periods", periods)
        .line("levels", "levels of the tree", levels)
        .line("local_floor", "local epsilon, whole life", Upper(protocol.lifetime().get()))
        .line("delta", "delta", Upper(delta))
        .line("epsilon_upper", "shuffled epsilon, whole life", Upper(found.epsilon.get()))
        .field("epsilon_lower", 0.0)
        .field("theorem", found.theorem.name())
        .note("A whole life, level included, is one report of a randomizer that everybody shares."))
}

/// δ at ε, or ε at δ, with its lower bound.
fn answer(report: Report, profile: &dyn Profile, query: &Query) -> anyhow::Result<Report> {
    if let Some(delta) = query.delta {
        return Ok(with_guarantee(report, &profile.epsilon(Delta::new(delta)?)?));
    }
    let epsilon = Epsilon::new(query.epsilon.context("--epsilon or --delta is needed")?)?;
    let band = profile.delta(epsilon);
    let mut report = report
        .line("epsilon", "epsilon", Upper(epsilon.get()))
        .line("delta_upper", "delta, at most", Upper(band.upper))
        .line("delta_lower", "delta, at least", Lower(band.lower));
    if let Some(dataset) = profile.witness(epsilon).filter(|_| band.lower > 0.0) {
        report = report.line("dataset", "reached where", dataset.to_string());
    }
    Ok(provenance(report, profile.theorem()))
}

fn with_guarantee(report: Report, found: &Guarantee) -> Report {
    let mut report = report.line("delta", "delta", Upper(found.delta.get())).line(
        "epsilon_upper",
        "epsilon, at most",
        Upper(found.epsilon.get()),
    );
    match &found.lower {
        Some(witness) => {
            report = report
                .line("epsilon_lower", "epsilon, at least", Lower(witness.epsilon.get()))
                .line("dataset", "reached where", witness.dataset.to_string());
        }
        None => report = report.field("epsilon_lower", 0.0),
    }
    provenance(report, found.theorem)
}

fn provenance(report: Report, theorem: throng_account::Theorem) -> Report {
    report
        .field("neighbours", "replace-one")
        .line("theorem", "by", theorem.name())
        .field("source", theorem.source())
}

fn bounds(report: Report, all: &[Bound]) -> Report {
    let mut json = Vec::new();
    let mut rows = Vec::new();
    for Bound { theorem, epsilon } in all {
        let (name, source) = (theorem.name(), theorem.source());
        match epsilon {
            Ok(epsilon) => {
                let value = epsilon.get();
                json.push(serde_json::json!(
                    {"name": name, "epsilon": value, "valid": true, "source": source}
                ));
                rows.push(vec![name.into(), digits(Upper(value)), source.into()]);
            }
            Err(why) => {
                let why = why.to_string();
                json.push(serde_json::json!(
                    {"name": name, "epsilon": null, "valid": false, "source": source, "why": why}
                ));
                rows.push(vec![name.into(), "-".into(), why]);
            }
        }
    }
    report.field("bounds", json).table(Rows { head: vec!["bound", "epsilon", "source"], rows })
}

fn epsilon0_of(profile: &dyn Profile) -> f64 {
    profile.pure().map_or(f64::INFINITY, Epsilon::get)
}

fn needs(flag: &str) -> String {
    format!("this mechanism needs --{flag}")
}

impl CrowdArgs {
    /// The honest crowd.
    pub fn crowd(&self) -> Result<Crowd, Error> {
        Crowd::honest(self.n, self.corrupt)
    }

    /// A report that starts with the mechanism and its crowd.
    pub fn header(&self, mechanism: &str) -> Report {
        let report = Report::default()
            .line("mechanism", "mechanism", mechanism)
            .line("n", "reports", self.n);
        match self.crowd() {
            Ok(honest) if self.corrupt > 0.0 => {
                report.line("honest", "honest reports", honest.get())
            }
            _ => report,
        }
    }
}

impl FlipArgs {
    /// The flip probability; λ refers to all `n` reports, corrupt ones included.
    fn flip(&self, n: u64) -> Result<f64, Error> {
        match (self.lambda, self.flip) {
            (Some(lambda), _) => Ok(BitSum::new(Crowd::new(n)?, lambda)?.flip()),
            (None, flip) => Ok(flip.unwrap_or(f64::NAN)),
        }
    }
}
