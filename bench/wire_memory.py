"""What a worker's process takes with each set of wires in use: its memory, and the time to its first answer.

python -P -m bench.wire_memory WIRE URL     loads a worker's modules, asks on that wire, and prints both
"""

import asyncio
import json
import os
import sys
import time
from importlib import import_module
from statistics import median
from typing import Final

import psutil

from activities.model.endpoint import Wire
from bench import wire_requests
from bench.figure_table import Figure

_ROUNDS: Final = 5
_VERTEX: Final = ("google.auth", "google.oauth2.service_account")  # what a sign-in by a service account loads
_SETS: Final = {
    "chat": "our own wires",
    "bedrock": "Bedrock, signed",
    "vertex": "Vertex, with Google's sign-in",
    "litellm": "litellm",
}


async def measure_wire_memory() -> list[Figure]:
    """Medians; each process is new."""
    figures = []
    async with wire_requests.canned_server() as url:
        for name, description in _SETS.items():
            took = [await _measure(name, url) for _ in range(_ROUNDS)]
            seconds, memory = (median(each) for each in zip(*took, strict=True))
            figures.append(Figure(f"a worker's modules and a first answer, {description} (s)", seconds, None, digits=2))
            figures.append(Figure("  its memory then (MB)", memory, None, digits=0))
    return figures


async def _measure(name: str, url: str) -> tuple[float, float]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "bench.wire_memory", name, url),
        env={**os.environ, "PYTHONPATH": str(wire_requests.ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    seconds, memory = json.loads(printed)
    return seconds, memory


async def _ask(name: str, url: str) -> None:
    await wire_requests.ask_once(Wire.CHAT if name == "vertex" else Wire(name), url)


def main() -> None:
    """Ask, and print seconds since the process began, and megabytes."""
    import_module("worker.serve")
    _, name, url = sys.argv
    for module in _VERTEX if name == "vertex" else ():
        import_module(module)
    asyncio.run(_ask(name, url))
    if name != "litellm" and "litellm" in sys.modules:
        raise RuntimeError("litellm was imported, which this wire does not need")
    process = psutil.Process()
    print(json.dumps([time.time() - process.create_time(), process.memory_info().rss / 2**20]))


if __name__ == "__main__":
    main()
