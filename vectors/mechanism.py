"""Tables for the mechanisms: variances of their estimates, and laws that are sampled.

A variance is that of one user's share of an unbiased estimate, from the law of the report; that the
estimate is unbiased is checked first.
"""

import itertools

from mpmath import mp, mpf

import files
from composition import client_law
from laws import FLOOR, close, exact, nearest, odds


# ------------------------------------------------------------------------------------------------
# estimators.json
# ------------------------------------------------------------------------------------------------


def moments(law):
    """(mean, variance) of a law given as pairs (value, probability)."""
    law = list(law)
    close(mp.fsum(p for _, p in law), 1)
    mean = mp.fsum(p * x for x, p in law)
    return mean, mp.fsum(p * (x - mean) ** 2 for x, p in law)


def unbiased(truth, law):
    """The variance of an estimate, after checking its mean."""
    mean, variance = moments(law)
    close(mean, truth)
    return variance


def debiased(high, low):
    """Variances of (report - low) / (high - low) for a true 0 and a true 1.

    `high` and `low` are the probabilities of a reported 1 for a true 1 and a true 0.
    """
    one, zero = (1 - low) / (high - low), -low / (high - low)
    return [unbiased(truth, [(one, chance), (zero, 1 - chance)])
            for truth, chance in [(0, low), (1, high)]]


def subset_member(k, size, epsilon0):
    """P(a category is in the reported subset), for the true one and for another; all subsets."""
    weights = {subset: odds(epsilon0) if 0 in subset else mpf(1)
               for subset in itertools.combinations(range(k), size)}
    total = mp.fsum(weights.values())
    return [mp.fsum(w for subset, w in weights.items() if v in subset) / total for v in (0, 1)]


def longitudinal_variance(periods, changes, coin):
    """Variance of one user's share of the count at the last period, for a user who never changes.

    The count at the last period is the root of the tree. The scale undoes the choice of one of the
    changes, of one of log2(periods) + 1 levels, and the coin; it is checked to be unbiased for
    every user with at most that many changes.
    """
    c = mp.exp(exact(coin))
    truth = c / (1 + c)
    levels = periods.bit_length()
    scale = changes * levels * (c + 1) / (c - 1)
    still = None
    for x in itertools.product([-1, 0, 1], repeat=periods):
        if sum(map(abs, x)) > changes:
            continue
        law = [(mpf(0), mpf(levels - 1) / levels)]
        for chosen in range(1, changes + 1):
            root = client_law(x, levels, chosen, truth)
            law += [(scale * sign, mass / (changes * levels)) for (sign,), mass in root.items()]
        variance = unbiased(sum(x), law)
        still = variance if not any(x) else still
    return still


def one_bit_variance(epsilon0, x):
    """A real in [0, 1] sent as one bit, which is 1 with probability (1 + x (e - 1)) / (e + 1)."""
    e = odds(epsilon0)
    chance = (1 + exact(x) * (e - 1)) / (e + 1)
    law = [((y * (e + 1) - 1) / (e - 1), p) for y, p in [(0, 1 - chance), (1, chance)]]
    return unbiased(exact(x), law)


def rappor_report(f, p, q):
    """P(reported 1) for a true 1 and a true 0, through the permanent bit."""
    f, p, q = map(exact, (f, p, q))
    chances = []
    for bit in (1, 0):
        permanent = f / 2 + (1 - f) * bit
        chances.append(permanent * q + (1 - permanent) * p)
    return chances


SCALES = [(1, 1), (1, 2), (2, 1), (1, 10), (5, 1), (10, 3), (7, 5), (100, 1), (1, 40)]


def estimate(kind, fields, **values):
    """The variance of one user's share of an unbiased estimate, from the law of its report."""
    return {"kind": kind, **fields, **{name: nearest(x) for name, x in values.items()}}


def binary_rows():
    """A bit that is flipped."""
    for flip in [0.001, 0.0625, 0.125, 0.25, 0.29, 0.4, 0.4921875]:
        zero, one = debiased(1 - exact(flip), exact(flip))
        yield estimate("binary", {"flip": flip}, variance_zero=zero, variance_one=one)


def kary_rows():
    """A category that is replaced."""
    for k in [2, 3, 10, 100, 1024]:
        for epsilon0 in [0.1, 0.5, 1.0, 2.0, 5.0]:
            weight = odds(epsilon0) + k - 1
            miss, hit = debiased(odds(epsilon0) / weight, 1 / weight)
            yield estimate("kary", {"k": k, "epsilon0": epsilon0}, variance_hit=hit,
                           variance_miss=miss)


def subset_rows():
    """A set of categories."""
    for k, size in [(2, 1), (3, 1), (3, 2), (5, 2), (8, 3), (10, 1), (12, 4), (16, 2)]:
        for epsilon0 in [0.1, 0.5, 1.0, 2.0]:
            miss, hit = debiased(*subset_member(k, size, epsilon0))
            yield estimate("subset", {"k": k, "size": size, "epsilon0": epsilon0},
                           variance_hit=hit, variance_miss=miss)


def one_bit_rows():
    """A real sent as one bit."""
    for epsilon0 in [0.1, 0.5, 1.0, 2.0, 4.0]:
        for x in [0.0, 0.125, 0.3, 0.5, 0.75, 1.0]:
            yield estimate("one_bit_mean", {"epsilon0": epsilon0, "x": x},
                           variance=one_bit_variance(epsilon0, x))


def rappor_rows():
    """A bit of RAPPOR."""
    for f, p, q in [(0.0, 0.25, 0.75), (0.5, 0.5, 0.75), (0.25, 0.25, 0.75), (0.5, 0.0, 1.0),
                    (0.75, 0.5, 0.75), (0.125, 0.375, 0.625)]:
        zero, one = debiased(*rappor_report(f, p, q))
        yield estimate("rappor_bit", {"f": f, "p": p, "q": q}, variance_zero=zero,
                       variance_one=one)


def laplace_rows():
    """Discrete Laplace noise."""
    for num, den in SCALES:
        half = discrete_laplace(num, den, None)
        law = [(sign * k, mass) for k, mass in enumerate(half) for sign in ([1, -1] if k else [1])]
        yield estimate("discrete_laplace", {"scale_num": num, "scale_den": den},
                       variance=unbiased(0, law))


def longitudinal_rows():
    """A count over time."""
    for periods in [1, 2, 4, 8]:
        for changes in range(1, min(3, periods) + 1):
            for coin in [0.25, 0.5, 1.0, 2.0]:
                fields = {"periods": periods, "changes": changes, "coin_epsilon": coin}
                variance = longitudinal_variance(periods, changes, coin)
                yield estimate("longitudinal", fields, variance=variance)


# ------------------------------------------------------------------------------------------------
# samplers.json
# ------------------------------------------------------------------------------------------------


def discrete_laplace(num, den, span):
    """P(k) for k in 0..span-1, proportional to exp(-|k| den / num), normalised by its sum."""
    decay = mp.exp(-mpf(den) / num)
    powers = [mpf(1)]
    while powers[-1] > FLOOR * FLOOR:
        powers.append(powers[-1] * decay)
    total = powers[0] + 2 * mp.fsum(powers[1:])
    return [x / total for x in powers[:span]]


def laplace_pmf_rows():
    """The first probabilities of the discrete Laplace law."""
    for num, den in SCALES:
        pmf = discrete_laplace(num, den, 21)
        yield {"kind": "discrete_laplace", "num": num, "den": den, "pmf": list(map(nearest, pmf))}


def geometric_pmf_rows():
    """The first probabilities of the geometric law."""
    for num, den in SCALES:
        decay = mp.exp(-mpf(den) / num)
        pmf = [(1 - decay) * mp.exp(-mpf(k) * den / num) for k in range(21)]
        yield {"kind": "geometric", "num": num, "den": den, "pmf": list(map(nearest, pmf))}


FILES = [
    files.Table(
        "estimators", "Variance of one user's share of the unbiased estimate of a count or mean; "
        "hit and one: the user holds what is counted.",
        {binary_rows: 7, kary_rows: 25, subset_rows: 20, one_bit_rows: 30, rappor_rows: 6,
         laplace_rows: 9, longitudinal_rows: 12}),
    files.Table(
        "samplers", "P(0), ..., P(20): discrete Laplace proportional to exp(-|k| den / num), "
        "geometric (1 - r) r^k with r = exp(-den / num).",
        {laplace_pmf_rows: 9, geometric_pmf_rows: 9}),
]

if __name__ == "__main__":
    files.main(FILES)
