"""Words as bash would read them."""

import pytest
from tree_sitter import Node

from activities.shell.analysis.program import Word
from activities.shell.analysis.syntax_tree import parse
from activities.shell.analysis.words import WordDecoder

DECODER = WordDecoder({"HOME": "/home/u"}.get, "/home/u")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("plain", ["plain"]),
        (r"r\m", ["rm"]),
        ("r''m", ["rm"]),
        ("a\"b c\"'d'", ["ab cd"]),
        (r"$'\162\155\x41\n'", ["rmA\n"]),
        (r'"a\$b\c"', [r"a$b\c"]),
        ("~", ["/home/u"]),
        ("~/x", ["/home/u/x"]),
        ("'~/x'", ["~/x"]),
        ('"$HOME"/x', ["/home/u/x"]),
        ("${HOME}", ["/home/u"]),
        ("x{a,b}y", ["xay", "xby"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{}", ["{}"]),
        ("'{a,b}'", ["{a,b}"]),
        ("10", ["10"]),
    ],
)
def test_a_word_is_decoded(source: str, words: list[str]) -> None:
    assert [word.text for word in decode(source)] == words


@pytest.mark.parametrize(
    ("source", "start"), [("$x", ""), ('a"$x"b', "a"), ("/etc/$x", "/etc/"), ("$(ls)", ""), ("`ls`", "")]
)
def test_what_is_only_known_later_keeps_its_beginning(source: str, start: str) -> None:
    (word,) = decode(source)
    assert (word.text, word.start) == (None, start)


@pytest.mark.parametrize(
    ("source", "end"), [("$x", ""), ('a"$x"b', "b"), ("/etc/$x/.env", "/.env"), ("$x$y.key", ".key")]
)
def test_what_is_only_known_later_keeps_its_end(source: str, end: str) -> None:
    (word,) = decode(source)
    assert word.end == end


@pytest.mark.parametrize("source", ["${x:=y}", "${!x}", "$((1+2))", "{1..9}", "~bob", "~+", '$"x"', r"$'\xff'"])
def test_unsupported_syntax_is_named(source: str) -> None:
    _, unclear = DECODER.words(_argument(source))
    assert unclear


@pytest.mark.parametrize(
    ("source", "pattern"), [("*.py", "*.py"), (r"\*.py", None), ("'*'.?", "[*].?"), ("[ab]", "[ab]"), ('"[ab]"', None)]
)
def test_only_unquoted_wildcards_are_a_pattern(source: str, pattern: str | None) -> None:
    (word,) = decode(source)
    assert word.pattern == pattern


def decode(source: str) -> list[Word]:
    words, unclear = DECODER.words(_argument(source))
    assert unclear is None
    return words


def _argument(source: str) -> Node:
    return parse(f"echo {source}".encode()).children[0].children[1]
