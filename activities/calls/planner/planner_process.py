"""The planner's process: checks one call at a time and dies when one exceeds its limits.

It has no environment, secrets or connections and imports little: 45 MB. It ends with the worker, whose pipe is its
standard input.
"""

import asyncio
import os
import resource
import signal
import sys
from itertools import chain
from typing import Any, BinaryIO, Final

from activities.calls.plan_call import plan_call
from activities.calls.planner.messages import READY, PlanRequest, encode_failure, encode_result
from activities.shell.supervisor.process import die_with_parent
from activities.tools.apply_patch.apply_patch import ApplyPatchTool
from activities.tools.bash import BashTool
from activities.tools.edit.edit import EditTool
from activities.tools.file_change import EarlierEdit, FileChangeTool
from activities.tools.structured_output import StructuredOutputTool
from activities.tools.tool import Tool
from activities.tools.write import WriteTool
from workflows.domain.effects import Plan
from workflows.domain.errors import ToolError

_EDITS: Final[dict[str, FileChangeTool[Any]]] = {
    tool.name: tool for tool in (EditTool(), WriteTool(), ApplyPatchTool())
}
_TOOLS: Final[dict[str, Tool[Any]]] = {
    **_EDITS,
    **{tool.name: tool for tool in (BashTool(), StructuredOutputTool())},
}
_MEMORY_LIMIT: Final = 1024 * 1024 * 1024  # bytes: files of 32 MB are compared


def main() -> None:
    """Answer each line of standard input with one line."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_LIMIT, _MEMORY_LIMIT))
    with asyncio.Runner() as runner, _open_replies() as replies:
        for reply in chain([READY], (_reply(runner, line) for line in sys.stdin.buffer)):
            replies.write(reply)
            replies.flush()


def _open_replies() -> BinaryIO:
    """Standard output, for replies only: other writes to it go to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def _reply(runner: asyncio.Runner, line: bytes) -> bytes:
    try:
        request, limits = PlanRequest.decode(line)
        _set_limits(limits.cpu_seconds, limits.wall_seconds)
        return encode_result(runner.run(_plan(request)))
    except Exception as error:
        return encode_failure(error)
    finally:
        _set_limits(0, 0)


def _set_limits(cpu_seconds: float, wall_seconds: float) -> None:
    """The kernel kills this process after these seconds (0: never): nothing handles the signals."""
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


async def _plan(request: PlanRequest) -> Plan | ToolError:
    try:
        tool = _TOOLS[request.tool]
        earlier = [EarlierEdit(_EDITS[name], arguments, paths) for name, arguments, paths in request.earlier]
        params = tool.parse(request.arguments)
        return await plan_call(tool, params, request.arguments, request.turn, earlier=earlier)
    except ToolError as error:
        return error
