"""Names and durable writes of the files in a call's private directory. Standard library only."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress

LEASE = "lease"  # who runs the command; created before its first instruction, never replaced
SPOOL = "spool"  # the command's output
EXIT_FIFO = "exit_fifo"  # the supervisor is its only writer until the end is recorded
RENEWED = "renewed"  # touched by workers that follow the command
EXIT = "exit"  # how the command ended; written atomically

_CHUNK = 65_536
_RESERVED = 4_096


def read_file(name: str, directory: int | None = None) -> bytes:
    file = os.open(name, os.O_RDONLY, dir_fd=directory)
    try:
        return b"".join(iter(lambda: os.read(file, _CHUNK), b""))
    finally:
        os.close(file)


def write_durably(directory: int, name: str, record: Mapping[str, object]) -> None:
    """Write and sync a record; padded, so that a rewrite needs no disk space."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    try:
        write_all(file, json.dumps(record).encode().ljust(_RESERVED))
        os.fsync(file)
    finally:
        os.close(file)


def create_durably(directory: int, name: str, record: Mapping[str, object]) -> bool:
    """Create a record atomically and durably; False if `name` exists."""
    draft = f"{name}.{os.urandom(6).hex()}"
    write_durably(directory, draft, record)
    try:
        os.link(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):  # the record is there, or its error says more
            os.unlink(draft, dir_fd=directory)
    os.fsync(directory)
    return True


def publish(directory: int, draft: str, name: str) -> None:
    """Replace a record atomically and durably."""
    os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)


def write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
