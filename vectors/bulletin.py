"""bulletin.json: notices and bulletins of a board (docs/protocol.md, section 10.2).

All are taken again before they are written, and each case must fail first at the step it names.
"""

import dataclasses
import hashlib
from functools import partial

import files
from wire import Identity, Reader, altered, bad_signatures, checked, replaced, require, u64, verify

HOPS = 3
BULLETIN = "throng/1 bulletin"
# Bytes of a notice, and where the number of reports, the length and the number of messages are.
NOTICE, REPORTS, PAYLOAD, MESSAGES, DIGEST = 92, 40, 48, 52, 60


@dataclasses.dataclass
class Notice:
    """What every party signs of a round."""

    collection: bytes
    round: int
    reports: int
    payload: int
    bag: bytes

    def body(self):
        """The bytes that everyone signs."""
        head = self.collection + u64(self.round) + u64(self.reports)
        lengths = self.payload.to_bytes(4, "big") + u64(len(self.bag) // max(self.payload, 1))
        return head + lengths + hashlib.sha256(self.bag).digest()

    def cosign(self, hop):
        """The signature of the party at a hop."""
        return Identity(hop).sign(BULLETIN, self.body())

    def bulletin(self, signature=None, hops=HOPS):
        """The notice with a signature for each hop, which `signature` is given, and the bag."""
        signatures = list(map(signature or self.cosign, range(1, hops + 1)))
        return self.body() + bytes([hops]) + b"".join(signatures) + self.bag

    def but(self, **changes):
        """The same with other fields."""
        return dataclasses.replace(self, **changes)


def sealed(body, bag):
    """A bulletin of any notice, signed by everyone."""
    signatures = b"".join(Identity(hop).sign(BULLETIN, body) for hop in range(1, HOPS + 1))
    return body + bytes([HOPS]) + signatures + bag


def take(notice, data):
    """What a participant does with the bulletin of this board and round."""
    reader = Reader(data)
    collection, number, _ = reader.take(32), reader.number(8), reader.number(8)
    payload, messages, digest = reader.number(4), reader.number(8), reader.take(32)
    signatures = [reader.take(64) for _ in range(reader.number(1))]
    bag = reader.data
    require(collection == notice.collection, "collection")
    require(number == notice.round, "round")
    require(len(signatures) == HOPS, "chain")
    for hop, signature in enumerate(signatures, start=1):
        verify(Identity(hop).public, BULLETIN, data[:NOTICE], signature, f"signature hop {hop}")
    require(payload > 0 and len(bag) % payload == 0, "order")
    split = [bag[place : place + payload] for place in range(0, len(bag), payload)]
    require(split == sorted(split), "order")
    require(messages == len(split) and digest == hashlib.sha256(bag).digest(), "bag")


def shapes(notice):
    """Bytes that are no bulletin of three parties."""
    whole = notice.bulletin()
    return [
        ("nothing", "decode", b""),
        ("cut in the notice", "decode", whole[: NOTICE - 1]),
        ("without a number of signatures", "decode", whole[:NOTICE]),
        ("cut in the signatures", "decode", whole[: NOTICE + 1 + 100]),
        ("a count of 255 signatures", "decode", replaced(whole, NOTICE, b"\xff")),
        ("nobody's signature", "chain", notice.bulletin(hops=0)),
        ("without the analyzer's signature", "chain", notice.bulletin(hops=2)),
        ("with one more signature", "chain", notice.bulletin(hops=4)),
    ]


def others(notice):
    """Bulletins of something else, or without everyone's word."""
    elsewhere, later = notice.but(collection=bytes([8]) * 32), notice.but(round=notice.round + 1)

    def placed(*order):
        return notice.bulletin(lambda hop: notice.cosign(order[hop - 1]))

    cases = [
        ("of another board, signed by all", "collection", elsewhere.bulletin()),
        ("of another round, signed by all", "round", later.bulletin()),
        ("with the signatures of another round", "signature hop 1",
         notice.bulletin(later.cosign)),
        ("signatures 1 and 2 swapped", "signature hop 1", placed(2, 1, 3)),
        ("signatures 2 and 3 swapped", "signature hop 2", placed(1, 3, 2)),
        ("one signature three times", "signature hop 2", placed(1, 1, 1)),
    ]
    for field, place in [("reports", REPORTS), ("payload", PAYLOAD), ("messages", MESSAGES),
                         ("digest", DIGEST)]:
        data = altered(notice.bulletin(), place)
        cases.append((f"{field} altered after signing", "signature hop 1", data))
    for at in range(1, HOPS + 1):
        wrong = bad_signatures(BULLETIN, notice.body(), Identity(at), later.body())
        for name, bad in wrong:
            data = notice.bulletin(lambda hop: bad if hop == at else notice.cosign(hop))
            cases.append((f"{name} at hop {at}", f"signature hop {at}", data))
    return cases


def shown_to_one(notice):
    """Another bag for one participant: some of the parties go along, but not all."""
    other = notice.but(bag=notice.bag[: -notice.payload] + b"\xff" * notice.payload)
    cases = []
    for at in range(1, HOPS + 1):
        data = other.bulletin(lambda hop: (notice if hop == at else other).cosign(hop))
        name = f"another bag, signed by all but the party at hop {at}"
        cases.append((name, f"signature hop {at}", data))
    return cases


def bags(notice):
    """Bags that are not the one that was signed, or that no bag may look like."""
    head, bag, body = notice.bulletin()[: -len(notice.bag)], notice.bag, notice.body()
    first, last = bag[: notice.payload], bag[-notice.payload :]
    backwards = last + bag[notice.payload : -notice.payload] + first
    fewer = replaced(body, MESSAGES, u64(len(bag) // notice.payload - 1))
    empty = replaced(body, PAYLOAD, bytes(4))
    return [
        ("without its bag", "bag", head),
        ("without the first message", "bag", head + bag[notice.payload :]),
        ("without the last message", "bag", head + bag[: -notice.payload]),
        ("with the last message twice", "bag", head + bag + last),
        ("with another last message", "bag", head + bag[: -notice.payload] + b"\xff" * len(last)),
        ("cut by a byte", "order", head + bag[:-1]),
        ("a byte longer", "order", head + bag + b"\x00"),
        ("two messages swapped", "order", head + backwards),
        ("out of order, as it was signed by all", "order", notice.but(bag=backwards).bulletin()),
        ("fewer messages counted, signed by all", "bag", sealed(fewer, bag)),
        ("messages of no bytes, signed by all", "order", sealed(empty, bag)),
    ]


def make():
    """The whole file."""
    messages = [bytes.fromhex(message) for message in POSTED]
    bag = b"".join(sorted(messages))
    notice = Notice(bytes.fromhex(COLLECTION), 3, 2, len(messages[0]), bag)
    accept = partial(take, notice)
    accept(notice.bulletin())
    cases = shapes(notice) + others(notice) + shown_to_one(notice) + bags(notice)
    return {
        "about": ABOUT,
        "collection": COLLECTION,
        "round": notice.round,
        "reports": notice.reports,
        "parties": [Identity(hop).fields() for hop in range(1, HOPS + 1)],
        "posted": POSTED,
        "notice": notice.body().hex(),
        "digest": hashlib.sha256(notice.body()).hexdigest(),
        "bulletin": notice.bulletin().hex(),
        "cases": checked(cases, "bulletin", accept),
    }


ABOUT = (
    "The bulletin of one round of a board with two mixes. Each party has its Ed25519 seed and "
    "public identity; the analyzer is the last. `posted` are the messages in no order, one of them "
    "twice; `digest` is that of the notice. In each case one thing is wrong; `step` is the first "
    "one that must fail: decode, collection, round, chain (not as many signatures as parties), "
    "signature hop i (strict Ed25519 by the party there; hops are checked in order), order (no "
    "whole messages, or not ascending), bag (not the number and digest that were signed)."
)

# The board: random bytes. The messages: five bytes each, three in each of two reports.
COLLECTION = "5b1ce7f3a52a5c7d0d8f4c2b9a3e6f10d4c7b8a9e2f30415263748596a7b8c9d"
POSTED = ["ffee000102", "0000000000", "10203040ff", "7f00000001", "10203040ff", "102030410a"]

FILES = [files.Document("bulletin", make)]

if __name__ == "__main__":
    files.main(FILES)
