"""A prompt from the command line: words, standard input, an editor."""

import sys
from typing import Final

import click

from worker.prompt_check import validate_text
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, is_id

_MOST: Final = 64 * 2**20  # bytes: above a prompt's limit, to say how much is too much


def read_prompt(words: tuple[str, ...], *, edit: bool) -> str:
    """Join the words, with standard input for `-`, and edit them if wanted.

    Raises UsageError if no session can take the prompt.
    """
    text = " ".join(_read_stdin() if word == "-" else word for word in words)
    if edit:
        written = click.edit(text)
        if written is None:
            raise UsageError("The prompt was not saved in the editor, so nothing is done.")
        return validate_text(written)
    if not words:
        raise UsageError(
            'Say what is to be done, as in "make the tests pass"; `-` reads standard input, --edit opens your editor.'
        )
    return validate_text(text)


def parse_prompt_id(typed: str | None) -> MessageId | None:
    """Raises UsageError."""
    if typed is None or is_id(Prefix.MESSAGE, typed):
        return None if typed is None else MessageId(typed)
    raise UsageError(f"--id {typed!r} is no id of a prompt: write msg_, 12 hex digits and 14 letters or digits.")


def _read_stdin() -> str:
    """Bytes that are not UTF-8 become lone surrogates, as in arguments."""
    read = sys.stdin.buffer.read(_MOST + 1)
    if len(read) > _MOST:
        raise UsageError(f"Standard input has more than {_MOST // 2**20} MB: write it into a file and name that file.")
    return read.decode("utf-8", "surrogateescape")
