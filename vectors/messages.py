"""Tables for protocols in which a user sends several messages, or several columns.

The same rules as in `accountant.py`: laws are built from what each user sends, in 80-digit or exact
arithmetic, and the hockey-stick divergence is summed over outcomes. Crowds too large to enumerate
use another route, first compared with the enumeration on small crowds: coins are added one at a
time to a running tail of the fair binomial law. Bursts of messages are in `bursts.py`.
"""

import bisect
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
