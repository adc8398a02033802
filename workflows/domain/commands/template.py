"""Templates of slash commands: arguments put in, shell references found (opencode.md 11)."""

import re
from collections.abc import Sequence
from typing import Final

from workflows.domain.commands.shell_words import insert_arguments
from workflows.domain.value import Value

_ARGUMENT: Final = re.compile(r"\[Image\s+\d+\]|\"[^\"]*\"|'[^']*'|[^\s\"']+", re.IGNORECASE)
_QUOTES: Final = re.compile(r"\A[\"']|[\"']\Z")
_PLACEHOLDER: Final = re.compile(r"(?<!\\)\$(ARGUMENTS|[1-9]\d{0,5})")
_ESCAPE: Final = re.compile(r"\\(?=\$(?:ARGUMENTS|[1-9]))")  # before what is no placeholder
_SHELL: Final = re.compile(r"!`([^`]+)`")


class ShellReference(Value):
    """A command whose output is to stand in a text, at `start` to `end`."""

    command: str
    start: int
    end: int


class ExpandedTemplate(Value):
    """`arguments`: where the text holds what the person has typed, which is never looked at for references."""

    text: str
    shell: tuple[ShellReference, ...] = ()
    arguments: tuple[tuple[int, int], ...] = ()


def split_arguments(text: str) -> list[str]:
    """Split at blanks; a quoted text is one argument, without its quotes."""
    return [_QUOTES.sub("", hit[0]) for hit in _ARGUMENT.finditer(text)]


def find_hints(template: str) -> tuple[str, ...]:
    """The placeholders of a template, by their numbers."""
    names = set(_PLACEHOLDER.findall(template))
    numbers = sorted(int(name) for name in names - {"ARGUMENTS"})
    return (*(f"${number}" for number in numbers), *(("$ARGUMENTS",) if "ARGUMENTS" in names else ()))


def find_shell_references(text: str) -> list[str]:
    return _SHELL.findall(text)


def expand_template(template: str, arguments: str) -> ExpandedTemplate:
    """Arguments without a placeholder follow the template. Raises UsageError as `insert_arguments`."""
    writer, at = _Writer(template, arguments), 0
    for hit in _SHELL.finditer(template):
        writer.add_text(template[at : hit.start()])
        writer.add_shell(hit[1])
        at = hit.end()
    writer.add_text(template[at:])
    if not writer.has_placeholder and arguments.strip():
        writer.add("\n\n")
        writer.add_argument(arguments)
    return writer.expanded()


def render_references(text: str, references: Sequence[ShellReference], outputs: Sequence[str]) -> str:
    """The text with the output of each command in its place."""
    pieces, at = list[str](), 0
    for reference, output in zip(references, outputs, strict=True):
        pieces += [text[at : reference.start], output]
        at = reference.end
    return "".join((*pieces, text[at:])).strip()


class _Writer:
    """Fills a template in one pass: placeholders within arguments stay."""

    def __init__(self, template: str, arguments: str) -> None:
        names = _PLACEHOLDER.findall(template)
        self.has_placeholder = bool(names)
        self._highest = max((int(name) for name in names if name != "ARGUMENTS"), default=0)
        self._raw = arguments
        self._words = split_arguments(arguments)
        self._pieces: list[str] = []
        self._length = 0
        self._shell: list[ShellReference] = []
        self._arguments: list[tuple[int, int]] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def add_argument(self, value: str) -> None:
        self._arguments.append((self._length, self._length + len(value)))
        self.add(value)

    def add_text(self, text: str) -> None:
        at = 0
        for hit in _PLACEHOLDER.finditer(text):
            self.add(_ESCAPE.sub("", text[at : hit.start()]))
            self.add_argument(self._value(hit[1]))
            at = hit.end()
        self.add(_ESCAPE.sub("", text[at:]))

    def add_shell(self, command: str) -> None:
        run, start = insert_arguments(command, self._value), self._length
        self.add(f"!`{run}`")
        self._shell.append(ShellReference(command=run, start=start, end=self._length))
        self._arguments.append((start, self._length))

    def expanded(self) -> ExpandedTemplate:
        text = "".join(self._pieces)
        cut, length = len(text) - len(text.lstrip()), len(text.strip())
        moved = (each.model_copy(update={"start": each.start - cut, "end": each.end - cut}) for each in self._shell)
        spans = ((min(max(start - cut, 0), length), min(end - cut, length)) for start, end in self._arguments)
        return ExpandedTemplate(text=text.strip(), shell=tuple(moved), arguments=tuple(spans))

    def _value(self, name: str) -> str:
        """The highest number takes all that is left (opencode.md 11)."""
        if name == "ARGUMENTS":
            return self._raw
        number = int(name)
        return " ".join(self._words[number - 1 :] if number == self._highest else self._words[number - 1 : number])
