"""envelope.json: reports from the client to the analyzer (docs/protocol.md, section 3).

All random bytes come from `Draws`. Each report is opened again before it is written, and each case
must fail at the step it names and no earlier; where the shared secret is zero, the layer must open
for somebody who forgets to refuse that.
"""

import dataclasses
import hashlib

from cryptography.exceptions import InvalidTag

import files
import hpke


class Draws:
    """Bytes from a label: SHA-256(label ‖ 0x00 ‖ u64(i)) for i = 0, 1, ..., back to back.

    What is drawn begins with a fresh hash.
    """

    def __init__(self, label):
        self.label, self.blocks = label.encode(), 0

    def take(self, length):
        """The next bytes."""
        taken = b""
        while len(taken) < length:
            number = self.blocks.to_bytes(8, "big")
            taken += hashlib.sha256(self.label + b"\x00" + number).digest()
            self.blocks += 1
        return taken[:length]


@dataclasses.dataclass
class Binding:
    """The collection, time, hop and role that a layer is bound to."""

    collection: bytes
    time: int
    hop: int
    analyzer: bool

    def info(self):
        """The `info` of HPKE."""
        role = 2 if self.analyzer else 1
        place = self.collection + self.time.to_bytes(8, "big") + bytes([self.hop, role])
        return b"throng/1 envelope\x00" + place


class Chain:
    """The secrets of all hops, and the time they work at."""

    epoch, window = 7, 4

    def __init__(self, mixes, messages, payload, draws):
        self.mixes, self.messages, self.payload = mixes, messages, payload
        self.analyzer = mixes + 1
        self.draws = draws
        self.collection = draws.take(32)
        self.secrets = [draws.take(32) for _ in range(mixes + 1)]
        self.drawn = []

    def binding(self, hop):
        """What a layer for this hop is bound to."""
        time = self.epoch if hop == 1 else self.window
        return Binding(self.collection, time, hop, hop == self.analyzer)

    def public(self, hop):
        """The key of a hop."""
        return hpke.public_key(self.secrets[hop - 1])

    def seal(self, text, hop, key=None, /, **changes):
        """A layer for a hop, perhaps to another key or bound to something else."""
        binding = dataclasses.replace(self.binding(hop), **changes)
        self.drawn.append(self.draws.take(32))
        return hpke.seal(self.drawn[-1], key or self.public(hop), binding.info(), text)

    def report(self, sent, seal=None):
        """A report; `seal(text, hop)` makes the outer layer and those of the first onion."""
        seal = seal or self.seal
        onions = b""
        for place in range(0, len(sent), self.payload):
            onion = sent[place : place + self.payload]
            for hop in range(self.analyzer, 1, -1):
                onion = seal(onion, hop) if place == 0 else self.seal(onion, hop)
            onions += onion
        return seal(onions, 1)

    def step(self, hop):
        """The name of the step that opens at a hop."""
        return "open analyzer" if hop == self.analyzer else f"open hop {hop}"


# ------------------------------------------------------------------------------------------------
# Reading
# ------------------------------------------------------------------------------------------------


class Refused(Exception):
    """The step that fails, and whether the layer opens under a shared secret of zeros."""


def open_layer(chain, layer, hop):
    """What is inside a layer."""
    public, info = chain.public(hop), chain.binding(hop).info()
    try:
        dh = hpke.agree(chain.secrets[hop - 1], layer[:32])
        return hpke.open_with(dh, layer, public, info)
    except (ValueError, InvalidTag):  # the first is how the library refuses a zero shared secret
        zero = hpke.opens_with(bytes(32), layer, public, info)
        raise Refused(chain.step(hop), zero) from None


def walk(chain, report):
    """The messages that reach the analyzer."""
    onion = chain.payload + 48 * chain.mixes
    if len(report) != 48 + chain.messages * onion:
        raise Refused("length", False)
    inside = open_layer(chain, report, 1)
    records = [inside[place : place + onion] for place in range(0, len(inside), onion)]
    for hop in range(2, chain.analyzer + 1):
        records = [open_layer(chain, record, hop) for record in records]
    return records


def check_case(chain, name, step, report):
    """Asserts that a report fails where it must."""
    try:
        walk(chain, report)
    except Refused as refused:
        found, zero = refused.args
        assert found == step, f"{name}: fails at {found}, not at {step}"
        assert zero == ("shared secret zero" in name), f"{name}: opens under zeros, or should"
    else:
        raise AssertionError(f"{name}: opens")


# ------------------------------------------------------------------------------------------------
# Faults: each is given the chain, the text and the hop, and makes a layer with one thing wrong
# ------------------------------------------------------------------------------------------------


def flipped(bit):
    """A layer with a bit altered; `bit` is given the length of the text in bits."""

    def fault(chain, text, hop):
        layer = bytearray(chain.seal(text, hop))
        place = bit(8 * len(text))
        layer[place // 8] ^= 1 << place % 8
        return bytes(layer)

    return fault


def other_enc(chain, text, hop):
    """The ciphertext of one layer behind the encapsulated key of another."""
    other = chain.seal(text, hop)
    return other[:32] + chain.seal(text, hop)[32:]


def other_key(chain, text, hop):
    """A layer to the key of somebody else."""
    key = hpke.public_key(chain.draws.take(32))
    return chain.seal(text, hop, key)


def other_collection(chain, text, hop):
    """A layer bound to a collection whose id differs in one bit."""
    *rest, last = chain.collection
    return chain.seal(text, hop, collection=bytes([*rest, last ^ 1]))


def confused_time(chain, text, hop):
    """A layer bound to the window at the first hop, to the epoch at later ones."""
    return chain.seal(text, hop, time=chain.window if hop == 1 else chain.epoch)


def forged(enc):
    """A layer that anybody can make: its shared secret is zero because `enc` is of small order."""

    def fault(chain, text, hop):
        info = chain.binding(hop).info()
        return hpke.seal_with(bytes(32), enc, chain.public(hop), info, text)

    return fault


FAULTS = {
    "first bit of enc": flipped(lambda bits: 0),
    "top bit of enc": flipped(lambda bits: 255),
    "first bit of the ciphertext": flipped(lambda bits: 256),
    "first bit of the tag": flipped(lambda bits: 256 + bits),
    "last bit of the tag": flipped(lambda bits: 383 + bits),
    "enc of another layer": other_enc,
    "another key": other_key,
    "another collection": other_collection,
    "the epoch after": lambda chain, text, hop:
        chain.seal(text, hop, time=chain.binding(hop).time + 1),
    "epoch and window confused": confused_time,
    "the hop after": lambda chain, text, hop: chain.seal(text, hop, hop=hop + 1),
    "the other role": lambda chain, text, hop:
        chain.seal(text, hop, analyzer=not chain.binding(hop).analyzer),
    "enc of order 4, shared secret zero": forged(bytes([1]) + bytes(31)),
    "enc zero, shared secret zero": forged(bytes(32)),
}


# ------------------------------------------------------------------------------------------------
# The file
# ------------------------------------------------------------------------------------------------


def lengths(chain, sent):
    """(name, step, report) for reports of another length."""
    report = chain.report(sent)
    fewer = chain.report(sent[: -chain.payload])
    for name, wrong in [
            ("empty", b""), ("cut by a byte", report[:-1]), ("a byte longer", report + b"\x00"),
            ("two reports", report * 2), ("a message too few", fewer)]:
        yield name, "length", wrong


def faults(chain, sent):
    """(name, step, report) for each fault at each hop, and for layers in the wrong order."""
    hops = range(1, chain.analyzer + 1)
    for at in hops:
        for name, fault in FAULTS.items():
            report = chain.report(sent, lambda text, hop: (
                fault(chain, text, hop) if hop == at else chain.seal(text, hop)))
            yield f"{name} at hop {at}", chain.step(at), report
    for at in hops[:-1]:
        swap = {at: at + 1, at + 1: at}
        report = chain.report(sent, lambda text, hop: chain.seal(text, swap.get(hop, hop)))
        yield f"layers {at} and {at + 1} swapped", chain.step(at), report


def envelope(mixes, messages, payload, draws):
    """A report, and reports with one thing wrong each."""
    chain = Chain(mixes, messages, payload, draws)
    sent = draws.take(messages * payload)
    report = chain.report(sent)
    ikm = [drawn.hex() for drawn in chain.drawn]
    opened = walk(chain, report)
    assert b"".join(opened) == sent
    cases = []
    for name, step, wrong in [*lengths(chain, sent), *faults(chain, sent)]:
        check_case(chain, name, step, wrong)
        cases.append({"name": name, "step": step, "report": wrong.hex()})
    return {
        "mixes": mixes,
        "messages_per_report": messages,
        "payload": payload,
        "collection": chain.collection.hex(),
        "epoch": chain.epoch,
        "window": chain.window,
        "secrets": [secret.hex() for secret in chain.secrets],
        "messages": [message.hex() for message in opened],
        "ikm": ikm,
        "report": report.hex(),
        "cases": cases,
    }


def make():
    """The whole file."""
    shapes = enumerate([(1, 3, 1), (2, 2, 8), (3, 1, 32)], start=1)
    return {"about": ABOUT, "envelopes": [
        envelope(*shape, Draws(f"throng vectors, envelope {number}")) for number, shape in shapes]}


ABOUT = (
    "Reports from the client to the analyzer. Each envelope has the X25519 secrets of all hops in "
    "order, the analyzer's last, and a report that opens to its messages. `ikm` has the 32 random "
    "bytes from which RFC 9180 derives the ephemeral key of each layer, in the order of sealing: "
    "onion by onion from the inside out, then the outer layer. In each case the report has one "
    "thing wrong, in its outer layer or in its first onion; `step` is the first one that must "
    "fail: length (before anything is opened), open hop i, open analyzer."
)

FILES = [files.Document("envelope", make)]

if __name__ == "__main__":
    files.main(FILES)
