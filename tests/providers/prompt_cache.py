"""What a provider's cache of prompts makes of a request: what it reads of earlier ones, and what it writes.

Tokens are counted in a simple way, the same for every provider: four bytes of what is sent.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

TOKEN: Final = 4  # bytes
Usage: TypeAlias = Callable[[dict[str, Any], Sequence[Any]], dict[str, Any]]  # of a request's body and an answer


@dataclass(frozen=True)
class Bill:
    """Tokens of a prompt: all, those read from the cache, and those written to it for a price."""

    prompt: int
    read: int
    written: int = 0

    @property
    def rest(self) -> int:
        return self.prompt - self.read - self.written


@dataclass(frozen=True)
class Piece:
    """A part of a prompt, in the order in which the model reads it; `marked`: a request's own breakpoint is behind it.

    `settings` belong to the prefix and count no tokens.
    """

    content: bytes
    marked: bool = False
    settings: bytes = b""


class PrefixCache:
    """Knows the prefixes that were written, each with the key of its request."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._known: set[tuple[str, bytes]] = set()

    def bill_marked(self, pieces: Sequence[Piece], look_back: int) -> Bill:
        """Reads the longest prefix that ends at a mark or some pieces before one; writes up to the last mark."""
        marks = [number for number, piece in enumerate(pieces) if piece.marked]
        near = {number for mark in marks for number in range(max(0, mark - look_back + 1), mark + 1)}
        return self._bill(pieces, near, marks)

    def bill_endings(self, pieces: Sequence[Piece], endings: Sequence[int], look_back: int, key: str) -> Bill:
        """Reads the longest prefix that ends at one of the last messages; writes up to the last one."""
        return self._bill(pieces, endings[-1 - look_back :], endings[-1:], key)

    def bill_automatic(self, pieces: Iterable[Piece], step: int, key: str = "") -> Bill:
        """Reads the longest prefix of any earlier prompt, in steps of so many tokens; writing is free."""
        whole = b"".join(piece.settings + piece.content for piece in pieces)
        size = step * TOKEN
        chunks = [Piece(whole[start : start + size]) for start in range(0, len(whole), size)]
        full = range(len(whole) // size)
        bill = self._bill(chunks, full, full, key)
        return Bill(bill.prompt, bill.read)

    def _bill(self, pieces: Sequence[Piece], reads: Iterable[int], writes: Iterable[int], key: str = "") -> Bill:
        prefixes = _prefixes(pieces)
        read = max((prefixes[n][0] for n in reads if (key, prefixes[n][1]) in self._known), default=0)
        new = {prefixes[n] for n in writes if prefixes[n][0] >= self._minimum}
        self._known |= {(key, digest) for _, digest in new}
        written = max((tokens for tokens, _ in new), default=0)
        return Bill(prefixes[-1][0], read, max(0, written - read))


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def count_tokens(value: Any) -> int:
    return -(-len(encode(value)) // TOKEN)


def _prefixes(pieces: Sequence[Piece]) -> list[tuple[int, bytes]]:
    """Up to behind each piece: its tokens and its digest."""
    digest, size, found = hashlib.sha256(), 0, []
    for piece in pieces:
        digest.update(piece.settings + piece.content)
        size += len(piece.content)
        found.append((size // TOKEN, digest.digest()))
    return found
