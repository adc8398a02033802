"""Failpoints: named moments at which a test makes a process die, hang, or lose a connection (reliability.md 8).

`HOLDFAST_FAILPOINTS="tool.claimed=kill9@1;tool.committed:prt_x=ambiguous"` arms them: `name[:call]=action[@n]`. At the
external points, which all calls of a kind pass, `call` is the current activity; at those of a model, what its answer is
for; `*` is any. `HOLDFAST_TEST_PROCESS`
names the test's directory: arrivals are recorded there, so that `@n` counts over all processes of the test. Never in
workflow code.
"""

import asyncio
import builtins
import fcntl
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workflows.domain import errors
from workflows.domain.errors import UsageError

VARIABLE: Final = "HOLDFAST_FAILPOINTS"
TEST_VARIABLE: Final = "HOLDFAST_TEST_PROCESS"
ARRIVALS: Final = "arrivals"  # file in the directory of the test: one line `name call pid` for each arrival

NAMES: Final = {
    "model.registering": "C: an attempt and what it takes are written, and not committed",
    "model.registered": "C: an attempt is registered, nothing is reserved or sent",
    "model.full": "M: a step's context is full, its compaction has not begun",
    "model.before_request": "C: the step is registered, the request not sent",
    "model.after_chunk": "D: a chunk of the answer has come",
    "model.retry_noted": "C: a provider's failure and its pause are committed, the failure not reported",
    "budget.locked": "budgets are locked, nothing is reserved or asked",
    "budget.reserved": "what a request may use is reserved, nothing is sent",
    "model.answered": "D: the answer is complete, nothing of it is stored",
    "model.committed": "E: the answer is committed, the completion not reported",
    "compaction.recorded": "M: what was done without a summary is committed, the completion not reported",
    "tool.before_claim": "H: the tool activity has started, nothing is claimed",
    "tool.claimed": "H2: the claim is committed, the effect has not begun",
    "tool.changing_file": "I: new content is prepared beside its files, and the next of them is about to be replaced",
    "tool.effect_done": "J: the effect is complete, the outcome not written",
    "tool.committed": "K: the outcome is committed, the completion not reported",
    "task.started": "L: a subagent's session and prompt are committed, the completion not reported",
    "task.settled": "L: the subagent's turn is closed, its parent is not signalled yet, or has no result of it",
    "task.delivered": "L: the result of a background task is accepted as a prompt, its session is not signalled yet",
    "wait.begun": "L: a wait on purpose is committed, the completion not reported",
    "supervisor.leased": "S: the supervisor has the lease, the command has not begun",
    "supervisor.exit_written": "S: the exit status is written, no worker has seen it",
    "schedule.fired": "a schedule's prompt is committed, the completion not reported",
    "archive.written": "an old session's rows are in a file, and still in the database",
    "archive.removed": "an old session's rows are removed, and its calls' files are not",
    "external.sql": "any: a statement is sent to PostgreSQL",
    "external.activity": "any: an activity is carried out",
    "external.signal": "any: a session's workflow is signalled",
}

_SYNTAX: Final = re.compile(r"([a-z_0-9.]+)(?::([^=:]+))?=([a-z0-9]+)(?::([^@]+))?(?:@([1-9][0-9]*))?")
_PLAIN_ACTIONS: Final = ("kill9", "stop", "drop", "ambiguous")
_ACTIONS_WITH_VALUE: Final = ("raise", "sleep", "block", "deaf")
_POLL_INTERVAL: Final = 0.01
_NO_CALL: Final = "-"  # an arrival without a call
_ANY_CALL: Final = "*"
_CURRENT_ACTIVITY: Final[ContextVar[str | None]] = ContextVar("current_activity", default=None)
_NO_OPERATION: Final = nullcontext()


@dataclass(frozen=True)
class ArmedFault:
    """A fault at a point: for every call or one, at every arrival or the n-th."""

    name: str
    call: str | None
    action: str
    value: str
    at: int | None

    @classmethod
    def parse(cls, text: str) -> "ArmedFault":
        form = _SYNTAX.fullmatch(text)
        if form is None:
            raise UsageError(f"{VARIABLE} holds {text!r}: write name[:call]=action[@n]")
        name, call, action, value, at = form.groups()
        if name not in NAMES:
            raise UsageError(f"{VARIABLE} names {name!r}: there are {', '.join(NAMES)}")
        fault = cls(name, call, action, value or "", int(at) if at else None)
        fault._check()
        return fault

    def matches(self, name: str, call: str | None) -> bool:
        if self.call == _ANY_CALL:
            return self.name == name and call not in (None, _NO_CALL)
        return self.name == name and self.call in (None, call)

    def exception(self) -> Exception:
        """The exception that `raise:TypeName` names: one of Python's or ours."""
        kind = getattr(builtins, self.value, None) or getattr(errors, self.value, None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise UsageError(f"{VARIABLE} raises {self.value!r}: name an exception of Python's or of ours")
        return kind(f"failpoint {self.name}")

    def _check(self) -> None:
        if self.action not in (_ACTIONS_WITH_VALUE if self.value else _PLAIN_ACTIONS):
            raise UsageError(
                f"{VARIABLE} has the action {self.action!r} at {self.name!r}: "
                f"there are {', '.join(_PLAIN_ACTIONS)}, and as action:value {', '.join(_ACTIONS_WITH_VALUE)}"
            )
        if self.action == "raise":
            self.exception()
        if self.action == "sleep" and not self.value.isdigit():
            raise UsageError(f"{VARIABLE} sleeps {self.value!r} at {self.name!r}: give milliseconds")


class _ArmedFaults:
    def __init__(self) -> None:
        self.faults: tuple[ArmedFault, ...] = ()
        self.names: frozenset[str] = frozenset()
        self.arrivals = Path()

    def record_arrival(self, name: str, call: str | None) -> ArmedFault | None:
        """Returns the fault that is due."""
        if name not in NAMES:
            raise LookupError(f"there is no failpoint {name!r}: add it to NAMES in {__name__}")
        with self.arrivals.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = [line.split()[:2] for line in file]
            file.write(f"{name} {call or _NO_CALL} {os.getpid()}\n")
        for fault in self.faults:
            if fault.matches(name, call) and fault.at in (None, 1 + sum(fault.matches(*line) for line in before)):
                return fault
        return None


_ARMED: Final = _ArmedFaults()


def configure(environment: Mapping[str, str]) -> None:
    """Raises UsageError outside a test, and for a malformed fault."""
    wanted = environment.get(VARIABLE, "")
    directory = environment.get(TEST_VARIABLE, "")
    if wanted and not directory:
        raise UsageError(f"{VARIABLE} is set outside of a test: unset it, or name the test's folder in {TEST_VARIABLE}")
    _ARMED.faults = tuple(ArmedFault.parse(text.strip()) for text in wanted.split(";") if text.strip())
    _ARMED.names = frozenset(fault.name for fault in _ARMED.faults)
    _ARMED.arrivals = Path(directory) / ARRIVALS


async def failpoint(name: str, call: str | None = None) -> None:
    if not _ARMED.faults:
        return
    if fault := _ARMED.record_arrival(name, call):
        await _perform(fault, _reset_connection)


def io_failpoint(name: str, disconnect: Callable[[], Awaitable[None]]) -> AbstractAsyncContextManager[None]:
    """Around an operation: `drop` disconnects before it, `ambiguous` after it. `disconnect` raises what a really lost
    connection raises."""
    return _wrap_operation(name, disconnect) if name in _ARMED.names else _NO_OPERATION


def during_activity(name: str) -> AbstractContextManager[None]:
    """Attribute the external points within the block to an activity."""
    return _set_current_activity(name) if _ARMED.faults else _NO_OPERATION


def armed_action(name: str, call: str | None = None) -> str | None:
    """The action due in a process being started; counts as an arrival."""
    fault = _ARMED.record_arrival(name, call) if _ARMED.faults else None
    return fault.action if fault else None


@asynccontextmanager
async def _wrap_operation(name: str, disconnect: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    fault = _ARMED.record_arrival(name, _CURRENT_ACTIVITY.get())
    if fault and fault.action != "ambiguous":
        await _perform(fault, disconnect)
    yield
    if fault and fault.action == "ambiguous":
        await disconnect()


@contextmanager
def _set_current_activity(name: str) -> Iterator[None]:
    before = _CURRENT_ACTIVITY.set(name)
    try:
        yield
    finally:
        _CURRENT_ACTIVITY.reset(before)


async def _reset_connection() -> None:
    raise ConnectionResetError


async def _perform(fault: ArmedFault, disconnect: Callable[[], Awaitable[None]]) -> None:
    match fault.action:
        case "kill9":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "raise":
            raise fault.exception()
        case "sleep":
            await asyncio.sleep(int(fault.value) / 1000)
        case "block":
            await _wait_for(Path(fault.value))
        case "deaf":
            await _wait_ignoring_cancellation(asyncio.create_task(_wait_for(Path(fault.value))))
        case _:
            await disconnect()


async def _wait_for(path: Path) -> None:
    path.with_name(f"{path.name}.reached").touch()
    for _ in iter(path.exists, True):
        await asyncio.sleep(_POLL_INTERVAL)


async def _wait_ignoring_cancellation(waiting: asyncio.Task[None]) -> None:
    """Like stuck code. The SDK cancels activities after a missed heartbeat: without this, a worker that is cut off
    would soon stop being a zombie."""
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if (current_task := asyncio.current_task()) is not None:
                current_task.uncancel()
