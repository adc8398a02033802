"""Every wire shows every behaviour, unless it is not possible there."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts
from tests.polling import WAIT_TIMEOUT
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.compatible_wires import SloppyWire
from tests.providers.behaviours.failing import LEFT_OPEN, SILENCE
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.reasons import BELIEVED, REASONS
from tests.providers.behaviours.rows import ROWS, Rig
from tests.providers.behaviours.script import Answer, Text
from tests.providers.behaviours.table import BEGIN, NAMES, PAGE, WIRES, page
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_requests import collect_answer
from tests.providers.provider_double import StreamPause, serve_double
from workflows.domain.messages import TextPart

pytestmark = [  # litellm's
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
]
CELLS = [(wire, row) for wire in WIRES for row in NAMES if (wire.name, row) not in REASONS]


@pytest.fixture
async def impatient() -> AsyncIterator[WireRouter]:
    port = WireRouter(os.environ, timeouts=StreamTimeouts(SILENCE, SILENCE, SILENCE))
    yield port
    await port.close()


@pytest.mark.parametrize(("wire", "row"), CELLS, ids=[f"{wire.name}: {row}" for wire, row in CELLS])
async def test_a_wire_behaves(port: WireRouter, impatient: WireRouter, wire: type[WireUnderTest], row: str) -> None:
    others = tuple(other() for other in WIRES if other is not wire)
    rig = Rig(impatient if row.startswith(("silence", LEFT_OPEN)) else port, wire(), others)
    async with serve_double(rig.wire.double):
        await ROWS[row](rig)


async def test_an_answer_ends_with_the_last_event_of_its_protocol(port: WireRouter) -> None:
    """Not with the connection. Gemini's has none, and the sloppy server sends none."""

    async def ask(wire: WireUnderTest) -> None:
        wire.play(Answer((Text("Hello"),)))
        wire.double.after = StreamPause(60)
        async with serve_double(wire.double):
            await collect_answer(port, wire.request())

    async with asyncio.timeout(WAIT_TIMEOUT):
        await asyncio.gather(*(ask(wire()) for wire in WIRES if wire not in (GeminiWire, SloppyWire)))


async def test_a_stream_with_the_type_of_a_document_is_read(port: WireRouter) -> None:
    """Bedrock's service names its own."""

    async def ask(wire: WireUnderTest) -> None:
        wire.play(Answer((Text("Hello"),)))
        wire.double.kind, wire.double.split = "application/json", 1
        async with serve_double(wire.double):
            assert (await collect_answer(port, wire.request())).parts == (TextPart(text="Hello"),)

    await asyncio.gather(*(ask(wire()) for wire in WIRES if wire is not BedrockWire))


def test_every_reason_has_its_cell() -> None:
    cells = {(wire.name, row) for wire in WIRES for row in NAMES}
    assert (REASONS.keys() | BELIEVED.keys()) <= cells and not REASONS.keys() & BELIEVED.keys()


def test_the_page_has_the_table() -> None:
    assert BEGIN in PAGE.read_text("utf-8")
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -P -m tests.providers.behaviours.table"
