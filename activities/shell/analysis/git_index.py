"""What a git repository tracks, from its index (gitformat-index)."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workflows.domain.errors import UnreadableIndex

_MAX_BYTES: Final = 64 * 1024 * 1024
_MODE: Final = 24  # bytes of an entry's `stat` data before its mode,
_STATUS: Final = 40  # and before its object id
_REPOSITORY: Final = b"\0\0\xe0\0"  # the mode of a repository inside the work tree
_EXTENDED: Final = 0x4000
_ELSEWHERE: Final = (b"link", b"sdir")  # extensions that move names to another index or a tree


def read_tracked_names(index: Path, id_bytes: int) -> list[str]:
    """Tracked names, relative to the work tree; none without an index. Raises UnreadableIndex.

    `id_bytes`: length of object ids, by the repository's configuration: an index can be made that either length fits.
    """
    content = _read(index)
    return [name for _, name in _parse(content, id_bytes)] if content else []


def read_inner_repositories(index: Path, id_bytes: int) -> list[str]:
    """Repositories inside the work tree, such as submodules. Raises UnreadableIndex."""
    content = _read(index)
    # Few indexes have any, and parsing a large one takes long.
    return [name for mode, name in _parse(content, id_bytes) if mode == _REPOSITORY] if _REPOSITORY in content else []


def _read(index: Path) -> bytes:
    try:
        if not index.is_file():
            return b""
        with index.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableIndex from error
    if not 0 < len(content) <= _MAX_BYTES:
        raise UnreadableIndex
    return content


def _parse(content: bytes, id_bytes: int) -> list[tuple[bytes, str]]:
    """The modes and names of an index. Raises UnreadableIndex."""
    try:
        return list(_entries(content, id_bytes))
    except (ValueError, IndexError, struct.error) as error:
        raise UnreadableIndex from error


def _entries(content: bytes, size: int) -> Iterator[tuple[bytes, str]]:
    """Object ids have `size` bytes; if not, raises one of several errors."""
    signature, version, count = struct.unpack_from(">4sII", content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(signature)
    at, name = 12, b""
    for _ in range(count):
        start = at
        (flags,) = struct.unpack_from(">H", content, at + _STATUS + size)
        at += _STATUS + size + (4 if flags & _EXTENDED else 2)
        kept = b""
        if version == 4:
            dropped, at = _number(content, at)
            kept = name[: len(name) - dropped]
        end = content.index(b"\0", at)
        name = kept + content[at:end]
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        yield content[start + _MODE : start + _MODE + 4], name.decode(errors="surrogateescape")
    _check_rest(content, at, len(content) - size)


def _number(content: bytes, at: int) -> tuple[int, int]:
    value = content[at] & 0x7F
    while content[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) + (content[at] & 0x7F)
    return value, at + 1


def _check_rest(content: bytes, at: int, end: int) -> None:
    """The extensions must end exactly at the checksum and change no names. Raises ValueError."""
    while at < end:
        name, size = struct.unpack_from(">4sI", content, at)
        if name in _ELSEWHERE:
            raise ValueError(name)
        at += 8 + size
    if at != end:
        raise ValueError(at)
