"""Breadth: what a rule's pattern names, and what it would only sweep along (security.md 2.4)."""

import re


def names(pattern: str, mark: str) -> bool:
    """Whether a pattern says a word itself: `find * -delete` says `-delete`, `find *` does not.

    The word ends at a blank, a `=` or a wildcard, so `git clean*` and `sort --output=*` say theirs, too.
    """
    return re.search(rf"(?:^|\s){re.escape(mark)}(?=[\s=*]|$)", pattern) is not None


def is_exact(pattern: str) -> bool:
    """Whether a pattern matches one text only."""
    return not re.search(r"[*?\\]", pattern)
