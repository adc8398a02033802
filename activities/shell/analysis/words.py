"""Words: decoded from the source as bash would, before anything is expanded that is only known at run time."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, TypeAlias

from tree_sitter import Node

from activities.shell.analysis.program import Word
from activities.shell.analysis.tree import text_of

Letter: TypeAlias = tuple[str, bool] | None  # a character and whether it was quoted; None: something unknown
Found: TypeAlias = "Letter | Undecidable"
Lookup: TypeAlias = Callable[[str], str | None]

_BRACES: Final = (("{", False), ("}", False))  # what stands between them may be several words
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_./=:@%+,-]+", re.ASCII)
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_BREAKING: Final = frozenset(" \t\n\r;&|<>()`$\"'")
_MOST_WORDS: Final = 1000  # of one brace list
_MOST_LETTERS: Final = 200_000  # of all of them together
_MOST_BRACES: Final = 50
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_CODE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.S
)


class Undecidable(Exception):
    """A piece of a word that the analysis does not understand; the message says what it is.

    `words` are the whole word, with what is known before and behind the piece.
    """

    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Decoder:
    """Decodes words of one text. `lookup` knows the variables that we set ourselves; `home` is what `~` means, if
    that is known."""

    lookup: Lookup
    home: str | None

    def words(self, node: Node) -> list[Word]:
        """The words that a node stands for: one, or several by a brace list. Raises Undecidable."""
        source = text_of(node)
        if node.type in ("word", "number", "command_name") and _SIMPLE.fullmatch(source):
            return [Word(source, source)]
        found = self._found(node)
        letters = [letter for letter in found if not isinstance(letter, Undecidable)]
        try:
            for piece in found:
                if isinstance(piece, Undecidable):
                    raise piece
            return [_word(source, self._without_tilde(each, source)) for each in _braces(letters)]
        except Undecidable as reason:
            reason.words = tuple(_word(source, each) for each in self._partly(source, found))
            raise

    def _partly(self, source: str, found: Iterable[Found]) -> Iterator[list[Letter]]:
        """A word with pieces that are not understood, each as something unknown: braces and tildes, too."""
        letters = [None if isinstance(each, Undecidable) else each for each in found]
        try:
            words = _braces(letters)
        except Undecidable:
            words = [[None if letter in _BRACES else letter for letter in letters]]
        for word in words:
            try:
                yield self._without_tilde(word, source)
            except Undecidable:
                yield [None, *word[1:]]

    def _found(self, node: Node) -> list[Found]:
        """The letters of a piece of a word, or the reason why they are not known."""
        try:
            return list(self._letters(node))
        except Undecidable as reason:
            return [reason]

    def _letters(self, node: Node) -> Iterator[Found]:
        match node.type:
            case "word" | "number":
                yield from _unquoted(text_of(node))
            case "raw_string":
                yield from _quoted(text_of(node)[1:-1])
            case "ansi_c_string":
                yield from _quoted(ansi(text_of(node)[2:-1]))
            case "string":
                yield from self._string(node)
            case "concatenation" | "command_name":
                yield from self._concatenation(node)
            case "simple_expansion" | "expansion":
                yield from self._variable(node)
            case "process_substitution":
                yield from _quoted(text_of(node))  # the name of a pipe that the shell makes
            case "command_substitution":
                yield None
            case kind:
                raise Undecidable(f"it uses {text_of(node)!r}, which is not supported ({kind.replace('_', ' ')})")

    def _concatenation(self, node: Node) -> Iterator[Found]:
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                raise Undecidable("it has a word with a gap")
            end = child.end_byte
            if child.type == "$" and end == node.end_byte:
                yield ("$", True)
            else:
                yield from self._found(child)

    def _string(self, node: Node) -> Iterator[Found]:
        source, start = node.text or b"", node.start_byte
        at = 1
        for child in node.children[1:-1]:
            if child.type in ("string_content", "$"):
                continue
            yield from _double_quoted(source[at : child.start_byte - start].decode())
            yield from self._found(child)
            at = child.end_byte - start
        yield from _double_quoted(source[at:-1].decode())

    def _variable(self, node: Node) -> Iterator[Letter]:
        source = text_of(node)
        named = _VARIABLE.fullmatch(source)
        if node.type == "expansion" and named is None:
            raise Undecidable(f"it uses {source!r}, an expansion that can do more than give a value")
        value = self.lookup(named[1]) if named else None
        yield from [None] if value is None else _quoted(value)

    def _without_tilde(self, letters: list[Letter], source: str) -> list[Letter]:
        if not letters or letters[0] != ("~", False):
            return letters
        if self.home is not None and (len(letters) == 1 or letters[1] == ("/", False)):
            return [*_quoted(self.home), *letters[1:]]
        raise Undecidable(f"it uses {source!r}, a directory that only the shell knows")


def ansi(text: str) -> str:
    """The text of `$'…'`; octal and hexadecimal codes above 127 are bytes, which only count when they are ASCII."""
    return _CODE.sub(_decoded, text).split("\0")[0]


def _decoded(hit: re.Match[str]) -> str:
    two, four, eight, octal, control, other = hit.groups()
    if control is not None:
        return chr(ord(control.upper()) & 0x1F)
    if other is not None:
        return _ESCAPES.get(other, other if other in "\\'\"?" else f"\\{other}")
    number = int(octal, 8) & 0xFF if octal else int(two or four or eight, 16)
    if (octal or two) and number > 0x7F or number > 0x10FFFF:
        raise Undecidable(f"it uses {hit[0]!r}, which is not a character")
    return chr(number)


def _unquoted(source: str) -> Iterator[Letter]:
    rest = iter(source)
    for character in rest:
        if character == "\\":
            escaped = next(rest, "")
            yield from () if escaped == "\n" else [(escaped, True)]
        elif character in _BREAKING:
            raise Undecidable(f"it uses {source!r}, which is not a single word")
        else:
            yield (character, False)


def _double_quoted(source: str) -> Iterator[Letter]:
    rest = iter(source)
    for character in rest:
        if character == "\\":
            escaped = next(rest, "")
            plain = "" if escaped == "\n" else escaped
            yield from _quoted(plain if escaped in '$`"\\\n' else f"\\{escaped}")
        elif character == "`":
            raise Undecidable("it has a backtick in a quoted text")
        else:
            yield (character, True)


def _quoted(text: str) -> list[Letter]:
    return [(character, True) for character in text]


def _braces(letters: list[Letter]) -> list[list[Letter]]:
    """A word with `{a,b}` lists as the words that bash makes of it."""
    if letters.count(("{", False)) > _MOST_BRACES:
        raise Undecidable("it has a word with too many braces")
    found = _list_in(letters)
    if found is None:
        return [letters]
    start, parts, end = found
    middles = [word for each in parts for word in _braces(each)]
    tails = _braces(letters[end + 1 :])
    count = len(middles) * len(tails)
    if count > _MOST_WORDS or count * len(letters) > _MOST_LETTERS:
        raise Undecidable("it has a brace list that makes too many words")
    return [[*letters[:start], *middle, *tail] for middle in middles for tail in tails]


def _list_in(letters: Sequence[Letter]) -> tuple[int, list[list[Letter]], int] | None:
    """The first brace list: where it starts, its parts, where it ends."""
    for start in (at for at, letter in enumerate(letters) if letter == ("{", False)):
        depth, parts = 0, [list[Letter]()]
        for at in range(start + 1, len(letters)):
            letter = letters[at]
            if letter == ("}", False) and depth == 0:
                _refuse_range(parts)
                if len(parts) > 1:
                    return start, parts, at
                break
            depth += (letter == ("{", False)) - (letter == ("}", False))
            if letter == (",", False) and depth == 0:
                parts.append([])
            else:
                parts[-1].append(letter)
    return None


def _refuse_range(parts: list[list[Letter]]) -> None:
    if len(parts) == 1 and ".." in "".join(letter[0] if letter else " " for letter in parts[0]):
        raise Undecidable("it uses a brace range")


def _text(letters: Iterable[Letter]) -> str:
    return "".join(letter[0] for letter in letters if letter is not None)


def _word(source: str, letters: Sequence[Letter]) -> Word:
    if None in letters:
        before = takewhile(lambda letter: letter is not None, letters)
        behind = takewhile(lambda letter: letter is not None, reversed(letters))
        template = "".join(letter[0] if letter else "${_}" for letter in letters)
        return Word(source, None, start=_text(before), end=_text(behind)[::-1], template=template)
    known = [letter for letter in letters if letter is not None]
    text = "".join(character for character, _ in known)
    if not any(character in "*?[" and not quoted for character, quoted in known):
        return Word(source, text)
    pattern = "".join(f"[{character}]" if quoted and character in "*?[" else character for character, quoted in known)
    return Word(source, text, pattern=pattern)
