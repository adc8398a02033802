"""One entry of a table of models. To parse the whole file takes 60 ms, and 20 MB that the process keeps."""

import json
from collections.abc import Iterable
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

_DECODER: Final = json.JSONDecoder()


def read_entry(file: Path, names: Iterable[str], indent: str = "") -> dict[str, Any]:
    """The entry of the first name that is there, or {}.

    In the file, each entry begins with its name on a line, after `indent`, and no other line begins so.
    """
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as text:
        for name in names:
            key = f"\n{indent}{json.dumps(name)}: ".encode()
            if (at := text.find(key)) >= 0:
                end = text.find(f'\n{indent}"'.encode(), at + 1)
                entry: dict[str, Any]
                entry, _ = _DECODER.raw_decode(text[at + len(key) : end if end >= 0 else len(text)].decode())
                return entry
    return {}
