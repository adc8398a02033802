"""Tool: the one interface of everything a model can call."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from activities.files.place import Place
from workflows.domain.agents import Agent, Delegation
from workflows.domain.context.truncate import Limits
from workflows.domain.effects import Effect, Recovery
from workflows.domain.effects import Plan as Plan
from workflows.domain.ids import PartId, SessionId
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset, permission_of
from workflows.domain.usage import Cost
from workflows.domain.value import Value
from workflows.domain.wire import CloseReason

ABORTED: Final = "Tool execution aborted"  # what models know of a call that a stop has ended (opencode.md 7)


class Params(BaseModel):
    """Arguments of a tool, strictly typed; keys that a model adds are ignored (opencode.md 7.1)."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


P = TypeVar("P", bound=Params)


class Output(Value):
    """What a call gives back: `output` is what the model reads, the rest is for people and clients.

    `truncated` says that the tool has shortened its output itself; else `activities.tools.output` does it.
    """

    title: str
    output: str
    metadata: dict[str, JsonValue] = {}
    truncated: bool = False
    attachments: tuple[dict[str, JsonValue], ...] = ()


class Errand(Value):
    """Work that a call hands to a subagent: what it is called, what it is told, and which of the caller's rules
    hold for it. `session` goes on in a session that an earlier call has made."""

    agent: Agent
    title: str
    prompt: str
    session: SessionId | None = None


class ChildCall(Value):
    """A call of a subagent's turn, as clients show it; `status` is OpenCode's word for how it stands."""

    id: PartId
    tool: str
    status: str
    title: str


class Child(Value):
    """A subagent's session that works for a call, how far it is, and what it said last.

    `settled`: it will do no more for this call. `reason` is how its turn ended (none: it never began), `failed` the
    error of what it did last, if that was one. `calls` are those of the turn, the newest MOST_CALLS of them.
    """

    session: SessionId
    agent: str
    settled: bool
    reason: CloseReason | None = None
    model: str | None = None
    said: str = ""
    failed: str | None = None
    calls: tuple[ChildCall, ...] = ()
    cost: Cost = Cost()
    seq: int = 0
    head: str = ""


class Delegate(Protocol):
    """The subagent of one call."""

    async def start(self, errand: Errand) -> Child:
        """Have it work; one that does already is left as it is. Raises ToolError for a session that is not ours."""
        ...

    async def look(self) -> Child | None:
        """How far it is; None: nothing was begun."""
        ...

    async def stop(self) -> Child | None:
        """End it, and wait until it has really ended; None: nothing was begun."""
        ...


class GoesOn(Value):
    """What a call gives that a subagent works for: the call goes on until the subagent's bell."""

    child: SessionId
    agent: str


@dataclass(frozen=True)
class Surroundings:
    """What a call may use of the world around it.

    `environment` is what a program started by the tool gets, complete (security.md 10.1). `progress` shows
    live metadata (`title`, `metadata`) to watchers and may lose it. `fence` is asked again directly before an
    irrevocable step (rename, start of a program) and raises `StaleFence` when a later attempt has taken over.
    `limits` is how much of an output a model is shown, `delegate` the subagent that the call may hand work to.
    """

    session: SessionId
    call: PartId
    attempt: str
    place: Place
    environment: dict[str, str]
    progress: Callable[[dict[str, JsonValue]], Awaitable[None]]
    fence: Callable[[], Awaitable[None]]
    delegate: Delegate
    settings: dict[str, Any] = field(default_factory=dict)
    limits: Limits = Limits()


class Unknown(Exception):
    """Raised by a tool when nobody can know whether its effect happened; the message says what is known."""


class Stopped(Exception):
    """Raised by a tool when somebody has stopped what worked for its call; the message says what is known."""

    def __init__(self, message: str, metadata: dict[str, JsonValue] | None = None) -> None:
        super().__init__(message)
        self.metadata = metadata or {}


class Tool(ABC, Generic[P]):
    """A tool: `plan` looks, `run` acts, `recover` finds out what an interrupted run did.

    `ToolError` from any of the three is what the model reads as the call's error.
    """

    name: ClassVar[str]
    recovery: ClassVar[Recovery]
    params: ClassVar[type[Params]]
    bound: ClassVar[bool] = True  # to the machine on which it was claimed: its files and processes are there
    subject: ClassVar[str | None] = None  # the argument by which rules know a call
    runs_unchecked: ClassVar[bool] = False  # whether a person's yes is enough where the call could not be checked

    def described(self, delegation: Delegation, rules: Ruleset) -> dict[str, str] | None:
        """The values of what a model is told about this tool in a turn; None: it is not offered there."""
        return {}

    @abstractmethod
    async def plan(self, params: P, place: Place) -> Plan:
        """What this call would do now; reads the world, changes nothing. Errors come before any question."""

    async def takes_long(self, params: P, place: Place) -> bool:
        """Whether `plan` may take long, so that it is made in a process that can be killed (bash, edit and write)."""
        return False

    def unchecked(self, params: P, place: Place, reason: str) -> Plan:
        """The plan of a call that could not be checked: it asks under every policy, and says why. A deny still sees
        what the model wrote."""
        arguments = params.model_dump(mode="json", by_alias=True, exclude_unset=True)
        request = PermissionRequest(
            permission=permission_of(self.name),
            patterns=(str(getattr(params, self.subject)) if self.subject else "*",),
            opaque=f"This call could not be checked: {reason}.",
            guarded=True,
        )
        effect = Effect(tool=self.name, arguments=arguments, directory=str(place.directory), unchecked=True)
        return Plan(requests=(request,), effect=effect)

    @abstractmethod
    async def run(self, params: P, plan: Plan, around: Surroundings) -> Output | GoesOn:
        """Carry the plan out, or have a subagent do it; called at most once per claim."""

    async def recover(self, params: P, claimed: Plan, around: Surroundings) -> Output | GoesOn:
        """Finish or find out what an earlier attempt, whose claimed plan is given, has begun.

        Repeatable and idempotent tools are run again and never come here. Default: nobody knows.
        """
        raise Unknown("The worker died while this call ran, and nothing tells whether it took effect.")

    async def stop(self, params: P, claimed: Plan, around: Surroundings) -> Output | None:
        """End what this call still has running because its turn was stopped, and give back what it got so far.

        Called on a stop only, never when a worker just shuts down. None: it left nothing behind. Raises `Unknown`
        when nobody can vouch for that; default: only what is repeatable has no effect to vouch for.
        """
        if self.recovery in (Recovery.REPEATABLE, Recovery.IDEMPOTENT):
            return None
        raise Unknown("The turn was stopped while this call ran, and nothing tells whether it took effect.")
