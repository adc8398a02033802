"""Secrets out of whatever leaves for logs, Temporal and event streams (security.md 10.4)."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

_SHORTEST: Final = 8  # characters: a shorter value is no secret, and would be found everywhere
_VISIBLE: Final = 3  # characters of a secret that stay (four at most, and the edges of base64 count, too)
_MARK: Final = "[redacted]"

# Each shape begins with plain characters, which lets `re` skip quickly over all other text. Of a word, all goes;
# where a secret stands inside of something, the group `secret`.
_WORDS: Final = tuple(
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
_INSIDE: Final = tuple(
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
    """Replaces the given secret values, in whatever common way they are written, and all that looks like a secret.

    `values` is asked each time: keys come while a worker runs. A value that is cut by the end of a text is not found:
    give it whole texts, not pieces of a stream.
    """

    def __init__(self, values: Callable[[], Iterable[str]] = tuple) -> None:
        self._values = values
        self._known: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """`text` with at most a few characters left of each secret."""
        for form in self._all_forms():
            text = text.replace(form, _masked(form))
        for word in _WORDS:
            text = word.sub(_without_word, text)
        for shape in _INSIDE:
            text = shape.sub(_without_secret, text)
        return text

    def _all_forms(self) -> tuple[str, ...]:
        """Every way in which one of the values may be written, the longest first."""
        known = frozenset(value for each in self._values() if len(value := each.strip()) >= _SHORTEST)
        if known != self._known:
            forms = {form for value in known for form in _forms(value)}
            self._known, self._forms = known, tuple(sorted(forms, key=len, reverse=True))
        return self._forms


def _forms(value: str) -> Iterator[str]:
    """The value as it is, escaped for URLs and JSON, and in base64 at each of the three possible offsets."""
    yield from (value, quote(value), quote(value, safe=""), quote_plus(value))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    content = value.encode("utf-8", "surrogatepass")
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + content).decode()
        # The first and the last characters mix in bits of the neighbours.
        inner = encoded[-(-offset * 4 // 3) : len(encoded.rstrip("=")) - (1 if encoded.endswith("=") else 0)]
        yield from (inner, inner.translate(_URL_SAFE))


_URL_SAFE: Final = str.maketrans("+/", "-_")


def _without_word(hit: re.Match[str]) -> str:
    inside = hit.start() > 0 and hit.string[hit.start() - 1].isalnum()  # of a longer word, as in "task-"
    return hit[0] if inside else _masked(hit[0])


def _without_secret(hit: re.Match[str]) -> str:
    begin, end = (place - hit.start() for place in hit.span("secret"))
    return hit[0][:begin] + _masked(hit["secret"]) + hit[0][end:]


def _masked(secret: str) -> str:
    return (secret[:_VISIBLE] if len(secret) >= 16 else "") + _MARK
