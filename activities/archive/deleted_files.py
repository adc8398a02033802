"""Removes files of deleted sessions: at once by a deletion, or later by the host that has them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from activities.archive.archiver import remove_call_files
from activities.store import deletions
from activities.store.database import Database
from workflows.domain.ids import PartId, SessionId

_PAGE: Final = 1000


async def remove_deleted_calls(database: Database, data: Path, host: str | None) -> list[str]:
    """Those in `data`, the data directory of `host`. Returns why some stay: the next time tries again."""
    failures, last = list[str](), ""
    while page := await deletions.removals(database, host, last, _PAGE):
        done, failed = await asyncio.to_thread(_remove, data, page)
        await deletions.removed(database, done)
        failures += failed
        last = page[-1]
    return failures


async def remove_deleted_archives(database: Database, data: Path) -> list[Path]:
    """Returns the removed files."""
    found = await asyncio.to_thread(lambda: list((data / "archive").glob("*.jsonl.*")))  # with unfinished ones
    names = {SessionId(file.name.partition(".")[0]) for file in found}
    deleted = set(await deletions.deleted(database, list(names))) if names else set()
    gone = [file for file in found if file.name.partition(".")[0] in deleted]
    for file in gone:
        file.unlink(missing_ok=True)
    return gone


def _remove(data: Path, calls: Sequence[PartId]) -> tuple[list[PartId], list[str]]:
    done, failures = list[PartId](), list[str]()
    for call in calls:
        failed = remove_call_files(data, [call])
        failures += failed
        done += [] if failed else [call]
    return done, failures
