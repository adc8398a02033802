"""The contents of events, for people."""

import re
from datetime import datetime
from typing import Final

from worker.cli.render.call_arguments import format_arguments, format_questions
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.formatting import format_past
from worker.stored_contents import StoredCall
from workflows.domain.call_display import DisplayKind
from workflows.domain.events.asks import AskAnswered
from workflows.domain.events.event import Event
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.sessions import MessageDeleted, SessionDeleted
from workflows.domain.events.turns import TurnOpened
from workflows.domain.ids import AskId
from workflows.domain.messages import TaskEnd
from workflows.domain.prompt import PromptContent
from workflows.domain.views.events import EventWithContents


class CallContent(StoredCall):
    @property
    def name(self) -> str:
        """The model's name for the tool, even if there is no such tool."""
        return str(self.arguments.get(self.display.name)) if self.display.name else self.tool

    @property
    def failure(self) -> str | None:
        """The exit code, or that the call could not be made."""
        if self.display.kind is DisplayKind.INVALID:
            return "not called"
        if self.display.kind is not DisplayKind.EXECUTE or self.outcome is None or "exit" not in self.outcome.metadata:
            return None
        code = self.outcome.metadata.get("pipeline", self.outcome.metadata["exit"])
        return "ended early" if code is None else f"exit {code}" if code else None

    @property
    def output(self) -> str:
        """The output, without the lines that tell the model how a command ended."""
        if self.outcome is None or self.display.kind is DisplayKind.INVALID:
            return ""
        if self.display.kind is not DisplayKind.EXECUTE:
            return self.outcome.output
        return _METADATA.sub(_format_notes, self.outcome.output)

    @property
    def label(self) -> str:
        invalid = self.display.kind is DisplayKind.INVALID
        if self.outcome is not None and self.outcome.title and not invalid:
            return self.outcome.title
        return self.subject

    @property
    def asked(self) -> str:
        """What a person is asked; for a question without what came of it."""
        return self.subject if self.display.kind is DisplayKind.QUESTION else self.label

    @property
    def subject(self) -> str:
        if questions := format_questions(self.arguments):
            return questions
        if self.display.about:
            return self.display.about
        if isinstance(value := self.arguments.get(self.display.subject or ""), str):
            return value
        return format_arguments(self.tool, self.arguments, self.display)


_METADATA: Final = re.compile(
    r"\n*<shell_metadata>\n(?P<notes>(?:(?!<shell_metadata>)[\s\S])*)\n</shell_metadata>\s*\Z"
)
_EXIT_CODE: Final = re.compile(r"exit code -?\d+(?: \([^)]+\))?\n?")  # shown beside the command


def _format_notes(found: re.Match[str]) -> str:
    notes = _EXIT_CODE.sub("", found["notes"]).strip()
    return f"\n[{notes}]" if notes else ""


def actor_of(seen: EventWithContents) -> str:
    return escape_exact(seen.record.actor.subject)


def describe_schedule_prompt(event: PromptAccepted, seen: EventWithContents) -> str:
    """Which schedule a prompt came from, and who it prompts as."""
    if event.due is None:
        return f"by {actor_of(seen)}, who triggered schedule {event.schedule}"
    return f"by schedule {event.schedule}, of {actor_of(seen)}"


def describe_trust(opened: TurnOpened) -> str | None:
    """Who accepted the project's configuration; None if nothing had to be accepted, or nothing was."""
    if opened.trust_record is None:
        return None
    by, at = escape_exact(opened.accepted_by or ""), format_past(datetime.fromisoformat(opened.accepted_at or ""))
    return f"The configuration of the project counts, accepted by {by} at {at} (record {opened.trust_record})."


def time_of(seen: EventWithContents) -> datetime:
    return datetime.fromisoformat(seen.record.at)


def describe_answer(seen: EventWithContents, event: AskAnswered, after: str = "") -> str:
    """`after`: how long it took."""
    if event.by_grant is not None:
        return f"allowed by a grant of {actor_of(seen)} ({event.by_grant})"
    reply = {"reject": "rejected", "answer": "answered"}.get(event.reply, event.reply)
    match seen.contents.get(event.ask):
        case {"answers": [*answers]}:
            given = "; ".join(", ".join(map(str, answer)) for answer in answers if isinstance(answer, list))
            return f"{reply} by {actor_of(seen)}{after}: {escape_prose(given)}"
        case {"feedback": str(feedback)} if feedback:
            return f"{reply} by {actor_of(seen)}{after}: {escape_prose(feedback)}"
    return f"{reply} by {actor_of(seen)}{after}"


def describe_deletion(seen: EventWithContents, event: Event) -> str | None:
    match event:
        case SessionDeleted():
            return f"deleted by {actor_of(seen)}: its contents are erased"
        case MessageDeleted():
            return f"message {event.message} was deleted by {actor_of(seen)}: its contents are erased"
    return None


def call_of(seen: EventWithContents, name: str) -> CallContent | None:
    """The call, unless its content was erased."""
    found = seen.contents.get(name)
    return CallContent.model_validate(found) if found is not None else None


def ask_name(seen: EventWithContents, ask: AskId) -> str:
    """Its short name, where its row can be read."""
    found = seen.contents.get(ask)
    return str(found.get("name", ask)) if isinstance(found, dict) else ask


def prompt_of(seen: EventWithContents, name: str) -> str:
    found = seen.contents.get(name)
    if found is None:
        return "(deleted)"
    content = PromptContent.model_validate(found)
    return content.title if content.task_end is None else describe_task_end(content.task_end)


def describe_task_end(end: TaskEnd) -> str:
    """How a background task ended; the subagent's log has the result."""
    how = "failed" if end.failed else "ended"
    return f"Background task {how}: {end.title} (@{end.agent}, {end.child})"


def instructions_of(seen: EventWithContents, name: str) -> str | None:
    """The prompt's own instructions for its turn."""
    found = seen.contents.get(name)
    return None if found is None else PromptContent.model_validate(found).system
