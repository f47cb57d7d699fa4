//! Guarantees, the theorems they come from, and how far from the truth they can be.

use crate::kernel::solve::smallest_epsilon;
use crate::round;
use crate::{Band, Crowd, Delta, Epsilon, Error};

/// The privacy profile `δ(ε)` of a mechanism, bounded from both sides.
///
/// # Contract
/// For every pair of neighbouring datasets, in both directions, and every ε ≥ 0, the hockey-stick
/// divergence at ε is at most `delta(ε).upper`; and for some pair it is at least `delta(ε).lower`.
/// Both are non-increasing in ε, up to the outward rounding.
///
/// ```
/// use throng_account::profile::{ClonePair, TwoMessageCount};
/// use throng_account::{Crowd, Delta, Epsilon, Probability, Profile};
///
/// // δ at ε and ε at δ are two views of one curve, whatever the mechanism.
/// let crowd = Crowd::new(1_000)?;
/// let count = TwoMessageCount::new(crowd, Probability::new("p", 0.25)?);
/// let pair = ClonePair::strong(crowd, Epsilon::new(1.0)?)?;
/// let profiles: [&dyn Profile; 2] = [&count, &pair];
/// for profile in profiles {
///     let guarantee = profile.epsilon(Delta::new(1e-6)?)?;
///     assert!(profile.delta(guarantee.epsilon).upper <= 1e-6);
///     assert!(profile.delta(Epsilon::new(0.999 * guarantee.epsilon.get())?).upper > 1e-6);
/// }
/// # Ok::<(), throng_account::Error>(())
/// ```
pub trait Profile {
    /// `δ(ε)`, rounded outward.
    fn delta(&self, epsilon: Epsilon) -> Band;

    /// The theorem behind the upper bound.
    fn theorem(&self) -> Theorem;

    /// The ε at and above which δ is 0; `None` where there is none, as outcomes that give the user
    /// away are possible.
    fn pure(&self) -> Option<Epsilon> {
        None
    }

    /// The dataset that achieves the lower bound at this ε, where one is known.
    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        None
    }

    /// The smallest δ that any finite ε reaches, where outcomes that give the user away keep it
    /// above 0.
    fn least_delta(&self) -> f64 {
        0.0
    }

    /// The upper end of `δ(ε)` alone, for profiles that have it for less.
    fn upper_delta(&self, epsilon: Epsilon) -> f64 {
        self.delta(epsilon).upper
    }

    /// The lower end of `δ(ε)` alone, for profiles that have it for less.
    fn lower_delta(&self, epsilon: Epsilon) -> f64 {
        self.delta(epsilon).lower
    }

    /// An upper bound on `δ(ε)`, perhaps a little looser, for callers that need hundreds of them.
    fn bulk_delta(&self, epsilon: Epsilon) -> f64 {
        self.upper_delta(epsilon)
    }

    /// The upper side written out, for profiles that then have hundreds of its points at the price
    /// of a few.
    fn written_out(&self) -> Option<Box<dyn Profile>> {
        None
    }

    /// The points (ε, δ), from ε = 0 on, of the profiles of 1, 2, … up to so many rounds together,
    /// each out to where δ is below the `floor`; for profiles of which more is known than that one
    /// pair of laws dominates every round.
    fn in_a_row(&self, _rounds: u64, _floor: f64) -> Option<Vec<Vec<(f64, f64)>>> {
        None
    }

    /// The smallest ε that holds at `delta`, on the safe side, with the lower bound beside it.
    fn epsilon(&self, delta: Delta) -> Result<Guarantee, Error> {
        let least = self.least_delta();
        if delta.get() < least {
            return Err(Error::Unreachable { delta: delta.get(), least });
        }
        let limit = match self.pure() {
            Some(pure) => pure.get(),
            None => self.limit(delta)?,
        };
        let delta_at = |e: f64| self.upper_delta(Epsilon::at(e));
        let upper = smallest_epsilon(delta.get(), limit, self.guess(delta), delta_at);
        if self.witness(Epsilon::at(upper)).is_none() {
            return Ok(self.guarantee(delta, upper, 0.0));
        }
        let delta_at = |e: f64| self.lower_delta(Epsilon::at(e));
        Ok(self.guarantee(delta, upper, smallest_epsilon(delta.get(), limit, upper, delta_at)))
    }

    /// An ε near the one that holds at `delta`, where the search for it may start; 0 where none is
    /// known.
    fn guess(&self, _: Delta) -> f64 {
        0.0
    }

    /// A finite ε whose δ is at most `delta`, for profiles that never reach 0.
    fn limit(&self, delta: Delta) -> Result<f64, Error> {
        let mut limit = 1.0;
        while self.delta(Epsilon::at(limit)).upper > delta.get() {
            limit *= 2.0;
            if limit > 1e5 {
                let least = self.delta(Epsilon::at(limit)).lower;
                return Err(Error::Unreachable { delta: delta.get(), least });
            }
        }
        Ok(limit)
    }

    /// The guarantee made of a safe ε and the solution of the lower profile.
    fn guarantee(&self, delta: Delta, upper: f64, lower: f64) -> Guarantee {
        Guarantee::new(self.theorem(), delta, upper, lower, |epsilon| self.witness(epsilon))
    }
}

/// The upper side of a profile, for a mechanism that it bounds without being reached by it.
///
/// ```
/// use throng_account::profile::TwoMessageCount;
/// use throng_account::{Band, Crowd, Epsilon, Probability, Profile, UpperOnly};
///
/// let exact = TwoMessageCount::new(Crowd::new(100)?, Probability::new("p", 0.25)?);
/// let (epsilon, bound) = (Epsilon::new(0.5)?, UpperOnly(exact));
/// assert_eq!(bound.delta(epsilon), Band { lower: 0.0, upper: exact.delta(epsilon).upper });
/// assert_eq!(bound.witness(epsilon), None);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UpperOnly<P>(pub P);

impl<P: Profile> Profile for UpperOnly<P> {
    fn delta(&self, epsilon: Epsilon) -> Band {
        Band { lower: 0.0, ..self.0.delta(epsilon) }
    }

    fn theorem(&self) -> Theorem {
        self.0.theorem()
    }

    fn pure(&self) -> Option<Epsilon> {
        self.0.pure()
    }

    fn least_delta(&self) -> f64 {
        self.0.least_delta()
    }

    fn bulk_delta(&self, epsilon: Epsilon) -> f64 {
        self.0.bulk_delta(epsilon)
    }

    fn written_out(&self) -> Option<Box<dyn Profile>> {
        self.0.written_out()
    }
}

/// `(ε, δ)` against whoever sees the shuffled reports, with its reason.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::{Crowd, Delta, Neighbours, Profile, Theorem};
///
/// let crowd = Crowd::new(1_000)?;
/// let guarantee = BitSum::new(crowd, 100.0)?.epsilon(Delta::new(1e-6)?)?;
/// assert_eq!(guarantee.theorem, Theorem::ExactBag);
/// assert_eq!(guarantee.neighbours, Neighbours::ReplaceOne);
///
/// // ε + ln n, should every mix collude: more than the ln 19 that this mechanism knows of itself.
/// let floor = guarantee.local_floor(crowd).get();
/// assert!((floor - guarantee.epsilon.get() - 1_000_f64.ln()).abs() < 1e-6);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Guarantee {
    /// ε, rounded up.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
    /// The meaning of "one user's data".
    pub neighbours: Neighbours,
    /// The theorem that gives ε.
    pub theorem: Theorem,
    /// A dataset that bounds ε from below, where one is known.
    pub lower: Option<Witness>,
}

impl Guarantee {
    /// The guarantee of a safe ε and the solution of the lower profile, with the dataset that
    /// achieves the lower bound.
    pub(crate) fn new(
        theorem: Theorem,
        delta: Delta,
        upper: f64,
        lower: f64,
        dataset: impl FnOnce(Epsilon) -> Option<Dataset>,
    ) -> Self {
        // The solution is the safe end of a bracket; the truth is above the other end.
        let lower = Epsilon::at((lower * (1.0 - 2e-10)).min(upper));
        Self {
            epsilon: Epsilon::at(upper),
            delta,
            neighbours: Neighbours::ReplaceOne,
            theorem,
            lower: dataset(lower).map(|dataset| Witness { epsilon: lower, dataset }),
        }
    }

    /// ε that each user's single report keeps on its own, at the same δ, should every mix collude:
    /// `ε + ln n`, for one-message protocols in which all n users run the same randomizer.
    ///
    /// Upper bound. Cheu et al. (2019), Theorem 26. A mechanism that knows its own ε₀ reports the
    /// smaller of the two.
    pub fn local_floor(&self, crowd: Crowd) -> Epsilon {
        Epsilon::at(round::up(self.epsilon.get() + (crowd.get() as f64).ln()))
    }
}

/// A dataset on which ε cannot be smaller.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::{Crowd, Delta, Profile};
///
/// let guarantee = BitSum::new(Crowd::new(1_000)?, 100.0)?.epsilon(Delta::new(1e-6)?)?;
/// let witness = guarantee.lower.unwrap();
/// assert_eq!(witness.dataset.to_string(), "999 of the other 999 bits are 1");
/// assert!(witness.epsilon <= guarantee.epsilon);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// ε of this dataset, rounded down.
    pub epsilon: Epsilon,
    /// The others' data.
    pub dataset: Dataset,
}

/// The neighbouring relation.
///
/// There is one: the shuffler's output shows how many reports there are, so adding or removing a
/// user is never hidden.
///
/// ```
/// use throng_account::profile::ClonePair;
/// use throng_account::{Crowd, Delta, Epsilon, Neighbours, Profile};
///
/// let pair = ClonePair::strong(Crowd::new(1_000)?, Epsilon::new(1.0)?)?;
/// assert_eq!(pair.epsilon(Delta::new(1e-6)?)?.neighbours, Neighbours::ReplaceOne);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// One user's value is replaced by another; everyone else's stays.
    ReplaceOne,
}

/// The data of the other users in the dataset that achieves a lower bound.
///
/// ```
/// use throng_account::Dataset;
///
/// let dataset = Dataset::Ones { ones: 7, of: 9 };
/// assert_eq!(dataset.to_string(), "7 of the other 9 bits are 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dataset {
    /// `ones` of the other users' bits are 1, the rest 0.
    Ones {
        /// Bits that are 1.
        ones: u64,
        /// All bits of the other users.
        of: u64,
    },
    /// Everyone else holds a third value, different from both of the user's.
    ThirdValue,
    /// Everyone else holds the value at one end of the range, the user that of either end.
    OneEnd,
    /// The divergence is the same on every dataset.
    Every,
}

impl std::fmt::Display for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ones { ones, of } => write!(f, "{ones} of the other {of} bits are 1"),
            Self::ThirdValue => f.write_str("everyone else holds a third value"),
            Self::OneEnd => f.write_str("everyone else holds the value at one end of the range"),
            Self::Every => f.write_str("every dataset alike"),
        }
    }
}

/// The theorems that guarantees come from.
///
/// ```
/// use throng_account::Theorem;
///
/// assert_eq!(Theorem::ClonesClosed.name(), "clones-closed");
/// assert_eq!(Theorem::named("clones-closed"), Some(Theorem::ClonesClosed));
/// assert!(Theorem::ClonesClosed.source().ends_with("(2021), Theorem 3.1"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Theorem {
    /// The exact law of the bag of bits, worst over all datasets.
    ExactBag,
    /// The exact law of the two-message count.
    ExactCount,
    /// The exact law of a true message among a random number of fair coins.
    ExactCoins,
    /// The levels of a sliced sum with Poisson coins, composed, and the price of finite crowds.
    SlicedCoins,
    /// The exact law of the noise of a crowd's bursts.
    ExactBursts,
    /// Two cells of a histogram, each with the bursts of those who drew its role.
    BurstRoles,
    /// The clone pair with blanket mass 2/(e^ε₀+1), valid for every ε₀-LDP randomizer.
    StrongClones,
    /// The clone pair with blanket mass e^−ε₀.
    StandardClones,
    /// The privacy blanket of the concrete randomizer.
    Blanket,
    /// The randomizer's own ε₀, without amplification.
    Local,
    /// Erlingsson et al., Theorem 7, general form.
    SwapGeneral,
    /// Erlingsson et al., Theorem 7, second form.
    SwapSecond,
    /// Erlingsson et al., Theorem 7, third form.
    SwapThird,
    /// Erlingsson et al., Remark 1.
    SwapRenyi,
    /// Feldman et al., Theorem 3.1, closed form.
    ClonesClosed,
    /// Numerical composition of dominating pairs.
    Composition,
    /// Shares of a sum, which show nothing but the noisy sum up to a statistical distance.
    SplitAndMix,
}

impl Theorem {
    /// All theorems.
    pub const ALL: [Self; 17] = [
        Self::ExactBag,
        Self::ExactCount,
        Self::ExactCoins,
        Self::SlicedCoins,
        Self::ExactBursts,
        Self::BurstRoles,
        Self::StrongClones,
        Self::StandardClones,
        Self::Blanket,
        Self::Local,
        Self::SwapGeneral,
        Self::SwapSecond,
        Self::SwapThird,
        Self::SwapRenyi,
        Self::ClonesClosed,
        Self::Composition,
        Self::SplitAndMix,
    ];

    /// The theorem of this key.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theorem| theorem.name() == name)
    }

    /// A stable key for JSON.
    pub fn name(self) -> &'static str {
        self.key().0
    }

    /// The section of `docs/privacy.md` that proves it, or that has what holds for any randomizer.
    pub fn section(self) -> u8 {
        self.key().1
    }

    /// The paper, or the part of `docs/privacy.md`, to read about it.
    pub fn source(self) -> &'static str {
        match self {
            Self::ExactBag => {
                "the law of the bag of bits, maximised over all datasets (docs/privacy.md, 2)"
            }
            Self::ExactCount => "Bin(n, p) against itself shifted by one (docs/privacy.md, 4)",
            Self::ExactCoins => {
                "one bit among a random number of fair coins, exactly (docs/privacy.md, 11)"
            }
            Self::SlicedCoins => {
                "composition over the levels of a binary number, Poisson coins against multinomial \
                 ones (docs/privacy.md, 11)"
            }
            Self::ExactBursts => {
                "the law of the bursts against itself moved by one message (docs/privacy.md, 13)"
            }
            Self::BurstRoles => {
                "two cells whose users are known, and the chance of too few (docs/privacy.md, 13)"
            }
            Self::StrongClones => {
                "one dominating pair for every pure LDP randomizer (docs/privacy.md, 5)"
            }
            Self::StandardClones => {
                "Feldman, McMillan, Talwar, Hiding Among the Clones (2021), Theorem 3.2"
            }
            Self::Blanket => {
                "Balle, Bell, Gascon, Nissim, The Privacy Blanket of the Shuffle Model (2019), \
                 Lemma 5.3, evaluated with certified error (docs/privacy.md, 6)"
            }
            Self::Local => "the randomizer's own epsilon0, without shuffling",
            Self::SwapGeneral => {
                "Erlingsson et al., Amplification by Shuffling (2019), Theorem 7, general form"
            }
            Self::SwapSecond => {
                "Erlingsson et al., Amplification by Shuffling (2019), Theorem 7, second form"
            }
            Self::SwapThird => {
                "Erlingsson et al., Amplification by Shuffling (2019), Theorem 7, third form"
            }
            Self::SwapRenyi => "Erlingsson et al., Amplification by Shuffling (2019), Remark 1",
            Self::ClonesClosed => {
                "Feldman, McMillan, Talwar, Hiding Among the Clones (2021), Theorem 3.1"
            }
            Self::Composition => {
                "composition of dominating pairs, connect-the-dots discretisation \
                 (docs/privacy.md, 9)"
            }
            Self::SplitAndMix => {
                "Balle, Bell, Gascon, Nissim, Private Summation in the Multi-Message Shuffle Model \
                 (2020), and components of two random groupings (docs/privacy.md, 14)"
            }
        }
    }

    /// Its name and its section.
    fn key(self) -> (&'static str, u8) {
        match self {
            Self::ExactBag => ("exact-bag", 2),
            Self::ExactCount => ("exact-count", 4),
            Self::ExactCoins => ("exact-coins", 11),
            Self::SlicedCoins => ("sliced-coins", 11),
            Self::ExactBursts => ("exact-bursts", 13),
            Self::BurstRoles => ("burst-roles", 13),
            Self::StrongClones => ("strong-clones", 5),
            Self::StandardClones => ("standard-clones", 5),
            Self::Blanket => ("blanket", 6),
            Self::Local => ("local", 5),
            Self::SwapGeneral => ("swap-general", 5),
            Self::SwapSecond => ("swap-second", 5),
            Self::SwapThird => ("swap-third", 5),
            Self::SwapRenyi => ("swap-renyi", 5),
            Self::ClonesClosed => ("clones-closed", 5),
            Self::Composition => ("composition", 9),
            Self::SplitAndMix => ("split-and-mix", 14),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{BitSum, WorstCase};
    use crate::testing::{assert_close, vectors};

    #[test]
    fn every_theorem_has_its_name_and_the_section_that_its_source_says() {
        for (place, theorem) in Theorem::ALL.into_iter().enumerate() {
            assert_eq!(theorem as usize, place);
            assert_eq!(Theorem::named(theorem.name()), Some(theorem));
            if let Some((_, section)) = theorem.source().split_once("(docs/privacy.md, ") {
                assert_eq!(section, format!("{})", theorem.section()));
            }
        }
        assert_eq!(Theorem::named("hearsay"), None);
    }

    #[test]
    fn the_local_floor_agrees_with_eighty_digits_and_covers_the_mechanism() {
        let rows = vectors("published.json");
        for row in rows.iter().filter(|row| row.text("name") == "local_floor") {
            let declared = WorstCase::new(Epsilon::at(row.f64("epsilon")), 0.0).unwrap();
            let guarantee = declared.guarantee(Delta::new(1e-6).unwrap(), row.f64("epsilon"), 0.0);
            let crowd = Crowd::new(row.u64("n")).unwrap();
            assert_close(guarantee.local_floor(crowd).get(), row.f64("value"), 3e-9);
        }
        // What one report shows at the floor is at most what the crowd shows.
        for (n, lambda) in [(10, 2.0), (100, 58.0), (1000, 20.0)] {
            let crowd = Crowd::new(n).unwrap();
            let protocol = BitSum::new(crowd, lambda).unwrap();
            for delta in [1e-2, 1e-5] {
                let delta = Delta::new(delta).unwrap();
                let floor = protocol.epsilon(delta).unwrap().local_floor(crowd).get();
                let alone = (1.0 - protocol.flip()) - floor.exp() * protocol.flip();
                assert!(alone <= delta.get(), "n = {n}: {alone}");
            }
        }
    }
}
