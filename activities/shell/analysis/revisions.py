"""Revisions: the names of files inside the words that name commits, the index and path patterns to git."""

import re
from collections.abc import Iterator
from typing import Final

_MAGIC: Final = re.compile(r":(?:\([^)]*\)|/)")  # `:(top,icase)x`, `:/x`
MOST_COLONS: Final = 8  # of a revision: a date with its time zone has five


def file_names(word: str) -> Iterator[str]:
    """What may be a file's name in `REV:PATH`, `:PATH`, `:0:PATH` and `:(magic)PATH`.

    Revisions hold colons, too (`@{12:30}:PATH`, `:0:PATH`): a name may stand behind each of the first ones.
    """
    if magic := _MAGIC.match(word):
        yield word[magic.end() :]
    name = word
    for _ in range(min(word.count(":"), MOST_COLONS)):
        name = name.partition(":")[2]
        if name.strip() and not name.startswith((" ", "//")):  # the text of a message, an address
            yield name
