"""What a person wants said to the agent: words, standard input, or what they write in their editor."""

import sys
from typing import Final

import click

from worker.client import checked
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, is_id

_MOST: Final = 64 * 2**20  # bytes that are read, though a prompt is far shorter: to say how much too long it is


def prompt(words: tuple[str, ...], *, edit: bool) -> str:
    """The prompt: the words, standard input in the place of `-`, and what is written in the editor, if wanted.

    Raises UsageError for one that no session can take, before anything is started for it.
    """
    text = " ".join(_standard_input() if word == "-" else word for word in words)
    if edit:
        written = click.edit(text)
        if written is None:
            raise UsageError("The prompt was not saved in the editor, so nothing is done.")
        return checked(written)
    if not words:
        raise UsageError(
            'Say what is to be done, as in "make the tests pass"; `-` reads standard input, --edit opens your editor.'
        )
    return checked(text)


def identity(typed: str | None) -> MessageId | None:
    """The id that a prompt was given by whoever sends it. Raises UsageError."""
    if typed is None or is_id(Prefix.MESSAGE, typed):
        return None if typed is None else MessageId(typed)
    raise UsageError(f"--id {typed!r} is no id of a prompt: write msg_, 12 hex digits and 14 letters or digits.")


def _standard_input() -> str:
    """What comes, byte for byte: what is no UTF-8 becomes lone surrogates, as in arguments."""
    read = sys.stdin.buffer.read(_MOST + 1)
    if len(read) > _MOST:
        raise UsageError(f"Standard input has more than {_MOST // 2**20} MB: write it into a file and name that file.")
    return read.decode("utf-8", "surrogateescape")
