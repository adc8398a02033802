"""A session as a story for people: its one renderer of events and of what is not final yet."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Protocol, TypedDict

import click
from pydantic import JsonValue

from worker.cli import answer_words
from worker.cli.look import parking
from worker.cli.look.arguments import todo
from worker.cli.look.contents import CallContent, ask_of, call_of, note_of, part_of, prompt_of
from worker.cli.look.effect import hunks, picture
from worker.cli.look.gauge import Gauge
from worker.cli.look.growth import Growth, whole
from worker.cli.look.numbered import colour, numbered
from worker.cli.look.page import Page
from worker.cli.look.standing import again
from worker.cli.look.text import DIFF, OUTPUT, clock, collapsed, counted, exact, line, price, prose
from worker.cli.look.wrap import boxed, flowed, folded
from worker.client import Delta, InboxEntry, Mode, Seen
from workflows.domain import events
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, ReasoningPart, TextPart
from workflows.domain.usage import Cost

_MARKS: Final = {
    CallState.DONE: click.style("✓", fg="green"),
    CallState.FAILED: click.style("✗", fg="red"),
    CallState.UNKNOWN: click.style("?", fg="yellow", bold=True),
    CallState.CANCELLED: click.style("–", dim=True),
    CallState.REFUSED: click.style("✗", fg="red"),
}
_QUICK: Final = ("repeatable", "idempotent")  # calls of these classes are shown when they are done
_LISTED: Final = 50  # todos
_FURTHER: Final = 4  # blanks before the rows that a line goes on in: no line of ours begins so, and some quote others


class Teller(Protocol):
    """Tells what happens to a session."""

    def tell(self, seen: Seen) -> None:
        """An event."""

    def show(self, delta: Delta) -> None:
        """A piece of what is not final."""

    def ask(self, entry: InboxEntry) -> None:
        """An ask that waits now: what it is about, and how it is answered."""


class Shown(TypedDict):
    """How answers are shown."""

    thinking: bool
    quote: str


class Story:
    """Tells a session to a person. Text of models and tools is escaped here, before it reaches the page.

    `below` says that it is a subagent's, which goes on with its parent's or not at all. `gauge` is told what
    goes on just now, and knows what waits. `thinking`: what the model thinks is told, too.
    """

    def __init__(
        self,
        page: Page,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        below: bool = False,
        gauge: Gauge | None = None,
        thinking: bool = False,
    ) -> None:
        self.page = page
        self._shown: Shown = {"thinking": thinking, "quote": "> " if page.live else "  "}
        self._growth = Growth(**self._shown)
        self._gauge = gauge
        self._below = below
        self._now = now
        self._attempts: dict[str, tuple[int, ...]] = {}
        self._final: set[str] = set()
        self._quick: set[PartId] = set()
        self._asked: set[PartId] = set()
        self._working = False

    def show(self, delta: Delta) -> None:
        """Show a piece of an answer or of a call's output; an attempt replaces the one before it."""
        if delta.source in self._final or not self.page.live:
            return
        attempt = tuple(int(number) for number in delta.attempt.split("-"))
        known = self._attempts.setdefault(delta.source, attempt)
        if attempt < known:
            return
        if attempt > known:
            self._begin_again()
            self._attempts[delta.source] = attempt
        self._piece(delta.source, delta.body)

    def ask(self, entry: InboxEntry) -> None:
        shown = picture(entry, columns=self.page.columns)
        for each in shown.lines:
            self.page.line(each)
        if shown.hidden:
            self.page.line(f"  Some of it is hidden. All of it: holdfast asks {entry.id}")
        else:
            self.page.line(f"  {answer_words.command(entry.id)}")

    def tell(self, seen: Seen) -> None:
        """Tell one event; those that only auditors need are in `holdfast log`."""
        event = seen.record.event
        match event:
            case events.TurnOpened():
                self._working = True
                self._say(f"Turn {event.number} · {line(event.agent)} · {exact(event.model)}", dim=True)
            case events.TurnEnded():
                self._turn_ended(seen, event)
            case events.ModelRetry():
                self._retry(seen, event)
            case events.MessageCompleted():
                self._completed(seen, event)
            case _:
                self._delivered(seen, event)

    def _delivered(self, seen: Seen, event: events.Event) -> None:
        """What people have said, and what became of it."""
        match event:
            case events.PromptAccepted() if self._working:
                self._accepted(seen, event)
            case events.PromptTaken():
                self._prompt(prompt_of(seen, event.prompt))
            case events.PromptWithdrawn():
                self._say(f"Withdrawn: {line(prompt_of(seen, event.prompt))}")
            case events.RetryAccepted():
                self._say(f"The failed turn is retried, by {exact(seen.record.actor.subject)}.")
            case events.RetryWithdrawn():
                self._say(f"The retry was withdrawn: {line(event.reason)}.")
            case events.SessionParked():
                self._parked(seen, event)
            case events.SessionUnparked(resumed=True):
                self._say(f"It goes on, says {exact(seen.record.actor.subject)}.")
            case events.SessionEnded():
                self._say(f"The session has ended: {line(event.reason)}.")
            case events.StopAccepted():
                self._say(f"A stop was accepted, from {exact(seen.record.actor.subject)}.")
            case _:
                self._call(seen, event)

    def _accepted(self, seen: Seen, event: events.PromptAccepted) -> None:
        how = "waits for a turn of its own" if event.mode == Mode.QUEUE else "joins at the next step"
        self._say(f"+ {line(prompt_of(seen, event.prompt))} ({how})")
        if self._gauge is not None and (behind := self._gauge.behind()):
            self._say(f"  {behind}", fg="yellow")

    def _parked(self, seen: Seen, event: events.SessionParked) -> None:
        self._say(f"Parked: {parking.why(event.reason, event.was, event.now)}", fg="yellow")
        for each in parking.ways(seen.record.session):
            self._say(each)

    def _call(self, seen: Seen, event: events.Event) -> None:
        match event:
            case events.SessionConfigured():
                self._say(f"The next turns go by the configuration of {exact(seen.record.actor.subject)}'s shell.")
            case events.CallPrepared() if event.recovery in _QUICK:
                self._quick.add(event.call)
            case events.CallClaimed() if event.recovered or event.call not in self._quick:
                self._claimed(seen, event)
            case events.CallFinished():
                self._finished(seen, event)
            case events.TaskStarted():
                self._say(f"  @{line(event.agent)} works on it ({event.child})", dim=True)
            case events.CallDrifted():
                self._say(f"What {self._label(seen, event.call)} would do has changed since it was decided.")
            case _:
                self._asking(seen, event)

    def _asking(self, seen: Seen, event: events.Event) -> None:
        match event:
            case events.AskRaised():
                self._asked.add(event.call)
                label = self._label(seen, event.call, less=len(event.ask))
                self._say(f"? {label} needs an answer ({event.ask})", fg="yellow")
            case events.AskAnswered():
                self._say(f"  {_answer(seen, event)}", fg="yellow")
            case events.AskClosed():
                self._say(f"  The question {event.ask} was closed: {line(event.reason)}.")
            case events.AskReopened():
                self._say(f"! {event.ask} was marked as answered, but not in the log: it is open again.", fg="red")
            case events.AnswerRefused():
                self._say(f"  An answer ({event.reply}) was refused: {line(event.reason, 300)}")
            case events.AnswerNotRun():
                self._say(f"  The answer to {event.ask} was accepted, but not run: the turn was stopped.")
            case events.GrantMade():
                rule = f"{exact(event.permission)}: {exact(', '.join(event.patterns))}"
                self._say(f"  From now on allowed in this {event.scope}: {rule} ({event.grant})", dim=True)
            case events.GrantRevoked():
                self._say(f"The grant {event.grant} was revoked by {exact(seen.record.actor.subject)}.")

    def _say(self, text: str, *, fg: str | None = None, dim: bool | None = None) -> None:
        room = self.page.columns
        for row in (text if room is None else flowed(text, room, _FURTHER)).split("\n"):
            self.page.line(click.style(row, fg=fg, dim=dim) if fg or dim else row)

    def _prompt(self, text: str) -> None:
        shown = collapsed(prose(text.strip()), OUTPUT).text
        room = self.page.columns
        for row in folded(shown, None if room is None else room - 2):
            self.page.line(click.style(f"> {row}", bold=True))

    def _piece(self, source: str, body: dict[str, JsonValue]) -> None:
        """One piece: text grows, everything else is only mentioned."""
        match body:
            case {"kind": "text" | "reasoning" as kind, "text": str(text), "part": int(part)}:
                self.page.grow(self._growth.more(kind, part, prose(text)))
                self._doing("answers" if kind == "text" else "thinks")
            case {"kind": "call", "name": str(name)}:
                self._doing(f"prepares {line(name, 30)}")
            case {"title": str(title), "metadata": {"output": str(output)}}:
                if self._gauge is not None:
                    self._gauge.writes(source, title, output)

    def _doing(self, what: str) -> None:
        if self._gauge is not None:
            self._gauge.doing(what)

    def _begin_again(self) -> None:
        self.page.retract()
        self._growth = Growth(**self._shown)

    def _completed(self, seen: Seen, event: events.MessageCompleted) -> None:
        self._final.add(event.message)
        parts = (part_of(seen, sealed.part) for sealed in event.parts if sealed.kind in ("text", "reasoning"))
        texts = ((part.type, prose(part.text)) for part in parts if isinstance(part, TextPart | ReasoningPart))
        self.page.settle(whole(texts, **self._shown))
        if event.finish == "length":
            said = event.tokens.output + event.tokens.reasoning
            limit = f"{said:,} tokens" if said else "its limit"
            self._say(f"! The answer was cut at {limit}.", fg="yellow")
        self._growth = Growth(**self._shown)

    def _claimed(self, seen: Seen, event: events.CallClaimed) -> None:
        call = call_of(seen, event.call)
        if event.recovered and call and call.tool == "task":
            return  # its subagent has gone on all the time
        again = " (resumed after an interruption)" if event.recovered else ""
        self._say(f"… {self._label(seen, event.call)}{again}")

    def _finished(self, seen: Seen, event: events.CallFinished) -> None:
        self._final.add(event.call)
        state = CallState(event.state)
        call = call_of(seen, event.call)
        failure = call.failure if call is not None and state is CallState.DONE else None
        mark = _MARKS[CallState.FAILED if failure else state]
        told = f" ({failure or state})" if failure or state is not CallState.DONE else _cost(call)
        self.page.line(f"{mark} {self._label(seen, event.call)}{told}")
        known = event.call in self._asked
        for each in _result(call, state, known=known, columns=self.page.columns) if call else ():
            self.page.line(each)

    def _label(self, seen: Seen, name: PartId, less: int = 0) -> str:
        """A call in few words, so that a line holds it with so much `less` and a remark of ours."""
        call = call_of(seen, name)
        if call is None:
            return f"a call whose content was erased ({name})"
        room = min((self.page.columns or 150) - 36 - less, 100)
        return f"{exact(call.name)}  {line(call.label, max(room, 20))}"

    def _retry(self, seen: Seen, event: events.ModelRetry) -> None:
        self._begin_again()
        due, now = datetime.fromisoformat(event.next_at), self._now()
        when = f"retrying at {clock(due, now)}" if due > now else "retried"
        said = line(note_of(seen, event.note), 200)
        self._say(f"{when} (attempt {event.attempt}): {said}", fg="yellow")

    def _turn_ended(self, seen: Seen, event: events.TurnEnded) -> None:
        self._begin_again()
        self._working = False
        if event.note is not None:
            self._say(f"The task failed: {prose(note_of(seen, event.note))}", fg="red")
            if not self._below:
                self._say(f"  {again(seen.record.session)}")
        elif event.reason != "done":
            self._say(f"The turn has ended: {event.reason}.")


def _answer(seen: Seen, event: events.AskAnswered) -> str:
    who = exact(seen.record.actor.subject)
    if event.by_grant is not None:
        return f"→ allowed by the grant {event.by_grant}, from {who}"
    if event.reply != "reject":
        return f"→ {event.reply}, from {who}"
    ask = ask_of(seen, event.ask)
    why = f": {prose(ask.feedback)}" if ask and ask.feedback else ""
    return f"→ rejected by {who}{why}"


def _cost(call: CallContent | None) -> str:
    """What a subagent has cost, of a call that one has worked for."""
    known = call.outcome.metadata if call and call.outcome and call.tool == "task" else {}
    if "cost" not in known:
        return ""
    cost = Cost(dollars=Decimal(str(known["cost"] or 0)), unpriced=int(str(known.get("unpriced", 0))))
    return f" · {price(cost)}"


def _result(call: CallContent, state: CallState, *, known: bool, columns: int | None) -> Iterator[str]:
    """What people see of an outcome: differences, the output of commands, the list of tasks, what went wrong."""
    outcome = call.outcome
    if outcome is None:
        return
    diff, todos = outcome.metadata.get("diff"), outcome.metadata.get("todos")
    if state is not CallState.DONE or call.tool == "bash":
        shown = collapsed(prose(call.output.strip("\n")), OUTPUT).text
        yield from boxed(shown, columns) if shown else []
    elif isinstance(diff, str):
        changed = "" if known else hunks(diff)
        yield from boxed(collapsed(numbered(prose(changed)), DIFF).text, columns, colour) if changed else []
    elif isinstance(todos, list):
        yield from (f"  {line(todo(each))}" for each in todos[:_LISTED] if isinstance(each, dict))
        yield from [f"  … and {counted(len(todos) - _LISTED, 'task')} more"] if len(todos) > _LISTED else []
