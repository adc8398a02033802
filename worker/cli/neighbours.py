"""Sessions that work in one directory: nobody is locked out, but everybody is told."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from activities.project import worktree
from worker.cli import door
from worker.cli.look.text import exact
from worker.client import Overview, SessionClient
from workflows.domain.ids import SessionId

_LOOKED_AT = 200  # of the sessions that changed last
_NAMED = 2  # others, each in a line of its own; more of them would hide what else is said


async def tell(client: SessionClient, session: SessionId) -> None:
    """Say who else is at work where this session is."""
    others = list(beside(await client.sessions(limit=_LOOKED_AT), await client.session(session)))
    if len(others) > _NAMED:
        door.say(
            f"{len(others)} other sessions are at work here, too; they share the same files. "
            "`holdfast sessions --here` lists them."
        )
        return
    for other in others:
        door.say(f"Session {other.id} is at work in {exact(other.directory)}, too; they share the same files.")


def beside(known: Iterable[Overview], this: Overview) -> Iterator[Overview]:
    """Those of the known sessions that are at work in the directory of this one; subagents belong to theirs."""
    for other in known:
        if other.id != this.id and other.parent is None and _at_work(other) and _neighbours(this, other):
            yield other


def crowded(known: Iterable[Overview]) -> Iterator[list[Overview]]:
    """The sessions that are at work in one directory, where there are several."""
    left = [each for each in known if each.parent is None and _at_work(each)]
    while left:
        first, *others = left
        same = [other for other in others if _neighbours(first, other)]
        left = [other for other in others if other not in same]
        if same:
            yield [first, *same]


def _neighbours(one: Overview, other: Overview) -> bool:
    return one.host == other.host and together(one.directory, other.directory)


def together(one: str, other: str) -> bool:
    """Whether two directories are the same, or belong to one work tree."""
    here, there = Path(one), Path(other)
    if here == there:
        return True
    root = worktree.root(here)
    return root is not None and root == worktree.root(there)


def _at_work(seen: Overview) -> bool:
    """Whether a session changes files now, or may at any moment: one that waits for an answer or is parked does not."""
    return seen.working and seen.status != "ended" and not seen.asks and seen.parked is None
