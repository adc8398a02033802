"""Events of a session in a sentence each."""

from decimal import Decimal
from typing import Final, TypeAlias

from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.event_contents import (
    actor_of,
    ask_name,
    describe_answer,
    describe_deletion,
    describe_schedule_prompt,
    prompt_of,
    time_of,
)
from worker.cli.render.formatting import format_price, format_rule
from worker.cli.render.session_status import describe_wait, how_to_poke
from worker.stored_contents import begun_wait, note_of, part_of
from workflows.domain.answer_text import texts_of
from workflows.domain.budgets import Unit, describe, describe_use
from workflows.domain.events.asks import AnswerNotRun, AnswerRefused, AskAnswered, AskClosed, AskReopened
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetRaised, BudgetSet, BudgetSpent, UsageEstimated
from workflows.domain.events.compactions import CompactionAccepted, CompactionWithdrawn
from workflows.domain.events.event import Event
from workflows.domain.events.generations import (
    CompactionFailed,
    ContextCompacted,
    ContextPruned,
    MessageCompleted,
    PauseEnded,
)
from workflows.domain.events.grants import GrantMade, GrantRevoked
from workflows.domain.events.prompts import PromptAccepted, PromptShortened, PromptWithdrawn
from workflows.domain.events.sessions import (
    AsideRequested,
    CallerRefused,
    SessionConfigured,
    SessionEnded,
    SessionRefreshed,
    SessionRestarted,
    SessionTitled,
    SuspensionEnded,
)
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import ConfigurationChanged, RetryAccepted, RetryWithdrawn, TurnModelChanged
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.generation import Purpose
from workflows.domain.titles import without_thoughts
from workflows.domain.turn_questions import scope_name
from workflows.domain.usage import Cost
from workflows.domain.views.events import EventWithContents
from workflows.domain.waits import WaitEnd, WaitKind

DIM: Final = "dim"
_SUMMARY: Final = 1_000  # characters
_MOST_CHANGES: Final = 4  # of a configuration
Sentence: TypeAlias = tuple[str, str | None]  # and its style
_TEXT: Final = 300  # characters of a poke's text


def find_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    """The sentence for an event; None if it is shown in another way, or only to auditors."""
    return (
        budget_sentence(event)
        or _context_sentence(event, seen)
        or _deletion_sentence(event, seen)
        or _session_sentence(event, seen)
        or _aside_sentence(event, seen)
        or _turn_sentence(event, seen)
        or _ask_sentence(event, seen)
        or wait_sentence(event, seen)
    )


def _context_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    text = context_sentence(event, seen)
    if text is None:
        return None
    expected = isinstance(event, ContextCompacted | ContextPruned)
    return (_sentence(text), DIM) if expected else (f"! {_sentence(text)}", "yellow")


def _deletion_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    text = describe_deletion(seen, event)
    return None if text is None else (_sentence(text), None)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _session_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    match event:
        case SuspensionEnded(resumed=True):
            return f"Resumed by {actor_of(seen)}.", None
        case SessionRefreshed():
            why = "did not go on" if event.run else "had work and no run"
            return f"The session {why}: it was refreshed.", None
        case SessionRestarted():
            return f"The session still did not continue: it was restarted ({event.restarts}).", "yellow"
        case SessionEnded():
            return f"The session has ended: {one_line(event.reason)}.", None
        case SessionConfigured():
            return f"The next turns use the configuration of {actor_of(seen)}'s shell.", None
    return None


def _aside_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    match event:
        case AsideRequested(purpose=purpose):
            wanted = "another title" if purpose is Purpose.TITLE else "a summary of what was changed"
            return f"{actor_of(seen)} wants {wanted}.", None
        case MessageCompleted(purpose=Purpose.SUMMARY):
            parts = [part_of(seen, sealed.part) for sealed in event.parts if sealed.kind == "text"]
            text = " ".join(texts_of(parts))
            return f"Changes: {one_line(without_thoughts(text), _SUMMARY)}", DIM
        case SessionTitled(generation=None):
            return f"Named by {actor_of(seen)}: {one_line(note_of(seen, event.note))}", None
        case SessionTitled():
            return f"Named: {one_line(note_of(seen, event.note))}", DIM
    return None


def _turn_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    match event:
        case ConfigurationChanged():
            return f"The configuration has changed: {_changes(note_of(seen, event.note))}", DIM
        case PromptAccepted() if event.schedule is not None:
            return f"Prompted {describe_schedule_prompt(event, seen)}.", DIM
        case PromptWithdrawn():
            return f"Withdrawn ({one_line(event.reason)}): {one_line(prompt_of(seen, event.prompt))}", None
        case RetryAccepted():
            return f"The failed turn is retried, by {actor_of(seen)}.", None
        case RetryWithdrawn():
            return f"The retry was withdrawn: {one_line(event.reason)}.", None
        case PauseEnded():
            return f"The provider is asked again now, by {actor_of(seen)}.", None
        case CompactionAccepted():
            return f"A compaction was asked for, by {actor_of(seen)}.", None
        case CompactionWithdrawn():
            return f"The compaction was withdrawn: {one_line(event.reason)}.", None
        case StopAccepted():
            return f"A stop was accepted, from {actor_of(seen)}.", None
    return None


def _changes(text: str) -> str:
    """The first changes, each on its line."""
    lines = text.splitlines()
    named = [escape_prose(each) for each in lines[:_MOST_CHANGES]]
    more = [f"… `holdfast log --events` has all {len(lines)}"] if len(lines) > len(named) else []
    return "\n".join([*named, *more])


def _ask_sentence(event: Event, seen: EventWithContents) -> Sentence | None:
    match event:
        case TaskStarted():
            where = " in the background" if event.background else ""
            return f"  @{one_line(event.agent)} works on it{where} ({event.child})", DIM
        case AskAnswered():
            return f"  → {describe_answer(seen, event)}", "yellow"
        case AskClosed():
            return f"  {ask_name(seen, event.ask)} was closed: {one_line(event.reason)}.", None
        case AskReopened():
            return f"! {ask_name(seen, event.ask)} was marked as answered, but not in the log: it is open again.", "red"
        case CallerRefused():
            return f"! {one_line(event.activity)} was refused to {one_line(event.caller, 100)}.", "red"
        case AnswerRefused():
            return f"  An answer ({event.reply}) was refused: {one_line(event.reason, 300)}", None
        case AnswerNotRun():
            return f"  The answer to {ask_name(seen, event.ask)} was accepted, but not run: the turn was stopped.", None
        case GrantMade():
            rule = format_rule(event.permission, event.patterns)
            return f"  From now on allowed in this {event.scope}: {rule} ({event.grant})", DIM
        case GrantRevoked():
            return f"The grant {event.grant} was revoked by {actor_of(seen)}.", None
    return None


def wait_sentence(event: Event, seen: EventWithContents) -> tuple[str, str | None] | None:
    """With its colour. None for an end by time or file: the call itself says it."""
    match event:
        case WaitBegun():
            subject, until = begun_wait(seen, event)
            command = f" ({how_to_poke(subject)})" if subject.kind is WaitKind.POKE else ""
            return f"  {describe_wait(subject, until, time_of(seen))}{command}", None
        case WaitEnded(end=WaitEnd.POKED):
            text = f": {one_line(note_of(seen, event.note), _TEXT)}" if event.note is not None else ""
            return f"  poked by {actor_of(seen)}{text}", None
        case WaitEnded(end=WaitEnd.WOKEN):
            return f"  {actor_of(seen)} has ended the wait", None
    return None


def context_sentence(event: Event, seen: EventWithContents) -> str | None:
    """The sentence, which begins in lower case."""
    match event:
        case ContextCompacted():
            after = f"its conversation now has about {event.after:,}"
            return f"compacted: a request had {event.before:,} tokens, {after}, {format_price(Cost.of(event.cost))}"
        case ContextPruned():
            return f"cleared old results of tools from the context: {event.tokens:,} tokens"
        case CompactionFailed():
            return f"the conversation was not compacted: {escape_prose(note_of(seen, event.note)).rstrip('.')}"
        case PromptShortened(shown=shown):
            length = len(prompt_of(seen, event.prompt))
            read = [] if shown is None else [f"{shown:,} of its {length:,} characters"]
            read += ["not the files that it holds"] if event.without_files else []
            return f"a prompt is too long for the model, which reads {' and '.join(read)}"
        case TurnModelChanged(model=model, note=None):
            return f"the turn goes on with {escape_exact(model)}, as a person says"
        case TurnModelChanged(model=model, note=str(note)):
            return f"the turn goes on with {escape_exact(model)}: {escape_prose(note_of(seen, note)).rstrip('.')}"
    return None


def budget_sentence(event: Event) -> Sentence | None:
    """For people who follow a session, with its style."""
    match event:
        case BudgetSet():
            units = {Unit.COST: event.cost, Unit.TOKENS: event.tokens, Unit.STEPS: event.steps, Unit.TIME: event.time}
            limits = ", ".join(describe(unit, Decimal(limit)) for unit, limit in units.items() if limit is not None)
            rule = "" if event.on_limit is None else f" At a limit: {event.on_limit}."
            return f"Budget of {scope_name(event.scope)}: {limits or 'no limit of its own'}.{rule}", DIM
        case BudgetNearlySpent(scope=scope, unit=unit, used=used, limit=limit):
            return f"! Most of the budget of {scope_name(scope)} is used: {_of(unit, used, limit)}.", "yellow"
        case BudgetSpent(scope=scope, unit=unit, used=used, limit=limit, on_limit=rule):
            then = ": it finishes with one last answer" if rule == "finish" else ""
            return f"! The budget of {scope_name(scope)} is spent: {_of(unit, used, limit)}{then}.", "yellow"
        case BudgetRaised(scope=scope, unit=unit, by=by):
            return f"The budget of {scope_name(scope)} is raised by {describe(Unit(unit), Decimal(by))}.", None
        case UsageEstimated(cost=cost, tokens=tokens):
            dollars = describe(Unit.COST, Decimal(cost))
            return f"The use of a request is estimated: {tokens:,} tokens, {dollars} count for it.", DIM
    return None


def _of(unit: str, used: str, limit: str) -> str:
    return describe_use(Unit(unit), Decimal(used), Decimal(limit))
