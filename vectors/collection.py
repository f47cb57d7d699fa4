"""collection.json: collection files, their canonical bytes and ids, and files that are refused.

A small reader follows docs/protocol.md, section 2: files that are accepted must pass it, and it
must name the field for which a file is refused. It knows the mechanisms of these files only, and
does not compute whether a promise is kept: for two files that is stated.
"""

import hashlib
import re
import struct

import files
from wire import Identity

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomli as tomllib


# ------------------------------------------------------------------------------------------------
# Reading
# ------------------------------------------------------------------------------------------------


class Refused(Exception):
    """The field that is wrong."""


class Section:
    """A section of a file, which knows where something is wrong."""

    def __init__(self, name, table, keys):
        self.name, self.table = name, table
        if not isinstance(table, dict):
            raise Refused(name)
        for key in table:
            self.require(key, keys is None or key in keys)

    def require(self, key, condition):
        """Refuses a key unless the condition holds."""
        if not condition:
            raise Refused(f"{self.name}.{key}")

    def get(self, key, *kinds):
        """A value of one of these types."""
        self.require(key, type(self.table.get(key)) in kinds)
        return self.table[key]

    def line(self, key):
        """A text of 1 to 1000 bytes on one line."""
        text = self.get(key, str)
        self.require(key, is_line(text))
        return text

    def number(self, key, low, high, ends=(False, False)):
        """A number between two others; `ends` says whether they are allowed themselves."""
        x = self.get(key, int, float)
        self.require(key, low < x < high or (ends[0] and x == low) or (ends[1] and x == high))
        # A zero is +0.
        return float(x) + 0.0

    def integer(self, key, low, high):
        """An integer of a range."""
        x = self.get(key, int)
        self.require(key, low <= x <= high)
        return x

    def seconds(self, key, low):
        """A duration of at most 366 days."""
        found = re.fullmatch(r"([0-9]+)([smhd])", self.get(key, str))
        self.require(key, found)
        length = int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]
        self.require(key, low <= length <= 366 * 86400)
        return length


def is_line(text):
    """Whether a text is not empty, not long, and on one line."""
    return 1 <= len(text.encode()) <= 1000 and text.isprintable()


def section(table, name, keys):
    """A section that must be there."""
    return Section(name, table.get(name), keys)


def read(text):
    """The canonical bytes of a collection."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise Refused("file") from None
    value, mechanism, parameters = read_mechanism(section(table, "mechanism", None))
    question = read_question(section(table, "question", QUESTION), value, parameters)
    epochs, promise = read_promise(section(table, "promise", PROMISE))
    window, schedule = read_schedule(section(table, "schedule", SCHEDULE))
    chain = read_chain(table)
    for name in table:
        if name not in SECTIONS:
            raise Refused(name)
    if "periods" in parameters:
        refuse_unless("promise.epochs", epochs <= parameters["periods"])
        refuse_unless("schedule.below", window == 0)
    return question + promise + mechanism + schedule + chain


def refuse_unless(field, condition):
    """Refuses a field unless the condition holds."""
    if not condition:
        raise Refused(field)


def read_mechanism(given):
    """The value it answers for, its canonical bytes, and its parameters by name."""
    key = given.get("key", str)
    given.require("key", key in MECHANISMS)
    value, names = MECHANISMS[key]
    parameters = {name: whole_number(given, name) for name in names}
    for name in given.table:
        given.require(name, name == "key" or name in names)
    given.require("bits", parameters.get("bits", 1) == 1)
    for name in {"flip", "replace", "keep"} & set(names):
        refuse_unless("mechanism", is_threshold(parameters[name]))
    listed = [as_text(name) + as_list([u64(x)]) for name, x in parameters.items()]
    return value, as_text(key) + as_list(listed), parameters


def whole_number(given, name):
    """An integer below 2^64, which may be written as a text."""
    x = given.get(name, int, str)
    given.require(name, re.fullmatch("[0-9]+", str(x)) and int(x) < 2**64)
    return int(x)


def is_threshold(x):
    """Whether x out of 2^64 is a probability above 0 that a double holds exactly."""
    return x > 0 and int(float(x)) == x


def read_question(given, value, parameters):
    """The canonical bytes of the question."""
    given.require("value", given.get("value", str) == value)
    text, low, high = given.line("text"), 0.0, 1.0
    if value == "real":
        low = given.number("low", -INFINITE, INFINITE)
        high = given.number("high", low, INFINITE)
    for key in ("low", "high"):
        given.require(key, value == "real" or key not in given.table)
    unit = given.line("unit") if "unit" in given.table else ""
    labels = []
    if "labels" in given.table:
        labels = given.get("labels", list)
        sound = all(isinstance(label, str) and is_line(label) for label in labels)
        given.require("labels", value == "category" and sound)
        given.require("labels", len(labels) == len(set(labels)) == parameters["categories"])
    fields = as_text(text) + as_text(value) + number(low) + number(high) + as_text(unit)
    return fields + as_list(map(as_text, labels))


def read_promise(given):
    """The number of epochs, and the canonical bytes of the promise."""

    def pair(prefix):
        epsilon = given.number(prefix + "epsilon", 0, INFINITE)
        delta = given.number(prefix + "delta", 1e-200, 1, (True, False))
        return number(epsilon) + number(delta)

    corrupt = 0.0
    if "corrupt" in given.table:
        corrupt = given.number("corrupt", 0, 0.99, (True, True))
    one, crowd = pair(""), given.integer("crowd", 1, 10**9)
    epochs = given.integer("epochs", 1, 10**6)
    return epochs, one + u64(crowd) + number(corrupt) + u64(epochs) + pair("lifetime_")


def read_schedule(given):
    """The window, 0 for one epoch, and the canonical bytes of the schedule."""
    below = given.get("below", str)
    given.require("below", below in ("expire", "merge"))
    given.require("window", below == "merge" or "window" not in given.table)
    window = given.integer("window", 2, 64) if below == "merge" else 0
    start = given.integer("start", 0, 2**40)
    times = u64(start) + u64(given.seconds("every", 1)) + u64(given.seconds("grace", 0))
    return window, times + u64(window)


def read_chain(table):
    """The canonical bytes of mixes and analyzer."""
    mixes = table.get("mix", [])
    refuse_unless("mix", isinstance(mixes, list) and 1 <= len(mixes) <= 8)
    named = [(f"mix[{place}]", mix) for place, mix in enumerate(mixes, start=1)]
    seen, parties = set(), []
    for name, party in [*named, ("analyzer", table.get("analyzer"))]:
        parties.append(read_party(Section(name, party, PARTY), seen))
    return as_list(parties[:-1]) + parties[-1]


def read_party(given, seen):
    """The canonical bytes of a party, whose identity and name nobody before it has."""
    name, url = given.line("name"), given.line("url")
    place = r"[A-Za-z0-9\-._~\[\]%]([A-Za-z0-9\-._~/:\[\]%]*[A-Za-z0-9\-._~\[\]%])?"
    given.require("url", re.fullmatch("https?://" + place, url))
    identity = given.get("identity", str)
    given.require("identity", re.fullmatch("[0-9a-f]{64}", identity))
    given.require("identity", is_identity(bytes.fromhex(identity)) and identity not in seen)
    read_as = " ".join(re.sub(UNSEEN, "", name).lower().split())
    given.require("name", read_as not in seen)
    seen |= {identity, read_as}
    return as_text(name) + as_text(url) + bytes.fromhex(identity)


def is_identity(key):
    """Whether 32 bytes are a point of Ed25519, in its one encoding, not of small order."""
    y = int.from_bytes(key, "little") % 2**255
    d = -121665 * pow(121666, -1, PRIME)
    x_squared = (y * y - 1) * pow(d * y * y + 1, -1, PRIME) % PRIME
    on_curve = pow(x_squared, (PRIME - 1) // 2, PRIME) == 1
    # Order 1 or 2 has x = 0, order 4 has y = 0, and order 8 has x^2 + y^2 = 0.
    return y < PRIME and on_curve and y != 0 and (x_squared + y * y) % PRIME != 0


PRIME = 2**255 - 19
INFINITE = float("inf")
SECTIONS = {"question", "promise", "mechanism", "schedule", "mix", "analyzer"}
QUESTION = {"text", "value", "low", "high", "unit", "labels"}
PROMISE = {"epsilon", "delta", "crowd", "corrupt", "epochs", "lifetime_epsilon", "lifetime_delta"}
SCHEDULE = {"start", "every", "grace", "below", "window"}
PARTY = {"name", "url", "identity"}
# Marks in a name that do not show.
UNSEEN = "[\u00ad\u200b-\u200f\u2060\ufeff]"
# Of each mechanism the value it answers for, and its parameters in canonical order.
MECHANISMS = {
    "bit-sum": ("bit", ["flip"]),
    "one-bit-mean": ("real", ["bits", "flip"]),
    "kary-response": ("category", ["categories", "replace"]),
    "longitudinal": ("state", ["periods", "changes", "keep"]),
}


# ------------------------------------------------------------------------------------------------
# Canonical bytes
# ------------------------------------------------------------------------------------------------


def u64(x):
    """An integer of eight bytes."""
    return x.to_bytes(8, "big")


def number(x):
    """The bits of a double."""
    return struct.pack(">d", x)


def as_text(text):
    """Length and UTF-8 of a text."""
    return len(text.encode()).to_bytes(4, "big") + text.encode()


def as_list(items):
    """Number and bytes of items."""
    items = list(items)
    return len(items).to_bytes(4, "big") + b"".join(items)


# ------------------------------------------------------------------------------------------------
# Files that are accepted
# ------------------------------------------------------------------------------------------------


def identity(number):
    """A public identity by the number of its seed."""
    return Identity(number).public.hex()


def party(head, name, number):
    """The section of a party."""
    lines = [head, f'name = "{name}"', f'url = "https://{name}.example"',
             f'identity = "{identity(number)}"']
    return "\n".join(lines) + "\n\n"


HEAD = """\
[question]
text = "How many say yes?"
value = "bit"

[promise]
epsilon = 1.0
delta = 1e-6
crowd = 1000
corrupt = 0.0
epochs = 1
lifetime_epsilon = 1.0
lifetime_delta = 1e-6

[mechanism]
key = "bit-sum"
flip = "4611686018427387904"

[schedule]
start = 1700000000
every = "24h"
grace = "15m"
below = "expire"

"""
BITS = HEAD + party("[[mix]]", "north", 1) + party("[[mix]]", "south", 2)
BITS += party("[analyzer]", "counter", 3)


def changed(text, *changes):
    """A text with every occurrence replaced, one change after the other."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def otherwise_written():
    """The same collection with a comment, in another order and notation."""
    schedule, end = BITS.index("[schedule]"), BITS.index("[[mix]]")
    text = f"# A comment.\n{BITS[:schedule]}{BITS[end:]}\n{BITS[schedule:end]}"
    return changed(
        text, ("epsilon = 1.0", "epsilon = 1"), ('every = "24h"', 'every = "1d"'),
        ('flip = "4611686018427387904"', "flip = 4611686018427387904"), ("corrupt = 0.0\n", ""))


BIT_SUM = 'key = "bit-sum"\nflip = "4611686018427387904"'
LABELS = r'["a", "b", "ß \"c\""]'
CATEGORIES = changed(
    BITS, ('value = "bit"', f'value = "category"\nlabels = {LABELS}'),
    (BIT_SUM, 'key = "kary-response"\ncategories = "3"\nreplace = "9223372036854775808"'))
MERGED = changed(
    BITS, ('value = "bit"', 'value = "real"\nlow = -15.0\nhigh = 120\nunit = "min"'),
    ('"bit-sum"', '"one-bit-mean"\nbits = 1'), ("corrupt = 0.0", "corrupt = 0.25"),
    ("epochs = 1", "epochs = 5"), ("lifetime_epsilon = 1.0", "lifetime_epsilon = 30.0"),
    ('below = "expire"', 'below = "merge"\nwindow = 2'))
LIFE = changed(
    BITS, ('value = "bit"', 'value = "state"'), ("epochs = 1", "epochs = 4"),
    (BIT_SUM, 'key = "longitudinal"\nperiods = 4\nchanges = 1\nkeep = "13835058055282163712"'))
ONE_MIX = BITS[: BITS.rindex("[[mix]]")] + BITS[BITS.index("[analyzer]") :]

ACCEPTED = [
    ("bits", BITS),
    ("bits, otherwise written", otherwise_written()),
    ("categories", CATEGORIES),
    ("merged", MERGED),
    ("a life", LIFE),
    ("one mix", ONE_MIX),
]


# ------------------------------------------------------------------------------------------------
# Files that are refused
# ------------------------------------------------------------------------------------------------

NORTH = identity(1)
FLIP = '"4611686018427387904"'
# (how the error begins, what is replaced in `BITS`, by what)
CHANGES = [
    # Sections and keys that are not there, or not known.
    ("file:", "[question]", "[question"),
    ("question:", "[question]", "[questions]"),
    ("promise:", "[promise]", "[promises]"),
    ("mechanism:", "[mechanism]", "[machine]"),
    ("schedule:", "[schedule]", "[schedules]"),
    ("analyzer:", "[analyzer]", "[analyser]"),
    ("extra:", "[question]", "[extra]\n[question]"),
    ("question.colour:", "value =", 'colour = "red"\nvalue ='),
    ("promise.epsilom:", "epsilon = 1.0", "epsilom = 1.0"),
    ("promise.lifetime:", "lifetime_epsilon", "lifetime"),
    ("promise.lifetime_delta:", "lifetime_delta = 1e-6\n", ""),
    ("mechanism.flap:", "flip =", "flap = 1\nflip ="),
    ("schedule.windows:", "below =", "windows = 2\nbelow ="),
    ("mix[2].key:", 'name = "south"', 'name = "south"\nkey = 1'),
    ("analyzer.hop:", 'name = "counter"', 'name = "counter"\nhop = 3'),
    # The question.
    ("question.text:", "How many say yes?", ""),
    ("question.text:", "How many say yes?", "long" * 251),
    ("question.text:", "How many say yes?", "two\\nlines"),
    ("question.value:", 'value = "bit"', 'value = "category"'),
    ("question.low:", 'value = "bit"', 'value = "bit"\nlow = 0'),
    ("question.labels:", 'value = "bit"', 'value = "bit"\nlabels = ["no", "yes"]'),
    # The promise.
    ("promise.epsilon:", "epsilon = 1.0", "epsilon = 0"),
    ("promise.epsilon:", "epsilon = 1.0", "epsilon = inf"),
    ("promise.epsilon:", "epsilon = 1.0", 'epsilon = "1"'),
    ("promise.delta:", "\ndelta = 1e-6", "\ndelta = 0.0"),
    ("promise.delta:", "\ndelta = 1e-6", "\ndelta = 1.0"),
    ("promise.crowd:", "crowd = 1000", "crowd = 0"),
    ("promise.crowd:", "crowd = 1000", "crowd = 1e3"),
    ("promise.crowd:", "crowd = 1000", "crowd = 1000000001"),
    ("promise.corrupt:", "corrupt = 0.0", "corrupt = 1.0"),
    ("promise.corrupt:", "corrupt = 0.0", "corrupt = -0.1"),
    ("promise.corrupt:", "corrupt = 0.0", "corrupt = nan"),
    ("promise.epochs:", "epochs = 1", "epochs = 0"),
    ("promise.epochs:", "epochs = 1", "epochs = 1000001"),
    ("the promise is not kept: with 3 honest", "crowd = 1000", "crowd = 3"),
    ("the promise is not kept: 900 epochs", "epochs = 1", "epochs = 900"),
    # The mechanism.
    ("mechanism.key:", "bit-sum", "bit-some"),
    ("mechanism.flip:", f"flip = {FLIP}\n", ""),
    ("mechanism.flip:", FLIP, '"half"'),
    ("mechanism.flip:", FLIP, '["1", "2"]'),
    ("mechanism.flip:", FLIP, "0.25"),
    ("mechanism:", FLIP, '"0"'),
    ("mechanism:", FLIP, '"4611686018427387905"'),
    # The schedule.
    ("schedule.start:", "start = 1700000000", "start = -1"),
    ("schedule.start:", "start = 1700000000", 'start = "2023-11-14"'),
    *(("schedule.every:", '"24h"', every) for every in [
        '"0s"', '"24"', '"1w"', '"-1h"', '"1.5h"', '"367d"', "24", '""']),
    ("schedule.grace:", 'grace = "15m"\n', ""),
    ("schedule.below:", '"expire"', '"drop"'),
    ("schedule.window:", '"expire"', '"expire"\nwindow = 2'),
    ("schedule.window:", '"expire"', '"merge"'),
    ("schedule.window:", '"expire"', '"merge"\nwindow = 1'),
    ("schedule.window:", '"expire"', '"merge"\nwindow = 65'),
    # Who carries it.
    ("mix[1].url:", "https://north.example", "ftp://north.example"),
    ("mix[1].url:", "https://north.example", "https://north.example/"),
    ("mix[1].url:", "https://north.example", "https://"),
    ("mix[1].url:", "https://north.example", "https://user@north.example"),
    ("mix[1].url:", "https://north.example", "https://north.example?a=b"),
    ("mix[1].name:", '"north"', '""'),
    ("mix[2].name:", '"south"', '"north"'),
    ("mix[2].name:", '"south"', '" North"'),
    ("mix[1].identity:", NORTH, NORTH[1:]),
    ("mix[1].identity:", NORTH, NORTH.upper()),
    ("mix[1].identity:", NORTH, "01" + "00" * 31),
    ("mix[2].identity:", identity(2), NORTH),
    ("analyzer.identity:", identity(3), NORTH),
    ("mix:", "[analyzer]",
     "".join(party("[[mix]]", "another", number) for number in range(4, 12)) + "[analyzer]"),
]


def refused():
    """(how the error begins, file) for everything that is refused."""
    for begins, old, new in CHANGES:
        assert old in BITS, old
        yield begins, BITS.replace(old, new, 1)
    yield "mix:", changed(BITS, ("[[mix]]", "[[mixes]]"))
    for labels in ['["a", "b"]', '["a", "b", "a"]', '["a", "b", 3]', '"a"']:
        yield "question.labels:", changed(CATEGORIES, (LABELS, labels))
    yield "promise.epochs:", changed(LIFE, ("epochs = 4", "epochs = 5"))
    yield "schedule.below:", changed(LIFE, ('"expire"', '"merge"\nwindow = 2'))
    yield "question.high:", changed(MERGED, ("high = 120", "high = -15"))
    yield "mechanism.bits:", changed(MERGED, ("bits = 1", "bits = 2"))


def check_refused(begins, text):
    """Asserts that the reader refuses a file for the same field."""
    try:
        read(text)
        found = "the promise is not kept" if begins.startswith("the promise") else "nothing"
    except Refused as refused:
        found = f"{refused.args[0]}:"
    assert begins.startswith(found), f"{begins} {found} is wrong in\n{text}"


# ------------------------------------------------------------------------------------------------
# The file
# ------------------------------------------------------------------------------------------------


def make():
    """The whole file."""
    cases = []
    for name, text in ACCEPTED:
        canonical = read(text)
        digest = hashlib.sha256(b"throng/1 collection\x00" + canonical).hexdigest()
        cases.append({"name": name, "toml": text, "canonical": canonical.hex(), "id": digest})
    for begins, text in refused():
        check_refused(begins, text)
        cases.append({"toml": text, "refused": begins})
    return cases


FILES = [files.Document("collection", make)]

if __name__ == "__main__":
    files.main(FILES)
