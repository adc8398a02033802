"""What an error is about: where it stands in a file, and what is written there, without secrets."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from activities.project import config_secrets, json_positions
from activities.project.json_positions import JsonPath, TextPosition
from activities.redact import Redactor

_LONGEST: Final = 80  # characters
_BEFORE: Final = 30  # of these, before the column of a long line
_MASK: Final = "[redacted]"
_REDACTOR: Final = Redactor()
_NAMED_SECRET: Final = re.compile(
    r"(?:key|token|secret|passw\w*|credentials?|authorization|auth|cookie)[\"']?[ \t]*[:=][ \t]*(?P<rest>\S.*)",
    re.IGNORECASE,
)


class Located(NamedTuple):
    """The known part of a field's path, where it is, and the text there."""

    path: JsonPath
    position: TextPosition
    excerpt: str


def locate_in_json(text: str, path: Sequence[str | int], before: int = 0) -> Located:
    """`before`: characters at the beginning that do not count."""
    known, offset = json_positions.locate(text, path)
    return Located(known, json_positions.position_at(text, offset, before), excerpt_json(text, offset))


def excerpt_json(text: str, offset: int) -> str:
    """The line at `offset`, or the part of it there if it is long. Empty if the secrets in the text cannot be
    located."""
    if json_positions.is_too_deep(text):
        return ""
    start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    end = len(text) if end < 0 else end
    masked, done, column = "", start, offset - start
    for word in json_positions.iter_words(text):
        if word.start >= end:
            break
        if word.end > start and _is_secret(text[word.start : word.end], word.path):
            masked += text[done : max(word.start, done)] + _MASK
            done = max(done, word.end)
            column = column if done > offset else len(masked) + offset - done
    return excerpt_line(masked + text[done:end], column)


def excerpt_line(line: str, column: int = 0) -> str:
    """Masks what looks like a secret, and everything behind a name of secrets. `column`: from 0."""
    masked = _REDACTOR.text(line)
    hit = _NAMED_SECRET.search(masked)
    if hit is not None and not hit["rest"].lstrip("\"'").startswith(("{env:", "{file:", _MASK)):
        masked = masked[: hit.start("rest")] + _MASK
    if len(masked) > _LONGEST:
        masked = masked[max(0, min(column, len(masked) - 1) - _BEFORE) :][:_LONGEST]
    return " ".join(masked.split()).rstrip(",")


def with_excerpt(message: str, excerpt: str) -> str:
    return f"{message} Found: {excerpt}" if excerpt else message


def _is_secret(word: str, path: JsonPath) -> bool:
    at = tuple(map(str, path))
    return bool(at) and (
        config_secrets.holds_secret(plain := word.strip("\"'"), at) or config_secrets.stays_in_file(plain, at)
    )
