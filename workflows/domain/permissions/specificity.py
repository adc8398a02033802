"""Specificity: the words that a pattern names itself (security.md 2.4)."""

import re


def contains_word(pattern: str, mark: str) -> bool:
    """Whether a pattern names a word itself: `find * -delete` names `-delete`, `find *` does not.

    The word ends at a blank, `=` or wildcard: `git clean*` and `sort --output=*` name theirs.
    """
    return re.search(rf"(?:^|\s){re.escape(mark)}(?=[\s=*]|$)", pattern) is not None


def is_exact(pattern: str) -> bool:
    """Whether a pattern matches only one text."""
    return not re.search(r"[*?\\]", pattern)
