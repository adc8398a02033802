"""What lies in the private directory of a running command, and how a record gets there for good.

Shared by the supervisor and the worker; standard library only, as everything that the supervisor imports.
"""

import json
import os
from collections.abc import Mapping

LEASE = "lease"  # who runs the command; exists from before its first instruction on, for ever
SPOOL = "spool"  # what the command has written
BELL = "bell"  # a FIFO; without a writer, the end is recorded or cannot be recorded any more
RENEWED = "renewed"  # touched by the workers that follow the command
EXIT = "exit"  # how the command ended; written at once or not at all

_CHUNK = 65_536
_RESERVED = 4_096


def read(name: str, directory: int | None = None) -> bytes:
    """A whole small file."""
    file = os.open(name, os.O_RDONLY, dir_fd=directory)
    try:
        return b"".join(iter(lambda: os.read(file, _CHUNK), b""))
    finally:
        os.close(file)


def write_durably(directory: int, name: str, record: Mapping[str, object]) -> None:
    """Write a record and see it to the disk; padded, so that writing it again takes no new space."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    try:
        write_all(file, json.dumps(record).encode().ljust(_RESERVED))
        os.fsync(file)
    finally:
        os.close(file)


def create_durably(directory: int, name: str, record: Mapping[str, object]) -> bool:
    """Create a record, whole and on the disk in the moment in which it exists; False when `name` exists already."""
    draft = f"{name}.{os.urandom(6).hex()}"
    write_durably(directory, draft, record)
    try:
        os.link(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft, dir_fd=directory)
    os.fsync(directory)
    return True


def publish(directory: int, draft: str, name: str) -> None:
    """Give a written record its final name, at once and for good."""
    os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)


def write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
