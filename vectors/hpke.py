"""RFC 9180 for DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM: base mode, sequence 0.

Written from the RFC on X25519 and AES-GCM of `cryptography` and HMAC of the standard library. Run
as a program, it compares itself with the RFC's own vector in `hpke_rfc9180.json`.
"""

import hashlib
import hmac
import json

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import files

KEM = b"KEM" + bytes.fromhex("0020")
SUITE = b"HPKE" + bytes.fromhex("002000010001")


def extract(suite, salt, label, ikm):
    """LabeledExtract of section 4."""
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, hashlib.sha256)


def expand(suite, prk, label, info, length):
    """LabeledExpand of section 4, for at most one block."""
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\x01"
    return hmac.digest(prk, text, hashlib.sha256)[:length]


def derive_secret(ikm):
    """The private key of DeriveKeyPair, section 7.1.3."""
    return expand(KEM, extract(KEM, b"", b"dkp_prk", ikm), b"sk", b"", 32)


def public_key(secret):
    """The X25519 public key of a secret."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def agree(secret, public):
    """The X25519 shared secret; ValueError if it is zero."""
    other = X25519PublicKey.from_public_bytes(public)
    return X25519PrivateKey.from_private_bytes(secret).exchange(other)


def shared_secret(dh, enc, receiver):
    """ExtractAndExpand of section 4.1."""
    prk = extract(KEM, b"", b"eae_prk", dh)
    return expand(KEM, prk, b"shared_secret", enc + receiver, 32)


def key_schedule(shared, info):
    """KeySchedule of section 5.1: the context, the key and the nonce."""
    hashes = extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", info)
    context = b"\x00" + hashes
    secret = extract(SUITE, shared, b"secret", b"")
    key = expand(SUITE, secret, b"key", context, 16)
    return context, key, expand(SUITE, secret, b"base_nonce", context, 12)


def seal_with(dh, enc, receiver, info, text, aad=b""):
    """The encapsulated key and the ciphertext, from an agreement."""
    _, key, nonce = key_schedule(shared_secret(dh, enc, receiver), info)
    return enc + AESGCM(key).encrypt(nonce, text, aad)


def open_with(dh, layer, receiver, info):
    """The text of a layer, from an agreement; InvalidTag if it is not sealed so."""
    enc, text = layer[:32], layer[32:]
    _, key, nonce = key_schedule(shared_secret(dh, enc, receiver), info)
    return AESGCM(key).decrypt(nonce, text, b"")


def seal(ikm, receiver, info, text):
    """A layer whose ephemeral key comes from 32 random bytes."""
    ephemeral = derive_secret(ikm)
    return seal_with(agree(ephemeral, receiver), public_key(ephemeral), receiver, info, text)


def opens_with(dh, layer, receiver, info):
    """Whether a layer opens under an agreement."""
    try:
        open_with(dh, layer, receiver, info)
        return True
    except InvalidTag:
        return False


def check():
    """Compares every intermediate value with the vector of the RFC."""
    vector = json.loads(files.path("hpke_rfc9180").read_text())
    field = {name: bytes.fromhex(text) for name, text in vector.items() if name in HEX}
    dh = agree(field["skEm"], field["pkRm"])
    shared = shared_secret(dh, field["enc"], field["pkRm"])
    context, key, nonce = key_schedule(shared, field["info"])
    sealed = seal_with(dh, field["enc"], field["pkRm"], field["info"], field["pt"], field["aad"])
    computed = {
        "pkEm": public_key(field["skEm"]), "pkRm": public_key(field["skRm"]),
        "shared_secret": shared, "key_schedule_context": context, "key": key,
        "base_nonce": nonce, "ct": sealed[32:],
    }
    for name, value in computed.items():
        if value != field[name]:
            raise files.Differs(f"hpke_rfc9180.json has another {name}")
    assert agree(field["skRm"], field["pkEm"]) == dh
    return f"{len(computed)} values"


HEX = {"info", "skEm", "pkEm", "skRm", "pkRm", "enc", "shared_secret", "key_schedule_context",
       "key", "base_nonce", "pt", "aad", "ct"}


class Published:
    """The vector of the RFC, which is compared and never written."""

    name = "hpke_rfc9180"
    check = staticmethod(check)
    sample = check
    write = check


FILES = [Published]

if __name__ == "__main__":
    files.main(FILES)
