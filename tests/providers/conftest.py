"""The wires, for tests against doubles of providers."""

import os
from collections.abc import AsyncIterator

import pytest

from activities.model.wires.router import WireRouter
from activities.model.wires.silence import Silence


@pytest.fixture
async def port() -> AsyncIterator[WireRouter]:
    """All wires, which give up on a silent provider after an hour."""
    port = WireRouter(os.environ, silence=Silence(3600, 3600, 3600))
    yield port
    await port.close()
