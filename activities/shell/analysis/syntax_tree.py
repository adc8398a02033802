"""A bash text's syntax tree, and searches in it without recursion."""

from collections.abc import Collection, Iterator
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_BASH: Final = Language(tree_sitter_bash.language())
_TESTS: Final = frozenset({"test_command", "unary_expression", "binary_expression", "parenthesized_expression"})


def parse(source: bytes) -> Node:
    return Parser(_BASH).parse(source).root_node


def node_text(node: Node) -> str:
    return (node.text or b"").decode()


def find_nodes(node: Node, kinds: Collection[str]) -> Iterator[Node]:
    """The topmost nodes of these kinds at or below a node, in order."""
    todo = [node]
    while todo:
        each = todo.pop()
        if each.type in kinds:
            yield each
        else:
            todo += reversed(each.children)


def leaves(node: Node) -> Iterator[Node]:
    """The words, operators and brackets of a test expression."""
    todo = [node]
    while todo:
        each = todo.pop()
        if each.type in _TESTS:
            todo += reversed(each.children)
        else:
            yield each
