"""Failpoints: named moments at which a test has a process die, hang, or lose a connection (reliability.md 8).

`HOLDFAST_FAILPOINTS="tool.claimed=kill9@1;tool.committed:prt_x=ambiguous"` arms them: `name[:call]=action[@n]`.
At the external points, which all calls of a kind pass, `call` is the activity that they are made in; `*` is any.
`HOLDFAST_TEST_PROCESS` must name the directory of the test: arrivals are written down there, and counted, so that
`@n` is the n-th arrival in all processes of the test, and does not come again after each restart.
Never in workflow code.
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
    "api.prompt.before_insert": "A: a prompt was posted, its row is not inserted",
    "api.prompt.after_insert": "A: the row is inserted, the bell has not rung",
    "model.before_request": "C: the step is registered, the request not sent",
    "model.after_chunk": "D: a chunk of the answer has come",
    "model.retry_noted": "C: a provider's failure and its pause are committed, the failure not reported",
    "model.committed": "E: the answer is committed, the completion not reported",
    "tool.before_claim": "H: the tool activity has started, nothing is claimed",
    "tool.claimed": "H2: the claim is committed, the effect has not begun",
    "tool.effect_done": "J: the effect is complete, the outcome not written",
    "tool.committed": "K: the outcome is committed, the completion not reported",
    "task.started": "L: a subagent's session and prompt are committed, the completion not reported",
    "task.settled": "L: the subagent's turn is closed, its parent's bell has not rung",
    "compaction.committed": "M: the summary is committed",
    "stop.cancelling": "O: the stop is accepted, tools still run",
    "supervisor.leased": "S: the supervisor has the lease, the command has not begun",
    "supervisor.exit_written": "S: the exit status is written, nobody has been told",
    "archive.written": "an old session's rows are in a file, and still in the database",
    "archive.removed": "an old session's rows are removed, and its calls' files are not",
    "external.sql": "any: a statement is sent to PostgreSQL",
    "external.activity": "any: an activity is carried out",
    "external.bell": "any: a session's workflow is signalled",
}

_FORM: Final = re.compile(r"([a-z_0-9.]+)(?::([^=:]+))?=([a-z0-9]+)(?::([^@]+))?(?:@([1-9][0-9]*))?")
_BARE: Final = ("kill9", "stop", "exit", "drop", "ambiguous")
_VALUED: Final = ("raise", "sleep", "block", "deaf")
_LOOK_PERIOD: Final = 0.01
_NOBODY: Final = "-"  # stands for no call among the arrivals
_ANYBODY: Final = "*"
_AT_WORK: Final[ContextVar[str | None]] = ContextVar("at_work", default=None)
_PASS: Final = nullcontext()


@dataclass(frozen=True)
class Fault:
    """What happens at a point: for every call or one, at every arrival or the n-th."""

    name: str
    call: str | None
    action: str
    value: str
    at: int | None

    @classmethod
    def parse(cls, text: str) -> "Fault":
        form = _FORM.fullmatch(text)
        if form is None:
            raise UsageError(f"{VARIABLE} holds {text!r}: write name[:call]=action[@n]")
        name, call, action, value, at = form.groups()
        if name not in NAMES:
            raise UsageError(f"{VARIABLE} names {name!r}: there are {', '.join(NAMES)}")
        fault = cls(name, call, action, value or "", int(at) if at else None)
        fault._check()
        return fault

    def meets(self, name: str, call: str | None) -> bool:
        if self.call == _ANYBODY:
            return self.name == name and call not in (None, _NOBODY)
        return self.name == name and self.call in (None, call)

    def exception(self) -> Exception:
        """What `raise:TypeName` raises: one of Python's own or one of ours."""
        kind = getattr(builtins, self.value, None) or getattr(errors, self.value, None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise UsageError(f"{VARIABLE} raises {self.value!r}: name an exception of Python's or of ours")
        return kind(f"failpoint {self.name}")

    def _check(self) -> None:
        if self.action not in (_VALUED if self.value else _BARE):
            raise UsageError(
                f"{VARIABLE} has the action {self.action!r} at {self.name!r}: "
                f"there are {', '.join(_BARE)}, and with a value (action:value) {', '.join(_VALUED)}"
            )
        if self.action == "raise":
            self.exception()
        if self.action == "sleep" and not self.value.isdigit():
            raise UsageError(f"{VARIABLE} sleeps {self.value!r} at {self.name!r}: give milliseconds")


class _Armed:
    """The faults of this process; the one thing here that changes, at start-up and in tests."""

    def __init__(self) -> None:
        self.faults: tuple[Fault, ...] = ()
        self.names: frozenset[str] = frozenset()
        self.arrivals = Path()

    def arrive(self, name: str, call: str | None) -> Fault | None:
        """Write an arrival down, and find the fault that is due at it."""
        if name not in NAMES:
            raise LookupError(f"there is no failpoint {name!r}: add it to NAMES in {__name__}")
        with self.arrivals.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = [line.split()[:2] for line in file]
            file.write(f"{name} {call or _NOBODY} {os.getpid()}\n")
        for fault in self.faults:
            if fault.meets(name, call) and fault.at in (None, 1 + sum(fault.meets(*line) for line in before)):
                return fault
        return None


_ARMED: Final = _Armed()


def configure(environment: Mapping[str, str]) -> None:
    """Arm the faults that the environment names, or none.

    Raises `UsageError` when it names some without being that of a test, or in a form that means nothing.
    """
    wanted = environment.get(VARIABLE, "")
    directory = environment.get(TEST_VARIABLE, "")
    if wanted and not directory:
        raise UsageError(f"{VARIABLE} is set outside of a test: unset it, or name the test's folder in {TEST_VARIABLE}")
    _ARMED.faults = tuple(Fault.parse(text.strip()) for text in wanted.split(";") if text.strip())
    _ARMED.names = frozenset(fault.name for fault in _ARMED.faults)
    _ARMED.arrivals = Path(directory) / ARRIVALS


async def failpoint(name: str, call: str | None = None) -> None:
    """A moment at which a test may have something happen; nothing ever does outside of tests."""
    if not _ARMED.faults:
        return
    if fault := _ARMED.arrive(name, call):
        await _happen(fault, _reset)


def io_failpoint(name: str, cut: Callable[[], Awaitable[None]]) -> AbstractAsyncContextManager[None]:
    """The same around an operation: `drop` cuts its connection before it is carried out, `ambiguous` after it.

    `cut` raises what a connection raises that is really cut.
    """
    return _operation(name, cut) if name in _ARMED.names else _PASS


def at_work(name: str) -> AbstractContextManager[None]:
    """Whose operations those are that pass the external points within the block."""
    return _named(name) if _ARMED.faults else _PASS


def armed(name: str, call: str | None = None) -> str | None:
    """The action that is due at a point of another process, which is started now; counts as an arrival there."""
    fault = _ARMED.arrive(name, call) if _ARMED.faults else None
    return fault.action if fault else None


@asynccontextmanager
async def _operation(name: str, cut: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    fault = _ARMED.arrive(name, _AT_WORK.get())
    if fault and fault.action != "ambiguous":
        await _happen(fault, cut)
    yield
    if fault and fault.action == "ambiguous":
        await cut()


@contextmanager
def _named(name: str) -> Iterator[None]:
    before = _AT_WORK.set(name)
    try:
        yield
    finally:
        _AT_WORK.reset(before)


async def _reset() -> None:
    raise ConnectionResetError


async def _happen(fault: Fault, cut: Callable[[], Awaitable[None]]) -> None:
    match fault.action:
        case "kill9":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "exit":
            os._exit(1)
        case "raise":
            raise fault.exception()
        case "sleep":
            await asyncio.sleep(int(fault.value) / 1000)
        case "block":
            await _wait_for(Path(fault.value))
        case "deaf":
            await _deaf(asyncio.create_task(_wait_for(Path(fault.value))))
        case _:
            await cut()


async def _wait_for(path: Path) -> None:
    """Tell the test that this moment is reached, and wait until it lets go."""
    path.with_name(f"{path.name}.reached").touch()
    for _ in iter(path.exists, True):
        await asyncio.sleep(_LOOK_PERIOD)


async def _deaf(waiting: asyncio.Task[None]) -> None:
    """See a wait to its end without hearing that one is cancelled, as something that is stuck does not.

    The SDK cancels what its server has not heard of for a while: a worker that is cut off would be no zombie for long.
    """
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if (deaf := asyncio.current_task()) is not None:
                deaf.uncancel()
