"""A prompt from the command line: words, standard input, an editor."""

import json
import sys
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

import click

from activities.files.file_type import media_type
from activities.tools.json_schema import check_schema
from worker.cli.slash_commands import join_arguments
from worker.length_check import check_length
from worker.prompt_check import check_prompt_id, validate_system, validate_text
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, is_id
from workflows.domain.messages import DIRECTORY, PLAIN_TEXT, FilePart
from workflows.domain.output_format import OutputFormat

_MOST: Final = 64 * 2**20  # bytes: above a prompt's limit, to say how much is too much


class TypedText(NamedTuple):
    """`piped_at`: where it is standard input's."""

    text: str = ""
    piped_at: tuple[tuple[int, int], ...] | None = None


def read_prompt(words: tuple[str, ...], *, edit: bool) -> TypedText:
    """Join the words, with standard input for `-`, and edit them if wanted: what a person saves there is theirs.

    Raises UsageError if no session can take the prompt.
    """
    texts = [_read_stdin() if word == "-" else word for word in words]
    text = " ".join(texts)
    if edit:
        written = click.edit(text)
        if written is None:
            raise UsageError("The prompt was not saved in the editor, so nothing is done.")
        return TypedText(validate_text(written))
    if not words:
        raise UsageError(
            'Say what to do, as in "make the tests pass"; `-` reads standard input, --edit opens your editor.'
        )
    ends = [end - 1 for end in accumulate(len(each) + 1 for each in texts)]
    spans = [(end - len(each), end) for word, each, end in zip(words, texts, ends, strict=True) if word == "-"]
    return TypedText(validate_text(text), tuple(spans) or None)


def read_typed(words: tuple[str, ...], command: str | None, subtask: str | None, *, edit: bool) -> TypedText:
    """A prompt, or the arguments of a slash command. Raises UsageError."""
    if command is None:
        return read_prompt(words, edit=edit)
    if subtask is not None:
        raise UsageError("--command and --subtask both say who does the work: give one of them.")
    return TypedText(read_arguments(words, edit=edit))


def read_arguments(words: tuple[str, ...], *, edit: bool) -> str:
    """The words with standard input for `-`, or None. Raises UsageError."""
    text = join_arguments([_read_stdin() if word == "-" else word for word in words])
    if edit:
        text = click.edit(text) or text
    check_length("The command's arguments", text)
    return text


def read_system(typed: str | None) -> str | None:
    """The value of `system_option`. Raises UsageError."""
    text = read_text("--system", typed)
    return None if text is None else validate_system(text)


def read_text(option: str, typed: str | None) -> str | None:
    """The value of an option of the form TEXT|@FILE. Raises UsageError."""
    return _read_file(option, typed[1:]) if typed is not None and typed.startswith("@") else typed


def name_files(typed: tuple[str, ...]) -> tuple[FilePart, ...]:
    """The values of `file_option`: where they are, not what they hold. Raises UsageError for what is not there."""
    return tuple(map(_name_file, typed))


def _name_file(typed: str) -> FilePart:
    path = Path(typed).absolute()
    if not path.exists():
        raise UsageError(f"--file {typed!r}: there is no such file or directory.")
    mime = DIRECTORY if path.is_dir() else media_type(b"", path) or PLAIN_TEXT
    return FilePart(mime=mime, url=path.as_uri(), filename=path.name)


def parse_prompt_id(typed: str | None) -> MessageId | None:
    """Raises UsageError."""
    if typed is None:
        return None
    if not is_id(Prefix.MESSAGE, typed):
        raise UsageError(f"--id {typed!r} is no id of a prompt: write msg_, 12 hex digits and 14 letters or digits.")
    check_prompt_id(MessageId(typed))
    return MessageId(typed)


def _read_file(option: str, name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            read = file.read(_MOST + 1)
    except OSError as error:
        raise UsageError(f"{option}: the file {name!r} cannot be read: {error.strerror}.") from error
    return read[:_MOST].decode("utf-8", "surrogateescape")


def _read_stdin() -> str:
    """Bytes that are not UTF-8 become lone surrogates, as in arguments."""
    read = sys.stdin.buffer.read(_MOST + 1)
    if len(read) > _MOST:
        raise UsageError(f"Standard input has more than {_MOST // 2**20} MB: write it into a file and name that file.")
    return read.decode("utf-8", "surrogateescape")


def read_schema(file: str | None) -> OutputFormat | None:
    """Raises UsageError."""
    if file is None:
        return None
    try:
        schema = json.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"The schema {file!r} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The schema {file!r} is no JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError(f"The schema {file!r} is no JSON object.")
    check_schema(schema)
    return OutputFormat(json_schema=schema)
