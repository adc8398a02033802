"""Named queries of the files in queries/."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)\n(?:-- .*\n)*", re.MULTILINE)


class Queries:
    """One file's queries: `Queries("asks").open` is the text below `-- name: open` in asks.sql, without its comment."""

    def __init__(self, noun: str) -> None:
        self._noun = noun

    def __getattr__(self, name: str) -> bytes:
        try:
            return _read(self._noun)[name]  # on first use: a command needs few files
        except KeyError:
            raise AttributeError(f"queries/{self._noun}.sql has no query named {name!r}") from None


@cache
def _read(noun: str) -> dict[str, bytes]:
    text = (files("activities.store") / "queries" / f"{noun}.sql").read_text()
    pieces = _NAME.split(text)[1:]
    return {name: query.strip().encode() for name, query in zip(pieces[::2], pieces[1::2], strict=True)}
