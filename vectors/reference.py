"""Compares computed values with the numbers that are printed in papers and in the documentation.

It writes nothing. Each group is compared by its name:

    python3 reference.py [--check] [name ...]
"""

import dataclasses
import itertools
import math
from collections.abc import Callable

from mpmath import mp, mpf

import files
from accountant import (
    bit_sum_tradeoffs,
    bit_sum_worst,
    gaussian_score,
    mu_star,
    tradeoff_at,
    two_message,
)
from amplification import (
    blanket_weight,
    clone_delta,
    four_masses,
    gain_types,
    hash_outputs,
    mean_positive_sum,
)
from bursts import Bursts, burst_count, burst_count_direct, burst_shape, cell_atoms, two_cell
from composition import longitudinal_exact, response_delta
from laws import (
    AGREE,
    bag_laws,
    binomial,
    binomial_tail,
    both_ways,
    close,
    convolve,
    exact,
    flip_probability,
    gaussian_delta,
    hockey_stick,
    ln_binomial_pmf,
    normal_tail,
    normal_upper_quantile,
    odds,
    plus_bit,
    poisson,
    positive_sum,
    same,
    shifted,
)
from mechanism import moments, one_bit_variance
from messages import additive_delta, coin_delta, given_coins, mixed_coins, sliced_poisson
from published import (
    check_rappor_by_enumeration,
    claim14,
    cor17,
    fmt_closed,
    fmt_simple,
    lemma18,
    lemma18_range,
    rappor_bits,
    rappor_forever,
    rappor_many,
    rappor_one,
    rdp_epsilon,
    thm23_epsilon0,
    thm7_general,
    thm7_rho,
    thm7_second,
    thm7_third,
)


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


def compare_bit_sum(ref):
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


def compare_calibration(ref):
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


def compare_gaussian(ref):
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


def compare_real_sum(ref):
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


def compare_lecture(ref):
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


def compare_two_message(ref):
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


def compare_amplification(ref):
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


def compare_tradeoff(ref):
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
    compare_subset_count(ref)
    compare_columns(ref)


def gaussian_tradeoff(alpha, mu):
    """Trade-off of two unit normal laws at distance mu."""
    z = normal_upper_quantile(alpha) if alpha <= mpf(1) / 2 else -normal_upper_quantile(1 - alpha)
    return 1 - normal_tail(z - mu)


def approximate_tradeoff(alpha, epsilon, delta):
    """Trade-off of an (epsilon, delta) guarantee."""
    e = mp.exp(epsilon)
    return max(mpf(0), 1 - delta - e * alpha, (1 - delta - alpha) / e)


def compare_subset_count(ref):
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


def compare_columns(ref):
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


def compare_composition(ref):
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


def compare_clone(ref):
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


def negative_binomial(r, q, span):
    """P(k) = Gamma(k+r) / (Gamma(r) k!) (1-q)^r q^k for k in 0..span-1."""
    r, q = mpf(r), mpf(q)
    law = [(1 - q) ** r]
    for k in range(1, span):
        law.append(law[-1] * q * (r + k - 1) / k)
    return law


def flood_delta(pairs, s_plus, s_minus, epsilon):
    """(removed, added) for geometric '+' and '-' under pairs with the given law.

    V(a, b) is proportional to s_plus^(a-m) s_minus^(b-m) H(m), m = min(a, b), with H the pairs
    convolved with powers of s_plus s_minus. Where b < a the likelihood ratio is s_plus; where
    b >= a it depends on a alone, and all such b are summed at once.
    """
    span = len(pairs)
    _, h = convolve((0, pairs), (0, [(s_plus * s_minus) ** k for k in range(span)]))
    e = mp.exp(mpf(epsilon))
    scale = (1 - s_plus) * (1 - s_minus)
    removed = added = mpf(0)
    for a, (here, before) in enumerate(zip(h[:span], [mpf(0)] + h)):
        tail = scale / (1 - s_minus)
        removed += tail * max(0, here - e * s_minus * before)
        added += tail * max(0, s_minus * before - e * here)
    # Neither s_plus nor its inverse exceeds E, so b < a adds nothing.
    assert 1 / s_plus <= e * (1 + AGREE)
    return removed, added


def flood_direct(pairs, s_plus, s_minus, epsilon, span):
    """The same over all (a, b) in a square, each cell summed over the number of pairs."""
    law = {}
    for a, b in itertools.product(range(span), repeat=2):
        terms = (pairs[k] * s_plus ** (a - k) * s_minus ** (b - k) for k in range(min(a, b) + 1))
        law[a, b] = (1 - s_plus) * (1 - s_minus) * mp.fsum(terms)
    shift = {(a, b): law.get((a - 1, b), mpf(0)) for a, b in law}
    return both_ways(law, shift, mp.exp(mpf(epsilon)))


def compare_flood(ref):
    """Geometric noise under negative binomial or Poisson pairs."""
    s = mp.exp(-mpf("0.95"))
    pairs = negative_binomial(3, "0.5", 60)
    for x, y in zip(flood_delta(pairs, s, s, 1), flood_direct(pairs, s, s, 1, 45)):
        close(x, y, mpf(10) ** -9)
    for epsilon, eta, r, q, span, text in [
            ("1", "0.2", "8", "0.8", 400, "0.002593496622216842"),
            ("0.5", "0.3", "20", "0.9", 1000, "2.584525847605942e-6"),
            ("1", "0.05", "3", "0.5", 200, "0.123485629178445"),
            ("1", "0.2", "31.473", "0.88692", 1500, "1.000064219176385e-8"),
            ("0.1", "0.2", "20.5197", "0.99005", 12_000, "9.998153313887765e-9")]:
        s = mp.exp(-(1 - mpf(eta)) * mpf(epsilon))
        removed, added = flood_delta(negative_binomial(r, q, span), s, s, epsilon)
        ref.value(text, removed)
        assert added == 0
    for epsilon, eta, rate, text in [("1", "0.2", "50", "0.004928063641401391"),
                                     ("0.5", "0.3", "100", "0.00221919655983887"),
                                     ("1", "0.2", "620.8", "1.000123875580211e-8")]:
        first, law = poisson(mpf(rate), mpf(10) ** -40)
        s = mp.exp(-(1 - mpf(eta)) * mpf(epsilon))
        removed, added = flood_delta([mpf(0)] * first + law, s, s, epsilon)
        ref.value(text, removed)
        assert added == 0
    for epsilon, eta, text in [("1", "0.2", "1.721491849875"), ("0.1", "0.2", "17.67295636426"),
                               ("0.5", "0.3", "4.020059680865"), ("1", "0.05", "1.434105842273")]:
        s = mp.exp(-(1 - mpf(eta)) * mpf(epsilon))
        law = [(k, (1 - s) * s**k) for k in range(int(140 / -mp.log(s)))]
        ref.value(text, mp.sqrt(2 * moments(law)[1]))
    pairs = negative_binomial(8, "0.8", 400)
    removed, added = flood_delta(pairs, mp.exp(-1), mp.exp(-mpf("0.8")), 1)
    ref.value("0.0028539002312281", removed)
    assert added == 0
    law = negative_binomial(mpf(1) / 1000, "0.5", 6)
    for k, text in [(0, "0.9993070929904525"), (1, "0.0004996535464952263"),
                    (2, "0.0001250383000104304"), (5, "6.258690253167372e-6")]:
        ref.value(text, law[k])


def compare_coin(ref):
    """Coins: given numbers, mixtures, and the numbers of coins that reach delta = 1e-8."""
    for coins, epsilon, text in [
            (0, 1, "1"), (1, 1, "0.5"), (10, 0.5, "0.09357915659841547"),
            (100, 0.5, "0.0005698563248133241"), (100, 1, "8.00255105953459e-8")]:
        ref.value(text, given_coins(coins, epsilon))
    for trials, p, epsilon, text in [
            (12, "0.7", 0.5, "0.1178961686748492"), (30, "0.4", 1.0, "0.02288175819086803"),
            (1000, "0.124", 1.0, "9.194382694189226e-9"),
            (10**6, "124e-6", 1.0, "1.0217778018852e-8"),
            (10**6, "0.008457", mpf("0.1"), "9.99990316e-9")]:
        ref.value(text, coin_delta(trials, p, epsilon))
    ref.value("0.2942161827460662", additive_delta(8, mpf("0.6"), 3, 0.5))
    target = mpf(10) ** -8
    for epsilon, coins in [(0.1, 8451), (0.5, 401), (1.0, 117)]:
        assert given_coins(coins, epsilon) <= target < given_coins(coins - 1, epsilon)
        ref.count += 1
    for epsilon, text, trials in [
            (0.1, "8457.04", None), (0.5, "407.740", None), (1.0, "124.186", None),
            (0.1, "8454.05", 17_000), (0.5, "404.967", 1000), (1.0, "123.288", 1000),
            (0.1, "8454.50", 20_000), (0.5, "407.462", 10**4), (1.0, "124.096", 10**4)]:
        ref.root(text, lambda c: mixed_coins(poisson(c) if trials is None else
                                             binomial(trials, c / trials), epsilon), target)
    for epsilon, trials, categories, text in [
            (1.0, 10**6, 1024, "0.063583"), (0.5, 10**6, 1024, "0.208762"),
            (0.1, 5 * 10**6, 1024, "0.866000"), (1.0, 10**4, 10, "0.062048"),
            (0.1, 10**5, 10, "0.422827")]:
        # Some of these are rounded up.
        profile = lambda p: coin_delta(trials, 2 * p / categories, epsilon)
        ref.root(text, profile, target, units="1.01")


def compare_small_burst(ref):
    """Crowds of seven and nine, every user enumerated."""
    rates = ["0.6", "0.3", "0.2"]
    seven = Bursts.of_rates(7, ["1.5"], rates, rates)
    removed, added = burst_count_direct(seven, 7, 0.7)
    ref.value("0.0940559415953505", removed)
    ref.value("0.0123081446992935", added)
    ref.value("0.132461680797604", two_cell(cell_atoms(seven, 7)[0], odds(0.7)))
    nine = Bursts.of_rates(9, ["1", "0.5"], ["0.5", "0.25"], ["0.7", "0.4"])
    for epsilon, *texts in [(0.5, "0.12903751265052", "0.07869515392430"),
                            (1.0, "0.07594836360090", "0.00711369041971")]:
        for text, value in zip(texts, burst_count_direct(nine, 9, epsilon)):
            ref.value(text, value)


def compare_large_burst(ref):
    """Calibrated bursts at delta = 1e-8."""
    six = None
    for users, epsilon, eta, slots, rho, plus, minus, *texts in [
            (10**4, 1.0, "0.05", 6, "195.0124", ("0.418476", "9.869"), ("0.442520", "9.601"),
             "9.973046119e-9", "1.473790846e-9"),
            (10**4, 1.0, "0.05", 4, "194.7485", ("0.507123", "4.205"), ("0.536085", "4.931"),
             "9.996522344e-9", "1.764857227e-9"),
            (10**4, 1.0, "0.1", 8, "130.2727", ("0.387495", "26.24"), ("0.431185", "20"),
             "9.982420433e-9", "1.354554547e-11"),
            (10**6, 1.0, "0.1", 8, "136", ("0.387495", "26.24"), ("0.431185", "20"),
             "8.861623952e-9", "1.334650869e-11"),
            (10**4, 0.5, "0.1", 24, "126.6212", ("0.609838", "288"), ("0.640523", "182.6"),
             "9.907901156e-9", "1.059202609e-10")]:
        shape = burst_shape(eta, exact(epsilon), slots, mpf(rho), plus, minus)
        bursts = Bursts.of_rates(users, *shape)
        *values, error = burst_count(bursts, users, epsilon, 34 if slots > 8 else 38)
        for text, value in zip(texts, values):
            assert error < ref.unit(text) / 10
            ref.value(text, value)
        six = six or bursts
    crowd = 10**4
    mean = crowd * sum(p * (plus - minus) for (plus, minus), p in six.events)
    square = crowd * sum(p * (plus - minus) ** 2 for (plus, minus), p in six.events)
    ref.value("-0.0890262", mean)
    ref.value("1.8050975", mp.sqrt(square - mean**2 / crowd))
    # Printed integers out of 2^64 stem from doubles.
    weights = [p for _, p in six.events[:2]] + [six.none]
    for printed, weight in zip([0x4DE7A7FB0D12280, 0x25FD9F6E26D0060, 0xF72EF1DA7A31CE2A], weights):
        same(mpf(printed), mp.ldexp(weight, 64), mpf(10) ** -15)
        ref.count += 1


def compare_sliced(ref):
    """Levels with Poisson coins, and the variance of a real sent as one bit."""
    ref.value("0.268142067479", sliced_poisson([8.0, 4.0], 1.0))
    ref.value("0.159476451720", sliced_poisson([20.0, 10.0], 0.5))
    ref.value("1.1706735942", one_bit_variance(1.0, 0.5))


@dataclasses.dataclass
class Group:
    """Printed numbers that are compared together."""

    name: str
    compare: Callable

    def check(self):
        """Compares all of them."""
        ref = Reference()
        self.compare(ref)
        return f"{ref.count} numbers agree"

    sample = check
    write = check


FILES = [
    Group("bit_sum", compare_bit_sum),
    Group("calibration", compare_calibration),
    Group("gaussian", compare_gaussian),
    Group("real_sum", compare_real_sum),
    Group("lecture", compare_lecture),
    Group("two_message", compare_two_message),
    Group("amplification", compare_amplification),
    Group("tradeoff", compare_tradeoff),
    Group("composition", compare_composition),
    Group("clone", compare_clone),
    Group("flood", compare_flood),
    Group("coin", compare_coin),
    Group("small_burst", compare_small_burst),
    Group("large_burst", compare_large_burst),
    Group("sliced", compare_sliced),
]

if __name__ == "__main__":
    files.main(FILES)
