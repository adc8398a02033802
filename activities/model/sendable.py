"""What a request is made of: JSON, and text as it can hold it."""

from typing import Any, TypeAlias

Form: TypeAlias = dict[str, Any]


def sendable(text: str) -> str:
    """`text` as UTF-8 can hold it: a lone surrogate, which is stored as it came, is sent as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
