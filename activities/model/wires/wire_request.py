"""A request of any protocol; apart from the HTTP client, which commands do not load."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WireRequest:
    """A request as sent."""

    url: str
    headers: dict[str, str]
    body: bytes
