//! Mechanisms of which a profile says all there is to say.

use super::answer;
use crate::args::{BurstArgs, CoinArgs, CrowdArgs, Plain, Query};
use crate::collection::read_terms;
use crate::plan;
use crate::report::Report;
use anyhow::{Context, Result};
use throng_account::profile::{
    AdditiveHistogram, BitSum, Blanket, BurstCount, BurstHistogram, Bursts, ClonePair, CoinCount,
    Columns, Declared, SlicedSum,
};
use throng_account::show::Upper;
use throng_account::{Delta, Epsilon, Error, Probability, Profile, Threshold, UpperOnly};
use throng_mechanism::{Protocol, SplitAndMix, SubsetSelection};

/// Answers one query.
pub fn run(query: Plain) -> Result<Report> {
    match query {
        Plain::RandomizedResponse(args) => {
            let protocol = BitSum::from_local(args.crowd.crowd()?, Epsilon::new(args.epsilon0)?)?;
            known("randomized-response", &args.crowd, &protocol, &args.query)
        }
        Plain::KaryResponse(args) => {
            let (crowd, local) = (args.crowd.crowd()?, Epsilon::new(args.epsilon0)?);
            if args.size == 2 {
                let protocol = BitSum::from_local(crowd, local)?;
                return known("kary-response", &args.crowd, &protocol, &args.query);
            }
            let blanket = Blanket::kary_response(crowd, local, args.size)?;
            known("kary-response", &args.crowd, &blanket, &args.query)
        }
        Plain::SubsetSelection(args) => {
            let categories = u32::try_from(args.size).context("--size is too large")?;
            let protocol = SubsetSelection::local(categories, Epsilon::new(args.epsilon0)?)?;
            let blanket = Blanket::subset_selection(
                args.crowd.crowd()?,
                protocol.epsilon(),
                args.size,
                protocol.size().into(),
            )?;
            known("subset-selection", &args.crowd, &blanket, &args.query)
        }
        Plain::LaplaceMean(args) => {
            let pair = ClonePair::strong(args.crowd.crowd()?, Epsilon::new(args.epsilon0)?)?;
            known("laplace-mean", &args.crowd, &UpperOnly(pair), &args.query)
        }
        Plain::OneBitMean { crowd, noise, query } => {
            let protocol = BitSum::with_flip(crowd.crowd()?, noise.flip(crowd.n)?)?;
            known("one-bit-mean", &crowd, &protocol, &query)
        }
        Plain::Histogram { crowd, noise, query } => {
            let column = BitSum::with_flip(crowd.crowd()?, noise.flip(crowd.n)?)?;
            known("histogram", &crowd, &Columns::new(column, 2)?, &query)
        }
        Plain::Selection { crowd, noise, size, query } => {
            let column = BitSum::with_flip(crowd.crowd()?, noise.flip(crowd.n)?)?;
            known("selection", &crowd, &Columns::new(column, size)?, &query)
        }
        Plain::CoinCount { crowd, coins, query } => {
            let protocol = CoinCount::new(crowd.crowd()?, coins.slots, coins.chance()?)?;
            known("coin-count", &crowd, &protocol, &query)
        }
        Plain::AdditiveHistogram { crowd, coins, size, query } => {
            let (slots, chance) = (coins.slots, coins.chance()?);
            let protocol = AdditiveHistogram::new(crowd.crowd()?, slots, chance, size)?;
            known("additive-histogram", &crowd, &protocol, &query)
        }
        Plain::BurstCount { crowd, bursts, query } => {
            let protocol = BurstCount::new(crowd.crowd()?, bursts.catalogue()?)?;
            known("burst-count", &crowd, &protocol, &query)
        }
        Plain::BurstHistogram { crowd, bursts, size, query } => {
            let protocol = BurstHistogram::new(crowd.crowd()?, size, bursts.catalogue()?)?;
            known("burst-histogram", &crowd, &protocol, &query)
        }
        Plain::SlicedSum { crowd, slots, weights, query } => {
            let weights = weights.into_iter().map(weight).collect::<Result<_, _>>()?;
            let protocol = SlicedSum::new(crowd.crowd()?, slots, weights)?;
            known("sliced-sum", &crowd, &protocol, &query)
        }
        Plain::SplitAndMix { crowd, noise_epsilon, noise_delta, size, query } => {
            let (epsilon, delta) = (Epsilon::new(noise_epsilon)?, Delta::new(noise_delta)?);
            let mechanism = SplitAndMix::fragile(crowd.crowd()?, epsilon, delta, size)?;
            let (epsilon, delta) = mechanism.guarantee();
            let profile = UpperOnly(Declared::new(epsilon, delta.get())?);
            let report = known("split-and-mix", &crowd, &profile, &query)?;
            Ok(report
                .line("messages", "messages per report", mechanism.messages())
                .note("One liar, or one lost message, ruins the sum."))
        }
        Plain::Collection { file, n, query } => {
            let terms = read_terms(&file)?;
            let n = n.unwrap_or(terms.promise.crowd.get());
            let crowd = CrowdArgs { n, corrupt: 0.0 };
            let profile = terms.mechanism.profile(crowd.crowd()?)?;
            let report = answer(crowd.header(terms.mechanism.key().name()), &*profile, &query)?;
            Ok(report.field("local_floor", plan::floor(&terms.mechanism)))
        }
    }
}

/// A profile without more to say than its answer and what one report keeps by itself.
fn known(name: &str, crowd: &CrowdArgs, profile: &dyn Profile, query: &Query) -> Result<Report> {
    let report = answer(crowd.header(name), profile, query)?;
    Ok(match profile.pure() {
        Some(local) => report.line("local_floor", "local floor", Upper(local.get())),
        None => report.line("local_floor", "local floor", "infinity"),
    })
}

impl CoinArgs {
    fn chance(&self) -> Result<Threshold, Error> {
        Ok(Threshold::at_least(Probability::new("p", self.p)?))
    }
}

impl BurstArgs {
    fn catalogue(&self) -> Result<Bursts, Error> {
        let weights =
            |list: &[f64]| list.iter().copied().map(weight).collect::<Result<Vec<_>, _>>();
        Bursts::new(weights(&self.pairs)?, weights(&self.plus)?, weights(&self.minus)?)
    }
}

/// A probability as an integer out of 2⁶⁴; 0 stays 0.
fn weight(p: f64) -> Result<u64, Error> {
    if p == 0.0 { Ok(0) } else { Ok(Threshold::at_least(Probability::new("weight", p)?).get()) }
}
