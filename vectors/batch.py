"""batch.json and receipt.json: what mixes hand over, and what they get for it.

Layouts are those of docs/protocol.md, section 5. Batches and receipts are taken again before they
are written, and each case must fail first at the step it names.
"""

import hashlib
from functools import partial

import files
from wire import (
    Identity,
    Reader,
    altered,
    bad_signatures,
    checked,
    replaced,
    require,
    u64,
    verify,
)

MANIFEST, RECEIPT = "throng/1 manifest", "throng/1 receipt"
# Where fields of a manifest begin.
FIRST, LAST, HOP, RECORD_BYTES, RECORDS, LOSSES = 33, 41, 49, 50, 54, 62


# ------------------------------------------------------------------------------------------------
# Batches
# ------------------------------------------------------------------------------------------------


def manifest(batch):
    """The bytes of a manifest from its fields."""
    body = b"\x01" + bytes.fromhex(batch["collection"]) + u64(batch["first"]) + u64(batch["last"])
    body += bytes([batch["hop"]]) + batch["record_bytes"].to_bytes(4, "big") + u64(batch["records"])
    body += b"".join(u64(count) for loss in batch["losses"] for count in loss)
    return body + bytes.fromhex(batch["source"]) + bytes.fromhex(batch["digest"])


def receive(mix, data):
    """What a receiver does with a batch of this mix."""
    reader = Reader(data)
    version = reader.number(1)
    reader.take(32)
    first, last, hop = reader.number(8), reader.number(8), reader.number(1)
    each, count = reader.number(4), reader.number(8)
    reader.take(16 * hop + 32)
    digest = reader.take(32)
    body = data[: len(data) - len(reader.data)]
    signature = reader.take(64)
    sound = version == 1 and first <= last and hop > 0 and each > 0 and each * count < 2**64
    # Where there are no records, nothing is told of those that there were.
    losses = body[LOSSES : LOSSES + 16 * hop]
    silent = not any(losses) and digest == hashlib.sha256().digest()
    require(sound and (count > 0 or silent), "decode")
    verify(mix.public, MANIFEST, body, signature, "signature")
    require(len(reader.data) == each * count, "count")
    require(hashlib.sha256(reader.data).digest() == digest, "digest")


def batch(hop, last, record_bytes, collection, source, records):
    """A batch of three records that a mix made, and what must be refused in its place."""
    mix, records = Identity(hop), bytes.fromhex(records)
    assert len(records) == 3 * record_bytes
    fields = {
        "collection": collection,
        "first": last if hop == 1 else last - 2,
        "last": last,
        "hop": hop,
        "record_bytes": record_bytes,
        "records": 3,
        "losses": [[3 + i, 2 * i] for i in range(hop)],
        "source": source,
        "digest": hashlib.sha256(records).hexdigest(),
    }
    body = manifest(fields)
    whole = body + mix.sign(MANIFEST, body) + records
    receive(mix, whole)
    cases = batch_cases(mix, body, records, record_bytes)
    return {
        **mix.fields(), **fields,
        "id": hashlib.sha256(body).hexdigest(),
        "batch": whole.hex(),
        "cases": checked(cases, "batch", partial(receive, mix)),
    }


def empty(hop, last, record_bytes, collection, source):
    """The word of a mix that epochs are dropped, and what must be refused in its place."""
    mix = Identity(hop)
    fields = {
        "collection": collection,
        "first": last if hop == 1 else last - 2,
        "last": last,
        "hop": hop,
        "record_bytes": record_bytes,
        "records": 0,
        "losses": [[0, 0]] * hop,
        "source": source,
        "digest": hashlib.sha256().hexdigest(),
    }
    body = manifest(fields)
    whole = body + mix.sign(MANIFEST, body)
    receive(mix, whole)
    return {
        **mix.fields(), **fields,
        "id": hashlib.sha256(body).hexdigest(),
        "batch": whole.hex(),
        "cases": checked(empty_cases(mix, body, record_bytes), "batch", partial(receive, mix)),
    }


def empty_cases(mix, body, each):
    """All cases of one word."""
    hop, signature = body[HOP], mix.sign(MANIFEST, body)

    def signed(body):
        return body + mix.sign(MANIFEST, body)

    cases = malformed(body, body + signature, signed)
    # A loss or a digest that is altered is refused before its signature is looked at.
    for name, place in altered_fields(hop):
        told = name.startswith(("the replays", "what was malformed", "the digest"))
        if name == "the number of records":
            continue
        step = "decode" if told else "signature"
        cases.append((f"{name} altered", step, altered(body, place) + signature))
        if told:
            cases.append((f"{name} altered, signed", "decode", signed(altered(body, place))))
    for name, bad in bad_signatures(MANIFEST, body, mix, replaced(body, FIRST + 7, b"\x00")):
        cases.append((name, "signature", body + bad))
    return cases + [
        ("a record in the manifest and none after it", "count", signed(counting(body, 1))),
        ("a byte after it", "count", body + signature + b"\x00"),
        ("a record after it", "count", body + signature + bytes(each)),
        ("a record in the manifest altered", "signature", counting(body, 1) + signature),
    ]


def batch_cases(mix, body, records, each):
    """All cases of one batch."""
    hop, signature = body[HOP], mix.sign(MANIFEST, body)

    def signed(body):
        return body + mix.sign(MANIFEST, body) + records

    cases = malformed(body, body + signature, signed)
    for name, place in altered_fields(hop):
        cases.append((f"{name} altered", "signature", altered(body, place) + signature + records))
    # Read with the wrong number of losses, the signature is not where it was.
    fewer = replaced(body, HOP, bytes([hop - 1]))[:LOSSES] + body[LOSSES + 16 :]
    step = "decode" if hop == 1 else "signature"
    cases.append(("a loss and the hop taken away", step, fewer + signature + records))
    more = signed(replaced(body, HOP, bytes([hop + 1])))
    cases.append(("the hop raised without a loss, signed", "signature", more))
    for name, bad in bad_signatures(MANIFEST, body, mix, replaced(body, FIRST + 7, b"\x00")):
        cases.append((name, "signature", body + bad + records))
    for name, step, others in other_records(records, each):
        cases.append((name, step, body + signature + others))
    shorter = replaced(body, RECORD_BYTES, (each - 1).to_bytes(4, "big"))
    return cases + [
        ("a record fewer in the manifest", "count", signed(counting(body, 2))),
        ("a record more in the manifest", "count", signed(counting(body, 4))),
        ("shorter records in the manifest", "count", signed(shorter)),
        ("another digest in the manifest", "digest", signed(altered(body, len(body) - 1))),
    ]


def counting(body, records):
    """A manifest with another number of records."""
    return replaced(body, RECORDS, u64(records))


def malformed(body, encoded, signed):
    """Manifests that nobody may write, signed all the same."""
    cases = [(name, "decode", encoded[:length]) for name, length in [
        ("nothing", 0), ("cut after the version", 1), ("cut before the hop", HOP),
        ("cut after the hop", HOP + 1), ("cut in the losses", LOSSES + 5),
        ("cut before the signature", len(body)), ("cut in the signature", len(encoded) - 1)]]
    no_loss = replaced(body, HOP, b"\x00")[:LOSSES] + body[-64:]
    after = int.from_bytes(body[LAST : LAST + 8], "big") + 1
    for name, wrong in [
            ("version 0", replaced(body, 0, b"\x00")),
            ("version 2", replaced(body, 0, b"\x02")),
            ("hop 0 without losses", no_loss),
            ("a first epoch after the last", replaced(body, FIRST, u64(after))),
            ("records of no bytes", replaced(body, RECORD_BYTES, bytes(4))),
            ("more records than 64 bits can count the bytes of", counting(body, 2**64 - 1))]:
        cases.append((f"{name}, signed", "decode", signed(wrong)))
    return cases


def altered_fields(hop):
    """The last byte of every field but the version and the hop."""
    yield "the collection", FIRST - 1
    yield "the first epoch", LAST - 1
    yield "the bytes of a record", RECORDS - 1
    yield "the number of records", LOSSES - 1
    # A bit of higher value: the last epoch must not fall below the first.
    yield "the last epoch", LAST + 3
    for mix in range(1, hop + 1):
        end = LOSSES + 16 * mix
        yield f"the replays of mix {mix}", end - 9
        yield f"what was malformed at mix {mix}", end - 1
    yield "the source", end + 31
    yield "the digest", end + 63


def other_records(records, each):
    """(name, step, records) for other records after the same manifest."""
    one, two, three = (records[i * each : (i + 1) * each] for i in range(3))
    last_bit = records[:-1] + bytes([records[-1] ^ 0x80])
    return [
        ("no records", "count", b""),
        ("a record too few", "count", one + two),
        ("a record too many", "count", one + two + three + one),
        ("a byte too few", "count", records[:-1]),
        ("a byte too many", "count", records + b"\x00"),
        ("records in another order", "digest", two + one + three),
        ("a record in place of another", "digest", one + two + one),
        ("the first bit altered", "digest", altered(records, 0)),
        ("the last bit altered", "digest", last_bit),
    ]


# ------------------------------------------------------------------------------------------------
# Receipts
# ------------------------------------------------------------------------------------------------


def receipt_of(party, batch, hop):
    """The bytes of a receipt."""
    body = b"\x01" + batch + bytes([hop])
    return body + party.sign(RECEIPT, body)


def take_receipt(party, expected, place, data):
    """What a sender does with the receipt of this party for that batch at that hop."""
    reader = Reader(data)
    version, batch, hop = reader.number(1), reader.take(32), reader.number(1)
    signature = reader.take(64)
    reader.end()
    require(version == 1, "decode")
    require(batch == expected, "batch")
    require(hop == place, "hop")
    verify(party.public, RECEIPT, data[:34], signature, "signature")


def receipt(hop, batch):
    """The receipt of the party at a hop, and what must be refused in its place."""
    party = Identity(hop)
    data = receipt_of(party, batch, hop)
    take = partial(take_receipt, party, batch, hop)
    take(data)
    return {
        **party.fields(),
        "batch": batch.hex(),
        "hop": hop,
        "receipt": data.hex(),
        "hash": hashlib.sha256(data).hexdigest(),
        "cases": checked(receipt_cases(party, batch, hop, data), "receipt", take),
    }


def receipt_cases(party, batch, hop, data):
    """All cases of one receipt."""
    body, signature = data[:34], data[34:]

    def signed(body):
        return body + party.sign(RECEIPT, body)

    other_batch = receipt_of(party, altered(batch, 31), hop)
    other_hop = receipt_of(party, batch, hop + 1)
    cases = [
        ("nothing", "decode", b""),
        ("cut before the signature", "decode", body),
        ("cut by a byte", "decode", data[:-1]),
        ("a byte longer", "decode", data + b"\x00"),
        ("twice", "decode", data * 2),
        ("version 0, signed", "decode", signed(replaced(body, 0, b"\x00"))),
        ("version 2, signed", "decode", signed(replaced(body, 0, b"\x02"))),
        ("the batch altered", "batch", other_batch[:34] + signature),
        ("for another batch, signed", "batch", other_batch),
        ("the hop altered", "hop", other_hop[:34] + signature),
        ("for another hop, signed", "hop", other_hop),
        ("of the party at the next hop", "hop", receipt_of(Identity(hop + 1), batch, hop + 1)),
    ]
    for name, bad in bad_signatures(RECEIPT, body, party, replaced(body, 1, b"\x00")):
        cases.append((name, "signature", body + bad))
    return cases


# ------------------------------------------------------------------------------------------------
# The files
# ------------------------------------------------------------------------------------------------


def make_batches():
    """The whole file."""
    batches = [batch(1, 5, 49, *INPUTS[0]), batch(2, 11, 97, *INPUTS[1])]
    batches += [empty(1, 7, 49, *INPUTS[0][:2]), empty(2, 15, 97, *INPUTS[1][:2])]
    return {"about": ABOUT_BATCHES, "batches": batches}


def make_receipts():
    """The whole file."""
    receipts = [receipt(2, bytes([0x5A]) * 32), receipt(3, bytes([0xC3]) * 32)]
    return {"about": ABOUT_RECEIPTS, "receipts": receipts}


ABOUT_BATCHES = (
    "Batches as they go from a mix to the next party. Each has the mix's Ed25519 seed and public "
    "identity, the fields of the manifest, its hash, and the whole batch. In each case one thing "
    "is wrong; `step` is the first one that must fail: decode (the manifest is not one), signature "
    "(strict Ed25519 by this mix), count (bytes of records), digest. The last two have no records: "
    "the word of a mix that its epochs are dropped, which states no losses."
)
ABOUT_RECEIPTS = (
    "Receipts for batches. Each has the receiver's Ed25519 seed and public identity, the batch and "
    "the hop that the sender expects, the receipt and its hash. In each case one thing is wrong; "
    "`step` is the first one that must fail: decode, batch (it is for another one), hop (it is of "
    "another one), signature (strict Ed25519 by this party)."
)

# Collection, source and records of the two batches: random bytes.
INPUTS = [
    (
        "611830d3641a68f94a690dcc25d1f4b0dac948325ac18f6dd32564371735f32c",
        "00" * 32,
        "54743dc5e24d2a413b159584c1226df6eccfc4caa8cd7b63c7cb56ff66cd60b5a6b3b31c1c3f3585ea88e527"
        "a819b062c680488a0d74b233dcc456696589ef0ff13547cf586184efa39affcd0295c86e0940bd2425d6bc31"
        "6e54105d35de6024c9769a35fb136de4a4f4557f17fef863a232f14ed878c8e1d9d87054ed4c000b081f5b7d"
        "6c24c39b0f8482503f90ca4303aecc",
    ),
    (
        "1fbec814b18b1d4c3eaa7cec41007e04bf0a98453b06ec7582aa29882c52eb7e",
        "b232b4635812333125e8b5ae3d8e7e4599a0df8274e488fc58e06320e32f28cb",
        "1ade3723ec82323d52a514862f455448ecbe90b8ba9a1ba47f3a114eb4a4d7388fa2f616d974fa94fda193a7"
        "eef8c7dfc9149ba0879c336e6017bc601bc97fc7a2a1592f8078c77681a02d99795a35bbf79b531f7603f0f6"
        "8b4229453db9b92760cfcfabcc90fb329bbcd604cabf008106e006a070572af20923b5979befe8728d28d7c2"
        "264ea9ffe6cde082ebe8ea9d4b6501f01b634e011c3a7590d9f4f1550b58d03989e39ba4237ea69088eb160e"
        "a81e93de5f60d3ce883733e04a428c6ce4fed6809e335f8cb6e2165544272db5c2ee5fa9b5eb69d4f8d3bea3"
        "94e342ba646147d267f6e0753a31cc6f5ab2bcec9dec4d379a13f6abd5a2a20e9a1c0b5927e2e58f354be64e"
        "f1ee6a92f8056f07dc504ee514014f4b3a303c432d7465da66b51c",
    ),
]

FILES = [files.Document("batch", make_batches), files.Document("receipt", make_receipts)]

if __name__ == "__main__":
    files.main(FILES)
