"""Independent test vectors for the privacy accountant of the shuffle model.

Every number is computed from the definition of the mechanism: the two output laws are enumerated
and the hockey-stick divergence

    H_E(P || Q) = sum over outcomes y of (P(y) - E Q(y))_+ ,      E = exp(epsilon),

is summed term by term with 80-digit arithmetic (or exactly, with fractions). Faster formulas appear
only where a law is too large to enumerate, and then they are first compared with the direct sum on
smaller laws. Nothing here shares code with the program under test.

Conventions
  * Inputs are doubles; the parameter is the exact real value of the double.
  * Values are the doubles nearest to the exact results.
  * The bit-sum protocol with n users flips each bit with probability b, the double lambda/(2.0 n).
  * Where several arguments attain a maximum, the smallest is reported.
  * A law is a pair (first, probabilities): the outcome first + i has probability probabilities[i].

Usage:  python3 generate.py [file ...]
without arguments writes all files and compares with the reference numbers; with arguments writes
only the named files ("bit_sum", "special", ..., and "reference" or "multi_message" for a comparison
alone). The protocols with several messages per user are in `multi_message.py`.
"""

import itertools
import json
import math
import random
import statistics
import sys
import time
from fractions import Fraction
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 80

HERE = Path(__file__).resolve().parent
# Windows of a law end where the probabilities fall below this floor.
FLOOR = mpf(10) ** -60
# Below the smallest positive double even after division by a probability of the same size.
DEEP_FLOOR = mpf(10) ** -400
# Two evaluations of one quantity must agree to this relative error.
AGREE = mpf(10) ** -40


# ------------------------------------------------------------------------------------------------
# Numbers
# ------------------------------------------------------------------------------------------------


def nearest(x):
    """The double nearest to a high-precision number, subnormals and underflow included."""
    if isinstance(x, (int, float)):
        return float(x)
    if isinstance(x, Fraction):
        return float(x)
    sign, mantissa, exponent, _ = x._mpf_
    if mantissa == 0:
        assert x == 0, "not a finite number"
        return 0.0
    mantissa = int(mantissa)
    value = mantissa << exponent if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
    return -float(value) if sign else float(value)


def exact(x):
    """The exact value of a double or an integer as a high-precision number."""
    return mpf(x)


def as_mpf(x):
    """A fraction as a high-precision number."""
    return mpf(x.numerator) / x.denominator


def odds(epsilon):
    """exp(epsilon) of a double."""
    return mp.exp(exact(epsilon))


def significant(x, digits):
    """A double with few significant decimal digits next to x, for readable parameters."""
    return float(f"{float(x):.{digits - 1}e}")


def flip_probability(n, lam):
    """The double that the bit-sum protocol uses."""
    return exact(lam / (2.0 * n))


def same(x, y, relative=AGREE):
    """Asserts that two evaluations of one quantity agree."""
    scale = max(abs(x), abs(y))
    assert abs(x - y) <= relative * scale, (mp.nstr(x, 30), mp.nstr(y, 30))


def close(x, y, absolute=mpf(10) ** -50):
    """Asserts that two evaluations agree up to an absolute error."""
    assert abs(x - y) <= absolute, (mp.nstr(x, 30), mp.nstr(y, 30))


def solve_decreasing(profile, target, low, high, steps=40):
    """The argument in [low, high] at which a decreasing function reaches the target."""
    low, high = mpf(low), mpf(high)
    for _ in range(steps):
        middle = (low + high) / 2
        if profile(middle) > target:
            low = middle
        else:
            high = middle
    return high


# ------------------------------------------------------------------------------------------------
# Laws
# ------------------------------------------------------------------------------------------------


def ln_binomial_pmf(n, p, k):
    """Natural logarithm of P(Bin(n, p) = k)."""
    coefficient = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return coefficient + (k * mp.log(p) if k else 0) + ((n - k) * mp.log(1 - p) if n > k else 0)


def binomial(n, p, floor=FLOOR):
    """The law of Bin(n, p), cut where its probabilities fall below the floor."""
    if p == 0 or n == 0:
        return 0, [mpf(1)]
    if p == 1:
        return n, [mpf(1)]
    mode = min(n, int((n + 1) * p))
    peak = mp.exp(ln_binomial_pmf(n, p, mode))
    ratio = p / (1 - p)
    upper, term = [], peak
    for k in range(mode, n):
        term = term * ((n - k) * ratio) / (k + 1)
        if term < floor:
            break
        upper.append(term)
    lower, term = [], peak
    for k in range(mode, 0, -1):
        term = term * k / ((n - k + 1) * ratio)
        if term < floor:
            break
        lower.append(term)
    lower.reverse()
    return mode - len(lower), lower + [peak] + upper


def plus_bit(law, p):
    """The law of the sum with an independent Bernoulli(p) bit."""
    first, s = law
    q = 1 - p
    middle = [q * here + p * before for here, before in zip(s[1:], s)]
    return first, [q * s[0]] + middle + [p * s[-1]]


def shifted(law, by):
    """The law of the outcome plus a constant."""
    return law[0] + by, law[1]


def convolve(left, right, bits=320):
    """The law of the sum of two independent outcomes.

    Both laws become integers scaled by 2**bits, packed side by side into one large integer each, so
    a single multiplication does the work. The absolute error is about 2**-bits times the length.
    """
    width = (2 * bits + 64) // 8
    product = packed(left[1], bits, width) * packed(right[1], bits, width)
    length = len(left[1]) + len(right[1]) - 1
    raw = product.to_bytes(width * (length + 1), "little")
    scale = mpf(2) ** (-2 * bits)
    slots = (raw[i * width : (i + 1) * width] for i in range(length))
    return left[0] + right[0], [int.from_bytes(slot, "little") * scale for slot in slots]


def packed(probabilities, bits, width):
    """Fixed-point probabilities, each in its own slot of `width` bytes of one integer."""
    slots = (int(mp.ldexp(p, bits)).to_bytes(width, "little") for p in probabilities)
    return int.from_bytes(b"".join(slots), "little")


def aligned(left, right):
    """Two laws as equally long lists over the union of their supports."""
    first = min(left[0], right[0])
    end = max(left[0] + len(left[1]), right[0] + len(right[1]))
    zero = mpf(0)

    def padded(law):
        return [zero] * (law[0] - first) + law[1] + [zero] * (end - law[0] - len(law[1]))

    return padded(left), padded(right)


def hockey_stick(law, other, e):
    """H_E(law || other) as the direct sum of positive parts."""
    return positive_sum(*aligned(law, other), e)


def positive_sum(p, q, e):
    """Sum of (p - e q)_+ over two equally long lists."""
    total = mpf(0)
    for x, y in zip(p, q):
        term = x - e * y
        if term > 0:
            total += term
    return total


def bag_laws(size, flip):
    """Yields the law of the number of ones after flipping, for 0, 1, ..., size true ones.

    One bit at a time turns from 0 to 1: the generating function is divided by (1-b) + b z and
    multiplied by b + (1-b) z. The division is stable because b < 1 - b.
    """
    b, keep = flip, 1 - flip
    first, law = binomial(size, b, floor=mpf(0))
    assert first == 0 and len(law) == size + 1
    inverse, slope = 1 / keep, b / keep
    yield law
    for _ in range(size):
        rest = mpf(0)
        following = []
        for value in law[:-1]:
            quotient = value * inverse - slope * rest
            following.append(b * quotient + keep * rest)
            rest = quotient
        following.append(keep * rest)
        law = following
        yield law
    mirrored = binomial(size, b, floor=mpf(0))[1][::-1]
    for got, want in zip(law, mirrored):
        close(got, want)


# ------------------------------------------------------------------------------------------------
# special.json
# ------------------------------------------------------------------------------------------------


def binomial_tail(n, p, k, upper):
    """P(X >= k) or P(X <= k) for X ~ Bin(n, p), summed from k outwards."""
    ratio = p / (1 - p)
    term = mp.exp(ln_binomial_pmf(n, p, k))
    total = mpf(0)
    while True:
        total += term
        if upper:
            if k == n:
                return total
            term = term * ((n - k) * ratio) / (k + 1)
            k += 1
            falling = k > n * p
        else:
            if k == 0:
                return total
            term = term * k / ((n - k + 1) * ratio)
            k -= 1
            falling = k < n * p
        if falling and term < total * FLOOR:
            return total


def normal_tail(z):
    """P(N >= z) for the standard normal law."""
    return mp.erfc(z / mp.sqrt(2)) / 2


def normal_upper_quantile(q):
    """The z with P(N >= z) = q, for 0 < q <= 1/2, by Newton steps on the logarithm."""
    assert 0 < q <= mpf(1) / 2
    if q == mpf(1) / 2:
        return mpf(0)
    if q > mpf(10) ** -300:
        z = mpf(-statistics.NormalDist().inv_cdf(float(q)))
    else:
        z = mp.sqrt(-2 * mp.log(q) - mp.log(-4 * mp.pi * mp.log(q)))
    goal = mp.log(q)
    for _ in range(60):
        tail = normal_tail(z)
        density = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
        step = (mp.log(tail) - goal) * tail / density
        z += step
        if abs(step) <= abs(z) * mpf(10) ** -60:
            same(normal_tail(z), q, mpf(10) ** -55)
            return z
    raise AssertionError("the quantile does not converge")


def special_rows():
    """Elementary functions in the centre and in the far tails."""
    rows = []

    def row(fn, args, value):
        rows.append({"fn": fn, "args": args, "value": nearest(value)})

    for n, p, k in pmf_arguments():
        value = ln_binomial_pmf(n, exact(p), k)
        assert -750 < value <= 0
        row("ln_binomial_pmf", [n, p, k], value)
    for n, p, k in tail_arguments():
        upper = binomial_tail(n, exact(p), k, True)
        lower = binomial_tail(n, exact(p), k, False)
        close(upper + lower - mp.exp(ln_binomial_pmf(n, exact(p), k)), 1)
        if upper > mpf(10) ** -290:
            row("binomial_upper_tail", [n, p, k], upper)
        if lower > mpf(10) ** -290:
            row("binomial_lower_tail", [n, p, k], lower)
    for x in [0.0, 0.1, 0.5, 1.0, 2.0, 3.5, 6.0, 8.2, 9.5, 20.0, 30.0, 37.5]:
        for argument in sorted({x, -x}):
            row("normal_cdf", [argument], normal_tail(-exact(argument)))
    for q in [0.5, 0.6, 0.25, 0.1, 0.02425, 0.01, 1e-3, 1e-6, 1e-10, 1e-16, 1e-50, 1e-150, 1e-300]:
        row("normal_quantile", [q], -normal_upper_quantile(exact(q)) if q <= 0.5 else
            normal_upper_quantile(1 - exact(q)))
    for q in [0.75, 0.9, 0.975, 0.999, 1 - 1e-9, 1 - 2.0**-50]:
        row("normal_quantile", [q], normal_upper_quantile(1 - exact(q)))
    for x in [8.0, 3.0, 1.0, 0.0, -0.5, -1.0, -3.0, -5.0, -8.0, -14.0, -37.0, -40.0, -100.0, -1e3,
              -1e4, -1e6]:
        row("ln_normal_cdf", [x], mp.log1p(-normal_tail(exact(x))) if x > 0 else
            mp.log(normal_tail(-exact(x))))
    return rows


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


class Worst:
    """The largest value seen so far and the first argument that attains it."""

    def __init__(self):
        self.value, self.argument = mpf(0), 0

    def see(self, value, argument):
        # Exact ties differ by rounding only; the first argument keeps the title.
        if value > self.value * (1 + AGREE) and value > FLOOR:
            self.value, self.argument = value, argument


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
    rows = []
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
                rows.append({
                    "n": n,
                    "lambda": lam,
                    "epsilon": epsilon,
                    "delta": nearest(delta),
                    "t": t,
                    "delta_all_equal": nearest(all_equal),
                })
    return rows


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


def gaussian_delta(mu, epsilon):
    """Delta of the mu-Gaussian mechanism."""
    if mu == 0:
        return mpf(0)
    mu, epsilon = mpf(mu), mpf(epsilon)
    return normal_tail(epsilon / mu - mu / 2) - mp.exp(epsilon) * normal_tail(epsilon / mu + mu / 2)


def gaussian_epsilon(mu, delta):
    """Epsilon at which the mu-Gaussian mechanism has this delta; used to choose parameters only."""
    with mp.workdps(20):
        profile = lambda epsilon: gaussian_delta(mu, epsilon)
        return float(solve_decreasing(profile, mpf(delta), 0, 40 * mu + mu * mu))


def bit_sum_point_rows():
    """One dataset at a time, for crowds too large to scan."""
    cases = []
    for n in [10**4, 10**5]:
        for lam in [64.0, 1000.0, n / 4.0, n * 2.0 / (math.e + 1.0)]:
            for t in [0, n // 4, n // 2, 3 * n // 4, n - 2, n - 1]:
                cases.append((n, lam, t, [1e-4, 1e-9] if t in (0, n - 1) else [1e-6]))
    for n in [10**6, 10**9]:
        for lam in [64.0, 1000.0, n / 4.0, n * 2.0 / (math.e + 1.0)]:
            for t in [0, n - 1]:
                cases.append((n, lam, t, [1e-3, 1e-7, 1e-13] if t else [1e-5]))
    rows = []
    for n, lam, t, targets in cases:
        flip = flip_probability(n, lam)
        mu = float((1 - 2 * flip) / mp.sqrt(n * flip * (1 - flip)))
        ones, zeros = bit_sum_pair(n, flip, t, floor=mpf(10) ** -46)
        for target in targets:
            reachable = min(mpf(target), gaussian_delta(mu, 0) / 3)
            epsilon = significant(gaussian_epsilon(mu, reachable), 3)
            delta = hockey_stick(ones, zeros, odds(epsilon))
            if not mpf(10) ** -16 < delta < mpf(10) ** -2:
                continue
            rows.append({"n": n, "lambda": lam, "t": t, "epsilon": epsilon,
                         "delta": nearest(delta)})
    return rows


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
    rows = []
    for n, ps, epsilons in TWO_MESSAGE_GRID:
        for p in ps:
            for epsilon in epsilons:
                down, up, atom = two_message(n, p, epsilon)
                check_two_message_symmetry(n, p, epsilon, down)
                rows.append({"n": n, "p": p, "epsilon": epsilon, "delta_down": nearest(down),
                             "delta_up": nearest(up), "atom": nearest(atom)})
    return rows


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
    rows = []
    for n, r, lambdas, epsilons in REAL_SUM_GRID:
        for lam in lambdas:
            laws = list(bag_laws(n * r, flip_probability(n, lam)))
            for epsilon in epsilons:
                by_changed, t = real_sum_worst(n, r, epsilon, laws)
                rows.append({
                    "n": n, "r": r, "lambda": lam, "epsilon": epsilon,
                    "delta": nearest(max(by_changed)), "t": t,
                    "delta_by_changed": [nearest(delta) for delta in by_changed],
                })
    return rows


# ------------------------------------------------------------------------------------------------
# clone_pair.json
# ------------------------------------------------------------------------------------------------


def blanket_weight(blanket, epsilon0):
    """Probability of each of the two types for the other users."""
    p = mp.exp(mpf(epsilon0))
    return 1 / (p + 1) if blanket == "strong" else 1 / (2 * p)


def clone_laws(n, epsilon0, weight):
    """Both laws over the counts (a, b), as dictionaries, without any truncation."""
    p = mp.exp(mpf(epsilon0))
    rest = 1 - 2 * weight
    others = {}
    for a in range(n):
        for b in range(n - a):
            ways = math.comb(n - 1, a) * math.comb(n - 1 - a, b)
            others[a, b] = ways * weight ** (a + b) * rest ** (n - 1 - a - b)
    law, other = {}, {}
    for (a, b), mass in others.items():
        for outcome, under_p, under_q in [((a + 1, b), p, 1), ((a, b + 1), 1, p)]:
            law[outcome] = law.get(outcome, 0) + mass * under_p / (p + 1)
            other[outcome] = other.get(outcome, 0) + mass * under_q / (p + 1)
    return law, other


def hockey_stick_of(law, other, e):
    """H_E of two dictionaries."""
    zero = mpf(0)
    outcomes = set(law) | set(other)
    terms = (law.get(y, zero) - e * other.get(y, zero) for y in sorted(outcomes))
    return sum((term for term in terms if term > 0), zero)


def clone_windowed(n, epsilon0, weight, epsilon, floor):
    """The same sum over a window of (c, a), c = a + b, law by law; for moderate n."""
    p, e = mp.exp(mpf(epsilon0)), odds(epsilon)
    first, crowd = binomial(n - 1, 2 * weight, floor)
    total = mpf(0)
    for c, mass in enumerate(crowd, start=first):
        others = binomial(c, mpf(1) / 2, floor)
        law, other = plus_bit(others, p / (p + 1)), plus_bit(others, 1 / (p + 1))
        total += mass * hockey_stick(law, other, e)
    return total


def clone_delta(n, epsilon0, weight, epsilon, floor=FLOOR):
    """H_E(P || Q) of the clone pair, conditioned on the number c of reports of the two types.

    Given c, the likelihood ratio (p a + b) / (a + p b) increases with a, so the positive terms are
    those with a > c theta, and their sum needs one probability and one tail of Bin(c - 1, 1/2);
    both are carried from c to c + 1.
    """
    p, e = mp.exp(mpf(epsilon0)), mp.exp(mpf(epsilon))
    if e >= p:
        return mpf(0)
    theta = (e * p - 1) / ((p - 1) * (e + 1))
    first, crowd = binomial(n - 1, 2 * weight, floor)
    cut = int(mp.floor((first + 1) * theta)) + 1
    tail, at = fair_tail(first, cut)
    total = mpf(0)
    for m, mass in enumerate(crowd, start=first):
        # Here m others are of the two types; at = P(Bin(m, 1/2) = cut), tail = P(. >= cut).
        before = at * cut / (m - cut + 1) if at else mpf(2) ** -m if cut == m + 1 else mpf(0)
        total += mass * ((p - e) * (tail + before) - (e * p - 1) * tail)
        # One more of the others: Bin(m + 1, 1/2), then the threshold moves by zero or one.
        tail, at = tail + before / 2, (at + before) / 2
        following = int(mp.floor((m + 2) * theta)) + 1
        if following > cut:
            tail, at = tail - at, at * (m + 1 - cut) / (cut + 1)
            cut = following
    return total / (p + 1)


def fair_tail(m, cut):
    """(P(Bin(m, 1/2) >= cut), P(Bin(m, 1/2) = cut))."""
    if cut > m:
        return mpf(0), mpf(0)
    half = mpf(1) / 2
    return binomial_tail(m, half, cut, True), mp.exp(ln_binomial_pmf(m, half, cut))


CLONE_TARGETS = [1e-2, 1e-4, 1e-6, 1e-8, 1e-11, 1e-14]
CLONE_LARGE = [
    (1.0, "strong", 0.00501162), (1.0, "standard", 0.006125), (4.0, "strong", 0.045073),
    (4.0, "standard", 0.0642), (0.5, "strong", 0.00213677), (8.0, "strong", 0.30369),
]


def clone_pair_rows():
    """Worst pair of the clone arguments."""
    cases = []
    turn = itertools.cycle(CLONE_TARGETS)
    for n in [1, 2, 3, 5, 10, 50, 1000, 10**4]:
        for epsilon0 in [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]:
            for blanket in ["strong", "standard"]:
                cases += [(n, epsilon0, blanket, epsilon)
                          for epsilon in clone_epsilons(n, epsilon0, blanket, turn)]
    cases += [(10**6, epsilon0, blanket, epsilon) for epsilon0, blanket, epsilon in CLONE_LARGE]
    rows = []
    for index, (n, epsilon0, blanket, epsilon) in enumerate(cases):
        weight = blanket_weight(blanket, epsilon0)
        delta = clone_delta(n, epsilon0, weight, epsilon)
        if n <= 50:
            law, other = clone_laws(n, epsilon0, weight)
            direct = hockey_stick_of(law, other, odds(epsilon))
            close(direct, delta, mpf(10) ** -55)
            close(direct, hockey_stick_of(other, law, odds(epsilon)), mpf(10) ** -60)
        elif n == 1000 and index % 5 == 0:
            floor = mpf(10) ** -45
            close(delta, clone_windowed(n, epsilon0, weight, epsilon, floor), floor * 10**4)
        if n >= 1000 and not mpf(10) ** -17 < delta < mpf(10) ** -1:
            continue
        rows.append({"n": n, "epsilon0": epsilon0, "blanket": blanket, "epsilon": epsilon,
                     "delta": nearest(delta)})
    return rows


def clone_epsilons(n, epsilon0, blanket, turn):
    """Epsilons that give readable parameters and deltas spread over many orders of magnitude."""
    weight = blanket_weight(blanket, epsilon0)

    def profile(epsilon):
        with mp.workdps(40):
            return clone_delta(n, epsilon0, weight, epsilon, mpf(10) ** -28)

    if n <= 10:
        factors = {0.3, 0.9, 1 - 1e-4, 1 - 1e-9} | ({0.0, 1.0} if n == 2 else set())
        return sorted(significant(epsilon0 * factor, 12) for factor in factors)
    chosen = []
    for target in [next(turn), next(turn)]:
        found = float(solve_decreasing(profile, mpf(target), 0, epsilon0, steps=20))
        chosen.append(significant(found, 5))
    return sorted(epsilon for epsilon in chosen if epsilon < epsilon0)


# ------------------------------------------------------------------------------------------------
# blanket.json
# ------------------------------------------------------------------------------------------------


def four_masses(outputs, p):
    """Masses (a, d, c) of the floor measure M on the outputs, grouped by the two likelihoods.

    Each output is (P0, P1, M) with P0 / M and P1 / M in {1, p}: a where exactly one is p (the same
    mass for both), d where both are, c where neither is.
    """
    masses = {key: mpf(0) for key in itertools.product([False, True], repeat=2)}
    for p0, p1, floor in outputs:
        key = []
        for likelihood in (p0, p1):
            raised = likelihood / floor > (1 + p) / 2
            same(likelihood, p * floor if raised else floor, mpf(10) ** -70)
            key.append(raised)
        masses[tuple(key)] += floor
    same(masses[True, False], masses[False, True], mpf(10) ** -70)
    return masses[True, False], masses[True, True], masses[False, False]


def kary_outputs(k, p):
    """k-ary randomized response; the victim holds symbol 0 or 1; M is the least probability."""
    scale = 1 / (p + k - 1)
    for y in range(k):
        yield (p if y == 0 else 1) * scale, (p if y == 1 else 1) * scale, scale


def subset_outputs(k, size, p):
    """Subset selection: a set of `size` symbols, p times likelier if it contains the own one."""
    scale = 1 / (p * math.comb(k - 1, size - 1) + math.comb(k - 1, size))
    for chosen in itertools.combinations(range(k), size):
        yield (p if 0 in chosen else 1) * scale, (p if 1 in chosen else 1) * scale, scale


def unary_outputs(bits, keep, flip):
    """Unary encoding: the own bit stays 1 with `keep`, any other bit turns on with `flip`.

    M is the constant-ratio floor (1-keep)/(1-flip) times the law of all-zero input; it equals the
    least probability over the inputs except at the all-ones report, where it is smaller.
    """
    for report in itertools.product([0, 1], repeat=bits):
        blank = mp.fprod(flip if bit else 1 - flip for bit in report)
        laws = [blank * (keep / flip if bit else (1 - keep) / (1 - flip)) for bit in report]
        floor = blank * (1 - keep) / (1 - flip)
        if all(report):
            assert floor < min(laws)
        else:
            same(floor, min(laws), mpf(10) ** -70)
        yield laws[0], laws[1], floor


def hash_outputs(g, collision, p):
    """Local hashing to g values; the two inputs collide with the given probability."""
    scale = 1 / (p + g - 1)
    for mass, own, other in [(collision, 0, 0), (1 - collision, 0, 1)]:
        if mass == 0:
            continue
        for y in range(g):
            floor = mass * scale
            yield (p if y == own else 1) * floor, (p if y == other else 1) * floor, floor


def family_law(family, row):
    """(p, a, d, c) of a randomizer, enumerated, and equal to the closed masses."""
    if family == "unary":
        keep, flip = exact(row["keep"]), exact(row["flip"])
        p = keep * (1 - flip) / (flip * (1 - keep))
        ratio = (1 - keep) / (1 - flip)
        outputs = unary_outputs(3, keep, flip)
        closed = ratio * flip * (1 - flip), ratio * flip**2, ratio * (1 - flip) ** 2
    else:
        p = odds(row["epsilon0"])
    if family == "kary":
        k = row["k"]
        outputs = kary_outputs(k, p)
        scale = 1 / (p + k - 1)
        closed = scale, mpf(0), (k - 2) * scale
    if family == "subset":
        k, size = row["k"], row["size"]
        outputs = subset_outputs(k, size, p)
        scale = 1 / (p * math.comb(k - 1, size - 1) + math.comb(k - 1, size))
        both = math.comb(k - 2, size - 2) if size >= 2 else 0
        one, neither = math.comb(k - 2, size - 1), math.comb(k - 2, size)
        closed = one * scale, both * scale, neither * scale
    if family == "hash":
        g, c0 = row["g"], exact(row["collision"])
        outputs = hash_outputs(g, c0, p)
        scale = 1 / (p + g - 1)
        closed = (1 - c0) * scale, c0 * scale, ((1 - c0) * (g - 2) + c0 * (g - 1)) * scale
    law = four_masses(outputs, p)
    for got, want in zip(law, closed):
        close(got, want, mpf(10) ** -70)
    a, d, c = law
    same(p * a + a + p * d + c, mpf(1), mpf(10) ** -70)
    return p, a, d, c


def check_hash_family(g, p):
    """All functions from three inputs to g values: two inputs collide with probability 1/g."""
    functions = list(itertools.product(range(g), repeat=3))
    scale = 1 / (len(functions) * (p + g - 1))
    outputs = []
    for h in functions:
        for y in range(g):
            p0, p1 = (p if h[0] == y else 1) * scale, (p if h[1] == y else 1) * scale
            outputs.append((p0, p1, scale))
    for got, want in zip(four_masses(outputs, p), four_masses(hash_outputs(g, mpf(1) / g, p), p)):
        same(got, want, mpf(10) ** -70)


def gain_types(p, a, d, c, e):
    """The law of G = (P0 - E P1) / M as (mass, value) pairs; the missing mass has value 0."""
    types = [(a, p - e), (a, 1 - p * e), (d, p * (1 - e)), (c, 1 - e)]
    return [(mass, value) for mass, value in types if mass > 0]


def mean_positive_sum(n, types):
    """(1/n) E[(G_1 + ... + G_n)_+] by enumerating all multinomial counts."""
    rest = max(1 - sum(mass for mass, _ in types), mpf(0))
    powers = [[mass**count for count in range(n + 1)] for mass in [m for m, _ in types] + [rest]]
    total = mpf(0)

    def walk(index, left, weight, gain):
        nonlocal total
        if index == len(types):
            if gain > 0:
                total += weight * powers[index][left] * gain
            return
        value = types[index][1]
        for count in range(left + 1):
            ways = math.comb(left, count)
            walk(index + 1, left - count, weight * (ways * powers[index][count]),
                 gain + count * value)

    walk(0, n, mpf(1), mpf(0))
    return total / n


def blanket_pair(n, p, a, d, c, e):
    """H_E of the pair behind the blanket bound: the victim among n - 1 blanket users."""
    floor = [a, a, d, c, 1 - 2 * a - d - c]
    law = {(0, 0, 0, 0, 0): mpf(1)}
    for _ in range(n - 1):
        law = add_category(law, floor)
    victim0 = [p * a, a, p * d, c, mpf(0)]
    victim1 = [a, p * a, p * d, c, mpf(0)]
    return hockey_stick_of(add_category(law, victim0), add_category(law, victim1), e)


def add_category(law, probabilities):
    """The law of the histogram after one more independent categorical draw."""
    result = {}
    for counts, mass in law.items():
        for index, p in enumerate(probabilities):
            if p:
                key = counts[:index] + (counts[index] + 1,) + counts[index + 1 :]
                result[key] = result.get(key, 0) + mass * p
    return result


def third_symbol_delta(n, k, p, e):
    """H_E for k-ary response when the n - 1 others hold a third symbol; histogram enumerated.

    The symbols beyond the third have the same probability for everybody and merge into one cell.
    """
    f = 1 / (p + k - 3 + 2)
    law = {(0, 0, 0, 0): mpf(1)}
    for _ in range(n - 1):
        law = add_category(law, [f, f, p * f, (k - 3) * f])
    one = add_category(law, [p * f, f, f, (k - 3) * f])
    two = add_category(law, [f, p * f, f, (k - 3) * f])
    return hockey_stick_of(one, two, e)


def third_symbol_types(k, p, e):
    """The same divergence as a mean positive sum, by size-biasing the multinomial law."""
    f = 1 / (p + k - 1)
    types = [(f, p - e), (f, 1 - p * e), (p * f, (1 - e) / p), ((k - 3) * f, 1 - e)]
    return [(mass, value) for mass, value in types if mass > 0]


def large_mean_positive_sum(n, a, p, e, share, value, other, floor):
    """(1/n) E[(sum G)_+] for large n: two symmetric types of mass a with values p - E and 1 - p E.

    Of the remaining users a fraction `share` has the first value, the rest the other one. Given the
    number c of the symmetric types, A ~ Bin(c, 1/2) enters as (p-1)(E+1) (A - tau)_+, which suffix
    sums of the law of A give for every tau.
    """
    half, slope = mpf(1) / 2, (p - 1) * (e + 1)
    first, crowd = binomial(n, 2 * a, floor)
    total = mpf(0)
    for c, mass in enumerate(crowd, start=first):
        start, fair = binomial(c, half, floor)
        tails = list(itertools.accumulate(reversed(fair)))[::-1]
        moments = list(itertools.accumulate(
            y * (start + i) for i, y in reversed(list(enumerate(fair)))))[::-1]
        x, counts = binomial(n - c, share, floor)
        tau = (c * (p * e - 1) - x * value - (n - c - x) * other) / slope
        step = (other - value) / slope
        inner = mpf(0)
        for weight in counts:
            index = int(tau) + 1 - start
            if index < 0:
                inner += weight * (moments[0] - tau * tails[0])
            elif index < len(fair):
                inner += weight * (moments[index] - tau * tails[index])
            tau += step
        total += mass * inner
    return slope * total / n


def kary_large(n, k, p, e, floor=mpf(10) ** -36):
    """(blanket, third-symbol lower value) of k-ary response for large n, k >= 3."""
    a = 1 / (p + k - 1)
    upper = large_mean_positive_sum(n, a, p, e, (k - 2) * a / (1 - 2 * a), 1 - e, mpf(0), floor)
    lower = large_mean_positive_sum(n, a, p, e, p / (p + k - 3), (1 - e) / p, 1 - e, floor)
    return upper, lower


BLANKET_FAMILIES = [
    ("kary", {"k": 2, "epsilon0": 1.0}), ("kary", {"k": 3, "epsilon0": 1.0}),
    ("kary", {"k": 10, "epsilon0": 4.0}), ("kary", {"k": 100, "epsilon0": 2.0}),
    ("subset", {"k": 4, "size": 2, "epsilon0": 1.0}),
    ("subset", {"k": 8, "size": 3, "epsilon0": 2.0}),
    ("subset", {"k": 5, "size": 1, "epsilon0": 0.5}),
    ("unary", {"keep": 0.75, "flip": 0.25}), ("unary", {"keep": 0.5, "flip": 0.2}),
    ("unary", {"keep": 0.9, "flip": 0.05}),
    ("hash", {"g": 2, "collision": 0.5, "epsilon0": 1.0}),
    ("hash", {"g": 4, "collision": 0.25, "epsilon0": 2.0}),
    ("hash", {"g": 3, "collision": 0.0, "epsilon0": 1.0}),
    ("hash", {"g": 5, "collision": 0.125, "epsilon0": 3.0}),
]
# (k, epsilon0, epsilons) for n = 1000.
BLANKET_LARGE = [
    (3, 1.0, [0.09, 0.17]), (3, 4.0, [1.5, 2.7]), (10, 1.0, [0.06, 0.1029545]),
    (10, 4.0, [1.0, 1.99688]), (100, 1.0, [0.02, 0.0341242]), (100, 4.0, [0.4, 0.6]),
]


def blanket_rows():
    """Privacy-blanket values of concrete randomizers."""
    check_hash_family(2, mpf(3))
    check_hash_family(3, mpf(5))
    rows = []
    for family, parameters in BLANKET_FAMILIES:
        law = family_law(family, parameters)
        for n in [1, 2, 3, 5, 10, 30]:
            for epsilon in blanket_epsilons(n, law):
                row = blanket_row(family, parameters, law, n, epsilon)
                if row["delta"] > 1e-18:
                    rows.append(row)
    for k, epsilon0, epsilons in BLANKET_LARGE:
        for epsilon in epsilons:
            upper, lower = kary_large(1000, k, odds(epsilon0), odds(epsilon))
            assert mpf(10) ** -13 < lower <= upper < mpf(10) ** -2
            rows.append({"family": "kary", "k": k, "epsilon0": epsilon0, "n": 1000,
                         "epsilon": epsilon, "delta": nearest(upper),
                         "delta_lower": nearest(lower)})
    return rows


def blanket_epsilons(n, law):
    """Fractions of the local epsilon; more of the small ones for larger crowds."""
    local = float(mp.log(law[0]))
    fractions = {1: [0.5, 0.999], 2: [0.25, 0.99], 3: [0.5, 0.9], 5: [0.1, 0.95], 10: [0.3, 0.8]}
    return [significant(local * fraction, 4) for fraction in fractions.get(n, [0.35, 0.6, 0.85])]


def blanket_row(family, parameters, law, n, epsilon):
    """One row for a small crowd."""
    p, e = law[0], odds(epsilon)
    delta = mean_positive_sum(n, gain_types(*law, e))
    if n <= 5:
        same(delta, blanket_pair(n, *law, e))
    row = {"family": family, **parameters, "n": n, "epsilon": epsilon, "delta": nearest(delta)}
    if family == "kary" and parameters["k"] >= 3:
        k = parameters["k"]
        lower = third_symbol_delta(n, k, p, e) if n <= 10 else None
        biased = mean_positive_sum(n, third_symbol_types(k, p, e))
        if lower is not None:
            same(lower, biased)
        assert biased <= delta * (1 + AGREE)
        if n == 30:
            large = kary_large(n, k, p, e, DEEP_FLOOR)
            same(large[0], delta, mpf(10) ** -30)
            same(large[1], biased, mpf(10) ** -30)
        row["delta_lower"] = nearest(biased)
    return row


# ------------------------------------------------------------------------------------------------
# channels.json
# ------------------------------------------------------------------------------------------------


def random_channel(generator, inputs, alphabet):
    """A random extremal channel: columns proportional to vectors of entries 1 and p.

    Entries are rounded to multiples of 2**-50 such that every row sums to exactly one; the local
    epsilon is then a double not below the largest log ratio of the rounded entries.
    """
    while True:
        p = Fraction(generator.choice([3, 4, 6, 8, 12, 20, 40]), 2)
        patterns = list(itertools.product([Fraction(1), p], repeat=inputs))
        columns = generator.sample(patterns, min(alphabet, len(patterns)))
        weights = column_weights(columns, inputs, p, generator)
        if weights is None:
            continue
        channel = [[w * column[x] for w, column in zip(weights, columns)] for x in range(inputs)]
        channel = [dyadic_row(row) for row in channel]
        if len({tuple(row) for row in channel}) >= 2:
            return channel, local_epsilon(channel)


def column_weights(columns, inputs, p, generator):
    """Positive weights that make every row sum to one, or None."""
    free = max(0, len(columns) - inputs)
    chosen = [Fraction(generator.randint(1, 30), 100) / p for _ in range(free)]
    right = [1 - sum(w * column[x] for w, column in zip(chosen, columns)) for x in range(inputs)]
    rest = columns[free:]
    solved = solve_linear([[column[x] for column in rest] for x in range(inputs)], right)
    if solved is None or min(solved) <= 0:
        return None
    return chosen + solved


def solve_linear(matrix, right):
    """The unique solution of a consistent linear system in fractions, or None."""
    rows = [row + [value] for row, value in zip(matrix, right)]
    width = len(matrix[0])
    for column in range(width):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for r, row in enumerate(rows):
            if r != column and row[column]:
                rows[r] = [x - row[column] * y for x, y in zip(row, rows[column])]
    if any(row[-1] for row in rows[width:]):
        return None
    return [row[-1] for row in rows[:width]]


def dyadic_row(row):
    """The row on the grid of 2**-50, the largest entry absorbing the rounding."""
    grid = [Fraction(round(x * 2**50), 2**50) for x in row]
    largest = max(range(len(grid)), key=lambda i: grid[i])
    grid[largest] += 1 - sum(grid)
    assert sum(grid) == 1 and all(Fraction(float(x)) == x for x in grid)
    return grid


def local_epsilon(channel):
    """A double at or just above the largest log ratio within a column."""
    columns = list(zip(*channel))
    ratio = as_mpf(max(max(column) / min(column) for column in columns))
    epsilon = nearest(mp.log(ratio))
    while odds(epsilon) < ratio:
        epsilon = math.nextafter(epsilon, math.inf)
    return epsilon


def channel_delta(channel, n, e):
    """Exact worst case over ordered pairs of the user's inputs and all multisets of the others'."""
    inputs = range(len(channel))
    empty = {(0,) * len(channel[0]): Fraction(1)}
    worst = mpf(0)
    for others in itertools.combinations_with_replacement(inputs, n - 1):
        law = empty
        for x in others:
            law = add_category(law, channel[x])
        laws = [add_category(law, channel[x]) for x in inputs]
        laws = [{y: as_mpf(mass) for y, mass in law.items()} for law in laws]
        for x, other in itertools.permutations(inputs, 2):
            worst = max(worst, hockey_stick_of(laws[x], laws[other], e))
    return worst


def channel_rows():
    """Random channels, exact, below the strong clone bound."""
    generator = random.Random(20)
    rows = []
    for index in range(64):
        inputs, n = 2 + index % 3, 1 + index % 5
        channel, epsilon0 = random_channel(generator, inputs, generator.randint(2, 5))
        fraction = generator.choice([0.0, 0.1, 0.25, 0.4, 0.6, 0.8, 0.95])
        epsilon = significant(epsilon0 * fraction, 4)
        delta = channel_delta(channel, n, odds(epsilon))
        law, other = clone_laws(n, epsilon0, blanket_weight("strong", epsilon0))
        bound = hockey_stick_of(law, other, odds(epsilon))
        # Equality is possible, and epsilon0 is rounded up.
        assert delta <= bound
        rows.append({"channel": [[nearest(x) for x in row] for row in channel],
                     "epsilon0": epsilon0, "n": n, "epsilon": epsilon, "delta": nearest(delta),
                     "bound": nearest(bound)})
    return rows


# ------------------------------------------------------------------------------------------------
# published.json
# ------------------------------------------------------------------------------------------------


def thm7_general(epsilon0, n, delta):
    """Amplification by shuffling, general form."""
    step = 2 * mp.exp(2 * mpf(epsilon0)) * mp.expm1(mpf(epsilon0)) / n
    return step * mp.sqrt(2 * n * mp.log(1 / mpf(delta))) + n * step * mp.expm1(step)


def thm7_second(epsilon0, n, delta):
    """Second form, for epsilon0 <= ln(n/4) / 3."""
    growth = mp.exp(2 * mpf(epsilon0)) * mp.expm1(mpf(epsilon0))
    return growth * mp.sqrt(8 * mp.log(1 / mpf(delta)) / n) + 6 * growth**2 / n


def thm7_third(epsilon0, n, delta):
    """Third form, for n >= 1000, epsilon0 < 1/2, delta < 1/100."""
    return 12 * mpf(epsilon0) * mp.sqrt(mp.log(1 / mpf(delta)) / n)


def thm7_rho(epsilon0, n):
    """zCDP parameter of the remark on Renyi divergence."""
    return 2 * mp.exp(4 * mpf(epsilon0)) * mp.expm1(mpf(epsilon0)) ** 2 / n


def rdp_epsilon(rho, delta):
    """min over alpha > 1 of alpha rho + ln(1 - 1/alpha) + (ln(1/delta) - ln alpha)/(alpha - 1).

    The derivative has the sign of rho (alpha-1)^2 - ln(1/(delta alpha)), which is increasing.
    """
    budget = mp.log(1 / mpf(delta))

    def value(alpha):
        return alpha * rho + mp.log1p(-1 / alpha) + (budget - mp.log(alpha)) / (alpha - 1)

    def excess(alpha):
        return mp.log(alpha) - budget + rho * (alpha - 1) ** 2

    best = 1 + mp.exp(solve_decreasing(lambda x: -excess(1 + mp.exp(x)), mpf(0), -80, budget, 220))
    least = value(best)
    for alpha in [best * (1 + mpf(10) ** -20), best * 2, 1 + (best - 1) / 2]:
        assert value(alpha) > least
    return least


def fmt_closed(epsilon0, n, delta):
    """Closed form of the standard clones, for n >= 16 e^epsilon0 ln(4/delta)."""
    p = mp.exp(mpf(epsilon0))
    a = 8 * mp.sqrt(p * mp.log(4 / mpf(delta)) / n) + 8 * p / n
    return mp.log1p(a * (1 - 1 / p) / (1 + 1 / (p * (1 + a))))


def fmt_simple(epsilon0, n, delta):
    """The same with the smaller fraction (p-1)/(p+1)."""
    p = mp.exp(mpf(epsilon0))
    a = 8 * mp.sqrt(p * mp.log(4 / mpf(delta)) / n) + 8 * p / n
    return mp.log1p(a * (p - 1) / (p + 1))


def cor17(n, lam, delta):
    """Epsilon of the bit-sum protocol, for 14 ln(4/delta) <= lambda <= n."""
    lam, delta = mpf(lam), mpf(delta)
    s = lam - mp.sqrt(2 * lam * mp.log(2 / delta))
    return mp.sqrt(32 * mp.log(4 / delta) / s) * (1 - s / n)


def lemma18(n, epsilon, delta):
    """Lambda that suffices for (epsilon, delta)."""
    epsilon, budget = mpf(epsilon), mp.log(4 / mpf(delta))
    if epsilon >= mp.sqrt(192 * budget / n):
        return 64 * budget / epsilon**2
    return n - epsilon * mpf(n) ** mpf("1.5") / mp.sqrt(432 * budget)


def lemma18_range(n, delta):
    """(least epsilon, epsilon where the two branches meet)."""
    budget = mp.log(4 / mpf(delta))
    return mp.sqrt(3456) / n * budget, mp.sqrt(192 * budget / n)


def claim14(size, delta):
    """Epsilon, at delta/2, of a fixed set of uniform bits, for size > 8 ln(4/delta)."""
    return mp.log1p(mp.sqrt(32 * mp.log(4 / mpf(delta)) / size))


def claim15(n, size, delta):
    """Epsilon, at delta/2, of a random set of uniform bits, for size > 8 ln(4/delta)."""
    return mp.sqrt(32 * mp.log(4 / mpf(delta)) / size) * (1 - mpf(size) / n)


def thm23_epsilon0(epsilon, delta, r):
    """Share of epsilon per bit of the real-sum protocol."""
    return mpf(epsilon) / mp.sqrt(8 * r * mp.log(2 / mpf(delta)))


def advanced(epsilon, rounds, delta):
    """Advanced composition."""
    epsilon = mpf(epsilon)
    root = mp.sqrt(2 * rounds * mp.log(1 / mpf(delta)))
    return epsilon * mp.expm1(epsilon) * rounds + epsilon * root


def rappor_bits(f, p, q):
    """(P(1 | true bit 1), P(1 | true bit 0)) of one report."""
    f, p, q = mpf(f), mpf(p), mpf(q)
    middle = f * (p + q) / 2
    return middle + (1 - f) * q, middle + (1 - f) * p


def rappor_one(hashes, f, p, q):
    """Epsilon of one report."""
    on, off = rappor_bits(f, p, q)
    return hashes * abs(mp.log(on * (1 - off) / (off * (1 - on))))


def rappor_forever(hashes, f):
    """Epsilon of the permanent bits, a bound for any number of reports."""
    f = mpf(f)
    return 2 * hashes * mp.log((1 - f / 2) / (f / 2))


def rappor_many(hashes, f, p, q, reports):
    """Epsilon of several reports on one value: per differing bit, the counts are enumerated."""
    f, p, q = mpf(f), mpf(p), mpf(q)

    def loss(s):
        on = q**s * (1 - q) ** (reports - s)
        off = p**s * (1 - p) ** (reports - s)
        return mp.log(((1 - f / 2) * on + f / 2 * off) / (f / 2 * on + (1 - f / 2) * off))

    losses = [loss(s) for s in range(reports + 1)]
    return hashes * (max(losses) - min(losses))


def check_rappor_by_enumeration():
    """All Bloom patterns of two bits among six, all reports: the two closed forms are exact."""
    f, p, q = 0.5, 0.5, 0.75
    patterns = [sum(1 << i for i in pair) for pair in itertools.combinations(range(6), 2)]
    on, off = rappor_bits(f, p, q)
    kept, turned = 1 - mpf(f) / 2, mpf(f) / 2
    cases = [(on, off, rappor_one(2, f, p, q)), (kept, turned, rappor_forever(2, f))]
    for high, low, want in cases:
        worst = mpf(0)
        for report in range(64):
            laws = [likelihood(report, pattern, high, low) for pattern in patterns]
            worst = max(worst, mp.log(max(laws) / min(laws)))
        same(worst, want)


def likelihood(report, pattern, high, low):
    """P(report | pattern) for six independent bits."""
    result = mpf(1)
    for i in range(6):
        chance = high if pattern >> i & 1 else low
        result *= chance if report >> i & 1 else 1 - chance
    return result


def published_rows():
    """Closed forms from the literature, inside their ranges."""
    check_rappor_by_enumeration()
    rows = []

    def row(name, inputs, value):
        rows.append({"name": name, **inputs, "value": nearest(value)})

    for epsilon0, n, delta in itertools.product(
            [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0], [1000, 10**4, 10**6, 10**8], [1e-6, 1e-9]):
        inputs = {"epsilon0": epsilon0, "n": n, "delta": delta}
        add_amplification_rows(row, inputs)
    row("thm7_general", {"epsilon0": 0.5, "n": 1425, "delta": 1e-6}, thm7_general(0.5, 1425, 1e-6))
    row("thm7_third", {"epsilon0": 0.25, "n": 1990, "delta": 0.009}, thm7_third(0.25, 1990, 0.009))
    row("fmt_closed", {"epsilon0": 4.0, "n": 10**5, "delta": 1e-6}, fmt_closed(4.0, 10**5, 1e-6))
    for n, lam, delta in [(1000, 500.0, 1e-3), (1000, 1000.0, 1e-6), (10**4, 972.9, 1e-6),
                          (10**5, 3891.7, 1e-6), (10**6, 2e5, 1e-9), (100, 58.0, 0.07)]:
        assert 14 * mp.log(4 / mpf(delta)) <= lam <= n
        row("cor17", {"n": n, "lambda": lam, "delta": delta}, cor17(n, lam, delta))
    for n, epsilon, delta in itertools.product(
            [1000, 10**4, 10**5, 10**6], [0.01, 0.1, 0.17, 0.2, 0.5, 0.95], [1e-6, 1e-9]):
        if n >= 14 * mp.log(4 / mpf(delta)) and lemma18_range(n, delta)[0] < epsilon < 1:
            row("lemma18", {"n": n, "epsilon": epsilon, "delta": delta}, lemma18(n, epsilon, delta))
    for size, delta in [(50, 0.01), (200, 1e-3), (1000, 1e-6), (10**5, 1e-9)]:
        assert size > 8 * mp.log(4 / mpf(delta))
        row("claim14", {"size": size, "delta": delta}, claim14(size, delta))
        for n in [size, 2 * size, 50 * size]:
            inputs = {"n": n, "size": size, "delta": delta}
            row("claim15", inputs, claim15(n, size, delta))
    for epsilon, delta, r in [(0.9, 1e-6, 32), (0.5, 1e-6, 50), (0.99, 1e-6, 100), (0.9, 1e-6, 317),
                              (0.25, 1e-9, 1), (0.75, 1e-9, 1000)]:
        inputs = {"epsilon": epsilon, "delta": delta, "r": r}
        row("thm23_eps0", inputs, thm23_epsilon0(epsilon, delta, r))
    for mu, epsilon in itertools.product(
            [0.05, 0.2, 0.5, 1.0, 3.0], [0.0, 0.1, 0.5, 1.0, 2.0, 5.0]):
        value = gaussian_delta(mu, epsilon)
        if value > mpf(10) ** -300:
            row("gdp_delta", {"mu": mu, "epsilon": epsilon}, value)
    for epsilon, rounds, delta in [(0.1, 10, 1e-6), (0.1, 10**4, 1e-6), (0.5, 400, 1e-6),
                                   (1.0, 100, 1e-6), (0.01, 1000, 1e-9), (0.001, 10**6, 1e-12)]:
        inputs = {"epsilon": epsilon, "rounds": rounds, "delta": delta}
        row("advanced", inputs, advanced(epsilon, rounds, delta))
    add_rappor_rows(row)
    for epsilon, n in [(0.1, 1000), (1.0, 10**4), (0.5, 10**6), (2.0, 1), (0.0, 7)]:
        row("local_floor", {"epsilon": epsilon, "n": n}, mpf(epsilon) + mp.log(n))
    for n, lam in [(100, 58.0), (1000, 64.0), (10**6, 1000.0), (10**9, 64.0)]:
        flip = flip_probability(n, lam)
        row("bit_sum_local", {"n": n, "lambda": lam}, mp.log((1 - flip) / flip))
    return rows


def add_amplification_rows(row, inputs):
    """Amplification bounds for one triple, each inside its range."""
    epsilon0, n, delta = inputs.values()
    row("thm7_general", inputs, thm7_general(**inputs))
    if epsilon0 <= mp.log(mpf(n) / 4) / 3:
        row("thm7_second", inputs, thm7_second(**inputs))
        assert thm7_general(**inputs) <= thm7_second(**inputs)
    if n >= 1000 and epsilon0 < 0.5 and delta < 0.01:
        row("thm7_third", inputs, thm7_third(**inputs))
    rho = thm7_rho(epsilon0, n)
    row("thm7_rdp", {**inputs, "rho": nearest(rho)}, rdp_epsilon(rho, delta))
    row("thm7_zcdp", inputs, rho + 2 * mp.sqrt(rho * mp.log(1 / mpf(delta))))
    if n >= 16 * mp.exp(mpf(epsilon0)) * mp.log(4 / mpf(delta)):
        row("fmt_closed", inputs, fmt_closed(**inputs))
        row("fmt_simple", inputs, fmt_simple(**inputs))


def add_rappor_rows(row):
    """Single, repeated and unlimited RAPPOR reports."""
    for hashes, f, p, q in [(4, 0.5, 0.5, 0.75), (2, 0.5, 0.5, 0.75), (4, 0.5, 0.25, 0.75),
                            (1, 0.25, 0.35, 0.65), (3, 0.9, 0.1, 0.8)]:
        inputs = {"hashes": hashes, "f": f, "p": p, "q": q}
        row("rappor_one", inputs, rappor_one(**inputs))
        if (p, q) != (0.25, 0.75):
            row("rappor_forever", {"hashes": hashes, "f": f}, rappor_forever(hashes, f))
        for reports in [1, 2, 5, 10, 50]:
            value = rappor_many(**inputs, reports=reports)
            if reports == 1:
                same(value, rappor_one(**inputs))
            assert value < rappor_forever(hashes, f)
            row("rappor_many", {**inputs, "reports": reports}, value)


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
    rows = []
    for n, lambdas in TRADEOFF_GRID:
        for lam in lambdas:
            curves = list(bit_sum_tradeoffs(n, lam))
            for alpha in TRADEOFF_ALPHAS:
                forward = min(tradeoff_at(points, exact(alpha)) for points in curves[::2])
                backward = min(tradeoff_at(points, exact(alpha)) for points in curves[1::2])
                close(forward, backward)
                rows.append({"n": n, "lambda": lam, "alpha": alpha, "beta": nearest(forward)})
    return rows


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
    return [{"n": n, "lambda": lam, "mu": nearest(mu_star(n, lam))}
            for n, lambdas in MU_STAR_GRID for lam in lambdas]


# ------------------------------------------------------------------------------------------------
# compose.json
# ------------------------------------------------------------------------------------------------


def response_delta(epsilon0, rounds, epsilon):
    """Exact delta of binary randomized response used `rounds` times.

    The other law is the first times e^-loss, which a window of its own would cut off where e^epsilon
    still brings it back.
    """
    p = mp.exp(mpf(epsilon0))
    first, masses = binomial(rounds, p / (p + 1), DEEP_FLOOR)
    total = mpf(0)
    for truths, mass in enumerate(masses, first):
        loss = (2 * truths - rounds) * mpf(epsilon0)
        if loss > epsilon:
            total += mass * (1 - mp.exp(mpf(epsilon) - loss))
    return total


def clone_atoms(n, epsilon0):
    """The strong clone pair, outcomes with equal likelihood ratio merged: [(P, Q), ...]."""
    law, other = clone_laws(n, epsilon0, blanket_weight("strong", epsilon0))
    merged = {}
    for a, b in law:
        key = Fraction(a, a + b)
        p, q = merged.get(key, (mpf(0), mpf(0)))
        merged[key] = p + law[a, b], q + other[a, b]
    return [merged[key] for key in sorted(merged)]


def product_delta(atoms, rounds, epsilon):
    """H_E of the product of identical pairs, over all multisets of atoms."""
    e = odds(epsilon)
    total = mpf(0)
    for chosen in itertools.combinations_with_replacement(range(len(atoms)), rounds):
        ways = math.factorial(rounds)
        for index in set(chosen):
            ways //= math.factorial(chosen.count(index))
        p = mp.fprod(atoms[i][0] for i in chosen)
        q = mp.fprod(atoms[i][1] for i in chosen)
        if p > e * q:
            total += ways * (p - e * q)
    return total


def compose_rows():
    """Exact compositions."""
    rows = []
    for epsilon0 in [0.1, 0.25, 0.5, 1.0]:
        for rounds in [1, 2, 3, 10, 100, 1000, 10**4]:
            mean = rounds * epsilon0 * math.tanh(epsilon0 / 2)
            sd = epsilon0 * math.sqrt(rounds) / math.cosh(epsilon0 / 2)
            for z in [0.0, 1.5, 4.0, 6.0] if rounds >= 100 else [0.2, 0.9]:
                epsilon = significant(mean + z * sd if rounds >= 100 else rounds * epsilon0 * z, 5)
                delta = response_delta(epsilon0, rounds, epsilon)
                if delta > mpf(10) ** -300:
                    rows.append({"kind": "response", "epsilon0": epsilon0, "rounds": rounds,
                                 "epsilon": epsilon, "delta": nearest(delta)})
    for epsilon0, rounds, epsilon in [(0.1, 10**4, 74.3), (0.5, 400, 74.6), (1.0, 100, 75.3)]:
        delta = response_delta(epsilon0, rounds, epsilon)
        rows.append({"kind": "response", "epsilon0": epsilon0, "rounds": rounds,
                     "epsilon": epsilon, "delta": nearest(delta)})
    for n, epsilon0, rounds in itertools.product([2, 3, 5], [0.5, 1.0, 2.0], [1, 2, 3, 4]):
        atoms = clone_atoms(n, epsilon0)
        for fraction in [0.1, 0.45, 0.85, 0.99]:
            epsilon = significant(epsilon0 * fraction * rounds, 4)
            delta = product_delta(atoms, rounds, epsilon)
            if rounds == 1:
                weight = blanket_weight("strong", epsilon0)
                close(delta, clone_delta(n, epsilon0, weight, epsilon))
            rows.append({"kind": "clone", "n": n, "epsilon0": epsilon0, "rounds": rounds,
                         "epsilon": epsilon, "delta": nearest(delta)})
    for mu, rounds, epsilon in [(0.1, 1, 0.1), (0.1, 100, 1.0), (0.02, 10**4, 4.0), (0.5, 4, 3.0),
                                (0.01, 10, 0.1), (1.0, 9, 20.0), (0.003, 10**6, 15.0)]:
        delta = gaussian_delta(exact(mu) * mp.sqrt(rounds), epsilon)
        rows.append({"kind": "gaussian", "mu": mu, "rounds": rounds, "epsilon": epsilon,
                     "delta": nearest(delta)})
    return rows


# ------------------------------------------------------------------------------------------------
# longitudinal.json
# ------------------------------------------------------------------------------------------------


def client_law(changes, level, chosen, truth):
    """Law of the reported signs at one level when the chosen change is the one to be kept.

    Follows the client step by step: remember the chosen change, and at each multiple of
    2**(level-1) report it through the biased coin once, or a uniform sign if there is none.
    """
    law = {(): mpf(1)}
    seen = pending = 0
    for t, x in enumerate(changes, start=1):
        if x != 0:
            seen += 1
            if seen == chosen:
                pending = x
        if t % 2 ** (level - 1) == 0:
            plus = mpf(1) / 2 if pending == 0 else truth if pending == 1 else 1 - truth
            pending = 0
            law = {signs + (u,): mass * (plus if u == 1 else 1 - plus)
                   for signs, mass in law.items() for u in (-1, 1)}
    return law


def longitudinal_exact(periods, bound, coin):
    """The largest log ratio over all inputs with at most `bound` changes and all outputs."""
    c = mp.exp(exact(coin))
    truth = c / (1 + c)
    inputs = [x for x in itertools.product([-1, 0, 1], repeat=periods)
              if sum(map(abs, x)) <= bound]
    worst = mpf(0)
    # The level is drawn independently of the input and revealed, so each level counts alone.
    for level in range(1, periods.bit_length() + 1):
        highest, lowest = {}, {}
        for x in inputs:
            laws = [client_law(x, level, chosen, truth) for chosen in range(1, bound + 1)]
            for signs in laws[0]:
                mass = sum(law[signs] for law in laws)
                highest[signs] = max(highest.get(signs, mass), mass)
                lowest[signs] = min(lowest.get(signs, mass), mass)
        worst = max([worst] + [mp.log(highest[signs] / lowest[signs]) for signs in highest])
    return worst


def longitudinal_rows():
    """Local privacy of the whole output sequence of the longitudinal client."""
    rows = []
    for periods in [1, 2, 4, 8]:
        for bound in range(1, min(3, periods) + 1):
            coins = [0.25, 0.5, 1.0, 2.0] if periods < 8 else [0.5, 1.0]
            for coin in coins:
                value = longitudinal_exact(periods, bound, coin)
                rows.append({"periods": periods, "changes": bound, "coin_epsilon": coin,
                             "exact": nearest(value)})
    return rows


# ------------------------------------------------------------------------------------------------
# Reference numbers
# ------------------------------------------------------------------------------------------------


class Reference:
    """Compares computed values with the printed reference numbers, digit by digit."""

    def __init__(self):
        self.count = 0

    @staticmethod
    def unit(text):
        """One unit in the last printed digit."""
        mantissa, _, exponent = text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return mpf(10) ** (int(exponent or 0) - decimals)

    def value(self, text, computed, units="0.51"):
        """The computed value rounds to the printed one, which itself is a rounded double."""
        self.count += 1
        slack = max(self.unit(text) * mpf(units), abs(computed) * mpf(10) ** -13)
        message = f"printed {text}, computed {mp.nstr(computed, 15)}"
        assert abs(computed - mpf(text)) <= slack, message

    def root(self, text, profile, target, units="0.51"):
        """A decreasing function crosses the target within the printed digits of its argument."""
        self.count += 1
        half = self.unit(text) * mpf(units)
        before, after = profile(mpf(text) - half), profile(mpf(text) + half)
        message = f"printed {text}, values {mp.nstr(before, 8)} to {mp.nstr(after, 8)}"
        assert before >= target >= after, message


def check_reference():
    """Compares with every reference number of the project that this program can compute."""
    ref = Reference()
    check_bit_sum_reference(ref)
    check_calibration_reference(ref)
    check_gaussian_reference(ref)
    check_real_sum_reference(ref)
    check_lecture_reference(ref)
    check_two_message_reference(ref)
    check_amplification_reference(ref)
    check_tradeoff_reference(ref)
    check_composition_reference(ref)
    check_clone_reference(ref)
    return ref.count


def homogeneous_pairs(n, flip, ones=range(11), floor=mpf(10) ** -30):
    """Laws (bit 0, bit 1) for few ones among the others: near the worst datasets."""
    for t in ones:
        others = binomial(n - 1 - t, flip, floor)
        for _ in range(t):
            others = plus_bit(others, 1 - flip)
        yield plus_bit(others, flip), plus_bit(others, 1 - flip)


def near_worst(n, flip, epsilon, ones=range(11)):
    """The largest delta over those datasets, in the worse direction."""
    e = mp.exp(mpf(epsilon))
    return max(hockey_stick(zeros, one, e) for zeros, one in homogeneous_pairs(n, flip, ones))


def sum_deviation(n, lam):
    """Standard deviation of the unbiased estimate of the bit sum."""
    lam = mpf(lam)
    return n / (n - lam) * mp.sqrt(lam / 2 * (1 - lam / (2 * n)))


def check_bit_sum_reference(ref):
    """Exact deltas of the bit-sum protocol."""
    for n, lam, epsilon, text, t in [
            (3, 1.0, 0.5, "0.387879482557856", None), (10, 2.0, 0.5, "0.285007027079552", {8}),
            (20, 10.0, 0.5, "0.00752137642489208", {18}),
            (50, 20.0, 0.25, "0.0184796596453712", {48}),
            (100, 58.0, 0.25, "0.000228153603982162", {1, 98}),
            (100, 58.0, 0.5, "3.51337176243078e-8", None), (100, 58.0, 0.0, "0.03706", None),
            (100, 30.0, 0.5, "0.001561", {98}), (20, 2.0, 0.1, "0.4018", {11}),
            (300, 3.0, 0.5, "0.24788", None), (20, 2.0, 0.1, "0.40182", None),
            (100, 58.0, 0.1, "7.72e-3", None), (100, 58.0, 0.25, "2.28e-4", None)]:
        delta, argument, _ = bit_sum_worst(n, lam, [epsilon], both=n <= 100)[0]
        ref.value(text, delta)
        assert t is None or argument in t
    for n, lam, epsilon, text in [
            (20, 10.0, 0.5, "0.00702438093657745"), (50, 20.0, 0.25, "0.01798145"),
            (100, 30.0, 0.5, "0.001532"), (20, 2.0, 0.1, "0.3376"),
            (100, 58.0, 0.0, "0.0368074252377569")]:
        ref.value(text, bit_sum_worst(n, lam, [epsilon])[0][2])
    assert bit_sum_worst(100, 58.0, [1.0])[0][0] == 0
    flip = flip_probability(100, 58.0)
    ref.value("0.895", mp.log((1 - flip) / flip))
    profile = lambda epsilon: bit_sum_worst(100, 58.0, [epsilon], both=False)[0][0]
    for text, delta in [("0.0859", "0.01"), ("0.1943", "0.001"), ("0.4168", "1e-6")]:
        ref.root(text, profile, mpf(delta))
    for n, epsilon, claimed, text in [
            (1000, 0.25, 1e-6, "4.7e-5"), (10**4, 0.1, 1e-6, "2.4e-5"),
            (10**4, 0.5, 1e-6, "1.26e-3"), (10**5, 1.0, 1e-6, "1.03e-2"),
            (10**5, 1.0, 1e-9, "2.33e-3"), (10**5, 2.0, 1e-6, "0.178")]:
        lam = mp.log(1 / mpf(claimed)) / mpf(epsilon) ** 2
        ref.value(text, near_worst(n, lam / (2 * n), epsilon))


def check_calibration_reference(ref):
    """Lambda needed by the bit-sum protocol, and what the published rule asks for."""
    for n, epsilon, delta, least, published, deviation in [
            (1000, 0.5, 1e-6, "142.24", None, "9.48"),
            (1000, 1.0, 1e-6, "61.48", "609.8", "5.82"),
            (10**4, 0.1, 1e-6, "2002.2", "8766", "37.5"),
            (10**4, 0.25, 1e-6, "517.2", "6915", "16.7"),
            (10**4, 0.5, 1e-6, "175.3", "3830", "9.49"),
            (10**4, 1.0, 1e-6, "67.43", "972.9", "5.84"),
            (10**4, 1.0, 1e-9, "112.8", "1415", "7.58"),
            (10**5, 1.0, 1e-6, "68.08", "972.9", "5.84"),
            (10**6, 0.1, 1e-6, "2805", "97292", "37.5"),
            (10**6, 1.0, 1e-6, "68.13", "972.9", "5.84")]:
        # The printed lambda is the upper end of a bisection, hence a whole unit.
        profile = lambda lam: near_worst(n, lam / (2 * n), epsilon)
        ref.root(least, profile, mpf(delta), "1.01")
        ref.value(deviation, sum_deviation(n, least), "1.01")
        if published is None:
            assert lemma18_range(n, delta)[0] > epsilon
        else:
            ref.value(published, lemma18(n, epsilon, delta))
    for epsilon, text in [(0.5, "3891.66205929"), (0.2, "24322.8878705"), (0.1, "60977.9079482")]:
        ref.value(text, lemma18(10**5, epsilon, 1e-6))
    least, meeting = lemma18_range(10**5, 1e-6)
    ref.value("0.00893679965", least)
    ref.value("0.170843394501", meeting)
    ref.value("0.470818139519", cor17(1000, 500.0, 1e-3))
    ref.value("1.158", cor17(100, 58, 4 * mp.exp(-mpf(58) / 14)))
    ref.value("0.0635", 4 * mp.exp(-mpf(58) / 14))
    for text, delta in [("1.60", 0.01), ("2.20", 0.001), ("4.44", 1e-6)]:
        ref.value(text, cor17(100, 58.0, delta))
    # Fewer reporters than the calibration assumed.
    for lam, n, text in [("67.69", 7500, "1.267"), ("67.69", 5000, "2.016"),
                         ("518.9", 7500, "0.296"), ("518.9", 5000, "0.378")]:
        flip = mpf(lam) / 20000
        ref.root(text, lambda epsilon: near_worst(n, flip, epsilon), mpf(10) ** -6)


def check_gaussian_reference(ref):
    """Gaussian parameters and the Gaussian profile."""
    for n, lam, text in [(100, 58.0, "0.11138848356"), (100, 30.0, "0.312252"),
                         (10, 2.0, "1.376583"), (100, 20.0, "0.488406"), (100, 90.0, "0.020418"),
                         (100, 10.0, "0.9045")]:
        ref.value(text, mu_star(n, lam))
    for n, lam, text in [(1000, 58.0, "0.45958"), (10**4, 58.0, "0.75516"),
                         (10**6, 58.0, "1.30611"), (10**6, 1000.0, "0.24022")]:
        ref.value(text, mu_star_all_zero(n, lam))
    for n, lam, text in [(100, 20, "0.26667"), (100, 30, "0.19604"), (100, 58, "0.09256"),
                         (100, 90, "0.02010"), (1000, 58, "0.17752"), (10**4, 58, "0.18489"),
                         (10**6, 58, "0.18569"), (10**6, 1000, "0.04469")]:
        b = mpf(lam) / (2 * n)
        ref.value(text, (1 - 2 * b) / mp.sqrt(n * b * (1 - b)))
    for epsilon, text in [(0, "0.3829249225480"), (0.5, "0.2384217081349"), (1, "0.1269367375066"),
                          (2, "0.0209236358211")]:
        ref.value(text, gaussian_delta(1, epsilon))
    mu = mu_star(100, 58.0)
    ref.value("0.352241", mp.sqrt(10) * mu)
    for epsilon, text in [(0, "0.04441"), (0.1, "1.18e-2"), (0.25, "5.43e-4"), (0.5, "1.05e-7"),
                          (1, "2.8e-21")]:
        ref.value(text, gaussian_delta(mu, epsilon))
    for epsilon, text in [(0.1, "0.100"), (0.3, "0.04445"), (0.5, "0.0157"), (1, "3.8e-4")]:
        ref.value(text, gaussian_delta(mp.sqrt(10) * mu, epsilon))


def mu_star_all_zero(n, lam):
    """The Gaussian parameter when all others hold 0: decided by the event of no ones at all."""
    flip = flip_probability(n, lam)
    scores = []
    none = (1 - flip) ** n
    law = none
    zeros = ones = mpf(0)
    before = mpf(0)
    others = (1 - flip) ** (n - 1)
    for j in range(1, 12):
        # zeros = P(K < j) with the user's bit 0, ones = the same with the user's bit 1.
        zeros += law
        ones += flip * others + (1 - flip) * before
        scores.append(gaussian_score(1 - zeros, zeros) - gaussian_score(1 - ones, ones))
        law = law * (n - j + 1) * flip / (j * (1 - flip))
        before, others = others, others * (n - j) * flip / (j * (1 - flip))
    assert max(scores) == scores[0]
    return scores[0]


def check_real_sum_reference(ref):
    """Lambda of the real-sum protocol and of the published route."""
    for n, epsilon, r, share, text, noise, rounding in [
            (1000, 1.0, 32, "0.01641", "452.2", "4.27", "0.49"),
            (10**4, 0.5, 50, "0.00656", "3416.5", "8.08", "1.00"),
            (10**4, 1.0, 100, "0.00928", "2372.2", "4.24", "0.50"),
            (10**5, 1.0, 317, "0.00521", "9715", "4.23", "0.50")]:
        ref.value(share, thm23_epsilon0(epsilon, 1e-6, r))
        ref.value(noise, sum_deviation(n, text) / mp.sqrt(r))
        ref.value(rounding, mp.sqrt(n) / (2 * r))
        profile = lambda lam: real_sum_near_worst(n, r, lam / (2 * n), epsilon)
        ref.root(text, profile, mpf(10) ** -6)
    ref.value("69365", least_crowd(thm23_epsilon0(1, 1e-6, 32), mpf(10) ** -6 / 64))
    assert published_route_works(340779) and not published_route_works(340778)
    n = 342478
    r = math.isqrt(n - 1) + 1
    lam = lemma18(n, thm23_epsilon0(1, 1e-6, r), mpf(10) ** -6 / (2 * r))
    ref.value("0.977", lam / n)
    ref.value("528", sum_deviation(n, lam) / mp.sqrt(r))


def least_crowd(epsilon, delta):
    """The smallest crowd for which the published rule is stated."""
    return mp.sqrt(3456) * mp.log(4 / mpf(delta)) / epsilon


def published_route_works(n):
    """Whether epsilon = 1, delta = 1e-6 with r = ceil(sqrt n) lies in the published range."""
    r = math.isqrt(n - 1) + 1
    return n > least_crowd(thm23_epsilon0(1, 1e-6, r), mpf(10) ** -6 / (2 * r))


def real_sum_near_worst(n, r, flip, epsilon):
    """Delta when all r bits change, over a few datasets and both directions."""
    e, floor = mp.exp(mpf(epsilon)), mpf(10) ** -24
    zeros, ones = binomial(r, flip, floor), binomial(r, 1 - flip, floor)
    worst = mpf(0)
    for t in {0, 1, 2, 5, r, 3 * r}:
        others = binomial((n - 1) * r - t, flip, floor)
        others = convolve(others, binomial(t, 1 - flip, floor))
        low, high = convolve(others, zeros), convolve(others, ones)
        worst = max(worst, hockey_stick(low, high, e), hockey_stick(high, low, e))
    return worst


def check_lecture_reference(ref):
    """Elementary facts about local randomizers."""
    e = mp.e
    ref.value("0.36787944", mp.exp(-1))
    ref.value("0.6321", 1 - mp.exp(-1))
    ref.value("0.9206735942077924", e / (e - 1) ** 2)
    ref.value("1.1706735942", (e + 1) ** 2 / (4 * (e - 1) ** 2))
    tenth = mp.exp(mpf("0.1"))
    ref.value("0.0999583", mp.sqrt(tenth / (10**4 * (tenth - 1) ** 2)))
    four = mp.exp(4)
    ref.value("0.269", (four + 1) ** 2 / (4 * (four - 1) ** 2))
    ref.value("2.324", mp.findroot(lambda x: (mp.coth(x / 2) / 2) ** 2 - 2 / x**2, 2.3))
    ref.value("0.2689", 1 / (e + 1))
    ref.value("1.3929556e-24", mpf(3) ** -50)
    quarter = mpf(1) / 4
    ref.value("1.2787289e-25", mp.exp(ln_binomial_pmf(100, quarter, 75)))
    ref.value("1.4350853e-25", binomial_tail(100, quarter, 75, True))
    ref.value("0.0918", mp.exp(ln_binomial_pmf(100, 1 - quarter, 75)))
    ref.value("109.861", 100 * mp.log(3))
    ref.value("54.93", 50 * mp.log(3))
    check_rappor_by_enumeration()
    ref.value("1.0742858642", rappor_one(2, 0.5, 0.5, 0.75))
    ref.value("4.3944491547", rappor_forever(2, 0.5))
    ref.value("2.14857172833", rappor_one(4, 0.5, 0.5, 0.75))
    ref.value("8.78889830934", rappor_forever(4, 0.5))
    ref.value("4.087", rappor_one(4, 0.5, 0.25, 0.75))
    for reports, text in [(1, "2.149"), (2, "4.034"), (5, "7.312"), (10, "8.599"), (50, "8.789")]:
        ref.value(text, rappor_many(4, 0.5, 0.5, 0.75, reports))
    # Ones in a report of 256 bits with four hashes.
    for p, text in [(0.5, "144.5"), (0.25, "97.0")]:
        on, off = rappor_bits(0.5, p, 0.75)
        ref.value(text, 4 * on + 252 * off)
    report = convolve(binomial(4, on, mpf(0)), binomial(252, off, mpf(0)))
    ref.value("8.8e-10", sum(report[1][145:]))
    on, off = rappor_bits(0.5, 0.5, 0.75)
    ref.value("7.9", mp.sqrt(4 * on * (1 - on) + 252 * off * (1 - off)))
    ref.value("0.0555", mpf(999) * mpf("0.1") / (2 * 1000 * mpf("0.9")))
    ref.value("0.4995", mpf(999) * mpf("0.5") / (2 * 1000 * mpf("0.5")))
    for k, positions, text in [(64, 192, "-19.80"), (128, 384, "-35.95"), (256, 768, "-67.80"),
                               (128, 394, "-40.31"), (128, 444, "-64.44"), (128, 474, "-80.51"),
                               (128, 555, "-128.47"), (256, 696, "-40.06"), (256, 759, "-64.05"),
                               (256, 797, "-80.39"), (256, 896, "-128.3")]:
        ref.value(text, mp.log(binomial_tail(positions, mpf(1) / 2, k - 1, False), 2))
    ref.value("1.50481e-11", binomial_tail(384, mpf(1) / 2, 127, False))
    ref.value("0.301989888", mp.exp(ln_binomial_pmf(10, mpf(1) / 5, 2)))


def check_two_message_reference(ref):
    """Extra-bit counting: the rule of the slides, the exact calibration, dropouts."""
    down, up, _ = two_message(1000, math.log(1e6) / 1000, 1.0)
    ref.value("0.000664185291541327", up)
    ref.value("8.4060491015e-9", down)
    worst = lambda n, p, epsilon: max(two_message(n, p, epsilon)[:2])
    for n, epsilon, delta, mean, text, root, atom in [
            (1000, 0.25, 1e-6, "221", "2.2e-5", "0.317", None),
            (1000, 0.5, 1e-6, "55.3", "5.3e-5", "0.703", None),
            (1000, 1.0, 1e-6, "13.8", "6.64e-4", "2.63", "9.1e-7"),
            (10**4, 0.5, 1e-9, "82.9", "2.2e-6", "0.765", None),
            (10**4, 1.0, 1e-9, "20.7", "6.6e-5", "3.03", "9.8e-10"),
            (10**5, 0.1, 1e-6, "1382", "1.28e-6", "0.102", None),
            (10**5, 0.1, 1e-4, "921", "1.8e-5", "0.081", None)]:
        p = mp.log(1 / mpf(delta)) / (n * mpf(epsilon) ** 2)
        ref.value(mean, n * p)
        ref.value(text, worst(n, p, epsilon))
        ref.root(root, lambda x: worst(n, p, x), mpf(delta))
        if atom:
            ref.value(atom, two_message(n, p, epsilon)[2])
    ref.value("0.0316", two_message(10**4, mp.log(10**6) / (4 * mpf(10) ** 4), 2.0)[2])
    for n, epsilon, delta, mean, constant, root, text in [
            (1000, 0.5, 1e-6, "94.51", "1.71", "0.792", "1.4e-4"),
            (1000, 1.0, 1e-6, "34.00", "2.46", "2.02", "2.4e-4"),
            (10**4, 0.1, 1e-6, "1651.8", "1.20", "0.147", "6.7e-5"),
            (10**4, 0.25, 1e-6, "285.7", "1.29", "0.378", "1.0e-4"),
            (10**4, 0.5, 1e-6, "90.28", "1.63", "0.805", "1.5e-4"),
            (10**4, 1.0, 1e-6, "34.07", "2.47", "2.03", "2.3e-4"),
            (10**4, 1.0, 1e-9, "57.37", "2.77", "1.91", "5.2e-6"),
            (10**5, 0.1, 1e-6, "1426.5", "1.03", "0.147", "6.7e-5")]:
        ref.root(mean, lambda m: worst(n, m / n, epsilon), mpf(delta))
        p = mpf(mean) / n
        ref.value(constant, mpf(mean) * mpf(epsilon) ** 2 / mp.log(1 / mpf(delta)))
        ref.root(root, lambda x: worst(n // 2, p, x), mpf(delta))
        ref.value(text, worst(n // 2, p, epsilon))
    ref.value("6.7e-7", worst(1000, 0.5, 0.25))
    for mean, text in [("2.60", "0.0709347"), ("2.65", "0.0709470"), ("2.70", "0.0707741")]:
        ref.value(text, worst(50, mpf(mean) / 50, 1.0))


def check_amplification_reference(ref):
    """Amplification bounds for general randomizers."""
    true = mpf("0.01") + mp.e * mpf("0.01")
    ref.value("0.037183", true)
    for text, computed in [
            ("0.186631832524", thm7_general(0.5, 10**4, 1e-6)),
            ("0.187253534178", thm7_second(0.5, 10**4, 1e-6)),
            ("0.111507665665", thm7_third(0.25, 10**4, 1e-6)),
            ("6.21921020142e-4", thm7_rho(0.5, 10**4)),
            ("3.568", thm7_third(8, 10**4, 1e-6)), ("1.41", thm7_third(1, 1000, 1e-6)),
            ("4.87", thm7_general(1, 1000, 1e-6)),
            ("0.1421", rdp_epsilon(thm7_rho(0.5, 10**4), 1e-6)),
            ("0.214025651931", fmt_simple(1, 10**4, 1e-6)),
            ("0.5378040242374512", fmt_closed(4, 10**5, 1e-6)),
            ("3.76300609", mp.log(10**4 / (16 * mp.log(2 * 10**6))))]:
        ref.value(text, computed)
    rho = thm7_rho(0.5, 10**4)
    ref.value("0.1860", rho + 2 * mp.sqrt(rho * mp.log(10**6)))
    for epsilon0, n in [("0.1", 184), ("0.5", 1425), ("1", 19086), ("2", 3833544)]:
        for crowd, useful in [(n, True), (n - 1, False)]:
            assert (thm7_general(mpf(epsilon0), crowd, 1e-6) < mpf(epsilon0)) == useful
        ref.count += 1
    ref.root("8.8e8", lambda n: thm7_general(3, n, 1e-6), mpf(3))
    assert 12 * mp.sqrt(mp.log(10**6) / 1990) < 1 < 12 * mp.sqrt(mp.log(10**6) / 1989)
    for n, epsilon0, exact_text, strong, standard, closed, general, renyi in [
            (1000, 0.25, "0.02643", "0.02789", "0.02972", "0.13126", "0.15656", "0.11804"),
            (1000, 0.5, "0.05685", "0.06269", "0.07052", "0.27264", "0.59871", "0.48283"),
            (10**4, 0.1, "0.00272", None, None, "0.01629", "0.01351", "0.00860"),
            (10**4, 0.5, "0.01618", "0.01812", "0.02040", "0.09387", "0.18663", "0.14212"),
            (10**4, 1.0, "0.03566", "0.04321", "0.05301", "0.21403", "1.399", "1.162"),
            (10**4, 3.0, "0.16923", "0.22608", "0.32072", "0.82411", None, None),
            (10**5, 2.0, "0.02466", "0.03319", "0.04503", "0.18619", None, None),
            (10**6, 1.0, "0.00285", "0.00351", "0.00433", "0.02350", "0.13412", "0.10022"),
            (10**6, 8.0, "0.22499", "0.30369", "0.44447", "1.00272", None, None)]:
        delta = mpf(10) ** -6
        pairs = list(homogeneous_pairs(n, 1 / (odds(epsilon0) + 1), range(3), mpf(10) ** -20))
        ref.root(exact_text, lambda x: max(hockey_stick(*pair, mp.exp(x)) for pair in pairs), delta)
        ref.value(closed, fmt_simple(epsilon0, n, 1e-6))
        for blanket, text in [("strong", strong), ("standard", standard)]:
            if text:
                weight = blanket_weight(blanket, epsilon0)
                ref.root(text, lambda x: clone_delta(n, epsilon0, weight, x, mpf(10) ** -20), delta)
        if general:
            ref.value(general, thm7_general(epsilon0, n, 1e-6))
            ref.value(renyi, rdp_epsilon(thm7_rho(epsilon0, n), 1e-6))
    pairs = list(homogeneous_pairs(10**4, 1 / (odds(8.0) + 1), range(3)))
    ref.root("7.99997", lambda x: max(hockey_stick(*pair, mp.exp(x)) for pair in pairs),
             mpf(10) ** -6)
    # The local epsilon that standard clones allow for (0.1, 1e-6) at 10^4 users.
    ref.root("1.524", lambda x: -clone_delta(10**4, x, blanket_weight("standard", x), 0.1),
             -mpf(10) ** -6)
    local = mp.exp(mpf("1.524"))
    ref.value("9.28e-3", mp.sqrt(2) / (mpf("1.524") * 100))
    ref.value("5.97e-3", mp.sqrt(local) / (local - 1) / 100)


def quantile_curve(n, p, level):
    """1 - F(F^-1(level) + 1) for Bin(n, p), left-continuous quantile, and its chord."""
    first, law = binomial(n, p)
    assert first == 0
    cumulative = list(itertools.accumulate(law))
    k = next(k for k, value in enumerate(cumulative) if value >= level)
    step = 1 - cumulative[k + 1]
    left, high = (cumulative[k - 1], 1 - cumulative[k]) if k else (mpf(0), 1 - cumulative[0])
    return step, high + (step - high) * (level - left) / (cumulative[k] - left)


def check_tradeoff_reference(ref):
    """Trade-off curves: the published curve, its counterexample, and the truth."""
    level = 1 - mpf("0.9") ** 10
    ref.value("0.6513215599", level)
    ref.value("0.0387420489", mpf("0.1") * mpf("0.9") ** 9)
    ref.value("0.0701908264", quantile_curve(10, mpf(1) / 10, level)[0])
    truth = min(tradeoff_at(points, level) for points in bit_sum_tradeoffs(10, 2.0))
    assert truth < mpf("0.0387420490")
    for n, lam, beta, curve in [(300, 3, "0.00112", "0.0652"), (1000, 10, "3.3e-5", "2.0e-3"),
                                (10**5, 20, "4.5e-9", "6.4e-6")]:
        b = mpf(lam) / (2 * n)
        ref.value(beta, b * (1 - b) ** (n - 1))
        ref.value(curve, quantile_curve(n, b, 1 - (1 - b) ** n)[0])
    # The chord of the published curve is the profile of Bin(n, b) against its shift.
    for n, b, epsilon, text in [
            (20, "0.05", 0.1, "0.35849"), (300, "0.005", 0.5, "0.22229"),
            (100, "0.29", 0, "0.08764"), (100, "0.29", 0.1, "5.0e-2"),
            (100, "0.29", 0.25, "1.80e-2"), (100, "0.29", 0.5, "1.95e-3"),
            (100, "0.29", 1, "7.6e-6")]:
        ref.value(text, max(two_message(n, mpf(b), epsilon)[:2]))
    curves = list(bit_sum_tradeoffs(100, 58.0))
    mu = mu_star(100, 58.0)
    least = 4 * mp.exp(-mpf(58) / 14)
    for text, step, chord, true, gaussian, published in [
            ("0.01", "0.97261", "0.98159", "0.98704", "0.98662", "0.90465"),
            ("0.05", "0.88889", "0.92116", "0.93912", "0.93742", "0.77728"),
            ("0.1", "0.83934", "0.85390", "0.88205", "0.87903", "0.61808"),
            ("0.2", "0.70532", "0.73146", "0.77237", "0.76738", "0.29966"),
            ("0.5", "0.36539", "0.41362", "0.46298", "0.45565", "0.13708"),
            ("0.8", "0.11391", "0.14568", "0.17443", "0.17029", "0.04287")]:
        alpha = mpf(text)
        curve = quantile_curve(100, mpf("0.29"), alpha)
        ref.value(step, curve[0])
        ref.value(chord, curve[1])
        ref.value(true, min(tradeoff_at(points, alpha) for points in curves))
        ref.value(gaussian, gaussian_tradeoff(alpha, mu))
        ref.value(published, approximate_tradeoff(alpha, cor17(100, 58, least), least))
    check_subset_count_reference(ref)
    check_columns_reference(ref)


def gaussian_tradeoff(alpha, mu):
    """Trade-off of two unit normal laws at distance mu."""
    z = normal_upper_quantile(alpha) if alpha <= mpf(1) / 2 else -normal_upper_quantile(1 - alpha)
    return 1 - normal_tail(z - mu)


def approximate_tradeoff(alpha, epsilon, delta):
    """Trade-off of an (epsilon, delta) guarantee."""
    e = mp.exp(epsilon)
    return max(mpf(0), 1 - delta - e * alpha, (1 - delta - alpha) / e)


def check_subset_count_reference(ref):
    """Fifty uniform bits plus a constant that differs by one."""
    law = binomial(50, mpf(1) / 2, mpf(0))
    above = shifted(law, 1)
    profile = lambda epsilon: hockey_stick(above, law, mp.exp(epsilon))
    ref.value("5.2399176656502e-5", profile(1))
    for text, epsilon in [("0.03306", mpf("0.25")), ("5.95e-3", mpf("0.5")),
                          ("1.76e-5", mp.log(3)), ("6.65e-10", mpf(2))]:
        ref.value(text, profile(epsilon))
    ref.value("1.08458", claim14(50, 0.01))
    ref.root("0.51764", profile, mpf("0.005"))
    least = 4 * mp.exp(-mpf(50) / 8)
    ref.value("0.00772", least)
    ref.value("1.0986", claim14(50, least))
    ref.root("0.5547", profile, least / 2)
    points = tradeoff_points_shifted(law[1])
    for text, true, published in [
            ("0.05", "0.91334", "0.84614"), ("0.1", "0.84077", "0.69614"),
            ("0.2", "0.71272", "0.39614"),
            ("0.5", "0.38988", "0.16538"), ("0.8", "0.13082", "0.06538")]:
        ref.value(true, tradeoff_at(points, mpf(text)))
        ref.value(published, approximate_tradeoff(mpf(text), mp.log(3), least / 2))
    ref.value("0.33591", quantile_curve(50, mpf(1) / 2, mpf("0.5"))[0])
    ref.value("0.44386", binomial_tail(50, mpf(1) / 2, 26, True))


def tradeoff_points_shifted(law):
    """Trade-off of Z against Z + 1, rejecting large outcomes first; Z + 1 never is 0."""
    rejected = [mpf(0)] + list(itertools.accumulate(reversed(law)))
    accepted = [1 - law[-1]] + [1 - law[-1] - x for x in itertools.accumulate(reversed(law[:-1]))]
    return list(zip(rejected, accepted + [mpf(0)]))


def check_columns_reference(ref):
    """Ten bits per user: one bag, ten separate columns; two columns."""
    flip = flip_probability(100, 58.0)
    laws = list(bag_laws(1000, flip))
    for epsilon, text in [(0.1, "7.73e-2"), (0.3, "2.76e-2"), (0.5, "7.27e-3"), (1.0, "6.08e-5")]:
        e = odds(epsilon)
        ref.value(text, max(positive_sum(laws[t + 10], laws[t], e)
                            for t in (0, 1, 2, 5, 500, 985, 988, 989, 990)))
    laws = list(bag_laws(100, flip))
    high, low = laws[100], laws[99]
    law = [x * y for x in high for y in high]
    other = [x * y for x in low for y in low]
    ref.value("9.39e-6", positive_sum(law, other, odds(0.5)))


def check_composition_reference(ref):
    """Repeated randomized response against composition theorems."""
    lemma10 = lambda epsilon, rounds: epsilon**2 + 2 * epsilon * mp.sqrt(rounds * mp.log(10**6))
    for epsilon0, rounds, stated, text, true, first in [
            ("0.1", 10**4, "74.3", "5.7e-3", "96.6", 3197),
            ("0.5", 400, "74.6", "2.9e-3", "93.1", 167),
            ("1", 100, "75.3", "1.6e-4", "83.5", 73)]:
        epsilon0 = mpf(epsilon0)
        ref.value(stated, lemma10(epsilon0, rounds))
        ref.value(text, response_delta(epsilon0, rounds, lemma10(epsilon0, rounds)))
        ref.root(true, lambda x: response_delta(epsilon0, rounds, x), mpf(10) ** -6)
        for count, fails in [(first, True), (first - 1, False)]:
            delta = response_delta(epsilon0, count, lemma10(epsilon0, count))
            assert (delta > mpf(10) ** -6) == fails, (epsilon0, count, delta)
        ref.count += 1
    for coin, printed in [(0.5, "0.500000"), (1.0, "1.000000")]:
        ref.value(printed, longitudinal_exact(4, 2, coin))


def check_clone_reference(ref):
    """Epsilon at delta = 1e-8 of the clone pairs and of binary randomized response."""
    target = mpf(10) ** -8
    for n, epsilon0, standard, strong in [
            (1000, 0.5, "0.09095", "0.081067"), (1000, 1.0, "0.2306", "0.188586"),
            (1000, 2.0, "0.6840", "0.497110"), (1000, 4.0, None, "2.849715"),
            (10**4, 0.5, "0.02724", "0.0242786"), (10**4, 1.0, "0.06888", "0.0564473"),
            (10**4, 2.0, "0.1966", "0.145976"), (10**4, 4.0, "0.7546", "0.514488"),
            (10**6, 0.5, "0.002400", "0.00213677"), (10**6, 1.0, "0.006125", "0.00501162"),
            (10**6, 4.0, "0.06420", "0.0450730"), (10**8, 1.0, "0.000529", "0.000431321"),
            (10**8, 4.0, "0.005705", "0.00399285")]:
        for blanket, text in [("standard", standard), ("strong", strong)]:
            if text:
                weight = blanket_weight(blanket, epsilon0)
                profile = lambda x: clone_delta(n, epsilon0, weight, x, mpf(10) ** -25)
                ref.root(text, profile, target)
    for n, epsilon0, text in [
            (1000, 0.5, "0.0741138"), (1000, 1.0, "0.1629468"), (1000, 2.0, "0.4157951"),
            (1000, 4.0, "2.6179710"), (10**4, 0.5, "0.02181"), (10**4, 1.0, "0.04701"),
            (10**4, 2.0, "0.1127"), (10**4, 4.0, "0.4043"), (10**6, 1.0, "0.004105"),
            (10**6, 4.0, "0.03199")]:
        # The numbers for large crowds are those of the homogeneous dataset.
        ones = range(11) if n == 1000 else range(1)
        pairs = list(homogeneous_pairs(n, 1 / (odds(epsilon0) + 1), ones, mpf(10) ** -22))
        ref.root(text, lambda x: max(hockey_stick(*pair, mp.exp(x)) for pair in pairs), target)
    # p = 4, E = 2: the strong pair, and local hashing to two values with and without collisions.
    p, e = mpf(4), mpf(2)
    for n, text in [(3, "0.256"), (5, "0.164")]:
        ref.value(text, clone_delta(n, mp.log(4), 1 / (p + 1), mp.log(2)))
    for collision, texts in [(mpf(1) / 2, ["0.200", "0.150", "0.113", "0.086"]),
                             (mpf(0), ["0.400", "0.320", "0.256", "0.205"])]:
        masses = four_masses(hash_outputs(2, collision, p), p)
        for n, text in enumerate(texts, start=1):
            ref.value(text, mean_positive_sum(n, gain_types(p, *masses, e)))


# ------------------------------------------------------------------------------------------------
# Output
# ------------------------------------------------------------------------------------------------


def write(name, about, rows):
    """Writes one JSON file, one row per line."""
    lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rows)
    text = f'{{"about": {json.dumps(about)},\n"rows": [\n{lines}\n]}}\n'
    json.loads(text)
    (HERE / f"{name}.json").write_text(text)
    return len(rows)


FILES = {
    "special": (special_rows, "Binomial and normal functions: fn(args) = value, upper tail is "
                "P(X >= k), lower tail P(X <= k)."),
    "bit_sum": (bit_sum_rows, "Bit-sum protocol: worst delta over all datasets and both "
                "directions; t is the argmax for (bit 1 || bit 0), 0 when delta is 0."),
    "two_message": (two_message_rows, "Z ~ Bin(n, p): delta_up = H(Z || Z+1), delta_down = "
                    "H(Z+1 || Z), atom = P(Z = 0)."),
    "clone_pair": (clone_pair_rows, "Clone pairs: others are type A or B with probability w each "
                   "(strong: 1/(p+1), standard: 1/(2p)), the user A with p/(p+1) or 1/(p+1)."),
    "published": (published_rows, "Closed forms from the literature, inside their ranges."),
    "bit_sum_point": (bit_sum_point_rows, "Bit-sum protocol, one dataset with t ones among the "
                      "others: delta of (bit 1 || bit 0)."),
    "real_sum": (real_sum_rows, "One bag of n r bits: worst delta over the number of changed bits, "
                 "all datasets, both directions; t is the argmax for r changed bits, "
                 "(ones || zeros)."),
    "blanket": (blanket_rows, "Privacy blanket (1/n) E[(G_1 + ... + G_n)_+]; delta_lower is exact "
                "for k-ary response when all others hold a third symbol."),
    "channels": (channel_rows, "Random extremal channels (rows are inputs, exact dyadic values): "
                 "worst delta over all datasets; bound is the strong clone pair."),
    "tradeoff": (tradeoff_rows, "Bit-sum protocol: least second-kind error at level alpha over all "
                 "datasets and both orders."),
    "mu_star": (mu_star_rows, "Bit-sum protocol: the least mu for which it is mu-GDP, over all "
                "datasets."),
    "compose": (compose_rows, "Exact compositions: randomized response, products of the strong "
                "clone pair, Gaussian."),
    "longitudinal": (longitudinal_rows, "Longitudinal client: largest log likelihood ratio over "
                     "all inputs and output sequences, with coin bias e^c/(1+e^c)."),
}


def main(names):
    """Writes the named files, all by default, and prints how many rows each has."""
    # The second part takes its tools from this file.
    import multi_message

    files = FILES | multi_message.FILES
    checks = {"reference": check_reference, "multi_message": multi_message.check_reference}
    wanted = names or [*files, *checks]
    unknown = set(wanted) - set(files) - set(checks)
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}")
    start = time.perf_counter()
    for name in wanted:
        began = time.perf_counter()
        if name in checks:
            count, unit = checks[name](), "numbers agree"
        else:
            rows, about = files[name]
            count, unit = write(name, about, rows()), "rows"
        print(f"{name:15} {count:4} {unit:14} {time.perf_counter() - began:6.1f} s", flush=True)
    print(f"{'total':34} {time.perf_counter() - start:6.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
