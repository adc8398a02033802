"""The planner's process: checks one call after the other, and dies rather than take too long over one.

It has no environment, no secret and no connection, and imports little: 45 MB. It ends with the worker, whose pipe is
its standard input.
"""

import asyncio
import os
import resource
import signal
import sys
from itertools import chain
from typing import Any, BinaryIO, Final

from activities.shell.supervisor.process import die_with_parent
from activities.tools.arguments import validated
from activities.tools.bash import Bash
from activities.tools.edit.edit import Edit
from activities.tools.planner.wire import UP, Question, answer, failed
from activities.tools.planning import planned
from activities.tools.tool import Tool
from activities.tools.write import Write
from workflows.domain.effects import Plan
from workflows.domain.errors import ToolError

_TOOLS: Final[dict[str, Tool[Any]]] = {tool.name: tool for tool in (Bash(), Edit(), Write())}
_MEMORY: Final = 1024 * 1024 * 1024  # bytes: files of 32 MB are compared


def main() -> None:
    """Answer each line of the standard input with one."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    with asyncio.Runner() as runner, _replies() as replies:
        for reply in chain([UP], (_reply(runner, line) for line in sys.stdin.buffer)):
            replies.write(reply)
            replies.flush()


def _replies() -> BinaryIO:
    """The standard output; what else is written to it from now on is lost, and disturbs no reply."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def _reply(runner: asyncio.Runner, line: bytes) -> bytes:
    """The line for one question, within its limits."""
    try:
        question, limits = Question.read(line)
        _limit(limits.cpu, limits.clock)
        return answer(runner.run(_planned(question)))
    except Exception as error:
        return failed(error)
    finally:
        _limit(0, 0)


def _limit(cpu: float, clock: float) -> None:
    """Have the kernel end this process after so many seconds; 0: never. Nothing handles the signals."""
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, clock)


async def _planned(question: Question) -> Plan | ToolError:
    try:
        tool = _TOOLS[question.tool]
        return await planned(tool, validated(tool, question.arguments), question.place)
    except ToolError as error:
        return error
