"""The real adapter, for tests against the scripted model."""

import os
from collections.abc import AsyncIterator

import pytest

from activities.model.litellm_model import LiteLLM


@pytest.fixture
async def adapter() -> AsyncIterator[LiteLLM]:
    """An adapter that gives up on a silent provider after an hour."""
    adapter = LiteLLM(os.environ, first_token=3600, idle=3600)
    yield adapter
    await adapter.close()
