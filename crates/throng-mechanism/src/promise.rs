//! What a mechanism promises: privacy in a crowd, privacy without one, error, and how far one liar
//! moves the result.

use crate::{Error, Mechanism};
use throng_account::profile::{
    AdditiveHistogram, BitSum, Blanket, BurstCount, BurstHistogram, ClonePair, CoinCount, Columns,
    Declared, RealSum, SlicedSum, TwoMessageCount,
};
use throng_account::{Crowd, Epsilon, Probability, Profile, UpperOnly, round};

impl Mechanism {
    /// The privacy profile among `crowd` honest users, against who sees the shuffled bag.
    pub fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => {
                Box::new(BitSum::with_flip(crowd, m.flip().probability())?)
            }
            // Rounding to bits happens before the noise: what holds for all bits holds for values.
            Self::OneBitMean(m) | Self::RealSum(m) => {
                Box::new(RealSum::with_flip(crowd, m.flip().probability(), m.bits().into())?)
            }
            Self::TwoMessageCount(m) => {
                let p = Probability::new("extra", m.extra().probability())?;
                Box::new(TwoMessageCount::new(crowd, p))
            }
            Self::KaryResponse(m) => {
                Box::new(Blanket::kary_response(crowd, m.epsilon(), m.categories().into())?)
            }
            Self::SubsetSelection(m) => {
                let (k, size) = (m.categories().into(), m.size().into());
                Box::new(Blanket::subset_selection(crowd, m.epsilon(), k, size)?)
            }
            // As any randomizer with their ε₀; other randomizers reach the bound, these need not.
            Self::LaplaceMean(m) => Box::new(UpperOnly(ClonePair::strong(crowd, m.epsilon())?)),
            Self::Rappor(m) => {
                Box::new(UpperOnly(ClonePair::strong(crowd, m.privacy().one_report())?))
            }
            Self::Longitudinal(m) => Box::new(UpperOnly(ClonePair::strong(crowd, m.epsilon())?)),
            Self::Histogram(m) => {
                let column = BitSum::with_flip(crowd, m.columns().flip().probability())?;
                Box::new(Columns::new(column, u64::from(m.columns().columns()).min(2))?)
            }
            Self::Selection(m) => {
                let column = BitSum::with_flip(crowd, m.columns().flip().probability())?;
                Box::new(Columns::new(column, m.columns().columns().into())?)
            }
            Self::CoinCount(m) => Box::new(CoinCount::new(crowd, m.slots().into(), m.chance())?),
            Self::AdditiveHistogram(m) => Box::new(AdditiveHistogram::new(
                crowd,
                m.slots().into(),
                m.chance(),
                m.categories().into(),
            )?),
            Self::BurstCount(m) => Box::new(BurstCount::new(crowd, m.bursts().clone())?),
            Self::BurstHistogram(m) => {
                Box::new(BurstHistogram::new(crowd, m.categories().into(), m.bursts().clone())?)
            }
            Self::SlicedSum(m) => {
                Box::new(SlicedSum::new(crowd, m.slots().into(), m.weights().to_vec())?)
            }
            Self::SplitAndMix(m) => {
                // Its promise is for one crowd; a larger one only adds noise.
                if crowd.get() < m.crowd() {
                    return Err(Error::Parameter {
                        name: "crowd",
                        range: "at least that promised",
                    });
                }
                let (epsilon, delta) = m.guarantee();
                Box::new(UpperOnly(Declared::new(epsilon, delta.get())?))
            }
        })
    }

    /// ε of one user's report by itself, should every mix collude with the analyzer; `None` where
    /// the report shows the value.
    pub fn local_floor(&self) -> Option<Epsilon> {
        let bits = |flip: f64, bits: u32| {
            // ln((1−f)/f), with its digits where f is close to ½, rounded outward like every claim.
            let odds = ((1.0 - 2.0 * flip) / flip).ln_1p() * f64::from(bits);
            Epsilon::new(round::up(odds)).ok()
        };
        match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => bits(m.flip().probability(), 1),
            Self::OneBitMean(m) | Self::RealSum(m) => bits(m.flip().probability(), m.bits()),
            Self::Histogram(m) => bits(m.columns().flip().probability(), 2),
            Self::Selection(m) => bits(m.columns().flip().probability(), m.columns().columns()),
            Self::KaryResponse(m) => Some(m.epsilon()),
            Self::SubsetSelection(m) => Some(m.epsilon()),
            Self::LaplaceMean(m) => Some(m.epsilon()),
            Self::Rappor(m) => Some(m.privacy().one_report()),
            Self::Longitudinal(m) => Some(m.epsilon()),
            Self::TwoMessageCount(_)
            | Self::CoinCount(_)
            | Self::BurstCount(_)
            | Self::AdditiveHistogram(_)
            | Self::BurstHistogram(_)
            | Self::SlicedSum(_)
            | Self::SplitAndMix(_) => None,
        }
    }

    /// Standard error among `reports` users: of the count, of the sum of unit values, or the root mean
    /// square over all categories, attributes or periods.
    pub fn standard_error(&self, reports: u64) -> f64 {
        let n = reports as f64;
        match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => m.standard_error(n),
            Self::OneBitMean(m) | Self::RealSum(m) => m.standard_error(n),
            Self::TwoMessageCount(m) => m.standard_error(n),
            // Variance is linear in the number of holders, so its mean is that of the mean cell.
            Self::KaryResponse(m) => m.standard_error_at(n / f64::from(m.categories()), n),
            Self::SubsetSelection(m) => m.standard_error_at(n / f64::from(m.categories()), n),
            Self::LaplaceMean(m) => m.standard_error(n),
            Self::Rappor(m) => m.standard_error(n),
            Self::Longitudinal(m) => {
                let square = |period| m.standard_error(n, period).powi(2);
                let periods = m.periods();
                ((1..=periods).map(square).sum::<f64>() / periods as f64).sqrt()
            }
            Self::Histogram(m) => m.columns().standard_error(n),
            Self::Selection(m) => m.columns().standard_error(n),
            Self::CoinCount(m) => m.standard_error(n),
            Self::AdditiveHistogram(m) => m.standard_error(n),
            Self::BurstCount(m) => m.standard_error(n),
            Self::BurstHistogram(m) => m.standard_error(n),
            Self::SlicedSum(m) => m.standard_error(n),
            Self::SplitAndMix(m) => m.standard_error(n),
        }
    }

    /// Standard error of a cell that one user in ten holds, where that differs from the mean cell.
    pub fn heavy_error(&self, reports: u64) -> f64 {
        let n = reports as f64;
        match self {
            Self::KaryResponse(m) => m.standard_error_at(0.1 * n, n),
            Self::SubsetSelection(m) => m.standard_error_at(0.1 * n, n),
            _ => self.standard_error(reports),
        }
    }

    /// How far one user who sends whatever they like moves a single estimate: the distance between
    /// the two reports that pull it furthest apart, with as many messages as everyone sends.
    ///
    /// An honest user moves a count or a sum of unit values by 1.
    pub fn influence(&self) -> f64 {
        let messages = self.messages() as f64;
        let bit = |flip: f64| 1.0 / (1.0 - 2.0 * flip);
        match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => bit(m.flip().probability()),
            Self::OneBitMean(m) | Self::RealSum(m) => bit(m.flip().probability()),
            // Nothing ties a message to its column: all of them may speak for one.
            Self::Histogram(m) => messages * bit(m.columns().flip().probability()),
            Self::Selection(m) => messages * bit(m.columns().flip().probability()),
            Self::KaryResponse(m) => m.influence(),
            Self::SubsetSelection(m) => m.influence(),
            Self::LaplaceMean(m) => 1.0 + 2.0 * m.reach() as f64 / f64::from(m.grid()),
            // All bits of a string shown against none, in an estimate that corrects for shared bits. Which
            // strings are found at all may tip with one report, and no bound covers that.
            Self::Rappor(m) => {
                let (h, k) = (f64::from(m.bloom().hashes()), f64::from(m.bloom().bits()));
                let (zero, one) = m.shown();
                2.0 / ((one - zero) * (1.0 - h / k))
            }
            // A node of every level that a running count is made of, each plus or minus.
            Self::Longitudinal(m) => {
                2.0 * m.scale() * f64::from(m.levels().saturating_sub(1).max(1))
            }
            Self::TwoMessageCount(_) => messages,
            Self::CoinCount(m) => m.influence(),
            Self::AdditiveHistogram(m) => m.influence(),
            Self::BurstCount(m) => m.influence(),
            Self::BurstHistogram(m) => m.influence(),
            Self::SlicedSum(m) => m.influence(),
            Self::SplitAndMix(_) => f64::INFINITY,
        }
    }

    /// Bits that tell one message from another.
    pub fn message_bits(&self) -> u32 {
        let bits = |symbols: u64| u64::BITS - (symbols - 1).leading_zeros();
        match self {
            Self::RandomizedResponse(_)
            | Self::BitSum(_)
            | Self::OneBitMean(_)
            | Self::RealSum(_)
            | Self::TwoMessageCount(_) => 1,
            Self::CoinCount(_) | Self::BurstCount(_) => 2,
            Self::KaryResponse(m) => bits(m.categories().into()),
            Self::SubsetSelection(m) => m.categories(),
            Self::LaplaceMean(m) => bits(u64::from(m.grid()) + 2 * m.reach() + 1),
            Self::Rappor(m) => bits(m.bloom().cohorts().into()) + m.bloom().bits(),
            Self::Histogram(m) => bits(2 * u64::from(m.columns().columns())),
            Self::Selection(m) => bits(2 * u64::from(m.columns().columns())),
            Self::Longitudinal(m) => bits(2 * u64::from(m.levels()) + 1),
            Self::AdditiveHistogram(m) => bits(u64::from(m.categories()) + 1),
            Self::BurstHistogram(m) => bits(2 * u64::from(m.categories()) + 1),
            Self::SlicedSum(m) => bits(2 * m.weights().len() as u64 + 1),
            Self::SplitAndMix(m) => m.bits(),
        }
    }
}
