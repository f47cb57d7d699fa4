"""How vector files are written and compared.

A table has one row per line and is made of parts, which yield rows one after the other, so that
its beginning can be recomputed without the rest. A document is one JSON value.

Every program of this folder that has files runs `main`:

    python3 accountant.py                     writes all its files
    python3 accountant.py special bit_sum     writes these
    python3 accountant.py --check [name ...]  recomputes and compares, and fails on a difference
    python3 accountant.py --sample [name ...] the same with the first rows of each part only
"""

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Differs(Exception):
    """The stored file is not what the program computes."""


@dataclasses.dataclass
class Table:
    """Rows of numbers, in parts, each with the number of its first rows that a sample takes.

    `before` compares two routes to the same values before either is used.
    """

    name: str
    about: str
    parts: dict[Callable, int]
    before: Callable = lambda: None

    def text(self):
        """The whole file."""
        self.before()
        rows = itertools.chain.from_iterable(part() for part in self.parts)
        lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rows)
        return f'{{"about": {json.dumps(self.about)},\n"rows": [\n{lines}\n]}}\n'

    def write(self):
        """Writes the file."""
        return write(self.name, self.text())

    def check(self):
        """Compares the whole file byte by byte."""
        return compare(self.name, self.text())

    def sample(self):
        """Compares the first rows of each part with those of the file, in the same order."""
        stored = iter(json.loads(path(self.name).read_text())["rows"])
        taken = 0
        for part, count in self.parts.items():
            for row in itertools.islice(part(), count):
                if not any(line == row for line in stored):
                    raise Differs(f"{self.name}.json has no row {json.dumps(row)} in its place")
                taken += 1
        return f"{taken} rows"


@dataclasses.dataclass
class Document:
    """One JSON value, which is made in an instant."""

    name: str
    make: Callable

    def text(self):
        """The whole file."""
        return json.dumps(self.make(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self):
        """Writes the file."""
        return write(self.name, self.text())

    def check(self):
        """Compares the whole file byte by byte."""
        return compare(self.name, self.text())

    sample = check


def path(name):
    """Where the file of that name is."""
    return HERE / f"{name}.json"


def write(name, text):
    """Writes a file, if it is JSON."""
    json.loads(text)
    path(name).write_text(text)
    return measure(text)


def compare(name, made):
    """Compares a file with its text, and names the first line that differs."""
    stored = path(name).read_text()
    if stored == made:
        return measure(made)
    lines = itertools.zip_longest(stored.splitlines(), made.splitlines(), fillvalue="(nothing)")
    for number, (have, want) in enumerate(lines, start=1):
        if have != want:
            have, want = around(have, want), around(want, have)
            raise Differs(f"{name}.json, line {number}: {have} is stored, {want} is computed")
    raise Differs(f"{name}.json: the ends of the lines differ")


def around(line, other):
    """A line where it begins to differ from another one."""
    pairs = enumerate(zip(line, other))
    place = next((i for i, (here, there) in pairs if here != there), min(len(line), len(other)))
    start = max(0, place - 40)
    return repr(("…" if start else "") + line[start : place + 40])


def measure(text):
    """The size of a text, for telling."""
    return f"{len(text.splitlines())} lines"


def run(files, action):
    """Does one thing with every file and tells how long it takes; false if any differs."""
    fine = True
    for file in files:
        began = time.process_time()
        try:
            done = getattr(file, action)()
        except (Differs, AssertionError) as error:
            fine, done = False, f"FAILS: {error}"
        print(f"{file.name:15} {time.process_time() - began:6.1f} s  {done}", flush=True)
    return fine


def main(files):
    """The program of a module that has files."""
    parser = argparse.ArgumentParser(description="Writes or compares test vectors.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="recompute everything and compare")
    mode.add_argument("--sample", action="store_true", help="recompute the first rows and compare")
    known = {file.name: file for file in files}
    parser.add_argument("names", nargs="*", help=f"of {', '.join(known)}; all if none is given")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(known))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    action = "check" if given.check else "sample" if given.sample else "write"
    wanted = [known[name] for name in given.names] or files
    sys.exit(0 if run(wanted, action) else 1)
