"""What people and the model get of a command that has ended (opencode.md 3.4)."""

import signal
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue

from activities.shell import spool
from activities.shell.lease import CallDirectory, Cause, End, Lease
from activities.tools.tool import Output, Surroundings

_SLOW: Final = (
    "If this command is expected to take longer and is not waiting for interactive input, retry with a larger "
    "timeout value in milliseconds."
)
_LOUD: Final = "Redirect its output to a file, or have it write less."


def report(command: str, end: End, directory: CallDirectory, around: Surroundings) -> Output:
    """The end of the output, with a block below it for what the output does not say."""
    kept = spool.shortened(directory.spool, around.limits)
    metadata: dict[str, JsonValue] = {
        "output": spool.live(directory.spool),
        "exit": None if end.cause else end.status,
        "truncated": kept.cut,
    }
    text = kept.text or "(no output)"
    if kept.cut:
        path = around.place.tool_output / f"tool_{around.call}"
        spool.keep(directory.spool, path)
        metadata["outputPath"] = str(path)
        text = f"...output truncated...\n\nFull output saved to: {path}\n\n{text}"
    if notes := _notes(end):
        text = "\n".join((f"{text}\n\n<shell_metadata>", *notes, "</shell_metadata>"))
    return Output(title=command, output=text, metadata=metadata, truncated=kept.cut)


def lost(lease: Lease, directory: CallDirectory, around: Surroundings) -> str:
    """What is known of a command whose supervisor has died: when it began, and what it had written."""
    begun = datetime.fromtimestamp(lease.begun or 0, UTC)
    written = spool.shortened(directory.spool, around.limits).text or "(no output)"
    return (
        f"The command began at {begun:%Y-%m-%d %H:%M:%S} UTC. Its supervisor died before it could record an end. "
        f"Nothing of the command runs any more. Its output until then:\n\n{written}"
    )


def failure(end: End) -> str | None:
    """Why a command is an error and no result: nobody wanted it to end, or nobody was there."""
    if end.cause is Cause.ABANDONED:
        return f"The command was stopped: no worker was there for {(end.limit or 0) / 60:g} min."
    if end.cause is None and end.status < 0:
        return f"The command was killed by {_name(-end.status)} before it was done, and was not started again."
    return None


def _notes(end: End) -> list[str]:
    """What is said below the output, for a model to act on."""
    notes = [_cause(end)] if (end.cause or end.status) and not failure(end) else []
    if end.notice:
        notes.append(f"A part of the output could not be kept: {end.notice}")
    return notes


def _cause(end: End) -> str:
    limit = end.limit or 0
    match end.cause:
        case Cause.TIMEOUT:
            return f"shell tool terminated command after exceeding timeout {limit * 1000:.0f} ms. {_SLOW}"
        case Cause.OVERFLOW:
            return f"shell tool terminated command after it had written {limit:.0f} bytes. {_LOUD}"
        case Cause.STOPPED:
            return "User aborted the command"
        case _:
            return _exit_code(end.status)


def _exit_code(status: int) -> str:
    """With the signal that a shell means by it: what it had started was killed."""
    known = status - 128 in set(signal.Signals)
    return f"exit code {status} ({_name(status - 128)})" if known else f"exit code {status}"


def _name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
