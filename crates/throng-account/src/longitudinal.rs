//! `longitudinal`: a bit followed over d periods with at most k changes (Erlingsson et al.,
//! "Amplification by Shuffling", 2019, Algorithm 1).
//!
//! The client picks one of its k possible changes and one level of a binary tree over the periods,
//! and answers for every node of that level by a coin: uniform where the node holds nothing, biased
//! by `e^c/(1+e^c)` towards ±1 where it holds the chosen change.

use crate::{ClonePair, Crowd, Delta, Epsilon, Error, Guarantee, Profile};

/// The protocol with the parameter `c` of its coin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Longitudinal {
    periods: u64,
    coin: Epsilon,
}

impl Longitudinal {
    /// `periods` is a power of two.
    pub fn new(periods: u64, coin: Epsilon) -> Result<Self, Error> {
        if !periods.is_power_of_two() || periods > 1 << 32 {
            return Err(Error::OutOfRange {
                name: "periods",
                value: periods as f64,
                range: "a power of two, at most 2^32",
            });
        }
        Ok(Self { periods, coin })
    }

    /// Levels of the tree, one of which each client reports on: `log₂ d + 1`.
    pub fn levels(&self) -> u32 {
        self.periods.ilog2() + 1
    }

    /// ε of everything one client ever sends, level included: exactly the parameter of its coin.
    ///
    /// The level is drawn without looking at the data, and at most one node of it holds anything. Two
    /// inputs whose nodes differ cost `ln(2a) − ln(2(1−a)) = c` with `a = e^c/(1+e^c)`, not twice
    /// that, which is why the printed coin (`c = ε/2`) wastes half of ε (Theorem 5 there is loose by
    /// two).
    pub fn lifetime(&self) -> Epsilon {
        self.coin
    }

    /// ε, after shuffling, of everything a client ever sends, against who sees each period's reports
    /// of one level shuffled.
    ///
    /// `level_crowd` counts honest clients that report on the *same level* in every period: the level
    /// is visible, and only equal randomizers hide each other (Erlingsson et al., Corollary 9). The
    /// whole sequence is one c-LDP report, and shuffling period by period shows less than shuffling
    /// whole sequences; so this holds for the lifetime, and for each single period.
    pub fn shuffled(&self, level_crowd: Crowd, delta: Delta) -> Result<Guarantee, Error> {
        ClonePair::strong(level_crowd, self.coin)?.epsilon(delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    #[test]
    fn the_lifetime_guarantee_is_the_enumerated_one() {
        for row in vectors("longitudinal.json") {
            let coin = Epsilon::at(row.f64("coin_epsilon"));
            let protocol = Longitudinal::new(row.u64("periods"), coin).unwrap();
            assert_close(protocol.lifetime().get(), row.f64("exact"), 1e-12);
        }
    }

    #[test]
    fn shuffling_hides_among_the_same_level_only() {
        let protocol = Longitudinal::new(8, Epsilon::at(1.0)).unwrap();
        assert_eq!(protocol.levels(), 4);
        let delta = Delta::new(1e-6).unwrap();
        let all = protocol.shuffled(Crowd::new(40_000).unwrap(), delta).unwrap().epsilon;
        let level = protocol.shuffled(Crowd::new(10_000).unwrap(), delta).unwrap().epsilon;
        assert!(level > all && level < protocol.lifetime());
        assert!(Longitudinal::new(6, Epsilon::at(1.0)).is_err());
    }
}
