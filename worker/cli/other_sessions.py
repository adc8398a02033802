"""Sessions that share a directory: they are named, not locked out."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from activities.project import worktree
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact
from worker.session_client import SessionClient
from workflows.domain.ids import SessionId
from workflows.domain.views.sessions import Overview

_SCAN_LIMIT = 200  # sessions, the last changed first
_NAMED = 2  # sessions with a line each; more are counted


async def report_other_sessions(client: SessionClient, session: SessionId) -> None:
    recent, this = await client.sessions.list_recent(limit=_SCAN_LIMIT), await client.sessions.get(session)
    others = [each for each in recent if each.id != session and _is_working(each) and _share_host_and_files(this, each)]
    if len(others) > _NAMED:
        print_note(
            f"{len(others)} other sessions are at work here, too; they share the same files. "
            "`holdfast sessions --here` lists them."
        )
        return
    for other in others:
        print_note(f"Session {other.id} is at work in {escape_exact(other.directory)}, too; they share the same files.")


def find_shared_directories(sessions: Iterable[Overview]) -> Iterator[list[Overview]]:
    """Groups of sessions at work in one directory."""
    left = [each for each in sessions if _is_working(each)]
    while left:
        first = left[0]
        group = [each for each in left if _share_host_and_files(first, each)]
        left = [each for each in left if each not in group]
        if len(group) > 1:
            yield group


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
    at_work = overview.working and overview.status != "ended" and overview.suspension is None
    return at_work and not overview.asks and overview.parent is None
