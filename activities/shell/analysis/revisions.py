"""Revisions: the names of files inside the words that name commits, the index and path patterns to git."""

import re
from collections.abc import Iterator
from typing import Final

_MAGIC: Final = re.compile(r":(?:\([^)]*\)|/)")  # `:(top,icase)x`, `:/x`


def file_names(word: str) -> Iterator[str]:
    """What may be a file's name in `REV:PATH`, `:PATH`, `:0:PATH` and `:(magic)PATH`.

    Each colon may be the one, for revisions hold some, too (`@{12:30}:PATH`).
    """
    if magic := _MAGIC.match(word):
        yield word[magic.end() :]
    parts = word.split(":")
    for behind in range(1, len(parts)):
        name = ":".join(parts[behind:])
        if name.strip() and not name.startswith((" ", "//")):  # the text of a message, an address
            yield name
