//! `throng account`: how private is it?

use crate::args::{
    Account, Amplify, ByKey, CrowdArgs, FlipArgs, Plain, Query, Randomizer, RapporArgs,
};
use crate::collection::read_terms;
use crate::report::{Printable, Report, finite};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use throng_account::profile::{
    Amplification, BitSum, Blanket, Bound, ClonePair, Longitudinal, Rappor, TwoMessageCount,
};
use throng_account::published;
use throng_account::show::{Lower, Near, Upper};
use throng_account::spend::{closed_form, shuffled_rounds};
use throng_account::tradeoff::TradeOff;
use throng_account::{
    Crowd, Delta, Epsilon, Error, Guarantee, Probability, Profile, Theorem, Threshold, UpperOnly,
};
use throng_mechanism::{Claims, Mechanism, Protocol, SplitAndMix};

/// Answers one query.
pub fn run(query: Account) -> Result<Report> {
    match query {
        Account::BitSum { crowd, noise, query, alpha } => bit_sum(&crowd, &noise, &query, &alpha),
        Account::TwoMessageCount { crowd, p, query } => two_message_count(&crowd, p, &query),
        Account::RealSum { crowd, noise, r, query } => real_sum(&crowd, &noise, r, &query),
        Account::Plain(ByKey(query)) => plain(query),
        Account::SplitAndMix { crowd, noise_epsilon, noise_delta, size, query } => {
            split_and_mix(&crowd, noise_epsilon, noise_delta, size, &query)
        }
        Account::Collection { file, n, query } => collection(&file, n, &query),
        Account::Amplify(query) => amplify(&query),
        Account::Compose { crowd, epsilon0, delta, rounds } => {
            compose(&crowd, epsilon0, delta, rounds)
        }
        Account::Rappor(asked) => rappor(&asked),
        Account::Longitudinal { periods, epsilon0, keep, crowd, query } => {
            longitudinal(periods, epsilon0, keep, &crowd, &query)
        }
    }
}

fn bit_sum(crowd: &CrowdArgs, noise: &FlipArgs, query: &Query, alpha: &[f64]) -> Result<Report> {
    let reports = crowd.crowd()?;
    let protocol = BitSum::with_flip(reports, noise.flip(crowd.n)?)?;
    let report = crowd
        .header("bit-sum")
        .line("lambda", "lambda", Near(noise.lambda.unwrap_or(protocol.lambda())))
        .line("flip", "flip probability", Near(protocol.flip()));
    let mut report = known(report, &protocol, query)?;
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
    let row = |(a, b): (&f64, &f64)| {
        let row = Report::default().line("alpha", "type I error", Near(*a));
        row.line("beta", "least type II error", Lower(*b))
    };
    Ok(report
        .field("alpha", alpha.to_vec())
        .field("beta", betas.clone())
        .line("mu", "smallest GDP mu", Upper(curve.mu()))
        .table(alpha.iter().zip(&betas).map(row).collect::<Vec<_>>()))
}

fn two_message_count(crowd: &CrowdArgs, p: f64, query: &Query) -> Result<Report> {
    let protocol = TwoMessageCount::new(crowd.crowd()?, Probability::new("p", p)?);
    let least = Upper(protocol.least_delta());
    let report = crowd.header("two-message-count").line("p", "p", Near(p));
    known(report.line("delta_least", "least delta of any epsilon", least), &protocol, query)
}

fn real_sum(crowd: &CrowdArgs, noise: &FlipArgs, r: u64, query: &Query) -> Result<Report> {
    let protocol = BitSum::with_flip(crowd.crowd()?, noise.flip(crowd.n)?)?.with_bits(r)?;
    let lambda = noise.lambda.unwrap_or(2.0 * crowd.n as f64 * protocol.flip());
    let report = crowd.header("real-sum").line("lambda", "lambda", Near(lambda));
    let report = report.line("r", "bits per user", r);
    let (report, epsilon, delta) = answer(report, &protocol, query)?;
    let floor = Upper(or_infinity(protocol.pure()));
    let report = report.line("local_floor", "local floor of a report", floor);
    // What Cheu et al., Theorem 23, would ask of each of the r bit-sums for the same promise.
    let split = Delta::new(delta).and_then(|delta| published::real_sum_split(epsilon, delta, r));
    Ok(match split {
        Ok((each, _)) => {
            report.line("epsilon_per_bit_published", "per bit by Theorem 23", Near(each))
        }
        Err(why) => report.field("epsilon_per_bit_published", why.to_string()),
    })
}

/// A mechanism that is fully described by a profile.
fn plain(asked: Plain) -> Result<Report> {
    let Plain { key, crowd, mut settings, flip, query } = asked;
    let inquiry = key.row().inquiry.context("a profile does not say all of this mechanism")?;
    let honest = crowd.crowd()?;
    if let Some(flip) = flip {
        settings.flip = flip.flip(crowd.n)?;
    }
    let profile = if settings.made_of.is_empty() {
        (inquiry.profile)(&settings, honest)?
    } else {
        let given = |name: &str| {
            let (_, list) = settings.made_of.iter().find(|(known, _)| *known == name)?;
            Some(&list[..])
        };
        Mechanism::from_parameters(key, given)?.profile(honest)?
    };
    known(crowd.header(key.name()), &*profile, &query)
}

/// The promise that the shares of a sum give a crowd.
fn split_and_mix(
    crowd: &CrowdArgs,
    epsilon: f64,
    delta: f64,
    size: u32,
    query: &Query,
) -> Result<Report> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
    let honest = crowd.crowd()?;
    let mechanism = SplitAndMix::fragile(honest, epsilon, delta, size)?;
    let profile = mechanism.profile(honest)?;
    Ok(known(crowd.header("split-and-mix"), &*profile, query)?
        .line("messages", "messages per report", mechanism.messages())
        .note("One liar, or one lost message, ruins the sum."))
}

/// The mechanism of a file, whichever it is.
fn collection(file: &Path, n: Option<u64>, query: &Query) -> Result<Report> {
    let terms = read_terms(file)?;
    let n = n.unwrap_or(terms.promise.crowd.get());
    let crowd = CrowdArgs { n, corrupt: 0.0 };
    let profile = terms.mechanism.profile(crowd.crowd()?)?;
    let (report, ..) = answer(crowd.header(terms.mechanism.key().name()), &*profile, query)?;
    Ok(report.field("local_floor", finite(or_infinity(terms.mechanism.local_floor()))))
}

/// A randomizer in a crowd, beside what holds for every randomizer with the same ε₀.
fn amplify(asked: &Amplify) -> Result<Report> {
    let Amplify { crowd, mechanism, epsilon0, k, collision, query, .. } = asked;
    if *mechanism == Randomizer::General {
        // A missing flag is told before a crowd that cannot be.
        needed(*epsilon0, "epsilon0")?;
    }
    let reports = crowd.crowd()?;
    let local = || anyhow::Ok(Epsilon::new(needed(*epsilon0, "epsilon0")?)?);
    let binary = *mechanism == Randomizer::KaryResponse && *k == Some(2);
    let (name, profile): (_, Box<dyn Profile>) = match mechanism {
        Randomizer::General => ("general", Box::new(Amplification::new(reports, local()?)?)),
        // Two categories have an exact account of their own.
        Randomizer::KaryResponse if binary => {
            ("kary-response", Box::new(BitSum::from_local(reports, local()?)?))
        }
        Randomizer::KaryResponse => {
            let k = needed(*k, "k")?;
            ("kary-response", Box::new(Blanket::kary_response(reports, local()?, k)?))
        }
        Randomizer::SubsetSelection => {
            let (k, size) = (needed(*k, "k")?, needed(asked.size, "size")?);
            ("subset-selection", Box::new(Blanket::subset_selection(reports, local()?, k, size)?))
        }
        Randomizer::LocalHashing => {
            let g = needed(asked.g, "g")?;
            ("local-hashing", Box::new(Blanket::local_hashing(reports, local()?, g, *collision)?))
        }
        Randomizer::UnaryEncoding => {
            let keep = Probability::new("keep", needed(asked.keep, "keep")?)?;
            let set = Probability::new("set", needed(asked.set, "set")?)?;
            ("unary-encoding", Box::new(Blanket::unary_encoding(reports, keep, set)?))
        }
    };
    let epsilon0 = if binary { local()?.get() } else { or_infinity(profile.pure()) };
    let report = crowd.header(name);
    let report = if binary { report.field("k", 2) } else { report };
    let report = report.line("epsilon0", "local epsilon0", Upper(epsilon0));
    let (report, own, delta) = answer(report, &*profile, query)?;
    if query.delta.is_none() {
        return Ok(report);
    }
    let all = Amplification::new(reports, Epsilon::new(epsilon0)?)?;
    let mut all = all.bounds(Delta::new(delta)?)?;
    if *mechanism != Randomizer::General {
        all.insert(0, Bound { theorem: profile.theorem(), epsilon: Ok(own) });
    }
    let told =
        |Bound { theorem, epsilon }| (theorem.name(), epsilon.map(Epsilon::get), theorem.source());
    Ok(bounds(report, "bound", all.into_iter().map(told)))
}

fn compose(crowd: &CrowdArgs, epsilon0: f64, delta: f64, rounds: u64) -> Result<Report> {
    let (reports, local, delta) = (crowd.crowd()?, Epsilon::new(epsilon0)?, Delta::new(delta)?);
    ensure!(rounds > 0, Error::OutOfRange { name: "rounds", value: 0.0, range: "1 or more" });
    let found = shuffled_rounds(reports, local, rounds, delta)?;
    // The same rounds by the rules of thumb: half of delta for the rounds, half for composing.
    let each = Delta::new(0.5 * delta.get() / rounds as f64)?;
    let per_round = Amplification::new(reports, local)?.epsilon(each)?.epsilon;
    let slack = Delta::new(0.5 * delta.get())?;
    let advanced = closed_form::advanced(per_round, rounds, slack);
    let basic = closed_form::basic(per_round, each.get(), rounds).0;
    let unshuffled = rounds as f64 * epsilon0;
    let renyi = published::swap_renyi(reports, local, rounds, delta).min(unshuffled);
    let report = crowd.header("compose").line("epsilon0", "local epsilon0", Upper(epsilon0));
    let report = with_guarantee(report.line("rounds", "rounds", rounds), &found);
    let others = [
        ("basic", Ok(basic), "each round at delta/2T, epsilons added"),
        ("advanced", Ok(advanced), "Dwork, Rothblum, Vadhan (2010)"),
        ("swap-renyi", Ok(renyi), "Erlingsson et al. (2019), Remark 1, composed"),
        ("local", Ok(unshuffled), "without shuffling"),
    ];
    Ok(bounds(report, "for comparison", others))
}

fn rappor(asked: &RapporArgs) -> Result<Report> {
    let shown = |place: usize| asked.shown.get(place).copied();
    let [p, q] = [asked.p.or(shown(0)), asked.q.or(shown(1))];
    let coins = [("f", asked.f), ("p", needed(p, "p")?), ("q", needed(q, "q")?)];
    let [f, p, q] = coins.map(|(name, x)| Probability::new(name, x));
    let rappor = Rappor::new(asked.hashes, f?, p?, q?)?;
    let many = Upper(rappor.reports(asked.reports).get());
    let report = Report::default()
        .line("mechanism", "mechanism", "rappor")
        .field("hashes", asked.hashes)
        .line("epsilon_one", "epsilon of one report", Upper(rappor.one_report().get()))
        .line("reports", "reports on one value", asked.reports)
        .line("epsilon_reports", "epsilon of that many", many)
        .line("epsilon_forever", "epsilon for ever", Upper(rappor.forever().get()))
        .note(
            "Per distinct value: a value that changes costs again. Local guarantees, without \
             shuffling.",
        );
    let Some(n) = asked.n else { return Ok(report) };
    let crowd = CrowdArgs { n, corrupt: asked.corrupt };
    let profile = UpperOnly(ClonePair::strong(crowd.crowd()?, rappor.one_report())?);
    let query = Query { epsilon: asked.epsilon, delta: asked.delta };
    let report = report.line("n", "reports, one of each user", n);
    Ok(answer(report, &profile, &query)?.0.note("In the crowd, for one report of each user."))
}

fn longitudinal(
    periods: u64,
    epsilon0: Option<f64>,
    keep: Option<f64>,
    crowd: &CrowdArgs,
    query: &Query,
) -> Result<Report> {
    let local = match keep {
        Some(keep) => {
            let keep = Threshold::at_least(Probability::new("keep", keep)?);
            throng_mechanism::Longitudinal::new(periods, 1, keep)?.local_floor()
        }
        None => Some(Epsilon::new(needed(epsilon0, "epsilon0")?)?),
    };
    let protocol = Longitudinal::new(periods, needed(local, "epsilon0")?)?;
    let report = Report::default()
        .line("mechanism", "mechanism", "longitudinal")
        .line("n", "users", crowd.n)
        .line("periods", "periods", periods)
        .line("levels", "levels of the tree", protocol.levels())
        .line("local_floor", "local epsilon, whole life", Upper(protocol.lifetime().get()));
    let profile = UpperOnly(protocol.shuffled(crowd.crowd()?)?);
    Ok(answer(report, &profile, query)?
        .0
        .note("A whole life, level included, is one report of a randomizer that everybody shares."))
}

/// Adds the answer of a profile, and what one report keeps by itself.
fn known(report: Report, profile: &dyn Profile, query: &Query) -> Result<Report> {
    let (report, ..) = answer(report, profile, query)?;
    let floor = Printable::bounded(or_infinity(profile.pure()), "infinity");
    Ok(report.line("local_floor", "local floor", floor))
}

/// Adds δ at ε, or ε at δ, with its lower bound; returns the two as well.
fn answer(report: Report, profile: &dyn Profile, query: &Query) -> Result<(Report, Epsilon, f64)> {
    if let Some(delta) = query.delta {
        let found = profile.epsilon(Delta::new(delta)?)?;
        return Ok((with_guarantee(report, &found), found.epsilon, delta));
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
    Ok((provenance(report, profile.theorem()), epsilon, band.upper))
}

fn with_guarantee(report: Report, found: &Guarantee) -> Report {
    let report = report.line("delta", "delta", Upper(found.delta.get()));
    let report = report.line("epsilon_upper", "epsilon, at most", Upper(found.epsilon.get()));
    let report = match &found.lower {
        Some(witness) => report
            .line("epsilon_lower", "epsilon, at least", Lower(witness.epsilon.get()))
            .line("dataset", "reached where", witness.dataset.to_string()),
        None => report.field("epsilon_lower", 0.0),
    };
    provenance(report, found.theorem)
}

fn provenance(report: Report, theorem: Theorem) -> Report {
    report
        .field("neighbours", "replace-one")
        .line("theorem", "by", theorem.name())
        .field("source", theorem.source())
}

/// Adds bounds on one ε, each with its name and source, in a table whose first column is `head`.
fn bounds(
    report: Report,
    head: &'static str,
    all: impl IntoIterator<Item = (&'static str, Result<f64, Error>, &'static str)>,
) -> Report {
    let row = |(name, epsilon, source): (_, Result<f64, Error>, _)| {
        let row = Report::default().line("name", head, name);
        match epsilon.map_err(|why| why.to_string()) {
            Ok(epsilon) => row
                .line("epsilon", "epsilon", Upper(epsilon))
                .field("valid", true)
                .line("source", "source", source),
            Err(why) => row
                .line("epsilon", "epsilon", Printable::new(Value::Null, "-"))
                .field("valid", false)
                .line("source", "source", Printable::new(source, &why))
                .field("why", why),
        }
    };
    report.rows("bounds", all.into_iter().map(row).collect())
}

/// An ε as a number, infinite where there is none.
pub fn or_infinity(epsilon: Option<Epsilon>) -> f64 {
    epsilon.map_or(f64::INFINITY, Epsilon::get)
}

/// The value of a flag that the mechanism asked for cannot do without.
fn needed<T>(value: Option<T>, flag: &str) -> Result<T> {
    value.with_context(|| format!("this mechanism needs --{flag}"))
}

impl CrowdArgs {
    /// The honest crowd.
    pub fn crowd(&self) -> Result<Crowd, Error> {
        Crowd::honest(self.n, self.corrupt)
    }

    /// A report that starts with the mechanism and its crowd.
    pub fn header(&self, mechanism: &str) -> Report {
        let report = Report::default().line("mechanism", "mechanism", mechanism);
        let report = report.line("n", "reports", self.n);
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
