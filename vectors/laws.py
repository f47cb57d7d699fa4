"""Numbers and laws with 80 digits, from which the tables are computed.

Conventions
  * Inputs are doubles; the parameter is the exact real value of the double.
  * Values are the doubles nearest to the exact results.
  * The bit-sum protocol with n users flips each bit with probability b, the double lambda/(2.0 n).
  * Where several arguments attain a maximum, the smallest is reported.
  * A law is a pair (first, probabilities): the outcome first + i has probability probabilities[i];
    or, where outcomes are tuples of counts, a dictionary.
  * H_E(P || Q) is the hockey-stick divergence, the sum of (P(y) - E Q(y))_+, with E = exp(epsilon).
"""

import itertools
import statistics
from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 80


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


def dyadic(x, bits):
    """The double next to x with at most `bits` binary digits after the point."""
    return round(x * 2**bits) / 2**bits


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


class Worst:
    """The largest value seen so far and the first argument that attains it."""

    def __init__(self):
        self.value, self.argument = mpf(0), 0

    def see(self, value, argument):
        # Exact ties differ by rounding only; the first argument keeps the title.
        if value > self.value * (1 + AGREE) and value > FLOOR:
            self.value, self.argument = value, argument


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


def poisson(rate, floor=FLOOR):
    """The law of Poisson(rate), cut where its probabilities fall below the floor."""
    mode = int(rate)
    peak = mp.exp(mode * mp.log(rate) - rate - mp.loggamma(mode + 1))
    upper, term = [], peak
    for k in itertools.count(mode + 1):
        term = term * rate / k
        if term < floor:
            break
        upper.append(term)
    lower, term = [], peak
    for k in range(mode, 0, -1):
        term = term * k / rate
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


def add_category(law, probabilities):
    """The law of the histogram after one more independent categorical draw."""
    result = {}
    for counts, mass in law.items():
        for index, p in enumerate(probabilities):
            if p:
                key = counts[:index] + (counts[index] + 1,) + counts[index + 1 :]
                result[key] = result.get(key, 0) + mass * p
    return result


def moved(law, steps):
    """The law of the counts after a fixed message in each of the named places."""
    result = {}
    for counts, mass in law.items():
        key = list(counts)
        for place in steps:
            key[place] += 1
        result[tuple(key)] = mass
    return result


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
# Divergences
# ------------------------------------------------------------------------------------------------


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


def hockey_stick_of(law, other, e):
    """H_E of two dictionaries."""
    zero = mpf(0)
    outcomes = set(law) | set(other)
    terms = (law.get(y, zero) - e * other.get(y, zero) for y in sorted(outcomes))
    return sum((term for term in terms if term > 0), zero)


def both_ways(law, other, e):
    """H_E in both directions between two laws given as dictionaries."""
    return hockey_stick_of(law, other, e), hockey_stick_of(other, law, e)


# ------------------------------------------------------------------------------------------------
# The normal law
# ------------------------------------------------------------------------------------------------


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


def gaussian_delta(mu, epsilon):
    """Delta of the mu-Gaussian mechanism."""
    if mu == 0:
        return mpf(0)
    mu, epsilon = mpf(mu), mpf(epsilon)
    return normal_tail(epsilon / mu - mu / 2) - mp.exp(epsilon) * normal_tail(epsilon / mu + mu / 2)
