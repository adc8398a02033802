"""The rules of programs' options and operands, from `tables.toml` (security.md 2.4)."""

import tomllib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from workflows.domain.value import Value


class ArgumentKind(StrEnum):
    """The values are the marks in `tables.toml`."""

    FLAG = ""
    VALUE = ":"
    TWO_VALUES = "::"
    ATTACHED = "?"
    SCRIPT = "&"
    NAMES = "*"
    WRITES = ">"
    ASKS = "!"


_BY_MARK: Final = sorted(ArgumentKind, key=len, reverse=True)


class ProgramRule(Value):
    """The head of `tables.toml` explains the fields."""

    options: str = ""
    also: tuple[str, ...] = ()
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
    def kinds(self) -> dict[str, ArgumentKind]:
        """With those of the shared lists."""
        shared = {name: kind for share in self.shares for name, kind in program_rules()[share].kinds.items()}
        return {**shared, **dict(map(_option, self.options.split()))}

    @cached_property
    def known_subcommands(self) -> frozenset[str]:
        return frozenset(self.subcommands.split())


@cache
def program_rules() -> dict[str, ProgramRule]:
    """The rules of a program; a sub-command has its own entry, as `git log`."""
    with Path(__file__).with_name("tables.toml").open("rb") as file:
        entries = {name: ProgramRule.model_validate(fields) for name, fields in tomllib.load(file).items()}
    return {each: entry for name, entry in entries.items() for each in (name, *entry.also)}


def find_subcommand(program: str, words: Sequence[str]) -> str | None:
    """The longest name in the table that begins the command, such as `git stash list`."""
    names = (" ".join((program, *words[:count])) for count in (2, 1) if len(words) >= count)
    return next((name for name in names if name in program_rules()), None)


def _option(written: str) -> tuple[str, ArgumentKind]:
    kind = next(kind for kind in _BY_MARK if written.endswith(kind.value))
    return written.removesuffix(kind.value), kind
