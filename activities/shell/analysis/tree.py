"""The syntax tree of a text, and ways through it that do not depend on how deep it is."""

from collections.abc import Collection, Iterator
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_BASH: Final = Language(tree_sitter_bash.language())
_TESTS: Final = frozenset({"test_command", "unary_expression", "binary_expression", "parenthesized_expression"})


def parse(source: bytes) -> Node:
    """The root node of a bash text."""
    return Parser(_BASH).parse(source).root_node


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def find(node: Node, kinds: Collection[str]) -> Iterator[Node]:
    """The topmost nodes of some kinds at or below a node, in order."""
    todo = [node]
    while todo:
        each = todo.pop()
        if each.type in kinds:
            yield each
        else:
            todo += reversed(each.children)


def leaves(node: Node) -> Iterator[Node]:
    """The words, operators and brackets of a test."""
    todo = [node]
    while todo:
        each = todo.pop()
        if each.type in _TESTS:
            todo += reversed(each.children)
        else:
            yield each
