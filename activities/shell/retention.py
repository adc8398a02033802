"""Removes old calls' private directories."""

import math
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from activities.shell.lease import CallDirectory

RETENTION: Final = 7 * 24 * 3600  # seconds, as for complete outputs (opencode.md 5.1)


def remove_expired(folder: Path, now: float, unsettled: Collection[str]) -> list[str]:
    """Remove directories unchanged for RETENTION (`now`: seconds since 1970); returns their names.

    Keeps those with a living supervisor, and of `unsettled` calls, which without a lease would run again.
    """
    old = [path for path in folder.glob("*") if path.is_dir() and now - _last_change(path) > RETENTION]
    expired = [path for path in old if path.name not in unsettled and not _is_supervised(CallDirectory(path))]
    for path in expired:
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in expired]


def _last_change(path: Path) -> float:
    """Infinite if another worker is removing it."""
    try:
        return max(entry.lstat().st_mtime for entry in (path, *path.iterdir()))
    except FileNotFoundError:
        return math.inf


def _is_supervised(call: CallDirectory) -> bool:
    lease = call.lease()
    return lease is not None and lease.supervisor is not None and lease.supervisor.alive()
