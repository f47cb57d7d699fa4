"""What the layouts of docs/protocol.md share: integers, signatures, cases and their steps.

A case is (name, step, bytes): something with one thing wrong, and the first step that must fail.
Ed25519 of `cryptography` refuses S above the order of the group, as the protocol asks.
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# 2^252 + 27742317777372353535851937790883648493, the order of the group of Ed25519.
ORDER = 2**252 + 27742317777372353535851937790883648493


class Refused(Exception):
    """The step that fails."""


def require(condition, step):
    """Refuses at a step unless the condition holds."""
    if not condition:
        raise Refused(step)


class Reader:
    """Bytes that are taken from the front; too few of them fail to decode."""

    def __init__(self, data):
        self.data = data

    def take(self, length):
        """The next bytes."""
        require(len(self.data) >= length, "decode")
        head, self.data = self.data[:length], self.data[length:]
        return head

    def number(self, length):
        """The next integer."""
        return int.from_bytes(self.take(length), "big")

    def end(self):
        """Refuses anything that is left."""
        require(not self.data, "decode")


def u64(number):
    """An integer of eight bytes."""
    return number.to_bytes(8, "big")


def replaced(data, place, others):
    """The same bytes with others at this place."""
    return data[:place] + others + data[place + len(others) :]


def altered(data, place):
    """The same bytes with the lowest bit of the one at this place turned."""
    return replaced(data, place, bytes([data[place] ^ 1]))


class Identity:
    """One of those who sign, by number: its seed is that byte 32 times."""

    def __init__(self, number):
        self.seed = bytes([number]) * 32
        self.key = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.public = self.key.public_key().public_bytes_raw()

    def sign(self, label, body):
        """A signature of label and body."""
        return self.key.sign(label.encode() + b"\x00" + body)

    def fields(self):
        """Seed and public identity, as they are in the files."""
        return {"identity_seed": self.seed.hex(), "identity": self.public.hex()}


def verify(public, label, body, signature, step):
    """Refuses at a step what this identity has not signed."""
    try:
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(signature, label.encode() + b"\x00" + body)
    except InvalidSignature:
        raise Refused(step) from None


def bad_signatures(label, body, signer, other_body):
    """(what is wrong, signature) for signatures that are not those of `signer` for this body."""
    good = signer.sign(label, body)
    other_label = "throng/1 receipt" if label == "throng/1 key" else "throng/1 key"
    above = int.from_bytes(good[32:], "little") + ORDER
    return [
        ("signed by somebody else", Identity(99).sign(label, body)),
        ("signed as something else", signer.sign(other_label, body)),
        ("signed without a label", signer.sign("", body)),
        ("with the signature of another", signer.sign(label, other_body)),
        ("with a bit of R altered", altered(good, 0)),
        ("with a bit of S altered", altered(good, 32)),
        ("with S above the order of the group", good[:32] + above.to_bytes(32, "little")),
        ("with a signature of zeros", bytes(64)),
        ("with R and S of the neutral element", bytes([1]) + bytes(63)),
    ]


def checked(cases, field, take):
    """The cases as they are in a file, after each was refused at its step."""
    for name, step, data in cases:
        try:
            take(data)
        except Refused as refused:
            assert refused.args == (step,), f"{name}: fails at {refused.args[0]}, not at {step}"
        else:
            raise AssertionError(f"{name}: accepted")
    return [{"name": name, "step": step, field: data.hex()} for name, step, data in cases]
