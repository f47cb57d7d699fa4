"""Tables for protocols in which a user sends several messages, or several columns.

The same rules as in `accountant.py`: laws are built from what each user sends, in 80-digit or exact
arithmetic, and the hockey-stick divergence is summed over outcomes. Crowds too large to enumerate
use another route, first compared with the enumeration on small crowds:

  * coins are added one at a time to a running tail of the fair binomial law;
  * the law of many noise events is a power of a polynomial in two variables, by repeated squaring
    in fixed point. All roundings and cuts go down, so the mass that is missing at the end bounds
    every error.
"""

import bisect
import decimal
import functools
import itertools
import math

from mpmath import mp, mpf

import files
from laws import (
    AGREE,
    FLOOR,
    add_category,
    binomial,
    both_ways,
    close,
    dyadic,
    exact,
    hockey_stick,
    hockey_stick_of,
    moved,
    nearest,
    odds,
    poisson,
    positive_sum,
    same,
    shifted,
)


# ------------------------------------------------------------------------------------------------
# coins.json
# ------------------------------------------------------------------------------------------------


HALF = mpf(1) / 2


def given_coins(coins, epsilon):
    """H_E of the number of ones when the true bit hides among that many fair coins."""
    law = binomial(coins, HALF, mpf(10) ** -90)
    zeros_to_ones = hockey_stick(shifted(law, 1), law, odds(epsilon))
    same(zeros_to_ones, hockey_stick(law, shifted(law, 1), odds(epsilon)))
    return zeros_to_ones


class GivenCoins:
    """`given_coins` for 0, 1, 2, ... coins, good to an absolute error near the working precision.

    The outcome a is in the best event when a > E (T + 1 - a). With `cut` the least such a, the
    divergence is P(B >= cut - 1) - E P(B >= cut) for B ~ Bin(T, 1/2). Another coin raises the tail
    by half of the probability below it, and the cut by at most one.
    """

    def __init__(self, epsilon):
        self.e = odds(epsilon)
        self.share = self.e / (1 + self.e)
        self.coins, self.cut, self.below, self.tail = 0, 1, mpf(1), mpf(0)
        self.values = [mpf(1)]

    def upto(self, coins):
        """The values for 0..coins."""
        while self.coins < coins:
            self.toss()
        return self.values

    def toss(self):
        """One more coin."""
        self.tail += self.below / 2
        self.coins += 1
        self.below = self.below * self.coins / (2 * (self.coins + 1 - self.cut))
        if self.cut <= self.share * (self.coins + 1):
            self.below = self.below * (self.coins + 1 - self.cut) / self.cut
            self.tail -= self.below
            self.cut += 1
        value = self.below - (self.e - 1) * self.tail
        self.values.append(max(value, mpf(0)))


@functools.lru_cache(maxsize=None)
def given_table(epsilon):
    """One growing table per epsilon."""
    return GivenCoins(epsilon)


def mixed_coins(law, epsilon):
    """H_E when the visible number of coins has this law."""
    first, masses = law
    values = given_table(epsilon).upto(first + len(masses) - 1)
    return mp.fsum(mass * values[first + i] for i, mass in enumerate(masses))


def coin_delta(trials, p, epsilon):
    """H_E for Bin(trials, p) coins."""
    return mixed_coins(binomial(trials, mpf(p)), epsilon)


def check_coins():
    """The running tail against the direct sum; mixtures against the law of both counts."""
    for epsilon in [0.01, 0.1, 0.5, 1.0, 2.0, 4.0]:
        values = given_table(epsilon).upto(2000)
        for coins in [*range(40), 100, 333, 1000, 1999, 2000]:
            close(values[coins], given_coins(coins, epsilon), mpf(10) ** -70)
        for trials, p in [(1, 0.5), (2, 0.25), (7, 0.7), (25, 0.4)]:
            law = {(0, 0): mpf(1)}
            for _ in range(trials):
                law = add_category_or_none(law, [mpf(p) / 2] * 2)
            for value in both_ways(moved(law, [1]), moved(law, [0]), odds(epsilon)):
                same(value, coin_delta(trials, p, epsilon))
        ones = poisson(mpf(3))
        value = positive_sum(*zip(*((x * y, z * w) for x, w in shift_pairs(ones)
                                    for z, y in shift_pairs(ones))), odds(epsilon))
        same(value, mixed_coins(poisson(mpf(6)), epsilon))


def shift_pairs(law):
    """(P(X + 1 = k), P(X = k)) for all k."""
    zero = mpf(0)
    return list(zip([zero] * (law[0] + 1) + law[1], [zero] * law[0] + law[1] + [zero]))


def add_category_or_none(law, probabilities):
    """The law of the counts after one more draw, which may also be nothing."""
    result = add_category(law, probabilities)
    rest = 1 - sum(probabilities)
    for counts, mass in law.items():
        result[counts] = result.get(counts, 0) + mass * rest
    return result


def additive_delta(trials, p, categories, epsilon):
    """H_E for a replaced category among uniform fakes: all counts of all categories enumerated."""
    law = {(0,) * categories: mpf(1)}
    for _ in range(trials):
        law = add_category_or_none(law, [mpf(p) / categories] * categories)
    values = both_ways(moved(law, [0]), moved(law, [1]), odds(epsilon))
    same(*values)
    return values[0]


def coin_row(kind, fields, epsilon, delta):
    """The row of a delta, or none where it is too small."""
    assert 0 <= delta <= 1
    if delta > mpf(10) ** -32:
        yield {"kind": kind, **fields, "epsilon": epsilon, "delta": nearest(delta)}


def coin_rows():
    """A true bit among coins."""
    for trials, p, epsilons in coin_arguments():
        for epsilon in within_reach(trials * p, epsilons):
            delta = coin_delta(trials, p, epsilon)
            yield from coin_row("coin", {"trials": trials, "p": p}, epsilon, delta)


def additive_rows():
    """A true category among fakes, all counts enumerated."""
    for trials, p, categories in [
            (1, 0.5, 2), (2, 0.75, 3), (3, 0.25, 5), (6, 0.5, 4), (8, 0.625, 3), (9, 0.90625, 4),
            (12, 0.375, 3), (30, 0.8125, 2), (40, 0.5, 3)]:
        for epsilon in [0.1, 0.5, 1.0, 2.0]:
            delta = additive_delta(trials, p, categories, epsilon)
            same(delta, coin_delta(trials, mpf(p) * 2 / categories, epsilon))
            fields = {"trials": trials, "p": p, "categories": categories}
            yield from coin_row("additive", fields, epsilon, delta)


def large_additive_rows():
    """The same in large crowds, as coins."""
    for trials, p, categories, epsilon in [
            (10**6, 0.063583, 1024, 1.0), (10**6, 0.208762, 1024, 0.5),
            (5 * 10**6, 0.866, 1024, 0.1), (10**4, 0.062048, 10, 1.0), (10**5, 0.422827, 10, 0.1),
            (10**8, 0.5, 10**5, 0.5), (3 * 10**5, 0.75, 1000, 2.0),
            (10**9, 0.125, 10**7, 1.0), (10**6, 0.5, 7, 0.015)]:
        p = dyadic(p, 40)
        delta = coin_delta(trials, mpf(p) * 2 / categories, epsilon)
        fields = {"trials": trials, "p": p, "categories": categories}
        yield from coin_row("additive", fields, epsilon, delta)


def given_rows():
    """A given number of coins."""
    for coins in [0, 1, 2, 3, 4, 5, 7, 10, 20, 50, 100, 117, 401, 1000, 8451, 30_000, 10**5]:
        for epsilon in within_reach(coins, [0.01, 0.02, 0.1, 0.5, 1.0, 2.0, 4.0]):
            yield from coin_row("given", {"coins": coins}, epsilon, given_coins(coins, epsilon))


def poisson_rows():
    """A number of coins that follows the Poisson law."""
    for rate in [0.01, 0.5, 1.0, 3.25, 10.0, 40.0, 124.186, 407.74, 1500.0, 8457.04, 30_000.0, 1e5]:
        for epsilon in within_reach(rate, [0.01, 0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0]):
            delta = mixed_coins(poisson(mpf(rate)), epsilon)
            yield from coin_row("poisson", {"rate": rate}, epsilon, delta)


def within_reach(coins, epsilons):
    """The epsilons for which delta is not far below 1e-35, by the exponent of the fair tail."""

    def exponent(epsilon):
        q = 1 / (1 + math.exp(-epsilon))
        return math.log(2) + q * math.log(q) + (1 - q) * math.log(1 - q)

    return [x for x in epsilons if coins * -math.expm1(-exponent(x)) < 81]


def coin_arguments():
    """(trials, p, epsilons); p is a multiple of 2**-40, so an integer out of 2**64."""
    small = [0.01, 0.1, 0.5, 1.0, 2.0, 4.0]
    for trials, p in [(1, 0.5), (2, 0.25), (3, 0.9375), (5, 0.5), (12, 0.7), (30, 0.4),
                      (100, 0.03125), (100, 0.75), (1000, 0.124), (1000, 0.404967),
                      (17_000, 8454.05 / 17_000)]:
        yield trials, dyadic(p, 40), small
    for trials in [10**4, 10**6, 10**8, 10**9]:
        yield trials, dyadic(20 / trials, 40), [0.1, 0.5, 1.0, 2.0, 4.0]
        yield trials, dyadic(124.186 / trials, 40), [0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 4.0]
        yield trials, dyadic(407.74 / trials, 40), [0.1, 0.25, 0.5, 0.75, 1.0, 1.15]
        yield trials, dyadic(8457.04 / trials, 40), [0.01, 0.05, 0.1, 0.15, 0.2, 0.23]
    for trials in [2 * 10**5, 10**7, 10**9]:
        yield trials, dyadic(1e5 / trials, 40), [0.01, 0.02, 0.03, 0.05, 0.065]


# ------------------------------------------------------------------------------------------------
# burst.json
# ------------------------------------------------------------------------------------------------


class Bursts:
    """What one user may add: pairs[j-1] for j of each sign, plus[k-1] for k '+', minus[k-1]."""

    def __init__(self, pairs, plus, minus):
        self.lists = {"pairs": pairs, "plus": plus, "minus": minus}
        events = [((j, j), p) for j, p in enumerate(pairs, start=1)]
        events += [((k, 0), p) for k, p in enumerate(plus, start=1)]
        events += [((0, k), p) for k, p in enumerate(minus, start=1)]
        self.events = [(counts, p) for counts, p in events if p]
        self.none = 1 - sum(p for _, p in self.events)
        assert self.none > 0

    @classmethod
    def rounded(cls, trials, pairs, plus, minus):
        """Rates of a crowd, as multiples of 2**-20 per user, each event at least once."""

        def share(rate):
            return mp.ldexp(max(1, mp.nint(mp.ldexp(rate, 20) / trials)), -20) if rate else mpf(0)

        return cls(*([share(rate) for rate in rates] for rates in (pairs, plus, minus)))

    @classmethod
    def of_rates(cls, trials, pairs, plus, minus):
        """Rates of a crowd of that many users, not rounded."""
        return cls(*([mpf(rate) / trials for rate in rates] for rates in (pairs, plus, minus)))

    def fields(self):
        """The probabilities as doubles, which hold them exactly."""
        result = {name: [float(p) for p in values] for name, values in self.lists.items()}
        assert all(mpf(x) == p for name, values in self.lists.items()
                   for x, p in zip(result[name], values))
        return result

    def messages(self, cells=1):
        """The law of one user's noise over (plus, minus) of each cell; the cell is uniform."""
        law = {(0,) * (2 * cells): self.none}
        for cell in range(cells):
            for counts, p in self.events:
                key = (0,) * (2 * cell) + counts + (0,) * (2 * (cells - 1 - cell))
                law[key] = p / cells
        return law


def summed(law, other):
    """The law of the sum of two independent vectors of counts."""
    result = {}
    for x, p in law.items():
        for y, q in other.items():
            key = tuple(map(int.__add__, x, y))
            result[key] = result.get(key, 0) + p * q
    return result


def crowd_noise(bursts, users, cells=1):
    """The law of all noise, user by user."""
    law = {(0,) * (2 * cells): 1}
    one = bursts.messages(cells)
    for _ in range(users):
        law = summed(law, one)
    return law


def burst_count_direct(bursts, users, epsilon):
    """(removed, added) with every user's messages enumerated."""
    law = crowd_noise(bursts, users)
    return both_ways(law, moved(law, [0]), odds(epsilon))


class Plane:
    """A law over (minus, plus - minus) in fixed point: rows of integers out of 10**digits.

    Everything is rounded down and edges are cut, so `missing` bounds the sum of all errors.
    """

    def __init__(self, digits, minus, rows, difference):
        self.digits, self.minus, self.rows, self.difference = digits, minus, rows, difference

    @classmethod
    def of_user(cls, bursts, digits):
        """The law of one user's noise."""
        points = {(m, p - m): chance for (p, m), chance in bursts.messages().items()}
        height = max(m for m, _ in points) + 1
        low, high = min(d for _, d in points), max(d for _, d in points)
        rows = [[0] * (high - low + 1) for _ in range(height)]
        for (m, d), chance in points.items():
            rows[m][d - low] = int(chance * 10**digits)
        return cls(digits, 0, rows, low)

    def times(self, other, cut):
        """The law of the sum, by one multiplication of long decimal numbers."""
        width = len(self.rows[0]) + len(other.rows[0]) - 1
        height = len(self.rows) + len(other.rows) - 1
        slot = 2 * self.digits + 1
        context = decimal.Context(prec=slot * width * (height + 1), Emax=decimal.MAX_EMAX,
                                  Emin=decimal.MIN_EMIN, traps=[decimal.Inexact])
        product = context.multiply(self.number(width, slot), other.number(width, slot))
        text = format(product, "f").zfill(slot * width * height)
        # The last digits of a slot are what rounding down drops.
        cells = [int(text[i : i + slot - self.digits]) for i in range(0, len(text), slot)]
        rows = [cells[i * width : (i + 1) * width] for i in range(height)]
        minus, difference = self.minus + other.minus, self.difference + other.difference
        return Plane(self.digits, minus, rows, difference).trimmed(cut)

    def number(self, width, slot):
        """All cells side by side in one decimal number, most significant first."""
        padding = "0" * (slot * (width - len(self.rows[0])))
        return decimal.Decimal("".join(
            "".join(str(cell).zfill(slot) for cell in row) + padding for row in self.rows
        )[: None if not padding else -len(padding)])

    def trimmed(self, cut):
        """Without the outer rows and columns that hold less than `cut` each."""
        limit = int(cut * 10**self.digits)
        rows, minus, difference = self.rows, self.minus, self.difference
        heights = [sum(row) for row in rows]
        first = next(i for i, mass in enumerate(heights) if mass > limit)
        last = next(i for i in reversed(range(len(rows))) if heights[i] > limit)
        rows, minus = rows[first : last + 1], minus + first
        widths = [sum(column) for column in zip(*rows)]
        first = next(i for i, mass in enumerate(widths) if mass > limit)
        last = next(i for i in reversed(range(len(widths))) if widths[i] > limit)
        rows, difference = [row[first : last + 1] for row in rows], difference + first
        return Plane(self.digits, minus, rows, difference)

    def missing(self):
        """The mass that is not there."""
        return 1 - mpf(sum(map(sum, self.rows))) / mpf(10) ** self.digits


@functools.lru_cache(maxsize=None)
def crowd_plane(bursts, users, digits):
    """The law of all noise by repeated squaring."""
    cut = mpf(10) ** (9 - digits)
    one = Plane.of_user(bursts, digits)
    result = one
    for bit in bin(users)[3:]:
        result = result.times(result, cut)
        if bit == "1":
            result = result.times(one, cut)
    return result


def burst_count(bursts, users, epsilon, digits=54):
    """(removed, added, bound of their errors) of a large crowd."""
    plane = crowd_plane(bursts, users, digits)
    scale = 10**digits
    e = int(odds(epsilon) * scale)
    removed = added = 0
    for row in plane.rows:
        for without, shift in zip(row + [0], [0] + row):
            removed += max(0, without - e * shift // scale)
            added += max(0, shift - e * without // scale)
    removed, added = mpf(removed) / scale, mpf(added) / scale
    error = plane.missing() * (1 + odds(epsilon))
    return removed, added, error


def two_cell_direct(atoms, e):
    """H_E between (with, without) and (without, with) for two cells, all pairs of outcomes."""
    return sum(max(0, p * w - e * v * q) for v, p in atoms for w, q in atoms)


def two_cell(atoms, e):
    """The same from sorted likelihood ratios and running sums."""

    def ratio(atom):
        return atom[1] / atom[0] if atom[0] else mp.inf

    atoms = sorted(((mpf(v), mpf(p)) for v, p in atoms if v or p), key=ratio)
    ratios = [ratio(atom) for atom in atoms]
    total = without = shift = mpf(0)
    reached = 0
    for (v, p), r in zip(atoms, ratios):
        while ratios[reached] * e < r:
            without += atoms[reached][0]
            shift += atoms[reached][1]
            reached += 1
        total += max(mpf(0), p * without - e * v * shift)
    return total


def cell_atoms(bursts, trials, digits=None):
    """(probability without, with one more '+') of the outcomes of one cell, and what is missing."""
    if digits is None:
        law = crowd_noise(bursts, trials)
        shift = moved(law, [0])
        return [(law.get(k, 0), shift.get(k, 0)) for k in law.keys() | shift.keys()], mpf(0)
    plane = crowd_plane(bursts, trials, digits)
    scale = mpf(10) ** digits
    atoms = [(v / scale, p / scale) for row in plane.rows for v, p in zip(row + [0], [0] + row)]
    return atoms, plane.missing()


def histogram_delta(bursts, users, cells, epsilon):
    """The largest H_E over all data of the others, all pairs of values of the first user."""
    noise = crowd_noise(bursts, users, cells)
    worst = mpf(0)
    for others in itertools.product(range(cells), repeat=users - 1):
        truth = [2 * value for value in others]
        bags = [moved(noise, truth + [2 * value]) for value in range(cells)]
        deltas = [hockey_stick_of(x, y, odds(epsilon)) for x, y in itertools.permutations(bags, 2)]
        # Every pair of values and every crowd gives the same delta.
        for delta in deltas:
            same(delta, deltas[0])
        if worst:
            same(deltas[0], worst)
        worst = max(worst, *deltas)
    return worst


def check_bursts():
    """Squaring against user by user; sorted two-cell sums against all pairs."""
    for users, bursts in [(5, FIVE), (7, SEVEN), (9, NINE)]:
        for epsilon in [0.0, 0.5, 1.0]:
            direct = burst_count_direct(bursts, users, epsilon)
            *fast, error = burst_count(bursts, users, epsilon)
            for x, y in zip(direct, fast):
                close(x, y, error + mpf(10) ** -45)
            assert error < mpf(10) ** -35
        atoms, _ = cell_atoms(bursts, users - 4)
        same(two_cell_direct(atoms, odds(0.5)), two_cell(atoms, odds(0.5)))


FIVE = Bursts.rounded(5, [2, 0.5], [0.25], [0, 0.5])
SEVEN = Bursts.rounded(7, [1.5], [0.6, 0.3, 0.2], [0.6, 0.3, 0.2])
NINE = Bursts.rounded(9, [1.0, 0.5], [0.5, 0.25], [0.7, 0.4])


def burst_shape(eta, epsilon, slots, rho, plus, minus):
    """Rates of pairs, '+' and '-'; per sign (s, kappa), where kappa raises the longest burst."""
    pairs = [rho * mp.exp(-mpf(eta) * epsilon * j / 2) / j for j in range(1, slots // 2 + 1)]

    def signed(s, kappa):
        rates = [mpf(s) ** k / k for k in range(1, slots + 1)]
        return rates[:-1] + [rates[-1] * mpf(kappa)]

    return pairs, signed(*plus), signed(*minus)


def small_burst_rows():
    """The count of small crowds, every user enumerated."""
    tiny = [(2, Bursts.rounded(2, [1], [0.5], [0.25])), (3, Bursts.rounded(3, [0.5], [], [])),
            (4, Bursts.rounded(4, [], [1, 0.5], [])), (5, FIVE), (7, SEVEN), (9, NINE),
            (12, Bursts.rounded(12, [2, 1, 0.5], [1, 0, 0.5], [0.5, 0.5]))]
    for users, bursts in tiny:
        for epsilon in [0.1, 0.5, 0.7, 1.0, 2.0]:
            removed, added = burst_count_direct(bursts, users, epsilon)
            yield {"kind": "count", "n": users, **bursts.fields(), "epsilon": epsilon,
                   "removed": nearest(mpf(removed)), "added": nearest(mpf(added))}


def large_burst_rows():
    """The count of large crowds, by repeated squaring."""
    for users, bursts, epsilons in large_bursts():
        for epsilon in epsilons:
            removed, added, error = burst_count(bursts, users, epsilon)
            assert error < mpf(10) ** -16 * min(removed, added)
            yield {"kind": "count", "n": users, **bursts.fields(), "epsilon": epsilon,
                   "removed": nearest(removed), "added": nearest(added)}


def large_bursts():
    """(users, bursts, epsilons)."""

    def shape(users, *args):
        return users, Bursts.rounded(users, *burst_shape(*args))

    two = (0.88, 3.9), (0.95, 3.9)
    four = (0.507123, 4.205), (0.536085, 4.931)
    six = (0.418476, 9.869), (0.44252, 9.601)
    yield *shape(1000, 0.2, 1, 2, 60, *two), [0.1, 0.5, 1.0, 1.2]
    yield *shape(1000, 0.2, 1, 4, 40, *four), [0.5, 0.75, 1.0]
    yield *shape(1000, 0.1, 1, 6, 60, *six), [0.5, 0.75, 1.0]
    yield *shape(3000, 0.2, 0.5, 6, 60, (0.75, 5.0), (0.8, 5.0)), [0.1, 0.25, 0.5]
    yield *shape(10**4, 0.05, 1, 4, 194.7485, *four), [0.5, 0.75, 1.0]
    yield *shape(10**4, 0.1, 1, 6, 100, *six), [0.5, 0.9, 1.0]


def two_cell_row(bursts, trials, epsilon, delta):
    """Two cells, one of which holds the user's value."""
    return {"kind": "two_cell", "trials": trials, **bursts.fields(), "epsilon": epsilon,
            "delta": nearest(delta)}


def small_two_cell_rows():
    """Two cells, every trial enumerated."""
    for trials, bursts in [(1, SEVEN), (4, SEVEN), (7, SEVEN), (9, NINE),
                           (10, Bursts.rounded(10, [3], [1, 0.5], [1, 0.5]))]:
        atoms, _ = cell_atoms(bursts, trials)
        for epsilon in [0.1, 0.5, 0.7, 1.0, 2.0]:
            yield two_cell_row(bursts, trials, epsilon, two_cell(atoms, odds(epsilon)))


def large_two_cell_rows():
    """Two cells, by repeated squaring."""
    for trials, shape in [(200, (0.2, 1, 2, 20, (0.8, 3.0), (0.8, 3.0))),
                          (775, (0.1, 1, 4, 60, (0.6, 4.0), (0.6, 4.0)))]:
        bursts = Bursts.rounded(trials, *burst_shape(*shape))
        atoms, missing = cell_atoms(bursts, trials, 48)
        for epsilon in [0.5, 1.0, 2.0]:
            delta = two_cell(atoms, odds(epsilon))
            assert 2 * missing * (1 + odds(epsilon)) < mpf(10) ** -16 * delta
            yield two_cell_row(bursts, trials, epsilon, delta)


def histogram_rows():
    """All cells, with everything that all users send enumerated."""
    for users, cells, bursts in [
            (2, 2, Bursts.rounded(2, [1], [0.5], [0.25])), (2, 3, NINE), (3, 2, SEVEN),
            (3, 3, Bursts.rounded(3, [1.5], [0.25], [0.75])),
            (4, 2, Bursts.rounded(4, [2], [1], [0.5])), (3, 4, Bursts.rounded(3, [1], [1], [])),
            (6, 2, Bursts.rounded(6, [2], [1.5], [1.5]))]:
        for epsilon in [0.1, 0.5, 1.0, 2.0]:
            delta = histogram_delta(bursts, users, cells, epsilon)
            yield {"kind": "histogram", "n": users, "categories": cells, **bursts.fields(),
                   "epsilon": epsilon, "delta": nearest(mpf(delta))}


# ------------------------------------------------------------------------------------------------
# sliced.json
# ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def level_atoms(rate):
    """Merged outcomes of one level, sorted: (ratio, probability with a 1, probability with a 0).

    The outcome (ones, zeros) has the ratio ones / zeros: equal fractions merge.
    """
    pairs = list(enumerate(shift_pairs(poisson(mpf(rate) / 2, mpf(10) ** -45))))
    merged = {}
    for ones, (with_one, without_one) in pairs:
        for zeros, (with_zero, without_zero) in pairs:
            p, q = with_one * without_zero, without_one * with_zero
            if p + q > RARE:
                assert abs(p * zeros - q * ones) <= AGREE * (p * zeros + q * ones)
                common = math.gcd(ones, zeros)
                key = ones // common, zeros // common
                old = merged.get(key, (0, 0))
                merged[key] = old[0] + p, old[1] + q
    atoms = [(mpf(one) / zero if zero else mp.inf, p, q) for (one, zero), (p, q) in merged.items()]
    return sorted(atoms)


def sliced_poisson(rates, epsilon):
    """H_E when the bit of every level changes and the coins of a level are Poisson.

    All combinations of the levels but the largest are enumerated; for the largest, the outcomes in
    the best event are those above a ratio.
    """
    e = odds(epsilon)
    *small, large = sorted((level_atoms(rate) for rate in rates), key=len)
    ratios = [ratio for ratio, _, _ in large]
    above = list(itertools.accumulate(reversed(large), lambda t, x: (0, t[1] + x[1], t[2] + x[2]),
                                      initial=(0, mpf(0), mpf(0))))[::-1]
    combinations = [(mpf(1), mpf(1))]
    for level in small:
        products = ((p * r, q * s) for p, q in combinations for _, r, s in level)
        combinations = [(p, q) for p, q in products if p > RARE]
    # Left out are at most this many outcomes of a level, and of combinations.
    assert len(large) ** 2 + math.prod(map(len, small)) < 10**10
    total = mpf(0)
    for p, q in combinations:
        cut = bisect.bisect_right(ratios, e * q / p)
        total += p * above[cut][1] - e * q * above[cut][2]
    assert total > RARE * 10**26
    return total


# Outcomes that are less probable are left out.
RARE = mpf(10) ** -36


def sliced_finite(users, slots, weights, epsilon):
    """The largest H_E over all pairs of values; every count of every symbol is enumerated."""
    levels = len(weights)
    noise = {(0,) * (2 * levels): mpf(1)}
    for _ in range(users * slots):
        noise = add_category_or_none(noise, [mpf(w) / 2 for w in weights for _ in range(2)])
    values = list(itertools.product([0, 1], repeat=levels))
    bags = {value: moved(noise, [2 * j + bit for j, bit in enumerate(value)]) for value in values}
    worst, opposite = mpf(0), mpf(0)
    for x, y in itertools.permutations(values, 2):
        delta = hockey_stick_of(bags[x], bags[y], odds(epsilon))
        worst = max(worst, delta)
        if all(a != b for a, b in zip(x, y)):
            opposite = max(opposite, delta)
    same(worst, opposite)
    return worst


def check_sliced():
    """One level is the coin count; few coins by the full enumeration of two levels."""
    for rate, epsilon in [(0.5, 0.5), (6.0, 1.0), (40.0, 0.25)]:
        coins = mixed_coins(poisson(mpf(rate)), epsilon)
        close(sliced_poisson([rate], epsilon), coins, RARE * 10**6)
    laws = []
    for rate in (1.0, 2.0):
        pairs = shift_pairs(poisson(mpf(rate) / 2, mpf(10) ** -12))
        laws.append([(p1 * q0, q1 * p0) for p1, q1 in pairs for p0, q0 in pairs])
    direct = mp.fsum(max(0, p * r - odds(0.5) * q * s) for p, q in laws[0] for r, s in laws[1])
    close(direct, sliced_poisson([1.0, 2.0], 0.5), mpf(10) ** -9)


def sliced_poisson_rows():
    """Levels that all change, with Poisson coins."""
    for rates, epsilons in [
            ([0.5], [0.5, 2.0]), ([124.0], [0.5, 1.0]), ([1.0, 2.0], [0.1, 0.5, 1.0, 2.0]),
            ([8.0, 4.0], [0.5, 1.0, 2.0]), ([20.0, 10.0], [0.25, 0.5, 1.0, 2.0]),
            ([60.0, 120.0], [0.5, 1.0, 1.5]), ([330.0, 170.0], [0.5, 1.0]),
            ([1.0, 2.0, 4.0], [1.0, 3.0]), ([4.0, 8.0, 16.0], [1.0])]:
        for epsilon in epsilons:
            delta = sliced_poisson(rates, epsilon)
            yield {"kind": "poisson", "rates": rates, "epsilon": epsilon, "delta": nearest(delta)}


def sliced_finite_rows():
    """Levels that all change, with a given number of slots."""
    for users, slots, weights in [
            (1, 1, [0.5]), (2, 1, [0.25, 0.5]), (3, 1, [0.5, 0.375]), (2, 2, [0.625, 0.25]),
            (4, 2, [0.5, 0.5]), (4, 3, [0.25, 0.625]), (2, 2, [0.25, 0.25, 0.375]),
            (3, 2, [0.5, 0.25, 0.25])]:
        for epsilon in [0.1, 0.5, 1.0, 2.0]:
            delta = sliced_finite(users, slots, weights, epsilon)
            yield {"kind": "finite", "n": users, "slots": slots, "weights": weights,
                   "epsilon": epsilon, "delta": nearest(delta)}


# ------------------------------------------------------------------------------------------------
# columns.json
# ------------------------------------------------------------------------------------------------


def column_pairs(users, flip):
    """The laws of one column (own bit 1, own bit 0) for 0..users-1 ones among the others."""
    keep = 1 - flip
    for ones in range(users):
        laws = []
        for own in (1, 0):
            law = [mpf(1)]
            for bit in [own] + [1] * ones + [0] * (users - 1 - ones):
                high = keep if bit else flip
                law = [(1 - high) * x + high * y for x, y in zip(law + [0], [0] + law)]
            laws.append(law)
        yield tuple(laws)


def columns_delta(users, flip, changing, epsilon):
    """The largest H_E over the others' bits in every column, columns turning either way."""
    pairs = list(column_pairs(users, exact(flip)))
    turned = [pair[::-1] for pair in pairs]
    same_way, either_way = mpf(0), mpf(0)
    for chosen in itertools.combinations_with_replacement(pairs + turned, changing):
        law = [math.prod(cell) for cell in itertools.product(*(pair[0] for pair in chosen))]
        other = [math.prod(cell) for cell in itertools.product(*(pair[1] for pair in chosen))]
        delta = positive_sum(law, other, odds(epsilon))
        either_way = max(either_way, delta)
        if all(pair in pairs for pair in chosen):
            same_way = max(same_way, delta)
    same(same_way, either_way)
    return same_way


def columns_rows():
    """Several bit-sum columns that all change with one user."""
    for users in [1, 2, 3, 4, 5]:
        for flip in [0.0625, 0.25, 0.4]:
            for changing in [1, 2, 3]:
                if users == 5 and changing == 3 and flip != 0.25:
                    continue
                for epsilon in [0.1, 0.5, 1.0]:
                    delta = columns_delta(users, flip, changing, epsilon)
                    # No ratio exceeds the local one, which leaves rounding only.
                    if odds(epsilon) >= ((1 - exact(flip)) / exact(flip)) ** changing:
                        assert delta < FLOOR
                        delta = mpf(0)
                    yield {"n": users, "flip": flip, "changing": changing, "epsilon": epsilon,
                           "delta": nearest(delta)}


FILES = [
    files.Table(
        "coins", "A true bit among a visible number of fair coins: Bin(trials, p) of them, a given "
        "number, Poisson(rate); additive: a true category among trials fakes, each sent with "
        "probability p.",
        {coin_rows: 60, additive_rows: 20, large_additive_rows: 1, given_rows: 40,
         poisson_rows: 40},
        before=check_coins),
    files.Table(
        "burst", "Noise events per user: pairs[j-1] for j '+' and j '-', plus[k-1] for k '+', "
        "minus[k-1] for k '-'. removed = H(bit 0 || bit 1), added = H(bit 1 || bit 0); two cells "
        "with that many trials each; histogram of n users that draw a uniform cell and then an "
        "event for it.",
        {small_burst_rows: 20, large_burst_rows: 1, small_two_cell_rows: 10,
         large_two_cell_rows: 1, histogram_rows: 4},
        before=check_bursts),
    files.Table(
        "sliced", "Every level's bit among labelled fair coins: Poisson(rates[j]) of them, all "
        "bits change; or n users with slots that hold a coin of level j with probability "
        "weights[j], worst pair of values.", {sliced_poisson_rows: 7, sliced_finite_rows: 16},
        before=check_sliced),
    files.Table(
        "columns", "Independent bit-sum columns that all change: worst delta over the others' bits "
        "in each column.", {columns_rows: 90}),
]

if __name__ == "__main__":
    files.main(FILES)
