"""Tool: the one interface of everything a model can call."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from activities.files.place import Place
from workflows.domain.context.truncate import Limits
from workflows.domain.effects import Plan as Plan
from workflows.domain.effects import Recovery
from workflows.domain.ids import PartId, SessionId
from workflows.domain.value import Value


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


@dataclass(frozen=True)
class Surroundings:
    """What a call may use of the world around it.

    `environment` is what a program started by the tool gets, complete (security.md 10.1). `progress` shows
    live metadata (`title`, `metadata`) to watchers and may lose it. `fence` is asked again directly before an
    irrevocable step (rename, start of a program) and raises `StaleFence` when a later attempt has taken over.
    `limits` is how much of an output a model is shown.
    """

    session: SessionId
    call: PartId
    attempt: str
    place: Place
    environment: dict[str, str]
    progress: Callable[[dict[str, JsonValue]], Awaitable[None]]
    fence: Callable[[], Awaitable[None]]
    settings: dict[str, Any] = field(default_factory=dict)
    limits: Limits = Limits()


class Unknown(Exception):
    """Raised by a tool when nobody can know whether its effect happened; the message says what is known."""


class Tool(ABC, Generic[P]):
    """A tool: `plan` looks, `run` acts, `recover` finds out what an interrupted run did.

    `ToolError` from any of the three is what the model reads as the call's error.
    """

    name: ClassVar[str]
    recovery: ClassVar[Recovery]
    params: ClassVar[type[Params]]

    @abstractmethod
    async def plan(self, params: P, place: Place) -> Plan:
        """What this call would do now; reads the world, changes nothing. Errors come before any question."""

    @abstractmethod
    async def run(self, params: P, plan: Plan, around: Surroundings) -> Output:
        """Carry the plan out; called at most once per claim."""

    async def recover(self, params: P, claimed: Plan, around: Surroundings) -> Output:
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
