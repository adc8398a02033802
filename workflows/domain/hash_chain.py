"""Canonical bytes of events and their hash chain (security.md 11.1)."""

import hashlib
import json
from typing import Any, Final, NamedTuple

_DOMAIN: Final = b"holdfast-event/1\x00"
GENESIS: Final = bytes(32)  # prev_hash of a chain's first link


class Link(NamedTuple):
    """A link as it is stored; `canonical`: its bytes, stored or made again."""

    seq: int
    canonical: bytes
    prev_hash: bytes
    hash: bytes


class LogPosition(NamedTuple):
    """An event of a log: its number, and the beginning of its hash. In a log that was put back, another event may get
    the number."""

    seq: int = 0
    hash: str = ""

    @classmethod
    def of(cls, seq: int, hash: bytes) -> "LogPosition":
        return cls(seq, hash[:4].hex())


def canonical_json(value: Any) -> bytes:
    """Canonical JSON bytes (RFC 8785: UTF-8, sorted keys, no blanks; floats are refused).

    Lone surrogates, which UTF-8 cannot hold, become WTF-8 bytes: different texts never share a form.
    """
    text = json.dumps(_without_floats(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def chain_hash(previous: bytes, event: bytes) -> bytes:
    return hashlib.sha256(_DOMAIN + previous + event).digest()


def link_problem(noun: str, name: str, seq: int, head: bytes, found: Link) -> str | None:
    """Why a link does not follow the one with the number `seq` and the hash `head`."""
    if found.seq != seq + 1:
        return f"{noun} {seq + 1} is missing (the next one there is {found.seq})"
    if found.prev_hash != head:
        return f"{name} does not follow from the {noun} before it"
    if chain_hash(head, found.canonical) != found.hash:
        return f"{name} is not what was hashed"
    return None


def salted_hash(salt: bytes, content: bytes) -> str:
    """In hex; an event names large or personal content by it, which can be erased later."""
    return hashlib.sha256(salt + content).hexdigest()


def _without_floats(value: Any) -> Any:
    if isinstance(value, float):
        raise TypeError(f"an event holds no floats: write {value!r} as a decimal string")
    if isinstance(value, dict):
        return {key: _without_floats(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_floats(item) for item in value]
    return value
