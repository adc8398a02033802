"""JSON of requests, and text that it can hold."""

from typing import Any, TypeAlias

JsonDict: TypeAlias = dict[str, Any]


def utf8_safe(text: str) -> str:
    """`text` for UTF-8: a lone surrogate, stored as it came, is sent as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
