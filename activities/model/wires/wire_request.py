"""A request of any protocol; apart from the HTTP client, which commands do not load."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WireRequest:
    """A request as sent; `pieces`: of its body."""

    url: str
    headers: dict[str, str]
    pieces: tuple[bytes, ...]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)
