"""burst.json: bursts of '+' and '-' around a true count, in one cell, two cells and a histogram.

Small crowds are enumerated user by user. In large ones the law of all noise is a power of a
polynomial in two variables, by repeated squaring in fixed point, first compared with the
enumeration on small crowds. All roundings and cuts go down, so the mass that is missing at the end
bounds every error.
"""

import decimal
import functools
import itertools

from mpmath import mp, mpf

import files
from laws import both_ways, close, hockey_stick_of, moved, nearest, odds, same


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


FILES = [
    files.Table(
        "burst", "Noise events per user: pairs[j-1] for j '+' and j '-', plus[k-1] for k '+', "
        "minus[k-1] for k '-'. removed = H(bit 0 || bit 1), added = H(bit 1 || bit 0); two cells "
        "with that many trials each; histogram of n users that draw a uniform cell and then an "
        "event for it.",
        {small_burst_rows: 20, large_burst_rows: 1, small_two_cell_rows: 10,
         large_two_cell_rows: 1, histogram_rows: 4},
        before=check_bursts),
]

if __name__ == "__main__":
    files.main(FILES)
