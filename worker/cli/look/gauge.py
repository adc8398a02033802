"""What goes on just now, on one line: a sign of life, how long the turn takes, what it does, what it has cost."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import cycle
from typing import Final

from worker.cli.look.contents import call_of
from worker.cli.look.text import behind, clock, line, price, prose, span, tokens
from worker.client import Seen
from workflows.domain import events
from workflows.domain.ids import AskId, MessageId, PartId, SessionId
from workflows.domain.usage import Cost

_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL: Final = 4  # lines of a running command's output
_ASKING: Final = "asks the model"


class Gauge:
    """Follows a session's events, its subagents' among them, and says how its turn stands."""

    def __init__(self, session: SessionId, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._session = session
        self._now = now
        self._frames = cycle(_SPINNER)
        self._begun: datetime | None = None
        self._working = False
        self._doing = ""
        self._running: dict[PartId, str] = {}
        self._written: tuple[PartId, list[str]] = PartId(""), []
        self._pause: datetime | None = None
        self._waiting: dict[MessageId, None] = {}
        self._asks: dict[AskId, None] = {}
        self.steps = 0
        self.tokens = 0
        self.cost = Cost()
        self.lasted: float | None = None

    def doing(self, what: str) -> None:
        """Something that no event tells: an answer grows, a command writes."""
        self._doing, self._pause = what, None

    def writes(self, call: str, title: str, output: str) -> None:
        """A command has written this so far."""
        self.doing(self._running.get(PartId(call), title))
        rows = output.rstrip().split("\n")[-_TAIL:] if output.strip() else []
        self._written = PartId(call), [prose(_last_state(row)).expandtabs() for row in rows]

    @property
    def tail(self) -> list[str]:
        """The last lines of what a running command has written."""
        return self._written[1] if self._working and self._written[0] in self._running else []

    def note(self, seen: Seen) -> None:
        """Take an event in."""
        match event := seen.record.event:
            case events.MessageCompleted():
                self.steps += 1
                self.tokens += event.tokens.prompt + event.tokens.output + event.tokens.reasoning
                self.cost += Cost.of(event.cost)
                self._pause = None
            case events.AskRaised():
                self._asks[event.ask] = None
            case events.AskAnswered() | events.AskClosed():
                self._asks.pop(event.ask, None)
            case events.ModelRetry():
                self._pause = datetime.fromisoformat(event.next_at)
            case _ if seen.record.session == self._session:
                self._own(seen, datetime.fromisoformat(seen.record.at))

    def _own(self, seen: Seen, at: datetime) -> None:
        match event := seen.record.event:
            case events.TurnOpened():
                self._begun, self._working, self._doing, self._running = at, True, "", {}
                self.steps, self.tokens, self.cost = 0, 0, Cost()
            case events.TurnEnded():
                self.lasted = (at - self._begun).total_seconds() if self._begun else None
                self._begun, self._working, self._pause = None, False, None
            case events.PromptAccepted():
                self._waiting[event.prompt] = None
            case events.PromptTaken() | events.PromptWithdrawn():
                self._waiting.pop(event.prompt, None)
                self._working = self._working or isinstance(event, events.PromptTaken)
            case events.CallClaimed():
                call = call_of(seen, event.call)
                self._doing = ""
                self._running[event.call] = f"{line(call.tool, 20)}  {line(call.label, 60)}" if call else "a call"
            case events.CallFinished():
                self._running.pop(event.call, None)
                self._doing = ""

    def told(self) -> str:
        """The line, with another sign of life each time; nothing while nobody works."""
        if not self._working and not self._waiting:
            return ""
        return f"{next(self._frames)} {' · '.join(self._pieces())}"

    def behind(self) -> str:
        """What waits behind a question, in words."""
        return behind(len(self._waiting), next(iter(self._asks), None))

    def _pieces(self) -> Iterator[str]:
        now = self._now()
        if self._begun is not None:
            yield span((now - self._begun).total_seconds())
        if self._asks:
            yield "waits for your answer"
        elif self._pause is not None and self._pause > now:
            yield f"waits for the provider until {clock(self._pause, now)}"
        elif not self._working:
            yield "begins"
        else:
            yield line(self._doing or next(reversed(self._running.values()), _ASKING), 40)
        if self._begun is not None and self.steps:
            yield f"{tokens(self.tokens, self.steps)} · {price(self.cost)}"
        if said := self.behind():
            yield said


def _last_state(row: str) -> str:
    """What a line reads that was written over itself, as bars of progress are."""
    return row.rstrip("\r").rpartition("\r")[2]
