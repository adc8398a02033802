"""What a person wants said to the agent: words, standard input, or what they write in their editor."""

import sys

import click

from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, is_id


def prompt(words: tuple[str, ...], *, edit: bool) -> str:
    """The prompt: the words, standard input in the place of `-`, and what is written in the editor, if wanted."""
    text = " ".join(sys.stdin.read() if word == "-" else word for word in words)
    if edit:
        written = click.edit(text)
        if written is None:
            raise UsageError("The prompt was not saved in the editor, so nothing is done.")
        return written
    if not words:
        raise UsageError('Say what is to be done: holdfast run "make the tests pass". `-` reads standard input.')
    return text


def identity(typed: str | None) -> MessageId | None:
    """The id that a prompt was given by whoever sends it. Raises UsageError."""
    if typed is None or is_id(Prefix.MESSAGE, typed):
        return None if typed is None else MessageId(typed)
    raise UsageError(f"--id {typed!r} is no id of a prompt: write msg_, 12 hex digits and 14 letters or digits.")
