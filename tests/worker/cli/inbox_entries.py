"""Asks, made without a stack."""

from datetime import UTC, datetime

from pydantic import JsonValue

from activities.tools.registry import TOOLS
from workflows.domain.call_display import CallDisplay
from workflows.domain.effects import Effect, Plan, Target
from workflows.domain.ids import AskId, PartId, SessionId
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import AskKind, Question, QuestionRequest
from workflows.domain.views.inbox import InboxEntry
from workflows.domain.wire import AskState


def entry(
    tool: str, arguments: dict[str, JsonValue], *requests: PermissionRequest, targets: tuple[Target, ...] = ()
) -> InboxEntry:
    """An open ask of a call."""
    asked = PermissionAsk(requests=requests)
    effect = Effect(tool=tool, arguments=arguments, directory="/p/sub", targets=targets)
    return InboxEntry(
        id=AskId("per_1"),
        name="a1",
        session=SessionId("ses_1"),
        call=PartId("prt_1"),
        title="a title",
        directory="/p",
        agent="build",
        path=("build",),
        tool=tool,
        arguments=arguments,
        display=TOOLS[tool].display if tool in TOOLS else CallDisplay(),
        request=asked,
        plan=Plan(requests=requests, effect=effect),
        digest=effect.digest,
        state=AskState.OPEN,
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
        savable=Rulesets.of(()).savable(asked),
        reasons=Rulesets.of(()).reasons_of(asked),
    )


def question_entry(*questions: Question) -> InboxEntry:
    """An open ask of the kind question."""
    of_call = entry("question", {}, PermissionRequest(permission="question", patterns=("*",)))
    return of_call.model_copy(
        update={"kind": AskKind.QUESTION, "request": QuestionRequest(questions=questions), "reasons": ()}
    )


def bash(command: str, **more: JsonValue) -> InboxEntry:
    """An open ask of a command; always would save `git status *`."""
    request = PermissionRequest(permission="bash", patterns=(command,), always=("git status *",))
    return entry("bash", {"command": command, **more}, request)
