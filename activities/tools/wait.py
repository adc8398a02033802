"""wait: waits for a moment, a change of a file, or a poke, for any time; nothing runs meanwhile."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import Field

from activities.files import permission_requests
from activities.files.fingerprint import fingerprint
from activities.files.locate import LocatedPath, PathKind, locate
from activities.files.safe_open import raise_tool_errors
from activities.files.workspace import Workspace
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext, Waiting
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Effect, Recovery, Target
from workflows.domain.errors import ToolError
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.waits import (
    LONGEST,
    MISSING,
    TOKEN,
    FileEvent,
    WaitEnd,
    WaitKind,
    WaitStatus,
    WaitSubject,
    has_happened,
    parse_moment,
)

_LEAST: Final = 0.1  # seconds of a wait that is all but over
_VERBS: Final = {
    FileEvent.CREATED: "was created",
    FileEvent.DELETED: "was deleted",
    FileEvent.ANY: "has changed or was deleted",
}


class WaitParams(Params):
    until: str | None = None
    file: str | None = None
    event: FileEvent = Field(default=FileEvent.ANY, strict=False)
    token: str | None = None
    at_most: str | None = None

    @property
    def kind(self) -> WaitKind:
        """Raises ToolError."""
        given = {WaitKind.TIME: self.until, WaitKind.FILE: self.file, WaitKind.POKE: self.token}
        kinds = [kind for kind, value in given.items() if value is not None]
        if len(kinds) != 1:
            raise ToolError(
                "Give exactly one of `until`, `file` and `token`: a call waits for one thing. Send several calls to "
                "wait for several, and `at_most` with a file or a token to give up at a moment."
            )
        return kinds[0]

    @property
    def moment(self) -> timedelta | datetime | None:
        """Its moment, or the latest one, with an offset. Raises ToolError."""
        moments = [
            _parse(name, getattr(self, name)) for name in ("until", "at_most") if getattr(self, name) is not None
        ]
        if len(moments) == 2:
            raise ToolError("`until` says when the wait ends: `at_most` is for a file or a token.")
        return moments[0] if moments else None


class WaitTool(BuiltInTool[WaitParams]):
    """The row is the arbiter: it ends once, and the outcome says how."""

    name = "wait"
    recovery = Recovery.REATTACHABLE
    machine_bound = False
    params = WaitParams
    display = CallDisplay(kind=DisplayKind.WAIT, verb="wait")

    async def plan(self, params: WaitParams, turn: TurnContext) -> Plan:
        kind = params.kind
        requests: tuple[PermissionRequest, ...] = ()
        targets: tuple[Target, ...] = ()
        _ = params.moment
        pattern = params.until or params.token or "*"
        if kind is WaitKind.POKE:
            _require_token(params.token or "")
        if kind is WaitKind.FILE:
            located = await asyncio.to_thread(_locate, params.file or "", turn.workspace)
            pattern = turn.workspace.relative(located.path)
            requests = permission_requests.read_requests(located, turn.workspace)
            targets = (Target(path=str(located.path), before=None),)
        own = PermissionRequest(permission=self.name, patterns=(pattern,), always=("*",))
        return Plan(
            requests=(own, *requests),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(mode="json", exclude_none=True),
                directory=str(turn.workspace.directory),
                targets=targets,
            ),
        )

    async def run(self, params: WaitParams, plan: Plan, context: ToolContext) -> Output | Waiting:
        kind, seen = params.kind, ""
        path = Path(plan.targets[0].path) if plan.targets else None
        if path is not None:
            with raise_tool_errors(path):
                seen = await asyncio.to_thread(fingerprint, path)
        subject = WaitSubject(
            kind=kind, name=params.file or params.token or "", path=str(path or ""), event=params.event, seen=seen
        )
        return _result(await context.wait.begin(subject, params.moment, met=has_happened(subject, seen)))

    async def recover(self, params: WaitParams, claimed: Plan, context: ToolContext) -> Output | Waiting:
        """How it has ended, if it has; begins it if no attempt has."""
        found = await context.wait.status()
        return await self.run(params, claimed, context) if found is None else _result(found)

    async def stop(self, params: WaitParams, claimed: Plan, context: ToolContext) -> Output | None:
        """What came first counts."""
        found = await context.wait.stop()
        if found is None or found.ending in (None, WaitEnd.STOPPED):
            return None
        return _output(found)


def _parse(name: str, text: str) -> timedelta | datetime:
    now = datetime.now(UTC)
    try:
        moment = parse_moment(text)
        moment = moment if isinstance(moment, timedelta) else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ToolError(
            f"`{name}` is {text!r}: write a duration, such as 90s, 45m, 2h 30m or 1d, or a moment in ISO 8601, such as "
            "2026-11-24T14:30:00+01:00."
        ) from error
    left = moment if isinstance(moment, timedelta) else moment - now
    if left > LONGEST:
        raise ToolError(f"`{name}` is {text!r}: a wait lasts ten years at most.")
    if left < -LONGEST:  # not every time zone has the first days of the calendar
        raise ToolError(f"`{name}` is {text!r}, which is long past: `date` tells you the time.")
    return moment


def _require_token(token: str) -> None:
    if TOKEN.fullmatch(token) is None:
        raise ToolError(
            f"The token is {token!r}: write a name of at most 64 letters, digits, dots, dashes and underscores, that "
            "begins with a letter or digit."
        )


def _locate(written: str, workspace: Workspace) -> LocatedPath:
    """Raises ToolError."""
    located = locate(written, workspace)
    if permission_requests.is_outside(located, workspace):
        raise ToolError(f"{str(located.path)!r} is outside of the project: only files of the project are waited for.")
    if located.kind not in (PathKind.FILE, PathKind.MISSING):
        raise ToolError(f"{str(located.path)!r} is not a regular file: name a file, which need not exist yet.")
    return located


def _result(found: WaitStatus) -> Output | Waiting:
    if found.ending is not None:
        return _output(found)
    return Waiting(seconds=None if found.seconds is None else max(found.seconds, _LEAST))


def _output(found: WaitStatus) -> Output:
    title, text = _ending_of_file(found) if found.ending is WaitEnd.CHANGED else _ending(found)
    return Output(title=title, output=text, metadata={"ending": str(found.ending)})


def _ending(found: WaitStatus) -> tuple[str, str]:
    """A title for people, and the text for the model."""
    ended, until, began = _local(found.ended_at), _local(found.until), _local(found.begun_at)
    match found.ending:
        case WaitEnd.POKED:
            message = f": {found.text}" if found.text else ", without a text."
            return f"poked: {found.subject.name}", f"Poked by {found.author} at {ended}{message}"
        case WaitEnd.WOKEN:
            return "woken", f"{found.author} has ended the wait at {ended}, before it was over. It began at {began}."
        case _ if found.until is not None and found.until <= found.begun_at:
            return f"not waited: {until}", f"The moment {until} had passed when the wait began, at {began}."
        case WaitEnd.CAME:
            return f"waited until {until}", f"The time came: it is {ended}. The wait began at {began}."
    name = found.subject.name
    missed = f"{name} was not poked" if found.subject.kind is WaitKind.POKE else f"nothing happened to {name}"
    return f"gave up: {missed}", f"Gave up at {ended}: {missed} since {began}."


def _ending_of_file(found: WaitStatus) -> tuple[str, str]:
    subject, ended = found.subject, _local(found.ended_at)
    if has_happened(subject, subject.seen):
        state = "is there" if subject.event is FileEvent.CREATED else "is not there"
        return f"not waited: {subject.name} {state}", f"The file {subject.name} {state} already, at {ended}."
    happened = "was created" if subject.seen == MISSING else _VERBS[subject.event]
    return f"{subject.name} {happened}", f"The file {subject.name} {happened}; noticed at {ended}."


def _local(at: datetime | None) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S %z}" if at is not None else "an unknown time"
