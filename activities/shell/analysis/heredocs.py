"""The text of a here-document with a certain end and no expansions."""

import re
from typing import Final

from tree_sitter import Node

from activities.shell.analysis.syntax_tree import node_text
from workflows.domain.errors import UndecodableWord

_DELIMITER: Final = re.compile(r"""(['"]?)([A-Za-z0-9_.-]+)\1""", re.ASCII)


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
