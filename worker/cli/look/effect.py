"""An ask as a person sees it: exactly what will happen, rendered by us from the effect record (security.md 4)."""

from collections.abc import Iterator
from typing import Final

import click
from pydantic import JsonValue

from worker.cli.look.arguments import brief, spoken
from worker.cli.look.numbered import colour, numbered
from worker.cli.look.text import COMMAND, DIFF, Shown, collapsed, counted, exact, foreign_letters, line
from worker.cli.look.wrap import boxed, folded
from worker.inbox import InboxEntry
from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.value import Value

_AROUND: Final = 13  # rows of a question: its headline, notes, answers, and what is typed
_FEWEST: Final = 6  # lines of an effect, however low the terminal is
_COUNTED: Final = 1000  # files, that many at least where no more were counted
_VERBS: Final = {
    "bash": "run",
    "read": "read",
    "glob": "search",
    "grep": "search",
    "task": "hand work to a subagent",
    "todowrite": "list its tasks",
    "edit": "change a file",
    "write": "write a file",
}


class Picture(Value):
    """The lines that show an ask; `hidden` when a part of the effect is not among them."""

    lines: tuple[str, ...]
    hidden: bool = False


def picture(
    entry: InboxEntry, *, whole: bool = False, columns: int | None = None, height: int | None = None
) -> Picture:
    """What will happen if the ask is allowed; with `whole`, however long that is, else with as much of it as leaves
    the question on a terminal of this height."""
    shown = _effect(entry, whole, height)
    box = boxed(shown.text, columns, colour if difference(entry) is not None else None)
    headline = (click.style(row, bold=True) for row in folded(_path(entry) + _headline(entry), columns, 2))
    notes = (row for note in _notes(entry) for row in folded(note, columns, 2))
    return Picture(lines=(*headline, *box, *notes), hidden=shown.hidden)


def saved(entry: InboxEntry) -> str | None:
    """The rule that "always" would save, in words; None when nothing may be saved."""
    if not entry.savable:
        return None
    return f"{exact(entry.request.permission)}: {exact(', '.join(entry.savable))}"


def listed(entry: InboxEntry) -> dict[str, JsonValue]:
    """An ask for programs: as it is stored, with what "always" would save, and why it is asked."""
    more = {"savable": list(entry.savable), "reasons": list(entry.reasons)}
    return {**entry.model_dump(mode="json", exclude={"rules"}), **more}


def hunks(diff: str) -> str:
    """A difference without its head, which only names the file again; nothing where no line differs."""
    _, at, lines = diff.partition("\n@@ -")
    return f"{at[1:]}{lines}".rstrip("\n")


def difference(entry: InboxEntry) -> str | None:
    """What the call would change in a file."""
    found = (request.metadata.get("diff") for request in _requests(entry))
    return next((diff for diff in found if isinstance(diff, str) and hunks(diff)), None)


def _requests(entry: InboxEntry) -> tuple[PermissionRequest, ...]:
    """What is asked for, and what else the same call needs: the answer allows the whole of it."""
    return (entry.request, *(entry.plan.requests if entry.plan else ()))


def _path(entry: InboxEntry) -> str:
    """Of a subagent's ask: who has handed it down to whom."""
    return "".join(f"{line(name)} › " for name in entry.path) if len(entry.path) > 1 else ""


def _headline(entry: InboxEntry) -> str:
    raw = _raw(entry)
    size = f"{counted(raw.count(chr(10)) + 1, 'line')}, {counted(len(raw), 'character')}"
    if difference(entry) is not None and entry.plan and entry.plan.targets:
        names = ", ".join(exact(target.path) for target in entry.plan.targets)
        return f"{entry.tool} wants to change {names} ({_changed(raw)})"
    directory = entry.plan.effect.directory if entry.plan else entry.directory
    sized = "" if brief(entry.tool, entry.arguments) else f" ({size})"
    return f"{entry.tool} wants to {_VERBS.get(entry.tool, 'act')} in {exact(directory)}{sized}"


def _changed(diff: str) -> str:
    lines = diff.split("\n")
    return f"+{sum(each[:1] == '+' for each in lines)} −{sum(each[:1] == '-' for each in lines)}"


def _raw(entry: InboxEntry) -> str:
    diff = difference(entry)
    if diff is not None:
        return hunks(diff)
    command = entry.arguments.get("command")
    if isinstance(command, str) and entry.tool == "bash":
        return command
    return spoken(entry.tool, entry.arguments)


def _effect(entry: InboxEntry, whole: bool, height: int | None) -> Shown:
    is_diff = difference(entry) is not None
    text = exact(_raw(entry), lines=True, tabs=is_diff)
    text = numbered(text) if is_diff else text
    if whole:
        return Shown(text=text)
    limit = DIFF if is_diff else COMMAND
    most = limit.lines if height is None else min(limit.lines, max(height - _AROUND, _FEWEST))
    return collapsed(text, limit.model_copy(update={"lines": most}))


def _reach(entry: InboxEntry) -> Iterator[str]:
    """Which files a command changes, as far as it names them, and how many there are now."""
    changes = [each for each in entry.plan.requests if each.permission == "edit"] if entry.plan else []
    if entry.tool == "bash" and changes:
        counts = [count for each in changes if isinstance(count := each.metadata.get("files"), int)]
        number = f" ({counted(sum(counts), 'file')}{' or more' if sum(counts) >= _COUNTED else ''})" if counts else ""
        yield f"  It changes {exact(', '.join(pattern for each in changes for pattern in each.patterns))}{number}"


def _notes(entry: InboxEntry) -> Iterator[str]:
    request = entry.request
    if request.permission not in (entry.tool, "edit", loop_guard.PERMISSION):
        yield f"  It needs {exact(request.permission)}: {exact(', '.join(request.patterns))}"
    yield from _reach(entry)
    for reason in entry.reasons:
        yield f"  Asked because {line(reason, 300)}."
    for why in dict.fromkeys(each.opaque for each in _requests(entry) if each.opaque is not None):
        yield f"  Careful: {line(why, 300)}"
    cautions = (each.metadata.get("caution") for each in _requests(entry))
    for caution in dict.fromkeys(each for each in cautions if isinstance(each, str)):
        yield f"  Careful: {line(caution)}"
    commands = (pattern for each in _requests(entry) if each.permission == "bash" for pattern in each.patterns)
    for note in foreign_letters(list(dict.fromkeys(each.split(" ", 1)[0] for each in commands)), _raw(entry)):
        yield f"  Careful: {note}"
    if entry.tool == "bash" and isinstance(said := entry.arguments.get("description"), str):
        yield f"  Agent's description: {line(said)}"
