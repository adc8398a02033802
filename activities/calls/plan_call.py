"""What a call would do now. A call that cannot be checked asks a person."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from activities.calls.planner.messages import PlanRequest
from activities.calls.planner.planner import Planner
from activities.tools.file_change import EarlierEdit, FileChangeTool
from activities.tools.tool import P, Plan, Tool
from activities.turn_context import TurnContext
from workflows.domain.errors import CheckFailed, ToolError

_TIMEOUT: Final = 10.0  # seconds per call checked in this process
_MAX_REASON_CHARS: Final = 300  # characters of a reason
_LOG: Final = logging.getLogger("holdfast.tools")


async def plan_call(
    tool: Tool[P],
    params: P,
    arguments: Mapping[str, JsonValue],
    turn: TurnContext,
    planner: Planner | None = None,
    timeout: float = _TIMEOUT,
    earlier: Sequence[EarlierEdit] = (),
) -> Plan:
    """A planner, if given, takes what may take long. `params` are the parsed `arguments`; an edit is planned on what
    the `earlier` ones of its answer leave.

    `timeout`: seconds for a call checked in this process: a network file system may not answer. Raises only ToolError.
    """
    try:
        async with asyncio.timeout(timeout):
            edit = tool if earlier and isinstance(tool, FileChangeTool) else None
            if planner is None or not await _takes_long(tool, params, turn, earlier if edit else ()):
                plan = await (edit.plan(params, turn, earlier) if edit else tool.plan(params, turn))
                if plan.questions:
                    _check_may_ask(tool, turn)
                return plan.model_copy(update={"quick": True}) if tool.quick else plan
        named = [(each.tool.name, each.arguments, each.paths) for each in earlier if edit]
        return await planner.plan(PlanRequest(tool.name, dict(arguments), turn, named))
    except ToolError:
        raise
    except TimeoutError:
        return tool.unchecked_plan(arguments, turn, f"that took more than {timeout:g} s")
    except CheckFailed as error:
        return tool.unchecked_plan(arguments, turn, str(error))
    except Exception as error:  # the answer is paid for: nothing may prevent storing it
        _LOG.warning("a call of %s could not be checked", tool.name, exc_info=error)
        return tool.unchecked_plan(arguments, turn, f"{type(error).__name__}: {error}"[:_MAX_REASON_CHARS])


async def _takes_long(tool: Tool[P], params: P, turn: TurnContext, earlier: Sequence[EarlierEdit]) -> bool:
    return await tool.takes_long(params, turn) or any([await each.takes_long(turn) for each in earlier])


def _check_may_ask(tool: Tool[P], turn: TurnContext) -> None:
    """Raises ToolError: a model may call what it is not offered, and no other permission stands before a question."""
    if turn.delegation.ancestors or turn.rules.hides(tool.permission):
        raise ToolError(f"The tool {tool.name} is not available in this turn: go on without it.")
