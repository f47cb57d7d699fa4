//! Exact samplers: the only file that consumes random bits.
//!
//! A decision is a comparison of random integers with integer parameters, never of floats, so the
//! law that is sampled is exactly the law that is accounted for. Where the input is secret, the
//! work done does not depend on it: both outcomes are computed and one is selected by a mask. How
//! many random words are drawn may depend on the words themselves (rejection), never on the input.

use rand_core::CryptoRng;
use throng_account::{Probability, Threshold};

/// True with probability `threshold/2⁶⁴`.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Delta, Threshold};
/// use throng_mechanism::sample::coin;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let quarter = Threshold::new(1 << 62)?;
/// let heads = (0..10_000).filter(|_| coin(quarter, &mut rng)).count();
/// // Six standard deviations of √(10⁴·¼·¾) = 43.
/// assert!((2_240..2_760).contains(&heads));
/// # Ok::<(), throng_account::Error>(())
/// ```
#[inline]
pub fn coin(threshold: Threshold, rng: &mut impl CryptoRng) -> bool {
    rng.next_u64() < threshold.get()
}

/// 64 independent coins, each 1 with probability `threshold/2⁶⁴`, from about eight random words.
///
/// Lane by lane the binary expansion of a uniform number is compared with that of the threshold
/// from the first digit on. A random digit that differs decides its lane; after eight digits few
/// lanes are left, and once all are decided no more digits are drawn.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::Threshold;
/// use throng_mechanism::sample::coins;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let quarter = Threshold::new(1 << 62)?;
/// let heads: u32 = (0..200).map(|_| coins(quarter, &mut rng).count_ones()).sum();
/// // 12,800 coins, within six standard deviations of 49.
/// assert!((2_906..3_494).contains(&heads));
/// # Ok::<(), throng_account::Error>(())
/// ```
#[inline]
pub fn coins(threshold: Threshold, rng: &mut impl CryptoRng) -> u64 {
    let (mut undecided, mut below) = (u64::MAX, 0_u64);
    let mut digits = threshold.get();
    while undecided != 0 && digits != 0 {
        let random = rng.next_u64();
        // All ones where the threshold's digit is 1: there a random 0 means "below".
        let digit = ((digits as i64) >> 63) as u64;
        below |= undecided & digit & !random;
        undecided &= !(random ^ digit);
        digits <<= 1;
    }
    below
}

/// A uniform number of `0..n`, for `n ≥ 1`: the high half of a product, redrawn while its low half
/// falls among the few that would make some values likelier (Lemire, "Fast Random Integer
/// Generation in an Interval", 2019).
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::below;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let mut seen = [0; 6];
/// (0..600).for_each(|_| seen[below(6, &mut rng) as usize] += 1);
/// assert!(seen.iter().all(|count| (45..155).contains(count)));
/// ```
#[inline]
pub fn below(n: u64, rng: &mut impl CryptoRng) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let excess = n.wrapping_neg() % n;
        while (product as u64) < excess {
            product = u128::from(rng.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

/// A real from 0 to 1 as a coin: true with probability `fraction`, to within 2⁻⁶⁴.
///
/// This is the rounding of a value before noise, not the noise: privacy does not rest on it.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::fraction;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // 2.3 is rounded to 3 about every third time.
/// let up = (0..1_000).filter(|_| fraction(0.3, &mut rng)).count();
/// assert!((213..387).contains(&up));
/// assert!(!fraction(0.0, &mut rng));
/// ```
#[inline]
pub fn fraction(fraction: f64, rng: &mut impl CryptoRng) -> bool {
    // The product is exact, and the cast saturates at the top.
    rng.next_u64() < (fraction * TWO_64) as u64
}

/// One of finitely many events, each with an integer weight out of 2⁶⁴, or none of them.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::Catalogue;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // Events 0 and 1 with chance ¼ each, and else none, which is 2.
/// let catalogue = Catalogue::new([1 << 62, 1 << 62]).unwrap();
/// let mut seen = [0; 3];
/// (0..1_000).for_each(|_| seen[catalogue.draw(&mut rng)] += 1);
/// assert!((168..332).contains(&seen[0]) && (405..595).contains(&seen[2]));
/// assert_eq!(Catalogue::new([1 << 63, 1 << 63]), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// Running sums of the weights.
    ends: Vec<u64>,
}

impl Catalogue {
    /// `None` if the weights sum to 2⁶⁴ or more.
    pub fn new(weights: impl IntoIterator<Item = u64>) -> Option<Self> {
        let ends = weights.into_iter().scan(Some(0_u64), |sum, weight| {
            *sum = sum.and_then(|sum| sum.checked_add(weight));
            Some(*sum)
        });
        Some(Self { ends: ends.collect::<Option<_>>()? })
    }

    /// The index of the event drawn; the number of events when none is.
    ///
    /// The whole table is scanned, so that the work does not tell which event it was.
    #[inline]
    pub fn draw(&self, rng: &mut impl CryptoRng) -> usize {
        let random = rng.next_u64();
        self.ends.iter().map(|&end| usize::from(random >= end)).sum()
    }
}

/// One of finitely many events, each with an integer weight out of 2¹²⁸, or none of them.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::WideCatalogue;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // A chance of 2⁻¹²⁷, which an f64 next to 1 could not hold, and one of ½.
/// let catalogue = WideCatalogue::new([2, 1 << 127]).unwrap();
/// assert_eq!(catalogue.weights().collect::<Vec<_>>(), [2, 1 << 127]);
/// assert!((0..1_000).all(|_| catalogue.draw(&mut rng) != 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideCatalogue {
    /// Running sums of the weights.
    ends: Vec<u128>,
}

impl WideCatalogue {
    /// `None` if the weights sum to 2¹²⁸ or more.
    pub fn new(weights: impl IntoIterator<Item = u128>) -> Option<Self> {
        let ends = weights.into_iter().scan(Some(0_u128), |sum, weight| {
            *sum = sum.and_then(|sum| sum.checked_add(weight));
            Some(*sum)
        });
        Some(Self { ends: ends.collect::<Option<_>>()? })
    }

    /// The index of the event drawn; the number of events when none is.
    ///
    /// A binary search, whose number of steps depends on the size of the table alone.
    #[inline]
    pub fn draw(&self, rng: &mut impl CryptoRng) -> usize {
        let random = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        self.ends.partition_point(|&end| end <= random)
    }

    /// The number of events.
    pub fn events(&self) -> usize {
        self.ends.len()
    }

    /// The weights.
    pub fn weights(&self) -> impl Iterator<Item = u128> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(end, start)| end - start)
    }
}

/// A fair coin at a time, 64 from each random word.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::{Rng, SeedableRng}};
/// use throng_mechanism::sample::FairBits;
///
/// let [mut rng, mut same] = [1, 1].map(ChaCha12Rng::seed_from_u64);
/// let mut bits = FairBits::default();
/// let word = (0..64).fold(0, |word, place| word | u64::from(bits.next(&mut rng)) << place);
/// assert_eq!(word, same.next_u64());
/// ```
#[derive(Debug, Default)]
pub struct FairBits {
    bits: u64,
    left: u32,
}

impl FairBits {
    /// The next coin.
    #[inline]
    pub fn next(&mut self, rng: &mut impl CryptoRng) -> bool {
        if self.left == 0 {
            (self.bits, self.left) = (rng.next_u64(), 64);
        }
        let bit = self.bits & 1 == 1;
        self.bits >>= 1;
        self.left -= 1;
        bit
    }
}

/// `P[k] = (1 − e^−x)·e^−kx` for `k = 0, 1, …` and `x = num/den`, without a float.
///
/// Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 2:
/// a multiple of 1/den by rejection, whole multiples by coins of e⁻¹. Its unconditional bound is
/// the largest `u64`, which no draw comes near.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::geometric;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // x = 2: zero with chance 1 − e^−2 = 0.8647.
/// let zeros = (0..1_000).filter(|_| geometric(2, 1, &mut rng) == 0).count();
/// assert!((800..930).contains(&zeros));
/// ```
pub fn geometric(num: u64, den: u64, rng: &mut impl CryptoRng) -> u64 {
    // u has P ∝ e^{−u/den} on 0..den, v has P ∝ e^{−v}: u + den·v has P ∝ e^{−·/den}.
    let u = loop {
        let u = below(den, rng);
        if exp_coin(u, den, rng) {
            break u;
        }
    };
    let mut v = 0_u64;
    while exp_coin(1, 1, rng) {
        v += 1;
    }
    // P[⌊w/num⌋ = k] ∝ e^{−k·num/den}.
    (u128::from(u) + u128::from(den) * u128::from(v)).div_euclid(u128::from(num)) as u64
}

/// `P[k] ∝ e^{−|k|·num/den}` over all integers, without a float.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::discrete_laplace;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // x = ½: both signs alike, and a variance of 2e^−½/(1 − e^−½)² = 7.8.
/// let draws: Vec<_> = (0..2_000).map(|_| discrete_laplace(1, 2, &mut rng)).collect();
/// let square = draws.iter().map(|x| x * x).sum::<i64>() as f64 / 2_000.0;
/// assert!((5.0..11.0).contains(&square));
/// ```
pub fn discrete_laplace(num: u64, den: u64, rng: &mut impl CryptoRng) -> i64 {
    let mut signs = FairBits::default();
    loop {
        let magnitude = geometric(num, den, rng) as i64;
        let negative = signs.next(rng);
        // Zero has two signs; one of them is redrawn.
        if !(negative && magnitude == 0) {
            return if negative { -magnitude } else { magnitude };
        }
    }
}

/// True with probability `e^{−num/den}`, for `num ≤ den`.
fn exp_coin(num: u64, den: u64, rng: &mut impl CryptoRng) -> bool {
    // The first k with a failure among coins of chance (num/den)/k is odd with that probability.
    let mut k = 1_u64;
    while ratio_coin(num, den, k, rng) {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability `num/(den·k)`.
fn ratio_coin(num: u64, den: u64, k: u64, rng: &mut impl CryptoRng) -> bool {
    // Two coins instead of one product, which could overflow.
    below(den, rng) < num && below(k, rng) == 0
}

/// A uniformly random subset of `size` of `0..n`: sets `size` of the first `n` bits and clears the
/// rest.
///
/// Every bit is first set by a coin of nearly the right chance. Given how many are set, all subsets
/// of that size are equally likely, whatever the chance, and they stay so when uniform elements are
/// added or taken away until the size is right.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::packed::ones;
/// use throng_mechanism::sample::subset;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let mut bits = [u64::MAX; 2];
/// subset(100, 30, &mut bits, &mut rng);
/// assert_eq!((ones(&bits), bits[1] >> 36), (30, 0));
/// ```
pub fn subset(n: u32, size: u32, bits: &mut [u64], rng: &mut impl CryptoRng) {
    let size = size.min(n);
    // In thirty-seconds, rounded down: a missing element is found faster than one too many.
    let share = 32 * u64::from(size) / u64::from(n.max(1));
    let fill = Probability::new("share", share as f64 / 32.0).map(Threshold::at_least);
    bits.fill(0);
    let mut count = 0;
    for (word, first) in bits.iter_mut().zip((0..n).step_by(64)) {
        let lanes = u64::MAX >> (64 - (n - first).min(64));
        *word = lanes & fill.as_ref().map_or(0, |&fill| coins(fill, rng));
        count += word.count_ones();
    }
    // A random word holds several places.
    let width = (u32::BITS - n.saturating_sub(1).leading_zeros()).max(1);
    let (mut random, mut left) = (0, 0);
    while count != size {
        if left < width {
            (random, left) = (rng.next_u64(), u64::BITS);
        }
        let place = (random & ((1 << width) - 1)) as usize;
        (random, left) = (random >> width, left - width);
        if place < n as usize {
            let excess = count > size;
            let flip = (bits[place / 64] >> (place % 64) & 1 == 1) == excess;
            bits[place / 64] ^= u64::from(flip) << (place % 64);
            count = if excess { count - u32::from(flip) } else { count + u32::from(flip) };
        }
    }
}

/// Puts `items`, in groups of `width`, into uniformly random order.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_mechanism::sample::shuffle;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // Messages of two words stay whole.
/// let mut items: Vec<u64> = (0..200).collect();
/// shuffle(&mut items, 2, &mut rng);
/// assert!(items.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1));
/// items.sort();
/// assert!(items.into_iter().eq(0..200));
/// ```
pub fn shuffle(items: &mut [u64], width: usize, rng: &mut impl CryptoRng) {
    for last in (1..items.len() / width).rev() {
        let other = below(last as u64 + 1, rng) as usize;
        if width == 1 {
            items.swap(last, other);
        } else if other < last {
            let (front, back) = items.split_at_mut(last * width);
            front[other * width..][..width].swap_with_slice(&mut back[..width]);
        }
    }
}

/// The number that weights and thresholds are out of.
pub(crate) const TWO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_fits, rng};
    use serde_json::Value;

    fn threshold(p: f64) -> Threshold {
        Threshold::at_least(Probability::new("p", p).unwrap())
    }

    #[test]
    fn sixty_four_coins_are_as_good_as_one_at_a_time() {
        let mut rng = rng(1);
        for p in [2f64.powi(-60), 0.001, 0.3, 0.5, 0.75, 0.999] {
            let mut lanes = [0_u64; 64];
            for _ in 0..3_000 {
                let word = coins(threshold(p), &mut rng);
                lanes.iter_mut().enumerate().for_each(|(i, lane)| *lane += word >> i & 1);
            }
            for ones in lanes {
                assert_fits(&[ones, 3_000 - ones], &[p, 1.0 - p]);
            }
            let singles = (0..30_000).filter(|_| coin(threshold(p), &mut rng)).count() as u64;
            assert_fits(&[singles, 30_000 - singles], &[p, 1.0 - p]);
        }
    }

    #[test]
    fn neighbouring_lanes_are_independent() {
        let mut rng = rng(2);
        let mut pairs = [0_u64; 4];
        for _ in 0..2_000 {
            let word = coins(threshold(0.3), &mut rng);
            (0..63).step_by(2).for_each(|i| pairs[(word >> i & 3) as usize] += 1);
        }
        assert_fits(&pairs, &[0.49, 0.21, 0.21, 0.09]);
    }

    // A product's high half alone would give some of three values 2⁶⁴/3 rounded up and others down:
    // no sample shows that, so the rejection itself is checked at a size where it matters.
    #[test]
    fn uniform_values_are_uniform() {
        let mut rng = rng(3);
        for n in [1, 2, 3, 10] {
            let mut observed = vec![0; n as usize];
            (0..40_000).for_each(|_| observed[below(n, &mut rng) as usize] += 1);
            assert_fits(&observed, &vec![1.0 / n as f64; n as usize]);
        }
        // With n = 3·2⁶² a plain product takes every third value twice as often.
        let n = 3 << 62;
        let mut thirds = [0; 3];
        (0..40_000).for_each(|_| thirds[(below(n, &mut rng) % 3) as usize] += 1);
        assert_fits(&thirds, &[1.0 / 3.0; 3]);
    }

    #[test]
    fn catalogues_take_every_event_as_often_as_it_weighs() {
        let quarter = 1 << 62;
        let catalogue = Catalogue::new([quarter, 0, quarter / 2]).unwrap();
        let mut observed = [0; 4];
        let mut rng = rng(4);
        (0..40_000).for_each(|_| observed[catalogue.draw(&mut rng)] += 1);
        assert_fits(&observed, &[0.25, 0.0, 0.125, 0.625]);
        assert!(Catalogue::new([u64::MAX, 1]).is_none());
    }

    #[test]
    fn laplace_and_geometric_follow_their_laws() {
        let mut rng = rng(5);
        for (num, den) in [(1, 1), (1, 3), (7, 4), (5, 16)] {
            let decay = (-(num as f64) / den as f64).exp();
            let mut observed = [0; 8];
            (0..40_000).for_each(|_| observed[geometric(num, den, &mut rng).min(7) as usize] += 1);
            let law: Vec<f64> =
                (0..8).map(|k| decay.powi(k) * if k == 7 { 1.0 } else { 1.0 - decay }).collect();
            assert_fits(&observed, &law);
            let mut signed = [0; 7];
            (0..40_000).for_each(|_| {
                signed[(discrete_laplace(num, den, &mut rng).clamp(-3, 3) + 3) as usize] += 1;
            });
            let centre = (1.0 - decay) / (1.0 + decay);
            let law: Vec<f64> = (-3..=3_i32)
                .map(|k| match k.abs() {
                    3 => decay.powi(3) / (1.0 + decay),
                    k => centre * decay.powi(k),
                })
                .collect();
            assert_fits(&signed, &law);
        }
    }

    // Eighteen laws at 1e-9 each; the rest of a law is its last cell.
    #[test]
    fn laplace_and_geometric_follow_the_laws_of_the_independent_program() {
        let path = format!("{}/../../vectors/samplers.json", env!("CARGO_MANIFEST_DIR"));
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut rng = rng(8);
        let rows = file["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 18);
        for row in rows {
            // The file has e^−k·den/num where the samplers have e^−k·num/den.
            let [den, num] = ["num", "den"].map(|field| row[field].as_u64().unwrap());
            let pmf = row["pmf"].as_array().unwrap().iter();
            let pmf: Vec<f64> = pmf.map(|p| p.as_f64().unwrap()).collect();
            let reach = pmf.len() as i64;
            let (least, mut draw): (i64, Box<dyn FnMut() -> i64>) = match row["kind"].as_str() {
                Some("geometric") => (0, Box::new(|| geometric(num, den, &mut rng) as i64)),
                Some("discrete_laplace") => {
                    (1 - reach, Box::new(|| discrete_laplace(num, den, &mut rng)))
                }
                other => panic!("no sampler of {other:?}"),
            };
            let mut law: Vec<f64> =
                (least..reach).map(|k| pmf[k.unsigned_abs() as usize]).collect();
            law.push((1.0 - law.iter().sum::<f64>()).max(0.0));
            let mut observed = vec![0; law.len()];
            for _ in 0..20_000 {
                let drawn = draw();
                let cell = if drawn.abs() < reach { drawn - least } else { reach - least };
                observed[cell as usize] += 1;
            }
            assert_fits(&observed, &law);
        }
    }

    #[test]
    fn every_order_of_a_shuffled_bag_is_as_likely() {
        let mut rng = rng(6);
        for width in [1, 2] {
            let mut observed = std::collections::BTreeMap::new();
            for _ in 0..24_000 {
                let mut bag: Vec<u64> = (0..4).flat_map(|i| vec![i; width]).collect();
                shuffle(&mut bag, width, &mut rng);
                assert!(bag.chunks(width).all(|message| message[0] == message[width - 1]));
                *observed.entry(bag).or_insert(0) += 1;
            }
            assert_eq!(observed.len(), 24);
            let observed: Vec<u64> = observed.into_values().collect();
            assert_fits(&observed, &[1.0 / 24.0; 24]);
        }
    }

    #[test]
    fn a_fraction_is_a_coin_of_that_weight() {
        let mut rng = rng(7);
        for p in [0.0, 0.25, 1.0] {
            let ones = (0..20_000).filter(|_| fraction(p, &mut rng)).count() as u64;
            assert_fits(&[ones, 20_000 - ones], &[p, 1.0 - p]);
        }
    }
}
