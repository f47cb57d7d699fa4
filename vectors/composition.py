"""Tables for the privacy accountant: several rounds, and one client over time.

Compositions are exact: randomized response by its binomial law, products of clone pairs over all
multisets of outcomes. Rounds of bit-sum have every dataset in every round. The longitudinal client is followed step by step for all inputs. Rules are
those of `accountant.py`.
"""

import itertools
import math
from fractions import Fraction

from mpmath import mp, mpf

import files
from amplification import blanket_weight, clone_delta, clone_laws
from laws import (
    DEEP_FLOOR,
    bag_laws,
    binomial,
    close,
    convolve,
    exact,
    gaussian_delta,
    hockey_stick,
    nearest,
    odds,
    plus_bit,
    significant,
)


# ------------------------------------------------------------------------------------------------
# compose.json
# ------------------------------------------------------------------------------------------------


def response_delta(epsilon0, rounds, epsilon):
    """Exact delta of binary randomized response used `rounds` times.

    The other law is the first times e^-loss, which a window of its own would cut off where
    e^epsilon still brings it back.
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


def response_rows():
    """Randomized response, many times."""
    for epsilon0 in [0.1, 0.25, 0.5, 1.0]:
        for rounds in [1, 2, 3, 10, 100, 1000, 10**4]:
            mean = rounds * epsilon0 * math.tanh(epsilon0 / 2)
            sd = epsilon0 * math.sqrt(rounds) / math.cosh(epsilon0 / 2)
            for z in [0.0, 1.5, 4.0, 6.0] if rounds >= 100 else [0.2, 0.9]:
                epsilon = significant(mean + z * sd if rounds >= 100 else rounds * epsilon0 * z, 5)
                delta = response_delta(epsilon0, rounds, epsilon)
                if delta > mpf(10) ** -300:
                    yield {"kind": "response", "epsilon0": epsilon0, "rounds": rounds,
                           "epsilon": epsilon, "delta": nearest(delta)}
    for epsilon0, rounds, epsilon in [(0.1, 10**4, 74.3), (0.5, 400, 74.6), (1.0, 100, 75.3)]:
        delta = response_delta(epsilon0, rounds, epsilon)
        yield {"kind": "response", "epsilon0": epsilon0, "rounds": rounds, "epsilon": epsilon,
               "delta": nearest(delta)}


def product_rows():
    """Products of the strong clone pair."""
    for n, epsilon0, rounds in itertools.product([2, 3, 5], [0.5, 1.0, 2.0], [1, 2, 3, 4]):
        atoms = clone_atoms(n, epsilon0)
        for fraction in [0.1, 0.45, 0.85, 0.99]:
            epsilon = significant(epsilon0 * fraction * rounds, 4)
            delta = product_delta(atoms, rounds, epsilon)
            if rounds == 1:
                weight = blanket_weight("strong", epsilon0)
                close(delta, clone_delta(n, epsilon0, weight, epsilon))
            yield {"kind": "clone", "n": n, "epsilon0": epsilon0, "rounds": rounds,
                   "epsilon": epsilon, "delta": nearest(delta)}


def gaussian_rows():
    """The Gaussian mechanism, many times."""
    for mu, rounds, epsilon in [(0.1, 1, 0.1), (0.1, 100, 1.0), (0.02, 10**4, 4.0), (0.5, 4, 3.0),
                                (0.01, 10, 0.1), (1.0, 9, 20.0), (0.003, 10**6, 15.0)]:
        delta = gaussian_delta(exact(mu) * mp.sqrt(rounds), epsilon)
        yield {"kind": "gaussian", "mu": mu, "rounds": rounds, "epsilon": epsilon,
               "delta": nearest(delta)}


# ------------------------------------------------------------------------------------------------
# rounds.json
# ------------------------------------------------------------------------------------------------


def bag_pairs(n, flip):
    """The laws of the total of n flipped bits for every number of ones among the others: (own bit 1,
    own bit 0)."""
    pairs = []
    for law in bag_laws(n - 1, flip):
        one, zero = plus_bit((0, law), 1 - flip), plus_bit((0, law), flip)
        pairs.append(list(zip(one[1], zero[1])))
    return pairs


def adaptive_delta(pairs, rounds, e):
    """The largest H_E over all ways to choose the dataset of a round by what the earlier ones gave.

    The rest of the game, seen from an outcome, is the same game at E times Q/P of that outcome.
    """
    if rounds == 0:
        return max(1 - e, mpf(0))
    return max(sum(p * adaptive_delta(pairs, rounds - 1, e * q / p) for p, q in pair)
               for pair in pairs)


def one_dataset_delta(n, flip, rounds, epsilon, step):
    """H_E, from below, of rounds in all of which every other bit is a 1.

    The adversary gives every outcome a whole number of points, its loss in steps, and looks at their
    sum. Outcomes too rare to matter are left out in both worlds.
    """
    first, others = binomial(n - 1, flip, mpf(10) ** -40)
    # Counted in zeros; the own bit 1 adds one with probability `flip`.
    law = plus_bit((first, others), flip)[1]
    other = plus_bit((first, others), 1 - flip)[1]
    points = [int(mp.nint(mp.log(p / q) / step)) for p, q in zip(law, other)]
    low = min(points)
    scored = []
    for masses in (law, other):
        total = [mpf(0)] * (max(points) - low + 1)
        for point, mass in zip(points, masses):
            total[point - low] += mass
        scored.append(power((low, total), rounds))
    return hockey_stick(*scored, odds(epsilon))


def power(law, times):
    """The law of the sum of so many independent outcomes."""
    result = None
    while times:
        if times % 2:
            result = law if result is None else convolve(result, law)
        times //= 2
        law = convolve(law, law) if times else law
    return result


def adaptive_rows():
    """Small crowds, every way to choose datasets."""
    for n, flip, rounds in [(1, 0.25, 3), (2, 0.125, 2), (3, 0.25, 2), (3, 0.0625, 3), (5, 0.25, 2),
                            (8, 0.125, 2)]:
        pairs = bag_pairs(n, exact(flip))
        for epsilon in [0.0, 0.25, 1.0, 2.0]:
            delta = adaptive_delta(pairs, rounds, odds(epsilon))
            single = max(adaptive_delta([pair], rounds, odds(epsilon)) for pair in pairs)
            assert single <= delta
            if delta > 0:
                yield {"n": n, "flip": flip, "rounds": rounds, "epsilon": epsilon,
                       "delta": nearest(delta)}


def one_dataset_rows():
    """About a thousand users over months: what an adversary reaches."""
    for rounds, epsilon in [(10, 2.3084), (30, 3.8972), (100, 7.3139)]:
        delta = one_dataset_delta(950, exact(0.032246), rounds, epsilon, mpf(1) / 200)
        yield {"n": 950, "flip": 0.032246, "rounds": rounds, "epsilon": epsilon,
               "delta_lower": nearest(delta)}


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
    for periods in [1, 2, 4, 8]:
        for bound in range(1, min(3, periods) + 1):
            coins = [0.25, 0.5, 1.0, 2.0] if periods < 8 else [0.5, 1.0]
            for coin in coins:
                value = longitudinal_exact(periods, bound, coin)
                yield {"periods": periods, "changes": bound, "coin_epsilon": coin,
                       "exact": nearest(value)}


FILES = [
    files.Table(
        "compose", "Exact compositions: randomized response, products of the strong clone pair, "
        "Gaussian.", {response_rows: 16, product_rows: 60, gaussian_rows: 7}),
    files.Table(
        "rounds", "Several rounds of bit-sum: delta is the largest over all ways to choose the "
        "dataset of each round by the outcomes of the earlier ones; delta_lower is reached when "
        "all others hold a 1 in every round.", {adaptive_rows: 12, one_dataset_rows: 1}),
    files.Table(
        "longitudinal", "Longitudinal client: largest log likelihood ratio over all inputs and "
        "output sequences, with coin bias e^c/(1+e^c).", {longitudinal_rows: 22}),
]

if __name__ == "__main__":
    files.main(FILES)
