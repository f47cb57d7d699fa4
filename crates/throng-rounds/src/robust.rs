//! XOR-sum by one round of randomized response: private whoever drops out, and for that reason
//! wrong by the square root of the crowd.
//!
//! Every user holds a group and a bit; wanted is how many groups have an odd number of ones.
//!
//! ```text
//! client     (group, bit flipped with probability f)
//! analyzer   Σ_j (1 − Π_j)/2      Π_j = Π over the bits of group j of (1 − 2·bit)/(1 − 2f)
//! local      ε = ln((1 − f)/f)    for the bit
//! ```
//!
//! Each factor has mean 1 − 2·(true bit) and the flips are independent, so Π_j has mean ±1 as the
//! XOR says: the estimate is unbiased. With κ = 1/(1 − 2f) and g_j messages in group j, Π_j is
//! always ±κ^{g_j}, so its variance is κ^{2g_j} − 1 whatever the bits, and
//!
//! ```text
//! standard error = ½·√(Σ_j (κ^{2g_j} − 1))      groups of two, n users:  √n · ½·√((κ⁴ − 1)/2)
//! ```
//!
//! The guarantee is local: it rests on nobody else's messages, so it holds whoever drops out, which
//! is what robust means. It covers the bit alone. The group is public, and so is having taken part;
//! a computation over several rounds hides both, and is wrong by a constant instead. That the error
//! of every robust protocol of one round grows as √n is shown by [`pause`](crate::pause).

use crate::Error;
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use throng_account::{Epsilon, Threshold, round};
use throng_mechanism::{BinaryResponse, sample};

/// Both halves of the protocol.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::Epsilon;
/// use throng_rounds::{RobustXorSum, xor_sum};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // A thousand pairs; the second of each holds a one, and of every fourth the first as well.
/// let inputs: Vec<(u32, bool)> =
///     (0..2_000).map(|i| (i / 2, i % 2 == 1 || i % 8 == 0)).collect();
/// assert_eq!(xor_sum(&inputs), 750);
///
/// let protocol = RobustXorSum::new(Epsilon::new(3.0)?)?;
/// let messages: Vec<_> =
///     inputs.iter().map(|&(group, bit)| protocol.encode(group, bit, 0, &mut rng)).collect();
/// let found = protocol.estimate(messages.iter().map(|message| message.as_slice()));
/// let sum = found[0];
/// assert!((sum.value - 750.0).abs() < 6.0 * sum.standard_error);
/// assert!((sum.standard_error - 11.07).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobustXorSum {
    flip: Threshold,
    epsilon: Epsilon,
}

/// The estimate of one repeat.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_rounds::RobustXorSum;
///
/// // One message that says 1, in repeat 2, at κ = 2: (1 + 2)/2, give or take ½·√3.
/// let protocol = RobustXorSum::new(Epsilon::new(3_f64.ln())?)?;
/// let sum = protocol.estimate([[0, 2, 0, 0, 0, 0, 1].as_slice()])[0];
/// assert_eq!((sum.repeat, sum.messages), (2, 1));
/// assert!((sum.value - 1.5).abs() < 1e-12 && (sum.standard_error - 0.8660).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct XorSum {
    /// The number of the repeat.
    pub repeat: u16,
    /// The estimated number of groups with an odd number of ones.
    pub value: f64,
    /// Its exact standard deviation, if everybody counted followed the protocol. Infinite when a
    /// group is so large that its XOR is lost beyond the range of floats.
    pub standard_error: f64,
    /// Messages counted.
    pub messages: u64,
}

impl RobustXorSum {
    /// Bytes of a message.
    pub const MESSAGE_LEN: usize = 7;

    /// The protocol with a local `epsilon` for the bit.
    pub fn new(epsilon: Epsilon) -> Result<Self, Error> {
        let refused = || Error::parameter("epsilon", format!("from {LEAST} to {MOST}"));
        if !(LEAST..=MOST).contains(&epsilon.get()) {
            return Err(refused());
        }
        let flip = BinaryResponse::local(epsilon).map_err(|_| refused())?.flip();
        // A handful of roundings, upwards.
        let claim = (2.0 * margin(flip) / flip.get() as f64).ln_1p();
        let claim = round::up_by(claim, 8.0 * f64::EPSILON);
        Ok(Self { flip, epsilon: Epsilon::new(claim).map_err(|_| refused())? })
    }

    /// The message of one user: repeat, group and flipped bit, big-endian.
    ///
    /// A repeat is one run of the protocol among several in the same bag, to measure its error on
    /// inputs that are no secret. Sending the same bit in two repeats costs ε twice.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::Epsilon;
    /// use throng_rounds::RobustXorSum;
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    ///
    /// // At ε = 40 a flip is not seen in a lifetime.
    /// let protocol = RobustXorSum::new(Epsilon::new(40.0)?)?;
    /// assert_eq!(protocol.encode(0x01020304, true, 7, &mut rng), [0, 7, 1, 2, 3, 4, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(
        &self,
        group: u32,
        bit: bool,
        repeat: u16,
        rng: &mut impl CryptoRng,
    ) -> [u8; Self::MESSAGE_LEN] {
        let sent = bit ^ sample::coin(self.flip, rng);
        let ([r0, r1], [g0, g1, g2, g3]) = (repeat.to_be_bytes(), group.to_be_bytes());
        [r0, r1, g0, g1, g2, g3, u8::from(sent)]
    }

    /// Estimates every repeat that has a message, in rising order, from a bag whose order does not
    /// matter. What no client sends is left out.
    ///
    /// ```
    /// use throng_account::Epsilon;
    /// use throng_rounds::RobustXorSum;
    ///
    /// // Nearly without noise: group 5 holds 1 and 1, group 6 holds 1. The last is no message.
    /// let protocol = RobustXorSum::new(Epsilon::new(40.0)?)?;
    /// let bag = [[0, 0, 0, 0, 0, 5, 1], [0, 0, 0, 0, 0, 6, 1], [0, 0, 0, 0, 0, 5, 1], [9; 7]];
    /// let found = protocol.estimate(bag.iter().map(|message| message.as_slice()));
    /// assert!((found[0].value - 1.0).abs() < 1e-9 && found[0].messages == 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate<'a>(&self, messages: impl IntoIterator<Item = &'a [u8]>) -> Vec<XorSum> {
        let mut tags: Vec<u64> = messages.into_iter().filter_map(tag).collect();
        tags.sort_unstable();
        tags.chunk_by(|a, b| a >> 40 == b >> 40).map(|repeat| self.sum(repeat)).collect()
    }

    /// The standard error of groups of the given sizes.
    ///
    /// ```
    /// use throng_account::Epsilon;
    /// use throng_rounds::RobustXorSum;
    ///
    /// // κ = 2 at e^ε = 3: ½·√(3 + 15 + 63).
    /// let protocol = RobustXorSum::new(Epsilon::new(3_f64.ln())?)?;
    /// assert!((protocol.standard_error([1, 2, 3]) - 4.5).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn standard_error(&self, groups: impl IntoIterator<Item = u64>) -> f64 {
        let variance = |size| self.scale(size) * self.scale(size) - 1.0;
        0.5 * groups.into_iter().map(variance).sum::<f64>().sqrt()
    }

    /// The coin that flips a bit.
    pub fn flip(&self) -> Threshold {
        self.flip
    }

    /// The local ε of the coin for the bit, `ln((1 − f)/f)`, rounded up.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The weight of one message, `κ = 1/(1 − 2f)`.
    pub fn weight(&self) -> f64 {
        TWO_63 / margin(self.flip)
    }

    /// The estimate from the tags of one repeat, which are sorted.
    fn sum(&self, tags: &[u64]) -> XorSum {
        let groups = || tags.chunk_by(|a, b| a >> 8 == b >> 8);
        let odd = |group: &[u64]| group.iter().fold(0, |xor, tag| xor ^ (tag & 1)) == 1;
        let term = |group: &[u64]| {
            // Kept finite, so that lost groups of opposite sign do not sum to no number at all.
            let product = self.scale(group.len() as u64).min(f64::MAX);
            0.5 * if odd(group) { 1.0 + product } else { 1.0 - product }
        };
        XorSum {
            repeat: (tags[0] >> 40) as u16,
            value: groups().map(term).sum(),
            standard_error: self.standard_error(groups().map(|group| group.len() as u64)),
            messages: tags.len() as u64,
        }
    }

    /// `κ^g`, the size of the product over a group of `size` messages.
    fn scale(&self, size: u64) -> f64 {
        self.weight().powi(i32::try_from(size).unwrap_or(i32::MAX))
    }
}

/// The truth: how many groups have an odd number of ones.
///
/// ```
/// use throng_rounds::xor_sum;
///
/// let (yes, no) = (true, false);
/// assert_eq!(xor_sum(&[(1, yes), (1, no), (3, no), (1, yes), (3, no), (2, yes), (4, yes)]), 2);
/// ```
pub fn xor_sum(inputs: &[(u32, bool)]) -> u64 {
    let mut groups = BTreeMap::new();
    for &(group, bit) in inputs {
        *groups.entry(group).or_insert(false) ^= bit;
    }
    groups.values().map(|&odd| u64::from(odd)).sum()
}

/// `2⁶³·(1 − 2f)`, the subtraction done in integers; 0 for a coin that is not below one half.
fn margin(flip: Threshold) -> f64 {
    (1_u64 << 63).saturating_sub(flip.get()) as f64
}

/// The message as one number, which sorts by repeat, then by group.
fn tag(message: &[u8]) -> Option<u64> {
    let &[r0, r1, g0, g1, g2, g3, bit @ (0 | 1)] = message else { return None };
    Some(u64::from_be_bytes([0, r0, r1, g0, g1, g2, g3, bit]))
}

/// Below it a group of two is lost in noise; above the most the coin has too few digits.
const LEAST: f64 = 1e-6;
const MOST: f64 = 40.0;
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use proptest::prelude::*;
    use throng_account::Delta;
    use throng_account::tail::success_band;

    fn protocol(epsilon: f64) -> RobustXorSum {
        RobustXorSum::new(Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// The estimate when `flips` says whose bit is flipped.
    fn flipped(m: &RobustXorSum, inputs: &[(u32, bool)], flips: u32) -> XorSum {
        let messages: Vec<[u8; 7]> = (inputs.iter().zip(0..))
            .map(|(&(group, bit), i)| {
                let [g0, g1, g2, g3] = group.to_be_bytes();
                [0, 3, g0, g1, g2, g3, u8::from(bit) ^ (flips >> i & 1) as u8]
            })
            .collect();
        let found = m.estimate(messages.iter().map(<[u8; 7]>::as_slice));
        assert_eq!((found.len(), found[0].messages), (1, inputs.len() as u64));
        found[0]
    }

    /// Mean and variance over all ways to flip.
    fn moments(m: &RobustXorSum, inputs: &[(u32, bool)]) -> (f64, f64) {
        let (n, f) = (inputs.len() as u32, m.flip().probability());
        let (mut mean, mut square) = (0.0, 0.0);
        for flips in 0..1_u32 << n {
            let ones = flips.count_ones() as i32;
            let chance = f.powi(ones) * (1.0 - f).powi(n as i32 - ones);
            let value = flipped(m, inputs, flips).value;
            mean += chance * value;
            square += chance * value * value;
        }
        (mean, square - mean * mean)
    }

    /// Every choice of (group, bit) for three users and three groups.
    fn datasets() -> impl Iterator<Item = Vec<(u32, bool)>> {
        (0..216).map(|code| [code / 36, code / 6 % 6, code % 6].map(VALUES).to_vec())
    }

    const VALUES: fn(u32) -> (u32, bool) = |v| (v / 2, v % 2 == 1);

    #[test]
    fn over_all_flips_the_mean_is_the_truth_and_the_variance_the_formula() {
        let (yes, no) = (true, false);
        let slides = [(1, yes), (1, no), (3, no), (1, yes), (3, no), (2, yes), (4, yes)];
        assert_eq!(xor_sum(&slides), 2);
        for epsilon in [0.5, 1.0, 3.0] {
            let m = protocol(epsilon);
            for inputs in datasets().chain([slides.to_vec()]) {
                let (mean, variance) = moments(&m, &inputs);
                let error = flipped(&m, &inputs, 0).standard_error;
                assert!((mean - xor_sum(&inputs) as f64).abs() < 1e-9, "{mean}");
                assert!((variance / (error * error) - 1.0).abs() < 1e-9, "{variance} {error}");
            }
        }
    }

    // The slides have "removing one person's data changes this by ±1"; replacing changes it by up
    // to 2, so central noise for replacement has the scale 2/ε.
    #[test]
    fn one_user_moves_the_truth_by_two_when_replaced_and_by_one_when_removed() {
        let (mut replaced, mut by_two) = (0, 0);
        for inputs in datasets() {
            let truth = xor_sum(&inputs);
            for user in 0..3 {
                let mut other = inputs.clone();
                for value in (0..6).map(VALUES) {
                    other[user] = value;
                    let change = xor_sum(&other).abs_diff(truth);
                    assert!(change <= 2);
                    replaced += 1;
                    by_two += u32::from(change == 2);
                }
                other.remove(user);
                assert!(xor_sum(&other).abs_diff(truth) <= 1);
            }
        }
        assert_eq!((by_two, replaced), (288, 3_888));
    }

    #[test]
    fn in_groups_of_two_the_error_grows_as_the_root_of_the_crowd() {
        for epsilon in [0.5, 1.0, 4.0] {
            let m = protocol(epsilon);
            let e = epsilon.exp();
            // κ is also coth(ε/2).
            let kappa = (e + 1.0) / (e - 1.0);
            assert!((m.weight() / kappa - 1.0).abs() < 1e-12);
            for pairs in [1, 100, 10_000] {
                let inputs: Vec<(u32, bool)> = (0..2 * pairs).map(|i| (i / 2, false)).collect();
                let error = flipped(&m, &inputs[..2], 0).standard_error * f64::from(pairs).sqrt();
                let predicted =
                    f64::from(2 * pairs).sqrt() * 0.5 * ((kappa.powi(4) - 1.0) / 2.0).sqrt();
                assert!((error / predicted - 1.0).abs() < 1e-9);
                let whole = m.standard_error(std::iter::repeat_n(2, pairs as usize));
                assert!((whole / predicted - 1.0).abs() < 1e-9);
            }
        }
        assert!((protocol(1.0).standard_error([2; 50]) / 10.0 - 1.617).abs() < 5e-4);
    }

    #[test]
    fn the_claim_bounds_the_likelihood_ratio_and_is_the_one_asked_for() {
        for epsilon in [1e-6, 0.01, 0.5, 1.0, 8.0, 40.0] {
            let m = protocol(epsilon);
            let (claim, f) = (m.epsilon().get(), m.flip().probability());
            assert!(claim.exp() >= (1.0 - f) / f * (1.0 - 1e-14), "{epsilon}");
            assert!(claim <= epsilon * (1.0 + 1e-9) && claim > epsilon * (1.0 - 0.01), "{claim}");
        }
    }

    /// Two bits at 2e-9 each.
    #[test]
    fn the_sampler_flips_as_often_as_the_coin_says() {
        let (m, mut rng) = (protocol(1.0), ChaCha12Rng::seed_from_u64(1));
        let f = m.flip().probability();
        for bit in [false, true] {
            let flips =
                (0..20_000).filter(|_| m.encode(9, bit, 1, &mut rng)[6] != u8::from(bit)).count();
            let band = success_band(flips as u64, 20_000, Delta::new(1e-9).unwrap());
            assert!(band.lower < f && f < band.upper, "{flips}");
        }
    }

    #[test]
    fn repeats_are_estimated_apart() {
        let (m, mut rng) = (protocol(40.0), ChaCha12Rng::seed_from_u64(2));
        let bag =
            [(4, 0, true), (0, 0, true), (4, 1, true), (0, 0, true), (u16::MAX, u32::MAX, false)]
                .map(|(repeat, group, bit)| m.encode(group, bit, repeat, &mut rng));
        let found = m.estimate(bag.iter().map(<[u8; 7]>::as_slice));
        let sums: Vec<_> =
            found.iter().map(|sum| (sum.repeat, sum.value.round(), sum.messages)).collect();
        assert_eq!(sums, [(0, 0.0, 2), (4, 2.0, 2), (u16::MAX, 0.0, 1)]);
    }

    #[test]
    fn a_group_too_large_for_floats_has_an_infinite_error_and_no_nan() {
        let m = protocol(0.5);
        let bag: Vec<[u8; 7]> = (0..4_000).map(|i| [0, 0, 0, 0, 0, i as u8 & 1, 1]).collect();
        let odd = [0, 0, 0, 0, 0, 1, 1];
        let found = m.estimate(bag.iter().chain([&odd]).map(<[u8; 7]>::as_slice))[0];
        assert!(found.standard_error.is_infinite() && !found.value.is_nan());
    }

    #[test]
    fn an_epsilon_without_a_coin_is_refused() {
        for epsilon in [0.0, 1e-7, 41.0, 1e300] {
            let error = RobustXorSum::new(Epsilon::new(epsilon).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), "epsilon must be from 0.000001 to 40");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(
            bag in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..40),
        ) {
            let found = protocol(1.0).estimate(bag.iter().map(Vec::as_slice));
            let counted: u64 = found.iter().map(|sum| sum.messages).sum();
            let sound = bag.iter().filter(|message| message.len() == 7 && message[6] < 2);
            prop_assert_eq!(counted, sound.count() as u64);
        }
    }
}
