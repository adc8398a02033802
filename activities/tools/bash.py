"""bash: runs a shell command under a supervisor that outlives the worker (opencode.md 3.4, design.md 6)."""

import asyncio
import os.path
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import Field

from activities.failpoints import armed
from activities.files.place import Place
from activities.shell import ending, spool
from activities.shell.follow import follow
from activities.shell.lease import CallDirectory
from activities.shell.parse import shell_requests
from activities.shell.report import failure, lost, report
from activities.shell.start import start
from activities.shell.supervisor.order import Order
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool, Unknown
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.value import Value

_SHORT: Final = 256  # characters of a command that is checked within milliseconds
_FAILPOINTS: Final = ("supervisor.leased", "supervisor.exit_written")


class BashParams(Params):
    """Arguments of bash; an older `description` is accepted and ignored."""

    command: str = Field(description="The command, run by bash as it stands")
    timeout: int | None = Field(default=None, gt=0, description="Time limit in milliseconds; 120000 when left out")
    workdir: str | None = Field(
        default=None, description="Directory to run in, relative to the working directory; use it instead of `cd`"
    )


class Allowance(Value):
    """What a command may use when it says nothing else."""

    timeout_ms: int = 120_000
    spool_bytes: int = 50 * 1024 * 1024  # of output; the command is ended there (security.md 13)
    lease_seconds: float = 1_800.0  # so long a command goes on without any worker (reliability.md 6)


class Bash(Tool[BashParams]):
    """A command in a fresh shell. Whichever attempts start a supervisor, only the one with the lease runs it."""

    name = "bash"
    recovery = Recovery.REATTACHABLE
    params = BashParams
    subject = "command"
    runs_unchecked = True

    def __init__(self, allowance: Allowance | None = None) -> None:
        self.allowance = allowance or Allowance()

    async def takes_long(self, params: BashParams, place: Place) -> bool:
        return len(params.command) > _SHORT

    async def plan(self, params: BashParams, place: Place) -> Plan:
        directory = await asyncio.to_thread(_directory, place, params.workdir)
        needed = await asyncio.to_thread(shell_requests, params.command, directory, place)
        arguments = params.model_dump(exclude_none=True)
        effect = Effect(
            tool=self.name,
            arguments=arguments,
            directory=str(directory),
            environment=needed.environment,
            targets=needed.scripts,
        )
        return Plan(requests=needed.requests, effect=effect)

    def unchecked(self, params: BashParams, place: Place, reason: str) -> Plan:
        """In the directory that the model named, whatever stands there."""
        directory = Path(os.path.normpath(place.directory / (params.workdir or "")))
        return super().unchecked(params, replace(place, directory=directory), reason)

    async def run(self, params: BashParams, plan: Plan, around: Surroundings) -> Output:
        """Nobody has tried before us: when the disk does not take the order, nothing has run, and nothing will."""
        try:
            await self._begin(params, plan, around)
        except OSError as error:
            raise ToolError(f"The command could not be started, and has not run: {error.strerror}") from error
        return await _outcome(params, CallDirectory.of(around.place, around.call), around)

    async def recover(self, params: BashParams, claimed: Plan, around: Surroundings) -> Output:
        """Follow the command that an earlier attempt has started; run it when none has."""
        directory = CallDirectory.of(around.place, around.call)
        if directory.lease() is None:
            await self._begin(params, claimed, around)
        return await _outcome(params, directory, around)

    async def stop(self, params: BashParams, claimed: Plan, around: Surroundings) -> Output | None:
        """End the command and what it has left in the background; None when it had not begun, and now never will."""
        directory = CallDirectory.of(around.place, around.call)
        lease = await asyncio.to_thread(ending.stop, directory, around.call)
        if lease.keeper is None:
            return None
        end = directory.end()
        if end is None:
            raise Unknown(await asyncio.to_thread(lost, lease, directory, around))
        return await asyncio.to_thread(report, params.command, end, directory, around)

    async def _begin(self, params: BashParams, plan: Plan, around: Surroundings) -> None:
        await around.fence()
        await start(CallDirectory.of(around.place, around.call), self._order(params, plan, around))

    def _order(self, params: BashParams, plan: Plan, around: Surroundings) -> Order:
        faults = {name: armed(name, around.call) for name in _FAILPOINTS}
        return Order(
            arguments=[_bash(around.environment), "--noprofile", "--norc", "-c", params.command],
            directory=plan.effect.directory,
            environment={**around.environment, **plan.effect.environment},
            timeout=(params.timeout or self.allowance.timeout_ms) / 1000,
            spool_bytes=self.allowance.spool_bytes,
            lease_seconds=self.allowance.lease_seconds,
            faults={name: action for name, action in faults.items() if action},
        )


async def _outcome(params: BashParams, directory: CallDirectory, around: Surroundings) -> Output:
    """Follow the command to its end. Raises ToolError when it was killed, Unknown when its supervisor was."""
    end = await follow(directory, Watch(params.command, directory.spool, around))
    if end is None:
        raise await _no_end(directory, around)
    output = await asyncio.to_thread(report, params.command, end, directory, around)
    if reason := failure(end):
        raise ToolError(f"{reason}\n\n{output.output}")
    return output


async def _no_end(directory: CallDirectory, around: Surroundings) -> Exception:
    """What it means that nobody will ever record an end; what may still run is killed."""
    lease = directory.lease()
    if lease is None or lease.keeper is None:
        return ToolError("The command was stopped before it began. It has not run.")
    await around.fence()
    await asyncio.to_thread(ending.kill, lease, around.call)
    return Unknown(await asyncio.to_thread(lost, lease, directory, around))


@dataclass
class Watch:
    """Shows people the output of a running command, whenever there is more of it."""

    title: str
    output: Path
    around: Surroundings
    seen: int = 0

    async def __call__(self) -> None:
        size = spool.size(self.output)
        if size != self.seen:
            self.seen = size
            text = await asyncio.to_thread(spool.live, self.output)
            await self.around.progress({"title": self.title, "metadata": {"output": text}})


def _directory(place: Place, workdir: str | None) -> Path:
    """Where the command runs, links resolved: the directory that is judged is the one that is used."""
    named = Path(os.path.normpath(place.directory / (workdir or "")))
    try:
        found = named.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"NotFound: FileSystem.access ({named})") from error
    if not found.is_dir():
        raise ToolError(f"The working directory {str(named)!r} is not a directory.")
    return found


def _bash(environment: dict[str, str]) -> str:
    standard = Path("/bin/bash")
    found = str(standard) if standard.exists() else shutil.which("bash", path=environment.get("PATH"))
    if found is None:
        raise ToolError("There is no bash on this machine: install it to run commands.")
    return found
