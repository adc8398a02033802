"""A shell text as it is written: what stands between the nodes of its tree, which the tree does not tell."""

import re
from itertools import pairwise
from typing import Final

from tree_sitter import Node

from activities.shell.analysis.program import ShellProgram

BETWEEN_WORDS: Final = re.compile(rb"(?:\\\n)*[ \t](?:[ \t]|\\\n)*")
_BETWEEN: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_DESCRIPTOR: Final = re.compile(rb"\{(?:[^\s<>{}]|\\\n)+\}(?:\\\n)*[<>]")  # `{PATH}> f` sets PATH
_OPERATOR: Final = b"<>&|"  # bytes of redirection operators
_ELSEWHERE: Final = re.compile(rb"CDPATH|cdable_vars")  # these may lead `cd` elsewhere


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
