"""Messages to and from the planner's process, one line of JSON each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter

from activities.turn_context import TurnContext
from workflows.domain.effects import Plan
from workflows.domain.errors import CheckFailed, ToolError

READY: Final = b"\n"  # sent once, when the process is ready
_TURN: Final = TypeAdapter(TurnContext)
_MAX_ERROR_CHARS: Final = 300  # characters of an error


@dataclass(frozen=True)
class PlannerLimits:
    """Seconds per call: CPU time and wall time."""

    cpu_seconds: float
    wall_seconds: float

    def for_arguments(self, arguments: Mapping[str, JsonValue]) -> "PlannerLimits":
        """More for each megabyte: it is compared, and waits for the CPU at each piece of it that comes and goes."""
        factor = 1 + sum(len(each) for each in arguments.values() if isinstance(each, str)) // 1_000_000 / 2
        return PlannerLimits(self.cpu_seconds * factor, self.wall_seconds * factor)


@dataclass(frozen=True)
class PlanRequest:
    """A call of a tool in a turn. `earlier`: tools, arguments and paths of the edits before it."""

    tool: str
    arguments: dict[str, JsonValue]
    turn: TurnContext
    earlier: Sequence[tuple[str, dict[str, JsonValue], Sequence[str]]] = ()

    def encode(self, limits: PlannerLimits) -> bytes:
        turn = _TURN.dump_python(self.turn, mode="json")
        call = {"tool": self.tool, "arguments": self.arguments, "turn": turn, "earlier": self.earlier}
        return _encode_line(call | {"limits": asdict(limits)})

    @classmethod
    def decode(cls, line: bytes) -> tuple["PlanRequest", PlannerLimits]:
        message = json.loads(line)
        turn = _TURN.validate_python(message["turn"])
        return cls(message["tool"], message["arguments"], turn, message["earlier"]), PlannerLimits(**message["limits"])


def encode_result(result: Plan | ToolError) -> bytes:
    if isinstance(result, ToolError):
        return _encode_line({"refused": str(result)})
    return _encode_line({"planned": result.model_dump(mode="json")})


def encode_failure(error: Exception) -> bytes:
    return _encode_line({"failed": f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS]})


def decode_result(line: bytes) -> Plan:
    """Raises the line's ToolError or CheckFailed."""
    message = json.loads(line)
    if "refused" in message:
        raise ToolError(message["refused"])
    if "failed" in message:
        raise CheckFailed(message["failed"])
    return Plan.model_validate(message["planned"])


def _encode_line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"
