"""The wires, for tests against provider doubles."""

import os
from collections.abc import AsyncIterator

import pytest

from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts


@pytest.fixture
async def port() -> AsyncIterator[WireRouter]:
    """All wires; they give up on a silent provider after an hour."""
    port = WireRouter(os.environ, timeouts=StreamTimeouts(200, 200, 200))
    yield port
    await port.close()
