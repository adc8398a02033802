"""Sessions that share a directory: they are named, not locked out."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from activities.project import worktree
from worker.api.sessions import Overview
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact
from worker.client import SessionClient
from workflows.domain.ids import SessionId

_SCAN_LIMIT = 200  # sessions, the last changed first
_NAMED = 2  # sessions with a line each; more are counted


async def report_other_sessions(client: SessionClient, session: SessionId) -> None:
    """Name the sessions at work in the same directory."""
    others = list(find_others(await client.sessions.list_recent(limit=_SCAN_LIMIT), await client.sessions.get(session)))
    if len(others) > _NAMED:
        print_note(
            f"{len(others)} other sessions are at work here, too; they share the same files. "
            "`holdfast sessions --here` lists them."
        )
        return
    for other in others:
        print_note(f"Session {other.id} is at work in {escape_exact(other.directory)}, too; they share the same files.")


def find_others(sessions: Iterable[Overview], this: Overview) -> Iterator[Overview]:
    for other in sessions:
        if other.id != this.id and other.parent is None and _is_working(other) and _share_host_and_files(this, other):
            yield other


def find_shared_directories(sessions: Iterable[Overview]) -> Iterator[list[Overview]]:
    """Groups of sessions at work in one directory."""
    left = [each for each in sessions if each.parent is None and _is_working(each)]
    while left:
        first, *others = left
        same = [other for other in others if _share_host_and_files(first, other)]
        left = [other for other in others if other not in same]
        if same:
            yield [first, *same]


def _share_host_and_files(one: Overview, other: Overview) -> bool:
    return one.host == other.host and share_files(one.directory, other.directory)


def share_files(one: str, other: str) -> bool:
    """Whether two directories are the same or in one work tree."""
    here, there = Path(one), Path(other)
    if here == there:
        return True
    root = worktree.find_root(here)
    return root is not None and root == worktree.find_root(there)


def _is_working(overview: Overview) -> bool:
    """Whether a session may change files now: not while it waits for an answer or is suspended."""
    return overview.working and overview.status != "ended" and not overview.asks and overview.suspension is None
