"""A session on one page, from its log and its subagents'."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from worker.cli.render import suspension_text
from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.event_contents import (
    actor_of,
    ask_name,
    call_of,
    describe_answer,
    describe_deletion,
    describe_schedule_prompt,
    describe_trust,
    prompt_of,
    time_of,
)
from worker.cli.render.event_sentences import budget_sentence, context_sentence
from worker.cli.render.formatting import format_duration, format_past, format_rule, pluralize
from worker.cli.render.session_status import describe_changes, describe_status
from worker.cli.render.turn_summary import AskSummary, TurnSummary, describe_usage, render_turn, render_turn_line
from worker.cli.render.wrap import wrap_text
from worker.stored_contents import note_of, part_of
from workflows.domain.answer_text import texts_of
from workflows.domain.call_display import DisplayKind
from workflows.domain.events.asks import AnswerNotRun, AnswerRefused, AskAnswered, AskClosed, AskRaised
from workflows.domain.events.budgets import BudgetSpent, UsageEstimated
from workflows.domain.events.calls import CallClaimed, CallDrifted, CallFinished, WriteRefused
from workflows.domain.events.copies import MessageCopied, SessionForked, SessionImported
from workflows.domain.events.event import Event
from workflows.domain.events.generations import (
    BEHIND_LIMIT,
    ContextCompacted,
    ContextPruned,
    MessageCompleted,
    ModelRetry,
)
from workflows.domain.events.grants import GrantMade
from workflows.domain.events.prompts import PromptAccepted, PromptTaken
from workflows.domain.events.sessions import SessionSuspended, SuspensionEnded
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import RetryAccepted, TurnEnded, TurnOpened
from workflows.domain.file_changes import ChangedFiles
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import FINISH_LENGTH, CallState
from workflows.domain.output_format import STRUCTURED_OUTPUT
from workflows.domain.usage import Cost, Tokens
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.sessions import Overview

_WHOLE: Final = 6  # turns in full; earlier ones have a line each
_LINES: Final = 20
_ANSWER: Final = 160  # characters of an answer, with its reason


@dataclass
class SessionSummary:
    """Gathers the events of the session's log, then those of its subagents, oldest first."""

    session: SessionId
    turns: list[TurnSummary] = field(default_factory=list)
    origin: str | None = None
    copied: int = 0
    _prompts: dict[MessageId, str] = field(default_factory=dict)
    _tasks: dict[MessageId, tuple[TurnSummary, str]] = field(default_factory=dict)
    _retried_by: dict[str, str] = field(default_factory=dict)
    _turn: TurnSummary | None = None
    _name: str = ""

    def on_event(self, seen: EventWithContents) -> None:
        """Ignored before the log's first turn."""
        match event := seen.record.event:
            case PromptAccepted():
                self._prompts[event.prompt] = _describe_prompt(event, seen)
                if event.prompt in self._tasks:  # a subagent's events follow, perhaps for another turn
                    self._turn, self._name = self._tasks[event.prompt]
            case SessionForked(origin=origin) | SessionImported(origin=origin) if self._is_own(seen):
                self.origin = origin
            case MessageCopied() if self._is_own(seen):
                self.copied += 1
            case RetryAccepted():
                self._retried_by[event.retry] = actor_of(seen)
            case TurnOpened() if self._is_own(seen):
                self._turn = TurnSummary(number=event.number, started_at=time_of(seen))
                self.turns.append(self._turn)
                self._turn.trust = describe_trust(event)
                if event.retry is not None:
                    self._turn.prompts.append(f"retried by {self._retried_by.get(event.retry, 'somebody')}")
            case _ if self._turn is not None:
                self._add(event, self._turn, seen)

    def _is_own(self, seen: EventWithContents) -> bool:
        return seen.record.session == self.session

    def _add(self, event: Event, turn: TurnSummary, seen: EventWithContents) -> None:
        at = time_of(seen)
        match event:
            case PromptTaken() if self._is_own(seen):
                turn.is_cut = False
                turn.prompts.append(self._prompts.get(event.prompt, "(accepted before)"))
            case MessageCompleted():
                self._add_message(event, turn, seen)
            case CallFinished():
                self._add_call(event, turn, seen)
            case TaskStarted():
                self._tasks[event.prompt] = turn, f"{self._name}{one_line(event.agent)} › "
            case TurnEnded() if self._is_own(seen):
                _end_turn(event, turn, seen)
            case AskRaised():
                turn.asked[event.ask] = AskSummary(at, self._label(seen, event.call), ask_name(seen, event.ask))
            case AnswerRefused() if (asked := turn.asked.get(event.ask)) and asked.author in (None, actor_of(seen)):
                pass  # it came late: the ask was closed, or this person had answered it
            case AskAnswered() | AskClosed() | GrantMade() if asked := turn.asked.get(event.ask):
                _add_reply(event, asked, seen)
            case ModelRetry() if event.purpose.delays_turn and event.kind != BEHIND_LIMIT:
                turn.add_failure(at, escape_exact(event.kind), one_line(note_of(seen, event.note), 200))
            case _:
                self._add_trouble(event, turn, seen)

    def _add_message(self, event: MessageCompleted, turn: TurnSummary, seen: EventWithContents) -> None:
        turn.tokens += event.tokens
        turn.cost += Cost.of(event.cost)
        if event.turn is None:
            return
        turn.end_outage(time_of(seen))
        turn.steps += 1
        parts = [part_of(seen, sealed.part) for sealed in event.parts if sealed.kind == "text"]
        texts = [text for text in texts_of(parts) if text.strip()]
        if texts and self._is_own(seen):
            turn.add_answer(texts, cut=event.finish == FINISH_LENGTH)

    def _add_call(self, event: CallFinished, turn: TurnSummary, seen: EventWithContents) -> None:
        call, state = call_of(seen, event.call), CallState(event.state)
        turn.is_cut = turn.is_cut and not self._is_own(seen)
        if call is None:
            turn.calls["(deleted)"] += 1
            return
        turn.calls[escape_exact(call.tool)] += 1
        metadata = call.outcome.metadata if call.outcome else {}
        if call.tool == STRUCTURED_OUTPUT and state is CallState.DONE and self._is_own(seen):
            turn.result = json.dumps(call.arguments, ensure_ascii=False)
        if call.display.kind is DisplayKind.EXECUTE:
            begun = "exit" in metadata or state not in (CallState.CANCELLED, CallState.REFUSED)
            end = call.failure or "" if state is CallState.DONE else state
            turn.named[f"{'ran' if begun else 'did not run'} {self._name}{call.label}"][end] += 1
            if isinstance(changed := metadata.get("changed"), list):
                turn.changed |= dict.fromkeys(map(str, changed))
        if call.display.kind is DisplayKind.EDIT and state is not CallState.DONE:
            turn.named[f"{self._name}{call.tool} {call.label}"][state] += 1
        if call.display.kind is DisplayKind.EDIT and state is CallState.DONE:
            files = metadata.get("files", [metadata.get("filediff")])
            for each in files if isinstance(files, list) else ():
                label = str(each.get("relativePath", call.label)) if isinstance(each, dict) else call.label
                turn.added[label] += 0  # listed in any case
                match each:
                    case {"additions": int(added), "deletions": int(removed)}:
                        turn.added[label] += added
                        turn.removed[label] += removed
        if state is CallState.UNKNOWN:
            what = f"{self._label(seen, event.call)}: it is not known whether it happened"
            turn.troubles.append((time_of(seen), what))

    def _add_trouble(self, event: Event, turn: TurnSummary, seen: EventWithContents) -> None:
        """A context that became shorter is none, and may do so a hundred times."""
        if (text := self._trouble(event, seen)) is not None:
            usual = isinstance(event, ContextCompacted | ContextPruned)
            whose = self._name if usual and not self._is_own(seen) else ""
            (turn.context if usual else turn.troubles).append((time_of(seen), whose + text))

    def _trouble(self, event: Event, seen: EventWithContents) -> str | None:
        match event:
            case CallClaimed(recovered=True) if not (
                (call := call_of(seen, event.call)) and call.display.kind.runs_elsewhere
            ):
                return f"{self._label(seen, event.call)}: resumed after an interruption"
            case CallDrifted(by_others=True):
                return f"{self._label(seen, event.call)}: changed after it was decided, and decided anew"
            case AnswerNotRun():
                return f"{self._label(seen, event.call)}: allowed, but not run: the turn was stopped"
            case AnswerRefused():
                why = one_line(event.reason, 200)
                return f"an answer by {actor_of(seen)} ({event.reply}) was refused: {why}"
            case StopAccepted():
                return f"stopped by {actor_of(seen)}"
            case SessionSuspended():
                return f"suspended: {suspension_text.describe_suspension(event.reason, event.was, event.now)}"
            case SuspensionEnded(resumed=True):
                return f"resumed by {actor_of(seen)}"
            case WriteRefused():
                return f"a write of a process that was taken for dead was refused ({event.target})"
        return describe_deletion(seen, event) or context_sentence(event, seen) or _budget_trouble(event)

    def _label(self, seen: EventWithContents, call: PartId | None) -> str:
        if call is None:
            return f"{self._name}how the turn goes on"
        found = call_of(seen, call)
        return self._name + (f"{escape_exact(found.tool)} {one_line(found.asked)}" if found else "(deleted)")


def _describe_prompt(event: PromptAccepted, seen: EventWithContents) -> str:
    text = prompt_of(seen, event.prompt)
    if event.task is not None:
        return text
    by = describe_schedule_prompt(event, seen) if event.schedule is not None else actor_of(seen)
    return f"{text} ({by})"


def _budget_trouble(event: Event) -> str | None:
    sentence = budget_sentence(event) if isinstance(event, BudgetSpent | UsageEstimated) else None
    if sentence is None:
        return None
    text = sentence[0].removeprefix("! ")
    return f"{text[0].lower()}{text[1:]}"


def _end_turn(event: TurnEnded, turn: TurnSummary, seen: EventWithContents) -> None:
    turn.end_outage(time_of(seen))
    turn.ended, turn.reason = time_of(seen), event.reason
    if event.note is not None:
        turn.troubles.append((turn.ended, f"the turn failed: {note_of(seen, event.note)}"))


def _add_reply(event: AskAnswered | AskClosed | GrantMade, asked: AskSummary, seen: EventWithContents) -> None:
    asked.author = actor_of(seen) if isinstance(event, AskAnswered) else None
    match event:
        case AskAnswered():
            waited = format_duration((time_of(seen) - asked.at).total_seconds())
            asked.text = one_line(describe_answer(seen, event, after=f" after {waited}"), _ANSWER)
        case AskClosed():
            asked.text = f"closed: {one_line(event.reason)}"
        case GrantMade():
            saved = f"{format_rule(event.permission, event.patterns)} in this {event.scope}"
            asked.rule = f"{asked.rule}, {saved}" if asked.rule else saved


def render_session_summary(summary: SessionSummary, seen: Overview, at: datetime, columns: int) -> Iterator[Row]:
    turns = summary.turns
    yield styled(one_line(seen.title, columns), "bold")
    model = escape_exact(seen.model or "no model yet")
    where = f"  {seen.id} in {escape_exact(seen.directory)} · {one_line(seen.agent)} · {model}"
    yield from wrap_text(where, columns, 2)
    if summary.origin is not None:
        yield f"  begun with {pluralize(summary.copied, 'message')} of {escape_exact(summary.origin)}"
    yield from (f"  {each}" for each in _totals(turns, seen, at))
    before, newest = turns[:-_WHOLE], turns[-_WHOLE:]
    yield from ["", f"… and {pluralize(len(before) - _LINES, 'turn')} before these"] if len(before) > _LINES else [""]
    yield from (render_turn_line(each, columns) for each in before[-_LINES:])
    for turn in newest:
        yield from [""] if turn is not newest[0] or before else []
        yield from render_turn(turn, columns)
    yield ""
    waiting = (each.ask for turn in turns for each in turn.asked.values() if not each.text)
    for each in describe_status(seen, at, next(waiting, None)):
        yield from wrap_text(each, columns, 2)


def _totals(turns: list[TurnSummary], seen: Overview, at: datetime) -> Iterator[str]:
    if turns:
        started_at, end = turns[0].started_at, at if seen.working else seen.updated_at
        duration = format_duration((end - started_at).total_seconds())
        yield f"{format_past(started_at)} – {format_past(end, started_at)} ({duration})"
        cost = sum((each.cost for each in turns), Cost())
        tokens = sum((each.tokens for each in turns), Tokens())
        yield f"{pluralize(len(turns), 'turn')} · {describe_usage(sum(each.steps for each in turns), tokens, cost)}"
        changes = ChangedFiles(
            files=len({name for each in turns for name in each.added}),
            additions=sum(each.added.total() for each in turns),
            deletions=sum(each.removed.total() for each in turns),
        )
        yield from [describe_changes(changes)] if changes.files else []
