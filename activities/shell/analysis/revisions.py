"""File names in git's revisions, index names and path patterns."""

import re
from collections.abc import Iterator
from typing import Final

_MAGIC: Final = re.compile(r":(?:\([^)]*\)|/)")  # `:(top,icase)x`, `:/x`
MAX_COLONS: Final = 8  # of a revision; a date with time zone has five


def file_names(word: str) -> Iterator[str]:
    """Possible file names in `REV:PATH`, `:PATH`, `:0:PATH` and `:(magic)PATH`."""
    # Revisions contain colons, too (`@{12:30}:PATH`): a name may follow each of the first ones.
    if magic := _MAGIC.match(word):
        yield word[magic.end() :]
    name = word
    for _ in range(min(word.count(":"), MAX_COLONS)):
        name = name.partition(":")[2]
        if name.strip() and not name.startswith((" ", "//")):  # a message's text, a URL
            yield name
