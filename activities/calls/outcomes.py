"""Outcomes of calls that were stopped, failed, or whose effect is unknown, in words that models know."""

import logging
from typing import Any, Final, TypeAlias

from activities.store.calls import CallRow
from activities.store.database import dumps
from activities.tools.tool import Tool
from prompts import render_prompt
from workflows.domain.effects import Recovery
from workflows.domain.errors import CallStopped, HoldfastError, OutcomeUnknown, ToolError
from workflows.domain.messages import CallState, Outcome

Settlement: TypeAlias = tuple[CallState, Outcome]

_LOG: Final = logging.getLogger("holdfast.tools")


def interrupted(why: str) -> Settlement:
    """The outcome of a call without output that was ended, or has not begun; `why`: a prompt of the tools."""
    outcome = Outcome(output=render_prompt(f"tools/{why}"), error=True, metadata={"interrupted": True})
    return CallState.CANCELLED, outcome


def unknown(call: CallRow, known: str) -> Settlement:
    """The outcome of an effect that may have happened."""
    started = f"{call.claimed_at:%Y-%m-%d %H:%M:%S %Z}" if call.claimed_at else "at an unknown time"
    what = f"{call.tool} {dumps(call.arguments)}"[:2000]
    text = render_prompt("reminders/outcome_unknown", call=what, started=started, known=known)
    return CallState.UNKNOWN, Outcome(output=text, error=True, metadata={"unknown": True})


def of_error(tool: Tool[Any], call: CallRow, error: Exception) -> Settlement:
    """The outcome for a tool's exception; re-raises any other."""
    match error:
        case ToolError():
            outcome = Outcome(output=str(error), error=True, metadata=error.metadata, changes=error.changes)
            return CallState.FAILED, outcome
        case CallStopped():
            metadata = {**error.metadata, "interrupted": True}
            return CallState.CANCELLED, Outcome(output=str(error), error=True, metadata=metadata, changes=error.changes)
        case OutcomeUnknown():
            return unknown(call, str(error))
    if isinstance(error, HoldfastError) or tool.recovery is Recovery.REATTACHABLE:
        raise error
    _LOG.error("tool %s failed unexpectedly in call %s", tool.name, call.id, exc_info=error)
    message = f"{type(error).__name__}: {error}"[:2000]
    if tool.recovery.may_run_again:
        return CallState.FAILED, Outcome(output=message, error=True)
    return unknown(call, message)
