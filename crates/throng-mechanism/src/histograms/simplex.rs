//! Estimates made to look like counts.
//!
//! Unbiased estimates can be negative, and do not add up to the number of users. Where a histogram
//! is to be drawn or sampled from, the nearest one is taken. That is post-processing: it costs no
//! privacy, but the result is biased (rare categories upwards, common ones downwards), so sums and
//! averages over releases belong on the estimates themselves.

/// Norm-Sub: the nearest point, by Euclidean distance, whose entries are not negative and add up to
/// `total`. Biased.
///
/// ```text
/// x_v = max(0, e_v − θ),   with the θ for which Σ x_v = total
/// ```
///
/// One constant is taken off all entries and what falls below 0 is cut, which is the projection
/// onto the simplex (Wang et al., "Locally Differentially Private Frequency Estimation with
/// Consistency", 2020, section 4; Duchi et al., "Efficient Projections onto the l1-Ball for
/// Learning in High Dimensions", 2008). A total below 0 counts as 0.
///
/// ```
/// use throng_mechanism::norm_sub;
///
/// // A half off both that stay above 0.
/// assert_eq!(norm_sub(&[5.0, -1.0, 2.0], 6.0), [4.5, 0.0, 1.5]);
/// ```
pub fn norm_sub(estimates: &[f64], total: f64) -> Vec<f64> {
    let total = total.max(0.0);
    let mut sorted = estimates.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    // θ if the largest 1, 2, … entries stay above it; the right number is the last that do.
    let (mut sum, mut theta) = (-total, 0.0);
    for (kept, &estimate) in (1_u32..).zip(&sorted) {
        let shift = (sum + estimate) / f64::from(kept);
        if kept > 1 && estimate <= shift {
            break;
        }
        (sum, theta) = (sum + estimate, shift);
    }
    estimates.iter().map(|estimate| (estimate - theta).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rng;
    use rand_core::Rng;

    /// Random entries around 0, some of them equal.
    fn random(length: usize, seed: u64) -> Vec<f64> {
        let mut rng = rng(seed);
        (0..length).map(|_| f64::from(rng.next_u32() % 2000) - 900.0).collect()
    }

    #[test]
    fn the_result_is_a_histogram_with_the_total() {
        for (seed, length) in [1, 2, 3, 10, 1000].into_iter().enumerate() {
            for total in [0.0, 1.0, 250.5, 1e6] {
                let found = norm_sub(&random(length, seed as u64), total);
                assert!(found.iter().all(|&x| x >= 0.0));
                assert!((found.iter().sum::<f64>() - total).abs() <= 1e-9 * (1.0 + total));
            }
        }
    }

    // Optimality (Karush, Kuhn, Tucker): all positive entries are shifted alike, and none of those
    // at 0 would be positive after that shift.
    #[test]
    fn no_other_histogram_is_nearer() {
        for seed in 0..20 {
            let estimates = random(50, seed);
            let found = norm_sub(&estimates, 700.0);
            let shifts = || estimates.iter().zip(&found).map(|(e, x)| (e - x, *x));
            let (theta, _) = shifts().find(|shift| shift.1 > 0.0).unwrap();
            for (shift, x) in shifts() {
                assert!(if x > 0.0 { (shift - theta).abs() < 1e-9 } else { shift <= theta + 1e-9 });
            }
        }
    }

    #[test]
    fn a_histogram_stays_what_it_is() {
        let counts = [0.0, 5.0, 2.0, 0.0, 13.0];
        for (x, count) in norm_sub(&counts, 20.0).iter().zip(counts) {
            assert!((x - count).abs() < 1e-12);
        }
        assert_eq!(norm_sub(&[-3.0, 4.0], 2.0), [0.0, 2.0]);
        assert_eq!(norm_sub(&[-3.0, -4.0], -1.0), [0.0, 0.0]);
        assert!(norm_sub(&[], 5.0).is_empty());
    }
}
