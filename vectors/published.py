"""published.json: closed forms from the literature, evaluated with 80 digits inside their ranges.

Names are those of the theorems; docs/privacy.md has papers and versions. The two forms for RAPPOR
are compared with an enumeration of all reports first.
"""

import itertools

from mpmath import mp, mpf

import files
from laws import flip_probability, gaussian_delta, nearest, same, solve_decreasing


# ------------------------------------------------------------------------------------------------
# Formulas
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


# ------------------------------------------------------------------------------------------------
# published.json
# ------------------------------------------------------------------------------------------------


def row(name, inputs, value):
    """A formula, its inputs and its value."""
    return {"name": name, **inputs, "value": nearest(value)}


def amplification_rows():
    """Amplification by shuffling, each form inside its range."""
    for epsilon0, n, delta in itertools.product(
            [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0], [1000, 10**4, 10**6, 10**8], [1e-6, 1e-9]):
        yield from amplification_at({"epsilon0": epsilon0, "n": n, "delta": delta})
    for formula, epsilon0, n, delta in [
            (thm7_general, 0.5, 1425, 1e-6), (thm7_third, 0.25, 1990, 0.009),
            (fmt_closed, 4.0, 10**5, 1e-6)]:
        inputs = {"epsilon0": epsilon0, "n": n, "delta": delta}
        yield row(formula.__name__, inputs, formula(**inputs))


def amplification_at(inputs):
    """All forms for one triple."""
    epsilon0, n, delta = inputs.values()
    yield row("thm7_general", inputs, thm7_general(**inputs))
    if epsilon0 <= mp.log(mpf(n) / 4) / 3:
        yield row("thm7_second", inputs, thm7_second(**inputs))
        assert thm7_general(**inputs) <= thm7_second(**inputs)
    if n >= 1000 and epsilon0 < 0.5 and delta < 0.01:
        yield row("thm7_third", inputs, thm7_third(**inputs))
    rho = thm7_rho(epsilon0, n)
    yield row("thm7_rdp", {**inputs, "rho": nearest(rho)}, rdp_epsilon(rho, delta))
    yield row("thm7_zcdp", inputs, rho + 2 * mp.sqrt(rho * mp.log(1 / mpf(delta))))
    if n >= 16 * mp.exp(mpf(epsilon0)) * mp.log(4 / mpf(delta)):
        yield row("fmt_closed", inputs, fmt_closed(**inputs))
        yield row("fmt_simple", inputs, fmt_simple(**inputs))


def sum_rows():
    """Rules for the bit-sum and the real-sum protocol."""
    for n, lam, delta in [(1000, 500.0, 1e-3), (1000, 1000.0, 1e-6), (10**4, 972.9, 1e-6),
                          (10**5, 3891.7, 1e-6), (10**6, 2e5, 1e-9), (100, 58.0, 0.07)]:
        assert 14 * mp.log(4 / mpf(delta)) <= lam <= n
        yield row("cor17", {"n": n, "lambda": lam, "delta": delta}, cor17(n, lam, delta))
    for n, epsilon, delta in itertools.product(
            [1000, 10**4, 10**5, 10**6], [0.01, 0.1, 0.17, 0.2, 0.5, 0.95], [1e-6, 1e-9]):
        if n >= 14 * mp.log(4 / mpf(delta)) and lemma18_range(n, delta)[0] < epsilon < 1:
            inputs = {"n": n, "epsilon": epsilon, "delta": delta}
            yield row("lemma18", inputs, lemma18(**inputs))
    for size, delta in [(50, 0.01), (200, 1e-3), (1000, 1e-6), (10**5, 1e-9)]:
        assert size > 8 * mp.log(4 / mpf(delta))
        yield row("claim14", {"size": size, "delta": delta}, claim14(size, delta))
        for n in [size, 2 * size, 50 * size]:
            inputs = {"n": n, "size": size, "delta": delta}
            yield row("claim15", inputs, claim15(**inputs))
    for epsilon, delta, r in [(0.9, 1e-6, 32), (0.5, 1e-6, 50), (0.99, 1e-6, 100), (0.9, 1e-6, 317),
                              (0.25, 1e-9, 1), (0.75, 1e-9, 1000)]:
        inputs = {"epsilon": epsilon, "delta": delta, "r": r}
        yield row("thm23_eps0", inputs, thm23_epsilon0(**inputs))


def composition_rows():
    """The Gaussian profile and advanced composition."""
    for mu, epsilon in itertools.product(
            [0.05, 0.2, 0.5, 1.0, 3.0], [0.0, 0.1, 0.5, 1.0, 2.0, 5.0]):
        value = gaussian_delta(mu, epsilon)
        if value > mpf(10) ** -300:
            yield row("gdp_delta", {"mu": mu, "epsilon": epsilon}, value)
    for epsilon, rounds, delta in [(0.1, 10, 1e-6), (0.1, 10**4, 1e-6), (0.5, 400, 1e-6),
                                   (1.0, 100, 1e-6), (0.01, 1000, 1e-9), (0.001, 10**6, 1e-12)]:
        inputs = {"epsilon": epsilon, "rounds": rounds, "delta": delta}
        yield row("advanced", inputs, advanced(**inputs))


def rappor_rows():
    """Single, repeated and unlimited RAPPOR reports."""
    for hashes, f, p, q in [(4, 0.5, 0.5, 0.75), (2, 0.5, 0.5, 0.75), (4, 0.5, 0.25, 0.75),
                            (1, 0.25, 0.35, 0.65), (3, 0.9, 0.1, 0.8)]:
        inputs = {"hashes": hashes, "f": f, "p": p, "q": q}
        yield row("rappor_one", inputs, rappor_one(**inputs))
        if (p, q) != (0.25, 0.75):
            yield row("rappor_forever", {"hashes": hashes, "f": f}, rappor_forever(hashes, f))
        for reports in [1, 2, 5, 10, 50]:
            value = rappor_many(**inputs, reports=reports)
            if reports == 1:
                same(value, rappor_one(**inputs))
            assert value < rappor_forever(hashes, f)
            yield row("rappor_many", {**inputs, "reports": reports}, value)


def local_rows():
    """Local privacy: of one report among n, and of the bit-sum protocol."""
    for epsilon, n in [(0.1, 1000), (1.0, 10**4), (0.5, 10**6), (2.0, 1), (0.0, 7)]:
        yield row("local_floor", {"epsilon": epsilon, "n": n}, mpf(epsilon) + mp.log(n))
    for n, lam in [(100, 58.0), (1000, 64.0), (10**6, 1000.0), (10**9, 64.0)]:
        flip = flip_probability(n, lam)
        yield row("bit_sum_local", {"n": n, "lambda": lam}, mp.log((1 - flip) / flip))


FILES = [
    files.Table(
        "published", "Closed forms from the literature, inside their ranges.",
        dict.fromkeys(
            [amplification_rows, sum_rows, composition_rows, rappor_rows, local_rows], 500),
        before=check_rappor_by_enumeration),
]

if __name__ == "__main__":
    files.main(FILES)
