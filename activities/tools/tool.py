"""Tool: the interface of everything a model can call."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import JsonValue, SecretStr

from activities.files.workspace import Workspace
from activities.turn_context import TurnContext
from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.html_conversion import TextFormat
from workflows.domain.agents.agent import Agent
from workflows.domain.call_display import CallDisplay
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.effects import Plan as Plan
from workflows.domain.errors import OutcomeUnknown
from workflows.domain.file_changes import FileVersion
from workflows.domain.ids import PartId, SessionId
from workflows.domain.messages import SessionChange
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.prompt import Prompt
from workflows.domain.questions import Answers
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Cost
from workflows.domain.value import Value
from workflows.domain.waits import WaitStatus, WaitSubject
from workflows.domain.wire import CloseReason

P = TypeVar("P")


class Output(Value):
    """`output` is for the model, the rest for people and clients. `reminder_at`: as in `Outcome`. `truncated`: the tool
    has shortened its output itself; else `activities.calls.output` does. `versions`: of the files that it has shown or
    left. `changes` are stored in the outcome's transaction."""

    title: str
    output: str
    reminder_at: int | None = None
    metadata: dict[str, JsonValue] = {}
    truncated: bool = False
    attachments: tuple[dict[str, JsonValue], ...] = ()
    versions: tuple[FileVersion, ...] = ()
    changes: tuple[SessionChange, ...] = ()


class TaskRequest(Value):
    """Work for a subagent. `session` continues a session of an earlier call. `background`: the call does not wait."""

    agent: Agent
    title: str
    prompt: str
    session: SessionId | None = None
    background: bool = False


class SubagentCall(Value):
    """As clients show it; `status` is OpenCode's word."""

    id: PartId
    tool: str
    status: str
    title: str


class SubagentStatus(Value):
    """`settled`: the session does no more for this call. `reason`: how its turn ended (None: it never began). `error`:
    of its last act, if any. `text`: its last one. `calls`: the turn's newest MAX_CALLS."""

    session: SessionId
    agent: str
    settled: bool
    reason: CloseReason | None = None
    model: str | None = None
    text: str = ""
    error: str | None = None
    calls: tuple[SubagentCall, ...] = ()
    cost: Cost = Cost()
    seq: int = 0
    head: str = ""


class SubagentHandle(Protocol):
    async def start(self, task_request: TaskRequest) -> SubagentStatus:
        """Start it, once. Raises ToolError for a session that is not ours."""

    async def status(self) -> SubagentStatus | None:
        """Its progress; None: nothing was begun."""

    async def stop(self) -> SubagentStatus | None:
        """Stop it and wait for its end; None: nothing was begun."""


class Delegated(Value):
    child: SessionId
    agent: str


class WaitHandle(Protocol):
    async def begin(self, subject: WaitSubject, until: timedelta | datetime | None, *, met: bool) -> WaitStatus:
        """Begin it, once; `met`: what it is for has happened already."""

    async def status(self) -> WaitStatus | None:
        """After ending it if its moment has come; None: nothing was begun."""

    async def stop(self) -> WaitStatus | None:
        """End it, unless it has ended; None: nothing was begun."""


class Waiting(Value):
    """The call's row waits, and nothing runs. `seconds`: until it has to be looked at (None: when a signal comes)."""

    seconds: float | None


class WebHandle(Protocol):
    async def fetch(self, request: FetchRequest, may_fetch: Callable[[str], bool] = ...) -> Fetched:
        """What is there; `may_fetch` judges each address on the way. Raises FetchError, and what `may_fetch` raises."""

    async def convert(self, html: str, output_format: TextFormat, url: str) -> str:
        """The text of a page. Raises FetchError for one that takes too long, or too much memory."""

    def key(self, service: str) -> SecretStr | None:
        """A person's key of it. Raises UsageError for one that cannot be sent."""


@dataclass(frozen=True)
class ToolContext:
    """`environment`: all variables of a program that the tool starts (security.md 10.1); it follows links: call it in a
    thread. `progress` shows live metadata (`title`, `metadata`); updates may be lost. `answers`: a person's, to the
    call's questions. `queue_prompt`: one for a later turn of the session, once for a call. `attach`: claims files of
    instructions for this call's result, but for those that the session's context has. `fence`: call it directly before
    an irrevocable step (rename, start of a program); raises StaleFence when a later attempt has taken over."""

    session: SessionId
    call: PartId
    attempt: str
    turn: TurnContext
    environment: Callable[[], dict[str, str]]
    progress: Callable[[dict[str, JsonValue]], Awaitable[None]]
    answers: Callable[[], Awaitable[Answers | None]]
    queue_prompt: Callable[[Prompt], Awaitable[None]]
    attach: Callable[[Sequence[str]], Awaitable[frozenset[str]]]
    fence: Callable[[], Awaitable[None]]
    subagent: SubagentHandle
    wait: WaitHandle
    web: WebHandle

    @property
    def workspace(self) -> Workspace:
        return self.turn.workspace


class Tool(ABC, Generic[P]):
    """What a model can call. The model reads a `ToolError` as the call's error.

    A toolset holds instances: two of one class may differ in name, schema and process.
    """

    name: str
    recovery: Recovery
    quick: bool = False  # ends within milliseconds and may run twice: runs inside a workflow task and blocks it
    machine_bound: bool = True  # to the machine of the claim, which has its files and processes
    display: CallDisplay = CallDisplay()  # how people see its calls
    may_run_unchecked: bool = False  # a person's yes suffices where the call could not be checked
    gives_patches: bool | None = None  # for models that give patches, or for all others only; None: for all
    always_offered: bool = False  # whatever the rules say: its calls need no permission

    @property
    def permission(self) -> str:
        return self.name

    @abstractmethod
    def offer(self, turn_config: TurnConfig) -> ToolOffer | None:
        """The tool as a model sees it; None if it is not offered in this turn."""

    @abstractmethod
    def parse(self, arguments: Mapping[str, JsonValue]) -> P:
        """Raises ToolError."""

    @abstractmethod
    async def plan(self, params: P, turn: TurnContext) -> Plan:
        """What this call would do now; reads the world, changes nothing. Errors come before any question."""

    async def takes_long(self, params: P, turn: TurnContext) -> bool:
        """Whether `plan` needs a process that can be killed (bash, edit, write)."""
        return False

    def unchecked_plan(self, arguments: Mapping[str, JsonValue], turn: TurnContext, reason: str) -> Plan:
        """For a call that could not be checked: asks under every policy. A deny matches the model's text."""
        request = PermissionRequest(
            permission=self.permission,
            patterns=(str(arguments[self.display.subject]) if self.display.subject else "*",),
            opaque=f"This call could not be checked: {reason}.",
            guarded=True,
        )
        directory = str(turn.workspace.directory)
        effect = Effect(tool=self.name, arguments=dict(arguments), directory=directory, unchecked=True)
        return Plan(requests=(request,), effect=effect)

    @abstractmethod
    async def run(self, params: P, plan: Plan, context: ToolContext) -> Output | Delegated | Waiting:
        """Carry out the plan, have a subagent do it, or begin to wait; at most once per claim."""

    async def recover(self, params: P, claimed: Plan, context: ToolContext) -> Output | Delegated | Waiting:
        """Finish or reconstruct what an earlier attempt began under the `claimed` plan. Repeatable and idempotent tools
        run again instead."""
        raise OutcomeUnknown("The worker died while this call ran, and nothing tells whether it took effect.")

    async def stop(self, params: P, claimed: Plan, context: ToolContext) -> Output | None:
        """End what this call of a stopped turn still runs; return its partial result, if any. Not called when a worker
        shuts down.

        Raises `OutcomeUnknown` when the effect is uncertain; by default only repeatable tools are certain to have none.
        """
        if self.recovery.may_run_again:
            return None
        raise OutcomeUnknown("The turn was stopped while this call ran, and nothing tells whether it took effect.")


Toolset: TypeAlias = Mapping[str, Tool[Any]]


class Toolsets(Protocol):
    def of(self, turn: TurnConfig) -> Toolset:
        """The tools of a turn by name, with `invalid`; the same for the same configuration."""
