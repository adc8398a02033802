"""Removes secrets from what leaves for logs, Temporal and event streams (security.md 10.4)."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

_MIN_SECRET_CHARS: Final = 8  # shorter values are no secrets, and would match everywhere
_VISIBLE_CHARS: Final = 3  # characters of a secret that stay (four at most, with the edges of base64)
_MARK: Final = "[redacted]"

# Each pattern begins with plain characters, so that `re` skips other text quickly. A token is masked as a whole, of an
# embedded secret only the group `secret`.
_TOKEN_PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"sk-(?=[\w-]*\d)[\w-]{20,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek
        r"gsk_\w{20,}",  # Groq
        r"xai-\w{20,}",
        r"AIza[\w-]{35}",  # Google
        r"ya29\.[\w-]{20,}",
        r"hf_[A-Za-z0-9]{20,}",
        r"gh[pousr]_[A-Za-z0-9]{30,}",
        r"github_pat_\w{30,}",
        r"glpat-[\w-]{20,}",
        r"A(?:KI|SI)A[A-Z0-9]{16}",  # AWS
        r"xox[abeprs]-[\w-]{10,}",  # Slack
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-[\w-]{40,}",
        r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*",  # JWT
    )
)
_EMBEDDED_PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<secret>[\s\S]{0,20000}?(?=-----END )|(?:[A-Za-z0-9+/=\s]|\\[nr]){16,})",
        r"://[^\s:/@'\"]*:(?P<secret>[^\s/@'\"]+)@",  # a connection string
        r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{20,})",  # Azure
        r"(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|SecretAccessKey)[\"'\s=:]+(?P<secret>[A-Za-z0-9+/]{40})",
    )
)


class Redactor:
    """Masks the given secret values in all common encodings, and everything that looks like a secret.

    `values` is called each time, as keys come while a worker runs. Pass whole texts: a secret cut by their end is not
    found.
    """

    def __init__(self, values: Callable[[], Iterable[str]] = tuple) -> None:
        self._values = values
        self._known: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        for form in self._all_forms():
            text = text.replace(form, _mask(form))
        for word in _TOKEN_PATTERNS:
            text = word.sub(_mask_token, text)
        for shape in _EMBEDDED_PATTERNS:
            text = shape.sub(_mask_embedded, text)
        return text

    def _all_forms(self) -> tuple[str, ...]:
        """Longest first."""
        known = frozenset(value for each in self._values() if len(value := each.strip()) >= _MIN_SECRET_CHARS)
        if known != self._known:
            forms = {form for value in known for form in _forms(value)}
            self._known, self._forms = known, tuple(sorted(forms, key=len, reverse=True))
        return self._forms


def _forms(value: str) -> Iterator[str]:
    """The value itself, escaped for URLs and JSON, and in base64 at the three possible offsets."""
    yield from (value, quote(value), quote(value, safe=""), quote_plus(value))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    content = value.encode("utf-8", "surrogatepass")
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + content).decode()
        # The outer characters mix in bits of the neighbours.
        inner = encoded[-(-offset * 4 // 3) : len(encoded.rstrip("=")) - (1 if encoded.endswith("=") else 0)]
        yield from (inner, inner.translate(_URL_SAFE))


_URL_SAFE: Final = str.maketrans("+/", "-_")


def _mask_token(hit: re.Match[str]) -> str:
    inside = hit.start() > 0 and hit.string[hit.start() - 1].isalnum()  # part of a longer word, as in "task-"
    return hit[0] if inside else _mask(hit[0])


def _mask_embedded(hit: re.Match[str]) -> str:
    begin, end = (offset - hit.start() for offset in hit.span("secret"))
    return hit[0][:begin] + _mask(hit["secret"]) + hit[0][end:]


def _mask(secret: str) -> str:
    return (secret[:_VISIBLE_CHARS] if len(secret) >= 16 else "") + _MARK
