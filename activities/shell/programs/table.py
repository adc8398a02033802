"""Table: what is known of each program's options and operands, read from `tables.toml` (security.md 2.4)."""

import tomllib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from workflows.domain.value import Value


class Kind(StrEnum):
    """What an option does with what stands behind it; the marks are those of `tables.toml`."""

    FLAG = ""
    VALUE = ":"
    TWO_VALUES = "::"
    ATTACHED = "?"
    SCRIPT = "&"
    NAMES = "*"
    WRITES = ">"
    RAISES = "!"


_BY_MARK: Final = sorted(Kind, key=len, reverse=True)


class Entry(Value):
    """What the file says of one program, or of one sub-command; the file's head explains the fields."""

    options: str = ""
    shares: tuple[str, ...] = ()
    closed: bool = True
    words: bool = False
    bundle: bool = False
    changes: bool = False
    script: str | None = None
    first: str | None = None
    operands: str | None = None
    most: int | None = None
    subcommands: str = ""
    recursive: str = ""
    hidden: str = ""
    follows: str = ""
    tracked: str = ""
    names: str = ""

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Each option that is known, with those of the shared lists."""
        shared = {name: kind for share in self.shares for name, kind in entries()[share].kinds.items()}
        return {**shared, **dict(map(_option, self.options.split()))}

    @cached_property
    def known_subcommands(self) -> frozenset[str]:
        return frozenset(self.subcommands.split())


@cache
def entries() -> dict[str, Entry]:
    """The whole table: `git log` is the entry of a sub-command."""
    with Path(__file__).with_name("tables.toml").open("rb") as file:
        return {name: Entry.model_validate(fields) for name, fields in tomllib.load(file).items()}


def subcommand(program: str, words: Sequence[str]) -> str | None:
    """The longest name in the table that these words behind `program` begin with: `git stash list`, `git log`."""
    names = (" ".join((program, *words[:count])) for count in (2, 1) if len(words) >= count)
    return next((name for name in names if name in entries()), None)


def _option(written: str) -> tuple[str, Kind]:
    kind = next(kind for kind in _BY_MARK if written.endswith(kind.value))
    return written.removesuffix(kind.value), kind
