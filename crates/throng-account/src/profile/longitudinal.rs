//! `longitudinal`: a bit followed over d periods with at most k changes (Erlingsson et al.,
//! "Amplification by Shuffling", 2019, Algorithm 1).
//!
//! The client picks one of its k possible changes and one level of a binary tree over the periods,
//! and answers for every node of that level by a coin: uniform where the node holds nothing, biased
//! by `e^c/(1+e^c)` towards ±1 where it holds the chosen change.

use crate::error::require;
use crate::profile::ClonePair;
use crate::{Crowd, Epsilon, Error};

/// The protocol with the parameter `c` of its coin.
///
/// ```
/// use throng_account::profile::Longitudinal;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // Sixteen periods, five levels, and ε = 1 for all that a client ever sends.
/// let protocol = Longitudinal::new(16, Epsilon::new(1.0)?)?;
/// assert_eq!((protocol.levels(), protocol.lifetime().get()), (5, 1.0));
///
/// // Among a thousand, a whole life is one report of a randomizer with ε₀ = 1.
/// let guarantee = protocol.shuffled(Crowd::new(1_000)?)?.epsilon(Delta::new(1e-6)?)?;
/// assert!((guarantee.epsilon.get() - 0.14867).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Longitudinal {
    periods: u64,
    coin: Epsilon,
}

impl Longitudinal {
    /// `periods` is a power of two.
    pub fn new(periods: u64, coin: Epsilon) -> Result<Self, Error> {
        let holds = periods.is_power_of_two() && periods <= 1 << 32;
        require(holds, "periods", periods as f64, "a power of two, at most 2^32")?;
        Ok(Self { periods, coin })
    }

    /// Levels of the tree, one of which each client reports on: `log₂ d + 1`.
    pub fn levels(&self) -> u32 {
        self.periods.ilog2() + 1
    }

    /// ε of everything one client ever sends, level included: the parameter of its coin. It is
    /// reached with one change and two periods or more.
    ///
    /// The level is drawn without looking at the data, and at most one node of it holds anything.
    /// Two inputs whose nodes differ cost `ln(2a) − ln(2(1−a)) = c` with `a = e^c/(1+e^c)`, not
    /// twice that, which is why the printed coin (`c = ε/2`) wastes half of ε (Theorem 5 there is
    /// loose by two).
    pub fn lifetime(&self) -> Epsilon {
        self.coin
    }

    /// The profile, after shuffling among `crowd` honest clients, of everything a client ever
    /// sends, against whoever sees each period's messages shuffled.
    ///
    /// The level is drawn inside the randomizer, so a whole life, level included, is one report of
    /// a c-LDP randomizer that is the same for everybody. Shuffling period by period shows less
    /// than shuffling whole lives. Upper bound: [`ClonePair::strong`] with the whole crowd, for
    /// values that do not react to what was released before.
    pub fn shuffled(&self, crowd: Crowd) -> Result<ClonePair, Error> {
        ClonePair::strong(crowd, self.coin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};
    use crate::{Delta, Profile};

    #[test]
    fn the_lifetime_guarantee_is_the_enumerated_one() {
        for row in vectors("longitudinal.json") {
            let coin = Epsilon::at(row.f64("coin_epsilon"));
            let protocol = Longitudinal::new(row.u64("periods"), coin).unwrap();
            assert_close(protocol.lifetime().get(), row.f64("exact"), 1e-12);
        }
    }

    #[test]
    fn shuffling_hides_among_the_whole_crowd() {
        let protocol = Longitudinal::new(8, Epsilon::at(1.0)).unwrap();
        assert_eq!(protocol.levels(), 4);
        let crowd = Crowd::new(40_000).unwrap();
        let found = protocol.shuffled(crowd).unwrap().epsilon(Delta::new(1e-6).unwrap()).unwrap();
        assert!(found.epsilon.get() < 0.03 * protocol.lifetime().get());
        assert!(Longitudinal::new(6, Epsilon::at(1.0)).is_err());
    }
}
