"""A program that asks every provider known to litellm or us, and prints the hosts that were looked up.

Nothing leaves the machine: the interpreter reports each look-up and connection before it happens (`sys.addaudithook`),
and the caller gets what the hook raises.
"""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from activities.credentials.keys import Keys
from activities.model.endpoints import EndpointResolver
from activities.model.port import ModelRequest, UserInput
from activities.model.providers import PROVIDERS
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS
from activities.model.wires.router import WireRouter
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError, UsageError

_looked_for: set[str] = set()


class EveryKey(dict[str, str]):
    """An environment with every provider's key."""

    def get(self, name: str, default: Any = None) -> Any:
        return "k" if name.endswith(("_KEY", "_TOKEN")) else default

    def __getitem__(self, name: str) -> str:
        return "k"


def observe(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        _looked_for.add(args[0].decode() if isinstance(args[0], bytes) else str(args[0]))
        raise socket.gaierror(socket.EAI_NONAME, "nothing is looked up here")
    if event == "socket.connect" and isinstance(args[1], tuple):
        _looked_for.add(str(args[1][0]))
        raise ConnectionRefusedError("nothing is connected here")


async def main(home: Path) -> None:
    port = WireRouter(os.environ)
    await port.warm()
    endpoints = EndpointResolver(Keys(home / "auth.json"), EveryKey(), port)
    sys.addaudithook(observe)
    found = {}
    for id in sorted({*PROVIDERS, *LITELLM_PROVIDERS}):
        _looked_for.clear()
        await ask(port, endpoints, f"{id}/some-model")
        found[id] = sorted(_looked_for)
    print(json.dumps(found))


async def ask(port: WireRouter, endpoints: EndpointResolver, model: str) -> None:
    try:
        resolved = await endpoints.resolve(model, Config())
        asked = ModelRequest(endpoint=resolved.endpoint, messages=(UserInput(content="our source code"),))
        async for _ in port.stream(asked):
            pass
    except (ModelError, UsageError):
        return
    raise RuntimeError(f"{model} answered")


asyncio.run(main(Path(sys.argv[1])))
