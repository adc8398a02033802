"""The real adapter, for tests against the scripted model."""

import os
from collections.abc import AsyncIterator

import pytest

from activities.model.wires.router import WireRouter
from activities.model.wires.silence import Silence


@pytest.fixture
async def adapter() -> AsyncIterator[WireRouter]:
    """An adapter that gives up on a silent provider after an hour."""
    adapter = WireRouter(os.environ, silence=Silence(3600, 3600, 3600))
    yield adapter
    await adapter.close()
