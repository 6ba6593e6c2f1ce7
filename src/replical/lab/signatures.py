"""Signatures of published files: Ed25519 (RFC 8032), with keys in standard PEM files.

A file is signed for what it is (its schema), what it says (the digest of its body) and when it says it was made (its seal):
``"replical signature 1"``, schema, digest and seal, with a zero byte between them. Public keys are written as in the middle
of a PEM file: the base64 of a SubjectPublicKeyInfo, 60 characters.
Making and checking signatures needs cryptography: ``pip install 'replical[sign]'``; whether something is a key does not.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replical.core.files import read_bytes, read_text
from replical.errors import BadKey, need

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "ed25519"
PARTS = ("algorithm", "key", "value")
_OPENING = bytes.fromhex("302a300506032b6570032100")  # what says that an Ed25519 public key of 32 bytes follows
_BEGIN, _END = "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"


def is_public_key(value: Any) -> bool:
    """Is this an Ed25519 public key as protocols list them?

    Examples
    --------
    >>> is_public_key("MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="), is_public_key("MCow")
    (True, False)
    """
    raw = _base64(value)
    return raw is not None and len(raw) == len(_OPENING) + 32 and raw.startswith(_OPENING)


def _base64(value: Any) -> bytes | None:
    """What a text in base64 stands for; None if it is not the one spelling of it."""
    try:
        raw = base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return None
    return raw if isinstance(value, str) and base64.b64encode(raw).decode() == value else None


def new_key(path: Path) -> tuple[Path, str]:
    """Make a key: the private one at `path`, for its owner alone, the public one beside it; where, and which it is."""
    needs_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    public_path = path.with_name(f"{path.stem}.pub{path.suffix or '.pem'}")
    for each in (path, public_path):
        if os.path.lexists(each):
            raise BadKey(f"{each} exists: a key is not overwritten; give another name")
    key = Ed25519PrivateKey.generate()
    public = _public_text(key)
    _write_new(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    _write_new(public_path, f"{_BEGIN}\n{public}\n{_END}\n".encode(), 0o644)
    return public_path, public


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BadKey(f"cannot write the key {path}: {error.strerror or error}") from error


def read_public(path: Path) -> str:
    """The public key in a PEM file."""
    text = read_text(path, what="the key", refuse=BadKey)
    if "PRIVATE KEY" in text:
        raise BadKey(f"{path} is a private key, which nobody but its lab may see: give the public one")
    lines = [line.strip() for line in text.strip().splitlines()]
    key = "".join(lines[1:-1])
    if len(lines) < 3 or (lines[0], lines[-1]) != (_BEGIN, _END) or not is_public_key(key):
        raise BadKey(f"{path} holds no Ed25519 public key: replical lab keys new makes one")
    return key


def read_private(path: Path) -> Signer:
    """Who signs with the private key in a PEM file."""
    needs_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    raw = read_bytes(path, what="the key", refuse=BadKey)
    try:
        key = load_pem_private_key(raw, password=None)
    except TypeError as error:  # so it says that it needs a password
        raise BadKey(f"the key {path} is behind a password: write it without one, readable by you alone") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey(f"{path} holds no private key in PEM: replical lab keys new makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey(f"{path} holds a private key of another kind than Ed25519: replical lab keys new makes one")
    return Signer(key)


class Signer:
    """Whoever has a private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = _public_text(key)

    def sign(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """The published file with these `content`s, signed; another signature on it is replaced."""
        value = self.value(_message(content))
        return {**content, "signature": {"algorithm": ALGORITHM, "key": self.public, "value": value}}

    def value(self, message: bytes) -> str:
        """The bare signature of a message, in base64."""
        return base64.b64encode(self._key.sign(message)).decode()


def wrong_signature(content: Mapping[str, Any]) -> str | None:
    """What is wrong with the signature of a published file, whoever has its key; nothing if it is right."""
    needs_cryptography()
    signature = content.get("signature")
    if not isinstance(signature, Mapping) or set(signature) != set(PARTS):
        return f"a signature has the parts {', '.join(PARTS)}"
    ours = signature["algorithm"] == ALGORITHM and is_public_key(signature["key"])
    if not ours or _base64(signature["value"]) is None:
        return "it is no Ed25519 signature"
    if not is_signed(signature["key"], signature["value"], _message(content)):
        return "the signature is forged, or the file was changed after it was signed"
    return None


def is_signed(key: Any, value: Any, message: bytes) -> bool:
    """Is this the signature of a `message` with that public key?"""
    needs_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = (_base64(key) or b"")[len(_OPENING) :]  # what is no key has another length
        Ed25519PublicKey.from_public_bytes(raw).verify(_base64(value) or b"", message)
    except (InvalidSignature, ValueError):
        return False
    return True


def wrong_signer(content: Mapping[str, Any], lab: str | None, keys: Mapping[str, str]) -> str | None:
    """What is wrong with the signature of a file of this `lab`, where the protocol lists `keys` of labs that sign."""
    if lab is None:
        return "it names no lab, and the protocol lists the keys of labs"
    if lab not in keys:
        return f"the protocol lists no key of {lab!r}"
    if content.get("signature") is None:
        return f"it is not signed, and the protocol lists a key of {lab!r}"
    if (wrong := wrong_signature(content)) is not None:
        return wrong
    used = content["signature"]["key"]
    if used == keys[lab]:
        return None
    other = next((name for name, key in keys.items() if key == used), None)
    whose = "a key that the protocol does not list" if other is None else f"the key of {other!r}"
    return f"it is signed with {whose}, not with that of {lab!r}"


def _message(content: Mapping[str, Any]) -> bytes:
    parts = ("replical signature 1", content["schema"], content["digest"], content["provenance"]["seal"])
    return "\0".join(parts).encode()


def _public_text(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(_OPENING + key.public_key().public_bytes_raw()).decode()


def needs_cryptography() -> None:
    """Refuse in one sentence if cryptography is not there."""
    need("cryptography", "signatures need cryptography")
