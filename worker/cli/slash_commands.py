"""Typed commands that begin with a slash: those of the loop itself, and the directory's."""

import re
from collections.abc import Collection
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, NamedTuple

from workflows.domain.errors import UsageError


class RunCommand(StrEnum):
    HELP = "/help"
    STOP = "/stop"
    RETRY = "/retry"
    EXIT = "/exit"


class TypedCommand(NamedTuple):
    """A slash command of the directory, as it was typed."""

    name: str
    arguments: str


SLASH_HELP: Final = (
    "/stop   stop the turn, and the tasks in the background",
    "/retry  retry a failed turn",
    "/exit   leave; what is at work goes on (also Ctrl-D when nothing is)",
    "Tab     another agent for the next prompt, of those that work for people",
    "/NAME   a command of this directory, with its arguments: `holdfast commands` lists them",
    "Everything else is a prompt: a turn that is at work sees it at its next step.",
)
_TYPED: Final = re.compile(r"/(\S+)(?:\s+(.*))?", re.DOTALL)  # a blank before the slash makes it a prompt
_WORD: Final = re.compile(r"[\w.:-]+")  # with another slash, it is a path
_ALSO: Final = {"/quit": RunCommand.EXIT}


def parse_run_command(text: str) -> RunCommand | None:
    word = text.strip()
    if word in _ALSO:
        return _ALSO[word]
    return next((each for each in RunCommand if each == word), None)


def may_be_command(text: str) -> bool:
    """Whether the directory's commands have to be known for `parse_command`."""
    return _TYPED.fullmatch(text.rstrip()) is not None


def parse_command(text: str, known: Collection[str]) -> TypedCommand | None:
    """The command of a line; None for a prompt, such as one that begins with a path.

    Raises UsageError for a lone word that names none, and for one that is nearly the name of one.
    """
    typed = _TYPED.fullmatch(text.rstrip())
    if typed is None:
        return None
    name, arguments = typed[1], typed[2] or ""
    if name in known:
        return TypedCommand(name, arguments)
    if not _WORD.fullmatch(name):
        return None
    near = get_close_matches(name, known, n=3)
    if arguments and not near:
        return None
    meant = f" Did you mean {' or '.join(f'/{each}' for each in near)}?" if near else ""
    names = ", ".join((*RunCommand, *(f"/{each}" for each in sorted(known))))
    raise UsageError(
        f'Command not found: "{name}".{meant} Available commands: {names}. A blank before the slash makes it a prompt.'
    )


def join_arguments(words: Collection[str]) -> str:
    """The shell's words as one line of arguments: those with blanks stay one, in quotes."""
    if len(words) == 1:
        return next(iter(words))
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if not word or re.search(r"[\s\"']", word) is None or ('"' in word and "'" in word):
        return word
    return f"'{word}'" if '"' in word else f'"{word}"'
