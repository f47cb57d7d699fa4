//! Buckets: names from a domain too large to count, hashed into categories that can be.
//!
//! A bucket's count is that of all names in it. How much the others add to a name's count is not
//! noise that averages out over users: it is the same for all of them until the seed changes.
//!
//! ```text
//! bucket(name) = ⌊SipHash-2-4(key = (seed, 0), name)·B/2⁶⁴⌋        names as UTF-8 bytes
//! ```
//!
//! Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012). The seed is no secret. It is
//! to be drawn after the names are what they are: whoever knows it can make up names that share a
//! bucket.

use crate::strings::siphash::siphash;
use crate::{Error, require};

/// A map from names to buckets, chosen by a seed.
///
/// ```
/// use throng_mechanism::Buckets;
///
/// let buckets = Buckets::new(100, 7)?;
/// assert!(buckets.of_name("firefox") < 100);
///
/// // 10,000 users with other names, none held by more than 100: a hundred of them, give or take a
/// // hundred, are counted for the name.
/// let collisions = buckets.collisions(10_000.0, 100.0);
/// assert_eq!(collisions.bias, 100.0);
/// assert!((collisions.deviation - 9_900_f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    buckets: u32,
    seed: u64,
}

impl Buckets {
    /// The hashing into at least two buckets.
    pub fn new(buckets: u32, seed: u64) -> Result<Self, Error> {
        require(buckets >= 2, "buckets", "2 or more")?;
        Ok(Self { buckets, seed })
    }

    /// The bucket of a name.
    pub fn of_name(&self, name: &str) -> u32 {
        let hash = siphash(self.seed, 0, name.as_bytes());
        ((u128::from(hash) * u128::from(self.buckets)) >> 64) as u32
    }

    /// The count that the names sharing its bucket add to a name's, when `others` users hold other
    /// names and none of those is held by more than `heaviest`.
    ///
    /// ```text
    /// bias = others/B                            exactly, whatever the names
    /// deviation ≤ √(others·heaviest·(1/B)(1 − 1/B))
    /// ```
    ///
    /// Over a uniform seed, with SipHash taken for a random function: each other name lands in the
    /// bucket with probability 1/B, independently of each other one, so the variance is
    /// `Σ n_w²·(1/B)(1 − 1/B)`, and `n_w ≤ heaviest`.
    pub fn collisions(&self, others: f64, heaviest: f64) -> Collisions {
        let share = 1.0 / f64::from(self.buckets);
        Collisions {
            bias: others * share,
            deviation: (others * heaviest * share * (1.0 - share)).sqrt(),
        }
    }
}

/// The count that other names add to that of a name, over the choice of the seed.
///
/// ```
/// use throng_mechanism::Buckets;
///
/// // Twice the buckets, half the bias: it is taken off the count, what varies is not.
/// let [few, many] = [100, 200].map(|n| Buckets::new(n, 7).map(|b| b.collisions(1e6, 1e3)));
/// assert_eq!(few?.bias, 2.0 * many?.bias);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collisions {
    /// The mean of the count added.
    pub bias: f64,
    /// The standard deviation of the count added, at most.
    pub deviation: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Over 4000 seeds: what 200 names of one to four users add to another one's count.
    #[test]
    fn collisions_add_what_is_said() {
        let (seeds, counts) = (4000, |id: u64| (id % 4 + 1) as f64);
        let others: f64 = (1..=200).map(counts).sum();
        let (mut sum, mut square) = (0.0, 0.0);
        for seed in 0..seeds {
            let buckets = Buckets::new(16, seed).unwrap();
            let bucket = |id: u64| buckets.of_name(&id.to_string());
            let same = |id: &u64| bucket(*id) == bucket(0);
            let added: f64 = (1..=200).filter(same).map(counts).sum();
            sum += added;
            square += added * added;
        }
        let mean = sum / seeds as f64;
        let deviation = (square / seeds as f64 - mean * mean).sqrt();
        let claim = Buckets::new(16, 0).unwrap().collisions(others, 4.0);
        assert!((mean - claim.bias).abs() < 5.0 * deviation / (seeds as f64).sqrt(), "{mean}");
        assert!(deviation < claim.deviation && deviation > 0.8 * claim.deviation, "{deviation}");
    }

    #[test]
    fn every_name_has_a_bucket() {
        let buckets = Buckets::new(3, 1).unwrap();
        let mut seen = [0; 3];
        (0..300).for_each(|i| seen[buckets.of_name(&format!("name {i}")) as usize] += 1);
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
        assert!(Buckets::new(1, 0).is_err());
    }
}
