"""A bash text's syntax tree, searches in it without recursion, and what stands between its nodes."""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from activities.shell.analysis.program import ShellProgram
from workflows.domain.errors import UndecodableWord

_BASH: Final = Language(tree_sitter_bash.language())
_TESTS: Final = frozenset({"test_command", "unary_expression", "binary_expression", "parenthesized_expression"})
# Kinds of nodes, as the grammar names them.
NO_TARGETS: Final = frozenset({"file_descriptor", "ERROR"})
_SYMBOLS: Final = "; ;; & && || | |& ! ( ) { } [ ] $( <( >( `"
_RESERVED: Final = "do done if then elif else fi for in while until case esac"
SEPARATORS: Final = frozenset((*_SYMBOLS.split(), *_RESERVED.split()))
OPERATORS: Final = frozenset({"=", "==", "=~", "!=", "!", "test_operator"})
ASSIGNMENTS: Final = frozenset({"variable_assignment", "variable_assignments"})
SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
LOOPS: Final = frozenset({"for_statement", "while_statement"})
ORDERLY: Final = frozenset(
    {"program", "compound_statement", "do_group", "if_statement", "elif_clause", "else_clause", "case_statement"}
    | {"case_item", "negated_command"}
    | LOOPS
)
APART: Final = frozenset({"pipeline", "subshell"} | SUBSTITUTIONS)
VALUES: Final = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion"}
)
SILENT: Final = VALUES | {"comment", "variable_name", "extglob_pattern"}
_DELIMITER: Final = re.compile(r"""(['"]?)([A-Za-z0-9_.-]+)\1""", re.ASCII)
BETWEEN_WORDS: Final = re.compile(rb"(?:\\\n)*[ \t](?:[ \t]|\\\n)*")
_BETWEEN: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_DESCRIPTOR: Final = re.compile(rb"\{(?:[^\s<>{}]|\\\n)+\}(?:\\\n)*[<>]")  # `{PATH}> f` sets PATH
_OPERATOR: Final = b"<>&|"  # bytes of redirection operators
_ELSEWHERE: Final = re.compile(rb"CDPATH|cdable_vars")  # these may lead `cd` elsewhere


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


def heredoc_text(node: Node) -> str:
    """Raises UndecodableWord where bash may read a `heredoc_redirect` unlike the syntax tree."""
    named = {child.type: child for child in node.children}
    start, body, end = (named.get(kind) for kind in ("heredoc_start", "heredoc_body", "heredoc_end"))
    delimiter = _DELIMITER.fullmatch(node_text(start)) if start else None
    if start is None or end is None or delimiter is None:
        raise UndecodableWord("it has a here-document without a plain end")
    text = node_text(body) if body else ""
    if not delimiter[1] and re.search(r"[$`\\]", text):
        raise UndecodableWord("it has a here-document with expansions")
    tabs = "<<-" in named
    lines = [line.lstrip("\t") if tabs else line for line in text.split("\n")]
    if delimiter[2] in lines or node_text(end) != delimiter[2] or not _is_on_own_line(end, tabs):
        raise UndecodableWord("it has a here-document that does not end where it seems to")
    return text


def _is_on_own_line(end: Node, tabs: bool) -> bool:
    root = end
    while root.parent is not None:
        root = root.parent
    source = root.text or b""
    at, to = end.start_byte - root.start_byte, end.end_byte - root.start_byte
    before = source[:at].rpartition(b"\n")[2]
    return (before.strip(b"\t") if tabs else before) == b"" and source[to : to + 1] in (b"", b"\n")


class SourceText:
    """Compares the source with its tree: a difference is a reason to ask about the `program`."""

    def __init__(self, text: str, program: ShellProgram) -> None:
        self.content = text.encode()
        self.program = program

    @property
    def may_lead_cd_elsewhere(self) -> bool:
        return _ELSEWHERE.search(self.content) is not None

    def check_ends(self, root: Node) -> None:
        """Require blanks before and after the tree's children."""
        if root.children:
            self.check_blank(0, root.children[0].start_byte)
            self.check_blank(root.children[-1].end_byte, len(self.content))

    def check_gaps(self, node: Node, allowed: re.Pattern[bytes] = _BETWEEN) -> None:
        """Require blanks between children; else tree and shell may see different words."""
        for one, two in pairwise(node.children):
            self.check_blank(one.end_byte, two.start_byte, allowed)

    def check_blank(self, start: int, end: int, allowed: re.Pattern[bytes] = _BETWEEN) -> None:
        if allowed.fullmatch(self.content[start:end]) is None:
            self.program.add_opaque("it has unexpected characters between its words")

    def redirect_operator(self, target: Node) -> str:
        """The tree has no `<>`."""
        before = self.content[: target.start_byte].replace(b"\\\n", b"").rstrip(b" \t")
        return before[len(before.rstrip(_OPERATOR)) :].decode()

    def keeps_descriptor(self, node: Node) -> bool:
        """Whether the node begins with a variable for the number of a file."""
        return _DESCRIPTOR.match(self.content, node.start_byte) is not None
