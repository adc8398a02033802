"""Here-documents: the text that is fed, when it is certain where it ends and that nothing in it is expanded."""

import re
from typing import Final

from tree_sitter import Node

from activities.shell.analysis.tree import text_of
from activities.shell.analysis.words import Undecidable

_DELIMITER: Final = re.compile(r"""(['"]?)([A-Za-z0-9_.-]+)\1""", re.ASCII)


def document(node: Node) -> str:
    """The text of a `heredoc_redirect`. Raises Undecidable where bash may see another one than the tree."""
    named = {child.type: child for child in node.children}
    start, body, end = (named.get(kind) for kind in ("heredoc_start", "heredoc_body", "heredoc_end"))
    delimiter = _DELIMITER.fullmatch(text_of(start)) if start else None
    if start is None or end is None or delimiter is None:
        raise Undecidable("it has a here-document without a plain end")
    text = text_of(body) if body else ""
    if not delimiter[1] and re.search(r"[$`\\]", text):
        raise Undecidable("it has a here-document with expansions")
    tabs = "<<-" in named
    lines = [line.lstrip("\t") if tabs else line for line in text.split("\n")]
    if delimiter[2] in lines or text_of(end) != delimiter[2] or not _alone(end, tabs):
        raise Undecidable("it has a here-document that does not end where it seems to")
    return text


def _alone(end: Node, tabs: bool) -> bool:
    """Whether the end stands on a line of its own."""
    root = end
    while root.parent is not None:
        root = root.parent
    source = root.text or b""
    at, to = end.start_byte - root.start_byte, end.end_byte - root.start_byte
    before = source[:at].rpartition(b"\n")[2]
    return (before.strip(b"\t") if tabs else before) == b"" and source[to : to + 1] in (b"", b"\n")
