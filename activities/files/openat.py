"""Opens a real path without following links: by openat2 where the kernel has it, else directory by directory."""

import ctypes
import errno
import os
from pathlib import Path
from typing import Final

_SYS_OPENAT2: Final = 437  # the same number on every Linux architecture in use
_RESOLVE_FLAGS: Final = 0x08 | 0x04 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
_NOT_AVAILABLE: Final = (errno.ENOSYS, errno.EPERM, errno.EAGAIN)  # old kernel, system call filter, a rename meanwhile
_DIRECTORY_FLAGS: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_without_links(path: Path, flags: int) -> int:
    """A descriptor for the absolute `path`; OSError (ELOOP or ENOTDIR) when a link is on the way."""
    root = os.open("/", _DIRECTORY_FLAGS)
    try:
        return openat2(root, path, flags)
    except OSError as error:
        if error.errno not in _NOT_AVAILABLE:
            raise
        return open_step_by_step(root, path, flags)
    finally:
        os.close(root)


def openat2(root: int, path: Path, flags: int) -> int:
    """One system call that resolves the whole path and refuses links (Linux 5.6)."""
    if not hasattr(os, "O_PATH"):
        raise OSError(errno.ENOSYS, "openat2 is a system call of Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    how = _OpenHow(flags, 0, _RESOLVE_FLAGS)
    name = os.fsencode(path.relative_to("/"))
    descriptor = libc.syscall(_SYS_OPENAT2, root, name, ctypes.byref(how), ctypes.sizeof(how))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)


def open_step_by_step(root: int, path: Path, flags: int) -> int:
    """The same without openat2: each directory is opened from the one before it."""
    current = os.dup(root)
    try:
        for name in path.parts[1:-1]:
            current, previous = os.open(name, _DIRECTORY_FLAGS, dir_fd=current), current
            os.close(previous)
        return os.open(path.name or ".", flags | os.O_NOFOLLOW, dir_fd=current)
    finally:
        os.close(current)
