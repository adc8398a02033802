"""The key by which a session's requests find its provider's cache."""

import json
from typing import Any

import pytest

from activities.model.wires.router import WireRouter
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.script import Answer, Text
from tests.providers.behaviours.table import WIRES
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_requests import collect_answer
from tests.providers.provider_double import serve_double

# litellm's, whichever of its parts a test before has loaded
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
]
SESSION = "ses_0123456789abcdefghijklmnop"
NAME = "prompt_cache_key"


async def sent(port: WireRouter, wire: WireUnderTest, **more: Any) -> dict[str, Any]:
    wire.play(Answer((Text("Done."),)))
    async with serve_double(wire.double):
        await collect_answer(port, wire.request(**more))
    return wire.double.asked[-1]


@pytest.mark.parametrize("wire", [ChatWire, ResponsesWire])
async def test_openais_protocols_have_it(port: WireRouter, wire: type[WireUnderTest]) -> None:
    assert (await sent(port, wire(), cache_key=SESSION))[NAME] == SESSION
    assert NAME not in await sent(port, wire())
    assert (await sent(port, wire(), cache_key=SESSION, options={NAME: "own"}))[NAME] == "own"


@pytest.mark.parametrize("wire", [AnthropicWire, GeminiWire])
async def test_protocols_that_know_none_do_not(port: WireRouter, wire: type[WireUnderTest]) -> None:
    assert SESSION not in json.dumps(await sent(port, wire(), cache_key=SESSION))


@pytest.mark.parametrize("wire", WIRES)
async def test_each_names_the_session_and_its_parent_in_headers(port: WireRouter, wire: type[WireUnderTest]) -> None:
    for session, parent in ((None, None), (SESSION, None), (SESSION, "ses_parent")):
        asked = wire()
        await sent(port, asked, session=session, parent=parent)
        names = ("x-session-affinity", "x-session-id", "x-parent-session-id")
        assert [asked.double.headers[-1].get(name) for name in names] == [session, session, parent]
