"""Planning: what a call would do now, said of every call: one that cannot be checked is asked about."""

import asyncio
import logging
from typing import Final

from activities.files.place import Place
from activities.tools.planner.planner import Planner
from activities.tools.planner.wire import CheckFailed, Question
from activities.tools.tool import P, Plan, Tool
from workflows.domain.errors import ToolError

_CLOCK: Final = 10.0  # seconds for one call that is checked in this process
_LONGEST: Final = 300  # characters of a reason
_LOG: Final = logging.getLogger("holdfast.tools")


async def planned(
    tool: Tool[P], params: P, place: Place, planner: Planner | None = None, clock: float = _CLOCK
) -> Plan:
    """What a call would do now; what may take long is left to the planner, if there is one.

    `clock` is how many seconds a call may take that is checked here: a disk of the network may not answer at all.
    Raises nothing but ToolError, which tells the model what is wrong with the call.
    """
    try:
        async with asyncio.timeout(clock):
            left = planner if planner is not None and await tool.takes_long(params, place) else None
            if left is None:
                return await tool.plan(params, place)
        return await left.plan(Question(tool.name, params.model_dump(by_alias=True, exclude_unset=True), place))
    except ToolError:
        raise
    except TimeoutError:
        return tool.unchecked(params, place, f"that took more than {clock:g} s")
    except CheckFailed as error:
        return tool.unchecked(params, place, str(error))
    except Exception as error:  # the answer that holds the call is paid: nothing may keep it from being stored
        _LOG.warning("a call of %s could not be checked", tool.name, exc_info=error)
        return tool.unchecked(params, place, f"{type(error).__name__}: {error}"[:_LONGEST])
