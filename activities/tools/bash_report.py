"""The report of an ended command, for people and the model (opencode.md 3.4)."""

import re
import shlex
import signal
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue

from activities.shell import spool
from activities.shell.lease import CallDirectory, CommandEnd, EndCause, Lease
from activities.shell.left_processes import left_by
from activities.tools.tool import Output, Plan, ToolContext
from prompts import render_prompt
from workflows.domain.errors import ToolError
from workflows.domain.permissions import permission_keys

_SLOW: Final = (
    "If this command is expected to take longer and is not waiting for interactive input, retry with a larger "
    "timeout value in milliseconds."
)
_SETTLE_SECONDS: Final = 0.2  # for what ends just after the shell, such as the `tee` of a process substitution
_MAX_LEFT: Final = 10  # processes that the model is told of
_LOUD: Final = "Redirect its output to a file, or have it write less."
_HIDES: Final = re.compile(r"\|&?\s*(?:head|tail)\b(?:[^|;&\n]|(?<=[<>])&|&(?=>))*$")
_STATUSES: Final = "statuses"
_NO_FAILURES: Final = {"0", "141"}  # 141: by SIGPIPE, as its reader has ended


def build_output(plan: Plan, end: CommandEnd, context: ToolContext) -> Output:
    """The output's beginning and end, and notes on how the command ended. For people, what it was to change, too."""
    directory = CallDirectory.of(context.workspace, context.call)
    shown = spool.read_excerpt(directory.spool, context.turn.limits)
    cut = shown.part is not None
    metadata: dict[str, JsonValue] = {
        "output": spool.live_tail(directory.spool),
        "exit": None if end.cause else end.status,
        "truncated": cut,
    }
    text = shown.text or "(no output)"
    if shown.part is not None:
        path = context.workspace.tool_output / f"tool_{context.call}"
        spool.preserve(directory.spool, path)
        metadata["outputPath"] = str(path)
        text = f"{render_prompt('tools/truncated', part=shown.part, path=str(path))}\n\n{text}"
    changed = [name for each in plan.requests if each.permission == permission_keys.EDIT for name in each.patterns]
    if changed:
        metadata["changed"] = list[JsonValue](changed)
    hidden = None if end.cause else _hidden_failure(directory)
    if hidden:
        metadata["pipeline"] = hidden
    notes = _notes(end, hidden) + (_left_running(directory) if end.left_running else [])
    if notes:
        text = "\n".join((f"{text}\n\n<shell_metadata>", *notes, "</shell_metadata>"))
    return Output(title=str(plan.effect.arguments["command"]), output=text, metadata=metadata, truncated=cut)


def report_end(plan: Plan, end: CommandEnd, context: ToolContext) -> Output:
    """Raises ToolError, with the output, when the command was killed."""
    output = build_output(plan, end, context)
    if reason := _failure_message(end):
        raise ToolError(f"{reason}\n\n{output.output}")
    return output


def describe_lost_command(lease: Lease, directory: CallDirectory, context: ToolContext) -> str:
    started_at = datetime.fromtimestamp(lease.started_at or 0, UTC)
    written = spool.read_excerpt(directory.spool, context.turn.limits).text or "(no output)"
    return (
        f"The command began at {started_at:%Y-%m-%d %H:%M:%S} UTC. Its supervisor died before it could record an end. "
        f"Nothing of the command runs any more. Its output until then:\n\n{written}"
    )


def _failure_message(end: CommandEnd) -> str | None:
    """Why the command counts as an error, if it does."""
    if end.cause is EndCause.ABANDONED:
        return f"The command was stopped: no worker was there for {(end.limit or 0) / 60:g} min."
    if end.cause is None and end.status < 0:
        return f"The command was killed by {_name(-end.status)} before it was done, and was not started again."
    return None


def _notes(end: CommandEnd, hidden: str | None) -> list[str]:
    notes = [_cause(end)] if (end.cause or end.status) and not _failure_message(end) else []
    if hidden:
        notes.append(f"exit codes of the last pipeline's programs: {hidden}")
    if end.write_error:
        notes.append(f"A part of the output could not be kept: {end.write_error}")
    return notes


def _left_running(directory: CallDirectory) -> list[str]:
    if (lease := directory.lease()) and lease.supervisor:
        lease.supervisor.wait(_SETTLE_SECONDS)
    if not (left := left_by(directory)):
        return []
    rows = [f"{each.pid} {each.command}" for each in left[:_MAX_LEFT]]
    return [render_prompt("tools/left_running", count=str(len(left)), processes="\n".join(rows))]


def _cause(end: CommandEnd) -> str:
    limit = end.limit or 0
    match end.cause:
        case EndCause.TIMEOUT:
            return f"shell tool terminated command after exceeding timeout {limit * 1000:.0f} ms. {_SLOW}"
        case EndCause.OVERFLOW:
            return f"shell tool terminated command after it had written {limit:.0f} bytes. {_LOUD}"
        case EndCause.STOPPED:
            return render_prompt("tools/stopped_command", seconds=f"{limit:.0f}")
        case _:
            return _exit_code(end.status)


def _exit_code(status: int) -> str:
    """The exit code, with the signal that the shell encodes in it."""
    if status == 128 + signal.SIGPIPE:
        return f"exit code {status} (SIGPIPE: what it wrote was not read any more, which is no failure)"
    known = status - 128 in set(signal.Signals)
    return f"exit code {status} ({_name(status - 128)})" if known else f"exit code {status}"


def _name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def record_statuses(command: str, directory: CallDirectory) -> dict[str, str]:
    """Variables that have the command's shell write them down as it ends. How the command runs stays as it is."""
    if not _HIDES.search(command.rstrip()):
        return {}
    directory.create()
    script, file = directory.path / "bash_env", shlex.quote(str(directory.path / _STATUSES))
    write = f'{{ builtin echo "${{PIPESTATUS[@]}}" >{file}; }} 2>/dev/null || :'
    script.write_text(f"trap {shlex.quote(write)} EXIT; unset BASH_ENV\n")
    return {"BASH_ENV": str(script)}


def _hidden_failure(directory: CallDirectory) -> str | None:
    """The codes, such as `1 | 0`, if one that its last program hides is a failure."""
    try:
        codes = [each for each in (directory.path / _STATUSES).read_text("ascii").split() if each.isdigit()]
    except (OSError, ValueError):  # there is none, or the command has written there
        return None
    return " | ".join(codes) if {*codes[:-1]} - _NO_FAILURES else None
