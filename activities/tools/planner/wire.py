"""What crosses to the planner's process and back, one line of JSON each."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter

from activities.files.place import Place
from workflows.domain.effects import Plan
from workflows.domain.errors import ToolError

UP: Final = b"\n"  # said once, when the process is ready
_PLACE: Final = TypeAdapter(Place)
_LONGEST: Final = 300  # characters of what has failed


class CheckFailed(Exception):
    """A call could not be checked; the message says why."""


@dataclass(frozen=True)
class Limits:
    """Seconds for one call: of the process's own time, and in all."""

    cpu: float
    clock: float


@dataclass(frozen=True)
class Question:
    """A call of a tool, and where it would run."""

    tool: str
    arguments: dict[str, JsonValue]
    place: Place

    def line(self, limits: Limits) -> bytes:
        place = _PLACE.dump_python(self.place, mode="json")
        return _line({"tool": self.tool, "arguments": self.arguments, "place": place, "limits": asdict(limits)})

    @classmethod
    def read(cls, line: bytes) -> tuple["Question", Limits]:
        told = json.loads(line)
        return cls(told["tool"], told["arguments"], _PLACE.validate_python(told["place"])), Limits(**told["limits"])


def answer(result: Plan | ToolError) -> bytes:
    """The line for a plan, or for what the model is told."""
    if isinstance(result, ToolError):
        return _line({"refused": str(result)})
    return _line({"plan": result.model_dump(mode="json")})


def failed(error: Exception) -> bytes:
    """The line for a check that has failed."""
    return _line({"failed": f"{type(error).__name__}: {error}"[:_LONGEST]})


def answered(line: bytes) -> Plan:
    """The plan that a line brings. Raises the ToolError or the CheckFailed that it brings instead."""
    told = json.loads(line)
    if "refused" in told:
        raise ToolError(told["refused"])
    if "failed" in told:
        raise CheckFailed(told["failed"])
    return Plan.model_validate(told["plan"])


def _line(told: Any) -> bytes:
    return json.dumps(told).encode() + b"\n"
