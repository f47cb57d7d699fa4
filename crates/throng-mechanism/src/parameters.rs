//! Mechanisms as named integers, for files: every parameter that decides a random outcome is one.

use crate::{
    AdditiveHistogram, BinaryResponse, Bloom, BurstCount, BurstHistogram, CoinCount, Columns,
    Error, Histogram, KaryResponse, Key, LaplaceMean, Longitudinal, Mechanism, Rappor, Selection,
    SlicedSum, SplitAndMix, SubsetSelection, TwoMessageCount, UnarySum,
};
use throng_account::profile::Bursts;
use throng_account::{Crowd, Delta, Epsilon, Threshold};

/// Named lists of integers. A probability is an integer out of 2⁶⁴.
pub type Parameters = Vec<(&'static str, Vec<u64>)>;

impl Mechanism {
    /// All that [`Mechanism::from_parameters`] needs to make the same mechanism again.
    pub fn parameters(&self) -> Parameters {
        let one = |value: u64| vec![value];
        match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => vec![("flip", one(m.flip().get()))],
            Self::OneBitMean(m) | Self::RealSum(m) => {
                vec![("bits", one(m.bits().into())), ("flip", one(m.flip().get()))]
            }
            Self::TwoMessageCount(m) => vec![("extra", one(m.extra().get()))],
            Self::KaryResponse(m) => vec![
                ("categories", one(m.categories().into())),
                ("replace", one(m.replace().get())),
            ],
            Self::SubsetSelection(m) => vec![
                ("categories", one(m.categories().into())),
                ("size", one(m.size().into())),
                ("include", one(m.include().get())),
            ],
            Self::LaplaceMean(m) => {
                vec![("grid", one(m.grid().into())), ("decay", vec![m.decay().0, m.decay().1])]
            }
            Self::Rappor(m) => {
                let (bloom, [f, p, q]) = (m.bloom(), m.coins());
                vec![
                    ("bits", one(bloom.bits().into())),
                    ("hashes", one(bloom.hashes().into())),
                    ("cohorts", one(bloom.cohorts().into())),
                    ("seed", one(bloom.seed())),
                    ("permanent", one(f.get())),
                    ("shown", vec![p.get(), q.get()]),
                ]
            }
            Self::Histogram(m) => columns(m.columns()),
            Self::Selection(m) => columns(m.columns()),
            Self::Longitudinal(m) => vec![
                ("periods", one(m.periods())),
                ("changes", one(m.changes().into())),
                ("keep", one(m.keep().get())),
            ],
            Self::CoinCount(m) => {
                vec![("slots", one(m.slots().into())), ("chance", one(m.chance().get()))]
            }
            Self::AdditiveHistogram(m) => vec![
                ("categories", one(m.categories().into())),
                ("slots", one(m.slots().into())),
                ("chance", one(m.chance().get())),
            ],
            Self::BurstCount(m) => bursts(m.bursts()),
            Self::BurstHistogram(m) => {
                let mut list = bursts(m.bursts());
                list.insert(0, ("categories", one(m.categories().into())));
                list
            }
            Self::SlicedSum(m) => {
                vec![("slots", one(m.slots().into())), ("weights", m.weights().to_vec())]
            }
            // Its table follows from these four; two of them are floats, bit by bit.
            Self::SplitAndMix(m) => {
                let (epsilon, delta) = m.asked();
                vec![
                    ("crowd", one(m.crowd())),
                    ("grid", one(m.grid().into())),
                    ("epsilon", one(epsilon.get().to_bits())),
                    ("delta", one(delta.get().to_bits())),
                ]
            }
        }
    }

    /// The mechanism of a key with parameters found by name.
    ///
    /// ```
    /// # use throng_account::Threshold;
    /// use throng_mechanism::{Key, LaplaceMean, Mechanism};
    ///
    /// let mechanism = Mechanism::LaplaceMean(LaplaceMean::new(1000, 1, 500)?);
    /// let kept = mechanism.parameters();
    /// assert_eq!(kept, [("grid", vec![1000]), ("decay", vec![1, 500])]);
    ///
    /// let find = |name: &str| kept.iter().find(|(known, _)| *known == name).map(|(_, list)| &list[..]);
    /// assert_eq!(Mechanism::from_parameters(Key::LaplaceMean, find)?, mechanism);
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn from_parameters<'a>(
        key: Key,
        find: impl Fn(&str) -> Option<&'a [u64]>,
    ) -> Result<Self, Error> {
        let list = |name: &'static str| {
            find(name).ok_or(Error::Parameter { name, range: "given as a list of integers" })
        };
        let number = |name: &'static str| match list(name)? {
            [value] => Ok(*value),
            _ => Err(Error::Parameter { name, range: "one integer" }),
        };
        let small = |name: &'static str| {
            u32::try_from(number(name)?).map_err(|_| Error::Parameter { name, range: "below 2^32" })
        };
        let coin = |name: &'static str| Ok::<_, Error>(Threshold::new(number(name)?)?);
        let catalogue = || -> Result<Bursts, Error> {
            let weights = |name| list(name).map(<[u64]>::to_vec);
            Ok(Bursts::new(weights("pairs")?, weights("plus")?, weights("minus")?)?)
        };
        Ok(match key {
            Key::RandomizedResponse => {
                Self::RandomizedResponse(BinaryResponse::new(coin("flip")?)?)
            }
            Key::BitSum => Self::BitSum(BinaryResponse::new(coin("flip")?)?),
            Key::OneBitMean => Self::OneBitMean(UnarySum::new(1, coin("flip")?)?),
            Key::RealSum => Self::RealSum(UnarySum::new(small("bits")?, coin("flip")?)?),
            Key::TwoMessageCount => Self::TwoMessageCount(TwoMessageCount::new(coin("extra")?)),
            Key::KaryResponse => {
                Self::KaryResponse(KaryResponse::new(small("categories")?, coin("replace")?)?)
            }
            Key::SubsetSelection => Self::SubsetSelection(SubsetSelection::new(
                small("categories")?,
                small("size")?,
                coin("include")?,
            )?),
            Key::LaplaceMean => match list("decay")? {
                [num, den] => Self::LaplaceMean(LaplaceMean::new(small("grid")?, *num, *den)?),
                _ => return Err(Error::Parameter { name: "decay", range: "two integers" }),
            },
            Key::Rappor => {
                let bloom = Bloom::new(
                    small("bits")?,
                    small("hashes")?,
                    small("cohorts")?,
                    number("seed")?,
                )?;
                let [p, q] = list("shown")? else {
                    return Err(Error::Parameter { name: "shown", range: "two integers" });
                };
                let (p, q) = (Threshold::new(*p)?, Threshold::new(*q)?);
                Self::Rappor(Rappor::new(bloom, coin("permanent")?, p, q)?)
            }
            Key::Histogram => {
                Self::Histogram(Histogram::new(Columns::new(small("columns")?, coin("flip")?)?))
            }
            Key::Selection => {
                Self::Selection(Selection::new(Columns::new(small("columns")?, coin("flip")?)?))
            }
            Key::Longitudinal => Self::Longitudinal(Longitudinal::new(
                number("periods")?,
                small("changes")?,
                coin("keep")?,
            )?),
            Key::CoinCount => Self::CoinCount(CoinCount::new(small("slots")?, coin("chance")?)?),
            Key::AdditiveHistogram => Self::AdditiveHistogram(AdditiveHistogram::new(
                small("categories")?,
                small("slots")?,
                coin("chance")?,
            )?),
            Key::BurstCount => Self::BurstCount(BurstCount::new(catalogue()?)?),
            Key::BurstHistogram => {
                Self::BurstHistogram(BurstHistogram::new(small("categories")?, catalogue()?)?)
            }
            Key::SlicedSum => {
                Self::SlicedSum(SlicedSum::new(list("weights")?.to_vec(), small("slots")?)?)
            }
            Key::SplitAndMix => Self::SplitAndMix(SplitAndMix::fragile(
                Crowd::new(number("crowd")?)?,
                Epsilon::new(f64::from_bits(number("epsilon")?))?,
                Delta::new(f64::from_bits(number("delta")?))?,
                small("grid")?,
            )?),
        })
    }
}

fn columns(columns: &Columns) -> Parameters {
    vec![("columns", vec![columns.columns().into()]), ("flip", vec![columns.flip().get()])]
}

fn bursts(bursts: &Bursts) -> Parameters {
    vec![
        ("pairs", bursts.pairs().to_vec()),
        ("plus", bursts.plus().to_vec()),
        ("minus", bursts.minus().to_vec()),
    ]
}
