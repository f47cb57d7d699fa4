"""Checks batch.json, receipt.json and directory.json without the program under test.

What parties sign is encoded and signed again from its fields and seeds, and must come out the same;
every case must fail first at the step it names. Ed25519 of `cryptography` refuses S above the order.

Usage:  pip install cryptography && python3 check_batch.py
"""

import hashlib
import json
import pathlib
from functools import partial

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey


class Refused(Exception):
    """The step that fails."""


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, length):
        if len(self.data) < length:
            raise Refused("decode")
        head, self.data = self.data[:length], self.data[length:]
        return head

    def number(self, length):
        return int.from_bytes(self.take(length), "big")

    def end(self):
        if self.data:
            raise Refused("decode")


def u64(number):
    return number.to_bytes(8, "big")


def sign(seed, label, body):
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed)).sign(label + b"\x00" + body)


def verify(identity, label, body, signature, step):
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(identity))
        public.verify(signature, label + b"\x00" + body)
    except InvalidSignature:
        raise Refused(step) from None


def check_identity(party):
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(party["identity_seed"]))
    assert private.public_key().public_bytes_raw().hex() == party["identity"]


def require(condition, step):
    if not condition:
        raise Refused(step)


def manifest(batch):
    body = b"\x01" + bytes.fromhex(batch["collection"]) + u64(batch["first"]) + u64(batch["last"])
    body += bytes([batch["hop"]]) + batch["record_bytes"].to_bytes(4, "big") + u64(batch["records"])
    body += b"".join(u64(count) for loss in batch["losses"] for count in loss)
    return body + bytes.fromhex(batch["source"]) + bytes.fromhex(batch["digest"])


def receive(batch, data):
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
    require(sound, "decode")
    verify(batch["identity"], b"throng/1 manifest", body, signature, "signature")
    require(len(reader.data) == each * count, "count")
    require(hashlib.sha256(reader.data).digest() == digest, "digest")


def take_receipt(expected, data):
    reader = Reader(data)
    version, batch, hop, signature = reader.number(1), reader.take(32), reader.number(1), reader.take(64)
    reader.end()
    require(version == 1, "decode")
    require(batch.hex() == expected["batch"], "batch")
    require(hop == expected["hop"], "hop")
    verify(expected["identity"], b"throng/1 receipt", data[:34], signature, "signature")


def take_directory(expected, data):
    reader = Reader(data)
    collection, window, count = reader.take(32), reader.number(8), reader.number(1)
    reader.take(32 * count)
    signatures = [reader.take(64) for _ in range(count)]
    reader.end()
    require(collection.hex() == expected["collection"], "collection")
    require(window == expected["window"], "window")
    require(count == len(expected["parties"]), "chain")
    for hop, (party, signature) in enumerate(zip(expected["parties"], signatures), start=1):
        body = data[: 41 + 32 * count]
        verify(party["identity"], b"throng/1 directory", body, signature, f"signature hop {hop}")


def take_statement(expected, place, data):
    reader = Reader(data)
    collection, window, hop = reader.take(32), reader.number(8), reader.number(1)
    reader.take(32)
    signature = reader.take(64)
    reader.end()
    require(collection.hex() == expected["collection"], "collection")
    require(window == expected["window"], "window")
    require(hop == place, "hop")
    identity = expected["parties"][place - 1]["identity"]
    verify(identity, b"throng/1 key", data[:73], signature, f"signature hop {place}")


def check_cases(cases, field, take):
    for case in cases:
        try:
            take(bytes.fromhex(case[field]))
        except Refused as refused:
            assert refused.args == (case["step"],), (case["name"], refused.args)
        else:
            raise AssertionError(f"{case['name']}: accepted")
    return len(cases)


def check_batch(batch):
    check_identity(batch)
    body, data = manifest(batch), bytes.fromhex(batch["batch"])
    signed = body + sign(batch["identity_seed"], b"throng/1 manifest", body)
    assert data.startswith(signed)
    assert hashlib.sha256(body).hexdigest() == batch["id"]
    receive(batch, data)
    return check_cases(batch["cases"], "batch", partial(receive, batch))


def check_receipt(receipt):
    check_identity(receipt)
    body = b"\x01" + bytes.fromhex(receipt["batch"]) + bytes([receipt["hop"]])
    data = body + sign(receipt["identity_seed"], b"throng/1 receipt", body)
    assert data.hex() == receipt["receipt"]
    assert hashlib.sha256(data).hexdigest() == receipt["hash"]
    take_receipt(receipt, data)
    return check_cases(receipt["cases"], "receipt", partial(take_receipt, receipt))


def check_directory(directory):
    parties = directory["parties"]
    for party in parties:
        check_identity(party)
        secret = X25519PrivateKey.from_private_bytes(bytes.fromhex(party["secret"]))
        assert secret.public_key().public_bytes_raw().hex() == party["key"]
    place = bytes.fromhex(directory["collection"]) + u64(directory["window"])
    body = place + bytes([len(parties)]) + b"".join(bytes.fromhex(party["key"]) for party in parties)
    signatures = [sign(party["identity_seed"], b"throng/1 directory", body) for party in parties]
    data = body + b"".join(signatures)
    assert data.hex() == directory["directory"]
    take_directory(directory, data)
    cases = check_cases(directory["cases"], "directory", partial(take_directory, directory))
    for hop, (party, statement) in enumerate(zip(parties, directory["statements"], strict=True), start=1):
        body = place + bytes([hop]) + bytes.fromhex(party["key"])
        data = body + sign(party["identity_seed"], b"throng/1 key", body)
        assert (data.hex(), hop) == (statement["statement"], statement["hop"])
        take_statement(directory, hop, data)
        take = partial(take_statement, directory, hop)
        cases += check_cases(statement["cases"], "statement", take)
    return cases


def main():
    def read(name):
        return json.loads(pathlib.Path(__file__).with_name(name).read_text())

    batches = sum(map(check_batch, read("batch.json")["batches"]))
    receipts = sum(map(check_receipt, read("receipt.json")["receipts"]))
    directories = check_directory(read("directory.json"))
    print(f"{batches} cases of batches, {receipts} of receipts, {directories} of directories fail as they should")


main()
