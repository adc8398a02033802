"""The stop of a turn."""

from typing import Literal

from workflows.domain.ids import StopId, TurnId
from workflows.domain.value import Value


class StopAccepted(Value):
    type: Literal["stop.accepted"] = "stop.accepted"
    stop: StopId
    turn: TurnId | None = None
