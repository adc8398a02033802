"""Requests to a double, without any client between."""

from collections.abc import Mapping
from typing import Any

import aiohttp

from tests.providers.provider_double import ProviderDouble, serve_double


async def refusal(
    double: ProviderDouble, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """The status of the answer, and its text."""
    async with (
        serve_double(double),
        aiohttp.ClientSession() as session,
        session.post(f"{double.url}{path}", json=body, headers=headers) as response,
    ):
        return response.status, await response.text()
