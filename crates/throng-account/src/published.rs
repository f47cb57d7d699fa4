//! Formulas of the papers, for comparison. Each is refused outside the range it is proved for.
//!
//! None of them is what a guarantee should be made of: the exact accountants of this crate are
//! never looser and usually several times tighter. [`chen_long_curve`] is not even a bound.

use crate::error::require;
use crate::kernel::binomial::Binomial;
use crate::round;
use crate::{Crowd, Delta, Epsilon, Error};

/// Amplification by shuffling, general form.
///
/// ```text
/// ε₁ = 2·e^2ε₀·(e^ε₀ − 1)/n,   ε = ε₁·√(2n·ln(1/δ)) + n·ε₁·(e^ε₁ − 1)
/// ```
///
/// Upper bound for n > 1. Erlingsson et al. (2019), Theorem 7. Above ε₀ itself unless n is large:
/// for δ = 10⁻⁶ from n = 1 425 at ε₀ = ½, 19 086 at 1, 3.8 million at 2.
///
/// ```
/// use throng_account::published::swap_general;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // From 1,425 users on it is below the ε₀ = ½ that holds anyway.
/// let (local, delta) = (Epsilon::new(0.5)?, Delta::new(1e-6)?);
/// assert!(swap_general(Crowd::new(1_424)?, local, delta)? > 0.5);
/// assert!(swap_general(Crowd::new(1_425)?, local, delta)? < 0.5);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn swap_general(crowd: Crowd, local: Epsilon, delta: Delta) -> Result<f64, Error> {
    let n = crowd.get() as f64;
    needs(n >= 2.0, "Erlingsson et al. Theorem 7", "n", ">=", 2.0, n)?;
    let eps1 = 2.0 * swap_scale(local) / n;
    Ok(round::up(eps1 * (2.0 * n * log_inverse(delta)).sqrt() + n * eps1 * eps1.exp_m1()))
}

/// Amplification by shuffling, second form.
///
/// ```text
/// ε = e^2ε₀·(e^ε₀ − 1)·√(8·ln(1/δ)/n) + 6·e^4ε₀·(e^ε₀ − 1)²/n        while ε₀ ≤ ln(n/4)/3
/// ```
///
/// Upper bound. Erlingsson et al. (2019), Theorem 7.
///
/// ```
/// use throng_account::published::swap_second;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// let delta = Delta::new(1e-6)?;
/// let epsilon = swap_second(Crowd::new(100_000)?, Epsilon::new(0.5)?, delta)?;
/// assert!((epsilon - 0.058811).abs() < 1e-6);
/// // A hundred users: ε₀ has to be at most ln(25)/3 = 1.07.
/// assert!(swap_second(Crowd::new(100)?, Epsilon::new(2.0)?, delta).is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn swap_second(crowd: Crowd, local: Epsilon, delta: Delta) -> Result<f64, Error> {
    let theorem = "Erlingsson et al. Theorem 7, second form";
    let (n, eps0) = (crowd.get() as f64, local.get());
    let limit = (n / 4.0).ln() / 3.0;
    needs(eps0 <= limit, theorem, "epsilon0", "<=", limit, eps0)?;
    let c = swap_scale(local);
    Ok(round::up(c * (8.0 * log_inverse(delta) / n).sqrt() + 6.0 * c * c / n))
}

/// Amplification by shuffling, third form: `ε = 12·ε₀·√(ln(1/δ)/n)` for n ≥ 1000, ε₀ < ½,
/// δ < 1/100.
///
/// Upper bound there, and below the truth outside. Erlingsson et al. (2019), Theorem 7.
///
/// ```
/// use throng_account::published::swap_third;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// let (crowd, delta) = (Crowd::new(100_000)?, Delta::new(1e-6)?);
/// assert!((swap_third(crowd, Epsilon::new(0.4)?, delta)? - 0.056419).abs() < 1e-6);
/// let error = swap_third(crowd, Epsilon::new(0.5)?, delta).unwrap_err();
/// assert!(error.to_string().contains("it needs epsilon0 < 0.5"));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn swap_third(crowd: Crowd, local: Epsilon, delta: Delta) -> Result<f64, Error> {
    let theorem = "Erlingsson et al. Theorem 7, third form";
    let (n, eps0) = (crowd.get() as f64, local.get());
    needs(n >= 1000.0, theorem, "n", ">=", 1000.0, n)?;
    needs(eps0 < 0.5, theorem, "epsilon0", "<", 0.5, eps0)?;
    needs(delta.get() < 0.01, theorem, "delta", "<", 0.01, delta.get())?;
    Ok(round::up(12.0 * eps0 * (log_inverse(delta) / n).sqrt()))
}

/// Amplification by shuffling through Rényi divergence, which adds up over T = `rounds` rounds.
///
/// ```text
/// ρ = 2·e^4ε₀·(e^ε₀ − 1)²/n,   ε = min over α of α·ρ·T + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α − 1)
/// ```
///
/// Upper bound. Erlingsson et al. (2019), Remark 1, with the conversion of [`renyi_epsilon`].
///
/// ```
/// use throng_account::published::{swap_renyi, swap_second};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// let (crowd, local, delta) = (Crowd::new(100_000)?, Epsilon::new(0.5)?, Delta::new(1e-6)?);
/// let renyi = swap_renyi(crowd, local, 1, delta);
/// assert!((renyi - 0.041694).abs() < 1e-6 && renyi < swap_second(crowd, local, delta)?);
///
/// // Four rounds among four times as many users cost as much as one.
/// let four = swap_renyi(Crowd::new(400_000)?, local, 4, delta);
/// assert!((four - renyi).abs() < 1e-9);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn swap_renyi(crowd: Crowd, local: Epsilon, rounds: u64, delta: Delta) -> f64 {
    let rho = 2.0 * swap_scale(local).powi(2) / crowd.get() as f64;
    renyi_epsilon(|alpha| alpha * rho * rounds as f64, delta)
}

/// Clones in closed form.
///
/// ```text
/// a = 8·√(e^ε₀·ln(4/δ)/n) + 8·e^ε₀/n
/// ε = ln(1 + a·(1 − e^−ε₀)/(1 + e^−ε₀/(1 + a)))        while n ≥ 16·e^ε₀·ln(4/δ)
/// ```
///
/// Upper bound. Feldman, McMillan, Talwar (2021), Theorem 3.1. At δ = 10⁻⁶, from 10³ to 10⁶ users:
/// 3 to 6 times the standard pair, 4 to 7 times the strong one.
///
/// ```
/// use throng_account::published::clones_closed;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// let (local, delta) = (Epsilon::new(4.0)?, Delta::new(1e-6)?);
/// let epsilon = clones_closed(Crowd::new(100_000)?, local, delta)?;
/// assert!((epsilon - 0.537804024).abs() < 1e-8);
/// let error = clones_closed(Crowd::new(1_000)?, local, delta).unwrap_err();
/// assert!(error.to_string().contains("it needs n >= 13280"));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn clones_closed(crowd: Crowd, local: Epsilon, delta: Delta) -> Result<f64, Error> {
    let (eps0, n) = (local.get(), crowd.get() as f64);
    let log_term = log_four(delta);
    let needed = 16.0 * eps0.exp() * log_term;
    needs(n >= needed, "Feldman et al. Theorem 3.1", "n", ">=", needed.ceil(), n)?;
    let a = 8.0 * (eps0.exp() * log_term / n).sqrt() + 8.0 * eps0.exp() / n;
    let shrink = -(-eps0).exp_m1() / (1.0 + (-eps0).exp() / (1.0 + a));
    Ok(round::up((a * shrink).ln_1p()))
}

/// The smallest ε at δ of a mechanism with Rényi divergence `divergence(α)`, over a fine grid of α
/// refined around its best point.
///
/// ```text
/// ε = divergence(α) + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α − 1)
/// ```
///
/// Every α gives an upper bound. Balle, Barthe, Gaboardi, Hsu, Sato, "Hypothesis Testing
/// Interpretations and Rényi Differential Privacy" (2020), Theorem 21.
///
/// ```
/// use throng_account::Delta;
/// use throng_account::published::renyi_epsilon;
/// use throng_account::tradeoff::gaussian_delta;
///
/// // Gaussian noise with μ = 1 has Rényi divergence α/2. The exact ε at 10⁻⁵ is 4.38.
/// let delta = Delta::new(1e-5)?;
/// let epsilon = renyi_epsilon(|alpha| 0.5 * alpha, delta);
/// assert!((epsilon - 4.728).abs() < 0.001);
/// assert!(gaussian_delta(1.0, epsilon) < 1e-5 && gaussian_delta(1.0, 4.37) > 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn renyi_epsilon(divergence: impl Fn(f64) -> f64, delta: Delta) -> f64 {
    // α = 1 + e^x
    let epsilon = |x: f64| {
        let beyond = x.exp();
        let alpha = 1.0 + beyond;
        divergence(alpha) + (-1.0 / alpha).ln_1p() + (log_inverse(delta) - alpha.ln()) / beyond
    };
    let (mut centre, mut width) = (0.0, 0.5);
    for _ in 0..8 {
        let grid = (-60..=60).map(|i| centre + width * f64::from(i));
        centre = grid.min_by(|a, b| epsilon(*a).total_cmp(&epsilon(*b))).unwrap_or(centre);
        width /= 20.0;
    }
    round::up(epsilon(centre).max(0.0))
}

/// ε of `bit-sum` in closed form.
///
/// ```text
/// m = λ − √(2λ·ln(2/δ)),   ε = √(32·ln(4/δ)/m)·(1 − m/n)        while 14·ln(4/δ) ≤ λ ≤ n
/// ```
///
/// Upper bound, 4 to 5 times the exact one at δ = 10⁻⁶. Cheu et al. (2019), Corollary 17, Claim 16.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::published::bit_sum_closed;
/// use throng_account::{Crowd, Delta, Profile};
///
/// let (crowd, delta) = (Crowd::new(100_000)?, Delta::new(1e-6)?);
/// let closed = bit_sum_closed(crowd, 1_000.0, delta)?;
/// let exact = BitSum::new(crowd, 1_000.0)?.epsilon(delta)?.epsilon.get();
/// assert!((closed - 0.7594).abs() < 1e-4 && (exact - 0.1774).abs() < 1e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn bit_sum_closed(crowd: Crowd, lambda: f64, delta: Delta) -> Result<f64, Error> {
    let theorem = "Cheu et al. Corollary 17";
    let (n, needed) = (crowd.get() as f64, 14.0 * log_four(delta));
    needs(lambda >= needed, theorem, "lambda", ">=", needed, lambda)?;
    needs(lambda <= n, theorem, "lambda", "<=", n, lambda)?;
    let m = lambda - (2.0 * lambda * (2.0 / delta.get()).ln()).sqrt();
    Ok(round::up((32.0 * log_four(delta) / m).sqrt() * (1.0 - m / n)))
}

/// The least δ of which [`bit_sum_closed`] speaks at this λ: `4·e^{−λ/14}`, rounded up.
///
/// ```
/// use throng_account::{Crowd, published::{bit_sum_closed, bit_sum_least_delta}};
///
/// let delta = bit_sum_least_delta(58.0)?;
/// assert!((delta.get() - 0.0635).abs() < 1e-4);
/// assert!(bit_sum_closed(Crowd::new(100)?, 58.0, delta).is_ok());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn bit_sum_least_delta(lambda: f64) -> Result<Delta, Error> {
    Delta::new(round::up(4.0 * (-lambda / 14.0).exp()))
}

/// λ for `bit-sum` at (ε, δ) in closed form.
///
/// ```text
/// λ = 64·ln(4/δ)/ε²                       if ε ≥ √(192·ln(4/δ)/n)
/// λ = n − ε·n^1.5/√(432·ln(4/δ))          otherwise, while ε > √3456·ln(4/δ)/n
/// ```
///
/// Sufficient, 4 to 35 times what is needed. Cheu et al. (2019), Lemma 18.
///
/// ```
/// use throng_account::published::bit_sum_lambda;
/// use throng_account::{Crowd, Delta, Epsilon, calibrate};
///
/// let (crowd, epsilon, delta) = (Crowd::new(100_000)?, Epsilon::new(0.5)?, Delta::new(1e-6)?);
/// let sufficient = bit_sum_lambda(crowd, epsilon, delta)?;
/// // 64·ln(4·10⁶)/¼
/// assert!((sufficient - 3_891.66).abs() < 0.01);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn bit_sum_lambda(crowd: Crowd, epsilon: Epsilon, delta: Delta) -> Result<f64, Error> {
    let theorem = "Cheu et al. Lemma 18";
    let (n, eps, log_term) = (crowd.get() as f64, epsilon.get(), log_four(delta));
    let least = 3456.0_f64.sqrt() * log_term / n;
    needs(n >= 14.0 * log_term, theorem, "n", ">=", (14.0 * log_term).ceil(), n)?;
    needs(eps > least, theorem, "epsilon", ">", least, eps)?;
    needs(eps < 1.0, theorem, "epsilon", "<", 1.0, eps)?;
    Ok(if eps >= (192.0 * log_term / n).sqrt() {
        64.0 / (eps * eps) * log_term
    } else {
        n - eps * n.powf(1.5) / (432.0 * log_term).sqrt()
    })
}

/// ε at δ/2 of the sum with `coins` fair coins added.
///
/// ```text
/// ε = ln(1 + √(32·ln(4/δ)/|H|))        while |H| > 8·ln(4/δ)
/// ```
///
/// Upper bound. Cheu et al. (2019), Claim 14.
///
/// ```
/// use throng_account::Delta;
/// use throng_account::published::coins_closed;
///
/// let delta = Delta::new(1e-6)?;
/// assert!((coins_closed(1_000, delta)? - 0.52914).abs() < 1e-5);
/// // 8·ln(4·10⁶) = 121.6
/// assert!(coins_closed(121, delta).is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn coins_closed(coins: u64, delta: Delta) -> Result<f64, Error> {
    Ok(round::up(coin_spread("Cheu et al. Claim 14", coins, delta)?.ln_1p()))
}

/// The least δ of which [`coins_closed`] speaks: `4·e^{−|H|/8}`, rounded up.
///
/// ```
/// use throng_account::published::{coins_closed, coins_least_delta};
///
/// let delta = coins_least_delta(50)?;
/// assert!((delta.get() - 0.00772).abs() < 1e-5 && coins_closed(50, delta).is_ok());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn coins_least_delta(coins: u64) -> Result<Delta, Error> {
    Delta::new(round::up(4.0 * (-(coins as f64) / 8.0).exp()))
}

/// ε at δ/2 of `bit-sum` with exactly `coins` users chosen to answer by a coin.
///
/// ```text
/// ε = √(32·ln(4/δ)/s)·(1 − s/n)        while s > 8·ln(4/δ)
/// ```
///
/// Upper bound. Cheu et al. (2019), Claim 15.
///
/// ```
/// use throng_account::published::chosen_coins_closed;
/// use throng_account::{Crowd, Delta};
///
/// let epsilon = chosen_coins_closed(Crowd::new(10_000)?, 1_000, Delta::new(1e-6)?)?;
/// assert!((epsilon - 0.62772).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn chosen_coins_closed(crowd: Crowd, coins: u64, delta: Delta) -> Result<f64, Error> {
    let spread = coin_spread("Cheu et al. Claim 15", coins, delta)?;
    Ok(round::up(spread * (1.0 - coins as f64 / crowd.get() as f64)))
}

/// The (ε₀, δ₀) that each of the r bit-sums of `real-sum` needs for (ε, δ) in all.
///
/// ```text
/// ε₀ = ε/√(8r·ln(2/δ)),   δ₀ = δ/(2r)        for ε < 1
/// ```
///
/// Sufficient. Cheu et al. (2019), Theorem 23. With Lemma 18 it has no solution below n = 3·10⁵ at
/// ε = 1, δ = 10⁻⁶; the one-bag law needs a hundredth of the noise.
///
/// ```
/// use throng_account::published::real_sum_split;
/// use throng_account::{Delta, Epsilon};
///
/// // Ten bit-sums for a half: each of them gets 0.0147.
/// let (epsilon, delta) = real_sum_split(Epsilon::new(0.5)?, Delta::new(1e-6)?, 10)?;
/// assert!((epsilon - 0.014676).abs() < 1e-6 && delta == 5e-8);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn real_sum_split(epsilon: Epsilon, delta: Delta, bits: u64) -> Result<(f64, f64), Error> {
    let (eps, r) = (epsilon.get(), bits as f64);
    needs(eps < 1.0, "Cheu et al. Theorem 23", "epsilon", "<", 1.0, eps)?;
    let eps0 = eps / (8.0 * r * (2.0 / delta.get()).ln()).sqrt();
    Ok((eps0, delta.get() / (2.0 * r)))
}

/// The curve that Chen and Long, "Distributed Gaussian Differential Privacy via Shuffling" (2021),
/// Theorem 2, states as a trade-off function of `bit-sum`: `f(α) = 1 − F(F⁻¹(α) + 1)`, F the law
/// of `Bin(n, λ/(2n))`.
///
/// **Not a bound.** At n = 10, λ = 2 a test exists with α = 0.6513 and β = 0.0387 where the curve
/// says 0.0702. Use [`crate::tradeoff::TradeOff`].
///
/// ```
/// use throng_account::Crowd;
/// use throng_account::profile::BitSum;
/// use throng_account::published::chen_long_curve;
/// use throng_account::tradeoff::TradeOff;
///
/// let stated = chen_long_curve(10, 2.0, 0.6513)?;
/// let truth = TradeOff::new(&BitSum::new(Crowd::new(10)?, 2.0)?)?.beta(0.6513)?;
/// assert!(stated > 0.07 && truth < 0.039);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn chen_long_curve(n: u64, lambda: f64, alpha: f64) -> Result<f64, Error> {
    let law = Binomial::new(n, lambda / (2.0 * n as f64));
    step_curve(&law, n, alpha)
}

/// The trade-off curve claimed for the sum with `coins` fair coins added (Claim B.4 of the same
/// paper), which holds, with room between its steps.
///
/// ```
/// use throng_account::published::coins_curve;
///
/// // At α = 0: nothing but all heads tells ten coins and a head from ten coins.
/// assert_eq!(coins_curve(10, 0.0)?, 1.0 - 11.0 / 1_024.0);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn coins_curve(coins: u64, alpha: f64) -> Result<f64, Error> {
    step_curve(&Binomial::new(coins, 0.5), coins, alpha)
}

/// The standard error of a count by randomized response without a shuffler, about one half of the
/// bits being 1.
///
/// ```text
/// √(n·e^ε₀)/(e^ε₀ − 1)
/// ```
///
/// Exact. Warner, "Randomized Response" (1965).
///
/// ```
/// use throng_account::published::response_error;
/// use throng_account::{Crowd, Epsilon};
///
/// let error = response_error(Crowd::new(10_000)?, Epsilon::new(1.0)?);
/// assert!((error - 95.952).abs() < 1e-3);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn response_error(crowd: Crowd, local: Epsilon) -> f64 {
    let (n, odds) = (crowd.get() as f64, local.get().exp());
    (n * odds).sqrt() / (odds - 1.0)
}

/// The standard error of a count to which a trusted server adds geometric noise.
///
/// ```text
/// √(2·e^−ε)/(1 − e^−ε)
/// ```
///
/// Exact. Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms"
/// (2009).
///
/// ```
/// use throng_account::Epsilon;
/// use throng_account::published::geometric_error;
///
/// assert!((geometric_error(Epsilon::new(1.0)?) - 1.357).abs() < 1e-3);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn geometric_error(epsilon: Epsilon) -> f64 {
    let odds = epsilon.get().exp();
    (2.0 / odds).sqrt() / (1.0 - 1.0 / odds)
}

/// The curve by the left-continuous quantile, `min {k : F(k) ≥ α}`: the other one lies even higher.
fn step_curve(law: &Binomial, n: u64, alpha: f64) -> Result<f64, Error> {
    require((0.0..=1.0).contains(&alpha), "alpha", alpha, "from 0 to 1")?;
    // A sum of floats that should be F(k) may miss α = F(k) by rounding.
    let k = (0..=n).find(|&k| law.lower(k) >= alpha * (1.0 - 1e-13)).unwrap_or(n);
    Ok(law.upper(k + 2))
}

fn coin_spread(theorem: &'static str, coins: u64, delta: Delta) -> Result<f64, Error> {
    let (size, needed) = (coins as f64, 8.0 * log_four(delta));
    needs(size > needed, theorem, "the number of coins", ">", needed, size)?;
    Ok((32.0 * log_four(delta) / size).sqrt())
}

/// `e^2ε₀·(e^ε₀ − 1)`.
fn swap_scale(local: Epsilon) -> f64 {
    (2.0 * local.get()).exp() * local.get().exp_m1()
}

fn log_inverse(delta: Delta) -> f64 {
    -delta.get().ln()
}

fn log_four(delta: Delta) -> f64 {
    (4.0 / delta.get()).ln()
}

/// Refuses a theorem outside the range that it is proved for.
fn needs(
    holds: bool,
    theorem: &'static str,
    name: &'static str,
    relation: &'static str,
    limit: f64,
    value: f64,
) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::NotValid { theorem, name, relation, limit, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Row, assert_close, vectors};

    fn crowd(row: &Row) -> Crowd {
        Crowd::new(row.u64("n")).unwrap()
    }

    #[test]
    fn closed_forms_agree_with_eighty_digits() {
        let mut checked = 0;
        for row in vectors("published.json") {
            let local = || Epsilon::at(row.f64("epsilon0"));
            let epsilon = || Epsilon::at(row.f64("epsilon"));
            let delta = || Delta::new(row.f64("delta")).unwrap();
            let found = match row.text("name").as_str() {
                "thm7_general" => swap_general(crowd(&row), local(), delta()),
                "thm7_second" => swap_second(crowd(&row), local(), delta()),
                "thm7_third" => swap_third(crowd(&row), local(), delta()),
                "thm7_rdp" => Ok(swap_renyi(crowd(&row), local(), 1, delta())),
                "fmt_closed" => clones_closed(crowd(&row), local(), delta()),
                "cor17" => bit_sum_closed(crowd(&row), row.f64("lambda"), delta()),
                "lemma18" => bit_sum_lambda(crowd(&row), epsilon(), delta()),
                "claim14" => coins_closed(row.u64("size"), delta()),
                "claim15" => chosen_coins_closed(crowd(&row), row.u64("size"), delta()),
                "thm23_eps0" => {
                    real_sum_split(epsilon(), delta(), row.u64("r")).map(|split| split.0)
                }
                _ => continue,
            };
            checked += 1;
            let (found, value) = (found.unwrap(), row.f64("value"));
            assert!((found - value).abs() <= 3e-9 * value, "{row:?}: {found}");
        }
        assert!(checked > 100, "{checked} rows");
    }

    #[test]
    fn theorems_are_refused_outside_their_ranges() {
        let (n, delta) = (Crowd::new(10_000).unwrap(), Delta::new(1e-6).unwrap());
        let refused = [
            swap_general(Crowd::new(1).unwrap(), Epsilon::at(1.0), delta),
            swap_second(n, Epsilon::at(4.0), delta),
            // Below the truth there: 3.57 where the exact value is 8.
            swap_third(n, Epsilon::at(8.0), delta),
            swap_third(Crowd::new(999).unwrap(), Epsilon::at(0.1), delta),
            swap_third(n, Epsilon::at(0.1), Delta::new(0.02).unwrap()),
            clones_closed(Crowd::new(100).unwrap(), Epsilon::at(1.0), delta),
            bit_sum_closed(n, 58.0, delta),
            bit_sum_closed(n, 20_000.0, delta),
            bit_sum_lambda(n, Epsilon::at(1.0), delta),
            bit_sum_lambda(n, Epsilon::at(1e-3), delta),
            coins_closed(50, delta),
        ];
        for (case, result) in refused.into_iter().enumerate() {
            assert!(matches!(result, Err(Error::NotValid { .. })), "case {case}: {result:?}");
        }
    }

    #[test]
    fn the_style_guide_reference_value_is_met() {
        let (n, delta) = (Crowd::new(100_000).unwrap(), Delta::new(1e-6).unwrap());
        let found = clones_closed(n, Epsilon::at(4.0), delta).unwrap();
        assert_close(found, 0.5378040242374512, 2e-9);
    }
}
