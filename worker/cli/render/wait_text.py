"""Waits on purpose, in words."""

from datetime import datetime
from typing import Final

from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_upcoming
from workflows.domain.waits import FileEvent, WaitKind, WaitSubject

_NAME: Final = 60  # characters of a file's name
_FILE: Final = {FileEvent.ANY: "a change of", FileEvent.CREATED: "the file", FileEvent.DELETED: "the end of"}


def describe_wait(subject: WaitSubject, until: datetime | None, now: datetime) -> str:
    """A predicate: "waits until 14:30"."""
    moment = f"until {format_upcoming(until, now)}" if until is not None else ""
    name = one_line(subject.name, _NAME)
    match subject.kind:
        case WaitKind.TIME:
            return f"waits {moment}"
        case WaitKind.FILE:
            what = f"waits for {_FILE[subject.event]} {name}"
        case WaitKind.POKE:
            what = f"waits for a poke: {name}"
    return f"{what}, {moment} at most" if moment else what


def how_to_poke(subject: WaitSubject) -> str:
    return f"holdfast poke {escape_exact(subject.name)}"
