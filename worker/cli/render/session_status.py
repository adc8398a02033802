"""A session's state: a word for lists, sentences for one session."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from worker.cli.render import suspension_text
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import format_age, format_queued_prompts, format_upcoming, pluralize
from workflows.domain.budgets import BudgetOverview, Unit, describe, describe_use
from workflows.domain.close_reason import CloseReason
from workflows.domain.events.generations import BEHIND_BUDGET, BEHIND_LIMIT
from workflows.domain.file_changes import ChangedFiles
from workflows.domain.ids import SessionId
from workflows.domain.turn_questions import scope_name
from workflows.domain.views.accepted import AcceptedStop
from workflows.domain.views.sessions import Overview, ProviderBackoff
from workflows.domain.waits import FileEvent, WaitKind, WaitSubject

_NAME: Final = 60  # characters of a file's name
_FILE: Final = {FileEvent.ANY: "a change of", FileEvent.CREATED: "the file", FileEvent.DELETED: "the end of"}


def status_label(overview: Overview, now: datetime) -> str:
    if overview.archive is not None or overview.status == "deleted":
        return "archived" if overview.archive is not None else "deleted"
    if overview.stuck is not None:
        return "stuck"
    if overview.suspension is not None:
        return "suspended"
    if overview.asks:
        return f"asks ({overview.asks})"
    if waits_for_host(overview):
        return f"waits for {escape_exact(overview.host or '')}"
    if overview.pause is not None:
        return f"retrying at {format_upcoming(overview.pause.until, now)}"
    if overview.waits:
        first, *others = overview.waits
        return describe_wait(first.subject, first.until, now) + (f" (+{len(others)})" if others else "")
    if overview.background and overview.turn_state != "open" and not overview.untaken:
        return f"in background ({overview.background})"
    if overview.working:
        return f"step {overview.step}" if overview.step else "begins"
    return "ended" if overview.status == "ended" else overview.reason or "new"


def waits_for_host(overview: Overview) -> bool:
    return overview.host_offline and overview.working and overview.suspension is None


def describe_absent_worker(overview: Overview) -> str:
    host = escape_exact(overview.host or "")
    return (
        f"It waits for a worker on host {host}, where its files are: start one there (`python -P -m worker.serve`), "
        f"or one with HOLDFAST_HOST={host} where the same files are under the same paths."
    )


def describe_session(overview: Overview, changes: ChangedFiles, at: datetime, ask: str | None = None) -> Iterator[str]:
    """What a person may want to know and can do; `ask`: the name of an open one."""
    yield one_line(overview.title) or "(deleted)"
    host = f" on {escape_exact(overview.host)}" if overview.host else ""
    where = f" in {escape_exact(overview.directory)}{host}" if overview.directory else host
    yield f"  {overview.id}{where}, changed {format_age(overview.updated_at, at)} ago"
    yield f"  {one_line(overview.agent)}, {escape_exact(overview.model or 'no model yet')}"
    if overview.schedule is not None:
        yield f"  started by schedule {overview.schedule}"
    if changes.files:
        yield f"  {describe_changes(changes)}"
    if overview.deleted_messages:
        yield f"  {pluralize(overview.deleted_messages, 'message')} deleted"
    yield f"  {f'Turn {overview.number}: ' if overview.number else ''}{status_label(overview, at)}"
    yield from (f"  {each}" for each in _status_details(overview, at, ask))


def describe_status(overview: Overview, at: datetime, ask: str | None = None) -> Iterator[str]:
    yield f"Now: {status_label(overview, at)}"
    yield from (f"  {each}" for each in _status_details(overview, at, ask))


def describe_subagent(overview: Overview, at: datetime) -> str:
    return f"{one_line(overview.title)}: {status_label(overview, at)}  {overview.id}"


def describe_changes(changes: ChangedFiles) -> str:
    return f"changed {pluralize(changes.files, 'file')} (+{changes.additions:,} −{changes.deletions:,})"


def retry_hint(session: SessionId) -> str:
    return f"holdfast retry {session}  retries it; `-m provider/model` asks another model"


def _status_details(overview: Overview, now: datetime, ask: str | None) -> Iterator[str]:
    if overview.archive is not None:
        yield f"It {overview.archive}."
    if overview.stuck is not None:
        yield f"It cannot go on: {_quote(overview.stuck)}."
    if (suspension := overview.suspension) is not None:
        yield suspension_text.describe_suspension(suspension.reason, suspension.was, suspension.now)
        yield from suspension_text.list_actions(overview.id)
    if waits_for_host(overview):
        yield describe_absent_worker(overview)
    if overview.pause is not None:
        yield from _describe_pause(overview.pause)
        yield f"`holdfast wake {overview.id}` asks again now, `holdfast stop {overview.id}` ends the turn."
    yield from _describe_waits(overview, now)
    if overview.asks:
        wait = "waits" if overview.asks == 1 else "wait"
        yield f"{pluralize(overview.asks, 'ask')} {wait} for your answer: holdfast asks --session {overview.id}"
    if overview.waiting:
        yield format_queued_prompts(overview.waiting, ask) or f"{pluralize(overview.waiting, 'prompt')} not taken yet."
    if overview.error is not None:
        yield f"It failed: {_quote(overview.error)}"
    may_work = overview.status != "ended" and not overview.working and overview.parent is None
    if overview.reason == CloseReason.FAILED and may_work:
        yield retry_hint(overview.id)


def _quote(text: str) -> str:
    """Quote a text, so that no line of it begins like one of ours."""
    return escape_prose(text).replace("\n", "\n      ")


def _describe_waits(overview: Overview, now: datetime) -> Iterator[str]:
    for each in overview.waits:
        how = f": {how_to_poke(each.subject)}" if each.subject.kind is WaitKind.POKE else "."
        yield f"It {describe_wait(each.subject, each.until, now)}{how}"
    if overview.waits:
        yield f"`holdfast wake {overview.id}` has it go on now, `holdfast stop {overview.id}` ends the turn."
    if overview.background:
        tasks = pluralize(overview.background, "background task")
        yield f"{tasks}, whose results come by themselves; `holdfast stop {overview.id}` ends them."
    if overview.held:
        yield f"{pluralize(overview.held, 'result')} of background tasks for the next turn: any prompt begins it."


def _describe_pause(pause: ProviderBackoff) -> Iterator[str]:
    if pause.kind == BEHIND_LIMIT:
        yield "Another request has met the limit of its model: it is asked again in turn."
        return
    if pause.kind == BEHIND_BUDGET:
        yield "What is left of its budget is reserved by other requests: it goes on when one of them has its answer."
        return
    yield f"The provider has failed ({escape_exact(pause.kind)}, attempt {pause.attempt}), and is asked again then."
    yield f"It said: {one_line(pause.message or '(deleted)', 300)}"


def describe_stop(stopped: AcceptedStop) -> str:
    withdrawn = f" {pluralize(len(stopped.withdrawn), 'prompt')} withdrawn." if stopped.withdrawn else ""
    number = len(stopped.background)
    tasks = f" {pluralize(number, 'background task')} stopped." if number else ""
    if stopped.turn is None:
        return f"No turn was running.{tasks}{withdrawn}"
    return f"The stop is recorded; the turn is ending.{tasks}{withdrawn}"


def describe_budget(budget: BudgetOverview) -> str:
    limits = {unit: limit for unit in Unit if (limit := budget.limits.of(unit)) is not None}
    used = "; ".join(describe_use(unit, budget.used.of(unit), limit) for unit, limit in limits.items())
    guessed = f" ({describe(Unit.COST, budget.estimated)} of it estimated)" if budget.estimated else ""
    reserved = ", ".join(describe(unit, held) for unit in limits if (held := budget.reserved.of(unit)))
    running = f"; running requests may use {reserved} more" if reserved else ""
    name = scope_name(budget.scope)
    return f"{name[0].upper()}{name[1:]}: {used} used{guessed}{running}."


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
