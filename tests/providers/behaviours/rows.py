"""The rows of the table: each is a behaviour that every wire shows, or for a reason cannot show."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from activities.model.port import ModelPort
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.wire_under_test import WireUnderTest


@dataclass
class Rig:
    """What a behaviour works with."""

    port: ModelPort
    wire: WireUnderTest
    others: tuple[WireUnderTest, ...] = ()

    def __post_init__(self) -> None:
        self.talk = Conversation(self.port, self.wire)


Behaviour: TypeAlias = Callable[[Rig], Awaitable[None]]
ROWS: Final[dict[str, Behaviour]] = {}


def row(name: str) -> Callable[[Behaviour], Behaviour]:
    """A behaviour that is this row."""

    def add(behaviour: Behaviour) -> Behaviour:
        ROWS[name] = behaviour
        return behaviour

    return add
