"""Tables for the privacy accountant: what shuffling adds to local randomizers.

Clone pairs, privacy blankets of concrete randomizers and of Laplace noise, and random extremal
channels, which are enumerated with fractions and lie below the strong clone pair. Rules are those
of `accountant.py`.
"""

import itertools
import math
import random
from fractions import Fraction

from mpmath import mp, mpf

import files
from laws import (
    AGREE,
    DEEP_FLOOR,
    FLOOR,
    add_category,
    as_mpf,
    binomial,
    binomial_tail,
    close,
    exact,
    hockey_stick,
    hockey_stick_of,
    ln_binomial_pmf,
    nearest,
    odds,
    plus_bit,
    same,
    significant,
    solve_decreasing,
)


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


def clone_cases():
    """(n, epsilon0, blanket, epsilon)."""
    turn = itertools.cycle(CLONE_TARGETS)
    for n in [1, 2, 3, 5, 10, 50, 1000, 10**4]:
        for epsilon0 in [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]:
            for blanket in ["strong", "standard"]:
                for epsilon in clone_epsilons(n, epsilon0, blanket, turn):
                    yield n, epsilon0, blanket, epsilon
    for epsilon0, blanket, epsilon in CLONE_LARGE:
        yield 10**6, epsilon0, blanket, epsilon


def clone_pair_rows():
    """Worst pair of the clone arguments."""
    for index, (n, epsilon0, blanket, epsilon) in enumerate(clone_cases()):
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
        yield {"n": n, "epsilon0": epsilon0, "blanket": blanket, "epsilon": epsilon,
               "delta": nearest(delta)}


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


def check_hash_families():
    """Functions to two and to three values."""
    check_hash_family(2, mpf(3))
    check_hash_family(3, mpf(5))


def blanket_rows():
    """Privacy-blanket values of concrete randomizers in small crowds."""
    for family, parameters in BLANKET_FAMILIES:
        law = family_law(family, parameters)
        for n in [1, 2, 3, 5, 10, 30]:
            for epsilon in blanket_epsilons(n, law):
                row = blanket_row(family, parameters, law, n, epsilon)
                if row["delta"] > 1e-18:
                    yield row


def large_blanket_rows():
    """The same for k-ary response among a thousand."""
    for k, epsilon0, epsilons in BLANKET_LARGE:
        for epsilon in epsilons:
            upper, lower = kary_large(1000, k, odds(epsilon0), odds(epsilon))
            assert mpf(10) ** -13 < lower <= upper < mpf(10) ** -2
            yield {"family": "kary", "k": k, "epsilon0": epsilon0, "n": 1000, "epsilon": epsilon,
                   "delta": nearest(upper), "delta_lower": nearest(lower)}


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
# laplace.json
# ------------------------------------------------------------------------------------------------


def laplace_laws(grid, p):
    """The law of one report for every grid point: below 0, on 0 ... grid, above it.

    Noise k has probability proportional to s^|k|. Outcomes below 0 are summed up, as are those above
    the grid: the laws of all values have constant ratios there.
    """
    s = p ** (mpf(-1) / grid)
    c = (1 - s) / (1 + s)
    laws = []
    for x in range(grid + 1):
        below, above = (c * s ** (steps + 1) / (1 - s) for steps in (x, grid - x))
        laws.append([below, *(c * s ** abs(k - x) for k in range(grid + 1)), above])
        same(sum(laws[-1]), mpf(1), mpf(10) ** -70)
    return laws


def laplace_blanket(n, laws, e):
    """The largest (1/n) E[(G_1 + ... + G_n)_+] over all ordered pairs of values."""
    floor = [min(column) for column in zip(*laws)]
    found = {}
    for x, y in itertools.permutations(range(len(laws)), 2):
        types = {}
        for first, second, mass in zip(laws[x], laws[y], floor):
            value = (first - e * second) / mass
            # Equal values, up to rounding, are one type.
            key = next((key for key in types if abs(key - value) < mpf(10) ** -60), value)
            types[key] = types.get(key, 0) + mass
        found[x, y] = mean_positive_sum(n, [(mass, value) for value, mass in types.items()])
    ends = found[0, len(laws) - 1]
    assert all(delta <= ends * (1 + AGREE) for delta in found.values())
    same(ends, found[len(laws) - 1, 0])
    return ends


def laplace_bags(n, laws, e):
    """The largest H_E over all pairs of values and all values of the others, and that of the pair of
    ends when all others hold one end; bags enumerated."""
    start = {(0,) * len(laws[0]): mpf(1)}
    worst, one_end, last = mpf(0), mpf(0), len(laws) - 1
    for others in itertools.combinations_with_replacement(range(len(laws)), n - 1):
        law = start
        for value in others:
            law = add_category(law, laws[value])
        bags = [add_category(law, own) for own in laws]
        for x, y in itertools.permutations(range(len(laws)), 2):
            delta = hockey_stick_of(bags[x], bags[y], e)
            worst = max(worst, delta)
            if (x, y) == (last, 0) and all(value == last for value in others):
                one_end = delta
    return worst, one_end


LAPLACE_SMALL = [(1, 1.0), (2, 0.5), (2, 3.0), (3, 2.0), (4, 1.0), (4, 6.0)]
# (epsilon0, epsilons) for two steps and n = 1000.
LAPLACE_LARGE = [(1.0, [0.06, 0.12]), (4.0, [0.9, 1.5])]


def laplace_rows():
    """Every pair of values, and for up to four users every bag."""
    for grid, epsilon0 in LAPLACE_SMALL:
        laws = laplace_laws(grid, odds(epsilon0))
        for n, fractions in [(1, [0.5]), (2, [0.0, 0.7]), (3, [0.4]), (4, [0.2, 0.9]), (7, [0.5])]:
            for epsilon in [significant(epsilon0 * fraction, 4) for fraction in fractions]:
                delta = laplace_blanket(n, laws, odds(epsilon))
                row = {"grid": grid, "epsilon0": epsilon0, "n": n, "epsilon": epsilon,
                       "delta": nearest(delta)}
                if n * grid <= 12:
                    worst, one_end = laplace_bags(n, laws, odds(epsilon))
                    assert one_end <= worst <= delta * (1 + AGREE)
                    row |= {"delta_worst": nearest(worst), "delta_lower": nearest(one_end)}
                yield row


def large_laplace_rows():
    """Two steps among a thousand: the ends, and the middle, which is of one type."""
    for epsilon0, epsilons in LAPLACE_LARGE:
        p = odds(epsilon0)
        floor = [min(column) for column in zip(*laplace_laws(2, p))]
        a, middle = floor[0] + floor[1], floor[2]
        same(a, floor[3] + floor[4])
        for epsilon in epsilons:
            e = odds(epsilon)
            delta = large_mean_positive_sum(
                1000, a, p, e, middle / (1 - 2 * a), 1 - e, mpf(0), mpf(10) ** -36)
            assert mpf(10) ** -13 < delta < mpf(10) ** -2
            yield {"grid": 2, "epsilon0": epsilon0, "n": 1000, "epsilon": epsilon,
                   "delta": nearest(delta)}


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
        yield {"channel": [[nearest(x) for x in row] for row in channel], "epsilon0": epsilon0,
               "n": n, "epsilon": epsilon, "delta": nearest(delta), "bound": nearest(bound)}


FILES = [
    files.Table(
        "clone_pair", "Clone pairs: others are type A or B with probability w each (strong: "
        "1/(p+1), standard: 1/(2p)), the user A with p/(p+1) or 1/(p+1).", {clone_pair_rows: 150}),
    files.Table(
        "blanket", "Privacy blanket (1/n) E[(G_1 + ... + G_n)_+]; delta_lower is exact for k-ary "
        "response when all others hold a third symbol.", {blanket_rows: 30, large_blanket_rows: 1},
        before=check_hash_families),
    files.Table(
        "laplace", "Privacy blanket of Laplace noise on a grid, the largest over all pairs of "
        "values; delta_worst is the largest divergence of any bag, delta_lower that of the ends "
        "when all others hold one end.", {laplace_rows: 12, large_laplace_rows: 1}),
    files.Table(
        "channels", "Random extremal channels (rows are inputs, exact dyadic values): worst delta "
        "over all datasets; bound is the strong clone pair.", {channel_rows: 40}),
]

if __name__ == "__main__":
    files.main(FILES)
