"""bash: runs a shell command under a supervisor that outlives the worker (opencode.md 3.4, design.md 6)."""

import asyncio
import os.path
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import Field, JsonValue

from activities.failpoints import armed_action
from activities.files.workspace import Workspace
from activities.shell import spool
from activities.shell.command_exit import wait_for_exit
from activities.shell.launch import launch
from activities.shell.lease import CallDirectory
from activities.shell.shell_requests import shell_requests
from activities.shell.supervisor.command_spec import CommandSpec
from activities.tools.arguments import Params
from activities.tools.bash_report import build_output, describe_lost_command, record_statuses, report_end
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import OutcomeUnknown, ToolError
from workflows.domain.value import Value

_MAX_SHORT_CHARS: Final = 256  # characters of a command, checked within milliseconds
_LEAST_TIMEOUT: Final = 1000  # milliseconds; less was meant as seconds
_FAILPOINTS: Final = ("supervisor.leased", "supervisor.exit_written")


class BashParams(Params):
    """The older `description` is ignored."""

    command: str
    timeout: int | None = Field(default=None, gt=0)
    workdir: str | None = None


class CommandLimits(Value):
    timeout_ms: int = 120_000
    spool_bytes: int = 50 * 1024 * 1024  # of output, then the command is killed (security.md 13)
    lease_seconds: float = 1_800.0  # how long a command runs on without a worker (reliability.md 6)


class BashTool(BuiltInTool[BashParams]):
    """Runs shell commands. Of several supervisors, only the one with the lease runs the command."""

    name = "bash"
    recovery = Recovery.REATTACHABLE
    params = BashParams
    display = CallDisplay(kind=DisplayKind.EXECUTE, verb="run", subject="command")
    may_run_unchecked = True

    def __init__(self, limits: CommandLimits | None = None) -> None:
        self.limits = limits or CommandLimits()

    async def takes_long(self, params: BashParams, turn: TurnContext) -> bool:
        return len(params.command) > _MAX_SHORT_CHARS

    async def plan(self, params: BashParams, turn: TurnContext) -> Plan:
        if (timeout := params.timeout) is not None and timeout < _LEAST_TIMEOUT:
            raise ToolError(
                f"`timeout` is in milliseconds: {timeout} would end the command at once, so it was not run. "
                f"For {timeout} s write {timeout * 1000}."
            )
        directory = await asyncio.to_thread(_resolve_directory, turn.workspace, params.workdir)
        needed = await asyncio.to_thread(shell_requests, params.command, directory, turn)
        arguments = params.model_dump(exclude_none=True)
        effect = Effect(
            tool=self.name,
            arguments=arguments,
            directory=str(directory),
            environment=needed.environment,
            targets=needed.scripts,
            opens=turn.rules.opened(needed.requests),
        )
        return Plan(requests=needed.requests, effect=effect)

    def unchecked_plan(self, arguments: Mapping[str, JsonValue], turn: TurnContext, reason: str) -> Plan:
        """In the directory that the model named, unresolved."""
        directory = Path(os.path.normpath(turn.workspace.directory / str(arguments.get("workdir") or "")))
        return super().unchecked_plan(
            arguments, replace(turn, workspace=replace(turn.workspace, directory=directory)), reason
        )

    async def run(self, params: BashParams, plan: Plan, context: ToolContext) -> Output:
        """If writing the order to disk fails, nothing has run or will."""
        try:
            await self._start_command(params, plan, context)
        except OSError as error:
            raise ToolError(f"The command could not be started, and has not run: {error.strerror}") from error
        return await _follow_to_end(plan, context)

    async def recover(self, params: BashParams, claimed: Plan, context: ToolContext) -> Output:
        """Follow the command of an earlier attempt; run it if none has started it."""
        directory = CallDirectory.of(context.workspace, context.call)
        if directory.lease() is None:
            await self._start_command(params, claimed, context)
        return await _follow_to_end(claimed, context)

    async def stop(self, params: BashParams, claimed: Plan, context: ToolContext) -> Output | None:
        """Stop the command and return its partial output; None if it had not begun and never will."""
        from activities.shell import termination  # start-up time: psutil

        directory = CallDirectory.of(context.workspace, context.call)
        lease = await asyncio.to_thread(termination.stop_command, directory, context.call)
        if lease.supervisor is None:
            return None
        end = directory.end()
        if end is None:
            raise OutcomeUnknown(await asyncio.to_thread(describe_lost_command, lease, directory, context))
        return await asyncio.to_thread(build_output, claimed, end, context)

    async def _start_command(self, params: BashParams, plan: Plan, context: ToolContext) -> None:
        directory = CallDirectory.of(context.workspace, context.call)
        environment = {**await asyncio.to_thread(context.environment), **plan.effect.environment}
        await context.fence()
        environment |= await asyncio.to_thread(record_statuses, params.command, directory)
        await launch(directory, self._command_spec(params, plan, environment, context))

    def _command_spec(
        self, params: BashParams, plan: Plan, environment: dict[str, str], context: ToolContext
    ) -> CommandSpec:
        faults = {name: armed_action(name, context.call) for name in _FAILPOINTS}
        return CommandSpec(
            arguments=[_find_bash(environment), "--noprofile", "--norc", "-c", params.command],
            directory=plan.effect.directory,
            environment=environment,
            timeout=(params.timeout or self.limits.timeout_ms) / 1000,
            spool_bytes=self.limits.spool_bytes,
            lease_seconds=self.limits.lease_seconds,
            faults={name: action for name, action in faults.items() if action},
            session=context.session,
        )


async def _follow_to_end(plan: Plan, context: ToolContext) -> Output:
    """Raises ToolError when the command was killed, OutcomeUnknown when its supervisor was."""
    directory, command = CallDirectory.of(context.workspace, context.call), str(plan.effect.arguments["command"])
    end = await wait_for_exit(directory, OutputProgress(command, directory.spool, context))
    if end is None:
        raise await _missing_end_error(directory, context)
    return await asyncio.to_thread(report_end, plan, end, context)


async def _missing_end_error(directory: CallDirectory, context: ToolContext) -> Exception:
    """Kills what may still run of a command whose end is never recorded."""
    from activities.shell import termination  # as above

    lease = directory.lease()
    if lease is None or lease.supervisor is None:
        return ToolError("The command was stopped before it began. It has not run.")
    await context.fence()
    await asyncio.to_thread(termination.kill_command, lease, context.call)
    return OutcomeUnknown(await asyncio.to_thread(describe_lost_command, lease, directory, context))


@dataclass
class OutputProgress:
    title: str
    output: Path
    context: ToolContext
    seen: int = 0

    async def __call__(self) -> None:
        size = spool.size(self.output)
        if size != self.seen:
            self.seen = size
            text = await asyncio.to_thread(spool.live_tail, self.output)
            await self.context.progress({"title": self.title, "metadata": {"output": text}})


def _resolve_directory(workspace: Workspace, workdir: str | None) -> Path:
    """Links are resolved: the directory that is checked is the one that is used."""
    named = Path(os.path.normpath(workspace.directory / (workdir or "")))
    try:
        found = named.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"workdir does not exist: {named}") from error
    if not found.is_dir():
        raise ToolError(f"The working directory {str(named)!r} is not a directory.")
    return found


def _find_bash(environment: dict[str, str]) -> str:
    standard = Path("/bin/bash")
    found = str(standard) if standard.exists() else shutil.which("bash", path=environment.get("PATH"))
    if found is None:
        raise ToolError("There is no bash on this machine: install it to run commands.")
    return found
