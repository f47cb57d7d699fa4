"""Tables for the privacy accountant: protocols with one message per user.

Every number is computed from the definition of the mechanism: the two output laws are enumerated
and the hockey-stick divergence

    H_E(P || Q) = sum over outcomes y of (P(y) - E Q(y))_+ ,      E = exp(epsilon),

is summed term by term, with 80 digits or exactly. Faster formulas appear only where a law is too
large to enumerate, and are first compared with the direct sum on smaller laws. Nothing here shares
code with the program under test. Conventions are those of `laws.py`.
"""

import itertools
import math
import statistics

from mpmath import mp, mpf

import files
from laws import (
    DEEP_FLOOR,
    FLOOR,
    Worst,
    bag_laws,
    binomial,
    binomial_tail,
    close,
    convolve,
    exact,
    flip_probability,
    gaussian_delta,
    hockey_stick,
    ln_binomial_pmf,
    nearest,
    normal_tail,
    normal_upper_quantile,
    odds,
    plus_bit,
    positive_sum,
    same,
    shifted,
    significant,
    solve_decreasing,
)


# ------------------------------------------------------------------------------------------------
# special.json
# ------------------------------------------------------------------------------------------------


def special_row(fn, args, value):
    """A function, its arguments and its value."""
    return {"fn": fn, "args": args, "value": nearest(value)}


def pmf_rows():
    """Binomial probabilities in the centre and in the far tails."""
    for n, p, k in pmf_arguments():
        value = ln_binomial_pmf(n, exact(p), k)
        assert -750 < value <= 0
        yield special_row("ln_binomial_pmf", [n, p, k], value)


def tail_rows():
    """Tails of the binomial law."""
    for n, p, k in tail_arguments():
        upper = binomial_tail(n, exact(p), k, True)
        lower = binomial_tail(n, exact(p), k, False)
        close(upper + lower - mp.exp(ln_binomial_pmf(n, exact(p), k)), 1)
        if upper > mpf(10) ** -290:
            yield special_row("binomial_upper_tail", [n, p, k], upper)
        if lower > mpf(10) ** -290:
            yield special_row("binomial_lower_tail", [n, p, k], lower)


def normal_rows():
    """The normal law in the centre and in the far tails."""
    for x in [0.0, 0.1, 0.5, 1.0, 2.0, 3.5, 6.0, 8.2, 9.5, 20.0, 30.0, 37.5]:
        for argument in sorted({x, -x}):
            yield special_row("normal_cdf", [argument], normal_tail(-exact(argument)))
    for q in [0.5, 0.6, 0.25, 0.1, 0.02425, 0.01, 1e-3, 1e-6, 1e-10, 1e-16, 1e-50, 1e-150, 1e-300]:
        yield special_row("normal_quantile", [q], normal_quantile(exact(q)))
    for q in [0.75, 0.9, 0.975, 0.999, 1 - 1e-9, 1 - 2.0**-50]:
        yield special_row("normal_quantile", [q], normal_quantile(exact(q)))
    for x in [8.0, 3.0, 1.0, 0.0, -0.5, -1.0, -3.0, -5.0, -8.0, -14.0, -37.0, -40.0, -100.0, -1e3,
              -1e4, -1e6]:
        small = normal_tail(abs(exact(x)))
        yield special_row("ln_normal_cdf", [x], mp.log1p(-small) if x > 0 else mp.log(small))


def normal_quantile(q):
    """The z with P(N <= z) = q."""
    return -normal_upper_quantile(q) if q <= mpf(1) / 2 else normal_upper_quantile(1 - q)


def pmf_arguments():
    """(n, p, k) from small to astronomically large n, centre and tails down to exp(-700)."""
    yield from [(1, 0.5, 0), (1, 0.25, 1), (2, 0.1, 1), (5, 0.3, 0), (5, 0.3, 5), (10, 0.2, 2)]
    yield from [(20, 0.5, 10), (50, 0.01, 0), (50, 0.01, 7), (100, 0.29, 29), (100, 0.29, 90)]
    yield from [(1000, 1e-9, 0), (1000, 1e-9, 3), (1000, 1.0 - 2.0**-20, 998), (300, 1e-3, 100)]
    for n in [10**3, 10**4, 10**6, 10**9, 10**12]:
        for p in [64 / (2.0 * n), 0.01, 0.26894142136999510, 0.5, 0.9]:
            mean, sd = n * p, math.sqrt(n * p * (1 - p))
            for z in [0, -1, 3, -7, 12, -25, 36]:
                k = round(mean + z * sd)
                if 0 <= k <= n and -700 < ln_binomial_pmf(n, exact(p), k):
                    yield n, p, k


def tail_arguments():
    """(n, p, k) for the two tails of the binomial law."""
    yield from [(1, 0.5, 1), (2, 0.25, 0), (5, 0.3, 3), (10, 0.5, 5), (20, 0.01, 1), (50, 0.9, 50)]
    for n in [100, 1000, 10**4, 10**5, 10**6]:
        for p in [32.0 / n, 0.1, 0.5, 0.73]:
            mean, sd = n * p, math.sqrt(n * p * (1 - p))
            for z in [0, 1, -2, 5, -9, 20, -30]:
                k = round(mean + z * sd)
                if 0 <= k <= n:
                    yield n, p, k


# ------------------------------------------------------------------------------------------------
# bit_sum.json
# ------------------------------------------------------------------------------------------------


def bit_sum_worst(n, lam, epsilons, both=True):
    """For each epsilon: (delta, t, delta_all_equal) of the bit-sum protocol over every dataset.

    With t ones among the others, the user's bit moves the number of true ones from t to t + 1, so
    the two laws are neighbours in `bag_laws`.
    """
    flip = flip_probability(n, lam)
    factors = [odds(epsilon) for epsilon in epsilons]
    up = [Worst() for _ in epsilons]
    down = [Worst() for _ in epsilons]
    ends = [mpf(0) for _ in epsilons]
    zeros = None
    for t, ones in enumerate(bag_laws(n, flip), start=-1):
        if zeros is not None:
            extreme = t in (0, n - 1)
            for i, e in enumerate(factors):
                raised = positive_sum(ones, zeros, e)
                up[i].see(raised, t)
                if both or extreme:
                    lowered = positive_sum(zeros, ones, e)
                    down[i].see(lowered, n - 1 - t)
                if extreme:
                    ends[i] = max(ends[i], raised, lowered)
        zeros = ones
    results = []
    for i, e in enumerate(factors):
        if e >= (1 - flip) / flip:
            # No likelihood ratio exceeds (1-b)/b: only rounding is left of the sum.
            assert up[i].value < FLOOR and ends[i] < FLOOR
            results.append((mpf(0), 0, mpf(0)))
            continue
        if both:
            same(up[i].value, down[i].value)
        results.append((up[i].value, up[i].argument, ends[i]))
    return results


def check_bit_sum_formula(n, lam, epsilon, t, direct):
    """The direct sum equals the best threshold event {count >= k}."""
    b, e = flip_probability(n, lam), odds(epsilon)
    _, s = convolve(binomial(t, 1 - b), binomial(n - 1 - t, b))
    tails = list(itertools.accumulate(reversed(s)))[::-1][1:] + [mpf(0)]
    best = max((1 - b - e * b) * before - (e - 1) * tail for before, tail in zip(s, tails))
    same(best, direct, mpf(10) ** -30)


BIT_SUM_GRID = [
    (1, [0.02, 0.5, 0.9], [0.0, 0.1, 0.5, 1.0, 2.0]),
    (2, [0.05, 1.0, 1.9], [0.0, 0.1, 0.5, 1.0]),
    (3, [0.01, 1.0, 2.5], [0.0, 0.1, 0.25, 0.5, 2.0]),
    (5, [0.1, 2.0, 4.5], [0.0, 0.01, 0.1, 0.5, 1.0]),
    (10, [0.5, 2.0, 5.378828427399903, 9.0], [0.0, 0.1, 0.25, 0.5, 1.0, 2.0]),
    (20, [2.0, 10.0, 18.0], [0.0, 0.01, 0.1, 0.25, 0.5, 1.0]),
    (50, [1.0, 5.0, 20.0, 45.0], [0.0, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0]),
    (100, [10.0, 30.0, 90.0], [0.0, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0]),
    (100, [58.0], [0.0, 0.01, 0.1, 0.25, 0.5, 0.87, 0.89, 1.0]),
    (300, [3.0, 60.0], [0.0, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0]),
    (300, [161.3648528219971], [0.0, 0.01, 0.1, 0.25, 0.4, 0.5, 0.55]),
    (300, [270.0], [0.0, 0.01, 0.05, 0.08, 0.1]),
    (1000, [64.0], [0.25, 1.0]),
    (1000, [142.43], [0.5, 0.7]),
    (1000, [537.8828427399902], [0.1, 0.2]),
]


def edge_epsilons(n, lam):
    """Just below the local epsilon, where delta is tiny, and just above it, where delta is zero."""
    flip = flip_probability(n, lam)
    local = float(mp.log((1 - flip) / flip))
    above = math.nextafter(local, math.inf)
    assert odds(above) >= (1 - flip) / flip
    return [significant(local * 0.9, 3), above]


def bit_sum_rows():
    """Worst case over all datasets and both directions."""
    for n, lambdas, epsilons in BIT_SUM_GRID:
        for lam in lambdas:
            edges = edge_epsilons(n, lam) if n <= 300 else []
            wanted = sorted(set(epsilons + edges))
            results = bit_sum_worst(n, lam, wanted, both=n <= 300)
            for epsilon, (delta, t, all_equal) in zip(wanted, results):
                if 0 < delta < mpf(10) ** -19 or (delta == 0 and epsilon not in edges[1:]):
                    if (n, lam, epsilon) != (100, 58.0, 1.0):
                        continue
                if delta > 0:
                    check_bit_sum_formula(n, lam, epsilon, t, delta)
                yield {
                    "n": n,
                    "lambda": lam,
                    "epsilon": epsilon,
                    "delta": nearest(delta),
                    "t": t,
                    "delta_all_equal": nearest(all_equal),
                }


# ------------------------------------------------------------------------------------------------
# bit_sum_point.json
# ------------------------------------------------------------------------------------------------


def bit_sum_pair(n, flip, t, floor=FLOOR):
    """The laws of the sum for the user's bit 1 and for bit 0, with t ones among the others."""
    ones, zeros = binomial(t, 1 - flip, floor), binomial(n - 1 - t, flip, floor)
    others = shifted(ones, zeros[0]) if zeros[1] == [1] else shifted(zeros, ones[0])
    if zeros[1] != [1] and ones[1] != [1]:
        others = convolve(ones, zeros)
    return plus_bit(others, 1 - flip), plus_bit(others, flip)


def gaussian_epsilon(mu, delta):
    """Epsilon at which the mu-Gaussian mechanism has this delta; used to choose parameters only."""
    with mp.workdps(20):
        profile = lambda epsilon: gaussian_delta(mu, epsilon)
        return float(solve_decreasing(profile, mpf(delta), 0, 40 * mu + mu * mu))


def bit_sum_points():
    """(n, lambda, t, deltas to aim at)."""
    for n in [10**4, 10**5]:
        for lam in [64.0, 1000.0, n / 4.0, n * 2.0 / (math.e + 1.0)]:
            for t in [0, n // 4, n // 2, 3 * n // 4, n - 2, n - 1]:
                yield n, lam, t, [1e-4, 1e-9] if t in (0, n - 1) else [1e-6]
    for n in [10**6, 10**9]:
        for lam in [64.0, 1000.0, n / 4.0, n * 2.0 / (math.e + 1.0)]:
            for t in [0, n - 1]:
                yield n, lam, t, [1e-3, 1e-7, 1e-13] if t else [1e-5]


def bit_sum_point_rows():
    """One dataset at a time, for crowds too large to scan."""
    for n, lam, t, targets in bit_sum_points():
        flip = flip_probability(n, lam)
        mu = float((1 - 2 * flip) / mp.sqrt(n * flip * (1 - flip)))
        ones, zeros = bit_sum_pair(n, flip, t, floor=mpf(10) ** -46)
        for target in targets:
            reachable = min(mpf(target), gaussian_delta(mu, 0) / 3)
            epsilon = significant(gaussian_epsilon(mu, reachable), 3)
            delta = hockey_stick(ones, zeros, odds(epsilon))
            if not mpf(10) ** -16 < delta < mpf(10) ** -2:
                continue
            yield {"n": n, "lambda": lam, "t": t, "epsilon": epsilon, "delta": nearest(delta)}


# ------------------------------------------------------------------------------------------------
# two_message.json
# ------------------------------------------------------------------------------------------------


def two_message(n, p, epsilon):
    """(delta_down, delta_up, atom) of Z against Z + 1, Z ~ Bin(n, p)."""
    p, e = exact(p), mp.exp(mpf(epsilon))
    law = binomial(n, p, DEEP_FLOOR)
    above = shifted(law, 1)
    return hockey_stick(above, law, e), hockey_stick(law, above, e), (1 - p) ** n


TWO_MESSAGE_GRID = [
    (1, [1e-6, 0.25, 0.5, 0.9], [0.0, 0.5, 1.0]),
    (2, [1e-3, 0.4, 0.5, 0.99], [0.0, 0.25, 1.0, 3.0]),
    (5, [0.01, 0.3, 0.5, 0.8], [0.0, 0.1, 1.0, 2.0]),
    (50, [1e-4, 0.02, 0.3, 0.5, 0.97], [0.0, 0.25, 1.0, 2.0]),
    (50, [2.60 / 50, 2.65 / 50, 2.70 / 50], [1.0]),
    (1000, [1e-7, 0.001, math.log(1e6) / 1000, 0.0553, 0.221, 0.5, 0.9], [0.1, 0.5, 1.0, 3.0]),
    (10**4, [1e-5, math.log(1e9) / 1e4, 34.07 / 1e4, 0.03, 0.25, 0.5, 0.999], [0.05, 0.5, 1.0]),
    (10**6, [1e-6, 20.0 / 1e6, 2e-4, 0.01, 0.5, 0.75], [0.002, 0.02, 0.5, 2.0]),
]


def two_message_rows():
    """Extra-bit counting: Z noise ones beside the true count, in both directions."""
    for n, ps, epsilons in TWO_MESSAGE_GRID:
        for p in ps:
            for epsilon in epsilons:
                down, up, atom = two_message(n, p, epsilon)
                check_two_message_symmetry(n, p, epsilon, down)
                yield {"n": n, "p": p, "epsilon": epsilon, "delta_down": nearest(down),
                       "delta_up": nearest(up), "atom": nearest(atom)}


def check_two_message_symmetry(n, p, epsilon, down):
    """Counting the zeros instead (n - Z) exchanges the directions and p with 1 - p."""
    if n <= 50:
        law = binomial(n, 1 - exact(p), DEEP_FLOOR)
        same(down, hockey_stick(law, shifted(law, 1), odds(epsilon)))


# ------------------------------------------------------------------------------------------------
# real_sum.json
# ------------------------------------------------------------------------------------------------


def real_sum_worst(n, r, epsilon, laws):
    """(delta_by_changed, t): the worst delta for m = 1..r changed bits, the argmax for m = r."""
    e = odds(epsilon)
    by_changed, argument = [], 0
    for m in range(1, r + 1):
        up, down = Worst(), Worst()
        for t in range(n * r - m + 1):
            up.see(positive_sum(laws[t + m], laws[t], e), t)
            down.see(positive_sum(laws[t], laws[t + m], e), n * r - m - t)
        same(up.value, down.value)
        by_changed.append(up.value)
        argument = up.argument
    return by_changed, argument


REAL_SUM_GRID = [
    (1, 2, [0.3], [0.5, 1.5]),
    (2, 2, [0.5, 1.2], [0.25, 1.0]),
    (3, 1, [1.0], [0.5]),
    (3, 3, [1.0, 2.5], [0.1, 0.75]),
    (4, 2, [1.0, 3.0], [0.0, 0.5, 2.0]),
    (5, 4, [2.0, 4.0], [0.25, 1.0, 2.0]),
    (6, 6, [3.0, 5.0], [0.5, 1.0, 2.0]),
    (8, 3, [4.0, 6.0], [0.1, 0.5, 1.5]),
    (10, 5, [5.0, 8.0], [0.25, 1.0, 2.0]),
    (12, 6, [4.0, 9.0], [0.5, 1.0, 2.0]),
]


def real_sum_rows():
    """One bag of n r bits; the user's value moves m of the own bits from 0 to 1."""
    for n, r, lambdas, epsilons in REAL_SUM_GRID:
        for lam in lambdas:
            laws = list(bag_laws(n * r, flip_probability(n, lam)))
            for epsilon in epsilons:
                by_changed, t = real_sum_worst(n, r, epsilon, laws)
                yield {
                    "n": n, "r": r, "lambda": lam, "epsilon": epsilon,
                    "delta": nearest(max(by_changed)), "t": t,
                    "delta_by_changed": [nearest(delta) for delta in by_changed],
                }


# ------------------------------------------------------------------------------------------------
# tradeoff.json and mu_star.json
# ------------------------------------------------------------------------------------------------


def tradeoff_points(null, other):
    """Break points (alpha, beta) of the Neyman-Pearson trade-off of two laws.

    Outcomes are rejected in the order of their likelihood ratio; alpha is the probability of
    rejecting under the null law, beta of accepting under the other.
    """
    order = sorted(range(len(null)), key=lambda k: other[k] / null[k], reverse=True)
    rejected = [mpf(0)] + list(itertools.accumulate(null[k] for k in order))
    accepted = list(itertools.accumulate(other[k] for k in reversed(order)))[::-1] + [mpf(0)]
    return list(zip(rejected, accepted))


def tradeoff_at(points, alpha):
    """The chord through the break points; the second-kind error vanishes at level one."""
    if alpha == 1:
        return mpf(0)
    for (left, high), (right, low) in zip(points, points[1:]):
        if alpha <= right:
            return high + (low - high) * (alpha - left) / (right - left)
    raise AssertionError("the law does not sum to one")


def bit_sum_tradeoffs(n, lam):
    """The trade-offs of all datasets, in both orders."""
    laws = list(bag_laws(n, flip_probability(n, lam)))
    for zeros, ones in zip(laws, laws[1:]):
        yield tradeoff_points(zeros, ones)
        yield tradeoff_points(ones, zeros)


TRADEOFF_ALPHAS = [0.0, 1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.99,
                   0.999, 1.0]
TRADEOFF_GRID = [(3, [1.0, 2.5]), (10, [2.0, 5.0]), (20, [2.0, 10.0]), (100, [10.0, 30.0, 58.0])]


def tradeoff_rows():
    """The smallest second-kind error over all datasets and both orders."""
    for n, lambdas in TRADEOFF_GRID:
        for lam in lambdas:
            curves = list(bit_sum_tradeoffs(n, lam))
            for alpha in TRADEOFF_ALPHAS:
                forward = min(tradeoff_at(points, exact(alpha)) for points in curves[::2])
                backward = min(tradeoff_at(points, exact(alpha)) for points in curves[1::2])
                close(forward, backward)
                yield {"n": n, "lambda": lam, "alpha": alpha, "beta": nearest(forward)}


def gaussian_score(upper, lower):
    """z with P(N >= z) = upper, given both complementary tails, from the smaller one."""
    return normal_upper_quantile(upper) if upper <= lower else -normal_upper_quantile(lower)


def quick_score(upper, lower):
    """The same in double precision, to find the candidates for the maximum."""
    inverse = statistics.NormalDist().inv_cdf
    return -inverse(float(upper)) if upper <= lower else inverse(float(lower))


def complementary_tails(law):
    """(P(K >= j), P(K < j)) for j = 1 .. n."""
    upper = list(itertools.accumulate(reversed(law)))[::-1][1:]
    lower = list(itertools.accumulate(law))[:-1]
    return list(zip(upper, lower))


def mu_star(n, lam):
    """The smallest mu for which the bit-sum protocol is mu-GDP: break points of all trade-offs."""
    flip = flip_probability(n, lam)
    candidates = []
    previous = None
    for law in bag_laws(n, flip):
        tails = complementary_tails(law)
        if previous is not None:
            for zeros, ones in zip(previous, tails):
                candidates.append((quick_score(*zeros) - quick_score(*ones), zeros, ones))
        previous = tails
    top = max(score for score, _, _ in candidates)
    finalists = [(zeros, ones) for score, zeros, ones in candidates if score > top - 1e-9]
    return max(gaussian_score(*zeros) - gaussian_score(*ones) for zeros, ones in finalists)


MU_STAR_GRID = [(1, [0.5, 0.9]), (2, [0.5, 1.9]), (3, [1.0, 2.5]), (5, [2.0, 4.5]),
                (10, [0.5, 2.0, 9.0]), (20, [2.0, 10.0, 18.0]), (50, [5.0, 20.0, 45.0]),
                (100, [10.0, 20.0, 30.0, 58.0, 90.0])]


def mu_star_rows():
    """Gaussian parameter of the bit-sum protocol."""
    for n, lambdas in MU_STAR_GRID:
        for lam in lambdas:
            yield {"n": n, "lambda": lam, "mu": nearest(mu_star(n, lam))}


FILES = [
    files.Table(
        "special", "Binomial and normal functions: fn(args) = value, upper tail is P(X >= k), "
        "lower tail P(X <= k).", {pmf_rows: 60, tail_rows: 60, normal_rows: 60}),
    files.Table(
        "bit_sum", "Bit-sum protocol: worst delta over all datasets and both directions; t is the "
        "argmax for (bit 1 || bit 0), 0 when delta is 0.", {bit_sum_rows: 75}),
    files.Table(
        "bit_sum_point", "Bit-sum protocol, one dataset with t ones among the others: delta of "
        "(bit 1 || bit 0).", {bit_sum_point_rows: 10}),
    files.Table(
        "two_message", "Z ~ Bin(n, p): delta_up = H(Z || Z+1), delta_down = H(Z+1 || Z), "
        "atom = P(Z = 0).", {two_message_rows: 92}),
    files.Table(
        "real_sum", "One bag of n r bits: worst delta over the number of changed bits, all "
        "datasets, both directions; t is the argmax for r changed bits, (ones || zeros).",
        {real_sum_rows: 25}),
    files.Table(
        "tradeoff", "Bit-sum protocol: least second-kind error at level alpha over all datasets "
        "and both orders.", {tradeoff_rows: 96}),
    files.Table(
        "mu_star", "Bit-sum protocol: the least mu for which it is mu-GDP, over all datasets.",
        {mu_star_rows: 14}),
]

if __name__ == "__main__":
    files.main(FILES)
