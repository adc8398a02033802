"""The status line: a spinner, the turn's duration, activity and cost."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import cycle
from typing import Final, NamedTuple

from worker.cli.render.escaping import escape_prose, one_line
from worker.cli.render.event_contents import ask_name, call_of
from worker.cli.render.formatting import (
    format_clock,
    format_duration,
    format_price,
    format_prompts_behind_wait,
    format_queued_prompts,
    format_tokens,
    format_upcoming,
)
from worker.cli.render.session_status import describe_wait
from worker.stored_contents import begun_wait
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.generations import MessageCompleted, ModelRetry, PauseEnded
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import AskId, MessageId, PartId, SessionId
from workflows.domain.usage import Cost
from workflows.domain.views.events import EventWithContents
from workflows.domain.waits import WaitSubject

_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL: Final = 4  # lines of a running command's output
_ASKING: Final = "asks the model"
THINKING: Final = "thinking"
WAITING: Final = "waits for the answer"
_TIMED: Final = frozenset({THINKING, WAITING})  # activities that are shown with their duration


class BegunWait(NamedTuple):
    """`until`: its moment, or the latest one."""

    session: SessionId
    subject: WaitSubject
    until: datetime | None


class WaitTracker:
    """Follows the events of a session and its subagents."""

    def __init__(self, session: SessionId) -> None:
        self._session = session
        self._running: dict[SessionId, set[PartId]] = defaultdict(set)
        self._children: dict[PartId, SessionId] = {}
        self._waits: dict[PartId, BegunWait] = {}

    def on_event(self, seen: EventWithContents) -> None:
        session = seen.record.session
        match event := seen.record.event:
            case TurnOpened():
                self._running[session].clear()
            case CallClaimed():
                self._running[session].add(event.call)
            case TaskStarted():
                self._children[event.call] = event.child
            case WaitBegun():
                self._waits[event.call] = BegunWait(session, *begun_wait(seen, event))
            case WaitEnded():
                self._waits.pop(event.call, None)
            case CallFinished():
                self._running[session].discard(event.call)
                self._waits.pop(event.call, None)

    @property
    def waits_itself(self) -> bool:
        return any(wait.session == self._session for wait in self._waits.values())

    @property
    def wait(self) -> BegunWait | None:
        """The wait that began first, if everything that runs waits."""
        return next(iter(self._waits.values()), None) if self._only_waits(self._session) else None

    def _only_waits(self, session: SessionId) -> bool:
        """Whether a session only waits: without a running call it asks its model."""
        running = self._running[session]
        return bool(running) and all(self._is_wait(call) for call in running)

    def _is_wait(self, call: PartId) -> bool:
        return call in self._waits or (call in self._children and self._only_waits(self._children[call]))


class StatusLine:
    """Follows the events of a session and its subagents."""

    def __init__(self, session: SessionId, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._session = session
        self._now = now
        self._frames = cycle(_SPINNER)
        self._begun: datetime | None = None
        self._working = False
        self._activity = ""
        self._last_event = self._since = now()  # of the activity
        self._running: dict[PartId, str] = {}
        self._written: tuple[PartId, list[str]] = PartId(""), []
        self._pause: datetime | None = None
        self._waiting: dict[MessageId, None] = {}
        self._waits = WaitTracker(session)
        self._asks: dict[AskId, str] = {}  # with their names
        self.steps = 0
        self.tokens = 0
        self.cost = Cost()
        self.duration: float | None = None

    def set_activity(self, what: str) -> None:
        """Set an activity that no event reports, such as a growing answer."""
        if what != self._activity:
            self._since = self._now() if self._activity else self._last_event
        self._activity, self._pause = what, None

    def set_output(self, call: str, title: str, output: str) -> None:
        self.set_activity(self._running.get(PartId(call), title))
        rows = output.rstrip().split("\n")[-_TAIL:] if output.strip() else []
        overwritten = (row.rstrip("\r").rpartition("\r")[2] for row in rows)  # as in progress bars
        self._written = PartId(call), [escape_prose(row).expandtabs() for row in overwritten]

    @property
    def output_tail(self) -> list[str]:
        return self._written[1] if self._working and self._written[0] in self._running else []

    def on_event(self, seen: EventWithContents) -> None:
        self._waits.on_event(seen)
        match event := seen.record.event:
            case MessageCompleted():
                self.tokens += event.tokens.prompt + event.tokens.output + event.tokens.reasoning
                self.cost += Cost.of(event.cost)
                if event.turn is not None:
                    self.steps += 1
                    self._pause = None
            case AskRaised():
                self._asks[event.ask] = ask_name(seen, event.ask)
            case AskAnswered() | AskClosed():
                self._asks.pop(event.ask, None)
            case PauseEnded():
                self._pause = None
            case ModelRetry() if event.purpose.delays_turn:
                self._pause = self._last_event = datetime.fromisoformat(event.next_at)
                self._activity = ""
            case _ if seen.record.session == self._session:
                self._own(seen, datetime.fromisoformat(seen.record.at))

    def _own(self, seen: EventWithContents, at: datetime) -> None:
        self._last_event = at
        match event := seen.record.event:
            case TurnOpened():
                self._begun, self._working, self._activity, self._running = at, True, "", {}
                self.steps, self.tokens, self.cost = 0, 0, Cost()
            case TurnEnded():
                self.duration = (at - self._begun).total_seconds() if self._begun else None
                self._begun, self._working, self._pause = None, False, None
            case PromptAccepted():
                self._waiting[event.prompt] = None
            case PromptTaken() | PromptWithdrawn():
                self._waiting.pop(event.prompt, None)
                self._working = self._working or isinstance(event, PromptTaken)
            case CallClaimed():
                call = call_of(seen, event.call)
                self._activity = ""
                self._running[event.call] = (
                    f"{one_line(call.tool, 20)}  {one_line(call.label, 60)}" if call else "a call"
                )
            case CallFinished():
                self._running.pop(event.call, None)
                self._activity = ""

    def text(self) -> str:
        """The line with the spinner's next frame; empty while nothing works."""
        if not self._working and not self._waiting:
            return ""
        return f"{next(self._frames)} {' · '.join(self._pieces())}"

    def queued_prompts(self) -> str:
        if self._waits.waits_itself and not self._asks:
            return format_prompts_behind_wait(len(self._waiting), self._session)
        return format_queued_prompts(len(self._waiting), next(iter(self._asks.values()), None))

    def _pieces(self) -> Iterator[str]:
        now = self._now()
        if self._begun is not None:
            yield format_duration((now - self._begun).total_seconds())
        if self._asks:
            yield "waits for your answer"
        elif self._pause is not None and self._pause > now:
            yield f"waits for the provider until {format_upcoming(self._pause, now)}"
        elif not self._working:
            yield "begins"
        elif (wait := self._waits.wait) is not None:
            who = "" if wait.session == self._session else "a subagent "
            yield f"{who}{describe_wait(wait.subject, wait.until, now)}"
        elif self._activity in _TIMED:
            yield f"{self._activity} for {format_clock(now - self._since)}"
        else:
            yield one_line(self._activity or next(reversed(self._running.values()), _ASKING), 40)
        if self._begun is not None and self.steps:
            yield f"{format_tokens(self.tokens, self.steps)} · {format_price(self.cost)}"
        if queued := self.queued_prompts():
            yield queued
