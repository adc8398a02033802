"""What a person wants said to the agent: words, standard input, or what they write in their editor."""

import sys

import click

from workflows.domain.errors import UsageError


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
