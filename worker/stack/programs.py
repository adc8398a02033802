"""Programs of the system: a plain PATH may not reach where they live."""

import shutil
from collections.abc import Mapping
from typing import Final

_DIRECTORIES: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def find(name: str, environment: Mapping[str, str]) -> str | None:
    """A program on the PATH, or where the system keeps its own: `useradd` is in /usr/sbin, which `su` leaves out."""
    return shutil.which(name, path=environment.get("PATH")) or shutil.which(name, path=_DIRECTORIES)
