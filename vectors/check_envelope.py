"""Checks envelope.json without the program under test: RFC 9180 written out on X25519, HMAC and AES-GCM.

Every report must open to its messages, and every case must fail first at the step it names. Where
the shared secret is zero, the layer must open for somebody who forgets to refuse that.

Usage:  pip install cryptography && python3 check_envelope.py
"""

import hashlib
import hmac
import json
import pathlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM = b"KEM" + bytes.fromhex("0020")
SUITE = b"HPKE" + bytes.fromhex("002000010001")


class Refused(Exception):
    """The step that fails, and whether the layer opens under a shared secret of zeros."""


def extract(suite, salt, label, ikm):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, hashlib.sha256)


def expand(suite, prk, label, info, length):
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\x01"
    return hmac.digest(prk, text, hashlib.sha256)[:length]


def decrypt(dh, layer, public, info):
    enc, text = layer[:32], layer[32:]
    prk = extract(KEM, b"", b"eae_prk", dh)
    shared = expand(KEM, prk, b"shared_secret", enc + public, 32)
    context = b"\x00" + extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", info)
    secret = extract(SUITE, shared, b"secret", b"")
    key = expand(SUITE, secret, b"key", context, 16)
    return AESGCM(key).decrypt(expand(SUITE, secret, b"base_nonce", context, 12), text, b"")


def opens_with(dh, *rest):
    try:
        decrypt(dh, *rest)
        return True
    except InvalidTag:
        return False


def open_layer(layer, secret, info, step):
    key = X25519PrivateKey.from_private_bytes(secret)
    public = key.public_key().public_bytes_raw()
    try:
        dh = key.exchange(X25519PublicKey.from_public_bytes(layer[:32]))
        return decrypt(dh, layer, public, info)
    except (ValueError, InvalidTag):  # the first is how the library refuses a zero shared secret
        raise Refused(step, opens_with(bytes(32), layer, public, info)) from None


def walk(envelope, report):
    mixes, count, payload = (envelope[name] for name in ("mixes", "messages_per_report", "payload"))
    onion = payload + 48 * mixes
    if len(report) != 48 + count * onion:
        raise Refused("length", False)
    records = [report]
    for hop in range(1, mixes + 2):
        analyzer = hop == mixes + 1
        time = envelope["epoch"] if hop == 1 else envelope["window"]
        info = b"throng/1 envelope\x00" + bytes.fromhex(envelope["collection"]) + time.to_bytes(8, "big")
        info += bytes([hop, 2 if analyzer else 1])
        secret = bytes.fromhex(envelope["secrets"][hop - 1])
        step = "open analyzer" if analyzer else f"open hop {hop}"
        records = [open_layer(record, secret, info, step) for record in records]
        if hop == 1:
            records = [records[0][i : i + onion] for i in range(0, len(records[0]), onion)]
    return [record.hex() for record in records]


def main():
    file = pathlib.Path(__file__).with_name("envelope.json")
    envelopes = json.loads(file.read_text())["envelopes"]
    cases = 0
    for envelope in envelopes:
        assert walk(envelope, bytes.fromhex(envelope["report"])) == envelope["messages"]
        for case in envelope["cases"]:
            cases += 1
            try:
                walk(envelope, bytes.fromhex(case["report"]))
            except Refused as refused:
                assert refused.args == (case["step"], "shared secret zero" in case["name"]), case["name"]
            else:
                raise AssertionError(f"{case['name']}: opens")
    print(f"{len(envelopes)} envelopes open, {cases} cases fail where they should")


main()
