"""Decodes words from source as bash does, before expansions only known at run time."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, TypeAlias

from tree_sitter import Node

from activities.shell.analysis.program import Word
from activities.shell.analysis.syntax_tree import node_text
from workflows.domain.errors import UndecodableWord

Letter: TypeAlias = tuple[str, bool] | None  # a character, and whether it was quoted; None: unknown text
DecodedLetter: TypeAlias = "Letter | UndecodableWord"
Lookup: TypeAlias = Callable[[str], str | None]

_BRACES: Final = (("{", False), ("}", False))
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_./=:@%+,-]+", re.ASCII)
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_BREAKING: Final = frozenset(" \t\n\r;&|<>()`$\"'")
_MAX_WORDS: Final = 1000  # of one brace list
_MAX_LETTERS: Final = 200_000  # of all these words
_MAX_BRACES: Final = 50
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


@dataclass(frozen=True)
class WordDecoder:
    """`lookup` knows the variables that we set; `home` is the value of `~`, if known."""

    lookup: Lookup
    home: str | None

    def words(self, node: Node) -> tuple[list[Word], str | None]:
        """The decoded words: several for a brace list; and the piece that is not understood, if any. The words then
        have the known parts around it."""
        source = node_text(node)
        if node.type in ("word", "number", "command_name") and _SIMPLE.fullmatch(source):
            return [Word(source, source)], None
        found = self._found(node)
        letters = [letter for letter in found if not isinstance(letter, UndecodableWord)]
        try:
            for piece in found:
                if isinstance(piece, UndecodableWord):
                    raise piece
            return [_word(source, self._expand_tilde(each, source)) for each in _expand_braces(letters)], None
        except UndecodableWord as reason:
            return [_word(source, each) for each in self._decode_partly(source, found)], str(reason)

    def _decode_partly(self, source: str, found: Iterable[DecodedLetter]) -> Iterator[list[Letter]]:
        """Pieces that are not understood, braces and tildes included, count as unknown."""
        letters = [None if isinstance(each, UndecodableWord) else each for each in found]
        try:
            words = _expand_braces(letters)
        except UndecodableWord:
            words = [[None if letter in _BRACES else letter for letter in letters]]
        for word in words:
            try:
                yield self._expand_tilde(word, source)
            except UndecodableWord:
                yield [None, *word[1:]]

    def _found(self, node: Node) -> list[DecodedLetter]:
        try:
            return list(self._letters(node))
        except UndecodableWord as reason:
            return [reason]

    def _letters(self, node: Node) -> Iterator[DecodedLetter]:
        match node.type:
            case "word" | "number":
                yield from _unquoted(node_text(node))
            case "raw_string":
                yield from _quoted(node_text(node)[1:-1])
            case "ansi_c_string":
                yield from _quoted(decode_ansi_c(node_text(node)[2:-1]))
            case "string":
                yield from self._string(node)
            case "concatenation" | "command_name":
                yield from self._concatenation(node)
            case "simple_expansion" | "expansion":
                yield from self._variable(node)
            case "process_substitution":
                yield from _quoted(node_text(node))  # the name of a pipe that the shell makes
            case "command_substitution":
                yield None
            case kind:
                raise UndecodableWord(f"it uses {node_text(node)!r}, which is not supported ({kind.replace('_', ' ')})")

    def _concatenation(self, node: Node) -> Iterator[DecodedLetter]:
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                raise UndecodableWord("it has a word with a gap")
            end = child.end_byte
            if child.type == "$" and end == node.end_byte:
                yield ("$", True)
            else:
                yield from self._found(child)

    def _string(self, node: Node) -> Iterator[DecodedLetter]:
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
        source = node_text(node)
        named = _VARIABLE.fullmatch(source)
        if node.type == "expansion" and named is None:
            raise UndecodableWord(f"it uses {source!r}, an expansion that can do more than give a value")
        value = self.lookup(named[1]) if named else None
        yield from [None] if value is None else _quoted(value)

    def _expand_tilde(self, letters: list[Letter], source: str) -> list[Letter]:
        if not letters or letters[0] != ("~", False):
            return letters
        if self.home is not None and (len(letters) == 1 or letters[1] == ("/", False)):
            return [*_quoted(self.home), *letters[1:]]
        raise UndecodableWord(f"it uses {source!r}, a directory that only the shell knows")


def decode_ansi_c(text: str) -> str:
    """`$'…'`; octal and hexadecimal codes are bytes, supported up to 127."""
    return _CODE.sub(_decoded, text).split("\0")[0]


def _decoded(hit: re.Match[str]) -> str:
    two, four, eight, octal, control, other = hit.groups()
    if control is not None:
        return chr(ord(control.upper()) & 0x1F)
    if other is not None:
        return _ESCAPES.get(other, other if other in "\\'\"?" else f"\\{other}")
    number = int(octal, 8) & 0xFF if octal else int(two or four or eight, 16)
    if (octal or two) and number > 0x7F or number > 0x10FFFF:
        raise UndecodableWord(f"it uses {hit[0]!r}, which is not a character")
    return chr(number)


def _unquoted(source: str) -> Iterator[Letter]:
    rest = iter(source)
    for character in rest:
        if character == "\\":
            escaped = next(rest, "")
            yield from () if escaped == "\n" else [(escaped, True)]
        elif character in _BREAKING:
            raise UndecodableWord(f"it uses {source!r}, which is not a single word")
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
            raise UndecodableWord("it has a backtick in a quoted text")
        else:
            yield (character, True)


def _quoted(text: str) -> list[Letter]:
    return [(character, True) for character in text]


def _expand_braces(letters: list[Letter]) -> list[list[Letter]]:
    if letters.count(("{", False)) > _MAX_BRACES:
        raise UndecodableWord("it has a word with too many braces")
    found = _first_brace_list(letters)
    if found is None:
        return [letters]
    start, parts, end = found
    middles = [word for each in parts for word in _expand_braces(each)]
    tails = _expand_braces(letters[end + 1 :])
    count = len(middles) * len(tails)
    if count > _MAX_WORDS or count * len(letters) > _MAX_LETTERS:
        raise UndecodableWord("it has a brace list that makes too many words")
    return [[*letters[:start], *middle, *tail] for middle in middles for tail in tails]


def _first_brace_list(letters: Sequence[Letter]) -> tuple[int, list[list[Letter]], int] | None:
    """The start, parts and end of the first brace list."""
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
        raise UndecodableWord("it uses a brace range")


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
