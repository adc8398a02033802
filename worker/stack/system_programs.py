"""System programs, which may be outside of PATH."""

import shutil
from collections.abc import Mapping
from typing import Final

_DIRECTORIES: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def find(name: str, environment: Mapping[str, str]) -> str | None:
    """A program on PATH or in the system's directories: `su` omits /usr/sbin, which has `useradd`."""
    return shutil.which(name, path=environment.get("PATH")) or shutil.which(name, path=_DIRECTORIES)
