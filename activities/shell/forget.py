"""Forgetting calls: their private directories go when nobody can need them any more."""

import math
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from activities.shell.lease import CallDirectory

RETENTION: Final = 7 * 24 * 3600  # seconds, as long as complete outputs are kept (opencode.md 5.1)


def forget_old(folder: Path, now: float, unsettled: Collection[str]) -> list[str]:
    """Remove the directories of calls that have been silent for RETENTION (`now` in seconds since 1970); their names.

    One whose supervisor lives is kept, however old it is, and so are those of `unsettled` calls: a later attempt
    that found no lease would run the command again.
    """
    old = [path for path in folder.glob("*") if path.is_dir() and now - _touched(path) > RETENTION]
    silent = [path for path in old if path.name not in unsettled and not _kept(CallDirectory(path))]
    for path in silent:
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in silent]


def _touched(path: Path) -> float:
    """When something in it has changed last; what another worker is just removing is as good as new."""
    try:
        return max(entry.lstat().st_mtime for entry in (path, *path.iterdir()))
    except FileNotFoundError:
        return math.inf


def _kept(call: CallDirectory) -> bool:
    lease = call.lease()
    return lease is not None and lease.keeper is not None and lease.keeper.alive()
