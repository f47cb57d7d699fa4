"""directory.json: key statements and directories (docs/protocol.md, section 4).

All are taken again before they are written, and each case must fail first at the step it names.
"""

import dataclasses
from functools import partial

import files
import hpke
from wire import Identity, Reader, bad_signatures, checked, replaced, require, u64, verify

HOPS = 3
DIRECTORY, KEY = "throng/1 directory", "throng/1 key"
# Where the number of keys is.
COUNT = 40


@dataclasses.dataclass
class Directory:
    """The keys of one window, in the order of the chain."""

    collection: bytes
    window: int
    keys: list[bytes]

    def body(self):
        """The bytes that everyone signs."""
        return self.collection + u64(self.window) + bytes([len(self.keys)]) + b"".join(self.keys)

    def cosign(self, hop):
        """The signature of the party at a hop."""
        return Identity(hop).sign(DIRECTORY, self.body())

    def signed(self, signature=None):
        """The directory with one signature for each key; `signature` is given the hop."""
        hops = range(1, len(self.keys) + 1)
        return self.body() + b"".join(map(signature or self.cosign, hops))

    def but(self, **changes):
        """The same with other fields."""
        return dataclasses.replace(self, **changes)


def take_directory(directory, data):
    """What a client does with a directory of this collection and window."""
    reader = Reader(data)
    collection, window, count = reader.take(32), reader.number(8), reader.number(1)
    reader.take(32 * count)
    signatures = [reader.take(64) for _ in range(count)]
    reader.end()
    require(collection == directory.collection, "collection")
    require(window == directory.window, "window")
    require(count == HOPS, "chain")
    body = data[: COUNT + 1 + 32 * count]
    for hop, signature in enumerate(signatures, start=1):
        verify(Identity(hop).public, DIRECTORY, body, signature, f"signature hop {hop}")


def lists(directory):
    """Lists that are not of three keys and three signatures."""
    whole = directory.signed()
    keys = [*directory.keys, bytes([7]) * 32]

    def of(hops):
        return directory.but(keys=keys[:hops]).signed()

    return [
        ("nothing", "decode", b""),
        ("cut in the keys", "decode", whole[: COUNT + 40]),
        ("without signatures", "decode", whole[: COUNT + 1 + 3 * 32]),
        ("a signature missing", "decode", whole[:-64]),
        ("cut by a byte", "decode", whole[:-1]),
        ("a byte longer", "decode", whole + b"\x00"),
        ("a signature too many", "decode", whole + whole[-64:]),
        ("a count of 0 before three keys", "decode", replaced(whole, COUNT, b"\x00")),
        ("a count of 2 before three keys", "decode", replaced(whole, COUNT, b"\x02")),
        ("a count of 255 before three keys", "decode", replaced(whole, COUNT, b"\xff")),
        ("no keys", "chain", of(0)),
        ("without the last party", "chain", of(2)),
        ("with one more party", "chain", of(4)),
    ]


def others(directory):
    """Lists for something else, or without everyone's word."""
    elsewhere = directory.but(collection=bytes([8]) * 32)
    later = directory.but(window=directory.window + 1)

    def placed(*order):
        return directory.signed(lambda hop: directory.cosign(order[hop - 1]))

    cases = [
        ("for another collection, signed by all", "collection", elsewhere.signed()),
        ("for another window, signed by all", "window", later.signed()),
        ("with the signatures of another window", "signature hop 1",
         directory.signed(later.cosign)),
        ("signatures 1 and 2 swapped", "signature hop 1", placed(2, 1, 3)),
        ("signatures 2 and 3 swapped", "signature hop 2", placed(1, 3, 2)),
        ("one signature three times", "signature hop 2", placed(1, 1, 1)),
    ]
    for at in range(1, HOPS + 1):
        wrong = bad_signatures(DIRECTORY, directory.body(), Identity(at), later.body())
        for name, bad in wrong:
            data = directory.signed(lambda hop: bad if hop == at else directory.cosign(hop))
            cases.append((f"{name} at hop {at}", f"signature hop {at}", data))
    return cases


def targeted(directory):
    """Keys for one person alone: some of the parties go along, but not all."""
    cases = []
    for at in range(1, HOPS + 1):
        keys = list(directory.keys)
        keys[at - 1] = hpke.public_key(bytes([at]) * 32)
        other = directory.but(keys=keys)

        def agreed(agrees):
            return other.signed(lambda hop: (other if agrees(hop) else directory).cosign(hop))

        name = f"another key at hop {at}"
        nobody = agreed(lambda hop: False)
        cases.append((f"{name}, signed by nobody", "signature hop 1", nobody))
        for one in range(1, HOPS + 1):
            step = "signature hop 2" if one == 1 else "signature hop 1"
            only = agreed(lambda hop: hop == one)
            cases.append((f"{name}, signed only by the party at hop {one}", step, only))
            but = agreed(lambda hop: hop != one)
            step = f"signature hop {one}"
            cases.append((f"{name}, signed by all but the party at hop {one}", step, but))
    one, two, *rest = directory.keys
    swapped = directory.but(keys=[two, one, *rest]).signed(directory.cosign)
    return [*cases, ("keys 1 and 2 swapped", "signature hop 1", swapped)]


# ------------------------------------------------------------------------------------------------
# Statements
# ------------------------------------------------------------------------------------------------


def state(party, collection, window, hop, key):
    """The bytes of a key statement."""
    body = collection + u64(window) + bytes([hop]) + key
    return body + party.sign(KEY, body)


def take_statement(directory, place, data):
    """What a party does with the statement of the party at this hop."""
    reader = Reader(data)
    collection, window, hop = reader.take(32), reader.number(8), reader.number(1)
    reader.take(32)
    signature = reader.take(64)
    reader.end()
    require(collection == directory.collection, "collection")
    require(window == directory.window, "window")
    require(hop == place, "hop")
    verify(Identity(place).public, KEY, data[:73], signature, f"signature hop {place}")


def statement(directory, hop, key):
    """A party's statement of its key, and what must be refused in its place."""
    data = state(Identity(hop), directory.collection, directory.window, hop, key)
    take = partial(take_statement, directory, hop)
    take(data)
    cases = statement_cases(directory, hop, key, data)
    return {"hop": hop, "statement": data.hex(), "cases": checked(cases, "statement", take)}


def statement_cases(directory, hop, key, data):
    """All cases of one statement."""
    party, collection, window = Identity(hop), directory.collection, directory.window
    body, signature = data[:73], data[73:]
    elsewhere = state(party, bytes([8]) * 32, window, hop, key)
    later = state(party, collection, window + 1, hop, key)
    other_hop = state(party, collection, window, hop % HOPS + 1, key)
    other_key = state(party, collection, window, hop, bytes([7]) * 32)
    cases = [
        ("nothing", "decode", b""),
        ("cut before the signature", "decode", body),
        ("cut by a byte", "decode", data[:-1]),
        ("a byte longer", "decode", data + b"\x00"),
        ("the collection altered", "collection", elsewhere[:73] + signature),
        ("for another collection, signed", "collection", elsewhere),
        ("the window altered", "window", later[:73] + signature),
        ("for another window, signed", "window", later),
        ("the hop altered", "hop", other_hop[:73] + signature),
        ("for another hop, signed", "hop", other_hop),
        ("the key altered", f"signature hop {hop}", other_key[:73] + signature),
    ]
    for name, bad in bad_signatures(KEY, body, party, other_key[:73]):
        cases.append((name, f"signature hop {hop}", body + bad))
    return cases


# ------------------------------------------------------------------------------------------------
# The file
# ------------------------------------------------------------------------------------------------


def make():
    """The whole file."""
    secrets = [bytes.fromhex(secret) for secret in SECRETS]
    keys = [hpke.public_key(secret) for secret in secrets]
    directory = Directory(bytes.fromhex(COLLECTION), 4, keys)
    take = partial(take_directory, directory)
    take(directory.signed())
    cases = lists(directory) + others(directory) + targeted(directory)
    numbered = list(enumerate(zip(secrets, keys), start=1))
    return {
        "about": ABOUT,
        "collection": COLLECTION,
        "window": directory.window,
        "parties": [{**Identity(hop).fields(), "secret": secret.hex(), "key": key.hex()}
                    for hop, (secret, key) in numbered],
        "directory": directory.signed().hex(),
        "cases": checked(cases, "directory", take),
        "statements": [statement(directory, hop, key) for hop, (_, key) in numbered],
    }


ABOUT = (
    "The keys of one window of a collection with two mixes. Each party has its Ed25519 seed and "
    "public identity, and its X25519 secret and key; the analyzer is the last. A directory lists "
    "the keys, with a signature of every party; a statement is one party's word for its own key. "
    "In each case one thing is wrong; `step` is the first one that must fail: decode, collection, "
    "window, chain (not as many keys as parties), hop (of a statement), signature hop i (strict "
    "Ed25519 by the party there; hops are checked in order)."
)

# The collection and the X25519 secrets of the parties: random bytes.
COLLECTION = "07cc79f6eedc6e53e336805456f439043b2cbebef93dd2131b3240e927ece121"
SECRETS = [
    "b69bc45bd1f2b5b9d0b9cffebec6f1841793e7edf43030b84899294ffc7ad4d0",
    "14132ac2f60a51c7e50c0c234d5818088127a6c05c277898e8a4682704dfafba",
    "a328e34e74ceff20a360f6968cef5a4ea0cca36d2afdca6d68c008e4a1e436aa",
]

FILES = [files.Document("directory", make)]

if __name__ == "__main__":
    files.main(FILES)
